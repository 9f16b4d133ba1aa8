//! Alarms at a rate over two copies while links of the ring are cut, one after the other: each packet arrives, and within the bound of the verdict.
//!
//! A packet is late by itself only if the machine did not stand still meanwhile: probes see that independently of what is measured.
use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lab::probe::{Probes, Stall, monotonic};
use lab::wan::{How, cut};
use testkit::patience::patiently_or;
use wan_server::protocol::{Answer, Ask, Flow, SessionAsked};

use crate::cuts::{Monitor, RING, domains};
use crate::domains::{EAST, MILLISECOND, WEST, flow, session};
use crate::routers::in_lab;

/// From one packet to the next at least, in nanoseconds: 200 a second.
const SEPARATION: u64 = 5 * MILLISECOND;
/// Bytes of a packet of IP.
const SIZE: u64 = 200;
/// Bytes of the headers of IP and UDP.
const HEADERS: u64 = 28;
/// A wake that is later than this is part of a stall.
const STANDS: Duration = Duration::from_millis(1);
/// Packets that are sent at least before a link is cut, and before the next one is.
const MANY: u32 = 200;

/// One packet of the flow, in nanoseconds of the monotonic clock.
#[derive(Clone, Copy, Debug)]
struct Sent {
    due: u64,
    /// When it came first, by whichever copy.
    came: Option<u64>,
}

#[derive(PartialEq, Eq, Debug)]
enum Verdict {
    InTime,
    /// The machine stood still for so long that this is its doing.
    Explained,
    Late,
    Lost,
}

/// What stalls take at most from a packet that is under way from `from` to `to`: each holds up what comes, and is in the way of what comes after it for as
/// long again. On their way packets pass both cores, and wait for each.
fn stood(stalls: &[Stall], from: u64, to: u64) -> u64 {
    let lasts = |stall: &&Stall| Stall { to: stall.to + (stall.to - stall.from), ..**stall }.meets(from, to);
    stalls.iter().filter(lasts).map(|stall| 2 * (stall.to - stall.from)).sum()
}

/// What became of a packet with this bound. The contract has room for 4 packets at once: a stall of less than 3 separations takes none.
fn judge(sent: Sent, bound: u64, stalls: &[Stall]) -> Verdict {
    let most = sent.due + bound;
    match sent.came {
        Some(came) if came <= most => Verdict::InTime,
        Some(came) if came - most <= stood(stalls, sent.due, came) => Verdict::Explained,
        Some(_) => Verdict::Late,
        None if stood(stalls, sent.due.saturating_sub(10 * SEPARATION), most) >= 6 * SEPARATION => {
            Verdict::Explained
        }
        None => Verdict::Lost,
    }
}

#[test]
fn a_packet_is_late_or_lost_unless_a_stall_is_long_enough_for_that() {
    let bound = 20 * MILLISECOND;
    let at = |came: Option<u64>| Sent {
        due: 1_000 * MILLISECOND,
        came: came.map(|after| (1_000 + after) * MILLISECOND),
    };
    let stall = |from: u64, to: u64| [Stall { from: from * MILLISECOND, to: to * MILLISECOND, core: 1 }];
    let none: &[Stall] = &[];
    for (sent, stalls, verdict) in [
        (at(Some(20)), none, Verdict::InTime),
        (at(Some(21)), none, Verdict::Late),
        (at(None), none, Verdict::Lost),
        // Before it, at its time and too short, long enough, after it.
        (at(Some(50)), &stall(900, 940), Verdict::Late),
        (at(Some(50)), &stall(1_000, 1_014), Verdict::Late),
        (at(Some(50)), &stall(1_000, 1_015), Verdict::Explained),
        (at(Some(50)), &stall(990, 1_005), Verdict::Explained),
        (at(Some(50)), &stall(1_051, 1_200), Verdict::Late),
        (at(None), &stall(1_000, 1_014), Verdict::Lost),
        (at(None), &stall(1_000, 1_015), Verdict::Explained),
    ] {
        assert_eq!(judge(sent, bound, stalls), verdict, "{sent:?} {stalls:?}");
    }
}

/// Sends until it is told to stop, each packet with its number, and tells when each was due. The contract's separation holds from each to the next,
/// however late one was.
fn send(socket: &UdpSocket, number: &AtomicU32, stop: &AtomicBool) -> Vec<u64> {
    let _ = udp::thread::set_real_time(40);
    let mut datagram = vec![0; usize::try_from(SIZE - HEADERS).unwrap()];
    let (mut all, mut due) = (Vec::new(), monotonic() + SEPARATION);
    while !stop.load(Relaxed) {
        while let Some(left) = due.checked_sub(monotonic()).filter(|left| *left > 0) {
            thread::sleep(Duration::from_nanos(left));
        }
        let now = monotonic();
        let count = u32::try_from(all.len()).unwrap();
        datagram[..4].copy_from_slice(&count.to_be_bytes());
        datagram[4..12].copy_from_slice(&due.to_be_bytes());
        // An interface that is down says so to who sends, but not on this side of the router.
        socket.send_to(&datagram, "10.3.0.2:7411").unwrap();
        all.push(due);
        number.store(count + 1, Relaxed);
        due = due.max(now) + SEPARATION;
    }
    all
}

/// Receives until it is told to stop and nothing comes any more: when each number came first, and how often it came.
fn receive(socket: &UdpSocket, stop: &AtomicBool) -> BTreeMap<u32, (u64, u64, u32)> {
    let _ = udp::thread::set_real_time(40);
    let (mut came, mut datagram) = (BTreeMap::new(), [0; 2_048]);
    loop {
        match socket.recv(&mut datagram) {
            Ok(length) => {
                let now = monotonic();
                assert_eq!(length as u64, SIZE - HEADERS);
                let number = u32::from_be_bytes(datagram[..4].try_into().unwrap());
                let due = u64::from_be_bytes(datagram[4..12].try_into().unwrap());
                came.entry(number).or_insert((due, now, 0)).2 += 1;
            }
            Err(_) if stop.load(Relaxed) => return came,
            Err(_) => {}
        }
    }
}

#[test]
fn of_two_copies_at_a_rate_no_packet_is_lost_or_late_while_links_are_cut_silently_and_down() {
    in_lab(RING, |lab| {
        let domains = domains(lab, "alarms");
        let mut monitors = [WEST, EAST].map(|asn| Monitor::of(&domains, asn));
        let socket = |host: &str, address: &str| lab.on(host, || UdpSocket::bind(address).unwrap()).unwrap();
        let (from, to) = (socket("a", "10.1.0.2:0"), socket("c", "10.3.0.2:7411"));
        to.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let name = &lab.record().name;
        let data = Flow {
            destination_port: 7_411,
            copies: 2,
            // Four packets at once, and a little more than is sent: a sender that was held up catches up.
            bucket: 4 * SIZE,
            largest_packet: u32::try_from(SIZE).unwrap(),
            ..flow(340_000, 100 * MILLISECOND)
        };
        let asked = SessionAsked { caller: "10.1.0.2".parse().unwrap(), ..session("10.3.0.2", vec![data]) };
        let admitted = domains.admitted(&asked);
        // While one copy is lost the other one's bound holds, whichever it is.
        let mut bound = admitted.bounds.iter().map(|of| of.delay).max().unwrap();
        assert_eq!(admitted.bounds.len(), 2, "{admitted:?}");
        let probes = [Probes::start(STANDS).unwrap(), Probes::start_among_others(STANDS).unwrap()];
        let (stop_sending, stop, number) =
            (AtomicBool::new(false), AtomicBool::new(false), AtomicU32::new(0));
        let (due, came) = thread::scope(|scope| {
            let sending = scope.spawn(|| send(&from, &number, &stop_sending));
            let receiving = scope.spawn(|| receive(&to, &stop));
            // Whatever fails below, both threads end.
            let _ends = Ends(&stop_sending, &stop);
            let many = |what: &str| {
                let until = number.load(Relaxed) + MANY;
                patiently_or(|| format!("packets {what}"), || (number.load(Relaxed) >= until).then_some(()));
            };
            many("before any cut");
            for (link, how) in [(3, How::Silent), (1, How::Down), (3, How::Down), (1, How::Silent)] {
                cut(name, link, how).unwrap();
                monitors.iter_mut().for_each(|monitor| monitor.copy_lost(&admitted.session, link));
                many("with one copy");
                cut(name, link, How::Joined).unwrap();
                for monitor in &mut monitors {
                    bound = bound.max(monitor.copy_back(&admitted.session));
                }
                many("with both again");
            }
            stop_sending.store(true, Relaxed);
            let due = sending.join().unwrap();
            stop.store(true, Relaxed);
            (due, receiving.join().unwrap())
        });
        let [stalls, others] = probes.map(Probes::stop);
        let stalls = [stalls, others].concat();
        let judged: Vec<(Sent, Verdict)> = due
            .iter()
            .zip(0..)
            .map(|(due, number)| {
                let first = came.get(&number).map(|(said, at, _)| {
                    assert_eq!(said, due, "packet {number}");
                    *at
                });
                let sent = Sent { due: *due, came: first };
                (sent, judge(sent, bound, &stalls))
            })
            .collect();
        let count = |verdict: &Verdict| judged.iter().filter(|(_, of)| of == verdict).count();
        let mut times: Vec<u64> = judged.iter().filter_map(|(sent, _)| Some(sent.came? - sent.due)).collect();
        times.sort_unstable();
        let twice = came.values().filter(|(.., times)| *times == 2).count();
        eprintln!(
            "{} packets, {twice} of them twice; {} us in the median, {} us at most, {} us promised; {} above it while the machine stood still",
            due.len(),
            times[times.len() / 2] / 1_000,
            times.last().unwrap() / 1_000,
            bound / 1_000,
            count(&Verdict::Explained),
        );
        let wrong =
            |(_, (_, verdict)): &(usize, &(Sent, Verdict))| matches!(verdict, Verdict::Late | Verdict::Lost);
        let wrong: Vec<_> = judged.iter().enumerate().filter(wrong).collect();
        assert!(wrong.is_empty(), "{bound} ns promised: {wrong:?}");
        // While both go, a packet comes twice.
        let many = usize::try_from(MANY).unwrap();
        assert!(due.len() >= 9 * many && twice >= 2 * many, "{twice} of {}", due.len());
        let stopped = domains.ask(WEST, &Ask::Stop { session: admitted.session.clone() });
        assert_eq!(stopped, Answer::Stopped { session: admitted.session });
        domains.aggregates(0);
    });
}

struct Ends<'a>(&'a AtomicBool, &'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
        self.1.store(true, Relaxed);
    }
}
