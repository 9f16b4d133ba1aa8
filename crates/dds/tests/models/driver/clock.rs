//! The clock of the model.
use std::time::Duration;

use wire::Instant;

pub(crate) fn monotonic() -> Instant {
    Instant::from_nanos(models::time::now())
}

pub(crate) fn until(at: Instant) -> Option<Duration> {
    let nanos = at.as_nanos().saturating_sub(monotonic().as_nanos());
    (at != Instant::NEVER).then(|| Duration::from_nanos(nanos))
}
