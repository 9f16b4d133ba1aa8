//! The execution manager: leads the hosts of deployments, by what it keeps.
//!
//! What is in its store has been decided. A manager that begins reads it, hears from the hosts what they have, and orders what differs; a change
//! that its predecessor had not decided does not come about.
mod change;
mod status;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::mem;

use serde::{Deserialize, Serialize};

use crate::commands::{Answer, Command};
use crate::content::Content;
use crate::messages::{Bundle, Epoch, Heard, ManagerWord, NodeWord, Order, Orders, Report, State};
use change::{Asked, Change, Phase};
use status::Inquiry;

/// Times of an execution manager, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// Between two orders to a host, which say the same if there is nothing new.
    pub beat: u64,
    /// Without a report, before a host counts as away.
    pub silence: u64,
    /// For all hosts to come to the end of a stage.
    pub stage: u64,
    /// For hosts to follow what is decided, before a command is answered all the same.
    pub follow: u64,
}

/// What the store keeps of a deployment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Record {
    /// The epoch that holds.
    pub epoch: Epoch,
    /// Its plan.
    pub bundle: Bundle,
    /// It is to end. The record goes when no host has anything of it.
    pub is_ending: bool,
}

/// An event that the manager is told.
#[derive(Clone, PartialEq, Debug)]
pub enum ManagerInput {
    /// A command; its number comes back with the answer.
    Command(u64, Command),
    /// The node manager of a host said something.
    Word(String, NodeWord),
    /// The connection to a host has ended.
    Lost(String),
    /// What was to be kept is in the store, and stays there.
    Kept(u64),
}

/// An action that the shell of the manager has to carry out.
#[derive(Clone, PartialEq, Debug)]
pub enum ManagerAction {
    /// The node manager of a host is told something.
    Send(String, ManagerWord),
    /// A command is answered.
    Answer(u64, Answer),
    /// The store keeps a record in place of the former one of the deployment, or forgets it. Until [`ManagerInput::Kept`] comes with this number
    /// it may be there or not; what cannot be written is written again.
    Keep {
        /// The number.
        number: u64,
        /// The deployment.
        deployment: String,
        /// What is kept.
        record: Option<Record>,
    },
    /// Something of interest, for a log.
    Tell(String),
}

/// A deployment that is kept.
#[derive(Debug)]
struct Deployment {
    epoch: Epoch,
    content: Content,
    is_ending: bool,
}

/// A host whose node manager is known.
#[derive(Debug, Default)]
struct Host {
    report: Report,
    /// When it reported last; `None` while it is away.
    at: Option<u64>,
    /// The last orders, and when they were sent.
    orders: Vec<Order>,
    number: u64,
    sent: u64,
    /// Plans that were sent, and when.
    plans: BTreeMap<(String, Epoch), u64>,
}

impl Host {
    fn state(&self, deployment: &str) -> Option<&State> {
        self.report.deployments.iter().find(|state| state.deployment == deployment)
    }
}

/// The execution manager. Times are picoseconds.
#[derive(Debug)]
pub struct ExecutionManager {
    /// Which start it is.
    start: u64,
    patience: Patience,
    deployments: BTreeMap<String, Deployment>,
    hosts: BTreeMap<String, Host>,
    changes: BTreeMap<String, Change>,
    /// Launches and changes whose hosts have not followed yet what was decided before.
    waiting: Vec<Asked>,
    /// Of each write that has not ended: the deployment.
    writes: BTreeMap<u64, String>,
    inquiries: Vec<Inquiry>,
    next_change: u64,
    next_number: u64,
    actions: Vec<ManagerAction>,
}

impl ExecutionManager {
    /// A manager with what its store has. `start` is greater than that of every manager before.
    ///
    /// # Errors
    /// A record that makes no sense, with its name.
    pub fn new(start: u64, records: Vec<(String, Record)>, patience: Patience) -> Result<Self, String> {
        let mut all = Self {
            start,
            patience,
            deployments: BTreeMap::new(),
            hosts: BTreeMap::new(),
            changes: BTreeMap::new(),
            waiting: Vec::new(),
            writes: BTreeMap::new(),
            inquiries: Vec::new(),
            next_change: 1,
            next_number: 1,
            actions: Vec::new(),
        };
        for (name, Record { epoch, bundle, is_ending }) in records {
            let content = Content::read(bundle).map_err(|what| format!("deployment {name}: {what}"))?;
            if is_ending {
                all.changes.insert(name.clone(), Change::ending(epoch, content.clone(), None, 0));
            }
            all.deployments.insert(name, Deployment { epoch, content, is_ending });
        }
        Ok(all)
    }

    /// The plans that are decided, but those that end, with the names of their deployments.
    pub fn deployments(&self) -> impl Iterator<Item = (&str, &Content)> {
        let all = self.deployments.iter().filter(|(_, it)| !it.is_ending);
        all.map(|(name, deployment)| (name.as_str(), &deployment.content))
    }

    /// Something happens.
    pub fn handle(&mut self, now: u64, input: ManagerInput) {
        match input {
            ManagerInput::Command(number, command) => self.command(now, number, command),
            ManagerInput::Word(host, NodeWord::Report(report)) => self.reported(now, &host, report),
            ManagerInput::Word(host, NodeWord::Told { number, status }) => self.told(&host, number, status),
            ManagerInput::Lost(host) => self.lost(now, &host, "the connection to it has ended"),
            ManagerInput::Kept(number) => self.kept(now, number),
        }
        self.go_on(now);
    }

    /// Time has passed.
    pub fn tick(&mut self, now: u64) {
        let silence = self.patience.silence;
        let is_silent = |host: &Host| host.at.is_some_and(|at| now.saturating_sub(at) > silence);
        let silent: Vec<String> =
            self.hosts.iter().filter(|(_, host)| is_silent(host)).map(|(name, _)| name.clone()).collect();
        for name in silent {
            self.lost(now, &name, "it is silent");
        }
        self.go_on(now);
    }

    /// When [`ExecutionManager::tick`] is to be called next.
    pub fn next_tick(&self) -> Option<u64> {
        let there = self.hosts.values().filter(|host| host.at.is_some());
        let beats = there.map(|host| host.sent.saturating_add(self.patience.beat));
        let changes = self.changes.values().filter_map(Change::deadline);
        let waiting = self.waiting.iter().map(|asked| asked.deadline);
        beats.chain(changes).chain(waiting).chain(self.inquiries.iter().map(|inquiry| inquiry.deadline)).min()
    }

    /// What is to be done, in this order.
    pub fn take_actions(&mut self) -> Vec<ManagerAction> {
        mem::take(&mut self.actions)
    }

    fn go_on(&mut self, now: u64) {
        self.advance(now);
        self.begin_waiting(now);
        self.answer_inquiries(now);
        self.order(now);
    }

    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    fn answer(&mut self, number: u64, answer: Answer) {
        self.actions.push(ManagerAction::Answer(number, answer));
    }

    fn refuse(&mut self, number: u64, what: impl Into<String>) {
        self.answer(number, Answer::Refused { what: what.into() });
    }

    fn tell(&mut self, text: String) {
        self.actions.push(ManagerAction::Tell(text));
    }

    fn command(&mut self, now: u64, number: u64, command: Command) {
        match command {
            Command::Launch(bundle) => self.asked(now, number, bundle, true),
            Command::Apply(bundle) => self.asked(now, number, bundle, false),
            Command::Stop { deployment } => self.stop(now, number, &deployment),
            Command::Status { deployment } => self.inquire(now, number, deployment),
            Command::Read { deployment } => match self.deployments.get(&deployment) {
                Some(Deployment { epoch, content, .. }) => {
                    let (epoch, bundle) = (*epoch, content.bundle.clone());
                    self.answer(number, Answer::Plan { epoch, bundle });
                }
                None => self.refuse(number, not_there(&deployment)),
            },
        }
    }

    fn asked(&mut self, now: u64, request: u64, bundle: Bundle, is_launch: bool) {
        let deadline = now.saturating_add(self.patience.follow);
        match Content::read(bundle) {
            Ok(content) => self.begin(now, Asked { request, content, is_launch, deadline }),
            Err(what) => self.refuse(request, what),
        }
    }

    fn reported(&mut self, now: u64, name: &str, report: Report) {
        if report.host != name {
            let what = format!(
                "its key is that of host {name}, and it says that it is {}: give it the key of its own",
                report.host.escape_debug()
            );
            self.actions.push(ManagerAction::Send(name.to_string(), ManagerWord::Refused { what }));
            return;
        }
        let is_new = !self.hosts.contains_key(name);
        let host = self.hosts.entry(name.to_string()).or_default();
        let (before, of) =
            ((host.report.incarnation, host.report.number), (report.incarnation, report.number));
        if of <= before {
            if report.incarnation < before.0 {
                let what = "a node manager of this host that began later is known: end the other one, or set the clock";
                let word = ManagerWord::Refused { what: what.to_string() };
                self.actions.push(ManagerAction::Send(name.to_string(), word));
            }
            return;
        }
        let begins_anew = is_new || report.incarnation != host.report.incarnation;
        let was_away = host.at.replace(now).is_none();
        if begins_anew {
            (host.orders, host.plans) = (Vec::new(), BTreeMap::new());
            // Orders for this start have not been sent yet.
            host.number += 1;
            host.sent = 0;
        }
        host.report = report;
        if was_away {
            self.tell(format!("host {name} is there"));
        }
        if begins_anew {
            self.fell(now, name, "its node manager has begun anew");
        }
        self.send_plans(now, name);
    }

    fn lost(&mut self, now: u64, name: &str, why: &str) {
        let Some(host) = self.hosts.get_mut(name) else { return };
        if host.at.take().is_some() {
            self.tell(format!("host {name} is away: {why}"));
            self.fell(now, name, why);
        }
    }

    /// Sends plans that a host lacks, each not more often than a host may be silent.
    fn send_plans(&mut self, now: u64, name: &str) {
        let Some(host) = self.hosts.get_mut(name) else { return };
        for (deployment, epoch) in &host.report.lacks {
            let of_change = self.changes.get(deployment).filter(|change| change.epoch == *epoch);
            let of_record = self.deployments.get(deployment).filter(|it| it.epoch == *epoch);
            let content = of_change.map(|it| &it.content).or(of_record.map(|it| &it.content));
            let sent = host.plans.get(&(deployment.clone(), *epoch));
            let is_due = sent.is_none_or(|sent| now.saturating_sub(*sent) >= 4 * self.patience.beat);
            if let Some(content) = content.filter(|_| is_due) {
                host.plans.insert((deployment.clone(), *epoch), now);
                let (deployment, epoch, bundle) = (deployment.clone(), *epoch, content.bundle.clone());
                let word = ManagerWord::Plan { deployment, epoch, bundle };
                self.actions.push(ManagerAction::Send(name.to_string(), word));
            }
        }
        let lacks = &host.report.lacks;
        host.plans.retain(|wanted, _| lacks.contains(wanted));
    }

    /// What a host is to have.
    fn orders_for(&self, host: &str) -> Vec<Order> {
        let mut all: BTreeMap<&String, Order> = BTreeMap::new();
        for (name, it) in self.deployments.iter().filter(|(_, it)| !it.is_ending) {
            if it.content.hosts.contains(host) {
                all.entry(name).or_default().holds = Some(it.epoch);
            }
        }
        for (name, change) in &self.changes {
            if let Some(until) = change.until().filter(|_| change.participants.contains_key(host)) {
                all.entry(name).or_default().change = Some(change.step(until));
            }
        }
        let named = |(name, order): (&String, Order)| Order { deployment: name.clone(), ..order };
        all.into_iter().map(named).collect()
    }

    /// Tells all hosts what is new, and what they have not heard; those that have heard all are told again that the manager is there.
    fn order(&mut self, now: u64) {
        let names: Vec<String> = self.hosts.keys().cloned().collect();
        for name in names {
            let orders = self.orders_for(&name);
            let Some(host) = self.hosts.get_mut(&name).filter(|host| host.at.is_some()) else { continue };
            let is_first = host.sent == 0;
            let is_new = is_first || orders != host.orders;
            if !is_new && now < host.sent.saturating_add(self.patience.beat) {
                continue;
            }
            if is_new {
                host.orders.clone_from(&orders);
                host.number += 1;
            }
            host.sent = now.max(1);
            let (manager, number, incarnation) = (self.start, host.number, host.report.incarnation);
            let orders = Orders { manager, number, incarnation, deployments: orders };
            self.actions.push(ManagerAction::Send(name, ManagerWord::Orders(orders)));
        }
    }

    /// Whether a host has said what it has, after it heard what it is to have now.
    fn has_heard(&self, name: &str) -> bool {
        let orders = self.orders_for(name);
        let heard = |host: &Host| {
            let last = Heard { manager: self.start, number: host.number };
            host.sent != 0 && host.orders == orders && host.report.heard == last
        };
        self.hosts.get(name).is_some_and(|host| host.at.is_some() && heard(host))
    }

    fn keep(&mut self, deployment: &str, record: Option<Record>) {
        let number = self.number();
        self.writes.insert(number, deployment.to_string());
        self.actions.push(ManagerAction::Keep { number, deployment: deployment.to_string(), record });
    }

    /// Something is in the store: it is decided.
    fn kept(&mut self, now: u64, number: u64) {
        let Some(deployment) = self.writes.remove(&number) else { return };
        let Some(change) = self.changes.get_mut(&deployment) else { return };
        let follow = now.saturating_add(self.patience.follow);
        match change.phase {
            Phase::Keeping => {
                change.phase = Phase::Following;
                change.deadline = follow;
                let (epoch, content) = (change.epoch, change.content.clone());
                self.deployments.insert(deployment.clone(), Deployment { epoch, content, is_ending: false });
                self.tell(format!("deployment {deployment} {epoch} is decided"));
            }
            Phase::KeepingEnd => {
                change.phase = Phase::Ending;
                change.deadline = follow;
                if let Some(it) = self.deployments.get_mut(&deployment) {
                    it.is_ending = true;
                }
                self.tell(format!("deployment {deployment} ends"));
            }
            Phase::Forgetting => {
                let request = change.request;
                self.changes.remove(&deployment);
                self.deployments.remove(&deployment);
                self.tell(format!("deployment {deployment} has ended"));
                if let Some(request) = request {
                    self.answer(request, Answer::Done { notes: Vec::new() });
                }
            }
            Phase::Open { .. } | Phase::Following | Phase::Abandoning | Phase::Ending => {}
        }
    }
}

fn not_there(deployment: &str) -> String {
    format!("deployment {deployment} does not run: punctual deploy launch starts it")
}
