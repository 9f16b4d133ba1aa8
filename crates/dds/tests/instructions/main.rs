//! How many machine instructions the hot paths take, from write to datagram and from datagram to take: counted one by one, so that the
//! figure is the same on every machine, busy or not, with a debugger's means, for which nobody has to allow anything.
#![cfg(target_arch = "x86_64")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../allocation/quiet.rs"]
mod quiet;

use std::sync::{Arc, Mutex};

use dds::qos::{DataReaderQos, DataWriterQos, History, Reliability};
use dds::{DataReader, DataReaderListener, DataWriter, DdsType, NO_STATUS, QosKind, StatusMask};
use quiet::Domain;
use testkit::instructions::{Path, judge, rounds};
use wire::Duration;

const PATHS: [Path; 6] = [
    Path { name: "from write to datagram", limit: 3_820 },
    Path { name: "from datagram to take by a listener", limit: 4_600 },
    Path { name: "a write that joins others in a datagram", limit: 2_050 },
    Path { name: "a datagram of 8 samples, all taken by a listener", limit: 31_700 },
    Path { name: "a write over the last sample, into shared memory", limit: 2_540 },
    Path { name: "from shared memory to take by a listener", limit: 4_600 },
];
const MILLISECOND: Duration = Duration::from_millis(1);

#[derive(DdsType, Clone, Debug, Default)]
#[dds(final)]
struct Message {
    number: u32,
    data: Vec<u8>,
}

/// Takes all.
#[derive(Default)]
struct Taker(Mutex<(Message, u32)>);

impl DataReaderListener<Message> for Taker {
    fn on_data_available(&self, reader: &DataReader<Message>) {
        let (sample, taken) = &mut *self.0.lock().unwrap();
        while reader.take_into(sample).unwrap().is_some() {
            *taken += 1;
        }
    }
}

/// A writer, and a reader with a listener in another participant.
struct Ends {
    domain: Domain,
    writer: DataWriter<Message>,
    taker: Arc<Taker>,
    _reader: DataReader<Message>,
}

impl Ends {
    fn new(budget: Duration, history: History) -> Self {
        let mut domain = Domain::default();
        let (here, there) = (domain.participant(), domain.participant());
        let (mut writer_qos, mut reader_qos) = (DataWriterQos::default(), DataReaderQos::default());
        for qos in [&mut writer_qos.endpoint, &mut reader_qos.endpoint] {
            qos.reliability = Reliability::RELIABLE;
            qos.history = history;
            qos.latency_budget = budget;
        }
        let [topic, same] = [&here, &there].map(|participant| {
            participant.create_topic::<Message>("T", "Message", QosKind::Default, None, NO_STATUS).unwrap()
        });
        let publisher = here.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
        let writer =
            publisher.create_datawriter(&topic, QosKind::Specific(writer_qos), None, NO_STATUS).unwrap();
        let taker = Arc::new(Taker::default());
        let subscriber = there.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
        let listener = Arc::clone(&taker) as Arc<dyn DataReaderListener<Message>>;
        let qos = QosKind::Specific(reader_qos);
        let reader =
            subscriber.create_datareader(&same, qos, Some(listener), StatusMask::DATA_AVAILABLE).unwrap();
        domain.run(Duration::from_secs(1));
        assert_eq!(writer.get_matched_subscriptions().len(), 1);
        Self { domain, writer, taker, _reader: reader }
    }

    fn taken(&self) -> u32 {
        std::mem::take(&mut self.taker.0.lock().unwrap().1)
    }
}

/// What is counted, in the order of [`PATHS`].
fn play() {
    let message = Message { number: 1, data: vec![7; 64] };
    let alone = Ends::new(Duration::ZERO, History::KeepAll);
    let together = Ends::new(MILLISECOND, History::KeepAll);
    let over = Ends::new(Duration::ZERO, History::KeepLast(1));
    over.domain.link();
    let round = |counted: &dyn Fn(&mut dyn FnMut())| {
        alone.domain.run(MILLISECOND);
        counted(&mut || {
            alone.writer.write(&message).unwrap();
        });
        counted(&mut || alone.domain.run(Duration::ZERO));
        assert_eq!(alone.taken(), 1);
        for number in 0..8 {
            let mut write = || {
                together.writer.write(&message).unwrap();
            };
            if number == 4 { counted(&mut write) } else { write() }
        }
        together.writer.flush().unwrap();
        counted(&mut || together.domain.run(Duration::ZERO));
        assert_eq!(together.taken(), 8);
        together.domain.run(MILLISECOND);
        // The first asks for an acknowledgement, and goes with it; the third is written over the second.
        over.domain.run(Duration::from_millis(50));
        for _ in 0..2 {
            over.writer.write(&message).unwrap();
            over.domain.run(Duration::ZERO);
        }
        let (copied, _) = over.domain.copied();
        counted(&mut || {
            over.writer.write(&message).unwrap();
        });
        assert_eq!(over.domain.copied().0, copied + 1);
        counted(&mut || over.domain.run(Duration::ZERO));
        assert_eq!(over.taken(), 3);
    };
    // Caches and buffers find their sizes.
    (0..500).for_each(|_| round(&|act| act()));
    rounds(round);
}

#[test]
fn hot_paths_take_no_more_instructions_than_they_may() {
    judge("hot_paths_take_no_more_instructions_than_they_may", &PATHS, play);
}
