//! `punctual perf sub`: reads what `punctual perf pub` writes, and says what was lost and how late the rest came.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use dds::serialized::{Payload, Request, Sample as Serialized};
use dds::{
    DataReader, DataReaderListener, Error, InstanceHandle, NO_STATUS, QosKind, ReturnCode, SampleInfo,
    States, StatusMask, WaitSet,
};
use serde_json::{Value, json};

use super::latency::Latencies;
use super::publish::rates;
use super::qos::{Arrival, QosOptions, duration};
use super::table::table;
use super::types::{AnyLoad, KeyedLoad, Load, LoadHead};
use super::usage::Usage;
use super::{clock, topics};
use crate::domain::DomainOptions;
use crate::exit::{Failure, Outcome};
use crate::output::{flush, print};
use crate::profile::ProfileOptions;
use crate::span;
use crate::stop::Stop;

/// Command line of `punctual perf sub`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual perf sub                           until the writer has gone, or Ctrl-C\n  \
    punctual perf sub --keyed --duration 10s    the other side of `punctual perf pub --keys 100`\n  \
    punctual perf sub --json                    an object for each second, then the sum")]
pub(super) struct Arguments {
    /// The keyed type, as `perf pub --keys` writes it.
    #[arg(short, long)]
    keyed: bool,
    /// Look at samples where they were received, without decoding their bytes into memory of their own.
    #[arg(long)]
    loan: bool,
    /// How samples are noticed.
    #[arg(long, value_enum, default_value_t = Arrival::Waitset)]
    arrival: Arrival,
    /// Ends after this many samples.
    #[arg(short = 'n', short_alias = 'c', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Ends after this time.
    #[arg(long, value_name = "TIME", value_parser = span::parse_finite)]
    duration: Option<Duration>,
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

/// What was read.
struct Taken {
    own_clock: u64,
    count: u64,
    bytes: u64,
    /// By writer.
    writers: HashMap<InstanceHandle, Numbers>,
    /// The last number by writer and instance: a reader keeps the order of each instance.
    lasts: HashMap<(InstanceHandle, InstanceHandle), u64>,
    /// Came after a greater one of the same writer and instance.
    disordered: u64,
    /// From when a sample was due to the end of take, if both sides have one clock.
    latency: Latencies,
    second: Latencies,
    /// Samples of another clock.
    other_clock: u64,
    /// The first and the last sample.
    span: Option<(Instant, Instant)>,
    before: (u64, u64, u64),
}

/// Numbers of one writer's samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Numbers {
    first: u64,
    last: u64,
    count: u64,
}

/// Everything that a thread needs that takes.
struct Reading<T> {
    taken: Taken,
    sample: T,
    /// Samples as they were received, if they are looked at there.
    loans: Option<Vec<Serialized>>,
}

/// Takes on the thread that brings the samples.
struct Arrived<T>(Arc<Mutex<Reading<T>>>);

impl<T: AnyLoad> DataReaderListener<T> for Arrived<T> {
    fn on_data_available(&self, reader: &DataReader<T>) {
        if let Err(error) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take(reader) {
            eprintln!("punctual: {error}");
        }
    }
}

/// Reads until it is told to stop.
pub(super) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    if arguments.keyed { read::<KeyedLoad>(arguments, stop) } else { read::<Load>(arguments, stop) }
}

fn read<T: AnyLoad>(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    let participant = arguments.domain.join("punctual perf sub")?;
    let topic = topics::load::<T>(&participant, &arguments.topic)?;
    let profile = arguments.profile.load()?;
    let group = match &profile {
        Some(profile) => QosKind::Specific(profile.subscriber()?),
        None => QosKind::Default,
    };
    let subscriber = participant.create_subscriber(group, None, NO_STATUS)?;
    let reading = Arc::new(Mutex::new(Reading {
        taken: Taken::new()?,
        sample: T::default(),
        loans: arguments.loan.then(Vec::new),
    }));
    let listener = (arguments.arrival == Arrival::Listener)
        .then(|| Arc::new(Arrived(Arc::clone(&reading))) as Arc<dyn DataReaderListener<T>>);
    let mask = if listener.is_some() { StatusMask::DATA_AVAILABLE } else { NO_STATUS };
    let mut qos = arguments.qos.reader_with(profile.as_ref(), topic.get_name(), LARGE)?;
    if profile.is_none() {
        // Whatever `perf pub --batch` offers is good enough.
        qos.endpoint.latency_budget = dds::Duration::INFINITE;
    }
    let qos = QosKind::Specific(qos);
    let reader = subscriber.create_datareader::<T>(&topic, qos, listener, mask)?;
    let waits = WaitSet::new();
    waits.attach_condition(stop.condition())?;
    if arguments.arrival == Arrival::Waitset {
        waits.attach_condition(reader.create_readcondition(States::NOT_READ).into())?;
    }
    let (start, before) = (Instant::now(), Usage::now());
    let mut tick = start + SECOND;
    let mut active = Vec::new();
    loop {
        let now = Instant::now();
        let count = {
            let mut reading = reading.lock().unwrap_or_else(PoisonError::into_inner);
            if arguments.arrival == Arrival::Waitset {
                reading.take(&reader)?;
            }
            if now >= tick {
                tick += SECOND;
                if let Some(line) = reading.taken.second(now - start, arguments.json) {
                    print(format_args!("{line}"));
                    flush();
                }
            }
            reading.taken.count
        };
        let ends = arguments.count.is_some_and(|wanted| count >= wanted)
            || arguments.duration.is_some_and(|duration| now - start >= duration);
        if ends || stop.requested() {
            break;
        }
        let end = arguments.duration.map_or(tick, |duration| tick.min(start + duration));
        // A listener's samples are counted at least this often.
        let wait = end.saturating_duration_since(Instant::now()).min(LOOK);
        match waits.wait_into(&mut active, duration(wait)) {
            Err(error) if error.code != ReturnCode::Timeout => return Err(error.into()),
            _ => {}
        }
    }
    let used = Usage::now().since(&before);
    let lost_by_reader = reader.get_sample_lost_status().total.count;
    let taken = &reading.lock().unwrap_or_else(PoisonError::into_inner).taken;
    if arguments.json {
        let mut sum = taken.json();
        sum["kind"] = json!("sum");
        sum["qos"] = json!(arguments.qos.text_with(profile.as_ref()));
        sum["sample_lost_status"] = json!(lost_by_reader);
        sum["cpu"] = used.json();
        print(format_args!("{sum}"));
    } else {
        taken.text().iter().for_each(|line| print(format_args!("{line}")));
        let remark = "from when it was due to the end of take; one clock, no clock error";
        table(&[("latency", &taken.latency, remark)]).iter().for_each(|line| print(format_args!("{line}")));
        print(format_args!("{}", used.text(taken.count, "sample")));
    }
    flush();
    Ok(if taken.count > 0 { Outcome::Done } else { Outcome::BadNews })
}

/// What is taken at once where samples are looked at where they were received.
const EACH: Request = Request { max: 16, states: States::NOT_READ, ..Request::TAKE };
const SECOND: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(100);
/// Samples may be large: bytes of the greatest that several of are held.
const LARGE: usize = 4 << 20;

impl<T: AnyLoad> Reading<T> {
    /// Takes all that is there.
    fn take(&mut self, reader: &DataReader<T>) -> Result<(), Error> {
        if let Some(loans) = &mut self.loans {
            while reader.access_serialized(&EACH, loans)? > 0 {
                for sample in loans.iter() {
                    let bytes = sample.payload.as_ref().map(Payload::bytes);
                    if let Some((bytes, head)) = bytes.and_then(|bytes| Some((bytes, T::read_head(bytes)?))) {
                        self.taken.add(&sample.info, head, bytes.len());
                    }
                }
                reader.recycle(loans.drain(..));
            }
            return Ok(());
        }
        while let Some(info) = reader.take_into(&mut self.sample)? {
            if info.valid_data {
                let (head, bytes) = (*self.sample.head(), self.sample.data().len());
                self.taken.add(&info, head, bytes);
            }
        }
        Ok(())
    }
}

impl Numbers {
    const fn first(number: u64) -> Self {
        Self { first: number, last: number, count: 1 }
    }

    fn add(&mut self, number: u64) {
        self.count += 1;
        (self.first, self.last) = (self.first.min(number), self.last.max(number));
    }

    /// Of those between the first and the last, the ones that did not come.
    const fn lost(&self) -> u64 {
        (self.last - self.first + 1).saturating_sub(self.count)
    }
}

impl Taken {
    fn new() -> Result<Self, Failure> {
        Ok(Self {
            own_clock: clock::identity(),
            count: 0,
            bytes: 0,
            writers: HashMap::new(),
            lasts: HashMap::new(),
            disordered: 0,
            latency: Latencies::new()?,
            second: Latencies::new()?,
            other_clock: 0,
            span: None,
            before: (0, 0, 0),
        })
    }

    fn add(&mut self, info: &SampleInfo, head: LoadHead, bytes: usize) {
        let writer = info.publication_handle;
        let now = Instant::now();
        let first = self.span.map_or(now, |(first, _)| first);
        self.span = Some((first, now));
        self.count += 1;
        self.bytes += u64::try_from(bytes).unwrap_or(0);
        self.writers
            .entry(writer)
            .and_modify(|numbers| numbers.add(head.number))
            .or_insert(Numbers::first(head.number));
        let last = self.lasts.entry((writer, info.instance_handle)).or_insert(head.number);
        self.disordered += u64::from(head.number < *last);
        *last = head.number.max(*last);
        if head.clock != 0 && head.clock == self.own_clock {
            let nanos = u64::try_from(clock::wall().saturating_sub(head.due)).unwrap_or(0);
            self.latency.record(Duration::from_nanos(nanos));
            self.second.record(Duration::from_nanos(nanos));
        } else {
            self.other_clock += 1;
        }
    }

    fn lost(&self) -> u64 {
        self.writers.values().map(Numbers::lost).sum()
    }

    /// The line of a second that is over, if anything happened.
    fn second(&mut self, elapsed: Duration, is_json: bool) -> Option<String> {
        let now = (self.count, self.bytes, self.lost());
        // What was missing may have come since.
        let (count, bytes, lost) =
            (now.0 - self.before.0, now.1 - self.before.1, now.2.saturating_sub(self.before.2));
        self.before = now;
        let seconds = elapsed.as_secs();
        let line = if is_json {
            let latencies = self.second.json();
            json!({"kind": "second", "at_s": seconds, "taken": count, "bytes": bytes, "lost": lost, "latency_us": latencies})
                .to_string()
        } else {
            let (_, megabytes) = rates(1, usize::try_from(bytes).unwrap_or(usize::MAX), SECOND);
            let latencies =
                if self.second.count() > 0 { self.second.brief() } else { "not known".to_owned() };
            format!("{seconds:>4} s: {count} samples, {megabytes:.2} MB, {lost} lost, latency {latencies}")
        };
        self.second.clear();
        (count > 0 || lost > 0).then_some(line)
    }

    /// From the first sample to the last.
    fn time(&self) -> Duration {
        self.span.map_or(Duration::ZERO, |(first, last)| last - first)
    }

    fn text(&self) -> Vec<String> {
        let (time, mean) = (self.time(), self.bytes.checked_div(self.count).unwrap_or(0));
        let (rate, megabytes) = rates(self.count, usize::try_from(mean).unwrap_or(0), time);
        let mut lines = vec![format!(
            "{} samples from {} writers in {:.1} s: {rate:.0} samples/s, {megabytes:.2} MB/s; {} lost, {} out of order",
            self.count,
            self.writers.len(),
            time.as_secs_f64(),
            self.lost(),
            self.disordered,
        )];
        if self.other_clock > 0 {
            lines.push(format!(
                "{} samples were stamped by another clock: `punctual ping` gives one-way times with their clock error",
                self.other_clock
            ));
        }
        lines
    }

    fn json(&self) -> Value {
        let (rate, megabytes) = {
            let mean = self.bytes.checked_div(self.count).unwrap_or(0);
            rates(self.count, usize::try_from(mean).unwrap_or(0), self.time())
        };
        json!({
            "taken": self.count,
            "samples_per_s": rate,
            "megabytes_per_s": megabytes,
            "writers": self.writers.len(),
            "lost": self.lost(),
            "out_of_order": self.disordered,
            "other_clock": self.other_clock,
            "latency_us": self.latency.json(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_come_is_lost_unless_it_comes_late() {
        let mut numbers = Numbers::first(5);
        [6, 9, 8].into_iter().for_each(|number| numbers.add(number));
        assert_eq!(numbers.lost(), 1);
        numbers.add(7);
        assert_eq!(numbers.lost(), 0);
    }
}
