//! Topics (DDS 1.4, 2.2.2.3.2).
use std::any::TypeId;
use std::sync::{Arc, Mutex, Weak};

use dcps::qos::TopicQos;
use dcps::status::{InconsistentTopic, StatusMask};
use dcps::{Error, ReturnCode};
use rtps::discovery::Mismatch;
use wire::GuidPrefix;
use wire::discovery::EndpointData;

use crate::condition::StatusCondition;
use crate::entity::{Listening, QosKind, StatusSource};
use crate::host::Host;
use crate::lock::lock;
use crate::node::watch::{Callback, Watch};
use crate::node::{Node, Subject};
use crate::participant::{DomainParticipant, ParticipantEntity};
use crate::types::{Announced, TypeOf};

/// Called when a status of a topic changes.
///
/// ```
/// # use dds::prelude::*;
/// use dds::status::InconsistentTopic;
/// use dds::{Topic, TopicListener};
///
/// struct Warn;
///
/// impl TopicListener for Warn {
///     fn on_inconsistent_topic(&self, topic: &Topic, status: InconsistentTopic) {
///         eprintln!("{}: {} participants have another type", topic.get_name(), status.total.count);
///     }
/// }
/// ```
pub trait TopicListener: Send + Sync {
    /// A participant has a topic of this name with another type: of another name, or with other members.
    fn on_inconsistent_topic(&self, topic: &Topic, status: InconsistentTopic) {
        let _ = (topic, status);
    }
}

/// A name that samples of one type are written and read under. Clones are the same topic; it lives until it is deleted, or until
/// the last handle of its participant and of everything in it is gone.
///
/// ```
/// # use dds::prelude::*;
/// # #[derive(DdsType, Clone, Debug, Default)]
/// # struct Reading { #[dds(key)] sensor: u32, celsius: f64 }
/// # fn example(participant: &Participant) -> Result<(), dds::Error> {
/// use dds::{NO_STATUS, QosKind};
///
/// let topic = participant.create_topic::<Reading>("Readings", "Reading", QosKind::Default, None, NO_STATUS)?;
/// assert_eq!((topic.get_name(), topic.get_type_name()), ("Readings", "Reading"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Topic {
    entity: Arc<TopicEntity>,
    participant: DomainParticipant,
}

/// A topic as its participant keeps it.
pub(crate) struct TopicEntity {
    node: Arc<Node>,
    participant: Weak<ParticipantEntity>,
    name: String,
    type_name: String,
    /// The Rust type; `None` if samples are bytes.
    type_id: Option<TypeId>,
    max_serialized_size: Option<u32>,
    announced: Arc<Announced>,
    machine: Mutex<dcps::Topic>,
    listening: Listening<dyn TopicListener>,
    watch: Arc<Watch>,
}

/// What a topic carries.
#[derive(Clone)]
pub(crate) struct Carries {
    pub(crate) type_id: Option<TypeId>,
    pub(crate) max_serialized_size: Option<u32>,
    pub(crate) ty: TypeOf,
}

impl TopicEntity {
    pub(crate) fn new(
        participant: &Arc<ParticipantEntity>,
        node: Arc<Node>,
        name: &str,
        type_name: &str,
        carries: Carries,
        qos: TopicQos,
    ) -> Result<Arc<Self>, Error> {
        Ok(Arc::new(Self {
            node,
            participant: Arc::downgrade(participant),
            machine: Mutex::new(dcps::Topic::new(name, type_name, qos)?),
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            type_id: carries.type_id,
            max_serialized_size: carries.max_serialized_size,
            announced: Arc::new(Announced::new(carries.ty)),
            listening: Listening::default(),
            watch: Arc::default(),
        }))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// True if it has this name, and is of this type.
    pub(crate) fn carries(&self, name: &str, type_name: &str, type_id: TypeId) -> bool {
        self.name == name && self.type_name == type_name && self.type_id == Some(type_id)
    }

    pub(crate) fn qos(&self) -> TopicQos {
        lock(&self.machine).qos().clone()
    }

    pub(crate) fn subject(&self) -> Subject {
        Subject {
            topic_name: self.name.clone(),
            type_name: self.type_name.clone(),
            max_serialized_size: self.max_serialized_size,
            type_information: self.node.types().and_then(|types| self.announced.information(types)),
            group: None,
            content_filter: None,
        }
    }

    /// Its type, for content filters.
    pub(crate) const fn announced(&self) -> &Arc<Announced> {
        &self.announced
    }

    /// An endpoint of this topic and another of the same name do not match.
    pub(crate) fn not_matched(&self, other: &EndpointData, reasons: &[Mismatch]) -> Option<&Arc<Watch>> {
        let mut machine = lock(&self.machine);
        machine.not_matched(other, reasons);
        (machine.take_status_news() != StatusMask::NONE).then_some(&self.watch)
    }

    /// A participant is gone; if it comes again with another type, that counts again.
    pub(crate) fn forget_participant(&self, prefix: GuidPrefix) {
        lock(&self.machine).forget_participant(prefix);
    }

    pub(crate) fn set_listener(&self, listener: Option<Arc<dyn TopicListener>>, mask: StatusMask) {
        self.listening.set(listener, mask);
    }

    /// The topic is deleted: no listener is called any more.
    pub(crate) fn detach(&self) {
        self.node.set_callback(&self.watch, || (StatusMask::NONE, None));
    }

    /// Sees to it that listeners of every level are called.
    pub(crate) fn refresh(self: &Arc<Self>) {
        self.node.set_callback(&self.watch, || {
            let above = self.participant.upgrade().map_or(StatusMask::NONE, |above| above.listened());
            let wanted = (self.listening.mask() | above) & StatusMask::INCONSISTENT_TOPIC;
            if wanted == StatusMask::NONE {
                return (wanted, None);
            }
            let entity = Arc::downgrade(self);
            let callback: Callback = Arc::new(move |_| {
                if let Some(entity) = entity.upgrade() {
                    entity.dispatch();
                }
            });
            (wanted, Some(callback))
        });
    }

    fn dispatch(self: &Arc<Self>) {
        let Some(participant) = DomainParticipant::of(&self.participant) else { return };
        let topic = Topic::new(Arc::clone(self), participant.clone());
        let bit = StatusMask::INCONSISTENT_TOPIC;
        if let Some(listener) = self.listening.listener_for(bit) {
            listener.on_inconsistent_topic(&topic, topic.get_inconsistent_topic_status());
        } else if let Some(listener) = participant.entity().listener_for(bit) {
            listener.on_inconsistent_topic(&topic, topic.get_inconsistent_topic_status());
        }
    }
}

impl Topic {
    pub(crate) const fn new(entity: Arc<TopicEntity>, participant: DomainParticipant) -> Self {
        Self { entity, participant }
    }

    pub(crate) const fn entity(&self) -> &Arc<TopicEntity> {
        &self.entity
    }

    /// The participant.
    pub const fn get_participant(&self) -> &DomainParticipant {
        &self.participant
    }

    /// Its name.
    pub fn get_name(&self) -> &str {
        &self.entity.name
    }

    /// The name of its type.
    pub fn get_type_name(&self) -> &str {
        &self.entity.type_name
    }

    /// Its QoS.
    pub fn get_qos(&self) -> TopicQos {
        self.entity.qos()
    }

    /// Changes the QoS. TOPIC_DATA is announced anew with every endpoint of the topic; the other policies are for writers and readers that copy
    /// them.
    ///
    /// # Errors
    /// The errors of [`TopicQos::check_change`]; nothing is changed then.
    pub fn set_qos(&self, qos: QosKind<TopicQos>) -> Result<(), Error> {
        self.participant.node().check_process("set_qos")?;
        let qos = qos.or_else(|| self.participant.get_default_topic_qos());
        lock(&self.entity.machine).set_qos(qos)?;
        self.participant.entity().announce_again(&self.entity)
    }

    /// Sets or takes away the listener. Waits for a call in progress.
    pub fn set_listener(&self, listener: Option<Arc<dyn TopicListener>>, mask: StatusMask) {
        self.entity.set_listener(listener, mask);
        self.entity.refresh();
    }

    /// INCONSISTENT_TOPIC.
    pub fn get_inconsistent_topic_status(&self) -> InconsistentTopic {
        lock(&self.entity.machine).inconsistent_topic()
    }

    /// The condition that a status of this topic has changed.
    pub fn get_statuscondition(&self) -> StatusCondition {
        StatusCondition::new(Arc::clone(&self.entity) as _)
    }

    /// The types that others have under this name, where they are not ours, or cannot be read or written as ours: participant and name of
    /// the type.
    pub fn inconsistent_types(&self) -> Vec<(GuidPrefix, String)> {
        lock(&self.entity.machine).others().map(|(prefix, name)| (prefix, name.to_owned())).collect()
    }

    pub(crate) fn check_type<T: 'static>(&self, operation: &'static str) -> Result<(), Error> {
        if self.entity.type_id == Some(TypeId::of::<T>()) {
            return Ok(());
        }
        Err(Error::new(
            ReturnCode::PreconditionNotMet,
            operation,
            format!(
                "topic {:?} was made for type {:?}, not for the Rust type {}",
                self.entity.name,
                self.entity.type_name,
                std::any::type_name::<T>()
            ),
            "use the type that the topic was made for, or another topic",
        ))
    }

    pub(crate) fn check_participant(
        &self,
        participant: &DomainParticipant,
        operation: &'static str,
    ) -> Result<(), Error> {
        if Arc::ptr_eq(self.participant.entity(), participant.entity()) {
            return Ok(());
        }
        Err(Error::new(
            ReturnCode::PreconditionNotMet,
            operation,
            format!("topic {:?} is of another participant", self.entity.name),
            "make the topic by the participant that makes the endpoint",
        ))
    }
}

impl StatusSource for TopicEntity {
    fn status_changes(&self) -> StatusMask {
        lock(&self.machine).status_changes()
    }

    fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    fn host(&self) -> Option<Arc<dyn Host>> {
        Some(self.node.shared_host())
    }
}
