//! Samples on their way to other sites, and messages on their way to this one.
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use wire::{Guid, SequenceNumber, Timestamp};

use super::{Bridge, Early, Question};
use crate::action::{Action, ProxyId};
use crate::attachment::{Attachment, AttachmentError, Kind};
use crate::cache::Message;
use crate::key::{self, BridgeId};
use crate::stream::{Head, KEPT};

/// Most bytes of messages that came before what announces their writers.
const MOST_EARLY: usize = 16 << 20;
/// Most bytes of messages that wait for others that are missing, of all streams.
const MOST_HELD: usize = 64 << 20;
/// Most messages of one answer, and most bytes if it has several.
const MOST_ANSWERS: usize = 2_048;
const MOST_ANSWER_BYTES: usize = 8 << 20;
/// Bytes beside the attachment that an empty sample has.
const NOTHING: [u8; 0] = [];

impl Bridge {
    /// The reader of a line has taken a sample, or the end of an instance. What `attachment` says of bridge and number is filled in here.
    pub fn taken(&mut self, line: u64, mut attachment: Attachment, payload: &[u8]) {
        let Some(of) = self.lines.get_mut(&line) else { return };
        // Readers of other lines get the samples of a writer too, if its QoS is more than they ask for.
        let Some(last) = of.writers.get_mut(&attachment.writer) else { return };
        if attachment.sequence.0 <= *last {
            return;
        }
        *last = attachment.sequence.0;
        attachment.bridge = self.id;
        let message = Message { attachment, payload: Arc::from(payload) };
        self.send(line, &message);
    }

    /// A writer of the site is gone, as it was announced.
    pub(super) fn send_gone(&mut self, line: u64, writer: Guid) {
        let Some(of) = self.lines.get(&line).filter(|of| of.is_open) else { return };
        let Some((number, _)) = self.announced.get(&writer) else { return };
        let payload = Arc::from(number.to_le_bytes());
        let attachment = Attachment {
            kind: Kind::WriterGone,
            bridge: self.id,
            number: 0,
            writer,
            sequence: SequenceNumber(of.writers.get(&writer).copied().unwrap_or_default()),
            source: Timestamp::from_nanos(0),
            hash: None,
            related: None,
        };
        self.send(line, &Message { attachment, payload });
    }

    fn send(&mut self, line: u64, message: &Message) {
        let Some(of) = self.lines.get(&line) else { return };
        let (keep, history) = (of.keep(&message.attachment), of.history());
        for key in of.keys.clone() {
            let cache = self.caches.entry(key.clone()).or_default();
            let before = cache.bytes();
            let message = cache.push(message.clone(), history);
            let (replaced, lost) = self.queues.push(&key, message, keep);
            // Nothing asks for what is not worth sending any more.
            replaced.into_iter().for_each(|number| cache.forget_one(number));
            self.kept = self.kept.saturating_sub(before).saturating_add(cache.bytes());
            self.make_room();
            if let Some(key) = lost {
                self.warn_of_lost(&key);
            }
        }
        self.go_on_sending();
    }

    fn warn_of_lost(&mut self, key: &str) {
        let most = self.options.limits.waiting;
        self.warn(&format!("lost of {key}"), || {
            format!("more than {most} bytes wait to be sent, most of them under the key {key:?}: its oldest are dropped, and other sites get those that are still kept; its connection is too slow for what is written")
        });
    }

    /// Sends what waits, of as many keys at a time as may be.
    fn go_on_sending(&mut self) {
        while let Some((key, messages, reliable)) = self.queues.next(self.now) {
            self.counts.sent = self.counts.sent.saturating_add(messages.len() as u64);
            self.actions.push_back(Action::Put { key, messages, reliable });
        }
    }

    /// The messages of an [`Action::Put`] have been taken by the connection, or have been lost with it. `now` is as for [`Bridge::settle`].
    pub fn sent(&mut self, key: &str, now: u64) {
        self.now = now.max(self.now);
        self.queues.sent(key, self.now);
        self.go_on_sending();
    }

    /// True while something waits to be sent, or is being sent.
    pub fn is_sending(&self) -> bool {
        self.queues.is_sending()
    }

    /// False while so much of a line waits to be sent that its reader should take no more: writers with KEEP_ALL wait then, and those with KEEP_LAST replace
    /// what they have. Best-effort writers are never held up.
    pub fn has_room(&self, line: u64) -> bool {
        let Some(of) = self.lines.get(&line) else { return true };
        !of.is_reliable() || !of.keys.iter().any(|key| self.queues.is_full(key))
    }

    /// Lets the oldest messages of the largest caches go until what is kept of all topics fits, some more of them at once, so that this is rare.
    fn make_room(&mut self) {
        let most = self.options.limits.bytes;
        while self.kept > most {
            let over = self.kept.saturating_sub(most);
            let largest = self.caches.iter_mut().max_by_key(|(_, cache)| cache.bytes());
            let Some((key, cache)) = largest else { return };
            let before = cache.bytes();
            let step = (most / 16).min(before / 4).max(over);
            let gone = cache.shrink(before.saturating_sub(step));
            let freed = before.saturating_sub(cache.bytes());
            if freed == 0 {
                return;
            }
            let key = key.clone();
            self.kept = self.kept.saturating_sub(freed);
            self.counts.let_go = self.counts.let_go.saturating_add(gone);
            self.warn(&format!("kept of {key}"), || {
                format!("more than {most} bytes of samples are to be kept, most of them of the key {key:?}: its oldest are let go, and late readers at other sites do not get them")
            });
        }
    }

    /// The answer to a question of another bridge: what is kept, in order, and at last up to where this is all and how much was sent. An answer that is
    /// too long ends early, and is asked for again from there on. Empty if nothing is known of the key.
    pub fn asked(&self, key: &str, from: u64) -> Vec<Message> {
        let Some(cache) = self.caches.get(key) else {
            let is_known = self.published.contains_key(key);
            return is_known.then(|| self.head(0, 0)).into_iter().collect();
        };
        // What waits still comes by itself.
        let sent = self
            .queues
            .first_waiting(key)
            .map_or(cache.last(), |number| number.saturating_sub(1))
            .min(cache.last());
        let is_sent = |message: &&Message| message.attachment.number <= sent;
        match from {
            KEPT => self.cut(cache.kept().take_while(is_sent), sent),
            _ => self.cut(cache.from(from).take_while(is_sent), sent),
        }
    }

    fn cut<'a>(&self, messages: impl Iterator<Item = &'a Message>, sent: u64) -> Vec<Message> {
        let (mut answer, mut bytes) = (Vec::new(), 0_usize);
        let mut covered = sent;
        for message in messages {
            bytes = bytes.saturating_add(message.cost());
            if let Some(before) = answer.last().map(|last: &Message| last.attachment.number)
                && (answer.len() >= MOST_ANSWERS || bytes > MOST_ANSWER_BYTES)
            {
                covered = before;
                break;
            }
            answer.push(message.clone());
        }
        answer.push(self.head(covered, sent));
        answer
    }

    /// What `zenoh-plugin-dds` gets that asks for what writers of a key have kept.
    pub fn asked_by_plugin(&self, key: &str) -> Vec<Message> {
        let samples = |message: &&Message| message.attachment.kind == Kind::Sample;
        self.caches.get(key).map_or_else(Vec::new, |cache| cache.kept().filter(samples).cloned().collect())
    }

    fn head(&self, covered: u64, sent: u64) -> Message {
        let attachment = Attachment {
            kind: Kind::Head,
            bridge: self.id,
            number: covered,
            writer: Guid::UNKNOWN,
            sequence: SequenceNumber(i64::try_from(sent).unwrap_or(i64::MAX)),
            source: Timestamp::from_nanos(0),
            hash: None,
            related: None,
        };
        Message { attachment, payload: Arc::from(NOTHING) }
    }

    /// Something came under a key that is subscribed, from a bridge or from any other program.
    pub fn message(&mut self, at: &str, attachment: Option<&[u8]>, payload: &[u8]) {
        let key = key::without_ends(at);
        if !self.subscribed.contains_key(key) {
            return;
        }
        let attachment = match attachment.map(Attachment::decode) {
            None | Some(Err(AttachmentError::Foreign)) if key == at => return self.foreign(key, payload),
            Some(Ok(attachment)) if attachment.kind != Kind::Head => attachment,
            _ => {
                self.counts.refused += 1;
                return;
            }
        };
        let key = String::from(key);
        self.receive(&key, Message { attachment, payload: Arc::from(payload) });
    }

    /// One of the answers to a question.
    pub fn answer(&mut self, question: u64, attachment: &[u8], payload: &[u8]) {
        let Some(asked) = self.questions.get_mut(&question) else { return };
        match Attachment::decode(attachment) {
            Ok(attachment) if attachment.bridge != asked.bridge => self.counts.refused += 1,
            Ok(attachment) if attachment.kind == Kind::Head => {
                let covered = attachment.number;
                let sent = u64::try_from(attachment.sequence.0).unwrap_or_default().max(covered);
                asked.head = Some(Head { covered, sent });
            }
            Ok(attachment) => {
                let key = asked.key.clone();
                let message = Message { attachment, payload: Arc::from(payload) };
                let incoming = self.streams.get_mut(&(attachment.bridge, key.clone()));
                let Some(incoming) = incoming.filter(|incoming| incoming.question == Some(question)) else {
                    // The stream has begun anew since, and asks for itself.
                    return self.receive(&key, message);
                };
                let (before, mut out) = (incoming.stream.held_bytes(), Vec::new());
                incoming.stream.answer(message, &mut out);
                incoming.failures = 0;
                self.held = self.held.saturating_sub(before).saturating_add(incoming.stream.held_bytes());
                self.deliver_all(&key, out);
            }
            Err(_) => self.counts.refused += 1,
        }
    }

    /// No more answers to a question come.
    pub fn answered(&mut self, question: u64) {
        let Some(Question { bridge, key, head }) = self.questions.remove(&question) else { return };
        let incoming = self.streams.get_mut(&(bridge, key.clone()));
        let Some(incoming) = incoming.filter(|incoming| incoming.question == Some(question)) else { return };
        incoming.question = None;
        let (before, mut out) = (incoming.stream.held_bytes(), Vec::new());
        let again = incoming.stream.answered(head, &mut out);
        if head.is_some() {
            incoming.failures = 0;
        }
        self.held = self.held.saturating_sub(before).saturating_add(incoming.stream.held_bytes());
        self.deliver_all(&key, out);
        match again {
            Some(from) => self.question(bridge, &key, from),
            None if head.is_none() => self.failed(bridge, &key),
            None => {}
        }
    }

    pub(super) fn question(&mut self, bridge: BridgeId, key: &str, from: u64) {
        self.next_question += 1;
        let question = self.next_question;
        if let Some(incoming) = self.streams.get_mut(&(bridge, key.into())) {
            incoming.question = Some(question);
        }
        self.questions.insert(question, Question { bridge, key: key.into(), head: None });
        self.actions.push_back(Action::Ask { question, bridge, key: key.into(), from });
    }

    fn receive(&mut self, key: &str, message: Message) {
        let bridge = message.attachment.bridge;
        let Some(incoming) = self.streams.get_mut(&(bridge, key.into())) else {
            // Of this bridge itself, or of one that announces no writer of this key, or not yet.
            if bridge != self.id {
                self.keep_early(key, message, false);
            }
            return;
        };
        let (before, mut out) = (incoming.stream.held_bytes(), Vec::new());
        incoming.stream.set_room(MOST_HELD.saturating_sub(self.held));
        let missing = incoming.stream.receive(message, &mut out);
        self.held = self.held.saturating_sub(before).saturating_add(incoming.stream.held_bytes());
        self.deliver_all(key, out);
        if let Some(from) = missing {
            self.question(bridge, key, from);
        }
    }

    pub(super) fn deliver_all(&mut self, key: &str, messages: Vec<Message>) {
        for message in messages {
            self.deliver(key, message);
        }
    }

    /// It is the turn of this message in its stream.
    fn deliver(&mut self, key: &str, message: Message) {
        let Attachment { kind, bridge, writer, sequence, .. } = message.attachment;
        let Some(remote) =
            self.remotes.get_mut(&writer).filter(|remote| remote.keys.iter().any(|of| of == key))
        else {
            // Its announcement may be on its way.
            if kind != Kind::WriterGone {
                self.keep_early(key, message, true);
            }
            return;
        };
        if kind == Kind::WriterGone {
            let Ok(number) = <[u8; 8]>::try_from(&message.payload[..]).map(u64::from_le_bytes) else {
                self.counts.refused += 1;
                return;
            };
            // Only who announces it can say so. Announcements are faster than messages: it may be there again.
            let is_of = remote.announced_by.is_empty() || remote.announced_by.contains_key(&bridge);
            if is_of && !remote.is_newer(bridge, number) {
                remote.is_gone = true;
                self.is_dirty = true;
            }
            return;
        }
        if !remote.is_open {
            if remote.is_gone {
                self.counts.refused += 1;
            } else if !self.line_of.contains_key(&writer) {
                self.keep_early(key, message, true);
            }
            return;
        }
        if sequence.0 <= remote.last {
            self.counts.doubles += 1;
            return;
        }
        remote.last = sequence.0;
        self.counts.delivered += 1;
        if kind != Kind::Unregistered {
            let proxy = remote.id;
            self.actions.push_back(Action::Write { proxy, message });
            return;
        }
        // The reader at the other site tells it once all writers have unregistered the instance.
        let all: Vec<ProxyId> = self
            .remotes
            .values()
            .filter(|other| other.is_open && other.keys.iter().any(|of| of == key))
            .filter(|other| other.announced_by.contains_key(&bridge) || other.data.guid == writer)
            .map(|other| other.id)
            .collect();
        for proxy in all {
            self.actions.push_back(Action::Write { proxy, message: message.clone() });
        }
    }

    /// Keeps a message that came before what announces its writer.
    fn keep_early(&mut self, key: &str, message: Message, is_ordered: bool) {
        let most = self.options.limits.early;
        self.early_bytes = self.early_bytes.saturating_add(message.cost());
        while self.early.len() >= most.max(1) || self.early_bytes > MOST_EARLY {
            let Some(oldest) = self.early.pop_front() else { break };
            self.early_bytes = self.early_bytes.saturating_sub(oldest.message.cost());
            self.counts.refused += 1;
        }
        self.early.push_back(Early { since: self.now, key: key.into(), message, is_ordered });
    }

    /// Goes on with messages that came too early, as far as it is their turn now.
    pub(super) fn go_on_with_early(&mut self) {
        let (now, lease) = (self.now, self.options.limits.lease);
        self.early_bytes = 0;
        for early in core::mem::take(&mut self.early) {
            let Early { since, key, message, is_ordered } = early;
            let Attachment { bridge, writer, .. } = message.attachment;
            let has_turn = match is_ordered {
                true => self.remotes.get(&writer).is_some_and(|remote| remote.is_open),
                false => self.streams.contains_key(&(bridge, key.clone())),
            };
            match (has_turn, is_ordered) {
                (true, true) => self.deliver(&key, message),
                (true, false) => self.receive(&key, message),
                (false, _) if now.saturating_sub(since) >= lease || !self.subscribed.contains_key(&key) => {
                    self.counts.refused += 1;
                }
                (false, _) => {
                    self.early_bytes = self.early_bytes.saturating_add(message.cost());
                    self.early.push_back(Early { since, key, message, is_ordered });
                }
            }
        }
    }

    /// A sample of a program that is no bridge like this one: `zenoh-plugin-dds`, or any that uses Zenoh.
    fn foreign(&mut self, key: &str, payload: &[u8]) {
        let proxy = match self.foreign.get(key) {
            Some(proxy) => *proxy,
            None => {
                let mut readers = self.readers.values().filter(|local| local.keys.iter().any(|of| of == key));
                let Some(reader) = readers.next() else { return };
                let mut like = reader.data.clone();
                // Readers that ask for more than this one would not be matched.
                like.qos.reliability = wire::qos::Reliability::RELIABLE;
                for other in readers {
                    like.qos.durability = like.qos.durability.max(other.data.qos.durability);
                }
                self.next_proxy += 1;
                let proxy = ProxyId(self.next_proxy);
                self.foreign.insert(key.into(), proxy);
                self.actions.push_back(Action::OpenWriter { proxy, like, bridge: None });
                proxy
            }
        };
        let attachment = Attachment {
            kind: Kind::Sample,
            bridge: self.id,
            number: 0,
            writer: Guid::UNKNOWN,
            sequence: SequenceNumber(0),
            source: Timestamp::from_nanos(0),
            hash: None,
            related: None,
        };
        self.counts.delivered += 1;
        self.actions
            .push_back(Action::Write { proxy, message: Message { attachment, payload: Arc::from(payload) } });
    }
}
