//! A stranger floods a running pair with forgeries, from another address and from the hosts of the victims.
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::arsenal::{Pair, parts};
use crate::expected::faults;
use crate::message::read;
use crate::place::{Lan, Place, address, turn};
use crate::program::{Got, PATIENCE, Program};
use crate::random::Random;
use crate::spdp::{Locators, ear, told};
use crate::watch::Watch;

/// Bytes of each sample.
pub(crate) const SIZE: usize = 100;
/// Samples a second.
const RATE: u64 = 500;
/// Datagrams a second of all attackers together: more than a victim has to hear otherwise, and less than fills its processor.
const ATTACK_RATE: u64 = 30_000;
/// How much later than without an attack a newcomer may have its first sample.
const NEWCOMER: Duration = Duration::from_secs(1);

/// The running pair: the writer on the first host, the reader on the second.
pub(crate) struct Running {
    pub(crate) writer: Program,
    pub(crate) reader: Program,
    pub(crate) pair: Pair,
}

impl Running {
    /// On hosts of a LAN, heard by the third, the fourth being the bystander.
    pub(crate) fn on(lan: &Lan) -> Self {
        let reader = Program::start("the reader", &lan.hosts[1], "sub Numbers");
        let writer = Program::start("the writer", &lan.hosts[0], "pub Numbers");
        let guids = [writer.guid(), reader.guid()];
        let heard = lan.hosts[2].on(|| listen(2, PATIENCE));
        reader.wait("matched 1");
        writer.wait("matched 1");
        let at = guids.map(|guid| heard[&parts(guid).0]);
        let bystander = |port| SocketAddrV4::new(address(4), port);
        let elsewhere = Locators { metatraffic: bystander(7410), user: bystander(7411) };
        Self { writer, reader, pair: Pair { writer: guids[0], reader: guids[1], at, elsewhere } }
    }

    /// Ends the flow and waits until the reader has its last sample; what is wrong with what it got.
    pub(crate) fn end(&mut self) -> Vec<String> {
        self.writer.tell("stop");
        let (_, last) = self.writer.wait("written");
        let last: u64 = last.parse().unwrap();
        self.reader.wait_within(&format!("got {last} "), Duration::from_secs(20));
        let got: Vec<Got> = self.reader.samples().into_iter().map(|(_, got)| got).collect();
        faults(&got, last, SIZE)
    }
}

/// Listens until so many participants have announced themselves: their prefixes and where they say they are.
fn listen(participants: usize, patience: Duration) -> BTreeMap<[u8; 12], Locators> {
    let (socket, end) = (ear(), Instant::now() + patience);
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let (mut heard, mut bytes) = (BTreeMap::new(), vec![0; 65_536]);
    while heard.len() < participants {
        assert!(Instant::now() < end, "only {heard:?} announced themselves");
        let Ok((length, _)) = socket.recv_from(&mut bytes) else { continue };
        let Some((prefix, submessages)) = read(&bytes[..length]) else { continue };
        if let Some(found) = told(&submessages) {
            heard.insert(prefix, found);
        }
    }
    heard
}

/// From ready to the first sample of a reader that is new; the reader.
fn newcomer(place: &Place) -> (Duration, Program) {
    let program = Program::start("the newcomer", place, "sub Numbers");
    let (ready, _) = program.wait("ready");
    let (first, _) = program.wait("got");
    (first.saturating_duration_since(ready), program)
}

/// Sends so many forgeries from a port of this thread's host.
fn attack(pair: &Pair, from: Ipv4Addr, seed: u64, datagrams: u64, rate: u64, named: &AtomicU64) {
    let socket = UdpSocket::bind((from, 0)).unwrap();
    let (mut random, start) = (Random::new(seed), Instant::now());
    for sent in 0..datagrams {
        if sent % 32 == 0 {
            let due = start + Duration::from_nanos(sent * 1_000_000_000 / rate);
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        let forgery = pair.forge(&mut random);
        // A full buffer or an error of an earlier datagram is no reason to stop.
        if socket.send_to(&forgery.bytes, forgery.to).is_ok() && forgery.names_bystander {
            named.fetch_add(u64::try_from(forgery.bytes.len()).unwrap(), Ordering::Relaxed);
        }
    }
}

#[test]
fn a_stranger_that_knows_all_ids_harms_neither_a_pair_nor_newcomers_nor_bystanders() {
    let _turn = turn();
    let Some(lan) = Lan::of(5) else { return };
    let mut running = Running::on(&lan);
    running.writer.tell(&format!("flow {RATE} {SIZE}"));
    running.reader.wait("got 1 ");
    let (undisturbed, _) = newcomer(&lan.hosts[4]);
    let watch = Watch::new(&lan.hosts[3], address(4), &[address(1), address(2)]);
    let datagrams = tiers::current().number("attacks.datagrams");
    let (named, pair) = (AtomicU64::new(0), running.pair);
    // The hosts of the writer, of the reader, and another one.
    let attackers = [0, 1, 2];
    let (took, late) = thread::scope(|scope| {
        let threads = attackers.map(|host| {
            let (place, named) = (&lan.hosts[host], &named);
            let seed = tiers::current().first_seed() + u64::try_from(host).unwrap();
            scope.spawn(move || {
                place.on(|| {
                    let rate = (ATTACK_RATE / 3).min(datagrams / 6);
                    attack(&pair, address(host + 1), seed, datagrams / 3, rate, named);
                });
            })
        });
        thread::sleep(Duration::from_millis(300));
        let found = newcomer(&lan.hosts[4]);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        found
    });
    let faults = running.end();
    assert!(faults.is_empty(), "{faults:#?}");
    let late: Vec<Got> = late.samples().into_iter().map(|(_, got)| got).collect();
    for got in &late {
        assert_eq!(*got, crate::expected::expected(got.number, SIZE), "forged, to the newcomer");
    }
    assert!(late.windows(2).all(|two| two[1].number == two[0].number + 1), "the newcomer lost something");
    assert!(
        took <= undisturbed + NEWCOMER,
        "a newcomer had its first sample after {took:?}, without attack after {undisturbed:?}"
    );
    let (came, asked) = (watch.bytes(), named.load(Ordering::Relaxed));
    assert!(came <= asked, "{came} bytes to a bystander that {asked} bytes named");
}
