//! Writing a sample that is encoded where it will lie in the history.
use alloc::vec::Vec;
use core::fmt;

use rtps::Payload;
use rtps::writer::{Body, InPlaceError, WriteError as HistoryError};
use wire::{Now, SequenceNumber};

use super::change::Failure;
use super::{DataWriter, InstanceOf, WriteError, WriteOptions};
use crate::type_support::TypeSupport;

/// Why `write_with` wrote nothing; but for [`WriteError`]'s exception nothing has changed then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WriteWithError<E> {
    /// The writer refused.
    Write(WriteError),
    /// The encoder failed.
    Encode(E),
    /// The encoder wrote more than it had said.
    Overrun {
        /// What it had said, in bytes.
        max_len: usize,
    },
}

impl<E> From<WriteError> for WriteWithError<E> {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}

impl<E: fmt::Display> fmt::Display for WriteWithError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(error) => fmt::Display::fmt(error, f),
            Self::Encode(error) => write!(f, "the sample cannot be encoded: {error}"),
            Self::Overrun { max_len } => {
                write!(
                    f,
                    "the encoder wrote more than the {max_len} octets that it had said: correct its bound"
                )
            }
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for WriteWithError<E> {}

impl<T: TypeSupport, P: Payload> DataWriter<T, P> {
    /// Most bytes of the buffer for large samples that is kept for the next one.
    const ASIDE: usize = 64 << 10;

    /// As `write`, for a sample whose instance is known beforehand: `encode` appends its bytes, encapsulation header included, straight to
    /// the history, at most `max_len` of them. That many have to find room, so the size of this sample is better than
    /// the greatest size of its type. A sample that may be too large for a slab is encoded aside and copied.
    ///
    /// `encode` is called at most once, whether the writer then refuses or not, and not at all if no reader would get the sample.
    /// Readers go by the key in the sample: one that is not of `instance` reaches them as one of another instance.
    ///
    /// # Errors
    /// As `write`; `Refused` with `BadParameter` also for a handle that is not known. `Encode` and `Overrun` if `encode` fails or
    /// writes too much.
    pub fn write_with<E>(
        &mut self,
        now: Now,
        instance: InstanceOf<'_>,
        max_len: usize,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
        options: &WriteOptions,
    ) -> Result<SequenceNumber, WriteWithError<E>> {
        self.catch_up(now);
        let known = self.find(instance, "write").map_err(WriteError::from)?;
        let mut aside = core::mem::take(&mut self.aside);
        aside.clear();
        let mut encode = Some(encode);
        let result = self.write_to(now, known, options, |rtps, change| {
            if encode.is_some() {
                let fill = |out: &mut Vec<u8>| encode.take().map_or(Ok(()), |encode| encode(out));
                match rtps.write_in_place(now, change, max_len, fill) {
                    Ok(number) => return Ok(number),
                    Err(InPlaceError::Encode(error)) => {
                        return Err(Failure::Other(WriteWithError::Encode(error)));
                    }
                    Err(InPlaceError::Overrun { max_len }) => {
                        return Err(Failure::Other(WriteWithError::Overrun { max_len }));
                    }
                    Err(InPlaceError::Write(HistoryError::TooLarge { .. })) => {}
                    // What is promised never fits; what is written may.
                    Err(InPlaceError::Write(HistoryError::Full { needed, limit, .. })) if needed > limit => {}
                    Err(InPlaceError::Write(error)) => return Err(Failure::History(error)),
                }
            }
            // Only what may not fit a slab gets here; once encoded it stays so, however often it is offered.
            if let Some(encode) = encode.take() {
                encode(&mut aside).map_err(|error| Failure::Other(WriteWithError::Encode(error)))?;
                if aside.len() > max_len {
                    return Err(Failure::Other(WriteWithError::Overrun { max_len }));
                }
            }
            rtps.write(now, change, Body::Copy(&aside)).map_err(Failure::History)
        });
        if aside.capacity() <= Self::ASIDE {
            self.aside = aside;
        }
        result
    }
}
