//! The experiments of the MIDAS paper (its section VI) and of the Velox paper (figures 21 to 25), measured and judged.
#![forbid(unsafe_code)]

mod conclusion;
mod conduct;
mod contrast;
mod flood;
mod interrupts;
mod judge;
mod live;
mod losses;
mod member;
mod noting;
mod orders;
mod outcome;
mod page;
mod phases;
mod plot;
mod program;
mod publisher;
mod record;
mod report;
mod run;
mod sample;
mod scale;
mod setting;
mod simulated;
pub mod stalls;
mod subscriber;
mod text;
pub mod velox;

pub use conclusion::{BROKEN, HELD, VOID};
pub use publisher::{PublisherArguments, publish};
pub use run::{Arguments, run};
pub use subscriber::{SubscriberArguments, subscribe};
