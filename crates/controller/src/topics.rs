//! The manager's end of the admission topics.
use std::sync::Arc;

use control::action::{Asker, Pair};
use dds::qos::{DataReaderQos, Durability, History, Reliability};
use dds::serialized::DropReason;
use dds::status::SampleRejected;
use dds::{
    DataReader, DataReaderListener, DataWriter, DdsType, DomainParticipant, Duration, Error, InstanceState,
    NO_STATUS, Publisher, QosKind, Sample, States, StatusMask, Subscriber,
};
use tokio::sync::Notify;
use wire::admission::{
    MEASURED_TOPIC, MEASURED_TYPE, MOST_TEXT, Measured, REQUEST_TOPIC, REQUEST_TYPE, Request, VERDICT_TOPIC,
    VERDICT_TYPE, Verdict,
};
use wire::{EntityId, Guid, GuidPrefix};

use crate::signed::Signed;
use crate::verdicts::Voice;

/// Samples that are taken at a time.
pub(crate) const AT_ONCE: usize = 1_024;
/// Bytes that a sample takes of a history besides its own.
const ABOUT_A_SAMPLE: usize = 256;
/// Requests of one participant that are heard at least; those that are too many are refused, if they are heard.
const HEARD: usize = 16_384;
/// One participant may have this part of the instances of a reader.
const PART: usize = 16;
/// Bytes that a request takes with its instance, about.
const ABOUT_A_REQUEST: usize = 768;
/// The least room for verdicts.
const LEAST_BYTES: usize = 1 << 20;

/// What came over a topic.
#[derive(Debug)]
pub(crate) enum Arrived {
    /// A pair is wanted, or wanted otherwise.
    Request(Box<Request>, Asker),
    /// It is wanted from another manager.
    Elsewhere(Pair),
    /// A pair is wanted no longer, or its asker is gone.
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
    /// With keys requests and verdicts are signed.
    pub(crate) signed: Option<Signed>,
}

/// Wakes the daemon when there is something to take.
struct Waker(Arc<Notify>);

impl<T> DataReaderListener<T> for Waker {
    fn on_data_available(&self, _: &DataReader<T>) {
        self.0.notify_one();
    }

    fn on_sample_rejected(&self, _: &DataReader<T>, _: SampleRejected) {
        self.0.notify_one();
    }
}

impl Topics {
    /// Makes the endpoints; `waker` is notified when something comes. There is room for so many verdicts, and for more requests of one
    /// participant than it may have: it is told of those that are too many.
    ///
    /// # Errors
    /// What creating entities says.
    pub(crate) fn new(
        participant: &DomainParticipant,
        waker: &Arc<Notify>,
        most_verdicts: usize,
        most_of_participant: usize,
        signed: Option<Signed>,
    ) -> Result<Self, Error> {
        let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS)?;
        let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
        Ok(Self {
            own: Guid::new(participant.prefix(), EntityId::PARTICIPANT).to_bytes(),
            requests: requests(participant, &subscriber, most_of_participant, waker)?,
            measured: reader(participant, &subscriber, (MEASURED_TOPIC, MEASURED_TYPE), waker, |_| {})?,
            verdicts: writer(participant, &publisher, most_verdicts)?,
            signed,
        })
    }

    /// Takes of what has come so much as is done in one go; true if that was all.
    ///
    /// # Errors
    /// What taking says.
    pub(crate) fn take(&self, now: std::time::Duration, out: &mut Vec<Arrived>) -> Result<bool, Error> {
        let is_all = match &self.signed {
            Some(signed) => signed.take(now, &self.requests, out)?,
            None => {
                let mut requests = self.requests.take(AT_ONCE, States::ANY)?;
                out.extend(requests.iter_mut().filter_map(|sample| request(self.own, sample)));
                requests.len() < AT_ONCE
            }
        };
        let measured = self.measured.take(AT_ONCE, States::ANY)?;
        out.extend(measured.iter().filter_map(|sample| sample.data.map(Arrived::Measured)));
        Ok(is_all && measured.len() < AT_ONCE)
    }

    /// How many requests were dropped since they are about readers of other participants than they came from, and the participant that sent the last one.
    pub(crate) fn forged(&self) -> Option<(u64, GuidPrefix)> {
        let dropped = self.requests.dropped(DropReason::Unauthorized);
        dropped.last.map(|(writer, _, _)| (dropped.count, writer.prefix))
    }

    /// The participant whose request was dropped last since it had too many, if there was one.
    pub(crate) fn dropped(&self) -> Option<GuidPrefix> {
        let last = self.requests.dropped(DropReason::Instances).last;
        last.map(|(writer, _, _)| writer.prefix)
    }
}

impl Voice for Topics {
    fn tell(&self, verdict: &Verdict) -> Result<(), Error> {
        match &self.signed {
            Some(signed) => signed.tell(&self.verdicts, verdict),
            None => self.verdicts.write(verdict).map(|_| ()),
        }
    }

    fn forget(&self, verdict: &Verdict) -> Result<(), Error> {
        if self.verdicts.lookup_instance(verdict)?.is_none() {
            return Ok(());
        }
        self.verdicts.dispose(verdict)?;
        self.verdicts.unregister_instance(verdict).map(|_| ())
    }

    fn is_acknowledged(&self) -> bool {
        self.verdicts.wait_for_acknowledgments(Duration::ZERO).is_ok()
    }
}

fn request(own: [u8; 16], sample: &mut Sample<Request>) -> Option<Arrived> {
    if let Some(request) = sample.data.take() {
        // One that names no manager is of a participant that has not found a manager yet.
        let is_meant = [own, [0; 16]].contains(&request.manager);
        return Some(match is_meant {
            true => Arrived::Request(Box::new(request), Asker::Anyone),
            false => Arrived::Elsewhere(request.pair()),
        });
    }
    let key = sample.key.take()?;
    (sample.info.instance_state != InstanceState::Alive).then(|| Arrived::Withdrawn(Box::new(key)))
}

fn requests(
    participant: &DomainParticipant,
    subscriber: &Subscriber,
    most_of_participant: usize,
    waker: &Arc<Notify>,
) -> Result<DataReader<Request>, Error> {
    reader(participant, subscriber, (REQUEST_TOPIC, REQUEST_TYPE), waker, |qos| {
        qos.endpoint.reliability = Reliability::RELIABLE;
        qos.endpoint.durability = Durability::TransientLocal;
        let most = most_of_participant.saturating_mul(2).max(HEARD).saturating_mul(PART);
        qos.instance_limit = u32::try_from(most).unwrap_or(u32::MAX);
        qos.byte_limit = most.saturating_mul(ABOUT_A_REQUEST);
    })
}

pub(crate) fn reader<T: DdsType + Send + Sync + 'static>(
    participant: &DomainParticipant,
    subscriber: &Subscriber,
    (name, kind): (&str, &str),
    waker: &Arc<Notify>,
    adjust: impl FnOnce(&mut DataReaderQos),
) -> Result<DataReader<T>, Error> {
    let topic = participant.create_topic::<T>(name, kind, QosKind::Default, None, NO_STATUS)?;
    let mut qos = subscriber.get_default_datareader_qos();
    qos.endpoint.history = History::KeepLast(1);
    adjust(&mut qos);
    let listener = Arc::new(Waker(Arc::clone(waker)));
    let mask = StatusMask::DATA_AVAILABLE | StatusMask::SAMPLE_REJECTED;
    subscriber.create_datareader::<T>(&topic, QosKind::Specific(qos), Some(listener), mask)
}

fn writer(
    participant: &DomainParticipant,
    publisher: &Publisher,
    most: usize,
) -> Result<DataWriter<Verdict>, Error> {
    let topic = participant.create_topic::<Verdict>(
        VERDICT_TOPIC,
        VERDICT_TYPE,
        QosKind::Default,
        None,
        NO_STATUS,
    )?;
    let mut qos = publisher.get_default_datawriter_qos();
    // The daemon does not wait for room: it tells again later.
    qos.endpoint.reliability = Reliability { max_blocking_time: Duration::ZERO, ..Reliability::RELIABLE };
    qos.endpoint.durability = Durability::TransientLocal;
    qos.endpoint.history = History::KeepLast(1);
    // What was said holds for its lease, also when the manager ends: another start of it takes over.
    qos.writer_data_lifecycle.autodispose_unregistered_instances = false;
    let largest = Verdict::MAX_SERIALIZED_SIZE_XCDR2.unwrap_or(2 * MOST_TEXT) + ABOUT_A_SAMPLE;
    qos.byte_limit = most.saturating_mul(largest).max(LEAST_BYTES);
    // Those that are over and not yet acknowledged are there besides.
    qos.instance_limit = u32::try_from(most.saturating_mul(2)).unwrap_or(u32::MAX);
    publisher.create_datawriter::<Verdict>(&topic, QosKind::Specific(qos), None, NO_STATUS)
}
