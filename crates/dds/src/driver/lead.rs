//! Who reads the endpoints' socket, or the rings of shared memory: a thread of their own, or one that waits for data and so is not woken by another one.
//!
//! The right to read is a [`Role`], a value that one thread holds at a time. Its own thread gives it up when somebody asks, and
//! takes it back when nobody has used it for a while. Whoever leads lays it down when its wait is over; in steady state
//! neither costs a system call.
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use udp::{Buffer, Receiver};
use wire::Instant;

use crate::driver::clock;
use crate::host::Engine;
use crate::links::Links;

/// What reading takes.
pub(super) struct Role {
    pub(super) source: Source,
    pub(super) buffer: Buffer,
    pub(super) engine: Arc<dyn Engine>,
    /// It is a socket of endpoints: the engine is told of rests.
    pub(super) rests: bool,
}

/// What is read.
pub(super) enum Source {
    Socket(Receiver),
    Rings(Arc<Links>),
}

/// Where the role lies while nobody reads, and where threads wait for it.
#[derive(Debug)]
pub(super) struct Seat {
    state: Mutex<State>,
    to_candidate: Condvar,
    to_own_thread: Condvar,
    /// Number of the thread that leads or is about to; 0 if there is none.
    leading: AtomicU64,
    /// Bounds of the own thread's patience.
    least: Duration,
    most: Duration,
}

/// What became of a wish to lead.
pub(super) enum Asked {
    /// The role; it has to be laid down.
    Granted(Box<Role>),
    /// What was waited for happened before.
    Done,
    /// Somebody else leads, or the socket's own thread has to keep it.
    Refused,
}

#[derive(Default)]
struct State {
    role: Option<Box<Role>>,
    /// Somebody waits for the own thread to give the role up.
    wanted: bool,
    /// How often the role was laid down by a leader.
    uses: u64,
    /// The own thread shall take the role as soon as it lies here.
    take_now: bool,
    /// The own thread keeps the role, whoever asks.
    keep: bool,
    /// Until then as well, because several threads want to lead.
    contended: Instant,
    /// How often a candidate was interrupted.
    interrupts: u64,
    /// The own thread sleeps for longer than it should if the role is laid down.
    sleeps_long: bool,
    /// How long the role lies unused before the own thread takes it.
    patience: Duration,
    closed: bool,
}

/// How long the role lies unused at least before the own thread takes it back, and how often it looks while others lead now and then.
const LEAST_PATIENCE: Duration = Duration::from_millis(2);
/// How long at most: as long as taking it back turns out to have been for nothing, it waits twice as long the next time. While others
/// lead all the time it looks no more often than this.
const MOST_PATIENCE: Duration = Duration::from_millis(16);
/// Others lead all the time if they do it so often between two looks of the own thread.
const BUSY: u64 = 8;
/// How long the own thread sleeps at most while somebody leads.
const LONG_SLEEP: Duration = Duration::from_millis(128);
/// How long the own thread keeps the role after two threads wanted it at once.
const CONTENTION: wire::Duration = wire::Duration::from_millis(100);

impl Seat {
    pub(super) fn new() -> Self {
        Self::with_patience(LEAST_PATIENCE, MOST_PATIENCE)
    }

    fn with_patience(least: Duration, most: Duration) -> Self {
        Self {
            state: Mutex::new(State { patience: least, ..State::default() }),
            to_candidate: Condvar::new(),
            to_own_thread: Condvar::new(),
            leading: AtomicU64::new(0),
            least,
            most,
        }
    }

    /// Number of the thread that leads or is about to; 0 if there is none.
    pub(super) fn leading(&self) -> u64 {
        self.leading.load(SeqCst)
    }

    /// Asks for the role for the thread of that number. `wake` makes the own thread look at [`Seat::is_wanted`]; false if it cannot.
    /// If the time is over already and the own thread reads, it is not disturbed.
    pub(super) fn ask(
        &self,
        thread: u64,
        until: Instant,
        done: &dyn Fn() -> bool,
        wake: &dyn Fn() -> bool,
    ) -> Asked {
        let mut state = self.lock();
        if state.closed {
            return Asked::Refused;
        }
        if self.leading() != 0 {
            state.contended = clock::monotonic().after(CONTENTION);
            return Asked::Refused;
        }
        if state.keeps() {
            self.hurry(&mut state);
            return Asked::Refused;
        }
        if state.role.is_none() && clock::monotonic() >= until {
            return Asked::Done;
        }
        self.leading.store(thread, SeqCst);
        if let Some(role) = state.role.take() {
            return Asked::Granted(role);
        }
        state.wanted = true;
        drop(state);
        if !wake() {
            self.withdraw();
            return Asked::Refused;
        }
        // Asked once before it waits: an interrupt before the line above has gone nowhere.
        let mut seen = None;
        loop {
            let mut state = self.lock();
            if let Some(role) = state.role.take() {
                state.wanted = false;
                return Asked::Granted(role);
            }
            if state.closed {
                break;
            }
            if seen == Some(state.interrupts) {
                let left = clock::until(until);
                state = match left {
                    Some(left) => {
                        self.to_candidate.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                    }
                    None => self.to_candidate.wait(state).unwrap_or_else(PoisonError::into_inner),
                };
                if state.role.is_some() {
                    continue;
                }
            }
            seen = Some(state.interrupts);
            drop(state);
            // Asked without the lock: it may take locks under which others interrupt.
            if done() || clock::monotonic() >= until {
                break;
            }
        }
        self.withdraw();
        Asked::Done
    }

    /// Ends leading.
    pub(super) fn lay_down(&self, role: Box<Role>) {
        let mut state = self.lock();
        self.leading.store(0, SeqCst);
        state.uses = state.uses.wrapping_add(1);
        if state.closed {
            drop(state);
            self.to_candidate.notify_all();
            return;
        }
        state.role = Some(role);
        if state.keeps() {
            self.hurry(&mut state);
        } else if state.sleeps_long {
            state.sleeps_long = false;
            self.to_own_thread.notify_one();
        }
    }

    /// Lets a thread that waits for the role look at what it waits for.
    pub(super) fn interrupt(&self) {
        let mut state = self.lock();
        if state.wanted {
            state.interrupts = state.interrupts.wrapping_add(1);
            self.to_candidate.notify_all();
        }
    }

    /// Whether the own thread keeps the role from now on. Who leads now goes on until it was interrupted.
    pub(super) fn keep(&self, keep: bool) {
        let mut state = self.lock();
        state.keep = keep;
        if keep {
            self.hurry(&mut state);
        }
    }

    /// True if the own thread shall give the role up.
    pub(super) fn is_wanted(&self) -> bool {
        self.lock().wanted
    }

    /// The own thread gives the role up and has it back when nobody wants it any more; `None` after [`Seat::close`].
    /// `served`: it was of use to have it.
    pub(super) fn give_up(&self, role: Box<Role>, served: bool) -> Option<Box<Role>> {
        let mut state = self.lock();
        state.patience = if served { self.least } else { self.most.min(state.patience.saturating_mul(2)) };
        state.role = Some(role);
        state.take_now = false;
        self.to_candidate.notify_all();
        let mut sleep = state.patience;
        let mut seen = state.uses;
        let mut rested = false;
        loop {
            if state.closed {
                // Let go of without the lock: it may be the last that holds the engine.
                let role = state.role.take();
                drop(state);
                drop(role);
                return None;
            }
            if (state.take_now || rested)
                && self.leading() == 0
                && let Some(role) = state.role.take()
            {
                state.take_now = false;
                state.sleeps_long = false;
                return Some(role);
            }
            state.sleeps_long = rested && sleep > state.patience;
            let (woken, timeout) =
                self.to_own_thread.wait_timeout(state, sleep).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            let uses = state.uses.wrapping_sub(seen);
            rested = timeout.timed_out() && uses == 0;
            sleep = match uses {
                0 if rested => LONG_SLEEP.min(sleep.saturating_mul(2)),
                BUSY.. => self.most.min(sleep.saturating_mul(2)),
                _ => state.patience,
            };
            seen = state.uses;
        }
    }

    /// Ends waiting for the role, for ever; a role that lies here is let go of.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let role = state.role.take();
        drop(state);
        self.to_candidate.notify_all();
        self.to_own_thread.notify_all();
        drop(role);
    }

    /// After [`Seat::close`]: waits until nobody leads any more, except for the thread of that number.
    pub(super) fn wait_until_left(&self, thread: u64) {
        let mut state = self.lock();
        while ![0, thread].contains(&self.leading()) {
            state = self.to_candidate.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn withdraw(&self) {
        let mut state = self.lock();
        state.wanted = false;
        self.leading.store(0, SeqCst);
        if state.keeps() {
            self.hurry(&mut state);
        }
        if state.closed {
            self.to_candidate.notify_all();
        }
    }

    /// Lets the own thread take a role that lies here. If it is not there its own thread has it, or a leader that lays it down.
    fn hurry(&self, state: &mut State) {
        if state.role.is_some() && !state.take_now {
            state.take_now = true;
            self.to_own_thread.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The own thread shall have the role.
    fn keeps(&mut self) -> bool {
        if self.contended != Instant::START && self.contended <= clock::monotonic() {
            self.contended = Instant::START;
        }
        self.keep || self.contended != Instant::START
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("free", &self.role.is_some())
            .field("wanted", &self.wanted)
            .field("keep", &self.keep)
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::net::SocketAddr;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::{Receiver as Heard, channel};

    use super::*;
    use crate::host::Addresses;

    /// Only a failing test waits so long.
    const BOUND: Duration = Duration::from_secs(20);
    /// Nothing here happens because time goes by.
    const HOUR: Duration = Duration::from_secs(3_600);

    struct Nothing;

    impl Engine for Nothing {
        fn on_datagram(&self, _: SocketAddr, _: &[u8]) {}

        fn on_timeout(&self) {}

        fn on_network(&self, _: &Addresses) {}
    }

    fn role() -> Box<Role> {
        let local = "127.0.0.1:0".parse().unwrap();
        let socket = udp::Socket::unicast(local, &udp::SocketOptions::default()).unwrap();
        Box::new(Role {
            source: Source::Socket(socket.receiver()),
            buffer: Buffer::new(0),
            engine: Arc::new(Nothing),
            rests: true,
        })
    }

    fn seat() -> Arc<Seat> {
        Arc::new(Seat::with_patience(HOUR, HOUR))
    }

    /// The own thread gives the role up, and says when it has it back.
    fn given_up(seat: &Arc<Seat>) -> Heard<bool> {
        let (tell, heard) = channel();
        let own = Arc::clone(seat);
        std::thread::spawn(move || tell.send(own.give_up(role(), true).is_some()));
        while seat.lock().role.is_none() {
            std::thread::yield_now();
        }
        heard
    }

    fn ask(seat: &Seat, thread: u64) -> Asked {
        seat.ask(thread, Instant::NEVER, &|| false, &|| true)
    }

    #[test]
    fn the_own_thread_takes_what_lies_there_as_soon_as_it_shall_keep_it() {
        let seat = seat();
        let back = given_up(&seat);
        seat.keep(true);
        assert_eq!(back.recv_timeout(BOUND), Ok(true));
        assert!(matches!(ask(&seat, 1), Asked::Refused));
        seat.keep(false);
    }

    #[test]
    fn a_second_leader_is_refused_and_the_own_thread_serves_both() {
        let seat = seat();
        let back = given_up(&seat);
        let Asked::Granted(role) = ask(&seat, 1) else { panic!("nobody leads") };
        assert_eq!(seat.leading(), 1);
        assert!(matches!(ask(&seat, 2), Asked::Refused));
        seat.lay_down(role);
        assert_eq!((back.recv_timeout(BOUND), seat.leading()), (Ok(true), 0));
    }

    #[test]
    fn a_leader_finds_the_role_where_it_laid_it_down() {
        let seat = seat();
        let back = given_up(&seat);
        for thread in [1, 2, 1] {
            let Asked::Granted(role) = ask(&seat, thread) else { panic!("nobody leads") };
            seat.lay_down(role);
        }
        seat.close();
        assert_eq!(back.recv_timeout(BOUND), Ok(false));
        assert!(matches!(ask(&seat, 1), Asked::Refused));
    }

    #[test]
    fn a_candidate_is_interrupted_while_the_own_thread_is_busy() {
        let seat = seat();
        let happened = AtomicBool::new(false);
        let (tell, heard) = channel();
        std::thread::scope(|scope| {
            let (seat, happened) = (&seat, &happened);
            scope.spawn(move || {
                let done = || happened.load(SeqCst);
                let asked = seat.ask(1, Instant::NEVER, &done, &|| true);
                tell.send(matches!(asked, Asked::Done)).unwrap();
            });
            while !seat.is_wanted() {
                std::thread::yield_now();
            }
            happened.store(true, SeqCst);
            seat.interrupt();
            let ended = heard.recv_timeout(BOUND);
            seat.close();
            assert_eq!((ended, seat.leading()), (Ok(true), 0));
        });
    }

    #[test]
    fn what_happens_while_a_candidate_looks_is_not_lost() {
        let seat = seat();
        let asked = Cell::new(0);
        // It happens just after it was looked for in vain.
        let done = || {
            seat.interrupt();
            asked.set(asked.get() + 1);
            asked.get() == 3
        };
        let soon = clock::monotonic().after(wire::Duration::from_secs(20));
        assert!(matches!(seat.ask(1, soon, &done, &|| true), Asked::Done));
        assert_eq!(asked.get(), 3);
    }

    #[test]
    fn who_cannot_wake_the_own_thread_does_not_wait_for_it() {
        let seat = seat();
        assert!(matches!(seat.ask(1, Instant::NEVER, &|| false, &|| false), Asked::Refused));
        // Neither does who has no time.
        assert!(matches!(seat.ask(1, Instant::START, &|| false, &|| panic!("disturbed")), Asked::Done));
        assert!(!seat.is_wanted() && seat.leading() == 0);
    }
}
