//! What the rules accept and what they catch.
use super::*;
use wire::{EntityId, EntityKind, GuidPrefix};

/// A judge with a writer and a reader of the given kinds, matched on both sides after `before` samples.
struct Bench {
    judge: Judge,
    coverage: Coverage,
    writer: Guid,
    reader: Guid,
}

impl Bench {
    fn new(reliable: bool, history: bool, before: i64) -> Self {
        let guid = |octet, kind| Guid::new(GuidPrefix([octet; 12]), EntityId::user(1, kind));
        let (writer, reader) = (guid(1, EntityKind::WriterNoKey), guid(2, EntityKind::ReaderNoKey));
        let mut bench = Self { judge: Judge::new(), coverage: Coverage::new(), writer, reader };
        bench.judge.add_writer(writer, reliable, history);
        bench.judge.add_reader(reader, reliable, history);
        bench.write(before);
        bench.service(true);
        bench.acceptance(true);
        bench
    }

    fn write(&mut self, count: i64) {
        let last = self.judge.writers[&self.writer].last();
        for number in last + 1..=last + count {
            self.judge.wrote(self.writer, SequenceNumber(number)).unwrap();
        }
    }

    fn see(&mut self, observation: Observation) -> Result<(), Invariant> {
        self.judge.observe(&observation, &mut self.coverage).map_err(|(invariant, _)| invariant)
    }

    fn service(&mut self, begins: bool) {
        let (writer, reader) = (self.writer, self.reader);
        self.see(match begins {
            true => Observation::ReaderMatched { writer, reader },
            false => Observation::ReaderUnmatched { writer, reader },
        })
        .unwrap();
    }

    fn acceptance(&mut self, begins: bool) {
        let (writer, reader) = (self.writer, self.reader);
        self.see(match begins {
            true => Observation::WriterMatched { writer, reader },
            false => Observation::WriterUnmatched { writer, reader },
        })
        .unwrap();
    }

    fn deliver(&mut self, number: i64) -> Result<(), Invariant> {
        let number = SequenceNumber(number);
        let payload = payload::make(self.writer, number, 40);
        self.see(Observation::Delivered {
            reader: self.reader,
            writer: self.writer,
            number,
            payload,
            timestamp: payload::timestamp(number),
            key_hash: payload::key_hash(number),
        })
    }

    fn lose(&mut self, first: i64, count: u64) -> Result<(), Invariant> {
        let first = SequenceNumber(first);
        self.see(Observation::Lost { reader: self.reader, writer: self.writer, first, count })
    }
}

#[test]
fn a_perfect_stream_passes() {
    let mut bench = Bench::new(true, false, 3);
    bench.write(5);
    assert!(bench.judge.pending().is_some());
    (4..=8).for_each(|number| bench.deliver(number).unwrap());
    assert_eq!(bench.judge.pending(), None);
    assert_eq!(bench.judge.delivered(), 5);
}

#[test]
fn loss_duplicates_disorder_and_phantoms_are_noticed() {
    let mut bench = Bench::new(true, false, 0);
    bench.write(5);
    bench.deliver(1).unwrap();
    assert_eq!(bench.deliver(1), Err(Invariant::NoDuplicate));
    assert_eq!(bench.deliver(3), Err(Invariant::NoLoss));
    assert_eq!(bench.deliver(6), Err(Invariant::NoPhantom));
    assert_eq!(bench.lose(2, 1), Err(Invariant::NoLoss));
    assert_eq!(bench.lose(5, 2), Err(Invariant::NoPhantom));
    bench.judge.removed(bench.writer, SequenceNumber(2));
    bench.deliver(3).unwrap();
    assert_eq!(bench.deliver(2), Err(Invariant::InOrder));
    let (reader, writer) = (bench.reader, bench.writer);
    let payload = payload::make(writer, SequenceNumber(5), 40);
    let number = SequenceNumber(4);
    let (timestamp, key_hash) = (payload::timestamp(number), payload::key_hash(number));
    let wrong = Observation::Delivered { reader, writer, number, payload, timestamp, key_hash };
    assert_eq!(bench.see(wrong), Err(Invariant::Intact));
    let payload = payload::make(writer, number, 40);
    let wrong =
        Observation::Delivered { reader, writer, number, payload, timestamp: None, key_hash: Some([0; 16]) };
    assert_eq!(bench.see(wrong), Err(Invariant::Intact));
    bench.acceptance(false);
    assert_eq!(bench.deliver(4), Err(Invariant::NoPhantom));
    assert_eq!(
        bench.judge.wrote(writer, SequenceNumber(9)).map_err(|broken| broken.0),
        Err(Invariant::InOrder)
    );
}

#[test]
fn best_effort_may_lose_but_not_repeat_or_reorder() {
    let mut bench = Bench::new(false, false, 0);
    bench.write(9);
    bench.deliver(2).unwrap();
    bench.deliver(7).unwrap();
    assert_eq!(bench.judge.pending(), None);
    assert_eq!(bench.deliver(5), Err(Invariant::InOrder));
    assert_eq!(bench.deliver(7), Err(Invariant::NoDuplicate));
    bench.acceptance(false);
    bench.acceptance(true);
    assert_eq!(bench.deliver(2), Ok(()), "it has no order with an earlier match");
}

#[test]
fn history_is_required_as_far_as_it_was_kept() {
    let mut bench = Bench::new(true, true, 4);
    bench.judge.removed(bench.writer, SequenceNumber(1));
    assert_eq!(bench.deliver(3), Err(Invariant::NoLoss));
    (2..=4).for_each(|number| bench.deliver(number).unwrap());
    assert_eq!(bench.judge.pending(), None);
    assert_eq!(bench.coverage.count(Situation::History), 1);
    // Matched again on the reader's side, it wants what it has not got.
    bench.write(3);
    bench.acceptance(false);
    bench.acceptance(true);
    assert!(bench.judge.pending().is_some());
    assert_eq!(bench.deliver(6), Err(Invariant::NoLoss));
    assert_eq!(bench.deliver(3), Err(Invariant::NoDuplicate));
    (5..=7).for_each(|number| bench.deliver(number).unwrap());
    assert_eq!(bench.judge.pending(), None);
    bench.acceptance(false);
    bench.acceptance(true);
    assert_eq!(bench.judge.pending(), None);
    assert_eq!(bench.deliver(7), Err(Invariant::NoDuplicate));
    assert_eq!(bench.coverage.count(Situation::OneSidedRematch), 2);
}

#[test]
fn a_second_acceptance_requires_what_is_written_from_then_on() {
    let mut bench = Bench::new(true, false, 0);
    bench.write(3);
    bench.deliver(1).unwrap();
    bench.acceptance(false);
    bench.acceptance(true);
    assert_eq!(bench.judge.pending(), None);
    bench.deliver(3).unwrap();
    bench.write(2);
    assert_eq!(bench.deliver(5), Err(Invariant::NoLoss));
}

#[test]
fn a_new_service_excuses_what_came_before_it() {
    let mut bench = Bench::new(true, false, 0);
    bench.write(3);
    bench.service(false);
    assert_eq!(bench.judge.pending(), None);
    bench.write(1);
    bench.service(true);
    bench.write(2);
    assert_eq!(bench.deliver(6), Err(Invariant::NoLoss));
    bench.deliver(5).unwrap();
    bench.deliver(6).unwrap();
    assert_eq!(bench.judge.pending(), None);
}

#[test]
fn a_reader_that_claims_its_history_too_early_is_caught() {
    let says = |bench: &mut Bench| {
        let (writer, reader) = (bench.writer, bench.reader);
        bench.see(Observation::HasHistory { reader, writer })
    };
    let mut late = Bench::new(true, true, 3);
    late.write(2);
    (1..=2).for_each(|number| late.deliver(number).unwrap());
    assert_eq!(says(&mut late), Err(Invariant::History));
    late.deliver(3).unwrap();
    assert_eq!(says(&mut late), Ok(()), "what was written later is no history");
    let mut removed = Bench::new(true, true, 3);
    removed.deliver(1).unwrap();
    (2..=3).for_each(|number| _ = removed.judge.removed(removed.writer, SequenceNumber(number)));
    assert_eq!(says(&mut removed), Ok(()));
    assert_eq!(says(&mut Bench::new(true, false, 3)), Ok(()), "it wants none");
}
