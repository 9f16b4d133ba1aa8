//! Sessions that are authorised, renewed and ended: RFC 6733, 8, and RFC 7155, 3.
use alloc::string::String;
use alloc::vec::Vec;

use super::{
    AuthRequestType, AuthSessionState, ExperimentalResult, ProxyInfo, ReAuthRequestType, TerminationCause,
    result,
};
use crate::qos::QosResources;
use crate::result_code::ResultCode;
use crate::structure::structures;
use crate::value::Identity;

structures! {
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
    /// The client's answer to a request of the server about a session (RFC 6733, 8.3.2 and 8.5.2).
    SessionAnswer {
        /// The session.
        one SESSION_ID session_id: String,
        /// Whether the client will, or has.
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
        /// What shows that it is the user (RFC 7155, 4.3.1); it goes in clear from agent to agent.
        maybe USER_PASSWORD user_password: Vec<u8>,
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
}

impl AaAnswer {
    /// The result: Result-Code, else that of Experimental-Result, else DIAMETER_MISSING_AVP, so that an answer without one
    /// grants nothing.
    pub fn result(&self) -> ResultCode {
        result(self.result_code, self.experimental_result.as_ref())
    }
}
