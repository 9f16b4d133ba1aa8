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

/// What comes to a server by one link, or from memory.
#[derive(Clone, Copy)]
struct Group {
    /// The server before, and what its link lets through.
    link: Option<(usize, f64)>,
    burst: f64,
    rate: f64,
    /// Bits of the largest frame, and how its time to the queue varies.
    largest: f64,
    variation: f64,
}

impl Group {
    fn cap(&self, t: f64) -> f64 {
        self.link.map_or(f64::INFINITY, |(_, rate)| self.largest + rate * (t + self.variation))
    }

    fn come(&self, t: f64) -> f64 {
        (self.burst + self.rate * t).min(self.cap(t))
    }

    /// Where the link lets through more than flows send.
    fn crossing(&self) -> Option<f64> {
        let at = (self.burst - self.cap(0.0)) / (self.link?.1 - self.rate);
        (at > 0.0).then_some(at)
    }
}

/// Bits at once of a flow at a hop, given those at the hops before.
fn burst_at(flow: &Flow, hop: &Hop, bursts: &[f64], servers: &[Server], delays: &[f64]) -> f64 {
    let Some(link) = hop.link else { return flow.burst };
    let before = flow.hops[link.from].server;
    let smallest = if flow.metered && link.from > 0 { SMALLEST } else { flow.smallest };
    let varies = delays[before] - smallest / servers[before].rate + link.variation;
    let burst = bursts[link.from] + flow.rate * varies.max(0.0);
    if flow.metered { burst.ceil() + 1.0 } else { burst }
}

fn round(servers: &[Server], flows: &[Flow], delays: &[f64]) -> Option<Vec<f64>> {
    let mut groups: Vec<Vec<Group>> = vec![Vec::new(); servers.len()];
    for flow in flows {
        let mut bursts: Vec<f64> = Vec::with_capacity(flow.hops.len());
        for hop in &flow.hops {
            let burst = burst_at(flow, hop, &bursts, servers, delays);
            bursts.push(burst);
            let rate = if flow.metered { flow.rate.ceil() } else { flow.rate };
            let largest = if flow.metered && hop.link.is_some() { LARGEST } else { flow.largest };
            let link = hop.link.and_then(|link| Some((flow.hops[link.from].server, link.rate?)));
            let variation = hop.link.map_or(0.0, |link| link.variation);
            let groups = &mut groups[hop.server];
            match groups.iter_mut().find(|group| link.is_some() && group.link == link) {
                Some(group) => {
                    group.burst += burst;
                    group.rate += rate;
                    group.largest = largest.max(group.largest);
                    group.variation = variation.max(group.variation);
                }
                None => groups.push(Group { link, burst, rate, largest, variation }),
            }
        }
    }
    servers.iter().zip(&groups).map(|(server, groups)| delay(server, groups)).collect()
}

fn delay(server: &Server, groups: &[Group]) -> Option<f64> {
    if groups.is_empty() {
        return Some(0.0);
    }
    if groups.iter().map(|group| group.rate).sum::<f64>() >= server.rate {
        return None;
    }
    let come = |t: f64| -> f64 { groups.iter().map(|group| group.come(t)).sum() };
    // Concave: the distance is largest where a slope changes, or at once.
    let instants = groups.iter().filter_map(Group::crossing).chain([0.0]);
    Some(instants.map(|t| server.latency + come(t) / server.rate - t).fold(0.0, f64::max))
}
