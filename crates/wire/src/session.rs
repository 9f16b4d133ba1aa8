//! What participants are told of sessions over domains, over a topic of DDS itself: who asks a manager for a session in the place of a
//! writer and a reader says here what became of it. See `docs/decisions/0060-sessions-told-to-programs.md`.
//!
//! Times are in nanoseconds, sizes in bytes of IP packets, rates in bits per second.
use alloc::string::String;

use derive::DdsType;

use crate::Guid;

/// Topic of [`SessionVerdict`]: reliable, transient local, one sample kept of a pair.
pub const SESSION_TOPIC: &str = "punctual/session/verdict";
/// Name of the type [`SessionVerdict`] in announcements.
pub const SESSION_TYPE: &str = "punctual::session::Verdict";
/// Topic of [`Identity`](crate::admission::Identity) of those that write [`SESSION_TOPIC`]: reliable, transient local, one sample kept.
pub const TELLER_TOPIC: &str = "punctual/session/teller";

/// Most bytes of the name of a session.
pub const MOST_SESSION: usize = 255;

/// What became of the session of a pair.
#[derive(DdsType, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[dds(crate = "crate")]
pub enum SessionState {
    /// It is asked for.
    #[default]
    Pending,
    /// It is there, and [`SessionVerdict::bound`] holds.
    Granted,
    /// There is none, and the reason says why.
    Refused,
    /// It was there, or was asked for, and is needed no longer.
    Over,
}

/// What became of the session of a writer and a reader. A participant that does not hear it again within [`SessionVerdict::lease`] does not
/// know of one any more.
#[derive(DdsType, Clone, PartialEq, Eq, Debug, Default)]
#[dds(appendable, crate = "crate")]
pub struct SessionVerdict {
    /// GUID of the writer.
    #[dds(key)]
    pub writer: [u8; 16],
    /// GUID of the reader.
    #[dds(key)]
    pub reader: [u8; 16],
    /// Larger for every start of who tells it.
    pub epoch: u64,
    /// What became of it.
    pub state: SessionState,
    /// Its name; empty without one.
    #[dds(bound = 255)]
    pub session: String,
    /// Most time from write to read that is asked for; 0 if none is known.
    pub limit: u64,
    /// What the writer's host takes of that.
    pub writer_host: u64,
    /// What the reader's host takes of that.
    pub reader_host: u64,
    /// Most time from edge to edge, of packets that arrive; 0 unless granted.
    pub bound: u64,
    /// Packets of a million that do not arrive, at most.
    pub loss: u32,
    /// What the writer may send to this reader, if granted; 0 if that is not known.
    pub rate: u64,
    /// What it may send at once.
    pub bucket: u64,
    /// The largest packet of that.
    pub largest_packet: u32,
    /// How often its flow has gone another way since it was granted.
    pub detours: u32,
    /// One copy of two of its flow is left.
    pub has_one_copy_left: bool,
    /// How long this holds after it was heard, unless it is heard again.
    pub lease: u64,
    /// Why there is no session, in words.
    #[dds(bound = 1024)]
    pub reason: String,
}

impl SessionVerdict {
    /// The pair: writer and reader.
    pub fn pair(&self) -> (Guid, Guid) {
        (Guid::from_bytes(self.writer), Guid::from_bytes(self.reader))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cdr::DdsType;

    #[test]
    fn a_sample_has_a_greatest_size() {
        assert!(SessionVerdict::MAX_SERIALIZED_SIZE_XCDR2.is_some_and(|bytes| bytes < 2_048));
    }
}
