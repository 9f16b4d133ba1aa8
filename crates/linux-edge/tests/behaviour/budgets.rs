//! No frame is above its budget, whatever else was admitted.
use linux_edge::{Domain, LinuxEdge};
use testkit::random::Random;

use crate::networks::{Promise, domain, doubled, fill, narrow, stuff};
use crate::simulation::play;

/// The most thousandths of a budget that any frame took, and how many frames' classes were seen at all.
fn judge(seed: u64) -> (u64, u64) {
    let mut random = Random::new(seed);
    if seed % 4 == 3 {
        return judge_copies(seed);
    }
    let is_narrow = random.chance(50);
    let domain = if is_narrow { narrow(&mut random) } else { domain(&mut random) };
    let mut edge = LinuxEdge::new(domain.clone()).unwrap();
    let promises = if is_narrow { stuff(&mut edge, &mut random) } else { fill(&mut edge, &mut random) };
    play_all(seed, &domain, &promises, &mut random)
}

/// The same of a domain where packets are doubled: both copies keep their budgets, and all others theirs.
fn judge_copies(seed: u64) -> (u64, u64) {
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

fn play_all(seed: u64, domain: &Domain, promises: &[Promise], random: &mut Random) -> (u64, u64) {
    let (mut nearest, mut seen) = (0, 0);
    for (promise, took) in promises.iter().zip(play(domain, promises, random)) {
        let Some(took) = took else { continue };
        seen += 1;
        let (most, least) = (promise.delay * 1_000, (promise.delay - promise.jitter) * 1_000);
        assert!(took.most <= most, "seed {seed}: {promise:?} took {} of {most} ps", took.most);
        assert!(took.least >= least, "seed {seed}: {promise:?} took {}, less than {least} ps", took.least);
        // Where there is nothing but a router on the way, every frame may take all of its budget.
        if promise.jitter > 2 * domain.processing {
            nearest = nearest.max(took.most / (most / 1_000).max(1));
        }
    }
    (nearest, seen)
}

#[test]
fn no_frame_is_above_its_budget() {
    let (mut nearest, mut seen, mut near) = (0, 0, 0);
    for seed in tiers::current().seeds("property.cases") {
        let (worst, promises) = judge(seed);
        nearest = nearest.max(worst);
        seen += promises;
        near += u64::from(worst > 500);
    }
    println!(
        "{seen} promises; the worst frame took {nearest} thousandths of its budget; {near} seeds above half"
    );
    // A judge that sees nothing near a budget would see no mistake.
    assert!(nearest > 900, "no frame took more than {nearest} thousandths of its budget");
    assert!(near > 20, "{near} seeds had a frame that took more than half of its budget");
}
