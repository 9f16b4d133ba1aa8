//! Schemas of types that the compiler knows.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::{
    Alias, Bitfield, Bitmask, Bitset, Case, Definition, Enumeration, Member, Primitive, Remarks, Schema,
    Struct, TryConstruct, Type, TypeIndex, Union,
};
use crate::cdr::Extensibility;
use crate::cdr::description::{self, Body, Description, Named};

/// How deep types may be in each other.
const MAX_DEPTH: usize = 64;

/// The schema of a described type, and its place there; `None` if a part of it is not described, or it has no name.
pub fn of(description: Description) -> Option<(Schema, TypeIndex)> {
    let mut builder = Builder { schema: Schema::default(), known: Vec::new() };
    match builder.ty(description, 0)? {
        Type::Named(index) => Some((builder.schema, index)),
        _ => None,
    }
}

struct Builder {
    schema: Schema,
    known: Vec<(&'static str, TypeIndex)>,
}

impl Builder {
    fn ty(&mut self, description: Description, depth: usize) -> Option<Type> {
        if depth > MAX_DEPTH {
            return None;
        }
        let depth = depth + 1;
        Some(match description {
            Description::Unknown => return None,
            Description::Primitive(primitive) => Type::Primitive(primitive),
            Description::Text(bound) => Type::Text(bound),
            Description::WideText(bound) => Type::WideText(bound),
            Description::Sequence(element, bound) => {
                Type::Sequence(Box::new(self.ty(element(), depth)?), bound)
            }
            Description::Array(element, dimension) => match self.ty(element(), depth)? {
                Type::Array(element, dimensions) => {
                    Type::Array(element, [&[dimension][..], &dimensions].concat())
                }
                element => Type::Array(Box::new(element), vec![dimension]),
            },
            Description::Map(key, value, bound) => {
                let key = self.ty(key(), depth)?;
                Type::Map(Box::new(key), Box::new(self.ty(value(), depth)?), bound)
            }
            Description::External(of) => self.ty(of(), depth)?,
            Description::Tuple(elements) => Type::Named(self.tuple(elements, depth)?),
            Description::Named(named) => Type::Named(self.named(named, depth)?),
        })
    }

    /// A tuple is a structure, whose name says its elements.
    fn tuple(&mut self, elements: &[description::Describe], depth: usize) -> Option<TypeIndex> {
        let mut name = "tuple".to_string();
        let mut members = Vec::new();
        for (id, element) in elements.iter().enumerate() {
            let description = element();
            let external = matches!(description, Description::External(_));
            let declared = self.ty(description, depth)?;
            name.push('_');
            self.add_name(&declared, &mut name);
            members.push(Member {
                name: format!("e{id}"),
                ty: self.schema.plain(&declared),
                declared,
                id: u32::try_from(id).ok()?,
                external,
                try_construct: TryConstruct::Discard,
                key: false,
                optional: false,
                must_understand: false,
            });
        }
        loop {
            let of = Struct::new(&self.schema, name.clone(), Extensibility::Final, None, members.clone());
            let of = Definition::Struct(of);
            let known = self.schema.iter().find(|(_, known)| known.name() == name);
            let known = known.map(|(index, known)| (index, *known == of));
            match known {
                Some((index, true)) => return Some(index),
                // Other elements whose names are the same.
                Some(_) => name.push('_'),
                None => return Some(self.schema.add(of)),
            }
        }
    }

    /// Adds what says a type, in letters that names may have.
    fn add_name(&self, ty: &Type, name: &mut String) {
        match ty {
            Type::Primitive(primitive) => name.push_str(primitive.name()),
            Type::Text(bound) | Type::WideText(bound) => {
                name.push_str(if matches!(ty, Type::Text(_)) { "string" } else { "wstring" });
                name.extend(bound.map(|bound| bound.to_string()));
            }
            Type::Sequence(element, bound) => {
                name.push_str("sequence");
                name.extend(bound.map(|bound| bound.to_string()));
                name.push('_');
                self.add_name(element, name);
            }
            Type::Array(element, dimensions) => {
                name.push_str("array");
                dimensions.iter().for_each(|size| name.push_str(&format!("{size}_")));
                self.add_name(element, name);
            }
            Type::Map(key, value, _) => {
                name.push_str("map_");
                self.add_name(key, name);
                name.push('_');
                self.add_name(value, name);
            }
            Type::Named(index) => {
                let of = self.schema.get(*index).map_or("", Definition::name);
                name.push_str(&of.replace("::", "_"));
            }
        }
    }

    fn named(&mut self, named: &'static Named, depth: usize) -> Option<TypeIndex> {
        if let Some((_, index)) = self.known.iter().find(|(place, _)| *place == named.place) {
            return Some(*index);
        }
        let name = named.name.to_string();
        let index = self.schema.add(Definition::Struct(Struct::open(name.clone())));
        self.known.push((named.place, index));
        let extensibility = named.extensibility;
        let remarks = Remarks { nested: named.nested, hash_ids: named.hash_ids };
        let definition = match named.body {
            Body::Alias { of, octets: is_octets } => {
                let mut declared = self.ty(of(), depth)?;
                if is_octets {
                    octets(&mut declared);
                }
                Definition::Alias(Alias { name, plain: self.schema.plain(&declared), declared })
            }
            Body::Struct { base, members } => {
                let base = match base.map(|base| self.ty(base(), depth)) {
                    None => None,
                    Some(Some(Type::Named(index))) => Some(index),
                    Some(_) => return None,
                };
                let members: Option<Vec<Member>> =
                    members.iter().map(|member| self.member(member, depth)).collect();
                let mut of = Struct::new(&self.schema, name, extensibility, base, members?);
                of.remarks = remarks;
                // What is said to extend another structure begins with all its members: ids are enough to see a mistake.
                if let Some(Definition::Struct(base)) = base.and_then(|base| self.schema.get(base))
                    && base
                        .members
                        .iter()
                        .map(|member| Some(member.id))
                        .ne((0..base.members.len()).map(|at| of.members.get(at).map(|member| member.id)))
                {
                    return None;
                }
                Definition::Struct(of)
            }
            Body::Union { discriminator, octets: is_octets, key, cases } => {
                let mut declared = self.ty(discriminator(), depth)?;
                if is_octets {
                    octets(&mut declared);
                }
                let cases: Option<Vec<Case>> = cases.iter().map(|case| self.case(case, depth)).collect();
                let mut of = Union::new(&self.schema, name, extensibility, declared, key, cases?);
                of.remarks = remarks;
                Definition::Union(of)
            }
            Body::Enumeration { bit_bound, literals, default } => Definition::Enumeration(Enumeration {
                name,
                bits: holder(bit_bound),
                bit_bound,
                extensibility,
                literals: literals.iter().map(|(name, value)| (name.to_string(), *value)).collect(),
                said_default: default,
                default: default.or_else(|| literals.first().map(|(_, value)| *value)).unwrap_or(0),
            }),
            Body::Bitset { bits, fields } => Definition::Bitset(Bitset {
                name,
                bits,
                fields: fields
                    .iter()
                    .map(|field| Bitfield {
                        name: field.name.to_string(),
                        position: field.position,
                        width: field.width,
                        ty: field.ty,
                    })
                    .collect(),
            }),
            Body::Bitmask { bit_bound, flags } => Definition::Bitmask(Bitmask {
                name,
                bits: holder(bit_bound),
                bit_bound,
                extensibility,
                flags: flags.iter().map(|(name, position)| (name.to_string(), *position)).collect(),
            }),
        };
        self.schema.replace(index, definition);
        Some(index)
    }

    fn member(&mut self, member: &description::Member, depth: usize) -> Option<Member> {
        let value = &member.value;
        let (declared, external) = self.value(value, depth)?;
        Some(Member {
            name: value.name.to_string(),
            ty: self.schema.plain(&declared),
            declared,
            id: value.id,
            external,
            try_construct: value.try_construct,
            key: member.key,
            optional: member.optional,
            must_understand: member.must_understand,
        })
    }

    fn case(&mut self, case: &description::Case, depth: usize) -> Option<Case> {
        let value = &case.value;
        let (declared, external) = self.value(value, depth)?;
        Some(Case {
            labels: case.labels.to_vec(),
            default: case.default,
            name: value.name.to_string(),
            ty: self.schema.plain(&declared),
            declared,
            id: value.id,
            external,
            try_construct: value.try_construct,
        })
    }

    /// The type as it is declared, and whether the value is kept elsewhere.
    fn value(&mut self, value: &description::Value, depth: usize) -> Option<(Type, bool)> {
        let description = (value.ty)();
        let external = matches!(description, Description::External(_)) && !value.boxed;
        let mut ty = self.ty(description, depth)?;
        if let (Some(_), Type::Text(bound) | Type::WideText(bound)) = (value.bound, &mut ty) {
            *bound = value.bound;
        } else if let (Some(_), Type::Sequence(_, bound) | Type::Map(_, _, bound)) = (value.bound, &mut ty) {
            *bound = value.bound;
        }
        if value.octets {
            octets(&mut ty);
        }
        Some((ty, external))
    }
}

/// Numbers of one octet become octets.
fn octets(ty: &mut Type) {
    match ty {
        Type::Primitive(primitive @ Primitive::U8) => *primitive = Primitive::Octet,
        Type::Sequence(element, _) | Type::Array(element, _) => octets(element),
        Type::Map(key, value, _) => {
            octets(key);
            octets(value);
        }
        _ => {}
    }
}

/// Bits of the integer that holds so many.
const fn holder(bit_bound: u8) -> u8 {
    match bit_bound {
        0..=8 => 8,
        9..=16 => 16,
        17..=32 => 32,
        _ => 64,
    }
}
