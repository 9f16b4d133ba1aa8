//! QoS and other choices that several commands have in common.
use clap::{Args, ValueEnum};
use dds::Duration;
use dds::qos::{
    DataReaderQos, DataRepresentation, DataWriterQos, EndpointQos, History, Reliability, ReliabilityKind,
};

use crate::exit::Failure;
use crate::profile::Profile;

/// RELIABILITY, HISTORY and DATA_REPRESENTATION.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "QoS")]
pub(super) struct QosOptions {
    /// RELIABILITY best effort instead of reliable.
    #[arg(long)]
    pub(super) best_effort: bool,
    /// HISTORY: keep the last N samples of each instance instead of all.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) keep_last: Option<u32>,
}

/// How a reader learns of samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Arrival {
    /// The main thread waits on a WaitSet.
    Waitset,
    /// A listener is called.
    Listener,
}

/// Longest that a write waits for room before the loop looks whether it shall end.
const MAX_BLOCKING: Duration = Duration::from_millis(200);

/// How many samples of the largest kind fit in a writer's and in a reader's history, at least.
const SAMPLES: usize = 16;

impl QosOptions {
    fn endpoint(&self, qos: &mut EndpointQos) {
        qos.reliability = if self.best_effort { Reliability::BEST_EFFORT } else { Reliability::RELIABLE };
        qos.reliability.max_blocking_time = MAX_BLOCKING;
        qos.history = self.keep_last.map_or(History::KeepAll, History::KeepLast);
        qos.representation = vec![DataRepresentation::XCDR2];
    }

    /// QoS of a writer of samples of up to `size` bytes.
    pub(super) fn writer(&self, size: usize) -> DataWriterQos {
        let mut qos = DataWriterQos::default();
        self.endpoint(&mut qos.endpoint);
        qos.byte_limit = qos.byte_limit.max(size.saturating_mul(SAMPLES));
        qos
    }

    /// QoS of a reader of samples of up to `size` bytes.
    pub(super) fn reader(&self, size: usize) -> DataReaderQos {
        let mut qos = DataReaderQos::default();
        self.endpoint(&mut qos.endpoint);
        qos.byte_limit = qos.byte_limit.max(size.saturating_mul(SAMPLES));
        qos
    }

    /// Lays what was asked for over the policies of a profile.
    fn over(&self, qos: &mut EndpointQos) {
        if self.best_effort {
            qos.reliability.kind = ReliabilityKind::BestEffort;
        }
        let wait = &mut qos.reliability.max_blocking_time;
        *wait = MAX_BLOCKING.min(*wait);
        qos.history = self.keep_last.map_or(qos.history, History::KeepLast);
        // Samples are put in place in this representation.
        qos.representation = vec![DataRepresentation::XCDR2];
    }

    /// QoS of a writer of a topic, of a profile if there is one.
    pub(super) fn writer_with(
        &self,
        profile: Option<&Profile>,
        topic: &str,
        size: usize,
    ) -> Result<DataWriterQos, Failure> {
        let own = self.writer(size);
        let Some(profile) = profile else { return Ok(own) };
        let mut qos = DataWriterQos { byte_limit: own.byte_limit, ..profile.datawriter(topic)? };
        self.over(&mut qos.endpoint);
        Ok(qos)
    }

    /// QoS of a reader of a topic, of a profile if there is one.
    pub(super) fn reader_with(
        &self,
        profile: Option<&Profile>,
        topic: &str,
        size: usize,
    ) -> Result<DataReaderQos, Failure> {
        let own = self.reader(size);
        let Some(profile) = profile else { return Ok(own) };
        let mut qos = DataReaderQos { byte_limit: own.byte_limit, ..profile.datareader(topic)? };
        self.over(&mut qos.endpoint);
        Ok(qos)
    }

    /// For people, with the profile that it is laid over.
    pub(super) fn text_with(&self, profile: Option<&Profile>) -> String {
        let Some(profile) = profile else { return self.text() };
        let mut text = format!("profile {}", profile.name());
        if self.best_effort {
            text += ", best effort";
        }
        if let Some(depth) = self.keep_last {
            text += &format!(", keep last {depth}");
        }
        text
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let history = self.keep_last.map_or("keep all".to_owned(), |depth| format!("keep last {depth}"));
        format!("{}, {history}", if self.best_effort { "best effort" } else { "reliable" })
    }
}

/// Most bytes of a sample.
const LARGEST: usize = 64 << 20;

/// Reads a number of bytes: `64`, `16k` or `1M`, in steps of 1024.
pub(super) fn parse_size(text: &str) -> Result<usize, String> {
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M') => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    let size = digits.parse::<usize>().ok().and_then(|number| number.checked_mul(factor));
    size.filter(|size| *size <= LARGEST).ok_or_else(|| "give bytes, 0 to 64M, as 64, 16k or 1M".to_owned())
}

/// For the middleware.
pub(super) fn duration(time: std::time::Duration) -> Duration {
    Duration::from_nanos(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [("0", 0), ("64", 64), ("16k", 16_384), ("16K", 16_384), ("1M", 1 << 20)] {
            assert_eq!(parse_size(text), Ok(bytes));
        }
        for text in ["", "k", "-1", "65M", "1G", "1.5k"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_history_has_room_for_large_samples() {
        let options = QosOptions { best_effort: false, keep_last: None };
        assert!(options.writer(1 << 20).byte_limit >= 16 << 20);
        assert_eq!(options.writer(1 << 20).check(), Ok(()));
        assert_eq!(options.reader(64).check(), Ok(()));
        assert_eq!(options.text(), "reliable, keep all");
    }
}
