//! A reader as its subscriber keeps it: made, enabled or not, with its listener.
use std::sync::{Arc, Mutex, OnceLock, Weak};

use dcps::qos::DataReaderQos;
use dcps::status::StatusMask;
use dcps::{Error, ReturnCode, TypeSupport};

use super::listener::AnyDataReaderListener;
use super::raw::{Handle, RawDataReader};
use super::subscriber::SubscriberEntity;
use crate::builtin::BuiltinTopic;
use crate::content_filter::FilteredEntity;
use crate::entity::{Listening, StatusSource, not_enabled};
use crate::host::Host;
use crate::lock::lock;
use crate::node::Node;
use crate::node::builtin::make_cell;
use crate::node::reader::ReaderCell;
use crate::node::watch::{Callback, Watch};
use crate::topic::TopicEntity;

/// See the module.
pub(crate) struct ReaderEntity {
    pub(crate) node: Arc<Node>,
    pub(crate) topic: Arc<TopicEntity>,
    pub(super) subscriber: Weak<SubscriberEntity>,
    pub(crate) watch: Arc<Watch>,
    cell: OnceLock<Arc<ReaderCell>>,
    /// QoS as asked for, without what the subscriber and the topic add; and the type until it is enabled.
    qos: Mutex<DataReaderQos>,
    types: Mutex<Option<Box<dyn TypeSupport + Send>>>,
    /// Its content-filtered topic, if it has one.
    pub(super) filtered: Option<Arc<FilteredEntity>>,
    listening: Listening<dyn AnyDataReaderListener>,
    /// The first handle, as long as it exists.
    pub(super) handle: OnceLock<Weak<Handle>>,
}

impl ReaderEntity {
    pub(super) fn new(
        node: Arc<Node>,
        topic: Arc<TopicEntity>,
        subscriber: &Arc<SubscriberEntity>,
        qos: DataReaderQos,
        types: Box<dyn TypeSupport + Send>,
        filtered: Option<Arc<FilteredEntity>>,
    ) -> Result<Arc<Self>, Error> {
        qos.check()?;
        let entity = Arc::new(Self {
            node,
            topic,
            subscriber: Arc::downgrade(subscriber),
            watch: Watch::below(&subscriber.watch),
            cell: OnceLock::new(),
            qos: Mutex::new(qos),
            types: Mutex::new(Some(types)),
            filtered,
            listening: Listening::default(),
            handle: OnceLock::new(),
        });
        if let Some(filtered) = &entity.filtered {
            filtered.add_reader(&entity);
        }
        Ok(entity)
    }

    /// The reader of a built-in topic: there from the beginning, and never announced.
    pub(super) fn builtin(
        topic: Arc<TopicEntity>,
        subscriber: &Arc<SubscriberEntity>,
        which: BuiltinTopic,
        node: Arc<Node>,
    ) -> Result<Arc<Self>, Error> {
        let qos = BuiltinTopic::reader_qos();
        let watch = Watch::below(&subscriber.watch);
        let cell = make_cell(node.prefix(), which, Arc::clone(&watch))?;
        Ok(Arc::new(Self {
            node,
            topic,
            subscriber: Arc::downgrade(subscriber),
            watch,
            cell: OnceLock::from(cell),
            qos: Mutex::new(qos),
            types: Mutex::default(),
            filtered: None,
            listening: Listening::default(),
            handle: OnceLock::new(),
        }))
    }

    /// Announces the reader; nothing happens if that was done before.
    pub(super) fn enable(&self) -> Result<(), Error> {
        // Callbacks come after the command: by then the reader is enabled.
        self.node.command(|work| {
            let qos = lock(&self.qos);
            let Some(types) = lock(&self.types).take() else {
                return self.cell.get().map(drop).ok_or_else(|| not_enabled("enable: it failed before"));
            };
            if qos.assurance.is_some() {
                self.node.prepare_assured_reader(work)?;
            }
            self.node
                .prepare_sessions(self.listening.mask().intersects(StatusMask::SESSION_CHANGED), work)?;
            let cell = self.node.make_reader(self.announced(qos.clone()), types, Arc::clone(&self.watch))?;
            let mut subject = self.topic.subject();
            let Some(filtered) = &self.filtered else {
                let _ = self.cell.set(Arc::clone(&cell));
                return self.node.announce_reader(&cell, subject, work);
            };
            filtered.with_filter("enable", |filter, property| {
                cell.lock().cache.set_filter(Some(filter));
                subject.content_filter = Some(property);
                let _ = self.cell.set(Arc::clone(&cell));
                self.node.announce_reader(&cell, subject, work)
            })
        })
    }

    /// The parameters of its filter are others.
    pub(crate) fn renew_filter(&self) -> Result<(), Error> {
        let (Some(filtered), Some(cell)) = (&self.filtered, self.cell.get()) else { return Ok(()) };
        self.node.command(|work| {
            filtered.with_filter("set_expression_parameters", |filter, property| {
                {
                    let mut state = cell.lock();
                    if state.deleted {
                        return Ok(());
                    }
                    state.cache.set_filter(Some(filter));
                }
                self.node.announce_filter(cell.guid, property, work)
            })
        })
    }

    pub(crate) fn cell(&self, operation: &'static str) -> Result<&Arc<ReaderCell>, Error> {
        self.node.check_process(operation)?;
        self.cell.get().ok_or_else(|| not_enabled(operation))
    }

    pub(crate) fn enabled(&self) -> Option<&Arc<ReaderCell>> {
        self.cell.get()
    }

    pub(super) fn qos(&self) -> DataReaderQos {
        lock(&self.qos).clone()
    }

    pub(super) fn set_qos(&self, qos: DataReaderQos) -> Result<(), Error> {
        self.node.command(|work| {
            let mut current = lock(&self.qos);
            match self.cell.get() {
                None => qos.check()?,
                Some(cell) => self.node.change_reader(cell, self.announced(qos.clone()), work)?,
            }
            *current = qos;
            Ok(())
        })
    }

    /// The subscriber's or the topic's QoS has changed.
    pub(crate) fn announce_again(&self) -> Result<(), Error> {
        self.node.command(|work| {
            let current = lock(&self.qos);
            let Some(cell) = self.cell.get() else { return Ok(()) };
            match self.node.change_reader(cell, self.announced(current.clone()), work) {
                // Another thread was faster.
                Err(error) if error.code == ReturnCode::AlreadyDeleted => Ok(()),
                changed => changed,
            }
        })
    }

    fn announced(&self, mut qos: DataReaderQos) -> DataReaderQos {
        if let Some(subscriber) = self.subscriber.upgrade() {
            subscriber.qos().apply(&mut qos.endpoint);
        }
        self.topic.qos().apply(&mut qos.endpoint);
        qos
    }

    pub(super) fn set_listener(&self, listener: Option<Arc<dyn AnyDataReaderListener>>, mask: StatusMask) {
        self.listening.set(listener, mask);
    }

    /// Sees to it that listeners of every level are called. Where a listener is for DATA_ON_READERS, none is called for
    /// the data of a reader but by notify_datareaders.
    pub(crate) fn refresh(self: &Arc<Self>) {
        self.node.set_callback(&self.watch, || {
            let above = self.subscriber.upgrade().map_or(StatusMask::NONE, |group| group.listened());
            let wanted = (self.listening.mask() | above) & ALL;
            if wanted == StatusMask::NONE {
                return (wanted, None);
            }
            let (entity, handle) = (Arc::downgrade(self), self.handle.get().cloned());
            // Who changes it calls this again.
            let listener = self.listening.listener_for(StatusMask::DATA_AVAILABLE);
            let callback: Callback = Arc::new(move |due| {
                if let Some(reader) = RawDataReader::again(handle.as_ref(), &entity) {
                    reader.dispatch(due, listener.as_deref());
                }
            });
            let mut wanted = wanted;
            if above.intersects(StatusMask::DATA_ON_READERS) {
                wanted.clear(StatusMask::DATA_AVAILABLE);
            }
            (wanted, Some(callback))
        });
    }
}

impl RawDataReader {
    /// Each status goes to the first listener that is for it: the reader's, the subscriber's, the participant's (DDS 1.4, 2.2.4.2.3).
    /// `listener` is the reader's own DATA_AVAILABLE listener, which the caller has looked up.
    fn dispatch(self, due: StatusMask, listener: Option<&dyn AnyDataReaderListener>) {
        if due != StatusMask::DATA_AVAILABLE {
            self.dispatch_changes(due);
        }
        if !due.intersects(StatusMask::DATA_AVAILABLE) {
            return;
        }
        // A part of the data may have been taken.
        match listener {
            Some(listener) => {
                self.settle_data_available();
                listener.on_data_available_of(self);
            }
            None => self.get_subscriber().entity().call(StatusMask::DATA_AVAILABLE, |listener| {
                call(listener, &self, StatusMask::DATA_AVAILABLE);
            }),
        }
    }

    /// Calls for statuses other than that there are data. What was read meanwhile is no change any more.
    #[cold]
    fn dispatch_changes(&self, due: StatusMask) {
        let (listening, source) = (&self.entity().listening, self.entity());
        let changed = |bit: &&StatusMask| due.intersects(**bit) && source.status_changes().intersects(**bit);
        for bit in CHANGES.iter().filter(changed) {
            match listening.listener_for(*bit) {
                Some(listener) => call(&*listener, self, *bit),
                None => self.get_subscriber().entity().call(*bit, |listener| call(listener, self, *bit)),
            }
        }
    }
}

/// The statuses of a reader, in the order in which listeners are called; the data come after them.
const CHANGES: [StatusMask; 9] = [
    StatusMask::SUBSCRIPTION_MATCHED,
    StatusMask::LIVELINESS_CHANGED,
    StatusMask::REQUESTED_INCOMPATIBLE_QOS,
    StatusMask::REQUESTED_DEADLINE_MISSED,
    StatusMask::SAMPLE_LOST,
    StatusMask::SAMPLE_REJECTED,
    StatusMask::ASSURANCE_CHANGED,
    StatusMask::SESSION_CHANGED,
    StatusMask::BOUND_EXCEEDED,
];
const ALL: StatusMask = {
    let mut all = StatusMask::DATA_AVAILABLE;
    let mut rest: &[StatusMask] = &CHANGES;
    while let [bit, others @ ..] = rest {
        all = StatusMask(all.0 | bit.0);
        rest = others;
    }
    all
};

/// Reads the status, which settles it, and calls.
fn call(listener: &dyn AnyDataReaderListener, reader: &RawDataReader, bit: StatusMask) {
    match bit {
        StatusMask::SUBSCRIPTION_MATCHED => {
            listener.on_subscription_matched(reader, reader.get_subscription_matched_status());
        }
        StatusMask::LIVELINESS_CHANGED => {
            listener.on_liveliness_changed(reader, reader.get_liveliness_changed_status());
        }
        StatusMask::REQUESTED_INCOMPATIBLE_QOS => {
            listener.on_requested_incompatible_qos(reader, reader.get_requested_incompatible_qos_status());
        }
        StatusMask::REQUESTED_DEADLINE_MISSED => {
            listener.on_requested_deadline_missed(reader, reader.get_requested_deadline_missed_status());
        }
        StatusMask::SAMPLE_LOST => listener.on_sample_lost(reader, reader.get_sample_lost_status()),
        StatusMask::SAMPLE_REJECTED => {
            listener.on_sample_rejected(reader, reader.get_sample_rejected_status())
        }
        StatusMask::SESSION_CHANGED => {
            listener.on_session_changed(reader, reader.get_session_changed_status());
        }
        StatusMask::ASSURANCE_CHANGED => {
            listener.on_assurance_changed(reader, reader.get_assurance_changed_status());
        }
        StatusMask::BOUND_EXCEEDED => {
            listener.on_bound_exceeded(reader, reader.get_bound_exceeded_status());
        }
        _ => {
            reader.settle_data_available();
            listener.on_data_available(reader);
        }
    }
}

impl StatusSource for ReaderEntity {
    fn status_changes(&self) -> StatusMask {
        self.cell.get().map_or(StatusMask::NONE, |cell| cell.lock().cache.status_changes())
    }

    fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    fn host(&self) -> Option<Arc<dyn Host>> {
        Some(self.node.shared_host())
    }
}
