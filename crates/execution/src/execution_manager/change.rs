//! Changes of deployments: from the command to what all hosts have.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::mem;

use assembly::Plan;
use deployment::{Position, plain_name};

use super::{Deployment, ExecutionManager, Host, Record, not_there};
use crate::commands::Answer;
use crate::content::{Content, fit_together};
use crate::messages::{Epoch, Stage, State, Step};

/// A GUID in hexadecimal digits takes half of it.
const LONGEST_SOURCE: usize = 64;

/// How far a change is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Hosts do what leads to it, to the end of a stage.
    Open { until: Stage },
    /// All hosts can hold to it; the store is to keep it, which decides.
    Keeping,
    /// It is decided; hosts follow.
    Following,
    /// It does not come about; hosts take back what they did.
    Abandoning,
    /// The store is to keep that the deployment ends.
    KeepingEnd,
    /// The deployment ends; hosts follow.
    Ending,
    /// No host has anything of it any more; the store is to forget it.
    Forgetting,
}

/// A change that is under way.
#[derive(Debug)]
pub(super) struct Change {
    /// The command that waits for its answer.
    pub(super) request: Option<u64>,
    pub(super) epoch: Epoch,
    pub(super) content: Content,
    /// Hosts that take part, each with the start of its node manager.
    pub(super) participants: BTreeMap<String, u64>,
    pub(super) phase: Phase,
    pub(super) deadline: u64,
    why: String,
    /// The last events that were published by what rests, on all hosts.
    published: Vec<Position>,
}

/// A command that waits for its hosts.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) request: u64,
    pub(super) content: Content,
    pub(super) is_launch: bool,
    pub(super) deadline: u64,
}

/// Why a change is not begun.
enum Trouble {
    /// That may be over soon.
    Later(String),
    /// Somebody has to do something.
    Never(String),
}

impl Change {
    /// The end of a deployment that is kept already.
    pub(super) fn ending(epoch: Epoch, content: Content, request: Option<u64>, deadline: u64) -> Self {
        let participants = content.hosts.iter().map(|host| (host.clone(), 0)).collect();
        let (phase, why) = (Phase::Ending, String::new());
        let published = Vec::new();
        Self { request, epoch, content, participants, phase, deadline, why, published }
    }

    /// How far hosts are to go before it is decided.
    pub(super) fn until(&self) -> Option<Stage> {
        match self.phase {
            Phase::Open { until } => Some(until),
            Phase::Keeping => Some(Stage::FinishLaunch),
            _ => None,
        }
    }

    /// What hosts are told of it before it is decided.
    pub(super) fn step(&self, until: Stage) -> Step {
        let published = match until {
            Stage::Quiesce(_) => self.published.clone(),
            _ => Vec::new(),
        };
        Step { epoch: self.epoch, until, published }
    }

    /// When something has to be done about hosts that have not answered.
    pub(super) fn deadline(&self) -> Option<u64> {
        let is_awaited = match self.phase {
            Phase::Open { .. } | Phase::Abandoning => true,
            Phase::Following | Phase::Ending => self.request.is_some(),
            Phase::Keeping | Phase::KeepingEnd | Phase::Forgetting => false,
        };
        is_awaited.then_some(self.deadline)
    }

    /// In words.
    pub(super) fn text(&self) -> String {
        match self.phase {
            Phase::Open { until } => format!("a change to {}: {until}", self.epoch),
            Phase::Keeping => format!("a change to {}: it is decided", self.epoch),
            Phase::Following => format!("{} is decided, and hosts follow", self.epoch),
            Phase::Abandoning => format!("a change to {} is taken back: {}", self.epoch, self.why),
            Phase::KeepingEnd | Phase::Ending | Phase::Forgetting => "it ends".to_string(),
        }
    }
}

impl ExecutionManager {
    /// Begins a launch, or a change to another plan, as soon as its hosts have followed what was decided before.
    pub(super) fn begin(&mut self, now: u64, asked: Asked) {
        match self.admitted(&asked) {
            Err(Trouble::Later(_)) if now < asked.deadline => self.waiting.push(asked),
            Err(Trouble::Later(what) | Trouble::Never(what)) => self.refuse(asked.request, what),
            Ok(participants) => {
                let Asked { request, content, .. } = asked;
                let epoch = Epoch { manager: self.start, change: self.next_change };
                self.next_change += 1;
                let deadline = now.saturating_add(self.patience.stage);
                let phase = Phase::Open { until: Stage::Examine };
                let (name, request, why) = (content.deployment.clone(), Some(request), String::new());
                let published = Vec::new();
                let change =
                    Change { request, epoch, content, participants, phase, deadline, why, published };
                self.tell(format!("deployment {name}: {}", change.text()));
                self.changes.insert(name, change);
            }
        }
    }

    /// Tries what waits again.
    pub(super) fn begin_waiting(&mut self, now: u64) {
        for asked in mem::take(&mut self.waiting) {
            self.begin(now, asked);
        }
    }

    /// The hosts that take part in a change that may be tried, each with the start of its node manager.
    fn admitted(&self, asked: &Asked) -> Result<BTreeMap<String, u64>, Trouble> {
        let content = &asked.content;
        let name = &content.deployment;
        let never = |what: String| Err(Trouble::Never(what));
        if let Some(change) = self.changes.get(name) {
            return never(self.busy(name, change));
        }
        let before = self.deployments.get(name);
        match before {
            None if !asked.is_launch => return never(not_there(name)),
            Some(_) if asked.is_launch => {
                return never(format!(
                    "deployment {name} runs: punctual deploy apply goes on to another plan"
                ));
            }
            _ => {}
        }
        for id in &content.plan.depends_on {
            let other = plain_name(id);
            if self.deployments.get(&other).is_none_or(|other| other.is_ending) {
                return never(format!(
                    "the plan depends on the deployment {other}, which does not run\n  launch it first, or take it out of depends-on"
                ));
            }
        }
        let mut participants = BTreeMap::new();
        for host in content.hosts.iter().chain(before.iter().flat_map(|before| &before.content.hosts)) {
            let known = self.hosts.get(host).filter(|known| known.at.is_some());
            let Some(known) = known else { return never(away(host)) };
            if let Some(what) = known.state(name).and_then(|state| state.trouble.as_ref()) {
                return never(format!("on host {host} the plan that holds does not run: {what}"));
            }
            if !self.is_settled(host, known) {
                return Err(Trouble::Later(format!(
                    "host {host} has not followed yet what was decided before: try again, or see punctual deploy status"
                )));
            }
            participants.insert(host.clone(), known.report.incarnation);
        }
        // A change that is under way may come about or not: both of its plans have to fit.
        let others = self.deployments.iter().filter(|(other, _)| *other != name).map(|(_, it)| &it.content);
        let coming = self.changes.values().filter(|change| change.until().is_some()).map(|it| &it.content);
        let others: Vec<&Content> = others.chain(coming).collect();
        fit_together(content, before.map(|before| &before.content), &others).map_err(Trouble::Never)?;
        Ok(participants)
    }

    /// Whether a host has what is decided, and nothing else but changes that are under way.
    fn is_settled(&self, name: &str, host: &Host) -> bool {
        let holds = |deployment: &str| {
            let order = host.orders.iter().find(|order| order.deployment == deployment);
            order.and_then(|order| order.holds)
        };
        let is_under_way = |state: &State| match &state.change {
            Some(progress) => {
                let change = self.changes.get(&state.deployment);
                change.is_some_and(|change| change.until().is_some() && change.epoch == progress.epoch)
            }
            None => true,
        };
        let mut states = host.report.deployments.iter();
        self.has_heard(name) && states.all(|it| it.runs == holds(&it.deployment) && is_under_way(it))
    }

    fn busy(&self, name: &str, change: &Change) -> String {
        let waits = change.participants.keys().filter(|host| match change.phase {
            Phase::Ending => !self.is_without(host, name),
            _ => false,
        });
        let waits: Vec<&str> = waits.map(String::as_str).collect();
        let what = change.text();
        match waits.as_slice() {
            [] => format!("deployment {name}: {what}; try again when that is over"),
            waits => format!(
                "deployment {name}: {what}, and {} may still have processes of it; try again when that is over",
                waits.join(", ")
            ),
        }
    }

    /// Ends a deployment.
    pub(super) fn stop(&mut self, now: u64, request: u64, name: &str) {
        if let Some(change) = self.changes.get(name) {
            let what = self.busy(name, change);
            return self.refuse(request, what);
        }
        let Some(Deployment { epoch, content, .. }) = self.deployments.get(name) else {
            return self.refuse(request, not_there(name));
        };
        let record = Record { epoch: *epoch, bundle: content.bundle.clone(), is_ending: true };
        let mut change = Change::ending(*epoch, content.clone(), Some(request), now);
        change.phase = Phase::KeepingEnd;
        self.changes.insert(name.to_string(), change);
        self.keep(name, Some(record));
    }

    /// A host has fallen out of what was going on.
    pub(super) fn fell(&mut self, now: u64, host: &str, why: &str) {
        let is_part = |change: &Change| {
            matches!(change.phase, Phase::Open { .. }) && change.participants.contains_key(host)
        };
        let names = self.changes.iter().filter(|(_, change)| is_part(change)).map(|(name, _)| name.clone());
        for name in names.collect::<Vec<_>>() {
            self.abandon(now, &name, format!("host {host}: {why}"));
        }
    }

    fn abandon(&mut self, now: u64, name: &str, why: String) {
        let follow = self.patience.follow;
        if let Some(change) = self.changes.get_mut(name) {
            change.phase = Phase::Abandoning;
            change.deadline = now.saturating_add(follow);
            change.why = why;
            let text = change.text();
            self.tell(format!("deployment {name}: {text}"));
        }
    }

    /// Goes on with all changes as far as hosts have come.
    pub(super) fn advance(&mut self, now: u64) {
        let names: Vec<String> = self.changes.keys().cloned().collect();
        for name in names {
            while self.step(now, &name) {}
        }
    }

    /// Does the next step of a change; whether there may be another one.
    fn step(&mut self, now: u64, name: &str) -> bool {
        let Some(change) = self.changes.get(name) else { return false };
        match change.phase {
            Phase::Open { until } => self.step_open(now, name, until),
            Phase::Following => self.step_following(now, name),
            Phase::Abandoning => {
                let epoch = change.epoch;
                let has_left = |host: &String| {
                    let of_host = self.hosts.get(host).and_then(|it| it.state(name));
                    let of_change = of_host.and_then(|state| state.change.as_ref());
                    self.has_heard(host) && of_change.is_none_or(|progress| progress.epoch != epoch)
                };
                let has_all = change.participants.keys().all(|host| self.is_away(host) || has_left(host));
                if has_all || change.deadline <= now {
                    let (request, what) = (change.request, change.why.clone());
                    self.changes.remove(name);
                    if let Some(request) = request {
                        self.refuse(request, what);
                    }
                }
                false
            }
            Phase::Ending => {
                let rest: Vec<String> =
                    change.participants.keys().filter(|host| !self.is_without(host, name)).cloned().collect();
                let (request, is_late) = (change.request, change.deadline <= now);
                let all_are_away = rest.iter().all(|host| self.is_away(host));
                if rest.is_empty() {
                    if let Some(change) = self.changes.get_mut(name) {
                        change.phase = Phase::Forgetting;
                    }
                    self.keep(name, None);
                } else if let Some(request) = request.filter(|_| is_late || all_are_away) {
                    let notes = rest.iter().map(|host| {
                        format!("host {host} has not ended its processes: it does when it hears of it")
                    });
                    let notes = notes.collect();
                    self.answer(request, Answer::Done { notes });
                    if let Some(change) = self.changes.get_mut(name) {
                        change.request = None;
                    }
                }
                false
            }
            Phase::Keeping | Phase::KeepingEnd | Phase::Forgetting => false,
        }
    }

    fn step_open(&mut self, now: u64, name: &str, until: Stage) -> bool {
        let Some(change) = self.changes.get(name) else { return false };
        let mut late = Vec::new();
        let (mut rounds, mut published) = (0, Vec::new());
        for host in change.participants.keys() {
            let state = self.hosts.get(host).and_then(|it| it.state(name));
            let progress = state.and_then(|state| state.change.as_ref());
            let progress = progress.filter(|progress| progress.epoch == change.epoch);
            if let Some(why) = progress.and_then(|progress| progress.failed.clone()) {
                self.abandon(now, name, format!("host {host}: {why}"));
                return true;
            }
            if let Some(why) = state.and_then(|state| state.trouble.clone()) {
                self.abandon(now, name, format!("host {host}: the plan that holds does not run: {why}"));
                return true;
            }
            if progress.and_then(|progress| progress.reached).is_none_or(|reached| reached < until) {
                late.push(host.as_str());
            }
            rounds = rounds.max(progress.map_or(0, |progress| progress.rounds));
            published.extend(progress.map(|progress| (host.as_str(), progress.published.as_slice())));
        }
        if !late.is_empty() {
            let is_late = change.deadline <= now;
            if is_late {
                let seconds = self.patience.stage / 1_000_000_000_000;
                let what = format!("{} did not come to {until} within {seconds} s", late.join(", "));
                self.abandon(now, name, what);
            }
            return is_late;
        }
        let deadline = now.saturating_add(self.patience.stage);
        let record = Record { epoch: change.epoch, bundle: change.content.bundle.clone(), is_ending: false };
        // What is handled goes from component to component of the plan that holds.
        let most = self.deployments.get(name).map_or(0, |it| it.content.plan.components.len());
        if usize::try_from(rounds).is_ok_and(|rounds| rounds > most) {
            let what = format!(
                "a host says that {rounds} rounds are needed between events, and {most} are the most"
            );
            self.abandon(now, name, what);
            return true;
        }
        let holds = self.deployments.get(name).map(|it| &it.content.plan);
        if let Some(what) = published.iter().find_map(|(host, of_it)| strange(holds, host, of_it)) {
            self.abandon(now, name, what);
            return true;
        }
        let published = published.into_iter().flat_map(|(_, of_it)| of_it).cloned().collect();
        let Some(change) = self.changes.get_mut(name) else { return false };
        (change.deadline, change.published) = (deadline, published);
        let done = match until {
            Stage::Quiesce(round) => round.saturating_add(1),
            _ => 0,
        };
        let is_quiescing = matches!(until, Stage::PreparePlan | Stage::Quiesce(_)) && done < rounds;
        match if is_quiescing { Some(Stage::Quiesce(done)) } else { until.next() } {
            Some(next) => change.phase = Phase::Open { until: next },
            None => {
                change.phase = Phase::Keeping;
                self.keep(name, Some(record));
            }
        }
        false
    }

    fn step_following(&mut self, now: u64, name: &str) -> bool {
        let Some(change) = self.changes.get(name) else { return false };
        let (mut rest, mut notes) = (Vec::new(), Vec::new());
        for host in change.participants.keys() {
            let state = self.hosts.get(host).and_then(|it| it.state(name));
            let follows = if change.content.hosts.contains(host) {
                let runs = state.filter(|it| it.runs == Some(change.epoch) && it.change.is_none());
                notes.extend(runs.iter().flat_map(|it| &it.notes).map(|note| format!("host {host}: {note}")));
                runs.is_some()
            } else {
                self.is_without(host, name)
            };
            if !follows {
                rest.push(host.clone());
            }
        }
        let all_are_away = rest.iter().all(|host| self.is_away(host));
        if !rest.is_empty() && !all_are_away && change.deadline > now {
            return false;
        }
        for host in rest {
            let trouble = self.hosts.get(&host).and_then(|it| it.state(name)?.trouble.clone());
            let why = trouble.map_or(String::new(), |why| format!(" ({why})"));
            notes.push(format!("host {host} has not followed yet{why}: it does when it can"));
        }
        let request = change.request;
        self.changes.remove(name);
        if let Some(request) = request {
            self.answer(request, Answer::Done { notes });
        }
        false
    }

    fn is_away(&self, host: &str) -> bool {
        self.hosts.get(host).is_none_or(|host| host.at.is_none())
    }

    /// Whether a host has nothing of a deployment, and knows that it is to have nothing.
    pub(super) fn is_without(&self, host: &str, deployment: &str) -> bool {
        let is_without = |host: &Host| host.state(deployment).is_none();
        self.has_heard(host) && self.hosts.get(host).is_some_and(is_without)
    }
}

/// What a host cannot have published by the plan that holds. All hosts are told of it, so there is no more than the plan has room for.
fn strange(holds: Option<&Plan>, host: &str, published: &[Position]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let here: BTreeSet<&str> = holds.filter(|_| !published.is_empty()).map_or_else(BTreeSet::new, |plan| {
        let layout = plan.layout();
        layout.processes().iter().filter(|(_, of)| **of == Some(host)).map(|(process, _)| *process).collect()
    });
    published.iter().find_map(|Position { end, source, .. }| {
        let connection = holds.and_then(|plan| plan.connections.get(end));
        let from = connection.and_then(|connection| connection.from.component());
        let process = from.and_then(|from| Some(holds?.components.get(from)?.process.as_str()));
        let name = plain_name(end);
        if !process.is_some_and(|process| here.contains(process)) {
            return Some(format!(
                "host {host} says what it has published by the connection {name}, which does not begin there"
            ));
        }
        if source.len() > LONGEST_SOURCE {
            return Some(format!(
                "host {host} names a writer of the connection {name} by {} bytes, and {LONGEST_SOURCE} are the most",
                source.len()
            ));
        }
        // One for the components, and one for each topic.
        let most = connection.map_or(0, |connection| connection.to.len()).saturating_add(1);
        let count = counts.entry(end).or_default();
        *count += 1;
        (*count > most).then(|| {
            format!("host {host} names more than {most} writers of the connection {name}, which has no more")
        })
    })
}

fn away(host: &str) -> String {
    format!("host {host} is not there: start punctual deploy node --name {host} on it")
}
