//! The clocks of this host, and random numbers.
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ring::rand::{SecureRandom as _, SystemRandom};
use system::Error;

use crate::server::Now;

/// Times since a start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn now(&self) -> Now {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Now { monotonic: u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX), unix }
    }

    /// When a time of machines is, however far away; `None` if it is beyond all that there is.
    pub(super) fn far_instant(&self, at: u64) -> Option<Instant> {
        self.0.checked_add(Duration::from_nanos(at))
    }

    /// When a time of machines is, as the runtime counts; far away for never.
    pub(super) fn instant(&self, due: u64) -> tokio::time::Instant {
        const FAR: Duration = Duration::from_secs(3_600);
        let due = self.0.checked_add(Duration::from_nanos(due)).unwrap_or_else(|| Instant::now() + FAR);
        tokio::time::Instant::from_std(due.min(Instant::now() + FAR))
    }
}

/// A number that is different at each start.
pub(super) fn random() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Error::new("the system gives no random numbers", ""))?;
    Ok(u64::from_ne_bytes(bytes))
}
