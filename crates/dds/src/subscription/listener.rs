//! Listeners of readers and subscribers (DDS 1.4, 2.2.2.5.7 and 2.2.2.5.6).
use std::sync::Arc;

use dcps::status::{
    AssuranceChanged, BoundExceeded, DeadlineMissed, IncompatibleQos, LivelinessChanged, Matched, SampleLost,
    SampleRejected, SessionChanged,
};

use super::{DataReader, RawDataReader, Subscriber};

macro_rules! callbacks {
    ($reader:ty) => {
        /// There are samples to read or take.
        fn on_data_available(&self, reader: &$reader) {
            let _ = reader;
        }
        /// A period of DEADLINE went by without a sample of some instance.
        fn on_requested_deadline_missed(&self, reader: &$reader, status: DeadlineMissed) {
            let _ = (reader, status);
        }
        /// A writer offers less than is asked for.
        fn on_requested_incompatible_qos(&self, reader: &$reader, status: IncompatibleQos) {
            let _ = (reader, status);
        }
        /// A sample will never come.
        fn on_sample_lost(&self, reader: &$reader, status: SampleLost) {
            let _ = (reader, status);
        }
        /// A sample was refused because of a limit.
        fn on_sample_rejected(&self, reader: &$reader, status: SampleRejected) {
            let _ = (reader, status);
        }
        /// A matched writer went silent, or is heard again.
        fn on_liveliness_changed(&self, reader: &$reader, status: LivelinessChanged) {
            let _ = (reader, status);
        }
        /// A writer was matched, or is gone.
        fn on_subscription_matched(&self, reader: &$reader, status: Matched) {
            let _ = (reader, status);
        }
        /// The session over domains with a writer is another: see `sessions()`.
        fn on_session_changed(&self, reader: &$reader, status: SessionChanged) {
            let _ = (reader, status);
        }
        /// The assurance with a writer is another: see `assurance()`.
        fn on_assurance_changed(&self, reader: &$reader, status: AssuranceChanged) {
            let _ = (reader, status);
        }
        /// A sample was later than the bound that was promised for it.
        fn on_bound_exceeded(&self, reader: &$reader, status: BoundExceeded) {
            let _ = (reader, status);
        }
    };
}

/// Called when a status of one reader changes. Callbacks run on a thread of the driver, or on the thread whose call caused
/// them, with no lock held: they may write, take and create, but not delete their own entity.
///
/// ```
/// # use dds::prelude::*;
/// # #[derive(DdsType, Clone, Debug, Default)]
/// # struct Reading { #[dds(key)] sensor: u32, celsius: f64 }
/// # fn example(reader: &DataReader<Reading>) -> Result<(), dds::Error> {
/// use std::sync::Arc;
///
/// use dds::status::Matched;
/// use dds::{DataReaderListener, StatusMask};
///
/// struct Print;
///
/// impl DataReaderListener<Reading> for Print {
///     fn on_data_available(&self, reader: &DataReader<Reading>) {
///         reader.samples().for_each(|reading| println!("{reading:?}"));
///     }
///     fn on_subscription_matched(&self, _: &DataReader<Reading>, status: Matched) {
///         println!("{} writers", status.current.count);
///     }
/// }
///
/// reader.set_listener(Some(Arc::new(Print)), StatusMask::DATA_AVAILABLE | StatusMask::SUBSCRIPTION_MATCHED);
/// # Ok(())
/// # }
/// ```
pub trait DataReaderListener<T>: Send + Sync {
    callbacks!(DataReader<T>);
}

/// Called when a status of some reader changes that the reader's own listener is not for.
pub trait AnyDataReaderListener: Send + Sync {
    callbacks!(RawDataReader);

    /// As [`AnyDataReaderListener::on_data_available`], which it calls, with a handle that is not needed any more.
    #[doc(hidden)]
    fn on_data_available_of(&self, reader: RawDataReader) {
        self.on_data_available(&reader);
    }
}

/// The listener of a Subscriber, for all its readers.
///
/// ```
/// # use dds::prelude::*;
/// # use std::sync::Arc;
/// use dds::status::StatusMask;
/// use dds::{AnyDataReaderListener, QosKind, RawDataReader, States, Subscriber, SubscriberListener};
///
/// struct Count;
///
/// impl AnyDataReaderListener for Count {}
///
/// impl SubscriberListener for Count {
///     fn on_data_on_readers(&self, subscriber: &Subscriber) {
///         println!("{} readers have samples", subscriber.get_datareaders(States::NOT_READ).len());
///     }
/// }
///
/// # fn example(participant: &Participant) -> Result<(), dds::Error> {
/// let mask = StatusMask::DATA_ON_READERS;
/// participant.create_subscriber(QosKind::Default, Some(Arc::new(Count)), mask)?;
/// # Ok(())
/// # }
/// ```
pub trait SubscriberListener: AnyDataReaderListener {
    /// Some reader has samples. If this is asked for, no `on_data_available` is called.
    fn on_data_on_readers(&self, subscriber: &Subscriber) {
        let _ = subscriber;
    }
}

/// A typed listener, called with the untyped reader.
pub(super) struct Typed<T>(pub(super) Arc<dyn DataReaderListener<T>>);

impl<T: Send + Sync> AnyDataReaderListener for Typed<T> {
    fn on_data_available(&self, reader: &RawDataReader) {
        self.0.on_data_available(&DataReader::of(reader.clone()));
    }
    fn on_data_available_of(&self, reader: RawDataReader) {
        self.0.on_data_available(&DataReader::of(reader));
    }
    fn on_requested_deadline_missed(&self, reader: &RawDataReader, status: DeadlineMissed) {
        self.0.on_requested_deadline_missed(&DataReader::of(reader.clone()), status);
    }
    fn on_requested_incompatible_qos(&self, reader: &RawDataReader, status: IncompatibleQos) {
        self.0.on_requested_incompatible_qos(&DataReader::of(reader.clone()), status);
    }
    fn on_sample_lost(&self, reader: &RawDataReader, status: SampleLost) {
        self.0.on_sample_lost(&DataReader::of(reader.clone()), status);
    }
    fn on_sample_rejected(&self, reader: &RawDataReader, status: SampleRejected) {
        self.0.on_sample_rejected(&DataReader::of(reader.clone()), status);
    }
    fn on_liveliness_changed(&self, reader: &RawDataReader, status: LivelinessChanged) {
        self.0.on_liveliness_changed(&DataReader::of(reader.clone()), status);
    }
    fn on_subscription_matched(&self, reader: &RawDataReader, status: Matched) {
        self.0.on_subscription_matched(&DataReader::of(reader.clone()), status);
    }
    fn on_assurance_changed(&self, reader: &RawDataReader, status: AssuranceChanged) {
        self.0.on_assurance_changed(&DataReader::of(reader.clone()), status);
    }
    fn on_session_changed(&self, reader: &RawDataReader, status: SessionChanged) {
        self.0.on_session_changed(&DataReader::of(reader.clone()), status);
    }
    fn on_bound_exceeded(&self, reader: &RawDataReader, status: BoundExceeded) {
        self.0.on_bound_exceeded(&DataReader::of(reader.clone()), status);
    }
}
