//! Certificates pass the exact checker, and changed ones do not.

use crate::networks::{flow, host, random_network, switch, table_two};
use crate::random::Random;
use latency::backlog::backlog_from;
use latency::bundle::bundle;
use latency::certificate::Certificate;
use latency::check::{Fault, check};
use latency::framing::{Framing, Ip};
use latency::ledger::Ledger;
use latency::network::{Buffer, Flow, Imperfections, Policing, Port};
use latency::policing::{Counts, Enforcement, Meter};
use latency::port::{Arrival, Control};
use latency::split::Split;
use latency::units::{MICROSECOND, MILLISECOND};

fn table_two_ledger() -> Ledger {
    let (ports, flows) = table_two();
    let mut ledger = Ledger::new(ports, Split::Load);
    for (id, flow) in (1..).zip(flows) {
        let plan = ledger.plan(id, &flow).unwrap();
        assert!(ledger.commit(plan));
    }
    ledger
}

#[test]
fn claims_of_table_two_are_exact() {
    let ledger = table_two_ledger();
    for id in 1..=3 {
        let good = ledger.certificate(id).unwrap();
        assert_eq!(check(&good, ledger.ports()), Ok(()), "flow {id}");
        for hop in 0..2 {
            for claim in 0..good.ports[hop].claims.len() {
                let mut less = good.clone();
                less.ports[hop].claims[claim].delay -= 1;
                let fault = check(&less, ledger.ports()).unwrap_err();
                assert!(
                    matches!(fault, Fault::Delay { .. }),
                    "flow {id}, hop {hop}, claim {claim}: {fault:?}"
                );
                let mut less = good.clone();
                less.ports[hop].claims[claim].pause -= 1;
                let fault = check(&less, ledger.ports()).unwrap_err();
                assert!(
                    matches!(fault, Fault::Pause { .. }),
                    "flow {id}, hop {hop}, claim {claim}: {fault:?}"
                );
            }
        }
    }
}

#[test]
fn certificates_of_random_networks_pass() {
    let (mut passed, mut exact) = (0, 0);
    for seed in tiers::current().seeds("property.cases").step_by(4) {
        let (ledger, flows) = random_network(&mut Random::new(seed));
        for id in flows.keys() {
            let good = ledger.certificate(*id).unwrap();
            assert_eq!(check(&good, ledger.ports()), Ok(()), "seed {seed}, flow {id}");
            passed += 1;
            // A claim below what a synchronous start already gives must not pass: take a frame off.
            let mut less = good.clone();
            let claim = less.ports[0].claims.first_mut().unwrap();
            claim.delay -= (claim.delay / 50).min(1_000_000);
            exact += usize::from(check(&less, ledger.ports()).is_err());
        }
    }
    assert!(passed > 100 && exact * 10 > passed * 9, "{exact} of {passed}");
}

/// Links with other tags, control, and samples of many sizes by RTPS: what admission derives, the checker derives, too.
#[test]
fn certificates_of_varied_networks_pass() {
    let (mut passed, mut too_large) = (0, 0);
    for seed in tiers::current().seeds("property.cases").step_by(2) {
        let mut random = Random::new(seed);
        let (plain, flows) = random_network(&mut random);
        let mut ports = plain.ports().to_vec();
        for port in &mut ports {
            port.tag = [0, 4, 18][random.range(0, 2) as usize];
            port.largest_frame += port.tag + 4;
            port.best_effort = port.best_effort.min(port.largest_frame);
            port.control = Some(Control { burst: 20_000, rate: 1_000_000 });
            port.keeps_order = random.range(0, 1) == 0;
            port.imperfections = Imperfections {
                beside: (random.range(0, 2) == 0).then_some(Control { burst: 30_000, rate: 2_000_000 }),
                ring: random.range(0, 1) as u32 * 3_076,
                wake: random.range(0, 1) * 30 * MICROSECOND,
                drift: [0, 200, 5_000][random.range(0, 2) as usize],
                pauses: false,
            };
        }
        let mut ledger = Ledger::new(ports, Split::Load);
        let mut members = Random::new(!seed);
        for (id, mut flow) in flows {
            flow.tag = [0, 4][members.range(0, 1) as usize];
            flow.framing = Framing::Rtps {
                datagram: [1_452, 300][random.range(0, 1) as usize],
                ip: [Ip::V4, Ip::V6][random.range(0, 1) as usize],
            };
            flow.smallest_message = random.range(0, u64::from(flow.largest_message)) as u32;
            flow.subscribers.iter_mut().for_each(|subscriber| subscriber.limit *= 20);
            if let Ok(plan) = ledger.plan_as_asked(id, &flow) {
                assert!(ledger.commit(plan));
            }
            let Some(certificate) = ledger.certificate(id) else { continue };
            match check(&certificate, ledger.ports()) {
                Ok(()) => passed += 1,
                // A port that is loaded nearly in full is busy for seconds: more instants than the checker examines.
                Err(Fault::TooLarge { .. }) => too_large += 1,
                Err(fault) => panic!("seed {seed}, flow {id}: {fault:?}"),
            }
        }
    }
    assert!(passed > 200 && too_large * 500 < passed, "{passed} passed, {too_large} too large");
}

/// Evidence as it was before it was known that a smaller sample may have the larger frame: 1,490 bytes instead of 1,538.
#[test]
fn evidence_with_the_frames_of_the_largest_sample_is_refused() {
    let slow = Port { rate: 10_000_000, best_effort: 0, ..switch() };
    let ports = vec![host(), host(), slow];
    let rtps = Framing::Rtps { datagram: 1_472, ip: Ip::V4 };
    let sample = |size, separation, limit, host| Flow {
        framing: rtps,
        smallest_message: size / 1_400,
        ..flow(size, separation * MILLISECOND, limit * MILLISECOND, &[host, 2])
    };
    let mut ledger = Ledger::new(ports.clone(), Split::Last);
    for (id, flow) in
        [(1, sample(1_400, 1_000, 900, 0)), (2, Flow { smallest_message: 64, ..sample(64, 100, 2, 1) })]
    {
        let plan = ledger.plan(id, &flow).unwrap();
        assert!(ledger.commit(plan));
    }
    let mut old = ledger.certificate(2).unwrap();
    assert_eq!(check(&old, &ports), Ok(()));
    let port = &mut old.ports[1];
    let large = port.contenders.iter().find(|other| other.largest_frame == 1_538 * 8).unwrap();
    let level = large.level;
    let claim = port.claims.iter_mut().find(|claim| claim.level > level).unwrap();
    // 48 bytes less at 10 Mb/s.
    claim.delay -= 38_400_000;
    let fault = check(&old, &ports).unwrap_err();
    assert!(matches!(fault, Fault::Delay { hop: 1, .. }), "{fault:?}");
    // And what the flow itself was said to offer then.
    let mut old = ledger.certificate(1).unwrap();
    assert_eq!(check(&old, &ports), Ok(()));
    for other in &mut old.ports[1].contenders {
        other.largest_frame = other.largest_frame.min(1_490 * 8);
    }
    assert_eq!(check(&old, &ports), Err(Fault::Offered { hop: 1 }));
}

/// Evidence as it was when what a gate lets pass lost as many tags as the flow's own frames have.
#[test]
fn evidence_with_the_tags_of_the_flows_own_frames_is_refused() {
    let slow = Port { rate: 10_000_000, best_effort: 0, ..switch() };
    let tagged = Port { tag: 4, best_effort: 0, ..switch() };
    let ports = vec![Port { tag: 4, ..host() }, host(), tagged, slow];
    let chatter = Flow {
        framing: Framing::Udp { datagram: 18, ip: Ip::V4 },
        ..flow(9_000, 1_000 * MILLISECOND, 900 * MILLISECOND, &[0, 2, 3])
    };
    let tick = flow(64, 900 * MILLISECOND, 800 * MILLISECOND, &[1, 3]);
    let mut ledger = Ledger::new(ports.clone(), Split::Last);
    for (id, flow) in [(1, chatter), (2, tick)] {
        let plan = ledger.plan(id, &flow).unwrap();
        assert!(ledger.commit(plan));
    }
    assert_eq!(check(&ledger.certificate(2).unwrap(), &ports), Ok(()));
    let mut old = ledger.certificate(1).unwrap();
    assert_eq!(check(&old, &ports), Ok(()));
    let port = &mut old.ports[2];
    let index = port.flows.iter().position(|flow| *flow == 1).unwrap();
    let Arrival::Messages { bits, .. } = &mut port.contenders[index].arrival else { panic!() };
    // 500 frames of 84 bytes each.
    assert!(*bits > 500 * 84 * 8, "{bits}");
    *bits = 500 * 84 * 8;
    assert_eq!(check(&old, &ports), Err(Fault::Offered { hop: 2 }));
}

/// A frame of control may be the one on the wire: a buffer that has no room for it is not enough.
#[test]
fn a_buffer_without_room_for_control_is_found() {
    let (mut ports, flows) = table_two();
    for port in &mut ports {
        port.control = Some(Control { burst: 20_000, rate: 1_000_000 });
    }
    let small = Flow {
        framing: Framing::Udp { datagram: 18, ip: Ip::V4 },
        largest_message: 1_800,
        smallest_message: 1_800,
        ..flows[0].clone()
    };
    let mut ledger = Ledger::new(ports.clone(), Split::Load);
    assert!(ledger.commit(ledger.plan(1, &small).unwrap()));
    let certificate = ledger.certificate(1).unwrap();
    let port = small.tree[1].port;
    let flow = certificate.ports[1].contenders[0];
    let needed = backlog_from(&ports[port].planning_server(), &[flow], flow.level).unwrap().div_ceil(8);
    ports[port].buffer = Buffer::Shared(needed);
    assert_eq!(check(&certificate, &ports), Ok(()));
    ports[port].buffer = Buffer::Shared(needed - (1_538 - 84));
    assert_eq!(check(&certificate, &ports), Err(Fault::Buffer { hop: 1, level: flow.level }));
}

/// Evidence that leaves out what real ports have is found.
#[test]
fn imperfections_have_to_be_in_the_evidence() {
    let (mut ports, flows) = table_two();
    let beside = Control { burst: 30_000, rate: 2_000_000 };
    for port in &mut ports {
        port.imperfections =
            Imperfections { beside: Some(beside), ring: 3_076, wake: 16_500_000, drift: 0, pauses: false };
    }
    let mut ledger = Ledger::new(ports.clone(), Split::Load);
    let plan = ledger.plan(1, &Flow { policing: Policing::Trusted, ..flows[2].clone() }).unwrap();
    assert!(ledger.commit(plan));
    let good = ledger.certificate(1).unwrap();
    assert_eq!(check(&good, &ports), Ok(()));
    let fault = |change: &dyn Fn(&mut Certificate)| {
        let mut certificate = good.clone();
        change(&mut certificate);
        check(&certificate, &ports).unwrap_err()
    };
    assert_eq!(fault(&|c| c.ports[1].server.ahead -= 1), Fault::Server { hop: 1 });
    assert_eq!(fault(&|c| c.ports[0].server.beside = None), Fault::Server { hop: 0 });
    // And where the evidence says that it is there, the claims must have room for it.
    for change in [
        |it: &mut Imperfections| it.beside = Some(Control { burst: 30_001, rate: 2_000_000 }),
        |it: &mut Imperfections| it.ring += 1,
        |it: &mut Imperfections| it.wake += 1_000,
    ] {
        let mut worse = ports.clone();
        worse.iter_mut().for_each(|port| change(&mut port.imperfections));
        let mut certificate = good.clone();
        for (evidence, port) in certificate.ports.iter_mut().zip([2, 3]) {
            evidence.server = worse[port].planning_server();
        }
        let fault = check(&certificate, &worse).unwrap_err();
        assert!(matches!(fault, Fault::Delay { .. } | Fault::Pause { .. }), "{fault:?}");
    }
}

#[test]
fn other_changes_are_found() {
    let ledger = table_two_ledger();
    let fault = |change: &dyn Fn(&mut Certificate)| {
        let mut certificate = ledger.certificate(2).unwrap();
        change(&mut certificate);
        check(&certificate, ledger.ports()).unwrap_err()
    };
    assert_eq!(fault(&|c| c.flow.subscribers[0].limit -= 1_000_000_000), Fault::Limit { subscriber: 0 });
    assert_eq!(fault(&|c| c.ports[1].server.best_effort -= 1), Fault::Server { hop: 1 });
    assert_eq!(fault(&|c| c.ports[1].server.rate += 1), Fault::Server { hop: 1 });
    assert_eq!(fault(&|c| c.flow.jitter += 1_000_000), Fault::Offered { hop: 0 });
    assert_eq!(fault(&|c| c.ports[1].shares[1] -= 1), Fault::Offered { hop: 1 });
    assert_eq!(fault(&|c| c.ports[1].shares[0] = 0), Fault::Share { hop: 1 });
    assert!(matches!(fault(&|c| _ = c.ports[1].claims.pop()), Fault::Share { hop: 1 }));
    assert_eq!(fault(&|c| _ = c.ports.pop()), Fault::Shape);
    assert_eq!(fault(&|c| c.ports[1].port = 0), Fault::Shape);
    assert_eq!(fault(&|c| c.ports[1].flows[1] = 7), Fault::Shape);
    let more = |c: &mut Certificate| {
        if let Arrival::Messages { bits, .. } = &mut c.ports[1].contenders[0].arrival {
            *bits += 1;
        }
    };
    assert!(matches!(fault(&more), Fault::Delay { hop: 1, .. } | Fault::Pause { hop: 1, .. }));
}

/// What a bundle offers is derived again: with tags and padding, clocks that run apart, and any guard.
#[test]
fn bundles_are_checked() {
    for (seed, counts) in (0..60).zip([None, Some(Counts::Wire), Some(Counts::Frame)].into_iter().cycle()) {
        let mut random = Random::new(seed);
        let policing = counts.map_or(Policing::Trusted, |counts| Policing::Meter {
            rate_step: 1,
            burst_step: 1,
            counts,
        });
        let mut ports = [host(), switch(), switch()];
        for port in &mut ports {
            port.tag = [0, 4, 30][random.range(0, 2) as usize];
            port.largest_frame = 1_538 + port.tag + 4;
        }
        ports[0].imperfections.drift = random.range(0, 300) as u32;
        let mut part = || Flow {
            policing,
            tag: [0, 4][seed as usize / 3 % 2],
            jitter: random.range(0, 2_000) * MICROSECOND,
            emission: random.range(0, 2_000) * MICROSECOND,
            ..flow(
                random.range(1, 4_000) as u32,
                random.range(5_000, 9_000) * MICROSECOND,
                40_000 * MICROSECOND,
                &[0, 1, 2],
            )
        };
        let all = bundle(&[part(), part(), part()], &ports[0]).unwrap();
        let mut ledger = Ledger::new(ports.to_vec(), Split::Load);
        ledger.admit(1, &all).unwrap();
        let good = ledger.certificate(1).unwrap();
        assert_eq!(check(&good, ledger.ports()), Ok(()), "seed {seed}");
        for hop in 0..3 {
            let Arrival::Bucket { burst, rate } = good.ports[hop].contenders[0].arrival else {
                panic!("seed {seed}: they are not in step");
            };
            let messages = Arrival::Messages { bits: burst, separation: 5_000 * MICROSECOND, jitter: burst };
            let less = [
                Arrival::Bucket { burst: burst - burst / 50, rate },
                Arrival::Bucket { burst, rate: rate - rate / 50 },
                messages,
            ];
            for arrival in less {
                let mut worse = good.clone();
                worse.ports[hop].contenders[0].arrival = arrival;
                let fault = check(&worse, ledger.ports()).unwrap_err();
                assert!(
                    matches!(fault, Fault::Offered { .. } | Fault::Delay { .. } | Fault::Pause { .. }),
                    "seed {seed}, hop {hop}: {fault:?}"
                );
            }
        }
        if let Enforcement::Meter(meter) = good.enforcement {
            for (burst, rate) in
                [(meter.burst - meter.burst / 50, meter.rate), (meter.burst, meter.rate - meter.rate / 50)]
            {
                let mut worse = good.clone();
                worse.enforcement = Enforcement::Meter(Meter { burst, rate, ..meter });
                assert_eq!(check(&worse, ledger.ports()), Err(Fault::Offered { hop: 0 }), "seed {seed}");
            }
        }
    }
}

/// Numbers that would overflow are refused before anything is computed from them.
#[test]
fn hostile_numbers_do_no_harm() {
    let ledger = table_two_ledger();
    let fault = |change: &dyn Fn(&mut Certificate)| {
        let mut certificate = ledger.certificate(2).unwrap();
        change(&mut certificate);
        check(&certificate, ledger.ports()).unwrap_err()
    };
    let other = |arrival| move |c: &mut Certificate| c.ports[1].contenders[0].arrival = arrival;
    for arrival in [
        Arrival::Messages { bits: u64::MAX, separation: 1 << 30, jitter: 0 },
        Arrival::Messages { bits: 1, separation: 0, jitter: 0 },
        Arrival::Messages { bits: 1, separation: 1, jitter: 0 },
        Arrival::Messages { bits: 1, separation: 1 << 30, jitter: u64::MAX },
        Arrival::Bucket { burst: u64::MAX, rate: 1 },
        Arrival::Bucket { burst: 1, rate: u64::MAX },
    ] {
        assert_eq!(fault(&other(arrival)), Fault::TooLarge { hop: 1 }, "{arrival:?}");
    }
    assert_eq!(fault(&|c| c.ports[1].claims[0].pause = u64::MAX), Fault::TooLarge { hop: 1 });
    assert_eq!(fault(&|c| c.ports[1].claims[0].delay = u64::MAX), Fault::TooLarge { hop: 1 });
    assert_eq!(fault(&|c| c.ports[1].server.best_effort = u64::MAX), Fault::TooLarge { hop: 1 });
    let largest = |c: &mut Certificate| {
        c.ports[1].contenders[0].arrival =
            Arrival::Messages { bits: 1 << 40, separation: 1 << 20, jitter: 1 << 53 };
        c.ports[1].claims.iter_mut().for_each(|claim| claim.pause = 1 << 53);
    };
    assert!(matches!(fault(&largest), Fault::Pause { hop: 1, .. } | Fault::TooLarge { hop: 1 }));
}

/// The evidence for a flow behind a meter that counts frames holds, and not with what would be right for one that counts
/// all of the wire.
#[test]
fn what_a_meter_does_not_count_has_to_be_in_the_evidence() {
    let (ports, flows) = table_two();
    let mut ledger = Ledger::new(ports, Split::Load);
    let mut flow = flows[2].clone();
    flow.policing = Policing::Meter { rate_step: 1_000, burst_step: 1_000, counts: Counts::Frame };
    let plan = ledger.plan(1, &flow).unwrap();
    assert!(ledger.commit(plan));
    let good = ledger.certificate(1).unwrap();
    assert_eq!(check(&good, ledger.ports()), Ok(()));
    let Enforcement::Meter(meter) = ledger.flow(1).unwrap().enforcement else { panic!() };
    let bucket = |certificate: &mut Certificate, times: u64| {
        let Arrival::Bucket { burst, rate } = &mut certificate.ports[1].contenders[0].arrival else {
            panic!()
        };
        assert!(*burst >= 2 * meter.burst && *rate == 2 * meter.rate);
        (*burst, *rate) = (*burst * times / 2, *rate * times / 2);
    };
    let (mut half, mut same) = (good.clone(), good.clone());
    bucket(&mut half, 1);
    bucket(&mut same, 2);
    assert_eq!(check(&same, ledger.ports()), Ok(()));
    assert_eq!(check(&half, ledger.ports()), Err(Fault::Offered { hop: 1 }));
}
