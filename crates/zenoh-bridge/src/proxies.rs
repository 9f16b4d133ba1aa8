//! Writers of the bridge, which stand for writers of other sites.
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use dds::qos::{DataWriterQos, Durability, LivelinessKind, Presentation, PublisherQos};
use dds::serialized::InstanceOf;
use dds::xtypes::Described;
use dds::{
    Bytes, DomainParticipant, Duration, Error, NO_STATUS, QosKind, RawDataWriter, ReturnCode, Timestamp,
    WriteOptions,
};
use wire::Guid;
use wire::discovery::EndpointData;
use zenoh_routes::{Kind, Message, ProxyId};

use crate::Failure;
use crate::lines::is_keyed;
use crate::types::{self, ByHash, Next};

/// Most messages that wait for a reader that does not keep up.
const MOST_WAITING: usize = 16_384;
/// Most bytes of them, of all writers together.
const MOST_WAITING_BYTES: usize = 64 << 20;
/// Most types that are remembered.
const MOST_TYPES: usize = 4_096;
/// How often is looked at a writer that is to end, whose readers have not acknowledged all.
const MOST_LOOKS: u32 = 100;

/// All writers.
#[derive(Default)]
pub(crate) struct Proxies {
    open: BTreeMap<ProxyId, Proxy>,
    /// Writers that are made once it is known what their type is, by what is announced of it, with the messages for them so far.
    untold: BTreeMap<Vec<u8>, BTreeMap<ProxyId, Untold>>,
    /// Types that bridges have told, by what is announced of them.
    types: BTreeMap<Vec<u8>, Arc<Described>>,
    /// To be deleted once their readers have all.
    ending: Vec<(Proxy, u32)>,
    /// Bytes of messages that wait.
    bytes: usize,
    /// Messages that were not written, because readers did not keep up or the bytes are no sample.
    pub(crate) refused: u64,
}

/// What a writer is to be like whose type is not told yet, and messages for it.
type Untold = (EndpointData, VecDeque<Message>);

struct Proxy {
    writer: RawDataWriter,
    next: Option<Next>,
    waiting: VecDeque<Message>,
    /// The operator knows that its readers do not keep up.
    has_told: bool,
    /// Its liveliness is that of the bridge.
    is_manual: bool,
}

impl Proxies {
    /// Makes a writer like one of another site, at once or once its type is told. True if the type is to be asked for, and told by [`Proxies::told`].
    pub(crate) fn open(
        &mut self,
        participant: &DomainParticipant,
        proxy: ProxyId,
        like: EndpointData,
        can_ask: bool,
    ) -> Result<bool, Failure> {
        let Some(announced) = like.type_information.clone().filter(|_| can_ask) else {
            return self.make(participant, proxy, &like, None).map(|()| false);
        };
        if let Some(known) = self.types.get(&announced).cloned() {
            return self.make(participant, proxy, &like, Some(known)).map(|()| false);
        }
        let untold = self.untold.entry(announced).or_default();
        untold.insert(proxy, (like, VecDeque::new()));
        Ok(untold.len() == 1)
    }

    /// What a bridge has told of a type; `None` if it did not.
    pub(crate) fn told(
        &mut self,
        participant: &DomainParticipant,
        announced: &[u8],
        told: Option<Arc<Described>>,
    ) -> Result<(), Failure> {
        if let Some(told) = &told {
            if self.types.len() >= MOST_TYPES {
                self.types.clear();
            }
            self.types.insert(announced.to_vec(), Arc::clone(told));
        }
        let mut done = Ok(());
        for (proxy, (like, early)) in self.untold.remove(announced).unwrap_or_default() {
            done = done.and(self.make(participant, proxy, &like, told.clone()));
            for message in early {
                self.bytes = self.bytes.saturating_sub(message.cost());
                self.write(proxy, message);
            }
        }
        done
    }

    fn make(
        &mut self,
        participant: &DomainParticipant,
        proxy: ProxyId,
        like: &EndpointData,
        told: Option<Arc<Described>>,
    ) -> Result<(), Failure> {
        let mut qos = DataWriterQos { endpoint: like.qos.clone(), ..DataWriterQos::default() };
        // That a bridge ends says nothing about what the samples are about.
        qos.writer_data_lifecycle.autodispose_unregistered_instances = false;
        let defaults = DataWriterQos::default().endpoint;
        let endpoint = &mut qos.endpoint;
        endpoint.durability = endpoint.durability.min(Durability::TransientLocal);
        endpoint.presentation = Presentation::default();
        endpoint.resource_limits = defaults.resource_limits;
        endpoint.time_based_filter = defaults.time_based_filter;
        // What cannot be written at once is tried again later, while others go on.
        endpoint.reliability.max_blocking_time = Duration::from_millis(1);
        let is_manual = endpoint.liveliness.kind != LivelinessKind::Automatic;
        let partition = std::mem::take(&mut endpoint.partition);
        let group_data = std::mem::take(&mut endpoint.group_data);
        endpoint.topic_data.clear();
        let (name, type_name) = (&like.topic_name, &like.type_name);
        let topic = match told {
            Some(told) => participant.create_described_topic(name, type_name, told, QosKind::Default)?,
            None => participant.create_raw_topic(name, type_name, QosKind::Default)?,
        };
        let group = PublisherQos { partition, group_data, ..PublisherQos::default() };
        let publisher = participant.create_publisher(QosKind::Specific(group), None, NO_STATUS)?;
        let next = is_keyed(like).then(Next::default);
        let support: types::Support = match &next {
            Some(next) => Box::new(ByHash(next.clone())),
            None => types::unknown(false),
        };
        let writer =
            publisher.create_raw_datawriter(&topic, support, QosKind::Specific(qos), None, NO_STATUS)?;
        self.open.insert(proxy, Proxy { writer, next, waiting: VecDeque::new(), has_told: false, is_manual });
        Ok(())
    }

    /// Ends a writer, once its readers have all that it wrote.
    pub(crate) fn close(&mut self, proxy: ProxyId) {
        if let Some(proxy) = self.open.remove(&proxy) {
            self.ending.push((proxy, 0));
        }
        for untold in self.untold.values_mut() {
            if let Some((_, early)) = untold.remove(&proxy) {
                self.refused += early.len() as u64;
                let bytes: usize = early.iter().map(Message::cost).sum();
                self.bytes = self.bytes.saturating_sub(bytes);
            }
        }
    }

    /// Writes a message, or keeps it until there is room.
    pub(crate) fn write(&mut self, proxy: ProxyId, message: Message) {
        let Some(proxy) = self.open.get_mut(&proxy) else {
            return self.write_early(proxy, message);
        };
        self.bytes = self.bytes.saturating_add(message.cost());
        proxy.waiting.push_back(message);
        // Behind others it waits for its turn.
        if proxy.waiting.len() == 1 {
            self.refused += proxy.flush(&mut self.bytes);
        }
        while proxy.waiting.len() > MOST_WAITING || self.bytes > MOST_WAITING_BYTES {
            let Some(oldest) = proxy.waiting.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(oldest.cost());
            self.refused += 1;
            if !std::mem::replace(&mut proxy.has_told, true) {
                eprintln!(
                    "punctual-bridge: readers of the topic {:?} do not keep up: samples of other sites are dropped before they have them, the oldest first",
                    proxy.writer.get_topic().get_name()
                );
            }
        }
    }

    /// Keeps a message for a writer that is made once its type is told.
    fn write_early(&mut self, proxy: ProxyId, message: Message) {
        let Some((_, early)) = self.untold.values_mut().find_map(|untold| untold.get_mut(&proxy)) else {
            // It could not be opened.
            self.refused += 1;
            return;
        };
        self.bytes = self.bytes.saturating_add(message.cost());
        early.push_back(message);
        while early.len() > MOST_WAITING || self.bytes > MOST_WAITING_BYTES {
            let Some(oldest) = early.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(oldest.cost());
            self.refused += 1;
        }
    }

    /// Writes what waits, asserts liveliness, deletes what has ended. True if something waits still.
    pub(crate) fn go_on(&mut self, participant: &DomainParticipant) -> bool {
        let mut waits = false;
        for proxy in self.open.values_mut() {
            self.refused += proxy.flush(&mut self.bytes);
            waits |= !proxy.waiting.is_empty();
            if proxy.is_manual {
                let _ = proxy.writer.assert_liveliness();
            }
        }
        for (mut proxy, looks) in std::mem::take(&mut self.ending) {
            self.refused += proxy.flush(&mut self.bytes);
            let has_all =
                proxy.waiting.is_empty() && proxy.writer.wait_for_acknowledgments(Duration::ZERO).is_ok();
            if has_all || looks >= MOST_LOOKS {
                let lost: usize = proxy.waiting.iter().map(Message::cost).sum();
                self.bytes = self.bytes.saturating_sub(lost);
                self.refused += proxy.waiting.len() as u64;
                proxy.delete(participant);
            } else {
                self.ending.push((proxy, looks + 1));
            }
        }
        waits || !self.ending.is_empty()
    }
}

impl Proxy {
    /// Writes what waits, as far as there is room, and takes it off `bytes`; how many messages were refused for good.
    fn flush(&mut self, bytes: &mut usize) -> u64 {
        let mut refused = 0;
        while let Some(message) = self.waiting.front() {
            match self.write(message) {
                Ok(()) => {}
                Err(error) if error.code == ReturnCode::Timeout => break,
                // The end of an instance that began before this writer did.
                Err(error)
                    if message.attachment.kind != Kind::Sample
                        && matches!(
                            error.code,
                            ReturnCode::BadParameter | ReturnCode::PreconditionNotMet
                        ) => {}
                Err(_) => refused += 1,
            }
            *bytes = bytes.saturating_sub(message.cost());
            self.waiting.pop_front();
        }
        refused
    }

    fn write(&self, message: &Message) -> Result<(), Error> {
        let attachment = &message.attachment;
        let hash = attachment.hash.unwrap_or_default();
        if let Some(next) = &self.next {
            next.set(hash, if attachment.kind == Kind::Sample { &[] } else { &message.payload });
        }
        let is_foreign = attachment.writer == Guid::UNKNOWN;
        let time =
            (!is_foreign).then_some(attachment.source).filter(|time| *time != Timestamp::from_nanos(0));
        let done = match attachment.kind {
            Kind::Sample => {
                let bytes = Bytes::from(message.payload.to_vec());
                let options = WriteOptions {
                    source_timestamp: time,
                    related: attachment.related,
                    ..WriteOptions::default()
                };
                self.writer.write_serialized(&bytes, &options)
            }
            Kind::Disposed => self.writer.dispose_of(InstanceOf::CanonicalKey(&hash), time),
            Kind::Unregistered => self.writer.unregister_of(InstanceOf::CanonicalKey(&hash), time),
            Kind::WriterGone | Kind::Head => return Ok(()),
        };
        done.map(|_| ())
    }

    fn delete(self, participant: &DomainParticipant) {
        let (publisher, topic) = (self.writer.get_publisher().clone(), self.writer.get_topic());
        // What is deleted with the participant at the latest.
        let _ = publisher.delete_datawriter(&self.writer);
        drop(self);
        let _ = participant.delete_publisher(&publisher);
        let _ = participant.delete_topic(&topic);
    }
}
