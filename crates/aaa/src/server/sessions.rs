//! Sessions at the server: decided, stored, answered, renewed, aborted, ended.
use diameter::command::{AaAnswer, AaRequest, SessionTerminationRequest};
use diameter::header::ApplicationId;
use diameter::message::Message;
use diameter::result_code::ResultCode;
use diameter::session::server::{Grant, Restored, Server as Machine, State, termination_answer};
use diameter::value::Identity;

use super::{Asked, Now, Output, Place, Server, Stored, Waiting};
use crate::decision::{Denial, Permit, Usage, allow, authenticate, decide};
use crate::entry::{Bytes, Granted, SessionEntry};
use crate::users::Users;

/// Nanoseconds until an abort is sent again that had no answer.
const RESEND: u64 = 5_000_000_000;

/// Nanoseconds until an end is stored again that could not be stored.
const STORE_AGAIN: u64 = 1_000_000_000;
/// Sessions that have ended and are remembered for their last records.
const MOST_PAST: usize = 65_536;

/// A session that is granted, or about to be.
pub(super) struct Session {
    pub(super) machine: Machine,
    pub(super) granted: Granted,
    /// True while its grant waits for the store.
    storing: bool,
    /// When an abort is sent again.
    resend_at: Option<u64>,
    /// Its place in the order of times.
    due: Option<u64>,
}

impl Server {
    /// Takes the sessions of a store. A grant may have been renewed until now.
    pub(super) fn restore(&mut self, now: Now, entries: Vec<SessionEntry>) {
        for granted in live(entries) {
            let (Ok(host), Ok(realm)) = (Identity::new(&granted.host), Identity::new(&granted.realm)) else {
                continue;
            };
            let restored = Restored {
                session_id: granted.session.clone(),
                application: ApplicationId::NASREQ.0,
                host,
                realm,
                lifetime: self.settings.lifetime.saturating_add(self.settings.grace),
                remaining: None,
                aborting: granted.aborting,
            };
            let machine = Machine::restored(self.local.clone(), now.monotonic, &restored);
            self.take(&granted);
            let id = granted.session.clone();
            let resend_at = granted.aborting.then_some(now.monotonic);
            self.sessions
                .insert(id.clone(), Session { machine, granted, storing: false, resend_at, due: None });
            self.index(&id);
        }
    }

    /// Counts a grant against its contract.
    fn take(&mut self, granted: &Granted) {
        let usage = self.usage.entry(granted.user.clone()).or_default();
        usage.sessions += 1;
        usage.rate = usage.rate.saturating_add(granted.rate);
    }

    /// Takes a grant from what counts against its contract.
    fn give_back(&mut self, granted: &Granted) {
        if let Some(usage) = self.usage.get_mut(&granted.user) {
            usage.sessions = usage.sessions.saturating_sub(1);
            usage.rate = usage.rate.saturating_sub(granted.rate);
            if usage.sessions == 0 {
                self.usage.remove(&granted.user);
            }
        }
    }

    /// Brings a session to its place in the order of times.
    fn index(&mut self, id: &str) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if let Some(due) = session.due.take() {
            self.due.remove(&(due, id.to_owned()));
        }
        session.due = [session.machine.due(), session.resend_at].into_iter().flatten().min();
        if let Some(due) = session.due {
            self.due.insert((due, id.to_owned()));
        }
    }

    /// Forgets a session that is over.
    pub(super) fn forget(&mut self, id: &str) {
        let Some(session) = self.sessions.remove(id) else { return };
        if let Some(due) = session.due {
            self.due.remove(&(due, id.to_owned()));
        }
        self.give_back(&session.granted);
        if self.past.len() >= MOST_PAST
            && let Some(oldest) = self.past.pop_front()
        {
            self.were_granted.remove(&oldest);
        }
        self.past.push_back(id.to_owned());
        self.were_granted.insert(id.to_owned());
        self.store_end(id.to_owned());
    }

    pub(super) fn store_end(&mut self, session: String) {
        let entry = SessionEntry::Ended { session: session.clone() };
        self.store(Stored::Session(entry), Waiting::End { session });
    }

    /// An end could not be stored. Until it is, the session would count against the contract for a while after a start.
    pub(super) fn end_again(&mut self, now: Now, session: String) {
        if !self.sessions.contains_key(&session) {
            self.unended.push(session);
            self.unended_at = Some(now.monotonic.saturating_add(STORE_AGAIN));
        }
    }

    pub(super) fn sessions_due(&mut self, now: Now) {
        while let Some((due, id)) = self.due.first().cloned() {
            if due > now.monotonic {
                return;
            }
            let Some(session) = self.sessions.get_mut(&id) else {
                self.due.pop_first();
                continue;
            };
            if session.machine.on_timer(now.monotonic) {
                self.forget(&id);
                continue;
            }
            if session.resend_at.is_some_and(|at| at <= now.monotonic) {
                self.send_abort(now, &id);
            }
            self.index(&id);
        }
    }

    /// What its user has besides a session.
    fn usage_without(&self, user: &str, id: &str) -> Usage {
        let mut usage = self.usage.get(user).copied().unwrap_or_default();
        if let Some(session) = self.sessions.get(id).filter(|session| session.granted.user == user) {
            usage.sessions = usage.sessions.saturating_sub(1);
            usage.rate = usage.rate.saturating_sub(session.granted.rate);
        }
        usage
    }

    fn decision(&self, now: Now, request: &AaRequest) -> Result<Permit, Denial> {
        let denied = |code, reason: &str| Err(Denial { code, reason: reason.to_owned() });
        let user = authenticate(&self.users, request)?;
        match self.sessions.get(&request.session_id) {
            Some(session) if session.granted.user != user.name => {
                return denied(ResultCode::AUTHORIZATION_REJECTED, "the session is another user's");
            }
            None if self.sessions.len() >= self.settings.most_sessions => {
                return denied(
                    ResultCode::RESOURCES_EXCEEDED,
                    "the server has as many sessions as it may have",
                );
            }
            Some(session) if now.unix >= session.granted.ends => {
                return denied(ResultCode::AUTHORIZATION_REJECTED, "the session has had its time");
            }
            _ => {}
        }
        let usage = self.usage_without(&user.name, &request.session_id);
        decide(user, usage, request.qos_resources.as_ref(), now.unix)
    }

    pub(super) fn on_aa_request(&mut self, now: Now, place: Place, request: AaRequest) {
        let id = request.session_id.clone();
        let existing = self.sessions.get(&id);
        if existing.is_some_and(|session| session.granted.host != request.origin_host.as_str()) {
            self.deny_aside(
                now,
                &place,
                &request,
                ResultCode::UNKNOWN_SESSION_ID,
                "the session is another client's",
            );
            return;
        }
        if existing.is_some_and(|session| session.storing) {
            let mut bytes = Vec::new();
            let busy = diameter::command::ErrorAnswer {
                session_id: Some(id),
                origin_host: self.local.host.clone(),
                origin_realm: self.local.realm.clone(),
                result_code: ResultCode::TOO_BUSY,
                origin_state_id: None,
                error_message: Some("a request for this session is in work".to_owned()),
                error_reporting_host: None,
                failed_avp: Vec::new(),
                redirect_host: Vec::new(),
                experimental_result: None,
                proxy_info: request.proxy_info.clone(),
                other: Vec::new(),
            };
            let header = place.header.answer().with_error();
            if Message::Error(busy).encode(&header, &mut bytes).is_ok() {
                self.answer_for_now(now, &place, &bytes);
            }
            return;
        }
        match self.decision(now, &request) {
            Ok(permit) => self.permitted(now, place, request, permit),
            Err(denial) => self.deny(now, &place, &request, denial),
        }
    }

    /// Refuses a request without a change of its session.
    fn deny_aside(&mut self, now: Now, place: &Place, request: &AaRequest, code: ResultCode, reason: &str) {
        let mut answer = Machine::new(self.local.clone(), request).decide(now.monotonic, request, Err(code));
        answer.error_message = Some(reason.to_owned());
        self.answer(now, place, &Message::AaAnswer(answer));
    }

    /// Refuses a request; a session that is open ends by it.
    fn deny(&mut self, now: Now, place: &Place, request: &AaRequest, denial: Denial) {
        let id = request.session_id.clone();
        self.log(format!("{}: {} is refused: {}", request.origin_host, id, denial.reason));
        let Some(session) = self.sessions.get_mut(&id) else {
            self.deny_aside(now, place, request, denial.code, &denial.reason);
            return;
        };
        let mut answer = session.machine.decide(now.monotonic, request, Err(denial.code));
        answer.error_message = Some(denial.reason);
        if session.machine.state() == State::Ended {
            self.forget(&id);
        }
        self.answer(now, place, &Message::AaAnswer(answer));
    }

    fn permitted(&mut self, now: Now, place: Place, request: AaRequest, permit: Permit) {
        let id = request.session_id.clone();
        let resources = request.qos_resources.as_ref().map(Bytes::of_resources).unwrap_or_default();
        let existing = self.sessions.get(&id);
        if existing.is_some_and(|session| session.granted.resources == resources) {
            let answer = self.grant(now, &request, permit.seconds_left);
            self.answer(now, &place, &Message::AaAnswer(answer));
            return;
        }
        let lasts = self.settings.session_timeout.min(permit.seconds_left);
        let granted = Granted {
            session: id.clone(),
            user: permit.user,
            host: request.origin_host.as_str().to_owned(),
            realm: request.origin_realm.as_str().to_owned(),
            via: place.peer.as_str().to_owned(),
            begins: existing.map_or(now.unix, |session| session.granted.begins),
            ends: existing.map_or(now.unix.saturating_add(u64::from(lasts)), |session| session.granted.ends),
            flows: permit.flows,
            rate: permit.rate,
            resources,
            aborting: existing.is_some_and(|session| session.granted.aborting),
        };
        let entry = SessionEntry::Granted(granted.clone());
        let previous = match self.sessions.get_mut(&id) {
            Some(session) => {
                session.storing = true;
                Some(std::mem::replace(&mut session.granted, granted.clone()))
            }
            None => {
                let machine = Machine::new(self.local.clone(), &request);
                let session =
                    Session { machine, granted: granted.clone(), storing: true, resend_at: None, due: None };
                self.sessions.insert(id, session);
                None
            }
        };
        if let Some(previous) = &previous {
            self.give_back(previous);
        }
        self.take(&granted);
        let previous = previous.map(Box::new);
        self.store(Stored::Session(entry), Waiting::Grant { place, request: Box::new(request), previous });
    }

    /// Grants a request of a session that is stored.
    fn grant(&mut self, now: Now, request: &AaRequest, seconds_left: u32) -> AaAnswer {
        let id = &request.session_id;
        let settings = &self.settings;
        let ends = self.sessions.get(id).map_or(0, |session| session.granted.ends);
        let left = u32::try_from(ends.saturating_sub(now.unix)).unwrap_or(u32::MAX).min(seconds_left);
        let lifetime = settings.lifetime.min(left);
        let grant = Grant {
            lifetime,
            grace: settings.grace.min(left - lifetime),
            session_timeout: Some(left),
            interim_interval: Some(settings.interim),
            class: id.as_bytes().to_vec(),
            qos_resources: request.qos_resources.clone(),
        };
        let local = self.local.clone();
        let answer = match self.sessions.get_mut(id) {
            Some(session) => session.machine.decide(now.monotonic, request, Ok(grant)),
            None => {
                Machine::new(local, request).decide(now.monotonic, request, Err(ResultCode::UNABLE_TO_COMPLY))
            }
        };
        self.index(id);
        answer
    }

    pub(super) fn grant_stored(
        &mut self,
        now: Now,
        place: &Place,
        request: &AaRequest,
        previous: Option<Box<Granted>>,
        is_stored: bool,
    ) {
        let id = request.session_id.clone();
        let Some(session) = self.sessions.get_mut(&id) else {
            self.deny_aside(
                now,
                place,
                request,
                ResultCode::UNABLE_TO_COMPLY,
                "the session has ended meanwhile",
            );
            return;
        };
        session.storing = false;
        let is_first = previous.is_none();
        if session.granted.aborting && is_first {
            let reason = "an operator has ended the session".to_owned();
            self.deny(now, place, request, Denial { code: ResultCode::AUTHORIZATION_REJECTED, reason });
            return;
        }
        if is_stored {
            let seconds_left = self
                .users
                .named(&session.granted.user)
                .map_or(0, |user| user.contract.ends.saturating_sub(now.unix));
            let answer = self.grant(now, request, u32::try_from(seconds_left).unwrap_or(u32::MAX - 1));
            self.answer(now, place, &Message::AaAnswer(answer));
            return;
        }
        if let Some(previous) = previous {
            let failed = std::mem::replace(&mut session.granted, *previous.clone());
            self.give_back(&failed);
            self.take(&previous);
            self.deny_aside(
                now,
                place,
                request,
                ResultCode::UNABLE_TO_COMPLY,
                "the change could not be stored",
            );
        } else {
            let reason = "the grant could not be stored".to_owned();
            self.deny(now, place, request, Denial { code: ResultCode::UNABLE_TO_COMPLY, reason });
        }
    }

    pub(super) fn on_termination(&mut self, now: Now, place: &Place, request: &SessionTerminationRequest) {
        let answer = match self.sessions.get_mut(&request.session_id) {
            Some(session) => session.machine.on_termination(request),
            None => termination_answer(&self.local, request, ResultCode::UNKNOWN_SESSION_ID),
        };
        if answer.result_code.is_success() {
            self.forget(&request.session_id);
        }
        self.answer(now, place, &Message::SessionTerminationAnswer(answer));
    }

    /// An operator ends a session; [`Output::Done`] says when nothing more will be granted to it, whatever crashes.
    pub fn abort(&mut self, id: &str, command: u64) {
        let Some(session) = self.sessions.get_mut(id) else {
            let result = Err(format!("there is no session {id}: `punctual aaa sessions` lists them"));
            self.outputs.push_back(Output::Done { command, result });
            return;
        };
        session.granted.aborting = true;
        let entry = SessionEntry::Aborting { session: id.to_owned() };
        self.store(Stored::Session(entry), Waiting::Abort { session: id.to_owned(), command });
    }

    pub(super) fn abort_stored(&mut self, now: Now, id: &str, command: u64, is_stored: bool) {
        // Not stored, it is aborted all the same: only a restart would not know.
        self.send_abort(now, id);
        let result = match (is_stored, self.sessions.get(id)) {
            (_, None) => Ok("it has ended".to_owned()),
            (true, Some(_)) => Ok("its client is told to end it".to_owned()),
            (false, Some(_)) => Err("its client is told to end it, but that could not be stored".to_owned()),
        };
        self.outputs.push_back(Output::Done { command, result });
    }

    fn send_abort(&mut self, now: Now, id: &str) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if let Some(request) = session.machine.abort() {
            session.resend_at = Some(now.monotonic.saturating_add(RESEND));
            let asked = Asked::Abort(id.to_owned());
            self.ask_client(now, id, &Message::AbortSessionRequest(request), asked);
        }
        self.index(id);
    }

    pub(super) fn abort_answered(&mut self, now: Now, id: &str, code: ResultCode) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        session.machine.on_abort_answer(code);
        if session.machine.state() == State::Ended {
            self.forget(id);
        }
        self.sessions_due(now);
    }

    /// Takes other users. Sessions go on; clients whose sessions would not be granted any more are told to ask again. The
    /// number of those.
    pub fn reload(&mut self, now: Now, users: Users) -> usize {
        self.users = users;
        let doubtful: Vec<String> = self
            .sessions
            .values()
            .filter(|session| {
                let granted = &session.granted;
                let usage = self.usage_without(&granted.user, &granted.session);
                let user = self.users.named(&granted.user);
                user.is_none_or(|user| allow(user, usage, &granted.flows, now.unix).is_err())
            })
            .map(|session| session.granted.session.clone())
            .collect();
        for id in &doubtful {
            self.ask_again(now, id);
        }
        self.after(now);
        doubtful.len()
    }

    /// Tells the client of a session to ask again; false if there is no such session, or its client cannot be reached.
    pub fn ask_again(&mut self, now: Now, id: &str) -> bool {
        let Some(request) = self.sessions.get(id).and_then(|session| session.machine.re_auth()) else {
            return false;
        };
        let told = self.ask_client(now, id, &Message::ReAuthRequest(request), Asked::ReAuth(id.to_owned()));
        self.after(now);
        told
    }
}

/// The grants that hold after all entries.
pub fn live(entries: Vec<SessionEntry>) -> Vec<Granted> {
    let mut live = std::collections::BTreeMap::new();
    for entry in entries {
        match entry {
            SessionEntry::Granted(granted) => drop(live.insert(granted.session.clone(), granted)),
            SessionEntry::Aborting { session } => {
                if let Some(granted) = live.get_mut(&session) {
                    granted.aborting = true;
                }
            }
            SessionEntry::Ended { session } => drop(live.remove(&session)),
        }
    }
    live.into_values().collect()
}
