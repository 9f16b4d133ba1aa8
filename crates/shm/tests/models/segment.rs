//! Segments of modelled memory, which may be smaller than real ones, and memory for doorbells and chunks.
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use models::atomic::AtomicU64;
use models::atomic::Ordering::Relaxed;

use crate::map::{Form, Map};

pub(crate) const RING: usize = 128;
const AT_CONSUMED: usize = 64;
const LINE: usize = 64;
const PAGE: usize = 4_096;
pub(crate) const SEALS: i32 = 0;

#[derive(Debug)]
pub struct Segment {
    pub(crate) own: Own,
}

#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) map: Map,
    pub(crate) capacity: usize,
}

#[derive(Debug)]
pub struct Window {
    pub(crate) map: Map,
    pub(crate) capacity: usize,
}

#[derive(Debug)]
pub enum SegmentError {
    Capacity(u64),
    System(io::Error),
    Unsealed,
    Form,
    Nonce,
}

impl Segment {
    /// One whose ring may be written if `is_used`; and how the other side sees it.
    pub(crate) fn new(capacity: usize, is_used: bool) -> (Self, Window) {
        let heads = if is_used { capacity / LINE } else { 0 };
        let words = (0..heads).map(|line| RING + line * LINE).chain([AT_CONSUMED]).collect();
        let map = Map::with(RING + capacity, Form { words, has_lines: true, ..Form::default() });
        let window = Window { map: map.view(), capacity };
        (Self { own: Own { map, capacity } }, window)
    }
}

impl Own {
    pub(crate) fn consumed(&self) -> Option<&AtomicU64> {
        self.map.word(AT_CONSUMED)
    }
}

impl Window {
    pub(crate) fn consumed(&self) -> Option<u64> {
        self.map.word(AT_CONSUMED).map(|word| word.load(Relaxed))
    }
}

/// A doorbell's memory is one page, that of chunks is more.
pub(crate) fn memory(_: &CStr, len: usize) -> Result<OwnedFd, SegmentError> {
    let file = OwnedFd::from(File::open("/dev/null").unwrap());
    let form = if len == PAGE {
        Form { halves: vec![0, 64], ..Form::default() }
    } else {
        let pages = (len - 2 * PAGE) / PAGE;
        let numbers = (0..pages).map(|page| PAGE + page * 8);
        // Two words of each page, of which one could be older than the other.
        let torn = (2 * PAGE..len).step_by(PAGE).flat_map(|page| [page, page + 8]).collect();
        Form { words: numbers.chain([8, 16]).collect(), halves: vec![0, 4], torn, has_lines: true }
    };
    Map::with(len, form).give_to(file.as_raw_fd());
    Ok(file)
}

pub(crate) fn seal(_: BorrowedFd<'_>, _: i32) -> Result<(), SegmentError> {
    Ok(())
}

pub(crate) fn check_sealed(file: BorrowedFd<'_>, _: i32) -> Result<usize, SegmentError> {
    Ok(Map::len_of(file.as_raw_fd()))
}

pub(crate) fn system(_: &'static str) -> impl Fn(io::Error) -> SegmentError {
    SegmentError::System
}
