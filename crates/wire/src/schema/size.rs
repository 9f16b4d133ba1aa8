//! How large values become, by the same rules as for types that are known when compiling.
use alloc::vec::Vec;

use crate::cdr::{Extensibility, LengthCode, Representation, SizeBound};
use crate::sorted::sort_by;

use super::{
    Alias, Bitmask, Bitset, Case, Definition, Enumeration, Member, Primitive, Schema, Struct, Type, Union,
    is_octets, is_primitive, length,
};

/// What values of a type take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// Values inside of an initial value, itself too.
    pub values: usize,
    /// Bytes in XCDR version 1 and 2.
    pub size: [SizeBound; 2],
    /// Bytes of the key, as key hashes are made of it.
    pub key: [SizeBound; 2],
}

const REPRESENTATIONS: [Representation; 2] = [Representation::Xcdr1, Representation::Xcdr2];

impl Cost {
    /// Of a type that is not complete: a collection of it has no bound.
    pub const OPEN: Self =
        Self { values: 1, size: [SizeBound::UNBOUNDED; 2], key: [SizeBound::UNBOUNDED; 2] };

    const fn of(size: [SizeBound; 2]) -> Self {
        Self { values: 1, size, key: size }
    }

    /// Bytes in a representation.
    pub const fn size(&self, representation: Representation) -> SizeBound {
        pick(&self.size, representation)
    }

    /// Bytes of the key in a representation.
    pub const fn key(&self, representation: Representation) -> SizeBound {
        pick(&self.key, representation)
    }
}

const fn pick(pair: &[SizeBound; 2], representation: Representation) -> SizeBound {
    let [one, two] = *pair;
    match representation {
        Representation::Xcdr1 => one,
        Representation::Xcdr2 => two,
    }
}

/// What values of a type take.
pub fn cost(schema: &Schema, ty: &Type) -> Cost {
    match ty {
        Type::Primitive(kind) => primitive(*kind),
        Type::Text(Some(bound)) => {
            let bytes = SizeBound::primitive(1, 1).repeat((*bound as usize).saturating_add(1));
            Cost::of([SizeBound::primitive(4, 4).then(bytes).with_min(5); 2])
        }
        Type::Text(None) => Cost::of([SizeBound::UNBOUNDED.with_min(5); 2]),
        Type::WideText(Some(bound)) => {
            Cost::of([SizeBound::sequence(SizeBound::primitive(2, 2), Some(*bound as usize), false); 2])
        }
        Type::Sequence(element, Some(bound)) => {
            let (inner, delimited) = (cost(schema, element), !is_primitive(element));
            collection(inner.size, inner.key, *bound, delimited)
        }
        Type::Map(key, value, Some(bound)) => {
            let delimited = !(is_primitive(key) && is_primitive(value));
            let (key, value) = (cost(schema, key), cost(schema, value));
            collection(both(key.size, value.size), both(key.key, value.key), *bound, delimited)
        }
        Type::WideText(None) | Type::Sequence(_, None) | Type::Map(_, _, None) => {
            Cost::of([SizeBound::UNBOUNDED.with_min(4); 2])
        }
        Type::Array(element, dimensions) => {
            let (inner, count) = (cost(schema, element), length(dimensions));
            let values = if is_octets(element) { count / 16 } else { count.saturating_mul(inner.values) };
            let array = |[one, two]: [SizeBound; 2]| {
                [SizeBound::array(one, count, false), SizeBound::array(two, count, !is_primitive(element))]
            };
            Cost { values: values.saturating_add(1), size: array(inner.size), key: array(inner.key) }
        }
        Type::Named(index) => match schema.get(*index) {
            Some(Definition::Struct(Struct { cost, .. }) | Definition::Union(Union { cost, .. })) => *cost,
            Some(
                Definition::Enumeration(Enumeration { bits, .. })
                | Definition::Bitmask(Bitmask { bits, .. })
                | Definition::Bitset(Bitset { bits, .. }),
            ) => integer(usize::from(*bits) / 8),
            Some(Definition::Alias(Alias { plain, .. })) => cost(schema, plain),
            None => Cost::OPEN,
        },
    }
}

/// What values of a structure take.
pub(super) fn of_struct(schema: &Schema, extensibility: Extensibility, members: &[Member]) -> Cost {
    let mut whole = Cost { values: 1, size: [SizeBound::EMPTY; 2], key: [SizeBound::EMPTY; 2] };
    for member in members {
        let inner = cost(schema, &member.ty);
        whole.values = whole.values.saturating_add(if member.optional { 1 } else { inner.values });
        let code = length_code(schema, &member.ty);
        let [one, two] = inner.size;
        let size = [
            one.member_xcdr1(extensibility, member.id, member.optional),
            two.member_xcdr2(extensibility, code, member.optional),
        ];
        whole.size = both(whole.size, size);
    }
    let [one, two] = whole.size;
    whole.size = [one.aggregate_xcdr1(extensibility), two.aggregate_xcdr2(extensibility)];
    let keyed = members.iter().any(|member| member.key);
    let mut hashed: Vec<_> = members.iter().filter(|member| member.key || !keyed).collect();
    sort_by(&mut hashed, |one, other| one.id.cmp(&other.id));
    for member in hashed {
        whole.key = both(whole.key, cost(schema, &member.ty).key);
    }
    whole
}

/// What values of a union take.
pub(super) fn of_union(
    schema: &Schema,
    extensibility: Extensibility,
    discriminator: &Type,
    key_is_discriminator: bool,
    cases: &[Case],
) -> Cost {
    let tag = cost(schema, discriminator);
    let inner: Vec<Cost> = cases.iter().map(|case| cost(schema, &case.ty)).collect();
    let values = inner.iter().map(|inner| inner.values).max().unwrap_or(0).saturating_add(1);
    let member = |[one, two]: [SizeBound; 2], id, code| {
        [one.member_xcdr1(extensibility, id, false), two.member_xcdr2(extensibility, code, false)]
    };
    let sizes = inner
        .iter()
        .zip(cases)
        .map(|(inner, case)| member(inner.size, case.id, length_code(schema, &case.ty)));
    // A value of the discriminator that is no case has no member.
    let any = sizes.fold([SizeBound::EMPTY; 2], either);
    let [one, two] = both(member(tag.size, 0, length_code(schema, discriminator)), any);
    let size = [one.aggregate_xcdr1(extensibility), two.aggregate_xcdr2(extensibility)];
    let keys = inner.iter().filter(|_| !key_is_discriminator).map(|inner| inner.key);
    Cost { values, size, key: both(tag.key, keys.fold([SizeBound::EMPTY; 2], either)) }
}

fn primitive(kind: Primitive) -> Cost {
    integer(kind.size())
}

fn integer(size: usize) -> Cost {
    let [one, two] = REPRESENTATIONS.map(|representation| {
        SizeBound::primitive(size, if representation == Representation::Xcdr1 { size } else { size.min(4) })
    });
    Cost::of([one, two])
}

fn collection(size: [SizeBound; 2], key: [SizeBound; 2], bound: u32, delimited: bool) -> Cost {
    let sequence = |[one, two]: [SizeBound; 2]| {
        let bound = Some(bound as usize);
        [SizeBound::sequence(one, bound, false), SizeBound::sequence(two, bound, delimited)]
    };
    Cost { values: 1, size: sequence(size), key: sequence(key) }
}

fn both([one, two]: [SizeBound; 2], [after_one, after_two]: [SizeBound; 2]) -> [SizeBound; 2] {
    [one.then(after_one), two.then(after_two)]
}

fn either([one, two]: [SizeBound; 2], [other_one, other_two]: [SizeBound; 2]) -> [SizeBound; 2] {
    [one.or(other_one), two.or(other_two)]
}

/// The length code of a type's members, where mutable types tell lengths.
pub fn length_code(schema: &Schema, ty: &Type) -> LengthCode {
    match ty {
        Type::Primitive(kind) => LengthCode::primitive(kind.size()),
        Type::Text(_) | Type::WideText(_) => LengthCode::OwnOctets,
        Type::Sequence(element, _) => {
            LengthCode::sequence(length_code(schema, element), !is_primitive(element))
        }
        Type::Array(element, _) => LengthCode::delimited(!is_primitive(element)),
        Type::Map(key, value, _) => LengthCode::delimited(!(is_primitive(key) && is_primitive(value))),
        Type::Named(index) => match schema.get(*index) {
            Some(
                Definition::Enumeration(Enumeration { bits, .. })
                | Definition::Bitmask(Bitmask { bits, .. })
                | Definition::Bitset(Bitset { bits, .. }),
            ) => LengthCode::primitive(usize::from(*bits) / 8),
            Some(Definition::Alias(Alias { plain, .. })) => length_code(schema, plain),
            _ => LengthCode::NextInt,
        },
    }
}
