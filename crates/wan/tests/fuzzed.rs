//! Mutated bytes neither panic nor take more from the heap than in proportion to them; what is read is written as the same bytes. A program of its
//! own, since its allocator counts.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test stops at once")]

use testkit::random::Random;
use wan::{
    ANY_LOSS, AggregateId, Asked, Asking, Asn, Available, Body, Class, DeviceFault, Direction, Establish,
    FlowKind, FlowRequest, Granted, HeldAggregate, HostedSession, Key, LegId, LinkId, MOST_BYTES, Message,
    MessageId, Notify, OpenLeg, OwnSession, Query, QueryResponse, Reason, Record, Refusal, Reserve, Response,
    SessionBody, SessionId, SessionRequest, TSpec, Text, TunnelId,
};

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

fn reasons() -> Vec<Reason> {
    let (missing, offer) = (5, 6);
    vec![
        Reason::Invalid,
        Reason::DestinationNotAgreed(Asn(3)),
        Reason::Quota { missing, offer },
        Reason::ServiceFull { missing, offer },
        Reason::ForeignSource { owner: Some(Asn(4)) },
        Reason::ForeignSource { owner: None },
        Reason::UnknownDestination("10.0.0.1".parse().unwrap()),
        Reason::UnknownDestination("2001:db8::1".parse().unwrap()),
        Reason::NoPath { offer: Some(7) },
        Reason::Rate { missing, offer },
        Reason::Burst { missing, offer },
        Reason::Delay { missing, offer },
        Reason::Loss { missing: 6, offer: 7 },
        Reason::TimeOver,
        Reason::NotAuthorized(Text::fitting("over the quota")),
        Reason::AaaUnavailable(Text::fitting("no answer")),
        Reason::Aborted,
        Reason::GrantOver,
        Reason::DirectNotAgreed,
        Reason::Moved(SessionId { origin: Asn(5), number: 6 }),
        Reason::Device(DeviceFault { device: Text::fitting("west-1"), what: Text::fitting("no such table") }),
    ]
}

/// A message of every kind.
fn messages() -> Vec<Message> {
    let aggregate = AggregateId { tunnel: TunnelId { origin: Asn(1), number: 9 }, class: Class::Ef };
    let id = MessageId { epoch: 2, number: 3 };
    let traffic =
        TSpec { rate: 1_000_000, bucket: 1_500, peak: 2_000_000, least_unit: 60, largest_packet: 1_500 };
    let path: Vec<Asn> = (1..=16).map(Asn).collect();
    let reserve = Reserve {
        aggregate,
        id,
        echo: 77,
        path: path.clone(),
        position: 2,
        link: Some(LinkId(8)),
        traffic: Some(traffic),
        limit: 9_000_000,
        most_loss: 900,
        delay: 1,
        jitter: 2,
        loss: 11,
        lifetime: 7_000_000_000,
        asking: Asking::Direct,
        label: Some(17),
    };
    let link = Some(LinkId(15));
    let granted =
        Granted { reserved: traffic, delay: 5, jitter: 6, loss: 12, price: Some(13), label: 16, link };
    let flow = FlowRequest {
        kind: FlowKind::AckNack,
        direction: Direction::Reverse,
        protocol: 17,
        source_port: 1,
        destination_port: 2,
        class: Class::Af4,
        desired: traffic,
        least_rate: 1,
        limit: 3,
        most_loss: 4,
        copies: 2,
        asking: Asking::Direct,
    };
    let callees = (0..64_u8).map(|host| std::net::IpAddr::from([10, 0, 0, host])).collect();
    let establish = Establish { caller: "2001:db8::2".parse().unwrap(), callees, flows: vec![flow; 8] };
    let query = Query {
        number: 4,
        aggregate,
        path: path.clone(),
        position: 1,
        link: None,
        available: 5,
        delay: 6,
        jitter: 7,
        loss: 8,
    };
    let available = Available { rate: 1, delay: 2, jitter: 3, loss: 4 };
    let session = SessionId { origin: Asn(1), number: 5 };
    let mut bodies = vec![
        Body::Reserve(reserve.clone()),
        Body::Reserve(Reserve { traffic: None, link: None, ..reserve }),
        Body::Response(Response { aggregate, id, echo: 4, verdict: Ok(granted) }),
        Body::Query(query),
        Body::QueryResponse(QueryResponse { number: 4, path, position: 0, verdict: Ok(available) }),
        Body::Session(session, SessionBody::Establish(establish)),
        Body::Session(session, SessionBody::Established(Ok(vec![1, 2, 3]))),
        Body::Session(session, SessionBody::Commit { echo: 3, rates: vec![1; 8] }),
        Body::Session(session, SessionBody::Committed { echo: 3 }),
        Body::Session(
            session,
            SessionBody::Stop(Refusal { asn: Asn(2), link: None, reason: Reason::Aborted }),
        ),
    ];
    for reason in reasons() {
        let refusal = Refusal { asn: Asn(9), link: Some(LinkId(1)), reason };
        bodies.push(Body::Notify(Notify { aggregate, id, refusal: refusal.clone() }));
        let rerouted = SessionBody::Rerouted { flow: 7, delay: u64::MAX, loss: 5, refusal: refusal.clone() };
        bodies.push(Body::Session(session, rerouted));
        bodies.push(Body::Session(session, SessionBody::Ended(refusal)));
    }
    bodies.into_iter().map(|body| Message { from: Asn(1), to: Asn(2), body }).collect()
}

/// A record of every kind, with lists as long as they may be.
fn records() -> Vec<(Key, Record)> {
    let aggregate = AggregateId { tunnel: TunnelId { origin: Asn(1), number: 9 }, class: Class::Af1 };
    let traffic =
        TSpec { rate: 1_000_000, bucket: 1_500, peak: 2_000_000, least_unit: 60, largest_packet: 1_500 };
    let path: Vec<Asn> = (1..=16).map(Asn).collect();
    let asked = Asked {
        id: MessageId { epoch: 2, number: 3 },
        path: path.clone(),
        position: 2,
        link_in: None,
        traffic,
        limit: 9_000_000,
        most_loss: 900,
        delay: 1,
        jitter: 2,
        loss: 11,
        lifetime: 7_000_000_000,
        asking: Asking::HopByHop,
    };
    let held = HeldAggregate {
        asked,
        link_out: Some(LinkId(4)),
        delay: 5,
        jitter: 6,
        loss: 13,
        label_in: 16,
        label_out: None,
    };
    let flow = FlowRequest {
        kind: FlowKind::Data,
        direction: Direction::Forward,
        protocol: 17,
        source_port: 1,
        destination_port: 2,
        class: Class::Af1,
        desired: traffic,
        least_rate: 1,
        limit: 3,
        most_loss: 4,
        copies: 1,
        asking: Asking::HopByHop,
    };
    let session = SessionId { origin: Asn(1), number: 5 };
    let leg = |number: u32| OpenLeg {
        leg: LegId { session, flow: (number % 8) as u8, peer: Asn(number / 8) },
        aggregate,
        path: path.clone(),
        flow,
        delay: 8,
        loss: 9,
        price: Some(10),
    };
    let callees: Vec<std::net::IpAddr> =
        (0..64_u8).map(|host| std::net::IpAddr::from([10, 0, 0, host])).collect();
    let caller = "2001:db8::2".parse().unwrap();
    let request = SessionRequest {
        user: 1,
        service: 2,
        caller,
        callees: callees.clone(),
        flows: vec![flow; 8],
        lasts: 4,
    };
    let own = OwnSession {
        request,
        rates: vec![7; 8],
        peers: (0..64).map(Asn).collect(),
        legs: (0..512).map(leg).collect(),
        ends: u64::MAX,
        grant: Some(u64::MAX),
        replaces: Some(session),
    };
    let hosted = HostedSession {
        caller,
        callees,
        flows: vec![flow; 8],
        rates: vec![7; 8],
        legs: vec![leg(0), leg(9)],
    };
    vec![
        (Key::Aggregate(aggregate), Record::Aggregate(held)),
        (Key::Own(session), Record::Own(own)),
        (Key::Hosted(session), Record::Hosted(hosted)),
    ]
}

fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..=random.below(3) {
        let len = bytes.len();
        let (at, other) = (random.below(len + 1), random.below(len + 1));
        let (low, high) = (at.min(other), at.max(other));
        match random.below(6) {
            0 | 1 if at < len => bytes[at] = random.bits() as u8,
            2 if at < len => bytes[at] ^= 1 << random.below(8),
            3 => drop(bytes.drain(low..high)),
            4 if len < 10_000 => {
                let piece = bytes[low..high].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => bytes.truncate(at),
        }
    }
}

/// The target: whether the bytes are a message.
fn any_bytes(bytes: &[u8]) -> bool {
    let (read, usage) = alloc_meter::measure(|| Message::decode(bytes));
    assert!(usage.peak <= 1_024 + 16 * bytes.len(), "{} bytes take {usage:?}", bytes.len());
    match &read {
        Ok(message) => assert_eq!(message.encode().as_deref(), Some(bytes), "{message:?}"),
        Err(error) => assert!(error.offset <= bytes.len() && !error.to_string().is_empty()),
    }
    read.is_ok()
}

#[test]
fn messages_are_read_as_they_were_written() {
    for message in messages() {
        let bytes = message.encode().unwrap();
        assert_eq!(Message::decode(&bytes), Ok(message.clone()));
        for end in 0..bytes.len() {
            assert!(Message::decode(&bytes[..end]).is_err(), "{end} bytes of {message:?}");
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(Message::decode(&longer).is_err());
    }
}

/// The same for records of a store, which may be damaged.
fn any_record(bytes: &[u8]) -> bool {
    let (read, usage) = alloc_meter::measure(|| Record::decode(bytes));
    assert!(usage.peak <= 1_024 + 16 * bytes.len(), "{} bytes take {usage:?}", bytes.len());
    match &read {
        // What an earlier version has written is written as this one does, and means the same.
        Ok((key, record)) if bytes[0] < 4 => {
            let again = record.encode(*key).unwrap();
            assert_eq!(Record::decode(&again).as_ref(), Ok(&(*key, record.clone())));
        }
        Ok((key, record)) => assert_eq!(record.encode(*key).as_deref(), Some(bytes), "{record:?}"),
        Err(error) => assert!(error.offset <= bytes.len() && !error.to_string().is_empty()),
    }
    read.is_ok()
}

#[test]
fn records_are_read_as_they_were_written() {
    let all = records();
    for (key, record) in &all {
        let bytes = record.encode(*key).unwrap();
        assert_eq!(Record::decode(&bytes), Ok((*key, record.clone())));
        for end in (0..bytes.len()).step_by(1 + bytes.len() / 200) {
            assert!(Record::decode(&bytes[..end]).is_err(), "{end} bytes of {record:?}");
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(Record::decode(&longer).is_err());
        for (other, _) in all.iter().filter(|(other, _)| other != key) {
            assert!(Record::decode(&record.encode(*other).unwrap()).is_err(), "{other:?} for {key:?}");
        }
    }
    let (key, Record::Own(mut own)) = all[1].clone() else { panic!("it is that of a session") };
    own.peers.push(Asn(99));
    assert_eq!(Record::Own(own).encode(key), None);
}

/// A limit of loss, a loss before a domain, that of a flow, and the limit of an aggregate, that no other bytes of a record look like.
const MARKS: [u32; 4] = [703_710, 703_711, 703_712, 703_713];
/// Bytes that say at the end of an aggregate what may be lost inside the domain.
const INSIDE: usize = 4;

/// What records mean, and bytes that earlier versions have written of them.
type Older = ((Record, [Vec<u8>; 2]), (Record, Vec<u8>));

/// A record without grant, losses, price and copies, and the bytes that the version before losses, and the one before grants, have written of it. And
/// one with losses, and the bytes of the version that did not say how domains are asked.
fn older(key: Key, record: Record) -> Older {
    let [limit, before, of_leg, of_aggregate] = MARKS;
    let flow = |flow: FlowRequest, most_loss| FlowRequest { most_loss, ..flow };
    let legs = |legs: Vec<OpenLeg>, most_loss, loss| {
        let with = |leg: OpenLeg| OpenLeg { flow: flow(leg.flow, most_loss), loss, price: None, ..leg };
        legs.into_iter().map(with).collect::<Vec<_>>()
    };
    let with = |record: Record, [most_loss, before, of_leg, of_aggregate]: [u32; 4]| match record {
        Record::Aggregate(held) => Record::Aggregate(HeldAggregate {
            asked: Asked { most_loss: of_aggregate, loss: before, ..held.asked },
            loss: 0,
            ..held
        }),
        Record::Own(own) => {
            let flows = own.request.flows.into_iter().map(|one| flow(one, most_loss)).collect();
            let request = SessionRequest { flows, ..own.request };
            Record::Own(OwnSession {
                request,
                legs: legs(own.legs, most_loss, of_leg),
                grant: None,
                replaces: None,
                ..own
            })
        }
        Record::Hosted(hosted) => {
            let flows = hosted.flows.into_iter().map(|one| flow(one, most_loss)).collect();
            Record::Hosted(HostedSession { flows, legs: legs(hosted.legs, most_loss, of_leg), ..hosted })
        }
    };
    let marked = with(record.clone(), [limit, before, of_leg, of_aggregate]);
    let mut bytes = marked.encode(key).unwrap();
    if matches!(record, Record::Aggregate(_)) {
        bytes.truncate(bytes.len() - INSIDE);
    }
    let (mut short, mut hardly, mut at) = (Vec::new(), Vec::new(), 0);
    while at < bytes.len() {
        let next = bytes[at..].first_chunk().map(|next| u32::from_be_bytes(*next));
        match MARKS.iter().position(|mark| Some(*mark) == next) {
            // After the limit of a flow there is that it has one copy, and how domains are asked.
            Some(0) => {
                hardly.extend(&bytes[at..at + 5]);
                at += 6;
            }
            // After its loss there is a price that is not told.
            Some(2) => {
                hardly.extend(&bytes[at..at + 5]);
                at += 5;
            }
            // After the loss before a domain there is who asks.
            Some(mark) => {
                hardly.extend(&bytes[at..at + 4]);
                at += if mark == 1 { 5 } else { 4 };
            }
            None => {
                short.push(bytes[at]);
                hardly.push(bytes[at]);
                at += 1;
            }
        }
    }
    (short[0], hardly[0]) = (2, 3);
    if matches!(record, Record::Own(_)) {
        assert_eq!((short.pop(), hardly.pop()), (Some(0), Some(0)), "it takes no place");
    }
    let mut shorter = short.clone();
    shorter[0] = 1;
    if matches!(record, Record::Own(_)) {
        assert_eq!(shorter.pop(), Some(0), "it has no grant");
    }
    ((with(record, [ANY_LOSS, 0, ANY_LOSS, ANY_LOSS]), [short, shorter]), (marked, hardly))
}

#[test]
fn records_of_earlier_versions_are_read() {
    for (key, record) in records() {
        let ((record, [short, shorter]), (marked, hardly)) = older(key, record);
        assert!(short.len() < hardly.len() && hardly.len() < record.encode(key).unwrap().len());
        assert_eq!(Record::decode(&hardly), Ok((key, marked)), "version {}", hardly[0]);
        for mut bytes in [short, shorter] {
            assert_eq!(Record::decode(&bytes), Ok((key, record.clone())), "version {}", bytes[0]);
            bytes[0] = 5;
            assert!(Record::decode(&bytes).unwrap_err().to_string().contains("another version"));
        }
    }
}

#[test]
fn mutated_records_do_no_harm() {
    let tier = tiers::current();
    let mut all: Vec<Vec<u8>> = records().iter().map(|(key, record)| record.encode(*key).unwrap()).collect();
    // The longest is 90 kB, of which most mutations hit the same list.
    let (key, Record::Own(mut own)) = records().swap_remove(1) else { panic!("it is that of a session") };
    own.legs.truncate(2);
    all[1] = Record::Own(own.clone()).encode(key).unwrap();
    let ((_, older_ones), (_, newer)) = older(key, Record::Own(own));
    all.extend(older_ones.into_iter().chain([newer]));
    let mut read = 0_u64;
    for case in 0..tier.number("fuzz.stateless_executions") / 6 {
        let mut random = Random::of_case(tier.first_seed() ^ 9, case);
        let mut bytes = random.pick(&all).unwrap().clone();
        mutate(&mut random, &mut bytes);
        let result = std::panic::catch_unwind(|| any_record(&bytes));
        read += u64::from(result.unwrap_or_else(|_| panic!("case {case} fails with {bytes:02x?}")));
    }
    assert!(read > 0, "some are records all the same");
}

#[test]
fn what_is_longer_than_a_message_may_be_is_neither_written_nor_read() {
    let mut message = messages().swap_remove(0);
    if let Body::Reserve(reserve) = &mut message.body {
        reserve.path.push(Asn(17));
    }
    assert_eq!(message.encode(), None);
    assert!(Message::decode(&[1; MOST_BYTES + 1]).is_err());
    assert!(Message::decode(&[2; 10]).is_err());
}

#[test]
fn mutated_messages_do_no_harm() {
    let tier = tiers::current();
    let all: Vec<Vec<u8>> = messages().iter().map(|message| message.encode().unwrap()).collect();
    let mut messages = 0_u64;
    for case in 0..tier.number("fuzz.stateless_executions") / 3 {
        let mut random = Random::of_case(tier.first_seed() ^ 8, case);
        let mut bytes = random.pick(&all).unwrap().clone();
        mutate(&mut random, &mut bytes);
        let result = std::panic::catch_unwind(|| any_bytes(&bytes));
        messages += u64::from(result.unwrap_or_else(|_| panic!("case {case} fails with {bytes:02x?}")));
    }
    assert!(messages > 0, "some are messages all the same");
}
