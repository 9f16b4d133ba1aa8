//! What all entities have in common.
use std::sync::{Arc, Mutex};

use dcps::status::StatusMask;
use dcps::{Error, InstanceHandle, ReturnCode};

use crate::host::Host;
use crate::lock::lock;
use crate::node::watch::Watch;

/// The QoS of a new entity.
///
/// ```
/// # use dds::prelude::*;
/// # #[derive(DdsType, Clone, Debug, Default)]
/// # struct Reading { #[dds(key)] sensor: u32, celsius: f64 }
/// # fn example(writer: &DataWriter<Reading>) -> Result<(), dds::Error> {
/// use dds::QosKind;
///
/// let mut qos = writer.get_qos();
/// qos.endpoint.transport_priority = 4;
/// writer.set_qos(QosKind::Specific(qos))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum QosKind<Q> {
    /// The default of its factory.
    #[default]
    Default,
    /// This.
    Specific(Q),
}

impl<Q> QosKind<Q> {
    /// The QoS that is meant.
    pub(crate) fn or_else(self, default: impl FnOnce() -> Q) -> Q {
        match self {
            Self::Default => default(),
            Self::Specific(qos) => qos,
        }
    }
}

/// What a writer's history or a reader's cache holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// Bytes, counted as `byte_limit` of the QoS counts them.
    pub bytes: usize,
    /// Of a reader: bytes that the protocol keeps until what comes before them is there, fragments included; 0 of a writer.
    pub waiting: usize,
    /// Changes of a writer, samples with data of a reader.
    pub samples: usize,
    /// Instances that are known.
    pub instances: usize,
}

/// Something that has statuses, for conditions.
pub(crate) trait StatusSource: Send + Sync {
    /// Statuses that have changed since they were last read.
    fn status_changes(&self) -> StatusMask;
    /// The callback and the WaitSets that are notified.
    fn watch(&self) -> &Arc<Watch>;
    /// Whose datagrams may change them.
    fn host(&self) -> Option<Arc<dyn Host>>;
}

/// A listener and the statuses that it is for.
pub(crate) struct Listening<L: ?Sized>(Mutex<(StatusMask, Option<Arc<L>>)>);

impl<L: ?Sized> Default for Listening<L> {
    fn default() -> Self {
        Self(Mutex::new((StatusMask::NONE, None)))
    }
}

impl<L: ?Sized> Listening<L> {
    pub(crate) fn set(&self, listener: Option<Arc<L>>, mask: StatusMask) {
        let former = std::mem::replace(&mut *lock(&self.0), (mask, listener));
        // Its end may be the end of entities, which look here.
        drop(former);
    }

    /// The statuses that there is a listener for.
    pub(crate) fn mask(&self) -> StatusMask {
        let listening = lock(&self.0);
        if listening.1.is_some() { listening.0 } else { StatusMask::NONE }
    }

    /// The listener, if it is for this status.
    pub(crate) fn listener_for(&self, status: StatusMask) -> Option<Arc<L>> {
        let listening = lock(&self.0);
        listening.1.clone().filter(|_| listening.0.intersects(status))
    }
}

/// The entities that an entity has made, until it is deleted.
pub(crate) struct Children<T>(Mutex<Option<Vec<Arc<T>>>>);

impl<T> Default for Children<T> {
    fn default() -> Self {
        Self(Mutex::new(Some(Vec::new())))
    }
}

impl<T> Children<T> {
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        lock(&self.0).clone().unwrap_or_default()
    }

    /// The first that `is` is true of; it must not use this list.
    pub(crate) fn find(&self, is: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        lock(&self.0).as_ref()?.iter().find(|child| is(child)).cloned()
    }

    /// `AlreadyDeleted` if the parent was deleted.
    pub(crate) fn add(&self, child: &Arc<T>, operation: &'static str) -> Result<(), Error> {
        let mut children = lock(&self.0);
        children.as_mut().ok_or_else(|| deleted(operation))?.push(Arc::clone(child));
        Ok(())
    }

    /// False if it is not here, or not any more.
    pub(crate) fn remove(&self, child: &Arc<T>) -> bool {
        let mut children = lock(&self.0);
        let Some(children) = children.as_mut() else { return false };
        let index = children.iter().position(|known| Arc::ptr_eq(known, child));
        index.map(|index| children.remove(index)).is_some()
    }

    pub(crate) fn contains(&self, child: &Arc<T>) -> bool {
        lock(&self.0).iter().flatten().any(|known| Arc::ptr_eq(known, child))
    }

    /// The parent is deleted: gives the children back, and takes none any more.
    pub(crate) fn close(&self) -> Vec<Arc<T>> {
        lock(&self.0).take().unwrap_or_default()
    }

    /// As [`Children::close`], but only if there are none; false if there are some.
    pub(crate) fn close_if_empty(&self) -> bool {
        let mut children = lock(&self.0);
        let is_empty = children.as_ref().is_none_or(Vec::is_empty);
        if is_empty {
            *children = None;
        }
        is_empty
    }
}

/// An entity of the process that this one was forked from.
pub(crate) fn of_parent_process(operation: &'static str) -> Error {
    Error::new(
        ReturnCode::PreconditionNotMet,
        operation,
        "this process was forked from the one that made the participant: its threads are not here, its sockets are the parent's",
        "make participants after the fork, or call exec in the child",
    )
}

pub(crate) fn not_enabled(operation: &'static str) -> Error {
    Error::new(ReturnCode::NotEnabled, operation, "the entity is not enabled", "call enable() first")
}

pub(crate) fn deleted(operation: &'static str) -> Error {
    Error::new(
        ReturnCode::AlreadyDeleted,
        operation,
        "the entity, or its participant, was deleted",
        "do not use an entity after it, or its participant, was deleted",
    )
}

/// `BadParameter`: the other endpoint, a `reader` or `writer`, is not matched.
pub(crate) fn not_matched(operation: &'static str, other: &str, handle: InstanceHandle) -> Error {
    Error::new(
        ReturnCode::BadParameter,
        operation,
        format!("no matched {other} {handle:?}"),
        "use a handle of get_matched_subscriptions or get_matched_publications",
    )
}

/// `PreconditionNotMet`: the factory of entities has to be enabled before they are (DDS 1.4, 2.2.2.1.1.7).
pub(crate) fn factory_not_enabled(operation: &'static str) -> Error {
    Error::new(
        ReturnCode::PreconditionNotMet,
        operation,
        "the entity that it belongs to is not enabled",
        "enable the participant first, then the publisher or subscriber, then what they have made",
    )
}

/// Refuses to delete an entity from within its own callback: the caller would wait for itself.
pub(crate) fn refuse_inside(watch: &Watch, operation: &'static str) -> Result<(), Error> {
    if !watch.is_calling() {
        return Ok(());
    }
    Err(Error::new(
        ReturnCode::PreconditionNotMet,
        operation,
        "called from the entity's own callback",
        "delete it from another thread, or after the callback has returned",
    ))
}
