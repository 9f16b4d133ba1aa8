//! The bodies of commands: RFC 6733 (base and accounting) and RFC 7155 (AA), with the QoS AVPs of RFC 5777 in them.
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::avp::Avp;
use crate::error::DecodeError;
use crate::qos::QosResources;
use crate::result_code::ResultCode;
use crate::structure::structures;
use crate::value::{Identity, Time, Uri, Value, enumerated};

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
    /// What a peer is and can (RFC 6733, 5.3.1).
    CapabilitiesExchangeRequest {
        /// Its name.
        one ORIGIN_HOST origin_host: Identity,
        /// Its realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// The addresses that it may be reached by; at least one.
        many HOST_IP_ADDRESS host_ip_address: IpAddr,
        /// Who made it.
        one VENDOR_ID vendor_id: u32,
        /// What its maker calls it.
        one PRODUCT_NAME product_name: String,
        /// Grows when the peer has lost its state.
        maybe ORIGIN_STATE_ID origin_state_id: u32,
        /// Vendors whose AVPs it knows.
        many SUPPORTED_VENDOR_ID supported_vendor_id: u32,
        /// Applications that authorise.
        many AUTH_APPLICATION_ID auth_application_id: u32,
        /// Security to begin after this exchange; 0 is none.
        many INBAND_SECURITY_ID inband_security_id: u32,
        /// Applications that account.
        many ACCT_APPLICATION_ID acct_application_id: u32,
        /// Applications of vendors.
        many VENDOR_SPECIFIC_APPLICATION_ID vendor_specific_application_id: VendorSpecificApplicationId,
        /// The version of its software.
        maybe FIRMWARE_REVISION firmware_revision: u32,
    }
    /// The answer, with what the other peer is and can. One that fails may leave out most of it.
    CapabilitiesExchangeAnswer {
        /// Whether the peers will talk.
        one RESULT_CODE result_code: ResultCode,
        /// Its name.
        one ORIGIN_HOST origin_host: Identity,
        /// Its realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// The addresses that it may be reached by.
        many HOST_IP_ADDRESS host_ip_address: IpAddr,
        /// Who made it.
        maybe VENDOR_ID vendor_id: u32,
        /// What its maker calls it.
        maybe PRODUCT_NAME product_name: String,
        /// Grows when the peer has lost its state.
        maybe ORIGIN_STATE_ID origin_state_id: u32,
        /// Why not, for people.
        maybe ERROR_MESSAGE error_message: String,
        /// Which AVP was wrong.
        many FAILED_AVP failed_avp: Vec<u8>,
        /// Vendors whose AVPs it knows.
        many SUPPORTED_VENDOR_ID supported_vendor_id: u32,
        /// Applications that authorise.
        many AUTH_APPLICATION_ID auth_application_id: u32,
        /// Security to begin after this exchange; 0 is none.
        many INBAND_SECURITY_ID inband_security_id: u32,
        /// Applications that account.
        many ACCT_APPLICATION_ID acct_application_id: u32,
        /// Applications of vendors.
        many VENDOR_SPECIFIC_APPLICATION_ID vendor_specific_application_id: VendorSpecificApplicationId,
        /// The version of its software.
        maybe FIRMWARE_REVISION firmware_revision: u32,
    }
    /// Are you alive (RFC 6733, 5.5.1)?
    DeviceWatchdogRequest {
        /// Who asks.
        one ORIGIN_HOST origin_host: Identity,
        /// Of which realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// Grows when the peer has lost its state.
        maybe ORIGIN_STATE_ID origin_state_id: u32,
    }
    /// I am (RFC 6733, 5.5.2).
    DeviceWatchdogAnswer {
        /// Success.
        one RESULT_CODE result_code: ResultCode,
        /// Who answers.
        one ORIGIN_HOST origin_host: Identity,
        /// Of which realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// Why not, for people.
        maybe ERROR_MESSAGE error_message: String,
        /// Which AVP was wrong.
        many FAILED_AVP failed_avp: Vec<u8>,
        /// Grows when the peer has lost its state.
        maybe ORIGIN_STATE_ID origin_state_id: u32,
    }
    /// The connection is about to be closed (RFC 6733, 5.4.1).
    DisconnectPeerRequest {
        /// Who closes it.
        one ORIGIN_HOST origin_host: Identity,
        /// Of which realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// Why.
        one DISCONNECT_CAUSE disconnect_cause: DisconnectCause,
    }
    /// It may be closed (RFC 6733, 5.4.2).
    DisconnectPeerAnswer {
        /// Success.
        one RESULT_CODE result_code: ResultCode,
        /// Who answers.
        one ORIGIN_HOST origin_host: Identity,
        /// Of which realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// Why not, for people.
        maybe ERROR_MESSAGE error_message: String,
        /// Which AVP was wrong.
        many FAILED_AVP failed_avp: Vec<u8>,
    }
    /// The server wants the client to authorise again (RFC 6733, 8.3.1).
    ReAuthRequest {
        /// The session.
        one SESSION_ID session_id: String,
        /// Who asks.
        one ORIGIN_HOST origin_host: Identity,
        /// Of which realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// The client's realm.
        one DESTINATION_REALM destination_realm: Identity,
        /// The client.
        one DESTINATION_HOST destination_host: Identity,
        /// The application.
        one AUTH_APPLICATION_ID auth_application_id: u32,
        /// What is asked for.
        one RE_AUTH_REQUEST_TYPE re_auth_request_type: ReAuthRequestType,
        /// The user.
        maybe USER_NAME user_name: String,
        /// Grows when the server has lost its state.
        maybe ORIGIN_STATE_ID origin_state_id: u32,
        /// State of agents.
        many PROXY_INFO proxy_info: ProxyInfo,
        /// The agents on the way.
        many ROUTE_RECORD route_record: Identity,
    }
    /// The client has heard it (RFC 6733, 8.3.2).
    ReAuthAnswer {
        /// The session.
        one SESSION_ID session_id: String,
        /// Whether the client will.
        one RESULT_CODE result_code: ResultCode,
        /// Who answers.
        one ORIGIN_HOST origin_host: Identity,
        /// Of which realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// The user.
        maybe USER_NAME user_name: String,
        /// Grows when the client has lost its state.
        maybe ORIGIN_STATE_ID origin_state_id: u32,
        /// Why not, for people.
        maybe ERROR_MESSAGE error_message: String,
        /// Who says so, if not the one who answers.
        maybe ERROR_REPORTING_HOST error_reporting_host: Identity,
        /// Which AVP was wrong.
        many FAILED_AVP failed_avp: Vec<u8>,
        /// State of agents.
        many PROXY_INFO proxy_info: ProxyInfo,
    }
    /// May this session be (RFC 7155, 3.1)?
    AaRequest {
        /// The session.
        one SESSION_ID session_id: String,
        /// The application.
        one AUTH_APPLICATION_ID auth_application_id: u32,
        /// Who asks.
        one ORIGIN_HOST origin_host: Identity,
        /// Of which realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// The realm that decides.
        one DESTINATION_REALM destination_realm: Identity,
        /// What is asked for.
        one AUTH_REQUEST_TYPE auth_request_type: AuthRequestType,
        /// The server, once it is known.
        maybe DESTINATION_HOST destination_host: Identity,
        /// The user.
        maybe USER_NAME user_name: String,
        /// Grows when the client has lost its state.
        maybe ORIGIN_STATE_ID origin_state_id: u32,
        /// Whether the server should keep state.
        maybe AUTH_SESSION_STATE auth_session_state: AuthSessionState,
        /// How long it should hold, in seconds.
        maybe AUTHORIZATION_LIFETIME authorization_lifetime: u32,
        /// The flows, and the traffic that is asked for.
        maybe QOS_RESOURCES qos_resources: QosResources,
        /// State of agents.
        many PROXY_INFO proxy_info: ProxyInfo,
        /// The agents on the way.
        many ROUTE_RECORD route_record: Identity,
    }
    /// It may, or may not (RFC 7155, 3.2).
    AaAnswer {
        /// The session.
        one SESSION_ID session_id: String,
        /// The application; failures may leave it out.
        maybe AUTH_APPLICATION_ID auth_application_id: u32,
        /// What was asked for; failures may leave it out.
        maybe AUTH_REQUEST_TYPE auth_request_type: AuthRequestType,
        /// Whether it may be.
        maybe RESULT_CODE result_code: ResultCode,
        /// The same, by a vendor.
        maybe EXPERIMENTAL_RESULT experimental_result: ExperimentalResult,
        /// Who answers.
        one ORIGIN_HOST origin_host: Identity,
        /// Of which realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// The user.
        maybe USER_NAME user_name: String,
        /// What the server wants to find in records.
        many CLASS class: Vec<u8>,
        /// How often interim records are wanted, in seconds.
        maybe ACCT_INTERIM_INTERVAL acct_interim_interval: u32,
        /// Why not, for people.
        maybe ERROR_MESSAGE error_message: String,
        /// Who says so, if not the one who answers.
        maybe ERROR_REPORTING_HOST error_reporting_host: Identity,
        /// Which AVP was wrong.
        many FAILED_AVP failed_avp: Vec<u8>,
        /// How long the session may last, in seconds.
        maybe SESSION_TIMEOUT session_timeout: u32,
        /// How long this answer holds, in seconds.
        maybe AUTHORIZATION_LIFETIME authorization_lifetime: u32,
        /// How long the client may go on after that while it asks again, in seconds.
        maybe AUTH_GRACE_PERIOD auth_grace_period: u32,
        /// Whether the server keeps state.
        maybe AUTH_SESSION_STATE auth_session_state: AuthSessionState,
        /// Grows when the server has lost its state.
        maybe ORIGIN_STATE_ID origin_state_id: u32,
        /// The flows, and the traffic that is granted.
        maybe QOS_RESOURCES qos_resources: QosResources,
        /// State of agents.
        many PROXY_INFO proxy_info: ProxyInfo,
    }
    /// A record (RFC 6733, 9.7.1), with counters of RFC 7155, 4.6.
    AccountingRequest {
        /// The session.
        one SESSION_ID session_id: String,
        /// Who tells.
        one ORIGIN_HOST origin_host: Identity,
        /// Of which realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// The realm that keeps the record.
        one DESTINATION_REALM destination_realm: Identity,
        /// What kind of record.
        one ACCOUNTING_RECORD_TYPE accounting_record_type: AccountingRecordType,
        /// Its number in the session.
        one ACCOUNTING_RECORD_NUMBER accounting_record_number: u32,
        /// The application; accounting of the base protocol if it is left out.
        maybe ACCT_APPLICATION_ID acct_application_id: u32,
        /// The server.
        maybe DESTINATION_HOST destination_host: Identity,
        /// The user.
        maybe USER_NAME user_name: String,
        /// What the server that granted wants to find.
        many CLASS class: Vec<u8>,
        /// A session of which this is a part.
        maybe ACCOUNTING_SUB_SESSION_ID accounting_sub_session_id: u64,
        /// A name for sessions that belong together.
        maybe ACCT_MULTI_SESSION_ID acct_multi_session_id: String,
        /// How often interim records come, in seconds.
        maybe ACCT_INTERIM_INTERVAL acct_interim_interval: u32,
        /// What the client does if records do not arrive.
        maybe ACCOUNTING_REALTIME_REQUIRED accounting_realtime_required: AccountingRealtimeRequired,
        /// Grows when the client has lost its state.
        maybe ORIGIN_STATE_ID origin_state_id: u32,
        /// When it happened.
        maybe EVENT_TIMESTAMP event_timestamp: Time,
        /// Delivered to the user: bytes of IP.
        maybe ACCOUNTING_INPUT_OCTETS accounting_input_octets: u64,
        /// Delivered from the user: bytes of IP.
        maybe ACCOUNTING_OUTPUT_OCTETS accounting_output_octets: u64,
        /// Delivered to the user: packets.
        maybe ACCOUNTING_INPUT_PACKETS accounting_input_packets: u64,
        /// Delivered from the user: packets.
        maybe ACCOUNTING_OUTPUT_PACKETS accounting_output_packets: u64,
        /// How long the session has lasted, in seconds.
        maybe ACCT_SESSION_TIME acct_session_time: u32,
        /// Why the session ended, in a stop record.
        maybe TERMINATION_CAUSE termination_cause: TerminationCause,
        /// What was reserved for it.
        maybe QOS_RESOURCES qos_resources: QosResources,
        /// State of agents.
        many PROXY_INFO proxy_info: ProxyInfo,
        /// The agents on the way.
        many ROUTE_RECORD route_record: Identity,
    }
    /// The record is kept, or not (RFC 6733, 9.7.2).
    AccountingAnswer {
        /// The session.
        one SESSION_ID session_id: String,
        /// Whether it is kept.
        maybe RESULT_CODE result_code: ResultCode,
        /// The same, by a vendor.
        maybe EXPERIMENTAL_RESULT experimental_result: ExperimentalResult,
        /// Who answers.
        one ORIGIN_HOST origin_host: Identity,
        /// Of which realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// As in the request; failures may leave it out.
        maybe ACCOUNTING_RECORD_TYPE accounting_record_type: AccountingRecordType,
        /// As in the request; failures may leave it out.
        maybe ACCOUNTING_RECORD_NUMBER accounting_record_number: u32,
        /// The application.
        maybe ACCT_APPLICATION_ID acct_application_id: u32,
        /// The user.
        maybe USER_NAME user_name: String,
        /// Why not, for people.
        maybe ERROR_MESSAGE error_message: String,
        /// Who says so, if not the one who answers.
        maybe ERROR_REPORTING_HOST error_reporting_host: Identity,
        /// Which AVP was wrong.
        many FAILED_AVP failed_avp: Vec<u8>,
        /// How often interim records are wanted, in seconds.
        maybe ACCT_INTERIM_INTERVAL acct_interim_interval: u32,
        /// What the client does if records do not arrive.
        maybe ACCOUNTING_REALTIME_REQUIRED accounting_realtime_required: AccountingRealtimeRequired,
        /// Grows when the server has lost its state.
        maybe ORIGIN_STATE_ID origin_state_id: u32,
        /// State of agents.
        many PROXY_INFO proxy_info: ProxyInfo,
    }
    /// The server ends a session (RFC 6733, 8.5.1).
    AbortSessionRequest {
        /// The session.
        one SESSION_ID session_id: String,
        /// Who ends it.
        one ORIGIN_HOST origin_host: Identity,
        /// Of which realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// The client's realm.
        one DESTINATION_REALM destination_realm: Identity,
        /// The client.
        one DESTINATION_HOST destination_host: Identity,
        /// The application.
        one AUTH_APPLICATION_ID auth_application_id: u32,
        /// The user.
        maybe USER_NAME user_name: String,
        /// Grows when the server has lost its state.
        maybe ORIGIN_STATE_ID origin_state_id: u32,
        /// State of agents.
        many PROXY_INFO proxy_info: ProxyInfo,
        /// The agents on the way.
        many ROUTE_RECORD route_record: Identity,
    }
    /// The client has ended it, or not (RFC 6733, 8.5.2).
    AbortSessionAnswer {
        /// The session.
        one SESSION_ID session_id: String,
        /// Whether it has.
        one RESULT_CODE result_code: ResultCode,
        /// Who answers.
        one ORIGIN_HOST origin_host: Identity,
        /// Of which realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// The user.
        maybe USER_NAME user_name: String,
        /// Grows when the client has lost its state.
        maybe ORIGIN_STATE_ID origin_state_id: u32,
        /// Why not, for people.
        maybe ERROR_MESSAGE error_message: String,
        /// Who says so, if not the one who answers.
        maybe ERROR_REPORTING_HOST error_reporting_host: Identity,
        /// Which AVP was wrong.
        many FAILED_AVP failed_avp: Vec<u8>,
        /// State of agents.
        many PROXY_INFO proxy_info: ProxyInfo,
    }
    /// The client has ended a session (RFC 6733, 8.4.1).
    SessionTerminationRequest {
        /// The session.
        one SESSION_ID session_id: String,
        /// Who tells.
        one ORIGIN_HOST origin_host: Identity,
        /// Of which realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// The server's realm.
        one DESTINATION_REALM destination_realm: Identity,
        /// The application.
        one AUTH_APPLICATION_ID auth_application_id: u32,
        /// Why.
        one TERMINATION_CAUSE termination_cause: TerminationCause,
        /// The user.
        maybe USER_NAME user_name: String,
        /// The server.
        maybe DESTINATION_HOST destination_host: Identity,
        /// What the server wanted to find.
        many CLASS class: Vec<u8>,
        /// Grows when the client has lost its state.
        maybe ORIGIN_STATE_ID origin_state_id: u32,
        /// State of agents.
        many PROXY_INFO proxy_info: ProxyInfo,
        /// The agents on the way.
        many ROUTE_RECORD route_record: Identity,
    }
    /// The server has heard it (RFC 6733, 8.4.2).
    SessionTerminationAnswer {
        /// The session.
        one SESSION_ID session_id: String,
        /// Whether the server knew it.
        one RESULT_CODE result_code: ResultCode,
        /// Who answers.
        one ORIGIN_HOST origin_host: Identity,
        /// Of which realm.
        one ORIGIN_REALM origin_realm: Identity,
        /// The user.
        maybe USER_NAME user_name: String,
        /// Why not, for people.
        maybe ERROR_MESSAGE error_message: String,
        /// Who says so, if not the one who answers.
        maybe ERROR_REPORTING_HOST error_reporting_host: Identity,
        /// Which AVP was wrong.
        many FAILED_AVP failed_avp: Vec<u8>,
        /// Grows when the server has lost its state.
        maybe ORIGIN_STATE_ID origin_state_id: u32,
        /// State of agents.
        many PROXY_INFO proxy_info: ProxyInfo,
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

impl AaAnswer {
    /// The result: Result-Code, else that of Experimental-Result, else DIAMETER_MISSING_AVP, so that an answer without one
    /// grants nothing.
    pub fn result(&self) -> ResultCode {
        result(self.result_code, self.experimental_result.as_ref())
    }
}

impl AccountingAnswer {
    /// As [`AaAnswer::result`].
    pub fn result(&self) -> ResultCode {
        result(self.result_code, self.experimental_result.as_ref())
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
