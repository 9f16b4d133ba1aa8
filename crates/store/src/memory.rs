//! A store that forgets.
use std::collections::BTreeMap;

use crate::{Change, Key, Store, StoreError, keep, listed, next_epoch_after};

/// A store that forgets: after a restart all grants are asked for again, and the epoch is the time.
#[derive(Debug, Default)]
pub struct MemoryStore {
    epoch: u64,
    kept: BTreeMap<Key, Vec<u8>>,
}

impl Store for MemoryStore {
    fn next_epoch(&mut self) -> Result<u64, StoreError> {
        self.epoch = next_epoch_after(self.epoch);
        Ok(self.epoch)
    }

    fn kept(&self) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
        Ok(listed(&self.kept))
    }

    fn change(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        keep(&mut self.kept, changes);
        Ok(())
    }

    fn place(&self) -> String {
        "memory".to_owned()
    }
}
