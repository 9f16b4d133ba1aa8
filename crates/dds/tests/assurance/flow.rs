//! A writer inside its contract, and what a reader sees of it.
use std::sync::{Arc, Mutex};

use dds::assurance::{Stage, State};
use dds::qos::History;
use dds::status::{AssuranceChanged, BoundExceeded};
use dds::{
    DataReader, DataReaderListener, DataWriter, DataWriterListener, Duration, ReturnCode, StatusMask, WaitSet,
};
use wire::admission::Verdict;

use crate::desk::Left;
use crate::fixture::*;

/// Admitted, for an hour.
fn admitted(scene: &mut Scene, manager: &Manager, change: impl FnOnce(&mut Verdict)) {
    let mut verdict = Verdict { lease: 3_600_000_000_000, ..admission(&manager.request()) };
    change(&mut verdict);
    manager.say(&verdict);
    scene.desk.run(millis(100));
}

fn pair(scene: &mut Scene, history: History) -> (DataWriter<Frame>, DataReader<Frame>, Manager) {
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |qos| qos.endpoint.history = history);
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    admitted(scene, &manager, |_| {});
    scene.desk.record();
    (writer, reader, manager)
}

fn on_flow(left: &[Left]) -> Vec<&Left> {
    left.iter().filter(|left| left.from.port() >= 50_000).collect()
}

#[test]
fn a_message_begins_a_separation_after_the_call_before_has_returned() {
    let mut scene = Scene::new();
    let (writer, reader, _manager) = pair(&mut scene, History::KeepAll);
    scene.desk.slow_down(WRITER_HOST, micros(200));
    let start = scene.desk.now().monotonic;
    writer.write(&frame(1, 4_000)).unwrap();
    writer.write(&frame(2, 4_000)).unwrap();
    // Just before and just at the end of the separation.
    scene.desk.run(micros(4_999));
    let left = scene.desk.recorded();
    assert_eq!(on_flow(&left).len(), 3, "the first sample alone");
    scene.desk.run(micros(1));
    let left = scene.desk.recorded();
    let second = on_flow(&left);
    assert_eq!(second.len(), 3);
    assert!(second.iter().all(|left| left.at == start.after(micros(5_200))));
    assert_eq!(numbers(&reader), [1, 2]);
    let counters = writer.counters().unwrap();
    assert_eq!((counters.messages, counters.paced, counters.paced_nanos), (2, 1, 5_000_000));
    // Written after the separation, a sample leaves at once.
    scene.desk.run(millis(5));
    scene.desk.recorded();
    let before = scene.desk.now().monotonic;
    writer.write(&frame(3, 10)).unwrap();
    let left = scene.desk.recorded();
    assert_eq!(on_flow(&left).iter().map(|left| left.at).collect::<Vec<_>>(), [before]);
    assert_eq!(writer.counters().unwrap().paced, 1);
}

#[test]
fn what_waits_for_the_contract_is_replaced_as_history_says() {
    let mut scene = Scene::new();
    let (writer, reader, _manager) = pair(&mut scene, History::KeepLast(1));
    for number in 1..=5 {
        writer.write(&frame(number, 4_000)).unwrap();
    }
    scene.desk.run(millis(100));
    assert_eq!(numbers(&reader), [1, 5]);
    let left = scene.desk.recorded();
    assert_eq!(on_flow(&left).len(), 6, "two messages, and their GAP goes another way");
}

#[test]
fn a_full_history_blocks_a_writer_that_is_ahead_of_its_contract() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |qos| {
        qos.endpoint.resource_limits.max_samples = Some(3);
        qos.endpoint.reliability.max_blocking_time = millis(50);
    });
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    admitted(&mut scene, &manager, |_| {});
    for number in 0..20 {
        writer.write(&frame(number, 4_000)).unwrap();
    }
    scene.desk.run(millis(200));
    assert_eq!(numbers(&reader), (0..20).collect::<Vec<_>>());
    assert!(writer.counters().unwrap().paced >= 16);
}

#[test]
fn a_sample_larger_than_declared_is_a_write_error_that_names_both_sizes() {
    let mut scene = Scene::new();
    // No manager and no reader is needed for that.
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    scene.settle();
    writer.write(&frame(1, 4_000)).unwrap();
    let error = writer.write(&frame(1, 4_001)).unwrap_err();
    assert_eq!((error.code, error.place), (ReturnCode::BadParameter, "write"));
    assert!(error.what.contains("4016 bytes") && error.what.contains("4012"), "{error}");
}

#[test]
fn a_sample_smaller_than_declared_is_a_write_error_and_the_least_size_is_announced() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let promise = dds::qos::OfferedAssurance { minimum_size: Some(1_012), ..offered() };
    let writer = writer(&scene.writes, Some(promise), |_| {});
    let _reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    assert_eq!(manager.request().contract.smallest_message, 1_012);
    writer.write(&frame(1, 1_000)).unwrap();
    let error = writer.write(&frame(1, 996)).unwrap_err();
    assert_eq!((error.code, error.place), (ReturnCode::BadParameter, "write"));
    assert!(error.what.contains("1008 bytes") && error.what.contains("1012"), "{error}");
    let promise = dds::qos::OfferedAssurance { minimum_size: Some(5_000), ..offered() };
    let qos = dds::qos::DataWriterQos { assurance: Some(promise), ..dds::qos::DataWriterQos::default() };
    assert_eq!(qos.check().unwrap_err().code, ReturnCode::InconsistentPolicy);
}

#[test]
fn a_type_without_bound_needs_a_declared_size() {
    let scene = Scene::new();
    let publisher = scene.writes.create_publisher(dds::QosKind::Default, None, dds::NO_STATUS).unwrap();
    let topic = topic(&scene.writes);
    let assurance = Some(dds::qos::OfferedAssurance { maximum_size: None, ..offered() });
    let qos = dds::qos::DataWriterQos { assurance, ..dds::qos::DataWriterQos::default() };
    let made =
        publisher.create_datawriter::<Frame>(&topic, dds::QosKind::Specific(qos), None, dds::NO_STATUS);
    let error = made.err().unwrap();
    assert!(error.advice.contains("maximum_size"), "{error}");
}

#[test]
fn a_sample_at_its_bound_is_in_time_and_one_just_past_it_is_late() {
    let mut scene = Scene::new();
    let (writer, reader, _manager) = pair(&mut scene, History::KeepAll);
    scene.desk.delay(millis(1));
    writer.write(&frame(1, 10)).unwrap();
    scene.desk.run(millis(10));
    assert_eq!(reader.get_bound_exceeded_status().total.count, 0);
    scene.desk.delay(Duration::from_nanos(1_000_001));
    writer.write(&frame(2, 10)).unwrap();
    scene.desk.run(millis(10));
    assert!(reader.get_status_changes().intersects(StatusMask::BOUND_EXCEEDED));
    let status = reader.get_bound_exceeded_status();
    let late = status.last.unwrap();
    assert_eq!((status.total.count, status.total.change), (1, 1));
    assert_eq!((late.writer, late.sequence_number.0), (writer.guid().unwrap(), 2));
    assert_eq!((late.latency.as_nanos(), late.bound), (1_000_001, millis(1)));
    assert_eq!((late.waited_for_contract, late.repaired), (Duration::ZERO, false));
    assert!(!reader.get_status_changes().intersects(StatusMask::BOUND_EXCEEDED), "read, and so settled");
    assert_eq!(reader.get_bound_exceeded_status().total.change, 0);
}

#[test]
fn a_late_sample_says_that_it_waited_for_its_contract_or_was_repeated() {
    let mut scene = Scene::new();
    let (writer, reader, _manager) = pair(&mut scene, History::KeepAll);
    writer.write(&frame(1, 10)).unwrap();
    scene.desk.run(millis(1));
    writer.write(&frame(2, 10)).unwrap();
    scene.desk.run(millis(20));
    let late = reader.get_bound_exceeded_status().last.unwrap();
    assert_eq!((late.latency, late.waited_for_contract, late.repaired), (millis(4), millis(4), false));
    // Lost along the flow, it comes by the ordinary way.
    scene.desk.cut(WRITER_HOST, READER_HOST);
    writer.write(&frame(3, 10)).unwrap();
    scene.desk.run(micros(1));
    scene.desk.heal();
    scene.desk.run(millis(200));
    assert_eq!(numbers(&reader), [1, 2, 3]);
    let status = reader.get_bound_exceeded_status();
    let late = status.last.unwrap();
    assert_eq!((status.total.count, late.sequence_number.0, late.repaired), (2, 3, true));
    assert_eq!(late.waited_for_contract, Duration::ZERO);
}

#[test]
fn what_readers_have_seen_is_published_each_second_while_it_is_admitted() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    scene.desk.run(Duration::from_secs(2));
    assert_eq!(manager.measured(), [], "nothing is admitted yet");
    admitted(&mut scene, &manager, |_| {});
    scene.desk.delay(micros(800));
    for number in 0..100 {
        if number == 99 {
            scene.desk.delay(micros(1_500));
        }
        writer.write(&frame(number, 10)).unwrap();
        scene.desk.run(millis(8));
    }
    scene.desk.run(millis(150));
    let measured = manager.measured().pop().unwrap();
    assert_eq!((measured.samples, measured.late, measured.lost), (100, 1, 0));
    assert_eq!(measured.worst, 1_500_000);
    assert!((800_000..=850_000).contains(&measured.median), "{}", measured.median);
    assert_eq!(measured.clock_error, u64::MAX, "two hosts");
    scene.desk.run(Duration::from_secs(3));
    assert_eq!(manager.measured().pop().unwrap().samples, 100);
    reader.get_subscriber().delete_datareader(&reader).unwrap();
    scene.desk.run(Duration::from_secs(2));
    manager.measured();
    scene.desk.run(Duration::from_secs(3));
    assert_eq!(manager.measured(), []);
}

#[test]
fn each_admitted_reader_is_a_flow_and_others_are_served_after_them() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let assured = [
        reader(&scene.reads, Some(wanted()), |_| {}),
        reader(&scene.reads, Some(wanted()), |qos| qos.endpoint.history = History::KeepLast(10)),
    ];
    let plain = reader(&scene.reads, None, |_| {});
    scene.settle();
    let requests = manager.requests();
    assert_eq!(requests.len(), 2);
    for (request, dscp) in requests.iter().zip([46, 34]) {
        manager.say(&Verdict { dscp, lease: 3_600_000_000_000, ..admission(request) });
    }
    scene.desk.run(millis(100));
    scene.desk.record();
    for number in 0..3 {
        writer.write(&frame(number, 4_000)).unwrap();
        scene.desk.run(millis(20));
    }
    for reader in assured.iter().chain([&plain]) {
        assert_eq!(numbers(reader), [0, 1, 2]);
    }
    let left = scene.desk.recorded();
    let flow = on_flow(&left);
    for dscp in [46, 34] {
        assert_eq!(flow.iter().filter(|left| left.class == dscp).count(), 9);
    }
    assert_eq!(flow.len(), 18);
}

#[test]
fn a_group_of_the_organisation_carries_several_readers_at_once() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let readers = [(); 2].map(|()| reader(&scene.reads, Some(wanted()), |_| {}));
    scene.settle();
    for request in manager.requests() {
        let destination = wire::admission::Socket { address: [239, 192, 7, 1].into(), port: 5_000 };
        manager.say(&Verdict { destination, lease: 3_600_000_000_000, ..admission(&request) });
    }
    scene.desk.run(millis(100));
    scene.desk.record();
    writer.write(&frame(1, 10)).unwrap();
    scene.desk.run(millis(10));
    assert!(readers.iter().all(|reader| numbers(reader) == [1]));
    assert_eq!(on_flow(&scene.desk.recorded()).len(), 1);
}

#[test]
fn history_for_a_late_reader_is_no_part_of_its_flow() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let durable = dds::qos::Durability::TransientLocal;
    let writer = writer(&scene.writes, Some(offered()), |qos| qos.endpoint.durability = durable);
    for number in 0..10 {
        writer.write(&frame(number, 2_000)).unwrap();
    }
    let reader = reader(&scene.reads, Some(wanted()), |qos| qos.endpoint.durability = durable);
    scene.settle();
    scene.desk.record();
    admitted(&mut scene, &manager, |_| {});
    scene.desk.run(millis(100));
    assert_eq!(numbers(&reader), (0..10).collect::<Vec<_>>());
    assert_eq!(on_flow(&scene.desk.recorded()).len(), 0);
    writer.write(&frame(10, 2_000)).unwrap();
    assert_eq!(on_flow(&scene.desk.recorded()).len(), 2);
}

#[test]
fn a_full_socket_delays_a_message_and_its_separation_counts_from_when_it_left() {
    let mut scene = Scene::new();
    let (writer, reader, _manager) = pair(&mut scene, History::KeepAll);
    scene.desk.fill_socket(WRITER_HOST, true);
    writer.write(&frame(1, 10)).unwrap();
    writer.write(&frame(2, 10)).unwrap();
    scene.desk.run(millis(20));
    assert_eq!(on_flow(&scene.desk.recorded()).len(), 0);
    scene.desk.fill_socket(WRITER_HOST, false);
    scene.desk.run(millis(20));
    assert_eq!(numbers(&reader), [1, 2]);
    let left = scene.desk.recorded();
    let times: Vec<_> = on_flow(&left).iter().map(|left| left.at).collect();
    assert_eq!(times[1].since(times[0]), millis(5));
}

/// Writes down what it is called for.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl DataReaderListener<Frame> for Recorder {
    fn on_assurance_changed(&self, reader: &DataReader<Frame>, status: AssuranceChanged) {
        let states: Vec<State> = reader.assurance().iter().map(|pair| pair.state).collect();
        self.0.lock().unwrap().push(format!("reader {} {states:?}", status.total.count));
    }
    fn on_bound_exceeded(&self, _: &DataReader<Frame>, status: BoundExceeded) {
        self.0.lock().unwrap().push(format!("late {}", status.total.count));
    }
}

impl DataWriterListener<Frame> for Recorder {
    fn on_assurance_changed(&self, writer: &DataWriter<Frame>, status: AssuranceChanged) {
        let stages: Vec<Stage> = writer.assurance().iter().map(|pair| pair.stage).collect();
        self.0.lock().unwrap().push(format!("writer {} {stages:?}", status.total.change));
    }
}

#[test]
fn listeners_and_conditions_tell_of_assurance() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    let (of_writer, of_reader) = (Arc::new(Recorder::default()), Arc::new(Recorder::default()));
    writer.set_listener(Some(Arc::clone(&of_writer) as _), StatusMask::ASSURANCE_CHANGED);
    let both = StatusMask::ASSURANCE_CHANGED | StatusMask::BOUND_EXCEEDED;
    reader.set_listener(Some(Arc::clone(&of_reader) as _), both);
    scene.settle();
    let condition = writer.get_statuscondition();
    condition.set_enabled_statuses(StatusMask::ASSURANCE_CHANGED);
    let waits = WaitSet::new();
    waits.attach_condition(condition.into()).unwrap();
    assert_eq!(of_reader.0.lock().unwrap().split_off(0), ["reader 1 [Pending]"]);
    assert_eq!(of_writer.0.lock().unwrap().split_off(0), ["writer 1 [Waiting]"]);
    writer.set_listener(None, dds::NO_STATUS);
    assert!(waits.wait(millis(50)).is_err_and(|error| is_timeout(&error)));
    manager.say(&admission(&manager.request()));
    assert_eq!(waits.wait(millis(500)).unwrap().len(), 1);
    scene.desk.run(millis(10));
    assert_eq!(of_reader.0.lock().unwrap().split_off(0), ["reader 2 [Admitted]"]);
    assert_eq!(writer.assurance()[0].state, State::Admitted);
    scene.desk.delay(millis(2));
    writer.write(&frame(1, 10)).unwrap();
    scene.desk.run(millis(10));
    assert_eq!(of_reader.0.lock().unwrap().split_off(0), ["late 1"]);
}

#[test]
fn hidden_endpoints_are_none_of_the_application() {
    let mut scene = Scene::new();
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    let own = scene.reads.prefix();
    let endpoints = scene.writes.get_discovered_endpoints();
    let topics: Vec<_> = endpoints
        .iter()
        .filter(|data| data.guid.prefix == own)
        .map(|data| data.topic_name.as_str())
        .collect();
    assert!(topics.contains(&"punctual/admission/request"), "everybody can see them: {topics:?}");
    for data in scene.reads.get_discovered_endpoints().iter().filter(|data| data.guid.prefix == own) {
        let is_mine = data.guid == reader.guid().unwrap();
        assert_eq!(scene.reads.contains_entity(data.guid.into()), is_mine, "{}", data.topic_name);
    }
    assert!(scene.reads.lookup_topicdescription("punctual/admission/request").is_none());
}
