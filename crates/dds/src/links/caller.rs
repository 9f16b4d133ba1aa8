//! Calls for the thread that meets other processes, and for the one that starts it.
use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wire::GuidPrefix;
use wire::discovery::SharedMemory;
use wire::sorted::SortedMap;

/// Calls a thread, and never waits; one call may stand for several.
pub type Ring = Box<dyn Fn() + Send + Sync>;

/// What the thread that meets others is asked for.
#[derive(Debug)]
pub(super) enum Wish {
    /// There is a participant that may be met.
    Meet(GuidPrefix, SharedMemory),
    /// It is gone.
    Leave(GuidPrefix),
    /// A link was closed because the other side wrote nonsense.
    GiveUp(NonZeroU32),
}

/// Calls the thread that meets other processes, and the one that starts it; never waits.
#[derive(Debug)]
pub(super) struct Caller {
    line: Mutex<Line>,
}

#[derive(Debug)]
struct Line {
    wishes: Vec<Wish>,
    /// Participants to connect with, as it was asked for last.
    met: SortedMap<GuidPrefix, SharedMemory>,
    to: To,
}

/// The thread that is notified.
enum To {
    /// The thread that starts connecting with others.
    Starter(Ring),
    /// The thread that connects with others.
    Meeter(Ring),
    /// All is over.
    Nobody,
}

impl Caller {
    pub(super) fn new(starter: Ring) -> Self {
        let line = Line { wishes: Vec::new(), met: SortedMap::new(), to: To::Starter(starter) };
        Self { line: Mutex::new(line) }
    }

    /// From now on there is a thread that meets other processes.
    pub(super) fn begin(&self, ring: Ring) {
        let mut line = self.line();
        line.to = To::Meeter(ring);
        line.call();
    }

    pub(super) fn is_to_begin(&self) -> bool {
        let line = self.line();
        matches!(line.to, To::Starter(_)) && !line.met.is_empty()
    }

    /// Once for each participant, as long as it announces the same.
    pub(super) fn meet(&self, prefix: GuidPrefix, memory: SharedMemory) {
        let mut line = self.line();
        if line.met.insert(prefix, memory) != Some(memory) {
            line.ask(Wish::Meet(prefix, memory));
        }
    }

    pub(super) fn leave(&self, prefix: GuidPrefix) {
        let mut line = self.line();
        if line.met.remove(&prefix).is_some() {
            line.ask(Wish::Leave(prefix));
        }
    }

    pub(super) fn give_up(&self, number: NonZeroU32) {
        self.line().ask(Wish::GiveUp(number));
    }

    /// No thread is called any more.
    pub(super) fn close(&self) {
        let mut line = self.line();
        *line = Line { wishes: Vec::new(), met: SortedMap::new(), to: To::Nobody };
    }

    pub(super) fn has_wishes(&self) -> bool {
        !self.line().wishes.is_empty()
    }

    pub(super) fn take(&self) -> Vec<Wish> {
        std::mem::take(&mut self.line().wishes)
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn ask(&mut self, wish: Wish) {
        if !matches!(self.to, To::Nobody) {
            self.wishes.push(wish);
            self.call();
        }
    }

    fn call(&self) {
        match &self.to {
            To::Starter(ring) | To::Meeter(ring) => ring(),
            To::Nobody => {}
        }
    }
}

impl fmt::Debug for To {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Starter(_) => "Starter",
            Self::Meeter(_) => "Meeter",
            Self::Nobody => "Nobody",
        })
    }
}
