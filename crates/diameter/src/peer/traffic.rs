//! What goes over an open connection: requests and answers of both ends, with numbers, times and limits.
use super::{DownReason, Event, Peer, Pending, SendError, Side, State, Ticket, Unanswered};
use crate::framer::{Framer, Longest};
use crate::header::{CommandCode, Flags, Header, readdress};
use crate::message::{Message, RawMessage};
use crate::result_code::ResultCode;

impl Peer {
    /// Takes received bytes of a connection. Those of one that is closed already are ignored.
    pub fn received(&mut self, now: u64, side: Side, bytes: &[u8]) {
        let mut input = bytes;
        let number = self.connection(side).map(|connection| connection.number);
        // The framer is out of its place while a message is looked at, which lies in it.
        while let Some(connection) = self.connection_mut(side)
            && Some(connection.number) == number
        {
            let mut framer = core::mem::replace(&mut connection.framer, Framer::of(Longest(0)));
            let next = framer.next(&mut input);
            let done = !matches!(next, Ok(Some(_)));
            match next {
                Ok(Some(message)) => self.on_message(now, side, message),
                Ok(None) => {}
                Err(error) => self.fail(now, side, DownReason::BadBytes(error)),
            }
            if let Some(connection) = self.connection_mut(side)
                && Some(connection.number) == number
            {
                connection.framer = framer;
            }
            if done {
                return;
            }
        }
    }

    /// A connection has become useless by what came over it.
    fn fail(&mut self, now: u64, side: Side, reason: DownReason) {
        match (self.state, side) {
            (State::WaitReturns, Side::Initiated) => self.initiated_failed(now, reason),
            (State::WaitReturns, Side::Accepted) => {
                self.close(side);
                self.enter(State::WaitInitiatedCea, self.state_due);
            }
            (State::WaitConnAckElect, Side::Accepted) => {
                self.close(side);
                self.enter(State::WaitConnAck, self.state_due);
            }
            _ => self.down(now, reason),
        }
    }

    fn on_message(&mut self, now: u64, side: Side, bytes: &[u8]) {
        let raw = match RawMessage::read(bytes) {
            Ok(raw) => raw,
            Err(error) => {
                if self.is_open() && Header::read(bytes).is_ok_and(|(header, _)| header.is_request()) {
                    let answer = self.config.local.refuse_unreadable(bytes, &error);
                    self.queue(now, side, &answer);
                }
                return;
            }
        };
        match self.state {
            State::Open(open) if open == side => self.on_open(now, side, &raw),
            State::Closing(closing) if closing == side => self.on_closing(now, &raw),
            State::WaitInitiatedCea | State::WaitReturns if side == Side::Initiated => {
                match Message::decode(bytes) {
                    Ok((_, Message::CapabilitiesExchangeAnswer(answer))) => {
                        self.on_capabilities_answer(now, &answer);
                    }
                    Ok((_, Message::Error(error))) => {
                        self.initiated_failed(now, DownReason::Refused(error.result_code));
                    }
                    Ok((header, _)) => self.initiated_failed(now, DownReason::Unexpected(header.command)),
                    Err(error) => self.initiated_failed(now, DownReason::BadBytes(error)),
                }
            }
            _ => self.fail(now, side, DownReason::Unexpected(raw.header.command)),
        }
    }

    fn on_closing(&mut self, now: u64, raw: &RawMessage<'_>) {
        // Both may say good-bye at once. All else is asked again elsewhere.
        if raw.header.command == CommandCode::DISCONNECT_PEER {
            if raw.header.is_request() {
                let answer = self.config.local.disconnect_answer();
                if let State::Closing(side) = self.state {
                    self.queue_message(now, side, &answer, raw.header.answer());
                }
            } else {
                self.on_disconnect_answer(now);
            }
        }
    }

    fn on_open(&mut self, now: u64, side: Side, raw: &RawMessage<'_>) {
        let header = raw.header;
        let watchdog_answer = !header.is_request() && header.command == CommandCode::DEVICE_WATCHDOG;
        let action =
            if watchdog_answer { self.watchdog.on_answer(now) } else { self.watchdog.on_message(now) };
        if let Some(action) = action {
            self.act(now, action);
        }
        match (header.is_request(), header.command) {
            (false, CommandCode::DEVICE_WATCHDOG) => {}
            (false, CommandCode::DISCONNECT_PEER | CommandCode::CAPABILITIES_EXCHANGE) => self.drop_one(),
            (false, _) => self.on_answer(raw),
            (true, CommandCode::DEVICE_WATCHDOG | CommandCode::DISCONNECT_PEER) => {
                self.on_base_request(now, side, raw);
            }
            (true, CommandCode::CAPABILITIES_EXCHANGE) => {
                let text = "capabilities have been exchanged: connect anew to change them";
                let answer = self.config.local.refuse(raw.bytes(), ResultCode::UNABLE_TO_COMPLY, text);
                self.queue(now, side, &answer);
            }
            (true, _) => self.on_request(now, side, raw),
        }
    }

    fn on_base_request(&mut self, now: u64, side: Side, raw: &RawMessage<'_>) {
        match Message::decode(raw.bytes()) {
            Ok((header, Message::DeviceWatchdogRequest(_))) => {
                let answer = self.config.local.watchdog_answer();
                self.queue_message(now, side, &answer, header.answer());
            }
            Ok((header, Message::DisconnectPeerRequest(body))) => {
                self.on_disconnect_request(now, side, header, body.disconnect_cause);
            }
            Ok(_) => {}
            Err(error) => {
                let answer = self.config.local.refuse_unreadable(raw.bytes(), &error);
                self.queue(now, side, &answer);
            }
        }
    }

    fn on_request(&mut self, now: u64, side: Side, raw: &RawMessage<'_>) {
        let Some(number) = self.connection(side).map(|connection| connection.number) else { return };
        let ticket = Ticket { connection: number, hop_by_hop: raw.header.hop_by_hop };
        if self.requested.contains_key(&ticket) {
            self.drop_one();
            return;
        }
        if self.requested.len() >= self.config.most_requested {
            let answer = self.config.local.refuse(raw.bytes(), ResultCode::TOO_BUSY, "");
            self.queue(now, side, &answer);
            return;
        }
        self.requested.insert(ticket, raw.header.command);
        self.events.push_back(Event::Request { ticket, message: raw.bytes().to_vec() });
    }

    fn on_answer(&mut self, raw: &RawMessage<'_>) {
        let header = raw.header;
        let ours = self.pending.get(&header.hop_by_hop).is_some_and(|pending| {
            Header::read(&pending.message).is_ok_and(|(request, _)| {
                request.command == header.command && request.end_to_end == header.end_to_end
            })
        });
        // An answer that does not fit leaves the request where it is.
        match ours.then(|| self.pending.remove(&header.hop_by_hop)).flatten() {
            Some(pending) => {
                self.events.push_back(Event::Answer { token: pending.token, message: raw.bytes().to_vec() });
            }
            None => self.drop_one(),
        }
    }

    const fn drop_one(&mut self) {
        self.unmatched = self.unmatched.saturating_add(1);
    }

    /// Sends a request. Its hop-by-hop number is set here; its End-to-End Identifier is the owner's. `token` comes back with
    /// the answer, or with the request if there is none.
    ///
    /// # Errors
    /// It was not taken, and nothing has changed.
    pub fn send_request(&mut self, now: u64, token: u64, request: &[u8]) -> Result<(), SendError> {
        let State::Open(side) = self.state else { return Err(SendError::Unavailable) };
        if !self.is_available() {
            return Err(SendError::Unavailable);
        }
        let raw = RawMessage::read(request).map_err(|_| SendError::Unfit("these bytes are no message"))?;
        if !raw.header.is_request() {
            return Err(SendError::Unfit("this is an answer, and a request is expected"));
        }
        if request.len() > self.config.largest_message {
            return Err(SendError::Unfit("the request is longer than the limit of the peer"));
        }
        if self.pending.len() >= self.config.most_pending
            || self.unsent(side).len().saturating_add(request.len()) > self.config.most_unsent / 2
        {
            return Err(SendError::Busy);
        }
        let mut number = self.next_number();
        while self.pending.contains_key(&number) {
            number = self.next_number();
        }
        let mut message = request.to_vec();
        readdress(&mut message, raw.header.flags, number);
        self.queue(now, side, &message);
        let due = now.saturating_add(self.config.request_timeout);
        self.pending.insert(number, Pending { token, message, due });
        Ok(())
    }

    /// Sends the answer to a request of the peer. Its hop-by-hop number is set here.
    ///
    /// # Errors
    /// It was not taken, and nothing has changed.
    pub fn send_answer(&mut self, now: u64, ticket: Ticket, answer: &[u8]) -> Result<(), SendError> {
        let State::Open(side) = self.state else { return Err(SendError::Gone) };
        let Some(command) = self.requested.get(&ticket).copied() else { return Err(SendError::Gone) };
        let raw = RawMessage::read(answer).map_err(|_| SendError::Unfit("these bytes are no message"))?;
        if raw.header.is_request() || raw.header.command != command {
            return Err(SendError::Unfit("this is no answer to the request"));
        }
        if answer.len() > self.config.largest_message {
            return Err(SendError::Unfit("the answer is longer than the limit of the peer"));
        }
        self.requested.remove(&ticket);
        let mut message = answer.to_vec();
        readdress(&mut message, raw.header.flags, ticket.hop_by_hop);
        self.queue(now, side, &message);
        Ok(())
    }

    /// A request of the peer will not be answered, since it has come again elsewhere or is lost here. Otherwise it counts as
    /// one of [`super::Config::most_requested`] while the connection is there.
    pub fn drop_request(&mut self, ticket: Ticket) {
        self.requested.remove(&ticket);
    }

    /// Queues bytes. A peer that does not take them is left.
    pub(super) fn queue(&mut self, now: u64, side: Side, bytes: &[u8]) {
        let most = self.config.most_unsent;
        let Some(connection) = self.connection_mut(side) else { return };
        if connection.unsent.len().saturating_add(bytes.len()) > most {
            self.down(now, DownReason::NotReading);
            return;
        }
        connection.unsent.extend_from_slice(bytes);
    }

    /// Hands a request without answer to the owner, marked as one that may have been received.
    pub(super) fn give_back(&mut self, number: u32, reason: Unanswered) {
        if let Some(Pending { token, mut message, .. }) = self.pending.remove(&number) {
            if let Ok((header, _)) = Header::read(&message) {
                readdress(&mut message, header.flags.with(Flags::RETRANSMITTED), header.hop_by_hop);
            }
            self.events.push_back(Event::Unanswered { token, message, reason });
        }
    }
}
