//! Events, and what consumers get of them.

/// The header of an event. Times are in nanoseconds since any start, the same for the whole channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// The type of the event.
    pub kind: u32,
    /// The source of the event.
    pub source: u32,
    /// When the event was made.
    pub created: u64,
    /// The importance; a larger number is more important.
    pub priority: u8,
    /// When a handler should have ended; `None` if that does not matter.
    pub deadline: Option<u64>,
}

impl Header {
    /// Whether it has this type and source; `None` is any.
    #[inline]
    pub(crate) fn is_of(&self, kind: Option<u32>, source: Option<u32>) -> bool {
        kind.is_none_or(|kind| kind == self.kind) && source.is_none_or(|source| source == self.source)
    }
}

/// A part of a delivery.
#[derive(Clone, PartialEq, Debug)]
pub enum Part<E> {
    /// An event that a publisher pushed.
    Event {
        /// The number that [`crate::Channel::push`] gave it.
        number: u64,
        /// The header.
        header: Header,
        /// The event itself.
        body: E,
    },
    /// A timer of the subscription.
    Timeout {
        /// Which one: its place among the timers of the tree, from 0, as they are written.
        timer: u16,
        /// When it was due, in the time of [`Header`].
        at: u64,
        /// The priority that the tree gives it.
        priority: u8,
    },
}

impl<E> Part<E> {
    /// When its event was made; `None` of a timeout.
    pub(crate) fn created(&self) -> Option<u64> {
        match self {
            Self::Event { header, .. } => Some(header.created),
            Self::Timeout { .. } => None,
        }
    }

    pub(crate) fn priority(&self) -> u8 {
        match self {
            Self::Event { header, .. } => header.priority,
            Self::Timeout { priority, .. } => *priority,
        }
    }

    /// The deadline; the end of time if there is none.
    pub(crate) fn deadline(&self) -> u64 {
        match self {
            Self::Event { header, .. } => header.deadline.unwrap_or(u64::MAX),
            Self::Timeout { .. } => u64::MAX,
        }
    }
}
