//! What both kinds of type objects say, in one form: what comparing types needs.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::identifier::TypeIdentifier;
use crate::object::{NameHash, TypeObject, complete, flag, minimal};

/// A name: its hash, and the name itself where the type object was a complete one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Label {
    pub(crate) hash: NameHash,
    pub(crate) name: Option<String>,
}

/// A type with a name, other names of it aside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Alias(TypeIdentifier),
    Enumeration(Enumeration),
    Bitmask { bit_bound: u16 },
    Bitset(Vec<Field>),
    Struct(Struct),
    Union(Union),
}

/// How far a type may change; what type objects of enumerations of some vendors leave out counts as appendable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Final,
    Appendable,
    Mutable,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Enumeration {
    pub(crate) change: Change,
    pub(crate) bit_bound: u16,
    pub(crate) literals: Vec<Literal>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Literal {
    pub(crate) value: i32,
    pub(crate) label: Label,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Struct {
    pub(crate) change: Change,
    pub(crate) base: TypeIdentifier,
    pub(crate) members: Vec<Member>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    pub(crate) id: u32,
    pub(crate) flags: u16,
    pub(crate) ty: TypeIdentifier,
    pub(crate) label: Label,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Union {
    pub(crate) change: Change,
    pub(crate) discriminator_flags: u16,
    pub(crate) discriminator: TypeIdentifier,
    pub(crate) cases: Vec<Case>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Case {
    pub(crate) id: u32,
    pub(crate) flags: u16,
    pub(crate) ty: TypeIdentifier,
    pub(crate) labels: Vec<i32>,
    pub(crate) label: Label,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub(crate) position: u16,
    pub(crate) width: u8,
    pub(crate) holder: u8,
    pub(crate) label: Label,
}

impl From<NameHash> for Label {
    fn from(hash: NameHash) -> Self {
        Self { hash, name: None }
    }
}

impl From<crate::object::MemberDetail> for Label {
    fn from(detail: crate::object::MemberDetail) -> Self {
        Self { hash: NameHash::of(&detail.name), name: Some(detail.name) }
    }
}

impl Label {
    /// The name; of a minimal type object, which has none, what else says which member is meant.
    pub(crate) fn or(&self, otherwise: impl fmt::Display) -> String {
        self.name.clone().unwrap_or_else(|| alloc::format!("{otherwise}"))
    }
}

impl Change {
    const fn of(flags: u16) -> Self {
        if flags & flag::FINAL != 0 {
            Self::Final
        } else if flags & flag::MUTABLE != 0 {
            Self::Mutable
        } else {
            Self::Appendable
        }
    }

    /// As IDL says it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Final => "@final",
            Self::Appendable => "@appendable",
            Self::Mutable => "@mutable",
        }
    }
}

impl Member {
    pub(crate) const fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

impl Case {
    pub(crate) const fn is_default(&self) -> bool {
        self.flags & flag::DEFAULT != 0
    }
}

/// The same for both kinds of type objects.
macro_rules! shape {
    ($kind:ident, $object:expr) => {
        match $object {
            $kind::Object::Alias(of) => Shape::Alias(of.body.common.ty),
            $kind::Object::Enumeration(of) => Shape::Enumeration(Enumeration {
                change: Change::of(of.flags),
                bit_bound: of.header.bit_bound,
                literals: of
                    .literals
                    .into_iter()
                    .map(|literal| Literal { value: literal.common.value, label: literal.detail.into() })
                    .collect(),
            }),
            $kind::Object::Bitmask(of) => Shape::Bitmask { bit_bound: of.header.bit_bound },
            $kind::Object::Bitset(of) => Shape::Bitset(
                of.fields
                    .into_iter()
                    .map(|field| Field {
                        position: field.common.position,
                        width: field.common.width,
                        holder: field.common.holder,
                        label: field.detail.into(),
                    })
                    .collect(),
            ),
            $kind::Object::Struct(of) => Shape::Struct(Struct {
                change: Change::of(of.flags),
                base: of.header.base,
                members: of
                    .members
                    .into_iter()
                    .map(|member| Member {
                        id: member.common.id,
                        flags: member.common.flags,
                        ty: member.common.ty,
                        label: member.detail.into(),
                    })
                    .collect(),
            }),
            $kind::Object::Union(of) => Shape::Union(Union {
                change: Change::of(of.flags),
                discriminator_flags: of.discriminator.common.flags,
                discriminator: of.discriminator.common.ty,
                cases: of
                    .cases
                    .into_iter()
                    .map(|case| Case {
                        id: case.common.id,
                        flags: case.common.flags,
                        ty: case.common.ty,
                        labels: case.common.labels,
                        label: case.detail.into(),
                    })
                    .collect(),
            }),
        }
    };
}

impl From<TypeObject> for Shape {
    fn from(object: TypeObject) -> Self {
        match object {
            TypeObject::Minimal(object) => shape!(minimal, object),
            TypeObject::Complete(object) => shape!(complete, object),
        }
    }
}

/// Bits of the integer that holds an enumerator, a bitmask or a bitset.
pub(crate) const fn holder(bit_bound: u16) -> u16 {
    match bit_bound {
        0..=8 => 8,
        9..=16 => 16,
        17..=32 => 32,
        _ => 64,
    }
}
