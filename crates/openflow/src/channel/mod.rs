//! The channel between controller and switch: handshake, keep-alive, replies that find their requests, confirmed changes.
//!
//! A [`Channel`] is told what came in and what time it is; it says what to send ([`Channel::output`]), what happened
//! ([`Channel::poll_event`]) and when it wants to be woken ([`Channel::poll_timeout`]). Its owner has the socket and the
//! clock. Times are durations since any fixed moment, of a clock that never goes back.
//!
//! ```
//! use core::time::Duration;
//! use openflow::channel::{Config, Channel, Event};
//! use openflow::Message;
//!
//! let mut channel = Channel::new(Config::controller(), Duration::ZERO);
//! assert!(!channel.output().is_empty(), "a HELLO to send");
//! channel.handle_input(Duration::from_millis(1), &[4, 0, 0, 8, 0, 0, 0, 1]);
//! assert!(channel.poll_event().is_none(), "it waits for the features");
//! ```
//!
//! [`install::Installation`] makes changes, waits for the barrier and reads back what the switch then has.
mod config;
mod event;
mod expect;
pub mod install;
mod order;
mod output;
mod requests;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

pub use config::{Config, Side};
pub use event::{DownReason, Event, Refusal, SendError};

use crate::error_code::{ErrorCode, ErrorMessage};
use crate::hello::Hello;
use crate::message::{Header, Message, MessageType};
use crate::read::DecodeError;
use crate::stream::{Framer, Longest};
use crate::switch::Features;
use crate::words::Xid;
use order::Order;
use output::Output;
use requests::{Changes, Requests, Taken, is_change, reply_to};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    AwaitHello { until: Duration },
    AwaitFeatures { until: Duration },
    Up,
    Down,
}

/// What a call to [`Channel::commit`] has sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commit {
    /// The transactions of the changes, in their order.
    pub changes: Vec<Xid>,
    /// That of the barrier: [`Event::Confirmed`] names it.
    pub barrier: Xid,
}

/// One connection to the other side.
#[derive(Debug)]
pub struct Channel {
    config: Config,
    state: State,
    framer: Framer,
    output: Output,
    events: VecDeque<Event>,
    next_xid: u32,
    requests: Requests,
    changes: Changes,
    order: Order,
    peer: Option<Hello>,
    /// When the last whole message came.
    heard: Duration,
    /// Until when something must come after our ECHO_REQUEST.
    echo_until: Option<Duration>,
}

impl Channel {
    /// A channel over a connection that has just been made; a HELLO is waiting to be sent.
    pub fn new(config: Config, now: Duration) -> Self {
        let mut channel = Self {
            state: State::AwaitHello { until: now.saturating_add(config.handshake_timeout) },
            framer: Framer::of(Longest(config.max_message)),
            output: Output::new(config.max_output),
            events: VecDeque::new(),
            next_xid: 1,
            requests: Requests::default(),
            changes: Changes::default(),
            order: Order::default(),
            peer: None,
            heard: now,
            echo_until: None,
            config,
        };
        let xid = channel.take_xid();
        channel.put(xid, &Message::Hello(Hello::ours()));
        channel
    }

    /// True from [`Event::Up`] to [`Event::Down`].
    pub fn is_up(&self) -> bool {
        self.state == State::Up
    }

    /// True after [`Event::Down`]: send what is left of the output, and close the connection.
    pub fn is_down(&self) -> bool {
        self.state == State::Down
    }

    /// Requests whose answer has not come.
    pub fn outstanding(&self) -> usize {
        self.requests.len()
    }

    /// Bytes to send.
    pub fn output(&self) -> &[u8] {
        self.output.bytes()
    }

    /// So many of [`Self::output`] have been sent.
    pub fn sent(&mut self, bytes: usize) {
        self.output.sent(bytes);
    }

    /// What has happened, the oldest first. Ask until there is nothing after every `handle_` call.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`Self::handle_timeout`] wants to be called; a later call is no harm but to punctuality.
    pub fn poll_timeout(&self) -> Option<Duration> {
        match self.state {
            State::AwaitHello { until } => Some(until),
            State::AwaitFeatures { until } => Some(until),
            State::Up => {
                let alive = self.echo_until.unwrap_or(self.heard.saturating_add(self.config.echo_interval));
                Some(self.requests.next_deadline().map_or(alive, |deadline| deadline.min(alive)))
            }
            State::Down => None,
        }
    }

    /// Bytes have come in, in any pieces. Every eight of them may become an event, which takes some 200 bytes: hand in at
    /// most 64 KiB at a time, and drain the events between.
    pub fn handle_input(&mut self, now: Duration, bytes: &[u8]) {
        let mut framer = core::mem::replace(&mut self.framer, Framer::of(Longest(0)));
        let mut input = bytes;
        while self.state != State::Down {
            match framer.next(&mut input) {
                Ok(Some(message)) => self.handle_message(now, message),
                Ok(None) => break,
                Err(bad) => self.go_down(DownReason::BadLength(bad)),
            }
        }
        self.framer = framer;
    }

    /// The time has come that [`Self::poll_timeout`] said, or a later one.
    pub fn handle_timeout(&mut self, now: Duration) {
        match self.state {
            State::AwaitHello { until } | State::AwaitFeatures { until } => {
                if now >= until {
                    self.go_down(DownReason::HandshakeTimeout);
                }
            }
            State::Up => {
                while let Some((xid, request)) = self.requests.expire(now) {
                    self.events.push_back(Event::TimedOut { xid, request });
                }
                self.keep_alive(now);
            }
            State::Down => {}
        }
    }

    /// The connection has ended, or the owner ends it.
    pub fn handle_closed(&mut self) {
        self.go_down(DownReason::Closed);
    }

    fn keep_alive(&mut self, now: Duration) {
        match self.echo_until {
            Some(until) if now >= until => self.go_down(DownReason::EchoTimeout),
            None if now >= self.heard.saturating_add(self.config.echo_interval) => {
                let xid = self.take_xid();
                self.echo_until = Some(now.saturating_add(self.config.echo_timeout));
                self.put(xid, &Message::EchoRequest(Vec::new()));
            }
            _ => {}
        }
    }

    /// Sends a message under a new transaction. A request is remembered until its [`Event::Reply`], [`Event::Refused`],
    /// [`Event::TimedOut`] or [`Event::Unreadable`]; a change until a barrier confirms it. Where the switch must not do it before
    /// something that was sent earlier, a barrier stands between.
    ///
    /// # Errors
    /// [`SendError`]; nothing is sent then.
    pub fn send(&mut self, now: Duration, message: &Message) -> Result<Xid, SendError> {
        self.may_send()?;
        let kind = message.kind();
        let more = matches!(message, Message::MultipartRequest { more: true, .. });
        if kind == MessageType::Hello || more {
            return Err(SendError::Reserved(kind));
        }
        let behind = self.is_behind(message);
        let waiting = usize::from(reply_to(kind).is_some()) + usize::from(behind);
        if waiting > 0 && self.requests.len().saturating_add(waiting) > self.config.max_outstanding {
            return Err(SendError::TooManyOutstanding);
        }
        // A barrier takes a place as well, so that a switch that answers none cannot make the list grow.
        let listed = is_change(kind) || kind == MessageType::BarrierRequest;
        let spare = if kind == MessageType::BarrierRequest { self.config.max_outstanding } else { 0 };
        if listed && self.changes.len() >= self.config.max_unconfirmed.saturating_add(spare) {
            return Err(SendError::TooManyUnconfirmed);
        }
        let before = self.output.len();
        let barrier = behind.then(|| self.take_xid());
        let xid = self.take_xid();
        let own = barrier.map(|xid| (xid, &Message::BarrierRequest));
        for (xid, message) in own.into_iter().chain([(xid, message)]) {
            if let Err(error) = self.output.put(xid, message) {
                self.output.truncate(before);
                return Err(error);
            }
        }
        if let Some(barrier) = barrier {
            self.note_own_barrier(now, barrier);
            self.order.sent(&Message::BarrierRequest);
        }
        self.note(now, xid, message);
        self.order.sent(message);
        Ok(xid)
    }

    /// Sends an answer, or an ERROR, to a message of the other side.
    ///
    /// # Errors
    /// [`SendError`]; nothing is sent then.
    pub fn reply(&mut self, xid: Xid, message: &Message) -> Result<(), SendError> {
        self.may_send()?;
        if message.kind() == MessageType::Hello {
            return Err(SendError::Reserved(MessageType::Hello));
        }
        self.output.put(xid, message)
    }

    /// Sends changes (flow, group, meter, port and table mods, packet-outs, configuration) and a barrier after them: all
    /// or nothing. [`Event::Confirmed`] tells which of them were refused. They are done in this order where it matters, as with [`Self::send`].
    ///
    /// # Errors
    /// [`SendError`]; nothing is sent then.
    pub fn commit(&mut self, now: Duration, changes: &[Message]) -> Result<Commit, SendError> {
        self.may_send()?;
        if let Some(other) = changes.iter().find(|message| !is_change(message.kind())) {
            return Err(SendError::Reserved(other.kind()));
        }
        if self.changes.len().saturating_add(changes.len()) > self.config.max_unconfirmed {
            return Err(SendError::TooManyUnconfirmed);
        }
        let known = self.order.clone();
        let mut sequence = Vec::with_capacity(changes.len().saturating_add(1));
        for message in changes.iter().chain([&Message::BarrierRequest]) {
            if self.is_behind(message) {
                sequence.push((self.take_xid(), &Message::BarrierRequest, true));
                self.order.sent(&Message::BarrierRequest);
            }
            sequence.push((self.take_xid(), message, false));
            self.order.sent(message);
        }
        let before = self.output.len();
        if let Err(error) = self.put_all(&sequence) {
            self.output.truncate(before);
            self.order = known;
            return Err(error);
        }
        let mut xids = Vec::with_capacity(sequence.len());
        for (xid, message, own) in sequence {
            if own {
                self.note_own_barrier(now, xid);
            } else {
                self.note(now, xid, message);
                xids.push(xid);
            }
        }
        let barrier = xids.pop().unwrap_or_default();
        Ok(Commit { changes: xids, barrier })
    }

    fn put_all(&mut self, sequence: &[(Xid, &Message, bool)]) -> Result<(), SendError> {
        let barriers =
            sequence.iter().filter(|(_, message, _)| message.kind() == MessageType::BarrierRequest).count();
        if self.requests.len().saturating_add(barriers) > self.config.max_outstanding {
            return Err(SendError::TooManyOutstanding);
        }
        sequence.iter().try_for_each(|(xid, message, _)| self.output.put(*xid, message))
    }

    /// True if a barrier has to stand before the message.
    fn is_behind(&mut self, message: &Message) -> bool {
        if !self.requests.asks() {
            self.order.answered();
        }
        self.order.matters(message)
    }

    fn may_send(&self) -> Result<(), SendError> {
        if self.state == State::Up { Ok(()) } else { Err(SendError::NotUp) }
    }

    /// Remembers what an answer or a barrier will be for.
    fn note(&mut self, now: Duration, xid: Xid, message: &Message) {
        let kind = message.kind();
        if kind == MessageType::BarrierRequest {
            self.changes.barrier(xid);
        } else if is_change(kind) {
            self.changes.sent(xid, kind);
        }
        self.requests.sent(xid, message, now.saturating_add(self.config.reply_timeout));
    }

    /// Remembers a barrier that was not asked for: it has an answer, and confirms nothing.
    fn note_own_barrier(&mut self, now: Duration, xid: Xid) {
        self.requests.sent(xid, &Message::BarrierRequest, now.saturating_add(self.config.reply_timeout));
    }

    fn take_xid(&mut self) -> Xid {
        loop {
            let xid = Xid(self.next_xid);
            self.next_xid = self.next_xid.wrapping_add(1);
            // 0 is what switches use for messages of their own.
            if xid.0 != 0 && !self.requests.contains(xid) {
                return xid;
            }
        }
    }

    /// Queues a message of the channel's own; if there is no room, the other side does not read, and that ends it.
    fn put(&mut self, xid: Xid, message: &Message) {
        if self.output.put(xid, message).is_err() {
            self.go_down(DownReason::OutputFull);
        }
    }

    fn go_down(&mut self, reason: DownReason) {
        if self.state != State::Down {
            self.state = State::Down;
            self.events.push_back(Event::Down(reason));
        }
    }

    fn handle_message(&mut self, now: Duration, bytes: &[u8]) {
        self.heard = now;
        self.echo_until = None;
        let (xid, message) = match Message::decode(bytes) {
            Ok(message) => message,
            Err(error) => return self.handle_unreadable(bytes, error),
        };
        match (self.state, message) {
            (State::AwaitHello { .. }, Message::Hello(hello)) => self.handle_hello(now, xid, hello),
            (_, Message::Error(ErrorMessage::Code { code, data })) if is_hello_failed(code) => {
                self.go_down(DownReason::HelloRefused { code, text: data });
            }
            (State::AwaitHello { .. }, _) => self.go_down(DownReason::NoHello),
            // A second HELLO changes nothing.
            (_, Message::Hello(_)) => {}
            (_, Message::EchoRequest(data)) => self.put(xid, &Message::EchoReply(data)),
            // Ours or a stray one: that something came is all that counts.
            (_, Message::EchoReply(_)) if !self.requests.contains(xid) => {}
            (State::AwaitFeatures { .. }, Message::FeaturesReply(features)) => {
                self.requests.forget(xid);
                self.up(Some(features));
            }
            (_, Message::Error(error)) => self.handle_error(xid, error),
            (_, message) => self.handle_other(xid, message, bytes.len()),
        }
    }

    fn handle_unreadable(&mut self, bytes: &[u8], error: DecodeError) {
        if let State::AwaitHello { .. } = self.state {
            return self.go_down(DownReason::NoHello);
        }
        if let Ok(header) = Header::read(bytes) {
            let request = self.requests.forget(header.xid);
            self.events.push_back(Event::Unreadable { header, error, request });
        }
    }

    fn handle_hello(&mut self, now: Duration, xid: Xid, hello: Hello) {
        if !hello.speaks_1_3() {
            let text = b"only OpenFlow 1.3 is spoken here".to_vec();
            let error = ErrorMessage::Code { code: ErrorCode::HelloIncompatible, data: text };
            self.put(xid, &Message::Error(error));
            return self.go_down(DownReason::NoVersionInCommon(hello));
        }
        self.peer = Some(hello);
        match self.config.side {
            Side::Switch => self.up(None),
            Side::Controller => {
                let until = now.saturating_add(self.config.handshake_timeout);
                self.state = State::AwaitFeatures { until };
                let xid = self.take_xid();
                self.put(xid, &Message::FeaturesRequest);
                self.requests.sent(xid, &Message::FeaturesRequest, until);
            }
        }
    }

    fn up(&mut self, features: Option<Features>) {
        self.state = State::Up;
        let peer = self.peer.take().unwrap_or_else(Hello::ours);
        self.events.push_back(Event::Up { features, peer });
    }

    fn handle_error(&mut self, xid: Xid, error: ErrorMessage) {
        let request = match self.requests.forget(xid) {
            Some(request) => Some(request),
            None => self.changes.refused(xid, error.code()),
        };
        self.events.push_back(Event::Refused { xid, request, error });
        if let State::AwaitFeatures { .. } = self.state
            && request == Some(MessageType::FeaturesRequest)
        {
            self.go_down(DownReason::NoFeatures);
        }
    }

    fn handle_other(&mut self, xid: Xid, message: Message, bytes: usize) {
        match self.requests.take(xid, message, bytes, self.config.max_reply) {
            Taken::Unasked(message) => self.events.push_back(Event::Message { xid, message }),
            Taken::Stray(kind) => self.events.push_back(Event::Stray { xid, kind }),
            Taken::Part => {}
            Taken::TooLong => self.events.push_back(Event::ReplyTooLong { xid }),
            Taken::Reply(Message::BarrierReply) => {
                // Barriers of its own confirm nothing to anybody.
                if let Some(refused) = self.changes.confirmed(xid) {
                    self.events.push_back(Event::Confirmed { barrier: xid, refused });
                }
            }
            Taken::Reply(message) => self.events.push_back(Event::Reply { xid, message }),
        }
    }
}

fn is_hello_failed(code: ErrorCode) -> bool {
    code.numbers().0 == 0
}
