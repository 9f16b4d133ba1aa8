//! What an application sees and does, as the judge is told.
use dds::{InstanceHandle, InstanceState};
use wire::{Guid, Timestamp};

use crate::node::Observed;
use crate::violation::Invariant;

/// What a change says about its instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A sample with data.
    Data,
    /// The instance is disposed.
    Dispose,
    /// The writer has no more to say about it.
    Unregister,
}

/// A change that an application asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// By which writer.
    pub writer: Guid,
    /// The number that it is to get.
    pub number: i64,
    /// What it says.
    pub kind: Kind,
    /// Of which instance.
    pub instance: u32,
    /// The source timestamp that it is to get.
    pub source: Timestamp,
}

/// A sample that an application has taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taken {
    /// By which reader.
    pub reader: Guid,
    /// Whose.
    pub writer: Guid,
    /// Its number.
    pub number: i64,
    /// The instance that its key names; `None` if it has none, or one that no application uses.
    pub instance: Option<u32>,
    /// What its instance is called.
    pub handle: InstanceHandle,
    /// Its bytes, if it has data.
    pub octets: Option<Vec<u8>>,
    /// The state of the instance when it was taken.
    pub state: InstanceState,
    /// The instance had not been seen before, or is alive again.
    pub is_new: bool,
    /// How often the instance had come alive again when the sample came.
    pub generation: u32,
    /// Its source timestamp.
    pub source: Timestamp,
    /// Within the callback, by an application that always takes there.
    pub at_once: bool,
    /// Which take it was.
    pub take: u64,
    /// What the wall clock of the reader said at the take.
    pub wall: Timestamp,
}

/// Something that an application saw or did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Seen {
    /// It is about to make a change.
    Asks(Asked),
    /// The change that it asked for last was refused.
    Refused {
        /// By which writer.
        writer: Guid,
    },
    /// It took a sample.
    Taken(Taken),
    /// A writer begins or ceases to serve a reader.
    Service {
        /// The writer.
        writer: Guid,
        /// The reader.
        reader: Guid,
        /// It begins.
        begins: bool,
    },
    /// A reader begins or ceases to accept a writer.
    Acceptance {
        /// The writer.
        writer: Guid,
        /// The reader.
        reader: Guid,
        /// It begins.
        begins: bool,
    },
    /// Writers of a reader became alive or not alive.
    Liveliness {
        /// The reader.
        reader: Guid,
        /// How many matched writers are not alive now.
        not_alive: u32,
    },
    /// An answer that cannot be.
    Odd(Invariant, String),
}

impl Observed for Seen {
    fn is_delivery(&self) -> bool {
        matches!(self, Self::Taken(Taken { octets: Some(_), .. }))
    }

    fn damage(&mut self) {
        if let Self::Taken(Taken { octets: Some(octets), .. }) = self
            && let Some(octet) = octets.get_mut(9)
        {
            *octet ^= 1;
        }
    }
}
