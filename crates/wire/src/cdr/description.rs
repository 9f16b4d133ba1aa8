//! What types look like, known when compiling: constants, of which [`crate::schema::of`] makes a schema when one is needed.
use super::{CdrType, Extensibility};
pub use crate::schema::{Primitive, TryConstruct};

/// Gives the description of a type: so that types can contain themselves.
pub type Describe = fn() -> Description;

/// The description of a type.
pub const fn describe<T: CdrType>() -> Description {
    T::DESCRIPTION
}

/// A type, as IDL would say it.
#[derive(Clone, Copy, Debug)]
pub enum Description {
    /// It is not described.
    Unknown,
    /// A number, character or boolean.
    Primitive(Primitive),
    /// A string, with its most bytes, if it has a bound.
    Text(Option<u32>),
    /// A wide string, with its most UTF-16 code units, if it has a bound.
    WideText(Option<u32>),
    /// A sequence, with its most elements, if it has a bound.
    Sequence(Describe, Option<u32>),
    /// An array of one dimension; arrays of arrays have several.
    Array(Describe, u32),
    /// A map from keys to values, with its most entries, if it has a bound.
    Map(Describe, Describe, Option<u32>),
    /// A value that is kept elsewhere.
    External(Describe),
    /// A tuple, with its elements.
    Tuple(&'static [Describe]),
    /// A type with a name.
    Named(&'static Named),
}

/// A type with a name.
#[derive(Debug)]
pub struct Named {
    /// Where it is in the program: no other type has the same.
    pub place: &'static str,
    /// Name in the domain.
    pub name: &'static str,
    /// How far it may change.
    pub extensibility: Extensibility,
    /// Ids of members are hashes of their names where nothing else is said.
    pub hash_ids: bool,
    /// It is no type of topics.
    pub nested: bool,
    /// The rest.
    pub body: Body,
}

/// What is behind a name.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// Another type.
    Alias {
        /// The type.
        of: Describe,
        /// Its `u8` are bytes, not numbers.
        octets: bool,
    },
    /// A structure.
    Struct {
        /// The structure that it extends.
        base: Option<Describe>,
        /// Members, those of the base first.
        members: &'static [Member],
    },
    /// A union.
    Union {
        /// Type of the discriminator.
        discriminator: Describe,
        /// It is a byte, not a number.
        octets: bool,
        /// The discriminator alone is the key.
        key: bool,
        /// Cases that have a value.
        cases: &'static [Case],
    },
    /// An enumeration.
    Enumeration {
        /// Bits that its values need, at most.
        bit_bound: u8,
        /// Literals with their values.
        literals: &'static [(&'static str, i64)],
        /// The value of the literal that is said to be the default.
        default: Option<i64>,
    },
    /// A bitmask.
    Bitmask {
        /// Greatest number of flags.
        bit_bound: u8,
        /// Flags that have names, with their positions.
        flags: &'static [(&'static str, u8)],
    },
    /// A bitset.
    Bitset {
        /// Bits of the integer: 8, 16, 32 or 64.
        bits: u8,
        /// Fields that have names, from the least position.
        fields: &'static [Field],
    },
}

/// A field of a bitset.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// Its least significant bit in the integer.
    pub position: u8,
    /// Its bits.
    pub width: u8,
    /// Its type: boolean or an integer.
    pub ty: Primitive,
}

/// A member of a structure.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// What it has in common with cases.
    pub value: Value,
    /// It is part of the key.
    pub key: bool,
    /// It may be absent.
    pub optional: bool,
    /// A receiver that does not know it must not use the sample.
    pub must_understand: bool,
}

/// A case of a union.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What it has in common with members.
    pub value: Value,
    /// Values of the discriminator that mean this case.
    pub labels: &'static [i64],
    /// All other values mean this case too.
    pub default: bool,
}

/// Name, id and type of a member or case.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Name.
    pub name: &'static str,
    /// Member id.
    pub id: u32,
    /// Type.
    pub ty: Describe,
    /// Its bound, if the type has none itself.
    pub bound: Option<u32>,
    /// Its `u8` are bytes, not numbers.
    pub octets: bool,
    /// Its `Box` is of Rust alone: it is not said to be external.
    pub boxed: bool,
    /// What becomes of a value that does not fit.
    pub try_construct: TryConstruct,
}
