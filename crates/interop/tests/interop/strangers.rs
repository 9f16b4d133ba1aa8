//! Announcements of participants that do not exist, and of one that does from ports that are not its own. Punctual probes whom they name; the
//! probes must neither flood the other implementation nor keep it from matching.
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use crate::program::{PATIENCE, Program};
use crate::stage::{Stage, nothing_left};

/// The host of the other implementation, where the strangers are, too.
const HERE: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
/// Where Punctual's discovery listens.
const PUNCTUAL: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 9, 0, 1), 7410);
const STRANGERS: u32 = 3_000;
const CLAIMS: u32 = 5_000;
/// Packets from Punctual's host for each stranger, at most: answers and probes, which together have no more bytes than the stranger has sent.
const PACKETS: u64 = 2;

/// Thousands of strangers are answered and probed, with few packets; then a reader comes, and matches as one before them did.
pub(crate) fn strangers_first(stage: &Stage) {
    let mut writer = stage.start_writer();
    meet(stage, &mut writer);
    let before = stage.sent();
    stage.in_readers_place(|| {
        let mut stranger = Stranger::new();
        (0..STRANGERS).for_each(|number| stranger.is_answered(number));
    });
    let sent = stage.sent() - before;
    assert!(sent <= PACKETS * u64::from(STRANGERS), "{sent} packets for {STRANGERS} strangers");
    meet(stage, &mut writer);
    nothing_left(writer);
}

/// A reader comes, is matched, and goes.
fn meet(stage: &Stage, writer: &mut Program) {
    let mut reader = stage.start_reader();
    reader.expect("matched 1");
    writer.expect("matched 1");
    nothing_left(reader);
    writer.expect("matched 0");
}

/// Thousands of announcements in the name of the reader's participant, from other ports of its host; then another writer comes, and matches.
pub(crate) fn claims_to_its_name(stage: &Stage) {
    let (mut writer, mut reader) = stage.start_both();
    stage.in_readers_place(|| {
        let mut stranger = Stranger::new();
        let name = stranger.name_of_neighbour();
        let claimants: Vec<_> = (0..16).map(|_| UdpSocket::bind((HERE, 0)).unwrap()).collect();
        for (number, claimant) in (0..CLAIMS).zip(claimants.iter().cycle()) {
            // Each with something else to say, and with its locator: the probe goes to the participant itself.
            claimant.send_to(&announcement(name, 7410, number), PUNCTUAL).unwrap();
            if number % 25 == 0 {
                // What was sent before has been taken in.
                stranger.is_answered(number);
            }
        }
    });
    let [key, ..] = stage.terms.keys();
    writer.order(&format!("write {key} 1 10"));
    reader.expect(&stage.terms.sample(key, 1, 10));
    writer.order("acknowledged");
    let mut another = stage.start_writer();
    another.expect("matched 1");
    reader.expect("matched 2");
    another.order(&format!("write {key} 2 10"));
    reader.expect(&stage.terms.sample(key, 2, 10));
    nothing_left(another);
    reader.expect("matched 1");
    stage.end(writer, reader);
}

struct Stranger {
    socket: UdpSocket,
    port: u16,
}

impl Stranger {
    fn new() -> Self {
        let socket = UdpSocket::bind((HERE, 0)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let port = socket.local_addr().unwrap().port();
        Self { socket, port }
    }

    /// A participant of this number announces itself, and gets a message that names it.
    fn is_answered(&mut self, number: u32) {
        let mut name = [0x5a; 12];
        name[2..6].copy_from_slice(&number.to_le_bytes());
        self.socket.send_to(&announcement(name, self.port, number), PUNCTUAL).unwrap();
        let mut datagram = [0; 2_048];
        loop {
            let len = self.socket.recv(&mut datagram).expect("an answer to the announcement");
            if datagram[..len].windows(12).any(|bytes| bytes == name) {
                return;
            }
        }
    }

    /// The GUID prefix of the participant on this host: it announces itself to the group.
    fn name_of_neighbour(&mut self) -> [u8; 12] {
        use nix::sys::socket::{
            AddressFamily, SockFlag, SockType, SockaddrIn, bind, setsockopt, socket, sockopt,
        };
        let group =
            socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).expect("a socket");
        setsockopt(&group, sockopt::ReuseAddr, &true).unwrap();
        setsockopt(&group, sockopt::ReusePort, &true).unwrap();
        let SocketAddr::V4(any) = SocketAddr::from(([0, 0, 0, 0], 7400)) else { unreachable!() };
        bind(std::os::fd::AsRawFd::as_raw_fd(&group), &SockaddrIn::from(any)).unwrap();
        let group = UdpSocket::from(group);
        group.join_multicast_v4(&Ipv4Addr::new(239, 255, 0, 1), &HERE).unwrap();
        group.set_read_timeout(Some(2 * PATIENCE)).unwrap();
        let mut datagram = [0; 65_536];
        loop {
            let (len, from) = group.recv_from(&mut datagram).expect("an announcement");
            if len > 20 && from.ip() == HERE {
                return datagram[8..20].try_into().unwrap();
            }
        }
    }
}

/// An announcement by hand (RTPS 2.5, 8.5.3), so that nothing of what is judged is used.
fn announcement(name: [u8; 12], port: u16, number: u32) -> Vec<u8> {
    let mut list = vec![0, 3, 0, 0];
    let mut parameter = |id: u16, value: &[u8]| {
        list.extend(id.to_le_bytes());
        list.extend((value.len() as u16).to_le_bytes());
        list.extend(value);
    };
    let locator = |port: u16| {
        let mut bytes = [1_u32.to_le_bytes(), u32::from(port).to_le_bytes()].concat();
        bytes.extend([0; 12]);
        bytes.extend(HERE.octets());
        bytes
    };
    parameter(0x15, &[2, 5, 0, 0]);
    parameter(0x16, &[1, 0x99, 0, 0]);
    parameter(0x50, &[&name[..], &[0, 0, 1, 0xc1]].concat());
    parameter(0x58, &0xc3f_u32.to_le_bytes());
    parameter(0x32, &locator(port));
    parameter(0x31, &locator(port + 1));
    parameter(0x02, &[100_u32.to_le_bytes(), [0; 4]].concat());
    // USER_DATA: 200 bytes, so that there is room for an answer.
    parameter(0x2c, &[&200_u32.to_le_bytes()[..], &number.to_le_bytes(), &[7; 196]].concat());
    list.extend([1, 0, 0, 0]);
    let mut datagram = b"RTPS\x02\x05\x01\x99".to_vec();
    datagram.extend(name);
    datagram.extend([0x15, 5]);
    datagram.extend((20 + list.len() as u16).to_le_bytes());
    datagram.extend([0, 0, 16, 0, 0, 0, 0, 0, 0, 1, 0, 0xc2, 0, 0, 0, 0, 1, 0, 0, 0]);
    datagram.extend(list);
    datagram
}
