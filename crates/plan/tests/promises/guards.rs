//! Gates, meters and buckets, written from `docs/decisions/0003-gate.md` and `docs/plan.md`.

/// Picoseconds in a millisecond.
const MILLISECOND: u64 = 1_000_000_000;
/// Bits of a second's rate times picoseconds.
const SECOND: u128 = 1_000_000_000_000;

/// What a gate is told, in bytes and picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GateRule {
    pub(crate) bytes: u64,
    pub(crate) separation: u64,
    pub(crate) tolerance: u64,
    pub(crate) window: u64,
}

/// What a meter is told, in bits and bits per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeterRule {
    pub(crate) burst: u64,
    pub(crate) rate: u64,
    pub(crate) counts_wire: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    Gate(GateRule),
    Meter(MeterRule),
}

/// The state of what holds a publisher to its contract.
#[derive(Clone, Debug)]
pub(crate) enum Guard {
    Gate(Gate),
    Meter(Meter),
}

impl Guard {
    /// `strict` gates refuse what is left of a message that they have refused, as decision 3 says; others let through all that may be let
    /// through. `phase` is when a meter that is filled in steps is filled, in picoseconds.
    pub(crate) fn new(rule: Rule, strict: bool, phase: u64) -> Self {
        match rule {
            Rule::Gate(rule) => Self::Gate(Gate::new(rule, strict)),
            Rule::Meter(rule) => Self::Meter(Meter::new(rule, phase)),
        }
    }

    /// Whether a frame passes that takes so many bytes of the wire. What is padded counts if the publisher `conforms`, and not if it does
    /// not, whichever is worse.
    pub(crate) fn passes(&mut self, now: u64, bytes: u64, conforms: bool) -> bool {
        match self {
            Self::Gate(gate) => gate.passes(now, bytes),
            Self::Meter(meter) => meter.passes(now, bytes, conforms),
        }
    }

    /// The first instant from `now` on when a frame of somebody who does not conform would pass; `None` if never.
    pub(crate) fn opens(&self, now: u64, bytes: u64) -> Option<u64> {
        match self {
            Self::Gate(gate) => gate.opens(now, bytes),
            Self::Meter(meter) => meter.opens(now, bytes),
        }
    }
}

/// Decision 3, "Rule".
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    rule: GateRule,
    strict: bool,
    next: u64,
    left: u64,
    open_until: Option<u64>,
    last: Option<u64>,
    began: Option<u64>,
    rest: u64,
    refused: bool,
    paused: bool,
    /// Frames of this message, and of the one before, were dropped by the fourth rule.
    late: [bool; 2],
}

impl Gate {
    fn new(rule: GateRule, strict: bool) -> Self {
        Self {
            rule,
            strict,
            next: 0,
            left: 0,
            open_until: None,
            last: None,
            began: None,
            rest: 0,
            refused: false,
            paused: false,
            late: [false; 2],
        }
    }

    fn passes(&mut self, now: u64, bytes: u64) -> bool {
        let GateRule { bytes: most, separation, tolerance, window } = self.rule;
        let pause = separation.saturating_sub(tolerance).saturating_sub(window);
        let gap = self.last.map_or(u64::MAX, |last| now - last);
        self.last = Some(now);
        // 1
        if self.open_until.is_some_and(|until| now <= until) && bytes <= self.left {
            self.left -= bytes;
            self.rest = self.rest.saturating_sub(bytes);
            self.paused |= gap >= pause;
            return true;
        }
        let began = self.began.unwrap_or(0);
        // 2
        let until = if self.refused {
            began + window.max((separation + window) / 2)
        } else {
            began + separation + window
        };
        let is_rest = if pause > 0 {
            (bytes <= self.rest || self.paused) && gap < pause && now < until
        } else {
            self.refused && now < until
        };
        if self.strict && self.began.is_some() && is_rest {
            self.rest = self.rest.saturating_sub(bytes);
            return false;
        }
        // 3
        if bytes <= most && now + tolerance >= self.next {
            self.next = now.max(self.next) + separation;
            (self.left, self.rest) = (most - bytes, most - bytes);
            self.open_until = Some(now + window);
            self.began = Some(now);
            (self.refused, self.paused) = (false, false);
            self.late = [false, self.late[0]];
            return true;
        }
        if !self.strict {
            return false;
        }
        // 4
        let closed = self.open_until.is_some_and(|until| now > until);
        if !self.refused
            && closed
            && now <= began + window + separation / 2
            && bytes <= self.rest
            && !self.late[1]
        {
            self.rest -= bytes;
            self.late[0] = true;
            return false;
        }
        // 5
        if closed || self.open_until.is_none() {
            self.began = Some(now);
        }
        (self.left, self.open_until, self.refused) = (0, None, true);
        self.rest = most.saturating_sub(bytes);
        false
    }

    fn opens(&self, now: u64, bytes: u64) -> Option<u64> {
        if bytes > self.rule.bytes {
            return None;
        }
        let is_open = self.open_until.is_some_and(|until| now <= until) && bytes <= self.left;
        Some(if is_open { now } else { now.max(self.next.saturating_sub(self.rule.tolerance)) })
    }
}

/// A token bucket. One that counts frames is filled as Open vSwitch does it: at the end of each millisecond, and after a pause with the
/// whole milliseconds that burst / rate has.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    rule: MeterRule,
    /// Bits times picoseconds.
    tokens: u128,
    last: Option<u64>,
    phase: u64,
}

impl Meter {
    fn new(rule: MeterRule, phase: u64) -> Self {
        Self { rule, tokens: u128::from(rule.burst) * SECOND, last: None, phase: phase % MILLISECOND }
    }

    /// Bits that a frame counts.
    fn counted(&self, bytes: u64, conforms: bool) -> u64 {
        // Preamble, gap and check sequence are not seen.
        let seen = bytes - 24;
        8 * match self.rule.counts_wire {
            true => bytes,
            false if bytes <= 84 && !conforms => 42,
            false => seen,
        }
    }

    fn filled(&self, now: u64) -> u128 {
        let last = self.last.unwrap_or(now);
        let MeterRule { burst, rate, counts_wire } = self.rule;
        let time = if counts_wire {
            now - last
        } else {
            let end = |at: u64| (at + self.phase) / MILLISECOND;
            let longest = u128::from(burst) * 1_000 / u128::from(rate);
            (end(now) - end(last)).min(u64::try_from(longest).unwrap_or(u64::MAX)) * MILLISECOND
        };
        (self.tokens + u128::from(time) * u128::from(rate)).min(u128::from(burst) * SECOND)
    }

    fn passes(&mut self, now: u64, bytes: u64, conforms: bool) -> bool {
        self.tokens = self.filled(now);
        self.last = Some(now);
        let cost = u128::from(self.counted(bytes, conforms)) * SECOND;
        let passes = cost <= self.tokens;
        if passes {
            self.tokens -= cost;
        }
        passes
    }

    fn opens(&self, now: u64, bytes: u64) -> Option<u64> {
        let bits = self.counted(bytes, false);
        if bits > self.rule.burst {
            return None;
        }
        let missing = (u128::from(bits) * SECOND).saturating_sub(self.filled(now));
        if missing == 0 {
            return Some(now);
        }
        let wait = u64::try_from(missing.div_ceil(u128::from(self.rule.rate))).ok()?;
        if self.rule.counts_wire {
            return Some(now + wait);
        }
        let ends = (now + self.phase) / MILLISECOND + wait.div_ceil(MILLISECOND);
        Some(ends * MILLISECOND - self.phase)
    }
}

/// What control may send at a port: bytes at once, and bits per second.
pub(crate) struct Bucket(Meter);

impl Bucket {
    pub(crate) fn new(bytes: u64, rate: u64) -> Self {
        Self(Meter::new(MeterRule { burst: bytes * 8, rate, counts_wire: true }, 0))
    }

    /// When a frame may come, from `now` on, and that it does.
    pub(crate) fn take(&mut self, now: u64, bytes: u64) -> u64 {
        let at = self.0.opens(now, bytes).unwrap();
        assert!(self.0.passes(at, bytes, true));
        at
    }
}
