//! The queues of a port as classes of the kernel's HTB: strict priority at the rate of the link, chosen by codepoint.
//!
//! Every class borrows all it sends from the root, so that a frame waits for the one on the wire, as on a real link; the
//! order of borrowing is the priority. Frames are counted as they lie on the wire: `overhead 24 mpu 84` (decision 3).
use std::fmt::Write as _;

use gate::class;
use latency::network::{Buffer, Port};
use serde::{Deserialize, Serialize};

use system::Error;

/// The first priority of filters of IPv6; those of IPv4 are numbers of classes.
const IPV6_FILTERS: u16 = 100;
/// The first priority of filters of frames in VLANs.
const VLAN_FILTERS: u16 = 200;
/// Priorities that HTB knows.
const MOST_QUEUES: u8 = 8;
/// Priorities that the kernel gives frames, each of which `prio` has a band for.
const PRIORITIES: usize = 16;
/// Frames that queues without promises hold.
const UNPROMISED: u64 = 50;
/// Bytes of the shortest frame on the wire.
const SHORTEST: u64 = 84;
/// Bytes of the longest frame without what is around it on the wire.
const LONGEST: u64 = 1_514;
/// Bytes at once of what never waits, in labs: a frame, and a little.
const AT_ONCE: u64 = 1_600;
/// The most frames of a queue.
const MOST_FRAMES: u64 = 20_000;
/// Bytes of memory that a queued frame takes of its sender's socket: the shortest, and the longest.
const MEMORY: (u64, u64) = (768, 2_304);

/// What fills the queues of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filled {
    /// A host, whose programs wait when the queue has so many frames.
    ByHost(u64),
    /// A network in which gates or meters hold assured flows, so that queues of levels never have more bytes than promised,
    /// in frames of any size.
    Guarded,
    /// A network in which no gate or meter holds a host: the bytes of a queue are those of full frames.
    Open,
}

/// The purpose of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Frames without an admitted flow.
    BestEffort,
    /// A level of assured flows, counted from 0, the lowest.
    Level(u8),
    /// Control, above all levels.
    Control,
}

/// A queue of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Queue {
    /// The purpose.
    pub purpose: Purpose,
    /// The codepoint of its frames.
    pub dscp: u8,
    /// The most frames in it.
    pub frames: u64,
    /// The minor number of its class in HTB, whose major number is 1.
    pub class: u16,
}

/// How the kernel serves queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheduler {
    /// By HTB, at the rate of the link. A class that has not sent for more than a second is served first, once.
    Htb,
    /// By `prio`, as fast as the card takes frames.
    Prio,
}

impl Scheduler {
    /// The rate of a bucket from which frames are never waited for: with `prio` a frame of a lower queue would go meanwhile.
    fn never_waits(self) -> &'static str {
        match self {
            Self::Htb => "100gbit",
            Self::Prio => "1000gbit",
        }
    }
}

/// What the queues of an interface hang from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Root {
    /// The major number of their classes.
    pub major: u16,
    /// The scheduler of the queues.
    pub scheduler: Scheduler,
    /// Bytes of the longest frame without what is around it on the wire.
    pub longest: u64,
    /// Bytes that a class sends at once: at least such a frame.
    pub at_once: u64,
    /// Whether frames in VLANs are told apart by their codepoints, too; else they all go to the lowest queue.
    pub vlans: bool,
}

impl Root {
    /// At the interfaces of labs.
    pub const LAB: Self =
        Self { major: 1, scheduler: Scheduler::Htb, longest: LONGEST, at_once: AT_ONCE, vlans: true };

    /// The class of the queue that has this number, counted from 0, of so many: bands of `prio` are counted from the highest.
    pub fn class(&self, queue: usize, queues: usize) -> usize {
        match self.scheduler {
            Scheduler::Htb => queue + 1,
            Scheduler::Prio => queues.saturating_sub(queue),
        }
    }

    /// The major number of what is in a class.
    pub fn leaf(&self, class: usize) -> usize {
        usize::from(self.major) + 15 + class
    }
}

/// All queues of a port, the lowest first. What has a codepoint of none of them goes to the lowest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// The queues of a port.
    ///
    /// # Errors
    /// The port has more queues than there are priorities or codepoints.
    pub fn of(port: &Port, name: &str, filled: Filled) -> Result<Self, Error> {
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
        let (Buffer::PerQueue(bytes) | Buffer::Shared(bytes)) = port.buffer;
        let (promised, unpromised) = match filled {
            Filled::ByHost(frames) => (frames, frames),
            Filled::Guarded => (bytes.div_ceil(SHORTEST), UNPROMISED),
            Filled::Open => (bytes / u64::from(port.largest_frame.max(1)), UNPROMISED),
        };
        let promised = promised.clamp(1, MOST_FRAMES);
        let queues = (1..).zip(purposes).map(|(class, purpose)| {
            let (dscp, frames) = match purpose {
                Purpose::BestEffort => (class::BEST_EFFORT, unpromised),
                Purpose::Level(level) => (class::of_level(level).unwrap_or(class::BEST_EFFORT), promised),
                Purpose::Control => (class::CONTROL, unpromised),
            };
            Queue { purpose, dscp, frames, class }
        });
        Ok(Self {
            rate: port.rate,
            queues: queues.collect(),
            head_drop: !matches!(filled, Filled::ByHost(_)),
        })
    }

    /// Bytes that full queues take of the buffer of the socket that sends, if the assured ones hold no more than `buffer`
    /// bytes of frames together, which is what they are promised.
    pub fn memory(&self, buffer: u64) -> u64 {
        let unpromised = self.queues.iter().filter(|queue| !matches!(queue.purpose, Purpose::Level(_)));
        let unpromised: u64 = unpromised.map(|queue| queue.frames * MEMORY.1).sum();
        let promised = buffer.div_ceil(SHORTEST).min(MOST_FRAMES * u64::from(MOST_QUEUES)) * MEMORY.0;
        unpromised + promised.max(buffer * 2)
    }

    /// The commands for `tc -batch` that make them at an interface of a lab.
    pub fn commands(&self, interface: &str) -> String {
        self.commands_at(interface, &Root::LAB)
    }

    /// The same at any interface.
    pub fn commands_at(&self, interface: &str, root: &Root) -> String {
        let Root { major, scheduler, longest, at_once, vlans: _ } = *root;
        let (rate, overhead) = (self.rate, "overhead 24 mpu 84");
        let burst = format!("cburst {at_once} quantum {at_once}");
        let count = self.queues.len();
        let highest = count.saturating_sub(1);
        let mut out = String::new();
        // Writing to a text cannot fail.
        let _ = match scheduler {
            Scheduler::Htb => writeln!(
                out,
                "qdisc add dev {interface} root handle {major:x}: htb default 1\n\
                 class add dev {interface} parent {major:x}: classid {major:x}:fffe htb rate {rate}bit burst {at_once} {burst} {overhead}"
            ),
            Scheduler::Prio => {
                let map = vec![highest.to_string(); PRIORITIES].join(" ");
                writeln!(
                    out,
                    "qdisc add dev {interface} root handle {major:x}: prio bands {count} priomap {map}"
                )
            }
        };
        for (index, queue) in self.queues.iter().enumerate() {
            let Queue { class: number, frames, dscp, .. } = queue;
            let class = root.class(index, count);
            if scheduler == Scheduler::Htb {
                let _ = writeln!(
                    out,
                    "class add dev {interface} parent {major:x}:fffe classid {major:x}:{class:x} htb rate 8kbit ceil {rate}bit \
                     prio {} burst 100 {burst} {overhead}",
                    highest - index
                );
            }
            let kind = if self.head_drop {
                format!("pfifo_head_drop limit {frames}")
            } else {
                // A train of datagrams that was sent in one call comes as one; a bucket that never waits cuts it into frames,
                // so that the link carries them one by one.
                format!("tbf rate {} burst {at_once} limit {}", scheduler.never_waits(), frames * longest)
            };
            let leaf = root.leaf(class);
            let _ =
                writeln!(out, "qdisc add dev {interface} parent {major:x}:{class:x} handle {leaf:x}: {kind}");
            if *dscp != class::BEST_EFFORT {
                // A priority has one protocol.
                let plain = [("ip", "ip dsfield", *number), ("ipv6", "ip6 priority", IPV6_FILTERS + number)];
                // The version of IP is in the first bits of a packet behind its tag.
                let tagged = [
                    ("802.1Q", "u8 0x40 0xf0 at 0 match ip dsfield", VLAN_FILTERS + number),
                    ("802.1Q", "u8 0x60 0xf0 at 0 match ip6 priority", VLAN_FILTERS + IPV6_FILTERS + number),
                ];
                for (protocol, field, prio) in
                    plain.into_iter().chain(tagged.into_iter().filter(|_| root.vlans))
                {
                    let _ = writeln!(
                        out,
                        "filter add dev {interface} parent {major:x}: protocol {protocol} prio {prio} u32 \
                         match {field} {:#04x} 0xfc flowid {major:x}:{class:x}",
                        dscp << 2
                    );
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latency::network::Imperfections;
    use latency::port::Control;

    const PORT: Port = Port {
        rate: 20_000_000,
        propagation: 0,
        least_multiplexing: 0,
        most_multiplexing: 0,
        keeps_order: true,
        queues: 2,
        best_effort: 1_538,
        control: Some(Control { burst: 8_000, rate: 1_000_000 }),
        tag: 0,
        largest_frame: 1_538,
        buffer: Buffer::PerQueue(15_380),
        imperfections: Imperfections { beside: None, ring: 0, wake: 0, drift: 0, pauses: false },
    };

    fn frames(port: &Port, filled: Filled) -> Vec<u64> {
        Queues::of(port, "s:1", filled).unwrap().queues.iter().map(|queue| queue.frames).collect()
    }

    #[test]
    fn queues_hold_what_is_promised_in_frames_of_any_size_or_else_of_full_size() {
        assert_eq!(frames(&PORT, Filled::Guarded), [50, 184, 184, 50]);
        assert_eq!(frames(&PORT, Filled::Open), [50, 10, 10, 50]);
        assert_eq!(frames(&PORT, Filled::ByHost(7)), [7; 4]);
        let fifo = Port { queues: 1, best_effort: 0, control: None, ..PORT };
        assert_eq!(frames(&fifo, Filled::Open), [10]);
    }

    #[test]
    fn higher_queues_come_first_and_every_codepoint_has_its_class() {
        let queues = Queues::of(&PORT, "s:1", Filled::Guarded).unwrap();
        let commands = queues.commands("p1");
        let lines: Vec<&str> = commands.lines().collect();
        assert_eq!(lines[0], "qdisc add dev p1 root handle 1: htb default 1");
        for (class, (priority, tos)) in
            (1..).zip([(3, None), (2, Some("0x28")), (1, Some("0x48")), (0, Some("0xc0"))])
        {
            let made = format!("classid 1:{class} htb rate 8kbit ceil 20000000bit prio {priority} ");
            assert_eq!(lines.iter().filter(|line| line.contains(&made)).count(), 1, "{made}");
            let flow = format!("flowid 1:{class}");
            let filter = lines.iter().find(|line| line.ends_with(&flow));
            assert_eq!(
                filter.map(|line| line.contains(&format!("dsfield {} 0xfc", tos.unwrap_or("")))),
                tos.map(|_| true)
            );
        }
        assert!(
            lines
                .iter()
                .filter(|line| line.contains(" htb rate "))
                .all(|line| line.ends_with("overhead 24 mpu 84"))
        );
        assert!(commands.contains("pfifo_head_drop limit 184"));
        let host = Queues::of(&PORT, "h:1", Filled::ByHost(9)).unwrap().commands("eth0");
        assert!(host.contains(": tbf rate 100gbit burst 1600 limit 13626") && !host.contains("head_drop"));
    }

    #[test]
    fn the_socket_has_room_for_what_is_promised_in_the_smallest_frames() {
        let queues = Queues::of(&PORT, "s:1", Filled::Guarded).unwrap();
        // Two queues of 15,380 bytes together, and twice 50 frames without promises.
        assert_eq!(queues.memory(30_760), 2 * 50 * 2_304 + 367 * 768);
    }
}
