//! A program that is the links of a lab: it holds frames between interfaces for as long as the links would.
//!
//! One thread for all links, real-time if that is granted, so that all of them have one clock. What comes from an
//! interface goes through the queues of its port, if they are not the kernel's, then over the wire, then out of the interface at
//! the other end. A program that connects to the socket is told what the queues have counted.
mod port;
mod transit;
mod wire;

use std::io::{ErrorKind, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixListener;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::{TimeSpec, TimeValLike as _};
use serde::{Deserialize, Serialize};

use crate::probe::{both_clocks, monotonic};
use crate::tap::Tap;
use crate::train::Heard;
use bridge::classes::Queues;
pub use port::QueueCount;
use port::{Frame, Port};
use system::Error;
use transit::Transits;
use wire::Wire;

/// Bytes of the longest frame.
const LONGEST: usize = 2_048;
/// Above the switches, and above what the kernel does for them in soft interrupts.
const PRIORITY: u8 = 70;
/// Frames that are read from one interface before others are sent.
const AT_ONCE: usize = 8;
/// Frames that are cut off a train before what is due is handed over.
const BETWEEN: usize = 4;
/// A frame whose stamp is older than this, in nanoseconds, has none: the machine's time was changed.
const LONGEST_WAIT: u64 = 100_000_000;
/// A frame is handed over so much before its last bit would have left, in nanoseconds: until a program at the other end
/// has it, as much time passes again.
const HANDING: u64 = 20_000;

/// What the emulator is to be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Description {
    /// Its links.
    pub links: Vec<LinkDescription>,
    /// The core that it is to run on; any if there is none.
    pub core: Option<usize>,
}

/// A link.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LinkDescription {
    /// Its ends.
    pub ends: [EndDescription; 2],
    /// Nanoseconds that every frame is held on the wire.
    pub delay: u64,
    /// Frames of a million that are lost.
    pub loss: u32,
}

/// An end of a link.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EndDescription {
    /// The interface at which the emulator meets this end.
    pub interface: String,
    /// The port as its node knows it: namespace and interface.
    pub port: [String; 2],
    /// The queues of the port, if the emulator is to serve them.
    pub queues: Option<Queues>,
    /// Whether it is a switch's.
    pub switch: bool,
    /// Whether there is a gate, which is told when each frame came.
    pub stamps: bool,
}

/// What the queues of a port have counted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PortCount {
    /// Namespace and interface.
    pub port: [String; 2],
    /// Its queues, the lowest first.
    pub queues: Vec<QueueCount>,
}

/// From an interface to the one at the other end.
struct Way {
    from: usize,
    to: usize,
    /// Whether it begins, and ends, at a switch.
    switches: [bool; 2],
    /// Whether the other end is told when each frame came.
    stamps: bool,
    name: [String; 2],
    port: Option<Port>,
    wire: Wire,
}

impl Way {
    /// A frame that came at that time.
    fn accept(&mut self, came: u64, frame: Frame, transits: &Transits) -> Option<Frame> {
        match &mut self.port {
            Some(port) => {
                let came = if self.switches[0] { transits.leaves(&frame, came) } else { came };
                port.accept(came, frame)
            }
            None => self.wire.accept(came, frame),
        }
    }

    /// When something happens next.
    fn due(&mut self, now: u64) -> Option<u64> {
        let port = self.port.as_mut().and_then(|port| port.due(now));
        port.into_iter().chain(self.wire.due()).min()
    }

    /// A frame that is at the other end by now, and when it is; what is lost on the way goes to `spare`.
    fn next(&mut self, now: u64, spare: &mut Vec<Frame>) -> Option<(u64, Frame)> {
        while let Some((at, frame)) = self.port.as_mut().and_then(|port| port.next(now, HANDING)) {
            spare.extend(self.wire.accept(at, frame));
        }
        self.wire.next(if self.port.is_some() { now.saturating_add(HANDING) } else { now })
    }
}

/// Is the links for ever; `ready` is called once frames pass.
///
/// # Errors
/// An interface cannot be used.
pub fn run(description: &Description, listener: &UnixListener, ready: impl FnOnce()) -> Result<(), Error> {
    listener.set_nonblocking(true).map_err(Error::system("the socket of the emulator"))?;
    let (mut sockets, mut ways) = (Vec::new(), Vec::new());
    for link in &description.links {
        let first = sockets.len();
        for (side, end) in link.ends.iter().enumerate() {
            sockets.push(open(&end.interface)?);
            let (from, seed) = (first + side, ways.len() as u64 + 1);
            ways.push(Way {
                from,
                to: first + 1 - side,
                switches: [side, 1 - side].map(|side| link.ends.get(side).is_some_and(|end| end.switch)),
                name: end.port.clone(),
                stamps: link.ends.get(1 - side).is_some_and(|end| end.stamps),
                port: end.queues.as_ref().map(Port::new),
                wire: Wire::new(link.delay, link.loss, seed),
            });
        }
    }
    if let Some(core) = description.core {
        // What is not granted costs time only.
        let _ = udp::thread::set_cores(&[core]);
    }
    // Without the priority the times are less even; the record of the lab says whether switches have it.
    let _ = udp::thread::set_real_time(PRIORITY);
    ready();
    carry(&sockets, &mut ways, listener)
}

fn carry(sockets: &[Tap], ways: &mut [Way], listener: &UnixListener) -> Result<(), Error> {
    let mut heard = Heard::default();
    let mut spare: Vec<Frame> = Vec::new();
    let serves = ways.iter().any(|way| way.port.is_some());
    let mut transits = Transits::default();
    let mut events: Vec<PollFd<'_>> = sockets
        .iter()
        .map(Tap::as_fd)
        .chain([listener.as_fd()])
        .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
        .collect();
    loop {
        let before = monotonic();
        let due = ways.iter_mut().filter_map(|way| way.due(before)).min();
        let early = if serves { HANDING } else { 0 };
        let wait = due.map(|due| {
            let wait = due.saturating_sub(early).saturating_sub(before);
            TimeSpec::nanoseconds(i64::try_from(wait).unwrap_or(i64::MAX))
        });
        match ppoll(&mut events, wait, None) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(Error::new(format!("ppoll: {error}"), "")),
        }
        let (now, wall) = both_clocks();
        for index in 0..ways.len() {
            let Some(from) = ways.get(index).map(|way| way.from) else { continue };
            let (Some(socket), Some(event)) = (sockets.get(from), events.get(from)) else { continue };
            if event.any() != Some(true) {
                continue;
            }
            let mut frames = 0;
            while frames < AT_ONCE {
                // An interface that is down says so once.
                let Ok(Some(stamp)) = socket.take(&mut heard) else { break };
                let came = if serves { came(stamp, now, wall) } else { now };
                let mut frame = spare.pop().unwrap_or_else(|| Vec::with_capacity(LONGEST));
                while heard.next(&mut frame) {
                    frames += 1;
                    if let Some(way) = ways.get_mut(index) {
                        spare.extend(way.accept(came, frame, &transits));
                    }
                    // A train takes long to cut; what is due meanwhile does not wait for that.
                    if frames % BETWEEN == 0 {
                        hand_over(sockets, ways, &mut transits, &mut spare);
                    }
                    frame = spare.pop().unwrap_or_else(|| Vec::with_capacity(LONGEST));
                }
                spare.push(frame);
                // What is nothing counts, too, so that it does not go on for ever.
                frames += 1;
            }
        }
        hand_over(sockets, ways, &mut transits, &mut spare);
        if events.last().and_then(PollFd::any) == Some(true) {
            tell(listener, ways);
        }
    }
}

/// When the kernel saw a frame, and not when this thread got to it, by the monotonic clock, which was `now` when that of the stamp was
/// `wall`. An odd stamp is none.
fn came(stamp: u64, now: u64, wall: u64) -> u64 {
    let ahead = stamp.wrapping_sub(wall).cast_signed();
    if ahead.unsigned_abs() < LONGEST_WAIT { now.saturating_add_signed(ahead) } else { now }
}

/// Hands over what is at its other end by now.
fn hand_over(sockets: &[Tap], ways: &mut [Way], transits: &mut Transits, spare: &mut Vec<Frame>) {
    let now = monotonic();
    for way in ways {
        let Some(to) = sockets.get(way.to) else { continue };
        while let Some((at, frame)) = way.next(now, spare) {
            if way.switches[1] && way.port.is_some() {
                transits.enters(&frame, at);
            }
            // What the other end has no room for is lost.
            let _ = to.put(&frame, way.stamps.then_some(at));
            spare.push(frame);
        }
    }
}

/// Tells each program that has connected what the queues have counted; one that does not read misses it.
fn tell(listener: &UnixListener, ways: &[Way]) {
    let counts: Vec<PortCount> = ways
        .iter()
        .filter_map(|way| Some(PortCount { port: way.name.clone(), queues: way.port.as_ref()?.counts() }))
        .collect();
    let text = serde_json::to_vec(&counts).unwrap_or_default();
    loop {
        match listener.accept() {
            Ok((mut stream, _)) => {
                let _ = stream.set_nonblocking(true);
                let _ = stream.write_all(&text);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// A packet socket for whole frames that does not wait.
fn open(interface: &str) -> Result<Tap, Error> {
    let tap = Tap::open(interface)?;
    tap.never_wait().map_err(Error::system(interface))?;
    Ok(tap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_came_when_its_stamp_says_also_since_the_clocks_were_looked_at() {
        let (now, wall) = (5_000_000_000, 1_700_000_000_000_000_000_u64);
        for (since, expected) in [
            (-40_000, now - 40_000),
            (0, now),
            (70_000, now + 70_000),
            (1 - LONGEST_WAIT.cast_signed(), now + 1 - LONGEST_WAIT),
            // The machine's time was changed, or there is no stamp.
            (-LONGEST_WAIT.cast_signed(), now),
            (LONGEST_WAIT.cast_signed(), now),
            (-wall.cast_signed(), now),
        ] {
            assert_eq!(came(wall.saturating_add_signed(since), now, wall), expected, "{since}");
        }
    }
}
