//! Conditions and WaitSets (DDS 1.4, 2.2.2.1.6 to 2.2.2.1.9).
mod guard;
mod query;
mod read;
mod signal;
mod status;
mod waitset;

pub use guard::GuardCondition;
pub use query::QueryCondition;
pub use read::ReadCondition;
pub use status::StatusCondition;
pub(crate) use waitset::Query;
pub use waitset::{Condition, WaitSet};
