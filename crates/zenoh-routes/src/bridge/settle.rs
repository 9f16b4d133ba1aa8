//! What there should be, compared with what there is.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use rtps::discovery::compare;
use wire::Guid;

use super::{Bridge, Incoming};
use crate::action::Action;
use crate::key::{self, BridgeId};
use crate::lines::is_durable;
use crate::stream::Stream;

/// How long is waited before a question without answer is asked again, in milliseconds, and how often.
const AGAIN: u64 = 1_000;
const MOST_FAILURES: u32 = 10;

impl Bridge {
    /// Does what follows from all that was told since the last time. `now` is in milliseconds, of a clock that never goes back.
    pub fn settle(&mut self, now: u64) {
        self.now = now.max(self.now);
        self.end_leases();
        if core::mem::take(&mut self.is_dirty) {
            self.settle_publishers();
            self.settle_tokens();
            self.settle_proxies();
            self.settle_subscriptions();
            self.settle_streams();
            self.go_on_with_early();
        }
        self.settle_readers();
        self.ask_again();
    }

    /// Something at other sites subscribes to a key of this bridge, or nothing does any more.
    pub fn matching(&mut self, key: &str, is_matched: bool) {
        if let Some((_, matched)) = self.published.get_mut(key) {
            *matched = is_matched;
        }
    }

    /// Publishers and what they keep, for keys of all lines.
    fn settle_publishers(&mut self) {
        let mut wanted: BTreeMap<&str, bool> = BTreeMap::new();
        for line in self.lines.values().filter(|_| self.leads) {
            for key in &line.keys {
                *wanted.entry(key).or_default() |= line.is_durable();
            }
        }
        let is_wanted = |key: &str, durable: bool| wanted.get(key).is_some_and(|wanted| *wanted == durable);
        let old: Vec<String> = self
            .published
            .iter()
            .filter(|(key, (durable, _))| !is_wanted(key, *durable))
            .map(|(key, _)| key.clone())
            .collect();
        for key in &old {
            self.published.remove(key);
            self.actions.push_back(Action::Undeclare(key.clone()));
        }
        for (key, durable) in wanted {
            if !self.published.contains_key(key) {
                self.published.insert(key.into(), (durable, false));
                self.actions.push_back(Action::Declare { key: key.into(), durable });
            }
        }
        // The numbers under a key go on as long as this bridge runs, but nothing else is kept.
        for key in old.iter().filter(|key| !self.published.contains_key(*key)) {
            if let Some(cache) = self.caches.get_mut(key) {
                self.kept = self.kept.saturating_sub(cache.bytes());
                cache.clear();
            }
        }
    }

    /// Announcements of the writers of all lines.
    fn settle_tokens(&mut self) {
        let wanted: BTreeMap<Guid, u64> =
            self.line_of.iter().filter(|_| self.leads).map(|(writer, line)| (*writer, *line)).collect();
        let old: Vec<Guid> =
            self.announced.keys().filter(|writer| !wanted.contains_key(*writer)).copied().collect();
        for writer in old {
            if let Some((_, token)) = self.announced.remove(&writer) {
                self.actions.push_back(Action::Withdraw(token));
            }
        }
        for (writer, line) in wanted {
            // What is announced of a writer is different only if it came anew.
            if self.announced.contains_key(&writer) {
                continue;
            }
            let Some(line) = self.lines.get(&line) else { continue };
            let mut data = line.like.clone();
            (data.guid, data.participant) = (writer, writer.prefix);
            let number = self.announcements.saturating_add(1);
            let Some(token) = key::token(self.id, &self.options.scope, number, &data) else {
                let topic = data.topic_name;
                self.warn(&topic, || {
                    alloc::format!("a writer of the topic {topic:?} is not bridged: its QoS has too many bytes to be announced")
                });
                continue;
            };
            self.announcements = number;
            self.actions.push_back(Action::Announce(token.clone()));
            self.announced.insert(writer, (number, token));
        }
    }

    /// Writers that stand for those of other sites.
    fn settle_proxies(&mut self) {
        for remote in self.remotes.values_mut() {
            if !remote.announced_by.is_empty() {
                remote.lost_since = None;
            } else if remote.lost_since.is_none() {
                remote.lost_since = Some(self.now);
            }
            // A writer that is in this domain anyway needs none to stand for it.
            let wanted = self.leads && !remote.is_gone && !self.line_of.contains_key(&remote.data.guid);
            if wanted == remote.is_open {
                continue;
            }
            remote.is_open = wanted;
            self.actions.push_back(match wanted {
                true => Action::OpenWriter {
                    proxy: remote.id,
                    like: remote.data.clone(),
                    bridge: Some(remote.newest.0),
                },
                false => Action::CloseWriter(remote.id),
            });
        }
    }

    /// Keys that readers of the site read.
    fn settle_subscriptions(&mut self) {
        let mut wanted: BTreeMap<String, bool> = BTreeMap::new();
        for local in self.readers.values().filter(|_| self.leads) {
            let durable = is_durable(&local.data);
            for key in &local.keys {
                *wanted.entry(key.clone()).or_default() |= durable;
            }
            if !local.has_pattern {
                continue;
            }
            for remote in self.remotes.values().filter(|remote| remote.is_open) {
                if compare(&remote.data, &local.data).is_ok() {
                    for key in &remote.keys {
                        *wanted.entry(key.clone()).or_default() |= durable;
                    }
                }
            }
        }
        let old: Vec<String> =
            self.subscribed.keys().filter(|key| !wanted.contains_key(*key)).cloned().collect();
        for key in old {
            self.subscribed.remove(&key);
            if let Some(proxy) = self.foreign.remove(&key) {
                self.actions.push_back(Action::CloseWriter(proxy));
            }
            self.actions.push_back(Action::Unsubscribe(key));
        }
        for (key, durable) in wanted {
            match self.subscribed.get_mut(&key) {
                Some(known) if *known || !durable => {}
                // What writers have kept is wanted from now on: the streams begin anew, and what came before is known by its numbers.
                Some(known) => {
                    *known = true;
                    self.streams.retain(|(_, of), _| *of != key);
                    self.actions.push_back(Action::AskPlugins(key));
                }
                None => {
                    self.actions.push_back(Action::Subscribe(key.clone()));
                    if durable {
                        self.actions.push_back(Action::AskPlugins(key.clone()));
                    }
                    self.subscribed.insert(key, durable);
                }
            }
        }
    }

    /// One stream for each bridge that announces writers of a key that is subscribed.
    fn settle_streams(&mut self) {
        let mut wanted: BTreeMap<(BridgeId, &str), (bool, bool)> = BTreeMap::new();
        for remote in self.remotes.values() {
            for key in &remote.keys {
                let Some((key, late)) = self.subscribed.get_key_value(key) else { continue };
                for bridge in remote.announced_by.keys() {
                    let of = wanted.entry((*bridge, key)).or_default();
                    of.0 |= remote.data.qos.reliability.kind == wire::qos::ReliabilityKind::Reliable;
                    of.1 |= *late && is_durable(&remote.data);
                }
            }
        }
        let mut begun = Vec::new();
        for ((bridge, key), (reliable, durable)) in &wanted {
            let place = (*bridge, String::from(*key));
            if let Some(incoming) = self.streams.get_mut(&place) {
                incoming.stream.set_reliable(*reliable);
            } else {
                begun.push(place.clone());
                let stream = Stream::new(*reliable, *durable);
                self.streams.insert(
                    place,
                    Incoming { stream, question: None, failures: 0, again: None, lost_since: None },
                );
            }
        }
        let (now, lease) = (self.now, self.options.limits.lease);
        let (subscribed, counts) = (&self.subscribed, &mut self.counts);
        self.streams.retain(|(bridge, key), incoming| {
            // A bridge that is cut off may come again.
            incoming.lost_since = match wanted.contains_key(&(*bridge, key.as_str())) {
                true => None,
                false => incoming.lost_since.or(Some(now)),
            };
            let stays = subscribed.contains_key(key) && !is_over(incoming.lost_since, now, lease);
            if !stays {
                counts.skipped = counts.skipped.saturating_add(incoming.stream.skipped());
            }
            stays
        });
        self.held = self.streams.values().map(|incoming| incoming.stream.held_bytes()).sum();
        for (bridge, key) in begun {
            self.ask(bridge, &key);
        }
    }

    /// Readers for lines that something subscribes to, and for a while longer.
    fn settle_readers(&mut self) {
        let lease = self.options.limits.lease;
        let mut closed: Vec<u64> = Vec::new();
        for (number, line) in &mut self.lines {
            let matched =
                line.keys.iter().any(|key| self.published.get(key).is_some_and(|(_, matched)| *matched));
            if matched {
                line.idle_since = None;
                if !line.is_open {
                    line.is_open = true;
                    self.actions.push_back(Action::OpenReader { line: *number, like: line.like.clone() });
                }
                continue;
            }
            if !line.is_open {
                continue;
            }
            let since = *line.idle_since.get_or_insert(self.now);
            // What durable writers have said is kept for whoever comes again, however late.
            if !self.leads || !line.is_durable() && self.now.saturating_sub(since) >= lease {
                line.is_open = false;
                line.writers.values_mut().for_each(|last| *last = 0);
                self.actions.push_back(Action::CloseReader(*number));
                closed.push(*number);
            }
        }
        for number in closed {
            self.clear_caches(number);
        }
    }

    /// What was sent of a line is not up to date any more: its reader is gone.
    fn clear_caches(&mut self, line: u64) {
        let Some(line) = self.lines.get(&line) else { return };
        for key in &line.keys {
            // Lines that share a key share what is kept of it.
            let is_shared = self.lines.values().any(|other| other.is_open && other.keys.contains(key));
            if let Some(cache) = self.caches.get_mut(key).filter(|_| !is_shared) {
                self.kept = self.kept.saturating_sub(cache.bytes());
                cache.clear();
            }
        }
    }

    /// Writers of other sites that have been lost for too long.
    fn end_leases(&mut self) {
        let lease = self.options.limits.lease;
        let over: Vec<Guid> = self
            .remotes
            .iter()
            .filter(|(_, remote)| {
                let is_read = remote.keys.iter().any(|key| self.subscribed.contains_key(key));
                remote.announced_by.is_empty()
                    && (remote.is_gone || !is_read || is_over(remote.lost_since, self.now, lease))
            })
            .map(|(writer, _)| *writer)
            .collect();
        for writer in over {
            self.forget_remote(writer);
            self.is_dirty = true;
        }
        let now = self.now;
        self.is_dirty |= self.streams.values().any(|incoming| is_over(incoming.lost_since, now, lease));
    }

    /// Questions that had no answer, if the bridge is still announced.
    fn ask_again(&mut self) {
        let now = self.now;
        let due: Vec<(BridgeId, String)> = self
            .streams
            .iter()
            .filter(|(_, incoming)| incoming.again.is_some_and(|again| again <= now))
            .map(|(place, _)| place.clone())
            .collect();
        for (bridge, key) in due {
            let Some(incoming) = self.streams.get_mut(&(bridge, key.clone())) else { continue };
            incoming.again = None;
            if incoming.failures >= MOST_FAILURES {
                let mut out = Vec::new();
                incoming.stream.give_up(&mut out);
                self.is_dirty = true;
                self.deliver_all(&key, out);
            } else {
                self.ask(bridge, &key);
            }
        }
    }

    /// A bridge is there again, or may be: asks for what is missing of all its streams.
    pub(super) fn ask_all(&mut self, bridge: BridgeId) {
        let keys: BTreeSet<String> =
            self.streams.keys().filter(|(of, _)| *of == bridge).map(|(_, key)| key.clone()).collect();
        for key in keys {
            self.ask(bridge, &key);
        }
    }

    fn ask(&mut self, bridge: BridgeId, key: &str) {
        let incoming = self.streams.get_mut(&(bridge, key.into()));
        if let Some(from) = incoming.and_then(|incoming| incoming.stream.ask()) {
            self.question(bridge, key, from);
        }
    }

    /// When a question without answer is asked again.
    pub(super) fn failed(&mut self, bridge: BridgeId, key: &str) {
        let at = self.now.saturating_add(AGAIN);
        if let Some(incoming) = self.streams.get_mut(&(bridge, key.into())) {
            incoming.failures += 1;
            incoming.again = Some(at);
        }
    }
}

/// True if something has been lost for as long as the lease.
const fn is_over(since: Option<u64>, now: u64, lease: u64) -> bool {
    match since {
        Some(since) => now.saturating_sub(since) >= lease,
        None => false,
    }
}
