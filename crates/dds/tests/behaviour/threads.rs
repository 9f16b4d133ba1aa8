//! What only threads can show: that nobody sleeps through what it waits for, and that nobody waits for ever.
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration as StdDuration;

use dds::{
    DataReader, DataReaderListener, DataWriter, DomainParticipant, Duration, GuardCondition, NO_STATUS,
    QosKind, States, StatusMask, WaitSet,
};

use crate::fixture::*;
use crate::loft::Loft;

/// Longer than anything here takes on a busy machine; only a failing test waits so long.
const PATIENCE: StdDuration = StdDuration::from_secs(60);

/// Runs a test on a thread of its own, which must end.
pub(crate) fn must_end(test: impl FnOnce() + Send + 'static) {
    let (tell, ended) = channel();
    let thread = thread::spawn(move || {
        test();
        let _ = tell.send(());
    });
    if ended.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        panic!("somebody waits for ever");
    }
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn match_all(participants: &[&DomainParticipant], endpoints: usize) {
    for participant in participants {
        let known = participant.wait_for_discovery(Duration::INFINITE, |known| {
            known.get_discovered_endpoints().len() >= endpoints
        });
        assert!(known.unwrap());
    }
}

fn arrivals(reader: &DataReader<Reading>) -> WaitSet {
    let waits = WaitSet::new();
    waits.attach_condition(reader.create_readcondition(States::NOT_READ).into()).unwrap();
    waits
}

fn await_value(waits: &WaitSet, reader: &DataReader<Reading>, value: i64) {
    loop {
        waits.wait(Duration::INFINITE).unwrap();
        let found = values(reader);
        if found.contains(&value) {
            return;
        }
        assert_eq!(found, [0; 0]);
    }
}

/// Samples go to and fro, each when the one before has come.
fn ping_pong(leads: bool) {
    let loft = Loft::new(leads);
    let (here, there) = (loft.participant(), loft.participant());
    let (ping, pong) = (writer(&here, |_| {}), writer_of_topic(&there, "Pong"));
    let (pinged, ponged) = (reader(&there, |_| {}), reader_of_topic(&here, "Pong"));
    match_all(&[&here, &there], 4);
    await_matches(&ping, &pinged);
    await_matches(&pong, &ponged);
    let echo = thread::spawn(move || {
        let waits = arrivals(&pinged);
        for value in 0..2000 {
            await_value(&waits, &pinged, value);
            pong.write(&reading(1, value)).unwrap();
        }
        pong.wait_for_acknowledgments(Duration::INFINITE).unwrap();
    });
    let waits = arrivals(&ponged);
    for value in 0..2000 {
        ping.write(&reading(1, value)).unwrap();
        await_value(&waits, &ponged, value);
    }
    ping.wait_for_acknowledgments(Duration::INFINITE).unwrap();
    echo.join().unwrap();
    drop(there);
}

fn await_matches(writer: &DataWriter<Reading>, reader: &DataReader<Reading>) {
    let waits = WaitSet::new();
    waits.attach_condition(writer.get_statuscondition().into()).unwrap();
    while writer.get_publication_matched_status().current.count == 0 {
        waits.wait(Duration::INFINITE).unwrap();
    }
    let waits = WaitSet::new();
    waits.attach_condition(reader.get_statuscondition().into()).unwrap();
    while reader.get_subscription_matched_status().current.count == 0 {
        waits.wait(Duration::INFINITE).unwrap();
    }
}

fn writer_of_topic(participant: &DomainParticipant, name: &str) -> DataWriter<Reading> {
    let topic = named_topic(participant, name);
    publisher(participant).create_datawriter::<Reading>(&topic, QosKind::Default, None, NO_STATUS).unwrap()
}

fn reader_of_topic(participant: &DomainParticipant, name: &str) -> DataReader<Reading> {
    let topic = named_topic(participant, name);
    let subscriber = subscriber(participant);
    let mut qos = subscriber.get_default_datareader_qos();
    qos.endpoint.reliability = dds::qos::Reliability::RELIABLE;
    subscriber.create_datareader::<Reading>(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
}

#[test]
fn no_arrival_is_slept_through_by_a_thread_that_is_woken() {
    must_end(|| ping_pong(false));
}

#[test]
fn no_arrival_is_slept_through_by_a_thread_that_receives() {
    must_end(|| ping_pong(true));
}

#[test]
fn what_another_thread_of_the_host_finds_wakes_a_thread_that_receives() {
    must_end(|| {
        let loft = Loft::new(true);
        let here = loft.participant();
        let deadline = Duration::from_millis(20);
        let writer = writer(&here, |qos| qos.endpoint.deadline = deadline);
        let reader = reader(&here, |qos| qos.endpoint.deadline = deadline);
        await_matches(&writer, &reader);
        writer.write(&reading(1, 1)).unwrap();
        let condition = reader.get_statuscondition();
        condition.set_enabled_statuses(StatusMask::REQUESTED_DEADLINE_MISSED);
        let waits = WaitSet::new();
        waits.attach_condition(condition.into()).unwrap();
        // Nothing comes in: only the timer's thread knows.
        for _ in 0..3 {
            waits.wait(Duration::INFINITE).unwrap();
            assert!(reader.get_requested_deadline_missed_status().total.change > 0);
        }
    });
}

#[test]
fn no_guard_is_slept_through() {
    must_end(|| {
        let guards = [GuardCondition::new(), GuardCondition::new()];
        let [there, back] = guards.clone();
        let partner = thread::spawn(move || {
            let waits = WaitSet::new();
            waits.attach_condition(there.clone().into()).unwrap();
            for _ in 0..5000 {
                waits.wait(Duration::INFINITE).unwrap();
                there.set_trigger_value(false);
                back.set_trigger_value(true);
            }
        });
        let [there, back] = guards;
        let waits = WaitSet::new();
        waits.attach_condition(back.clone().into()).unwrap();
        for _ in 0..5000 {
            there.set_trigger_value(true);
            waits.wait(Duration::INFINITE).unwrap();
            back.set_trigger_value(false);
        }
        partner.join().unwrap();
    });
}

#[test]
fn several_threads_may_wait_for_one_reader() {
    for leads in [false, true] {
        must_end(move || {
            let loft = Loft::new(leads);
            let (here, there) = (loft.participant(), loft.participant());
            let (writer, reader) = (writer(&here, keep_all), reader(&there, |_| {}));
            await_matches(&writer, &reader);
            let left = Arc::new(AtomicU32::new(1000));
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let (reader, left) = (reader.clone(), Arc::clone(&left));
                    thread::spawn(move || {
                        let waits = arrivals(&reader);
                        let all = GuardCondition::new();
                        waits.attach_condition(all.into()).unwrap();
                        while left.load(SeqCst) > 0 {
                            // Others may take what this one was woken for.
                            let _ = waits.wait(Duration::from_millis(50));
                            let taken = reader.take(2, States::ANY).unwrap().len();
                            left.fetch_sub(u32::try_from(taken).unwrap(), SeqCst);
                        }
                    })
                })
                .collect();
            for value in 0..1000 {
                writer.write(&reading(1, value)).unwrap();
            }
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(left.load(SeqCst), 0);
        });
    }
}

#[test]
fn a_condition_that_is_attached_while_a_thread_waits_counts() {
    must_end(|| {
        let (waits, guard) = (WaitSet::new(), GuardCondition::new());
        guard.set_trigger_value(true);
        let waiting = waits.clone();
        let thread = thread::spawn(move || waiting.wait(Duration::INFINITE).unwrap().len());
        waits.attach_condition(guard.into()).unwrap();
        assert_eq!(thread.join().unwrap(), 1);
    });
}

/// Says that it is in the callback, and stays until it is told that somebody wants to take the listener away.
struct Slow {
    entered: Mutex<Sender<()>>,
    leave: Mutex<Receiver<()>>,
    done: AtomicBool,
}

impl DataReaderListener<Reading> for Slow {
    fn on_data_available(&self, _: &DataReader<Reading>) {
        let _ = self.entered.lock().unwrap().send(());
        let _ = self.leave.lock().unwrap().recv();
        // Long enough for whoever does not wait to be seen not to.
        thread::sleep(StdDuration::from_millis(30));
        self.done.store(true, SeqCst);
    }
}

/// Brings a reader into its callback, ends the listener by `end`, and looks whether that waited.
fn waits_for_call(end: impl FnOnce(&DataReader<Reading>) + Send + 'static) {
    must_end(move || {
        let loft = Loft::new(false);
        let (here, there) = (loft.participant(), loft.participant());
        let (writer, reader) = (writer(&here, |_| {}), reader(&there, |_| {}));
        await_matches(&writer, &reader);
        let ((entered, is_in), (leave, may_leave)) = (channel(), channel());
        let slow = Arc::new(Slow {
            entered: Mutex::new(entered),
            leave: Mutex::new(may_leave),
            done: AtomicBool::new(false),
        });
        reader.set_listener(Some(Arc::clone(&slow) as _), StatusMask::DATA_AVAILABLE);
        writer.write(&reading(1, 1)).unwrap();
        is_in.recv().unwrap();
        leave.send(()).unwrap();
        end(&reader);
        assert!(slow.done.load(SeqCst), "the call in flight was not waited for");
        writer.write(&reading(1, 2)).unwrap();
        writer.wait_for_acknowledgments(Duration::INFINITE).unwrap();
        assert!(is_in.try_recv().is_err(), "and none follows");
    });
}

#[test]
fn taking_a_listener_away_waits_for_a_call_in_flight() {
    waits_for_call(|reader| reader.set_listener(None, NO_STATUS));
}

#[test]
fn deleting_waits_for_a_call_in_flight() {
    waits_for_call(|reader| reader.get_subscriber().delete_datareader(reader).unwrap());
}

#[test]
fn a_blocked_write_is_woken_by_room() {
    for leads in [false, true] {
        must_end(move || {
            let loft = Loft::new(leads);
            let (here, there) = (loft.participant(), loft.participant());
            let writer = writer(&here, |qos| {
                keep_all(qos);
                qos.endpoint.resource_limits.max_samples = Some(1);
                qos.endpoint.resource_limits.max_samples_per_instance = Some(1);
                qos.endpoint.reliability.max_blocking_time = Duration::INFINITE;
            });
            let reader = reader(&there, |_| {});
            await_matches(&writer, &reader);
            for value in 0..500 {
                writer.write(&reading(1, value)).unwrap();
            }
            writer.wait_for_acknowledgments(Duration::INFINITE).unwrap();
            assert_eq!(values(&reader), (0..500).collect::<Vec<_>>());
            drop(here);
        });
    }
}

#[test]
fn a_blocked_write_ends_when_its_writer_is_deleted() {
    must_end(|| {
        let loft = Loft::new(false);
        let (here, there) = (loft.participant(), loft.participant());
        let writer = writer(&here, |qos| {
            keep_all(qos);
            qos.endpoint.resource_limits.max_samples = Some(1);
            qos.endpoint.resource_limits.max_samples_per_instance = Some(1);
            qos.endpoint.reliability.max_blocking_time = Duration::INFINITE;
        });
        let full = reader(&there, |qos| {
            qos.endpoint.resource_limits.max_samples = Some(1);
            qos.endpoint.resource_limits.max_samples_per_instance = Some(1);
        });
        await_matches(&writer, &full);
        let blocked = writer.clone();
        let thread = thread::spawn(move || (0..9).find_map(|value| blocked.write(&reading(1, value)).err()));
        thread::sleep(StdDuration::from_millis(20));
        writer.get_publisher().delete_datawriter(&writer).unwrap();
        assert_eq!(thread.join().unwrap().unwrap().code, dds::ReturnCode::AlreadyDeleted);
        drop(there);
    });
}

#[test]
fn everything_at_once_ends() {
    for leads in [false, true] {
        must_end(move || {
            let loft = Loft::new(leads);
            let (here, there) = (loft.participant(), loft.participant());
            let log = Log::default();
            there.set_listener(Some(log.listener("participant")), StatusMask(u32::MAX));
            let shared = subscriber(&there);
            let steady = writer(&here, |_| {});
            let work: [Box<dyn Fn(i64) + Send>; 4] = [
                Box::new({
                    let shared = shared.clone();
                    let log = log.clone();
                    move |_| {
                        let reader = reader_of(&shared, |_| {});
                        reader.set_listener(Some(log.listener("reader")), StatusMask::DATA_AVAILABLE);
                        values(&reader);
                        shared.delete_datareader(&reader).unwrap();
                    }
                }),
                Box::new({
                    let shared = shared.clone();
                    move |round| {
                        let mut qos = shared.get_qos();
                        qos.partition = if round % 2 == 0 { vec!["other".into()] } else { Vec::new() };
                        shared.set_qos(QosKind::Specific(qos)).unwrap();
                    }
                }),
                Box::new(move |round| drop(steady.write(&reading(1, round)).map(|_| ()))),
                Box::new(move |round| {
                    let mask =
                        if round % 2 == 0 { StatusMask::DATA_ON_READERS } else { StatusMask::DATA_AVAILABLE };
                    shared.set_listener(Some(log.listener("subscriber")), mask);
                    shared.notify_datareaders();
                    log.read();
                }),
            ];
            let threads = work.map(|act| thread::spawn(move || (0..200).for_each(act)));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            there.set_listener(None, NO_STATUS);
            there.delete_contained_entities().unwrap();
        });
    }
}
