//! The gate holds who babbles, never touches who keeps the contract, and a forged class gains nothing.
use std::net::Ipv4Addr;
use std::process::Command;
use std::thread;
use std::time::Duration;

use gate::contract::wire_octets;
use gate::protocol::{Answer, ContractState, PortState, Refusal, Request};
use gate::{Contract, Gate, Key, Kind, class};
use gate_agent::{Program, compile, mount_pins};
use lab::Lab;

use crate::queues::sent;
use crate::three::{THREE, up};
use crate::traffic::{Counter, Flood, address, greet, send, socket};
use lab_turn::{Folder, name, turn};

/// A datagram of 64 octets on the wire.
const SMALL: u32 = 64 + 66;

fn ask(lab: &Lab, request: &Request) -> Answer {
    lab.gate("s1").unwrap().ask(request).unwrap()
}

fn listed(lab: &Lab) -> (Vec<PortState>, Vec<ContractState>) {
    match ask(lab, &Request::List) {
        Answer::List { ports, contracts } => (ports, contracts),
        other => panic!("{other:?}"),
    }
}

fn key(lab: &Lab, from: &str, source_port: u16, to: &str, destination_port: u16) -> Key {
    Key {
        source: lab.host_address(from).unwrap().into(),
        source_port,
        destination: lab.host_address(to).unwrap().into(),
        destination_port,
    }
}

/// One datagram of 64 octets for each 2 ms.
fn each_two() -> Contract {
    Contract {
        kind: Kind::Messages,
        octets: SMALL,
        separation: 2_000_000,
        tolerance: 0,
        window: 0,
        dscp: class::of_level(2).unwrap(),
    }
}

#[test]
fn a_babbler_is_held_and_who_keeps_the_contract_is_not_touched() {
    let Some(_turn) = turn() else { return };
    let lab = up(&THREE.replace("MODEL", "gated"));
    greet(&lab, "a", "c");
    greet(&lab, "b", "c");
    // The babbler has the larger part of the port: 10 datagrams of 1200 octets each 10 ms of 20 Mb/s.
    let babble = Contract { octets: 10 * 1_266, separation: 10_000_000, window: 8_000_000, ..each_two() };
    for (port, key, contract) in [
        // What queues add before the gate must be in the contract: here the host's own, where nothing else is sent.
        (1, key(&lab, "a", 6_000, "c", 5_000), Contract { tolerance: 1_000_000, ..each_two() }),
        (2, key(&lab, "b", 6_001, "c", 5_001), babble),
    ] {
        assert_eq!(ask(&lab, &Request::Set { port, key, contract }), Answer::Set { port, key, contract });
    }
    let (good, bad) = (Counter::on(socket(&lab, "c", 5_000, 0)), Counter::on(socket(&lab, "c", 5_001, 0)));
    let flood = Flood::start(socket(&lab, "b", 6_001, 0), address(&lab, "c", 5_001), 80_000_000);
    // The sleep is at least as long as asked for, and counts from the return of the call before it.
    send(&socket(&lab, "a", 6_000, 0), address(&lab, "c", 5_000), 64, 500, Duration::from_micros(2_100));
    let flooded = flood.stop();
    assert_eq!(good.numbers().len(), 500, "datagrams of who keeps the contract");
    bad.numbers();
    let (_, contracts) = listed(&lab);
    let [good, bad] = [&contracts[0], &contracts[1]].map(|state| state.counters);
    assert_eq!((good.messages, good.frames, good.dropped()), (500, 500, 0));
    assert!(bad.dropped() > 0 && bad.frames + bad.dropped() <= flooded, "{bad:?} of {flooded}");
    // No more messages than separations have begun while it babbled, and no message is more than the contract.
    assert!(bad.octets <= bad.messages * u64::from(babble.octets), "{bad:?}");
    let classes = sent(&lab, 3);
    assert_eq!(classes[3].2, 0, "no assured frame was dropped: {classes:?}");
}

#[test]
fn a_forged_class_gains_nothing() {
    let Some(_turn) = turn() else { return };
    let lab = up(&THREE.replace("MODEL", "gated"));
    greet(&lab, "a", "c");
    let highest = class::of_level(2).unwrap();
    let key = key(&lab, "a", 6_000, "c", 5_000);
    ask(&lab, &Request::Set { port: 1, key, contract: each_two() });
    let in_highest = |socket: &std::net::UdpSocket, port: u16| {
        let before = sent(&lab, 3)[3].1;
        let counter = Counter::on(self::socket(&lab, "c", port, 0));
        send(socket, address(&lab, "c", port), 64, 50, Duration::from_millis(3));
        let came = counter.numbers().len();
        (came, sent(&lab, 3)[3].1 - before)
    };
    // Marked by the sender, but not its flow: another port, a raised class, control.
    for (from, to, dscp) in [(6_001, 5_000, highest), (6_000, 5_001, highest), (0, 5_000, class::CONTROL)] {
        let forged = socket(&lab, "a", from, dscp);
        assert_eq!(in_highest(&forged, to), (50, 0), "from {from} to {to} as {dscp}");
    }
    // Its flow, not marked: the gate does that.
    let flow = socket(&lab, "a", 6_000, 0);
    let (came, marked) = in_highest(&flow, 5_000);
    assert_eq!(came as u64, marked);
    assert!(marked > 0);
    // The same flow at another port of the switch is another flow: its address does not help somebody else.
    let before = listed(&lab).1[0].counters;
    let spoofed = socket(&lab, "b", 6_000, highest);
    assert_eq!(in_highest(&spoofed, 5_000).1, 0);
    assert_eq!(listed(&lab).1[0].counters, before);
    drop(flow);
    // Any source port and any address, if that is what the contract says.
    let wide =
        Key { source_port: 0, destination: Ipv4Addr::UNSPECIFIED.into(), destination_port: 5_005, ..key };
    let contract = Contract { octets: 1_000, ..each_two() };
    ask(&lab, &Request::Set { port: 1, key: wide, contract });
    let (came, marked) = in_highest(&socket(&lab, "a", 0, 0), 5_005);
    assert_eq!((came, marked), (50, 50));
    // Without its contract it is as everybody.
    let removed = ask(&lab, &Request::Remove { port: 1, key: wide });
    assert!(matches!(removed, Answer::Removed { counters: Some(counters), .. } if counters.frames == 50));
    assert_eq!(in_highest(&socket(&lab, "a", 0, 0), 5_005), (50, 0));
}

#[test]
fn what_nobody_admitted_is_limited_at_its_port() {
    let Some(_turn) = turn() else { return };
    let lab = up(&THREE.replace("MODEL", "gated"));
    greet(&lab, "a", "b");
    assert!(listed(&lab).0.iter().all(|port| port.limit == gate::protocol::USUAL_LIMIT));
    assert_eq!(ask(&lab, &Request::Limit { port: 1, frames: 100 }), Answer::Limit { port: 1, frames: 100 });
    let before = listed(&lab).0[0].others;
    let counter = Counter::on(socket(&lab, "b", 5_000, 0));
    // Far more than the limit and what may come at once, in no more than a moment.
    let begun = std::time::Instant::now();
    send(&socket(&lab, "a", 0, 0), address(&lab, "b", 5_000), 64, 2_000, Duration::ZERO);
    let came = counter.numbers().len() as u64;
    let after = listed(&lab).0[0].others;
    let most = 64 + 1 + 100 * (begun.elapsed().as_secs() + 1);
    assert!((50..=most).contains(&came), "{came} came, at most {most}");
    let counted = after.best_effort - before.best_effort + after.limited - before.limited;
    // Somebody may ask who has an address meanwhile.
    assert!((2_000..2_010).contains(&counted), "{counted} counted");
    assert!(matches!(
        ask(&lab, &Request::Limit { port: 9, frames: 100 }),
        Answer::Refused { reason: Refusal::Port, .. }
    ));
}

/// All UDP between two hosts may have a contract: then fragments are counted by it and marked as the rest, and what exceeds it arrives unmarked.
#[test]
fn fragments_between_two_hosts_have_the_contract_of_all_their_udp() {
    let Some(_turn) = turn() else { return };
    let lab = up(&THREE.replace("MODEL", "gated"));
    greet(&lab, "a", "c");
    let single = key(&lab, "a", 6_000, "c", 5_000);
    let all = Key::between(single.source, single.destination);
    let dscp = class::of_level(2).unwrap();
    // Ten datagrams of 4,000 bytes: two full frames and a last one each.
    let datagram = 2 * 1_538 + wire_octets(14 + 20 + 4_008 - 2 * 1_480);
    let (separation, octets) = (3_600_000_000_000, 10 * datagram);
    let contract = Contract { kind: Kind::Bucket, octets, separation, tolerance: 0, window: 0, dscp };
    assert_eq!(
        ask(&lab, &Request::Set { port: 1, key: all, contract }),
        Answer::Set { port: 1, key: all, contract }
    );
    // A flow with a contract of its own does not count, nor do its fragments of datagrams count to that.
    let contract = Contract { octets: 20_000, ..each_two() };
    ask(&lab, &Request::Set { port: 1, key: single, contract });
    let marked = || sent(&lab, 3)[3].1;
    let (before, others) = (marked(), listed(&lab).0[0].others);
    let counter = Counter::on(socket(&lab, "c", 5_000, 0));
    let from = socket(&lab, "a", 6_000, 0);
    send(&from, address(&lab, "c", 5_000), 4_000, 10, Duration::from_millis(3));
    assert_eq!((counter.numbers().len(), marked() - before), (10, 30), "all fragments, first and later ones");
    let of = |wanted: Key| listed(&lab).1.into_iter().find(|state| state.key == wanted).unwrap().counters;
    assert_eq!((of(all).frames, of(all).excess, of(single).frames), (30, 0, 0));
    assert_eq!(of(all).octets, u64::from(10 * datagram), "the bucket holds exactly them");
    // The bucket is empty: what comes now arrives, and is not marked.
    let counter = Counter::on(socket(&lab, "c", 5_000, 0));
    send(&from, address(&lab, "c", 5_000), 4_000, 10, Duration::from_millis(3));
    assert_eq!((counter.numbers().len(), marked() - before), (10, 30));
    assert_eq!((of(all).frames, of(all).excess), (30, 30));
    assert_eq!(listed(&lab).0[0].others.fragments - others.fragments, 30);
    // From elsewhere, or to elsewhere, it is no part of it.
    for (host, to) in [("b", "c"), ("a", "b")] {
        greet(&lab, host, to);
        send(&socket(&lab, host, 6_001, 0), address(&lab, to, 5_000), 4_000, 3, Duration::from_millis(3));
    }
    assert_eq!((of(all).frames + of(all).excess, marked() - before), (60, 30));
}

/// Also those of a flow that was admitted, whose contract is about whole datagrams.
#[test]
fn fragments_of_datagrams_arrive_as_best_effort() {
    let Some(_turn) = turn() else { return };
    let lab = up(&THREE.replace("MODEL", "gated"));
    greet(&lab, "a", "c");
    let highest = class::of_level(2).unwrap();
    let key = key(&lab, "a", 6_000, "c", 5_000);
    let contract = Contract { octets: 20_000, ..each_two() };
    assert_eq!(ask(&lab, &Request::Set { port: 1, key, contract }), Answer::Set { port: 1, key, contract });
    let (before, assured) = (listed(&lab).0[0].others, sent(&lab, 3)[3].1);
    let counter = Counter::on(socket(&lab, "c", 5_000, 0));
    // Three frames each, marked by the sender, not more at once than may come at once.
    send(&socket(&lab, "a", 6_000, highest), address(&lab, "c", 5_000), 4_000, 10, Duration::from_millis(3));
    assert_eq!(counter.numbers().len(), 10);
    let (ports, contracts) = listed(&lab);
    assert_eq!(ports[0].others.fragments - before.fragments, 30);
    assert!(ports[0].others.best_effort - before.best_effort >= 30);
    assert_eq!((contracts[0].counters.frames, contracts[0].counters.dropped()), (0, 0));
    assert_eq!(sent(&lab, 3)[3].1, assured, "none is in the class of the flow");
}

#[test]
fn what_the_first_switch_marks_is_served_by_the_next_one() {
    let Some(_turn) = turn() else { return };
    let text = THREE.replace("MODEL", "gated").replace("\"s1:3\"]", "\"s2:3\"]")
        + "[[switch]]\nname = \"s2\"\nmodel = \"plain\"\n[[link]]\nends = [\"s1:8\", \"s2:8\"]\n";
    let lab = up(&text);
    greet(&lab, "a", "c");
    let key = key(&lab, "a", 6_000, "c", 5_000);
    let contract = Contract { octets: 10_000, dscp: class::of_level(1).unwrap(), ..each_two() };
    assert_eq!(ask(&lab, &Request::Set { port: 1, key, contract }), Answer::Set { port: 1, key, contract });
    // Only where hosts come in; what comes from the first switch was judged there.
    assert_eq!(listed(&lab).0.iter().map(|port| port.port).collect::<Vec<_>>(), [1, 2]);
    assert!(lab.gate("s2").unwrap_err().to_string().contains("has no gates"));
    let served = || {
        let classes = lab.classes("s2", 3).unwrap();
        let at = classes.find("class htb 1:3 ").unwrap();
        let frames = classes[at..].split_whitespace().skip_while(|word| *word != "bytes").nth(1);
        frames.unwrap().parse::<u64>().unwrap()
    };
    let before = served();
    let counter = Counter::on(socket(&lab, "c", 5_000, 0));
    send(&socket(&lab, "a", 6_000, 0), address(&lab, "c", 5_000), 64, 50, Duration::from_millis(3));
    send(&socket(&lab, "a", 6_001, 46), address(&lab, "c", 5_000), 64, 50, Duration::from_millis(3));
    assert_eq!(counter.numbers().len(), 50);
    assert_eq!(served() - before, 50, "those with the contract, and not those with a mark");
}

#[test]
fn a_switch_between_switches_needs_no_agent() {
    let Some(_turn) = turn() else { return };
    let text = THREE.replace("MODEL", "gated").replace("\"s1:3\"]", "\"s3:3\"]")
        + "[[switch]]\nname = \"s2\"\nmodel = \"gated\"\n[[link]]\nends = [\"s1:8\", \"s2:7\"]\n"
        + "[[switch]]\nname = \"s3\"\nmodel = \"gated\"\n[[link]]\nends = [\"s2:8\", \"s3:8\"]\n";
    let lab = up(&text);
    greet(&lab, "a", "c");
    assert!(lab.gate("s2").unwrap_err().to_string().contains("has no gates"));
    assert!(
        matches!(lab.gate("s3").unwrap().ask(&Request::List), Ok(Answer::List { ports, .. }) if ports.len() == 1)
    );
}

/// A network namespace with one link, whose far end has the gate; removed when this is dropped.
pub(crate) struct Pair {
    name: String,
    pub(crate) folder: Folder,
}

impl Pair {
    pub(crate) fn new() -> Self {
        let pair = Self { name: format!("{}-pair", name()), folder: Folder::new() };
        let (near, far) = (pair.near(), pair.far());
        for line in [
            format!("netns add {near}"),
            format!("netns add {far}"),
            format!("link add p1 netns {far} type veth peer name eth0 netns {near}"),
            format!("-n {near} link set eth0 up"),
            format!("-n {far} link set p1 up"),
            format!("-n {near} addr add 10.9.0.1/24 dev eth0"),
            format!("-n {near} neigh add 10.9.0.2 lladdr 02:00:00:00:00:99 dev eth0"),
        ] {
            assert!(Command::new("ip").args(line.split(' ')).status().unwrap().success(), "{line}");
        }
        let offloads = "-K eth0 tx off tso off gso off gro off".split(' ');
        let mut ethtool = Command::new("ip");
        ethtool.args(["netns", "exec", &near, "ethtool"]).args(offloads).stdout(std::process::Stdio::null());
        assert!(ethtool.status().unwrap().success());
        mount_pins(&pair.pins()).unwrap();
        pair
    }

    pub(crate) fn near(&self) -> String {
        format!("{}1", self.name)
    }

    pub(crate) fn far(&self) -> String {
        format!("{}2", self.name)
    }

    pub(crate) fn pins(&self) -> std::path::PathBuf {
        self.folder.0.join("pins")
    }

    pub(crate) fn inside<T: Send>(&self, namespace: &str, act: impl FnOnce() -> T + Send) -> T {
        let file = std::fs::File::open(format!("/run/netns/{namespace}")).unwrap();
        thread::scope(|scope| {
            let acting = scope.spawn(|| {
                nix::sched::setns(file, nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
                act()
            });
            acting.join().unwrap()
        })
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = nix::mount::umount2(&self.pins(), nix::mount::MntFlags::MNT_DETACH);
        for namespace in [self.near(), self.far()] {
            let _ = Command::new("ip").args(["netns", "del", &namespace]).status();
        }
    }
}

/// Sends bursts and pauses of all kinds from 10.9.0.1:6000 to these places in turn, some frames larger than a whole message or bucket, and
/// compares every judgement with the rule. How often each verdict occurred, and the program.
fn replay(pair: &Pair, key: &Key, contract: Contract, places: &[&str]) -> ([u64; 6], Program) {
    let object = pair.folder.0.join("gate.o");
    compile(&object).unwrap();
    let mut program = pair.inside(&pair.far(), || {
        let mut program = Program::load(&object, &pair.pins(), true, false).unwrap();
        let index = nix::net::if_::if_nametoindex("p1").unwrap();
        program.attach(index, &pair.pins().join("port-1")).unwrap();
        program.limit(index, 1_000).unwrap();
        assert_eq!(program.set(index, key, &contract), Ok(contract));
        program
    });
    let sender = pair.inside(&pair.near(), || std::net::UdpSocket::bind("10.9.0.1:6000").unwrap());
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |end: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) % end
    };
    let (mut gate, mut judged, mut seen) = (Gate::new(contract), 0_u64, [0_u64; 6]);
    let octets = [0; 1_472];
    let mut passed: Vec<(u64, u32)> = Vec::new();
    let mut places = places.iter().cycle();
    for _ in 0..40 {
        for _ in 0..50 {
            for _ in 0..=below(6) {
                let size = usize::try_from((below(700) + 800 * (below(40) / 39)).min(1_472)).unwrap();
                sender.send_to(&octets[..size], places.next().unwrap()).unwrap();
            }
            thread::sleep(Duration::from_micros(below(900)));
        }
        while let Some(entry) = program.judgement() {
            assert_eq!(entry.number, judged, "the log has a hole");
            judged += 1;
            let verdict = gate.judge(entry.time, entry.octets);
            let rule = match verdict {
                gate::Verdict::Pass { opens: true } => 0,
                gate::Verdict::Pass { opens: false } => 1,
                gate::Verdict::Drop(gate::machine::Cause::Early) => 2,
                gate::Verdict::Drop(gate::machine::Cause::Rest) => 3,
                gate::Verdict::Drop(gate::machine::Cause::Cut) => 4,
                gate::Verdict::Excess => 5,
            };
            assert_eq!(entry.verdict, rule, "frame {judged}: {entry:?}");
            seen[usize::try_from(rule).unwrap()] += 1;
            if verdict.passes() {
                passed.push((entry.time, entry.octets));
            }
        }
    }
    for first in 0..passed.len() {
        let mut sum = 0;
        for (time, octets) in &passed[first..] {
            sum += u64::from(*octets);
            let most = contract.most_in(time - passed[first].0);
            assert!(sum <= most, "{sum} octets from {first}, at most {most}");
        }
    }
    let (_, _, _, counters) = program.list()[0];
    let frames = counters.frames - counters.messages;
    assert_eq!(
        [counters.messages, frames, counters.early, counters.rest, counters.cut, counters.excess],
        seen
    );
    (seen, program)
}

/// A datagram of 64 octets from 10.9.0.1:6000 to 10.9.0.2:5000 as a whole frame; sums are not looked at.
fn datagram() -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0, 0, 92, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2]);
    frame.extend([6_000_u16, 5_000, 72, 0].iter().flat_map(|number| number.to_be_bytes()));
    frame.resize(106, 7);
    frame
}

/// Sends these as they are out of `eth0`.
pub(crate) fn say_raw(frames: &[Vec<u8>]) {
    use nix::sys::socket::{AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, bind, socket};
    use std::os::fd::AsRawFd as _;
    let own = nix::ifaddrs::getifaddrs().unwrap().find(|found| found.interface_name == "eth0").unwrap();
    let own: LinkAddr = *own.address.unwrap().as_link_addr().unwrap();
    let raw = socket(AddressFamily::Packet, SockType::Raw, SockFlag::empty(), SockProtocol::EthAll).unwrap();
    bind(raw.as_raw_fd(), &own).unwrap();
    for frame in frames {
        assert_eq!(nix::unistd::write(&raw, frame).unwrap(), frame.len());
    }
}

#[test]
fn what_an_emulated_link_hands_over_is_judged_by_when_it_came() {
    let Some(_turn) = turn() else { return };
    let pair = Pair::new();
    let object = pair.folder.0.join("gate.o");
    compile(&object).unwrap();
    let key = Key {
        source: Ipv4Addr::new(10, 9, 0, 1).into(),
        source_port: 6_000,
        destination: Ipv4Addr::new(10, 9, 0, 2).into(),
        destination_port: 5_000,
    };
    let (mut program, index, tap) = pair.inside(&pair.far(), || {
        let mut program = Program::load(&object, &pair.pins(), true, true).unwrap();
        let index = nix::net::if_::if_nametoindex("p1").unwrap();
        program.attach(index, &pair.pins().join("port-1")).unwrap();
        program.limit(index, 1_000).unwrap();
        program.set(index, &key, &each_two()).unwrap();
        (program, index, lab::tap::Tap::open("p1").unwrap())
    });
    let now = lab::probe::monotonic();
    let began = now - 20_000_000;
    // The last one says nothing that can be true, and counts as having come when it is heard of.
    let came = [began, began + 2_000_000, began + 3_000_000, began + 6_000_000, now - 3_000_000_000];
    let mut frames = vec![vec![1; 16]];
    for at in came {
        let stamp = u32::try_from(at & u64::from(u32::MAX)).unwrap().to_ne_bytes();
        frames.push([datagram(), stamp.to_vec()].concat());
    }
    pair.inside(&pair.near(), || say_raw(&frames));
    // They may come after the call that sent them. The stamp goes no further.
    let (mut heard, mut frame, mut passed) = (lab::train::Heard::default(), Vec::new(), 0);
    while passed < 4 && tap.next(&mut heard, Duration::from_secs(30)).unwrap().is_some() {
        while heard.next(&mut frame) {
            if frame.get(36..38) == Some(&5_000_u16.to_be_bytes()) {
                assert_eq!(frame[42..], datagram()[42..]);
                passed += 1;
            }
        }
    }
    assert_eq!(passed, 4);
    let judged: Vec<_> = std::iter::from_fn(|| program.judgement()).collect();
    let verdicts: Vec<u32> = judged.iter().map(|entry| entry.verdict).collect();
    assert_eq!(verdicts, [0, 0, 2, 0, 0]);
    let times: Vec<u64> = judged.iter().map(|entry| entry.time).collect();
    assert_eq!(times[..4], came[..4]);
    assert!(times[4] >= now);
    assert!(judged.iter().all(|entry| entry.octets == SMALL));
    assert_eq!(program.others(index).broken, 1);
}

/// The same frame with tags, to another port.
fn tagged(tags: &[[u8; 4]], port: u16) -> Vec<u8> {
    let mut frame = [&datagram()[..12], &tags.concat(), &datagram()[12..]].concat();
    let at = 36 + 4 * tags.len();
    frame[at..at + 2].copy_from_slice(&port.to_be_bytes());
    frame
}

#[test]
fn a_flow_in_a_vlan_has_its_contract_and_tags_of_none_are_dropped() {
    let Some(_turn) = turn() else { return };
    let pair = Pair::new();
    let object = pair.folder.0.join("gate.o");
    compile(&object).unwrap();
    let key = Key {
        source: Ipv4Addr::new(10, 9, 0, 1).into(),
        source_port: 6_000,
        destination: Ipv4Addr::new(10, 9, 0, 2).into(),
        destination_port: 5_000,
    };
    let any = Key { destination: Ipv4Addr::UNSPECIFIED.into(), destination_port: 5_002, ..key };
    let contract = Contract { octets: SMALL + 4, separation: 3_600_000_000_000, ..each_two() };
    let (mut program, index, tap) = pair.inside(&pair.far(), || {
        let mut program = Program::load(&object, &pair.pins(), true, false).unwrap();
        let index = nix::net::if_::if_nametoindex("p1").unwrap();
        program.attach(index, &pair.pins().join("port-1")).unwrap();
        program.limit(index, 1_000).unwrap();
        program.set(index, &key, &contract).unwrap();
        program.set(index, &any, &contract).unwrap();
        program.set(index, &Key::metatraffic(0).unwrap(), &contract).unwrap();
        (program, index, lab::tap::Tap::open("p1").unwrap())
    });
    let ten = [0x81, 0, 0xe0, 10];
    let of_none: [&[[u8; 4]]; 5] = [
        &[[0x81, 0, 0xe0, 0]],
        &[[0x81, 0, 0xef, 0xff]],
        &[[0x88, 0xa8, 0, 10]],
        &[ten, ten],
        &[ten, [0x88, 0xa8, 0, 1]],
    ];
    let mut frames: Vec<Vec<u8>> = of_none.iter().map(|tags| tagged(tags, 5_000)).collect();
    frames.extend([tagged(&[ten], 5_000), tagged(&[ten], 5_000)]);
    // Only the contract of the flow itself counts for what has a tag.
    frames.extend([5_001, 5_002, 7_400].map(|port| tagged(&[ten], port)));
    pair.inside(&pair.near(), || say_raw(&frames));
    let (mut heard, mut frame, mut passed) = (lab::train::Heard::default(), Vec::new(), Vec::new());
    while passed.len() < 4 && tap.next(&mut heard, Duration::from_secs(30)).unwrap().is_some() {
        while heard.next(&mut frame) {
            // What hears it does so when the tag is off.
            if frame.len() == datagram().len() && frame[..12] == datagram()[..12] {
                passed.push((u16::from_be_bytes([frame[36], frame[37]]), frame[15] >> 2));
            }
        }
    }
    assert_eq!(passed, [(5_000, contract.dscp), (5_001, 0), (5_002, 0), (7_400, 0)]);
    let judged: Vec<_> =
        std::iter::from_fn(|| program.judgement()).map(|entry| (entry.verdict, entry.octets)).collect();
    assert_eq!(judged, [(0, SMALL + 4), (2, SMALL + 4)]);
    let others = program.others(index);
    assert_eq!((others.tagged, others.best_effort), (5, 3), "{others:?}");
}

#[test]
fn the_program_decides_as_the_rule_does() {
    let Some(_turn) = turn() else { return };
    let pair = Pair::new();
    let key = Key {
        source: Ipv4Addr::new(10, 9, 0, 1).into(),
        source_port: 6_000,
        destination: Ipv4Addr::new(10, 9, 0, 2).into(),
        destination_port: 5_000,
    };
    let contract = Contract {
        kind: Kind::Messages,
        octets: 1_500,
        separation: 700_000,
        tolerance: 100_000,
        window: 200_000,
        dscp: 46,
    };
    let (seen, _) = replay(&pair, &key, contract, &["10.9.0.2:5000"]);
    assert!(seen[..5].iter().all(|count| *count > 20) && seen[5] == 0, "every verdict occurs: {seen:?}");
}

/// One bucket for all ports of discovery of a domain, and for no other port.
#[test]
fn the_program_fills_buckets_as_the_rule_does() {
    let Some(_turn) = turn() else { return };
    let pair = Pair::new();
    let key = Key::metatraffic(0).unwrap();
    let contract = Contract {
        kind: Kind::Bucket,
        octets: 1_400,
        separation: 3_000_000,
        tolerance: 0,
        window: 0,
        dscp: class::CONTROL,
    };
    let discovery = ["10.9.0.2:7400", "10.9.0.2:7410", "10.9.0.2:7648", "10.9.0.3:7400"];
    let others = ["10.9.0.2:7401", "10.9.0.2:7411", "10.9.0.2:7650", "10.9.0.2:7390"];
    let pairs = discovery.iter().zip(others).flat_map(|(one, other)| [*one, other]);
    // Nobody else is at the link, so that everything is sent without being asked for.
    let near = pair.near();
    let line = format!("-n {near} neigh add 10.9.0.3 lladdr 02:00:00:00:00:98 dev eth0");
    assert!(Command::new("ip").args(line.split(' ')).status().unwrap().success());
    let (seen, program) = replay(&pair, &key, contract, &pairs.collect::<Vec<_>>());
    let [marked, .., excess] = seen;
    assert!(marked > 20 && excess > 20 && seen[1..5] == [0; 4], "{seen:?}");
    // The excess is limited as, and counted among, what has no contract: half of all frames, and ports that are not discovery's.
    let index = pair.inside(&pair.far(), || nix::net::if_::if_nametoindex("p1").unwrap());
    let others = program.others(index);
    let without = others.best_effort + others.limited;
    let judged = marked + excess;
    assert!(
        others.limited > 0 && without >= excess + judged - 1,
        "{others:?} of {judged}, {excess} of them excess"
    );
    // The system says something of its own, by IPv6.
    assert!(without <= excess + judged + 20, "{others:?} of {judged}, {excess} of them excess");
}
