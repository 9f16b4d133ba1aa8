//! From type objects back to a description of the type, as to read samples of a type that another participant has told.
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use wire::cdr::Extensibility;
use wire::schema::{
    Alias, Bitmask, Case, Definition, Enumeration, Member, Primitive, Schema, Struct, TryConstruct, Type,
    TypeIndex, Union,
};

use crate::identifier::{TypeIdentifier, kind};
use crate::library::{Library, ObjectId};
use crate::object::{TypeObject, complete, flag};

/// How deep types may be in each other.
const MAX_DEPTH: usize = 64;

/// The description of the type with this complete type object, which is in `library` with all that it needs; `None` if something is missing or
/// not understood.
pub fn recover(library: &Library, of: ObjectId) -> Option<(Schema, TypeIndex)> {
    let mut recovery = Recovery { library, schema: Schema::default(), known: BTreeMap::new() };
    let index = recovery.named(of, 0)?;
    Some((recovery.schema, index))
}

struct Recovery<'a> {
    library: &'a Library,
    schema: Schema,
    known: BTreeMap<ObjectId, TypeIndex>,
}

impl Recovery<'_> {
    fn named(&mut self, id: ObjectId, depth: usize) -> Option<TypeIndex> {
        if depth > MAX_DEPTH {
            return None;
        }
        if let Some(index) = self.known.get(&id) {
            return Some(*index);
        }
        let TypeObject::Complete(object) = TypeObject::read(self.library.get(&id)?).ok()? else {
            return None;
        };
        let depth = depth + 1;
        let definition = match object {
            complete::Object::Alias(of) => {
                let declared = self.ty(&of.body.common.ty, depth)?;
                let plain = self.schema.plain(&declared);
                Definition::Alias(Alias { name: of.header.detail.name, declared, plain })
            }
            complete::Object::Enumeration(of) => enumeration(of)?,
            complete::Object::Bitmask(of) => bitmask(of)?,
            complete::Object::Struct(of) => self.structure(of, depth)?,
            complete::Object::Union(of) => self.union(of, depth)?,
        };
        let index = self.schema.add(definition);
        self.known.insert(id, index);
        Some(index)
    }

    fn structure(&mut self, of: complete::Struct, depth: usize) -> Option<Definition> {
        let mut base = None;
        let mut members = Vec::new();
        if of.header.base != TypeIdentifier::NONE {
            let mut index = self.named(ObjectId::of(&of.header.base)?, depth)?;
            while let Some(Definition::Alias(Alias { plain: Type::Named(of), .. })) = self.schema.get(index) {
                index = *of;
            }
            let Some(Definition::Struct(inherited)) = self.schema.get(index) else { return None };
            members.extend(inherited.members.iter().cloned());
            base = Some(index);
        }
        for member in of.members {
            let (declared, flags) = (self.ty(&member.common.ty, depth)?, member.common.flags);
            members.push(Member {
                name: member.detail.name,
                ty: self.schema.plain(&declared),
                declared,
                id: member.common.id,
                external: flags & flag::EXTERNAL != 0,
                try_construct: try_construct(flags),
                key: flags & flag::KEY != 0,
                optional: flags & flag::OPTIONAL != 0,
                must_understand: flags & flag::MUST_UNDERSTAND != 0,
            });
        }
        let mut recovered =
            Struct::new(&self.schema, of.header.detail.name, extensibility(of.flags), base, members);
        recovered.remarks.nested = of.flags & flag::NESTED != 0;
        recovered.remarks.hash_ids = of.flags & flag::AUTOID_HASH != 0;
        Some(Definition::Struct(recovered))
    }

    fn union(&mut self, of: complete::Union, depth: usize) -> Option<Definition> {
        let discriminator = self.ty(&of.discriminator.common.ty, depth)?;
        let mut cases = Vec::new();
        for case in of.cases {
            let (declared, flags) = (self.ty(&case.common.ty, depth)?, case.common.flags);
            cases.push(Case {
                labels: case.common.labels.iter().map(|label| i64::from(*label)).collect(),
                default: flags & flag::DEFAULT != 0,
                name: case.detail.name,
                ty: self.schema.plain(&declared),
                declared,
                id: case.common.id,
                external: flags & flag::EXTERNAL != 0,
                try_construct: try_construct(flags),
            });
        }
        let key = of.discriminator.common.flags & flag::KEY != 0;
        let (name, extensibility) = (of.header.detail.name, extensibility(of.flags));
        let mut recovered = Union::new(&self.schema, name, extensibility, discriminator, key, cases);
        recovered.remarks.nested = of.flags & flag::NESTED != 0;
        recovered.remarks.hash_ids = of.flags & flag::AUTOID_HASH != 0;
        Some(Definition::Union(recovered))
    }

    fn ty(&mut self, identifier: &TypeIdentifier, depth: usize) -> Option<Type> {
        if depth > MAX_DEPTH {
            return None;
        }
        let depth = depth + 1;
        let bound = |bound: u32| (bound > 0).then_some(bound);
        let dimensions = |of: &[u32]| of.iter().all(|size| *size > 0).then(|| of.to_vec());
        Some(match identifier {
            TypeIdentifier::Plain(kind, _) => Type::Primitive(primitive(*kind)?),
            TypeIdentifier::String(of) => Type::Text(bound(of.bound.into())),
            TypeIdentifier::LargeString(of) => Type::Text(bound(of.bound)),
            TypeIdentifier::WideString(of) => Type::WideText(bound(of.bound.into())),
            TypeIdentifier::LargeWideString(of) => Type::WideText(bound(of.bound)),
            TypeIdentifier::Sequence(of) => {
                Type::Sequence(Box::new(self.ty(&of.element, depth)?), bound(of.bound.into()))
            }
            TypeIdentifier::LargeSequence(of) => {
                Type::Sequence(Box::new(self.ty(&of.element, depth)?), bound(of.bound))
            }
            TypeIdentifier::Array(of) => {
                let sizes: Vec<u32> = of.dimensions.iter().map(|size| u32::from(*size)).collect();
                Type::Array(Box::new(self.ty(&of.element, depth)?), dimensions(&sizes)?)
            }
            TypeIdentifier::LargeArray(of) => {
                Type::Array(Box::new(self.ty(&of.element, depth)?), dimensions(&of.dimensions)?)
            }
            TypeIdentifier::Map(of) => self.map(&of.key, &of.element, bound(of.bound.into()), depth)?,
            TypeIdentifier::LargeMap(of) => self.map(&of.key, &of.element, bound(of.bound), depth)?,
            TypeIdentifier::Minimal(_) | TypeIdentifier::Complete(_) => {
                Type::Named(self.named(ObjectId::of(identifier)?, depth)?)
            }
            TypeIdentifier::Component(_) => return None,
        })
    }

    fn map(
        &mut self,
        key: &TypeIdentifier,
        element: &TypeIdentifier,
        bound: Option<u32>,
        depth: usize,
    ) -> Option<Type> {
        let key = self.ty(key, depth)?;
        Some(Type::Map(Box::new(key), Box::new(self.ty(element, depth)?), bound))
    }
}

fn enumeration(of: complete::Enumeration) -> Option<Definition> {
    let bit_bound = u8::try_from(of.header.bit_bound).ok().filter(|bits| (1..=32).contains(bits))?;
    let said = of.literals.iter().find(|literal| literal.common.flags & flag::DEFAULT != 0);
    let said_default = said.map(|literal| i64::from(literal.common.value));
    let literals: Vec<(String, i64)> = of
        .literals
        .into_iter()
        .map(|literal| (literal.detail.name, i64::from(literal.common.value)))
        .collect();
    let first = literals.first().map(|(_, value)| *value)?;
    Some(Definition::Enumeration(Enumeration {
        name: of.header.detail.name,
        bits: holder(bit_bound),
        bit_bound,
        extensibility: extensibility(of.flags),
        literals,
        said_default,
        default: said_default.unwrap_or(first),
    }))
}

fn bitmask(of: complete::Bitmask) -> Option<Definition> {
    let bit_bound = u8::try_from(of.header.bit_bound).ok().filter(|bits| (1..=64).contains(bits))?;
    let flags = of.bits.into_iter().map(|bit| {
        let position = u8::try_from(bit.common.position).ok().filter(|position| *position < bit_bound)?;
        Some((bit.detail.name, position))
    });
    Some(Definition::Bitmask(Bitmask {
        name: of.header.detail.name,
        bits: holder(bit_bound),
        bit_bound,
        extensibility: extensibility(of.flags),
        flags: flags.collect::<Option<_>>()?,
    }))
}

const fn extensibility(flags: u16) -> Extensibility {
    if flags & flag::FINAL != 0 {
        Extensibility::Final
    } else if flags & flag::MUTABLE != 0 {
        Extensibility::Mutable
    } else {
        Extensibility::Appendable
    }
}

const fn try_construct(flags: u16) -> TryConstruct {
    match flags & flag::TRY_CONSTRUCT_TRIM {
        flag::TRY_CONSTRUCT_TRIM => TryConstruct::Trim,
        flag::TRY_CONSTRUCT_USE_DEFAULT => TryConstruct::UseDefault,
        _ => TryConstruct::Discard,
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

const fn primitive(of: u8) -> Option<Primitive> {
    Some(match of {
        kind::BOOLEAN => Primitive::Boolean,
        kind::BYTE => Primitive::Octet,
        kind::INT8 => Primitive::I8,
        kind::UINT8 => Primitive::U8,
        kind::INT16 => Primitive::I16,
        kind::UINT16 => Primitive::U16,
        kind::INT32 => Primitive::I32,
        kind::UINT32 => Primitive::U32,
        kind::INT64 => Primitive::I64,
        kind::UINT64 => Primitive::U64,
        kind::FLOAT32 => Primitive::F32,
        kind::FLOAT64 => Primitive::F64,
        kind::CHAR8 => Primitive::Char,
        kind::CHAR16 => Primitive::WideChar,
        _ => return None,
    })
}
