//! The state of a simulation: cores, threads, locks, ports, and the origins that values carry.
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::connections::NO_PASSAGE;
use super::queues::Via;
use crate::system::{Entry, MOST_CHAINS, Port, Scheduling};

/// What something stems from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origins {
    /// For each chain the oldest and the newest event (B2).
    chains: [(u32, u32); MOST_CHAINS],
    /// The events of connections that it came with, as a place in the engine's list of passages.
    pub(super) came: u32,
}

impl Origins {
    pub(crate) const NONE: Self = Self { chains: [(u32::MAX, 0); MOST_CHAINS], came: NO_PASSAGE };

    pub(crate) fn get(&self, chain: usize) -> Option<(u32, u32)> {
        self.chains.get(chain).copied().filter(|(oldest, _)| *oldest != u32::MAX)
    }

    pub(crate) fn set(&mut self, chain: usize, event: u32) {
        self.chains[chain] = (event, event);
    }

    /// Of chains alone; [`super::Engine::gather`] does all.
    pub(super) fn merge(&mut self, other: &Self) {
        for (own, other) in self.chains.iter_mut().zip(&other.chains) {
            *own = (own.0.min(other.0), own.1.max(other.1));
        }
    }

    /// Of the chains that are bits of `passed`.
    pub(crate) fn only(&self, passed: u8) -> Self {
        let mut left = Self::NONE;
        for chain in 0..MOST_CHAINS {
            if passed & 1 << chain != 0 {
                left.chains[chain] = self.chains[chain];
            }
        }
        left
    }
}

#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) host: usize,
    pub(crate) threads: Vec<usize>,
    pub(crate) running: Option<usize>,
    /// Up to when the time of the running thread is counted; later than now during a stall.
    pub(crate) since: u64,
    /// The thread that it ran last.
    pub(crate) last: Option<usize>,
    /// Grows with each change, so that planned events of before are known.
    pub(crate) version: u64,
    /// When the running thread has something to do next, if that is planned.
    pub(crate) planned: Option<u64>,
    pub(crate) frozen_until: u64,
    /// Time of stalls that is not counted yet.
    pub(crate) stalled: u64,
    /// Time of fifo threads in this window.
    pub(crate) used: u64,
    /// Since when that is all that they get.
    pub(crate) used_up: Option<u64>,
    pub(crate) is_throttled: bool,
}

impl Core {
    pub(crate) fn new(host: usize) -> Self {
        Self {
            host,
            threads: Vec::new(),
            running: None,
            since: 0,
            last: None,
            version: 0,
            planned: None,
            frozen_until: 0,
            stalled: 0,
            used: 0,
            used_up: None,
            is_throttled: false,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ThreadState {
    Asleep,
    Waking,
    /// Can run, or runs.
    Ready,
    /// Waits for a lock.
    Blocked,
}

/// The state of a constant bandwidth server (P5).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server {
    pub(crate) runtime: u64,
    pub(crate) relative: u64,
    pub(crate) period: u64,
    pub(crate) budget: i64,
    pub(crate) deadline: u64,
    pub(crate) has_begun: bool,
    pub(crate) is_throttled: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// It takes the delivery.
    Dispatch,
    /// It needs the lock.
    Lock,
    /// It runs the handler.
    Handler,
}

/// A handler at work.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) port: usize,
    pub(crate) stage: Stage,
    pub(crate) step: usize,
    pub(crate) origins: Origins,
    /// Since when it is called for (B6).
    pub(crate) called: u64,
    pub(crate) has_lock: bool,
    /// The output whose direct connections are called, which of them is next, and since when.
    pub(crate) calling: Option<(usize, usize, u64)>,
    /// The run in logical execution time.
    pub(crate) run: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) lane: usize,
    pub(crate) core: usize,
    pub(crate) state: ThreadState,
    /// Its own priority; 0 is none.
    pub(crate) own: u8,
    /// With what it inherits.
    pub(crate) priority: u8,
    /// Its place in the list of its priority.
    pub(crate) place: i64,
    pub(crate) server: Option<Server>,
    pub(crate) frames: Vec<Frame>,
    /// The time that changes of threads have added.
    pub(crate) overhead: u64,
    /// The rest of the step.
    pub(crate) left: u64,
    /// Whether it has just had all the time of a step.
    pub(crate) is_ending: bool,
}

impl Thread {
    pub(crate) fn new(lane: usize, core: usize, scheduling: Scheduling) -> Self {
        let own = if let Scheduling::Fifo { priority } = scheduling { priority } else { 0 };
        let server = match scheduling {
            Scheduling::Deadline { runtime, deadline, period } => Some(Server {
                runtime,
                relative: deadline,
                period,
                budget: 0,
                deadline: 0,
                has_begun: false,
                is_throttled: false,
            }),
            _ => None,
        };
        Self {
            lane,
            core,
            state: ThreadState::Asleep,
            own,
            priority: own,
            place: 0,
            server,
            frames: Vec::new(),
            overhead: 0,
            left: 0,
            is_ending: false,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Lock {
    pub(crate) owner: Option<usize>,
    /// In the order in which they came.
    pub(crate) waiting: Vec<usize>,
}

/// A delivery in a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub(crate) number: u64,
    pub(crate) entered: u64,
    pub(crate) called: u64,
    pub(crate) origins: Origins,
    pub(crate) via: Via,
    pub(crate) run: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct PortState {
    pub(crate) queue: VecDeque<Delivery>,
    /// How many threads work on its deliveries.
    pub(crate) busy: u32,
    pub(crate) registers: Vec<Origins>,
    /// For each part of its join what is kept.
    pub(crate) parts: Vec<Vec<Origins>>,
    /// Grows when the parts are emptied.
    pub(crate) joined: u64,
}

impl PortState {
    pub(crate) fn new(port: &Port) -> Self {
        let parts = match port.entry {
            Entry::Queued { join: Some(join), .. } => join.parts,
            _ => 0,
        };
        Self {
            queue: VecDeque::new(),
            busy: 0,
            registers: vec![Origins::NONE; port.registers],
            parts: vec![Vec::new(); parts],
            joined: 0,
        }
    }

    pub(crate) fn waits_of_source(&self, source: usize) -> bool {
        self.queue.iter().any(|delivery| delivery.via == Via::Source(source))
    }
}

/// On the way to another host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub(crate) connection: usize,
    pub(crate) origins: Origins,
    pub(crate) at: u64,
}

/// A run in logical execution time (T1).
#[derive(Debug)]
pub(crate) struct LetRun {
    pub(crate) port: usize,
    pub(crate) outputs: Vec<usize>,
    pub(crate) origins: Origins,
    pub(crate) called: u64,
    pub(crate) is_done: bool,
    pub(crate) is_due: bool,
}

#[derive(Debug)]
pub(crate) struct ChainState {
    /// The instants of its events.
    pub(crate) dues: Vec<u64>,
    /// How many were answered.
    pub(crate) answered: usize,
}
