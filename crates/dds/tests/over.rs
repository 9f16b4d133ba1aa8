//! A writer that keeps the last sample and reaches its reader through shared memory: whatever the memory says, each sample comes once, in order.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "allocation/quiet.rs"]
mod quiet;

use std::sync::{Arc, Mutex};

use dds::qos::{DataReaderQos, DataWriterQos, History, Reliability};
use dds::{DataReader, DataReaderListener, DataWriter, DdsType, NO_STATUS, QosKind, StatusMask};
use quiet::{DONE, Domain, NO, UNHEARD};
use wire::Duration;

#[derive(DdsType, Clone, Debug, Default)]
#[dds(final)]
struct Message {
    number: u32,
    data: Vec<u8>,
}

/// Takes all, and answers with the same.
#[derive(Default)]
struct Taker {
    taken: Mutex<Vec<u32>>,
    answers: Option<DataWriter<Message>>,
}

impl DataReaderListener<Message> for Taker {
    fn on_data_available(&self, reader: &DataReader<Message>) {
        let mut sample = Message::default();
        while reader.take_into(&mut sample).unwrap().is_some() {
            assert_eq!(sample.data, vec![sample.number as u8; sample.number as usize % 90]);
            self.taken.lock().unwrap().push(sample.number);
            if let Some(writer) = &self.answers {
                writer.write(&sample).unwrap();
            }
        }
    }
}

#[test]
fn samples_come_once_and_in_order_whatever_becomes_of_the_shared_memory() {
    let mut domain = Domain::default();
    let (here, there) = (domain.participant(), domain.participant());
    let (mut writer_qos, mut reader_qos) = (DataWriterQos::default(), DataReaderQos::default());
    for qos in [&mut writer_qos.endpoint, &mut reader_qos.endpoint] {
        qos.reliability = Reliability::RELIABLE;
        qos.history = History::KeepLast(1);
    }
    let [ask, asked, answer, answered] =
        [(&here, "A"), (&there, "A"), (&here, "B"), (&there, "B")].map(|(at, name)| {
            at.create_topic::<Message>(name, "Message", QosKind::Default, None, NO_STATUS).unwrap()
        });
    let writer = |at: &dds::DomainParticipant, topic| {
        let publisher = at.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
        publisher.create_datawriter(topic, QosKind::Specific(writer_qos.clone()), None, NO_STATUS).unwrap()
    };
    let reader = |at: &dds::DomainParticipant, topic, taker: &Arc<Taker>| {
        let subscriber = at.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
        let (listener, qos) = (Arc::clone(taker) as _, QosKind::Specific(reader_qos.clone()));
        subscriber.create_datareader(topic, qos, Some(listener), StatusMask::DATA_AVAILABLE).unwrap()
    };
    let (asks, answers) = (writer(&here, &ask), writer(&there, &answered));
    let echo = Arc::new(Taker { answers: Some(answers), ..Taker::default() });
    let back = Arc::new(Taker::default());
    let _readers = (reader(&there, &asked, &echo), reader(&here, &answer, &back));
    domain.run(Duration::from_secs(1));
    domain.link();
    domain.run(Duration::from_secs(1));
    let mut number = 0;
    let mut before = domain.copied();
    for copies in [DONE, UNHEARD, NO, DONE, NO, UNHEARD] {
        domain.set_copies(copies);
        for _ in 0..500 {
            number += 1;
            asks.write(&Message { number, data: vec![number as u8; number as usize % 90] }).unwrap();
            domain.run(Duration::from_micros(100));
        }
        let (copied, rung) = domain.copied();
        let (more, bells) = (copied - before.0, rung - before.1);
        // Where all was acknowledged the next sample goes the other way.
        assert!(if copies == NO { more == 0 } else { more > 800 }, "{copies}: {more}");
        assert_eq!(bells, if copies == UNHEARD { more } else { 0 });
        before = (copied, rung);
    }
    domain.run(Duration::from_secs(1));
    let all: Vec<u32> = (1..=number).collect();
    assert_eq!(*echo.taken.lock().unwrap(), all);
    assert_eq!(*back.taken.lock().unwrap(), all);
    assert!(asks.get_matched_subscriptions().len() == 1 && asks.held().unwrap().samples <= 1);
}
