//! A machine that is not asked for what it has to send before there can be something.
//!
//! Each reader and writer of the built-in topics looks at all participants when it is asked. What comes is for one of
//! them, and the others need not look.
use core::ops::{Deref, DerefMut};

use wire::{Instant, Now};

use crate::Payload;
use crate::reader::Reader;
use crate::transmit::Transmit;
use crate::writer::Writer;

/// What [`Rested`] has to know of a machine.
pub(super) trait Machine<P> {
    fn poll_transmit(&mut self, now: Now, out: &mut Transmit<P>) -> bool;
    fn poll_timeout(&self) -> Instant;
}

/// A machine, and until when it rests. Each access that is not read-only wakes it.
#[derive(Debug)]
pub(super) struct Rested<M> {
    machine: M,
    /// [`Instant::START`]: it is awake.
    until: Instant,
}

impl<M> Rested<M> {
    pub(super) const fn new(machine: M) -> Self {
        Self { machine, until: Instant::START }
    }

    /// Fills `out` with its next datagram; false if there is none, and then it rests until its timeout.
    pub(super) fn poll_transmit<P>(&mut self, now: Now, out: &mut Transmit<P>) -> bool
    where
        M: Machine<P>,
    {
        if now.monotonic < self.until {
            return false;
        }
        let sent = self.machine.poll_transmit(now, out);
        self.until = if sent { Instant::START } else { self.machine.poll_timeout() };
        sent
    }

    /// When it has to be polled at the latest.
    pub(super) fn poll_timeout<P>(&self) -> Instant
    where
        M: Machine<P>,
    {
        if self.until == Instant::START { self.machine.poll_timeout() } else { self.until }
    }
}

impl<M> Deref for Rested<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.machine
    }
}

impl<M> DerefMut for Rested<M> {
    fn deref_mut(&mut self) -> &mut M {
        self.until = Instant::START;
        &mut self.machine
    }
}

impl<P: Payload> Machine<P> for Reader {
    fn poll_transmit(&mut self, now: Now, out: &mut Transmit<P>) -> bool {
        Self::poll_transmit(self, now, out)
    }

    fn poll_timeout(&self) -> Instant {
        Self::poll_timeout(self)
    }
}

impl<P: Payload> Machine<P> for Writer<P> {
    fn poll_transmit(&mut self, now: Now, out: &mut Transmit<P>) -> bool {
        Self::poll_transmit(self, now, out)
    }

    fn poll_timeout(&self) -> Instant {
        Self::poll_timeout(self)
    }
}
