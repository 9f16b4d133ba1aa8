//! One switch as its manager speaks with it: what it says of itself when it connects, changes under way, and what is read of it.
//!
//! A [`Session`] is told what came in by the connection; it says what is to be sent and what a manager has to know ([`News`]). The owner
//! of the sockets hands on what [`crate::action::Action`] asks of a switch, and the news.
use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use openflow::channel::install::{Installation, Outcome};
use openflow::channel::{Channel, Config, DownReason, Event};
use openflow::error_code::ErrorCode;
use openflow::flow::FlowRemoved;
use openflow::message::{Message, MessageType};
use openflow::multipart::{FlowFilter, MultipartReply, MultipartRequest};
use openflow::packet::PacketIn;
use openflow::port::PortStatus;
use openflow::switch::{ControllerRole, Features, Role};
use openflow::words::{MeterId, Xid};

use crate::action::{Done, Room, SwitchContent, SwitchReport, Token};

/// What a switch has said.
#[derive(Debug)]
pub enum News {
    /// It is there, and says this of itself.
    Up(Box<SwitchReport>),
    /// A packet.
    Packet(PacketIn),
    /// A flow has gone.
    Removed(FlowRemoved),
    /// A port has changed.
    Port(PortStatus),
    /// A change ended.
    Installed(Token, Done),
    /// It was read.
    Read(Token, Result<SwitchContent, String>),
    /// Something that an operator should know, without consequences.
    Odd(String),
    /// It is gone; what was under way needs no answer.
    Down(String),
}

/// What is still to be heard from a switch that has just connected.
struct Greeting {
    report: SwitchReport,
    asked: Vec<Xid>,
    /// What came between, to be told after it.
    later: Vec<News>,
    ports_known: bool,
}

/// What is read of a switch, as far as it has come.
struct Reading {
    content: SwitchContent,
    asked: Vec<Xid>,
}

/// The role of the manager at the switch (OpenFlow 1.3.5, 6.3.6).
#[derive(Clone, Copy)]
enum Part {
    /// It does not say: switches obey all such managers alike.
    Equal,
    /// The master of this generation: switches refuse one that is older than one they know.
    Master(u64),
    /// It changes nothing and is told nothing, until it leads. It has asked for its role so often.
    Slave { asked: u8 },
}

/// How often a manager that stands by asks for its role at most: twice, and twice again if meanwhile another one has become master. After that it
/// stays what it is, and changes nothing all the same.
const ROLE_QUESTIONS: u8 = 16;

/// A connection and what is under way on it.
pub struct Session {
    channel: Channel,
    /// The features of the switch, once it has sent them.
    features: Option<Features>,
    part: Part,
    greeting: Option<Greeting>,
    installations: BTreeMap<Token, Installation>,
    readings: BTreeMap<Token, Reading>,
}

impl Session {
    /// A session over a connection that has just been made.
    pub fn new(now: Duration) -> Self {
        Self {
            channel: Channel::new(Config::controller(), now),
            features: None,
            part: Part::Equal,
            greeting: None,
            installations: BTreeMap::new(),
            readings: BTreeMap::new(),
        }
    }

    /// Makes it that of the master of this generation, which is the manager's epoch: no one of a lower generation changes anything in the switch from
    /// then on, and if there was one of a higher generation before, this session ends. Switches without roles obey all alike.
    pub const fn of_master(mut self, generation: u64) -> Self {
        self.part = Part::Master(generation);
        self
    }

    /// Makes it that of a manager that stands by: the switch is asked for nothing but the role of a slave, and nothing of it is news but its end,
    /// until [`Self::lead`].
    pub const fn of_slave(mut self) -> Self {
        self.part = Part::Slave { asked: 0 };
        self
    }

    /// The manager that stood by leads from now on: as [`Self::of_master`], on a connection that is there already. That the switch is there is news
    /// once it has agreed and said what it has.
    pub fn lead(&mut self, now: Duration, generation: u64, news: &mut Vec<News>) {
        self.part = Part::Master(generation);
        if let Some(features) = self.features {
            self.greet(now, features, news);
        }
    }

    /// The switch's datapath id, once it has said it.
    pub const fn datapath(&self) -> Option<u64> {
        match self.features {
            Some(features) => Some(features.datapath_id),
            None => None,
        }
    }

    /// Bytes to send.
    pub fn output(&self) -> &[u8] {
        self.channel.output()
    }

    /// So many of [`Self::output`] have been sent.
    pub fn sent(&mut self, bytes: usize) {
        self.channel.sent(bytes);
    }

    /// When [`Self::timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.channel.poll_timeout()
    }

    /// Begins an installation; what comes of it is news.
    pub fn install(&mut self, now: Duration, token: Token, changes: &[Message], news: &mut Vec<News>) {
        match Installation::start(&mut self.channel, now, changes) {
            Ok(installation) => {
                self.installations.insert(token, installation);
            }
            Err(error) => news.push(News::Installed(token, Done::Failed(error.to_string()))),
        }
    }

    /// Sends messages whose effects are not awaited.
    pub fn send(&mut self, now: Duration, messages: &[Message], news: &mut Vec<News>) {
        for message in messages {
            if let Err(error) = self.channel.send(now, message) {
                news.push(News::Odd(format!("{:?} could not be sent: {error}", message.kind())));
            }
        }
    }

    /// Asks for all that the switch has; with `counters` also what its meters have counted.
    pub fn read(&mut self, now: Duration, token: Token, counters: bool, news: &mut Vec<News>) {
        let questions = [
            MultipartRequest::Flow(FlowFilter::ALL),
            MultipartRequest::GroupDescription,
            MultipartRequest::MeterConfig(MeterId::ALL),
        ];
        let questions =
            questions.into_iter().chain(counters.then_some(MultipartRequest::Meter(MeterId::ALL)));
        let mut reading = Reading { content: SwitchContent::default(), asked: Vec::new() };
        for question in questions {
            match self.channel.send(now, &Message::ask(question)) {
                Ok(xid) => reading.asked.push(xid),
                Err(error) => {
                    news.push(News::Read(token, Err(error.to_string())));
                    return;
                }
            }
        }
        self.readings.insert(token, reading);
    }

    /// Bytes came in, at most 64 KiB at a time.
    pub fn input(&mut self, now: Duration, bytes: &[u8], news: &mut Vec<News>) {
        self.channel.handle_input(now, bytes);
        self.events(now, news);
    }

    /// A time has come that the channel asked for.
    pub fn timeout(&mut self, now: Duration, news: &mut Vec<News>) {
        if self.channel.poll_timeout().is_some_and(|at| at <= now) {
            self.channel.handle_timeout(now);
            self.events(now, news);
        }
    }

    /// The connection has ended.
    pub fn closed(&mut self, now: Duration, news: &mut Vec<News>) {
        self.channel.handle_closed();
        self.events(now, news);
    }

    fn events(&mut self, now: Duration, news: &mut Vec<News>) {
        while let Some(event) = self.channel.poll_event() {
            self.advance_installations(now, &event, news);
            self.event(now, event, news);
        }
    }

    fn advance_installations(&mut self, now: Duration, event: &Event, news: &mut Vec<News>) {
        let channel = &mut self.channel;
        self.installations.retain(|token, installation| {
            let Some(outcome) = installation.handle(channel, now, event) else { return true };
            news.push(News::Installed(*token, said(&outcome)));
            false
        });
    }

    fn event(&mut self, now: Duration, event: Event, news: &mut Vec<News>) {
        match event {
            Event::Up { features: Some(features), .. } => {
                self.features = Some(features);
                match self.part {
                    Part::Slave { .. } => self.ask_for_role(now, ControllerRole::NoChange, 0),
                    Part::Equal | Part::Master(_) => self.greet(now, features, news),
                }
            }
            Event::Reply { message: Message::RoleReply(role), .. }
                if matches!(self.part, Part::Slave { .. }) =>
            {
                // All ones: it knows no generation yet, and so takes any.
                let known = if role.generation == u64::MAX { 0 } else { role.generation };
                if role.role != ControllerRole::Slave {
                    self.ask_for_role(now, ControllerRole::Slave, known);
                }
            }
            Event::Reply { xid, message } => self.reply(xid, message, news),
            Event::Message { message, .. } => self.unasked(message, news),
            Event::Refused { xid, request: Some(MessageType::RoleRequest), error }
                if error.code() == ErrorCode::RoleStale =>
            {
                self.stale(now, xid, news);
            }
            Event::Refused { error, .. } if error.code() == ErrorCode::RequestIsSlave => {
                news.push(News::Down(
                    "it obeys another manager, which has connected after this one".to_owned(),
                ));
            }
            Event::Refused { xid, request, error }
                if !self.unanswered(xid, &error.code().to_string(), news) =>
            {
                // What belongs to an installation was told by it.
                if request.is_none() {
                    news.push(News::Odd(format!("an error that names nothing we sent: {}", error.code())));
                }
            }
            // What it has is not known then, which is another thing than that it does not say.
            Event::TimedOut { xid, .. } if self.asks_at_first(xid) => {
                news.push(News::Down("it does not say what it has".to_owned()));
            }
            Event::TimedOut { xid, .. } => {
                self.unanswered(xid, "no answer in time", news);
            }
            Event::ReplyTooLong { xid } => {
                self.unanswered(xid, "an answer that is too long", news);
            }
            Event::Unreadable { header, error, request } => {
                if request.is_none() || !self.unanswered(header.xid, &error.to_string(), news) {
                    news.push(News::Odd(format!("a message that cannot be read: {error}")));
                }
            }
            Event::Down(reason) => news.push(News::Down(match reason {
                DownReason::Closed => "the connection was closed".to_owned(),
                other => other.to_string(),
            })),
            Event::Up { features: None, .. }
            | Event::Confirmed { .. }
            | Event::Refused { .. }
            | Event::Stray { .. } => {}
        }
    }

    /// Asks what the switch has, as the one that manages it.
    fn greet(&mut self, now: Duration, features: Features, news: &mut Vec<News>) {
        // Before anything is believed of what the switch has: from here on no older master changes that.
        let role = match self.part {
            Part::Master(generation) => {
                Some(Message::RoleRequest(Role { role: ControllerRole::Master, generation }))
            }
            Part::Equal | Part::Slave { .. } => None,
        };
        let questions = [
            Message::ask(MultipartRequest::PortDescription),
            Message::ask(MultipartRequest::MeterFeatures),
            Message::ask(MultipartRequest::GroupFeatures),
        ];
        let sent = role.iter().chain(&questions).map(|question| self.channel.send(now, question));
        match sent.collect::<Result<Vec<_>, _>>() {
            Ok(asked) => {
                let report = SwitchReport {
                    features,
                    ports: Vec::new(),
                    meters: None,
                    groups: None,
                    queues: Vec::new(),
                };
                self.greeting = Some(Greeting { report, asked, later: Vec::new(), ports_known: false });
            }
            Err(error) => news.push(News::Down(error.to_string())),
        }
    }

    /// As one that stands by. A switch that does not answer, or knows no roles, is left as it is: nothing is changed in it anyway.
    fn ask_for_role(&mut self, now: Duration, role: ControllerRole, generation: u64) {
        let Part::Slave { asked } = &mut self.part else { return };
        if *asked >= ROLE_QUESTIONS {
            return;
        }
        *asked += 1;
        let _ = self.channel.send(now, &Message::RoleRequest(Role { role, generation }));
    }

    /// The switch knows a later generation than that of a role that was asked for.
    fn stale(&mut self, now: Duration, xid: Xid, news: &mut Vec<News>) {
        match self.part {
            Part::Master(generation) if self.asks_at_first(xid) => {
                news.push(News::Down(format!(
                    "it obeys a manager of a later epoch than {generation}: stop that one, or this one"
                )));
            }
            // Between the answer and the question another manager has begun to lead.
            Part::Slave { .. } => self.ask_for_role(now, ControllerRole::NoChange, 0),
            // An answer to what was asked before it led.
            Part::Equal | Part::Master(_) => {}
        }
    }

    fn unasked(&mut self, message: Message, news: &mut Vec<News>) {
        let news_of = match message {
            Message::PacketIn(packet) => News::Packet(packet),
            Message::FlowRemoved(removed) => News::Removed(removed),
            Message::PortStatus(status) => News::Port(status),
            _ => return,
        };
        match &mut self.greeting {
            // Ports that change meanwhile must not be overtaken by the older list; no packet is needed yet.
            Some(greeting) => {
                if let News::Port(_) = news_of {
                    greeting.later.push(news_of);
                }
            }
            None if self.features.is_some() && !matches!(self.part, Part::Slave { .. }) => news.push(news_of),
            None => {}
        }
    }

    fn reply(&mut self, xid: Xid, message: Message, news: &mut Vec<News>) {
        if let Some(greeting) = self.greeting.as_mut().filter(|greeting| greeting.asked.contains(&xid)) {
            match message {
                Message::MultipartReply { reply: MultipartReply::PortDescription(ports), .. } => {
                    greeting.report.ports = ports;
                    greeting.ports_known = true;
                }
                Message::MultipartReply { reply: MultipartReply::MeterFeatures(meters), .. } => {
                    greeting.report.meters = Some(meters);
                }
                Message::MultipartReply { reply: MultipartReply::GroupFeatures(groups), .. } => {
                    greeting.report.groups = Some(groups);
                }
                _ => {}
            }
            return self.greeted(xid, news);
        }
        let Some(token) = self.reading_of(xid) else { return };
        let Some(reading) = self.readings.get_mut(&token) else { return };
        if let Message::MultipartReply { reply, .. } = message {
            match reply {
                MultipartReply::Flow(flows) => reading.content.flows = flows,
                MultipartReply::GroupDescription(groups) => reading.content.groups = groups,
                MultipartReply::MeterConfig(meters) => reading.content.meters = meters,
                MultipartReply::Meter(counters) => reading.content.counters = counters,
                _ => {}
            }
        }
        reading.asked.retain(|asked| *asked != xid);
        if reading.asked.is_empty()
            && let Some(reading) = self.readings.remove(&token)
        {
            news.push(News::Read(token, Ok(reading.content)));
        }
    }

    fn reading_of(&self, xid: Xid) -> Option<Token> {
        self.readings.iter().find(|(_, reading)| reading.asked.contains(&xid)).map(|(token, _)| *token)
    }

    /// One question of the greeting is over; the last one ends it.
    fn greeted(&mut self, xid: Xid, news: &mut Vec<News>) {
        let Some(greeting) = &mut self.greeting else { return };
        greeting.asked.retain(|asked| *asked != xid);
        if greeting.asked.is_empty()
            && let Some(greeting) = self.greeting.take()
        {
            if greeting.ports_known {
                news.push(News::Up(Box::new(greeting.report)));
                news.extend(greeting.later);
            } else {
                news.push(News::Down("it does not tell its ports".to_owned()));
            }
        }
    }

    /// Whether this is a question of the greeting that waits for its answer.
    fn asks_at_first(&self, xid: Xid) -> bool {
        self.greeting.as_ref().is_some_and(|greeting| greeting.asked.contains(&xid))
    }

    /// A question has no answer; true if it was one of ours here.
    fn unanswered(&mut self, xid: Xid, why: &str, news: &mut Vec<News>) -> bool {
        if self.asks_at_first(xid) {
            self.greeted(xid, news);
            return true;
        }
        if let Some(token) = self.reading_of(xid) {
            self.readings.remove(&token);
            news.push(News::Read(token, Err(why.to_owned())));
            return true;
        }
        false
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("datapath", &self.datapath()).finish_non_exhaustive()
    }
}

fn said(outcome: &Outcome) -> Done {
    match outcome {
        Outcome::Installed => Done::Confirmed,
        Outcome::Refused(changes) => {
            let words: Vec<String> = changes.iter().map(|(_, code)| code.to_string()).collect();
            let reason = format!("the switch refused it: {}", words.join("; "));
            match changes.iter().find_map(|(_, code)| room_of(*code)) {
                Some(room) => Done::Full(room, reason),
                None => Done::Failed(reason),
            }
        }
        Outcome::Different(differences) => {
            let words: Vec<String> = differences.iter().map(|difference| format!("{difference:?}")).collect();
            Done::Failed(format!("the switch has something else than it was told: {}", words.join("; ")))
        }
        _ => Done::Failed("whether the switch has it is not known: no answer".to_owned()),
    }
}

/// What a switch had no room for when it refused something, if that was why.
const fn room_of(code: ErrorCode) -> Option<Room> {
    match code {
        ErrorCode::FlowTableFull => Some(Room::Entries),
        ErrorCode::GroupOutOfGroups => Some(Room::Groups),
        ErrorCode::MeterOutOfMeters => Some(Room::Meters),
        _ => None,
    }
}
