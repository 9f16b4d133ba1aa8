//! Joining and leaving multicast groups, interface by interface.
use std::fmt;
use std::io;
use std::net::IpAddr;

use socket2::InterfaceIndexOrAddress;

use crate::Socket;

/// A group could not be joined or left.
#[derive(Debug)]
pub struct MembershipError {
    /// The group.
    pub group: IpAddr,
    /// Index of the interface; 0 is the system's choice.
    pub interface: u32,
    /// Why.
    pub failure: MembershipFailure,
}

/// Why a group could not be joined or left.
#[derive(Debug)]
#[non_exhaustive]
pub enum MembershipFailure {
    /// It is not a multicast address of the socket's family.
    NotAGroup,
    /// There is no such interface any more, or it has no multicast.
    NoInterface,
    /// The socket is in as many groups as the system allows.
    TooMany,
    /// Something else.
    Other(io::Error),
}

impl Socket {
    /// Receives what the group is sent on an interface, named by its index; 0 lets the system choose one. False if it did already.
    ///
    /// # Errors
    ///
    /// [`MembershipError`].
    pub fn join(&self, group: IpAddr, interface: u32) -> Result<bool, MembershipError> {
        let socket = &self.shared.socket;
        let result = match self.in_family(group, interface)? {
            IpAddr::V4(group) => {
                socket.join_multicast_v4_n(&group, &InterfaceIndexOrAddress::Index(interface))
            }
            IpAddr::V6(group) => socket.join_multicast_v6(&group, interface),
        };
        changed(result, libc::EADDRINUSE).map_err(|failure| MembershipError { group, interface, failure })
    }

    /// Ends [`Socket::join`]. False if the socket was not in that group on that interface, as when the interface is gone.
    ///
    /// # Errors
    ///
    /// [`MembershipError`].
    pub fn leave(&self, group: IpAddr, interface: u32) -> Result<bool, MembershipError> {
        let socket = &self.shared.socket;
        let result = match self.in_family(group, interface)? {
            IpAddr::V4(group) => {
                socket.leave_multicast_v4_n(&group, &InterfaceIndexOrAddress::Index(interface))
            }
            IpAddr::V6(group) => socket.leave_multicast_v6(&group, interface),
        };
        changed(result, libc::EADDRNOTAVAIL).map_err(|failure| MembershipError { group, interface, failure })
    }

    fn in_family(&self, group: IpAddr, interface: u32) -> Result<IpAddr, MembershipError> {
        if group.is_multicast() && group.is_ipv4() == self.local().is_ipv4() {
            Ok(group)
        } else {
            Err(MembershipError { group, interface, failure: MembershipFailure::NotAGroup })
        }
    }
}

impl fmt::Display for MembershipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, interface, failure } = self;
        write!(f, "group {group} on interface {interface}: ")?;
        match failure {
            MembershipFailure::NotAGroup => f.write_str("not a multicast address of the socket's family"),
            MembershipFailure::NoInterface => f.write_str("there is no such interface with multicast"),
            MembershipFailure::TooMany => {
                f.write_str("too many groups: raise net.ipv4.igmp_max_memberships or net.core.optmem_max")
            }
            MembershipFailure::Other(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MembershipError {}

/// `already` is the error that says that nothing had to be done.
fn changed(result: io::Result<()>, already: libc::c_int) -> Result<bool, MembershipFailure> {
    let Err(error) = result else { return Ok(true) };
    match error.raw_os_error() {
        Some(code) if code == already => Ok(false),
        Some(libc::ENODEV | libc::EADDRNOTAVAIL) => Err(MembershipFailure::NoInterface),
        Some(libc::ENOBUFS | libc::ENOMEM) => Err(MembershipFailure::TooMany),
        _ => Err(MembershipFailure::Other(error)),
    }
}
