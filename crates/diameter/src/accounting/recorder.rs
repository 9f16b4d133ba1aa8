//! The records of one session at the client: start, interim, stop, or one event.
use alloc::string::String;
use alloc::vec::Vec;

use crate::command::{AccountingRealtimeRequired, AccountingRecordType, AccountingRequest, TerminationCause};
use crate::local::Local;
use crate::qos::QosResources;
use crate::session::SECOND;
use crate::value::{Identity, Time};

/// Which session, and for whom.
#[derive(Clone, Debug)]
pub struct Account {
    /// The session.
    pub session_id: String,
    /// The realm that keeps the records.
    pub realm: Identity,
    /// The user.
    pub user: Option<String>,
    /// What the server that granted wants to find.
    pub class: Vec<Vec<u8>>,
    /// What was reserved.
    pub reserved: Option<QosResources>,
    /// What happens if records do not arrive.
    pub realtime: AccountingRealtimeRequired,
    /// Seconds between interim records; `None` without.
    pub interim_interval: Option<u32>,
}

/// What was delivered since the session began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Bytes of IP to the user.
    pub input_bytes: u64,
    /// Bytes of IP from the user.
    pub output_bytes: u64,
    /// Packets to the user.
    pub input_packets: u64,
    /// Packets from the user.
    pub output_packets: u64,
}

/// How far the records are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    Running { began: u64, stored: bool, delivered: bool },
    Over,
}

/// Numbers the records of a session, and says when the session may be served.
#[derive(Debug)]
pub struct Recorder {
    local: Local,
    account: Account,
    state: State,
    next_number: u32,
    interim_due: Option<u64>,
}

impl Recorder {
    /// A session without records.
    pub const fn new(local: Local, account: Account) -> Self {
        Self { local, account, state: State::Idle, next_number: 0, interim_due: None }
    }

    /// A session whose records go on after a restart: the number of the last one, and for how many seconds the session had lasted by then.
    pub fn resumed(local: Local, account: Account, last: (u32, u32), now: u64) -> Self {
        let began = now.saturating_sub(u64::from(last.1).saturating_mul(SECOND));
        let state = State::Running { began, stored: true, delivered: true };
        let mut recorder =
            Self { local, account, state, next_number: last.0.wrapping_add(1), interim_due: None };
        recorder.schedule(now);
        recorder
    }

    /// When [`Self::interim`] is to be called.
    pub const fn due(&self) -> Option<u64> {
        self.interim_due
    }

    /// True if the session may be served: as its records require, the first one has been delivered, or stored.
    pub fn may_serve(&self) -> bool {
        let State::Running { stored, delivered, .. } = self.state else { return false };
        match self.account.realtime {
            AccountingRealtimeRequired::DeliverAndGrant => delivered,
            AccountingRealtimeRequired::GrantAndStore => stored || delivered,
            AccountingRealtimeRequired::GrantAndLose => true,
        }
    }

    /// A record is in the spool durably.
    pub const fn on_stored(&mut self) {
        if let State::Running { stored, .. } = &mut self.state {
            *stored = true;
        }
    }

    /// The server has a record.
    pub const fn on_delivered(&mut self) {
        if let State::Running { delivered, .. } = &mut self.state {
            *delivered = true;
        }
    }

    /// A record could not be delivered for now, or the server refuses it. True if the session has to end because of it: then
    /// call [`Self::stop`].
    pub fn on_failed(&mut self) -> bool {
        let State::Running { delivered, .. } = &mut self.state else { return false };
        if self.account.realtime == AccountingRealtimeRequired::DeliverAndGrant {
            *delivered = false;
            return true;
        }
        false
    }

    /// The server wants interim records as often as this, in seconds.
    pub fn set_interim_interval(&mut self, now: u64, seconds: u32) {
        self.account.interim_interval = (seconds > 0).then_some(seconds);
        if matches!(self.state, State::Running { .. }) {
            self.schedule(now);
        }
    }

    /// The record of something without duration; `None` if the session has had records.
    pub fn event(&mut self, time: Time, usage: Usage) -> Option<AccountingRequest> {
        if self.state != State::Idle {
            return None;
        }
        self.state = State::Over;
        Some(self.record(AccountingRecordType::Event, time, usage, None, None))
    }

    /// The first record; `None` if the session has had records. The session may be served when [`Self::may_serve`] says so.
    pub fn start(&mut self, now: u64, time: Time) -> Option<AccountingRequest> {
        if self.state != State::Idle {
            return None;
        }
        self.state = State::Running { began: now, stored: false, delivered: false };
        self.schedule(now);
        Some(self.record(AccountingRecordType::Start, time, Usage::default(), None, None))
    }

    /// A record in between; `None` if the session does not run.
    pub fn interim(&mut self, now: u64, time: Time, usage: Usage) -> Option<AccountingRequest> {
        let State::Running { began, .. } = self.state else { return None };
        self.schedule(now);
        let lasted = seconds(began, now);
        Some(self.record(AccountingRecordType::Interim, time, usage, Some(lasted), None))
    }

    /// The last record; `None` if the session does not run.
    pub fn stop(
        &mut self,
        now: u64,
        time: Time,
        usage: Usage,
        cause: TerminationCause,
    ) -> Option<AccountingRequest> {
        let State::Running { began, .. } = self.state else { return None };
        self.state = State::Over;
        self.interim_due = None;
        let lasted = seconds(began, now);
        Some(self.record(AccountingRecordType::Stop, time, usage, Some(lasted), Some(cause)))
    }

    fn schedule(&mut self, now: u64) {
        let interval = self.account.interim_interval.filter(|seconds| *seconds > 0);
        self.interim_due =
            interval.map(|seconds| now.saturating_add(u64::from(seconds).saturating_mul(SECOND)));
    }

    fn record(
        &mut self,
        accounting_record_type: AccountingRecordType,
        time: Time,
        usage: Usage,
        lasted: Option<u32>,
        termination_cause: Option<TerminationCause>,
    ) -> AccountingRequest {
        let number = self.next_number;
        self.next_number = self.next_number.wrapping_add(1);
        let account = &self.account;
        AccountingRequest {
            session_id: account.session_id.clone(),
            origin_host: self.local.host.clone(),
            origin_realm: self.local.realm.clone(),
            destination_realm: account.realm.clone(),
            accounting_record_type,
            accounting_record_number: number,
            acct_application_id: Some(crate::header::ApplicationId::ACCOUNTING.0),
            destination_host: None,
            user_name: account.user.clone(),
            class: account.class.clone(),
            accounting_sub_session_id: None,
            acct_multi_session_id: None,
            acct_interim_interval: account.interim_interval,
            accounting_realtime_required: Some(account.realtime),
            origin_state_id: (self.local.origin_state_id != 0).then_some(self.local.origin_state_id),
            event_timestamp: Some(time),
            accounting_input_octets: Some(usage.input_bytes),
            accounting_output_octets: Some(usage.output_bytes),
            accounting_input_packets: Some(usage.input_packets),
            accounting_output_packets: Some(usage.output_packets),
            acct_session_time: lasted,
            termination_cause,
            qos_resources: account.reserved.clone(),
            proxy_info: Vec::new(),
            route_record: Vec::new(),
            other: Vec::new(),
        }
    }
}

/// Whole seconds between two times, at most what 32 bits hold.
fn seconds(from: u64, to: u64) -> u32 {
    u32::try_from(to.saturating_sub(from) / SECOND).unwrap_or(u32::MAX)
}
