//! What verdicts rest on: facts that a plan takes from the file, or by default, and that nothing in it can check.
use std::collections::{BTreeMap, BTreeSet};

use latency::ledger::{Admitted, FlowId};
use latency::network::{Buffer, Policing};
use latency::path::PathMethod;
use latency::policing::Enforcement;
use serde::Serialize;

use crate::planning::Plan;
use crate::report::Bounds;
use crate::text::counted;
use latency::words::microseconds;
use network::Losses;
use network::{Asked, Network};

/// A fact that verdicts rest on.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Assumption {
    /// What it is called: the same in every report.
    pub id: &'static str,
    /// What is taken for true.
    pub text: String,
    /// Whether it is so because the file does not say otherwise.
    pub default: bool,
    /// The hosts, switches, links or flows that it is about; none if it is about all of the network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<String>,
}

/// The assumptions of a plan, and what to do about some of them.
#[derive(Debug, Default)]
pub(crate) struct Assumptions {
    pub(crate) all: Vec<Assumption>,
    /// Assumptions that nothing makes sure of, and what does.
    pub(crate) warnings: Vec<String>,
    /// For each flow of the plan.
    of: Vec<Vec<&'static str>>,
}

const FIRST_TRANSMISSION: &str = "first-transmission";
const HOST_TIMING: &str = "host-timing";
const NO_LOSS: &str = "no-loss";
const LINK_RATE: &str = "link-rate";
const STRICT_PRIORITY: &str = "strict-priority";
const CLOCK_DRIFT: &str = "clock-drift";
const ONE_QUEUE: &str = "one-queue";
const SILENT_HOST: &str = "silent-host";
const HOST_QUEUES: &str = "host-queues";
const NO_PAUSE: &str = "no-pause";
const WAKE: &str = "wake";
const NO_SLEEP: &str = "no-sleep";
const SWITCH_TIME: &str = "switch-time";
const BUFFER: &str = "buffer";
const ORDER: &str = "order";
const TRUST: &str = "trust";
const CONTROL: &str = "control";
const LOSSES: &str = "losses";
const REPAIRS: &str = "repairs";
const REACTION: &str = "reaction";

/// What holds for every verdict.
const OF_ALL: [(&str, &str); 5] = [
    (
        FIRST_TRANSMISSION,
        "bounds are for the first transmission of a sample: what reliable writers repeat comes later, and so may a sample that waits for \
         the pace of its writer or for room in its history",
    ),
    (
        HOST_TIMING,
        "hosts hand samples to their ports within jitter and emission; what programs and systems take before and after is not in a bound",
    ),
    (NO_LOSS, "no frame is lost or damaged on a link"),
    (
        LINK_RATE,
        "links send at their rates and fall back to no lower ones; that their clocks may be 100 ppm off is not counted",
    ),
    (
        STRICT_PRIORITY,
        "switches serve their queues by strict priority, and nothing that is not admitted gets into those of admitted flows",
    ),
];

/// The end of what is said of a host that something limits.
const HELD: &str = ", to which something holds it";

/// What it is called, the text, and whether it is so by default.
type Fact = (&'static str, String, bool);
/// Facts, each with all that it is about.
type Known<'n> = BTreeMap<Fact, BTreeSet<&'n str>>;

impl Assumptions {
    /// Of all flows of a plan.
    pub(crate) fn new(plan: &Plan<'_>, bounds: &Bounds) -> Self {
        let network = plan.network;
        let ways: Vec<Vec<usize>> =
            (0..).zip(&plan.flows).map(|(id, (asked, _))| ports_of(plan, id, asked)).collect();
        let used: BTreeSet<usize> = ways.iter().flatten().copied().collect();
        let names: BTreeMap<usize, String> =
            used.iter().map(|port| (*port, network.port_name(*port))).collect();
        let drift = format!(
            "clocks of publishers, gates and meters run apart by {} ppm at most, each from each and from a perfect one",
            network.clock_drift()
        );
        let mut known: Known<'_> = BTreeMap::new();
        let of_all = OF_ALL.map(|(id, text)| (id, text.to_owned(), false));
        for fact in of_all.into_iter().chain([(CLOCK_DRIFT, drift, network.drift_by_default())]) {
            known.insert(fact, BTreeSet::new());
        }
        let mut of_ports: BTreeMap<usize, Vec<&'static str>> = BTreeMap::new();
        for (port, name) in &names {
            let facts = facts(network, *port, name);
            let mut ids: Vec<&'static str> = facts.iter().map(|((id, ..), _)| *id).collect();
            if has_trusted(plan, *port) {
                ids.push(TRUST);
            }
            for (fact, about) in facts {
                known.entry(fact).or_default().insert(about);
            }
            of_ports.insert(*port, ids);
        }
        let mut of = Vec::with_capacity(plan.flows.len());
        for ((id, (asked, _)), way) in (0..).zip(&plan.flows).zip(&ways) {
            let _ = plan.ledger.work().charge_each(way.len().saturating_mul(4));
            let mut ids: BTreeSet<&'static str> =
                OF_ALL.iter().map(|(id, _)| *id).chain([CLOCK_DRIFT]).collect();
            ids.extend(way.iter().filter_map(|port| of_ports.get(port)).flatten());
            if let Some(losses) = asked.losses {
                ids.extend([LOSSES, REPAIRS, REACTION]);
                for fact in facts_of_losses(losses) {
                    known.entry(fact).or_default().insert(&asked.name);
                }
            }
            if asked.losses.is_some() || plan.repairs_of(id).is_some() {
                // A bound of repairs is one of those that come.
                [FIRST_TRANSMISSION, NO_LOSS].iter().for_each(|without| {
                    ids.remove(without);
                });
            }
            let needs_order = |index| {
                let bound = bounds.path(plan, id, index);
                bound.is_some_and(|bound| bound.method != PathMethod::Sum)
            };
            let admitted = plan.ledger.flow(id);
            let rests =
                |admitted: &Admitted| !admitted.by_sum || (0..asked.subscribers.len()).any(needs_order);
            if admitted.is_some_and(rests) {
                ids.insert(ORDER);
                let text = "switches keep the order of frames of a flow from reception to queue";
                known.entry((ORDER, text.to_owned(), false)).or_default();
            }
            if asked.flow.policing == Policing::Trusted {
                let text = "publishers keep their contracts, to which nothing holds them";
                known.entry((TRUST, text.to_owned(), false)).or_default().insert(&asked.name);
                ids.insert(TRUST);
            }
            of.push(if way.is_empty() { Vec::new() } else { ids.into_iter().collect() });
        }
        let warnings = warnings(&known);
        let all = known.into_iter().map(|((id, text, default), about)| Assumption {
            id,
            text,
            default,
            about: about.into_iter().map(str::to_owned).collect(),
        });
        Self { all: all.collect(), warnings, of }
    }

    /// What the verdict about a flow rests on; nothing where there is no way.
    pub(crate) fn of(&self, id: FlowId) -> &[&'static str] {
        usize::try_from(id).ok().and_then(|id| self.of.get(id)).map_or(&[], Vec::as_slice)
    }
}

/// What a bound with losses takes for true.
fn facts_of_losses(losses: Losses) -> [Fact; 3] {
    let Losses { frames, within, reaction, reaction_by_default } = losses;
    let lost = format!(
        "no more than {} of samples, repairs and questions {} lost within {} us between the publisher and a subscriber",
        counted(frames as usize, "frame"),
        if frames == 1 { "is" } else { "are" },
        microseconds(within)
    );
    let reacts = format!("a host does what is due of repairs within {} us", microseconds(reaction));
    let repairs = "publishers and subscribers keep the waits that the plan says, and send repairs and questions along flows of their own: \
                   participants and managers of Punctual do not do that yet";
    [(LOSSES, lost, false), (REPAIRS, repairs.to_owned(), true), (REACTION, reacts, reaction_by_default)]
}

/// The ports on the way of a flow; of one that is refused, on the first way that was looked at.
fn ports_of(plan: &Plan<'_>, id: FlowId, asked: &Asked) -> Vec<usize> {
    if let Some(admitted) = plan.ledger.flow(id) {
        return admitted.flow.tree.iter().map(|hop| hop.port).collect();
    }
    plan.first_way(asked).map_or_else(Vec::new, |tree| tree.hops.iter().map(|hop| hop.port).collect())
}

fn has_trusted(plan: &Plan<'_>, port: usize) -> bool {
    let entries = plan.ledger.entries(port);
    let _ = plan.ledger.work().charge_each(entries.len());
    let trusted =
        |id| plan.ledger.flow(id).is_some_and(|admitted| admitted.enforcement == Enforcement::Trust);
    entries.iter().any(|entry| trusted(entry.flow))
}

/// What is taken for true of a port and its link, and of whom.
fn facts<'n>(network: &'n Network, port: usize, link: &'n str) -> Vec<(Fact, &'n str)> {
    let Some((model, (from, to))) = network.ports().get(port).zip(network.links().get(port)) else {
        return Vec::new();
    };
    let mut facts = Vec::new();
    let agreed = network.interface(*from).with(network.interface(*to), model.rate);
    let pause = match agreed.pause {
        Some(_) => "PAUSE frames are off at one end of the link at least, as the file says",
        None => "no PAUSE frames stop the link",
    };
    facts.push(((NO_PAUSE, pause.to_owned(), agreed.pause.is_none()), link));
    let stated = [from, to].iter().any(|node| network.interface(**node).wake.is_some());
    facts.push(if agreed.wake > 0 {
        let text = format!("a link that sleeps wakes within {} us", microseconds(agreed.wake));
        ((WAKE, text, !stated), link)
    } else {
        (
            (NO_SLEEP, "links do not sleep (Energy-Efficient Ethernet), as the file says".to_owned(), false),
            link,
        )
    });
    if let Some(switch) = network.switch_of(*from) {
        let (least, most) = (microseconds(model.least_multiplexing), microseconds(model.most_multiplexing));
        let text = format!("from reception to the queue a switch takes {least} to {most} us");
        facts.push(((SWITCH_TIME, text, false), &switch.name));
        let kind = &switch.kind;
        let (bytes, of) = match kind.buffer {
            Buffer::PerQueue(bytes) => (bytes, "each queue of a switch has"),
            Buffer::Shared(bytes) if kind.pooled => (bytes, "all ports of a switch together have"),
            Buffer::Shared(bytes) => (bytes, "each port of a switch has"),
        };
        let text = format!(
            "{of} {bytes} bytes for admitted flows, in cells of {}, of which nothing else takes",
            kind.cell
        );
        facts.push(((BUFFER, text, false), &switch.name));
        if let Some(control) = model.control {
            let text = format!(
                "control sends no more than {} bytes at once and {} b/s at a port",
                control.burst / 8,
                control.rate
            );
            facts.push(((CONTROL, text, false), link));
        }
    } else if let Some(host) = network.hosts().get(*from) {
        if let (Some(other), Some(beside)) = (&host.other, model.imperfections.beside) {
            let held = if other.limited { HELD } else { "" };
            let (burst, rate) = (beside.burst / 8, beside.rate);
            let text = format!(
                "through its only queue a host sends besides its flows no more than {burst} bytes at once and {rate} b/s{held}"
            );
            facts.push(((ONE_QUEUE, text, other.rate.is_none()), &host.name));
        } else if !host.best_effort {
            let text = "a host sends nothing besides its flows: no discovery, no ARP";
            facts.push(((SILENT_HOST, text.to_owned(), false), &host.name));
        }
        if host.queues > 1 {
            let (queues, ring) = (host.queues, model.imperfections.ring);
            let text = format!(
                "a host serves {queues} queues by strict priority, and its card takes {ring} bytes ahead at most"
            );
            facts.push(((HOST_QUEUES, text, host.ring.is_none()), &host.name));
        }
    }
    facts
}

/// How many names a warning shows.
const NAMES: usize = 6;

fn warnings(known: &Known<'_>) -> Vec<String> {
    let about = |id: &str, chosen: fn(&str, bool) -> bool| {
        let of_kind =
            known.iter().filter(|((other, text, default), _)| *other == id && chosen(text, *default));
        let names: BTreeSet<&str> = of_kind.flat_map(|(_, about)| about).copied().collect();
        let shown: Vec<&str> = names.iter().take(NAMES).copied().collect();
        let more = names.len() - shown.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!names.is_empty()).then(|| format!("{}{more}", shown.join(", ")))
    };
    let unlimited = about(ONE_QUEUE, |text, _| !text.ends_with(HELD)).map(|hosts| {
        format!(
            "nothing limits what these send besides their flows, through the same queue: {hosts}; `punctual host` gives flows queues of \
             their own there, and then the file says queues = 8"
        )
    });
    let pauses = about(NO_PAUSE, |_, default| default).map(|links| {
        format!(
            "nothing is known of PAUSE at {links}; `ethtool -a` shows it at a host and `ethtool -A INTERFACE rx off tx off` ends it, and \
             then the file says pause = \"off\""
        )
    });
    let repairs = about(REPAIRS, |_, _| true).map(|flows| {
        format!("a network keeps bounds with losses only for readers that ask for them, of a manager that allows them; else these have bounds of first transmissions only: {flows}")
    });
    unlimited.into_iter().chain(pauses).chain(repairs).collect()
}
