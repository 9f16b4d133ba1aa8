//! One link: a ring each way with one process.
use std::num::NonZeroU32;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rtps::Transmit;
use shm::{Bell, Consumer, Nonsense, Producer, Refused};
use wire::GuidPrefix;

use crate::bytes::Bytes;

/// A process that reads nothing for so long while its ring is full is not waited for: what is sent to it meanwhile is lost.
const PATIENCE: Duration = Duration::from_millis(50);
/// Datagrams that are read from one link before another one's.
const TURN: u32 = 64;
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
}

/// What has become of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::driver) enum Way {
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
    ) -> Self {
        Self {
            number,
            prefix,
            outlet: Mutex::new(Outlet { producer, full: None }),
            inlet: Mutex::new(consumer),
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

    pub(super) fn send(&self, datagram: &Transmit<Bytes>) -> Way {
        if !self.is_open() {
            return Way::Closed;
        }
        // Trains are for sockets that send them by one call.
        if datagram.segment().is_some() {
            return Way::Unfit;
        }
        let way = self.outlet.lock().unwrap_or_else(PoisonError::into_inner).send(datagram);
        // After the lock: whoever is woken may answer at once.
        self.bell.ring();
        way
    }

    pub(super) fn is_ready(&self) -> bool {
        // Who holds it reads it.
        self.inlet.try_lock().is_ok_and(|consumer| consumer.is_ready())
    }

    /// The next datagram; what is not of the participant that this link leads to is skipped.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> Result<Option<usize>, Nonsense> {
        let mut consumer = self.inlet.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..TURN {
            let Some(len) = consumer.receive(buffer)? else { return Ok(None) };
            if buffer.get(..len).and_then(|datagram| datagram.get(PREFIX)) == Some(&self.prefix.0) {
                return Ok(Some(len));
            }
        }
        Ok(None)
    }

    /// Counts a datagram; true if others are to be looked at first now.
    pub(super) fn has_had_its_turn(&self) -> bool {
        let read = self.read.load(Relaxed).wrapping_add(1);
        self.read.store(read, Relaxed);
        read.is_multiple_of(TURN)
    }
}

impl Outlet {
    fn send(&mut self, datagram: &Transmit<Bytes>) -> Way {
        match self.producer.send(datagram.len(), datagram.slices()) {
            Ok(()) => {
                self.full = None;
                return Way::Taken;
            }
            Err(Refused::Full) => {}
            Err(Refused::TooLarge) => return Way::Unfit,
            Err(Refused::Nonsense(nonsense)) => return Way::Nonsense(nonsense),
        }
        let progress = self.producer.progress();
        match self.full {
            Some((since, at)) if at == progress => {
                if since.elapsed() > PATIENCE {
                    Way::Lost
                } else {
                    Way::Full
                }
            }
            _ => {
                self.full = Some((Instant::now(), progress));
                Way::Full
            }
        }
    }
}
