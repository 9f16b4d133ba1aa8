//! Items that models replace (`tests/models`).
pub(crate) use std::hint::spin_loop as pause;
pub(crate) use std::sync::atomic;

/// How often a lock that is held is looked at before the kernel is asked, at least: about 0.3 us.
pub(crate) const LEAST_LOOKS: u32 = 8;
/// The same at most: about 2 us, which is what asking the kernel takes.
pub(crate) const MOST_LOOKS: u32 = 48;
