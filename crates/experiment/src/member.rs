//! What publisher and subscriber have in common: their participant, its threads, and the clock.
use std::time::{SystemTime, UNIX_EPOCH};

use dds::config::{Config, Interfaces};
use dds::{DomainParticipant, DomainParticipantFactory, Error, NO_STATUS, QosKind};
use nix::sys::mman::{MlockAllFlags, mlockall};

/// Real-time priority of what publishers do besides: below those of the switch, of the links and of the probes for stalls.
pub(crate) const PUBLISHING: u8 = 50;
/// That of a send call, between those of the switch and of the links: links make up for what the switch is late by, and not for a call that
/// waits for the switch.
const SENDING: u8 = 65;
/// That of threads that subscribe: what they do comes after the reception, and must not delay the switch.
pub(crate) const SUBSCRIBING: u8 = 30;
/// The interface of a host of the lab.
const INTERFACE: &str = "eth0";
const DOMAIN: u32 = 0;
/// How long a verdict is waited for before it counts as refused.
const PATIENCE: dds::Duration = dds::Duration::from_secs(60);

/// The time of day in nanoseconds since 1970: the clock that the kernel stamps datagrams with.
pub(crate) fn wall() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Joins the domain on the host's link. `name` is announced, for people.
///
/// # Errors
/// What the middleware says.
pub(crate) fn join(name: &str, priority: u8) -> Result<DomainParticipant, Error> {
    join_with(name, priority, |_| {})
}

/// The same, with another configuration.
///
/// # Errors
/// What the middleware says.
pub(crate) fn join_with(
    name: &str,
    priority: u8,
    change: impl FnOnce(&mut Config),
) -> Result<DomainParticipant, Error> {
    let mut config = Config::default();
    config.discovery.entity_name = Some(name.to_owned());
    config.network.interfaces = Interfaces::Named(vec![INTERFACE.to_owned()]);
    config.network.kernel_times = true;
    // What is measured is the network.
    config.shared_memory.enabled = false;
    config.threads.priority = Some(priority);
    // The manager begins when publishers and subscribers do, and is not to be taken for absent.
    config.assurance.patience = PATIENCE;
    change(&mut config);
    DomainParticipantFactory::get_instance().create_participant_with(
        DOMAIN,
        QosKind::Default,
        &config,
        None,
        NO_STATUS,
    )
}

/// Lets the calling thread run at once when its time has come, as far as the system permits; whether it has real-time priority.
pub(crate) fn run_at_once() -> bool {
    // Where it is not permitted a sleep ends up to 50 us late: samples are sent a little less often.
    let _ = nix::sys::prctl::set_timerslack(1);
    // The first sample is not to wait for memory that has not been touched, either.
    let _ = mlockall(MlockAllFlags::all());
    udp::thread::set_real_time(SENDING).is_ok()
}
