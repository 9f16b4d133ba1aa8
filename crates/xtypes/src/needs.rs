//! Which type objects others need.
use alloc::vec::Vec;

use crate::identifier::TypeIdentifier;
use crate::library::{Library, ObjectId};
use crate::object::TypeObject;
use crate::shape::Shape;
use wire::sorted::{SortedSet, sort_by};

/// Most type objects of one type: what needs more is as if it could not be had.
const MOST: usize = 4_096;
/// How deep identifiers are in each other.
const MAX_DEPTH: usize = 64;

/// The type objects that a type needs, its own included, and that the library does not have; not necessarily all of them.
pub(crate) fn needs(library: &Library, of: ObjectId) -> Vec<ObjectId> {
    let mut seen = SortedSet::from_iter([of]);
    let (mut next, mut missing) = (Vec::from([of]), Vec::new());
    while let Some(id) = next.pop() {
        if library.get(&id).is_none() || seen.len() > MOST {
            missing.push(id);
            // Those that contain it are known together.
            missing.extend(id.together().filter(|other| seen.insert(*other)));
            continue;
        }
        next.extend(parts(library, id).into_iter().filter(|part| seen.insert(*part)));
    }
    // Those that are known together stay so where some are asked for.
    sort_by(&mut missing, ObjectId::cmp);
    missing
}

/// The type objects that a type object names.
pub(crate) fn parts(library: &Library, of: ObjectId) -> Vec<ObjectId> {
    let mut found = Vec::new();
    let object = library.get(&of).and_then(|object| TypeObject::read(object).ok());
    match object.map(Shape::from) {
        Some(Shape::Alias(of)) => add(&of, &mut found, 0),
        Some(Shape::Struct(of)) => {
            add(&of.base, &mut found, 0);
            of.members.iter().for_each(|member| add(&member.ty, &mut found, 0));
        }
        Some(Shape::Union(of)) => {
            add(&of.discriminator, &mut found, 0);
            of.cases.iter().for_each(|case| add(&case.ty, &mut found, 0));
        }
        Some(Shape::Enumeration(_) | Shape::Bitmask { .. } | Shape::Bitset(_)) | None => {}
    }
    found
}

fn add(identifier: &TypeIdentifier, found: &mut Vec<ObjectId>, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    let mut inner = |part: &TypeIdentifier| add(part, found, depth + 1);
    match identifier {
        TypeIdentifier::Sequence(of) => inner(&of.element),
        TypeIdentifier::LargeSequence(of) => inner(&of.element),
        TypeIdentifier::Array(of) => inner(&of.element),
        TypeIdentifier::LargeArray(of) => inner(&of.element),
        TypeIdentifier::Map(of) => [&of.key, &of.element].into_iter().for_each(|part| inner(part)),
        TypeIdentifier::LargeMap(of) => [&of.key, &of.element].into_iter().for_each(|part| inner(part)),
        _ => found.extend(ObjectId::of(identifier)),
    }
}
