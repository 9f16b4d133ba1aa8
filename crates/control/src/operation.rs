//! Operations: steps one after the other, each of tasks at the same time, confirmed before the next, undone after a
//! failure.
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use gate::protocol::ContractState;
use openflow::flow::FlowCommand;
use wire::admission::State;

use crate::action::{Action, Done, GateChange, Pair, StoreChange, SwitchContent, Token};
use crate::resource_manager::ResourceManager;
use crate::state::{Kind, Phase, Scarce, Site, Step, Task, Timer};

/// The most changes in one installation.
const CHUNK: usize = 512;

/// An operation under way.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) kind: Kind,
    /// What is to be done yet.
    steps: VecDeque<Step>,
    /// What undoes what has been done or begun, the last first.
    undo: Vec<Vec<Task>>,
    /// What is under way.
    waiting: BTreeMap<Token, Task>,
    /// Why it has failed.
    failed: Option<String>,
    /// What had no room, and of what.
    full: BTreeSet<Scarce>,
    undoing: bool,
    /// How many steps have come that keep what was done before.
    kept: usize,
    /// Sites that have missed something sure.
    missed: BTreeSet<Site>,
    /// What a switch was read to have.
    content: Option<SwitchContent>,
    /// What gates were read to have.
    contracts: Option<Vec<ContractState>>,
}

impl Operation {
    fn new(kind: Kind, steps: Vec<Step>) -> Self {
        Self {
            kind,
            steps: steps.into(),
            undo: Vec::new(),
            waiting: BTreeMap::new(),
            failed: None,
            full: BTreeSet::new(),
            undoing: false,
            kept: 0,
            missed: BTreeSet::new(),
            content: None,
            contracts: None,
        }
    }
}

/// How an operation has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) kind: Kind,
    pub(crate) failed: Option<String>,
    /// What had no room, if that was why.
    pub(crate) full: BTreeSet<Scarce>,
    pub(crate) missed: BTreeSet<Site>,
    /// How many steps have come that keep what was done before.
    pub(crate) kept: usize,
}

/// Changes of a switch as steps of bearable size. Flows of another table or priority than those before are another step: in one a switch may
/// add them in any order, and frames would pass by what is for all others while what is for them is not there.
pub(crate) fn installs(switch: usize, messages: &[openflow::Message], sure: bool) -> Vec<Step> {
    let rank = |message: &openflow::Message| match message {
        openflow::Message::FlowMod(flow) if flow.command == FlowCommand::Add => {
            Some((flow.table, flow.priority))
        }
        _ => None,
    };
    let chunk = |messages: &[openflow::Message]| {
        Step::of(alloc::vec![Task::Install { switch, messages: messages.to_vec(), sure }])
    };
    let alike = |one: &openflow::Message, other: &openflow::Message| match (rank(one), rank(other)) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    };
    messages.chunk_by(alike).flat_map(|part| part.chunks(CHUNK)).map(chunk).collect()
}

impl ResourceManager {
    pub(crate) fn start(&mut self, now: Duration, kind: Kind, steps: Vec<Step>) {
        let number = self.next_operation;
        self.next_operation += 1;
        self.operations.insert(number, Operation::new(kind, steps));
        self.advance(now, number);
    }

    /// Goes on as far as nothing has to be waited for.
    fn advance(&mut self, now: Duration, number: u64) {
        loop {
            let Some(operation) = self.operations.get_mut(&number) else { return };
            if !operation.waiting.is_empty() {
                return;
            }
            // What follows in an admission rests on what is sure, too.
            if let (Kind::Admit { .. }, Some(site)) = (&operation.kind, operation.missed.first().copied())
                && !operation.undoing
            {
                let reason = format!("{} is away", self.site_name(site));
                if let Some(operation) = self.operations.get_mut(&number) {
                    operation.failed.get_or_insert(reason);
                }
            }
            let Some(operation) = self.operations.get_mut(&number) else { return };
            if operation.failed.is_some() && !operation.undoing {
                operation.undoing = true;
                let undo = core::mem::take(&mut operation.undo).into_iter().rev();
                operation.steps = undo.map(Step::of).collect();
            }
            let Some(step) = operation.steps.pop_front() else {
                if self.go_on(now, number) {
                    continue;
                }
                let Some(operation) = self.operations.remove(&number) else { return };
                let Operation { kind, failed, full, missed, kept, .. } = operation;
                self.ended(now, Ended { kind, failed, full, missed, kept });
                return;
            };
            if step.keeps {
                operation.undo.clear();
                operation.kept += 1;
            }
            if !step.undo.is_empty() {
                operation.undo.push(step.undo);
            }
            for task in step.tasks {
                self.begin(now, number, task);
            }
        }
    }

    /// Steps that could not be known before: what a switch that has been read needs. True if there are any.
    fn go_on(&mut self, now: Duration, number: u64) -> bool {
        let Some(operation) = self.operations.get_mut(&number) else { return false };
        if let Kind::Inspect(site) = operation.kind {
            let (content, contracts) = (operation.content.take(), operation.contracts.take());
            let step = match (site, content, contracts) {
                (Site::Switch(switch), Some(content), _) => self.compare(now, switch, &content),
                (Site::Gates(switch), _, Some(contracts)) => self.compare_gates(now, switch, &contracts),
                _ => None,
            };
            let is_some = step.is_some();
            if let Some(operation) = self.operations.get_mut(&number) {
                operation.steps.extend(step);
            }
            return is_some;
        }
        let (Kind::Prepare { switch, .. }, Some(content)) = (&operation.kind, operation.content.take())
        else {
            return false;
        };
        let switch = *switch;
        let Some(state) = self.switches.get(switch) else { return false };
        let (less, more) = state.table.repair(&content);
        operation.steps.extend(installs(switch, &less, true));
        operation.steps.extend(installs(switch, &more, true));
        !operation.steps.is_empty()
    }

    fn begin(&mut self, now: Duration, number: u64, mut task: Task) {
        match &mut task {
            Task::Store { change: StoreChange::Put(grant), .. } => self.renew_pairs(grant),
            Task::Store { change: StoreChange::PutAll(grants), .. } => {
                grants.iter_mut().for_each(|grant| self.renew_pairs(grant));
            }
            _ => {}
        }
        let preparing = self.operations.get(&number).is_some_and(|operation| {
            matches!(operation.kind, Kind::Prepare { .. } | Kind::PrepareGates { .. })
        });
        let inspecting =
            self.operations.get(&number).is_some_and(|operation| matches!(operation.kind, Kind::Inspect(_)));
        // A gate holds a flow to its contract for as long as its switch may have the flow: what has missed something has to come back, and then it
        // is tried again.
        if let Task::Gate { switch, change: GateChange::Remove(_), .. } = &task
            && self
                .operations
                .get(&number)
                .is_some_and(|operation| operation.missed.contains(&Site::Switch(*switch)))
        {
            return;
        }
        if !inspecting {
            self.touch(&task);
        }
        self.foresee(&task, preparing);
        let reachable = task.site().is_none_or(|site| match self.phase(site) {
            Phase::Ready => true,
            Phase::Preparing => preparing,
            Phase::Away(_) => false,
        });
        if !reachable {
            let reason =
                task.site().map_or_else(String::new, |site| format!("{} is away", self.site_name(site)));
            self.failed(now, number, &task, reason, false);
            return;
        }
        let token = Token(self.next_token);
        self.next_token += 1;
        let mut wait = self.config.answer;
        match &task {
            Task::Install { switch, messages, .. } => {
                let (switch, messages) = (self.datapath(*switch), messages.clone());
                self.actions.push_back(Action::Install { token, switch, messages });
            }
            Task::Gate { switch, change, .. } => {
                let (switch, change) = (self.datapath(*switch), change.clone());
                self.actions.push_back(Action::Gate { token, switch, change });
            }
            Task::Store { change, .. } => {
                self.is_outdated(change);
                self.actions.push_back(Action::Store { token, change: change.clone() });
            }
            Task::Announce(verdict) => {
                wait = self.config.lease;
                // Who has been told since that it is over is not told otherwise; its lease has to end, though.
                let over = verdict.state == State::Admitted
                    && !self.asked.get(&verdict.pair()).is_some_and(|asked| {
                        asked.verdict.state == State::Admitted && asked.verdict.serial == verdict.serial
                    });
                if !over {
                    self.actions.push_back(Action::Publish { token: Some(token), verdict: verdict.clone() });
                }
            }
            Task::Hold(time) => wait = *time,
            Task::Read(switch) => {
                // Preparing, nobody asks what meters have counted.
                let counters = inspecting && self.has_meters(*switch);
                let switch = self.datapath(*switch);
                self.actions.push_back(Action::Read { token, switch, counters });
            }
            Task::ReadGates(switch) => {
                let switch = self.datapath(*switch);
                self.actions.push_back(Action::ReadGates { token, switch });
            }
        }
        self.timers.insert((now.saturating_add(wait), Timer::Token(token)));
        self.tokens.insert(token, number);
        if let Some(operation) = self.operations.get_mut(&number) {
            operation.waiting.insert(token, task);
        }
    }

    /// A sure change counts from now on; what prepares a switch changes nothing of what it is to have.
    fn foresee(&mut self, task: &Task, preparing: bool) {
        match task {
            Task::Install { switch, messages, sure: true } if !preparing => {
                self.note_table(*switch, messages)
            }
            Task::Gate { switch, change, sure: true } if !preparing => self.note_gate(*switch, change),
            _ => {}
        }
    }

    pub(crate) fn note_table(&mut self, switch: usize, messages: &[openflow::Message]) {
        if let Some(state) = self.switches.get_mut(switch) {
            messages.iter().for_each(|message| state.table.apply(message));
            state.version += 1;
        }
    }

    pub(crate) fn note_gate(&mut self, switch: usize, change: &GateChange) {
        if let Some(state) = self.switches.get_mut(switch) {
            match change {
                GateChange::Set(key, contract) => {
                    state.gates.insert(*key, *contract);
                }
                GateChange::Remove(key) => {
                    state.gates.remove(key);
                }
                GateChange::Replace(list) => state.gates = list.iter().copied().collect(),
            }
            state.gates_version += 1;
        }
    }

    /// The answer to what was asked for; one that nobody waits for is passed over.
    pub(crate) fn answered(&mut self, now: Duration, token: Token, done: Done) {
        let Some(number) = self.tokens.remove(&token) else { return };
        let Some(operation) = self.operations.get_mut(&number) else { return };
        let Some(task) = operation.waiting.remove(&token) else { return };
        // What was put right is what was to be there already.
        let inspecting = matches!(operation.kind, Kind::Inspect(_));
        if let Task::Store { .. } = task {
            self.store_answered(now, &done);
        }
        match done {
            Done::Confirmed if inspecting => {}
            Done::Confirmed => match &task {
                Task::Install { switch, messages, sure: false } => self.note_table(*switch, messages),
                Task::Gate { switch, change, sure: false } => self.note_gate(*switch, change),
                Task::Store { change, .. } => self.is_outdated(change),
                _ => {}
            },
            Done::Failed(reason) => self.failed(now, number, &task, reason, true),
            Done::Full(room, reason) => {
                if let Some(operation) = self.operations.get_mut(&number) {
                    operation.full.extend(task.site().map(|site| (site, room)));
                }
                self.failed(now, number, &task, reason, true);
            }
        }
        self.advance(now, number);
    }

    pub(crate) fn content_read(&mut self, now: Duration, token: Token, read: Result<SwitchContent, String>) {
        let number = self.tokens.get(&token).copied();
        match read {
            Ok(content) => {
                if let Some(operation) = number.and_then(|number| self.operations.get_mut(&number)) {
                    operation.content = Some(content);
                }
                self.answered(now, token, Done::Confirmed);
            }
            Err(reason) => self.answered(now, token, Done::Failed(reason)),
        }
    }

    pub(crate) fn gates_read(
        &mut self,
        now: Duration,
        token: Token,
        read: Result<Vec<ContractState>, String>,
    ) {
        let number = self.tokens.get(&token).copied();
        match read {
            Ok(contracts) => {
                if let Some(operation) = number.and_then(|number| self.operations.get_mut(&number)) {
                    operation.contracts = Some(contracts);
                }
                self.answered(now, token, Done::Confirmed);
            }
            Err(reason) => self.answered(now, token, Done::Failed(reason)),
        }
    }

    /// What is under way at a site.
    pub(crate) fn tasks_at(&self, site: Site) -> impl Iterator<Item = &Task> {
        let waiting = self.operations.values().flat_map(|operation| operation.waiting.values());
        waiting.filter(move |task| task.site() == Some(site))
    }

    /// A task has failed; if it was begun and was sure, nobody knows what its site has.
    fn failed(&mut self, now: Duration, number: u64, task: &Task, reason: String, begun: bool) {
        let site = task.site();
        let sure = match task {
            Task::Install { sure, .. } | Task::Gate { sure, .. } | Task::Store { sure, .. } => *sure,
            Task::Announce(_) | Task::Hold(_) => true,
            Task::Read(_) | Task::ReadGates(_) => false,
        };
        let name = site.map_or_else(|| "the store".to_string(), |site| self.site_name(site));
        let Some(operation) = self.operations.get_mut(&number) else { return };
        let preparing = matches!(operation.kind, Kind::Prepare { .. } | Kind::PrepareGates { .. });
        if sure && !preparing {
            operation.missed.extend(site);
        } else {
            operation.failed.get_or_insert_with(|| format!("{name}: {reason}"));
        }
        if let Task::Store { change, sure: true } = task {
            self.store_later(now, change.clone());
        }
        if let Some(site) = site.filter(|_| begun && (sure || preparing)) {
            self.disconnect(now, site);
        }
    }

    /// The installation of a grant fails, unless it has ended: what it has done is undone.
    pub(crate) fn give_up(&mut self, grant: u64, reason: &str) -> bool {
        let installs = |operation: &&mut Operation| match &operation.kind {
            Kind::Admit { number, .. } => *number == grant,
            _ => false,
        };
        let Some(operation) = self.operations.values_mut().find(installs) else { return false };
        operation.failed.get_or_insert_with(|| reason.to_string());
        true
    }

    /// What was asked of a site that is gone is not answered any more.
    pub(crate) fn abandon(&mut self, now: Duration, site: Site) {
        let at_site = |operation: &Operation| {
            let tasks = operation.waiting.iter().filter(|(_, task)| task.site() == Some(site));
            tasks.map(|(token, _)| *token).collect::<Vec<_>>()
        };
        let tokens: Vec<Token> = self.operations.values().flat_map(at_site).collect();
        for token in tokens {
            self.answered(now, token, Done::Failed("the connection ended".into()));
        }
    }

    /// The time of a token has come.
    pub(crate) fn token_expired(&mut self, now: Duration, token: Token) {
        let Some(number) = self.tokens.get(&token).copied() else { return };
        let Some(operation) = self.operations.get(&number) else { return };
        match operation.waiting.get(&token) {
            Some(Task::Announce(_) | Task::Hold(_)) => self.answered(now, token, Done::Confirmed),
            Some(task) => {
                let site = task.site();
                self.answered(now, token, Done::Failed("no answer in time".into()));
                // It may still happen.
                if let Some(site) = site {
                    self.disconnect(now, site);
                }
            }
            None => {}
        }
    }

    /// How much is under way that changes grants or the tree.
    pub(crate) fn changing(&self) -> usize {
        self.changes_under_way().count()
    }

    /// The same without what only lets time pass: that keeps nobody from beginning.
    pub(crate) fn busy(&self) -> usize {
        let holds = |operation: &&Operation| {
            let mut waiting = operation.waiting.values();
            !operation.waiting.is_empty() && waiting.all(|task| matches!(task, Task::Hold(_)))
        };
        self.changes_under_way().filter(|operation| !holds(operation)).count()
    }

    fn changes_under_way(&self) -> impl Iterator<Item = &Operation> {
        self.operations.values().filter(|operation| {
            !matches!(
                operation.kind,
                Kind::Prepare { .. }
                    | Kind::PrepareGates { .. }
                    | Kind::Inspect(_)
                    | Kind::Farewell { .. }
                    | Kind::Store
            )
        })
    }

    /// Whether a grant changes its levels or shares, which counts when the operation has ended.
    pub(crate) fn is_moving(&self, number: u64) -> bool {
        self.operations.values().any(|operation| match &operation.kind {
            Kind::Admit { plan, .. } => {
                let shares = plan.shares().any(|change| change.flow == number);
                shares || plan.moves().any(|change| change.flow == number)
            }
            _ => false,
        })
    }

    /// Whether a pair is about to be served by another grant than this one.
    pub(crate) fn joins_other(&self, pair: Pair, than: u64) -> bool {
        self.operations.values().any(|operation| {
            matches!(operation.kind, Kind::Join { number, pair: of, serial } if number != than && of == pair && serial > 0)
        })
    }

    /// Whether other flows move, or the tree changes: nothing else may begin.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.operations.values().any(|operation| match &operation.kind {
            Kind::Admit { plan, .. } => !plan.phases.is_empty(),
            Kind::Tree => true,
            _ => false,
        })
    }
}
