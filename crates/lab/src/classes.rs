//! The queues of a port as classes of the kernel's HTB: strict priority at the rate of the link, chosen by codepoint.
//!
//! Every class borrows all it sends from the root, so that a frame waits for the one on the wire, as on a real link; the
//! order of borrowing is the priority. Frames are counted as they lie on the wire: `overhead 24 mpu 84` (decision 3).
use std::fmt::Write as _;

use gate::class;
use latency::network::{Buffer, Port};

use crate::error::Error;

/// Priorities that HTB knows.
const MOST_QUEUES: u8 = 8;
/// Frames that queues without promises hold.
const UNPROMISED: u64 = 50;
/// Octets of the shortest frame on the wire.
const SHORTEST: u64 = 84;
/// The most frames of a queue.
const MOST_FRAMES: u64 = 20_000;
/// Octets of memory that a queued frame takes of its sender's socket: the shortest, and the longest.
const MEMORY: (u64, u64) = (768, 2_304);

/// Who a queue is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// What nobody admitted.
    BestEffort,
    /// A level of assured flows, counted from 0, the lowest.
    Level(u8),
    /// Control, above all levels.
    Control,
}

/// A queue of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queue {
    /// Who it is for.
    pub purpose: Purpose,
    /// The codepoint of its frames.
    pub dscp: u8,
    /// The most frames in it.
    pub frames: u64,
    /// The minor number of its class in HTB, whose major number is 1.
    pub class: u16,
}

/// All queues of a port, the lowest first. What has a codepoint of none of them goes to the lowest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queues {
    /// Bits per second of the link.
    pub rate: u64,
    /// The queues.
    pub queues: Vec<Queue>,
    /// Whether a full queue drops its oldest frame, as those of switches do: a switch process that cannot send its newest
    /// one throws away more than that (`docs/lab.md`).
    pub head_drop: bool,
}

impl Queues {
    /// The queues of a port; `frames`, if given, is how many frames each of them holds.
    ///
    /// # Errors
    /// The port has more queues than there are priorities or codepoints.
    pub(crate) fn of(port: &Port, name: &str, frames: Option<u64>) -> Result<Self, Error> {
        let best_effort = (port.best_effort > 0).then_some(Purpose::BestEffort);
        let control = port.control.is_some().then_some(Purpose::Control);
        let purposes: Vec<Purpose> =
            best_effort.into_iter().chain((0..port.queues).map(Purpose::Level)).chain(control).collect();
        if purposes.len() > usize::from(MOST_QUEUES) || port.queues > class::MOST_LEVELS {
            let what =
                format!("the port {name} has {} queues, {} of them levels", purposes.len(), port.queues);
            let most = class::MOST_LEVELS;
            return Err(Error::new(
                what,
                format!("a lab has {MOST_QUEUES} queues and {most} levels at most: take another model"),
            ));
        }
        let (Buffer::PerQueue(octets) | Buffer::Shared(octets)) = port.buffer;
        let promised = (octets.div_ceil(SHORTEST)).clamp(1, MOST_FRAMES);
        let queues = (1..).zip(purposes).map(|(class, purpose)| {
            let (dscp, own) = match purpose {
                Purpose::BestEffort => (class::BEST_EFFORT, UNPROMISED),
                Purpose::Level(level) => (class::of_level(level).unwrap_or(class::BEST_EFFORT), promised),
                Purpose::Control => (class::CONTROL, UNPROMISED),
            };
            Queue { purpose, dscp, frames: frames.unwrap_or(own), class }
        });
        Ok(Self { rate: port.rate, queues: queues.collect(), head_drop: frames.is_none() })
    }

    /// Octets that full queues take of the buffer of the socket that sends, if the assured ones hold no more than `buffer`
    /// octets of frames together, which is what they are promised.
    pub(crate) fn memory(&self, buffer: u64) -> u64 {
        let unpromised = self.queues.iter().filter(|queue| !matches!(queue.purpose, Purpose::Level(_)));
        let unpromised: u64 = unpromised.map(|queue| queue.frames * MEMORY.1).sum();
        let promised = buffer.div_ceil(SHORTEST).min(MOST_FRAMES * u64::from(MOST_QUEUES)) * MEMORY.0;
        unpromised + promised.max(buffer * 2)
    }

    /// The commands for `tc -batch` that make them at an interface.
    pub(crate) fn commands(&self, interface: &str) -> String {
        let (rate, overhead) = (self.rate, "overhead 24 mpu 84");
        let burst = "cburst 1600 quantum 1600";
        let kind = if self.head_drop { "pfifo_head_drop" } else { "pfifo" };
        let mut out = String::new();
        let highest = self.queues.len().saturating_sub(1);
        // Writing to a text cannot fail.
        let _ = writeln!(out, "qdisc add dev {interface} root handle 1: htb default 1");
        let _ = writeln!(
            out,
            "class add dev {interface} parent 1: classid 1:fffe htb rate {rate}bit burst 1600 {burst} {overhead}"
        );
        for (index, queue) in self.queues.iter().enumerate() {
            let Queue { class, frames, dscp, .. } = queue;
            let _ = writeln!(
                out,
                "class add dev {interface} parent 1:fffe classid 1:{class:x} htb rate 8kbit ceil {rate}bit \
                 prio {} burst 100 {burst} {overhead}",
                highest - index
            );
            let _ = writeln!(
                out,
                "qdisc add dev {interface} parent 1:{class:x} handle {:x}: {kind} limit {frames}",
                class + 16
            );
            if *dscp != class::BEST_EFFORT {
                let _ = writeln!(
                    out,
                    "filter add dev {interface} parent 1: protocol ip prio {class} u32 match ip dsfield {:#04x} 0xfc flowid 1:{class:x}",
                    dscp << 2
                );
            }
        }
        out
    }
}
