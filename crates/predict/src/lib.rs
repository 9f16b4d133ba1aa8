//! Predicts how long samples take from write to read.
//!
//! A [`Path`] is a host that writes, hops, a host that reads, and the topics that go along it. [`predict`] makes percentiles of the latency of
//! one topic from it: stages are added up as distributions, and queues are those of queueing theory. [`calibrate`] finds what the stages of the
//! hosts cost from [`Record`]s, and how far predictions were from records that had no part in them: that makes [`Intervals`].
//!
//! A prediction is no bound. Nothing here reads a clock or draws a random number: the same input has the same output.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod calibration;
mod comparison;
mod description;
mod distribution;
mod losses;
mod path_file;
mod prediction;
mod quantity;
mod queue;
mod record_file;
mod report;
mod servers;
mod tables;

pub use calibration::{
    Calibration, Intervals, LEAST_RECORDS, MOST_RECORDS, Score, TooFew, calibrate, known_stages,
};
pub use comparison::{Kind, Model, comparisons};
pub use description::{Arrivals, Cost, Durability, Hop, Idle, Path, Record, Reliability, Stages, Topic};
pub use path_file::read_path;
pub use prediction::{COARSE, FINE, Overload, PERCENTILES, Prediction, Stage, predict};
pub use record_file::read_records;
pub use report::{Predicted, Supported, host_share, json, supported, text};
