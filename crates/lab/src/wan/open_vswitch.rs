//! Labs of domains whose routers are switches: an Open vSwitch of its own in the namespace of each.
use std::path::{Path, PathBuf};

use ovs_edge::domain::{Domain, Station};
use ovs_edge::execute::Location;
use system::Error;
use wan::Prefix;

use crate::first_frame::FirstFrame;
use crate::switch::Files;
use crate::tools::Tools;
use crate::wan::layout::{WanLayout, hardware};

/// The number that a switch gives to its first port.
const FIRST_PORT: u32 = 1;
/// More bytes than the queues of a switch hold together: all of them count against the one socket that it sends by.
const QUEUED: u64 = 64 << 20;

/// A domain of a lab as its back-end wants it: the hosts at each edge are its stations.
pub fn domain(layout: &WanLayout, domain: usize) -> Option<Domain> {
    let mut plan = layout.domains.get(domain)?.clone();
    for border in &mut plan.borders {
        border.beyond.retain(|range| range.address.is_ipv4());
    }
    let stations = |edge: usize| {
        let hosts = layout.hosts.iter().filter(|(_, of, at)| (*of, *at) == (domain, edge));
        let station = |address: &std::net::IpAddr| {
            let hardware = hardware(u16::try_from(domain).ok()?, u16::try_from(edge).ok()?);
            Some(Station { addresses: Prefix { address: *address, length: 32 }, hardware })
        };
        let addresses = hosts.flat_map(|(host, ..)| host.addresses.iter().filter(|of| of.is_ipv4()));
        addresses.filter_map(station).collect()
    };
    let stations = (0..plan.edges.len()).map(stations).collect();
    Some(Domain { plan, stations })
}

/// The folder of a switch: long names of labs would make paths of sockets too long, so it is called by its place.
fn folder(place: &Path, domain: usize, switch: usize) -> PathBuf {
    place.join(format!("s{domain}-{switch}"))
}

/// Where the switches of a domain are.
pub(super) fn locations(place: &Path, layout: &WanLayout, domain: usize) -> Vec<Location> {
    let namespaces = layout.routers.get(domain).into_iter().flatten().enumerate();
    let location = |(switch, namespace): (usize, &String)| Location {
        management: format!("unix:{}", folder(place, domain, switch).join("br0.mgmt").display()),
        namespace: Some(namespace.clone()),
    };
    namespaces.map(location).collect()
}

/// Starts the switches of a domain, which forward nothing until they are told to.
pub(super) fn start(tools: &Tools, place: &Path, layout: &WanLayout, domain: usize) -> Result<(), Error> {
    let Some(of) = self::domain(layout, domain) else { return Ok(()) };
    let edge = ovs_edge::OvsEdge::new(of).map_err(|what| Error::new(what, "correct the file"))?;
    for (switch, namespace) in layout.routers.get(domain).into_iter().flatten().enumerate() {
        let folder = folder(place, domain, switch);
        let files = Files::at(folder.clone());
        files.processes(tools, namespace)?;
        let mut line = "add-br br0 -- set bridge br0 datapath_type=netdev protocols=OpenFlow13,OpenFlow14 fail_mode=secure \
                        other_config:disable-in-band=true"
            .to_owned();
        for (interface, _) in edge.interfaces(switch) {
            line += &format!(" -- add-port br0 {interface}");
        }
        let first = FirstFrame::new(&folder)?;
        line += &format!(" -- set-controller br0 {}", first.target());
        files.configure(tools, &line)?;
        let interfaces = edge.interfaces(switch);
        for (interface, _) in &interfaces {
            tools.run(&format!("ip -n {namespace} link set dev {interface} up"))?;
        }
        first.send(FIRST_PORT)?;
        files.give_room(interfaces.len(), QUEUED)?;
        files.configure(tools, "del-controller br0")?;
        // What is in the way of the socket goes.
        files.management(tools)?;
        crate::switch::hurry(tools, &files)?;
    }
    Ok(())
}
