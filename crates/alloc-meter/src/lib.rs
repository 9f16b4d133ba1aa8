//! A global allocator that counts what a piece of code takes from the heap, for tests of memory budgets.
//!
//! A test program installs it and measures:
//!
//! ```
//! #[global_allocator]
//! static METER: alloc_meter::Meter = alloc_meter::Meter;
//!
//! let (vector, usage) = alloc_meter::measure(|| vec![0_u8; 1000]);
//! assert_eq!((usage.count, usage.peak, usage.total, usage.largest), (1, 1000, 1000, 1000));
//! drop(vector);
//! ```
//!
//! Counts are kept per thread, so that tests running side by side do not disturb each other.
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What a piece of code took from the heap, in its own thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Allocations, and reallocations.
    pub count: u64,
    /// The most bytes held at one time, above what was held before; memory freed that was taken before counts against it.
    pub peak: usize,
    /// Bytes asked for in all, freed or not.
    pub total: usize,
    /// Bytes held at the end above what was held before; below zero if more was freed than taken.
    pub kept: isize,
    /// The bytes of the largest single allocation.
    pub largest: usize,
}

/// The system's allocator, counting.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter;

#[derive(Clone, Copy)]
struct State {
    count: u64,
    held: isize,
    peak: isize,
    total: usize,
    largest: usize,
}

impl State {
    const START: Self = Self { count: 0, held: 0, peak: 0, total: 0, largest: 0 };
}

thread_local! {
    static STATE: Cell<State> = const { Cell::new(State::START) };
}

/// Runs `code` and says what it took. Nothing is counted unless [`Meter`] is the global allocator; calls do not nest.
pub fn measure<T>(code: impl FnOnce() -> T) -> (T, Usage) {
    STATE.set(State::START);
    let value = code();
    let state = STATE.get();
    let State { count, held, peak, total, largest } = state;
    (value, Usage { count, peak: peak.unsigned_abs(), total, kept: held, largest })
}

fn taken(bytes: usize) {
    change(|state| {
        state.count += 1;
        state.held = state.held.saturating_add_unsigned(bytes);
        state.peak = state.peak.max(state.held);
        state.total = state.total.saturating_add(bytes);
        state.largest = state.largest.max(bytes);
    });
}

fn freed(bytes: usize) {
    change(|state| state.held = state.held.saturating_sub_unsigned(bytes));
}

fn change(change: impl FnOnce(&mut State)) {
    // A thread that is ending has no state any more, and is not measured.
    let _ = STATE.try_with(|cell| {
        let mut state = cell.get();
        change(&mut state);
        cell.set(state);
    });
}

// SAFETY: every call goes to the system's allocator with the arguments it came with, and its result is given back
// unchanged; counting neither allocates nor touches the memory.
unsafe impl GlobalAlloc for Meter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is also the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        freed(layout.size());
        // SAFETY: the pointer came from the system's allocator with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is also the system's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Old and new may exist side by side while the contents are copied.
        taken(new_size);
        freed(layout.size());
        // SAFETY: the pointer came from the system's allocator with this layout.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}
