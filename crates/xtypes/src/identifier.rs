//! Type identifiers (XTypes 1.3, 7.3.4.2).
use alloc::boxed::Box;
use alloc::vec::Vec;

use derive::DdsType;

/// Octets of an equivalence hash.
pub const HASH_SIZE: usize = 14;

/// The first octets of the MD5 of a serialized type object (XTypes 1.3, 7.3.4.5).
pub type Hash = [u8; HASH_SIZE];

/// Kinds of types, as they are told apart on the wire (XTypes 1.3, annex B).
pub mod kind {
    #![allow(missing_docs)]
    pub const NONE: u8 = 0x00;
    pub const BOOLEAN: u8 = 0x01;
    pub const BYTE: u8 = 0x02;
    pub const INT16: u8 = 0x03;
    pub const INT32: u8 = 0x04;
    pub const INT64: u8 = 0x05;
    pub const UINT16: u8 = 0x06;
    pub const UINT32: u8 = 0x07;
    pub const UINT64: u8 = 0x08;
    pub const FLOAT32: u8 = 0x09;
    pub const FLOAT64: u8 = 0x0a;
    pub const INT8: u8 = 0x0c;
    pub const UINT8: u8 = 0x0d;
    pub const CHAR8: u8 = 0x10;
    pub const CHAR16: u8 = 0x11;
    /// Identified by the hash of a minimal type object; also the kind of such objects.
    pub const EK_MINIMAL: u8 = 0xf1;
    /// Identified by the hash of a complete type object; also the kind of such objects.
    pub const EK_COMPLETE: u8 = 0xf2;
    /// Described in full by the identifier itself.
    pub const EK_BOTH: u8 = 0xf3;
}

/// What identifies a type: the type itself where that is short, otherwise the hash of its type object.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(final, discriminator = "u8")]
pub enum TypeIdentifier {
    /// A primitive type, by its kind; also kinds that are not known here.
    #[dds(default, default = 0)]
    Plain(u8, Nothing),
    /// A string of at most this many octets, 0 for no bound.
    #[dds(case = 0x70)]
    String(SmallString),
    /// A string with a bound above 255.
    #[dds(case = 0x71)]
    LargeString(LargeString),
    /// A wide string of at most this many code units, 0 for no bound.
    #[dds(case = 0x72)]
    WideString(SmallString),
    /// A wide string with a bound above 255.
    #[dds(case = 0x73)]
    LargeWideString(LargeString),
    /// A sequence with a bound of at most 255, 0 for no bound.
    #[dds(case = 0x80)]
    Sequence(SmallSequence),
    /// A sequence with a bound above 255.
    #[dds(case = 0x81)]
    LargeSequence(LargeSequence),
    /// An array whose dimensions are at most 255.
    #[dds(case = 0x90)]
    Array(SmallArray),
    /// An array with a dimension above 255.
    #[dds(case = 0x91)]
    LargeArray(LargeArray),
    /// A map with a bound of at most 255, 0 for no bound.
    #[dds(case = 0xa0)]
    Map(SmallMap),
    /// A map with a bound above 255.
    #[dds(case = 0xa1)]
    LargeMap(LargeMap),
    /// A type of several that contain each other.
    #[dds(case = 0xb0)]
    Component(Component),
    /// The hash of a minimal type object.
    #[dds(case = 0xf1)]
    Minimal(Hash),
    /// The hash of a complete type object.
    #[dds(case = 0xf2)]
    Complete(Hash),
}

/// Nothing follows.
#[derive(DdsType, Clone, Copy, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct Nothing {}

/// Bound of a string.
#[derive(DdsType, Clone, Copy, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct SmallString {
    /// Most units, 0 for no bound.
    pub bound: u8,
}

/// Bound of a string.
#[derive(DdsType, Clone, Copy, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct LargeString {
    /// Most units.
    pub bound: u32,
}

/// What identifiers of collections begin with.
#[derive(DdsType, Clone, Copy, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct CollectionHeader {
    /// Whether the identifier needs type objects, and which: one of the `EK_` of [`kind`].
    pub equivalence: u8,
    /// What becomes of elements that do not fit, and whether they are external.
    pub element_flags: u16,
}

macro_rules! collections {
    ($(#[$doc:meta] $sequence:ident $array:ident $map:ident $bound:ty;)*) => {$(
        #[$doc]
        #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
        #[dds(final)]
        pub struct $sequence {
            /// Beginning.
            pub header: CollectionHeader,
            /// Most elements, 0 for no bound.
            pub bound: $bound,
            /// Type of the elements.
            #[dds(recursive)]
            pub element: Box<TypeIdentifier>,
        }

        #[$doc]
        #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
        #[dds(final)]
        pub struct $array {
            /// Beginning.
            pub header: CollectionHeader,
            /// Elements in each dimension.
            pub dimensions: Vec<$bound>,
            /// Type of the elements.
            #[dds(recursive)]
            pub element: Box<TypeIdentifier>,
        }

        #[$doc]
        #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
        #[dds(final)]
        pub struct $map {
            /// Beginning.
            pub header: CollectionHeader,
            /// Most entries, 0 for no bound.
            pub bound: $bound,
            /// Type of the values.
            #[dds(recursive)]
            pub element: Box<TypeIdentifier>,
            /// What becomes of keys that do not fit, and whether they are external.
            pub key_flags: u16,
            /// Type of the keys.
            #[dds(recursive)]
            pub key: Box<TypeIdentifier>,
        }
    )*};
}

collections! {
    /// A collection with bounds of one octet.
    SmallSequence SmallArray SmallMap u8;
    /// A collection with bounds of four octets.
    LargeSequence LargeArray LargeMap u32;
}

/// The place of a type in a component of types that contain each other.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
pub struct Component {
    /// The hash of the component.
    pub component: ComponentId,
    /// Types of the component.
    pub length: i32,
    /// Which one it is, from 1.
    pub index: i32,
}

/// The hash of a component of types that contain each other.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(final, discriminator = "u8")]
pub enum ComponentId {
    /// Of minimal type objects.
    #[dds(case = 0xf1)]
    Minimal(Hash),
    /// Of complete type objects.
    #[dds(case = 0xf2)]
    Complete(Hash),
}

impl TypeIdentifier {
    /// No type.
    pub const NONE: Self = Self::primitive(kind::NONE);

    /// A primitive type, by its [`kind`].
    pub const fn primitive(kind: u8) -> Self {
        Self::Plain(kind, Nothing {})
    }

    /// Which type objects it needs: one of the `EK_` of [`kind`].
    pub const fn equivalence(&self) -> u8 {
        match self {
            Self::Minimal(_) => kind::EK_MINIMAL,
            Self::Complete(_) => kind::EK_COMPLETE,
            Self::Component(Component { component: ComponentId::Minimal(_), .. }) => kind::EK_MINIMAL,
            Self::Component(_) => kind::EK_COMPLETE,
            Self::Sequence(SmallSequence { header, .. })
            | Self::LargeSequence(LargeSequence { header, .. })
            | Self::Array(SmallArray { header, .. })
            | Self::LargeArray(LargeArray { header, .. })
            | Self::Map(SmallMap { header, .. })
            | Self::LargeMap(LargeMap { header, .. }) => header.equivalence,
            Self::Plain(..)
            | Self::String(_)
            | Self::LargeString(_)
            | Self::WideString(_)
            | Self::LargeWideString(_) => kind::EK_BOTH,
        }
    }
}
