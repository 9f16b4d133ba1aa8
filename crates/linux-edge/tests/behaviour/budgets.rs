//! No frame is above its budget, whatever else was admitted.
use linux_edge::LinuxEdge;
use testkit::random::Random;

use crate::networks::{domain, fill, narrow, stuff, with_accesses};
use crate::simulation::play;

/// The most thousandths of a budget that any frame took, how many promises were seen at all, and how many of them over accesses.
fn judge(seed: u64) -> [u64; 3] {
    let mut random = Random::new(seed);
    let is_narrow = random.chance(50);
    let mut domain = if is_narrow { narrow(&mut random) } else { domain(&mut random) };
    if random.chance(50) {
        domain = with_accesses(domain, &mut random);
    }
    let mut edge = LinuxEdge::new(domain.clone()).unwrap();
    let promises = if is_narrow { stuff(&mut edge, &mut random) } else { fill(&mut edge, &mut random) };
    let (mut nearest, mut seen, mut lossy) = (0, 0, 0);
    for (promise, took) in promises.iter().zip(play(&domain, &promises, &mut random)) {
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
    [nearest, seen, lossy]
}

#[test]
fn no_frame_is_above_its_budget() {
    let (mut nearest, mut seen, mut lossy, mut near) = (0, 0, 0, 0);
    for seed in tiers::current().seeds("property.cases") {
        let [worst, promises, over_accesses] = judge(seed);
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
}
