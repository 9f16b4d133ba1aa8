//! One peer against bytes that the test writes: how connections come about, what is refused, and what limits hold.

use crate::independent::{Avp, Message as Bytes};
use diameter::command::DisconnectCause;
use diameter::header::ApplicationId;
use diameter::incoming::{Incoming, Introduction};
use diameter::local::Local;
use diameter::peer::{Config, DownReason, Event, Peer, SendError, Side, Unanswered};
use diameter::value::Identity;

const SECOND: u64 = 1_000_000_000;

fn local(host: &str) -> Local {
    Local {
        host: Identity::new(host).unwrap(),
        realm: Identity::new("x").unwrap(),
        addresses: vec!["192.0.2.1".parse().unwrap()],
        product_name: "Punctual".into(),
        origin_state_id: 0,
        auth_applications: vec![ApplicationId::NASREQ],
        acct_applications: vec![ApplicationId::ACCOUNTING],
    }
}

/// The peer `m.x`, which talks to `host`.
fn peer(host: &str) -> Peer {
    let mut config = Config::new(local("m.x"), Identity::new(host).unwrap(), true);
    config.most_pending = 3;
    // Longer than it takes to suspect a peer, and shorter than to leave it.
    config.request_timeout = 70 * SECOND;
    config.most_requested = 2;
    config.most_unsent = 4000;
    Peer::new(config, 0, 1)
}

fn events(peer: &mut Peer) -> Vec<Event> {
    std::iter::from_fn(|| peer.poll_event()).collect()
}

fn text(code: u32, text: &str) -> Avp {
    Avp::new(code, text.as_bytes().to_vec())
}

fn number(code: u32, number: u32) -> Avp {
    Avp::new(code, number.to_be_bytes().to_vec())
}

fn message(flags: u8, command: u32, numbers: (u32, u32), avps: Vec<Avp>) -> Vec<u8> {
    Bytes { flags, command, application: 0, hop_by_hop: numbers.0, end_to_end: numbers.1, avps }.write()
}

fn capabilities(host: &str, application: u32) -> Vec<Avp> {
    vec![
        text(264, host),
        text(296, "x"),
        Avp::new(257, vec![0, 1, 192, 0, 2, 9]),
        number(266, 0),
        text(269, "test"),
        number(258, application),
    ]
}

fn answer(command: u32, numbers: (u32, u32), code: u32, mut more: Vec<Avp>) -> Vec<u8> {
    more.retain(|avp| avp.code != 268);
    more.push(number(268, code));
    message(0, command, numbers, more)
}

fn names() -> Vec<Avp> {
    vec![text(264, "z.x"), text(296, "x")]
}

fn introduction(host: &str, application: u32) -> Introduction {
    let request = message(0x80, 257, (5, 6), capabilities(host, application));
    Incoming::new(1000).received(&local("m.x"), &request).unwrap().unwrap()
}

/// What is to be sent, as messages.
fn sent(peer: &mut Peer, side: Side) -> Vec<Bytes> {
    let mut bytes = peer.unsent(side).to_vec();
    peer.sent(side, bytes.len());
    let mut messages = Vec::new();
    while !bytes.is_empty() {
        let len = u32::from_be_bytes([0, bytes[1], bytes[2], bytes[3]]) as usize;
        messages.push(Bytes::read(&bytes.drain(..len).collect::<Vec<_>>()));
    }
    messages
}

/// Connected from here to `z.x`.
fn open() -> Peer {
    let mut peer = peer("z.x");
    peer.start(0);
    assert_eq!(events(&mut peer), [Event::Connect]);
    assert!(peer.connected(1));
    let request = sent(&mut peer, Side::Initiated).remove(0);
    assert_eq!((request.command, request.flags), (257, 0x80));
    let numbers = (request.hop_by_hop, request.end_to_end);
    peer.received(2, Side::Initiated, &answer(257, numbers, 2001, capabilities("Z.x", 1)));
    let happened = events(&mut peer);
    assert!(
        matches!(&happened[..], [Event::Open { side: Side::Initiated, .. }, Event::Available]),
        "{happened:?}"
    );
    peer
}

fn question(end_to_end: u32) -> Vec<u8> {
    message(0xc0, 271, (0, end_to_end), vec![text(263, "s")])
}

#[test]
fn the_greater_name_keeps_the_connection_that_it_accepted() {
    // `m.x` is greater than `b.x`, and less than `z.x`.
    for (host, wins) in [("b.x", true), ("z.x", false)] {
        for accepted_first in [false, true] {
            let mut peer = peer(host);
            peer.start(0);
            events(&mut peer);
            if accepted_first {
                peer.accept(1, introduction(host, 1)).unwrap();
                assert_eq!(events(&mut peer), [], "the own connection is waited for");
                assert!(peer.connected(2));
            } else {
                assert!(peer.connected(1));
                peer.accept(2, introduction(host, 1)).unwrap();
            }
            if wins {
                let happened = events(&mut peer);
                assert!(matches!(happened[0], Event::Close { side: Side::Initiated, .. }), "{happened:?}");
                assert!(matches!(happened[1], Event::Open { side: Side::Accepted, .. }), "{happened:?}");
                assert_eq!(sent(&mut peer, Side::Accepted)[0].find(268).unwrap().u32(), 2001);
            } else {
                assert_eq!(events(&mut peer), [], "the other one answers");
                assert!(peer.unsent(Side::Accepted).is_empty());
                let request = sent(&mut peer, Side::Initiated).remove(0);
                let numbers = (request.hop_by_hop, request.end_to_end);
                peer.received(3, Side::Initiated, &answer(257, numbers, 2001, capabilities(host, 1)));
                let happened = events(&mut peer);
                assert!(matches!(happened[0], Event::Close { side: Side::Accepted, .. }), "{happened:?}");
                assert!(matches!(happened[1], Event::Open { side: Side::Initiated, .. }), "{happened:?}");
            }
            assert_eq!(peer.accept(4, introduction(host, 1)), Err(Vec::new()), "one connection is enough");
        }
    }
}

#[test]
fn what_fails_during_an_election_leaves_the_other_connection() {
    let mut one = peer("z.x");
    one.start(0);
    one.accept(1, introduction("z.x", 1)).unwrap();
    one.connect_failed(2);
    assert!(one.is_open());
    let mut one = peer("z.x");
    one.start(0);
    assert!(one.connected(1));
    one.accept(2, introduction("z.x", 1)).unwrap();
    one.closed(3, Side::Initiated);
    assert!(one.is_open());
    let mut one = peer("z.x");
    one.start(0);
    assert!(one.connected(1));
    one.accept(2, introduction("z.x", 1)).unwrap();
    one.closed(3, Side::Accepted);
    assert!(!one.is_open());
    one.on_timer(20 * SECOND);
    assert!(events(&mut one).contains(&Event::Down(DownReason::Timeout)));
}

#[test]
fn strangers_and_those_without_common_application_are_refused() {
    for (host, application, code) in [("other.x", 1, 3010), ("z.x", 77, 5010)] {
        let mut peer = peer("z.x");
        let refusal = Bytes::read(&peer.accept(0, introduction(host, application)).unwrap_err());
        assert_eq!(refusal.find(268).unwrap().u32(), code);
        assert_eq!(refusal.flags, if code == 3010 { 0x20 } else { 0 });
        assert!(!peer.is_open() && events(&mut peer).is_empty());
    }
    for (host, application, code) in [("other.x", 1, 2001), ("z.x", 77, 2001), ("z.x", 1, 5012)] {
        let mut peer = peer("z.x");
        peer.start(0);
        assert!(peer.connected(0));
        let request = sent(&mut peer, Side::Initiated).remove(0);
        let numbers = (request.hop_by_hop, request.end_to_end);
        peer.received(1, Side::Initiated, &answer(257, numbers, code, capabilities(host, application)));
        let happened = events(&mut peer);
        assert!(
            matches!(happened[1], Event::Close { .. }) && matches!(happened[2], Event::Down(_)),
            "{happened:?}"
        );
    }
}

#[test]
fn requests_find_their_answers_and_others_are_dropped() {
    let mut peer = open();
    peer.send_request(3, 70, &question(700)).unwrap();
    peer.send_request(3, 71, &question(701)).unwrap();
    let asked = sent(&mut peer, Side::Initiated);
    assert_ne!(asked[0].hop_by_hop, asked[1].hop_by_hop);
    let right = (asked[0].hop_by_hop, 700);
    for wrong in [
        answer(271, (asked[0].hop_by_hop, 701), 2001, names()),
        answer(265, right, 2001, names()),
        answer(271, (asked[1].hop_by_hop + 9, 700), 2001, names()),
    ] {
        peer.received(4, Side::Initiated, &wrong);
        assert_eq!((events(&mut peer), peer.pending()), (vec![], 2));
    }
    assert_eq!(peer.unmatched(), 3);
    let reply = answer(271, right, 2001, names());
    peer.received(5, Side::Initiated, &reply);
    assert_eq!(events(&mut peer), [Event::Answer { token: 70, message: reply.clone() }]);
    peer.received(6, Side::Initiated, &reply);
    assert_eq!(events(&mut peer), [], "once");
    // The other one is out of time, and goes back with the T flag.
    peer.on_timer(3 + 70 * SECOND);
    let [Event::Unanswered { token: 71, message, reason: Unanswered::Timeout }] = &events(&mut peer)[..]
    else {
        panic!("the request comes back");
    };
    let back = Bytes::read(message);
    assert_eq!((back.flags, back.end_to_end), (0xd0, 701));
}

#[test]
fn requests_of_the_peer_are_answered_once_and_only_while_the_connection_is_there() {
    let mut peer = open();
    let ask = |hop_by_hop| message(0xc0, 271, (hop_by_hop, 9), vec![text(263, "s")]);
    for hop_by_hop in [1, 1, 2, 3] {
        peer.received(3, Side::Initiated, &ask(hop_by_hop));
    }
    let happened = events(&mut peer);
    let [Event::Request { ticket: first, .. }, Event::Request { ticket: second, .. }] = happened[..] else {
        panic!("{happened:?}");
    };
    let busy = sent(&mut peer, Side::Initiated);
    assert_eq!((busy.len(), busy[0].hop_by_hop, busy[0].find(268).unwrap().u32()), (1, 3, 3004));
    let reply = answer(271, (99, 9), 2001, names());
    assert!(matches!(peer.send_answer(4, first, &ask(1)), Err(SendError::Unfit(_))));
    peer.send_answer(4, first, &reply).unwrap();
    assert_eq!(peer.send_answer(4, first, &reply), Err(SendError::Gone));
    assert_eq!(sent(&mut peer, Side::Initiated)[0].hop_by_hop, 1);
    peer.closed(5, Side::Initiated);
    assert_eq!(peer.send_answer(6, second, &reply), Err(SendError::Gone));
    peer.accept(7, introduction("z.x", 1)).unwrap();
    events(&mut peer);
    peer.received(8, Side::Accepted, &ask(2));
    assert_eq!(peer.send_answer(9, second, &reply), Err(SendError::Gone), "the number of another connection");
    let [Event::Request { ticket, .. }] = events(&mut peer)[..] else { panic!("the request") };
    peer.send_answer(9, ticket, &reply).unwrap();
}

#[test]
fn what_waits_has_limits() {
    let mut peer = open();
    for token in 0..3 {
        peer.send_request(3, token, &question(token as u32)).unwrap();
    }
    assert_eq!(peer.send_request(3, 3, &question(3)), Err(SendError::Busy));
    // The peer asks and does not read: it is left.
    let watchdog = message(0x80, 280, (1, 1), names());
    for _ in 0..200 {
        peer.received(4, Side::Initiated, &watchdog);
    }
    let happened = events(&mut peer);
    assert!(happened.contains(&Event::Down(DownReason::NotReading)), "{happened:?}");
    let back =
        happened.iter().filter(|event| matches!(event, Event::Unanswered { reason: Unanswered::Down, .. }));
    assert_eq!(back.count(), 3);
    assert_eq!(peer.send_request(5, 4, &question(4)), Err(SendError::Unavailable));
}

#[test]
fn a_silent_peer_is_suspected_then_left_and_has_to_prove_itself() {
    let mut peer = open();
    let mut now = 2;
    let mut happened = Vec::new();
    peer.send_request(now, 1, &question(1)).unwrap();
    while !happened.contains(&Event::Down(DownReason::Silent)) {
        now = peer.due();
        peer.on_timer(now);
        if happened.contains(&Event::Suspended) {
            assert_eq!(peer.send_request(now, 2, &question(2)), Err(SendError::Unavailable));
        }
        happened.extend(events(&mut peer));
    }
    assert!(now < 2 + 100 * SECOND);
    let back = happened
        .iter()
        .filter(|event| matches!(event, Event::Unanswered { reason: Unanswered::Suspect, .. }));
    assert_eq!(back.count(), 1, "as soon as it is suspected");
    peer.accept(now, introduction("z.x", 1)).unwrap();
    assert!(peer.is_open() && !peer.is_available());
    for proofs in 0..3 {
        assert!(!peer.is_available(), "after {proofs} answers");
        let asked = loop {
            if let Some(asked) =
                sent(&mut peer, Side::Accepted).into_iter().find(|one| one.command == 280 && one.is_request())
            {
                break asked;
            }
            now = peer.due();
            peer.on_timer(now);
        };
        peer.received(now, Side::Accepted, &answer(280, (asked.hop_by_hop, asked.end_to_end), 2001, names()));
    }
    assert!(peer.is_available());
}

#[test]
fn the_only_way_is_taken_as_soon_as_it_is_there_again() {
    for is_only_way in [false, true] {
        let mut config = Config::new(local("m.x"), Identity::new("z.x").unwrap(), true);
        config.is_only_way = is_only_way;
        let mut peer = Peer::new(config, 0, 1);
        for round in 0..2 {
            peer.accept(round, introduction("z.x", 1)).unwrap();
            let is_first = round == 0;
            assert_eq!(peer.is_available(), is_first || is_only_way);
            assert_eq!(peer.send_request(round, 1, &question(1)).is_ok(), is_first || is_only_way);
            assert_eq!(events(&mut peer).contains(&Event::Available), is_first || is_only_way);
            peer.closed(round, Side::Accepted);
            let back = events(&mut peer).iter().any(|event| matches!(event, Event::Unanswered { .. }));
            assert_eq!(back, is_first || is_only_way, "what has no answer comes back");
        }
    }
}

#[test]
fn good_byes_of_both_sides() {
    let mut peer = open();
    peer.send_request(3, 1, &question(1)).unwrap();
    sent(&mut peer, Side::Initiated);
    peer.stop(4, DisconnectCause::Rebooting);
    let asked = sent(&mut peer, Side::Initiated).remove(0);
    assert_eq!((asked.command, asked.find(273).unwrap().u32()), (282, 0));
    peer.received(5, Side::Initiated, &answer(282, (asked.hop_by_hop, asked.end_to_end), 2001, names()));
    let happened = events(&mut peer);
    assert_eq!(happened[0], Event::Down(DownReason::Stopped));
    assert!(matches!(happened[1], Event::Unanswered { .. }) && matches!(happened[2], Event::Close { .. }));
    for _ in 0..5 {
        peer.on_timer(peer.due());
    }
    assert_eq!(events(&mut peer), [], "it is not opened again by itself");

    let mut peer = open();
    let mut avps = names();
    avps.push(number(273, 2));
    peer.received(3, Side::Initiated, &message(0x80, 282, (8, 9), avps));
    assert_eq!(sent(&mut peer, Side::Initiated)[0].find(268).unwrap().u32(), 2001);
    let gone = Event::Down(DownReason::PeerLeft(DisconnectCause::DoNotWantToTalkToYou));
    assert_eq!(events(&mut peer), [gone]);
    peer.closed(4, Side::Initiated);
    for _ in 0..5 {
        peer.on_timer(peer.due());
    }
    assert_eq!(events(&mut peer), []);
    peer.start(1000 * SECOND);
    assert_eq!(events(&mut peer), [Event::Connect]);
}

#[test]
fn bytes_in_pieces_of_any_size_are_the_same() {
    let mut stream = message(0x80, 280, (1, 1), names());
    stream.extend(message(0xc0, 271, (2, 2), vec![text(263, "s")]));
    stream.extend(message(0xa0, 271, (3, 3), vec![text(263, "s")]));
    stream.extend(message(0x80, 280, (4, 4), vec![text(264, "z.x")]));
    for size in 1..=stream.len() {
        let mut peer = open();
        for piece in stream.chunks(size) {
            peer.received(3, Side::Initiated, piece);
        }
        assert!(matches!(events(&mut peer)[..], [Event::Request { .. }]), "in pieces of {size}");
        let codes: Vec<u32> =
            sent(&mut peer, Side::Initiated).iter().map(|one| one.find(268).unwrap().u32()).collect();
        assert_eq!(codes, [2001, 3008, 5005], "alive; request with error bit; realm missing");
    }
    let mut peer = open();
    peer.received(3, Side::Initiated, &[1, 0xff, 0xff, 0xfc].repeat(5));
    assert!(matches!(events(&mut peer)[..], [Event::Close { .. }, Event::Down(DownReason::BadBytes(_))]));
}
