//! The rule of the gate, by search: what leaves it is never above the curve, and the curve is tight; who keeps a contract loses nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use gate::{Contract, Gate, Kind, Verdict};
use testkit::random::Random;

fn contract(bytes: u32, separation: u64, tolerance: u64, window: u64) -> Contract {
    Contract { kind: Kind::Messages, octets: bytes, separation, tolerance, window, dscp: 46 }
}

fn bucket(bytes: u32, separation: u64) -> Contract {
    Contract { kind: Kind::Bucket, ..contract(bytes, separation, 0, 0) }
}

/// Whether what passed between any two frames, both included, is at most what the curve allows; `less` nanoseconds tighter.
fn curve_holds(contract: &Contract, passed: &[(u64, u32)], less: u64) -> bool {
    (0..passed.len()).all(|first| {
        let mut sum = 0;
        passed[first..].iter().all(|(now, bytes)| {
            sum += u64::from(*bytes);
            let length = now - passed[first].0;
            match length.checked_sub(less) {
                Some(length) => sum <= contract.most_in(length),
                // Below zero the curve is that of a contract with so much less tolerance or window, or of a smaller bucket.
                None if contract.kind == Kind::Bucket => {
                    let missing = (less - length) * u64::from(contract.octets);
                    (sum + missing.div_ceil(contract.separation)) <= contract.octets.into()
                }
                None => {
                    let both = contract.tolerance + contract.window + length;
                    both < less
                        || sum <= u64::from(contract.octets) * ((both - less) / contract.separation + 1)
                }
            }
        })
    })
}

/// Tries every sequence of `depth` more frames; stops at the first whose output is above the curve. Counts the sequences.
fn search(
    gate: &Gate,
    now: u64,
    passed: &mut Vec<(u64, u32)>,
    depth: u32,
    less: u64,
    tried: &mut u64,
) -> bool {
    if depth == 0 {
        *tried += 1;
        return true;
    }
    let contract = *gate.contract();
    for gap in 0..=contract.separation + 1 {
        for bytes in 1..=contract.octets + 1 {
            let mut next = gate.clone();
            let passes = next.judge(now + gap, bytes).passes();
            if passes {
                passed.push((now + gap, bytes));
            }
            let holds = (!passes || curve_holds(&contract, passed, less))
                && search(&next, now + gap, passed, depth - 1, less, tried);
            if passes {
                passed.pop();
            }
            if !holds {
                return false;
            }
        }
    }
    true
}

/// A time at which nothing has happened yet.
const START: u64 = 1_000;

#[test]
fn no_sequence_of_frames_gets_more_through_than_the_curve_allows() {
    let depth = if tiers::current().number("property.cases") > 1_000 { 5 } else { 4 };
    let (mut tried, mut contracts) = (0, 0);
    for separation in 1..=4 {
        for tolerance in 0..=3 {
            for window in 0..=3 {
                for bytes in 1..=2 {
                    let contract = contract(bytes, separation, tolerance, window);
                    let gate = Gate::new(contract);
                    assert!(
                        search(&gate, START, &mut Vec::new(), depth, 0, &mut tried),
                        "above the curve: {contract:?}"
                    );
                    contracts += 1;
                }
            }
        }
    }
    assert!(contracts == 128 && tried > 1_000_000, "{contracts} contracts, {tried} sequences");
}

#[test]
fn no_sequence_of_frames_takes_more_out_of_a_bucket_than_the_curve_allows() {
    let depth = if tiers::current().number("property.cases") > 1_000 { 5 } else { 4 };
    let (mut tried, mut contracts) = (0, 0);
    for separation in 1..=5 {
        for bytes in 1..=4 {
            let contract = bucket(bytes, separation);
            let gate = Gate::new(contract);
            assert!(
                search(&gate, START, &mut Vec::new(), depth, 0, &mut tried),
                "above the curve: {contract:?}"
            );
            contracts += 1;
        }
    }
    assert!(contracts == 20 && tried > 1_000_000, "{contracts} contracts, {tried} sequences");
}

/// The bytes that have passed fill the bucket exactly: one nanosecond less of it is not enough.
#[test]
fn the_curve_of_a_bucket_is_tight() {
    for separation in 1..=5 {
        for bytes in 1..=4 {
            let contract = bucket(bytes, separation);
            assert!(
                !search(&Gate::new(contract), START, &mut Vec::new(), 3, 1, &mut 0),
                "a curve one nanosecond tighter holds too: {contract:?}"
            );
        }
    }
}

/// What a bucket has no room for, by arithmetic of its own: bytes times the separation, never rounded, and the machine may round
/// each frame up by less than a nanosecond.
#[test]
fn a_bucket_marks_what_it_has_and_nothing_more() {
    let mut excess = 0;
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random::new(seed);
        let bytes = u32::try_from(1 + random.below_u64(4_000)).unwrap();
        let contract = bucket(bytes, 1 + random.below_u64(1_000_000));
        let (whole, separation) = (u128::from(bytes), u128::from(contract.separation));
        let (mut gate, mut now, mut passed) = (Gate::new(contract), START, Vec::new());
        let mut held = whole * separation;
        for frames in 1..=60 {
            let gap = random.below_u64(1 + contract.separation / 4);
            now += gap;
            held = (held + u128::from(gap) * whole).min(whole * separation);
            let bytes = u32::try_from(1 + random.below_u64(u64::from(bytes))).unwrap();
            let needs = u128::from(bytes) * separation;
            match gate.judge(now, bytes) {
                Verdict::Pass { .. } => {
                    assert!(needs <= held, "seed {seed}: {contract:?} marks what it does not have");
                    held -= needs;
                    passed.push((now, bytes));
                }
                Verdict::Excess => {
                    excess += 1;
                    let rounded = whole * frames;
                    assert!(needs + rounded > held, "seed {seed}: {contract:?} has room, and does not mark");
                }
                other @ Verdict::Drop(_) => panic!("seed {seed}: {other:?}"),
            }
        }
        assert!(curve_holds(&contract, &passed, 0), "seed {seed}: {contract:?} {passed:?}");
    }
    assert!(excess > 1_000, "{excess} frames of excess");
}

#[test]
fn the_curve_is_tight() {
    let mut reached = 0;
    for separation in 1..=4 {
        for tolerance in 0..=3 {
            for window in 0..separation {
                // A message of one byte has no second frame that could use the window.
                let bytes = if window == 0 { 1 } else { 2 };
                if tolerance + window == 0 {
                    continue;
                }
                let contract = contract(bytes, separation, tolerance, window);
                let depth = 6;
                let gate = Gate::new(contract);
                assert!(
                    !search(&gate, START, &mut Vec::new(), depth, 1, &mut 0),
                    "a curve one nanosecond tighter holds too: {contract:?}"
                );
                reached += 1;
            }
        }
    }
    assert_eq!(reached, 36);
}

#[test]
fn long_random_babble_stays_below_the_curve() {
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random::new(seed);
        let bytes = u32::try_from(1 + random.below_u64(9)).unwrap();
        let contract = contract(bytes, 1 + random.below_u64(20), random.below_u64(30), random.below_u64(12));
        let style = 1 + random.below_u64(contract.separation + contract.tolerance + 2);
        let (mut gate, mut now, mut passed) = (Gate::new(contract), START, Vec::new());
        for _ in 0..60 {
            now += if seed % 3 == 0 { random.below_u64(3) } else { random.below_u64(style) };
            let bytes = u32::try_from(1 + random.below_u64(u64::from(bytes) + 1)).unwrap();
            if gate.judge(now, bytes).passes() {
                passed.push((now, bytes));
            }
        }
        assert!(curve_holds(&contract, &passed, 0), "seed {seed}: {contract:?} {passed:?}");
    }
}

/// Messages of a sender that keeps a contract with this jitter: each begins up to `jitter` after instants that are at least a
/// separation apart, and is over within the window.
fn conforming(random: &mut Random, contract: &Contract, jitter: u64, messages: u32) -> Vec<(u64, u32)> {
    let (mut frames, mut instant, mut last) = (Vec::new(), START, START);
    for _ in 0..messages {
        let late = if random.below_u64(3) == 0 { jitter } else { random.below_u64(jitter + 1) };
        let first = (instant + late).max(last);
        // Who begins later has an instant that is later.
        instant = instant.max(first - jitter.min(first));
        let (mut left, mut offset) = (u64::from(contract.octets), 0);
        loop {
            let bytes = if random.below_u64(2) == 0 { left } else { 1 + random.below_u64(left) };
            frames.push((first + offset, u32::try_from(bytes).unwrap()));
            left -= bytes;
            if left == 0 || random.below_u64(4) == 0 {
                break;
            }
            offset += random.below_u64(contract.window - offset + 1);
        }
        last = frames.last().unwrap().0;
        instant += contract.separation
            + if random.below_u64(2) == 0 { 0 } else { random.below_u64(2 * contract.separation) };
    }
    frames
}

#[test]
fn who_keeps_the_contract_loses_nothing_and_needs_the_tolerance() {
    let mut needed = 0;
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random::new(seed);
        let (separation, jitter, window) =
            (1 + random.below_u64(30), random.below_u64(60), random.below_u64(20));
        let bytes = u32::try_from(1 + random.below_u64(12)).unwrap();
        let tolerance = Contract::tolerance_for(separation, jitter, window);
        let contract = contract(bytes, separation, tolerance, window);
        let frames = conforming(&mut random, &contract, jitter, 30);
        let mut gate = Gate::new(contract);
        for (now, bytes) in &frames {
            assert!(
                gate.judge(*now, *bytes).passes(),
                "seed {seed}: {contract:?} jitter {jitter} refuses the frame at {now} of {frames:?}"
            );
        }
        if let Some(less) = contract.tolerance.checked_sub(1) {
            let mut gate = Gate::new(Contract { tolerance: less, ..contract });
            needed += u64::from(!frames.iter().all(|(now, bytes)| gate.judge(*now, *bytes).passes()));
        }
    }
    assert!(needed > 5, "less tolerance must refuse something, but did so in {needed} runs only");
}

#[test]
fn who_waits_for_the_next_opening_loses_nothing() {
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random::new(seed);
        let bytes = u32::try_from(2 + random.below_u64(12)).unwrap();
        let contract = contract(bytes, 1 + random.below_u64(30), random.below_u64(60), random.below_u64(20));
        let (mut gate, mut now) = (Gate::new(contract), START);
        for _ in 0..30 {
            // Now and then somebody babbles, and is refused or not.
            if random.below_u64(4) == 0 {
                now += random.below_u64(40);
                gate.judge(now, bytes + 1);
            }
            now = now.max(gate.next_opening()) + random.below_u64(3);
            let first = 1 + u32::try_from(random.below_u64(u64::from(bytes) - 1)).unwrap();
            let within = now + random.below_u64(contract.window + 1);
            let passed = [gate.judge(now, first).passes(), gate.judge(within, bytes - first).passes()];
            assert_eq!(passed, [true, true], "seed {seed}: {contract:?}");
            now = within;
        }
    }
}
