//! The fields that an expression names: resolved in the description of a type, and put together to one tree.
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt::Write;

use filter::{Field, Kind, Path, Step};
use wire::schema::{Definition, Primitive, Schema, Type, TypeIndex, length};

/// The description of the type of samples.
#[derive(Clone, Debug)]
pub struct SampleType {
    pub(crate) schema: Arc<Schema>,
    pub(crate) index: TypeIndex,
}

/// A part of samples in which fields lie that are wanted.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// It is such a field itself, with this number.
    pub(crate) slot: Option<u32>,
    /// Sorted by [`key`](Node::child): the position of a member, case or bit field, the index of an element, or [`DISCRIMINATOR`].
    pub(crate) children: Vec<(u32, Node)>,
}

/// The key of the discriminator of a union.
pub(crate) const DISCRIMINATOR: u32 = u32::MAX;
/// How it is named in expressions, unless a case has this name.
const DISCRIMINATOR_NAME: &str = "_d";

impl Node {
    /// The wanted fields of a part.
    pub(crate) fn child(&self, key: u32) -> Option<&Self> {
        let at = self.children.binary_search_by_key(&key, |(known, _)| *known).ok()?;
        self.children.get(at).map(|(_, node)| node)
    }

    /// The greatest key.
    pub(crate) fn last_key(&self) -> Option<u32> {
        self.children.last().map(|(key, _)| *key)
    }

    fn child_mut(&mut self, key: u32) -> Option<&mut Self> {
        let at = match self.children.binary_search_by_key(&key, |(known, _)| *known) {
            Ok(at) => at,
            Err(at) => {
                self.children.insert(at, (key, Self::default()));
                at
            }
        };
        self.children.get_mut(at).map(|(_, node)| node)
    }
}

impl SampleType {
    /// Samples of a type of a schema.
    pub const fn new(schema: Arc<Schema>, index: TypeIndex) -> Self {
        Self { schema, index }
    }

    /// The fields that can be named, of a type or of its members, up to so many: for errors.
    pub fn names(&self, most: usize) -> String {
        let mut names = String::new();
        let members = match self.schema.get(self.index) {
            Some(Definition::Struct(of)) => of.members.iter().map(|member| member.name.as_str()).collect(),
            Some(Definition::Union(of)) => of.cases.iter().map(|case| case.name.as_str()).collect(),
            _ => Vec::new(),
        };
        for (at, name) in members.iter().take(most).enumerate() {
            let _ = write!(names, "{}{name}", if at == 0 { "" } else { ", " });
        }
        if members.len() > most {
            names.push_str(", ...");
        }
        names
    }
}

/// The fields of a type, as expressions are compiled.
pub(crate) struct Fields<'a> {
    ty: &'a SampleType,
    found: RefCell<Found>,
}

/// The part that the path has named so far.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) root: Node,
    pub(crate) slots: u32,
    /// By the number that an enumeration is called by.
    enumerations: Vec<TypeIndex>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(ty: &'a SampleType) -> Self {
        Self { ty, found: RefCell::default() }
    }

    pub(crate) fn into_found(self) -> Found {
        self.found.into_inner()
    }

    /// From the outermost part to the innermost, and the type of that.
    fn resolve(&self, path: Path<'_>) -> Option<(Vec<u32>, Type)> {
        let schema = &*self.ty.schema;
        let (mut keys, mut ty) = (Vec::new(), Type::Named(self.ty.index));
        let mut steps = path.steps();
        while let Some(step) = steps.next() {
            let (key, of) = match (step, &ty) {
                (Step::Member(name), Type::Named(index)) => match schema.get(*index)? {
                    Definition::Struct(of) => {
                        let at = of.members.iter().position(|member| member.name == name)?;
                        (u32::try_from(at).ok()?, of.members.get(at)?.ty.clone())
                    }
                    Definition::Union(of) => match of.cases.iter().position(|case| case.name == name) {
                        Some(at) => (u32::try_from(at).ok()?, of.cases.get(at)?.ty.clone()),
                        None if name == DISCRIMINATOR_NAME => (DISCRIMINATOR, of.discriminator.clone()),
                        None => return None,
                    },
                    Definition::Bitset(of) => {
                        let at = of.fields.iter().position(|field| field.name == name)?;
                        (u32::try_from(at).ok()?, Type::Primitive(of.fields.get(at)?.ty))
                    }
                    _ => return None,
                },
                (Step::Element(at), Type::Sequence(element, _)) => (at, Type::clone(element)),
                (Step::Element(at), Type::Array(element, dimensions)) => {
                    // One index for each dimension; the elements lie one after the other.
                    let mut flat =
                        usize::try_from(at).ok().filter(|_| at < *dimensions.first().unwrap_or(&0))?;
                    for dimension in dimensions.iter().skip(1) {
                        let Some(Step::Element(at)) = steps.next() else { return None };
                        if at >= *dimension {
                            return None;
                        }
                        flat = flat.checked_mul(*dimension as usize)?.checked_add(at as usize)?;
                    }
                    (u32::try_from(flat).ok().filter(|_| flat < length(dimensions))?, Type::clone(element))
                }
                _ => return None,
            };
            keys.push(key);
            ty = schema.plain(&of);
        }
        Some((keys, ty))
    }
}

impl filter::Schema for Fields<'_> {
    fn field(&self, path: Path<'_>) -> Option<Field> {
        let (keys, ty) = self.resolve(path)?;
        let mut found = self.found.borrow_mut();
        let kind = match ty {
            Type::Primitive(primitive) => match primitive {
                Primitive::Boolean => Kind::Boolean,
                Primitive::F32 | Primitive::F64 => Kind::Float,
                Primitive::Char | Primitive::WideChar => Kind::Char,
                _ => Kind::Integer,
            },
            Type::Text(_) | Type::WideText(_) => Kind::String,
            Type::Named(index) => match self.ty.schema.get(index)? {
                Definition::Enumeration(_) => {
                    let known = found.enumerations.iter().position(|known| *known == index);
                    let number = known.unwrap_or(found.enumerations.len());
                    if known.is_none() {
                        found.enumerations.push(index);
                    }
                    Kind::Enumeration(u32::try_from(number).ok()?)
                }
                Definition::Bitmask(_) => Kind::Integer,
                _ => return None,
            },
            _ => return None,
        };
        let next = found.slots;
        let mut node = &mut found.root;
        for key in keys {
            node = node.child_mut(key)?;
        }
        let slot = *node.slot.get_or_insert(next);
        found.slots = next.max(slot + 1);
        Some(Field { slot, kind })
    }

    fn label(&self, enumeration: u32, name: &str) -> Option<i64> {
        let found = self.found.borrow();
        let index = found.enumerations.get(usize::try_from(enumeration).ok()?)?;
        let Definition::Enumeration(of) = self.ty.schema.get(*index)? else { return None };
        of.literals.iter().find(|(literal, _)| literal == name).map(|(_, value)| *value)
    }
}
