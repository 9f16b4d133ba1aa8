//! Flows on real sockets, in a network namespace of the test.
use std::num::NonZeroU16;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use dds::assurance::Stage;
use dds::config::Config;
use dds::driver::Driver;
use dds::host::{Channel, Host, Sent};
use dds::{Bytes, DomainParticipant, DomainParticipantFactory, Duration, NO_STATUS, QosKind};
use rtps::writer::{Body, Change, MatchedReader, Writer, WriterConfig};
use rtps::{Flow, Path, Transmit};
use udp::{Received, Report, Socket, SocketOptions, Wait};
use wire::admission::Verdict;
use wire::message::PayloadKind;
use wire::{EntityId, EntityKind, Guid, GuidPrefix};

use crate::PATIENCE;
use crate::cable::veth;
use crate::fixture::*;
use crate::namespace::{alone, ip};

fn await_true(what: &str, mut is: impl FnMut() -> bool) {
    let end = StdInstant::now() + PATIENCE;
    while !is() {
        assert!(StdInstant::now() < end, "{what} did not come");
        std::thread::sleep(StdDuration::from_millis(5));
    }
}

#[test]
fn a_train_leaves_from_the_socket_of_its_flow_with_its_class() {
    alone(|| {
        veth("near", "far", "10.9.0.1/24");
        let host = Driver::open(0, &Config::default()).unwrap();
        let flow = host.open_flow().unwrap();
        assert_eq!((flow.address.ip(), flow.max_datagram), ([10, 9, 0, 1].into(), 1_472));
        let report = Report { class: true, ..Report::default() };
        let options = SocketOptions { report, ..SocketOptions::default() };
        let receiver = Socket::unicast("10.9.0.1:9000".parse().unwrap(), &options).unwrap();
        let name = |octet, kind| Guid::new(GuidPrefix([octet; 12]), EntityId::user(1, kind));
        let mut config = WriterConfig::new(name(1, EntityKind::WriterNoKey), true);
        (config.max_datagram, config.largest_message) = (flow.max_datagram, Some(48_052));
        let mut writer: Writer<Bytes> = Writer::new(config);
        let port = NonZeroU16::new(flow.address.port()).unwrap();
        let plain = Path::routed("10.9.0.1:9000".parse().unwrap(), 1_472);
        let reader = MatchedReader {
            guid: name(2, EntityKind::ReaderNoKey),
            reliable: false,
            wants_history: false,
            paths: vec![Path { flow: Some(Flow { port, class: 46 }), ..plain }],
            direct: Some(plain),
            receive_buffer: None,
        };
        writer.match_reader(host.now(), reader);
        let change = Change { kind: PayloadKind::Data, inline_qos: None, source_timestamp: None };
        writer.write(host.now(), &change, Body::Shared(Bytes::from(vec![7; 48_052]))).unwrap();
        let mut out = Transmit::new();
        assert!(writer.poll_transmit(host.now(), &mut out));
        let [path] = out.paths() else { panic!("one path") };
        assert_eq!(host.send(Channel::User, path, &out), Sent::Done);
        let sent: Vec<Vec<u8>> = out.datagrams().map(|slices| slices.collect::<Vec<_>>().concat()).collect();
        assert_eq!(sent.len(), 36);
        let mut buffer = [0; 2_000];
        for expected in &sent {
            match receiver.receiver().receive(&mut buffer, Wait::AtMost(PATIENCE)).unwrap() {
                Received::Datagram(datagram) => {
                    assert_eq!(datagram.source, flow.address);
                    assert_eq!(datagram.details.class.unwrap().get(), 46);
                    assert_eq!(buffer.get(..datagram.octets).unwrap(), expected);
                }
                other => panic!("{other:?}"),
            }
        }
        // Once it is closed nothing leaves any more.
        host.close_flow(port);
        assert_eq!(host.send(Channel::User, path, &out), Sent::Done);
        let after = receiver.receiver().receive(&mut buffer, Wait::AtMost(StdDuration::from_millis(50)));
        assert_eq!(after.unwrap(), Received::TimedOut);
        host.close();
    });
}

#[test]
fn a_flow_whose_address_is_gone_leaves_from_another_and_is_asked_for_anew() {
    alone(|| {
        veth("near", "far", "10.9.0.1/24");
        let (writes, reads) = (join(), join());
        let manager = Manager::new(join());
        let writer = writer(&writes, Some(offered()), |_| {});
        let _reader = reader(&reads, Some(wanted()), |_| {});
        let mut last = None;
        await_true("the request", || {
            last = manager.requests().pop().or(last.take());
            last.is_some()
        });
        manager.say(&Verdict { lease: 3_600_000_000_000, ..admission(&last.take().unwrap()) });
        await_true("the match", || writer.get_publication_matched_status().current.count == 1);
        ip("address add 10.9.1.1/24 dev near");
        ip("address del 10.9.0.1/24 dev near");
        await_true("the other request", || {
            last = manager.requests().pop().or(last.take());
            last.as_ref().is_some_and(|request: &wire::admission::Request| {
                request.source.address == [10, 9, 1, 1].into()
                    && request.destination.address == [10, 9, 1, 1].into()
            })
        });
        await_true("the end of the former flow", || only(&writer.assurance()).1 != Stage::Assured);
        manager.say(&Verdict { lease: 3_600_000_000_000, ..admission(&last.take().unwrap()) });
        await_true("the new flow", || only(&writer.assurance()).1 == Stage::Assured);
        for participant in [&writes, &reads, &manager.participant] {
            DomainParticipantFactory::get_instance().delete_participant(participant).unwrap();
        }
    });
}

/// A participant that waits for verdicts for as long as the test does: on a busy machine they may come late.
fn join() -> DomainParticipant {
    let factory = DomainParticipantFactory::get_instance();
    let mut config = Config::default();
    config.assurance.patience = Duration::from_secs(60);
    factory.create_participant_with(0, QosKind::Default, &config, None, NO_STATUS).unwrap()
}

#[test]
fn an_admitted_pair_runs_along_its_flow_on_real_sockets() {
    alone(|| {
        veth("near", "far", "10.9.0.1/24");
        let (writes, reads) = (join(), join());
        let manager = Manager::new(join());
        let promise = dds::qos::OfferedAssurance {
            maximum_size: Some(48_048 + AROUND),
            ..dds::qos::OfferedAssurance::every(millis(5))
        };
        let writer = writer(&writes, Some(promise), |_| {});
        let reader = reader(&reads, Some(wanted()), |_| {});
        let mut request = None;
        await_true("the request", || {
            request = request.take().or_else(|| manager.requests().pop());
            request.is_some()
        });
        let request = request.unwrap();
        assert_eq!(
            (request.source.address, request.destination.address),
            ([10, 9, 0, 1].into(), [10, 9, 0, 1].into())
        );
        // Every sample is later than a nanosecond, so that the reader tells how it came.
        manager.say(&Verdict { bound: 1, lease: 3_600_000_000_000, ..admission(&request) });
        await_true("the match", || writer.get_publication_matched_status().current.count == 1);
        assert_eq!(only(&reader.assurance()).1, Stage::Assured, "the reader is first");
        let before = StdInstant::now();
        for number in 0..10 {
            writer.write(&frame(number, 48_048)).unwrap();
        }
        writer.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
        assert!(before.elapsed() >= StdDuration::from_millis(45), "nine separations");
        let counters = writer.counters().unwrap();
        assert_eq!(counters.messages, 10);
        assert_eq!(numbers(&reader), (0..10).collect::<Vec<_>>());
        let late = reader.get_bound_exceeded_status();
        assert_eq!(late.total.count, 10);
        // Repairs come through shared memory.
        if counters.repairs + counters.fragment_repairs == 0 {
            assert!(late.last.unwrap().host.is_some(), "the kernel tells when it got it");
            assert!(!late.last.unwrap().repaired, "it came from the socket of the flow");
        }
        let report = writes.report().join("\n");
        assert!(report.contains(&format!("10.9.0.1:{}, which sends only", request.source.port)), "{report}");
        for participant in [&writes, &reads, &manager.participant] {
            DomainParticipantFactory::get_instance().delete_participant(participant).unwrap();
        }
    });
}
