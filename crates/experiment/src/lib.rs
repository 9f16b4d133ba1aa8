//! The experiment of the MIDAS paper (its section VI), measured and judged.
#![forbid(unsafe_code)]

mod conduct;
mod contrast;
mod flood;
mod interrupts;
mod judge;
mod live;
mod losses;
mod member;
mod orders;
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

pub use publisher::{PublisherArguments, publish};
pub use run::{Arguments, BROKEN, HELD, VOID, run};
pub use subscriber::{SubscriberArguments, subscribe};
