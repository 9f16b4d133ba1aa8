//! `punctual pub`: writes samples that are given as text.
mod lines;

use clap::Args;
use dcps::writer::InstanceOf;
use dds::cdr::Encoding;
use dds::qos::{DataRepresentation, DataWriterQos, Durability, History, OfferedAssurance, PublisherQos};
use dds::{
    Bytes, DomainParticipant, Duration, NO_STATUS, QosKind, RawDataWriter, ReturnCode, StatusMask, WaitSet,
    WriteOptions,
};
use dynamic::Sample;
use wire::discovery::EndpointData;

use self::lines::Lines;
use crate::assure;
use crate::domain::DomainOptions;
use crate::exit::{Failure, Outcome};
use crate::format::{Format, FormatOption, Samples};
use crate::hex;
use crate::measure::pace::per_second;
use crate::output::{print, progress};
use crate::profile::Profile;
use crate::qos::QosOptions;
use crate::span;
use crate::stop::Stop;
use crate::types::{self, Form, TypeOptions};
use crate::unmatched::{LOOK, Unmatched};

/// Command line of `punctual pub`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual pub Readings '{sensor: 7, celsius: 21.5}' --type 'struct Reading { @key uint32 sensor; double celsius; };'\n  \
    punctual pub Square '{color: RED, x: 10, y: 20, shapesize: 30}' --type ShapeType --rate 10 --count 0\n  \
    punctual pub Readings '{sensor: 7, celsius: 21.5}'       the type is that of the topic's readers, which tell it\n  \
    punctual pub Poses --idl pose.idl --type robot::Pose < poses.jsonl      one sample a line from standard input\n  \
    punctual echo Poses --format text | punctual pub Copies --idl pose.idl --format text     one member a line, samples end at a line ---\n  \
    punctual pub Readings '{sensor: 7}' --type Reading --dispose            the sensor exists no more\n  \
    punctual pub Readings '{sensor: 7}' --type Reading --rate 100 --assure separation=9ms,size=64\n  \
    punctual pub Modes '{sensor: 7}' --type Reading --qos-profile punctual::state --stay   a profile that is built in, or of --qos-file\n  \
    punctual pub Raw 00010000efbeadde --hex --type-name Word                bytes as they are\n\n\
    Samples are JSON, or what people type: {sensor: 7, celsius: 21.5}; a line of its own for each member does without commas. Members that are left out have their initial value.\n\
    Without a reader it waits for one, as long as --timeout says; `punctual why TOPIC` says why none comes.\n\
    A wrong sample of standard input is told and passed over; the exit code is 1 then.\n\
    Without --rate all samples are kept until readers have them (HISTORY KEEP_ALL), with --rate or --durability the last of each instance;\n\
    --history says otherwise. With --qos-file or --qos-profile the profile says it.")]
pub(crate) struct Arguments {
    /// Topic.
    topic: String,
    /// Samples, each written in its turn; without any, standard input is read.
    samples: Vec<String>,
    #[command(flatten)]
    format: FormatOption,
    /// How often the samples are written; 0 for ever. Default: once, or for ever with --rate.
    #[arg(short = 'n', short_alias = 'c', long, value_name = "TIMES")]
    count: Option<u64>,
    /// Samples a second, as 10, 0.5 or 20k; default as fast as they come.
    #[arg(short, long, value_name = "RATE", value_parser = parse_rate)]
    rate: Option<f64>,
    /// Waits for this many matched readers before it writes.
    #[arg(short, long, default_value_t = 1, value_name = "COUNT")]
    wait_for: u32,
    /// Gives up if readers, or at the end acknowledgments, take longer than this.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = span::parse)]
    timeout: Duration,
    /// Stays after the last sample, until Ctrl-C, so that late readers get what --durability transient-local keeps.
    #[arg(long)]
    stay: bool,
    /// Disposes the instances of the samples in place of writing them.
    #[arg(long, conflicts_with = "hex")]
    dispose: bool,
    /// ASSURANCE: how often and how large it writes, so that readers can be assured of their latency, as
    /// separation=5ms,size=48060,importance=3; also most=TIME, jitter=TIME, emission=TIME, slack=TIME. Size counts the four bytes of the
    /// encapsulation header.
    #[arg(long, value_name = "PROMISE", value_parser = assure::parse, help_heading = "QoS")]
    assure: Option<OfferedAssurance>,
    /// OWNERSHIP_STRENGTH.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, help_heading = "QoS")]
    strength: Option<i32>,
    /// LIFESPAN: how long samples are worth something.
    #[arg(long, value_name = "TIME", value_parser = span::parse, help_heading = "QoS")]
    lifespan: Option<Duration>,
    #[command(flatten)]
    types: TypeOptions,
    #[command(flatten)]
    qos: QosOptions,
    #[command(flatten)]
    domain: DomainOptions,
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = per_second(text).filter(|rate| *rate > 0.0 && *rate <= 1e6);
    rate.ok_or_else(|| format!("{text:?} is no rate; give samples per second, above 0 and at most 1000000"))
}

const SLICE: Duration = Duration::from_millis(100);

/// How samples are written, and the name of their type: what was asked for, or what the readers and writers of the topic tell.
fn form(
    arguments: &Arguments,
    asked: Option<Form>,
    participant: &DomainParticipant,
    stop: &Stop,
) -> Result<Option<(Form, String)>, Failure> {
    if let Some(form) = asked {
        return Ok(arguments.types.announced_name(&form).map(|name| (form, name)));
    }
    let found = |participant: &DomainParticipant| -> Vec<EndpointData> {
        let endpoints = participant.get_discovered_endpoints();
        let endpoints = endpoints.iter().filter(|data| data.topic_name == arguments.topic);
        endpoints.map(|data| (**data).clone()).collect()
    };
    progress(&format!("looking for the type of {:?}", arguments.topic));
    let start = std::time::Instant::now();
    let passed = || Duration::from_nanos(i64::try_from(start.elapsed().as_nanos()).unwrap_or(i64::MAX));
    let tells = |participant: &DomainParticipant| {
        found(participant).iter().any(|data| data.type_information.is_some())
    };
    // In slices, because Ctrl-C is no discovery.
    while passed() < arguments.timeout && !stop.requested() {
        if participant.wait_for_discovery(SLICE, tells)? {
            break;
        }
    }
    let endpoints = found(participant);
    let told = types::told(participant, &endpoints)?;
    progress("");
    let name = endpoints.first().map(|data| data.type_name.clone());
    let name = arguments.types.type_name.clone().or(name);
    Ok(told.or_else(|| Form::known(name.as_deref()?)).and_then(|form| {
        let name = name.or_else(|| form.name().map(str::to_owned))?;
        Some((form, name))
    }))
}

fn unknown_type(topic: &str) -> Failure {
    Failure::Usage(format!(
        "pub: which type? No participant tells that of {topic:?}. Give --type 'struct Name {{ … }};', --idl FILE, --type with a known name (ShapeType, Reading), or --hex"
    ))
}

/// Writes them.
pub(crate) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    let asked = arguments.types.form()?;
    if matches!(asked, Some(Form::Octets { .. })) && arguments.types.type_name.is_none() {
        return Err(Failure::Usage("pub --hex: give the name of the type by --type-name".to_owned()));
    }
    let profile = arguments.qos.profile.load()?;
    let qos = writer_qos(arguments, profile.as_ref())?;
    let encoding = if qos.endpoint.representation.first() == Some(&DataRepresentation::XCDR2) {
        Encoding::XCDR2
    } else {
        Encoding::XCDR1
    };
    qos.check().map_err(|error| Failure::Usage(error.to_string()))?;
    let serialized = |form: &Form| -> Result<Vec<Vec<u8>>, Failure> {
        arguments.samples.iter().map(|text| sample(form, text, encoding)).collect()
    };
    // Mistakes in samples are told before anything is opened, if the type is known.
    let samples = asked.as_ref().map(serialized).transpose()?;
    let participant = arguments.domain.join("punctual pub")?;
    let Some((form, type_name)) = form(arguments, asked, &participant, stop)? else {
        return if stop.requested() { Ok(Outcome::Done) } else { Err(unknown_type(&arguments.topic)) };
    };
    let samples = samples.map_or_else(|| serialized(&form), Ok)?;
    let topic = form.topic(&participant, &arguments.topic, &type_name)?;
    let mut group = match &profile {
        Some(profile) => profile.publisher()?,
        None => PublisherQos::default(),
    };
    if !arguments.qos.partitions.is_empty() {
        group.partition.clone_from(&arguments.qos.partitions);
    }
    if let Some(profile) = &profile {
        profile.announce(&participant, &topic)?;
    }
    let publisher = participant.create_publisher(QosKind::Specific(group), None, NO_STATUS)?;
    let writer =
        publisher.create_raw_datawriter(&topic, form.support(), QosKind::Specific(qos), None, NO_STATUS)?;
    if !wait_for_readers(arguments, &participant, &writer, stop)? {
        tell_assurance(&participant, &arguments.topic, &writer);
        return Ok(if stop.requested() { Outcome::Done } else { Outcome::BadNews });
    }
    tell_assurance(&participant, &arguments.topic, &writer);
    let mut wrong_samples = 0_u64;
    let mut pace = Pace { rate: arguments.rate, start: std::time::Instant::now(), written: 0 };
    if samples.is_empty() {
        let lines = Lines::of_stdin(stop)?;
        let mut texts = Samples::new(arguments.format.format);
        loop {
            let line = lines.next(stop)?;
            let is_end = line.is_none();
            let text = match line {
                Some(line) => texts.line(line),
                None => texts.end(),
            };
            // A sample that Ctrl-C has cut off is none.
            if stop.requested() {
                break;
            }
            if let Some((number, text)) = text {
                match serialize(&form, &text, encoding) {
                    Ok(bytes) => {
                        write(arguments, &writer, &bytes, stop)?;
                        pace.next(stop)?;
                    }
                    Err(wrong) => {
                        wrong_samples += 1;
                        eprintln!("{}", wrong.told(number, arguments.format.format));
                    }
                }
            }
            if is_end {
                break;
            }
        }
    } else {
        let times = arguments.count.unwrap_or(if arguments.rate.is_some() { 0 } else { 1 });
        let mut time = 0;
        while !stop.requested() && (times == 0 || time < times) {
            for sample in &samples {
                write(arguments, &writer, sample, stop)?;
                if pace.next(stop)? {
                    break;
                }
            }
            time += 1;
        }
    }
    if arguments.stay {
        progress("written; Ctrl-C ends it");
        stop.wait(Duration::INFINITE)?;
        progress("");
        return Ok(Outcome::Done);
    }
    if writer.get_publication_matched_status().total.count == 0 {
        eprintln!(
            "punctual: no reader of {:?} was there: nothing of this was received; --wait-for 1 waits for one",
            arguments.topic
        );
    }
    let outcome = finish(arguments, &writer)?;
    Ok(if wrong_samples > 0 { Outcome::BadNews } else { outcome })
}

fn writer_qos(arguments: &Arguments, profile: Option<&Profile>) -> Result<DataWriterQos, Failure> {
    let mut qos = match profile {
        Some(profile) => profile.datawriter(&arguments.topic)?,
        None => DataWriterQos::default(),
    };
    arguments.qos.apply(&mut qos.endpoint);
    // Samples that are written as fast as they come would take each other's place before they are sent. At a rate the newest counts, and
    // late readers get the last of each instance, as by default.
    let keeps_last = arguments.rate.is_some() || qos.endpoint.durability != Durability::Volatile;
    if profile.is_none() && arguments.qos.history.is_none() && !keeps_last {
        qos.endpoint.history = History::KeepAll;
    }
    // That the command ends says nothing about what the samples are about: --dispose does, or a profile.
    const AUTODISPOSE: &str = "writer_data_lifecycle.autodispose_unregistered_instances";
    let is_said = match profile {
        Some(profile) => profile.says_of_writer(&arguments.topic, AUTODISPOSE)?,
        None => false,
    };
    if !is_said {
        qos.writer_data_lifecycle.autodispose_unregistered_instances = false;
    }
    qos.endpoint.ownership_strength = arguments.strength.unwrap_or(qos.endpoint.ownership_strength);
    qos.assurance = arguments.assure;
    qos.endpoint.lifespan = arguments.lifespan.unwrap_or(qos.endpoint.lifespan);
    Ok(qos)
}

/// A sample of the command line.
fn sample(form: &Form, text: &str, encoding: Encoding) -> Result<Vec<u8>, Failure> {
    serialize(form, text, encoding).map_err(|wrong| {
        let place =
            wrong.place.map(|(line, column)| format!("line {line}, column {column}: ")).unwrap_or_default();
        Failure::Usage(format!("sample {text:?}: {place}{}", wrong.message))
    })
}

/// Why a text is no sample.
struct Wrong {
    /// Line and column in the text.
    place: Option<(u32, u32)>,
    message: String,
}

impl Wrong {
    fn anywhere(error: &impl ToString) -> Self {
        Self { place: None, message: error.to_string() }
    }

    /// As it is told of a sample of standard input that begins in the line `first`.
    fn told(&self, first: u64, format: Format) -> String {
        let (line, column) = self.place.unwrap_or((1, 0));
        let line = first + u64::from(line.saturating_sub(1));
        let column = if column > 0 { format!(", column {column}") } else { String::new() };
        let what = if format == Format::Text { "sample" } else { "line" };
        format!("punctual: standard input, line {line}{column}: {}; the {what} is not written", self.message)
    }
}

fn serialize(form: &Form, text: &str, encoding: Encoding) -> Result<Vec<u8>, Wrong> {
    let mut bytes = Vec::new();
    match form {
        Form::Octets { .. } => {
            bytes = hex::parse(text).map_err(|error| Wrong::anywhere(&error))?;
            if bytes.len() < 4 {
                return Err(Wrong::anywhere(
                    &"give at least the four bytes of the encapsulation header, as 00010000",
                ));
            }
        }
        Form::Described(schema, index) => {
            let sample = Sample::read(schema, *index, text)
                .map_err(|error| Wrong { place: Some((error.line, error.column)), message: error.message })?;
            sample.encode(encoding, &mut bytes).map_err(|error| Wrong::anywhere(&error))?;
        }
    }
    Ok(bytes)
}

/// Writes a sample; where a full history waits for readers, as long as --timeout says, or until Ctrl-C.
fn write(arguments: &Arguments, writer: &RawDataWriter, bytes: &[u8], stop: &Stop) -> Result<(), Failure> {
    let begun = std::time::Instant::now();
    let patience = std::time::Duration::from(arguments.timeout);
    loop {
        let written = if arguments.dispose {
            writer.dispose_of(InstanceOf::Sample(bytes), None)
        } else {
            writer.write_serialized(&Bytes::from(bytes.to_vec()), &WriteOptions::default())
        };
        match written {
            Err(error) if error.code == ReturnCode::Timeout && begun.elapsed() < patience => {
                if stop.requested() {
                    return Ok(());
                }
            }
            written => return Ok(written.map(drop)?),
        }
    }
}

/// Says what has become of each reader that asks for a latency.
fn tell_assurance(participant: &DomainParticipant, topic: &str, writer: &RawDataWriter) {
    let news = assure::Told::default().news(participant, topic, &writer.assurance());
    news.iter().for_each(|line| eprintln!("{line}"));
}

/// False if they do not come.
fn wait_for_readers(
    arguments: &Arguments,
    participant: &DomainParticipant,
    writer: &RawDataWriter,
    stop: &Stop,
) -> Result<bool, Failure> {
    let mut unmatched = Unmatched::default();
    let waits = WaitSet::new();
    let matched = writer.get_statuscondition();
    matched.set_enabled_statuses(StatusMask::PUBLICATION_MATCHED);
    waits.attach_condition(matched.into())?;
    waits.attach_condition(stop.condition())?;
    let start = std::time::Instant::now();
    loop {
        let found = writer.get_publication_matched_status().current.count;
        unmatched.tell(participant, &arguments.topic);
        if found >= arguments.wait_for || stop.requested() {
            progress("");
            if found > 0 {
                // Until they know the writer, too; what has gone meanwhile is told below.
                let _ = writer.wait_for_readers(1, Duration::ZERO);
            }
            return Ok(!stop.requested());
        }
        let passed = i64::try_from(start.elapsed().as_nanos()).unwrap_or(i64::MAX);
        let left = if arguments.timeout.is_infinite() {
            Duration::INFINITE
        } else {
            Duration::from_nanos(arguments.timeout.as_nanos().saturating_sub(passed))
        };
        if left <= Duration::ZERO {
            progress("");
            print(format_args!(
                "{found} of {} readers of {:?} came in {}; nothing was written. `punctual why {}` says why; --wait-for 0 writes without readers",
                arguments.wait_for, arguments.topic, arguments.timeout, arguments.topic,
            ));
            return Ok(false);
        }
        progress(&format!("{found} of {} readers of {:?}", arguments.wait_for, arguments.topic));
        // Whether something happened or time is up is seen above.
        let _ = waits.wait(left.min(LOOK));
    }
}

/// Waits until all is acknowledged.
fn finish(arguments: &Arguments, writer: &RawDataWriter) -> Result<Outcome, Failure> {
    match writer.wait_for_acknowledgments(arguments.timeout) {
        Ok(()) => Ok(Outcome::Done),
        Err(error) if error.code == ReturnCode::Timeout => {
            print(format_args!(
                "not every reader has acknowledged everything in {}; `punctual why {}` may say more",
                arguments.timeout, arguments.topic
            ));
            Ok(Outcome::BadNews)
        }
        Err(error) => Err(error.into()),
    }
}

/// Keeps to a rate.
struct Pace {
    rate: Option<f64>,
    start: std::time::Instant,
    written: u64,
}

impl Pace {
    /// Waits until the next sample is due; true if the command is to end.
    fn next(&mut self, stop: &Stop) -> Result<bool, Failure> {
        self.written += 1;
        let Some(rate) = self.rate else { return Ok(stop.requested()) };
        // From the start on, so that no error adds up.
        let due = self.start + std::time::Duration::from_secs_f64(self.written as f64 / rate);
        let left = due.saturating_duration_since(std::time::Instant::now());
        stop.wait(Duration::from_nanos(i64::try_from(left.as_nanos()).unwrap_or(i64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    /// The history of `punctual pub` with these options.
    fn history(options: &[&str]) -> History {
        let line = ["pub", "Topic", "{}"].iter().chain(options);
        let command = Command::try_parse_from(line).unwrap_or_else(|error| panic!("{error}"));
        writer_qos(&command.arguments, None).unwrap_or_default().endpoint.history
    }

    #[test]
    fn what_is_written_as_fast_as_it_comes_takes_no_place_of_another() {
        assert_eq!(history(&["--count", "2"]), History::KeepAll);
        assert_eq!(history(&["--count", "2", "--history", "3"]), History::KeepLast(3));
        assert_eq!(history(&["--rate", "10"]), History::KeepLast(1));
        assert_eq!(history(&["--durability", "transient-local"]), History::KeepLast(1));
        assert_eq!(history(&["--durability", "volatile"]), History::KeepAll);
    }
}
