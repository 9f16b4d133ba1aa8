//! The experiment of the MIDAS paper (its section VI), measured and judged.
#![forbid(unsafe_code)]

mod judge;
mod member;
mod orders;
mod publisher;
mod record;
mod sample;
mod setting;
mod subscriber;

pub use publisher::{PublisherArguments, publish};
pub use subscriber::{SubscriberArguments, subscribe};
