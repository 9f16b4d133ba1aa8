//! What an interface of this host is and does: what `ip` and `ethtool` tell, and what the kernel has under `/sys`.
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::tools::Tools;
use system::Error;

/// Where the kernel tells of interfaces.
pub(crate) const SYSTEM: &str = "/sys/class/net";

/// What is known of an interface; `None` where the system does not tell.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Facts {
    pub(crate) name: String,
    pub(crate) index: u32,
    pub(crate) mtu: u32,
    /// Transmit queues of the card.
    pub(crate) transmit_queues: u32,
    /// There is no card: what is sent is at the other end at once.
    pub(crate) is_virtual: bool,
    /// Bits per second.
    pub(crate) rate: Option<u64>,
    /// Whether PAUSE frames stop the interface, or are sent by it.
    pub(crate) pause: Option<bool>,
    /// Whether the link may sleep.
    pub(crate) energy_efficient: Option<bool>,
    /// Frames that the ring of a transmit queue holds.
    pub(crate) ring: Option<u64>,
    /// Trains that leave the host in one piece, by the names of `ethtool -k`.
    pub(crate) offloads: Vec<&'static str>,
    /// Whether what is received may be merged before the host sees it.
    pub(crate) merges: bool,
    /// For each transmit queue, the file with the most bytes that the card may have taken.
    pub(crate) limits: Vec<PathBuf>,
}

/// What `ip -j -d link show` says.
#[derive(Deserialize)]
struct Link {
    ifindex: u32,
    mtu: u32,
    #[serde(default)]
    num_tx_queues: Option<u32>,
    #[serde(default)]
    linkinfo: Option<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(default)]
    info_kind: Option<String>,
}

/// Trains of datagrams or segments that a card, or the kernel just before it, cuts into frames.
const TRAINS: [&str; 3] = ["tcp-segmentation-offload", "generic-segmentation-offload", "tx-udp-segmentation"];

/// Whether it can be the name of an interface: it becomes part of commands.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    (1..=15).contains(&name.len()) && name.chars().all(plain) && !name.starts_with(['-', '.'])
}

impl Facts {
    /// Reads what is known; `system` is where the kernel tells of interfaces.
    ///
    /// # Errors
    /// There is no such interface.
    pub(crate) fn read(tools: &Tools, name: &str, system: &Path) -> Result<Self, Error> {
        if !is_name(name) {
            let what = format!("\"{}\" is no name of an interface", name.escape_default());
            return Err(Error::new(what, "`ip link` lists those that there are"));
        }
        let text = tools.run(&format!("ip -j -d link show dev {name}")).map_err(|_| {
            Error::new(format!("there is no interface \"{name}\""), "`ip link` lists those that there are")
        })?;
        let mut facts = Self::of_link(name, &text)?;
        // What a driver does not tell is no reason to give up.
        let told = |options: &str| tools.run(&format!("ethtool {options} {name}")).unwrap_or_default();
        facts.rate = rate(&tools.run(&format!("ethtool {name}")).unwrap_or_default());
        facts.pause = pause(&told("-a"));
        facts.energy_efficient = energy_efficient(&told("--show-eee"));
        facts.ring = ring(&told("-g"));
        let features = told("-k");
        facts.offloads = TRAINS.into_iter().filter(|train| is_on(&features, train) == Some(true)).collect();
        facts.merges = is_on(&features, "generic-receive-offload") == Some(true);
        facts.limits = limits(system, name, facts.index);
        if facts.is_virtual {
            (facts.pause, facts.energy_efficient) = (Some(false), Some(false));
        }
        Ok(facts)
    }

    fn of_link(name: &str, text: &str) -> Result<Self, Error> {
        let wrong = |error: serde_json::Error| Error::new(format!("ip -j link show dev {name}: {error}"), "");
        let links: Vec<Link> = serde_json::from_str(text).map_err(wrong)?;
        let link = links.into_iter().next();
        let link = link.ok_or_else(|| Error::new(format!("ip says nothing of \"{name}\""), ""))?;
        let kind = link.linkinfo.and_then(|kind| kind.info_kind);
        Ok(Self {
            name: name.to_owned(),
            index: link.ifindex,
            mtu: link.mtu,
            transmit_queues: link.num_tx_queues.unwrap_or(1).max(1),
            is_virtual: kind.is_some_and(|kind| kind == "veth"),
            ..Self::default()
        })
    }

    /// Bytes of the longest frame without what is around it on the wire.
    pub(crate) fn longest(&self) -> u64 {
        u64::from(self.mtu) + latency::framing::ETHERNET_HEADER
    }
}

/// The value behind a name and a colon, at the beginning of a line.
fn value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| Some(line.trim().strip_prefix(name)?.strip_prefix(':')?.trim()))
}

fn is_on(text: &str, name: &str) -> Option<bool> {
    match value(text, name)?.split_whitespace().next()? {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// Bits per second, of `ethtool`.
fn rate(text: &str) -> Option<u64> {
    let megabits: u64 = value(text, "Speed")?.strip_suffix("Mb/s")?.parse().ok()?;
    megabits.checked_mul(1_000_000).filter(|rate| *rate > 0)
}

/// Whether frames of PAUSE are heeded or sent, of `ethtool -a`; what was negotiated counts if it is told.
fn pause(text: &str) -> Option<bool> {
    let of = |negotiated: &str, set: &str| is_on(text, negotiated).or_else(|| is_on(text, set));
    let (heeds, sends) = (of("RX negotiated", "RX"), of("TX negotiated", "TX"));
    Some(heeds? || sends?)
}

/// Of `ethtool --show-eee`.
fn energy_efficient(text: &str) -> Option<bool> {
    let status = value(text, "EEE status")?;
    Some(status.starts_with("enabled"))
}

/// Of `ethtool -g`: what is set comes after what could be.
fn ring(text: &str) -> Option<u64> {
    let (_, set) = text.split_once("Current hardware settings")?;
    value(set, "TX")?.parse().ok()
}

/// The files of byte queue limits, if the kernel tells of this very interface: a namespace may see the files of another one.
fn limits(system: &Path, name: &str, index: u32) -> Vec<PathBuf> {
    let folder = system.join(name);
    let told = fs::read_to_string(folder.join("ifindex")).ok().and_then(|text| text.trim().parse().ok());
    if told != Some(index) {
        return Vec::new();
    }
    let Ok(queues) = fs::read_dir(folder.join("queues")) else { return Vec::new() };
    let mut limits: Vec<PathBuf> = queues
        .flatten()
        .filter(|queue| queue.file_name().to_string_lossy().starts_with("tx-"))
        .map(|queue| queue.path().join("byte_queue_limits/limit_max"))
        .filter(|limit| limit.is_file())
        .collect();
    limits.sort_unstable();
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ethtool_tells_is_read() {
        let pauses = "Pause parameters for eth0:\nAutonegotiate:\ton\nRX:\t\ton\nTX:\t\toff\n";
        assert_eq!(pause(pauses), Some(true));
        assert_eq!(pause(&format!("{pauses}RX negotiated: off\nTX negotiated: off\n")), Some(false));
        assert_eq!(pause("netlink error: Operation not supported\n"), None);
        let status =
            |status: &str| energy_efficient(&format!("EEE settings for eth0:\n\tEEE status: {status}\n"));
        assert_eq!(status("enabled - active"), Some(true));
        assert_eq!([status("disabled"), status("not supported")], [Some(false); 2]);
        assert_eq!(energy_efficient(""), None);
        let rings = "Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t4096\nTX:\t\t4096\n\
                     Current hardware settings:\nRX:\t\t256\nRX Mini:\tn/a\nTX:\t\t512\n";
        assert_eq!(ring(rings), Some(512));
        assert_eq!(ring("Current hardware settings:\nTX:\tn/a\n"), None);
        assert_eq!(rate("\tSpeed: 1000Mb/s\n"), Some(1_000_000_000));
        assert_eq!([rate("\tSpeed: Unknown!\n"), rate("Speed: 0Mb/s"), rate("")], [None; 3]);
        let features = "Features for eth0:\ntcp-segmentation-offload: on\n\ttx-tcp-segmentation: on\n\
                        generic-segmentation-offload: off [fixed]\ntx-udp-segmentation: on [requested off]\n";
        let on: Vec<_> = TRAINS.iter().map(|train| is_on(features, train)).collect();
        assert_eq!(on, [Some(true), Some(false), Some(true)]);
    }

    #[test]
    fn what_ip_tells_is_read() {
        let text =
            r#"[{"ifindex":3,"ifname":"v0","mtu":1500,"linkinfo":{"info_kind":"veth"},"num_tx_queues":4}]"#;
        let facts = Facts::of_link("v0", text).unwrap();
        assert_eq!((facts.index, facts.mtu, facts.transmit_queues, facts.is_virtual), (3, 1_500, 4, true));
        let plain = Facts::of_link("eth0", r#"[{"ifindex":2,"mtu":9000}]"#).unwrap();
        assert_eq!((plain.transmit_queues, plain.is_virtual, plain.longest()), (1, false, 9_014));
        assert!(Facts::of_link("x", "[]").is_err() && Facts::of_link("x", "{").is_err());
    }

    #[test]
    fn names_cannot_be_commands() {
        assert!(["eth0", "enp3s0f0", "br-lan", "vlan.7"].into_iter().all(is_name));
        for name in ["", "a b", "a\nb", "../x", "-x", "a/b", "a;b", "interface-of-16-c"] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn limits_are_those_of_the_interface() {
        let folder = std::env::temp_dir().join(format!("punctual-host-facts-{}", std::process::id()));
        let queue = |queue: &str| folder.join("eth0/queues").join(queue).join("byte_queue_limits");
        for name in ["rx-0", "tx-1", "tx-0"] {
            fs::create_dir_all(queue(name)).unwrap();
            fs::write(queue(name).join("limit_max"), "1879048192\n").unwrap();
        }
        fs::write(folder.join("eth0/ifindex"), "7\n").unwrap();
        let found = limits(&folder, "eth0", 7);
        assert_eq!(found, ["tx-0", "tx-1"].map(|name| queue(name).join("limit_max")));
        assert!(limits(&folder, "eth0", 8).is_empty() && limits(&folder, "eth1", 7).is_empty());
        fs::remove_dir_all(folder).unwrap();
    }
}
