//! A map that is copied to be changed: most of a copy is shared with the former one, so that the cost of a change hardly grows with it.
use std::sync::Arc;

use wire::sorted::SortedMap;
use wire::{EntityId, Guid, GuidPrefix};

/// Parts that are copied by themselves.
const PARTS: usize = 64;

/// Says which part of a table holds it.
pub(crate) trait Part {
    /// A number that differs for endpoints of one participant that are made one after the other.
    fn part(&self) -> usize;
}

impl Part for EntityId {
    fn part(&self) -> usize {
        // The last byte of the key (RTPS 2.5, 9.3.1.2).
        usize::from(self.0[2])
    }
}

impl Part for Guid {
    fn part(&self) -> usize {
        self.entity_id.part()
    }
}

impl Part for GuidPrefix {
    fn part(&self) -> usize {
        // Prefixes of others may differ in their host, their process, or anywhere.
        self.0.iter().fold(0, |sum, byte| sum ^ usize::from(*byte))
    }
}

/// See the module.
#[derive(Clone)]
pub(crate) struct Table<K, V>([Option<Arc<SortedMap<K, V>>>; PARTS]);

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self([const { None }; PARTS])
    }
}

impl<K: Part + Ord + Clone, V: Clone> Table<K, V> {
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.0.get(key.part() % PARTS)?.as_ref()?.get(key)
    }

    /// The value of the key; `default` is inserted if there is none.
    pub(crate) fn get_or_insert(&mut self, key: K, default: V) -> Option<&mut V> {
        let part = self.0.get_mut(key.part() % PARTS)?.get_or_insert_default();
        Some(Arc::make_mut(part).get_or_insert_with(key, || default))
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        Arc::make_mut(self.0.get_mut(key.part() % PARTS)?.as_mut()?).get_mut(key)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        if let Some(part) = self.0.get_mut(key.part() % PARTS) {
            Arc::make_mut(part.get_or_insert_default()).insert(key, value);
        }
    }

    pub(crate) fn remove(&mut self, key: &K) {
        if let Some(place) = self.0.get_mut(key.part() % PARTS)
            && let Some(part) = place
        {
            Arc::make_mut(part).remove(key);
            if part.is_empty() {
                *place = None;
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter().flatten().flat_map(|part| part.iter())
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use wire::EntityKind;

    use super::*;

    fn id(key: u32) -> EntityId {
        EntityId::user(key, EntityKind::ReaderNoKey)
    }

    #[test]
    fn it_is_a_map() {
        let mut table = Table::default();
        (0..1_000).for_each(|key| table.insert(id(key), key));
        assert_eq!(
            (table.iter().count(), table.get(&id(700)), table.get(&id(1_000))),
            (1_000, Some(&700), None)
        );
        *table.get_mut(&id(3)).unwrap() = 9;
        assert_eq!(table.get_or_insert(id(3), 1), Some(&mut 9));
        assert_eq!(table.get_or_insert(id(5_000), 1), Some(&mut 1));
        (0..1_000).for_each(|key| table.remove(&id(key)));
        assert_eq!(table.values().collect::<Vec<_>>(), [&1]);
    }

    #[test]
    fn a_change_of_a_copy_copies_one_part() {
        let mut table = Table::default();
        (0..6_400).for_each(|key| table.insert(id(key), key));
        let mut copy = table.clone();
        copy.insert(id(6_400), 1);
        let shared = table.0.iter().zip(&copy.0).filter(|(one, other)| {
            one.as_ref().zip(other.as_ref()).is_some_and(|(one, other)| Arc::ptr_eq(one, other))
        });
        assert_eq!(shared.count(), PARTS - 1);
        assert_eq!(table.get(&id(6_400)), None);
    }
}
