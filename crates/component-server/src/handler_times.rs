//! Processor time of handlers, for plans whose bounds rest on it.
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use container::{Moment, Watch};
use deployment::HandlerStatus;
use nix::time::{ClockId, clock_gettime};

/// The environment variable that says that handlers are measured: `1`.
const MEASURE: &str = "PUNCTUAL_MEASURE";

/// Whether handlers are measured, as that variable says.
///
/// # Errors
/// It has another value than 0 and 1.
pub(crate) fn is_wanted() -> Result<bool, String> {
    match std::env::var_os(MEASURE).as_deref().map(|value| value.to_str()) {
        None | Some(Some("" | "0")) => Ok(false),
        Some(Some("1")) => Ok(true),
        Some(_) => Err(format!("{MEASURE} is 1, to measure handlers, or 0")),
    }
}

/// Nanoseconds of processor that this thread has used.
fn used() -> u64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(0, |time| {
        let (seconds, nanos) = (time.tv_sec(), time.tv_nsec());
        u64::try_from(seconds).unwrap_or(0) * 1_000_000_000 + u64::try_from(nanos).unwrap_or(0)
    })
}

/// A handler that this thread is in.
struct Call {
    began: u64,
    /// Nanoseconds of handlers that it has called directly.
    inner: u64,
}

thread_local! {
    static CALLS: RefCell<Vec<Call>> = const { RefCell::new(Vec::new()) };
}

/// The longest calls of a component's handlers.
#[derive(Debug, Default)]
pub(crate) struct HandlerTimes {
    /// Calls and the nanoseconds of the longest one, by port.
    ports: Mutex<BTreeMap<String, (u64, u64)>>,
}

impl HandlerTimes {
    /// What was measured until now.
    pub(crate) fn told(&self) -> Vec<HandlerStatus> {
        let ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        let told = |(port, (count, worst)): (&String, &(u64, u64))| HandlerStatus {
            port: port.clone(),
            count: *count,
            worst: *worst,
        };
        ports.iter().map(told).collect()
    }

    fn add(&self, port: &str, time: u64) {
        let mut ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((count, worst)) = ports.get_mut(port) {
            *count += 1;
            *worst = time.max(*worst);
        } else {
            ports.insert(port.to_owned(), (1, time));
        }
    }
}

impl Watch for HandlerTimes {
    fn begins(&self, _: &str) {
        CALLS.with_borrow_mut(|calls| calls.push(Call { began: used(), inner: 0 }));
    }

    fn ends(&self, port: &str) {
        let now = used();
        let own = CALLS.with_borrow_mut(|calls| {
            let call = calls.pop()?;
            let whole = now.saturating_sub(call.began);
            if let Some(outer) = calls.last_mut() {
                outer.inner += whole;
            }
            Some(whole.saturating_sub(call.inner))
        });
        if let Some(own) = own {
            self.add(port, own);
        }
    }

    fn event(&self, _: &str, _: &dyn Any, _: Moment) {}

    fn timeout(&self, _: &str, _: u16, _: Moment) {}

    fn published(&self, _: &str, _: &dyn Any, _: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses so much of the processor.
    fn compute(nanos: u64) {
        let begin = used();
        while used() - begin < nanos {}
    }

    #[test]
    fn a_handler_is_told_without_those_that_it_calls_and_without_what_others_do() {
        const MS: u64 = 1_000_000;
        let (outer, inner) = (HandlerTimes::default(), HandlerTimes::default());
        for long in [1, 4, 2] {
            outer.begins("in");
            compute(3 * MS);
            inner.begins("deep");
            compute(long * 10 * MS);
            inner.ends("deep");
            // Time in which this thread does not run is none of its own.
            std::thread::sleep(std::time::Duration::from_millis(60));
            outer.ends("in");
        }
        let (outer, inner) = (outer.told(), inner.told());
        assert_eq!((outer.len(), inner.len()), (1, 1));
        assert_eq!((outer[0].port.as_str(), outer[0].count), ("in", 3));
        assert_eq!((inner[0].port.as_str(), inner[0].count), ("deep", 3));
        assert!(inner[0].worst >= 40 * MS, "{inner:?}");
        assert!(outer[0].worst >= 3 * MS && 4 * outer[0].worst < inner[0].worst, "{outer:?}");
    }
}
