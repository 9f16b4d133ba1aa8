//! From the routes of a BGP speaker to paths: all of them, the best or not. Each domain on the way has appended large communities (RFC 8092) with its own
//! number, the code point of a class, and microseconds.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::config::Config;
use crate::routes::{BgpPath, MOST_DOMAINS};
use crate::words::{Asn, Class, Prefix};

/// Most paths to one domain that count: a neighbour that announces more cannot make the manager ask along all of them.
pub const MOST_PATHS: usize = 64;

/// A part of an AS_PATH (RFC 4271, 4.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Segment {
    /// AS_SEQUENCE: domains in the order in which packets pass them.
    Sequence(Vec<Asn>),
    /// Anything else, such as AS_SET: it does not say which domains packets pass.
    Unordered,
}

/// One route of a BGP speaker to a range of addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BgpRoute {
    /// The addresses.
    pub prefix: Prefix,
    /// AS_PATH, from the neighbour to the origin.
    pub as_path: Vec<Segment>,
    /// All large communities, those of other purposes too.
    pub large_communities: Vec<[u32; 3]>,
}

/// How many routes are no paths, and why.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LeftOut {
    /// A part of AS_PATH does not say in which order domains are passed.
    pub unordered: usize,
    /// A domain is passed twice, the own domain is passed, or there are more than 15.
    pub looped_or_long: usize,
    /// The last domain of AS_PATH is not the one that has the addresses, as the operator says.
    pub foreign: usize,
    /// There were more than [`MOST_PATHS`] to the same domain. Those of fewer domains count, and those that say something of a class before others.
    pub beyond: usize,
}

/// What domains say of classes, in microseconds.
type Said = BTreeMap<(Asn, Class), u32>;

/// The class that a large community speaks of, by its code point; `None` if sessions cannot reserve in it.
fn class_of(code_point: u32) -> Option<Class> {
    [Class::Ef, Class::Af4, Class::Af1].into_iter().find(|class| u32::from(class.dscp()) == code_point)
}

/// The large community by which a domain tells its delay in a class, in microseconds.
pub fn large_community(own: Asn, class: Class, microseconds: u32) -> [u32; 3] {
    [own.0, u32::from(class.dscp()), microseconds]
}

/// The domains of a route, each once: a domain may prepend itself several times. `None` if their order is not known.
fn domains(route: &BgpRoute) -> Option<Vec<Asn>> {
    let mut domains = Vec::new();
    for segment in &route.as_path {
        match segment {
            Segment::Sequence(all) => domains.extend(all),
            Segment::Unordered => return None,
        }
    }
    domains.dedup();
    Some(domains)
}

fn is_passed_once(own: Asn, domains: &[Asn]) -> bool {
    let is_twice = |(at, asn): (usize, &Asn)| domains.iter().skip(at + 1).any(|other| other == asn);
    domains.len() < MOST_DOMAINS && !domains.contains(&own) && !domains.iter().enumerate().any(is_twice)
}

/// Paths that routes tell to other domains, in a steady order, and what was left out. Where routes have the same AS_PATH, or a domain says several
/// delays of a class, the largest counts. Routes of the own domain are neither.
pub fn paths_of_routes(config: &Config, routes: &[BgpRoute]) -> (Vec<BgpPath>, LeftOut) {
    let mut left_out = LeftOut::default();
    let owned: BTreeSet<(Prefix, Asn)> = config.addresses.iter().copied().collect();
    // By destination, then by path.
    let mut found: BTreeMap<Asn, BTreeMap<Vec<Asn>, Said>> = BTreeMap::new();
    for route in routes {
        let Some(domains) = domains(route) else {
            left_out.unordered += 1;
            continue;
        };
        let Some(destination) = domains.last().copied() else { continue };
        if !owned.contains(&(route.prefix, destination)) {
            left_out.foreign += 1;
            continue;
        }
        if !is_passed_once(config.asn, &domains) {
            left_out.looped_or_long += 1;
            continue;
        }
        let told: Vec<(Asn, Class, u32)> = route
            .large_communities
            .iter()
            .filter_map(|[asn, code_point, delay]| Some((Asn(*asn), class_of(*code_point)?, *delay)))
            .filter(|(asn, _, _)| domains.contains(asn))
            .collect();
        let said = found.entry(destination).or_default().entry(domains).or_default();
        for (asn, class, delay) in told {
            let known = said.entry((asn, class)).or_default();
            *known = delay.max(*known);
        }
    }
    let mut all = Vec::new();
    for of_destination in found.into_values() {
        let mut paths: Vec<BgpPath> = of_destination
            .into_iter()
            .map(|(as_path, said)| BgpPath {
                as_path,
                communities: said.into_iter().map(|((asn, class), delay)| (asn, class, delay)).collect(),
            })
            .collect();
        let says_nothing = |path: &BgpPath| {
            [Class::Ef, Class::Af4, Class::Af1].iter().all(|class| path.delay(*class).is_none())
        };
        paths.sort_by_key(|path| (says_nothing(path), path.as_path.len()));
        left_out.beyond += paths.len().saturating_sub(MOST_PATHS);
        paths.truncate(MOST_PATHS);
        all.extend(paths);
    }
    (all, left_out)
}
