//! Whom a participant with keys believes: managers of its authority, and of what they say what is new.
use std::sync::Arc;

use dcps::assurance::{Opinion, Trust};
use testkit::credentials::ToyKeys;
use wire::admission::{Request, State, Verdict};
use wire::cdr::{DdsType as _, Encoding};
use wire::seal::{self, Credentials as _, Holder, Purpose, Statement, identity};
use wire::{EntityId, Guid, GuidPrefix, Instant};

const OWN: GuidPrefix = GuidPrefix([1; 12]);
const MANAGER: GuidPrefix = GuidPrefix([9; 12]);
const SECOND: u64 = 1_000_000_000;
const LEASE: u64 = 6 * SECOND;
const EPOCH: u64 = 4;
const WALL: u64 = 1_000;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn writer(prefix: GuidPrefix) -> Guid {
    Guid::new(prefix, EntityId([0, 0, 1, 2]))
}

struct Manager {
    keys: Arc<ToyKeys>,
    prefix: GuidPrefix,
    epoch: u64,
}

impl Manager {
    fn new(authority: u8) -> Self {
        Self { keys: ToyKeys::new(authority, Holder::Manager, WALL + 10), prefix: MANAGER, epoch: EPOCH }
    }

    fn shows_itself(&self, trust: &mut Trust) -> Result<Option<Guid>, String> {
        let shown = identity(&*self.keys, self.prefix, self.epoch).unwrap();
        trust.identity_heard(WALL, self.prefix, &shown)
    }

    fn says(&self, state: State, counter: u64) -> Vec<u8> {
        self.says_of(1, state, counter)
    }

    fn says_of(&self, pair: u8, state: State, counter: u64) -> Vec<u8> {
        let verdict = Verdict {
            writer: [pair; 16],
            reader: [1; 16],
            epoch: self.epoch,
            state,
            lease: LEASE,
            ..Verdict::default()
        };
        let mut bytes = Vec::new();
        verdict.encode_payload(Encoding::XCDR1, &mut bytes).unwrap();
        let (purpose, from) = (Purpose::Verdict, self.prefix);
        let statement =
            Statement { purpose, from, manager: from, epoch: self.epoch, counter, content: &bytes };
        let signature = self.keys.sign(&statement.to_bytes()).unwrap();
        seal::append(&mut bytes, purpose, counter, &signature);
        bytes
    }
}

fn trust() -> Trust {
    Trust::new(OWN, ToyKeys::user(1, "alice", WALL + 10))
}

fn trusting() -> (Trust, Manager) {
    let (mut trust, manager) = (trust(), Manager::new(1));
    assert_eq!(manager.shows_itself(&mut trust), Ok(None));
    assert!(trust.manager_found(writer(MANAGER)));
    (trust, manager)
}

fn is_believed(opinion: &Opinion) -> bool {
    matches!(opinion, Opinion::Believed(_))
}

#[test]
fn a_manager_is_believed_once_it_has_shown_a_certificate_of_the_same_authority() {
    let (mut trust, manager) = (trust(), Manager::new(1));
    assert!(!trust.manager_found(writer(MANAGER)) && trust.has_strangers_alone());
    let said = manager.says(State::Admitted, 10);
    assert_eq!(trust.verdict_heard(at(10), MANAGER, &said), Opinion::Waits);
    assert_eq!(manager.shows_itself(&mut trust), Ok(Some(writer(MANAGER))));
    assert!(!trust.has_strangers_alone());
    assert_eq!(trust.take_held(MANAGER), std::slice::from_ref(&said));
    assert!(is_believed(&trust.verdict_heard(at(10), MANAGER, &said)));
    // Others are not: of another authority, a user, one whose certificate is over, one in the name of the first.
    let stranger = Manager { prefix: GuidPrefix([8; 12]), ..Manager::new(2) };
    assert!(stranger.shows_itself(&mut trust).is_err());
    assert_eq!(
        trust.verdict_heard(at(10), stranger.prefix, &stranger.says(State::Revoked, 11)),
        Opinion::Waits
    );
    let user = Manager { keys: ToyKeys::user(1, "bob", WALL + 10), ..Manager::new(1) };
    assert!(user.shows_itself(&mut trust).unwrap_err().contains("not that of a manager"));
    assert_eq!(trust.verdict_heard(at(10), MANAGER, &user.says(State::Revoked, 11)), Opinion::Refused);
    let old = Manager { keys: ToyKeys::new(1, Holder::Manager, WALL - 1), ..Manager::new(1) };
    assert!(old.shows_itself(&mut trust).unwrap_err().contains("expired"));
    let earlier = Manager { epoch: EPOCH - 1, ..Manager::new(1) };
    assert!(earlier.shows_itself(&mut trust).unwrap_err().contains("anew"));
    assert_eq!(trust.verdict_heard(at(10), MANAGER, &earlier.says(State::Revoked, 11)), Opinion::Refused);
    assert!(is_believed(&trust.verdict_heard(at(11), MANAGER, &manager.says(State::Revoked, 11))));
}

#[test]
fn nothing_is_believed_twice_and_nothing_old_after_something_new() {
    let (mut trust, manager) = trusting();
    let admitted = manager.says(State::Admitted, 10);
    assert!(is_believed(&trust.verdict_heard(at(10), MANAGER, &admitted)));
    assert_eq!(trust.verdict_heard(at(11), MANAGER, &admitted), Opinion::Refused);
    assert!(is_believed(&trust.verdict_heard(at(20), MANAGER, &manager.says(State::Revoked, 20))));
    for counter in [10, 19, 20] {
        let replayed = manager.says(State::Admitted, counter);
        assert_eq!(trust.verdict_heard(at(21), MANAGER, &replayed), Opinion::Refused, "after the revocation");
    }
    // Of another pair it may be older.
    assert!(is_believed(&trust.verdict_heard(at(22), MANAGER, &manager.says_of(2, State::Admitted, 15))));
    assert_eq!(trust.counters().stale, 4);
}

#[test]
fn what_was_held_back_for_longer_than_its_lease_is_not_believed() {
    let (mut trust, manager) = trusting();
    let hour = 3_600 * SECOND;
    assert!(is_believed(&trust.verdict_heard(at(hour), MANAGER, &manager.says(State::Admitted, SECOND))));
    // An adversary keeps the next ones, and hands them over one by one when the flow is revoked.
    let kept = manager.says(State::Admitted, 3 * SECOND);
    assert!(
        is_believed(&trust.verdict_heard(at(hour + 7 * SECOND), MANAGER, &kept)),
        "within the lease it may be late"
    );
    let kept = manager.says(State::Admitted, 5 * SECOND);
    assert_eq!(trust.verdict_heard(at(hour + 14 * SECOND), MANAGER, &kept), Opinion::Refused);
    // A revocation is never too late.
    assert!(is_believed(&trust.verdict_heard(
        at(hour + 20 * SECOND),
        MANAGER,
        &manager.says(State::Revoked, 6 * SECOND)
    )));
}

#[test]
fn clocks_may_run_apart_a_little_for_days() {
    let (mut trust, manager) = trusting();
    // The manager's clock is 150 parts in a million slower.
    for round in 0..200_000_u64 {
        let now = round * 2 * SECOND;
        let theirs = now - now / 20_000 * 3 + 1;
        let opinion = trust.verdict_heard(at(now), MANAGER, &manager.says(State::Admitted, theirs));
        assert!(is_believed(&opinion), "after {} s", now / SECOND);
    }
}

#[test]
fn whatever_bit_is_changed_nothing_is_believed() {
    let (mut trust, manager) = trusting();
    let good = manager.says(State::Admitted, 10);
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(!is_believed(&trust.verdict_heard(at(10), MANAGER, &bytes)), "bit {bit}");
    }
    for len in 0..good.len() {
        assert!(!is_believed(&trust.verdict_heard(at(10), MANAGER, &good[..len])), "{len} bytes");
    }
    assert!(
        is_believed(&trust.verdict_heard(at(10), MANAGER, &good)),
        "none of that has kept the true one out"
    );
}

#[test]
fn it_signs_for_managers_that_it_believes_alone() {
    let (mut trust, _) = trusting();
    let mut bytes = Vec::new();
    Request::default().encode_payload(Encoding::XCDR1, &mut bytes).unwrap();
    let plain = bytes.clone();
    assert!(!trust.seal(5, Purpose::Request, GuidPrefix([8; 12]), &mut bytes) && bytes == plain);
    assert!(trust.seal(5, Purpose::Request, MANAGER, &mut bytes));
    let sealed = seal::open(&bytes).unwrap();
    assert_eq!((sealed.content, sealed.counter), (&plain[..], 5));
    // Who knows nothing of seals reads the same.
    assert_eq!(Request::decode_payload(&bytes), Ok(Request::default()));
    let mut again = plain.clone();
    trust.seal(5, Purpose::Withdrawal, MANAGER, &mut again);
    assert_eq!(seal::open(&again).map(|sealed| sealed.counter), Some(6));
}
