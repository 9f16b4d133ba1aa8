//! Which drivers the calling thread is inside of: it then runs below a call of their engine, as callbacks do.
use std::cell::RefCell;

/// What a thread does for a driver while it is inside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Duty {
    /// It is in charge of the endpoints' socket: its own thread, or one that leads.
    Reader,
    /// It is in charge of the rings of shared memory.
    Rings,
    /// It keeps the time.
    Timer,
    /// Anything else.
    Other,
}

/// While this lives the thread is inside.
#[derive(Debug)]
pub(super) struct Inside {
    _not_send: std::marker::PhantomData<*const ()>,
}

thread_local! {
    /// Drivers with the duty for which they were entered, innermost last.
    static ENTERED: RefCell<Vec<(u64, Duty)>> = const { RefCell::new(Vec::new()) };
}

/// The outermost duty for which the calling thread is inside of a driver, and how many times it is; `None` if it is not.
pub(super) fn duty(driver: u64) -> Option<(Duty, usize)> {
    // A thread that ends may have forgotten already, and is inside of nothing then.
    let entered = ENTERED.try_with(|entered| {
        let entered = entered.borrow();
        let mut of_driver = entered.iter().filter(|(other, _)| *other == driver);
        of_driver.next().map(|(_, duty)| (*duty, 1 + of_driver.count()))
    });
    entered.ok().flatten()
}

impl Inside {
    /// From now on the thread is inside of this driver.
    pub(super) fn enter(driver: u64, duty: Duty) -> Self {
        ENTERED.with(|entered| entered.borrow_mut().push((driver, duty)));
        Self { _not_send: std::marker::PhantomData }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = ENTERED.try_with(|entered| entered.borrow_mut().pop());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::unique;

    #[test]
    fn the_outermost_duty_counts_for_each_driver() {
        let (one, other) = (unique(), unique());
        assert_eq!(duty(one), None);
        let outer = Inside::enter(one, Duty::Timer);
        let middle = Inside::enter(other, Duty::Reader);
        let inner = Inside::enter(one, Duty::Other);
        assert_eq!((duty(one), duty(other)), (Some((Duty::Timer, 2)), Some((Duty::Reader, 1))));
        drop(inner);
        drop(middle);
        assert_eq!((duty(one), duty(other)), (Some((Duty::Timer, 1)), None));
        drop(outer);
        assert_eq!(duty(one), None);
    }
}
