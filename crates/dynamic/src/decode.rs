//! From CDR to values. Memory is in proportion to the bytes received: each value that is made is counted, also those of members
//! that were not sent.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::fmt;

use wire::cdr::{CdrType, Char8, DecodeError, DecodeFault, Decoder, Encoding, Extensibility, Scope, WString};

use crate::codec::{Context, Slot};
use crate::encode::{info, members, signed, unsigned};
use crate::value::{Value, initial};
use wire::schema::{
    Definition, Member, Primitive, Schema, Struct, Type, TypeIndex, Union, cost, is_octets, is_primitive,
    length,
};

/// Octets that are no sample of a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable {
    /// What is wrong.
    pub error: DecodeError,
    /// The member, as `pose.position.x`; empty if it is in none.
    pub member: String,
}

/// Values that any payload may become, whatever its size.
const FREE_VALUES: usize = 16_384;
/// Values for each byte.
const VALUES_PER_OCTET: usize = 8;

/// Reads a payload.
pub(crate) fn payload(
    schema: &Schema,
    index: TypeIndex,
    payload: &[u8],
    is_key: bool,
) -> Result<Value, Unreadable> {
    let definition = schema.get(index);
    let found = definition
        .and_then(Definition::extensibility)
        .filter(|_| !is_key || definition.is_some_and(Definition::has_key));
    let Some(extensibility) = found else { return Err(no_key()) };
    let (encoding, body) = Encoding::open(payload, extensibility)
        .map_err(|error| Unreadable { error, member: String::new() })?;
    let scope = if is_key { Scope::Key } else { Scope::Data };
    scoped(schema, index, body, encoding, scope)
}

/// Reads bytes after their header.
pub(crate) fn scoped(
    schema: &Schema,
    index: TypeIndex,
    body: &[u8],
    encoding: Encoding,
    scope: Scope,
) -> Result<Value, Unreadable> {
    let budget = Cell::new(body.len().saturating_mul(VALUES_PER_OCTET).saturating_add(FREE_VALUES));
    let context = Context { schema, budget, trail: RefCell::new(Vec::new()) };
    let ty = Type::Named(index);
    value(&context, &ty, &mut Decoder::new(body, encoding, scope)).map_err(|error| {
        let mut trail = context.trail.borrow().clone();
        trail.reverse();
        Unreadable { error, member: trail.join(".") }
    })
}

fn no_key() -> Unreadable {
    let error = DecodeError { fault: DecodeFault::NoKey, at: 0, member: None };
    Unreadable { error, member: String::new() }
}

/// Reads a value.
pub(crate) fn value<'a>(
    context: &'a Context<'a>,
    ty: &'a Type,
    decoder: &mut Decoder<'_>,
) -> Result<Value, DecodeError> {
    spend(context, 1, decoder)?;
    match ty {
        Type::Primitive(kind) => primitive(*kind, decoder),
        Type::Text(bound) => {
            expect(*bound, decoder);
            String::decode(decoder).map(Value::Text)
        }
        Type::WideText(bound) => {
            expect(*bound, decoder);
            WString::decode(decoder).map(|text| Value::WideText(text.0))
        }
        Type::Sequence(element, bound) => {
            let bound = bound.map(|bound| bound as usize);
            let part = decoder.begin_collection(is_primitive(element))?;
            let least = least(context, element, decoder);
            let count = decoder.count(bound, least)?;
            let items = items(context, element, count, decoder)?;
            decoder.end_collection(part);
            Ok(items)
        }
        Type::Array(element, dimensions) => {
            let part = decoder.begin_collection(is_primitive(element))?;
            let items = items(context, element, length(dimensions), decoder)?;
            decoder.end_collection(part);
            Ok(items)
        }
        Type::Map(key, of, bound) => {
            let bound = bound.map(|bound| bound as usize);
            let part = decoder.begin_collection(is_primitive(key) && is_primitive(of))?;
            let least = least(context, key, decoder).saturating_add(least(context, of, decoder));
            let count = decoder.count(bound, least)?;
            let mut entries = Vec::with_capacity(decoder.reservation::<(Value, Value)>(count));
            for _ in 0..count {
                let key = value(context, key, decoder)?;
                entries.push((key, value(context, of, decoder)?));
            }
            decoder.end_collection(part);
            Ok(Value::Map(entries))
        }
        Type::Named(index) => match context.schema.get(*index) {
            Some(Definition::Struct(of)) => structure(context, of, decoder),
            Some(Definition::Union(of)) => union(context, of, decoder),
            Some(Definition::Enumeration(of)) => primitive(signed(of.bits), decoder),
            Some(Definition::Bitmask(of)) => primitive(unsigned(of.bits), decoder),
            Some(Definition::Bitset(of)) => primitive(unsigned(of.bits), decoder),
            Some(Definition::Alias(of)) => value(context, &of.plain, decoder),
            None => Ok(Value::Absent),
        },
    }
}

fn items<'a>(
    context: &'a Context<'a>,
    element: &'a Type,
    count: usize,
    decoder: &mut Decoder<'_>,
) -> Result<Value, DecodeError> {
    if is_octets(element) {
        return Ok(Value::Octets(decoder.octets(count)?.to_vec()));
    }
    let mut items = Vec::with_capacity(decoder.reservation::<Value>(count));
    for _ in 0..count {
        items.push(value(context, element, decoder)?);
    }
    Ok(Value::List(items))
}

fn structure<'a>(
    context: &'a Context<'a>,
    of: &'a Struct,
    decoder: &mut Decoder<'_>,
) -> Result<Value, DecodeError> {
    spend(context, of.members.len(), decoder)?;
    let part = decoder.begin(of.extensibility)?;
    let mut values = vec![Value::Absent; of.members.len()];
    if of.extensibility == Extensibility::Mutable && decoder.scope() != Scope::KeyHash {
        let mut seen = vec![false; of.members.len()];
        while let Some(header) = decoder.next_member(&part)? {
            let found = of.members.iter().enumerate().find(|(_, member)| member.id == header.id());
            let Some((index, member)) = found else {
                decoder.skip(header)?;
                continue;
            };
            let mut slot = Slot::new(context, &member.ty);
            let info = info(member.id, member.must_understand);
            decoder.value(header, &info, &mut slot).map_err(|error| within(context, member, error))?;
            set(&mut values, index, slot.value);
            set(&mut seen, index, true);
        }
        for (index, member) in members(of, decoder.scope()) {
            if seen.get(index).copied().unwrap_or(true) {
                continue;
            }
            if member.key {
                return Err(within(context, member, decoder.error(DecodeFault::MissingKey)));
            }
            set(&mut values, index, missing(context, member, decoder)?);
        }
        decoder.end(part);
        return Ok(Value::Members(values));
    }
    for (index, member) in members(of, decoder.scope()) {
        let trail = context.trail.borrow().len();
        let info = info(member.id, member.must_understand);
        let value = if member.optional {
            let mut slot = Some(Slot::new(context, &member.ty));
            let read = decoder.optional(&part, &info, &mut slot);
            read.map_err(|error| within(context, member, error))?;
            slot.map_or(Value::Absent, |slot| slot.value)
        } else {
            let mut slot = Slot::new(context, &member.ty);
            let read = decoder.member(&part, &info, &mut slot);
            read.map_err(|error| within(context, member, error))?;
            if slot.what.is_none() { missing(context, member, decoder)? } else { slot.value }
        };
        // What looked like an error was padding in the place of a member that was not sent.
        context.trail.borrow_mut().truncate(trail);
        set(&mut values, index, value);
    }
    decoder.end(part);
    Ok(Value::Members(values))
}

fn union<'a>(
    context: &'a Context<'a>,
    of: &'a Union,
    decoder: &mut Decoder<'_>,
) -> Result<Value, DecodeError> {
    let part = decoder.begin(of.extensibility)?;
    let mut slot = Slot::new(context, &of.discriminator);
    decoder.member_of_union(&part, &info(0, true), &mut slot)?;
    let label = if slot.what.is_none() {
        label(&initial(context.schema, &of.discriminator))
    } else {
        label(&slot.value)
    };
    let case = of.case(label).and_then(|case| of.cases.get(case));
    let label_alone = of.key_is_discriminator && decoder.scope() != Scope::Data;
    let value = match case {
        Some(case) if !label_alone => {
            let mut slot = Slot::new(context, &case.ty);
            decoder
                .member_of_union(&part, &info(case.id, false), &mut slot)
                .inspect_err(|_| context.trail.borrow_mut().push(&case.name))?;
            if slot.what.is_none() {
                spend(context, cost(context.schema, &case.ty).values, decoder)?;
                slot.value = initial(context.schema, &case.ty);
            }
            Some(Box::new(slot.value))
        }
        _ => None,
    };
    decoder.end_union(part)?;
    Ok(Value::Union(label, value))
}

/// A value of a discriminator's type as a number.
pub(crate) fn label(value: &Value) -> i64 {
    match value {
        Value::Boolean(value) => i64::from(*value),
        Value::Signed(value) => *value,
        Value::Unsigned(value) => value.cast_signed(),
        Value::Char(value) => i64::from(*value),
        _ => 0,
    }
}

fn primitive(kind: Primitive, decoder: &mut Decoder<'_>) -> Result<Value, DecodeError> {
    Ok(match kind {
        Primitive::Boolean => Value::Boolean(bool::decode(decoder)?),
        Primitive::U8 | Primitive::Octet => Value::Unsigned(u8::decode(decoder)?.into()),
        Primitive::U16 | Primitive::WideChar => Value::Unsigned(u16::decode(decoder)?.into()),
        Primitive::U32 => Value::Unsigned(u32::decode(decoder)?.into()),
        Primitive::U64 => Value::Unsigned(u64::decode(decoder)?),
        Primitive::I8 => Value::Signed(i8::decode(decoder)?.into()),
        Primitive::I16 => Value::Signed(i16::decode(decoder)?.into()),
        Primitive::I32 => Value::Signed(i32::decode(decoder)?.into()),
        Primitive::I64 => Value::Signed(i64::decode(decoder)?),
        Primitive::F32 => Value::F32(f32::decode(decoder)?),
        Primitive::F64 => Value::F64(f64::decode(decoder)?),
        Primitive::Char => Value::Char(Char8::decode(decoder)?.0),
    })
}

/// The value of a member that was not sent.
fn missing(context: &Context<'_>, member: &Member, decoder: &Decoder<'_>) -> Result<Value, DecodeError> {
    if member.optional {
        return Ok(Value::Absent);
    }
    spend(context, cost(context.schema, &member.ty).values, decoder)?;
    Ok(initial(context.schema, &member.ty))
}

/// The fewest bytes of an element; a key alone takes less than the whole value.
fn least(context: &Context<'_>, ty: &Type, decoder: &Decoder<'_>) -> usize {
    let least = cost(context.schema, ty).size(decoder.representation()).min();
    if decoder.scope() == Scope::Data { least } else { least.min(1) }
}

fn spend(context: &Context<'_>, values: usize, decoder: &Decoder<'_>) -> Result<(), DecodeError> {
    match context.budget.get().checked_sub(values) {
        Some(rest) => {
            context.budget.set(rest);
            Ok(())
        }
        None => Err(decoder.error(DecodeFault::ImpossibleCount(u32::try_from(values).unwrap_or(u32::MAX)))),
    }
}

fn expect(bound: Option<u32>, decoder: &mut Decoder<'_>) {
    if let Some(bound) = bound {
        decoder.expect_bound(bound as usize);
    }
}

fn within<'a>(context: &Context<'a>, member: &'a Member, error: DecodeError) -> DecodeError {
    context.trail.borrow_mut().push(&member.name);
    error
}

fn set<T>(values: &mut [T], index: usize, value: T) {
    if let Some(place) = values.get_mut(index) {
        *place = value;
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.member.is_empty() {
            write!(f, "member {}: ", self.member)?;
        }
        // The decoder was told no names.
        DecodeError { member: None, ..self.error }.fmt(f)?;
        match self.error.fault {
            DecodeFault::WrongEncapsulation(id) => {
                let (words, place) = match id & !1 {
                    2 | 10 => ("mutable", "@mutable"),
                    8 => ("appendable", "@appendable"),
                    _ => ("final, or XCDR version 1", "@final"),
                };
                write!(f, "; it was written as {words}: put {place} before the struct")
            }
            _ => Ok(()),
        }
    }
}

impl core::error::Error for Unreadable {}
