//! Network files: hosts, switches and their models, links, and the flows that are asked for.
//!
//! [`Network::open`] reads a file, and [`Network`] says what is in it, with everything filled in that the file leaves out. A file is
//! read in full before anything is made of it, and a wrong one is told with its line and column ([`Problem`]). `docs/plan.md` says what
//! files look like. [`FlowFile`] reads what is known of programs that do not ask. What becomes of the flows is not decided here.
#![forbid(unsafe_code)]

mod carried;
mod change;
mod check;
mod description;
mod document;
mod file;
mod flow_file;
mod hosts;
mod links;
mod losses;
mod models;
mod network;
mod policy_file;
mod quantity;
mod texts;

pub use change::{Change, Removed};
pub use check::{check_models, check_network};
pub use description::{End, Host, HostVlan, Link, Other, Switch, SwitchKind, VLAN_TAG};
pub use diagnostics::{Problem, printable};
pub use file::load;
pub use flow_file::{FileLatency, FileOverhead, FileTopic, FlowFile};
pub use hosts::default_ring;
pub use losses::Losses;
pub use network::{Asked, HOST_BUFFER, Network};
pub use policy_file::{open_policy, read_policy};
pub use quantity::rate;
pub use texts::Texts;
