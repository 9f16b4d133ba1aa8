//! Sockets for keep-alives of links: of Linux routers, whose kernels answer echo requests of ICMPv6 (RFC 4443), and of switches, which send frames back.
use std::io;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use linux_edge::budget;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, SockaddrIn6, bind, recvfrom, socket,
};
use ovs_edge::keep_alive as frame;
use socket2::{Domain, Protocol, SockFilter, Socket, Type};
use wan::Class;

/// Echo request and reply (RFC 4443, 4.1 and 4.2): type, code, checksum, identifier, number; then the token. Identifier and number are those of the
/// socket here, by which the kernel finds what is for it.
const REQUEST: u8 = 128;
const REPLY: u8 = 129;
const HEADER: usize = 8;
const IDENTITY: std::ops::Range<usize> = 4..HEADER;
const KEEP_ALIVE: usize = HEADER + 8;
const _: () =
    assert!(budget::KEEP_ALIVE == 40 + KEEP_ALIVE as u64, "borders answer keep-alives by their size");
const _: () =
    assert!(frame::BYTES as u64 - 14 <= budget::KEEP_ALIVE, "files say how much room keep-alives need");
/// Datagrams that are read of one link at a time: no neighbour keeps the thread from the other links.
const TOGETHER: usize = 64;

/// Who sends keep-alives back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answers {
    /// The kernel of the neighbour, at this address.
    Kernel(Ipv6Addr),
    /// The switch at the other end.
    Switch,
}

/// A socket for keep-alives at an interface, in the class of control: no flood is before them. It gets answers to its own requests alone: what others
/// send fills no buffer, and wakes no thread.
pub(crate) struct Keeper {
    socket: Socket,
    /// What answers have in common.
    identity: [u8; 4],
    by: By,
}

enum By {
    Echo(Ipv6Addr),
    /// Frames with this address of Ethernet.
    Frames([u8; 6]),
}

impl Keeper {
    pub(crate) fn open(interface: &str, answers: Answers, identity: [u8; 4]) -> io::Result<Self> {
        let (socket, by) = match answers {
            Answers::Kernel(neighbour) => (echo(interface, identity)?, By::Echo(neighbour)),
            Answers::Switch => {
                let (socket, own) = frames(interface, identity)?;
                (socket, By::Frames(own))
            }
        };
        Ok(Self { socket, identity, by })
    }

    /// Sends one; what cannot be sent is not answered.
    pub(crate) fn send(&self, token: u64) {
        match self.by {
            By::Echo(neighbour) => {
                let mut request = [0; KEEP_ALIVE];
                // The kernel adds the checksum.
                if let Some(first) = request.first_mut() {
                    *first = REQUEST;
                }
                if let Some(own) = request.get_mut(IDENTITY) {
                    own.copy_from_slice(&self.identity);
                }
                if let Some(rest) = request.get_mut(HEADER..) {
                    rest.copy_from_slice(&token.to_be_bytes());
                }
                let to = SocketAddr::V6(SocketAddrV6::new(neighbour, 0, 0, 0));
                let _ = self.socket.send_to(&request, &to.into());
            }
            By::Frames(own) => {
                let _ = self.socket.send(&frame::request(own, self.identity, token));
            }
        }
    }

    /// What has come: tokens of answers, which are known on the link alone.
    pub(crate) fn receive(&self, mut answered: impl FnMut(u64)) {
        for _ in 0..TOGETHER {
            // One byte more than there should be, which tells longer ones apart.
            let mut buffer = [0; frame::BYTES + 1];
            let Ok((count, from)) = recvfrom::<SockaddrIn6>(self.socket.as_raw_fd(), &mut buffer) else {
                return;
            };
            let message = buffer.get(..count);
            let token = match self.by {
                By::Echo(neighbour) if from.is_some_and(|from| from.ip() == neighbour) => {
                    message.and_then(reply)
                }
                By::Echo(_) => None,
                By::Frames(_) => message.and_then(|message| frame::token(message, self.identity)),
            };
            token.into_iter().for_each(&mut answered);
        }
    }
}

impl AsFd for Keeper {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn echo(interface: &str, identity: [u8; 4]) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
    socket.attach_filter(&echo_filter(identity))?;
    socket.bind_device(Some(interface.as_bytes()))?;
    socket.set_unicast_hops_v6(255)?;
    socket.set_tclass_v6(u32::from(Class::Control.dscp()) << 2)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// A socket that hears frames beside the switch, and the address of its interface.
fn frames(interface: &str, identity: [u8; 4]) -> io::Result<(Socket, [u8; 6])> {
    let mut found = getifaddrs()?.filter(|found| found.interface_name == interface);
    let link: Option<LinkAddr> = found.find_map(|found| found.address?.as_link_addr().copied());
    let (link, own) =
        link.and_then(|link| Some((link, link.addr()?))).ok_or(io::ErrorKind::AddrNotAvailable)?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = Socket::from(socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll)?);
    socket.attach_filter(&frame_filter(identity))?;
    bind(socket.as_raw_fd(), &link)?;
    Ok((socket, own))
}

const LOAD_WORD: u16 = 0x20;
const LOAD_BYTE: u16 = 0x30;
const IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

/// A program of the packet filter of BSD, which Linux runs on a message of ICMPv6 (packet(7), raw(7)).
fn echo_filter(identity: [u8; 4]) -> [SockFilter; 6] {
    // An instruction, how many are left out if it is so and if it is not, and a number.
    [
        SockFilter::new(LOAD_WORD, 0, 0, 4),
        SockFilter::new(IF_EQUAL, 0, 3, u32::from_be_bytes(identity)),
        SockFilter::new(LOAD_BYTE, 0, 0, 0),
        SockFilter::new(IF_EQUAL, 0, 1, REPLY.into()),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
        SockFilter::new(RETURN, 0, 0, 0),
    ]
}

/// The same on a frame of Ethernet: it comes back, and was sent from here.
fn frame_filter(identity: [u8; 4]) -> [SockFilter; 6] {
    let [_, _, to @ ..] = frame::REPLY;
    [
        SockFilter::new(LOAD_WORD, 0, 0, frame::IDENTITY as u32),
        SockFilter::new(IF_EQUAL, 0, 3, u32::from_be_bytes(identity)),
        SockFilter::new(LOAD_WORD, 0, 0, 2),
        SockFilter::new(IF_EQUAL, 0, 1, u32::from_be_bytes(to)),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
        SockFilter::new(RETURN, 0, 0, 0),
    ]
}

/// The token of an echo reply, if this is one of those that were asked for here.
fn reply(reply: &[u8]) -> Option<u64> {
    let reply: &[u8; KEEP_ALIVE] = reply.try_into().ok()?;
    let (header, token) = reply.split_at_checked(HEADER)?;
    (header.first() == Some(&REPLY)).then_some(())?;
    token.try_into().ok().map(u64::from_be_bytes)
}
