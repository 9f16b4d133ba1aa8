//! Paths through domains, as BGP tells them, with the delays that each domain appends as a community.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::words::{Asn, Class};

/// A path that BGP tells, the best one or not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BgpPath {
    /// AS_PATH from the neighbour to the destination.
    pub as_path: Vec<Asn>,
    /// Large communities: a domain, a class, and the microseconds that it needs at most.
    pub communities: Vec<(Asn, Class, u32)>,
}

/// Longer paths are not considered.
pub(crate) const MOST_DOMAINS: usize = 16;

impl BgpPath {
    /// Nanoseconds over the whole path: `None` if a domain of it says nothing of the class, or the path is no path.
    /// Where a domain says several delays, the largest counts.
    pub fn delay(&self, class: Class) -> Option<u64> {
        let mut sum = 0_u64;
        for asn in &self.as_path {
            let said = self.communities.iter().filter(|(of, in_class, _)| of == asn && *in_class == class);
            sum = sum.checked_add(u64::from(said.map(|(_, _, delay)| *delay).max()?) * 1_000)?;
        }
        Some(sum)
    }

    /// All domains from `own` on, each once: a domain may prepend itself several times.
    fn domains(&self, own: Asn) -> Vec<Asn> {
        let mut domains = alloc::vec![own];
        domains.extend(&self.as_path);
        domains.dedup();
        domains
    }
}

/// Which paths are told for which classes, each from `own` on.
pub(crate) fn told(own: Asn, paths: &[BgpPath]) -> BTreeSet<(Class, Vec<Asn>)> {
    let of = |path: &BgpPath| {
        let classes: Vec<Class> = [Class::Ef, Class::Af4, Class::Af1]
            .into_iter()
            .filter(|class| path.delay(*class).is_some())
            .collect();
        let domains = path.domains(own);
        classes.into_iter().map(move |class| (class, domains.clone()))
    };
    paths.iter().flat_map(of).collect()
}

/// Whether two paths between the same domains have no other domain in common, and so no link between domains either.
pub(crate) fn are_disjoint(one: &[Asn], other: &[Asn]) -> bool {
    let between = |path: &[Asn]| path.get(1..path.len().saturating_sub(1)).unwrap_or_default().to_vec();
    let inner = between(other);
    one != other && !between(one).iter().any(|asn| inner.contains(asn))
}

/// The places of two disjoint paths, those with the least slower one of all: paths come with the fastest first. Otherwise a domain that the two fastest
/// share.
pub(crate) fn disjoint_pair(paths: &[Vec<Asn>]) -> Result<(usize, usize), Option<Asn>> {
    for (second, path) in paths.iter().enumerate() {
        let first = paths.iter().take(second).position(|first| are_disjoint(first, path));
        if let Some(first) = first {
            return Ok((first, second));
        }
    }
    let ends = paths.first().map_or(0, |path| path.len().saturating_sub(1));
    let inner = paths.first().and_then(|path| path.get(1..ends)).unwrap_or_default();
    Err(inner.iter().copied().find(|asn| paths.iter().skip(1).all(|path| path.contains(asn))).or_else(|| {
        let second = paths.get(1)?;
        inner.iter().copied().find(|asn| second.contains(asn))
    }))
}

/// Paths from `own` to a destination that say enough and meet the limit, the fastest first: all that BGP tells are looked at. Otherwise the least
/// sum of any that says enough. Each path begins with `own`.
pub(crate) fn candidates(
    own: Asn,
    paths: &[BgpPath],
    destination: Asn,
    class: Class,
    limit: u64,
) -> Result<Vec<Vec<Asn>>, Option<u64>> {
    if own == destination {
        return Ok(alloc::vec![alloc::vec![own]]);
    }
    let mut told: BTreeMap<Vec<Asn>, u64> = BTreeMap::new();
    for path in paths.iter().filter(|path| path.as_path.last() == Some(&destination)) {
        let domains = path.domains(own);
        let has_loop =
            domains.iter().enumerate().any(|(at, asn)| domains.iter().skip(at + 1).any(|other| other == asn));
        if has_loop || domains.len() > MOST_DOMAINS {
            continue;
        }
        let once = BgpPath {
            as_path: domains.iter().skip(1).copied().collect(),
            communities: path.communities.clone(),
        };
        if let Some(delay) = once.delay(class) {
            // The file and BGP may tell the same one: the longer delay counts.
            let known = told.entry(domains).or_default();
            *known = delay.max(*known);
        }
    }
    let mut found: Vec<(u64, Vec<Asn>)> = told.into_iter().map(|(path, delay)| (delay, path)).collect();
    found.sort();
    let least = found.first().map(|(delay, _)| *delay);
    found.retain(|(delay, _)| *delay <= limit);
    if found.is_empty() { Err(least) } else { Ok(found.into_iter().map(|(_, path)| path).collect()) }
}
