//! What operators do: they ask what would be, which changes nothing, and end flows by hand.
use std::time::Duration;

use control::operator::ByHand;
use control::what_if::{Outcome, Question};
use wire::admission::{Contract, State};

use crate::cases::{MS, at_once, contract, one_switch, pair};
use crate::world::{Pair, World, request};

/// What would become of a flow between two hosts.
pub(crate) fn question(world: &World, from: usize, to: usize, contract: Contract, limit: u64) -> Question {
    let name = |host: usize| world.network.hosts[host].name.clone();
    Question {
        from: name(from),
        to: name(to),
        topic: "T".to_owned(),
        user: String::new(),
        contract,
        maximum_latency: limit,
        maximum_separation: 0,
    }
}

/// All that a question could change and must not.
fn everything(world: &World) -> String {
    let tables: Vec<String> = world.switches.iter().map(|switch| format!("{switch:?}")).collect();
    let report = world.manager.report();
    let links = world.manager.link_reports();
    format!("{:?} {tables:?} {:?} {report:?} {links:?} {:?}", world.store, world.gates, world.verdicts)
}

fn ask(world: &mut World, pair: Pair, contract: Contract, limit: u64) -> State {
    let ports = (5_000 + u16::from(pair.0.to_bytes()[3]), 6_000);
    world.ask(request(pair, 1, 0, 3, ports, contract, limit));
    // Others may have to move for it.
    world.pass(Duration::from_millis(200));
    world.state(pair).unwrap()
}

#[test]
fn a_question_is_answered_as_the_request_would_be_and_changes_nothing() {
    let mut world = World::up(one_switch());
    assert_eq!(ask(&mut world, pair(1), contract(8_004, 5 * MS), 5 * MS), State::Admitted);
    let mut outcomes = Vec::new();
    for number in 2..40 {
        let limit = 20 * MS + u64::from(number) * 10_000;
        // Each one fits, and then no more do.
        let asked = at_once(8_004, 5 * MS);
        let before = everything(&world);
        let answer = world.manager.what_if(&question(&world, 0, 3, asked, limit)).unwrap();
        assert!(everything(&world) == before);
        assert!(answer.steps > 0 && answer.steps <= latency::work::Limits::MOST, "{answer:?}");
        let state = ask(&mut world, pair(number), asked, limit);
        let verdict = &world.verdicts[&pair(number)];
        match answer.outcome {
            Outcome::Admitted => {
                assert_eq!((state, verdict.bound), (State::Admitted, answer.promised), "{answer:?}");
                let report = world.manager.report();
                let reader = format!("{:02x}", 100 + number);
                let mine = report.pairs.iter().find(|pair| pair.reader[6..8] == reader).unwrap();
                assert_eq!((mine.present, &mine.hops), (answer.present, &answer.hops), "{number} {answer:?}");
            }
            Outcome::Refused => {
                assert_eq!(state, State::Refused, "{answer:?}");
                assert_eq!(verdict.reason, answer.reason);
                assert_eq!(verdict.offered_latency, answer.offered_latency);
                assert_eq!(verdict.offered_separation, answer.offered_separation);
            }
            other => panic!("{other:?} {answer:?}"),
        }
        outcomes.push(answer.outcome);
    }
    assert!(outcomes.contains(&Outcome::Admitted) && outcomes.contains(&Outcome::Refused), "{outcomes:?}");
}

#[test]
fn a_question_says_who_would_have_to_go() {
    let mut world = World::up(one_switch());
    let mut number = 1;
    while ask(&mut world, pair(number), at_once(8_004, 5 * MS), 20 * MS) == State::Admitted {
        number += 1;
    }
    assert!(number > 1, "{number} {:?}", world.verdicts[&pair(number)]);
    world.withdraw(pair(number));
    let important = Contract { importance: 9, ..at_once(8_004, 5 * MS) };
    let before = everything(&world);
    let answer = world.manager.what_if(&question(&world, 0, 3, important, 20 * MS)).unwrap();
    assert_eq!(answer.outcome, Outcome::Displaces, "{answer:?}");
    assert!(!answer.yielding.is_empty() && answer.yielding[0].starts_with("topic of"), "{answer:?}");
    assert!(everything(&world) == before);
}

#[test]
fn one_of_several_readers_of_a_flow_is_revoked_and_the_others_keep_it() {
    let mut world = World::up(one_switch());
    world.greet();
    world.settle();
    let readers = [(pair(1).0, pair(1).1), (pair(1).0, pair(2).1), (pair(1).0, pair(3).1)];
    for (host, pair) in (1..).zip(readers) {
        let ports = (5_000, 6_000 + u16::try_from(host).unwrap());
        world.ask(request(pair, 1, 0, host, ports, at_once(8_004, 5 * MS), 20 * MS));
        world.settle();
        assert_eq!(world.state(pair), Some(State::Admitted));
    }
    world.pass(Duration::from_millis(500));
    assert_eq!(world.store.len(), 1, "they share a flow");
    world.manager.by_hand(world.now, readers[1], ByHand::Revoke, "this one").unwrap();
    world.collect();
    world.pass(Duration::from_millis(500));
    let states = readers.map(|pair| world.state(pair).unwrap());
    assert_eq!(states, [State::Admitted, State::Revoked, State::Admitted]);
    assert_eq!(world.store.values().map(|grant| grant.pairs.len()).collect::<Vec<_>>(), [2]);
    // It may come back: its place is the branch that it had.
    world.ask(request(readers[1], 2, 0, 2, (5_000, 6_002), at_once(8_004, 5 * MS), 21 * MS));
    world.settle();
    assert_eq!(world.state(readers[1]), Some(State::Admitted));
}

#[test]
fn odd_questions_are_answered_in_words() {
    let world = World::up(one_switch());
    let good = contract(8_004, 5 * MS);
    let wrong = [
        (Question { from: "nobody".to_owned(), ..question(&world, 0, 3, good, MS) }, "no host \"nobody\""),
        (question(&world, 3, 3, good, MS), "same host"),
        (question(&world, 0, 3, good, 0), "maximum latency"),
        (question(&world, 0, 3, Contract { minimum_separation: 0, ..good }, MS), "minimum separation"),
        (question(&world, 0, 3, Contract { smallest_message: 9_000, ..good }, MS), "smallest"),
        (question(&world, 0, 3, Contract { largest_message: 0, smallest_message: 0, ..good }, MS), "largest"),
    ];
    for (question, words) in wrong {
        let error = world.manager.what_if(&question).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    let huge = Contract { minimum_separation: u64::MAX, emission: u64::MAX, ..good };
    let answer = world.manager.what_if(&question(&world, 0, 3, huge, u64::MAX)).unwrap();
    assert_eq!((answer.outcome, answer.reason.as_str()), (Outcome::Refused, "its numbers are out of range"));
}

#[test]
fn what_is_revoked_by_hand_stays_so_until_its_reader_asks_for_something_else() {
    let mut world = World::up(one_switch());
    let (one, other) = (pair(1), pair(2));
    for pair in [one, other] {
        assert_eq!(ask(&mut world, pair, contract(8_004, 5 * MS), 5 * MS), State::Admitted);
    }
    world.manager.by_hand(world.now, one, ByHand::Revoke, "maintenance").unwrap();
    world.collect();
    world.pass(Duration::from_millis(100));
    assert_eq!((world.state(one), world.state(other)), (Some(State::Revoked), Some(State::Admitted)));
    assert_eq!(world.verdicts[&one].reason, "revoked by hand: maintenance");
    assert_eq!((world.store.len(), world.gates[0].len()), (1, 1));
    // Asking again for the same is no reason, nor is room that others leave.
    world.ask(request(one, 1, 0, 3, (5_001, 6_000), contract(8_004, 5 * MS), 5 * MS));
    world.ask(request(one, 2, 0, 3, (5_001, 6_000), contract(8_004, 5 * MS), 5 * MS));
    assert_eq!((world.state(one), world.verdicts[&one].serial), (Some(State::Revoked), 2));
    assert_eq!(world.verdicts[&one].reason, "revoked by hand: maintenance");
    world.withdraw(other);
    world.pass(Duration::from_secs(60));
    assert_eq!((world.state(one), world.store.len()), (Some(State::Revoked), 0));
    let again = world.manager.by_hand(world.now, one, ByHand::Release, "again");
    assert!(again.unwrap_err().contains("not admitted"));
    assert!(world.manager.by_hand(world.now, pair(9), ByHand::Release, "").is_err());
    world.ask(request(one, 3, 0, 3, (5_001, 6_000), contract(8_004, 5 * MS), 6 * MS));
    world.settle();
    assert_eq!((world.state(one), world.store.len()), (Some(State::Admitted), 1));
}

#[test]
fn what_is_revoked_by_hand_is_not_tried_again_because_it_had_failed_before() {
    let mut world = World::up(one_switch());
    world.store_fails = true;
    world.ask(request(pair(1), 1, 0, 3, (5_001, 6_000), contract(8_004, 5 * MS), 5 * MS));
    world.settle();
    assert_eq!(world.state(pair(1)), Some(State::Refused));
    world.store_fails = false;
    world.ask(request(pair(1), 2, 0, 3, (5_001, 6_000), contract(8_004, 5 * MS), 6 * MS));
    world.settle();
    assert_eq!(world.state(pair(1)), Some(State::Admitted));
    world.manager.by_hand(world.now, pair(1), ByHand::Revoke, "maintenance").unwrap();
    world.collect();
    world.pass(Duration::from_secs(60));
    assert_eq!((world.state(pair(1)), world.store.len()), (Some(State::Revoked), 0));
}

#[test]
fn what_is_revoked_by_hand_and_withdrawn_may_be_asked_for_anew() {
    let mut world = World::up(one_switch());
    assert_eq!(ask(&mut world, pair(1), contract(8_004, 5 * MS), 5 * MS), State::Admitted);
    world.manager.by_hand(world.now, pair(1), ByHand::Revoke, "maintenance").unwrap();
    world.collect();
    world.withdraw(pair(1));
    world.pass(Duration::from_millis(100));
    assert_eq!(ask(&mut world, pair(1), contract(8_004, 5 * MS), 5 * MS), State::Admitted);
}

#[test]
fn what_is_released_by_hand_is_told_so_and_decided_anew() {
    let mut world = World::up(one_switch());
    assert_eq!(ask(&mut world, pair(1), contract(8_004, 5 * MS), 5 * MS), State::Admitted);
    let (before, said) = (world.store.clone(), world.history.len());
    world.manager.by_hand(world.now, pair(1), ByHand::Release, "another way").unwrap();
    world.collect();
    world.pass(Duration::from_millis(100));
    assert_eq!(world.state(pair(1)), Some(State::Admitted));
    let told = &world.history[said..];
    let released = |told: &&wire::admission::Verdict| told.state == State::Revoked;
    assert_eq!(told.iter().find(released).unwrap().reason, "released by hand: another way");
    assert!(world.store.len() == 1 && world.store.keys().ne(before.keys()), "it is another grant");
}
