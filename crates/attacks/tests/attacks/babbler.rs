//! A host that sends far more than its own admitted flow may, under that flow's addresses, ports and class: the flow of others keeps all its samples, and
//! the manager names the flow that babbles.
use std::os::fd::AsRawFd as _;

use nix::sys::socket::{MsgFlags, recv};

use crate::claims::{flood, mac_of};
use crate::managed::{Managed, SIZE};
use crate::place::INTERFACE;
use crate::relay::open;

/// Bytes before the RTPS message: headers of Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;
/// Where the source is in the header of Ethernet.
const SOURCE: std::ops::Range<usize> = 6..12;
/// Where the class of service is: in the second byte of IPv4.
const CLASS: usize = 14 + 1;

/// A frame of the stranger with a sample of its flow, as it goes out: what comes in is seen as well, and what has no class belongs to no flow.
fn own_sample(managed: &Managed) -> Vec<u8> {
    let own = mac_of(managed, "stranger");
    managed.host("stranger").on(|| {
        let interface = open(INTERFACE);
        let mut frame = vec![0; 2_048];
        loop {
            let length = recv(interface.as_raw_fd(), &mut frame, MsgFlags::empty()).unwrap();
            let is_own = frame[SOURCE] == own && frame[CLASS] != 0;
            if is_own && length > HEADERS + SIZE && frame[HEADERS..].starts_with(b"RTPS") {
                return frame[..length].to_vec();
            }
        }
    })
}

#[test]
fn who_sends_more_than_was_admitted_harms_no_other_flow_and_is_named() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut managed = Managed::secured();
    let _pair = managed.pair("Babble", ["stranger", "display"]);
    let frame = own_sample(&managed);
    flood(&managed, &frame);
    let dropped = "frames dropped that were larger, or came earlier, than the contract says";
    managed.is_told("the babbler", &[dropped, "\"Babble\" from stranger to display"]);
    managed.assert_unharmed("beside a babbler");
    assert!(managed.managers_live());
}
