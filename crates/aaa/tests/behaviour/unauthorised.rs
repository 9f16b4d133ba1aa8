//! Requests without a right: whatever is wrong with them, nothing is granted, and the reason is told.
use aaa::client::{Ask, Client, Output, Refusal};
use aaa::server::Server;
use diameter::qos::{Direction, Negated, QosResources};
use diameter::value::Amount;
use testkit::random::Random;
use wan::Class;

use crate::DURING;
use crate::world::{World, ask};

/// What `2bb80d…` is the SHA-256 of.
const SECRET: &str = "secret";

/// Something that no contract allows.
fn wrong(random: &mut Random) -> (Ask, &'static str) {
    let alice = || ask("user-alice", None, "203.0.113.9", Class::Ef, 500_000);
    let bob = |secret| ask("bob", Some(secret), "203.0.113.9", Class::Af1, 500_000);
    let changed = |change: fn(&mut QosResources)| {
        let mut ask = alice();
        change(&mut ask.resources);
        ask
    };
    let bits = random.bits();
    match random.below(24) {
        0 => (ask("user-eve", None, "203.0.113.9", Class::Ef, 1), "no user"),
        1 => (ask("alice", None, "203.0.113.9", Class::Ef, 1), "no user"),
        2 => (ask("alice", Some("secret"), "203.0.113.9", Class::Ef, 1), "no user"),
        3 => (bob(&format!("{bits:x}")), "no user"),
        4 => (bob(""), "no user"),
        5 => (ask("bob", None, "203.0.113.9", Class::Af1, 1), "no user"),
        6 => (ask("user-alice", None, "203.0.114.9", Class::Ef, 1), "does not reach"),
        7 => (ask("user-alice", None, "2001:db8::1", Class::Ef, 1), "does not reach"),
        8 => (ask("user-alice", None, "203.0.113.9", Class::Af1, 1), "no class"),
        9 => (ask("user-alice", None, "203.0.113.9", Class::BestEffort, 1), "no class"),
        10 => (ask("user-alice", None, "203.0.113.9", Class::Control, 1), "no class"),
        11 => (ask("user-alice", None, "203.0.113.9", Class::Ef, 1_000_008 + bits % (1 << 40)), "are left"),
        12 => (changed(|it| it.rules[0].parameters = None), "TMOD-1"),
        13 => (changed(|it| it.rules[0].classifier = None), "Classifier"),
        14 => (changed(|it| it.rules.clear()), "Filter-Rule"),
        15 => (changed(|it| it.rules[0].classifier.as_mut().unwrap().to.clear()), "far end"),
        16 => (changed(|it| it.rules[0].classifier.as_mut().unwrap().to[0].addresses.clear()), "far end"),
        17 => {
            let negate = |it: &mut QosResources| {
                it.rules[0].classifier.as_mut().unwrap().to[0].negated = Some(Negated::True);
            };
            (changed(negate), "far end")
        }
        18 => (changed(|it| it.rules[0].classifier.as_mut().unwrap().dscp.clear()), "Diffserv-Code-Point"),
        19 => {
            let turn = |it: &mut QosResources| {
                let classifier = it.rules[0].classifier.as_mut().unwrap();
                classifier.direction = Some(Direction::Out);
                classifier.from = classifier.to.clone();
            };
            (changed(turn), "from the caller")
        }
        20 => {
            let unlimited = |it: &mut QosResources| {
                let parameters = it.rules[0].parameters.as_mut().unwrap();
                let bucket = parameters.token_bucket.as_mut().unwrap();
                (bucket.rate, bucket.peak) = (Amount::UNLIMITED, Amount::UNLIMITED);
            };
            (changed(unlimited), "are left")
        }
        21 => {
            let still = |it: &mut QosResources| {
                it.rules[0].parameters.as_mut().unwrap().token_bucket.as_mut().unwrap().rate = Amount(0);
            };
            (changed(still), "Token-Rate is 0")
        }
        22 => {
            let other = |it: &mut QosResources| {
                it.rules[0].parameters.as_mut().unwrap().phb_class = Some(12 << 26);
            };
            (changed(other), "PHB-Class")
        }
        _ => {
            let twice = |it: &mut QosResources| {
                let rule = it.rules[0].clone();
                it.rules.extend([rule.clone(), rule]);
            };
            (changed(twice), "are left")
        }
    }
}

fn decide(world: &mut World, ask: Ask) -> Result<(), Refusal> {
    let now = world.time();
    let client: &mut Client = world.managers[0].client.as_mut().unwrap();
    let id = client.authorize(now, ask);
    let server: &mut Server = world.server.as_mut().unwrap();
    // Without a world's delays: there and back until it is decided.
    for number in 1_u64.. {
        assert!(number < 1_000, "no answer");
        let connection = 1;
        let bytes = client.take_unsent(connection);
        server.received(now, connection, &bytes);
        while let Some(output) = server.poll_output() {
            if let aaa::server::Output::Store { number, .. } = output {
                server.stored(now, number, true);
            }
        }
        let bytes = server.take_unsent(connection);
        client.received(now, connection, &bytes);
        while let Some(output) = client.poll_output() {
            if let Output::Decided { session, result } = output
                && session == id
            {
                return result.map(drop);
            }
        }
    }
    unreachable!()
}

fn connected() -> World {
    let mut world = World::new(0, 1);
    world.calm = true;
    world.run(1_000_000_000);
    assert!(world.managers[0].client.as_ref().unwrap().is_available());
    world
}

#[test]
fn ten_thousand_requests_without_a_right_get_nothing() {
    let mut world = connected();
    let mut random = Random::of_case(26, 1);
    for number in 0..tiers::current().number("aaa.unauthorised") {
        let (ask, words) = wrong(&mut random);
        match decide(&mut world, ask) {
            Err(Refusal::Denied { reason, .. }) => {
                assert!(reason.contains(words), "{number}: {reason}, not {words}")
            }
            other => panic!("{number}: {words}: {other:?}"),
        }
        assert_eq!(world.server.as_ref().unwrap().sessions().count(), 0);
    }
    // The same user with what the contract allows.
    decide(&mut world, ask("user-alice", None, "203.0.113.9", Class::Ef, 500_000)).unwrap();
    decide(&mut world, ask("bob", Some(SECRET), "203.0.113.9", Class::Af1, 500_000)).unwrap();
    let server = world.server.as_ref().unwrap();
    assert_eq!((server.sessions().count(), server.usage("alice").rate), (2, 500_000));
    // And above it with a second one.
    let refusal = decide(&mut world, ask("user-alice", None, "203.0.113.9", Class::Ef, 500_008)).unwrap_err();
    assert!(
        refusal.to_string().contains("500008 b/s are asked for, and 500000 of 1000000 b/s are left"),
        "{refusal}"
    );
}

#[test]
fn contracts_hold_between_their_times_only() {
    for (unix, granted) in [
        (DURING, true),
        (1_767_225_599, false), // 2025-12-31T23:59:59Z
        (1_767_225_600, true),
        (1_780_271_999, true), // 2026-05-31T23:59:59Z
        (1_780_272_000, false),
    ] {
        let users = crate::users();
        let user = users.authenticate("bob", Some(SECRET.as_bytes())).unwrap();
        let asked = ask("bob", None, "198.51.100.7", Class::Af1, 8_000);
        let decided = aaa::decision::decide(user, Default::default(), Some(&asked.resources), unix);
        assert_eq!(decided.is_ok(), granted, "{unix}: {decided:?}");
    }
}
