//! Instances that belong to participants: how many each of them has. None takes the room of the others.
use wire::GuidPrefix;
use wire::admission::InstanceOwner;
use wire::sorted::SortedMap;

/// One participant may have the room of so many others: this part of the reader's instances.
const PART: usize = 16;

/// The counts.
#[derive(Debug)]
pub(super) struct Shares {
    owner: InstanceOwner,
    counts: SortedMap<GuidPrefix, usize>,
}

impl Shares {
    pub(super) const fn new(owner: InstanceOwner) -> Self {
        Self { owner, counts: SortedMap::new() }
    }

    /// Most instances of one participant where there may be `all`.
    pub(super) const fn most(all: usize) -> usize {
        if all > PART { all / PART } else { 1 }
    }

    /// How many instances the participant has that the instance of this key belongs to.
    pub(super) fn of(&self, key: &[u8]) -> usize {
        (self.owner)(key).and_then(|owner| self.counts.get(&owner)).copied().unwrap_or(0)
    }

    /// There is an instance with this key.
    pub(super) fn add(&mut self, key: &[u8]) {
        if let Some(owner) = (self.owner)(key) {
            *self.counts.get_or_insert_with(owner, || 0) += 1;
        }
    }

    /// The instance with this key is gone.
    pub(super) fn remove(&mut self, key: &[u8]) {
        let Some(owner) = (self.owner)(key) else { return };
        let Some(count) = self.counts.get_mut(&owner) else { return };
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.counts.remove(&owner);
        }
    }
}
