//! One writer and one to five readers without discovery: the scenario itself matches them, at different times on each
//! side, unmatches them, and gives them new paths, as discovery would.
mod config;
mod faults;
mod matching;
mod node;
mod publish;
mod run;

pub use config::{Config, ReaderPlan, Sizes};
pub use node::{PairNode, ReaderNode, WriterNode};

use super::{Outcome, Scenario};
use crate::coverage::Situation;
use crate::random::Random;
use crate::sabotage::Sabotage;
use crate::trace::Trace;

/// The scenario.
pub struct Pair;

impl Scenario for Pair {
    fn name(&self) -> &'static str {
        "pair"
    }

    fn about(&self) -> &'static str {
        "one writer, one to five readers, no discovery: delivery, repair and limits under faults"
    }

    fn required(&self) -> &'static [Situation] {
        &[
            Situation::Lost,
            Situation::LostInBurst,
            Situation::Duplicated,
            Situation::Reordered,
            Situation::Overflow,
            Situation::Cut,
            Situation::OneWayCut,
            Situation::Partition,
            Situation::Crash,
            Situation::Restart,
            Situation::LateJoin,
            Situation::Leave,
            Situation::Stall,
            Situation::SlowReader,
            Situation::AddressChange,
            Situation::ClockJump,
            Situation::Repair,
            Situation::AckNackAsks,
            Situation::NackFrag,
            Situation::DataFrag,
            Situation::Gap,
            Situation::Heartbeat,
            Situation::Batch,
            Situation::Multicast,
            Situation::Ipv6,
            Situation::WindowFull,
            Situation::HeldBack,
            Situation::Eviction,
            Situation::HeartbeatJump,
            Situation::SampleLost,
            Situation::History,
            Situation::Rematch,
            Situation::OneSidedRematch,
        ]
    }

    fn describe(&self, seed: u64) -> String {
        Config::draw(&mut Random::new(seed)).to_string()
    }

    fn run(&self, seed: u64, trace: Trace<'_>) -> Outcome {
        run::run(seed, trace, None)
    }
}

/// Runs a seed in which the process of the first reader is sabotaged after so many deliveries: to test the judge.
pub fn run_sabotaged(seed: u64, sabotage: Sabotage, after: u32) -> Outcome {
    run::run(seed, Trace::silent(), Some((sabotage, after)))
}
