//! The supervisors of a host, as far as node managers see them: they take time, fail, and do what they are told.
use std::collections::BTreeMap;

use deployment::Position;
use execution::{Adopted, Epoch, NodeAction, NodeInput, Outcome, Stage};
use testkit::random::Random;

use crate::judge::{Had, Judge, Mark, source_of};

pub(crate) fn mark(epoch: Epoch) -> Mark {
    (epoch.manager, epoch.change)
}

/// A change that a supervisor has begun.
#[derive(Clone, Debug)]
struct Change {
    epoch: Epoch,
    file: String,
    until: Stage,
    reached: Option<Stage>,
    /// How many rounds it has between events, and what was published until now.
    rounds: u32,
    published: Vec<Position>,
    /// What was decided of it.
    holds: Option<bool>,
}

/// A supervisor.
#[derive(Clone, Debug, Default)]
struct Supervisor {
    runs: Option<(Epoch, String)>,
    change: Option<Change>,
    launches: Option<Epoch>,
    is_stopping: bool,
    /// It is busy until its next event comes; each order makes what was to come before void.
    turn: u64,
}

/// What a node manager finds of a deployment: the epoch that runs, what is under way, and at which turn what happens next.
pub(crate) type Left = (String, Option<Epoch>, Adopted, u64, Option<Later>);

/// What is to happen at a supervisor after some time.
#[derive(Clone, Debug)]
pub(crate) enum Later {
    Reached(Stage),
    Fails,
    Holds,
    Launched(Epoch, String),
    LaunchFails,
    TakenBack,
    Stopped,
}

/// A host.
#[derive(Default)]
pub(crate) struct Host {
    pub(crate) name: String,
    supervisors: BTreeMap<String, Supervisor>,
    examined: BTreeMap<String, (Epoch, String)>,
    next_turn: u64,
    launches: u64,
    /// What it says instead of its rounds and of what was published.
    pub(crate) says: Option<(u32, Vec<Position>)>,
}

impl Host {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// The node manager has crashed, its processes go on, and the next one begins: what it finds of each deployment, and what happens next.
    /// What was decided or begun last may not have been written down.
    pub(crate) fn left(&mut self, random: &mut Random) -> Vec<Left> {
        let mut all = Vec::new();
        for (deployment, supervisor) in &mut self.supervisors {
            self.next_turn += 1;
            supervisor.turn = self.next_turn;
            let (adopted, later) = if supervisor.is_stopping {
                (Adopted::Stopping, Some(Later::Stopped))
            } else if let Some(epoch) = supervisor.launches {
                (Adopted::Launching(epoch), Some(Later::LaunchFails))
            } else if let Some(change) = &mut supervisor.change {
                let has_voted = change.reached == Some(Stage::FinishLaunch);
                match change.holds.take() {
                    Some(true) if random.chance(50) => {
                        change.holds = Some(true);
                        (Adopted::Holding(change.epoch), Some(Later::Holds))
                    }
                    Some(false) if random.chance(50) => {
                        (Adopted::TakingBack(change.epoch), Some(Later::TakenBack))
                    }
                    _ if has_voted => (Adopted::Voted(change.epoch), None),
                    _ => (Adopted::TakingBack(change.epoch), Some(Later::TakenBack)),
                }
            } else {
                (Adopted::Nothing, None)
            };
            let runs = supervisor.runs.as_ref().map(|(epoch, _)| *epoch);
            all.push((deployment.clone(), runs, adopted, supervisor.turn, later));
        }
        all
    }

    /// Does what the node manager wants; what happens then, and at which turn of which deployment. `fails` says whether the next thing does.
    pub(crate) fn act(
        &mut self,
        action: NodeAction,
        fails: bool,
        judge: &mut Judge,
    ) -> Result<(String, u64, Later), Option<Box<NodeInput>>> {
        judge.is_changed = true;
        match action {
            NodeAction::Examine { deployment, epoch, bundle } => {
                let result = if fails { Err("its program is not there".to_owned()) } else { Ok(()) };
                self.examined.insert(deployment.clone(), (epoch, bundle.file));
                Err(Some(NodeInput::Examined { deployment, epoch, result }.into()))
            }
            NodeAction::Propose { deployment, epoch } => {
                let (examined, file) = self.examined[&deployment].clone();
                assert_eq!(examined, epoch, "another plan was examined");
                self.next_turn += 1;
                let supervisor = self.supervisors.entry(deployment.clone()).or_default();
                assert!(supervisor.change.is_none(), "a change begins before another one has ended");
                supervisor.turn = self.next_turn;
                let (until, reached, holds) = (Stage::PreparePlan, None, None);
                // Where nothing runs yet, nothing has to be handled.
                let rounds = if supervisor.runs.is_some() { judge.made[&file].rounds } else { 0 };
                let published = Vec::new();
                let change = Change { epoch, file: file.clone(), until, reached, rounds, published, holds };
                judge.begins(&self.name, &deployment, mark(epoch), rounds);
                supervisor.change = Some(change);
                judge.had.entry((self.name.clone(), deployment.clone())).or_default().processes.insert(file);
                let later = if fails { Later::Fails } else { Later::Reached(Stage::PreparePlan) };
                Ok((deployment, self.next_turn, later))
            }
            NodeAction::Proceed { deployment, until, published } => {
                let supervisor = self.supervisors.get_mut(&deployment).unwrap();
                // It has failed meanwhile.
                let Some(change) = &mut supervisor.change else { return Err(None) };
                change.until = until;
                let next = match until {
                    Stage::Quiesce(round) => {
                        let told = published.into_iter().map(|of| (of.end, of.source, of.sequence)).collect();
                        judge.quiesces(&deployment, mark(change.epoch), round, &told);
                        until
                    }
                    _ => {
                        judge.takes_apart(&deployment, mark(change.epoch));
                        change.reached.and_then(Stage::next).unwrap()
                    }
                };
                let later = if fails { Later::Fails } else { Later::Reached(next) };
                Ok((deployment, supervisor.turn, later))
            }
            NodeAction::Decide { deployment, holds } => {
                self.next_turn += 1;
                let supervisor = self.supervisors.get_mut(&deployment).unwrap();
                let Some(change) = &mut supervisor.change else { return Err(None) };
                change.holds = Some(holds);
                assert!(!holds || change.reached == Some(Stage::FinishLaunch), "it is decided too early");
                supervisor.turn = self.next_turn;
                Ok((deployment, self.next_turn, if holds { Later::Holds } else { Later::TakenBack }))
            }
            NodeAction::Launch { deployment, epoch } => {
                let (examined, file) = self.examined[&deployment].clone();
                assert_eq!(examined, epoch, "another plan was examined");
                self.next_turn += 1;
                let supervisor = self.supervisors.entry(deployment.clone()).or_default();
                assert!(supervisor.runs.is_none() && supervisor.change.is_none(), "a launch over what runs");
                supervisor.turn = self.next_turn;
                supervisor.launches = Some(epoch);
                let had = judge.had.entry((self.name.clone(), deployment.clone())).or_default();
                had.processes.insert(file.clone());
                let later = if fails { Later::LaunchFails } else { Later::Launched(epoch, file) };
                Ok((deployment, self.next_turn, later))
            }
            NodeAction::Stop { deployment } => {
                self.next_turn += 1;
                let supervisor = self.supervisors.get_mut(&deployment).unwrap();
                (supervisor.turn, supervisor.is_stopping) = (self.next_turn, true);
                Ok((deployment, self.next_turn, Later::Stopped))
            }
            NodeAction::Ask { .. } | NodeAction::Send(_) | NodeAction::Tell(_) => Err(None),
        }
    }

    /// Something that was to happen happens, unless the supervisor was told something else meanwhile.
    pub(crate) fn happen(
        &mut self,
        deployment: String,
        turn: u64,
        later: Later,
        judge: &mut Judge,
    ) -> Option<(NodeInput, Option<Later>)> {
        judge.is_changed = true;
        let key = (self.name.clone(), deployment.clone());
        let supervisor = self.supervisors.get_mut(&deployment).filter(|it| it.turn == turn)?;
        let had = judge.had.entry(key.clone()).or_default();
        let runs = supervisor.runs.clone().map(|(epoch, file)| (mark(epoch), file));
        let outcome = match later {
            Later::Reached(stage) => {
                let change = supervisor.change.as_mut()?;
                change.reached = Some(stage);
                if stage == Stage::Passivate {
                    had.works = None;
                }
                if let Stage::Quiesce(round) = stage {
                    judge.quiesced(&self.name, &deployment, mark(change.epoch), round);
                    // Where nothing of the former plan is, nothing was published.
                    if change.rounds > 0 {
                        let end = format!("{}-{round}", self.name);
                        let source = source_of(&deployment, mark(change.epoch));
                        change.published.push(Position { end, source, sequence: i64::from(round) });
                    }
                }
                let next = stage.next().filter(|next| *next <= change.until).map(Later::Reached);
                let of_change = (change.rounds, change.published.clone());
                let (rounds, published) = self.says.clone().unwrap_or(of_change);
                return Some((NodeInput::Reached { deployment, stage, rounds, published }, next));
            }
            Later::Fails | Later::TakenBack => {
                let change = supervisor.change.take()?;
                if runs.as_ref().is_none_or(|(_, file)| *file != change.file) {
                    had.processes.remove(&change.file);
                }
                had.works = runs;
                Outcome::Refused("something fails".to_owned())
            }
            Later::Holds => {
                let change = supervisor.change.take()?;
                had.processes = [change.file.clone()].into();
                had.works = Some((mark(change.epoch), change.file.clone()));
                supervisor.runs = Some((change.epoch, change.file));
                Outcome::Holds(Vec::new())
            }
            Later::Launched(epoch, file) => {
                supervisor.launches = None;
                self.launches += 1;
                had.launch = self.launches;
                had.works = Some((mark(epoch), file.clone()));
                supervisor.runs = Some((epoch, file));
                Outcome::Holds(Vec::new())
            }
            Later::LaunchFails => {
                supervisor.launches = None;
                *had = Had::default();
                Outcome::Refused("something fails".to_owned())
            }
            Later::Stopped => {
                self.supervisors.remove(&deployment);
                judge.had.remove(&key);
                Outcome::Stopped
            }
        };
        Some((NodeInput::Ended { deployment, outcome }, None))
    }
}
