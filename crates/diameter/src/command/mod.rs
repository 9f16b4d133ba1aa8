//! The bodies of commands: RFC 6733 (base and accounting) and RFC 7155 (AA), with the QoS AVPs of RFC 5777 in them.
mod exchange;
mod record;
mod session;

use alloc::string::String;
use alloc::vec::Vec;

use crate::avp::Avp;
use crate::error::DecodeError;
use crate::result_code::ResultCode;
use crate::structure::structures;
use crate::value::{Identity, Uri, Value, enumerated};

pub use exchange::*;
pub use record::*;
pub use session::*;

impl Value for ResultCode {
    fn read(avp: &Avp<'_>) -> Result<Self, DecodeError> {
        u32::read(avp).map(Self)
    }
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }
}

enumerated! {
    /// Why a peer closes the connection.
    DisconnectCause {
        /// It starts again and is there soon.
        Rebooting = 0,
        /// It has no room; later, perhaps.
        Busy = 1,
        /// It has nothing to say; do not connect by yourself.
        DoNotWantToTalkToYou = 2,
    }
    /// What an AA request asks for.
    AuthRequestType {
        /// Who the user is.
        AuthenticateOnly = 1,
        /// What the user may.
        AuthorizeOnly = 2,
        /// Both.
        AuthorizeAuthenticate = 3,
    }
    /// Whether the server keeps state of the session.
    AuthSessionState {
        /// It does: the client tells it of the end.
        StateMaintained = 0,
        /// It does not.
        NoStateMaintained = 1,
    }
    /// What a Re-Auth request asks for.
    ReAuthRequestType {
        /// What the user may.
        AuthorizeOnly = 0,
        /// Also who the user is.
        AuthorizeAuthenticate = 1,
    }
    /// Why a session ended.
    TerminationCause {
        /// The user wanted it.
        Logout = 1,
        /// The service was not provided.
        ServiceNotProvided = 2,
        /// The answer could not be used.
        BadAnswer = 3,
        /// The operator or the server wanted it.
        Administrative = 4,
        /// The connection of the user is gone.
        LinkBroken = 5,
        /// The authorization ran out.
        AuthExpired = 6,
        /// The user is elsewhere now.
        UserMoved = 7,
        /// The session had its time.
        SessionTimeout = 8,
    }
    /// What kind of record.
    AccountingRecordType {
        /// One record for something that has no duration.
        Event = 1,
        /// A session begins.
        Start = 2,
        /// It goes on.
        Interim = 3,
        /// It has ended.
        Stop = 4,
    }
    /// What the client does with a session whose records do not arrive.
    AccountingRealtimeRequired {
        /// The session needs each record delivered.
        DeliverAndGrant = 1,
        /// The session needs each record delivered or stored.
        GrantAndStore = 2,
        /// The session goes on anyhow.
        GrantAndLose = 3,
    }
}

structures! {
    /// The applications of a vendor.
    VendorSpecificApplicationId {
        /// The vendor.
        one VENDOR_ID vendor_id: u32,
        /// One that authorises.
        maybe AUTH_APPLICATION_ID auth_application_id: u32,
        /// One that accounts.
        maybe ACCT_APPLICATION_ID acct_application_id: u32,
    }
    /// A result that a vendor defines.
    ExperimentalResult {
        /// The vendor.
        one VENDOR_ID vendor_id: u32,
        /// The result; its thousands are classes as those of Result-Code.
        one EXPERIMENTAL_RESULT_CODE code: ResultCode,
    }
    /// State that an agent finds again in the answer.
    ProxyInfo {
        /// The agent.
        one PROXY_HOST host: Identity,
        /// Its state.
        one PROXY_STATE state: Vec<u8>,
    }
    /// An answer that tells of an error, to any command (RFC 6733, 7.2).
    ErrorAnswer {
        /// The session, if the request had one.
        maybe SESSION_ID session_id: String,
        /// Who answers.
        one ORIGIN_HOST origin_host: Identity,
        /// Of which realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// What went wrong.
        one RESULT_CODE result_code: ResultCode,
        /// Grows when the sender has lost its state.
        maybe ORIGIN_STATE_ID origin_state_id: u32,
        /// The same for people.
        maybe ERROR_MESSAGE error_message: String,
        /// Who says so, if not the one who answers.
        maybe ERROR_REPORTING_HOST error_reporting_host: Identity,
        /// Which AVP was wrong.
        many FAILED_AVP failed_avp: Vec<u8>,
        /// Other servers to ask, after DIAMETER_REDIRECT_INDICATION.
        many REDIRECT_HOST redirect_host: Uri,
        /// The same, by a vendor.
        maybe EXPERIMENTAL_RESULT experimental_result: ExperimentalResult,
        /// State of agents.
        many PROXY_INFO proxy_info: ProxyInfo,
    }
}

/// Where both are there, the one that does not succeed counts.
fn result(code: Option<ResultCode>, experimental: Option<&ExperimentalResult>) -> ResultCode {
    match (code, experimental) {
        (Some(code), Some(experimental)) if code.is_success() => experimental.code,
        (Some(code), _) => code,
        (None, Some(experimental)) => experimental.code,
        (None, None) => ResultCode::MISSING_AVP,
    }
}
