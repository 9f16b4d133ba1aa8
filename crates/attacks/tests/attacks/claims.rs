//! A host that claims the addresses of others, by ARP, IPv4 and Ethernet, as fast as it can: their assured samples all come, and the manager
//! names it.
use nix::sys::socket::{MsgFlags, send};
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd as _;

use crate::managed::Managed;
use crate::place::INTERFACE;
use crate::relay::open;

/// Frames of each lie.
const FRAMES: usize = 20_000;

type Mac = [u8; 6];

/// The MAC address of a host's interface.
fn mac_of(managed: &Managed, host: &str) -> Mac {
    let shown = managed.host(host).run("ip", &format!("-oneline link show dev {INTERFACE}"));
    let (_, rest) = shown.split_once("link/ether ").unwrap();
    let bytes: Vec<u8> = rest[..17].split(':').map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect();
    bytes.try_into().unwrap()
}

/// An ARP reply to everybody: the address is at this interface.
fn arp(from: Mac, claimed: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let mut frame = [&[0xff; 6][..], &from, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 2], &from].concat();
    frame.extend(claimed.octets());
    frame.extend([0xff; 6]);
    frame.extend(to.octets());
    frame.resize(60, 0);
    frame
}

/// An empty UDP datagram to the ports of discovery.
fn datagram(ends: [Mac; 2], source: Ipv4Addr, destination: Ipv4Addr) -> Vec<u8> {
    let mut frame = [&ends[1][..], &ends[0], &[8, 0]].concat();
    let mut header = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0];
    header.extend(source.octets());
    header.extend(destination.octets());
    let words = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let sum = !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(header);
    frame.extend([0x1c, 0xf2, 0x1c, 0xf2, 0, 8, 0, 0]);
    frame.resize(60, 0);
    frame
}

/// Sends a frame from the stranger so often.
pub(crate) fn flood(managed: &Managed, frame: &[u8]) {
    managed.host("stranger").on(|| {
        let interface = open(INTERFACE);
        for _ in 0..FRAMES {
            send(interface.as_raw_fd(), frame, MsgFlags::empty()).unwrap();
        }
    });
}

#[test]
fn addresses_of_others_are_claimed_in_vain_and_by_name() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut managed = Managed::secured();
    let stranger = mac_of(&managed, "stranger");
    let hosts =
        ["camera", "display", "manager"].map(|host| (host, managed.address(host), mac_of(&managed, host)));
    let [(_, camera, _), (_, display, its), (_, manager, _)] = hosts;
    let own = managed.address("stranger");
    let lies = [
        ("ARP for the reader's host", arp(stranger, display, camera), format!("the IPv4 address {display}")),
        ("ARP for the manager", arp(stranger, manager, camera), format!("the IPv4 address {manager}")),
        (
            "IPv4 from the writer's host",
            datagram([stranger, its], camera, display),
            format!("the IPv4 address {camera}"),
        ),
        (
            "frames from the reader's MAC address",
            datagram([its, [0xff; 6]], own, camera),
            "the MAC address".to_owned(),
        ),
    ];
    for (what, frame, claim) in lies {
        flood(&managed, &frame);
        managed.assert_unharmed(what);
        managed.is_told(what, &["frames of stranger claim", &claim]);
        // No neighbour believes it.
        for (host, _, _) in hosts {
            let believed = managed.host(host).run("ip", "neigh show");
            let shown = stranger.map(|byte| format!("{byte:02x}")).join(":");
            let wrong =
                believed.lines().find(|line| line.contains(&shown) && !line.starts_with(&format!("{own} ")));
            assert_eq!(wrong, None, "{host} believes {what}");
        }
    }
    assert!(managed.managers_live());
}
