//! How many requests may be known, who yields where there is no more room, and what is noted of it.
use control::config::Config;
use control::note::Note;
use wire::admission::{Request, State};

use crate::cases::{MS, at_once, one_switch};
use crate::world::{Pair, World, guid, request};

fn small() -> Config {
    Config {
        most_requests: 12,
        most_requests_of_host: 8,
        most_requests_of_participant: 4,
        ..Config::default()
    }
}

/// The pair of the writer `entity` on host 0 and a reader of a participant on a host.
fn pair(participant: u8, entity: u8) -> Pair {
    (guid(1, entity), guid(100 + participant, entity))
}

fn ask(world: &mut World, pair: Pair, to: usize, importance: u8) -> Request {
    let entity = pair.0.to_bytes()[14];
    let mut contract = at_once(500, 20 * MS);
    contract.importance = importance;
    let ports = (5_000 + u16::from(pair.1.to_bytes()[3]) * 16 + u16::from(entity), 6_000);
    let asked = request(pair, 1, 0, to, ports, contract, 15 * MS);
    world.ask(asked.clone());
    asked
}

fn world() -> World {
    let mut world = World::new(one_switch(), small());
    world.connect_all();
    world
}

fn count(world: &World, state: State) -> usize {
    world.verdicts.values().filter(|verdict| verdict.state == state).count()
}

#[test]
fn a_participant_has_no_more_requests_than_it_may_and_is_told_so() {
    let mut world = world();
    for entity in 0..10 {
        ask(&mut world, pair(0, entity), 3, 0);
    }
    world.settle();
    assert_eq!((count(&world, State::Admitted), count(&world, State::Refused)), (4, 6));
    let refused = &world.verdicts[&pair(0, 9)];
    assert!(refused.reason.contains("the participant has 4 requests already"), "{}", refused.reason);
    // Another participant of the same host has its own, as far as the host goes.
    for participant in 1..3 {
        for entity in 0..4 {
            ask(&mut world, pair(participant, entity), 3, 0);
        }
    }
    world.settle();
    assert_eq!(count(&world, State::Admitted), 8);
    let refused = &world.verdicts[&pair(2, 3)];
    assert!(refused.reason.contains("has 8 requests already"), "{}", refused.reason);
    // And another host, as far as all go.
    for entity in 0..8 {
        ask(&mut world, pair(3 + entity / 4, entity % 4), 2, 0);
    }
    world.settle();
    assert_eq!(count(&world, State::Admitted), 12);
    let refused = &world.verdicts[&pair(4, 3)];
    assert!(refused.reason.contains("there are 12 requests already"), "{}", refused.reason);
    // One that was turned away leaves no verdict behind.
    world.withdraw(pair(4, 3));
    assert_eq!(world.state(pair(4, 3)), None);
    // Who leaves makes room for who asks then.
    world.withdraw(pair(0, 0));
    world.settle();
    ask(&mut world, pair(0, 9), 3, 0);
    world.pass(std::time::Duration::from_secs(1));
    assert_eq!(world.state(pair(0, 9)), Some(State::Admitted));
}

#[test]
fn a_more_important_request_takes_the_place_of_the_least_important_one() {
    let mut world = world();
    for entity in 0..4 {
        ask(&mut world, pair(0, entity), 3, 1 + entity % 2);
    }
    world.settle();
    assert_eq!(count(&world, State::Admitted), 4);
    ask(&mut world, pair(0, 4), 3, 1);
    assert_eq!(world.state(pair(0, 4)), Some(State::Refused), "it is not more important than any");
    ask(&mut world, pair(0, 5), 3, 5);
    world.pass(std::time::Duration::from_secs(1));
    assert_eq!(world.state(pair(0, 5)), Some(State::Admitted), "{:?}", world.verdicts[&pair(0, 5)]);
    // Of the two least important the younger one had to go, and heard why.
    let revoked = world.history.iter().find(|said| said.state == State::Revoked).expect("somebody had to go");
    assert_eq!(revoked.pair(), pair(0, 2));
    assert!(revoked.reason.contains("more important"), "{}", revoked.reason);
    assert_eq!(world.state(pair(0, 0)), Some(State::Admitted));
    assert_eq!((world.store.len(), world.gates[0].len()), (4, 4));
}

#[test]
fn what_happens_to_pairs_is_noted_once_with_names_and_reasons() {
    let mut world = world();
    let asked = ask(&mut world, pair(0, 0), 3, 0);
    world.pass(std::time::Duration::from_secs(30));
    let mut late = request(pair(0, 1), 1, 0, 3, (5_900, 6_000), at_once(500, 20 * MS), 1_000);
    late.topic = "Late".into();
    world.ask(late);
    world.pass(std::time::Duration::from_secs(1));
    world.withdraw(asked.pair());
    world.settle();
    let notes: Vec<Note> = std::iter::from_fn(|| world.manager.poll_note()).collect();
    let told: Vec<String> = notes.iter().map(ToString::to_string).collect();
    let about = |what: &str| told.iter().filter(|line| line.starts_with(what)).count();
    assert_eq!((about("admitted"), about("refused"), about("withdrawn")), (1, 1, 1), "{told:#?}");
    let is_ready = |line: &&String| line.contains("as it is to be");
    assert_eq!(told.iter().filter(is_ready).count(), 2, "a switch and its gates: {told:#?}");
    let ends = notes.iter().find_map(|note| match note {
        Note::Admitted(ends, bound) => Some((ends.clone(), *bound)),
        _ => None,
    });
    let (ends, bound) = ends.unwrap();
    assert_eq!((&*ends.from, &*ends.to, ends.reader), ("h0", "h3", pair(0, 0).1));
    assert!((1..=15 * MS).contains(&bound));
    let refused = told.iter().find(|line| line.starts_with("refused")).unwrap();
    assert!(refused.contains("\"Late\" from h0 to h3"), "{refused}");
}

#[test]
fn a_store_that_fails_is_noted_once_and_so_is_its_return() {
    let mut world = world();
    world.store_fails = true;
    for entity in 0..3 {
        ask(&mut world, pair(0, entity), 3, 0);
    }
    world.pass(std::time::Duration::from_secs(25));
    world.store_fails = false;
    world.pass(std::time::Duration::from_secs(25));
    assert_eq!(count(&world, State::Admitted), 3);
    let notes: Vec<Note> = std::iter::from_fn(|| world.manager.poll_note()).collect();
    let of_store: Vec<&Note> =
        notes.iter().filter(|note| matches!(note, Note::NotStored(_) | Note::StoreWorks)).collect();
    assert_eq!(of_store, [&Note::NotStored("no space".into()), &Note::StoreWorks]);
}
