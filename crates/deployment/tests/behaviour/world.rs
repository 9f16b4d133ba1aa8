//! Processes that are not real, with lines that are lost, doubled and late, in virtual time.
use std::collections::BTreeMap;
use std::sync::Arc;

use deployment::{
    Action, Answer, ComponentServer, Incarnation, Input, Instruction, Outcome, Part, Phase, Request,
    Supervisor, Target, line, read,
};
use testkit::random::Random;

use crate::executor::Model;
use crate::order::Judge;
use crate::plans::{is_foreign, types};

pub(crate) const MILLISECOND: u64 = 1_000_000_000;

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
    /// A process never answers again.
    pub(crate) hang: u32,
}

struct Process {
    /// None of a foreign program.
    server: Option<ComponentServer<Model>>,
    name: String,
    hangs: bool,
}

enum Event {
    ToChild(Incarnation, String),
    ToSupervisor(Incarnation, String),
    /// The connection to a process is at its end, on the process' side.
    Cut(Incarnation),
    /// A foreign program falls.
    Falls(Incarnation),
    Ended(Incarnation, String),
}

pub(crate) struct World {
    pub(crate) supervisor: Supervisor,
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
    /// The last phase whose end the change of a request has come to.
    pub(crate) reached: BTreeMap<u64, Phase>,
    pub(crate) told: Vec<String>,
    /// Lines and ends of processes so far: a test that lets a process crash at each of them in turn has tried all.
    pub(crate) lines: u64,
    /// At this line the process that it concerns is killed.
    pub(crate) crash_at: Option<u64>,
    made: u64,
    pub(crate) order: Judge,
    /// The processes that were started, in this order.
    pub(crate) started: Vec<String>,
}

impl World {
    pub(crate) fn new(seed: u64, deployment: &str) -> Self {
        Self::on_host(None, seed, deployment)
    }

    /// A world whose supervisor is of this host of its plans.
    pub(crate) fn on_host(host: Option<&str>, seed: u64, deployment: &str) -> Self {
        let host = host.map(str::to_owned);
        Self {
            supervisor: Supervisor::new(deployment.to_owned(), host, 1_000 * MILLISECOND),
            now: 0,
            faults: Faults::default(),
            random: Random::new(seed),
            events: BTreeMap::new(),
            next_event: 0,
            processes: BTreeMap::new(),
            last: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            reached: BTreeMap::new(),
            told: Vec::new(),
            lines: 0,
            crash_at: None,
            made: 0,
            order: Judge::default(),
            started: Vec::new(),
        }
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
        self.supervisor.handle(self.now, Input::Request(number, request));
        self.act();
    }

    /// Others say how far a change may go, or what becomes of it.
    pub(crate) fn input(&mut self, input: Input) {
        self.supervisor.handle(self.now, input);
        self.act();
    }

    fn act(&mut self) {
        while let Some(action) = self.supervisor.poll() {
            match action {
                Action::Start { incarnation, process, target } => {
                    self.order.starts(incarnation, &process, &target.plan);
                    self.started.push(process.clone());
                    if self.chance(self.faults.unstartable) {
                        self.at(self.now, Event::Ended(incarnation, "there is no such file".to_owned()));
                        continue;
                    }
                    if is_foreign(&target.plan, &process) {
                        self.start_foreign(incarnation, process);
                        continue;
                    }
                    self.made += 1_000;
                    let mut model = Model::new(types(), self.made);
                    model.fails_in = self.chance(self.faults.fail).then(|| self.random.below(20) as u32);
                    model.refuses = self.chance(self.faults.fail / 4);
                    let server = ComponentServer::new(model);
                    let hangs = self.chance(self.faults.hang);
                    self.processes
                        .insert(incarnation, Process { server: Some(server), name: process, hangs });
                    let hello = Answer::Hello { protocol: 1, build: String::new() };
                    self.supervisor.handle(self.now, Input::Started(incarnation, 7));
                    self.send(incarnation, false, line(&hello).unwrap());
                }
                Action::Send(incarnation, instruction) => {
                    self.order.told(incarnation, &instruction);
                    self.send(incarnation, true, line(&instruction).unwrap());
                }
                Action::Kill(incarnation, _) => self.end(incarnation, "killed by the supervisor"),
                Action::Finished(number, outcome) => {
                    if !matches!(outcome, Outcome::Status(_)) {
                        self.order.changed(&self.supervisor.current().plan);
                    }
                    assert!(self.outcomes.insert(number, outcome).is_none(), "request {number} ends twice");
                }
                Action::Reached(number, phase) => {
                    let before = self.reached.insert(number, phase);
                    assert!(before < Some(phase), "request {number} reaches {phase:?} twice");
                }
                Action::Tell(text) => self.told.push(text),
            }
        }
    }

    /// A program that is no component server, and says nothing.
    fn start_foreign(&mut self, of: Incarnation, name: String) {
        let hangs = self.chance(self.faults.hang);
        self.processes.insert(of, Process { server: None, name, hangs });
        if self.chance(10 * self.faults.crash) {
            let delay = self.random.below_u64(30 * MILLISECOND);
            self.at(self.now + delay, Event::Falls(of));
        }
        self.order.is_there(of);
        self.supervisor.handle(self.now, Input::Started(of, 7));
    }

    /// A process is gone; the supervisor comes to know.
    pub(crate) fn end(&mut self, of: Incarnation, how: &str) {
        if self.processes.remove(&of).is_some() {
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
        match event {
            Event::ToChild(of, text) => {
                if self.processes.contains_key(&of) && self.crashes() {
                    return self.end(of, "killed by signal 9");
                }
                let Some(process) = self.processes.get_mut(&of).filter(|process| !process.hangs) else {
                    return;
                };
                let instruction: Instruction = read(&text).unwrap();
                let Some(server) = &mut process.server else {
                    assert_eq!(instruction, Instruction::Stop, "a foreign program understands nothing else");
                    return self.end(of, "killed by signal 15");
                };
                let answers = server.handle(instruction);
                let is_stopped = server.is_stopped();
                for answer in answers {
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
            Event::Falls(of) => self.end(of, "killed by signal 11"),
            Event::Ended(of, how) => {
                self.order.ended(of);
                self.supervisor.handle(self.now, Input::Ended(of, true, how));
                self.act();
            }
        }
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
