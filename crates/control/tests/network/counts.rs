//! How often each kind of fault has really happened.
use std::collections::BTreeMap;
use std::fmt;

/// What can go wrong around a manager.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Fault {
    /// Octets arrived that end within a message.
    MessageCut,
    /// A connection ended with octets on the way.
    OctetsLost,
    /// A connection ended when some octets of a message had arrived and others had not.
    MessageTorn,
    /// A connection carried nothing any more, without anybody being told.
    LineStalled,
    /// An answer came before the answer to something that had been asked for earlier.
    AnswerOvertaken,
    /// A switch did messages in another order than they were said, between two barriers.
    Reordered,
    /// The connection to an agent of gates ended with a request under way.
    AgentLost,
    /// A change failed.
    ChangeFailed,
    /// The store refused.
    StoreFailed,
    /// A manager crashed: what it wanted to be stored was not.
    CrashBeforeCommit,
    /// A manager crashed: what it wanted to be stored was, and it did not know.
    CrashAfterCommit,
    /// A manager crashed when a change of a switch or of gates was under way.
    CrashWithinChange,
    /// A participant crashed, and everybody knew at once.
    ClientCrashed,
    /// A participant crashed, and was back with another GUID before it was missed.
    ClientBackEarly,
    /// Two cables were pulled, and plugged in the wrong way round.
    CablesSwapped,
    /// Two hosts changed their places.
    HostsMoved,
    /// A cable negotiated another speed.
    SlowLink,
    /// A switch was drained.
    Drained,
    /// No fault: cables that were swapped were found.
    SwapFound,
    /// No fault: a reader was served by a tree.
    ServedByTree,
}

impl Fault {
    pub(crate) const ALL: [Self; 20] = [
        Self::MessageCut,
        Self::OctetsLost,
        Self::MessageTorn,
        Self::LineStalled,
        Self::AnswerOvertaken,
        Self::Reordered,
        Self::AgentLost,
        Self::ChangeFailed,
        Self::StoreFailed,
        Self::CrashBeforeCommit,
        Self::CrashAfterCommit,
        Self::CrashWithinChange,
        Self::ClientCrashed,
        Self::ClientBackEarly,
        Self::CablesSwapped,
        Self::HostsMoved,
        Self::SlowLink,
        Self::Drained,
        Self::SwapFound,
        Self::ServedByTree,
    ];
}

/// Counters of faults.
#[derive(Clone, Default)]
pub(crate) struct Counts(BTreeMap<Fault, usize>);

impl Counts {
    pub(crate) fn add(&mut self, fault: Fault) {
        *self.0.entry(fault).or_default() += 1;
    }

    pub(crate) fn add_if(&mut self, happened: bool, fault: Fault) {
        if happened {
            self.add(fault);
        }
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        for (fault, count) in &other.0 {
            *self.0.entry(*fault).or_default() += count;
        }
    }

    pub(crate) fn of(&self, fault: Fault) -> usize {
        self.0.get(&fault).copied().unwrap_or(0)
    }
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.0).finish()
    }
}
