//! A listener of a writer that is made of functions.
use dcps::status::{
    AssuranceChanged, DeadlineMissed, IncompatibleQos, LivelinessLost, Matched, SessionChanged, StatusMask,
};

use super::{DataWriter, DataWriterListener};
use crate::callback::Callback;

/// The functions that a builder was given.
pub(super) struct Closures<T> {
    pub(super) matched: Callback<DataWriter<T>, Matched>,
    pub(super) deadline_missed: Callback<DataWriter<T>, DeadlineMissed>,
    pub(super) incompatible_qos: Callback<DataWriter<T>, IncompatibleQos>,
    pub(super) liveliness_lost: Callback<DataWriter<T>, LivelinessLost>,
    pub(super) assurance_changed: Callback<DataWriter<T>, AssuranceChanged>,
    pub(super) session_changed: Callback<DataWriter<T>, SessionChanged>,
}

impl<T> Default for Closures<T> {
    fn default() -> Self {
        Self {
            matched: Callback::default(),
            deadline_missed: Callback::default(),
            incompatible_qos: Callback::default(),
            liveliness_lost: Callback::default(),
            assurance_changed: Callback::default(),
            session_changed: Callback::default(),
        }
    }
}

impl<T> Closures<T> {
    /// The statuses that there is a function for.
    pub(super) fn mask(&self) -> StatusMask {
        self.matched.mask(StatusMask::PUBLICATION_MATCHED)
            | self.deadline_missed.mask(StatusMask::OFFERED_DEADLINE_MISSED)
            | self.incompatible_qos.mask(StatusMask::OFFERED_INCOMPATIBLE_QOS)
            | self.liveliness_lost.mask(StatusMask::LIVELINESS_LOST)
            | self.assurance_changed.mask(StatusMask::ASSURANCE_CHANGED)
            | self.session_changed.mask(StatusMask::SESSION_CHANGED)
    }
}

impl<T> DataWriterListener<T> for Closures<T> {
    fn on_publication_matched(&self, writer: &DataWriter<T>, status: Matched) {
        self.matched.call(writer, status);
    }
    fn on_offered_deadline_missed(&self, writer: &DataWriter<T>, status: DeadlineMissed) {
        self.deadline_missed.call(writer, status);
    }
    fn on_offered_incompatible_qos(&self, writer: &DataWriter<T>, status: IncompatibleQos) {
        self.incompatible_qos.call(writer, status);
    }
    fn on_liveliness_lost(&self, writer: &DataWriter<T>, status: LivelinessLost) {
        self.liveliness_lost.call(writer, status);
    }
    fn on_assurance_changed(&self, writer: &DataWriter<T>, status: AssuranceChanged) {
        self.assurance_changed.call(writer, status);
    }
    fn on_session_changed(&self, writer: &DataWriter<T>, status: SessionChanged) {
        self.session_changed.call(writer, status);
    }
}
