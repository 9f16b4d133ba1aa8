//! What flows get while their links are flooded.
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use lab::wan::WanLab;
use linux_edge::execute::Running;
use testkit::patience::patiently;
use wan::{Addresses, Class, TSpec};

use crate::session::{Session, between, holdings, line, up};

/// Headers of IP and UDP.
const HEADERS: [usize; 2] = [28, 48];

/// What is sent: datagrams of `size` bytes of IP, each so many nanoseconds after the one before or later.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) count: u32,
    pub(crate) size: usize,
    pub(crate) separation: u64,
    pub(crate) mark: u8,
}

/// What has come.
#[derive(Debug, Default)]
pub(crate) struct Got {
    /// Nanoseconds from sending to receiving, in order.
    pub(crate) times: Vec<u64>,
    /// Nanoseconds from the first to the last that was sent.
    pub(crate) sending: u64,
}

/// A clock that all namespaces share.
fn clock() -> u64 {
    static BEGUN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    u64::try_from(BEGUN.get_or_init(Instant::now).elapsed().as_nanos()).unwrap()
}

/// Sends; nanoseconds that it took.
fn send(from: IpAddr, to: IpAddr, port: u16, sent: Sent) -> u64 {
    let headers = if to.is_ipv4() { HEADERS[0] } else { HEADERS[1] };
    let socket = UdpSocket::bind(SocketAddr::new(from, port)).unwrap();
    let (v4, mark) = (to.is_ipv4(), u32::from(sent.mark) << 2);
    let raw = socket2::SockRef::from(&socket);
    if v4 {
        raw.set_tos_v4(mark).unwrap()
    } else {
        raw.set_tclass_v6(mark).unwrap()
    };
    let mut datagram = vec![0; sent.size - headers];
    let begun = clock();
    for _ in 0..sent.count {
        datagram[..8].copy_from_slice(&clock().to_le_bytes());
        let last = Instant::now();
        // A link that is full says so to who sends.
        let _ = socket.send_to(&datagram, SocketAddr::new(to, port));
        // The separation holds from each to the next, however late one was.
        while let Some(left) = Duration::from_nanos(sent.separation).checked_sub(last.elapsed()) {
            thread::sleep(left);
        }
    }
    clock() - begun
}

/// Receives until nothing comes for seconds.
fn receive(to: IpAddr, port: u16, ready: &std::sync::Barrier) -> Got {
    let socket = UdpSocket::bind(SocketAddr::new(to, port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    ready.wait();
    let (mut got, mut datagram) = (Got::default(), [0; 2_000]);
    while socket.recv(&mut datagram).is_ok() {
        let sent = u64::from_le_bytes(datagram[..8].try_into().unwrap());
        got.times.push(clock().saturating_sub(sent));
    }
    got.times.sort_unstable();
    got
}

/// A flow that is sent: from a host, between addresses, to a port.
pub(crate) type Played<'a> = (&'a str, Addresses, u16, Sent);

/// Sends flows from their hosts to `c`; what of each has come.
pub(crate) fn play(lab: &WanLab, flows: &[Played<'_>]) -> Vec<Got> {
    play_to(lab, &flows.iter().map(|flow| ("c", flow.clone())).collect::<Vec<_>>())
}

/// Sends flows from their hosts to others; what of each has come.
pub(crate) fn play_to(lab: &WanLab, flows: &[(&str, Played<'_>)]) -> Vec<Got> {
    let ready = std::sync::Barrier::new(flows.len() + 1);
    thread::scope(|scope| {
        let receiving: Vec<_> = flows
            .iter()
            .map(|(host, (_, addresses, port, _))| {
                let (ready, to) = (&ready, addresses.destinations[0]);
                scope.spawn(move || lab.on(host, || receive(to, *port, ready)).unwrap())
            })
            .collect();
        ready.wait();
        let sending: Vec<_> = flows
            .iter()
            .map(|(_, (host, addresses, port, sent))| {
                let (from, to) = (addresses.sources[0], addresses.destinations[0]);
                scope.spawn(move || lab.on(host, || send(from, to, *port, *sent)).unwrap())
            })
            .collect();
        let both = receiving.into_iter().zip(sending);
        both.map(|(receiving, sending)| Got { sending: sending.join().unwrap(), ..receiving.join().unwrap() })
            .collect()
    })
}

pub(crate) fn backends(lab: &WanLab) -> Vec<Running> {
    (0..lab.layout().domains.len()).map(|domain| lab.backend(domain).unwrap()).collect()
}

pub(crate) fn median(got: &Got) -> u64 {
    got.times[got.times.len() / 2]
}

/// EF, AF4 out of its profile, and a flood that marks itself EF, over two links of 1 Mbit/s.
fn flooded(four: bool) {
    let Some((_turn, lab)) = up(&line(3, "1 Mb/s")) else { return };
    let mut backends = backends(&lab);
    let ef = Session {
        number: 1,
        class: Class::Ef,
        traffic: TSpec::of_packets(1_028, 40_000_000).unwrap(),
        addresses: between(&lab, "a", "c", four),
        port: 7_400,
    };
    let af = Session {
        number: 2,
        class: Class::Af4,
        traffic: TSpec::of_packets(528, 50_000_000).unwrap(),
        addresses: between(&lab, "a", "c", four),
        port: 7_500,
    };
    let bound = ef.open(&mut backends);
    af.open(&mut backends);
    let flood = between(&lab, "flood", "c", four);
    let sent = |count, size, separation, mark| Sent { count, size, separation, mark };
    let got = play(
        &lab,
        &[
            ("a", ef.addresses.clone(), ef.port, sent(120, 1_028, 40_000_000, 46)),
            ("a", af.addresses.clone(), af.port, sent(300, 528, 16_000_000, 34)),
            ("flood", flood, 7_600, sent(1_200, 1_028, 4_000_000, 46)),
        ],
    );
    let [ef_got, af_got, flood_got] = &got[..] else { panic!("{got:?}") };
    assert_eq!(ef_got.times.len(), 120, "EF lost something");
    // The bound is judged by simulation; here the machine's own stalls are in the times.
    println!("EF: {} ns in the median, and {bound} ns at most", median(ef_got));
    let (room, came) = (af_got.sending / 50_000_000, u64::try_from(af_got.times.len()).unwrap());
    assert!(
        came <= room + room * 3 / 100 + 4 && came * 4 >= room.min(300),
        "{came} of AF4 came, with room for {room}"
    );
    assert!(median(flood_got) > median(ef_got), "a flow without a session is as fast as EF");
    // A frame takes more than 8 ms of a link; some hundred wait when sending ends.
    let (room, came) = (flood_got.sending / 8_000_000, flood_got.times.len() as u64);
    assert!((50..=room + 200).contains(&came), "{came} of the flood came, with room for {room}");

    // A manager that starts again finds what routers hold, and what it then releases is gone.
    let before: Vec<_> = backends.iter_mut().map(holdings).collect();
    assert_eq!(before.iter().map(Vec::len).collect::<Vec<_>>(), [4, 2, 2]);
    let mut again = self::backends(&lab);
    assert_eq!(again.iter_mut().map(holdings).collect::<Vec<_>>(), before);
    let (of_before, of_again) = (backends[0].edge().ledger(), again[0].edge().ledger());
    let port = linux_edge::routes::PortId::Edge(0);
    assert_eq!(of_before.sum(port, Class::Ef), of_again.sum(port, Class::Ef));
    ef.close(&mut again);
    af.close(&mut again);
    assert!(self::backends(&lab).iter_mut().all(|backend| holdings(backend).is_empty()));
    drop(backends);
    let name = lab.record().name.clone();
    lab.down().unwrap();
    patiently("the end of all namespaces", || {
        let left = std::fs::read_dir("/run/netns").ok()?.flatten();
        let mut left =
            left.filter(|entry| entry.file_name().to_string_lossy().starts_with(&format!("{name}-")));
        left.next().is_none().then_some(())
    });
}

#[test]
fn ef_loses_nothing_and_is_ahead_while_links_are_flooded() {
    flooded(true);
}

#[test]
fn so_it_does_over_ipv6() {
    flooded(false);
}

#[test]
fn what_exceeds_a_contract_is_dropped_at_the_edge() {
    let Some((_turn, lab)) = up(&line(2, "50 Mb/s")) else { return };
    let mut backends = backends(&lab);
    for (number, size, separation, times) in [(1, 1_028, 10_000_000, 5), (2, 128, 2_000_000, 4)] {
        let ef = Session {
            number,
            class: Class::Ef,
            traffic: TSpec::of_packets(size, separation).unwrap(),
            addresses: between(&lab, "a", "c", true),
            port: 7_400 + u16::try_from(number).unwrap(),
        };
        ef.open(&mut backends);
        let sent = Sent {
            count: u32::try_from(2_000_000_000 / separation * times).unwrap(),
            size: usize::try_from(size).unwrap(),
            separation: separation / times,
            mark: 46,
        };
        let got = play(&lab, &[("a", ef.addresses.clone(), ef.port, sent)]);
        let passed = u64::try_from(got[0].times.len()).unwrap();
        // What the contract has room for in the time that sending took, what waits for the policer, and the 3 % that a measurement may be off.
        let room = got[0].sending / separation;
        assert!(passed <= room + room * 3 / 100 + 4, "{passed} of {}, with room for {room}", sent.count);
        assert!(
            passed * 4 >= room.min(sent.count.into()),
            "{passed} of {}, with room for {room}",
            sent.count
        );
        ef.close(&mut backends);
    }
}
