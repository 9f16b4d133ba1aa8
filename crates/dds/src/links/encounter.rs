//! Meeting others: who connects with whom, what is exchanged, and when a link begins and ends.
//!
//! Of two participants the one with the smaller nonce connects. Each gives the other a segment that only itself can write, its
//! doorbell, and its chunks, which only itself can write either. Segment and chunks hold the nonce that their participant announced in
//! discovery, and the kernel says whose process it is: a link is used when all are as they were announced. The connection lasts as long as the link; the kernel ends it with either process.
use std::fmt;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use shm::{Said, Segment, join};
use wire::discovery::SharedMemory;
use wire::sorted::SortedMap;
use wire::{Duration, GuidPrefix, Instant};

use super::caller::Wish;
use super::greeting::{self, Connection, Connections, Given, check_user};
use super::{Links, MOST, door::Door, identity, link::Link};

/// Most connections of processes that have said nothing yet.
const STRANGERS: usize = 64;
/// Most connections.
const CONVERSATIONS: usize = 200;
/// How long a connection may take to become a link.
const PATIENCE: Duration = Duration::from_secs(2);
/// First wait before another try; doubles up to sixteen times as much.
const AGAIN: Duration = Duration::from_millis(20);
/// How often it is tried, for about nine seconds: the other side may not have discovered us yet.
const TRIES: u32 = 30;
/// Afterwards: what stood in the way, such as a lack of descriptors, may be gone.
const SLOWLY: Duration = Duration::from_secs(10);
/// How often a link with one participant is made again after it ended while both live, until one has lasted for [`LASTING`].
const RENEWALS: u32 = 5;
/// A link that has lasted so long did not end because it never can last.
const LASTING: Duration = Duration::from_secs(60);
const FEW_LEFT: &str = "few descriptors are left to this process: UDP is used; raise the limit (ulimit -n)";
/// A participant that may be met.
struct Known {
    memory: SharedMemory,
    /// When we connect next; `None` if we need not.
    connect: Option<Instant>,
    tries: u32,
    /// How often a link has ended lately.
    renewals: u32,
    /// When there was a link last.
    linked: Option<Instant>,
}

/// A connection.
struct Conversation<T> {
    talk: T,
    state: State,
}

enum State {
    /// A process came, and has said nothing yet.
    Met { until: Instant },
    /// We have given this segment to that participant, and wait for its own.
    Greeted { prefix: GuidPrefix, segment: Box<Segment>, until: Instant },
    /// It is a link.
    Linked { prefix: GuidPrefix, number: NonZeroU32 },
    /// To be let go of.
    Over,
}

/// Called when a link with a participant begins or ends.
pub type Tell<'a> = &'a dyn Fn(GuidPrefix, Option<NonZeroU32>);

/// The side that meets other processes. It waits for nothing and reads no clock: [`Encounters::step`] is to be called when one of its connections has
/// something to say, when there are others to accept, when [`Links`] calls, and when the time has come.
pub struct Encounters<C: Connections> {
    links: Arc<Links>,
    known: SortedMap<GuidPrefix, Known>,
    conversations: Vec<Conversation<C::Connection>>,
    next_number: u32,
    door: Door,
}

impl<C: Connections> fmt::Debug for Encounters<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encounters").finish_non_exhaustive()
    }
}

impl<C: Connections> Encounters<C> {
    /// No process is known yet.
    pub fn new(links: Arc<Links>) -> Self {
        Self { links, known: SortedMap::new(), conversations: Vec::new(), next_number: 0, door: Door::new() }
    }

    /// All connections, in an order that stays until the next step.
    pub fn connections(&self) -> impl Iterator<Item = &C::Connection> {
        self.conversations.iter().map(|conversation| &conversation.talk)
    }

    /// False as long as no more connections are accepted.
    pub fn accepts(&mut self, now: Instant) -> bool {
        self.door.is_open(now)
    }

    /// Deals with all that there is. `is_ready`: the connection at this place has something to say.
    pub fn step(&mut self, now: Instant, from: &C, is_ready: impl Fn(usize) -> bool, tell: Tell<'_>) {
        for place in 0..self.conversations.len() {
            if is_ready(place) {
                self.hear(place, now, tell);
            }
        }
        for wish in self.links.caller.take() {
            self.grant(wish, now, tell);
        }
        self.accept(from, now);
        self.be_in_time(from, now);
        self.conversations.retain(|conversation| !matches!(conversation.state, State::Over));
    }

    /// Accepts connections, as far as [`Door`] allows.
    fn accept(&mut self, from: &C, now: Instant) {
        while self.door.is_open(now) {
            let talk = match from.accept() {
                Ok(Some(talk)) => talk,
                Ok(None) => return self.links.set_trouble(None),
                Err(error) => {
                    self.door.close_after_error(now);
                    tracing::warn!(%error, "shared memory: connections cannot be accepted");
                    self.links.set_trouble(Some(format!("connections cannot be accepted: {error}")));
                    return;
                }
            };
            self.links.set_trouble(None);
            // Any process of the network namespace can connect; one of another user is not listened to.
            let is_ours = talk.user().is_ok_and(|user| user == self.links.announced.user);
            self.door.count(now, is_ours);
            if !is_ours {
                self.links.refused.fetch_add(1, Relaxed);
                continue;
            }
            let strangers = self.conversations.iter().filter(|met| matches!(met.state, State::Met { .. }));
            if strangers.count() < STRANGERS && self.conversations.len() < CONVERSATIONS {
                let until = now.after(PATIENCE);
                self.conversations.push(Conversation { talk, state: State::Met { until } });
            }
        }
    }

    /// When something is due.
    pub fn next(&self) -> Option<Instant> {
        let ends = self.conversations.iter().filter_map(|conversation| match conversation.state {
            State::Met { until } | State::Greeted { until, .. } => Some(until),
            State::Linked { .. } | State::Over => None,
        });
        let connects = self.known.values().filter_map(|known| known.connect);
        ends.chain(connects).chain(self.door.opens()).min()
    }

    fn be_in_time(&mut self, from: &C, now: Instant) {
        let mut silent = Vec::new();
        for conversation in &mut self.conversations {
            if let State::Met { until } | State::Greeted { until, .. } = conversation.state
                && until <= now
            {
                silent.extend(conversation.state.prefix());
                conversation.state = State::Over;
            }
        }
        for prefix in silent {
            self.try_again(prefix, "it did not answer: UDP is used".to_owned(), now);
        }
        let due = |known: &Known| known.connect.is_some_and(|connect| connect <= now);
        let due: Vec<GuidPrefix> =
            self.known.iter().filter(|(_, known)| due(known)).map(|(prefix, _)| *prefix).collect();
        for prefix in due {
            self.connect(from, prefix, now);
        }
    }

    fn grant(&mut self, wish: Wish, now: Instant, tell: Tell<'_>) {
        match wish {
            Wish::Meet(prefix, memory) => self.meet(prefix, memory, now),
            Wish::Leave(prefix) => {
                self.known.remove(&prefix);
                self.links.reasons().remove(&prefix);
                self.end(|state| state.prefix() == Some(prefix), now, tell);
            }
            Wish::GiveUp(number) => {
                let is_it =
                    |state: &State| matches!(state, State::Linked { number: other, .. } if *other == number);
                self.end(is_it, now, tell);
            }
        }
    }

    fn meet(&mut self, prefix: GuidPrefix, memory: SharedMemory, now: Instant) {
        let own = self.links.announced;
        let connect = (own.nonce < memory.nonce).then_some(now);
        let known = Known { memory, connect, tries: 0, renewals: 0, linked: None };
        self.known.insert(prefix, known);
    }

    /// Connects with a participant and says who we are.
    fn connect(&mut self, from: &C, prefix: GuidPrefix, now: Instant) {
        let Some(known) = self.known.get_mut(&prefix) else { return };
        known.tries += 1;
        known.connect = None;
        let memory = known.memory;
        if self.is_linked(prefix) {
            return;
        }
        if self.conversations.len() >= CONVERSATIONS {
            return self.try_again(prefix, "too many others are met: UDP is used".to_owned(), now);
        }
        match self.greet(from, &memory) {
            Ok((talk, segment)) => {
                let segment = Box::new(segment);
                let state = State::Greeted { prefix, segment, until: now.after(PATIENCE) };
                self.conversations.push(Conversation { talk, state });
            }
            Err(why) => {
                if why == FEW_LEFT {
                    // That is not over soon.
                    self.links.note(prefix, why.clone());
                }
                self.try_again(prefix, why, now);
            }
        }
    }

    fn greet(&self, from: &C, memory: &SharedMemory) -> Result<(C::Connection, Segment), String> {
        let talk =
            from.connect(&identity::name(memory.nonce)).map_err(|error| format!("it is not met: {error}"))?;
        check_user(&talk, memory)?;
        let segment = self.say(&talk, memory)?;
        Ok((talk, segment))
    }

    /// Gives the other side a segment and our doorbell.
    fn say(&self, talk: &C::Connection, memory: &SharedMemory) -> Result<Segment, String> {
        let own = &self.links.announced;
        if talk.leaves_few() {
            return Err("few descriptors are left to this process: UDP is used; raise the limit (ulimit -n)"
                .to_owned());
        }
        let (doorbell, chunks) =
            self.links.doorbell().zip(self.links.chunks_file()).ok_or("the participant is gone")?;
        let segment =
            Segment::new(own.nonce, self.links.config.ring as usize).map_err(|error| error.to_string())?;
        let words = greeting::words(own.nonce, memory.nonce);
        talk.say(&words, &[segment.file(), doorbell.file(), chunks.as_fd()])
            .map_err(|error| format!("it does not listen: {error}"))?;
        Ok(segment)
    }

    /// A connection has something to say, or is at its end.
    fn hear(&mut self, place: usize, now: Instant, tell: Tell<'_>) {
        let Some(conversation) = self.conversations.get_mut(place) else { return };
        let mut buffer = [0; greeting::LEN + 1];
        let said = conversation.talk.hear(&mut buffer);
        let (greeting, files) = match said {
            Ok(Said::Nothing) => return,
            Ok(Said::Words(greeting::LEN, files)) => (greeting::read(&buffer), files),
            Ok(Said::Words(..) | Said::Gone) | Err(_) => (None, Vec::new()),
        };
        let state = std::mem::replace(&mut conversation.state, State::Over);
        match (state, greeting) {
            (State::Met { .. }, Some(nonces)) => self.answer(place, nonces, &files, now, tell),
            (State::Greeted { prefix, segment, .. }, Some(nonces)) => {
                if let Err(why) = self.complete(place, (prefix, *segment), nonces, &files, now, tell) {
                    self.try_again(prefix, why, now);
                }
            }
            // It closes if it does not know us yet.
            (State::Greeted { prefix, .. }, None) => {
                self.try_again(prefix, "it does not accept us: UDP is used".to_owned(), now);
            }
            (State::Linked { prefix, number }, _) => self.unlink(prefix, number, now, tell),
            (State::Met { .. } | State::Over, _) => {}
        }
    }

    /// A process came and identified itself: it gets what it has given.
    fn answer(
        &mut self,
        place: usize,
        (nonce, to): (u64, u64),
        files: &[OwnedFd],
        now: Instant,
        tell: Tell<'_>,
    ) {
        // Who is not known yet comes again.
        let known = self.known.iter().find(|(_, known)| known.memory.nonce == nonce);
        let Some((prefix, memory)) = known.map(|(prefix, known)| (*prefix, known.memory)) else { return };
        let is_over = self.known.get(&prefix).is_some_and(|known| known.renewals > RENEWALS);
        if to != self.links.announced.nonce || self.is_linked(prefix) || is_over {
            return;
        }
        let Some(conversation) = self.conversations.get(place) else { return };
        let talk = &conversation.talk;
        let linked = check_user(talk, &memory).and_then(|()| {
            let given = greeting::open(files, &memory)?;
            Ok((self.say(talk, &memory)?, given))
        });
        match linked {
            Ok((segment, given)) => self.link(place, (prefix, segment, given), now, tell),
            Err(why) => self.links.note(prefix, why),
        }
    }

    /// Whom we have connected with has answered.
    fn complete(
        &mut self,
        place: usize,
        (prefix, segment): (GuidPrefix, Segment),
        (nonce, to): (u64, u64),
        files: &[OwnedFd],
        now: Instant,
        tell: Tell<'_>,
    ) -> Result<(), String> {
        let known = self.known.get(&prefix).ok_or("it is gone")?;
        if nonce != known.memory.nonce || to != self.links.announced.nonce {
            return Err("it answered for another participant: UDP is used".to_owned());
        }
        let given = greeting::open(files, &known.memory)?;
        self.link(place, (prefix, segment, given), now, tell);
        Ok(())
    }

    fn link(
        &mut self,
        place: usize,
        (prefix, segment, given): (GuidPrefix, Segment, Given),
        now: Instant,
        tell: Tell<'_>,
    ) {
        if self.links.count() >= MOST {
            self.links.note(prefix, format!("there are {MOST} others already: UDP is used"));
            return;
        }
        self.next_number = self.next_number.wrapping_add(1);
        let Some(number) = NonZeroU32::new(self.next_number) else { return };
        let Given { window, bell, chunks } = given;
        let ends = join(segment, window);
        if !self.links.config.spin.is_zero() {
            // Who looks all the time does so for microseconds.
            ends.0.take_memory();
        }
        self.links.add(Arc::new(Link::new(number, prefix, ends, bell, chunks)));
        self.links.reasons().remove(&prefix);
        if let Some(conversation) = self.conversations.get_mut(place) {
            conversation.state = State::Linked { prefix, number };
        }
        if let Some(known) = self.known.get_mut(&prefix) {
            known.linked = Some(now);
        }
        tracing::info!(participant = %prefix, link = number.get(), "shared memory begins");
        tell(prefix, Some(number));
    }

    fn unlink(&mut self, prefix: GuidPrefix, number: NonZeroU32, now: Instant, tell: Tell<'_>) {
        // Sending ends before the engine is told; what lies there is still read.
        if let Some(link) = self.links.find(number) {
            link.close();
        }
        self.links.wake();
        tracing::info!(participant = %prefix, link = number.get(), "shared memory ends: the connection is over");
        tell(prefix, None);
        self.renew(prefix, now);
    }

    /// A link ended. If the participant is not gone there shall be another one; who connected before does so again.
    fn renew(&mut self, prefix: GuidPrefix, now: Instant) {
        let own = self.links.announced.nonce;
        let Some(known) = self.known.get_mut(&prefix) else { return };
        if known.linked.take().is_some_and(|since| now >= since.after(LASTING)) {
            known.renewals = 0;
        }
        if known.renewals == RENEWALS {
            self.links.note(prefix, format!("the link ended {} times: UDP is used", RENEWALS + 1));
        } else if own < known.memory.nonce {
            known.tries = 0;
            known.connect = Some(now.after(AGAIN.scaled(2_u32.pow(known.renewals), 1)));
        }
        known.renewals = known.renewals.saturating_add(1);
    }

    /// Ends connections.
    fn end(&mut self, which: impl Fn(&State) -> bool, now: Instant, tell: Tell<'_>) {
        for place in 0..self.conversations.len() {
            let Some(conversation) = self.conversations.get_mut(place) else { return };
            if which(&conversation.state)
                && let State::Linked { prefix, number } =
                    std::mem::replace(&mut conversation.state, State::Over)
            {
                self.unlink(prefix, number, now, tell);
            }
        }
    }

    fn try_again(&mut self, prefix: GuidPrefix, why: String, now: Instant) {
        let Some(known) = self.known.get_mut(&prefix) else { return };
        if known.tries >= TRIES {
            self.links.note(prefix, why);
            known.connect = Some(now.after(SLOWLY));
            return;
        }
        known.connect = Some(now.after(AGAIN.scaled(2_u32.pow(known.tries.saturating_sub(1).min(4)), 1)));
    }

    fn is_linked(&self, prefix: GuidPrefix) -> bool {
        let linked = |state: &State| matches!(state, State::Linked { prefix: other, .. } if *other == prefix);
        self.conversations.iter().any(|conversation| linked(&conversation.state))
    }
}

impl State {
    fn prefix(&self) -> Option<GuidPrefix> {
        match self {
            Self::Greeted { prefix, .. } | Self::Linked { prefix, .. } => Some(*prefix),
            Self::Met { .. } | Self::Over => None,
        }
    }
}
