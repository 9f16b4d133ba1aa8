//! Records of accounting at the client: stored, sent, forgotten, and what a restart makes of them.
use std::collections::BTreeMap;

use diameter::accounting::recorder::{Account, Recorder, Usage};
use diameter::accounting::spool::{Output as Spooled, Record};
use diameter::command::{
    AccountingRealtimeRequired, AccountingRecordType, AccountingRequest, SessionTerminationRequest,
    TerminationCause,
};
use diameter::header::ApplicationId;
use diameter::message::Message;
use diameter::qos::QosResources;
use diameter::value::Time;

use super::{Client, Output, Purpose};
use crate::entry::{Bytes, RecordKind, SpoolEntry};
use crate::server::Now;

/// Nanoseconds until what could not be stored is tried again.
const STORE_AGAIN: u64 = 1_000_000_000;

pub(super) fn request_of(message: &[u8]) -> Option<AccountingRequest> {
    match Message::decode(message) {
        Ok((_, Message::AccountingRequest(request))) => Some(request),
        _ => None,
    }
}

/// Whether more records come after this one.
pub(super) fn goes_on(request: &AccountingRequest) -> bool {
    !RecordKind::of(request.accounting_record_type).is_last()
}

fn time(now: Now) -> Time {
    Time::from_unix(now.unix).unwrap_or(Time(0))
}

impl Client {
    /// Takes what was stored before a restart.
    pub(super) fn restore(&mut self, now: Now, entries: Vec<SpoolEntry>) {
        let mut waiting = BTreeMap::new();
        let mut last: BTreeMap<String, AccountingRequest> = BTreeMap::new();
        for entry in entries {
            let message = match &entry {
                SpoolEntry::Added { message, .. } | SpoolEntry::Last { message } => Some(&message.0),
                SpoolEntry::Delivered { .. } => None,
            };
            if let Some(request) = message.and_then(|message| request_of(message)) {
                // What could not be stored at first may stand behind what came after it.
                let is_later = last
                    .get(&request.session_id)
                    .is_none_or(|before| before.accounting_record_number < request.accounting_record_number);
                if is_later {
                    last.insert(request.session_id.clone(), request);
                }
            }
            match entry {
                SpoolEntry::Added { key, message } => drop(waiting.insert(key, message.0)),
                SpoolEntry::Delivered { key } => drop(waiting.remove(&key)),
                SpoolEntry::Last { .. } => {}
            }
        }
        for message in waiting.into_values() {
            let Some(request) = request_of(&message) else { continue };
            let number = request.accounting_record_number;
            let record = Record { session_id: request.session_id, number, message: message.clone() };
            let id = record.session_id.clone();
            let key = self.spool.restore(now.monotonic, record);
            self.keep(key, id, message);
        }
        for request in last.into_values() {
            let id = request.session_id.clone();
            let goes_on = goes_on(&request);
            let message = Message::AccountingRequest(request);
            let mut bytes = Vec::new();
            if message.encode(&message.request_header(), &mut bytes).is_ok() {
                self.last.insert(id.clone(), (bytes, goes_on));
            }
            self.settle(&id);
        }
    }

    fn keep(&mut self, key: u64, id: String, message: Vec<u8>) {
        *self.counts.entry(id.clone()).or_default() += 1;
        self.kept.insert(key, (id, message));
    }

    /// The server has a record.
    fn drop_kept(&mut self, key: u64) {
        let Some((id, _)) = self.kept.remove(&key) else { return };
        if let Some(count) = self.counts.get_mut(&id) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&id);
            }
        }
        self.settle(&id);
    }

    /// Forgets the last record of a session that is over, once no other record of it could be taken for the last one.
    fn settle(&mut self, id: &str) {
        let is_over = self.last.get(id).is_some_and(|(_, goes_on)| !goes_on);
        if is_over && !self.counts.contains_key(id) {
            self.last.remove(id);
        }
    }

    /// Ends the sessions that were accounted when the program ended and that are not taken up again: what it served is over.
    pub fn end_restored(&mut self, now: Now) {
        let is_known = |id: &String| self.sessions.contains_key(id) || self.accounts.contains_key(id);
        let lost = self.last.iter().filter(|(id, (_, goes_on))| *goes_on && !is_known(id));
        let lost: Vec<AccountingRequest> = lost.filter_map(|(_, (message, _))| request_of(message)).collect();
        for request in lost {
            // Of a session that it was not asked for the server says that it does not know it.
            let ended = SessionTerminationRequest {
                session_id: request.session_id.clone(),
                origin_host: self.local.host.clone(),
                origin_realm: self.local.realm.clone(),
                destination_realm: self.settings.server_realm.clone(),
                auth_application_id: ApplicationId::NASREQ.0,
                termination_cause: TerminationCause::Administrative,
                user_name: request.user_name.clone(),
                destination_host: None,
                class: request.class.clone(),
                origin_state_id: Some(self.local.origin_state_id),
                proxy_info: Vec::new(),
                route_record: Vec::new(),
                other: Vec::new(),
            };
            if let Some(bytes) = self.encoded(&Message::SessionTerminationRequest(ended)) {
                self.send_termination(now, request.session_id.clone(), bytes, 0);
            }
            let last = AccountingRequest {
                accounting_record_type: AccountingRecordType::Stop,
                accounting_record_number: request.accounting_record_number.saturating_add(1),
                event_timestamp: Some(time(now)),
                termination_cause: Some(TerminationCause::Administrative),
                origin_state_id: Some(self.local.origin_state_id),
                ..request
            };
            self.add(now, last);
        }
        self.after(now);
    }

    /// What a store has to hold now: it may replace all that was stored before.
    pub fn snapshot(&self) -> Vec<SpoolEntry> {
        let last =
            self.last.values().map(|(message, _)| SpoolEntry::Last { message: Bytes(message.clone()) });
        let kept = self
            .kept
            .iter()
            .map(|(key, (_, message))| SpoolEntry::Added { key: *key, message: Bytes(message.clone()) });
        last.chain(kept).collect()
    }

    /// Begins the records of a session that is open. It may be served when [`Output::Accounted`] says that the first one is
    /// stored.
    ///
    /// # Errors
    /// It is not open, or has records already.
    pub fn start_accounting(&mut self, now: Now, id: &str) -> Result<(), String> {
        let realm = self.settings.server_realm.clone();
        let session = self.sessions.get_mut(id).filter(|session| session.machine.is_open());
        let Some(session) = session else { return Err(format!("session {id} is not open")) };
        if session.recorder.is_some() {
            return Err(format!("session {id} is accounted already"));
        }
        let permit = session.permit.as_ref();
        let account = Account {
            session_id: id.to_owned(),
            realm,
            user: Some(session.user.clone()),
            class: session.class.clone(),
            reserved: permit.and_then(|permit| permit.resources.clone()),
            realtime: AccountingRealtimeRequired::GrantAndStore,
            interim_interval: permit.and_then(|permit| permit.interim),
        };
        let mut recorder = Recorder::new(self.local.clone(), account);
        let record = recorder.start(now.monotonic, time(now));
        session.recorder = Some(recorder);
        if let Some(record) = record {
            self.add(now, record);
        }
        self.after(now);
        Ok(())
    }

    /// Begins the records of a session that another one answers for: no server is asked whether it may be.
    ///
    /// # Errors
    /// It has records already, is one that a server was asked for, or finds no room: half of the spool is kept for sessions that a server was asked
    /// for, so others cannot keep those out.
    pub fn account(&mut self, now: Now, id: &str, user: &str, reserved: QosResources) -> Result<(), String> {
        if self.sessions.contains_key(id) || self.accounts.contains_key(id) {
            return Err(format!("session {id} is known already"));
        }
        if !self.spool.has_room_for(self.promised() + 2 + self.settings.most_records / 2) {
            return Err("half of the spool is for sessions that the server was asked for".to_owned());
        }
        let account = Account {
            session_id: id.to_owned(),
            realm: self.settings.server_realm.clone(),
            user: Some(user.to_owned()),
            class: Vec::new(),
            reserved: Some(reserved),
            realtime: AccountingRealtimeRequired::GrantAndStore,
            interim_interval: None,
        };
        let mut recorder = Recorder::new(self.local.clone(), account);
        let record = recorder.start(now.monotonic, time(now));
        self.accounts.insert(id.to_owned(), recorder);
        if let Some(record) = record {
            self.add(now, record);
        }
        self.after(now);
        Ok(())
    }

    /// Records that find room whatever comes: a first and a last one of each session.
    pub(super) fn promised(&self) -> usize {
        2 * (self.sessions.len() + self.accounts.len())
    }

    /// A record in between, with what was delivered since the session began.
    ///
    /// # Errors
    /// The session is not accounted, or there is no room for more records than the last ones.
    pub fn interim(&mut self, now: Now, id: &str, usage: Usage) -> Result<(), String> {
        let room = self.spool.has_room_for(self.promised() + 1);
        let session = self.sessions.get_mut(id);
        let recorder = session.and_then(|session| {
            session.interim_asked = false;
            session.recorder.as_mut()
        });
        let Some(recorder) = recorder else { return Err(format!("session {id} is not accounted")) };
        if !room {
            return Err(
                "the spool has room for last records only: the next interim record tells all".to_owned()
            );
        }
        if let Some(record) = recorder.interim(now.monotonic, time(now), usage) {
            self.add(now, record);
        }
        self.after(now);
        Ok(())
    }

    /// The last record of a session, which is ended if it is still open.
    ///
    /// # Errors
    /// The session is not accounted.
    pub fn stop_accounting(
        &mut self,
        now: Now,
        id: &str,
        usage: Usage,
        cause: TerminationCause,
    ) -> Result<(), String> {
        let recorder = match self.accounts.remove(id) {
            None => self.sessions.get_mut(id).and_then(|session| session.recorder.take()),
            account => account,
        };
        let Some(mut recorder) = recorder else { return Err(format!("session {id} is not accounted")) };
        if let Some(record) = recorder.stop(now.monotonic, time(now), usage, cause) {
            self.add(now, record);
        }
        self.end(now, id, cause);
        Ok(())
    }

    fn add(&mut self, now: Now, record: AccountingRequest) {
        let id = record.session_id.clone();
        let number = self.end_to_end.take();
        if let Err(error) = self.spool.add(record, number) {
            self.outputs.push_back(Output::Log(format!("a record of {id} is lost: {error}")));
        }
        self.after_spool(now);
    }

    /// Does what the spool says.
    pub(super) fn after_spool(&mut self, now: Now) {
        while let Some(output) = self.spool.poll_output() {
            match output {
                Spooled::Store { key, record } => {
                    self.keep(key, record.session_id.clone(), record.message.clone());
                    let goes_on = request_of(&record.message).is_some_and(|request| goes_on(&request));
                    self.last.insert(record.session_id.clone(), (record.message, goes_on));
                    self.store_record(key, record.session_id, record.number);
                }
                Spooled::Send { key, message } => {
                    if self.send_for(now, Purpose::Record(key), &message).is_err() {
                        self.spool.on_unanswered(now.monotonic, key);
                    }
                }
                Spooled::Forget { key } => {
                    self.drop_kept(key);
                    let number = self.number();
                    self.outputs.push_back(Output::Store { number, entry: SpoolEntry::Delivered { key } });
                }
                Spooled::Rejected { key, code } => {
                    let text = format!("record {key} stays in the spool: the server refuses it, {code}");
                    self.outputs.push_back(Output::Log(text));
                }
            }
        }
    }

    const fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    fn store_record(&mut self, key: u64, session: String, record: u32) {
        let Some((_, message)) = self.kept.get(&key).cloned() else { return };
        let number = self.number();
        self.storing.insert(number, (key, session, record));
        let entry = SpoolEntry::Added { key, message: Bytes(message) };
        self.outputs.push_back(Output::Store { number, entry });
    }

    /// What [`Output::Store`] asked for is on the disk, or could not be stored.
    pub fn stored(&mut self, now: Now, number: u64, is_stored: bool) {
        let Some((key, session, record)) = self.storing.remove(&number) else { return };
        if !is_stored {
            self.unstored.push((key, session, record));
            self.unstored_at = Some(now.monotonic.saturating_add(STORE_AGAIN));
            return;
        }
        let of_session = self.sessions.get_mut(&session).and_then(|one| one.recorder.as_mut());
        if let Some(recorder) = of_session.or_else(|| self.accounts.get_mut(&session)) {
            recorder.on_stored();
        }
        self.outputs.push_back(Output::Accounted { session, number: record });
        self.spool.stored(now.monotonic, key);
        self.after_spool(now);
        self.after(now);
    }

    pub(super) fn store_again(&mut self, now: Now) {
        if self.unstored_at.is_some_and(|at| at <= now.monotonic) {
            self.unstored_at = None;
            for (key, session, record) in std::mem::take(&mut self.unstored) {
                self.store_record(key, session, record);
            }
        }
    }
}
