//! What peers tell each other about themselves and their connection: RFC 6733, 5.
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

use super::{DisconnectCause, VendorSpecificApplicationId};
use crate::result_code::ResultCode;
use crate::structure::structures;
use crate::value::Identity;

structures! {
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
}
