//! What can be set, with its defaults.
use alloc::vec::Vec;
use core::time::Duration;

use crate::foreign::Described;

/// Settings of a resource manager.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Domains whose discovery is in the reserved class; they share what the network has for it.
    pub domains: Vec<u16>,
    /// How long a verdict holds after it was heard. It is repeated three times as often.
    pub lease: Duration,
    /// How long a switch, a gate agent, or after a start the asker of a stored grant, may be away before grants that
    /// need it are revoked.
    pub grace: Duration,
    /// How long a change may take until it counts as failed. More than the channel waits for an answer.
    pub answer: Duration,
    /// Ways that are compared for a flow.
    pub ways: usize,
    /// Requests known at a time, the admitted ones among them. Beyond this and the next three a request takes the place of the least important
    /// one that shares the limit, if that is less important than itself, and is refused otherwise.
    pub most_requests: usize,
    /// Requests of readers on one host.
    pub most_requests_of_host: usize,
    /// Requests of the readers of one participant.
    pub most_requests_of_participant: usize,
    /// Requests of one user, where requests are signed.
    pub most_requests_of_user: usize,
    /// Who may ask for what; without a policy all that is admitted may be asked for.
    pub policy: Option<policy::Policy>,
    /// The longest time that hosts take to do what is due of repairs, by the operator's word. Without it no bound with losses is granted.
    pub losses: Option<Duration>,
    /// Whether requests are signed, and those that are not are refused.
    pub signed: bool,
    /// Changes under way at a time.
    pub most_operations: usize,
    /// Ethernet addresses learned at a switch.
    pub most_addresses: usize,
    /// Seconds without a packet after which a learned address is forgotten by the switch.
    pub address_timeout: u16,
    /// How often what a switch or its gates have is read back and compared with what they are to have. Large tables are read less often: at
    /// most a tenth of the time is spent with it.
    pub inspection: Duration,
    /// How often ports between switches send LLDP, 100 ms to 5 s. A cable over which three such frames in a row do not come, and nothing else does, carries no
    /// flows until they come again. Zero if cables are not judged by that; nor are they without [`Self::inspection`].
    pub rounds: Duration,
    /// Refused requests that are looked at again at a time when something has become free or come back; the others follow.
    pub most_retries: usize,
    /// The time between them and the next ones.
    pub retry_interval: Duration,
    /// What is known of programs that do not ask.
    pub described: Described,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            domains: alloc::vec![0],
            lease: Duration::from_secs(6),
            grace: Duration::from_secs(10),
            answer: Duration::from_secs(15),
            ways: 4,
            most_requests: 10_000,
            most_requests_of_host: 4_096,
            most_requests_of_participant: 1_024,
            most_requests_of_user: 4_096,
            policy: None,
            losses: None,
            signed: false,
            most_operations: 32,
            most_addresses: 1_024,
            address_timeout: 300,
            inspection: Duration::from_millis(250),
            // A frame a second and port: four seconds until a cut is found, and no more of a link than 1.5 kb/s.
            rounds: Duration::from_secs(1),
            most_retries: 64,
            retry_interval: Duration::from_millis(20),
            described: Described::default(),
        }
    }
}
