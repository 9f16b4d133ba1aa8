//! How long a flow's frames are on their way between the wires of two hosts, by the kernel's stamps; and when the machine stood still, by probes that know
//! nothing of it.
use std::collections::BTreeMap;
use std::io::IoSliceMut;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use lab::probe::{Probes, both_clocks};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;

use crate::managed::{Managed, SIZE};
use crate::place::{INTERFACE, Place};
use crate::program::PATIENCE;
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
    /// Those of two hosts, one of a writer and one of its reader.
    pub(crate) fn between(managed: &Managed, from: &str, to: &str) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let threads = [from, to].map(|host| {
            let (wire, stop) = (stamped(&managed.host(host)), Arc::clone(&stop));
            std::thread::spawn(move || listen(&wire, &stop))
        });
        Self { probes: Probes::start(STILL).unwrap(), stop, threads }
    }

    /// No sample was on its way for longer than it was promised, unless the machine stood still meanwhile. Waits until enough have come.
    pub(crate) fn assert_in_time(self, managed: &Managed, what: &str) {
        let from = managed.reader.samples().len();
        managed.reader.until(PATIENCE, || managed.reader.samples().len() >= from + LEAST);
        // What is on its way arrives, or is lost, which others see.
        std::thread::sleep(Duration::from_nanos(PROMISED));
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

fn listen(wire: &OwnedFd, stop: &AtomicBool) -> Seen {
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
        let bytes = &frame[..length];
        if length > HEADERS + SIZE && bytes[HEADERS..].starts_with(b"RTPS") {
            let stamp = u64::try_from(stamp.unwrap().as_nanos()).unwrap();
            // What is padded, or has an address changed on its way, has the same message.
            let size = usize::from(u16::from_be_bytes([bytes[38], bytes[39]])) - 8;
            seen.entry(bytes[HEADERS..HEADERS + size].to_vec()).or_insert(stamp);
        }
    }
    seen
}
