//! Fields that are made of integers: discriminators of unions, enumerations, and the fields of bitsets.
use wire::cdr::{CdrType, Char8, DecodeError, Decoder, EncodeError, Encoder, LengthCode, Sink, SizeBound};
use wire::schema::{Bitset, Definition, Primitive, Type};

use crate::walk::{Found, Part, Walk};

/// The discriminator of a union, which is read in any case.
pub(crate) struct Label<'w> {
    pub(crate) of: Option<(&'w Walk<'w>, &'w Type)>,
    pub(crate) value: i64,
}

impl CdrType for Label<'_> {
    const LENGTH_CODE: LengthCode = LengthCode::NextInt;
    const SIZE_XCDR1: SizeBound = SizeBound::UNBOUNDED;
    const SIZE_XCDR2: SizeBound = SizeBound::UNBOUNDED;

    fn initial() -> Self {
        Self { of: None, value: 0 }
    }

    /// Nothing is written.
    fn encode<S: Sink>(&self, _: &mut Encoder<S>) -> Result<(), EncodeError> {
        Ok(())
    }

    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let Some((walk, ty)) = self.of else { return Ok(()) };
        self.value = match ty {
            Type::Primitive(kind) => match kind {
                Primitive::Boolean => bool::decode(decoder)?.into(),
                Primitive::U8 | Primitive::Octet => u8::decode(decoder)?.into(),
                Primitive::Char => Char8::decode(decoder)?.0.into(),
                Primitive::U16 | Primitive::WideChar => u16::decode(decoder)?.into(),
                Primitive::U32 => u32::decode(decoder)?.into(),
                Primitive::U64 => u64::decode(decoder)?.cast_signed(),
                Primitive::I8 => i8::decode(decoder)?.into(),
                Primitive::I16 => i16::decode(decoder)?.into(),
                Primitive::I64 => i64::decode(decoder)?,
                Primitive::I32 | Primitive::F32 | Primitive::F64 => i32::decode(decoder)?.into(),
            },
            Type::Named(index) => match walk.schema.get(*index) {
                Some(Definition::Enumeration(of)) => enumeration(of.bits, decoder)?,
                _ => 0,
            },
            _ => 0,
        };
        Ok(())
    }
}

/// A discriminator as the value of a field.
pub(crate) fn label_value(ty: &Type, label: i64) -> Option<Found> {
    match ty {
        Type::Primitive(Primitive::Boolean) => Some(Found::Boolean(label != 0)),
        Type::Primitive(Primitive::Char | Primitive::WideChar) => {
            u32::try_from(label).ok().and_then(char::from_u32).map(Found::Char)
        }
        Type::Primitive(Primitive::U64) => Some(Found::Unsigned(label.cast_unsigned())),
        Type::Primitive(_) => Some(Found::Signed(label)),
        _ => Some(Found::Enumeration(label)),
    }
}

impl Walk<'_> {
    /// The fields of a bitset.
    pub(crate) fn bitset(&self, part: Part<'_>, of: &Bitset, bits: u64) {
        let Some(node) = part.node else { return };
        for (at, child) in &node.children {
            let Some(field) = of.fields.get(*at as usize) else { continue };
            let value = (bits & field.mask()) >> field.position;
            let found = match field.ty {
                Primitive::Boolean => Found::Boolean(value != 0),
                _ if field.is_signed() => {
                    let unused = 64 - u32::from(field.width);
                    Found::Signed((value << unused).cast_signed() >> unused)
                }
                _ => Found::Unsigned(value),
            };
            self.set(Part { ty: part.ty, node: Some(child), is_last: false }, || Some(found));
        }
    }
}

/// The value of an enumeration that is held by so many bits.
pub(crate) fn enumeration(width: u8, decoder: &mut Decoder<'_>) -> Result<i64, DecodeError> {
    Ok(match width {
        8 => i8::decode(decoder)?.into(),
        16 => i16::decode(decoder)?.into(),
        _ => i32::decode(decoder)?.into(),
    })
}

/// The integer that holds a bitmask or a bitset.
pub(crate) fn bits(width: u8, decoder: &mut Decoder<'_>) -> Result<u64, DecodeError> {
    Ok(match width {
        8 => u8::decode(decoder)?.into(),
        16 => u16::decode(decoder)?.into(),
        32 => u32::decode(decoder)?.into(),
        _ => u64::decode(decoder)?,
    })
}
