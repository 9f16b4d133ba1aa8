//! How many requests may be known, who yields where there is no more room, and what is noted of it.
use control::action::Asker;
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

/// All is quiet: the pair is refused with these words, and nothing of it is left.
fn is_turned_away(world: &mut World, pair: Pair, words: &str) {
    world.pass(std::time::Duration::from_secs(40));
    let told = world.verdicts.get(&pair).unwrap_or_else(|| panic!("{pair:?} is told nothing"));
    assert!(told.state == State::Refused && told.reason.contains(words), "{told:?}");
    let stored = world.store.values().flat_map(|grant| &grant.pairs);
    assert!(stored.into_iter().all(|stored| stored.reader != pair.1.to_bytes()));
    assert_eq!(world.gates[0].len(), world.store.len());
}

#[test]
fn who_yields_is_told_so_to_the_end_wherever_its_flow_is_on_its_way() {
    // Nothing of it is there yet; it is being installed; it is in force.
    for steps in [0, 1, 2, 4, 8, 16, usize::MAX] {
        let mut world = world();
        for entity in 0..4 {
            ask(&mut world, pair(0, entity), 3, 1 + u8::from(entity > 0));
        }
        for _ in 0..steps {
            let Some(next) = world.next().first().copied() else { break };
            world.happen(next, usize::MAX);
        }
        ask(&mut world, pair(0, 5), 3, 5);
        is_turned_away(&mut world, pair(0, 0), "a more important request took its place");
        assert_eq!(world.state(pair(0, 5)), Some(State::Admitted), "after {steps} steps");
        // Its participant asks no more: then there is nothing to say.
        world.withdraw(pair(0, 0));
        assert_eq!(world.state(pair(0, 0)), None);
    }
}

#[test]
fn who_finds_no_place_is_told_so_to_the_end_though_a_flow_of_it_is_there() {
    let others = |world: &mut World| (1..5).for_each(|entity| drop(ask(world, pair(0, entity), 3, 0)));
    // A flow of an earlier manager.
    for connects_before in [false, true] {
        let mut world = world();
        ask(&mut world, pair(0, 0), 3, 0);
        world.settle();
        assert_eq!(world.state(pair(0, 0)), Some(State::Admitted));
        world.restart();
        if connects_before {
            world.connect_all();
            world.settle();
        }
        others(&mut world);
        ask(&mut world, pair(0, 0), 3, 0);
        world.connect_all();
        is_turned_away(&mut world, pair(0, 0), "has 4 requests already");
        assert_eq!(count(&world, State::Admitted), 4);
    }
    // One that goes, since no reader asked for it for a moment.
    for acknowledge in [true, false] {
        let mut world = world();
        world.acknowledge = acknowledge;
        ask(&mut world, pair(0, 0), 3, 0);
        world.pass(std::time::Duration::from_secs(1));
        assert_eq!(world.state(pair(0, 0)), Some(State::Admitted));
        world.withdraw(pair(0, 0));
        others(&mut world);
        ask(&mut world, pair(0, 0), 3, 0);
        is_turned_away(&mut world, pair(0, 0), "has 4 requests already");
    }
}

/// A participant that is turned away, has a flow, and is then missed is told nothing.
#[test]
fn nothing_is_said_of_a_participant_that_is_gone() {
    let mut world = world();
    for entity in 0..4 {
        ask(&mut world, pair(0, entity), 3, 0);
    }
    world.settle();
    world.acknowledge = false;
    ask(&mut world, pair(0, 5), 3, 5);
    let went = world.history.iter().find(|said| said.state == State::Revoked).expect("one has to go").pair();
    world.manager.participant_lost(world.now, went.1.prefix);
    world.collect();
    world.pass(std::time::Duration::from_secs(40));
    assert!(world.verdicts.is_empty(), "{:?}", world.verdicts);
}

/// A place under one limit is none under another: a request that yields under one limit makes no room under the other.
#[test]
fn no_limit_is_passed_since_another_request_has_yielded_under_another_limit() {
    let user = |name: &str| Asker::User(name.to_owned());
    let few =
        Config { most_requests_of_user: 2, most_requests_of_host: 2, signed: true, ..Config::default() };
    let asks = |world: &mut World, name: &str, number: u8, to: usize, importance: u8| {
        let pair = (guid(1, number), guid(100 + number, 1));
        let mut contract = at_once(500, 20 * MS);
        contract.importance = importance;
        let ports = (5_000 + u16::from(number), 6_000 + u16::from(number));
        world.ask_as(request(pair, 1, 0, to, ports, contract, 15 * MS), user(name));
        world.pass(std::time::Duration::from_secs(1));
        world.state(pair)
    };
    let world_of = |bob: u8| {
        let mut world = World::new(one_switch(), few.clone());
        world.connect_all();
        for (name, number, to, importance) in
            [("alice", 1, 1, 0), ("alice", 2, 2, 1), ("bob", 3, 3, bob), ("bob", 4, 3, bob)]
        {
            assert_eq!(asks(&mut world, name, number, to, importance), Some(State::Admitted));
        }
        world
    };
    let state = |world: &World, number: u8| world.state((guid(1, number), guid(100 + number, 1)));
    // One of alice's yields, and one of the host's.
    let mut world = world_of(2);
    assert_eq!(asks(&mut world, "alice", 5, 3, 5), Some(State::Admitted));
    world.pass(std::time::Duration::from_secs(30));
    let after = [1, 2, 3, 4, 5].map(|number| state(&world, number) == Some(State::Admitted));
    assert_eq!(after, [false, true, true, false, true]);
    // Of the host none may yield: none does.
    let mut world = world_of(9);
    assert_eq!(asks(&mut world, "alice", 5, 3, 5), Some(State::Refused));
    let refused = &world.verdicts[&(guid(1, 5), guid(105, 1))];
    assert!(refused.reason.contains("host h3 has 2 requests already"), "{}", refused.reason);
    assert_eq!([1, 2, 3, 4].map(|number| state(&world, number)), [Some(State::Admitted); 4]);
    // One that shares both limits is enough.
    let mut world = World::new(one_switch(), few.clone());
    world.connect_all();
    for number in [1, 2] {
        assert_eq!(asks(&mut world, "alice", number, 3, 0), Some(State::Admitted));
    }
    assert_eq!(asks(&mut world, "alice", 5, 3, 5), Some(State::Admitted));
    assert_eq!(count(&world, State::Admitted), 2);
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
