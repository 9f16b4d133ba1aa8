//! The host's interfaces.
use std::ffi::CString;
use std::fmt;
use std::fs;
use std::io;
use std::mem;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sys::socket::SockaddrStorage;
use socket2::{Domain, Type};

/// An interface of the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// The system's index, 1 or more.
    pub index: u32,
    /// Its name, as `eth0`.
    pub name: String,
    /// Its addresses with the lengths of their subnet prefixes, in the system's order. Without those of IPv6 that the system is
    /// still looking for duplicates of, or has found one of: nothing can be sent from them.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Most bytes of an IP packet that it sends in one piece.
    pub mtu: u32,
    /// It is switched on and has a carrier, as far as the system knows (IFF_UP and IFF_RUNNING).
    pub up: bool,
    /// Only this host is behind it.
    pub loopback: bool,
    /// It sends and receives multicast. The loopback interface often does although the system does not say so.
    pub multicast: bool,
    /// Only one other host is behind it.
    pub point_to_point: bool,
}

/// The interfaces could not be read.
#[derive(Debug)]
pub struct InterfaceError {
    /// The step that failed.
    pub step: &'static str,
    /// What the system said.
    pub error: io::Error,
}

/// All interfaces that the calling thread's network namespace has, by index.
///
/// # Errors
///
/// The system's error. An interface that goes away meanwhile is left out instead.
pub fn interfaces() -> Result<Vec<Interface>, InterfaceError> {
    let failed = |step| move |error: io::Error| InterfaceError { step, error };
    let socket = socket2::Socket::new(Domain::IPV4, Type::DGRAM, None)
        .or_else(|_| socket2::Socket::new(Domain::IPV6, Type::DGRAM, None))
        .map_err(failed("socket"))?;
    let unusable = unusable();
    let mut found: Vec<Interface> = Vec::new();
    for entry in getifaddrs().map_err(|error| failed("getifaddrs")(error.into()))? {
        // Addresses may carry a label, as `eth0:1`.
        let name = entry.interface_name.split(':').next().unwrap_or_default();
        let position = match found.iter().position(|interface| interface.name == name) {
            Some(position) => position,
            None => {
                let Some(interface) = interface(name, entry.flags, socket.as_fd()) else { continue };
                let place = found.partition_point(|other| other.index <= interface.index);
                found.insert(place, interface);
                place
            }
        };
        if let (Some(address), Some(interface)) = (address(&entry), found.get_mut(position))
            && !interface.addresses.contains(&address)
            && !unusable.contains(&(interface.index, address.0))
        {
            interface.addresses.push(address);
        }
    }
    Ok(found)
}

impl fmt::Display for InterfaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read the interfaces: {}: {}", self.step, self.error)
    }
}

impl std::error::Error for InterfaceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// An interface without addresses; `None` if there is none of that name any more.
fn interface(name: &str, flags: InterfaceFlags, socket: BorrowedFd<'_>) -> Option<Interface> {
    Some(Interface {
        index: if_nametoindex(name).ok()?,
        name: name.to_owned(),
        addresses: Vec::new(),
        mtu: mtu(name, socket)?,
        up: flags.contains(InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING),
        loopback: flags.contains(InterfaceFlags::IFF_LOOPBACK),
        multicast: flags.contains(InterfaceFlags::IFF_MULTICAST),
        point_to_point: flags.contains(InterfaceFlags::IFF_POINTOPOINT),
    })
}

/// Asked by name, since /sys may show another network namespace than the thread's.
fn mtu(name: &str, socket: BorrowedFd<'_>) -> Option<u32> {
    let name = CString::new(name).ok()?;
    let name = name.to_bytes_with_nul();
    // SAFETY: `ifreq` consists of integers and bytes, for which all zeros is a value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    let place = request.ifr_name.get_mut(..name.len())?;
    for (to, from) in place.iter_mut().zip(name) {
        *to = *from as libc::c_char;
    }
    // SAFETY: SIOCGIFMTU reads the name, which ends with 0, and writes the MTU, both within `request`.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU as _, &raw mut request) };
    // SAFETY: after success the union holds the MTU; it was zeroed, so it is an integer in any case.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    if result == 0 { u32::try_from(mtu).ok() } else { None }
}

/// Addresses of IPv6 that are not, or not yet, this host's (RFC 4862, 5.4), with the index of their interface.
fn unusable() -> Vec<(u32, IpAddr)> {
    // Without IPv6 there is no such file.
    let lines = fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap_or_default();
    lines.lines().filter_map(unusable_in).collect()
}

/// A line holds, in hexadecimal: address, index, length of the prefix, scope, flags; then the name.
fn unusable_in(line: &str) -> Option<(u32, IpAddr)> {
    let mut words = line.split_ascii_whitespace();
    let address = u128::from_str_radix(words.next()?, 16).ok()?;
    let index = u32::from_str_radix(words.next()?, 16).ok()?;
    let flags = u32::from_str_radix(words.nth(2)?, 16).ok()?;
    let tentative = flags & libc::IFA_F_TENTATIVE != 0 && flags & libc::IFA_F_OPTIMISTIC == 0;
    let usable = !tentative && flags & libc::IFA_F_DADFAILED == 0;
    (!usable).then(|| (index, IpAddr::V6(address.into())))
}

/// The IP address of an entry, with the length of its prefix.
fn address(entry: &InterfaceAddress) -> Option<(IpAddr, u8)> {
    let address = ip(entry.address.as_ref()?)?;
    let ones = match entry.netmask.as_ref().and_then(ip) {
        Some(IpAddr::V4(mask)) => mask.to_bits().leading_ones(),
        Some(IpAddr::V6(mask)) => mask.to_bits().leading_ones(),
        None if address.is_ipv4() => 32,
        None => 128,
    };
    Some((address, u8::try_from(ones).ok()?))
}

fn ip(storage: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = storage.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
    v4.or_else(|| storage.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_in_doubt_are_unusable() {
        let line =
            |flags| unusable_in(&format!("fd070000000000000000000000000001 1f 40 00 {flags}     eth0"));
        let address = Some((31, "fd07::1".parse().unwrap()));
        // Permanent; tentative; optimistic; duplicate found.
        assert_eq!([line("80"), line("c0"), line("44"), line("88")], [None, address, None, address]);
        assert_eq!(unusable_in(""), None);
        assert_eq!(unusable_in("fd07::1 1f 40 00 c0 eth0"), None);
    }
}
