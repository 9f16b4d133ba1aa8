//! A program that is the links of a lab: it holds frames between interfaces for as long as the links would.
//!
//! One thread for all links, real-time if that is granted, so that all of them have one clock. What comes from an
//! interface goes through the queues of its port, if they are not the kernel's, then over the wire, then out of the interface at
//! the other end. Whoever connects to the socket is told what the queues have counted.
mod aftermath;
mod clock;
mod port;
mod wire;

use std::io::{ErrorKind, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixListener;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::{TimeSpec, TimeValLike as _};
use serde::{Deserialize, Serialize};

use crate::classes::Queues;
use crate::error::Error;
use crate::probe::{self, Stall, monotonic, realtime};
use crate::tap::Tap;
use crate::train::Heard;
use aftermath::Aftermath;
use clock::LinkClock;
pub use port::QueueCount;
use port::{Frame, Port};
use wire::Wire;

/// Octets of the longest frame.
const LONGEST: usize = 2_048;
/// Above the switches, and above what the kernel does for them in soft interrupts.
const PRIORITY: u8 = 70;
/// Frames that are read from one interface before others are sent.
const AT_ONCE: usize = 8;
/// No frame waits longer than this for the emulator while the machine runs, in nanoseconds.
const LONGEST_WAIT: u64 = 1_000_000;
/// While frames are under way, and a while after the last one, it wants to be run so often, in nanoseconds, to know when it was not.
const TICK: u64 = 250_000;
/// How long after, in nanoseconds.
const RESTLESS: u64 = 20_000_000;

/// A core that wakes so much later than asked for has stood still.
const STOOD_STILL: Duration = Duration::from_micros(200);

/// The links say when they were later than this, in nanoseconds, as any probe does: what a gate bears at the end of a message is little more.
const LATE: u64 = 200_000;
/// A longer stall leaves something behind at ports, in nanoseconds.
const LEAVES: u64 = 500_000;
/// Stalls of other cores that are kept until there are frames.
const STALLS: usize = 1_024;

/// A frame is handed over so much before its last bit would have left, in nanoseconds: until somebody at the other end hears of it
/// it takes as long again.
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
}

/// What the queues of a port have counted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PortCount {
    /// Namespace and interface.
    pub port: [String; 2],
    /// Its queues, the lowest first.
    pub queues: Vec<QueueCount>,
    /// When the links were late by more than 200 us, and from when any core stood still for more than half a millisecond until what that
    /// left behind at this port was gone: from and to, in nanoseconds of the monotonic clock; the last ones, oldest first.
    pub disturbed: Vec<[u64; 2]>,
}

/// From an interface to the one at the other end.
struct Way {
    from: usize,
    to: usize,
    /// When the last frame came.
    last: u64,
    name: [String; 2],
    port: Option<Port>,
    aftermath: Aftermath,
    wire: Wire,
}

impl Way {
    /// A frame that came at that time.
    fn accept(&mut self, came: u64, frame: Frame) -> Option<Frame> {
        self.last = came.max(self.last);
        match &mut self.port {
            Some(port) => port.accept(self.last, frame),
            None => self.wire.accept(self.last, frame),
        }
    }

    /// When something happens next.
    fn due(&mut self, now: u64) -> Option<u64> {
        let port = self.port.as_mut().and_then(|port| port.due(now));
        port.into_iter().chain(self.wire.due()).min()
    }

    /// A frame that is at the other end by now; what is lost on the way goes to `spare`.
    fn next(&mut self, now: u64, spare: &mut Vec<Frame>) -> Option<Frame> {
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
                last: 0,
                name: end.port.clone(),
                port: end.queues.as_ref().map(Port::new),
                aftermath: Aftermath::default(),
                wire: Wire::new(link.delay, link.loss, seed),
            });
        }
    }
    // When the other cores have stood still, where those are who feed the links. Probes are started while all cores are this thread's.
    let (told, stalls) = sync_channel(STALLS);
    if ways.iter().any(|way| way.port.is_some()) {
        let told = move |stall: Stall| {
            // What there is no room for is old.
            let _ = told.try_send(stall);
        };
        probe::tell(STOOD_STILL, description.core, told)?;
    }
    if let Some(core) = description.core {
        // What is not granted costs time only.
        let _ = udp::thread::set_cores(&[core]);
    }
    // Without the priority the times are less even; the record of the lab says whether switches have it.
    let _ = udp::thread::set_real_time(PRIORITY);
    ready();
    carry(&sockets, &mut ways, listener, &stalls)
}

fn carry(
    sockets: &[Tap],
    ways: &mut [Way],
    listener: &UnixListener,
    stalls: &Receiver<Stall>,
) -> Result<(), Error> {
    let mut heard = Heard::default();
    let mut spare: Vec<Frame> = Vec::new();
    let serves = ways.iter().any(|way| way.port.is_some());
    let mut active = 0;
    let mut clock = LinkClock::new(monotonic());
    let mut events: Vec<PollFd<'_>> = sockets
        .iter()
        .map(Tap::as_fd)
        .chain([listener.as_fd()])
        .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
        .collect();
    loop {
        let now = clock.now();
        let due = ways.iter_mut().filter_map(|way| way.due(now)).min();
        let before = monotonic();
        let early = if serves { HANDING } else { 0 };
        let tick = before.saturating_add(TICK);
        let asked = match due {
            Some(due) => Some(clock.when(due.saturating_sub(early)).min(tick)),
            None => (serves && before.saturating_sub(active) < RESTLESS).then_some(tick),
        };
        let wait = asked.map(|asked| {
            TimeSpec::nanoseconds(i64::try_from(asked.saturating_sub(before)).unwrap_or(i64::MAX))
        });
        match ppoll(&mut events, wait, None) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(Error::new(format!("ppoll: {error}"), "")),
        }
        // A wire alone holds frames for its delay at least, and makes up for nothing.
        let real = monotonic();
        clock.advance(asked.filter(|_| serves), real);
        let (now, wall) = (clock.now(), realtime());
        for way in ways.iter_mut().filter(|_| serves) {
            let idle = way.port.as_ref().and_then(Port::idle_since);
            way.aftermath.look(real, idle);
        }
        if let Some(asked) = asked.filter(|asked| real.saturating_sub(*asked) > LATE) {
            let leaves = real - asked > LEAVES;
            for way in &mut *ways {
                if leaves { way.aftermath.stood_still(asked, real) } else { way.aftermath.late(asked, real) }
            }
        }
        let mut time = 0_u64;
        for stall in stalls.try_iter() {
            let stood = stall.to.saturating_sub(stall.from);
            // Nothing is left of it if nothing was under way since.
            if stall.to.saturating_add(stood) < before {
                continue;
            }
            time = time.saturating_add(stood);
            if stood > LEAVES {
                ways.iter_mut().for_each(|way| way.aftermath.stood_still(stall.from, stall.to));
            }
        }
        // Nobody on these cores has sent anything since; what the clock stood still for at the same time is made up for by it.
        let time = time.saturating_sub(clock.lag());
        if time > 0 {
            ways.iter_mut().filter_map(|way| way.port.as_mut()).for_each(|port| port.fed_late(now, time));
        }
        for way in &mut *ways {
            let (Some(from), Some(event)) = (sockets.get(way.from), events.get(way.from)) else { continue };
            if event.any() != Some(true) {
                continue;
            }
            active = real;
            let mut frames = 0;
            while frames < AT_ONCE {
                // An interface that is down says so once.
                let Ok(Some(stamp)) = from.take(&mut heard) else { break };
                // When the kernel saw it, and not when this thread got to it; an odd stamp is none.
                let waited = wall.saturating_sub(stamp);
                let waited = if serves && waited < LONGEST_WAIT { waited } else { 0 };
                let mut frame = spare.pop().unwrap_or_else(|| Vec::with_capacity(LONGEST));
                while heard.next(&mut frame) {
                    frames += 1;
                    spare.extend(way.accept(now.saturating_sub(waited), frame));
                    frame = spare.pop().unwrap_or_else(|| Vec::with_capacity(LONGEST));
                }
                spare.push(frame);
                // What is nothing counts, too, so that it does not go on for ever.
                frames += 1;
            }
        }
        for way in &mut *ways {
            let Some(to) = sockets.get(way.to) else { continue };
            while let Some(frame) = way.next(now, &mut spare) {
                // What the other end has no room for is lost.
                let _ = to.put(&frame);
                spare.push(frame);
            }
        }
        if events.last().and_then(PollFd::any) == Some(true) {
            tell(listener, ways);
        }
    }
}

/// Tells whoever has connected what the queues have counted; who does not listen misses it.
fn tell(listener: &UnixListener, ways: &[Way]) {
    let now = monotonic();
    let counts: Vec<PortCount> = ways
        .iter()
        .filter_map(|way| {
            let queues = way.port.as_ref()?.counts();
            Some(PortCount { port: way.name.clone(), queues, disturbed: way.aftermath.told(now) })
        })
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
