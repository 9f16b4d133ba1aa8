//! Namespaces, the links between them, and what is set at interfaces.
use std::fmt::Write as _;
use std::fs;
use std::net::IpAddr;

use crate::inside::inside;
use crate::layout::{Host, Layout, Link, Switch};
use crate::tools::Tools;
use crate::train;
use system::Error;

/// What a namespace is set to before anything is up in it: without IPv6 it says nothing by itself, and nothing passes
/// from one of its interfaces to another.
const SETTINGS: [(&str, &str); 4] = [
    ("net/ipv6/conf/all/disable_ipv6", "1"),
    ("net/ipv6/conf/default/disable_ipv6", "1"),
    ("net/ipv4/ip_forward", "0"),
    ("net/ipv4/conf/all/arp_ignore", "1"),
];
/// What a host with an IPv6 address is set to in addition: it speaks IPv6 at its link alone, and asks for no router.
const WITH_IPV6: [(&str, &str); 5] = [
    ("all/disable_ipv6", "0"),
    ("default/disable_ipv6", "1"),
    ("eth0/disable_ipv6", "0"),
    ("eth0/accept_ra", "0"),
    ("eth0/accept_dad", "0"),
];
/// Frames are what they are on a wire: sums are computed, and nothing is cut by the interface.
const OFFLOADS: &str = "tx off rx off tso off gso off gro off tx-udp-segmentation off";

/// With emulated links, at the hosts: the link does what a card would, see [`crate::train`].
const CARD: &str = "tx on sg on tx-udp-segmentation on";

/// What the interfaces of emulated links carry behind an Ethernet header: a full frame, and when it came.
const STAMPED: u32 = 1_504;

/// Makes all namespaces.
pub(crate) fn namespaces(tools: &Tools, layout: &Layout) -> Result<(), Error> {
    let names = layout.namespaces();
    let lines: String = names.iter().map(|name| format!("netns add {name}\n")).collect();
    tools.batch("ip", None, &lines)?;
    names.iter().try_for_each(|name| quiet(name))
}

/// Lets a namespace say nothing by itself, and pass nothing on.
pub(crate) fn quiet(namespace: &str) -> Result<(), Error> {
    inside(namespace, || {
        for (setting, value) in SETTINGS {
            let path = format!("/proc/sys/{setting}");
            match fs::write(&path, value) {
                // A kernel without IPv6 has nothing to switch off.
                Err(error)
                    if setting.starts_with("net/ipv6") && error.kind() == std::io::ErrorKind::NotFound => {}
                written => written.map_err(Error::system(&path))?,
            }
        }
        Ok(())
    })
}

/// Makes all interfaces and links, with addresses, and switches them on.
pub(crate) fn links(tools: &Tools, layout: &Layout) -> Result<(), Error> {
    let mut made = String::new();
    let wires = layout.wires();
    let mut interfaces: Vec<(&str, String)> = Vec::new();
    for link in &layout.links {
        let Link { ends: [one, other], wire } = link;
        let mut veth = |first: (&str, &str, &str), second: (&str, &str, &str)| {
            let end = |(namespace, interface, mac): (&str, &str, &str)| {
                let address = if mac.is_empty() { String::new() } else { format!(" address {mac}") };
                format!("name {interface}{address} netns {namespace}")
            };
            // Writing to a text cannot fail.
            let _ = writeln!(made, "link add {} type veth peer {}", end(first), end(second));
        };
        let ends = [one, other].map(|end| (end.namespace.as_str(), end.interface.as_str(), end.mac.as_str()));
        match wire {
            None => veth(ends[0], ends[1]),
            Some(wire) => {
                for (end, interface) in ends.into_iter().zip(&wire.interfaces) {
                    veth(end, (&wires, interface, ""));
                    interfaces.push((&wires, interface.clone()));
                }
            }
        }
        interfaces.extend(ends.map(|(namespace, interface, _)| (namespace, interface.to_owned())));
    }
    if let Some(manager) = layout.manager() {
        for switch in &layout.switches {
            let _ = writeln!(
                made,
                "link add name ctl netns {} type veth peer name ctl{} netns {}",
                switch.namespace, switch.datapath, manager.namespace
            );
            interfaces.push((&switch.namespace, "ctl".to_owned()));
            interfaces.push((&manager.namespace, format!("ctl{}", switch.datapath)));
        }
    }
    tools.batch("ip", None, &made)?;
    for (namespace, interface) in &interfaces {
        tools.run_in(namespace, &format!("ethtool -K {interface} {OFFLOADS}"))?;
    }
    if train::handed_over()? {
        let emulated = layout.links.iter().filter(|link| link.wire.as_ref().is_some_and(|wire| wire.queues));
        for end in emulated.flat_map(|link| &link.ends).filter(|end| end.host) {
            tools.run_in(&end.namespace, &format!("ethtool -K {} {CARD}", end.interface))?;
        }
    }
    for host in &layout.hosts {
        if host.addresses.iter().any(IpAddr::is_ipv6) {
            inside(&host.namespace, || {
                WITH_IPV6.iter().try_for_each(|(setting, value)| {
                    let path = format!("/proc/sys/net/ipv6/conf/{setting}");
                    fs::write(&path, value).map_err(Error::system(&path))
                })
            })?;
        }
        tools.batch("ip", Some(&host.namespace), &host_commands(layout, host))?;
    }
    for switch in &layout.switches {
        tools.batch("ip", Some(&switch.namespace), &switch_commands(layout, switch))?;
    }
    let carried = layout.links.iter().filter_map(|link| link.wire.as_ref()).flat_map(|wire| &wire.interfaces);
    // The kernel sends nothing there by itself.
    let lines: String = carried
        .map(|interface| format!("link set dev {interface} mtu {STAMPED} arp off promisc on up\n"))
        .collect();
    if !lines.is_empty() {
        tools.batch("ip", Some(&wires), &lines)?;
    }
    Ok(())
}

fn host_commands(layout: &Layout, host: &Host) -> String {
    let mut lines = "link set dev lo up\n".to_owned();
    let linked = layout.links.iter().flat_map(|link| &link.ends);
    if linked.into_iter().any(|end| end.namespace == host.namespace) {
        lines += "link set dev eth0 up\n";
        // Whatever address a host has, and every group: it is behind eth0.
        for address in &host.addresses {
            let _ = match address {
                IpAddr::V4(_) => {
                    writeln!(lines, "addr add {address}/16 dev eth0\nroute add default dev eth0")
                }
                IpAddr::V6(_) => {
                    writeln!(lines, "addr add {address}/64 dev eth0 nodad\nroute add ::/0 dev eth0")
                }
            };
        }
    }
    if host.manager {
        for switch in &layout.switches {
            let [own, _] = switch.control();
            let interface = format!("ctl{}", switch.datapath);
            let _ = writeln!(lines, "addr add {own}/30 dev {interface}\nlink set dev {interface} up");
        }
    }
    lines
}

fn switch_commands(layout: &Layout, switch: &Switch) -> String {
    let mut lines = "link set dev lo up\n".to_owned();
    for port in &switch.ports {
        // The kernel of the switch's namespace hears the frames, too; it must not answer ARP.
        let _ = writeln!(lines, "link set dev p{port} arp off up");
    }
    if layout.manager().is_some() {
        let [_, own] = switch.control();
        let _ = writeln!(lines, "addr add {own}/30 dev ctl\nlink set dev ctl up");
    }
    lines
}

/// Makes the queues of all interfaces that the kernel serves. After the switches have their ports: they remove queues that they find.
pub(crate) fn queues(tools: &Tools, layout: &Layout) -> Result<(), Error> {
    for namespace in layout.namespaces() {
        let shaped = layout.links.iter().filter(|link| !link.wire.as_ref().is_some_and(|wire| wire.queues));
        let lines: String = shaped
            .flat_map(|link| &link.ends)
            .filter(|end| end.namespace == namespace)
            .map(|end| end.queues.commands(&end.interface))
            .collect();
        if !lines.is_empty() {
            tools.batch("tc", Some(&namespace), &lines)?;
        }
    }
    Ok(())
}
