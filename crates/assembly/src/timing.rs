//! Times of handlers, hosts and transfers, on which bounds of chains rest. All times are picoseconds.
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::get::{flag, number, texts, time};
use crate::shape::is_name;
use crate::tree::Node;

/// How long a handler takes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Execution {
    /// At most, from its beginning to its end, without what others do meanwhile.
    pub worst: u64,
    /// Mostly.
    pub typical: Option<u64>,
    /// Its steps, in order. The rest of the worst time follows the last step.
    pub steps: Vec<ExecutionStep>,
    /// Whether this was measured; if not, it is declared.
    pub is_measured: bool,
}

/// A step of a handler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExecutionStep {
    /// It computes.
    Run {
        /// At least so long.
        least: u64,
        /// At most so long.
        most: u64,
    },
    /// It pushes to a port of its component, or calls what a receptacle is connected with.
    Use {
        /// The port.
        port: String,
        /// Whether it may also not do so.
        is_optional: bool,
    },
}

/// The costs of a host's processors and its clock.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Costs {
    /// Most time until a thread that is given work can run.
    pub wake: u64,
    /// Most time that a change of threads adds.
    pub switch: u64,
    /// Most time to take a delivery out of a queue.
    pub dispatch: u64,
    /// Most lateness of timers.
    pub slack: u64,
    /// How wrong the rate of its clock may be, in parts of a thousand million; 200,000 if not given.
    pub drift: Option<u32>,
    /// How wrong a reading of its clock may be against other hosts.
    pub clock_error: u64,
    /// Most time from a push until all frames of the event are handed to the port, if that is said.
    pub send: Option<u64>,
    /// Most time from the last frame of an event until it is in the queue of its consumer, if that is said.
    pub receive: Option<u64>,
    /// Most time that a probe takes of its core at each wake: there are probes if it is said, one of each process on each core of its lanes.
    pub probe: Option<u64>,
    /// Times for which each of its cores does other work.
    pub stalls: Vec<Stall>,
    /// How long threads of the class fifo may run in each period; 950 ms in each second if not given.
    pub throttling: Option<Throttling>,
    /// Whether these figures were measured; if not, they are declared.
    pub is_measured: bool,
}

/// At least that much is between two wakes of a probe, in picoseconds.
pub const PROBE_PERIOD: u64 = 500_000_000;

/// Something that keeps a core: firmware, a hypervisor, work of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stall {
    /// At most so long.
    pub length: u64,
    /// At least so long from one begin to the next.
    pub distance: u64,
}

/// The limit of the kernel for threads of the class fifo.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Throttling {
    /// Time in each period.
    pub runtime: u64,
    /// The period.
    pub period: u64,
}

/// How long an event is on its way from the push to the queue of the consumer, between processes or hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transfer {
    /// At least.
    pub least: u64,
    /// At most.
    pub most: u64,
    /// Whether this was measured; if not, it is declared.
    pub is_measured: bool,
}

/// Between the least and the most time of a step.
const TO: &str = " to ";

impl ExecutionStep {
    /// The step that a text says: `30 us`, `10 us to 30 us`, `position`, or `alarm?` if it may be left out.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some((least, most)) = text.split_once(TO) {
            let (least, most) = (diagnostics::picoseconds(least)?, diagnostics::picoseconds(most)?);
            return (least <= most).then_some(Self::Run { least, most });
        }
        if let Some(most) = diagnostics::picoseconds(text) {
            return Some(Self::Run { least: 0, most });
        }
        let (port, is_optional) = text.strip_suffix('?').map_or((text, false), |port| (port, true));
        is_name(port).then(|| Self::Use { port: port.to_string(), is_optional })
    }
}

impl fmt::Display for ExecutionStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run { least: 0, most } => f.write_str(&diagnostics::written(*most)),
            Self::Run { least, most } => {
                write!(f, "{}{TO}{}", diagnostics::written(*least), diagnostics::written(*most))
            }
            Self::Use { port, is_optional } => write!(f, "{port}{}", if *is_optional { "?" } else { "" }),
        }
    }
}

pub(crate) fn execution(node: &Node) -> Execution {
    Execution {
        worst: time(node, "worst").unwrap_or_default(),
        typical: time(node, "typical"),
        steps: texts(node, "steps").iter().filter_map(|step| ExecutionStep::parse(step)).collect(),
        is_measured: flag(node, "measured").unwrap_or_default(),
    }
}

pub(crate) fn costs(node: &Node) -> Costs {
    let time = |key| time(node, key).unwrap_or_default();
    let may = |key| crate::get::time(node, key);
    let stalls = node.get("stalls").map(Node::items).unwrap_or_default();
    Costs {
        wake: time("wake"),
        switch: time("switch"),
        dispatch: time("dispatch"),
        slack: time("slack"),
        drift: number(node, "clock-drift"),
        clock_error: time("clock-error"),
        send: may("send"),
        receive: may("receive"),
        probe: may("probe"),
        stalls: stalls.iter().map(stall).collect(),
        throttling: node.get("throttling").map(throttling),
        is_measured: flag(node, "measured").unwrap_or_default(),
    }
}

fn stall(node: &Node) -> Stall {
    let time = |key| time(node, key).unwrap_or_default();
    Stall { length: time("length"), distance: time("distance") }
}

fn throttling(node: &Node) -> Throttling {
    let time = |key| time(node, key).unwrap_or_default();
    Throttling { runtime: time("runtime"), period: time("period") }
}

pub(crate) fn transfer(node: &Node) -> Transfer {
    Transfer {
        least: time(node, "least").unwrap_or_default(),
        most: time(node, "most").unwrap_or_default(),
        is_measured: flag(node, "measured").unwrap_or_default(),
    }
}
