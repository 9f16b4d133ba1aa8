//! A writer as its publisher keeps it: made, enabled or not, with its listener.
use std::sync::{Arc, Mutex, OnceLock, Weak};

use dcps::qos::DataWriterQos;
use dcps::status::StatusMask;
use dcps::{Error, ReturnCode, TypeSupport};

use super::listener::AnyDataWriterListener;
use super::publisher::{Publisher, PublisherEntity};
use super::raw::RawDataWriter;
use crate::entity::{Listening, StatusSource, not_enabled};
use crate::host::Host;
use crate::lock::lock;
use crate::node::Node;
use crate::node::watch::{Callback, Watch};
use crate::node::writer::WriterCell;
use crate::topic::TopicEntity;

/// See the module.
pub(crate) struct WriterEntity {
    pub(crate) node: Arc<Node>,
    pub(crate) topic: Arc<TopicEntity>,
    pub(super) publisher: Weak<PublisherEntity>,
    pub(crate) watch: Arc<Watch>,
    cell: OnceLock<Arc<WriterCell>>,
    /// QoS as asked for, without what the publisher and the topic add; and the type until it is enabled.
    qos: Mutex<DataWriterQos>,
    types: Mutex<Option<Box<dyn TypeSupport + Send>>>,
    listening: Listening<dyn AnyDataWriterListener>,
}

impl WriterEntity {
    pub(super) fn new(
        node: Arc<Node>,
        topic: Arc<TopicEntity>,
        publisher: &Arc<PublisherEntity>,
        qos: DataWriterQos,
        types: Box<dyn TypeSupport + Send>,
    ) -> Result<Arc<Self>, Error> {
        qos.check()?;
        check_size(&qos, &topic)?;
        Ok(Arc::new(Self {
            node,
            topic,
            publisher: Arc::downgrade(publisher),
            watch: Arc::default(),
            cell: OnceLock::new(),
            qos: Mutex::new(qos),
            types: Mutex::new(Some(types)),
            listening: Listening::default(),
        }))
    }

    /// Announces the writer; nothing happens if that was done before.
    pub(super) fn enable(&self) -> Result<(), Error> {
        // Callbacks come after the command: by then the writer is enabled.
        self.node.command(|work| {
            let qos = lock(&self.qos);
            let Some(types) = lock(&self.types).take() else {
                return self.cell.get().map(drop).ok_or_else(|| not_enabled("enable: it failed before"));
            };
            if qos.assurance.is_some() {
                self.node.prepare_assured_writer(work)?;
            }
            let hears = self.listening.mask().intersects(StatusMask::SESSION_CHANGED);
            self.node.prepare_sessions(hears || qos.session_flow_controller.is_some(), work)?;
            let subject = self.topic.subject();
            let ty = Some(Arc::clone(self.topic.announced()));
            let (announced, bound) = (self.announced(qos.clone()), subject.max_serialized_size);
            let cell = self.node.make_writer(announced, types, bound, Arc::clone(&self.watch), ty)?;
            let _ = self.cell.set(Arc::clone(&cell));
            self.node.announce_writer(&cell, subject, work)
        })
    }

    pub(crate) fn cell(&self, operation: &'static str) -> Result<&Arc<WriterCell>, Error> {
        self.node.check_process(operation)?;
        self.cell.get().ok_or_else(|| not_enabled(operation))
    }

    pub(crate) fn enabled(&self) -> Option<&Arc<WriterCell>> {
        self.cell.get()
    }

    pub(super) fn qos(&self) -> DataWriterQos {
        lock(&self.qos).clone()
    }

    pub(super) fn set_qos(&self, qos: DataWriterQos) -> Result<(), Error> {
        self.node.command(|work| {
            let mut current = lock(&self.qos);
            check_size(&qos, &self.topic)?;
            match self.cell.get() {
                None => qos.check()?,
                Some(cell) => self.node.change_writer(cell, self.announced(qos.clone()), work)?,
            }
            *current = qos;
            Ok(())
        })
    }

    /// The publisher's or the topic's QoS has changed.
    pub(crate) fn announce_again(&self) -> Result<(), Error> {
        self.node.command(|work| {
            let current = lock(&self.qos);
            let Some(cell) = self.cell.get() else { return Ok(()) };
            match self.node.change_writer(cell, self.announced(current.clone()), work) {
                // Another thread was faster.
                Err(error) if error.code == ReturnCode::AlreadyDeleted => Ok(()),
                changed => changed,
            }
        })
    }

    fn announced(&self, mut qos: DataWriterQos) -> DataWriterQos {
        if let Some(publisher) = self.publisher.upgrade() {
            publisher.qos().apply(&mut qos.endpoint);
        }
        self.topic.qos().apply(&mut qos.endpoint);
        qos
    }

    pub(super) fn set_listener(&self, listener: Option<Arc<dyn AnyDataWriterListener>>, mask: StatusMask) {
        self.listening.set(listener, mask);
    }

    /// Sees to it that listeners of every level are called.
    pub(crate) fn refresh(self: &Arc<Self>) {
        self.node.set_callback(&self.watch, || {
            let above = self.publisher.upgrade().map_or(StatusMask::NONE, |group| group.listened());
            let wanted = (self.listening.mask() | above) & ALL;
            if wanted == StatusMask::NONE {
                return (wanted, None);
            }
            let entity = Arc::downgrade(self);
            let callback: Callback = Arc::new(move |due| {
                if let Some(entity) = entity.upgrade() {
                    entity.dispatch(due);
                }
            });
            (wanted, Some(callback))
        });
    }

    /// Each status goes to the first listener that is for it: the writer's, the publisher's, the participant's (DDS 1.4, 2.2.4.2.3).
    fn dispatch(self: &Arc<Self>, due: StatusMask) {
        let Some(publisher) = Publisher::of(&self.publisher) else { return };
        let writer = RawDataWriter::of(Arc::clone(self), publisher.clone());
        for bit in BITS {
            // What was read meanwhile is no change any more.
            if !due.intersects(bit) || !self.status_changes().intersects(bit) {
                continue;
            }
            match self.listening.listener_for(bit) {
                Some(listener) => call(&*listener, &writer, bit),
                None => publisher.entity().call(bit, |listener| call(listener, &writer, bit)),
            }
        }
    }
}

/// The statuses of a writer, in the order in which listeners are called.
const BITS: [StatusMask; 6] = [
    StatusMask::OFFERED_DEADLINE_MISSED,
    StatusMask::OFFERED_INCOMPATIBLE_QOS,
    StatusMask::LIVELINESS_LOST,
    StatusMask::PUBLICATION_MATCHED,
    StatusMask::ASSURANCE_CHANGED,
    StatusMask::SESSION_CHANGED,
];
const ALL: StatusMask = {
    let [deadline, incompatible, liveliness, matched, assurance, session] = BITS;
    StatusMask(deadline.0 | incompatible.0 | liveliness.0 | matched.0 | assurance.0 | session.0)
};

/// A writer that promises a largest sample has to know it.
fn check_size(qos: &DataWriterQos, topic: &TopicEntity) -> Result<(), Error> {
    let bound = topic.subject().max_serialized_size;
    qos.assurance.as_ref().map_or(Ok(()), |assurance| assurance.largest_sample(bound).map(drop))
}

/// Reads the status, which settles it, and calls.
fn call(listener: &dyn AnyDataWriterListener, writer: &RawDataWriter, bit: StatusMask) {
    match bit {
        StatusMask::OFFERED_DEADLINE_MISSED => {
            listener.on_offered_deadline_missed(writer, writer.get_offered_deadline_missed_status());
        }
        StatusMask::OFFERED_INCOMPATIBLE_QOS => {
            listener.on_offered_incompatible_qos(writer, writer.get_offered_incompatible_qos_status());
        }
        StatusMask::LIVELINESS_LOST => {
            listener.on_liveliness_lost(writer, writer.get_liveliness_lost_status());
        }
        StatusMask::ASSURANCE_CHANGED => {
            listener.on_assurance_changed(writer, writer.get_assurance_changed_status());
        }
        StatusMask::SESSION_CHANGED => {
            listener.on_session_changed(writer, writer.get_session_changed_status());
        }
        _ => listener.on_publication_matched(writer, writer.get_publication_matched_status()),
    }
}

impl StatusSource for WriterEntity {
    fn status_changes(&self) -> StatusMask {
        self.cell.get().map_or(StatusMask::NONE, |cell| cell.lock().machine.status_changes())
    }

    fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    fn host(&self) -> Option<Arc<dyn Host>> {
        Some(self.node.shared_host())
    }
}
