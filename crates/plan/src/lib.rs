//! Plans a network from a file: which flows keep their latency, with what bound, and why others cannot.
//!
//! [`run()`] is the whole command, for a program that has [`Arguments`] from a command line; `docs/plan.md` says what files
//! look like. Files are read in full before anything is planned, and a wrong one is told with its line and column.
//! [`Network`] is what a file says, for programs that build such a network or manage it.
#![forbid(unsafe_code)]

mod assumptions;
mod certify;
mod change;
mod check;
mod deliveries;
mod description;
mod document;
mod explain;
mod hosts;
mod links;
mod losses;
mod markup;
mod models;
mod network;
mod page;
mod picture;
mod planned;
mod planning;
mod problem;
mod quantity;
mod report;
mod run;
mod sections;
mod simulate;
mod text;
mod ways;

pub use assumptions::Assumption;
pub use certify::Certificates;
pub use change::{Added, Changed, Changes, Moved};
pub use check::{check_models, check_network};
pub use description::{End, Host, Link, Other, Switch};
pub use hosts::default_ring;
pub use losses::Losses;
pub use network::{Asked, Network};
pub use problem::Problem;
pub use quantity::rate;
pub use report::{
    EnforcementReport, FlowReport, HopReport, LevelReport, LossesReport, MemberReport, PortReport, Report,
    SubscriberReport,
};
pub use run::{ADMITTED, Arguments, REFUSED, VIOLATED, WRONG, check_output, run};
pub use simulate::{Found, Simulation};
