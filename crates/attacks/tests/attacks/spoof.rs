//! A sender inside the broadcast domain that writes the victims' own addresses into its packets. Without keys it cannot be told from them,
//! so its harm is bounded in time: once it stops, the pair goes on within a heartbeat period.
use std::net::SocketAddrV4;
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};

use crate::arsenal::Harm;
use crate::expected::expected;
use crate::flood::{Running, SIZE};
use crate::place::{Lan, turn};
use crate::program::Got;
use crate::random::Random;

/// How long is attacked, and with how many datagrams a second.
const ATTACK: (Duration, u64) = (Duration::from_secs(3), 1_000);
/// The longest heartbeat period of what is shipped, and what a busy machine may add.
const HEARTBEAT: Duration = Duration::from_millis(500);
const SLACK: Duration = Duration::from_millis(300);

/// Sends a UDP datagram whose source is not ours, from the calling thread's namespace.
fn send_as(socket: &Socket, from: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) {
    let length = u16::try_from(28 + payload.len()).unwrap();
    // The system fills in identification and checksum of IPv4; a checksum of UDP of 0 says that there is none.
    let mut packet = vec![0x45, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    packet.extend(from.ip().octets());
    packet.extend(to.ip().octets());
    packet.extend(from.port().to_be_bytes());
    packet.extend(to.port().to_be_bytes());
    packet.extend((length - 20).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    // What does not leave is no attack.
    let _ = socket.send_to(&packet, &to.into());
}

/// The pair under an attack of this kind with the victims' own addresses; how long after its end nothing came, and all that was read.
fn spoofed(harms: &[Harm]) -> Option<(Duration, Running)> {
    let lan = Lan::of(4)?;
    let mut running = Running::on(&lan);
    running.writer.tell(&format!("flow 500 {SIZE}"));
    running.reader.wait("got 1 ");
    let pair = running.pair;
    lan.hosts[2].on(|| {
        // IPPROTO_RAW: the header is ours.
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255))).unwrap();
        let (mut random, start) = (Random(tiers::current().first_seed()), Instant::now());
        let (time, rate) = ATTACK;
        for sent in 0.. {
            let due = start + Duration::from_nanos(sent * 1_000_000_000 / rate);
            if due >= start + time {
                break;
            }
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let harm = harms[usize::try_from(sent).unwrap() % harms.len()];
            let forgery = pair.harm(harm, &mut random);
            send_as(&socket, forgery.in_name_of, forgery.to, &forgery.bytes);
        }
    });
    let stopped = Instant::now();
    thread::sleep(Duration::from_secs(2));
    let samples = running.reader.samples();
    let mut right = samples.iter().filter(|(at, got)| *at > stopped && *got == expected(got.number, SIZE));
    let silent = right.next().map_or(Duration::MAX, |(at, _)| *at - stopped);
    Some((silent, running))
}

#[test]
fn nothing_reliable_is_lost_for_good_to_spoofed_submessages_without_samples() {
    let _turn = turn();
    let harms = [Harm::Reader, Harm::Writer, Harm::Leaving, Harm::Announcements];
    let Some((silent, mut running)) = spoofed(&harms) else { return };
    let faults = running.end();
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(silent <= HEARTBEAT + SLACK, "nothing came for {silent:?} after the attack");
}

#[test]
fn a_pair_goes_on_within_a_heartbeat_period_after_spoofed_samples() {
    let _turn = turn();
    let Some((silent, mut running)) = spoofed(&[Harm::Samples, Harm::Reader]) else { return };
    // What was forged took the place of what was written: that is what a spoofed source can do.
    running.end();
    assert!(silent <= HEARTBEAT + SLACK, "nothing came for {silent:?} after the attack");
    let got: Vec<Got> = running.reader.samples().into_iter().map(|(_, got)| got).collect();
    let right: Vec<u64> =
        got.iter().filter(|got| **got == expected(got.number, SIZE)).map(|got| got.number).collect();
    assert!(right.windows(2).all(|two| two[0] < two[1]), "samples of the writer came out of order");
}
