//! Records, step by step: RFC 6733, 8.2 and 9.

use crate::independent::Message as Bytes;
use diameter::accounting::ledger::{Ledger, Reception, answer};
use diameter::accounting::recorder::{Account, Recorder, Usage};
use diameter::accounting::spool::{AddError, Output, Record, Spool};
use diameter::command::{AccountingRealtimeRequired, AccountingRequest, TerminationCause};
use diameter::local::Local;
use diameter::value::{Identity, Time};
use diameter::{Message, ResultCode};

const SECOND: u64 = 1_000_000_000;

fn local() -> Local {
    Local {
        host: Identity::new("c.x").unwrap(),
        realm: Identity::new("x").unwrap(),
        addresses: Vec::new(),
        product_name: "Punctual".into(),
        origin_state_id: 0,
        auth_applications: Vec::new(),
        acct_applications: Vec::new(),
    }
}

fn recorder(realtime: AccountingRealtimeRequired) -> Recorder {
    let account = Account {
        session_id: "c.x;1;2".into(),
        realm: Identity::new("x").unwrap(),
        user: None,
        class: vec![b"k".to_vec()],
        reserved: None,
        realtime,
        interim_interval: Some(60),
    };
    Recorder::new(local(), account)
}

/// A start, an interim and a stop record.
fn three() -> [AccountingRequest; 3] {
    let mut recorder = recorder(AccountingRealtimeRequired::GrantAndStore);
    let usage = Usage { input_bytes: 10, output_bytes: 20, input_packets: 1, output_packets: 2 };
    let start = recorder.start(0, Time(1)).unwrap();
    assert_eq!(recorder.due(), Some(60 * SECOND));
    let interim = recorder.interim(60 * SECOND, Time(2), usage).unwrap();
    let stop = recorder.stop(61 * SECOND, Time(3), usage, TerminationCause::Logout).unwrap();
    assert_eq!((recorder.due(), recorder.interim(62 * SECOND, Time(4), usage)), (None, None));
    [start, interim, stop]
}

fn outputs(spool: &mut Spool) -> Vec<Output> {
    std::iter::from_fn(|| spool.poll_output()).collect()
}

fn confirmed(record: &AccountingRequest, code: ResultCode) -> diameter::command::AccountingAnswer {
    answer(&local(), record, code)
}

/// A spool with one record that is sent.
fn sent() -> (Spool, u64, AccountingRequest, Record) {
    let mut spool = Spool::new(2, 1);
    let [record, ..] = three();
    let key = spool.add(record.clone(), 77).unwrap();
    let stored = match &outputs(&mut spool)[..] {
        [Output::Store { record, .. }] => record.clone(),
        other => panic!("{other:?}"),
    };
    spool.on_timer(0);
    assert_eq!(outputs(&mut spool), [], "not before it is stored");
    spool.stored(0, key);
    assert_eq!(outputs(&mut spool), [Output::Send { key, message: stored.message.clone() }]);
    (spool, key, record, stored)
}

#[test]
fn numbers_count_from_zero_and_a_session_is_served_as_its_records_require() {
    assert_eq!(three().map(|record| record.accounting_record_number), [0, 1, 2]);
    for (realtime, stored, delivered) in [
        (AccountingRealtimeRequired::DeliverAndGrant, false, true),
        (AccountingRealtimeRequired::GrantAndStore, true, true),
    ] {
        let mut recorder = recorder(realtime);
        recorder.on_stored();
        assert!(!recorder.may_serve());
        recorder.start(0, Time(1)).unwrap();
        assert!(!recorder.may_serve());
        recorder.on_stored();
        assert_eq!(recorder.may_serve(), stored);
        recorder.on_delivered();
        assert_eq!(recorder.may_serve(), delivered);
        let ends = recorder.on_failed();
        assert_eq!((ends, recorder.may_serve()), (!stored, stored));
        recorder.stop(1, Time(2), Usage::default(), TerminationCause::Logout).unwrap();
        assert!(!recorder.may_serve());
    }
}

#[test]
fn a_record_is_sent_the_same_until_it_is_confirmed() {
    let (mut spool, key, record, stored) = sent();
    spool.on_unanswered(0, key);
    spool.on_unanswered(0, key);
    assert_eq!(spool.due(), Some(SECOND), "one failure");
    spool.on_timer(SECOND);
    let again = match &outputs(&mut spool)[..] {
        [Output::Send { message, .. }] => Bytes::read(message),
        other => panic!("{other:?}"),
    };
    let first = Bytes::read(&stored.message);
    assert_eq!((again.flags, first.flags), (0xd0, 0xc0));
    assert_eq!((again.end_to_end, &again.avps), (77, &first.avps));
    spool.on_answer(SECOND, key, &confirmed(&record, ResultCode::OUT_OF_SPACE));
    assert_eq!(spool.due(), Some(3 * SECOND), "twice as long");
    spool.on_timer(3 * SECOND);
    outputs(&mut spool);
    let [_, other, _] = three();
    spool.on_answer(4 * SECOND, key, &confirmed(&other, ResultCode::SUCCESS));
    spool.on_error(4 * SECOND, key, ResultCode::SUCCESS);
    assert_eq!(
        (spool.len(), outputs(&mut spool)),
        (1, vec![]),
        "another record, and no answer that can be read"
    );
    spool.on_timer(100 * SECOND);
    outputs(&mut spool);
    spool.on_answer(100 * SECOND, key, &confirmed(&record, ResultCode::SUCCESS));
    assert_eq!((spool.len(), outputs(&mut spool)), (0, vec![Output::Forget { key }]));
}

#[test]
fn a_rejected_record_stays_until_it_is_discarded() {
    let (mut spool, key, record, _) = sent();
    spool.on_answer(1, key, &confirmed(&record, ResultCode::UNABLE_TO_COMPLY));
    let rejected = Output::Rejected { key, code: ResultCode::UNABLE_TO_COMPLY };
    assert_eq!((outputs(&mut spool), spool.due()), (vec![rejected], None));
    spool.discard(key);
    assert_eq!(outputs(&mut spool), [Output::Forget { key }]);
}

#[test]
fn a_spool_has_a_limit_and_a_window_and_survives_a_restart() {
    let (mut spool, ..) = sent();
    let [_, second, third] = three();
    let key = spool.add(second, 78).unwrap();
    assert_eq!(spool.add(third, 79), Err(AddError::Full(2)));
    spool.stored(0, key);
    let kept: Vec<Record> = outputs(&mut spool)
        .into_iter()
        .map(|output| match output {
            Output::Store { record, .. } => record,
            other => panic!("the window is full: {other:?}"),
        })
        .collect();
    let mut after = Spool::new(2, 1);
    let key = after.restore(5, kept[0].clone());
    after.on_timer(5);
    let [Output::Send { message, key: sent }] = &outputs(&mut after)[..] else { panic!("it is sent") };
    assert_eq!((*sent, Bytes::read(message).flags, Bytes::read(message).end_to_end), (key, 0xd0, 78));
}

#[test]
fn a_record_is_taken_once() {
    let [start, interim, stop] = three();
    let mut ledger = Ledger::new(1, 100);
    assert_eq!(ledger.on_request(0, &stop), Reception::Store);
    assert_eq!(ledger.on_request(0, &stop), Reception::Storing);
    ledger.not_stored(&stop);
    assert!(ledger.is_empty());
    for record in [&stop, &start] {
        assert_eq!(ledger.on_request(0, record), Reception::Store);
        ledger.stored(0, record);
        assert_eq!(ledger.on_request(0, record), Reception::Known);
    }
    let mut other = start.clone();
    other.session_id.push('0');
    let full = Reception::Refused(ResultCode::OUT_OF_SPACE);
    assert_eq!(ledger.on_request(1000, &other), full, "the session is not complete");
    let mut restarted = Ledger::new(1, 100);
    restarted.restore(0, &stop.session_id, 2, stop.accounting_record_type);
    assert_eq!(restarted.on_request(0, &stop), Reception::Known);
    assert_eq!(ledger.on_request(0, &interim), Reception::Store);
    ledger.stored(0, &interim);
    assert_eq!(ledger.on_request(99, &other), full, "it may come again");
    assert_eq!(ledger.on_request(100, &other), Reception::Store);
    let message = Message::AccountingAnswer(answer(&local(), &start, ResultCode::SUCCESS));
    assert_eq!(message.kind().map(|(command, request, _)| (command.0, request)), Some((271, false)));
}

#[test]
fn gaps_have_a_limit() {
    let [start, ..] = three();
    let mut ledger = Ledger::new(1, 100);
    for number in 0..64 {
        let record = AccountingRequest { accounting_record_number: 2 * number, ..start.clone() };
        assert_eq!(ledger.on_request(0, &record), Reception::Store);
        ledger.stored(0, &record);
    }
    let record = AccountingRequest { accounting_record_number: 999, ..start };
    assert_eq!(ledger.on_request(0, &record), Reception::Refused(ResultCode::OUT_OF_SPACE));
}
