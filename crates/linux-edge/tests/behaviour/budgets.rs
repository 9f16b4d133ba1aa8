//! No frame is above its budget, whatever else was admitted.
use linux_edge::{Domain, LinuxEdge};
use testkit::random::Random;
use wan::{Class, Demand, Place};

use crate::networks::{Promise, domain, doubled, fill, narrow, stuff, with_accesses};
use crate::simulation::{Beyond, play};

/// The most thousandths of a budget that any frame took, how many promises were seen at all, how many of them over accesses, and frames beyond
/// contracts.
fn judge(seed: u64) -> ([u64; 3], Beyond) {
    let mut random = Random::new(seed);
    if seed % 4 == 3 {
        return judge_copies(seed);
    }
    let is_narrow = random.chance(50);
    let mut domain = if is_narrow { narrow(&mut random) } else { domain(&mut random) };
    if random.chance(50) {
        domain = with_accesses(domain, &mut random);
    }
    let mut edge = LinuxEdge::new(domain.clone()).unwrap();
    let promises = if is_narrow { stuff(&mut edge, &mut random) } else { fill(&mut edge, &mut random) };
    play_all(seed, &domain, &promises, &mut random)
}

/// The same of a domain where packets are doubled: both copies keep their budgets, and all others theirs.
fn judge_copies(seed: u64) -> ([u64; 3], Beyond) {
    let mut random = Random::new(seed);
    loop {
        let domain = domain(&mut random);
        if domain.borders.len() != 2 {
            continue;
        }
        let mut edge = LinuxEdge::new(domain.clone()).unwrap();
        if let Some(promises) = doubled(&mut edge, &mut random) {
            return play_all(seed, &domain, &promises, &mut random);
        }
    }
}

fn play_all(seed: u64, domain: &Domain, promises: &[Promise], random: &mut Random) -> ([u64; 3], Beyond) {
    let (mut nearest, mut seen, mut lossy) = (0, 0, 0);
    let (played, beyond) = play(domain, promises, true, random);
    for (promise, took) in promises.iter().zip(played) {
        let Some(took) = took else { continue };
        seen += 1;
        lossy += u64::from(took.lost > 0);
        let (most, least) = (promise.delay * 1_000, (promise.delay - promise.jitter) * 1_000);
        assert!(took.most <= most, "seed {seed}: {promise:?} took {} of {most} ps", took.most);
        assert!(took.least >= least, "seed {seed}: {promise:?} took {}, less than {least} ps", took.least);
        assert!(
            u64::from(promise.loss) >= took.lost.min(1_000_000),
            "seed {seed}: {promise:?} loses {} of a million",
            took.lost
        );
        // Where there is nothing but a router on the way, every frame may take all of its budget.
        if promise.jitter > 2 * domain.processing {
            nearest = nearest.max(took.most / (most / 1_000).max(1));
        }
    }
    ([nearest, seen, lossy], beyond)
}

#[test]
fn no_frame_is_above_its_budget() {
    let (mut nearest, mut seen, mut lossy, mut near) = (0, 0, 0, 0);
    let mut beyond = Beyond::default();
    for seed in tiers::current().seeds("property.cases") {
        let ([worst, promises, over_accesses], frames) = judge(seed);
        beyond = Beyond { sent: beyond.sent + frames.sent, arrived: beyond.arrived + frames.arrived };
        nearest = nearest.max(worst);
        seen += promises;
        lossy += over_accesses;
        near += u64::from(worst > 500);
    }
    println!(
        "{seen} promises, {lossy} over accesses; the worst frame took {nearest} thousandths of its budget; {near} seeds above half"
    );
    // A judge that sees nothing near a budget would see no mistake.
    assert!(nearest > 900, "no frame took more than {nearest} thousandths of its budget");
    assert!(lossy > 5, "{lossy} promises were over accesses");
    assert!(near > 20, "{near} seeds had a frame that took more than half of its budget");
    // What is beyond contracts passes in part, and is dropped in part, beside frames that all arrive within their budgets.
    let dropped = beyond.sent - beyond.arrived;
    assert!(beyond.arrived > 1_000 && dropped > 100, "{beyond:?}");
}

/// What is beyond a contract passes where nothing else is on the way, however narrow the admitted part is.
#[test]
fn what_is_beyond_contracts_passes_links_that_are_free() {
    let (mut played, mut dropped) = (0, 0);
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut domain = narrow(&mut random);
        domain.demoted.inside = true;
        if !domain.ceilings.contains_key(&Class::Af4) {
            continue;
        }
        // As much again has room beside it on the free link, and not beside best effort on the full one.
        for (is_full, share) in [(false, 200), (true, 450)] {
            let demand = Demand {
                from: Place::Edges,
                to: Place::Edges,
                class: Class::Af4,
                rate: domain.edges[0].wire.rate * share / 1_000,
                burst: 1_000,
                least_packet: 500,
                largest_packet: 500,
            };
            let promise =
                Promise { demand, delay: u64::MAX / 1_000, jitter: u64::MAX / 1_000, loss: 0, double: None };
            let (seen, beyond) = play(&domain, std::slice::from_ref(&promise), is_full, &mut random);
            assert!(seen[0].is_some() && beyond.sent > 0, "seed {seed}");
            assert!(beyond.arrived == beyond.sent || is_full, "seed {seed}: {beyond:?}");
            dropped += beyond.sent - beyond.arrived;
        }
        played += 1;
    }
    assert!(played > 50 && dropped > 0, "{played} played, {dropped} dropped on full links");
}
