//! What a machine wants sent: parts that stay valid after the lock is released.
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use crate::path::Path;

/// One datagram and the paths that it goes to. The caller keeps one and hands it to every poll, so that its
/// buffers are reused; after a poll its parts are independent of the machine that filled it.
#[derive(Debug)]
pub struct Transmit<P> {
    paths: Vec<Path>,
    class: u8,
    parts: Vec<Part<P>>,
    scratch: Vec<u8>,
}

/// A piece of a datagram.
#[derive(Clone, Debug)]
enum Part<P> {
    /// Octets of this transmit's own scratch.
    Scratch(Range<usize>),
    /// Octets of a shared slab of the writer's history.
    Slab(Arc<Vec<u8>>, Range<usize>),
    /// Octets of a large sample, never copied.
    Payload(P, Range<usize>),
}

impl<P: AsRef<[u8]>> Transmit<P> {
    /// An empty one.
    pub const fn new() -> Self {
        Self { paths: Vec::new(), class: 0, parts: Vec::new(), scratch: Vec::new() }
    }

    /// The paths that the datagram goes to, each once.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// DSCP of the datagram, 0 to 63.
    pub const fn class(&self) -> u8 {
        self.class
    }

    /// The pieces of the datagram, in order. A fresh datagram of small samples is a single piece.
    pub fn slices(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.parts.iter().map(|part| {
            let (bytes, range) = match part {
                Part::Scratch(range) => (self.scratch.as_slice(), range),
                Part::Slab(slab, range) => (slab.as_slice(), range),
                Part::Payload(payload, range) => (payload.as_ref(), range),
            };
            bytes.get(range.clone()).unwrap_or(&[])
        })
    }

    /// Octets of the datagram.
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

    /// Appends the whole datagram to `out`.
    pub fn copy_to(&self, out: &mut Vec<u8>) {
        self.slices().for_each(|slice| out.extend_from_slice(slice));
    }

    /// Lets go of all that it holds; buffers keep their capacity.
    pub fn clear(&mut self) {
        self.paths.clear();
        self.parts.clear();
        self.scratch.clear();
        self.class = 0;
    }

    pub(crate) fn set_class(&mut self, class: u8) {
        self.class = class;
    }

    pub(crate) fn add_path(&mut self, path: Path) {
        if !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }

    /// Takes a path out; false if it is not there.
    pub(crate) fn take_path(&mut self, path: &Path) -> bool {
        let before = self.paths.len();
        self.paths.retain(|other| other != path);
        self.paths.len() < before
    }

    /// Lets `write` append to the scratch and makes what it appended the next piece, joined to the last if that is scratch too.
    pub(crate) fn scratch(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.scratch.len();
        write(&mut self.scratch);
        let end = self.scratch.len();
        match self.parts.last_mut() {
            Some(Part::Scratch(range)) if range.end == start => range.end = end,
            _ => self.parts.push(Part::Scratch(start..end)),
        }
    }

    /// Adds octets of a slab, joined to the last piece if they follow it there.
    pub(crate) fn slab(&mut self, slab: &Arc<Vec<u8>>, range: Range<usize>) {
        match self.parts.last_mut() {
            Some(Part::Slab(last, joined)) if joined.end == range.start && Arc::ptr_eq(last, slab) => {
                joined.end = range.end;
            }
            _ => self.parts.push(Part::Slab(Arc::clone(slab), range)),
        }
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
