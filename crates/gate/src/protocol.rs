//! What the agent of a switch's gates is asked and answers: values that travel as one line of JSON each.
//!
//! An answer belongs to the oldest request that has none yet. What a change answers is read back from the gates. Who connects asks for
//! the version first and goes on only if it is its own ([`check_version`]): an agent of another build would not do what is meant.
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::contract::{Contract, Key};

/// The version of these lines, and of what contracts mean. Version 1 knew messages only, and no request for a version; version 2 no epochs, and
/// no contracts for all UDP between two addresses; version 3 no IPv6.
pub const VERSION: u32 = 4;
/// The most bytes of a request, without the end of its line.
pub const LONGEST_REQUEST: usize = 4_096;
/// The most contracts of an agent.
pub const MOST_CONTRACTS: u32 = 1_024;
/// Frames without a contract that a port lets through in a second, by default.
pub const USUAL_LIMIT: u32 = 20_000;
/// The largest limit that can be set, in frames per second.
pub const LARGEST_LIMIT: u32 = 10_000_000;
/// Frames without a contract that may come at once.
pub const LIMIT_BURST: u32 = 64;

/// What is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Asks for the version of the agent.
    Version,
    /// Says of which manager this connection is. From then on no connection of a lower epoch changes anything; those that have not said one
    /// are hands that tools have, and not bound to it.
    Lead {
        /// The epoch of the manager.
        epoch: u64,
    },
    /// Gives a flow a contract, or another one without forgetting what it has sent.
    Set {
        /// The number of the switch's port where the flow comes in.
        port: u32,
        /// The flow.
        key: Key,
        /// What it may send.
        contract: Contract,
    },
    /// Takes the contract of a flow away.
    Remove {
        /// The number of the switch's port.
        port: u32,
        /// The flow.
        key: Key,
    },
    /// Takes all contracts away, at all ports; limits stay.
    Clear,
    /// Asks for everything that is set, with counters.
    List,
    /// Limits what comes in without a contract.
    Limit {
        /// The number of the switch's port.
        port: u32,
        /// Frames per second, from 1 to [`LARGEST_LIMIT`].
        frames: u32,
    },
}

/// What was done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// The version of the agent.
    Version {
        /// [`VERSION`] of its build.
        version: u32,
    },
    /// The connection is of the manager of this epoch.
    Leads {
        /// The epoch.
        epoch: u64,
    },
    /// The contract that the flow has now.
    Set {
        /// The number of the switch's port.
        port: u32,
        /// The flow.
        key: Key,
        /// Its contract.
        contract: Contract,
    },
    /// The flow has no contract any more.
    Removed {
        /// The number of the switch's port.
        port: u32,
        /// The flow.
        key: Key,
        /// What was counted under the contract; `None` if there was none.
        counters: Option<Counters>,
    },
    /// No flow has a contract any more.
    Cleared {
        /// How many had one.
        contracts: u32,
    },
    /// Everything that is set.
    List {
        /// The ports that have a gate, by number.
        ports: Vec<PortState>,
        /// The contracts, by port and key.
        contracts: Vec<ContractState>,
    },
    /// The limit that the port has now.
    Limit {
        /// The number of the switch's port.
        port: u32,
        /// Frames per second.
        frames: u32,
    },
    /// Nothing was done.
    Refused {
        /// Why, for programs.
        reason: Refusal,
        /// What is wrong and what to do, for people.
        what: String,
    },
}

/// Why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// The line is no request, or too long.
    Malformed,
    /// A number is out of its range.
    Range,
    /// No gate is at a port with this number.
    Port,
    /// There are [`MOST_CONTRACTS`] contracts.
    Full,
    /// The manager of a higher epoch has connected.
    Stale,
    /// The kernel refused, or gave back something else than was set.
    Kernel,
}

/// A port with a gate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PortState {
    /// Its number.
    pub port: u32,
    /// The name of its interface.
    pub interface: String,
    /// Frames without a contract that it lets through, per second.
    pub limit: u32,
    /// What came in without a contract.
    pub others: Others,
}

/// Frames that came in without a contract, and the excess of buckets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Others {
    /// IPv4 or IPv6: they went on, as best effort.
    pub best_effort: u64,
    /// Neither IPv4 nor IPv6, in a VLAN or not: they went on.
    pub other: u64,
    /// Dropped: above the limit.
    pub limited: u64,
    /// Of [`Self::best_effort`]: fragments.
    pub fragments: u64,
    /// Dropped: longer than a frame may be.
    pub too_long: u64,
    /// Dropped: with a tag that is of no VLAN (IEEE 802.1Q, with id 0 or 4,095), one of IEEE 802.1ad, or two. Those of a VLAN are the switch's to
    /// drop if their port is not in it.
    pub tagged: u64,
    /// Dropped: too short for what they say they are.
    pub broken: u64,
}

/// A contract and what was counted under it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ContractState {
    /// The number of the switch's port.
    pub port: u32,
    /// The flow.
    pub key: Key,
    /// Its contract.
    pub contract: Contract,
    /// What was counted.
    pub counters: Counters,
}

/// What was counted under a contract. Of messages nothing is excess; of a bucket nothing is early, rest or cut, and the excess is
/// among [`Others`] too.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Counters {
    /// Messages that were let through, or begun; of a bucket, frames.
    pub messages: u64,
    /// Frames that were let through with the contract's codepoint.
    pub frames: u64,
    /// Bytes on the wire of these frames.
    pub octets: u64,
    /// Frames dropped: the first of a message that came early, or was larger than a whole one.
    pub early: u64,
    /// Frames dropped: behind a refused one.
    pub rest: u64,
    /// Frames dropped: for which the open message had no room.
    pub cut: u64,
    /// Frames for which a bucket had no room: they were treated as what has no contract.
    pub excess: u64,
}

impl Counters {
    /// Frames that were dropped.
    pub const fn dropped(&self) -> u64 {
        self.early + self.rest + self.cut
    }
}

impl Request {
    /// Checks the numbers of the request.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Set { key, contract, .. } => {
                key.check().and_then(|()| contract.check()).map_err(|error| error.to_string())
            }
            Self::Limit { frames, .. } if !(1..=LARGEST_LIMIT).contains(frames) => {
                Err(alloc::format!("a limit of {frames} frames per second: give 1 to {LARGEST_LIMIT}"))
            }
            Self::Version
            | Self::Lead { .. }
            | Self::Remove { .. }
            | Self::Clear
            | Self::List
            | Self::Limit { .. } => Ok(()),
        }
    }
}

/// Whether an agent that answered this to [`Request::Version`] can be worked with.
///
/// # Errors
/// What is wrong and what to do.
pub fn check_version(answer: &Answer) -> Result<(), String> {
    const REMEDY: &str = "start the agent (`punctual gate serve`) of the same build";
    match answer {
        Answer::Version { version: VERSION } => Ok(()),
        Answer::Version { version } => Err(alloc::format!(
            "the agent of the gates speaks version {version}, and this program {VERSION}: {REMEDY}"
        )),
        Answer::Refused { reason: Refusal::Malformed, .. } => Err(alloc::format!(
            "the agent of the gates speaks version 1, and this program {VERSION}: {REMEDY}"
        )),
        Answer::Refused { what, .. } => {
            Err(alloc::format!("the agent of the gates does not serve us: {what}"))
        }
        other => Err(alloc::format!("the agent of the gates does not say its version, but {other:?}")),
    }
}
