//! One-way times of answered pings, with the error that two clocks make.
use std::time::Duration;

use serde_json::{Value, json};

use super::clock::{self, Exchange, Offset};
use super::latency::Latencies;
use crate::exit::Failure;

/// Exchanges of one second that are kept at most; more than that do not make the clock error smaller.
const KEPT: usize = 100_000;

/// See the module. The clocks are compared anew each second, because they run apart.
pub(super) struct OneWay {
    own_clock: u64,
    there: Latencies,
    back: Latencies,
    /// Exchanges with other clocks that are not judged yet.
    waiting: Vec<(u64, Exchange)>,
    /// Greatest clock error so far.
    error: Duration,
    /// Exchanges that no difference of the clocks fits.
    unknown: u64,
}

impl OneWay {
    pub(super) fn new() -> Result<Self, Failure> {
        Ok(Self {
            own_clock: clock::identity(),
            there: Latencies::new()?,
            back: Latencies::new()?,
            waiting: Vec::new(),
            error: Duration::ZERO,
            unknown: 0,
        })
    }

    /// An answered ping; `other` is the clock of the participant that answered.
    pub(super) fn add(&mut self, other: u64, exchange: Exchange) {
        if other != 0 && other == self.own_clock {
            self.record(&exchange, 0);
        } else if self.waiting.len() < KEPT {
            self.waiting.push((other, exchange));
        }
    }

    /// A second is over: judges what is waiting, clock by clock.
    pub(super) fn judge(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_by_key(|(other, _)| *other);
        for exchanges in waiting.chunk_by(|(one, _), (other, _)| one == other) {
            let mut offset = Offset::UNKNOWN;
            exchanges.iter().for_each(|(_, exchange)| offset.narrow(exchange));
            match offset.known() {
                Some((ahead, error)) => {
                    self.error = self.error.max(error);
                    exchanges.iter().for_each(|(_, exchange)| self.record(exchange, ahead));
                }
                None => self.unknown += u64::try_from(exchanges.len()).unwrap_or(0),
            }
        }
        waiting.clear();
        self.waiting = waiting;
    }

    fn record(&mut self, exchange: &Exchange, ahead: i64) {
        let [there, back] = exchange.one_way(ahead);
        self.there.record(there);
        self.back.record(back);
    }

    /// There and back.
    pub(super) const fn latencies(&self) -> [&Latencies; 2] {
        [&self.there, &self.back]
    }

    /// What is to be known about them.
    pub(super) fn remark(&self) -> String {
        let unknown = match self.unknown {
            0 => String::new(),
            count => format!("; {count} left out because the clocks ran apart"),
        };
        match self.error {
            Duration::ZERO => format!("one clock, no clock error{unknown}"),
            error => format!("clock error +-{:.1} us{unknown}", error.as_secs_f64() * 1e6),
        }
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        json!({
            "there_us": self.there.json(),
            "back_us": self.back.json(),
            "clock_error_us": self.error.as_secs_f64() * 1e6,
            "left_out": self.unknown,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const EXCHANGE: Exchange = Exchange { sent: 0, received: 5_030_000, answered: 5_040_000, back: 60_000 };

    #[test]
    fn one_clock_has_no_error() {
        let mut one_way = OneWay::new().unwrap();
        let own = one_way.own_clock;
        one_way.add(own, Exchange { sent: 0, received: 30_000, answered: 40_000, back: 60_000 });
        assert_eq!(one_way.latencies().map(Latencies::count), [1, 1]);
        assert_eq!(one_way.remark(), "one clock, no clock error");
    }

    #[test]
    fn the_error_of_two_clocks_is_said() {
        let mut one_way = OneWay::new().unwrap();
        one_way.add(1, EXCHANGE);
        assert_eq!(one_way.latencies()[0].count(), 0);
        one_way.judge();
        assert_eq!(one_way.latencies().map(Latencies::count), [1, 1]);
        // 50 us under way in all, and nothing says how it is divided.
        assert_eq!(one_way.remark(), "clock error +-25.0 us");
    }

    #[test]
    fn clocks_that_ran_apart_give_no_times() {
        let mut one_way = OneWay::new().unwrap();
        one_way.add(1, EXCHANGE);
        one_way.add(1, Exchange { received: 9_030_000, answered: 9_040_000, ..EXCHANGE });
        one_way.judge();
        assert_eq!((one_way.latencies()[0].count(), one_way.unknown), (0, 2));
        assert!(one_way.remark().contains("2 left out"), "{}", one_way.remark());
    }
}
