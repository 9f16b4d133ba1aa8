//! Answers come at a moderate rate whatever is asked, and how often: the other side may answer each answer.

use crate::pair::{
    Delivered, Pair, Payload, ToTheReader, ToTheWriter, WRITER, heartbeat_of, path_to, reader_guid,
    writer_guid,
};
use rtps::reader::{MatchedWriter, Reader, ReaderConfig};
use rtps::receiver::interpret;
use rtps::transmit::Transmit;
use rtps::writer::WriterConfig;
use wire::message::encode;
use wire::message::{AckNack, HeartbeatFrag, Message, Submessage};
use wire::{Duration, EntityId, FragmentNumber, GuidPrefix, Now, SequenceNumber, SequenceNumberSet};

/// What a peer sends, header included.
fn message(from: GuidPrefix, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode::header(&mut bytes, from);
    write(&mut bytes);
    bytes
}

fn acknack(base: i64, missing: &[i64], count: i32) -> Vec<u8> {
    let mut set = SequenceNumberSet::empty(SequenceNumber(base));
    missing.iter().for_each(|number| assert!(set.insert(SequenceNumber(*number))));
    let (reader_id, writer_id) = (reader_guid(0).entity_id, writer_guid().entity_id);
    let acknack = AckNack { reader_id, writer_id, set, count, is_final: false };
    message(reader_guid(0).prefix, |out| encode::acknack(out, &acknack))
}

fn to_writer(pair: &mut Pair, bytes: &[u8]) {
    let mut route = ToTheWriter { now: pair.now, writer: &mut pair.writer };
    interpret(WRITER, "10.0.0.2:7411".parse().unwrap(), bytes, &mut route).unwrap();
}

/// A writer with one reader that it has served, `written` samples and `removed` of them removed.
fn served(written: i64, removed: i64) -> Pair {
    let config = WriterConfig { retain: true, ..WriterConfig::new(writer_guid(), true) };
    let mut pair = Pair::new(1, config, &[ReaderConfig::new(reader_guid(0), true)]);
    pair.connect(0, false);
    pair.run(Duration::from_secs(1));
    for _ in 0..written {
        pair.write(&[0, 1, 0, 0, 9]).unwrap();
    }
    pair.run(Duration::from_secs(5));
    (1..=removed).for_each(|number| {
        pair.writer.remove(SequenceNumber(number));
    });
    pair
}

/// What the writer sends in this time to a peer that answers with `answer`, `latency` after each datagram.
fn talk(pair: &mut Pair, span: Duration, latency: Duration, mut answer: impl FnMut(i32) -> Vec<u8>) -> u64 {
    let end = pair.now.monotonic.after(span);
    let mut transmit: Transmit<Payload> = Transmit::new();
    let mut sent = 0;
    let mut asks = true;
    while pair.now.monotonic < end {
        if std::mem::take(&mut asks) {
            let bytes = answer(1_000_000 + (pair.now.monotonic.as_nanos() / 1_000) as i32);
            to_writer(pair, &bytes);
        }
        while pair.writer.poll_transmit(pair.now, &mut transmit) {
            sent += 1;
            asks = true;
            assert!(sent < 1_000_000);
        }
        let next = if asks { pair.now.monotonic.after(latency) } else { pair.writer.poll_timeout() };
        pair.now.monotonic = next.max(pair.now.monotonic).min(end);
    }
    sent
}

#[test]
fn a_reader_that_asks_in_every_answer_gets_ever_fewer_heartbeats() {
    let mut pair = served(10, 0);
    let latency = Duration::from_micros(30);
    talk(&mut pair, Duration::from_secs(10), latency, |count| acknack(11, &[], count));
    let sent = talk(&mut pair, Duration::from_secs(10), latency, |count| acknack(11, &[], count));
    assert!((5..=17).contains(&sent), "{sent} datagrams in ten seconds");
    // Once there is something new, the answer comes at once.
    pair.write(&[0, 1, 0, 0, 9]).unwrap();
    let sent = talk(&mut pair, Duration::from_millis(10), latency, |count| acknack(12, &[], count));
    assert!(sent >= 2, "{sent}");
}

#[test]
fn a_storm_of_questions_is_answered_at_a_moderate_rate() {
    for (base, missing) in [(11, &[][..]), (5_000_000, &[]), (1, &[1, 2]), (1, &[])] {
        let mut pair = served(10, 4);
        let mut transmit: Transmit<Payload> = Transmit::new();
        let mut sent = 0;
        for count in 0..20_000 {
            to_writer(&mut pair, &acknack(base, missing, 1_000_000 + count));
            while pair.writer.poll_transmit(pair.now, &mut transmit) {
                sent += 1;
            }
            pair.now.monotonic = pair.now.monotonic.after(Duration::from_micros(50));
        }
        assert!(
            (1..40).contains(&sent),
            "{sent} answers to 20,000 questions in a second, base {base} {missing:?}"
        );
    }
}

#[test]
fn a_question_that_comes_too_early_is_answered_later() {
    let mut pair = served(10, 0);
    let mut transmit: Transmit<Payload> = Transmit::new();
    let mut answers = |pair: &mut Pair| {
        let mut sent = 0;
        while pair.writer.poll_transmit(pair.now, &mut transmit) {
            sent += 1;
        }
        sent
    };
    to_writer(&mut pair, &acknack(11, &[], 1_000_000));
    assert_eq!(answers(&mut pair), 1);
    to_writer(&mut pair, &acknack(11, &[], 1_000_001));
    assert_eq!(answers(&mut pair), 0);
    let at = pair.writer.poll_timeout();
    assert!(at.since(pair.now.monotonic) <= Duration::from_millis(20));
    pair.now.monotonic = at;
    assert_eq!(answers(&mut pair), 1);
}

/// A reader of ours that has all of a writer.
fn reader() -> (Now, Reader, Delivered) {
    let mut reader = Reader::new(ReaderConfig::new(reader_guid(0), true));
    let now = Now::default();
    let writer = MatchedWriter { guid: writer_guid(), reliable: true, paths: vec![path_to(1, 1_472)] };
    reader.match_writer(now, writer);
    (now, reader, Delivered::default())
}

fn heartbeat(last: i64, count: i32) -> Vec<u8> {
    message(WRITER, |out| encode::heartbeat(out, &heartbeat_of(last, count, false)))
}

fn heartbeat_frag(count: i32) -> Vec<u8> {
    let heartbeat = HeartbeatFrag {
        reader_id: EntityId::UNKNOWN,
        writer_id: writer_guid().entity_id,
        sequence_number: SequenceNumber(1),
        last_fragment: FragmentNumber(100),
        count,
    };
    message(WRITER, |out| encode::heartbeat_frag(out, &heartbeat))
}

#[test]
fn a_writer_that_asks_without_end_is_answered_ever_less() {
    let questions: [fn(i32) -> Vec<u8>; 3] =
        [|count| heartbeat(0, count), |count| heartbeat(3, count), heartbeat_frag];
    for (index, question) in questions.into_iter().enumerate() {
        let (mut now, mut reader, mut delivered) = reader();
        let mut transmit: Transmit<Payload> = Transmit::new();
        let (mut first, mut last) = (0, 0);
        for count in 0..200_000 {
            let mut route = ToTheReader { now, reader: &mut reader, delivered: &mut delivered };
            let bytes = question(1_000_000 + count);
            interpret(reader_guid(0).prefix, "10.0.0.1:7411".parse().unwrap(), &bytes, &mut route).unwrap();
            while reader.poll_transmit(now, &mut transmit) {
                *(if count < 20_000 { &mut first } else { &mut last }) += 1;
            }
            now.monotonic = now.monotonic.after(Duration::from_micros(50));
        }
        assert!((1..60).contains(&first), "{first} answers in the first second, question {index}");
        assert!((1..=72).contains(&last), "{last} answers in nine seconds more, question {index}");
    }
}

#[test]
fn an_answer_that_got_lost_is_repeated_when_the_writer_asks_again() {
    let (mut now, mut reader, mut delivered) = reader();
    let mut transmit: Transmit<Payload> = Transmit::new();
    let mut count = 0;
    // As a writer of ours asks: 20 ms, 40 ms, 80 ms ... 500 ms.
    for wait in [20, 40, 80, 160, 320, 500, 1_000, 2_000, 20, 40] {
        count += 1;
        let mut route = ToTheReader { now, reader: &mut reader, delivered: &mut delivered };
        interpret(reader_guid(0).prefix, "10.0.0.1:7411".parse().unwrap(), &heartbeat(0, count), &mut route)
            .unwrap();
        let mut bytes = Vec::new();
        let mut answered = false;
        let asked = now.monotonic;
        while !answered {
            while reader.poll_transmit(now, &mut transmit) {
                transmit.copy_to(&mut bytes);
                answered = true;
            }
            now.monotonic = reader.poll_timeout().max(now.monotonic);
            let late = now.monotonic.since(asked);
            assert!(answered || late <= Duration::from_millis(200), "question {count}: {late:?}");
        }
        now.monotonic = asked;
        let message = Message::parse(&bytes).unwrap();
        assert!(message.submessages().any(|one| matches!(one, Ok(Submessage::AckNack(_)))));
        now.monotonic = now.monotonic.after(Duration::from_millis(wait));
    }
}

/// A writer that has matched a reader anew says what it holds, and that it has sent nothing of it. The reader may have answered the same often,
/// when the writer had matched it before and nothing came through.
#[test]
fn a_writer_that_waits_for_an_answer_before_it_sends_is_answered_at_once() {
    let (mut now, mut reader, mut delivered) = reader();
    let mut transmit: Transmit<Payload> = Transmit::new();
    let mut count = 0;
    let mut ask = |reader: &mut Reader, now: Now, is_ours: bool, lasts: &[i64]| {
        let mut bytes = message(writer_guid().prefix, |out| {
            for (index, last) in lasts.iter().enumerate() {
                count += 1;
                encode::heartbeat(out, &heartbeat_of(*last, count, index + 1 < lasts.len()));
            }
        });
        if !is_ours {
            bytes[6..8].copy_from_slice(&[1, 0x10]);
        }
        let mut route = ToTheReader { now, reader: &mut *reader, delivered: &mut delivered };
        interpret(reader_guid(0).prefix, "10.0.0.1:7411".parse().unwrap(), &bytes, &mut route).unwrap();
        let mut answers = 0;
        while reader.poll_transmit(now, &mut transmit) {
            answers += 1;
        }
        answers
    };
    now.monotonic = now.monotonic.after(Duration::from_secs(5));
    for is_ours in [true, false] {
        // It says again and again that it has nothing.
        for _ in 0..200 {
            ask(&mut reader, now, is_ours, &[0]);
            now.monotonic = now.monotonic.after(Duration::from_millis(5));
        }
        let answers = (0..4).map(|_| ask(&mut reader, now, is_ours, &[3, 0])).sum::<u32>();
        assert_eq!(answers > 0, is_ours);
        now.monotonic = now.monotonic.after(Duration::from_secs(5));
    }
}
