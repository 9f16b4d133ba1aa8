//! What there is to say about a plan: plain data, which text, JSON and the picture are made from.
use std::collections::{BTreeMap, BTreeSet};

use latency::backlog::backlog_from_counted;
use latency::bound::{Method, level_bound_counted};
use latency::ledger::FlowId;
use latency::levels::{SMALL_PORT, fewest_counted};
use latency::linear::{LeftOver, Services, linear_delay};
use latency::network::{Buffer, Emission, Flow, Port, Subscriber};
use latency::path::{HopView, PathBound, PathMethod, path_bound_with};
use latency::policing::{Counts, Enforcement};
use latency::port::Contender;
use latency::units::scale_up;
use serde::Serialize;

use crate::assumptions::{Assumption, Assumptions};
use crate::losses::Repaired;
use crate::planning::{Plan, Verdict};
use network::{Asked, HOST_BUFFER};

/// A plan as it is reported. Times are in picoseconds.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Report {
    /// The name of the network.
    pub network: String,
    /// How many flows are admitted.
    pub admitted: usize,
    /// How many are not.
    pub refused: usize,
    /// All flows, in the order in which they were planned.
    pub flows: Vec<FlowReport>,
    /// The ports that have flows.
    pub ports: Vec<PortReport>,
    /// What verdicts rest on.
    pub assumptions: Vec<Assumption>,
    /// Assumptions that nothing makes sure of, and what does.
    pub warnings: Vec<String>,
}

/// A flow.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct FlowReport {
    /// Its name.
    pub name: String,
    /// The publisher's host.
    pub publisher: String,
    /// Whether it is admitted.
    pub admitted: bool,
    /// Whether that was decided without some of the exact tests, which would have taken too much work.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub coarse: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The least latency that would be admitted with the rest as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_latency_ps: Option<u64>,
    /// The least separation that would be admitted with the rest as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_separation_ps: Option<u64>,
    /// Its subscribers.
    pub subscribers: Vec<SubscriberReport>,
    /// The flows in it, if it is a bundle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberReport>,
    /// Its way, or the links of its tree.
    pub hops: Vec<HopReport>,
    /// What holds it to its contract at the first switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enforcement: Option<EnforcementReport>,
    /// Frames that may be lost, and what publisher and subscribers keep for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<LossesReport>,
    /// The flow whose repairs it carries, or the questions that lead to them, if it is there for that. It is not among those that are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repairs_of: Option<String>,
    /// The assumptions that the verdict rests on, by their names; of a refused flow those along the first way that was tried.
    pub assumptions: Vec<&'static str>,
}

/// Frames of a flow that may be lost. Times are in picoseconds, by the clocks of hosts but for the first two.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct LossesReport {
    /// So many at most,
    pub frames: u32,
    /// in so long.
    pub within_ps: u64,
    /// The longest time that a host takes to do what is due.
    pub reaction_ps: u64,
    /// Between two repairs to a subscriber, and between two questions of one.
    pub spacing_ps: u64,
    /// A writer that waits for an acknowledgement asks for it so long after a sample, and again each time.
    pub heartbeat_ps: u64,
    /// A reader asks for a sample so long after it was announced.
    pub patience_ps: u64,
    /// A reader asks again so long after it has asked.
    pub again_ps: u64,
    /// The most bytes of a datagram with repairs.
    pub datagram: u32,
}

/// A subscriber of a flow.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct SubscriberReport {
    /// Its host.
    pub host: String,
    /// Its maximum latency.
    pub limit_ps: u64,
    /// The bound of the latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_ps: Option<u64>,
    /// What the bound leaves of the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin_ps: Option<u64>,
    /// The bound of a first transmission, if frames may be lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_transmission_ps: Option<u64>,
    /// How the bound was found: `sum` over the hops, or `concatenation`; if frames may be lost, that of the first transmission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<&'static str>,
}

/// A flow in a bundle.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct MemberReport {
    /// Its name.
    pub name: String,
    /// Its subscribers.
    pub subscribers: Vec<SubscriberReport>,
}

/// A hop of an admitted flow.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct HopReport {
    /// The port.
    pub port: String,
    /// The level there, 0 the lowest.
    pub level: u8,
    /// The delay that is promised there.
    pub share_ps: u64,
    /// The bound of the delay there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_ps: Option<u64>,
}

/// What is programmed where a flow enters the network.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EnforcementReport {
    /// Nothing.
    Trusted,
    /// A message gate.
    Gate {
        /// Bytes of a message on the wire.
        octets: u64,
        /// Least time between messages.
        separation_ps: u64,
        /// By how much a message may be early.
        tolerance_ps: u64,
        /// From the first frame of a message to its last.
        window_ps: u64,
    },
    /// A token bucket.
    Meter {
        /// Bits at once, of those that it counts.
        burst_bits: u64,
        /// Bits per second, of those that it counts.
        rate: u64,
        /// What it counts of a frame: `wire` or `frame`.
        counts: &'static str,
    },
}

/// A port with flows.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct PortReport {
    /// Its name.
    pub port: String,
    /// Index of the port, for the picture.
    #[serde(skip)]
    pub(crate) index: usize,
    /// Bits per second.
    pub rate: u64,
    /// The part of its time that flows may take, in parts of a million.
    pub load_ppm: u64,
    /// The levels that have flows, the highest first.
    pub levels: Vec<LevelReport>,
    /// How many levels would do for the delays that are promised; none with more than 32 flows, or where only bounds that
    /// plans do not use keep them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fewest_levels: Option<usize>,
    /// Most bytes in all its queues; none if there is no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog_octets: Option<u64>,
    /// Bytes of buffer; none for a host, whose memory is large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_octets: Option<u64>,
    /// Whether each queue has so much buffer for itself.
    pub buffer_per_queue: bool,
    /// Whether it is declared full: it takes no flows besides these.
    pub full: bool,
}

/// A level of a port.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct LevelReport {
    /// The level, 0 the lowest.
    pub level: u8,
    /// Its flows.
    pub flows: Vec<String>,
    /// The bound of the delay of its frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_ps: Option<u64>,
    /// How it was found: `linear` or `busy-period`, or `promised` if the least delay that is promised is less than what could be found
    /// with the work that there may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<&'static str>,
    /// The least delay that is promised to any of its flows.
    pub least_share_ps: u64,
}

/// A bound of the delay of a level, in picoseconds, and how it was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) delay: u64,
    method: &'static str,
}

/// The bounds of all levels of all ports, each computed once.
#[derive(Debug)]
pub(crate) struct Bounds {
    contenders: Vec<Vec<Contender>>,
    levels: Vec<BTreeMap<u8, Option<Known>>>,
    /// For each port, what its flows are left with.
    services: Vec<Services>,
}

impl Bounds {
    pub(crate) fn new(plan: &Plan<'_>) -> Self {
        let ports = plan.network.ports().iter().enumerate();
        let contenders: Vec<Vec<Contender>> = ports
            .clone()
            .map(|(port, _)| plan.ledger.entries(port).iter().map(|e| e.contender).collect())
            .collect();
        let services = plan
            .network
            .ports()
            .iter()
            .zip(&contenders)
            .map(|(port, flows)| Services::new(&port.server(), flows));
        let services = services.collect();
        plan.begin_report();
        let levels = ports
            .zip(&contenders)
            .map(|((index, port), flows)| {
                let levels = flows.iter().map(|flow| flow.level).collect::<BTreeSet<_>>();
                levels.into_iter().map(|level| (level, known(plan, index, port, flows, level))).collect()
            })
            .collect();
        Self { contenders, levels, services }
    }

    pub(crate) fn level(&self, port: usize, level: u8) -> Option<Known> {
        *self.levels.get(port)?.get(&level)?
    }

    pub(crate) fn contenders(&self, port: usize) -> &[Contender] {
        self.contenders.get(port).map_or(&[], Vec::as_slice)
    }

    /// What is known of the hops on the way to a subscriber.
    pub(crate) fn views<'v>(
        &'v self,
        plan: &'v Plan<'_>,
        id: FlowId,
        subscriber: usize,
    ) -> Option<Vec<HopView<'v>>> {
        let flow = &plan.ledger.flow(id)?.flow;
        let way = flow.way_to(flow.subscribers.get(subscriber)?.hop);
        let view = |hop: usize| {
            let index = flow.tree.get(hop)?.port;
            let port = plan.network.ports().get(index)?;
            let contenders = self.contenders(index);
            let at = plan.ledger.entries(index).binary_search_by_key(&id, |entry| entry.flow).ok()?;
            let delay = self.level(index, contenders.get(at)?.level)?.delay;
            Some(HopView { port, server: port.server(), contenders, index: at, delay })
        };
        way.into_iter().map(view).collect()
    }

    /// The bound of a flow; of a bundle that of all flows in it.
    pub(crate) fn path(&self, plan: &Plan<'_>, id: FlowId, subscriber: usize) -> Option<PathBound> {
        let members = &plan.flows.get(usize::try_from(id).ok()?)?.0.members;
        self.path_of(plan, id, subscriber, members.iter().map(|(_, member)| member))
    }

    /// The bound of those flows in a bundle; without any that of the flow.
    pub(crate) fn path_of<'f>(
        &self,
        plan: &Plan<'_>,
        id: FlowId,
        subscriber: usize,
        members: impl Iterator<Item = &'f Flow>,
    ) -> Option<PathBound> {
        let flow = &plan.ledger.flow(id)?.flow;
        let views = self.views(plan, id, subscriber)?;
        let ports = flow.way_to(flow.subscribers.get(subscriber)?.hop);
        let services: Vec<Option<LeftOver>> = ports
            .into_iter()
            .zip(&views)
            .map(|(hop, view)| {
                self.services.get(flow.tree.get(hop)?.port)?.left_over(view.contenders.get(view.index)?)
            })
            .collect();
        // A term for each hop; what is seen of them is little more.
        let _ = plan.ledger.work().charge_each(views.len());
        let port = views.first()?.port;
        // What is handed over for as long as by the slowest of them, with as small a first frame as any.
        let all = members.map(|member| member.emission(flow, port)).reduce(|one, other| Emission {
            longest: one.longest.max(other.longest),
            first: one.first.min(other.first),
        });
        let emission = all.unwrap_or_else(|| flow.emission(flow, port));
        let present = path_bound_with(flow, emission, &views, &services, plan.ledger.work());
        // What the limit rests on where shares are not within it: for all of a bundle, whose messages take longest to be handed over.
        let rests_on = plan.ledger.rests_on(id, subscriber).and_then(|bound| {
            let latency = bound.latency.checked_sub(flow.emitting())?.checked_add(emission.longest)?;
            Some(PathBound { latency, ..bound })
        });
        present.into_iter().chain(rests_on).min_by_key(|bound| bound.latency)
    }
}

/// The bound of a level: as exact as the work allows that is left. What is promised holds in any case.
fn known(plan: &Plan<'_>, index: usize, port: &Port, flows: &[Contender], level: u8) -> Option<Known> {
    let found = level_bound_counted(&port.server(), flows, level, plan.ledger.work()).map(|bound| Known {
        delay: bound.delay,
        method: match bound.method {
            Method::Linear => "linear",
            Method::BusyPeriod => "busy-period",
        },
    });
    if !plan.is_coarse() {
        return found;
    }
    let linear = linear_delay(&port.server(), flows, level).map(|delay| Known { delay, method: "linear" });
    let at_level = plan.ledger.entries(index).iter().filter(|entry| entry.contender.level == level);
    let promised = at_level.map(|entry| entry.share).min();
    let promised = promised.map(|delay| Known { delay, method: "promised" });
    found.into_iter().chain(linear).chain(promised).min_by_key(|known| known.delay)
}

impl Report {
    /// Reports a plan.
    pub(crate) fn new(plan: &Plan<'_>, bounds: &Bounds) -> Self {
        let assumptions = Assumptions::new(plan, bounds);
        let flows = (0..).zip(&plan.flows).filter(|(_, (_, verdict))| !matches!(verdict, Verdict::Removed));
        let flows: Vec<FlowReport> = flows
            .map(|(id, (asked, verdict))| {
                let mut report = flow(plan, bounds, id, asked, verdict);
                report.assumptions = assumptions.of(id).to_vec();
                report
            })
            .collect();
        let asked = || flows.iter().filter(|flow| flow.repairs_of.is_none());
        let admitted = asked().filter(|flow| flow.admitted).count();
        let refused = asked().count() - admitted;
        let ports = (0..plan.network.ports().len()).filter_map(|index| port(plan, bounds, index)).collect();
        let Assumptions { all: assumptions, warnings, .. } = assumptions;
        let network = plan.network.name().to_owned();
        Self { network, admitted, refused, flows, ports, assumptions, warnings }
    }
}

fn flow(plan: &Plan<'_>, bounds: &Bounds, id: FlowId, asked: &Asked, verdict: &Verdict) -> FlowReport {
    let node = |node: usize| plan.network.node_name(node).unwrap_or_default().to_owned();
    let admitted = plan.ledger.flow(id);
    let repaired = plan.repaired.get(&id);
    let reported = |flow: &Flow, bound: &dyn Fn(usize) -> Option<PathBound>| -> Vec<SubscriberReport> {
        let subscribers = asked.subscribers.iter().zip(&flow.subscribers).enumerate();
        let subscriber = |(index, (host, subscriber)): (usize, (&usize, &Subscriber))| {
            let bound = admitted.and_then(|_| bound(index));
            let first = bound.map(|bound| bound.latency);
            let latest = match repaired {
                Some(_) => plan.latest(bounds, id, index),
                None => first,
            };
            SubscriberReport {
                host: node(*host),
                limit_ps: subscriber.limit,
                bound_ps: latest,
                margin_ps: latest.and_then(|latest| subscriber.limit.checked_sub(latest)),
                first_transmission_ps: first.filter(|_| repaired.is_some()),
                method: bound.map(|bound| match bound.method {
                    PathMethod::Sum => "sum",
                    PathMethod::Concatenation => "concatenation",
                    PathMethod::LinearProgram => "linear program",
                }),
            }
        };
        subscribers.map(subscriber).collect()
    };
    let subscribers = reported(&asked.flow, &|index| bounds.path(plan, id, index));
    let member = |(name, member): &(String, Flow)| {
        let bound = |index: usize| bounds.path_of(plan, id, index, std::iter::once(member));
        MemberReport { name: name.clone(), subscribers: reported(member, &bound) }
    };
    let members = asked.members.iter().map(member).collect();
    let hop = |(hop, share): (&latency::network::Hop, &u64)| {
        let entry = plan.entry(hop.port, id)?;
        let level = entry.contender.level;
        let bound_ps = bounds.level(hop.port, level).map(|bound| bound.delay);
        Some(HopReport { port: plan.network.port_name(hop.port), level, share_ps: *share, bound_ps })
    };
    let hops =
        admitted.map(|admitted| admitted.flow.tree.iter().zip(&admitted.shares).filter_map(hop).collect());
    let enforcement = admitted.map(|admitted| match admitted.enforcement {
        Enforcement::Trust => EnforcementReport::Trusted,
        Enforcement::Gate(gate) => EnforcementReport::Gate {
            octets: gate.octets,
            separation_ps: gate.separation,
            tolerance_ps: gate.tolerance,
            window_ps: gate.window,
        },
        Enforcement::Meter(meter) => EnforcementReport::Meter {
            burst_bits: meter.burst,
            rate: meter.rate,
            counts: match meter.counts {
                Counts::Wire => "wire",
                Counts::Frame => "frame",
            },
        },
    });
    let (reason, offer) = match verdict {
        Verdict::Admitted { .. } | Verdict::Removed => (None, None),
        Verdict::NoWay => (Some(plan.no_way(asked)), None),
        Verdict::NoTime => {
            (Some("with losses, what hosts take to react alone is more than the limit".to_owned()), None)
        }
        Verdict::Refused(refusal) => (Some(plan.said(asked, &refusal.reason)), Some(refusal.offer)),
    };
    FlowReport {
        name: asked.name.clone(),
        publisher: node(asked.publisher),
        admitted: admitted.is_some(),
        coarse: matches!(verdict, Verdict::Admitted { coarse: true }),
        reason,
        offered_latency_ps: offer.and_then(|offer| offer.latency),
        offered_separation_ps: offer.and_then(|offer| offer.separation),
        subscribers,
        members,
        hops: hops.unwrap_or_default(),
        enforcement,
        losses: repaired.map(LossesReport::of),
        repairs_of: plan.repairs_of(id).map(|main| plan.name(main).to_owned()),
        assumptions: Vec::new(),
    }
}

impl LossesReport {
    fn of(repaired: &Repaired) -> Self {
        let Repaired { losses, conduct, spacing, datagram, .. } = repaired;
        Self {
            frames: losses.frames,
            within_ps: losses.within,
            reaction_ps: losses.reaction,
            spacing_ps: *spacing,
            heartbeat_ps: conduct.heartbeat,
            patience_ps: conduct.patience,
            again_ps: conduct.again,
            datagram: *datagram,
        }
    }
}

/// The most bits that a port holds at once; `None` if it has no flows, or no bound.
pub(crate) fn backlog(plan: &Plan<'_>, bounds: &Bounds, index: usize) -> Option<u64> {
    let server = plan.network.ports().get(index)?.server();
    let flows = bounds.contenders(index);
    let lowest = flows.iter().map(|flow| flow.level).min()?;
    backlog_from_counted(&server, flows, lowest, plan.ledger.work())
}

fn port(plan: &Plan<'_>, bounds: &Bounds, index: usize) -> Option<PortReport> {
    let entries = plan.ledger.entries(index);
    let port = plan.network.ports().get(index).filter(|_| !entries.is_empty())?;
    let rates =
        entries.iter().filter_map(|entry| entry.contender.arrival.rate()).fold(0, u64::saturating_add);
    let mut levels: Vec<LevelReport> = Vec::new();
    for entry in entries {
        let level = entry.contender.level;
        let name = plan.name(entry.flow).to_owned();
        match levels.iter_mut().find(|other| other.level == level) {
            Some(report) => {
                report.flows.push(name);
                report.least_share_ps = report.least_share_ps.min(entry.share);
            }
            None => {
                let bound = bounds.level(index, level);
                levels.push(LevelReport {
                    level,
                    flows: vec![name],
                    bound_ps: bound.map(|bound| bound.delay),
                    method: bound.map(|bound| bound.method),
                    least_share_ps: entry.share,
                });
            }
        }
    }
    levels.sort_by_key(|level| std::cmp::Reverse(level.level));
    let shares: Vec<u64> = entries.iter().map(|entry| entry.share).collect();
    let small = entries.len() <= SMALL_PORT;
    let work = plan.ledger.work();
    let few =
        small.then(|| fewest_counted(&port.planning_server(), bounds.contenders(index), &shares, work).ok());
    let backlog = backlog(plan, bounds, index);
    let (buffer_octets, buffer_per_queue) = match port.buffer {
        Buffer::Shared(HOST_BUFFER) => (None, false),
        Buffer::Shared(bytes) => (Some(bytes), false),
        Buffer::PerQueue(bytes) => (Some(bytes), true),
    };
    Some(PortReport {
        port: plan.network.port_name(index),
        index,
        rate: port.rate,
        load_ppm: scale_up(rates, 1_000_000, port.rate).unwrap_or(u64::MAX),
        levels,
        fewest_levels: few.flatten(),
        backlog_octets: backlog.map(|bits| bits.div_ceil(8)),
        buffer_octets,
        buffer_per_queue,
        full: plan.ledger.is_full(index),
    })
}
