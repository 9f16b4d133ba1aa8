//! A reader that nobody reads from: its writer blocks or drops as its QoS says, what must arrive does in the end, and memory stays where it
//! is. For as long as the tier says, over UDP and through shared memory, each test in a network namespace of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::{Duration, Instant};

use dds::config::Config;
use dds::qos::{DataReaderQos, DataWriterQos, EndpointQos, History, Reliability};
use dds::{
    DataReader, DataWriter, DdsType, DomainParticipant, DomainParticipantFactory, NO_STATUS, QosKind,
    ReturnCode, States,
};
use testkit::namespace::alone;

/// Longer than anything here takes on a busy machine; only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(20);
/// Samples that a writer and a reader keep at most, if they keep all.
const WRITER: u32 = 300;
const READER: u32 = 200;
/// Samples that they keep, if they keep the last.
const LAST: u32 = 10;
/// Bytes of a sample.
const OCTETS: usize = 1_000;
/// Bytes of memory that may come on top of what there is once histories are full, those of other tests of this process included: a second of
/// writing is more.
const ON_TOP: u64 = 48 << 20;
/// When the ends are as full as they will be.
const FULL: Duration = Duration::from_millis(500);

#[derive(DdsType, Clone, Debug, Default)]
struct Numbered {
    number: u64,
    octets: Vec<u8>,
}

/// A writer, and a reader in another participant.
struct Ends {
    participants: [DomainParticipant; 2],
    writer: DataWriter<Numbered>,
    reader: DataReader<Numbered>,
}

fn reliable(endpoint: &mut EndpointQos, history: History, most: u32) {
    endpoint.reliability = Reliability::RELIABLE;
    endpoint.reliability.max_blocking_time = dds::Duration::from_millis(20);
    endpoint.history = history;
    endpoint.resource_limits.max_samples = Some(most);
    endpoint.resource_limits.max_samples_per_instance = Some(most);
}

impl Ends {
    fn new(shared: bool, writes: History, reads: History) -> Self {
        let mut config = Config::default();
        config.shared_memory.enabled = shared;
        let factory = DomainParticipantFactory::get_instance();
        let participants = [(); 2].map(|()| {
            factory.create_participant_with(0, QosKind::Default, &config, None, NO_STATUS).unwrap()
        });
        let [out, back] = [&participants[0], &participants[1]].map(|participant| {
            participant
                .create_topic::<Numbered>("Numbers", "Numbered", QosKind::Default, None, NO_STATUS)
                .unwrap()
        });
        let mut qos = DataWriterQos::default();
        reliable(&mut qos.endpoint, writes, WRITER);
        let publisher = participants[0].create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
        let writer = publisher.create_datawriter(&out, QosKind::Specific(qos), None, NO_STATUS).unwrap();
        let mut qos = DataReaderQos::default();
        reliable(&mut qos.endpoint, reads, READER);
        let subscriber = participants[1].create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
        let reader = subscriber.create_datareader(&back, QosKind::Specific(qos), None, NO_STATUS).unwrap();
        let ends = Self { participants, writer, reader };
        let begun = Instant::now();
        while ends.writer.get_publication_matched_status().current.count == 0
            || ends.reader.get_subscription_matched_status().current.count == 0
        {
            assert!(begun.elapsed() < PATIENCE, "they never met");
            std::thread::sleep(Duration::from_millis(1));
        }
        if shared {
            while !ends.participants[0].report().iter().any(|line| line.starts_with("shared memory with")) {
                assert!(begun.elapsed() < PATIENCE, "no shared memory");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        ends
    }

    /// Writes as fast as it can for as long as the tier says, while nobody reads. How many samples were written, and how often there was no room
    /// for one in time.
    fn write_on(&self) -> (u64, u64) {
        let time = Duration::from_secs(tiers::current().number("dds.stalled_seconds"));
        let (mut sample, mut refused) = (Numbered { number: 0, octets: vec![7; OCTETS] }, 0);
        let (begun, mut full) = (Instant::now(), None);
        // A machine that stands still must not end it before the memory was looked at.
        while full.is_none() || begun.elapsed() < time {
            match self.writer.write(&sample) {
                Ok(_) => sample.number += 1,
                Err(error) => {
                    assert_eq!(error.code, ReturnCode::Timeout, "{error}");
                    refused += 1;
                }
            }
            if full.is_none() && begun.elapsed() > FULL {
                full = Some(resident());
            }
        }
        let (full, now) = (full.unwrap(), resident());
        assert!(
            now < full + ON_TOP,
            "{full} octets of memory have become {now}, with {} samples",
            sample.number
        );
        println!("{} written, {refused} refused, memory from {full} to {now} octets", sample.number);
        (sample.number, refused)
    }

    /// Reads until the sample of this number has come; the numbers of all that came.
    fn read_to(&self, last: u64) -> Vec<u64> {
        let (begun, mut numbers) = (Instant::now(), Vec::new());
        while numbers.last() != Some(&last) {
            assert!(begun.elapsed() < PATIENCE, "{last} does not come after {numbers:?}");
            let Ok(samples) = self.reader.take(64, States::ANY) else {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            };
            numbers.extend(samples.iter().filter_map(|sample| sample.data.as_ref()).map(|data| data.number));
        }
        numbers
    }

    fn leave(self) {
        let factory = DomainParticipantFactory::get_instance();
        for participant in &self.participants {
            factory.delete_participant(participant).unwrap();
        }
    }
}

/// Bytes of memory that this process has now.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn keeps_all(shared: bool) {
    alone(|| {
        let ends = Ends::new(shared, History::KeepAll, History::KeepAll);
        let (written, refused) = ends.write_on();
        assert!(refused > 0, "nobody took {written} samples");
        assert!(written <= u64::from(WRITER + READER), "{written} samples found room");
        // All come, in their order, and there is room again.
        assert!(ends.read_to(written - 1).into_iter().eq(0..written));
        ends.writer.write(&Numbered { number: written, octets: Vec::new() }).unwrap();
        assert_eq!(ends.read_to(written), [written]);
        ends.leave();
    });
}

fn keeps_the_last(shared: bool, reads: History) {
    alone(|| {
        let ends = Ends::new(shared, History::KeepLast(LAST), reads);
        let (written, refused) = ends.write_on();
        assert_eq!(refused, 0);
        let numbers = ends.read_to(written - 1);
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        // A reader that keeps all has as many as it had room for, whichever they are, and then what its writer has still.
        let kept = if reads == History::KeepAll { READER as usize } else { 0 };
        assert!(numbers.len() > kept, "{numbers:?}");
        ends.leave();
    });
}

#[test]
fn a_writer_that_keeps_all_blocks() {
    keeps_all(false);
}

#[test]
fn a_writer_that_keeps_all_blocks_with_shared_memory() {
    keeps_all(true);
}

#[test]
fn a_writer_that_keeps_the_last_drops() {
    keeps_the_last(false, History::KeepLast(LAST));
}

#[test]
fn a_writer_that_keeps_the_last_drops_for_a_reader_that_keeps_all() {
    keeps_the_last(false, History::KeepAll);
}

#[test]
fn a_writer_that_keeps_the_last_drops_with_shared_memory() {
    keeps_the_last(true, History::KeepLast(LAST));
}
