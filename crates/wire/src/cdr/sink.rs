//! Where encoded bytes go: to the end of a vector, into a fixed space, or nowhere but into a count.
use alloc::vec::Vec;

/// A place for encoded bytes. Positions count from the first byte of the value.
pub trait Sink: sealed::Sealed {
    /// Bytes written so far.
    fn position(&self) -> usize;

    /// Appends bytes.
    fn extend(&mut self, bytes: &[u8]) -> Result<(), Full>;

    /// Appends `len` bytes that `write` puts in place; it is not called if they are not kept.
    fn fill(&mut self, len: usize, write: impl FnOnce(&mut [u8])) -> Result<(), Full>;

    /// Overwrites bytes that were written before.
    fn replace(&mut self, at: usize, bytes: &[u8]);

    /// Moves everything from `at` on by `len` bytes towards the end.
    fn open_gap(&mut self, at: usize, len: usize) -> Result<(), Full>;
}

/// There is no space left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// Appends to a vector. Nothing is allocated while its capacity suffices.
#[derive(Debug)]
pub struct VecSink<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> VecSink<'a> {
    /// The value begins at the end of `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        let start = out.len();
        Self { out, start }
    }
}

impl Sink for VecSink<'_> {
    fn position(&self) -> usize {
        self.out.len() - self.start
    }

    #[inline]
    fn extend(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn fill(&mut self, len: usize, write: impl FnOnce(&mut [u8])) -> Result<(), Full> {
        let old = self.out.len();
        self.out.resize(old.checked_add(len).ok_or(Full)?, 0);
        write(self.out.get_mut(old..).ok_or(Full)?);
        Ok(())
    }

    fn replace(&mut self, at: usize, bytes: &[u8]) {
        overwrite(self.out.get_mut(self.start..), at, bytes);
    }

    fn open_gap(&mut self, at: usize, len: usize) -> Result<(), Full> {
        let from = self.start.saturating_add(at);
        let end = self.out.len();
        self.out.resize(end.checked_add(len).ok_or(Full)?, 0);
        self.out.copy_within(from.min(end)..end, from.min(end) + len);
        Ok(())
    }
}

/// Writes into a fixed space, from its first byte on.
#[derive(Debug)]
pub struct SliceSink<'a> {
    out: &'a mut [u8],
    position: usize,
}

impl<'a> SliceSink<'a> {
    /// The value begins at the first byte of `out`.
    pub const fn new(out: &'a mut [u8]) -> Self {
        Self { out, position: 0 }
    }
}

impl Sink for SliceSink<'_> {
    fn position(&self) -> usize {
        self.position
    }

    #[inline]
    fn extend(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.fill(bytes.len(), |space| space.copy_from_slice(bytes))
    }

    #[inline]
    fn fill(&mut self, len: usize, write: impl FnOnce(&mut [u8])) -> Result<(), Full> {
        let end = self.position.checked_add(len).ok_or(Full)?;
        write(self.out.get_mut(self.position..end).ok_or(Full)?);
        self.position = end;
        Ok(())
    }

    fn replace(&mut self, at: usize, bytes: &[u8]) {
        overwrite(Some(self.out), at, bytes);
    }

    fn open_gap(&mut self, at: usize, len: usize) -> Result<(), Full> {
        let end = self.position;
        self.fill(len, |_| ())?;
        self.out.copy_within(at.min(end)..end, at.min(end) + len);
        Ok(())
    }
}

/// Counts bytes and keeps none.
#[derive(Debug, Default)]
pub struct CountSink {
    position: usize,
}

impl Sink for CountSink {
    fn position(&self) -> usize {
        self.position
    }

    #[inline]
    fn extend(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.fill(bytes.len(), |_| ())
    }

    #[inline]
    fn fill(&mut self, len: usize, _write: impl FnOnce(&mut [u8])) -> Result<(), Full> {
        self.position = self.position.checked_add(len).ok_or(Full)?;
        Ok(())
    }

    fn replace(&mut self, _at: usize, _octets: &[u8]) {}

    fn open_gap(&mut self, _at: usize, len: usize) -> Result<(), Full> {
        self.fill(len, |_| ())
    }
}

fn overwrite(space: Option<&mut [u8]>, at: usize, octets: &[u8]) {
    let target = space.and_then(|space| space.get_mut(at..)).and_then(|rest| rest.get_mut(..octets.len()));
    debug_assert!(target.is_some(), "only bytes that were written can be overwritten");
    if let Some(target) = target {
        target.copy_from_slice(octets);
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::VecSink<'_> {}
    impl Sealed for super::SliceSink<'_> {}
    impl Sealed for super::CountSink {}
}
