//! What has a CDR encoding.
use alloc::vec::Vec;

use super::{DecodeError, Decoder, Description, EncodeError, Encoder, LengthCode, Sink, SizeBound};

/// A type whose values have a CDR encoding, and can thus be members of structures and elements of collections.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no CDR encoding",
    note = "derive `DdsType` for it; `Option` is for members of structures only, written as `Option<…>`"
)]
pub trait CdrType: Sized {
    /// A primitive type of IDL: collections of it need no DHEADER (XTypes 1.3, 7.4.3.5).
    const PRIMITIVE: bool = false;
    /// A primitive type, or an array of such: an array of it needs no DHEADER.
    const FLAT_PRIMITIVE: bool = Self::PRIMITIVE;
    /// What it looks like; types of which that is not known are announced by their names alone.
    const DESCRIPTION: Description = Description::Unknown;
    /// The length code of a member of this type.
    const LENGTH_CODE: LengthCode;
    /// The size in XCDR version 1.
    const SIZE_XCDR1: SizeBound;
    /// The size in XCDR version 2.
    const SIZE_XCDR2: SizeBound;
    /// The size of the key, as key hashes are made of it, in XCDR version 1.
    const KEY_SIZE_XCDR1: SizeBound = Self::SIZE_XCDR1;
    /// The size of the key, as key hashes are made of it, in XCDR version 2.
    const KEY_SIZE_XCDR2: SizeBound = Self::SIZE_XCDR2;
    /// The size as an element of an array in XCDR version 2: inner arrays have no DHEADER of their own.
    const ELEMENT_SIZE_XCDR2: SizeBound = Self::SIZE_XCDR2;
    /// The same for the key.
    const ELEMENT_KEY_SIZE_XCDR2: SizeBound = Self::KEY_SIZE_XCDR2;

    /// The value of a member that the sender did not send (XTypes 1.3, table 9).
    fn initial() -> Self;

    /// Writes the value.
    fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError>;

    /// Reads a value into this one, whose memory is used again. After an error this value is some value of its type.
    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError>;

    /// Reads a value.
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let mut value = Self::initial();
        value.decode_into(decoder)?;
        Ok(value)
    }

    /// Writes the elements of a sequence.
    fn encode_slice<S: Sink>(items: &[Self], encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        items.iter().try_for_each(|item| item.encode(encoder))
    }

    /// Writes the elements of an array; arrays of arrays are one array with all their elements.
    fn encode_flat<S: Sink>(items: &[Self], encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        Self::encode_slice(items, encoder)
    }

    /// Reads `count` elements of a sequence, which are known to fit into the bytes that are left.
    fn decode_vec(items: &mut Vec<Self>, count: usize, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        items.truncate(count);
        for item in &mut *items {
            item.decode_into(decoder)?;
        }
        let missing = count - items.len();
        items.reserve_exact(decoder.reservation::<Self>(missing));
        for _ in 0..missing {
            items.push(Self::decode(decoder)?);
        }
        Ok(())
    }

    /// Reads the elements of an array.
    fn decode_flat(items: &mut [Self], decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        items.iter_mut().try_for_each(|item| item.decode_into(decoder))
    }
}
