//! The judge of simulations. It knows the bytes that servers and clients send, and what owners store; it shares no code with
//! the crate, and reads bytes with the codec of the tests.

use std::collections::{BTreeMap, BTreeSet};

use crate::independent::Message;

const SECOND: u64 = 1_000_000_000;
const SESSION_ID: u32 = 263;
const RESULT_CODE: u32 = 268;

/// What has been granted, opened, told and accounted.
#[derive(Default)]
pub(crate) struct Judge {
    /// Ends of the grants that the server has sent, by session.
    granted_until: BTreeMap<String, u64>,
    times_out: BTreeMap<String, u64>,
    open: BTreeSet<String>,
    /// Sessions whose end the client has told the server.
    left: BTreeSet<String>,
    /// Records that are durable at the client: End-to-End Identifier by session and number.
    records: BTreeMap<(String, u32), u32>,
    accounted: BTreeMap<(String, u32), u32>,
    /// How often each request arrived, and how often without the T flag.
    arrived: BTreeMap<(String, u32), (u32, u32)>,
    /// Requests that arrived more than once.
    pub(crate) doubles: u64,
}

fn text(message: &Message, code: u32) -> String {
    message.find(code).unwrap_or_else(|| panic!("AVP {code} in {message:?}")).text()
}

fn record_of(message: &Message) -> (String, u32) {
    (text(message, SESSION_ID), message.find(485).unwrap().u32())
}

impl Judge {
    /// The server sends a message of its own.
    pub(crate) fn server_sends(&mut self, now: u64, bytes: &[u8]) {
        let message = Message::read(bytes);
        if message.is_request() || message.command != 265 || message.flags & 0x20 != 0 {
            return;
        }
        if message.find(RESULT_CODE).is_none_or(|code| code.u32() != 2001) {
            return;
        }
        let session = text(&message, SESSION_ID);
        let seconds = |code: u32| message.find(code).map(|avp| u64::from(avp.u32()) * SECOND);
        let mut until = now + seconds(291).expect("a lifetime") + seconds(276).unwrap_or(0);
        if let Some(timeout) = seconds(27) {
            self.times_out.entry(session.clone()).or_insert(now + timeout);
        }
        if let Some(timeout) = self.times_out.get(&session) {
            until = until.min(*timeout);
        }
        let known = self.granted_until.entry(session).or_default();
        *known = until.max(*known);
    }

    /// The client sends a message of its own, or answers.
    pub(crate) fn client_sends(&mut self, bytes: &[u8]) {
        let message = Message::read(bytes);
        let session = || text(&message, SESSION_ID);
        let aborted = message.command == 274
            && !message.is_request()
            && message.find(RESULT_CODE).is_some_and(|code| code.u32() == 2001);
        let terminated = message.command == 275 && message.is_request();
        if aborted || terminated {
            self.left.insert(session());
        }
    }

    pub(crate) fn opened(&mut self, session: &str) {
        self.open.insert(session.into());
    }

    pub(crate) fn ended(&mut self, session: &str) {
        self.open.remove(session);
    }

    /// Looks at all open sessions.
    pub(crate) fn check(&self, now: u64) {
        for session in &self.open {
            let until = self.granted_until.get(session).copied();
            assert!(until.is_some(), "{session} is open, and the server has granted nothing");
            assert!(until > Some(now), "{session} is open at {now} after its grant until {until:?}");
            assert!(!self.left.contains(session), "{session} is open after the server was told of its end");
        }
    }

    /// A record is durable at the client.
    pub(crate) fn recorded(&mut self, bytes: &[u8]) {
        let message = Message::read(bytes);
        let before = self.records.insert(record_of(&message), message.end_to_end);
        assert_eq!(before, None, "two records with the same number");
    }

    /// The client forgets a record.
    pub(crate) fn forgotten(&self, bytes: &[u8]) {
        let record = record_of(&Message::read(bytes));
        assert!(
            self.accounted.contains_key(&record),
            "{record:?} is forgotten, and the server does not have it"
        );
    }

    /// The server makes a record durable.
    pub(crate) fn accounted(&mut self, bytes: &[u8]) {
        let message = Message::read(bytes);
        let record = record_of(&message);
        let sent = self.records.get(&record);
        assert_eq!(sent, Some(&message.end_to_end), "{record:?} was made with another identifier");
        let times = self.accounted.entry(record.clone()).or_default();
        *times += 1;
        assert_eq!(*times, 1, "{record:?} is accounted twice");
    }

    /// A request reaches the server.
    pub(crate) fn arrives(&mut self, bytes: &[u8]) {
        let message = Message::read(bytes);
        let key = (text(&message, 264), message.end_to_end);
        let (times, first) = self.arrived.entry(key).or_default();
        *times += 1;
        self.doubles += u64::from(*times == 2);
        // What was sent first may be overtaken by what was sent later.
        *first += u32::from(message.flags & 0x10 == 0);
        assert!(*first <= 1, "a request that was sent before has no T flag: {message:?}");
    }

    /// After a long quiet time.
    pub(crate) fn finish(&self) {
        assert_eq!(self.open.len(), 0, "sessions are open: {:?}", self.open);
        let missing: Vec<_> = self.records.keys().filter(|key| !self.accounted.contains_key(key)).collect();
        assert!(missing.is_empty(), "not accounted: {missing:?}");
    }

    pub(crate) fn accounted_records(&self) -> usize {
        self.accounted.len()
    }
}
