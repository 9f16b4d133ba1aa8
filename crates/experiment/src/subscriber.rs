//! The program that subscribes to a topic of the experiment.
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use dds::assurance::State;
use dds::qos::{DataReaderQos, History, Reliability, RequestedAssurance, WhenRefused};
use dds::{DataReader, DataReaderListener, NO_STATUS, QosKind, StatusMask};
use serde_json::{Value, json};

use crate::member::{SUBSCRIBING, join};
use crate::orders::{Orders, answer};
use crate::record::{self, Record};
use crate::sample::Sample;

/// Samples that a reader has room for.
const SAMPLES: usize = 64;
/// Records that are noted without asking for memory: more than any phase has.
const RECORDS: usize = 100_000;
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

/// Takes samples on the thread that receives them, and notes when their last datagram came.
struct Noting(Mutex<(Vec<Record>, Sample)>);

impl DataReaderListener<Sample> for Noting {
    fn on_data_available(&self, reader: &DataReader<Sample>) {
        let mut noting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (records, sample) = &mut *noting;
        while let Ok(Some(info)) = reader.take_into(sample) {
            if info.valid_data {
                records.push(Record { number: sample.number, at: info.reception_timestamp.as_nanos() });
            }
        }
    }
}

/// Runs the program: subscribes, is told `end`, notes, says `done`.
///
/// # Errors
/// In words.
pub fn subscribe(arguments: &SubscriberArguments) -> Result<(), String> {
    let orders = Orders::new();
    let said = |error: dds::Error| format!("subscriber to {}: {error}", arguments.topic);
    let participant = join(&format!("subscriber to {}", arguments.topic), SUBSCRIBING).map_err(said)?;
    let topic = participant
        .create_topic::<Sample>(&arguments.topic, "Sample", QosKind::Default, None, NO_STATUS)
        .map_err(said)?;
    let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS).map_err(said)?;
    let mut qos = DataReaderQos { assurance: arguments.wish(), ..DataReaderQos::default() };
    qos.endpoint.reliability = Reliability::BEST_EFFORT;
    qos.endpoint.history = History::KeepAll;
    qos.byte_limit = qos.byte_limit.max(arguments.size as usize * SAMPLES);
    let noting = Arc::new(Noting(Mutex::new((Vec::with_capacity(RECORDS), Sample::default()))));
    let listener: Arc<dyn DataReaderListener<Sample>> = Arc::<Noting>::clone(&noting);
    let reader = subscriber
        .create_datareader::<Sample>(
            &topic,
            QosKind::Specific(qos),
            Some(listener),
            StatusMask::DATA_AVAILABLE,
        )
        .map_err(said)?;
    let told = |error: std::io::Error| format!("standard output: {error}");
    loop {
        match orders.next(PATIENCE).as_deref() {
            Some("verdict") => answer("verdict", &verdict(&reader, &orders)).map_err(told)?,
            Some("end") => break,
            _ => return Err(format!("subscriber to {}: no order to end has come", arguments.topic)),
        }
    }
    let noted = noting.0.lock().unwrap_or_else(PoisonError::into_inner);
    record::write(&arguments.records, &noted.0)
        .map_err(|error| format!("{}: {error}", arguments.records.display()))?;
    answer("done", &json!({ "samples": noted.0.len() })).map_err(told)
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
