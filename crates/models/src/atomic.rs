//! Atomics whose operations are sequentially consistent where they say so.
use std::cell::Cell;
pub use std::sync::atomic::Ordering;

use crate::trace::step;

/// Where the fence of a `SeqCst` operation is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fences {
    Before,
    After,
}

/// As that of the standard library.
#[track_caller]
pub fn fence(order: Ordering) {
    loom::sync::atomic::fence(order);
    step("fence", None);
}

thread_local! {
    /// All threads of a model run on one thread of the system.
    static FENCES: Cell<Fences> = const { Cell::new(Fences::Before) };
}

pub(crate) fn set_fences(fences: Fences) {
    FENCES.set(fences);
}

/// Does a `SeqCst` operation with the weaker order and a fence.
fn ordered<R>(order: Ordering, weaker: Ordering, operation: impl FnOnce(Ordering) -> R) -> R {
    if order != Ordering::SeqCst {
        return operation(order);
    }
    match FENCES.get() {
        Fences::Before => {
            loom::sync::atomic::fence(order);
            operation(weaker)
        }
        Fences::After => {
            let result = operation(weaker);
            loom::sync::atomic::fence(order);
            result
        }
    }
}

macro_rules! atomic {
    ($name:ident, $value:ty $(, $change:ident)*) => {
        /// As that of the standard library.
        #[derive(Debug, Default)]
        pub struct $name(loom::sync::atomic::$name);

        impl $name {
            /// With a value to begin with.
            pub fn new(value: $value) -> Self {
                Self(loom::sync::atomic::$name::new(value))
            }

            /// As that of the standard library.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                let value = ordered(order, Ordering::Acquire, |order| self.0.load(order));
                step("load", Some(value as u64));
                value
            }

            /// As that of the standard library.
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                // A plain store may come before any that it has not seen, for `loom`, even between the two halves of a swap.
                ordered(order, Ordering::Release, |order| self.0.swap(value, order));
                step("store", Some(value as u64));
            }

            /// As that of the standard library.
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                let before = ordered(order, Ordering::AcqRel, |order| self.0.swap(value, order));
                step("swap, before", Some(before as u64));
                before
            }

            /// As that of the standard library; who fails has loaded as `failure` says.
            ///
            /// # Errors
            ///
            /// The value that was found instead.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let weaker = if failure == Ordering::SeqCst { Ordering::Acquire } else { failure };
                let exchange = |order| self.0.compare_exchange(current, new, order, weaker);
                let before = ordered(success, Ordering::AcqRel, exchange);
                step("compare and exchange, before", Some(before.unwrap_or_else(|other| other) as u64));
                before
            }

            $(
                /// As that of the standard library.
                #[track_caller]
                pub fn $change(&self, value: $value, order: Ordering) -> $value {
                    let before = ordered(order, Ordering::AcqRel, |order| self.0.$change(value, order));
                    step(concat!(stringify!($change), ", before"), Some(before as u64));
                    before
                }
            )*
        }
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicU32, u32, fetch_add, fetch_sub, fetch_or, fetch_and);
atomic!(AtomicU64, u64, fetch_add, fetch_sub, fetch_min, fetch_max);
atomic!(AtomicUsize, usize, fetch_add, fetch_sub);
