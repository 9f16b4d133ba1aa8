//! Admission with losses: all three flows get a place, or none does.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use latency::ledger::{Ledger, Offer, Plan};
use latency::losses::{Allowed, LEAST_DATAGRAM, QUESTION, Shares};
use latency::network::Flow;
use latency::routes::Tree;
use latency::switch::Guard;
use latency::units::NANOSECOND;
use wire::Guid;
use wire::admission::{Contract, Losses};

use super::{Part, Role, Together, asked};
use crate::action::Pair;
use crate::requests::{Goal, Obstacle, Wish};
use crate::reservations::Granted;
use crate::resource_manager::ResourceManager;

/// Writers take no path for one of smaller datagrams.
const SMALLEST_REPAIR: u32 = 256;
/// Names of the three flows, for a refusal of one of them.
const NAMES: [&str; 3] = ["its samples", "its repairs", "its questions"];

/// Three flows with a place on a ledger.
struct Planned {
    plans: [Plan; 3],
    grants: [Granted; 3],
}

/// Why there is none, and whether that may change.
struct Refusal {
    reason: String,
    retry: bool,
}

impl Refusal {
    fn for_good(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), retry: false }
    }

    fn for_now(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), retry: true }
    }
}

impl ResourceManager {
    /// The losses that a request asks for.
    ///
    /// # Errors
    /// Why such a request cannot be served.
    pub(crate) fn losses_asked(&self, pair: Pair) -> Result<Option<Losses>, Obstacle> {
        let Some(asked) = self.requests.get(pair) else { return Ok(None) };
        let Some(losses) = asked.request.losses.asked() else { return Ok(None) };
        asked::check(&asked.request, losses, &asked.facts).map_err(Obstacle::Wrong)?;
        Ok(Some(*losses))
    }

    /// What becomes of a request where a grant is in force that has the same addresses and ports, if one of both is with losses.
    /// `None` if neither is.
    pub(crate) fn meets_with_losses(&mut self, now: Duration, number: u64, wish: &Wish) -> Option<bool> {
        let grant = self.reservations.get(number)?;
        let together = grant.role.together().copied();
        if together.is_none() && wish.losses.is_none() && grant.role.leader().is_none() {
            return None;
        }
        let pair = wish.pair;
        if grant.role.leader().is_some() || grant.pairs.iter().any(|other| *other != pair) {
            let reason = "the network carries these addresses and ports for another reader, and a flow with losses is for one reader";
            self.refuse(now, pair, reason, Offer::default(), true);
            return Some(true);
        }
        let limit = wish.goals.first().map_or(0, |goal| goal.maximum_latency);
        let suits = |together: &Together| {
            together.promised <= limit
                && wish.losses == Some(together.asked)
                && grant.contract == wish.contract
        };
        if together.as_ref().is_some_and(suits) {
            self.join(now, number, pair, 0);
            return Some(true);
        }
        let pairs = BTreeSet::from([pair]);
        self.make_room(now, wish, alloc::vec![number], &pairs, "it is being changed");
        Some(true)
    }

    /// Admits a wish with losses. False if something else has to end before.
    pub(crate) fn admit_with_losses(
        &mut self,
        now: Duration,
        wish: &Wish,
        losses: Losses,
        replaces: Option<u64>,
    ) -> bool {
        match self.plan_with_losses(wish, losses, replaces) {
            Ok(planned) if self.is_behind_others(wish.pair, &planned.plans[0]) => {
                self.wait_for_room(now, wish.pair, "another request that waits for room comes before it");
            }
            Ok(Planned { plans, grants }) => {
                if !self.reservations.commit_all(&plans) {
                    let reason = "the plan did not hold: ask again";
                    self.refuse(now, wish.pair, reason, Offer::default(), true);
                    return true;
                }
                let [plan, ..] = plans;
                self.enter_together(now, plan, grants);
            }
            Err(Refusal { reason, retry }) => {
                self.refuse(now, wish.pair, &reason, Offer::default(), retry);
            }
        }
        true
    }

    fn plan_with_losses(
        &self,
        wish: &Wish,
        losses: Losses,
        replaces: Option<u64>,
    ) -> Result<Planned, Refusal> {
        let Some(reaction) = self.config.losses else {
            return Err(Refusal::for_good(
                "the operator does not allow bounds with losses: the manager was not told how soon hosts react",
            ));
        };
        let network = self.fabric.network();
        let numbers = || Refusal::for_good("its numbers are out of range");
        let goal = wish.goals.first().ok_or_else(numbers)?;
        let back = self.questions_of(wish, losses, goal);
        let ways = [self.fabric.trees(wish, self.config.ways), self.fabric.trees(&back, self.config.ways)];
        for (wish, trees) in [wish, &back].into_iter().zip(&ways) {
            if trees.is_empty() {
                return Err(Refusal::for_now(self.fabric.no_way(wish)));
            }
            let (_, entry) = network.access(wish.from).ok_or_else(numbers)?;
            let switch = network.links.get(entry).and_then(|link| network.switch_of(link.from));
            let switch = switch.and_then(|switch| network.switches.get(switch)).ok_or_else(numbers)?;
            if matches!(switch.model.guard, Guard::Meters { .. }) {
                let reason =
                    format!("{} has meters, and a bound with losses needs message gates", switch.name);
                return Err(Refusal::for_good(reason));
            }
        }
        let flow = network.flow(wish).ok_or_else(numbers)?;
        let frames = flow.framing.frames(flow.largest_message, 0).ok_or_else(numbers)?;
        asked::check_frames(frames.count).map_err(Refusal::for_good)?;
        let limit = goal.maximum_latency.checked_mul(NANOSECOND).ok_or_else(numbers)?;
        let allowed = Allowed {
            frames: losses.frames.into(),
            reaction: u64::try_from(reaction.as_nanos()).unwrap_or(u64::MAX).saturating_mul(NANOSECOND),
            drift: network.links.iter().map(|link| link.port.imperfections.drift).max().unwrap_or(0),
            step: NANOSECOND,
        };
        let mut refused = None;
        for shares in allowed.shares(&flow, limit) {
            let wishes =
                self.three(wish, &back, losses, &shares, flow.repair_datagram().max(SMALLEST_REPAIR));
            match self.place(&wishes, &ways, losses, &shares, replaces) {
                Ok(planned) => return Ok(planned),
                Err(refusal) => refused = Some(refusal),
            }
        }
        Err(refused.unwrap_or_else(|| {
            Refusal::for_good("with losses, what hosts take to react alone is more than the maximum latency")
        }))
    }

    /// The way back: from the reader's host to the writer's.
    fn questions_of(&self, wish: &Wish, losses: Losses, goal: &Goal) -> Wish {
        let address = self.fabric.ethernet_of(losses.answered_at.address);
        Wish {
            pair: (Guid::UNKNOWN, Guid::UNKNOWN),
            from: goal.host,
            source: losses.questions,
            destination: losses.answered_at,
            goals: alloc::vec![Goal { host: wish.from, to: losses.answered_at, address, ..*goal }],
            losses: None,
            ..wish.clone()
        }
    }

    /// The wishes of the three flows with these shares.
    fn three(&self, wish: &Wish, back: &Wish, losses: Losses, shares: &Shares, datagram: u32) -> [Wish; 3] {
        let time = |picoseconds: u64| picoseconds / NANOSECOND;
        let with = |wish: &Wish, limit: u64, part: Part| {
            let goal = |goal: &Goal| Goal { maximum_latency: time(limit), ..*goal };
            Wish { goals: wish.goals.iter().map(goal).collect(), part, ..wish.clone() }
        };
        let beside = |wish: Wish, most: u32| {
            let contract = Contract {
                largest_message: most,
                smallest_message: LEAST_DATAGRAM.min(most),
                datagram: most,
                minimum_separation: time(shares.ways.spacing),
                maximum_separation: 0,
                emission: 0,
                slack: 0,
                // The writer's figures of its host are used for both.
                ..wish.contract
            };
            Wish { contract, ..wish }
        };
        let repairs = Wish {
            pair: (Guid::UNKNOWN, Guid::UNKNOWN),
            source: losses.repairs,
            losses: None,
            ..with(wish, shares.ways.repair, Part::Beside)
        };
        [
            with(wish, shares.ways.sample, Part::Samples),
            beside(repairs, datagram),
            beside(with(back, shares.ways.question, Part::Beside), QUESTION),
        ]
    }

    /// The flow of a wish on the ports of a ledger: the first link may be slower than the network file says, and then a message takes longer on it.
    fn flow_on(&self, ledger: &Ledger, wish: &Wish) -> Option<Flow> {
        let network = self.fabric.network();
        if wish.part != Part::Samples {
            return network.flow(wish);
        }
        let flow = network.flow(&Wish { part: Part::Whole, ..wish.clone() })?;
        let (first, _) = network.access(wish.from)?;
        Some(Flow { jitter: flow.jitter_with_losses(ledger.ports().get(first)?)?, ..flow })
    }

    /// A place for each of three flows, one beside the other.
    fn place(
        &self,
        wishes: &[Wish; 3],
        [there, back]: &[Vec<Tree>; 2],
        losses: Losses,
        shares: &Shares,
        replaces: Option<u64>,
    ) -> Result<Planned, Refusal> {
        let network = self.fabric.network();
        let first = self.reservations.next_number();
        let mut ledger = self.reservations.ledger().clone();
        let mut found = Vec::with_capacity(3);
        for (((index, wish), trees), name) in (0..).zip(wishes).zip([there, there, back]).zip(NAMES) {
            let refused = |why: &str| Refusal::for_now(format!("{name}: {why}"));
            if index > 0 && self.reservations.at(wish.source, wish.destination).is_some() {
                return Err(refused("the network carries its addresses and ports for another flow"));
            }
            let flow = self.flow_on(&ledger, wish).ok_or_else(|| refused("its numbers are out of range"))?;
            let number = first.saturating_add(index);
            let plan = ledger
                .plan_among(number, &flow, trees)
                .map_err(|reason| refused(&self.reason(&reason, wish)))?;
            if !plan.phases.is_empty() || !ledger.commit(plan.clone()) {
                return Err(refused(
                    "others would have to make room, which they do not for a flow with losses",
                ));
            }
            let at = if index == 0 { BTreeMap::from([(wish.pair, 0)]) } else { BTreeMap::new() };
            let replaces = if index == 0 { replaces.into_iter().collect() } else { Vec::new() };
            let granted = self.reservations.granted(network, &plan, wish, replaces, at);
            found.push((plan, granted.map_err(|why| refused(&why))?));
        }
        let numbers = || Refusal::for_good("its numbers are out of range");
        let found: [(Plan, Granted); 3] = found.try_into().map_err(|_| numbers())?;
        let (mut plans, mut grants) = (Vec::new(), Vec::new());
        for (plan, granted) in found {
            plans.push(plan);
            grants.push(granted);
        }
        let (Ok(plans), Ok(mut grants)) = (<[Plan; 3]>::try_from(plans), <[Granted; 3]>::try_from(grants))
        else {
            return Err(numbers());
        };
        let time = |picoseconds: u64| picoseconds / NANOSECOND;
        let [samples, repairs, questions] = &mut grants;
        let promised =
            shares.ways.latest(&shares.conduct, losses.frames.into()).and_then(|terms| terms.sum());
        let promised = promised.ok_or_else(numbers)?.div_ceil(NANOSECOND);
        samples.role = Role::Samples(Together {
            asked: losses,
            beside: [repairs.number, questions.number],
            promised,
            heartbeat: time(shares.conduct.heartbeat),
            patience: time(shares.conduct.patience),
            again: time(shares.conduct.again),
            spacing: time(shares.ways.spacing),
            datagram: repairs.contract.datagram,
        });
        samples.ends.iter_mut().for_each(|end| end.promised = promised);
        repairs.role = Role::Beside(samples.number);
        questions.role = Role::Beside(samples.number);
        Ok(Planned { plans, grants })
    }
}
