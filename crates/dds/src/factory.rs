//! The DomainParticipantFactory (DDS 1.4, 2.2.2.2.2).
use std::fs::File;
use std::io::Read;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use dcps::qos::{DomainParticipantQos, EntityFactory};
use dcps::status::StatusMask;
use dcps::{Error, ReturnCode};
use rtps::discovery::DiscoveryConfig;
use wire::GuidPrefix;

use crate::config::{AssuranceConfig, Config, Given};
use crate::driver::Driver;
use crate::entity::QosKind;
use crate::host::{Addresses, Engine, Host};
use crate::lock::lock;
use crate::name::default_name;
use crate::node::{Limits, Node, Start};
use crate::participant::{DomainParticipant, DomainParticipantListener, ParticipantEntity};

/// Makes participants.
///
/// In the words of the standard; [`DomainParticipant::new`] and [`DomainParticipant::builder`] are shorter.
///
/// ```no_run
/// use dds::{DomainParticipantFactory, NO_STATUS, QosKind};
///
/// let factory = DomainParticipantFactory::get_instance();
/// let mut config = factory.get_default_config();
/// config.discovery.domain_tag = "line 2".to_owned();
/// let participant = factory.create_participant_with(0, QosKind::Default, &config, None, NO_STATUS)?;
/// factory.delete_participant(&participant)?;
/// # Ok::<(), dds::Error>(())
/// ```
#[derive(Default)]
pub struct DomainParticipantFactory {
    qos: Mutex<EntityFactory>,
    default_participant_qos: Mutex<DomainParticipantQos>,
    default_config: Mutex<Config>,
    participants: Mutex<Vec<Weak<ParticipantEntity>>>,
}

impl DomainParticipantFactory {
    /// The factory of this process.
    pub fn get_instance() -> &'static Self {
        static INSTANCE: OnceLock<DomainParticipantFactory> = OnceLock::new();
        INSTANCE.get_or_init(Self::default)
    }

    /// Makes a participant of a domain, 0 to 232, with the default configuration. `mask` names the statuses that `listener` is for.
    ///
    /// # Errors
    /// `BadParameter` for a domain without ports; `PreconditionNotMet` if no interface is there to be used, with what to do.
    pub fn create_participant(
        &self,
        domain_id: u32,
        qos: QosKind<DomainParticipantQos>,
        listener: Option<Arc<dyn DomainParticipantListener>>,
        mask: StatusMask,
    ) -> Result<DomainParticipant, Error> {
        self.create_participant_with(domain_id, qos, &self.get_default_config(), listener, mask)
    }

    /// Makes a participant with a configuration of its own.
    ///
    /// # Errors
    /// As [`DomainParticipantFactory::create_participant`]; what [`Config::check`] says.
    pub fn create_participant_with(
        &self,
        domain_id: u32,
        qos: QosKind<DomainParticipantQos>,
        config: &Config,
        listener: Option<Arc<dyn DomainParticipantListener>>,
        mask: StatusMask,
    ) -> Result<DomainParticipant, Error> {
        config.assurance.check_keys()?;
        let (prefix, seed) = random()?;
        let driver = Driver::open(domain_id, config)?;
        let addresses = driver.addresses();
        let mut settings = settings(config, DiscoveryConfig::new(prefix, domain_id, seed));
        for peer in driver.loopback_peers() {
            if !settings.static_peers.contains(peer) {
                settings.static_peers.push(*peer);
            }
        }
        let limits = Limits {
            datagram: config.network.largest_datagram,
            patience: config.assurance.patience,
            credentials: config.assurance.credentials.clone().map(|Given(credentials)| credentials),
            hears_sessions: config.assurance.sessions,
            host_share: config.discovery.announced_share(),
        };
        let host = Arc::clone(&driver) as Arc<dyn Host>;
        let start = move |engine| driver.start(engine);
        self.create(host, Box::new(start), settings, &addresses, limits, qos, listener, mask)
    }

    /// Makes a participant on a host that the caller provides, as a simulation does. The prefix has to be unique, the seed is that
    /// of the random part of announcement periods. The engine is given to `start` when the participant is enabled.
    ///
    /// # Errors
    /// `BadParameter` if the settings make no sense; what [`DomainParticipantQos::check`] says.
    pub fn create_participant_on(
        &self,
        host: Arc<dyn Host>,
        start: impl FnOnce(Arc<dyn Engine>) -> Result<(), Error> + Send + 'static,
        settings: DiscoveryConfig,
        addresses: &Addresses,
        qos: QosKind<DomainParticipantQos>,
    ) -> Result<DomainParticipant, Error> {
        let patience = AssuranceConfig::default().patience;
        let limits = Limits {
            datagram: rtps::Path::MAX_DATAGRAM,
            patience,
            credentials: None,
            hears_sessions: false,
            host_share: Vec::new(),
        };
        self.create(host, Box::new(start), settings, addresses, limits, qos, None, StatusMask::NONE)
    }

    #[expect(clippy::too_many_arguments, reason = "all that a participant is made of, in one place")]
    fn create(
        &self,
        host: Arc<dyn Host>,
        start: Start,
        settings: DiscoveryConfig,
        addresses: &Addresses,
        limits: Limits,
        qos: QosKind<DomainParticipantQos>,
        listener: Option<Arc<dyn DomainParticipantListener>>,
        mask: StatusMask,
    ) -> Result<DomainParticipant, Error> {
        let qos = qos.or_else(|| self.get_default_participant_qos());
        qos.check()?;
        let domain_id = settings.domain_id;
        let settings = DiscoveryConfig { user_data: qos.user_data.clone(), ..settings };
        let node = Node::new(host, start, settings, addresses, limits)?;
        let entity = ParticipantEntity::new(node, domain_id, qos);
        let participant = DomainParticipant::of_entity(entity);
        participant.set_listener(listener, mask);
        if lock(&self.qos).autoenable_created_entities {
            participant.enable()?;
        }
        let mut participants = lock(&self.participants);
        participants.retain(|known| known.strong_count() > 0);
        participants.push(Arc::downgrade(participant.entity()));
        Ok(participant)
    }

    /// A participant of this domain that this factory has made and that is still there.
    pub fn lookup_participant(&self, domain_id: u32) -> Option<DomainParticipant> {
        let participants = lock(&self.participants).clone();
        let mut found = participants.iter().filter_map(DomainParticipant::of);
        found.find(|participant| participant.get_domain_id() == domain_id && !participant.node().is_closed())
    }

    /// Deletes a participant and everything in it; others are told. Handles that are left say so.
    ///
    /// # Errors
    /// `PreconditionNotMet` if this is called from a listener of an entity in it; `AlreadyDeleted`.
    pub fn delete_participant(&self, participant: &DomainParticipant) -> Result<(), Error> {
        participant.node().check_open("delete_participant")?;
        participant.delete()
    }

    /// The QoS that participants get by default.
    pub fn get_default_participant_qos(&self) -> DomainParticipantQos {
        lock(&self.default_participant_qos).clone()
    }

    /// Sets the QoS that participants get by default; [`QosKind::Default`] is the standard's.
    ///
    /// # Errors
    /// The errors of [`DomainParticipantQos::check`].
    pub fn set_default_participant_qos(&self, qos: QosKind<DomainParticipantQos>) -> Result<(), Error> {
        let qos = qos.or_else(DomainParticipantQos::default);
        qos.check()?;
        *lock(&self.default_participant_qos) = qos;
        Ok(())
    }

    /// The configuration that participants get by default.
    pub fn get_default_config(&self) -> Config {
        lock(&self.default_config).clone()
    }

    /// Sets the configuration that participants get by default.
    ///
    /// # Errors
    /// The errors of [`Config::check`].
    pub fn set_default_config(&self, config: Config) -> Result<(), Error> {
        config.check()?;
        *lock(&self.default_config) = config;
        Ok(())
    }

    /// ENTITY_FACTORY of the factory: whether participants are enabled at once.
    pub fn get_qos(&self) -> EntityFactory {
        *lock(&self.qos)
    }

    /// Sets ENTITY_FACTORY of the factory; it counts for participants that are made afterwards.
    pub fn set_qos(&self, qos: EntityFactory) {
        *lock(&self.qos) = qos;
    }
}

/// What discovery takes from a configuration.
fn settings(config: &Config, base: DiscoveryConfig) -> DiscoveryConfig {
    let discovery = &config.discovery;
    DiscoveryConfig {
        domain_tag: discovery.domain_tag.clone(),
        entity_name: Some(discovery.entity_name.clone().unwrap_or_else(default_name))
            .filter(|name| !name.is_empty()),
        announce_period: discovery.announce_period,
        lease_duration: discovery.lease_duration,
        static_peers: config.static_peers(base.domain_id),
        multicast_data: config.network.multicast_data,
        type_lookup: discovery.types,
        ..base
    }
}

/// A GUID prefix and a seed that cannot be guessed: a participant that names the prefix is believed to have heard from us.
fn random() -> Result<(GuidPrefix, u64), Error> {
    let (mut prefix, mut seed) = ([0; 12], [0; 8]);
    let drawn = File::open("/dev/urandom").and_then(|mut source| {
        source.read_exact(&mut prefix)?;
        source.read_exact(&mut seed)
    });
    drawn.map_err(|error| {
        Error::new(
            ReturnCode::Error,
            "create_participant",
            format!("/dev/urandom cannot be read: {error}"),
            "make the device available to the process",
        )
    })?;
    Ok((GuidPrefix(prefix), u64::from_le_bytes(seed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_participant_has_the_name_that_it_was_given_or_says_which_process_it_is() {
        let named = |name: Option<&str>| {
            let mut config = Config::default();
            config.discovery.entity_name = name.map(str::to_owned);
            settings(&config, DiscoveryConfig::new(GuidPrefix([7; 12]), 0, 1)).entity_name
        };
        assert!(named(None).is_some_and(|name| name.contains(&std::process::id().to_string())));
        assert_eq!(named(Some("camera")).as_deref(), Some("camera"));
        assert_eq!(named(Some("")), None);
    }
}
