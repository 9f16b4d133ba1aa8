//! Many sessions at real Linux routers: set up 64 at a time, taken up by the next manager, ended, and nothing of them in transit.
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::time::Instant;

use lab::wan::WanLab;
use testkit::patience::patiently_or;
use wan_server::protocol::{Answer, Ask, Flow, SessionAsked};

use crate::domains::{Domains, EAST, TRANSIT, WEST};
use crate::routers::{LINE, asked, in_lab, rules, run, texts};

const LIMITS: &str =
    "[limits]\nrefresh = \"2 s\"\nlifetime = \"200 s\"\nguard = \"20 s\"\npatience = \"60 s\"\n";

/// Links of 1 Gbit/s, and room for the bursts of a thousand flows.
fn wide(text: &str) -> String {
    let text =
        text.replace("burst = 6000 ", "burst = 600000 ").replace("burst = \"6 kB\"", "burst = \"600 kB\"");
    text.replace("\"5 Mb/s\"", "\"1 Gb/s\"").replace("\"5 Mbit/s\"", "\"1 Gbit/s\"")
}

/// A session of a small flow to this port.
fn small(port: u16) -> SessionAsked {
    let asked = asked(port);
    let flow =
        Flow { rate: 1_000, least_rate: 1_000, bucket: 100, largest_packet: 100, ..asked.flows[0].clone() };
    SessionAsked { flows: vec![flow], ..asked }
}

/// What a router has been told: lines of rules, of routes, of rules for routes, and of queues, classes and filters.
fn told(lab: &WanLab, asn: u32) -> [usize; 7] {
    let count = |text: String| text.lines().count();
    [
        count(rules(lab, asn)),
        count(run(lab, asn, &["ip", "-4", "route", "show", "table", "all"]).unwrap()),
        count(run(lab, asn, &["ip", "-6", "route", "show", "table", "all"]).unwrap()),
        count(run(lab, asn, &["ip", "-6", "rule"]).unwrap()),
        count(run(lab, asn, &["tc", "qdisc", "show"]).unwrap()),
        count(run(lab, asn, &["tc", "class", "show", "dev", "ifb-border1"]).unwrap()),
        count(run(lab, asn, &["tc", "filter", "show", "dev", "ifb-border1"]).unwrap()),
    ]
}

#[test]
fn a_thousand_sessions_at_routers_add_nothing_in_transit_and_go_again() {
    in_lab(&wide(LINE), |lab| {
        let texts =
            texts(lab).map(|(asn, text)| (asn, wide(&text).replacen(crate::domains::PATIENT, LIMITS, 1)));
        let empty = [WEST, TRANSIT, EAST].map(|asn| rules(lab, asn));
        let mut domains = Domains::of("many", texts);
        let first = domains.admitted(&small(10_000));
        let before = told(lab, TRANSIT);
        let labels = |domains: &Domains| {
            let of = domains.status(TRANSIT).aggregates.into_iter();
            of.map(|of| (of.tunnel, of.label_in, of.label_out)).collect::<Vec<_>>()
        };
        let labels_before = labels(&domains);
        let count = u16::try_from(tiers::current().number("wan.sessions_at_routers")).unwrap();
        let (next, begun) = (AtomicU16::new(1), Instant::now());
        // Each port is asked for once more where a busy machine was too slow for an answer.
        let names: Vec<String> = std::thread::scope(|scope| {
            let ask = || {
                let numbers =
                    std::iter::from_fn(|| Some(next.fetch_add(1, Relaxed)).filter(|at| *at < count));
                numbers.map(|at| domains.admitted(&small(10_000 + at)).session).collect::<Vec<_>>()
            };
            let threads: Vec<_> = (0..64).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let took = begun.elapsed();
        println!(
            "{} sessions at Linux routers, 64 at a time: {:.0} a second",
            names.len(),
            names.len() as f64 / took.as_secs_f64()
        );
        assert_eq!(names.len(), usize::from(count) - 1);
        assert_eq!(domains.status(WEST).sessions.len(), usize::from(count));
        assert_eq!((told(lab, TRANSIT), labels(&domains)), (before, labels_before));
        let west = rules(lab, WEST);
        assert!((10_000..10_000 + count).all(|port| west.contains(&format!(". {port} : goto"))), "{west}");
        let classes = || run(lab, WEST, &["tc", "class", "show", "dev", "ifb-edge0"]).unwrap();
        assert_eq!(classes().lines().count(), usize::from(count), "{}", classes());

        // The next manager takes all of them up, and changes nothing.
        domains.kill(WEST);
        domains.start(WEST);
        domains.connected();
        assert_eq!(domains.status(WEST).sessions.len(), usize::from(count));
        assert_eq!(rules(lab, WEST), west);

        let all = [names, vec![first.session]].concat();
        let next = AtomicU16::new(0);
        std::thread::scope(|scope| {
            for _ in 0..64 {
                scope.spawn(|| {
                    while let Some(session) = all.get(usize::from(next.fetch_add(1, Relaxed))) {
                        let stopped = domains.ask(WEST, &Ask::Stop { session: session.clone() });
                        assert_eq!(stopped, Answer::Stopped { session: session.clone() });
                    }
                });
            }
        });
        domains.aggregates(0);
        patiently_or(
            || format!("routers that hold nothing: {}", rules(lab, WEST)),
            || ([WEST, TRANSIT, EAST].map(|asn| rules(lab, asn)) == empty).then_some(()),
        );
        assert_eq!(classes(), "");
    });
}
