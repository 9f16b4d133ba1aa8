//! How long a writer's samples are on their way between the wires of two hosts, by the kernel's stamps; and when the machine stood still, by probes that
//! know nothing of it.
use std::collections::BTreeMap;
use std::io::IoSliceMut;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use lab::probe::{Probes, both_clocks};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recv, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use testkit::patience::patiently;

use crate::managed::{Managed, SIZE};
use crate::place::{INTERFACE, Place};
use crate::relay::open;

/// Bytes before the RTPS message: headers of Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;
/// A probe that wakes later than this has seen the machine stand still.
const STILL: Duration = Duration::from_millis(1);
/// What the pairs of these tests are promised, in nanoseconds: `within=20`.
const PROMISED: u64 = 20_000_000;
/// Frames that have to be seen on both wires.
const LEAST: usize = 40;

/// When each RTPS message was seen first, in nanoseconds since 1970.
type Seen = BTreeMap<Vec<u8>, u64>;

/// Watches until it is asked for what it has seen.
pub(crate) struct Wires {
    probes: Probes,
    stop: Arc<AtomicBool>,
    threads: [JoinHandle<Seen>; 2],
}

impl Wires {
    /// Those of two hosts, one of the writer and one of its reader.
    pub(crate) fn between(managed: &Managed, from: &str, to: &str) -> Self {
        let (stop, writer) = (Arc::<AtomicBool>::default(), managed.writer.guid());
        let threads = [from, to].map(|host| {
            let (wire, stop) = (stamped(&managed.host(host)), Arc::clone(&stop));
            std::thread::spawn(move || listen(&wire, &stop, writer))
        });
        Self { probes: Probes::start(STILL).unwrap(), stop, threads }
    }

    /// No sample was on its way for longer than it was promised, unless the machine stood still meanwhile. Waits until enough have come.
    pub(crate) fn assert_in_time(self, managed: &Managed, what: &str) {
        let from = managed.reader.samples().len();
        // The last one is for what was on its way before it.
        patiently("samples", || (managed.reader.samples().len() > from + LEAST).then_some(()));
        self.stop.store(true, Ordering::Relaxed);
        let [sent, came] = self.threads.map(|thread| thread.join().unwrap());
        let (monotonic, wall) = both_clocks();
        let stalls = self.probes.stop();
        let on_the_way: Vec<(u64, u64)> =
            sent.iter().filter_map(|(message, sent)| Some((*sent, *came.get(message)?))).collect();
        assert!(
            on_the_way.len() >= LEAST,
            "{what}: only {} frames were seen on both wires",
            on_the_way.len()
        );
        let at = |time: u64| (time + monotonic).saturating_sub(wall);
        let is_explained = |sent: u64, came: u64| stalls.iter().any(|stall| stall.meets(at(sent), at(came)));
        let late: Vec<u64> = on_the_way
            .iter()
            .filter(|(sent, came)| came.saturating_sub(*sent) > PROMISED && !is_explained(*sent, *came))
            .map(|(sent, came)| came - sent)
            .collect();
        let worst = on_the_way.iter().map(|(sent, came)| came.saturating_sub(*sent)).max().unwrap_or(0);
        println!("{what}: {} frames, the slowest in {worst} ns, {} stalls", on_the_way.len(), stalls.len());
        assert!(late.is_empty(), "{what}: late, while the machine did not stand still: {late:?} ns");
    }
}

/// A socket for the frames of a host, each with the time of the kernel.
fn stamped(place: &Place) -> OwnedFd {
    place.on(|| {
        let wire = open(INTERFACE);
        setsockopt(&wire, sockopt::ReceiveTimestampns, &true).unwrap();
        wire
    })
}

fn listen(wire: &OwnedFd, stop: &AtomicBool, writer: [u8; 16]) -> Seen {
    let mut seen = Seen::new();
    let mut frame = vec![0; 2_048];
    while !stop.load(Ordering::Relaxed) {
        let mut waits = [PollFd::new(wire.as_fd(), PollFlags::POLLIN)];
        if poll(&mut waits, PollTimeout::from(20_u8)).unwrap_or(0) == 0 {
            continue;
        }
        let mut room = nix::cmsg_space!(TimeSpec);
        let mut parts = [IoSliceMut::new(&mut frame)];
        let Ok(got) = recvmsg::<()>(wire.as_raw_fd(), &mut parts, Some(&mut room), MsgFlags::MSG_DONTWAIT)
        else {
            continue;
        };
        let length = got.bytes;
        let stamp = got.cmsgs().unwrap().find_map(|said| match said {
            ControlMessageOwned::ScmTimestampns(time) => Some(Duration::from(time)),
            _ => None,
        });
        // What is padded, or has an address changed on its way, has the same message.
        if let Some(message) = message(&frame[..length]).filter(|message| has_sample(message, writer)) {
            let stamp = u64::try_from(stamp.unwrap().as_nanos()).unwrap();
            seen.entry(message.to_vec()).or_insert(stamp);
        }
    }
    seen
}

/// The RTPS message of a frame that is long enough for a sample, if it has one.
fn message(frame: &[u8]) -> Option<&[u8]> {
    let length = usize::from(u16::from_be_bytes([*frame.get(HEADERS - 4)?, *frame.get(HEADERS - 3)?]));
    let message = frame.get(HEADERS..)?.get(..length.checked_sub(8)?)?;
    (message.len() > SIZE && message.starts_with(b"RTPS")).then_some(message)
}

/// Whether a message has a sample of this writer in it (RTPS 2.5, 9.4.5.4): discovery and what other writers say are not of the flow.
fn has_sample(message: &[u8], writer: [u8; 16]) -> bool {
    const DATA: u8 = 0x15;
    let (prefix, entity) = writer.split_at(12);
    let mut rest = message.get(20..).unwrap_or_default();
    while let [id, flags, length @ ..] = rest {
        let Some(length) = length.first_chunk::<2>() else { break };
        let length = if flags & 1 == 1 { u16::from_le_bytes(*length) } else { u16::from_be_bytes(*length) };
        if *id == DATA && rest.get(12..16) == Some(entity) {
            return message.get(8..20) == Some(prefix);
        }
        // The last submessage may leave its length out.
        rest = rest.get(4 + usize::from(length)..).filter(|_| length > 0).unwrap_or_default();
    }
    false
}

/// A frame with a sample of this writer at a host, as it goes out.
pub(crate) fn frame_of(place: &Place, writer: [u8; 16]) -> Vec<u8> {
    place.on(|| {
        let wire = open(INTERFACE);
        let mut frame = vec![0; 2_048];
        loop {
            let length = recv(wire.as_raw_fd(), &mut frame, MsgFlags::empty()).unwrap();
            if message(&frame[..length]).is_some_and(|message| has_sample(message, writer)) {
                return frame[..length].to_vec();
            }
        }
    })
}
