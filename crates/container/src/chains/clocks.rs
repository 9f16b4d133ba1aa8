//! The clocks of other machines against that of this one: bounds from round trips, whatever part of a round trip each way takes. It knows no clock
//! and no thread.
use threads::Lock;

/// Machines whose clocks are compared at most.
const MOST: usize = 256;
/// Parts of a rate.
const WHOLE: i128 = 1_000_000_000;

/// The instants of a question and its answer, in nanoseconds: of the clock of the machine that asks, and of that which answers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct RoundTrip {
    /// When it was asked, by the clock that asks.
    pub(crate) sent: i64,
    /// When the question was there, by the clock that answers.
    pub(crate) received: i64,
    /// When it was answered, by the same clock.
    pub(crate) answered: i64,
    /// When the answer was there, by the clock that asks.
    pub(crate) came: i64,
}

/// By how much the other clock is ahead: not less than `least` and not more than `most`, at one instant of this clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Offset {
    least: i128,
    most: i128,
    at: i64,
}

/// How much two clocks can part in a time.
fn parted(drift: u32, from: i64, to: i64) -> i128 {
    let time = (i128::from(to) - i128::from(from)).abs();
    (time * i128::from(drift) + WHOLE - 1) / WHOLE
}

impl Offset {
    /// What one round trip says; `None` if it says nothing, since its instants are in no order. The rates of both clocks differ by `drift` parts of
    /// 10^9 at most. A question is not there before it is sent, and neither is an answer: nothing else is taken for true.
    pub(crate) fn of(trip: &RoundTrip, drift: u32) -> Option<Self> {
        let RoundTrip { sent, received, answered, came } = *trip;
        if sent > came || received > answered {
            return None;
        }
        // A clock that is read tells a nanosecond too little at most.
        let meanwhile = parted(drift, sent, came) + 1;
        let least = i128::from(answered) - i128::from(came) - meanwhile;
        let most = i128::from(received) - i128::from(sent) + meanwhile;
        (least <= most).then_some(Self { least, most, at: came })
    }

    /// The same at another instant.
    fn at(self, at: i64, drift: u32) -> Self {
        let parted = parted(drift, self.at, at);
        Self { least: self.least - parted, most: self.most + parted, at }
    }

    /// What both say together. If they contradict each other a clock was set: the later one holds.
    pub(crate) fn with(self, later: Self, drift: u32) -> Self {
        let before = self.at(later.at, drift);
        let (least, most) = (before.least.max(later.least), before.most.min(later.most));
        if least <= most { Self { least, most, at: later.at } } else { later }
    }

    /// The middle of the bounds at an instant, and by how much it may be wrong.
    pub(crate) fn middle(self, at: i64, drift: u32) -> (i64, u64) {
        let Self { least, most, .. } = self.at(at, drift);
        let middle = (least + most).div_euclid(2);
        let error = (most - middle).max(middle - least);
        let middle = i64::try_from(middle).unwrap_or(if middle < 0 { i64::MIN } else { i64::MAX });
        (middle, u64::try_from(error).unwrap_or(u64::MAX))
    }
}

/// What is known of the clocks of other machines.
pub(crate) struct Clocks {
    known: Lock<Known>,
}

#[derive(Default)]
struct Known {
    /// By how many parts of 10^9 the rates of two clocks differ at most; `None` as long as none are compared.
    drift: Option<u32>,
    machines: Vec<(u64, Offset)>,
    /// Stamps of another machine have come.
    is_wanted: bool,
}

impl Default for Clocks {
    fn default() -> Self {
        Self { known: Lock::new(Known::default()) }
    }
}

impl Clocks {
    /// The rates of two clocks differ by that many parts of 10^9 at most. What was found with another drift is forgotten.
    pub(crate) fn set_drift(&self, drift: u32) {
        if let Ok(mut known) = self.known.lock()
            && known.drift != Some(drift)
        {
            known.drift = Some(drift);
            known.machines.clear();
        }
    }

    /// Clocks are compared no more.
    pub(crate) fn forget(&self) {
        if let Ok(mut known) = self.known.lock() {
            *known = Known::default();
        }
    }

    /// A question was answered.
    pub(crate) fn note(&self, machine: u64, trip: &RoundTrip) {
        let Ok(mut known) = self.known.lock() else { return };
        let Some(drift) = known.drift else { return };
        let Some(new) = Offset::of(trip, drift) else { return };
        if let Some((_, old)) = known.machines.iter_mut().find(|(other, _)| *other == machine) {
            *old = old.with(new, drift);
        } else if known.machines.len() < MOST {
            known.machines.push((machine, new));
        }
    }

    /// By how much the clock of a machine is ahead at an instant of this one, by how much that may be wrong, and the drift; `None` if nothing is
    /// known.
    pub(crate) fn ahead(&self, machine: u64, now: i64) -> Option<(i64, u64, u32)> {
        let mut known = self.known.lock().ok()?;
        known.is_wanted = true;
        let drift = known.drift?;
        let (_, offset) = known.machines.iter().find(|(other, _)| *other == machine)?;
        let (middle, error) = offset.middle(now, drift);
        Some((middle, error, drift))
    }

    /// Whether anything was asked for.
    pub(crate) fn is_wanted(&self) -> bool {
        self.known.lock().is_ok_and(|known| known.is_wanted)
    }
}

/// By how much a stamp of that age may be wrong in addition, since clocks part.
pub(crate) fn parted_in(drift: u32, age: u64) -> u64 {
    u64::try_from(parted(drift, 0, i64::try_from(age).unwrap_or(i64::MAX))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Random(u64);
    impl Random {
        fn below(&mut self, limit: u64) -> i64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) % limit.max(1)) as i64
        }
    }

    /// Two clocks whose rates change at random within the drift, over a true time.
    struct Pair {
        now: i64,
        /// In nanoseconds times 10^9, so that nothing is rounded.
        clocks: [i128; 2],
        rates: [i128; 2],
        drift: i128,
    }

    impl Pair {
        fn pass(&mut self, time: i64, random: &mut Random) {
            let mut left = time;
            while left > 0 {
                let step = left.min(1 + random.below(3_000_000));
                for (clock, rate) in self.clocks.iter_mut().zip(&self.rates) {
                    *clock += i128::from(step) * (WHOLE + rate);
                }
                if random.below(10) == 0 {
                    self.rates =
                        self.rates.map(|_| i128::from(random.below(2 * self.drift as u64 + 1)) - self.drift);
                }
                left -= step;
                self.now += step;
            }
        }

        fn read(&self, of: usize) -> i64 {
            (self.clocks[of].div_euclid(WHOLE)) as i64
        }
    }

    /// The judge knows both clocks at each instant; delays are as unfair as they like.
    #[test]
    fn the_true_offset_is_within_the_bounds_at_all_times() {
        let mut narrow = 0;
        for seed in 0..400 {
            let mut random = Random(seed * 104_729 + 3);
            let each = [0, 20_000, 200_000][random.below(3) as usize];
            let start = i128::from(random.below(1 << 40)) - (1 << 39);
            let clocks = [1_000_000_000 * WHOLE, (1_000_000_000 + start) * WHOLE];
            let rates = [each, -each];
            let mut pair = Pair { now: 0, clocks, rates, drift: each };
            // Both rates, and a part for what is left of a rate that is counted by the other clock.
            let drift = 2 * each as u32 + 1 + (each * each / 400_000_000) as u32;
            let unfair = random.below(3);
            let mut known: Option<Offset> = None;
            let mut least_delay = i64::MAX;
            for _ in 0..60 {
                let sent = pair.read(0);
                let delay = |random: &mut Random, is_slow: bool| {
                    50_000 + random.below(100_000) + if is_slow { random.below(20_000_000) } else { 0 }
                };
                let there = delay(&mut random, unfair == 1);
                pair.pass(there, &mut random);
                let received = pair.read(1);
                let work = random.below(5_000_000);
                pair.pass(work, &mut random);
                let answered = pair.read(1);
                let back = delay(&mut random, unfair == 2);
                pair.pass(back, &mut random);
                let came = pair.read(0);
                least_delay = least_delay.min(there + back);
                let trip = RoundTrip { sent, received, answered, came };
                let new = Offset::of(&trip, drift).unwrap();
                known = Some(known.map_or(new, |known| known.with(new, drift)));
                for _ in 0..3 {
                    let pause = random.below(30_000_000);
                    pair.pass(pause, &mut random);
                    let (middle, error) = known.unwrap().middle(pair.read(0), drift);
                    let truth = pair.read(1) - pair.read(0);
                    // Readings are cut to a nanosecond.
                    assert!(truth.abs_diff(middle) <= error + 2, "seed {seed}: {truth}, {middle} ± {error}");
                }
            }
            // Never worse than half of the shortest round trip, but for the drift since then.
            let known = known.unwrap();
            if each == 0 {
                let (_, error) = known.middle(pair.read(0), drift);
                assert!(error <= least_delay as u64 / 2 + 200, "seed {seed}: {error}, {least_delay}");
                narrow += 1;
            }
        }
        assert!(narrow > 50);
    }

    #[test]
    fn nonsense_says_nothing_and_a_clock_that_was_set_begins_anew() {
        let trip = |sent, received, answered, came| RoundTrip { sent, received, answered, came };
        for wrong in [
            trip(10, 5, 4, 20),
            trip(10, 5, 6, 9),
            // The answer was made for longer than the question was away.
            trip(0, 100, 200, 50),
            trip(i64::MAX, i64::MIN, i64::MAX, i64::MIN),
        ] {
            assert_eq!(Offset::of(&wrong, 0), None, "{wrong:?}");
        }
        let first = Offset::of(&trip(0, 1_050, 1_060, 110), 0).unwrap();
        assert_eq!(first.middle(110, 0), (1_000, 51));
        let set = Offset::of(&trip(200, 9_250, 9_250, 300), 0).unwrap();
        assert_eq!(first.with(set, 0).middle(300, 0), (9_000, 51));
        // Extremes do no harm.
        for extreme in
            [trip(i64::MIN, i64::MIN, i64::MAX, i64::MAX), trip(i64::MIN, i64::MAX, i64::MAX, i64::MIN)]
        {
            if let Some(offset) = Offset::of(&extreme, u32::MAX) {
                offset.with(first, u32::MAX).middle(i64::MAX, u32::MAX);
            }
        }
        let clocks = Clocks::default();
        assert!(!clocks.is_wanted());
        assert_eq!(clocks.ahead(1, 0), None);
        assert!(clocks.is_wanted());
        clocks.set_drift(0);
        for machine in 0..2 * MOST as u64 {
            clocks.note(machine, &trip(0, 1_050, 1_060, 110));
        }
        assert_eq!(clocks.ahead(7, 110), Some((1_000, 51, 0)));
        assert_eq!(clocks.ahead(MOST as u64, 110), None);
    }

    #[test]
    fn what_was_known_is_worth_less_as_time_passes() {
        let trip = RoundTrip { sent: 0, received: 1_050, answered: 1_060, came: 110 };
        let clocks = Clocks::default();
        clocks.set_drift(400_000);
        clocks.note(3, &trip);
        let error = |now| clocks.ahead(3, now).unwrap().1;
        assert!(error(110) <= 52);
        assert!((400_000..401_000).contains(&error(1_000_000_110)));
        assert_eq!(parted_in(400_000, 1_000_001), 401);
    }

    #[test]
    fn what_was_found_with_another_drift_is_forgotten() {
        let trip = RoundTrip { sent: 0, received: 1_050, answered: 1_060, came: 110 };
        let clocks = Clocks::default();
        clocks.note(3, &trip);
        assert_eq!(clocks.ahead(3, 110), None, "none are compared");
        for drift in [100, 400_000, 50] {
            clocks.set_drift(drift);
            assert_eq!(clocks.ahead(3, 110), None);
            clocks.note(3, &trip);
            clocks.set_drift(drift);
            assert_eq!(clocks.ahead(3, 110).unwrap().2, drift);
        }
        clocks.forget();
        clocks.note(3, &trip);
        assert!(clocks.ahead(3, 110).is_none());
    }
}
