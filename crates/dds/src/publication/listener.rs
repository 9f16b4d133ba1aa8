//! Listeners of writers and publishers (DDS 1.4, 2.2.2.4.4 and 2.2.2.4.3).
use std::sync::Arc;

use dcps::status::{
    AssuranceChanged, DeadlineMissed, IncompatibleQos, LivelinessLost, Matched, SessionChanged,
};

use super::{DataWriter, RawDataWriter};

macro_rules! callbacks {
    ($writer:ty) => {
        /// A period of DEADLINE went by without a sample.
        fn on_offered_deadline_missed(&self, writer: &$writer, status: DeadlineMissed) {
            let _ = (writer, status);
        }
        /// A reader asks for more than is offered.
        fn on_offered_incompatible_qos(&self, writer: &$writer, status: IncompatibleQos) {
            let _ = (writer, status);
        }
        /// The writer did not keep its own LIVELINESS.
        fn on_liveliness_lost(&self, writer: &$writer, status: LivelinessLost) {
            let _ = (writer, status);
        }
        /// A reader was matched, or is gone.
        fn on_publication_matched(&self, writer: &$writer, status: Matched) {
            let _ = (writer, status);
        }
        /// The assurance with a reader is another: see `assurance()`.
        fn on_assurance_changed(&self, writer: &$writer, status: AssuranceChanged) {
            let _ = (writer, status);
        }
        /// The session over domains with a reader is another: see `sessions()`.
        fn on_session_changed(&self, writer: &$writer, status: SessionChanged) {
            let _ = (writer, status);
        }
    };
}

/// Called when a status of one writer changes. Callbacks run on a thread of the driver, or on the thread whose call caused
/// them, with no lock held: they may write, take and create, but not delete their own entity.
///
/// ```
/// # use dds::prelude::*;
/// # #[derive(DdsType, Clone, Debug, Default)]
/// # struct Reading { #[dds(key)] sensor: u32, celsius: f64 }
/// # fn example(writer: &DataWriter<Reading>) -> Result<(), dds::Error> {
/// use std::sync::Arc;
///
/// use dds::status::Matched;
/// use dds::{DataWriterListener, StatusMask};
///
/// struct Print;
///
/// impl DataWriterListener<Reading> for Print {
///     fn on_publication_matched(&self, _: &DataWriter<Reading>, status: Matched) {
///         println!("{} readers", status.current.count);
///     }
/// }
///
/// writer.set_listener(Some(Arc::new(Print)), StatusMask::PUBLICATION_MATCHED);
/// # Ok(())
/// # }
/// ```
pub trait DataWriterListener<T>: Send + Sync {
    callbacks!(DataWriter<T>);
}

/// Called when a status of some writer changes that the writer's own listener is not for.
pub trait AnyDataWriterListener: Send + Sync {
    callbacks!(RawDataWriter);
}

/// The listener of a Publisher, for all its writers.
pub trait PublisherListener: AnyDataWriterListener {}

/// A typed listener, called with the untyped writer.
pub(super) struct Typed<T>(pub(super) Arc<dyn DataWriterListener<T>>);

impl<T: Send + Sync> AnyDataWriterListener for Typed<T> {
    fn on_offered_deadline_missed(&self, writer: &RawDataWriter, status: DeadlineMissed) {
        self.0.on_offered_deadline_missed(&DataWriter::of(writer.clone()), status);
    }
    fn on_offered_incompatible_qos(&self, writer: &RawDataWriter, status: IncompatibleQos) {
        self.0.on_offered_incompatible_qos(&DataWriter::of(writer.clone()), status);
    }
    fn on_liveliness_lost(&self, writer: &RawDataWriter, status: LivelinessLost) {
        self.0.on_liveliness_lost(&DataWriter::of(writer.clone()), status);
    }
    fn on_publication_matched(&self, writer: &RawDataWriter, status: Matched) {
        self.0.on_publication_matched(&DataWriter::of(writer.clone()), status);
    }
    fn on_assurance_changed(&self, writer: &RawDataWriter, status: AssuranceChanged) {
        self.0.on_assurance_changed(&DataWriter::of(writer.clone()), status);
    }
    fn on_session_changed(&self, writer: &RawDataWriter, status: SessionChanged) {
        self.0.on_session_changed(&DataWriter::of(writer.clone()), status);
    }
}
