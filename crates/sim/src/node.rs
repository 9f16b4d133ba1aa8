//! What a simulated process has to offer, and what it lets the judge see.
use std::net::SocketAddr;

use rtps::Path;
use wire::{Guid, Instant, Now, SequenceNumber, Timestamp};

/// A datagram that a node wants sent.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    /// The port that it leaves from; that of the process if it does not say.
    pub port: Option<u16>,
    /// Where it goes.
    pub paths: Vec<Path>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Something that a node saw or did and that the judge must know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Observation {
    /// A reader handed a sample to the application.
    Delivered {
        /// The reader.
        reader: Guid,
        /// The writer.
        writer: Guid,
        /// The sample's number.
        number: SequenceNumber,
        /// Its payload.
        payload: Vec<u8>,
        /// Its source timestamp.
        timestamp: Option<Timestamp>,
        /// The key hash of its inline QoS.
        key_hash: Option<[u8; 16]>,
    },
    /// A reader was told that samples cannot be had any more.
    Lost {
        /// The reader.
        reader: Guid,
        /// The writer.
        writer: Guid,
        /// The first number.
        first: SequenceNumber,
        /// How many.
        count: u64,
    },
    /// A reader says that it has all that the writer held when they met.
    HasHistory {
        /// The reader.
        reader: Guid,
        /// The writer.
        writer: Guid,
    },
    /// A writer begins to serve a reader.
    ReaderMatched {
        /// The writer.
        writer: Guid,
        /// The reader.
        reader: Guid,
    },
    /// A writer serves a reader no more.
    ReaderUnmatched {
        /// The writer.
        writer: Guid,
        /// The reader.
        reader: Guid,
    },
    /// A reader begins to accept a writer's samples.
    WriterMatched {
        /// The reader.
        reader: Guid,
        /// The writer.
        writer: Guid,
    },
    /// A reader accepts a writer's samples no more.
    WriterUnmatched {
        /// The reader.
        reader: Guid,
        /// The writer.
        writer: Guid,
    },
}

/// What can be sabotaged of what a node observes.
pub trait Observed: Clone {
    /// True if a sample with data was handed to the application.
    fn is_delivery(&self) -> bool;

    /// Changes a byte of the payload.
    fn damage(&mut self);
}

impl Observed for Observation {
    fn is_delivery(&self) -> bool {
        matches!(self, Self::Delivered { .. })
    }

    fn damage(&mut self) {
        if let Self::Delivered { payload, .. } = self
            && let Some(octet) = payload.get_mut(9)
        {
            *octet ^= 1;
        }
    }
}

/// One process: datagrams, commands and the time go in; datagrams, a timeout and observations come out.
pub trait Node {
    /// What the judge is told.
    type Observation: Observed;

    /// A datagram was read from a socket.
    fn handle_datagram(&mut self, now: Now, from: SocketAddr, to: SocketAddr, bytes: &[u8]);

    /// Does what is due and gives the next datagram; false if there is none. `out` comes in empty.
    fn poll_transmit(&mut self, now: Now, out: &mut Outgoing) -> bool;

    /// When to poll again at the latest. It must be later than the time of a poll that just returned false.
    fn poll_timeout(&self) -> Instant;

    /// Hands over what was observed since the last call, in order.
    fn take_observations(&mut self, out: &mut Vec<Self::Observation>);

    /// Names what is above its limit, if anything is: checked after every event.
    fn excess(&self) -> Option<String>;
}
