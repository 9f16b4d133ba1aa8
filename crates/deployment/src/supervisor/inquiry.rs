//! Inquiries about the state: asks all processes, and answers when all have, or when the time for that is over.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use assembly::Link;

use super::change::{Change, Purpose, Stage};
use super::{Incarnation, Outcome, Supervisor, Target};
use crate::chains::{measure_of, unmeasured, ways};
use crate::protocol::{
    ChainReport, ChainStatus, ComponentStatus, ConnectionReport, ConnectionStatus, GatewayStatus, HopStatus,
    Instruction, Phase, PlanStatus, ProcessStatus,
};

/// What a process has told: its components, the chains that end in it, its gateway, and what the system has refused to it.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) components: Vec<ComponentStatus>,
    pub(super) chains: Vec<ChainStatus>,
    pub(super) gateway: Option<GatewayStatus>,
    pub(super) refused: Vec<String>,
}

/// How long processes have to say what there is: five seconds. A process in which a hook is at work, which may take a second, answers after it.
const PATIENCE: u64 = 5_000_000_000_000;

#[derive(Debug)]
pub(super) struct Inquiry {
    request: u64,
    number: u64,
    awaited: BTreeSet<Incarnation>,
    told: BTreeMap<Incarnation, Told>,
    pub(super) deadline: u64,
}

/// The deliveries of a component at the last inquiry, and the time of that.
#[derive(Debug, Default)]
pub(super) struct Rates(BTreeMap<(Incarnation, String), (u64, u64)>);

impl Rates {
    /// Deliveries a second, in thousandths, since the last time, or since the process is there. If that is not known, the first rate is 0.
    fn of(
        &mut self,
        now: u64,
        (from, since): (Incarnation, Option<u64>),
        component: &ComponentStatus,
    ) -> u64 {
        let before = self.0.insert((from, component.name.clone()), (now, component.taken));
        let (time, taken) = before.or(since.map(|since| (since, 0))).unwrap_or((now, component.taken));
        let count = u128::from(component.taken.saturating_sub(taken));
        let span = u128::from(now.saturating_sub(time));
        let rate = (count * 1_000 * 1_000_000_000_000).checked_div(span).unwrap_or(0);
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}

impl Supervisor {
    pub(super) fn inquire(&mut self, now: u64, request: u64) {
        let number = self.next_inquiry;
        self.next_inquiry += 1;
        let asked = self
            .children
            .iter()
            .filter(|(_, it)| it.there_since.is_some() && !it.is_ending && !it.is_foreign);
        let awaited: BTreeSet<Incarnation> = asked.map(|(incarnation, _)| *incarnation).collect();
        for incarnation in &awaited {
            self.send(*incarnation, Instruction::Status { number });
        }
        let deadline = now.saturating_add(PATIENCE);
        self.inquiries.push(Inquiry { request, number, awaited, told: BTreeMap::new(), deadline });
        self.answer_inquiries(now);
    }

    pub(super) fn told_status(&mut self, now: u64, from: Incarnation, number: u64, told: Told) {
        let found = self.inquiries.iter_mut().find(|inquiry| inquiry.number == number);
        if let Some(inquiry) = found
            && inquiry.awaited.remove(&from)
        {
            inquiry.told.insert(from, told);
        }
        self.answer_inquiries(now);
    }

    /// A process has ended: nothing is awaited of it.
    pub(super) fn forget(&mut self, now: u64, incarnation: Incarnation) {
        for inquiry in &mut self.inquiries {
            inquiry.awaited.remove(&incarnation);
        }
        self.rates.0.retain(|(of, _), _| *of != incarnation);
        self.answer_inquiries(now);
    }

    pub(super) fn late_inquiries(&mut self, now: u64) {
        for inquiry in self.inquiries.iter_mut().filter(|inquiry| inquiry.deadline <= now) {
            inquiry.awaited.clear();
        }
        self.answer_inquiries(now);
    }

    fn answer_inquiries(&mut self, now: u64) {
        while let Some(index) = self.inquiries.iter().position(|inquiry| inquiry.awaited.is_empty()) {
            let mut inquiry = self.inquiries.remove(index);
            let (mut processes, mut chains) = (Vec::new(), Vec::new());
            let records: Vec<String> = self.records.keys().cloned().collect();
            for name in records {
                let told = self.records.get(&name).and_then(|record| record.incarnation);
                let told = told.and_then(|of| Some((of, inquiry.told.remove(&of)?)));
                let told = told.map(|(of, mut told)| {
                    chains.append(&mut told.chains);
                    (of, told)
                });
                processes.push(self.process_status(now, name, told));
            }
            let status = PlanStatus {
                deployment: self.deployment.clone(),
                plan: self.current.file.clone(),
                changes: self.changes,
                mode: self.current.plan.start_mode.clone(),
                modes: self.current.plan.modes.keys().cloned().collect(),
                suspended: self.current.plan.suspended().map(str::to_string).collect(),
                under_way: self.change.as_ref().map(|change| change.to_string()),
                processes,
                connections: self.connections(&chains),
                chains: self.chains(chains),
            };
            self.finish(inquiry.request, Outcome::Status(status));
        }
    }

    /// The chains of the plan that end on this host, where they are measured, with what was told of them.
    fn chains(&self, told: Vec<ChainStatus>) -> Vec<ChainReport> {
        let layout = self.current.plan.layout();
        let ends_here = |chain: &assembly::Chain| {
            let last = chain.path.iter().rev().find_map(|end| layout.place_of(end.component()?));
            last.is_none_or(|place| self.is_here(place.host))
        };
        let of_chain = |(name, chain): (&String, &assembly::Chain)| {
            let known = self.current.proofs.iter().find(|proof| proof.name == *name).cloned();
            let mut report = known.unwrap_or_default();
            report.name.clone_from(name);
            report.reaction = chain.reaction.map(|time| time / 1_000);
            report.age = chain.age.map(|time| time / 1_000);
            report.measured = told.iter().find(|told| told.name == *name).cloned();
            report.unmeasured = match (ways(&self.current.plan, &self.current.types, chain), &report.measured)
            {
                (Err(why), _) => Some(why),
                (Ok(_), Some(told)) if told.completions == 0 && told.foreign > 0 => {
                    Some("clocks: nothing is known yet of that of another machine".to_string())
                }
                (Ok(_), Some(_)) => None,
                (Ok(_), None) => Some("no process here has told of it".to_string()),
            };
            report
        };
        self.current.plan.chains.iter().filter(|(_, chain)| ends_here(chain)).map(of_chain).collect()
    }

    /// The connections of the plan with a latency that lead to this host, with what was told of them.
    fn connections(&self, told: &[ChainStatus]) -> Vec<ConnectionReport> {
        let Target { plan, types, proofs, .. } = &*self.current;
        let layout = plan.layout();
        let of_link = |link: Link<'_>| {
            let latency = link.connection.latency?;
            let component = link.to.component().or(link.from.component())?;
            if !self.is_here(layout.place_of(component)?.host) {
                return None;
            }
            let name = measure_of(link.name, link.to);
            let proof = proofs.iter().find(|proof| proof.name == name);
            let told = told.iter().find(|told| told.name == name);
            let unmeasured = match (unmeasured(plan, types, &link), told) {
                (Some(why), _) => Some(why),
                (None, Some(told)) if told.completions == 0 && told.foreign > 0 => {
                    Some("clocks: nothing is known yet of that of the other machine".to_string())
                }
                (None, Some(_)) => None,
                (None, None) => Some("no process here has told of it".to_string()),
            };
            let measured = told.map(|told| {
                let hop = told.hops.first().cloned().unwrap_or_default();
                let HopStatus { transfer, wait, run, .. } = hop;
                let (completions, latency, foreign) = (told.completions, told.reaction, told.foreign);
                ConnectionStatus { completions, latency, foreign, transfer, wait, run }
            });
            Some(ConnectionReport {
                name: link.name.to_string(),
                to: link.to.to_string(),
                proof: proof.map(|proof| proof.proof.clone()).unwrap_or_default(),
                latency: latency / 1_000,
                latency_bound: proof.and_then(|proof| proof.reaction_bound),
                measured,
                unmeasured,
            })
        };
        layout.links().filter_map(of_link).collect()
    }

    fn process_status(&mut self, now: u64, name: String, told: Option<(Incarnation, Told)>) -> ProcessStatus {
        let Some(record) = self.records.get(&name) else { return ProcessStatus::default() };
        let state = match record.incarnation {
            Some(_) => "running",
            None if record.next_start.is_some() => "waiting",
            None if record.is_failed => "failed",
            None if self.change.as_ref().is_some_and(|change| change.starts(&name)) => "starting",
            None => "ended",
        };
        let pid = record.incarnation.and_then(|of| self.children.get(&of)?.pid);
        let (restarts, last) = (record.restarts, record.last.clone());
        let (mut components, mut gateway, mut refused) = (Vec::new(), None, Vec::new());
        if let Some((from, told)) = told {
            (gateway, refused) = (told.gateway, told.refused);
            let child = self.children.get(&from).filter(|child| child.adopted.is_none());
            let since = child.and_then(|child| child.there_since);
            for component in told.components {
                let millihertz = self.rates.of(now, (from, since), &component);
                components.push(ComponentStatus { millihertz, ..component });
            }
        }
        ProcessStatus { name, state: state.to_string(), pid, restarts, last, components, gateway, refused }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.purpose {
            Purpose::Apply(_) => write!(f, "a plan is applied")?,
            Purpose::Stop(_) => write!(f, "everything ends")?,
            Purpose::Restart(name) => write!(f, "process {name} is started again")?,
        }
        let phase = match self.phase {
            Phase::PreparePlan => "preparePlan",
            Phase::Quiesce => "quiesce",
            Phase::Passivate => "passivate",
            Phase::StartLaunch => "startLaunch",
            Phase::FinishLaunch => "finishLaunch",
            Phase::HandOver => "handOver",
            Phase::Start => "start",
        };
        match self.stage {
            Stage::Starting => write!(f, ": processes start"),
            Stage::Preparing | Stage::Performing => write!(f, ": {phase}"),
            Stage::Waiting => write!(f, ": it waits for other hosts after {phase}"),
            Stage::Committing => write!(f, ": it is decided"),
            Stage::Aborting => write!(f, ": it is taken back"),
        }
    }
}
