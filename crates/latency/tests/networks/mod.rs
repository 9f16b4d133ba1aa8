//! Networks and flows of the tests.
#![allow(dead_code, reason = "each test file uses some of them")]

use latency::framing::Framing;
use latency::network::{Buffer, Flow, Hop, Policing, Port, Subscriber};
use latency::units::{MILLISECOND, NANOSECOND};

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
        queues: 8,
        best_effort: 1_538,
        control: None,
        tag: 0,
        largest_frame: 1_538,
        buffer: Buffer::Shared(1_000_000),
    }
}

/// A flow along ports to one subscriber.
pub(crate) fn flow(octets: u32, separation: u64, limit: u64, path: &[usize]) -> Flow {
    let tree = path
        .iter()
        .enumerate()
        .map(|(index, port)| Hop { port: *port, parent: index.checked_sub(1) })
        .collect();
    Flow {
        largest_message: octets,
        smallest_message: octets,
        framing: Framing::Udp { datagram: 1_472 },
        separation,
        maximum_separation: None,
        jitter: 0,
        emission: 0,
        policing: Policing::Gate { tick: NANOSECOND },
        tree,
        subscribers: vec![Subscriber { hop: path.len() - 1, limit, maximum_separation: None }],
    }
}

/// Three hosts (ports 0 to 2) and the port of a switch to the subscriber (3); T1, T2, T3 of MIDAS's Table II.
pub(crate) fn table_two() -> (Vec<Port>, [Flow; 3]) {
    let flow = |octets, separation, limit, host| {
        flow(octets, separation * MILLISECOND, limit * MILLISECOND, &[host, 3])
    };
    let flows = [flow(192_192, 3, 2, 0), flow(96_000, 3, 3, 1), flow(64_000, 11, 8, 2)];
    (vec![host(), host(), host(), switch()], flows)
}
