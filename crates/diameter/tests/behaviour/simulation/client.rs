//! The client: asks for sessions, serves them, and records what it served.

use std::collections::BTreeMap;

use super::CLIENT_STORED;
use super::judge::Judge;
use super::network::{CLIENT, Due, Network, RELAY, SECOND, SERVER, local};
use diameter::accounting::recorder::{Account, Recorder, Usage};
use diameter::accounting::spool::{self, Record, Spool};
use diameter::command::{AccountingRealtimeRequired, AccountingRequest, TerminationCause};
use diameter::duplicates::EndToEnd;
use diameter::peer::{Event, Ticket};
use diameter::session::client::{Client, EndReason, Output, Request, State};
use diameter::session::session_id;
use diameter::value::{Identity, Time};
use diameter::{Header, Message};
use testkit::random::Random;

/// How long a request is tried before it is given up.
const PATIENCE: u64 = 40 * SECOND;
const MOST_RECORDS: usize = 400;

#[derive(Clone, PartialEq, Eq, Debug)]
enum Purpose {
    Authorization(usize),
    Termination(usize),
    Record(u64),
}

struct Outstanding {
    bytes: Vec<u8>,
    purpose: Purpose,
    deadline: u64,
    sent: bool,
}

struct Session {
    client: Client,
    recorder: Option<Recorder>,
    begins: u64,
    ends: u64,
}

#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) granted: u64,
    pub(crate) renewed: u64,
    pub(crate) refused: u64,
    pub(crate) unreachable: u64,
    pub(crate) aborted: u64,
    pub(crate) expired: u64,
    pub(crate) restarts: u64,
}

pub(crate) struct ClientNode {
    sessions: Vec<Session>,
    outstanding: BTreeMap<u64, Outstanding>,
    tokens: u64,
    end_to_end: EndToEnd,
    spool: Spool,
    /// What is durable, by the place in the spool, and what is being stored.
    durable: BTreeMap<u64, Record>,
    storing: BTreeMap<u64, Record>,
    /// Counts restarts, so that what was being stored before does not end after.
    epoch: u64,
    pub(crate) counts: Counts,
}

fn time(now: u64) -> Time {
    Time::from_unix(1_800_000_000 + now / SECOND).unwrap()
}

impl ClientNode {
    pub(crate) fn new(random: &mut Random) -> Self {
        let session = |number: u64, random: &mut Random| {
            let begins = random.range(0, 400 * SECOND);
            let request = Request {
                session_id: session_id(&local(CLIENT).host, 7, number as u32),
                application: 1,
                realm: Identity::new("right").unwrap(),
                user: Some("user".into()),
                password: None,
                qos_resources: None,
            };
            let ends = begins + random.range(0, 250 * SECOND);
            Session { client: Client::new(local(CLIENT), request), recorder: None, begins, ends }
        };
        Self {
            sessions: (0..8).map(|number| session(number, random)).collect(),
            outstanding: BTreeMap::new(),
            tokens: 0,
            end_to_end: EndToEnd::new(1_800_000_000, 5),
            spool: Spool::new(MOST_RECORDS, 4),
            durable: BTreeMap::new(),
            storing: BTreeMap::new(),
            epoch: 0,
            counts: Counts::default(),
        }
    }

    pub(crate) fn due(&self) -> Option<u64> {
        let sessions = self.sessions.iter().filter_map(|session| session.client.due());
        sessions.chain(self.spool.due()).min()
    }

    pub(crate) fn on_timers(&mut self, now: u64) {
        for session in &mut self.sessions {
            if session.client.due().is_some_and(|due| due <= now) {
                session.client.on_timer(now);
            }
        }
        self.spool.on_timer(now);
    }

    /// Does what the machines want.
    pub(crate) fn settle(&mut self, network: &mut Network, judge: &mut Judge) {
        loop {
            let mut quiet = true;
            for index in 0..self.sessions.len() {
                while let Some(output) = self.sessions[index].client.poll_output() {
                    quiet = false;
                    self.on_session(network, judge, index, output);
                }
            }
            while let Some(output) = self.spool.poll_output() {
                quiet = false;
                self.on_spool(network, judge, output);
            }
            if quiet {
                return;
            }
        }
    }

    fn on_session(&mut self, network: &mut Network, judge: &mut Judge, index: usize, output: Output) {
        let now = network.now;
        match output {
            Output::Send(message) => {
                let purpose = match &message {
                    Message::AaRequest(_) => Purpose::Authorization(index),
                    _ => Purpose::Termination(index),
                };
                let header = Header { end_to_end: self.end_to_end.take(), ..message.request_header() };
                let mut bytes = Vec::new();
                message.encode(&header, &mut bytes).unwrap();
                judge.client_sends(&bytes);
                self.send(network, bytes, purpose);
            }
            Output::Answer(message) => panic!("an answer without a request: {message:?}"),
            Output::Granted { interim_interval, .. } => {
                let id = self.sessions[index].client.session_id().to_owned();
                assert!(self.sessions[index].client.is_open());
                judge.opened(&id);
                if self.sessions[index].recorder.is_some() {
                    self.counts.renewed += 1;
                    return;
                }
                self.counts.granted += 1;
                let realtime = if network.random.chance(20) {
                    AccountingRealtimeRequired::DeliverAndGrant
                } else {
                    AccountingRealtimeRequired::GrantAndStore
                };
                let account = Account {
                    session_id: id,
                    realm: Identity::new("right").unwrap(),
                    user: None,
                    class: Vec::new(),
                    reserved: None,
                    realtime,
                    interim_interval,
                };
                let mut recorder = Recorder::new(local(CLIENT), account);
                let record = recorder.start(now, time(now)).unwrap();
                assert!(!recorder.may_serve(), "nothing is stored yet");
                self.sessions[index].recorder = Some(recorder);
                self.record(record);
            }
            Output::Ended(reason) => {
                judge.ended(self.sessions[index].client.session_id());
                match reason {
                    EndReason::Refused(_) => self.counts.refused += 1,
                    EndReason::Unreachable => self.counts.unreachable += 1,
                    EndReason::Aborted => self.counts.aborted += 1,
                    EndReason::Expired | EndReason::SessionTimeout => self.counts.expired += 1,
                    EndReason::Terminated(_) => {}
                }
                if let Some(recorder) = &mut self.sessions[index].recorder {
                    let stop = recorder.stop(now, time(now), Usage::default(), TerminationCause::Logout);
                    assert!(!recorder.may_serve());
                    if let Some(record) = stop {
                        self.record(record);
                    }
                }
            }
        }
    }

    fn record(&mut self, record: AccountingRequest) {
        let end_to_end = self.end_to_end.take();
        self.spool.add(record, end_to_end).unwrap();
    }

    fn on_spool(&mut self, network: &mut Network, judge: &mut Judge, output: spool::Output) {
        match output {
            spool::Output::Store { key, record } => {
                self.storing.insert(key, record);
                let at = network.now + network.random.range(1, SECOND / 10);
                network.schedule(at, Due::Owner { what: CLIENT_STORED, number: self.epoch << 32 | key });
            }
            spool::Output::Send { key, message } => {
                assert!(self.durable.contains_key(&key), "a record is sent before it is stored");
                self.send(network, message, Purpose::Record(key));
            }
            spool::Output::Forget { key } => {
                let record = self.durable.remove(&key).unwrap();
                judge.forgotten(&record.message);
            }
            spool::Output::Rejected { key, code } => panic!("record {key} is rejected: {code}"),
        }
    }

    fn recorder_of(&mut self, session_id: &str) -> Option<&mut Recorder> {
        self.sessions.iter_mut().find(|one| one.client.session_id() == session_id)?.recorder.as_mut()
    }

    pub(crate) fn stored(&mut self, network: &mut Network, judge: &mut Judge, number: u64) {
        let key = number & 0xffff_ffff;
        if number >> 32 != self.epoch {
            return;
        }
        let record = self.storing.remove(&key).unwrap();
        judge.recorded(&record.message);
        if let Some(recorder) = self.recorder_of(&record.session_id) {
            recorder.on_stored();
        }
        self.durable.insert(key, record);
        self.spool.stored(network.now, key);
    }

    /// The program crashes and comes back with the records that are durable.
    pub(crate) fn restart_spool(&mut self, network: &Network) {
        self.counts.restarts += 1;
        self.epoch += 1;
        self.storing.clear();
        self.outstanding.retain(|_, one| !matches!(one.purpose, Purpose::Record(_)));
        self.spool = Spool::new(MOST_RECORDS, 4);
        for (_, record) in std::mem::take(&mut self.durable) {
            let key = self.spool.restore(network.now, record.clone());
            self.durable.insert(key, record);
        }
        self.spool.on_timer(network.now);
    }

    fn send(&mut self, network: &mut Network, bytes: Vec<u8>, purpose: Purpose) {
        self.tokens += 1;
        let deadline = network.now + PATIENCE;
        self.outstanding.insert(self.tokens, Outstanding { bytes, purpose, deadline, sent: false });
        self.dispatch(network, self.tokens);
    }

    /// Sends by whichever peer takes it.
    fn dispatch(&mut self, network: &mut Network, token: u64) {
        let one = self.outstanding.get_mut(&token).unwrap();
        let order = if network.random.chance(70) { [RELAY, SERVER] } else { [SERVER, RELAY] };
        for other in order {
            let now = network.now;
            let peer = network.peers.get_mut(&(CLIENT, other)).unwrap();
            if peer.send_request(now, token, &one.bytes).is_ok() {
                one.sent = true;
                return;
            }
        }
    }

    pub(crate) fn tick(&mut self, network: &mut Network, judge: &mut Judge) {
        let now = network.now;
        for index in 0..self.sessions.len() {
            let session = &mut self.sessions[index];
            if session.begins <= now && session.client.state() == State::Idle {
                session.client.ask(now);
            }
            if session.ends <= now && matches!(session.client.state(), State::Open | State::Pending) {
                session.client.terminate(TerminationCause::Logout);
            }
            let due = session.recorder.as_ref().and_then(Recorder::due).is_some_and(|due| due <= now);
            if due && session.client.is_open() {
                let usage = Usage { input_bytes: now, ..Usage::default() };
                let record = session.recorder.as_mut().unwrap().interim(now, time(now), usage);
                self.record(record.unwrap());
            }
        }
        for token in self.outstanding.keys().copied().collect::<Vec<_>>() {
            let one = &self.outstanding[&token];
            if !one.sent && one.deadline <= now {
                let one = self.outstanding.remove(&token).unwrap();
                self.give_up(now, &one.purpose);
            } else if !one.sent {
                self.dispatch(network, token);
            }
        }
        self.settle(network, judge);
    }

    fn give_up(&mut self, now: u64, purpose: &Purpose) {
        match purpose {
            Purpose::Authorization(index) => self.sessions[*index].client.on_unanswered(now),
            Purpose::Termination(index) => self.sessions[*index].client.on_terminated(),
            Purpose::Record(key) => {
                self.spool.on_unanswered(now, *key);
                let session = self.durable[key].session_id.clone();
                if self.recorder_of(&session).is_some_and(Recorder::on_failed) {
                    let index =
                        self.sessions.iter().position(|one| one.client.session_id() == session).unwrap();
                    self.sessions[index].client.terminate(TerminationCause::Administrative);
                }
            }
        }
    }

    pub(crate) fn on_event(&mut self, network: &mut Network, judge: &mut Judge, from: usize, event: Event) {
        let now = network.now;
        match event {
            Event::Request { ticket, message } => self.on_request(network, judge, from, ticket, &message),
            Event::Answer { token, message } => {
                // Those of before a restart are forgotten.
                let Some(one) = self.outstanding.remove(&token) else { return };
                let message = Message::decode(&message).unwrap().1;
                match (one.purpose, message) {
                    (Purpose::Authorization(index), Message::AaAnswer(answer)) => {
                        self.sessions[index].client.on_answer(now, &answer);
                    }
                    (Purpose::Authorization(index), Message::Error(error)) => {
                        self.sessions[index].client.on_error(now, error.result_code);
                    }
                    (Purpose::Termination(index), _) => self.sessions[index].client.on_terminated(),
                    (Purpose::Record(key), Message::AccountingAnswer(answer)) => {
                        let session = answer.session_id.clone();
                        if answer.result().is_success()
                            && let Some(recorder) = self.recorder_of(&session)
                        {
                            recorder.on_delivered();
                        }
                        self.spool.on_answer(now, key, &answer);
                    }
                    (Purpose::Record(key), Message::Error(error)) => {
                        self.spool.on_error(now, key, error.result_code);
                    }
                    (purpose, message) => panic!("{purpose:?} is answered by {message:?}"),
                }
            }
            Event::Unanswered { token, message, .. } => {
                let Some(one) = self.outstanding.get_mut(&token) else { return };
                one.bytes = message;
                one.sent = false;
                if one.deadline > now {
                    self.dispatch(network, token);
                }
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
        let (header, Message::AbortSessionRequest(request)) = Message::decode(bytes).unwrap() else {
            panic!("the client gets another request than an abort");
        };
        self.settle(network, judge);
        let index =
            self.sessions.iter().position(|one| one.client.session_id() == request.session_id).unwrap();
        self.sessions[index].client.on_abort(&request);
        let Some(Output::Answer(answer)) = self.sessions[index].client.poll_output() else {
            panic!("an abort is answered first");
        };
        while let Some(output) = self.sessions[index].client.poll_output() {
            self.on_session(network, judge, index, output);
        }
        let mut bytes = Vec::new();
        answer.encode(&header.answer(), &mut bytes).unwrap();
        judge.client_sends(&bytes);
        let now = network.now;
        let _ = network.peers.get_mut(&(CLIENT, from)).unwrap().send_answer(now, ticket, &bytes);
    }

    pub(crate) fn check_limits(&self) {
        assert!(self.spool.len() <= MOST_RECORDS);
        let sent = self.outstanding.values().filter(|one| matches!(one.purpose, Purpose::Record(_))).count();
        assert!(sent <= 4, "no more records are sent at once than allowed");
    }

    pub(crate) fn finish(&self) {
        assert!(self.sessions.iter().all(|session| session.client.state() == State::Ended));
        assert!(self.spool.is_empty() && self.durable.is_empty() && self.outstanding.is_empty());
    }
}
