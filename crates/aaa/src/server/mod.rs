//! The server as a state machine: peers, decisions, sessions, records. Bytes, times and what was stored come in; bytes and what
//! is to be stored go out.
//!
//! Nothing is confirmed before it is stored: neither a grant nor a record. What is granted counts against the contract from the
//! moment of the decision, so that two requests at once do not both get what is there for one.
mod records;
mod sessions;
mod words;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use diameter::accounting::ledger::Ledger;
use diameter::command::{AaRequest, AccountingRequest};
use diameter::duplicates::{Duplicates, EndToEnd, Seen};
use diameter::header::{ApplicationId, Header};
use diameter::local::Local;
use diameter::message::Message;
use diameter::peer::{Event, Ticket};
use diameter::result_code::ResultCode;
use diameter::value::Identity;

use crate::decision::Usage;
use crate::entry::{Granted, SessionEntry};
use crate::peers::{self, ConnectionId, Peers};
use crate::users::Users;
use sessions::Session;

pub use sessions::live;
pub use words::{Kept, Now, Output, Settings, Stored};

/// Requests and bytes of answers that are remembered to answer them alike when they come again.
const REMEMBERED: usize = 65_536;
const REMEMBERED_BYTES: usize = 32 << 20;
/// Complete sessions of records are remembered for so many nanoseconds: a week.
const RETENTION: u64 = 7 * 24 * 3_600 * 1_000_000_000;
/// Requests that wait for the store.
const MOST_WAITING: usize = 4_096;

/// Where an answer goes.
#[derive(Clone, Debug)]
struct Place {
    peer: Identity,
    ticket: Ticket,
    header: Header,
    origin: Identity,
}

/// What waits for the store.
enum Waiting {
    Grant { place: Place, request: Box<AaRequest>, previous: Option<Box<Granted>> },
    Record { place: Place, request: Box<AccountingRequest> },
    Abort { session: String, command: u64 },
    End { session: String },
}

/// What was asked of a client.
enum Asked {
    Abort(String),
    ReAuth(String),
}

/// The server.
pub struct Server {
    settings: Settings,
    local: Local,
    users: Users,
    peers: Peers,
    relayed: BTreeSet<(Identity, Identity)>,
    sessions: BTreeMap<String, Session>,
    usage: BTreeMap<String, Usage>,
    due: BTreeSet<(u64, String)>,
    /// Ends that could not be stored, and when they are tried again.
    unended: Vec<String>,
    unended_at: Option<u64>,
    /// Sessions that were granted: those that have ended of late, and those whose last record has not come.
    past: VecDeque<String>,
    were_granted: BTreeSet<String>,
    ledger: Ledger,
    duplicates: Duplicates,
    waiting: BTreeMap<u64, Waiting>,
    asked: BTreeMap<u64, Asked>,
    end_to_end: EndToEnd,
    next_number: u64,
    next_token: u64,
    outputs: VecDeque<Output>,
}

impl Server {
    /// A server with what was stored before: the entries of sessions in order, and all records in order.
    /// `random` is different at each start.
    pub fn new(
        settings: Settings,
        users: Users,
        sessions: Vec<SessionEntry>,
        records: impl Iterator<Item = Kept>,
        now: Now,
        random: u64,
    ) -> Self {
        let local = Local {
            host: settings.host.clone(),
            realm: settings.realm.clone(),
            addresses: settings.addresses.clone(),
            product_name: "Punctual".to_owned(),
            origin_state_id: now.unix as u32,
            auth_applications: vec![ApplicationId::NASREQ],
            acct_applications: vec![ApplicationId::ACCOUNTING],
        };
        let known = settings.peers.iter().map(|(known, _)| known.clone()).collect();
        let watchdog = settings.watchdog;
        let peers = Peers::new(&local, known, now.monotonic, random, |mut config| {
            config.watchdog_interval = watchdog;
            config.is_only_way = true;
            config
        });
        let relayed = settings
            .peers
            .iter()
            .flat_map(|(known, clients)| clients.iter().map(|client| (known.host.clone(), client.clone())));
        let mut ledger = Ledger::new(settings.most_accounts, RETENTION);
        let mut were_granted = BTreeSet::new();
        for Kept { session, number, kind, granted } in records {
            ledger.restore(now.monotonic, &session, number, kind.kind());
            if kind.is_last() {
                were_granted.remove(&session);
            } else if granted {
                were_granted.insert(session);
            }
        }
        let mut server = Self {
            local,
            users,
            peers,
            relayed: relayed.collect(),
            sessions: BTreeMap::new(),
            usage: BTreeMap::new(),
            due: BTreeSet::new(),
            unended: Vec::new(),
            unended_at: None,
            past: VecDeque::new(),
            were_granted,
            ledger,
            duplicates: Duplicates::new(REMEMBERED, REMEMBERED_BYTES),
            waiting: BTreeMap::new(),
            asked: BTreeMap::new(),
            end_to_end: EndToEnd::new(now.unix, random as u32),
            next_number: 0,
            next_token: 0,
            outputs: VecDeque::new(),
            settings,
        };
        server.restore(now, sessions);
        server
    }

    /// Connects to peers that connections are opened to.
    pub fn start(&mut self, now: Now) {
        self.peers.start(now.monotonic);
        self.after(now);
    }

    /// Says good-bye to all peers.
    pub fn stop(&mut self, now: Now) {
        self.peers.stop(now.monotonic);
        self.after(now);
    }

    /// What to do next.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Self::on_timer`] is to be called, by the clock that does not go back.
    pub fn due(&self) -> u64 {
        let sessions = self.due.first().map_or(u64::MAX, |(due, _)| *due);
        sessions.min(self.unended_at.unwrap_or(u64::MAX)).min(self.peers.due())
    }

    /// Something of [`Self::due`] has come.
    pub fn on_timer(&mut self, now: Now) {
        self.peers.on_timer(now.monotonic);
        self.sessions_due(now);
        if self.unended_at.is_some_and(|at| at <= now.monotonic) {
            self.unended_at = None;
            std::mem::take(&mut self.unended).into_iter().for_each(|session| self.store_end(session));
        }
        self.after(now);
    }

    /// A peer has connected; `shown` are the names in its certificate, `None` without TLS.
    pub fn accepted(&mut self, now: Now, connection: ConnectionId, shown: Option<Vec<String>>) {
        self.peers.accepted(now.monotonic, connection, shown);
        self.after(now);
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

    /// What [`Output::Store`] asked for is on the disk, or could not be stored.
    pub fn stored(&mut self, now: Now, number: u64, is_stored: bool) {
        match self.waiting.remove(&number) {
            Some(Waiting::Grant { place, request, previous }) => {
                self.grant_stored(now, &place, &request, previous, is_stored);
            }
            Some(Waiting::Record { place, request }) => self.record_stored(now, &place, &request, is_stored),
            Some(Waiting::Abort { session, command }) => self.abort_stored(now, &session, command, is_stored),
            Some(Waiting::End { session }) if !is_stored => self.end_again(now, session),
            Some(Waiting::End { .. }) | None => {}
        }
        self.after(now);
    }

    /// Sessions that are granted.
    pub fn sessions(&self) -> impl Iterator<Item = &Granted> {
        self.sessions.values().map(|session| &session.granted)
    }

    /// Peers, and whether they talk.
    pub fn peers(&self) -> impl Iterator<Item = (&Identity, bool)> {
        self.peers.states()
    }

    /// True if there is no connection to any peer, and none that is being closed.
    pub fn is_disconnected(&self) -> bool {
        self.peers.is_disconnected()
    }

    /// What a user has of its contract.
    pub fn usage(&self, user: &str) -> Usage {
        self.usage.get(user).copied().unwrap_or_default()
    }

    /// How many things wait for the store.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn store(&mut self, what: Stored, waiting: Waiting) {
        let number = self.next_number;
        self.next_number += 1;
        self.waiting.insert(number, waiting);
        self.outputs.push_back(Output::Store { number, what });
    }

    /// Takes what peers have done.
    fn after(&mut self, now: Now) {
        while let Some(output) = self.peers.poll_output() {
            match output {
                peers::Output::Connect(host) => self.outputs.push_back(Output::Connect(host)),
                peers::Output::Close { connection, last } => {
                    self.outputs.push_back(Output::Close { connection, last });
                }
                peers::Output::Refused(why) => self.log(format!("a connection is refused: {why}")),
                peers::Output::Peer(host, event) => self.on_event(now, host, event),
            }
        }
    }

    fn log(&mut self, text: String) {
        self.outputs.push_back(Output::Log(text));
    }

    fn on_event(&mut self, now: Now, host: Identity, event: Event) {
        match event {
            Event::Open { .. } => self.log(format!("{host}: connected")),
            Event::Down(reason) => self.log(format!("{host}: {reason}")),
            Event::Request { ticket, message } => self.on_request(now, host, ticket, &message),
            Event::Answer { token, message } => {
                if let Some(asked) = self.asked.remove(&token) {
                    self.on_answer(now, &asked, &message);
                }
            }
            Event::Unanswered { token, .. } => drop(self.asked.remove(&token)),
            Event::Connect | Event::Close { .. } | Event::Suspended | Event::Available => {}
        }
    }

    fn on_request(&mut self, now: Now, peer: Identity, ticket: Ticket, bytes: &[u8]) {
        let (header, message) = match Message::decode(bytes) {
            Ok(read) => read,
            Err(error) => {
                let answer = self.local.refuse_unreadable(bytes, &error);
                self.peers.send_answer(now.monotonic, &peer, ticket, &answer);
                return;
            }
        };
        let refused = self.refusal(&peer, &message);
        if let Some((code, text)) = refused {
            let answer = self.local.refuse(bytes, code, &text);
            self.peers.send_answer(now.monotonic, &peer, ticket, &answer);
            return;
        }
        let origin = match &message {
            Message::AaRequest(request) => request.origin_host.clone(),
            Message::AccountingRequest(request) => request.origin_host.clone(),
            Message::SessionTerminationRequest(request) => request.origin_host.clone(),
            _ => return,
        };
        match self.duplicates.check(now.monotonic, &origin, header.end_to_end) {
            Seen::New => {}
            Seen::InWork => {
                self.asked_again(&origin, header.end_to_end, peer, ticket);
                return;
            }
            Seen::Answered(answer) => {
                let answer = answer.to_vec();
                self.peers.send_answer(now.monotonic, &peer, ticket, &answer);
                return;
            }
        }
        let place = Place { peer, ticket, header, origin };
        if self.waiting.len() >= MOST_WAITING {
            let answer = self.local.refuse(bytes, ResultCode::TOO_BUSY, "the store is behind: ask again");
            self.answer_for_now(now, &place, &answer);
            return;
        }
        match message {
            Message::AaRequest(request) => self.on_aa_request(now, place, request),
            Message::AccountingRequest(request) => self.on_record(now, place, request),
            Message::SessionTerminationRequest(request) => self.on_termination(now, &place, &request),
            _ => {}
        }
    }

    /// What speaks against a request, whatever it asks for.
    fn refusal(&self, peer: &Identity, message: &Message) -> Option<(ResultCode, String)> {
        let (session, origin, realm, host, application, expected) = match message {
            Message::AaRequest(one) => (
                &one.session_id,
                &one.origin_host,
                &one.destination_realm,
                &one.destination_host,
                one.auth_application_id,
                ApplicationId::NASREQ.0,
            ),
            Message::SessionTerminationRequest(one) => (
                &one.session_id,
                &one.origin_host,
                &one.destination_realm,
                &one.destination_host,
                one.auth_application_id,
                ApplicationId::NASREQ.0,
            ),
            Message::AccountingRequest(one) => (
                &one.session_id,
                &one.origin_host,
                &one.destination_realm,
                &one.destination_host,
                one.acct_application_id.unwrap_or(ApplicationId::ACCOUNTING.0),
                ApplicationId::ACCOUNTING.0,
            ),
            _ => return Some((ResultCode::COMMAND_UNSUPPORTED, String::new())),
        };
        if *realm != self.local.realm {
            return Some((ResultCode::REALM_NOT_SERVED, format!("this is a server of {}", self.local.realm)));
        }
        if host.as_ref().is_some_and(|host| *host != self.local.host) {
            return Some((
                ResultCode::UNABLE_TO_DELIVER,
                format!("this is {}, and forwards nothing", self.local.host),
            ));
        }
        if application != expected {
            return Some((ResultCode::APPLICATION_UNSUPPORTED, String::new()));
        }
        if origin != peer && !self.relayed.contains(&(peer.clone(), origin.clone())) {
            return Some((ResultCode::AUTHORIZATION_REJECTED, format!("{peer} does not speak for {origin}")));
        }
        if session.is_empty() || session.len() > 255 {
            return Some((ResultCode::INVALID_AVP_VALUE, "Session-Id has 1 to 255 bytes here".to_owned()));
        }
        None
    }

    /// A request that is in work has come by another way: that one is answered.
    fn asked_again(&mut self, origin: &Identity, end_to_end: u32, peer: Identity, ticket: Ticket) {
        for waiting in self.waiting.values_mut() {
            let (Waiting::Grant { place, .. } | Waiting::Record { place, .. }) = waiting else { continue };
            if place.origin == *origin && place.header.end_to_end == end_to_end {
                self.peers.drop_request(&place.peer, place.ticket);
                (place.peer, place.ticket) = (peer, ticket);
                return;
            }
        }
        self.peers.drop_request(&peer, ticket);
    }

    fn encoded(&self, place: &Place, message: &Message) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Answers are about as long as what they answer.
        if message.encode(&place.header.answer(), &mut bytes).is_err() {
            bytes.clear();
        }
        bytes
    }

    /// Sends an answer that is given again if the request comes again.
    fn answer(&mut self, now: Now, place: &Place, message: &Message) {
        let bytes = self.encoded(place, message);
        self.duplicates.answered(&place.origin, place.header.end_to_end, &bytes);
        self.peers.send_answer(now.monotonic, &place.peer, place.ticket, &bytes);
    }

    /// Sends an answer that may be another one next time.
    fn answer_for_now(&mut self, now: Now, place: &Place, bytes: &[u8]) {
        self.duplicates.retract(&place.origin, place.header.end_to_end);
        self.peers.send_answer(now.monotonic, &place.peer, place.ticket, bytes);
    }

    /// Sends a request to a client, by itself or by the peer that it asked by. False if that is not possible now.
    fn ask_client(&mut self, now: Now, session: &str, message: &Message, asked: Asked) -> bool {
        let Some(one) = self.sessions.get(session) else { return false };
        let to = [&one.granted.host, &one.granted.via]
            .into_iter()
            .filter_map(|host| Identity::new(host).ok())
            .find(|host| self.peers.is_available(host));
        let Some(to) = to else { return false };
        let header = Header { end_to_end: self.end_to_end.take(), ..message.request_header() };
        let mut bytes = Vec::new();
        if message.encode(&header, &mut bytes).is_err() {
            return false;
        }
        let token = self.next_token;
        self.next_token += 1;
        self.asked.insert(token, asked);
        let sent = self.peers.send_request(now.monotonic, &to, token, &bytes).is_ok();
        if !sent {
            self.asked.remove(&token);
        }
        sent
    }

    fn on_answer(&mut self, now: Now, asked: &Asked, message: &[u8]) {
        let code = match Message::decode(message) {
            Ok((_, Message::AbortSessionAnswer(answer) | Message::ReAuthAnswer(answer))) => {
                answer.result_code
            }
            Ok((_, Message::Error(answer))) => answer.result_code,
            _ => return,
        };
        match asked {
            Asked::Abort(session) => self.abort_answered(now, session, code),
            Asked::ReAuth(session) if code == ResultCode::UNKNOWN_SESSION_ID => self.forget(session),
            Asked::ReAuth(_) => {}
        }
    }
}
