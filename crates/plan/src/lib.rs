//! Plans a network from a file: which flows keep their latency, with what bound, and why others cannot.
//!
//! [`run()`] is the whole command, for a program that has [`Arguments`] from a command line; `docs/plan.md` says what files
//! look like. Files are read in full before anything is planned, and a wrong one is told with its line and column.
//! [`plan()`] and [`simulated`] do it for programs that have a [`network::Network`].
#![forbid(unsafe_code)]

mod assumptions;
mod certify;
mod change;
mod deliveries;
mod explain;
mod full;
mod losses;
mod page;
mod picture;
mod planned;
mod planning;
mod report;
mod run;
mod sections;
mod simulate;
mod text;
mod ways;

pub use assumptions::Assumption;
pub use certify::Certificates;
pub use change::{Added, Changed, Changes, Moved};
pub use planned::{plan, simulated};
pub use report::{
    EnforcementReport, FlowReport, HopReport, LevelReport, LossesReport, MemberReport, PortReport, Report,
    SubscriberReport,
};
pub use run::{ADMITTED, Arguments, REFUSED, VIOLATED, WRONG, check_output, run};
pub use simulate::{Found, Simulation};
