//! The sorted map and set say what those of the standard library say, whatever is done to both.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use testkit::random::Random;
use wire::sorted::{SortedMap, SortedSet, sort_by};

/// One map of each kind, and one set.
#[derive(Default)]
struct Both {
    ours: SortedMap<u64, u64>,
    theirs: BTreeMap<u64, u64>,
    our_set: SortedSet<u64>,
    their_set: BTreeSet<u64>,
}

impl Both {
    /// One change, with keys below `keys`; few of them take something out while it `grows`.
    fn change(&mut self, random: &mut Random, keys: u64, grows: bool) {
        let (key, value) = (random.below_u64(keys), random.below_u64(1_000));
        match random.below_u64(10) {
            0 => assert_eq!(self.ours.pop_first(), self.theirs.pop_first()),
            1 => {
                let theirs = *self.theirs.entry(key).or_insert(value);
                assert_eq!(*self.ours.get_or_insert_with(key, || value), theirs);
            }
            2 => {
                let (ours, theirs) = (self.ours.get_mut(&key), self.theirs.get_mut(&key));
                assert_eq!(ours, theirs);
                ours.into_iter().chain(theirs).for_each(|old| *old = value);
            }
            3 => assert_eq!(self.our_set.pop_first(), self.their_set.pop_first()),
            choice if (choice < 9) == grows => {
                assert_eq!(self.ours.insert(key, value), self.theirs.insert(key, value));
                assert_eq!(self.our_set.insert(key), self.their_set.insert(key));
            }
            _ => {
                assert_eq!(self.ours.remove(&key), self.theirs.remove(&key));
                assert_eq!(self.our_set.remove(&key), self.their_set.remove(&key));
            }
        }
    }

    /// One look at each.
    fn look(&self, random: &mut Random, keys: u64) {
        let (one, other) = (random.below_u64(keys), random.below_u64(keys));
        let (low, high) = (one.min(other), one.max(other) + 1);
        assert_eq!(self.ours.get(&one), self.theirs.get(&one));
        assert_eq!(self.ours.contains_key(&one), self.theirs.contains_key(&one));
        assert_eq!(self.our_set.contains(&one), self.their_set.contains(&one));
        assert_eq!((self.ours.len(), self.our_set.len()), (self.theirs.len(), self.their_set.len()));
        assert_eq!(
            (self.ours.is_empty(), self.our_set.is_empty()),
            (self.theirs.is_empty(), self.their_set.is_empty())
        );
        assert_eq!(
            (self.ours.first(), self.our_set.first()),
            (self.theirs.first_key_value(), self.their_set.first())
        );
        let bounds = [Bound::Unbounded, Bound::Included(low), Bound::Excluded(low)];
        let ends = [Bound::Unbounded, Bound::Included(high), Bound::Excluded(high)];
        let range = (bounds[random.below_u64(3) as usize], ends[random.below_u64(3) as usize]);
        assert!(self.ours.range(range).eq(self.theirs.range(range)), "{range:?}");
        assert!(self.our_set.range(range).eq(self.their_set.range(range)), "{range:?}");
    }
}

#[test]
fn they_are_like_those_of_the_standard_library() {
    for seed in tiers::current().seeds("property.cases") {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let keys = [8, 100, 3_000][random.below_u64(3) as usize];
        let mut both = Both::default();
        for _ in 0..6 {
            let grows = random.below_u64(2) == 0;
            for _ in 0..random.below_u64(keys * 2) {
                both.change(&mut random, keys, grows);
            }
            if random.below_u64(3) == 0 {
                let least = random.below_u64(1_000);
                let keep = |key: &u64, value: &mut u64| {
                    *value += 1;
                    *value > least || key.is_multiple_of(7)
                };
                both.ours.retain(keep);
                both.theirs.retain(keep);
            }
            both.look(&mut random, keys);
            assert!(both.ours.iter().eq(&both.theirs) && both.our_set.iter().eq(&both.their_set));
            let again: SortedMap<u64, u64> =
                both.theirs.iter().rev().map(|(key, value)| (*key, *value)).collect();
            assert!(again.iter().eq(&both.theirs) && again.into_iter().eq(both.theirs.clone()));
            let again: SortedSet<u64> = both.their_set.iter().rev().chain(&both.their_set).copied().collect();
            assert!(again.into_iter().eq(both.their_set.clone()));
            assert!(both.ours.iter_mut().eq(both.theirs.iter_mut()));
            assert!(both.ours.keys().eq(both.theirs.keys()) && both.ours.values().eq(both.theirs.values()));
        }
        both.ours.clear();
        both.our_set.clear();
        assert!(both.ours.is_empty() && both.our_set.is_empty() && both.ours.first().is_none());
    }
}

#[test]
fn sorting_is_that_of_the_standard_library() {
    for seed in tiers::current().seeds("property.cases") {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let most = [3, 30, 600][random.below_u64(3) as usize];
        let len = random.below_u64(most);
        let different = 1 + random.below_u64(len + 1);
        let mut ours: Vec<(u64, u64)> = (0..len).map(|place| (random.below_u64(different), place)).collect();
        let mut theirs = ours.clone();
        theirs.sort_by_key(|(key, _)| *key);
        sort_by(&mut ours, |(one, _), (other, _)| one.cmp(other));
        assert_eq!(ours, theirs);
    }
}
