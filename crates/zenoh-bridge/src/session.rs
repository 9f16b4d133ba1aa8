//! The session of Zenoh: what is declared in it, and what comes from it, in the order in which it comes.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dds::xtypes::Described;
use dds::{DomainParticipant, GuardCondition, Guid};
use serde_json::json;
use wire::discovery::EndpointData;
use zenoh::Wait as _;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::query::{ConsolidationMode, Query, QueryTarget, Queryable, Reply, ReplyKeyExpr};
use zenoh::sample::{Sample, SampleKind};
use zenoh_routes::{BridgeId, Kind, Message, key, types};

use crate::Failure;
use crate::arguments::{Choices, Tls};
use crate::talks::Talk;
use crate::tls;
use crate::types::Told;
use crate::workers::Job;

/// Most bytes of messages that wait for the loop. What comes beyond is dropped, and asked for again.
const MOST_BYTES: usize = 64 << 20;
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);

/// What comes from Zenoh.
pub(crate) enum Event {
    /// A token is there, or is not any more.
    Token(String, bool),
    /// Something subscribes to a key of this bridge, or nothing does any more.
    Matching(String, bool),
    /// A message under a key that is subscribed.
    Message { key: String, attachment: Option<Vec<u8>>, payload: Vec<u8> },
    /// One answer to a question.
    Answer { question: u64, attachment: Vec<u8>, payload: Vec<u8> },
    /// The end of all answers to it.
    AnswerEnd(u64),
    /// Another bridge asks.
    Asked(Query),
    /// `zenoh-plugin-dds` asks about a key.
    AskedByPlugin(String, Query),
    /// What was sent under a key has been taken by the connection, or not.
    Sent(String, Result<(), Failure>),
    /// A question or an answer has been taken by the connection of this bridge, or not.
    Talked(String, Result<(), Failure>),
    /// Another bridge asks for the type of a writer.
    AskedType(Query),
    /// What another bridge tells of a type, of which this is announced; `None` if it tells nothing.
    TypeTold(Vec<u8>, Option<Arc<Described>>),
    /// Why no connection comes about.
    NotConnected(Vec<String>),
}

/// Where callbacks of Zenoh put what comes.
#[derive(Clone)]
struct Inbox {
    events: Sender<Event>,
    told: GuardCondition,
    /// Bytes of messages that wait.
    waiting: Arc<AtomicUsize>,
    has_dropped: Arc<AtomicBool>,
}

impl Inbox {
    /// True if it was put, false if there was no room.
    fn put(&self, event: Event) -> bool {
        let size = size_of_event(&event);
        let before = self.waiting.fetch_add(size, Ordering::Relaxed);
        // One alone is taken however long it is.
        if size > 0 && before > 0 && before.saturating_add(size) > MOST_BYTES {
            self.waiting.fetch_sub(size, Ordering::Relaxed);
            self.has_dropped.store(true, Ordering::Relaxed);
            return false;
        }
        // The loop has ended otherwise.
        if self.events.send(event).is_ok() {
            self.told.set_trigger_value(true);
        }
        true
    }
}

/// Bytes that count. A question that is dropped has no answer, and is asked again; announcements and ends of answers are never dropped.
fn size_of_event(event: &Event) -> usize {
    match event {
        Event::Message { payload, .. } | Event::Answer { payload, .. } => payload.len().saturating_add(512),
        Event::Asked(_) | Event::AskedByPlugin(..) | Event::AskedType(_) => 8_192,
        Event::Token(..)
        | Event::Matching(..)
        | Event::AnswerEnd(_)
        | Event::Sent(..)
        | Event::Talked(..)
        | Event::TypeTold(..)
        | Event::NotConnected(_) => 0,
    }
}

/// Tells the end of all answers when Zenoh lets go of it.
struct AtEnd(Inbox, u64);

impl Drop for AtEnd {
    fn drop(&mut self) {
        self.0.put(Event::AnswerEnd(self.1));
    }
}

/// What has been told of a type, and tells it when Zenoh lets go of it.
struct TypeAtEnd(Inbox, Vec<u8>, OnceLock<Arc<Described>>);

impl Drop for TypeAtEnd {
    fn drop(&mut self) {
        self.0.put(Event::TypeTold(std::mem::take(&mut self.1), self.2.take()));
    }
}

/// What a key has while writers of this site write under it.
struct Declared {
    publisher: Publisher<'static>,
    _caches: Option<Queryable<()>>,
}

/// The session.
pub(crate) struct Session {
    session: zenoh::Session,
    inbox: Inbox,
    events: Receiver<Event>,
    id: BridgeId,
    tokens: BTreeMap<String, LivelinessToken>,
    declared: BTreeMap<String, Declared>,
    subscribed: BTreeMap<String, [Subscriber<()>; 2]>,
    _bridges: Subscriber<()>,
    _questions: [Queryable<()>; 2],
}

fn refused(what: &str) -> impl FnOnce(zenoh::Error) -> Failure {
    move |error| Failure::System(format!("{what}: {error}"))
}

impl Session {
    /// Opens a session, which connects as soon as the others are there.
    pub(crate) fn open(choices: &Choices, id: BridgeId, told: GuardCondition) -> Result<Self, Failure> {
        let config = zenoh::Config::from_json5(&config(choices))
            .map_err(|error| Failure::Usage(format!("Zenoh does not take these options: {error}")))?;
        let session = zenoh::open(config).wait().map_err(refused("no session of Zenoh"))?;
        let (events_in, events) = mpsc::channel();
        let inbox = Inbox { events: events_in, told, waiting: Arc::default(), has_dropped: Arc::default() };
        let put = inbox.clone();
        let bridges = session
            .liveliness()
            .declare_subscriber(key::tokens(&choices.options.scope))
            .history(true)
            .callback(move |sample| {
                put.put(Event::Token(sample.key_expr().to_string(), sample.kind() == SampleKind::Put));
            })
            .wait()
            .map_err(refused("announcements of other bridges"))?;
        let questions = |at: String, event: fn(Query) -> Event| {
            let put = inbox.clone();
            let declared = session.declare_queryable(at).callback(move |query| {
                put.put(event(query));
            });
            declared.wait().map_err(refused("questions of other bridges"))
        };
        let questions =
            [questions(key::cache_of(id), Event::Asked)?, questions(key::types_of(id), Event::AskedType)?];
        Ok(Self {
            session,
            inbox,
            events,
            id,
            tokens: BTreeMap::new(),
            declared: BTreeMap::new(),
            subscribed: BTreeMap::new(),
            _bridges: bridges,
            _questions: questions,
        })
    }

    /// The next of what has come.
    pub(crate) fn next_event(&self) -> Option<Event> {
        let event = self.events.try_recv().ok()?;
        self.inbox.waiting.fetch_sub(size_of_event(&event), Ordering::Relaxed);
        Some(event)
    }

    /// True if messages were dropped since the last time, because too many came at once.
    pub(crate) fn has_dropped(&self) -> bool {
        self.inbox.has_dropped.swap(false, Ordering::Relaxed)
    }

    /// Routers and bridges that it is connected to.
    pub(crate) fn neighbours(&self) -> usize {
        let info = self.session.info();
        info.routers_zid().wait().count().saturating_add(info.peers_zid().wait().count())
    }

    pub(crate) fn announce(&mut self, token: String) -> Result<(), Failure> {
        let declared = self.session.liveliness().declare_token(token.clone()).wait();
        self.tokens.insert(token, declared.map_err(refused("an announcement"))?);
        Ok(())
    }

    pub(crate) fn withdraw(&mut self, token: &str) -> Result<(), Failure> {
        let Some(declared) = self.tokens.remove(token) else { return Ok(()) };
        declared.undeclare().wait().map_err(refused("an announcement"))
    }

    pub(crate) fn declare(&mut self, at: String, durable: bool) -> Result<(), Failure> {
        let publisher = self.session.declare_publisher(at.clone()).wait().map_err(refused("a publisher"))?;
        let (put, of) = (self.inbox.clone(), at.clone());
        publisher
            .matching_listener()
            .callback(move |status| {
                put.put(Event::Matching(of.clone(), status.matching()));
            })
            .background()
            .wait()
            .map_err(refused("a publisher"))?;
        // What matched before the listener was there.
        if publisher.matching_status().wait().is_ok_and(|status| status.matching()) {
            self.inbox.put(Event::Matching(at.clone(), true));
        }
        let caches = if durable {
            let (put, of) = (self.inbox.clone(), at.clone());
            let queryable =
                self.session.declare_queryable(key::plugin_cache(&at, self.id)).callback(move |query| {
                    put.put(Event::AskedByPlugin(of.clone(), query));
                });
            Some(queryable.wait().map_err(refused("what is kept for late readers"))?)
        } else {
            None
        };
        self.declared.insert(at, Declared { publisher, _caches: caches });
        Ok(())
    }

    pub(crate) fn undeclare(&mut self, at: &str) {
        self.declared.remove(at);
    }

    pub(crate) fn subscribe(&mut self, at: String) -> Result<(), Failure> {
        let subscribe = |at: String| {
            let put = self.inbox.clone();
            let declared = self.session.declare_subscriber(at).callback(move |sample| {
                put.put(message(&sample));
            });
            declared.wait().map_err(refused("a subscription"))
        };
        let both = [subscribe(key::ends(&at))?, subscribe(at.clone())?];
        self.subscribed.insert(at, both);
        Ok(())
    }

    pub(crate) fn unsubscribe(&mut self, at: &str) {
        self.subscribed.remove(at);
    }

    /// Sends messages one after the other, on a thread that may wait, and tells the end.
    pub(crate) fn put(&self, at: String, messages: Vec<Message>, reliable: bool) -> Job {
        let control = if reliable { CongestionControl::Block } else { CongestionControl::Drop };
        let (session, inbox) = (self.session.clone(), self.inbox.clone());
        // The key has a number in the session.
        let declared = self.declared.get(&at).map(|declared| declared.publisher.key_expr().clone());
        Box::new(move || {
            let mut done = Ok(());
            for message in messages {
                let attachment = message.attachment.encode();
                let payload = message.payload.to_vec();
                let put = match &declared {
                    Some(declared) if message.attachment.kind == Kind::Sample => {
                        session.put(declared.clone(), payload)
                    }
                    _ => session.put(key::at(&at, message.attachment.kind), payload),
                };
                let put = put.congestion_control(control).attachment(attachment).wait();
                done = done.and(put.map_err(refused("a message")));
            }
            inbox.put(Event::Sent(at, done));
        })
    }

    /// Asks or answers, on a thread that may wait, and tells the end. `answers` are those of an answer.
    pub(crate) fn talk(&self, with: String, talk: Talk, answers: Vec<Message>) -> Job {
        let asks = Asks { session: self.session.clone(), inbox: self.inbox.clone(), id: self.id };
        Box::new(move || {
            let done = match talk {
                Talk::Ask { question, bridge, key, from } => asks.ask(question, bridge, &key, from),
                Talk::AskPlugins(key) => asks.ask_plugins(&key),
                Talk::Answer { query, .. } => answer(&query, query.key_expr().as_str(), &answers),
                Talk::AnswerPlugin { query, key } => {
                    answer(&query, &place_of_answer(&query, &key, asks.id), &answers)
                }
                Talk::AskType { bridge, writer, announced } => asks.ask_type(bridge, writer, announced),
                Talk::AnswerType { query, participant, endpoint } => {
                    answer_type(&query, &participant, &endpoint)
                }
            };
            asks.inbox.put(Event::Talked(with, done));
        })
    }

    /// Finds out why no connection comes about, on a thread that may wait, and tells it.
    pub(crate) fn why_not(&self, choices: &Choices) -> Job {
        let (inbox, endpoints, tls) = (self.inbox.clone(), choices.connect.clone(), choices.tls.clone());
        Box::new(move || {
            let why = endpoints.iter().filter_map(|endpoint| tls::why_not(endpoint, &tls)).collect();
            inbox.put(Event::NotConnected(why));
        })
    }

    /// The writer whose type another bridge asks for.
    pub(crate) fn asked_type(&self, query: &Query) -> Option<Guid> {
        key::asked_type(self.id, query.key_expr().as_str())
    }

    /// The key and number that another bridge asks about, and which bridge that is, as it says.
    pub(crate) fn asked(&self, query: &Query) -> Option<(String, u64, String)> {
        let at = key::asked(self.id, query.key_expr().as_str())?.to_owned();
        let from = query.parameters().get("from")?.parse().ok()?;
        let by = query.parameters().get("by").and_then(BridgeId::parse);
        Some((at, from, by.map(|by| by.to_string()).unwrap_or_default()))
    }
}

/// What asks.
struct Asks {
    session: zenoh::Session,
    inbox: Inbox,
    id: BridgeId,
}

impl Asks {
    fn ask(&self, question: u64, bridge: BridgeId, at: &str, from: u64) -> Result<(), Failure> {
        let (end, is_whole) = (AtEnd(self.inbox.clone(), question), AtomicBool::new(true));
        let selector = format!("{}?from={from};by={}", key::cache_of_key(bridge, at), self.id);
        let answer = move |reply: Reply| {
            let Ok(sample) = reply.result() else { return };
            let Some(attachment) = sample.attachment() else { return };
            // Where one of them is dropped, none of those behind it is taken: what has come is without gaps, and the rest is asked for again.
            if !is_whole.load(Ordering::Relaxed) {
                return;
            }
            let (attachment, payload) =
                (attachment.to_bytes().into_owned(), sample.payload().to_bytes().into_owned());
            let is_put = end.0.put(Event::Answer { question, attachment, payload });
            is_whole.store(is_put, Ordering::Relaxed);
        };
        self.get(&selector, answer)
    }

    fn ask_type(&self, bridge: BridgeId, writer: Guid, announced: Vec<u8>) -> Result<(), Failure> {
        let end = TypeAtEnd(self.inbox.clone(), announced, OnceLock::new());
        self.get(&key::type_of_writer(bridge, writer), move |reply: Reply| {
            let Ok(sample) = reply.result() else { return };
            if let Ok(told) = types::decode(&sample.payload().to_bytes()) {
                // The first answer counts.
                let _ = end.2.set(Arc::new(told));
            }
        })
    }

    fn ask_plugins(&self, at: &str) -> Result<(), Failure> {
        let (put, of) = (self.inbox.clone(), at.to_owned());
        self.get(&key::plugin_caches(at), move |reply: Reply| {
            let Ok(sample) = reply.result() else { return };
            // Bridges like this one are asked otherwise.
            if sample.attachment().is_none() {
                put.put(Event::Message {
                    key: of.clone(),
                    attachment: None,
                    payload: sample.payload().to_bytes().into_owned(),
                });
            }
        })
    }

    fn get(&self, selector: &str, answer: impl Fn(Reply) + Send + Sync + 'static) -> Result<(), Failure> {
        self.session
            .get(selector)
            .target(QueryTarget::All)
            .consolidation(ConsolidationMode::None)
            .accept_replies(ReplyKeyExpr::Any)
            .timeout(ANSWER)
            .callback(answer)
            .wait()
            .map_err(refused("a question"))
    }
}

/// Where a program that asks as `zenoh-plugin-dds` does is answered: under the key itself if it takes that, as the plugin does; else where it asked.
fn place_of_answer(query: &Query, of: &str, id: BridgeId) -> String {
    match query.accepts_replies() {
        ReplyKeyExpr::Any => of.to_owned(),
        ReplyKeyExpr::MatchingQuery => key::plugin_cache(of, id),
    }
}

/// Answers a question, under this key.
fn answer(query: &Query, at: &str, messages: &[Message]) -> Result<(), Failure> {
    for message in messages {
        query
            .reply(at, message.payload.to_vec())
            .attachment(message.attachment.encode())
            .wait()
            .map_err(refused("an answer"))?;
    }
    Ok(())
}

/// Answers what the participant of an endpoint tells of its type; nothing if it does not. Waits for the participant.
fn answer_type(
    query: &Query,
    participant: &DomainParticipant,
    endpoint: &EndpointData,
) -> Result<(), Failure> {
    let told = Told::ask(participant, endpoint).and_then(|told| told.described());
    let Some(bytes) = told.and_then(|told| types::encode(&told)) else { return Ok(()) };
    query.reply(query.key_expr().clone(), bytes).wait().map_err(refused("an answer"))
}

fn message(sample: &Sample) -> Event {
    let payload =
        if sample.kind() == SampleKind::Put { sample.payload().to_bytes().into_owned() } else { Vec::new() };
    Event::Message {
        key: sample.key_expr().to_string(),
        attachment: sample.attachment().map(|attachment| attachment.to_bytes().into_owned()),
        payload,
    }
}

/// What Zenoh is told: no multicast, no connections but those that an operator names.
fn config(choices: &Choices) -> String {
    let Tls { ca, own } = &choices.tls;
    let (certificate, key) = own.clone().unzip();
    let files = json!({
        "root_ca_certificate": ca,
        "listen_certificate": certificate, "listen_private_key": key,
        "connect_certificate": certificate, "connect_private_key": key,
        // Who connects shows a certificate, where there is an authority that it could be of.
        "enable_mtls": ca.is_some() && own.is_some(),
    });
    let files: serde_json::Map<String, serde_json::Value> = match files {
        serde_json::Value::Object(map) => map.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => serde_json::Map::new(),
    };
    json!({
        "mode": if choices.listen.is_empty() { "peer" } else { "router" },
        "connect": { "endpoints": choices.connect, "timeout_ms": -1, "exit_on_failure": false },
        "listen": { "endpoints": choices.listen, "timeout_ms": 0, "exit_on_failure": true },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "adminspace": { "enabled": false },
        "transport": { "link": {
            "protocols": ["tcp", "tls"],
            "tls": files,
            // What is sent waits for a slow connection, and only for one that is not lost.
            "tx": {
                "lease": choices.detect.saturating_mul(1_000),
                "queue": { "congestion_control": { "block": {
                    "wait_before_close": choices.detect.saturating_mul(1_000_000),
                } } },
            },
        } },
    })
    .to_string()
}
