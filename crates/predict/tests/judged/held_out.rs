//! Hosts whose costs the model does not know are measured in a simulation; what it says of other loads, sizes, readers and paths is held against
//! the same simulation, and against three ways of predicting that know less.
use predict::{
    Arrivals, Durability, FINE, Hop, Path, Record, Reliability, Topic, calibrate, comparisons, predict,
};
use testkit::random::Random;

use crate::simulation::{Flow, Host, Link, frames_of, latencies, quantile, uniform};

/// A number between both, evenly by its order of magnitude.
fn magnitude(random: &mut Random, low: f64, high: f64) -> f64 {
    low * (high / low).powf(uniform(random))
}

fn any_host(random: &mut Random) -> Host {
    let mut cost = |base: (f64, f64), byte: (f64, f64)| {
        (magnitude(random, base.0, base.1), magnitude(random, byte.0, byte.1))
    };
    let (encode, copy, decode) = (
        cost((500.0, 20_000.0), (0.02, 2.0)),
        cost((1_000.0, 20_000.0), (0.02, 0.5)),
        cost((1_000.0, 30_000.0), (0.02, 2.0)),
    );
    let store = cost((20_000.0, 300_000.0), (0.1, 3.0));
    Host {
        encode,
        store,
        copy,
        decode,
        wake: magnitude(random, 5_000.0, 60_000.0),
        asleep: (magnitude(random, 1_000.0, 200_000.0), magnitude(random, 1e6, 20e6)),
        noise: 0.05 + 0.4 * uniform(random),
    }
}

/// A measurement of this host: any load from 0.1 to 0.9, 20 bytes to 192 kB, 1 to 64 readers, 0 to 4 hops.
fn measured(host: &Host, random: &mut Random) -> Record {
    let hops = random.below(5);
    let links: Vec<Link> = (0..hops)
        .map(|_| Link {
            byte: [800.0, 80.0, 8.0][random.below(3)],
            travel: magnitude(random, 500.0, 5_000_000.0),
            others: if random.chance(50) { 0.6 * uniform(random) } else { 0.0 },
            frame: [300.0, 1_538.0][random.below(2)],
            loss: 0.0,
        })
        .collect();
    let mut flow = Flow {
        size: magnitude(random, 20.0, 192_000.0) as u32,
        separation: 0.0,
        burst: 1,
        is_random: random.chance(50),
        copies: [1, 1, 2, 4, 8, 16, 64][random.below(7)],
        is_stored: random.chance(20),
    };
    let wire: f64 = frames_of(flow.size).iter().sum();
    // What the busiest place needs for a sample, seen with what others leave of it.
    let needed = links.iter().map(|link| wire * link.byte * f64::from(flow.copies) / (1.0 - link.others));
    let needed = needed.fold(host.writing(&flow).max(host.reading(&flow)), f64::max);
    flow.separation = needed / (0.1 + 0.8 * uniform(random));
    let frames = frames_of(flow.size).len() * flow.copies as usize;
    let samples = (150_000 / frames).clamp(200, 6_000);
    let mut seen = latencies(host, &links, &[flow.clone()], samples, random.bits());
    seen.sort_by(f64::total_cmp);
    let hops = links.iter().map(|link| Hop {
        rate: (8e9 / link.byte) as u64,
        propagation: (link.travel * 1_000.0) as u64,
        delay: 0,
        load: (link.others * 1e6) as u32,
        frame: link.frame as u32,
        loss: 0,
    });
    Record {
        hops: hops.collect(),
        topic: Topic {
            name: "measured".to_owned(),
            size: flow.size,
            separation: (flow.separation * 1_000.0) as u64,
            burst: 1,
            arrivals: if flow.is_random { Arrivals::Random } else { Arrivals::Periodic },
            readers: flow.copies,
            multicast: false,
            reliability: Reliability::BestEffort,
            durability: if flow.is_stored { Durability::Persistent } else { Durability::Volatile },
            heartbeat: 20_000_000_000,
        },
        percentiles: [0.5, 0.9, 0.99]
            .map(|part| Some(quantile(&seen, part)))
            .into_iter()
            .chain([None])
            .collect::<Vec<_>>()
            .try_into()
            .unwrap(),
    }
}

/// By which factor one is above or below the other, at most 10.
fn miss(one: f64, other: f64) -> f64 {
    (one / other).max(other / one).min(10.0)
}

#[test]
fn medians_of_other_cases_are_inside_their_intervals_and_nearer_than_what_three_others_say() {
    let tier = tiers::current();
    let hosts = match tier.name() {
        "quick" => 1,
        "ci" => 4,
        _ => 60,
    };
    let (mut inside, mut all, mut own_errors) = (0, 0, Vec::new());
    let mut other_errors = [Vec::new(), Vec::new(), Vec::new()];
    let mut widths = Vec::new();
    for host in 0..hosts {
        let seed = tier.first_seed().wrapping_add(host);
        let mut random = Random::of_case(4_045, seed);
        let truth = any_host(&mut random);
        let known: Vec<Record> = (0..60).map(|_| measured(&truth, &mut random)).collect();
        let calibration = calibrate(&known).unwrap();
        let references: Vec<&Record> = known.iter().collect();
        let others = comparisons(&references);
        let (mut inside_here, mut here) = (0, Vec::new());
        for _ in 0..60 {
            let record = measured(&truth, &mut random);
            let seen = record.percentiles[0].unwrap();
            all += 1;
            for (other, errors) in others.iter().zip(&mut other_errors) {
                errors.push(miss(other.median(&record.hops, &record.topic), seen));
            }
            let path = Path { hops: record.hops, stages: None, topics: vec![record.topic] };
            let Ok(predicted) = predict(&path, &calibration.stages, 0, FINE) else {
                here.push(10.0);
                continue;
            };
            let (low, high) = calibration.intervals.around(0, predicted.percentiles[0]).unwrap();
            inside_here += u32::from((low..=high).contains(&seen));
            widths.push(high / low);
            here.push(miss(predicted.percentiles[0], seen));
        }
        eprintln!(
            "seed {seed}: {inside_here} of 60 inside, factor {:?}, mean miss {:.3}, {truth:?}, {:?}",
            calibration.intervals.factors,
            mean(&here),
            calibration.stages
        );
        inside += inside_here;
        own_errors.extend(here);
    }
    let part = f64::from(inside) / f64::from(all);
    widths.sort_by(f64::total_cmp);
    let width = quantile(&widths, 0.5);
    let others: Vec<f64> = other_errors.iter().map(|errors| mean(errors)).collect();
    eprintln!(
        "{part:.3} inside, middle width {width:.2}, mean miss {:.3}, others {others:.2?}",
        mean(&own_errors)
    );
    assert!((0.85..=0.95).contains(&part), "{part} of {all} medians are inside");
    assert!(width < 2.5, "intervals are {width} wide");
    for other in others {
        assert!(mean(&own_errors) < other, "{} is not nearer than {other}", mean(&own_errors));
    }
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}
