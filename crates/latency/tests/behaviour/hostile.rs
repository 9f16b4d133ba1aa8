//! No request costs more than a stated number of steps, however odd it is and whatever was admitted before.
use latency::framing::{Framing, Ip};
use latency::ledger::Ledger;
use latency::network::{Buffer, Flow, Hop, Policing, Port, Subscriber};
use latency::policing::Counts;
use latency::port::Control;
use latency::split::Split;
use latency::work::Limits;

use crate::networks::switch;
use crate::random::Random;

/// A number of any size up to the largest one.
fn any_size(random: &mut Random, largest: u64) -> u64 {
    random.next() % (largest >> random.range(0, 63)).max(2)
}

/// Ports in a ring, with ports that lead to it, of any rate.
fn ports(random: &mut Random) -> Vec<Port> {
    let port = |random: &mut Random| Port {
        rate: [10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 1, 1_000_003]
            [random.range(0, 5) as usize],
        propagation: random.range(0, 1) * any_size(random, 1_000_000_000),
        most_multiplexing: random.range(0, 1) * any_size(random, 1_000_000_000),
        queues: random.range(1, 8) as u8,
        best_effort: [0, 84, 1_538][random.range(0, 2) as usize],
        control: (random.range(0, 3) == 0)
            .then(|| Control { burst: any_size(random, 10_000_000), rate: any_size(random, 100_000_000) }),
        buffer: match random.range(0, 2) {
            0 => Buffer::Shared(any_size(random, 1 << 40)),
            1 => Buffer::PerQueue(any_size(random, 1 << 30)),
            _ => Buffer::Shared(1 << 40),
        },
        ..switch()
    };
    (0..random.range(1, 12)).map(|_| port(random)).collect()
}

fn flow(random: &mut Random, ports: usize) -> Flow {
    let first = random.range(0, ports as u64 - 1) as usize;
    let hops = random.range(1, ports as u64) as usize;
    let mut tree: Vec<Hop> =
        (0..hops).map(|hop| Hop { port: (first + hop) % ports, parent: hop.checked_sub(1) }).collect();
    if random.range(0, 4) == 0 {
        tree.iter_mut().skip(1).for_each(|hop| hop.parent = Some(0));
    }
    let bytes = any_size(random, 60_000).max(1) as u32;
    let separation = match random.range(0, 2) {
        0 => any_size(random, 1 << 50),
        1 => random.range(1, 1_000) * 1_000_000,
        _ => random.range(1, 50) * 1_000_000_000,
    };
    let time = |random: &mut Random| match random.range(0, 3) {
        0 => any_size(random, 1 << 60),
        1 => separation.saturating_mul(random.range(1, 200)),
        _ => 0,
    };
    let subscriber = |random: &mut Random, hop: usize| Subscriber {
        hop,
        limit: if random.range(0, 1) == 0 {
            any_size(random, 1 << 60)
        } else {
            separation.saturating_mul(random.range(1, 99))
        },
        maximum_separation: (random.range(0, 9) == 0).then(|| any_size(random, 1 << 60)),
    };
    let subscribers = if tree.len() > 1 && tree.last().map(|hop| hop.parent) == Some(Some(0)) {
        (1..tree.len()).map(|hop| subscriber(random, hop)).collect()
    } else {
        vec![subscriber(random, tree.len() - 1)]
    };
    Flow {
        largest_message: bytes,
        smallest_message: if random.range(0, 1) == 0 { bytes } else { 1 },
        framing: [
            Framing::Udp { datagram: 1_472, ip: Ip::V4 },
            Framing::Rtps { datagram: 1_472, ip: Ip::V4 },
            Framing::Udp { datagram: 18, ip: Ip::V4 },
        ][random.range(0, 2) as usize],
        tag: if random.range(0, 3) == 0 { 4 } else { 0 },
        separation: separation.max(1),
        maximum_separation: None,
        jitter: time(random),
        emission: time(random),
        slack: time(random),
        policing: match random.range(0, 3) {
            0 => Policing::Trusted,
            1 => Policing::Meter { rate_step: 1_000, burst_step: 1_000, counts: Counts::Frame },
            _ => Policing::Gate { tick: 1_000 },
        },
        tree,
        subscribers,
        importance: random.range(0, 3) as u8,
        bundle: None,
    }
}

/// One that finds its place, and makes work there: many small messages with much jitter.
fn fitting(random: &mut Random, ports: usize) -> Flow {
    let separation = random.range(100, 20_000) * 1_000_000;
    let mut flow = flow(random, ports);
    flow.largest_message = random.range(1, 3_000) as u32;
    flow.smallest_message = flow.largest_message;
    (flow.separation, flow.emission, flow.slack) = (separation, 0, 0);
    flow.jitter = random.range(0, 1) * random.range(0, 30) * separation;
    for subscriber in &mut flow.subscribers {
        subscriber.limit = random.range(1, 300) * 1_000_000_000;
        subscriber.maximum_separation = None;
    }
    flow
}

#[test]
fn no_request_takes_more_steps_than_stated() {
    let (mut asked, mut admitted, mut coarse, mut most, mut all) = (0_u64, 0, 0, 0, 0_u64);
    let mut seed = 0;
    while asked < tiers::current().number("latency.hostile") {
        let mut random = Random::new(seed);
        seed += 1;
        let mut ports = ports(&mut random);
        let fits = random.range(0, 3) > 0;
        if fits {
            ports.iter_mut().for_each(|port| {
                (port.rate, port.control, port.buffer) = (1_000_000_000, None, Buffer::Shared(1 << 40));
            });
        }
        let mut ledger = Ledger::new(ports, [Split::Load, Split::Last][seed as usize % 2]);
        // Some of them fill ports up with what fits.
        let count = [5, 20, 60][random.range(0, 2) as usize];
        for id in 0..count {
            let ports = ledger.ports().len();
            let is_odd = !fits || random.range(0, 4) == 0;
            let flow = if is_odd { flow(&mut random, ports) } else { fitting(&mut random, ports) };
            let before = ledger.work().done();
            ledger.begin(Limits::REQUEST);
            let plan = match random.range(0, 3) {
                0 => ledger.yielding(id, &flow).map(|(_, plan)| plan),
                _ => ledger.plan(id, &flow).ok(),
            };
            let steps = ledger.work().done() - before;
            (asked, all, most) = (asked + 1, all + steps, most.max(steps));
            assert!(steps <= Limits::MOST, "seed {}, flow {id}: {steps}", seed - 1);
            if let Some(plan) = plan {
                coarse += u64::from(plan.coarse);
                admitted += u64::from(ledger.commit(plan));
            }
        }
        // What was found is so, whatever was left out.
        for port in 0..ledger.ports().len() {
            assert_eq!(ledger.audit(port), Ok(()), "seed {}, port {port}", seed - 1);
        }
    }
    println!(
        "{asked} requests, {admitted} admitted, {coarse} by coarser tests; {most} steps at most, {all} in all"
    );
    assert!(admitted > asked / 10);
}
