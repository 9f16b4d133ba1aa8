//! What commands ask of the execution manager, and what it answers. Each is a line of JSON.
use alloc::string::String;
use alloc::vec::Vec;

use deployment::PlanStatus;
use serde::{Deserialize, Serialize};

use crate::messages::{Bundle, Epoch};

/// A command of an operator.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// A plan whose deployment does not run yet.
    Launch(Bundle),
    /// Another plan of a deployment that runs.
    Apply(Bundle),
    /// The end of a deployment.
    Stop {
        /// The deployment.
        deployment: String,
    },
    /// The state of a deployment, or of all.
    Status {
        /// The deployment; `None` for all.
        deployment: Option<String>,
    },
    /// The plan that holds.
    Read {
        /// The deployment.
        deployment: String,
    },
}

/// The answer to a command.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Answer {
    /// It is decided, with notes such as warnings and hosts that have not followed yet.
    Done {
        /// The notes.
        notes: Vec<String>,
    },
    /// It is not done, and all hosts have what they had before.
    Refused {
        /// Why, and what to do.
        what: String,
    },
    /// The state.
    Status {
        /// The deployments.
        deployments: Vec<DeploymentStatus>,
        /// The hosts whose node managers are known, and whether they are there.
        hosts: Vec<(String, bool)>,
    },
    /// The plan that holds.
    Plan {
        /// Its epoch.
        epoch: Epoch,
        /// The plan.
        bundle: Bundle,
    },
}

/// The state of a deployment.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DeploymentStatus {
    /// Its name.
    pub deployment: String,
    /// The epoch that holds; `None` before the first one is decided.
    pub epoch: Option<Epoch>,
    /// The file of the plan.
    pub file: String,
    /// What is under way.
    pub under_way: Option<String>,
    /// Its hosts.
    pub hosts: Vec<HostStatus>,
}

/// A deployment on a host.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HostStatus {
    /// The host.
    pub host: String,
    /// Whether its node manager is there.
    pub is_there: bool,
    /// The epoch that runs, as was heard last.
    pub runs: Option<Epoch>,
    /// What is wrong.
    pub trouble: Option<String>,
    /// Its processes, if it has answered.
    pub status: Option<PlanStatus>,
}
