//! A reader of the topic in question: what does it get?
use std::collections::BTreeMap;

use dcps::reader::{Request, Sample};
use dds::{DomainParticipant, Duration, Guid, NO_STATUS, QosKind, RawDataReader};
use wire::discovery::EndpointData;

use super::Arguments;
use crate::adapt::{self, Adapted};
use crate::exit::Failure;
use crate::explain::Received;
use crate::profile::Profile;
use crate::qos::QosOptions;
use crate::types::{Form, TypeOptions};

/// The reader, as soon as there is a writer.
pub(super) struct Probe {
    topic: String,
    form: Option<Form>,
    qos: QosOptions,
    profile: Option<Profile>,
    types: TypeOptions,
    separation: Option<Duration>,
    reader: Option<RawDataReader>,
    samples: u64,
    taken: Vec<Sample>,
    encapsulations: BTreeMap<Guid, u16>,
    unreadable: Option<(u64, String)>,
}

impl Probe {
    pub(super) fn new(
        topic: &str,
        form: Option<Form>,
        profile: Option<Profile>,
        arguments: &Arguments,
    ) -> Self {
        let (qos, separation, types) = arguments.reader_options();
        Self {
            topic: topic.to_owned(),
            form,
            qos: qos.clone(),
            profile,
            types: types.clone(),
            separation,
            reader: None,
            samples: 0,
            taken: Vec::new(),
            encapsulations: BTreeMap::new(),
            unreadable: None,
        }
    }

    /// Takes what has come.
    pub(super) fn look(&mut self, participant: &DomainParticipant) -> Result<(), Failure> {
        if let Some(reader) = &self.reader {
            reader.access_serialized(&Request::TAKE, &mut self.taken)?;
            for sample in &self.taken {
                let Some(payload) = &sample.payload else { continue };
                self.samples = self.samples.saturating_add(1);
                let writer = Guid::from_bytes(sample.info.publication_handle.to_bytes());
                if let Some(header) = payload.bytes().first_chunk::<2>() {
                    self.encapsulations.insert(writer, u16::from_be_bytes(*header));
                }
                // A described type is decoded here: the reader itself looks at keys alone.
                if let Some(Form::Described(schema, index)) = &self.form
                    && let Err(why) = dynamic::Sample::decode(schema, *index, payload.bytes(), false)
                {
                    self.unreadable.get_or_insert_with(|| (0, why.to_string())).0 += 1;
                }
            }
            reader.recycle(self.taken.drain(..));
            return Ok(());
        }
        let endpoints = participant.get_discovered_endpoints();
        let own = participant.prefix();
        let writers: Vec<EndpointData> = endpoints
            .iter()
            .filter(|data| {
                data.guid.entity_id.is_writer() && data.topic_name == self.topic && data.participant != own
            })
            .map(|data| (**data).clone())
            .collect();
        if !writers.is_empty() {
            self.reader = Some(self.read(participant, &Adapted::to(&writers))?);
        }
        Ok(())
    }

    fn read(&self, participant: &DomainParticipant, adapted: &Adapted) -> Result<RawDataReader, Failure> {
        let type_name =
            self.types.type_name.clone().or_else(|| adapted.type_name.clone()).unwrap_or_default();
        let form = self
            .form
            .clone()
            .or_else(|| Form::known(&type_name))
            .unwrap_or(Form::Octets { keyed: adapted.keyed });
        let topic = participant.create_raw_topic(&self.topic, &type_name, QosKind::Default)?;
        let (mut qos, group) = adapt::reader(&self.topic, self.profile.as_ref(), adapted, &self.qos)?;
        if let Some(profile) = &self.profile {
            profile.announce(participant, &topic)?;
        }
        let subscriber = participant.create_subscriber(QosKind::Specific(group), None, NO_STATUS)?;
        qos.endpoint.time_based_filter = self.separation.unwrap_or(qos.endpoint.time_based_filter);
        Ok(subscriber.create_raw_datareader(
            &topic,
            form.support(),
            QosKind::Specific(qos),
            None,
            NO_STATUS,
        )?)
    }

    /// What came, and what not; `None` without a writer.
    pub(super) fn received(&self) -> Option<Received> {
        self.reader.as_ref().map(|reader| Received {
            encapsulations: self.encapsulations.clone(),
            unreadable: self.unreadable.clone(),
            ..Received::by(reader, self.samples)
        })
    }
}
