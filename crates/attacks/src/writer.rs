//! A writer that says what it wrote and what was refused.
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dds::qos::DataWriterQos;
use dds::status::Matched;
use dds::{DataWriter, DataWriterListener, NO_STATUS, QosKind, StatusMask};

use crate::terms::Terms;
use crate::{Numbered, hex, join, leave, obey, say};

struct Events;

impl DataWriterListener<Numbered> for Events {
    fn on_publication_matched(&self, _: &DataWriter<Numbered>, status: Matched) {
        say(&format!("matched {}", status.current.count));
    }
}

/// Writes on command: `flow RATE SIZE` numbers 1, 2, ... until `stop`, `write NUMBER SIZE`, `acknowledged SECONDS`.
pub(crate) fn run(topic: &str, terms: &Terms) -> Result<(), Box<dyn Error>> {
    let participant = join(terms)?;
    let topic = participant.create_topic::<Numbered>(topic, "Numbered", QosKind::Default, None, NO_STATUS)?;
    let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS)?;
    let mut qos = DataWriterQos::default();
    terms.adjust(&mut qos.endpoint);
    qos.byte_limit = terms.bytes.unwrap_or(qos.byte_limit);
    qos.assurance = terms.offered;
    let all = StatusMask(u32::MAX);
    let writer = publisher.create_datawriter(&topic, QosKind::Specific(qos), Some(Arc::new(Events)), all)?;
    say(&format!("ready {}", hex(writer.guid()?.to_bytes())));
    let stop = Arc::new(AtomicBool::new(false));
    let mut flow = None;
    obey(|words| {
        match words {
            ["flow", rate, size] => {
                let (rate, size) = (rate.parse()?, size.parse()?);
                let (writer, stop) = (writer.clone(), Arc::clone(&stop));
                flow = Some(std::thread::spawn(move || write_until(&writer, &stop, rate, size)));
            }
            ["stop"] => {
                stop.store(true, Ordering::Relaxed);
                let end = flow.take().map_or(Ok(0), |flow| flow.join().map_err(|_| "the flow panicked"))?;
                say(&format!("written {end}"));
            }
            ["write", number, size] => match writer.write(&sample(number.parse()?, size.parse()?)) {
                Ok(_) => say(&format!("wrote {number}")),
                Err(error) => say(&format!("refused {number} {error}").replace('\n', " ")),
            },
            ["acknowledged", seconds] => {
                match writer.wait_for_acknowledgments(dds::Duration::from_secs(seconds.parse()?)) {
                    Ok(()) => say("acknowledged"),
                    Err(error) => say(&format!("unacknowledged {error}").replace('\n', " ")),
                }
            }
            other => return Err(format!("there is no command {other:?}").into()),
        }
        Ok(())
    })?;
    leave(&participant)
}

/// The number of the last sample that was written.
fn write_until(writer: &DataWriter<Numbered>, stop: &AtomicBool, rate: u64, size: usize) -> u64 {
    let start = Instant::now();
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        let due = start + Duration::from_nanos(number * 1_000_000_000 / rate.max(1));
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        match writer.write(&sample(number + 1, size)) {
            Ok(_) => number += 1,
            Err(error) => say(&format!("refused {} {error}", number + 1).replace('\n', " ")),
        }
    }
    number
}

/// What belongs to a number: bytes of a generator (xorshift) that begins with it.
fn sample(number: u64, size: usize) -> Numbered {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(size);
    Numbered { number, bytes }
}
