//! Talk that never ended: each test is a fault that a simulation found, made small.

use crate::pair::{Pair, path_to, reader_guid, writer_guid};
use rtps::reader::ReaderConfig;
use rtps::transmit::Transmit;
use rtps::writer::{MatchedReader, WriterConfig};
use wire::message::AckNack;
use wire::{Duration, SequenceNumber, SequenceNumberSet};

fn sample(len: usize) -> Vec<u8> {
    (0..len).map(|index| if index < 4 { 0 } else { (index * 7) as u8 }).collect()
}

fn matched(guid: wire::Guid, mtu: u32) -> MatchedReader {
    MatchedReader {
        guid,
        reliable: true,
        wants_history: false,
        paths: vec![path_to(2, mtu)],
        direct: None,
        receive_buffer: Some(1 << 16),
    }
}

#[test]
fn the_last_reader_leaves_in_the_middle_of_a_sample() {
    let mut pair = Pair::reliable(1);
    let now = pair.now;
    let mut transmit = Transmit::new();
    pair.writer.match_reader(now, matched(reader_guid(0), 1_452));
    pair.write(&sample(200_000)).unwrap();
    // The window stops it after a part of the fragments.
    while pair.writer.poll_transmit(now, &mut transmit) {}
    pair.writer.unmatch_reader(now, reader_guid(0));
    pair.writer.match_reader(now, matched(reader_guid(1), 1_452));
    let sent = (0..1_000).take_while(|_| pair.writer.poll_transmit(now, &mut transmit)).count();
    assert!(sent < 10, "{sent}");
}

#[test]
fn an_application_refuses_the_first_sample() {
    let mut pair = Pair::reliable(2);
    pair.readers[0].1.limit = Some(0);
    pair.connect(0, false);
    pair.write(&sample(100)).unwrap();
    pair.run(Duration::from_secs(1));
    assert!(pair.datagrams < 100, "{}", pair.datagrams);
    let (reader, delivered) = &mut pair.readers[0];
    delivered.limit = None;
    reader.resume(pair.now, delivered);
    pair.run(Duration::from_secs(1));
    assert_eq!(pair.readers[0].1.samples.len(), 1);
    assert!(pair.writer.is_acknowledged(pair.writer.last()));
}

#[test]
fn an_application_refuses_what_is_from_before_the_match() {
    let mut pair = Pair::reliable(3);
    pair.readers[0].1.limit = Some(1);
    pair.connect(0, false);
    for _ in 0..3 {
        pair.write(&sample(100)).unwrap();
        pair.run(Duration::from_millis(10));
    }
    pair.writer.unmatch_reader(pair.now, reader_guid(0));
    pair.connect(0, false);
    pair.write(&sample(100)).unwrap();
    let before = pair.datagrams;
    pair.run(Duration::from_secs(1));
    assert!(pair.datagrams - before < 200, "{}", pair.datagrams - before);
}

#[test]
fn a_slab_that_was_filled_for_larger_datagrams_stays_off_a_small_path() {
    let config = WriterConfig {
        batch_delay: Duration::from_millis(5),
        retain: true,
        ..WriterConfig::new(writer_guid(), true)
    };
    let readers = [0, 1].map(|index| ReaderConfig::new(reader_guid(index), true));
    let mut pair = Pair::new(4, config, &readers);
    pair.connect(0, true);
    pair.run(Duration::from_millis(1));
    for _ in 0..20 {
        pair.write(&sample(100)).unwrap();
    }
    let now = pair.now;
    let small = MatchedReader { wants_history: true, ..matched(reader_guid(1), 600) };
    pair.writer.match_reader(now, MatchedReader { paths: vec![path_to(3, 600)], ..small });
    let mut transmit = Transmit::new();
    let mut small_datagrams = 0;
    pair.writer.flush();
    while pair.writer.poll_transmit(now, &mut transmit) {}
    // It has heard where its history ends.
    let heard = AckNack {
        reader_id: reader_guid(1).entity_id,
        writer_id: writer_guid().entity_id,
        set: SequenceNumberSet::empty(SequenceNumber::FIRST),
        count: 1,
        is_final: true,
    };
    pair.writer.on_acknack(now, reader_guid(1).prefix, &heard);
    while pair.writer.poll_transmit(now, &mut transmit) {
        for path in transmit.paths() {
            assert!(transmit.len() <= path.max_datagram as usize, "{} bytes on {path:?}", transmit.len());
            small_datagrams += u32::from(path.max_datagram == 600);
        }
    }
    assert!(small_datagrams > 4, "{small_datagrams}");
}
