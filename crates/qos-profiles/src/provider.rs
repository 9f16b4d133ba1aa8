//! Profiles by their names, with what they inherit.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use dcps::qos::{DataReaderQos, DataWriterQos, DomainParticipantQos, PublisherQos, SubscriberQos, TopicQos};
use diagnostics::{Problem, Source};

use crate::entity::Entity;
use crate::fields::{FIELDS, policy_name};
use crate::file::File;
use crate::literal::{quoted, shown};
use crate::profile::{Profile, Said, Section};
use crate::values::Values;

/// The library that is built in: `punctual::continuous`, `punctual::state`, `punctual::alarms`.
pub const LIBRARY: &str = "punctual";
/// Its file.
pub const BUILT_IN: &str = include_str!("../profiles/punctual.xml");
const BUILT_IN_NAME: &str = "punctual.xml (built in)";

/// QoS profiles of a file, and those that are built in. A profile is named as `Library::Profile`.
#[derive(Clone, Debug, Default)]
pub struct QosProvider {
    files: Vec<File>,
    profiles: Vec<Profile>,
    default: Option<usize>,
    notes: Vec<Problem>,
}

/// The policies of an entity, as a profile has them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolved {
    /// Of what.
    pub entity: Entity,
    /// The topic filter in the file; `None` if there is none.
    pub filter: Option<String>,
    /// Where the outermost of its elements is, as `plant.xml:12`.
    pub place: String,
    /// All values that such an entity has.
    pub values: Vec<Explained>,
}

/// A value, and where it comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explained {
    /// Elements of the policy and in it, as `history.depth`.
    pub key: String,
    /// As the standard spells it; durations with their unit.
    pub value: String,
    /// The profile and the place that say so, as `Plant::Base` and `plant.xml:9`; `None` for the default.
    pub origin: Option<(String, String)>,
}

/// The sections of an entity from which its values come, the nearest first, each with the number of its profile.
type Chain<'p> = Vec<(usize, &'p Section)>;

impl QosProvider {
    /// The profiles of a text, which is called `file` in messages, beside those that are built in.
    ///
    /// # Errors
    /// All that is wrong, each with its place and what to do. Nothing of such a text is used.
    pub fn read(file: &str, text: &str) -> Result<Self, Vec<Problem>> {
        let mut provider = Self::built_in_or_problems()?;
        crate::read::read(&mut provider, Source { file, text })?;
        Ok(provider)
    }

    /// The profiles that are built in, alone.
    pub fn built_in() -> Self {
        Self::built_in_or_problems().unwrap_or_default()
    }

    fn built_in_or_problems() -> Result<Self, Vec<Problem>> {
        let mut provider = Self::default();
        crate::read::read(&mut provider, Source { file: BUILT_IN_NAME, text: BUILT_IN })?;
        Ok(provider)
    }

    /// Elements that were read and have no effect here, with their places.
    pub fn notes(&self) -> &[Problem] {
        &self.notes
    }

    /// The profile with `is_default_qos`, if there is one.
    pub fn default_profile(&self) -> Option<String> {
        self.default.and_then(|number| self.profiles.get(number)).map(Profile::full_name)
    }

    /// The names of all profiles of the file, in its order, as `Library::Profile`.
    pub fn profiles(&self) -> impl Iterator<Item = String> + '_ {
        self.profiles.iter().filter(|profile| profile.file > 0).map(Profile::full_name)
    }

    /// QoS of a participant.
    ///
    /// # Errors
    /// There is no such profile, or its policies contradict each other; so for the others below.
    pub fn participant_qos(&self, profile: &str) -> Result<DomainParticipantQos, Problem> {
        self.values(profile, Entity::Participant, "").map(Values::participant)
    }

    /// QoS of a publisher.
    ///
    /// # Errors
    /// As [`QosProvider::participant_qos`].
    pub fn publisher_qos(&self, profile: &str) -> Result<PublisherQos, Problem> {
        self.values(profile, Entity::Publisher, "").map(Values::group)
    }

    /// QoS of a subscriber.
    ///
    /// # Errors
    /// As [`QosProvider::participant_qos`].
    pub fn subscriber_qos(&self, profile: &str) -> Result<SubscriberQos, Problem> {
        self.values(profile, Entity::Subscriber, "").map(Values::group)
    }

    /// QoS of a topic of this name: of the first set of policies whose `topic_filter` fits it, else of the one without a filter.
    ///
    /// # Errors
    /// As [`QosProvider::participant_qos`].
    pub fn topic_qos(&self, profile: &str, topic: &str) -> Result<TopicQos, Problem> {
        self.values(profile, Entity::Topic, topic).map(Values::topic)
    }

    /// QoS of a writer of this topic, chosen as for [`QosProvider::topic_qos`].
    ///
    /// # Errors
    /// As [`QosProvider::participant_qos`].
    pub fn datawriter_qos(&self, profile: &str, topic: &str) -> Result<DataWriterQos, Problem> {
        self.values(profile, Entity::DataWriter, topic).map(Values::datawriter)
    }

    /// QoS of a reader of this topic, chosen as for [`QosProvider::topic_qos`].
    ///
    /// # Errors
    /// As [`QosProvider::participant_qos`].
    pub fn datareader_qos(&self, profile: &str, topic: &str) -> Result<DataReaderQos, Problem> {
        self.values(profile, Entity::DataReader, topic).map(Values::datareader)
    }

    /// True if the profile, or one that it inherits from, says this value, as `writer_data_lifecycle.autodispose_unregistered_instances`.
    ///
    /// # Errors
    /// There is no such profile.
    pub fn is_said(&self, profile: &str, entity: Entity, topic: &str, key: &str) -> Result<bool, Problem> {
        let chain = self.chain(self.find(profile)?, entity, topic);
        let mut said = chain.iter().flat_map(|(_, section)| &section.said);
        Ok(said.any(|said| {
            FIELDS.get(said.field).is_some_and(|field| format!("{}.{}", field.policy, field.name) == key)
        }))
    }

    /// Each set of policies of a profile, with what it inherits, or only those that a topic of this name has.
    ///
    /// # Errors
    /// There is no such profile.
    pub fn explain(&self, profile: &str, topic: Option<&str>) -> Result<Vec<Resolved>, Problem> {
        let number = self.find(profile)?;
        let mut all = Vec::new();
        for entity in Entity::ALL {
            match topic {
                Some(topic) => all.push((entity, self.chain(number, entity, topic))),
                None => all.extend(self.chains(number, entity).into_iter().map(|chain| (entity, chain))),
            }
        }
        let resolved = all.into_iter().filter(|(_, chain)| !chain.is_empty());
        Ok(resolved.map(|(entity, chain)| self.resolved(entity, &chain)).collect())
    }

    /// What the profile says for each filter that it or its bases have: the nearest first.
    fn chains(&self, number: usize, entity: Entity) -> Vec<Chain<'_>> {
        let mut chains: Vec<Chain<'_>> = Vec::new();
        let mut at = Some(number);
        while let Some(number) = at {
            let Some(profile) = self.profiles.get(number) else { break };
            let own = || profile.sections.iter().filter(|section| section.entity == entity);
            for section in own() {
                let is_new = chains
                    .iter()
                    .all(|chain| chain.first().is_none_or(|(_, first)| first.filter != section.filter));
                if is_new {
                    chains.push(self.chain_from(
                        number,
                        section,
                        section.filter.as_deref().unwrap_or_default(),
                    ));
                }
            }
            // What has no filter is for every topic: nothing further up is reached.
            if own().any(|section| section.filter.is_none()) {
                break;
            }
            at = profile.base;
        }
        chains
    }

    fn resolved(&self, entity: Entity, chain: &Chain<'_>) -> Resolved {
        let said = said_by(chain);
        let values = values_of(entity, &said);
        let fields = FIELDS.iter().zip(&said).filter(|(field, _)| field.is_of(entity));
        let explained = fields.map(|(field, said)| Explained {
            key: format!("{}.{}", field.policy, field.name),
            value: shown(&(field.get)(&values)),
            origin: said.map(|(number, said)| (self.full_name(number), self.place(number, said.at))),
        });
        let first = chain.first();
        Resolved {
            entity,
            filter: first.and_then(|(_, section)| section.filter.clone()),
            place: first.map_or_else(String::new, |(number, section)| self.place(*number, section.at)),
            values: explained.collect(),
        }
    }

    /// The values of an entity, if they make sense together.
    fn values(&self, profile: &str, entity: Entity, topic: &str) -> Result<Values, Problem> {
        let number = self.find(profile)?;
        let chain = self.chain(number, entity, topic);
        let said = said_by(&chain);
        let values = values_of(entity, &said);
        match values.clone().check(entity) {
            Ok(()) => Ok(values),
            Err(error) => {
                let file = self.profiles.get(number).map_or(0, |profile| profile.file);
                let start =
                    chain.first().filter(|(of, _)| self.file_of(*of) == file).map(|(_, section)| section.at);
                let start =
                    start.or_else(|| self.profiles.get(number).map(|profile| profile.at)).unwrap_or(0);
                let (at, what, remedy) = self.at_fault(file, start, &said, &error);
                let problem = self.files.get(file).map(|file| file.problem(at, &*what, &*remedy));
                Err(problem.unwrap_or(Problem { file: String::new(), place: None, what, remedy }))
            }
        }
    }

    /// What makes no sense in the profile that was added last.
    pub(crate) fn check_last(&self) -> Vec<(usize, String, String)> {
        let Some((number, profile)) = self.profiles.iter().enumerate().next_back() else { return Vec::new() };
        let mut wrong = Vec::new();
        for section in &profile.sections {
            let chain = self.chain_from(number, section, section.filter.as_deref().unwrap_or_default());
            let said = said_by(&chain);
            if let Err(error) = values_of(section.entity, &said).check(section.entity) {
                wrong.push(self.at_fault(profile.file, section.at, &said, &error));
            }
        }
        wrong
    }

    /// Where in a file a problem is that the policies of an entity have: at the value of the policy that it names, or at the entity.
    fn at_fault(
        &self,
        file: usize,
        start: usize,
        said: &[Option<(usize, &Said)>],
        error: &dcps::Error,
    ) -> (usize, String, String) {
        let of = |wanted: &dyn Fn(&str) -> bool| {
            let fields = FIELDS.iter().zip(said).filter(|(field, _)| wanted(field.policy));
            let here =
                fields.filter_map(|(_, said)| *said).filter(|(number, _)| self.file_of(*number) == file);
            // The last one that was said is what does not fit what was there.
            here.map(|(_, said)| said.at).max()
        };
        let named = of(&|policy| policy_name(policy) == error.place);
        // The limits of the durability service are called RESOURCE_LIMITS.
        let at = named
            .or_else(|| of(&|policy| policy == "durability_service" && error.place == "RESOURCE_LIMITS"));
        let what = format!("{}: {}: {}", error.code.name(), error.place, error.what);
        (at.unwrap_or(start), what, error.advice.to_string())
    }

    /// The sections of an entity for a topic.
    fn chain(&self, number: usize, entity: Entity, topic: &str) -> Chain<'_> {
        let mut chain = Vec::new();
        let mut at = Some(number);
        // Bases are earlier profiles: each step goes to a smaller number.
        while let Some((number, profile)) = at.and_then(|number| Some((number, self.profiles.get(number)?))) {
            let section = chosen(profile, entity, topic);
            chain.extend(section.map(|section| (number, section)));
            at = section.and_then(|section| section.base).or(profile.base);
        }
        chain
    }

    /// The same, from a section of a profile on.
    fn chain_from<'p>(&'p self, number: usize, section: &'p Section, topic: &str) -> Chain<'p> {
        let mut chain = Vec::from([(number, section)]);
        let base = section.base.or_else(|| self.profiles.get(number)?.base);
        if let Some(base) = base {
            chain.extend(self.chain(base, section.entity, topic));
        }
        chain
    }

    fn find(&self, name: &str) -> Result<usize, Problem> {
        let found = name.split_once("::").and_then(|(library, profile)| self.position(library, profile));
        found.ok_or_else(|| {
            let names: Vec<String> = self.names().collect();
            let near = diagnostics::nearest(name, names.iter().map(String::as_str));
            let remedy = match near {
                Some(near) => format!("did you mean {near}?"),
                None => {
                    const SHOWN: usize = 20;
                    let more = if names.len() > SHOWN { ", …" } else { "" };
                    let names: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
                    format!("there are {}{more}", names.join(", "))
                }
            };
            let file = self.files.last().map_or_else(String::new, |file| file.name.clone());
            Problem { file, place: None, what: format!("there is no profile {}", quoted(name)), remedy }
        })
    }

    /// All names, the file's first.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> + '_ {
        let built_in = self.profiles.iter().filter(|profile| profile.file == 0).map(Profile::full_name);
        self.profiles().chain(built_in)
    }

    pub(crate) fn position(&self, library: &str, name: &str) -> Option<usize> {
        self.profiles.iter().position(|profile| profile.library == library && profile.name == name)
    }

    pub(crate) fn depth(&self, number: usize) -> usize {
        self.profiles.get(number).map_or(0, |profile| profile.depth)
    }

    pub(crate) fn profiles_of(&self, file: usize) -> usize {
        self.profiles.iter().filter(|profile| profile.file == file).count()
    }

    pub(crate) fn add_file(&mut self, source: Source<'_>) -> usize {
        self.files.push(File::new(source));
        self.files.len() - 1
    }

    pub(crate) fn add_profile(&mut self, profile: Profile, is_default: bool) {
        if is_default {
            self.default = Some(self.profiles.len());
        }
        self.profiles.push(profile);
    }

    pub(crate) fn add_notes(&mut self, notes: Vec<Problem>) {
        self.notes.extend(notes);
    }

    pub(crate) fn line_of(&self, file: usize, at: usize) -> usize {
        self.files.get(file).map_or(0, |file| file.line(at))
    }

    /// The line where a profile is.
    pub(crate) fn line(&self, number: usize) -> usize {
        self.profiles.get(number).map_or(0, |profile| self.line_of(profile.file, profile.at))
    }

    fn file_of(&self, number: usize) -> usize {
        self.profiles.get(number).map_or(0, |profile| profile.file)
    }

    fn full_name(&self, number: usize) -> String {
        self.profiles.get(number).map_or_else(String::new, Profile::full_name)
    }

    /// A place in the file of a profile.
    fn place(&self, number: usize, at: usize) -> String {
        let file = self.file_of(number);
        let name = self.files.get(file).map_or("", |file| &*file.name);
        format!("{name}:{}", self.line_of(file, at))
    }
}

/// The section of a profile for a topic: the first whose filter fits, else the one without a filter.
fn chosen<'p>(profile: &'p Profile, entity: Entity, topic: &str) -> Option<&'p Section> {
    let own = || profile.sections.iter().filter(|section| section.entity == entity);
    let fits = |section: &&Section| {
        section
            .filter
            .as_deref()
            .is_some_and(|filter| filter == topic || rtps::discovery::matches(filter, topic))
    };
    own().find(fits).or_else(|| own().find(|section| section.filter.is_none()))
}

/// For each field what says it, and in which profile: the nearest of the chain.
fn said_by<'p>(chain: &Chain<'p>) -> Vec<Option<(usize, &'p Said)>> {
    let mut found: Vec<Option<(usize, &Said)>> = FIELDS.iter().map(|_| None).collect();
    for (number, section) in chain {
        for said in &section.said {
            if let Some(place @ None) = found.get_mut(said.field) {
                *place = Some((*number, said));
            }
        }
    }
    found
}

fn values_of(entity: Entity, said: &[Option<(usize, &Said)>]) -> Values {
    let mut values = Values::default_of(entity);
    for (field, said) in FIELDS.iter().zip(said) {
        if let Some((_, said)) = said {
            (field.set)(&mut values, &said.value);
        }
    }
    values
}
