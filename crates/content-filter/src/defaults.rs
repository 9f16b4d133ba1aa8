//! The fields of what a payload does not have: those of a value that was not sent (XTypes 1.3, table 9).
use wire::schema::{Definition, Member, Primitive, Struct, Type, Union};

use crate::integers::label_value;
use crate::paths::{DISCRIMINATOR, Node};
use crate::walk::{Found, Part, Walk, key};

impl<'w> Walk<'w> {
    /// The fields of a structure that is not there: each is what a reader gets for it.
    pub(crate) fn absent_members(&self, part: Part<'w>, of: &'w Struct) {
        for (at, member) in of.members.iter().enumerate() {
            self.absent(part.inside(&member.ty, key(at)), member);
        }
    }

    /// The fields of a part that comes after all are those that it has.
    pub(crate) fn forget(&self, node: &Node) {
        if let Some(place) = node.slot.and_then(|slot| usize::try_from(slot).ok())
            && let Some(found) = self.out.borrow_mut().found.get_mut(place)
        {
            *found = None;
        }
        node.children.iter().for_each(|(_, child)| self.forget(child));
    }

    /// A member that the writer did not send.
    pub(crate) fn absent(&self, part: Part<'w>, member: &Member) {
        if !member.optional {
            self.default(part);
        }
    }

    /// The fields of a value that was not sent (XTypes 1.3, table 9).
    pub(crate) fn default(&self, part: Part<'w>) {
        let Some(node) = part.node else { return };
        match part.ty {
            Type::Primitive(kind) => self.set(part, || Some(zero(*kind))),
            Type::Text(_) => self.set(part, || Some(Found::Text(0, 0))),
            Type::WideText(_) => self.set(part, || Some(Found::Wide(0, 0))),
            Type::Sequence(..) | Type::Map(..) => {}
            Type::Array(element, _) => {
                for (_, child) in &node.children {
                    self.default(Part { ty: element, node: Some(child), is_last: false });
                }
            }
            Type::Named(index) => match self.schema.get(*index) {
                Some(Definition::Struct(of)) => self.absent_members(part, of),
                Some(Definition::Union(of)) => {
                    let label = self.default_label(of);
                    if let Some(child) = node.child(DISCRIMINATOR) {
                        let inside = Part { ty: &of.discriminator, node: Some(child), is_last: false };
                        self.set(inside, || label_value(&of.discriminator, label));
                    }
                    if let Some((at, case)) =
                        of.case(label).and_then(|at| of.cases.get(at).map(|case| (at, case)))
                    {
                        self.default(part.inside(&case.ty, key(at)));
                    }
                }
                Some(Definition::Enumeration(of)) => self.set(part, || Some(Found::Enumeration(of.default))),
                Some(Definition::Bitmask(_)) => self.set(part, || Some(Found::Unsigned(0))),
                Some(Definition::Bitset(of)) => self.bitset(part, of, 0),
                Some(Definition::Alias(of)) => self.default(Part { ty: &of.plain, ..part }),
                None => {}
            },
        }
    }

    /// The discriminator of a union that was not sent.
    pub(crate) fn default_label(&self, of: &Union) -> i64 {
        of.cases.first().and_then(|case| case.labels.first()).copied().unwrap_or(0)
    }
}

const fn zero(kind: Primitive) -> Found {
    match kind {
        Primitive::Boolean => Found::Boolean(false),
        Primitive::Char | Primitive::WideChar => Found::Char('\0'),
        Primitive::F32 | Primitive::F64 => Found::Float(0.0),
        Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 => Found::Signed(0),
        Primitive::U8 | Primitive::Octet | Primitive::U16 | Primitive::U32 | Primitive::U64 => {
            Found::Unsigned(0)
        }
    }
}
