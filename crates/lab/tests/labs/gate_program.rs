//! The gate's program, frame by frame: it judges as the pure rule does, by when frames came, with VLAN tags and without.
use std::net::Ipv4Addr;
use std::process::Command;
use std::thread;
use std::time::Duration;

use gate::{Contract, Gate, Key, Kind, class};
use lab::probe::monotonic;
use lab::train::Heard;
use lab_turn::turn;
use testkit::patience::patiently;

use crate::gates::{SMALL, each_two};
use crate::pair::{AtGate, Mode, Pair, say_raw};

/// How far behind the clock a frame's own time may be for the program to believe it, in nanoseconds.
const BELIEVED: u64 = 1_000_000_000;

/// The flow of [`datagram`].
fn flow() -> Key {
    Key {
        source: Ipv4Addr::new(10, 9, 0, 1).into(),
        source_port: 6_000,
        destination: Ipv4Addr::new(10, 9, 0, 2).into(),
        destination_port: 5_000,
    }
}

/// A datagram of 64 bytes from 10.9.0.1:6000 to a port of 10.9.0.2 as a whole frame with these tags; sums are not looked at.
fn datagram_to(port: u16, tags: &[[u8; 4]]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend(tags.concat());
    frame.extend([8, 0, 0x45, 0, 0, 92, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2]);
    frame.extend([6_000, port, 72, 0].iter().flat_map(|number| number.to_be_bytes()));
    frame.resize(frame.len() + 64, 7);
    frame
}

fn datagram() -> Vec<u8> {
    datagram_to(5_000, &[])
}

/// The same frame with the time at which it came, in nanoseconds of the monotonic clock.
fn stamped(frame: &[u8], at: u64) -> Vec<u8> {
    let stamp = u32::try_from(at & u64::from(u32::MAX)).unwrap().to_ne_bytes();
    [frame, &stamp].concat()
}

/// Sends frames with times of their own to a program, until the machine has let them arrive while their times are believed. They are made of the
/// clock, and what has come of them is what `seen` finds, once that is all.
fn in_time<T>(
    limit: u32,
    contracts: &[(Key, Contract)],
    frames: impl Fn(u64) -> Vec<Vec<u8>> + Sync,
    seen: impl Fn(&mut AtGate) -> Option<T>,
) -> (u64, T) {
    patiently("a time in which the machine does not stand still", || {
        let pair = Pair::new();
        let mut gate = pair.gate(Mode::Stamped, limit, contracts);
        let now = monotonic();
        pair.inside(&pair.near(), || say_raw(&frames(now)));
        let found = patiently("all frames", || seen(&mut gate));
        // The first of them is half of that time old when it is made.
        (monotonic() - now < BELIEVED / 2).then_some((now, found))
    })
}

#[test]
fn what_an_emulated_link_hands_over_is_judged_by_when_it_came() {
    let Some(_turn) = turn() else { return };
    // The last one says nothing that can be true, and counts as having come when it is heard of.
    let times = |now: u64| {
        let began = now - 20_000_000;
        [began, began + 2_000_000, began + 3_000_000, began + 6_000_000, now - 3_000_000_000]
    };
    let frames = |now: u64| {
        let whole = times(now).map(|at| stamped(&datagram(), at));
        [vec![vec![1; 16]], whole.to_vec()].concat()
    };
    let seen = |gate: &mut AtGate| {
        let (mut heard, mut frame, mut passed) = (Heard::default(), Vec::new(), 0);
        while passed < 4 && gate.tap.next(&mut heard, Duration::from_secs(30)).unwrap().is_some() {
            while heard.next(&mut frame) {
                if frame.get(36..38) == Some(&5_000_u16.to_be_bytes()) {
                    // The stamp goes no further.
                    assert_eq!(frame[42..], datagram()[42..]);
                    passed += 1;
                }
            }
        }
        assert_eq!(passed, 4);
        let judged: Vec<_> = std::iter::from_fn(|| gate.program.judgement()).collect();
        Some((judged, gate.program.others(gate.index).broken))
    };
    let (now, (judged, broken)) = in_time(1_000, &[(flow(), each_two())], frames, seen);
    let verdicts: Vec<u32> = judged.iter().map(|entry| entry.verdict).collect();
    assert_eq!(verdicts, [0, 0, 2, 0, 0]);
    let came: Vec<u64> = judged.iter().map(|entry| entry.time).collect();
    assert_eq!(came[..4], times(now)[..4]);
    assert!(came[4] >= now);
    assert!(judged.iter().all(|entry| entry.octets == SMALL));
    assert_eq!(broken, 1);
}

/// 64 at once and one more for each hundredth of a second, by when they came.
#[test]
fn what_has_no_contract_passes_at_the_rate_of_its_ports_limit() {
    let Some(_turn) = turn() else { return };
    const EACH: u64 = 10_000_000;
    let frames = |now: u64| {
        let began = now - BELIEVED / 2;
        let at = |after: u64, count: usize| vec![stamped(&datagram(), began + after); count];
        // The first one takes no room: what counts is how many are before a frame.
        [at(0, 70), at(EACH, 2), at(4 * EACH, 5), at(5 * EACH - 1, 1), at(5 * EACH, 1)].concat()
    };
    let seen = |gate: &mut AtGate| {
        let others = gate.program.others(gate.index);
        (others.best_effort + others.limited == 79).then_some(others)
    };
    let (_, others) = in_time(100, &[], frames, seen);
    assert_eq!((others.best_effort, others.limited), (65 + 1 + 3 + 1, 5 + 1 + 2 + 1), "{others:?}");
}

#[test]
fn a_flow_in_a_vlan_has_its_contract_and_tags_of_none_are_dropped() {
    let Some(_turn) = turn() else { return };
    let pair = Pair::new();
    let any = Key { destination: Ipv4Addr::UNSPECIFIED.into(), destination_port: 5_002, ..flow() };
    let contract = Contract { octets: SMALL + 4, separation: 3_600_000_000_000, ..each_two() };
    let contracts = [flow(), any, Key::metatraffic(0).unwrap()].map(|key| (key, contract));
    let mut gate = pair.gate(Mode::Logged, 1_000, &contracts);
    let ten = [0x81, 0, 0xe0, 10];
    let of_none: [&[[u8; 4]]; 5] = [
        &[[0x81, 0, 0xe0, 0]],
        &[[0x81, 0, 0xef, 0xff]],
        &[[0x88, 0xa8, 0, 10]],
        &[ten, ten],
        &[ten, [0x88, 0xa8, 0, 1]],
    ];
    let mut frames: Vec<Vec<u8>> = of_none.iter().map(|tags| datagram_to(5_000, tags)).collect();
    // Only the contract of the flow itself counts for what has a tag.
    frames.extend([5_000, 5_000, 5_001, 5_002, 7_400].map(|port| datagram_to(port, &[ten])));
    pair.inside(&pair.near(), || say_raw(&frames));
    let (mut heard, mut frame, mut passed) = (Heard::default(), Vec::new(), Vec::new());
    while passed.len() < 4 && gate.tap.next(&mut heard, Duration::from_secs(30)).unwrap().is_some() {
        while heard.next(&mut frame) {
            // The kernel has taken the tag off what is heard.
            if frame.len() == datagram().len() && frame[..12] == datagram()[..12] {
                passed.push((u16::from_be_bytes([frame[36], frame[37]]), frame[15] >> 2));
            }
        }
    }
    assert_eq!(passed, [(5_000, contract.dscp), (5_001, 0), (5_002, 0), (7_400, 0)]);
    let judged: Vec<_> =
        std::iter::from_fn(|| gate.program.judgement()).map(|entry| (entry.verdict, entry.octets)).collect();
    assert_eq!(judged, [(0, SMALL + 4), (2, SMALL + 4)]);
    let others = gate.program.others(gate.index);
    assert_eq!((others.tagged, others.best_effort), (5, 3), "{others:?}");
}

/// Where a datagram goes, and whether it is of the contract that is looked at.
type Destination = (&'static str, bool);

/// Sends bursts and pauses of all kinds from 10.9.0.1:6000 to these destinations in turn, some frames larger than a whole message or bucket, and
/// compares every judgement with the rule. How often each verdict occurred, and the program.
fn replay(pair: &Pair, key: &Key, contract: Contract, destinations: &[Destination]) -> ([u64; 6], AtGate) {
    let mut at_gate = pair.gate(Mode::Logged, 1_000, &[(*key, contract)]);
    let sender = pair.inside(&pair.near(), || std::net::UdpSocket::bind("10.9.0.1:6000").unwrap());
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |end: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) % end
    };
    let (mut gate, mut sent, mut judged, mut seen) = (Gate::new(contract), 0_u64, 0_u64, [0_u64; 6]);
    let payload = [0; 1_472];
    let mut passed: Vec<(u64, u32)> = Vec::new();
    let mut destinations = destinations.iter().cycle();
    for _ in 0..40 {
        for _ in 0..50 {
            for _ in 0..=below(6) {
                let size = usize::try_from((below(700) + 800 * (below(40) / 39)).min(1_472)).unwrap();
                let (destination, is_judged) = destinations.next().unwrap();
                sender.send_to(&payload[..size], destination).unwrap();
                sent += u64::from(*is_judged);
            }
            // The pause of the sender, which the rule looks at; how long it really is the judgements say.
            thread::sleep(Duration::from_micros(below(900)));
        }
        patiently("a judgement of each frame", || {
            while let Some(entry) = at_gate.program.judgement() {
                assert_eq!(entry.number, judged, "the log has a hole");
                judged += 1;
                let verdict = gate.judge(entry.time, entry.octets);
                let rule = match verdict {
                    gate::Verdict::Pass { opens: true } => 0,
                    gate::Verdict::Pass { opens: false } => 1,
                    gate::Verdict::Drop(gate::machine::Cause::Early) => 2,
                    gate::Verdict::Drop(gate::machine::Cause::Rest) => 3,
                    gate::Verdict::Drop(gate::machine::Cause::Cut) => 4,
                    gate::Verdict::Excess => 5,
                };
                assert_eq!(entry.verdict, rule, "frame {judged}: {entry:?}");
                seen[usize::try_from(rule).unwrap()] += 1;
                if verdict.passes() {
                    passed.push((entry.time, entry.octets));
                }
            }
            (judged == sent).then_some(())
        });
    }
    for first in 0..passed.len() {
        let mut sum = 0;
        for (time, bytes) in &passed[first..] {
            sum += u64::from(*bytes);
            let most = contract.most_in(time - passed[first].0);
            assert!(sum <= most, "{sum} bytes from {first}, at most {most}");
        }
    }
    let (_, _, _, counters) = at_gate.program.list()[0];
    let frames = counters.frames - counters.messages;
    assert_eq!(
        [counters.messages, frames, counters.early, counters.rest, counters.cut, counters.excess],
        seen
    );
    (seen, at_gate)
}

#[test]
fn the_program_decides_as_the_rule_does() {
    let Some(_turn) = turn() else { return };
    let contract = Contract {
        kind: Kind::Messages,
        octets: 1_500,
        separation: 700_000,
        tolerance: 100_000,
        window: 200_000,
        dscp: 46,
    };
    let (seen, _) = replay(&Pair::new(), &flow(), contract, &[("10.9.0.2:5000", true)]);
    assert!(seen[..5].iter().all(|count| *count > 20) && seen[5] == 0, "every verdict occurs: {seen:?}");
}

/// One bucket for all ports of discovery of a domain, and for no other port.
#[test]
fn the_program_fills_buckets_as_the_rule_does() {
    let Some(_turn) = turn() else { return };
    let pair = Pair::new();
    let contract = Contract {
        kind: Kind::Bucket,
        octets: 1_400,
        separation: 3_000_000,
        tolerance: 0,
        window: 0,
        dscp: class::CONTROL,
    };
    let discovery = ["10.9.0.2:7400", "10.9.0.2:7410", "10.9.0.2:7648", "10.9.0.3:7400"];
    let others = ["10.9.0.2:7401", "10.9.0.2:7411", "10.9.0.2:7650", "10.9.0.2:7390"];
    let destinations: Vec<Destination> =
        discovery.into_iter().zip(others).flat_map(|(one, other)| [(one, true), (other, false)]).collect();
    // No host answers at the link, so that everything is sent without being asked for.
    let near = pair.near();
    let line = format!("-n {near} neigh add 10.9.0.3 lladdr 02:00:00:00:00:98 dev eth0");
    assert!(Command::new("ip").args(line.split(' ')).status().unwrap().success());
    let (seen, at_gate) = replay(&pair, &Key::metatraffic(0).unwrap(), contract, &destinations);
    let [marked, .., excess] = seen;
    assert!(marked > 20 && excess > 20 && seen[1..5] == [0; 4], "{seen:?}");
    // The excess is limited as, and counted among, what has no contract: half of all frames, and ports that are not discovery's.
    let others = at_gate.program.others(at_gate.index);
    let without = others.best_effort + others.limited;
    let judged = marked + excess;
    // The last frame of all may be of either kind, and arrive after the last one that is judged.
    assert!(
        others.limited > 0 && (excess + judged - 1..=excess + judged).contains(&without),
        "{others:?} of {judged}, {excess} of them excess"
    );
}
