//! Which types are in which others, and what follows from it.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use wire::schema::{Definition, Primitive, Schema, Type, TypeIndex};

/// What is to know of the types of a schema before they are written.
pub(super) struct Graph {
    /// Types that contain numbers with a fraction, which are not equal to themselves always.
    floating: BTreeSet<TypeIndex>,
    /// Types that are in keys of maps, and need an order.
    ordered: BTreeSet<TypeIndex>,
    /// Types that contain each other have the same number.
    circle: BTreeMap<TypeIndex, TypeIndex>,
}

type Edges = BTreeMap<TypeIndex, Vec<TypeIndex>>;

impl Graph {
    pub(super) fn of(schema: &Schema) -> Self {
        let (mut inside, mut around): (Edges, Edges) = (BTreeMap::new(), BTreeMap::new());
        let (mut floating, mut keys) = (Vec::new(), Vec::new());
        for (index, definition) in schema.iter() {
            for ty in parts(definition) {
                walk(ty, false, &mut |part, in_key| match part {
                    Type::Named(of) => {
                        inside.entry(index).or_default().push(*of);
                        around.entry(*of).or_default().push(index);
                        if in_key {
                            keys.push(*of);
                        }
                    }
                    Type::Primitive(Primitive::F32 | Primitive::F64) => floating.push(index),
                    _ => {}
                });
            }
        }
        Self {
            floating: reached(floating, &around),
            ordered: reached(keys, &inside),
            circle: circles(schema, &inside, &around),
        }
    }

    /// Some value in it has a fraction.
    pub(super) fn is_floating(&self, ty: &Type) -> bool {
        let mut found = false;
        walk(ty, false, &mut |part, _| match part {
            Type::Named(index) => found |= self.floating.contains(index),
            Type::Primitive(Primitive::F32 | Primitive::F64) => found = true,
            _ => {}
        });
        found
    }

    pub(super) fn is_ordered(&self, index: TypeIndex) -> bool {
        self.ordered.contains(&index)
    }

    /// A value of the type can contain one of the type at `owner`, which has a member of the type.
    pub(super) fn is_recursive(&self, owner: TypeIndex, ty: &Type) -> bool {
        let mut found = false;
        walk(ty, false, &mut |part, _| {
            if let Type::Named(index) = part {
                found |= self.circle.get(index) == self.circle.get(&owner);
            }
        });
        found
    }
}

/// The types that a definition is made of.
fn parts(definition: &Definition) -> Vec<&Type> {
    match definition {
        Definition::Struct(of) => of.members.iter().map(|member| &member.declared).collect(),
        Definition::Union(of) => {
            of.cases.iter().map(|case| &case.declared).chain(core::iter::once(&of.declared)).collect()
        }
        Definition::Alias(of) => Vec::from([&of.declared]),
        Definition::Enumeration(_) | Definition::Bitmask(_) | Definition::Bitset(_) => Vec::new(),
    }
}

/// Calls `visit` for a type and the types in it that have no name, and says whether they are in a key of a map.
pub(super) fn walk<'t>(ty: &'t Type, in_key: bool, visit: &mut impl FnMut(&'t Type, bool)) {
    visit(ty, in_key);
    match ty {
        Type::Sequence(element, _) | Type::Array(element, _) => walk(element, in_key, visit),
        Type::Map(key, value, _) => {
            walk(key, true, visit);
            walk(value, in_key, visit);
        }
        Type::Primitive(_) | Type::Text(_) | Type::WideText(_) | Type::Named(_) => {}
    }
}

/// Those from which the edges begin, and all to which they lead.
fn reached(mut open: Vec<TypeIndex>, edges: &Edges) -> BTreeSet<TypeIndex> {
    let mut found = BTreeSet::new();
    while let Some(index) = open.pop() {
        if found.insert(index) {
            open.extend(edges.get(&index).into_iter().flatten());
        }
    }
    found
}

/// For each type one of those that it contains and that contain it: the algorithm of Kosaraju.
fn circles(schema: &Schema, inside: &Edges, around: &Edges) -> BTreeMap<TypeIndex, TypeIndex> {
    let edges =
        |edges: &Edges, of: TypeIndex, at: usize| edges.get(&of).and_then(|found| found.get(at)).copied();
    let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
    for (root, _) in schema.iter() {
        let mut open = Vec::from([(root, 0)]);
        if !seen.insert(root) {
            continue;
        }
        while let Some((index, at)) = open.pop() {
            match edges(inside, index, at) {
                Some(next) => {
                    open.push((index, at + 1));
                    if seen.insert(next) {
                        open.push((next, 0));
                    }
                }
                None => order.push(index),
            }
        }
    }
    let mut circle = BTreeMap::new();
    for root in order.into_iter().rev() {
        let mut open = Vec::from([root]);
        while let Some(index) = open.pop() {
            if let alloc::collections::btree_map::Entry::Vacant(place) = circle.entry(index) {
                place.insert(root);
                open.extend(around.get(&index).into_iter().flatten());
            }
        }
    }
    circle
}
