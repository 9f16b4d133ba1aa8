//! A writer that is lost with its participant and found again: what was taken before is not taken twice, and what was written meanwhile comes.

use crate::pair::{Delivered, Pair, Payload, ToTheReader, Wire, path_to, reader_guid, writer_guid};
use rtps::reader::{MatchedWriter, Reader, ReaderConfig};
use rtps::receiver::interpret;
use rtps::transmit::Transmit;
use rtps::writer::{MatchedReader, WriterConfig};
use wire::message::encode::{self, DataHeader};
use wire::message::{AckNack, Gap, Heartbeat, Message, PayloadKind, Submessage};
use wire::{Duration, EntityId, EntityKind, Guid, GuidPrefix, Now, SequenceNumber, SequenceNumberSet};

fn retaining(seed: u64) -> Pair {
    let config = WriterConfig { retain: true, ..WriterConfig::new(writer_guid(), true) };
    Pair::new(seed, config, &[ReaderConfig::new(reader_guid(0), true)])
}

fn write(pair: &mut Pair, count: u64, len: u64) {
    for _ in 0..count {
        let len = 1 + pair.random.below_u64(len) as usize;
        pair.write(&vec![0; len]).unwrap();
        let pause = pair.random.below_u64(2_000) as i64;
        pair.run(Duration::from_micros(pause));
    }
}

fn numbers(pair: &Pair) -> Vec<i64> {
    pair.readers[0].1.samples.iter().map(|(number, _)| number.0).collect()
}

/// Ends the match on one side, or on both.
fn part(pair: &mut Pair, of_reader: bool, of_writer: bool) {
    let (now, guid) = (pair.now, reader_guid(0));
    assert!(!of_reader || pair.readers[0].0.lose_writer(writer_guid()));
    assert!(!of_writer || pair.writer.unmatch_reader(now, guid));
}

#[test]
fn every_sample_comes_once_whichever_side_has_lost_the_other() {
    for seed in 0..200 {
        let mut pair = retaining(seed);
        pair.receive_buffer = [None, Some(40_000)][seed as usize % 2];
        pair.mtu = 1_472;
        let len = [100, 4_000][pair.random.below_u64(2) as usize];
        let chance = pair.random.below_u64(25);
        let faults = Wire { loss: chance, duplicate: chance / 2, jitter: chance * 40, delay: 0 };
        pair.connect(0, true);
        for _ in 0..4 {
            pair.wire = faults;
            let count = pair.random.below_u64(40);
            write(&mut pair, count, len);
            let (of_reader, of_writer) =
                [(true, true), (true, false), (false, true)][pair.random.below_u64(3) as usize];
            part(&mut pair, of_reader, of_writer);
            pair.wire = Wire { loss: 100, ..faults };
            let count = pair.random.below_u64(20);
            write(&mut pair, count, len);
            pair.wire = faults;
            pair.connect(0, true);
        }
        pair.run(Duration::from_secs(20));
        let last = pair.writer.last();
        assert!(numbers(&pair).into_iter().eq(1..=last.0), "seed {seed}: {:?}", numbers(&pair));
        assert_eq!(pair.readers[0].1.lost, 0, "seed {seed}");
        assert!(pair.readers[0].0.has_history(writer_guid()), "seed {seed}");
        assert!(pair.writer.is_acknowledged(last), "seed {seed}");
    }
}

#[test]
fn on_a_good_wire_nothing_is_sent_that_was_taken_before() {
    for receive_buffer in [None, Some(1 << 20)] {
        let mut pair = retaining(1);
        pair.receive_buffer = receive_buffer;
        pair.connect(0, true);
        write(&mut pair, 500, 100);
        pair.run(Duration::from_secs(1));
        part(&mut pair, true, true);
        write(&mut pair, 3, 100);
        let repairs = pair.writer.counters().repairs;
        pair.connect(0, true);
        pair.run(Duration::from_secs(1));
        assert_eq!(numbers(&pair).len(), 503);
        assert_eq!(pair.readers[0].0.counters().duplicates, 0);
        assert_eq!(pair.writer.counters().repairs, repairs);
        let datagrams = pair.datagrams;
        pair.run(Duration::from_secs(10));
        assert_eq!(pair.datagrams, datagrams, "nothing is left to say");
    }
}

#[test]
fn a_sample_that_found_no_room_before_is_given_afterwards() {
    let mut pair = retaining(1);
    pair.connect(0, true);
    pair.readers[0].1.limit = Some(10);
    write(&mut pair, 20, 100);
    pair.run(Duration::from_secs(1));
    part(&mut pair, true, true);
    pair.readers[0].1.limit = None;
    pair.connect(0, true);
    pair.run(Duration::from_secs(1));
    assert!(numbers(&pair).into_iter().eq(1..=20));
}

#[test]
fn a_writer_that_is_gone_for_good_is_new_when_its_name_comes_again() {
    let mut pair = retaining(1);
    pair.connect(0, true);
    write(&mut pair, 20, 100);
    pair.run(Duration::from_secs(1));
    part(&mut pair, true, true);
    // Its end is heard of while it is not matched.
    assert!(!pair.readers[0].0.unmatch_writer(writer_guid()));
    pair.connect(0, true);
    pair.run(Duration::from_secs(1));
    assert_eq!(numbers(&pair).len(), 40);
    // It has begun anew, unnoticed by the writer.
    assert!(pair.readers[0].0.unmatch_writer(writer_guid()));
    pair.connect(0, true);
    pair.run(Duration::from_secs(1));
    assert_eq!(numbers(&pair).len(), 60);
}

#[test]
fn a_writer_believes_a_reader_that_begins_far_behind_the_first_change() {
    for receive_buffer in [None, Some(1 << 20)] {
        let mut pair = retaining(1);
        write(&mut pair, 500, 100);
        let guid = reader_guid(0);
        let reader = MatchedReader {
            guid,
            reliable: true,
            wants_history: true,
            paths: vec![path_to(2, 1_472)],
            direct: None,
            receive_buffer,
        };
        pair.writer.match_reader(pair.now, reader);
        let acknack = |base: i64, count, is_final| AckNack {
            reader_id: guid.entity_id,
            writer_id: writer_guid().entity_id,
            set: SequenceNumberSet::empty(SequenceNumber(base)),
            count,
            is_final,
        };
        let mut sent = Vec::new();
        let mut transmit: Transmit<Payload> = Transmit::new();
        for (count, is_final) in [(1, false), (2, true)] {
            pair.writer.on_acknack(pair.now, guid.prefix, &acknack(491, count, is_final));
            while pair.writer.poll_transmit(pair.now, &mut transmit) {
                let mut bytes = Vec::new();
                transmit.copy_to(&mut bytes);
                let message = Message::parse(&bytes).unwrap();
                sent.extend(message.submessages().filter_map(|submessage| match submessage.unwrap() {
                    Submessage::Data(data) => Some(data.sequence_number.0),
                    _ => None,
                }));
            }
            pair.now.monotonic = pair.now.monotonic.after(Duration::from_millis(1));
        }
        assert!(sent.iter().copied().eq(491..=500), "{sent:?}");
        pair.writer.on_acknack(pair.now, guid.prefix, &acknack(501, 3, true));
        assert!(pair.writer.is_acknowledged(SequenceNumber(500)));
    }
}

/// One reader, and what its writer could say.
struct Bench {
    now: Now,
    reader: Reader,
    delivered: Delivered,
    writer: Guid,
    vendor: [u8; 2],
    reliable: bool,
    count: i32,
}

const OURS: [u8; 2] = wire::VendorId::PUNCTUAL.0;
const OTHERS: [u8; 2] = [1, 0x10];

impl Bench {
    fn new(vendor: [u8; 2], reliable: bool) -> Self {
        let mut bench = Self {
            now: Now::default(),
            reader: Reader::new(ReaderConfig::new(reader_guid(0), reliable)),
            delivered: Delivered::default(),
            writer: Guid::new(GuidPrefix([9; 12]), EntityId::user(1, EntityKind::WriterWithKey)),
            vendor,
            reliable,
            count: 0,
        };
        bench.connect();
        bench
    }

    /// A reader that has taken changes up to `last`, has lost the writer and is matched again.
    fn returned(vendor: [u8; 2], last: i64) -> Self {
        let mut bench = Self::new(vendor, true);
        bench.heartbeat(1, last, true);
        (1..=last).for_each(|number| bench.data(number));
        bench.part();
        bench.connect();
        bench
    }

    fn connect(&mut self) {
        let paths = vec![path_to(1, 65_507)];
        self.reader
            .match_writer(self.now, MatchedWriter { guid: self.writer, reliable: self.reliable, paths });
    }

    fn part(&mut self) {
        assert!(self.reader.lose_writer(self.writer));
        self.wait(30_000);
    }

    fn wait(&mut self, millis: i64) {
        self.now.monotonic = self.now.monotonic.after(Duration::from_millis(millis));
    }

    fn receive(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        encode::header(&mut bytes, self.writer.prefix);
        // The vendor of a header is ours; bytes 6 and 7.
        bytes[6..8].copy_from_slice(&self.vendor);
        write(&mut bytes);
        let (prefix, from) = (self.reader.guid().prefix, "10.0.0.1:7411".parse().unwrap());
        let (now, reader, delivered) = (self.now, &mut self.reader, &mut self.delivered);
        interpret(prefix, from, &bytes, &mut ToTheReader { now, reader, delivered }).unwrap();
    }

    fn data(&mut self, number: i64) {
        let header = DataHeader {
            reader_id: EntityId::UNKNOWN,
            writer_id: self.writer.entity_id,
            sequence_number: SequenceNumber(number),
            inline_qos: None,
            kind: PayloadKind::Data,
        };
        self.receive(|bytes| encode::data(bytes, &header, &[0, 1, 0, 0]));
    }

    fn heartbeat(&mut self, first: i64, last: i64, directed: bool) {
        self.count += 1;
        let heartbeat = Heartbeat {
            reader_id: if directed { self.reader.guid().entity_id } else { EntityId::UNKNOWN },
            writer_id: self.writer.entity_id,
            first: SequenceNumber(first),
            last: SequenceNumber(last),
            count: self.count,
            is_final: false,
            liveliness: false,
        };
        self.receive(|bytes| encode::heartbeat(bytes, &heartbeat));
    }

    fn gap(&mut self, start: i64, end: i64) {
        let (reader_id, writer_id) = (EntityId::UNKNOWN, self.writer.entity_id);
        let list = SequenceNumberSet::empty(SequenceNumber(end));
        let gap = Gap { reader_id, writer_id, start: SequenceNumber(start), list };
        self.receive(|bytes| encode::gap(bytes, &gap));
    }

    /// Base, what is asked for, and the final flag of what it sends now.
    fn answer(&mut self) -> Option<(i64, Vec<i64>, bool)> {
        let mut transmit: Transmit<Payload> = Transmit::new();
        let mut answer = None;
        while self.reader.poll_transmit(self.now, &mut transmit) {
            let mut bytes = Vec::new();
            transmit.copy_to(&mut bytes);
            for submessage in Message::parse(&bytes).unwrap().submessages() {
                if let Submessage::AckNack(AckNack { set, is_final, .. }) = submessage.unwrap() {
                    let asked = set.iter().map(|number| number.0).collect();
                    assert_eq!(answer.replace((set.base().0, asked, is_final)), None);
                }
            }
        }
        answer
    }

    fn numbers(&self) -> Vec<i64> {
        self.delivered.samples.iter().map(|(number, _)| number.0).collect()
    }
}

#[test]
fn a_writer_that_goes_on_is_acknowledged_what_it_wrote_before_once_it_is_heard() {
    for vendor in [OURS, OTHERS] {
        let mut bench = Bench::returned(vendor, 10);
        assert_eq!(
            bench.answer(),
            Some((1, vec![], false)),
            "it asks for a HEARTBEAT and acknowledges nothing"
        );
        (4..=12).for_each(|number| bench.data(number));
        assert!(bench.numbers().into_iter().eq(1..=12), "what it is sent is taken all the same, and once");
        bench.heartbeat(1, 14, true);
        assert_eq!(bench.answer(), Some((13, vec![13, 14], true)));
        assert_eq!(bench.delivered.lost, 0);
    }
    // With nothing new there is nothing to ask for.
    let mut bench = Bench::returned(OTHERS, 10);
    bench.answer();
    bench.heartbeat(1, 10, false);
    assert_eq!(bench.answer(), Some((11, vec![], true)));
    assert!(bench.reader.has_history(bench.writer));
}

#[test]
fn a_writer_that_numbers_anew_is_asked_once_and_believed() {
    for directed in [true, false] {
        let mut bench = Bench::returned(OTHERS, 10);
        bench.answer();
        bench.heartbeat(1, 3, directed);
        assert_eq!(bench.answer(), Some((1, vec![], false)), "it acknowledges nothing that it has not got");
        assert!(!bench.reader.has_history(bench.writer));
        bench.wait(1);
        bench.heartbeat(1, 3, directed);
        assert_eq!(bench.answer(), Some((1, vec![1, 2, 3], true)));
        (1..=4).for_each(|number| bench.data(number));
        assert!(bench.numbers().into_iter().eq((1..=10).chain(1..=4)));
        assert_eq!(bench.delivered.lost, 0);
        assert!(bench.reader.has_history(bench.writer));
    }
}

#[test]
fn a_late_heartbeat_does_not_make_a_reader_begin_anew() {
    let mut bench = Bench::returned(OTHERS, 10);
    bench.heartbeat(1, 3, false);
    bench.heartbeat(1, 4, true);
    assert_eq!(bench.answer(), Some((1, vec![], false)));
    bench.wait(1);
    bench.heartbeat(1, 11, true);
    assert_eq!(bench.answer(), Some((11, vec![11], true)));
}

#[test]
fn a_writer_of_ours_says_how_far_readers_were_served_and_never_begins_anew() {
    for directed in [true, false] {
        let mut bench = Bench::returned(OURS, 10);
        bench.answer();
        for round in 0..4 {
            bench.wait(1_000);
            bench.heartbeat(1, 3, directed);
            assert_eq!(bench.answer(), Some((11, vec![], directed)), "{round}");
        }
        bench.heartbeat(1, 11, true);
        assert_eq!(bench.answer(), Some((11, vec![11], true)));
        assert_eq!(bench.delivered.lost, 0);
    }
}

#[test]
fn numbers_that_a_heartbeat_has_skipped_may_still_come_afterwards() {
    let mut bench = Bench::new(OTHERS, true);
    bench.heartbeat(1, 3, true);
    (1..=3).for_each(|number| bench.data(number));
    // Forged: nothing behind it comes.
    bench.heartbeat(9, 8, true);
    assert_eq!(bench.delivered.lost, 5);
    bench.part();
    bench.connect();
    bench.heartbeat(1, 12, true);
    (1..=12).for_each(|number| bench.data(number));
    assert!(bench.numbers().into_iter().eq(1..=12));
    assert_eq!(bench.delivered.lost, 5, "told once");
}

#[test]
fn what_is_gone_or_not_meant_for_it_is_not_lost() {
    // As of a late reader: the changes were replaced while it was not matched.
    let mut bench = Bench::returned(OTHERS, 10);
    bench.heartbeat(15, 16, true);
    (15..=16).for_each(|number| bench.data(number));
    assert!(bench.numbers().into_iter().eq((1..=10).chain(15..=16)));
    assert_eq!(bench.delivered.lost, 0);
    let mut bench = Bench::returned(OTHERS, 10);
    bench.gap(1, 15);
    bench.heartbeat(15, 16, true);
    assert_eq!(bench.answer(), Some((15, vec![15, 16], true)));
    assert_eq!(bench.delivered.lost, 0);
}

#[test]
fn of_a_writer_that_repeats_nothing_nothing_is_remembered() {
    // A device that begins anew under its name is heard from its first sample on.
    let mut bench = Bench::new(OTHERS, false);
    (1..=10).for_each(|number| bench.data(number));
    bench.part();
    bench.connect();
    (1..=10).for_each(|number| bench.data(number));
    assert!(bench.numbers().into_iter().eq((1..=10).chain(1..=10)));
}

#[test]
fn a_reader_that_is_told_of_a_vendors_first_heartbeat_base_asks_for_it_so() {
    // The prefixes of Connext begin so; it wants base 0.
    let mut bench = Bench::new(OTHERS, true);
    bench.reader.unmatch_writer(bench.writer);
    bench.writer = writer_guid();
    bench.connect();
    bench.heartbeat(1, 5, true);
    (1..=5).for_each(|number| bench.data(number));
    bench.answer();
    bench.part();
    bench.connect();
    assert_eq!(bench.answer(), Some((0, vec![], false)));
}
