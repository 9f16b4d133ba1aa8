//! A condition that the application sets.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::node::watch::Watch;

/// True as long as the application says so. Clones are the same condition.
///
/// ```
/// use std::time::Duration;
/// use dds::{GuardCondition, WaitSet};
///
/// let (stop, waits) = (GuardCondition::new(), WaitSet::new());
/// waits.attach_condition(stop.clone().into())?;
/// std::thread::spawn(move || stop.set_trigger_value(true));
/// waits.wait(Duration::MAX)?;
/// # Ok::<(), dds::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct GuardCondition {
    pub(super) state: Arc<State>,
}

#[derive(Default)]
pub(super) struct State {
    value: AtomicBool,
    pub(super) watch: Arc<Watch>,
}

impl GuardCondition {
    /// A condition that is false.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets it; a waiting WaitSet returns if it becomes true.
    pub fn set_trigger_value(&self, value: bool) {
        self.state.value.store(value, Ordering::SeqCst);
        if value {
            self.state.watch.wake_waiters();
        }
    }

    /// The value that was set last.
    pub fn get_trigger_value(&self) -> bool {
        self.state.value.load(Ordering::SeqCst)
    }
}
