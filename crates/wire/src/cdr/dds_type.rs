//! Types of topics.
use alloc::vec::Vec;

use super::sink::{CountSink, SliceSink, VecSink};
use super::{
    CdrType, DecodeError, DecodeFault, Decoder, ENCAPSULATION_SIZE, EncodeError, EncodeFault, Encoder,
    Encoding, Extensibility, KeyHash, Representation, Scope, Sink,
};
use crate::cursor::Endianness;

/// A type of topics; derived with `#[derive(DdsType)]`.
pub trait DdsType: CdrType {
    /// The name of the type, by default the Rust name.
    const TYPE_NAME: &'static str;
    /// How far the type may change.
    const EXTENSIBILITY: Extensibility;
    /// True if samples belong to instances: some member is marked as key.
    const HAS_KEY: bool;
    /// The greatest size of a value in XCDR version 1, in bytes after the encapsulation header.
    const MAX_SERIALIZED_SIZE_XCDR1: Option<usize> = Self::SIZE_XCDR1.max();
    /// The greatest size of a value in XCDR version 2, in bytes after the encapsulation header.
    const MAX_SERIALIZED_SIZE_XCDR2: Option<usize> = Self::SIZE_XCDR2.max();
    /// The greatest size of the bytes that a key hash is made of, in XCDR version 1.
    const MAX_KEY_SIZE_XCDR1: Option<usize> =
        if Self::HAS_KEY { Self::KEY_SIZE_XCDR1.max() } else { Some(0) };
    /// The greatest size of the bytes that a key hash is made of, in XCDR version 2.
    const MAX_KEY_SIZE_XCDR2: Option<usize> =
        if Self::HAS_KEY { Self::KEY_SIZE_XCDR2.max() } else { Some(0) };

    /// The greatest size of a value, in bytes after the encapsulation header.
    fn max_serialized_size(representation: Representation) -> Option<usize> {
        match representation {
            Representation::Xcdr1 => Self::MAX_SERIALIZED_SIZE_XCDR1,
            Representation::Xcdr2 => Self::MAX_SERIALIZED_SIZE_XCDR2,
        }
    }

    /// The size of this value, in bytes after the encapsulation header. Allocates nothing.
    fn serialized_size(&self, representation: Representation) -> Result<usize, EncodeError> {
        let encoding = Encoding { representation, endianness: Endianness::Little };
        let mut encoder = Encoder::new(CountSink::default(), encoding, Scope::Data);
        self.encode(&mut encoder)?;
        Ok(encoder.position())
    }

    /// Appends the serialized payload: encapsulation header, value, padding to a multiple of four. Allocates nothing
    /// while the capacity of `out` suffices. After an error `out` is as it was.
    fn encode_payload(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        append(self, encoding, Scope::Data, out)
    }

    /// Writes the serialized payload to the start of `out` and gives its size in bytes.
    fn encode_payload_to(&self, encoding: Encoding, out: &mut [u8]) -> Result<usize, EncodeError> {
        let full = EncodeError { fault: EncodeFault::BufferTooSmall, at: 0, member: None };
        let (header, body) = out.split_first_chunk_mut::<ENCAPSULATION_SIZE>().ok_or(full)?;
        let mut encoder = Encoder::new(SliceSink::new(body), encoding, Scope::Data);
        self.encode(&mut encoder)?;
        let padding = pad(&mut encoder)?;
        let size = encoder.position();
        *header = encoding.header(Self::EXTENSIBILITY, padding);
        Ok(size.saturating_add(ENCAPSULATION_SIZE))
    }

    /// Appends a serialized payload with the key members alone, as a dispose carries it (RTPS 2.5, 9.4.5.4).
    fn encode_key_payload(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if !Self::HAS_KEY {
            return Err(EncodeError { fault: EncodeFault::NoKey, at: 0, member: None });
        }
        append(self, encoding, Scope::Key, out)
    }

    /// Reads a serialized payload, in whatever encoding its header tells.
    fn decode_payload(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut value = Self::initial();
        value.decode_payload_into(payload)?;
        Ok(value)
    }

    /// Reads a serialized payload into this value, whose memory is used again.
    fn decode_payload_into(&mut self, payload: &[u8]) -> Result<(), DecodeError> {
        let (encoding, body) = Encoding::open(payload, Self::EXTENSIBILITY)?;
        self.decode_into(&mut Decoder::new(body, encoding, Scope::Data))
    }

    /// Reads the members of a value in [`Scope::Data`] up to the last one of the key; what follows stays unread. Derived where that is
    /// less than all.
    fn decode_to_key(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        self.decode_into(decoder)
    }

    /// Reads of a serialized payload what its key needs, into this value, and says how many bytes that took. The value is good for its
    /// key alone then.
    fn decode_payload_to_key(&mut self, payload: &[u8]) -> Result<usize, DecodeError> {
        let (encoding, body) = Encoding::open(payload, Self::EXTENSIBILITY)?;
        let mut decoder = Decoder::new(body, encoding, Scope::Data);
        self.decode_to_key(&mut decoder)?;
        Ok(decoder.position())
    }

    /// Reads a serialized payload with the key members alone; the others have their initial values.
    fn decode_key_payload(payload: &[u8]) -> Result<Self, DecodeError> {
        if !Self::HAS_KEY {
            return Err(DecodeError { fault: DecodeFault::NoKey, at: 0, member: None });
        }
        let (encoding, body) = Encoding::open(payload, Self::EXTENSIBILITY)?;
        Self::decode(&mut Decoder::new(body, encoding, Scope::Key))
    }

    /// The key hash of this value's instance; zero for a type without key. The version is that of the data, since
    /// alignment makes a difference. `scratch` is used, and its contents lost, if the key may exceed 16 bytes.
    fn key_hash(
        &self,
        representation: Representation,
        scratch: &mut Vec<u8>,
    ) -> Result<KeyHash, EncodeError> {
        let mut hash = KeyHash::default();
        if !Self::HAS_KEY {
            return Ok(hash);
        }
        let encoding = Encoding { representation, endianness: Endianness::Big };
        if KeyHash::holds(max_key_size::<Self>(representation)) {
            self.encode(&mut Encoder::new(SliceSink::new(&mut hash.0), encoding, Scope::KeyHash))?;
            return Ok(hash);
        }
        scratch.clear();
        self.encode(&mut Encoder::new(VecSink::new(scratch), encoding, Scope::KeyHash))?;
        Ok(KeyHash::digest(scratch))
    }

    /// The key members from a key hash, the others with their initial values; `None` if the hash is a digest and tells
    /// nothing, or is no hash of this type.
    fn from_key_hash(hash: KeyHash, representation: Representation) -> Option<Self> {
        if !Self::HAS_KEY || !KeyHash::holds(max_key_size::<Self>(representation)) {
            return None;
        }
        let encoding = Encoding { representation, endianness: Endianness::Big };
        Self::decode(&mut Decoder::new(&hash.0, encoding, Scope::KeyHash)).ok()
    }
}

fn max_key_size<T: DdsType>(representation: Representation) -> Option<usize> {
    match representation {
        Representation::Xcdr1 => T::MAX_KEY_SIZE_XCDR1,
        Representation::Xcdr2 => T::MAX_KEY_SIZE_XCDR2,
    }
}

fn append<T: DdsType>(
    value: &T,
    encoding: Encoding,
    scope: Scope,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let start = out.len();
    out.extend_from_slice(&[0; ENCAPSULATION_SIZE]);
    let mut encoder = Encoder::new(VecSink::new(out), encoding, scope);
    match value.encode(&mut encoder).and_then(|()| pad(&mut encoder)) {
        Ok(padding) => {
            if let Some(header) = out.get_mut(start..).and_then(|payload| payload.first_chunk_mut()) {
                *header = encoding.header(T::EXTENSIBILITY, padding);
            }
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            Err(error)
        }
    }
}

/// Pads a payload to a multiple of four bytes and gives the number of bytes added.
fn pad<S: Sink>(encoder: &mut Encoder<S>) -> Result<u8, EncodeError> {
    let before = encoder.position();
    encoder.align(4)?;
    Ok((encoder.position() - before) as u8)
}
