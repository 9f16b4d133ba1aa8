//! A reader as its subscriber keeps it: made, enabled or not, with its listener.
use std::sync::{Arc, Mutex, OnceLock, Weak};

use dcps::qos::DataReaderQos;
use dcps::status::StatusMask;
use dcps::{Error, TypeSupport};

use super::listener::AnyDataReaderListener;
use super::raw::RawDataReader;
use super::subscriber::{Subscriber, SubscriberEntity};
use crate::entity::{StatusSource, not_enabled};
use crate::host::Host;
use crate::lock::lock;
use crate::node::Node;
use crate::node::reader::ReaderCell;
use crate::node::watch::Watch;
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
    listener: Mutex<(StatusMask, Option<Arc<dyn AnyDataReaderListener>>)>,
}

impl ReaderEntity {
    pub(super) fn new(
        node: Arc<Node>,
        topic: Arc<TopicEntity>,
        subscriber: &Arc<SubscriberEntity>,
        qos: DataReaderQos,
        types: Box<dyn TypeSupport + Send>,
    ) -> Result<Arc<Self>, Error> {
        qos.check()?;
        Ok(Arc::new(Self {
            node,
            topic,
            subscriber: Arc::downgrade(subscriber),
            watch: Arc::default(),
            cell: OnceLock::new(),
            qos: Mutex::new(qos),
            types: Mutex::new(Some(types)),
            listener: Mutex::default(),
        }))
    }

    /// Announces the reader; nothing happens if that was done before.
    pub(super) fn enable(&self) -> Result<(), Error> {
        let Some(types) = lock(&self.types).take() else { return Ok(()) };
        let qos = self.announced(lock(&self.qos).clone());
        let cell = self.node.create_reader(self.topic.subject(), qos, types, Arc::clone(&self.watch))?;
        let _ = self.cell.set(cell);
        Ok(())
    }

    pub(crate) fn cell(&self, operation: &'static str) -> Result<&Arc<ReaderCell>, Error> {
        self.cell.get().ok_or_else(|| not_enabled(operation))
    }

    pub(crate) fn enabled(&self) -> Option<&Arc<ReaderCell>> {
        self.cell.get()
    }

    pub(super) fn qos(&self) -> DataReaderQos {
        lock(&self.qos).clone()
    }

    pub(super) fn set_qos(&self, qos: DataReaderQos) -> Result<(), Error> {
        match self.cell.get() {
            None => qos.check()?,
            Some(cell) => {
                let announced = self.announced(qos.clone());
                let now = self.node.host().now();
                cell.lock().cache.set_qos(now, announced.clone())?;
                // No lock is held here: callbacks of what matches by that may ask for the QoS.
                self.node.announce_qos(cell.guid, announced.endpoint)?;
                self.node.touch_reader(cell);
            }
        }
        *lock(&self.qos) = qos;
        Ok(())
    }

    /// The subscriber's or the topic's QoS has changed.
    pub(crate) fn announce_again(&self) -> Result<(), Error> {
        match self.cell.get() {
            None => Ok(()),
            Some(_) => self.set_qos(self.qos()),
        }
    }

    fn announced(&self, mut qos: DataReaderQos) -> DataReaderQos {
        if let Some(subscriber) = self.subscriber.upgrade() {
            subscriber.qos().apply(&mut qos.endpoint);
        }
        self.topic.qos().apply(&mut qos.endpoint);
        qos
    }

    pub(super) fn set_listener(&self, listener: Option<Arc<dyn AnyDataReaderListener>>, mask: StatusMask) {
        *lock(&self.listener) = (mask, listener);
    }

    /// Sees to it that whoever listens, at whatever level, is called.
    pub(crate) fn refresh(self: &Arc<Self>) {
        let own = {
            let listener = lock(&self.listener);
            if listener.1.is_some() { listener.0 } else { StatusMask::NONE }
        };
        let mut wanted = own | self.subscriber.upgrade().map_or(StatusMask::NONE, |group| group.listened());
        if wanted.intersects(StatusMask::DATA_ON_READERS) {
            wanted |= StatusMask::DATA_AVAILABLE;
        }
        if wanted == StatusMask::NONE {
            return self.watch.set_callback(wanted, None);
        }
        let entity = Arc::downgrade(self);
        self.watch.set_callback(
            wanted,
            Some(Arc::new(move |due| {
                if let Some(entity) = entity.upgrade() {
                    entity.dispatch(due);
                }
            })),
        );
    }

    /// Each status goes to the first listener that is for it: the reader's, the subscriber's, the participant's; data first to
    /// whoever asked for DATA_ON_READERS (DDS 1.4, 2.2.4.2.2 and 2.2.4.2.3).
    fn dispatch(self: &Arc<Self>, due: StatusMask) {
        let Some(subscriber) = Subscriber::of(&self.subscriber) else { return };
        let reader = RawDataReader::of(Arc::clone(self), subscriber.clone());
        for bit in [
            StatusMask::SUBSCRIPTION_MATCHED,
            StatusMask::LIVELINESS_CHANGED,
            StatusMask::REQUESTED_INCOMPATIBLE_QOS,
            StatusMask::REQUESTED_DEADLINE_MISSED,
            StatusMask::SAMPLE_LOST,
            StatusMask::SAMPLE_REJECTED,
            StatusMask::DATA_AVAILABLE,
        ] {
            if !due.intersects(bit) {
                continue;
            }
            if bit == StatusMask::DATA_AVAILABLE && subscriber.entity().call_data_on_readers(&subscriber) {
                continue;
            }
            self.call(&subscriber, &reader, bit);
        }
    }

    fn call(&self, subscriber: &Subscriber, reader: &RawDataReader, bit: StatusMask) {
        let (mask, own) = lock(&self.listener).clone();
        match own.filter(|_| mask.intersects(bit)) {
            Some(listener) => call(&*listener, reader, bit),
            None => subscriber.entity().call(bit, |listener| call(listener, reader, bit)),
        }
    }

    /// Calls `on_data_available` of the first listener that is for it.
    pub(super) fn notify_data_available(&self, reader: &RawDataReader) {
        self.call(reader.get_subscriber(), reader, StatusMask::DATA_AVAILABLE);
    }
}

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
