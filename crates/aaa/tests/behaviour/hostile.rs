//! Bytes that are changed on their way: the server grants nothing that no client has asked for, and holds no more than its limits.
use aaa::server::Server;
use testkit::random::Random;
use wan::Class;

use crate::world::{MILLISECOND, World, ask};

/// Bytes of a client as they go to the server, connection by connection.
fn conversation(seed: u64) -> Vec<Vec<u8>> {
    let mut world = World::new(seed, 1);
    world.calm = true;
    let mut pieces = Vec::new();
    let now = world.time();
    let client = world.managers[0].client.as_mut().unwrap();
    while client.poll_output().is_some() {}
    client.connected(now, &crate::world::identity("aaa.x"), 1);
    pieces.push(client.take_unsent(1));
    let server = world.server.as_mut().unwrap();
    server.accepted(now, 1, None);
    server.received(now, 1, &pieces[0]);
    client.received(now, 1, &server.take_unsent(1));
    for rate in [100_000, 2_000_000] {
        client.authorize(now, ask("user-alice", None, "203.0.113.9", Class::Ef, rate));
        pieces.push(client.take_unsent(1));
    }
    pieces
}

#[test]
fn changed_bytes_do_no_harm() {
    let tier = tiers::current();
    let (mut granted, mut refused) = (0_u64, 0_u64);
    for case in 0..tier.number("aaa.unauthorised") / 10 {
        let mut random = Random::of_case(28, case);
        let mut pieces = conversation(case % 8);
        for _ in 0..random.below(4) {
            let number = random.below(pieces.len());
            let piece = &mut pieces[number];
            let at = random.below(piece.len().max(1));
            match random.below(4) {
                0 if at < piece.len() => piece[at] ^= 1 << random.below(8),
                1 if at < piece.len() => piece[at] = random.bits() as u8,
                2 => piece.truncate(at),
                _ => {
                    let copy = piece[at.min(piece.len())..].to_vec();
                    piece.extend(copy);
                }
            }
        }
        let mut world = World::new(case, 1);
        let now = world.time();
        let server: &mut Server = world.server.as_mut().unwrap();
        server.accepted(now, 1, None);
        for piece in &pieces {
            server.received(now, 1, piece);
            while let Some(output) = server.poll_output() {
                if let aaa::server::Output::Store { number, .. } = output {
                    server.stored(now, number, true);
                }
            }
            server.take_unsent(1);
        }
        world.now += 50 * MILLISECOND;
        let (now, server) = (world.time(), world.server.as_mut().unwrap());
        server.on_timer(now);
        // Whatever was changed: what is granted is within the contract.
        let usage = server.usage("alice");
        assert!(usage.rate <= 1_000_000 && usage.sessions <= 3, "case {case}: {usage:?}");
        assert!(server.usage("bob").sessions == 0 && server.waiting() == 0, "case {case}");
        granted += u64::from(usage.sessions > 0);
        refused += u64::from(usage.sessions == 0);
    }
    assert!(granted > 0 && refused > 0, "{granted} {refused}");
}
