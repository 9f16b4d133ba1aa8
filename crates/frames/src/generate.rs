//! Random networks: plain data from a seed, to be given to the simulator and to what it judges.
mod imperfect;
mod plan;

use alloc::vec;
use alloc::vec::Vec;

use crate::network::{Contract, Flow, Hop, Network, NetworkError, Port};
use crate::policer::{Counts, Policer};
use crate::random::Random;
use crate::wire::{Framing, Samples};
use plan::Plan;

/// Picoseconds of a byte at 100 Mb/s, 1 Gb/s and 10 Gb/s.
const RATES: [u64; 3] = [80_000, 8_000, 800];
/// The smallest and the largest Ethernet frame on the wire, with preamble and gap.
const FRAMES: [u64; 2] = [84, 1538];
/// IEEE 802.1Q: bytes of the tag of a frame in a VLAN.
const VLAN_TAG: u64 = 4;

/// How switches are connected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topology {
    /// One switch.
    Star,
    /// Switches in a row.
    Line,
    /// Switches in a circle: flows may depend on each other in a cycle.
    Ring,
    /// One switch above all others.
    Tree,
    /// Two switches above all others, each connected with all of them.
    FatTree,
}

impl Topology {
    /// All topologies.
    pub const ALL: [Self; 5] = [Self::Star, Self::Line, Self::Ring, Self::Tree, Self::FatTree];

    /// The pairs of switches that are connected, and how many switches there are.
    fn links(self, size: usize) -> (Vec<(usize, usize)>, usize) {
        match self {
            Self::Star => (Vec::new(), 1),
            Self::Line => ((1..size).map(|switch| (switch - 1, switch)).collect(), size),
            Self::Ring => ((0..size).map(|switch| (switch, (switch + 1) % size)).collect(), size),
            Self::Tree => ((1..size).map(|switch| (0, switch)).collect(), size),
            Self::FatTree => ((2..size).flat_map(|switch| [(0, switch), (1, switch)]).collect(), size),
        }
    }
}

/// Limits of what is generated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The most flows; at least 2.
    pub flows: usize,
    /// The most switches in a row, in a circle, or below the top; at least 3. A path in `Line` passes all of them.
    pub switches: usize,
    /// The most frames of a message; at least 1.
    pub frames: u64,
    /// Whether sources may send as a token bucket allows.
    pub buckets: bool,
    /// Whether sources may babble behind a gate or a meter; each of them has a host for itself.
    pub babblers: bool,
    /// Whether sources may send samples of many sizes and by RTPS, links have tags, switches let frames overtake, ports have traffic
    /// of control and [`Imperfections`](crate::Imperfections), and hosts send more than their flows.
    pub varied: bool,
}

impl Shape {
    /// At most 12 flows, 4 hops and 24 frames, token buckets among them: small enough for many runs.
    pub const SMALL: Self =
        Self { flows: 12, switches: 3, frames: 24, buckets: true, babblers: false, varied: false };
}

/// A network and what was intended with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Generated {
    /// The network.
    pub network: Network,
    /// How its switches are connected.
    pub topology: Topology,
    /// The load of its busiest port, in parts of a million: what is above it comes from rounding only.
    pub load: u64,
    /// The samples of each flow; traffic of no flow, which comes last, is not here.
    pub samples: Vec<Samples>,
    /// Burst, bytes and period of control at each port of a switch, if there is any.
    pub control: Option<[u64; 3]>,
    /// Burst, bytes and period of what each host sends besides its flows, if that is anything.
    pub beside: Option<[u64; 3]>,
}

/// The network of a seed.
///
/// # Errors
/// None for a shape within its limits; else what is wrong with the network.
pub fn network(seed: u64, shape: &Shape) -> Result<Generated, NetworkError> {
    let mut random = Random::new(seed);
    let topology = Topology::ALL[random.index(Topology::ALL.len())];
    let mut varied = Random::new(!seed);
    let mut plan = Plan::new(topology, shape, &mut random);
    if shape.varied {
        plan.vary(&mut varied);
    }
    let load = random.between(200_000, 950_000);
    let count = random.between(2, shape.flows as u64);
    let levels = random.between(1, 4);
    let per_port = random.once_in(4);
    // Flows in VLANs beside others, whose frames have no tag.
    let mut members = Random::new(seed ^ 0x0810_0000);
    let vlans = shape.varied && members.once_in(2);
    if vlans {
        plan.allow_vlans();
    }
    let mut babblers = Vec::new();
    let mut flows = Vec::new();
    let mut samples = Vec::new();
    for _ in 0..count {
        let publisher = plan.hosts[random.index(plan.hosts.len())];
        if babblers.contains(&publisher) {
            continue;
        }
        let alone = shape.babblers && random.once_in(4);
        let publisher = if alone { plan.add_host(&mut random) } else { publisher };
        if alone && shape.varied {
            plan.tag(plan.ports.len() - 2, &mut varied);
        }
        let own = u8::try_from(random.between(1, levels)).unwrap_or(1);
        let tree = plan.tree(publisher, &mut random).into_iter().map(|port| {
            let level = if per_port { u8::try_from(random.between(1, levels)).unwrap_or(1) } else { own };
            Hop { port, level }
        });
        let tree = tree.collect();
        let (flow, own) = source(shape, &mut random);
        let mut flow = Flow { tree, ..flow };
        if alone {
            babblers.push(publisher);
            flow.babbles = true;
        }
        flow.tag = if vlans && members.once_in(2) { VLAN_TAG } else { 0 };
        let tag = plan.ports[flow.tree[0].port].tag + flow.tag;
        let own = if shape.varied && varied.once_in(2) { various(shape, &mut varied) } else { own };
        set_messages(&mut flow, &own, tag, shape, &mut varied);
        samples.push(own);
        flows.push(flow);
    }
    scale(&mut flows, &plan.ports, load, &mut random);
    for flow in &mut flows {
        if flow.babbles {
            flow.policer = Some(guard(flow, &plan.ports, &mut random));
        }
    }
    let control = (shape.varied && varied.once_in(4)).then(|| plan.control(&mut flows, &mut varied));
    let mut random = Random::new(seed ^ 0x1A9E);
    if shape.varied && random.once_in(2) {
        imperfect::wear(&mut plan.ports, &mut random);
    }
    let beside = (shape.varied && random.once_in(3))
        .then(|| imperfect::beside(&plan.nodes, &plan.ports, &mut flows, &mut random));
    let network = Network::new(plan.nodes, plan.ports, flows)?;
    Ok(Generated { network, topology, load, samples, control, beside })
}

/// A network in which jitter grows: on the link between two switches small messages that come often are held up by
/// large ones that come seldom and leave in another direction; behind it they meet messages from elsewhere in a bunch.
///
/// # Errors
/// None; else what is wrong with the network.
pub fn junction(seed: u64) -> Result<Generated, NetworkError> {
    let mut random = Random::new(seed);
    let mut plan = Plan::bare(2, &mut random);
    let rate = plan.rate;
    // A faster link between the switches lets a bunch come closer together.
    plan.rate = (rate + random.index(2)).min(RATES.len() - 1);
    plan.connect(0, 1, &mut random);
    plan.rate = rate;
    let [first, second, third, shared, aside] =
        [0, 0, 1, 1, 1].map(|switch| plan.add_host_at(switch, &mut random));
    let load = random.between(500_000, 950_000);
    let mut flows = Vec::new();
    let mut samples = Vec::new();
    for (role, most) in [(Role::Held, 3), (Role::Holding, 2), (Role::Met, 2)] {
        for _ in 0..random.between(1, most) {
            let from = if random.once_in(2) { first } else { second };
            let (nodes, frames, levels) = match role {
                Role::Held => (vec![from, 0, 1, shared], random.between(1, 8), [1, 3]),
                Role::Holding => (vec![from, 0, 1, aside], random.between(20, 60), [2, 4]),
                Role::Met => (vec![third, 1, shared], random.between(1, 4), [1, 2]),
            };
            let level = u8::try_from(random.between(levels[0], levels[1])).unwrap_or(1);
            let tree = plan.along(&nodes).into_iter().map(|port| Hop { port, level }).collect();
            let frames = vec![FRAMES[1]; usize::try_from(frames).unwrap_or(1)];
            // Shares of the load, in parts of a thousand, as weights.
            let separation = frames.len() as u64 * 1_000_000_000 / random.between(50, 400);
            let contract = Contract::Gated { separation, jitter: 0, emission: 0 };
            let most = frames.len() as u64 * 1_472;
            samples.push(Samples {
                framing: Framing::Udp { datagram: 1_472 },
                least: most,
                most,
                ipv6: false,
            });
            flows.push(Flow::new(tree, frames, contract));
        }
    }
    scale(&mut flows, &plan.ports, load, &mut random);
    let network = Network::new(plan.nodes, plan.ports, flows)?;
    Ok(Generated { network, topology: Topology::Line, load, samples, control: None, beside: None })
}

/// What a flow does at a junction.
#[derive(Clone, Copy)]
enum Role {
    Held,
    Holding,
    Met,
}

/// Samples of several sizes, in datagrams of any size, most of them by RTPS.
fn various(shape: &Shape, random: &mut Random) -> Samples {
    let ipv6 = random.once_in(4);
    let most = if ipv6 { 1_452 } else { 1_472 };
    let datagram = [most, most, 300, 18, random.between(18, most)][random.index(5)];
    let framing = if random.once_in(3) {
        Framing::Udp { datagram }
    } else {
        Framing::Rtps { datagram: datagram.max(150) }
    };
    let probe = Samples { framing, least: 0, most: 0, ipv6 };
    // As long as a message has no more frames than the shape allows.
    let count = random.between(1, shape.frames);
    let most = 1 + random.below(count * datagram);
    let fits = |most: u64| probe.frames(most, crate::wire::Extras::All, 0).len() as u64 <= shape.frames;
    let most = (0..20).map(|halvings| most >> halvings).find(|most| fits(*most)).unwrap_or(1);
    let least = match random.below(3) {
        0 => most,
        1 => random.between(0, most),
        _ => 0,
    };
    Samples { framing, least, most, ipv6 }
}

/// The frames of the samples, and a contract for as much as before.
fn set_messages(flow: &mut Flow, samples: &Samples, tag: u64, shape: &Shape, random: &mut Random) {
    if shape.varied {
        let before = flow.bytes().max(1);
        let mut messages = samples.messages(tag, 4, random);
        flow.frames = messages.remove(0);
        flow.others = messages;
        let after = flow.bytes();
        let scaled = |time: u64| (time.saturating_mul(after) / before).max(1);
        if let Contract::Gated { separation, jitter, emission } = &mut flow.contract {
            (*separation, *jitter) = (scaled(*separation), scaled(*jitter) - 1);
            *emission = scaled(*emission) - 1;
        }
    } else if samples.least < samples.most {
        flow.others = vec![samples.frames(samples.least, crate::wire::Extras::All, tag)];
    }
}

/// Samples with their frames, and a contract whose rate is a weight that [`scale`] turns into a separation.
fn source(shape: &Shape, random: &mut Random) -> (Flow, Samples) {
    let frames = match random.below(3) {
        0 => vec![random.between(FRAMES[0], FRAMES[1])],
        1 => vec![FRAMES[1]; usize::try_from(random.between(1, shape.frames.min(4))).unwrap_or(1)],
        _ => {
            let count = random.between(1, shape.frames);
            let mut frames = vec![FRAMES[1]; usize::try_from(count - 1).unwrap_or(0)];
            frames.push(random.between(FRAMES[0], FRAMES[1]));
            frames
        }
    };
    // Large messages come less often, mostly.
    let bytes: u64 = frames.iter().sum();
    let weight = if random.once_in(3) { 20_000 } else { bytes + 100 };
    let separation = weight * random.between(10, 100);
    let jitter = match random.below(6) {
        0 => random.below(separation),
        1 => random.below(separation / 10),
        2 => random.below(separation * 5 / 2),
        _ => 0,
    };
    let longest = if random.once_in(3) { separation * 2 } else { separation / 2 };
    let emission = match frames.len() {
        // Of no matter; as often as that of others, and without a draw.
        1 if separation.is_multiple_of(5) => separation / 3,
        1 => 0,
        _ => {
            if random.once_in(5) {
                random.below(longest)
            } else {
                0
            }
        }
    };
    let payload = |bytes: u64| bytes - 66;
    let most = frames.iter().copied().map(payload).sum();
    let least =
        if random.once_in(5) { payload(random.between(FRAMES[0], frames[0])).min(most) } else { most };
    let samples = Samples { framing: Framing::Udp { datagram: 1_472 }, least, most, ipv6: false };
    let contract = if random.once_in(3) && shape.buckets {
        let most = if random.once_in(3) { 30 } else { 10 };
        let burst = bytes * random.between(10, most) / 10;
        Contract::Bucket { burst, bytes, period: separation }
    } else {
        Contract::Gated { separation, jitter, emission }
    };
    let flow = Flow::new(Vec::new(), frames, contract);
    (flow, samples)
}

/// Multiplies all times of the contracts with one number, so that the busiest port has the load.
fn scale(flows: &mut [Flow], ports: &[Port], load: u64, random: &mut Random) {
    let busiest = (0..ports.len())
        .map(|port| {
            let here = flows.iter().filter(|flow| flow.tree.iter().any(|hop| hop.port == port));
            let shares = here.map(|flow| {
                let busy = flow.bytes() * ports[port].picoseconds_per_byte;
                u128::from(busy) * 1_000_000_000 / u128::from(flow.separation())
            });
            shares.sum::<u128>()
        })
        .max()
        .unwrap_or(0);
    // Parts of a thousand million, from parts of a million; a little more for the roundings.
    let wanted = u128::from(load) * 1000;
    let scaled =
        |time: u64| u64::try_from((u128::from(time) * (busiest + 64)).div_ceil(wanted)).unwrap_or(u64::MAX);
    // Round numbers, as people choose them, now and then: periods that are equal or multiples.
    let round = random.once_in(4);
    let rounded =
        |time: u64| if round && time > 0 { time.checked_next_power_of_two().unwrap_or(time) } else { time };
    for flow in flows {
        match &mut flow.contract {
            Contract::Gated { separation, jitter, emission } => {
                *separation = rounded(scaled(*separation));
                *jitter = scaled(*jitter);
                *emission = scaled(*emission);
            }
            Contract::Bucket { period, .. } => *period = rounded(scaled(*period)),
        }
    }
}

fn guard(flow: &Flow, ports: &[Port], random: &mut Random) -> Policer {
    let bytes = flow.bytes();
    match flow.contract {
        Contract::Gated { separation, jitter, .. } => {
            let sending = bytes * ports[flow.tree[0].port].picoseconds_per_byte;
            let window = (sending + random.below(sending)).min(separation / 2);
            Policer::Gate { bytes, window, separation, tolerance: jitter.min(separation / 2) }
        }
        Contract::Bucket { burst, bytes, period } => {
            Policer::Meter { burst, bytes, period, counts: Counts::Wire, tick: crate::MILLISECOND }
        }
    }
}
