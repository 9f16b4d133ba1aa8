//! A Linux bridge as what forwards: its ports, the rules at their ingress, and frames that are sent by them.
//!
//! While rules are there the bridge itself forwards nothing: a frame is handed over at the ingress to the port by which it leaves, or dropped. The
//! bridge says which interfaces are ports, and forwards as bridges do once the rules are gone.
use std::collections::BTreeMap;
use std::io::IoSlice;
use std::os::fd::{AsRawFd as _, OwnedFd};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, LinkAddr, MsgFlags, SockFlag, SockType, bind, sendmsg, socket};
use openflow::multipart::PortStats;
use openflow::port::Port;
use openflow::words::PortNo;
use system::Error;

use crate::datapath::{DataPath, Found};
use crate::nft::Nft;
use crate::ports::{Members, Seen};
use crate::tables::Tables;

/// A bridge whose frames go as flow tables say.
#[derive(Debug)]
pub struct Bridge {
    members: Members,
    seen: Seen,
    nft: Nft,
    /// For each port the index of its interface, and a socket that sends by it.
    senders: BTreeMap<u32, (u32, OwnedFd)>,
}

impl Bridge {
    /// A bridge with these ports; the log group is where copies for controllers go. Nothing is changed yet.
    ///
    /// # Errors
    /// What `ip` says.
    pub fn new(name: &str, members: Members, log: u16) -> Result<Self, Error> {
        let seen = members.look()?;
        Ok(Self { members, seen, nft: Nft::new(name, log), senders: BTreeMap::new() })
    }

    /// The port whose interface had this index when ports were looked at.
    pub fn port_of(&self, interface: u32) -> Option<u32> {
        self.seen.port_of(interface)
    }

    /// Lets nothing pass until a manager has spoken, but for what an agent before has left.
    ///
    /// # Errors
    /// What `nft` says.
    pub fn begin(&mut self) -> Result<(), Error> {
        self.nft.begin(&self.seen.there())
    }

    /// Takes all rules away.
    ///
    /// # Errors
    /// What `nft` says.
    pub fn remove(&mut self) -> Result<(), Error> {
        self.nft.remove()
    }
}

impl DataPath for Bridge {
    fn ports(&mut self) -> Vec<Port> {
        // What cannot be seen for a moment is taken to be as it was.
        if let Ok(seen) = self.members.look() {
            self.seen = seen;
        }
        self.seen.described()
    }

    fn counted(&mut self, port: PortNo) -> Vec<PortStats> {
        self.ports();
        self.seen.counted(port)
    }

    fn apply(&mut self, tables: &Tables) -> Result<(), Error> {
        if self.nft.apply(tables, &self.seen.there()).is_ok() {
            return Ok(());
        }
        // A port may have gone that was there when ports were looked at.
        self.ports();
        self.nft.apply(tables, &self.seen.there())
    }

    fn read(&mut self, _: &Tables) -> Result<Found, Error> {
        let (differences, traffic) = self.nft.read()?;
        Ok(Found {
            flows: differences.entries,
            groups: differences.groups,
            altered: differences.any,
            traffic,
        })
    }

    fn send(&mut self, port: u32, frame: &[u8]) -> Result<(), Error> {
        let missing = || Error::new(format!("port {port} is not there"), "");
        let name = self.members.interface(port).ok_or_else(missing)?;
        let failed = |error: nix::Error| Error::new(format!("{name}: {error}"), "");
        let index = if_nametoindex(name).map_err(failed)?;
        // An interface that was made anew has another index, and needs another socket.
        if self.senders.get(&port).is_none_or(|(known, _)| *known != index) {
            self.senders.insert(port, (index, sender(name)?));
        }
        let Some((_, socket)) = self.senders.get(&port) else { return Ok(()) };
        sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(frame)], &[], MsgFlags::MSG_DONTWAIT, None)
            .map(drop)
            .map_err(failed)
    }
}

/// A packet socket that hears nothing and sends by an interface.
fn sender(name: &str) -> Result<OwnedFd, Error> {
    let failed = |error: nix::Error| Error::new(format!("{name}: {error}"), "packet sockets need root");
    let link: LinkAddr = getifaddrs()
        .map_err(failed)?
        .filter(|found| found.interface_name == name)
        .find_map(|found| found.address?.as_link_addr().copied())
        .ok_or_else(|| Error::new(format!("there is no interface {name}"), ""))?;
    let fd = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None).map_err(failed)?;
    bind(fd.as_raw_fd(), &link).map_err(failed)?;
    Ok(fd)
}
