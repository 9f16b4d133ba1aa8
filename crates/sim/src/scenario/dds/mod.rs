//! Two to eight participants of the public API with discovery, on hosts of one or two segments: several topics with instances, and
//! the QoS that decides what an application gets.
mod application;
mod config;
mod deadline;
mod faults;
mod finish;
mod host;
mod judge;
mod liar;
mod machine;
mod make;
mod node;
mod publish;
mod room;
mod run;
mod sabotage;
mod seen;
mod setup;
mod sharing;
mod types;
mod view;

pub use config::{Config, EndpointPlan, Families, ParticipantPlan, Reads, Sizes, TopicPlan, Writes};
pub use host::VirtualHost;
pub use node::DdsNode;
pub use sabotage::Mutation;

use super::{Outcome, Scenario};
use crate::coverage::Situation;
use crate::random::Random;
use crate::sabotage::Sabotage;
use crate::trace::Trace;

/// The scenario.
pub struct Dds;

impl Scenario for Dds {
    fn name(&self) -> &'static str {
        "dds"
    }

    fn about(&self) -> &'static str {
        "two to eight participants of the public API: discovery, instances, QoS, statuses and limits under faults"
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
            Situation::SampleLost,
            Situation::HeartbeatJump,
            Situation::History,
            Situation::Rematch,
            Situation::OneSidedRematch,
            Situation::LeaseExpired,
            Situation::NotMatched,
            Situation::LivelinessLost,
            Situation::SocketFull,
            Situation::ReaderFull,
            Situation::Replaced,
            Situation::NotOwned,
            Situation::HandOver,
            Situation::OutOfOrder,
            Situation::Expired,
            Situation::Disposed,
            Situation::NoWriters,
            Situation::Reborn,
            Situation::DeadlineMissed,
            Situation::TakenInCallback,
            Situation::Repartition,
            Situation::Replacement,
        ]
    }

    fn describe(&self, seed: u64) -> String {
        Config::draw(&mut Random::new(seed)).to_string()
    }

    fn run(&self, seed: u64, trace: Trace<'_>) -> Outcome {
        run::run(seed, trace, None, None, false)
    }
}

/// The scenario of participants that share memory.
pub struct Links;

impl Scenario for Links {
    fn name(&self) -> &'static str {
        "links"
    }

    fn about(&self) -> &'static str {
        "the participants of dds on few machines, with shared memory: others die, stall, lie, are full, and connections are cut"
    }

    fn required(&self) -> &'static [Situation] {
        &[
            Situation::LinkBegun,
            Situation::LinkEnded,
            Situation::ByLink,
            Situation::RingFull,
            Situation::RingLost,
            Situation::LinkCut,
            Situation::Lie,
            Situation::LiarFound,
            Situation::Crash,
            Situation::Restart,
            Situation::Leave,
            Situation::Stall,
        ]
    }

    fn describe(&self, seed: u64) -> String {
        let mut random = Random::new(seed);
        let mut config = Config::draw(&mut random);
        let machine = machine::Machine::draw(random.fork(), &mut config);
        format!("{config}\n{machine}")
    }

    fn run(&self, seed: u64, trace: Trace<'_>) -> Outcome {
        run::run(seed, trace, None, None, true)
    }
}

/// Runs a seed in which the process of the first participant is sabotaged after so many deliveries: to test the judge.
pub fn run_sabotaged(seed: u64, sabotage: Sabotage, after: u32) -> Outcome {
    run::run(seed, Trace::silent(), Some((sabotage, after)), None, false)
}

/// Runs a seed in which all endpoints behave otherwise than the judge is told.
pub fn run_mutated(seed: u64, mutation: Mutation) -> Outcome {
    run::run(seed, Trace::silent(), None, Some(mutation), false)
}
