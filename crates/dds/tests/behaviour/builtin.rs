//! The built-in topics: what is known of others, as samples.
use dds::qos::{Durability, History, Ownership, ReliabilityKind};
use dds::serialized::Request;
use dds::{
    BuiltinTopic, DataReader, DomainParticipant, InstanceState, InstanceStates, NO_STATUS,
    ParticipantBuiltinTopicData, PublicationBuiltinTopicData, QosKind, ReturnCode, Sample, SampleStates,
    SampleType, States, StatusMask, SubscriptionBuiltinTopicData, TopicBuiltinTopicData, ViewState,
    ViewStates, WaitSet,
};
use wire::{EntityId, Guid};

use crate::fixture::{Log, Reading, millis, named_topic, part, reader, settle, subscriber, two, writer};

/// Long enough for a participant that fell silent to be gone.
const LEASE: dds::Duration = dds::Duration::from_secs(300);

fn builtin<T: SampleType + 'static>(of: &DomainParticipant, topic: BuiltinTopic) -> DataReader<T> {
    let raw = of.get_builtin_subscriber().unwrap().lookup_datareader(topic.name()).unwrap();
    raw.typed().unwrap()
}

fn take<T: SampleType>(reader: &DataReader<T>) -> Vec<Sample<T>> {
    reader.take(usize::MAX, States::ANY).unwrap()
}

fn ends<T>(samples: &[Sample<T>]) -> bool {
    let is_end = |sample: &Sample<T>| {
        sample.info.instance_state == InstanceState::NotAliveDisposed && sample.data.is_none()
    };
    !samples.is_empty() && samples.iter().all(is_end)
}

#[test]
fn others_come_change_and_go() {
    let (mut desk, here, there) = two();
    let people = builtin::<ParticipantBuiltinTopicData>(&here, BuiltinTopic::Participant);
    let writers = builtin::<PublicationBuiltinTopicData>(&here, BuiltinTopic::Publication);
    let readers = builtin::<SubscriptionBuiltinTopicData>(&here, BuiltinTopic::Subscription);
    settle(&mut desk);
    let (_own_writer, _own_reader) = (writer(&here, |_| {}), reader(&here, |_| {}));
    let (other_writer, other_reader) = (
        writer(&there, |qos| qos.endpoint.ownership_strength = 7),
        reader(&there, |qos| qos.endpoint.user_data = vec![1, 2, 3]),
    );
    settle(&mut desk);

    let seen = take(&people);
    assert_eq!(seen.len(), 1, "not oneself");
    let data = seen[0].data.as_ref().unwrap();
    assert_eq!(data.prefix, there.prefix());
    assert_eq!(data.0, *here.get_discovered_participants()[0].data);
    assert_eq!(seen[0].info.instance_handle, Guid::new(there.prefix(), EntityId::PARTICIPANT).into());
    assert_eq!(seen[0].info.view_state, ViewState::New);

    let seen = take(&writers);
    assert_eq!(seen.len(), 1, "not one's own");
    let known = here.get_discovered_endpoints();
    let known = |guid: Guid| known.iter().find(|data| data.guid == guid).unwrap();
    let guid = other_writer.guid().unwrap();
    assert_eq!(seen[0].data.as_ref().unwrap().0, **known(guid));
    assert_eq!(seen[0].info.instance_handle, guid.into());
    let seen = take(&readers);
    let guid = other_reader.guid().unwrap();
    assert_eq!(seen[0].data.as_ref().unwrap().0, **known(guid));
    assert_eq!(seen[0].data.as_ref().unwrap().qos.user_data, [1, 2, 3]);

    // A change is another sample of the instance; what stays the same is none.
    let mut qos = other_reader.get_qos();
    qos.endpoint.user_data = vec![4];
    other_reader.set_qos(QosKind::Specific(qos)).unwrap();
    desk.run(LEASE);
    let seen = take(&readers);
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].data.as_ref().unwrap().qos.user_data, [4]);
    assert_eq!((seen[0].info.instance_handle, seen[0].info.view_state), (guid.into(), ViewState::NotNew));
    assert!(take(&people).is_empty() && take(&writers).is_empty());

    let group = other_writer.get_publisher().clone();
    group.delete_datawriter(&other_writer).unwrap();
    desk.run(millis(100));
    let seen = take(&writers);
    assert!(ends(&seen) && seen.len() == 1);
    assert_eq!(seen[0].key.as_ref().unwrap().guid, other_writer.guid().unwrap());
    assert!(take(&people).is_empty() && take(&readers).is_empty());
    desk.black_out();
    desk.run(LEASE);
    let seen = take(&people);
    assert!(ends(&seen) && seen[0].key.as_ref().unwrap().prefix == there.prefix());
    assert!(ends(&take(&readers)), "with it its endpoints are gone");
    assert_eq!((people.held().unwrap().instances, readers.held().unwrap().instances), (0, 0));
    desk.heal();
    desk.run(LEASE);
    let seen = take(&people);
    assert_eq!((seen.len(), seen[0].info.instance_state), (1, InstanceState::Alive));
}

#[test]
fn who_asks_late_learns_what_is_known() {
    let (mut desk, here, there) = two();
    let (one, _other) = (writer(&there, |_| {}), reader(&there, |_| {}));
    settle(&mut desk);
    desk.record();
    let writers = builtin::<PublicationBuiltinTopicData>(&here, BuiltinTopic::Publication);
    writers.wait_for_historical_data(dds::Duration::ZERO).unwrap();
    assert_eq!(writers.read(10, States::NOT_READ).unwrap().len(), 1);
    assert!(writers.read(10, States::NOT_READ).unwrap().is_empty(), "read before");
    let found = one.guid().unwrap().into();
    assert_eq!(writers.read_instance(10, found, States::ANY).unwrap().len(), 1);
    let known = writers.get_key_value(found).unwrap();
    assert_eq!(known.guid, one.guid().unwrap());
    let data = writers.read(1, States::ANY).unwrap().remove(0).data.unwrap();
    assert_eq!(writers.lookup_instance(&data).unwrap(), Some(found));
    // The same reader for everyone who asks, with the bytes of discovery.
    let again = builtin::<PublicationBuiltinTopicData>(&here, BuiltinTopic::Publication);
    let mut octets = Vec::new();
    again.access_serialized(&Request::READ, &mut octets).unwrap();
    assert_eq!(octets[0].payload.as_ref().unwrap().bytes()[..2], [0, 3], "PL_CDR, little endian");
    assert!(desk.recorded().is_empty(), "nothing is sent for that");
}

#[test]
fn a_topic_lives_as_long_as_somebody_has_an_endpoint_of_it() {
    let (mut desk, here, there) = two();
    let topics = builtin::<TopicBuiltinTopicData>(&here, BuiltinTopic::Topic);
    let one = writer(&there, |qos| qos.endpoint.ownership = Ownership::Exclusive);
    let two = reader(&there, |_| {});
    let _own = writer(&here, |_| {});
    settle(&mut desk);
    let seen = take(&topics);
    assert_eq!(seen.len(), 1);
    let data = seen[0].data.as_ref().unwrap();
    assert_eq!((data.name.as_str(), data.type_name.as_str()), ("Readings", "Reading"));
    let handle = seen[0].info.instance_handle;
    // It is told of by one of both; when that goes, by the other.
    let delete_writer = || one.get_publisher().clone().delete_datawriter(&one).unwrap();
    let delete_reader = || two.get_subscriber().clone().delete_datareader(&two).unwrap();
    let by_writer = data.qos.ownership == Ownership::Exclusive;
    if by_writer {
        delete_writer()
    } else {
        delete_reader()
    }
    desk.run(millis(100));
    let seen = take(&topics);
    assert_eq!((seen.len(), seen[0].info.instance_state), (1, InstanceState::Alive));
    assert_eq!(seen[0].data.as_ref().unwrap().qos.ownership == Ownership::Exclusive, !by_writer);
    if by_writer {
        delete_reader()
    } else {
        delete_writer()
    }
    desk.run(millis(100));
    let seen = take(&topics);
    assert!(ends(&seen));
    assert_eq!((seen.len(), seen[0].info.instance_handle), (1, handle));
    assert_eq!(seen[0].key.as_ref().unwrap().name, "Readings");
    // Another type by the same name is another topic.
    let other = there
        .create_publisher(QosKind::Default, None, NO_STATUS)
        .unwrap()
        .create_datawriter::<Reading>(&named_topic(&there, "Others"), QosKind::Default, None, NO_STATUS)
        .unwrap();
    settle(&mut desk);
    let seen = take(&topics);
    assert_eq!(seen[0].data.as_ref().unwrap().name, "Others");
    assert_ne!(seen[0].info.instance_handle, handle);
    drop(other);
}

#[test]
fn what_is_ignored_by_its_handle_is_disposed() {
    let (mut desk, here, there) = two();
    let third = desk.participant();
    let reader = reader(&here, |_| {});
    let _writers: Vec<_> = [&there, &there, &third].map(|host| writer(host, |_| {})).into();
    let people = builtin::<ParticipantBuiltinTopicData>(&here, BuiltinTopic::Participant);
    let writers = builtin::<PublicationBuiltinTopicData>(&here, BuiltinTopic::Publication);
    let topics = builtin::<TopicBuiltinTopicData>(&here, BuiltinTopic::Topic);
    settle(&mut desk);
    let matched = || reader.get_subscription_matched_status().current.count;
    let seen = take(&writers);
    assert_eq!((seen.len(), matched()), (3, 3));
    let first = seen.iter().find(|seen| seen.data.as_ref().unwrap().guid.prefix == there.prefix()).unwrap();
    here.ignore_publication(first.info.instance_handle).unwrap();
    assert_eq!(matched(), 2);
    let ended = take(&writers);
    assert!(ends(&ended) && ended.len() == 1);
    assert_eq!(ended[0].info.instance_handle, first.info.instance_handle);
    let seen = take(&people);
    let gone = seen.iter().find(|seen| seen.data.as_ref().unwrap().prefix == there.prefix()).unwrap();
    here.ignore_participant(gone.info.instance_handle).unwrap();
    assert_eq!(matched(), 1);
    assert!(ends(&take(&writers)) && ends(&take(&people)));
    let topic = take(&topics).remove(0).info.instance_handle;
    here.ignore_topic(topic).unwrap();
    assert_eq!(matched(), 0);
    assert!(ends(&take(&writers)) && ends(&take(&topics)));
    assert_eq!(here.ignore_topic(first.info.instance_handle).unwrap_err().code, ReturnCode::BadParameter);
    desk.run(LEASE);
    assert!(take(&writers).is_empty() && take(&people).is_empty() && take(&topics).is_empty());
}

#[test]
fn listeners_and_conditions_hear_of_others() {
    let (mut desk, here, there) = two();
    let log = Log::default();
    let subscriber = here.get_builtin_subscriber().unwrap();
    let people = builtin::<ParticipantBuiltinTopicData>(&here, BuiltinTopic::Participant);
    let writers = builtin::<PublicationBuiltinTopicData>(&here, BuiltinTopic::Publication);
    people.set_raw_listener(Some(log.listener("people")), StatusMask(u32::MAX));
    here.set_listener(Some(log.listener("participant")), StatusMask::DATA_AVAILABLE);
    assert!(log.read().is_empty());
    let waits = WaitSet::new();
    let gone = States {
        sample: SampleStates::ANY,
        view: ViewStates::ANY,
        instance: InstanceStates::NOT_ALIVE_DISPOSED,
    };
    let condition = writers.create_readcondition(gone);
    let strong = writers.create_querycondition(States::ANY, |data| data.qos.ownership_strength == 9);
    waits.attach_condition(condition.into()).unwrap();
    waits.attach_condition(strong.clone().into()).unwrap();
    let writer = writer(&there, |_| {});
    settle(&mut desk);
    let heard = log.read();
    assert!(heard.iter().any(|line| line == "people: data available"), "{heard:?}");
    assert!(heard.iter().any(|line| line == "participant: data available"), "{heard:?}");
    assert_eq!(subscriber.get_datareaders(States::NOT_READ).len(), 3);
    assert_eq!(waits.wait(millis(10)).err().unwrap().code, ReturnCode::Timeout);
    let mut qos = writer.get_qos();
    qos.endpoint.ownership_strength = 9;
    writer.set_qos(QosKind::Specific(qos)).unwrap();
    assert_eq!(waits.wait(millis(500)).unwrap().len(), 1);
    assert_eq!(writers.take_w_query(9, &strong).unwrap().len(), 1);
    writer.get_publisher().clone().delete_datawriter(&writer).unwrap();
    assert_eq!(waits.wait(millis(500)).unwrap().len(), 1);
}

#[test]
fn what_is_built_in_stays_as_it_is_until_its_participant_goes() {
    let (mut desk, here, _there) = two();
    settle(&mut desk);
    let builtin_subscriber = here.get_builtin_subscriber().unwrap();
    let people = builtin::<ParticipantBuiltinTopicData>(&here, BuiltinTopic::Participant);
    let qos = people.get_qos();
    assert_eq!(qos.endpoint.durability, Durability::TransientLocal);
    assert_eq!(qos.endpoint.reliability.kind, ReliabilityKind::Reliable);
    assert_eq!(qos.endpoint.history, History::KeepLast(1));
    assert_eq!(people.get_status_changes(), StatusMask::DATA_AVAILABLE);
    let refused = |result: Result<(), dds::Error>| {
        assert_eq!(result.unwrap_err().code, ReturnCode::PreconditionNotMet);
    };
    refused(people.set_qos(QosKind::Specific(qos)));
    refused(builtin_subscriber.set_qos(QosKind::Default));
    refused(builtin_subscriber.delete_datareader(&people));
    refused(builtin_subscriber.delete_contained_entities());
    refused(here.delete_subscriber(&builtin_subscriber));
    let topic = crate::fixture::topic(&here);
    let own = builtin_subscriber.create_datareader::<Reading>(&topic, QosKind::Default, None, NO_STATUS);
    refused(own.map(drop));
    refused(people.typed::<PublicationBuiltinTopicData>().map(drop));
    here.delete_contained_entities().unwrap();
    assert_eq!(take(&people).len(), 1);
    assert!(subscriber(&here).lookup_datareader(BuiltinTopic::Participant.name()).is_none());
    dds::DomainParticipantFactory::get_instance().delete_participant(&here).unwrap();
    part(&mut desk);
    assert_eq!(people.take(1, States::ANY).unwrap_err().code, ReturnCode::AlreadyDeleted);
    assert_eq!(here.get_builtin_subscriber().err().unwrap().code, ReturnCode::AlreadyDeleted);
}
