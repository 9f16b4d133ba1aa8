//! Types as they were described: by IDL at run time, or by `#[derive(DdsType)]`.
//!
//! A type is kept in two forms where they differ: as its samples are encoded (`ty`, `plain`: other names are dissolved, arrays of arrays
//! are one array, an octet is a number), and as it was declared (`declared`), which is what type objects are made of (XTypes 1.3, 7.3.4).
mod described;
mod size;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::cdr::Extensibility;

pub use described::of;
pub use size::{Cost, cost, length_code};

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
    /// A string, with its greatest length in bytes, if it has a bound.
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
    /// uint8; where samples are encoded also octet
    U8,
    /// octet, in declared types alone
    Octet,
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
    /// char, one byte
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
    /// Numbers of a few bits each, in one integer.
    Bitset(Bitset),
    /// Another name for a type.
    Alias(Alias),
}

/// What a receiver does with a value that does not fit its type (XTypes 1.3, 7.2.4.7).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum TryConstruct {
    /// It discards what the value is a part of.
    #[default]
    Discard,
    /// It takes the default value.
    UseDefault,
    /// It takes as much as fits.
    Trim,
}

/// What is said of a structure or union besides its members and its extensibility, and changes no bytes of samples.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Remarks {
    /// It is no type of topics.
    pub nested: bool,
    /// Ids of members are hashes of their names where nothing else is said.
    pub hash_ids: bool,
}

/// Another name for a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alias {
    /// Name with its modules.
    pub name: String,
    /// The type as it was declared.
    pub declared: Type,
    /// The type without other names.
    pub plain: Type,
}

/// A structure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Struct {
    /// Name with its modules, as `robot::Pose`.
    pub name: String,
    /// How far the type may change.
    pub extensibility: Extensibility,
    /// The structure that this one extends.
    pub base: Option<TypeIndex>,
    /// What else is said of it.
    pub remarks: Remarks,
    /// Members, those of the base first.
    pub members: Vec<Member>,
    /// What values take.
    pub cost: Cost,
}

/// A member of a structure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: Type,
    /// Type as it was declared.
    pub declared: Type,
    /// Member id, at most 0x0fffffff.
    pub id: u32,
    /// It is kept outside of the structure.
    pub external: bool,
    /// What becomes of a value that does not fit.
    pub try_construct: TryConstruct,
    /// It is part of the key.
    pub key: bool,
    /// It may be absent.
    pub optional: bool,
    /// A receiver that does not know it must not use the sample.
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
    /// Type of the discriminator as it was declared.
    pub declared: Type,
    /// What else is said of it.
    pub remarks: Remarks,
    /// The discriminator alone is the key.
    pub key_is_discriminator: bool,
    /// Cases.
    pub cases: Vec<Case>,
    /// What values take.
    pub cost: Cost,
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
    /// Type of the member as it was declared.
    pub declared: Type,
    /// Member id.
    pub id: u32,
    /// It is kept outside of the union.
    pub external: bool,
    /// What becomes of a value that does not fit.
    pub try_construct: TryConstruct,
}

/// An enumeration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enumeration {
    /// Name with its modules.
    pub name: String,
    /// Bits of the integer that holds it: 8, 16 or 32.
    pub bits: u8,
    /// Bits that its values need, at most: 1 to 32.
    pub bit_bound: u8,
    /// How far it may change.
    pub extensibility: Extensibility,
    /// Literals with their values.
    pub literals: Vec<(String, i64)>,
    /// The value of the literal that is said to be the default.
    pub said_default: Option<i64>,
    /// What a value has that was not sent: that of the literal that says so, otherwise that of the first one.
    pub default: i64,
}

/// A bitmask.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bitmask {
    /// Name with its modules.
    pub name: String,
    /// Bits of the integer that holds it: 8, 16, 32 or 64.
    pub bits: u8,
    /// Greatest number of flags: 1 to 64.
    pub bit_bound: u8,
    /// How far it may change.
    pub extensibility: Extensibility,
    /// Flags with their positions.
    pub flags: Vec<(String, u8)>,
}

/// Numbers of a few bits each, in one integer (IDL 4.2, 7.4.13.4.3.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bitset {
    /// Name with its modules.
    pub name: String,
    /// Bits of the integer that holds it: 8, 16, 32 or 64.
    pub bits: u8,
    /// Those that have a name, from the least significant bits.
    pub fields: Vec<Bitfield>,
}

/// One of the numbers of a bitset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bitfield {
    /// Name.
    pub name: String,
    /// Its least significant bit in the integer.
    pub position: u8,
    /// Its bits, at least one, within those of the integer and of its type.
    pub width: u8,
    /// Its type: boolean, or an integer.
    pub ty: Primitive,
}

impl Bitfield {
    /// The bits of the integer that are those of the number.
    pub const fn mask(&self) -> u64 {
        (u64::MAX >> (64 - self.width)) << self.position
    }

    /// Its type has a sign.
    pub const fn is_signed(&self) -> bool {
        matches!(self.ty, Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64)
    }
}

impl Schema {
    /// Adds a definition.
    pub fn add(&mut self, definition: Definition) -> TypeIndex {
        self.definitions.push(definition);
        TypeIndex(self.definitions.len() - 1)
    }

    /// Puts another definition in the place of one, as when it is complete.
    pub fn replace(&mut self, index: TypeIndex, definition: Definition) {
        if let Some(place) = self.definitions.get_mut(index.0) {
            *place = definition;
        }
    }

    /// The definition at an index of this schema; `None` for one of another schema.
    pub fn get(&self, index: TypeIndex) -> Option<&Definition> {
        self.definitions.get(index.0)
    }

    /// The type without other names in it, as its samples are encoded.
    pub fn plain(&self, declared: &Type) -> Type {
        match declared {
            Type::Primitive(Primitive::Octet) => Type::Primitive(Primitive::U8),
            Type::Primitive(_) | Type::Text(_) | Type::WideText(_) => declared.clone(),
            Type::Sequence(element, bound) => Type::Sequence(Box::new(self.plain(element)), *bound),
            Type::Map(key, value, bound) => {
                Type::Map(Box::new(self.plain(key)), Box::new(self.plain(value)), *bound)
            }
            Type::Array(element, dimensions) => match self.plain(element) {
                // An array of arrays is one array of several dimensions.
                Type::Array(element, inner) => Type::Array(element, [dimensions.as_slice(), &inner].concat()),
                element => Type::Array(Box::new(element), dimensions.clone()),
            },
            Type::Named(index) => match self.get(*index) {
                Some(Definition::Alias(alias)) => alias.plain.clone(),
                _ => declared.clone(),
            },
        }
    }

    /// All definitions, in the order in which they were described.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (TypeIndex, &Definition)> {
        self.definitions.iter().enumerate().map(|(index, definition)| (TypeIndex(index), definition))
    }

    /// The type of this name, with its modules; a name without modules is enough where only one type has it. Other names of types are not
    /// looked at.
    pub fn find(&self, name: &str) -> Option<TypeIndex> {
        let name = name.trim_start_matches("::");
        let own = || self.iter().filter(|(_, definition)| !matches!(definition, Definition::Alias(_)));
        if let Some((index, _)) = own().find(|(_, definition)| definition.name() == name) {
            return Some(index);
        }
        let mut found = own().filter(|(_, definition)| definition.name().rsplit("::").next() == Some(name));
        let first = found.next().map(|(index, _)| index);
        if found.next().is_some() { None } else { first }
    }
}

impl Primitive {
    /// As IDL has it, in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::U8 => "uint8",
            Self::Octet => "octet",
            Self::I8 => "int8",
            Self::U16 => "uint16",
            Self::I16 => "int16",
            Self::U32 => "uint32",
            Self::I32 => "int32",
            Self::U64 => "uint64",
            Self::I64 => "int64",
            Self::F32 => "float",
            Self::F64 => "double",
            Self::Char => "char",
            Self::WideChar => "wchar",
        }
    }

    /// Bytes of a value.
    pub const fn size(self) -> usize {
        match self {
            Self::Boolean | Self::U8 | Self::Octet | Self::I8 | Self::Char => 1,
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
            | Self::Bitmask(Bitmask { name, .. })
            | Self::Bitset(Bitset { name, .. })
            | Self::Alias(Alias { name, .. }) => name,
        }
    }

    /// How far the type may change; `None` for what is no type of topics.
    pub const fn extensibility(&self) -> Option<Extensibility> {
        match self {
            Self::Struct(Struct { extensibility, .. }) | Self::Union(Union { extensibility, .. }) => {
                Some(*extensibility)
            }
            Self::Enumeration(_) | Self::Bitmask(_) | Self::Bitset(_) | Self::Alias(_) => None,
        }
    }

    /// True if samples belong to instances.
    pub fn has_key(&self) -> bool {
        match self {
            Self::Struct(structure) => structure.members.iter().any(|member| member.key),
            Self::Union(union) => union.key_is_discriminator,
            Self::Enumeration(_) | Self::Bitmask(_) | Self::Bitset(_) | Self::Alias(_) => false,
        }
    }
}

impl Struct {
    /// A structure of types that `schema` has.
    pub fn new(
        schema: &Schema,
        name: String,
        extensibility: Extensibility,
        base: Option<TypeIndex>,
        members: Vec<Member>,
    ) -> Self {
        let cost = size::of_struct(schema, extensibility, &members);
        Self { name, extensibility, base, remarks: Remarks::default(), members, cost }
    }

    /// A structure that is declared, and described later.
    pub fn open(name: String) -> Self {
        Self {
            name,
            extensibility: Extensibility::Final,
            base: None,
            remarks: Remarks::default(),
            members: Vec::new(),
            cost: Cost::OPEN,
        }
    }

    /// The members that are not those of the base.
    pub fn own_members(&self, schema: &Schema) -> &[Member] {
        let inherited = match self.base.and_then(|base| schema.get(base)) {
            Some(Definition::Struct(base)) => base.members.len(),
            _ => 0,
        };
        self.members.get(inherited..).unwrap_or_default()
    }
}

impl Union {
    /// A union of types that `schema` has; `declared` is the type of the discriminator.
    pub fn new(
        schema: &Schema,
        name: String,
        extensibility: Extensibility,
        declared: Type,
        key_is_discriminator: bool,
        cases: Vec<Case>,
    ) -> Self {
        let discriminator = schema.plain(&declared);
        let cost = size::of_union(schema, extensibility, &discriminator, key_is_discriminator, &cases);
        let remarks = Remarks::default();
        Self { name, extensibility, discriminator, declared, remarks, key_is_discriminator, cases, cost }
    }

    /// The case that a value of the discriminator means.
    pub fn case(&self, discriminator: i64) -> Option<usize> {
        let labelled = self.cases.iter().position(|case| case.labels.contains(&discriminator));
        labelled.or_else(|| self.cases.iter().position(|case| case.default))
    }
}

/// Elements of an array.
pub fn length(dimensions: &[u32]) -> usize {
    dimensions.iter().fold(1, |product: usize, dimension| product.saturating_mul(*dimension as usize))
}

/// Collections of these have no DHEADER.
pub const fn is_primitive(ty: &Type) -> bool {
    matches!(ty, Type::Primitive(_))
}

/// Collections of these are kept as bytes.
pub const fn is_octets(ty: &Type) -> bool {
    matches!(ty, Type::Primitive(Primitive::U8 | Primitive::Octet))
}
