//! Requests by themselves: turns, answers, room.
use latency::ledger::Offer;
use wire::admission::{Contract, State, Verdict};

use super::*;

fn pair(number: u8) -> Pair {
    (Guid::from_bytes([1; 16]), Guid::from_bytes([number; 16]))
}

fn request(number: u8, serial: u64, importance: u8) -> Request {
    let (writer, reader) = pair(number);
    let contract = Contract { importance, ..Contract::default() };
    Request {
        writer: writer.to_bytes(),
        reader: reader.to_bytes(),
        serial,
        contract,
        maximum_latency: 1_000,
        ..Request::default()
    }
}

/// Requests of these importances, of readers from 2 on.
fn asked(importances: &[u8]) -> Requests {
    let mut requests = Requests::new(7, Duration::from_secs(6));
    for (number, importance) in (2..).zip(importances) {
        requests.insert(request(number, 1, *importance), Facts::default());
    }
    requests
}

fn turns(requests: &mut Requests) -> alloc::vec::Vec<Pair> {
    core::iter::from_fn(|| requests.next_turn()).collect()
}

#[test]
fn the_more_important_one_is_first_and_of_equals_the_older() {
    let mut requests = asked(&[1, 2, 1, 2]);
    assert_eq!(turns(&mut requests), [pair(3), pair(5), pair(2), pair(4)]);
}

#[test]
fn an_older_request_changes_nothing_and_a_newer_one_is_looked_at() {
    let mut requests = asked(&[1]);
    turns(&mut requests);
    requests.renew(request(2, 5, 1), Facts::default());
    assert_eq!(requests.renew(request(2, 4, 1), Facts::default()), Some(Renewed::Older));
    assert_eq!(requests.get(pair(2)).map(|asked| asked.request.serial), Some(5));
    assert_eq!(turns(&mut requests), [pair(2)]);
    assert_eq!(requests.renew(request(3, 1, 1), Facts::default()), None, "nobody has asked for it");
}

#[test]
fn an_answer_is_for_the_request_that_was_looked_at() {
    let mut requests = asked(&[1]);
    turns(&mut requests);
    assert_eq!(requests.look_at(pair(2)), Some(None));
    requests.work_on(pair(2));
    requests.renew(request(2, 2, 1), Facts::default());
    assert_eq!(turns(&mut requests), [], "it is under way");
    let refused = requests.refuse(pair(2), "no room", Offer::default(), true);
    assert_eq!(refused, Some(Refused { is_new: true, held: None }));
    let verdict = requests.get(pair(2)).map(|asked| (asked.verdict.serial, asked.verdict.state));
    assert_eq!(verdict, Some((1, State::Refused)));
    assert_eq!(turns(&mut requests), [pair(2)], "what is asked by now has its turn");
}

#[test]
fn what_is_said_of_a_request_is_news_once() {
    let mut requests = asked(&[1]);
    assert!(requests.take_news(pair(2)).is_none(), "nothing is decided");
    requests.look_at(pair(2));
    requests.admit(
        pair(2),
        9,
        Verdict { state: State::Admitted, serial: 1, ..Verdict::default() },
        Duration::ZERO,
    );
    assert!(requests.take_news(pair(2)).is_some());
    assert!(requests.take_news(pair(2)).is_none());
    requests.revoke(pair(2), "a link is down");
    assert!(requests.take_news(pair(2)).is_some());
}

#[test]
fn room_is_kept_from_those_behind_and_not_from_those_before() {
    let mut requests = asked(&[2, 1, 2]);
    requests.keep_room(pair(2));
    assert!(requests.has_before(pair(3)) && requests.has_before(pair(4)));
    assert!(!requests.has_before(pair(2)));
    requests.keep_room(pair(4));
    assert_eq!(requests.before(requests.turn(pair(3)).unwrap()), Some(alloc::vec![pair(2), pair(4)]));
    assert!(requests.yields_room(pair(3)) && !requests.yields_room(pair(4)));
    for (number, _) in (10..).zip(0..turns::MOST_AHEAD) {
        requests.insert(request(number, 1, 9), Facts::default());
        requests.keep_room(pair(number));
    }
    assert_eq!(requests.before(requests.turn(pair(3)).unwrap()), None, "they are too many");
}
