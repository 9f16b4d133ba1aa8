//! Sessions that go on after a start of the client: what serves them has outlived it.
use diameter::accounting::recorder::{Account, Recorder, Usage};
use diameter::command::{AccountingRealtimeRequired, AccountingRequest};
use diameter::session::client::{Client as Machine, Restored};

use super::records::{goes_on, request_of};
use super::{Ask, Client, Permit, Session};
use crate::server::Now;

impl Client {
    /// A session of an earlier run goes on as the same one: the server is asked at once to renew what it had granted until `until`, by the clock
    /// that does not go back. Its records go on with the next number. To be called before [`Client::end_restored`], which ends all others.
    pub fn resume(&mut self, now: Now, id: &str, ask: Ask, until: u64) {
        let last = self.last.get(id).filter(|(_, goes_on)| *goes_on);
        let last = last.and_then(|(message, _)| request_of(message));
        let request = self.request(id.to_owned(), ask);
        let permit = Permit {
            session: id.to_owned(),
            resources: request.qos_resources.clone(),
            interim: None,
            until: Some(until),
        };
        let user = request.user.clone().unwrap_or_default();
        let class = last.as_ref().map(|last| last.class.clone()).unwrap_or_default();
        let restored = Restored { class: class.clone(), until };
        let machine = Machine::restored(self.local.clone(), request, restored, now.monotonic);
        let recorder = last.filter(goes_on).map(|last| self.recorder_after(now, last));
        let session = Session {
            machine,
            user,
            class,
            permit: Some(permit),
            deadline: None,
            reason: String::new(),
            recorder,
            interim_asked: false,
            open_requests: 0,
        };
        self.sessions.insert(id.to_owned(), session);
    }

    /// The records of a session of an earlier run that no server was asked for go on with the next number. To be called before
    /// [`Client::end_restored`]. False if it has none that go on.
    pub fn resume_account(&mut self, now: Now, id: &str) -> bool {
        let last = self.last.get(id).filter(|(_, goes_on)| *goes_on);
        let last = last.and_then(|(message, _)| request_of(message)).filter(goes_on);
        let recorder = last.map(|last| self.recorder_after(now, last));
        recorder.map(|recorder| self.accounts.insert(id.to_owned(), recorder)).is_some()
    }

    fn recorder_after(&self, now: Now, last: AccountingRequest) -> Recorder {
        let account = Account {
            session_id: last.session_id,
            realm: last.destination_realm,
            user: last.user_name,
            class: last.class,
            reserved: last.qos_resources,
            realtime: last.accounting_realtime_required.unwrap_or(AccountingRealtimeRequired::GrantAndStore),
            interim_interval: last.acct_interim_interval,
        };
        let before = (last.accounting_record_number, last.acct_session_time.unwrap_or(0));
        Recorder::resumed(self.local.clone(), account, before, now.monotonic)
    }

    /// What the last record of a session said that it had been delivered; `None` if it has none.
    pub fn told(&self, id: &str) -> Option<Usage> {
        let last = request_of(&self.last.get(id)?.0)?;
        Some(Usage {
            input_bytes: last.accounting_input_octets.unwrap_or(0),
            output_bytes: last.accounting_output_octets.unwrap_or(0),
            input_packets: last.accounting_input_packets.unwrap_or(0),
            output_packets: last.accounting_output_packets.unwrap_or(0),
        })
    }

    /// Says good-bye, and leaves sessions as they are: the next run goes on with them ([`Client::resume`]), or they run out.
    pub fn leave(&mut self, now: Now) {
        self.peers.stop(now.monotonic);
        self.after(now);
    }
}
