//! The supervisor of a host: leads its processes from one plan to another, all or none of it, and starts again what ended.
mod abort;
mod change;
mod checkpoint;
mod gate;
mod inquiry;
mod quiescent;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use assembly::{Catalogue, Named, Plan, Version};

use crate::foreign::is_foreign;
use crate::hand_over::Position;
use crate::launchable::deployment_name;
use crate::protocol::{Answer, ChainReport, Instruction, Phase, PlanStatus};
use crate::restart::Restarts;
use crate::steps::Steps;
use change::{Change, Purpose};
pub use checkpoint::{
    ChangeCheckpoint, ChangePurpose, ChangeStage, Checkpoint, ProcessRecord, StartedProcess,
};
use gate::Gate;
use inquiry::{Inquiry, Rates, Told};

/// A process that was started: each start has another number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Incarnation(pub u64);

/// A plan with its types, and where it is from.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Target {
    /// The plan.
    pub plan: Plan,
    /// Its types.
    pub types: Catalogue,
    /// Its file.
    pub file: String,
    /// What is proved of its chains, with limits and bounds; nothing of those that are missing.
    pub proofs: Vec<ChainReport>,
    /// SHA-256 of the programs of artefacts when the plan was read, by their names, as far as they are known.
    pub programs: Named<String>,
}

impl Target {
    /// The same with another mode to begin in.
    ///
    /// # Errors
    /// The plan has no such mode.
    pub fn in_mode(&self, mode: &str) -> Result<Self, String> {
        let modes = &self.plan.modes;
        if modes.contains_key(mode) {
            let plan = Plan { start_mode: Some(mode.to_string()), ..self.plan.clone() };
            return Ok(Self { plan, ..self.clone() });
        }
        let known: Vec<&str> = modes.keys().map(String::as_str).collect();
        let mode = mode.escape_debug();
        Err(match known.as_slice() {
            [] => format!("the plan has no modes: add [mode.{mode}] with components, and start-mode"),
            known => format!("the plan has no mode \"{mode}\": it has {}", known.join(", ")),
        })
    }

    /// The same with a connection that is suspended, or not any more.
    ///
    /// # Errors
    /// The plan has no such connection, it is so already, or it cannot be suspended.
    pub fn with_connection(&self, name: &str, is_suspended: bool) -> Result<Self, String> {
        let Some(connection) = self.plan.connections.get(name) else {
            let known: Vec<&str> = self.plan.connections.keys().map(String::as_str).take(20).collect();
            let name = name.escape_debug();
            return Err(format!("the plan has no connection \"{name}\": it has {}", known.join(", ")));
        };
        match (connection.is_suspended, is_suspended) {
            (true, true) => return Err(format!("the connection {name} is suspended already")),
            (false, false) => return Err(format!("the connection {name} is not suspended")),
            _ => {}
        }
        if is_suspended {
            let can = self.plan.can_suspend(connection, &self.types);
            can.map_err(|(what, remedy)| {
                format!("the connection {name} is not suspended: {what}; {remedy}")
            })?;
        }
        let mut target = self.clone();
        if let Some(connection) = target.plan.connections.get_mut(name) {
            connection.is_suspended = is_suspended;
        }
        Ok(target)
    }

    pub(crate) const fn version(&self) -> Version<'_> {
        Version { plan: &self.plan, types: &self.types, programs: Some(&self.programs) }
    }
}

/// A request to the supervisor.
#[derive(Clone, PartialEq, Debug)]
pub enum Request {
    /// Another plan. The first one is launched.
    Apply(Arc<Target>),
    /// Another mode of the plan that holds when its turn comes.
    Mode(String),
    /// A connection of the plan that holds when its turn comes is suspended, or resumed.
    Suspend(String, bool),
    /// The part of this host in a change of several hosts: it goes as far as [`Input::Proceed`] lets it, first to the end of
    /// [`Phase::PreparePlan`], and starts no component before [`Input::Decide`].
    Propose(Arc<Target>),
    /// Everything ends, in reverse order.
    Stop,
    /// Everything ends at once.
    Kill,
    /// Asks for the state of the plan.
    Status,
}

/// An event that the supervisor is told.
#[derive(Clone, PartialEq, Debug)]
pub enum Input {
    /// A request; its number comes back with the outcome.
    Request(u64, Request),
    /// The change of a [`Request::Propose`] may go on to the end of this phase, which is [`Phase::FinishLaunch`] at most.
    Proceed(u64, Phase),
    /// The change of a [`Request::Propose`] may go on to the end of this round of [`Phase::Quiesce`], from 0. These events were published on
    /// other hosts in the rounds before; those of this host may be among them.
    ProceedQuiescing(u64, u32, Vec<Position>),
    /// What becomes of a change of several hosts: it holds, which may be decided once [`Phase::FinishLaunch`] has been reached, or it is taken
    /// back.
    Decide(u64, bool),
    /// A process was started, and has this process id.
    Started(Incarnation, u32),
    /// A process told something.
    Answered(Incarnation, Answer),
    /// A process ended, or could not be started: whether that is a failure, and what is told of it.
    Ended(Incarnation, bool, String),
}

/// An action that the shell has to carry out.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// A process of a plan is started.
    Start {
        /// Its number from now on.
        incarnation: Incarnation,
        /// Its name in the plan.
        process: String,
        /// The plan.
        target: Arc<Target>,
    },
    /// A process is told something.
    Send(Incarnation, Instruction),
    /// A process is killed, for this reason; its end is told as any other.
    Kill(Incarnation, String),
    /// The change of a [`Request::Propose`] has come to the end of this phase. After [`Phase::FinishLaunch`] nothing that happens here takes it
    /// back any more, but [`Input::Decide`] or an order to end.
    Reached(u64, Phase),
    /// The change of a [`Request::Propose`] has come to the end of this round of [`Phase::Quiesce`]. These are the last events that were published
    /// on this host by what rests.
    Quiesced(u64, u32, Vec<Position>),
    /// A request has ended with this outcome.
    Finished(u64, Outcome),
    /// Something of interest, for a log.
    Tell(String),
}

/// The outcome of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is done, with notes such as warnings.
    Done(Vec<String>),
    /// It is refused for this reason, and all is as before.
    Refused(String),
    /// The state of the plan.
    Status(PlanStatus),
}

/// The record of a process of the plan in force.
#[derive(Clone, Debug, Default)]
struct Record {
    incarnation: Option<Incarnation>,
    /// When it is started again.
    next_start: Option<u64>,
    restarts: u32,
    starts: Restarts,
    is_failed: bool,
    last: Option<String>,
}

/// The record of a process that was started.
#[derive(Clone, Debug)]
struct Child {
    process: String,
    pid: Option<u32>,
    /// It executes a program that is no component server: it is told nothing but to end, and says nothing.
    is_foreign: bool,
    /// When it said that it is there, or began to run if it says nothing.
    there_since: Option<u64>,
    /// It was told to end.
    is_ending: bool,
    /// A supervisor before this one started it, which left this checkpoint: what it says of itself has to agree.
    adopted: Option<Left>,
}

/// What the supervisor before knew of the changes that a process may have taken part in.
#[derive(Clone, Copy, Debug)]
struct Left {
    /// The last one.
    epoch: u64,
    /// The one that was under way.
    change: Option<u64>,
}

/// The supervisor. Times are picoseconds.
#[derive(Debug)]
pub struct Supervisor {
    deployment: String,
    /// The host that it is of; `None` if all processes of a plan are here.
    host: Option<String>,
    /// How long processes may take to answer.
    patience: u64,
    current: Arc<Target>,
    epoch: u64,
    changes: u64,
    next_incarnation: u64,
    records: BTreeMap<String, Record>,
    children: BTreeMap<Incarnation, Child>,
    change: Option<Change>,
    requests: VecDeque<(u64, Request)>,
    inquiries: Vec<Inquiry>,
    next_inquiry: u64,
    rates: Rates,
    actions: VecDeque<Action>,
    /// It is to end, or has.
    is_stopping: bool,
}

impl Supervisor {
    /// A supervisor of a deployment that does not run yet. Processes have to answer within `patience`.
    pub fn new(deployment: String, host: Option<String>, patience: u64) -> Self {
        Self {
            deployment,
            host,
            patience,
            current: Arc::default(),
            epoch: 0,
            changes: 0,
            next_incarnation: 1,
            records: BTreeMap::new(),
            children: BTreeMap::new(),
            change: None,
            requests: VecDeque::new(),
            inquiries: Vec::new(),
            next_inquiry: 1,
            rates: Rates::default(),
            actions: VecDeque::new(),
            is_stopping: false,
        }
    }

    /// The plan that holds.
    pub fn current(&self) -> &Target {
        &self.current
    }

    /// How many rounds the phase quiesce has of a change of several hosts that is under way. It is the same on all hosts that had a part in the
    /// former plan, and none on others.
    pub fn rounds(&self) -> u32 {
        let gate = self.change.as_ref().and_then(|change| change.gate.as_ref());
        gate.map_or(0, |gate| gate.rounds)
    }

    /// The processes of the plan that holds, each with its incarnation if it runs.
    pub fn processes(&self) -> impl Iterator<Item = (&str, Option<Incarnation>)> {
        self.records.iter().map(|(name, record)| (name.as_str(), record.incarnation))
    }

    /// Whether everything has ended, as it was told.
    pub fn is_over(&self) -> bool {
        self.is_stopping && self.children.is_empty() && self.change.is_none()
    }

    /// Whether nothing is under way, and nothing is waited for but processes' next starts.
    pub fn is_idle(&self) -> bool {
        self.change.is_none() && self.requests.is_empty() && self.inquiries.is_empty()
    }

    /// Something happens.
    pub fn handle(&mut self, now: u64, input: Input) {
        match input {
            Input::Request(number, Request::Kill) => self.kill(number),
            Input::Request(number, Request::Status) => self.inquire(now, number),
            Input::Request(number, request) => {
                if request == Request::Stop {
                    self.give_up(now);
                }
                self.requests.push_back((number, request));
            }
            Input::Proceed(number, phase) => self.proceed(now, number, phase),
            Input::ProceedQuiescing(number, round, elsewhere) => {
                self.proceed_quiescing(now, number, round, elsewhere);
            }
            Input::Decide(number, holds) => self.decide_for_all(now, number, holds),
            Input::Started(incarnation, pid) => {
                if let Some(child) = self.children.get_mut(&incarnation) {
                    child.pid = Some(pid);
                    if child.is_foreign {
                        child.there_since = Some(now);
                        self.is_there(now, incarnation);
                    }
                }
            }
            Input::Answered(incarnation, answer) => self.answered(now, incarnation, answer),
            Input::Ended(incarnation, is_failure, how) => self.ended(now, incarnation, is_failure, how),
        }
        self.go_on(now);
    }

    /// Time has passed.
    pub fn tick(&mut self, now: u64) {
        self.late_change(now);
        self.late_inquiries(now);
        self.go_on(now);
    }

    /// When [`Supervisor::tick`] is to be called next.
    pub fn next_tick(&self) -> Option<u64> {
        let of_change = self.change.as_ref().and_then(Change::deadline);
        let may =
            self.records.iter().filter(|(name, _)| self.change.is_none() && !self.waits_for_others(name));
        let starts = may.filter_map(|(_, record)| record.next_start);
        let inquiries = self.inquiries.iter().map(|inquiry| inquiry.deadline);
        of_change.into_iter().chain(starts).chain(inquiries).min()
    }

    /// The next action, if there is one.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn send(&mut self, to: Incarnation, instruction: Instruction) {
        self.actions.push_back(Action::Send(to, instruction));
    }

    fn finish(&mut self, request: u64, outcome: Outcome) {
        self.actions.push_back(Action::Finished(request, outcome));
    }

    fn tell(&mut self, text: String) {
        self.actions.push_back(Action::Tell(text));
    }

    /// Kills a process and expects its end.
    fn kill_child(&mut self, incarnation: Incarnation, why: &str) {
        if self.children.contains_key(&incarnation) {
            self.actions.push_back(Action::Kill(incarnation, why.to_string()));
        }
    }

    fn kill(&mut self, request: u64) {
        self.is_stopping = true;
        let all: Vec<Incarnation> = self.children.keys().copied().collect();
        for incarnation in all {
            self.end_of(incarnation);
            self.kill_child(incarnation, "everything is killed");
        }
        for record in self.records.values_mut() {
            record.next_start = None;
        }
        if let Some(number) = self.change.take().and_then(|change| change.request()) {
            self.finish(number, Outcome::Refused("everything was killed".to_string()));
        }
        while let Some((number, _)) = self.requests.pop_front() {
            self.finish(number, Outcome::Refused("everything was killed".to_string()));
        }
        self.finish(request, Outcome::Done(Vec::new()));
    }

    /// The end of a process is expected from now on.
    fn end_of(&mut self, incarnation: Incarnation) {
        if let Some(child) = self.children.get_mut(&incarnation) {
            child.is_ending = true;
        }
    }

    /// Starts a process of a plan.
    fn start(&mut self, process: &str, target: &Arc<Target>) -> Incarnation {
        let incarnation = Incarnation(self.next_incarnation);
        self.next_incarnation += 1;
        let is_foreign = is_foreign(&target.plan, process);
        let name = process.to_string();
        let (there_since, is_ending, adopted) = (None, false, None);
        let child = Child { process: name, pid: None, is_foreign, there_since, is_ending, adopted };
        self.children.insert(incarnation, child);
        let (process, target) = (process.to_string(), Arc::clone(target));
        self.actions.push_back(Action::Start { incarnation, process, target });
        incarnation
    }

    fn answered(&mut self, now: u64, from: Incarnation, answer: Answer) {
        let Some(child) = self.children.get_mut(&from) else { return };
        match answer {
            Answer::Hello { protocol: 1, .. } => {
                child.there_since = Some(now);
                self.is_there(now, from);
            }
            Answer::Hello { protocol, .. } => {
                let name = child.process.clone();
                self.tell(format!("process {name} speaks version {protocol}, and not 1: build it anew"));
                self.kill_child(from, "it speaks another version");
            }
            Answer::Report { what } => {
                let name = child.process.clone();
                self.tell(format!("process {name}: {what}"));
            }
            Answer::Status { number, components, chains, gateway, refused } => {
                self.told_status(now, from, number, Told { components, chains, gateway, refused });
            }
            Answer::Present { process, pid, last, change } => {
                if let Some(why) = child.disagrees(&process, pid, last, change) {
                    self.kill_child(from, &why);
                }
            }
            Answer::Stopped => {}
            answer => self.told(now, from, answer),
        }
    }

    fn ended(&mut self, now: u64, incarnation: Incarnation, is_failure: bool, how: String) {
        let Some(child) = self.children.remove(&incarnation) else { return };
        self.forget(now, incarnation);
        let name = child.process;
        let of_plan = self.records.get(&name).is_some_and(|record| record.incarnation == Some(incarnation));
        if of_plan && !self.is_stopping && !child.is_ending {
            self.tell(format!("process {name} ended: {how}"));
            self.fell(now, &name, is_failure, how.clone());
        } else if of_plan && let Some(record) = self.records.get_mut(&name) {
            record.incarnation = None;
        }
        self.ended_in_change(now, incarnation, &name, &how);
    }

    /// A process of the plan that holds does not run any more.
    fn fell(&mut self, now: u64, name: &str, is_failure: bool, how: String) {
        let policy = self.current.plan.processes.get(name).and_then(|process| process.restart.as_ref());
        let Some(record) = self.records.get_mut(name) else { return };
        record.incarnation = None;
        record.last = Some(how);
        record.next_start = record.starts.next(policy, is_failure, now);
        record.is_failed = record.next_start.is_none() && is_failure;
        if record.is_failed {
            self.tell(format!(
                "process {name} is not started again: stop the plan and launch it when that is mended"
            ));
        }
    }

    /// Begins what waits, if nothing is under way.
    fn go_on(&mut self, now: u64) {
        while self.change.is_none() {
            if let Some((number, request)) = self.requests.pop_front() {
                match request {
                    Request::Apply(target) => self.apply(now, number, target, None),
                    Request::Mode(mode) => self.change_held(now, number, |held| held.in_mode(&mode)),
                    Request::Suspend(connection, is_suspended) => {
                        self.change_held(now, number, |held| held.with_connection(&connection, is_suspended));
                    }
                    Request::Propose(target) => self.apply(now, number, target, Some(Gate::new())),
                    Request::Stop => self.stop(now, number),
                    // These do not wait.
                    Request::Kill | Request::Status => {}
                }
                continue;
            }
            if self.is_stopping {
                return;
            }
            let mut due = self.records.iter().filter(|(_, it)| it.next_start.is_some_and(|at| at <= now));
            let due = due.find(|(name, _)| !self.waits_for_others(name));
            let Some(name) = due.map(|(name, _)| name.clone()) else { return };
            self.start_again(now, &name);
        }
    }

    /// Whether a process that is to be started again depends on another one that is.
    fn waits_for_others(&self, process: &str) -> bool {
        let mut others = self.current.plan.dependencies(process).iter();
        others.any(|other| self.records.get(other).is_some_and(|record| record.next_start.is_some()))
    }

    fn apply(&mut self, now: u64, request: u64, target: Arc<Target>, gate: Option<Gate>) {
        let refused = |what: String| Outcome::Refused(what);
        if self.is_stopping {
            return self.finish(request, refused("everything ends".to_string()));
        }
        let name = deployment_name(&target.plan);
        if name != self.deployment {
            let what = format!(
                "the plan is of the deployment \"{name}\", and this is \"{}\": launch it, or give it the same id",
                self.deployment
            );
            return self.finish(request, refused(what));
        }
        if let Some((name, _)) = self.records.iter().find(|(_, record)| record.incarnation.is_none()) {
            let what = format!(
                "process {name} does not run: wait for its next start, or stop the plan and launch it"
            );
            return self.finish(request, refused(what));
        }
        if let Some(why) = Steps::obstacle(&self.current, &target, gate.is_some()) {
            return self.finish(request, refused(why));
        }
        self.begin(now, Purpose::Apply(request), target, gate);
    }

    fn stop(&mut self, now: u64, request: u64) {
        self.is_stopping = true;
        for record in self.records.values_mut() {
            record.next_start = None;
        }
        self.begin(now, Purpose::Stop(request), Arc::default(), None);
    }

    fn start_again(&mut self, now: u64, name: &str) {
        if let Some(record) = self.records.get_mut(name) {
            record.next_start = None;
            record.restarts = record.restarts.saturating_add(1);
        }
        let current = Arc::clone(&self.current);
        self.begin(now, Purpose::Restart(name.to_string()), current, None);
    }

    /// The processes of a plan that are of this host.
    fn local(&self, plan: &Plan) -> BTreeSet<String> {
        let layout = plan.layout();
        let here = layout.processes().iter().filter(|(_, host)| self.is_here(**host));
        here.map(|(name, _)| name.to_string()).collect()
    }

    /// Whether what a plan puts on this host is here.
    fn is_here(&self, host: Option<&str>) -> bool {
        match (&self.host, host) {
            (Some(mine), Some(host)) => mine == host,
            _ => true,
        }
    }
}
