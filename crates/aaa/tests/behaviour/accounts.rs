//! Records of sessions that no server was asked for: of callers of other domains, which managers there answer for.
use aaa::client::{Client, Output, Refusal};
use aaa::entry::{RecordKind, SpoolEntry};
use diameter::Message;
use diameter::accounting::recorder::Usage;
use diameter::command::{AccountingRecordType, AccountingRequest, TerminationCause};
use diameter::qos::QosResources;
use wan::Class;

use crate::world::{SECOND, World, ask, client_settings};

const HOSTED: &str = "rm0.x;0;7;AS2";

fn reserved() -> QosResources {
    ask("AS2", None, "203.0.113.9", Class::Ef, 1_000).resources
}

fn usage(bytes: u64) -> Usage {
    Usage { input_bytes: bytes, ..Usage::default() }
}

fn at(second: u64) -> aaa::server::Now {
    aaa::server::Now { monotonic: second * SECOND, unix: crate::DURING + second }
}

/// Stores what is to be stored; the messages that are.
fn store(client: &mut Client, second: u64, disk: &mut Vec<SpoolEntry>) -> Vec<Message> {
    let mut messages = Vec::new();
    while let Some(output) = client.poll_output() {
        let Output::Store { number, entry } = output else { continue };
        if let SpoolEntry::Added { message, .. } = &entry {
            messages.push(Message::decode(&message.0).unwrap().1);
        }
        disk.push(entry);
        client.stored(at(second), number, true);
    }
    messages
}

/// The one record that was stored.
fn record(client: &mut Client, second: u64, disk: &mut Vec<SpoolEntry>) -> AccountingRequest {
    let mut messages = store(client, second, disk);
    match (messages.pop(), messages.is_empty()) {
        (Some(Message::AccountingRequest(request)), true) => request,
        other => panic!("{other:?}"),
    }
}

#[test]
fn records_go_on_after_a_crash_or_end_with_what_was_told() {
    let mut disk = Vec::new();
    let mut client = Client::new(client_settings(0), Vec::new(), at(0), 1);
    client.account(at(0), HOSTED, "AS2", reserved()).unwrap();
    let first = record(&mut client, 0, &mut disk);
    assert_eq!((&*first.session_id, first.user_name.as_deref()), (HOSTED, Some("AS2")));
    assert_eq!(
        (first.accounting_record_type, first.accounting_record_number),
        (AccountingRecordType::Start, 0)
    );
    client.account(at(1), HOSTED, "AS2", reserved()).expect_err("it is accounted already");
    assert!(store(&mut client, 1, &mut disk).is_empty());
    drop(client);

    // The next run goes on with it.
    let crashed = disk.clone();
    let mut client = Client::new(client_settings(0), disk.clone(), at(2), 2);
    assert!(!client.resume_account(at(2), "rm0.x;0;8;AS2"), "a session without records has none that go on");
    assert!(client.resume_account(at(2), HOSTED));
    client.end_restored(at(2));
    assert!(store(&mut client, 2, &mut disk).is_empty(), "it goes on, and no record is written");
    client.account(at(2), HOSTED, "AS2", reserved()).expect_err("it is accounted already");
    client.stop_accounting(at(9), HOSTED, usage(900), TerminationCause::Logout).unwrap();
    let last = record(&mut client, 9, &mut disk);
    assert_eq!(
        (last.accounting_record_type, last.accounting_record_number),
        (AccountingRecordType::Stop, first.accounting_record_number + 1)
    );
    assert_eq!((last.accounting_input_octets, &*last.session_id), (Some(900), HOSTED));
    client
        .stop_accounting(at(9), HOSTED, usage(900), TerminationCause::Logout)
        .expect_err("its records have ended");
    drop(client);
    let mut client = Client::new(client_settings(0), disk, at(10), 3);
    assert!(!client.resume_account(at(10), HOSTED), "its records have ended");

    // Or the next run does not: then a last record ends it.
    let mut disk = crashed;
    let mut client = Client::new(client_settings(0), disk.clone(), at(2), 4);
    client.end_restored(at(2));
    let last = record(&mut client, 2, &mut disk);
    assert_eq!((last.accounting_record_type, &*last.session_id), (AccountingRecordType::Stop, HOSTED));
    assert_eq!(last.termination_cause, Some(TerminationCause::Administrative));
}

/// While the server is away, neighbours set up and end sessions as often as they like. All that was granted has its last record all the same, and
/// own callers are not refused because of the neighbours.
#[test]
fn records_of_others_take_no_room_of_sessions_that_were_granted() {
    let mut world = World::new(7, 1);
    world.calm = true;
    world.run(SECOND);
    let now = world.time();
    let client = world.managers[0].client.as_mut().unwrap();
    let granted = [100_000, 200_000]
        .map(|rate| client.authorize(now, ask("user-alice", None, "203.0.113.9", Class::Ef, rate)));
    world.run(5 * SECOND);
    assert_eq!(world.managers[0].granted, 2);

    world.server = None;
    world.cut(0);
    world.run(SECOND);
    let now = world.time();
    let most = client_settings(0).most_records;
    let client = world.managers[0].client.as_mut().unwrap();
    let name = |number: usize| format!("rm0.x;0;{number};AS2");
    // Some that stay open, and then many that are over at once.
    const OPEN: usize = 10;
    for number in 0..OPEN {
        client.account(now, &name(number), "AS2", reserved()).unwrap();
    }
    let mut number = OPEN;
    loop {
        number += 1;
        if client.account(now, &name(number), "AS2", reserved()).is_err() {
            break;
        }
        client.stop_accounting(now, &name(number), usage(1), TerminationCause::Logout).unwrap();
        assert!(number < most, "others fill all of the spool");
    }
    assert!(number > most / 8, "{number}: others have a share of the spool");
    let of_others = client.undelivered();
    assert!(of_others <= most / 2, "{of_others} of {most}");
    while client.poll_output().is_some() {}
    // The refusal of an own caller is that there is no server, and not that there is no room.
    client.authorize(now, ask("user-alice", None, "203.0.113.9", Class::Ef, 100_000));
    let decided = std::iter::from_fn(|| client.poll_output()).find_map(|output| match output {
        Output::Decided { result, .. } => Some(result),
        _ => None,
    });
    assert!(matches!(decided, Some(Err(Refusal::NoServer))), "{decided:?}");

    // Records in between take what is left, and nothing that was promised.
    let interims = (0..=most).take_while(|_| client.interim(now, &granted[0], usage(1)).is_ok()).count();
    assert!(interims > most / 4 && interims < most, "{interims}");
    let before = client.undelivered();
    for number in 0..OPEN {
        client.stop_accounting(now, &name(number), usage(5), TerminationCause::Logout).unwrap();
    }
    assert_eq!(client.undelivered(), before + OPEN, "last records of those that have first ones");
    for session in &granted {
        world.stop_session(0, session);
    }
    let client = world.managers[0].client.as_mut().unwrap();
    assert_eq!(client.undelivered(), before + OPEN + granted.len(), "last records of what was granted");
}

/// The server keeps them as those of sessions without a grant.
#[test]
fn the_server_knows_no_grant_for_them() {
    let mut world = World::new(8, 1);
    world.calm = true;
    world.run(SECOND);
    let now = world.time();
    world.managers[0].client.as_mut().unwrap().account(now, HOSTED, "AS2", reserved()).unwrap();
    world.run(5 * SECOND);
    let now = world.time();
    let client = world.managers[0].client.as_mut().unwrap();
    client.stop_accounting(now, HOSTED, usage(70), TerminationCause::Logout).unwrap();
    world.run(20 * SECOND);
    assert_eq!(world.managers[0].client.as_ref().unwrap().undelivered(), 0);
    let kept: Vec<_> =
        world.records.iter().map(|it| (&*it.session, it.kind, it.granted, it.input_bytes)).collect();
    assert_eq!(kept, [(HOSTED, RecordKind::Start, false, 0), (HOSTED, RecordKind::Stop, false, 70)]);
}
