//! What a call has touched, as far as callbacks are concerned.
use std::collections::VecDeque;
use std::sync::Arc;

use wire::Now;

use super::watch::Watch;

#[derive(Default)]
pub(crate) struct Work {
    pub(crate) calls: VecDeque<Arc<Watch>>,
}

impl Work {
    pub(crate) fn is_done(&self) -> bool {
        self.calls.is_empty()
    }

    pub(crate) fn set_time(&mut self, _: Option<Now>) {}

    /// What follows when nothing is locked.
    pub(crate) fn settle(mut self) {
        while let Some(watch) = self.calls.pop_front() {
            watch.call();
        }
    }
}
