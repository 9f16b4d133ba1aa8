//! The condition that a status of an entity has changed.
use std::sync::Arc;

use dcps::status::StatusMask;

use crate::entity::StatusSource;

/// True while a status that is enabled has changed since it was last read. An entity has one: clones, and what its
/// `get_statuscondition` gives, share the enabled statuses.
///
/// ```
/// # use dds::prelude::*;
/// # #[derive(DdsType, Clone, Debug, Default)]
/// # struct Reading { #[dds(key)] sensor: u32, celsius: f64 }
/// # fn example(writer: &DataWriter<Reading>) -> Result<(), dds::Error> {
/// use dds::{StatusMask, WaitSet};
///
/// let condition = writer.get_statuscondition();
/// condition.set_enabled_statuses(StatusMask::PUBLICATION_MATCHED);
/// let waits = WaitSet::new();
/// waits.attach_condition(condition.into())?;
/// waits.wait(Duration::from_secs(5))?;
/// println!("{} readers", writer.get_publication_matched_status().current.count);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct StatusCondition {
    pub(super) entity: Arc<dyn StatusSource>,
}

impl StatusCondition {
    pub(crate) const fn new(entity: Arc<dyn StatusSource>) -> Self {
        Self { entity }
    }

    /// The statuses that count; at first all.
    pub fn get_enabled_statuses(&self) -> StatusMask {
        self.entity.watch().enabled()
    }

    /// Sets the statuses that count. A waiting WaitSet takes that into account.
    pub fn set_enabled_statuses(&self, mask: StatusMask) {
        self.entity.watch().set_enabled(mask);
    }

    /// True if a status that counts has changed since it was last read.
    pub fn get_trigger_value(&self) -> bool {
        self.entity.status_changes().intersects(self.get_enabled_statuses())
    }
}
