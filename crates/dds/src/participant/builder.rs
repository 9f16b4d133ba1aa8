//! Participants, writers and readers made in one line each.
use dcps::Error;
use dcps::qos::DomainParticipantQos;
use dcps::status::StatusMask;
use wire::cdr::DdsType;

use super::DomainParticipant;
use crate::config::{Config, Peer};
use crate::entity::QosKind;
use crate::factory::DomainParticipantFactory;
use crate::publication::WriterBuilder;
use crate::subscription::ReaderBuilder;

impl DomainParticipant {
    /// Makes a participant of a domain, 0 to 232, with the defaults of the [`DomainParticipantFactory`].
    ///
    /// ```no_run
    /// let participant = dds::Participant::new(0)?;
    /// # Ok::<(), dds::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`DomainParticipantFactory::create_participant`].
    pub fn new(domain_id: u32) -> Result<Self, Error> {
        Self::builder(domain_id).create()
    }

    /// Begins a participant of a domain, 0 to 232: its configuration and QoS are those of the factory unless the builder is told others.
    pub fn builder(domain_id: u32) -> ParticipantBuilder {
        let config = DomainParticipantFactory::get_instance().get_default_config();
        ParticipantBuilder { domain_id, config, qos: QosKind::Default }
    }

    /// Begins a writer of the topic of this name. The topic is made if this participant has none of that name and type yet; the writer
    /// belongs to a publisher that all such writers share. To give it another one: [`Publisher::writer`](crate::Publisher::writer).
    pub fn writer<T: DdsType + Send + Sync + 'static>(&self, topic: impl Into<String>) -> WriterBuilder<T> {
        WriterBuilder::of_participant(self.clone(), topic.into())
    }

    /// Begins a reader of the topic of this name. The topic is made if this participant has none of that name and type yet; the reader
    /// belongs to a subscriber that all such readers share. To give it another one: [`Subscriber::reader`](crate::Subscriber::reader).
    pub fn reader<T: DdsType + Send + Sync + 'static>(&self, topic: impl Into<String>) -> ReaderBuilder<T> {
        ReaderBuilder::of_participant(self.clone(), topic.into())
    }
}

/// A participant to be made: see [`DomainParticipant::builder`].
///
/// ```no_run
/// let participant = dds::Participant::builder(7).name("camera").peer("192.0.2.7".parse()?).create()?;
/// # Ok::<(), dds::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is made before `create`"]
pub struct ParticipantBuilder {
    domain_id: u32,
    config: Config,
    qos: QosKind<DomainParticipantQos>,
}

impl ParticipantBuilder {
    /// The configuration. What the other methods have set before is lost.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// The QoS.
    pub fn qos(mut self, qos: DomainParticipantQos) -> Self {
        self.qos = QosKind::Specific(qos);
        self
    }

    /// Its name for people, at most 255 bytes ([`DiscoveryConfig::entity_name`](crate::config::DiscoveryConfig::entity_name)).
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.config.discovery.entity_name = Some(name.into());
        self
    }

    /// One more participant to look for without multicast.
    pub fn peer(mut self, peer: Peer) -> Self {
        self.config.discovery.static_peers.push(peer);
        self
    }

    /// Makes the participant.
    ///
    /// # Errors
    /// As [`DomainParticipantFactory::create_participant_with`].
    pub fn create(self) -> Result<DomainParticipant, Error> {
        let factory = DomainParticipantFactory::get_instance();
        factory.create_participant_with(self.domain_id, self.qos, &self.config, None, StatusMask::NONE)
    }
}
