//! A manager at work: what happens goes into the state machine, and what it wants done is done.
use std::collections::{BTreeMap, VecDeque};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Sender as StdSender;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linux_edge::keep_alive::News;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;
use wan::{
    Action, Asn, BackendCommand, Input, Message, QosAnswer, Reason, Refusal, ResourceManager, SessionId,
};

use crate::authorization::{Authorization, Told};
use crate::backend::Order;
use crate::callees::{Asked, CalleePolicy, Decision};
use crate::control::line;
use crate::convert;
use crate::domain_file::{DomainFile, prefix};
use crate::durable::{Write, Written};
use crate::event::{Event, Lines};
use crate::held_back::HeldBack;
use crate::link_watch::{Link, LinkNews};
use crate::looks::Looks;
use crate::outgoing::Outgoing;
use crate::protocol::{self, Answer, Ask, Question, SessionAsked};
use crate::told_paths::ToldPaths;

/// What store and back-end have not done yet, at most. Beyond it nothing more is asked of them: messages are left out, as if they were lost, and
/// callers are told to try again.
const MOST_UNDER_WAY: usize = 10_000;
/// What is waited for at most if nothing is due.
const IDLE: Duration = Duration::from_secs(3_600);
/// Events that are taken together before the next tick.
const TOGETHER: usize = 256;

/// The time in nanoseconds since 1970, as it was at the start; after that it goes on steadily, whatever is done to the clock of the system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    since: u64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { start: Instant::now(), since: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX) }
    }

    pub(crate) fn now(&self) -> u64 {
        self.at(Instant::now())
    }

    /// An instant of this host, not before the start.
    pub(crate) fn at(&self, instant: Instant) -> u64 {
        let since = instant.saturating_duration_since(self.start);
        self.since.saturating_add(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// A manager of another domain.
pub(crate) struct OtherManager {
    pub(crate) address: String,
    pub(crate) outgoing: Arc<Outgoing>,
}

/// A manager at work.
pub(crate) struct Running {
    pub(crate) machine: ResourceManager,
    pub(crate) epoch: u32,
    pub(crate) file: DomainFile,
    pub(crate) paths: ToldPaths,
    pub(crate) clock: Clock,
    pub(crate) writes: StdSender<Write>,
    pub(crate) commands: StdSender<Order>,
    /// The AAA server, if the file has one.
    pub(crate) authorization: Option<Authorization>,
    /// Sessions whose records in between wait for what edges have counted.
    pub(crate) interims: Vec<SessionId>,
    pub(crate) caveat: Option<&'static str>,
    pub(crate) others: BTreeMap<Asn, OtherManager>,
    pub(crate) callees: CalleePolicy,
    pub(crate) false_messages: Arc<AtomicU64>,
    /// Messages that wait until devices have been told of what they say.
    pub(crate) held_back: HeldBack,
    /// What store and back-end have not done yet.
    pub(crate) under_way: usize,
    pub(crate) next: u64,
    /// What comes of what is done, after that.
    pub(crate) inputs: VecDeque<Input>,
    /// Requests and queries that are not answered.
    pub(crate) asked: BTreeMap<u64, Lines>,
    /// Those of them that are sessions.
    pub(crate) wanted: BTreeMap<u64, SessionAsked>,
    /// What is known of sessions beside what the state machine says.
    pub(crate) looks: Looks,
    /// Those who wait for the end of a session.
    pub(crate) stopping: BTreeMap<SessionId, Vec<Lines>>,
    /// Those who hear of all sessions, and how many events each has missed.
    pub(crate) monitors: BTreeMap<u64, (Lines, u64)>,
    /// Programs of callees, by connection.
    pub(crate) programs: BTreeMap<u64, Lines>,
    /// The store did not work when it was tried last.
    pub(crate) is_store_troubled: bool,
}

pub(crate) fn tell(text: &str) {
    // The reader of the log may be gone; the domain is managed all the same.
    let _ = std::io::stderr().write_all(format!("punctual: {text}\n").as_bytes());
}

/// Sends an answer to whom it is for, if it still is there.
fn answer(to: &Lines, what: &Answer) {
    let _ = to.try_send(line(what));
}

impl Running {
    /// Works until Ctrl-C, beginning with what the state machine wanted done at its start.
    pub(crate) async fn work(mut self, first: Vec<Action>, events: Receiver<Event>) {
        self.run(first, events).await;
        // The client of the AAA server says good-bye.
        drop(self.authorization.take());
    }

    async fn run(&mut self, first: Vec<Action>, mut events: Receiver<Event>) {
        self.act(first);
        // Of the store. Records of some of them may not have been begun before the last end.
        let hosted: Vec<SessionId> = self.machine.hosted().map(|(session, _)| session).collect();
        let own = self.machine.asn();
        self.account_hosted(hosted.into_iter().filter(|session| session.origin != own));
        self.input(Input::Paths(self.paths.all()));
        loop {
            let wait = {
                let now = self.clock.now();
                let due = self.machine.due(now).min(self.callees.due());
                Duration::from_nanos(due.saturating_sub(now)).min(IDLE)
            };
            match timeout(wait, events.recv()).await {
                Ok(None | Some(Event::Interrupted)) => return,
                Ok(Some(event)) => self.happens(event),
                Err(_) => {}
            }
            // What has come already counts before a neighbour is called silent.
            for _ in 0..TOGETHER {
                match events.try_recv() {
                    Ok(Event::Interrupted) => return,
                    Ok(event) => self.happens(event),
                    Err(_) => break,
                }
            }
            let now = self.clock.now();
            for session in self.callees.late(now) {
                self.input(Input::CalleeAnswer { session, rates: None });
            }
            if self.machine.due(now) <= now {
                let actions = self.machine.tick(now);
                self.act(actions);
                self.rest();
            }
        }
    }

    /// Something happens, and what comes of it, until nothing more does.
    fn input(&mut self, input: Input) {
        self.inputs.push_back(input);
        self.rest();
    }

    fn rest(&mut self) {
        while let Some(input) = self.inputs.pop_front() {
            let actions = self.machine.step(self.clock.now(), input);
            self.act(actions);
        }
    }

    fn is_full(&self) -> bool {
        self.under_way >= MOST_UNDER_WAY
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Message(message) if !self.is_full() => self.input(Input::Message(message)),
            Event::Message(_) | Event::Interrupted => {}
            Event::Written(Written::Stored(tickets)) => {
                if std::mem::take(&mut self.is_store_troubled) {
                    tell("the store works again");
                }
                self.under_way = self.under_way.saturating_sub(tickets.len());
                for ticket in tickets {
                    self.input(Input::Stored { ticket });
                }
            }
            Event::Written(Written::Trouble(what)) => {
                // Nothing is answered until it works; once is enough to say so.
                if !std::mem::replace(&mut self.is_store_troubled, true) {
                    tell(&format!("{what}; it is tried again, and nothing is granted until then"));
                }
            }
            Event::Backend(count, answers) => {
                self.under_way = self.under_way.saturating_sub(count);
                for message in self.held_back.executed(count) {
                    self.send(&message);
                }
                let authorization = self.authorization.as_mut();
                let sessions = authorization.map(|it| it.answered(&answers)).unwrap_or_default();
                for answer in answers {
                    self.input(Input::Backend(answer));
                }
                self.account_hosted(sessions);
            }
            Event::Counted(delivered) => {
                self.looks.counted(self.clock.now(), delivered.as_ref());
                if let Some(authorization) = &mut self.authorization {
                    authorization.counted(&delivered.unwrap_or_default());
                    for session in std::mem::take(&mut self.interims) {
                        authorization.interim(session);
                    }
                }
            }
            Event::Bgp(news) => {
                let is_read = news.is_ok();
                tell(&self.paths.news(news));
                if is_read {
                    self.input(Input::Paths(self.paths.all()));
                }
            }
            Event::Aaa(told) => self.authorized(told),
            Event::Link(news) => self.link(&news),
            Event::Asked(connection, ask, lines) => {
                if let Err(what) = self.asked(connection, ask, &lines) {
                    answer(&lines, &Answer::Wrong { what });
                }
            }
            Event::Replied(program, reply) => {
                if let Some((session, rates)) = self.callees.replied(program, reply.number, reply.rates) {
                    self.input(Input::CalleeAnswer { session, rates });
                }
            }
            Event::Left(connection) => {
                self.monitors.remove(&connection);
                if self.programs.remove(&connection).is_some() {
                    self.callees.left(connection);
                }
            }
            Event::Odd(what) => tell(&what),
        }
    }

    /// A link is cut, or works again.
    fn link(&mut self, of: &LinkNews) {
        let LinkNews { link, news, place, ends } = of;
        let is_up = *news == News::Up;
        let what = match news {
            News::InterfaceDown => "its interface is down",
            News::Silent => "keep-alives do not come back",
            News::Interface => {
                // Its addresses and routes; whether packets pass is not known yet.
                let _ = self.commands.send(Order::InterfacesAgain(ends.clone()));
                return;
            }
            News::Up => "packets pass it in both directions",
        };
        let state = if is_up { "up" } else { "down" };
        match link {
            Link::Border(number) => {
                tell(&format!("link {} is {state}: {what} ({place})", number.0));
                // Those who wait hear of the link before they hear what became of sessions.
                self.monitored(&protocol::Event::Link { link: number.0, is_up, what: what.to_owned() });
                self.input(Input::Link { link: *number, is_up });
            }
            Link::Inner(number) => {
                tell(&format!("a link inside is {state}: {what} ({place})"));
                let _ = self.commands.send(Order::Link(*number, is_up));
            }
        }
    }

    /// The AAA server says something of a session.
    fn authorized(&mut self, told: Told) {
        match told {
            Told::Granted(session, said) => self.input(Input::Granted { session, said }),
            Told::Accounted(session) => self.input(Input::Accounted(session)),
            Told::Hosted(session, said) => {
                let what = self.authorization.as_mut().and_then(|it| it.hosted_begins(session, said));
                if let Some(what) = what {
                    tell(&what);
                }
            }
            Told::InterimDue(session) => {
                self.interims.push(session);
                let _ = self.commands.send(Order::Count);
            }
            Told::Happened(event) => {
                let told = self.authorization.as_mut().and_then(|it| it.happened(event));
                if let Some(told) = told {
                    self.authorized(told);
                }
            }
        }
    }

    /// Edges have let in or shut flows of these sessions of callers of other domains: their records begin or end.
    fn account_hosted(&mut self, sessions: impl IntoIterator<Item = SessionId>) {
        let Some(authorization) = &mut self.authorization else { return };
        for session in sessions {
            if self.machine.is_shut(session) {
                authorization.hosted_over(session);
            } else {
                authorization.hosted_enters(session, &self.machine.legs(session));
            }
        }
    }

    /// What of the AAA server is to be done.
    fn account(&mut self, action: &Action) {
        let Some(authorization) = &mut self.authorization else { return };
        match action {
            Action::AskGrant { session, request } => authorization.ask(*session, request),
            Action::Account(session) => authorization.account(*session),
            Action::EndGrant { session, refusal } => authorization.end(*session, refusal),
            // Of the start alone, when the client began.
            _ => {}
        }
    }

    /// A command asks; what makes no sense is said in words.
    fn asked(&mut self, connection: u64, ask: Ask, lines: &Lines) -> Result<(), String> {
        match ask {
            Ask::Establish(session) => {
                let request = convert::request(&session, &self.file)?;
                if self.is_full() {
                    let refusal = Refusal { asn: self.machine.asn(), link: None, reason: Reason::Busy };
                    let why = convert::refused(&refusal);
                    self.refused(session, why.clone());
                    answer(lines, &Answer::Refused(why));
                    return Ok(());
                }
                let ticket = self.ticket(lines);
                self.wanted.insert(ticket, session);
                self.input(Input::Request { ticket, request });
            }
            Ask::Stop { session } => {
                let id = convert::session_of(&session)?;
                // It is not over before the store has forgotten it.
                if let Some(waiting) = self.stopping.get_mut(&id) {
                    waiting.push(lines.clone());
                    return Ok(());
                }
                if !self.machine.sessions().any(|(known, _, _)| known == id) {
                    let own = self.machine.asn().0;
                    let what = format!("AS {own} has no session {session}: punctual rm status lists all");
                    answer(lines, &Answer::Unknown { session, what });
                    return Ok(());
                }
                self.stopping.entry(id).or_default().push(lines.clone());
                self.input(Input::Stop(id));
            }
            Ask::Extend { session, by } => {
                let session = convert::session_of(&session)?;
                let ticket = self.ticket(lines);
                self.input(Input::Extend { ticket, session, by });
            }
            Ask::Move { session, from, to } => {
                let session = convert::session_of(&session)?;
                let ticket = self.ticket(lines);
                self.input(Input::Move { ticket, session, from, to });
            }
            Ask::Query { asn, class } => {
                let class = convert::class_of(&class)?;
                let ticket = self.ticket(lines);
                self.input(Input::Query { ticket, destination: Asn(asn), class });
            }
            Ask::Status => {
                // The next one has what edges say now: nothing waits for them.
                if self.looks.asks(self.clock.now()) {
                    let _ = self.commands.send(Order::Count);
                }
                answer(lines, &Answer::Status(Box::new(self.status())));
            }
            Ask::Paths => {
                let paths = self.paths.status(self.machine.asn().0);
                answer(lines, &Answer::Paths(Box::new(paths)));
            }
            Ask::Measured(measured) => answer(lines, &self.measured(measured)?),
            Ask::Monitor => drop(self.monitors.insert(connection, (lines.clone(), 0))),
            Ask::Callee { prefix: said } => {
                let callees = prefix(&said).ok_or_else(|| {
                    let said = said.escape_default();
                    format!("\"{said}\" is no range of addresses: write one such as 10.3.0.0/16")
                })?;
                self.callees.registered(connection, callees);
                self.programs.insert(connection, lines.clone());
            }
        }
        Ok(())
    }

    fn ticket(&mut self, lines: &Lines) -> u64 {
        self.next += 1;
        self.asked.insert(self.next, lines.clone());
        self.next
    }

    fn act(&mut self, actions: Vec<Action>) {
        // What is forwarded from now on, by the last command that says so.
        let mut committed = None;
        for action in actions {
            match action {
                Action::Send(message) => match committed {
                    Some(command) => self.held_back.hold(command, message),
                    None => self.send(&message),
                },
                Action::Store { ticket, key, record } => {
                    self.under_way += 1;
                    // The thread that writes ends only with this one.
                    let _ = self.writes.send(Write { ticket, key, record });
                }
                Action::Backend(command) => {
                    self.under_way += 1;
                    let own = self.machine.asn();
                    if let Some(authorization) = &mut self.authorization {
                        authorization.commanded(&command, own);
                    }
                    let number = self.held_back.commanded();
                    if matches!(command, BackendCommand::Commit { .. }) {
                        committed = Some(number);
                    }
                    let _ = self.commands.send(Order::Command(command));
                }
                Action::AskCallee { session, caller, callees, flows } => {
                    self.ask_callees(&Asked { session, caller, callees, flows });
                }
                Action::Answer { ticket, answer: said } => self.answered(ticket, said),
                Action::Ended { session, refusal } => self.ended(session, &refusal),
                Action::HostedEnded { session, refusal } => {
                    self.looks.ended(session);
                    if let Some(authorization) = &mut self.authorization {
                        authorization.hosted_ends(session, &refusal);
                    }
                    let session = convert::session_name(session);
                    self.monitored(&protocol::Event::Ended { session, why: convert::refused(&refusal) });
                }
                Action::Rerouted { leg, delay, loss, refusal } => {
                    let session = convert::session_name(leg.session);
                    let (flow, to, why) = (leg.number(), leg.peer.0, convert::refused(&refusal));
                    self.monitored(&protocol::Event::Rerouted { session, flow, to, delay, loss, why });
                }
                Action::Copies { leg, said } => {
                    let (session, flow, to) = (convert::session_name(leg.session), leg.number(), leg.peer.0);
                    self.monitored(&match said {
                        Ok(delay) => protocol::Event::CopyBack { session, flow, to, delay },
                        Err(refusal) => {
                            let why = convert::refused(&refusal);
                            protocol::Event::CopyLost { session, flow, to, why }
                        }
                    });
                }
                Action::AskGrant { .. }
                | Action::KeepGrant { .. }
                | Action::Account(_)
                | Action::EndGrant { .. } => self.account(&action),
                Action::ExtendAnswer { ticket, answer: said } => {
                    let said = match said {
                        Ok(ends) => Answer::Extended { ends },
                        Err(refusal) => Answer::Refused(convert::refused(&refusal)),
                    };
                    if let Some(lines) = self.asked.remove(&ticket) {
                        answer(&lines, &said);
                    }
                }
                Action::QueryAnswer { ticket, answer: said } => {
                    let said = match said {
                        Ok(free) => {
                            let wan::Available { rate, delay, jitter, loss } = free;
                            Answer::Free { rate, delay, jitter, loss }
                        }
                        Err(refusal) => Answer::Refused(convert::refused(&refusal)),
                    };
                    if let Some(lines) = self.asked.remove(&ticket) {
                        answer(&lines, &said);
                    }
                }
            }
        }
    }

    fn send(&self, message: &Message) {
        // A domain without a manager cannot be asked: no answer is a refusal.
        if let Some((other, bytes)) = self.others.get(&message.to).zip(message.encode()) {
            other.outgoing.push(bytes);
        }
    }

    fn ask_callees(&mut self, asked: &Asked) {
        match self.callees.ask(self.clock.now(), asked) {
            // After all that is to be done now.
            Decision::Now(rates) => {
                self.inputs.push_back(Input::CalleeAnswer { session: asked.session, rates });
            }
            Decision::Later(all) => {
                for put in all {
                    let question = Question {
                        number: put.number,
                        session: convert::session_name(asked.session),
                        caller: asked.caller,
                        callees: put.callees,
                        flows: asked.flows.iter().map(convert::flow).collect(),
                    };
                    // One that reads too slowly does not answer in time.
                    if let Some(program) = self.programs.get(&put.program) {
                        let _ = program.try_send(line(&question));
                    }
                }
            }
        }
    }

    /// A session was asked for, and is not set up.
    fn refused(&mut self, asked: SessionAsked, why: protocol::Refused) {
        let SessionAsked { user, caller, callees, .. } = asked;
        self.monitored(&protocol::Event::Refused { user, caller, callees, why });
    }

    fn answered(&mut self, ticket: u64, said: QosAnswer) {
        let wanted = self.wanted.remove(&ticket);
        let said = match said {
            QosAnswer::Admitted { session, peers, bounds, ends } => {
                let admitted = convert::admitted(session, &peers, &bounds, ends, self.caveat);
                self.looks.admitted(session, self.clock.now());
                self.monitored(&protocol::Event::Admitted(admitted.clone()));
                Answer::Admitted(admitted)
            }
            QosAnswer::Refused(refusal) => {
                let why = convert::refused(&refusal);
                if let Some(asked) = wanted {
                    self.refused(asked, why.clone());
                }
                Answer::Refused(why)
            }
        };
        if let Some(lines) = self.asked.remove(&ticket) {
            answer(&lines, &said);
        }
    }

    fn ended(&mut self, session: SessionId, refusal: &Refusal) {
        let name = convert::session_name(session);
        self.looks.ended(session);
        for lines in self.stopping.remove(&session).unwrap_or_default() {
            answer(&lines, &Answer::Stopped { session: name.clone() });
        }
        self.monitored(&protocol::Event::Ended { session: name, why: convert::refused(refusal) });
    }

    fn monitored(&mut self, event: &protocol::Event) {
        let text = line(&Answer::Event(event.clone()));
        for (lines, missed) in self.monitors.values_mut() {
            if *missed > 0 {
                let count = *missed;
                if lines.try_send(line(&Answer::Event(protocol::Event::Missed { count }))).is_ok() {
                    *missed = 0;
                }
            }
            if lines.try_send(text.clone()).is_err() {
                *missed += 1;
            }
        }
    }
}
