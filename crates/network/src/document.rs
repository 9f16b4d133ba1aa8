//! The network file as it is written: TOML, with places for what is said about it later.
use std::net::IpAddr;

use diagnostics::{Problem, Source};
use serde::Deserialize;
use toml::Spanned;

use crate::description::SwitchKind;
use crate::quantity::{Datapath, Drift, Loss, Rate, Time};

/// A network file.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Document {
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) split: Split,
    /// Whether there is traffic that is not admitted.
    #[serde(default = "yes")]
    pub(crate) best_effort: bool,
    #[serde(default)]
    pub(crate) control: Option<Control>,
    /// By how much clocks of publishers and of what holds them to their contracts run apart.
    #[serde(default)]
    pub(crate) clock_drift: Option<Drift>,
    /// What all hosts have that do not say otherwise.
    #[serde(default)]
    pub(crate) host_defaults: Option<Sending>,
    /// XML files with models of switches, relative to this one.
    #[serde(default)]
    pub(crate) model_files: Vec<Spanned<String>>,
    #[serde(default, rename = "switch-model")]
    pub(crate) models: Vec<Model>,
    #[serde(default, rename = "host")]
    pub(crate) hosts: Vec<Host>,
    #[serde(default, rename = "switch")]
    pub(crate) switches: Vec<Switch>,
    #[serde(default, rename = "link")]
    pub(crate) links: Vec<Link>,
    #[serde(default, rename = "flow")]
    pub(crate) flows: Vec<Flow>,
}

/// A file that changes a plan.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Change {
    /// Names of flows.
    #[serde(default)]
    pub(crate) remove: Vec<Spanned<String>>,
    #[serde(default, rename = "flow")]
    pub(crate) flows: Vec<Flow>,
}

#[derive(Deserialize, Clone, Copy, Default, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Split {
    #[default]
    Load,
    Last,
    Even,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Control {
    /// Bytes on the wire.
    pub(crate) burst: u32,
    pub(crate) rate: Rate,
}

/// A model of a switch; what is left out is that of an ordinary gigabit switch.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Model {
    pub(crate) name: Spanned<String>,
    pub(crate) ports: u32,
    pub(crate) queues: u8,
    pub(crate) rate: Rate,
    /// Bytes of each port, shared by its queues.
    #[serde(default)]
    pub(crate) buffer: Option<u64>,
    /// Bytes of each queue.
    #[serde(default)]
    pub(crate) queue_buffer: Option<u64>,
    /// Bytes of all ports together.
    #[serde(default)]
    pub(crate) shared_buffer: Option<u64>,
    /// Bytes of which a frame takes whole ones.
    #[serde(default)]
    pub(crate) cell: Option<u32>,
    #[serde(default)]
    pub(crate) pause: Option<Pause>,
    #[serde(default)]
    pub(crate) energy_efficient: Option<bool>,
    #[serde(default)]
    pub(crate) wake: Option<Time>,
    #[serde(default)]
    pub(crate) gates: Option<Gates>,
    #[serde(default)]
    pub(crate) meters: Option<Meters>,
    #[serde(default)]
    pub(crate) least_multiplexing: Option<Time>,
    #[serde(default)]
    pub(crate) multiplexing: Option<Time>,
    #[serde(default)]
    pub(crate) keeps_order: bool,
    #[serde(default)]
    pub(crate) overhead: u8,
    #[serde(default)]
    pub(crate) preemption: bool,
    #[serde(default)]
    pub(crate) mtu: Option<u32>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Gates {
    #[serde(default)]
    pub(crate) count: Option<u32>,
    #[serde(default)]
    pub(crate) precision: Option<Time>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Meters {
    #[serde(default)]
    pub(crate) count: Option<u32>,
    #[serde(default)]
    pub(crate) precision: Option<Rate>,
    /// Bits.
    #[serde(default)]
    pub(crate) burst_precision: Option<u32>,
    #[serde(default)]
    pub(crate) counts: Option<Counted>,
}

/// What meters count of a frame.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Counted {
    /// All that it takes of the wire.
    Wire,
    /// Header and payload.
    Frame,
}

/// Whether PAUSE frames stop an interface.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pause {
    On,
    Off,
}

/// How hosts send.
#[derive(Deserialize, Clone, Default, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Sending {
    /// Queues of the port, the lowest for best effort; 1 if it is first-in first-out.
    #[serde(default)]
    pub(crate) queues: Option<u8>,
    /// Whether more is sent than flows.
    #[serde(default)]
    pub(crate) best_effort: Option<bool>,
    /// What that is at a port with one queue.
    #[serde(default)]
    pub(crate) other: Option<Other>,
    /// Bytes that a card takes ahead from several queues.
    #[serde(default)]
    pub(crate) ring: Option<u32>,
    #[serde(default)]
    pub(crate) pause: Option<Pause>,
    #[serde(default)]
    pub(crate) energy_efficient: Option<bool>,
    #[serde(default)]
    pub(crate) wake: Option<Time>,
}

/// What a host sends besides its flows.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Other {
    /// Bytes on the wire.
    pub(crate) burst: u32,
    pub(crate) rate: Rate,
    /// Whether something holds it to that.
    #[serde(default)]
    pub(crate) limited: bool,
}

/// A host; its fields besides are those of [`Sending`].
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Host {
    pub(crate) name: Spanned<String>,
    #[serde(default)]
    queues: Option<u8>,
    #[serde(default)]
    best_effort: Option<bool>,
    #[serde(default)]
    other: Option<Other>,
    #[serde(default)]
    ring: Option<u32>,
    #[serde(default)]
    pause: Option<Pause>,
    #[serde(default)]
    energy_efficient: Option<bool>,
    #[serde(default)]
    wake: Option<Time>,
    #[serde(default)]
    pub(crate) address: Option<Spanned<Addresses>>,
    /// Six pairs of hexadecimal digits, with `:` or `-` between.
    #[serde(default)]
    pub(crate) mac: Option<Spanned<String>>,
    /// Whether it is where switches find their manager.
    #[serde(default)]
    pub(crate) manager: bool,
    /// VLANs of which it sends and receives tagged frames, with its addresses there.
    #[serde(default)]
    pub(crate) vlans: Vec<Vlan>,
}

/// A VLAN of a host.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Vlan {
    pub(crate) id: Spanned<u16>,
    pub(crate) address: Spanned<Addresses>,
}

/// One address of a host, or a list of them.
#[derive(Deserialize, Debug)]
#[serde(
    untagged,
    expecting = "expected an address in quotes such as \"10.0.0.1\" or \"fd00::1\", or a list of one of each"
)]
pub(crate) enum Addresses {
    One(IpAddr),
    Several(Vec<IpAddr>),
}

impl Addresses {
    pub(crate) fn list(&self) -> &[IpAddr] {
        match self {
            Self::One(address) => std::slice::from_ref(address),
            Self::Several(addresses) => addresses,
        }
    }
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Switch {
    pub(crate) name: Spanned<String>,
    pub(crate) model: Spanned<String>,
    /// The number by which it names itself; its place in the file, from 1, if there is none.
    #[serde(default)]
    pub(crate) datapath: Option<Spanned<Datapath>>,
    /// What it is in a lab; if not given, what suits the model.
    #[serde(default)]
    pub(crate) kind: Option<SwitchKind>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Link {
    /// Two nodes, each with `:` and its port number if that matters.
    pub(crate) ends: Spanned<Vec<Spanned<String>>>,
    #[serde(default)]
    pub(crate) rate: Option<Spanned<Rate>>,
    #[serde(default)]
    pub(crate) propagation: Option<Time>,
    /// Time that every frame is held on top of that.
    #[serde(default)]
    pub(crate) delay: Option<Time>,
    /// How many frames are lost in each direction.
    #[serde(default)]
    pub(crate) loss: Option<Spanned<Loss>>,
    /// Which of its ports take no further flows.
    #[serde(default)]
    pub(crate) full: Option<Spanned<Full>>,
}

/// Ports of a link that take no further flows.
#[derive(Deserialize, Clone, Debug)]
#[serde(untagged)]
pub(crate) enum Full {
    /// Both, or none.
    Both(bool),
    /// That of one node.
    Of(String),
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Flow {
    #[serde(default)]
    pub(crate) name: Option<Spanned<String>>,
    pub(crate) topic: Spanned<String>,
    pub(crate) publisher: Spanned<String>,
    pub(crate) subscribers: Spanned<Vec<Subscriber>>,
    /// Bytes of the largest sample.
    pub(crate) size: Spanned<u32>,
    #[serde(default)]
    pub(crate) least_size: Option<u32>,
    #[serde(default)]
    pub(crate) framing: Framing,
    #[serde(default)]
    pub(crate) datagram: Option<u32>,
    /// The version of IP that carries it.
    #[serde(default)]
    pub(crate) ip: Option<Spanned<u8>>,
    /// The VLAN in which it is sent.
    #[serde(default)]
    pub(crate) vlan: Option<Spanned<u16>>,
    pub(crate) separation: Spanned<Time>,
    #[serde(default)]
    pub(crate) maximum_separation: Option<Time>,
    #[serde(default)]
    pub(crate) jitter: Option<Time>,
    #[serde(default)]
    pub(crate) emission: Option<Time>,
    #[serde(default)]
    pub(crate) slack: Option<Time>,
    /// Frames that may be lost.
    #[serde(default)]
    pub(crate) losses: Option<Spanned<Losses>>,
    #[serde(default)]
    pub(crate) importance: u8,
    #[serde(default)]
    pub(crate) trusted: bool,
    /// Flows of one bundle cannot be told apart.
    #[serde(default)]
    pub(crate) bundle: Option<Spanned<String>>,
    /// The switches that it may pass.
    #[serde(default)]
    pub(crate) through: Option<Vec<Spanned<String>>>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Losses {
    pub(crate) frames: u32,
    pub(crate) within: Time,
    /// Time that a host takes at most to do what is due.
    #[serde(default)]
    pub(crate) reaction: Option<Time>,
}

#[derive(Deserialize, Clone, Copy, Default, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Framing {
    #[default]
    Rtps,
    Udp,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Subscriber {
    pub(crate) host: Spanned<String>,
    pub(crate) limit: Time,
    #[serde(default)]
    pub(crate) maximum_separation: Option<Time>,
}

impl Host {
    /// How it sends, as far as it says so itself.
    pub(crate) fn sending(&self) -> Sending {
        Sending {
            queues: self.queues,
            best_effort: self.best_effort,
            other: self.other.clone(),
            ring: self.ring,
            pause: self.pause,
            energy_efficient: self.energy_efficient,
            wake: self.wake,
        }
    }
}

fn yes() -> bool {
    true
}

/// Reads a file of either kind.
pub(crate) fn read<T: for<'de> Deserialize<'de>>(source: Source<'_>) -> Result<T, Problem> {
    toml::from_str(source.text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let what = error.message().trim().replace('\n', "; ");
        source.problem(at, in_words(what), remedy(source.text))
    })
}

/// A message of the parser without names of Rust.
fn in_words(what: String) -> String {
    const WORDS: [(&str, &str); 12] = [
        (
            "data did not match any variant of untagged enum Full",
            "expected true, or the name of one end in quotes",
        ),
        ("expected u8", "expected a whole number from 0 to 255"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number"),
        ("expected a string", "expected text in quotes"),
        ("expected a boolean", "expected true or false"),
        ("expected struct Subscriber", "expected { host = \"...\", limit = \"...\" }"),
        ("expected struct Vlan", "expected { id = NUMBER, address = \"...\" }"),
        ("expected struct Losses", "expected { frames = NUMBER, within = \"...\" }"),
        ("expected struct Other", "expected { burst = BYTES, rate = \"...\" }"),
        ("expected struct ", "expected a table, "),
    ];
    WORDS.iter().fold(what, |what, (from, to)| what.replace(from, to))
}

/// What to do about a mistake: what is often meant, or where to look.
fn remedy(text: &str) -> &'static str {
    let tables = ["[host]", "[switch]", "[link]", "[flow]", "[switch-model]"];
    if text.trim_start().starts_with('<') {
        "a network file is TOML; files with models of switches in XML are named with model-files = [\"...\"]"
    } else if text.lines().any(|line| tables.contains(&line.trim())) {
        "there may be several of each: with two brackets, such as [[host]]"
    } else {
        "docs/plan.md lists what a network file may say"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        read::<Document>(Source { file: "net.toml", text }).unwrap_err().to_string()
    }

    #[test]
    fn mistakes_are_told_in_words_of_the_file() {
        let host = "[host]\nname = \"a\"\n";
        for (text, what, remedy) in [
            (
                "[[link]]\nends = []\npropagation = 3",
                "expected a time in quotes such as \"2 ms\"",
                "docs/plan.md",
            ),
            ("[[flow]]\nimportance = 300", "expected a whole number from 0 to 255", "docs/plan.md"),
            ("[[flow]]\nsize = \"3\"", "expected a whole number from 0", "docs/plan.md"),
            ("[[flow]]\nsubscribers = [\"a\"]", "expected { host = \"...\", limit", "docs/plan.md"),
            (
                "[[link]]\nends = []\nfull = 3",
                "expected true, or the name of one end in quotes",
                "docs/plan.md",
            ),
            ("name = 3", "expected text in quotes", "docs/plan.md"),
            ("best-effort = 3", "expected true or false", "docs/plan.md"),
            (&[host, host].concat(), "net.toml:3:2: duplicate key", "two brackets"),
            (host, "net.toml:1:1: ", "two brackets"),
            ("<switch-models/>", "net.toml:1:", "model-files"),
        ] {
            let told = told(text);
            assert!(told.contains(what) && told.contains(remedy), "{text}\n{told}");
        }
    }
}
