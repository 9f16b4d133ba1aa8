//! Records that the server does not have yet, at the client.
//!
//! A record is sent only after the owner has stored it durably, and forgotten only after the server has confirmed it. So
//! neither a crash nor a server that is away loses one. After a restart the owner hands in what it had stored.
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::command::{AccountingAnswer, AccountingRequest};
use crate::error::EncodeError;
use crate::header::{Flags, Header, readdress};
use crate::message::Message;
use crate::result_code::{Class, ResultCode};
use crate::session::SECOND;

/// Nanoseconds until a record is sent again after the first failure; twice as long after each further one.
const FIRST_RETRY: u64 = SECOND;
/// The longest time until a record is sent again.
const LONGEST_RETRY: u64 = 64 * SECOND;

/// A record as it is stored and sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The session.
    pub session_id: String,
    /// Its number in the session.
    pub number: u32,
    /// The whole request, with its End-to-End Identifier.
    pub message: Vec<u8>,
}

/// What the owner has to do. `key` is the place of a record in the spool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Store the record durably, then call [`Spool::stored`].
    Store {
        /// Its place.
        key: u64,
        /// The record.
        record: Record,
    },
    /// Send the request to a peer, with `key` as its token.
    Send {
        /// Its place.
        key: u64,
        /// The request.
        message: Vec<u8>,
    },
    /// The server has it: remove it from the store.
    Forget {
        /// Its place.
        key: u64,
    },
    /// The server will not take it. It stays stored and is not sent again, until [`Spool::discard`].
    Rejected {
        /// Its place.
        key: u64,
        /// Why.
        code: ResultCode,
    },
}

/// Why a record was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddError {
    /// There are as many as allowed: begin no session.
    Full(usize),
    /// It is too long for a message.
    Encode(EncodeError),
}

impl fmt::Display for AddError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(most) => {
                write!(f, "{most} records wait for the accounting server: begin no session until it is back")
            }
            Self::Encode(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for AddError {}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The owner is storing it.
    Storing,
    /// It may be sent from this time on.
    Ready(u64),
    /// A peer has it, and has not answered.
    Sent,
    /// The server will not take it.
    Rejected,
}

#[derive(Debug)]
struct Entry {
    record: Record,
    state: State,
    failures: u32,
}

/// The records that are not confirmed.
#[derive(Debug)]
pub struct Spool {
    entries: BTreeMap<u64, Entry>,
    next_key: u64,
    most: usize,
    window: usize,
    sent: usize,
    outputs: VecDeque<Output>,
}

impl Spool {
    /// Keeps so many records at most, of which so many are sent and not answered at once.
    pub const fn new(most: usize, window: usize) -> Self {
        Self { entries: BTreeMap::new(), next_key: 0, most, window, sent: 0, outputs: VecDeque::new() }
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// True if a record more would be taken. Begin a session only if there is room for its records, too.
    pub fn has_room_for(&self, records: usize) -> bool {
        self.entries.len().saturating_add(records) <= self.most
    }

    /// What to do next.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Self::on_timer`] is to be called.
    pub fn due(&self) -> Option<u64> {
        if self.sent >= self.window {
            return None;
        }
        let ready = |entry: &Entry| match entry.state {
            State::Ready(at) => Some(at),
            _ => None,
        };
        self.entries.values().filter_map(ready).min()
    }

    /// A new record. `end_to_end` stays its identifier for good.
    ///
    /// # Errors
    /// It was not taken, and nothing has changed.
    pub fn add(&mut self, record: AccountingRequest, end_to_end: u32) -> Result<u64, AddError> {
        if !self.has_room_for(1) {
            return Err(AddError::Full(self.most));
        }
        let (session_id, number) = (record.session_id.clone(), record.accounting_record_number);
        let message = Message::AccountingRequest(record);
        let header = Header { end_to_end, ..message.request_header() };
        let mut bytes = Vec::new();
        message.encode(&header, &mut bytes).map_err(AddError::Encode)?;
        let record = Record { session_id, number, message: bytes };
        let key = self.insert(record.clone(), State::Storing);
        self.outputs.push_back(Output::Store { key, record });
        Ok(key)
    }

    /// A record that was stored before a restart, in the order in which they were stored. It may have been sent.
    pub fn restore(&mut self, now: u64, mut record: Record) -> u64 {
        mark(&mut record.message);
        self.insert(record, State::Ready(now))
    }

    fn insert(&mut self, record: Record, state: State) -> u64 {
        let key = self.next_key;
        self.next_key = self.next_key.wrapping_add(1);
        self.entries.insert(key, Entry { record, state, failures: 0 });
        key
    }

    /// The record is stored.
    pub fn stored(&mut self, now: u64, key: u64) {
        if let Some(entry) = self.entries.get_mut(&key)
            && entry.state == State::Storing
        {
            entry.state = State::Ready(now);
            self.on_timer(now);
        }
    }

    /// A peer takes requests again: what waits because none did is sent at once.
    pub fn on_available(&mut self, now: u64) {
        for entry in self.entries.values_mut() {
            if let State::Ready(at) = &mut entry.state {
                *at = now.min(*at);
                entry.failures = 0;
            }
        }
        self.on_timer(now);
    }

    /// Sends what may be sent.
    pub fn on_timer(&mut self, now: u64) {
        for (key, entry) in &mut self.entries {
            if self.sent >= self.window {
                return;
            }
            if matches!(entry.state, State::Ready(at) if at <= now) {
                entry.state = State::Sent;
                self.sent = self.sent.saturating_add(1);
                self.outputs.push_back(Output::Send { key: *key, message: entry.record.message.clone() });
            }
        }
    }

    /// The server has answered. An answer for another record counts as a failure of this one.
    pub fn on_answer(&mut self, now: u64, key: u64, answer: &AccountingAnswer) {
        let Some(entry) = self.entries.get(&key) else { return };
        let fits = answer.session_id == entry.record.session_id
            && answer.accounting_record_number.is_none_or(|number| number == entry.record.number);
        let code = if fits { answer.result() } else { ResultCode::UNABLE_TO_DELIVER };
        self.on_result(now, key, code);
    }

    /// The answer has the form of an error, or cannot be read; then the code says why.
    pub fn on_error(&mut self, now: u64, key: u64, code: ResultCode) {
        // Only an answer that can be read confirms.
        let code = if code.is_success() { ResultCode::UNABLE_TO_DELIVER } else { code };
        self.on_result(now, key, code);
    }

    fn on_result(&mut self, now: u64, key: u64, code: ResultCode) {
        let Some(entry) = self.entries.get_mut(&key).filter(|entry| entry.state == State::Sent) else {
            return;
        };
        match code.class() {
            Class::Success => {
                self.sent = self.sent.saturating_sub(1);
                self.entries.remove(&key);
                self.outputs.push_back(Output::Forget { key });
                self.on_timer(now);
            }
            Class::PermanentFailure => {
                entry.state = State::Rejected;
                self.sent = self.sent.saturating_sub(1);
                self.outputs.push_back(Output::Rejected { key, code });
                self.on_timer(now);
            }
            _ => self.failed(now, key),
        }
    }

    /// No peer has answered, or none could be asked. The record is sent again later, as one that may have been received.
    pub fn on_unanswered(&mut self, now: u64, key: u64) {
        if self.entries.get(&key).is_some_and(|entry| entry.state == State::Sent) {
            self.failed(now, key);
        }
    }

    fn failed(&mut self, now: u64, key: u64) {
        if let Some(entry) = self.entries.get_mut(&key) {
            mark(&mut entry.record.message);
            let wait = FIRST_RETRY.checked_shl(entry.failures.min(32)).unwrap_or(LONGEST_RETRY);
            entry.failures = entry.failures.saturating_add(1);
            entry.state = State::Ready(now.saturating_add(wait.min(LONGEST_RETRY)));
            self.sent = self.sent.saturating_sub(1);
        }
    }

    /// Gives up a record that the server will not take.
    pub fn discard(&mut self, key: u64) {
        if self.entries.get(&key).is_some_and(|entry| entry.state == State::Rejected) {
            self.entries.remove(&key);
            self.outputs.push_back(Output::Forget { key });
        }
    }
}

/// Sets the T flag.
fn mark(message: &mut [u8]) {
    if let Ok((header, _)) = Header::read(message) {
        readdress(message, header.flags.with(Flags::RETRANSMITTED), header.hop_by_hop);
    }
}
