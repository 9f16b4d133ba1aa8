//! The manager's end of the admission topics.
use std::sync::Arc;

use control::action::Pair;
use dds::qos::{Durability, History, Reliability};
use dds::{
    DataReader, DataReaderListener, DataWriter, DdsType, DomainParticipant, Duration, Error, InstanceState,
    NO_STATUS, Publisher, QosKind, Sample, States, StatusMask, Subscriber,
};
use tokio::sync::Notify;
use wire::admission::{
    MEASURED_TOPIC, MEASURED_TYPE, Measured, REPORT_TOPIC, REPORT_TYPE, REQUEST_TOPIC, REQUEST_TYPE, Report,
    Request, VERDICT_TOPIC, VERDICT_TYPE, Verdict,
};
use wire::{EntityId, Guid};

/// Samples that are taken at a time.
const AT_ONCE: usize = 256;

/// What came over a topic.
#[derive(Debug)]
pub(crate) enum Arrived {
    /// A pair is wanted, or wanted otherwise.
    Request(Box<Request>),
    /// It is wanted from another manager.
    Elsewhere(Pair),
    /// A pair is wanted no longer, or whoever wanted it is gone.
    Withdrawn(Box<Request>),
    /// What a reader has seen.
    Measured(Measured),
}

/// The endpoints.
pub(crate) struct Topics {
    /// The participant, as requests name it.
    own: [u8; 16],
    requests: DataReader<Request>,
    measured: DataReader<Measured>,
    verdicts: DataWriter<Verdict>,
    reports: DataWriter<Report>,
}

/// Wakes the daemon when there is something to take.
struct Waker(Arc<Notify>);

impl<T> DataReaderListener<T> for Waker {
    fn on_data_available(&self, _: &DataReader<T>) {
        self.0.notify_one();
    }
}

impl Topics {
    /// Makes the endpoints; `waker` is notified when something comes.
    ///
    /// # Errors
    /// What creating entities says.
    pub(crate) fn new(participant: &DomainParticipant, waker: &Arc<Notify>) -> Result<Self, Error> {
        let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS)?;
        let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
        Ok(Self {
            own: Guid::new(participant.prefix(), EntityId::PARTICIPANT).to_bytes(),
            requests: reader(participant, &subscriber, (REQUEST_TOPIC, REQUEST_TYPE), true, waker)?,
            measured: reader(participant, &subscriber, (MEASURED_TOPIC, MEASURED_TYPE), false, waker)?,
            verdicts: writer(participant, &publisher, (VERDICT_TOPIC, VERDICT_TYPE))?,
            reports: writer(participant, &publisher, (REPORT_TOPIC, REPORT_TYPE))?,
        })
    }

    /// Takes what has come.
    ///
    /// # Errors
    /// What taking says.
    pub(crate) fn take(&self, out: &mut Vec<Arrived>) -> Result<(), Error> {
        while let samples @ [_, ..] = &mut *self.requests.take(AT_ONCE, States::ANY)? {
            out.extend(samples.iter_mut().filter_map(|sample| request(self.own, sample)));
        }
        while let samples @ [_, ..] = &mut *self.measured.take(AT_ONCE, States::ANY)? {
            out.extend(samples.iter().filter_map(|sample| sample.data.map(Arrived::Measured)));
        }
        Ok(())
    }

    /// Tells a verdict to both sides.
    ///
    /// # Errors
    /// What writing says.
    pub(crate) fn tell(&self, verdict: &Verdict) -> Result<(), Error> {
        self.verdicts.write(verdict).map(|_| ())
    }

    /// Forgets the verdict of a pair that nobody wants any more.
    ///
    /// # Errors
    /// What disposing says.
    pub(crate) fn forget(&self, verdict: &Verdict) -> Result<(), Error> {
        self.verdicts.dispose(verdict)?;
        self.verdicts.unregister_instance(verdict).map(|_| ())
    }

    /// True if all who read verdicts have acknowledged all of them.
    pub(crate) fn verdicts_are_acknowledged(&self) -> bool {
        self.verdicts.wait_for_acknowledgments(Duration::ZERO).is_ok()
    }

    /// True if somebody reads the manager's view.
    pub(crate) fn report_is_wanted(&self) -> bool {
        !self.reports.get_matched_subscriptions().is_empty()
    }

    /// Shows the manager's view.
    ///
    /// # Errors
    /// What writing says.
    pub(crate) fn report(&self, report: &Report) -> Result<(), Error> {
        self.reports.write(report).map(|_| ())
    }
}

fn request(own: [u8; 16], sample: &mut Sample<Request>) -> Option<Arrived> {
    if let Some(request) = sample.data.take() {
        // One that names nobody is of a participant that has not found a manager yet.
        let is_meant = [own, [0; 16]].contains(&request.manager);
        return Some(match is_meant {
            true => Arrived::Request(Box::new(request)),
            false => Arrived::Elsewhere(request.pair()),
        });
    }
    let key = sample.key.take()?;
    (sample.info.instance_state != InstanceState::Alive).then(|| Arrived::Withdrawn(Box::new(key)))
}

fn reader<T: DdsType + Send + Sync + 'static>(
    participant: &DomainParticipant,
    subscriber: &Subscriber,
    (name, kind): (&str, &str),
    reliable: bool,
    waker: &Arc<Notify>,
) -> Result<DataReader<T>, Error> {
    let topic = participant.create_topic::<T>(name, kind, QosKind::Default, None, NO_STATUS)?;
    let mut qos = subscriber.get_default_datareader_qos();
    qos.endpoint.history = History::KeepLast(1);
    if reliable {
        qos.endpoint.reliability = Reliability::RELIABLE;
        qos.endpoint.durability = Durability::TransientLocal;
    }
    let listener = Arc::new(Waker(Arc::clone(waker)));
    let mask = StatusMask::DATA_AVAILABLE;
    subscriber.create_datareader::<T>(&topic, QosKind::Specific(qos), Some(listener), mask)
}

fn writer<T: DdsType + Send + Sync + 'static>(
    participant: &DomainParticipant,
    publisher: &Publisher,
    (name, kind): (&str, &str),
) -> Result<DataWriter<T>, Error> {
    let topic = participant.create_topic::<T>(name, kind, QosKind::Default, None, NO_STATUS)?;
    let mut qos = publisher.get_default_datawriter_qos();
    qos.endpoint.reliability = Reliability::RELIABLE;
    qos.endpoint.durability = Durability::TransientLocal;
    qos.endpoint.history = History::KeepLast(1);
    // What was said holds for its lease, also when the manager ends: another start of it takes over.
    qos.writer_data_lifecycle.autodispose_unregistered_instances = false;
    publisher.create_datawriter::<T>(&topic, QosKind::Specific(qos), None, NO_STATUS)
}
