//! Sessions over several domains for programs that do not ask.
//!
//! [`plan`] makes of matched writers and readers ([`Pair`]) the sessions that they need, with a reason for each pair that gets none. [`Sessions`]
//! keeps a manager to that: it asks for sessions, lets them last, stops those without a match, and says of each pair what became of it.
//! `docs/decisions/0049-sessions-of-discovered-programs.md` says why.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod changes;
mod entry;
mod load;
mod pair;
mod plan;
mod sessions;
mod words;

pub use pair::{End, Overhead, Pair, PairId, Share, Traffic};
pub use plan::{Budget, Direction, Ends, Flow, Kind, Part, Plan, Wanted, plan};
pub use sessions::Sessions;
pub use words::{Action, Answer, Bound, Change, Limits, Listed, Ticket, Verdict, Way};
