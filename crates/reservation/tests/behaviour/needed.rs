//! What pairs need, by hand.
use std::net::IpAddr;

use reservation::{Direction, End, Flow, Kind, Overhead, Pair, PairId, Plan, Share, Traffic, plan};
use wan::{Asn, Class};

pub(crate) const WEST: Asn = Asn(65_001);
pub(crate) const EAST: Asn = Asn(65_003);
pub(crate) const MILLISECOND: u64 = 1_000_000;
pub(crate) const OVERHEAD: Overhead = Overhead {
    around: 152,
    control: 108,
    heartbeat: 100 * MILLISECOND,
    repairs: 1,
    packet: 1_500,
    discovery: 0,
};

pub(crate) fn end(address: &str, port: u16) -> End {
    let address: IpAddr = address.parse().unwrap();
    let domain = match address {
        IpAddr::V4(four) if four.octets()[..2] == [10, 1] => Some(WEST),
        IpAddr::V4(four) if four.octets()[..2] == [10, 3] => Some(EAST),
        _ => None,
    };
    let share = Some(Share { time: MILLISECOND, is_announced: false });
    End { address, port, discovery_port: Some(7_410), domain, share }
}

pub(crate) fn pair(number: u8, from: &str, to: &str) -> Pair {
    Pair {
        id: PairId { writer: [number; 16], reader: [number + 100; 16] },
        topic: format!("topic {number}"),
        from: end(from, 7_411),
        to: end(to, 7_411),
        is_reliable: false,
        traffic: Ok(Traffic { size: 800, separation: 10 * MILLISECOND, burst: 1 }),
        class: Some(Class::Ef),
        latency: Some(25 * MILLISECOND),
    }
}

fn of(pairs: &[Pair]) -> Plan {
    plan(WEST, pairs, &OVERHEAD)
}

/// The only session, and its flows.
fn flows(plan: &Plan) -> &[Flow] {
    assert_eq!((plan.sessions.len(), &plan.reasons), (1, &Default::default()));
    &plan.sessions.values().next().unwrap().flows
}

fn reason(pairs: &[Pair]) -> String {
    let plan = of(pairs);
    assert!(plan.sessions.is_empty(), "{plan:?}");
    plan.reasons[&pairs[0].id].clone()
}

#[test]
fn a_pair_across_domains_needs_one_flow_with_what_both_hosts_leave_of_its_limit() {
    let one = pair(1, "10.1.0.2", "10.3.0.2");
    let plan = of(std::slice::from_ref(&one));
    // 20 + 8 + 152 + 800 bytes, a hundred times a second, and a part of 64 more; its burst and one more.
    let rate = 980 * 8 * 100;
    let expected = Flow {
        kind: Kind::Data,
        direction: Direction::Forward,
        port: 7_411,
        class: Class::Ef,
        rate: rate + rate / 64 + 1,
        bucket: 2 * 980,
        largest_packet: 980,
        limit: 23 * MILLISECOND,
    };
    assert_eq!(flows(&plan), [expected]);
    let budget = plan.sessions[&(one.from.address, one.to.address)].pairs[&one.id];
    assert_eq!((budget.flow, budget.latency, budget.network()), (0, 25 * MILLISECOND, 23 * MILLISECOND));
}

#[test]
fn what_goes_by_the_same_addresses_and_port_is_one_flow_in_the_most_urgent_class() {
    let one = pair(1, "10.1.0.2", "10.3.0.2");
    let mut other =
        Pair { class: Some(Class::Af4), latency: Some(15 * MILLISECOND), ..pair(2, "10.1.0.2", "10.3.0.2") };
    let mut third = pair(3, "10.1.0.2", "10.3.0.2");
    third.to.port = 7_413;
    third.class = Some(Class::Af1);
    let both = of(&[one.clone(), other.clone(), third.clone()]);
    let alone = flows(&of(std::slice::from_ref(&one)))[0];
    let all = flows(&both);
    assert_eq!(all.len(), 2, "a port of its own is a flow of its own, in the same session");
    assert_eq!((all[0].class, all[0].limit, all[0].bucket), (Class::Ef, 13 * MILLISECOND, 2 * alone.bucket));
    assert!(all[0].rate >= 2 * (alone.rate - 1));
    assert_eq!((all[1].class, all[1].port), (Class::Af1, 7_413));
    // What is not described would take what is reserved for others.
    other.traffic = Err("its rate is not known".into());
    (other.class, other.latency) = (None, None);
    let plan = of(&[one.clone(), other.clone()]);
    let why = &plan.reasons[&one.id];
    assert!(
        plan.sessions.is_empty() && why.contains("\"topic 2\" goes by the same addresses and port"),
        "{why}"
    );
    // A pair that asks for nothing is in the flow with what it sends.
    let silent = Pair { class: None, latency: None, ..pair(4, "10.1.0.2", "10.3.0.2") };
    let plan = of(&[one.clone(), silent.clone()]);
    let session = plan.sessions.values().next().unwrap();
    assert_eq!((session.flows[0].bucket, session.pairs.len()), (2 * alone.bucket, 1));
    assert!(plan.reasons[&silent.id].contains("asks for nothing"));
}

#[test]
fn acknowledgements_are_a_flow_unless_samples_go_the_same_way() {
    let one = Pair { is_reliable: true, ..pair(1, "10.1.0.2", "10.3.0.2") };
    let plan = of(std::slice::from_ref(&one));
    let [data, back] = *flows(&plan) else { panic!("{plan:?}") };
    assert_eq!((back.kind, back.direction, back.port), (Kind::AckNack, Direction::Reverse, 7_411));
    // As many as there are samples, and those to HEARTBEATs that come by themselves: 136 bytes each.
    let rate = 136 * 8 * (100 + 10);
    assert_eq!((back.rate, back.bucket, back.largest_packet), (rate + rate / 64 + 1, 4 * 136, 136));
    assert_eq!((back.class, back.limit), (Class::Ef, 23 * MILLISECOND));
    // Samples, a datagram for each that asks for an acknowledgement, HEARTBEATs, repairs; each counts as one of the largest.
    let rate = 980 * 8 * (100 + 100 + 10 + 1);
    assert_eq!((data.rate, data.bucket), (rate + rate / 64 + 1, 8 * 980));

    // The other domain reserves for both ways of the same addresses and port.
    let mut turned = Pair { is_reliable: true, ..pair(2, "10.3.0.2", "10.1.0.2") };
    let both = of(&[one.clone(), turned.clone()]);
    assert!(both.reasons[&turned.id].contains("AS 65003"), "{both:?}");
    let session = &both.sessions[&(one.from.address, one.to.address)];
    assert_eq!(session.flows.len(), 1, "{session:?}");
    assert!(
        session.flows[0].rate > data.rate,
        "acknowledgements of the samples of the other domain are counted"
    );
    // It does so only if those ask for anything, and are known.
    let silent = Pair { class: None, latency: None, ..turned.clone() };
    let why = of(&[one.clone(), silent]).reasons[&one.id].clone();
    assert!(why.contains("same addresses and port as samples of \"topic 2\", which get no session"), "{why}");
    let unknown = Pair { is_reliable: false, traffic: Err("its rate is not known".into()), ..turned.clone() };
    let why = of(&[one.clone(), unknown]).reasons[&one.id].clone();
    assert!(why.contains("\"topic 2\" goes by the same addresses and port"), "{why}");
    turned.traffic = Err("its rate is not known".into());
    let why = of(&[one.clone(), turned]).reasons[&one.id].clone();
    assert!(why.contains("\"topic 2\" is acknowledged by the same addresses and port"), "{why}");
}

#[test]
fn discovery_is_reserved_in_both_directions_where_it_is_wanted() {
    let one = pair(1, "10.1.0.2", "10.3.0.2");
    let plan = plan(WEST, &[one], &Overhead { discovery: 20_000, ..OVERHEAD });
    let of: Vec<_> =
        flows(&plan).iter().map(|flow| (flow.kind, flow.direction, flow.port, flow.class)).collect();
    assert_eq!(
        of,
        [
            (Kind::Data, Direction::Forward, 7_411, Class::Ef),
            (Kind::Discovery, Direction::Forward, 7_410, Class::Af4),
            (Kind::Discovery, Direction::Reverse, 7_410, Class::Af4),
        ]
    );
    assert_eq!(
        (flows(&plan)[1].rate, flows(&plan)[1].bucket, flows(&plan)[1].limit),
        (20_000, 3_000, 1_000 * MILLISECOND)
    );
}

#[test]
fn what_is_not_known_is_told_by_name_and_asked_for_nothing() {
    let good = pair(1, "10.1.0.2", "10.3.0.2");
    let with = |change: fn(&mut Pair)| {
        let mut pair = good.clone();
        change(&mut pair);
        reason(&[pair])
    };
    for (change, what) in [
        ((|pair| pair.class = None) as fn(&mut Pair), "its class is not known"),
        (|pair| pair.latency = None, "its limit is not known"),
        (|pair| (pair.class, pair.latency) = (None, None), "it asks for nothing"),
        (|pair| pair.traffic = Err("its size is not known".into()), "its size is not known"),
        (|pair| pair.from.share = None, "the writer's host 10.1.0.2"),
        (|pair| pair.to.share = None, "the reader's host 10.3.0.2"),
        (|pair| pair.latency = Some(2 * MILLISECOND), "nothing is left for the network"),
        (|pair| pair.to = end("192.0.2.7", 7_411), "192.0.2.7 is of no domain"),
        (
            |pair| pair.traffic = Ok(Traffic { size: 1_400, separation: 1, burst: 1 }),
            "needs a packet of 1580 bytes",
        ),
    ] {
        let said = with(change);
        assert!(said.contains(what), "{what}: {said}");
    }
    // Nine participants of one host.
    let many: Vec<Pair> = (0..9)
        .map(|number| {
            let mut pair = pair(number, "10.1.0.2", "10.3.0.2");
            pair.to.port = 7_411 + 2 * u16::from(number);
            pair
        })
        .collect();
    assert!(reason(&many).contains("9 flows"));
    // Of one domain alone, and of others alone, nothing is said.
    let plan = of(&[pair(1, "10.1.0.2", "10.1.0.3"), pair(2, "10.3.0.2", "10.3.0.3")]);
    assert_eq!(plan, Plan::default());
}
