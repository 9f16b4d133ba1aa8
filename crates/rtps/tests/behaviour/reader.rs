//! One reader and messages put together by hand.

use crate::pair::{Delivered, Payload, ToTheReader, WRITER, path_to, reader_guid, writer_guid};
use rtps::reader::{MatchedWriter, Reader, ReaderConfig};
use rtps::receiver::interpret;
use rtps::transmit::Transmit;
use wire::message::encode::{self, DataFragHeader, DataHeader};
use wire::message::{Gap, Heartbeat, Message, PayloadKind, Submessage};
use wire::{Duration, EntityId, FragmentNumber, Now, SequenceNumber, SequenceNumberSet};

/// A reader that is matched with one writer.
struct Bench {
    now: Now,
    reader: Reader,
    delivered: Delivered,
    count: i32,
}

impl Bench {
    fn new(config: ReaderConfig) -> Self {
        let mut bench = Self {
            now: Now::default(),
            reader: Reader::new(config),
            delivered: Delivered::default(),
            count: 0,
        };
        bench.connect();
        bench
    }

    fn reliable() -> Self {
        Self::new(ReaderConfig::new(reader_guid(0), true))
    }

    fn connect(&mut self) {
        let writer = MatchedWriter { guid: writer_guid(), reliable: true, paths: vec![path_to(1, 65_507)] };
        self.reader.match_writer(self.now, writer);
    }

    fn wait(&mut self, millis: i64) {
        self.now.monotonic = self.now.monotonic.after(Duration::from_millis(millis));
    }

    fn receive(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        encode::header(&mut bytes, WRITER);
        write(&mut bytes);
        let prefix = self.reader.guid().prefix;
        let (now, reader, delivered) = (self.now, &mut self.reader, &mut self.delivered);
        interpret(
            prefix,
            "10.0.0.1:7411".parse().unwrap(),
            &bytes,
            &mut ToTheReader { now, reader, delivered },
        )
        .unwrap();
    }

    fn data(&mut self, number: i64, inline_qos: Option<&[u8]>, len: usize) {
        let header = DataHeader {
            reader_id: EntityId::UNKNOWN,
            writer_id: writer_guid().entity_id,
            sequence_number: SequenceNumber(number),
            inline_qos,
            kind: PayloadKind::Data,
        };
        self.receive(|out| encode::data(out, &header, &vec![0; len]));
    }

    /// One fragment of `size` bytes.
    fn fragment(&mut self, number: i64, fragment: u32, size: u16, sample_size: u32) {
        let header = DataFragHeader {
            reader_id: EntityId::UNKNOWN,
            writer_id: writer_guid().entity_id,
            sequence_number: SequenceNumber(number),
            first_fragment: FragmentNumber(fragment),
            fragment_count: 1,
            fragment_size: size,
            sample_size,
            inline_qos: None,
            is_key: false,
        };
        self.receive(|out| {
            encode::data_frag_header(out, &header, size as usize);
            out.resize(out.len() + size as usize, 0);
        });
    }

    fn gap(&mut self, start: i64, base: i64) {
        let list = SequenceNumberSet::empty(SequenceNumber(base));
        let writer_id = writer_guid().entity_id;
        let gap = Gap { reader_id: EntityId::UNKNOWN, writer_id, start: SequenceNumber(start), list };
        self.receive(|out| encode::gap(out, &gap));
    }

    fn heartbeat(&mut self, first: i64, last: i64, is_final: bool) {
        self.count += 1;
        let heartbeat = Heartbeat {
            reader_id: EntityId::UNKNOWN,
            writer_id: writer_guid().entity_id,
            first: SequenceNumber(first),
            last: SequenceNumber(last),
            count: self.count,
            is_final,
            liveliness: false,
        };
        self.receive(|out| encode::heartbeat(out, &heartbeat));
    }

    /// Bases of the ACKNACKs that are due now.
    fn answers(&mut self) -> Vec<i64> {
        let mut transmit: Transmit<Payload> = Transmit::new();
        let mut bases = Vec::new();
        while self.reader.poll_transmit(self.now, &mut transmit) {
            let mut bytes = Vec::new();
            transmit.copy_to(&mut bytes);
            let message = Message::parse(&bytes).unwrap();
            for submessage in message.submessages() {
                if let Submessage::AckNack(acknack) = submessage.unwrap() {
                    bases.push(acknack.set.base().0);
                }
            }
        }
        bases
    }

    fn numbers(&self) -> Vec<i64> {
        self.delivered.samples.iter().map(|(number, _)| number.0).collect()
    }
}

#[test]
fn a_sample_that_is_too_large_is_told_and_does_not_stop_the_others() {
    for in_fragments in [false, true] {
        let config = ReaderConfig { max_sample_size: 1_000, ..ReaderConfig::new(reader_guid(0), true) };
        let mut bench = Bench::new(config);
        bench.data(1, None, 100);
        bench.data(3, None, 100);
        // It comes once more, after the writer has said that there is such a sample.
        for _ in 0..2 {
            match in_fragments {
                false => bench.data(2, None, 1_004),
                true => bench.fragment(2, 1, 512, 1_004),
            }
            bench.heartbeat(1, 3, false);
        }
        assert_eq!((bench.numbers(), bench.delivered.refused.len()), (vec![1, 3], 1));
        assert_eq!(bench.answers(), [4]);
    }
}

#[test]
fn a_sample_whose_inline_qos_cannot_be_read_is_told_and_does_not_stop_the_others() {
    let mut bench = Bench::reliable();
    // Parameter 0x4fff of the standard is to be understood and is not.
    let list = [0xff, 0x4f, 0, 0, 1, 0, 0, 0];
    for _ in 0..2 {
        bench.data(1, Some(&list), 100);
        bench.data(2, None, 100);
        bench.heartbeat(1, 2, false);
    }
    assert_eq!((bench.numbers(), bench.delivered.refused.len()), (vec![2], 1));
    assert_eq!(bench.answers(), [3]);
}

#[test]
fn a_question_is_answered_even_if_a_final_heartbeat_follows_at_once() {
    let mut bench = Bench::reliable();
    bench.heartbeat(1, 0, true);
    bench.answers();
    bench.data(1, None, 100);
    bench.heartbeat(1, 1, false);
    bench.data(2, None, 100);
    bench.heartbeat(1, 2, true);
    assert_eq!(bench.answers(), [3]);
    assert_eq!(bench.answers(), [0; 0]);
}

#[test]
fn a_gap_in_turn_counts_however_many_are_remembered() {
    let mut bench = Bench::reliable();
    bench.heartbeat(1, 2_000, true);
    for number in 1..=600 {
        bench.gap(1 + 2 * number, 2 + 2 * number);
    }
    bench.gap(1, 2);
    bench.data(2, None, 100);
    bench.heartbeat(1, 2_000, false);
    // 3 is a gap as well, 4 is missing.
    assert_eq!((bench.numbers(), bench.answers()), (vec![2], vec![4]));
}

#[test]
fn samples_in_many_pieces_cost_memory_and_time_in_proportion() {
    let mut bench = Bench::reliable();
    bench.heartbeat(1, 1, true);
    let mut most = 0;
    // From the end, every other one: no fragment joins another.
    for fragment in (1..300_000u32).rev() {
        bench.fragment(1, fragment * 2, 1, 600_000);
        most = most.max(bench.reader.held_bytes());
    }
    assert!((1..600_000).contains(&most), "{most} bytes");
}

#[test]
fn a_forged_number_does_not_mute_a_best_effort_writer() {
    let mut bench = Bench::new(ReaderConfig::new(reader_guid(0), false));
    for number in 1..=20_000 {
        if number == 15_000 {
            bench.data(1 << 40, None, 100);
        }
        bench.data(number, None, 8);
    }
    assert!(bench.numbers().len() > 19_000);
    // What is a little late stays late.
    let before = bench.numbers().len();
    bench.data(19_990, None, 8);
    assert_eq!(bench.numbers().len(), before);
}

#[test]
fn a_writer_that_could_not_be_reached_is_greeted_when_it_can() {
    let mut bench = Bench::reliable();
    bench.reader.unmatch_writer(writer_guid());
    let writer = MatchedWriter { guid: writer_guid(), reliable: true, paths: Vec::new() };
    bench.reader.match_writer(bench.now, writer);
    assert_eq!(bench.answers(), [0; 0]);
    bench.wait(1_000);
    bench.connect();
    assert!(bench.reader.poll_timeout() <= bench.now.monotonic);
    // The prefix of the writer here begins like those of Connext, which wants base 0.
    assert_eq!(bench.answers(), [0]);
}
