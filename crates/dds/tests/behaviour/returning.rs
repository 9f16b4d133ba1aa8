//! Participants that are lost for longer than their lease and found again: what readers are given then, and what they are not.
use dds::qos::{DataReaderQos, DataWriterQos, Durability, History};
use dds::{DataReader, Duration, InstanceState, SampleInfo, States, ViewState};

use crate::desk::Desk;
use crate::fixture::*;

/// Longer than any lease here.
const LONG: Duration = Duration::from_secs(25);

fn durable_writer(qos: &mut DataWriterQos) {
    qos.endpoint.durability = Durability::TransientLocal;
    qos.endpoint.history = History::KeepAll;
}

fn durable_reader(qos: &mut DataReaderQos) {
    qos.endpoint.durability = Durability::TransientLocal;
}

/// Writer and reader do not hear each other, or one does not hear the other, until both leases are over.
#[derive(Clone, Copy, Debug)]
enum Silence {
    Both,
    Writer,
    Reader,
}

const SILENCES: [Silence; 3] = [Silence::Both, Silence::Writer, Silence::Reader];

fn part(desk: &mut Desk, silence: Silence) {
    match silence {
        Silence::Both => desk.black_out(),
        Silence::Writer => desk.cut(0, 1),
        Silence::Reader => desk.cut(1, 0),
    }
}

fn seen(reader: &DataReader<Reading>) -> Vec<(Option<i64>, SampleInfo)> {
    let samples = reader.take(usize::MAX, States::ANY).unwrap();
    samples.iter().map(|sample| (sample.data.map(|data| data.value), sample.info)).collect()
}

#[test]
fn a_reader_gets_each_sample_once_across_a_partition_longer_than_the_lease() {
    for silence in SILENCES {
        for seed in 0..6 {
            let (mut desk, here, there) = two();
            let (writer, reader) = (writer(&here, durable_writer), reader(&there, durable_reader));
            settle(&mut desk);
            let mut got = Vec::new();
            for value in 0..300 {
                writer.write(&reading(1, value)).unwrap();
                desk.run(millis(1));
                if value % 50 == 0 {
                    got.extend(values(&reader));
                }
            }
            // Some were not taken, and some are on their way.
            part(&mut desk, silence);
            for value in 300..500 {
                writer.write(&reading(1, value)).unwrap();
                desk.run(LONG.scaled(1, 200));
            }
            assert!(matches!(silence, Silence::Reader) || reader.get_matched_publications().is_empty());
            desk.heal();
            desk.lose(50 * usize::from(seed > 0), seed);
            for value in 500..700 {
                writer.write(&reading(1, value)).unwrap();
                desk.run(millis(20));
            }
            desk.run(Duration::from_secs(20));
            got.extend(values(&reader));
            let twice = got.windows(2).find(|pair| pair[0] >= pair[1]);
            assert_eq!((got.len(), twice), (700, None), "{silence:?}, seed {seed}");
            assert_eq!(reader.get_sample_lost_status().total.count, 0, "{silence:?}, seed {seed}");
            writer.wait_for_acknowledgments(Duration::ZERO).unwrap();
        }
    }
}

#[test]
fn a_volatile_reader_gets_what_was_written_while_it_was_matched_and_nothing_twice() {
    for silence in SILENCES {
        let (mut desk, here, there) = two();
        let third = desk.participant();
        let (writer, reader) = (writer(&here, keep_all), reader(&there, |_| {}));
        // One that acknowledges nothing keeps the writer from letting go of samples.
        let full = crate::fixture::reader(&third, |qos| qos.byte_limit = 1_024);
        settle(&mut desk);
        for value in 0..100 {
            writer.write(&reading(1, value)).unwrap();
            desk.run(millis(1));
        }
        part(&mut desk, silence);
        desk.run(LONG);
        desk.heal();
        desk.run(LONG);
        for value in 100..200 {
            writer.write(&reading(1, value)).unwrap();
            desk.run(millis(1));
        }
        desk.run(Duration::from_secs(5));
        assert_eq!(values(&reader), (0..200).collect::<Vec<_>>(), "{silence:?}");
        assert!(values(&full).len() < 200, "it was full");
    }
}

#[test]
fn what_history_has_replaced_meanwhile_is_neither_given_nor_lost() {
    for silence in SILENCES {
        let (mut desk, here, there) = two();
        let writer = writer(&here, |qos| {
            durable_writer(qos);
            qos.endpoint.history = History::KeepLast(2);
        });
        let reader = reader(&there, durable_reader);
        settle(&mut desk);
        for (sensor, value) in [(1, 0), (2, 100), (1, 1), (1, 2)] {
            writer.write(&reading(sensor, value)).unwrap();
            desk.run(millis(1));
        }
        assert_eq!(values(&reader).len(), 4);
        part(&mut desk, silence);
        for value in 3..10 {
            writer.write(&reading(1, value)).unwrap();
            desk.run(LONG.scaled(1, 7));
        }
        desk.heal();
        desk.run(LONG);
        match silence {
            // It goes on hearing the writer.
            Silence::Reader => assert!(values(&reader).ends_with(&[8, 9])),
            _ => {
                assert_eq!(values(&reader), [8, 9], "{silence:?}");
                assert_eq!(reader.get_sample_lost_status().total.count, 0);
            }
        }
    }
}

#[test]
fn an_instance_without_writers_is_alive_again_with_the_next_sample() {
    let (mut desk, here, there) = two();
    let (writer, reader) = (writer(&here, durable_writer), reader(&there, durable_reader));
    settle(&mut desk);
    writer.write(&reading(1, 1)).unwrap();
    desk.run(millis(1));
    desk.black_out();
    desk.run(LONG);
    let [(Some(1), _), (None, info)] = seen(&reader)[..] else { panic!("a sample, and its end") };
    assert_eq!(info.instance_state, InstanceState::NotAliveNoWriters);
    desk.heal();
    desk.run(LONG);
    let matched = reader.get_subscription_matched_status();
    assert_eq!((matched.current.count, matched.total.count), (1, 2));
    assert_eq!(seen(&reader).len(), 0, "the writer is back, and has written nothing");
    writer.write(&reading(1, 2)).unwrap();
    desk.run(millis(1));
    let [(Some(2), info)] = seen(&reader)[..] else { panic!("the next sample") };
    assert_eq!((info.instance_state, info.view_state), (InstanceState::Alive, ViewState::New));
}
