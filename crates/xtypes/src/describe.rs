//! From descriptions of types to type objects.
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use wire::cdr::Extensibility;
use wire::schema::{
    Alias, Bitmask, Definition, Enumeration, Primitive, Remarks, Schema, Struct, TryConstruct, Type,
    TypeIndex, Union,
};

use crate::identifier::{
    CollectionHeader, LargeArray, LargeMap, LargeSequence, LargeString, Nothing, SmallArray, SmallMap,
    SmallSequence, SmallString, TypeIdentifier, kind,
};
use crate::information::{Dependencies, IdentifierWithSize, TypeInformation};
use crate::object::{
    Annotations, CommonBit, CommonCase, CommonLiteral, CommonMember, MemberDetail, NameHash, Related,
    TypeDetail, TypeObject, complete, flag, hash, minimal,
};

/// How deep types may be in each other.
const MAX_DEPTH: usize = 64;

/// A type identified by both of its type objects; the same twice where it needs none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// By the minimal type object.
    pub minimal: TypeIdentifier,
    /// By the complete type object.
    pub complete: TypeIdentifier,
}

/// A type and those that it needs, as type objects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Described {
    /// Serialized minimal type objects with their identifiers, those that others need first, the type itself last.
    pub minimal: Vec<(TypeIdentifier, Vec<u8>)>,
    /// The same of complete type objects.
    pub complete: Vec<(TypeIdentifier, Vec<u8>)>,
}

/// Why a type has no type objects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DescribeError {
    /// The type of this name contains itself.
    Recursive(String),
    /// Types are in each other more than 64 deep.
    TooDeep,
    /// A label, a value or a count exceeds what type objects can say.
    OutOfRange,
    /// The type is of another schema.
    Unknown,
}

/// The type objects of the type at `index`.
///
/// # Errors
/// Those of [`DescribeError`].
pub fn describe(schema: &Schema, index: TypeIndex) -> Result<Described, DescribeError> {
    let mut describer = Describer {
        schema,
        known: BTreeMap::new(),
        described: Described { minimal: Vec::new(), complete: Vec::new() },
    };
    describer.named(index, 0)?;
    Ok(describer.described)
}

impl Described {
    /// What an endpoint announces of the type.
    pub fn information(&self) -> TypeInformation {
        TypeInformation { minimal: dependencies(&self.minimal), complete: dependencies(&self.complete) }
    }
}

fn dependencies(objects: &[(TypeIdentifier, Vec<u8>)]) -> Dependencies {
    let sized = |(ty, object): &(TypeIdentifier, Vec<u8>)| IdentifierWithSize {
        ty: ty.clone(),
        size: u32::try_from(object.len()).unwrap_or(u32::MAX),
    };
    let none = || IdentifierWithSize { ty: TypeIdentifier::NONE, size: 0 };
    let (ty, others) = objects
        .split_last()
        .map_or_else(|| (none(), Vec::new()), |(ty, others)| (sized(ty), others.iter().map(sized).collect()));
    Dependencies { ty, count: i32::try_from(others.len()).unwrap_or(-1), others }
}

struct Describer<'s> {
    schema: &'s Schema,
    /// Types that are described; `None` while they are being described.
    known: BTreeMap<TypeIndex, Option<Pair>>,
    described: Described,
}

type Result<T, E = DescribeError> = core::result::Result<T, E>;

impl Describer<'_> {
    fn named(&mut self, index: TypeIndex, depth: usize) -> Result<Pair> {
        let definition = self.schema.get(index).ok_or(DescribeError::Unknown)?;
        match self.known.get(&index) {
            Some(Some(pair)) => return Ok(pair.clone()),
            Some(None) => return Err(DescribeError::Recursive(definition.name().into())),
            None if depth > MAX_DEPTH => return Err(DescribeError::TooDeep),
            None => self.known.insert(index, None),
        };
        let (minimal, complete) = match definition {
            Definition::Struct(of) => self.structure(of, depth)?,
            Definition::Union(of) => self.union(of, depth)?,
            Definition::Enumeration(of) => enumeration(of)?,
            Definition::Bitmask(of) => bitmask(of),
            Definition::Alias(of) => self.alias(of, depth)?,
        };
        let out_of_range = |_| DescribeError::OutOfRange;
        let minimal = TypeObject::Minimal(minimal).serialize().map_err(out_of_range)?;
        let complete = TypeObject::Complete(complete).serialize().map_err(out_of_range)?;
        let pair = Pair {
            minimal: TypeIdentifier::Minimal(hash(&minimal)),
            complete: TypeIdentifier::Complete(hash(&complete)),
        };
        // Two names can stand for types with one minimal type object.
        if !self.described.minimal.iter().any(|(known, _)| *known == pair.minimal) {
            self.described.minimal.push((pair.minimal.clone(), minimal));
        }
        if !self.described.complete.iter().any(|(known, _)| *known == pair.complete) {
            self.described.complete.push((pair.complete.clone(), complete));
        }
        self.known.insert(index, Some(pair.clone()));
        Ok(pair)
    }

    fn pair(&mut self, ty: &Type, depth: usize) -> Result<Pair> {
        let depth = depth + 1;
        if depth > MAX_DEPTH {
            return Err(DescribeError::TooDeep);
        }
        let both = |identifier: TypeIdentifier| Pair { minimal: identifier.clone(), complete: identifier };
        Ok(match ty {
            Type::Primitive(of) => both(TypeIdentifier::primitive(primitive(*of))),
            Type::Text(bound) => both(match small(*bound) {
                Ok(bound) => TypeIdentifier::String(SmallString { bound }),
                Err(bound) => TypeIdentifier::LargeString(LargeString { bound }),
            }),
            Type::WideText(bound) => both(match small(*bound) {
                Ok(bound) => TypeIdentifier::WideString(SmallString { bound }),
                Err(bound) => TypeIdentifier::LargeWideString(LargeString { bound }),
            }),
            Type::Named(index) => self.named(*index, depth)?,
            Type::Sequence(element, bound) => {
                let bound = small(*bound);
                self.pair(element, depth)?.map(|element| {
                    let header = header(&[&element]);
                    let element = Box::new(element);
                    match bound {
                        Ok(bound) => TypeIdentifier::Sequence(SmallSequence { header, bound, element }),
                        Err(bound) => TypeIdentifier::LargeSequence(LargeSequence { header, bound, element }),
                    }
                })
            }
            Type::Array(element, dimensions) => {
                let small: Option<Vec<u8>> = dimensions.iter().map(|size| u8::try_from(*size).ok()).collect();
                self.pair(element, depth)?.map(|element| {
                    let header = header(&[&element]);
                    let element = Box::new(element);
                    match small.clone() {
                        Some(dimensions) => TypeIdentifier::Array(SmallArray { header, dimensions, element }),
                        None => TypeIdentifier::LargeArray(LargeArray {
                            header,
                            dimensions: dimensions.clone(),
                            element,
                        }),
                    }
                })
            }
            Type::Map(key, value, bound) => {
                let (bound, key, value) = (small(*bound), self.pair(key, depth)?, self.pair(value, depth)?);
                let map = |key: TypeIdentifier, element: TypeIdentifier| {
                    let header = header(&[&key, &element]);
                    let (key, element) = (Box::new(key), Box::new(element));
                    let key_flags = flag::TRY_CONSTRUCT_DISCARD;
                    match bound {
                        Ok(bound) => TypeIdentifier::Map(SmallMap { header, bound, element, key_flags, key }),
                        Err(bound) => {
                            TypeIdentifier::LargeMap(LargeMap { header, bound, element, key_flags, key })
                        }
                    }
                };
                Pair { minimal: map(key.minimal, value.minimal), complete: map(key.complete, value.complete) }
            }
        })
    }

    fn structure(&mut self, of: &Struct, depth: usize) -> Result<(minimal::Object, complete::Object)> {
        let flags = type_flags(of.extensibility, of.remarks);
        let none = Pair { minimal: TypeIdentifier::NONE, complete: TypeIdentifier::NONE };
        let base = of.base.map_or(Ok(none), |base| self.named(base, depth + 1))?;
        let (mut small, mut large) = (Vec::new(), Vec::new());
        for member in of.own_members(self.schema) {
            let ty = self.pair(&member.declared, depth)?;
            let mut flags = part_flags(member.try_construct, member.external);
            flags |= if member.optional { flag::OPTIONAL } else { 0 };
            flags |= if member.key { flag::KEY } else { 0 };
            // A receiver that does not know a key member cannot tell instances apart (XTypes 1.3, 7.2.2.4.4.4.8).
            flags |= if member.must_understand || member.key { flag::MUST_UNDERSTAND } else { 0 };
            let id = member.id;
            let common = CommonMember { id, flags, ty: ty.minimal };
            small.push(minimal::Member { common, detail: NameHash::of(&member.name) });
            let common = CommonMember { id, flags, ty: ty.complete };
            large.push(complete::Member { common, detail: member_detail(&member.name) });
        }
        let header = minimal::StructHeader { base: base.minimal, detail: Nothing {} };
        let minimal = minimal::Struct { flags, header, members: small };
        let header = complete::StructHeader { base: base.complete, detail: type_detail(&of.name) };
        let complete = complete::Struct { flags, header, members: large };
        Ok((minimal::Object::Struct(minimal), complete::Object::Struct(complete)))
    }

    fn union(&mut self, of: &Union, depth: usize) -> Result<(minimal::Object, complete::Object)> {
        let flags = type_flags(of.extensibility, of.remarks);
        let discriminator = self.pair(&of.declared, depth)?;
        let mut discriminator_flags = flag::TRY_CONSTRUCT_DISCARD | flag::MUST_UNDERSTAND;
        discriminator_flags |= if of.key_is_discriminator { flag::KEY } else { 0 };
        let (mut small, mut large) = (Vec::new(), Vec::new());
        for case in &of.cases {
            let ty = self.pair(&case.declared, depth)?;
            let mut flags = part_flags(case.try_construct, case.external);
            flags |= if case.default { flag::DEFAULT } else { 0 };
            let mut labels = Vec::new();
            for label in &case.labels {
                labels.push(i32::try_from(*label).map_err(|_| DescribeError::OutOfRange)?);
            }
            labels.sort_unstable();
            let common = CommonCase { id: case.id, flags, ty: ty.minimal, labels: labels.clone() };
            small.push(minimal::Case { common, detail: NameHash::of(&case.name) });
            let common = CommonCase { id: case.id, flags, ty: ty.complete, labels };
            large.push(complete::Case { common, detail: member_detail(&case.name) });
        }
        let common = |ty| Related { flags: discriminator_flags, ty };
        let minimal = minimal::Union {
            flags,
            header: minimal::Header { detail: Nothing {} },
            discriminator: minimal::Body { common: common(discriminator.minimal), besides: Nothing {} },
            cases: small,
        };
        let complete = complete::Union {
            flags,
            header: complete::Header { detail: type_detail(&of.name) },
            discriminator: complete::Body { common: common(discriminator.complete), besides: NO_ANNOTATIONS },
            cases: large,
        };
        Ok((minimal::Object::Union(minimal), complete::Object::Union(complete)))
    }

    fn alias(&mut self, of: &Alias, depth: usize) -> Result<(minimal::Object, complete::Object)> {
        let ty = self.pair(&of.declared, depth)?;
        let common = |ty| Related { flags: 0, ty };
        let minimal = minimal::Alias {
            flags: 0,
            header: minimal::Header { detail: Nothing {} },
            body: minimal::Body { common: common(ty.minimal), besides: Nothing {} },
        };
        let complete = complete::Alias {
            flags: 0,
            header: complete::Header { detail: type_detail(&of.name) },
            body: complete::Body { common: common(ty.complete), besides: NO_ANNOTATIONS },
        };
        Ok((minimal::Object::Alias(minimal), complete::Object::Alias(complete)))
    }
}

fn enumeration(of: &Enumeration) -> Result<(minimal::Object, complete::Object)> {
    let mut literals: Vec<&(String, i64)> = of.literals.iter().collect();
    literals.sort_by_key(|(_, value)| *value);
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for (name, value) in literals {
        let flags = if Some(*value) == of.said_default { flag::DEFAULT } else { 0 };
        let value = i32::try_from(*value).map_err(|_| DescribeError::OutOfRange)?;
        let common = CommonLiteral { value, flags };
        small.push(minimal::Literal { common: common.clone(), detail: NameHash::of(name) });
        large.push(complete::Literal { common, detail: member_detail(name) });
    }
    let (bit_bound, flags) = (u16::from(of.bit_bound), type_flags(of.extensibility, Remarks::default()));
    let header = minimal::BitHeader { bit_bound, detail: Nothing {} };
    let minimal = minimal::Enumeration { flags, header, literals: small };
    let header = complete::BitHeader { bit_bound, detail: type_detail(&of.name) };
    let complete = complete::Enumeration { flags, header, literals: large };
    Ok((minimal::Object::Enumeration(minimal), complete::Object::Enumeration(complete)))
}

fn bitmask(of: &Bitmask) -> (minimal::Object, complete::Object) {
    let mut flags: Vec<&(String, u8)> = of.flags.iter().collect();
    flags.sort_by_key(|(_, position)| *position);
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for (name, position) in flags {
        let common = CommonBit { position: u16::from(*position), flags: 0 };
        small.push(minimal::Bit { common: common.clone(), detail: NameHash::of(name) });
        large.push(complete::Bit { common, detail: member_detail(name) });
    }
    let (bit_bound, flags) = (u16::from(of.bit_bound), type_flags(of.extensibility, Remarks::default()));
    let header = minimal::BitHeader { bit_bound, detail: Nothing {} };
    let minimal = minimal::Bitmask { flags, header, bits: small };
    let header = complete::BitHeader { bit_bound, detail: type_detail(&of.name) };
    let complete = complete::Bitmask { flags, header, bits: large };
    (minimal::Object::Bitmask(minimal), complete::Object::Bitmask(complete))
}

impl Pair {
    /// The pair that a change of both makes.
    fn map(self, change: impl Fn(TypeIdentifier) -> TypeIdentifier) -> Self {
        Self { minimal: change(self.minimal), complete: change(self.complete) }
    }
}

const NO_ANNOTATIONS: Annotations = Annotations { builtin: None, custom: None };

fn type_detail(name: &str) -> TypeDetail {
    TypeDetail { annotations: NO_ANNOTATIONS, name: name.into() }
}

fn member_detail(name: &str) -> MemberDetail {
    MemberDetail { name: name.into(), annotations: NO_ANNOTATIONS }
}

/// A bound that fits into one octet, 0 for none; otherwise the bound.
fn small(bound: Option<u32>) -> Result<u8, u32> {
    bound.map_or(Ok(0), |bound| u8::try_from(bound).map_err(|_| bound))
}

/// What the identifier of a collection of these begins with.
fn header(parts: &[&TypeIdentifier]) -> CollectionHeader {
    let needed = parts.iter().map(|part| part.equivalence()).find(|needed| *needed != kind::EK_BOTH);
    let equivalence = needed.unwrap_or(kind::EK_BOTH);
    CollectionHeader { equivalence, element_flags: flag::TRY_CONSTRUCT_DISCARD }
}

fn type_flags(extensibility: Extensibility, remarks: Remarks) -> u16 {
    let changes = match extensibility {
        Extensibility::Final => flag::FINAL,
        Extensibility::Appendable => flag::APPENDABLE,
        Extensibility::Mutable => flag::MUTABLE,
    };
    let nested = if remarks.nested { flag::NESTED } else { 0 };
    let hash_ids = if remarks.hash_ids { flag::AUTOID_HASH } else { 0 };
    changes | nested | hash_ids
}

const fn part_flags(try_construct: TryConstruct, external: bool) -> u16 {
    let try_construct = match try_construct {
        TryConstruct::Discard => flag::TRY_CONSTRUCT_DISCARD,
        TryConstruct::UseDefault => flag::TRY_CONSTRUCT_USE_DEFAULT,
        TryConstruct::Trim => flag::TRY_CONSTRUCT_TRIM,
    };
    try_construct | if external { flag::EXTERNAL } else { 0 }
}

const fn primitive(of: Primitive) -> u8 {
    match of {
        Primitive::Boolean => kind::BOOLEAN,
        Primitive::Octet => kind::BYTE,
        Primitive::U8 => kind::UINT8,
        Primitive::I8 => kind::INT8,
        Primitive::U16 => kind::UINT16,
        Primitive::I16 => kind::INT16,
        Primitive::U32 => kind::UINT32,
        Primitive::I32 => kind::INT32,
        Primitive::U64 => kind::UINT64,
        Primitive::I64 => kind::INT64,
        Primitive::F32 => kind::FLOAT32,
        Primitive::F64 => kind::FLOAT64,
        Primitive::Char => kind::CHAR8,
        Primitive::WideChar => kind::CHAR16,
    }
}

impl fmt::Display for DescribeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recursive(name) => write!(f, "{name} contains itself"),
            Self::TooDeep => write!(f, "types are in each other more than {MAX_DEPTH} deep"),
            Self::OutOfRange => write!(f, "a label or value exceeds 32 bits"),
            Self::Unknown => write!(f, "the type is not described"),
        }
    }
}

impl core::error::Error for DescribeError {}
