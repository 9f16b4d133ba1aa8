//! The judge notices what it is there for: a process that breaks a rule on purpose is caught, in most seeds and by the right rule.
use std::collections::BTreeMap;

use sim::sabotage::Sabotage;
use sim::scenario::dds::Mutation;
use sim::scenario::{dds, pair};
use sim::violation::{Invariant, Violation};

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

/// There are at least so many violations, all of one of the rules.
fn check_all(name: &str, caught: &[Violation], least: usize, rules: &[Invariant]) {
    assert!(caught.len() >= least, "{name}: {}", caught.len());
    let wrong = caught.iter().find(|violation| !rules.contains(&violation.invariant));
    assert!(wrong.is_none(), "{name}: {wrong:?}");
}

/// With the public API around it, the judge is no less attentive, though policies excuse more.
#[test]
fn an_application_that_breaks_rules() {
    use Invariant::{
        Converges, Deadlines, Generations, InOrder, Intact, Matches, NoDuplicate, NoLivelock, NoLoss,
    };
    use Invariant::{Quiet, StableMatch, WithinLimits};
    let expected = [
        (Sabotage::Drop, 5, &[NoLoss, Converges, Generations, Deadlines] as &[_]),
        (Sabotage::Repeat, 15, &[NoDuplicate]),
        (Sabotage::Swap, 5, &[NoLoss, InOrder, NoDuplicate, Generations, Converges]),
        (Sabotage::Damage, 15, &[Intact]),
        (Sabotage::Mute, 15, &[Converges, Matches, StableMatch, Quiet]),
        (Sabotage::Spin, 15, &[NoLivelock]),
        (Sabotage::Chatter, 15, &[Quiet]),
        (Sabotage::Hoard, 15, &[WithinLimits]),
    ];
    for (sabotage, least, rules) in expected {
        let caught = (0..SEEDS).filter_map(|seed| dds::run_sabotaged(seed, sabotage, 3).violation);
        let caught: Vec<_> = caught.take(least).collect();
        check_all(&format!("{sabotage:?}"), &caught, least, rules);
    }
}

/// A QoS that is not kept is noticed, by what it is about. Not every seed has endpoints that it matters to.
#[test]
fn endpoints_that_do_not_do_what_was_asked() {
    use Invariant::{
        Converges, Deadlines, Generations, Lifespan, Matches, NoLoss, NothingHeld, Ownership, Statuses,
    };
    let expected = [
        (Mutation::Shallow, 15, &[NoLoss, Converges, Generations] as &[_]),
        (Mutation::NoHistory, 10, &[Converges, NoLoss, Matches, Statuses]),
        (Mutation::UpsideDown, 5, &[Ownership]),
        (Mutation::Immortal, 2, &[Lifespan]),
        (Mutation::Patient, 2, &[Deadlines, Matches, Statuses]),
        (Mutation::Elsewhere, 30, &[Matches]),
        (Mutation::Hoard, 40, &[NothingHeld]),
    ];
    for (mutation, least, rules) in expected {
        let caught = (0..2 * SEEDS).filter_map(|seed| dds::run_mutated(seed, mutation).violation);
        let caught: Vec<_> = caught.take(least).collect();
        check_all(&format!("{mutation:?}"), &caught, least, rules);
    }
}
