//! The typed DataWriter (DDS 1.4, 2.2.2.4.2).
use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use dcps::status::StatusMask;
use dcps::writer::{InstanceOf, WriteOptions};
use dcps::{Error, InstanceHandle, ReturnCode};
use wire::SequenceNumber;
use wire::cdr::{DdsType, ENCAPSULATION_SIZE, Encoding, Representation};

use super::listener::{AnyDataWriterListener, DataWriterListener, Typed};
use super::raw::RawDataWriter;
use crate::node::write::Encode;
use crate::shared;
use crate::wall_time::WallTime;

/// A writer of samples of type `T`. Clones are the same writer. What does not depend on the type is said by [`RawDataWriter`], which
/// it dereferences to.
///
/// ```
/// # use dds::prelude::*;
/// # #[derive(DdsType, Clone, Debug, Default)]
/// # struct Reading { #[dds(key)] sensor: u32, celsius: f64 }
/// # fn example(participant: &Participant) -> Result<(), dds::Error> {
/// let writer = participant.writer::<Reading>("Readings").keep_last(10).create()?;
/// writer.wait_for_readers(1, Duration::from_secs(5))?;
/// writer.write(&Reading { sensor: 1, celsius: 21.5 })?;
/// writer.dispose(&Reading { sensor: 1, ..Reading::default() })?;
/// writer.wait_for_acknowledgments(Duration::from_secs(1))?;
/// # Ok(())
/// # }
/// ```
pub struct DataWriter<T> {
    raw: RawDataWriter,
    of: PhantomData<fn(&T)>,
}

impl<T> DataWriter<T> {
    pub(super) const fn of(raw: RawDataWriter) -> Self {
        Self { raw, of: PhantomData }
    }

    /// Sets or takes away the listener. Waits for a call in progress.
    pub fn set_listener(&self, listener: Option<Arc<dyn DataWriterListener<T>>>, mask: StatusMask)
    where
        T: Send + Sync + 'static,
    {
        let listener = listener.map(|listener| Arc::new(Typed(listener)) as Arc<dyn AnyDataWriterListener>);
        self.raw.set_raw_listener(listener, mask);
    }
}

impl<T: DdsType> DataWriter<T> {
    /// Writes a sample, waiting for room as long as RELIABILITY max_blocking_time says, and gives its sequence number. Its
    /// instance is registered by that. For a type of fixed size nothing is taken from the heap in steady state.
    ///
    /// # Errors
    /// `Timeout` if there was no room in that time; `BadParameter` if the sample breaks a bound of its type;
    /// `OutOfResources` if it can never be held; `NotEnabled`; `AlreadyDeleted`.
    pub fn write(&self, sample: &T) -> Result<SequenceNumber, Error> {
        self.write_with(sample, &WriteOptions::default())
    }

    /// Writes a sample that was made at another time than now.
    ///
    /// # Errors
    /// As [`DataWriter::write`].
    pub fn write_w_timestamp(&self, sample: &T, timestamp: impl WallTime) -> Result<SequenceNumber, Error> {
        self.write_with(
            sample,
            &WriteOptions { source_timestamp: Some(timestamp.to_timestamp()), ..WriteOptions::default() },
        )
    }

    /// Writes a sample with an instance to check, a timestamp, or the sample that it answers.
    ///
    /// # Errors
    /// As [`DataWriter::write`]; `PreconditionNotMet` if it is not of the instance that the options name.
    pub fn write_with(&self, sample: &T, options: &WriteOptions) -> Result<SequenceNumber, Error> {
        let cell = self.raw.entity().cell("write")?;
        self.raw.entity().node.write(cell, &Sample(sample), options)
    }

    /// Writes a sample by a handle: readers of this participant get this very handle ([`DataReader::take_shared`](crate::DataReader::take_shared)),
    /// and nothing but its key is serialized for them. Its bytes are made once, if another participant is to get it. A program that shares the sample
    /// must not change it any more, as by a lock inside of it. It takes its bytes of limits as if it were serialized.
    ///
    /// # Errors
    /// As [`DataWriter::write_with`].
    pub fn write_shared(&self, sample: Arc<T>, options: &WriteOptions) -> Result<SequenceNumber, Error>
    where
        T: Clone + Send + Sync + 'static,
    {
        let cell = self.raw.entity().cell("write")?;
        let key = |out: &mut Vec<u8>| Sample(&*sample).key(out);
        let handle = |representation| shared::handle(Arc::clone(&sample), representation);
        match self.raw.entity().node.write_value(cell, key, handle, options)? {
            Some(number) => Ok(number),
            None => self.write_with(&sample, options),
        }
    }

    /// Registers the instance of a sample, of which only the key counts.
    ///
    /// # Errors
    /// `OutOfResources` at the limit of instances, `NotEnabled`.
    pub fn register_instance(&self, sample: &T) -> Result<InstanceHandle, Error> {
        self.raw.register_serialized(&octets(sample, "register_instance")?, false)
    }

    /// The instance of a sample; `None` if this writer does not know it.
    ///
    /// # Errors
    /// `BadParameter` if the sample breaks a bound of its type, `NotEnabled`.
    pub fn lookup_instance(&self, sample: &T) -> Result<Option<InstanceHandle>, Error> {
        self.raw.lookup_serialized(&octets(sample, "lookup_instance")?, false)
    }

    /// Disposes the instance of a sample: it does not exist any more.
    ///
    /// # Errors
    /// As [`DataWriter::write`].
    pub fn dispose(&self, sample: &T) -> Result<SequenceNumber, Error> {
        self.raw.dispose_of(InstanceOf::Sample(&octets(sample, "dispose")?), None)
    }

    /// Disposes an instance that ended at another time than now.
    ///
    /// # Errors
    /// As [`DataWriter::write`].
    pub fn dispose_w_timestamp(&self, sample: &T, timestamp: impl WallTime) -> Result<SequenceNumber, Error> {
        self.raw.dispose_of(InstanceOf::Sample(&octets(sample, "dispose")?), Some(timestamp.to_timestamp()))
    }

    /// Unregisters the instance of a sample: this writer has no more to say about it.
    ///
    /// # Errors
    /// As [`DataWriter::write`]; `PreconditionNotMet` if it is not registered.
    pub fn unregister_instance(&self, sample: &T) -> Result<SequenceNumber, Error> {
        self.raw.unregister_of(InstanceOf::Sample(&octets(sample, "unregister_instance")?), None)
    }

    /// Unregisters an instance, as of another time than now.
    ///
    /// # Errors
    /// As [`DataWriter::unregister_instance`].
    pub fn unregister_instance_w_timestamp(
        &self,
        sample: &T,
        timestamp: impl WallTime,
    ) -> Result<SequenceNumber, Error> {
        self.raw.unregister_of(
            InstanceOf::Sample(&octets(sample, "unregister_instance")?),
            Some(timestamp.to_timestamp()),
        )
    }
}

impl<T> Clone for DataWriter<T> {
    fn clone(&self) -> Self {
        Self::of(self.raw.clone())
    }
}

impl<T> Deref for DataWriter<T> {
    type Target = RawDataWriter;

    fn deref(&self) -> &RawDataWriter {
        &self.raw
    }
}

/// A sample to be encoded.
struct Sample<'a, T>(&'a T);

impl<T: DdsType> Encode for Sample<'_, T> {
    fn size(&self, representation: Representation) -> Result<usize, Error> {
        // Known when compiling for most types, and then not counted.
        let size = match T::max_serialized_size(representation) {
            Some(size) if size <= SMALL => size,
            _ => self.0.serialized_size(representation).map_err(|error| not_encoded("write", &error))?,
        };
        Ok(size.saturating_add(ENCAPSULATION_SIZE + PADDING))
    }

    fn key(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        dcps::canonical_key(self.0, out).map_err(|error| not_encoded("write", &error))
    }

    fn encode(&self, representation: Representation, out: &mut Vec<u8>) -> Result<(), Error> {
        self.0.encode_payload(encoding(representation), out).map_err(|error| not_encoded("write", &error))
    }

    fn encode_to(&self, representation: Representation, out: &mut [u8]) -> Result<usize, Error> {
        self.0.encode_payload_to(encoding(representation), out).map_err(|error| not_encoded("write", &error))
    }
}

/// Below this many bytes it does not matter how large a sample is exactly.
const SMALL: usize = 8 << 10;
const PADDING: usize = 3;

pub(crate) const fn encoding(representation: Representation) -> Encoding {
    match representation {
        Representation::Xcdr1 => Encoding::XCDR1,
        Representation::Xcdr2 => Encoding::XCDR2,
    }
}

fn octets<T: DdsType>(sample: &T, operation: &'static str) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    sample.encode_payload(Encoding::XCDR2, &mut out).map_err(|error| not_encoded(operation, &error))?;
    Ok(out)
}

pub(crate) fn not_encoded(operation: &'static str, error: &dyn Display) -> Error {
    let advice = "make the sample keep the bounds of its type";
    Error::new(ReturnCode::BadParameter, operation, error.to_string(), advice)
}
