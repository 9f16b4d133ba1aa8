//! A store that forgets.
use std::collections::BTreeMap;

use crate::{Change, Store, StoreError, keep, next_epoch_after};

/// A store that forgets: after a restart all grants are asked for again, and the epoch is the time.
#[derive(Debug, Default)]
pub struct MemoryStore {
    epoch: u64,
    grants: BTreeMap<u64, Vec<u8>>,
}

impl Store for MemoryStore {
    fn next_epoch(&mut self) -> Result<u64, StoreError> {
        self.epoch = next_epoch_after(self.epoch);
        Ok(self.epoch)
    }

    fn grants(&self) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        Ok(self.grants.iter().map(|(number, grant)| (*number, grant.clone())).collect())
    }

    fn change(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        keep(&mut self.grants, changes);
        Ok(())
    }

    fn place(&self) -> String {
        "memory".to_owned()
    }
}
