//! What the machines need to know about a type: its key.
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use wire::cdr::sink::VecSink;
use wire::cdr::{
    DdsType, DecodeError, Decoder, EncodeError, EncodeFault, Encoder, Encoding, KeyHash, Representation,
    Scope,
};
use wire::cursor::Endianness;
use wire::discovery::DiscoveryError;

/// Why a key could not be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyError {
    /// The payload or the key could not be read.
    Decode(DecodeError),
    /// The key could not be written.
    Encode(EncodeError),
    /// It is not the announcement of a participant or endpoint, as the samples of built-in topics are.
    Announcement(DiscoveryError),
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(error) => fmt::Display::fmt(error, f),
            Self::Encode(error) => fmt::Display::fmt(error, f),
            Self::Announcement(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl core::error::Error for KeyError {}

/// Keys of a type that is otherwise unknown.
///
/// A key has one canonical form, the same for every sender and every encoding: big-endian XCDR version 2 as key
/// hashes are made of it (XTypes 1.3, 7.6.8). It is the identity of an instance; hashes are derived from it.
pub trait TypeSupport {
    /// True if samples belong to instances.
    fn has_key(&self) -> bool;

    /// Appends the canonical key of a serialized sample, or of a serialized key if `is_key`.
    ///
    /// # Errors
    /// The payload is not one of this type.
    fn key(&mut self, payload: &[u8], is_key: bool, key: &mut Vec<u8>) -> Result<(), KeyError>;

    /// The key hash of a canonical key as a writer of this representation makes it.
    ///
    /// # Errors
    /// The key is not one of this type.
    fn key_hash(&mut self, key: &[u8], representation: Representation) -> Result<KeyHash, KeyError>;

    /// Appends the serialized key payload, encapsulation header included, of a canonical key.
    ///
    /// # Errors
    /// The key is not one of this type.
    fn key_payload(
        &mut self,
        key: &[u8],
        representation: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), KeyError>;
}

macro_rules! forward {
    ($($owner:ty),*) => {
        $(impl<T: TypeSupport + ?Sized> TypeSupport for $owner {
            fn has_key(&self) -> bool {
                (**self).has_key()
            }

            fn key(&mut self, payload: &[u8], is_key: bool, key: &mut Vec<u8>) -> Result<(), KeyError> {
                (**self).key(payload, is_key, key)
            }

            fn key_hash(
                &mut self,
                key: &[u8],
                representation: Representation,
            ) -> Result<KeyHash, KeyError> {
                (**self).key_hash(key, representation)
            }

            fn key_payload(
                &mut self,
                key: &[u8],
                representation: Representation,
                out: &mut Vec<u8>,
            ) -> Result<(), KeyError> {
                (**self).key_payload(key, representation, out)
            }
        })*
    };
}

// So that machines for types that are known only at run time can share one type: `Box<dyn TypeSupport>`.
forward!(Box<T>, &mut T);

/// Samples that are bytes and nothing more: any payload is a sample, and all are of one instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KeylessTypeSupport;

impl TypeSupport for KeylessTypeSupport {
    fn has_key(&self) -> bool {
        false
    }

    fn key(&mut self, _: &[u8], _: bool, _: &mut Vec<u8>) -> Result<(), KeyError> {
        Ok(())
    }

    fn key_hash(&mut self, _: &[u8], _: Representation) -> Result<KeyHash, KeyError> {
        Ok(KeyHash::default())
    }

    fn key_payload(&mut self, _: &[u8], _: Representation, _: &mut Vec<u8>) -> Result<(), KeyError> {
        Err(KeyError::Encode(EncodeError { fault: EncodeFault::NoKey, at: 0, member: None }))
    }
}

const CANONICAL: Encoding = Encoding { representation: Representation::Xcdr2, endianness: Endianness::Big };

/// Appends the canonical key of a sample, see [`TypeSupport`]; nothing if its type has no key.
///
/// # Errors
/// The sample breaks a bound of its type.
pub fn canonical_key<T: DdsType>(sample: &T, key: &mut Vec<u8>) -> Result<(), KeyError> {
    if !T::HAS_KEY {
        return Ok(());
    }
    let mut encoder = Encoder::new(VecSink::new(key), CANONICAL, Scope::KeyHash);
    sample.encode(&mut encoder).map_err(KeyError::Encode)
}

/// The keys of a Rust type.
#[derive(Debug)]
pub struct CdrTypeSupport<T> {
    /// Memory that is used again by each call.
    value: T,
    scratch: Vec<u8>,
}

impl<T: DdsType> CdrTypeSupport<T> {
    /// Bytes that may be read of a sample so that its memory is used again. That of a larger one is given back, or the largest ever
    /// seen would stay.
    const REUSED: usize = 64 << 10;

    /// The keys of `T`.
    pub fn new() -> Self {
        Self { value: T::initial(), scratch: Vec::new() }
    }

    /// Reads what the key needs, and says how many bytes that took.
    fn read_payload(&mut self, payload: &[u8], is_key: bool) -> Result<usize, KeyError> {
        if is_key {
            self.value = T::decode_key_payload(payload).map_err(KeyError::Decode)?;
            return Ok(payload.len());
        }
        self.value.decode_payload_to_key(payload).map_err(KeyError::Decode)
    }

    fn read_key(&mut self, key: &[u8]) -> Result<(), KeyError> {
        self.value.decode_into(&mut Decoder::new(key, CANONICAL, Scope::KeyHash)).map_err(KeyError::Decode)
    }
}

impl<T: DdsType> Default for CdrTypeSupport<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: DdsType> TypeSupport for CdrTypeSupport<T> {
    fn has_key(&self) -> bool {
        T::HAS_KEY
    }

    fn key(&mut self, payload: &[u8], is_key: bool, key: &mut Vec<u8>) -> Result<(), KeyError> {
        if !T::HAS_KEY {
            return Ok(());
        }
        let read = self.read_payload(payload, is_key);
        let written = read.and_then(|_| canonical_key(&self.value, key));
        // After an error it is not known how much was read before it.
        if read.unwrap_or(payload.len()) > Self::REUSED {
            self.value = T::initial();
        }
        written
    }

    fn key_hash(&mut self, key: &[u8], representation: Representation) -> Result<KeyHash, KeyError> {
        self.read_key(key)?;
        self.value.key_hash(representation, &mut self.scratch).map_err(KeyError::Encode)
    }

    fn key_payload(
        &mut self,
        key: &[u8],
        representation: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), KeyError> {
        self.read_key(key)?;
        let encoding = match representation {
            Representation::Xcdr1 => Encoding::XCDR1,
            Representation::Xcdr2 => Encoding::XCDR2,
        };
        self.value.encode_key_payload(encoding, out).map_err(KeyError::Encode)
    }
}
