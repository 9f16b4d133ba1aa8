//! Switches in a line or a ring, and their hosts: pairs of three vendors, whose path is from one end to the other, and hosts that babble.
use std::fmt::Write as _;

use lab_turn::text::Text;

pub(crate) const MILLISECOND: u64 = 1_000_000;
/// Bits per second of links.
pub(crate) const RATE: u64 = 10_000_000;

/// A switch of a machine with other work, and room for what comes together at a port.
const MODEL: &str = r#"
[[switch-model]]
name = "gated"
ports = 8
queues = 4
rate = "10 Mb/s"
queue-buffer = 200_000
cell = 1
energy-efficient = false
pause = "off"
multiplexing = "2.5 ms"
keeps-order = true
gates = {}
"#;

/// What all hosts and the class of discovery are, where a host does not say otherwise.
const HEAD: &str = r#"name = "proof"
host-defaults = { queues = 8, ring = 0 }
control = { burst = 60_000, rate = "1 Mb/s" }"#;
/// A host of programs that do not ask.
const ONE_QUEUE: &str = r#"queues = 1
other = { burst = 6_000, rate = "500 kb/s" }"#;

/// How switches are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// So many in a row.
    Line(u32),
    /// Three, each with the two others.
    Ring,
}

/// A pair of our own programs, which asks. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    pub(crate) topic: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) size: u32,
    pub(crate) separation: u64,
    pub(crate) limit: u64,
}

/// A pair of another vendor, which the flow file asks for.
#[derive(Clone, Debug)]
pub(crate) struct Foreign {
    pub(crate) topic: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) size: usize,
    pub(crate) separation: u64,
}

const READERS: [&str; 4] = ["camera", "display", "cyclone-2", "fast-2"];

impl Shape {
    /// The switch where most readers are, and how many there are.
    const fn far(self) -> (u32, u32) {
        match self {
            Self::Line(switches) => (switches, switches),
            Self::Ring => (2, 3),
        }
    }

    /// The network file.
    pub(crate) fn network(self) -> String {
        let (far, switches) = self.far();
        let mut text = Text::new(HEAD);
        for switch in 1..=switches {
            text = text.switch(&format!("s{switch}"), "gated");
        }
        let far = |port: u32| format!("s{far}:{port}");
        text = text.host("camera", "", "s1:1").host("cyclone-1", ONE_QUEUE, "s1:2");
        text = text.host("fast-1", ONE_QUEUE, "s1:3").manager("s1:4");
        text = text.host("display", "", &far(5)).host("cyclone-2", ONE_QUEUE, &far(6));
        text = text.host("fast-2", ONE_QUEUE, &far(7));
        text = text.host("stranger", "", &format!("s{switches}:4"));
        for switch in 2..=switches {
            text = text.link(&format!("s{}:8", switch - 1), &format!("s{switch}:1"), "");
        }
        if self == Self::Ring {
            text = text.link("s3:8", "s1:7", "");
        }
        text.with(MODEL)
    }

    /// The link on the way of all pairs.
    pub(crate) fn link(self) -> [(String, u32); 2] {
        [("s1".to_owned(), 8), ("s2".to_owned(), 1)]
    }

    /// Hosts of readers.
    pub(crate) fn readers(self) -> &'static [&'static str] {
        &READERS
    }

    /// Our own pairs: large samples, and small ones that come often and the other way.
    pub(crate) fn own(self) -> Vec<Own> {
        let own = |topic: &str, (from, to): (&str, &str), size, separation, limit| Own {
            topic: topic.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            size,
            separation: separation * MILLISECOND,
            limit: limit * MILLISECOND,
        };
        vec![
            own("Pictures", ("camera", "display"), 4_000, 40, 400),
            own("Pulse", ("display", "camera"), 200, 25, 300),
        ]
    }

    /// Pairs of Cyclone DDS and of Fast DDS.
    pub(crate) fn foreign(self) -> Vec<Foreign> {
        let foreign = |topic: &str, host: &str| Foreign {
            topic: topic.to_owned(),
            from: format!("{host}-1"),
            to: format!("{host}-2"),
            size: 4_000,
            separation: 40 * MILLISECOND,
        };
        vec![foreign("Cyclone", "cyclone"), foreign("Fast", "fast")]
    }

    /// The flow file.
    pub(crate) fn flows(self) -> String {
        let mut text = String::new();
        for Foreign { topic, from, to, size, separation } in self.foreign() {
            let separation = separation / MILLISECOND;
            let _ = write!(
                text,
                "[[topic]]\nname = \"{topic}\"\nfrom = [\"{from}\"]\nto = [\"{to}\"]\nsize = {size}\n\
                 separation = \"{separation} ms\"\nlatency = \"600 ms\"\nemission = \"2 ms\"\n"
            );
        }
        text
    }

    /// Hosts that babble, each with its target: all hosts but the manager's and those whose only queue flows leave by.
    pub(crate) fn babblers(self) -> Vec<(String, String)> {
        let to = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        vec![to("cyclone-2", "cyclone-1"), to("fast-2", "fast-1"), to("stranger", "display")]
    }
}
