//! What happened in a run that is worth counting: a fault or situation that no seed reaches is not tested at all.
use std::fmt;

macro_rules! situations {
    ($($(#[$doc:meta])* $name:ident => $label:literal,)+) => {
        /// A fault that was applied, or a state that a protocol machine was brought into.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Situation { $($(#[$doc])* $name,)+ }

        impl Situation {
            /// All of them, in the order of the report.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Words for the report.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)+ }
            }
        }
    };
}

situations! {
    /// A datagram was dropped by independent loss.
    Lost => "datagram lost",
    /// A datagram was dropped within a burst.
    LostInBurst => "datagram lost in a burst",
    /// A datagram arrived twice.
    Duplicated => "datagram duplicated",
    /// A datagram was overtaken on purpose.
    Reordered => "datagram held back on the way",
    /// A datagram did not fit the path and was dropped.
    TooLarge => "datagram above the path's MTU",
    /// A datagram found the receive buffer full.
    Overflow => "receive buffer full",
    /// A datagram met a cut link, in both directions or one.
    Cut => "datagram met a partition",
    /// A link was cut in one direction only.
    OneWayCut => "one-way cut",
    /// A link was cut in both directions.
    Partition => "partition",
    /// A node vanished without goodbye.
    Crash => "crash",
    /// A node came back at its address with a new name.
    Restart => "restart",
    /// A node joined after the first samples.
    LateJoin => "late joiner",
    /// A node left in good order.
    Leave => "orderly leave",
    /// A process did not run for a while: nothing read, no timer.
    Stall => "process stalled",
    /// Shared memory began to lead to another participant.
    LinkBegun => "shared memory began",
    /// It ended.
    LinkEnded => "shared memory ended",
    /// A datagram came through it.
    ByLink => "datagram by shared memory",
    /// A ring was full.
    RingFull => "ring full",
    /// A full ring was not waited for any more.
    RingLost => "datagram lost in a full ring",
    /// A connection between two processes of a machine was cut.
    LinkCut => "connection of processes cut",
    /// A process lied in the memory that it shared.
    Lie => "lie in shared memory",
    /// It was found out.
    LiarFound => "liar given up",
    /// A reader refused samples and resumed later.
    SlowReader => "reader refused samples",
    /// A node changed its address while running.
    AddressChange => "address changed",
    /// A wall clock jumped.
    ClockJump => "wall clock jumped",
    /// Packets with a forged source were sent.
    Spoofed => "forged announcements",
    /// A sample was sent again.
    Repair => "repair sent",
    /// A reader asked for samples.
    AckNackAsks => "ACKNACK asks for samples",
    /// A reader asked for fragments.
    NackFrag => "NACK_FRAG",
    /// A sample travelled in fragments.
    DataFrag => "DATA_FRAG",
    /// A writer declared numbers irrelevant.
    Gap => "GAP",
    /// A heartbeat was sent.
    Heartbeat => "HEARTBEAT",
    /// Several samples shared a datagram.
    Batch => "several samples in a datagram",
    /// A datagram went to a multicast group.
    Multicast => "multicast",
    /// A datagram went over IPv6.
    Ipv6 => "IPv6",
    /// A write was refused because the window or cache was full.
    WindowFull => "write refused: full",
    /// A reliable reader held samples back until earlier ones came.
    HeldBack => "samples held back for order",
    /// A sample was removed from the history before all had it.
    Eviction => "evicted before everyone had it",
    /// A heartbeat told a reader that samples are gone.
    HeartbeatJump => "first number of a heartbeat jumped",
    /// A reader was told that samples are lost.
    SampleLost => "loss reported to the reader",
    /// A late reader was given retained history.
    History => "retained history delivered",
    /// A match ended and began again with the same endpoints.
    Rematch => "matched again",
    /// Only one side of a pair ended the match and began again.
    OneSidedRematch => "matched again on one side",
    /// A participant's lease expired.
    LeaseExpired => "lease expired",
    /// Endpoints were compared and refused.
    NotMatched => "endpoints refused each other",
    /// Liveliness was lost while the participant lived.
    LivelinessLost => "liveliness lost",
    /// A socket had no room for a datagram.
    SocketFull => "socket full",
    /// A reader was at a limit and refused a sample.
    ReaderFull => "sample rejected: reader full",
    /// A sample made room for a newer one before it was read.
    Replaced => "sample replaced by HISTORY",
    /// A sample of a writer that was not the owner was kept out.
    NotOwned => "sample kept out by OWNERSHIP",
    /// Two samples of different writers of an exclusive instance reached one reader.
    HandOver => "ownership changed hands",
    /// A sample came after one that was written later.
    OutOfOrder => "sample kept out by DESTINATION_ORDER",
    /// A sample expired before it was read.
    Expired => "sample expired",
    /// A reader saw an instance disposed.
    Disposed => "instance disposed",
    /// A reader saw an instance without writers.
    NoWriters => "instance without writers",
    /// A reader saw an instance alive again.
    Reborn => "instance alive again",
    /// A reader missed a deadline.
    DeadlineMissed => "deadline missed",
    /// A callback took samples.
    TakenInCallback => "taken in a callback",
    /// The PARTITION of an endpoint was changed.
    Repartition => "partition changed",
    /// An endpoint was deleted and made anew.
    Replacement => "endpoint replaced",
}

/// How often each situation was reached.
#[derive(Clone, PartialEq, Eq)]
pub struct Coverage {
    counts: [u64; Situation::ALL.len()],
}

impl Coverage {
    /// Nothing reached yet.
    pub const fn new() -> Self {
        Self { counts: [0; Situation::ALL.len()] }
    }

    /// Counts a situation.
    pub fn hit(&mut self, situation: Situation) {
        self.add(situation, 1);
    }

    /// Counts a situation several times.
    pub fn add(&mut self, situation: Situation, count: u64) {
        if let Some(slot) = self.counts.get_mut(situation as usize) {
            *slot = slot.saturating_add(count);
        }
    }

    /// How often a situation was reached.
    pub fn count(&self, situation: Situation) -> u64 {
        self.counts.get(situation as usize).copied().unwrap_or(0)
    }

    /// The situations that were reached, with how often.
    pub fn iter(&self) -> impl Iterator<Item = (Situation, u64)> + '_ {
        Situation::ALL
            .iter()
            .map(|situation| (*situation, self.count(*situation)))
            .filter(|(_, count)| *count > 0)
    }
}

impl Default for Coverage {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(situation, count)| (situation.label(), count))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_situation_has_its_own_counter_and_label() {
        let mut coverage = Coverage::new();
        for (index, situation) in Situation::ALL.iter().enumerate() {
            coverage.add(*situation, index as u64);
        }
        assert!(Situation::ALL.iter().enumerate().all(|(index, s)| coverage.count(*s) == index as u64));
        assert_eq!(coverage.iter().count(), Situation::ALL.len() - 1);
        let labels: std::collections::BTreeSet<_> = Situation::ALL.iter().map(|s| s.label()).collect();
        assert_eq!(labels.len(), Situation::ALL.len());
    }
}
