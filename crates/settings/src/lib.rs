//! Participants and QoS without compiling anew: from a TOML file and from environment variables.
//!
//! Four layers lie over each other: the defaults of the library, the file, the environment, the program. Each says what it says, and nothing of
//! a file or variable that is wrong somewhere is used. What can be said: `docs/config-reference.md`.
//!
//! ```no_run
//! use dds::prelude::*;
//! use settings::Settings;
//!
//! #[derive(DdsType, Debug)]
//! struct Reading {
//!     celsius: f64,
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The file that the variable PUNCTUAL_CONFIG names, if there is one, and variables such as PUNCTUAL_INTERFACES.
//! let mut settings = Settings::load()?;
//! // What the program says comes last.
//! settings.config.discovery.entity_name = Some("thermometer".to_owned());
//! let participant = settings.participant()?;
//! let reader = participant.reader::<Reading>("Readings").qos(settings.reader_qos("Readings")).create()?;
//! # drop(reader);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod environment;
mod explain;
mod file;
mod hosts;
mod problem;
mod profiles;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dds::config::Config;
use dds::qos::{DataReaderQos, DataWriterQos};
use dds::{DomainParticipant, Participant};

pub use environment::{CONFIG, variables};
pub use explain::Explained;
#[cfg(feature = "schema")]
pub use file::schema;
pub use hosts::Resolve;
pub use problem::{Origin, Problem};
pub use profiles::qos_provider;
pub use qos_profiles::QosProvider;

use self::file::{File, Rule};

/// The settings of a program, which it may change before it makes its participant.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The domain: 0 to 232, default 0.
    pub domain: u32,
    /// The rest about participants.
    pub config: Config,
    rules: Vec<Rule>,
    /// All that was said, by its path in a file, as `participant.network.multicast`.
    origins: BTreeMap<String, Origin>,
}

/// The sources of settings. [`Settings::load`] takes all of them from the process.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// A file: what it is called in messages, and its text.
    pub file: Option<(String, String)>,
    /// Environment variables; those that do not concern Punctual are passed over.
    pub variables: Vec<(String, String)>,
}

impl Settings {
    /// From the file that the environment variable `PUNCTUAL_CONFIG` names, if there is one, and from the other variables of the process.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn load() -> Result<Self, Problem> {
        let path = std::env::var_os(CONFIG).filter(|path| !path.is_empty()).map(PathBuf::from);
        Self::load_file(path.as_deref())
    }

    /// As [`Settings::load`], with this file, or none, in place of the one that `PUNCTUAL_CONFIG` names.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn load_file(path: Option<&Path>) -> Result<Self, Problem> {
        let file = path.map(|path| {
            let text = std::fs::read_to_string(path);
            text.map(|text| (path.display().to_string(), text))
                .map_err(|error| Problem::unreadable(path, &error))
        });
        // What is no text is no setting.
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let sources = Sources { file: file.transpose()?, variables: variables.collect() };
        let settings = Self::of(&sources, &mut hosts::resolve)?;
        #[cfg(feature = "keys")]
        let settings = settings.with_keys()?;
        Ok(settings)
    }

    /// With the key that `participant.assurance.keys` and `participant.assurance.user` name, if they do.
    ///
    /// # Errors
    /// One is given without the other, or the key cannot be used: why, and what to do.
    #[cfg(feature = "keys")]
    pub fn with_keys(mut self) -> Result<Self, Problem> {
        let assurance = &mut self.config.assurance;
        let place = |key: &str| explain::origin(&self.origins, &format!("participant.assurance.{key}"));
        let wrong = |key: &str, what: String| Err(Problem { origin: place(key), what });
        match (&assurance.keys, &assurance.user) {
            (None, None) => {}
            (Some(folder), Some(user)) => {
                match credentials::KeyFolder::load(Path::new(folder), &format!("user-{user}")) {
                    Ok(keys) => assurance.credentials = Some(dds::config::Given(std::sync::Arc::new(keys))),
                    Err(problem) => return wrong("keys", problem.to_string()),
                }
            }
            (Some(_), None) => {
                return wrong("keys", "keys need assurance.user, the user whose key is meant".to_owned());
            }
            (None, Some(_)) => {
                return wrong("user", "a user needs assurance.keys, the folder with its key".to_owned());
            }
        }
        Ok(self)
    }

    /// From these sources; `resolve` gives the addresses of hosts that are named as peers.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn of(sources: &Sources, resolve: Resolve<'_>) -> Result<Self, Problem> {
        let mut origins = BTreeMap::new();
        let mut table = match &sources.file {
            Some((name, text)) => file::read(name, text, &mut origins)?,
            None => toml::Table::new(),
        };
        environment::lay_over(&sources.variables, &mut table, &mut origins)?;
        let File { domain, interfaces, peers, participant: mut config, topics } =
            file::typed(table).map_err(|what| Problem { origin: Origin::Default, what })?;
        if let Some(interfaces) = interfaces {
            config.network.interfaces = hosts::interfaces(&interfaces);
        }
        for (number, peer) in peers.into_iter().flatten().enumerate() {
            let found = hosts::peers(&peer, config.network.family, resolve);
            let found = found.map_err(|what| {
                // A variable has one place for all.
                let each = origins.get(&format!("peers.{number}"));
                let origin = each.cloned().unwrap_or_else(|| explain::origin(&origins, "peers"));
                Problem { origin, what }
            })?;
            config.discovery.static_peers.extend(found);
        }
        let settings = Self { domain: domain.unwrap_or(0), config, rules: topics, origins };
        settings.check()?;
        Ok(settings)
    }

    /// What the library would refuse is refused here, where its place is known.
    fn check(&self) -> Result<(), Problem> {
        let refused = |error: &dds::Error, keys: &[&str]| {
            let origins = keys.iter().map(|key| explain::origin(&self.origins, key));
            let origin = origins.into_iter().find(|origin| *origin != Origin::Default);
            Problem { origin: origin.unwrap_or(Origin::Default), what: error.to_string() }
        };
        if self.domain > 232 {
            let origin = explain::origin(&self.origins, "domain");
            return Err(Problem { origin, what: format!("the domain {} is not in 0 to 232", self.domain) });
        }
        self.config.check().map_err(|error| {
            let place = explain::named(&self.origins, error.place);
            refused(&error, &[&place, if error.place == "interfaces" { "interfaces" } else { "peers" }])
        })?;
        for (number, rule) in self.rules.iter().enumerate() {
            let (writer, reader) = (self.writer_qos(&rule.name), self.reader_qos(&rule.name));
            let checked = writer.check().and_then(|()| reader.check());
            checked.map_err(|error| refused(&error, &[&format!("topics.{number}")]))?;
        }
        Ok(())
    }

    /// A participant of the domain.
    ///
    /// # Errors
    /// As [`dds::ParticipantBuilder::create`].
    pub fn participant(&self) -> Result<DomainParticipant, dds::Error> {
        Participant::builder(self.domain).config(self.config.clone()).create()
    }

    /// The rules that are for a topic, with their numbers, in the order of the file: a later one is laid over those before it.
    fn rules(&self, topic: &str) -> impl Iterator<Item = (usize, &Rule)> {
        let topic = topic.to_owned();
        self.rules
            .iter()
            .enumerate()
            .filter(move |(_, rule)| rule.name == topic || rtps::discovery::matches(&rule.name, &topic))
    }

    /// QoS of writers of a topic.
    pub fn writer_qos(&self, topic: &str) -> DataWriterQos {
        let mut qos = DataWriterQos::default();
        for (_, rule) in self.rules(topic) {
            qos.endpoint = rule.writer.clone().over(rule.qos.clone().over(qos.endpoint));
            qos.byte_limit = rule.byte_limit.unwrap_or(qos.byte_limit);
            qos.instance_limit = rule.instance_limit.unwrap_or(qos.instance_limit);
            qos.session_flow_controller =
                rule.session_flow_controller.map(Into::into).or(qos.session_flow_controller);
        }
        qos
    }

    /// QoS of readers of a topic.
    pub fn reader_qos(&self, topic: &str) -> DataReaderQos {
        let mut qos = DataReaderQos::default();
        for (_, rule) in self.rules(topic) {
            qos.endpoint = rule.reader.clone().over(rule.qos.clone().over(qos.endpoint));
            qos.byte_limit = rule.byte_limit.unwrap_or(qos.byte_limit);
            qos.instance_limit = rule.instance_limit.unwrap_or(qos.instance_limit);
        }
        qos
    }

    /// Each value of the participant, and where it comes from.
    pub fn explain(&self) -> Vec<Explained> {
        explain::participant(self)
    }

    /// Each value of the QoS of a topic's writers and readers, and where it comes from.
    pub fn explain_topic(&self, topic: &str) -> Vec<Explained> {
        explain::topic(self, topic)
    }
}
