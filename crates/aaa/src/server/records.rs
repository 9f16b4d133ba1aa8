//! Records of accounting: each is stored once, and confirmed when it is.
use diameter::accounting::ledger::{self, Reception};
use diameter::command::AccountingRequest;
use diameter::message::Message;
use diameter::result_code::ResultCode;

use super::{Now, Place, Server, Stored, Waiting};
use crate::entry::{Record, RecordKind};

impl Server {
    pub(super) fn on_record(&mut self, now: Now, place: Place, request: AccountingRequest) {
        let session = self.sessions.get(&request.session_id);
        let of_other = session.is_some_and(|session| session.granted.host != request.origin_host.as_str());
        if of_other {
            self.answer_record(now, &place, &request, ResultCode::AUTHORIZATION_REJECTED, true);
            return;
        }
        let granted = session.is_some() || self.were_granted.contains(&request.session_id);
        match self.ledger.on_request(now.monotonic, &request) {
            Reception::Store => {
                let record = Record::of(&request, granted, now.unix);
                let waiting = Waiting::Record { place, request: Box::new(request) };
                self.store(Stored::Record(Box::new(record)), waiting);
            }
            // The same record under another End-to-End Identifier: it comes again once the first one is stored.
            Reception::Storing => {
                self.answer_record(now, &place, &request, ResultCode::TOO_BUSY, false);
            }
            Reception::Known => self.answer_record(now, &place, &request, ResultCode::SUCCESS, true),
            Reception::Refused(code) => self.answer_record(now, &place, &request, code, false),
        }
    }

    pub(super) fn record_stored(
        &mut self,
        now: Now,
        place: &Place,
        request: &AccountingRequest,
        is_stored: bool,
    ) {
        if is_stored {
            self.ledger.stored(now.monotonic, request);
            let is_last = RecordKind::of(request.accounting_record_type).is_last();
            if is_last {
                self.were_granted.remove(&request.session_id);
            } else if self.sessions.contains_key(&request.session_id) {
                self.were_granted.insert(request.session_id.clone());
            }
            self.answer_record(now, place, request, ResultCode::SUCCESS, true);
        } else {
            self.ledger.not_stored(request);
            self.answer_record(now, place, request, ResultCode::OUT_OF_SPACE, false);
        }
    }

    fn answer_record(
        &mut self,
        now: Now,
        place: &Place,
        request: &AccountingRequest,
        code: ResultCode,
        is_final: bool,
    ) {
        let mut answer = ledger::answer(&self.local, request, code);
        if code.is_success() {
            answer.acct_interim_interval = Some(self.settings.interim);
        }
        let message = Message::AccountingAnswer(answer);
        if is_final {
            self.answer(now, place, &message);
        } else {
            let bytes = self.encoded(place, &message);
            self.answer_for_now(now, place, &bytes);
        }
    }
}
