//! Deployment plans carried out on several hosts: the execution manager, and the node manager of each host, as state machines.
//!
//! [`ExecutionManager`] leads all hosts of a plan from one epoch of it to another, all or none, and decides by what it keeps in its store.
//! [`NodeManager`] says what the supervisors of its host have to do, so that the host has what the manager orders. Neither knows a socket, a
//! file, a process or a clock: messages, outcomes and the time go in, and what is to be done comes out. Each message says all that its sender
//! wants or has, with a number, so that one that is lost, late or doubled does no harm. `docs/decisions/0032-several-hosts.md` says why, and
//! `docs/deploy-hosts.md` what people see of it.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod adoption;
mod commands;
mod content;
mod execution_manager;
mod messages;
mod node;

pub use adoption::{Adopted, DeploymentState, EpochPlan, ProcessIdentity};
pub use commands::{Answer, Command, DeploymentStatus, HostStatus};
pub use content::{Content, fit_together};
pub use execution_manager::{ExecutionManager, ManagerAction, ManagerInput, Patience, Record};
pub use messages::{
    Bundle, Epoch, Heard, ManagerWord, ManifestText, NodeWord, Order, Orders, Progress, Report, Stage, State,
    Step,
};
pub use node::{NodeAction, NodeInput, NodeManager, NodePatience, Outcome};
