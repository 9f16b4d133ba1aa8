//! The judge of the order in which processes begin and end: it sees only what the supervisor wants done, and the plans.
use std::collections::{BTreeMap, BTreeSet};

use assembly::Plan;
use deployment::{Incarnation, Instruction, Order};

/// A process that was started, and has not ended as far as the supervisor was told.
#[derive(Debug)]
struct Seen {
    process: String,
    /// The supervisor knows that it is there.
    is_there: bool,
    is_told_to_end: bool,
    /// The processes that it depends on, and those of them that ran when it began.
    on: BTreeMap<String, Option<Incarnation>>,
}

/// All processes.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    alive: BTreeMap<Incarnation, Seen>,
    /// The plan that was asked for last.
    pub(crate) asked: Plan,
    /// Processes whose components were activated in a change.
    active: (u64, BTreeSet<String>),
    /// Components that were activated, in this order.
    pub(crate) activations: Vec<String>,
    /// How often one had to wait for another one: in beginning, ending, activating.
    pub(crate) waits: [u64; 3],
}

impl Judge {
    fn latest(&self, process: &str) -> Option<Incarnation> {
        self.alive.iter().rev().find(|(_, seen)| seen.process == process).map(|(of, _)| *of)
    }

    /// A process is started for a plan.
    pub(crate) fn starts(&mut self, of: Incarnation, process: &str, plan: &Plan) {
        let mut on = BTreeMap::new();
        for other in &plan.processes[process].depends_on {
            let its = self.latest(other);
            let is_there = its.is_some_and(|its| self.alive[&its].is_there);
            assert!(is_there, "{process} begins, and {other} is not there: {self:?}");
            self.waits[0] += 1;
            on.insert(other.clone(), its);
        }
        let alive = std::mem::take(&mut self.alive);
        for (other, mut seen) in alive.into_iter().collect::<Vec<_>>() {
            // One that fell comes back as another one.
            if seen.on.get(process) == Some(&None) {
                seen.on.insert(process.to_owned(), Some(of));
            }
            self.alive.insert(other, seen);
        }
        let seen = Seen { process: process.to_owned(), is_there: false, is_told_to_end: false, on };
        self.alive.insert(of, seen);
    }

    pub(crate) fn is_there(&mut self, of: Incarnation) {
        if let Some(seen) = self.alive.get_mut(&of) {
            seen.is_there = true;
        }
    }

    /// The supervisor is told that a process has ended.
    pub(crate) fn ended(&mut self, of: Incarnation) {
        self.alive.remove(&of);
        for on in self.alive.values_mut().flat_map(|seen| seen.on.values_mut()) {
            if *on == Some(of) {
                *on = None;
            }
        }
    }

    /// A change is over, with this plan in force.
    pub(crate) fn changed(&mut self, plan: &Plan) {
        let latest: BTreeMap<String, Incarnation> =
            self.alive.iter().map(|(of, seen)| (seen.process.clone(), *of)).collect();
        for seen in self.alive.values_mut() {
            let on = plan.processes.get(&seen.process).map(|process| process.depends_on.clone());
            let on = on.unwrap_or_default().into_iter();
            seen.on = on.map(|other| (other.clone(), latest.get(&other).copied())).collect();
        }
    }

    /// The supervisor tells a process something.
    pub(crate) fn told(&mut self, of: Incarnation, instruction: &Instruction) {
        if let Instruction::Perform { orders, .. } = instruction {
            let activated = |order: &Order| match order {
                Order::Activate(name) => Some(name.clone()),
                _ => None,
            };
            self.activations.extend(orders.iter().filter_map(activated));
        }
        match instruction {
            Instruction::Stop => self.told_to_end(of),
            Instruction::Perform { epoch, orders, .. } => {
                if self.active.0 != *epoch {
                    self.active = (*epoch, BTreeSet::new());
                }
                if orders.iter().any(|order| matches!(order, Order::Activate(_))) {
                    self.activates(of);
                }
            }
            _ => {}
        }
    }

    fn told_to_end(&mut self, of: Incarnation) {
        let Some(seen) = self.alive.get(&of) else { return };
        for (other, its) in &seen.on {
            let is_early = its.is_some_and(|its| self.alive.get(&its).is_some_and(|it| it.is_told_to_end));
            assert!(!is_early, "{other} is to end before {}, which depends on it: {self:?}", seen.process);
            self.waits[1] += 1;
        }
        let name = seen.process.clone();
        for later in self.alive.values().filter(|it| it.is_told_to_end) {
            let has = later.on.values().any(|its| *its == Some(of));
            assert!(!has, "{name} is to end, and {} has not ended: {self:?}", later.process);
        }
        self.alive.get_mut(&of).unwrap().is_told_to_end = true;
    }

    fn activates(&mut self, of: Incarnation) {
        let Some(seen) = self.alive.get(&of) else { return };
        if self.active.1.contains(&seen.process) {
            // A supervisor that has taken over says it again.
            return;
        }
        for earlier in self.active.1.iter().filter(|earlier| **earlier != seen.process) {
            let mut open = vec![earlier.as_str()];
            while let Some(next) = open.pop() {
                assert!(next != seen.process, "{earlier} is active before {next}, which it depends on");
                let depends_on = self.asked.processes.get(next).map(|it| it.depends_on.as_slice());
                open.extend(depends_on.unwrap_or_default().iter().map(String::as_str));
            }
        }
        let on = self.asked.processes.get(&seen.process).map_or(0, |it| it.depends_on.len());
        self.waits[2] += on as u64;
        self.active.1.insert(seen.process.clone());
    }
}
