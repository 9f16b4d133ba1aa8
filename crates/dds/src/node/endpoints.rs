//! Making, changing and deleting endpoints.
use std::net::IpAddr;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dcps::qos::{DataReaderQos, DataWriterQos, Sending};
use dcps::reader::DataReader;
use dcps::writer::DataWriter;
use dcps::{Error, ReturnCode, TypeSupport};
use rtps::reader::{Reader, ReaderConfig};
use rtps::writer::WriterConfig;
use wire::admission::{
    OfferedAssurance, OfferedRepairs, RequestedAssurance, RequestedLosses, Socket, instance_owner,
};
use wire::discovery::{ContentFilterProperty, EndpointData};
use wire::qos::{EndpointQos, ReliabilityKind};
use wire::{EntityId, EntityKind, Guid};

use super::Node;
use super::reader::ReaderCell;
use super::watch::Watch;
use super::work::Work;
use super::writer::WriterCell;
use crate::host::{Addresses, FlowSocket};
use crate::lock::lock;
use crate::types::Announced;

/// What an endpoint is for.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) topic_name: String,
    pub(crate) type_name: String,
    /// Largest serialized sample, encapsulation header included, if the type has a bound.
    pub(crate) max_serialized_size: Option<u32>,
    /// Serialized type information, if it is announced.
    pub(crate) type_information: Option<Vec<u8>>,
    /// The entity id of its publisher or subscriber.
    pub(crate) group: Option<EntityId>,
    /// The content filter of a reader.
    pub(crate) content_filter: Option<Box<ContentFilterProperty>>,
}

impl Node {
    /// Makes a writer, which is not announced yet.
    pub(crate) fn make_writer(
        &self,
        qos: DataWriterQos,
        types: Box<dyn TypeSupport + Send>,
        type_bound: Option<u32>,
        watch: Arc<Watch>,
        ty: Option<Arc<Announced>>,
    ) -> Result<Arc<WriterCell>, Error> {
        let kind = if types.has_key() { EntityKind::WriterWithKey } else { EntityKind::WriterNoKey };
        let guid = Guid::new(self.prefix, self.next_id(kind));
        let mut config = WriterConfig::new(guid, true);
        config.max_datagram = self.max_datagram.min(config.max_datagram);
        let assurance = qos.assurance;
        let offered = match &assurance {
            Some(assurance) => {
                // The separation of messages is that of samples: none waits for company beyond LATENCY_BUDGET.
                let sending = self.open_flow(type_bound, types.has_key(), config.max_datagram);
                let contract = assurance.contract(&sending.0).inspect_err(|_| self.close_flow(sending.1))?;
                config.max_datagram = contract.datagram;
                let repairs = self.offered_repairs(assurance, &qos.endpoint, Socket::default());
                Some(OfferedAssurance { contract, source: sending.1, repairs })
            }
            None => None,
        };
        let close = |_: &Error| offered.iter().for_each(|offered| self.close_flows(offered));
        let mut machine = DataWriter::new(self.host.now(), config, qos, types).inspect_err(close)?;
        if let (Some(assurance), Some(offered)) = (&assurance, &offered) {
            machine.set_contract(assurance.samples(type_bound)?, offered.contract.largest_message);
        }
        let cell = Arc::new(WriterCell::new(machine, offered, watch, ty));
        self.routes.change(|routes| routes.writers.insert(guid.entity_id, Arc::clone(&cell)));
        Ok(cell)
    }

    /// Announces and matches a writer for the first time; one that cannot be announced is deleted.
    pub(crate) fn announce_writer(
        &self,
        cell: &Arc<WriterCell>,
        subject: Subject,
        work: &mut Work,
    ) -> Result<(), Error> {
        let qos = cell.lock().machine.qos().endpoint.clone();
        let data =
            EndpointData { offered_assurance: *lock(&cell.offered), ..self.data(cell.guid, subject, qos) };
        let announced = self.announce(data, work);
        if announced.is_err() {
            self.forget_writer(cell);
        }
        announced
    }

    /// Makes a reader, which is not announced yet.
    pub(crate) fn make_reader(
        &self,
        qos: DataReaderQos,
        types: Box<dyn TypeSupport + Send>,
        watch: Arc<Watch>,
    ) -> Result<Arc<ReaderCell>, Error> {
        let kind = if types.has_key() { EntityKind::ReaderWithKey } else { EntityKind::ReaderNoKey };
        let guid = Guid::new(self.prefix, self.next_id(kind));
        let reliable = qos.endpoint.reliability.kind == ReliabilityKind::Reliable;
        let (byte_limit, holds) = (qos.byte_limit, self.host.tells_of_rest());
        let cache = DataReader::new(guid, qos, types)?;
        let rtps = Reader::new(ReaderConfig { byte_limit, holds, ..ReaderConfig::new(guid, reliable) });
        let cell = Arc::new(ReaderCell::new(rtps, cache, watch));
        self.routes.change(|routes| routes.readers.insert(guid.entity_id, Arc::clone(&cell)));
        Ok(cell)
    }

    /// Announces and matches a reader for the first time; one that cannot be announced is deleted.
    pub(crate) fn announce_reader(
        &self,
        cell: &Arc<ReaderCell>,
        subject: Subject,
        work: &mut Work,
    ) -> Result<(), Error> {
        let (DataReaderQos { endpoint: qos, assurance, .. }, largest) = {
            let mut state = cell.lock();
            state.cache.set_instance_owner(instance_owner(&subject.topic_name));
            (state.cache.qos().clone(), state.rtps.config().largest_sample())
        };
        let receive_buffer = self.receive_buffer.load(Ordering::Relaxed);
        let data = EndpointData {
            receive_buffer: (receive_buffer > 0).then_some(receive_buffer),
            largest_sample: u32::try_from(largest).ok(),
            requested_assurance: assurance.map(|wanted| wanted.announced(self.questions(cell, &wanted))),
            ..self.data(cell.guid, subject, qos)
        };
        let announced = self.announce(data, work);
        if announced.is_err() {
            self.forget_reader(cell);
        }
        announced
    }

    fn data(&self, guid: Guid, subject: Subject, qos: EndpointQos) -> EndpointData {
        EndpointData {
            max_serialized_size: subject.max_serialized_size,
            type_information: subject.type_information,
            group: subject.group,
            content_filter: subject.content_filter,
            ..EndpointData::new(guid, subject.topic_name, subject.type_name, qos)
        }
    }

    fn announce(&self, data: EndpointData, work: &mut Work) -> Result<(), Error> {
        if self.is_closed() {
            return Err(deleted("announce an endpoint"));
        }
        work.discovery = true;
        self.lock_discovery().put_endpoint(self.host.now(), data).map_err(|error| {
            Error::new(
                ReturnCode::OutOfResources,
                "announce an endpoint",
                error.to_string(),
                "delete endpoints that are not needed, or shorten USER_DATA, TOPIC_DATA and GROUP_DATA",
            )
        })
    }

    /// Announces another QoS of an endpoint and matches it anew, if there is a difference to be seen.
    fn announce_qos(
        &self,
        guid: Guid,
        qos: EndpointQos,
        offered_assurance: Option<OfferedAssurance>,
        requested_assurance: Option<RequestedAssurance>,
        work: &mut Work,
    ) -> Result<(), Error> {
        let known = self.lock_discovery().endpoint(guid).cloned().ok_or_else(|| deleted("set_qos"))?;
        let known = EndpointData::clone(&known);
        let changed = EndpointData { qos, offered_assurance, requested_assurance, ..known.clone() };
        if changed == known { Ok(()) } else { self.announce(changed, work) }
    }

    /// Changes the QoS of a writer; nothing is changed if it is refused.
    pub(crate) fn change_writer(
        &self,
        cell: &Arc<WriterCell>,
        qos: DataWriterQos,
        work: &mut Work,
    ) -> Result<(), Error> {
        cell.lock().machine.qos().check_change(&qos)?;
        let offered = self.changed_contract(cell, &qos)?;
        self.announce_qos(cell.guid, qos.endpoint.clone(), offered, None, work)?;
        cell.set_priority(qos.endpoint.transport_priority);
        let assurance = qos.assurance;
        cell.lock().machine.set_qos(self.host.now(), qos)?;
        if let (Some(assurance), Some(offered)) = (assurance, offered) {
            *lock(&cell.offered) = Some(offered);
            let samples = assurance.samples(self.type_bound(cell.guid))?;
            cell.lock().machine.set_contract(samples, offered.contract.largest_message);
        }
        work.touch_writer(cell);
        Ok(())
    }

    /// Changes the QoS of a reader; nothing is changed if it is refused.
    pub(crate) fn change_reader(
        &self,
        cell: &Arc<ReaderCell>,
        qos: DataReaderQos,
        work: &mut Work,
    ) -> Result<(), Error> {
        cell.lock().cache.qos().check_change(&qos)?;
        let wanted = qos.assurance.map(|wanted| wanted.announced(self.questions(cell, &wanted)));
        self.announce_qos(cell.guid, qos.endpoint.clone(), None, wanted, work)?;
        cell.lock().cache.set_qos(self.host.now(), qos)?;
        work.touch_reader(cell);
        Ok(())
    }

    /// Announces another content filter of a reader; writers follow.
    pub(crate) fn announce_filter(
        &self,
        reader: Guid,
        content_filter: Box<ContentFilterProperty>,
        work: &mut Work,
    ) -> Result<(), Error> {
        let known = self.lock_discovery().endpoint(reader).cloned();
        let known = known.ok_or_else(|| deleted("set_expression_parameters"))?;
        let content_filter = Some(content_filter);
        if known.content_filter == content_filter {
            return Ok(());
        }
        self.announce(EndpointData { content_filter, ..EndpointData::clone(&known) }, work)
    }

    /// What a writer has to say before it is deleted: the end of its instances, and what LATENCY_BUDGET holds back.
    pub(super) fn last_words(&self, cell: &Arc<WriterCell>, work: &mut Work) {
        {
            let mut state = cell.lock();
            state.machine.end_instances(self.host.now());
            state.machine.rtps_mut().flush();
        }
        work.touch_writer(cell);
    }

    /// Unmatches and forgets a writer; later calls of it say that it was deleted.
    pub(crate) fn delete_writer(&self, cell: &Arc<WriterCell>) {
        self.command(|work| self.last_words(cell, work));
        // From here on no write gets through: without readers there would be room for it.
        cell.lock().deleted = true;
        self.retract(cell.guid);
        self.forget_writer(cell);
    }

    /// The contract that a writer with this QoS announces. A greater datagram than before it does not get.
    fn changed_contract(
        &self,
        cell: &WriterCell,
        qos: &DataWriterQos,
    ) -> Result<Option<OfferedAssurance>, Error> {
        let (Some(assurance), Some(before)) = (&qos.assurance, *lock(&cell.offered)) else { return Ok(None) };
        let has_key = cell.guid.entity_id.kind() == EntityKind::WriterWithKey;
        let sending = Sending {
            type_bound: self.type_bound(cell.guid),
            has_key,
            datagram: before.contract.datagram,
            segmented: self.segments.load(Ordering::Relaxed),
        };
        let contract = assurance.contract(&sending)?;
        let source = before.repairs.map(|repairs| repairs.source).unwrap_or_default();
        let repairs = self.offered_repairs(assurance, &qos.endpoint, source);
        Ok(Some(OfferedAssurance { contract, repairs, ..before }))
    }

    /// The bound of the type of a local writer, as it was announced.
    fn type_bound(&self, writer: Guid) -> Option<u32> {
        self.lock_discovery().endpoint(writer).and_then(|data| data.max_serialized_size)
    }

    /// A socket for a flow, and what it says about sending. Where there is none, port 0 says so.
    fn open_flow(&self, type_bound: Option<u32>, has_key: bool, most: u32) -> (Sending, Socket) {
        let flow = self.host.open_flow();
        let (datagram, segmented) = flow.map_or((most, false), |flow| (flow.max_datagram, flow.trains));
        self.segments.store(segmented, Ordering::Relaxed);
        let sending = Sending { type_bound, has_key, datagram: datagram.min(most), segmented };
        (sending, flow.map(|flow| Socket::from(flow.address)).unwrap_or_default())
    }

    /// A writer's announcement about repairs, if it keeps the rules of bounds with losses: they leave from `source`, or from a new socket if that has no port.
    fn offered_repairs(
        &self,
        assurance: &dcps::qos::OfferedAssurance,
        qos: &EndpointQos,
        source: Socket,
    ) -> Option<OfferedRepairs> {
        let kept = assurance.kept(qos)?;
        let source = if source.port > 0 { source } else { self.host.open_flow()?.address.into() };
        Some(OfferedRepairs { source, kept })
    }

    /// Where the questions of a reader leave that asks for a bound with losses; port 0 if it does not, or there is no socket for it.
    fn questions(&self, cell: &ReaderCell, wanted: &dcps::qos::RequestedAssurance) -> Socket {
        if wanted.losses.is_none() {
            return Socket::default();
        }
        let mut questions = lock(&cell.questions);
        if questions.port == 0 {
            *questions = self.host.open_flow().map(|flow| flow.address.into()).unwrap_or_default();
        }
        *questions
    }

    fn close_flows(&self, offered: &OfferedAssurance) {
        self.close_flow(offered.source);
        if let Some(repairs) = offered.repairs {
            self.close_flow(repairs.source);
        }
    }

    fn close_flow(&self, source: Socket) {
        if let Some(port) = NonZeroU16::new(source.port) {
            self.host.close_flow(port);
        }
    }

    /// Gives writers whose flows leave from an address that is not ours any more a new socket, and announces it.
    pub(super) fn renew_flows(&self, addresses: &Addresses, work: &mut Work) {
        let own = addresses.default_unicast.iter().filter_map(wire::Locator::socket_addr);
        let own: Vec<IpAddr> = own.map(|address| address.ip()).collect();
        self.renew_questions(&own, work);
        for cell in self.routes().writers.values() {
            let Some(before) = *lock(&cell.offered) else { continue };
            let source = before.source.addr().map(|source| source.ip());
            if source.is_some_and(|source| own.contains(&source)) {
                continue;
            }
            self.close_flows(&before);
            // Samples are cut for the interface that there was; where less leaves in one piece there is no flow.
            let found = self.host.open_flow();
            let fits = |flow: &FlowSocket| flow.max_datagram >= before.contract.datagram;
            let flow = found.filter(fits);
            if let (Some(small), None) = (found, flow) {
                self.close_flow(small.address.into());
            }
            let source = flow.map(|flow| Socket::from(flow.address)).unwrap_or_default();
            // Where there was no socket for repairs before, there may be one now.
            let qos = cell.lock().machine.qos().clone();
            let repairs = qos
                .assurance
                .as_ref()
                .and_then(|assurance| self.offered_repairs(assurance, &qos.endpoint, Socket::default()));
            let offered = OfferedAssurance { source, repairs, ..before };
            *lock(&cell.offered) = Some(offered);
            let known = self.lock_discovery().endpoint(cell.guid).cloned();
            if let Some(known) = known.filter(|_| offered != before) {
                let changed =
                    EndpointData { offered_assurance: Some(offered), ..EndpointData::clone(&known) };
                // It is no larger than before, so that it finds room.
                let _ = self.announce(changed, work);
            }
        }
    }

    /// The same for readers whose questions leave from such an address, or have had no socket.
    fn renew_questions(&self, own: &[IpAddr], work: &mut Work) {
        for cell in self.routes().readers.values() {
            let before = *lock(&cell.questions);
            if before.addr().is_some_and(|source| own.contains(&source.ip())) {
                continue;
            }
            let known = self.lock_discovery().endpoint(cell.guid).cloned();
            let Some(known) = known.map(|known| EndpointData::clone(&known)) else { continue };
            let Some(wanted) = known.requested_assurance else { continue };
            let Some(losses) = wanted.losses else { continue };
            self.close_flow(before);
            let after = self.host.open_flow().map(|flow| Socket::from(flow.address)).unwrap_or_default();
            *lock(&cell.questions) = after;
            if after == before {
                continue;
            }
            let losses = Some(RequestedLosses { source: after, ..losses });
            let requested_assurance = Some(RequestedAssurance { losses, ..wanted });
            // It is no larger than before, so that it finds room.
            let _ = self.announce(EndpointData { requested_assurance, ..known }, work);
        }
    }

    fn forget_writer(&self, cell: &Arc<WriterCell>) {
        if let Some(offered) = *lock(&cell.offered) {
            self.close_flows(&offered);
        }
        self.routes.change(|routes| routes.writers.remove(&cell.guid.entity_id));
        cell.lock().deleted = true;
        cell.wake_blocked(self.host());
        cell.watch.wake_waiters();
        self.timers.forget(cell.guid.entity_id, &cell.alarm);
    }

    /// Unmatches and forgets a reader; later calls of it say that it was deleted.
    pub(crate) fn delete_reader(&self, cell: &Arc<ReaderCell>) {
        cell.lock().deleted = true;
        self.retract(cell.guid);
        self.forget_reader(cell);
    }

    fn forget_reader(&self, cell: &Arc<ReaderCell>) {
        self.close_flow(std::mem::take(&mut *lock(&cell.questions)));
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
