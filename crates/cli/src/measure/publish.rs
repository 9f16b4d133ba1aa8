//! `punctual perf pub`: writes as many samples as it was told to, or as fast as they are taken.
use std::time::{Duration, Instant};

use clap::Args;
use dds::cdr::Encoding;
use dds::qos::ReliabilityKind;
use dds::{DataWriter, Error, NO_STATUS, QosKind, ReturnCode, SequenceNumber, WriteOptions};
use serde_json::{Value, json};

use super::latency::Latencies;
use super::pace::{Rate, Schedule, wake_exactly};
use super::qos::{QosOptions, parse_size};
use super::table::table;
use super::types::{AnyLoad, KeyedLoad, Load, LoadHead};
use super::usage::{Usage, Used};
use super::waiting::Waiting;
use super::{clock, qos, topics};
use crate::domain::DomainOptions;
use crate::exit::{Failure, Outcome};
use crate::output::{flush, print};
use crate::profile::ProfileOptions;
use crate::span;
use crate::stop::Stop;

/// Command line of `punctual perf pub`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual perf pub --duration 10s                 64 bytes, as fast as the reader takes them\n  \
    punctual perf pub --rate 20k --size 1k           at a rate: latencies of `perf sub` count from when samples were due\n  \
    punctual perf pub --batch 200us --count 1000000  samples wait up to 200 us for others\n  \
    punctual perf pub --qos-file plant.xml --qos-profile Plant::Positions    what a profile can carry\n\n\
    `punctual perf sub` is the other side, on this host or another.")]
pub(super) struct Arguments {
    /// Samples a second, or max: as many as the history takes.
    #[arg(short, long, default_value = "max", value_parser = Rate::parse)]
    rate: Rate,
    /// Bytes in each sample besides its 28 of numbers and times.
    #[arg(short, long, default_value = "64", value_parser = parse_size)]
    size: usize,
    /// Instances of a keyed type, written in turn; 0: a type without key.
    #[arg(short, long, default_value_t = 0, value_name = "N")]
    keys: u32,
    /// How long a sample may wait for others in its datagram (LATENCY_BUDGET), as 200us; at most 10s.
    #[arg(short, long, default_value = "0", hide_default_value = true, value_name = "TIME", value_parser = parse_batch)]
    batch: dds::Duration,
    /// Write each sample in place, into memory that the writer lends: with shared memory readers copy it out of there.
    #[arg(long)]
    loan: bool,
    /// Ends after this many samples.
    #[arg(short = 'n', short_alias = 'c', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Ends after this time.
    #[arg(long, value_name = "TIME", value_parser = span::parse_finite)]
    duration: Option<Duration>,
    /// Waits for this many readers before the first sample.
    #[arg(short, long, default_value_t = 1, value_name = "COUNT")]
    wait_for: usize,
    /// End of the topic's name, which both sides have to give.
    #[arg(long, default_value = "", value_name = "TEXT", hide_default_value = true)]
    topic: String,
    /// One JSON object in each line: the seconds, then the sum.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    qos: QosOptions,
    #[command(flatten)]
    profile: ProfileOptions,
    #[command(flatten)]
    domain: DomainOptions,
}

fn parse_batch(text: &str) -> Result<dds::Duration, String> {
    let time = span::parse(text)?;
    if time > dds::Duration::from_secs(10) { Err("give at most 10s, as 200us".to_owned()) } else { Ok(time) }
}

/// What was written.
struct Written {
    bytes: usize,
    count: u64,
    /// Writes that found no room within the blocking time, and were tried again.
    refused: u64,
    calls: Latencies,
    second: Latencies,
    before: (u64, u64, Usage),
}

/// Writes until it is told to stop.
pub(super) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    if arguments.keys > 0 { write::<KeyedLoad>(arguments, stop) } else { write::<Load>(arguments, stop) }
}

fn write<T: AnyLoad>(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    let participant = arguments.domain.join("punctual perf pub")?;
    let topic = topics::load::<T>(&participant, &arguments.topic)?;
    let profile = arguments.profile.load()?;
    let group = match &profile {
        Some(profile) => QosKind::Specific(profile.publisher()?),
        None => QosKind::Default,
    };
    let publisher = participant.create_publisher(group, None, NO_STATUS)?;
    let mut writer_qos = arguments.qos.writer_with(profile.as_ref(), topic.get_name(), arguments.size)?;
    if profile.is_none() || arguments.batch > dds::Duration::ZERO {
        writer_qos.endpoint.latency_budget = arguments.batch;
    }
    let qos_text = arguments.qos.text_with(profile.as_ref());
    let writer = publisher.create_datawriter::<T>(&topic, QosKind::Specific(writer_qos), None, NO_STATUS)?;
    if !meet(&writer, arguments.wait_for, stop)? {
        return Ok(Outcome::Done);
    }
    let before = Usage::now();
    let mut written = Written::new(arguments.size, before)?;
    let start = Instant::now();
    written.write(&writer, arguments, stop, start)?;
    let acknowledged = settle(&writer)?;
    let used = Usage::now().since(&before);
    let counters = writer.counters()?;
    if arguments.json {
        let mut sum = written.json(used.wall);
        sum["kind"] = json!("sum");
        sum["rate"] = json!(arguments.rate.to_string());
        sum["bytes"] = json!(arguments.size);
        sum["qos"] = json!(qos_text);
        sum["batch_us"] = json!(arguments.batch.as_nanos() / 1_000);
        sum["keys"] = json!(arguments.keys);
        sum["loaned"] = json!(arguments.loan);
        sum["acknowledged"] = json!(acknowledged);
        sum["repaired"] = json!(counters.repairs);
        sum["cpu"] = used.json();
        print(format_args!("{sum}"));
    } else {
        let all = if acknowledged { "" } else { ", not all of it acknowledged" };
        print(format_args!("{}{all}, {} repaired", written.text(&used), counters.repairs));
        let keys = if arguments.keys > 0 { format!(", {} instances", arguments.keys) } else { String::new() };
        let batch = if arguments.batch > dds::Duration::ZERO {
            format!(", up to {} for others in its datagram", arguments.batch)
        } else {
            String::new()
        };
        let rate = arguments.rate;
        let keys = format!("{}{keys}", if arguments.loan { ", loaned" } else { "" });
        print(format_args!("{} bytes{keys}, {qos_text}{batch}, {rate}", arguments.size));
        let rows = [("call of write", &written.calls, "waiting for room included")];
        table(&rows).iter().for_each(|line| print(format_args!("{line}")));
        print(format_args!("{}", used.text(written.count, "sample")));
    }
    flush();
    Ok(Outcome::Done)
}

/// Waits for readers; false if Ctrl-C came first.
fn meet<T>(writer: &DataWriter<T>, readers: usize, stop: &Stop) -> Result<bool, Failure> {
    let mut waiting = Waiting::new("punctual perf sub");
    loop {
        let count = writer.get_matched_subscriptions().len();
        if count >= readers {
            waiting.end();
            return Ok(true);
        }
        if waiting.wait(&format!(", {count} of {readers} there"), stop)? {
            return Ok(false);
        }
    }
}

/// Waits for what is under way; true if all of it was acknowledged.
fn settle<T>(writer: &DataWriter<T>) -> Result<bool, Failure> {
    writer.flush()?;
    if writer.get_qos().endpoint.reliability.kind == ReliabilityKind::BestEffort {
        return Ok(true);
    }
    match writer.wait_for_acknowledgments(LAST_ACKNOWLEDGEMENTS) {
        Ok(()) => Ok(true),
        Err(error) if error.code == ReturnCode::Timeout => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Writes a sample that has no bytes yet with so many, which are put where they are sent from.
fn write_in_place<T: AnyLoad>(
    writer: &DataWriter<T>,
    sample: &T,
    bytes: usize,
) -> Result<SequenceNumber, Error> {
    let mut loan = writer.loan(HEAD + bytes.next_multiple_of(4))?;
    let not_encoded = |what: String| Error::new(ReturnCode::Error, "write", what, "give a smaller --size");
    let start = sample
        .encode_payload_to(Encoding::XCDR2, &mut loan)
        .map_err(|error| not_encoded(error.to_string()))?;
    // The bytes are the last member: their number ends what was written, and how many of padding follow stands in the header.
    let count = u32::try_from(bytes).map_err(|_| not_encoded(format!("{bytes} bytes")))?;
    loan.truncate(start + bytes.next_multiple_of(4));
    if let Some(padding) = loan.get_mut(3) {
        *padding = (bytes.next_multiple_of(4) - bytes) as u8;
    }
    if let Some(number) = start.checked_sub(4).and_then(|at| loan.get_mut(at..start)) {
        number.copy_from_slice(&count.to_le_bytes());
    }
    if let Some(data) = loan.get_mut(start..) {
        data.fill(DATA);
    }
    writer.write_loaned(loan, &WriteOptions::default())
}

/// What the bytes of a sample are.
const DATA: u8 = 0x5a;
/// Most bytes of a sample before those.
const HEAD: usize = 64;
const LAST_ACKNOWLEDGEMENTS: dds::Duration = dds::Duration::from_secs(5);
const SECOND: Duration = Duration::from_secs(1);

impl Written {
    fn new(bytes: usize, now: Usage) -> Result<Self, Failure> {
        let (calls, second) = (Latencies::new()?, Latencies::new()?);
        Ok(Self { bytes, count: 0, refused: 0, calls, second, before: (0, 0, now) })
    }

    fn write<T: AnyLoad>(
        &mut self,
        writer: &DataWriter<T>,
        arguments: &Arguments,
        stop: &Stop,
        start: Instant,
    ) -> Result<(), Failure> {
        wake_exactly();
        let mut schedule = Schedule::new(start, arguments.rate);
        let mut tick = start + SECOND;
        let clock = clock::identity();
        let mut sample = T::default();
        if !arguments.loan {
            sample.set_data(vec![DATA; arguments.size]);
        }
        loop {
            let now = Instant::now();
            if now >= tick {
                tick += SECOND;
                let line = self.second(now - start, arguments.json);
                print(format_args!("{line}"));
                flush();
            }
            let ends = arguments.count.is_some_and(|count| self.count >= count)
                || arguments.duration.is_some_and(|duration| now - start >= duration);
            if ends || stop.requested() {
                return Ok(());
            }
            let late = match &schedule {
                Some(schedule) if schedule.due() > now => {
                    let wait = schedule.due().min(tick) - now;
                    stop.wait(qos::duration(wait))?;
                    continue;
                }
                Some(schedule) => now - schedule.due(),
                None => Duration::ZERO,
            };
            let late = i64::try_from(late.as_nanos()).unwrap_or(i64::MAX);
            let head = LoadHead { number: self.count, due: clock::wall().saturating_sub(late), clock };
            sample.set(u32::try_from(self.count % u64::from(arguments.keys.max(1))).unwrap_or(0), head);
            if self.once(writer, &sample, arguments.loan, now)?
                && let Some(schedule) = &mut schedule
            {
                schedule.advance();
            }
        }
    }

    /// Writes a sample; false if there was no room, so that it has to be tried again.
    fn once<T: AnyLoad>(
        &mut self,
        writer: &DataWriter<T>,
        sample: &T,
        loan: bool,
        start: Instant,
    ) -> Result<bool, Error> {
        let written = if loan { write_in_place(writer, sample, self.bytes) } else { writer.write(sample) };
        match written {
            Ok(_) => {
                let call = start.elapsed();
                self.calls.record(call);
                self.second.record(call);
                self.count += 1;
                Ok(true)
            }
            Err(error) if error.code == ReturnCode::Timeout => {
                self.refused += 1;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The line of a second that is over.
    fn second(&mut self, elapsed: Duration, is_json: bool) -> String {
        let (count, refused) = (self.count - self.before.0, self.refused - self.before.1);
        let now = Usage::now();
        let used = now.since(&self.before.2);
        self.before = (self.count, self.refused, now);
        let (seconds, cpu) = (elapsed.as_secs(), used.percent());
        let line = if is_json {
            let calls = self.second.json();
            json!({"kind": "second", "at_s": seconds, "written": count, "refused": refused, "write_us": calls, "cpu_percent": cpu})
                .to_string()
        } else {
            let (rate, megabytes) = rates(count, self.bytes, used.wall);
            let calls = if self.second.count() > 0 { self.second.brief() } else { "none".to_owned() };
            format!("{seconds:>4} s: {rate:.0} samples/s, {megabytes:.2} MB/s, write {calls}, cpu {cpu:.0} %")
        };
        self.second.clear();
        line
    }

    fn text(&self, used: &Used) -> String {
        let (rate, megabytes) = rates(self.count, self.bytes, used.wall);
        format!(
            "{} written in {:.1} s: {rate:.0} samples/s, {megabytes:.2} MB/s; {} times no room for a while",
            self.count,
            used.wall.as_secs_f64(),
            self.refused
        )
    }

    fn json(&self, time: Duration) -> Value {
        let (rate, megabytes) = rates(self.count, self.bytes, time);
        json!({
            "written": self.count,
            "samples_per_s": rate,
            "megabytes_per_s": megabytes,
            "refused": self.refused,
            "write_us": self.calls.json(),
        })
    }
}

/// Samples and millions of bytes of their data a second.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub(super) fn rates(count: u64, bytes: usize, time: Duration) -> (f64, f64) {
    let rate = count as f64 / time.as_secs_f64().max(1e-9);
    (rate, rate * bytes as f64 / 1e6)
}
