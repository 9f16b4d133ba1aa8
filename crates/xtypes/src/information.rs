//! What an endpoint says about its type when it is announced (XTypes 1.3, 7.6.3.2.1).
use alloc::vec::Vec;

use derive::DdsType;
use wire::cdr::{CdrType, DecodeError, Decoder, EncodeError, Scope};

use crate::identifier::{Component, ComponentId, Hash, TypeIdentifier};
use crate::object::{ENCODING, serialize};

/// What an endpoint says about its type.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
#[dds(mutable)]
pub struct TypeInformation {
    /// By minimal type objects.
    #[dds(id = 0x1001)]
    pub minimal: Dependencies,
    /// By complete type objects.
    #[dds(id = 0x1002)]
    pub complete: Dependencies,
}

/// A type, and the types that its type object needs.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
pub struct Dependencies {
    /// The type.
    pub ty: IdentifierWithSize,
    /// How many others it needs, -1 if that is not said.
    pub count: i32,
    /// The others, or some of them.
    pub others: Vec<IdentifierWithSize>,
}

/// A type and the size of its type object.
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
pub struct IdentifierWithSize {
    /// The type.
    pub ty: TypeIdentifier,
    /// Bytes of its serialized type object.
    pub size: u32,
}

impl TypeInformation {
    /// The bytes of it, without encapsulation header, as the parameter TYPE_INFORMATION has them.
    ///
    /// # Errors
    /// Identifiers are nested deeper than values may be.
    pub fn serialize(&self) -> Result<Vec<u8>, EncodeError> {
        serialize(self)
    }

    /// Reads what the parameter TYPE_INFORMATION has.
    ///
    /// # Errors
    /// The bytes are no type information.
    pub fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(&mut Decoder::new(bytes, ENCODING, Scope::Data))
    }

    /// The hash of the minimal type object, or that of all types which contain it and are contained in it; `None` if it is not said, as by peers that announce complete type objects alone.
    pub const fn minimal_hash(&self) -> Option<&Hash> {
        match &self.minimal.ty.ty {
            TypeIdentifier::Minimal(hash)
            | TypeIdentifier::Component(Component { component: ComponentId::Minimal(hash), .. }) => {
                Some(hash)
            }
            _ => None,
        }
    }
}
