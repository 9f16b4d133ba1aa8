//! Lines that execution managers, node managers and commands send each other, both managers as they get them, and what a node manager leaves.
use std::sync::Arc;

use deployment::{
    ChangeCheckpoint, ChangePurpose, ChangeStage, Checkpoint, Incarnation, Input, LONGEST_LINE, Lines,
    PlanStatus, Position, ProcessRecord, StartedProcess, Supervisor, Target, line, read,
};
use execution::{
    Answer, Bundle, Command, Content, DeploymentState, DeploymentStatus, Epoch, EpochPlan, ExecutionManager,
    Heard, HostStatus, ManagerAction, ManagerInput, ManagerWord, ManifestText, NodeAction, NodeInput,
    NodeManager, NodePatience, NodeWord, Order, Orders, Patience, ProcessIdentity, Progress, Record, Report,
    Stage, State, Step,
};

use super::launching::same;

const PLAN: &str =
    "id = \"a\"\n[host.h]\nresources.memory = 9\n[process.p]\nhost = \"h\"\nrequires.memory = 5\n";
const EPOCH: Epoch = Epoch { manager: 2, change: 1 };

fn bundle() -> Bundle {
    let manifest = ManifestText { name: "m.json".to_owned(), text: "{}".to_owned() };
    Bundle {
        file: "a.toml".to_owned(),
        plan: PLAN.to_owned(),
        manifests: vec![manifest],
        ..Bundle::default()
    }
}

/// What a node manager leaves in the middle of a change.
fn left(stage: ChangeStage) -> DeploymentState {
    let process = || "p".to_owned();
    let record = ProcessRecord { process: process(), incarnation: Some(1), ..ProcessRecord::default() };
    let started =
        StartedProcess { incarnation: 1, process: process(), pid: Some(9), ..StartedProcess::default() };
    let change = ChangeCheckpoint {
        purpose: ChangePurpose::Propose,
        epoch: 2,
        stage,
        fresh: vec![(process(), 2)],
        leaving: vec![1],
        held: vec![(1, vec![2])],
        prepared: vec![1, 2],
        fallen: vec![(process(), "x".to_owned())],
    };
    let checkpoint = Checkpoint {
        epoch: 2,
        records: vec![record],
        started: vec![
            started,
            StartedProcess { incarnation: 2, process: process(), ..StartedProcess::default() },
        ],
        change: Some(change),
        ..Checkpoint::default()
    };
    let plan = Some(EpochPlan { epoch: EPOCH, bundle: bundle() });
    let processes = vec![ProcessIdentity { incarnation: 1, pid: 9, started: 5 }];
    let state = DeploymentState::new("h", "b", "a");
    DeploymentState { runs: plan.clone(), next: plan, checkpoint, processes, ..state }
}

/// The next node manager and supervisor get what was left, and go on with it for some time.
fn adopt(left: &DeploymentState) {
    let Ok(adopted) = left.adopted("h", "a") else { return };
    let mut node = NodeManager::new("h".to_owned(), 4, NodePatience { beat: 10, silence: 40, again: 20 });
    node.adopt("a".to_owned(), left.runs.as_ref().map(|plan| plan.epoch), adopted);
    let target = |plan: &Option<EpochPlan>| {
        let content = Content::read(plan.as_ref()?.bundle.clone()).ok()?;
        Some(Arc::new(Target { plan: content.plan, types: content.types, ..Target::default() }))
    };
    let plans = (target(&left.runs).unwrap_or_default(), target(&left.next));
    let supervisor = Supervisor::new("a".to_owned(), Some("h".to_owned()), 100);
    let Ok(mut supervisor) = supervisor.resume(0, &left.checkpoint, plans, Vec::new(), 1) else { return };
    for now in 1..40 {
        while supervisor.poll().is_some() {}
        if let Some(started) = left.checkpoint.started.get(now) {
            supervisor
                .handle(now as u64, Input::Ended(Incarnation(started.incarnation), true, String::new()));
        }
        supervisor.tick(now as u64 * 50);
        node.tick(now as u64 * 7);
        node.take_actions();
    }
    let again = supervisor.checkpoint();
    assert!(again.epoch >= left.checkpoint.epoch.saturating_sub(1), "{again:?}");
}

/// Lines that are told, alone and after each other.
pub(super) fn lines() -> Vec<Vec<u8>> {
    let name = || "a".to_owned();
    let position = Position { end: name(), source: "0a".to_owned(), sequence: 3 };
    let step = Step { epoch: EPOCH, until: Stage::Quiesce(2), published: vec![position.clone()] };
    let order = Order { deployment: name(), holds: None, change: Some(step) };
    let orders = Orders { manager: 2, number: 7, incarnation: 3, deployments: vec![order] };
    let (reached, failed) = (Some(Stage::Examine), Some("x".to_owned()));
    let progress = Progress { epoch: EPOCH, reached, failed, rounds: 2, published: vec![position] };
    let state = State { deployment: name(), runs: Some(EPOCH), change: Some(progress), ..State::default() };
    let report = Report {
        host: "h".to_owned(),
        incarnation: 3,
        number: 1,
        heard: Heard { manager: 2, number: 7 },
        deployments: vec![state],
        lacks: vec![(name(), EPOCH)],
    };
    let host =
        HostStatus { host: "h".to_owned(), status: Some(PlanStatus::default()), ..HostStatus::default() };
    let status = DeploymentStatus { deployment: name(), hosts: vec![host], ..DeploymentStatus::default() };
    let told = [
        line(&ManagerWord::Orders(orders)),
        line(&ManagerWord::Plan { deployment: name(), epoch: EPOCH, bundle: bundle() }),
        line(&ManagerWord::Ask { number: 1, deployment: name() }),
        line(&ManagerWord::Refused { what: name() }),
        line(&NodeWord::Report(report)),
        line(&NodeWord::Told { number: 1, status: PlanStatus::default() }),
        line(&Command::Launch(bundle())),
        line(&Command::Apply(bundle())),
        line(&Command::Stop { deployment: name() }),
        line(&Command::Status { deployment: None }),
        line(&Command::Read { deployment: name() }),
        line(&Answer::Status { deployments: vec![status], hosts: vec![("h".to_owned(), true)] }),
        line(&Answer::Plan { epoch: EPOCH, bundle: bundle() }),
        line(&Record { epoch: EPOCH, bundle: bundle(), is_ending: false }),
        line(&left(ChangeStage::Open)),
        line(&left(ChangeStage::Voted)),
        line(&left(ChangeStage::Committing)),
    ];
    let told: Vec<String> = told.into_iter().filter_map(Result::ok).collect();
    let whole = told.iter().cloned().collect::<String>().into_bytes();
    told.into_iter().map(String::into_bytes).chain([whole]).collect()
}

/// A manager that keeps all that it wants to keep, and a node manager whose host can examine everything and do nothing.
struct Both {
    manager: ExecutionManager,
    node: NodeManager,
    now: u64,
}

impl Both {
    fn new() -> Option<Self> {
        let patience = Patience { beat: 10, silence: 40, stage: 100, follow: 100 };
        let record = Record { epoch: Epoch { manager: 1, change: 1 }, bundle: bundle(), is_ending: false };
        let manager = ExecutionManager::new(2, vec![("a".to_owned(), record)], patience).ok()?;
        let node = NodeManager::new("h".to_owned(), 3, NodePatience { beat: 10, silence: 40, again: 20 });
        Some(Self { manager, node, now: 1 })
    }

    fn manager(&mut self, input: ManagerInput) {
        self.manager.handle(self.now, input);
        while let Some(kept) = self.manager.take_actions().iter().find_map(|action| match action {
            ManagerAction::Keep { number, .. } => Some(*number),
            _ => None,
        }) {
            self.manager.handle(self.now, ManagerInput::Kept(kept));
        }
    }

    fn node(&mut self, word: ManagerWord) {
        self.node.handle(self.now, NodeInput::Word(word));
        for action in self.node.take_actions() {
            match action {
                NodeAction::Examine { deployment, epoch, .. } => {
                    self.node.handle(self.now, NodeInput::Examined { deployment, epoch, result: Ok(()) });
                }
                NodeAction::Decide { holds, .. } => assert!(!holds, "nothing has come to a vote"),
                _ => {}
            }
        }
    }

    fn line(&mut self, text: &str, number: u64) {
        if let Ok(word) = read::<NodeWord>(text) {
            self.manager(ManagerInput::Word("h".to_owned(), word));
        }
        if let Ok(command) = read::<Command>(text) {
            self.manager(ManagerInput::Command(number, command));
        }
        if let Ok(word) = read::<ManagerWord>(text) {
            self.node(word);
        }
        self.now += 7;
        self.manager.tick(self.now);
        self.node.tick(self.now);
        self.manager.take_actions();
        self.node.take_actions();
    }
}

/// Bytes that come on a connection of several hosts, or are in the file of a node manager.
pub fn execution_line(bytes: &[u8]) {
    let Some(mut both) = Both::new() else { return };
    let mut lines = Lines::new(LONGEST_LINE);
    lines.feed(bytes);
    let mut number = 0;
    while let Ok(Some(text)) = lines.next_line() {
        number += 1;
        same::<ManagerWord>(&text);
        same::<NodeWord>(&text);
        same::<Command>(&text);
        same::<Answer>(&text);
        same::<Record>(&text);
        same::<DeploymentState>(&text);
        if let Ok(left) = read::<DeploymentState>(&text) {
            adopt(&left);
        }
        both.line(&text, number);
    }
}
