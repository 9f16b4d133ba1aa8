//! Records of accounting: RFC 6733, 9.7, with counters of RFC 7155, 4.6.
use alloc::string::String;
use alloc::vec::Vec;

use super::{
    AccountingRealtimeRequired, AccountingRecordType, ExperimentalResult, ProxyInfo, TerminationCause, result,
};
use crate::qos::QosResources;
use crate::result_code::ResultCode;
use crate::structure::structures;
use crate::value::{Identity, Time};

structures! {
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
}

impl AccountingAnswer {
    /// As [`super::AaAnswer::result`].
    pub fn result(&self) -> ResultCode {
        result(self.result_code, self.experimental_result.as_ref())
    }
}
