//! Records at the server: each is taken once, however often it comes.
//!
//! A record is confirmed only after the owner has stored it durably. After a restart the owner hands in what it had stored.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::command::{AccountingAnswer, AccountingRecordType, AccountingRequest};
use crate::local::Local;
use crate::result_code::ResultCode;

/// How many gaps in the numbers of one session are kept.
const MOST_GAPS: usize = 64;

/// What to do with a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reception {
    /// It is new: store it durably, call [`Ledger::stored`] or [`Ledger::not_stored`], then answer.
    Store,
    /// It is being stored: answer when that is done.
    Storing,
    /// It is stored: answer with success.
    Known,
    /// Answer with this code.
    Refused(ResultCode),
}

#[derive(Debug, Default)]
struct Session {
    /// Stored numbers, as first to last, without neighbours.
    ranges: BTreeMap<u32, u32>,
    storing: BTreeSet<u32>,
    /// The number of the stop or event record.
    last: Option<u32>,
    touched: u64,
}

impl Session {
    fn has(&self, number: u32) -> bool {
        self.ranges.range(..=number).next_back().is_some_and(|(_, last)| *last >= number)
    }

    fn add(&mut self, number: u32) {
        if self.has(number) {
            return;
        }
        let mut first = number;
        let mut last = number;
        if let Some((start, end)) = self.ranges.range(..number).next_back().map(|(start, end)| (*start, *end))
            && end.checked_add(1) == Some(number)
        {
            first = start;
        }
        if let Some(next) = number.checked_add(1)
            && let Some(end) = self.ranges.remove(&next)
        {
            last = end;
        }
        self.ranges.insert(first, last);
    }

    /// True if all from the first to the last record are there.
    fn is_complete(&self) -> bool {
        self.last.is_some_and(|last| self.ranges.get(&0) == Some(&last)) && self.storing.is_empty()
    }
}

/// Which records are there.
#[derive(Debug)]
pub struct Ledger {
    sessions: BTreeMap<String, Session>,
    most: usize,
    retention: u64,
}

impl Ledger {
    /// Remembers so many sessions. Those that are complete are forgotten after `retention` nanoseconds, which has to be
    /// longer than any client goes on sending a record; an owner whose store refuses a second record of the same session and
    /// number is safe beyond that.
    pub const fn new(most: usize, retention: u64) -> Self {
        Self { sessions: BTreeMap::new(), most, retention }
    }

    /// How many sessions are remembered.
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// True if none is.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Looks at a record.
    pub fn on_request(&mut self, now: u64, request: &AccountingRequest) -> Reception {
        let number = request.accounting_record_number;
        if let Some(session) = self.sessions.get(&request.session_id) {
            if session.has(number) {
                return Reception::Known;
            }
            if session.storing.contains(&number) {
                return Reception::Storing;
            }
            if session.ranges.len().saturating_add(session.storing.len()) >= MOST_GAPS {
                return Reception::Refused(ResultCode::OUT_OF_SPACE);
            }
        } else {
            if self.sessions.len() >= self.most {
                self.forget(now);
            }
            if self.sessions.len() >= self.most {
                return Reception::Refused(ResultCode::OUT_OF_SPACE);
            }
        }
        let session = self.sessions.entry(request.session_id.clone()).or_default();
        session.touched = now;
        session.storing.insert(number);
        Reception::Store
    }

    /// The record is stored.
    pub fn stored(&mut self, now: u64, request: &AccountingRequest) {
        let (number, kind) = (request.accounting_record_number, request.accounting_record_type);
        if let Some(session) = self.sessions.get_mut(&request.session_id)
            && session.storing.remove(&number)
        {
            session.touched = now;
            note(session, number, kind);
        }
    }

    /// The record could not be stored: answer DIAMETER_OUT_OF_SPACE. It may come again.
    pub fn not_stored(&mut self, request: &AccountingRequest) {
        if let Some(session) = self.sessions.get_mut(&request.session_id) {
            session.storing.remove(&request.accounting_record_number);
            if session.ranges.is_empty() && session.storing.is_empty() {
                self.sessions.remove(&request.session_id);
            }
        }
    }

    /// A record that was stored before a restart. It is remembered even above the limit.
    pub fn restore(&mut self, now: u64, session_id: &str, number: u32, kind: AccountingRecordType) {
        let session = self.sessions.entry(session_id.into()).or_default();
        session.touched = now;
        note(session, number, kind);
    }

    /// Forgets sessions that are complete and old.
    pub fn forget(&mut self, now: u64) {
        let retention = self.retention;
        self.sessions
            .retain(|_, session| !session.is_complete() || now.saturating_sub(session.touched) < retention);
    }
}

fn note(session: &mut Session, number: u32, kind: AccountingRecordType) {
    session.add(number);
    if matches!(kind, AccountingRecordType::Stop | AccountingRecordType::Event) {
        session.last = Some(number);
    }
}

/// The answer to a record.
pub fn answer(local: &Local, request: &AccountingRequest, code: ResultCode) -> AccountingAnswer {
    AccountingAnswer {
        session_id: request.session_id.clone(),
        result_code: Some(code),
        experimental_result: None,
        origin_host: local.host.clone(),
        origin_realm: local.realm.clone(),
        accounting_record_type: Some(request.accounting_record_type),
        accounting_record_number: Some(request.accounting_record_number),
        acct_application_id: request.acct_application_id,
        user_name: request.user_name.clone(),
        error_message: None,
        error_reporting_host: None,
        failed_avp: Vec::new(),
        acct_interim_interval: None,
        accounting_realtime_required: None,
        origin_state_id: (local.origin_state_id != 0).then_some(local.origin_state_id),
        proxy_info: request.proxy_info.clone(),
        other: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_join_to_ranges_in_any_order() {
        let mut session = Session::default();
        for number in [5, 3, 0, 4, 1, 1, u32::MAX, u32::MAX - 1, 2] {
            session.add(number);
        }
        let ranges: Vec<(u32, u32)> = session.ranges.iter().map(|(first, last)| (*first, *last)).collect();
        assert_eq!(ranges, [(0, 5), (u32::MAX - 1, u32::MAX)]);
        assert!(session.has(3) && session.has(u32::MAX) && !session.has(6));
    }
}
