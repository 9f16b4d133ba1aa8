//! Writers made in one line.
use std::sync::Arc;

use dcps::qos::{DataWriterQos, FlowController, OfferedAssurance, Publishing};
use dcps::status::{
    AssuranceChanged, DeadlineMissed, IncompatibleQos, LivelinessLost, Matched, SessionChanged, StatusMask,
};
use dcps::{Error, ReturnCode};
use wire::Duration;
use wire::cdr::DdsType;
use wire::qos::{Durability, History, Reliability};

use super::closures::Closures;
use super::{DataWriter, DataWriterListener, Publisher};
use crate::entity::QosKind;
use crate::group::Group;
use crate::participant::DomainParticipant;

/// A writer to be made: see [`DomainParticipant::writer`] and [`Publisher::writer`].
///
/// ```
/// use dds::prelude::*;
/// # fn example(participant: &Participant) -> Result<(), dds::Error> {
/// #[derive(DdsType)]
/// struct Reading {
///     #[dds(key)]
///     sensor: u32,
///     celsius: f64,
/// }
///
/// let writer = participant
///     .writer::<Reading>("Readings")
///     .transient_local()
///     .keep_last(10)
///     .on_publication_matched(|_, status| println!("{} readers", status.current.count))
///     .create()?;
/// writer.wait_for_readers(1, Duration::from_secs(5))?;
/// writer.write(&Reading { sensor: 1, celsius: 21.5 })?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is made before `create`"]
pub struct WriterBuilder<T> {
    group: Group<Publisher>,
    topic: String,
    type_name: Option<String>,
    qos: DataWriterQos,
    /// Bytes of the largest sample, for ASSURANCE.
    largest: Option<u32>,
    closures: Option<Closures<T>>,
}

impl<T: DdsType + Send + Sync + 'static> WriterBuilder<T> {
    pub(crate) fn of_participant(participant: DomainParticipant, topic: String) -> Self {
        Self::new(Group::Implicit(participant, None), topic, DataWriterQos::default())
    }

    pub(super) fn of_publisher(publisher: Publisher, topic: String) -> Self {
        let qos = publisher.get_default_datawriter_qos();
        Self::new(Group::Given(publisher), topic, qos)
    }

    fn new(group: Group<Publisher>, topic: String, qos: DataWriterQos) -> Self {
        Self { group, topic, type_name: None, qos, largest: None, closures: None }
    }

    /// Another name of the type than [`DdsType::TYPE_NAME`], as others may call it.
    pub fn type_name(mut self, name: impl Into<String>) -> Self {
        self.type_name = Some(name.into());
        self
    }

    /// All of the QoS at once. What the other methods have set before is lost.
    pub fn qos(mut self, qos: DataWriterQos) -> Self {
        self.qos = qos;
        self
    }

    /// Changes what the other methods have no word for: `.with_qos(|qos| qos.endpoint.transport_priority = 4)`.
    pub fn with_qos(mut self, change: impl FnOnce(&mut DataWriterQos)) -> Self {
        change(&mut self.qos);
        self
    }

    /// RELIABILITY: what is lost is repeated to reliable readers. The default of writers.
    pub fn reliable(mut self) -> Self {
        self.qos.endpoint.reliability = Reliability::RELIABLE;
        self
    }

    /// RELIABILITY: what is lost stays lost.
    pub fn best_effort(mut self) -> Self {
        self.qos.endpoint.reliability = Reliability::BEST_EFFORT;
        self
    }

    /// HISTORY: the last samples of each instance, 1 or more. The default is 1.
    pub fn keep_last(mut self, depth: u32) -> Self {
        self.qos.endpoint.history = History::KeepLast(depth);
        self
    }

    /// HISTORY: all samples until they are acknowledged; a write waits for room.
    pub fn keep_all(mut self) -> Self {
        self.qos.endpoint.history = History::KeepAll;
        self
    }

    /// DURABILITY: readers that come late, and ask for it, get what the history holds.
    pub fn transient_local(mut self) -> Self {
        self.qos.endpoint.durability = Durability::TransientLocal;
        self
    }

    /// DEADLINE: each instance is written at least so often.
    pub fn deadline(mut self, period: impl Into<Duration>) -> Self {
        self.qos.endpoint.deadline = period.into();
        self
    }

    /// LIFESPAN: samples are good for so long.
    pub fn lifespan(mut self, span: impl Into<Duration>) -> Self {
        self.qos.endpoint.lifespan = span.into();
        self
    }

    /// PARTITION: one more partition, whose publisher is shared by the writers of this participant that name the same ones. Not for a
    /// builder that was begun by a publisher, which has its own.
    pub fn partition(mut self, name: impl Into<String>) -> Self {
        self.group.partition(name.into());
        self
    }

    /// ASSURANCE: promises that at least this time, above zero, is between two samples, so that readers that ask for a latency
    /// ([`ReaderBuilder::within`](crate::ReaderBuilder::within)) can be given one. A sample that is written earlier waits.
    pub fn every(mut self, separation: impl Into<Duration>) -> Self {
        self.qos.assurance = Some(OfferedAssurance::every(separation.into()));
        self
    }

    /// ASSURANCE: the largest sample has so many bytes, serialized, with its header of 4 bytes; 1 to
    /// [`LARGEST_MESSAGE`](crate::qos::LARGEST_MESSAGE). Needed together with [`WriterBuilder::every`] if the type has no bound of its own.
    /// Larger samples are refused by `write`.
    pub fn up_to(mut self, bytes: u32) -> Self {
        self.largest = Some(bytes);
        self
    }

    /// FLOW_CONTROL: all that the writer sends passes a token bucket: `.flow_controller(FlowController::token_bucket(300_000, 3_000))` for 300
    /// kbit/s and 3,000 bytes at once. Not together with [`WriterBuilder::every`].
    pub fn flow_controller(mut self, controller: FlowController) -> Self {
        self.qos.flow_controller = Some(controller);
        self
    }

    /// FLOW_CONTROL: all that the writer sends passes the token bucket that its sessions over domains grant, while there are some: see
    /// [`DataWriterQos::session_flow_controller`].
    pub fn session_flow_controller(mut self, publishing: Publishing) -> Self {
        self.qos.session_flow_controller = Some(publishing);
        self
    }

    /// Called when a reader was matched, or is gone. As all such functions it is called on a thread of the driver, or on the thread whose
    /// call caused it, with no lock held, one call after the other.
    pub fn on_publication_matched(
        mut self,
        call: impl FnMut(&DataWriter<T>, Matched) + Send + 'static,
    ) -> Self {
        self.closures().matched.set(call);
        self
    }

    /// Called when a period of DEADLINE went by without a sample.
    pub fn on_offered_deadline_missed(
        mut self,
        call: impl FnMut(&DataWriter<T>, DeadlineMissed) + Send + 'static,
    ) -> Self {
        self.closures().deadline_missed.set(call);
        self
    }

    /// Called when a reader asks for more than is offered.
    pub fn on_offered_incompatible_qos(
        mut self,
        call: impl FnMut(&DataWriter<T>, IncompatibleQos) + Send + 'static,
    ) -> Self {
        self.closures().incompatible_qos.set(call);
        self
    }

    /// Called when the writer did not keep its own LIVELINESS.
    pub fn on_liveliness_lost(
        mut self,
        call: impl FnMut(&DataWriter<T>, LivelinessLost) + Send + 'static,
    ) -> Self {
        self.closures().liveliness_lost.set(call);
        self
    }

    /// Called when the session over domains with a reader is another.
    pub fn on_session_changed(
        mut self,
        call: impl FnMut(&DataWriter<T>, SessionChanged) + Send + 'static,
    ) -> Self {
        self.closures().session_changed.set(call);
        self
    }

    /// Called when the assurance with a reader is another.
    pub fn on_assurance_changed(
        mut self,
        call: impl FnMut(&DataWriter<T>, AssuranceChanged) + Send + 'static,
    ) -> Self {
        self.closures().assurance_changed.set(call);
        self
    }

    fn closures(&mut self) -> &mut Closures<T> {
        self.closures.get_or_insert_with(Closures::default)
    }

    /// Makes the writer, and its topic and publisher if they are not there.
    ///
    /// # Errors
    /// As [`Publisher::create_datawriter`] and [`DomainParticipant::create_topic`]; `PreconditionNotMet` for a partition where the
    /// publisher was given; `InconsistentPolicy` for [`WriterBuilder::up_to`] without [`WriterBuilder::every`].
    pub fn create(mut self) -> Result<DataWriter<T>, Error> {
        if let Some(largest) = self.largest {
            let Some(assurance) = &mut self.qos.assurance else {
                return Err(Error::new(
                    ReturnCode::InconsistentPolicy,
                    "up_to",
                    "a largest sample without a least time between samples promises nothing",
                    "say with every(…) how often samples are written at most",
                ));
            };
            assurance.maximum_size = Some(largest);
        }
        let publisher = self.group.find(DomainParticipant::implicit_publisher)?;
        let type_name = self.type_name.as_deref().unwrap_or(T::TYPE_NAME);
        let topic = publisher.get_participant().topic_of::<T>(&self.topic, type_name)?;
        let mask = self.closures.as_ref().map_or(StatusMask::NONE, Closures::mask);
        let listener = self.closures.map(|closures| Arc::new(closures) as Arc<dyn DataWriterListener<T>>);
        publisher.create_datawriter(&topic, QosKind::Specific(self.qos), listener, mask)
    }
}
