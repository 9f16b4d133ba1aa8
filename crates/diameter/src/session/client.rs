//! A session at the client: asked for, open, renewed, ended.
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use super::{SECOND, after};
use crate::command::{
    AaAnswer, AaRequest, AbortSessionRequest, AuthRequestType, AuthSessionState, ReAuthRequest,
    SessionTerminationRequest, TerminationCause,
};
use crate::local::Local;
use crate::message::Message;
use crate::qos::QosResources;
use crate::result_code::{Class, ResultCode};
use crate::value::Identity;

/// Nanoseconds until a renewal that had no answer is tried again.
const RETRY: u64 = 5 * SECOND;

/// Whom to ask, and for what.
#[derive(Clone, Debug)]
pub struct Request {
    /// The session, made by [`super::session_id`].
    pub session_id: String,
    /// The application, such as NASREQ.
    pub application: u32,
    /// The realm that decides.
    pub realm: Identity,
    /// The user.
    pub user: Option<String>,
    /// What shows that it is the user, if the server is to authenticate as well. It goes in clear from agent to agent.
    pub password: Option<Vec<u8>>,
    /// The flows and their traffic.
    pub qos_resources: Option<QosResources>,
}

/// The states of RFC 6733, 8.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Not asked for yet.
    Idle,
    /// Asked for.
    Pending,
    /// Granted.
    Open,
    /// Ended here, and the server has not confirmed it.
    Disconnecting,
    /// Over.
    Ended,
}

/// Why a session is over, or never was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndReason {
    /// The server refused it, or its renewal.
    Refused(ResultCode),
    /// No server answered the first request.
    Unreachable,
    /// The server ended it.
    Aborted,
    /// The grant ran out and was not renewed.
    Expired,
    /// It had its time.
    SessionTimeout,
    /// [`Client::terminate`] was called.
    Terminated(TerminationCause),
}

/// A session of an earlier run that goes on.
#[derive(Clone, Debug)]
pub struct Restored {
    /// What the server wants to find in records.
    pub class: Vec<Vec<u8>>,
    /// The end of the grant, or that of the session if it comes sooner. It holds until an answer says another end.
    pub until: u64,
}

/// What the owner has to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Send a request, with a new End-to-End Identifier, to the realm of the session.
    Send(Message),
    /// Answer the request that was just handed in.
    Answer(Message),
    /// The session is open: serve what is granted, which may be less than what was asked for.
    Granted {
        /// The flows and their traffic; what was asked for if the server said nothing of it.
        qos_resources: Option<QosResources>,
        /// What the server wants to find in records.
        class: Vec<Vec<u8>>,
        /// How often interim records are wanted, in seconds.
        interim_interval: Option<u32>,
    },
    /// Stop serving.
    Ended(EndReason),
}

/// One session.
#[derive(Debug)]
pub struct Client {
    local: Local,
    request: Request,
    state: State,
    /// The server that granted.
    server: Option<Identity>,
    class: Vec<Vec<u8>>,
    /// When the request that waits for an answer was made.
    asked: Option<u64>,
    renew_at: Option<u64>,
    /// The end of the grant.
    expires: Option<u64>,
    /// The end of the session.
    times_out: Option<u64>,
    /// It is of an earlier run, whose Session-Timeout is known by its end alone.
    is_restored: bool,
    outputs: VecDeque<Output>,
}

impl Client {
    /// A session that is not asked for yet.
    pub const fn new(local: Local, request: Request) -> Self {
        Self {
            local,
            request,
            state: State::Idle,
            server: None,
            class: Vec::new(),
            asked: None,
            renew_at: None,
            expires: None,
            times_out: None,
            is_restored: false,
            outputs: VecDeque::new(),
        }
    }

    /// A session that is open, as it was before a restart. The server is to be asked again at once.
    pub fn restored(local: Local, request: Request, restored: Restored, now: u64) -> Self {
        let mut session = Self::new(local, request);
        session.state = State::Open;
        session.class = restored.class;
        session.renew_at = Some(now);
        session.expires = Some(restored.until);
        session.is_restored = true;
        session
    }

    /// When it ends unless it is renewed; `None` if the server has said no end, or has not granted it.
    pub fn until(&self) -> Option<u64> {
        [self.expires, self.times_out].into_iter().flatten().min()
    }

    /// The state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// True while what was granted may be served.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// The session.
    pub fn session_id(&self) -> &str {
        &self.request.session_id
    }

    /// What to do next.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Self::on_timer`] is to be called.
    pub fn due(&self) -> Option<u64> {
        [self.renew_at, self.expires, self.times_out].into_iter().flatten().min()
    }

    /// Asks the server. Nothing happens unless the session is idle.
    pub fn ask(&mut self, now: u64) {
        if self.state == State::Idle {
            self.state = State::Pending;
            self.send_request(now);
        }
    }

    fn send_request(&mut self, now: u64) {
        self.asked = Some(now);
        self.renew_at = None;
        let request = &self.request;
        let message = Message::AaRequest(AaRequest {
            session_id: request.session_id.clone(),
            auth_application_id: request.application,
            origin_host: self.local.host.clone(),
            origin_realm: self.local.realm.clone(),
            destination_realm: request.realm.clone(),
            auth_request_type: match request.password {
                Some(_) => AuthRequestType::AuthorizeAuthenticate,
                None => AuthRequestType::AuthorizeOnly,
            },
            destination_host: self.server.clone(),
            user_name: request.user.clone(),
            user_password: request.password.clone(),
            origin_state_id: (self.local.origin_state_id != 0).then_some(self.local.origin_state_id),
            auth_session_state: Some(AuthSessionState::StateMaintained),
            authorization_lifetime: None,
            qos_resources: request.qos_resources.clone(),
            proxy_info: Vec::new(),
            route_record: Vec::new(),
            other: Vec::new(),
        });
        self.outputs.push_back(Output::Send(message));
    }

    /// The server has answered.
    pub fn on_answer(&mut self, now: u64, answer: &AaAnswer) {
        if answer.session_id != self.request.session_id {
            return;
        }
        let code = answer.result();
        match (self.state, self.asked) {
            (State::Pending | State::Open, Some(asked)) if code.is_success() => {
                self.asked = None;
                self.granted(now, asked, answer);
            }
            (State::Pending | State::Open, Some(_)) => self.refused(now, code),
            // Too late: the server is told that its grant is not used.
            (State::Ended, _) if code.is_success() => {
                self.server = Some(answer.origin_host.clone());
                self.send_termination(TerminationCause::ServiceNotProvided);
                self.state = State::Disconnecting;
            }
            _ => {}
        }
    }

    fn granted(&mut self, now: u64, asked: u64, answer: &AaAnswer) {
        self.state = State::Open;
        self.server = Some(answer.origin_host.clone());
        self.class.clone_from(&answer.class);
        // A renewal may say an end that was not known, or a sooner one; none gives the session more time.
        let times_out = answer.session_timeout.and_then(|seconds| after(asked, seconds));
        self.times_out = [self.times_out, times_out].into_iter().flatten().min();
        let lifetime = answer.authorization_lifetime.and_then(|seconds| after(asked, seconds));
        // What is known of an earlier run is the only end where the server says none.
        if lifetime.is_some() || self.times_out.is_some() || !self.is_restored {
            self.expires = lifetime.map(|end| {
                let grace = u64::from(answer.auth_grace_period.unwrap_or(0)).saturating_mul(SECOND);
                end.saturating_add(grace)
            });
        }
        // Three quarters of the lifetime leave time to ask again.
        self.renew_at = lifetime.map(|end| asked.saturating_add(end.saturating_sub(asked) / 4 * 3));
        // An answer that was under way for longer than its grant holds opens nothing.
        if [self.expires, self.times_out].into_iter().flatten().all(|end| end > now) {
            self.outputs.push_back(Output::Granted {
                qos_resources: answer.qos_resources.clone().or_else(|| self.request.qos_resources.clone()),
                class: answer.class.clone(),
                interim_interval: answer.acct_interim_interval,
            });
        }
        self.on_timer(now);
    }

    fn refused(&mut self, now: u64, code: ResultCode) {
        self.asked = None;
        if self.state == State::Open && matches!(code.class(), Class::ProtocolError) {
            // An agent had no way to the server: the grant holds on.
            self.renew_at = Some(now.saturating_add(RETRY));
            return;
        }
        self.end(EndReason::Refused(code));
    }

    /// The answer has the form of an error, or cannot be read; then the code says why.
    pub fn on_error(&mut self, now: u64, code: ResultCode) {
        let code = if code.is_success() { ResultCode::UNABLE_TO_COMPLY } else { code };
        if self.asked.is_some() && matches!(self.state, State::Pending | State::Open) {
            self.refused(now, code);
        }
    }

    /// No peer has answered the request, and it is given up. A session that is open goes on until its grant ends.
    pub fn on_unanswered(&mut self, now: u64) {
        if self.asked.take().is_none() {
            return;
        }
        match self.state {
            State::Pending => self.end(EndReason::Unreachable),
            State::Open => self.renew_at = Some(now.saturating_add(RETRY)),
            _ => {}
        }
    }

    /// Ends the session.
    pub fn terminate(&mut self, cause: TerminationCause) {
        match self.state {
            State::Open => self.leave(EndReason::Terminated(cause), cause),
            State::Idle | State::Pending => self.end(EndReason::Terminated(cause)),
            State::Disconnecting | State::Ended => {}
        }
    }

    /// The server has confirmed the end, or cannot be told of it: it will let the grant run out.
    pub fn on_terminated(&mut self) {
        if self.state == State::Disconnecting {
            self.state = State::Ended;
        }
    }

    /// The server wants to be asked again.
    pub fn on_re_auth(&mut self, now: u64, request: &ReAuthRequest) {
        let known = request.session_id == self.request.session_id && self.state == State::Open;
        let result_code = if known { ResultCode::SUCCESS } else { ResultCode::UNKNOWN_SESSION_ID };
        self.outputs.push_back(Output::Answer(Message::ReAuthAnswer(self.local.session_answer(
            request.session_id.clone(),
            request.proxy_info.clone(),
            result_code,
        ))));
        if known && self.asked.is_none() {
            self.send_request(now);
        }
    }

    /// The server ends the session.
    pub fn on_abort(&mut self, request: &AbortSessionRequest) {
        let ours = request.session_id == self.request.session_id;
        let known = ours && matches!(self.state, State::Open | State::Pending);
        let result_code = if known { ResultCode::SUCCESS } else { ResultCode::UNKNOWN_SESSION_ID };
        self.outputs.push_back(Output::Answer(Message::AbortSessionAnswer(self.local.session_answer(
            request.session_id.clone(),
            request.proxy_info.clone(),
            result_code,
        ))));
        if known {
            self.leave(EndReason::Aborted, TerminationCause::Administrative);
        }
    }

    /// Something of [`Self::due`] has come.
    pub fn on_timer(&mut self, now: u64) {
        if self.state != State::Open {
            return;
        }
        let over = |end: Option<u64>| end.is_some_and(|end| end <= now);
        if over(self.times_out) {
            self.leave(EndReason::SessionTimeout, TerminationCause::SessionTimeout);
        } else if over(self.expires) {
            self.leave(EndReason::Expired, TerminationCause::AuthExpired);
        } else if over(self.renew_at) && self.asked.is_none() {
            self.send_request(now);
        }
    }

    fn end(&mut self, reason: EndReason) {
        self.state = State::Ended;
        self.asked = None;
        (self.renew_at, self.expires, self.times_out) = (None, None, None);
        self.outputs.push_back(Output::Ended(reason));
    }

    /// Ends the session and tells the server.
    fn leave(&mut self, reason: EndReason, cause: TerminationCause) {
        self.end(reason);
        self.send_termination(cause);
        self.state = State::Disconnecting;
    }

    fn send_termination(&mut self, termination_cause: TerminationCause) {
        let message = Message::SessionTerminationRequest(SessionTerminationRequest {
            session_id: self.request.session_id.clone(),
            origin_host: self.local.host.clone(),
            origin_realm: self.local.realm.clone(),
            destination_realm: self.request.realm.clone(),
            auth_application_id: self.request.application,
            termination_cause,
            user_name: self.request.user.clone(),
            destination_host: self.server.clone(),
            class: self.class.clone(),
            origin_state_id: (self.local.origin_state_id != 0).then_some(self.local.origin_state_id),
            proxy_info: Vec::new(),
            route_record: Vec::new(),
            other: Vec::new(),
        });
        self.outputs.push_back(Output::Send(message));
    }
}
