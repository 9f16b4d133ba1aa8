//! The runner finds failures, panics and differences between two runs of a seed.
use std::sync::atomic::AtomicU64;

use super::*;

/// A scenario that breaks rules at known seeds, and whose trace differs from run to run at another.
struct Faulty {
    runs: AtomicU64,
    required: &'static [Situation],
}

impl Faulty {
    const fn new(required: &'static [Situation]) -> Self {
        Self { runs: AtomicU64::new(0), required }
    }
}

impl Scenario for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn about(&self) -> &'static str {
        "breaks rules"
    }

    fn required(&self) -> &'static [Situation] {
        self.required
    }

    fn describe(&self, _: u64) -> String {
        String::new()
    }

    fn run(&self, seed: u64, _: Trace<'_>) -> Outcome {
        assert!(seed != 15, "as wanted");
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let mut coverage = Coverage::new();
        coverage.add(Situation::Gap, seed);
        let at = wire::Instant::START;
        let violation = || Violation { invariant: Invariant::NoLoss, at, what: "as wanted".into() };
        Outcome {
            violation: (seed == 7).then(violation),
            coverage,
            hash: if seed == 20 { run } else { seed },
            events: 2,
            written: 0,
            delivered: 0,
            end: at,
        }
    }
}

fn run_all(required: &'static [Situation], seeds: u64) -> (Faulty, Summary) {
    let scenario = Faulty::new(required);
    let summary = run(&scenario, 0..seeds, Options { jobs: 2, keep_going: false }, &|_, _| {});
    (scenario, summary)
}

#[test]
fn failures_panics_and_differences_are_found() {
    let (scenario, summary) = run_all(&[], 30);
    assert_eq!((summary.seeds, summary.compared, summary.events), (30, 3, 58));
    let found: Vec<_> =
        summary.failures.iter().map(|(seed, violation)| (*seed, violation.invariant)).collect();
    let expected = [(7, Invariant::NoLoss), (15, Invariant::NoPanic), (20, Invariant::Deterministic)];
    assert_eq!(found, expected);
    assert!(summary.failures[&15].what.contains("as wanted"));
    assert!(!summary.is_good(&scenario));
    assert_eq!(summary.reached[&Situation::Gap], (28, (0..30).sum::<u64>() - 15));
}

#[test]
fn what_is_required_and_not_reached_fails_a_large_run_only() {
    let required = &[Situation::Gap, Situation::Crash];
    let (scenario, summary) = run_all(required, 7);
    assert!(summary.is_good(&scenario));
    let (scenario, mut summary) = run_all(required, COVERAGE_SEEDS);
    summary.failures.clear();
    assert_eq!(summary.unreached(&scenario), [Situation::Crash]);
    assert!(!summary.is_good(&scenario));
}
