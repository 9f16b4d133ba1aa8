//! Bytes to an address that did not ask, because an announcement names it.
use std::net::{SocketAddrV4, UdpSocket};
use std::time::Duration;

use crate::flood::{Running, SIZE};
use crate::message::{Message, SPDP};
use crate::peer::{Endpoint, Manners, Peer};
use crate::place::{Lan, address};
use crate::spdp::participant;
use crate::watch::Watch;

/// How long is listened: several periods of announcements.
const LISTEN: Duration = Duration::from_secs(12);

#[test]
fn an_announcement_brings_a_bystander_at_most_its_own_bytes() {
    let Some(lan) = Lan::of(4) else { return };
    let running = Running::on(&lan);
    let watch = Watch::new(&lan.hosts[3], address(4), &[address(1), address(2)]);
    let prefix = *b"named by one";
    let payload = participant(prefix, running.pair.elsewhere, Some(100));
    // To each victim one.
    let sent: usize = lan.hosts[2].on(|| {
        let socket = UdpSocket::bind((address(3), 0)).unwrap();
        let victims = [(running.pair.writer, running.pair.at[0]), (running.pair.reader, running.pair.at[1])];
        let send = |(guid, at): ([u8; 16], crate::spdp::Locators)| {
            let (victim, _) = crate::arsenal::parts(guid);
            let bytes = Message::from(prefix).to(victim).data(SPDP, 1, &payload, false).bytes();
            socket.send_to(&bytes, at.metatraffic).unwrap()
        };
        victims.into_iter().map(send).sum()
    });
    std::thread::sleep(LISTEN);
    let came = watch.bytes();
    assert!(came <= u64::try_from(sent).unwrap(), "{came} bytes to a bystander that {sent} bytes named");
}

#[test]
fn a_participant_that_answers_brings_others_at_most_its_own_bytes() {
    let Some(lan) = Lan::of(4) else { return };
    let mut running = Running::on(&lan);
    let watch = Watch::new(&lan.hosts[3], address(4), &[address(1), address(2)]);
    let here = SocketAddrV4::new(address(3), 7410);
    let says = crate::spdp::Locators { metatraffic: here, user: running.pair.elsewhere.user };
    let reader =
        Endpoint { entity: [0, 0, 1, 4], topic: "Numbers", type_name: "Numbered", is_lasting: false };
    let manners = Manners {
        prefix: *b"names others",
        address: address(3),
        says: Some(says),
        period: Duration::from_millis(500),
        wants_more: false,
        endpoints: vec![reader],
    };
    let peer = Peer::new(&lan.hosts[2], manners);
    running.writer.wait("matched 2");
    running.writer.tell(&format!("flow 500 {SIZE}"));
    std::thread::sleep(LISTEN);
    let (came, sent) = (watch.bytes(), peer.sent());
    assert!(came <= 2 * sent, "{came} bytes to a bystander, {sent} from who named it");
    let faults = running.end();
    assert!(faults.is_empty(), "{faults:#?}");
}
