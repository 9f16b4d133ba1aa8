//! `punctual why`: watches a domain for a while, and says what is wrong.
mod admission;
mod neighbours;
mod probe;

use std::collections::BTreeSet;
use std::time::Instant;

use clap::Args;
use dds::config::Config;
use dds::{DomainParticipant, Duration};
use wire::discovery::EndpointData;
use xtypes::Library;

use self::neighbours::Neighbours;
use self::probe::Probe;
use crate::colour::{self, Tone};
use crate::describe::counted;
use crate::domain::DomainOptions;
use crate::exit::{Failure, Outcome};
use crate::explain::{self, Finding, Scene};
use crate::output::{print, progress};
use crate::qos::QosOptions;
use crate::span;
use crate::stop::Stop;
use crate::types::TypeOptions;

/// Command line of `punctual why`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual why                       everything that does not match, in domain 0\n  \
    punctual why Square                why does nobody get anything of this topic?\n  \
    punctual why Square --reliability reliable --max-samples 10      what would a reader get that asks for this?\n  \
    punctual why --json | jq '.findings[] | select(.problem)'        for programs\n  \
    punctual why --duration 35s        programs of other vendors may announce themselves every 30 s only\n\n\
    A line that begins with ! keeps data from somebody (exit code 1), one with - is worth knowing; the line below says what to do.\n\
    With a topic it reads that topic too, and says what did not get through: lost, rejected, expired, filtered.")]
pub(crate) struct Arguments {
    /// The topic; without one, all of them.
    topic: Option<String>,
    /// How long it watches.
    #[arg(long, default_value = "5s", value_name = "TIME", value_parser = span::parse)]
    duration: Duration,
    /// Says what the host gave and did not give: interfaces, ports, buffers.
    #[arg(long)]
    host: bool,
    /// Prints JSON, with what the host gave.
    #[arg(long)]
    json: bool,
    /// TIME_BASED_FILTER of the reader.
    #[arg(long, value_name = "TIME", value_parser = span::parse, help_heading = "QoS")]
    separation: Option<Duration>,
    #[command(flatten)]
    types: TypeOptions,
    #[command(flatten)]
    qos: QosOptions,
    #[command(flatten)]
    domain: DomainOptions,
}

/// How often it looks at what has come.
const SLICE: Duration = Duration::from_millis(50);
/// Who announced itself and has not answered for this long does not hear us.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(1_500);

/// Most types that participants are asked for, and how long each of them.
const MOST_TYPES: usize = 32;
const ASK: Duration = Duration::from_millis(1_500);

/// What the participants of the topic that was asked about, or of all topics, tell of their types, where those of a topic differ.
fn types(participant: &DomainParticipant, scene: &Scene, stop: &Stop) -> Result<Library, Failure> {
    let mut found = Library::default();
    let differs = |data: &EndpointData| {
        let others = scene.endpoints.iter().filter(|other| other.topic_name == data.topic_name);
        others
            .clone()
            .any(|other| other.type_information.is_some() && other.type_information != data.type_information)
    };
    let asked = scene.endpoints.iter().filter(|data| scene.is_asked(&data.topic_name));
    let mut seen = BTreeSet::new();
    for data in asked.filter(|data| data.type_information.is_some() && differs(data)) {
        if stop.requested() || seen.len() >= MOST_TYPES {
            break;
        }
        if !seen.insert(data.type_information.clone()) {
            continue;
        }
        if let Some(told) = participant.find_type(data, ASK)? {
            found = told.objects;
        }
    }
    Ok(found)
}

/// Watches, and explains.
pub(crate) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    let config = arguments.domain.config()?;
    let asked = arguments.types.form()?;
    let profile = arguments.qos.profile.load()?;
    let participant = match arguments.domain.join("punctual why") {
        Ok(participant) => participant,
        Err(Failure::Dds(error)) => return Ok(arguments.tell(None, &[explain::cannot_join(&error)])),
        Err(failure) => return Err(failure),
    };
    let described = asked.as_ref().and_then(crate::types::Form::described);
    let described = described.and_then(|described| described.information().minimal_hash().copied());
    let mut watched = Watched {
        probe: arguments.topic.as_deref().map(|topic| Probe::new(topic, asked, profile, arguments)),
        neighbours: Neighbours::listen(&config, arguments.domain.domain, &arguments.domain.domain_tag),
        early: Vec::new(),
        admission: None,
    };
    let time = watched.watch(arguments, &participant, stop)?;
    let mut scene = Scene::of(&participant, &arguments.domain.domain_tag, arguments.topic.as_deref(), time);
    scene.strangers.retain(|(_, person)| watched.early.contains(&person.prefix));
    scene.described = described;
    scene.types = types(&participant, &scene, stop)?;
    scene.received = watched.probe.as_ref().and_then(Probe::received);
    scene.admission = watched.admission.as_ref().map(admission::Watch::seen).transpose()?.unwrap_or_default();
    scene.neighbours = watched.neighbours.found(&scene, arguments, &config, stop)?;
    progress("");
    if !arguments.json {
        arguments.tell_seen(&scene);
    }
    Ok(arguments.tell(Some(&scene), &explain::explain(&scene)))
}

impl Arguments {
    /// Tells what was seen.
    fn tell_seen(&self, scene: &Scene) {
        explain::summary(scene).iter().for_each(|line| print(format_args!("{line}")));
        if let Some(received) = &scene.received {
            print(format_args!(
                "{} came in {} to a reader here{}",
                counted(usize::try_from(received.samples).unwrap_or(usize::MAX), "sample"),
                scene.time,
                received.by_which_way()
            ));
        }
        if self.host {
            scene.host.iter().for_each(|line| print(format_args!("host: {line}")));
        }
    }

    /// What is wrong; without a scene the domain could not be joined.
    fn tell(&self, scene: Option<&Scene>, findings: &[Finding]) -> Outcome {
        if self.json {
            print(format_args!("{}", explain::json(scene, findings)));
        } else if let Some(scene) = scene.filter(|_| findings.is_empty()) {
            print(format_args!(
                "{}: {}, {}, heard in {}",
                colour::out(Tone::Good, "nothing is wrong that can be seen here"),
                counted(scene.people.iter().count(), "participant"),
                counted(scene.endpoints.len(), "endpoint"),
                scene.time
            ));
        } else {
            for finding in findings {
                let tone = if finding.problem { Tone::Bad } else { Tone::Note };
                let text = finding.to_string();
                let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
                print(format_args!("{}\n{rest}", colour::out(tone, first)));
            }
        }
        if findings.iter().any(|finding| finding.problem) { Outcome::BadNews } else { Outcome::Done }
    }
}

/// What is looked at while time passes.
struct Watched {
    probe: Option<Probe>,
    neighbours: Neighbours,
    /// Who was a stranger when there was still time to answer.
    early: Vec<dds::GuidPrefix>,
    /// What is asked of resource managers, once a reader asks.
    admission: Option<admission::Watch>,
}

impl Watched {
    /// Watches as long as it shall, or until the command is to end; how long that was.
    fn watch(
        &mut self,
        arguments: &Arguments,
        participant: &DomainParticipant,
        stop: &Stop,
    ) -> Result<Duration, Failure> {
        let start = Instant::now();
        let end = std::time::Duration::from_nanos(u64::try_from(arguments.duration.as_nanos()).unwrap_or(0));
        let mut looked = false;
        while start.elapsed() < end && !stop.wait(SLICE)? {
            self.neighbours.collect();
            if self.admission.is_none() {
                self.admission = admission::Watch::begin(participant)?;
            }
            if let Some(probe) = &mut self.probe {
                probe.look(participant)?;
            }
            if !looked && start.elapsed() + PATIENCE >= end {
                looked = true;
                self.early =
                    participant.get_unvalidated_participants().iter().map(|(_, data)| data.prefix).collect();
            }
            progress(&format!(
                "watching, {} of {} s: {} participants, {} endpoints",
                start.elapsed().as_secs(),
                end.as_secs(),
                participant.get_discovered_participants().len(),
                participant.get_discovered_endpoints().len()
            ));
        }
        Ok(if stop.requested() { span::since(start) } else { arguments.duration })
    }
}

/// QoS of the reader that looks at a topic, and the configuration of a participant that looks into another domain.
impl Arguments {
    pub(super) fn reader_options(&self) -> (&QosOptions, Option<Duration>, &TypeOptions) {
        (&self.qos, self.separation, &self.types)
    }

    /// Domain and tag are another's, everything else is as it was asked for.
    pub(super) fn elsewhere(&self, config: &Config, tag: &str) -> Config {
        let mut config = config.clone();
        tag.clone_into(&mut config.discovery.domain_tag);
        config.discovery.participant_id = dds::config::ParticipantId::FirstFree;
        config.discovery.entity_name = Some("punctual why".to_owned());
        config
    }
}
