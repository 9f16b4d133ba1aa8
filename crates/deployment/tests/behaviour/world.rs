//! Processes that are not real, with lines that are lost, doubled and late, in virtual time.
use std::collections::BTreeMap;
use std::sync::Arc;

use assembly::Plan;
use deployment::{
    Action, Answer, Checkpoint, ComponentServer, Incarnation, Input, Instruction, Order, Outcome, Part,
    Phase, Position, Request, Supervisor, Target, line, read,
};
use testkit::random::Random;

use crate::executor::Model;
use crate::order::Judge;
use crate::plans::{is_foreign, types};
use crate::traffic::Shared;

pub(crate) const MILLISECOND: u64 = 1_000_000_000;
const PATIENCE: u64 = 1_000 * MILLISECOND;
const PID: u32 = 7;

/// What goes wrong, in hundredths of what could.
#[derive(Clone, Copy, Default)]
pub(crate) struct Faults {
    /// A process is killed when a line comes.
    pub(crate) crash: u32,
    /// A connection is lost when a line is sent.
    pub(crate) lost: u32,
    /// A line comes twice.
    pub(crate) double: u32,
    /// A process cannot be started.
    pub(crate) unstartable: u32,
    /// A process does something that fails.
    pub(crate) fail: u32,
    /// A process does not get to the end of what waits for it.
    pub(crate) late: u32,
    /// A process never answers again.
    pub(crate) hang: u32,
    /// The supervisor crashes before it does something, if processes outlive it.
    pub(crate) supervisor: u32,
    /// What it leaves cannot be written down.
    pub(crate) unkept: u32,
}

struct Process {
    /// None of a foreign program.
    server: Option<ComponentServer<Model>>,
    name: String,
    hangs: bool,
    /// It is in the checkpoint.
    is_recorded: bool,
    /// Its connection to the supervisor is there.
    is_connected: bool,
}

enum Event {
    ToChild(Incarnation, String),
    ToSupervisor(Incarnation, String),
    /// The connection to a process is at its end, on the process' side.
    Cut(Incarnation),
    /// A process comes to know that its supervisor has crashed.
    Alone(Incarnation),
    /// A foreign program falls.
    Falls(Incarnation),
    Ended(Incarnation, String),
}

pub(crate) struct World {
    deployment: String,
    /// The host of the plans that the supervisor is of; `None` for all.
    host: Option<String>,
    pub(crate) supervisor: Supervisor,
    /// What the supervisor has left, if processes outlive it.
    pub(crate) kept: Option<(Checkpoint, Arc<Target>, Option<Arc<Target>>)>,
    /// Actions of supervisors so far, and at which one it crashes.
    pub(crate) actions: u64,
    pub(crate) supervisor_crash_at: Option<u64>,
    pub(crate) supervisor_crashes: u64,
    /// The request of the change that is under way.
    under_way: u64,
    pub(crate) now: u64,
    pub(crate) faults: Faults,
    pub(crate) random: Random,
    /// By time, and then in the order in which they came to be.
    events: BTreeMap<(u64, u64), Event>,
    next_event: u64,
    processes: BTreeMap<Incarnation, Process>,
    /// The last time at which something comes, by direction: lines do not overtake each other.
    last: BTreeMap<(Incarnation, bool), u64>,
    pub(crate) outcomes: BTreeMap<u64, Outcome>,
    /// Requests whose end was told and not written down, with the crashes of supervisors before.
    unwritten: BTreeMap<u64, u64>,
    /// The last phase whose end the change of a request has come to.
    pub(crate) reached: BTreeMap<u64, Phase>,
    /// The last round of quiesce of the change of a request, and what was published here until then.
    pub(crate) quiesced: BTreeMap<u64, (u32, Vec<Position>)>,
    pub(crate) told: Vec<String>,
    /// Lines and ends of processes so far: a test that lets a process crash at each of them in turn has tried all.
    pub(crate) lines: u64,
    /// At this line the process that it concerns is killed.
    pub(crate) crash_at: Option<u64>,
    made: u64,
    pub(crate) order: Judge,
    /// The processes that were started, in this order.
    pub(crate) started: Vec<String>,
    /// All orders that were sent.
    pub(crate) orders: Vec<Order>,
    /// In the next process of this name the work fails that comes after so many others.
    fail_next: Option<(String, u32)>,
    /// Events between components, if there are any.
    pub(crate) network: Shared,
    /// One of several hosts, between which there are events, too.
    pub(crate) one_of: Option<OneOf>,
}

/// One of several hosts.
pub(crate) struct OneOf {
    /// Its number.
    host: u64,
    /// The change of all hosts that is proposed, by its number.
    pub(crate) proposed: Option<(u64, Plan)>,
    /// For each change of the supervisor here, that of all hosts which it is a part of.
    changes: BTreeMap<u64, u64>,
}

impl OneOf {
    pub(crate) fn of(host: u64) -> Self {
        Self { host, proposed: None, changes: BTreeMap::new() }
    }
}

impl World {
    pub(crate) fn new(seed: u64, deployment: &str) -> Self {
        Self::on_host(None, seed, deployment)
    }

    /// A world whose supervisor is of this host of its plans.
    pub(crate) fn on_host(host: Option<&str>, seed: u64, deployment: &str) -> Self {
        let host = host.map(str::to_owned);
        Self {
            deployment: deployment.to_owned(),
            supervisor: Supervisor::new(deployment.to_owned(), host.clone(), PATIENCE),
            host,
            kept: None,
            actions: 0,
            supervisor_crash_at: None,
            supervisor_crashes: 0,
            under_way: 0,
            now: 0,
            faults: Faults::default(),
            random: Random::new(seed),
            events: BTreeMap::new(),
            next_event: 0,
            processes: BTreeMap::new(),
            last: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            unwritten: BTreeMap::new(),
            reached: BTreeMap::new(),
            quiesced: BTreeMap::new(),
            told: Vec::new(),
            lines: 0,
            crash_at: None,
            made: 0,
            order: Judge::default(),
            started: Vec::new(),
            orders: Vec::new(),
            fail_next: None,
            network: Shared::default(),
            one_of: None,
        }
    }

    /// What the network knows a process by.
    fn tag(&self, of: Incarnation) -> u64 {
        of.0 + self.one_of.as_ref().map_or(0, |it| it.host * 1_000_000)
    }

    /// What the network knows a change by.
    fn change(&self, epoch: u64) -> u64 {
        self.one_of.as_ref().map_or(epoch, |it| it.changes.get(&epoch).copied().unwrap_or_default())
    }

    /// The same with processes that outlive their supervisor.
    pub(crate) fn outliving(seed: u64, deployment: &str) -> Self {
        let mut world = Self::new(seed, deployment);
        world.keep();
        world
    }

    fn keep(&mut self) {
        let (current, next) = self.supervisor.plans();
        self.kept = Some((self.supervisor.checkpoint(), Arc::clone(current), next.cloned()));
        self.processes.values_mut().for_each(|process| process.is_recorded = true);
    }

    fn at(&mut self, time: u64, event: Event) {
        self.next_event += 1;
        self.events.insert((time, self.next_event), event);
    }

    fn chance(&mut self, of: u32) -> bool {
        of > 0 && self.random.below(100) < of as usize
    }

    /// Sends a line one way, or loses the connection.
    fn send(&mut self, of: Incarnation, to_child: bool, text: String) {
        if self.chance(self.faults.lost) {
            return self.at(self.now, Event::Cut(of));
        }
        let delay = self.random.below_u64(3 * MILLISECOND);
        let last = self.last.get(&(of, to_child)).copied().unwrap_or_default();
        let time = last.max(self.now + delay);
        self.last.insert((of, to_child), time);
        let times = if self.chance(self.faults.double) { 2 } else { 1 };
        for _ in 0..times {
            let text = text.clone();
            let event = if to_child { Event::ToChild(of, text) } else { Event::ToSupervisor(of, text) };
            self.at(time, event);
        }
    }

    pub(crate) fn request(&mut self, number: u64, request: Request) {
        if let Request::Apply(target) | Request::Propose(target) = &request {
            self.order.asked = target.plan.clone();
        }
        if request != Request::Status {
            self.under_way = number;
        }
        self.supervisor.handle(self.now, Input::Request(number, request));
        self.act();
    }

    /// Others say how far a change may go, or what becomes of it.
    pub(crate) fn input(&mut self, input: Input) {
        self.supervisor.handle(self.now, input);
        self.act();
    }

    fn act(&mut self) {
        loop {
            let is_kept = !self.chance(self.faults.unkept);
            if self.kept.is_some() && is_kept {
                self.keep();
            }
            if !is_kept {
                self.end_unrecorded();
            }
            let Some(action) = self.supervisor.poll() else { return };
            self.actions += 1;
            let crashes = self.supervisor_crash_at == Some(self.actions);
            if self.kept.is_some() && (crashes || self.chance(self.faults.supervisor)) {
                return self.crash_supervisor();
            }
            match action {
                Action::Start { incarnation, process, target } => {
                    self.order.starts(incarnation, &process, &target.plan);
                    self.started.push(process.clone());
                    if !is_kept || self.chance(self.faults.unstartable) {
                        self.at(self.now, Event::Ended(incarnation, "there is no such file".to_owned()));
                        continue;
                    }
                    if is_foreign(&target.plan, &process) {
                        self.start_foreign(incarnation, process);
                        continue;
                    }
                    self.made += 1_000;
                    let mut model = Model::new(types(), self.made);
                    (model.network, model.tag) = (Shared::clone(&self.network), self.tag(incarnation));
                    model.fails_in = self.chance(self.faults.fail).then(|| self.random.below(20) as u32);
                    if let Some((_, fails_in)) = self.fail_next.take_if(|(name, _)| *name == process) {
                        model.fails_in = Some(fails_in);
                    }
                    model.refuses = self.chance(self.faults.fail / 4);
                    let server = ComponentServer::new(model);
                    let hangs = self.chance(self.faults.hang);
                    let (is_recorded, is_connected) = (false, true);
                    let made =
                        Process { server: Some(server), name: process, hangs, is_recorded, is_connected };
                    self.processes.insert(incarnation, made);
                    self.supervisor.handle(self.now, Input::Started(incarnation, PID));
                    self.hello(incarnation);
                }
                Action::Send(incarnation, instruction) => {
                    self.order.told(incarnation, &instruction);
                    self.sees(&instruction);
                    if let Instruction::Perform { orders, .. } = &instruction {
                        self.orders.extend_from_slice(orders);
                    }
                    self.send(incarnation, true, line(&instruction).unwrap());
                }
                Action::Kill(incarnation, _) => self.end(incarnation, "killed by the supervisor"),
                Action::Finished(number, outcome) => {
                    if !matches!(outcome, Outcome::Status(_)) {
                        self.order.changed(&self.supervisor.current().plan);
                    }
                    // The next supervisor says it again if its end could not be written down; it says the same.
                    let is_again = !is_kept && self.kept.is_some();
                    let kind = std::mem::discriminant(&outcome);
                    if let Some(before) = self.outcomes.insert(number, outcome) {
                        let may =
                            self.unwritten.remove(&number).is_some_and(|at| at < self.supervisor_crashes);
                        assert!(may, "request {number} ends twice");
                        assert_eq!(
                            std::mem::discriminant(&before),
                            kind,
                            "request {number} ends in two ways"
                        );
                    }
                    if is_again {
                        self.unwritten.insert(number, self.supervisor_crashes);
                    }
                }
                Action::Reached(number, Phase::FinishLaunch) if !is_kept && !self.has_vote() => {
                    self.supervisor.handle(self.now, Input::Decide(number, false));
                }
                Action::Reached(number, phase) => {
                    let before = self.reached.insert(number, phase);
                    assert!(before < Some(phase), "request {number} reaches {phase:?} twice");
                }
                Action::Quiesced(number, round, published) => {
                    let before = self.quiesced.insert(number, (round, published));
                    assert!(
                        before.is_none_or(|(before, _)| before < round),
                        "round {round} of {number} twice"
                    );
                }
                Action::Tell(text) => self.told.push(text),
            }
        }
    }

    /// A program that is no component server, and says nothing.
    fn start_foreign(&mut self, of: Incarnation, name: String) {
        let hangs = self.chance(self.faults.hang);
        let (is_recorded, is_connected) = (false, true);
        self.processes.insert(of, Process { server: None, name, hangs, is_recorded, is_connected });
        if self.chance(10 * self.faults.crash) {
            let delay = self.random.below_u64(30 * MILLISECOND);
            self.at(self.now + delay, Event::Falls(of));
        }
        self.order.is_there(of);
        self.supervisor.handle(self.now, Input::Started(of, PID));
    }

    /// Whether the next supervisor knows that this host has voted for the change that is under way.
    fn has_vote(&self) -> bool {
        let kept = self.kept.as_ref().map(|(kept, ..)| kept);
        kept.is_some_and(|kept| self.supervisor.checkpoint().is_voted_in(kept))
    }

    /// Ends the processes that the next supervisor would not know of.
    fn end_unrecorded(&mut self) {
        let unrecorded = self.processes.iter().filter(|(_, process)| !process.is_recorded);
        for of in unrecorded.map(|(of, _)| *of).collect::<Vec<_>>() {
            self.processes.remove(&of);
            self.at(self.now, Event::Ended(of, "it cannot be written down".to_owned()));
        }
    }

    /// What a process says first, on each connection.
    fn hello(&mut self, of: Incarnation) {
        let hello = Answer::Hello { protocol: 1, build: String::new() };
        self.send(of, false, line(&hello).unwrap());
        let server = self.processes.get(&of).and_then(|process| process.server.as_ref());
        let present = server.filter(|_| self.kept.is_some()).map(|server| server.present(PID));
        present.into_iter().for_each(|present| self.send(of, false, line(&present).unwrap()));
    }

    /// The supervisor is gone at once, and the next one adopts what it has left.
    pub(crate) fn crash_supervisor(&mut self) {
        self.supervisor_crashes += 1;
        let (checkpoint, current, next) = self.kept.clone().unwrap();
        let checkpoint: Checkpoint = read(&line(&checkpoint).unwrap()).unwrap();
        self.events.retain(|_, event| !matches!(event, Event::ToSupervisor(..) | Event::Ended(..)));
        self.reached.remove(&self.under_way);
        for of in self.incarnations() {
            let falls = self.chance(self.faults.crash);
            let process = self.processes.get_mut(&of).unwrap();
            process.is_connected = process.server.is_none();
            // A foreign program is not executed before it is recorded.
            if falls || (process.server.is_none() && !process.is_recorded) {
                self.processes.remove(&of);
            } else if process.server.is_some() {
                // What was sent to it comes first, and what the next supervisor sends comes later.
                let last = self.last.get(&(of, true)).copied().unwrap_or_default();
                let time = last.max(self.now + self.random.below_u64(3 * MILLISECOND));
                self.last.insert((of, true), time);
                self.at(time, Event::Alone(of));
            }
        }
        let started = checkpoint.started.iter().map(|started| Incarnation(started.incarnation));
        let is_gone = |of: &Incarnation| !self.processes.get(of).is_some_and(|process| process.is_recorded);
        let gone: Vec<(Incarnation, String)> =
            started.filter(is_gone).map(|of| (of, "it is gone".to_owned())).collect();
        gone.iter().for_each(|(of, _)| self.order.ended(*of));
        let supervisor = Supervisor::new(self.deployment.clone(), self.host.clone(), PATIENCE);
        let resumed = supervisor.resume(self.now, &checkpoint, (current, next), gone, self.under_way);
        self.supervisor = resumed.unwrap_or_else(|why| panic!("{why}: {checkpoint:?}"));
        if checkpoint.change.is_none() {
            // Nobody may have heard that the last one is over.
            self.order.changed(&self.supervisor.current().plan);
        }
        self.act();
    }

    /// A process is gone; the supervisor comes to know.
    pub(crate) fn end(&mut self, of: Incarnation, how: &str) {
        if let Some(process) = self.processes.remove(&of) {
            self.network.borrow_mut().ends(self.tag(of), how == "exit code 0");
            if self.kept.is_some() && !process.is_recorded {
                // No supervisor knows of it.
                return self.order.ended(of);
            }
            let delay = self.random.below_u64(3 * MILLISECOND);
            self.at(self.now + delay, Event::Ended(of, how.to_owned()));
        }
    }

    /// Whether this line is the one at which the process that it concerns crashes.
    fn crashes(&mut self) -> bool {
        self.lines += 1;
        self.crash_at == Some(self.lines) || self.chance(self.faults.crash)
    }

    fn happen(&mut self, event: Event) {
        self.take_place(event);
        self.states();
        self.go_on();
    }

    /// The network sees which plans there are.
    fn sees(&mut self, instruction: &Instruction) {
        let mut network = self.network.borrow_mut();
        match instruction {
            Instruction::PreparePlan { epoch, plan, .. } if !plan.is_empty() && network.is_on() => {
                let source = diagnostics::Source { file: "told", text: plan };
                let plan = Plan::read(source).unwrap().0;
                let number = match &mut self.one_of {
                    None => *epoch,
                    // A process that is started again has the plan that holds.
                    Some(it) => *it.changes.entry(*epoch).or_insert_with(|| match &it.proposed {
                        Some((number, proposed)) if *proposed == plan => *number,
                        _ => network.decided(),
                    }),
                };
                network.prepares(number, || plan);
            }
            // What becomes of a change of several hosts is decided elsewhere.
            Instruction::Commit { epoch } if self.one_of.is_none() => network.decides(*epoch),
            _ => {}
        }
    }

    /// Components publish and handle events, meanwhile.
    fn go_on(&mut self) {
        if !self.network.borrow().is_on() {
            return;
        }
        for _ in 0..self.random.below(6) {
            let there = self.processes.values_mut().filter(|process| !process.hangs);
            let mut servers: Vec<_> = there.filter_map(|process| process.server.as_mut()).collect();
            if servers.is_empty() {
                return;
            }
            let index = self.random.below(servers.len());
            servers[index].executor_mut().go_on(&mut self.random);
        }
    }

    fn take_place(&mut self, event: Event) {
        match event {
            Event::ToChild(of, text) => {
                if self.processes.contains_key(&of) && self.crashes() {
                    return self.end(of, "killed by signal 9");
                }
                let is_late = self.chance(self.faults.late);
                let instruction: Instruction = read(&text).unwrap();
                let performs = match &instruction {
                    Instruction::Perform { epoch, .. } => self.change(*epoch),
                    _ => 0,
                };
                let Some(process) = self.processes.get_mut(&of).filter(|process| !process.hangs) else {
                    return;
                };
                let Some(server) = &mut process.server else {
                    assert_eq!(instruction, Instruction::Stop, "a foreign program understands nothing else");
                    return self.end(of, "killed by signal 15");
                };
                server.executor_mut().is_late = is_late;
                server.executor_mut().performs = performs;
                let answers = server.handle(instruction);
                let is_stopped = server.is_stopped();
                // What it answers to a supervisor that has crashed is lost.
                let is_connected = process.is_connected;
                for answer in answers.into_iter().filter(|_| is_connected) {
                    self.send(of, false, line(&answer).unwrap());
                }
                if is_stopped {
                    self.end(of, "exit code 0");
                }
            }
            Event::ToSupervisor(of, text) => {
                if self.processes.contains_key(&of) && self.crashes() {
                    self.end(of, "killed by signal 9");
                }
                // What was sent before the end may still be read.
                self.order.is_there(of);
                self.supervisor.handle(self.now, Input::Answered(of, read(&text).unwrap()));
                self.act();
            }
            Event::Cut(of) => {
                if let Some(process) = self.processes.get_mut(&of) {
                    // A foreign program has no connection: the signal reaches it.
                    let how = match &mut process.server {
                        Some(server) => {
                            server.stop();
                            "its connection is lost"
                        }
                        None => "killed by signal 15",
                    };
                    self.end(of, how);
                }
            }
            Event::Alone(of) => {
                let Some(process) = self.processes.get_mut(&of) else { return };
                process.is_connected = true;
                let outlives = process.server.as_ref().is_some_and(ComponentServer::outlives_supervisor);
                match (process.hangs, outlives) {
                    (true, _) if process.is_recorded => {}
                    (true, _) => self.end(of, "exit code 70"),
                    (false, true) => self.hello(of),
                    (false, false) => self.end(of, "exit code 0"),
                }
            }
            Event::Falls(of) => self.end(of, "killed by signal 11"),
            Event::Ended(of, how) => {
                self.order.ended(of);
                self.supervisor.handle(self.now, Input::Ended(of, true, how));
                self.act();
            }
        }
    }

    /// In the process of this name, as it is or in the next one, the work fails that comes after so many others.
    pub(crate) fn fail_in(&mut self, name: &str, of_former: bool, fails_in: u32) {
        if !of_former {
            self.fail_next = Some((name.to_owned(), fails_in));
            return;
        }
        let process = self.processes.values_mut().find(|process| process.name == name);
        process.unwrap().server.as_mut().unwrap().executor_mut().fails_in = Some(fails_in);
    }

    /// Nothing fails on purpose any more.
    pub(crate) fn mend(&mut self) {
        self.faults = Faults::default();
        self.crash_at = None;
        for process in self.processes.values_mut() {
            if let Some(server) = &mut process.server {
                server.executor_mut().fails_in = None;
            }
        }
    }

    /// Lets the world go on until nothing happens any more, or for so long.
    pub(crate) fn run(&mut self, limit: u64) {
        let end = self.now + limit;
        loop {
            let event = self.events.keys().next().copied();
            let next = [event.map(|(time, _)| time), self.supervisor.next_tick()].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            match event.filter(|(time, _)| *time <= self.now) {
                Some(key) => {
                    let event = self.events.remove(&key).unwrap();
                    self.happen(event);
                }
                None => {
                    self.supervisor.tick(self.now);
                    self.act();
                }
            }
        }
        self.now = end;
    }

    /// Runs until a request has ended.
    pub(crate) fn run_until(&mut self, request: u64) -> Outcome {
        for _ in 0..100_000 {
            if let Some(outcome) = self.outcomes.get(&request) {
                return outcome.clone();
            }
            self.run(MILLISECOND);
        }
        panic!("request {request} does not end: {:?}", self.supervisor);
    }

    pub(crate) fn apply(&mut self, request: u64, target: &Target) -> Outcome {
        self.request(request, Request::Apply(Arc::new(target.clone())));
        self.run_until(request)
    }

    /// The numbers of all components that are there, by process and name.
    pub(crate) fn numbers(&self) -> BTreeMap<(Incarnation, String), u64> {
        let of = |(of, process): (&Incarnation, &Process)| {
            let components = process.server.as_ref().map(|it| it.executor().components.clone());
            components
                .into_iter()
                .flatten()
                .map(|(name, made)| ((*of, name), made.number))
                .collect::<Vec<_>>()
        };
        self.processes.iter().flat_map(of).collect()
    }

    /// How many components work with the state of one in a former process.
    pub(crate) fn handed_over(&self) -> u64 {
        let servers = self.processes.values().filter_map(|process| process.server.as_ref());
        let made = servers.flat_map(|server| server.executor().components.values());
        made.filter(|made| made.is_active && made.state != made.number).count() as u64
    }

    /// The states of all components that work, by name; each works once. One that was to move between two processes that go on may work in
    /// both for as long as these take the change back.
    pub(crate) fn states(&self) -> BTreeMap<String, u64> {
        let mut states = BTreeMap::new();
        let goes_on: Vec<Incarnation> = self.supervisor.processes().filter_map(|(_, of)| of).collect();
        let mut by_going_on: BTreeMap<String, bool> = BTreeMap::new();
        for (of, process) in &self.processes {
            let components = process.server.as_ref().map(|it| &it.executor().components);
            for (name, made) in components.into_iter().flatten().filter(|(_, made)| made.is_active) {
                let goes_on = goes_on.contains(of);
                let is_first = states.insert(name.clone(), made.state).is_none();
                let both_go_on = by_going_on.insert(name.clone(), goes_on) == Some(true) && goes_on;
                assert!(is_first || both_go_on, "{name} works twice, in {of:?}, too: {:?}", self.told);
            }
        }
        states
    }

    pub(crate) fn incarnations(&self) -> Vec<Incarnation> {
        self.processes.keys().copied().collect()
    }

    pub(crate) fn model(&mut self, name: &str) -> &Model {
        let found = self.processes.values().find(|process| process.name == name);
        found.unwrap_or_else(|| panic!("no process {name}")).server.as_ref().unwrap().executor()
    }

    /// Whether what runs is exactly what the plan says that holds.
    pub(crate) fn judge(&self, context: &str) {
        let mut known = Vec::new();
        for (name, of) in self.supervisor.processes() {
            let Some(of) = of else { continue };
            known.push(of);
            let process = self
                .processes
                .get(&of)
                .unwrap_or_else(|| panic!("{context}: a record of {name}, and no process"));
            assert_eq!(process.name, name, "{context}");
            let plan = &self.supervisor.current().plan;
            assert_eq!(process.server.is_none(), is_foreign(plan, name), "{context}: {name}");
            let Some(server) = &process.server else { continue };
            let (part, _) = Part::of(&self.supervisor.current().plan, name, &types());
            let model = server.executor();
            if let Some(difference) = model.differs(&part) {
                panic!("{context}: {name}: {difference}; {:?}", self.told);
            }
        }
        for (of, process) in &self.processes {
            assert!(known.contains(of), "{context}: process {} is an orphan", process.name);
            let misused = process.server.as_ref().map(|server| server.executor().misused.as_slice());
            assert_eq!(misused.unwrap_or_default(), [""; 0], "{context}");
        }
    }
}
