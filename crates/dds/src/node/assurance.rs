//! Between discovery and the endpoints: pairs that wait for a verdict, and the hidden endpoints by which their participants speak with
//! resource managers and with each other (docs/decisions/0009-admission.md).
//!
//! The gate's lock comes after discovery's and before those of endpoints.
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use dcps::assurance::{Action, Gate, GateCounters, PairAssurance, Way};
use dcps::qos::{DataReaderQos, DataWriterQos};
use dcps::reader::{DropReason, Request as Access, Sample as Octets};
use dcps::status::StatusMask;
use dcps::writer::{InstanceOf, WriteOptions};
use dcps::{CdrTypeSupport, Error};
use rtps::discovery::{Discovery, Event};
use rtps::reader::MatchedWriter;
use rtps::writer::{Body, MatchedReader};
use wire::admission::{
    MEASURED_TOPIC, MEASURED_TYPE, Measured, REQUEST_TOPIC, REQUEST_TYPE, Request, Socket, VERDICT_TOPIC,
    VERDICT_TYPE, Verdict,
};
use wire::cdr::{DdsType, Encoding};
use wire::qos::{Durability, History, Reliability};
use wire::seal::Credentials;
use wire::{Duration, EntityId, Guid, GuidPrefix, Instant, Locator, Now};

use super::Node;
use super::endpoints::Subject;
use super::reader::ReaderCell;
use super::signing::{Signing, is_withdrawal};
use super::timers::Alarm;
use super::watch::{Callback, Watch};
use super::work::Work;
use super::writer::WriterCell;
use crate::bytes::Bytes;
use crate::lock::lock;

/// Names the gate among the timers; no entity has this id.
pub(super) const ALARM: EntityId = EntityId([0, 0, 0, 1]);

/// How often it is told what readers have measured.
const MEASURING: Duration = Duration::from_secs(1);

/// What a participant keeps for the assurance of its endpoints.
pub(super) struct Assurance {
    gate: Mutex<Gate>,
    /// What it signs and whom it believes, if it has keys.
    signing: Option<Signing>,
    /// Some endpoint had ASSURANCE.
    is_used: AtomicBool,
    alarm: Arc<Alarm>,
    /// When readers are looked at next, in nanoseconds.
    measure_at: AtomicU64,
    /// Held while hidden endpoints are made.
    making: Mutex<()>,
    verdicts: OnceLock<Arc<ReaderCell>>,
    /// Requests that others make of our writers.
    heard: OnceLock<Arc<ReaderCell>>,
    requests: OnceLock<Arc<WriterCell>>,
    measured: OnceLock<Arc<WriterCell>>,
}

impl Assurance {
    pub(super) fn new(
        prefix: GuidPrefix,
        patience: Duration,
        credentials: Option<Arc<dyn Credentials>>,
    ) -> Self {
        Self {
            gate: Mutex::new(Gate::new(prefix, patience)),
            signing: credentials.map(|credentials| Signing::new(prefix, credentials)),
            is_used: AtomicBool::new(false),
            alarm: Alarm::new(),
            measure_at: AtomicU64::new(Instant::NEVER.as_nanos()),
            making: Mutex::new(()),
            verdicts: OnceLock::new(),
            heard: OnceLock::new(),
            requests: OnceLock::new(),
            measured: OnceLock::new(),
        }
    }

    /// True for the ids of hidden endpoints.
    fn has(&self, id: EntityId) -> bool {
        let (managers, identity) =
            self.signing.as_ref().map(|signing| (&signing.managers, &signing.identity)).unzip();
        let readers = [&self.verdicts, &self.heard].into_iter().chain(managers).filter_map(OnceLock::get);
        let writers = [&self.requests, &self.measured].into_iter().chain(identity).filter_map(OnceLock::get);
        readers.map(|cell| cell.guid).chain(writers.map(|cell| cell.guid)).any(|guid| guid.entity_id == id)
    }
}

impl Node {
    /// Makes the hidden endpoints that an assured writer needs, if they are not there.
    pub(crate) fn prepare_assured_writer(self: &Arc<Self>, work: &mut Work) -> Result<(), Error> {
        let _making = lock(&self.assurance.making);
        self.assurance.is_used.store(true, Ordering::SeqCst);
        self.prepare_signing(false, work)?;
        self.hidden_reader::<Verdict>(
            &self.assurance.verdicts,
            (VERDICT_TOPIC, VERDICT_TYPE),
            Self::hear,
            work,
        )?;
        self.hidden_reader::<Request>(&self.assurance.heard, (REQUEST_TOPIC, REQUEST_TYPE), Self::hear, work)
    }

    /// Makes the hidden endpoints that an assured reader needs, if they are not there.
    pub(crate) fn prepare_assured_reader(self: &Arc<Self>, work: &mut Work) -> Result<(), Error> {
        let _making = lock(&self.assurance.making);
        self.assurance.is_used.store(true, Ordering::SeqCst);
        self.host.stamp_arrivals();
        self.prepare_signing(true, work)?;
        self.hidden_reader::<Verdict>(
            &self.assurance.verdicts,
            (VERDICT_TOPIC, VERDICT_TYPE),
            Self::hear,
            work,
        )?;
        self.hidden_writer::<Request>(&self.assurance.requests, REQUEST_TOPIC, REQUEST_TYPE, true, work)?;
        self.hidden_writer::<Measured>(&self.assurance.measured, MEASURED_TOPIC, MEASURED_TYPE, false, work)
    }

    pub(super) const fn signing(&self) -> Option<&Signing> {
        self.assurance.signing.as_ref()
    }

    /// The pairs of a local endpoint.
    pub(crate) fn assurance_of(&self, local: EntityId) -> Vec<PairAssurance> {
        lock(&self.assurance.gate).pairs_of(local)
    }

    /// The participant of the resource manager that is asked, and how many there are.
    pub(crate) fn managers(&self) -> (Option<GuidPrefix>, usize) {
        lock(&self.assurance.gate).managers()
    }

    /// What was not believed or not in force.
    pub(crate) fn gate_counters(&self) -> GateCounters {
        let heard = self.assurance.heard.get();
        let unauthorized = heard.map_or(0, |cell| cell.lock().cache.dropped(DropReason::Unauthorized).count);
        GateCounters { unauthorized, ..*lock(&self.assurance.gate).counters() }
    }

    /// True for endpoints that the application has not made.
    pub(crate) fn is_hidden(&self, id: EntityId) -> bool {
        self.assurance.is_used.load(Ordering::SeqCst) && self.assurance.has(id) || self.sessions.has(id)
    }

    pub(super) fn hidden_reader<T: DdsType + Send + Sync + 'static>(
        self: &Arc<Self>,
        place: &OnceLock<Arc<ReaderCell>>,
        (topic, type_name): (&str, &str),
        hear: fn(&Self),
        work: &mut Work,
    ) -> Result<(), Error> {
        if place.get().is_some() {
            return Ok(());
        }
        let mut qos = DataReaderQos::default();
        qos.endpoint.reliability = Reliability::RELIABLE;
        qos.endpoint.durability = Durability::TransientLocal;
        // Of one pair several may speak, managers and liars: none takes the place of another before it is looked at.
        qos.endpoint.history = History::KeepAll;
        let watch = Arc::<Watch>::default();
        let node: Weak<Self> = Arc::downgrade(self);
        let callback: Callback = Arc::new(move |_| {
            if let Some(node) = node.upgrade() {
                hear(&node);
            }
        });
        // Not by `Node::set_callback`: no thread is kept for it, so that threads that wait go on receiving by themselves.
        drop(watch.set_callback(|| (StatusMask::DATA_AVAILABLE, Some(callback))));
        let cell = self.make_reader(qos, Box::new(CdrTypeSupport::<T>::new()), watch)?;
        self.announce_reader(&cell, subject(topic, type_name), work)?;
        let _ = place.set(cell);
        Ok(())
    }

    pub(super) fn hidden_writer<T: DdsType + Send + Sync + 'static>(
        self: &Arc<Self>,
        place: &OnceLock<Arc<WriterCell>>,
        topic: &str,
        type_name: &str,
        is_kept: bool,
        work: &mut Work,
    ) -> Result<(), Error> {
        if place.get().is_some() {
            return Ok(());
        }
        let mut qos = DataWriterQos { byte_limit: MOST_REQUESTS, ..DataWriterQos::default() };
        qos.endpoint.history = History::KeepLast(1);
        if is_kept {
            qos.endpoint.durability = Durability::TransientLocal;
        } else {
            qos.endpoint.reliability = Reliability::BEST_EFFORT;
        }
        let types = Box::new(CdrTypeSupport::<T>::new());
        let cell = self.make_writer(qos, types, None, Arc::default(), None)?;
        self.announce_writer(&cell, subject(topic, type_name), work)?;
        let _ = place.set(cell);
        Ok(())
    }

    /// Takes what managers and readers have published.
    pub(super) fn hear(&self) {
        self.command(|work| {
            let now = self.host.now();
            let verdicts = take(self.assurance.verdicts.get(), now);
            let requests = take(self.assurance.heard.get(), now);
            let discovery = self.lock_discovery();
            let mut gate = lock(&self.assurance.gate);
            if let Some(signing) = self.signing() {
                signing.hear_managers(&mut gate, now);
            }
            for sample in &verdicts {
                let from = Guid::from_bytes(sample.info.publication_handle.to_bytes()).prefix;
                if let Some(signing) = self.signing() {
                    if let Some(verdict) = signing.believed(from, sample, now) {
                        gate.verdict_heard(now.monotonic, from, verdict);
                    }
                    continue;
                }
                match decoded::<Verdict>(sample) {
                    (Some(verdict), _) => gate.verdict_heard(now.monotonic, from, verdict),
                    (None, Some(key)) => {
                        let (writer, reader) = key.pair();
                        gate.verdict_withdrawn(from, writer, reader);
                    }
                    (None, None) => {}
                }
            }
            for sample in &requests {
                let (data, key) = decoded::<Request>(sample);
                match if is_withdrawal(sample) { (None, data) } else { (data, key) } {
                    (Some(request), _) => gate.request_heard(now.monotonic, request),
                    (None, Some(key)) => {
                        let (writer, reader) = key.pair();
                        gate.request_withdrawn(writer, reader);
                    }
                    (None, None) => {}
                }
            }
            self.act(&discovery, &mut gate, now, work);
        });
    }

    /// Keeps what discovery has found back if it waits for a verdict, and ends what waited and is gone; true if there is nothing more to do.
    pub(super) fn waits_at_gate(
        &self,
        discovery: &Discovery<Bytes>,
        event: &Event,
        now: Now,
        work: &mut Work,
    ) -> bool {
        let own = |id: &EntityId| discovery.endpoint(Guid::new(self.prefix, *id));
        match event {
            Event::WriterMatched { reader, writer, paths, .. } => {
                if writer.topic_name == VERDICT_TOPIC {
                    self.at_managers(discovery, now, work, |gate| {
                        if self.signing().is_none_or(|signing| signing.manager_found(gate, writer.guid)) {
                            gate.manager_found(now.monotonic, writer.guid);
                        }
                    });
                }
                let Some(own) = own(reader).filter(|own| Gate::is_for(own, writer)) else {
                    self.leave_gate(discovery, *reader, writer.guid, now, work);
                    return false;
                };
                let way = Way { paths: paths.clone(), direct: None };
                let source = writer.offered_assurance.map(|offered| offered.source);
                let destination = destination(&way, &discovery.config().default_unicast, source);
                let mut gate = lock(&self.assurance.gate);
                gate.writer_found(now.monotonic, own, writer, way, destination);
                self.act(discovery, &mut gate, now, work);
                true
            }
            Event::ReaderMatched { writer, reader, paths, direct, .. } => {
                let Some(own) = own(writer).filter(|own| Gate::is_for(own, reader)) else {
                    self.leave_gate(discovery, *writer, reader.guid, now, work);
                    return false;
                };
                let participant = discovery.participant(reader.guid.prefix);
                let of_participant = participant.map(|found| found.data().default_unicast.as_slice());
                let announced = if reader.unicast.is_empty() {
                    addresses(of_participant.unwrap_or_default())
                } else {
                    addresses(&reader.unicast)
                };
                let way = Way { paths: paths.clone(), direct: *direct };
                let mut gate = lock(&self.assurance.gate);
                gate.reader_found(now.monotonic, own, reader, way, announced);
                self.act(discovery, &mut gate, now, work);
                true
            }
            Event::WriterUnmatched { reader, writer, .. } => {
                if discovery.endpoint(*writer).is_none() {
                    self.at_managers(discovery, now, work, |gate| {
                        if let Some(signing) = self.signing() {
                            signing.manager_lost(gate, *writer);
                        }
                        gate.manager_lost(now.monotonic, *writer);
                    });
                }
                self.leave_gate(discovery, *reader, *writer, now, work);
                false
            }
            Event::ReaderUnmatched { writer, reader } => {
                self.leave_gate(discovery, *writer, *reader, now, work);
                false
            }
            _ => false,
        }
    }

    /// Managers come and go.
    fn at_managers(
        &self,
        discovery: &Discovery<Bytes>,
        now: Now,
        work: &mut Work,
        change: impl FnOnce(&mut Gate),
    ) {
        if self.assurance.is_used.load(Ordering::SeqCst) {
            let mut gate = lock(&self.assurance.gate);
            change(&mut gate);
            self.act(discovery, &mut gate, now, work);
        }
    }

    fn leave_gate(
        &self,
        discovery: &Discovery<Bytes>,
        local: EntityId,
        remote: Guid,
        now: Now,
        work: &mut Work,
    ) {
        if !self.assurance.is_used.load(Ordering::SeqCst) {
            return;
        }
        let mut gate = lock(&self.assurance.gate);
        if gate.lost(local, remote) {
            self.act(discovery, &mut gate, now, work);
        }
    }

    /// Does what is due: leases, patience, measurements.
    pub(super) fn serve_assurance(&self, work: &mut Work) {
        let now = self.host.now();
        let discovery = self.lock_discovery();
        let mut gate = lock(&self.assurance.gate);
        gate.on_timeout(now.monotonic);
        if self.assurance.measure_at.load(Ordering::SeqCst) <= now.monotonic.as_nanos() {
            self.assurance.measure_at.store(Instant::NEVER.as_nanos(), Ordering::SeqCst);
            self.measure(&gate, now, work);
        }
        self.act(&discovery, &mut gate, now, work);
    }

    /// Publishes what assured readers have seen.
    fn measure(&self, gate: &Gate, now: Now, work: &mut Work) {
        let Some(out) = self.assurance.measured.get() else { return };
        let routes = self.routes();
        for (reader, writer, is_one_clock) in gate.assured_readers() {
            let Some(cell) = routes.readers.get(&reader) else { continue };
            let Some(seen) = cell.lock().cache.take_measurement(writer) else { continue };
            let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(0);
            let measured = Measured {
                writer: writer.to_bytes(),
                reader: cell.guid.to_bytes(),
                samples: seen.samples,
                late: seen.late,
                lost: seen.lost,
                worst: nanos(seen.worst),
                median: nanos(seen.median),
                clock_error: if is_one_clock { 0 } else { u64::MAX },
            };
            publish(out, &measured, now);
        }
        work.touch_writer(out);
    }

    /// Does what the gate wants, under discovery's lock, so that it stays in turn with what discovery finds.
    fn act(&self, discovery: &Discovery<Bytes>, gate: &mut Gate, now: Now, work: &mut Work) {
        let routes = self.routes();
        while let Some(action) = gate.poll_action() {
            match action {
                Action::Match { local, remote, way, conduct } if local.is_writer() => {
                    let matched = MatchedReader::found(&remote, &way.paths, way.direct, false);
                    self.match_reader(now, local, (matched, &remote), conduct, work);
                }
                Action::Match { local, remote, way, conduct } => {
                    let matched = MatchedWriter::found(&remote, &way.paths, false);
                    self.match_writer(now, local, &remote, (matched, conduct), work);
                    if !discovery.is_alive(remote.guid)
                        && let Some(cell) = routes.readers.get(&local)
                    {
                        cell.lock().cache.set_liveliness(now, remote.guid, false);
                    }
                }
                Action::Unmatch { local, remote } if local.is_writer() => {
                    self.unmatch_reader(now, local, remote, work);
                }
                // It waits for a verdict; or it is gone, which the event says that led here.
                Action::Unmatch { local, remote } => self.unmatch_writer(now, local, remote, true, work),
                Action::Separate { writer, separation } => {
                    if let Some(cell) = routes.writers.get(&writer) {
                        cell.lock().machine.rtps_mut().set_separation(separation);
                        work.touch_writer(cell);
                    }
                }
                Action::Promise { reader, writer, bound } => {
                    if let Some(cell) = routes.readers.get(&reader) {
                        cell.lock().cache.set_bound(writer, bound);
                    }
                }
                Action::Ask(request) => {
                    if let Some(out) = self.assurance.requests.get() {
                        match self.signing() {
                            Some(signing) => signing.ask(out, &request, now),
                            None => publish(out, &request, now),
                        }
                        work.touch_writer(out);
                    }
                }
                Action::Withdraw(request) => {
                    if let Some(out) = self.assurance.requests.get() {
                        match self.signing() {
                            Some(signing) => signing.withdraw(out, &request, now),
                            None => withdraw(out, &request, now),
                        }
                        work.touch_writer(out);
                    }
                }
                Action::Changed { local, remote } => {
                    if let Some(cell) = routes.writers.get(&local) {
                        cell.lock().machine.assurance_changed(remote);
                        work.touch_writer(cell);
                    } else if let Some(cell) = routes.readers.get(&local) {
                        cell.lock().cache.assurance_changed(remote);
                        work.touch_reader(cell);
                    }
                }
            }
        }
        if gate.assured_readers().next().is_some() {
            let _ = self.assurance.measure_at.compare_exchange(
                Instant::NEVER.as_nanos(),
                now.monotonic.after(MEASURING).as_nanos(),
                Ordering::SeqCst,
                Ordering::SeqCst,
            );
        }
        let measure_at = Instant::from_nanos(self.assurance.measure_at.load(Ordering::SeqCst));
        let next = gate.poll_timeout().min(measure_at);
        self.timers.set(self.host(), ALARM, &self.assurance.alarm, next);
    }
}

/// Most bytes of requests that a participant keeps for managers that come later: some ten thousand.
const MOST_REQUESTS: usize = 32 << 20;

fn subject(topic: &str, type_name: &str) -> Subject {
    Subject {
        topic_name: topic.to_owned(),
        type_name: type_name.to_owned(),
        max_serialized_size: None,
        type_information: None,
        group: None,
        content_filter: None,
    }
}

pub(super) fn take(cell: Option<&Arc<ReaderCell>>, now: Now) -> Vec<Octets> {
    let mut found = Vec::new();
    if let Some(cell) = cell {
        let mut state = cell.lock();
        state.cache.settle_data_available();
        // It takes all, and so names no instance that could be unknown.
        let _ = state.cache.access_where(now, &Access::TAKE, |_, _| true, &mut found);
        state.cache.forget_empty_instances();
    }
    found
}

/// A sample, or the key of an instance that is disposed. What cannot be decoded is neither.
pub(super) fn decoded<T: DdsType>(bytes: &Octets) -> (Option<T>, Option<T>) {
    let data = bytes.payload.as_ref().and_then(|payload| T::decode_payload(payload.bytes()).ok());
    let ended = bytes.info.instance_state == dcps::InstanceState::NotAliveDisposed && bytes.payload.is_none();
    let key = bytes.key.as_ref().filter(|_| ended);
    (data, key.and_then(|key| T::decode_key_payload(key.bytes()).ok()))
}

/// Writes a sample of ours, which its history always has room for: it is kept by handle or replaces the one before.
pub(super) fn publish<T: DdsType>(cell: &WriterCell, sample: &T, now: Now) {
    let mut bytes = Vec::new();
    if sample.encode_payload(Encoding::XCDR1, &mut bytes).is_ok() {
        // At the limit of bytes the pair goes unasked, and counts as refused for want of an answer.
        let _ = cell.lock().machine.write(now, Body::Copy(&bytes), &WriteOptions::default());
    }
}

pub(super) fn withdraw(cell: &WriterCell, request: &Request, now: Now) {
    let mut bytes = Vec::new();
    if request.encode_payload(Encoding::XCDR1, &mut bytes).is_ok() {
        // It disposes the instance as well.
        let _ = cell.lock().machine.unregister_instance(now, InstanceOf::Sample(&bytes), None);
    }
}

/// Where we receive what comes from a peer that is reached this way, at an address of the version of IP of its flow if there is one.
fn destination(way: &Way, announced: &[Locator], source: Option<Socket>) -> Socket {
    let mut announced = addresses(announced);
    let suits = |address: &SocketAddr| source.is_none_or(|from| from.address.is_ipv4() == address.is_ipv4());
    if announced.iter().any(suits) {
        announced.retain(suits);
    }
    let local = way.paths.first().and_then(|path| path.local);
    let on_the_way = announced.iter().find(|address| Some(address.ip()) == local);
    on_the_way.or_else(|| announced.first()).copied().map(Socket::from).unwrap_or_default()
}

/// Those at which a flow may end: all but link-local ones, which a manager does not know which link of.
fn addresses(locators: &[Locator]) -> Vec<SocketAddr> {
    let all = locators.iter().filter_map(Locator::socket_addr);
    all.filter(|address| !matches!(address.ip(), IpAddr::V6(six) if six.is_unicast_link_local())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_reaches_us_at_the_address_that_the_way_to_it_leaves_from() {
        let announced = ["10.0.0.1:7411", "10.9.0.1:7411"].map(|text| Locator::udp(text.parse().unwrap()));
        let path = |local: Option<&str>| rtps::Path {
            local: local.map(|text| text.parse().unwrap()),
            ..rtps::Path::routed("10.9.0.2:7411".parse().unwrap(), 1_472)
        };
        let found =
            |local| destination(&Way { paths: vec![path(local)], direct: None }, &announced, None).address;
        assert_eq!(found(Some("10.9.0.1")), [10, 9, 0, 1].into());
        assert_eq!(found(None), [10, 0, 0, 1].into());
        assert_eq!(found(Some("10.7.0.1")), [10, 0, 0, 1].into());
        assert_eq!(destination(&Way::default(), &[], None).addr(), None);
    }
}
