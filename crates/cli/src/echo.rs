//! `punctual echo`: shows the samples of a topic.
mod show;

use clap::Args;
use dcps::reader::{DropReason, Request};
use dds::qos::{DataReaderQos, SubscriberQos};
use dds::{DomainParticipant, Duration, NO_STATUS, QosKind, RawDataReader, States, StatusMask, WaitSet};
use wire::discovery::EndpointData;

use self::show::Shower;
use crate::adapt::{self, Adapted};
use crate::assure::{Told, Wanted};
use crate::domain::DomainOptions;
use crate::exit::{Failure, Outcome};
use crate::explain;
use crate::format::FormatOption;
use crate::output::progress;
use crate::profile::Profile;
use crate::qos::QosOptions;
use crate::span;
use crate::stop::Stop;
use crate::types::{self, Form, TypeOptions};
use crate::unmatched::{LOOK, Unmatched};

/// Command line of `punctual echo`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual echo Square                       the type is that of the topic's writers, which tell it\n  \
    punctual echo Readings --type 'struct Reading { @key uint32 sensor; double celsius; };'\n  \
    punctual echo Poses --idl pose.idl --type robot::Pose --count 10 --info\n  \
    punctual echo Readings --within 3ms        within 3 ms, as a resource manager promises\n  \
    punctual echo Poses --format text          one member a line, and a line --- after each sample\n  \
    punctual echo Readings --filter 'celsius > 90'   those that pass a filter\n  \
    punctual echo Poses --qos-file plant.xml --qos-profile Plant::Positions   as a program with this profile\n  \
    punctual echo Anything --hex               bytes of any topic\n\n\
    One sample a line, as JSON, which other programs read best. `punctual pub` reads what this writes, in either format. The reader asks for as much as the topic's writers offer (RELIABILITY, DURABILITY, OWNERSHIP) and for their\n\
    partitions, so that it gets what there is; the options below ask for something else. With --qos-file or --qos-profile it asks for what the profile says. Without a writer it waits for one. What did not\n\
    arrive is counted at the end.")]
pub(crate) struct Arguments {
    /// Topic.
    topic: String,
    /// Ends after this many samples.
    #[arg(short = 'n', short_alias = 'c', long, value_name = "SAMPLES")]
    count: Option<u64>,
    /// Ends after this time; with fewer samples than --count, or without a writer, that is bad news (exit code 1).
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    timeout: Option<Duration>,
    /// Says of each sample when and by whom it was written.
    #[arg(long)]
    info: bool,
    #[command(flatten)]
    format: FormatOption,
    /// Only samples for which this filter expression of DDS is true, such as `celsius > 90 AND sensor <> 7`; writers of Punctual, and of
    /// others that know such filters, do not send the rest.
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<String>,
    /// TIME_BASED_FILTER: at most one sample of an instance in this time.
    #[arg(long, value_name = "TIME", value_parser = span::parse, help_heading = "QoS")]
    separation: Option<Duration>,
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    types: TypeOptions,
    #[command(flatten)]
    qos: QosOptions,
    #[command(flatten)]
    domain: DomainOptions,
}

/// Shows them.
pub(crate) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    let asked = arguments.types.form()?;
    let profile = arguments.qos.profile.load()?;
    let (qos, _) = reader_qos(arguments, &Adapted::to(&[]), profile.as_ref())?;
    qos.check().map_err(|error| Failure::Usage(error.to_string()))?;
    let start = std::time::Instant::now();
    let participant = arguments.domain.join("punctual echo")?;
    let needs_writer = match &asked {
        None => true,
        Some(Form::Octets { .. }) => arguments.types.type_name.is_none(),
        Some(Form::Described(..)) => false,
    };
    let writers = writers(arguments, &participant, needs_writer, stop)?;
    let adapted = Adapted::to(&writers);
    let told = match &asked {
        None => types::told(&participant, &writers)?,
        Some(_) => None,
    };
    let Some((form, type_name)) = form(arguments, asked.or(told), &adapted) else {
        if stop.requested() {
            return Ok(Outcome::Done);
        }
        eprintln!("no writer of {:?} came in {}", arguments.topic, arguments.timeout.unwrap_or_default());
        return Ok(Outcome::BadNews);
    };
    let topic = form.topic(&participant, &arguments.topic, &type_name)?;
    let (qos, group) = reader_qos(arguments, &adapted, profile.as_ref())?;
    if let Some(profile) = &profile {
        profile.announce(&participant, &topic)?;
    }
    let subscriber = participant.create_subscriber(QosKind::Specific(group), None, NO_STATUS)?;
    let qos = QosKind::Specific(qos);
    let reader = match &arguments.filter {
        None => subscriber.create_raw_datareader(&topic, form.support(), qos, None, NO_STATUS)?,
        Some(expression) => {
            let name = format!("{} filtered", arguments.topic);
            let filtered = participant.create_contentfilteredtopic(&name, &topic, expression, [""; 0])?;
            subscriber.create_raw_datareader(&filtered, form.support(), qos, None, NO_STATUS)?
        }
    };
    let mut shower = Shower::new(form, arguments.format.format, arguments.info);
    let shown = listen(arguments, &participant, &reader, &mut shower, stop, start)?;
    progress("");
    for reason in DropReason::ALL {
        let dropped = reader.dropped(reason).count;
        if dropped > 0 {
            eprintln!("{dropped} more not shown: {reason}");
        }
    }
    let late = reader.get_bound_exceeded_status();
    if let Some(last) = late.last {
        eprintln!(
            "{} samples were later than promised; the last one took {:.3}, {} were promised{}{}",
            late.total.count,
            last.latency,
            last.bound,
            if last.waited_for_contract > Duration::ZERO {
                ", and it had to wait for its contract"
            } else {
                ""
            },
            if last.repaired { ", and it, or one before it, was repeated" } else { "" },
        );
    }
    let enough = arguments.count.is_none_or(|count| shown >= count);
    Ok(if enough || stop.requested() { Outcome::Done } else { Outcome::BadNews })
}

/// How long it looks for writers before it says that it waits, and reads with defaults if the type is known without a writer.
const LOOK_FOR_WRITERS: Duration = Duration::from_secs(2);

/// The writers of the topic, as soon as there are some. None if the time is over or the command is to end; without `needs_writer` also
/// if none came in a moment.
fn writers(
    arguments: &Arguments,
    participant: &DomainParticipant,
    needs_writer: bool,
    stop: &Stop,
) -> Result<Vec<EndpointData>, Failure> {
    let found = |participant: &DomainParticipant| -> Vec<EndpointData> {
        let endpoints = participant.get_discovered_endpoints();
        let writers = endpoints
            .iter()
            .filter(|data| data.guid.entity_id.is_writer() && data.topic_name == arguments.topic);
        writers.map(|data| (**data).clone()).collect()
    };
    progress(&format!("looking for writers of {:?}", arguments.topic));
    let start = std::time::Instant::now();
    let passed = || Duration::from_nanos(i64::try_from(start.elapsed().as_nanos()).unwrap_or(i64::MAX));
    let timeout = arguments.timeout.unwrap_or(Duration::INFINITE);
    let mut has_spoken = false;
    // In slices, because Ctrl-C is no discovery.
    const SLICE: Duration = Duration::from_millis(100);
    while passed() < timeout && !stop.requested() {
        if participant.wait_for_discovery(SLICE, |participant| !found(participant).is_empty())? {
            break;
        }
        if passed() >= LOOK_FOR_WRITERS && !has_spoken {
            has_spoken = true;
            progress("");
            eprintln!(
                "no writer of {:?} is there yet: waiting for one; `punctual why {}` says what may be in the way",
                arguments.topic, arguments.topic
            );
            if !needs_writer {
                break;
            }
        }
    }
    progress("");
    Ok(found(participant))
}

/// How samples are shown, and the name of their type; `None` if that would be a writer's, and there is none.
fn form(arguments: &Arguments, asked: Option<Form>, adapted: &Adapted) -> Option<(Form, String)> {
    let named = arguments.types.type_name.clone().or_else(|| adapted.type_name.clone());
    let octets = Form::Octets { keyed: adapted.keyed };
    match (asked, named) {
        (Some(Form::Octets { .. }), named) => named.map(|name| (octets, name)),
        // The IDL need not have the modules that the domain's name has.
        (Some(form), named) => {
            let own = form.name().unwrap_or_default().to_owned();
            let name = arguments
                .types
                .type_name
                .clone()
                .or_else(|| named.filter(|name| same_last(name, &own)))
                .unwrap_or(own);
            Some((form, name))
        }
        (None, Some(name)) => match Form::known(&name) {
            Some(form) => Some((form, name)),
            None => {
                eprintln!(
                    "the type {name:?} is not known here, and its writers do not tell it: bytes are shown. --type 'struct … {{ … }};' or --idl FILE describes it"
                );
                Some((octets, name))
            }
        },
        (None, None) => None,
    }
}

fn same_last(one: &str, other: &str) -> bool {
    one.rsplit("::").next() == other.rsplit("::").next()
}

fn reader_qos(
    arguments: &Arguments,
    adapted: &Adapted,
    profile: Option<&Profile>,
) -> Result<(DataReaderQos, SubscriberQos), Failure> {
    let (mut qos, group) = adapt::reader(&arguments.topic, profile, adapted, &arguments.qos)?;
    if profile.is_none() {
        // A type that is described on the command line need not have the right names of members.
        qos.endpoint.type_consistency.ignore_member_names = true;
    }
    qos.assurance = arguments.wanted.qos();
    qos.endpoint.time_based_filter = arguments.separation.unwrap_or(qos.endpoint.time_based_filter);
    Ok((qos, group))
}

/// Shows samples until it is enough, and says how many it was.
fn listen(
    arguments: &Arguments,
    participant: &DomainParticipant,
    reader: &RawDataReader,
    shower: &mut Shower,
    stop: &Stop,
    start: std::time::Instant,
) -> Result<u64, Failure> {
    let waits = WaitSet::new();
    let assurance = reader.get_statuscondition();
    assurance.set_enabled_statuses(StatusMask::ASSURANCE_CHANGED);
    waits.attach_condition(assurance.into())?;
    waits.attach_condition(reader.create_readcondition(States::NOT_READ).into())?;
    waits.attach_condition(stop.condition())?;
    let mut samples = Vec::new();
    let mut told = Told::default();
    let mut shown = 0;
    let (mut unmatched, mut unreadable) = (Unmatched::default(), false);
    loop {
        let most = arguments.count.map_or(u64::MAX, |count| count - shown);
        let request = Request { max: usize::try_from(most).unwrap_or(usize::MAX), ..Request::TAKE };
        reader.access_serialized(&request, &mut samples)?;
        for sample in samples.drain(..) {
            shower.show(&sample);
            shown += 1;
            reader.recycle([sample]);
        }
        if reader.get_assurance_changed_status().total.change > 0 {
            let news = told.news(participant, &arguments.topic, &reader.assurance());
            news.iter().for_each(|line| eprintln!("{line}"));
        }
        unmatched.tell(participant, &arguments.topic);
        if !unreadable && reader.dropped(DropReason::Malformed).count > 0 {
            unreadable = true;
            eprintln!("punctual: samples come that cannot be read as this type. {}", explain::UNREADABLE);
        }
        let left = match arguments.timeout {
            Some(timeout) => {
                let passed = i64::try_from(start.elapsed().as_nanos()).unwrap_or(i64::MAX);
                Duration::from_nanos(timeout.as_nanos().saturating_sub(passed))
            }
            None => Duration::INFINITE,
        };
        if stop.requested() || arguments.count == Some(shown) || left <= Duration::ZERO {
            return Ok(shown);
        }
        // Whether something came or time is up is seen above.
        let _ = waits.wait(left.min(LOOK));
    }
}
