//! Links of real routers in a ring that are cut: both ends of a session hear of it, and its flows go the other way.
use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use lab::wan::{How, WanLab, cut};
use testkit::patience::{LIMIT, patiently, patiently_or};
use wan::{AggregateId, Asn, BackendAnswer, BackendCommand, Class, Demand, Holding, LinkId, Place, TunnelId};
use wan_server::protocol::{Answer, Ask, Bound, DeliveredStatus, Event, Flow, Measured, SessionAsked};
use wan_server::{Backend, LinuxRouters, Routers};

use crate::domains::{Domains, EAST, MILLISECOND, PATIENT, TRANSIT, WEST, flow, session};
use crate::routers::in_lab;

pub(crate) const RING: &str = include_str!("../../examples/linux/ring.toml");
const FILES: [(u32, &str); 3] = [
    (WEST, include_str!("../../examples/linux/ring-west.toml")),
    (TRANSIT, include_str!("../../examples/linux/transit.toml")),
    (EAST, include_str!("../../examples/linux/ring-east.toml")),
];

/// What a monitor says, and when.
pub(crate) struct Monitor {
    told: Receiver<(Instant, Event)>,
    /// What was not asked for yet.
    passed: Vec<(Instant, Event)>,
}

impl Monitor {
    pub(crate) fn of(domains: &Domains, asn: u32) -> Self {
        let mut client = domains.client(asn).unwrap();
        client.ask(&Ask::Monitor).unwrap();
        let (tell, told) = channel();
        // It ends with its manager.
        thread::spawn(move || {
            while let Ok(Some(Answer::Event(event))) = client.answer::<Answer>() {
                if tell.send((Instant::now(), event)).is_err() {
                    return;
                }
            }
        });
        Self { told, passed: Vec::new() }
    }

    /// What was told up to now is asked for no more.
    pub(crate) fn forget(&mut self) {
        self.passed.clear();
        self.told.try_iter().for_each(drop);
    }

    /// The first event that is so and was not found before. Others are kept: an end may hear of another way before it sees the cut itself.
    pub(crate) fn first<T>(&mut self, what: &str, is_so: impl Fn(&Event) -> Option<T>) -> (Instant, T) {
        let kept = self.passed.iter().enumerate().find_map(|(at, (_, event))| Some((at, is_so(event)?)));
        if let Some((at, found)) = kept {
            return (self.passed.remove(at).0, found);
        }
        loop {
            let Ok((at, event)) = self.told.recv_timeout(LIMIT) else {
                panic!("no {what}: {:?}", self.passed)
            };
            match is_so(&event) {
                Some(found) => return (at, found),
                None => self.passed.push((at, event)),
            }
        }
    }

    /// One copy of the first flow of a session is lost, since a link is down.
    pub(crate) fn copy_lost(&mut self, of: &str, link: u32) {
        let (_, why) = self.first("copy that is lost", |event| match event {
            Event::CopyLost { session, flow: 0, to: EAST, why } if session == of => Some(why.clone()),
            _ => None,
        });
        assert_eq!((why.reason.as_str(), why.link), ("link-down", Some(link)), "{why:?}");
    }

    /// Two copies of it go again: nanoseconds that the new one takes at most.
    pub(crate) fn copy_back(&mut self, of: &str) -> u64 {
        let is_back = |event: &Event| match event {
            Event::CopyBack { session, flow: 0, to: EAST, delay } if session == of => Some(*delay),
            _ => None,
        };
        self.first("copy that goes again", is_back).1
    }

    pub(crate) fn link(&mut self, link: u32, is_up: bool) -> Instant {
        let is_of = |event: &Event| match event {
            Event::Link { link: of, is_up: state, .. } if (*of, *state) == (link, is_up) => Some(()),
            _ => None,
        };
        self.first(&format!("link {link}, up {is_up}"), is_of).0
    }
}

/// Under a load of tests a keep-alive may come late by more than the usual tenth of a second.
pub(crate) fn interval() -> String {
    std::env::var("PUNCTUAL_KEEP_ALIVE").unwrap_or_else(|_| "300 ms".to_owned())
}

/// The managers of the ring, on the routers of a lab.
pub(crate) fn domains(lab: &WanLab, test: &str) -> Domains {
    let name = &lab.record().name;
    let texts = FILES.map(|(asn, text)| {
        let text = text.replace("\"line-router", &format!("\"{name}-router"));
        let inside = format!("{PATIENT}\n[linux]\nkeep-alive = \"{}\"\n", interval());
        (asn, text.replacen("[linux]\n", &inside, 1))
    });
    Domains::of(test, texts)
}

/// A datagram of the flow arrives in the end.
fn arrives(from: &UdpSocket, to: &UdpSocket) {
    let mut packet = [0; 64];
    while to.recv(&mut packet).is_ok() {}
    patiently_or(
        || "a datagram on the other way".to_owned(),
        || {
            from.send_to(b"sample", "10.3.0.2:7411").unwrap();
            to.recv(&mut packet).is_ok().then_some(())
        },
    );
}

#[test]
fn a_session_goes_the_other_way_round_when_its_link_is_cut_down_silently_or_one_way() {
    in_lab(RING, |lab| {
        let domains = domains(lab, "cuts");
        let mut monitors = [WEST, EAST].map(|asn| Monitor::of(&domains, asn));
        let socket = |host: &str, address: &str| lab.on(host, || UdpSocket::bind(address).unwrap()).unwrap();
        let (from, to) = (socket("a", "10.1.0.2:0"), socket("c", "10.3.0.2:7411"));
        to.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let name = &lab.record().name;
        for how in [How::Silent, How::OneWay, How::Down] {
            let asked = SessionAsked {
                caller: "10.1.0.2".parse().unwrap(),
                ..session(
                    "10.3.0.2",
                    vec![Flow { destination_port: 7_411, ..flow(300_000, 100 * MILLISECOND) }],
                )
            };
            let admitted = domains.admitted(&asked);
            let path = || domains.status(WEST).aggregates.into_iter().map(|of| of.path).collect::<Vec<_>>();
            assert_eq!(path(), [[WEST, EAST]], "the direct way is the first");
            arrives(&from, &to);
            monitors.iter_mut().for_each(Monitor::forget);
            let began = Instant::now();
            cut(name, 3, how).unwrap();
            let mut times = Vec::new();
            for monitor in &mut monitors {
                let down = monitor.link(3, false);
                let (again, (delay, why)) = monitor.first("other way", |event| match event {
                    Event::Rerouted { session, flow: 0, to: EAST, delay, why, .. }
                        if *session == admitted.session =>
                    {
                        Some((*delay, why.clone()))
                    }
                    _ => None,
                });
                assert_eq!((why.reason.as_str(), why.link), ("link-down", Some(3)), "{why:?}");
                assert!(delay > admitted.bounds[0].delay && delay <= 100 * MILLISECOND, "{delay}");
                times.push((down - began, again - began));
            }
            eprintln!(
                "{how:?}, keep-alives each {}: known in the west after {:.1?}, in the east after {:.1?}; on the other way after {:.1?}",
                interval(),
                times[0].0,
                times[1].0,
                times[0].1
            );
            arrives(&from, &to);
            patiently_or(
                || format!("the other way alone: {:?}", path()),
                || (path() == [[WEST, TRANSIT, EAST]]).then_some(()),
            );
            assert!(domains.status(WEST).links.iter().any(|link| link.link == 3 && !link.is_up));
            cut(name, 3, How::Joined).unwrap();
            for monitor in &mut monitors {
                monitor.link(3, true);
            }
            // It stays where it is until it ends.
            assert_eq!(path(), [[WEST, TRANSIT, EAST]]);
            let stopped = domains.ask(WEST, &Ask::Stop { session: admitted.session.clone() });
            assert_eq!(stopped, Answer::Stopped { session: admitted.session });
            domains.aggregates(0);
        }
        // Without another way it ends, and both ends hear which link it was.
        cut(name, 1, How::Silent).unwrap();
        monitors[0].link(1, false);
        let admitted = domains.admitted(&SessionAsked {
            caller: "10.1.0.2".parse().unwrap(),
            ..session("10.3.0.2", vec![flow(300_000, 100 * MILLISECOND)])
        });
        cut(name, 3, How::OneWay).unwrap();
        for monitor in &mut monitors {
            let (_, why) = monitor.first("end", |event| match event {
                Event::Ended { session, why } if *session == admitted.session => Some(why.clone()),
                _ => None,
            });
            assert_eq!((why.asn, why.reason.as_str(), why.link), (WEST, "link-down", Some(3)), "{why:?}");
        }
        domains.aggregates(0);
    });
}

/// The second domain of a line has two routers here, and a link between them.
#[test]
fn what_passes_a_link_inside_that_is_cut_is_lost_and_refused_until_it_works() {
    let text = RING.replace("asn = 65002\nhosts = []", "asn = 65002\nhosts = []\nrouters = 2");
    in_lab(&text, |lab| {
        let namespaces = lab.layout().routers[1].iter().cloned().map(Some).collect();
        let routers = Routers { domain: lab.layout().domains[1].clone(), namespaces, keep_alive: 0 };
        let mut backend = LinuxRouters::start(&routers, |what| panic!("{what}")).unwrap();
        let aggregate =
            |number| AggregateId { tunnel: TunnelId { origin: Asn(65_001), number }, class: Class::Ef };
        let reserve = |backend: &mut LinuxRouters, number| {
            let (from, to) = (Place::Border(LinkId(1)), Place::Border(LinkId(2)));
            let (class, rate, burst) = (Class::Ef, 100_000, 500);
            let demand = Demand { from, to, class, rate, burst, least_packet: 500, largest_packet: 500 };
            let aggregate = aggregate(number);
            backend.execute(vec![BackendCommand::Reserve { ticket: number, aggregate, demand }])
        };
        let is_reserved = |answers: &[BackendAnswer]| matches!(answers, [BackendAnswer::Reserved { .. }]);
        assert!(is_reserved(&reserve(&mut backend, 1)));
        let lost = backend.link(0, false);
        let [BackendAnswer::Lost { holding, fault }] = &lost[..] else { panic!("{lost:?}") };
        assert_eq!(*holding, Holding::Aggregate(aggregate(1)));
        assert!(fault.device.as_str().contains("core0a"), "{fault:?}");
        let refused = reserve(&mut backend, 2);
        assert!(matches!(&refused[..], [BackendAnswer::Failed { ticket: 2, .. }]), "{refused:?}");
        assert_eq!(backend.link(0, true), []);
        assert!(is_reserved(&reserve(&mut backend, 2)));
    });
}

/// Both copies go around the ring, one each way. What is sent while a link is cut silently arrives by the other copy: a packet at least once, each.
#[test]
fn of_two_copies_no_packet_is_lost_while_a_link_of_the_ring_is_cut_silently() {
    in_lab(RING, |lab| {
        let domains = domains(lab, "copies");
        let mut monitors = [WEST, EAST].map(|asn| Monitor::of(&domains, asn));
        let socket = |host: &str, address: &str| lab.on(host, || UdpSocket::bind(address).unwrap()).unwrap();
        let (from, to) = (socket("a", "10.1.0.2:0"), socket("c", "10.3.0.2:7411"));
        to.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let name = &lab.record().name;
        let data = Flow { destination_port: 7_411, copies: 2, ..flow(300_000, 100 * MILLISECOND) };
        let asked = SessionAsked { caller: "10.1.0.2".parse().unwrap(), ..session("10.3.0.2", vec![data]) };
        let admitted = domains.admitted(&asked);
        // Each copy has a path and a bound of its own, and the way around is the longer one.
        let (direct, around) = (vec![WEST, EAST], vec![WEST, TRANSIT, EAST]);
        let told = |bounds: &[Bound]| bounds.iter().map(|of| (of.copy, of.path.clone())).collect::<Vec<_>>();
        assert_eq!(told(&admitted.bounds), [(1, direct.clone()), (2, around.clone())], "{admitted:?}");
        assert!(admitted.bounds[0].delay < admitted.bounds[1].delay, "{admitted:?}");
        let status = domains.status(WEST);
        assert_eq!(status.sessions[0].bounds, admitted.bounds);
        let mut paths: Vec<_> = status.aggregates.into_iter().map(|of| of.path).collect();
        paths.sort();
        assert_eq!(paths, [around.clone(), direct]);
        let shown = domains.command().args(["status", "--asn", "65001"]).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        for (copy, path) in [(1, "65001 65003"), (2, "65001 65002 65003")] {
            assert!(shown.contains(&format!("flow 0 to AS 65003, copy {copy}: ")), "{shown}");
            assert!(shown.contains(&format!(" along AS {path}, ")), "{shown}");
        }
        // How often each number came. One is sent when the one before is there, so that no policer drops any; after that as often as a second
        // copy may still come.
        let mut came: BTreeMap<u32, u32> = BTreeMap::new();
        let take = |came: &mut BTreeMap<u32, u32>| {
            let mut packet = [0; 64];
            match to.recv(&mut packet) {
                Ok(4) => *came.entry(u32::from_be_bytes(packet[..4].try_into().unwrap())).or_default() += 1,
                _ => return false,
            }
            true
        };
        let send = |came: &mut BTreeMap<u32, u32>, number: u32| {
            from.send_to(&number.to_be_bytes(), "10.3.0.2:7411").unwrap();
            // It is sent once: whatever is lost of both copies is never seen.
            patiently_or(
                || format!("number {number}"),
                || {
                    take(came);
                    came.contains_key(&number).then_some(())
                },
            );
        };
        (0..50).for_each(|number| send(&mut came, number));
        let seen = std::cell::RefCell::new(&mut came);
        patiently_or(
            || format!("two copies of each: {:?}", seen.borrow()),
            || {
                let mut came = seen.borrow_mut();
                take(&mut came);
                came.values().all(|times| *times == 2).then_some(())
            },
        );
        cut(name, 3, How::Silent).unwrap();
        (50..150).for_each(|number| send(&mut came, number));
        monitors.iter_mut().for_each(|monitor| monitor.copy_lost(&admitted.session, 3));
        // What a program measures is noted for the flow, whichever copy is left, and edges count a packet once.
        let (samples, median, worst) = (150, MILLISECOND, 2 * MILLISECOND);
        let session = admitted.session.clone();
        let measured = Measured { session: session.clone(), flow: 0, to: EAST, samples, median, worst };
        assert_eq!(domains.ask(WEST, &Ask::Measured(measured)), Answer::Noted { session });
        let left = &domains.status(WEST).sessions[0];
        assert_eq!((left.bounds.len(), &left.bounds[0].path[..], left.bounds[0].copy), (1, &around[..], 2));
        assert_eq!(left.measured.len(), 1, "{left:?}");
        (150..200).for_each(|number| send(&mut came, number));
        cut(name, 3, How::Joined).unwrap();
        for monitor in &mut monitors {
            monitor.copy_back(&admitted.session);
        }
        let back = &domains.status(WEST).sessions[0];
        assert_eq!((back.bounds.len(), back.measured.len()), (2, 1), "{back:?}");
        let counted = patiently("what edges have let in", || {
            let status = domains.status(WEST);
            (!status.delivered.is_empty()).then_some(status.delivered)
        });
        let of_flow = |of: &DeliveredStatus| (of.flow, of.to) == (0, EAST) && of.packets <= 200;
        assert!(counted.len() == 1 && counted.iter().all(of_flow), "{counted:?}");
        // Then the other way is cut: the copy that has come back is the one that goes on.
        (200..220).for_each(|number| send(&mut came, number));
        cut(name, 1, How::Silent).unwrap();
        (220..300).for_each(|number| send(&mut came, number));
        assert_eq!(came.len(), 300);
        assert!(came.values().all(|times| (1..=2).contains(times)), "{came:?}");
        let stopped = domains.ask(WEST, &Ask::Stop { session: admitted.session.clone() });
        assert_eq!(stopped, Answer::Stopped { session: admitted.session });
        domains.aggregates(0);
    });
}
