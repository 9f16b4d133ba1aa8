//! How the cost of a domain grows with its topics, readers, instances and participants: what `docs/measurements/growth.md` has in tables.
//!
//! All is in one process, on real sockets. Run it in a network namespace of its own, see there.
use std::time::{Duration, Instant};

use dds::config::Config;
use dds::qos::{DataReaderQos, DataWriterQos, DomainParticipantQos, History, Reliability};
use dds::{
    DataReader, DataWriter, DdsType, DomainParticipant, DomainParticipantFactory, Error, NO_STATUS, QosKind,
    States, Transport,
};

#[derive(DdsType, Clone, Copy, Debug)]
struct Reading {
    #[dds(key)]
    sensor: u32,
    value: u64,
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Nothing here takes longer, unless it never ends.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> Outcome {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    match wanted.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["topics", count] => topics(count.parse()?),
        ["readers", count] => readers(count.parse()?),
        ["instances", count] => instances(count.parse()?),
        ["participants", count] => participants(count.parse()?, None),
        ["talkers", count] => participants(count.parse()?, Some(true)),
        ["udp-talkers", count] => participants(count.parse()?, Some(false)),
        _ => Err("say topics, readers, instances, participants, talkers or udp-talkers, and how many".into()),
    }
}

/// One topic after another, each with a writer in one participant and a reader in another.
fn topics(count: usize) -> Outcome {
    let [here, there] = [participant(false)?, participant(false)?];
    let before = Memory::now()?;
    let begun = Instant::now();
    let mut pairs = Vec::new();
    for number in 0..count {
        let name = format!("Readings {number}");
        pairs.push((writer(&here, &name, History::KeepLast(1))?, reader(&there, &name)?));
    }
    let made = begun.elapsed();
    wait("all pairs match", || {
        Ok(pairs.iter().all(|(writer, reader)| {
            !writer.get_matched_subscriptions().is_empty() && !reader.get_matched_publications().is_empty()
        }))
    })?;
    let matched = begun.elapsed();
    let grown = Memory::now()?.since(&before);
    let sent = per_sample(count * 5, |number| {
        let (writer, reader) = pairs.get(number % pairs.len()).ok_or("no topics")?;
        send(writer, std::slice::from_ref(reader), number)
    })?;
    println!(
        "topics {count}: made in {:.1} us each, matched after {:.1} us each, a sample in {:.1} us, {:.1} KiB for each topic, writer and reader",
        per(made, count),
        per(matched, count),
        sent,
        grown.kib(count),
    );
    Ok(())
}

/// One writer, and readers of its topic in another participant.
fn readers(count: usize) -> Outcome {
    let [here, there] = [participant(false)?, participant(false)?];
    let writer = writer(&here, "Readings", History::KeepLast(1))?;
    let before = Memory::now()?;
    let begun = Instant::now();
    let readers = (0..count).map(|_| reader(&there, "Readings")).collect::<Result<Vec<_>, _>>()?;
    wait("all readers match", || Ok(writer.get_matched_subscriptions().len() == count))?;
    wait("they know", || Ok(readers.iter().all(|reader| !reader.get_matched_publications().is_empty())))?;
    let matched = begun.elapsed();
    let grown = Memory::now()?.since(&before);
    let sent = per_sample(2_000 / count.min(200), |number| send(&writer, &readers, number))?;
    println!(
        "readers {count}: matched after {:.1} us each, a sample in {sent:.1} us, {:.2} us for each reader, {:.1} KiB each",
        per(matched, count),
        sent / as_f64(count),
        grown.kib(count),
    );
    Ok(())
}

/// Instances of one topic, one writer, one reader of another participant.
fn instances(count: usize) -> Outcome {
    let [here, there] = [participant(false)?, participant(false)?];
    let writer = writer(&here, "Readings", History::KeepLast(1))?;
    let reader = reader(&there, "Readings")?;
    wait("they match", || {
        Ok(!writer.get_matched_subscriptions().is_empty() && !reader.get_matched_publications().is_empty())
    })?;
    let before = Memory::now()?;
    let round = |number: u64| -> Result<Duration, Box<dyn std::error::Error>> {
        let begun = Instant::now();
        for first in (0..count).step_by(CHUNK) {
            let end = count.min(first + CHUNK);
            for sensor in first..end {
                writer.write(&Reading { sensor: u32::try_from(sensor)?, value: number })?;
            }
            let mut taken = 0;
            wait("samples come", || {
                taken += reader.take(usize::MAX, States::ANY)?.len();
                Ok(taken == end - first)
            })?;
        }
        Ok(begun.elapsed())
    };
    let new = round(0)?;
    let grown = Memory::now()?.since(&before);
    let known = round(1)?;
    println!(
        "instances {count}: a sample of a new one in {:.2} us, of a known one in {:.2} us, {:.0} octets each at writer and reader together",
        per(new, count),
        per(known, count),
        grown.kib(count) * 1_024.0,
    );
    Ok(())
}

/// How many samples are written before they are taken.
const CHUNK: usize = 100;

/// Participants that all find each other. If they talk, each writes and reads one topic of all, with shared memory or without.
fn participants(count: usize, talks: Option<bool>) -> Outcome {
    let before = (Memory::now()?, descriptors()?);
    let begun = Instant::now();
    let all = (0..count).map(|_| participant(talks.unwrap_or(true))).collect::<Result<Vec<_>, _>>()?;
    let made = begun.elapsed();
    wait("all find all", || Ok(all.iter().all(|one| one.get_discovered_participants().len() >= count - 1)))?;
    let found = begun.elapsed();
    let mut pairs = Vec::new();
    for one in all.iter().filter(|_| talks.is_some()) {
        pairs.push((writer(one, "Readings", History::KeepLast(1))?, reader(one, "Readings")?));
    }
    let way = if talks == Some(true) { Transport::SharedMemory } else { Transport::Udp };
    wait("all match, and know the way", || {
        Ok(pairs.iter().all(|(writer, _)| {
            let readers = writer.get_matched_subscriptions();
            let ways = readers.iter().map(|reader| writer.get_matched_subscription_transport(*reader));
            // Its own reader is one of them.
            ways.filter(|found| *found == Ok(way)).count() == count - 1
        }))
    })?;
    for number in 0..pairs.len() * 10 {
        let (writer, _) = pairs.get(number % pairs.len()).ok_or("no talkers")?;
        writer.write(&Reading { sensor: 1, value: number as u64 })?;
        for (_, reader) in &pairs {
            wait("a sample comes", || Ok(!reader.take(usize::MAX, States::ANY)?.is_empty()))?;
        }
    }
    let grown = Memory::now()?.since(&before.0);
    let open = descriptors()? - before.1;
    let (used, waited) = (cpu()?, Instant::now());
    std::thread::sleep(Duration::from_secs(6));
    let idle = (cpu()? - used) / waited.elapsed().as_secs_f64();
    println!(
        "participants {count}: made in {:.1} ms each, all found all after {:.1} ms, {:.0} KiB and {:.1} descriptors each; at rest {:.3} % of a core each",
        per(made, count) / 1e3,
        found.as_secs_f64() * 1e3,
        grown.kib(count),
        as_f64(open) / as_f64(count),
        idle * 100.0 / as_f64(count),
    );
    Ok(())
}

fn participant(shares_memory: bool) -> Result<DomainParticipant, Error> {
    let factory = DomainParticipantFactory::get_instance();
    let qos = QosKind::Specific(DomainParticipantQos::default());
    let mut config = Config::default();
    config.shared_memory.enabled = shares_memory;
    factory.create_participant_with(0, qos, &config, None, NO_STATUS)
}

fn writer(
    participant: &DomainParticipant,
    name: &str,
    history: History,
) -> Result<DataWriter<Reading>, Error> {
    let topic = participant.create_topic::<Reading>(name, "Reading", QosKind::Default, None, NO_STATUS)?;
    let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS)?;
    let mut qos = DataWriterQos::default();
    qos.endpoint.history = history;
    qos.byte_limit = 64 << 20;
    qos.instance_limit = 200_000;
    publisher.create_datawriter(&topic, QosKind::Specific(qos), None, NO_STATUS)
}

fn reader(participant: &DomainParticipant, name: &str) -> Result<DataReader<Reading>, Error> {
    let topic = match participant.lookup_topicdescription(name) {
        Some(topic) => topic,
        None => participant.create_topic::<Reading>(name, "Reading", QosKind::Default, None, NO_STATUS)?,
    };
    let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
    let mut qos = DataReaderQos::default();
    qos.endpoint.reliability = Reliability::RELIABLE;
    // Instances take their bytes of it, see `DataReaderQos`.
    qos.byte_limit = 256 << 20;
    qos.instance_limit = 200_000;
    subscriber.create_datareader(&topic, QosKind::Specific(qos), None, NO_STATUS)
}

/// Writes a sample and takes it at all readers.
fn send(writer: &DataWriter<Reading>, readers: &[DataReader<Reading>], number: usize) -> Outcome {
    writer.write(&Reading { sensor: 1, value: number as u64 })?;
    for reader in readers {
        wait("a sample comes", || Ok(!reader.take(usize::MAX, States::ANY)?.is_empty()))?;
    }
    Ok(())
}

/// Microseconds for each of so many, after a fifth of them that do not count.
fn per_sample(
    count: usize,
    mut send: impl FnMut(usize) -> Outcome,
) -> Result<f64, Box<dyn std::error::Error>> {
    let count = count.max(200);
    for number in 0..count / 5 {
        send(number)?;
    }
    let begun = Instant::now();
    for number in 0..count {
        send(number)?;
    }
    Ok(per(begun.elapsed(), count))
}

fn wait(what: &str, mut done: impl FnMut() -> Result<bool, Box<dyn std::error::Error>>) -> Outcome {
    let begun = Instant::now();
    while !done()? {
        if begun.elapsed() > PATIENCE {
            return Err(format!("not within a minute: {what}").into());
        }
        std::thread::yield_now();
    }
    Ok(())
}

/// Microseconds for each.
fn per(time: Duration, count: usize) -> f64 {
    time.as_secs_f64() * 1e6 / as_f64(count)
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

/// Resident memory of the process, in KiB.
struct Memory(f64);

impl Memory {
    fn now() -> Result<Self, Box<dyn std::error::Error>> {
        let text = std::fs::read_to_string("/proc/self/status")?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(Self(line.trim().trim_end_matches(" kB").parse()?))
    }

    fn since(&self, before: &Self) -> Self {
        Self(self.0 - before.0)
    }

    fn kib(&self, count: usize) -> f64 {
        self.0 / as_f64(count)
    }
}

/// Open files of the process.
fn descriptors() -> Result<usize, Box<dyn std::error::Error>> {
    Ok(std::fs::read_dir("/proc/self/fd")?.count())
}

/// Seconds of processor time of the process.
fn cpu() -> Result<f64, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let (_, after) = text.rsplit_once(") ").ok_or("no stat")?;
    let mut fields = after.split(' ').skip(11);
    let ticks = |field: Option<&str>| field.ok_or("no ticks")?.parse::<f64>().map_err(|_| "no number");
    Ok((ticks(fields.next())? + ticks(fields.next())?) / 100.0)
}
