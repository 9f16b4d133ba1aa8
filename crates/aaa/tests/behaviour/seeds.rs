//! Many seeds: whatever crashes and is cut, nothing is served beyond a contract, and each record is taken once.
use std::collections::BTreeMap;

use testkit::random::Random;
use wan::Class;

use crate::world::{SECOND, World, ask};

/// Bits per second of all sessions here: three are the quota of alice, and more than that many sessions are asked for.
const RATE: u64 = 320_000;

/// Nothing is served beyond the contract: at most three sessions at a time.
fn judge_now(world: &World, seed: u64) {
    let served = world.served();
    assert!(served.len() <= 3, "seed {seed}: {served:?} are served at {}", world.now);
}

/// When all is quiet: each record that a client has stored is taken once, each session has a last one, which
/// tells what was delivered, or what was told last before a crash.
fn judge_end(world: &World, seed: u64) {
    let mut taken: BTreeMap<&str, BTreeMap<u32, u64>> = BTreeMap::new();
    for record in &world.records {
        let before = taken.entry(&record.session).or_default().insert(record.number, record.output_bytes);
        assert_eq!(
            before, None,
            "seed {seed}: record {} of {} is there twice",
            record.number, record.session
        );
    }
    let mut sessions = 0;
    for manager in &world.managers {
        for (id, session) in manager.sessions.iter().filter(|(_, session)| !session.records.is_empty()) {
            sessions += 1;
            assert_eq!(taken.get(id.as_str()), Some(&session.records), "seed {seed}: {id}");
            let last = world.records.iter().rfind(|record| record.session == *id && record.cause.is_some());
            assert_eq!(
                last.map(|record| record.output_bytes),
                Some(session.told),
                "seed {seed}: {id}: {session:?}"
            );
        }
        assert_eq!(manager.client.as_ref().unwrap().undelivered(), 0, "seed {seed}");
    }
    assert_eq!(sessions, taken.len(), "seed {seed}: no record is of a session that no client knows");
    assert_eq!(world.live(), 0, "seed {seed}: nothing is held for sessions that are over");
    assert_eq!(world.server.as_ref().unwrap().usage("alice").sessions, 0, "seed {seed}");
}

fn run(seed: u64) -> (u64, u64, u64, usize) {
    let mut world = World::new(seed, 2);
    let mut faults = Random::of_case(27, seed);
    let mut aborts = 0;
    for _ in 0..150 {
        let number = faults.below(2);
        match faults.below(20) {
            0..=6 => {
                let now = world.time();
                if let Some(client) = &mut world.managers[number].client {
                    client.authorize(now, ask("user-alice", None, "203.0.113.9", Class::Ef, RATE));
                }
            }
            7..=10 => {
                let running = world.managers[number].sessions.iter().find(|(_, session)| !session.over);
                if let Some(id) = running.map(|(id, _)| id.clone()) {
                    world.stop_session(number, &id);
                }
            }
            11 => world.crash_server(),
            12 => world.crash_client(number),
            13 | 14 => world.cut(number),
            15 => {
                let session = world.server.as_ref().and_then(|server| server.sessions().next().cloned());
                if let Some((session, server)) = session.zip(world.server.as_mut()) {
                    server.abort(&session.session, 0);
                    aborts += 1;
                }
            }
            _ => {}
        }
        for manager in &mut world.managers {
            for session in manager.sessions.values_mut().filter(|session| session.started && !session.over) {
                session.bytes += faults.below_u64(10_000);
            }
        }
        let most = if faults.one_in(5) { 6 * SECOND } else { SECOND / 5 };
        let time = faults.range(1, most);
        let end = world.now + time;
        while world.now < end {
            world.run((end - world.now).min(SECOND / 4));
            judge_now(&world, seed);
        }
    }
    world.calm = true;
    // What is being set up is decided.
    world.run(20 * SECOND);
    for number in 0..2 {
        let running: Vec<String> = world.managers[number]
            .sessions
            .iter()
            .filter(|(_, session)| !session.over)
            .map(|(id, _)| id.clone())
            .collect();
        running.iter().for_each(|id| world.stop_session(number, id));
    }
    world.run(200 * SECOND);
    judge_end(&world, seed);
    let granted = world.managers.iter().map(|manager| manager.granted).sum();
    let refused = world.managers.iter().map(|manager| manager.refused).sum();
    (granted, refused, aborts, world.records.len())
}

#[test]
fn nothing_is_served_beyond_a_contract_and_each_record_is_taken_once() {
    let (mut granted, mut refused, mut aborted, mut records) = (0, 0, 0, 0);
    for seed in tiers::current().seeds("aaa.seeds") {
        let (more, less, aborts, taken) = run(seed);
        granted += more;
        refused += less;
        aborted += aborts;
        records += taken;
    }
    assert!(
        granted > 0 && refused > 0 && aborted > 0 && records > 0,
        "{granted} {refused} {aborted} {records}"
    );
}
