//! The server: decides sessions, aborts some, and stores records.

use std::collections::BTreeMap;

use super::SERVER_STORED;
use super::judge::Judge;
use super::network::{Due, Network, RELAY, SECOND, SERVER, local};
use diameter::accounting::ledger::{self, Ledger, Reception};
use diameter::command::{AccountingRecordType, AccountingRequest};
use diameter::duplicates::{Duplicates, EndToEnd, Seen};
use diameter::message::RawMessage;
use diameter::peer::{Event, Ticket};
use diameter::session::server::{Grant, Server, State, termination_answer};
use diameter::value::Identity;
use diameter::{Header, Message, ResultCode};

type Key = (Identity, u32);

pub(crate) struct ServerNode {
    sessions: BTreeMap<String, Server>,
    duplicates: Duplicates,
    ledger: Ledger,
    durable: BTreeMap<(String, u32), AccountingRecordType>,
    /// Records that are being stored: the request, and where its answer goes.
    storing: BTreeMap<u64, (Vec<u8>, AccountingRequest, Header, Key)>,
    /// Where the answers to requests in work go: the last place that one came from.
    places: BTreeMap<Key, (usize, Ticket)>,
    numbers: u64,
    end_to_end: EndToEnd,
    aborts: BTreeMap<u64, String>,
}

impl ServerNode {
    pub(crate) fn new() -> Self {
        Self {
            sessions: BTreeMap::new(),
            duplicates: Duplicates::new(300, 100_000),
            ledger: Ledger::new(100, 3600 * SECOND),
            durable: BTreeMap::new(),
            storing: BTreeMap::new(),
            places: BTreeMap::new(),
            numbers: 0,
            end_to_end: EndToEnd::new(1_800_000_000, 99),
            aborts: BTreeMap::new(),
        }
    }

    pub(crate) fn on_event(&mut self, network: &mut Network, judge: &mut Judge, from: usize, event: Event) {
        match event {
            Event::Request { ticket, message } => {
                judge.arrives(&message);
                self.on_request(network, judge, from, ticket, &message);
            }
            Event::Answer { token, message } => {
                let session = self.aborts.remove(&token).unwrap();
                let code = match Message::decode(&message).unwrap().1 {
                    Message::AbortSessionAnswer(body) => body.result_code,
                    Message::Error(body) => body.result_code,
                    other => panic!("{other:?}"),
                };
                self.sessions.get_mut(&session).unwrap().on_abort_answer(code);
            }
            Event::Unanswered { token, .. } => {
                self.aborts.remove(&token);
            }
            _ => {}
        }
    }

    fn on_request(
        &mut self,
        network: &mut Network,
        judge: &mut Judge,
        from: usize,
        ticket: Ticket,
        bytes: &[u8],
    ) {
        let (header, message) = Message::decode(bytes).unwrap();
        let origin = RawMessage::read(bytes).unwrap().avps().flatten().find(|avp| avp.code.0 == 264).unwrap();
        let origin = Identity::new(std::str::from_utf8(origin.value).unwrap()).unwrap();
        let key = (origin, header.end_to_end);
        match self.duplicates.check(network.now, &key.0, key.1) {
            Seen::Answered(answer) => {
                let answer = answer.to_vec();
                send(network, from, ticket, &answer);
                return;
            }
            Seen::InWork => {
                if let Some((other, older)) = self.places.insert(key, (from, ticket)) {
                    network.peers.get_mut(&(SERVER, other)).unwrap().drop_request(older);
                }
                return;
            }
            Seen::New => {}
        }
        if let Some((other, older)) = self.places.insert(key.clone(), (from, ticket)) {
            // It was forgotten while it was in work.
            network.peers.get_mut(&(SERVER, other)).unwrap().drop_request(older);
        }
        let answer = match message {
            Message::AaRequest(request) => {
                let decision = if network.random.chance(15) {
                    Err(ResultCode::AUTHORIZATION_REJECTED)
                } else {
                    Ok(Grant {
                        lifetime: network.random.range(0, 120) as u32,
                        grace: network.random.range(0, 10) as u32,
                        session_timeout: network
                            .random
                            .chance(30)
                            .then(|| network.random.range(5, 300) as u32),
                        interim_interval: Some(network.random.range(5, 60) as u32),
                        class: b"class".to_vec(),
                        qos_resources: None,
                    })
                };
                let session = self
                    .sessions
                    .entry(request.session_id.clone())
                    .or_insert_with(|| Server::new(local(SERVER), &request));
                Message::AaAnswer(session.decide(network.now, &request, decision))
            }
            Message::SessionTerminationRequest(request) => {
                Message::SessionTerminationAnswer(match self.sessions.get_mut(&request.session_id) {
                    Some(session) => session.on_termination(&request),
                    None => termination_answer(&local(SERVER), &request, ResultCode::UNKNOWN_SESSION_ID),
                })
            }
            Message::AccountingRequest(request) => {
                let code = match self.ledger.on_request(network.now, &request) {
                    Reception::Store => {
                        self.numbers += 1;
                        let at = network.now + network.random.range(1, 2 * SECOND);
                        network.schedule(at, Due::Owner { what: SERVER_STORED, number: self.numbers });
                        self.storing.insert(self.numbers, (bytes.to_vec(), request, header, key));
                        return;
                    }
                    Reception::Storing => ResultCode::OUT_OF_SPACE,
                    Reception::Known => ResultCode::SUCCESS,
                    Reception::Refused(code) => code,
                };
                Message::AccountingAnswer(ledger::answer(&local(SERVER), &request, code))
            }
            other => panic!("the server gets {other:?}"),
        };
        self.answer(network, judge, &key, &header, &answer);
    }

    fn answer(
        &mut self,
        network: &mut Network,
        judge: &mut Judge,
        key: &Key,
        header: &Header,
        answer: &Message,
    ) {
        let mut bytes = Vec::new();
        answer.encode(&header.answer(), &mut bytes).unwrap();
        if matches!(answer, Message::AccountingAnswer(body) if !body.result().is_success()) {
            self.duplicates.retract(&key.0, key.1);
        } else {
            self.duplicates.answered(&key.0, key.1, &bytes);
        }
        judge.server_sends(network.now, &bytes);
        if let Some((from, ticket)) = self.places.remove(key) {
            send(network, from, ticket, &bytes);
        }
    }

    /// A record is stored, or could not be.
    pub(crate) fn stored(&mut self, network: &mut Network, judge: &mut Judge, number: u64) {
        let Some((bytes, request, header, key)) = self.storing.remove(&number) else { return };
        let code = if network.random.chance(10) {
            self.ledger.not_stored(&request);
            ResultCode::OUT_OF_SPACE
        } else {
            self.ledger.stored(network.now, &request);
            let place = (request.session_id.clone(), request.accounting_record_number);
            self.durable.insert(place, request.accounting_record_type);
            judge.accounted(&bytes);
            ResultCode::SUCCESS
        };
        let answer = Message::AccountingAnswer(ledger::answer(&local(SERVER), &request, code));
        self.answer(network, judge, &key, &header, &answer);
    }

    /// The memory of identifiers is lost; half of the time the program has crashed, and comes back with what is durable.
    pub(crate) fn lose_memory(&mut self, network: &mut Network) {
        self.duplicates = Duplicates::new(300, 100_000);
        if network.random.chance(50) {
            return;
        }
        self.ledger = Ledger::new(100, 3600 * SECOND);
        for ((session, number), kind) in &self.durable {
            self.ledger.restore(network.now, session, *number, *kind);
        }
        self.storing.clear();
        for (from, ticket) in std::mem::take(&mut self.places).into_values() {
            network.peers.get_mut(&(SERVER, from)).unwrap().drop_request(ticket);
        }
    }

    pub(crate) fn tick(&mut self, network: &mut Network, aborts: bool) {
        let under_way: Vec<String> = self.aborts.values().cloned().collect();
        let wanted: Vec<String> = self
            .sessions
            .iter()
            .filter(|(id, session)| {
                !under_way.contains(id)
                    && (session.state() == State::Disconnecting
                        || aborts && session.state() == State::Open && network.random.one_in(200))
            })
            .map(|(id, _)| id.clone())
            .collect();
        for id in wanted {
            let Some(request) = self.sessions.get_mut(&id).unwrap().abort() else { continue };
            let message = Message::AbortSessionRequest(request);
            let header = Header { end_to_end: self.end_to_end.take(), ..message.request_header() };
            let mut bytes = Vec::new();
            message.encode(&header, &mut bytes).unwrap();
            self.numbers += 1;
            let now = network.now;
            for other in [super::CLIENT, RELAY] {
                let peer = network.peers.get_mut(&(SERVER, other)).unwrap();
                if peer.send_request(now, self.numbers, &bytes).is_ok() {
                    self.aborts.insert(self.numbers, id);
                    break;
                }
            }
        }
    }

    pub(crate) fn on_timers(&mut self, now: u64) {
        for session in self.sessions.values_mut() {
            session.on_timer(now);
        }
    }

    pub(crate) fn check_limits(&self) {
        assert!(self.duplicates.len() <= 300 && self.ledger.len() <= 100);
    }

    pub(crate) fn finish(&self) {
        assert!(self.sessions.values().all(|session| session.state() == State::Ended));
        assert!(self.storing.is_empty() && self.aborts.is_empty());
    }
}

fn send(network: &mut Network, from: usize, ticket: Ticket, bytes: &[u8]) {
    let now = network.now;
    // The connection may be gone: then the request comes again.
    let _ = network.peers.get_mut(&(SERVER, from)).unwrap().send_answer(now, ticket, bytes);
}
