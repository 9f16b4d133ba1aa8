//! From a simulated network to the model of `latency`, and its bounds for it.
use frames::generate::Generated;
use frames::wire::Samples;
use frames::{Bounds, Contract, Counts, Flow, LEVELS, Network, Node, Policer, Random};
use latency::backlog::{backlog_from, backlog_within};
use latency::bound::{LevelBound, Method, level_bound};
use latency::framing::{Framing, Ip};
use latency::network::{Buffer, Hop, Imperfections, Policing, Port, Subscriber};
use latency::path::{HopView, PathBound, PathMethod, path_bound};
use latency::policing::Enforcement;
use latency::port::Contender;
use latency::units::time_of;

/// How often shares are computed anew before the network counts as one without bounds.
const SWEEPS: usize = 200;
/// Picoseconds in which a bit at one bit per second is eight bytes.
const BYTE_SECOND: u64 = 8_000_000_000_000;
/// Bytes around the payload of a UDP datagram in a frame.
const AROUND: u64 = 66;

/// A network as `latency` sees it.
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) ports: Vec<Port>,
    pub(crate) flows: Vec<latency::network::Flow>,
    /// For each flow and each hop.
    pub(crate) levels: Vec<Vec<u8>>,
}

/// What `latency` says about a network.
pub(crate) struct Analysis {
    /// For each flow and each hop: the bound from the publisher to the end of the hop.
    pub(crate) paths: Vec<Vec<PathBound>>,
    /// For each flow and each hop: the delay there.
    pub(crate) delays: Vec<Vec<LevelBound>>,
    /// For each flow: what guards the first switch.
    pub(crate) enforcements: Vec<Enforcement>,
    /// For each port, for each level: most bytes in its queue, and in it and those above.
    pub(crate) backlogs: Vec<[(u64, u64); LEVELS as usize]>,
}

impl Model {
    /// The model of a generated network; `policing` is what guards each flow.
    pub(crate) fn of(generated: &Generated, policing: &[Policing]) -> Self {
        let bucket = |[burst, bytes, period]: [u64; 3]| latency::port::Control {
            burst: burst * 8,
            rate: (bytes * BYTE_SECOND).div_ceil(period),
        };
        let unadmitted = [generated.control, generated.beside].map(|some| some.map(bucket));
        Self::with(&generated.network, &generated.samples, unadmitted, policing)
    }

    /// The model of a network without token buckets at its sources, whose messages are all alike: datagrams of UDP.
    pub(crate) fn new(network: &Network, policing: &[Policing]) -> Self {
        let samples = |flow: &Flow| {
            let most = flow.frames.iter().map(|bytes| bytes - AROUND).sum();
            Samples { framing: frames::wire::Framing::Udp { datagram: 1472 }, least: most, most, ipv6: false }
        };
        let samples: Vec<Samples> = network.flows().iter().map(samples).collect();
        Self::with(network, &samples, [None; 2], policing)
    }

    fn with(
        network: &Network,
        samples: &[Samples],
        [control, beside]: [Option<latency::port::Control>; 2],
        policing: &[Policing],
    ) -> Self {
        let longest = network.flows().iter().map(|flow| flow.tag).max().unwrap_or(0);
        let port = |port: &frames::Port| {
            let (least, most, keeps_order, control, beside) = match network.nodes()[port.from] {
                Node::Switch { fastest, slowest, ordered } => (fastest, slowest, ordered, control, None),
                Node::Host => (0, 0, true, None, beside),
            };
            let frames::Imperfections { ring, wake, .. } = port.imperfections;
            Port {
                rate: BYTE_SECOND / port.picoseconds_per_byte,
                propagation: port.propagation,
                least_multiplexing: least,
                most_multiplexing: most,
                queues: 8,
                best_effort: u32::try_from(port.best_effort).unwrap(),
                control,
                keeps_order,
                tag: u32::try_from(port.tag).unwrap(),
                largest_frame: 1538 + u32::try_from(port.tag + longest).unwrap(),
                buffer: Buffer::Shared(u64::MAX),
                imperfections: Imperfections {
                    beside,
                    ring: u32::try_from(ring).unwrap(),
                    wake,
                    drift: 0,
                    pauses: false,
                },
            }
        };
        let ports: Vec<Port> = network.ports().iter().map(port).collect();
        let flow = |(index, source): (usize, &Flow)| {
            let Contract::Gated { separation, jitter, emission } = source.contract else {
                panic!("flow {index} is a token bucket, for which there is no model");
            };
            let bytes = |bytes: u64| u32::try_from(bytes).unwrap();
            let Samples { framing, least, most, ipv6 } = samples[index];
            let ip = if ipv6 { Ip::V6 } else { Ip::V4 };
            let framing = match framing {
                frames::wire::Framing::Udp { datagram } => Framing::Udp { datagram: bytes(datagram), ip },
                frames::wire::Framing::Rtps { datagram } => Framing::Rtps { datagram: bytes(datagram), ip },
            };
            let (smallest_message, largest_message) = (bytes(least), bytes(most));
            let hop = |(index, hop): (usize, &frames::Hop)| {
                let from = network.ports()[hop.port].from;
                let parent =
                    source.tree[..index].iter().position(|other| network.ports()[other.port].to == from);
                Hop { port: hop.port, parent }
            };
            let subscriber = |hop| Subscriber { hop, limit: u64::MAX, maximum_separation: None };
            latency::network::Flow {
                largest_message,
                smallest_message,
                framing,
                tag: bytes(source.tag),
                separation,
                maximum_separation: None,
                jitter,
                emission,
                slack: 0,
                policing: policing[index],
                tree: source.tree.iter().enumerate().map(hop).collect(),
                subscribers: network.deliveries(index).into_iter().map(subscriber).collect(),
                importance: 0,
                bundle: None,
            }
        };
        // What comes behind the flows with samples is of no flow.
        let sources = network.flows().iter().take(samples.len());
        let flows: Vec<_> = sources.clone().enumerate().map(flow).collect();
        for (source, flow) in sources.clone().zip(&flows) {
            assert_eq!(flow.check(&ports), Ok(()));
            let frames = flow.frames(&ports[source.tree[0].port]).unwrap();
            assert_eq!((frames.bits, frames.count), (source.bytes() * 8, source.frames.len() as u64));
        }
        let levels = sources.map(|flow| flow.tree.iter().map(|hop| hop.level).collect());
        Self { levels: levels.collect(), ports, flows }
    }

    /// The same where the guards of some flows bear more than the contracts need.
    pub(crate) fn with_slack(mut self, seed: u64) -> Self {
        let mut random = Random::new(seed ^ 3);
        if random.once_in(3) {
            for flow in &mut self.flows {
                let most = flow.separation / [2, 10, 100][random.index(3)];
                flow.slack = if random.once_in(2) { random.below(most) } else { 0 };
            }
        }
        self
    }

    /// The least shares that any analysis can begin with: each message alone.
    pub(crate) fn least_shares(&self) -> Vec<Vec<u64>> {
        let alone = |flow: &latency::network::Flow| {
            let port = |hop: &Hop| &self.ports[hop.port];
            flow.tree.iter().map(|hop| time_of(flow.frames(port(hop))?.bits, port(hop).rate)).collect()
        };
        self.flows.iter().map(alone).collect::<Option<_>>().unwrap()
    }

    /// What arrives at each port, with the flow and the hop it belongs to.
    pub(crate) fn contenders(&self, shares: &[Vec<u64>]) -> Option<Vec<Vec<(usize, usize, Contender)>>> {
        let mut at_ports = vec![Vec::new(); self.ports.len()];
        for (index, flow) in self.flows.iter().enumerate() {
            for (hop, contender) in flow.contenders(&self.ports, &shares[index]).ok()?.into_iter().enumerate()
            {
                let contender = Contender { level: self.levels[index][hop], ..contender };
                at_ports[flow.tree[hop].port].push((index, hop, contender));
            }
        }
        Some(at_ports)
    }

    /// The delay of each flow at each of its hops, given what arrives at the ports.
    pub(crate) fn delays(&self, at_ports: &[Vec<(usize, usize, Contender)>]) -> Option<Vec<Vec<LevelBound>>> {
        let none = LevelBound { delay: 0, method: Method::Linear };
        let mut delays: Vec<Vec<LevelBound>> =
            self.flows.iter().map(|flow| vec![none; flow.tree.len()]).collect();
        for (port, here) in self.ports.iter().zip(at_ports) {
            let contenders: Vec<Contender> = here.iter().map(|(_, _, contender)| *contender).collect();
            for (flow, hop, contender) in here {
                delays[*flow][*hop] = level_bound(&port.server(), &contenders, contender.level)?;
            }
        }
        Some(delays)
    }

    /// Shares that every port keeps if all keep theirs; `None` if there are none or they are not found.
    pub(crate) fn shares(&self) -> Option<Vec<Vec<u64>>> {
        let mut shares = self.least_shares();
        for _ in 0..SWEEPS {
            let delays = self.delays(&self.contenders(&shares)?)?;
            let mut stable = true;
            for (share, bound) in shares.iter_mut().flatten().zip(delays.iter().flatten()) {
                stable &= bound.delay <= *share;
                *share = bound.delay.max(*share);
            }
            if stable {
                return Some(shares);
            }
        }
        None
    }

    /// All bounds for given shares.
    pub(crate) fn analyse(&self, shares: &[Vec<u64>]) -> Option<Analysis> {
        let at_ports = self.contenders(shares)?;
        let delays = self.delays(&at_ports)?;
        let mut paths = Vec::new();
        for index in 0..self.flows.len() {
            let part = &self.flows[index];
            let hops = (0..part.tree.len()).map(|hop| self.path(&at_ports, &delays, index, part, hop));
            paths.push(hops.collect::<Option<_>>()?);
        }
        let enforcements =
            self.flows.iter().zip(shares).map(|(flow, shares)| flow.enforcement(&self.ports, shares[0]));
        let enforcements = enforcements.collect::<Result<_, _>>().ok()?;
        let backlogs = self
            .ports
            .iter()
            .zip(&at_ports)
            .map(|(port, here)| backlogs(port, here))
            .collect::<Option<_>>()?;
        Some(Analysis { paths, delays, enforcements, backlogs })
    }

    fn path(
        &self,
        at_ports: &[Vec<(usize, usize, Contender)>],
        delays: &[Vec<LevelBound>],
        index: usize,
        part: &latency::network::Flow,
        hop: usize,
    ) -> Option<PathBound> {
        let flow = &self.flows[index];
        let way = flow.way_to(hop);
        let contenders: Vec<Vec<Contender>> = way
            .iter()
            .map(|hop| at_ports[flow.tree[*hop].port].iter().map(|(_, _, contender)| *contender).collect())
            .collect();
        let views: Vec<HopView<'_>> = way
            .iter()
            .zip(&contenders)
            .map(|(hop, contenders)| {
                let port = &self.ports[flow.tree[*hop].port];
                let here = &at_ports[flow.tree[*hop].port];
                HopView {
                    port,
                    server: port.server(),
                    contenders,
                    index: here.iter().position(|(flow, _, _)| *flow == index).unwrap(),
                    delay: delays[index][*hop].delay,
                }
            })
            .collect();
        path_bound(flow, part, &views)
    }

    /// The bound of one of the flows in the bundle that is the first flow.
    pub(crate) fn bound_of_part(
        &self,
        shares: &[Vec<u64>],
        part: &latency::network::Flow,
        hop: usize,
    ) -> Option<u64> {
        let at_ports = self.contenders(shares)?;
        let delays = self.delays(&at_ports)?;
        Some(self.path(&at_ports, &delays, 0, part, hop)?.latency)
    }
}

impl Analysis {
    /// The bounds as the simulator takes them; what babbles has none.
    pub(crate) fn bounds(&self, network: &Network) -> Bounds {
        let flow = |(paths, flow): (&Vec<PathBound>, &Flow)| {
            paths.iter().map(|path| (!flow.babbles).then_some(path.latency)).collect()
        };
        Bounds { latency: self.paths.iter().zip(network.flows()).map(flow).collect() }
    }

    /// The network with the guards that the analysis assumes.
    pub(crate) fn guarded(&self, network: &Network) -> Network {
        let flow = |(flow, enforcement): (&Flow, &Enforcement)| Flow {
            policer: policer(enforcement),
            ..flow.clone()
        };
        let mut flows: Vec<Flow> = network.flows().iter().zip(&self.enforcements).map(flow).collect();
        flows.extend(network.flows().iter().skip(flows.len()).cloned());
        Network::new(network.nodes().to_vec(), network.ports().to_vec(), flows).unwrap()
    }

    /// Which methods gave a bound: that of the path, and that of the hops if they agree.
    pub(crate) fn methods(&self, flow: usize, hop: usize) -> &'static str {
        let busy = self.delays[flow].iter().all(|bound| bound.method == Method::BusyPeriod);
        match (self.paths[flow][hop].method, busy) {
            (PathMethod::Concatenation, _) => "concatenation",
            (PathMethod::LinearProgram, _) => "linear program",
            (PathMethod::Sum, true) => "sum of busy periods",
            (PathMethod::Sum, false) => "sum, some linear",
        }
    }
}

/// Picoseconds of a flow's frames along its tree if nothing else comes, in the slowest switches.
pub(crate) fn alone(ports: &[Port], flow: &latency::network::Flow) -> u64 {
    let hop = |hop: &Hop| {
        let port = &ports[hop.port];
        time_of(flow.frames(port).unwrap().bits, port.rate).unwrap() + port.most_multiplexing
    };
    flow.tree.iter().map(hop).sum()
}

pub(crate) fn policer(enforcement: &Enforcement) -> Option<Policer> {
    match *enforcement {
        Enforcement::Trust => None,
        Enforcement::Gate(gate) => Some(Policer::Gate {
            bytes: gate.octets,
            window: gate.window,
            separation: gate.separation,
            tolerance: gate.tolerance,
        }),
        Enforcement::Meter(meter) => {
            let counts = match meter.counts {
                latency::policing::Counts::Wire => Counts::Wire,
                latency::policing::Counts::Frame => Counts::Frame,
            };
            Some(Policer::Meter {
                burst: meter.burst / 8,
                bytes: meter.rate,
                period: BYTE_SECOND,
                counts,
                tick: frames::MILLISECOND,
            })
        }
    }
}

fn backlogs(port: &Port, here: &[(usize, usize, Contender)]) -> Option<[(u64, u64); LEVELS as usize]> {
    let contenders: Vec<Contender> = here.iter().map(|(_, _, contender)| *contender).collect();
    let server = port.server();
    let mut backlogs = [(0, 0); LEVELS as usize];
    for (level, backlog) in (0..).zip(&mut backlogs) {
        if contenders.iter().any(|contender| contender.level == level) {
            let delay = level_bound(&server, &contenders, level)?.delay;
            let own = backlog_within(&server, &contenders, level, delay)?;
            *backlog = (own / 8, backlog_from(&server, &contenders, level)? / 8);
        }
    }
    Some(backlogs)
}
