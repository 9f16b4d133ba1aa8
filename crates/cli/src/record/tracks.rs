//! The writers whose samples are recorded, and the readers that get them.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc;

use dcps::TypeSupport;
use dcps::reader::{DropReason, Request};
use dds::cdr::Representation;
use dds::qos::{DataReaderQos, Durability, History, SubscriberQos};
use dds::{
    DomainParticipant, GuardCondition, Guid, InstanceHandle, InstanceState, NO_STATUS, QosKind,
    RawDataReader, States, WaitSet,
};
use dynamic::idl;
use recording::{Channel, End};
use wire::EntityKind;
use wire::discovery::EndpointData;

use super::file::File;
use crate::adapt::Adapted;
use crate::exit::Failure;
use crate::qos::QosOptions;
use crate::stop::Stop;
use crate::types::{self, Form};

/// Instances of a track whose keys are remembered.
const MAX_KEYS: usize = 65_536;

/// What becomes of a writer.
enum Found {
    /// Its participant is asked for the type.
    Asked,
    /// Its samples are recorded by the track at this place.
    Track(usize),
    /// Nothing.
    Ignored,
}

/// A writer whose type is asked for, or known.
struct Typed {
    writer: EndpointData,
    form: Option<Form>,
}

/// All that is recorded.
pub(super) struct Tracks {
    tracks: Vec<Track>,
    writers: BTreeMap<Guid, Found>,
    /// Asking takes time, in which samples come: a thread of its own does it.
    ask: mpsc::Sender<EndpointData>,
    answers: mpsc::Receiver<Typed>,
    told: GuardCondition,
    waits: WaitSet,
    samples: Vec<dcps::reader::Sample>,
}

/// Samples of one topic, from writers with one type and one QoS.
struct Track {
    channel: Channel,
    /// What its first writer announces of the type.
    type_information: Option<Vec<u8>>,
    number: Option<u16>,
    reader: RawDataReader,
    support: Option<Box<dyn TypeSupport + Send>>,
    /// Serialized keys: the end of an instance comes without.
    keys: BTreeMap<InstanceHandle, Vec<u8>>,
}

impl Tracks {
    pub(super) fn new(participant: &DomainParticipant, stop: &Stop) -> Result<Self, Failure> {
        let (ask, asked) = mpsc::channel::<EndpointData>();
        let (answer, answers) = mpsc::channel();
        let told = GuardCondition::new();
        let waits = WaitSet::new();
        waits.attach_condition(stop.condition())?;
        waits.attach_condition(told.clone().into())?;
        let (participant, wake) = (participant.clone(), told.clone());
        std::thread::spawn(move || {
            for writer in asked {
                // Without an answer the samples are recorded as they are.
                let form = types::told(&participant, std::slice::from_ref(&writer)).ok().flatten();
                let form = form.or_else(|| Form::known(&writer.type_name));
                if answer.send(Typed { writer, form }).is_err() {
                    return;
                }
                wake.set_trigger_value(true);
            }
        });
        let (tracks, writers, samples) = (Vec::new(), BTreeMap::new(), Vec::new());
        Ok(Self { tracks, writers, ask, answers, told, waits, samples })
    }

    pub(super) const fn waits(&self) -> &WaitSet {
        &self.waits
    }

    /// How many topics are recorded.
    pub(super) fn topics(&self) -> usize {
        self.tracks.iter().map(|track| track.channel.topic.as_str()).collect::<BTreeSet<_>>().len()
    }

    /// Samples that came and are not recorded, or did not come.
    pub(super) fn lost(&self) -> u64 {
        let dropped = |track: &Track| -> u64 {
            // What a filter keeps away is not wanted.
            let reasons = DropReason::ALL.into_iter().filter(|reason| *reason != DropReason::ContentFilter);
            reasons.map(|reason| track.reader.dropped(reason).count).sum()
        };
        self.tracks.iter().map(dropped).sum()
    }

    /// Looks for writers of topics that are wanted, and for answers. `filter` is the filter of a topic.
    pub(super) fn find<'a>(
        &mut self,
        participant: &DomainParticipant,
        wants: impl Fn(&str) -> bool,
        filter: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<(), Failure> {
        self.note(participant, wants);
        self.told.set_trigger_value(false);
        while let Ok(typed) = self.answers.try_recv() {
            let guid = typed.writer.guid;
            let filter = filter(&typed.writer.topic_name);
            let track = self.track(participant, typed, filter)?;
            self.writers.insert(guid, Found::Track(track));
        }
        Ok(())
    }

    /// Says of each writer that is new what becomes of it.
    fn note(&mut self, participant: &DomainParticipant, wants: impl Fn(&str) -> bool) {
        for data in participant.get_discovered_endpoints() {
            if !data.guid.entity_id.is_writer() || self.writers.contains_key(&data.guid) {
                continue;
            }
            let found = if !wants(&data.topic_name) {
                Found::Ignored
            } else if let Some(at) = self.tracks.iter().position(|track| track.is_of(&data)) {
                Found::Track(at)
            } else {
                // The thread ends with this.
                let _ = self.ask.send((*data).clone());
                Found::Asked
            };
            self.writers.insert(data.guid, found);
        }
    }

    /// The track for a writer: that of others like it, or a new one.
    fn track(
        &mut self,
        participant: &DomainParticipant,
        typed: Typed,
        filter: Option<&str>,
    ) -> Result<usize, Failure> {
        let Typed { writer, form } = typed;
        let idl = match &form {
            Some(Form::Described(schema, index)) => {
                idl::text(schema, *index).filter(|text| is_same(&form, text))
            }
            _ => None,
        };
        let keyed = writer.guid.entity_id.kind() == EntityKind::WriterWithKey;
        let channel = Channel {
            topic: writer.topic_name.clone(),
            type_name: writer.type_name.clone(),
            keyed: Some(keyed),
            qos: Some(writer.qos.clone()),
            idl,
        };
        if let Some(found) = self.tracks.iter().position(|track| track.channel == channel) {
            return Ok(found);
        }
        let adapted = Adapted::to(std::slice::from_ref(&writer));
        let form = form.unwrap_or(Form::Octets { keyed });
        let topic = form.topic(participant, &channel.topic, &channel.type_name)?;
        let nothing_asked = QosOptions::default();
        let group =
            SubscriberQos { partition: adapted.partitions(&nothing_asked), ..SubscriberQos::default() };
        let subscriber = participant.create_subscriber(QosKind::Specific(group), None, NO_STATUS)?;
        let mut qos = DataReaderQos::default();
        adapted.ask(&nothing_asked, &mut qos.endpoint);
        qos.endpoint.history = History::KeepAll;
        qos.endpoint.durability = writer.qos.durability.min(Durability::TransientLocal);
        // A filter names members, and writers evaluate it only if names mean something.
        qos.endpoint.type_consistency.ignore_member_names = filter.is_none();
        let (support, qos) = (form.support(), QosKind::Specific(qos));
        let reader = match filter {
            None => subscriber.create_raw_datareader(&topic, support, qos, None, NO_STATUS)?,
            Some(expression) => {
                // Writers of one topic that are not alike have a track each.
                let name = format!("{} filtered {}", channel.topic, self.tracks.len());
                let filtered = participant.create_contentfilteredtopic(&name, &topic, expression, [""; 0])?;
                subscriber.create_raw_datareader(&filtered, support, qos, None, NO_STATUS)?
            }
        };
        self.waits.attach_condition(reader.create_readcondition(States::NOT_READ).into())?;
        let support = (keyed && matches!(form, Form::Described(..))).then(|| form.support());
        let type_information = writer.type_information.as_ref().map(|bytes| bytes.to_vec());
        self.tracks.push(Track {
            channel,
            type_information,
            number: None,
            reader,
            support,
            keys: BTreeMap::new(),
        });
        Ok(self.tracks.len() - 1)
    }

    /// Records what has come.
    pub(super) fn record(
        &mut self,
        participant: &DomainParticipant,
        wants: impl Fn(&str) -> bool,
        file: &mut File,
    ) -> Result<(), Failure> {
        let writer =
            |sample: &dcps::reader::Sample| Guid::from_bytes(sample.info.publication_handle.to_bytes());
        let mut samples = std::mem::take(&mut self.samples);
        for at in 0..self.tracks.len() {
            let Some(track) = self.tracks.get(at) else { break };
            track.reader.access_serialized(&Request::TAKE, &mut samples)?;
            // A writer like others can have come since they were looked for.
            if samples.iter().any(|sample| !self.writers.contains_key(&writer(sample))) {
                self.note(participant, &wants);
            }
            let Some(track) = self.tracks.get_mut(at) else { break };
            for sample in samples.drain(..) {
                // Readers of other tracks get the samples of a writer too, if its QoS is more than they ask for.
                if matches!(self.writers.get(&writer(&sample)), Some(Found::Track(of)) if *of == at) {
                    track.entry(&sample, file)?;
                }
                track.reader.recycle([sample]);
            }
        }
        self.samples = samples;
        Ok(())
    }
}

impl Track {
    /// True for a writer like those that it records.
    fn is_of(&self, writer: &EndpointData) -> bool {
        let Channel { topic, type_name, qos, .. } = &self.channel;
        *topic == writer.topic_name
            && *type_name == writer.type_name
            && qos.as_ref() == Some(&writer.qos)
            && self.type_information.as_deref() == writer.type_information.as_deref()
    }

    fn entry(&mut self, sample: &dcps::reader::Sample, file: &mut File) -> Result<(), Failure> {
        let info = &sample.info;
        let nanos = |time: dds::Timestamp| u64::try_from(time.as_nanos()).unwrap_or(0);
        let (time, published) = (nanos(info.reception_timestamp), nanos(info.source_timestamp));
        let number = match self.number {
            Some(number) => number,
            None => *self.number.insert(file.channel(&self.channel)?),
        };
        match &sample.payload {
            Some(payload) => {
                self.remember(info.instance_handle, payload.bytes());
                file.sample(number, time, published, payload.bytes())
            }
            // That a writer is gone is no change of it.
            None if info.sequence_number.0 == 0 => Ok(()),
            None => {
                let end = match info.instance_state {
                    InstanceState::NotAliveDisposed => End::Disposed,
                    _ => End::Unregistered,
                };
                match self.keys.get(&info.instance_handle) {
                    Some(key) => file.end(number, time, published, end, key),
                    None => Ok(()),
                }
            }
        }
    }

    fn remember(&mut self, instance: InstanceHandle, payload: &[u8]) {
        let Some(support) = &mut self.support else { return };
        if self.keys.len() >= MAX_KEYS || self.keys.contains_key(&instance) {
            return;
        }
        let (mut key, mut bytes) = (Vec::new(), Vec::new());
        let made = support.key(payload, false, &mut key);
        if made.and_then(|()| support.key_payload(&key, Representation::Xcdr1, &mut bytes)).is_ok() {
            self.keys.insert(instance, bytes);
        }
    }
}

/// True if the text is read as the type: it has the same type objects.
fn is_same(form: &Option<Form>, text: &str) -> bool {
    let Some(Form::Described(schema, index)) = form else { return false };
    let name = schema.get(*index).map(dynamic::Definition::name);
    let Ok(again) = idl::parse(text) else { return false };
    let found = again.iter().find(|(_, definition)| Some(definition.name()) == name).map(|(index, _)| index);
    let other = found.and_then(|index| xtypes::describe(&again, index).ok());
    other.is_some() && other == xtypes::describe(schema, *index).ok()
}
