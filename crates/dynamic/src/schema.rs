//! Types as they were described.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use wire::cdr::Extensibility;

use crate::size::Cost;

/// Types that belong together, as of one IDL text. Every type in it is complete.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schema {
    definitions: Vec<Definition>,
}

/// The place of a definition in its schema.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TypeIndex(usize);

/// The type of a member or element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    /// A number, character or boolean.
    Primitive(Primitive),
    /// A string, with its most octets, if it has a bound.
    Text(Option<u32>),
    /// A wide string, with its most UTF-16 code units, if it has a bound.
    WideText(Option<u32>),
    /// A sequence of elements, with their greatest number, if it has a bound.
    Sequence(Box<Type>, Option<u32>),
    /// An array; the element is no array. None of the dimensions is zero.
    Array(Box<Type>, Vec<u32>),
    /// A map from keys to values, with its most entries, if it has a bound.
    Map(Box<Type>, Box<Type>, Option<u32>),
    /// A type with a name.
    Named(TypeIndex),
}

/// Numbers, characters and booleans.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Primitive {
    /// boolean
    Boolean,
    /// octet, uint8
    U8,
    /// int8
    I8,
    /// unsigned short, uint16
    U16,
    /// short, int16
    I16,
    /// unsigned long, uint32
    U32,
    /// long, int32
    I32,
    /// unsigned long long, uint64
    U64,
    /// long long, int64
    I64,
    /// float
    F32,
    /// double
    F64,
    /// char, one octet
    Char,
    /// wchar, one UTF-16 code unit
    WideChar,
}

/// A type with a name and a structure of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Definition {
    /// A structure.
    Struct(Struct),
    /// A union.
    Union(Union),
    /// An enumeration.
    Enumeration(Enumeration),
    /// A bitmask.
    Bitmask(Bitmask),
}

/// A structure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Struct {
    /// Name with its modules, as `robot::Pose`.
    pub name: String,
    /// How far the type may change.
    pub extensibility: Extensibility,
    /// Members, those of the base first.
    pub members: Vec<Member>,
    pub(crate) cost: Cost,
}

/// A member of a structure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: Type,
    /// Member id, at most 0x0fffffff.
    pub id: u32,
    /// It is part of the key.
    pub key: bool,
    /// It may be absent.
    pub optional: bool,
    /// Whoever does not know it must not use the sample.
    pub must_understand: bool,
}

/// A union.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Union {
    /// Name with its modules.
    pub name: String,
    /// How far the type may change.
    pub extensibility: Extensibility,
    /// Type of the discriminator: an integer, character, boolean or enumeration.
    pub discriminator: Type,
    /// The discriminator alone is the key.
    pub key_is_discriminator: bool,
    /// Cases.
    pub cases: Vec<Case>,
    pub(crate) cost: Cost,
}

/// A case of a union.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// Values of the discriminator that mean this case.
    pub labels: Vec<i64>,
    /// All other values mean this case too.
    pub default: bool,
    /// Name of the member.
    pub name: String,
    /// Type of the member.
    pub ty: Type,
    /// Member id.
    pub id: u32,
}

/// An enumeration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enumeration {
    /// Name with its modules.
    pub name: String,
    /// Bits of the integer that holds it: 8, 16 or 32.
    pub bits: u8,
    /// Literals with their values.
    pub literals: Vec<(String, i64)>,
    /// What a value has that was not sent.
    pub default: i64,
}

/// A bitmask.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bitmask {
    /// Name with its modules.
    pub name: String,
    /// Bits of the integer that holds it: 8, 16, 32 or 64.
    pub bits: u8,
    /// Flags with their positions.
    pub flags: Vec<(String, u8)>,
}

impl Schema {
    pub(crate) fn add(&mut self, definition: Definition) -> TypeIndex {
        self.definitions.push(definition);
        TypeIndex(self.definitions.len() - 1)
    }

    pub(crate) fn replace(&mut self, index: TypeIndex, definition: Definition) {
        if let Some(place) = self.definitions.get_mut(index.0) {
            *place = definition;
        }
    }

    /// The definition at an index of this schema; `None` for one of another schema.
    pub fn get(&self, index: TypeIndex) -> Option<&Definition> {
        self.definitions.get(index.0)
    }

    /// All definitions, in the order in which they were described.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (TypeIndex, &Definition)> {
        self.definitions.iter().enumerate().map(|(index, definition)| (TypeIndex(index), definition))
    }

    /// The type of this name, with its modules; a name without modules is enough where only one type has it.
    pub fn find(&self, name: &str) -> Option<TypeIndex> {
        let name = name.trim_start_matches("::");
        if let Some((index, _)) = self.iter().find(|(_, definition)| definition.name() == name) {
            return Some(index);
        }
        let mut found =
            self.iter().filter(|(_, definition)| definition.name().rsplit("::").next() == Some(name));
        let first = found.next().map(|(index, _)| index);
        if found.next().is_some() { None } else { first }
    }
}

impl Primitive {
    /// Octets of a value.
    pub const fn size(self) -> usize {
        match self {
            Self::Boolean | Self::U8 | Self::I8 | Self::Char => 1,
            Self::U16 | Self::I16 | Self::WideChar => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }
}

impl Definition {
    /// Name with its modules.
    pub fn name(&self) -> &str {
        match self {
            Self::Struct(Struct { name, .. })
            | Self::Union(Union { name, .. })
            | Self::Enumeration(Enumeration { name, .. })
            | Self::Bitmask(Bitmask { name, .. }) => name,
        }
    }

    /// How far the type may change; `None` for what is no type of topics.
    pub const fn extensibility(&self) -> Option<Extensibility> {
        match self {
            Self::Struct(Struct { extensibility, .. }) | Self::Union(Union { extensibility, .. }) => {
                Some(*extensibility)
            }
            Self::Enumeration(_) | Self::Bitmask(_) => None,
        }
    }

    /// True if samples belong to instances.
    pub fn has_key(&self) -> bool {
        match self {
            Self::Struct(structure) => structure.members.iter().any(|member| member.key),
            Self::Union(union) => union.key_is_discriminator,
            Self::Enumeration(_) | Self::Bitmask(_) => false,
        }
    }
}

impl Union {
    /// The case that a value of the discriminator means.
    pub(crate) fn case(&self, discriminator: i64) -> Option<usize> {
        let labelled = self.cases.iter().position(|case| case.labels.contains(&discriminator));
        labelled.or_else(|| self.cases.iter().position(|case| case.default))
    }
}

/// Elements of an array.
pub(crate) fn length(dimensions: &[u32]) -> usize {
    dimensions.iter().fold(1, |product: usize, dimension| product.saturating_mul(*dimension as usize))
}

/// Collections of these have no DHEADER.
pub(crate) const fn is_primitive(ty: &Type) -> bool {
    matches!(ty, Type::Primitive(_))
}

/// Collections of these are kept as octets.
pub(crate) const fn is_octets(ty: &Type) -> bool {
    matches!(ty, Type::Primitive(Primitive::U8))
}
