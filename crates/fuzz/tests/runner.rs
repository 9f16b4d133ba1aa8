//! Bad targets are found out: a fuzzer that cannot fail proves nothing.
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fuzz::failure::Cause;
use fuzz::runner::{self, Plan, Target};
use fuzz::structure::Structure;

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

/// Ten submessages of twelve bytes, little endian.
fn seeds() -> Vec<Vec<u8>> {
    let mut bytes = b"RTPS\x02\x05\x01\xfe____________".to_vec();
    for kind in 0..10 {
        bytes.extend([kind, 1, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
    vec![bytes]
}

fn target(session: fn() -> runner::Session) -> Target {
    Target { name: "bad", structure: Structure::Message, seeds, session, batch: 100, keeps: 0, hunger: 1 }
}

/// The length of the first submessage as it claims.
fn claimed(input: &[u8]) -> usize {
    input.get(22..24).map_or(0, |len| usize::from(u16::from_le_bytes([len[0], len[1]])))
}

#[test]
fn good_code_passes_and_everything_is_run() {
    let good = target(|| Box::new(|input| drop(input.to_vec())));
    let report = runner::run(&good, &Plan::new(0, 10_050)).unwrap();
    assert_eq!(report.executions, 10_050);
    assert!(report.octets > 1_000_000 && report.peak > 140, "{report:?}");
}

#[test]
fn a_length_that_is_believed_is_found_shrunk_and_repeated() {
    let bad = target(|| Box::new(|input| assert!(input[24..].len() >= claimed(input), "read past the end")));
    let failure = runner::run(&bad, &Plan::new(0, 100_000)).unwrap_err();
    let Cause::Panic(message) = &failure.cause else { panic!("{failure}") };
    assert!(message.contains("runner.rs"), "{message}");
    assert!(failure.shrunk_from.unwrap() >= failure.input.len());
    assert!(runner::run_input(&bad, &failure.input).is_err());
    let again = runner::repeat(&bad, failure.seed, failure.case).unwrap_err();
    assert_eq!(again.case, failure.case);
}

#[test]
fn allocation_by_a_claimed_count_is_found() {
    let bad = target(|| {
        Box::new(|input| {
            std::hint::black_box(Vec::<u64>::with_capacity(claimed(input)));
        })
    });
    let failure = runner::run(&bad, &Plan::new(0, 100_000)).unwrap_err();
    assert!(matches!(failure.cause, Cause::Memory { .. }), "{failure}");
}

#[test]
fn memory_that_is_never_given_back_is_found() {
    let bad = target(|| {
        let mut all = Vec::new();
        Box::new(move |input| all.push(input.to_vec()))
    });
    let failure = runner::run(&Target { keeps: 4_000, ..bad }, &Plan::new(0, 10_000)).unwrap_err();
    assert!(matches!(failure.cause, Cause::Growth { allowed: 4_000, .. }), "{failure}");
}

#[test]
fn a_state_that_goes_bad_after_some_inputs_is_repeated_by_its_case() {
    let bad = target(|| {
        let mut bytes = 0;
        Box::new(move |input| {
            bytes += input.len();
            assert!(bytes < 2000, "too much");
        })
    });
    let failure = runner::run(&bad, &Plan { first: 500, ..Plan::new(3, 1000) }).unwrap_err();
    assert_eq!(failure.shrunk_from, None);
    let again = runner::repeat(&bad, failure.seed, failure.case).unwrap_err();
    assert_eq!((again.case, again.input), (failure.case, failure.input));
}

#[test]
#[should_panic(expected = "not all cases were run")]
fn a_target_that_cannot_be_prepared_is_no_success() {
    let bad = target(|| panic!("no session"));
    let _ = runner::run(&bad, &Plan::new(0, 10));
}

#[test]
fn a_loop_without_end_is_found() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let bad = target(|| Box::new(|input| while input.len() < 30 && !STOP.load(Ordering::Relaxed) {}));
    let plan = Plan { hang_after: Duration::from_millis(200), ..Plan::new(0, u64::MAX / 2) };
    let failure = runner::run(&bad, &plan).unwrap_err();
    STOP.store(true, Ordering::Relaxed);
    assert!(matches!(failure.cause, Cause::Hang(_)), "{failure}");
    assert!(failure.input.len() < 30);
}
