//! Instances by key, by handle, and by a number that stays the same.
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Bound;

use crate::InstanceHandle;

/// Number of an instance in its table; used again after the instance is gone.
pub(crate) type Slot = u32;

#[derive(Debug)]
pub(crate) struct Entry<I> {
    /// Canonical bytes of the key: the identity.
    pub(crate) key: Arc<[u8]>,
    pub(crate) handle: InstanceHandle,
    pub(crate) state: I,
}

/// Keys decide which instance it is; a digest is computed once per instance, and two keys with one digest are told apart.
#[derive(Debug)]
pub(crate) struct InstanceTable<I> {
    slots: Vec<Option<Entry<I>>>,
    free: Vec<Slot>,
    by_key: BTreeMap<Arc<[u8]>, Slot>,
    /// The instance with the empty key. It is not looked for in the tree: to compare no bytes at an address without memory takes some
    /// processors a hundred times as long as to compare some.
    keyless: Option<Slot>,
    by_handle: BTreeMap<InstanceHandle, Slot>,
}

impl<I> InstanceTable<I> {
    pub(crate) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_key: BTreeMap::new(),
            keyless: None,
            by_handle: BTreeMap::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_handle.len()
    }

    #[inline]
    pub(crate) fn get(&self, slot: Slot) -> Option<&Entry<I>> {
        self.slots.get(slot as usize)?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: Slot) -> Option<&mut Entry<I>> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    #[inline]
    pub(crate) fn state_mut(&mut self, slot: Slot) -> Option<&mut I> {
        Some(&mut self.get_mut(slot)?.state)
    }

    /// The instance with the empty key.
    #[inline]
    pub(crate) const fn keyless(&self) -> Option<Slot> {
        self.keyless
    }

    pub(crate) fn by_key(&self, key: &[u8]) -> Option<Slot> {
        if key.is_empty() { self.keyless } else { self.by_key.get(key).copied() }
    }

    pub(crate) fn by_handle(&self, handle: InstanceHandle) -> Option<Slot> {
        self.by_handle.get(&handle).copied()
    }

    /// The instances whose handle is greater than `after`, in their order; all of them without one.
    pub(crate) fn after(&self, after: Option<InstanceHandle>) -> impl Iterator<Item = Slot> + '_ {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.by_handle.range((start, Bound::Unbounded)).map(|(_, slot)| *slot)
    }

    /// One more than the greatest slot in use.
    pub(crate) fn end(&self) -> Slot {
        self.slots.len() as Slot
    }

    /// Adds an instance; `None` if its key or its handle is there already.
    pub(crate) fn insert(&mut self, key: &[u8], handle: InstanceHandle, state: I) -> Option<Slot> {
        if self.by_handle.contains_key(&handle) || self.by_key(key).is_some() {
            return None;
        }
        let key: Arc<[u8]> = Arc::from(key);
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                let slot = Slot::try_from(self.slots.len()).ok()?;
                self.slots.push(None);
                slot
            }
        };
        if key.is_empty() {
            self.keyless = Some(slot);
        } else {
            self.by_key.insert(Arc::clone(&key), slot);
        }
        self.by_handle.insert(handle, slot);
        if let Some(place) = self.slots.get_mut(slot as usize) {
            *place = Some(Entry { key, handle, state });
        }
        Some(slot)
    }

    pub(crate) fn remove(&mut self, slot: Slot) -> Option<Entry<I>> {
        let entry = self.slots.get_mut(slot as usize)?.take()?;
        if entry.key.is_empty() {
            self.keyless = None;
        } else {
            self.by_key.remove(&entry.key);
        }
        self.by_handle.remove(&entry.handle);
        self.free.push(slot);
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::cdr::KeyHash;

    fn handle(octet: u8) -> InstanceHandle {
        KeyHash([octet; 16]).into()
    }

    #[test]
    fn slots_are_used_again_and_handles_give_the_order() {
        let mut table = InstanceTable::new();
        let slots: Vec<_> =
            [3, 1, 2].into_iter().map(|n| table.insert(&[n], handle(n), n).unwrap()).collect();
        let order = |table: &InstanceTable<u8>, after| {
            table.after(after).filter_map(|slot| table.get(slot)).map(|entry| entry.state).collect::<Vec<_>>()
        };
        assert_eq!(order(&table, None), [1, 2, 3]);
        assert_eq!(order(&table, Some(handle(1))), [2, 3]);
        table.remove(slots[0]).unwrap();
        assert_eq!((table.by_key(&[3]), table.by_handle(handle(3)), table.len()), (None, None, 2));
        assert_eq!(table.insert(&[9], handle(9), 9), Some(slots[0]));
        assert_eq!(table.end(), 3);
    }

    #[test]
    fn the_empty_key_is_a_key() {
        let mut table = InstanceTable::new();
        assert_eq!(table.by_key(&[]), None);
        let slot = table.insert(&[], handle(0), 0);
        table.insert(&[1], handle(1), 1).unwrap();
        assert_eq!((table.by_key(&[]), table.insert(&[], handle(2), 2)), (slot, None));
        table.remove(slot.unwrap()).unwrap();
        assert_eq!((table.by_key(&[]), table.by_key(&[1]), table.len()), (None, Some(1), 1));
    }

    #[test]
    fn two_keys_with_one_handle_are_not_one_instance() {
        let mut table = InstanceTable::new();
        table.insert(&[1], handle(7), 1).unwrap();
        assert_eq!(table.insert(&[2], handle(7), 2), None);
        assert_eq!((table.len(), table.by_key(&[2])), (1, None));
    }
}
