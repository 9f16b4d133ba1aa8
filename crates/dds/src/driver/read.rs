//! Reading sockets: by their own threads, by a thread that leads, and from inside of the engine.
use std::net::SocketAddr;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::fence;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use udp::{Received, Receiver, Socket, Wait};
use wire::Instant;

use crate::driver::inside::{self, Duty, Inside};
use crate::driver::lead::{Asked, Role};
use crate::driver::sockets::Sockets;
use crate::driver::{Driver, clock};
use crate::host::Engine;

/// A callback may wait in a callback that waits, and so on; no deeper than that.
pub(super) const MAX_DEPTH: usize = 8;
/// Octets of a buffer: more than any datagram.
const BUFFER: usize = 65_536;
/// How many datagrams are read by a wait whose time is over when it begins.
const GLANCE: usize = 64;
/// How long a thread rests after the system refused to receive.
const REST: Duration = Duration::from_millis(1);

/// A socket, and whether others may read it in the place of its thread.
pub(super) struct Assignment {
    receiver: Receiver,
    led: bool,
    user: bool,
}

/// The socket of the endpoints that others than its thread may read.
pub(super) fn led(sockets: &Sockets) -> Option<&Socket> {
    sockets.user.iter().next()
}

/// Every socket with the name of its thread.
pub(super) fn assignments(sockets: &Sockets) -> Vec<(&'static str, Assignment)> {
    let led = led(sockets).map(Socket::local);
    let named = [
        (["meta", "meta6"], &sockets.metatraffic, false),
        (["user", "user6"], &sockets.user, true),
        (["group", "group6"], &sockets.metatraffic_groups, false),
        (["ugroup", "ugroup6"], &sockets.user_groups, true),
    ];
    named
        .iter()
        .flat_map(|(names, pair, user)| pair.iter().map(move |socket| (names, socket, *user)))
        .map(|(names, socket, user)| {
            let local: SocketAddr = socket.local();
            let [v4, v6] = names;
            let name = if local.is_ipv4() { v4 } else { v6 };
            (*name, Assignment { receiver: socket.receiver(), led: Some(local) == led, user })
        })
        .collect()
}

/// Why reading ended.
enum End {
    Woken,
    Stopped,
}

impl Driver {
    /// The thread of a socket.
    pub(super) fn read(&self, assignment: Assignment, engine: Arc<dyn Engine>) {
        let Assignment { receiver, led, user } = assignment;
        let mut role = Box::new(Role { receiver, buffer: buffer(), engine, rests: user });
        let duty = if led { Duty::Reader } else { Duty::Other };
        let mut served = false;
        while !self.is_closing() {
            match self.read_one(&mut role, duty, Wait::Forever) {
                None => served = true,
                Some(End::Stopped) => return,
                Some(End::Woken) if self.seat.is_wanted() => {
                    let Some(back) = self.seat.give_up(role, served) else { return };
                    role = back;
                    served = false;
                }
                Some(End::Woken) => {}
            }
        }
    }

    /// Reads the endpoints' socket on a thread that waits.
    pub(super) fn lead(&self, until: Instant, done: &dyn Fn() -> bool) -> bool {
        let asked = self.seat.ask(inside::this_thread(), until, done, &|| self.wake_reader());
        let role = match asked {
            Asked::Refused => return false,
            Asked::Done => return true,
            Asked::Granted(role) => role,
        };
        let mut leader = Leader { driver: self, role: Some(role) };
        let Some(role) = leader.role.as_deref_mut() else { return true };
        fence(SeqCst);
        if clock::monotonic() >= until {
            for _ in 0..GLANCE {
                if done() || self.is_closing() || self.read_one(role, Duty::Reader, Wait::No).is_some() {
                    break;
                }
            }
            return true;
        }
        self.timer.set_reader(until);
        while !done() && !self.is_closing() {
            match self.read_one(role, Duty::Reader, Wait::Forever) {
                None => {}
                Some(End::Stopped) => break,
                Some(End::Woken) if clock::monotonic() >= until => break,
                Some(End::Woken) => {}
            }
        }
        true
    }

    /// Reads on below a call of the engine, on the thread that is in charge of the endpoints' socket.
    pub(super) fn read_inside(&self, until: Instant, done: &dyn Fn() -> bool) -> bool {
        let (receiver, engine) = {
            let open = self.state();
            let Some(open) = open.as_ref() else { return false };
            let (Some(socket), Some(engine)) = (led(&open.sockets), &open.engine) else { return false };
            if socket.waker().is_none() {
                return false;
            }
            (socket.receiver(), Arc::clone(engine))
        };
        let buffer = self.spare().pop().unwrap_or_else(buffer);
        let mut role = Role { receiver, buffer, engine, rests: true };
        let pumping = self.pumping.swap(inside::this_thread(), SeqCst);
        let reader = self.timer.set_reader(until);
        fence(SeqCst);
        while !done() && !self.is_closing() {
            match self.read_one(&mut role, Duty::Reader, Wait::Forever) {
                None => {}
                Some(End::Stopped) => break,
                Some(End::Woken) if clock::monotonic() >= until => break,
                Some(End::Woken) => {}
            }
        }
        self.timer.set_reader(reader);
        self.pumping.store(pumping, SeqCst);
        self.spare().push(role.buffer);
        true
    }

    pub(super) fn spare(&self) -> MutexGuard<'_, Vec<Box<[u8]>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One datagram; or why there was none.
    fn read_one(&self, role: &mut Role, duty: Duty, wait: Wait) -> Option<End> {
        if role.rests {
            let _inside = Inside::enter(self.id, duty);
            role.engine.on_rest();
        }
        match role.receiver.receive(&mut role.buffer, wait) {
            Ok(Received::Datagram(datagram)) => {
                if self.is_closing() {
                    return Some(End::Stopped);
                }
                let octets = role.buffer.get(..datagram.octets).unwrap_or_default();
                let _inside = Inside::enter(self.id, duty);
                match datagram.details.time.map(clock::timestamp) {
                    Some(received) => role.engine.on_datagram_at(datagram.source, octets, received),
                    None => role.engine.on_datagram(datagram.source, octets),
                }
                None
            }
            Ok(Received::Truncated { .. }) => {
                self.counts.truncated.fetch_add(1, Relaxed);
                None
            }
            Ok(Received::TimedOut | Received::Woken) => Some(End::Woken),
            Ok(Received::Stopped) => Some(End::Stopped),
            Err(_) => {
                self.counts.receive_errors.fetch_add(1, Relaxed);
                std::thread::sleep(REST);
                Some(End::Woken)
            }
        }
    }
}

/// A thread that leads, and that lays the role down whatever happens.
struct Leader<'a> {
    driver: &'a Driver,
    role: Option<Box<Role>>,
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        if let Some(role) = self.role.take() {
            self.driver.seat.lay_down(role);
        }
    }
}

fn buffer() -> Box<[u8]> {
    vec![0; BUFFER].into_boxed_slice()
}
