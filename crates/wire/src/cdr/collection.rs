//! Arrays, sequences, maps and boxes (XTypes 1.3, 7.4.3.5).
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::description::describe;
use super::entries::write_entries;
use super::{CdrType, DecodeError, Decoder, Description, EncodeError, Encoder, LengthCode, Sink, SizeBound};

/// An array; an array of arrays is one array of several dimensions.
impl<T: CdrType, const N: usize> CdrType for [T; N] {
    const DESCRIPTION: Description = Description::Array(describe::<T>, N as u32);
    const FLAT_PRIMITIVE: bool = T::FLAT_PRIMITIVE;
    const LENGTH_CODE: LengthCode = LengthCode::delimited(!T::FLAT_PRIMITIVE);
    const SIZE_XCDR1: SizeBound = SizeBound::array(T::SIZE_XCDR1, N, false);
    const SIZE_XCDR2: SizeBound = SizeBound::array(T::ELEMENT_SIZE_XCDR2, N, !T::FLAT_PRIMITIVE);
    const ELEMENT_SIZE_XCDR2: SizeBound = SizeBound::array(T::ELEMENT_SIZE_XCDR2, N, false);
    const KEY_SIZE_XCDR1: SizeBound = SizeBound::array(T::KEY_SIZE_XCDR1, N, false);
    const KEY_SIZE_XCDR2: SizeBound = SizeBound::array(T::ELEMENT_KEY_SIZE_XCDR2, N, !T::FLAT_PRIMITIVE);
    const ELEMENT_KEY_SIZE_XCDR2: SizeBound = SizeBound::array(T::ELEMENT_KEY_SIZE_XCDR2, N, false);

    fn initial() -> Self {
        core::array::from_fn(|_| T::initial())
    }

    fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        if T::FLAT_PRIMITIVE {
            return T::encode_flat(self, encoder);
        }
        let aggregate = encoder.begin_collection(false)?;
        T::encode_flat(self, encoder)?;
        encoder.end_collection(aggregate)
    }

    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let part = decoder.begin_collection(T::FLAT_PRIMITIVE)?;
        T::decode_flat(self, decoder)?;
        decoder.end_collection(part);
        Ok(())
    }

    fn encode_flat<S: Sink>(items: &[Self], encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        T::encode_flat(items.as_flattened(), encoder)
    }

    fn decode_flat(items: &mut [Self], decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        T::decode_flat(items.as_flattened_mut(), decoder)
    }
}

/// A sequence without bound.
impl<T: CdrType> CdrType for Vec<T> {
    const DESCRIPTION: Description = Description::Sequence(describe::<T>, None);
    const LENGTH_CODE: LengthCode = LengthCode::sequence(T::LENGTH_CODE, !T::PRIMITIVE);
    // The elements do not matter here, so that a type may contain a sequence of itself.
    const SIZE_XCDR1: SizeBound = SizeBound::UNBOUNDED.with_min(4);
    const SIZE_XCDR2: SizeBound = SizeBound::UNBOUNDED.with_min(4);

    fn initial() -> Self {
        Self::new()
    }

    fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        let aggregate = encoder.begin_collection(T::PRIMITIVE)?;
        encoder.length(self.len())?;
        T::encode_slice(self, encoder)?;
        encoder.end_collection(aggregate)
    }

    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let bound = decoder.take_bound();
        let part = decoder.begin_collection(T::PRIMITIVE)?;
        let count = decoder.count(bound, decoder.min_size::<T>())?;
        T::decode_vec(self, count, decoder)?;
        decoder.end_collection(part);
        Ok(())
    }
}

/// A map without bound. Of several entries with one key the last is kept.
impl<K: CdrType + Ord, V: CdrType> CdrType for BTreeMap<K, V> {
    const DESCRIPTION: Description = Description::Map(describe::<K>, describe::<V>, None);
    const LENGTH_CODE: LengthCode = LengthCode::delimited(!(K::PRIMITIVE && V::PRIMITIVE));
    const SIZE_XCDR1: SizeBound = SizeBound::UNBOUNDED.with_min(4);
    const SIZE_XCDR2: SizeBound = SizeBound::UNBOUNDED.with_min(4);

    fn initial() -> Self {
        Self::new()
    }

    fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        write_entries(encoder, self.len(), self.iter())
    }

    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let bound = decoder.take_bound();
        self.clear();
        let part = decoder.begin_collection(K::PRIMITIVE && V::PRIMITIVE)?;
        let min = decoder.min_size::<K>().saturating_add(decoder.min_size::<V>());
        for _ in 0..decoder.count(bound, min)? {
            let key = K::decode(decoder)?;
            self.insert(key, V::decode(decoder)?);
        }
        decoder.end_collection(part);
        Ok(())
    }
}

/// A value kept elsewhere (IDL `@external`); it is written like the value itself.
impl<T: CdrType> CdrType for Box<T> {
    const DESCRIPTION: Description = Description::External(describe::<T>);
    const PRIMITIVE: bool = T::PRIMITIVE;
    const LENGTH_CODE: LengthCode = T::LENGTH_CODE;
    const SIZE_XCDR1: SizeBound = T::SIZE_XCDR1;
    const SIZE_XCDR2: SizeBound = T::SIZE_XCDR2;
    const KEY_SIZE_XCDR1: SizeBound = T::KEY_SIZE_XCDR1;
    const KEY_SIZE_XCDR2: SizeBound = T::KEY_SIZE_XCDR2;

    fn initial() -> Self {
        Self::new(T::initial())
    }

    fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        T::encode(self, encoder)
    }

    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        T::decode_into(self, decoder)
    }
}
