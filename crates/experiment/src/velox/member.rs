//! The programs on the hosts of the domains: writers, readers, and relays that make copies of what comes over the link for the readers of
//! their domain.
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use dds::config::{ParticipantId, Peer};
use dds::qos::{DataReaderQos, DataWriterQos, History, Reliability};
use dds::{DataWriter, DomainParticipant, NO_STATUS, QosKind};
use serde_json::json;

use crate::member::{PUBLISHING, SUBSCRIBING, join_with, run_at_once, wall};
use crate::noting::{NotingReader, RECORDS, topic};
use crate::orders::{Orders, answer};
use crate::record::{self, Record};
use crate::sample::Sample;

/// How long others are waited for, and orders.
const PATIENCE: Duration = Duration::from_secs(60);
const ORDERS: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(5);
/// Samples that writers of reliable flows keep, and readers have room for.
const SAMPLES: usize = 256;
const KEPT: u32 = 256;
/// Numbers of the samples of one writer begin here for each writer.
pub(crate) const WRITER: u64 = 1 << 32;

/// What all of them are told.
#[derive(Args, Clone, Debug)]
struct Common {
    /// The topic.
    #[arg(long)]
    topic: String,
    /// Bytes of a sample.
    #[arg(long)]
    size: u32,
    /// Where it notes what it wrote or received.
    #[arg(long)]
    records: PathBuf,
    /// The addresses of hosts with participants to find.
    #[arg(long)]
    peer: Vec<Peer>,
    /// The number of its participant, which decides its ports.
    #[arg(long)]
    participant: u8,
    /// Samples that are lost are sent again.
    #[arg(long)]
    reliable: bool,
}

/// Writes a topic of the Velox experiment; `punctual velox` starts it.
#[derive(Args, Clone, Debug)]
pub struct WriterArguments {
    #[command(flatten)]
    common: Common,
    /// Which of the writers of the topic it is.
    #[arg(long)]
    number: u64,
    /// Nanoseconds from one sample to the next.
    #[arg(long)]
    separation: u64,
    /// Nanoseconds from the return of a send call to the next one, at least: what its session lets through.
    #[arg(long)]
    least_separation: u64,
    /// The readers that it waits for.
    #[arg(long)]
    readers: usize,
}

/// Reads a topic of the Velox experiment; `punctual velox` starts it.
#[derive(Args, Clone, Debug)]
pub struct ReaderArguments {
    #[command(flatten)]
    common: Common,
    /// The writers that it waits for.
    #[arg(long)]
    writers: usize,
    /// It writes what it receives to this topic, too, for readers of its domain.
    #[arg(long, requires = "readers")]
    copies: Option<String>,
    /// The readers of the copies that it waits for.
    #[arg(long)]
    readers: Option<usize>,
}

fn participant(name: &str, common: &Common, priority: u8) -> Result<DomainParticipant, dds::Error> {
    join_with(name, priority, |config| {
        config.network.multicast = false;
        config.discovery.static_peers.clone_from(&common.peer);
        config.discovery.participant_id = ParticipantId::Fixed(common.participant);
        // Links are full of best effort for longer than a lease.
        config.discovery.lease_duration = dds::Duration::from_secs(300);
        config.discovery.announce_period = dds::Duration::from_secs(1);
    })
}

fn said(name: &str) -> impl Fn(dds::Error) -> String + '_ {
    move |error| format!("{name}: {error}")
}

fn writer(
    participant: &DomainParticipant,
    topic: &str,
    common: &Common,
) -> Result<DataWriter<Sample>, dds::Error> {
    let topic = self::topic(participant, topic)?;
    let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS)?;
    let mut qos = DataWriterQos::default();
    if common.reliable {
        qos.endpoint.history = History::KeepLast(KEPT);
    } else {
        qos.endpoint.reliability = Reliability::BEST_EFFORT;
        qos.endpoint.history = History::KeepLast(1);
    }
    qos.byte_limit = qos.byte_limit.max(common.size as usize * SAMPLES * 2);
    publisher.create_datawriter::<Sample>(&topic, QosKind::Specific(qos), None, NO_STATUS)
}

/// Waits until so many others are found.
fn meet(found: impl Fn() -> usize, count: usize, name: &str, orders: &Orders) -> Result<(), String> {
    let start = Instant::now();
    while found() < count {
        if start.elapsed() > PATIENCE || orders.is_over() {
            return Err(format!("{name}: {} of {count} others were found", found()));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Runs a writer: it waits for its readers, says `ready`, is told `go SECONDS`, writes, notes, says `done`, and stays until its input ends.
///
/// # Errors
/// In words.
pub fn write(arguments: &WriterArguments) -> Result<(), String> {
    let orders = Orders::new();
    let common = &arguments.common;
    let name = format!("writer {} of {}", arguments.number, common.topic);
    let participant = participant(&name, common, PUBLISHING).map_err(said(&name))?;
    let writer = writer(&participant, &common.topic, common).map_err(said(&name))?;
    meet(|| writer.get_matched_subscriptions().len(), arguments.readers, &name, &orders)?;
    let real_time = run_at_once();
    answer("ready", &json!({ "real_time": real_time }))?;
    let seconds = orders.next(ORDERS).and_then(|order| order.strip_prefix("go ")?.parse().ok());
    let time = Duration::from_secs_f64(seconds.ok_or("no order to begin has come")?);
    let records = samples(&writer, arguments, time).map_err(said(&name))?;
    record::save(&common.records, &records)?;
    answer("done", &json!({ "samples": records.len() }))?;
    while orders.next(ORDERS).is_some() {}
    Ok(())
}

/// Writes for some time: when samples are due, and not before the session lets them through.
fn samples(
    writer: &DataWriter<Sample>,
    arguments: &WriterArguments,
    time: Duration,
) -> Result<Vec<Record>, dds::Error> {
    let separation = Duration::from_nanos(arguments.separation.max(1));
    let least = Duration::from_nanos(arguments.least_separation);
    let mut records = Vec::with_capacity(RECORDS);
    let mut sample = Sample::of_size(arguments.common.size).unwrap_or_default();
    sample.number = arguments.number * WRITER;
    let start = Instant::now();
    let (mut due, mut may) = (start, start);
    while due.duration_since(start) < time {
        thread::sleep(due.max(may).saturating_duration_since(Instant::now()));
        sample.sent = wall();
        records.push(Record { number: sample.number, at: sample.sent });
        writer.write(&sample)?;
        may = Instant::now() + least;
        due += separation;
        sample.number += 1;
    }
    Ok(records)
}

/// Runs a reader, or a relay: it waits for its writers and for the readers of its copies, says `ready`, is told `end`, notes, says `done`.
///
/// # Errors
/// In words.
pub fn read(arguments: &ReaderArguments) -> Result<(), String> {
    let orders = Orders::new();
    let common = &arguments.common;
    let name = format!("reader of {}", common.topic);
    // Who makes copies sends, too.
    let priority = if arguments.copies.is_some() { PUBLISHING } else { SUBSCRIBING };
    let participant = participant(&name, common, priority).map_err(said(&name))?;
    let copies = arguments.copies.as_deref().map(|topic| writer(&participant, topic, common));
    let copies = copies.transpose().map_err(said(&name))?;
    let mut qos = DataReaderQos::default();
    qos.endpoint.reliability = if common.reliable { Reliability::RELIABLE } else { Reliability::BEST_EFFORT };
    qos.endpoint.history = History::KeepAll;
    qos.byte_limit = qos.byte_limit.max(common.size as usize * SAMPLES * 8);
    let noting = NotingReader::new(&participant, &common.topic, qos, copies.clone()).map_err(said(&name))?;
    meet(|| noting.reader.get_matched_publications().len(), arguments.writers, &name, &orders)?;
    if let Some(copies) = &copies {
        meet(|| copies.get_matched_subscriptions().len(), arguments.readers.unwrap_or(0), &name, &orders)?;
    }
    answer("ready", &json!({}))?;
    if orders.next(ORDERS).as_deref() != Some("end") {
        return Err(format!("{name}: no order to end has come"));
    }
    answer("done", &json!({ "samples": noting.save(&common.records)? }))
}
