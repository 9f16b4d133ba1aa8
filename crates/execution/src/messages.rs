//! What the execution manager and node managers tell each other. Each message is a line of JSON, as [`deployment::line`] writes and
//! [`deployment::read`] reads it.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use deployment::{ChainReport, PlanStatus, Position};
use serde::{Deserialize, Serialize};

/// Which change of a deployment it is: a later one is greater. No two have the same, whatever crashes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Epoch {
    /// The start of the manager, as its store counts starts.
    pub manager: u64,
    /// The changes since then.
    pub change: u64,
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.manager, self.change)
    }
}

/// How far a change has come on a host. The phases are those of [`deployment::Phase`], after one in which nothing is started; components start
/// once the change is decided.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The plan was read, and its programs are there.
    Examine,
    /// New processes are there, and all have looked at the plan.
    PreparePlan,
    /// Where the plan is changed between events: what publishes is at rest, and what was published is handled, to the end of this round. Each round
    /// handles what was published on other hosts in the rounds before.
    Quiesce(u32),
    /// What leaves or changes is at rest.
    Passivate,
    /// New components are installed.
    StartLaunch,
    /// All is connected: the host can hold to the change, and does not take it back by itself any more.
    FinishLaunch,
}

impl Stage {
    /// The stage after this one, if it is the last round.
    pub const fn next(self) -> Option<Self> {
        match self {
            Self::Examine => Some(Self::PreparePlan),
            Self::PreparePlan | Self::Quiesce(_) => Some(Self::Passivate),
            Self::Passivate => Some(Self::StartLaunch),
            Self::StartLaunch => Some(Self::FinishLaunch),
            Self::FinishLaunch => None,
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Examine => "examine",
            Self::PreparePlan => "preparePlan",
            Self::Quiesce(_) => "quiesce",
            Self::Passivate => "passivate",
            Self::StartLaunch => "startLaunch",
            Self::FinishLaunch => "finishLaunch",
        })
    }
}

/// A plan with its manifests and its network, as hosts get it and as the store keeps it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Bundle {
    /// The name of the plan's file, without folders.
    pub file: String,
    /// The plan as TOML.
    pub plan: String,
    /// Its manifests.
    pub manifests: Vec<ManifestText>,
    /// The network file that it names, with the models of switches, as JSON; `None` if it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// The policy files that it is under.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<ManifestText>,
    /// What is proved of its chains.
    pub proofs: Vec<ChainReport>,
    /// Whether it may run with chains that are not proved to keep their limits.
    pub is_unproved: bool,
}

/// A manifest, or another file that a plan names.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ManifestText {
    /// As the plan names it.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A message of the manager.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ManagerWord {
    /// All that a host is to have.
    Orders(Orders),
    /// The plan of an epoch, which the host said that it lacks.
    Plan {
        /// The deployment.
        deployment: String,
        /// Its epoch.
        epoch: Epoch,
        /// The plan.
        bundle: Bundle,
    },
    /// Asks for the state of a deployment.
    Ask {
        /// A number to be told in the answer.
        number: u64,
        /// The deployment.
        deployment: String,
    },
    /// The host is not led, for this reason.
    Refused {
        /// Why, and what to do.
        what: String,
    },
}

/// All that a host is to have. What runs there and is not among it has to end.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Orders {
    /// The start of the manager.
    pub manager: u64,
    /// Later orders of that start have a greater number.
    pub number: u64,
    /// The start of the node manager that they are for.
    pub incarnation: u64,
    /// The deployments.
    pub deployments: Vec<Order>,
}

/// What a host is to have of a deployment.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Order {
    /// The deployment.
    pub deployment: String,
    /// The epoch that holds: the host goes there, whatever that takes. `None` if nothing is to run before the change is decided.
    pub holds: Option<Epoch>,
    /// A change that is not decided yet.
    pub change: Option<Step>,
}

/// How far a host is to go with a change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Step {
    /// The epoch that the change leads to.
    pub epoch: Epoch,
    /// To the end of this stage.
    pub until: Stage,
    /// Of a round of [`Stage::Quiesce`]: the last events that were published on all hosts in the rounds before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Position>,
}

/// A message of a node manager.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum NodeWord {
    /// All that the host has.
    Report(Report),
    /// The state of a deployment, of which the manager has asked.
    Told {
        /// The number of the question.
        number: u64,
        /// The state.
        status: PlanStatus,
    },
}

/// All that a host has.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Report {
    /// The host, as its node manager was told: its certificate has to name the same.
    pub host: String,
    /// The start of the node manager: a later one is greater.
    pub incarnation: u64,
    /// Later reports of that start have a greater number.
    pub number: u64,
    /// The last orders that it follows.
    pub heard: Heard,
    /// The deployments.
    pub deployments: Vec<State>,
    /// Plans that it needs.
    pub lacks: Vec<(String, Epoch)>,
}

/// Which orders were heard last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Heard {
    /// The start of the manager.
    pub manager: u64,
    /// The number of the orders.
    pub number: u64,
}

/// What a host has of a deployment.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct State {
    /// The deployment.
    pub deployment: String,
    /// The epoch that runs.
    pub runs: Option<Epoch>,
    /// A change to another one.
    pub change: Option<Progress>,
    /// What is wrong, if something is: why the epoch that holds does not run.
    pub trouble: Option<String>,
    /// Parts of the plan that are not carried out as they say.
    pub notes: Vec<String>,
}

/// How far a change has come.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Progress {
    /// The epoch that it leads to.
    pub epoch: Epoch,
    /// To the end of which stage; `None` while it is not at the end of the first one.
    pub reached: Option<Stage>,
    /// Why it cannot go on: the host has what it had before.
    pub failed: Option<String>,
    /// How many rounds of [`Stage::Quiesce`] it has.
    #[serde(default, skip_serializing_if = "is_none")]
    pub rounds: u32,
    /// The last events that were published on the host by what rests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Position>,
}

impl Progress {
    /// A change of which nothing is known.
    pub const fn of(epoch: Epoch) -> Self {
        Self { epoch, reached: None, failed: None, rounds: 0, published: Vec::new() }
    }
}

const fn is_none(rounds: &u32) -> bool {
    *rounds == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use deployment::{line, read};

    #[test]
    fn what_is_told_is_read_as_the_same() {
        let epoch = Epoch { manager: 3, change: 1 };
        let position = Position { end: "c".to_string(), source: "0a".to_string(), sequence: 7 };
        let step = Step { epoch, until: Stage::Quiesce(3), published: [position].into() };
        let order = Order { deployment: "tracker".to_string(), holds: None, change: Some(step) };
        let orders = Orders { manager: 3, number: 9, incarnation: 7, deployments: [order].into() };
        let told = ManagerWord::Orders(orders);
        let text = line(&told).unwrap();
        assert_eq!(text.matches('\n').count(), 1);
        assert_eq!(read(&text), Ok(told));
        let progress = Progress { reached: Some(Stage::Quiesce(3)), rounds: 4, ..Progress::of(epoch) };
        let failed = Progress { failed: Some("a\nb".to_string()), ..progress };
        let state = State { change: Some(failed), ..State::default() };
        let report = Report {
            deployments: [state].into(),
            lacks: [("a".to_string(), epoch)].into(),
            ..Report::default()
        };
        let told = NodeWord::Report(report);
        assert_eq!(read(&line(&told).unwrap()), Ok(told));
    }

    #[test]
    fn epochs_are_in_the_order_of_time() {
        let epoch = |manager, change| Epoch { manager, change };
        assert!(epoch(1, 9) < epoch(2, 1) && epoch(2, 1) < epoch(2, 2));
        assert_eq!(epoch(2, 1).to_string(), "2.1");
    }
}
