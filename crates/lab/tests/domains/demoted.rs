//! AF beyond its contract where agreements say that it is marked down: it passes links that are free, and takes nothing of what is admitted where they
//! are full. Rules of nftables that share nothing with those of the domain count codepoints.
use std::process::Command;
use std::time::Duration;

use lab::probe::Probes;
use lab::wan::WanLab;
use wan::{Class, TSpec};

use crate::flows::{Sent, backends, play};
use crate::session::{Session, between, line, up};

/// The codepoints of AF4 (RFC 2597): what is admitted, and what is beyond its contract.
const WITHIN: u8 = 34;
const BEYOND: u8 = 38;
/// A machine that does nothing for so long has stood still.
const STANDS: Duration = Duration::from_millis(10);

fn demoting(domains: u32, rate: &str) -> String {
    format!("excess = \"demote\"\n{}", line(domains, rate))
}

fn nft(namespace: &str, words: &[&str]) -> String {
    let mut command = Command::new("nsenter");
    let output =
        command.arg(format!("--net=/run/netns/{namespace}")).arg("nft").args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Counts packets to a port by their codepoint where they come in at a host; the first one made for a host makes the table.
struct Counted {
    namespace: String,
    port: u16,
}

impl Counted {
    fn at(lab: &WanLab, host: &str, port: u16) -> Self {
        let (host, ..) = lab.layout().hosts.iter().find(|(of, ..)| of.name == host).unwrap();
        let namespace = host.namespace.clone();
        nft(&namespace, &["add", "table", "ip", "judge"]);
        nft(
            &namespace,
            &["add", "chain", "ip", "judge", "in", "{ type filter hook prerouting priority 0; }"],
        );
        for dscp in [WITHIN, BEYOND] {
            let rule = format!("ip dscp {dscp} udp dport {port} counter comment \"{port} {dscp}\"");
            nft(&namespace, &["add", "rule", "ip", "judge", "in", &rule]);
        }
        Self { namespace, port }
    }

    fn packets(&self, dscp: u8) -> u64 {
        counted(
            &nft(&self.namespace, &["list", "table", "ip", "judge"]),
            &format!("\"{} {dscp}\"", self.port),
        )
    }
}

/// What the rule with a comment has counted.
fn counted(listed: &str, comment: &str) -> u64 {
    let line = listed.lines().find(|line| line.contains(comment)).unwrap();
    line.split_once("packets ").unwrap().1.split(' ').next().unwrap().parse().unwrap()
}

fn session(lab: &WanLab, number: u64, separation: u64, port: u16) -> Session {
    let traffic = TSpec::of_packets(528, separation).unwrap();
    Session { number, class: Class::Af4, traffic, addresses: between(lab, "a", "c", true), port }
}

#[test]
fn twice_a_contract_passes_a_free_link_and_half_of_it_is_marked_down() {
    let Some((_turn, lab)) = up(&demoting(3, "50 Mb/s")) else { return };
    let mut backends = backends(&lab);
    let af = session(&lab, 1, 10_000_000, 7_500);
    af.open(&mut backends);
    let counted = Counted::at(&lab, "c", af.port);
    let sent = Sent { count: 400, size: 528, separation: 5_000_000, mark: 0 };
    let got = &play(&lab, &[("a", af.addresses.clone(), af.port, sent)])[0];
    let (within, beyond) = (counted.packets(WITHIN), counted.packets(BEYOND));
    println!("{} of {} came; {within} admitted, {beyond} marked down", got.times.len(), sent.count);
    assert_eq!(got.times.len(), 400, "something is lost on a free link");
    assert_eq!(within + beyond, 400);
    // What the contract has room for, what waits for a policer, and the 3 % that a measurement may be off.
    let room = got.sending / 10_000_000;
    assert!(
        within <= room + room * 3 / 100 + 4 && within * 4 >= room.min(400),
        "{within} with room for {room}"
    );
    // A contract that has become larger is kept to at once, and nothing is marked down any more.
    let larger =
        Session { traffic: TSpec::of_packets(528, 2_000_000).unwrap(), ..session(&lab, 1, 1, af.port) };
    larger.open(&mut backends);
    let got = &play(&lab, &[("a", af.addresses.clone(), af.port, Sent { count: 100, ..sent })])[0];
    assert_eq!(
        (got.times.len(), counted.packets(WITHIN), counted.packets(BEYOND)),
        (100, within + 100, beyond)
    );
    larger.close(&mut backends);
}

#[test]
fn what_is_beyond_a_contract_takes_nothing_of_what_is_admitted_on_full_links() {
    let Some((_turn, lab)) = up(&demoting(2, "1 Mb/s").replace("burst = 20000", "burst = 40000")) else {
        return;
    };
    let mut backends = backends(&lab);
    let [kept, broken] =
        [(1, 7_500), (2, 7_501)].map(|(number, port)| session(&lab, number, 50_000_000, port));
    let bound = kept.open(&mut backends);
    broken.open(&mut backends);
    let counts = [kept.port, broken.port].map(|port| Counted::at(&lab, "c", port));
    // What leaves the first router in its tunnel, admitted.
    let first = lab.layout().routers[0].last().unwrap();
    nft(first, &["add", "table", "ip6", "judge"]);
    nft(first, &["add", "chain", "ip6", "judge", "out", "{ type filter hook postrouting priority 100; }"]);
    let rule = format!("oifname border1 ip6 dscp {WITHIN} counter comment \"admitted\"");
    nft(first, &["add", "rule", "ip6", "judge", "out", &rule]);
    let probes = Probes::start(STANDS).unwrap();
    let sent = |count, size, separation| Sent { count, size, separation, mark: 0 };
    let got = play(
        &lab,
        &[
            ("a", kept.addresses.clone(), kept.port, sent(200, 528, 50_000_000)),
            ("a", broken.addresses.clone(), broken.port, sent(2_000, 528, 5_000_000)),
            ("flood", between(&lab, "flood", "c", true), 7_600, sent(2_500, 1_028, 4_000_000)),
        ],
    );
    let stalls = probes.stop();
    let [kept_got, broken_got, flood_got] = &got[..] else { panic!("{got:?}") };
    let admitted = counted(&nft(first, &["list", "table", "ip6", "judge"]), "\"admitted\"");
    let [within, beyond] = [WITHIN, BEYOND].map(|dscp| counts.each_ref().map(|of| of.packets(dscp)));
    println!(
        "kept: {} of 200 in {:?} us at most, {} promised; broken: {} of 2000; {admitted} admitted, {within:?} came, {beyond:?} marked down; {} of the flood",
        kept_got.times.len(),
        kept_got.times.last().map(|time| time / 1_000),
        bound / 1_000,
        broken_got.times.len(),
        flood_got.times.len(),
    );
    assert_eq!(kept_got.times.len(), 200, "a flow that keeps to its contract lost something");
    assert_eq!(within.iter().sum::<u64>(), admitted, "something that was admitted is lost");
    let stood = || stalls.iter().map(|stall| stall.to.saturating_sub(stall.from));
    let explained = stood().sum::<u64>() / 50_000_000;
    assert!(beyond[0] <= explained, "{} of a kept contract marked down, {explained} by stalls", beyond[0]);
    let latest = bound + stood().max().unwrap_or(0) + u64::try_from(STANDS.as_nanos()).unwrap();
    assert!(
        beyond[0] > 0 || kept_got.times.iter().all(|time| *time <= latest),
        "{:?} ns, and {latest} at most",
        kept_got.times.last()
    );
    // The rest goes beside the flood, and not all of it.
    let room = broken_got.sending / 50_000_000;
    assert!(
        within[1] <= room + room * 3 / 100 + 4 && within[1] * 4 >= room,
        "{} with room for {room}",
        within[1]
    );
    assert!(beyond[1] > 0 && broken_got.times.len() < 2_000 && flood_got.times.len() > 50, "{beyond:?}");
    kept.close(&mut backends);
    broken.close(&mut backends);
}
