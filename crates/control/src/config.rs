//! What can be set, with its defaults.
use alloc::vec::Vec;
use core::time::Duration;

use crate::network::NetworkError;

/// DSCPs of the levels of assured flows. Everything else has 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Classes {
    /// The DSCP of each level, the lowest first. A port with more queues uses as many as there are codes.
    pub levels: Vec<u8>,
}

impl Default for Classes {
    /// AF11, AF21, AF31, AF41 and EF.
    fn default() -> Self {
        Self { levels: alloc::vec![10, 18, 26, 34, 46] }
    }
}

impl Classes {
    /// The DSCP of a level; of the highest if there are not as many.
    pub fn dscp(&self, level: u8) -> u8 {
        self.levels.get(usize::from(level)).or(self.levels.last()).copied().unwrap_or(0)
    }

    pub(crate) fn check(&self) -> Result<(), NetworkError> {
        let mut codes = self.levels.clone();
        codes.sort_unstable();
        codes.dedup();
        let good = codes.iter().all(|code| (1..=63).contains(code));
        if good && !codes.is_empty() && codes.len() == self.levels.len() {
            Ok(())
        } else {
            Err(NetworkError::Classes)
        }
    }
}

/// Settings of a resource manager.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// DSCPs of levels.
    pub classes: Classes,
    /// How long a verdict holds after it was heard. It is repeated three times as often.
    pub lease: Duration,
    /// How long a switch, a gate agent, or after a start the asker of a stored grant, may be away before grants that
    /// need it are revoked.
    pub grace: Duration,
    /// How long a change may take until it counts as failed. More than the channel waits for an answer.
    pub answer: Duration,
    /// How much faster than the manager's clock that of a writer's host may run, in parts of a million: gates open so
    /// much earlier, and the analysis knows.
    pub clock_ppm: u32,
    /// Ways that are compared for a flow.
    pub ways: usize,
    /// Requests known at a time, the admitted ones among them; more are refused.
    pub most_requests: usize,
    /// Changes under way at a time.
    pub most_operations: usize,
    /// Ethernet addresses learned at a switch.
    pub most_addresses: usize,
    /// Seconds without a packet after which a learned address is forgotten by the switch.
    pub address_timeout: u16,
    /// Refused requests that are looked at again when something has become free or come back.
    pub most_retries: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            classes: Classes::default(),
            lease: Duration::from_secs(6),
            grace: Duration::from_secs(10),
            answer: Duration::from_secs(15),
            clock_ppm: 200,
            ways: 4,
            most_requests: 10_000,
            most_operations: 32,
            most_addresses: 1_024,
            address_timeout: 300,
            most_retries: 64,
        }
    }
}
