//! Connections by DDS, on a virtual network.
use std::time::Duration as Time;

use container::{
    ByChannel, ByDds, Component, Consumer, Context, Dispatch, Event, Handle, Lifecycle, Outcome, Policy,
    Publisher, Server, ServerError,
};
use dds::qos::{DataReaderQos, DataWriterQos, History, Reliability};
use dds::{DdsType, DomainParticipant, Duration};
use testkit::virtual_domain::VirtualDomain;

#[derive(DdsType, Clone, PartialEq, Debug)]
struct Fix {
    number: u32,
    text: String,
}

impl Event for Fix {}

#[derive(Component)]
struct Ends {
    out: Publisher<Fix>,
    input: Consumer<Fix>,
    seen: Vec<Fix>,
}

impl Lifecycle for Ends {}

impl Handle<ends::Input> for Ends {
    fn handle(&mut self, fix: &Fix, _: &Context) -> Outcome {
        self.seen.push(fix.clone());
        Ok(())
    }
}

fn service(participant: &DomainParticipant) -> ByDds<Fix> {
    let mut service = ByDds::new(participant, "Fixes");
    let (mut writer, mut reader) = (DataWriterQos::default(), DataReaderQos::default());
    for endpoint in [&mut writer.endpoint, &mut reader.endpoint] {
        endpoint.reliability = Reliability::RELIABLE;
        endpoint.history = History::KeepAll;
    }
    (service.writer, service.reader) = (Some(writer), Some(reader));
    service
}

fn server(name: &str) -> Server {
    let mut server = Server::simulated();
    server.container("box", Policy::default()).unwrap();
    server.install::<Ends>("box", name, &[]).unwrap();
    server
}

fn push(server: &Server, name: &str, number: u32) {
    let fix = Fix { number, text: "here".to_owned() };
    let entry = server.entry::<Ends>(name).unwrap();
    entry.with(|ends, at| ends.out.push(at, &fix)).unwrap().unwrap();
}

fn seen(server: &Server, name: &str) -> Vec<u32> {
    let entry = server.entry::<Ends>(name).unwrap();
    entry.with(|ends, _| ends.seen.drain(..).map(|fix| fix.number).collect()).unwrap()
}

#[test]
fn events_go_by_a_topic_to_another_server() {
    let mut domain = VirtualDomain::new();
    let (here, there) = (domain.participant(), domain.participant());
    let (mut writes, mut reads) = (server("w"), server("r"));
    writes.connect("fixes", &["w.out"], &[], &service(&here)).unwrap();
    let mut by_lane = service(&there);
    by_lane.served = Some(ByChannel::new(Dispatch::Pool));
    reads.connect("fixes", &[], &["r.input"], &by_lane).unwrap();
    reads.install::<Ends>("box", "direct", &[]).unwrap();
    reads.connect("direct", &[], &["direct.input"], &service(&there)).unwrap();
    writes.launch().unwrap();
    reads.launch().unwrap();
    domain.run(Duration::from_secs(2));
    (0..3).for_each(|number| push(&writes, "w", number));
    domain.run(Duration::from_millis(100));
    // The one was called as it came; the other has a queue.
    assert_eq!(seen(&reads, "direct"), [0, 1, 2]);
    assert_eq!(seen(&reads, "r"), [0; 0]);
    reads.advance(Time::ZERO);
    assert_eq!(seen(&reads, "r"), [0, 1, 2]);
    // The end of a connection takes reader and writer along.
    reads.disconnect("fixes").unwrap();
    push(&writes, "w", 3);
    domain.run(Duration::from_millis(100));
    reads.advance(Time::ZERO);
    assert_eq!((seen(&reads, "direct"), seen(&reads, "r")), (vec![3], vec![]));
    writes.disconnect("fixes").unwrap();
    push(&writes, "w", 4);
    domain.run(Duration::from_millis(100));
    assert_eq!(seen(&reads, "direct"), [0; 0]);
}

#[test]
fn a_topic_of_another_type_and_a_writer_that_refuses_are_told_of() {
    #[derive(DdsType, Clone)]
    struct Other {
        number: u32,
    }
    impl Event for Other {}

    let mut domain = VirtualDomain::new();
    let here = domain.participant();
    let mut writes = server("w");
    let error = writes.connect("x", &["w.out"], &[], &ByDds::<Other>::new(&here, "Fixes")).unwrap_err();
    assert!(error.to_string().contains("connection x: topic Fixes is of"), "{error}");
    assert!(matches!(error, ServerError::Service { .. }));
    writes.connect("x", &["w.out"], &[], &service(&here)).unwrap();
    here.delete_contained_entities().unwrap();
    let entry = writes.entry::<Ends>("w").unwrap();
    let fix = Fix { number: 1, text: String::new() };
    let refused = entry.with(|ends, at| ends.out.push(at, &fix)).unwrap();
    assert_eq!(refused, Err(container::Failure::Service));
    assert_eq!(writes.next_report(Time::ZERO).unwrap().of, "w.out");
}
