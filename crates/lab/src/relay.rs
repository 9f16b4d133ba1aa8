//! Holds every frame between two interfaces for a time, and loses some: a long or bad wire.
//!
//! A thread for each direction, real-time if that is granted, with the frames in their order. What comes when the wire is
//! full is lost, as it is with real ones.
use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::{TimeSpec, TimeValLike as _};
use socket2::Socket;

use crate::error::Error;
use crate::tap::{BUFFER, packet_socket};

/// The most frames on the wire, in each direction.
const MOST: usize = 16_384;
/// Octets of the longest frame.
const LONGEST: usize = 2_048;
/// Above the switches.
const PRIORITY: u8 = 60;
/// Frames that are read before others are sent.
const AT_ONCE: usize = 64;

/// A wire, the same in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Relay {
    /// How long every frame is held.
    pub delay: Duration,
    /// Frames of a million that are lost.
    pub loss: u32,
}

impl Relay {
    /// Connects two interfaces for ever; `ready` is called once frames pass.
    ///
    /// # Errors
    /// An interface cannot be used.
    pub fn run(self, interfaces: [&str; 2], ready: impl FnOnce()) -> Result<(), Error> {
        let [left, right] = [open(interfaces[0])?, open(interfaces[1])?];
        ready();
        // The sockets are shared by both threads: what one of them sends does not come back by its own socket.
        thread::scope(|scope| {
            let back = scope.spawn(|| self.carry(&right, &left, 2));
            let there = self.carry(&left, &right, 1);
            there.and(back.join().unwrap_or_else(|_| Err(Error::new("the relay failed", ""))))
        })
    }

    fn carry(self, from: &Socket, to: &Socket, seed: u64) -> Result<(), Error> {
        // Without the priority the times are less even; the record of the lab says whether switches have it.
        let _ = udp::thread::set_real_time(PRIORITY);
        let mut line = Line::new(self, seed);
        let mut buffer = [0; LONGEST];
        loop {
            let wait = line.due().map(|due| due.saturating_duration_since(Instant::now()));
            let wait =
                wait.map(|wait| TimeSpec::nanoseconds(i64::try_from(wait.as_nanos()).unwrap_or(i64::MAX)));
            let mut events = [PollFd::new(from.as_fd(), PollFlags::POLLIN)];
            match ppoll(&mut events, wait, None) {
                Ok(_) | Err(nix::Error::EINTR) => {}
                Err(error) => return Err(Error::new(format!("ppoll: {error}"), "")),
            }
            for _ in 0..AT_ONCE {
                let mut from = from;
                match from.read(&mut buffer) {
                    Ok(length) => line.accept(Instant::now(), buffer.get(..length).unwrap_or_default()),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // An interface that is down says so once.
                    Err(_) => break,
                }
            }
            while let Some(frame) = line.next(Instant::now()) {
                let mut to = to;
                // What the other end has no room for is lost.
                let _ = to.write(&frame);
                line.done(frame);
            }
        }
    }
}

/// The frames in one direction.
#[derive(Debug)]
struct Line {
    relay: Relay,
    frames: VecDeque<(Instant, Vec<u8>)>,
    /// Buffers of frames that have left.
    spare: Vec<Vec<u8>>,
    random: u64,
}

impl Line {
    fn new(relay: Relay, seed: u64) -> Self {
        Self { relay, frames: VecDeque::new(), spare: Vec::new(), random: seed | 1 }
    }

    fn accept(&mut self, now: Instant, frame: &[u8]) {
        if self.loses() || self.frames.len() >= MOST {
            return;
        }
        let mut kept = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(LONGEST));
        kept.clear();
        kept.extend_from_slice(frame);
        self.frames.push_back((now + self.relay.delay, kept));
    }

    /// When the next frame leaves.
    fn due(&self) -> Option<Instant> {
        self.frames.front().map(|(due, _)| *due)
    }

    /// A frame that leaves now.
    fn next(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.due().is_none_or(|due| due > now) {
            return None;
        }
        self.frames.pop_front().map(|(_, frame)| frame)
    }

    fn done(&mut self, frame: Vec<u8>) {
        self.spare.push(frame);
    }

    /// xorshift64: the same frames are lost each time.
    fn loses(&mut self) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % 1_000_000 < u64::from(self.relay.loss)
    }
}

/// A packet socket for whole frames that does not wait.
fn open(interface: &str) -> Result<Socket, Error> {
    let socket = packet_socket(interface)?;
    socket.set_nonblocking(true).map_err(Error::system(interface))?;
    // What is not granted shows as loss under load only.
    let _ = setsockopt(&socket, sockopt::SndBufForce, &BUFFER);
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_millis(5);

    #[test]
    fn frames_leave_in_order_after_the_delay() {
        let mut line = Line::new(Relay { delay: DELAY, loss: 0 }, 1);
        let start = Instant::now();
        line.accept(start, b"one");
        line.accept(start + DELAY / 2, b"two");
        assert_eq!(line.due(), Some(start + DELAY));
        assert_eq!(line.next(start + DELAY - Duration::from_nanos(1)), None);
        let one = line.next(start + DELAY);
        assert_eq!(one.as_deref(), Some(&b"one"[..]));
        line.done(one.unwrap());
        assert_eq!(line.next(start + DELAY), None);
        assert_eq!(line.next(start + DELAY * 2).as_deref(), Some(&b"two"[..]));
        assert_eq!(line.due(), None);
    }

    #[test]
    fn so_many_are_lost_and_no_more_are_kept_than_there_is_room_for() {
        let start = Instant::now();
        let mut line = Line::new(Relay { delay: DELAY, loss: 100_000 }, 1);
        for _ in 0..10_000 {
            line.accept(start, b"frame");
        }
        assert!((8_800..9_200).contains(&line.frames.len()), "{}", line.frames.len());
        let mut line = Line::new(Relay { delay: DELAY, loss: 0 }, 1);
        for _ in 0..=MOST {
            line.accept(start, b"frame");
        }
        assert_eq!(line.frames.len(), MOST);
    }
}
