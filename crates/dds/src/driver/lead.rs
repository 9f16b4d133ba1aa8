//! Leader and followers: which thread reads the endpoints' socket, or the rings of shared memory. It is a thread of their own, or one that waits for data and so is not woken by another one.
//!
//! The right to read is a *role*, a value that one thread holds at a time and that reading takes. Its own thread gives it up when another thread asks, and
//! takes it back when no thread has used it for a while. The leading thread lays it down when its wait is over; in steady state
//! neither costs a system call.
use std::sync::PoisonError;
use std::time::Duration;

use wire::Instant;

use crate::driver::clock;
use crate::sync::atomic::Ordering::SeqCst;
use crate::sync::atomic::{AtomicU64, fence};
use crate::sync::{Condvar, Mutex, MutexGuard};

/// Where the role lies while no thread reads, and where threads wait for it.
#[derive(Debug)]
pub(super) struct Seat<R> {
    state: Mutex<State<R>>,
    to_candidate: Condvar,
    to_own_thread: Condvar,
    /// Number of the thread that leads or is about to; 0 if there is none.
    leading: AtomicU64,
    /// Number of the thread that reads on below a call of the engine; 0 if there is none.
    inside: AtomicU64,
}

/// What became of a wish to lead.
pub(super) enum Asked<'a, R> {
    /// The role.
    Granted(Leader<'a, R>),
    /// What was waited for happened before.
    Done,
    /// Another thread leads, or the socket's own thread has to keep it.
    Refused,
}

/// The thread that leads, until this is dropped: then the role lies down again, whatever happens.
pub(super) struct Leader<'a, R> {
    seat: &'a Seat<R>,
    role: Option<R>,
}

/// Why reading ended.
pub(super) enum End {
    /// There may be something else to look at.
    Woken,
    /// There is nothing more to read, ever.
    Stopped,
}

struct State<R> {
    role: Option<R>,
    /// A thread waits for the own thread to give the role up.
    wanted: bool,
    /// How often the role was laid down by a leader.
    uses: u64,
    /// The own thread shall take the role as soon as it lies here.
    take_now: bool,
    /// The own thread keeps the role, whichever thread asks.
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
/// How long the own thread sleeps at most while another thread leads.
const LONG_SLEEP: Duration = Duration::from_millis(128);
/// How long the own thread keeps the role after two threads wanted it at once.
const CONTENTION: wire::Duration = wire::Duration::from_millis(100);

/// Lets threads that read in the place of own threads, other than the calling one, look at what they wait for, which was written before. Each
/// seat comes with the function that wakes the thread that reads.
pub(super) fn interrupt<'a, R: 'a>(own: u64, seats: impl IntoIterator<Item = (&'a Seat<R>, &'a dyn Fn())>) {
    // Either it is seen there what was written before, or it is seen here that a thread reads: see `ask` and `enter`.
    fence(SeqCst);
    let waits = |thread: u64| ![0, own].contains(&thread);
    for (seat, wake) in seats {
        if waits(seat.leading()) || waits(seat.inside.load(SeqCst)) {
            seat.interrupt_candidate();
            wake();
        }
    }
}

/// What a thread does that reads in the place of the own one: it reads by `read` until what it waits for is `done`, the time has come, or reading stops.
pub(super) fn read_until<R>(
    role: &mut R,
    until: Instant,
    done: &dyn Fn() -> bool,
    is_closing: impl Fn() -> bool,
    mut read: impl FnMut(&mut R) -> Option<End>,
) {
    while !done() && !is_closing() {
        match read(role) {
            None => {}
            Some(End::Stopped) => break,
            Some(End::Woken) if clock::monotonic() >= until => break,
            Some(End::Woken) => {}
        }
    }
}

impl<R> Seat<R> {
    pub(super) fn new() -> Self {
        let state = State {
            role: None,
            wanted: false,
            uses: 0,
            take_now: false,
            keep: false,
            contended: Instant::START,
            interrupts: 0,
            sleeps_long: false,
            patience: LEAST_PATIENCE,
            closed: false,
        };
        Self {
            state: Mutex::new(state),
            to_candidate: Condvar::new(),
            to_own_thread: Condvar::new(),
            leading: AtomicU64::new(0),
            inside: AtomicU64::new(0),
        }
    }

    /// What the own thread does until reading stops, or `is_closing`: it reads one after the other by `read`, and gives the role up when
    /// another thread asks.
    pub(super) fn serve(
        &self,
        mut role: R,
        is_closing: impl Fn() -> bool,
        mut read: impl FnMut(&mut R) -> Option<End>,
    ) {
        let mut served = false;
        while !is_closing() {
            match read(&mut role) {
                None => served = true,
                Some(End::Stopped) => return,
                Some(End::Woken) if self.is_wanted() => {
                    let Some(back) = self.give_up(role, served) else { return };
                    role = back;
                    served = false;
                }
                Some(End::Woken) => {}
            }
        }
    }

    /// The thread of that number reads on below a call of the engine. Gives what [`Seat::leave`] is to be given.
    pub(super) fn enter(&self, thread: u64) -> u64 {
        let before = self.inside.swap(thread, SeqCst);
        // From here on it sees what it waits for, or is interrupted.
        fence(SeqCst);
        before
    }

    /// It reads no more there.
    pub(super) fn leave(&self, before: u64) {
        self.inside.store(before, SeqCst);
    }

    /// True if another thread than the own one reads, or the own one from inside.
    pub(super) fn is_led(&self) -> bool {
        self.leading() != 0 || self.inside.load(SeqCst) != 0
    }

    /// Number of the thread that leads or is about to; 0 if there is none.
    fn leading(&self) -> u64 {
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
    ) -> Asked<'_, R> {
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
        // From here on it sees what it waits for, or is interrupted.
        fence(SeqCst);
        if let Some(role) = state.role.take() {
            return Asked::Granted(Leader { seat: self, role: Some(role) });
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
                return Asked::Granted(Leader { seat: self, role: Some(role) });
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
    fn lay_down(&self, role: R) {
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
    fn interrupt_candidate(&self) {
        let mut state = self.lock();
        if state.wanted {
            state.interrupts = state.interrupts.wrapping_add(1);
            self.to_candidate.notify_all();
        }
    }

    /// Whether the own thread keeps the role from now on. The thread that leads now goes on until it is interrupted.
    pub(super) fn keep(&self, keep: bool) {
        let mut state = self.lock();
        state.keep = keep;
        if keep {
            self.hurry(&mut state);
        }
    }

    /// True if the own thread shall give the role up.
    fn is_wanted(&self) -> bool {
        self.lock().wanted
    }

    /// The own thread gives the role up and has it back when no other thread wants it any more; `None` after [`Seat::close`].
    /// `served`: it was of use to have it.
    fn give_up(&self, role: R, served: bool) -> Option<R> {
        let mut state = self.lock();
        if !state.wanted && !state.closed {
            // Who asked has gone already. Nothing would be read until the patience below ends.
            return Some(role);
        }
        state.patience =
            if served { LEAST_PATIENCE } else { MOST_PATIENCE.min(state.patience.saturating_mul(2)) };
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
            // Woken in vain, because another thread leads or is about to: a thread that wants it taken afterwards has to wake it again.
            state.take_now = false;
            state.sleeps_long = rested && sleep > state.patience;
            let (woken, timeout) =
                self.to_own_thread.wait_timeout(state, sleep).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            let uses = state.uses.wrapping_sub(seen);
            rested = timeout.timed_out() && uses == 0;
            sleep = match uses {
                0 if rested => LONG_SLEEP.min(sleep.saturating_mul(2)),
                BUSY.. => MOST_PATIENCE.min(sleep.saturating_mul(2)),
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

    /// After [`Seat::close`]: waits until no thread leads any more, except for the thread of that number.
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
    fn hurry(&self, state: &mut State<R>) {
        if state.role.is_some() && !state.take_now {
            state.take_now = true;
            self.to_own_thread.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R> Leader<'_, R> {
    /// What reading takes; none after it was laid down.
    pub(super) fn role(&mut self) -> Option<&mut R> {
        self.role.as_mut()
    }
}

impl<R> Drop for Leader<'_, R> {
    fn drop(&mut self) {
        if let Some(role) = self.role.take() {
            self.seat.lay_down(role);
        }
    }
}

impl<R> State<R> {
    /// The own thread shall have the role.
    fn keeps(&mut self) -> bool {
        if self.contended != Instant::START && self.contended <= clock::monotonic() {
            self.contended = Instant::START;
        }
        self.keep || self.contended != Instant::START
    }
}

impl<R> std::fmt::Debug for State<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("free", &self.role.is_some())
            .field("wanted", &self.wanted)
            .field("keep", &self.keep)
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}
