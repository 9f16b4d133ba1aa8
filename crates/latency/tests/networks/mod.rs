//! Networks and flows of the tests.
#![allow(dead_code, reason = "each test file uses some of them")]

use latency::framing::{Framing, Ip};
use std::collections::BTreeMap;

use latency::ledger::Ledger;
use latency::network::{Buffer, Flow, Hop, Imperfections, Policing, Port, Subscriber};
use latency::policing::Counts;
use latency::split::Split;
use latency::units::{MICROSECOND, MILLISECOND, NANOSECOND};

use crate::random::Random;

pub(crate) const GIGABIT: u64 = 1_000_000_000;

/// A host's own port: nothing but assured flows.
pub(crate) fn host() -> Port {
    Port { best_effort: 0, ..switch() }
}

/// A gigabit port of a switch with best effort in full frames.
pub(crate) fn switch() -> Port {
    Port {
        rate: GIGABIT,
        propagation: 0,
        least_multiplexing: 0,
        most_multiplexing: 0,
        keeps_order: true,
        queues: 8,
        best_effort: 1_538,
        control: None,
        tag: 0,
        largest_frame: 1_538,
        buffer: Buffer::Shared(1_000_000),
        imperfections: Imperfections::default(),
    }
}

/// A flow along ports to one subscriber.
pub(crate) fn flow(bytes: u32, separation: u64, limit: u64, path: &[usize]) -> Flow {
    let tree = path
        .iter()
        .enumerate()
        .map(|(index, port)| Hop { port: *port, parent: index.checked_sub(1) })
        .collect();
    Flow {
        largest_message: bytes,
        smallest_message: bytes,
        framing: Framing::Udp { datagram: 1_472, ip: Ip::V4 },
        tag: 0,
        separation,
        maximum_separation: None,
        jitter: 0,
        emission: 0,
        slack: 0,
        policing: Policing::Gate { tick: NANOSECOND },
        tree,
        subscribers: vec![Subscriber { hop: path.len() - 1, limit, maximum_separation: None }],
        importance: 0,
        bundle: None,
    }
}

/// Three hosts (ports 0 to 2) and the port of a switch to the subscriber (3); T1, T2, T3 of MIDAS's Table II.
pub(crate) fn table_two() -> (Vec<Port>, [Flow; 3]) {
    let flow = |bytes, separation, limit, host| {
        flow(bytes, separation * MILLISECOND, limit * MILLISECOND, &[host, 3])
    };
    let flows = [flow(192_192, 3, 2, 0), flow(96_000, 3, 3, 1), flow(64_000, 11, 8, 2)];
    (vec![host(), host(), host(), switch()], flows)
}

/// Four hosts (0 to 3) at one switch, whose port 4 leads to another one with ports 5 and 6 and a host 7.
pub(crate) fn random_network(random: &mut Random) -> (Ledger, BTreeMap<u64, Flow>) {
    let hosts = [host(), host(), host(), host()];
    let uplink = if random.range(0, 1) == 0 { 1 } else { 10 };
    let inner = Port {
        rate: GIGABIT * uplink,
        propagation: random.range(0, 500) * NANOSECOND,
        least_multiplexing: 500 * NANOSECOND,
        most_multiplexing: (500 + random.range(0, 1_500)) * NANOSECOND,
        keeps_order: true,
        queues: random.range(1, 8) as u8,
        ..switch()
    };
    let outer = Port { rate: GIGABIT, ..inner };
    let ports = hosts.into_iter().chain([inner, outer, outer, host()]).collect();
    let split = [Split::Last, Split::Load, Split::Even][random.range(0, 2) as usize];
    let mut ledger = Ledger::new(ports, split);
    let mut flows = BTreeMap::new();
    for id in 0..random.range(2, 9) {
        let source = [0, 0, 1, 2, 3, 7][random.range(0, 5) as usize];
        let target = random.range(5, 6) as usize;
        let path = if source == 7 { vec![7, target] } else { vec![source, 4, target] };
        let bytes = [random.range(1, 1_400), random.range(1_000, 40_000)][random.range(0, 1) as usize];
        let separation = random.range(200, 3_000) * MICROSECOND;
        let limit = random.range(100, 3_000) * MICROSECOND;
        let mut new = flow(bytes as u32, separation, limit, &path);
        new.smallest_message = if random.range(0, 1) == 0 { new.largest_message } else { 1 };
        new.jitter = random.range(0, 1) * random.range(0, 300) * MICROSECOND;
        new.emission = random.range(0, 1) * random.range(0, 100) * MICROSECOND;
        new.slack = random.range(0, 1) * random.range(0, 100) * MICROSECOND;
        new.policing = [
            Policing::Trusted,
            Policing::Gate { tick: MICROSECOND },
            Policing::Gate { tick: 1 },
            Policing::Meter { rate_step: 1_000, burst_step: 1_000, counts: Counts::Wire },
            Policing::Meter { rate_step: 1_000, burst_step: 1_000, counts: Counts::Frame },
        ][random.range(0, 4) as usize];
        if source != 7 && random.range(0, 2) == 0 {
            new.tree.push(Hop { port: 11 - target, parent: Some(1) });
            new.subscribers.push(Subscriber { hop: 3, limit: 2 * limit, maximum_separation: None });
        }
        if let Ok(plan) = ledger.plan(id, &new) {
            assert!(ledger.commit(plan));
            flows.insert(id, new);
        }
    }
    (ledger, flows)
}

/// Admits a flow, after which every share is kept.
pub(crate) fn admit(ledger: &mut Ledger, id: u64, flow: &Flow) {
    let plan = ledger.plan(id, flow).unwrap_or_else(|refusal| panic!("flow {id}: {refusal:?}"));
    assert!(ledger.commit(plan));
    for port in 0..ledger.ports().len() {
        assert_eq!(ledger.audit(port), Ok(()), "port {port} after flow {id}");
    }
}
