//! Places for questions to the manager: none of the clients takes all, and ends have places of their own.
use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Sessions that are set up or extended at a time, and that are ended.
const MOST_BEGINS: usize = 48;
const MOST_ENDS: usize = 16;
/// What each client may have of these at least, if others have left it.
const LEAST_SHARE: usize = 4;

/// Places of one kind.
struct Kind {
    all: Arc<Semaphore>,
    shares: BTreeMap<String, Arc<Semaphore>>,
}

/// A place, until it is dropped.
pub(super) struct Place(#[expect(dead_code, reason = "held, not looked at")] [OwnedSemaphorePermit; 2]);

/// All places.
pub(super) struct Places {
    begins: Kind,
    ends: Kind,
}

impl Kind {
    fn new<'n>(most: usize, clients: impl Iterator<Item = &'n str> + Clone) -> Self {
        let share = (most / clients.clone().count().max(1)).max(LEAST_SHARE);
        let shares = clients.map(|client| (client.to_owned(), Arc::new(Semaphore::new(share))));
        Self { all: Arc::new(Semaphore::new(most)), shares: shares.collect() }
    }

    fn take(&self, client: &str) -> Option<Place> {
        let own = Arc::clone(self.shares.get(client)?).try_acquire_owned().ok()?;
        let of_all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(Place([own, of_all]))
    }
}

impl Places {
    pub(super) fn new<'n>(clients: impl Iterator<Item = &'n str> + Clone) -> Self {
        Self { begins: Kind::new(MOST_BEGINS, clients.clone()), ends: Kind::new(MOST_ENDS, clients) }
    }

    /// A place for a question of a client, if there is one.
    pub(super) fn take(&self, client: &str, is_end: bool) -> Option<Place> {
        if is_end { self.ends.take(client) } else { self.begins.take(client) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_takes_its_share_and_leaves_ends_alone() {
        let places = Places::new(["one", "two"].into_iter());
        let taken: Vec<Place> = std::iter::from_fn(|| places.take("one", false)).collect();
        assert_eq!(taken.len(), 24);
        let others: Vec<Place> = std::iter::from_fn(|| places.take("two", false)).collect();
        assert_eq!(others.len(), 24);
        let ends: Vec<Place> = std::iter::from_fn(|| places.take("one", true)).collect();
        assert_eq!(ends.len(), 8);
        assert!(places.take("two", true).is_some() && places.take("nobody", true).is_none());
        drop(taken);
        assert!(places.take("one", false).is_some() && places.take("two", false).is_none());
    }

    #[test]
    fn all_together_are_limited_however_many_clients_there_are() {
        let names: Vec<String> = (0..100).map(|name| name.to_string()).collect();
        let places = Places::new(names.iter().map(String::as_str));
        let take = |name: &String| std::iter::from_fn(|| places.take(name, false)).collect::<Vec<_>>();
        let taken: Vec<Vec<Place>> = names.iter().map(take).collect();
        assert_eq!((taken[0].len(), taken.iter().map(Vec::len).sum::<usize>()), (4, 48));
    }
}
