//! A ring of messages from one producer to one consumer.
//!
//! Positions count bytes since the beginning; a position's place is its remainder by the capacity. A message is a *head* of eight
//! bytes and its bytes, in one piece, and takes a multiple of 64 bytes. The head tells kind and length, and is written last;
//! before that the head of the message to come is cleared, so that the consumer finds 0 where nothing was written yet, and needs to
//! look at one place only. Where a message does not fit before the end of the ring, or where all was read and a part of the ring suffices, a
//! head of another kind sends the consumer to the beginning.
//!
//! A consumer that looks again and again has the line of the head in its cache, and each write to it has to fetch it from there. So a small
//! message is written into that line at once and last, and the lines behind it are fetched before they are needed, while no reader waits.
//!
//! The producer believes its own position, and of the consumer's word only what lies between what it said before and what was
//! written; the consumer believes its own position, and a head only if its message lies within the ring.
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::segment::{Own, RING, Segment, Window};
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::sync::atomic::{AtomicU64, fence};

/// Messages take multiples of this: a cache line, so that producer and consumer do not write into one.
const LINE: usize = 64;
/// Bytes of a head.
const HEAD: usize = 8;
/// Bytes of a message in the line of its head.
const FIRST: usize = LINE - HEAD;
/// Lines that are fetched for the message to come, beyond that of its head: as many as most samples of a few bytes take, and the next head.
const AHEAD: usize = 4;
/// Lines of a message that are fetched as soon as its head is seen.
const FETCHED: usize = 3;
/// The largest message is this part of the ring.
const LARGEST: usize = 8;
/// A head's kind, in its upper half; the lower is the length.
const MESSAGE: u64 = 1;
const TO_BEGINNING: u64 = 2;

/// The other side wrote what cannot be: nothing more of it is to be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nonsense {
    /// It says that it has read what was not written, or has not read what it had read before.
    Consumed(u64),
    /// This is no head of a message that fits.
    Head(u64),
}

/// Why a message was not written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There is no room until the consumer has read more.
    Full,
    /// It never fits: see [`Producer::largest`].
    TooLarge,
    /// The ring has to be given up.
    Nonsense(Nonsense),
}

/// Writes messages.
#[derive(Debug)]
pub struct Producer {
    own: Arc<Own>,
    other: Arc<Window>,
    written: u64,
    /// How far the consumer has read, as far as was looked.
    consumed: u64,
    /// At this place it is asked whether to begin again.
    turn_at: usize,
}

/// Reads messages.
#[derive(Debug)]
pub struct Consumer {
    own: Arc<Own>,
    look: Look,
}

/// Sees whether something lies there for a [`Consumer`], which others may have meanwhile.
#[derive(Clone, Debug)]
pub struct Look {
    other: Arc<Window>,
    /// How far the consumer has read. Only the consumer writes it.
    read: Arc<AtomicU64>,
}

/// Room for a message, to be written in place. Dropped without [`Loan::commit`], nothing was written.
#[derive(Debug)]
pub struct Loan<'a> {
    bytes: &'a mut [u8],
    segment: &'a Own,
    written: &'a mut u64,
}

/// A message that lies in the ring. Dropped without [`Message::done`], it is still there.
#[derive(Debug)]
pub struct Message<'a> {
    own: &'a Own,
    look: &'a Look,
    len: usize,
}

/// Joins a segment of ours with one of the other side: a ring each way. The descriptor is let go of.
pub fn join(own: Segment, other: Window) -> (Producer, Consumer) {
    let (own, other) = (Arc::new(own.own), Arc::new(other));
    let turn_at = near(own.capacity);
    let producer =
        Producer { own: Arc::clone(&own), other: Arc::clone(&other), written: 0, consumed: 0, turn_at };
    (producer, Consumer { own, look: Look { other, read: Arc::default() } })
}

impl Producer {
    /// Most bytes of a message, so that some always fit.
    pub fn largest(&self) -> usize {
        self.own.capacity / LARGEST - HEAD
    }

    /// Takes memory for the part of the rings of both sides that is used as long as they are read: an eighth. Else it is taken page by page
    /// as it is used, which costs each side some microseconds for each. Before Linux 5.14 it does nothing.
    pub fn take_memory(&self) {
        self.own.map.take_memory(RING + near(self.own.capacity));
        self.other.map.take_memory(RING + near(self.other.capacity));
    }

    /// True if the consumer has read everything, as it says.
    pub fn is_drained(&self) -> bool {
        self.other.consumed() == Some(self.written)
    }

    /// How far was written: bytes since the beginning.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// How far the consumer has read, as it says: bytes since the beginning.
    pub fn progress(&self) -> u64 {
        self.other.consumed().unwrap_or(0)
    }

    /// Room for a message of that length.
    ///
    /// # Errors
    ///
    /// [`Refused`].
    pub fn loan(&mut self, len: usize) -> Result<Loan<'_>, Refused> {
        if len > self.largest() {
            return Err(Refused::TooLarge);
        }
        let capacity = self.own.capacity;
        let span = span(len);
        let place = place(self.written, capacity);
        let left = capacity - place;
        let skipped = if span > left || self.turns_back(place)? { left } else { 0 };
        // The head of the message to come has to be cleared, too.
        self.make_room(skipped + span + LINE)?;
        if skipped > 0 {
            clear_head(&self.own, 0);
            write_head(&self.own, place, TO_BEGINNING << 32);
            self.written = self.written.wrapping_add(skipped as u64);
        }
        let start = RING + self::place(self.written, capacity) + HEAD;
        // SAFETY: the segment's seals keep other processes from writing. In this one only the producer of the segment, of which there
        // is one (`join`) and which is borrowed, touches what lies behind its position and was read by the consumer.
        let bytes = unsafe { self.own.map.slice(start, len) };
        let bytes = bytes.ok_or(Refused::TooLarge)?;
        Ok(Loan { bytes, segment: &self.own, written: &mut self.written })
    }

    /// Writes a message of `len` bytes that lies in several pieces; what they have beyond that is left out.
    ///
    /// # Errors
    ///
    /// [`Refused`]; nothing was written then.
    pub fn send<'a>(&mut self, len: usize, pieces: impl Iterator<Item = &'a [u8]>) -> Result<(), Refused> {
        let mut loan = self.loan(len)?;
        // What lies in the line of the head goes there last, see the module.
        let mut first = [0; FIRST];
        let (to_first, mut rest) = loan.split_at_mut(len.min(FIRST));
        let mut front = first.get_mut(..to_first.len()).unwrap_or_default();
        for mut piece in pieces {
            for to in [&mut front, &mut rest] {
                let fits = piece.len().min(to.len());
                let (now, later) = piece.split_at(fits);
                let (place, after) = std::mem::take(to).split_at_mut(fits);
                place.copy_from_slice(now);
                (*to, piece) = (after, later);
            }
        }
        loan.clear_next();
        let len = len.min(FIRST);
        if let (Some(to), Some(from)) = (loan.get_mut(..len), first.get(..len)) {
            to.copy_from_slice(from);
        }
        loan.tell();
        self.fetch_ahead();
        Ok(())
    }

    /// Writes a message that lies in one piece, as [`Producer::send`] does.
    ///
    /// # Errors
    ///
    /// [`Refused`]; nothing was written then.
    #[inline]
    pub fn copy(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        let mut loan = self.loan(bytes.len())?;
        let (first, rest) = bytes.split_at(bytes.len().min(FIRST));
        if let Some(to) = loan.get_mut(first.len()..) {
            to.copy_from_slice(rest);
        }
        loan.clear_next();
        if let Some(to) = loan.get_mut(..first.len()) {
            to.copy_from_slice(first);
        }
        loan.tell();
        self.fetch_ahead();
        Ok(())
    }

    /// Takes the lines that the next message will be written to from whichever cache has them, unless the consumer has not read them yet.
    fn fetch_ahead(&self) {
        if !self.has_room((1 + AHEAD) * LINE) {
            return;
        }
        for line in 1..=AHEAD {
            // Nothing that counts lies there.
            clear_head(&self.own, place(self.written.wrapping_add((line * LINE) as u64), self.own.capacity));
        }
    }

    /// True if the next message begins the ring again before its end.
    fn turns_back(&mut self, place: usize) -> Result<bool, Refused> {
        let near = near(self.own.capacity);
        // It has come round.
        if place + near < self.turn_at {
            self.turn_at = near;
        }
        if place < self.turn_at {
            return Ok(false);
        }
        self.look()?;
        self.turn_at = place + near;
        Ok(self.consumed == self.written)
    }

    fn make_room(&mut self, needed: usize) -> Result<(), Refused> {
        if self.has_room(needed) {
            return Ok(());
        }
        self.look()?;
        if self.has_room(needed) { Ok(()) } else { Err(Refused::Full) }
    }

    fn has_room(&self, needed: usize) -> bool {
        let held = self.written.wrapping_sub(self.consumed);
        held.saturating_add(needed as u64) <= self.own.capacity as u64
    }

    /// Looks how far the consumer is.
    fn look(&mut self) -> Result<(), Refused> {
        let consumed = self.other.consumed().unwrap_or(self.consumed);
        // What was read may be written again.
        fence(Acquire);
        let under_way = self.written.wrapping_sub(consumed);
        if under_way > self.written.wrapping_sub(self.consumed) || !consumed.is_multiple_of(LINE as u64) {
            return Err(Refused::Nonsense(Nonsense::Consumed(consumed)));
        }
        self.consumed = consumed;
        Ok(())
    }
}

impl Loan<'_> {
    /// Gives the message to the consumer, who has to be told by its bell if it may sleep.
    pub fn commit(self) {
        self.clear_next();
        self.tell();
    }

    fn next(&self) -> u64 {
        self.written.wrapping_add(span(self.bytes.len()) as u64)
    }

    fn clear_next(&self) {
        clear_head(self.segment, place(self.next(), self.segment.capacity));
    }

    /// The head of the message to come has to be cleared before.
    fn tell(self) {
        let place = place(*self.written, self.segment.capacity);
        write_head(self.segment, place, MESSAGE << 32 | self.bytes.len() as u64);
        *self.written = self.next();
    }
}

impl Deref for Loan<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl DerefMut for Loan<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.bytes
    }
}

impl Look {
    /// True if a message, or nonsense, lies there.
    #[inline]
    pub fn is_ready(&self) -> bool {
        let read = self.read();
        let is_ready = self.head(read) != 0;
        if is_ready {
            // Most likely there is more of it than lies in the line of the head.
            for line in 1..FETCHED {
                self.other
                    .map
                    .fetch(RING + place(read.wrapping_add((line * LINE) as u64), self.other.capacity));
            }
        }
        is_ready
    }

    fn read(&self) -> u64 {
        self.read.load(Relaxed)
    }

    fn head(&self, read: u64) -> u64 {
        let place = place(read, self.other.capacity);
        let head = self.other.map.word(RING + place).map_or(0, |word| word.load(Relaxed));
        // What it tells of was written before it.
        fence(Acquire);
        head
    }

    fn advance(&self, bytes: usize, own: &Own) {
        let read = self.read().wrapping_add(bytes as u64);
        self.read.store(read, Relaxed);
        if let Some(word) = own.consumed() {
            word.store(read, Release);
        }
    }
}

impl Consumer {
    /// True if a message, or nonsense, lies there.
    pub fn is_ready(&self) -> bool {
        self.look.is_ready()
    }

    /// The ring as seen without the consumer.
    pub fn look(&self) -> Look {
        self.look.clone()
    }

    /// The next message; `None` if there is none yet.
    ///
    /// # Errors
    ///
    /// [`Nonsense`], now and whenever it is asked again.
    pub fn peek(&mut self) -> Result<Option<Message<'_>>, Nonsense> {
        loop {
            let (read, capacity) = (self.look.read(), self.look.other.capacity);
            let head = self.look.head(read);
            let (kind, len) = (head >> 32, (head & u64::from(u32::MAX)) as usize);
            let place = place(read, capacity);
            let left = capacity - place;
            match kind {
                0 if head == 0 => return Ok(None),
                MESSAGE if len <= left - HEAD => {
                    return Ok(Some(Message { own: &self.own, look: &self.look, len }));
                }
                // Not from the beginning to the beginning, which would be for ever.
                TO_BEGINNING if len == 0 && place > 0 => self.look.advance(left, &self.own),
                _ => return Err(Nonsense::Head(head)),
            }
        }
    }

    /// Copies the next message into the front of `buffer` and gives its length; `None` if there is none yet.
    ///
    /// # Errors
    ///
    /// [`Nonsense`] of the ring; a message longer than the buffer counts as such.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Nonsense> {
        let Some(message) = self.peek()? else { return Ok(None) };
        let len = message.len();
        let head = MESSAGE << 32 | len as u64;
        let Some(to) = buffer.get_mut(..len) else { return Err(Nonsense::Head(head)) };
        message.copy_to(0, to);
        message.done();
        Ok(Some(len))
    }
}

impl Message<'_> {
    /// How many bytes it has.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True without any byte.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies bytes of it from `from` on; false if it has not so many. The other side could change them as long as they lie in the
    /// ring: only the copy stays as it is, and only the copy is to be judged.
    pub fn copy_to(&self, from: usize, to: &mut [u8]) -> bool {
        let inside = from.checked_add(to.len()).is_some_and(|end| end <= self.len);
        let other = &self.look.other;
        let start = RING + place(self.look.read(), other.capacity) + HEAD;
        inside && other.map.copy_out(start + from, to)
    }

    /// Lets the producer write over it.
    pub fn done(self) {
        self.look.advance(span(self.len), self.own);
    }
}

/// Bytes that a message takes.
const fn span(len: usize) -> usize {
    (HEAD + len).next_multiple_of(LINE)
}

/// From this place on the ring is begun again if all was read. So it stays in the caches and takes no more memory than that, as long as the
/// consumer keeps up: a page that is touched for the first time costs each side some microseconds. What is skipped is held until the consumer
/// skips it, too, and the largest message fits into the rest.
const fn near(capacity: usize) -> usize {
    capacity / LARGEST + LINE
}

/// Capacities are powers of two.
const fn place(position: u64, capacity: usize) -> usize {
    (position & (capacity as u64 - 1)) as usize
}

fn clear_head(segment: &Own, place: usize) {
    if let Some(word) = segment.map.word(RING + place) {
        word.store(0, Relaxed);
    }
}

fn write_head(segment: &Own, place: usize, head: u64) {
    if let Some(word) = segment.map.word(RING + place) {
        word.store(head, Release);
    }
}

impl fmt::Display for Nonsense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Consumed(position) => {
                write!(f, "the other side says that it has read up to byte {position}, which cannot be")
            }
            Self::Head(head) => write!(f, "the other side wrote {head:#018x} where a message begins"),
        }
    }
}

impl std::error::Error for Nonsense {}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the ring is full"),
            Self::TooLarge => f.write_str("the message is larger than an eighth of the ring"),
            Self::Nonsense(nonsense) => nonsense.fmt(f),
        }
    }
}

impl std::error::Error for Refused {}
