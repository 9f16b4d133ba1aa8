//! Programs that do not ask: those of other vendors, and of our own without ASSURANCE. What they announce, and what an operator has described of
//! their topics, becomes requests for them.
//!
//! Nothing tells the samples of such a program's writers apart on the wire, nor from what acknowledges and repeats them. So all UDP from one host to
//! another that has no other contract is one flow, an aggregate ([`aggregate`]): its contract covers all topics that go that way, and every
//! pair of a writer and a reader of it is promised a latency by itself. `docs/decisions/0020-aggregates.md` says why.
pub mod aggregate;
mod asking;
mod between;
mod pattern;

use alloc::string::String;
use alloc::vec::Vec;
use wire::admission::Address;

use wire::Guid;

pub(crate) use asking::Foreign;
pub use pattern::fits;

/// What an operator knows of programs that do not ask.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Described {
    /// Topics; of several that fit a pair the first one counts.
    pub topics: Vec<Topic>,
    /// What goes besides samples.
    pub overhead: Overhead,
}

/// What is written to some topics. Times are in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topic {
    /// Their names: `*` stands for any text, `?` for any character.
    pub name: String,
    /// Hosts of the writers, by name; any if it is empty.
    pub from: Vec<String>,
    /// Hosts of the readers, by name; any if it is empty.
    pub to: Vec<String>,
    /// Bytes of the largest sample, serialized, with the encapsulation header.
    pub largest: u32,
    /// Bytes of a sample at least that go in one RTPS fragment, but for the last; not 0. What is smaller goes whole.
    pub fragment: u32,
    /// How often it is written.
    pub separation: Separation,
    /// Samples of one writer that may come at once; not 0.
    pub burst: u32,
    /// How much later than it should a program hands a sample to the port of its host.
    pub jitter: u64,
    /// Most time from the first frame of a sample handed over to the last one.
    pub emission: u64,
    /// Samples of one writer that are repeated in a second at most, for one reader.
    pub repairs: u32,
    /// The latency that is asked for; `None` if the topic is described only because it goes the same way as others.
    pub latency: Option<Limit>,
    /// Who yields: those with the smaller number.
    pub importance: Importance,
}

/// Least time between the samples of a writer, in the long run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Separation {
    /// So many nanoseconds.
    Fixed(u64),
    /// The period of the writer's DEADLINE: it writes once in each, and no more.
    Deadline,
}

/// The latency that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// So many nanoseconds.
    Fixed(u64),
    /// The LATENCY_BUDGET that the reader has requested, which the one offered by a writer that matches never exceeds.
    Budget,
}

/// Who yields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Importance {
    /// This number.
    Fixed(u8),
    /// The writer's TRANSPORT_PRIORITY; what is below 0 counts as 0, what is above 255 as 255.
    Priority,
}

/// What goes between two hosts besides the samples of topics. Times are in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overhead {
    /// Least time between two HEARTBEATs of a reliable writer beyond one for each sample.
    pub heartbeat: u64,
    /// Full frames of anything else in one direction, such as discovery that comes by the port of samples: so many at once.
    pub burst: u32,
    /// And so far apart in the long run.
    pub separation: u64,
}

impl Default for Overhead {
    fn default() -> Self {
        Self { heartbeat: 100_000_000, burst: 4, separation: 50_000_000 }
    }
}

/// A writer or reader that has been found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// The endpoint.
    pub guid: Guid,
    /// Whether it writes.
    pub is_writer: bool,
    /// Topic.
    pub topic: String,
    /// Type.
    pub kind: String,
    /// Whether it is RELIABLE.
    pub is_reliable: bool,
    /// Whether it has ASSURANCE: if both ends have, the reader asks for the pair by itself.
    pub is_assured: bool,
    /// Addresses where it receives, or its participant if it writes, each once; without those of the host itself.
    pub addresses: Vec<Address>,
    /// Groups from which it is announced to receive, too.
    pub groups: Vec<Address>,
    /// The period of its DEADLINE, in nanoseconds; 0 if it has none.
    pub deadline: u64,
    /// Its LATENCY_BUDGET, in nanoseconds; 0 if it says nothing.
    pub latency_budget: u64,
    /// TRANSPORT_PRIORITY.
    pub transport_priority: i32,
}
