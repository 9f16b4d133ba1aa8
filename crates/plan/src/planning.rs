//! The plan: which flows are admitted, along which way, and why others are not.
use std::cell::OnceCell;
use std::collections::BTreeMap;

use latency::choice::along;
use latency::ledger::{Entry, FlowId, Ledger, Reason, Refusal};
use latency::policing::stretched;
use latency::routes::{Search, Tree};
use latency::work::{Limits, Work};

use crate::losses::Repaired;
use latency::words::microseconds;
use network::{Asked, Network};

/// Up to this many ports all ways of a flow are compared; in larger networks the first one that admits it is taken.
const COMPARED: usize = 512;
/// Ways that are tried.
const WAYS: usize = 4;
/// Links of a way: no network needs more, and what a flow costs does not grow with the network.
const MOST_LINKS: usize = 64;
/// How many refusals look for what could be offered instead: that is many plans each.
const OFFERS: usize = 50;

/// What became of a flow.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Whether tests were left out for which there was too much work.
    Admitted {
        coarse: bool,
    },
    /// It was taken out.
    Removed,
    /// There is no way from the publisher to all subscribers.
    NoWay,
    /// With losses, waits alone take longer than the limit.
    NoTime,
    Refused(Box<Refusal>),
}

/// Steps of exact tests that a plan may be, and further ones for each byte of its files: some seconds, and some tens of
/// microseconds for each byte at most. Ten thousand flows over a thousand switches are less than a hundredth of that where
/// most are admitted; where two thirds are refused, each after exact tests at twenty full ports, they are almost all of it.
const STEPS: u64 = 1_000_000_000;
const STEPS_PER_BYTE: u64 = 6_000;
/// What one flow may take of them, so that others have some left: a part of a second.
const FLOW: Limits = Limits { exact: 50_000_000, all: 100_000_000, again: 300_000 };

/// A network and what became of its flows.
#[derive(Debug)]
pub(crate) struct Plan<'n> {
    pub(crate) network: &'n Network,
    pub(crate) ledger: Ledger,
    /// The flows and their verdicts; the number of a flow is its identity in the ledger.
    pub(crate) flows: Vec<(Asked, Verdict)>,
    /// Flows with losses that are admitted.
    pub(crate) repaired: BTreeMap<FlowId, Repaired>,
    offers: usize,
    effort: u32,
    /// The search for ways has no coarser answer: so many steps it may take, and where they ran out.
    ways: Work,
    lost_at: OnceCell<String>,
}

/// The steps of exact tests that a plan of files of so many bytes may be; `effort` times as many as usual.
pub(crate) fn steps(bytes: u64, effort: u32) -> u64 {
    STEPS.saturating_add(bytes.saturating_mul(STEPS_PER_BYTE)).saturating_mul(u64::from(effort))
}

impl<'n> Plan<'n> {
    /// Plans all flows of the network; with a limit, exact tests take so many steps, and coarser ones decide what is left. `told` hears
    /// how many have been planned. Whether all ways were found says [`Self::finished`].
    pub(crate) fn new(network: &'n Network, limit: Option<(u64, u32)>, mut told: impl FnMut(usize)) -> Self {
        let mut ledger = Ledger::new(network.ports().to_vec(), network.split());
        ledger.use_solver(solver::multipliers);
        for (switch, ports, guards) in network.guards() {
            ledger.limit_guards(*switch, ports, *guards);
        }
        let (steps, effort) = limit.unwrap_or((u64::MAX, u32::MAX));
        ledger.limit_work(Limits { exact: steps, all: steps.saturating_mul(2), again: FLOW.again });
        let flows = Vec::with_capacity(network.flows().len());
        let ways = Work::limited(steps);
        let repaired = BTreeMap::new();
        let mut plan =
            Self { network, ledger, flows, repaired, offers: 0, effort, ways, lost_at: OnceCell::new() };
        for (count, asked) in network.flows().iter().enumerate() {
            plan.add(asked.clone());
            if plan.ways.is_exhausted() {
                break;
            }
            told(count + 1);
        }
        plan.close();
        plan
    }

    /// An error if ways took more than they may: then what was found out is not to be used.
    pub(crate) fn finished(&self) -> Result<(), String> {
        if !self.ways.is_exhausted() {
            return Ok(());
        }
        let place = self.lost_at.get().map_or("its end", String::as_str);
        Err(format!(
            "the search for ways takes more than the {} steps that the files may ask for by their size; it came to {place}\n  \
             split the network or its flows, or give it more with --effort",
            self.ways.most().all
        ))
    }

    /// The steps of all that there was to do.
    pub(crate) fn steps(&self) -> u64 {
        self.ledger.work().done().saturating_add(self.ways.done())
    }

    /// What comes now may take what a flow may.
    pub(crate) fn begin(&self) {
        let times = |steps: u64| steps.saturating_mul(u64::from(self.effort));
        self.ledger.begin(Limits {
            exact: times(FLOW.exact),
            all: times(FLOW.all),
            again: times(FLOW.again),
        });
    }

    /// What comes now may take what is left for all.
    pub(crate) fn begin_report(&self) {
        self.ledger.begin(Limits::NONE);
    }

    /// How many flows were decided, or have bounds shown, without some of the exact tests.
    pub(crate) fn is_coarse(&self) -> bool {
        !self.ledger.work().is_exact()
    }

    /// A flow at a port.
    pub(crate) fn entry(&self, port: usize, id: FlowId) -> Option<&Entry> {
        let entries = self.ledger.entries(port);
        entries.get(entries.binary_search_by_key(&id, |entry| entry.flow).ok()?)
    }

    /// Plans one more flow; its identity.
    pub(crate) fn add(&mut self, asked: Asked) -> FlowId {
        let id = self.flows.len() as FlowId;
        self.begin();
        let name = asked.name.clone();
        match asked.losses {
            Some(losses) => {
                self.add_with_losses(asked, losses);
            }
            None => {
                let verdict = self.admit(id, &asked, true);
                self.flows.push((asked, verdict));
            }
        }
        if self.is_lost() {
            self.lost_at.get_or_init(|| format!("the flow \"{name}\""));
        }
        id
    }

    /// True if there was too much work for the search for ways.
    pub(crate) fn is_lost(&self) -> bool {
        self.ways.is_exhausted()
    }

    /// Admits a flow if there is room; if not, it is found out what there would be room for, if that is wanted.
    pub(crate) fn admit(&mut self, id: FlowId, asked: &Asked, offers: bool) -> Verdict {
        let most = if self.network.ports().len() <= COMPARED { WAYS } else { 1 };
        // Flows are copied for each way, with all their subscribers.
        let _ = self.ways.charge_each(asked.subscribers.len());
        let mut trees = trees(self.network, asked, most, &self.ways);
        let Some(first) = trees.first().cloned() else { return Verdict::NoWay };
        let mut planned = self.ledger.admit_among(id, &asked.flow, &trees);
        if planned.is_err() && most < WAYS {
            trees = self::trees(self.network, asked, WAYS, &self.ways);
            planned = self.ledger.admit_among(id, &asked.flow, &trees);
        }
        match planned {
            Ok(plan) => Verdict::Admitted { coarse: plan.coarse },
            Err(reason) => {
                self.offers += usize::from(offers);
                let refusal = if offers && self.offers <= OFFERS {
                    self.ledger.plan(id, &along(&asked.flow, &first)).err()
                } else {
                    None
                };
                let plain = Refusal { reason, offer: latency::ledger::Offer::default() };
                Verdict::Refused(Box::new(refusal.unwrap_or(plain)))
            }
        }
    }

    /// The identity of a flow that has not been taken out.
    pub(crate) fn find(&self, name: &str) -> Option<FlowId> {
        let is =
            |(asked, verdict): &(Asked, Verdict)| asked.name == name && !matches!(verdict, Verdict::Removed);
        let at = self.flows.iter().position(is)?;
        FlowId::try_from(at).ok()
    }

    pub(crate) fn name(&self, id: FlowId) -> &str {
        let flow = usize::try_from(id).ok().and_then(|id| self.flows.get(id));
        flow.map_or("this flow", |(asked, _)| &asked.name)
    }

    /// The first way of a flow.
    pub(crate) fn first_way(&self, asked: &Asked) -> Option<Tree> {
        trees(self.network, asked, 1, &self.ways).into_iter().next()
    }

    /// Less important flows in whose place a refused flow would be admitted along its first way.
    pub(crate) fn yielding(&self, id: FlowId) -> Option<Vec<FlowId>> {
        let (asked, _) = self.flows.get(usize::try_from(id).ok()?)?;
        if asked.losses.is_some() {
            return None;
        }
        let tree = self.first_way(asked)?;
        Some(self.ledger.yielding(id, &along(&asked.flow, &tree))?.0)
    }

    /// Why there is no way for a flow, in words.
    pub(crate) fn no_way(&self, asked: &Asked) -> String {
        no_way(self.network, asked, &self.ways)
    }

    /// Why a flow was refused, in words.
    pub(crate) fn said(&self, asked: &Asked, reason: &Reason) -> String {
        if let Reason::Separation { subscriber, by: Some(by) } = *reason {
            let host = asked.subscribers.get(subscriber).and_then(|node| self.network.node_name(*node));
            let host = host.unwrap_or("a subscriber");
            let writer = asked.flow.maximum_separation.unwrap_or(0);
            let slowest = stretched(writer, self.network.clock_drift()).unwrap_or(writer);
            let accepted =
                asked.flow.subscribers.get(subscriber).and_then(|s| s.maximum_separation).unwrap_or(0);
            let varying = accepted.saturating_add(by).saturating_sub(slowest);
            let clocks = slowest - writer;
            let [by, writer, clocks, accepted, varying] =
                [by, writer, clocks, accepted, varying].map(microseconds);
            return format!(
                "samples may come {by} us too far apart for {host}: the publisher lets {writer} us pass by its clock, which may be \
                 {clocks} us more, the latency varies by {varying} us up to its limit, and {accepted} us are accepted"
            );
        }
        let flow = |flow: FlowId| format!("\"{}\"", self.name(flow));
        latency::words::reason(reason, |port| self.network.port_name(port), flow)
    }
}

/// Why there is no way for a flow, in words.
fn no_way(network: &Network, asked: &Asked, work: &Work) -> String {
    let name = |node: usize| network.node_name(node).unwrap_or("?");
    let publisher = name(asked.publisher);
    let alone = |subscriber: usize| Asked { subscribers: vec![subscriber], ..asked.clone() };
    let cannot = asked.subscribers.iter().find(|subscriber| {
        let alone = alone(**subscriber);
        trees(network, &alone, 1, work).is_empty()
    });
    let Some(subscriber) = cannot else {
        return format!("there is no way from {publisher} to all subscribers");
    };
    let without =
        [asked.publisher, *subscriber].into_iter().find(|node| network.topology().leaving(*node).is_empty());
    let cause = match (without, &asked.through) {
        (Some(node), _) => format!("{} has no link", name(node)),
        _ if !ways(network, &alone(*subscriber), 1, usize::MAX, work).is_empty() => {
            format!("more than {MOST_LINKS} links are between them")
        }
        (None, Some(_)) => "not through the switches that it may pass".to_owned(),
        (None, None) => "no links lead there".to_owned(),
    };
    format!("there is no way from {publisher} to {}: {cause}", name(*subscriber))
}

/// Ways that are not too long.
fn trees(network: &Network, asked: &Asked, most: usize, work: &Work) -> Vec<Tree> {
    ways(network, asked, most, MOST_LINKS, work)
}

fn ways(network: &Network, asked: &Asked, most: usize, longest: usize, work: &Work) -> Vec<Tree> {
    let (from, to) = (asked.publisher, asked.subscribers.as_slice());
    let search = Search { from, to, through: asked.through.as_deref(), longest, most };
    network.topology().nearest_trees(&search, work)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts at one switch, each of which sends to the first one.
    fn network(flows: usize) -> Network {
        let mut text =
            "[[switch-model]]\nname = \"m\"\nports = 48\nqueues = 8\nrate = \"1 Gb/s\"\nbuffer = 500_000\n\
                        cell = 1\ngates = {}\n[[switch]]\nname = \"s\"\nmodel = \"m\"\n"
                .to_owned();
        for number in 0..=flows {
            text += &format!("[[host]]\nname = \"h{number}\"\n[[link]]\nends = [\"h{number}\", \"s\"]\n");
        }
        for number in 1..=flows {
            text += &format!(
                "[[flow]]\ntopic = \"t\"\npublisher = \"h{number}\"\nsize = 9_000\nseparation = \"20 ms\"\n\
                 subscribers = [{{ host = \"h0\", limit = \"5 ms\" }}]\n"
            );
        }
        Network::parse("net.toml", &text, |_| Err(String::new())).unwrap()
    }

    #[test]
    fn what_is_too_much_work_is_decided_coarsely() {
        let network = network(40);
        let whole = Plan::new(&network, Some((steps(0, 1), 1)), |_| {});
        assert_eq!(whole.finished(), Ok(()));
        let done = whole.ledger.work().done();
        let admitted = |verdict: &Verdict| matches!(verdict, Verdict::Admitted { .. });
        let (mut coarse, mut refused) = (0, 0);
        let few = (0..40).map(|part| part * 37);
        for steps in few.chain((1..10).map(|part| done * part / 10)) {
            let plan = Plan::new(&network, Some((steps, 1)), |_| {});
            // Ways are told from tests.
            assert!(plan.finished().is_ok() || steps < 2_000, "{steps}");
            // Without a limit, all that is promised is seen to be kept.
            let mut judge = Ledger::new(network.ports().to_vec(), network.split());
            judge.use_solver(solver::multipliers);
            for id in 0..plan.flows.len() as FlowId {
                let Some(admitted) = plan.ledger.flow(id) else { continue };
                let at = admitted.flow.tree.iter().map(|hop| plan.entry(hop.port, id).unwrap());
                let levels: Vec<u8> = at.map(|entry| entry.contender.level).collect();
                assert!(
                    judge.restore(id, &admitted.flow, &admitted.shares, &levels).is_ok(),
                    "{steps}: {id}"
                );
            }
            for (id, (_, verdict)) in (0..).zip(&plan.flows) {
                coarse += u32::from(matches!(verdict, Verdict::Admitted { coarse: true }));
                refused += u32::from(!admitted(verdict));
                assert_eq!(admitted(verdict), plan.ledger.flow(id).is_some());
            }
            // What was found out before is what would have been found out.
            let exact = |verdict: &Verdict| matches!(verdict, Verdict::Admitted { coarse: false });
            assert!(plan.flows.iter().take_while(|(_, verdict)| exact(verdict)).count() <= whole.flows.len());
        }
        assert!(coarse > 100, "{coarse} coarse, {refused} refused");
    }

    #[test]
    fn ways_that_are_too_much_work_are_an_error() {
        let network = network(40);
        let told = Plan::new(&network, Some((10, 1)), |_| {}).finished().unwrap_err();
        assert!(told.contains("more than the 10 steps") && told.contains("--effort"), "{told}");
        assert!(told.contains("it came to the flow \"h"), "{told}");
    }

    #[test]
    fn files_may_ask_for_steps_by_their_size() {
        assert_eq!(steps(0, 1), STEPS);
        assert_eq!(steps(1_000, 3), 3 * (STEPS + 1_000 * STEPS_PER_BYTE));
        assert_eq!(steps(u64::MAX, 2), u64::MAX);
    }
}
