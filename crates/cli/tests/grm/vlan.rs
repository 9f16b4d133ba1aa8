//! A host that puts VLAN tags on frames of its assured flow: no switch counts them as the flow's, none arrives, and the log names the host.
use std::io::IoSlice;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd as _;

use dds::assurance::State;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, sendmsg, socket,
};

use crate::MILLISECOND;
use crate::ward::{NETWORK, Ward, patiently, with_gates, with_meters};

/// With an id, for the priority alone, of a provider, and two of them.
const TAGS: [&[[u8; 4]]; 4] =
    [&[[0x81, 0, 0xe0, 5]], &[[0x81, 0, 0xe0, 0]], &[[0x88, 0xa8, 0xe0, 5]], &[[0x81, 0, 0xe0, 5]; 2]];
pub(crate) const EACH: u64 = 10;

/// What the entry of the only admitted flow at a switch matches and has counted, as `ovs-ofctl` prints it.
pub(crate) struct Entry {
    pub(crate) line: String,
    pub(crate) frames: u64,
    pub(crate) addresses: [Ipv4Addr; 2],
    ports: [u16; 2],
}

/// That with such a priority.
pub(crate) fn entry(ward: &Ward, priority: u16) -> Entry {
    let text = ward.dump("s1", "dump-flows");
    let line = text.lines().find(|line| line.contains(&format!("priority={priority},"))).unwrap();
    let value = |name: &str| line.split([',', ' ']).find_map(|word| word.strip_prefix(name)).unwrap();
    Entry {
        line: line.to_owned(),
        frames: value("n_packets=").parse().unwrap(),
        addresses: ["nw_src=", "nw_dst="].map(|name| value(name).parse().unwrap()),
        ports: ["tp_src=", "tp_dst="].map(|name| value(name).parse().unwrap()),
    }
}

/// Sends so many frames of the flow from a host, with these tags.
pub(crate) fn send(ward: &Ward, host: &str, flow: &Entry, tags: &[[u8; 4]]) {
    let udp = [&flow.ports.map(u16::to_be_bytes).concat()[..], &[0, 20, 0, 0], &[7; 12]].concat();
    let mut ip = vec![0x45, 46 << 2, 0, 40, 0, 1, 0, 0, 64, 17, 0, 0];
    ip.extend(flow.addresses.iter().flat_map(Ipv4Addr::octets));
    let sum = ip.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u32>();
    let check = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&check.to_be_bytes());
    let frame = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 9], &tags.concat(), &[8, 0], &ip, &udp].concat();
    ward.lab
        .on(host, || {
            let (flags, all) = (SockFlag::empty(), SockProtocol::EthAll);
            let socket = socket(AddressFamily::Packet, SockType::Raw, flags, all).unwrap();
            let mut found = getifaddrs().unwrap().filter(|found| found.interface_name == "eth0");
            let link: LinkAddr = found.find_map(|found| found.address?.as_link_addr().copied()).unwrap();
            bind(socket.as_raw_fd(), &link).unwrap();
            for _ in 0..EACH {
                let parts = [IoSlice::new(&frame)];
                sendmsg::<()>(socket.as_raw_fd(), &parts, &[], MsgFlags::empty(), None).unwrap();
            }
        })
        .unwrap();
}

/// How many dropped frames of a host are told. How many at a time depends on when switch or gate are read.
fn told(ward: &Ward, host: &str) -> u64 {
    let (log, words) = (ward.log(), format!(" frames of {host} with a VLAN tag"));
    let lines = log.lines().filter_map(|line| line.split_once(&*words));
    lines.map(|(before, _)| before.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

/// Sends until more than so many frames of a host are told at once. A machine under load loses some before any switch or gate has seen them: then all are
/// sent again, after more time than there is between two lines of the log about the same host.
pub(crate) fn until_named(ward: &Ward, host: &str, frames: u64, send: impl Fn()) {
    const LOOKS: usize = 750;
    let (mut looks, mut before) = (0, 0);
    patiently("the name of the host that tags", || {
        if looks % LOOKS == 0 {
            before = told(ward, host);
            send();
        }
        looks += 1;
        (told(ward, host) > before + frames).then_some(())
    });
}

fn tags_gain_nothing(text: &str) {
    let ward = Ward::of(text);
    let _writer = ward.writer("camera", "Picture", 4_000, 10 * MILLISECOND);
    let reader = ward.best_effort_reader("display", "Picture", 20 * MILLISECOND);
    patiently("the verdict", || {
        reader.pairs().iter().any(|pair| pair.state == State::Admitted).then_some(())
    });
    let before = entry(&ward, 60_000);
    // More than all but one kind of them come to.
    let most = EACH * (TAGS.len() as u64 - 1);
    until_named(&ward, "camera", most, || TAGS.iter().for_each(|tags| send(&ward, "camera", &before, tags)));
    // The switch shows what it has counted within a second; the log has been written from what it has shown.
    assert_eq!(entry(&ward, 60_000).frames, before.frames, "a tagged frame was counted as the flow's");
    send(&ward, "camera", &before, &[]);
    patiently("frames without a tag", || (entry(&ward, 60_000).frames > before.frames).then_some(()));
}

#[test]
fn gates_let_no_tagged_frame_into_an_assured_flow_and_say_whose_it_was() {
    let Some(_turn) = lab_turn::turn() else { return };
    tags_gain_nothing(&with_gates(NETWORK));
}

#[test]
fn nor_do_switches_with_meters() {
    let Some(_turn) = lab_turn::turn() else { return };
    tags_gain_nothing(&with_meters(&with_gates(NETWORK)));
}
