//! A host that sends LLDP: what it has heard, the same with the ids of another switch and port, and what says that it is a switch without any secret. No link
//! goes, no sample is late, and the manager names the host.
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

use nix::sys::socket::{MsgFlags, recv, setsockopt, sockopt};
use nix::sys::time::TimeVal;

use crate::claims::flood;
use crate::managed::Managed;
use crate::place::INTERFACE;
use crate::relay::open;
use crate::wires::Wires;

/// The nearest bridge (IEEE 802.1AB, 7.1), and the EtherType.
const NEAREST: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x0e];
const LLDP: [u8; 2] = [0x88, 0xcc];
/// Bytes of the Ethernet header.
const ETHERNET: usize = 14;
/// How long a port may be silent before it is taken for one that tells nothing: it tells each few seconds.
const SILENCE: Duration = Duration::from_secs(60);

/// The types of TLVs: chassis ID, port ID, time to live, those of organizations (IEEE 802.1AB, 8.4).
const CHASSIS: u8 = 1;
const PORT: u8 = 2;
const TTL: u8 = 3;
const ORGANIZATION: u8 = 127;

/// A TLV: its type and what it says.
type Tlv = (u8, Vec<u8>);

/// The TLVs of a frame, without the one that ends it.
fn read(frame: &[u8]) -> Vec<Tlv> {
    let (mut rest, mut found) = (&frame[ETHERNET..], Vec::new());
    while let [high, low, more @ ..] = rest {
        let (kind, length) = (high >> 1, usize::from(high & 1) << 8 | usize::from(*low));
        if kind == 0 {
            break;
        }
        found.push((kind, more[..length].to_vec()));
        rest = &more[length..];
    }
    found
}

/// A frame of these TLVs.
fn frame(from: [u8; 6], said: &[Tlv]) -> Vec<u8> {
    let mut bytes = [&NEAREST[..], &from, &LLDP].concat();
    for (kind, value) in said {
        let length = u16::try_from(value.len()).unwrap();
        bytes.extend((u16::from(*kind) << 9 | length).to_be_bytes());
        bytes.extend(value);
    }
    bytes.extend([0, 0]);
    bytes.resize(bytes.len().max(60), 0);
    bytes
}

/// The same TLVs with another value for those of a type.
fn with(said: &[Tlv], kind: u8, value: &[u8]) -> Vec<Tlv> {
    said.iter().map(|(of, had)| (*of, if *of == kind { value.to_vec() } else { had.clone() })).collect()
}

/// A frame of LLDP that the stranger's port tells, if it tells any.
fn heard(managed: &Managed) -> Option<Vec<u8>> {
    managed.host("stranger").on(|| {
        let interface = open(INTERFACE);
        setsockopt(&interface, sockopt::ReceiveTimeout, &TimeVal::new(1, 0)).unwrap();
        let mut bytes = vec![0; 2_048];
        let end = Instant::now() + SILENCE;
        while Instant::now() < end {
            let Ok(length) = recv(interface.as_raw_fd(), &mut bytes, MsgFlags::empty()) else { continue };
            if length > ETHERNET && bytes[12..ETHERNET] == LLDP {
                return Some(bytes[..length].to_vec());
            }
        }
        None
    })
}

#[test]
fn a_host_that_says_by_lldp_that_it_is_a_switch_cuts_no_link_and_is_named() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut managed = Managed::secured_over_two_switches();
    let own = heard(&managed).expect("the port of a host tells who it is");
    let from: [u8; 6] = own[6..12].try_into().unwrap();
    let said = read(&own);
    // Locally assigned ids (8.5.2.2, 8.5.3.2), as the manager writes them: the other switch, and its port of the link between both.
    let (first, trunk) = (b"\x070000000000000001".as_slice(), b"\x073".as_slice());
    let other = with(&with(&said, CHASSIS, first), PORT, trunk);
    let marked = said.iter().find(|(kind, _)| *kind == ORGANIZATION).expect("its own frames have a mark");
    let mut wrong = marked.1.clone();
    *wrong.last_mut().unwrap() ^= 1;
    let plain = vec![(CHASSIS, first.to_vec()), (PORT, trunk.to_vec()), (TTL, vec![0, 120])];
    let replayed = ["stranger sends again what it has heard", "it is no link"];
    let made = ["it was made by stranger", "it is no link"];
    for (what, forged, words) in [
        ("LLDP that was heard", frame(from, &said), Some(replayed)),
        ("LLDP with another switch's ids", frame(from, &other), Some(made)),
        ("LLDP with another digest", frame(from, &with(&said, ORGANIZATION, &wrong)), Some(made)),
        ("LLDP of a switch without a mark", frame(from, &plain), None),
    ] {
        let wires = Wires::between(&managed, "camera", "display");
        flood(&managed, &forged);
        managed.assert_unharmed(what);
        wires.assert_in_time(&managed, what);
        if let Some(words) = words {
            managed.is_told(what, &words);
        }
        // A cable that was believed to lead elsewhere would be told of.
        let log = managed.log("log");
        assert!(!log.contains("is connected with") && !log.contains("are connected, and"), "{what}: {log}");
    }
    assert!(managed.managers_live());
}
