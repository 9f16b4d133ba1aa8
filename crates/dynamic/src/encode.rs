//! From values to CDR.
use alloc::vec::Vec;

use wire::cdr::sink::VecSink;
use wire::cdr::{
    Aggregate, CdrType, Char8, ENCAPSULATION_SIZE, EncodeError, EncodeFault, Encoder, Encoding, KeyHash,
    LengthCode, Member as Info, Representation, Scope, Sink, WString,
};

use crate::codec::Item;
use crate::value::Value;
use wire::schema::{Definition, Member, Primitive, Schema, Struct, Type, TypeIndex, Union, is_primitive};

/// Appends a payload; after an error `out` is as it was.
pub(crate) fn payload(
    schema: &Schema,
    index: TypeIndex,
    value: &Value,
    encoding: Encoding,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    scoped(schema, index, value, encoding, Scope::Data, out)
}

/// Appends a payload with the key alone.
pub(crate) fn key_payload(
    schema: &Schema,
    index: TypeIndex,
    value: &Value,
    encoding: Encoding,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    scoped(schema, index, value, encoding, Scope::Key, out)
}

/// The key hash of bytes that are a key (RTPS 2.5, 9.6.4.8).
pub(crate) fn key_hash(
    schema: &Schema,
    index: TypeIndex,
    representation: Representation,
    bytes: &[u8],
) -> KeyHash {
    let largest = wire::schema::cost(schema, &Type::Named(index)).key(representation).max();
    if largest.is_some_and(|largest| largest <= KeyHash::SIZE) {
        let mut hash = KeyHash::default();
        hash.0.iter_mut().zip(bytes).for_each(|(place, octet)| *place = *octet);
        return hash;
    }
    KeyHash(wire::md5::md5(bytes))
}

fn scoped(
    schema: &Schema,
    index: TypeIndex,
    this: &Value,
    encoding: Encoding,
    scope: Scope,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let Some(extensibility) = schema.get(index).and_then(Definition::extensibility) else {
        return Err(EncodeError { fault: EncodeFault::NoKey, at: 0, member: None });
    };
    let start = out.len();
    out.extend_from_slice(&[0; ENCAPSULATION_SIZE]);
    let mut encoder = Encoder::new(VecSink::new(out), encoding, scope);
    let written = value(schema, &Type::Named(index), this, &mut encoder).and_then(|()| {
        let before = encoder.position();
        encoder.align(4)?;
        Ok(encoder.position() - before)
    });
    match written {
        Ok(padding) => {
            let header = encoding.header(extensibility, u8::try_from(padding).unwrap_or(0));
            if let Some(place) = out.get_mut(start..).and_then(|payload| payload.first_chunk_mut()) {
                *place = header;
            }
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            // The encoder was told no names.
            Err(EncodeError { member: None, ..error })
        }
    }
}

/// Writes a value. Samples hold only values that fit their type; what would not is refused.
pub(crate) fn value<S: Sink>(
    schema: &Schema,
    ty: &Type,
    value: &Value,
    encoder: &mut Encoder<S>,
) -> Result<(), EncodeError> {
    match (ty, value) {
        (Type::Primitive(kind), _) => primitive(*kind, value, encoder),
        (Type::Text(bound), Value::Text(text)) => {
            check(*bound, text.len(), encoder)?;
            text.encode(encoder)
        }
        (Type::WideText(bound), Value::WideText(units)) => {
            check(*bound, units.len(), encoder)?;
            WString(units.clone()).encode(encoder)
        }
        (Type::Sequence(_, bound), Value::Octets(bytes)) => {
            check(*bound, bytes.len(), encoder)?;
            encoder.length(bytes.len())?;
            encoder.octets(bytes)
        }
        (Type::Sequence(element, bound), Value::List(items)) => {
            check(*bound, items.len(), encoder)?;
            let aggregate = encoder.begin_collection(is_primitive(element))?;
            encoder.length(items.len())?;
            items.iter().try_for_each(|item| self::value(schema, element, item, encoder))?;
            encoder.end_collection(aggregate)
        }
        (Type::Array(..), Value::Octets(bytes)) => encoder.octets(bytes),
        (Type::Array(element, _), Value::List(items)) => {
            let aggregate = encoder.begin_collection(is_primitive(element))?;
            items.iter().try_for_each(|item| self::value(schema, element, item, encoder))?;
            encoder.end_collection(aggregate)
        }
        (Type::Map(key, of, bound), Value::Map(entries)) => {
            check(*bound, entries.len(), encoder)?;
            let aggregate = encoder.begin_collection(is_primitive(key) && is_primitive(of))?;
            encoder.length(entries.len())?;
            for (one, other) in entries {
                self::value(schema, key, one, encoder)?;
                self::value(schema, of, other, encoder)?;
            }
            encoder.end_collection(aggregate)
        }
        (Type::Named(index), _) => match (schema.get(*index), value) {
            (Some(Definition::Struct(of)), Value::Members(members)) => {
                structure(schema, of, members, encoder)
            }
            (Some(Definition::Union(of)), Value::Union(label, inner)) => {
                union(schema, of, *label, inner.as_deref(), encoder)
            }
            (Some(Definition::Enumeration(of)), _) => primitive(signed(of.bits), value, encoder),
            (Some(Definition::Bitmask(of)), _) => primitive(unsigned(of.bits), value, encoder),
            (Some(Definition::Bitset(of)), _) => primitive(unsigned(of.bits), value, encoder),
            _ => Err(misfit(encoder)),
        },
        _ => Err(misfit(encoder)),
    }
}

/// The integer that holds an enumeration.
pub(crate) const fn signed(bits: u8) -> Primitive {
    match bits {
        8 => Primitive::I8,
        16 => Primitive::I16,
        _ => Primitive::I32,
    }
}

/// The integer that holds a bitmask.
pub(crate) const fn unsigned(bits: u8) -> Primitive {
    match bits {
        8 => Primitive::U8,
        16 => Primitive::U16,
        32 => Primitive::U32,
        _ => Primitive::U64,
    }
}

/// The members of a structure that are in a scope, in the order of that scope: as `#[derive(DdsType)]` has them.
pub(crate) fn members(of: &Struct, scope: Scope) -> Vec<(usize, &Member)> {
    let keyed = of.members.iter().any(|member| member.key);
    let mut selected: Vec<_> = of.members.iter().enumerate().collect();
    if scope != Scope::Data && keyed {
        selected.retain(|(_, member)| member.key);
    }
    if scope == Scope::KeyHash {
        selected.sort_by_key(|(_, member)| member.id);
    }
    selected
}

/// What the encoder and the decoder are told of a member. Bounds are checked here, where types carry them.
pub(crate) const fn info(id: u32, must_understand: bool) -> Info {
    Info { name: "", id, must_understand, bound: None }
}

fn structure<S: Sink>(
    schema: &Schema,
    of: &Struct,
    values: &[Value],
    encoder: &mut Encoder<S>,
) -> Result<(), EncodeError> {
    let aggregate = encoder.begin(of.extensibility)?;
    for (index, member) in members(of, encoder.scope()) {
        let Some(value) = values.get(index) else { return Err(misfit(encoder)) };
        let info = info(member.id, member.must_understand || member.key);
        match (member.optional, value) {
            (true, Value::Absent) => encoder.optional::<Item<'_, 4>>(&aggregate, &info, None)?,
            (optional, value) => write(encoder, schema, &aggregate, &info, &member.ty, value, optional)?,
        }
    }
    encoder.end(aggregate)
}

fn union<S: Sink>(
    schema: &Schema,
    of: &Union,
    label: i64,
    inner: Option<&Value>,
    encoder: &mut Encoder<S>,
) -> Result<(), EncodeError> {
    let aggregate = encoder.begin(of.extensibility)?;
    let discriminator = from_label(&of.discriminator, label);
    // A reader that does not know it cannot read the rest.
    let must_understand = true;
    write(encoder, schema, &aggregate, &info(0, must_understand), &of.discriminator, &discriminator, false)?;
    let case = of.case(label).and_then(|case| of.cases.get(case));
    let label_alone = of.key_is_discriminator && encoder.scope() != Scope::Data;
    match (case, inner) {
        _ if label_alone => {}
        (Some(case), Some(value)) => {
            write(encoder, schema, &aggregate, &info(case.id, false), &case.ty, value, false)?;
        }
        (None, None) => {}
        _ => return Err(encoder.error(EncodeFault::WrongDiscriminator)),
    }
    encoder.end(aggregate)
}

/// A discriminator as a value of its type.
pub(crate) fn from_label(ty: &Type, label: i64) -> Value {
    match ty {
        Type::Primitive(Primitive::Boolean) => Value::Boolean(label != 0),
        Type::Primitive(Primitive::Char) => Value::Char(label.to_le_bytes()[0]),
        Type::Primitive(
            Primitive::U8
            | Primitive::Octet
            | Primitive::U16
            | Primitive::U32
            | Primitive::U64
            | Primitive::WideChar,
        ) => Value::Unsigned(label.cast_unsigned()),
        _ => Value::Signed(label),
    }
}

/// Writes a member, as a type that tells its length the way it has to be told.
fn write<S: Sink>(
    encoder: &mut Encoder<S>,
    schema: &Schema,
    aggregate: &Aggregate,
    info: &Info,
    ty: &Type,
    value: &Value,
    optional: bool,
) -> Result<(), EncodeError> {
    macro_rules! as_code {
        ($code:literal) => {{
            let item = Item::<'_, $code> { what: Some((schema, ty, value)) };
            if optional {
                encoder.optional(aggregate, info, Some(&item))
            } else {
                encoder.member(aggregate, info, &item)
            }
        }};
    }
    match wire::schema::length_code(schema, ty) {
        LengthCode::One => as_code!(0),
        LengthCode::Two => as_code!(1),
        LengthCode::Four => as_code!(2),
        LengthCode::Eight => as_code!(3),
        LengthCode::NextInt => as_code!(4),
        LengthCode::OwnOctets => as_code!(5),
        LengthCode::OwnFours => as_code!(6),
        LengthCode::OwnEights => as_code!(7),
    }
}

fn primitive<S: Sink>(kind: Primitive, value: &Value, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
    let refused = misfit(encoder);
    macro_rules! number {
        ($type:ty, $value:expr) => {
            <$type>::try_from(*$value).map_err(|_| refused)?.encode(encoder)
        };
    }
    match (kind, value) {
        (Primitive::Boolean, Value::Boolean(value)) => value.encode(encoder),
        (Primitive::U8 | Primitive::Octet, Value::Unsigned(value)) => number!(u8, value),
        (Primitive::U16 | Primitive::WideChar, Value::Unsigned(value)) => number!(u16, value),
        (Primitive::U32, Value::Unsigned(value)) => number!(u32, value),
        (Primitive::U64, Value::Unsigned(value)) => value.encode(encoder),
        (Primitive::I8, Value::Signed(value)) => number!(i8, value),
        (Primitive::I16, Value::Signed(value)) => number!(i16, value),
        (Primitive::I32, Value::Signed(value)) => number!(i32, value),
        (Primitive::I64, Value::Signed(value)) => value.encode(encoder),
        (Primitive::F32, Value::F32(value)) => value.encode(encoder),
        (Primitive::F64, Value::F64(value)) => value.encode(encoder),
        (Primitive::Char, Value::Char(value)) => Char8(*value).encode(encoder),
        _ => Err(refused),
    }
}

fn check<S: Sink>(bound: Option<u32>, actual: usize, encoder: &Encoder<S>) -> Result<(), EncodeError> {
    bound.map_or(Ok(()), |bound| encoder.check_bound(bound as usize, actual))
}

fn misfit<S: Sink>(encoder: &Encoder<S>) -> EncodeError {
    encoder.error(EncodeFault::WrongDiscriminator)
}
