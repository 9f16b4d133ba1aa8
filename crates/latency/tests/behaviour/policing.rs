//! What holds flows to their contracts: gates and token buckets as they are set, and what that costs the others.

use crate::networks::{admit, flow, host, switch, table_two};
use latency::ledger::{Ledger, Reason};
use latency::network::{Flow, FlowError, Policing, Port};
use latency::path::PathMethod;
use latency::policing::{Counts, Enforcement, Gate, Meter};
use latency::port::Arrival;
use latency::split::Split;
use latency::units::{MICROSECOND, MILLISECOND, NANOSECOND};

#[test]
fn table_two_gates() {
    let (ports, flows) = table_two();
    let mut ledger = Ledger::new(ports, Split::Load);
    admit(&mut ledger, 1, &flows[0]);
    let gate = Gate {
        octets: 192_192 + 131 * 66,
        separation: 3 * MILLISECOND,
        tolerance: 12_304 * NANOSECOND,
        window: 1_606_704 * NANOSECOND,
    };
    assert_eq!(ledger.flow(1).unwrap().enforcement, Enforcement::Gate(gate));
}

/// Clocks run apart: a gate opens for publishers with a fast one, and others are charged for a gate with a fast one.
#[test]
fn drift_is_taken_off_twice() {
    let (mut ports, flows) = table_two();
    ports.iter_mut().for_each(|port| port.imperfections.drift = 200);
    let share = 1_700 * MICROSECOND;
    let (early, stretch) = (share - 1_606_704 * NANOSECOND, share - 12_304 * NANOSECOND);
    let by_its_clock = |time: u64| (time * 1_000_000).div_ceil(999_800).next_multiple_of(NANOSECOND);
    let gate = Gate {
        octets: 192_192 + 131 * 66,
        separation: 2_999_400 * NANOSECOND,
        tolerance: by_its_clock(early),
        window: by_its_clock(stretch),
    };
    assert_eq!(flows[0].enforcement(&ports, share), Ok(Enforcement::Gate(gate)));
    let arrival = |flow: &Flow, hop: usize| flow.contenders(&ports, &[share]).unwrap()[hop].arrival;
    let separation = |arrival| match arrival {
        Arrival::Messages { separation, .. } => separation,
        Arrival::Bucket { .. } => panic!("no messages"),
    };
    // By the publisher's clock, by the gate's, which may be as much faster again, and by that of a publisher who is trusted.
    assert_eq!(separation(arrival(&flows[0], 0)), 2_999_400 * NANOSECOND);
    assert_eq!(separation(arrival(&flows[0], 1)), 2_998_800_120);
    let trusted = Flow { policing: Policing::Trusted, ..flows[0].clone() };
    assert_eq!(separation(arrival(&trusted, 1)), 2_999_400 * NANOSECOND);
    let policing = Policing::Meter { rate_step: 1, burst_step: 1, counts: Counts::Wire };
    let metered = Flow { policing, ..flows[0].clone() };
    let Ok(Enforcement::Meter(meter)) = metered.enforcement(&ports, share) else { panic!() };
    let bits = (192_192 + 131 * 66) * 8;
    assert_eq!(meter.rate, (bits * 1_000_000_000_u64).div_ceil(2_999_400));
    let Arrival::Bucket { rate, .. } = arrival(&metered, 1) else { panic!("no bucket") };
    assert_eq!(rate, (meter.rate * 1_000_000).div_ceil(999_800));
    // Times of gates are multiples of a step: the separation is rounded so that the publisher passes.
    let coarse = Flow { policing: Policing::Gate { tick: MILLISECOND }, ..flows[0].clone() };
    let Ok(Enforcement::Gate(gate)) = coarse.enforcement(&ports, share) else { panic!() };
    assert_eq!(gate.separation, 2 * MILLISECOND);
    ports[0].imperfections.drift = 1_000_000;
    assert_eq!(flows[0].check(&ports), Err(FlowError::Number));
}

/// What a gate or a meter bears beyond the contract is theirs alone: it is in no share of the flow, and others are charged for it.
#[test]
fn slack_is_for_the_guard_and_not_for_the_flow() {
    let (ports, flows) = table_two();
    let slack = 40 * MICROSECOND;
    let patient = Flow { slack, ..flows[0].clone() };
    let share = 1_700 * MICROSECOND;
    let gate = |flow: &Flow| match flow.enforcement(&ports, share).unwrap() {
        Enforcement::Gate(gate) => gate,
        other => panic!("{other:?}"),
    };
    let strict = gate(&flows[0]);
    assert_eq!(gate(&patient), Gate { window: strict.window + slack, ..strict });
    let meter = |flow: &Flow| {
        let policing = Policing::Meter { rate_step: 1, burst_step: 1, counts: Counts::Wire };
        match (Flow { policing, ..flow.clone() }).enforcement(&ports, share).unwrap() {
            Enforcement::Meter(meter) => meter,
            other => panic!("{other:?}"),
        }
    };
    let (strict, with) = (meter(&flows[0]), meter(&patient));
    assert_eq!(with.rate, strict.rate);
    // 40 us at the rate of the bucket, up to two roundings.
    let more = u128::from(slack) * u128::from(strict.rate) / 1_000_000_000_000;
    assert!((more..=more + 2).contains(&u128::from(with.burst - strict.burst)));
    let offered = |flow: &Flow| flow.contenders(&ports, &[share]).unwrap();
    assert_eq!(offered(&patient)[0], offered(&flows[0])[0]);
    let jitter = |flow: &Flow| match offered(flow)[1].arrival {
        Arrival::Messages { jitter, .. } => jitter,
        Arrival::Bucket { .. } => panic!("no gate"),
    };
    assert_eq!(jitter(&patient), jitter(&flows[0]) + slack);
}

fn metered() -> (Vec<Port>, [Flow; 3]) {
    let (ports, flows) = table_two();
    let policing = Policing::Meter { rate_step: 1, burst_step: 1, counts: Counts::Wire };
    (ports, flows.map(|flow| Flow { policing, ..flow }))
}

#[test]
fn table_two_with_token_buckets_is_refused() {
    let (ports, flows) = metered();
    let mut ledger = Ledger::new(ports, Split::Load);
    admit(&mut ledger, 1, &flows[0]);
    let refusal = ledger.plan(2, &flows[1]).unwrap_err();
    let Reason::Delay { port: 3, by: Some(by), .. } = refusal.reason else { panic!("{refusal:?}") };
    assert!(by > 0);
    let offer = refusal.offer.latency.expect("T2 could be admitted with a longer latency");
    let mut patient = flows[1].clone();
    patient.subscribers[0].limit = offer;
    admit(&mut ledger, 2, &patient);
    // 5.227 ms, and what a bucket needs beyond a message because frames of two messages may be nearer to each other.
    let bound = ledger.bounds(2).unwrap()[0];
    assert_eq!(bound.method, PathMethod::Concatenation);
    assert!(bound.latency > 5_227 * MICROSECOND && bound.latency < 5_270 * MICROSECOND, "{bound:?}");
}

/// Gap 17: what is programmed is rounded up to what the device can do, and holds a conforming publisher.
#[test]
fn meters_are_rounded_up() {
    let ports = [host(), switch()];
    let mut flow = flow(1_001, MILLISECOND, MILLISECOND, &[0, 1]);
    flow.jitter = 100 * MICROSECOND;
    flow.policing = Policing::Meter { rate_step: 1_000, burst_step: 1_000, counts: Counts::Wire };
    let bits = (1_001 + 66) * 8;
    let share = 50 * MICROSECOND;
    // 8.536 Mb/s for 100 us of release and 50 - 8.536 us of variation at the host, and the message.
    let Enforcement::Meter(Meter { burst, rate, .. }) = flow.enforcement(&ports, share).unwrap() else {
        panic!()
    };
    assert_eq!((rate, burst), (8_536_000, 10_000));
    assert!(burst >= bits + 8_536 * (100 + 41) / 1_000);
    flow.separation -= 1;
    let Enforcement::Meter(Meter { rate, .. }) = flow.enforcement(&ports, share).unwrap() else { panic!() };
    assert_eq!(rate, 8_537_000);
}

/// A meter that does not count padding and what is around a frame is set to what it counts, and others take twice that.
#[test]
fn a_meter_that_counts_frames_lets_twice_as_much_through() {
    let ports = [host(), switch()];
    let mut flow = flow(1_001, MILLISECOND, MILLISECOND, &[0, 1]);
    flow.jitter = 100 * MICROSECOND;
    flow.policing = Policing::Meter { rate_step: 1_000, burst_step: 8, counts: Counts::Frame };
    let share = 50 * MICROSECOND;
    let Enforcement::Meter(Meter { burst, rate, counts }) = flow.enforcement(&ports, share).unwrap() else {
        panic!()
    };
    // 8.344 Mb/s for 100 us of release and 50 - 8.536 us of variation at the host, the message of 1,043 bytes, and a millisecond for
    // the bucket to be filled up; whole milliseconds, because no more is filled in after a pause.
    assert_eq!((rate, burst, counts), (8_344_000, 3 * 8_344, Counts::Frame));
    assert_eq!(burst, ((1_043_u64 * 8 + 1_181).next_multiple_of(8) + 8_344).next_multiple_of(8_344));
    let arrival = |flow: &Flow| flow.contenders(&ports, &[share]).unwrap()[1].arrival;
    let Arrival::Bucket { burst: taken, rate: taken_rate } = arrival(&flow) else { panic!() };
    // And another one that was filled up just before.
    assert_eq!((taken, taken_rate), (2 * (burst + 8_344), 2 * rate));
    // A message that is padded passes with its padding.
    flow.largest_message = 1;
    flow.smallest_message = 1;
    (flow.jitter, flow.emission) = (0, 0);
    let alone = 672 * NANOSECOND;
    let Enforcement::Meter(Meter { burst, rate, .. }) = flow.enforcement(&ports, alone).unwrap() else {
        panic!()
    };
    assert_eq!((burst, rate), (480 + 480, 480_000));
}
