//! Runs many seeds of a scenario, on several threads, and adds up what came of them.
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::coverage::{Coverage, Situation};
use crate::report::replay_command;
use crate::scenario::{Outcome, Scenario};
use crate::trace::Trace;
use crate::violation::{Invariant, Violation};

/// In a run of at least this many seeds every required situation must be reached.
pub const COVERAGE_SEEDS: u64 = 1_000;
/// Every so many seeds, one is run twice and the traces are compared.
const TWICE: u64 = 10;
/// After so many failed seeds a run stops.
const MOST_FAILURES: usize = 20;
/// A seed that takes longer is taken to be in an endless loop. Ordinary ones take milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// How seeds are run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Threads.
    pub jobs: usize,
    /// Goes on after many failures.
    pub keep_going: bool,
}

/// What came of all seeds.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Seeds that were run.
    pub seeds: u64,
    /// Those that broke a rule, in order.
    pub failures: BTreeMap<u64, Violation>,
    /// For each situation: seeds that reached it, and how often in all.
    pub reached: BTreeMap<Situation, (u64, u64)>,
    /// Seeds run twice to compare the traces.
    pub compared: u64,
    /// Samples written.
    pub written: u64,
    /// Samples delivered.
    pub delivered: u64,
    /// Events of the engine.
    pub events: u64,
    /// Virtual time in nanoseconds.
    pub virtual_nanos: u64,
    /// Real time.
    pub elapsed: Duration,
    /// The longest time of a single seed, and which.
    pub slowest: (Duration, u64),
}

impl Summary {
    /// Required situations that no seed has reached; empty if the run was too small to ask.
    pub fn unreached(&self, scenario: &dyn Scenario) -> Vec<Situation> {
        if self.seeds < COVERAGE_SEEDS {
            return Vec::new();
        }
        scenario
            .required()
            .iter()
            .copied()
            .filter(|situation| !self.reached.contains_key(situation))
            .collect()
    }

    /// True if no rule was broken and everything required was reached.
    pub fn is_good(&self, scenario: &dyn Scenario) -> bool {
        self.failures.is_empty() && self.unreached(scenario).is_empty()
    }

    fn add(&mut self, seed: u64, outcome: Outcome, elapsed: Duration, compared: bool) {
        self.seeds += 1;
        self.compared += u64::from(compared);
        self.written += outcome.written;
        self.delivered += outcome.delivered;
        self.events += outcome.events;
        self.virtual_nanos += outcome.end.as_nanos();
        self.slowest = self.slowest.max((elapsed, seed));
        for (situation, count) in outcome.coverage.iter() {
            let reached = self.reached.entry(situation).or_default();
            *reached = (reached.0 + 1, reached.1 + count);
        }
        if let Some(violation) = outcome.violation {
            self.failures.insert(seed, violation);
        }
    }
}

/// Runs the seeds. `progress` is told from time to time how many are done and how many have failed.
pub fn run(
    scenario: &dyn Scenario,
    seeds: Range<u64>,
    options: Options,
    progress: &(dyn Fn(u64, usize) + Sync),
) -> Summary {
    let begin = Instant::now();
    let next = AtomicU64::new(seeds.start);
    let failed = AtomicUsize::new(0);
    let summary = Mutex::new(Summary::default());
    let watch = Watch::new(options.jobs.max(1));
    std::thread::scope(|scope| {
        scope.spawn(|| watch.guard(scenario));
        for job in 0..options.jobs.max(1) {
            let (watch, next, failed, summary, seeds) = (&watch, &next, &failed, &summary, &seeds);
            scope.spawn(move || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let enough = !options.keep_going && failed.load(Ordering::Relaxed) >= MOST_FAILURES;
                    if seed >= seeds.end || enough {
                        return watch.set(job, State::Ended);
                    }
                    let started = Instant::now();
                    watch.set(job, State::Runs(seed, started));
                    let twice = seed.is_multiple_of(TWICE);
                    let mut outcome = guarded(scenario, seed);
                    let elapsed = started.elapsed();
                    if twice && outcome.violation.is_none() {
                        outcome.violation = difference(&outcome, &guarded(scenario, seed));
                    }
                    failed.fetch_add(usize::from(outcome.violation.is_some()), Ordering::Relaxed);
                    let mut summary = summary.lock().unwrap_or_else(PoisonError::into_inner);
                    summary.add(seed, outcome, elapsed, twice);
                    progress(summary.seeds, summary.failures.len());
                }
            });
        }
    });
    let mut summary = summary.into_inner().unwrap_or_else(PoisonError::into_inner);
    summary.elapsed = begin.elapsed();
    summary
}

/// Which seed each thread is at, so that an endless loop can be named.
struct Watch {
    states: Mutex<Vec<State>>,
    changed: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Begins,
    Runs(u64, Instant),
    Ended,
}

impl Watch {
    fn new(jobs: usize) -> Self {
        Self { states: Mutex::new(vec![State::Begins; jobs]), changed: Condvar::new() }
    }

    fn set(&self, job: usize, state: State) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = states.get_mut(job) {
            *slot = state;
        }
        if state == State::Ended {
            self.changed.notify_all();
        }
    }

    /// Returns when every thread has ended. A thread cannot be stopped from outside: an endless loop ends the process.
    fn guard(&self, scenario: &dyn Scenario) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        while states.iter().any(|state| *state != State::Ended) {
            for state in states.iter() {
                if let State::Runs(seed, since) = state
                    && since.elapsed() > PATIENCE
                {
                    eprintln!("seed {seed} does not end: {}", replay_command(scenario, *seed));
                    std::process::exit(1);
                }
            }
            let waited = self.changed.wait_timeout(states, Duration::from_secs(1));
            states = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Runs one seed; a panic is a broken rule like any other.
pub fn guarded(scenario: &dyn Scenario, seed: u64) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| scenario.run(seed, Trace::silent()))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
        let at = wire::Instant::START;
        let what = format!("panic: {text}");
        let violation = Some(Violation { invariant: Invariant::NoPanic, at, what });
        let coverage = Coverage::new();
        Outcome { violation, coverage, hash: 0, events: 0, written: 0, delivered: 0, end: at }
    })
}

/// What differs between two runs of one seed.
pub fn difference(first: &Outcome, second: &Outcome) -> Option<Violation> {
    (first != second).then(|| Violation {
        invariant: Invariant::Deterministic,
        at: first.end,
        what: format!(
            "two runs differ: trace {:016x} and {:016x}, {} and {} events",
            first.hash, second.hash, first.events, second.events
        ),
    })
}

#[cfg(test)]
mod tests;
