//! What the server and its clients keep in files.
use diameter::avp::Avps;
use diameter::command::{AccountingRecordType, AccountingRequest, TerminationCause};
use diameter::qos::{Direction, QosResources};
use diameter::structure::Structure as _;
use serde::{Deserialize, Serialize};

use crate::decision::Flow;
use crate::text::{from_hex, hex};

/// What the server keeps of sessions.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum SessionEntry {
    /// It is granted, for the first time or with other flows.
    Granted(Granted),
    /// An operator ends it: nothing more is granted.
    Aborting {
        /// The session.
        session: String,
    },
    /// It is over.
    Ended {
        /// The session.
        session: String,
    },
}

/// A session that is granted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Granted {
    /// The session.
    pub session: String,
    /// The name of its user.
    pub user: String,
    /// The client.
    pub host: String,
    /// The client's realm.
    pub realm: String,
    /// The peer that it asks by.
    pub via: String,
    /// When it was first granted, in seconds of Unix time.
    pub begins: u64,
    /// When it has to end, in seconds of Unix time.
    pub ends: u64,
    /// Its flows.
    pub flows: Vec<Flow>,
    /// What it takes of the quota, in bits per second.
    pub rate: u64,
    /// As the client asked, in AVPs.
    pub resources: Bytes,
    /// True if an operator ends it.
    #[serde(default)]
    pub aborting: bool,
}

/// Bytes as hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        from_hex(&text).map(Self).ok_or_else(|| serde::de::Error::custom("no hexadecimal digits"))
    }
}

impl Bytes {
    /// Resources as AVPs.
    pub fn of_resources(resources: &QosResources) -> Self {
        let mut bytes = Vec::new();
        resources.write_avps(&mut bytes);
        Self(bytes)
    }

    /// The resources of AVPs.
    pub fn resources(&self) -> Option<QosResources> {
        QosResources::read_avps(Avps::new(&self.0, 0)).ok()
    }
}

/// One record of accounting, as it is kept and shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The session.
    pub session: String,
    /// Its number in the session.
    pub number: u32,
    /// What kind of record.
    pub kind: RecordKind,
    /// The user, as the client says.
    pub user: Option<String>,
    /// The client.
    pub host: String,
    /// True if the server knows a grant for the session.
    pub granted: bool,
    /// When it happened, as the client says, in seconds of Unix time.
    pub at: Option<u64>,
    /// When it was taken, in seconds of Unix time.
    pub received: u64,
    /// How long the session has lasted, in seconds.
    pub lasted: Option<u32>,
    /// What is reserved.
    pub reserved: Vec<Reserved>,
    /// Delivered to the user: bytes of IP.
    pub input_bytes: u64,
    /// Delivered from the user: bytes of IP.
    pub output_bytes: u64,
    /// Delivered to the user: packets.
    pub input_packets: u64,
    /// Delivered from the user: packets.
    pub output_packets: u64,
    /// Why the session ended, in the words of RFC 6733.
    pub cause: Option<String>,
}

/// The kinds of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordKind {
    /// One record for something that has no duration.
    Event,
    /// A session begins.
    Start,
    /// It goes on.
    Interim,
    /// It has ended.
    Stop,
}

impl RecordKind {
    /// As the protocol says it.
    pub const fn of(kind: AccountingRecordType) -> Self {
        match kind {
            AccountingRecordType::Event => Self::Event,
            AccountingRecordType::Start => Self::Start,
            AccountingRecordType::Interim => Self::Interim,
            AccountingRecordType::Stop => Self::Stop,
        }
    }

    /// For the protocol.
    pub const fn kind(self) -> AccountingRecordType {
        match self {
            Self::Event => AccountingRecordType::Event,
            Self::Start => AccountingRecordType::Start,
            Self::Interim => AccountingRecordType::Interim,
            Self::Stop => AccountingRecordType::Stop,
        }
    }

    /// True if no more come after it.
    pub const fn is_last(self) -> bool {
        matches!(self, Self::Event | Self::Stop)
    }

    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Start => "start",
            Self::Interim => "interim",
            Self::Stop => "stop",
        }
    }
}

/// What is reserved for one flow.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reserved {
    /// The codepoint of its packets.
    pub dscp: Option<u8>,
    /// From the user, or to it.
    pub forward: bool,
    /// Bits per second.
    pub rate: u64,
}

impl Record {
    /// The record of a request.
    pub fn of(request: &AccountingRequest, granted: bool, received: u64) -> Self {
        let rules = request.qos_resources.iter().flat_map(|resources| &resources.rules);
        let reserved = rules.map(|rule| {
            let classifier = rule.classifier.as_ref();
            let bucket = rule.parameters.as_ref().and_then(|parameters| parameters.token_bucket.as_ref());
            Reserved {
                dscp: classifier.and_then(|classifier| classifier.dscp.first()).map(|dscp| dscp.number()),
                forward: classifier.is_none_or(|classifier| classifier.direction != Some(Direction::Out)),
                rate: bucket.map_or(0, |bucket| bucket.rate.0.saturating_mul(8)),
            }
        });
        Self {
            session: request.session_id.clone(),
            number: request.accounting_record_number,
            kind: RecordKind::of(request.accounting_record_type),
            user: request.user_name.clone(),
            host: request.origin_host.as_str().to_owned(),
            granted,
            at: request.event_timestamp.map(diameter::value::Time::to_unix),
            received,
            lasted: request.acct_session_time,
            reserved: reserved.collect(),
            input_bytes: request.accounting_input_octets.unwrap_or(0),
            output_bytes: request.accounting_output_octets.unwrap_or(0),
            input_packets: request.accounting_input_packets.unwrap_or(0),
            output_packets: request.accounting_output_packets.unwrap_or(0),
            cause: request.termination_cause.map(cause_name),
        }
    }
}

/// A cause in the words of RFC 6733, 8.15.
fn cause_name(cause: TerminationCause) -> String {
    match cause {
        TerminationCause::Logout => "logout",
        TerminationCause::ServiceNotProvided => "service-not-provided",
        TerminationCause::BadAnswer => "bad-answer",
        TerminationCause::Administrative => "administrative",
        TerminationCause::LinkBroken => "link-broken",
        TerminationCause::AuthExpired => "auth-expired",
        TerminationCause::UserMoved => "user-moved",
        TerminationCause::SessionTimeout => "session-timeout",
    }
    .to_owned()
}

/// What a client keeps of records that the server may not have.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum SpoolEntry {
    /// A record, as the whole request.
    Added {
        /// Its place in the spool.
        key: u64,
        /// The request.
        message: Bytes,
    },
    /// The server has it.
    Delivered {
        /// Its place in the spool.
        key: u64,
    },
    /// The last record of a session that goes on, which the server has.
    Last {
        /// The request.
        message: Bytes,
    },
}
