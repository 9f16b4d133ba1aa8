//! The loop of a bridge: what comes from the domain and from Zenoh goes to the state machine, and what that wants done is done.
use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use dds::xtypes::Described;
use dds::{Condition, Duration, GuardCondition, WaitSet};
use wire::discovery::EndpointData;
use zenoh_routes::{Action, Bridge, BridgeId, ProxyId};

use crate::Failure;
use crate::arguments::Choices;
use crate::domain::{Change, Domain};
use crate::lines::Lines;
use crate::proxies::Proxies;
use crate::session::{Event, Session};
use crate::talks::{Talk, Talks};
use crate::tls;
use crate::workers::Workers;

/// How long it waits at most before it looks for changes of the domain.
const LOOK: Duration = Duration::from_millis(100);
/// How long a connection may take before it is asked why there is none.
const AT_FIRST: std::time::Duration = std::time::Duration::from_secs(3);
/// How long nothing is said of more failures of Zenoh after one.
const SILENT: std::time::Duration = std::time::Duration::from_secs(10);
/// How long it goes on at the end for what waits to be sent.
const AT_END: std::time::Duration = std::time::Duration::from_secs(2);
/// How long while something is to be tried again.
const TRY_AGAIN: Duration = Duration::from_millis(5);

/// A number for this run: the older the bridge, the lower, so that it goes on working when another one comes.
fn new_id() -> BridgeId {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let started = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    BridgeId(((u128::from(started) << 64) | u128::from(hasher.finish())).to_be_bytes())
}

/// Bridges until it is asked to end.
///
/// # Errors
/// The participant or the session cannot be made; Zenoh or DDS refuses what the bridge needs.
pub(crate) fn run(choices: &Choices) -> Result<(), Failure> {
    let stop = GuardCondition::new();
    let asked = stop.clone();
    tls::check(&choices.tls)?;
    ctrlc::set_handler(move || {
        if asked.get_trigger_value() {
            std::process::exit(130);
        }
        asked.set_trigger_value(true);
    })
    .map_err(|error| Failure::System(format!("Ctrl-C cannot be handled: {error}")))?;
    let id = new_id();
    let told = GuardCondition::new();
    let domain = Domain::join(choices, id)?;
    let session = Session::open(choices, id, told.clone())?;
    let waits = WaitSet::new();
    waits.attach_condition(Condition::from(stop.clone()))?;
    waits.attach_condition(Condition::from(told.clone()))?;
    let at_end = WaitSet::new();
    at_end.attach_condition(Condition::from(told.clone()))?;
    let lines = Lines::new(domain.participant(), &told);
    let bridge = Bridge::new(id, choices.options.clone());
    let mut running = Running {
        bridge,
        domain,
        session,
        lines,
        proxies: Proxies::default(),
        talks: Talks::new(),
        workers: Workers::new(),
        waits,
        at_end,
        begin: Instant::now(),
        failed: 0,
        failed_at: None,
        asks_why: false,
        alone_since: None,
        told_why: BTreeSet::new(),
    };
    running.tell(&format!("bridge {id} of domain {}, {}", choices.domain, choices.confidentiality()));
    let mut told_at = Instant::now();
    let mut looked_at: Option<Instant> = None;
    while !stop.get_trigger_value() {
        let look = looked_at.is_none_or(|at| at.elapsed() >= std::time::Duration::from(LOOK));
        if look {
            looked_at = Some(Instant::now());
        }
        told.set_trigger_value(false);
        let waits_for_readers = running.round(look)?;
        if look {
            running.look_at_connections(choices);
        }
        if let Some(every) = choices.status
            && told_at.elapsed() >= every
        {
            told_at = Instant::now();
            running.tell(&running.status(choices));
        }
        // Whether something came or time is up is seen by the round.
        let _ = running.waits.wait(if waits_for_readers { TRY_AGAIN } else { LOOK });
    }
    // What was written before is still sent, if the connection takes it.
    let asked_at = Instant::now();
    while running.bridge.is_sending() && asked_at.elapsed() < AT_END {
        told.set_trigger_value(false);
        running.round(false)?;
        if running.bridge.is_sending() {
            let _ = running.at_end.wait(LOOK);
        }
    }
    running.tell(&running.status(choices));
    Ok(())
}

/// A bridge that runs.
struct Running {
    bridge: Bridge,
    domain: Domain,
    session: Session,
    lines: Lines,
    proxies: Proxies,
    talks: Talks,
    workers: Workers,
    waits: WaitSet,
    /// The same without what asks it to end.
    at_end: WaitSet,
    begin: Instant,
    /// Messages, questions and answers that Zenoh did not take.
    failed: u64,
    /// When it was last told of one.
    failed_at: Option<Instant>,
    /// It is being found out why there is no connection.
    asks_why: bool,
    /// Since when there has been none, or since it was found out last.
    alone_since: Option<Instant>,
    /// What has been told of why.
    told_why: BTreeSet<String>,
}

impl Running {
    /// Without any connection, finds out why there is none.
    fn look_at_connections(&mut self, choices: &Choices) {
        if self.asks_why {
            return;
        }
        if choices.connect.is_empty() || self.session.neighbours() > 0 {
            (self.alone_since, self.told_why) = (None, BTreeSet::new());
            return;
        }
        let wait = if self.told_why.is_empty() { AT_FIRST } else { SILENT };
        if self.alone_since.get_or_insert_with(Instant::now).elapsed() >= wait {
            // The answer begins the time.
            (self.alone_since, self.asks_why) = (None, true);
            self.workers.run(self.session.why_not(choices));
        }
    }

    /// One round; true if something waits for readers that do not keep up.
    fn round(&mut self, look: bool) -> Result<bool, Failure> {
        while let Some(event) = self.session.next_event() {
            self.hear(event);
            self.act()?;
        }
        if self.session.has_dropped() {
            self.bridge.resume();
        }
        for done in self.lines.open_told(self.domain.participant(), &self.waits) {
            done.unwrap_or_else(|failure| warn(&failure.to_string()));
        }
        let now = self.now();
        let changes = match look {
            true => self.domain.changes(&mut self.bridge, now, self.session.neighbours())?,
            false => Vec::new(),
        };
        // What writers had written that are gone comes before that they are gone.
        self.lines.take(&mut self.bridge, &self.waits)?;
        for change in changes {
            match change {
                Change::Found(data) if data.guid.entity_id.is_writer() => self.bridge.writer_found(&data),
                Change::Found(data) => self.bridge.reader_found(&data),
                Change::Gone(guid) => {
                    self.bridge.writer_gone(guid);
                    self.bridge.reader_gone(guid);
                }
            }
        }
        self.bridge.settle(self.now());
        self.act()?;
        self.talk();
        Ok(self.proxies.go_on(self.domain.participant()))
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::Token(token, is_there) => self.bridge.token(&token, is_there),
            Event::Matching(key, is_matched) => self.bridge.matching(&key, is_matched),
            Event::Message { key, attachment, payload } => {
                self.bridge.message(&key, attachment.as_deref(), &payload);
            }
            Event::Answer { question, attachment, payload } => {
                self.bridge.answer(question, &attachment, &payload);
            }
            Event::AnswerEnd(question) => self.bridge.answered(question),
            Event::Asked(query) => {
                if let Some((key, from, by)) = self.session.asked(&query) {
                    self.talks.add(&format!("answer {by}"), Talk::Answer { query, key, from });
                }
            }
            Event::AskedByPlugin(key, query) => {
                self.talks.add(&format!("plugin {key}"), Talk::AnswerPlugin { query, key });
            }
            Event::Sent(key, done) => {
                self.go_on_after(done);
                self.bridge.sent(&key, self.now());
            }
            Event::AskedType(query) => {
                let endpoint = self.session.asked_type(&query).and_then(|guid| self.domain.endpoint(guid));
                if let Some(endpoint) = endpoint.cloned() {
                    let (participant, with) =
                        (self.domain.participant().clone(), format!("type of {}", endpoint.guid));
                    self.talks.add(&with, Talk::AnswerType { query, participant, endpoint });
                }
            }
            Event::TypeTold(announced, told) => self.type_told(&announced, told),
            Event::NotConnected(why) => {
                (self.alone_since, self.asks_why) = (Some(Instant::now()), false);
                // It may have come about meanwhile.
                for text in why.into_iter().filter(|_| self.session.neighbours() == 0) {
                    if self.told_why.insert(text.clone()) {
                        warn(&text);
                    }
                }
            }
            Event::Talked(with, done) => {
                self.go_on_after(done);
                self.talks.done(&with, self.now());
            }
        }
    }

    /// Milliseconds since the begin.
    fn now(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Begins with the questions and answers whose turn it is.
    fn talk(&mut self) {
        while let Some((with, talk)) = self.talks.next(self.now()) {
            let answers = match &talk {
                Talk::Answer { key, from, .. } => self.bridge.asked(key, *from),
                Talk::AnswerPlugin { key, .. } => self.bridge.asked_by_plugin(key),
                Talk::Ask { .. } | Talk::AskPlugins(_) | Talk::AskType { .. } | Talk::AnswerType { .. } => {
                    Vec::new()
                }
            };
            self.workers.run(self.session.talk(with, talk, answers));
        }
    }

    /// What is sent once ends no bridge: a bridge that misses a message asks for it, and a question without answer is asked again.
    fn go_on_after(&mut self, done: Result<(), Failure>) {
        let Err(failure) = done else { return };
        self.failed += 1;
        self.warn_now_and_then(&failure);
    }

    /// Others can make it fail again and again.
    fn warn_now_and_then(&mut self, failure: &Failure) {
        if self.failed_at.is_none_or(|at| at.elapsed() >= SILENT) {
            self.failed_at = Some(Instant::now());
            warn(&failure.to_string());
        }
    }

    fn act(&mut self) -> Result<(), Failure> {
        while let Some(action) = self.bridge.next_action() {
            let participant = self.domain.participant();
            match action {
                Action::Announce(token) => self.session.announce(token)?,
                Action::Withdraw(token) => self.session.withdraw(&token)?,
                Action::Declare { key, durable } => self.session.declare(key, durable)?,
                Action::Undeclare(key) => self.session.undeclare(&key),
                Action::Subscribe(key) => self.session.subscribe(key)?,
                Action::Unsubscribe(key) => self.session.unsubscribe(&key),
                Action::OpenReader { line, like } => {
                    let opened = self.lines.open(participant, &self.waits, line, like);
                    opened.unwrap_or_else(|failure| warn(&failure.to_string()));
                }
                Action::CloseReader(line) => self.lines.close(participant, &self.waits, line),
                Action::OpenWriter { proxy, like, bridge } => self.open_writer(proxy, like, bridge),
                Action::CloseWriter(proxy) => self.proxies.close(proxy),
                Action::Put { key, messages, reliable } => {
                    self.workers.run(self.session.put(key, messages, reliable));
                }
                Action::Ask { question, bridge, key, from } => {
                    let talk = Talk::Ask { question, bridge, key, from };
                    if !self.talks.add(&format!("ask {bridge}"), talk) {
                        self.bridge.answered(question);
                    }
                }
                Action::AskPlugins(key) => {
                    self.talks.add("ask plugins", Talk::AskPlugins(key));
                }
                Action::Write { proxy, message } => self.proxies.write(proxy, message),
                Action::Warn(text) => warn(&text),
            }
        }
        Ok(())
    }

    fn open_writer(&mut self, proxy: ProxyId, like: EndpointData, bridge: Option<BridgeId>) {
        let (writer, announced) = (like.guid, like.type_information.clone().unwrap_or_default());
        let opened = self.proxies.open(self.domain.participant(), proxy, like, bridge.is_some());
        match (opened, bridge) {
            (Ok(true), Some(bridge)) => {
                let talk = Talk::AskType { bridge, writer, announced: announced.clone() };
                if !self.talks.add(&format!("type {bridge}"), talk) {
                    self.type_told(&announced, None);
                }
            }
            (Ok(_), _) => {}
            (Err(failure), _) => self.warn_now_and_then(&failure),
        }
    }

    fn type_told(&mut self, announced: &[u8], told: Option<Arc<Described>>) {
        if let Err(failure) = self.proxies.told(self.domain.participant(), announced, told) {
            self.warn_now_and_then(&failure);
        }
    }

    fn tell(&self, text: &str) {
        // The program that reads it may have gone.
        let _ = writeln!(std::io::stdout(), "{text}");
        let _ = std::io::stdout().flush();
    }

    fn status(&self, choices: &Choices) -> String {
        let now = self.bridge.summary();
        format!(
            "{}, {}: {} topics, {} writers announced, {} of {} other bridges here, {} connections; {} sent, {} wait to be sent, {} replaced by newer ones, {} dropped of best effort, {} lost for want of room; {} delivered, {} doubles dropped, {} passed over, {} refused, {} not written, {} not sent, {} not kept any more for want of room",
            if now.leads { "works" } else { "stands by" },
            choices.confidentiality(),
            now.topics,
            now.announced,
            now.proxies,
            now.bridges,
            self.session.neighbours(),
            now.sent,
            now.waiting,
            now.replaced,
            now.dropped,
            now.lost,
            now.delivered,
            now.doubles,
            now.skipped,
            now.refused,
            self.proxies.refused,
            self.failed,
            now.let_go,
        )
    }
}

fn warn(text: &str) {
    eprintln!("punctual-bridge: {text}");
}
