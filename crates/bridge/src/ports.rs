//! The ports of a bridge as the kernel knows them: whether they are there, members of the bridge, and have a carrier; what they count.
use std::fs;
use std::path::{Path, PathBuf};

use openflow::multipart::{PortStats, Traffic};
use openflow::port::{Port, PortConfig, PortFeatures, PortState};
use openflow::words::{Age, PortNo};
use system::Error;

use crate::translate::Ports;

/// Where the kernel tells of interfaces.
const INTERFACES: &str = "/sys/class/net";

/// The ports that a bridge is to have, and where they are looked for.
#[derive(Clone, Debug)]
pub struct Members {
    bridge: String,
    ports: Ports,
    interfaces: PathBuf,
}

impl Members {
    /// Ports of a bridge by number.
    ///
    /// # Errors
    /// There is no such bridge, or a port is none of its members.
    pub fn new(bridge: &str, ports: Ports) -> Result<Self, Error> {
        let members = Self { bridge: bridge.to_owned(), ports, interfaces: INTERFACES.into() };
        if !members.interfaces.join(bridge).join("bridge").is_dir() {
            let what = format!("{}: there is no such bridge", bridge.escape_default());
            return Err(Error::new(what, "`ip link add name br0 type bridge` makes one"));
        }
        let there = members.there();
        match members.ports.iter().find(|(number, _)| !there.contains_key(number)) {
            None => Ok(members),
            Some((_, name)) => Err(Error::new(
                format!("{} is no port of {bridge}", name.escape_default()),
                format!("`ip link set dev {name} master {bridge}` makes it one"),
            )),
        }
    }

    /// Those that are there, and members of the bridge.
    pub fn there(&self) -> Ports {
        let is_member = |name: &str| {
            let master = fs::read_link(self.interfaces.join(name).join("master"));
            master.is_ok_and(|master| master.file_name() == Path::new(&self.bridge).file_name())
        };
        self.ports
            .iter()
            .filter(|(_, name)| is_member(name))
            .map(|(number, name)| (*number, name.clone()))
            .collect()
    }

    /// What OpenFlow says of those that are there.
    pub fn described(&self) -> Vec<Port> {
        self.there().iter().map(|(number, name)| self.describe(*number, name)).collect()
    }

    fn describe(&self, number: u32, name: &str) -> Port {
        let up = self.number(name, "carrier") == Some(1);
        let speed = self
            .number(name, "speed")
            .and_then(|megabits| u32::try_from(megabits.saturating_mul(1_000)).ok());
        Port {
            number: PortNo(number),
            address: self.text(name, "address").and_then(|text| address(&text)).unwrap_or_default(),
            raw_name: Port::pack_name(name.as_bytes()),
            // An interface that is down has no carrier that can be read.
            config: if self.text(name, "carrier").is_some() {
                PortConfig::NONE
            } else {
                PortConfig::PORT_DOWN
            },
            state: if up { PortState::LIVE } else { PortState::LINK_DOWN },
            current: PortFeatures::NONE,
            advertised: PortFeatures::NONE,
            supported: PortFeatures::NONE,
            peer: PortFeatures::NONE,
            current_speed: speed.unwrap_or(0),
            max_speed: speed.unwrap_or(0),
        }
    }

    /// What those that are there have counted; `port` is one of them or any.
    pub fn counted(&self, port: PortNo) -> Vec<PortStats> {
        let wanted = |number: &u32| port == PortNo::ANY || port.0 == *number;
        let there = self.there();
        let of = |(number, name): (&u32, &String)| {
            let count = |what: &str| self.number(name, &format!("statistics/{what}")).unwrap_or(u64::MAX);
            PortStats {
                port: PortNo(*number),
                received: Traffic { packets: count("rx_packets"), octets: count("rx_bytes") },
                sent: Traffic { packets: count("tx_packets"), octets: count("tx_bytes") },
                receive_dropped: count("rx_dropped"),
                send_dropped: count("tx_dropped"),
                receive_errors: count("rx_errors"),
                send_errors: count("tx_errors"),
                frame_errors: count("rx_frame_errors"),
                overruns: count("rx_over_errors"),
                crc_errors: count("rx_crc_errors"),
                collisions: count("collisions"),
                age: Age::default(),
            }
        };
        there.iter().filter(|(number, _)| wanted(number)).map(of).collect()
    }

    fn text(&self, name: &str, what: &str) -> Option<String> {
        fs::read_to_string(self.interfaces.join(name).join(what)).ok().map(|text| text.trim().to_owned())
    }

    fn number(&self, name: &str, what: &str) -> Option<u64> {
        self.text(name, what)?.parse().ok()
    }
}

/// An Ethernet address as the kernel writes it.
fn address(text: &str) -> Option<[u8; 6]> {
    let bytes: Option<Vec<u8>> = text.split(':').map(|part| u8::from_str_radix(part, 16).ok()).collect();
    bytes?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_or_not_at_all() {
        assert_eq!(address("02:00:00:00:00:ff"), Some([2, 0, 0, 0, 0, 255]));
        for text in ["", "02:00:00:00:00", "02:00:00:00:00:fg", "02:00:00:00:00:01:02"] {
            assert_eq!(address(text), None);
        }
    }
}
