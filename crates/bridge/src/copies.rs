//! What the kernel tells unasked, by netlink: copies of frames for the controller, whole, from a group of its netfilter log; and that interfaces have
//! changed.
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd as _, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recvmsg, sendmsg,
    setsockopt, socket, sockopt,
};
use system::Error;

/// Bytes of the header of a netlink message, and of what netfilter has behind it.
const HEADER: usize = 16;
const GENERAL: usize = 4;
/// The subsystem of the log, and its messages (linux/netfilter/nfnetlink_log.h).
const PACKET: u16 = 4 << 8;
const CONFIG: u16 = PACKET | 1;
/// The answer to a request (linux/netlink.h).
const ANSWER: u16 = 2;
const REQUEST_WITH_ANSWER: u16 = 1 | 4;
/// The group of rtnetlink that tells of interfaces.
const LINKS: u32 = 1;
/// Attributes of a configuration.
const COMMAND: u16 = 1;
const MODE: u16 = 2;
const BIND: u8 = 1;
const WHOLE_PACKETS: u8 = 2;
/// Attributes of a packet.
const INTERFACE: u16 = 4;
const PAYLOAD: u16 = 9;
const PREFIX: u16 = 10;
const LINK_HEADER: u16 = 16;
/// Bits of an attribute's type that are no part of it.
const TYPE: u16 = 0x3fff;
/// Bytes that wait in the kernel until they are read.
const BUFFER: usize = 4 << 20;
/// The most that the kernel tells at once.
const PIECE: usize = 128 << 10;

/// A copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Copy {
    /// What the rule calls it.
    pub(crate) prefix: String,
    /// The index of the interface that it came by.
    pub(crate) interface: u32,
    /// The frame from its Ethernet header.
    pub(crate) frame: Vec<u8>,
}

/// Where copies come.
#[derive(Debug)]
pub(crate) struct Copies {
    socket: OwnedFd,
    piece: Vec<u8>,
}

impl Copies {
    /// Takes a group of the log of this network namespace, which can have one owner.
    ///
    /// # Errors
    /// Another process has it already, or the right is missing.
    pub(crate) fn open(group: u16) -> Result<Self, Error> {
        let failed = |error: Errno| {
            Error::new(
                format!("group {group} of the netfilter log: {error}"),
                "is another agent at work? take another --log-group",
            )
        };
        let flags = SockFlag::SOCK_CLOEXEC;
        let fd = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkNetFilter)
            .map_err(failed)?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, 0)).map_err(failed)?;
        // What is not granted shows as loss under load only.
        let _ = setsockopt(&fd, sockopt::RcvBufForce, &BUFFER);
        let mut copies = Self { socket: fd, piece: vec![0; PIECE] };
        copies.ask(group, COMMAND, &[BIND]).map_err(failed)?;
        copies.ask(group, MODE, &[0, 0, 0xff, 0xff, WHOLE_PACKETS, 0]).map_err(failed)?;
        Ok(copies)
    }

    /// Configures, and waits for the answer, which the kernel gives within the call.
    fn ask(&mut self, group: u16, attribute: u16, value: &[u8]) -> Result<(), Errno> {
        let request = request(group, attribute, value);
        sendmsg::<NetlinkAddr>(
            self.socket.as_raw_fd(),
            &[IoSlice::new(&request)],
            &[],
            MsgFlags::empty(),
            None,
        )?;
        let length = self.receive()?;
        for message in messages(self.piece.get(..length).unwrap_or_default()) {
            if message.kind == ANSWER {
                let code = message.body.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
                return if code == 0 { Ok(()) } else { Err(Errno::from_raw(code.saturating_neg())) };
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<usize, Errno> {
        let mut parts = [IoSliceMut::new(&mut self.piece)];
        recvmsg::<NetlinkAddr>(self.socket.as_raw_fd(), &mut parts, None, MsgFlags::empty())
            .map(|got| got.bytes)
    }

    /// The copies that come next; none if more came than had room.
    ///
    /// # Errors
    /// There will be none any more.
    pub(crate) fn wait(&mut self) -> Result<Vec<Copy>, Error> {
        match self.receive() {
            Ok(length) => Ok(read(self.piece.get(..length).unwrap_or_default())),
            Err(Errno::ENOBUFS | Errno::EINTR) => Ok(Vec::new()),
            Err(error) => Err(Error::new(format!("the netfilter log: {error}"), "")),
        }
    }
}

/// Where the kernel says that interfaces have changed (rtnetlink).
#[derive(Debug)]
pub(crate) struct Links(OwnedFd);

impl Links {
    /// Listens in this network namespace.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn open() -> Result<Self, Error> {
        let failed = |error: Errno| Error::new(format!("changes of interfaces: {error}"), "");
        let fd =
            socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)
                .map_err(failed)?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, LINKS)).map_err(failed)?;
        Ok(Self(fd))
    }

    /// Waits for a change.
    ///
    /// # Errors
    /// None will be heard any more.
    pub(crate) fn wait(&mut self) -> Result<(), Error> {
        let mut piece = [0; 64];
        let mut parts = [IoSliceMut::new(&mut piece)];
        match recvmsg::<NetlinkAddr>(self.0.as_raw_fd(), &mut parts, None, MsgFlags::empty()) {
            // More have come than had room, which is a change.
            Ok(_) | Err(Errno::ENOBUFS | Errno::EINTR) => Ok(()),
            Err(error) => Err(Error::new(format!("changes of interfaces: {error}"), "")),
        }
    }
}

fn request(group: u16, attribute: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len()).unwrap_or(0).saturating_add(4);
    let mut out = vec![0; 4];
    out.extend(CONFIG.to_ne_bytes());
    out.extend(REQUEST_WITH_ANSWER.to_ne_bytes());
    out.extend([0; 8]);
    out.extend([0, 0]);
    out.extend(group.to_be_bytes());
    out.extend(length.to_ne_bytes());
    out.extend(attribute.to_ne_bytes());
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
    let whole = u32::try_from(out.len()).unwrap_or(0).to_ne_bytes();
    if let Some(place) = out.first_chunk_mut() {
        *place = whole;
    }
    out
}

struct Netlink<'b> {
    kind: u16,
    body: &'b [u8],
}

/// Netlink messages one behind the other, as far as they are whole.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Netlink<'_>> {
    std::iter::from_fn(move || {
        let length = usize::try_from(u32::from_ne_bytes(*bytes.first_chunk()?)).ok()?;
        let kind = u16::from_ne_bytes(*bytes.get(4..)?.first_chunk()?);
        let body = bytes.get(HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Netlink { kind, body })
    })
}

/// Attributes one behind the other, as far as they are whole.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(*bytes.first_chunk()?));
        let kind = u16::from_ne_bytes(*bytes.get(2..)?.first_chunk()?) & TYPE;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The copies in what the kernel has told.
fn read(bytes: &[u8]) -> Vec<Copy> {
    let of = |message: Netlink<'_>| {
        let mut copy = Copy { prefix: String::new(), interface: 0, frame: Vec::new() };
        let mut payload: &[u8] = &[];
        for (kind, value) in attributes(message.body.get(GENERAL..)?) {
            match kind {
                INTERFACE => copy.interface = u32::from_be_bytes(*value.first_chunk()?),
                PREFIX => {
                    let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
                    copy.prefix = String::from_utf8_lossy(text).into_owned();
                }
                LINK_HEADER => copy.frame = value.to_vec(),
                PAYLOAD => payload = value,
                _ => {}
            }
        }
        copy.frame.extend(payload);
        Some(copy)
    };
    messages(bytes).filter(|message| message.kind == PACKET).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut out = (value.len() as u16 + 4).to_ne_bytes().to_vec();
        out.extend(kind.to_ne_bytes());
        out.extend(value);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    fn told() -> Vec<u8> {
        let mut body = vec![0, 0, 0x1a, 0xdd];
        body.extend(attribute(PREFIX, b"punctual 1 7\0"));
        body.extend(attribute(INTERFACE, &[0, 0, 0, 5]));
        body.extend(attribute(PAYLOAD, b"xyz"));
        body.extend(attribute(LINK_HEADER, b"ab"));
        let mut out = (HEADER as u32 + body.len() as u32).to_ne_bytes().to_vec();
        out.extend(PACKET.to_ne_bytes());
        out.extend([0; 10]);
        out.extend(body);
        out
    }

    #[test]
    fn copies_are_read_header_first() {
        let twice = [told(), told()].concat();
        let copy = Copy { prefix: "punctual 1 7".to_owned(), interface: 5, frame: b"abxyz".to_vec() };
        assert_eq!(read(&twice), [copy.clone(), copy]);
    }

    #[test]
    fn what_is_cut_or_odd_is_no_copy_and_no_harm() {
        let whole = told();
        for length in 0..whole.len() {
            assert_eq!(read(&whole[..length]), []);
            for value in [0, 1, 3, 0xff] {
                let mut odd = whole.clone();
                odd[length] = value;
                assert!(read(&odd).len() <= 1);
            }
        }
    }
}
