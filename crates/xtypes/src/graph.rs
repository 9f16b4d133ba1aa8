//! Which types of a schema contain each other: strongly connected components, by Tarjan's algorithm.
use alloc::vec::Vec;

use wire::schema::{Definition, Schema, Type, TypeIndex};
use wire::sorted::SortedMap;

/// How long a chain of types may be.
const MAX_DEPTH: usize = 256;

/// The types that `root` needs and that contain themselves, those together that contain each other; `None` if types are in each other too
/// deep, or not of the schema.
pub(crate) fn components(schema: &Schema, root: TypeIndex) -> Option<Vec<Vec<TypeIndex>>> {
    let mut search = Search { schema, seen: SortedMap::new(), open: Vec::new(), found: Vec::new() };
    search.visit(root, 0)?;
    Some(search.found)
}

struct Search<'s> {
    schema: &'s Schema,
    /// When a type was seen first, and whether its component is not complete.
    seen: SortedMap<TypeIndex, (usize, bool)>,
    open: Vec<TypeIndex>,
    found: Vec<Vec<TypeIndex>>,
}

impl Search<'_> {
    /// When the first type was seen that this one leads to.
    fn visit(&mut self, at: TypeIndex, depth: usize) -> Option<usize> {
        if depth > MAX_DEPTH {
            return None;
        }
        let own = self.seen.len();
        self.seen.insert(at, (own, true));
        self.open.push(at);
        let (mut first, mut is_own) = (own, false);
        for part in parts(self.schema, at)? {
            is_own |= part == at;
            first = first.min(match self.seen.get(&part) {
                None => self.visit(part, depth + 1)?,
                Some((when, true)) => *when,
                Some((_, false)) => own,
            });
        }
        if first == own {
            let begin = self.open.iter().rposition(|of| *of == at)?;
            let component = self.open.split_off(begin);
            for of in &component {
                self.seen.get_mut(of)?.1 = false;
            }
            if is_own || component.len() > 1 {
                self.found.push(component);
            }
        }
        Some(first)
    }
}

/// The types with names that the type object of one names.
fn parts(schema: &Schema, of: TypeIndex) -> Option<Vec<TypeIndex>> {
    let mut found = Vec::new();
    match schema.get(of)? {
        Definition::Struct(of) => {
            found.extend(of.base);
            of.own_members(schema).iter().for_each(|member| add(&member.declared, &mut found));
        }
        Definition::Union(of) => {
            add(&of.declared, &mut found);
            of.cases.iter().for_each(|case| add(&case.declared, &mut found));
        }
        Definition::Alias(of) => add(&of.declared, &mut found),
        Definition::Enumeration(_) | Definition::Bitmask(_) | Definition::Bitset(_) => {}
    }
    Some(found)
}

fn add(ty: &Type, found: &mut Vec<TypeIndex>) {
    match ty {
        Type::Named(index) => found.push(*index),
        Type::Sequence(element, _) | Type::Array(element, _) => add(element, found),
        Type::Map(key, value, _) => {
            add(key, found);
            add(value, found);
        }
        Type::Primitive(_) | Type::Text(_) | Type::WideText(_) => {}
    }
}
