//! How often each kind of fault has really happened.
use std::collections::BTreeMap;
use std::fmt;

/// What can go wrong around a manager.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Fault {
    /// Bytes arrived that end within a message.
    MessageCut,
    /// A connection ended with bytes on the way.
    OctetsLost,
    /// A connection ended when some bytes of a message had arrived and others had not.
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
    /// A cable lost what it carried while both of its ports were up.
    SilentCut,
    /// A cable negotiated another speed.
    SlowLink,
    /// A switch was drained.
    Drained,
    /// A manager began, and a switch was drained.
    DrainedAtStart,
    /// A manager was told that another one has taken its place, or was stopped for a while, and went on.
    TakenOver,
    /// A switch, a gate or the store refused what a manager wanted that does not lead any more.
    FormerRefused,
    /// The network file was changed, and applied.
    FileChanged,
    /// The network file was changed so that flows could not be kept, and not applied.
    FileRefused,
    /// The network file was changed and stored, and the manager that asked for that crashed before it knew so: the next one went by it.
    FileLed,
    /// The same, and the manager took it back.
    FileTakenBack,
    /// A request, or a withdrawal, was forged or came again.
    Forged,
    /// No fault: a request was refused because of the policy.
    Forbidden,
    /// No fault: a request was refused because there were too many.
    TooMany,
    /// No fault: a program that does not ask was served.
    ServedUnasked,
    /// No fault: the same over IPv6.
    ServedUnaskedOverIpv6,
    /// No fault: cables that were swapped were found.
    SwapFound,
    /// No fault: a cable that lost what it carried was found.
    SilenceFound,
    /// No fault: a pair was served with losses.
    WithLosses,
    /// No fault: a reader was served by a tree.
    ServedByTree,
    /// No fault: a pair was served in a VLAN.
    ServedInVlan,
    /// No fault: a frame of best effort in a VLAN came to a member.
    HeardInVlan,
}

impl Fault {
    pub(crate) const ALL: [Self; 37] = [
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
        Self::SilentCut,
        Self::SlowLink,
        Self::Drained,
        Self::DrainedAtStart,
        Self::TakenOver,
        Self::FormerRefused,
        Self::FileChanged,
        Self::FileRefused,
        Self::FileLed,
        Self::FileTakenBack,
        Self::Forged,
        Self::Forbidden,
        Self::TooMany,
        Self::ServedUnasked,
        Self::ServedUnaskedOverIpv6,
        Self::SwapFound,
        Self::SilenceFound,
        Self::WithLosses,
        Self::ServedByTree,
        Self::ServedInVlan,
        Self::HeardInVlan,
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
