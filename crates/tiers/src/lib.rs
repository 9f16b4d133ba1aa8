//! How much randomised tests try.
//!
//! `tiers.toml` at the root of the repository has three tiers: `quick` for every save of a file, `ci` for every
//! change, `long` for a night. The environment variable `PUNCTUAL_TIER` selects one; without it the tier is `quick`.
//! A test asks for its numbers by name:
//!
//! ```
//! let tier = tiers::current();
//! for seed in tier.seeds("sim.seeds") {
//!     assert!(seed >= tier.first_seed());
//! }
//! ```
//!
//! Seeds are the same in every run of `quick` and `ci`. In `long` they come from the clock and are printed;
//! `PUNCTUAL_SEED=number` repeats such a run.
#![forbid(unsafe_code)]

mod file;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

pub use file::{FileError, parse};

/// The environment variable that selects the tier.
pub const TIER_VARIABLE: &str = "PUNCTUAL_TIER";
/// The environment variable that sets the first seed.
pub const SEED_VARIABLE: &str = "PUNCTUAL_SEED";

const FILE: &str = include_str!("../../../tiers.toml");

/// Where the first seed comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeedPolicy {
    /// The first seed is 0 in every run.
    Fixed,
    /// The first seed is the time in seconds, times 2^20 so that two runs share no seed.
    Rotating,
}

/// One tier of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tier {
    name: String,
    policy: SeedPolicy,
    numbers: BTreeMap<String, u64>,
}

impl Tier {
    /// `quick`, `ci` or `long`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the first seed comes from.
    pub fn policy(&self) -> SeedPolicy {
        self.policy
    }

    /// A number of the tier, such as `sim.seeds`.
    ///
    /// # Panics
    /// If the tier has no such number: a test that asks for a wrong name must fail.
    #[expect(clippy::panic, reason = "this crate is for tests only, where a panic is the report")]
    pub fn number(&self, key: &str) -> u64 {
        match self.numbers.get(key) {
            Some(number) => *number,
            None => panic!("tiers.toml has no `{key}` in tier `{}`", self.name),
        }
    }

    /// The first seed of this process: `PUNCTUAL_SEED` if set, else after the tier's policy. Printed unless it is 0.
    ///
    /// # Panics
    /// If `PUNCTUAL_SEED` is not a number.
    #[expect(clippy::panic, reason = "this crate is for tests only, where a panic is the report")]
    pub fn first_seed(&self) -> u64 {
        static FIRST: OnceLock<u64> = OnceLock::new();
        *FIRST.get_or_init(|| {
            let seed = match std::env::var(SEED_VARIABLE) {
                Ok(text) => match text.parse() {
                    Ok(seed) => seed,
                    Err(_) => panic!("{SEED_VARIABLE}={text} is not a number"),
                },
                Err(_) => self.policy.first_seed(SystemTime::now()),
            };
            if seed != 0 {
                eprintln!("first seed {seed}: {SEED_VARIABLE}={seed} repeats this run");
            }
            seed
        })
    }

    /// As many seeds as the number `key` says, from the first seed on.
    ///
    /// # Panics
    /// As [`Tier::number`] and [`Tier::first_seed`].
    pub fn seeds(&self, key: &str) -> Range<u64> {
        let first = self.first_seed();
        first..first.saturating_add(self.number(key))
    }
}

impl SeedPolicy {
    fn first_seed(self, now: SystemTime) -> u64 {
        match self {
            Self::Fixed => 0,
            Self::Rotating => {
                now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().wrapping_shl(20))
            }
        }
    }
}

/// The tier that `PUNCTUAL_TIER` selects, `quick` if it is not set.
///
/// # Panics
/// If `PUNCTUAL_TIER` names no tier, or the file is wrong.
#[expect(clippy::panic, reason = "this crate is for tests only, where a panic is the report")]
pub fn current() -> &'static Tier {
    static CURRENT: OnceLock<Tier> = OnceLock::new();
    CURRENT.get_or_init(|| {
        let name = std::env::var(TIER_VARIABLE).unwrap_or_else(|_| "quick".to_owned());
        let mut tiers = parse(FILE).unwrap_or_else(|error| panic!("{error}"));
        let known = tiers.keys().cloned().collect::<Vec<_>>().join(", ");
        tiers
            .remove(&name)
            .unwrap_or_else(|| panic!("{TIER_VARIABLE}={name} names no tier; there are: {known}"))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn tiers_have_the_same_numbers_and_they_grow() {
        let tiers = parse(FILE).unwrap();
        let [quick, ci, long] = ["quick", "ci", "long"].map(|name| &tiers[name]);
        assert_eq!(tiers.len(), 3);
        assert!(!quick.numbers.is_empty());
        for (less, more) in [(quick, ci), (ci, long)] {
            assert!(less.numbers.keys().eq(more.numbers.keys()));
            for (key, number) in &less.numbers {
                assert!(*number > 0 && *number < more.numbers[key], "{key} does not grow from {}", less.name);
            }
        }
        assert_eq!(
            [quick, ci, long].map(Tier::policy),
            [SeedPolicy::Fixed, SeedPolicy::Fixed, SeedPolicy::Rotating]
        );
    }

    #[test]
    fn rotating_seeds_of_two_runs_do_not_overlap() {
        let at = |seconds| SeedPolicy::Rotating.first_seed(UNIX_EPOCH + Duration::from_secs(seconds));
        let long = &parse(FILE).unwrap()["long"];
        assert!(at(1_000_001) - at(1_000_000) > long.number("sim.seeds"));
        assert_eq!(SeedPolicy::Fixed.first_seed(SystemTime::UNIX_EPOCH), 0);
    }

    #[test]
    #[should_panic(expected = "no `sim.sedes`")]
    fn a_wrong_name_fails_the_test() {
        current().number("sim.sedes");
    }
}
