//! What the statuses of a writer or a reader are told as.
use std::io::Write;

use dds::status::{IncompatibleQos, InconsistentTopic, Matched, SampleLost, SampleRejected};
use dds::{
    DataReader, DataReaderListener, DataWriter, DataWriterListener, InstanceState, Sample, States, Topic,
    TopicListener,
};

use crate::kind::{Kind, adler32};

/// Prints a line at once: the program that reads it waits for it.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Without a reader at the other end the error cannot be reported.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Listens to a writer or a reader.
pub(crate) struct Events;

impl TopicListener for Events {
    fn on_inconsistent_topic(&self, _: &Topic, status: InconsistentTopic) {
        say(&format!("inconsistent {}", status.total.count));
    }
}

impl<K: Kind> DataWriterListener<K> for Events {
    fn on_publication_matched(&self, _: &DataWriter<K>, status: Matched) {
        say(&format!("matched {}", status.current.count));
    }

    fn on_offered_incompatible_qos(&self, _: &DataWriter<K>, status: IncompatibleQos) {
        incompatible(&status);
    }
}

impl<K: Kind> DataReaderListener<K> for Events {
    fn on_data_available(&self, reader: &DataReader<K>) {
        match reader.take(usize::MAX, States::ANY) {
            Ok(samples) => samples.iter().for_each(|sample| say(&describe(sample))),
            Err(error) => say(&format!("failed {error}")),
        }
    }

    fn on_subscription_matched(&self, _: &DataReader<K>, status: Matched) {
        say(&format!("matched {}", status.current.count));
    }

    fn on_requested_incompatible_qos(&self, _: &DataReader<K>, status: IncompatibleQos) {
        incompatible(&status);
    }

    fn on_sample_lost(&self, _: &DataReader<K>, status: SampleLost) {
        say(&format!("failed {status:?}"));
    }

    fn on_sample_rejected(&self, _: &DataReader<K>, status: SampleRejected) {
        say(&format!("failed {status:?}"));
    }
}

fn incompatible(status: &IncompatibleQos) {
    if let Some(policy) = status.last_policy {
        say(&format!("incompatible {}", policy.0));
    }
}

fn describe<K: Kind>(sample: &Sample<K>) -> String {
    if let Some(data) = &sample.data {
        let (number, value, bytes) = data.contents();
        return format!("sample {} {number} {value} {} {}", data.key(), bytes.len(), adler32(bytes));
    }
    let event = match sample.info.instance_state {
        InstanceState::Alive => "alive",
        InstanceState::NotAliveDisposed => "disposed",
        InstanceState::NotAliveNoWriters => "no-writers",
    };
    format!("{event} {}", sample.key.as_ref().map_or(String::new(), Kind::key))
}
