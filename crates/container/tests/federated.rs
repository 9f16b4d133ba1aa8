//! Connections by gateways between servers, on sockets in a network namespace (needs root).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use container::{
    ByChannel, ByGateway, Component, Consumer, Context, Dispatch, Event, Fault, Handle, Lifecycle, Outcome,
    Policy, Publisher, Server, ServerError, filter,
};
use dds::DdsType;
use gateways::{Config, Federated, GatewayId, Peer, Transport};
use testkit::namespace::alone;
use testkit::patience::patiently;

#[derive(DdsType, Clone, PartialEq, Debug)]
struct Fix {
    number: u32,
    text: String,
}

struct Known;
impl filter::Schema for Known {
    fn field(&self, path: filter::Path<'_>) -> Option<filter::Field> {
        (path.text() == "number").then_some(filter::Field { slot: 0, kind: filter::Kind::Integer })
    }
    fn label(&self, _: u32, _: &str) -> Option<i64> {
        None
    }
}

impl Event for Fix {
    fn field(&self, slot: u32) -> Option<filter::Value<'_>> {
        (slot == 0).then_some(filter::Value::Unsigned(self.number.into()))
    }
    fn schema() -> Option<&'static dyn filter::Schema> {
        Some(&Known)
    }
}

/// Number, priority, and nanoseconds to the deadline of what came.
type Log = Arc<Mutex<Vec<(u32, u8, Option<u64>)>>>;

#[derive(Component)]
struct Ends {
    out: Publisher<Fix>,
    input: Consumer<Fix>,
    seen: Log,
}

impl Lifecycle for Ends {}

impl Handle<ends::Input> for Ends {
    fn handle(&mut self, fix: &Fix, at: &Context) -> Outcome {
        assert_eq!(fix.text, "here");
        let left = at.deadline().map(|deadline| deadline.saturating_sub(at.created()));
        self.seen.lock().unwrap().push((fix.number, at.priority(), left));
        Ok(())
    }
}

struct NoFields;
impl filter::Fields for NoFields {
    fn value(&self, _: u32) -> Option<filter::Value<'_>> {
        None
    }
}

fn at(id: u64) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7_000 + id as u16))
}

fn gateway(id: u64, peers: &[u64]) -> Federated {
    let mut config = Config::new(GatewayId(id));
    config.udp = Some(at(id));
    // No gateway is taken for dead because the machine is busy.
    config.settings.lease = 60_000_000_000;
    let peer = |id: &u64| Peer { id: GatewayId(*id), transport: Transport::Udp(at(*id)) };
    config.peers = peers.iter().map(peer).collect();
    Federated::start(&config).unwrap()
}

fn server(names: &[&str]) -> Server {
    let mut server = Server::new(&container::Locality::default());
    server.container("box", Policy::default()).unwrap();
    names.iter().for_each(|name| server.install::<Ends>("box", name, &[]).unwrap());
    server
}

fn log(server: &Server, name: &str) -> Log {
    server.entry::<Ends>(name).unwrap().with(|ends, _| Arc::clone(&ends.seen)).unwrap()
}

fn push(server: &Server, number: u32) {
    let fix = Fix { number, text: "here".to_owned() };
    let entry = server.entry::<Ends>("w").unwrap();
    entry
        .with(|ends, at| ends.out.push(&at.with(5, Some(at.created() + 1_000_000_000)), &fix))
        .unwrap()
        .unwrap();
}

fn numbers(log: &Log) -> Vec<u32> {
    log.lock().unwrap().iter().map(|(number, ..)| *number).filter(|number| *number < 1_000).collect()
}

#[test]
fn events_go_once_to_each_process_and_to_all_of_its_consumers() {
    alone(|| {
        let (here, there, elsewhere) = (gateway(1, &[2, 3]), gateway(2, &[1]), gateway(3, &[1]));
        let (mut writes, mut reads, mut filters) = (server(&["w"]), server(&["a", "b"]), server(&["c"]));
        writes.connect("fixes", &["w.out"], &[], &ByGateway::<Fix>::new(&here, "fixes")).unwrap();
        let mut queued = ByGateway::<Fix>::new(&there, "fixes");
        queued.served = Some(ByChannel::new(Dispatch::Pool));
        queued.served.as_mut().unwrap().queue.depth = 1_000;
        reads.connect("fixes", &[], &["a.input", "b.input"], &queued).unwrap();
        let mut some = ByGateway::<Fix>::new(&elsewhere, "fixes");
        (some.filter, some.parameters) = (Some("number >= %0".to_owned()), vec!["90".to_owned()]);
        filters.connect("fixes", &[], &["c.input"], &some).unwrap();
        [&mut writes, &mut reads, &mut filters].into_iter().for_each(|server| server.launch().unwrap());
        let logs = [log(&reads, "a"), log(&reads, "b"), log(&filters, "c")];
        // Neither gateway knows the other one at first.
        patiently("the first event", || {
            push(&writes, 1_000);
            logs.iter().all(|log| !log.lock().unwrap().is_empty()).then_some(())
        });
        let before = here.counts().transfers;
        (0..100).for_each(|number| push(&writes, number));
        let all: Vec<u32> = (0..100).collect();
        patiently("the last event", || logs.iter().all(|log| numbers(log).last() == Some(&99)).then_some(()));
        assert_eq!((numbers(&logs[0]), numbers(&logs[1])), (all.clone(), all.clone()));
        assert_eq!(numbers(&logs[2]), all[90..]);
        // One for each of the two processes, as their filters say.
        assert_eq!(here.counts().transfers - before, 110);
        // Priority and deadline travel along; what was left of the deadline has not grown.
        for log in &logs {
            let log = log.lock().unwrap();
            assert!(log.iter().all(|(_, priority, left)| *priority == 5
                && left.is_some_and(|left| left > 0 && left <= 1_000_000_000)));
        }
        // The end of a connection is told upstream.
        reads.disconnect("fixes").unwrap();
        filters.disconnect("fixes").unwrap();
        patiently("the end of subscriptions", || {
            let kind = here.offer("fixes", None).unwrap();
            (!here.is_wanted(kind)).then_some(())
        });
        let before = here.counts().transfers;
        push(&writes, 5);
        assert_eq!(here.counts().transfers, before);
    });
}

#[test]
fn what_does_not_fit_is_told() {
    alone(|| {
        let (here, there) = (gateway(1, &[2]), gateway(2, &[1]));
        let mut reads = server(&["r"]);
        let mut wrong = ByGateway::<Fix>::new(&here, "fixes");
        wrong.filter = Some("height > 3".to_owned());
        let error = reads.connect("fixes", &[], &["r.input"], &wrong).unwrap_err();
        assert!(matches!(error, ServerError::Service { .. }));
        assert!(error.to_string().contains("no field `height`"), "{error}");
        reads.connect("fixes", &[], &["r.input"], &ByGateway::<Fix>::new(&here, "fixes")).unwrap();
        // The other process means another type by the name.
        let kind = there.offer("fixes", None).unwrap();
        patiently("the report", || {
            there.publish(kind, "x.out", gateways::Header::default(), &NoFields, b"no fix").unwrap();
            let report = reads.next_report(Duration::ZERO)?;
            (report.of == "fixes" && matches!(&report.fault, Fault::Service(text) if text.contains("x.out")))
                .then_some(())
        });
    });
}
