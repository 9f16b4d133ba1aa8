//! A session as it is kept.
use serde::{Deserialize, Serialize};
use wan_server::protocol::{Admitted, Refused, SessionAsked};

use crate::body::{ApplicationServer, Device, Ports, SinkToken};
use crate::uuid::Uuid;

/// Why a session is unavailable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Why {
    /// Its time is over.
    DurationExpired,
    /// The network refused or ended it.
    NetworkTerminated,
    /// Its client has deleted it.
    DeleteRequested,
}

/// How it is with a session. Times are milliseconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum State {
    /// The manager has been asked.
    Requested,
    /// It is reserved.
    Available {
        /// Since then.
        since: u64,
        /// Until then.
        until: u64,
    },
    /// It is not.
    Unavailable {
        /// Why.
        why: Why,
        /// Since when it was available, if it was.
        since: Option<u64>,
        /// When it ended.
        at: u64,
    },
}

/// A session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Session {
    /// Its name.
    pub id: Uuid,
    /// Whose it is.
    pub client: String,
    /// The device as the client named it, by the identifier that counts.
    pub device: Option<Device>,
    /// The servers as the client named them.
    pub application_server: ApplicationServer,
    /// The ports as the client named them.
    pub device_ports: Option<Ports>,
    /// The ports as the client named them.
    pub application_server_ports: Option<Ports>,
    /// The name of the profile.
    pub qos_profile: String,
    /// Where notifications go to.
    pub sink: Option<String>,
    /// What they show there.
    pub token: Option<SinkToken>,
    /// Seconds that it was promised for.
    pub duration: u32,
    /// Seconds that it may last with all extensions.
    pub most_duration: u32,
    /// How it is.
    pub state: State,
    /// What the manager was asked for.
    pub asked: SessionAsked,
    /// When that was.
    pub asked_at: u64,
    /// What the manager granted.
    pub admitted: Option<Admitted>,
    /// Why it refused or ended the session.
    pub refused: Option<Refused>,
    /// Why there is none, if the manager has not said that.
    pub note: Option<String>,
    /// The client knows the name: it was told that the session is there or under way.
    pub told: bool,
    /// For its client it is gone; it is kept for what is to be done at the manager.
    pub hidden: bool,
    /// The manager is to end it.
    pub stopping: bool,
    /// The manager was asked, and its answer was lost at this time.
    pub lost: Option<u64>,
    /// Notifications so far.
    pub events: u32,
}

impl Session {
    /// Its name at the manager.
    pub fn name(&self) -> Option<&str> {
        self.admitted.as_ref().map(|admitted| admitted.session.as_str())
    }
}
