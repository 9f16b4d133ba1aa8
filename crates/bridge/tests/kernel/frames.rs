//! Frames: put on the wire of a port, and taken from those of the others.
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd as _, OwnedFd};

use bridge::nft::Nft;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recvmsg, sendmsg, socket,
};
use nix::sys::time::TimeVal;
use openflow::flow::FlowMod;
use openflow::matching::Match;
use openflow::oxm::Oxm;
use openflow::words::{PortNo, TableId};

use crate::scene::{NOW, beside_a_bridge, managed};

/// For how long nothing has to come until all is there, in microseconds, and how often that is not enough on a busy machine.
const SILENCE: i64 = 300_000;
const MOST_SILENCES: usize = 100;

/// A host at the other end of a port.
pub(crate) struct Host(OwnedFd);

impl Host {
    pub(crate) fn new(number: u32) -> Self {
        let name = format!("h{number}");
        let fd =
            socket(AddressFamily::Packet, SockType::Raw, SockFlag::empty(), SockProtocol::EthAll).unwrap();
        let found = getifaddrs().unwrap().filter(|found| found.interface_name == name);
        let link: LinkAddr = found.filter_map(|found| found.address?.as_link_addr().copied()).next().unwrap();
        bind(fd.as_raw_fd(), &link).unwrap();
        let patience = TimeVal::new(0, SILENCE);
        nix::sys::socket::setsockopt(&fd, nix::sys::socket::sockopt::ReceiveTimeout, &patience).unwrap();
        Self(fd)
    }

    pub(crate) fn put(&self, frame: &[u8]) {
        sendmsg::<()>(self.0.as_raw_fd(), &[IoSlice::new(frame)], &[], MsgFlags::empty(), None).unwrap();
    }

    /// All frames that came: at least so many, and no more once there is silence.
    pub(crate) fn take(&self, least: usize) -> Vec<Vec<u8>> {
        let (mut frames, mut silences) = (Vec::new(), 0);
        loop {
            let mut buffer = [0; 2_048];
            let mut parts = [IoSliceMut::new(&mut buffer)];
            match recvmsg::<()>(self.0.as_raw_fd(), &mut parts, None, MsgFlags::empty()) {
                Ok(got) => {
                    let length = got.bytes;
                    frames.push(buffer[..length].to_vec());
                }
                Err(_) if frames.len() < least && silences < MOST_SILENCES => silences += 1,
                Err(_) => return frames,
            }
        }
    }
}

/// The sum of all words, which is 0xffff where a checksum is right.
fn sum(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

const PAYLOAD: &[u8] = b"payload!";

/// A UDP frame from 10.1.0.1:5000 with right checksums.
pub(crate) fn frame(to: [u8; 6], destination: [u8; 4], port: u16, dscp: u8) -> Vec<u8> {
    let udp_length = 8 + PAYLOAD.len() as u16;
    let mut udp = [5000_u16, port, udp_length, 0].map(u16::to_be_bytes).concat();
    udp.extend(PAYLOAD);
    let source = [10, 1, 0, 1];
    let pseudo = [&source[..], &destination, &[0, 17], &udp_length.to_be_bytes()].concat();
    let check = !sum(&[&pseudo[..], &udp].concat());
    udp[6..8].copy_from_slice(&check.to_be_bytes());
    let mut ip = vec![0x45, dscp << 2, 0, 20 + udp_length as u8, 0, 1, 0, 0, 64, 17, 0, 0];
    ip.extend(source);
    ip.extend(destination);
    let check = !sum(&ip);
    ip[10..12].copy_from_slice(&check.to_be_bytes());
    [&to[..], &[2, 0, 0, 0, 0, 1], &[8, 0], &ip, &udp].concat()
}

/// DSCP, the last byte of the Ethernet destination, IPv4 destination and UDP port.
type Read = (u8, u8, [u8; 4], u16);

/// DSCP, Ethernet destination, IPv4 destination and UDP port of a frame whose checksums are right.
fn read(frame: &[u8]) -> Read {
    let (ip, udp) = (&frame[14..34], &frame[34..34 + 8 + PAYLOAD.len()]);
    assert_eq!(sum(ip), 0xffff, "the checksum of the header");
    let pseudo = [&ip[12..20], &[0, 17], &udp[4..6], udp].concat();
    assert_eq!(sum(&pseudo), 0xffff, "the checksum of UDP");
    assert_eq!(&udp[8..], PAYLOAD);
    (ip[1] >> 2, frame[5], ip[16..20].try_into().unwrap(), u16::from_be_bytes([udp[2], udp[3]]))
}

/// Sends a frame from the first host; each host receives what is wanted: frames of others are those of this test, as no other host speaks.
fn assert_sent(frame: &[u8], wanted: [Vec<Read>; 3], what: &str) {
    let hosts = [1, 2, 3].map(Host::new);
    hosts[0].put(frame);
    for (number, (host, wanted)) in (1..).zip(hosts.iter().zip(wanted)) {
        let took: Vec<Read> = host.take(wanted.len()).iter().map(|frame| read(frame)).collect();
        assert_eq!(took, wanted, "{what}, at host {number}");
    }
}

fn with_managed(test: impl FnOnce(&mut Nft) + Send) {
    beside_a_bridge(|mut kernel, ports| {
        kernel.apply(&managed(), &ports).unwrap();
        test(&mut kernel);
    });
}

const TWO: [u8; 4] = [10, 1, 0, 2];
const GROUP: [u8; 4] = [239, 192, 0, 1];

#[test]
fn an_admitted_flow_leaves_by_its_port_at_its_level() {
    with_managed(|kernel| {
        let frame = frame([2, 0, 0, 0, 0, 2], TWO, 7001, 46);
        assert_sent(&frame, [vec![], vec![(10, 2, TWO, 7001)], vec![]], "the flow");
        let (_, traffic) = kernel.read().unwrap();
        let counted: Vec<u64> =
            traffic.values().filter(|traffic| traffic.packets > 0).map(|traffic| traffic.octets).collect();
        assert_eq!(counted, [frame.len() as u64], "one entry counts it, with its Ethernet header");
    });
}

#[test]
fn where_a_flow_forks_each_copy_is_what_its_bucket_says() {
    with_managed(|_| {
        let frame = frame([1, 0, 0x5e, 0x40, 0, 1], GROUP, 7001, 46);
        assert_sent(&frame, [vec![], vec![(10, 2, TWO, 7411)], vec![(18, 1, GROUP, 7001)]], "both copies");
    });
}

#[test]
fn everything_else_is_lowest_and_goes_where_addresses_say() {
    with_managed(|_| {
        let known = frame([2, 0, 0, 0, 0, 2], TWO, 7002, 46);
        assert_sent(&known, [vec![], vec![(0, 2, TWO, 7002)], vec![]], "a known address");
        let unknown = frame([2, 0, 0, 0, 0, 9], TWO, 7002, 46);
        let copy = vec![(0, 9, TWO, 7002)];
        assert_sent(&unknown, [vec![], copy.clone(), copy], "an unknown address");
        let mut bridge = unknown;
        bridge[..6].copy_from_slice(&[1, 0x80, 0xc2, 0, 0, 0]);
        assert_sent(&bridge, [vec![], vec![], vec![]], "bridge protocols stay");
    });
}

#[test]
fn no_fragment_is_of_an_admitted_flow() {
    with_managed(|_| {
        for offset in [0x2000_u16, 0x0001] {
            let mut fragment = frame([2, 0, 0, 0, 0, 2], TWO, 7001, 46);
            fragment[20..22].copy_from_slice(&offset.to_be_bytes());
            fragment[24..26].fill(0);
            let check = !sum(&fragment[14..34]);
            fragment[24..26].copy_from_slice(&check.to_be_bytes());
            assert_sent(&fragment, [vec![], vec![(0, 2, TWO, 7001)], vec![]], &format!("{offset:#x}"));
        }
    });
}

/// The same frame with VLAN tags.
fn tagged(frame: &[u8], tags: &[[u8; 4]]) -> Vec<u8> {
    [&frame[..12], &tags.concat(), &frame[12..]].concat()
}

const TAG: [u8; 4] = [0x81, 0, 0xe0, 5];
const FOR_PRIORITY: [u8; 4] = [0x81, 0, 0xe0, 0];
const OF_A_PROVIDER: [u8; 4] = [0x88, 0xa8, 0, 5];

#[test]
fn a_frame_with_a_tag_is_of_no_admitted_flow_and_is_dropped() {
    with_managed(|kernel| {
        let frame = frame([2, 0, 0, 0, 0, 2], TWO, 7001, 46);
        let all: [&[[u8; 4]]; 5] =
            [&[TAG], &[FOR_PRIORITY], &[OF_A_PROVIDER], &[TAG, TAG], &[OF_A_PROVIDER, TAG]];
        for tags in all {
            assert_sent(&tagged(&frame, tags), [vec![], vec![], vec![]], &format!("{tags:x?}"));
        }
        let (_, traffic) = kernel.read().unwrap();
        let counted: Vec<u64> =
            traffic.values().filter(|traffic| traffic.packets > 0).map(|traffic| traffic.packets).collect();
        assert_eq!(counted, [all.len() as u64], "one entry counts them, that of tags at the port");
    });
}

/// The entry that drops them has been taken away: those of admitted flows match untagged frames by themselves.
#[test]
fn without_the_entry_that_drops_tagged_frames_they_have_no_level() {
    beside_a_bridge(|mut kernel, ports| {
        let mut tables = managed();
        for port in 1..=3 {
            let fields = [Oxm::in_port(PortNo(port)), Oxm::tagged()];
            let gone = FlowMod::delete_strict(TableId(0), 65_200, Match::of(&fields).unwrap());
            tables.change_flow(&gone, NOW).unwrap();
        }
        kernel.apply(&tables, &ports).unwrap();
        let frame = frame([2, 0, 0, 0, 0, 2], TWO, 7001, 46);
        assert_sent(&frame, [vec![], vec![(10, 2, TWO, 7001)], vec![]], "the flow without a tag");
        let hosts = [1, 2, 3].map(Host::new);
        hosts[0].put(&tagged(&frame, &[TAG]));
        let took = hosts[1].take(1);
        assert_eq!(took.len(), 1, "it is best effort");
        // The kernel hands the outer tag over beside the frame.
        assert_eq!(read(&took[0]).0, 0);
    });
}
