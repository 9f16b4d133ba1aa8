//! What is remembered of names at socket addresses, within a limit for each IP address and one for all: the least recent makes room, so that
//! a flood from one address evicts its own.
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use wire::GuidPrefix;

use wire::sorted::SortedMap;

/// A GUID prefix at a socket address: the same prefix at another one is another key.
pub(super) type Key = (GuidPrefix, SocketAddr);

#[derive(Debug)]
pub(super) struct Recent<V> {
    all: SortedMap<Key, (u64, V)>,
    /// By the order in which they were put in last.
    order: SortedMap<u64, Key>,
    order_at: SortedMap<(IpAddr, u64), Key>,
    per_address: SortedMap<IpAddr, usize>,
    next_stamp: u64,
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self {
            all: SortedMap::new(),
            order: SortedMap::new(),
            order_at: SortedMap::new(),
            per_address: SortedMap::new(),
            next_stamp: 0,
        }
    }
}

impl<V> Recent<V> {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &V)> {
        self.all.iter().map(|(key, (_, value))| (key, value))
    }

    /// Everything that is known under this prefix.
    pub(super) fn of(&self, prefix: GuidPrefix) -> impl Iterator<Item = (&Key, &V)> {
        let first = (prefix, SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0));
        let from = self.all.range(first..).take_while(move |((name, _), _)| *name == prefix);
        from.map(|(key, (_, value))| (key, value))
    }

    pub(super) fn get(&self, key: Key) -> Option<&V> {
        self.all.get(&key).map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut V> {
        self.all.get_mut(&key).map(|(_, value)| value)
    }

    pub(super) fn contains(&self, key: Key) -> bool {
        self.all.contains_key(&key)
    }

    /// Puts in a value that was not there or was removed, as the most recent one.
    pub(super) fn insert(&mut self, key: Key, value: V) {
        self.remove(key);
        let stamp = self.next_stamp;
        self.next_stamp = stamp.wrapping_add(1);
        self.order.insert(stamp, key);
        self.order_at.insert((key.1.ip(), stamp), key);
        *self.per_address.get_or_insert_with(key.1.ip(), || 0) += 1;
        self.all.insert(key, (stamp, value));
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<V> {
        let (stamp, value) = self.all.remove(&key)?;
        let ip = key.1.ip();
        self.order.remove(&stamp);
        self.order_at.remove(&(ip, stamp));
        if let Some(count) = self.per_address.get_mut(&ip) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.per_address.remove(&ip);
            }
        }
        Some(value)
    }

    /// How many there are at an IP address.
    pub(super) fn count_at(&self, ip: IpAddr) -> usize {
        self.per_address.get(&ip).copied().unwrap_or(0)
    }

    /// The least recent of all.
    pub(super) fn oldest(&self) -> Option<Key> {
        self.order.first().map(|(_, key)| *key)
    }

    /// The least recent at an IP address.
    pub(super) fn oldest_at(&self, ip: IpAddr) -> Option<Key> {
        let first = self.order_at.range((ip, 0)..).next();
        first.filter(|((at, _), _)| *at == ip).map(|(_, key)| *key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recent_is_known_for_all_and_for_each_address() {
        let key = |host: u8, port| (GuidPrefix([host; 12]), SocketAddr::from(([10, 0, 0, host], port)));
        let mut recent = Recent::default();
        for entry in [key(1, 1), key(2, 1), key(1, 2), key(2, 2), key(1, 1)] {
            recent.insert(entry, ());
        }
        assert_eq!(
            (recent.len(), recent.count_at(key(1, 0).1.ip()), recent.of(key(2, 0).0).count()),
            (4, 2, 2)
        );
        assert_eq!(recent.oldest(), Some(key(2, 1)));
        assert_eq!(recent.oldest_at(key(1, 0).1.ip()), Some(key(1, 2)));
        recent.remove(key(1, 2));
        assert_eq!(recent.oldest_at(key(1, 0).1.ip()), Some(key(1, 1)));
        recent.remove(key(1, 1));
        assert_eq!((recent.oldest_at(key(1, 0).1.ip()), recent.count_at(key(1, 0).1.ip())), (None, 0));
    }
}
