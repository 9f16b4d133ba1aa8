//! Which sessions pairs need.
//!
//! Edges tell packets apart by addresses and ports. So all that goes from one address to a port of another is one flow, whichever writers
//! and readers it is of, in the most urgent class of those; and all flows between two addresses are one session, so that none of them is in two.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

use wan::{Asn, Class};

use crate::load::{Load, packet};
use crate::pair::{Overhead, Pair, PairId, Share};

/// Flows of a session at most.
const MOST_FLOWS: usize = 8;

/// Bytes of a packet that a writer sends whatever its samples are: several small ones share a datagram, and each path is taken to carry
/// 256 bytes of UDP payload.
const LEAST_LARGEST: u32 = 256 + 48;

/// Class and limit of discovery: a lease is longer, and announcements come in bursts, for which the most urgent class has no room.
const DISCOVERY: (Class, u64) = (Class::Af4, 1_000_000_000);

/// From which address to which.
pub type Ends = (IpAddr, IpAddr);

/// An address, another one, and the port of that.
type Way = (IpAddr, IpAddr, u16);

/// What a flow carries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Samples, and acknowledgements of those that come the other way.
    Data,
    /// Acknowledgements.
    AckNack,
    /// Discovery.
    Discovery,
}

/// To which side.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// From the first of the [`Ends`] to the second.
    Forward,
    /// Back.
    Reverse,
}

/// A flow of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// What it carries.
    pub kind: Kind,
    /// To which side.
    pub direction: Direction,
    /// The port that it goes to.
    pub port: u16,
    /// Its class.
    pub class: Class,
    /// Bits per second of IP packets.
    pub rate: u64,
    /// Bytes at once.
    pub bucket: u64,
    /// Bytes of the largest packet.
    pub largest_packet: u32,
    /// Nanoseconds from edge to edge at most.
    pub limit: u64,
}

/// What a writer may send of a flow, so that all that use the flow together keep to it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Part {
    /// Bits per second of IP packets.
    pub rate: u64,
    /// Bytes at once.
    pub bucket: u64,
    /// Bytes of the largest packet.
    pub largest_packet: u32,
}

/// What a limit is divided into, and what the writer of a pair may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Which flow of the session it is.
    pub flow: usize,
    /// Nanoseconds from write to read.
    pub latency: u64,
    /// The writer's host.
    pub writer: Share,
    /// The reader's host.
    pub reader: Share,
    /// What its writer may send to this reader.
    pub part: Part,
}

impl Budget {
    /// What is left for the network.
    pub fn network(&self) -> u64 {
        self.latency.saturating_sub(self.writer.time).saturating_sub(self.reader.time)
    }
}

/// A session that is needed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Wanted {
    /// Its flows.
    pub flows: Vec<Flow>,
    /// The pairs that have asked for it.
    pub pairs: BTreeMap<PairId, Budget>,
}

/// What pairs need.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Plan {
    /// Sessions.
    pub sessions: BTreeMap<Ends, Wanted>,
    /// Pairs that are in none of them, and why. Pairs of which this domain has neither end, or both, are in neither.
    pub reasons: BTreeMap<PairId, String>,
}

fn forth(pair: &Pair) -> Way {
    (pair.from.address, pair.to.address, pair.to.port)
}

fn back(pair: &Pair) -> Way {
    (pair.to.address, pair.from.address, pair.from.port)
}

/// What a pair asks for by itself.
///
/// # Errors
/// Why it gets nothing, and what to do.
fn asked(pair: &Pair, own: Asn) -> Result<(Class, Budget), String> {
    let owner = |address: IpAddr, domain: Option<Asn>| {
        domain.ok_or_else(|| {
            format!("{address} is of no domain that the file knows: give the file of the manager a [[domain]] with its prefix")
        })
    };
    let from = owner(pair.from.address, pair.from.domain)?;
    owner(pair.to.address, pair.to.domain)?;
    if from != own {
        return Err(format!("its writer is in AS {}, where a session for it is to be asked for", from.0));
    }
    let (class, latency) = match (pair.class, pair.latency) {
        (Some(class), Some(latency)) => (class, latency),
        (None, None) => {
            return Err(
                "it asks for nothing: describe the topic, or give its writer a TRANSPORT_PRIORITY of 12, 34 or 46 and its reader a LATENCY_BUDGET".into(),
            );
        }
        (None, Some(_)) => {
            return Err("its class is not known: describe the topic, or give its writer a TRANSPORT_PRIORITY of 12, 34 or 46".into());
        }
        (Some(_), None) => {
            return Err("its limit is not known: describe the topic with a latency, or give its reader a LATENCY_BUDGET".into());
        }
    };
    let share = |of: &str, at: IpAddr, share: Option<Share>| {
        share.ok_or_else(|| {
            format!(
                "what the {of}'s host {at} takes of the limit is not known: let its participant announce punctual.host-share, or give --host-share"
            )
        })
    };
    let writer = share("writer", pair.from.address, pair.from.share)?;
    let reader = share("reader", pair.to.address, pair.to.share)?;
    let budget = Budget { flow: 0, latency, writer, reader, part: Part::default() };
    if budget.network() == 0 {
        return Err(format!(
            "both hosts take {} ns of its {latency} ns, and nothing is left for the network",
            writer.time.saturating_add(reader.time)
        ));
    }
    Ok((class, budget))
}

/// All that uses a way.
#[derive(Default)]
struct Uses<'p> {
    /// Pairs whose samples go there.
    data: Vec<&'p Pair>,
    /// Pairs whose acknowledgements go there.
    acks: Vec<&'p Pair>,
}

/// Packets of a way.
///
/// # Errors
/// Why they are not known.
fn load(way: Way, uses: &Uses<'_>, overhead: &Overhead) -> Result<Load, String> {
    let mut load = Load::default();
    let control = packet(way.1, overhead.control);
    for pair in &uses.data {
        add_samples(&mut load, way, pair, overhead)?;
    }
    for pair in &uses.acks {
        let traffic = pair.traffic.as_ref().map_err(|why| {
            format!("\"{}\" is acknowledged by the same addresses and port: {why}", pair.topic)
        })?;
        load.add(control, traffic.separation, traffic.burst);
        load.add(control, overhead.heartbeat, 1);
    }
    Ok(load)
}

/// Packets of the writer of a pair.
///
/// # Errors
/// Why they are not known.
fn add_samples(load: &mut Load, way: Way, pair: &Pair, overhead: &Overhead) -> Result<(), String> {
    let control = packet(way.1, overhead.control);
    let unknown = |why: &String| format!("\"{}\" goes by the same addresses and port: {why}", pair.topic);
    let traffic = pair.traffic.as_ref().map_err(unknown)?;
    let size = packet(way.1, overhead.around.saturating_add(traffic.size));
    if size > overhead.packet {
        return Err(format!(
            "a sample of \"{}\" ({} bytes) needs a packet of {size} bytes, and {} is the most: how such samples are cut is not known, and edges do not know the pieces",
            pair.topic, traffic.size, overhead.packet
        ));
    }
    load.add(size, traffic.separation, traffic.burst);
    if pair.is_reliable {
        load.add(control, traffic.separation, traffic.burst);
        load.add(control, overhead.heartbeat, 1);
        if let Some(each) = 1_000_000_000_u64.checked_div(overhead.repairs.into()) {
            load.add(size, each, overhead.repairs);
        }
    }
    Ok(())
}

/// What the writers of a way may send: those of its pairs that ask for something.
fn give_parts(pairs: &mut BTreeMap<PairId, Budget>, way: Way, uses: &Uses<'_>, overhead: &Overhead) {
    for pair in &uses.data {
        let Some(budget) = pairs.get_mut(&pair.id) else { continue };
        let mut load = Load::default();
        if add_samples(&mut load, way, pair, overhead).is_ok() {
            let largest_packet = load.largest().max(LEAST_LARGEST);
            let bucket = load.part_bucket().max(largest_packet.into()).min(load.bucket());
            budget.part = Part { rate: load.part_rate(), bucket, largest_packet };
        }
    }
}

/// A way that is reserved.
struct Reserved {
    load: Load,
    class: Class,
    limit: u64,
    pairs: BTreeMap<PairId, Budget>,
}

fn flow(kind: Kind, direction: Direction, port: u16, load: &Load, class: Class, limit: u64) -> Flow {
    let (rate, bucket) = (load.rate(), load.bucket());
    let largest_packet = if kind == Kind::Data { load.largest().max(LEAST_LARGEST) } else { load.largest() };
    Flow { kind, direction, port, class, rate, bucket, largest_packet, limit }
}

/// Which sessions pairs need of the manager of a domain.
pub fn plan(own: Asn, pairs: &[Pair], overhead: &Overhead) -> Plan {
    let mut ways: BTreeMap<Way, Uses<'_>> = BTreeMap::new();
    let mut plan = Plan::default();
    let is_own = |domain: Option<Asn>| domain == Some(own);
    // A pair of the domain itself uses ways of it alone: edges between domains do not see it.
    let concerned = pairs.iter().filter(|pair| is_own(pair.from.domain) != is_own(pair.to.domain));
    let mut wishes: BTreeMap<Way, Vec<(PairId, Class, Budget)>> = BTreeMap::new();
    for pair in concerned {
        ways.entry(forth(pair)).or_default().data.push(pair);
        if pair.is_reliable {
            ways.entry(back(pair)).or_default().acks.push(pair);
        }
        match asked(pair, own) {
            Ok((class, budget)) => wishes.entry(forth(pair)).or_default().push((pair.id, class, budget)),
            Err(why) => drop(plan.reasons.insert(pair.id, why)),
        }
    }
    let mut reserved: BTreeMap<Ends, BTreeMap<Way, Reserved>> = BTreeMap::new();
    for (way, wishes) in wishes {
        let Some(uses) = ways.get(&way) else { continue };
        let class = wishes.iter().map(|(_, class, _)| *class).max();
        let limit = wishes.iter().map(|(_, _, budget)| budget.network()).min();
        match (load(way, uses, overhead), class.zip(limit)) {
            (Ok(load), Some((class, limit))) => {
                let mut pairs = wishes.into_iter().map(|(id, _, budget)| (id, budget)).collect();
                give_parts(&mut pairs, way, uses, overhead);
                let of = reserved.entry((way.0, way.1)).or_default();
                of.insert(way, Reserved { load, class, limit, pairs });
            }
            (Err(why), _) => plan.reasons.extend(wishes.into_iter().map(|(id, ..)| (id, why.clone()))),
            (Ok(_), None) => {}
        }
    }
    for (ends, of) in reserved {
        match session(&of, &ways, overhead) {
            Ok(wanted) => drop(plan.sessions.insert(ends, wanted)),
            Err(why) => {
                let pairs = of.into_values().flat_map(|reserved| reserved.pairs.into_keys());
                plan.reasons.extend(pairs.map(|id| (id, why.clone())));
            }
        }
    }
    plan
}

/// The session of all ways between two addresses.
///
/// # Errors
/// Why there is none.
fn session(
    of: &BTreeMap<Way, Reserved>,
    ways: &BTreeMap<Way, Uses<'_>>,
    overhead: &Overhead,
) -> Result<Wanted, String> {
    let mut wanted = Wanted::default();
    // By the way of acknowledgements: class and limit of the most urgent samples.
    let mut answers: BTreeMap<Way, (Class, u64)> = BTreeMap::new();
    let mut discovery: BTreeSet<(Direction, u16)> = BTreeSet::new();
    for (way, reserved) in of {
        let Reserved { load, class, limit, pairs } = reserved;
        let number = wanted.flows.len();
        wanted.flows.push(flow(Kind::Data, Direction::Forward, way.2, load, *class, *limit));
        wanted.pairs.extend(pairs.iter().map(|(id, budget)| (*id, Budget { flow: number, ..*budget })));
        for pair in ways.get(way).map(|uses| uses.data.as_slice()).unwrap_or_default() {
            if pair.is_reliable {
                let answer = answers.entry(back(pair)).or_insert((*class, *limit));
                *answer = (answer.0.max(*class), answer.1.min(*limit));
            }
            discovery.extend(pair.to.discovery_port.map(|port| (Direction::Forward, port)));
            discovery.extend(pair.from.discovery_port.map(|port| (Direction::Reverse, port)));
        }
    }
    for (way, (class, limit)) in answers {
        let Some(uses) = ways.get(&way) else { continue };
        let load = load(way, uses, overhead)?;
        // Where samples go that way, too, the other domain reserves for both, if they ask for anything.
        let mut answered = uses.data.iter().filter_map(|pair| Some(asked(pair, pair.from.domain?)));
        if let Some(pair) = uses.data.first() {
            if !answered.any(|asked| asked.is_ok()) {
                return Err(format!(
                    "its acknowledgements go by the same addresses and port as samples of \"{}\", which get no session: describe that topic, too, in both domains",
                    pair.topic
                ));
            }
        } else if !load.is_empty() {
            wanted.flows.push(flow(Kind::AckNack, Direction::Reverse, way.2, &load, class, limit));
        }
    }
    if overhead.discovery > 0 {
        for (direction, port) in discovery {
            // Participants that take discovery and samples at one port have one flow for both.
            if wanted.flows.iter().any(|flow| (flow.direction, flow.port) == (direction, port)) {
                continue;
            }
            let (rate, largest_packet) = (overhead.discovery, overhead.packet);
            let (kind, bucket) = (Kind::Discovery, 2 * u64::from(largest_packet));
            let (class, limit) = DISCOVERY;
            wanted.flows.push(Flow { kind, direction, port, class, rate, bucket, largest_packet, limit });
        }
    }
    if wanted.flows.len() > MOST_FLOWS {
        return Err(format!(
            "all that goes between both addresses is {} flows, and a session has {} at most: let programs share a participant, or do without --discovery",
            wanted.flows.len(),
            MOST_FLOWS
        ));
    }
    Ok(wanted)
}
