//! A listener of a reader that is made of functions.
use dcps::status::{
    AssuranceChanged, BoundExceeded, DeadlineMissed, IncompatibleQos, LivelinessChanged, Matched, SampleLost,
    SampleRejected, SessionChanged, StatusMask,
};

use super::{DataReader, DataReaderListener};
use crate::callback::Callback;

/// The functions that a builder was given.
pub(super) struct Closures<T> {
    pub(super) data: Callback<DataReader<T>, ()>,
    pub(super) matched: Callback<DataReader<T>, Matched>,
    pub(super) liveliness_changed: Callback<DataReader<T>, LivelinessChanged>,
    pub(super) deadline_missed: Callback<DataReader<T>, DeadlineMissed>,
    pub(super) incompatible_qos: Callback<DataReader<T>, IncompatibleQos>,
    pub(super) sample_lost: Callback<DataReader<T>, SampleLost>,
    pub(super) sample_rejected: Callback<DataReader<T>, SampleRejected>,
    pub(super) assurance_changed: Callback<DataReader<T>, AssuranceChanged>,
    pub(super) session_changed: Callback<DataReader<T>, SessionChanged>,
    pub(super) bound_exceeded: Callback<DataReader<T>, BoundExceeded>,
}

impl<T> Default for Closures<T> {
    fn default() -> Self {
        Self {
            data: Callback::default(),
            matched: Callback::default(),
            liveliness_changed: Callback::default(),
            deadline_missed: Callback::default(),
            incompatible_qos: Callback::default(),
            sample_lost: Callback::default(),
            sample_rejected: Callback::default(),
            assurance_changed: Callback::default(),
            session_changed: Callback::default(),
            bound_exceeded: Callback::default(),
        }
    }
}

impl<T> Closures<T> {
    /// The statuses that there is a function for.
    pub(super) fn mask(&self) -> StatusMask {
        self.data.mask(StatusMask::DATA_AVAILABLE)
            | self.matched.mask(StatusMask::SUBSCRIPTION_MATCHED)
            | self.liveliness_changed.mask(StatusMask::LIVELINESS_CHANGED)
            | self.deadline_missed.mask(StatusMask::REQUESTED_DEADLINE_MISSED)
            | self.incompatible_qos.mask(StatusMask::REQUESTED_INCOMPATIBLE_QOS)
            | self.sample_lost.mask(StatusMask::SAMPLE_LOST)
            | self.sample_rejected.mask(StatusMask::SAMPLE_REJECTED)
            | self.assurance_changed.mask(StatusMask::ASSURANCE_CHANGED)
            | self.session_changed.mask(StatusMask::SESSION_CHANGED)
            | self.bound_exceeded.mask(StatusMask::BOUND_EXCEEDED)
    }
}

impl<T> DataReaderListener<T> for Closures<T> {
    fn on_data_available(&self, reader: &DataReader<T>) {
        self.data.call(reader, ());
    }
    fn on_subscription_matched(&self, reader: &DataReader<T>, status: Matched) {
        self.matched.call(reader, status);
    }
    fn on_liveliness_changed(&self, reader: &DataReader<T>, status: LivelinessChanged) {
        self.liveliness_changed.call(reader, status);
    }
    fn on_requested_deadline_missed(&self, reader: &DataReader<T>, status: DeadlineMissed) {
        self.deadline_missed.call(reader, status);
    }
    fn on_requested_incompatible_qos(&self, reader: &DataReader<T>, status: IncompatibleQos) {
        self.incompatible_qos.call(reader, status);
    }
    fn on_sample_lost(&self, reader: &DataReader<T>, status: SampleLost) {
        self.sample_lost.call(reader, status);
    }
    fn on_sample_rejected(&self, reader: &DataReader<T>, status: SampleRejected) {
        self.sample_rejected.call(reader, status);
    }
    fn on_assurance_changed(&self, reader: &DataReader<T>, status: AssuranceChanged) {
        self.assurance_changed.call(reader, status);
    }
    fn on_session_changed(&self, reader: &DataReader<T>, status: SessionChanged) {
        self.session_changed.call(reader, status);
    }
    fn on_bound_exceeded(&self, reader: &DataReader<T>, status: BoundExceeded) {
        self.bound_exceeded.call(reader, status);
    }
}
