//! What is recorded is read as the same; of a file that is cut, what is whole is read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::io::Cursor;

use recording::{Channel, End, Entry, Item, ReadError, Recorder, Recording};
use wire::Duration;
use wire::qos::{EndpointQos, History, Reliability};

fn channel(topic: &str) -> Channel {
    let mut qos = EndpointQos::writer();
    qos.reliability = Reliability::BEST_EFFORT;
    qos.history = History::KeepLast(7);
    qos.deadline = Duration::from_millis(250);
    qos.partition = vec!["left".to_owned()];
    Channel {
        topic: topic.to_owned(),
        type_name: "robot::Pose".to_owned(),
        keyed: Some(true),
        qos: Some(qos),
        idl: Some("module robot { struct Pose { @key long id; }; };".to_owned()),
    }
}

/// Two channels and a few entries, in three chunks.
fn file() -> (Vec<u8>, Vec<Channel>, Vec<Entry>) {
    let channels = vec![channel("Poses"), Channel { idl: None, qos: None, keyed: None, ..channel("Other") }];
    let mut entries = Vec::new();
    for time in 0..30_u64 {
        let channel = u16::from(time % 3 == 0);
        let data = vec![u8::try_from(time).unwrap(); usize::try_from(time).unwrap() * 10];
        let end = match time {
            20 => Some(End::Disposed),
            21 => Some(End::Unregistered),
            _ => None,
        };
        entries.push(Entry { channel, time, end, data });
    }
    let mut recorder = Recorder::new(Cursor::new(Vec::new())).unwrap();
    let numbers: Vec<u16> = channels.iter().map(|of| recorder.channel(of).unwrap()).collect();
    for (at, entry) in entries.iter_mut().enumerate() {
        entry.channel = numbers[usize::from(entry.channel)];
        match entry.end {
            Some(end) => recorder.end(entry.channel, entry.time, entry.time, end, &entry.data).unwrap(),
            None => recorder.sample(entry.channel, entry.time, entry.time, &entry.data).unwrap(),
        }
        if at % 10 == 9 {
            recorder.flush().unwrap();
        }
    }
    recorder.finish().unwrap();
    (recorder.into_inner().into_inner(), channels, entries)
}

/// Channels by number, entries, and how it ended.
fn read(bytes: &[u8]) -> (BTreeMap<u16, Channel>, Vec<Entry>, Option<ReadError>) {
    let mut recording = Recording::new(bytes);
    let (mut channels, mut entries) = (BTreeMap::new(), Vec::new());
    loop {
        match recording.next() {
            Ok(Some(Item::Channel(number, channel))) => drop(channels.insert(number, (*channel).clone())),
            Ok(Some(Item::Entry(entry))) => entries.push(entry),
            Ok(Some(Item::Foreign(topic, why))) => panic!("{topic}: {why}"),
            Ok(None) => return (channels, entries, None),
            Err(error) => {
                assert!(matches!(recording.next(), Ok(None)), "an error comes once");
                return (channels, entries, Some(error));
            }
        }
    }
}

#[test]
fn what_is_recorded_is_read_as_the_same() {
    let (bytes, channels, entries) = file();
    let (found, read, error) = read(&bytes);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(found.into_values().collect::<Vec<_>>(), channels);
    assert_eq!(read, entries);
}

#[test]
fn of_a_cut_file_what_is_whole_is_read() {
    let (bytes, _, entries) = file();
    let mut most = 0;
    for length in 0..bytes.len() {
        let (_, read, error) = read(&bytes[..length]);
        assert_eq!(read, entries[..read.len()]);
        assert!(read.len() >= most, "more bytes have no fewer samples");
        most = read.len();
        match error {
            Some(ReadError::NoMcap) => assert_eq!(length, 0),
            Some(ReadError::Cut(after)) => assert_eq!(after, length as u64),
            other => panic!("{length}: {other:?}"),
        }
    }
    assert_eq!(most, entries.len());
}

#[test]
fn what_is_no_recording_is_told() {
    assert!(matches!(read(b"struct A { long x; };").2, Some(ReadError::NoMcap)));
    let (bytes, ..) = file();
    let mut refused = 0;
    for at in (0..bytes.len()).step_by(7) {
        let mut wrong = bytes.clone();
        wrong[at] ^= 0x55;
        let mut recording = Recording::new(wrong.as_slice());
        refused += u32::from(loop {
            match recording.next() {
                Ok(Some(_)) => {}
                Ok(None) => break false,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    break true;
                }
            }
        });
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn files_of_other_tools_are_read_as_far_as_they_say_enough() {
    let options = mcap::WriteOptions::new().compression(None);
    let mut writer = options.create(Cursor::new(Vec::new())).unwrap();
    let none = BTreeMap::new();
    let idl =
        writer.add_schema("robot/Pose", "omgidl", b"module robot { struct Pose { long id; }; };").unwrap();
    let ros = writer.add_schema("std_msgs/msg/String", "ros2msg", b"string data").unwrap();
    let json = writer.add_schema("Thing", "jsonschema", b"{}").unwrap();
    let channels = [
        writer.add_channel(idl, "Poses", "cdr", &none).unwrap(),
        writer.add_channel(ros, "/chatter", "cdr", &none).unwrap(),
        writer.add_channel(json, "Things", "json", &none).unwrap(),
        writer.add_channel(0, "Blobs", "cdr", &none).unwrap(),
    ];
    for channel_id in channels {
        let header = mcap::records::MessageHeader { channel_id, sequence: 0, log_time: 5, publish_time: 5 };
        writer.write_to_known_channel(&header, &[0, 1, 0, 0, 4, 0, 0, 0]).unwrap();
    }
    writer.finish().unwrap();
    let bytes = writer.into_inner().into_inner();
    let mut recording = Recording::new(bytes.as_slice());
    let (mut known, mut foreign, mut samples) = (Vec::new(), Vec::new(), 0);
    while let Some(item) = recording.next().unwrap() {
        match item {
            Item::Channel(_, of) => {
                known.push((of.topic.clone(), of.type_name.clone(), of.keyed, of.idl.is_some()))
            }
            Item::Foreign(topic, why) => foreign.push(format!("{topic}: {why}")),
            Item::Entry(_) => samples += 1,
        }
    }
    assert_eq!(
        known,
        [
            ("Poses".to_owned(), "robot::Pose".to_owned(), None, true),
            ("rt/chatter".to_owned(), "std_msgs::msg::dds_::String_".to_owned(), Some(false), false)
        ]
    );
    assert_eq!(foreign, ["Things: its samples are \"json\", not CDR", "Blobs: its type is not described"]);
    assert_eq!(samples, 2);
}
