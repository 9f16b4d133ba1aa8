//! How values that are described at run time are seen by the encoder and the decoder, which know types at compile time: as types
//! that carry the description with them.
use core::cell::{Cell, RefCell};

use alloc::vec::Vec;

use wire::cdr::{CdrType, DecodeError, Decoder, EncodeError, Encoder, LengthCode, Sink, SizeBound};

use crate::value::Value;
use crate::{decode, encode};
use wire::schema::{Schema, Type};

/// What a decoding has besides the bytes.
pub(crate) struct Context<'a> {
    pub(crate) schema: &'a Schema,
    /// Values that may still be made: members that were not sent take memory too.
    pub(crate) budget: Cell<usize>,
    /// Where an error is, innermost member first.
    pub(crate) trail: RefCell<Vec<&'a str>>,
}

/// A place that a value is decoded into.
pub(crate) struct Slot<'a> {
    /// None: it was set to the initial value, which the decoder cannot know.
    pub(crate) what: Option<(&'a Context<'a>, &'a Type)>,
    pub(crate) value: Value,
}

impl<'a> Slot<'a> {
    pub(crate) const fn new(context: &'a Context<'a>, ty: &'a Type) -> Self {
        Self { what: Some((context, ty)), value: Value::Absent }
    }
}

impl CdrType for Slot<'_> {
    const LENGTH_CODE: LengthCode = LengthCode::NextInt;
    const SIZE_XCDR1: SizeBound = SizeBound::UNBOUNDED;
    const SIZE_XCDR2: SizeBound = SizeBound::UNBOUNDED;

    fn initial() -> Self {
        Self { what: None, value: Value::Absent }
    }

    /// A place is not written from.
    fn encode<S: Sink>(&self, _: &mut Encoder<S>) -> Result<(), EncodeError> {
        Ok(())
    }

    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        if let Some((context, ty)) = self.what {
            self.value = decode::value(context, ty, decoder)?;
        }
        Ok(())
    }
}

/// A value that is encoded as a member whose length is told by `CODE`.
pub(crate) struct Item<'a, const CODE: u8> {
    pub(crate) what: Option<(&'a Schema, &'a Type, &'a Value)>,
}

impl<const CODE: u8> CdrType for Item<'_, CODE> {
    const LENGTH_CODE: LengthCode = match CODE {
        0 => LengthCode::One,
        1 => LengthCode::Two,
        2 => LengthCode::Four,
        3 => LengthCode::Eight,
        4 => LengthCode::NextInt,
        5 => LengthCode::OwnOctets,
        6 => LengthCode::OwnFours,
        _ => LengthCode::OwnEights,
    };
    const SIZE_XCDR1: SizeBound = SizeBound::UNBOUNDED;
    const SIZE_XCDR2: SizeBound = SizeBound::UNBOUNDED;

    fn initial() -> Self {
        Self { what: None }
    }

    fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        match self.what {
            Some((schema, ty, value)) => encode::value(schema, ty, value, encoder),
            None => Ok(()),
        }
    }

    /// A value is not read into.
    fn decode_into(&mut self, _: &mut Decoder<'_>) -> Result<(), DecodeError> {
        Ok(())
    }
}
