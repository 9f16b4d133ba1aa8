//! Emulated links between domains. The queues of routers are those of the kernel, which let a frame go at once when its time has come; on a
//! wire it is under way for its own time, and for the delay of the link.
use std::fmt::Write as _;
use std::path::Path;
use std::process::Child;

use bridge::classes::{Purpose, Queue, Queues};
use system::Error;

use super::layout::{WanLayout, border_interface, wire_interface};
use crate::emulator::{Description, EndDescription, LinkDescription};
use crate::tools::Tools;

/// Bytes of the largest frame between domains, and a few more.
const MTU: u32 = 1_600;
/// Frames that may wait for a link: routers do not send faster than links carry but for what ports save.
const FRAMES: u64 = 1_000;

/// Prepares the interfaces at which the emulator meets the links; the kernel sends nothing there by itself.
pub(super) fn wires(tools: &Tools, layout: &WanLayout) -> Result<(), Error> {
    crate::link::quiet(&layout.wires)?;
    let mut lines = String::new();
    for link in &layout.emulated {
        for side in 0..2 {
            let interface = wire_interface(link.number, side);
            // Writing to a text cannot fail.
            let _ = writeln!(lines, "link set dev {interface} mtu {MTU} arp off promisc on up");
        }
    }
    tools.batch("ip", Some(&layout.wires), &lines)
}

/// Starts the emulator, if links are emulated.
pub(super) fn emulate(
    layout: &WanLayout,
    name: &str,
    folder: &Path,
    children: &mut Vec<Child>,
) -> Result<(), Error> {
    if layout.emulated.is_empty() {
        return Ok(());
    }
    let queue = Queue { purpose: Purpose::BestEffort, dscp: 0, frames: FRAMES, class: 1 };
    let links = layout.emulated.iter().filter_map(|link| {
        let (_, namespaces) = layout.links.iter().find(|(number, _)| *number == link.number)?;
        let end = |side: usize| {
            Some(EndDescription {
                interface: wire_interface(link.number, side),
                port: [namespaces.get(side)?.clone(), border_interface(link.number)],
                queues: Some(Queues { rate: link.rate, queues: vec![queue], head_drop: false }),
                switch: false,
                stamps: false,
            })
        };
        Some(LinkDescription { ends: [end(0)?, end(1)?], delay: link.delay, loss: 0 })
    });
    let description = Description { links: links.collect(), core: None };
    let program = crate::lab::own_program()?;
    crate::lab::emulate(&Tools::new(name), folder, &program, &layout.wires, &description, children)
}
