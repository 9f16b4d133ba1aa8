//! Records: what a gateway tells all others of itself.
use alloc::vec::Vec;

use wire::cursor::{Cursor, Endianness};

use crate::interest::Interest;

/// Bytes of the largest record.
pub(crate) const LARGEST_RECORD: usize = 64 << 10;

/// What a gateway says of itself. Of two records of a gateway the one with the larger stamp holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) id: u64,
    /// Incarnation and version.
    pub(crate) stamp: (u64, u64),
    /// The peers that it is connected with, sorted.
    pub(crate) peers: Vec<u64>,
    pub(crate) interests: Vec<Interest>,
}

impl Record {
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        for number in [self.id, self.stamp.0, self.stamp.1] {
            to.extend_from_slice(&number.to_le_bytes());
        }
        to.extend_from_slice(&(self.peers.len() as u16).to_le_bytes());
        self.peers.iter().for_each(|id| to.extend_from_slice(&id.to_le_bytes()));
        to.extend_from_slice(&(self.interests.len() as u16).to_le_bytes());
        self.interests.iter().for_each(|interest| interest.write(to));
    }

    pub(crate) fn read(bytes: &[u8], most_peers: usize, most_interests: usize) -> Option<Self> {
        if bytes.len() > LARGEST_RECORD {
            return None;
        }
        let mut cursor = Cursor::new(bytes, Endianness::Little);
        let (id, incarnation, version) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let count = usize::from(cursor.u16()?);
        if count > most_peers || cursor.remaining() < count * 8 {
            return None;
        }
        let mut peers = Vec::new();
        for _ in 0..count {
            peers.push(cursor.u64()?);
        }
        peers.sort_unstable();
        let count = usize::from(cursor.u16()?);
        if count > most_interests {
            return None;
        }
        let mut interests = Vec::new();
        for _ in 0..count {
            interests.push(Interest::read(&mut cursor)?);
        }
        Some(Self { id, stamp: (incarnation, version), peers, interests })
    }
}
