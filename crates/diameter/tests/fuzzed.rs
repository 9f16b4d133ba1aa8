//! Mutated bytes neither panic, hang nor take more from the heap than in proportion to them; what is read is written as the
//! same. A program of its own, since its allocator counts.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test stops at once")]

mod independent;

use diameter::Message;
use diameter::header::ApplicationId;
use diameter::incoming::Incoming;
use diameter::local::Local;
use diameter::message::RawMessage;
use diameter::peer::{Config, Peer, Side};
use diameter::relay::{destination, forward};
use diameter::value::Identity;
use independent::random_message;
use testkit::random::Random;

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

fn local() -> Local {
    Local {
        host: Identity::new("m.x").unwrap(),
        realm: Identity::new("x").unwrap(),
        addresses: vec!["192.0.2.1".parse().unwrap()],
        product_name: "Punctual".into(),
        origin_state_id: 0,
        auth_applications: vec![ApplicationId::RELAY],
        acct_applications: Vec::new(),
    }
}

/// Changes bytes: single ones, numbers at edges, pieces left out, doubled or put elsewhere; then mostly a true length.
fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..=random.below(4) {
        let len = bytes.len();
        let (at, other) = (random.below(len + 1), random.below(len + 1));
        let (low, high) = (at.min(other), at.max(other));
        match random.below(7) {
            0 if at < len => bytes[at] = random.bits() as u8,
            1 if at < len => bytes[at] ^= 1 << random.below(8),
            2 if at + 4 <= len => {
                let edges = [0, 1, 7, 8, 0xff, 0xffff, 0xff_fffc, 0xff_ffff, 0x7fff_ffff, u32::MAX];
                bytes[at..at + 4].copy_from_slice(&random.pick(&edges).unwrap().to_be_bytes());
            }
            3 => drop(bytes.drain(low..high)),
            4 if len < 20_000 => {
                let piece = bytes[low..high].to_vec();
                bytes.splice(at..at, piece);
            }
            5 => bytes.truncate(at),
            6 if at + 8 <= len => bytes[at + 5..at + 8].copy_from_slice(&[0, 0, random.bits() as u8]),
            _ => {}
        }
    }
    if random.chance(80) && bytes.len() >= 20 {
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let [_, high, middle, low] = (bytes.len() as u32).to_be_bytes();
        bytes[..4].copy_from_slice(&[1, high, middle, low]);
    }
}

/// The target: any bytes as a message.
fn any_bytes(bytes: &[u8]) {
    let (read, usage) = alloc_meter::measure(|| Message::decode(bytes));
    assert!(usage.peak <= 4096 + 128 * bytes.len(), "{} bytes take {usage:?}", bytes.len());
    match read {
        Ok((header, message)) => {
            let mut written = Vec::new();
            message.encode(&header, &mut written).unwrap();
            assert!(written.len() <= bytes.len() + 3 * (bytes.len() / 8), "only padding is added");
            let again = Message::decode(&written).unwrap();
            // Flags that the command does not have are not written.
            assert_eq!(again.1, message);
        }
        Err(error) => {
            assert!(error.offset <= bytes.len() && !error.to_string().is_empty());
            if let Some(failed) = error.failed_avp(bytes) {
                assert!(failed.len() <= bytes.len() + 16 && failed.len().is_multiple_of(4));
            }
            let answer = local().refuse_unreadable(bytes, &error);
            assert!(answer.is_empty() || RawMessage::read(&answer).is_ok());
            if !answer.is_empty() {
                Message::decode(&answer)
                    .unwrap_or_else(|error| panic!("the refusal cannot be read: {error}"));
            }
        }
    }
    let _ = destination(bytes);
    if let Ok(forwarded) = forward(bytes, &local().host, &local().realm) {
        assert!(RawMessage::read(&forwarded).is_ok());
    }
}

/// The target: any bytes at a peer, in pieces.
fn at_a_peer(random: &mut Random, bytes: &[u8]) {
    let mut config = Config::new(local(), Identity::new("z.x").unwrap(), true);
    config.most_requested = 8;
    config.most_unsent = 20_000;
    let limit = config.most_unsent;
    let mut peer = Peer::new(config, 0, random.bits());
    peer.start(0);
    assert!(peer.connected(0));
    // Half of them are open before.
    if random.chance(50) {
        let mut incoming = Incoming::new(10_000);
        let mut there =
            Config::new(Local { host: Identity::new("z.x").unwrap(), ..local() }, local().host, true);
        there.most_unsent = limit;
        let mut other = Peer::new(there, 0, 1);
        other.start(0);
        assert!(other.connected(0));
        let introduction = incoming.received(&local(), other.unsent(Side::Initiated)).unwrap().unwrap();
        peer.closed(1, Side::Initiated);
        peer.accept(1, introduction).unwrap();
        assert!(peer.is_open());
    }
    let side = if peer.is_open() { Side::Accepted } else { Side::Initiated };
    while peer.poll_event().is_some() {}
    let (_, usage) = alloc_meter::measure(|| {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(1 + random.below(rest.len()));
            peer.received(2, side, piece);
            rest = after;
        }
    });
    assert!(usage.peak <= 100_000 + 256 * bytes.len(), "{} bytes take {usage:?}", bytes.len());
    assert!(peer.requested() <= 8 && peer.unsent(side).len() <= limit);
    for _ in 0..8 {
        peer.on_timer(peer.due());
    }
    while peer.poll_event().is_some() {}
    let _ = Incoming::new(1000).received(&local(), bytes);
}

#[test]
fn mutated_messages_do_no_harm() {
    let tier = tiers::current();
    let mut messages = 0_u64;
    for case in 0..tier.number("fuzz.stateless_executions") / 3 {
        let mut random = Random::of_case(tier.first_seed() ^ 6, case);
        let mut bytes = random_message(&mut random).1.write();
        if random.chance(20) {
            bytes.extend(random_message(&mut random).1.write());
        }
        mutate(&mut random, &mut bytes);
        let result = std::panic::catch_unwind(|| any_bytes(&bytes));
        assert!(result.is_ok(), "case {case} fails with {bytes:02x?}");
        messages += u64::from(Message::decode(&bytes).is_ok());
        if case % 8 == 0 {
            let result = std::panic::catch_unwind(move || at_a_peer(&mut random, &bytes));
            assert!(result.is_ok(), "case {case} fails at a peer");
        }
    }
    assert!(messages > 0, "some are messages all the same");
}

#[test]
fn random_bytes_do_no_harm() {
    let tier = tiers::current();
    for case in 0..tier.number("property.cases") {
        let mut random = Random::of_case(tier.first_seed() ^ 7, case);
        let bytes: Vec<u8> = (0..random.below(500)).map(|_| random.bits() as u8).collect();
        any_bytes(&bytes);
        at_a_peer(&mut random, &bytes);
    }
}

/// Small AVPs that are large once they are read.
#[test]
fn groups_without_content_take_room_in_proportion() {
    for (code, outer) in [(509_u32, Some(508_u32)), (284, None), (260, None), (100_000, None)] {
        let mut inner = Vec::new();
        for _ in 0..250 {
            let mut avp = code.to_be_bytes().to_vec();
            avp.extend([0, 0, 0, 8]);
            inner.extend(avp);
        }
        let mut bytes = vec![1, 0, 0, 0, 0xc0, 0, 1, 15, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2];
        if let Some(outer) = outer {
            bytes.extend(outer.to_be_bytes());
            let [_, high, middle, low] = (inner.len() as u32 + 8).to_be_bytes();
            bytes.extend([0x40, high, middle, low]);
        }
        bytes.extend(inner);
        let [_, high, middle, low] = (bytes.len() as u32).to_be_bytes();
        bytes[1..4].copy_from_slice(&[high, middle, low]);
        any_bytes(&bytes);
    }
}
