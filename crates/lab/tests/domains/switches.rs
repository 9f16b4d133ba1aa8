//! Domains of switches of Open vSwitch: tunnels of MPLS, meters and queues under a flood in both directions.
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use lab::probe::Probes;
use lab::wan::WanLab;
use ovs_edge::execute::Running;
use testkit::patience::patiently;
use wan::{Class, Holding, TSpec};

use crate::flows::{Played, Sent, median, play, play_to};
use crate::session::{Session, between, holdings, line, up};

/// A line of domains of switches.
fn switches(domains: u32, rate: &str) -> String {
    format!("devices = \"open-vswitch\"\n{}", line(domains, rate)).replace("burst = 6000", "burst = 60000")
}

fn backends(lab: &WanLab) -> Vec<Running> {
    (0..lab.layout().domains.len()).map(|domain| lab.switches(domain).unwrap()).collect()
}

/// What a switch says to `ovs-ofctl`.
fn said(lab: &WanLab, domain: usize, switch: usize, verb: &str) -> String {
    let socket = format!("unix:/run/punctual/lab/{}/s{domain}-{switch}/br0.mgmt", lab.record().name);
    let output = Command::new("ovs-ofctl").args(["-O", "OpenFlow14", verb, &socket]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Flows and meters of a domain, without what they have counted.
fn content(lab: &WanLab, domain: usize) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for switch in 0..lab.layout().routers[domain].len() {
        for verb in ["dump-flows", "dump-meters"] {
            let text = said(lab, domain, switch, verb);
            let lines = text.lines().filter(|line| !line.starts_with("OFPST"));
            all.extend(lines.map(|line| {
                let counted = |word: &&str| {
                    !["duration=", "n_packets=", "n_bytes="].iter().any(|counter| word.starts_with(counter))
                };
                let words: Vec<&str> = line.split_whitespace().filter(counted).collect();
                format!("{switch} {}", words.join(" "))
            }));
        }
    }
    all
}

fn session(lab: &WanLab, number: u64, class: Class, (size, separation): (u32, u64), port: u16) -> Session {
    // A meter drops what comes together because the machine stood still; there is room for so many packets.
    let traffic = TSpec::of_packets(size, separation).unwrap();
    let traffic = TSpec { bucket: traffic.bucket * 8, ..traffic };
    Session { number, class, traffic, addresses: between(lab, "a", "c", true), port }
}

const SENT: Sent = Sent { count: 120, size: 1_028, separation: 40_000_000, mark: 46 };

/// A machine that does nothing for so long has stood still.
const STANDS: Duration = Duration::from_millis(10);

/// EF and a flood that marks itself EF, in both directions, through labels over all links.
fn flooded(domains: u32, rate: &str, flood: Sent) {
    let Some((_turn, lab)) = up(&switches(domains, rate)) else { return };
    let mut backends = backends(&lab);
    let empty: Vec<_> = (0..backends.len()).map(|at| content(&lab, at)).collect();
    let ef = session(&lab, 1, Class::Ef, (1_028, 40_000_000), 7_400);
    let bound = ef.open(&mut backends);
    let probes = Probes::start(STANDS).unwrap();
    let got = play_to(
        &lab,
        &[
            ("c", ("a", ef.addresses.clone(), ef.port, SENT)),
            ("c", ("flood", between(&lab, "flood", "c", true), 7_600, flood)),
            ("flood", ("c", between(&lab, "c", "flood", true), 7_601, flood)),
        ],
    );
    let stalls = probes.stop();
    let [ef_got, forth, back] = &got[..] else { panic!("{got:?}") };
    println!(
        "{domains} domains at {rate}: EF {} of {} in {} us in the median, {} us at most, {} us promised; flood {} and {} of {}, {} us",
        ef_got.times.len(),
        SENT.count,
        median(ef_got) / 1_000,
        ef_got.times.last().unwrap() / 1_000,
        bound / 1_000,
        forth.times.len(),
        back.times.len(),
        flood.count,
        median(forth) / 1_000,
    );
    // While the machine stands still, nothing arrives and meters get what was due together: so late, and so many.
    let lost = usize::try_from(SENT.count).unwrap() - ef_got.times.len();
    let stood = || stalls.iter().map(|stall| stall.to.saturating_sub(stall.from));
    let explained = stood().sum::<u64>() / SENT.separation;
    assert!(
        u64::try_from(lost).unwrap() <= explained,
        "EF lost {lost}, and the machine stood still for {explained}"
    );
    let latest = bound + stood().max().unwrap_or(0) + u64::try_from(STANDS.as_nanos()).unwrap();
    assert!(
        ef_got.times.iter().all(|time| *time <= latest),
        "EF took {:?}, and {latest} ns at most",
        ef_got.times.last()
    );
    // What is in no session has no label, and waits for what is.
    assert!(forth.times.len() > 50 && median(forth) > median(ef_got), "the flood is as fast as EF");
    for (at, empty) in empty.iter().enumerate() {
        let label = format!("mpls_label={}", 100 + at);
        let is_there =
            content(&lab, at).iter().any(|line| line.contains(&label) && line.contains("mpls_tc=5"));
        assert_eq!(is_there, at > 0, "domain {at} matches {label} and EXP 5");
        assert_ne!(content(&lab, at), *empty);
    }
    ef.close(&mut backends);
    for (at, empty) in empty.iter().enumerate() {
        assert_eq!(content(&lab, at), *empty, "domain {at} has something left");
    }
}

#[test]
fn ef_loses_nothing_through_labels_while_links_are_flooded_both_ways() {
    flooded(3, "2 Mb/s", Sent { count: 3_000, size: 500, separation: 1_500_000, mark: 46 });
}

/// It prints a figure of docs/measurements/wan.md.
#[test]
fn five_domains_of_switches() {
    flooded(5, "8 Mb/s", Sent { count: 12_000, size: 1_028, separation: 250_000, mark: 46 });
}

#[test]
fn switches_are_taken_up_meter_what_they_let_in_and_forget_nothing_unseen() {
    let Some((_turn, lab)) = up(&switches(2, "50 Mb/s")) else { return };
    let mut backends = backends(&lab);
    let ef = session(&lab, 1, Class::Ef, (1_028, 10_000_000), 7_400);
    ef.open(&mut backends);
    // Five times what the contract has room for, and the 3 % that a measurement may be off.
    let sent = Sent { count: 500, separation: 2_000_000, ..SENT };
    let flow: Played<'_> = ("a", ef.addresses.clone(), ef.port, sent);
    let got = &play(&lab, &[flow])[0];
    let (passed, room) = (u64::try_from(got.times.len()).unwrap(), got.sending / 10_000_000);
    println!("{passed} of {} passed, with room for {room}", sent.count);
    assert!(passed <= room + room * 3 / 100 + 4 + 8 && passed * 2 >= room, "{passed} with room for {room}");
    // What the meter says that it let in is what came.
    let delivered = backends[0].delivered().unwrap();
    let counted: Vec<_> = delivered.values().map(|of| (of.packets, of.bytes)).collect();
    assert_eq!(counted, [(passed, passed * 1_028)]);

    // A second flow of another class has the label of its own tunnel, and what starts again knows both.
    let af = session(&lab, 2, Class::Af4, (528, 50_000_000), 7_500);
    af.open(&mut backends);
    let before: Vec<_> = backends.iter_mut().map(holdings).collect();
    let flows: Vec<_> = (0..2).map(|at| content(&lab, at)).collect();
    drop(backends);
    let mut backends = self::backends(&lab);
    assert_eq!(backends.iter_mut().map(holdings).collect::<Vec<_>>(), before);
    assert_eq!((0..2).map(|at| content(&lab, at)).collect::<Vec<_>>(), flows);
    assert_eq!(backends[1].check().unwrap(), []);

    // A flow that someone takes away is put back, and what it carried is told.
    let socket = format!("unix:/run/punctual/lab/{}/s1-0/br0.mgmt", lab.record().name);
    let strict = "table=2,priority=10,mpls,mpls_label=201,in_port=border1,mpls_tc=4,mpls_bos=1";
    let mut command = Command::new("ovs-ofctl");
    command.args(["-O", "OpenFlow14", "--strict", "del-flows", &socket, strict]);
    assert!(command.status().unwrap().success());
    let lost = backends[1].check().unwrap();
    assert!(matches!(&lost[..], [(Holding::Aggregate(id), _)] if id.class == Class::Af4), "{lost:?}");
    assert_eq!(content(&lab, 1), flows[1]);
    // A switch that forgets all is set up anew, and all that the domain held is told.
    let mut command = Command::new("ovs-ofctl");
    assert!(command.args(["-O", "OpenFlow14", "del-flows", &socket]).status().unwrap().success());
    assert_eq!(backends[1].check().unwrap().len(), 2);
    assert_eq!(holdings(&mut backends[1]), []);
    assert_eq!(backends[1].check().unwrap(), []);
    // A flow that belongs to no holding carries all of them: that it was gone is told of each.
    let forget = |switch: usize, which: &str| {
        let socket = format!("unix:/run/punctual/lab/{}/s0-{switch}/br0.mgmt", lab.record().name);
        let mut command = Command::new("ovs-ofctl");
        command.args(["-O", "OpenFlow14", "del-flows", &socket, which]);
        assert!(command.status().unwrap().success());
    };
    forget(0, "table=9");
    assert_eq!(backends[0].check().unwrap().len(), before[0].len());
    assert_eq!(content(&lab, 0), flows[0]);
    // Queues that someone takes away are put back, and told of all that they served.
    let mut command = Command::new("tc");
    command.args(["-n", &lab.layout().routers[0][0], "qdisc", "del", "dev", "edge0", "root"]);
    assert!(command.status().unwrap().success());
    assert_eq!(backends[0].check().unwrap().len(), before[0].len());
    assert_eq!(backends[0].check().unwrap(), []);
    // So it is with a domain of two switches, one of which has its queues still when the other one forgets all.
    forget(1, "");
    assert_eq!(backends[0].check().unwrap().len(), before[0].len());
    assert_eq!(holdings(&mut backends[0]), []);
    assert_eq!(backends[0].check().unwrap(), []);
    ef.close(&mut backends[..1]);
    af.close(&mut backends[..1]);

    // Nothing is left, in switches and after the lab.
    for at in 0..2 {
        let plan = lab::wan::switches(lab.layout(), at).unwrap();
        lab.switch_executor(at).clear(&plan).unwrap();
        assert_eq!(content(&lab, at), BTreeSet::new(), "domain {at} has something left");
    }
    let name = lab.record().name.clone();
    lab.down().unwrap();
    patiently("the end of all namespaces", || {
        let mut left = std::fs::read_dir("/run/netns").ok()?.flatten();
        let is_of = |name: &str, entry: &std::fs::DirEntry| {
            entry.file_name().to_string_lossy().starts_with(&format!("{name}-"))
        };
        (!left.any(|entry| is_of(&name, &entry))).then_some(())
    });
}
