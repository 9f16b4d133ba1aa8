//! A manager with its store, and hosts, in virtual time: words are lost, doubled and late, and everything crashes.
use std::collections::BTreeMap;

use deployment::{line, read};
use execution::{
    Answer, Bundle, Command, ExecutionManager, ManagerAction, ManagerInput, ManagerWord, NodeAction,
    NodeInput, NodeManager, NodePatience, NodeWord, Patience, Record,
};
use testkit::random::Random;

use crate::host::{Host, Later, mark};
use crate::judge::{Judge, Made};

pub(crate) const MILLISECOND: u64 = 1_000_000_000;
pub(crate) const SECOND: u64 = 1_000 * MILLISECOND;
pub(crate) const HOSTS: [&str; 3] = ["h0", "h1", "h2"];
/// What each host has.
pub(crate) const MEMORY: u64 = 100;

const PATIENCE: Patience =
    Patience { beat: 250 * MILLISECOND, silence: 3 * SECOND, stage: 10 * SECOND, follow: 5 * SECOND };
const NODE_PATIENCE: NodePatience =
    NodePatience { beat: 250 * MILLISECOND, silence: 5 * SECOND, again: 2 * SECOND };

/// What goes wrong, in thousandths of what could.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Faults {
    pub(crate) lost: u64,
    pub(crate) double: u64,
    pub(crate) late: u64,
    /// When a word comes, the manager or the node manager crashes.
    pub(crate) manager_crash: u64,
    pub(crate) node_crash: u64,
    /// A supervisor cannot do something.
    pub(crate) fail: u64,
    /// A host is cut off for some time.
    pub(crate) cut: u64,
    /// Each of some words that were sent to a node manager before comes again when the next one begins.
    pub(crate) stale: u64,
}

enum Event {
    ToManager(String, NodeWord),
    ToNode(String, ManagerWord),
    Later { host: String, start: u64, deployment: String, turn: u64, later: Later },
    NodeBegins(String),
    ManagerBegins,
    Written(u64),
}

struct Node {
    machine: NodeManager,
    start: u64,
}

/// A write that is not in the store for good.
struct Write {
    number: u64,
    deployment: String,
    record: Option<Record>,
}

pub(crate) struct World {
    pub(crate) now: u64,
    pub(crate) random: Random,
    pub(crate) faults: Faults,
    pub(crate) judge: Judge,
    pub(crate) manager: Option<ExecutionManager>,
    nodes: BTreeMap<String, Node>,
    /// The processes of each host, whether its node manager is there or not.
    pub(crate) hosts: BTreeMap<String, Host>,
    /// Words that were sent to each host.
    sent: BTreeMap<String, Vec<ManagerWord>>,
    events: BTreeMap<(u64, u64), Event>,
    next_event: u64,
    starts: u64,
    store: BTreeMap<String, Record>,
    writes: Vec<Write>,
    cut: BTreeMap<String, u64>,
    /// Commands that wait, with the file or deployment that they are about.
    asked: BTreeMap<u64, (Command, String)>,
    pub(crate) answers: BTreeMap<u64, Answer>,
    next_number: u64,
    /// Messages that came so far: tests let a manager crash at each of them in turn.
    pub(crate) words: u64,
    pub(crate) manager_crash_at: Option<u64>,
    pub(crate) node_crash_at: Option<(u64, String)>,
    pub(crate) crashes: u64,
    pub(crate) failures: u64,
    pub(crate) context: String,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let judge = Judge { capacity: MEMORY, ..Judge::default() };
        let mut world = Self {
            now: 0,
            random: Random::new(seed),
            faults: Faults::default(),
            judge,
            manager: None,
            nodes: BTreeMap::new(),
            hosts: HOSTS.map(|host| (host.to_owned(), Host::new(host))).into(),
            sent: BTreeMap::new(),
            events: BTreeMap::new(),
            next_event: 0,
            starts: 0,
            store: BTreeMap::new(),
            writes: Vec::new(),
            cut: BTreeMap::new(),
            asked: BTreeMap::new(),
            answers: BTreeMap::new(),
            next_number: 0,
            words: 0,
            manager_crash_at: None,
            node_crash_at: None,
            crashes: 0,
            failures: 0,
            context: format!("seed {seed}"),
        };
        world.at(0, Event::ManagerBegins);
        HOSTS.iter().for_each(|host| world.at(0, Event::NodeBegins((*host).to_owned())));
        world
    }

    fn at(&mut self, time: u64, event: Event) {
        self.next_event += 1;
        self.events.insert((time, self.next_event), event);
    }

    fn chance(&mut self, thousandths: u64) -> bool {
        thousandths > 0 && self.random.below_u64(1_000) < thousandths
    }

    /// A plan that is not like any other one.
    pub(crate) fn plan(&mut self, deployment: &str, hosts: &[(&str, u64)]) -> Bundle {
        let file = format!("{deployment}-{}.toml", self.judge.made.len());
        let mut plan = format!("id = \"{deployment}\"\n");
        let rounds = self.random.below(4) as u32;
        for number in 0..4 {
            plan += &format!(
                "[component.c{number}]\ntype = \"T\"\nprocess = \"p{}-{}\"\n",
                self.judge.made.len(),
                hosts[0].0
            );
        }
        for (host, memory) in hosts {
            let process = format!("p{}-{host}", self.judge.made.len());
            plan += &format!(
                "[host.{host}]\nresources.memory = {MEMORY}\n[process.{process}]\nhost = \"{host}\"\nrequires.memory = {memory}\n\
                 [component.of-{host}]\ntype = \"T\"\nprocess = \"{process}\"\n"
            );
            // What the host publishes in each round.
            for round in 0..3 {
                plan += &format!("[connection.{host}-{round}]\nfrom = \"of-{host}.out\"\nto = [\"c0.in\"]\n");
            }
        }
        let hosts = hosts.iter().map(|(host, memory)| ((*host).to_owned(), *memory)).collect();
        self.judge.made.insert(file.clone(), Made { deployment: deployment.to_owned(), hosts, rounds });
        Bundle { file, plan, ..Bundle::default() }
    }

    /// A command; its number. `None` if there is no manager that hears it.
    pub(crate) fn ask(&mut self, command: Command) -> Option<u64> {
        let about = match &command {
            Command::Launch(bundle) | Command::Apply(bundle) => bundle.file.clone(),
            Command::Stop { deployment } | Command::Read { deployment } => deployment.clone(),
            Command::Status { deployment } => deployment.clone().unwrap_or_default(),
        };
        self.manager.as_ref()?;
        self.next_number += 1;
        let number = self.next_number;
        self.asked.insert(number, (command.clone(), about));
        self.tell_manager(ManagerInput::Command(number, command));
        Some(number)
    }

    fn tell_manager(&mut self, input: ManagerInput) {
        if let Some(manager) = &mut self.manager {
            manager.handle(self.now, input);
            self.manager_acts();
        }
    }

    fn manager_acts(&mut self) {
        let Some(manager) = &mut self.manager else { return };
        for action in manager.take_actions() {
            match action {
                ManagerAction::Send(host, word) => self.send(&host.clone(), Event::ToNode(host, word)),
                ManagerAction::Answer(number, answer) => self.answered(number, answer),
                ManagerAction::Keep { number, deployment, record } => {
                    self.writes.push(Write { number, deployment, record });
                    let time = self.now + self.random.below_u64(300 * MILLISECOND);
                    self.at(time, Event::Written(number));
                }
                ManagerAction::Tell(_) => {}
            }
        }
    }

    fn answered(&mut self, number: u64, answer: Answer) {
        let (command, about) = self.asked.remove(&number).expect("a command is answered twice");
        let holds = |deployment: &str| self.judge.holds(deployment).cloned();
        let context = &self.context;
        match (&command, &answer) {
            (Command::Launch(_) | Command::Apply(_), Answer::Done { .. }) => {
                let deployment = &self.judge.made[&about].deployment;
                assert_eq!(holds(deployment), Some(about), "{context}: done, and something else is stored");
            }
            (Command::Launch(_) | Command::Apply(_), Answer::Refused { .. }) => {
                let deployment = &self.judge.made[&about].deployment;
                assert_ne!(holds(deployment), Some(about), "{context}: refused, and it is stored");
            }
            (Command::Stop { .. }, Answer::Done { .. }) => {
                assert_eq!(holds(&about), None, "{context}: stopped, and it is stored");
            }
            _ => {}
        }
        self.answers.insert(number, answer);
    }

    /// A write is in the store for good.
    fn store(&mut self, Write { deployment, record, .. }: Write) {
        match record {
            Some(record) => {
                let stored = (record.bundle.file.clone(), mark(record.epoch), record.is_ending);
                self.judge.stored.insert(deployment.clone(), stored);
                self.store.insert(deployment, record);
            }
            None => {
                self.judge.stored.remove(&deployment);
                self.store.remove(&deployment);
            }
        }
    }

    /// Sends a word, as far as the network is good.
    fn send(&mut self, host: &str, event: Event) {
        if let Event::ToNode(_, word) = &event {
            self.sent.entry(host.to_owned()).or_default().push(word.clone());
        }
        let until = self.cut.get(host).copied().unwrap_or_default();
        if until > self.now || self.chance(self.faults.lost) {
            return;
        }
        if self.chance(self.faults.cut) {
            let until = self.now + self.random.below_u64(8 * SECOND);
            self.cut.insert(host.to_owned(), until);
        }
        let mut times = 1 + u64::from(self.chance(self.faults.double));
        while times > 0 {
            times -= 1;
            let most = if self.chance(self.faults.late) { 6 * SECOND } else { 20 * MILLISECOND };
            let time = self.now + 1 + self.random.below_u64(most);
            let copy = match &event {
                Event::ToManager(host, word) => Event::ToManager(host.clone(), word.clone()),
                Event::ToNode(host, word) => Event::ToNode(host.clone(), word.clone()),
                _ => return,
            };
            self.at(time, copy);
        }
    }

    pub(crate) fn crash_manager(&mut self) {
        if self.manager.take().is_none() {
            return;
        }
        self.crashes += 1;
        self.asked.clear();
        // Of what was not written for good, some is there, and what came after it is not.
        let writes = std::mem::take(&mut self.writes);
        let kept = self.random.below(writes.len() + 1);
        writes.into_iter().take(kept).for_each(|write| self.store(write));
        let time = self.now + self.random.below_u64(4 * SECOND);
        self.at(time, Event::ManagerBegins);
    }

    /// The node manager of a host is gone at once, its processes go on, and the next one adopts them.
    pub(crate) fn crash_node(&mut self, host: &str) {
        if self.nodes.remove(host).is_some() {
            self.crashes += 1;
            let time = self.now + self.random.below_u64(5 * SECOND);
            self.at(time, Event::NodeBegins(host.to_owned()));
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::ManagerBegins => {
                self.starts += 1;
                let records =
                    self.store.iter().map(|(name, record)| (name.clone(), record.clone())).collect();
                self.manager = Some(ExecutionManager::new(self.starts, records, PATIENCE).unwrap());
            }
            Event::NodeBegins(host) => {
                self.starts += 1;
                let start = self.starts;
                let mut machine = NodeManager::new(host.clone(), start, NODE_PATIENCE);
                let left = self.hosts.get_mut(&host).unwrap().left(&mut self.random);
                for (deployment, runs, adopted, ..) in &left {
                    machine.adopt(deployment.clone(), *runs, *adopted);
                }
                machine.connected(self.now);
                self.nodes.insert(host.clone(), Node { machine, start });
                for (deployment, _, _, turn, later) in left {
                    later.into_iter().for_each(|later| self.later(&host, deployment.clone(), turn, later));
                }
                self.again(&host);
                self.node_acts(&host);
            }
            Event::Written(number) => {
                // What was written first is there first.
                while self.writes.first().is_some_and(|write| write.number <= number) {
                    let write = self.writes.remove(0);
                    let number = write.number;
                    self.store(write);
                    self.tell_manager(ManagerInput::Kept(number));
                }
            }
            Event::ToManager(host, word) => {
                self.words += 1;
                if self.manager_crash_at == Some(self.words) || self.chance(self.faults.manager_crash) {
                    return self.crash_manager();
                }
                let word = self.through_codec(word);
                self.tell_manager(ManagerInput::Word(host, word));
            }
            Event::ToNode(host, word) => {
                self.words += 1;
                let crashes = self.node_crash_at.as_ref().is_some_and(|(at, _)| *at == self.words);
                if crashes || self.chance(self.faults.node_crash) {
                    let chosen = self.node_crash_at.take().filter(|_| crashes).map(|(_, host)| host);
                    return self.crash_node(&chosen.unwrap_or(host));
                }
                let word = self.through_codec(word);
                if let Some(node) = self.nodes.get_mut(&host) {
                    node.machine.handle(self.now, NodeInput::Word(word));
                    self.node_acts(&host);
                }
            }
            Event::Later { host, start, deployment, turn, later } => {
                let Some(node) = self.nodes.get_mut(&host).filter(|node| node.start == start) else { return };
                let processes = self.hosts.get_mut(&host).unwrap();
                let happened = processes.happen(deployment.clone(), turn, later, &mut self.judge);
                let Some((input, next)) = happened else { return };
                node.machine.handle(self.now, input);
                if let Some(later) = next {
                    self.later(&host, deployment, turn, later);
                }
                self.node_acts(&host);
            }
        }
    }

    /// What is told is read as the same; that is tried with some.
    fn through_codec<T>(&mut self, word: T) -> T
    where
        T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
    {
        if self.random.one_in(64) {
            let again: T = read(&line(&word).unwrap()).unwrap();
            assert_eq!(again, word);
        }
        word
    }

    /// Words for the node manager before come to the next one.
    fn again(&mut self, host: &str) {
        for _ in 0..4 {
            let word = self.random.pick(self.sent.get(host).map(Vec::as_slice).unwrap_or_default()).cloned();
            if let Some(word) = word.filter(|_| self.chance(self.faults.stale)) {
                let time = self.now + 1 + self.random.below_u64(5 * MILLISECOND);
                self.at(time, Event::ToNode(host.to_owned(), word));
            }
        }
    }

    fn later(&mut self, host: &str, deployment: String, turn: u64, later: Later) {
        let time = self.now + 1 + self.random.below_u64(200 * MILLISECOND);
        let start = self.nodes[host].start;
        self.at(time, Event::Later { host: host.to_owned(), start, deployment, turn, later });
    }

    fn node_acts(&mut self, host: &str) {
        while let Some(node) = self.nodes.get_mut(host) {
            let actions = node.machine.take_actions();
            if actions.is_empty() {
                return;
            }
            for action in actions {
                if let NodeAction::Send(word) = action {
                    self.send(host, Event::ToManager(host.to_owned(), word));
                    continue;
                }
                let fails = self.chance(self.faults.fail);
                self.failures += u64::from(fails);
                let Some(node) = self.nodes.get_mut(host) else { return };
                match self.hosts.get_mut(host).unwrap().act(action, fails, &mut self.judge) {
                    Ok((deployment, turn, later)) => self.later(host, deployment, turn, later),
                    Err(Some(input)) => node.machine.handle(self.now, *input),
                    Err(None) => {}
                }
            }
        }
    }

    /// Lets the world go on for so long; between any two events what always holds is looked at.
    pub(crate) fn run(&mut self, time: u64) {
        let end = self.now + time;
        loop {
            let event = self.events.keys().next().copied();
            let of_nodes = self.nodes.values().map(|node| node.machine.next_tick());
            let of_manager = self.manager.as_ref().and_then(ExecutionManager::next_tick);
            let next = event.map(|(time, _)| time).into_iter().chain(of_nodes).chain(of_manager).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            if let Some(key) = event.filter(|(time, _)| *time <= self.now) {
                let event = self.events.remove(&key).unwrap();
                self.happen(event);
            } else {
                self.tick();
            }
            self.judge.always(&self.context);
        }
        self.now = end;
    }

    fn tick(&mut self) {
        if let Some(manager) = &mut self.manager
            && manager.next_tick().is_some_and(|at| at <= self.now)
        {
            manager.tick(self.now);
            self.manager_acts();
        }
        let due = self.nodes.iter().filter(|(_, node)| node.machine.next_tick() <= self.now);
        for host in due.map(|(host, _)| host.clone()).collect::<Vec<_>>() {
            let node = self.nodes.get_mut(&host).unwrap();
            node.machine.tick(self.now);
            self.node_acts(&host);
        }
    }

    /// A host is cut off from now on until this time.
    pub(crate) fn cut_off(&mut self, host: &str, until: u64) {
        self.cut.insert(host.to_owned(), until);
        if self.manager.is_some() {
            self.tell_manager(ManagerInput::Lost(host.to_owned()));
        }
    }

    /// Nothing fails any more.
    pub(crate) fn mend(&mut self) {
        self.faults = Faults::default();
        self.cut.clear();
        (self.manager_crash_at, self.node_crash_at) = (None, None);
    }

    /// Runs until a command is answered, or its manager has crashed.
    pub(crate) fn until_answered(&mut self, number: u64) -> Option<Answer> {
        for _ in 0..2_000 {
            if let Some(answer) = self.answers.get(&number) {
                return Some(answer.clone());
            }
            if !self.asked.contains_key(&number) {
                return None;
            }
            self.run(50 * MILLISECOND);
        }
        panic!("{}: command {number} is never answered: {:?}", self.context, self.manager);
    }

    /// Which processes work on a host, as the judge saw it last.
    pub(crate) fn launch_of(&self, host: &str, deployment: &str) -> Option<u64> {
        let had = self.judge.had.get(&(host.to_owned(), deployment.to_owned()))?;
        had.works.as_ref().map(|_| had.launch)
    }
}
