//! Managers whose domains are switches of Open vSwitch: labels of MPLS are told from domain to domain, and what switches hold is taken up.
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Instant;

use lab::wan::{How, WanLab, cut};
use testkit::patience::patiently_or;
use wan::{Class, LinkId, Place};
use wan_server::conformance::{Course, conforms};
use wan_server::protocol::{Answer, Ask, Event};
use wan_server::{DomainFile, Switches, Within};

use crate::cuts::{Monitor, interval};
use crate::domains::{Domains, EAST, PATIENT, TRANSIT, WEST};
use crate::routers::{asked, in_lab};

const LINE: &str = include_str!("../../examples/ovs/line.toml");
const FILES: [(u32, &str); 3] = [
    (WEST, include_str!("../../examples/ovs/west.toml")),
    (TRANSIT, include_str!("../../examples/ovs/transit.toml")),
    (EAST, include_str!("../../examples/ovs/east.toml")),
];

/// The files of the examples for this lab, whose links are not looked at.
fn texts(lab: &WanLab) -> [(u32, String); 3] {
    looking(lab, "0 s")
}

/// The same with links that are looked at so often.
fn looking(lab: &WanLab, keep_alive: &str) -> [(u32, String); 3] {
    let name = &lab.record().name;
    FILES.map(|(asn, text)| {
        let text = text.replace("\"line-router", &format!("\"{name}-router"));
        let text = text.replace("lab/line/", &format!("lab/{name}/"));
        (asn, text.replacen("[ovs]\n", &format!("{PATIENT}\n[ovs]\nkeep-alive = \"{keep_alive}\"\n"), 1))
    })
}

fn switches(text: &str) -> Switches {
    let Within::Ovs(switches) = DomainFile::read("file", text).unwrap().inside else { panic!() };
    *switches
}

/// What the switch of a domain has, without what it has counted.
fn content(lab: &WanLab, asn: u32) -> BTreeSet<String> {
    let socket = format!("unix:/run/punctual/lab/{}/s{}-0/br0.mgmt", lab.record().name, asn - WEST);
    let said = |verb: &str| {
        let output = Command::new("ovs-ofctl").args(["-O", "OpenFlow14", verb, &socket]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = said("dump-flows") + &said("dump-meters");
    let lines = text.lines().filter(|line| !line.starts_with("OFPST"));
    let counters = ["duration=", "n_packets=", "n_bytes="];
    let is_kept = |word: &&str| !counters.iter().any(|counter| word.starts_with(counter));
    lines.map(|line| line.split_whitespace().filter(is_kept).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn labels_are_told_from_domain_to_domain_and_taken_up() {
    in_lab(LINE, |lab| {
        for (at, (_, text)) in texts(lab).iter().enumerate() {
            let of_lab = ovs_edge::OvsEdge::new(lab::wan::switches(lab.layout(), at).unwrap()).unwrap();
            let of_file = ovs_edge::OvsEdge::new(switches(text).domain).unwrap();
            assert_eq!(of_file.mark(), of_lab.mark(), "the files describe the switches of the lab");
        }
        let mut domains = Domains::of("switches", texts(lab));
        let contents = || [WEST, TRANSIT, EAST].map(|asn| content(lab, asn));
        let empty = contents();
        let first = domains.admitted(&asked(7_411));
        assert_eq!(first.caveat, None, "a device is set up");
        let with_first = contents();
        // EF is 5 in EXP; the west puts on the label that the transit matches, which puts on the one that the east matches.
        let label = |lines: &BTreeSet<String>, before: &str, after: char| -> Option<String> {
            let line = lines.iter().find(|line| line.contains(before))?;
            Some(line.split_once(before)?.1.split(after).next()?.to_owned())
        };
        let put_on = |at: usize| {
            let of = with_first[at].iter().find(|line| line.contains("table=3") || line.contains("table=6"));
            let before = of.unwrap().split_once("->mpls_label").unwrap().0;
            before.rsplit_once("set_field:").unwrap().1.to_owned()
        };
        for (from, to) in [(0, 1), (1, 2)] {
            assert_eq!(label(&with_first[to], "mpls_label=", ','), Some(put_on(from)));
        }
        assert!(with_first[1].iter().any(|line| line.contains("mpls_tc=5")), "{:?}", with_first[1]);
        // The second session changes meters in transit, and adds nothing.
        let second = domains.admitted(&asked(7_412));
        let with_second = contents();
        assert_eq!(with_second[1].len(), with_first[1].len());
        assert_ne!(with_second[1], with_first[1]);
        assert!(with_second[0].len() > with_first[0].len());

        // Flows stand while a manager is away, and the next one takes them up.
        for asn in [WEST, TRANSIT] {
            domains.kill(asn);
        }
        assert_eq!(contents(), with_second);
        for asn in [WEST, TRANSIT] {
            domains.start(asn);
        }
        domains.connected();
        patiently_or(
            || format!("the flows of before: {:?} and not {with_second:?}", contents()),
            || (contents() == with_second).then_some(()),
        );
        for session in [first.session, second.session] {
            assert_eq!(
                domains.ask(WEST, &Ask::Stop { session: session.clone() }),
                Answer::Stopped { session }
            );
        }
        domains.aggregates(0);
        patiently_or(
            || format!("switches that hold nothing: {:?}", contents()),
            || (contents() == empty).then_some(()),
        );
        domains.end(WEST);
        let cleared = domains.command().args(["clear", "west.toml"]).output().unwrap();
        assert_eq!(cleared.status.code(), Some(0), "{cleared:?}");
        assert_eq!(content(lab, WEST), BTreeSet::new());
    });
}

#[test]
fn real_switches_conform_as_the_declared_back_end_does() {
    // So many bytes at once that rates alone decide.
    in_lab(&LINE.replace("burst = 20000 }\naf4", "burst = 200000 }\naf4"), |lab| {
        let addresses = ["10.1.0.2", "10.3.0.2"].map(|text| text.parse().unwrap());
        let link = |number| Place::Border(LinkId(number));
        for (at, from, to) in [(0, Place::Edges, link(1)), (0, link(1), Place::Edges), (1, link(1), link(2))]
        {
            let mut switches = switches(&texts(lab)[at].1);
            switches.domain = lab::wan::switches(lab.layout(), at).unwrap();
            let mut backend = switches.start(|what| panic!("{what}")).unwrap();
            // In transit there is no edge that lets a flow in.
            let course = Course::new(from, to, Class::Ef, 333);
            let course = Course { addresses, rounding: 20_000, has_edges: at == 0, ..course };
            assert_eq!(conforms(&mut backend, course), Ok(()), "{course:?}");
        }
    });
}

#[test]
fn a_session_ends_with_its_reason_when_a_link_of_switches_is_cut_down_silently_or_one_way() {
    in_lab(LINE, |lab| {
        let domains = Domains::of("switch-cuts", looking(lab, &interval()));
        let mut monitors = [WEST, TRANSIT].map(|asn| Monitor::of(&domains, asn));
        let name = &lab.record().name;
        for how in [How::Silent, How::OneWay, How::Down] {
            let admitted = domains.admitted(&asked(7_411));
            monitors.iter_mut().for_each(Monitor::forget);
            let began = Instant::now();
            cut(name, 1, how).unwrap();
            // Each end sees it by itself.
            let known: Vec<_> = monitors.iter_mut().map(|monitor| monitor.link(1, false) - began).collect();
            eprintln!("{how:?}, keep-alives each {}: known after {known:.1?}", interval());
            let (_, why) = monitors[0].first("end", |event| match event {
                Event::Ended { session, why } if *session == admitted.session => Some(why.clone()),
                _ => None,
            });
            assert_eq!((why.asn, why.reason.as_str(), why.link), (WEST, "link-down", Some(1)), "{why:?}");
            cut(name, 1, How::Joined).unwrap();
            for monitor in &mut monitors {
                monitor.link(1, true);
            }
            domains.aggregates(0);
        }
        // Link 2 was looked at all the time, and was never cut.
        let links = domains.status(TRANSIT).links;
        assert!(links.iter().all(|link| link.is_up), "{links:?}");
        domains.admitted(&asked(7_412));
    });
}
