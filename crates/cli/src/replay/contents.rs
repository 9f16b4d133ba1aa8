//! What is in a recording.
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use recording::{Channel, Item, ReadError, Recording};

use crate::output::print;
use crate::stop::Stop;
use crate::utc;

/// What is in a recording, as far as it is whole.
pub(super) struct Contents {
    pub(super) channels: BTreeMap<u16, Counted>,
    /// Channels that cannot be replayed: topic and reason.
    foreign: Vec<(String, String)>,
    /// When the first sample came, in nanoseconds since 1970, and the last one.
    pub(super) first: u64,
    last: u64,
    /// Why it ends early.
    end: Option<ReadError>,
}

/// A channel with what is in it.
pub(super) struct Counted {
    pub(super) channel: Arc<Channel>,
    pub(super) samples: u64,
}

impl Contents {
    /// Reads all of it once.
    ///
    /// # Errors
    /// It is no recording, or cannot be read.
    pub(super) fn of<R: Read>(mut recording: Recording<R>, stop: &Stop) -> Result<Self, ReadError> {
        let mut contents =
            Self { channels: BTreeMap::new(), foreign: Vec::new(), first: u64::MAX, last: 0, end: None };
        while !stop.requested() {
            match recording.next() {
                Ok(Some(Item::Channel(number, channel))) => {
                    contents.channels.insert(number, Counted { channel, samples: 0 });
                }
                Ok(Some(Item::Foreign(topic, why))) => contents.foreign.push((topic, why)),
                Ok(Some(Item::Entry(entry))) => {
                    contents.first = contents.first.min(entry.time);
                    contents.last = contents.last.max(entry.time);
                    if let Some(of) = contents.channels.get_mut(&entry.channel) {
                        of.samples += 1;
                    }
                }
                Ok(None) => break,
                Err(error @ (ReadError::NoMcap | ReadError::Io(_))) => return Err(error),
                Err(error) => {
                    contents.end = Some(error);
                    break;
                }
            }
        }
        Ok(contents)
    }

    /// It has an end, and all of it is understood.
    pub(super) fn is_whole(&self) -> bool {
        self.end.is_none() && self.foreign.is_empty()
    }

    /// Says what is wrong with it.
    pub(super) fn tell(&self, path: &Path) {
        for (topic, why) in &self.foreign {
            eprintln!("punctual: {}: the topic {topic:?} is left out: {why}", path.display());
        }
        if let Some(error) = &self.end {
            let samples: u64 = self.channels.values().map(|of| of.samples).sum();
            eprintln!("punctual: {}: {error}; the {samples} samples before that are whole", path.display());
        }
    }

    /// Shows it.
    pub(super) fn print(&self) {
        if self.first <= self.last {
            let start = i64::try_from(self.first).unwrap_or(i64::MAX);
            let seconds = (self.last - self.first) as f64 / 1e9;
            print(format_args!("from {}, {seconds:.3} s", utc::show(start)));
        }
        for of in self.channels.values() {
            let Channel { topic, type_name, qos, idl, .. } = &*of.channel;
            let reliability = qos.as_ref().map_or("", |qos| match qos.reliability.kind {
                dds::qos::ReliabilityKind::Reliable => ", reliable",
                dds::qos::ReliabilityKind::BestEffort => ", best effort",
            });
            let idl = if idl.is_some() { "" } else { ", without description of the type" };
            print(format_args!("{topic}: {} samples of {type_name}{reliability}{idl}", of.samples));
        }
    }
}
