//! Numbers of threads: cheaper to ask for than the names that the standard library gives them.
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

static LAST: AtomicU64 = AtomicU64::new(1);

/// A number that nothing else in this process has, never 0.
pub(crate) fn unique() -> u64 {
    LAST.fetch_add(1, Ordering::Relaxed)
}

/// The number of the calling thread.
#[inline]
pub(crate) fn this_thread() -> u64 {
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(unique());
        }
        number.get()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_number() {
        let own = this_thread();
        assert_eq!(own, this_thread());
        assert_ne!(own, std::thread::spawn(this_thread).join().unwrap());
    }
}
