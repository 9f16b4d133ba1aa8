//! Permanent entries for the Ethernet addresses of the other hosts of a network file, so that a host need not ask for them.
use std::fmt;
use std::net::IpAddr;

use network::Host;
use serde::{Deserialize, Serialize};

use crate::layout::written;
use crate::tools::Tools;
use system::Error;

/// An address of a host, and the MAC address of its interface as `ip` writes it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) struct Neighbour {
    address: IpAddr,
    mac: String,
}

impl fmt::Display for Neighbour {
    /// The arguments of `ip neighbour replace`, but for the interface.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lladdr {}", self.address, self.mac)
    }
}

/// The addresses of all hosts of a network file but one.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Others {
    /// In the order of the file.
    pub(crate) neighbours: Vec<Neighbour>,
    /// Names of hosts of which the file gives an address without a `mac`.
    pub(crate) without_mac: Vec<String>,
}

impl Others {
    /// Those besides the host at this index.
    pub(crate) fn of(hosts: &[Host], own: usize) -> Self {
        let mut others = Self::default();
        for (_, host) in hosts.iter().enumerate().filter(|(index, _)| *index != own) {
            let Some(mac) = host.mac else {
                others.without_mac.extend((!host.addresses.is_empty()).then(|| host.name.clone()));
                continue;
            };
            let mac = written(mac);
            let neighbours =
                host.addresses.iter().map(|address| Neighbour { address: *address, mac: mac.clone() });
            others.neighbours.extend(neighbours);
        }
        others
    }

    /// Those that are not among the permanent entries of an interface.
    ///
    /// # Errors
    /// `ip` does not tell of its entries.
    pub(crate) fn missing(&self, tools: &Tools, interface: &str) -> Result<Vec<Neighbour>, Error> {
        if self.neighbours.is_empty() {
            return Ok(Vec::new());
        }
        let there = permanent(tools, interface)?;
        Ok(self.neighbours.iter().filter(|neighbour| !there.contains(neighbour)).cloned().collect())
    }
}

/// The commands for `ip -batch` that make entries.
pub(crate) fn commands(neighbours: &[Neighbour], interface: &str) -> String {
    let line =
        |neighbour: &Neighbour| format!("neighbour replace {neighbour} dev {interface} nud permanent\n");
    neighbours.iter().map(line).collect()
}

/// Takes those away that are still as they were made.
///
/// # Errors
/// The kernel refuses.
pub(crate) fn remove(tools: &Tools, interface: &str, made: &[Neighbour]) -> Result<(), Error> {
    if made.is_empty() {
        return Ok(());
    }
    let there = permanent(tools, interface)?;
    let ours = made.iter().filter(|neighbour| there.contains(neighbour));
    let lines: String =
        ours.map(|neighbour| format!("neighbour del {} dev {interface}\n", neighbour.address)).collect();
    tools.batch("ip", None, &lines)
}

/// An entry of `ip -j neighbour show`.
#[derive(Deserialize)]
struct Entry {
    dst: IpAddr,
    #[serde(default)]
    lladdr: Option<String>,
}

fn permanent(tools: &Tools, interface: &str) -> Result<Vec<Neighbour>, Error> {
    entries(&tools.run(&format!("ip -j neighbour show dev {interface} nud permanent"))?)
}

fn entries(text: &str) -> Result<Vec<Neighbour>, Error> {
    // Some versions print nothing at all where there are none.
    let text = if text.trim().is_empty() { "[]" } else { text };
    let entries: Vec<Entry> = serde_json::from_str(text)
        .map_err(|error| Error::new(format!("ip -j neighbour show: {error}"), ""))?;
    let known = |entry: Entry| Some(Neighbour { address: entry.dst, mac: entry.lladdr? });
    Ok(entries.into_iter().filter_map(known).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ip_tells_is_read() {
        let text = r#"[{"dst":"10.9.0.2","lladdr":"02:00:00:00:00:02","state":["PERMANENT"]},
            {"dst":"fd00::2","lladdr":"02:00:00:00:00:02","state":["PERMANENT"]},{"dst":"10.9.0.3","state":["PERMANENT"]}]"#;
        let found = entries(text).unwrap();
        assert_eq!(
            commands(&found, "v0"),
            "neighbour replace 10.9.0.2 lladdr 02:00:00:00:00:02 dev v0 nud permanent\n\
             neighbour replace fd00::2 lladdr 02:00:00:00:00:02 dev v0 nud permanent\n"
        );
        assert!(entries(" \n").unwrap().is_empty() && entries("[ ]").unwrap().is_empty());
        assert!(entries("{").is_err() && entries(r#"[{"dst":"x"}]"#).is_err());
    }
}
