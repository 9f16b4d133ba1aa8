//! With costs that are known, percentiles are near those of a simulation.
use predict::{
    Arrivals, COARSE, Cost, Durability, FINE, Hop, Idle, PERCENTILES, Path, Reliability, Stages, Topic,
    predict,
};

use crate::simulation::{Flow, Host, Link, latencies, latencies_with_losses, quantile};

/// A host whose times vary as the model says they may, or nearly.
fn host(noise: f64) -> Host {
    Host {
        encode: (2_000.0, 0.5),
        store: (40_000.0, 1.0),
        copy: (3_000.0, 0.1),
        decode: (4_000.0, 0.4),
        wake: 20_000.0,
        asleep: (0.0, 1.0),
        noise,
    }
}

fn stages(host: &Host) -> Stages {
    let cost = |(base, byte)| Cost { base, byte };
    Stages {
        serialise: cost((0.0, host.encode.1)),
        write: cost((host.encode.0, 0.0)),
        store: cost(host.store),
        send: cost(host.copy),
        receive: cost((host.decode.0, 0.0)),
        deserialise: cost((0.0, host.decode.1)),
        deliver: cost((host.wake, 0.0)),
        idle: Idle::default(),
        spread: host.noise * 0.8,
    }
}

/// A link of 100 Mbit/s.
fn link(others: f64) -> Link {
    Link { byte: 80.0, travel: 7_000.0, others, frame: 1_538.0, loss: 0.0 }
}

fn hop(link: &Link) -> Hop {
    Hop {
        rate: (8e9 / link.byte) as u64,
        propagation: (link.travel * 1_000.0) as u64,
        delay: 0,
        load: (link.others * 1e6) as u32,
        frame: link.frame as u32,
        loss: (link.loss * 1e6) as u32,
    }
}

fn topic(name: &str, flow: &Flow) -> Topic {
    Topic {
        name: name.to_owned(),
        size: flow.size,
        separation: (flow.separation * 1_000.0) as u64,
        burst: flow.burst,
        arrivals: if flow.is_random { Arrivals::Random } else { Arrivals::Periodic },
        readers: flow.copies,
        multicast: false,
        reliability: Reliability::BestEffort,
        durability: if flow.is_stored { Durability::Persistent } else { Durability::Volatile },
        heartbeat: 20_000_000_000,
    }
}

const FLOW: Flow =
    Flow { size: 1_000, separation: 1_000_000.0, burst: 1, is_random: false, copies: 1, is_stored: false };

/// What is predicted is within these parts of what is simulated, for the first percentiles.
fn near(name: &str, host: &Host, links: &[Link], flows: &[Flow], parts: &[f64]) {
    let mut seen = latencies(host, links, flows, 20_000, 7);
    seen.sort_by(f64::total_cmp);
    let topics = flows.iter().enumerate().map(|(number, flow)| topic(&format!("t{number}"), flow)).collect();
    let path = Path { hops: links.iter().map(hop).collect(), stages: None, topics };
    let predicted = predict(&path, &stages(host), 0, FINE).unwrap();
    for ((wanted, value), part) in PERCENTILES.iter().zip(predicted.percentiles).zip(parts) {
        let seen = quantile(&seen, *wanted);
        assert!(
            (value / seen - 1.0).abs() <= *part,
            "{name}, {wanted}: {value:.0} is predicted, {seen:.0} seen"
        );
    }
    // Means of stages add up to the mean.
    let mean = seen.iter().sum::<f64>() / seen.len() as f64;
    let sum: f64 = predicted.stages.iter().map(|stage| stage.mean).sum();
    assert!((sum / mean - 1.0).abs() < parts[0] * 2.0, "{name}: stages are {sum:.0}, the mean {mean:.0}");
}

#[test]
fn a_sample_alone_takes_the_sum_of_its_stages() {
    near("no hop", &host(0.0), &[], &[FLOW], &[0.01, 0.01, 0.01]);
    near("one hop", &host(0.0), &[link(0.0)], &[FLOW], &[0.01, 0.01, 0.01]);
    near("noise", &host(0.4), &[link(0.0)], &[FLOW], &[0.03, 0.05, 0.1]);
    let stored = Flow { is_stored: true, ..FLOW };
    near("stored", &host(0.2), &[link(0.0)], &[stored], &[0.03, 0.05, 0.1]);
}

#[test]
fn frames_of_a_large_sample_follow_each_other_over_hops() {
    let large = Flow { size: 192_000, separation: 40e6, ..FLOW };
    let fast = Link { byte: 8.0, ..link(0.0) };
    near(
        "three hops",
        &host(0.0),
        &[link(0.0), fast.clone(), link(0.0)],
        std::slice::from_ref(&large),
        &[0.01, 0.01],
    );
    near("one of them in use", &host(0.0), &[fast, link(0.4)], std::slice::from_ref(&large), &[0.05, 0.08]);
    near("others come in between", &host(0.0), &[link(0.0), link(0.4)], &[large], &[0.05, 0.08]);
}

#[test]
fn samples_wait_for_traffic_of_others() {
    for others in [0.2, 0.5, 0.8] {
        near(&format!("{others}"), &host(0.1), &[link(others)], &[FLOW], &[0.05, 0.08, 0.15]);
    }
    near(
        "four hops",
        &host(0.1),
        &[link(0.5), link(0.3), link(0.6), link(0.1)],
        &[FLOW],
        &[0.05, 0.08, 0.12],
    );
}

#[test]
fn samples_wait_for_each_other() {
    // A frame takes 93 us of the link.
    for load in [0.3, 0.6, 0.85] {
        let own = Flow { is_random: true, separation: 93_280.0 / load, ..FLOW };
        near(&format!("random at {load}"), &host(0.1), &[link(0.0), link(0.0)], &[own], &[0.06, 0.08, 0.15]);
    }
    let burst = Flow { burst: 10, separation: 300_000.0, ..FLOW };
    near("bursts", &host(0.1), &[link(0.0)], &[burst], &[0.05, 0.08]);
    let regular = Flow { separation: 93_280.0 / 0.6, ..FLOW };
    near("regular beside others", &host(0.1), &[link(0.3)], &[regular], &[0.08, 0.1]);
    let others = Flow { is_random: true, size: 3_000, separation: 600_000.0, ..FLOW };
    near("two topics", &host(0.1), &[link(0.0)], &[FLOW, others], &[0.06, 0.12]);
}

#[test]
fn readers_with_datagrams_of_their_own_come_one_after_the_other() {
    for copies in [2, 16, 64] {
        let flow = Flow { copies, separation: 20e6, ..FLOW };
        near(&format!("{copies} readers"), &host(0.1), &[link(0.0)], &[flow], &[0.05, 0.08]);
    }
}

#[test]
fn lost_samples_are_late_and_so_are_those_after_them() {
    for (loss, separation) in [(0.02, 50e6), (0.02, 1e6), (0.2, 10e6), (0.3, 1e6)] {
        let flow = Flow { separation, ..FLOW };
        let link = Link { loss, travel: 2_000_000.0, ..link(0.0) };
        let host = host(0.1);
        let mut seen = latencies_with_losses(&host, std::slice::from_ref(&link), &flow, 20e6, 100_000, 3);
        seen.sort_by(f64::total_cmp);
        let topic = Topic { reliability: Reliability::Reliable, ..topic("t", &flow) };
        let path = Path { hops: vec![hop(&link)], stages: None, topics: vec![topic] };
        let predicted = predict(&path, &stages(&host), 0, FINE).unwrap();
        for (wanted, part) in [(0, 0.05), (1, 0.15), (2, 0.2)] {
            let (value, seen) = (predicted.percentiles[wanted], quantile(&seen, PERCENTILES[wanted]));
            assert!(
                (value / seen - 1.0).abs() <= part,
                "{loss} at {separation}, {wanted}: {value:.0} is predicted, {seen:.0} seen"
            );
        }
        assert_eq!(predicted.lost, 0.0);
        let best_effort = Path { topics: vec![self::topic("t", &flow)], ..path };
        let predicted = predict(&best_effort, &stages(&host), 0, FINE).unwrap();
        assert!((predicted.lost - loss).abs() < 1e-9);
    }
}

/// A loss is noticed after an hour, and meanwhile more samples come than a sample is taken to wait for: each of 4096 has to arrive. After `n` repetitions
/// that is so with `(1 - loss^(n + 1))^4096`.
#[test]
fn hours_until_a_loss_is_noticed_take_no_more_work_than_milliseconds() {
    const HOUR: f64 = 3.6e12;
    let loss = 0.74_f64;
    let flow = Flow { separation: 1_000.0, ..FLOW };
    let fast = Hop { rate: 100_000_000_000, loss: 740_000, ..hop(&link(0.0)) };
    let topic = Topic {
        reliability: Reliability::Reliable,
        heartbeat: 3_600_000_000_000_000,
        size: 100,
        ..topic("t", &flow)
    };
    let path = Path { hops: vec![fast], stages: None, topics: vec![topic] };
    // Of a coarse grid, a place stands for more than an hour.
    for (points, slack) in [(COARSE, 1.6), (FINE, 0.2)] {
        let predicted = predict(&path, &Stages::default(), 0, points).unwrap();
        for (value, wanted) in predicted.percentiles.into_iter().zip(PERCENTILES).take(2) {
            // The next sample shows the first loss, so that the first repetition is asked for at once, and each further one after an hour.
            let needed = (1.0 - wanted.powf(1.0 / 4_096.0)).ln() / loss.ln() - 1.0;
            let hours = value / HOUR;
            assert!(needed - 1.0 - slack < hours && hours < needed + slack, "{wanted}: {hours} h, {needed}");
        }
    }
}

#[test]
fn there_is_no_prediction_where_queues_grow() {
    let flow = Flow { separation: 90_000.0, ..FLOW };
    let path = Path { hops: vec![hop(&link(0.0))], stages: None, topics: vec![topic("t", &flow)] };
    let told = predict(&path, &stages(&host(0.1)), 0, FINE).unwrap_err().to_string();
    assert!(told.starts_with("hop 1 has 104 % of the work that it has time for"), "{told}");
    let link = Link { loss: 0.95, ..link(0.0) };
    let path = Path { hops: vec![hop(&link)], topics: vec![topic("t", &FLOW)], ..path };
    let told = predict(&path, &stages(&host(0.1)), 0, FINE).unwrap_err().to_string();
    assert!(told.contains("95 % of the samples are lost"), "{told}");
}
