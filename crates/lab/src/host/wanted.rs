//! The queues that a host gets, what its card may take ahead of them, and what the kernel has in their place.
use std::collections::BTreeMap;

use gate::class;
use latency::framing::{FRAME_AROUND, LEAST_FRAME};
use latency::network::{Buffer, Imperfections, Port};

use super::facts::Facts;
use crate::tools::Tools;
use bridge::classes::{Filled, Queues, Root, Scheduler};
use bridge::disciplines::{Discipline, Filter, Match};
use system::Error;

/// Marks the filter of a codepoint in IPv6, which has six bits.
const OF_IPV6: u8 = 0x40;
/// The major number by which our queues are known.
const MAJOR: u16 = 0xdd5;
/// Frames that a queue holds.
const FRAMES: u64 = 1_000;
/// The rate at which queues are served that nothing is to slow down, if `prio` is not there.
const UNSLOWED: u64 = 100_000_000_000;
/// Bytes that the tags and the like of a frame may be besides its MTU.
const BESIDES: u64 = 86;

/// Queues of an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wanted {
    interface: String,
    queues: Queues,
    root: Root,
    /// Whether they are served at a rate that was asked for.
    shaped: bool,
}

/// What of queues is in the kernel.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Have {
    /// The kind and the handle of what is at the root.
    pub(crate) kind: String,
    pub(crate) handle: String,
    /// Bands of `prio`.
    bands: Option<usize>,
    /// For each class, what is in it.
    leaves: BTreeMap<u16, String>,
    /// For each class of HTB, its priority.
    priorities: BTreeMap<u16, usize>,
    /// For each codepoint, its class.
    filters: BTreeMap<u8, u16>,
}

/// What a card takes ahead of the queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ahead {
    /// Bytes on the wire at most, beside the frame that is on it; `None` if nothing limits them.
    pub(crate) most: Option<u64>,
    /// The bytes to which the kernel is to limit each transmit queue for that.
    pub(crate) limit: Option<u64>,
}

impl Wanted {
    /// `count` queues, the lowest for best effort; by HTB at `rate` bits per second if there is one.
    ///
    /// # Errors
    /// There are more than codepoints.
    pub(crate) fn new(
        facts: &Facts,
        count: u8,
        rate: Option<u64>,
        scheduler: Scheduler,
    ) -> Result<Self, Error> {
        let longest = facts.longest();
        let port = Port {
            rate: rate.unwrap_or(UNSLOWED),
            propagation: 0,
            least_multiplexing: 0,
            most_multiplexing: 0,
            keeps_order: true,
            queues: count.saturating_sub(1),
            best_effort: 1,
            control: None,
            tag: 0,
            largest_frame: u32::try_from(longest + FRAME_AROUND).unwrap_or(u32::MAX),
            buffer: Buffer::Shared(0),
            imperfections: Imperfections::default(),
        };
        let queues = Queues::of(&port, &facts.name, Filled::ByHost(FRAMES))?;
        let scheduler = if rate.is_some() { Scheduler::Htb } else { scheduler };
        let root = Root { major: MAJOR, scheduler, longest, at_once: longest + BESIDES, vlans: false };
        Ok(Self { interface: facts.name.clone(), queues, root, shaped: rate.is_some() })
    }

    pub(crate) fn is_prio(&self) -> bool {
        self.root.scheduler == Scheduler::Prio
    }

    /// The commands for `tc -batch` that make them where nothing else has made queues.
    pub(crate) fn commands(&self) -> String {
        self.queues.commands_at(&self.interface, &self.root)
    }

    /// What the kernel has then.
    pub(crate) fn made(&self) -> Have {
        let count = self.queues.queues.len();
        let prio = self.is_prio();
        let mut have = Have {
            kind: if prio { "prio" } else { "htb" }.to_owned(),
            handle: handle(),
            bands: prio.then_some(count),
            ..Have::default()
        };
        for (index, queue) in self.queues.queues.iter().enumerate() {
            let Ok(class) = u16::try_from(self.root.class(index, count)) else { continue };
            have.leaves.insert(class, "tbf".to_owned());
            if !prio {
                have.priorities.insert(class, count - 1 - index);
            }
            if queue.dscp != class::BEST_EFFORT {
                have.filters.insert(queue.dscp, class);
                have.filters.insert(queue.dscp | OF_IPV6, class);
            }
        }
        have
    }

    /// What the card takes ahead, if it is to take no more than so many bytes.
    pub(crate) fn ahead(&self, facts: &Facts, ring: u64) -> Ahead {
        let full = facts.longest() + FRAME_AROUND;
        // HTB serves a class first, once, that has not sent for long: each of the lower ones may have a frame then.
        let lower = u64::try_from(self.queues.queues.len()).unwrap_or(0).saturating_sub(1);
        let once = if self.is_prio() { 0 } else { lower * full };
        let most = |bytes: u64| Some(bytes + once);
        let nothing = Ahead { most: None, limit: None };
        match (facts.transmit_queues, facts.limits.is_empty(), facts.ring) {
            // What is released at the rate of the link finds the card with no more than a frame or two.
            _ if self.shaped => Ahead { most: most(2 * full), limit: None },
            _ if facts.is_virtual => Ahead { most: most(0), limit: None },
            (1, false, _) => {
                let limit = limit_of(ring, full).max(facts.longest());
                Ahead { most: most(taken(limit, full)), limit: Some(limit) }
            }
            (1, true, Some(frames)) => Ahead { most: most(frames.saturating_mul(full)), limit: None },
            // Cards serve their transmit queues in turn, whatever is in them.
            _ => nothing,
        }
    }
}

/// Bytes on the wire that a card may have taken if the kernel hands it frames as long as it has no more than `limit` bytes of them: these as
/// the smallest frames, and one more.
fn taken(limit: u64, full: u64) -> u64 {
    (limit * (LEAST_FRAME + FRAME_AROUND)).div_ceil(LEAST_FRAME) + full
}

/// The limit with which a card takes no more than so many bytes.
fn limit_of(bytes: u64, full: u64) -> u64 {
    bytes.saturating_sub(full) * LEAST_FRAME / (LEAST_FRAME + FRAME_AROUND)
}

fn handle() -> String {
    format!("{MAJOR:x}:")
}

impl Have {
    /// Reads what an interface has.
    pub(crate) fn read(tools: &Tools, interface: &str) -> Result<Self, Error> {
        let disciplines = tools.run(&format!("tc -j qdisc show dev {interface}"))?;
        let mut have = Self::of_disciplines(&disciplines)?;
        if have.is_ours() {
            have.add_classes(&tools.run(&format!("tc class show dev {interface}"))?);
            have.add_filters(&tools.run(&format!("tc -j filter show dev {interface} parent {}", handle()))?)?;
        }
        Ok(have)
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.handle == handle()
    }

    /// Whether something else has made queues, and not the kernel by itself.
    pub(crate) fn is_of_others(&self) -> bool {
        !self.is_ours() && self.handle != "0:"
    }

    fn of_disciplines(text: &str) -> Result<Self, Error> {
        let mut have = Self::default();
        for discipline in Discipline::all(text)? {
            if discipline.root {
                have.bands = discipline.options.bands;
                (have.kind, have.handle) = (discipline.kind, discipline.handle);
            } else if let Some(class) = discipline.parent.as_deref().and_then(class) {
                have.leaves.insert(class, discipline.kind);
            }
        }
        if !have.is_ours() {
            have.leaves.clear();
        }
        Ok(have)
    }

    /// Lines such as `class htb dd5:1 parent dd5:fffe leaf dd5: prio 1 rate ...`.
    fn add_classes(&mut self, text: &str) {
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let priority = words.windows(2).find(|pair| pair.first() == Some(&"prio"));
            let priority = priority.and_then(|pair| pair.get(1)?.parse().ok());
            if let (Some(&"htb"), Some(class), Some(priority)) =
                (words.get(1), words.get(2).and_then(|id| class(id)), priority)
            {
                self.priorities.insert(class, priority);
            }
        }
    }

    fn add_filters(&mut self, text: &str) -> Result<(), Error> {
        for Match { flowid, word } in Filter::all(text)?.into_iter().map(|filter| filter.options) {
            let Some(class) = flowid.as_deref().and_then(class) else { continue };
            // The class of IPv4 or IPv6, but for its last two bits.
            let codepoint = word.filter(|word| word.off == 0).and_then(|word| {
                let value = u32::from_str_radix(&word.value, 16).ok()?;
                match word.mask.as_str() {
                    "fc0000" => u8::try_from(value >> 18).ok(),
                    "fc00000" => u8::try_from(value >> 22).ok().map(|dscp| dscp | OF_IPV6),
                    _ => None,
                }
            });
            // What is not ours is in the way, whatever it is.
            self.filters.insert(codepoint.unwrap_or(u8::MAX), class);
        }
        Ok(())
    }
}

/// The minor number of one of our classes: `3` of `dd5:3`.
fn class(id: &str) -> Option<u16> {
    u16::from_str_radix(id.strip_prefix(&handle())?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts { name: "eth0".to_owned(), mtu: 1_500, transmit_queues: 1, ..Facts::default() }
    }

    fn prio() -> Wanted {
        Wanted::new(&facts(), 8, None, Scheduler::Prio).unwrap()
    }

    #[test]
    fn bands_are_counted_from_the_highest() {
        let commands = prio().commands();
        let lines: Vec<&str> = commands.lines().collect();
        assert_eq!(
            lines[0],
            "qdisc add dev eth0 root handle dd5: prio bands 8 priomap 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7"
        );
        assert_eq!(
            lines[1],
            "qdisc add dev eth0 parent dd5:8 handle dec: tbf rate 1000gbit burst 1600 limit 1514000"
        );
        assert!(lines.contains(
            &"filter add dev eth0 parent dd5: protocol ip prio 8 u32 match ip dsfield 0xb8 0xfc flowid dd5:1"
        ));
        assert!(lines.contains(
            &"filter add dev eth0 parent dd5: protocol ip prio 2 u32 match ip dsfield 0x28 0xfc flowid dd5:7"
        ));
        assert!(lines.contains(
            &"filter add dev eth0 parent dd5: protocol ipv6 prio 108 u32 match ip6 priority 0xb8 0xfc flowid dd5:1"
        ));
        // A root, and for each queue a leaf and but for best effort a filter of each version of IP.
        assert_eq!(lines.len(), 1 + 8 + 2 * 7);
        let made = prio().made();
        assert_eq!((made.bands, made.leaves.len(), made.filters.len()), (Some(8), 8, 14));
        assert_eq!((made.filters.get(&46), made.filters.get(&10)), (Some(&1), Some(&7)));
    }

    #[test]
    fn what_tc_tells_is_read() {
        let wanted = Wanted::new(&facts(), 2, Some(1_000_000), Scheduler::Prio).unwrap();
        let mut have = Have::of_disciplines(
            r#"[{"kind":"htb","handle":"dd5:","root":true,"refcnt":5,"options":{"r2q":10,"default":"0x1"}},
                {"kind":"tbf","handle":"de6:","parent":"dd5:2","options":{}},
                {"kind":"tbf","handle":"de5:","parent":"dd5:1","options":{}}]"#,
        )
        .unwrap();
        have.add_classes(
            "class htb dd5:1 parent dd5:fffe leaf de5: prio 1 rate 8Kbit overhead 24 ceil 1Mbit burst 100b\n\
             class htb dd5:fffe root rate 1Mbit overhead 24 ceil 1Mbit burst 1600b\n\
             class htb dd5:2 parent dd5:fffe leaf de6: prio 0 rate 8Kbit overhead 24 ceil 1Mbit burst 100b\n\
             class tbf de5:1 parent de5: \n",
        );
        let filters = r#"[{"protocol":"ip","pref":2,"kind":"u32","chain":0},
            {"protocol":"ip","pref":2,"kind":"u32","options":{"fh":"800:","ht_divisor":1}},
            {"protocol":"ip","pref":2,"kind":"u32","options":{"fh":"800::800","flowid":"dd5:2",
             "match":{"value":"280000","mask":"fc0000","offmask":"","off":0}}},
            {"protocol":"ipv6","pref":102,"kind":"u32","options":{"fh":"801::800","flowid":"dd5:2",
             "match":{"value":"2800000","mask":"fc00000","offmask":"","off":0}}}]"#;
        have.add_filters(filters).unwrap();
        assert_eq!(have, wanted.made());
        have.add_filters(&filters.replace("\"fc0000\"", "\"ff0000\"")).unwrap();
        assert_ne!(have, wanted.made());
        let default = Have::of_disciplines(r#"[{"kind":"noqueue","handle":"0:","root":true,"options":{}}]"#);
        assert!(!default.as_ref().unwrap().is_ours() && !default.unwrap().is_of_others());
        let other =
            Have::of_disciplines(r#"[{"kind":"htb","handle":"1:","root":true,"options":{}}]"#).unwrap();
        assert!(other.is_of_others());
        assert!(Have::of_disciplines("").is_err());
    }

    #[test]
    fn what_a_card_takes_is_limited_if_the_kernel_can() {
        let limits = vec![std::path::PathBuf::from("limit_max")];
        let card = Facts { limits, ..facts() };
        let ahead = prio().ahead(&card, 12_500);
        assert_eq!(ahead, Ahead { most: Some(12_500), limit: Some(7_830) });
        // No less than a frame, and the one behind it.
        let least = prio().ahead(&card, 0);
        assert_eq!(least, Ahead { most: Some(1_514 * 84 / 60 + 1 + 1_538), limit: Some(1_514) });
        let ring = Facts { ring: Some(256), ..facts() };
        assert_eq!(prio().ahead(&ring, 0), Ahead { most: Some(256 * 1_538), limit: None });
        let nothing = Ahead { most: None, limit: None };
        assert_eq!(prio().ahead(&facts(), 0), nothing);
        assert_eq!(prio().ahead(&Facts { transmit_queues: 2, ..card }, 0), nothing);
        let htb = Wanted::new(&facts(), 8, None, Scheduler::Htb).unwrap();
        let without_card = Facts { is_virtual: true, ..facts() };
        assert_eq!(prio().ahead(&without_card, 0).most, Some(0));
        assert_eq!(htb.ahead(&without_card, 0).most, Some(7 * 1_538));
    }
}
