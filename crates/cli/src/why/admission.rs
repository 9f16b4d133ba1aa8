//! What is asked of resource managers in the domain, and what they say.
use dds::qos::{DataReaderQos, Durability, History, Reliability};
use dds::{DataReader, DdsType, DomainParticipant, NO_STATUS, QosKind, States};
use wire::admission::{
    MEASURED_TOPIC, MEASURED_TYPE, Measured, REQUEST_TOPIC, REQUEST_TYPE, Request, VERDICT_TOPIC,
    VERDICT_TYPE, Verdict,
};

use wire::discovery::EndpointData;
use wire::{Guid, GuidPrefix};

use crate::exit::Failure;
use crate::explain::Admission;

/// Readers of the three topics.
pub(super) struct Watch {
    requests: DataReader<Request>,
    verdicts: DataReader<Verdict>,
    measured: DataReader<Measured>,
}

impl Watch {
    /// Reads them, as soon as a reader asks for a latency, or a resource manager is there.
    pub(super) fn begin(participant: &DomainParticipant) -> Result<Option<Self>, Failure> {
        let endpoints = participant.get_discovered_endpoints();
        let decides = |data: &EndpointData| {
            let tells = data.topic_name == VERDICT_TOPIC && data.guid.entity_id.is_writer();
            data.requested_assurance.is_some() || tells
        };
        if !endpoints.iter().any(|data| decides(data)) {
            return Ok(None);
        }
        Ok(Some(Self {
            requests: reader(participant, (REQUEST_TOPIC, REQUEST_TYPE), true, History::KeepLast(1))?,
            verdicts: reader(participant, (VERDICT_TOPIC, VERDICT_TYPE), true, History::KeepAll)?,
            measured: reader(participant, (MEASURED_TOPIC, MEASURED_TYPE), false, History::KeepLast(1))?,
        }))
    }

    /// What was said last about each pair.
    pub(super) fn seen(&self) -> Result<Admission, Failure> {
        Ok(Admission {
            requests: newest(&self.requests)?,
            verdicts: self.verdicts()?,
            measured: newest(&self.measured)?,
        })
    }
}

impl Watch {
    /// All that managers have said which are still there: several may speak of one pair, and none of them hides another.
    fn verdicts(&self) -> Result<Vec<(GuidPrefix, Verdict)>, Failure> {
        let present = self.verdicts.get_matched_publications();
        let samples = self.verdicts.read(usize::MAX, States::ANY)?;
        let said =
            samples.into_iter().filter_map(|sample| Some((sample.info.publication_handle, sample.data?)));
        let said = said.filter(|(writer, _)| present.contains(writer));
        Ok(said.map(|(writer, verdict)| (Guid::from_bytes(writer.to_bytes()).prefix, verdict)).collect())
    }
}

fn newest<T: DdsType + 'static>(reader: &DataReader<T>) -> Result<Vec<T>, Failure> {
    let samples = reader.read(usize::MAX, States::ANY)?;
    Ok(samples.into_iter().filter_map(|sample| sample.data).collect())
}

fn reader<T: DdsType + Send + Sync + 'static>(
    participant: &DomainParticipant,
    (name, type_name): (&str, &str),
    is_kept: bool,
    history: History,
) -> Result<DataReader<T>, Failure> {
    let topic = participant.create_topic::<T>(name, type_name, QosKind::Default, None, NO_STATUS)?;
    let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
    let mut qos = DataReaderQos::default();
    qos.endpoint.history = history;
    if is_kept {
        qos.endpoint.reliability = Reliability::RELIABLE;
        qos.endpoint.durability = Durability::TransientLocal;
    }
    Ok(subscriber.create_datareader(&topic, QosKind::Specific(qos), None, NO_STATUS)?)
}
