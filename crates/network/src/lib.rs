//! Network files: hosts, switches and their models, links, and the flows that are asked for.
//!
//! [`Network::open`] reads a file, and [`Network`] says what is in it, with everything filled in that the file leaves out. A file is
//! read in full before anything is made of it, and a wrong one is told with its line and column ([`Problem`]). `docs/plan.md` says what
//! files look like. What becomes of the flows is not decided here.
#![forbid(unsafe_code)]

mod change;
mod check;
mod description;
mod document;
mod file;
mod hosts;
mod links;
mod losses;
mod markup;
mod models;
mod network;
mod problem;
mod quantity;

pub use change::{Change, Removed};
pub use check::{check_models, check_network};
pub use description::{End, Host, Link, Other, Switch, SwitchKind};
pub use file::load;
pub use hosts::default_ring;
pub use losses::Losses;
pub use network::{Asked, HOST_BUFFER, Network};
pub use problem::{Problem, printable};
pub use quantity::rate;
