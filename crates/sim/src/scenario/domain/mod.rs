//! Two to eight participants with discovery, on hosts of one or two segments, several topics, QoS and partitions.
mod config;
mod faults;
mod node;
mod publish;
mod run;
mod setup;

pub use config::{Config, EndpointPlan, Families, ParticipantPlan, Sizes};
pub use node::DomainNode;

use super::{Outcome, Scenario};
use crate::coverage::Situation;
use crate::random::Random;
use crate::sabotage::Sabotage;
use crate::trace::Trace;

/// The scenario.
pub struct Domain;

impl Scenario for Domain {
    fn name(&self) -> &'static str {
        "domain"
    }

    fn about(&self) -> &'static str {
        "two to eight participants with discovery: matching, leases, delivery and limits under faults"
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
            Situation::Spoofed,
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
            Situation::History,
            Situation::Rematch,
            Situation::OneSidedRematch,
            Situation::LeaseExpired,
            Situation::NotMatched,
            Situation::LivelinessLost,
        ]
    }

    fn describe(&self, seed: u64) -> String {
        Config::draw(&mut Random::new(seed)).to_string()
    }

    fn run(&self, seed: u64, trace: Trace<'_>) -> Outcome {
        run::run(seed, trace, None)
    }
}

/// Runs a seed in which the process of the first participant is sabotaged after so many deliveries: to test the judge.
pub fn run_sabotaged(seed: u64, sabotage: Sabotage, after: u32) -> Outcome {
    run::run(seed, Trace::silent(), Some((sabotage, after)))
}
