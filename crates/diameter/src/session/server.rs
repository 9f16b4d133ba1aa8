//! A session at the server: granted, renewed, aborted, ended.
use alloc::string::String;
use alloc::vec::Vec;

use super::{SECOND, after};
use crate::command::{
    AaAnswer, AaRequest, AbortSessionRequest, AuthSessionState, ReAuthRequest, ReAuthRequestType,
    SessionTerminationAnswer, SessionTerminationRequest,
};
use crate::local::Local;
use crate::qos::QosResources;
use crate::result_code::ResultCode;
use crate::value::Identity;

/// What is granted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grant {
    /// How long it holds, in seconds.
    pub lifetime: u32,
    /// How long the client may go on after that while it asks again, in seconds.
    pub grace: u32,
    /// How long the session may last, in seconds; `None` without end.
    pub session_timeout: Option<u32>,
    /// How often interim records are wanted, in seconds.
    pub interim_interval: Option<u32>,
    /// What is to be found in records.
    pub class: Vec<u8>,
    /// The flows and their traffic.
    pub qos_resources: Option<QosResources>,
}

/// A session as its owner has stored it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restored {
    /// The session.
    pub session_id: String,
    /// The application.
    pub application: u32,
    /// The client.
    pub host: Identity,
    /// The client's realm.
    pub realm: Identity,
    /// How long a grant holds, with what the client may take to ask again, in seconds.
    pub lifetime: u32,
    /// How long the session may still last, in seconds; `None` without end.
    pub remaining: Option<u32>,
    /// True if it was being aborted.
    pub aborting: bool,
}

/// The states of RFC 6733, 8.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Not granted.
    Idle,
    /// Granted.
    Open,
    /// An abort is under way. No more is granted.
    Disconnecting,
    /// Over.
    Ended,
}

/// One session.
#[derive(Debug)]
pub struct Server {
    local: Local,
    session_id: String,
    application: u32,
    /// The client, which is told of re-authorization and aborts.
    client: Option<(Identity, Identity)>,
    state: State,
    expires: Option<u64>,
    times_out: Option<u64>,
}

impl Server {
    /// The session of a request that is yet to be decided.
    pub fn new(local: Local, request: &AaRequest) -> Self {
        Self {
            local,
            session_id: request.session_id.clone(),
            application: request.auth_application_id,
            client: None,
            state: State::Idle,
            expires: None,
            times_out: None,
        }
    }

    /// A session that was granted before a restart. It may have been renewed until then, so that its grant counts from now.
    pub fn restored(local: Local, now: u64, grant: &Restored) -> Self {
        Self {
            local,
            session_id: grant.session_id.clone(),
            application: grant.application,
            client: Some((grant.host.clone(), grant.realm.clone())),
            state: if grant.aborting { State::Disconnecting } else { State::Open },
            expires: after(now, grant.lifetime),
            times_out: grant.remaining.and_then(|seconds| after(now, seconds)),
        }
    }

    /// The state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// When [`Self::on_timer`] is to be called.
    pub fn due(&self) -> Option<u64> {
        [self.expires, self.times_out].into_iter().flatten().min()
    }

    /// Decides a request, the first or one to renew. A session that is being aborted, or is over, or belongs to another
    /// client, is refused whatever the decision is.
    pub fn decide(&mut self, now: u64, request: &AaRequest, decision: Result<Grant, ResultCode>) -> AaAnswer {
        self.on_timer(now);
        let other = self.client.as_ref().is_some_and(|(host, _)| *host != request.origin_host);
        let decision = match (self.state, decision) {
            _ if other || request.session_id != self.session_id => Err(ResultCode::UNKNOWN_SESSION_ID),
            (State::Disconnecting | State::Ended, _) => Err(ResultCode::AUTHORIZATION_REJECTED),
            (_, Err(code)) if code.is_success() => Err(ResultCode::UNABLE_TO_COMPLY),
            (_, decision) => decision,
        };
        let mut answer = AaAnswer {
            session_id: request.session_id.clone(),
            auth_application_id: Some(request.auth_application_id),
            auth_request_type: Some(request.auth_request_type),
            result_code: None,
            experimental_result: None,
            origin_host: self.local.host.clone(),
            origin_realm: self.local.realm.clone(),
            user_name: request.user_name.clone(),
            class: Vec::new(),
            acct_interim_interval: None,
            error_message: None,
            error_reporting_host: None,
            failed_avp: Vec::new(),
            session_timeout: None,
            authorization_lifetime: None,
            auth_grace_period: None,
            auth_session_state: Some(AuthSessionState::StateMaintained),
            origin_state_id: (self.local.origin_state_id != 0).then_some(self.local.origin_state_id),
            qos_resources: None,
            proxy_info: request.proxy_info.clone(),
            other: Vec::new(),
        };
        match decision {
            Ok(grant) => {
                let first = self.state == State::Idle;
                self.state = State::Open;
                self.client = Some((request.origin_host.clone(), request.origin_realm.clone()));
                let grace = u64::from(grant.grace).saturating_mul(SECOND);
                self.expires = after(now, grant.lifetime).map(|end| end.saturating_add(grace));
                if first {
                    self.times_out = grant.session_timeout.and_then(|seconds| after(now, seconds));
                }
                // What is left, in each answer: a client that has started anew knows of none.
                let left = |end: u64| u32::try_from(end.saturating_sub(now) / SECOND).unwrap_or(u32::MAX - 1);
                answer.session_timeout = self.times_out.map(left);
                answer.result_code = Some(ResultCode::SUCCESS);
                answer.authorization_lifetime = Some(grant.lifetime);
                answer.auth_grace_period = Some(grant.grace);
                answer.acct_interim_interval = grant.interim_interval;
                answer.qos_resources = grant.qos_resources;
                if !grant.class.is_empty() {
                    answer.class.push(grant.class);
                }
            }
            Err(code) => {
                answer.result_code = Some(code);
                // A request of another client ends nothing.
                if !other && matches!(self.state, State::Idle | State::Open) {
                    self.end();
                }
            }
        }
        answer
    }

    /// A request that makes the client ask again; `None` unless the session is open.
    pub fn re_auth(&self) -> Option<ReAuthRequest> {
        let (host, realm) = self.client.clone().filter(|_| self.state == State::Open)?;
        Some(ReAuthRequest {
            session_id: self.session_id.clone(),
            origin_host: self.local.host.clone(),
            origin_realm: self.local.realm.clone(),
            destination_realm: realm,
            destination_host: host,
            auth_application_id: self.application,
            re_auth_request_type: ReAuthRequestType::AuthorizeOnly,
            user_name: None,
            origin_state_id: None,
            proxy_info: Vec::new(),
            route_record: Vec::new(),
            other: Vec::new(),
        })
    }

    /// Ends the session from here: the request to send, again and again until [`Self::on_abort_answer`]. From now on nothing
    /// is granted. `None` if there is nothing to end.
    pub fn abort(&mut self) -> Option<AbortSessionRequest> {
        if !matches!(self.state, State::Open | State::Disconnecting) {
            return None;
        }
        let (host, realm) = self.client.clone()?;
        self.state = State::Disconnecting;
        Some(AbortSessionRequest {
            session_id: self.session_id.clone(),
            origin_host: self.local.host.clone(),
            origin_realm: self.local.realm.clone(),
            destination_realm: realm,
            destination_host: host,
            auth_application_id: self.application,
            user_name: None,
            origin_state_id: None,
            proxy_info: Vec::new(),
            route_record: Vec::new(),
            other: Vec::new(),
        })
    }

    /// The client has answered the abort. It has ended the session, or does not know it; other codes change nothing.
    pub fn on_abort_answer(&mut self, code: ResultCode) {
        let ended = code.is_success() || code == ResultCode::UNKNOWN_SESSION_ID;
        if self.state == State::Disconnecting && ended {
            self.end();
        }
    }

    /// The client says that the session has ended.
    pub fn on_termination(&mut self, request: &SessionTerminationRequest) -> SessionTerminationAnswer {
        let ours = request.session_id == self.session_id
            && self.client.as_ref().is_some_and(|(host, _)| *host == request.origin_host);
        let known = ours && matches!(self.state, State::Open | State::Disconnecting);
        if known {
            self.end();
        }
        let code = if known { ResultCode::SUCCESS } else { ResultCode::UNKNOWN_SESSION_ID };
        termination_answer(&self.local, request, code)
    }

    /// True if the session has ended by its time.
    pub fn on_timer(&mut self, now: u64) -> bool {
        let over = self.due().is_some_and(|due| due <= now);
        if over {
            self.end();
        }
        over
    }

    const fn end(&mut self) {
        self.state = State::Ended;
        (self.expires, self.times_out) = (None, None);
    }
}

/// The answer to a Session-Termination-Request, also for a session that is not known.
pub fn termination_answer(
    local: &Local,
    request: &SessionTerminationRequest,
    result_code: ResultCode,
) -> SessionTerminationAnswer {
    SessionTerminationAnswer {
        session_id: request.session_id.clone(),
        result_code,
        origin_host: local.host.clone(),
        origin_realm: local.realm.clone(),
        user_name: request.user_name.clone(),
        error_message: None,
        error_reporting_host: None,
        failed_avp: Vec::new(),
        origin_state_id: (local.origin_state_id != 0).then_some(local.origin_state_id),
        proxy_info: request.proxy_info.clone(),
        other: Vec::new(),
    }
}
