//! The program that publishes a topic of the experiment, on a host of its own.
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use dds::assurance::Stage;
use dds::qos::{DataWriterQos, History, OfferedAssurance, Reliability};
use dds::{DataWriter, NO_STATUS, QosKind};
use serde_json::json;

use crate::flood::{Verdicts, flood};
use crate::member::{PUBLISHING, join, run_at_once, wall};
use crate::noting::topic;
use crate::orders::{Orders, answer};
use crate::record::{self, Record};
use crate::sample::Sample;

/// How long it waits for its subscriber, and then for the order to begin.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of the header before a serialized sample.
const ENCAPSULATION: u32 = 4;
const LOOK: Duration = Duration::from_millis(5);
/// Samples that a writer has room for.
const SAMPLES: usize = 16;

/// Publishes a topic of the MIDAS experiment; `punctual midas` starts it.
#[derive(Args, Clone, Debug)]
pub struct PublisherArguments {
    /// The topic.
    #[arg(long)]
    topic: String,
    /// Bytes of a sample.
    #[arg(long)]
    size: u32,
    /// Nanoseconds from the return of a send call to the next one.
    #[arg(long)]
    separation: u64,
    /// Nanoseconds that its host may take to hand over all frames of a sample.
    #[arg(long)]
    emission: u64,
    /// Nanoseconds that the gate waits longer than that for the rest of a sample.
    #[arg(long)]
    slack: u64,
    /// Where it notes what it sent.
    #[arg(long)]
    records: PathBuf,
    /// It promises that separation, and waits until its subscriber is assured.
    #[arg(long)]
    assured: bool,
    /// The most nanoseconds between two samples that it promises.
    #[arg(long, requires = "assured")]
    maximum_separation: Option<u64>,
    /// It has gone mad; it is an ordinary program then, without real-time priority.
    #[arg(long)]
    babbles: bool,
    /// It writes nothing, and sends a datagram of its admitted flow each so many nanoseconds, past the writer that would keep the contract.
    #[arg(long, requires = "assured")]
    flood: Option<u64>,
}

/// Runs the program: waits for the subscriber, says `ready`, is told `go SECONDS`, writes, notes, says `done`.
///
/// # Errors
/// In words.
pub fn publish(arguments: &PublisherArguments) -> Result<(), String> {
    let orders = Orders::new();
    let said = |error: dds::Error| format!("publisher of {}: {error}", arguments.topic);
    let participant = join(&format!("publisher of {}", arguments.topic), PUBLISHING).map_err(said)?;
    let topic = topic(&participant, &arguments.topic).map_err(said)?;
    let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS).map_err(said)?;
    let mut qos = DataWriterQos { assurance: arguments.contract(), ..DataWriterQos::default() };
    qos.endpoint.reliability = Reliability::BEST_EFFORT;
    qos.endpoint.history = History::KeepLast(1);
    qos.byte_limit = qos.byte_limit.max(arguments.size as usize * SAMPLES);
    let writer = publisher
        .create_datawriter::<Sample>(&topic, QosKind::Specific(qos), None, NO_STATUS)
        .map_err(said)?;
    let verdicts = arguments.flood.map(|_| Verdicts::hear(&participant)).transpose().map_err(said)?;
    meet(&writer, arguments, &orders)?;
    let real_time = !arguments.babbles && run_at_once();
    answer("ready", &json!({ "real_time": real_time }))?;
    let seconds = orders.next(PATIENCE).and_then(|order| order.strip_prefix("go ")?.parse().ok());
    let seconds = seconds.ok_or("no order to begin has come")?;
    let time = Duration::from_secs_f64(seconds);
    if let (Some(separation), Some(verdicts)) = (arguments.flood, verdicts) {
        let writer = writer.guid().map_err(said)?;
        let verdict = verdicts.of(writer).map_err(said)?.ok_or("the verdict on its flow was not heard")?;
        let frames = flood(&verdict, Duration::from_nanos(separation), time)
            .map_err(|error| format!("publisher of {}: raw socket: {error}", arguments.topic))?;
        answer("done", &json!({ "frames": frames }))?;
        stay(&orders);
        return Ok(());
    }
    let records = write(&writer, arguments, time).map_err(said)?;
    record::save(&arguments.records, &records)?;
    answer("done", &json!({ "samples": records.len() }))?;
    stay(&orders);
    Ok(())
}

/// The end of the input ends the program: until then the writer stays, and what is under way arrives.
fn stay(orders: &Orders) {
    while orders.next(PATIENCE).is_some() {}
}

/// Waits for the subscriber, which is assured if that was asked for.
fn meet(writer: &DataWriter<Sample>, arguments: &PublisherArguments, orders: &Orders) -> Result<(), String> {
    let start = Instant::now();
    loop {
        let pairs = writer.assurance();
        let assured = pairs.iter().any(|pair| pair.stage == Stage::Assured);
        if !writer.get_matched_subscriptions().is_empty() && (assured || !arguments.assured) {
            return Ok(());
        }
        if start.elapsed() > PATIENCE || orders.is_over() {
            let topic = &arguments.topic;
            let reason = pairs.first().map_or("no subscriber was found", |pair| pair.reason.as_str());
            return Err(format!(
                "publisher of {topic}: not ready after {} s: {reason}",
                start.elapsed().as_secs()
            ));
        }
        thread::sleep(LOOK);
    }
}

impl PublisherArguments {
    /// What it promises.
    fn contract(&self) -> Option<OfferedAssurance> {
        let nanos = |nanos: u64| dds::Duration::from_nanos(nanos.cast_signed());
        self.assured.then(|| OfferedAssurance {
            maximum_separation: self.maximum_separation.map(nanos),
            maximum_size: Some(self.size + ENCAPSULATION),
            minimum_size: Some(self.size + ENCAPSULATION),
            emission: Some(nanos(self.emission)),
            slack: nanos(self.slack),
            ..OfferedAssurance::every(nanos(self.separation))
        })
    }
}

/// Writes for some time: each sample a separation after the last send call has returned, so that none ever waits for its contract.
fn write(
    writer: &DataWriter<Sample>,
    arguments: &PublisherArguments,
    time: Duration,
) -> Result<Vec<Record>, dds::Error> {
    let separation = Duration::from_nanos(arguments.separation);
    let expected = time.as_nanos() / separation.as_nanos().max(1);
    let mut records = Vec::with_capacity(usize::try_from(expected).unwrap_or(0) + 1);
    let mut sample = Sample::of_size(arguments.size).unwrap_or_default();
    let start = Instant::now();
    let mut next = start;
    while next - start < time {
        thread::sleep(next.saturating_duration_since(Instant::now()));
        sample.sent = wall();
        records.push(Record { number: sample.number, at: sample.sent });
        writer.write(&sample)?;
        next = Instant::now() + separation;
        sample.number += 1;
    }
    Ok(records)
}
