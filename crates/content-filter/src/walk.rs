//! Goes through a payload once, as far as the last field that is wanted.
use alloc::string::String;
use core::cell::RefCell;

use wire::cdr::{
    CdrType, Char8, DecodeError, Decoder, EncodeError, Encoder, Encoding, Extensibility, LengthCode,
    Member as Info, Representation, Scope, Sink, SizeBound,
};
use wire::schema::{Definition, Primitive, Schema, Struct, Type, Union, cost, is_primitive, length};

use crate::integers::{Label, bits, enumeration, label_value};
use crate::paths::{DISCRIMINATOR, Node, SampleType};

/// The value of a field, or where it lies.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Found {
    Boolean(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Char(char),
    Enumeration(i64),
    /// These bytes after the encapsulation header.
    Text(u32, u32),
    /// These bytes of the text that wide strings were converted to.
    Wide(u32, u32),
}

/// The values that were found in a payload.
pub(crate) struct Values<'a> {
    pub(crate) body: &'a [u8],
    pub(crate) found: &'a [Option<Found>],
    pub(crate) wide: &'a str,
}

/// Finds the fields of a payload; gives what follows the encapsulation header, or `None` if it cannot be read as far as the fields lie.
pub(crate) fn locate<'p>(
    ty: &SampleType,
    root: &Node,
    payload: &'p [u8],
    found: &mut [Option<Found>],
    wide: &mut String,
) -> Option<&'p [u8]> {
    found.fill(None);
    wide.clear();
    let extensibility = ty.schema.get(ty.index)?.extensibility()?;
    let (encoding, body) = Encoding::open(payload, extensibility).ok()?;
    let walk = Walk { schema: &ty.schema, out: RefCell::new(Out { found, wide }) };
    let part = Part { ty: &Type::Named(ty.index), node: Some(root), is_last: true };
    let mut decoder = Decoder::new(body, encoding, Scope::Data);
    walk.value(part, &mut decoder).ok().map(|()| body)
}

pub(crate) struct Walk<'w> {
    pub(crate) schema: &'w Schema,
    pub(crate) out: RefCell<Out<'w>>,
}

pub(crate) struct Out<'w> {
    pub(crate) found: &'w mut [Option<Found>],
    wide: &'w mut String,
}

/// A part of the payload.
#[derive(Clone, Copy)]
pub(crate) struct Part<'w> {
    pub(crate) ty: &'w Type,
    /// The wanted fields in it.
    pub(crate) node: Option<&'w Node>,
    /// Nothing is wanted of what follows it.
    pub(crate) is_last: bool,
}

impl<'w> Part<'w> {
    const fn skipped(ty: &'w Type) -> Self {
        Self { ty, node: None, is_last: false }
    }

    /// The wanted fields of a part of it, and whether none is wanted behind that part.
    pub(crate) fn inside(&self, ty: &'w Type, key: u32) -> Self {
        let node = self.node.and_then(|node| node.child(key));
        Self { ty, node, is_last: self.is_last && self.is_done_after(key) }
    }

    /// Of what follows the part with this key in it nothing is wanted.
    fn is_done_after(&self, key: u32) -> bool {
        self.node.is_none_or(|node| node.last_key().is_none_or(|last| last <= key))
    }
}

/// A part, in the place of a value that is decoded.
struct Visit<'w> {
    /// `None`: it was set to the initial value, which the decoder cannot know.
    what: Option<(&'w Walk<'w>, Part<'w>)>,
}

impl CdrType for Visit<'_> {
    const LENGTH_CODE: LengthCode = LengthCode::NextInt;
    const SIZE_XCDR1: SizeBound = SizeBound::UNBOUNDED;
    const SIZE_XCDR2: SizeBound = SizeBound::UNBOUNDED;

    fn initial() -> Self {
        Self { what: None }
    }

    /// Nothing is written.
    fn encode<S: Sink>(&self, _: &mut Encoder<S>) -> Result<(), EncodeError> {
        Ok(())
    }

    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        match self.what {
            Some((walk, part)) => walk.value(part, decoder),
            None => Ok(()),
        }
    }
}

const fn info(id: u32) -> Info {
    Info { name: "", id, must_understand: false, bound: None }
}

/// The key of a member or element.
pub(crate) fn key(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(DISCRIMINATOR - 1).min(DISCRIMINATOR - 1)
}

impl<'w> Walk<'w> {
    fn value(&'w self, part: Part<'w>, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        match part.ty {
            Type::Primitive(kind) => self.primitive(*kind, part, decoder),
            Type::Text(_) => {
                let len = decoder.u32()? as usize;
                let start = decoder.position();
                decoder.octets(len)?;
                // Without the NUL at its end.
                let end = start.saturating_add(len.saturating_sub(1));
                self.set(part, || Some(Found::Text(u32::try_from(start).ok()?, u32::try_from(end).ok()?)));
                Ok(())
            }
            Type::WideText(_) => {
                let len = decoder.u32()? as usize;
                let endianness = decoder.endianness();
                let units = decoder.octets(len)?;
                self.set(part, || {
                    let read: fn([u8; 2]) -> u16 = match endianness {
                        wire::cursor::Endianness::Big => u16::from_be_bytes,
                        wire::cursor::Endianness::Little => u16::from_le_bytes,
                    };
                    self.wide(units.chunks_exact(2).map(|unit| match *unit {
                        [first, second] => read([first, second]),
                        _ => 0,
                    }))
                });
                Ok(())
            }
            Type::Sequence(element, _) => self.items(part, element, None, decoder),
            Type::Array(element, dimensions) => self.items(part, element, Some(length(dimensions)), decoder),
            Type::Map(key, value, _) => {
                let is_flat = is_primitive(key) && is_primitive(value);
                let around = decoder.begin_collection(is_flat)?;
                if !is_delimited(decoder, is_flat) {
                    let least = self.least(key, decoder).saturating_add(self.least(value, decoder));
                    for _ in 0..decoder.count(None, least)? {
                        self.value(Part::skipped(key), decoder)?;
                        self.value(Part::skipped(value), decoder)?;
                    }
                }
                decoder.end_collection(around);
                Ok(())
            }
            Type::Named(index) => match self.schema.get(*index) {
                Some(Definition::Struct(of)) => self.structure(part, of, decoder),
                Some(Definition::Union(of)) => self.union(part, of, decoder),
                Some(Definition::Enumeration(of)) => {
                    let value = enumeration(of.bits, decoder)?;
                    self.set(part, || Some(Found::Enumeration(value)));
                    Ok(())
                }
                Some(Definition::Bitmask(of)) => {
                    let value = bits(of.bits, decoder)?;
                    self.set(part, || Some(Found::Unsigned(value)));
                    Ok(())
                }
                Some(Definition::Bitset(of)) => {
                    self.bitset(part, of, bits(of.bits, decoder)?);
                    Ok(())
                }
                Some(Definition::Alias(of)) => self.value(Part { ty: &of.plain, ..part }, decoder),
                None => Ok(()),
            },
        }
    }

    fn primitive(
        &self,
        kind: Primitive,
        part: Part<'_>,
        decoder: &mut Decoder<'_>,
    ) -> Result<(), DecodeError> {
        if part.node.is_none() {
            decoder.align(kind.size())?;
            return decoder.octets(kind.size()).map(drop);
        }
        let found = match kind {
            Primitive::Boolean => Found::Boolean(bool::decode(decoder)?),
            Primitive::U8 | Primitive::Octet => Found::Unsigned(u8::decode(decoder)?.into()),
            Primitive::U16 => Found::Unsigned(u16::decode(decoder)?.into()),
            Primitive::U32 => Found::Unsigned(u32::decode(decoder)?.into()),
            Primitive::U64 => Found::Unsigned(u64::decode(decoder)?),
            Primitive::I8 => Found::Signed(i8::decode(decoder)?.into()),
            Primitive::I16 => Found::Signed(i16::decode(decoder)?.into()),
            Primitive::I32 => Found::Signed(i32::decode(decoder)?.into()),
            Primitive::I64 => Found::Signed(i64::decode(decoder)?),
            Primitive::F32 => Found::Float(f32::decode(decoder)?.into()),
            Primitive::F64 => Found::Float(f64::decode(decoder)?),
            Primitive::Char => Found::Char(Char8::decode(decoder)?.0.into()),
            Primitive::WideChar => match char::from_u32(u16::decode(decoder)?.into()) {
                Some(character) => Found::Char(character),
                // Half of a pair.
                None => return Ok(()),
            },
        };
        self.set(part, || Some(found));
        Ok(())
    }

    /// A sequence, or an array of so many elements.
    fn items(
        &'w self,
        part: Part<'w>,
        element: &'w Type,
        count: Option<usize>,
        decoder: &mut Decoder<'_>,
    ) -> Result<(), DecodeError> {
        let is_flat = is_primitive(element);
        let around = decoder.begin_collection(is_flat)?;
        if part.node.is_none() && is_delimited(decoder, is_flat) {
            decoder.end_collection(around);
            return Ok(());
        }
        let count = match count {
            Some(count) => count,
            None => decoder.count(None, self.least(element, decoder))?,
        };
        let wanted = part.node.and_then(Node::last_key);
        let wanted = wanted.map_or(0, |last| (last as usize).saturating_add(1)).min(count);
        // Up to the last one that is wanted.
        let mut at = 0;
        if let Some(node) = part.node {
            while at < wanted {
                let position = key(at);
                if is_flat && node.child(position).is_none() {
                    let next = node.children.iter().map(|(key, _)| *key as usize).find(|next| *next > at);
                    let end = next.unwrap_or(wanted).min(wanted);
                    skip_flat(element, end - at, decoder)?;
                    at = end;
                    continue;
                }
                self.value(part.inside(element, position), decoder)?;
                at += 1;
            }
        }
        if part.is_last && part.node.is_some() {
            return Ok(());
        }
        if is_flat {
            skip_flat(element, count - at, decoder)?;
        } else if !is_delimited(decoder, is_flat) {
            for _ in at..count {
                self.value(Part::skipped(element), decoder)?;
            }
        }
        decoder.end_collection(around);
        Ok(())
    }

    fn structure(
        &'w self,
        part: Part<'w>,
        of: &'w Struct,
        decoder: &mut Decoder<'_>,
    ) -> Result<(), DecodeError> {
        let around = decoder.begin(of.extensibility)?;
        if part.node.is_none() && is_delimited(decoder, of.extensibility == Extensibility::Final) {
            decoder.end(around);
            return Ok(());
        }
        if of.extensibility == Extensibility::Mutable {
            // In any order: nothing is the last before all have been seen. What does not come is not there.
            self.absent_members(part, of);
            while let Some(header) = decoder.next_member(&around)? {
                let known = of.members.iter().position(|member| member.id == header.id());
                let member = known.and_then(|at| of.members.get(at).map(|member| (at, member)));
                let node = member.and_then(|(at, _)| part.node?.child(key(at)));
                let what = match (member, node) {
                    (Some((_, member)), Some(node)) => {
                        self.forget(node);
                        Some((self, Part { ty: &member.ty, node: Some(node), is_last: false }))
                    }
                    _ => None,
                };
                let id = header.id();
                decoder.value(header, &info(id), &mut Visit { what })?;
            }
            decoder.end(around);
            return Ok(());
        }
        for (at, member) in of.members.iter().enumerate() {
            let inside = part.inside(&member.ty, key(at));
            let visit = Visit { what: Some((self, inside)) };
            let is_there = if member.optional {
                let mut place = Some(visit);
                decoder.optional(&around, &info(member.id), &mut place)?;
                place.is_some_and(|visit| visit.what.is_some())
            } else {
                let mut place = visit;
                decoder.member(&around, &info(member.id), &mut place)?;
                place.what.is_some()
            };
            if !is_there {
                self.absent(inside, member);
            }
            if part.is_last && part.is_done_after(key(at)) {
                return Ok(());
            }
        }
        decoder.end(around);
        Ok(())
    }

    fn union(&'w self, part: Part<'w>, of: &'w Union, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let around = decoder.begin(of.extensibility)?;
        if part.node.is_none() && is_delimited(decoder, of.extensibility == Extensibility::Final) {
            decoder.end(around);
            return Ok(());
        }
        let mut label = Label { of: Some((self, &of.discriminator)), value: self.default_label(of) };
        decoder.member_of_union(&around, &info(0), &mut label)?;
        let value = label.of.map_or(self.default_label(of), |_| label.value);
        if let Some(slot) = part.node.and_then(|node| node.child(DISCRIMINATOR)) {
            let inside = Part { ty: &of.discriminator, node: Some(slot), is_last: false };
            self.set(inside, || label_value(&of.discriminator, value));
        }
        if let Some((at, case)) = of.case(value).and_then(|at| of.cases.get(at).map(|case| (at, case))) {
            let node = part.node.and_then(|node| node.child(key(at)));
            let inside = Part { ty: &case.ty, node, is_last: part.is_last };
            let mut visit = Visit { what: Some((self, inside)) };
            decoder.member_of_union(&around, &info(case.id), &mut visit)?;
            if visit.what.is_none() {
                self.default(inside);
            }
            if part.is_last {
                return Ok(());
            }
        }
        decoder.end_union(around)
    }

    /// Converts a wide string; `None` if it is no UTF-16, or there is no room for where it lies.
    fn wide(&self, units: impl Iterator<Item = u16>) -> Option<Found> {
        let mut out = self.out.borrow_mut();
        let start = out.wide.len();
        for character in char::decode_utf16(units) {
            match character {
                Ok(character) => out.wide.push(character),
                Err(_) => {
                    out.wide.truncate(start);
                    return None;
                }
            }
        }
        Some(Found::Wide(u32::try_from(start).ok()?, u32::try_from(out.wide.len()).ok()?))
    }

    /// Puts down a value that is wanted.
    pub(crate) fn set(&self, part: Part<'_>, value: impl FnOnce() -> Option<Found>) {
        let Some(slot) = part.node.and_then(|node| node.slot) else { return };
        let value = value();
        if let Some(place) = self.out.borrow_mut().found.get_mut(slot as usize) {
            *place = value;
        }
    }

    /// The least bytes of an element.
    fn least(&self, ty: &Type, decoder: &Decoder<'_>) -> usize {
        cost(self.schema, ty).size(decoder.representation()).min()
    }
}

/// Whether the value says where it ends.
fn is_delimited(decoder: &Decoder<'_>, is_flat: bool) -> bool {
    !is_flat && decoder.representation() == Representation::Xcdr2
}

/// Skips primitive elements.
fn skip_flat(element: &Type, count: usize, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
    let Type::Primitive(kind) = element else { return Ok(()) };
    if count > 0 {
        decoder.align(kind.size())?;
        decoder.octets(count.saturating_mul(kind.size()))?;
    }
    Ok(())
}
