//! One link: a ring each way with one process, and the chunks of that process.
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rtps::Transmit;
use shm::{Bell, Chunk, ChunkWindow, Chunks, Consumer, Look, Message, Nonsense, Producer, Refused};
use wire::{Duration, GuidPrefix, Instant};

use super::buffers::Buffers;
use super::places;
use crate::bytes::Bytes;
use crate::host::Copied;

/// A process that reads nothing for so long while its ring is full is not waited for: what is sent to it meanwhile is lost.
const PATIENCE: Duration = Duration::from_millis(50);
/// Datagrams that are read from one link before another one's.
const TURN: u32 = 64;
/// Not more than this part of the chunks waits for one process to read.
const HELD_PART: usize = 4;
/// A datagram of so many bytes is put where it can stay.
const LARGE: usize = 2 << 10;
/// Where the GUID prefix of the sender lies in a datagram (RTPS 2.5, 9.4.4).
const PREFIX: std::ops::Range<usize> = 8..20;

/// A ring each way.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) number: NonZeroU32,
    /// Whom it leads to.
    pub(super) prefix: GuidPrefix,
    outlet: Mutex<Outlet>,
    inlet: Mutex<Consumer>,
    /// Whether something lies in the inlet: a thread that only waits for that takes no lock.
    look: Look,
    /// Where samples of the other side lie.
    chunks: ChunkWindow,
    bell: Bell,
    open: AtomicBool,
    /// Datagrams read since its turn began.
    read: AtomicU32,
}

#[derive(Debug)]
struct Outlet {
    producer: Producer,
    /// Since when nothing was read, with the ring full, and how far it had been read then.
    full: Option<(Instant, u64)>,
    /// Chunks that messages name which the other side has not read yet: how far it will have read then.
    named: VecDeque<(u64, Chunk)>,
    /// Bytes of the pages of those.
    held: usize,
    sent: Sent,
}

/// What was sent, for people.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    datagrams: u64,
    /// Bytes that were copied into the ring.
    copied: u64,
    /// Bytes of samples that were left where they had been written.
    named: u64,
}

/// What was received.
#[derive(Debug)]
pub enum Got {
    /// So many bytes, in the buffer that was given.
    Copied(usize),
    /// The first bytes of this one.
    Kept(Arc<Vec<u8>>, usize),
}

/// What has become of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// It lies in the ring.
    Taken,
    /// There is no room now.
    Full,
    /// There was no room for so long that it is not waited for.
    Lost,
    /// It cannot go that way.
    Unfit,
    /// There is no such link any more.
    Closed,
    /// The other side is not to be believed any more.
    Nonsense(Nonsense),
}

impl Link {
    pub(super) fn new(
        number: NonZeroU32,
        prefix: GuidPrefix,
        (producer, consumer): (Producer, Consumer),
        bell: Bell,
        chunks: ChunkWindow,
    ) -> Self {
        Self {
            number,
            prefix,
            outlet: Mutex::new(Outlet {
                producer,
                full: None,
                named: VecDeque::new(),
                held: 0,
                sent: Sent::default(),
            }),
            look: consumer.look(),
            inlet: Mutex::new(consumer),
            chunks,
            bell,
            open: AtomicBool::new(true),
            read: AtomicU32::new(0),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.load(SeqCst)
    }

    /// Nothing is sent any more; what lies there may be read.
    pub(super) fn close(&self) {
        self.open.store(false, SeqCst);
    }

    /// What was sent, for people; nothing if that is nothing.
    pub(super) fn sent(&self) -> String {
        let Sent { datagrams, copied, named } = self.outlet().sent;
        if datagrams == 0 {
            return String::new();
        }
        format!(", {datagrams} datagrams, {copied} bytes copied, {named} bytes left where they were")
    }

    /// `chunks` are those of this process. The time is asked for where the ring is full.
    pub(super) fn send(
        &self,
        datagram: &Transmit<Bytes>,
        chunks: &Arc<Chunks>,
        now: impl FnOnce() -> Instant,
    ) -> Way {
        if !self.is_open() {
            return Way::Closed;
        }
        // Trains are for sockets that send them by one call.
        if datagram.segment().is_some() {
            return Way::Unfit;
        }
        let way = self.outlet().send(datagram, chunks, now);
        // After the lock: a thread that is woken may answer at once.
        self.bell.ring();
        way
    }

    /// Writes a datagram into the ring, if it goes there at once.
    pub(super) fn copy(&self, datagram: &[u8]) -> Copied {
        if !self.is_open() || !self.outlet().copy(datagram) {
            return Copied::No;
        }
        if self.bell.is_wanted() { Copied::Unheard } else { Copied::Done }
    }

    /// Wakes the other side if it sleeps.
    pub(super) fn ring(&self) {
        self.bell.ring();
    }

    pub(super) fn is_ready(&self) -> bool {
        self.look.is_ready()
    }

    /// The next datagram; what is not of the participant that this link leads to is skipped.
    pub(super) fn receive(
        &self,
        buffer: &mut [u8],
        buffers: &Mutex<Buffers>,
    ) -> Result<Option<Got>, Nonsense> {
        let mut consumer = self.inlet.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..TURN {
            let Some(message) = consumer.peek()? else { return Ok(None) };
            let got = if message.len() < LARGE && !places::is_one(&message) {
                let to = buffer.get_mut(..message.len());
                to.is_some_and(|to| message.copy_to(0, to)).then_some(Got::Copied(message.len()))
            } else {
                self.keep(&message, &mut buffers.lock().unwrap_or_else(PoisonError::into_inner))
            };
            message.done();
            let Some(got) = got else { continue };
            let bytes = match &got {
                Got::Copied(len) => buffer.get(..*len),
                Got::Kept(buffer, len) => buffer.get(..*len),
            };
            if bytes.and_then(|datagram| datagram.get(PREFIX)) == Some(&self.prefix.0) {
                return Ok(Some(got));
            }
        }
        Ok(None)
    }

    /// Puts a datagram where it can stay; `None` if it is none, or something of it is not there any more, as can be where a link ends.
    fn keep(&self, message: &Message<'_>, buffers: &mut Buffers) -> Option<Got> {
        match places::read(message).ok()? {
            Some(found) => {
                let filled = buffers.fill(found.len, |to| found.copy_out(message, &self.chunks, to));
                Some(Got::Kept(filled?, found.len))
            }
            None if message.len() > places::LARGEST => None,
            None => {
                let filled = buffers.fill(message.len(), |to| message.copy_to(0, to));
                Some(Got::Kept(filled?, message.len()))
            }
        }
    }

    fn outlet(&self) -> MutexGuard<'_, Outlet> {
        self.outlet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a datagram; true if others are to be looked at first now.
    pub(super) fn has_had_its_turn(&self) -> bool {
        let read = self.read.load(Relaxed).wrapping_add(1);
        self.read.store(read, Relaxed);
        read.is_multiple_of(TURN)
    }
}

impl Outlet {
    fn send(
        &mut self,
        datagram: &Transmit<Bytes>,
        chunks: &Arc<Chunks>,
        now: impl FnOnce() -> Instant,
    ) -> Way {
        self.let_go();
        // A process that does not read must not keep the memory from the others.
        let division = places::divide(datagram, chunks).filter(|_| self.held < chunks.capacity() / HELD_PART);
        let copied = match division {
            Some(division) => self.name(datagram, chunks, division),
            None => self.producer.send(datagram.len(), datagram.slices()).map(|()| datagram.len()),
        };
        match copied {
            Ok(copied) => {
                self.count(copied);
                return Way::Taken;
            }
            Err(Refused::Full) => {}
            Err(Refused::TooLarge) => return Way::Unfit,
            Err(Refused::Nonsense(nonsense)) => return Way::Nonsense(nonsense),
        }
        let progress = self.producer.progress();
        match self.full {
            Some((since, at)) if at == progress => {
                if now() > since.after(PATIENCE) {
                    Way::Lost
                } else {
                    Way::Full
                }
            }
            _ => {
                self.full = Some((now(), progress));
                Way::Full
            }
        }
    }

    /// Writes a datagram; false if that is not so simple.
    fn copy(&mut self, datagram: &[u8]) -> bool {
        self.let_go();
        let copied = self.producer.copy(datagram).is_ok();
        if copied {
            self.count(datagram.len());
        }
        copied
    }

    /// A datagram lies in the ring, of which so many bytes were copied.
    fn count(&mut self, copied: usize) {
        self.full = None;
        self.sent.datagrams += 1;
        self.sent.copied += copied as u64;
    }

    /// Writes where the samples lie, and what lies nowhere else; gives how many bytes that are.
    fn name(
        &mut self,
        datagram: &Transmit<Bytes>,
        chunks: &Arc<Chunks>,
        division: places::Division,
    ) -> Result<usize, Refused> {
        let mut loan = self.producer.loan(division.len)?;
        let before = self.named.len();
        let (held, named) = (&mut self.held, &mut self.named);
        let written = places::write(datagram, chunks, division, &mut loan, |chunk| {
            *held += chunk.span();
            named.push_back((u64::MAX, chunk.clone()));
        });
        if written.is_err() {
            // The division was of another datagram, which cannot be.
            return Err(Refused::TooLarge);
        }
        loan.commit();
        let end = self.producer.written();
        for (until, chunk) in self.named.range_mut(before..) {
            *until = end;
            self.sent.named += chunk.len() as u64;
        }
        Ok(division.len)
    }

    /// Lets go of chunks that the other side has copied out.
    fn let_go(&mut self) {
        if self.named.is_empty() {
            // To look how far the other side has read takes as long as a message on its way.
            return;
        }
        let progress = self.producer.progress();
        while let Some((_, chunk)) = self.named.pop_front_if(|(until, _)| *until <= progress) {
            self.held = self.held.saturating_sub(chunk.span());
        }
    }
}
