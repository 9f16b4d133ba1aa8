//! The program that subscribes to a topic of the experiment.
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use dds::DataReader;
use dds::assurance::State;
use dds::qos::{DataReaderQos, History, Reliability, RequestedAssurance, WhenRefused};
use serde_json::{Value, json};

use crate::member::{SUBSCRIBING, join};
use crate::noting::NotingReader;
use crate::orders::{Orders, answer};
use crate::sample::Sample;

/// Samples that a reader has room for.
const SAMPLES: usize = 64;
const PATIENCE: Duration = Duration::from_secs(300);
/// How long a verdict is waited for.
const VERDICT: Duration = Duration::from_secs(40);
const LOOK: Duration = Duration::from_millis(5);

/// Subscribes to a topic of the MIDAS experiment; `punctual midas` starts it.
#[derive(Args, Clone, Debug)]
pub struct SubscriberArguments {
    /// The topic.
    #[arg(long)]
    topic: String,
    /// Bytes of a sample.
    #[arg(long)]
    size: u32,
    /// Where it notes what it received.
    #[arg(long)]
    records: PathBuf,
    /// It wants to be assured of samples within so many nanoseconds, or gets none.
    #[arg(long)]
    within: Option<u64>,
    /// The most nanoseconds between two samples that it accepts.
    #[arg(long, requires = "within")]
    apart: Option<u64>,
}

/// Runs the program: subscribes, is told `end`, notes, says `done`.
///
/// # Errors
/// In words.
pub fn subscribe(arguments: &SubscriberArguments) -> Result<(), String> {
    let orders = Orders::new();
    let said = |error: dds::Error| format!("subscriber to {}: {error}", arguments.topic);
    let participant = join(&format!("subscriber to {}", arguments.topic), SUBSCRIBING).map_err(said)?;
    let mut qos = DataReaderQos { assurance: arguments.wish(), ..DataReaderQos::default() };
    qos.endpoint.reliability = Reliability::BEST_EFFORT;
    qos.endpoint.history = History::KeepAll;
    qos.byte_limit = qos.byte_limit.max(arguments.size as usize * SAMPLES);
    let reader = NotingReader::new(&participant, &arguments.topic, qos, None).map_err(said)?;
    loop {
        match orders.next(PATIENCE).as_deref() {
            Some("verdict") => answer("verdict", &verdict(&reader.reader, &orders))?,
            Some("end") => break,
            _ => return Err(format!("subscriber to {}: no order to end has come", arguments.topic)),
        }
    }
    answer("done", &json!({ "samples": reader.save(&arguments.records)? }))
}

/// What the manager has said about its pair, once it has.
fn verdict(reader: &DataReader<Sample>, orders: &Orders) -> Value {
    let start = Instant::now();
    loop {
        let pairs = reader.assurance();
        let decided =
            pairs.iter().find(|pair| matches!(pair.state, State::Admitted | State::Refused | State::Revoked));
        if let Some(pair) = decided {
            let nanos = |time: Option<dds::Duration>| time.map(dds::Duration::as_nanos);
            return json!({
                "admitted": pair.state == State::Admitted,
                "bound": nanos(pair.bound),
                "reason": pair.reason,
                "offered_latency": nanos(pair.offered_latency),
            });
        }
        if start.elapsed() > VERDICT || orders.is_over() {
            return json!({ "admitted": false, "reason": "no verdict has come", "silent": true });
        }
        thread::sleep(LOOK);
    }
}

impl SubscriberArguments {
    fn wish(&self) -> Option<RequestedAssurance> {
        let nanos = |nanos: u64| dds::Duration::from_nanos(nanos.cast_signed());
        self.within.map(|within| RequestedAssurance {
            maximum_latency: nanos(within),
            maximum_separation: self.apart.map(nanos),
            losses: None,
            when_refused: WhenRefused::Fail,
        })
    }
}
