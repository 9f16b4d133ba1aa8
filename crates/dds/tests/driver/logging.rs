//! The log that the application gets by `tracing`, in a process of its own: there is one subscriber for all.
use std::fmt::{Debug, Write};
use std::sync::{Arc, Condvar, Mutex};

use dds::config::Config;
use dds::qos::{DataReaderQos, DataWriterQos, Reliability};
use dds::{DomainParticipantFactory, NO_STATUS, QosKind};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::PATIENCE;
use crate::fork::{Note, end};
use crate::namespace::alone;
use crate::process::is_own;

#[derive(Clone, Default)]
struct Lines(Arc<(Mutex<Vec<String>>, Condvar)>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        let (lines, is_more) = &*self.0;
        lines.lock().unwrap().push(line.0);
        is_more.notify_all();
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Lines {
    /// Waits for a line with all of these in it.
    fn expect(&self, parts: &[&str]) {
        let (lines, is_more) = &*self.0;
        let is = |line: &String| parts.iter().all(|part| line.contains(part));
        let waits = |lines: &mut Vec<String>| !lines.iter().any(is);
        let (lines, waited) = is_more.wait_timeout_while(lines.lock().unwrap(), PATIENCE, waits).unwrap();
        assert!(!waited.timed_out(), "{parts:?}: {:#?}", *lines);
    }
}

#[test]
fn what_happens_is_logged_with_its_cause() {
    if !is_own("logging::what_happens_is_logged_with_its_cause") {
        return;
    }
    let lines = Lines::default();
    tracing::dispatcher::set_global_default(tracing::Dispatch::new(lines.clone())).unwrap();
    alone(|| {
        let mut config = Config::default();
        config.shared_memory.enabled = true;
        let [one, other] = [end(["A", "B"], &config), end(["B", "A"], &config)];
        [&one, &other].into_iter().for_each(|end| end.meet());
        let prefix = other.participant.prefix().to_string();
        lines.expect(&["INFO", "participant found", &prefix]);
        lines.expect(&["INFO", "matched", "topic=\"A\"", "way="]);
        lines.expect(&["INFO", "shared memory begins", &prefix]);
        // By UDP at first, if the announcement of the writer came before.
        lines.expect(&["INFO", "matched", "topic=\"A\"", "way=\"shared memory\""]);
        // Offers less than is requested.
        let publisher = other.participant.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
        let topic = other.participant.lookup_topicdescription("B").unwrap();
        let mut qos = DataWriterQos::default();
        qos.endpoint.reliability = Reliability::BEST_EFFORT;
        let lesser =
            publisher.create_datawriter::<Note>(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap();
        lines.expect(&["WARN", "not matched", "topic=\"B\"", "RELIABILITY"]);
        drop(lesser);
        // Larger than a reader that is matched can take: told once, at the writer.
        let subscriber = one.participant.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
        let mut qos = DataReaderQos { byte_limit: 30_000, ..DataReaderQos::default() };
        qos.endpoint.reliability = Reliability::RELIABLE;
        let topic = one.participant.lookup_topicdescription("B").unwrap();
        let small =
            subscriber.create_datareader::<Note>(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap();
        other.writer.wait_for_readers(2, PATIENCE).unwrap();
        for _ in 0..3 {
            other.writer.write(&Note { number: 1, octets: vec![1; 40_000] }).unwrap();
        }
        let words = ["WARN", "that a reader cannot take", "size=400"];
        lines.expect(&words);
        let all = lines.0.0.lock().unwrap().clone();
        assert_eq!(all.iter().filter(|line| words.iter().all(|word| line.contains(word))).count(), 1);
        drop(small);
        let factory = DomainParticipantFactory::get_instance();
        factory.delete_participant(&other.participant).unwrap();
        lines.expect(&["INFO", "unmatched"]);
        lines.expect(&["INFO", "participant lost", &prefix, "goodbye"]);
        lines.expect(&["INFO", "shared memory ends", &prefix]);
        factory.delete_participant(&one.participant).unwrap();
    });
}
