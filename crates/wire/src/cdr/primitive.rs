//! Primitive types: numbers, characters and booleans (XTypes 1.3, 7.4.1.1.1).
use alloc::vec::Vec;

use super::{
    CdrType, DecodeError, DecodeFault, Decoder, Description, EncodeError, Encoder, LengthCode, Sink,
    SizeBound,
};
use crate::cursor::Endianness;
use crate::schema::Primitive;

/// A character of one byte (IDL `char`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Char8(pub u8);

/// A UTF-16 code unit (IDL `wchar`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Char16(pub u16);

/// Primitives of one byte that are copied as they are.
macro_rules! octet {
    ($type:ty, $primitive:ident, $initial:expr, $to:expr, $from:expr) => {
        impl CdrType for $type {
            const PRIMITIVE: bool = true;
            const DESCRIPTION: Description = Description::Primitive(Primitive::$primitive);
            const LENGTH_CODE: LengthCode = LengthCode::One;
            const SIZE_XCDR1: SizeBound = SizeBound::primitive(1, 1);
            const SIZE_XCDR2: SizeBound = SizeBound::primitive(1, 1);

            fn initial() -> Self {
                $initial
            }

            #[inline]
            fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
                encoder.octets(&[$to(*self)])
            }

            #[inline]
            fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
                let [octet] = decoder.word()?;
                *self = $from(octet);
                Ok(())
            }

            fn encode_slice<S: Sink>(items: &[Self], encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
                encoder.fill(items.len(), |space| {
                    for (octet, item) in space.iter_mut().zip(items) {
                        *octet = $to(*item);
                    }
                })
            }

            fn decode_vec(
                items: &mut Vec<Self>,
                count: usize,
                decoder: &mut Decoder<'_>,
            ) -> Result<(), DecodeError> {
                let bytes = decoder.octets(count)?;
                items.clear();
                items.extend(bytes.iter().map(|octet| $from(*octet)));
                Ok(())
            }

            fn decode_flat(items: &mut [Self], decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
                let bytes = decoder.octets(items.len())?;
                for (item, octet) in items.iter_mut().zip(bytes) {
                    *item = $from(*octet);
                }
                Ok(())
            }
        }
    };
}

octet!(i8, I8, 0, i8::cast_unsigned, u8::cast_signed);
octet!(Char8, Char, Self(0), |character: Self| character.0, Char8);

impl CdrType for u8 {
    const PRIMITIVE: bool = true;
    const DESCRIPTION: Description = Description::Primitive(Primitive::U8);
    const LENGTH_CODE: LengthCode = LengthCode::One;
    const SIZE_XCDR1: SizeBound = SizeBound::primitive(1, 1);
    const SIZE_XCDR2: SizeBound = SizeBound::primitive(1, 1);

    fn initial() -> Self {
        0
    }

    #[inline]
    fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        encoder.octets(&[*self])
    }

    #[inline]
    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let [octet] = decoder.word()?;
        *self = octet;
        Ok(())
    }

    fn encode_slice<S: Sink>(items: &[Self], encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        encoder.octets(items)
    }

    fn decode_vec(items: &mut Vec<Self>, count: usize, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let bytes = decoder.octets(count)?;
        items.clear();
        items.extend_from_slice(bytes);
        Ok(())
    }

    fn decode_flat(items: &mut [Self], decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        items.copy_from_slice(decoder.octets(items.len())?);
        Ok(())
    }
}

impl CdrType for bool {
    const PRIMITIVE: bool = true;
    const DESCRIPTION: Description = Description::Primitive(Primitive::Boolean);
    const LENGTH_CODE: LengthCode = LengthCode::One;
    const SIZE_XCDR1: SizeBound = SizeBound::primitive(1, 1);
    const SIZE_XCDR2: SizeBound = SizeBound::primitive(1, 1);

    fn initial() -> Self {
        false
    }

    #[inline]
    fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        encoder.octets(&[u8::from(*self)])
    }

    #[inline]
    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let at = decoder.position();
        let [octet] = decoder.word()?;
        if octet > 1 {
            return Err(DecodeError { fault: DecodeFault::NotABool(octet), at, member: None });
        }
        *self = octet == 1;
        Ok(())
    }
}

/// Numbers of more than one byte.
macro_rules! number {
    ($type:ty, $primitive:ident, $size:literal, $initial:expr, $to_be:expr, $to_le:expr, $from_be:expr, $from_le:expr) => {
        impl CdrType for $type {
            const PRIMITIVE: bool = true;
            const DESCRIPTION: Description = Description::Primitive(Primitive::$primitive);
            const LENGTH_CODE: LengthCode = LengthCode::primitive($size);
            const SIZE_XCDR1: SizeBound = SizeBound::primitive($size, $size);
            const SIZE_XCDR2: SizeBound = SizeBound::primitive($size, if $size > 4 { 4 } else { $size });

            fn initial() -> Self {
                $initial
            }

            #[inline]
            fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
                encoder.align($size)?;
                encoder.octets(&match encoder.endianness() {
                    Endianness::Big => $to_be(*self),
                    Endianness::Little => $to_le(*self),
                })
            }

            #[inline]
            fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
                let bytes = decoder.word::<$size>()?;
                *self = match decoder.endianness() {
                    Endianness::Big => $from_be(bytes),
                    Endianness::Little => $from_le(bytes),
                };
                Ok(())
            }

            // One branch for the byte order and a plain loop for each: in the machine's order the compiler makes
            // it a block copy.
            fn encode_slice<S: Sink>(items: &[Self], encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
                if items.is_empty() {
                    return Ok(());
                }
                encoder.align($size)?;
                let endianness = encoder.endianness();
                encoder.fill(size_of_val(items), |space| {
                    let (words, _) = space.as_chunks_mut::<$size>();
                    match endianness {
                        Endianness::Big => {
                            words.iter_mut().zip(items).for_each(|(word, item)| *word = $to_be(*item));
                        }
                        Endianness::Little => {
                            words.iter_mut().zip(items).for_each(|(word, item)| *word = $to_le(*item));
                        }
                    }
                })
            }

            fn decode_vec(
                items: &mut Vec<Self>,
                count: usize,
                decoder: &mut Decoder<'_>,
            ) -> Result<(), DecodeError> {
                items.clear();
                if count == 0 {
                    return Ok(());
                }
                let (words, _) = words::<$size>(decoder, count)?;
                match decoder.endianness() {
                    Endianness::Big => items.extend(words.iter().map(|word| $from_be(*word))),
                    Endianness::Little => items.extend(words.iter().map(|word| $from_le(*word))),
                }
                Ok(())
            }

            fn decode_flat(items: &mut [Self], decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
                if items.is_empty() {
                    return Ok(());
                }
                let (words, _) = words::<$size>(decoder, items.len())?;
                match decoder.endianness() {
                    Endianness::Big => {
                        items.iter_mut().zip(words).for_each(|(item, word)| *item = $from_be(*word));
                    }
                    Endianness::Little => {
                        items.iter_mut().zip(words).for_each(|(item, word)| *item = $from_le(*word));
                    }
                }
                Ok(())
            }
        }
    };
    ($type:ident, $primitive:ident, $size:literal, $initial:expr) => {
        number!(
            $type,
            $primitive,
            $size,
            $initial,
            $type::to_be_bytes,
            $type::to_le_bytes,
            $type::from_be_bytes,
            $type::from_le_bytes
        );
    };
}

number!(u16, U16, 2, 0);
number!(i16, I16, 2, 0);
number!(u32, U32, 4, 0);
number!(i32, I32, 4, 0);
number!(u64, U64, 8, 0);
number!(i64, I64, 8, 0);
number!(f32, F32, 4, 0.0);
number!(f64, F64, 8, 0.0);
number!(
    Char16,
    WideChar,
    2,
    Self(0),
    |unit: Self| unit.0.to_be_bytes(),
    |unit: Self| unit.0.to_le_bytes(),
    |bytes| Char16(u16::from_be_bytes(bytes)),
    |bytes| Char16(u16::from_le_bytes(bytes))
);

/// `count` aligned words of `N` bytes.
fn words<'a, const N: usize>(
    decoder: &mut Decoder<'a>,
    count: usize,
) -> Result<(&'a [[u8; N]], &'a [u8]), DecodeError> {
    decoder.align(N)?;
    let Some(len) = count.checked_mul(N) else { return Err(decoder.error(DecodeFault::Truncated)) };
    Ok(decoder.octets(len)?.as_chunks())
}
