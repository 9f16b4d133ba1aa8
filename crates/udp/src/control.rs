//! Control messages, the extra facts that go to and come from the kernel with a datagram.
use std::net::IpAddr;
use std::ptr;

use libc::{c_int, c_void, cmsghdr, msghdr};

use crate::Dscp;

/// Bytes for control messages: more than all kinds of them that we send or ask for need together.
const ROOM: usize = 256;

/// Room for control messages, aligned as the kernel wants them.
#[repr(C, align(8))]
pub(crate) struct Control {
    bytes: [u8; ROOM],
    used: usize,
}

/// One control message that came with a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    /// Where the datagram was sent to, and the index of the interface that it came in by.
    Destination(IpAddr, u32),
    /// Its class of service.
    Class(Dscp),
    /// When the kernel got it: seconds and nanoseconds since 1970.
    Time(i64, i64),
    /// It is several datagrams of this size, the last one possibly shorter.
    Segment(u16),
}

impl Control {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; ROOM], used: 0 }
    }

    /// Lets the kernel write control messages here.
    pub(crate) fn lend(&mut self, message: &mut msghdr) {
        message.msg_control = self.bytes.as_mut_ptr().cast::<c_void>();
        message.msg_controllen = ROOM as _;
    }

    /// Hands what was pushed to the kernel.
    pub(crate) fn attach(&mut self, message: &mut msghdr) {
        if self.used > 0 {
            message.msg_control = self.bytes.as_mut_ptr().cast::<c_void>();
            message.msg_controllen = self.used as _;
        }
    }

    /// The datagram leaves by this interface (0: any) and from this address.
    pub(crate) fn push_source(&mut self, v4: bool, interface: u32, source: Option<IpAddr>) {
        if v4 {
            let source = match source {
                Some(IpAddr::V4(address)) => u32::from_ne_bytes(address.octets()),
                _ => 0,
            };
            let info = libc::in_pktinfo {
                ipi_ifindex: c_int::try_from(interface).unwrap_or(c_int::MAX),
                ipi_spec_dst: libc::in_addr { s_addr: source },
                ipi_addr: libc::in_addr { s_addr: 0 },
            };
            self.push(libc::IPPROTO_IP, libc::IP_PKTINFO, info);
        } else {
            let source = match source {
                Some(IpAddr::V6(address)) => address.octets(),
                _ => [0; 16],
            };
            let info = libc::in6_pktinfo {
                ipi6_addr: libc::in6_addr { s6_addr: source },
                ipi6_ifindex: interface as _,
            };
            self.push(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info);
        }
    }

    /// The datagram has this class of service.
    pub(crate) fn push_class(&mut self, v4: bool, class: Dscp) {
        let octet = c_int::from(class.octet());
        if v4 {
            self.push(libc::IPPROTO_IP, libc::IP_TOS, octet);
        } else {
            self.push(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, octet);
        }
    }

    /// What is sent is cut into datagrams of this size.
    pub(crate) fn push_segment(&mut self, segment: u16) {
        self.push(libc::SOL_UDP, libc::UDP_SEGMENT, segment);
    }

    fn push<T: Copy>(&mut self, level: c_int, kind: c_int, value: T) {
        const { assert!(size_of::<T>() <= 32) };
        // SAFETY: both are arithmetic on sizes only.
        let (length, space) = unsafe {
            (libc::CMSG_LEN(size_of::<T>() as u32), libc::CMSG_SPACE(size_of::<T>() as u32) as usize)
        };
        // Three small messages never fill the room: each takes at most CMSG_SPACE(32) = 48 bytes.
        debug_assert!(self.used + space <= ROOM);
        if self.used + space > ROOM {
            return;
        }
        // SAFETY: `used + space <= ROOM`, so header and value lie within `bytes`. `used` is a sum of CMSG_SPACEs, which are
        // multiples of the alignment of `cmsghdr`, and `bytes` is aligned to 8; the value is written unaligned.
        unsafe {
            let header = self.bytes.as_mut_ptr().add(self.used).cast::<cmsghdr>();
            (*header).cmsg_level = level;
            (*header).cmsg_type = kind;
            (*header).cmsg_len = length as _;
            ptr::write_unaligned(libc::CMSG_DATA(header).cast::<T>(), value);
        }
        self.used += space;
    }
}

/// Calls `each` for every control message that the kernel wrote and that we know.
///
/// # Safety
///
/// `message` is as a successful `recvmsg` left it, and the buffer for control messages that it was given is still there.
pub(crate) unsafe fn read(message: &msghdr, mut each: impl FnMut(Item)) {
    // SAFETY: the caller says that `message` describes control messages of the kernel.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR give headers that lie within the buffer, or null.
        if let Some(item) = unsafe { item(header) } {
            each(item);
        }
        // SAFETY: as above; `header` is one of this message.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
}

/// # Safety
///
/// `header` points to a whole control message.
unsafe fn item(header: *const cmsghdr) -> Option<Item> {
    // SAFETY: the caller says that the header is there.
    let (level, kind) = unsafe { ((*header).cmsg_level, (*header).cmsg_type) };
    match (level, kind) {
        (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
            // SAFETY: `header` is whole.
            let info = unsafe { value::<libc::in_pktinfo>(header) }?;
            let address = IpAddr::from(info.ipi_addr.s_addr.to_ne_bytes());
            Some(Item::Destination(address, u32::try_from(info.ipi_ifindex).ok()?))
        }
        (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
            // SAFETY: `header` is whole.
            let info = unsafe { value::<libc::in6_pktinfo>(header) }?;
            Some(Item::Destination(IpAddr::from(info.ipi6_addr.s6_addr), info.ipi6_ifindex))
        }
        (libc::IPPROTO_IP, libc::IP_TOS) => {
            // SAFETY: `header` is whole.
            unsafe { value::<u8>(header) }.map(|octet| Item::Class(Dscp::from_octet(octet)))
        }
        (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
            // SAFETY: `header` is whole.
            let octet = u8::try_from(unsafe { value::<c_int>(header) }?).ok()?;
            Some(Item::Class(Dscp::from_octet(octet)))
        }
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
            // SAFETY: `header` is whole.
            let time = unsafe { value::<libc::timespec>(header) }?;
            // Both are 32 bits wide on some machines.
            #[allow(clippy::useless_conversion)]
            Some(Item::Time(time.tv_sec.into(), time.tv_nsec.into()))
        }
        (libc::SOL_UDP, libc::UDP_GRO) => {
            // SAFETY: `header` is whole.
            u16::try_from(unsafe { value::<c_int>(header) }?).ok().map(Item::Segment)
        }
        _ => None,
    }
}

/// The value of a control message; `None` if it is too short for one.
///
/// # Safety
///
/// `header` points to a whole control message, and every pattern of bits is a `T`.
unsafe fn value<T: Copy>(header: *const cmsghdr) -> Option<T> {
    // SAFETY: the caller says that the header is there; CMSG_LEN is arithmetic only.
    let (length, needed) = unsafe { ((*header).cmsg_len, libc::CMSG_LEN(size_of::<T>() as u32)) };
    // SAFETY: the message is whole, and long enough for a `T`, which is read unaligned.
    (length >= needed as _).then(|| unsafe { ptr::read_unaligned(libc::CMSG_DATA(header).cast::<T>()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem;

    #[test]
    fn what_is_pushed_is_read_back() {
        let mut control = Control::new();
        control.push_source(false, 7, Some("fe80::1".parse().unwrap()));
        control.push_class(false, Dscp::EXPEDITED_FORWARDING);
        control.push_segment(1_472);
        // SAFETY: all zeros is a `msghdr` without anything.
        let mut message: msghdr = unsafe { mem::zeroed() };
        control.attach(&mut message);
        let mut items = Vec::new();
        // SAFETY: the message describes the buffer above.
        unsafe { read(&message, |item| items.push(item)) };
        // UDP_SEGMENT goes to the kernel only.
        assert_eq!(
            items,
            [Item::Destination("fe80::1".parse().unwrap(), 7), Item::Class(Dscp::EXPEDITED_FORWARDING),]
        );
    }

    #[test]
    fn nothing_pushed_is_nothing_attached() {
        // SAFETY: all zeros is a `msghdr` without anything.
        let mut message: msghdr = unsafe { mem::zeroed() };
        Control::new().attach(&mut message);
        assert!(message.msg_control.is_null());
        // SAFETY: the message has no control messages.
        unsafe { read(&message, |item| panic!("{item:?}")) };
    }

    #[test]
    fn a_message_that_is_too_short_is_passed_over() {
        let mut control = Control::new();
        control.push(libc::IPPROTO_IP, libc::IP_PKTINFO, 1_u32);
        // SAFETY: all zeros is a `msghdr` without anything.
        let mut message: msghdr = unsafe { mem::zeroed() };
        control.attach(&mut message);
        // SAFETY: the message describes the buffer above.
        unsafe { read(&message, |item| panic!("{item:?}")) };
    }
}
