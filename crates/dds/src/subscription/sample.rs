//! A sample as the application gets it.
use std::fmt::Display;
use std::ops::Deref;

use dcps::{KeyError, SampleInfo};
use wire::cdr::{DdsType, Encoding};

/// What a typed reader gives: a type of topics, or the data of a built-in topic.
pub trait SampleType: Sized + 'static {
    /// Why bytes are no such sample, or the other way round.
    type Fault: Display + Into<KeyError>;

    /// Reads a serialized sample.
    ///
    /// # Errors
    /// The bytes are none.
    fn read_payload(payload: &[u8]) -> Result<Self, Self::Fault>;

    /// Reads a serialized sample into this one, whose memory is used again.
    ///
    /// # Errors
    /// The bytes are none; what `self` is then is not said.
    fn read_payload_into(&mut self, payload: &[u8]) -> Result<(), Self::Fault>;

    /// Reads a serialized key; the other members are initial.
    ///
    /// # Errors
    /// The bytes are none.
    fn read_key_payload(payload: &[u8]) -> Result<Self, Self::Fault>;

    /// Appends the serialized sample.
    ///
    /// # Errors
    /// It breaks a bound of its type.
    fn write_payload(&self, out: &mut Vec<u8>) -> Result<(), Self::Fault>;
}

impl<T: DdsType + 'static> SampleType for T {
    type Fault = KeyError;

    fn read_payload(payload: &[u8]) -> Result<Self, KeyError> {
        T::decode_payload(payload).map_err(KeyError::Decode)
    }

    fn read_payload_into(&mut self, payload: &[u8]) -> Result<(), KeyError> {
        self.decode_payload_into(payload).map_err(KeyError::Decode)
    }

    fn read_key_payload(payload: &[u8]) -> Result<Self, KeyError> {
        T::decode_key_payload(payload).map_err(KeyError::Decode)
    }

    fn write_payload(&self, out: &mut Vec<u8>) -> Result<(), KeyError> {
        self.encode_payload(Encoding::XCDR2, out).map_err(KeyError::Encode)
    }
}

/// Data and what is known about them.
///
/// ```
/// # use dds::prelude::*;
/// # #[derive(DdsType, Clone, Debug, Default)]
/// # struct Reading { #[dds(key)] sensor: u32, celsius: f64 }
/// # fn example(reader: &DataReader<Reading>) -> Result<(), dds::Error> {
/// if let Some(sample) = reader.take_next_sample()? {
///     println!("{:?}, written {:?}", sample.data, sample.info.source_timestamp.to_system_time());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Sample<T> {
    /// Its states, ranks, time and instance.
    pub info: SampleInfo,
    /// The data; `None` if it only tells of a change of its instance (`info.valid_data` is false then).
    pub data: Option<T>,
    /// Without data: a value with the key of the instance, its other members initial; `None` if the type has no key.
    pub key: Option<T>,
}

impl<T> Deref for Sample<T> {
    type Target = Option<T>;

    fn deref(&self) -> &Option<T> {
        &self.data
    }
}
