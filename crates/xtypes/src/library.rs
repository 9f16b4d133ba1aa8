//! Type objects by the identifiers that name them.
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::component::{self, Place};
use crate::identifier::{Component, ComponentId, Hash, TypeIdentifier};
use crate::object::hash;
use wire::sorted::{SortedMap, SortedSet};

/// What names a type object: its kind and its equivalence hash, or that of all types which contain each other, and its place there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectId {
    /// Of a complete type object, otherwise of a minimal one.
    pub complete: bool,
    /// The equivalence hash.
    pub hash: Hash,
    /// Its place among types that contain each other.
    pub place: Option<Place>,
}

/// Serialized type objects, each under its identifier.
#[derive(Clone, Debug, Default)]
pub struct Library {
    objects: SortedMap<ObjectId, Arc<[u8]>>,
    bytes: usize,
}

impl ObjectId {
    /// What names the type object of a type; `None` for a type that its identifier describes in full, and for one of more than 64 types that
    /// contain each other.
    pub fn of(identifier: &TypeIdentifier) -> Option<Self> {
        let (complete, hash, place) = match identifier {
            TypeIdentifier::Minimal(hash) => (false, hash, None),
            TypeIdentifier::Complete(hash) => (true, hash, None),
            TypeIdentifier::Component(component) => {
                let place = Some(Place::of(component)?);
                match &component.component {
                    ComponentId::Minimal(hash) => (false, hash, place),
                    ComponentId::Complete(hash) => (true, hash, place),
                }
            }
            _ => return None,
        };
        Some(Self { complete, hash: *hash, place })
    }

    /// The identifier of the type.
    pub const fn identifier(self) -> TypeIdentifier {
        let Some(Place { length, index }) = self.place else {
            return if self.complete {
                TypeIdentifier::Complete(self.hash)
            } else {
                TypeIdentifier::Minimal(self.hash)
            };
        };
        let component =
            if self.complete { ComponentId::Complete(self.hash) } else { ComponentId::Minimal(self.hash) };
        TypeIdentifier::Component(Component { component, length: length as i32, index: index as i32 })
    }

    /// The type and all that contain it and are contained in it, in their order.
    pub fn together(self) -> impl Iterator<Item = Self> {
        let Self { complete, hash, place } = self;
        let length = place.map_or(1, |place| place.length);
        (1..=length).map(move |index| {
            let place = place.map(|_| Place { length, index });
            Self { complete, hash, place }
        })
    }
}

impl Library {
    /// Adds a serialized type object; false if it is not the one that the identifier names, or one of several that are known together alone.
    pub fn add(&mut self, id: ObjectId, object: &[u8]) -> bool {
        !self.add_all([(id, object)]).is_empty()
    }

    /// Adds those serialized type objects that are the ones which their identifiers name; of types that contain each other only all together.
    /// Gives what was added.
    pub fn add_all<'o>(
        &mut self,
        objects: impl IntoIterator<Item = (ObjectId, &'o [u8])>,
    ) -> SortedSet<ObjectId> {
        let objects: SortedMap<ObjectId, &[u8]> = objects.into_iter().collect();
        let mut added = SortedSet::new();
        for (id, object) in objects.iter() {
            let is_right = match id.place {
                None => hash(object) == id.hash,
                // Places begin with 1 and come in their order.
                Some(Place { index: 1, .. }) => {
                    let all: Option<Vec<&[u8]>> = id.together().map(|id| objects.get(&id).copied()).collect();
                    all.is_some_and(|all| component::is(*id, &all))
                }
                Some(_) => id.together().next().is_some_and(|first| added.contains(&first)),
            };
            if is_right {
                added.insert(*id);
                let bytes = &mut self.bytes;
                self.objects.get_or_insert_with(*id, || {
                    *bytes = bytes.saturating_add(object.len());
                    (*object).into()
                });
            }
        }
        added
    }

    /// The serialized type object with this identifier.
    pub fn get(&self, id: &ObjectId) -> Option<&[u8]> {
        self.objects.get(id).map(|object| &**object)
    }

    /// Forgets those that are not named.
    pub fn retain(&mut self, mut keep: impl FnMut(&ObjectId) -> bool) {
        self.objects.retain(|id, _| keep(id));
        self.bytes = self.objects.values().map(|object| object.len()).sum();
    }

    /// Bytes of all type objects.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// All identifiers.
    pub fn ids(&self) -> Vec<ObjectId> {
        self.objects.keys().copied().collect()
    }
}
