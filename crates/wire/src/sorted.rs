//! A sorted map, a sorted set and sorting that need little code for each type they hold: those of the standard library take some ten
//! kilobytes of program for each, and a participant has more than forty.
//!
//! Entries lie in chunks of some dozens, in order. Finding one takes two binary searches; a change moves what is behind it in one chunk,
//! and a few words for each chunk if one comes or goes. What is `#[inline(never)]` here is made once for a type in the whole program.
use alloc::vec::{self, Vec};
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::iter::{Flatten, Map};
use core::ops::{Bound, RangeBounds};

/// How many entries a chunk has at most.
const CHUNK: usize = 64;

/// Values by their keys, in the order of keys.
#[derive(Clone, Debug)]
pub struct SortedMap<K, V> {
    /// None is empty, and of two neighbours that lost entries, both have more than [`JOINED`] together.
    chunks: Vec<Vec<(K, V)>>,
    len: usize,
}

/// Two neighbours that have no more entries together become one.
const JOINED: usize = CHUNK / 4 * 3;

/// Where an entry is, or belongs.
#[derive(Clone, Copy)]
struct Place {
    chunk: usize,
    index: usize,
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> SortedMap<K, V> {
    /// An empty map.
    pub const fn new() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if it has no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where a key is, or where it belongs if it is not there.
    #[inline(never)]
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<Place, Place>
    where
        K: Borrow<Q>,
    {
        let chunk = match &*self.chunks {
            [] | [_] => 0,
            chunks => {
                let begins = |chunk: &Vec<(K, V)>| {
                    chunk.first().is_some_and(|(first, _)| order(first.borrow(), key).is_le())
                };
                chunks.partition_point(begins).saturating_sub(1)
            }
        };
        let entries = self.chunks.get(chunk).map_or(&[][..], Vec::as_slice);
        match entries.binary_search_by(|(other, _)| order(other.borrow(), key)) {
            Ok(index) => Ok(Place { chunk, index }),
            Err(index) => Err(Place { chunk, index }),
        }
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let Place { chunk, index } = self.find(key).ok()?;
        self.chunks.get(chunk)?.get(index).map(|(_, value)| value)
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let Place { chunk, index } = self.find(key).ok()?;
        self.chunks.get_mut(chunk)?.get_mut(index).map(|(_, value)| value)
    }

    /// True if the key has a value.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Gives a key a value, and returns the one it had. The key that was there stays.
    #[inline(never)]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(Place { chunk, index }) => {
                let (_, old) = self.chunks.get_mut(chunk)?.get_mut(index)?;
                Some(core::mem::replace(old, value))
            }
            Err(place) => {
                self.add(place, key, value);
                None
            }
        }
    }

    /// The value of a key, after it was made if there was none.
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let Place { chunk, index } = match self.find(&key) {
            Ok(place) => place,
            Err(place) => self.add(place, key, make()),
        };
        &mut self.chunks[chunk][index].1
    }

    /// Puts an entry where it belongs, and says where that is by then.
    #[inline(never)]
    fn add(&mut self, place: Place, key: K, value: V) -> Place {
        let Place { mut chunk, mut index } = place;
        self.len += 1;
        match self.chunks.get_mut(chunk) {
            None => self.chunks.push(Vec::new()),
            Some(entries) if entries.len() >= CHUNK => {
                let upper = entries.split_off(CHUNK / 2);
                self.chunks.insert(chunk + 1, upper);
                if index > CHUNK / 2 {
                    (chunk, index) = (chunk + 1, index - CHUNK / 2);
                }
            }
            Some(_) => {}
        }
        self.chunks[chunk].insert(index, (key, value));
        Place { chunk, index }
    }

    /// Takes a key out, and returns the value it had.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|place| self.take(place).1)
    }

    /// Takes the entry with the least key out.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (self.len > 0).then(|| self.take(Place { chunk: 0, index: 0 }))
    }

    /// Takes out the entry at a place where there is one.
    #[inline(never)]
    fn take(&mut self, place: Place) -> (K, V) {
        let Place { chunk, index } = place;
        self.len -= 1;
        let entries = &mut self.chunks[chunk];
        let taken = entries.remove(index);
        let left = entries.len();
        if left == 0 {
            self.chunks.remove(chunk);
        } else if left <= JOINED && !self.join(chunk) && chunk > 0 {
            self.join(chunk - 1);
        }
        taken
    }

    /// Makes one of a chunk and the next, if both together have few entries.
    #[inline(never)]
    fn join(&mut self, chunk: usize) -> bool {
        let [this, next, ..] = &mut self.chunks[chunk..] else { return false };
        if this.len() + next.len() > JOINED {
            return false;
        }
        this.append(next);
        self.chunks.remove(chunk + 1);
        true
    }

    /// Takes out every entry that is not to be kept.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        for chunk in &mut self.chunks {
            chunk.retain_mut(|(key, value)| keep(key, value));
        }
        self.tidy();
    }

    /// Counts what is left, and makes one of neighbours that have few entries.
    #[inline(never)]
    fn tidy(&mut self) {
        self.chunks.retain(|chunk| !chunk.is_empty());
        self.len = self.chunks.iter().map(Vec::len).sum();
        let mut chunk = 0;
        while chunk < self.chunks.len() {
            if !self.join(chunk) {
                chunk += 1;
            }
        }
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        self.chunks.clear();
        self.len = 0;
    }

    /// The entry with the least key.
    pub fn first(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// All entries, in the order of keys.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> + Clone {
        self.chunks.iter().flatten().map(|(key, value)| (key, value))
    }

    /// All entries, in the order of keys, with values that can be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.chunks.iter_mut().flatten().map(|(key, value)| (&*key, value))
    }

    /// All keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// All values, in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// The entries with keys in a range, in order.
    pub fn range(&self, range: impl RangeBounds<K>) -> impl Iterator<Item = (&K, &V)> {
        let from = match range.start_bound() {
            Bound::Unbounded => Place { chunk: 0, index: 0 },
            Bound::Included(key) => self.find(key).unwrap_or_else(|place| place),
            Bound::Excluded(key) => {
                self.find(key).map_or_else(|place| place, |at| Place { index: at.index + 1, ..at })
            }
        };
        let mut chunks = self.chunks.iter().skip(from.chunk);
        let first = chunks.next().and_then(|entries| entries.get(from.index..)).unwrap_or_default();
        let entries = first.iter().chain(chunks.flatten()).map(|(key, value)| (key, value));
        entries.take_while(move |(key, _)| match range.end_bound() {
            Bound::Unbounded => true,
            Bound::Included(last) => *key <= last,
            Bound::Excluded(end) => *key < end,
        })
    }
}

/// Of entries with the same key the last one is there.
impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = Flatten<vec::IntoIter<Vec<(K, V)>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.chunks.into_iter().flatten()
    }
}

/// Compares: one function for all maps with such keys.
#[inline(never)]
fn order<Q: Ord + ?Sized>(one: &Q, other: &Q) -> Ordering {
    one.cmp(other)
}

/// Keys in order, each once.
#[derive(Clone, Debug)]
pub struct SortedSet<K>(SortedMap<K, ()>);

impl<K> Default for SortedSet<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> SortedSet<K> {
    /// An empty set.
    pub const fn new() -> Self {
        Self(SortedMap::new())
    }
}

impl<K: Ord> SortedSet<K> {
    /// How many keys it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if it has no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if the key is in it.
    pub fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.contains_key(key)
    }

    /// Puts a key in; false if it was in it.
    pub fn insert(&mut self, key: K) -> bool {
        self.0.insert(key, ()).is_none()
    }

    /// Takes a key out; false if it was not in it.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.remove(key).is_some()
    }

    /// The least key.
    pub fn first(&self) -> Option<&K> {
        self.iter().next()
    }

    /// Takes the least key out.
    pub fn pop_first(&mut self) -> Option<K> {
        self.0.pop_first().map(|(key, ())| key)
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// All keys, in order.
    pub fn iter(&self) -> impl Iterator<Item = &K> + Clone {
        self.0.keys()
    }

    /// The keys in a range, in order.
    pub fn range(&self, range: impl RangeBounds<K>) -> impl Iterator<Item = &K> {
        self.0.range(range).map(|(key, ())| key)
    }
}

impl<K: Ord> Extend<K> for SortedSet<K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert(key);
        }
    }
}

impl<K: Ord> FromIterator<K> for SortedSet<K> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut set = Self::new();
        set.extend(keys);
        set
    }
}

impl<K> IntoIterator for SortedSet<K> {
    type Item = K;
    type IntoIter = Map<<SortedMap<K, ()> as IntoIterator>::IntoIter, fn((K, ())) -> K>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(key, ())| key)
    }
}

/// Sorts; what is equal stays in its order. It allocates a number for each item, unless there is one at most.
pub fn sort_by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    if items.len() < 2 {
        return;
    }
    let mut from = sorted_places(items.len(), &mut |one, other| compare(&items[one], &items[other]));
    // Each round moves the items of one cycle: the place that is filled next is the one whose item has just left.
    for first in 0..items.len() {
        let mut place = first;
        while from[place] != first {
            let next = from[place];
            items.swap(place, next);
            from[place] = place;
            place = next;
        }
        from[place] = place;
    }
}

/// Where the items stand that come first, second and so on: made once in the whole program, whatever is sorted.
#[inline(never)]
fn sorted_places(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..len).collect();
    places.sort_by(|one, other| compare(*one, *other));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_shrunk_keeps_little_room() {
        let mut map = SortedMap::new();
        for key in 0..10_000 {
            map.insert(key, ());
        }
        for key in (0..10_000).filter(|key| key % 100 != 7) {
            map.remove(&key);
        }
        let room: usize = map.chunks.iter().map(Vec::capacity).sum();
        assert_eq!(map.len(), 100);
        assert!(room <= 400 && map.chunks.len() <= 6, "{room} in {} chunks", map.chunks.len());
    }
}
