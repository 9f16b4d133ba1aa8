//! The DataWriter: instances, history, limits, and the policies of a writer that are about time (DDS 1.4, 2.2.2.4.2).
//!
//! It owns an `rtps` writer, which its owner polls and feeds through [`DataWriter::rtps_mut`]. A write that finds no room
//! says so: the owner waits until acknowledgements have come, and tries again until the time that the error names.
mod change;
mod history;
mod in_place;
mod over;
mod refusal;
mod time;

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use rtps::Payload;
use rtps::discovery::Mismatch;
use rtps::writer::{MatchedReader, TokenBucket, Writer, WriterConfig};
use wire::cdr::Representation;
use wire::qos::{DataRepresentation, Durability, LivelinessKind, ReliabilityKind};
use wire::{Duration, Guid, Instant, Now};

use crate::InstanceHandle;
use crate::error::Error;
use crate::qos::{DataWriterQos, Limits};
use crate::status::{
    self, AssuranceChanged, Changes, DeadlineMissed, IncompatibleQos, LivelinessLost, Matched,
    SessionChanged, StatusMask,
};
use crate::type_support::TypeSupport;
use history::History;

pub use change::{InstanceOf, WriteOptions};
pub use in_place::WriteWithError;
pub use refusal::{Blocked, Limit, WriteError};

/// Longest wait for more samples to share a datagram with, however long LATENCY_BUDGET is.
pub(crate) const MAX_BATCH_DELAY: Duration = Duration::from_secs(1);

/// A writer without input or output. See the module.
#[derive(Debug)]
pub struct DataWriter<T, P> {
    rtps: Writer<P>,
    qos: DataWriterQos,
    limits: Limits,
    types: T,
    representation: Representation,
    history: History,
    /// Canonical key, serialized key and inline QoS of the change that is being written.
    key: Vec<u8>,
    key_payload: Vec<u8>,
    inline_qos: Vec<u8>,
    /// A sample that was encoded aside because it may be too large for a slab.
    aside: Vec<u8>,
    /// When its liveliness is lost; `NEVER` if it asserts by itself, or is lost already.
    lost_at: Instant,
    changed: Changes,
    deadline_missed: DeadlineMissed,
    incompatible_qos: IncompatibleQos,
    liveliness_lost: LivelinessLost,
    matched: Matched,
    assurance_changed: AssuranceChanged,
    session_changed: SessionChanged,
    /// Bytes of the largest sample that was declared, if it has a contract.
    samples: Option<RangeInclusive<u32>>,
}

impl<T: TypeSupport, P: Payload> DataWriter<T, P> {
    /// A writer without readers and samples. Of `config` those fields count that are no QoS: sizes, window and heartbeats.
    ///
    /// # Errors
    /// What [`DataWriterQos::check`] says.
    pub fn new(now: Now, config: WriterConfig, qos: DataWriterQos, types: T) -> Result<Self, Error> {
        qos.check()?;
        let endpoint = &qos.endpoint;
        let config = WriterConfig {
            reliable: endpoint.reliability.kind == ReliabilityKind::Reliable,
            retain: endpoint.durability >= Durability::TransientLocal,
            byte_limit: qos.byte_limit,
            batch_delay: endpoint.latency_budget.min(MAX_BATCH_DELAY),
            class: class(&qos),
            token_bucket: qos.flow_controller.map(|controller| controller.bucket()),
            ..config
        };
        let representation = match endpoint.representation.first() {
            Some(&DataRepresentation::XCDR2) => Representation::Xcdr2,
            _ => Representation::Xcdr1,
        };
        let mut writer = Self {
            rtps: Writer::new(config),
            limits: qos.limits(),
            qos,
            types,
            representation,
            history: History::new(),
            key: Vec::new(),
            key_payload: Vec::new(),
            inline_qos: Vec::new(),
            aside: Vec::new(),
            lost_at: Instant::NEVER,
            changed: Changes::NONE,
            deadline_missed: DeadlineMissed::default(),
            incompatible_qos: IncompatibleQos::default(),
            liveliness_lost: LivelinessLost::default(),
            matched: Matched::default(),
            assurance_changed: AssuranceChanged::default(),
            session_changed: SessionChanged::default(),
            samples: None,
        };
        writer.sign_of_life(now);
        Ok(writer)
    }

    /// The writer's name.
    pub const fn guid(&self) -> Guid {
        self.rtps.guid()
    }

    /// Its QoS.
    pub const fn qos(&self) -> &DataWriterQos {
        &self.qos
    }

    /// The representation that samples have to be in: the first of DATA_REPRESENTATION, by default XCDR version 1.
    pub const fn representation(&self) -> Representation {
        self.representation
    }

    /// The `rtps` writer below.
    pub const fn rtps(&self) -> &Writer<P> {
        &self.rtps
    }

    /// The `rtps` writer below, to be polled, and to be given what readers send. Changes are written and removed through the
    /// `DataWriter` alone.
    pub const fn rtps_mut(&mut self) -> &mut Writer<P> {
        &mut self.rtps
    }

    /// Changes the QoS of an enabled writer. LIFESPAN counts for samples written from now on; DEADLINE periods begin anew.
    ///
    /// # Errors
    /// What [`DataWriterQos::check_change`] says; nothing is changed then.
    pub fn set_qos(&mut self, now: Now, qos: DataWriterQos) -> Result<(), Error> {
        self.qos.check_change(&qos)?;
        self.catch_up(now);
        let restarts = self.qos.endpoint.deadline != qos.endpoint.deadline;
        self.qos = qos;
        self.rtps.set_class(class(&self.qos));
        self.rtps.set_batch_delay(self.qos.endpoint.latency_budget.min(MAX_BATCH_DELAY));
        if restarts {
            self.history.restart_deadlines(now, self.qos.endpoint.deadline);
        }
        Ok(())
    }

    /// From now on it holds this contract: samples have so many bytes, and no message more than `largest_message`.
    pub fn set_contract(&mut self, samples: RangeInclusive<u32>, largest_message: u32) {
        self.samples = Some(samples);
        self.rtps.set_largest_message(largest_message);
    }

    /// The assurance with a reader is another.
    pub fn assurance_changed(&mut self, reader: Guid) {
        self.assurance_changed.total.add(1);
        self.assurance_changed.last_endpoint = Some(reader.into());
        self.changed.raise(StatusMask::ASSURANCE_CHANGED);
    }

    /// The session over domains with a reader is another.
    pub fn session_changed(&mut self, reader: Guid) {
        self.session_changed.total.add(1);
        self.session_changed.last_endpoint = Some(reader.into());
        self.changed.raise(StatusMask::SESSION_CHANGED);
    }

    /// Reads SESSION_CHANGED.
    pub fn read_session_changed(&mut self) -> SessionChanged {
        status::read(&mut self.session_changed, &mut self.changed, StatusMask::SESSION_CHANGED)
    }

    /// What sessions over domains grant it from now on; it counts if QoS says so.
    pub fn set_session_bucket(&mut self, now: Now, bucket: Option<TokenBucket>) {
        if self.qos.session_flow_controller.is_some() {
            self.rtps.set_token_bucket(now, bucket);
        }
    }

    /// Matches a reader, or gives a matched one new paths.
    pub fn match_subscription(&mut self, now: Now, reader: MatchedReader) {
        let guid = reader.guid;
        let known = self.rtps.readers().any(|other| other == guid);
        self.rtps.match_reader(now, reader);
        if !known {
            self.matched.up(guid.into());
            self.changed.raise(StatusMask::PUBLICATION_MATCHED);
        }
    }

    /// Forgets a reader; false if it was not matched.
    pub fn unmatch_subscription(&mut self, now: Now, reader: Guid) -> bool {
        if !self.rtps.unmatch_reader(now, reader) {
            return false;
        }
        self.matched.down(reader.into());
        self.changed.raise(StatusMask::PUBLICATION_MATCHED);
        self.history.prune(&self.rtps);
        true
    }

    /// The matched readers.
    pub fn subscriptions(&self) -> impl Iterator<Item = InstanceHandle> + '_ {
        self.rtps.readers().map(InstanceHandle::from)
    }

    /// True once every reliable reader has acknowledged all that was written so far (wait_for_acknowledgments).
    pub fn is_acknowledged(&self) -> bool {
        self.rtps.is_acknowledged(self.rtps.last())
    }

    /// Changes that are held.
    pub fn held(&mut self) -> usize {
        self.history.prune(&self.rtps);
        self.history.held()
    }

    /// Instances that are registered, or have changes that are held.
    pub fn instances(&mut self) -> usize {
        self.history.prune(&self.rtps);
        self.history.table.len()
    }

    /// The application says that it lives. With LIVELINESS by topic readers are told; by participant, the owner tells
    /// them, and calls this of every such writer of the participant, which a write of one of them does too.
    pub fn assert_liveliness(&mut self, now: Now) {
        self.sign_of_life(now);
        if self.qos.endpoint.liveliness.kind == LivelinessKind::ManualByTopic {
            self.rtps.assert_liveliness();
        }
    }

    /// A reader of the same topic does not match.
    pub fn not_matched(&mut self, reasons: &[Mismatch]) {
        if self.incompatible_qos.add(reasons) {
            self.changed.raise(StatusMask::OFFERED_INCOMPATIBLE_QOS);
        }
    }

    /// The statuses that changed since they were last read.
    pub const fn status_changes(&self) -> StatusMask {
        self.changed.set()
    }

    /// The statuses that changed since this was last asked, read meanwhile or not: for callers that tell others of them.
    pub const fn take_status_news(&mut self) -> StatusMask {
        self.changed.take_news()
    }

    /// Reads OFFERED_DEADLINE_MISSED.
    pub fn offered_deadline_missed(&mut self) -> DeadlineMissed {
        let bit = StatusMask::OFFERED_DEADLINE_MISSED;
        status::read(&mut self.deadline_missed, &mut self.changed, bit)
    }

    /// Reads OFFERED_INCOMPATIBLE_QOS.
    pub fn offered_incompatible_qos(&mut self) -> IncompatibleQos {
        let bit = StatusMask::OFFERED_INCOMPATIBLE_QOS;
        status::read(&mut self.incompatible_qos, &mut self.changed, bit)
    }

    /// Reads LIVELINESS_LOST.
    pub fn liveliness_lost(&mut self) -> LivelinessLost {
        status::read(&mut self.liveliness_lost, &mut self.changed, StatusMask::LIVELINESS_LOST)
    }

    /// Reads PUBLICATION_MATCHED.
    pub fn publication_matched(&mut self) -> Matched {
        status::read(&mut self.matched, &mut self.changed, StatusMask::PUBLICATION_MATCHED)
    }

    /// Reads ASSURANCE_CHANGED.
    pub fn read_assurance_changed(&mut self) -> AssuranceChanged {
        status::read(&mut self.assurance_changed, &mut self.changed, StatusMask::ASSURANCE_CHANGED)
    }

    fn sign_of_life(&mut self, now: Now) {
        let liveliness = self.qos.endpoint.liveliness;
        if liveliness.kind != LivelinessKind::Automatic {
            self.lost_at = now.monotonic.after(liveliness.lease_duration);
        }
    }
}

/// TRANSPORT_PRIORITY is the DSCP; its range was checked.
fn class(qos: &DataWriterQos) -> u8 {
    u8::try_from(qos.endpoint.transport_priority).unwrap_or(0)
}
