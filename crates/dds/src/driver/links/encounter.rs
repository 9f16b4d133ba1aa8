//! Meeting others: who connects with whom, what is exchanged, and when a link begins and ends.
//!
//! Of two participants the one with the smaller nonce connects. Each gives the other a segment that only itself can write, its
//! doorbell, and its chunks, which only itself can write either. Segment and chunks hold the nonce that their participant announced in
//! discovery, and the kernel says whose process it is: a link is used when all are as they were announced. The connection lasts as long as the link; the kernel ends it with either process.
use std::io::{self, Read, Write};
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rtps::sorted::SortedMap;
use shm::{Bell, ChunkWindow, Meeting, Said, Segment, Talk, Window, join, leaves_few, ready};
use udp::WatchCaller;
use wire::GuidPrefix;
use wire::discovery::SharedMemory;

use super::{Links, MOST, door::Door, identity, link::Link};

/// What the thread that meets others is asked for.
#[derive(Debug)]
pub(super) enum Wish {
    /// There is a participant that may be met.
    Meet(GuidPrefix, SharedMemory),
    /// It is gone.
    Leave(GuidPrefix),
    /// A link was closed because the other side wrote nonsense.
    GiveUp(NonZeroU32),
}

/// Calls the thread that meets others, and whoever starts it; never waits.
#[derive(Debug)]
pub(super) struct Caller {
    line: Mutex<Line>,
}

#[derive(Debug)]
struct Line {
    wishes: Vec<Wish>,
    /// Who is to be met, as it was asked for last.
    met: SortedMap<GuidPrefix, SharedMemory>,
    to: To,
}

/// Who is called.
#[derive(Debug)]
enum To {
    /// The thread that starts the one that meets others.
    Starter(WatchCaller),
    Thread(UnixStream),
    /// All is over.
    Nobody,
}

/// Where calls are heard.
#[derive(Debug)]
pub(super) struct Called(UnixStream);

/// Most of those who came and have said nothing yet.
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
const MAGIC: [u8; 4] = *b"PNLK";
const VERSION: u8 = 2;
/// Magic word, version, three octets of zeros, nonce of the speaker, nonce of whom it is for.
const GREETING: usize = 24;

/// Where calls come from, and where they are heard.
pub(super) fn line() -> io::Result<(UnixStream, Called)> {
    let (near, far) = UnixStream::pair()?;
    near.set_nonblocking(true)?;
    far.set_nonblocking(true)?;
    Ok((near, Called(far)))
}

impl Caller {
    pub(super) fn new(starter: WatchCaller) -> Self {
        let line = Line { wishes: Vec::new(), met: SortedMap::new(), to: To::Starter(starter) };
        Self { line: Mutex::new(line) }
    }

    /// From now on there is a thread that hears.
    pub(super) fn begin(&self, near: UnixStream) {
        let mut line = self.line();
        line.to = To::Thread(near);
        line.call();
    }

    pub(super) fn is_to_begin(&self) -> bool {
        let line = self.line();
        matches!(line.to, To::Starter(_)) && !line.met.is_empty()
    }

    /// Once for each participant, as long as it announces the same.
    pub(super) fn meet(&self, prefix: GuidPrefix, memory: SharedMemory) {
        let mut line = self.line();
        if line.met.insert(prefix, memory) != Some(memory) {
            line.ask(Wish::Meet(prefix, memory));
        }
    }

    pub(super) fn leave(&self, prefix: GuidPrefix) {
        let mut line = self.line();
        if line.met.remove(&prefix).is_some() {
            line.ask(Wish::Leave(prefix));
        }
    }

    pub(super) fn give_up(&self, number: NonZeroU32) {
        self.line().ask(Wish::GiveUp(number));
    }

    /// Nobody hears any more; whoever does sees that the line is cut.
    pub(super) fn close(&self) {
        let mut line = self.line();
        *line = Line { wishes: Vec::new(), met: SortedMap::new(), to: To::Nobody };
    }

    fn take(&self, called: &Called) -> Vec<Wish> {
        // Whatever lies there: wishes are counted by their list.
        let _ = (&called.0).read(&mut [0; 64]);
        std::mem::take(&mut self.line().wishes)
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn ask(&mut self, wish: Wish) {
        if !matches!(self.to, To::Nobody) {
            self.wishes.push(wish);
            self.call();
        }
    }

    fn call(&self) {
        match &self.to {
            To::Starter(starter) => starter.call(),
            // Full, it is heard anyway.
            To::Thread(near) => drop((&*near).write(&[1])),
            To::Nobody => {}
        }
    }
}

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
struct Conversation {
    talk: Talk,
    state: State,
}

enum State {
    /// Somebody came, and has said nothing yet.
    Met { until: Instant },
    /// We have given this segment to that participant, and wait for its own.
    Greeted { prefix: GuidPrefix, segment: Box<Segment>, until: Instant },
    /// It is a link.
    Linked { prefix: GuidPrefix, number: NonZeroU32 },
    /// To be let go of.
    Over,
}

/// The thread that meets others.
pub(super) struct Encounters<'a> {
    links: &'a Links,
    tell: &'a dyn Fn(GuidPrefix, Option<NonZeroU32>),
    known: SortedMap<GuidPrefix, Known>,
    conversations: Vec<Conversation>,
    next_number: u32,
    door: Door,
}

impl Links {
    /// Meets others until [`Links::close`]. `tell` is called when there is a link with a participant, or no longer.
    pub(in crate::driver) fn meet_others(&self, tell: &dyn Fn(GuidPrefix, Option<NonZeroU32>)) {
        let meeting = self.meeting.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((meeting, called)) = meeting else { return };
        let mut encounters = Encounters {
            links: self,
            tell,
            known: SortedMap::new(),
            conversations: Vec::new(),
            next_number: 0,
            door: Door::new(),
        };
        while !self.is_closed() {
            encounters.look(&meeting, &called);
        }
        encounters.conversations.clear();
    }
}

impl Encounters<'_> {
    /// Waits for something and deals with all that there is.
    fn look(&mut self, meeting: &Meeting, called: &Called) {
        let now = Instant::now();
        let limit = self.next().map(|next| next.saturating_duration_since(now));
        let mut sockets = vec![called.0.as_fd()];
        sockets.extend(self.conversations.iter().map(|conversation| conversation.talk.as_fd()));
        if self.door.is_open(now) {
            sockets.push(meeting.as_fd());
        }
        let Ok(readiness) = ready(&sockets, limit) else {
            // The system has no memory for it.
            std::thread::sleep(AGAIN);
            return;
        };
        for place in 0..self.conversations.len() {
            if readiness.get(place + 1) == Some(&true) {
                self.hear(place);
            }
        }
        for wish in self.links.caller.take(called) {
            self.grant(wish);
        }
        self.accept(meeting);
        self.be_in_time(Instant::now());
        self.conversations.retain(|conversation| !matches!(conversation.state, State::Over));
    }

    /// Accepts connections, as far as [`Door`] allows.
    fn accept(&mut self, meeting: &Meeting) {
        let mut now = Instant::now();
        while self.door.is_open(now) {
            let talk = match meeting.accept() {
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
            now = Instant::now();
            // Any process of the network namespace can connect; one of another user is not listened to.
            let is_ours = talk.peer().is_ok_and(|peer| peer.user == self.links.announced.user);
            self.door.count(now, is_ours);
            if !is_ours {
                self.links.refused.fetch_add(1, Relaxed);
                continue;
            }
            let strangers = self.conversations.iter().filter(|met| matches!(met.state, State::Met { .. }));
            if strangers.count() < STRANGERS && self.conversations.len() < CONVERSATIONS {
                let until = now + PATIENCE;
                self.conversations.push(Conversation { talk, state: State::Met { until } });
            }
        }
    }

    /// When something is due.
    fn next(&self) -> Option<Instant> {
        let ends = self.conversations.iter().filter_map(|conversation| match conversation.state {
            State::Met { until } | State::Greeted { until, .. } => Some(until),
            State::Linked { .. } | State::Over => None,
        });
        let connects = self.known.values().filter_map(|known| known.connect);
        ends.chain(connects).chain(self.door.opens()).min()
    }

    fn be_in_time(&mut self, now: Instant) {
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
            self.try_again(prefix, "it did not answer: UDP is used".to_owned());
        }
        let due = |known: &Known| known.connect.is_some_and(|connect| connect <= now);
        let due: Vec<GuidPrefix> =
            self.known.iter().filter(|(_, known)| due(known)).map(|(prefix, _)| *prefix).collect();
        for prefix in due {
            self.connect(prefix, now);
        }
    }

    fn grant(&mut self, wish: Wish) {
        match wish {
            Wish::Meet(prefix, memory) => self.meet(prefix, memory),
            Wish::Leave(prefix) => {
                self.known.remove(&prefix);
                self.links.reasons().remove(&prefix);
                self.end(|state| state.prefix() == Some(prefix));
            }
            Wish::GiveUp(number) => {
                self.end(|state| matches!(state, State::Linked { number: other, .. } if *other == number));
            }
        }
    }

    fn meet(&mut self, prefix: GuidPrefix, memory: SharedMemory) {
        let own = self.links.announced;
        let connect = (own.nonce < memory.nonce).then(Instant::now);
        let known = Known { memory, connect, tries: 0, renewals: 0, linked: None };
        self.known.insert(prefix, known);
    }

    /// Connects with a participant and says who we are.
    fn connect(&mut self, prefix: GuidPrefix, now: Instant) {
        let Some(known) = self.known.get_mut(&prefix) else { return };
        known.tries += 1;
        known.connect = None;
        let memory = known.memory;
        if self.is_linked(prefix) {
            return;
        }
        if self.conversations.len() >= CONVERSATIONS {
            return self.try_again(prefix, "too many others are met: UDP is used".to_owned());
        }
        match self.greet(&memory) {
            Ok((talk, segment)) => {
                let segment = Box::new(segment);
                let state = State::Greeted { prefix, segment, until: now + PATIENCE };
                self.conversations.push(Conversation { talk, state });
            }
            Err(why) => {
                if why == FEW_LEFT {
                    // That is not over soon.
                    self.links.note(prefix, why.clone());
                }
                self.try_again(prefix, why);
            }
        }
    }

    fn greet(&self, memory: &SharedMemory) -> Result<(Talk, Segment), String> {
        let talk =
            Talk::new(&identity::name(memory.nonce)).map_err(|error| format!("it is not met: {error}"))?;
        check_user(&talk, memory)?;
        let segment = self.say(&talk, memory)?;
        Ok((talk, segment))
    }

    /// Gives the other side a segment and our doorbell.
    fn say(&self, talk: &Talk, memory: &SharedMemory) -> Result<Segment, String> {
        let own = &self.links.announced;
        if leaves_few(talk.as_fd()) {
            return Err("few descriptors are left to this process: UDP is used; raise the limit (ulimit -n)"
                .to_owned());
        }
        let (doorbell, chunks) =
            self.links.doorbell().zip(self.links.chunks_file()).ok_or("the participant is gone")?;
        let segment =
            Segment::new(own.nonce, self.links.config.ring as usize).map_err(|error| error.to_string())?;
        let mut greeting = [0; GREETING];
        greeting[..4].copy_from_slice(&MAGIC);
        greeting[4] = VERSION;
        greeting[8..16].copy_from_slice(&own.nonce.to_le_bytes());
        greeting[16..].copy_from_slice(&memory.nonce.to_le_bytes());
        talk.say(&greeting, &[segment.file(), doorbell.file(), chunks.as_fd()])
            .map_err(|error| format!("it does not listen: {error}"))?;
        Ok(segment)
    }

    /// A connection has something to say, or is at its end.
    fn hear(&mut self, place: usize) {
        let Some(conversation) = self.conversations.get_mut(place) else { return };
        let mut buffer = [0; GREETING + 1];
        let said = conversation.talk.hear(&mut buffer);
        let (greeting, files) = match said {
            Ok(Said::Nothing) => return,
            Ok(Said::Words(GREETING, files)) => (read(&buffer), files),
            Ok(Said::Words(..) | Said::Gone) | Err(_) => (None, Vec::new()),
        };
        let state = std::mem::replace(&mut conversation.state, State::Over);
        match (state, greeting) {
            (State::Met { .. }, Some(nonces)) => self.answer(place, nonces, &files),
            (State::Greeted { prefix, segment, .. }, Some(nonces)) => {
                if let Err(why) = self.complete(place, prefix, *segment, nonces, &files) {
                    self.try_again(prefix, why);
                }
            }
            // It closes if it does not know us yet.
            (State::Greeted { prefix, .. }, None) => {
                self.try_again(prefix, "it does not accept us: UDP is used".to_owned());
            }
            (State::Linked { prefix, number }, _) => self.unlink(prefix, number),
            (State::Met { .. } | State::Over, _) => {}
        }
    }

    /// Somebody came and said who it is: it gets what it has given.
    fn answer(&mut self, place: usize, (nonce, to): (u64, u64), files: &[OwnedFd]) {
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
            let given = open(files, &memory)?;
            Ok((self.say(talk, &memory)?, given))
        });
        match linked {
            Ok((segment, given)) => self.link(place, prefix, segment, given),
            Err(why) => self.links.note(prefix, why),
        }
    }

    /// Whom we have connected with has answered.
    fn complete(
        &mut self,
        place: usize,
        prefix: GuidPrefix,
        segment: Segment,
        (nonce, to): (u64, u64),
        files: &[OwnedFd],
    ) -> Result<(), String> {
        let known = self.known.get(&prefix).ok_or("it is gone")?;
        if nonce != known.memory.nonce || to != self.links.announced.nonce {
            return Err("it answered for somebody else: UDP is used".to_owned());
        }
        let given = open(files, &known.memory)?;
        self.link(place, prefix, segment, given);
        Ok(())
    }

    fn link(&mut self, place: usize, prefix: GuidPrefix, segment: Segment, given: Given) {
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
            known.linked = Some(Instant::now());
        }
        tracing::info!(participant = %prefix, link = number.get(), "shared memory begins");
        (self.tell)(prefix, Some(number));
    }

    fn unlink(&mut self, prefix: GuidPrefix, number: NonZeroU32) {
        // Sending ends before the engine is told; what lies there is read by whoever reads.
        if let Some(link) = self.links.find(number) {
            link.close();
        }
        self.links.wake();
        tracing::info!(participant = %prefix, link = number.get(), "shared memory ends: the connection is over");
        (self.tell)(prefix, None);
        self.renew(prefix);
    }

    /// A link ended. If the participant is not gone there shall be another one; who connected before does so again.
    fn renew(&mut self, prefix: GuidPrefix) {
        let own = self.links.announced.nonce;
        let Some(known) = self.known.get_mut(&prefix) else { return };
        if known.linked.take().is_some_and(|since| since.elapsed() >= LASTING) {
            known.renewals = 0;
        }
        if known.renewals == RENEWALS {
            self.links.note(prefix, format!("the link ended {} times: UDP is used", RENEWALS + 1));
        } else if own < known.memory.nonce {
            known.tries = 0;
            known.connect = Some(Instant::now() + AGAIN * 2_u32.pow(known.renewals));
        }
        known.renewals = known.renewals.saturating_add(1);
    }

    /// Ends connections.
    fn end(&mut self, which: impl Fn(&State) -> bool) {
        for place in 0..self.conversations.len() {
            let Some(conversation) = self.conversations.get_mut(place) else { return };
            if which(&conversation.state)
                && let State::Linked { prefix, number } =
                    std::mem::replace(&mut conversation.state, State::Over)
            {
                self.unlink(prefix, number);
            }
        }
    }

    fn try_again(&mut self, prefix: GuidPrefix, why: String) {
        let Some(known) = self.known.get_mut(&prefix) else { return };
        if known.tries >= TRIES {
            self.links.note(prefix, why);
            known.connect = Some(Instant::now() + SLOWLY);
            return;
        }
        known.connect = Some(Instant::now() + AGAIN * 2_u32.pow(known.tries.saturating_sub(1).min(4)));
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

/// The nonces of who speaks and of whom it is for.
fn read(buffer: &[u8]) -> Option<(u64, u64)> {
    let word = |at: usize| {
        let octets: Option<[u8; 8]> = buffer.get(at..at + 8).and_then(|octets| octets.try_into().ok());
        octets.map(u64::from_le_bytes)
    };
    let is_ours = buffer.get(..4) == Some(&MAGIC) && buffer.get(4) == Some(&VERSION);
    is_ours.then(|| word(8).zip(word(16))).flatten()
}

/// The kernel has to say of the process what was announced.
fn check_user(talk: &Talk, memory: &SharedMemory) -> Result<(), String> {
    let peer = talk.peer().map_err(|error| format!("whose process it is cannot be told: {error}"))?;
    if peer.user == memory.user {
        return Ok(());
    }
    Err(format!("it says that it runs as user {}, and the kernel that it is {}", memory.user, peer.user))
}

/// What the other side gave.
struct Given {
    window: Window,
    bell: Bell,
    chunks: ChunkWindow,
}

/// What the other side gave, if it holds the nonce that was announced.
fn open(files: &[OwnedFd], memory: &SharedMemory) -> Result<Given, String> {
    let [segment, bell, chunks]: [BorrowedFd<'_>; 3] = match files {
        [segment, bell, chunks] => [segment.as_fd(), bell.as_fd(), chunks.as_fd()],
        _ => return Err("it gave no memory: UDP is used".to_owned()),
    };
    let window = Window::open(segment, memory.nonce).map_err(|error| error.to_string())?;
    let bell = Bell::open(bell).map_err(|error| error.to_string())?;
    let chunks = ChunkWindow::open(chunks, memory.nonce).map_err(|error| error.to_string())?;
    Ok(Given { window, bell, chunks })
}
