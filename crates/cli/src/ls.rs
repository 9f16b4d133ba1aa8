//! `punctual ls`: who is in a domain, and what is written and read.
mod json;
mod text;

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use dds::{DomainParticipant, Duration};
use wire::discovery::{EndpointData, ParticipantData};

use crate::describe::{People, Person};
use crate::domain::DomainOptions;
use crate::exit::{Failure, Outcome};
use crate::output::{print, progress};
use crate::span;
use crate::stop::Stop;

/// Command line of `punctual ls`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual ls                        domain 0, everything\n  \
    punctual ls Square                 one topic\n  \
    punctual ls --json | jq '.topics'  for programs\n  \
    punctual ls --duration 35s         programs of other vendors may announce themselves every 30 s only\n\n\
    Of QoS, RELIABILITY and DURABILITY are shown, and what is not the standard's default.")]
pub(crate) struct Arguments {
    /// Shows this topic alone.
    topic: Option<String>,
    /// How long it listens.
    #[arg(long, default_value = "3s", value_name = "TIME", value_parser = span::parse)]
    duration: Duration,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    domain: DomainOptions,
}

/// What a domain consists of.
pub(crate) struct Census {
    domain: u32,
    time: Duration,
    participants: Vec<Arc<ParticipantData>>,
    people: People,
    /// Writers and readers by topic, writers first.
    topics: BTreeMap<String, Vec<Arc<EndpointData>>>,
}

impl Census {
    /// Everything but the participant that looks.
    pub(crate) fn of(participant: &DomainParticipant, topic: Option<&str>, time: Duration) -> Self {
        let mut participants: Vec<_> =
            participant.get_discovered_participants().into_iter().map(|found| found.data).collect();
        participants.sort_by_key(|data| data.prefix);
        let own = participant.prefix();
        let mut topics: BTreeMap<String, Vec<Arc<EndpointData>>> = BTreeMap::new();
        for data in participant.get_discovered_endpoints() {
            if data.participant != own && topic.is_none_or(|topic| topic == data.topic_name) {
                topics.entry(data.topic_name.clone()).or_default().push(data);
            }
        }
        for endpoints in topics.values_mut() {
            endpoints.sort_by_key(|data| (data.guid.entity_id.is_reader(), data.guid));
        }
        let people = People::new(participants.iter().map(|data| Person::of(data)));
        Self { domain: participant.get_domain_id(), time, participants, people, topics }
    }
}

/// Listens for a while, and prints what was found.
pub(crate) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    let participant = arguments.domain.join("punctual ls")?;
    progress(&format!("listening for {}", arguments.duration));
    let start = std::time::Instant::now();
    let time = if stop.wait(arguments.duration)? { span::since(start) } else { arguments.duration };
    progress("");
    let census = Census::of(&participant, arguments.topic.as_deref(), time);
    if arguments.json {
        print(format_args!("{}", json::json(&census)));
    } else {
        text::lines(&census).iter().for_each(|line| print(format_args!("{line}")));
    }
    let empty = arguments
        .topic
        .as_ref()
        .map_or(census.participants.is_empty(), |topic| !census.topics.contains_key(topic));
    Ok(if empty { Outcome::BadNews } else { Outcome::Done })
}
