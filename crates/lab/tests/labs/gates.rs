//! The gates of a lab hold a host that babbles, never touch one that keeps its contract, and a forged class gains nothing.
use std::net::Ipv4Addr;
use std::time::Duration;

use gate::contract::wire_octets;
use gate::protocol::{Answer, ContractState, PortState, Refusal, Request};
use gate::{Contract, Key, Kind, class};
use lab::Lab;
use lab_turn::turn;
use testkit::patience::patiently;

use crate::queues::sent;
use crate::three::{three, up};
use crate::traffic::{Counter, Flood, address, greet, send, socket};

/// Bytes of a datagram of 64 bytes on the wire.
pub(crate) const SMALL: u32 = 64 + 66;

fn ask(lab: &Lab, request: &Request) -> Answer {
    lab.gate("s1").unwrap().ask(request).unwrap()
}

fn listed(lab: &Lab) -> (Vec<PortState>, Vec<ContractState>) {
    match ask(lab, &Request::List) {
        Answer::List { ports, contracts } => (ports, contracts),
        other => panic!("{other:?}"),
    }
}

fn key(lab: &Lab, from: &str, source_port: u16, to: &str, destination_port: u16) -> Key {
    Key {
        source: lab.host_address(from).unwrap().into(),
        source_port,
        destination: lab.host_address(to).unwrap().into(),
        destination_port,
    }
}

/// One datagram of 64 bytes for each 2 ms.
pub(crate) fn each_two() -> Contract {
    Contract {
        kind: Kind::Messages,
        octets: SMALL,
        separation: 2_000_000,
        tolerance: 0,
        window: 0,
        dscp: class::of_level(2).unwrap(),
    }
}

#[test]
fn a_babbler_is_held_and_who_keeps_the_contract_is_not_touched() {
    let Some(_turn) = turn() else { return };
    let lab = up(&three("gated"));
    greet(&lab, "a", "c");
    greet(&lab, "b", "c");
    // The babbler has the larger part of the port: 10 datagrams of 1200 bytes each 10 ms of 20 Mb/s.
    let babble = Contract { octets: 10 * 1_266, separation: 10_000_000, window: 8_000_000, ..each_two() };
    for (port, key, contract) in [
        // What queues add before the gate must be in the contract: here the host's own, where nothing else is sent.
        (1, key(&lab, "a", 6_000, "c", 5_000), Contract { tolerance: 1_000_000, ..each_two() }),
        (2, key(&lab, "b", 6_001, "c", 5_001), babble),
    ] {
        assert_eq!(ask(&lab, &Request::Set { port, key, contract }), Answer::Set { port, key, contract });
    }
    let (good, bad) = (Counter::on(socket(&lab, "c", 5_000, 0)), Counter::on(socket(&lab, "c", 5_001, 0)));
    let flood = Flood::start(socket(&lab, "b", 6_001, 0), address(&lab, "c", 5_001), 80_000_000);
    // The sleep is at least as long as asked for, and counts from the return of the call before it.
    send(&socket(&lab, "a", 6_000, 0), address(&lab, "c", 5_000), 64, 500, Duration::from_micros(2_100));
    let flooded = flood.stop();
    assert_eq!(good.numbers().len(), 500, "datagrams of who keeps the contract");
    bad.numbers();
    let (_, contracts) = listed(&lab);
    let [good, bad] = [&contracts[0], &contracts[1]].map(|state| state.counters);
    assert_eq!((good.messages, good.frames, good.dropped()), (500, 500, 0));
    assert!(bad.dropped() > 0 && bad.frames + bad.dropped() <= flooded, "{bad:?} of {flooded}");
    // No more messages than separations have begun while it babbled, and no message is more than the contract.
    assert!(bad.octets <= bad.messages * u64::from(babble.octets), "{bad:?}");
    let classes = sent(&lab, 3);
    assert_eq!(classes[3].2, 0, "no assured frame was dropped: {classes:?}");
}

#[test]
fn a_forged_class_gains_nothing() {
    let Some(_turn) = turn() else { return };
    let lab = up(&three("gated"));
    greet(&lab, "a", "c");
    let highest = class::of_level(2).unwrap();
    let key = key(&lab, "a", 6_000, "c", 5_000);
    ask(&lab, &Request::Set { port: 1, key, contract: each_two() });
    let in_highest = |socket: &std::net::UdpSocket, port: u16| {
        let before = sent(&lab, 3)[3].1;
        let counter = Counter::on(self::socket(&lab, "c", port, 0));
        send(socket, address(&lab, "c", port), 64, 50, Duration::from_millis(3));
        let came = counter.numbers().len();
        (came, sent(&lab, 3)[3].1 - before)
    };
    // Marked by the sender, but not its flow: another port, a raised class, control.
    for (from, to, dscp) in [(6_001, 5_000, highest), (6_000, 5_001, highest), (0, 5_000, class::CONTROL)] {
        let forged = socket(&lab, "a", from, dscp);
        assert_eq!(in_highest(&forged, to), (50, 0), "from {from} to {to} as {dscp}");
    }
    // Its flow, not marked: the gate does that.
    let flow = socket(&lab, "a", 6_000, 0);
    let (came, marked) = in_highest(&flow, 5_000);
    assert_eq!(came as u64, marked);
    assert!(marked > 0);
    // The same flow at another port of the switch is another flow: its address does not help another host.
    let before = listed(&lab).1[0].counters;
    let spoofed = socket(&lab, "b", 6_000, highest);
    assert_eq!(in_highest(&spoofed, 5_000).1, 0);
    assert_eq!(listed(&lab).1[0].counters, before);
    drop(flow);
    // Any source port and any address, if that is what the contract says.
    let wide =
        Key { source_port: 0, destination: Ipv4Addr::UNSPECIFIED.into(), destination_port: 5_005, ..key };
    let contract = Contract { octets: 1_000, ..each_two() };
    ask(&lab, &Request::Set { port: 1, key: wide, contract });
    let (came, marked) = in_highest(&socket(&lab, "a", 0, 0), 5_005);
    assert_eq!((came, marked), (50, 50));
    // Without its contract it is best effort.
    let removed = ask(&lab, &Request::Remove { port: 1, key: wide });
    assert!(matches!(removed, Answer::Removed { counters: Some(counters), .. } if counters.frames == 50));
    assert_eq!(in_highest(&socket(&lab, "a", 0, 0), 5_005), (50, 0));
}

#[test]
fn what_was_not_admitted_is_limited_at_its_port() {
    let Some(_turn) = turn() else { return };
    let lab = up(&three("gated"));
    greet(&lab, "a", "b");
    assert!(listed(&lab).0.iter().all(|port| port.limit == gate::protocol::USUAL_LIMIT));
    assert_eq!(ask(&lab, &Request::Limit { port: 1, frames: 100 }), Answer::Limit { port: 1, frames: 100 });
    let before = listed(&lab).0[0].others;
    let counter = Counter::on(socket(&lab, "b", 5_000, 0));
    // Far more than the limit and what may come at once. How many pass in which time exactly is tested beside the program.
    send(&socket(&lab, "a", 0, 0), address(&lab, "b", 5_000), 64, 2_000, Duration::ZERO);
    let [passed, limited] = patiently("the count of all frames", || {
        let after = listed(&lab).0[0].others;
        let [passed, limited] = [after.best_effort - before.best_effort, after.limited - before.limited];
        (passed + limited >= 2_000).then_some([passed, limited])
    });
    let came = counter.numbers().len() as u64;
    assert!(
        (50..=passed).contains(&came) && limited > 1_000,
        "{came} came, {passed} passed, {limited} did not"
    );
    // A host may ask for another one's address meanwhile.
    assert!(passed + limited < 2_010, "{passed} passed, {limited} did not");
    assert!(matches!(
        ask(&lab, &Request::Limit { port: 9, frames: 100 }),
        Answer::Refused { reason: Refusal::Port, .. }
    ));
}

/// All UDP between two hosts may have a contract: then fragments are counted by it and marked as the rest, and what exceeds it arrives unmarked.
#[test]
fn fragments_between_two_hosts_have_the_contract_of_all_their_udp() {
    let Some(_turn) = turn() else { return };
    let lab = up(&three("gated"));
    greet(&lab, "a", "c");
    let single = key(&lab, "a", 6_000, "c", 5_000);
    let all = Key::between(single.source, single.destination);
    let dscp = class::of_level(2).unwrap();
    // Ten datagrams of 4,000 bytes: two full frames and a last one each.
    let datagram = 2 * 1_538 + wire_octets(14 + 20 + 4_008 - 2 * 1_480);
    let (separation, octets) = (3_600_000_000_000, 10 * datagram);
    let contract = Contract { kind: Kind::Bucket, octets, separation, tolerance: 0, window: 0, dscp };
    assert_eq!(
        ask(&lab, &Request::Set { port: 1, key: all, contract }),
        Answer::Set { port: 1, key: all, contract }
    );
    // A flow with a contract of its own does not count, nor do its fragments of datagrams count to that.
    let contract = Contract { octets: 20_000, ..each_two() };
    ask(&lab, &Request::Set { port: 1, key: single, contract });
    let marked = || sent(&lab, 3)[3].1;
    let (before, others) = (marked(), listed(&lab).0[0].others);
    let counter = Counter::on(socket(&lab, "c", 5_000, 0));
    let from = socket(&lab, "a", 6_000, 0);
    send(&from, address(&lab, "c", 5_000), 4_000, 10, Duration::from_millis(3));
    assert_eq!((counter.numbers().len(), marked() - before), (10, 30), "all fragments, first and later ones");
    let of = |wanted: Key| listed(&lab).1.into_iter().find(|state| state.key == wanted).unwrap().counters;
    assert_eq!((of(all).frames, of(all).excess, of(single).frames), (30, 0, 0));
    assert_eq!(of(all).octets, u64::from(10 * datagram), "the bucket holds exactly them");
    // The bucket is empty: what comes now arrives, and is not marked.
    let counter = Counter::on(socket(&lab, "c", 5_000, 0));
    send(&from, address(&lab, "c", 5_000), 4_000, 10, Duration::from_millis(3));
    assert_eq!((counter.numbers().len(), marked() - before), (10, 30));
    assert_eq!((of(all).frames, of(all).excess), (30, 30));
    assert_eq!(listed(&lab).0[0].others.fragments - others.fragments, 30);
    // From elsewhere, or to elsewhere, it is no part of it.
    for (host, to) in [("b", "c"), ("a", "b")] {
        greet(&lab, host, to);
        send(&socket(&lab, host, 6_001, 0), address(&lab, to, 5_000), 4_000, 3, Duration::from_millis(3));
    }
    assert_eq!((of(all).frames + of(all).excess, marked() - before), (60, 30));
}

/// Also those of a flow that was admitted, whose contract is about whole datagrams.
#[test]
fn fragments_of_datagrams_arrive_as_best_effort() {
    let Some(_turn) = turn() else { return };
    let lab = up(&three("gated"));
    greet(&lab, "a", "c");
    let highest = class::of_level(2).unwrap();
    let key = key(&lab, "a", 6_000, "c", 5_000);
    let contract = Contract { octets: 20_000, ..each_two() };
    assert_eq!(ask(&lab, &Request::Set { port: 1, key, contract }), Answer::Set { port: 1, key, contract });
    let (before, assured) = (listed(&lab).0[0].others, sent(&lab, 3)[3].1);
    let counter = Counter::on(socket(&lab, "c", 5_000, 0));
    // Three frames each, marked by the sender, not more at once than may come at once.
    send(&socket(&lab, "a", 6_000, highest), address(&lab, "c", 5_000), 4_000, 10, Duration::from_millis(3));
    assert_eq!(counter.numbers().len(), 10);
    let (ports, contracts) = listed(&lab);
    assert_eq!(ports[0].others.fragments - before.fragments, 30);
    assert!(ports[0].others.best_effort - before.best_effort >= 30);
    assert_eq!((contracts[0].counters.frames, contracts[0].counters.dropped()), (0, 0));
    assert_eq!(sent(&lab, 3)[3].1, assured, "none is in the class of the flow");
}

#[test]
fn what_the_first_switch_marks_is_served_by_the_next_one() {
    let Some(_turn) = turn() else { return };
    let text = three("gated").replace("\"s1:3\"]", "\"s2:3\"]")
        + "[[switch]]\nname = \"s2\"\nmodel = \"plain\"\n[[link]]\nends = [\"s1:8\", \"s2:8\"]\n";
    let lab = up(&text);
    greet(&lab, "a", "c");
    let key = key(&lab, "a", 6_000, "c", 5_000);
    let contract = Contract { octets: 10_000, dscp: class::of_level(1).unwrap(), ..each_two() };
    assert_eq!(ask(&lab, &Request::Set { port: 1, key, contract }), Answer::Set { port: 1, key, contract });
    // Only where hosts come in; what comes from the first switch was judged there.
    assert_eq!(listed(&lab).0.iter().map(|port| port.port).collect::<Vec<_>>(), [1, 2]);
    assert!(lab.gate("s2").unwrap_err().to_string().contains("has no gates"));
    let served = || {
        let classes = lab.classes("s2", 3).unwrap();
        let at = classes.find("class htb 1:3 ").unwrap();
        let frames = classes[at..].split_whitespace().skip_while(|word| *word != "bytes").nth(1);
        frames.unwrap().parse::<u64>().unwrap()
    };
    let before = served();
    let counter = Counter::on(socket(&lab, "c", 5_000, 0));
    send(&socket(&lab, "a", 6_000, 0), address(&lab, "c", 5_000), 64, 50, Duration::from_millis(3));
    send(&socket(&lab, "a", 6_001, 46), address(&lab, "c", 5_000), 64, 50, Duration::from_millis(3));
    assert_eq!(counter.numbers().len(), 50);
    assert_eq!(served() - before, 50, "those with the contract, and not those with a mark");
}

#[test]
fn a_switch_between_switches_needs_no_agent() {
    let Some(_turn) = turn() else { return };
    let text = three("gated").replace("\"s1:3\"]", "\"s3:3\"]")
        + "[[switch]]\nname = \"s2\"\nmodel = \"gated\"\n[[link]]\nends = [\"s1:8\", \"s2:7\"]\n"
        + "[[switch]]\nname = \"s3\"\nmodel = \"gated\"\n[[link]]\nends = [\"s2:8\", \"s3:8\"]\n";
    let lab = up(&text);
    greet(&lab, "a", "c");
    assert!(lab.gate("s2").unwrap_err().to_string().contains("has no gates"));
    assert!(
        matches!(lab.gate("s3").unwrap().ask(&Request::List), Ok(Answer::List { ports, .. }) if ports.len() == 1)
    );
}
