//! What a machine wants sent: parts that stay valid after the lock is released.
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use crate::path::Path;

/// One datagram, or a train of them, and the paths that it goes to. The caller keeps one and hands it to every poll, so that its
/// buffers are reused; after a poll its parts are independent of the machine that filled it.
#[derive(Debug)]
pub struct Transmit<P> {
    paths: Vec<Path>,
    class: u8,
    parts: Vec<Part<P>>,
    scratch: Vec<u8>,
    /// Of a train: how many parts there are at the end of each datagram.
    ends: Vec<usize>,
    /// Bytes of each datagram of a train but the last.
    segment: u16,
    /// Samples that are not there as bytes, and where their placeholders begin.
    values: Vec<(usize, P)>,
    /// It is a message of a flow, or has taken tokens: its time is counted from the moment when it has left.
    is_message: bool,
}

/// A piece of a datagram, for hosts that can pass handles on.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a, P> {
    /// Bytes without another owner.
    Octets(&'a [u8]),
    /// These bytes of a large sample.
    Payload(&'a P, &'a Range<usize>),
}

/// A piece of a datagram.
#[derive(Clone, Debug)]
enum Part<P> {
    /// Bytes of this transmit's own scratch.
    Scratch(Range<usize>),
    /// Bytes of a shared slab of the writer's history.
    Slab(Arc<Vec<u8>>, Range<usize>),
    /// Bytes of a large sample, never copied.
    Payload(P, Range<usize>),
}

impl<P: AsRef<[u8]>> Transmit<P> {
    /// An empty one.
    pub const fn new() -> Self {
        Self {
            paths: Vec::new(),
            class: 0,
            parts: Vec::new(),
            scratch: Vec::new(),
            ends: Vec::new(),
            segment: 0,
            values: Vec::new(),
            is_message: false,
        }
    }

    /// The paths that the datagram goes to, each once.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// DSCP of the datagram, 0 to 63.
    pub const fn class(&self) -> u8 {
        self.class
    }

    /// The pieces of all, in order. A fresh datagram of small samples is a single piece. Of a train they are cut into datagrams of
    /// [`Transmit::segment`] bytes, see also [`Transmit::datagrams`].
    pub fn slices(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.slices_of(&self.parts)
    }

    /// The pieces of all, in order, as [`Transmit::slices`], with the handles of those that are parts of a payload.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'_, P>> {
        self.parts.iter().map(|part| match part {
            Part::Scratch(range) => Piece::Octets(self.scratch.get(range.clone()).unwrap_or(&[])),
            Part::Slab(slab, range) => Piece::Octets(slab.get(range.clone()).unwrap_or(&[])),
            Part::Payload(payload, range) => Piece::Payload(payload, range),
        })
    }

    /// The pieces of each datagram: one, unless it is a train.
    pub fn datagrams(&self) -> impl Iterator<Item = impl ExactSizeIterator<Item = &[u8]>> {
        let whole = self.ends.is_empty().then_some(self.parts.len());
        let mut start = 0;
        self.ends.iter().copied().chain(whole).map(move |end| {
            let first = core::mem::replace(&mut start, end);
            self.slices_of(self.parts.get(first..end).unwrap_or_default())
        })
    }

    /// Bytes of each datagram of a train but the last, which has no more; `None` if there is one datagram.
    pub fn segment(&self) -> Option<u16> {
        (self.ends.len() > 1).then_some(self.segment)
    }

    /// True for first transmissions along a flow, and for what has taken tokens of a bucket: the writer has to be polled with the time after
    /// the send call has returned, and nothing may go along.
    pub const fn is_message(&self) -> bool {
        self.is_message
    }

    fn slices_of<'a>(&'a self, parts: &'a [Part<P>]) -> impl ExactSizeIterator<Item = &'a [u8]> {
        parts.iter().map(|part| {
            let (bytes, range) = match part {
                Part::Scratch(range) => (self.scratch.as_slice(), range),
                Part::Slab(slab, range) => (slab.as_slice(), range),
                Part::Payload(payload, range) => (payload.as_ref(), range),
            };
            bytes.get(range.clone()).unwrap_or(&[])
        })
    }

    /// Samples of which the datagram, which goes to readers of the same process alone, holds placeholders of four bytes only: where
    /// each begins, and the handle.
    pub fn values(&self) -> &[(usize, P)] {
        &self.values
    }

    /// Bytes of the datagram, or of all datagrams of a train.
    pub fn len(&self) -> usize {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Scratch(range) | Part::Slab(_, range) | Part::Payload(_, range) => range.len(),
            })
            .sum()
    }

    /// True if there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends all bytes to `out`.
    pub fn copy_to(&self, out: &mut Vec<u8>) {
        self.slices().for_each(|slice| out.extend_from_slice(slice));
    }

    /// True if it holds nothing.
    pub const fn is_clear(&self) -> bool {
        self.paths.is_empty() && self.parts.is_empty() && self.values.is_empty()
    }

    /// Lets go of all that it holds; buffers keep their capacity.
    pub fn clear(&mut self) {
        self.paths.clear();
        self.parts.clear();
        self.scratch.clear();
        self.class = 0;
        self.ends.clear();
        self.segment = 0;
        self.values.clear();
        self.is_message = false;
    }

    pub(crate) const fn set_timed(&mut self) {
        self.is_message = true;
    }

    /// Ends a datagram of a train, which the next one follows, and gives its length. All but the last have to be equally long.
    pub(crate) fn end_datagram(&mut self) -> usize {
        let first = self.ends.last().copied().unwrap_or(0);
        let len = self.slices_of(self.parts.get(first..).unwrap_or_default()).map(<[u8]>::len).sum();
        if self.ends.is_empty() {
            // No datagram is longer than 65,507 bytes.
            self.segment = len as u16;
        }
        self.ends.push(self.parts.len());
        len
    }

    /// Lets what follows belong to the datagram that was ended last.
    pub(crate) fn reopen_datagram(&mut self) {
        self.ends.pop();
    }

    pub(crate) fn set_class(&mut self, class: u8) {
        self.class = class;
    }

    #[inline(never)]
    pub(crate) fn add_path(&mut self, path: Path) {
        if !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }

    /// Lets `write` append to the scratch and makes what it appended the next piece, joined to the last if that is scratch too.
    pub(crate) fn scratch(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.scratch.len();
        write(&mut self.scratch);
        let end = self.scratch.len();
        let joins = self.ends.last() != Some(&self.parts.len());
        match self.parts.last_mut() {
            Some(Part::Scratch(range)) if joins && range.end == start => range.end = end,
            _ => self.parts.push(Part::Scratch(start..end)),
        }
    }

    /// Adds bytes of a slab, joined to the last piece if they follow it there.
    pub(crate) fn slab(&mut self, slab: &Arc<Vec<u8>>, range: Range<usize>) {
        match self.parts.last_mut() {
            Some(Part::Slab(last, joined)) if joined.end == range.start && Arc::ptr_eq(last, slab) => {
                joined.end = range.end;
            }
            _ => self.parts.push(Part::Slab(Arc::clone(slab), range)),
        }
    }

    /// Adds a placeholder, and the handle of what it stands for.
    pub(crate) fn value(&mut self, value: P) {
        let at = self.len();
        self.scratch(|bytes| bytes.extend_from_slice(&[0; 4]));
        self.values.push((at, value));
    }

    pub(crate) fn payload(&mut self, payload: P, range: Range<usize>) {
        self.parts.push(Part::Payload(payload, range));
    }
}

impl<P: AsRef<[u8]>> Default for Transmit<P> {
    fn default() -> Self {
        Self::new()
    }
}
