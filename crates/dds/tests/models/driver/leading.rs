//! Datagrams are read as long as somebody can: by the own thread, or by one that waits and leads.
use std::sync::Arc;

use models::atomic::Ordering::{Relaxed, SeqCst};
use models::atomic::{AtomicBool, AtomicU64};
use models::{Alone, Condvar, Mutex, thread};
use wire::Instant;

use super::lead::{Asked, End, Seat, interrupt, read_until};
use crate::condition::signal::Signal;
use crate::host::Host;
use crate::node::watch::Waiter as _;
use crate::thread::this_thread;

/// What lies in a socket.
#[derive(Default)]
struct Inside {
    datagrams: u32,
    woken: bool,
    stopped: bool,
}

/// A socket that can be woken and stopped, as those of `udp`.
#[derive(Default)]
struct Socket {
    inside: Mutex<Inside>,
    news: Condvar,
}

impl Socket {
    fn change(&self, change: impl FnOnce(&mut Inside)) {
        change(&mut self.inside.lock().unwrap());
        self.news.notify_all();
    }

    fn receive(&self) -> Option<End> {
        let mut inside = self.inside.lock().unwrap();
        loop {
            if inside.stopped {
                return Some(End::Stopped);
            }
            if inside.woken {
                inside.woken = false;
                return Some(End::Woken);
            }
            if inside.datagrams > 0 {
                inside.datagrams -= 1;
                return None;
            }
            inside = self.news.wait(inside).unwrap();
        }
    }
}

/// What only the thread that reads may touch.
struct Role(Alone);

/// A participant that counts what arrives, and tells of it.
struct Participant {
    socket: Socket,
    seat: Seat<Role>,
    closing: AtomicBool,
    arrived: AtomicU64,
    signals: Vec<Signal>,
}

impl Participant {
    fn new(waiters: usize) -> Arc<Self> {
        Arc::new(Self {
            socket: Socket::default(),
            seat: Seat::new(),
            closing: AtomicBool::new(false),
            arrived: AtomicU64::new(0),
            signals: (0..waiters).map(|_| Signal::default()).collect(),
        })
    }

    fn read(&self, role: &Role) -> Option<End> {
        let end = self.socket.receive();
        // Two who do this at once are found.
        role.0.act();
        if end.is_none() {
            self.arrived.fetch_add(1, Relaxed);
            self.signals.iter().for_each(|signal| signal.wake());
        }
        end
    }

    fn is_closing(&self) -> bool {
        self.closing.load(SeqCst)
    }

    /// The own thread.
    fn serve(self: &Arc<Self>) -> thread::JoinHandle<()> {
        let own = Arc::clone(self);
        let role = Role(Alone::new());
        thread::spawn(move || own.seat.serve(role, || own.is_closing(), |role| own.read(role)))
    }

    /// As a WaitSet, which may lead or not.
    fn wait(self: &Arc<Self>, signal: usize, wanted: u64, leads: bool) {
        let signal = &self.signals[signal];
        loop {
            let generation = signal.generation();
            if self.arrived.load(Relaxed) >= wanted || self.is_closing() {
                return;
            }
            let changed = || signal.generation() != generation;
            let host = Arc::clone(self);
            if !leads || !signal.receive(host, Instant::NEVER, &changed) {
                signal.sleep(wire::Duration::INFINITE, changed);
            }
        }
    }

    fn waiter(self: &Arc<Self>, signal: usize, wanted: u64) -> thread::JoinHandle<()> {
        let waiter = Arc::clone(self);
        thread::spawn(move || waiter.wait(signal, wanted, true))
    }

    fn put(&self, datagrams: u32) {
        self.socket.change(|inside| inside.datagrams += datagrams);
    }

    fn close(&self) {
        self.closing.store(true, SeqCst);
        self.socket.change(|inside| inside.stopped = true);
        self.seat.close();
        self.signals.iter().for_each(|signal| signal.wake());
        self.seat.wait_until_left(this_thread());
    }
}

impl Host for Participant {
    fn receive(&self, until: Instant, done: &dyn Fn() -> bool) -> bool {
        if self.is_closing() {
            return false;
        }
        let wake = || {
            self.socket.change(|inside| inside.woken = true);
            true
        };
        let mut leader = match self.seat.ask(this_thread(), until, done, &wake) {
            Asked::Refused => return false,
            Asked::Done => return true,
            Asked::Granted(leader) => leader,
        };
        read_until(leader.role().unwrap(), until, done, || self.is_closing(), |role| self.read(role));
        true
    }

    fn interrupt(&self) {
        let wake: &dyn Fn() = &|| self.socket.change(|inside| inside.woken = true);
        interrupt(this_thread(), [(&self.seat, wake)]);
    }
}

#[test]
fn who_waits_gets_what_comes_whoever_reads_it() {
    models::check(2, || {
        let participant = Participant::new(1);
        let own = participant.serve();
        let waiter = participant.waiter(0, 1);
        participant.put(1);
        waiter.join().unwrap();
        participant.close();
        own.join().unwrap();
    });
}

#[test]
fn of_two_who_wait_one_reads_for_both_or_the_own_thread_does() {
    models::check(2, || {
        let participant = Participant::new(2);
        let own = participant.serve();
        let waiters = [participant.waiter(0, 1), participant.waiter(1, 2)];
        participant.put(2);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        participant.close();
        own.join().unwrap();
    });
}

#[test]
fn the_own_thread_reads_on_when_nobody_leads_any_more() {
    models::check(2, || {
        let participant = Participant::new(2);
        let own = participant.serve();
        participant.put(1);
        participant.wait(0, 1, true);
        // Nobody waits any more. The own thread looks whether somebody leads now and then; time goes on when all have done what they can.
        participant.put(1);
        let mut milliseconds = 0;
        while participant.arrived.load(Relaxed) < 2 {
            assert!(milliseconds < 1_000, "nobody reads");
            milliseconds += 20;
            models::time::advance(milliseconds * 1_000_000);
            thread::yield_now();
        }
        participant.close();
        own.join().unwrap();
    });
}

#[test]
fn closing_ends_everybody_whoever_reads() {
    models::check(2, || {
        let participant = Participant::new(1);
        let own = participant.serve();
        let waiter = participant.waiter(0, 1);
        participant.close();
        waiter.join().unwrap();
        own.join().unwrap();
    });
}

#[test]
fn a_role_that_the_own_thread_shall_keep_comes_back_to_it() {
    models::check(2, || {
        let participant = Participant::new(1);
        let own = participant.serve();
        let waiter = participant.waiter(0, 1);
        participant.seat.keep(true);
        participant.put(1);
        waiter.join().unwrap();
        // Time stands still: it is not the end of a wait that brings it back.
        participant.put(1);
        participant.wait(0, 2, false);
        participant.close();
        own.join().unwrap();
    });
}

#[test]
fn who_cannot_wake_the_own_thread_does_not_wait_for_it() {
    models::check(3, || {
        let seat = Seat::<Role>::new();
        assert!(matches!(seat.ask(1, Instant::NEVER, &|| false, &|| false), Asked::Refused));
        // Neither does who has no time.
        assert!(matches!(seat.ask(1, Instant::START, &|| false, &|| panic!("disturbed")), Asked::Done));
        assert!(!seat.is_led());
    });
}
