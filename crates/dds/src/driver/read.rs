//! Reading sockets and rings: by their own threads, by a thread that leads, and from inside of the engine.
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use udp::{Buffer, ReceiveError, Received, Receiver, Socket, Wait};
use wire::Instant;

use crate::driver::inside::{Duty, Inside};
use crate::driver::lead::{Asked, End, Seat};
use crate::driver::sockets::Sockets;
use crate::driver::{Driver, clock, lead};
use crate::host::{BY_LINK, Engine};
use crate::links::{Got, Links};
use crate::thread::this_thread;

/// A callback may wait in a callback that waits, and so on; no deeper than that.
pub(super) const MAX_DEPTH: usize = 8;
/// Bytes of a buffer: more than any datagram.
const BUFFER: usize = 65_536;
/// How many datagrams are read by a wait whose time is over when it begins.
const GLANCE: usize = 64;
/// A spinning thread polls so often before it looks at the clock.
const LOOKS: usize = 8;
/// How long a thread rests after the system refused to receive.
const REST: Duration = Duration::from_millis(1);

/// What reading takes.
pub(super) struct Role {
    source: Source,
    buffer: Buffer,
    engine: Arc<dyn Engine>,
    /// It is a socket of endpoints: the engine is told of rests.
    rests: bool,
}

/// What is read.
enum Source {
    Socket(Receiver),
    Rings(Arc<Links>),
}

impl std::fmt::Debug for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Role").field("rests", &self.rests).finish_non_exhaustive()
    }
}

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

impl Driver {
    /// The thread of a socket.
    pub(super) fn read(&self, assignment: Assignment, engine: Arc<dyn Engine>) {
        let Assignment { receiver, led, user } = assignment;
        let role = Box::new(Role { source: Source::Socket(receiver), buffer: buffer(), engine, rests: user });
        self.read_on(role, if led { Duty::Reader } else { Duty::Other });
    }

    /// The thread of the rings.
    pub(super) fn read_rings(&self, links: Arc<Links>, engine: Arc<dyn Engine>) {
        // Only endpoints' datagrams come that way.
        let role = Role { source: Source::Rings(links), buffer: buffer(), engine, rests: true };
        self.read_on(Box::new(role), Duty::Rings);
    }

    fn read_on(&self, role: Box<Role>, duty: Duty) {
        let read = |role: &mut Box<Role>| self.read_one(role, duty, Wait::Forever);
        self.seat_of(duty).serve(role, || self.is_closing(), read);
    }

    /// Reads the endpoints' socket on a thread that waits.
    pub(super) fn lead(&self, until: Instant, done: &dyn Fn() -> bool) -> bool {
        let asked = self.seat.ask(this_thread(), until, done, &|| self.wake_reader());
        let mut leader = match asked {
            Asked::Refused => return false,
            Asked::Done => return true,
            Asked::Granted(leader) => leader,
        };
        let Some(role) = leader.role() else { return true };
        if clock::monotonic() >= until {
            for _ in 0..GLANCE {
                if done() || self.is_closing() || self.read_one(role, Duty::Reader, Wait::No).is_some() {
                    break;
                }
            }
            return true;
        }
        self.timer.set_reader(until);
        let read = |role: &mut Box<Role>| self.read_one(role, Duty::Reader, Wait::Forever);
        lead::read_until(role, until, done, || self.is_closing(), read);
        true
    }

    /// Reads the rings on a thread that waits.
    pub(super) fn lead_rings(&self, until: Instant, done: &dyn Fn() -> bool) -> bool {
        let Some(links) = &self.links else { return false };
        let wake = || {
            links.wake();
            true
        };
        let mut leader = match self.ring_seat.ask(this_thread(), until, done, &wake) {
            Asked::Refused => return false,
            Asked::Done => return true,
            Asked::Granted(leader) => leader,
        };
        let Some(role) = leader.role() else { return true };
        self.read_rings_until(role, until, done);
        true
    }

    /// Reads the rings on below a call of the engine, on the thread that is in charge of them.
    pub(super) fn read_rings_inside(&self, until: Instant, done: &dyn Fn() -> bool) -> bool {
        let (Some(links), Some(engine)) = (&self.links, self.engine()) else { return false };
        let buffer = self.spare().pop().unwrap_or_else(buffer);
        let mut role = Role { source: Source::Rings(Arc::clone(links)), buffer, engine, rests: true };
        let before = self.ring_seat.enter(this_thread());
        self.read_rings_until(&mut role, until, done);
        self.ring_seat.leave(before);
        self.spare().push(role.buffer);
        true
    }

    /// No timer has to wake it: a thread that sleeps on a doorbell says for how long.
    fn read_rings_until(&self, role: &mut Role, until: Instant, done: &dyn Fn() -> bool) {
        // A wait whose time is over when it begins takes what lies there.
        let mut glances = 0;
        while !done() && !self.is_closing() {
            let wait = match clock::until(until) {
                None => Wait::Forever,
                Some(left) if left.is_zero() => Wait::No,
                Some(left) => Wait::AtMost(left),
            };
            let end = self.read_one(role, Duty::Rings, wait);
            if wait == Wait::No {
                glances += 1;
                if end.is_some() || glances == GLANCE {
                    break;
                }
            }
            if matches!(end, Some(End::Stopped)) {
                break;
            }
        }
    }

    fn seat_of(&self, duty: Duty) -> &Seat<Box<Role>> {
        if duty == Duty::Rings { &self.ring_seat } else { &self.seat }
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
        let mut role = Role { source: Source::Socket(receiver), buffer, engine, rests: true };
        let before = self.seat.enter(this_thread());
        let reader = self.timer.set_reader(until);
        let read = |role: &mut Role| self.read_one(role, Duty::Reader, Wait::Forever);
        lead::read_until(&mut role, until, done, || self.is_closing(), read);
        self.timer.set_reader(reader);
        self.seat.leave(before);
        self.spare().push(role.buffer);
        true
    }

    pub(super) fn spare(&self) -> MutexGuard<'_, Vec<Buffer>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One datagram; or why there was none.
    fn read_one(&self, role: &mut Role, duty: Duty, wait: Wait) -> Option<End> {
        let _inside = Inside::enter(self.id, duty);
        if role.rests {
            role.engine.on_rest();
        }
        let receiver = match &role.source {
            Source::Socket(receiver) => receiver,
            Source::Rings(links) => {
                return Self::read_ring(links, &mut role.buffer, &*role.engine, wait);
            }
        };
        match self.receive(receiver, &mut role.buffer, duty, wait) {
            Ok(Received::Datagram(datagram)) => {
                if self.is_closing() {
                    return Some(End::Stopped);
                }
                let octets = role.buffer.get(..datagram.octets).unwrap_or_default();
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

    /// Looks for as long as it is configured before it sleeps.
    fn receive(
        &self,
        receiver: &Receiver,
        buffer: &mut [u8],
        duty: Duty,
        wait: Wait,
    ) -> Result<Received, ReceiveError> {
        let spin = self.config.network.spin;
        if duty == Duty::Reader && wait == Wait::Forever && !spin.is_zero() && !self.spins_at_rings() {
            let begun = std::time::Instant::now();
            while begun.elapsed() < spin {
                for _ in 0..LOOKS {
                    match receiver.receive(buffer, Wait::No) {
                        Ok(Received::TimedOut) => std::hint::spin_loop(),
                        received => return received,
                    }
                }
            }
        }
        receiver.receive(buffer, wait)
    }

    /// Two threads that spin would take two cores.
    fn spins_at_rings(&self) -> bool {
        !self.config.shared_memory.spin.is_zero() && self.links.as_ref().is_some_and(|links| links.is_used())
    }

    /// One datagram of a ring; or why there was none.
    fn read_ring(links: &Links, buffer: &mut [u8], engine: &dyn Engine, wait: Wait) -> Option<End> {
        if links.is_closed() {
            return Some(End::Stopped);
        }
        let got = links.receive(buffer).or_else(|| match wait {
            Wait::No => None,
            Wait::AtMost(limit) => links.wait(limit, buffer),
            Wait::Forever => links.wait(Duration::MAX, buffer),
        });
        match got {
            Some(Got::Copied(len)) => engine.on_datagram(BY_LINK, buffer.get(..len).unwrap_or_default()),
            Some(Got::Kept(buffer, len)) => engine.on_kept_datagram(BY_LINK, &buffer, len),
            // Perhaps something: it is looked at again, after the waiting thread was asked.
            None => return Some(End::Woken),
        }
        None
    }
}

fn buffer() -> Buffer {
    Buffer::new(BUFFER)
}
