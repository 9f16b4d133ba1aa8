//! What this node says of itself, and answers that refuse a request.
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::avp::AvpCode;
use crate::command::{
    CapabilitiesExchangeAnswer, CapabilitiesExchangeRequest, DeviceWatchdogAnswer, DeviceWatchdogRequest,
    DisconnectCause, DisconnectPeerAnswer, DisconnectPeerRequest, ErrorAnswer, ProxyInfo, SessionAnswer,
    VendorSpecificApplicationId,
};
use crate::error::DecodeError;
use crate::header::{ApplicationId, Header};
use crate::message::{Message, RawMessage};
use crate::result_code::{Class, ResultCode};
use crate::value::{Identity, Value};

/// This node.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its name.
    pub host: Identity,
    /// Its realm.
    pub realm: Identity,
    /// The addresses that it tells peers; at least one.
    pub addresses: Vec<IpAddr>,
    /// What it calls itself.
    pub product_name: String,
    /// Grows with each start that has lost the state of sessions; 0 is not told.
    pub origin_state_id: u32,
    /// Applications that authorise. [`ApplicationId::RELAY`] stands for all.
    pub auth_applications: Vec<ApplicationId>,
    /// Applications that account. [`ApplicationId::RELAY`] stands for all.
    pub acct_applications: Vec<ApplicationId>,
}

/// The applications that a peer has told, of all kinds.
pub(crate) fn told_applications(
    auth: &[u32],
    acct: &[u32],
    of_vendors: &[VendorSpecificApplicationId],
) -> Vec<ApplicationId> {
    let vendors =
        of_vendors.iter().flat_map(|one| [one.auth_application_id, one.acct_application_id]).flatten();
    auth.iter().chain(acct).copied().chain(vendors).map(ApplicationId).collect()
}

impl Local {
    /// Its answer as a client to a request of the server about a session, without more than that.
    pub fn session_answer(
        &self,
        session_id: String,
        proxy_info: Vec<ProxyInfo>,
        result_code: ResultCode,
    ) -> SessionAnswer {
        SessionAnswer {
            session_id,
            result_code,
            origin_host: self.host.clone(),
            origin_realm: self.realm.clone(),
            user_name: None,
            origin_state_id: None,
            error_message: None,
            error_reporting_host: None,
            failed_avp: Vec::new(),
            proxy_info,
            other: Vec::new(),
        }
    }

    fn state_id(&self) -> Option<u32> {
        (self.origin_state_id != 0).then_some(self.origin_state_id)
    }

    /// The applications that both know; `None` if there is none. A relay knows all.
    pub(crate) fn common(&self, told: &[ApplicationId]) -> Option<Vec<ApplicationId>> {
        let ours = || self.auth_applications.iter().chain(&self.acct_applications).copied();
        let mut common: Vec<_> = if told.contains(&ApplicationId::RELAY) {
            ours().collect()
        } else if ours().any(|one| one == ApplicationId::RELAY) {
            told.to_vec()
        } else {
            ours().filter(|one| told.contains(one)).collect()
        };
        common.sort_unstable();
        common.dedup();
        (!common.is_empty()).then_some(common)
    }

    fn capabilities(&self) -> CapabilitiesExchangeRequest {
        let numbers = |list: &[ApplicationId]| list.iter().map(|one| one.0).collect();
        CapabilitiesExchangeRequest {
            origin_host: self.host.clone(),
            origin_realm: self.realm.clone(),
            host_ip_address: self.addresses.clone(),
            vendor_id: 0,
            product_name: self.product_name.clone(),
            origin_state_id: self.state_id(),
            supported_vendor_id: Vec::new(),
            auth_application_id: numbers(&self.auth_applications),
            // No TLS after this exchange. RFC 6733 lets it be left out, but not every peer does.
            inband_security_id: vec![0],
            acct_application_id: numbers(&self.acct_applications),
            vendor_specific_application_id: Vec::new(),
            firmware_revision: None,
            other: Vec::new(),
        }
    }

    pub(crate) fn capabilities_request(&self) -> Message {
        Message::CapabilitiesExchangeRequest(self.capabilities())
    }

    pub(crate) fn capabilities_answer(&self, result_code: ResultCode) -> Message {
        let own = self.capabilities();
        Message::CapabilitiesExchangeAnswer(CapabilitiesExchangeAnswer {
            result_code,
            origin_host: own.origin_host,
            origin_realm: own.origin_realm,
            host_ip_address: own.host_ip_address,
            vendor_id: Some(own.vendor_id),
            product_name: Some(own.product_name),
            origin_state_id: own.origin_state_id,
            error_message: None,
            failed_avp: Vec::new(),
            supported_vendor_id: own.supported_vendor_id,
            auth_application_id: own.auth_application_id,
            inband_security_id: own.inband_security_id,
            acct_application_id: own.acct_application_id,
            vendor_specific_application_id: own.vendor_specific_application_id,
            firmware_revision: own.firmware_revision,
            other: own.other,
        })
    }

    pub(crate) fn watchdog_request(&self) -> Message {
        Message::DeviceWatchdogRequest(DeviceWatchdogRequest {
            origin_host: self.host.clone(),
            origin_realm: self.realm.clone(),
            origin_state_id: self.state_id(),
            other: Vec::new(),
        })
    }

    pub(crate) fn watchdog_answer(&self) -> Message {
        Message::DeviceWatchdogAnswer(DeviceWatchdogAnswer {
            result_code: ResultCode::SUCCESS,
            origin_host: self.host.clone(),
            origin_realm: self.realm.clone(),
            error_message: None,
            failed_avp: Vec::new(),
            origin_state_id: self.state_id(),
            other: Vec::new(),
        })
    }

    pub(crate) fn disconnect_request(&self, disconnect_cause: DisconnectCause) -> Message {
        Message::DisconnectPeerRequest(DisconnectPeerRequest {
            origin_host: self.host.clone(),
            origin_realm: self.realm.clone(),
            disconnect_cause,
            other: Vec::new(),
        })
    }

    pub(crate) fn disconnect_answer(&self) -> Message {
        Message::DisconnectPeerAnswer(DisconnectPeerAnswer {
            result_code: ResultCode::SUCCESS,
            origin_host: self.host.clone(),
            origin_realm: self.realm.clone(),
            error_message: None,
            failed_avp: Vec::new(),
            other: Vec::new(),
        })
    }

    /// The answer that refuses a request that cannot be read.
    pub fn refuse_unreadable(&self, request: &[u8], error: &DecodeError) -> Vec<u8> {
        let failed = error.failed_avp(request);
        self.refusal(request, error.result_code(), Some(error.to_string()), failed)
    }

    /// The answer that refuses a request, in the form of RFC 6733, 7.2, which any command may be answered with. It has the
    /// Session-Id and the Proxy-Info of the request, as far as they can be read. Empty if not even the header can,
    /// or if it is no request.
    pub fn refuse(&self, request: &[u8], code: ResultCode, text: &str) -> Vec<u8> {
        self.refusal(request, code, (!text.is_empty()).then(|| text.into()), None)
    }

    fn refusal(
        &self,
        request: &[u8],
        code: ResultCode,
        text: Option<String>,
        failed: Option<Vec<u8>>,
    ) -> Vec<u8> {
        let Ok((header, _)) = Header::read(request) else { return Vec::new() };
        if !header.is_request() {
            return Vec::new();
        }
        let mut session_id = None;
        let mut proxy_info = Vec::new();
        if let Ok(raw) = RawMessage::read(request) {
            for avp in raw.avps().map_while(Result::ok) {
                if avp.is(AvpCode::SESSION_ID) && session_id.is_none() {
                    session_id = String::read(&avp).ok();
                } else if avp.is(AvpCode::PROXY_INFO) {
                    proxy_info.extend(ProxyInfo::read(&avp));
                }
            }
        }
        let body = Message::Error(ErrorAnswer {
            session_id,
            origin_host: self.host.clone(),
            origin_realm: self.realm.clone(),
            result_code: code,
            origin_state_id: self.state_id(),
            error_message: text,
            error_reporting_host: None,
            failed_avp: failed.map_or_else(Vec::new, |avp| vec![avp]),
            redirect_host: Vec::new(),
            experimental_result: None,
            proxy_info,
            other: Vec::new(),
        });
        // The error bit is for protocol errors; permanent and transient failures go without (RFC 6733, 7.1).
        let protocol_error = code.class() == Class::ProtocolError;
        let header = if protocol_error { header.answer().with_error() } else { header.answer() };
        let mut out = Vec::new();
        // It is no longer than the request and some lines.
        if body.encode(&header, &mut out).is_err() {
            return Vec::new();
        }
        out
    }
}
