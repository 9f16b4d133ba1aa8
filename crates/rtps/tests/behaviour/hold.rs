//! Acknowledgements that wait for a datagram to go with, and those that must not.

use crate::pair::{Delivered, Payload, ToTheReader, WRITER, path_to, reader_guid, writer_guid};
use rtps::Path;
use rtps::reader::{MatchedWriter, Reader, ReaderConfig};
use rtps::receiver::interpret;
use rtps::transmit::Transmit;
use wire::message::encode::{self, DataHeader};
use wire::message::{Heartbeat, Message, PayloadKind, Submessage};
use wire::{Duration, EntityId, Instant, Now, SequenceNumber};

/// A reader that has heard its writer, which has written nothing yet.
struct Bench {
    now: Now,
    reader: Reader,
    delivered: Delivered,
    count: i32,
}

fn path() -> Path {
    path_to(1, 65_507)
}

impl Bench {
    fn new(holds: bool) -> Self {
        let config = ReaderConfig { holds, ..ReaderConfig::new(reader_guid(0), true) };
        let mut bench = Self {
            now: Now::default(),
            reader: Reader::new(config),
            delivered: Delivered::default(),
            count: 0,
        };
        let writer = MatchedWriter { guid: writer_guid(), reliable: true, paths: vec![path()] };
        bench.reader.match_writer(bench.now, writer);
        bench.receive(&[], Some((0, false)));
        bench.sent();
        bench
    }

    /// A datagram with these samples, and a HEARTBEAT with this last number and whether it is final.
    fn receive(&mut self, samples: &[i64], heartbeat: Option<(i64, bool)>) {
        self.now.monotonic = self.now.monotonic.after(Duration::from_millis(1));
        let mut bytes = Vec::new();
        encode::header(&mut bytes, WRITER);
        let writer_id = writer_guid().entity_id;
        for number in samples {
            let sequence_number = SequenceNumber(*number);
            let (reader_id, kind) = (EntityId::UNKNOWN, PayloadKind::Data);
            let header = DataHeader { reader_id, writer_id, sequence_number, inline_qos: None, kind };
            encode::data(&mut bytes, &header, &[0; 8]);
        }
        if let Some((last, is_final)) = heartbeat {
            self.count += 1;
            let (first, last) = (SequenceNumber(1), SequenceNumber(last));
            // It names the reader, so that it says where its history ends.
            let (reader_id, count) = (reader_guid(0).entity_id, self.count);
            let heartbeat =
                Heartbeat { reader_id, writer_id, first, last, count, is_final, liveliness: false };
            encode::heartbeat(&mut bytes, &heartbeat);
        }
        let (now, prefix) = (self.now, self.reader.guid().prefix);
        let (reader, delivered) = (&mut self.reader, &mut self.delivered);
        let from = "10.0.0.1:7411".parse().unwrap();
        interpret(prefix, from, &bytes, &mut ToTheReader { now, reader, delivered }).unwrap();
    }

    /// What leaves by itself now: bases and how many numbers each asks for.
    fn sent(&mut self) -> Vec<(i64, usize)> {
        let (mut transmit, mut all): (Transmit<Payload>, _) = (Transmit::new(), Vec::new());
        while self.reader.poll_transmit(self.now, &mut transmit) {
            all.extend(acknacks(&transmit, &[]));
        }
        all
    }

    /// What goes along with a datagram for `path` that has room for so many bytes.
    fn carried(&mut self, path: &Path, room: usize) -> Vec<(i64, usize)> {
        let mut transmit: Transmit<Payload> = Transmit::new();
        self.reader.carry(path, room, &mut transmit);
        assert!(transmit.len() <= room);
        let mut header = Vec::new();
        encode::header(&mut header, self.reader.guid().prefix);
        acknacks(&transmit, &header)
    }
}

fn acknacks(transmit: &Transmit<Payload>, header: &[u8]) -> Vec<(i64, usize)> {
    let mut bytes = header.to_vec();
    transmit.copy_to(&mut bytes);
    let message = Message::parse(&bytes).unwrap();
    let read = |submessage| match submessage {
        Submessage::AckNack(acknack) => Some((acknack.set.base().0, acknack.set.iter().count())),
        _ => None,
    };
    message.submessages().filter_map(|submessage| read(submessage.unwrap())).collect()
}

#[test]
fn one_that_is_due_with_a_sample_goes_along() {
    let mut bench = Bench::new(true);
    bench.receive(&[1, 2], Some((2, false)));
    assert_eq!(bench.sent(), []);
    assert!(bench.reader.holds());
    // Not to somebody else, and not where there is no room.
    assert_eq!(bench.carried(&path_to(2, 65_507), 1_000), []);
    assert_eq!(bench.carried(&path(), 40), []);
    assert_eq!(bench.carried(&path(), 1_000), [(3, 0)]);
    assert!(!bench.reader.holds());
    // Once.
    assert_eq!(bench.carried(&path(), 1_000), []);
    bench.reader.release(bench.now);
    assert_eq!(bench.sent(), []);
    assert_eq!(bench.reader.poll_timeout(), Instant::NEVER);
    assert_eq!((bench.reader.counters().carried, bench.reader.counters().acknacks), (1, 2));
}

#[test]
fn it_goes_by_itself_when_it_is_released() {
    let mut bench = Bench::new(true);
    bench.receive(&[1], Some((1, false)));
    assert_eq!(bench.sent(), []);
    bench.reader.release(bench.now);
    assert_eq!(bench.sent(), [(2, 0)]);
    assert_eq!(bench.carried(&path(), 1_000), []);
}

#[test]
fn nothing_waits_unless_it_is_wanted() {
    let mut bench = Bench::new(false);
    bench.receive(&[1], Some((1, false)));
    assert_eq!((bench.reader.holds(), bench.sent()), (false, vec![(2, 0)]));
}

#[test]
fn a_question_by_itself_is_answered_at_once() {
    let mut bench = Bench::new(true);
    bench.receive(&[1], Some((1, true)));
    bench.receive(&[], Some((1, false)));
    assert_eq!((bench.reader.holds(), bench.sent()), (false, vec![(2, 0)]));
    // Also while an answer waits.
    bench.receive(&[2], Some((2, false)));
    assert_eq!(bench.sent(), []);
    bench.receive(&[], Some((2, false)));
    assert_eq!(bench.sent(), [(3, 0)]);
    assert!(!bench.reader.holds());
}

#[test]
fn what_asks_for_a_repair_is_sent_at_once() {
    let mut bench = Bench::new(true);
    bench.receive(&[1, 3], Some((3, false)));
    assert_eq!((bench.reader.holds(), bench.sent()), (false, vec![(2, 1)]));
}

#[test]
fn what_is_missing_meanwhile_is_asked_for_in_its_time() {
    let mut bench = Bench::new(true);
    bench.receive(&[1], Some((1, false)));
    bench.receive(&[3], Some((3, true)));
    assert_eq!(bench.carried(&path(), 1_000), []);
    bench.now.monotonic = bench.now.monotonic.after(bench.reader.config().nack_delay);
    assert_eq!(bench.sent(), [(2, 1)]);
    assert!(!bench.reader.holds());
}

#[test]
fn what_was_in_vain_again_and_again_is_tried_less_often() {
    let mut bench = Bench::new(true);
    let mut number = 0;
    let mut waits = |is_carried: bool| {
        number += 1;
        bench.receive(&[number], Some((number, false)));
        let waits = bench.reader.holds();
        let carried = if is_carried { bench.carried(&path(), 1_000).len() } else { 0 };
        bench.reader.release(bench.now);
        assert_eq!(bench.sent().len() + carried, 1, "each is answered once");
        waits
    };
    assert_eq!((0..10).filter(|_| waits(true)).count(), 10);
    let tried = (0..1_000).filter(|_| waits(false)).count();
    assert!((10..=30).contains(&tried), "{tried} of 1000");
    let first = (0..100).position(|_| waits(true)).unwrap();
    assert!(first <= 63, "{first}");
    assert!((0..10).all(|_| waits(true)));
}
