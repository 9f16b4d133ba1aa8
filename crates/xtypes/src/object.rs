//! Type objects (XTypes 1.3, 7.3.4.3 and annex B): minimal ones decide whether types fit, complete ones have names too.
use alloc::string::String;
use alloc::vec::Vec;

use derive::DdsType;
use wire::cdr::sink::VecSink;
use wire::cdr::{CdrType, DecodeError, Decoder, EncodeError, Encoder, Encoding, Representation, Scope};
use wire::cursor::Endianness;
use wire::md5::md5;

use crate::identifier::{HASH_SIZE, Hash, Nothing, TypeIdentifier};

/// Flags of types and of their parts (XTypes 1.3, annex B).
pub mod flag {
    /// A value that does not fit discards what it is a part of.
    pub const TRY_CONSTRUCT_DISCARD: u16 = 1 << 0;
    /// A value that does not fit is replaced by the default.
    pub const TRY_CONSTRUCT_USE_DEFAULT: u16 = 1 << 1;
    /// A value that does not fit is cut.
    pub const TRY_CONSTRUCT_TRIM: u16 = TRY_CONSTRUCT_DISCARD | TRY_CONSTRUCT_USE_DEFAULT;
    /// The member is kept outside.
    pub const EXTERNAL: u16 = 1 << 2;
    /// The member may be absent.
    pub const OPTIONAL: u16 = 1 << 3;
    /// A receiver that does not know the member must not use the sample.
    pub const MUST_UNDERSTAND: u16 = 1 << 4;
    /// The member is part of the key.
    pub const KEY: u16 = 1 << 5;
    /// The case or literal is the default.
    pub const DEFAULT: u16 = 1 << 6;
    /// Of a type: it cannot change.
    pub const FINAL: u16 = 1 << 0;
    /// Of a type: it can get more members at its end.
    pub const APPENDABLE: u16 = 1 << 1;
    /// Of a type: it can change.
    pub const MUTABLE: u16 = 1 << 2;
    /// Of a type: it is no type of topics.
    pub const NESTED: u16 = 1 << 3;
    /// Of a type: ids of members are hashes of their names.
    pub const AUTOID_HASH: u16 = 1 << 4;
}

/// A type object.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(appendable, discriminator = "u8")]
pub enum TypeObject {
    /// With hashes in the place of names.
    #[dds(case = 0xf1)]
    Minimal(minimal::Object),
    /// With names.
    #[dds(case = 0xf2)]
    Complete(complete::Object),
}

/// Type, id and flags of a structure's member.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct CommonMember {
    /// Member id.
    pub id: u32,
    /// Flags.
    pub flags: u16,
    /// Type.
    pub ty: TypeIdentifier,
}

/// Type, id, labels and flags of a case.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct CommonCase {
    /// Member id.
    pub id: u32,
    /// Flags.
    pub flags: u16,
    /// Type.
    pub ty: TypeIdentifier,
    /// Values of the discriminator, from the least.
    pub labels: Vec<i32>,
}

/// A type and flags: of a discriminator, of what another name stands for.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct Related {
    /// Flags.
    pub flags: u16,
    /// Type.
    pub ty: TypeIdentifier,
}

/// Value and flags of a literal.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
pub struct CommonLiteral {
    /// Value.
    pub value: i32,
    /// Flags.
    pub flags: u16,
}

/// Position and flags of a flag of a bitmask.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct CommonBit {
    /// Position, from the least significant bit.
    pub position: u16,
    /// Flags.
    pub flags: u16,
}

/// Position, width and type of a field of a bitset.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct CommonField {
    /// Position of its least significant bit.
    pub position: u16,
    /// Flags; none is used.
    pub flags: u16,
    /// Its bits.
    pub width: u8,
    /// Kind of its type: boolean or an integer.
    pub holder: u8,
}

/// The hash of a name: the first octets of its MD5.
#[derive(DdsType, Clone, Copy, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct NameHash {
    /// The octets.
    pub octets: [u8; 4],
}

/// Annotations, which are skipped: they change nothing that is decided here.
#[derive(DdsType, Clone, Copy, PartialEq, Eq, Debug)]
pub struct Skipped {}

/// Annotations of a member or type.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct Annotations {
    /// Those of the standard.
    pub builtin: Option<Skipped>,
    /// Those that users describe.
    pub custom: Option<Vec<Skipped>>,
}

/// Name and annotations of a member.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct MemberDetail {
    /// Name.
    pub name: String,
    /// Annotations.
    pub annotations: Annotations,
}

/// Name and annotations of a type.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(final)]
pub struct TypeDetail {
    /// Annotations.
    pub annotations: Annotations,
    /// Name with its modules.
    pub name: String,
}

/// The structures of type objects, which differ in what is said of types, of members, and besides.
macro_rules! objects {
    ($(#[$doc:meta])* $name:ident: $of_type:ident, $of_member:ident, $besides:ident) => {
        $(#[$doc])*
        pub mod $name {
            use alloc::vec::Vec;

            use derive::DdsType;

            #[allow(unused_imports, reason = "one of the two needs fewer")]
            use super::{
                Annotations, CommonBit, CommonCase, CommonField, CommonLiteral, CommonMember, MemberDetail,
                NameHash, Nothing, Related, TypeDetail, TypeIdentifier,
            };

            /// A type.
            #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
            #[dds(final, discriminator = "u8")]
            pub enum Object {
                /// Another name.
                #[dds(case = 0x30)]
                Alias(Alias),
                /// An enumeration.
                #[dds(case = 0x40)]
                Enumeration(Enumeration),
                /// A bitmask.
                #[dds(case = 0x41)]
                Bitmask(Bitmask),
                /// A structure.
                #[dds(case = 0x51)]
                Struct(Struct),
                /// A union.
                #[dds(case = 0x52)]
                Union(Union),
                /// A bitset.
                #[dds(case = 0x53)]
                Bitset(Bitset),
            }

            /// Another name for a type.
            #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
            #[dds(final)]
            pub struct Alias {
                /// Flags; none is used.
                pub flags: u16,
                /// What is said of the name.
                pub header: Header,
                /// What it stands for.
                pub body: Body,
            }

            /// What is said of a type.
            #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
            pub struct Header {
                /// Name and annotations.
                pub detail: $of_type,
            }

            /// A type in another one, without name.
            #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
            pub struct Body {
                /// The type.
                pub common: Related,
                /// Annotations.
                pub besides: $besides,
            }

            /// A structure.
            #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
            #[dds(final)]
            pub struct Struct {
                /// Extensibility and other flags.
                pub flags: u16,
                /// Base and name.
                pub header: StructHeader,
                /// Members, as they were declared, without those of the base.
                pub members: Vec<Member>,
            }

            /// What a structure begins with.
            #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
            pub struct StructHeader {
                /// The structure that it extends; `NONE` without.
                pub base: TypeIdentifier,
                /// Name and annotations.
                pub detail: $of_type,
            }

            /// A member.
            #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
            pub struct Member {
                /// Type, id, flags.
                pub common: CommonMember,
                /// Name.
                pub detail: $of_member,
            }

            /// A union.
            #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
            #[dds(final)]
            pub struct Union {
                /// Extensibility and other flags.
                pub flags: u16,
                /// Name and annotations.
                pub header: Header,
                /// Discriminator.
                pub discriminator: Body,
                /// Cases, as they were declared.
                pub cases: Vec<Case>,
            }

            /// A case.
            #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
            pub struct Case {
                /// Type, id, labels, flags.
                pub common: CommonCase,
                /// Name.
                pub detail: $of_member,
            }

            /// What enumerations and bitmasks begin with.
            #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
            pub struct BitHeader {
                /// Bits.
                pub bit_bound: u16,
                /// Name and annotations.
                pub detail: $of_type,
            }

            /// An enumeration.
            #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
            #[dds(final)]
            pub struct Enumeration {
                /// Flags.
                pub flags: u16,
                /// Bits and name.
                pub header: BitHeader,
                /// Literals, from the least value.
                pub literals: Vec<Literal>,
            }

            /// A literal.
            #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
            pub struct Literal {
                /// Value and flags.
                pub common: CommonLiteral,
                /// Name.
                pub detail: $of_member,
            }

            /// A bitmask.
            #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
            pub struct Bitmask {
                /// Flags.
                pub flags: u16,
                /// Bits and name.
                pub header: BitHeader,
                /// Flags, from the least position.
                pub bits: Vec<Bit>,
            }

            /// A flag of a bitmask.
            #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
            pub struct Bit {
                /// Position.
                pub common: CommonBit,
                /// Name.
                pub detail: $of_member,
            }

            /// A bitset.
            #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
            pub struct Bitset {
                /// Flags; none is used.
                pub flags: u16,
                /// Name.
                pub header: Header,
                /// Fields that have a name, from the least position.
                pub fields: Vec<Field>,
            }

            /// A field of a bitset.
            #[derive(DdsType, Clone, PartialEq, Eq, Debug)]
            pub struct Field {
                /// Position, width, type.
                pub common: CommonField,
                /// Name.
                pub detail: $of_member,
            }
        }
    };
}

objects! {
    /// Type objects with hashes in the place of names.
    minimal: Nothing, NameHash, Nothing
}

objects! {
    /// Type objects with names.
    complete: TypeDetail, MemberDetail, Annotations
}

/// What type objects and all around them are encoded in: XCDR version 2, little endian (XTypes 1.3, 7.3.4.5).
pub(crate) const ENCODING: Encoding =
    Encoding { representation: Representation::Xcdr2, endianness: Endianness::Little };

impl TypeObject {
    /// The octets of it, without encapsulation header.
    ///
    /// # Errors
    /// It is nested deeper than values may be.
    pub fn serialize(&self) -> Result<Vec<u8>, EncodeError> {
        serialize(self)
    }

    /// Reads a type object that fills `bytes`.
    ///
    /// # Errors
    /// The octets are none, or of a kind that is not known here.
    pub fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(&mut Decoder::new(bytes, ENCODING, Scope::Data))
    }
}

impl NameHash {
    /// The hash of a name.
    pub fn of(name: &str) -> Self {
        let [a, b, c, d, ..] = md5(name.as_bytes());
        Self { octets: [a, b, c, d] }
    }
}

pub(crate) fn serialize(value: &impl CdrType) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    value.encode(&mut Encoder::new(VecSink::new(&mut bytes), ENCODING, Scope::Data))?;
    Ok(bytes)
}

/// The equivalence hash of a serialized type object.
pub fn hash(serialized: &[u8]) -> Hash {
    let digest = md5(serialized);
    digest.first_chunk::<HASH_SIZE>().copied().unwrap_or_default()
}
