//! Readers of the bridge, for writers of its site.
use std::collections::BTreeMap;
use std::sync::mpsc;

use dds::qos::{DataReaderQos, DataRepresentation, Durability, History, ReliabilityKind, SubscriberQos};
use dds::serialized::{Request, Sample};
use dds::{
    Condition, DomainParticipant, GuardCondition, Guid, InstanceState, NO_STATUS, QosKind, RawDataReader,
    ReadCondition, States, WaitSet,
};
use wire::EntityKind;
use wire::discovery::EndpointData;
use zenoh_routes::{Attachment, Bridge, BridgeId, Kind};

use crate::Failure;
use crate::types::{self, Told};

/// Most samples that wait in a reader until the bridge takes them; more wait in their reliable writers.
const MOST_SAMPLES: u32 = 1_024;

/// A line whose type is asked for, or known.
type Typed = (u64, EndpointData, Option<Told>);

/// All readers.
pub(crate) struct Lines {
    open: BTreeMap<u64, Line>,
    /// Lines that wait for their type.
    waiting: BTreeMap<u64, ()>,
    /// Asking takes time, in which samples come: a thread of its own does it.
    ask: mpsc::Sender<(u64, EndpointData)>,
    answers: mpsc::Receiver<Typed>,
    samples: Vec<Sample>,
}

struct Line {
    reader: RawDataReader,
    news: ReadCondition,
    /// Instances are told apart.
    knows_keys: bool,
    /// Samples wait in the reader, because what was taken before waits to be sent.
    is_paused: bool,
}

impl Lines {
    pub(crate) fn new(participant: &DomainParticipant, told: &GuardCondition) -> Self {
        let (ask, asked) = mpsc::channel::<(u64, EndpointData)>();
        let (answer, answers) = mpsc::channel();
        let (participant, told) = (participant.clone(), told.clone());
        std::thread::spawn(move || {
            for (line, like) in asked {
                let form = Told::ask(&participant, &like);
                if answer.send((line, like, form)).is_err() {
                    return;
                }
                told.set_trigger_value(true);
            }
        });
        Self { open: BTreeMap::new(), waiting: BTreeMap::new(), ask, answers, samples: Vec::new() }
    }

    /// Opens a reader, once the type of a topic with a key is known.
    pub(crate) fn open(
        &mut self,
        participant: &DomainParticipant,
        waits: &WaitSet,
        line: u64,
        like: EndpointData,
    ) -> Result<(), Failure> {
        if is_keyed(&like) && like.type_information.is_some() {
            self.waiting.insert(line, ());
            // The thread ends with this.
            let _ = self.ask.send((line, like));
            return Ok(());
        }
        self.make(participant, waits, line, &like, None)
    }

    /// Opens those whose types have been told.
    pub(crate) fn open_told(
        &mut self,
        participant: &DomainParticipant,
        waits: &WaitSet,
    ) -> Vec<Result<(), Failure>> {
        let mut done = Vec::new();
        while let Ok((line, like, form)) = self.answers.try_recv() {
            if self.waiting.remove(&line).is_some() {
                done.push(self.make(participant, waits, line, &like, form));
            }
        }
        done
    }

    fn make(
        &mut self,
        participant: &DomainParticipant,
        waits: &WaitSet,
        line: u64,
        like: &EndpointData,
        form: Option<Told>,
    ) -> Result<(), Failure> {
        let keyed = is_keyed(like);
        let knows_keys = keyed && form.is_some();
        if keyed && !knows_keys {
            eprintln!(
                "punctual-bridge: nothing tells the type of the topic {:?}: its samples cross, but not which instance they are of, nor the end of instances",
                like.topic_name
            );
        }
        let topic = participant.create_raw_topic(&like.topic_name, &like.type_name, QosKind::Default)?;
        let group = SubscriberQos { partition: like.qos.partition.clone(), ..SubscriberQos::default() };
        let subscriber = participant.create_subscriber(QosKind::Specific(group), None, NO_STATUS)?;
        let mut qos = DataReaderQos::default();
        qos.endpoint.reliability = like.qos.reliability;
        if like.qos.reliability.kind == ReliabilityKind::Reliable {
            qos.endpoint.reliability = dds::qos::Reliability::RELIABLE;
            qos.endpoint.resource_limits.max_samples = Some(MOST_SAMPLES);
        }
        qos.endpoint.durability = like.qos.durability.min(Durability::TransientLocal);
        qos.endpoint.ownership = like.qos.ownership;
        qos.endpoint.history = History::KeepAll;
        qos.endpoint.representation = vec![DataRepresentation::XCDR1, DataRepresentation::XCDR2];
        qos.endpoint.type_consistency.ignore_member_names = true;
        let support = form.map_or_else(|| types::unknown(keyed), |form| form.support());
        let reader =
            subscriber.create_raw_datareader(&topic, support, QosKind::Specific(qos), None, NO_STATUS)?;
        let news = reader.create_readcondition(States::ANY);
        waits.attach_condition(Condition::from(news.clone()))?;
        self.open.insert(line, Line { reader, news, knows_keys, is_paused: false });
        Ok(())
    }

    /// Closes a reader.
    pub(crate) fn close(&mut self, participant: &DomainParticipant, waits: &WaitSet, line: u64) {
        self.waiting.remove(&line);
        let Some(Line { reader, news, is_paused, .. }) = self.open.remove(&line) else { return };
        if !is_paused {
            let _ = waits.detach_condition(&Condition::from(news));
        }
        // What is deleted with the participant at the latest.
        let (subscriber, topic) = (reader.get_subscriber().clone(), reader.get_topicdescription());
        let _ = subscriber.delete_contained_entities();
        drop(reader);
        let _ = participant.delete_subscriber(&subscriber);
        let _ = participant.delete_topic(&topic);
    }

    /// Hands what has come to the bridge.
    pub(crate) fn take(&mut self, bridge: &mut Bridge, waits: &WaitSet) -> Result<(), Failure> {
        let mut samples = std::mem::take(&mut self.samples);
        for (number, line) in &mut self.open {
            // What its connection does not take yet waits in the reader, and when that is full, in the writers of the site.
            if line.pause(!bridge.has_room(*number), waits)? {
                continue;
            }
            line.reader.access_serialized(&Request::TAKE, &mut samples)?;
            // They come by instance; each writer is told in the order in which it wrote.
            let mut order: Vec<usize> = (0..samples.len()).collect();
            order.sort_by_key(|at| {
                samples.get(*at).map(|sample| (sample.info.publication_handle, sample.info.sequence_number))
            });
            for at in order {
                if let Some((attachment, payload)) = line.told(&samples, at) {
                    bridge.taken(*number, attachment, payload);
                }
            }
            line.reader.recycle(samples.drain(..));
        }
        self.samples = samples;
        Ok(())
    }
}

impl Line {
    /// Whether samples stay in the reader from now on, and wake nothing; gives it back.
    fn pause(&mut self, is_paused: bool, waits: &WaitSet) -> Result<bool, Failure> {
        if self.is_paused != is_paused {
            let news = Condition::from(self.news.clone());
            match is_paused {
                true => waits.detach_condition(&news)?,
                false => waits.attach_condition(news)?,
            }
            self.is_paused = is_paused;
        }
        Ok(is_paused)
    }

    /// What a sample tells, if it is to be told at other sites.
    fn told<'a>(&self, samples: &'a [Sample], at: usize) -> Option<(Attachment, &'a [u8])> {
        let sample = samples.get(at)?;
        let info = &sample.info;
        // That a writer is gone is told otherwise.
        if info.sequence_number.0 == 0 {
            return None;
        }
        let (kind, payload) = match (&sample.payload, &sample.key) {
            (Some(payload), _) => (Kind::Sample, payload.bytes()),
            (None, Some(key)) if self.knows_keys => (ended(samples, at), key.bytes()),
            (None, _) => return None,
        };
        let attachment = Attachment {
            kind,
            bridge: BridgeId([0; 16]),
            number: 0,
            writer: Guid::from_bytes(info.publication_handle.to_bytes()),
            sequence: info.sequence_number,
            source: info.source_timestamp,
            hash: self.knows_keys.then(|| info.instance_handle.to_bytes()),
            related: info.related,
        };
        Some((attachment, payload))
    }
}

/// How an instance ended at this place. The state that came with it is that of now; what came after it in the same batch shows what it was then.
fn ended(samples: &[Sample], at: usize) -> Kind {
    let Some(end) = samples.get(at) else { return Kind::Disposed };
    let next = samples.iter().skip(at + 1).find(|next| next.info.instance_handle == end.info.instance_handle);
    let is_disposed = match next {
        Some(next) => next.info.no_writers_generation_count == end.info.no_writers_generation_count,
        None => end.info.instance_state != InstanceState::NotAliveNoWriters,
    };
    if is_disposed { Kind::Disposed } else { Kind::Unregistered }
}

/// True for an endpoint of a topic with a key.
pub(crate) fn is_keyed(data: &EndpointData) -> bool {
    matches!(data.guid.entity_id.kind(), EntityKind::WriterWithKey | EntityKind::ReaderWithKey)
}
