//! The inside of a domain of Linux routers, as its file describes it: routers, links, edges and border links that fit together, and agreements
//! that promise no more than the ports of border links keep.
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;

use diagnostics::{Problem, nearest};
use linux_edge::budget;
use linux_edge::domain::{AROUND, Border, Ceiling, CoreLink, Demoted, Domain, Edge, End, Router, Wire};
use linux_edge::ledger::Ledger;
use linux_edge::policing::Policing;
use serde::Deserialize;
use toml::Spanned;
use wan::{Class, Config, Excess, LinkId, Place};

use super::access::LineTable;
use super::check::Checker;
use super::document::{Document, ExcessWord};
use super::quantities::{Addresses, Bytes, InterfaceAddress, Rate, Share, Time};
use crate::linux_routers::Routers;
use crate::wording::time;

/// Numbers of routers by their names.
type Numbers<'t> = BTreeMap<&'t str, usize>;

/// Most edges and border links, because each has a way to each other.
const MOST_ENDS: usize = 64;
/// Most routers and links.
const MOST: usize = 1_000;
/// Bytes of the largest packet where hosts are, and between routers, unless the file says otherwise: a tunnel adds 40.
const EDGE_MTU: u32 = 1_500;
const MTU: u32 = 1_540;

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LinuxTable {
    /// What a router takes until a packet is in a queue.
    pub(super) processing: Time,
    /// From one keep-alive to the next.
    #[serde(default)]
    pub(super) keep_alive: Option<Time>,
    /// Of AF of flows that stay in the domain.
    #[serde(default)]
    pub(super) excess: Option<ExcessWord>,
    #[serde(default)]
    pub(super) control: Option<CeilingTable>,
    #[serde(default)]
    pub(super) ef: Option<CeilingTable>,
    #[serde(default)]
    pub(super) af4: Option<CeilingTable>,
    #[serde(default)]
    pub(super) af1: Option<CeilingTable>,
    #[serde(rename = "router")]
    pub(super) routers: Vec<Spanned<RouterTable>>,
    #[serde(default, rename = "link")]
    pub(super) links: Vec<Spanned<CoreTable>>,
    #[serde(default, rename = "edge")]
    pub(super) edges: Vec<Spanned<EdgeTable>>,
    #[serde(default, rename = "border")]
    pub(super) borders: Vec<Spanned<BorderTable>>,
    /// Accesses, if the table is `[access]`.
    #[serde(skip)]
    pub(super) lines: Option<Vec<Spanned<LineTable>>>,
}

#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CeilingTable {
    share: Share,
    burst: Bytes,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RouterTable {
    name: String,
    address: Ipv6Addr,
    /// Without it this host.
    #[serde(default)]
    namespace: Option<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct EndTable {
    router: Spanned<String>,
    interface: String,
    address: Ipv6Addr,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CoreTable {
    ends: [EndTable; 2],
    rate: Rate,
    #[serde(default)]
    propagation: Time,
    #[serde(default)]
    mtu: Option<u32>,
    #[serde(default)]
    bursts: Option<u32>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct EdgeTable {
    router: Spanned<String>,
    interface: String,
    addresses: Vec<InterfaceAddress>,
    rate: Rate,
    #[serde(default)]
    propagation: Time,
    #[serde(default)]
    mtu: Option<u32>,
    #[serde(default)]
    bursts: Option<u32>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct BorderTable {
    link: u32,
    router: Spanned<String>,
    interface: String,
    address: Ipv6Addr,
    neighbour: Ipv6Addr,
    locator: Ipv6Addr,
    neighbour_locator: Ipv6Addr,
    #[serde(default)]
    beyond: Vec<Addresses>,
    rate: Rate,
    #[serde(default)]
    propagation: Time,
    #[serde(default)]
    mtu: Option<u32>,
}

/// Nanoseconds from one keep-alive to the next, unless the file says otherwise, and what it may say.
const KEEP_ALIVE: u64 = 100_000_000;
const LEAST_KEEP_ALIVE: u64 = 10_000_000;
const LONGEST_KEEP_ALIVE: u64 = 60_000_000_000;

pub(super) fn wire(rate: Rate, propagation: Time, [mtu, bursts]: [Option<u32>; 2], otherwise: u32) -> Wire {
    let (mtu, bursts) = (mtu.unwrap_or(otherwise), bursts.unwrap_or(1));
    Wire { rate: rate.0, propagation: propagation.0, mtu, bursts }
}

/// What control, EF, AF4 and AF1 may take of each port.
pub(super) fn ceilings(tables: [Option<CeilingTable>; 4]) -> BTreeMap<Class, Ceiling> {
    let classes = [Class::Control, Class::Ef, Class::Af4, Class::Af1];
    let ceiling = |(class, of): (Class, Option<CeilingTable>)| {
        of.map(|of| (class, Ceiling { share: of.share.0, burst: of.burst.0 }))
    };
    classes.into_iter().zip(tables).filter_map(ceiling).collect()
}

/// The links over which what is beyond an agreement is marked down: those by which this domain sends, or those by which it receives.
fn demoted(config: &Config, sends: bool) -> BTreeSet<LinkId> {
    let of = config.agreements.iter().filter(|agreement| (agreement.from == config.asn) == sends);
    of.filter(|agreement| agreement.excess == Excess::Demote).map(|agreement| agreement.link).collect()
}

/// A name that is part of a path, and of no other one.
pub(super) fn is_namespace(name: &str) -> bool {
    let plain = |at: char| at.is_ascii_alphanumeric() || matches!(at, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 255 && !name.starts_with('.') && name.chars().all(plain)
}

impl Checker<'_> {
    /// The routers of the domain, by a table that begins at `at`.
    pub(super) fn linux(
        &self,
        at: usize,
        table: &LinuxTable,
        document: &Document,
        config: &Config,
    ) -> Result<Routers, Problem> {
        let name = if table.lines.is_some() { "access" } else { "linux" };
        let lines = table.lines.as_deref().unwrap_or_default();
        if table.lines.is_some() && lines.is_empty() {
            let what = "there is no access in [access]";
            return self.wrong(at, what, "add an [[access.line]], or say [linux] for routers without one");
        }
        let ends = table.edges.len() + table.borders.len();
        if ends > MOST_ENDS || table.routers.len() > MOST || table.links.len() + lines.len() > MOST {
            let what = format!("more than {MOST_ENDS} edges and border links, or {MOST} routers or links");
            return self.wrong(at, what, "divide the domain");
        }
        let (names, namespaces) = self.routers(table)?;
        let router = |name: &Spanned<String>| {
            let found = names.get(name.get_ref().as_str()).copied();
            found.map_or_else(
                || {
                    let near = nearest(name.get_ref(), names.keys().copied());
                    let remedy = near.map_or(format!("add a [[{name}.router]] of that name"), |near| {
                        format!("\"{near}\" is there")
                    });
                    let what = format!("there is no router \"{}\"", name.get_ref());
                    self.wrong(name.span().start, what, &remedy)
                },
                Ok,
            )
        };
        let end = |of: &EndTable| {
            let (interface, address) = (of.interface.clone(), of.address);
            Ok(End { router: router(&of.router)?, interface, address })
        };
        let link = |it: &Spanned<CoreTable>| {
            let CoreTable { ends: [one, other], rate, propagation, mtu, bursts } = it.get_ref();
            let wire = wire(*rate, *propagation, [*mtu, *bursts], MTU);
            Ok(CoreLink { ends: [end(one)?, end(other)?], wire, access: None })
        };
        let line = |it: &Spanned<LineTable>| {
            let ends = [end(&it.get_ref().site)?, end(&it.get_ref().head)?];
            it.get_ref().link(ends).or_else(|(what, remedy)| self.wrong(it.span().start, what, remedy))
        };
        let edge = |it: &Spanned<EdgeTable>| {
            let (at, it) = (it.span().start, it.get_ref());
            let addresses: Vec<_> = it.addresses.iter().map(|address| address.0).collect();
            if addresses.is_empty() || addresses.iter().any(|of| config.owner(of.address) != Some(self.own()))
            {
                let what = "an edge has no address, or one that is not of this domain";
                return self.wrong(at, what, "its [[domain]] says which `prefixes` it has");
            }
            let wire = wire(it.rate, it.propagation, [it.mtu, it.bursts], EDGE_MTU);
            Ok(Edge { router: router(&it.router)?, interface: it.interface.clone(), addresses, wire })
        };
        let agreed: BTreeSet<u32> = config.agreements.iter().map(|agreement| agreement.link.0).collect();
        let border = |it: &Spanned<BorderTable>| {
            let (at, it) = (it.span().start, it.get_ref());
            if !agreed.contains(&it.link) {
                let what = format!("no [[agreement]] is about link {}", it.link);
                return self.wrong(at, what, "add one, or correct `link`");
            }
            Ok(Border {
                link: LinkId(it.link),
                end: End {
                    router: router(&it.router)?,
                    interface: it.interface.clone(),
                    address: it.address,
                },
                neighbour: it.neighbour,
                locator: it.locator,
                neighbour_locator: it.neighbour_locator,
                beyond: it.beyond.iter().map(|range| range.0).collect(),
                wire: wire(it.rate, it.propagation, [it.mtu, None], MTU),
            })
        };
        let routers = table.routers.iter().map(|it| it.get_ref());
        let domain = Domain {
            asn: config.asn,
            routers: routers.map(|it| Router { name: it.name.clone(), address: it.address }).collect(),
            links: table.links.iter().map(link).chain(lines.iter().map(line)).collect::<Result<_, _>>()?,
            edges: table.edges.iter().map(edge).collect::<Result<_, _>>()?,
            borders: table.borders.iter().map(border).collect::<Result<_, _>>()?,
            ceilings: ceilings([table.control, table.ef, table.af4, table.af1]),
            processing: table.processing.0,
            policing: Policing::Classes,
            demoted: Demoted {
                inside: table.excess == Some(ExcessWord::Demote),
                to: demoted(config, true),
                from: demoted(config, false),
            },
        };
        if let Err(what) = domain.check() {
            return self.wrong(at, what, &format!("docs/wan.md says what [{name}] needs"));
        }
        self.is_bounded(at, &domain, config)?;
        self.is_kept(document, &domain, config)?;
        let keep_alive = self.keep_alive(at, table.keep_alive, &domain)?;
        Ok(Routers { domain, namespaces, keep_alive })
    }

    /// Nanoseconds from one keep-alive to the next, for which there is room.
    pub(super) fn keep_alive(&self, at: usize, said: Option<Time>, domain: &Domain) -> Result<u64, Problem> {
        let keep_alive = said.map_or(KEEP_ALIVE, |interval| interval.0);
        if keep_alive > 0 && !(LEAST_KEEP_ALIVE..=LONGEST_KEEP_ALIVE).contains(&keep_alive) {
            let what = format!(
                "`keep-alive` is {}; from {} to {} is possible, or \"0 s\" for none",
                time(keep_alive),
                time(LEAST_KEEP_ALIVE),
                time(LONGEST_KEEP_ALIVE)
            );
            return self.wrong(at, what, "100 ms is usual");
        }
        self.has_room(at, domain, keep_alive)?;
        Ok(keep_alive)
    }

    /// Keep-alives and answers to those of neighbours are served before all else: they are part of what control may take of each port, half of it each.
    fn has_room(&self, at: usize, domain: &Domain, keep_alive: u64) -> Result<(), Problem> {
        if keep_alive == 0 {
            return Ok(());
        }
        let bytes = 2 * (budget::KEEP_ALIVE + AROUND);
        let rate = (bytes * 8 * 1_000_000_000).div_ceil(keep_alive);
        let control = domain.ceilings.get(&Class::Control);
        let has_room = |wire: &Wire| {
            control.is_some_and(|ceiling| {
                let allowed = budget::allowed(wire, ceiling);
                allowed.0 >= rate && allowed.1 >= bytes
            })
        };
        let core = domain.links.iter().map(|link| &link.wire);
        if core.chain(domain.borders.iter().map(|border| &border.wire)).all(has_room) {
            return Ok(());
        }
        let what = format!(
            "keep-alives each {} need {rate} bit/s and {bytes} B of control at each link, and a link has less",
            time(keep_alive)
        );
        let remedy = "say more for `control`, or make `keep-alive` longer; \"0 s\" is none, and cuts of links are not seen then";
        self.wrong(at, what, remedy)
    }

    /// Routers by their names, and where they are.
    fn routers<'t>(&self, table: &'t LinuxTable) -> Result<(Numbers<'t>, Vec<Option<String>>), Problem> {
        let (mut names, mut namespaces) = (BTreeMap::new(), Vec::new());
        for (number, router) in table.routers.iter().enumerate() {
            let (at, router) = (router.span().start, router.get_ref());
            if names.insert(router.name.as_str(), number).is_some() {
                return self.wrong(
                    at,
                    format!("the router \"{}\" is there twice", router.name),
                    "give another name",
                );
            }
            if router.namespace.as_deref().is_some_and(|name| !is_namespace(name)) {
                return self.wrong(at, "this is no name of a network namespace", "ip netns list names them");
            }
            if namespaces.contains(&router.namespace) {
                let what = "two routers are in one network namespace, or on this host";
                return self.wrong(at, what, "say `namespace = \"NAME\"` for each, one at most without");
            }
            namespaces.push(router.namespace.clone());
        }
        Ok((names, namespaces))
    }

    /// All links of agreements end here, and each class has a bound from everywhere to everywhere.
    pub(super) fn is_bounded(&self, at: usize, domain: &Domain, config: &Config) -> Result<(), Problem> {
        if domain.edges.is_empty() && domain.borders.len() < 2 {
            return self.wrong(at, "nothing can pass this domain", "add an edge where hosts are");
        }
        let links: BTreeSet<LinkId> = config.agreements.iter().map(|agreement| agreement.link).collect();
        if let Some(missing) = links.iter().find(|link| domain.border(**link).is_none()) {
            let what = format!("link {} has an agreement, and no end here", missing.0);
            return self.wrong(at, what, "add a border with its `link`");
        }
        let ledger = Ledger::new(domain);
        let borders = domain.borders.iter().map(|border| Place::Border(border.link));
        let places: Vec<Place> = borders.chain((!domain.edges.is_empty()).then_some(Place::Edges)).collect();
        let classes = domain.ceilings.keys().filter(|class| **class != Class::Control);
        for class in classes {
            for from in &places {
                for to in places.iter().filter(|to| *to != from || **to == Place::Edges) {
                    if ledger.ways(domain, *from, *to, *class).is_none() {
                        let what =
                            format!("there is no way, or no bound, from {} to {}", shown(*from), shown(*to));
                        return self.wrong(at, what, "add links, or lower ceilings");
                    }
                }
            }
        }
        Ok(())
    }

    /// No agreement promises a shorter delay than the port of its link keeps.
    pub(super) fn is_kept(
        &self,
        document: &Document,
        domain: &Domain,
        config: &Config,
    ) -> Result<(), Problem> {
        let own = config.agreements.iter().zip(&document.agreements);
        for (agreement, table) in own.filter(|(agreement, _)| agreement.from == config.asn) {
            for (class, terms) in &agreement.terms {
                let (at, name) = (table.span().start, super::class_name(*class));
                let Some(least) = budget::border(domain, agreement.link, *class) else {
                    let what = format!("{name} has no bound on link {}", agreement.link.0);
                    return self.wrong(at, what, "say what it may take of each port");
                };
                if terms.delay < least.delay || terms.jitter < least.jitter {
                    let what = format!("link {} keeps no such delay in {name}", agreement.link.0);
                    let remedy = format!(
                        "its port needs `delay = \"{}\", jitter = \"{}\"` or more",
                        time(least.delay),
                        time(least.jitter)
                    );
                    return self.wrong(at, what, &remedy);
                }
            }
        }
        Ok(())
    }
}

fn shown(place: Place) -> String {
    match place {
        Place::Border(link) => format!("border link {}", link.0),
        Place::Edges => "an edge".to_owned(),
    }
}
