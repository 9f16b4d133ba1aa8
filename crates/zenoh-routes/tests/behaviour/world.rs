//! Sites, their writers and readers, and a network of Zenoh between bridges, as simple as they can be: the judge. It knows bridges only by what
//! they are told and want done.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use testkit::random::Random;
use wire::discovery::EndpointData;
use wire::qos::{Durability, EndpointQos, History, Reliability};
use wire::{EntityId, EntityKind, Guid, GuidPrefix, SequenceNumber, Timestamp};
use zenoh_routes::election::{Election, Standing};
use zenoh_routes::{Action, Attachment, Bridge, BridgeId, Kind, Message, Options, ProxyId};

/// What became of an instance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Event {
    pub(crate) writer: Guid,
    pub(crate) sequence: i64,
    pub(crate) kind: Kind,
    pub(crate) instance: u8,
    pub(crate) source: i64,
}

/// What a reader got, with the writer in its domain that it came from, which is another one each time a bridge makes it anew.
pub(crate) type Log = Vec<(u64, Event)>;

pub(crate) struct Writer {
    pub(crate) data: EndpointData,
    pub(crate) history: Vec<Event>,
}

pub(crate) struct Reader {
    pub(crate) data: EndpointData,
    pub(crate) log: Log,
}

/// A bridge that runs, and what it has open.
struct Running {
    bridge: Bridge,
    id: BridgeId,
    election: Election,
    is_linked: bool,
    /// Something that came was dropped.
    has_lost: bool,
    /// Tokens of others that it was told of.
    seen: BTreeSet<String>,
    tokens: BTreeSet<String>,
    published: BTreeMap<String, bool>,
    subscribed: BTreeSet<String>,
    sending: BTreeSet<String>,
    /// Lines with the last number of each writer that was handed over.
    lines: BTreeMap<u64, (EndpointData, BTreeMap<Guid, i64>)>,
    proxies: BTreeMap<ProxyId, (u64, EndpointData, Vec<Event>)>,
}

pub(crate) struct Site {
    pub(crate) writers: Vec<Writer>,
    pub(crate) readers: Vec<Reader>,
    bridges: Vec<Option<Running>>,
    /// What bridges of the site have told each other last.
    told: BTreeMap<BridgeId, Standing>,
}

/// On its way from one bridge to another.
enum Packet {
    Token(String, bool),
    Matching(String, bool),
    Put(String, Message),
    /// The connection of the sender has taken what was sent under this key.
    Sent(String),
    Answer(u64, Message),
    AnswerEnd(u64),
    Question {
        question: u64,
        key: String,
        from: u64,
    },
}

pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) sites: Vec<Site>,
    /// Under way, in order for each pair of bridges and each key.
    wire: BTreeMap<(BridgeId, BridgeId, String), VecDeque<Packet>>,
    /// What a bridge gets is lost now and then, as where its queue is full; it knows that something was.
    pub(crate) loses: bool,
    now: u64,
    next: u64,
    pub(crate) options: Options,
    pub(crate) warnings: Vec<String>,
}

impl World {
    pub(crate) fn new(seed: u64, sites: usize, bridges: usize, options: Options) -> Self {
        let site = |_| Site {
            writers: Vec::new(),
            readers: Vec::new(),
            bridges: (0..bridges).map(|_| None).collect(),
            told: BTreeMap::new(),
        };
        Self {
            random: Random::of_case(seed, 48),
            sites: (0..sites).map(site).collect(),
            wire: BTreeMap::new(),
            loses: false,
            now: 0,
            next: 0,
            options,
            warnings: Vec::new(),
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn guid(&mut self, kind: EntityKind) -> Guid {
        let number = self.number();
        let mut prefix = [0; 12];
        prefix[..8].copy_from_slice(&number.to_be_bytes());
        Guid::new(GuidPrefix(prefix), EntityId::user(1, kind))
    }

    pub(crate) fn add_writer(
        &mut self,
        site: usize,
        topic: &str,
        change: impl FnOnce(&mut EndpointQos),
    ) -> Guid {
        let guid = self.guid(EntityKind::WriterWithKey);
        let mut qos = EndpointQos::writer();
        qos.history = History::KeepAll;
        change(&mut qos);
        let data = EndpointData::new(guid, topic.into(), "T".into(), qos);
        self.sites[site].writers.push(Writer { data, history: Vec::new() });
        guid
    }

    pub(crate) fn add_reader(&mut self, site: usize, topic: &str, durability: Durability) {
        let guid = self.guid(EntityKind::ReaderWithKey);
        let mut qos = EndpointQos::reader();
        qos.reliability = Reliability::RELIABLE;
        qos.durability = durability;
        let data = EndpointData::new(guid, topic.into(), "T".into(), qos);
        let mut log = Vec::new();
        if durability >= Durability::TransientLocal {
            for running in self.sites[site].bridges.iter().flatten() {
                for (number, like, kept) in running.proxies.values() {
                    if like.topic_name == topic && like.qos.durability >= durability {
                        log.extend(kept.iter().map(|event| (*number, *event)));
                    }
                }
            }
        }
        self.sites[site].readers.push(Reader { data, log });
    }

    pub(crate) fn remove_reader(&mut self, site: usize, at: usize) {
        self.sites[site].readers.remove(at);
    }

    /// A writer of a site writes, disposes or unregisters.
    pub(crate) fn write(&mut self, site: usize, at: usize, kind: Kind, instance: u8) -> Event {
        self.now += 1;
        let writer = &mut self.sites[site].writers[at];
        let sequence = writer.history.last().map_or(1, |last| last.sequence + 1);
        let source = i64::try_from(self.now).unwrap() * 1_000;
        let event = Event { writer: writer.data.guid, sequence, kind, instance, source };
        writer.history.push(event);
        event
    }

    pub(crate) fn start(&mut self, site: usize, place: usize) {
        if self.sites[site].bridges[place].is_some() {
            return;
        }
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.number().to_be_bytes());
        let id = BridgeId(id);
        let running = Running {
            bridge: Bridge::new(id, self.options.clone()),
            id,
            election: Election::new(id),
            is_linked: false,
            has_lost: false,
            seen: BTreeSet::new(),
            tokens: BTreeSet::new(),
            published: BTreeMap::new(),
            subscribed: BTreeSet::new(),
            sending: BTreeSet::new(),
            lines: BTreeMap::new(),
            proxies: BTreeMap::new(),
        };
        self.sites[site].bridges[place] = Some(running);
        self.link(site, place);
    }

    pub(crate) fn kill(&mut self, site: usize, place: usize) {
        self.cut(site, place);
        if let Some(running) = self.sites[site].bridges[place].take() {
            self.sites[site].told.remove(&running.id);
        }
    }

    fn running(&mut self) -> impl Iterator<Item = &mut Running> {
        self.sites.iter_mut().flat_map(|site| site.bridges.iter_mut().flatten())
    }

    fn find(&mut self, id: BridgeId) -> Option<&mut Running> {
        self.running().find(|running| running.id == id)
    }

    fn linked(&self) -> Vec<BridgeId> {
        let all = self.sites.iter().flat_map(|site| site.bridges.iter().flatten());
        all.filter(|running| running.is_linked).map(|running| running.id).collect()
    }

    /// The session of a bridge is lost: whatever is under way is lost too.
    pub(crate) fn cut(&mut self, site: usize, place: usize) {
        let Some(running) = &mut self.sites[site].bridges[place] else { return };
        if !running.is_linked {
            return;
        }
        running.is_linked = false;
        let (id, tokens) = (running.id, running.tokens.clone());
        let questions: Vec<((BridgeId, BridgeId, String), u64)> = self
            .wire
            .iter()
            .filter(|((from, to, _), _)| *from == id || *to == id)
            .flat_map(|(way, packets)| packets.iter().map(move |packet| (way.clone(), packet)))
            .filter_map(|((from, to, key), packet)| match packet {
                Packet::Question { question, .. } => Some(((to, from, key), *question)),
                Packet::AnswerEnd(question) => Some(((from, to, key), *question)),
                _ => None,
            })
            .collect();
        self.wire.retain(|(from, to, _), _| *from != id && *to != id);
        // What was being sent is lost with the connection.
        let now = self.now;
        let running = self.sites[site].bridges[place].as_mut().unwrap();
        for key in std::mem::take(&mut running.sending) {
            running.bridge.sent(&key, now);
        }
        self.act(site, place);
        for (_, asks, question) in
            questions.into_iter().map(|((from, asks, _), question)| (from, asks, question))
        {
            // Zenoh ends a question that nothing answers.
            if let Some(running) = self.find(asks) {
                running.bridge.answered(question);
            }
        }
        let others: Vec<BridgeId> = self.linked();
        for other in others {
            for token in &tokens {
                self.post(id, other, "", Packet::Token(token.clone(), false));
            }
        }
        let running = self.sites[site].bridges[place].as_mut().unwrap();
        for token in std::mem::take(&mut running.seen) {
            running.bridge.token(&token, false);
        }
        self.match_all();
    }

    pub(crate) fn link(&mut self, site: usize, place: usize) {
        let Some(running) = &mut self.sites[site].bridges[place] else { return };
        if running.is_linked {
            return;
        }
        running.is_linked = true;
        let (id, tokens) = (running.id, running.tokens.clone());
        for other in self.linked().into_iter().filter(|other| *other != id) {
            for token in &tokens {
                self.post(id, other, "", Packet::Token(token.clone(), true));
            }
            let theirs = self.find(other).map(|running| running.tokens.clone()).unwrap_or_default();
            for token in theirs {
                self.post(other, id, "", Packet::Token(token, true));
            }
        }
        self.match_all();
    }

    fn post(&mut self, from: BridgeId, to: BridgeId, key: &str, packet: Packet) {
        self.wire.entry((from, to, key.into())).or_default().push_back(packet);
    }

    /// Tells each publisher whether something subscribes; behind what was sent before.
    fn match_all(&mut self) {
        let linked = self.linked();
        let mut changed = Vec::new();
        for id in self
            .sites
            .iter()
            .flat_map(|site| site.bridges.iter().flatten())
            .map(|running| running.id)
            .collect::<Vec<_>>()
        {
            let subscribed: BTreeSet<String> = match linked.contains(&id) {
                true => self
                    .sites
                    .iter()
                    .flat_map(|site| site.bridges.iter().flatten())
                    .filter(|other| other.is_linked && other.id != id)
                    .flat_map(|other| other.subscribed.iter().cloned())
                    .collect(),
                false => BTreeSet::new(),
            };
            let running = self.find(id).unwrap();
            for (key, matched) in &mut running.published {
                if *matched != subscribed.contains(key) {
                    *matched = !*matched;
                    changed.push((id, key.clone(), *matched));
                }
            }
        }
        for (id, key, matched) in changed {
            self.post(id, id, &key.clone(), Packet::Matching(key, matched));
        }
    }

    /// One round: bridges look at their domains, and do what follows.
    pub(crate) fn look(&mut self) {
        for site in 0..self.sites.len() {
            for place in 0..self.sites[site].bridges.len() {
                let Site { writers, readers, bridges, told } = &mut self.sites[site];
                let Some(running) = &mut bridges[place] else { continue };
                let others = told.values().copied().filter(|other| other.id != running.id);
                let leads = running.election.look(self.now, u32::from(running.is_linked), others);
                running.bridge.lead(leads);
                for writer in writers.iter() {
                    running.bridge.writer_found(&writer.data);
                }
                for reader in readers.iter() {
                    running.bridge.reader_found(&reader.data);
                }
                if !self.loses && std::mem::take(&mut running.has_lost) {
                    running.bridge.resume();
                }
                running.bridge.settle(self.now);
                self.act(site, place);
                self.take(site, place);
                self.act(site, place);
                // What it tells others comes now or at a later look.
                if self.random.chance(70) {
                    let Site { bridges, told, .. } = &mut self.sites[site];
                    told.extend(
                        bridges[place].as_ref().map(|running| (running.id, running.election.standing())),
                    );
                }
            }
        }
    }

    /// The places of the bridges of a site that work.
    pub(crate) fn workers(&self, site: usize) -> Vec<usize> {
        let all = self.sites[site].bridges.iter().enumerate();
        all.filter(|(_, running)| running.as_ref().is_some_and(|running| running.bridge.summary().leads))
            .map(|(place, _)| place)
            .collect()
    }

    pub(crate) fn reader_gone(&mut self, site: usize, guid: Guid) {
        for running in self.sites[site].bridges.iter_mut().flatten() {
            running.bridge.reader_gone(guid);
        }
    }

    pub(crate) fn writer_gone(&mut self, site: usize, at: usize) -> Writer {
        self.look();
        let writer = self.sites[site].writers.remove(at);
        for running in self.sites[site].bridges.iter_mut().flatten() {
            running.bridge.writer_gone(writer.data.guid);
        }
        writer
    }

    /// A writer has another QoS.
    pub(crate) fn change_qos(&mut self, site: usize, at: usize) {
        self.look();
        let number = self.number();
        self.sites[site].writers[at].data.qos.user_data = number.to_be_bytes().to_vec();
        self.look();
    }

    /// The participant of a writer is lost and found again, as it was.
    pub(crate) fn lose_and_find(&mut self, site: usize, at: usize) {
        self.look();
        let guid = self.sites[site].writers[at].data.guid;
        for running in self.sites[site].bridges.iter_mut().flatten() {
            running.bridge.writer_gone(guid);
        }
        self.look();
    }

    /// Hands what writers of the site have written to the readers of a bridge.
    fn take(&mut self, site: usize, place: usize) {
        let Site { writers, bridges, .. } = &mut self.sites[site];
        let Some(running) = &mut bridges[place] else { return };
        for (line, (like, marks)) in &mut running.lines {
            if !running.bridge.has_room(*line) {
                continue;
            }
            for writer in writers.iter().filter(|writer| writer.data.topic_name == like.topic_name) {
                let mark = marks.entry(writer.data.guid).or_insert(0);
                for event in writer.history.iter().filter(|event| event.sequence > *mark) {
                    let attachment = Attachment {
                        kind: event.kind,
                        bridge: BridgeId([0; 16]),
                        number: 0,
                        writer: event.writer,
                        sequence: SequenceNumber(event.sequence),
                        source: Timestamp::from_nanos(event.source),
                        hash: Some([event.instance; 16]),
                        related: None,
                    };
                    running.bridge.taken(*line, attachment, &[event.instance]);
                }
                *mark = writer.history.last().map_or(*mark, |last| last.sequence);
            }
        }
    }

    fn act(&mut self, site: usize, place: usize) {
        loop {
            let Some(running) = &mut self.sites[site].bridges[place] else { return };
            let Some(action) = running.bridge.next_action() else { return };
            let id = running.id;
            let linked = running.is_linked;
            let others: Vec<BridgeId> =
                self.linked().into_iter().filter(|other| linked && *other != id).collect();
            let running = self.sites[site].bridges[place].as_mut().unwrap();
            match action {
                Action::Announce(token) => {
                    assert!(running.tokens.insert(token.clone()), "announced twice");
                    others.iter().for_each(|to| self.post(id, *to, "", Packet::Token(token.clone(), true)));
                }
                Action::Withdraw(token) => {
                    assert!(running.tokens.remove(&token), "withdrawn, and never announced");
                    others.iter().for_each(|to| self.post(id, *to, "", Packet::Token(token.clone(), false)));
                }
                Action::Declare { key, .. } => {
                    assert!(running.published.insert(key, false).is_none(), "declared twice");
                    self.match_all();
                }
                Action::Undeclare(key) => assert!(running.published.remove(&key).is_some()),
                Action::Subscribe(key) => {
                    assert!(running.subscribed.insert(key), "subscribed twice");
                    self.match_all();
                }
                Action::Unsubscribe(key) => {
                    assert!(running.subscribed.remove(&key));
                    self.match_all();
                }
                Action::OpenReader { line, like } => {
                    let durable = like.qos.durability >= Durability::TransientLocal;
                    let writers = &self.sites[site].writers;
                    let mark = |writer: &Writer| writer.history.last().map_or(0, |last| last.sequence);
                    let marks = writers
                        .iter()
                        .filter(|_| !durable)
                        .map(|writer| (writer.data.guid, mark(writer)))
                        .collect();
                    let running = self.sites[site].bridges[place].as_mut().unwrap();
                    assert!(running.lines.insert(line, (like, marks)).is_none(), "opened twice");
                }
                Action::CloseReader(line) => assert!(running.lines.remove(&line).is_some()),
                Action::OpenWriter { proxy, like, .. } => {
                    let number = self.number();
                    let running = self.sites[site].bridges[place].as_mut().unwrap();
                    assert!(running.proxies.insert(proxy, (number, like, Vec::new())).is_none());
                }
                Action::CloseWriter(proxy) => assert!(running.proxies.remove(&proxy).is_some()),
                Action::Put { key, messages, .. } => {
                    assert!(running.sending.insert(key.clone()), "{key} is being sent already");
                    let all: Vec<BridgeId> = others
                        .into_iter()
                        .filter(|to| self.find(*to).is_some_and(|other| other.subscribed.contains(&key)))
                        .collect();
                    for message in messages {
                        let end = if message.attachment.kind == Kind::Sample { "" } else { "/@punctual_end" };
                        let at = format!("{key}{end}");
                        for to in &all {
                            if self.loses && self.random.chance(10) {
                                self.find(*to).unwrap().has_lost = true;
                            } else {
                                self.post(id, *to, &at, Packet::Put(at.clone(), message.clone()));
                            }
                            if self.random.chance(2) {
                                self.post(id, *to, &at, Packet::Put(at.clone(), message.clone()));
                            }
                        }
                    }
                    // The connection takes it whenever it does.
                    self.post(id, id, &format!("sent {key}"), Packet::Sent(key));
                }
                Action::Ask { question, bridge, key, from } => {
                    if others.contains(&bridge) {
                        self.post(id, bridge, "ask", Packet::Question { question, key, from });
                    } else {
                        running.bridge.answered(question);
                    }
                }
                Action::AskPlugins(_) => {}
                Action::Warn(text) => self.warnings.push(text),
                Action::Write { proxy, message } => self.deliver(site, place, proxy, &message),
            }
        }
    }

    /// A writer of a bridge writes to the readers of its site.
    fn deliver(&mut self, site: usize, place: usize, proxy: ProxyId, message: &Message) {
        let Site { bridges, readers, .. } = &mut self.sites[site];
        let running = bridges[place].as_mut().unwrap();
        let (number, like, kept) = running.proxies.get_mut(&proxy).expect("a writer that is open");
        let Attachment { kind, writer, sequence, source, hash, .. } = message.attachment;
        let instance = hash.unwrap()[0];
        assert_eq!(&message.payload[..], [instance]);
        let event = Event { writer, sequence: sequence.0, kind, instance, source: source.as_nanos() };
        // Every writer of the bridge unregisters what all writers of the other site have unregistered; that of the last of them tells it here.
        if like.guid != writer {
            assert_eq!(kind, Kind::Unregistered);
            return;
        }
        kept.push(event);
        for reader in readers.iter_mut().filter(|reader| reader.data.topic_name == like.topic_name) {
            if reader.data.qos.durability <= like.qos.durability {
                reader.log.push((*number, event));
            }
        }
    }

    /// Something that is under way arrives, and its bridge does what follows.
    pub(crate) fn arrive(&mut self) -> bool {
        let Some(to) = self.hand_over() else { return false };
        if let Some((site, place)) = self.place(to) {
            self.sites[site].bridges[place].as_mut().unwrap().bridge.settle(self.now);
            self.act(site, place);
        }
        true
    }

    /// Something that is under way arrives; at which bridge.
    fn hand_over(&mut self) -> Option<BridgeId> {
        self.now += 1;
        let at = self.random.below(self.wire.len().max(1));
        let way = self.wire.keys().nth(at)?.clone();
        let (from, to, _) = way;
        let packets = self.wire.get_mut(&way)?;
        let packet = packets.pop_front()?;
        if packets.is_empty() {
            self.wire.remove(&way);
        }
        let Some((site, place)) = self.place(to) else { return Some(to) };
        let running = self.sites[site].bridges[place].as_mut().unwrap();
        match packet {
            Packet::Token(token, is_there) => {
                match is_there {
                    true => running.seen.insert(token.clone()),
                    false => running.seen.remove(&token),
                };
                running.bridge.token(&token, is_there);
            }
            Packet::Matching(key, matched) => running.bridge.matching(&key, matched),
            Packet::Put(key, message) => {
                running.bridge.message(&key, Some(&message.attachment.encode()), &message.payload);
            }
            Packet::Answer(question, message) => {
                running.bridge.answer(question, &message.attachment.encode(), &message.payload);
            }
            Packet::AnswerEnd(question) => running.bridge.answered(question),
            Packet::Sent(key) => {
                assert!(running.sending.remove(&key));
                running.bridge.sent(&key, self.now);
                self.act(site, place);
            }
            Packet::Question { question, key, from: number } => {
                for message in running.bridge.asked(&key, number) {
                    self.post(to, from, "answer", Packet::Answer(question, message));
                }
                self.post(to, from, "answer", Packet::AnswerEnd(question));
            }
        }
        Some(to)
    }

    fn place(&self, id: BridgeId) -> Option<(usize, usize)> {
        self.sites.iter().enumerate().find_map(|(at, site)| {
            let place = site
                .bridges
                .iter()
                .position(|running| running.as_ref().is_some_and(|running| running.id == id));
            place.map(|place| (at, place))
        })
    }

    /// All bridges run and are linked, and nothing is under way any more.
    pub(crate) fn quiet(&mut self) {
        self.loses = false;
        for site in 0..self.sites.len() {
            for place in 0..self.sites[site].bridges.len() {
                self.start(site, place);
                self.link(site, place);
            }
        }
        for _ in 0..30 {
            self.look();
            // What follows from all of it is done at the next look.
            while self.hand_over().is_some() {}
            // Questions that had no answer are asked again.
            self.now += 1_000;
        }
    }

    pub(crate) const fn now(&self) -> u64 {
        self.now
    }

    pub(crate) fn pass(&mut self, milliseconds: u64) {
        self.now += milliseconds;
    }
}
