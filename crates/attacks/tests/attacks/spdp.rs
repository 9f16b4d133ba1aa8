//! Announcements, after RTPS 2.5, 9.6.3 and 8.5, and what is heard of others' by listening to the group.
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

use crate::message::{SPDP, Submessage};

/// Where discovery of domain 0 is heard.
pub(crate) const GROUP: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 255, 0, 1), 7400);

/// Where a participant says that it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Locators {
    pub(crate) metatraffic: SocketAddrV4,
    pub(crate) user: SocketAddrV4,
}

/// Appends a parameter.
pub(crate) fn parameter(list: &mut Vec<u8>, id: u16, value: &[u8]) {
    let length = value.len().next_multiple_of(4);
    list.extend(id.to_le_bytes());
    list.extend(u16::try_from(length).unwrap().to_le_bytes());
    list.extend(value);
    list.resize(list.len() + length - value.len(), 0);
}

fn locator(list: &mut Vec<u8>, id: u16, at: SocketAddrV4) {
    let mut value = 1_u32.to_le_bytes().to_vec();
    value.extend(u32::from(at.port()).to_le_bytes());
    value.extend([0; 12]);
    value.extend(at.ip().octets());
    parameter(list, id, &value);
}

fn string(list: &mut Vec<u8>, id: u16, text: &str) {
    let mut value = u32::try_from(text.len() + 1).unwrap().to_le_bytes().to_vec();
    value.extend(text.as_bytes());
    value.push(0);
    parameter(list, id, &value);
}

/// The beginning of a list of parameters, little endian.
pub(crate) fn list() -> Vec<u8> {
    vec![0, 3, 0, 0]
}

/// The list with its end.
pub(crate) fn end(mut list: Vec<u8>) -> Vec<u8> {
    list.extend([1, 0, 0, 0]);
    list
}

/// GUID of an entity.
pub(crate) fn guid(prefix: [u8; 12], entity: [u8; 4]) -> Vec<u8> {
    [&prefix[..], &entity].concat()
}

/// The payload of a participant's announcement, with a lease in seconds, without end if there is none.
pub(crate) fn participant(prefix: [u8; 12], at: Locators, lease: Option<u32>) -> Vec<u8> {
    let mut list = list();
    parameter(&mut list, 0x0015, &[2, 5]);
    parameter(&mut list, 0x0016, &[1, 0x77]);
    parameter(&mut list, 0x0050, &guid(prefix, [0, 0, 1, 0xc1]));
    // Announcers and detectors of participants, publications and subscriptions; both ends of liveliness.
    parameter(&mut list, 0x0058, &0x0c3f_u32.to_le_bytes());
    let (seconds, fraction) = lease.map_or((0x7fff_ffff, u32::MAX), |seconds| (seconds, 0));
    parameter(&mut list, 0x0002, &[seconds.to_le_bytes(), fraction.to_le_bytes()].concat());
    locator(&mut list, 0x0032, at.metatraffic);
    locator(&mut list, 0x0031, at.user);
    end(list)
}

/// The payload of a reliable endpoint's announcement, with a locator of its own if there is one.
pub(crate) fn endpoint(
    prefix: [u8; 12],
    entity: [u8; 4],
    topic: &str,
    type_name: &str,
    is_lasting: bool,
    at: Option<SocketAddrV4>,
) -> Vec<u8> {
    let mut list = list();
    parameter(&mut list, 0x005a, &guid(prefix, entity));
    parameter(&mut list, 0x0050, &guid(prefix, [0, 0, 1, 0xc1]));
    string(&mut list, 0x0005, topic);
    string(&mut list, 0x0007, type_name);
    parameter(&mut list, 0x001a, &[2_u32.to_le_bytes(), [0; 4], [0; 4]].concat());
    parameter(&mut list, 0x001d, &u32::from(is_lasting).to_le_bytes());
    if let Some(at) = at {
        locator(&mut list, 0x002f, at);
    }
    end(list)
}

/// A socket that hears the group, in the calling thread's namespace.
pub(crate) fn ear() -> UdpSocket {
    let socket =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, Some(socket2::Protocol::UDP))
            .unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.bind(&SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, GROUP.port()).into()).unwrap();
    let socket = UdpSocket::from(socket);
    socket.join_multicast_v4(GROUP.ip(), &Ipv4Addr::UNSPECIFIED).unwrap();
    socket
}

/// Where the sender of these submessages says that it is, if they announce it.
pub(crate) fn told(submessages: &[Submessage<'_>]) -> Option<Locators> {
    let announce =
        |found: &&Submessage<'_>| found.kind == 0x15 && found.entities().is_some_and(|ids| ids[0] == SPDP[0]);
    submessages.iter().filter(announce).find_map(|data| locators(data.body))
}

/// The locators in the body of a DATA whose inline QoS is empty.
fn locators(body: &[u8]) -> Option<Locators> {
    let mut rest = body.get(24..)?;
    let (mut metatraffic, mut user) = (None, None);
    while let [i0, i1, l0, l1, after @ ..] = rest {
        let (id, length) = (u16::from_le_bytes([*i0, *i1]), usize::from(u16::from_le_bytes([*l0, *l1])));
        let value = after.get(..length)?;
        let at = || {
            let port = u16::try_from(u32::from_le_bytes(value.get(4..8)?.try_into().ok()?)).ok()?;
            let address: [u8; 4] = value.get(20..24)?.try_into().ok()?;
            Some(SocketAddrV4::new(address.into(), port))
        };
        match id {
            1 => break,
            0x0032 => metatraffic = metatraffic.or_else(at),
            0x0031 => user = user.or_else(at),
            _ => {}
        }
        rest = &after[length..];
    }
    Some(Locators { metatraffic: metatraffic?, user: user? })
}
