//! Managers whose domains are real Linux routers: rules are set up, outlive managers, are taken up, and what a device does not do is told.
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use aaa::entry::RecordKind;
use lab::wan::{WanFile, WanLab};
use linux_edge::setup::mark;
use testkit::namespace::alone;
use testkit::patience::{LIMIT, patiently, patiently_or};
use wan::{AggregateId, Asn, BackendAnswer, BackendCommand, Class, Demand, LinkId, Place, TunnelId};
use wan_server::conformance::{Course, conforms};
use wan_server::protocol::{Answer, Ask, Event, Flow, SessionAsked};
use wan_server::{DomainFile, LinuxRouters, Routers, Within};

use crate::aaa_server::{AaaServer, TABLE, granted, last_record, records, write_peers};
use crate::domains::{Domains, EAST, MILLISECOND, PATIENT, TRANSIT, WEST, flow, session};

pub(crate) const LINE: &str = include_str!("../../examples/linux/line.toml");
const FILES: [(u32, &str); 3] = [
    (WEST, include_str!("../../examples/linux/west.toml")),
    (TRANSIT, include_str!("../../examples/linux/transit.toml")),
    (EAST, include_str!("../../examples/linux/east.toml")),
];

/// A test with a lab of this file, one at a time; passed over if none can be built here.
pub(crate) fn in_lab(text: &str, test: impl FnOnce(&WanLab) + Send) {
    static ONE: Mutex<()> = Mutex::new(());
    let _turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = lab::check_rights() {
        assert!(std::env::var_os("CI").is_none(), "{error}");
        eprintln!("passed over: {error}");
        return;
    }
    alone(|| {
        let file = WanFile::read("line.toml", text).unwrap();
        test(&WanLab::up(&file, &lab_turn::name(), &Arc::new(AtomicBool::new(false))).unwrap());
    });
}

/// The files of the examples for this lab.
pub(crate) fn texts(lab: &WanLab) -> [(u32, String); 3] {
    let name = &lab.record().name;
    FILES.map(|(asn, text)| {
        let text = text.replace("\"line-router", &format!("\"{name}-router"));
        (asn, text.replacen("[linux]\n", &format!("{PATIENT}\n[linux]\nkeep-alive = \"0 s\"\n"), 1))
    })
}

pub(crate) fn run(lab: &WanLab, asn: u32, words: &[&str]) -> Result<String, String> {
    let router = format!("--net=/run/netns/{}-router-{asn}", lab.record().name);
    let output = Command::new("nsenter").arg(router).arg("--").args(words).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// The rules of a router as nft prints them, without what it has counted.
pub(crate) fn rules(lab: &WanLab, asn: u32) -> String {
    run(lab, asn, &["nft", "-s", "list", "table", "inet", "punctual-domain"]).unwrap()
}

pub(crate) fn asked(port: u16) -> SessionAsked {
    let flow = Flow { destination_port: port, ..flow(300_000, 100 * MILLISECOND) };
    SessionAsked { caller: "10.1.0.2".parse().unwrap(), ..session("10.3.0.2", vec![flow]) }
}

#[test]
fn routers_are_set_up_and_what_they_hold_is_taken_up_and_matched() {
    in_lab(LINE, |lab| {
        // The files describe the routers of the lab.
        for ((_, text), domain) in texts(lab).iter().zip(&lab.layout().domains) {
            let Within::Linux(routers) = DomainFile::read("file", text).unwrap().inside else { panic!() };
            assert_eq!(mark(&routers.domain), mark(domain));
        }
        let empty = [WEST, TRANSIT, EAST].map(|asn| rules(lab, asn));
        let mut domains = Domains::of("routers", texts(lab));
        let first = domains.admitted(&asked(7_411));
        assert_eq!(first.caveat, None, "a device is set up");
        let with_first = [WEST, TRANSIT, EAST].map(|asn| rules(lab, asn));
        assert!(with_first.iter().zip(&empty).all(|(one, other)| one != other), "{with_first:?}");
        assert!(
            with_first[0].contains("10.1.0.2 . 10.3.0.2 . ") && with_first[0].contains(" . 7411"),
            "{}",
            with_first[0]
        );
        // The thousandth session adds nothing in transit; the second one, neither.
        let second = domains.admitted(&asked(7_412));
        let lines = |text: &str| text.lines().count();
        assert_eq!(lines(&rules(lab, TRANSIT)), lines(&with_first[1]));
        assert!(lines(&rules(lab, WEST)) > lines(&with_first[0]));

        // Rules stand while a manager is away, and the next one takes them up.
        let before = [WEST, TRANSIT, EAST].map(|asn| rules(lab, asn));
        for asn in [WEST, TRANSIT] {
            domains.kill(asn);
        }
        assert_eq!([WEST, TRANSIT, EAST].map(|asn| rules(lab, asn)), before);
        // Something that no store has is held meanwhile.
        let mut stranger = lab.backend(1).unwrap();
        let tunnel = TunnelId { origin: Asn(65_009), number: 9 };
        let (from, to) = (Place::Border(LinkId(1)), Place::Border(LinkId(2)));
        let (class, rate, burst) = (Class::Ef, 100_000, 500);
        let demand = Demand { from, to, class, rate, burst, least_packet: 500, largest_packet: 500 };
        let aggregate = AggregateId { tunnel, class };
        let answer = stranger.handle(BackendCommand::Reserve { ticket: 1, aggregate, demand }).unwrap();
        assert!(matches!(answer, Some(BackendAnswer::Reserved { .. })), "{answer:?}");
        assert_ne!(rules(lab, TRANSIT), before[1]);
        for asn in [WEST, TRANSIT] {
            domains.start(asn);
        }
        domains.connected();
        patiently_or(
            || format!("the rules of before: {} and not {}", rules(lab, TRANSIT), before[1]),
            || (rules(lab, TRANSIT) == before[1]).then_some(()),
        );
        assert_eq!([WEST, TRANSIT, EAST].map(|asn| rules(lab, asn)), before);

        // Two classes of one tunnel have one label, and are told apart.
        let mut af4 = asked(7_413);
        af4.flows[0].class = "af4".to_owned();
        af4.flows[0].limit = 1_000 * MILLISECOND;
        let third = domains.admitted(&af4);
        domains.aggregates(2);
        for asn in [TRANSIT, EAST] {
            assert_eq!(rules(lab, asn).matches("goto label-").count(), 4, "{}", rules(lab, asn));
        }

        for session in [first.session, second.session, third.session] {
            assert_eq!(
                domains.ask(WEST, &Ask::Stop { session: session.clone() }),
                Answer::Stopped { session }
            );
        }
        domains.aggregates(0);
        patiently_or(
            || format!("routers that hold nothing: {}", rules(lab, WEST)),
            || ([WEST, TRANSIT, EAST].map(|asn| rules(lab, asn)) == empty).then_some(()),
        );

        // What is set up is taken away when no manager is there any more.
        let clear = |domains: &Domains| {
            domains.command().args(["clear", "west.toml"]).output().unwrap().status.code()
        };
        assert_eq!(clear(&domains), Some(1), "a manager runs");
        domains.end(WEST);
        assert_eq!(clear(&domains), Some(0));
        assert!(run(lab, WEST, &["nft", "list", "table", "inet", "punctual-domain"]).is_err());
        // The next one sets all up.
        domains.start(WEST);
        assert_eq!(rules(lab, WEST), empty[0]);
    });
}

#[test]
fn a_device_that_fails_is_named_and_nothing_stays_of_what_it_refused() {
    in_lab(LINE, |lab| {
        let empty = rules(lab, TRANSIT);
        let domains = Domains::of("devices", texts(lab));
        let first = domains.admitted(&asked(7_411));
        let mut monitor = domains.client(WEST).unwrap();
        monitor.ask(&Ask::Monitor).unwrap();
        // An end that is never told fails the test, and does not hang it.
        monitor.writer().unwrap().set_read_timeout(Some(LIMIT)).unwrap();
        let before = [WEST, TRANSIT, EAST].map(|asn| rules(lab, asn));
        // The device of policers is gone: no flow can be let in.
        run(lab, WEST, &["ip", "link", "del", "dev", "ifb-edge0"]).unwrap();
        let refused = domains.establish(&asked(7_412)).unwrap_err();
        assert_eq!((refused.asn, refused.reason.as_str()), (WEST, "device"), "{refused:?}");
        assert!(refused.text.contains("router-65001") && refused.text.contains("ifb-edge0"), "{refused:?}");
        patiently_or(
            || format!("the rules of before: {} and not {}", rules(lab, WEST), before[0]),
            || ([WEST, TRANSIT, EAST].map(|asn| rules(lab, asn)) == before).then_some(()),
        );
        assert_eq!(domains.status(WEST).sessions.len(), 1);
        // A source at no edge is refused with its reason, not by silence.
        let stranger = SessionAsked { caller: "10.1.9.9".parse().unwrap(), ..asked(7_413) };
        let refused = domains.establish(&stranger).unwrap_err();
        assert!(refused.reason == "device" && refused.text.contains("10.1.9.9 is at no edge"), "{refused:?}");
        // A router that forgets its rules: the session ends, and its caller hears which one.
        run(lab, TRANSIT, &["nft", "delete", "table", "inet", "punctual-domain"]).unwrap();
        let ended = patiently("the end", || match monitor.answer::<Answer>().unwrap() {
            Some(Answer::Event(Event::Ended { session, why })) if session == first.session => Some(why),
            _ => None,
        });
        // By then the router may be set up again, and the flow asked for anew: then it is the own edge, without its device, that cannot let it in.
        assert!([WEST, TRANSIT].contains(&ended.asn) && ended.reason == "device", "{ended:?}");
        domains.aggregates(0);
        // It has been set up again, and its operator knows.
        domains.told(TRANSIT, "is not set up: ");
        patiently("a router that is set up again", || (rules(lab, TRANSIT) == empty).then_some(()));
    });
}

#[test]
fn real_routers_conform_as_the_declared_back_end_does() {
    // So many bytes at once that rates alone decide.
    in_lab(&LINE.replace("burst = 6000 ", "burst = 60000 "), |lab| {
        let addresses = ["10.1.0.2", "10.3.0.2"].map(|text| text.parse().unwrap());
        let link = |number| Place::Border(LinkId(number));
        for (at, from, to) in [
            (0, Place::Edges, link(1)),
            (0, link(1), Place::Edges),
            (0, Place::Edges, Place::Edges),
            (1, link(1), link(2)),
        ] {
            let namespaces = lab.layout().routers[at].iter().cloned().map(Some).collect();
            let routers = Routers { domain: lab.layout().domains[at].clone(), namespaces, keep_alive: 0 };
            let mut backend = LinuxRouters::start(&routers, |what| panic!("{what}")).unwrap();
            // In transit there is no edge that lets a flow in.
            let course = Course::new(from, to, Class::Ef, 333);
            let course = Course { addresses, rounding: 32, has_edges: at == 0, ..course };
            assert_eq!(conforms(&mut backend, course), Ok(()), "{course:?}");
        }
    });
}

/// What an independent counter of a host has seen leave it toward a port: packets, and bytes of IP.
fn sent(lab: &WanLab, host: &str, port: u16) -> (u64, u64) {
    let list = || Command::new("nft").args(["-j", "list", "table", "inet", "judge"]).output().unwrap().stdout;
    let listed: serde_json::Value = serde_json::from_slice(&lab.on(host, list).unwrap()).unwrap();
    let objects = listed["nftables"].as_array().unwrap();
    let of_port = |rule: &&serde_json::Value| rule["rule"]["comment"] == format!("port {port}");
    let counter = &objects.iter().find(of_port).unwrap()["rule"]["expr"];
    let counter = counter.as_array().unwrap().iter().find_map(|part| part.get("counter")).unwrap();
    (counter["packets"].as_u64().unwrap(), counter["bytes"].as_u64().unwrap())
}

/// Has a host count what leaves it toward a port.
fn count(lab: &WanLab, host: &str, port: u16) {
    let rules = format!(
        "table inet judge {{ chain leaves {{ type filter hook output priority 0; udp dport {port} counter comment \"port {port}\"; }}; }}"
    );
    let add = || Command::new("nft").arg(&rules).status().unwrap().success();
    assert!(lab.on(host, add).unwrap());
}

/// What both hosts have sent, as counters of their own say, is what the records of both domains say; also after managers were killed in between.
#[test]
fn records_of_both_domains_have_the_bytes_that_hosts_sent() {
    in_lab(LINE, |lab| {
        let mut domains = Domains::added("counted", texts(lab), |folder, asn, text| match asn {
            WEST => {
                let server = "host = \"rm.example.net\"\n[[peer]]\nhost = \"rm-east.example.net\"";
                let client = "host = \"aaa.example.net\"\naddress = \"127.0.0.1:3868\"";
                write_peers(folder, "", ["127.0.0.1"; 2], [server, client]);
                let west = std::fs::read_to_string(folder.join("client.toml")).unwrap();
                let east = west.replace("rm.example", "rm-east.example").replace("aaa-client", "aaa-east");
                std::fs::write(folder.join("client-east.toml"), east).unwrap();
                text.push_str(TABLE);
            }
            EAST => text.push_str(&TABLE.replace("client.toml", "client-east.toml")),
            _ => {}
        });
        let _server = AaaServer::start(&domains);
        let back = Flow {
            kind: "acknack".to_owned(),
            direction: "reverse".to_owned(),
            destination_port: 7_410,
            ..flow(200_000, 100 * MILLISECOND)
        };
        let mut wanted = asked(7_411);
        wanted.flows.push(back);
        let session = patiently("a session that is admitted", || domains.establish(&wanted).ok());
        let name = granted(&domains).pop().unwrap();
        patiently("a first record of the other domain, before it is asked for anything", || {
            let all = records(&domains);
            all.into_iter().find(|of| of.host == "rm-east.example.net" && of.kind == RecordKind::Start)
        });
        count(lab, "a", 7_411);
        count(lab, "c", 7_410);
        // One is under way at a time, so that no policer drops any; all that are sent arrive.
        const PACKETS: [usize; 2] = [500, 300];
        let socket =
            |host: &str, address: &str| lab.on(host, || std::net::UdpSocket::bind(address).unwrap()).unwrap();
        let (from, to) = (socket("a", "10.1.0.2:7410"), socket("c", "10.3.0.2:7411"));
        for end in [&from, &to] {
            end.set_read_timeout(Some(LIMIT)).unwrap();
        }
        let exchange = |count: usize| {
            let mut packet = [0; 2_048];
            for _ in 0..count {
                from.send_to(&[7; PACKETS[0]], "10.3.0.2:7411").unwrap();
                assert_eq!(to.recv(&mut packet).unwrap(), PACKETS[0]);
                to.send_to(&[7; PACKETS[1]], "10.1.0.2:7410").unwrap();
                assert_eq!(from.recv(&mut packet).unwrap(), PACKETS[1]);
            }
        };
        exchange(100);
        for asn in [WEST, EAST] {
            domains.kill(asn);
        }
        exchange(50);
        for asn in [WEST, EAST] {
            domains.start(asn);
        }
        domains.connected();
        exchange(50);
        let stopped = domains.ask(WEST, &Ask::Stop { session: session.session.clone() });
        assert_eq!(stopped, Answer::Stopped { session: session.session });
        let there = last_record(&domains, &name);
        let (packets, bytes) = sent(lab, "a", 7_411);
        assert!(packets == 200 && bytes >= 200 * PACKETS[0] as u64, "{packets} {bytes}");
        assert_eq!((there.output_packets, there.output_bytes), (packets, bytes), "{there:?}");
        assert_eq!((there.input_packets, there.input_bytes), (0, 0), "{there:?}");
        // The domain of the callees tells what they have sent back, under the name that it gives the session.
        let theirs = patiently("a last record of the other domain", || {
            let all = records(&domains);
            all.into_iter().find(|of| of.host == "rm-east.example.net" && of.kind == RecordKind::Stop)
        });
        let (packets, bytes) = sent(lab, "c", 7_410);
        assert!(packets == 200 && bytes >= 200 * PACKETS[1] as u64, "{packets} {bytes}");
        assert_eq!((theirs.input_packets, theirs.input_bytes), (packets, bytes), "{theirs:?}");
        assert_eq!((theirs.output_packets, theirs.output_bytes), (0, 0), "{theirs:?}");
        let number = name.strip_prefix("rm.example.net").unwrap();
        assert_eq!(theirs.session, format!("rm-east.example.net{number};AS65001"));
        assert_eq!((theirs.user.as_deref(), theirs.granted), (Some("AS65001"), false), "{theirs:?}");
        assert_eq!(theirs.cause.as_deref(), Some("logout"), "{theirs:?}");
        let of_theirs: Vec<_> =
            records(&domains).into_iter().filter(|of| of.session == theirs.session).collect();
        let mut numbers: Vec<u32> = of_theirs.iter().map(|of| of.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1], "{of_theirs:?}");
    });
}
