//! What a call has touched and has to look after before it returns.
//!
//! Datagrams and commands only note which endpoints they touched. Answers, deliveries within the process and callbacks
//! follow when no lock is held any more; they may touch further endpoints.
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use rtps::Transmit;
use rtps::discovery::{Event, Mismatch};
use wire::discovery::EndpointData;
use wire::{Guid, GuidPrefix, Now};

use super::reader::ReaderCell;
use super::watch::Watch;
use super::writer::{OwnDatagram, WriterCell};
use crate::bytes::Bytes;
use crate::host::Host;

/// See the module. Its buffers are used again by the next call on the thread.
#[derive(Default)]
pub(crate) struct Work {
    readers: Vec<Arc<ReaderCell>>,
    writers: Vec<Arc<WriterCell>>,
    /// Callbacks that are due, in turn.
    pub(crate) calls: VecDeque<Arc<Watch>>,
    /// Participants that are gone.
    pub(crate) lost: Vec<GuidPrefix>,
    /// Endpoints that do not match, and why.
    pub(crate) not_matched: Vec<(Arc<EndpointData>, Vec<Mismatch>)>,
    /// What discovery has told, for the log.
    pub(crate) events: Vec<Event>,
    /// The time of this pass, so that it is read once; it is not kept over a callback.
    time: Option<Now>,
    /// Discovery has something to do.
    pub(crate) discovery: bool,
    /// A lease, or the patience with resource managers, may have ended.
    pub(crate) assurance: bool,
    /// Writers that discovery believed silent and that were heard.
    pub(crate) heard_again: Vec<Guid>,
    /// What readers and discovery send is put together here.
    pub(crate) transmit: Transmit<Bytes>,
    /// Datagrams to ourselves are put together here.
    pub(crate) own: OwnDatagram,
}

/// Work that there is already, or that begins when it is needed.
pub(super) trait WorkSource {
    /// The work; if it begins with that, it is `now`.
    fn begin(&mut self, now: Now) -> &mut Work;
}

impl WorkSource for &mut Work {
    fn begin(&mut self, _now: Now) -> &mut Work {
        self
    }
}

impl WorkSource for &mut Option<Box<Work>> {
    fn begin(&mut self, now: Now) -> &mut Work {
        self.get_or_insert_with(|| {
            let mut work = Work::take();
            work.set_time(Some(now));
            work
        })
    }
}

thread_local! {
    #[expect(clippy::vec_box, reason = "a work is moved with each command")]
    static SPARE: RefCell<Vec<Box<Work>>> = const { RefCell::new(Vec::new()) };
}

impl Work {
    /// An empty one; callbacks that call again get one of their own.
    pub(crate) fn take() -> Box<Self> {
        SPARE.with_borrow_mut(Vec::pop).unwrap_or_default()
    }

    /// Gives it back when all is done.
    pub(crate) fn give(mut self: Box<Self>) {
        self.time = None;
        SPARE.with_borrow_mut(|spare| spare.push(self));
    }

    /// The time of this pass.
    pub(crate) fn now(&mut self, host: &dyn Host) -> Now {
        *self.time.get_or_insert_with(|| host.now())
    }

    /// It is `now`, or time may have passed.
    pub(crate) fn set_time(&mut self, now: Option<Now>) {
        self.time = now;
    }

    pub(crate) fn touch_reader(&mut self, reader: &Arc<ReaderCell>) {
        if !self.readers.iter().any(|known| Arc::ptr_eq(known, reader)) {
            self.readers.push(Arc::clone(reader));
        }
    }

    pub(crate) fn touch_writer(&mut self, writer: &Arc<WriterCell>) {
        if !self.writers.iter().any(|known| Arc::ptr_eq(known, writer)) {
            self.writers.push(Arc::clone(writer));
        }
    }

    pub(crate) fn next_reader(&mut self) -> Option<Arc<ReaderCell>> {
        self.readers.pop()
    }

    /// True if nothing is left to look after.
    pub(crate) fn is_done(&self) -> bool {
        !self.discovery
            && !self.assurance
            && self.readers.is_empty()
            && self.writers.is_empty()
            && self.lost.is_empty()
            && self.not_matched.is_empty()
            && self.calls.is_empty()
    }

    /// The one with the highest TRANSPORT_PRIORITY, of those the one that was touched first.
    pub(crate) fn next_writer(&mut self) -> Option<Arc<WriterCell>> {
        let first = (0..self.writers.len()).min_by_key(|index| {
            std::cmp::Reverse(self.writers.get(*index).map_or(0, |writer| writer.priority()))
        })?;
        Some(self.writers.remove(first))
    }
}
