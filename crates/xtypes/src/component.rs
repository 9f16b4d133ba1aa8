//! Types that contain each other: one hash names them together (XTypes 1.3, 7.3.4.9).
//!
//! Type objects are ordered by the names of their types. In their identifiers for each other the hash is zeros while the common one is made:
//! of their number and the type objects, one behind the other. Cyclone DDS reads the standard so, too.
use alloc::vec::Vec;

use wire::cdr::sink::VecSink;
use wire::cdr::{CdrType, EncodeError, Encoder, Scope};
use wire::md5::md5;

use crate::identifier::{Component, ComponentId, HASH_SIZE, Hash, TypeIdentifier};
use crate::library::ObjectId;
use crate::object::{ENCODING, TypeObject, complete, minimal};

/// Most types in a component: as many as one question asks for.
pub(crate) const MOST: u8 = 64;

/// Stands for a hash that is not known.
pub(crate) const NONE: Hash = [0; HASH_SIZE];

/// The place of a type among those that contain each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// How many there are, 1 to 64.
    pub length: u8,
    /// Which one it is, from 1.
    pub index: u8,
}

impl Place {
    pub(crate) fn of(component: &Component) -> Option<Self> {
        let length = u8::try_from(component.length).ok().filter(|length| (1..=MOST).contains(length))?;
        let index = u8::try_from(component.index).ok().filter(|index| (1..=length).contains(index))?;
        Some(Self { length, index })
    }
}

/// What stands for a type while the hash of its component is not known.
pub(crate) fn placeholder(complete: bool, place: Place) -> TypeIdentifier {
    ObjectId { complete, hash: NONE, place: Some(place) }.identifier()
}

/// The hash of type objects that name each other by [`placeholder`].
pub(crate) fn hash(objects: &[TypeObject]) -> Result<Hash, EncodeError> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(VecSink::new(&mut bytes), ENCODING, Scope::Data);
    encoder.u32(u32::try_from(objects.len()).unwrap_or(u32::MAX))?;
    for object in objects {
        object.encode(&mut encoder)?;
    }
    let digest = md5(&bytes);
    Ok(digest.first_chunk::<HASH_SIZE>().copied().unwrap_or_default())
}

/// Names type objects of types that contain each other, in their order, and renames them where they name each other: as the component with
/// the hash `named`. The identifiers; of more than 64 none.
///
/// # Errors
/// They are nested deeper than values may be.
pub fn name_together(objects: &mut [TypeObject], named: Hash) -> Result<Vec<ObjectId>, EncodeError> {
    objects.iter_mut().for_each(|object| rename(object, named, NONE));
    let common = hash(objects)?;
    let length = u8::try_from(objects.len()).ok().filter(|length| *length <= MOST).unwrap_or(0);
    let ids = objects.iter_mut().zip(1..=length).map(|(object, index)| {
        rename(object, NONE, common);
        let complete = matches!(object, TypeObject::Complete(_));
        ObjectId { complete, hash: common, place: Some(Place { length, index }) }
    });
    Ok(ids.collect())
}

/// True if these are the type objects of a component, in their order; `first` names the first.
pub(crate) fn is(first: ObjectId, objects: &[&[u8]]) -> bool {
    let mut read = Vec::with_capacity(objects.len());
    for object in objects {
        let Ok(mut object) = TypeObject::read(object) else { return false };
        if matches!(object, TypeObject::Complete(_)) != first.complete {
            return false;
        }
        // One that names the others otherwise would have the same hash, too.
        let mut is_open = false;
        identifiers(&mut object, &mut |identifier| is_open |= rename_in(identifier, NONE, NONE));
        if is_open {
            return false;
        }
        rename(&mut object, first.hash, NONE);
        read.push(object);
    }
    hash(&read).is_ok_and(|hash| hash == first.hash)
}

/// Gives the component with the hash `from` another hash where a type object names it.
fn rename(object: &mut TypeObject, from: Hash, to: Hash) {
    identifiers(object, &mut |identifier| {
        rename_in(identifier, from, to);
    });
}

/// True if it is named there.
fn rename_in(identifier: &mut TypeIdentifier, from: Hash, to: Hash) -> bool {
    match identifier {
        TypeIdentifier::Component(Component {
            component: ComponentId::Minimal(hash) | ComponentId::Complete(hash),
            ..
        }) => {
            let is_named = *hash == from;
            if is_named {
                *hash = to;
            }
            is_named
        }
        TypeIdentifier::Sequence(of) => rename_in(&mut of.element, from, to),
        TypeIdentifier::LargeSequence(of) => rename_in(&mut of.element, from, to),
        TypeIdentifier::Array(of) => rename_in(&mut of.element, from, to),
        TypeIdentifier::LargeArray(of) => rename_in(&mut of.element, from, to),
        TypeIdentifier::Map(of) => rename_in(&mut of.key, from, to) | rename_in(&mut of.element, from, to),
        TypeIdentifier::LargeMap(of) => {
            rename_in(&mut of.key, from, to) | rename_in(&mut of.element, from, to)
        }
        _ => false,
    }
}

/// The identifiers in a type object of either kind.
fn identifiers(object: &mut TypeObject, change: &mut impl FnMut(&mut TypeIdentifier)) {
    macro_rules! each {
        ($kind:ident, $object:expr) => {
            match $object {
                $kind::Object::Alias(of) => change(&mut of.body.common.ty),
                $kind::Object::Struct(of) => {
                    change(&mut of.header.base);
                    of.members.iter_mut().for_each(|member| change(&mut member.common.ty));
                }
                $kind::Object::Union(of) => {
                    change(&mut of.discriminator.common.ty);
                    of.cases.iter_mut().for_each(|case| change(&mut case.common.ty));
                }
                $kind::Object::Enumeration(_) | $kind::Object::Bitmask(_) | $kind::Object::Bitset(_) => {}
            }
        };
    }
    match object {
        TypeObject::Minimal(object) => each!(minimal, object),
        TypeObject::Complete(object) => each!(complete, object),
    }
}
