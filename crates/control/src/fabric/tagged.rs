//! Frames with VLAN tags that switches and gates have dropped: the log names the hosts that sent them.
//!
//! They are counted where they are dropped, and not copied to the manager: a flood of them takes nothing of what switches may send it.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use gate::protocol::PortState;

use super::{Fabric, Site, entries};
use crate::action::SwitchContent;
use crate::dropped::Dropped;
use crate::note::Note;

/// Counters of tagged frames, by the place that drops them and the number of the port.
#[derive(Default, Debug)]
pub(super) struct Tagged(BTreeMap<(Site, u32), Dropped>);

impl Fabric {
    /// A switch was read: what the operator should know of tagged frames that it has dropped.
    pub(crate) fn tagged_at_switch(
        &mut self,
        now: Duration,
        switch: usize,
        content: &SwitchContent,
    ) -> Vec<Note> {
        let counted = content.flows.iter().filter_map(|flow| {
            let port = entries::tagged_at(flow)?;
            Some((port, flow.traffic.packets))
        });
        self.tagged(now, Site::Switch(switch), counted)
    }

    /// The gates of a switch were read: the same of frames that they have dropped.
    pub(crate) fn tagged_at_gates(&mut self, now: Duration, switch: usize, ports: &[PortState]) -> Vec<Note> {
        let counted = ports.iter().map(|port| (port.port, port.others.tagged));
        self.tagged(now, Site::Gates(switch), counted)
    }

    fn tagged(&mut self, now: Duration, site: Site, counted: impl Iterator<Item = (u32, u64)>) -> Vec<Note> {
        let network = &self.network;
        let counters = &mut self.tagged.0;
        let told = counted.filter_map(|(port, frames)| {
            // Ports that the network does not have are not kept, so there are at most as many counters as ports.
            let link = network.link_at(site.switch(), port)?;
            let frames = counters.entry((site, port)).or_default().count(now, frames)?;
            let from = network.node_name(network.links.get(link)?.to).into();
            Some(Note::Tagged { place: network.port_name(link), from, frames })
        });
        told.collect()
    }
}
