//! From type objects back to a description of the type, as to read samples of a type that another participant has told.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use wire::cdr::Extensibility;
use wire::schema::{
    Alias, Bitfield, Bitmask, Bitset, Case, Cost, Definition, Enumeration, Member, Primitive, Remarks,
    Schema, Struct, TryConstruct, Type, TypeIndex, Union,
};
use wire::sorted::SortedMap;

use crate::identifier::{TypeIdentifier, kind};
use crate::library::{Library, ObjectId};
use crate::object::{TypeObject, complete, flag};
use crate::shape;

/// How deep types may be in each other.
const MAX_DEPTH: usize = 64;
/// Most parts of all types without other names: names for types of names multiply.
const MOST_PARTS: usize = 1 << 16;
/// Most values that the initial value of a type may have: arrays in structures in arrays multiply.
const MOST_VALUES: usize = 1 << 20;

/// The description of the type with this complete type object, which is in `library` with all that it needs; `None` if something is missing or
/// not understood, or if no value of the type has an end.
pub fn recover(library: &Library, of: ObjectId) -> Option<(Schema, TypeIndex)> {
    let mut recovery = Recovery {
        library,
        schema: Schema::default(),
        known: SortedMap::new(),
        open: SortedMap::new(),
        parts: MOST_PARTS,
    };
    let index = recovery.named(of, 0)?;
    Some((recovery.schema, index))
}

struct Recovery<'a> {
    library: &'a Library,
    schema: Schema,
    known: SortedMap<ObjectId, TypeIndex>,
    /// What is declared of types that are not complete; `None` while one is being completed.
    open: SortedMap<TypeIndex, Option<Definition>>,
    /// How many parts there may still be.
    parts: usize,
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
        // Types that contain each other are complete once all of them are declared.
        let is_first =
            !self.known.keys().any(|known| known.place.is_some() && id.together().any(|of| of == *known));
        let mut index = None;
        if id.place.is_some() {
            let open = self.schema.add(Definition::Struct(Struct::open(String::new())));
            self.known.insert(id, open);
            index = Some(open);
        }
        let depth = depth + 1;
        let definition = match object {
            complete::Object::Alias(of) => {
                let declared = self.ty(&of.body.common.ty, depth)?;
                Definition::Alias(Alias { name: of.header.detail.name, plain: declared.clone(), declared })
            }
            complete::Object::Enumeration(of) => enumeration(of)?,
            complete::Object::Bitmask(of) => bitmask(of)?,
            complete::Object::Bitset(of) => bitset(of)?,
            complete::Object::Struct(of) => self.structure(of, depth)?,
            complete::Object::Union(of) => self.union(of, depth)?,
        };
        let index = index.unwrap_or_else(|| self.schema.add(Definition::Struct(Struct::open(String::new()))));
        self.known.insert(id, index);
        self.schema.replace(index, definition.clone());
        self.open.insert(index, Some(definition));
        if id.place.is_none() {
            self.complete(index)?;
        } else if is_first {
            let together: Vec<TypeIndex> =
                id.together().filter_map(|id| self.known.get(&id).copied()).collect();
            together.into_iter().try_for_each(|index| self.complete(index))?;
        }
        Some(index)
    }

    /// Completes a type, all of whose parts are declared; `None` if it contains itself so that its values have no end.
    fn complete(&mut self, index: TypeIndex) -> Option<()> {
        let Some(open) = self.open.get_mut(&index) else { return Some(()) };
        let mut definition = open.take()?;
        match &mut definition {
            Definition::Alias(of) => of.plain = self.plain(&of.declared, 0)?,
            Definition::Struct(of) => {
                let mut members = Vec::new();
                if let Some(base) = of.base {
                    let Type::Named(base) = self.plain(&Type::Named(base), 0)? else { return None };
                    self.complete(base)?;
                    let Some(Definition::Struct(inherited)) = self.schema.get(base) else { return None };
                    self.parts = self.parts.checked_sub(inherited.members.len())?;
                    members.extend(inherited.members.iter().cloned());
                    of.base = Some(base);
                }
                for mut member in core::mem::take(&mut of.members) {
                    member.ty = self.plain(&member.declared, 0)?;
                    if !member.optional {
                        self.complete_in(&member.ty)?;
                    }
                    members.push(member);
                }
                let name = core::mem::take(&mut of.name);
                let remarks = of.remarks;
                *of = Struct::new(&self.schema, name, of.extensibility, of.base, members);
                of.remarks = remarks;
                (of.cost.values <= MOST_VALUES).then_some(())?;
            }
            Definition::Union(of) => {
                for case in &mut of.cases {
                    case.ty = self.plain(&case.declared, 0)?;
                }
                let discriminator = self.plain(&of.declared, 0)?;
                self.complete_in(&discriminator)?;
                // What an initial value has in it.
                let label = of.cases.first().and_then(|case| case.labels.first()).copied().unwrap_or(0);
                if let Some(case) = of.case(label).and_then(|case| of.cases.get(case)) {
                    self.complete_in(&case.ty)?;
                }
                let (name, cases) = (core::mem::take(&mut of.name), core::mem::take(&mut of.cases));
                let (remarks, declared) = (of.remarks, of.declared.clone());
                *of = Union::new(
                    &self.schema,
                    name,
                    of.extensibility,
                    declared,
                    of.key_is_discriminator,
                    cases,
                );
                of.discriminator = discriminator;
                of.remarks = remarks;
                (of.cost.values <= MOST_VALUES).then_some(())?;
            }
            Definition::Enumeration(_) | Definition::Bitmask(_) | Definition::Bitset(_) => {}
        }
        self.schema.replace(index, definition);
        self.open.remove(&index);
        Some(())
    }

    /// Completes the type of which every value of another one has values.
    fn complete_in(&mut self, ty: &Type) -> Option<()> {
        match ty {
            Type::Named(index) => self.complete(*index),
            Type::Array(element, _) => self.complete_in(element),
            _ => Some(()),
        }
    }

    /// The type without other names in it; `None` if a name stands for itself, or if there are too many parts.
    fn plain(&mut self, declared: &Type, depth: usize) -> Option<Type> {
        self.parts = self.parts.checked_sub(1)?;
        if depth > MAX_DEPTH {
            return None;
        }
        let depth = depth + 1;
        Some(match declared {
            Type::Sequence(element, bound) => Type::Sequence(Box::new(self.plain(element, depth)?), *bound),
            Type::Map(key, value, bound) => {
                let key = self.plain(key, depth)?;
                Type::Map(Box::new(key), Box::new(self.plain(value, depth)?), *bound)
            }
            Type::Array(element, dimensions) => match self.plain(element, depth)? {
                // An array of arrays is one array of several dimensions.
                Type::Array(element, inner) => Type::Array(element, [dimensions.as_slice(), &inner].concat()),
                element => Type::Array(Box::new(element), dimensions.clone()),
            },
            Type::Named(index) => match self.schema.get(*index) {
                Some(Definition::Alias(alias)) => {
                    let declared = alias.declared.clone();
                    self.plain(&declared, depth)?
                }
                _ => declared.clone(),
            },
            _ => self.schema.plain(declared),
        })
    }

    /// As it is declared; [`Self::complete`] does the rest.
    fn structure(&mut self, of: complete::Struct, depth: usize) -> Option<Definition> {
        let mut declared = Struct::open(of.header.detail.name);
        declared.extensibility = extensibility(of.flags);
        declared.remarks.nested = of.flags & flag::NESTED != 0;
        declared.remarks.hash_ids = of.flags & flag::AUTOID_HASH != 0;
        if of.header.base != TypeIdentifier::NONE {
            declared.base = Some(self.named(ObjectId::of(&of.header.base)?, depth)?);
        }
        for member in of.members {
            let (ty, flags) = (self.ty(&member.common.ty, depth)?, member.common.flags);
            declared.members.push(Member {
                name: member.detail.name,
                ty: ty.clone(),
                declared: ty,
                id: member.common.id,
                external: flags & flag::EXTERNAL != 0,
                try_construct: try_construct(flags),
                key: flags & flag::KEY != 0,
                optional: flags & flag::OPTIONAL != 0,
                must_understand: flags & flag::MUST_UNDERSTAND != 0,
            });
        }
        Some(Definition::Struct(declared))
    }

    /// As it is declared; [`Self::complete`] does the rest.
    fn union(&mut self, of: complete::Union, depth: usize) -> Option<Definition> {
        let discriminator = self.ty(&of.discriminator.common.ty, depth)?;
        let mut cases = Vec::new();
        for case in of.cases {
            let (declared, flags) = (self.ty(&case.common.ty, depth)?, case.common.flags);
            cases.push(Case {
                labels: case.common.labels.iter().map(|label| i64::from(*label)).collect(),
                default: flags & flag::DEFAULT != 0,
                name: case.detail.name,
                ty: declared.clone(),
                declared,
                id: case.common.id,
                external: flags & flag::EXTERNAL != 0,
                try_construct: try_construct(flags),
            });
        }
        let remarks =
            Remarks { nested: of.flags & flag::NESTED != 0, hash_ids: of.flags & flag::AUTOID_HASH != 0 };
        Some(Definition::Union(Union {
            name: of.header.detail.name,
            extensibility: extensibility(of.flags),
            discriminator: discriminator.clone(),
            declared: discriminator,
            remarks,
            key_is_discriminator: of.discriminator.common.flags & flag::KEY != 0,
            cases,
            cost: Cost::OPEN,
        }))
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
            TypeIdentifier::Minimal(_) | TypeIdentifier::Complete(_) | TypeIdentifier::Component(_) => {
                Type::Named(self.named(ObjectId::of(identifier)?, depth)?)
            }
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

fn bitset(of: complete::Bitset) -> Option<Definition> {
    let mut fields: Vec<Bitfield> = Vec::new();
    for field in of.fields {
        let (ty, width) = (primitive(field.common.holder)?, field.common.width);
        let most = match ty {
            Primitive::Boolean => 1,
            Primitive::F32 | Primitive::F64 | Primitive::Char | Primitive::WideChar => return None,
            _ => ty.size() * 8,
        };
        let position = u8::try_from(field.common.position).ok()?;
        let free = fields.last().map_or(0, |last| last.position + last.width);
        let end = position.checked_add(width).filter(|end| *end <= 64)?;
        if position < free || end == position || usize::from(width) > most {
            return None;
        }
        // Samples have numbers where types have octets.
        let ty = if ty == Primitive::Octet { Primitive::U8 } else { ty };
        fields.push(Bitfield { name: field.detail.name, position, width, ty });
    }
    let end = fields.last().map(|last| last.position + last.width)?;
    Some(Definition::Bitset(Bitset { name: of.header.detail.name, bits: holder(end), fields }))
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

fn holder(bit_bound: u8) -> u8 {
    u8::try_from(shape::holder(u16::from(bit_bound))).unwrap_or(64)
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
