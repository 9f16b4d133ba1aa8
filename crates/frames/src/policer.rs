//! What guards the first switch against a source that ignores its contract: a message gate, or a token bucket.

/// What a meter counts of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counts {
    /// All bytes on the wire.
    Wire,
    /// Header and payload. Of a frame that is padded to the least size, the padding is counted if the source keeps its
    /// contract, which is worst for it, and left out if it babbles, which is worst for others: then its 84 bytes count
    /// as 42, those of an empty datagram of UDP over IPv4. As in Open vSwitch the bucket is filled up at the end of each millisecond,
    /// after a pause with no more than the whole milliseconds within burst / rate bring.
    Frame,
}

/// Bytes on the wire of the smallest frame, and of what is around header and payload of each.
const SMALLEST: u64 = 84;
const AROUND: u64 = 24;
/// Bytes of the headers of Ethernet, IPv4 and UDP.
const HEADERS: u64 = 42;
/// In picoseconds.
pub const MILLISECOND: u64 = 1_000_000_000;

impl Counts {
    fn of(self, bytes: u64, babbles: bool) -> u64 {
        match self {
            Self::Wire => bytes,
            Self::Frame if babbles && bytes <= SMALLEST => HEADERS,
            Self::Frame => bytes.saturating_sub(AROUND),
        }
    }

    fn filling(self, tick: u64) -> Filling {
        match self {
            Self::Wire => Filling::Always,
            Self::Frame => Filling::Each(tick.max(1)),
        }
    }
}

/// The rule of a guard. Bytes are bytes on the wire, but for meters that count otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policer {
    /// Lets one message through per separation.
    Gate {
        /// Bytes that pass in one opening.
        bytes: u64,
        /// Picoseconds after its first frame within which an opening ends.
        window: u64,
        /// Picoseconds between two nominal openings.
        separation: u64,
        /// Picoseconds by which an opening may come before its nominal instant.
        tolerance: u64,
    },
    /// Lets a frame through if the bucket holds its bytes.
    Meter {
        /// Capacity in bytes.
        burst: u64,
        /// Bytes earned in each period.
        bytes: u64,
        /// The period in picoseconds.
        period: u64,
        /// What it counts.
        counts: Counts,
        /// Picoseconds that pass while its clock shows a millisecond, not 0: how often it is filled up if it counts frames.
        tick: u64,
    },
}

/// The state of a guard.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    rule: Policer,
    state: State,
    babbles: bool,
}

#[derive(Clone, Debug)]
enum State {
    Gate { opened: Option<u64>, passed: u64, next: u64 },
    Bucket(Bucket),
}

impl Guard {
    /// The guard of a source that keeps its contract, or of one that babbles.
    pub(crate) fn new(rule: Policer, babbles: bool) -> Self {
        let state = match rule {
            Policer::Gate { .. } => State::Gate { opened: None, passed: 0, next: 0 },
            Policer::Meter { burst, bytes, period, counts, tick } => {
                State::Bucket(Bucket { filling: counts.filling(tick), ..Bucket::new(burst, bytes, period) })
            }
        };
        Self { rule, state, babbles }
    }

    /// Another rule from now on, of the same kind; a bucket begins anew.
    pub(crate) fn change(&mut self, rule: Policer) {
        if !matches!((&self.state, rule), (State::Gate { .. }, Policer::Gate { .. })) {
            self.state = Self::new(rule, self.babbles).state;
        }
        self.rule = rule;
    }

    /// True if a frame of `bytes` whose last bit comes at `now` passes. Instants never decrease.
    pub(crate) fn passes(&mut self, now: u64, bytes: u64) -> bool {
        match (&mut self.state, self.rule) {
            (
                State::Gate { opened, passed, next },
                Policer::Gate { bytes: most, window, separation, tolerance },
            ) => {
                let open = opened.is_some_and(|at| now <= at.saturating_add(window));
                if open && *passed + bytes <= most {
                    *passed += bytes;
                    return true;
                }
                if now.saturating_add(tolerance) < *next || bytes > most {
                    return false;
                }
                *opened = Some(now);
                *passed = bytes;
                *next = now.max(*next).saturating_add(separation);
                true
            }
            (State::Bucket(bucket), Policer::Meter { counts, .. }) => {
                bucket.take(now, counts.of(bytes, self.babbles))
            }
            (State::Gate { .. }, Policer::Meter { .. }) | (State::Bucket(_), Policer::Gate { .. }) => false,
        }
    }
}

/// A token bucket in exact arithmetic: it counts bytes times the period, so that no refill is rounded.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    capacity: u128,
    tokens: u128,
    bytes: u128,
    period: u128,
    filling: Filling,
    last: Option<u64>,
}

/// When a bucket is filled up.
#[derive(Clone, Copy, Debug)]
enum Filling {
    Always,
    /// At multiples of this many picoseconds, and then with whole ones of them.
    Each(u64),
}

impl Bucket {
    /// A full bucket that is filled up all the time.
    pub(crate) fn new(burst: u64, bytes: u64, period: u64) -> Self {
        let capacity = u128::from(burst) * u128::from(period);
        Self {
            capacity,
            tokens: capacity,
            bytes: u128::from(bytes),
            period: u128::from(period),
            filling: Filling::Always,
            last: None,
        }
    }

    /// Takes tokens for `bytes` if they are there at `now`.
    pub(crate) fn take(&mut self, now: u64, bytes: u64) -> bool {
        self.refill(now);
        let cost = u128::from(bytes) * self.period;
        let enough = cost <= self.tokens;
        if enough {
            self.tokens -= cost;
        }
        enough
    }

    /// The first instant from `now` on at which `bytes` can be taken, which are at most the burst.
    pub(crate) fn ready(&mut self, now: u64, bytes: u64) -> u64 {
        self.refill(now);
        let missing = (u128::from(bytes) * self.period).saturating_sub(self.tokens);
        now.saturating_add(u64::try_from(missing.div_ceil(self.bytes)).unwrap_or(u64::MAX))
    }

    fn refill(&mut self, now: u64) {
        let last = self.last.unwrap_or(now);
        let elapsed = match self.filling {
            Filling::Always => u128::from(now.saturating_sub(last)),
            Filling::Each(tick) => {
                let tick = u128::from(tick);
                let ticks = u128::from(now) / tick - u128::from(last.min(now)) / tick;
                ticks.min(self.capacity / (self.bytes * tick).max(1)) * tick
            }
        };
        self.tokens = (self.tokens + elapsed * self.bytes).min(self.capacity);
        self.last = Some(now.max(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_lets_one_message_through_per_separation() {
        let mut gate =
            Guard::new(Policer::Gate { bytes: 200, window: 50, separation: 1000, tolerance: 100 }, true);
        let passed: alloc::vec::Vec<u64> =
            (0..3000_u64).step_by(10).filter(|now| gate.passes(*now, 100)).collect();
        assert_eq!(passed, [0, 10, 900, 910, 1900, 1910, 2900, 2910]);
    }

    #[test]
    fn a_gate_closes_at_the_end_of_its_window() {
        let mut gate =
            Guard::new(Policer::Gate { bytes: 200, window: 50, separation: 1000, tolerance: 0 }, true);
        assert!(gate.passes(0, 100));
        assert!(!gate.passes(51, 100));
        assert!(gate.passes(1000, 200) && !gate.passes(1000, 1));
    }

    #[test]
    fn a_meter_lets_the_burst_and_then_the_rate_through() {
        let mut meter = Guard::new(
            Policer::Meter { burst: 300, bytes: 100, period: 999, counts: Counts::Wire, tick: MILLISECOND },
            true,
        );
        let passed = (0..=9990_u64).filter(|now| meter.passes(*now, 100)).count();
        assert_eq!(passed, 13);
        let mut bucket = Bucket::new(300, 100, 999);
        assert!(bucket.take(0, 300));
        assert_eq!(bucket.ready(0, 1), 10);
        assert!(!bucket.take(9, 1) && bucket.take(10, 1));
    }

    #[test]
    fn a_meter_that_counts_frames_leaves_out_what_is_around_them() {
        let rule = Policer::Meter {
            burst: 4_200,
            bytes: 1,
            period: 1 << 40,
            counts: Counts::Frame,
            tick: MILLISECOND,
        };
        let passed = |bytes, babbles| {
            let mut meter = Guard::new(rule, babbles);
            (0..1_000).filter(|_| meter.passes(0, bytes)).count()
        };
        assert_eq!([84, 85, 1_538].map(|bytes| passed(bytes, true)), [100, 68, 2]);
        assert_eq!([84, 85, 1_538].map(|bytes| passed(bytes, false)), [70, 68, 2]);
    }

    #[test]
    fn a_meter_that_counts_frames_is_filled_each_millisecond() {
        // 100 bytes per millisecond; frames of 76 on the wire count 52 if they conform.
        let meter = |burst| {
            let rule = Policer::Meter {
                burst,
                bytes: 100,
                period: MILLISECOND,
                counts: Counts::Frame,
                tick: MILLISECOND,
            };
            Guard::new(rule, false)
        };
        let mut least = meter(100);
        assert!(least.passes(0, 76) && !least.passes(MILLISECOND - 1, 76));
        assert!(least.passes(MILLISECOND, 76) && !least.passes(MILLISECOND + 1, 76));
        // What does not hold a millisecond gets nothing after its first frames, ever.
        let mut small = meter(99);
        assert!(small.passes(0, 76));
        assert!((1..1_000).all(|ms| !small.passes(ms * MILLISECOND, 76)));
        // After a pause only whole milliseconds: one of 199, so 147 and not 199 are there.
        let mut paused = meter(199);
        assert!([0, 0, 0].map(|at| paused.passes(at, 76)) == [true; 3] && !paused.passes(0, 76));
        assert!([9, 9, 9].map(|ms| paused.passes(ms * MILLISECOND, 76)) == [true, true, false]);
        // By its own clock: one that is fast has shown two milliseconds of the same contract, which are in a burst of two.
        let tick = MILLISECOND / 100 * 97;
        let rule = Policer::Meter { burst: 200, bytes: 100, period: tick, counts: Counts::Frame, tick };
        let mut fast = Guard::new(rule, false);
        assert!([0, 0, 0].map(|at| fast.passes(at, 76)) == [true; 3]);
        assert!([9, 9, 9].map(|ms| fast.passes(ms * MILLISECOND, 76)) == [true; 3]);
    }
}
