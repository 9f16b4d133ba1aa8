//! The node manager of a host: what the supervisors of its deployments have to do, so that the host has what the execution manager orders.
//!
//! Without orders nothing changes: a host whose manager is away goes on with what it has. It takes a change back by itself only as long as it
//! has not said that it can hold to it.
mod report;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::mem;

use deployment::{PlanStatus, Position};

use crate::adoption::Adopted;
use crate::messages::{Bundle, Epoch, Heard, ManagerWord, NodeWord, Order, Orders, Stage, State, Step};

/// Times of a node manager, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodePatience {
    /// Between two reports.
    pub beat: u64,
    /// Without a word of the manager, before a change is taken back that the host has not said that it can hold to.
    pub silence: u64,
    /// Before something is tried again that holds, and did not come about.
    pub again: u64,
}

/// An event that a node manager is told.
#[derive(Clone, PartialEq, Debug)]
pub enum NodeInput {
    /// The manager said something.
    Word(ManagerWord),
    /// A plan was examined, or what is wrong with it.
    Examined {
        /// The deployment.
        deployment: String,
        /// The epoch of the plan.
        epoch: Epoch,
        /// Nothing, or why it cannot be launched here.
        result: Result<(), String>,
    },
    /// The change that was proposed has come to the end of a stage.
    Reached {
        /// The deployment.
        deployment: String,
        /// The stage.
        stage: Stage,
        /// How many rounds of [`Stage::Quiesce`] the change has.
        rounds: u32,
        /// The last events that were published here by what rests.
        published: Vec<Position>,
    },
    /// What was proposed or launched has ended, or everything has.
    Ended {
        /// The deployment.
        deployment: String,
        /// How.
        outcome: Outcome,
    },
    /// The state of a deployment.
    Status {
        /// The number of the question.
        number: u64,
        /// The state.
        status: PlanStatus,
    },
}

/// How something ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The plan that was proposed or launched holds, with notes such as warnings.
    Holds(Vec<String>),
    /// It does not come about, for this reason, and all is as it was before.
    Refused(String),
    /// All processes of the deployment have ended.
    Stopped,
}

/// An action that the shell of a node manager has to carry out.
#[derive(Clone, PartialEq, Debug)]
pub enum NodeAction {
    /// The manager is told something, if there is a connection.
    Send(NodeWord),
    /// A plan is read and its programs are looked for; nothing is started.
    Examine {
        /// The deployment.
        deployment: String,
        /// The epoch of the plan.
        epoch: Epoch,
        /// The plan.
        bundle: Bundle,
    },
    /// The supervisor begins the change to the plan that was examined last, to the end of [`Stage::PreparePlan`].
    Propose {
        /// The deployment.
        deployment: String,
        /// The epoch of the plan.
        epoch: Epoch,
    },
    /// The change goes on.
    Proceed {
        /// The deployment.
        deployment: String,
        /// To the end of this stage.
        until: Stage,
        /// The last events that were published on all hosts by what rests there.
        published: Vec<Position>,
    },
    /// What becomes of the change is known.
    Decide {
        /// The deployment.
        deployment: String,
        /// Whether it holds.
        holds: bool,
    },
    /// A new supervisor launches the plan that was examined last.
    Launch {
        /// The deployment.
        deployment: String,
        /// The epoch of the plan.
        epoch: Epoch,
    },
    /// The supervisor ends all of its processes.
    Stop {
        /// The deployment.
        deployment: String,
    },
    /// The supervisor is asked for the state of its deployment.
    Ask {
        /// The deployment.
        deployment: String,
        /// The number of the question.
        number: u64,
    },
    /// Something of interest, for a log.
    Tell(String),
}

/// What is under way with a deployment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
enum Doing {
    #[default]
    Nothing,
    /// A plan is examined.
    Examining(Epoch),
    /// The supervisor has a change that is not decided.
    Proposed { epoch: Epoch, asked: Stage, reached: Option<Stage> },
    /// The supervisor was told what becomes of its change.
    Deciding { epoch: Epoch, holds: bool },
    /// The supervisor launches what holds.
    Launching(Epoch),
    /// The supervisor ends.
    Stopping,
}

/// A deployment of the host.
#[derive(Debug, Default)]
struct Slot {
    /// The epoch whose plan the supervisor has.
    runs: Option<Epoch>,
    /// There is a supervisor.
    is_there: bool,
    doing: Doing,
    examined: Option<Epoch>,
    failed: Option<(Epoch, String)>,
    trouble: Option<String>,
    again: Option<u64>,
    notes: Vec<String>,
    /// Of a change that is proposed: its rounds, and what was published here by what rests.
    rounds: u32,
    published: Vec<Position>,
}

/// What a report says: the orders that were heard last, the deployments, and the plans that are missing.
type Reported = (Heard, Vec<State>, Vec<(String, Epoch)>);

/// The node manager of a host. Times are picoseconds.
#[derive(Debug)]
pub struct NodeManager {
    host: String,
    incarnation: u64,
    patience: NodePatience,
    heard: Heard,
    /// When the manager said something.
    heard_at: u64,
    /// What it ordered; nothing before its first word.
    orders: Option<BTreeMap<String, Order>>,
    slots: BTreeMap<String, Slot>,
    number: u64,
    next_report: u64,
    /// What was reported last, to report at once what is new.
    reported: Option<Reported>,
    actions: Vec<NodeAction>,
}

impl NodeManager {
    /// The node manager of a host, without deployments but those of [`NodeManager::adopt`]. Each start has a greater incarnation than the one before.
    pub const fn new(host: String, incarnation: u64, patience: NodePatience) -> Self {
        Self {
            host,
            incarnation,
            patience,
            heard: Heard { manager: 0, number: 0 },
            heard_at: 0,
            orders: None,
            slots: BTreeMap::new(),
            number: 0,
            next_report: 0,
            reported: None,
            actions: Vec::new(),
        }
    }

    /// A deployment that the node manager before has left: its supervisor is there, has the plan of the epoch `runs`, and does what it is told
    /// here of a change. What becomes of that is told as of any other. Called before anything is handled.
    pub fn adopt(&mut self, deployment: String, runs: Option<Epoch>, adopted: Adopted) {
        let voted = Stage::FinishLaunch;
        let doing = match adopted {
            Adopted::Nothing => Doing::Nothing,
            Adopted::TakingBack(epoch) => Doing::Deciding { epoch, holds: false },
            Adopted::Voted(epoch) => Doing::Proposed { epoch, asked: voted, reached: Some(voted) },
            Adopted::Holding(epoch) => Doing::Deciding { epoch, holds: true },
            Adopted::Launching(epoch) => Doing::Launching(epoch),
            Adopted::Stopping => Doing::Stopping,
        };
        // It runs the next plan once it says that this holds.
        let runs = runs.filter(|_| !matches!(adopted, Adopted::Holding(_) | Adopted::Launching(_)));
        self.slots.insert(deployment, Slot { runs, is_there: true, doing, ..Slot::default() });
    }

    /// Something happens.
    pub fn handle(&mut self, now: u64, input: NodeInput) {
        match input {
            NodeInput::Word(word) => self.word(now, word),
            NodeInput::Examined { deployment, epoch, result } => {
                self.examined(now, deployment, epoch, result)
            }
            NodeInput::Reached { deployment, stage, rounds, published } => {
                if let Some(slot) = self.slots.get_mut(&deployment)
                    && let Doing::Proposed { reached, .. } = &mut slot.doing
                {
                    *reached = Some(stage);
                    (slot.rounds, slot.published) = (rounds, published);
                }
            }
            NodeInput::Ended { deployment, outcome } => self.ended(now, &deployment, outcome),
            NodeInput::Status { number, status } => {
                self.actions.push(NodeAction::Send(NodeWord::Told { number, status }));
            }
        }
        self.settle_all(now);
    }

    /// Time has passed.
    pub fn tick(&mut self, now: u64) {
        self.settle_all(now);
        if self.next_report <= now {
            self.report(now);
        }
    }

    /// A connection to the manager is there: it is told at once what the host has.
    pub fn connected(&mut self, now: u64) {
        self.report(now);
    }

    /// When [`NodeManager::tick`] is to be called next.
    pub fn next_tick(&self) -> u64 {
        let again = self.slots.values().filter_map(|slot| slot.again).min();
        again.map_or(self.next_report, |again| again.min(self.next_report))
    }

    /// What is to be done, in this order.
    pub fn take_actions(&mut self) -> Vec<NodeAction> {
        mem::take(&mut self.actions)
    }

    fn word(&mut self, now: u64, word: ManagerWord) {
        match word {
            ManagerWord::Orders(orders) => self.ordered(now, orders),
            ManagerWord::Plan { deployment, epoch, bundle } => {
                let is_wanted = self.wanted(&deployment) == Some(epoch);
                let slot = self.slots.get_mut(&deployment).filter(|_| is_wanted);
                if let Some(slot) = slot.filter(|slot| slot.doing == Doing::Nothing) {
                    slot.doing = Doing::Examining(epoch);
                    self.actions.push(NodeAction::Examine { deployment, epoch, bundle });
                }
            }
            ManagerWord::Ask { number, deployment } => {
                if self.slots.get(&deployment).is_some_and(|slot| slot.is_there) {
                    self.actions.push(NodeAction::Ask { deployment, number });
                }
            }
            ManagerWord::Refused { what } => {
                self.actions.push(NodeAction::Tell(format!("the manager does not lead this host: {what}")));
            }
        }
    }

    fn ordered(&mut self, now: u64, orders: Orders) {
        let heard = Heard { manager: orders.manager, number: orders.number };
        // Orders for a start before this one do not know how far the changes have come that it adopted; earlier orders, and those of an earlier manager, do not count.
        if orders.incarnation != self.incarnation || heard < self.heard {
            return;
        }
        self.heard_at = now;
        if heard == self.heard && self.orders.is_some() {
            return;
        }
        self.heard = heard;
        let all: BTreeMap<String, Order> =
            orders.deployments.into_iter().map(|order| (order.deployment.clone(), order)).collect();
        for name in all.keys() {
            self.slots.entry(name.clone()).or_default();
        }
        self.orders = Some(all);
    }

    fn examined(&mut self, now: u64, deployment: String, epoch: Epoch, result: Result<(), String>) {
        let again = now.saturating_add(self.patience.again);
        let holds = self.order(&deployment).and_then(|order| order.holds);
        let Some(slot) = self.slots.get_mut(&deployment).filter(|it| it.doing == Doing::Examining(epoch))
        else {
            return;
        };
        slot.doing = Doing::Nothing;
        match result {
            Ok(()) => slot.examined = Some(epoch),
            Err(why) if holds == Some(epoch) => {
                self.actions.push(NodeAction::Tell(format!("deployment {deployment} {epoch}: {why}")));
                (slot.trouble, slot.again) = (Some(why), Some(again));
            }
            Err(why) => slot.failed = Some((epoch, why)),
        }
    }

    fn ended(&mut self, now: u64, deployment: &str, outcome: Outcome) {
        let again = now.saturating_add(self.patience.again);
        let Some(slot) = self.slots.get_mut(deployment) else { return };
        let doing = mem::take(&mut slot.doing);
        match (doing, outcome) {
            (_, Outcome::Stopped) => {
                (slot.runs, slot.is_there) = (None, false);
                slot.notes.clear();
            }
            (Doing::Deciding { epoch, holds: true } | Doing::Launching(epoch), Outcome::Holds(notes)) => {
                (slot.runs, slot.notes) = (Some(epoch), notes);
                (slot.trouble, slot.again) = (None, None);
                self.actions.push(NodeAction::Tell(format!("deployment {deployment} {epoch} runs")));
            }
            (Doing::Proposed { epoch, .. }, Outcome::Refused(why)) => slot.failed = Some((epoch, why)),
            (Doing::Deciding { holds: false, .. }, Outcome::Refused(_)) => {}
            (Doing::Launching(epoch), Outcome::Refused(why)) => {
                self.actions.push(NodeAction::Tell(format!("deployment {deployment} {epoch}: {why}")));
                (slot.trouble, slot.again) = (Some(why), Some(again));
            }
            // What the supervisor has now is not known: it is ended, and what holds is launched.
            (Doing::Deciding { .. }, _) => slot.runs = None,
            // Its outcome is that of what is under way.
            (doing, _) => slot.doing = doing,
        }
    }

    fn order(&self, deployment: &str) -> Option<&Order> {
        self.orders.as_ref()?.get(deployment)
    }

    /// The epoch whose plan has to be examined next.
    fn wanted(&self, deployment: &str) -> Option<Epoch> {
        let (order, slot) = (self.order(deployment)?, self.slots.get(deployment)?);
        if slot.doing != Doing::Nothing || slot.again.is_some() {
            return None;
        }
        let wanted =
            if order.holds == slot.runs { order.change.as_ref().map(|step| step.epoch) } else { order.holds };
        wanted.filter(|epoch| {
            slot.examined != Some(*epoch) && slot.failed.as_ref().is_none_or(|(failed, _)| failed != epoch)
        })
    }

    fn settle_all(&mut self, now: u64) {
        if self.orders.is_none() {
            return;
        }
        let names: Vec<String> = self.slots.keys().cloned().collect();
        for name in names {
            self.settle(now, &name);
        }
        self.report_news(now);
    }

    /// Does the next thing that brings a deployment to what is ordered.
    fn settle(&mut self, now: u64, name: &str) {
        let order = self.order(name).cloned();
        let is_silent = now.saturating_sub(self.heard_at) > self.patience.silence;
        let is_ordered = order.is_some();
        let Order { holds, change, .. } = order.unwrap_or_default();
        let Some(slot) = self.slots.get_mut(name) else { return };
        if slot
            .failed
            .as_ref()
            .is_some_and(|(epoch, _)| change.as_ref().is_none_or(|step| step.epoch != *epoch))
        {
            slot.failed = None;
        }
        if slot.again.is_some_and(|again| again <= now) {
            slot.again = None;
        }
        let deployment = name.to_string();
        match &mut slot.doing {
            Doing::Proposed { epoch, asked, reached } => {
                let (epoch, has_voted) = (*epoch, *reached == Some(Stage::FinishLaunch));
                let step = change.filter(|step| step.epoch == epoch);
                if holds == Some(epoch) {
                    slot.doing = Doing::Deciding { epoch, holds: has_voted };
                    self.actions.push(NodeAction::Decide { deployment, holds: has_voted });
                } else if let Some(step) = step {
                    if is_silent && !has_voted {
                        let seconds = self.patience.silence / 1_000_000_000_000;
                        slot.failed = Some((epoch, format!("the manager was silent for {seconds} s")));
                        slot.doing = Doing::Deciding { epoch, holds: false };
                        self.actions.push(NodeAction::Decide { deployment, holds: false });
                    } else if step.until > *asked && *reached == Some(*asked) {
                        *asked = step.until;
                        let Step { until, published, .. } = step;
                        self.actions.push(NodeAction::Proceed { deployment, until, published });
                    }
                } else if has_voted && holds != slot.runs {
                    // Others may have gone on: what rests here must not work again.
                    slot.doing = Doing::Stopping;
                    self.actions.push(NodeAction::Stop { deployment });
                } else {
                    slot.doing = Doing::Deciding { epoch, holds: false };
                    self.actions.push(NodeAction::Decide { deployment, holds: false });
                }
            }
            Doing::Nothing if holds != slot.runs || !is_ordered => {
                let has_examined = holds.is_some() && slot.examined == holds;
                if slot.is_there {
                    slot.doing = Doing::Stopping;
                    self.actions.push(NodeAction::Stop { deployment });
                } else if !is_ordered {
                    self.slots.remove(name);
                } else if let Some(epoch) = holds.filter(|_| has_examined && slot.again.is_none()) {
                    (slot.doing, slot.is_there) = (Doing::Launching(epoch), true);
                    self.actions.push(NodeAction::Launch { deployment, epoch });
                }
            }
            Doing::Nothing => {
                let failed = slot.failed.as_ref().map(|(epoch, _)| *epoch);
                let step = change.filter(|step| step.until > Stage::Examine);
                let step =
                    step.filter(|step| slot.examined == Some(step.epoch) && failed != Some(step.epoch));
                if let Some(epoch) = step.map(|step| step.epoch) {
                    slot.doing = Doing::Proposed { epoch, asked: Stage::PreparePlan, reached: None };
                    (slot.is_there, slot.rounds) = (true, 0);
                    slot.published.clear();
                    self.actions.push(NodeAction::Propose { deployment, epoch });
                }
            }
            Doing::Examining(_) | Doing::Deciding { .. } | Doing::Launching(_) | Doing::Stopping => {}
        }
    }
}
