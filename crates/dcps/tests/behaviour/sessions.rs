//! What a participant knows of its sessions over domains: whom it believes, leases, several tellers, and what writers are granted.
use std::sync::Arc;

use dcps::assurance::{Opinion, Trust};
use dcps::session::{Action, Sessions};
use rtps::writer::TokenBucket;
use testkit::credentials::ToyKeys;
use wire::cdr::{DdsType as _, Encoding};
use wire::seal::{self, Credentials as _, Holder, Purpose, Statement, identity};
use wire::session::{SessionState, SessionVerdict};
use wire::{Duration, EntityId, Guid, GuidPrefix, Instant};

const OWN: GuidPrefix = GuidPrefix([1; 12]);
const OTHER: GuidPrefix = GuidPrefix([2; 12]);
const TELLER: GuidPrefix = GuidPrefix([9; 12]);
const WRITER: EntityId = EntityId([0, 0, 1, 2]);
const SECOND: u64 = 1_000_000_000;

fn at(seconds: u64) -> Instant {
    Instant::from_nanos(seconds * SECOND)
}

fn reader(number: u8) -> Guid {
    Guid::new(OTHER, EntityId([0, 0, number, 7]))
}

fn granted(number: u8, rate: u64) -> SessionVerdict {
    SessionVerdict {
        writer: Guid::new(OWN, WRITER).to_bytes(),
        reader: reader(number).to_bytes(),
        state: SessionState::Granted,
        session: format!("s{number}"),
        limit: 20_000_000,
        bound: 9_000_000,
        rate,
        bucket: 2_000,
        largest_packet: 1_000,
        lease: 30 * SECOND,
        ..SessionVerdict::default()
    }
}

fn actions(sessions: &mut Sessions) -> Vec<Action> {
    std::iter::from_fn(|| sessions.poll_action()).collect()
}

fn bucket(rate: u64) -> Option<TokenBucket> {
    Some(TokenBucket { rate, bucket: 2_000, largest_packet: 1_000 })
}

fn changed(number: u8) -> Action {
    Action::Changed { local: WRITER, remote: reader(number) }
}

fn grant(bucket: Option<TokenBucket>) -> Action {
    Action::Grant { writer: WRITER, bucket }
}

#[test]
fn a_writer_is_granted_the_least_of_its_sessions_until_all_are_over() {
    let mut sessions = Sessions::new(OWN);
    sessions.heard(at(1), TELLER, granted(1, 8_000));
    assert_eq!(actions(&mut sessions), [changed(1), grant(bucket(8_000))]);
    sessions.heard(at(1), TELLER, granted(2, 5_000));
    assert_eq!(actions(&mut sessions), [changed(2), grant(bucket(5_000))]);
    // It is told again: nothing is new but for how long it holds.
    sessions.heard(at(20), TELLER, SessionVerdict { epoch: 7, ..granted(1, 8_000) });
    assert_eq!(actions(&mut sessions), []);
    assert_eq!(sessions.poll_timeout(), at(31));
    sessions.on_timeout(at(31));
    assert_eq!(actions(&mut sessions), [changed(2), grant(bucket(8_000))]);
    let told = sessions.sessions_of(WRITER);
    assert_eq!(told.len(), 2);
    assert_eq!((told[0].state, told[0].bound), (SessionState::Granted, Some(Duration::from_millis(9))));
    assert_eq!((told[1].state, told[1].bound, told[1].bucket), (SessionState::Over, None, None));
    let over = SessionVerdict { state: SessionState::Over, ..granted(1, 8_000) };
    sessions.heard(at(32), TELLER, over);
    assert_eq!(actions(&mut sessions), [changed(1), grant(None)]);
    // What is over is forgotten in the end.
    sessions.on_timeout(at(200));
    assert!(sessions.sessions_of(WRITER).is_empty() && sessions.poll_timeout() == Instant::NEVER);
}

#[test]
fn what_is_told_of_others_or_by_others_changes_nothing() {
    let mut sessions = Sessions::new(OWN);
    let of_others = SessionVerdict { writer: [7; 16], ..granted(1, 8_000) };
    sessions.heard(at(1), TELLER, of_others);
    // What never was is not over, either.
    sessions.heard(at(1), TELLER, SessionVerdict { state: SessionState::Over, ..granted(1, 1) });
    assert_eq!(actions(&mut sessions), []);
    sessions.heard(at(1), TELLER, granted(1, 8_000));
    drop(actions(&mut sessions));
    // Another one that watches and has no session does not end this one, and cannot withdraw it.
    let refused = SessionVerdict { state: SessionState::Refused, ..granted(1, 0) };
    sessions.heard(at(2), GuidPrefix([8; 12]), refused.clone());
    sessions.withdrawn(at(2), GuidPrefix([8; 12]), Guid::new(OWN, WRITER), reader(1));
    assert_eq!(actions(&mut sessions), []);
    sessions.heard(at(2), TELLER, refused);
    assert_eq!(actions(&mut sessions), [changed(1), grant(None)]);
    // A bucket without room for the least packet cannot be kept to.
    sessions.heard(at(3), TELLER, SessionVerdict { bucket: 303, ..granted(1, 8_000) });
    assert_eq!(actions(&mut sessions), [changed(1)]);
    // A lease that is longer than any ends all the same.
    sessions.heard(at(3), TELLER, SessionVerdict { lease: u64::MAX, ..granted(1, 8_000) });
    assert!(sessions.poll_timeout() <= at(3_603));
}

#[test]
fn many_made_up_pairs_take_limited_room() {
    let mut sessions = Sessions::new(OWN);
    for number in 0..10_000_u32 {
        let [_, a, b, c] = number.to_be_bytes();
        let reader = Guid::new(OTHER, EntityId([a, b, c, 7])).to_bytes();
        sessions.heard(at(1), TELLER, SessionVerdict { reader, ..granted(1, 8_000) });
    }
    assert_eq!(sessions.sessions_of(WRITER).len(), 4_096);
}

fn sealed(keys: &ToyKeys, purpose: Purpose, counter: u64, verdict: &SessionVerdict) -> Vec<u8> {
    let mut bytes = Vec::new();
    verdict.encode_payload(Encoding::XCDR1, &mut bytes).unwrap();
    let statement =
        Statement { purpose, from: TELLER, manager: TELLER, epoch: verdict.epoch, counter, content: &bytes };
    let signature = keys.sign(&statement.to_bytes()).unwrap();
    seal::append(&mut bytes, purpose, counter, &signature);
    bytes
}

#[test]
fn a_participant_with_keys_believes_who_has_the_certificate_of_a_manager() {
    let mut trust = Trust::of_sessions(OWN, ToyKeys::user(1, "alice", 1_010));
    let keys = ToyKeys::new(1, Holder::Manager, 1_010);
    let user = ToyKeys::user(1, "bob", 1_010);
    let verdict = SessionVerdict { epoch: 3, ..granted(1, 8_000) };
    let shows = |keys: &Arc<ToyKeys>| identity(&**keys, TELLER, 3).unwrap();
    assert!(trust.identity_heard(1_000, TELLER, &shows(&user)).is_err());
    let said = sealed(&keys, Purpose::Session, 10, &verdict);
    assert_eq!(trust.verdict_heard(at(1), TELLER, &said), Opinion::Waits);
    assert_eq!(trust.identity_heard(1_000, TELLER, &shows(&keys)), Ok(None));
    assert_eq!(trust.verdict_heard(at(1), TELLER, &said), Opinion::Believed(verdict.clone()));
    // Not a second time, not unsigned, not by another key, not by a signature for something else, not of an earlier start.
    let mut plain = Vec::new();
    verdict.encode_payload(Encoding::XCDR1, &mut plain).unwrap();
    let wrong = [
        said,
        plain,
        sealed(&user, Purpose::Session, 11, &verdict),
        sealed(&keys, Purpose::Verdict, 11, &verdict),
        sealed(&keys, Purpose::Session, 11, &SessionVerdict { epoch: 2, ..verdict.clone() }),
    ];
    for payload in wrong {
        assert_eq!(trust.verdict_heard(at(1), TELLER, &payload), Opinion::Refused);
    }
    let next = sealed(&keys, Purpose::Session, 12, &verdict);
    assert_eq!(trust.verdict_heard(at(1), TELLER, &next), Opinion::Believed(verdict));
}
