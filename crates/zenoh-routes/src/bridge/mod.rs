//! The bridge of a site: what it knows of its domain and of other bridges, and what follows from that.
//!
//! It is told what happens, and after each round of that [`Bridge::settle`] compares what there should be with what there is. The difference, and
//! what is to be sent and written, are [`Action`]s, to be carried out in their order.
mod settle;
mod traffic;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use rtps::discovery::matches;
use wire::Guid;
use wire::discovery::EndpointData;

use crate::action::{Action, ProxyId};
use crate::cache::{Cache, Message};
use crate::key::{self, BridgeId};
use crate::lines::{Keys, Line, is_durable};
use crate::proxies::{Local, Remote};
use crate::queue::Queues;
use crate::stream::{Head, Stream};

/// How much a bridge takes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Topics, each with each of its partitions, of this site and of others together.
    pub topics: usize,
    /// Writers of other sites.
    pub writers: usize,
    /// Bytes of what was sent that are kept, for all topics together.
    pub bytes: usize,
    /// Bytes of what waits to be sent, for all topics together.
    pub waiting: usize,
    /// Topics that are being sent at the same time; a slow connection takes as many as have messages for it.
    pub sending: usize,
    /// Messages that are kept until their writer is announced.
    pub early: usize,
    /// Milliseconds that things stay which another bridge announced, or subscribed to, and does not any more: it may only be cut off.
    pub lease: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            topics: 4_096,
            writers: 16_384,
            bytes: 256 << 20,
            waiting: 64 << 20,
            sending: 128,
            early: 4_096,
            lease: 30_000,
        }
    }
}

/// What an operator chooses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// What keys begin with; bridges of other scopes have nothing to do with this one.
    pub scope: String,
    /// Topics that are bridged, as patterns; none: all.
    pub allow: Vec<String>,
    /// Topics that are not, whatever `allow` says.
    pub deny: Vec<String>,
    /// How much is taken on.
    pub limits: Limits,
}

impl Options {
    /// Topics of Punctual itself are of one site, whatever others announce.
    fn wants(&self, topic: &str) -> bool {
        if topic.starts_with("punctual/") {
            return false;
        }
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, topic));
        (self.allow.is_empty() || any(&self.allow)) && !any(&self.deny)
    }
}

/// What a bridge does at the moment, and did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// It works; false while another bridge of the site does.
    pub leads: bool,
    /// Topics with their partitions that are in use.
    pub topics: usize,
    /// Writers of this site that are announced.
    pub announced: usize,
    /// Writers of other sites that have one here.
    pub proxies: usize,
    /// Other bridges that announce something.
    pub bridges: usize,
    /// Bytes of what was sent that are kept.
    pub kept: usize,
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that wait to be sent.
    pub waiting: usize,
    /// Messages of reliable writers that were not sent, because newer ones of the same instance came before it was their turn.
    pub replaced: u64,
    /// Messages of best-effort writers that were not sent, because too many waited.
    pub dropped: u64,
    /// Messages of reliable writers that were not sent for want of room. Sites that miss them get those that are still kept.
    pub lost: u64,
    /// Messages that were handed to writers of this site.
    pub delivered: u64,
    /// Messages that had come before, by another way.
    pub doubles: u64,
    /// Messages that were kept for late readers and for those who missed some, and had no room any more.
    pub let_go: u64,
    /// Messages that never came, and that nothing has any more.
    pub skipped: u64,
    /// Messages that are none, or of writers that are not announced.
    pub refused: u64,
}

/// A message that came before what announces its writer.
#[derive(Debug)]
struct Early {
    since: u64,
    key: String,
    message: Message,
    /// It has had its turn in its stream.
    is_ordered: bool,
}

/// A question to another bridge.
#[derive(Debug)]
struct Question {
    bridge: BridgeId,
    key: String,
    /// What its end says, once it is told.
    head: Option<Head>,
}

/// A stream, and when it is asked for again.
#[derive(Debug)]
struct Incoming {
    stream: Stream,
    /// The question whose answer is awaited.
    question: Option<u64>,
    failures: u32,
    again: Option<u64>,
    /// Since when its bridge announces no writer of the key; milliseconds.
    lost_since: Option<u64>,
}

/// The bridge of a site.
#[derive(Debug)]
pub struct Bridge {
    id: BridgeId,
    options: Options,
    leads: bool,
    now: u64,
    actions: VecDeque<Action>,
    /// Something may have changed.
    is_dirty: bool,
    keys: Keys,
    lines: BTreeMap<u64, Line>,
    next_line: u64,
    /// The line of each writer of this site.
    line_of: BTreeMap<Guid, u64>,
    readers: BTreeMap<Guid, Local>,
    remotes: BTreeMap<Guid, Remote>,
    next_proxy: u64,
    /// Tokens of writers of this site, with the number of each announcement.
    announced: BTreeMap<Guid, (u64, String)>,
    announcements: u64,
    /// Keys with a publisher, and whether something subscribes.
    published: BTreeMap<String, (bool, bool)>,
    /// Keys that are subscribed, and whether late readers are among those who read.
    subscribed: BTreeMap<String, bool>,
    streams: BTreeMap<(BridgeId, String), Incoming>,
    foreign: BTreeMap<String, ProxyId>,
    caches: BTreeMap<String, Cache>,
    kept: usize,
    queues: Queues,
    early: VecDeque<Early>,
    early_bytes: usize,
    /// Bytes that streams hold.
    held: usize,
    questions: BTreeMap<u64, Question>,
    next_question: u64,
    counts: Summary,
}

impl Bridge {
    /// A bridge that knows nothing, and leads.
    pub fn new(id: BridgeId, options: Options) -> Self {
        let keys = Keys::new(options.limits.topics);
        let queues = Queues::new(options.limits.sending, options.limits.waiting);
        Self {
            id,
            options,
            leads: true,
            now: 0,
            actions: VecDeque::new(),
            is_dirty: true,
            keys,
            lines: BTreeMap::new(),
            next_line: 0,
            line_of: BTreeMap::new(),
            readers: BTreeMap::new(),
            remotes: BTreeMap::new(),
            next_proxy: 0,
            announced: BTreeMap::new(),
            announcements: 0,
            published: BTreeMap::new(),
            subscribed: BTreeMap::new(),
            streams: BTreeMap::new(),
            foreign: BTreeMap::new(),
            caches: BTreeMap::new(),
            kept: 0,
            queues,
            early: VecDeque::new(),
            early_bytes: 0,
            held: 0,
            questions: BTreeMap::new(),
            next_question: 0,
            counts: Summary::default(),
        }
    }

    /// The next thing to do.
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// What it does and did.
    pub fn summary(&self) -> Summary {
        let bridges: BTreeSet<BridgeId> =
            self.remotes.values().flat_map(|remote| remote.announced_by.keys().copied()).collect();
        let skipped: u64 = self.streams.values().map(|incoming| incoming.stream.skipped()).sum();
        Summary {
            leads: self.leads,
            topics: self.keys.len(),
            announced: self.announced.len(),
            proxies: self.remotes.values().filter(|remote| remote.is_open).count(),
            bridges: bridges.len(),
            kept: self.kept,
            waiting: self.queues.waiting(),
            replaced: self.queues.dropped.replaced,
            dropped: self.queues.dropped.best_effort,
            lost: self.queues.dropped.lost,
            skipped: self.counts.skipped.saturating_add(skipped),
            ..self.counts
        }
    }

    /// Another bridge of the site works in its place, or none does any more.
    pub fn lead(&mut self, leads: bool) {
        self.is_dirty |= self.leads != leads;
        self.leads = leads;
    }

    /// A writer of the site was found, which is none of a bridge; or its QoS is another one.
    pub fn writer_found(&mut self, data: &EndpointData) {
        if let Some(line) = self.line_of.get(&data.guid).and_then(|line| self.lines.get(line)) {
            if line.is_of(data) {
                return;
            }
            self.writer_gone(data.guid);
        }
        if !self.options.wants(&data.topic_name) {
            return;
        }
        let Some(keys) = self.keys_of(data, "writer") else { return };
        let found = self.lines.iter().find(|(_, line)| line.is_of(data)).map(|(number, _)| *number);
        let number = match found {
            Some(number) => number,
            None => {
                if !self.take(&keys, &data.topic_name) {
                    return;
                }
                self.next_line += 1;
                let line = Line {
                    like: data.clone(),
                    keys,
                    writers: BTreeMap::new(),
                    is_open: false,
                    idle_since: None,
                };
                self.lines.insert(self.next_line, line);
                self.next_line
            }
        };
        if let Some(line) = self.lines.get_mut(&number) {
            line.writers.insert(data.guid, 0);
        }
        self.line_of.insert(data.guid, number);
        self.is_dirty = true;
    }

    /// A writer of the site is gone; what it had written was told before.
    pub fn writer_gone(&mut self, writer: Guid) {
        let Some(number) = self.line_of.remove(&writer) else { return };
        self.is_dirty = true;
        self.send_gone(number, writer);
        // If it comes again, it is announced anew.
        if let Some((_, token)) = self.announced.remove(&writer) {
            self.actions.push_back(Action::Withdraw(token));
        }
        let Some(line) = self.lines.get_mut(&number) else { return };
        line.writers.remove(&writer);
        if line.writers.is_empty()
            && let Some(line) = self.lines.remove(&number)
        {
            self.keys.give_back(&line.keys);
            if line.is_open {
                self.actions.push_back(Action::CloseReader(number));
            }
        }
    }

    /// A reader of the site was found, which is none of a bridge; or its QoS is another one.
    pub fn reader_found(&mut self, data: &EndpointData) {
        if self.readers.get(&data.guid).is_some_and(|known| known.data.qos == data.qos) {
            return;
        }
        self.reader_gone(data.guid);
        if !self.options.wants(&data.topic_name) {
            return;
        }
        let mut plain = data.clone();
        plain.qos.partition.retain(|name| !is_pattern(name));
        let has_pattern = plain.qos.partition.len() < data.qos.partition.len();
        let keys = if has_pattern && plain.qos.partition.is_empty() {
            Some(Vec::new())
        } else {
            self.keys_of(&plain, "reader")
        };
        let Some(keys) = keys else { return };
        if self.take(&keys, &data.topic_name) {
            self.readers.insert(data.guid, Local { data: data.clone(), keys, has_pattern });
            self.is_dirty = true;
        }
    }

    /// A reader of the site is gone.
    pub fn reader_gone(&mut self, reader: Guid) {
        if let Some(local) = self.readers.remove(&reader) {
            self.keys.give_back(&local.keys);
            self.is_dirty = true;
        }
    }

    /// A token is there, or is not any more. One that is none of a bridge means nothing.
    pub fn token(&mut self, token: &str, is_there: bool) {
        let Some((bridge, number, data)) = key::read_token(&self.options.scope, token) else {
            self.counts.refused += u64::from(is_there);
            return;
        };
        if bridge == self.id {
            return;
        }
        self.is_dirty = true;
        if !is_there {
            // It may be announced anew already.
            if let Some(remote) = self.remotes.get_mut(&data.guid)
                && remote.announced_by.get(&bridge) == Some(&number)
            {
                remote.announced_by.remove(&bridge);
            }
            return;
        }
        let guid = data.guid;
        if let Some(known) = self.remotes.get(&guid) {
            if known.is_newer(bridge, number) {
                return;
            }
            let is_anew = known.announced_by.get(&bridge) != Some(&number);
            if known.data != data || known.is_gone && is_anew {
                // The same writer with another QoS, or what says so; or it is there again.
                self.forget_remote(guid);
            }
        }
        if !self.remotes.contains_key(&guid) && !self.add_remote(data, (bridge, number)) {
            return;
        }
        if let Some(remote) = self.remotes.get_mut(&guid) {
            remote.announced_by.insert(bridge, number);
            remote.newest = (bridge, number);
        }
        self.ask_all(bridge);
    }

    /// Messages may have been lost on the way to this bridge, unseen: asks for what is missing.
    pub fn resume(&mut self) {
        let bridges: BTreeSet<BridgeId> = self.streams.keys().map(|(bridge, _)| *bridge).collect();
        for bridge in bridges {
            self.ask_all(bridge);
        }
    }

    fn add_remote(&mut self, data: EndpointData, newest: (BridgeId, u64)) -> bool {
        if !self.options.wants(&data.topic_name) {
            return false;
        }
        let Some(keys) = self.keys_of(&data, "writer") else { return false };
        let most = self.options.limits.writers;
        if self.remotes.len() >= most {
            self.warn(&data.topic_name, || {
                format!("more than {most} writers of other sites; others are not bridged, among them one of the topic {:?}", data.topic_name)
            });
            return false;
        }
        if !self.take(&keys, &data.topic_name) {
            return false;
        }
        self.next_proxy += 1;
        let remote = Remote {
            id: ProxyId(self.next_proxy),
            keys,
            announced_by: BTreeMap::new(),
            newest,
            is_open: false,
            last: 0,
            lost_since: None,
            is_gone: false,
            data,
        };
        self.remotes.insert(remote.data.guid, remote);
        true
    }

    fn forget_remote(&mut self, writer: Guid) {
        let Some(remote) = self.remotes.remove(&writer) else { return };
        self.keys.give_back(&remote.keys);
        if remote.is_open {
            self.actions.push_back(Action::CloseWriter(remote.id));
        }
        if is_durable(&remote.data) && !remote.is_gone {
            // If it comes again, it is to say again what it has said: the streams begin anew, and what came of others is known by its numbers.
            self.streams.retain(|(_, key), _| !remote.keys.contains(key));
            self.is_dirty = true;
        }
    }

    /// The keys of an endpoint; `None` if it has none, which is told.
    fn keys_of(&mut self, data: &EndpointData, role: &str) -> Option<Vec<String>> {
        match key::of_endpoint(&self.options.scope, data) {
            Ok(keys) => Some(keys),
            Err(why) => {
                let topic = &data.topic_name;
                self.warn(topic, || format!("a {role} of the topic {topic:?} is not bridged: {why}"));
                None
            }
        }
    }

    fn take(&mut self, keys: &[String], topic: &str) -> bool {
        if self.keys.take(keys) {
            return true;
        }
        let most = self.options.limits.topics;
        self.warn(topic, || {
            format!(
                "the topic {topic:?} is not bridged: {most} topics are in use, the most that are allowed; allow more with --topics, or fewer topics with --allow and --deny"
            )
        });
        false
    }

    fn warn(&mut self, about: &str, text: impl FnOnce() -> String) {
        if self.keys.is_news(about) {
            self.actions.push_back(Action::Warn(text()));
        }
    }
}

/// True for the name of a partition that means several.
fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
}
