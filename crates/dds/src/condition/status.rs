//! The condition that a status of an entity has changed.
use std::sync::Arc;

use dcps::status::StatusMask;

use crate::entity::StatusSource;

/// True while a status that is enabled has changed since it was last read. A clone has its own enabled statuses.
#[derive(Clone)]
pub struct StatusCondition {
    pub(super) entity: Arc<dyn StatusSource>,
    enabled: StatusMask,
}

impl StatusCondition {
    pub(crate) const fn new(entity: Arc<dyn StatusSource>) -> Self {
        Self { entity, enabled: StatusMask(u32::MAX) }
    }

    /// The statuses that count; at first all.
    pub const fn get_enabled_statuses(&self) -> StatusMask {
        self.enabled
    }

    /// Sets the statuses that count. A condition that is attached to a WaitSet already stays as it was attached.
    pub const fn set_enabled_statuses(&mut self, mask: StatusMask) {
        self.enabled = mask;
    }

    /// True if a status that counts has changed since it was last read.
    pub fn get_trigger_value(&self) -> bool {
        self.entity.status_changes().intersects(self.enabled)
    }
}
