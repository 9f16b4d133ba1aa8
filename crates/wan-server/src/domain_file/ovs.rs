//! The inside of a domain of switches of Open vSwitch, as its file describes it.
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};

use diagnostics::{Problem, nearest};
use linux_edge::domain::{Border, CoreLink, Demoted, Domain, Edge, End, Router};
use linux_edge::policing::Policing;
use ovs_edge::domain::Station;
use ovs_edge::execute::Location;
use ovs_edge::keep_alive::sent_back;
use ovs_edge::tables::watched;
use serde::Deserialize;
use toml::Spanned;
use wan::{Config, LinkId};

use super::check::Checker;
use super::document::Document;
use super::linux::{CeilingTable, ceilings, is_namespace, wire};
use super::quantities::{Addresses, InterfaceAddress, Rate, Time};
use crate::open_vswitch::Switches;

/// Most edges and border links, because each has a way to each other.
const MOST_ENDS: usize = 64;
/// Most switches and links.
const MOST: usize = 1_000;
/// Bytes of the largest packet where hosts are, and between switches, unless the file says otherwise: two labels add 8, and there
/// is as much room as for other tunnels.
const EDGE_MTU: u32 = 1_500;
const MTU: u32 = 1_540;

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct OvsTable {
    /// What a switch takes until a packet is in a queue.
    processing: Time,
    /// From one keep-alive to the next.
    #[serde(default)]
    keep_alive: Option<Time>,
    #[serde(default)]
    control: Option<CeilingTable>,
    #[serde(default)]
    ef: Option<CeilingTable>,
    #[serde(default)]
    af4: Option<CeilingTable>,
    #[serde(default)]
    af1: Option<CeilingTable>,
    #[serde(rename = "switch")]
    switches: Vec<Spanned<SwitchTable>>,
    #[serde(default, rename = "link")]
    links: Vec<Spanned<CoreTable>>,
    #[serde(default, rename = "edge")]
    edges: Vec<Spanned<EdgeTable>>,
    #[serde(default, rename = "border")]
    borders: Vec<Spanned<BorderTable>>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SwitchTable {
    name: String,
    management: String,
    /// Without it this host.
    #[serde(default)]
    namespace: Option<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct EndTable {
    switch: Spanned<String>,
    interface: String,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct CoreTable {
    ends: [EndTable; 2],
    rate: Rate,
    #[serde(default)]
    propagation: Time,
    #[serde(default)]
    mtu: Option<u32>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct StationTable {
    addresses: Addresses,
    hardware: String,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct EdgeTable {
    switch: Spanned<String>,
    interface: String,
    addresses: Vec<InterfaceAddress>,
    stations: Vec<StationTable>,
    rate: Rate,
    #[serde(default)]
    propagation: Time,
    #[serde(default)]
    mtu: Option<u32>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct BorderTable {
    link: u32,
    switch: Spanned<String>,
    interface: String,
    #[serde(default)]
    beyond: Vec<Addresses>,
    rate: Rate,
    #[serde(default)]
    propagation: Time,
    #[serde(default)]
    mtu: Option<u32>,
}

/// A path of a socket that no program takes for something else.
fn is_socket(text: &str) -> bool {
    let plain = |at: char| at.is_ascii_alphanumeric() || matches!(at, '-' | '_' | '.' | '/');
    text.strip_prefix("unix:/").is_some_and(|path| path.len() < 100 && path.chars().all(plain))
}

/// An address of Ethernet of one station.
fn hardware(text: &str) -> Option<[u8; 6]> {
    let byte = |text: &str| (text.len() == 2).then(|| u8::from_str_radix(text, 16).ok()).flatten();
    let bytes = text.split(':').map(byte).collect::<Option<Vec<u8>>>()?;
    let bytes: [u8; 6] = bytes.try_into().ok()?;
    (bytes[0] & 1 == 0 && bytes != [0; 6]).then_some(bytes)
}

impl Checker<'_> {
    /// The switches of the domain.
    pub(super) fn ovs(
        &self,
        table: &Spanned<OvsTable>,
        document: &Document,
        config: &Config,
    ) -> Result<Switches, Problem> {
        let (at, table) = (table.span().start, table.get_ref());
        let ends = table.edges.len() + table.borders.len();
        if ends > MOST_ENDS || table.switches.len() > MOST || table.links.len() > MOST {
            let what = format!("more than {MOST_ENDS} edges and border links, or {MOST} switches or links");
            return self.wrong(at, what, "divide the domain");
        }
        let (names, locations) = self.switches(table)?;
        let end = |switch: &Spanned<String>, interface: &String| -> Result<End, Problem> {
            let address = Ipv6Addr::UNSPECIFIED;
            match names.get(switch.get_ref().as_str()) {
                Some(router) => Ok(End { router: *router, interface: interface.clone(), address }),
                None => {
                    let near = nearest(switch.get_ref(), names.keys().copied());
                    let remedy = near.map_or("add a [[ovs.switch]] of that name".to_owned(), |near| {
                        format!("\"{near}\" is there")
                    });
                    let what = format!("there is no switch \"{}\"", switch.get_ref());
                    self.wrong(switch.span().start, what, &remedy)
                }
            }
        };
        let link = |it: &Spanned<CoreTable>| -> Result<CoreLink, Problem> {
            let CoreTable { ends: [one, other], rate, propagation, mtu } = it.get_ref();
            let ends = [end(&one.switch, &one.interface)?, end(&other.switch, &other.interface)?];
            Ok(CoreLink { ends, wire: wire(*rate, *propagation, [*mtu, None], MTU), access: None })
        };
        let (mut edges, mut stations) = (Vec::new(), Vec::new());
        for it in &table.edges {
            let (at, it) = (it.span().start, it.get_ref());
            let addresses: Vec<_> = it.addresses.iter().map(|address| address.0).collect();
            let is_strange = |of: IpAddr| !of.is_ipv4() || config.owner(of) != Some(self.own());
            if addresses.is_empty() || addresses.iter().any(|of| is_strange(of.address)) {
                let what = "an edge has no address of IPv4, or one that is not of this domain";
                return self.wrong(at, what, "its [[domain]] says which `prefixes` it has");
            }
            let station = |of: &StationTable| match hardware(&of.hardware) {
                Some(hardware) => Ok(Station { addresses: of.addresses.0, hardware }),
                None => {
                    let what = format!("\"{}\" is no address of a station", of.hardware.escape_default());
                    self.wrong(at, what, "write it as \"02:00:00:00:00:02\"")
                }
            };
            stations.push(it.stations.iter().map(station).collect::<Result<_, _>>()?);
            let End { router, interface, .. } = end(&it.switch, &it.interface)?;
            let wire = wire(it.rate, it.propagation, [it.mtu, None], EDGE_MTU);
            edges.push(Edge { router, interface, addresses, wire });
        }
        let agreed: BTreeSet<u32> = config.agreements.iter().map(|agreement| agreement.link.0).collect();
        let border = |it: &Spanned<BorderTable>| {
            let (at, it) = (it.span().start, it.get_ref());
            if !agreed.contains(&it.link) {
                let what = format!("no [[agreement]] is about link {}", it.link);
                return self.wrong(at, what, "add one, or correct `link`");
            }
            Ok(Border {
                link: LinkId(it.link),
                end: end(&it.switch, &it.interface)?,
                neighbour: Ipv6Addr::UNSPECIFIED,
                locator: Ipv6Addr::UNSPECIFIED,
                neighbour_locator: Ipv6Addr::UNSPECIFIED,
                beyond: it.beyond.iter().map(|range| range.0).collect(),
                wire: wire(it.rate, it.propagation, [it.mtu, None], MTU),
            })
        };
        let address = Ipv6Addr::UNSPECIFIED;
        let names = table.switches.iter().map(|it| it.get_ref().name.clone());
        let plan = Domain {
            asn: config.asn,
            routers: names.map(|name| Router { name, address }).collect(),
            links: table.links.iter().map(link).collect::<Result<_, _>>()?,
            edges,
            borders: table.borders.iter().map(border).collect::<Result<_, _>>()?,
            ceilings: ceilings([table.control, table.ef, table.af4, table.af1]),
            processing: table.processing.0,
            policing: Policing::Meters,
            demoted: Demoted::default(),
        };
        let domain = ovs_edge::Domain { plan, stations };
        if let Err(what) = domain.check() {
            return self.wrong(at, what, "docs/wan.md says what [ovs] needs");
        }
        self.is_bounded(at, &domain.plan, config)?;
        self.is_kept(document, &domain.plan, config)?;
        let keep_alive = self.keep_alive(at, table.keep_alive, &domain.plan)?;
        if keep_alive > 0 {
            let wires = (0..domain.plan.routers.len()).flat_map(|switch| watched(&domain, switch));
            let mut wires = wires.map(|(_, wire)| wire);
            let needed = (ovs_edge::keep_alive::BYTES as u64 * 8 * 1_000_000_000).div_ceil(keep_alive);
            let is_answered = |wire| {
                sent_back(&domain.plan, wire).is_some_and(|(rate, _)| rate.saturating_mul(1_000) >= needed)
            };
            if !wires.all(is_answered) {
                let what = "`control` has no room for keep-alives that switches send back";
                return self.wrong(
                    at,
                    what,
                    "say more for `control`, or make `keep-alive` longer or \"0 s\"",
                );
            }
        }
        Ok(Switches { domain, locations, keep_alive })
    }

    /// Switches by their names, and where they are.
    fn switches<'t>(
        &self,
        table: &'t OvsTable,
    ) -> Result<(BTreeMap<&'t str, usize>, Vec<Location>), Problem> {
        let (mut names, mut locations) = (BTreeMap::new(), Vec::<Location>::new());
        for (number, switch) in table.switches.iter().enumerate() {
            let (at, SwitchTable { name, management, namespace }) = (switch.span().start, switch.get_ref());
            if names.insert(name.as_str(), number).is_some() {
                return self.wrong(at, format!("the switch \"{name}\" is there twice"), "give another name");
            }
            if namespace.as_deref().is_some_and(|name| !is_namespace(name)) {
                return self.wrong(at, "this is no name of a network namespace", "ip netns list names them");
            }
            if !is_socket(management) || locations.iter().any(|other| other.management == *management) {
                let what = "`management` is no socket of a bridge, or that of another switch";
                return self.wrong(at, what, "such as \"unix:/run/openvswitch/br0.mgmt\"");
            }
            locations.push(Location { management: management.clone(), namespace: namespace.clone() });
        }
        Ok((names, locations))
    }
}
