//! Readers made in one line.
use std::sync::Arc;

use dcps::qos::{DataReaderQos, RequestedAssurance, WhenRefused};
use dcps::status::{
    AssuranceChanged, BoundExceeded, DeadlineMissed, IncompatibleQos, LivelinessChanged, Matched, SampleLost,
    SampleRejected, SessionChanged, StatusMask,
};
use dcps::{Error, ReturnCode};
use wire::Duration;
use wire::cdr::DdsType;
use wire::qos::{Durability, History, Reliability};

use super::closures::Closures;
use super::{DataReader, DataReaderListener, Subscriber};
use crate::content_filter::ContentFilteredTopic;
use crate::entity::QosKind;
use crate::group::Group;
use crate::participant::DomainParticipant;

/// A reader to be made: see [`DomainParticipant::reader`] and [`Subscriber::reader`].
///
/// ```
/// use dds::prelude::*;
/// # fn example(participant: &Participant) -> Result<(), dds::Error> {
/// #[derive(DdsType, Debug)]
/// struct Reading {
///     #[dds(key)]
///     sensor: u32,
///     celsius: f64,
/// }
///
/// let reader = participant.reader::<Reading>("Readings").reliable().keep_last(10).create()?;
/// for reading in reader.wait_samples(Duration::from_secs(1)) {
///     println!("{reading:?}");
/// }
/// # Ok(())
/// # }
/// ```
///
/// With a function that is called for each sample, and a latency that is asked for:
///
/// ```
/// # use dds::prelude::*;
/// # fn example(participant: &Participant) -> Result<(), dds::Error> {
/// # #[derive(DdsType, Debug)]
/// # struct Reading { celsius: f64 }
/// let reader = participant
///     .reader::<Reading>("Readings")
///     .within(Duration::from_millis(5))
///     .on_assurance_changed(|reader, _| println!("{:?}", reader.assurance()))
///     .on_sample(|reading| println!("{reading:?}"))
///     .create()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is made before `create`"]
pub struct ReaderBuilder<T> {
    group: Group<Subscriber>,
    topic: String,
    type_name: Option<String>,
    qos: DataReaderQos,
    /// A writer that cannot be assured is not matched.
    fails: bool,
    /// Expression and parameters.
    filter: Option<(String, Vec<String>)>,
    closures: Option<Closures<T>>,
}

impl<T: DdsType + Send + Sync + 'static> ReaderBuilder<T> {
    pub(crate) fn of_participant(participant: DomainParticipant, topic: String) -> Self {
        Self::new(Group::Implicit(participant, None), topic, DataReaderQos::default())
    }

    pub(super) fn of_subscriber(subscriber: Subscriber, topic: String) -> Self {
        let qos = subscriber.get_default_datareader_qos();
        Self::new(Group::Given(subscriber), topic, qos)
    }

    fn new(group: Group<Subscriber>, topic: String, qos: DataReaderQos) -> Self {
        Self { group, topic, type_name: None, qos, fails: false, filter: None, closures: None }
    }

    /// Another name of the type than [`DdsType::TYPE_NAME`], as others may call it.
    pub fn type_name(mut self, name: impl Into<String>) -> Self {
        self.type_name = Some(name.into());
        self
    }

    /// All of the QoS at once. What the other methods have set before is lost.
    pub fn qos(mut self, qos: DataReaderQos) -> Self {
        self.qos = qos;
        self
    }

    /// Changes what the other methods have no word for: `.with_qos(|qos| qos.endpoint.ownership = Ownership::Exclusive)`.
    pub fn with_qos(mut self, change: impl FnOnce(&mut DataReaderQos)) -> Self {
        change(&mut self.qos);
        self
    }

    /// RELIABILITY: what is lost is asked for again; best-effort writers do not match.
    pub fn reliable(mut self) -> Self {
        self.qos.endpoint.reliability = Reliability::RELIABLE;
        self
    }

    /// RELIABILITY: what is lost stays lost. The default of readers.
    pub fn best_effort(mut self) -> Self {
        self.qos.endpoint.reliability = Reliability::BEST_EFFORT;
        self
    }

    /// HISTORY: the last samples of each instance, 1 or more. The default is 1: of several samples that were not taken yet the last is kept.
    pub fn keep_last(mut self, depth: u32) -> Self {
        self.qos.endpoint.history = History::KeepLast(depth);
        self
    }

    /// HISTORY: all samples until they are taken; a full reliable reader stops its writers.
    pub fn keep_all(mut self) -> Self {
        self.qos.endpoint.history = History::KeepAll;
        self
    }

    /// DURABILITY: asks for what writers wrote before; those that do not keep it do not match.
    pub fn transient_local(mut self) -> Self {
        self.qos.endpoint.durability = Durability::TransientLocal;
        self
    }

    /// DEADLINE: each instance is to be written at least so often; writers that do not say so do not match.
    pub fn deadline(mut self, period: impl Into<Duration>) -> Self {
        self.qos.endpoint.deadline = period.into();
        self
    }

    /// PARTITION: one more partition, whose subscriber is shared by the readers of this participant that name the same ones. Not for a
    /// builder that was begun by a subscriber, which has its own.
    pub fn partition(mut self, name: impl Into<String>) -> Self {
        self.group.partition(name.into());
        self
    }

    /// Only samples that pass a filter expression (DDS 1.4, Annex B), with the texts of its parameters `%0`, `%1` and so on, which
    /// [`RawDataReader::set_expression_parameters`](crate::RawDataReader::set_expression_parameters) changes:
    /// `.filter("celsius > %0 AND sensor <> 7", ["90"])`. See [`ContentFilteredTopic`].
    pub fn filter<S: Into<String>>(
        mut self,
        expression: impl Into<String>,
        parameters: impl IntoIterator<Item = S>,
    ) -> Self {
        self.filter = Some((expression.into(), parameters.into_iter().map(Into::into).collect()));
        self
    }

    /// ASSURANCE: asks for this latency, above zero: most time from the writer's call to the reception of a sample. A
    /// resource manager admits the pairs of this reader and its writers, or refuses them; what it said is told by
    /// [`RawDataReader::assurance`](crate::RawDataReader::assurance). A writer that is refused, or a domain without a manager, is read
    /// without a bound, unless [`ReaderBuilder::or_fail`] says otherwise.
    pub fn within(mut self, latency: impl Into<Duration>) -> Self {
        self.qos.assurance = Some(RequestedAssurance::within(latency.into()));
        self
    }

    /// ASSURANCE: the latency is to hold even if so many frames, 1 to 4, of samples, repairs and questions are lost in any time of this length, which is
    /// at least twice the latency. Needs [`ReaderBuilder::within`] before it, RELIABILITY RELIABLE, and writers whose HISTORY keeps each sample for as long as the latency.
    pub fn losses(mut self, frames: u8, within: impl Into<Duration>) -> Self {
        let within = within.into();
        self.qos.assurance = self.qos.assurance.map(|wanted| wanted.losses(frames, within));
        self
    }

    /// ASSURANCE: a writer that cannot be assured is not matched. Needs [`ReaderBuilder::within`].
    pub fn or_fail(mut self) -> Self {
        self.fails = true;
        self
    }

    /// Called with each sample, which is taken. As all such functions it is called on a thread of the driver, or on the thread whose call
    /// caused it, with no lock held, one call after the other. It takes the place of [`ReaderBuilder::on_data_available`].
    pub fn on_sample(mut self, call: impl FnMut(T) + Send + 'static) -> Self {
        let mut call = call;
        self.closures().data.set(move |reader, ()| reader.samples().for_each(&mut call));
        self
    }

    /// Called when there are samples to read or take. It takes the place of [`ReaderBuilder::on_sample`].
    pub fn on_data_available(mut self, call: impl FnMut(&DataReader<T>) + Send + 'static) -> Self {
        let mut call = call;
        self.closures().data.set(move |reader, ()| call(reader));
        self
    }

    /// Called when a writer was matched, or is gone.
    pub fn on_subscription_matched(
        mut self,
        call: impl FnMut(&DataReader<T>, Matched) + Send + 'static,
    ) -> Self {
        self.closures().matched.set(call);
        self
    }

    /// Called when a matched writer went silent, or is heard again.
    pub fn on_liveliness_changed(
        mut self,
        call: impl FnMut(&DataReader<T>, LivelinessChanged) + Send + 'static,
    ) -> Self {
        self.closures().liveliness_changed.set(call);
        self
    }

    /// Called when a period of DEADLINE went by without a sample of some instance.
    pub fn on_requested_deadline_missed(
        mut self,
        call: impl FnMut(&DataReader<T>, DeadlineMissed) + Send + 'static,
    ) -> Self {
        self.closures().deadline_missed.set(call);
        self
    }

    /// Called when a writer offers less than is asked for.
    pub fn on_requested_incompatible_qos(
        mut self,
        call: impl FnMut(&DataReader<T>, IncompatibleQos) + Send + 'static,
    ) -> Self {
        self.closures().incompatible_qos.set(call);
        self
    }

    /// Called when a sample will never come.
    pub fn on_sample_lost(mut self, call: impl FnMut(&DataReader<T>, SampleLost) + Send + 'static) -> Self {
        self.closures().sample_lost.set(call);
        self
    }

    /// Called when a sample was refused because of a limit.
    pub fn on_sample_rejected(
        mut self,
        call: impl FnMut(&DataReader<T>, SampleRejected) + Send + 'static,
    ) -> Self {
        self.closures().sample_rejected.set(call);
        self
    }

    /// Called when the session over domains with a writer is another.
    pub fn on_session_changed(
        mut self,
        call: impl FnMut(&DataReader<T>, SessionChanged) + Send + 'static,
    ) -> Self {
        self.closures().session_changed.set(call);
        self
    }

    /// Called when the assurance with a writer is another.
    pub fn on_assurance_changed(
        mut self,
        call: impl FnMut(&DataReader<T>, AssuranceChanged) + Send + 'static,
    ) -> Self {
        self.closures().assurance_changed.set(call);
        self
    }

    /// Called when a sample was later than the bound that was promised for it.
    pub fn on_bound_exceeded(
        mut self,
        call: impl FnMut(&DataReader<T>, BoundExceeded) + Send + 'static,
    ) -> Self {
        self.closures().bound_exceeded.set(call);
        self
    }

    fn closures(&mut self) -> &mut Closures<T> {
        self.closures.get_or_insert_with(Closures::default)
    }

    /// Makes the reader, and its topic and subscriber if they are not there.
    ///
    /// # Errors
    /// As [`Subscriber::create_datareader`] and [`DomainParticipant::create_topic`]; `PreconditionNotMet` for a partition where the
    /// subscriber was given; `BadParameter` for a filter that does not fit the type; `InconsistentPolicy` for [`ReaderBuilder::or_fail`] without [`ReaderBuilder::within`].
    pub fn create(mut self) -> Result<DataReader<T>, Error> {
        if self.fails {
            let Some(assurance) = &mut self.qos.assurance else {
                return Err(Error::new(
                    ReturnCode::InconsistentPolicy,
                    "or_fail",
                    "no latency is asked for, so that nothing can be refused",
                    "say with within(…) which latency is needed",
                ));
            };
            assurance.when_refused = WhenRefused::Fail;
        }
        let subscriber = self.group.find(DomainParticipant::implicit_subscriber)?;
        let type_name = self.type_name.as_deref().unwrap_or(T::TYPE_NAME);
        let topic = subscriber.get_participant().topic_of::<T>(&self.topic, type_name)?;
        let mask = self.closures.as_ref().map_or(StatusMask::NONE, Closures::mask);
        let listener = self.closures.map(|closures| Arc::new(closures) as Arc<dyn DataReaderListener<T>>);
        let Some((expression, parameters)) = self.filter else {
            return subscriber.create_datareader(&topic, QosKind::Specific(self.qos), listener, mask);
        };
        let name = format!("{} filtered", self.topic);
        let filtered = ContentFilteredTopic::new(&topic, &name, &expression, parameters, "filter")?;
        subscriber.create_datareader(&filtered, QosKind::Specific(self.qos), listener, mask)
    }
}
