//! A reader that says what it gets and what it is told.
use std::error::Error;
use std::sync::Arc;

use dds::qos::DataReaderQos;
use dds::status::{AssuranceChanged, Matched, SampleLost, SampleRejected};
use dds::{DataReader, DataReaderListener, NO_STATUS, QosKind, States, StatusMask};

use crate::terms::Terms;
use crate::{Numbered, hex, join, leave, obey, say};

struct Events;

impl DataReaderListener<Numbered> for Events {
    fn on_data_available(&self, reader: &DataReader<Numbered>) {
        match reader.take(usize::MAX, States::ANY) {
            Ok(samples) => {
                for data in samples.iter().filter_map(|sample| sample.data.as_ref()) {
                    say(&format!("got {} {} {:016x}", data.number, data.bytes.len(), fnv(&data.bytes)));
                }
            }
            Err(error) => say(&format!("failed {error}")),
        }
    }

    fn on_subscription_matched(&self, _: &DataReader<Numbered>, status: Matched) {
        say(&format!("matched {}", status.current.count));
    }

    fn on_sample_lost(&self, _: &DataReader<Numbered>, status: SampleLost) {
        say(&format!("lost {}", status.total.count));
    }

    fn on_sample_rejected(&self, _: &DataReader<Numbered>, status: SampleRejected) {
        say(&format!("rejected {}", status.total.count));
    }

    fn on_assurance_changed(&self, reader: &DataReader<Numbered>, _: AssuranceChanged) {
        for pair in reader.assurance() {
            say(&format!("pair {:?} {:?} {}", pair.state, pair.stage, pair.reason).replace('\n', " "));
        }
    }
}

/// Reads until the standard input ends.
pub(crate) fn run(topic: &str, terms: &Terms) -> Result<(), Box<dyn Error>> {
    let participant = join(terms)?;
    let topic = participant.create_topic::<Numbered>(topic, "Numbered", QosKind::Default, None, NO_STATUS)?;
    let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
    let mut qos = DataReaderQos::default();
    terms.adjust(&mut qos.endpoint);
    qos.byte_limit = terms.bytes.unwrap_or(qos.byte_limit);
    qos.assurance = terms.requested;
    let all = StatusMask(u32::MAX);
    let reader = subscriber.create_datareader(&topic, QosKind::Specific(qos), Some(Arc::new(Events)), all)?;
    say(&format!("ready {}", hex(reader.guid()?.to_bytes())));
    obey(|words| Err(format!("there is no command {words:?}").into()))?;
    leave(&participant)
}

/// FNV-1a of 64 bits.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
