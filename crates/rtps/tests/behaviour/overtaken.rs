//! Messages that overtake each other, and answers that say nothing new, put off no question and no repair.
use rtps::reader::{MatchedWriter, Reader, ReaderConfig, Source};
use rtps::receiver::interpret;
use rtps::transmit::Transmit;
use wire::message::AckNack;
use wire::message::encode;
use wire::{Duration, Instant, Now, SequenceNumber, SequenceNumberSet, VendorId};

use crate::pair::{
    Delivered, Pair, Payload, ToTheWriter, WRITER, heartbeat_of, path_to, reader_guid, writer_guid,
};

fn to_writer(pair: &mut Pair, base: i64, missing: &[i64], count: i32) {
    let mut set = SequenceNumberSet::empty(SequenceNumber(base));
    missing.iter().for_each(|number| assert!(set.insert(SequenceNumber(*number))));
    let (reader_id, writer_id) = (reader_guid(0).entity_id, writer_guid().entity_id);
    let mut bytes = Vec::new();
    encode::header(&mut bytes, reader_guid(0).prefix);
    encode::acknack(&mut bytes, &AckNack { reader_id, writer_id, set, count, is_final: true });
    let mut route = ToTheWriter { now: pair.now, writer: &mut pair.writer };
    interpret(WRITER, "10.0.0.2:7411".parse().unwrap(), &bytes, &mut route).unwrap();
}

/// A writer and a reader that have met.
fn met() -> Pair {
    let mut pair = Pair::reliable(1);
    pair.connect(0, false);
    pair.run(Duration::from_secs(3));
    pair
}

#[test]
fn a_question_is_repaired_that_a_later_acknowledgement_has_overtaken() {
    let mut pair = met();
    pair.cut = Some(2);
    pair.write(&[0, 1, 0, 0, 9]).unwrap();
    pair.run(Duration::from_millis(1));
    to_writer(&mut pair, 1, &[], 1_001);
    for (count, repairs) in [(1_000, 1), (1_000, 1), (990, 2), (900, 2)] {
        to_writer(&mut pair, 1, &[1], count);
        pair.run(Duration::from_millis(15));
        assert_eq!(pair.writer.counters().repairs, repairs, "count {count}");
    }
    // What was acknowledged meanwhile is not repeated for it.
    to_writer(&mut pair, 2, &[], 1_003);
    to_writer(&mut pair, 1, &[1], 1_002);
    pair.run(Duration::from_millis(15));
    assert_eq!(pair.writer.counters().repairs, 2);
}

#[test]
fn an_acknowledgement_of_an_earlier_sample_does_not_put_off_the_question() {
    let mut pair = met();
    let begin = pair.now.monotonic;
    let at = |millis| begin.after(Duration::from_millis(millis));
    pair.cut = Some(2);
    pair.write(&[0, 1, 0, 0, 9]).unwrap();
    pair.run(Duration::from_millis(15));
    pair.write(&[0, 1, 0, 0, 9]).unwrap();
    pair.run(Duration::from_millis(3));
    to_writer(&mut pair, 2, &[], 1_000);
    pair.run(Duration::ZERO);
    assert_eq!(pair.writer.poll_timeout(), at(35));
}

/// A reader, and what it has sent.
struct Bench {
    now: Now,
    reader: Reader,
    delivered: Delivered,
    out: Transmit<Payload>,
}

impl Bench {
    fn new() -> Self {
        let mut reader = Reader::new(ReaderConfig::new(reader_guid(0), true));
        let now = Now::default();
        let paths = vec![path_to(1, 1_472)];
        reader.match_writer(now, MatchedWriter { guid: writer_guid(), reliable: true, paths });
        let mut bench = Self { now, reader, delivered: Delivered::default(), out: Transmit::new() };
        bench.heartbeat(0, 1, true);
        bench.answers();
        bench
    }

    fn heartbeat(&mut self, last: i64, count: i32, is_final: bool) {
        let source = Source { prefix: writer_guid().prefix, timestamp: None, vendor: VendorId::PUNCTUAL };
        let heartbeat = heartbeat_of(last, count, is_final);
        self.reader.on_heartbeat(self.now, &source, &heartbeat, &mut self.delivered);
    }

    fn answers(&mut self) -> u32 {
        let mut sent = 0;
        while self.reader.poll_transmit(self.now, &mut self.out) {
            sent += 1;
        }
        sent
    }

    fn wait(&mut self, millis: i64) {
        self.now.monotonic = self.now.monotonic.after(Duration::from_millis(millis));
    }
}

#[test]
fn a_heartbeat_that_asks_is_answered_though_a_later_one_has_overtaken_it() {
    let mut bench = Bench::new();
    bench.wait(50);
    bench.heartbeat(0, 6, true);
    assert_eq!(bench.answers(), 0);
    bench.heartbeat(0, 5, false);
    assert_eq!(bench.answers(), 1);
    bench.wait(50);
    bench.heartbeat(0, 5, false);
    bench.heartbeat(0, 4, true);
    assert_eq!(bench.answers(), 0);
}

#[test]
fn an_answer_that_asks_for_nothing_does_not_put_off_the_next_question() {
    let mut bench = Bench::new();
    bench.wait(50);
    let period = bench.reader.config().nack_period;
    bench.heartbeat(1, 2, false);
    assert_eq!(bench.answers(), 1);
    let again: Instant = bench.now.monotonic.after(period);
    bench.wait(5);
    // It may not ask again yet, and says how far it has got.
    bench.heartbeat(1, 3, false);
    assert_eq!(bench.answers(), 1);
    assert_eq!(bench.reader.poll_timeout(), again);
}
