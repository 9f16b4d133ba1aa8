//! Datagrams whose samples lie in chunks: the ring holds the rest of them, and the places.
//!
//! | bytes | content |
//! |---|---|
//! | 0 to 3 | magic word `PNPL` |
//! | 4 to 7 | how many places follow |
//! | 32 each | where in the datagram (4), bytes (4), first page of the chunk (4), length of the chunk (4), number of the chunk (8), where in the chunk (4), zeros (4) |
//! | the rest | what of the datagram lies nowhere else |
//!
//! The words are in the byte order of the machine. A message that begins with another magic word is a datagram itself.
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use rtps::{Piece, Transmit};
use shm::{Chunk, ChunkWindow, Chunks, Message, Place};

use crate::bytes::Bytes;

const MAGIC: [u8; 4] = *b"PNPL";
const HEAD: usize = 8;
const PLACE: usize = 32;
/// Most places of a datagram.
const MOST: usize = 16;
/// Fewer bytes are copied: that costs less than to say where they are.
const LEAST: usize = 512;
/// Most bytes of a datagram.
pub(super) const LARGEST: usize = 65_536;

/// How a datagram is divided between a ring and chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Division {
    places: usize,
    /// Bytes of the message in the ring.
    pub(super) len: usize,
}

/// Divides a datagram; `None` if nothing of it lies in these chunks, or too much of it.
pub(super) fn divide(datagram: &Transmit<Bytes>, chunks: &Arc<Chunks>) -> Option<Division> {
    let mut places = 0;
    let mut rest = 0;
    for piece in datagram.pieces() {
        match in_chunk(&piece, chunks) {
            Ok(_) => places += 1,
            Err(bytes) => rest += bytes.len(),
        }
    }
    (1..=MOST).contains(&places).then_some(Division { places, len: HEAD + places * PLACE + rest })
}

/// Writes the message, and gives each chunk that it names to `hold`: it has to stay until the other side has read the message.
pub(super) fn write(
    datagram: &Transmit<Bytes>,
    chunks: &Arc<Chunks>,
    division: Division,
    loan: &mut [u8],
    mut hold: impl FnMut(&Chunk),
) -> io::Result<()> {
    let (mut head, mut rest) = loan.split_at_mut((HEAD + division.places * PLACE).min(division.len));
    head.write_all(&MAGIC)?;
    head.write_all(&(division.places as u32).to_ne_bytes())?;
    let mut at = 0_u32;
    for piece in datagram.pieces() {
        match in_chunk(&piece, chunks) {
            Ok((chunk, range)) => {
                let Place { page, len, number } = chunk.place();
                // A chunk has less than 2^32 bytes.
                let (bytes, from) = (range.len() as u32, range.start as u32);
                for word in [at, bytes, page, len] {
                    head.write_all(&word.to_ne_bytes())?;
                }
                head.write_all(&number.to_ne_bytes())?;
                head.write_all(&from.to_ne_bytes())?;
                head.write_all(&[0; 4])?;
                at = at.saturating_add(bytes);
                hold(chunk);
            }
            Err(bytes) => {
                rest.write_all(bytes)?;
                at = at.saturating_add(bytes.len() as u32);
            }
        }
    }
    Ok(())
}

/// A message of the other side that names places, as far as it can be one.
#[derive(Debug)]
pub(super) struct Places {
    head: [u8; HEAD + MOST * PLACE],
    count: usize,
    /// Bytes of the datagram.
    pub(super) len: usize,
}

/// One of them.
struct Reference {
    at: usize,
    bytes: usize,
    place: Place,
    from: usize,
}

/// True if a message names places, or says that it does.
pub(super) fn is_one(message: &Message<'_>) -> bool {
    let mut magic = [0; MAGIC.len()];
    message.copy_to(0, &mut magic) && magic == MAGIC
}

/// Reads what a message says about places. `Ok(None)` if it is a datagram itself, `Err` if it is nothing.
pub(super) fn read(message: &Message<'_>) -> Result<Option<Places>, ()> {
    let mut head = [0; HEAD + MOST * PLACE];
    let mut magic = [0; HEAD];
    if !message.copy_to(0, &mut magic) || !magic.starts_with(&MAGIC) {
        return Ok(None);
    }
    let count =
        word(&magic, MAGIC.len()).filter(|count| (1..=MOST as u32).contains(count)).ok_or(())? as usize;
    let end = HEAD + count * PLACE;
    // What was judged is what is used: the other side may have written the words anew meanwhile.
    let all = head.get_mut(HEAD..end).is_some_and(|places| message.copy_to(HEAD, places));
    let mut places = Places { head, count, len: message.len().saturating_sub(end) };
    let mut position = 0;
    for index in (0..count).filter(|_| all) {
        let reference = places.get(index).ok_or(())?;
        // In order, and apart from each other.
        if reference.at < position || reference.bytes > LARGEST {
            return Err(());
        }
        position = reference.at.saturating_add(reference.bytes);
        places.len = places.len.saturating_add(reference.bytes);
    }
    if all && position <= places.len && places.len <= LARGEST { Ok(Some(places)) } else { Err(()) }
}

impl Places {
    /// Puts the datagram together; false if something of it is not there any more.
    pub(super) fn copy_out(&self, message: &Message<'_>, chunks: &ChunkWindow, to: &mut [u8]) -> bool {
        let mut from = HEAD + self.count * PLACE;
        let mut position = 0;
        for reference in (0..self.count).filter_map(|index| self.get(index)) {
            let end = reference.at.saturating_add(reference.bytes);
            let Some(before) = to.get_mut(position..reference.at) else { return false };
            if !message.copy_to(from, before) {
                return false;
            }
            from += before.len();
            let Some(inside) = to.get_mut(reference.at..end) else { return false };
            if !chunks.copy_out(reference.place, reference.from, inside) {
                return false;
            }
            position = end;
        }
        to.get_mut(position..).is_some_and(|after| message.copy_to(from, after))
    }

    fn get(&self, index: usize) -> Option<Reference> {
        let start = HEAD + index * PLACE;
        let words = |at: usize| word(&self.head, start + at);
        let number = self.head.get(start + 16..start + 24)?.try_into().ok()?;
        Some(Reference {
            at: words(0)? as usize,
            bytes: words(4)? as usize,
            place: Place { page: words(8)?, len: words(12)?, number: u64::from_ne_bytes(number) },
            from: words(24)? as usize,
        })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

/// The chunk and where in it, or the bytes of a piece that is copied.
fn in_chunk<'a>(
    piece: &Piece<'a, Bytes>,
    chunks: &Arc<Chunks>,
) -> Result<(&'a Chunk, &'a Range<usize>), &'a [u8]> {
    match *piece {
        Piece::Octets(bytes) => Err(bytes),
        Piece::Payload(payload, range) => {
            let bytes = payload.as_ref().get(range.clone()).unwrap_or_default();
            match payload.chunk() {
                Some(chunk) if bytes.len() >= LEAST && chunk.is_of(chunks) => Ok((chunk, range)),
                _ => Err(bytes),
            }
        }
    }
}
