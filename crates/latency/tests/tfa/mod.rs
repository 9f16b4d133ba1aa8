//! TFA++ in floating point, written from its definition: a judge that shares no code with what it judges.
//!
//! First-in first-out servers. Of each flow a server knows a token bucket; flows that come by one link are no more than that link lets
//! through. The delay of a server is the largest horizontal distance between the sum and what it sends; behind it the bucket of a flow
//! is larger by its rate times what its delay varies. Networks with cycles are iterated from nothing until nothing changes.
//! Units: bits, seconds, bits per second.
#![allow(dead_code, reason = "each test file uses some of it")]

pub(crate) mod networks;
pub(crate) mod published;

/// Bits of the smallest and of the largest frame on a wire.
const SMALLEST: f64 = 84.0 * 8.0;
const LARGEST: f64 = 1_538.0 * 8.0;

/// A server: sends so many bits per second from `latency` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server {
    pub(crate) rate: f64,
    pub(crate) latency: f64,
}

/// Where a flow comes from to a hop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// The hop before, among those of the flow.
    pub(crate) from: usize,
    /// What the link lets through, if that is to be used.
    pub(crate) rate: Option<f64>,
    /// Time that frames of it vary from their reception to the queue.
    pub(crate) variation: f64,
}

/// A hop of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    pub(crate) server: usize,
    /// None if the flow begins here.
    pub(crate) link: Option<Link>,
}

/// A flow with its token bucket at the source.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) burst: f64,
    pub(crate) rate: f64,
    /// Bits of its smallest frame, which leaves first, and of its largest.
    pub(crate) smallest: f64,
    pub(crate) largest: f64,
    /// Whether its bucket is that of a meter, which knows whole bits and bits per second, and behind which frames may be of any size.
    pub(crate) metered: bool,
    /// Hops before those behind them.
    pub(crate) hops: Vec<Hop>,
}

/// The delay of each server; `None` if one has no bound, or none was found in a thousand rounds.
pub(crate) fn delays(servers: &[Server], flows: &[Flow]) -> Option<Vec<f64>> {
    let mut delays = vec![0.0; servers.len()];
    for _ in 0..1_000 {
        let next = round(servers, flows, &delays)?;
        let grown = delays.iter().zip(&next).any(|(before, after)| *after > before * (1.0 + 1e-13) + 1e-13);
        delays = next;
        if !grown {
            return Some(delays);
        }
        if delays.iter().any(|delay| *delay > 3_600.0 * 24.0) {
            return None;
        }
    }
    None
}

fn round(servers: &[Server], flows: &[Flow], delays: &[f64]) -> Option<Vec<f64>> {
    // For each server its groups: link and rate, burst and rate of the flows, largest frame and variation.
    let mut groups: Vec<Vec<(Option<(usize, f64)>, f64, f64, f64, f64)>> = vec![Vec::new(); servers.len()];
    for flow in flows {
        let mut bursts: Vec<f64> = Vec::with_capacity(flow.hops.len());
        for hop in &flow.hops {
            let burst = match hop.link {
                None => flow.burst,
                Some(link) if flow.metered => {
                    let before = flow.hops[link.from].server;
                    let smallest = if link.from == 0 { flow.smallest } else { SMALLEST };
                    let quickest = smallest / servers[before].rate;
                    let grown = flow.rate * (delays[before] - quickest + link.variation).max(0.0);
                    (bursts[link.from] + grown).ceil() + 1.0
                }
                Some(link) => {
                    let before = flow.hops[link.from].server;
                    let quickest = flow.smallest / servers[before].rate;
                    bursts[link.from] + flow.rate * (delays[before] - quickest + link.variation).max(0.0)
                }
            };
            bursts.push(burst);
            let link = hop.link.and_then(|link| Some((flow.hops[link.from].server, link.rate?)));
            let variation = hop.link.map_or(0.0, |link| link.variation);
            let groups = &mut groups[hop.server];
            let at = match groups.iter().position(|group| link.is_some() && group.0 == link) {
                Some(at) => at,
                None => {
                    groups.push((link, 0.0, 0.0, 0.0, 0.0));
                    groups.len() - 1
                }
            };
            groups[at].1 += burst;
            groups[at].2 += if flow.metered { flow.rate.ceil() } else { flow.rate };
            let largest = if flow.metered && hop.link.is_some() { LARGEST } else { flow.largest };
            groups[at].3 = largest.max(groups[at].3);
            groups[at].4 = variation.max(groups[at].4);
        }
    }
    servers.iter().zip(&groups).map(|(server, groups)| delay(server, groups)).collect()
}

fn delay(server: &Server, groups: &[(Option<(usize, f64)>, f64, f64, f64, f64)]) -> Option<f64> {
    if groups.is_empty() {
        return Some(0.0);
    }
    let rate: f64 = groups.iter().map(|group| group.2).sum();
    if rate >= server.rate {
        return None;
    }
    let cap = |group: &(Option<(usize, f64)>, f64, f64, f64, f64), t: f64| match group.0 {
        Some((_, link)) => group.3 + link * (t + group.4),
        None => f64::INFINITY,
    };
    let come =
        |t: f64| -> f64 { groups.iter().map(|group| (group.1 + group.2 * t).min(cap(group, t))).sum() };
    // Concave: the distance is largest where a slope changes, or at once.
    let crossing = |group: &(Option<(usize, f64)>, f64, f64, f64, f64)| {
        let (_, link) = group.0?;
        let at = (group.1 - cap(group, 0.0)) / (link - group.2);
        (at > 0.0).then_some(at)
    };
    let instants = groups.iter().filter_map(crossing).chain([0.0]);
    Some(instants.map(|t| server.latency + come(t) / server.rate - t).fold(0.0, f64::max))
}
