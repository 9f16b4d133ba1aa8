//! Recordings of topics, as files.
use std::collections::BTreeSet;
use std::io::Cursor;

use recording::{Channel, End, Item, Recorder, Recording};
use wire::qos::EndpointQos;

/// Reads any bytes as a recording: samples are of channels that came before them, and an error comes once and says something.
pub fn recording_file(bytes: &[u8]) {
    let (mut recording, mut channels) = (Recording::new(bytes), BTreeSet::new());
    loop {
        match recording.next() {
            Ok(Some(Item::Channel(number, _))) => assert!(channels.insert(number), "a channel comes once"),
            Ok(Some(Item::Foreign(_, why))) => assert!(!why.is_empty(), "it is said why"),
            Ok(Some(Item::Entry(entry))) => {
                assert!(channels.contains(&entry.channel), "a sample is of a channel that is known");
                assert!(entry.data.len() <= bytes.len(), "a sample is no more than what came");
            }
            Ok(None) => break,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                break;
            }
        }
    }
    assert!(matches!(recording.next(), Ok(None)), "an end is an end");
}

/// A recording with some channels, in some chunks.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let made = || -> std::io::Result<Vec<u8>> {
        let mut recorder = Recorder::new(Cursor::new(Vec::new()))?;
        let channel = Channel {
            topic: "Poses".to_owned(),
            type_name: "robot::Pose".to_owned(),
            keyed: Some(true),
            qos: Some(EndpointQos::writer()),
            idl: Some("module robot { struct Pose { @key long id; }; };".to_owned()),
        };
        let poses = recorder.channel(&channel)?;
        let other = Channel { topic: "Other".to_owned(), keyed: None, qos: None, idl: None, ..channel };
        let other = recorder.channel(&other)?;
        for time in 0..6 {
            recorder.sample(poses, time, time, &[0, 1, 0, 0, 4, 0, 0, 0])?;
            recorder.sample(other, time, time, &[7; 20])?;
            if time == 3 {
                recorder.flush()?;
            }
        }
        recorder.end(poses, 7, 7, End::Disposed, &[0, 1, 0, 0, 4, 0, 0, 0])?;
        recorder.finish()?;
        Ok(recorder.into_inner().into_inner())
    };
    made().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_is_right() {
        let seeds = seeds();
        let mut recording = Recording::new(seeds[0].as_slice());
        let mut items = 0;
        while recording.next().unwrap().is_some() {
            items += 1;
        }
        assert_eq!(items, 2 + 12 + 1);
    }
}
