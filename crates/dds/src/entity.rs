//! What all entities have in common.
use std::sync::Arc;

use dcps::status::StatusMask;
use dcps::{Error, ReturnCode};

use crate::host::Host;
use crate::node::watch::Watch;

/// The QoS of a new entity.
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
    /// Octets, counted as `byte_limit` of the QoS counts them.
    pub bytes: usize,
    /// Of a reader: octets that the protocol keeps until what comes before them is there, fragments included; 0 of a writer.
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
    /// Who wants to know.
    fn watch(&self) -> &Arc<Watch>;
    /// Whose datagrams may change them.
    fn host(&self) -> Option<Arc<dyn Host>>;
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

/// Refuses to delete an entity from within its own callback: the caller would wait for itself.
pub(crate) fn refuse_inside(watch: &Watch, operation: &'static str) -> Result<(), Error> {
    if !watch.is_calling() {
        return Ok(());
    }
    Err(Error::new(
        ReturnCode::PreconditionNotMet,
        operation,
        "called from the entity's own listener",
        "delete it from another thread, or after the callback has returned",
    ))
}
