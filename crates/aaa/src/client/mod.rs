//! The client of a resource manager as a state machine: asks before a session is admitted, accounts while it lasts, and hears of
//! aborts. Bytes, times and what was stored come in; bytes and what is to be stored go out.
//!
//! Nothing opens without an answer: within [`Settings::limit`] a request is granted or refused. A session that is open goes on
//! while no server answers, to the end of its grant. Records are stored before they are sent and forgotten when the server has
//! confirmed them.
mod exchange;
mod records;
mod resume;
mod words;

use std::collections::{BTreeMap, VecDeque};

use diameter::accounting::recorder::Recorder;
use diameter::accounting::spool::Spool;
use diameter::command::TerminationCause;
use diameter::duplicates::EndToEnd;
use diameter::header::{ApplicationId, Header};
use diameter::local::Local;
use diameter::message::Message;
use diameter::peer::Ticket;
use diameter::session::client::{Client as Machine, EndReason, Output as Step, Request, State};
use diameter::session::session_id;
use diameter::value::Identity;

use crate::entry::SpoolEntry;
use crate::peers::{ConnectionId, Peers};
use crate::server::Now;

pub use words::{Ask, Output, Permit, Refusal, Settings};

/// Nanoseconds until a Session-Termination-Request that had no answer is sent again, and how often.
const AGAIN: u64 = 5_000_000_000;
const MOST_TIMES: u32 = 12;
/// Records that are under way at a time.
const WINDOW: usize = 64;

enum Purpose {
    Authorize(String),
    Terminate { session: String, message: Vec<u8>, times: u32 },
    Record(u64),
}

struct Session {
    machine: Machine,
    user: String,
    class: Vec<Vec<u8>>,
    permit: Option<Permit>,
    /// Until when it has to be decided.
    deadline: Option<u64>,
    /// What the server said to people.
    reason: String,
    recorder: Option<Recorder>,
    interim_asked: bool,
    /// Requests of it that are under way.
    open_requests: u32,
}

/// The client.
pub struct Client {
    settings: Settings,
    local: Local,
    peers: Peers,
    sessions: BTreeMap<String, Session>,
    /// Records of sessions that no server was asked for.
    accounts: BTreeMap<String, Recorder>,
    spool: Spool,
    /// What is in the store, or about to be: records by their places, how many of each session, and the last record of each
    /// session that goes on or has others there.
    kept: BTreeMap<u64, (String, Vec<u8>)>,
    counts: BTreeMap<String, usize>,
    last: BTreeMap<String, (Vec<u8>, bool)>,
    storing: BTreeMap<u64, (u64, String, u32)>,
    unstored: Vec<(u64, String, u32)>,
    unstored_at: Option<u64>,
    purposes: BTreeMap<u64, Purpose>,
    terminations: VecDeque<(u64, String, Vec<u8>, u32)>,
    end_to_end: EndToEnd,
    session_high: u32,
    session_low: u32,
    next_token: u64,
    next_number: u64,
    outputs: VecDeque<Output>,
}

impl Client {
    /// A client with what was stored before. Sessions that were accounted when it ended are over: a last record says what was
    /// last known of them. `random` is different at each start.
    pub fn new(settings: Settings, entries: Vec<SpoolEntry>, now: Now, random: u64) -> Self {
        let local = Local {
            host: settings.host.clone(),
            realm: settings.realm.clone(),
            addresses: settings.addresses.clone(),
            product_name: "Punctual".to_owned(),
            origin_state_id: now.unix as u32,
            auth_applications: vec![ApplicationId::NASREQ],
            acct_applications: vec![ApplicationId::ACCOUNTING],
        };
        let watchdog = settings.watchdog;
        let is_only_way = settings.servers.len() == 1;
        let request_timeout = settings.limit.max(1_000_000_000);
        let peers = Peers::new(&local, settings.servers.clone(), now.monotonic, random, |mut config| {
            config.watchdog_interval = watchdog;
            config.is_only_way = is_only_way;
            config.request_timeout = request_timeout;
            config
        });
        let mut client = Self {
            local,
            peers,
            sessions: BTreeMap::new(),
            accounts: BTreeMap::new(),
            spool: Spool::new(settings.most_records, WINDOW),
            kept: BTreeMap::new(),
            counts: BTreeMap::new(),
            last: BTreeMap::new(),
            storing: BTreeMap::new(),
            unstored: Vec::new(),
            unstored_at: None,
            purposes: BTreeMap::new(),
            terminations: VecDeque::new(),
            end_to_end: EndToEnd::new(now.unix, random as u32),
            session_high: now.unix as u32,
            session_low: (random >> 32) as u32,
            next_token: 0,
            next_number: 0,
            outputs: VecDeque::new(),
            settings,
        };
        client.restore(now, entries);
        client
    }

    /// Connects.
    pub fn start(&mut self, now: Now) {
        self.peers.start(now.monotonic);
        self.after(now);
    }

    /// Ends all sessions and says good-bye. Records that are not delivered stay in the store.
    pub fn stop(&mut self, now: Now) {
        let ids: Vec<String> = self.sessions.keys().cloned().collect();
        for id in ids {
            self.end(now, &id, TerminationCause::Administrative);
        }
        self.peers.stop(now.monotonic);
        self.after(now);
    }

    /// What to do next.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// True if a server can be asked.
    pub fn is_available(&self) -> bool {
        self.peers.first_available().is_some()
    }

    /// True if there is no connection to any peer, and none that is being closed.
    pub fn is_disconnected(&self) -> bool {
        self.peers.is_disconnected()
    }

    /// True if nothing waits for the store.
    pub fn is_stored(&self) -> bool {
        self.storing.is_empty() && self.unstored.is_empty()
    }

    /// How many records the server has not confirmed.
    pub fn undelivered(&self) -> usize {
        self.spool.len()
    }

    /// How many requests wait for answers.
    pub fn under_way(&self) -> usize {
        self.purposes.len()
    }

    /// When [`Self::on_timer`] is to be called, by the clock that does not go back.
    pub fn due(&self) -> u64 {
        let of_session = |session: &Session| {
            let interim =
                session.recorder.as_ref().and_then(Recorder::due).filter(|_| !session.interim_asked);
            [session.deadline, session.machine.due(), interim].into_iter().flatten().min()
        };
        let sessions = self.sessions.values().filter_map(of_session).min();
        let terminations = self.terminations.front().map(|(at, ..)| *at);
        let spool = self.spool.due().filter(|_| self.is_available());
        [sessions, terminations, spool, self.unstored_at]
            .into_iter()
            .flatten()
            .fold(self.peers.due(), u64::min)
    }

    /// Something of [`Self::due`] has come.
    pub fn on_timer(&mut self, now: Now) {
        self.peers.on_timer(now.monotonic);
        self.after(now);
        self.store_again(now);
        while let Some((at, ..)) = self.terminations.front()
            && *at <= now.monotonic
        {
            if let Some((_, session, message, times)) = self.terminations.pop_front() {
                self.send_termination(now, session, message, times);
            }
        }
        let due: Vec<String> = self.sessions.keys().cloned().collect();
        for id in due {
            let Some(session) = self.sessions.get_mut(&id) else { continue };
            if session.machine.due().is_some_and(|due| due <= now.monotonic) {
                session.machine.on_timer(now.monotonic);
            }
            if session.deadline.is_some_and(|deadline| deadline <= now.monotonic) {
                session.deadline = None;
                self.decided(&id, Err(Refusal::NoAnswer(self.settings.limit)));
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.machine.terminate(TerminationCause::ServiceNotProvided);
                }
            }
            let Some(session) = self.sessions.get_mut(&id) else { continue };
            let interim = session.recorder.as_ref().and_then(Recorder::due);
            if interim.is_some_and(|due| due <= now.monotonic) && !session.interim_asked {
                session.interim_asked = true;
                self.outputs.push_back(Output::InterimDue(id.clone()));
            }
            self.step(now, &id, None);
        }
        if self.is_available() {
            self.spool.on_timer(now.monotonic);
        }
        self.after_spool(now);
    }

    /// The connection that [`Output::Connect`] asked for is there.
    pub fn connected(&mut self, now: Now, host: &Identity, connection: ConnectionId) {
        self.peers.connected(now.monotonic, host, connection);
        self.after(now);
    }

    /// The connection that [`Output::Connect`] asked for could not be opened.
    pub fn connect_failed(&mut self, now: Now, host: &Identity) {
        self.peers.connect_failed(now.monotonic, host);
        self.after(now);
    }

    /// A peer has connected; `shown` are the names in its certificate, `None` without TLS.
    pub fn accepted(&mut self, now: Now, connection: ConnectionId, shown: Option<Vec<String>>) {
        self.peers.accepted(now.monotonic, connection, shown);
        self.after(now);
    }

    /// Bytes have come.
    pub fn received(&mut self, now: Now, connection: ConnectionId, bytes: &[u8]) {
        self.peers.received(now.monotonic, connection, bytes);
        self.after(now);
    }

    /// A connection is gone.
    pub fn closed(&mut self, now: Now, connection: ConnectionId) {
        self.peers.closed(now.monotonic, connection);
        self.after(now);
    }

    /// Takes the bytes that are to be sent by a connection.
    pub fn take_unsent(&mut self, connection: ConnectionId) -> Vec<u8> {
        self.peers.take_unsent(connection)
    }

    /// Asks whether a session may be; the session, which [`Output::Decided`] tells more of.
    pub fn authorize(&mut self, now: Now, ask: Ask) -> String {
        self.session_low = self.session_low.wrapping_add(1);
        let id = session_id(&self.local.host, self.session_high, self.session_low);
        self.authorize_as(now, &id, ask);
        id
    }

    fn request(&self, session_id: String, ask: Ask) -> Request {
        Request {
            session_id,
            application: ApplicationId::NASREQ.0,
            realm: self.settings.server_realm.clone(),
            user: Some(ask.user),
            password: ask.secret,
            qos_resources: Some(ask.resources),
        }
    }

    /// Asks as [`Client::authorize`] does, for a session that its owner names: as no other before, and as RFC 6733 has it.
    pub fn authorize_as(&mut self, now: Now, id: &str, ask: Ask) {
        let full = if self.sessions.len() >= self.settings.most_sessions {
            Some("sessions")
        } else if !self.spool.has_room_for(self.promised() + 2) {
            Some("records that the server has not confirmed")
        } else {
            None
        };
        if let Some(what) = full {
            let result = Err(Refusal::Full(what));
            self.outputs.push_back(Output::Decided { session: id.to_owned(), result });
            return;
        }
        let user = ask.user.clone();
        let request = self.request(id.to_owned(), ask);
        let mut machine = Machine::new(self.local.clone(), request);
        machine.ask(now.monotonic);
        let session = Session {
            machine,
            user,
            class: Vec::new(),
            permit: None,
            deadline: Some(now.monotonic.saturating_add(self.settings.limit)),
            reason: String::new(),
            recorder: None,
            interim_asked: false,
            open_requests: 0,
        };
        self.sessions.insert(id.to_owned(), session);
        self.step(now, id, None);
        self.after(now);
    }

    /// Ends a session, and tells the server.
    pub fn end(&mut self, now: Now, id: &str, cause: TerminationCause) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.machine.terminate(cause);
        }
        self.step(now, id, None);
        self.after(now);
    }

    /// True while a session may be served: its grant holds, and its first record is stored.
    pub fn may_serve(&self, id: &str) -> bool {
        self.sessions.get(id).is_some_and(|session| {
            session.machine.is_open() && session.recorder.as_ref().is_some_and(Recorder::may_serve)
        })
    }

    fn decided(&mut self, id: &str, result: Result<Permit, Refusal>) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        session.deadline = None;
        self.outputs.push_back(Output::Decided { session: id.to_owned(), result });
    }

    /// Does what the machine of a session says.
    fn step(&mut self, now: Now, id: &str, place: Option<(&Identity, Ticket, Header)>) {
        while let Some(session) = self.sessions.get_mut(id)
            && let Some(step) = session.machine.poll_output()
        {
            match step {
                Step::Send(message @ Message::AaRequest(_)) => {
                    let sent = self.encoded(&message).and_then(|bytes| self.send(now, id, &bytes));
                    if sent.is_none() {
                        let refused = session_is_pending(self.sessions.get(id));
                        if refused {
                            self.decided(id, Err(Refusal::NoServer));
                        }
                        if let Some(session) = self.sessions.get_mut(id) {
                            session.machine.on_unanswered(now.monotonic);
                        }
                    }
                }
                Step::Send(message) => {
                    if let Some(bytes) = self.encoded(&message) {
                        self.send_termination(now, id.to_owned(), bytes, 0);
                    }
                }
                Step::Answer(message) => {
                    if let Some((peer, ticket, header)) = place {
                        self.answer(now, peer, ticket, &header, &message);
                    }
                }
                Step::Granted { qos_resources, class, interim_interval } => {
                    session.class = class;
                    let permit = Permit {
                        session: id.to_owned(),
                        resources: qos_resources,
                        interim: interim_interval,
                        until: session.machine.until(),
                    };
                    let first = session.permit.replace(permit.clone()).is_none();
                    if first {
                        self.decided(id, Ok(permit));
                    } else {
                        self.outputs.push_back(Output::Renewed(permit));
                    }
                }
                Step::Ended(reason) => {
                    let was_granted = session.permit.is_some();
                    if was_granted {
                        self.outputs.push_back(Output::Ended { session: id.to_owned(), reason });
                    } else if session.deadline.is_some() {
                        let refusal = match reason {
                            EndReason::Refused(code) => {
                                Refusal::Denied { code, reason: std::mem::take(&mut session.reason) }
                            }
                            EndReason::Unreachable => Refusal::NoServer,
                            _ => Refusal::Ended,
                        };
                        self.decided(id, Err(refusal));
                    }
                }
            }
        }
        self.forget_if_over(id);
    }

    /// Forgets a session that is over, has its last record and waits for nothing.
    fn forget_if_over(&mut self, id: &str) {
        let is_over = self.sessions.get(id).is_some_and(|session| {
            session.machine.state() == State::Ended
                && session.recorder.is_none()
                && session.open_requests == 0
        });
        if is_over {
            self.sessions.remove(id);
        }
    }

    fn encoded(&mut self, message: &Message) -> Option<Vec<u8>> {
        let header = Header { end_to_end: self.end_to_end.take(), ..message.request_header() };
        let mut bytes = Vec::new();
        message.encode(&header, &mut bytes).ok()?;
        Some(bytes)
    }

    /// Sends a request to the first server that takes it.
    fn send_for(&mut self, now: Now, purpose: Purpose, bytes: &[u8]) -> Result<(), Purpose> {
        let Some(to) = self.peers.first_available() else { return Err(purpose) };
        let token = self.next_token;
        self.next_token += 1;
        if self.peers.send_request(now.monotonic, &to, token, bytes).is_err() {
            return Err(purpose);
        }
        self.purposes.insert(token, purpose);
        Ok(())
    }

    fn send(&mut self, now: Now, id: &str, bytes: &[u8]) -> Option<()> {
        self.send_for(now, Purpose::Authorize(id.to_owned()), bytes).ok()?;
        if let Some(session) = self.sessions.get_mut(id) {
            session.open_requests += 1;
        }
        Some(())
    }

    fn send_termination(&mut self, now: Now, session: String, message: Vec<u8>, times: u32) {
        let purpose = Purpose::Terminate { session, message: message.clone(), times };
        if let Err(Purpose::Terminate { session, message, times }) = self.send_for(now, purpose, &message) {
            self.terminate_later(now, session, message, times);
        }
    }

    /// The server is told again later; after a minute its grant will have run out.
    fn terminate_later(&mut self, now: Now, session: String, message: Vec<u8>, times: u32) {
        if times < MOST_TIMES {
            self.terminations.push_back((now.monotonic.saturating_add(AGAIN), session, message, times + 1));
        } else {
            self.terminated(&session);
        }
    }

    fn terminated(&mut self, id: &str) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.machine.on_terminated();
        }
        self.forget_if_over(id);
    }

    fn answer(&mut self, now: Now, peer: &Identity, ticket: Ticket, header: &Header, message: &Message) {
        let mut bytes = Vec::new();
        if message.encode(&header.answer(), &mut bytes).is_ok() {
            self.peers.send_answer(now.monotonic, peer, ticket, &bytes);
        }
    }
}

fn session_is_pending(session: Option<&Session>) -> bool {
    session.is_some_and(|session| session.permit.is_none() && session.deadline.is_some())
}
