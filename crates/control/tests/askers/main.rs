//! Who asks: what is signed is believed once, and nothing else is, whatever bytes come.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::Duration;

use control::action::Asker;
use control::askers::{Askers, Heard};
use testkit::credentials::ToyKeys;
use testkit::random::Random;
use wire::admission::{Contract, Request};
use wire::cdr::{DdsType as _, Encoding};
use wire::seal::{self, Credentials as _, Holder, Purpose, Statement, identity};
use wire::{EntityId, Guid, GuidPrefix};

const EPOCH: u64 = 7;
const SECONDS: u64 = 1_000;
const LATER: u64 = 1_000_000;
const MANAGER: GuidPrefix = GuidPrefix([9; 12]);
const NOW: Duration = Duration::from_secs(1);

fn prefix(number: u8) -> GuidPrefix {
    GuidPrefix([number; 12])
}

fn manager() -> Askers {
    Askers::new(ToyKeys::new(1, Holder::Manager, LATER), MANAGER, EPOCH)
}

fn asked(reader: GuidPrefix, number: u8) -> Request {
    let guid = |prefix, entity| Guid::new(prefix, EntityId([0, 0, entity, 4])).to_bytes();
    Request {
        writer: guid(prefix(100), number),
        reader: guid(reader, number),
        serial: u64::from(number),
        topic: "Vitals/pulse".to_owned(),
        contract: Contract { largest_message: 100, minimum_separation: 1_000_000, ..Contract::default() },
        maximum_latency: 5_000_000,
        manager: Guid::new(MANAGER, EntityId::PARTICIPANT).to_bytes(),
        ..Request::default()
    }
}

fn payload(request: &Request) -> Vec<u8> {
    let mut bytes = Vec::new();
    request.encode_payload(Encoding::XCDR1, &mut bytes).unwrap();
    bytes
}

/// A participant that asks.
struct Participant {
    keys: Arc<ToyKeys>,
    prefix: GuidPrefix,
}

impl Participant {
    fn new(number: u8, authority: u8, name: &str) -> Self {
        Self { keys: ToyKeys::user(authority, name, LATER), prefix: prefix(number) }
    }

    fn shows_itself(&self, manager: &mut Askers) -> Result<(), String> {
        manager.identity(SECONDS, self.prefix, &identity(&*self.keys, self.prefix, 0).unwrap())
    }

    fn signed(&self, request: &Request, counter: u64) -> Vec<u8> {
        self.says(request, |statement| Statement { counter, ..statement })
    }

    /// What it signs if the statement is changed so.
    fn says(&self, request: &Request, change: impl Fn(Statement<'_>) -> Statement<'_>) -> Vec<u8> {
        let mut bytes = payload(request);
        let base = Statement {
            purpose: Purpose::Request,
            from: self.prefix,
            manager: MANAGER,
            epoch: EPOCH,
            counter: 1,
            content: &bytes,
        };
        let statement = change(base);
        let (purpose, counter) = (statement.purpose, statement.counter);
        let signature = self.keys.sign(&statement.to_bytes()).unwrap();
        seal::append(&mut bytes, purpose, counter, &signature);
        bytes
    }
}

fn reason(heard: Heard) -> String {
    match heard {
        Heard::Ask(_, Asker::Unknown(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

fn is_of(heard: &Heard, name: &str) -> bool {
    matches!(heard, Heard::Ask(_, Asker::User(user)) if user == name)
}

#[test]
fn what_a_user_signs_counts_once() {
    let (mut manager, alice) = (manager(), Participant::new(1, 1, "alice"));
    alice.shows_itself(&mut manager).unwrap();
    let request = asked(alice.prefix, 1);
    let signed = alice.signed(&request, 10);
    assert!(is_of(&manager.heard(NOW, SECONDS, alice.prefix, &signed), "alice"));
    // The same again, and something older.
    assert_eq!(manager.heard(NOW, SECONDS, alice.prefix, &signed), Heard::Nothing);
    assert_eq!(manager.heard(NOW, SECONDS, alice.prefix, &alice.signed(&request, 9)), Heard::Nothing);
    let withdrawal =
        alice.says(&request, |said| Statement { purpose: Purpose::Withdrawal, counter: 11, ..said });
    assert_eq!(manager.heard(NOW, SECONDS, alice.prefix, &withdrawal), Heard::Withdraw(request.pair()));
    assert_eq!(
        manager.heard(NOW, SECONDS, alice.prefix, &signed),
        Heard::Nothing,
        "asked for again by a replay"
    );
    assert_eq!((manager.counters().replayed, manager.counters().forged), (3, 0));
}

#[test]
fn nothing_counts_for_another_participant_manager_or_start() {
    let (mut manager, alice, bob) =
        (manager(), Participant::new(1, 1, "alice"), Participant::new(2, 1, "bob"));
    alice.shows_itself(&mut manager).unwrap();
    bob.shows_itself(&mut manager).unwrap();
    let request = asked(alice.prefix, 1);
    let cases = [
        // By another user of the same authority, in the name of the first.
        (alice.prefix, bob.says(&request, |said| Statement { from: alice.prefix, ..said })),
        (alice.prefix, alice.says(&request, |said| Statement { from: bob.prefix, ..said })),
        (alice.prefix, alice.says(&request, |said| Statement { epoch: EPOCH - 1, ..said })),
        (alice.prefix, alice.says(&request, |said| Statement { manager: prefix(8), ..said })),
        // Copied.
        (bob.prefix, alice.signed(&request, 1)),
        (bob.prefix, alice.signed(&asked(bob.prefix, 1), 1)),
    ];
    for (number, (from, bytes)) in cases.iter().enumerate() {
        assert_eq!(manager.heard(NOW, SECONDS, *from, bytes), Heard::Nothing, "case {number}");
    }
    // Whole as it is it counts, also after all of that.
    assert!(is_of(&manager.heard(NOW, SECONDS, alice.prefix, &alice.signed(&request, 1)), "alice"));
    // Another start of the manager knows nothing of what was signed for this one.
    let mut again = Askers::new(ToyKeys::new(1, Holder::Manager, LATER), MANAGER, EPOCH + 1);
    alice.shows_itself(&mut again).unwrap();
    assert_eq!(again.heard(NOW, SECONDS, alice.prefix, &alice.signed(&request, 50)), Heard::Nothing);
}

#[test]
fn who_has_not_shown_who_it_is_is_told_why() {
    let mut manager = manager();
    let (alice, other) = (Participant::new(1, 1, "alice"), Participant::new(2, 2, "alice"));
    let request = asked(alice.prefix, 1);
    let said = reason(manager.heard(NOW, SECONDS, alice.prefix, &payload(&request)));
    assert!(said.contains("signed requests alone"), "{said}");
    assert!(other.shows_itself(&mut manager).unwrap_err().contains("another authority"));
    let said = reason(manager.heard(NOW, SECONDS, other.prefix, &other.signed(&asked(other.prefix, 1), 1)));
    assert!(said.contains("another authority"), "{said}");
    // A certificate that comes after the request is waited for.
    let signed = alice.signed(&request, 1);
    assert_eq!(manager.heard(NOW, SECONDS, alice.prefix, &signed), Heard::Nothing);
    alice.shows_itself(&mut manager).unwrap();
    assert_eq!(manager.take_held(alice.prefix), [signed]);
    // Not for ever.
    let late = Participant::new(3, 1, "late");
    manager.heard(NOW, SECONDS, late.prefix, &late.signed(&asked(late.prefix, 1), 1));
    assert!(manager.take_overdue(NOW + Duration::from_secs(1)).is_empty());
    let overdue = manager.take_overdue(NOW + Duration::from_secs(2));
    assert!(
        matches!(&overdue[..], [(_, Asker::Unknown(reason))] if reason.contains("not shown a certificate"))
    );
    // Once a participant signs, what comes without a signature in its name does not concern it.
    assert_eq!(manager.heard(NOW, SECONDS, alice.prefix, &payload(&request)), Heard::Nothing);
    // Nor may another user take its place.
    let thief = Participant { keys: ToyKeys::user(1, "bob", LATER), prefix: alice.prefix };
    assert!(thief.shows_itself(&mut manager).unwrap_err().contains("another user"));
    assert_eq!(manager.user(alice.prefix), Some("alice"));
}

#[test]
fn certificates_end_while_their_participants_ask() {
    let mut manager = manager();
    let alice = Participant { keys: ToyKeys::user(1, "alice", SECONDS + 100), prefix: prefix(1) };
    alice.shows_itself(&mut manager).unwrap();
    let request = asked(alice.prefix, 1);
    assert!(is_of(&manager.heard(NOW, SECONDS + 99, alice.prefix, &alice.signed(&request, 1)), "alice"));
    let said = reason(manager.heard(NOW, SECONDS + 200, alice.prefix, &alice.signed(&request, 2)));
    assert!(said.contains("expired"), "{said}");
    assert!(
        manager.identity(SECONDS + 200, prefix(2), &identity(&*alice.keys, prefix(2), 0).unwrap()).is_err()
    );
}

#[test]
fn a_participant_that_is_gone_is_not_heard_again_by_replays() {
    let (mut manager, alice) = (manager(), Participant::new(1, 1, "alice"));
    alice.shows_itself(&mut manager).unwrap();
    let signed = alice.signed(&asked(alice.prefix, 1), 10);
    assert!(is_of(&manager.heard(NOW, SECONDS, alice.prefix, &signed), "alice"));
    manager.gone(alice.prefix);
    assert_eq!(manager.present().count(), 0);
    // Its certificate can be shown again by anybody who has seen it.
    alice.shows_itself(&mut manager).unwrap();
    assert_eq!(manager.heard(NOW, SECONDS, alice.prefix, &signed), Heard::Nothing);
    // Also when 20,000 others have come and gone, and it is forgotten.
    manager.gone(alice.prefix);
    let shown = ToyKeys::user(1, "crowd", LATER);
    for number in 0..20_000_u32 {
        let mut bytes = [0xee; 12];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        let crowd = Participant { keys: Arc::clone(&shown), prefix: GuidPrefix(bytes) };
        crowd.shows_itself(&mut manager).unwrap();
        let counter = 11 + u64::from(number);
        assert!(is_of(
            &manager.heard(NOW, SECONDS, crowd.prefix, &crowd.signed(&asked(crowd.prefix, 1), counter)),
            "crowd"
        ));
        manager.gone(crowd.prefix);
    }
    alice.shows_itself(&mut manager).unwrap();
    assert!(reason(manager.heard(NOW, SECONDS, alice.prefix, &signed)).contains("clock"));
}

/// Something that was not said by a participant with a right to it.
fn hostile(
    random: &mut Random,
    good: &[(GuidPrefix, Vec<u8>)],
    users: &[Participant],
) -> (GuidPrefix, Vec<u8>) {
    let any = |random: &mut Random, most: usize| random.below_u64(most as u64) as usize;
    let (from, bytes) = good[any(random, good.len())].clone();
    let user = &users[any(random, users.len())];
    let other = &users[any(random, users.len())];
    let number = random.bits() as u8;
    match random.below_u64(8) {
        0 => {
            let mut bytes = bytes;
            for _ in 0..=random.below_u64(3) {
                let at = any(random, bytes.len());
                bytes[at] ^= 1 << random.below_u64(8);
            }
            (from, bytes)
        }
        1 => (from, bytes[..any(random, bytes.len())].to_vec()),
        2 => (user.prefix, payload(&asked(user.prefix, number))),
        3 => (from, bytes),
        4 => (user.prefix, bytes),
        5 if other.prefix != user.prefix => {
            let counter = random.bits();
            (
                user.prefix,
                other.says(&asked(user.prefix, number), |said| Statement {
                    counter,
                    from: user.prefix,
                    ..said
                }),
            )
        }
        5 | 6 => {
            let (wrong, counter) = (random.below_u64(3), random.bits());
            let said = user.says(&asked(user.prefix, number), |said| match wrong {
                0 => Statement { epoch: EPOCH + 1 + (counter & 7), counter, ..said },
                1 => Statement { manager: user.prefix, counter, ..said },
                _ => Statement { purpose: Purpose::Verdict, counter, ..said },
            });
            (user.prefix, said)
        }
        _ => (user.prefix, (0..random.below_u64(400)).map(|_| random.bits() as u8).collect()),
    }
}

#[test]
fn no_request_that_is_not_authorised_is_taken() {
    let mut random = Random::new(19);
    let mut manager = manager();
    let users: Vec<Participant> =
        (1..=4).map(|number| Participant::new(number, 1, &format!("user-{number}"))).collect();
    let mut good = Vec::new();
    for user in &users {
        user.shows_itself(&mut manager).unwrap();
        let bytes = user.signed(&asked(user.prefix, 1), 5);
        assert!(matches!(manager.heard(NOW, SECONDS, user.prefix, &bytes), Heard::Ask(_, Asker::User(_))));
        good.push((user.prefix, bytes));
    }
    let strangers = [Participant::new(50, 2, "user-1"), Participant::new(51, 3, "user-2")];
    let tries = tiers::current().number("control.unauthorised");
    for number in 0..tries {
        let whose = if random.below_u64(4) == 0 { &strangers[..] } else { &users[..] };
        let (from, bytes) = hostile(&mut random, &good, whose);
        match manager.heard(NOW, SECONDS, from, &bytes) {
            Heard::Nothing | Heard::Ask(_, Asker::Unknown(_)) => {}
            taken => panic!("{number}: {taken:?}"),
        }
    }
    let counters = *manager.counters();
    assert!(counters.forged > 0 && counters.replayed > 0 && counters.unsigned > 0, "{counters:?}");
    // None of that has kept those who may from asking.
    for user in &users {
        let bytes = user.signed(&asked(user.prefix, 2), 6);
        assert!(matches!(manager.heard(NOW, SECONDS, user.prefix, &bytes), Heard::Ask(_, Asker::User(_))));
    }
}
