//! Runs a target on many inputs, on all cores, and watches for panics, hangs and hunger for memory.
//!
//! An input is decided by the seed of the run and the number of its case alone, so a failure is repeated by these two
//! numbers, whatever the number of threads.
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Once};
use std::thread;
use std::time::Duration;

use alloc_meter::{Usage, measure};

use crate::failure::{Cause, Failure};
use crate::mutation::Mutator;
use crate::structure::Structure;
use testkit::random::Random;

/// Bytes that one input may take from the heap whatever its length.
pub const BASE_BUDGET: usize = 16 * 1024;
/// Bytes that it may take in addition for each of its own.
pub const BUDGET_PER_OCTET: usize = 8;
/// Bytes of the largest allocation that is allowed.
pub const LARGEST_ALLOCATION: usize = 1024 * 1024;

/// What reads inputs. It may have a state, and panics if an input breaks one of its rules.
pub type Session = Box<dyn FnMut(&[u8])>;

/// Code that reads bytes from the network.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name in commands.
    pub name: &'static str,
    /// What its inputs are made of.
    pub structure: Structure,
    /// Valid inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Makes a session; a new one is made after every `batch` inputs.
    pub session: fn() -> Session,
    /// How many inputs one session reads, 1 or more.
    pub batch: u64,
    /// The bytes of the heap that a session may keep of all its inputs: 0 if it has no state.
    pub keeps: isize,
    /// How many times the usual budget of the heap an input may take: 1 for what comes from the network.
    pub hunger: usize,
}

/// How much to run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The seed of the run.
    pub seed: u64,
    /// The number of the first case; raised to the next start of a batch.
    pub first: u64,
    /// How many cases.
    pub executions: u64,
    /// How many threads, 1 or more.
    pub threads: usize,
    /// An input that takes longer hangs. Wide, because machines are shared: a loop that ends is found by its budget of work.
    pub hang_after: Duration,
}

impl Plan {
    /// So many cases from the first on, on all cores.
    pub fn new(seed: u64, executions: u64) -> Self {
        let threads = thread::available_parallelism().map_or(1, |count| count.get());
        Self { seed, first: 0, executions, threads, hang_after: Duration::from_secs(20) }
    }
}

/// What a run without failure did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Inputs that were run.
    pub executions: u64,
    /// Bytes of all inputs.
    pub octets: u64,
    /// The most that one input held on the heap, in bytes.
    pub peak: usize,
    /// The most that one input held on the heap, in percent of its budget.
    pub peak_percent: usize,
}

/// Runs the plan. [`alloc_meter::Meter`] must be the global allocator, so that budgets are checked.
///
/// # Errors
/// The first failure that was seen. After a hang, the thread that hangs is left behind.
///
/// # Panics
/// If the meter is not installed, or the target cannot make its seeds or a session.
pub fn run(target: &Target, plan: &Plan) -> Result<Report, Box<Failure>> {
    let (_, usage) = measure(|| std::hint::black_box(Box::new(0_u64)));
    assert!(usage.count > 0, "the program must install alloc_meter::Meter as its global allocator");
    catch_messages();
    let first_batch = plan.first.div_ceil(target.batch);
    let shared = Arc::new(Shared {
        target: *target,
        plan: *plan,
        next: AtomicU64::new(first_batch),
        end: first_batch.saturating_mul(target.batch).saturating_add(plan.executions),
        stop: AtomicBool::new(false),
        progress: (0..plan.threads).map(|_| AtomicU64::new(IDLE)).collect(),
    });
    let (sender, receiver) = mpsc::channel();
    for worker in 0..plan.threads {
        let (shared, sender) = (Arc::clone(&shared), sender.clone());
        let spawned = thread::Builder::new()
            .name(format!("{} {worker}", target.name))
            .spawn(move || work(&shared, worker, &sender));
        assert!(spawned.is_ok(), "the system gives no thread: {spawned:?}");
    }
    drop(sender);
    let mut report = Report::default();
    let mut before = vec![IDLE; plan.threads];
    loop {
        match receiver.recv_timeout(plan.hang_after) {
            Ok(Ok(part)) => report.add(&part),
            Ok(Err(failure)) => {
                shared.stop.store(true, Ordering::Relaxed);
                return Err(failure);
            }
            Err(RecvTimeoutError::Disconnected) => {
                // A thread that dies outside of a session is a fault of the target's own preparation.
                assert_eq!(report.executions, plan.executions, "{}: not all cases were run", target.name);
                return Ok(report);
            }
            Err(RecvTimeoutError::Timeout) => {
                let now: Vec<u64> = shared.progress.iter().map(|case| case.load(Ordering::Relaxed)).collect();
                let stuck = before.iter().zip(&now).find(|(before, now)| before == now && **now != IDLE);
                if let Some((_, case)) = stuck {
                    shared.stop.store(true, Ordering::Relaxed);
                    let cause = Cause::Hang(plan.hang_after);
                    return Err(Box::new(Failure {
                        target: target.name,
                        seed: plan.seed,
                        case: *case,
                        cause,
                        input: input(target, plan.seed, *case),
                        shrunk_from: None,
                    }));
                }
                before = now;
            }
        }
    }
}

/// Runs one case again: all of its batch up to it.
///
/// # Errors
/// The failure, which may be of an earlier case of the batch.
pub fn repeat(target: &Target, seed: u64, case: u64) -> Result<Report, Box<Failure>> {
    let first = case - case % target.batch;
    run(target, &Plan { first, executions: case - first + 1, threads: 1, ..Plan::new(seed, 0) })
}

/// Runs one input on a new session.
///
/// # Errors
/// What went wrong.
pub fn run_input(target: &Target, input: &[u8]) -> Result<Usage, Cause> {
    catch_messages();
    let usage = execute(&mut (target.session)(), input, budget(target, input.len()))?;
    let (kept, allowed) = (usage.kept, target.keeps);
    if kept > allowed { Err(Cause::Growth { kept, allowed }) } else { Ok(usage) }
}

/// The input of a case.
pub fn input(target: &Target, seed: u64, case: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    Mutator::new(target.structure, (target.seeds)()).make(&mut Random::of_case(seed, case), &mut bytes);
    bytes
}

/// What an input of this length may take from the heap, in bytes.
pub fn budget(target: &Target, len: usize) -> usize {
    BASE_BUDGET.saturating_add(BUDGET_PER_OCTET.saturating_mul(len)).saturating_mul(target.hunger)
}

/// No case at the moment.
const IDLE: u64 = u64::MAX;

struct Shared {
    target: Target,
    plan: Plan,
    /// The next batch that no thread has taken.
    next: AtomicU64,
    /// The case after the last one.
    end: u64,
    stop: AtomicBool,
    /// The case that each thread is at.
    progress: Vec<AtomicU64>,
}

impl Report {
    fn add(&mut self, part: &Self) {
        self.executions += part.executions;
        self.octets += part.octets;
        self.peak = self.peak.max(part.peak);
        self.peak_percent = self.peak_percent.max(part.peak_percent);
    }
}

fn work(shared: &Shared, worker: usize, sender: &Sender<Result<Report, Box<Failure>>>) {
    let progress = |case| {
        if let Some(place) = shared.progress.get(worker) {
            place.store(case, Ordering::Relaxed);
        }
    };
    let target = &shared.target;
    let mut mutator = Mutator::new(target.structure, (target.seeds)());
    let mut report = Report::default();
    let mut bytes = Vec::new();
    while !shared.stop.load(Ordering::Relaxed) {
        let start = shared.next.fetch_add(1, Ordering::Relaxed).saturating_mul(target.batch);
        let end = start.saturating_add(target.batch).min(shared.end);
        if start >= end {
            break;
        }
        let mut session = (target.session)();
        let mut kept = 0;
        for case in start..end {
            progress(case);
            mutator.make(&mut Random::of_case(shared.plan.seed, case), &mut bytes);
            let outcome = execute(&mut session, &bytes, budget(target, bytes.len())).and_then(|usage| {
                kept += usage.kept;
                if kept > target.keeps {
                    Err(Cause::Growth { kept, allowed: target.keeps })
                } else {
                    Ok(usage)
                }
            });
            match outcome {
                Ok(usage) => {
                    report.executions += 1;
                    report.octets += bytes.len() as u64;
                    report.peak = report.peak.max(usage.peak);
                    report.peak_percent =
                        report.peak_percent.max(usage.peak * 100 / budget(target, bytes.len()));
                }
                Err(cause) => {
                    progress(IDLE);
                    let failure = shrink(target, shared.plan.seed, case, cause, bytes);
                    // The receiver is gone if another thread has failed before.
                    let _ = sender.send(Err(Box::new(failure)));
                    return;
                }
            }
        }
    }
    progress(IDLE);
    let _ = sender.send(Ok(report));
}

fn execute(session: &mut Session, input: &[u8], allowed: usize) -> Result<Usage, Cause> {
    CAPTURING.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(|| measure(|| session(input))));
    CAPTURING.set(false);
    let ((), usage) = result.map_err(|_| Cause::Panic(MESSAGE.take()))?;
    if usage.peak > allowed || usage.largest > LARGEST_ALLOCATION {
        return Err(Cause::Memory { usage, allowed });
    }
    Ok(usage)
}

/// Takes stretches out of the input as long as it fails in the same way.
fn shrink(target: &Target, seed: u64, case: u64, cause: Cause, bytes: Vec<u8>) -> Failure {
    let mut failure = Failure { target: target.name, seed, case, cause, input: bytes, shrunk_from: None };
    let fails = |input: &[u8]| run_input(target, input).err().filter(|cause| cause.is_like(&failure.cause));
    if fails(&failure.input).is_none() {
        // It takes the inputs before it as well.
        return failure;
    }
    let full = failure.input.len();
    let mut best = failure.input.clone();
    let mut last = None;
    let mut stretch = full.div_ceil(2);
    while stretch > 0 {
        let mut at = 0;
        while at < best.len() {
            let mut shorter = best.clone();
            shorter.drain(at..(at + stretch).min(best.len()));
            match fails(&shorter) {
                Some(cause) => (best, last) = (shorter, Some(cause)),
                None => at += stretch,
            }
        }
        stretch /= 2;
    }
    failure.input = best;
    failure.shrunk_from = Some(full);
    failure.cause = last.unwrap_or(failure.cause);
    failure
}

thread_local! {
    static CAPTURING: Cell<bool> = const { Cell::new(false) };
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the message of a panic inside a session for the report, instead of printing it.
fn catch_messages() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if CAPTURING.get() {
                MESSAGE.set(info.to_string());
            } else {
                before(info);
            }
        }));
    });
}
