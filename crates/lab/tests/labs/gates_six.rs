//! The gate's program and IPv6, frame by frame: a flow that keeps its contract is marked, one that does not is dropped, and what only looks like a flow is
//! best effort. The frames are made by hand, and what comes out behind the gate is compared with them.
use std::net::{Ipv6Addr, UdpSocket};
use std::process::Command;
use std::time::Duration;

use gate::contract::wire_octets;
use gate::protocol::{Counters, Others};
use gate::{Contract, Key, Kind, class};
use lab::train::Heard;
use lab_turn::turn;

use crate::pair::{AtGate, Mode, Pair, say_raw};

const HOUR: u64 = 3_600_000_000_000;
/// What frames claim that no gate has marked: DSCP 46, congestion experienced, and a flow label that is the sender's.
const FORGED: u8 = 46 << 2 | 3;
const LABEL: u32 = 0xabcde;
const UDP: u8 = 17;
/// The destination of frames of this test, by which they are told from what the system says.
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 0x99];

fn address(end: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, end)
}

fn flow() -> Key {
    Key {
        source: address(1).into(),
        source_port: 6_000,
        destination: address(2).into(),
        destination_port: 5_000,
    }
}

/// A frame whose class is this; `next` says what the payload begins with.
fn frame_of((from, to): (Ipv6Addr, Ipv6Addr), class: u8, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = [&MAC[..], &[2, 0, 0, 0, 0, 1], &[0x86, 0xdd]].concat();
    frame.extend((6 << 28 | u32::from(class) << 20 | LABEL).to_be_bytes());
    frame.extend(u16::try_from(payload.len()).unwrap().to_be_bytes());
    frame.extend([next, 64]);
    frame.extend([from.octets(), to.octets()].concat());
    frame.extend(payload);
    frame
}

fn frame(next: u8, payload: &[u8]) -> Vec<u8> {
    frame_of((address(1), address(2)), FORGED, next, payload)
}

/// UDP with this many bytes of data.
fn udp(from: u16, to: u16, size: u16) -> Vec<u8> {
    let head = [from, to, size + 8, 0].map(u16::to_be_bytes).concat();
    [head, vec![7; usize::from(size)]].concat()
}

/// A header of fragments before this.
fn fragment(next: u8, place: u16, more: bool, payload: &[u8]) -> Vec<u8> {
    let offset = (place & !7) | u16::from(more);
    [&[next, 0], &offset.to_be_bytes()[..], &[0, 0, 0, 9], payload].concat()
}

/// The same frame with another class.
fn marked(frame: &[u8], class: u8) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame[14..18].copy_from_slice(&(6 << 28 | u32::from(class) << 20 | LABEL).to_be_bytes());
    frame
}

/// What an admitted frame is behind the gate: marked, and congestion is still experienced.
fn admitted(frame: &[u8]) -> Vec<u8> {
    marked(frame, class::of_level(2).unwrap() << 2 | 3)
}

fn best_effort(frame: &[u8]) -> Vec<u8> {
    marked(frame, 3)
}

/// A link with the program at its far end.
struct Scene {
    pair: Pair,
    gate: AtGate,
}

impl Scene {
    fn new(contracts: &[(Key, Contract)]) -> Self {
        let pair = Pair::new();
        let gate = pair.gate(Mode::Quiet, 100_000, contracts);
        Self { pair, gate }
    }

    /// What comes out behind the gate of these.
    fn passed(&self, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
        // Frames keep their order: behind the last one there is nothing to come. It is none of IP.
        let end = [&MAC[..], &[2, 0, 0, 0, 0, 1], &[0x88, 0xb5], &[0; 60]].concat();
        let all: Vec<Vec<u8>> = frames.iter().chain([&end]).cloned().collect();
        self.pair.inside(&self.pair.near(), || say_raw(&all));
        let (mut heard, mut frame, mut passed) = (Heard::default(), Vec::new(), Vec::new());
        while self.gate.tap.next(&mut heard, Duration::from_secs(30)).unwrap().is_some() {
            while heard.next(&mut frame) {
                if frame == end {
                    return passed;
                }
                if frame.starts_with(&MAC) {
                    passed.push(frame.clone());
                }
            }
        }
        panic!("the last one does not come")
    }

    /// The near end has IPv6.
    fn learn_ipv6(&self) {
        let near = self.pair.near();
        ip(&format!("netns exec {near} sysctl -qw net.ipv6.conf.eth0.disable_ipv6=0"));
        ip(&format!("-n {near} -6 addr add fd00::1/64 dev eth0 nodad"));
        ip(&format!("-n {near} -6 neigh add fd00::2 lladdr 02:00:00:00:00:99 dev eth0"));
    }

    /// A socket of the near end sends a datagram with so many bytes of data.
    fn send(&self, size: usize) {
        self.pair.inside(&self.pair.near(), || {
            let socket = UdpSocket::bind((address(1), 6_000)).unwrap();
            socket.send_to(&vec![7; size], (address(2), 5_000)).unwrap();
        });
    }

    fn counters(&self, key: &Key) -> Counters {
        let found = self.gate.program.list().into_iter().find(|(_, of, ..)| of == key);
        found.unwrap().3
    }

    fn others(&self) -> Others {
        self.gate.program.others(self.gate.index)
    }
}

fn ip(line: &str) {
    assert!(Command::new("ip").args(line.split(' ')).status().unwrap().success(), "{line}");
}

/// One message of so many bytes on the wire in an hour, its frames within a minute.
fn message(bytes: u32) -> Contract {
    let dscp = class::of_level(2).unwrap();
    Contract { kind: Kind::Messages, octets: bytes, separation: HOUR, tolerance: 0, window: HOUR / 60, dscp }
}

fn wire(frame: &[u8]) -> u32 {
    wire_octets(u32::try_from(frame.len()).unwrap())
}

#[test]
fn a_flow_of_ipv6_is_held_to_its_contract_and_marked() {
    let Some(_turn) = turn() else { return };
    let whole = frame(UDP, &udp(6_000, 5_000, 400));
    let scene = Scene::new(&[(flow(), message(2 * wire(&whole)))]);
    // The frames of one message, and two more in the same hour.
    let passed = scene.passed(&vec![whole.clone(); 4]);
    assert_eq!(passed, vec![admitted(&whole); 2]);
    let counters = scene.counters(&flow());
    assert_eq!((counters.messages, counters.frames, counters.dropped()), (1, 2, 2), "{counters:?}");
    assert_eq!(counters.octets, u64::from(2 * wire(&whole)));
    let others = scene.others();
    assert_eq!((others.best_effort, others.other), (0, 1), "{others:?}");
}

#[test]
fn a_message_of_ipv6_that_is_larger_than_its_contract_does_not_pass() {
    let Some(_turn) = turn() else { return };
    let whole = frame(UDP, &udp(6_000, 5_000, 400));
    // One byte less than the frame: the 40 bytes of the header count, which are twenty more than those of IPv4.
    let scene = Scene::new(&[(flow(), message(wire(&whole) - 1))]);
    assert_eq!(scene.passed(&[whole]), Vec::<Vec<u8>>::new());
    assert_eq!((scene.counters(&flow()).frames, scene.counters(&flow()).dropped()), (0, 1));
}

#[test]
fn a_frame_with_another_address_or_port_is_best_effort_and_uses_up_nothing() {
    let Some(_turn) = turn() else { return };
    let whole = frame(UDP, &udp(6_000, 5_000, 400));
    let mut one_bit = address(1).octets();
    one_bit[0] ^= 1;
    let strangers = [
        frame_of((address(3), address(2)), FORGED, UDP, &udp(6_000, 5_000, 400)),
        frame_of((address(1), address(3)), FORGED, UDP, &udp(6_000, 5_000, 400)),
        frame_of((address(2), address(1)), FORGED, UDP, &udp(5_000, 6_000, 400)),
        frame_of((one_bit.into(), address(2)), FORGED, UDP, &udp(6_000, 5_000, 400)),
        frame(UDP, &udp(6_001, 5_000, 400)),
        frame(UDP, &udp(6_000, 5_001, 400)),
        // TCP with the ports in the same place, and something without ports.
        frame(6, &udp(6_000, 5_000, 400)),
        frame(58, &udp(6_000, 5_000, 400)),
    ];
    let scene = Scene::new(&[(flow(), message(wire(&whole)))]);
    let passed = scene.passed(&strangers);
    assert_eq!(passed, strangers.iter().map(|frame| best_effort(frame)).collect::<Vec<_>>());
    assert_eq!(scene.counters(&flow()), Counters::default());
    assert_eq!(scene.others().best_effort, strangers.len() as u64);
    // The flow has all of its contract.
    assert_eq!(scene.passed(std::slice::from_ref(&whole)), [admitted(&whole)]);
}

/// No flow is behind an extension header, whichever it is: not that of the flow either.
#[test]
fn what_has_extension_headers_is_best_effort() {
    let Some(_turn) = turn() else { return };
    let inner = udp(6_000, 5_000, 400);
    let behind = |header: &[u8]| [header, &inner].concat();
    let (options, routing) = ([UDP, 0, 1, 4, 0, 0, 0, 0], [UDP, 0, 4, 0, 0, 0, 0, 0]);
    let authentication = [UDP, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    let chain = [&[60, 0, 1, 4, 0, 0, 0, 0], &options[..]].concat();
    let frames = [
        frame(0, &behind(&options)),
        frame(60, &behind(&options)),
        frame(43, &behind(&routing)),
        frame(51, &behind(&authentication)),
        frame(0, &behind(&chain)),
        // A fragment of something with options, and options before a fragment.
        frame(44, &fragment(60, 0, false, &behind(&options))),
        frame(60, &[&[44, 0, 1, 4, 0, 0, 0, 0], &fragment(UDP, 0, false, &inner)[..]].concat()),
        // Headers that are cut off, and nothing at all.
        frame(0, &options[..3]),
        frame(44, &[UDP, 0, 0]),
        frame(UDP, &inner[..7]),
        frame(59, &[]),
    ];
    let whole = frame(UDP, &inner);
    let between = Key::between(flow().source, flow().destination);
    let bucket = Contract { kind: Kind::Bucket, window: 0, ..message(30_000) };
    let scene = Scene::new(&[(flow(), message(wire(&whole))), (between, bucket)]);
    assert_eq!(scene.passed(&frames), frames.iter().map(|frame| best_effort(frame)).collect::<Vec<_>>());
    for key in [flow(), between] {
        assert_eq!(scene.counters(&key), Counters::default(), "{key:?}");
    }
    assert_eq!(scene.others().best_effort, frames.len() as u64);
}

/// A flow's contract is about whole datagrams; one for all UDP between two hosts counts their fragments, too, the later ones without ports.
#[test]
fn fragments_of_ipv6_have_the_contract_of_all_udp_between_two_hosts_or_none() {
    let Some(_turn) = turn() else { return };
    let whole = frame(UDP, &udp(6_000, 5_000, 400));
    let fragments = [
        frame(44, &fragment(UDP, 0, true, &udp(6_000, 5_000, 1_000))),
        frame(44, &fragment(UDP, 1_008, true, &[7; 1_008])),
        frame(44, &fragment(UDP, 2_016, false, &[7; 300])),
        // All of a datagram in one fragment (RFC 6946).
        frame(44, &fragment(UDP, 0, false, &udp(6_000, 5_000, 400))),
    ];
    let unmarked: Vec<_> = fragments.iter().map(|frame| best_effort(frame)).collect();
    let alone = Scene::new(&[(flow(), message(60_000))]);
    assert_eq!(alone.passed(&fragments), unmarked);
    assert_eq!(alone.counters(&flow()), Counters::default());
    assert_eq!((alone.others().fragments, alone.others().best_effort), (4, 4));
    drop(alone);
    let between = Key::between(flow().source, flow().destination);
    let octets = fragments.iter().map(|frame| wire(frame)).sum();
    let bucket = Contract { kind: Kind::Bucket, octets, window: 0, ..message(0) };
    let scene = Scene::new(&[(flow(), message(wire(&whole))), (between, bucket)]);
    // What has a contract of its own, what is of another protocol, and what goes elsewhere does not take of it.
    let reverse = frame_of((address(2), address(1)), FORGED, 44, &fragment(UDP, 0, true, &[7; 1_008]));
    let other = frame(44, &fragment(58, 0, true, &[7; 1_008]));
    let frames =
        [&[whole.clone(), reverse.clone(), other.clone()], &fragments[..], &fragments[2..3]].concat();
    let mut wanted = vec![admitted(&whole), best_effort(&reverse), best_effort(&other)];
    wanted.extend(fragments.iter().map(|frame| admitted(frame)));
    // The bucket is empty to the last byte.
    wanted.push(unmarked[2].clone());
    assert_eq!(scene.passed(&frames), wanted);
    let counters = scene.counters(&between);
    assert_eq!((counters.frames, counters.excess, counters.octets), (4, 1, octets.into()), "{counters:?}");
    assert_eq!(scene.counters(&flow()).frames, 1);
    assert_eq!((scene.others().fragments, scene.others().best_effort), (3, 3));
}

/// The kernel cuts what is larger than a frame, here for the usual MTU and for the least one that a path of IPv6 may have. Each fragment counts with its headers:
/// Ethernet 14, IPv6 40, fragments 8, and 24 around the frame.
#[test]
fn what_the_kernel_cuts_is_counted_with_the_headers_of_each_fragment() {
    let Some(_turn) = turn() else { return };
    let between = Key::between(flow().source, flow().destination);
    // 4,000 bytes and the header of UDP: 1,448 of them in a fragment, or 1,232.
    let (usual, least) = (2 * (86 + 1_448) + 86 + 1_112, 3 * (86 + 1_232) + 86 + 312);
    let bucket = Contract { kind: Kind::Bucket, window: 0, ..message(usual + least) };
    let scene = Scene::new(&[(between, bucket)]);
    scene.learn_ipv6();
    for (mtu, frames, octets, excess) in
        [(1_500, 3, usual, 0), (1_280, 3 + 4, usual + least, 0), (1_280, 3 + 4, usual + least, 4)]
    {
        ip(&format!("-n {} link set eth0 mtu {mtu}", scene.pair.near()));
        scene.send(4_000);
        scene.passed(&[]);
        let counters = scene.counters(&between);
        assert_eq!(
            (counters.frames, counters.octets, counters.excess),
            (frames, octets.into(), excess),
            "{mtu}"
        );
    }
}

/// Addresses of IPv4 that are mapped into IPv6 are on no wire. The gate keeps those of IPv4 in that form: a host that writes them into a frame of IPv6 takes of
/// the contract of the flow, and gets no more than that.
#[test]
fn mapped_addresses_in_frames_of_ipv6_get_no_more_than_the_contract() {
    let Some(_turn) = turn() else { return };
    let ends = ([10, 9, 0, 1], [10, 9, 0, 2]);
    let key = Key { source: ends.0.into(), destination: ends.1.into(), ..flow() };
    let mapped = |end: [u8; 4]| std::net::Ipv4Addr::from(end).to_ipv6_mapped();
    let whole = frame_of((mapped(ends.0), mapped(ends.1)), FORGED, UDP, &udp(6_000, 5_000, 400));
    let scene = Scene::new(&[(key, message(wire(&whole)))]);
    assert_eq!(scene.passed(&vec![whole.clone(); 5]).len(), 1);
    assert_eq!(scene.counters(&key).dropped(), 4);
}

#[test]
fn what_is_no_ipv6_is_dropped_and_counted() {
    let Some(_turn) = turn() else { return };
    let whole = frame(UDP, &udp(6_000, 5_000, 400));
    let mut four = whole.clone();
    four[14] = 0x45;
    let scene = Scene::new(&[(flow(), message(wire(&whole)))]);
    assert_eq!(scene.passed(&[four, whole[..53].to_vec(), whole[..20].to_vec()]), Vec::<Vec<u8>>::new());
    assert_eq!((scene.others().broken, scene.others().best_effort), (3, 0));
    assert_eq!(scene.counters(&flow()), Counters::default());
}

/// The kernel makes headers of its own as these are made by hand: a socket's frame is of the flow.
#[test]
fn a_frame_of_a_socket_of_ipv6_is_of_its_flow() {
    let Some(_turn) = turn() else { return };
    let whole = frame(UDP, &udp(6_000, 5_000, 400));
    let scene = Scene::new(&[(flow(), message(wire(&whole)))]);
    scene.learn_ipv6();
    scene.send(400);
    let is_it = |frame: &Vec<u8>| frame.get(54..58) == Some(&udp(6_000, 5_000, 0)[..4]);
    // The last frame may overtake nothing, as both go by the same queue.
    assert!(scene.passed(&[]).iter().filter(|frame| is_it(frame)).count() <= 1);
    assert_eq!(scene.counters(&flow()).frames, 1);
}
