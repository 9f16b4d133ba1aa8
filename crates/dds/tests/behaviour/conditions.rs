//! Conditions and WaitSets in virtual time (DDS 1.4, 2.2.2.1.6 to 2.2.2.1.9).
use dds::{
    Condition, Duration, GuardCondition, NO_STATUS, ReturnCode, SampleStates, States, StatusMask, ViewStates,
    WaitSet,
};

use crate::fixture::*;

/// The conditions that hold after a wait, by their place in `conditions`.
fn wait(waits: &WaitSet, conditions: &[&Condition], timeout: Duration) -> Vec<usize> {
    match waits.wait(timeout) {
        Ok(active) => (0..conditions.len()).filter(|index| active.contains(conditions[*index])).collect(),
        Err(error) => {
            assert_eq!(error.code, ReturnCode::Timeout);
            Vec::new()
        }
    }
}

#[test]
fn a_wait_ends_when_a_condition_holds_and_names_all_that_do() {
    let (mut desk, here, there) = two();
    let (writer, reader) = (writer(&here, keep_all), reader(&there, |_| {}));
    let status: Condition = reader.get_statuscondition().into();
    let fresh: Condition = reader.create_readcondition(States::NOT_READ).into();
    let large = reader.create_querycondition(States::ANY, |data| data.value > 100);
    let query: Condition = large.clone().into();
    let guard = GuardCondition::new();
    let guarded: Condition = guard.clone().into();
    let waits = WaitSet::new();
    let all = [&status, &fresh, &query, &guarded];
    all.iter().for_each(|condition| waits.attach_condition((*condition).clone()).unwrap());
    assert_eq!(waits.get_conditions().len(), 4);
    // A match is a status; discovery happens while the thread waits.
    assert_eq!(wait(&waits, &all, Duration::from_secs(5)), [0]);
    assert_eq!(reader.get_subscription_matched_status().current.count, 1);
    reader.get_liveliness_changed_status();
    let before = desk.now().monotonic;
    assert_eq!(wait(&waits, &all, millis(300)), [0; 0]);
    assert_eq!(desk.now().monotonic.since(before), millis(300), "it waits for as long as it may");
    writer.write(&reading(1, 7)).unwrap();
    assert_eq!(wait(&waits, &all, millis(300)), [0, 1]);
    assert_eq!(desk.now().monotonic.since(before), millis(300), "the sample has no delay here");
    writer.write(&reading(1, 700)).unwrap();
    desk.run(millis(1));
    assert_eq!(wait(&waits, &all, Duration::ZERO), [0, 1, 2]);
    guard.set_trigger_value(true);
    assert_eq!(wait(&waits, &all, Duration::ZERO), [0, 1, 2, 3]);
    let taken = reader.take_w_query(usize::MAX, &large).unwrap();
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].data, Some(reading(1, 700)));
    assert_eq!(wait(&waits, &all, Duration::ZERO), [1, 3], "DATA_AVAILABLE was settled, a sample is left");
    assert_eq!(values(&reader), [7]);
    guard.set_trigger_value(false);
    assert_eq!(wait(&waits, &all, Duration::ZERO), [0; 0]);
}

#[test]
fn asking_a_query_condition_settles_nothing() {
    let (mut desk, here, there) = two();
    let (writer, reader) = (writer(&here, |_| {}), reader(&there, |_| {}));
    settle(&mut desk);
    writer.write(&reading(1, 1)).unwrap();
    desk.run(millis(1));
    let query = reader.create_querycondition(States::ANY, |data| data.value == 1);
    assert!(query.get_trigger_value());
    assert!(reader.get_status_changes().intersects(StatusMask::DATA_AVAILABLE));
    assert_eq!(reader.read_w_query(9, &query).unwrap().len(), 1);
    assert!(!reader.get_status_changes().intersects(StatusMask::DATA_AVAILABLE));
}

#[test]
fn only_enabled_statuses_count_and_an_entity_has_one_status_condition() {
    let (mut desk, here, there) = two();
    let (writer, reader) = (writer(&here, |_| {}), reader(&there, |_| {}));
    let condition = reader.get_statuscondition();
    assert_eq!(condition.get_enabled_statuses(), StatusMask(u32::MAX));
    condition.set_enabled_statuses(StatusMask::DATA_AVAILABLE);
    assert_eq!(reader.get_statuscondition().get_enabled_statuses(), StatusMask::DATA_AVAILABLE);
    settle(&mut desk);
    assert!(!condition.get_trigger_value(), "a match does not count");
    reader.get_statuscondition().set_enabled_statuses(StatusMask::SUBSCRIPTION_MATCHED);
    assert!(condition.get_trigger_value());
    condition.set_enabled_statuses(NO_STATUS);
    writer.write(&reading(1, 1)).unwrap();
    desk.run(millis(1));
    assert!(!condition.get_trigger_value());
    assert!(!publisher(&here).get_statuscondition().get_trigger_value());
    assert!(!here.get_statuscondition().get_trigger_value());
    let topic = topic(&here);
    assert!(!topic.get_statuscondition().get_trigger_value());
    assert!(writer.get_statuscondition().get_trigger_value(), "PUBLICATION_MATCHED");
}

#[test]
fn conditions_are_attached_once_and_detached_once() {
    let (_desk, here, _there) = two();
    let reader = reader(&here, |_| {});
    let query = reader.create_querycondition(States::ANY, |_| true);
    let waits = WaitSet::new();
    for _ in 0..2 {
        waits.attach_condition(query.clone().into()).unwrap();
        waits.attach_condition(reader.create_readcondition(States::ANY).into()).unwrap();
    }
    assert_eq!(waits.get_conditions().len(), 2);
    let other: Condition = reader.create_querycondition(States::ANY, |_| true).into();
    assert_eq!(waits.detach_condition(&other).unwrap_err().code, ReturnCode::PreconditionNotMet);
    waits.detach_condition(&query.clone().into()).unwrap();
    assert_eq!(waits.detach_condition(&query.into()).unwrap_err().code, ReturnCode::PreconditionNotMet);
    waits.detach_condition(&reader.create_readcondition(States::ANY).into()).unwrap();
    assert_eq!(waits.get_conditions().len(), 0);
    // What was detached does not count.
    let writer = writer(&here, |_| {});
    writer.write(&reading(1, 1)).unwrap();
    assert_eq!(waits.wait(Duration::ZERO).err().unwrap().code, ReturnCode::Timeout);
}

#[test]
fn reading_makes_conditions_hold_that_wait_for_read_samples() {
    let (_desk, here, _there) = two();
    let (writer, reader) = (writer(&here, |_| {}), reader(&here, |_| {}));
    writer.write(&reading(1, 1)).unwrap();
    let read = States { sample: SampleStates::READ, ..States::ANY };
    let known = States { view: ViewStates::NOT_NEW, ..States::ANY };
    let (read, known) = (reader.create_readcondition(read), reader.create_readcondition(known));
    assert!(!read.get_trigger_value() && !known.get_trigger_value());
    assert_eq!(reader.read(1, States::ANY).unwrap().len(), 1);
    assert!(read.get_trigger_value() && known.get_trigger_value());
    assert_eq!(reader.take_w_condition(9, &read).unwrap().len(), 1);
    assert!(!read.get_trigger_value() && !known.get_trigger_value());
}

#[test]
fn a_condition_of_another_reader_is_refused() {
    let (_desk, here, _there) = two();
    let (one, other) = (reader(&here, |_| {}), reader(&here, |_| {}));
    let condition = one.create_readcondition(States::ANY);
    let query = one.create_querycondition(States::ANY, |_| true);
    assert!(one.take_w_condition(1, &condition).is_ok());
    assert_eq!(other.take_w_condition(1, &condition).unwrap_err().code, ReturnCode::PreconditionNotMet);
    assert_eq!(other.read_w_query(1, &query).unwrap_err().code, ReturnCode::PreconditionNotMet);
}

#[test]
fn waiting_for_data_on_readers_is_waiting_for_any_reader() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |_| {});
    let subscriber = subscriber(&there);
    let reader = reader_of(&subscriber, |_| {});
    settle(&mut desk);
    let waits = WaitSet::new();
    waits.attach_condition(subscriber.get_statuscondition().into()).unwrap();
    assert!(waits.wait(millis(10)).is_err());
    writer.write(&reading(1, 1)).unwrap();
    assert_eq!(waits.wait(millis(10)).unwrap().len(), 1);
    assert_eq!(values(&reader), [1]);
    assert!(waits.wait(millis(10)).is_err());
}

#[test]
fn waiting_for_discovery_ends_when_it_was_found() {
    let (mut desk, here, there) = two();
    let _writer = writer(&there, |_| {});
    assert!(
        here.wait_for_discovery(Duration::from_secs(5), |here| here.get_discovered_endpoints().len() == 1)
            .unwrap()
    );
    assert!(desk.now().monotonic.as_nanos() < 5_000_000_000);
    assert!(!here.wait_for_discovery(millis(10), |_| false).unwrap());
    desk.black_out();
    drop(there);
    assert!(
        here.wait_for_discovery(Duration::from_secs(300), |here| here
            .get_discovered_participants()
            .is_empty())
            .unwrap()
    );
}
