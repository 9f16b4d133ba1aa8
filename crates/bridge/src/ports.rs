//! The ports of a bridge as the kernel knows them: whether they are there, members of the bridge, and have a carrier; what they count.
//!
//! The program `ip` is asked. The kernel's files below /sys would be those of another network namespace where a program was put into one alone.
use std::collections::BTreeMap;

use openflow::multipart::{PortStats, Traffic};
use openflow::port::{Port, PortConfig, PortFeatures, PortState};
use openflow::words::{Age, PortNo};
use serde_json::Value;
use system::{Error, finish, program};

use crate::translate::Ports;

/// The ports that a bridge is to have.
#[derive(Clone, Debug)]
pub struct Members {
    bridge: String,
    ports: Ports,
}

/// What the kernel says of the interfaces of a bridge: for each port of it what `ip` says.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Seen(BTreeMap<u32, Value>);

impl Members {
    /// Ports of a bridge by number.
    ///
    /// # Errors
    /// There is no such bridge, or a port is none of its members.
    pub fn new(bridge: &str, ports: Ports) -> Result<Self, Error> {
        let members = Self { bridge: bridge.to_owned(), ports };
        let all = links()?;
        let is_bridge = |link: &Value| {
            link.get("ifname").and_then(Value::as_str) == Some(bridge)
                && link.pointer("/linkinfo/info_kind").and_then(Value::as_str) == Some("bridge")
        };
        if !all.iter().any(is_bridge) {
            let what = format!("{}: there is no such bridge", bridge.escape_default());
            return Err(Error::new(what, "`ip link add name br0 type bridge` makes one"));
        }
        let seen = members.among(&all);
        match members.ports.iter().find(|(number, _)| !seen.0.contains_key(number)) {
            None => Ok(members),
            Some((_, name)) => Err(Error::new(
                format!("{} is no port of {bridge}", name.escape_default()),
                format!("`ip link set dev {name} master {bridge}` makes it one"),
            )),
        }
    }

    /// The interface of a port, whether it is there or not.
    pub fn interface(&self, port: u32) -> Option<&str> {
        self.ports.get(&port).map(String::as_str)
    }

    /// Looks at those that are there, and members of the bridge.
    ///
    /// # Errors
    /// What `ip` says.
    pub fn look(&self) -> Result<Seen, Error> {
        Ok(self.among(&links()?))
    }

    fn among(&self, all: &[Value]) -> Seen {
        let text = |link: &Value, key: &str| link.get(key).and_then(Value::as_str).map(str::to_owned);
        let of = |(number, name): (&u32, &String)| {
            let is = |link: &&Value| {
                text(link, "ifname").as_ref() == Some(name)
                    && text(link, "master").as_ref() == Some(&self.bridge)
            };
            Some((*number, all.iter().find(is)?.clone()))
        };
        Seen(self.ports.iter().filter_map(of).collect())
    }
}

/// All interfaces, as `ip` tells them.
fn links() -> Result<Vec<Value>, Error> {
    let text = finish(program("ip").args(["-j", "-s", "-d", "link", "show"]), None)?;
    serde_json::from_str(&text).map_err(|error| Error::new(format!("ip: {error}"), "iproute2 is needed"))
}

impl Seen {
    /// The names of the interfaces of ports.
    pub fn there(&self) -> Ports {
        let name = |link: &Value| link.get("ifname").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.0.iter().map(|(number, link)| (*number, name(link))).collect()
    }

    /// The port whose interface has this index.
    pub fn port_of(&self, interface: u32) -> Option<u32> {
        let is = |link: &Value| link.get("ifindex").and_then(Value::as_u64) == Some(interface.into());
        self.0.iter().find(|(_, link)| is(link)).map(|(number, _)| *number)
    }

    /// What OpenFlow says of ports.
    pub fn described(&self) -> Vec<Port> {
        self.0.iter().map(|(number, link)| describe(*number, link)).collect()
    }

    /// What ports have counted; `port` is one of them or any.
    pub fn counted(&self, port: PortNo) -> Vec<PortStats> {
        let wanted = |number: &u32| port == PortNo::ANY || port.0 == *number;
        let of = |(number, link): (&u32, &Value)| {
            let count = |what: &str| {
                link.pointer(&format!("/stats64/{what}")).and_then(Value::as_u64).unwrap_or(u64::MAX)
            };
            PortStats {
                port: PortNo(*number),
                received: Traffic { packets: count("rx/packets"), octets: count("rx/bytes") },
                sent: Traffic { packets: count("tx/packets"), octets: count("tx/bytes") },
                receive_dropped: count("rx/dropped"),
                send_dropped: count("tx/dropped"),
                receive_errors: count("rx/errors"),
                send_errors: count("tx/errors"),
                frame_errors: u64::MAX,
                overruns: count("rx/over_errors"),
                crc_errors: u64::MAX,
                collisions: u64::MAX,
                age: Age::default(),
            }
        };
        self.0.iter().filter(|(number, _)| wanted(number)).map(of).collect()
    }
}

fn describe(number: u32, link: &Value) -> Port {
    let text = |key: &str| link.get(key).and_then(Value::as_str).unwrap_or_default();
    let flags = link.get("flags").and_then(Value::as_array);
    let has = |flag: &str| flags.is_some_and(|flags| flags.iter().any(|one| one == flag));
    Port {
        number: PortNo(number),
        address: address(text("address")).unwrap_or_default(),
        raw_name: Port::pack_name(text("ifname").as_bytes()),
        config: if has("UP") { PortConfig::NONE } else { PortConfig::PORT_DOWN },
        state: if has("UP") && has("LOWER_UP") { PortState::LIVE } else { PortState::LINK_DOWN },
        current: PortFeatures::NONE,
        advertised: PortFeatures::NONE,
        supported: PortFeatures::NONE,
        peer: PortFeatures::NONE,
        current_speed: 0,
        max_speed: 0,
    }
}

/// An Ethernet address as the kernel writes it.
fn address(text: &str) -> Option<[u8; 6]> {
    let bytes: Option<Vec<u8>> = text.split(':').map(|part| u8::from_str_radix(part, 16).ok()).collect();
    bytes?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_are_read_or_not_at_all() {
        assert_eq!(address("02:00:00:00:00:ff"), Some([2, 0, 0, 0, 0, 255]));
        for text in ["", "02:00:00:00:00", "02:00:00:00:00:fg", "02:00:00:00:00:01:02"] {
            assert_eq!(address(text), None);
        }
    }

    #[test]
    fn ports_are_members_that_are_there_and_have_what_ip_says() {
        let ports = [(1, "p1".to_owned()), (2, "p2".to_owned()), (3, "p3".to_owned())].into();
        let members = Members { bridge: "br0".to_owned(), ports };
        let all = [
            json!({ "ifname": "p1", "ifindex": 7, "master": "br0", "flags": ["UP", "LOWER_UP"],
                    "stats64": { "rx": { "bytes": 9, "packets": 1 } } }),
            json!({ "ifname": "p2", "ifindex": 8, "master": "br1", "flags": ["UP"] }),
            json!({ "ifname": "p3", "ifindex": 9, "master": "br0", "flags": ["UP", "NO-CARRIER"] }),
        ];
        let seen = members.among(&all);
        let states: Vec<_> = seen.described().iter().map(|port| (port.number.0, port.state)).collect();
        assert_eq!(states, [(1, PortState::LIVE), (3, PortState::LINK_DOWN)]);
        assert_eq!((seen.port_of(7), seen.port_of(8)), (Some(1), None));
        let counted = seen.counted(PortNo(1));
        assert_eq!(
            counted.iter().map(|one| one.received).collect::<Vec<_>>(),
            [Traffic { packets: 1, octets: 9 }]
        );
    }
}
