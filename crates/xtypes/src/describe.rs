//! From descriptions of types to type objects.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use wire::cdr::{EncodeError, Extensibility};
use wire::schema::{
    Alias, Bitmask, Bitset, Definition, Enumeration, Primitive, Remarks, Schema, Struct, TryConstruct, Type,
    TypeIndex, Union,
};
use wire::sorted::{SortedMap, sort_by};

use crate::component::{self, Place};
use crate::graph;
use crate::identifier::{
    CollectionHeader, LargeArray, LargeMap, LargeSequence, LargeString, SmallArray, SmallMap, SmallSequence,
    SmallString, TypeIdentifier, kind,
};
use crate::information::{Dependencies, IdentifierWithSize, TypeInformation};
use crate::object::{
    Annotations, CommonBit, CommonCase, CommonField, CommonLiteral, CommonMember, MemberDetail, Related,
    TypeDetail, TypeObject, complete, flag, hash,
};
use crate::shape;
use crate::strip;

/// How deep types may be in each other.
const MAX_DEPTH: usize = 64;

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
    /// More than 64 types contain each other, that of this name too.
    TooManyTogether(String),
    /// The size of the bitset of this name cannot be told, because it ends with bits that have no name.
    Bitset(String),
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
        components: graph::components(schema, index).ok_or(DescribeError::TooDeep)?,
        known: SortedMap::new(),
        minimal: Vec::new(),
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
    /// Types that contain themselves.
    components: Vec<Vec<TypeIndex>>,
    /// Types that are described, by complete type objects.
    known: SortedMap<TypeIndex, TypeIdentifier>,
    /// Each identifier by a complete type object, and that by the minimal one.
    minimal: Vec<(TypeIdentifier, TypeIdentifier)>,
    described: Described,
}

type Result<T, E = DescribeError> = core::result::Result<T, E>;

impl Describer<'_> {
    fn named(&mut self, index: TypeIndex, depth: usize) -> Result<TypeIdentifier> {
        if let Some(known) = self.known.get(&index) {
            return Ok(known.clone());
        }
        if depth > MAX_DEPTH {
            return Err(DescribeError::TooDeep);
        }
        let component = self.components.iter().find(|component| component.contains(&index));
        match component.cloned() {
            Some(component) => self.component(component, index, depth),
            None => self.single(index, depth),
        }
    }

    /// A type that does not contain itself.
    fn single(&mut self, index: TypeIndex, depth: usize) -> Result<TypeIdentifier> {
        let complete = self.object(index, depth)?;
        let minimal = strip::object(&complete, &mut |part| self.minimal(part))?;
        let minimal = TypeObject::Minimal(minimal).serialize().map_err(out_of_range)?;
        let complete = TypeObject::Complete(complete).serialize().map_err(out_of_range)?;
        let identifier = TypeIdentifier::Complete(hash(&complete));
        let minimal_identifier = TypeIdentifier::Minimal(hash(&minimal));
        self.add(index, (identifier.clone(), complete), (minimal_identifier, minimal));
        Ok(identifier)
    }

    /// Types that contain each other, `asked` last.
    fn component(
        &mut self,
        mut component: Vec<TypeIndex>,
        asked: TypeIndex,
        depth: usize,
    ) -> Result<TypeIdentifier> {
        let name = |index: &TypeIndex| self.schema.get(*index).map(Definition::name);
        sort_by(&mut component, |one, other| name(one).cmp(&name(other)));
        let length = u8::try_from(component.len()).ok().filter(|length| *length <= component::MOST);
        let Some(length) = length else {
            return Err(DescribeError::TooManyTogether(name(&asked).unwrap_or_default().into()));
        };
        let places: Vec<(TypeIndex, Place)> =
            component.into_iter().zip((1..=length).map(|index| Place { length, index })).collect();
        for (index, place) in &places {
            let (complete, minimal) =
                (component::placeholder(true, *place), component::placeholder(false, *place));
            self.known.insert(*index, complete.clone());
            self.minimal.push((complete, minimal));
        }
        let (mut complete, mut minimal) = (Vec::new(), Vec::new());
        for (index, _) in &places {
            let object = self.object(*index, depth)?;
            let stripped = strip::object(&object, &mut |part| self.minimal(part))?;
            minimal.push(TypeObject::Minimal(stripped));
            complete.push(TypeObject::Complete(object));
        }
        let finish = |objects: &mut Vec<TypeObject>| -> Result<Vec<(TypeIdentifier, Vec<u8>)>> {
            let ids = component::name_together(objects, component::NONE).map_err(out_of_range)?;
            let each = ids.into_iter().zip(objects);
            each.map(|(id, object)| Ok((id.identifier(), object.serialize().map_err(out_of_range)?)))
                .collect()
        };
        let (complete, minimal) = (finish(&mut complete)?, finish(&mut minimal)?);
        let mut described: Vec<_> =
            places.iter().map(|(index, _)| *index).zip(complete.into_iter().zip(minimal)).collect();
        sort_by(&mut described, |(one, _), (other, _)| (*one == asked).cmp(&(*other == asked)));
        for (index, (complete, minimal)) in described {
            self.add(index, complete, minimal);
        }
        self.known.get(&asked).cloned().ok_or(DescribeError::Unknown)
    }

    fn add(
        &mut self,
        index: TypeIndex,
        complete: (TypeIdentifier, Vec<u8>),
        minimal: (TypeIdentifier, Vec<u8>),
    ) {
        self.known.insert(index, complete.0.clone());
        self.minimal.push((complete.0.clone(), minimal.0.clone()));
        // Two names can stand for types with one minimal type object.
        if !self.described.minimal.iter().any(|(known, _)| *known == minimal.0) {
            self.described.minimal.push(minimal);
        }
        if !self.described.complete.iter().any(|(known, _)| *known == complete.0) {
            self.described.complete.push(complete);
        }
    }

    /// The complete type object; the types that it names are described, or have placeholders.
    fn object(&mut self, index: TypeIndex, depth: usize) -> Result<complete::Object> {
        match self.schema.get(index).ok_or(DescribeError::Unknown)? {
            Definition::Struct(of) => self.structure(of, depth),
            Definition::Union(of) => self.union(of, depth),
            Definition::Enumeration(of) => enumeration(of),
            Definition::Bitmask(of) => Ok(bitmask(of)),
            Definition::Bitset(of) => bitset(of),
            Definition::Alias(of) => self.alias(of, depth),
        }
    }

    /// The identifier by minimal type objects of one that was made.
    fn minimal(&self, of: &TypeIdentifier) -> Result<TypeIdentifier> {
        match self.minimal.iter().find(|(complete, _)| complete == of) {
            Some((_, minimal)) => Ok(minimal.clone()),
            None => strip::identifier(of, &mut |part| self.minimal(part)),
        }
    }

    fn identifier(&mut self, ty: &Type, depth: usize) -> Result<TypeIdentifier> {
        let depth = depth + 1;
        if depth > MAX_DEPTH {
            return Err(DescribeError::TooDeep);
        }
        Ok(match ty {
            Type::Primitive(of) => TypeIdentifier::primitive(primitive(*of)),
            Type::Text(bound) => match small(*bound) {
                Ok(bound) => TypeIdentifier::String(SmallString { bound }),
                Err(bound) => TypeIdentifier::LargeString(LargeString { bound }),
            },
            Type::WideText(bound) => match small(*bound) {
                Ok(bound) => TypeIdentifier::WideString(SmallString { bound }),
                Err(bound) => TypeIdentifier::LargeWideString(LargeString { bound }),
            },
            Type::Named(index) => self.named(*index, depth)?,
            Type::Sequence(element, bound) => {
                let element = Box::new(self.identifier(element, depth)?);
                let header = header(&[&element]);
                match small(*bound) {
                    Ok(bound) => TypeIdentifier::Sequence(SmallSequence { header, bound, element }),
                    Err(bound) => TypeIdentifier::LargeSequence(LargeSequence { header, bound, element }),
                }
            }
            Type::Array(element, dimensions) => {
                let element = Box::new(self.identifier(element, depth)?);
                let header = header(&[&element]);
                match dimensions.iter().map(|size| u8::try_from(*size).ok()).collect() {
                    Some(dimensions) => TypeIdentifier::Array(SmallArray { header, dimensions, element }),
                    None => {
                        let dimensions = dimensions.clone();
                        TypeIdentifier::LargeArray(LargeArray { header, dimensions, element })
                    }
                }
            }
            Type::Map(key, value, bound) => {
                let key = Box::new(self.identifier(key, depth)?);
                let element = Box::new(self.identifier(value, depth)?);
                let header = header(&[&key, &element]);
                let key_flags = flag::TRY_CONSTRUCT_DISCARD;
                match small(*bound) {
                    Ok(bound) => TypeIdentifier::Map(SmallMap { header, bound, element, key_flags, key }),
                    Err(bound) => {
                        TypeIdentifier::LargeMap(LargeMap { header, bound, element, key_flags, key })
                    }
                }
            }
        })
    }

    fn structure(&mut self, of: &Struct, depth: usize) -> Result<complete::Object> {
        let flags = type_flags(of.extensibility, of.remarks);
        let base = of.base.map_or(Ok(TypeIdentifier::NONE), |base| self.named(base, depth + 1))?;
        let mut members = Vec::new();
        for member in of.own_members(self.schema) {
            let ty = self.identifier(&member.declared, depth)?;
            let mut flags = part_flags(member.try_construct, member.external);
            flags |= if member.optional { flag::OPTIONAL } else { 0 };
            flags |= if member.key { flag::KEY } else { 0 };
            // A receiver that does not know a key member cannot tell instances apart (XTypes 1.3, 7.2.2.4.4.4.8).
            flags |= if member.must_understand || member.key { flag::MUST_UNDERSTAND } else { 0 };
            let common = CommonMember { id: member.id, flags, ty };
            members.push(complete::Member { common, detail: member_detail(&member.name) });
        }
        let header = complete::StructHeader { base, detail: type_detail(&of.name) };
        Ok(complete::Object::Struct(complete::Struct { flags, header, members }))
    }

    fn union(&mut self, of: &Union, depth: usize) -> Result<complete::Object> {
        let flags = type_flags(of.extensibility, of.remarks);
        let ty = self.identifier(&of.declared, depth)?;
        let mut discriminator_flags = flag::TRY_CONSTRUCT_DISCARD | flag::MUST_UNDERSTAND;
        discriminator_flags |= if of.key_is_discriminator { flag::KEY } else { 0 };
        let mut cases = Vec::new();
        for case in &of.cases {
            let ty = self.identifier(&case.declared, depth)?;
            let mut flags = part_flags(case.try_construct, case.external);
            flags |= if case.default { flag::DEFAULT } else { 0 };
            let mut labels = Vec::new();
            for label in &case.labels {
                labels.push(i32::try_from(*label).map_err(|_| DescribeError::OutOfRange)?);
            }
            sort_by(&mut labels, Ord::cmp);
            let common = CommonCase { id: case.id, flags, ty, labels };
            cases.push(complete::Case { common, detail: member_detail(&case.name) });
        }
        Ok(complete::Object::Union(complete::Union {
            flags,
            header: complete::Header { detail: type_detail(&of.name) },
            discriminator: complete::Body {
                common: Related { flags: discriminator_flags, ty },
                besides: NO_ANNOTATIONS,
            },
            cases,
        }))
    }

    fn alias(&mut self, of: &Alias, depth: usize) -> Result<complete::Object> {
        let ty = self.identifier(&of.declared, depth)?;
        Ok(complete::Object::Alias(complete::Alias {
            flags: 0,
            header: complete::Header { detail: type_detail(&of.name) },
            body: complete::Body { common: Related { flags: 0, ty }, besides: NO_ANNOTATIONS },
        }))
    }
}

fn out_of_range(_: EncodeError) -> DescribeError {
    DescribeError::OutOfRange
}

fn enumeration(of: &Enumeration) -> Result<complete::Object> {
    let mut literals = Vec::new();
    for (name, value) in &of.literals {
        let flags = if Some(*value) == of.said_default { flag::DEFAULT } else { 0 };
        let value = i32::try_from(*value).map_err(|_| DescribeError::OutOfRange)?;
        literals
            .push(complete::Literal { common: CommonLiteral { value, flags }, detail: member_detail(name) });
    }
    sort_by(&mut literals, |one, other| one.common.value.cmp(&other.common.value));
    Ok(complete::Object::Enumeration(complete::Enumeration {
        flags: type_flags(of.extensibility, Remarks::default()),
        header: bit_header(of.bit_bound, &of.name),
        literals,
    }))
}

fn bitmask(of: &Bitmask) -> complete::Object {
    let bits = of.flags.iter().map(|(name, position)| complete::Bit {
        common: CommonBit { position: u16::from(*position), flags: 0 },
        detail: member_detail(name),
    });
    let mut bits: Vec<complete::Bit> = bits.collect();
    sort_by(&mut bits, |one, other| one.common.position.cmp(&other.common.position));
    complete::Object::Bitmask(complete::Bitmask {
        flags: type_flags(of.extensibility, Remarks::default()),
        header: bit_header(of.bit_bound, &of.name),
        bits,
    })
}

fn bitset(of: &Bitset) -> Result<complete::Object> {
    let mut fields = of.fields.clone();
    sort_by(&mut fields, |one, other| one.position.cmp(&other.position));
    // Readers of the type object have to take the least integer that holds all that has a name.
    let end = fields.last().map_or(0, |field| field.position.saturating_add(field.width));
    if end == 0 || shape::holder(u16::from(end)) != u16::from(of.bits) {
        return Err(DescribeError::Bitset(of.name.clone()));
    }
    let fields = fields.iter().map(|field| complete::Field {
        common: CommonField {
            position: u16::from(field.position),
            flags: 0,
            width: field.width,
            holder: primitive(field.ty),
        },
        detail: member_detail(&field.name),
    });
    Ok(complete::Object::Bitset(complete::Bitset {
        flags: 0,
        header: complete::Header { detail: type_detail(&of.name) },
        fields: fields.collect(),
    }))
}

const NO_ANNOTATIONS: Annotations = Annotations { builtin: None, custom: None };

fn bit_header(bit_bound: u8, name: &str) -> complete::BitHeader {
    complete::BitHeader { bit_bound: u16::from(bit_bound), detail: type_detail(name) }
}

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
            Self::TooManyTogether(name) => {
                write!(f, "more than {} types contain each other, {name} too", component::MOST)
            }
            Self::Bitset(name) => write!(f, "the bitset {name} ends with bits that have no name"),
            Self::TooDeep => write!(f, "types are in each other more than {MAX_DEPTH} deep"),
            Self::OutOfRange => write!(f, "a label or value exceeds 32 bits"),
            Self::Unknown => write!(f, "the type is not described"),
        }
    }
}

impl core::error::Error for DescribeError {}
