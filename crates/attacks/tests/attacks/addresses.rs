//! A host that speaks from ever new Ethernet addresses, as fast as it can: the samples of others all come in time, and the manager names it.
use std::os::fd::AsRawFd as _;

use nix::sys::socket::{MsgFlags, send};

use crate::managed::Managed;
use crate::place::INTERFACE;
use crate::relay::open;
use crate::wires::Wires;

/// Frames, each from an address of its own.
const FRAMES: u32 = 20_000;

/// A frame that says nothing (an EtherType for experiments, IEEE 802), from the address with a number to all or to one that is not there.
fn frame(number: u32, to_all: bool) -> Vec<u8> {
    let number = number.to_be_bytes();
    let to = if to_all { [0xff; 6] } else { [0x02, 0x67, number[0], number[1], number[2], number[3]] };
    let from = [0x02, 0x66, number[0], number[1], number[2], number[3]];
    let mut frame = [&to[..], &from, &[0x88, 0xb5]].concat();
    frame.resize(60, 0);
    frame
}

#[test]
fn ever_new_ethernet_addresses_take_nothing_from_others_and_their_host_is_named() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut managed = Managed::secured();
    for (what, to_all) in [("new addresses to everybody", true), ("new addresses to nowhere", false)] {
        let wires = Wires::between(&managed, "camera", "display");
        managed.host("stranger").on(|| {
            let interface = open(INTERFACE);
            for number in 0..FRAMES {
                let number = number + if to_all { 0 } else { FRAMES };
                send(interface.as_raw_fd(), &frame(number, to_all), MsgFlags::empty()).unwrap();
            }
        });
        managed.assert_unharmed(what);
        wires.assert_in_time(&managed, what);
        managed.is_told(what, &["frames of stranger come from more than 64 Ethernet addresses"]);
    }
    // A new request is admitted as before.
    let _pair = managed.pair("After", ["manager", "display"]);
    managed.assert_unharmed("after new addresses");
    assert!(managed.managers_live());
}
