//! Type objects by the identifiers that name them.
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::identifier::{Hash, TypeIdentifier};
use crate::object::hash;

/// What names a type object: its kind and its equivalence hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectId {
    /// Of a complete type object, otherwise of a minimal one.
    pub complete: bool,
    /// The equivalence hash.
    pub hash: Hash,
}

/// Serialized type objects, each under its identifier.
#[derive(Clone, Debug, Default)]
pub struct Library {
    objects: BTreeMap<ObjectId, Arc<[u8]>>,
    octets: usize,
}

impl ObjectId {
    /// What names the type object of a type; `None` for a type that its identifier describes in full, and for one of several that contain
    /// each other.
    pub const fn of(identifier: &TypeIdentifier) -> Option<Self> {
        match identifier {
            TypeIdentifier::Minimal(hash) => Some(Self { complete: false, hash: *hash }),
            TypeIdentifier::Complete(hash) => Some(Self { complete: true, hash: *hash }),
            _ => None,
        }
    }

    /// The identifier of the type.
    pub const fn identifier(self) -> TypeIdentifier {
        if self.complete { TypeIdentifier::Complete(self.hash) } else { TypeIdentifier::Minimal(self.hash) }
    }
}

impl Library {
    /// Adds a serialized type object; false if it is not the one that the identifier names.
    pub fn add(&mut self, id: ObjectId, object: &[u8]) -> bool {
        if hash(object) != id.hash {
            return false;
        }
        let octets = &mut self.octets;
        self.objects.entry(id).or_insert_with(|| {
            *octets = octets.saturating_add(object.len());
            object.into()
        });
        true
    }

    /// The serialized type object with this identifier.
    pub fn get(&self, id: &ObjectId) -> Option<&[u8]> {
        self.objects.get(id).map(|object| &**object)
    }

    /// Forgets those that are not named.
    pub fn retain(&mut self, mut keep: impl FnMut(&ObjectId) -> bool) {
        self.objects.retain(|id, _| keep(id));
        self.octets = self.objects.values().map(|object| object.len()).sum();
    }

    /// Octets of all type objects.
    pub const fn octets(&self) -> usize {
        self.octets
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
