//! Profiles of QoS files on the command line: what a command gives its entities, and `punctual qos`.
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use dds::qos::{DataReaderQos, DataWriterQos, DomainParticipantQos, EntityFactory, GroupQos, TopicQos};
use dds::{DomainParticipant, QosKind, Topic};
use diagnostics::{Problem, Source, printable};
use qos_profiles::{BUILT_IN, Entity, Explained, LONGEST, QosProvider, Resolved};
use serde_json::{Value, json};

use crate::exit::{Failure, Outcome};
use crate::output::print;
use crate::values::{Row, ValueOptions, print_columns};

/// A profile of a QoS file. Options for single policies are laid over it.
#[derive(Args, Clone, PartialEq, Eq, Debug, Default)]
#[command(next_help_heading = "QoS")]
pub struct ProfileOptions {
    /// QoS file in the XML of the OMG: docs/qos.md, "Files".
    #[arg(long, value_name = "FILE")]
    pub qos_file: Option<PathBuf>,
    /// The profile that counts, as Plant::Positions, of the file or built in (punctual::continuous, punctual::state, punctual::alarms). Default:
    /// the one that the file calls its default.
    #[arg(long, value_name = "LIBRARY::PROFILE")]
    pub qos_profile: Option<String>,
}

/// A profile that was asked for.
pub(crate) struct Profile {
    provider: QosProvider,
    name: String,
}

impl ProfileOptions {
    /// The profile, if one was asked for.
    pub(crate) fn load(&self) -> Result<Option<Profile>, Failure> {
        let provider = match (&self.qos_file, &self.qos_profile) {
            (None, None) => return Ok(None),
            (None, Some(_)) => QosProvider::built_in(),
            (Some(path), _) => provider(path)?,
        };
        let Some(name) = self.qos_profile.clone().or_else(|| provider.default_profile()) else {
            let all: Vec<String> = provider.profiles().collect();
            return Err(Failure::Usage(format!(
                "--qos-file: the file has no default profile; give --qos-profile, one of {}",
                printable(&all.join(", "))
            )));
        };
        let profile = Profile { provider, name };
        // That there is such a profile.
        profile.told(profile.provider.participant_qos(&profile.name))?;
        Ok(Some(profile))
    }
}

impl Profile {
    fn told<T>(&self, found: Result<T, Problem>) -> Result<T, Failure> {
        found.map_err(|problem| Failure::Usage(format!("--qos-profile {}: {problem}", printable(&self.name))))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn datawriter(&self, topic: &str) -> Result<DataWriterQos, Failure> {
        self.told(self.provider.datawriter_qos(&self.name, topic))
    }

    pub(crate) fn datareader(&self, topic: &str) -> Result<DataReaderQos, Failure> {
        self.told(self.provider.datareader_qos(&self.name, topic))
    }

    /// QoS of the publisher. Commands enable what they make.
    pub(crate) fn publisher(&self) -> Result<GroupQos, Failure> {
        let found = self.told(self.provider.publisher_qos(&self.name))?;
        Ok(GroupQos { entity_factory: EntityFactory::default(), ..found })
    }

    /// QoS of the subscriber.
    pub(crate) fn subscriber(&self) -> Result<GroupQos, Failure> {
        let found = self.told(self.provider.subscriber_qos(&self.name))?;
        Ok(GroupQos { entity_factory: EntityFactory::default(), ..found })
    }

    /// True if the profile says this value of writers of a topic.
    pub(crate) fn says_of_writer(&self, topic: &str, key: &str) -> Result<bool, Failure> {
        self.told(self.provider.is_said(&self.name, Entity::DataWriter, topic, key))
    }

    /// Gives participant and topic the data that the profile has for them.
    pub(crate) fn announce(&self, participant: &DomainParticipant, topic: &Topic) -> Result<(), Failure> {
        let user_data = self.told(self.provider.participant_qos(&self.name))?.user_data;
        if !user_data.is_empty() {
            let qos = DomainParticipantQos { user_data, ..participant.get_qos() };
            participant.set_qos(QosKind::Specific(qos))?;
        }
        let topic_data = self.told(self.provider.topic_qos(&self.name, topic.get_name()))?.topic_data;
        if !topic_data.is_empty() {
            topic.set_qos(QosKind::Specific(TopicQos { topic_data, ..topic.get_qos() }))?;
        }
        Ok(())
    }
}

/// Command line of `punctual qos`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual qos check plant.xml                      what is wrong with a file, and where\n  \
    punctual qos show plant.xml Plant::Positions      what its entities get, and which line says so\n  \
    punctual qos built-in > plant.xml                 a file to begin with\n\n\
    See docs/qos.md, \"Files\".")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Clone, Debug)]
enum Command {
    /// Says what is wrong with a QoS file, with places. Exit code 1 if something is.
    #[command(
        after_help = "Examples:\n  punctual qos check plant.xml    all that is wrong, and what has no effect here"
    )]
    Check {
        /// QoS file in the XML of the OMG.
        file: PathBuf,
    },
    /// Shows the values that entities get, with the line and the profile that say so.
    Show(Show),
    /// Prints the profiles that are built in, as a QoS file.
    #[command(
        after_help = "Examples:\n  punctual qos built-in > plant.xml    a file to begin with; give the library another name"
    )]
    BuiltIn,
}

#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual qos show plant.xml                                    all profiles of a file\n  \
    punctual qos show plant.xml Plant::Positions --topic arm/pose  what a topic gets\n  \
    punctual qos show plant.xml punctual::state --changed          what is not the default\n\n\
    Without --topic each set of policies is shown, with its topic filter. A wrong file is told with its places; exit code 2.")]
struct Show {
    /// QoS file in the XML of the OMG.
    file: PathBuf,
    /// Profile, as Plant::Positions. Default: all of the file.
    profile: Option<String>,
    #[command(flatten)]
    values: ValueOptions,
}

/// Does it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    match &arguments.command {
        Command::Check { file } => check(file),
        Command::Show(show) => show.run(),
        Command::BuiltIn => {
            print(format_args!("{}", BUILT_IN.trim_end()));
            Ok(Outcome::Done)
        }
    }
}

fn check(path: &Path) -> Result<Outcome, Failure> {
    let (name, text) = text_of(path)?;
    let source = Source { file: &name, text: &text };
    match QosProvider::read(&name, &text) {
        Err(problems) => {
            problems.iter().for_each(|problem| print(format_args!("{}", source.show(problem))));
            Ok(Outcome::BadNews)
        }
        Ok(provider) => {
            provider.notes().iter().for_each(|note| print(format_args!("note: {}", source.show(note))));
            let count = provider.profiles().count();
            let profiles = if count == 1 { "profile" } else { "profiles" };
            print(format_args!("{}: {count} {profiles}, nothing is wrong", printable(&name)));
            Ok(Outcome::Done)
        }
    }
}

impl Show {
    fn run(&self) -> Result<Outcome, Failure> {
        let provider = provider(&self.file)?;
        let profiles =
            self.profile.as_ref().map_or_else(|| provider.profiles().collect(), |name| vec![name.clone()]);
        let mut all = Vec::new();
        for name in profiles {
            let explained = provider.explain(&name, self.values.topic.as_deref());
            let mut sets = explained.map_err(|problem| Failure::Usage(problem.to_string()))?;
            if self.values.changed {
                sets.iter_mut().for_each(|set| set.values.retain(|value| value.origin.is_some()));
            }
            if self.values.json {
                all.extend(sets.iter().map(|set| as_json(&name, set)));
            } else {
                print(format_args!("{}", printable(&name)));
                sets.iter().for_each(show);
            }
        }
        if self.values.json {
            print(format_args!("{}", Value::Array(all)));
        }
        Ok(Outcome::Done)
    }
}

/// A set of policies for people.
fn show(set: &Resolved) {
    let topics = set.filter.as_ref().map_or_else(String::new, |filter| format!(", topics {filter:?}"));
    print(format_args!("  {}{topics}  {}", set.entity, printable(&set.place)));
    let row = |value: &Explained| {
        let origin = value.origin.as_ref();
        let origin =
            origin.map_or_else(|| "default".to_owned(), |(profile, place)| format!("{place}  {profile}"));
        Row { key: value.key.clone(), value: printable(&value.value), origin: printable(&origin) }
    };
    print_columns("    ", &set.values.iter().map(row).collect::<Vec<_>>());
}

fn as_json(profile: &str, set: &Resolved) -> Value {
    let values = set.values.iter().map(|value| {
        let (profile, place) = value.origin.clone().unzip();
        json!({ "key": value.key, "value": value.value, "profile": profile, "place": place })
    });
    json!({
        "profile": profile,
        "entity": set.entity.to_string(),
        "topic_filter": set.filter,
        "place": set.place,
        "values": values.collect::<Vec<_>>(),
    })
}

/// The name of a file in messages, and its text.
fn text_of(path: &Path) -> Result<(String, String), Failure> {
    let name = path.display().to_string();
    let unreadable = |error: std::io::Error| Failure::Usage(format!("{}: {error}", printable(&name)));
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    // One byte more than is read says that there are more.
    file.take(LONGEST as u64 + 1).read_to_string(&mut text).map_err(unreadable)?;
    Ok((name, text))
}

/// The profiles of a file, or all that is wrong with it.
fn provider(path: &Path) -> Result<QosProvider, Failure> {
    let (name, text) = text_of(path)?;
    QosProvider::read(&name, &text).map_err(|problems| {
        let source = Source { file: &name, text: &text };
        let all: Vec<String> = problems.iter().map(|problem| source.show(problem)).collect();
        Failure::Usage(all.join("\n"))
    })
}
