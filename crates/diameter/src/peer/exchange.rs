//! How a connection comes about and ends: exchange of capabilities, election, good-byes.
use alloc::vec::Vec;

use super::{Capabilities, DownReason, Event, Peer, Side, State, number_of};
use crate::command::{CapabilitiesExchangeAnswer, CapabilitiesExchangeRequest, DisconnectCause};
use crate::header::{ApplicationId, Header};
use crate::incoming::Introduction;
use crate::local::told_applications;
use crate::message::Message;
use crate::result_code::ResultCode;

/// Inband-Security-Id: none. A peer that wants TLS begins with it before the first message (RFC 6733, 2.2).
const NO_INBAND_SECURITY: u32 = 0;

impl Peer {
    /// Connects to the peer, also after a good-bye for good. Nothing happens if it is connected, or on its way to it.
    pub fn start(&mut self, now: u64) {
        self.wanted = true;
        self.open(now);
    }

    pub(super) fn open(&mut self, now: u64) {
        if self.state == State::Closed && self.config.connect {
            self.enter(State::WaitConnAck, Some(now.saturating_add(self.config.exchange_timeout)));
            self.events.push_back(Event::Connect);
        }
    }

    /// Says good-bye and closes the connection. It is not opened again from here before [`Self::start`].
    pub fn stop(&mut self, now: u64, cause: DisconnectCause) {
        self.wanted = false;
        match self.state {
            State::Closed | State::Closing(_) => {}
            State::Open(side) => {
                let message = self.config.local.disconnect_request(cause);
                let number = self.next_number();
                let header = Header { end_to_end: number, ..number_of(&message, number) };
                self.queue_message(now, side, &message, header);
                self.close_soon(now, side, DownReason::Stopped);
            }
            _ => self.down(now, DownReason::Stopped),
        }
    }

    /// No more is asked or answered; the connection stays until both ends have said good-bye.
    pub(super) fn close_soon(&mut self, now: u64, side: Side, reason: DownReason) {
        if !self.is_open() {
            return; // The good-bye found no room, and the connection is closed already.
        }
        self.enter(State::Closing(side), Some(now.saturating_add(self.config.exchange_timeout)));
        self.events.push_back(Event::Down(reason));
        self.ended(now);
    }

    /// The connection that [`Event::Connect`] asked for is there. False if it is not wanted any more: close it, and tell
    /// nothing of it.
    #[must_use]
    pub fn connected(&mut self, now: u64) -> bool {
        if !matches!(self.state, State::WaitConnAck | State::WaitConnAckElect) {
            return false;
        }
        let elect = self.state == State::WaitConnAckElect;
        self.initiated = Some(self.new_connection());
        let state = if elect { State::WaitReturns } else { State::WaitInitiatedCea };
        self.enter(state, Some(now.saturating_add(self.config.exchange_timeout)));
        let message = self.config.local.capabilities_request();
        let number = self.next_number();
        let header = Header { end_to_end: number, ..number_of(&message, number) };
        self.queue_message(now, Side::Initiated, &message, header);
        if elect {
            self.elect(now);
        }
        true
    }

    /// The connection that [`Event::Connect`] asked for could not be opened.
    pub fn connect_failed(&mut self, now: u64) {
        match self.state {
            State::WaitConnAck => self.down(now, DownReason::ConnectFailed),
            State::WaitConnAckElect => self.open_accepted(now),
            _ => {}
        }
    }

    /// A connection has been closed by the peer, or is broken.
    pub fn closed(&mut self, now: u64, side: Side) {
        let there = match side {
            Side::Initiated => self.initiated.take().is_some(),
            Side::Accepted => {
                self.introduction = None;
                self.accepted.take().is_some()
            }
        };
        if !there {
            return;
        }
        match (self.state, side) {
            (State::WaitReturns, Side::Initiated) => self.open_accepted(now),
            (State::WaitReturns, Side::Accepted) => self.enter(State::WaitInitiatedCea, self.state_due),
            (State::WaitConnAckElect, Side::Accepted) => self.enter(State::WaitConnAck, self.state_due),
            _ => self.down(now, DownReason::Lost),
        }
    }

    /// The peer has connected and introduced itself.
    ///
    /// # Errors
    /// The connection is refused: send these bytes, which may be none, and close it. Its name, its capabilities, or another
    /// connection to it stand against it.
    pub fn accept(&mut self, now: u64, introduction: Introduction) -> Result<(), Vec<u8>> {
        let Introduction { header, request, rest } = introduction;
        if let Err((_, code)) = self.judge_request(&request) {
            let mut answer = Vec::new();
            let message = self.config.local.capabilities_answer(code);
            let header = if code.0 / 1000 == 3 { header.answer().with_error() } else { header.answer() };
            // A protocol error keeps the form of CEA, and says so by the error bit.
            if message.encode(&header, &mut answer).is_ok()
                && let Some(place) = answer.get_mut(4)
            {
                *place = header.flags.0;
            }
            return Err(answer);
        }
        let state = match self.state {
            State::Closed => State::Closed,
            State::WaitConnAck => State::WaitConnAckElect,
            State::WaitInitiatedCea => State::WaitReturns,
            _ => return Err(Vec::new()),
        };
        self.accepted = Some(self.new_connection());
        self.introduction = Some((header, request));
        match state {
            State::Closed => self.open_accepted(now),
            State::WaitReturns => {
                self.enter(state, self.state_due);
                self.elect(now);
            }
            _ => self.enter(state, self.state_due),
        }
        if !rest.is_empty() {
            self.received(now, Side::Accepted, &rest);
        }
        Ok(())
    }

    /// The responder with the greater name keeps the connection that it accepted (RFC 6733, 5.6.4).
    fn elect(&mut self, now: u64) {
        if self.config.local.host > self.config.peer {
            self.close(Side::Initiated);
            self.open_accepted(now);
        }
    }

    /// Answers the CER of the accepted connection, which is the one that stays.
    pub(super) fn open_accepted(&mut self, now: u64) {
        let Some((header, request)) = self.introduction.take() else {
            self.down(now, DownReason::Lost);
            return;
        };
        self.close(Side::Initiated);
        let message = self.config.local.capabilities_answer(ResultCode::SUCCESS);
        self.enter(State::Open(Side::Accepted), None);
        self.queue_message(now, Side::Accepted, &message, header.answer());
        if !self.is_open() {
            return; // There was no room for the answer.
        }
        match self.judge_request(&request) {
            Ok(capabilities) => self.opened(now, Side::Accepted, capabilities),
            Err((reason, _)) => self.down(now, reason),
        }
    }

    /// The answer to the CER of the connection that was opened from here.
    pub(super) fn on_capabilities_answer(&mut self, now: u64, answer: &CapabilitiesExchangeAnswer) {
        match self.judge_answer(answer) {
            Ok(capabilities) => {
                self.close(Side::Accepted);
                self.enter(State::Open(Side::Initiated), None);
                self.opened(now, Side::Initiated, capabilities);
            }
            Err(reason) => self.initiated_failed(now, reason),
        }
    }

    /// The connection that was opened from here is of no use; an accepted one may be.
    pub(super) fn initiated_failed(&mut self, now: u64, reason: DownReason) {
        if self.state == State::WaitReturns {
            self.close(Side::Initiated);
            self.open_accepted(now);
        } else {
            self.down(now, reason);
        }
    }

    fn opened(&mut self, now: u64, side: Side, capabilities: Capabilities) {
        self.wanted = true;
        self.events.push_back(Event::Open { side, capabilities });
        match self.watchdog.on_up(now) {
            None => self.events.push_back(Event::Available),
            Some(action) => {
                let event = if self.config.is_only_way { Event::Available } else { Event::Suspended };
                self.events.push_back(event);
                self.act(now, action);
            }
        }
    }

    pub(super) fn on_state_timeout(&mut self, now: u64) {
        match self.state {
            // The accepted connection is good.
            State::WaitConnAckElect | State::WaitReturns => self.open_accepted(now),
            _ => self.down(now, DownReason::Timeout),
        }
    }

    fn judge_request(
        &self,
        request: &CapabilitiesExchangeRequest,
    ) -> Result<Capabilities, (DownReason, ResultCode)> {
        if request.origin_host != self.config.peer {
            let reason = DownReason::OtherPeer(request.origin_host.clone());
            return Err((reason, ResultCode::UNKNOWN_PEER));
        }
        let refused = |code| (DownReason::Refused(code), code);
        if !request.inband_security_id.is_empty() && !request.inband_security_id.contains(&NO_INBAND_SECURITY)
        {
            return Err(refused(ResultCode::NO_COMMON_SECURITY));
        }
        let told = told_applications(
            &request.auth_application_id,
            &request.acct_application_id,
            &request.vendor_specific_application_id,
        );
        let common = self.config.local.common(&told).ok_or(refused(ResultCode::NO_COMMON_APPLICATION))?;
        Ok(Capabilities {
            host: request.origin_host.clone(),
            realm: request.origin_realm.clone(),
            product_name: Some(request.product_name.clone()),
            origin_state_id: request.origin_state_id,
            common,
        })
    }

    fn judge_answer(&self, answer: &CapabilitiesExchangeAnswer) -> Result<Capabilities, DownReason> {
        if !answer.result_code.is_success() {
            return Err(DownReason::Refused(answer.result_code));
        }
        if answer.origin_host != self.config.peer {
            return Err(DownReason::OtherPeer(answer.origin_host.clone()));
        }
        let told: Vec<ApplicationId> = told_applications(
            &answer.auth_application_id,
            &answer.acct_application_id,
            &answer.vendor_specific_application_id,
        );
        let none = DownReason::Refused(ResultCode::NO_COMMON_APPLICATION);
        let common = self.config.local.common(&told).ok_or(none)?;
        Ok(Capabilities {
            host: answer.origin_host.clone(),
            realm: answer.origin_realm.clone(),
            product_name: answer.product_name.clone(),
            origin_state_id: answer.origin_state_id,
            common,
        })
    }

    /// The peer says good-bye: it is answered, and the peer closes the connection.
    pub(super) fn on_disconnect_request(
        &mut self,
        now: u64,
        side: Side,
        header: Header,
        cause: DisconnectCause,
    ) {
        let answer = self.config.local.disconnect_answer();
        self.queue_message(now, side, &answer, header.answer());
        if cause == DisconnectCause::DoNotWantToTalkToYou {
            self.wanted = false;
        }
        self.close_soon(now, side, DownReason::PeerLeft(cause));
    }

    /// The peer has heard the good-bye.
    pub(super) fn on_disconnect_answer(&mut self, now: u64) {
        self.down(now, DownReason::Stopped);
    }

    /// Encodes and queues a message of this node.
    pub(super) fn queue_message(&mut self, now: u64, side: Side, message: &Message, header: Header) {
        let mut bytes = Vec::new();
        // What this node says of itself is short.
        if message.encode(&header, &mut bytes).is_ok() {
            self.queue(now, side, &bytes);
        }
    }
}
