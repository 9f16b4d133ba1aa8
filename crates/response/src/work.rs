//! Arithmetic that is checked, work that is limited, and why there is no bound.
use core::cell::Cell;
use core::fmt;

use crate::system::Time;

/// How much an analysis may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Steps, each of which evaluates a part of an arrival curve or less.
    pub steps: u64,
    /// A busy window that is longer than this counts as one without end, in nanoseconds.
    pub horizon: Time,
}

impl Default for Limits {
    /// 50 million steps, some seconds at most; busy windows up to an hour.
    fn default() -> Self {
        Self { steps: 50_000_000, horizon: 3_600_000_000_000 }
    }
}

/// Why something has no bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A lane of scheduling *other* serves the port: the bound depends on all the host does (P4).
    Host {
        /// The port.
        port: usize,
    },
    /// The cores of the lane have more work than time, or so nearly that no end of their busy window was found (B8).
    Overload {
        /// The lane.
        lane: usize,
    },
    /// The stalls of a host leave no time.
    Stalls {
        /// The host.
        host: usize,
    },
    /// A *let* port may not have ended when its outputs are due (T1).
    Overrun {
        /// The port.
        port: usize,
    },
    /// A deadline lane with several threads is not analysed.
    DeadlineThreads {
        /// The lane.
        lane: usize,
    },
    /// A queue on the chain, or one that refuses for it, may be full.
    Backlog {
        /// The port of the queue.
        port: usize,
    },
    /// The event that the chain waits for at this port may never come, or not within any known time.
    NeverComes {
        /// The port of a join, or the one that writes or reads a register.
        port: usize,
    },
    /// A join may give up what it kept.
    GivesUp {
        /// The port of the join.
        port: usize,
    },
    /// Events of other sources may take the place of those of the chain, in a register or a part of a join.
    Displaced {
        /// The port that reads the register, or that has the join.
        port: usize,
    },
    /// Events of the chain may overtake each other before a register or a join, since several threads work on a parallel port.
    Overtaken {
        /// The port that reads the register, or that has the join.
        port: usize,
    },
    /// A figure exceeds 64 bits.
    Overflow,
    /// The analysis has taken all the steps it may.
    Steps,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host { port } => {
                write!(
                    f,
                    "no bound: host: a lane of scheduling other serves port {port}; give it a fifo or deadline lane"
                )
            }
            Self::Overload { lane } => {
                write!(
                    f,
                    "no bound: the cores of lane {lane} have more work than time; take work away or use another core"
                )
            }
            Self::Stalls { host } => write!(f, "no bound: the declared stalls of host {host} leave no time"),
            Self::Overrun { port } => {
                write!(
                    f,
                    "no bound: port {port} may not have ended when its outputs are due; lengthen its interval"
                )
            }
            Self::DeadlineThreads { lane } => {
                write!(
                    f,
                    "no bound: deadline lane {lane} has several threads, which is not analysed; use a lane for each"
                )
            }
            Self::Backlog { port } => {
                write!(
                    f,
                    "no bound: the queue of port {port} may be full; see its backlog for the depth it needs"
                )
            }
            Self::NeverComes { port } => {
                write!(
                    f,
                    "no bound: what port {port} waits for has no longest distance; use certain pushes and periodic sources"
                )
            }
            Self::GivesUp { port } => {
                write!(f, "no bound: the join of port {port} may give up what it kept; lengthen its time")
            }
            Self::Displaced { port } => {
                write!(
                    f,
                    "no bound: other events may displace those of the chain at port {port}; separate them"
                )
            }
            Self::Overtaken { port } => {
                write!(
                    f,
                    "no bound: events may overtake each other before port {port}; serve the port before by one thread"
                )
            }
            Self::Overflow => f.write_str("no bound: a time exceeds 64 bits"),
            Self::Steps => f.write_str("no bound: the analysis has taken all its steps; allow more"),
        }
    }
}

/// A bound, or why there is none.
pub type Bound = Result<Time, Reason>;

/// The steps that are left.
pub(crate) struct Work {
    left: Cell<u64>,
}

impl Work {
    pub(crate) fn new(steps: u64) -> Self {
        Self { left: Cell::new(steps) }
    }

    /// How many are left.
    pub(crate) fn left(&self) -> u64 {
        self.left.get()
    }

    pub(crate) fn step(&self) -> Result<(), Reason> {
        self.left.set(self.left.get().checked_sub(1).ok_or(Reason::Steps)?);
        Ok(())
    }
}

pub(crate) fn add(a: u64, b: u64) -> Bound {
    a.checked_add(b).ok_or(Reason::Overflow)
}

pub(crate) fn mul(a: u64, b: u64) -> Bound {
    a.checked_mul(b).ok_or(Reason::Overflow)
}

/// `value * numerator / denominator`, rounded up.
pub(crate) fn scale(value: u64, numerator: u64, denominator: u64) -> Bound {
    if denominator == 0 {
        return Err(Reason::Overflow);
    }
    let product = u128::from(value) * u128::from(numerator);
    u64::try_from(product.div_ceil(u128::from(denominator))).map_err(|_| Reason::Overflow)
}

/// How many events fit in a closed window if they are so far apart and vary so much: `(window + jitter) / distance + 1`.
pub(crate) fn fit(window: Time, jitter: Time, distance: Time) -> Bound {
    add(add(window, jitter)?.checked_div(distance).ok_or(Reason::Overflow)?, 1)
}

/// How wrong a time of a clock with this drift may be (C1).
pub(crate) fn skew(time: Time, drift: u64) -> Bound {
    scale(time, drift, 1_000_000_000)
}
