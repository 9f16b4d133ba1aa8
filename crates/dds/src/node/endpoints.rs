//! Making, changing and deleting endpoints.
use std::sync::Arc;

use dcps::qos::{DataReaderQos, DataWriterQos};
use dcps::reader::DataReader;
use dcps::writer::DataWriter;
use dcps::{Error, ReturnCode, TypeSupport};
use rtps::reader::{Reader, ReaderConfig};
use rtps::writer::WriterConfig;
use wire::discovery::EndpointData;
use wire::qos::{EndpointQos, ReliabilityKind};
use wire::{EntityId, EntityKind, Guid};

use super::Node;
use super::reader::ReaderCell;
use super::watch::Watch;
use super::writer::WriterCell;

/// What an endpoint is for.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) topic_name: String,
    pub(crate) type_name: String,
    /// Largest serialized sample, encapsulation header included, if the type has a bound.
    pub(crate) max_serialized_size: Option<u32>,
    /// The entity id of its publisher or subscriber.
    pub(crate) group: Option<EntityId>,
}

impl Node {
    /// Makes a writer, announces and matches it.
    pub(crate) fn create_writer(
        &self,
        subject: Subject,
        qos: DataWriterQos,
        types: Box<dyn TypeSupport + Send>,
        watch: Arc<Watch>,
    ) -> Result<Arc<WriterCell>, Error> {
        let kind = if types.has_key() { EntityKind::WriterWithKey } else { EntityKind::WriterNoKey };
        let guid = Guid::new(self.prefix, self.next_id(kind));
        let mut config = WriterConfig::new(guid, true);
        config.max_datagram = self.max_datagram.min(config.max_datagram);
        let endpoint = qos.endpoint.clone();
        let machine = DataWriter::new(self.host.now(), config, qos, types)?;
        let cell = Arc::new(WriterCell::new(machine, watch));
        self.routes.change(|routes| routes.writers.insert(guid.entity_id, Arc::clone(&cell)));
        self.announce(self.data(guid, subject, endpoint))
            .inspect_err(|_| drop(self.routes.change(|routes| routes.writers.remove(&guid.entity_id))))?;
        Ok(cell)
    }

    /// Makes a reader, announces and matches it.
    pub(crate) fn create_reader(
        &self,
        subject: Subject,
        qos: DataReaderQos,
        types: Box<dyn TypeSupport + Send>,
        watch: Arc<Watch>,
    ) -> Result<Arc<ReaderCell>, Error> {
        let kind = if types.has_key() { EntityKind::ReaderWithKey } else { EntityKind::ReaderNoKey };
        let guid = Guid::new(self.prefix, self.next_id(kind));
        let reliable = qos.endpoint.reliability.kind == ReliabilityKind::Reliable;
        let endpoint = qos.endpoint.clone();
        let cache = DataReader::new(guid, qos, types)?;
        let rtps = Reader::new(ReaderConfig::new(guid, reliable));
        let cell = Arc::new(ReaderCell::new(rtps, cache, watch));
        self.routes.change(|routes| routes.readers.insert(guid.entity_id, Arc::clone(&cell)));
        let receive_buffer = self.receive_buffer.load(std::sync::atomic::Ordering::Relaxed);
        let data = EndpointData {
            receive_buffer: (receive_buffer > 0).then_some(receive_buffer),
            ..self.data(guid, subject, endpoint)
        };
        self.announce(data)
            .inspect_err(|_| drop(self.routes.change(|routes| routes.readers.remove(&guid.entity_id))))?;
        Ok(cell)
    }

    fn data(&self, guid: Guid, subject: Subject, qos: EndpointQos) -> EndpointData {
        EndpointData {
            max_serialized_size: subject.max_serialized_size,
            group: subject.group,
            ..EndpointData::new(guid, subject.topic_name, subject.type_name, qos)
        }
    }

    fn announce(&self, data: EndpointData) -> Result<(), Error> {
        if self.is_closed() {
            return Err(deleted("create an endpoint"));
        }
        let now = self.host.now();
        self.command(|work| {
            work.discovery = true;
            self.lock_discovery().put_endpoint(now, data).map_err(|error| {
                Error::new(
                    ReturnCode::OutOfResources,
                    "announce an endpoint",
                    error.to_string(),
                    "delete endpoints that are not needed, or shorten USER_DATA, TOPIC_DATA and GROUP_DATA",
                )
            })
        })
    }

    /// Announces another QoS of an endpoint and matches it anew.
    pub(crate) fn announce_qos(&self, guid: Guid, qos: EndpointQos) -> Result<(), Error> {
        let data = {
            let discovery = self.lock_discovery();
            let known = discovery.endpoint(guid).ok_or_else(|| deleted("set_qos"))?;
            EndpointData { qos, ..EndpointData::clone(known) }
        };
        self.announce(data)
    }

    /// Unmatches and forgets a writer; later calls of it say that it was deleted.
    pub(crate) fn delete_writer(&self, cell: &Arc<WriterCell>) {
        self.retract(cell.guid);
        self.routes.change(|routes| routes.writers.remove(&cell.guid.entity_id));
        cell.lock().deleted = true;
        cell.wake_blocked();
        cell.watch.wake_waiters();
        self.timers.forget(cell.guid.entity_id, &cell.alarm);
    }

    /// Unmatches and forgets a reader; later calls of it say that it was deleted.
    pub(crate) fn delete_reader(&self, cell: &Arc<ReaderCell>) {
        self.retract(cell.guid);
        self.routes.change(|routes| routes.readers.remove(&cell.guid.entity_id));
        cell.lock().deleted = true;
        cell.watch.wake_waiters();
        self.timers.forget(cell.guid.entity_id, &cell.alarm);
    }

    fn retract(&self, guid: Guid) {
        let now = self.host.now();
        self.command(|work| {
            self.lock_discovery().remove_endpoint(now, guid.entity_id);
            work.discovery = true;
        });
    }
}

fn deleted(operation: &'static str) -> Error {
    Error::new(
        ReturnCode::AlreadyDeleted,
        operation,
        "the participant or the endpoint was deleted",
        "do not use an entity after it, or its participant, was deleted",
    )
}
