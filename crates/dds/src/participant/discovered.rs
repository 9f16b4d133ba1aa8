//! What a participant knows of its domain.
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use dcps::{Error, InstanceHandle, ReturnCode};
use rtps::discovery::{Ignore, Mismatch, Rejection};
use wire::discovery::{EndpointData, ParticipantData};
use wire::{Duration, Guid, GuidPrefix};
use xtypes::{Library, ObjectId};

use super::DomainParticipant;
use crate::builtin::topic_handle;
use crate::condition::{StatusCondition, WaitSet};
use crate::entity::StatusSource;
use crate::host::Host;
use crate::lock::lock;
use crate::node::Node;
use crate::node::watch::Watch;

/// Another participant.
#[derive(Clone, Debug)]
pub struct DiscoveredParticipant {
    /// Its announcement.
    pub data: Arc<ParticipantData>,
    /// Addresses at which it has answered, or has spoken from if it answers no probes of discovery. What it announces besides is its word alone.
    pub addresses: Vec<IpAddr>,
}

/// A local endpoint and another of the same topic that do not match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotMatched {
    /// The local endpoint.
    pub local: Arc<EndpointData>,
    /// The other.
    pub remote: Arc<EndpointData>,
    /// Every reason against it, one or more.
    pub reasons: Vec<Mismatch>,
}

/// A type that a participant has told.
#[derive(Clone, Debug)]
pub struct FoundType {
    /// Its type object.
    pub id: ObjectId,
    /// That, those that it needs, and others.
    pub objects: Library,
}

/// How often is looked for the answer to a question.
const LOOK: Duration = Duration::from_millis(20);

/// A topic to be ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IgnoredTopic<'a> {
    /// The topic of this name.
    Name(&'a str),
    /// The topic of this instance of "DCPSTopic".
    Handle(InstanceHandle),
}

impl<'a> From<&'a str> for IgnoredTopic<'a> {
    fn from(name: &'a str) -> Self {
        Self::Name(name)
    }
}

impl From<InstanceHandle> for IgnoredTopic<'_> {
    fn from(handle: InstanceHandle) -> Self {
        Self::Handle(handle)
    }
}

impl DomainParticipant {
    /// Ignores a participant for good, as if nothing of it were there: its writers and readers are unmatched and never match again. It is
    /// not told of that; a reliable writer of it goes on to wait for acknowledgements, until its own limits. To ignore this participant
    /// itself parts its writers from its readers. It is named by its prefix, or by its handle or that of an entity of it.
    ///
    /// # Errors
    /// `AlreadyDeleted`.
    pub fn ignore_participant(&self, participant: impl Into<GuidPrefix>) -> Result<(), Error> {
        self.ignore("ignore_participant", Ignore::Participant(participant.into()))
    }

    /// As [`DomainParticipant::ignore_participant`], for one writer.
    ///
    /// # Errors
    /// `AlreadyDeleted`.
    pub fn ignore_publication(&self, writer: InstanceHandle) -> Result<(), Error> {
        self.ignore("ignore_publication", Ignore::Endpoint(Guid::from_bytes(writer.to_bytes())))
    }

    /// As [`DomainParticipant::ignore_participant`], for one reader.
    ///
    /// # Errors
    /// `AlreadyDeleted`.
    pub fn ignore_subscription(&self, reader: InstanceHandle) -> Result<(), Error> {
        self.ignore("ignore_subscription", Ignore::Endpoint(Guid::from_bytes(reader.to_bytes())))
    }

    /// As [`DomainParticipant::ignore_participant`], for all writers and readers of other participants with a topic of this name. The
    /// standard ignores a topic of one type here; types are compared by name when endpoints are matched.
    ///
    /// # Errors
    /// `AlreadyDeleted`; `BadParameter` for a handle that no known endpoint's topic has.
    pub fn ignore_topic<'a>(&self, topic: impl Into<IgnoredTopic<'a>>) -> Result<(), Error> {
        let name = match topic.into() {
            IgnoredTopic::Name(name) => name.to_owned(),
            IgnoredTopic::Handle(handle) => self.name_of_topic(handle)?,
        };
        self.ignore("ignore_topic", Ignore::Topic(name))
    }

    fn name_of_topic(&self, handle: InstanceHandle) -> Result<String, Error> {
        self.node().check_process("ignore_topic")?;
        let discovery = self.node().lock_discovery();
        let found = discovery.endpoints().find(|data| topic_handle(data) == Some(handle));
        found.map(|data| data.topic_name.clone()).ok_or_else(|| {
            Error::new(
                ReturnCode::BadParameter,
                "ignore_topic",
                format!("no topic {handle:?}"),
                "use the instance handle of a sample of DCPSTopic, or the topic's name",
            )
        })
    }

    fn ignore(&self, operation: &'static str, what: Ignore) -> Result<(), Error> {
        let node = self.node();
        node.check_open(operation)?;
        node.command(|work| {
            node.lock_discovery().ignore(node.host().now(), what);
            work.discovery = true;
        });
        Ok(())
    }

    /// The participants that were found, without this one and those that are ignored.
    pub fn get_discovered_participants(&self) -> Vec<DiscoveredParticipant> {
        let discovery = self.node().lock_discovery();
        discovery
            .participants()
            .filter(|found| !discovery.is_participant_ignored(found.data().prefix))
            .map(|found| DiscoveredParticipant {
                data: Arc::clone(found.data()),
                addresses: found.addresses().collect(),
            })
            .collect()
    }

    /// The participants that announced themselves and have not proved yet that they hear us, each with the address that it was heard
    /// from. Most of them are found within a moment; one that stays here does not get what we send to it.
    pub fn get_unvalidated_participants(&self) -> Vec<(SocketAddr, ParticipantData)> {
        let discovery = self.node().lock_discovery();
        let known = |prefix| discovery.participant(prefix).is_some();
        let strangers = discovery.strangers().filter(|(_, data)| !known(data.prefix));
        strangers.map(|(from, data)| (from, data.clone())).collect()
    }

    /// Where its own writers and readers are reached by unicast, as it announces that.
    pub fn get_unicast_locators(&self) -> Vec<wire::Locator> {
        self.node().lock_discovery().config().default_unicast.clone()
    }

    /// All writers and readers that are known and not ignored, those of this participant too.
    pub fn get_discovered_endpoints(&self) -> Vec<Arc<EndpointData>> {
        let discovery = self.node().lock_discovery();
        discovery.endpoints().filter(|data| !discovery.is_ignored(data)).cloned().collect()
    }

    /// Endpoints that a local one is matched with.
    pub fn get_matched(&self, local: InstanceHandle) -> Vec<InstanceHandle> {
        let guid = Guid::from_bytes(local.to_bytes());
        let discovery = self.node().lock_discovery();
        discovery.matches(guid.entity_id).map(InstanceHandle::from).collect()
    }

    /// Every endpoint of ours and every other one of the same topic that do not match, with the reasons.
    pub fn get_not_matched(&self) -> Vec<NotMatched> {
        let discovery = self.node().lock_discovery();
        let mut found = Vec::new();
        for (local, remote, reasons) in discovery.mismatches() {
            if let Some(local) = discovery.endpoint(Guid::new(discovery.prefix(), local)) {
                found.push(NotMatched { local: Arc::clone(local), remote: Arc::clone(remote), reasons });
            }
        }
        found
    }

    /// The type that an endpoint announces, asked of its participant if it is not known; `None` if it announces none, or if no participant tells it
    /// in time.
    ///
    /// # Errors
    /// As [`DomainParticipant::wait_for_discovery`].
    pub fn find_type(&self, endpoint: &EndpointData, max_wait: Duration) -> Result<Option<FoundType>, Error> {
        let node = self.node();
        let Some(types) = node.types() else { return Ok(None) };
        let now = node.host().now().monotonic;
        let asked = node.command(|work| {
            work.discovery = true;
            lock(types).ask(now, endpoint, endpoint.participant)
        });
        let Some(id) = asked else { return Ok(None) };
        let is_settled = || {
            let directory = lock(types);
            directory.is_known(id) || !directory.is_asked(id)
        };
        // Not everything that is heard wakes who waits for discovery.
        let end = now.after(max_wait);
        while !is_settled() && node.host().now().monotonic < end {
            self.wait_for_discovery(LOOK, |_| is_settled())?;
        }
        let directory = lock(types);
        if !directory.is_known(id) {
            return Ok(None);
        }
        Ok(Some(FoundType { id, objects: directory.objects().clone() }))
    }

    /// What was received and not believed, with counts; reasons that did not occur are left out.
    pub fn get_rejections(&self) -> Vec<(Rejection, u64)> {
        let forged = self.node().forged();
        let discovery = self.node().lock_discovery();
        let counted = Rejection::ALL.map(|reason| match reason {
            // Endpoints see to that without discovery.
            Rejection::UserSource => (reason, forged),
            _ => (reason, discovery.rejected(reason)),
        });
        counted.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// Waits until something is found or lost for which `is_enough` is true, which is asked at once as well; false if it did not
    /// come in time.
    ///
    /// # Errors
    /// `PreconditionNotMet` in a process that was forked from the participant's.
    pub fn wait_for_discovery(
        &self,
        max_wait: impl Into<Duration>,
        is_enough: impl FnMut(&Self) -> bool,
    ) -> Result<bool, Error> {
        let mut is_enough = is_enough;
        let waits = WaitSet::new();
        waits.attach_condition(StatusCondition::new(Arc::new(Found(Arc::clone(self.node())))).into())?;
        waits.wait_until_true(max_wait.into(), || is_enough(self))
    }
}

/// Discovery's news as a source of wake-ups.
struct Found(Arc<Node>);

impl StatusSource for Found {
    fn status_changes(&self) -> dcps::status::StatusMask {
        dcps::status::StatusMask::NONE
    }

    fn watch(&self) -> &Arc<Watch> {
        &self.0.found
    }

    fn host(&self) -> Option<Arc<dyn Host>> {
        Some(self.0.shared_host())
    }
}
