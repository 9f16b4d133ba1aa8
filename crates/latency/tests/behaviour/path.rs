//! End-to-end bounds: concatenation, the sum, and how jitter grows.

use crate::networks::{GIGABIT, flow, host, switch, table_two};
use latency::bound::level_bound;
use latency::network::{Flow, Policing, Port};
use latency::path::{HopView, PathMethod, concatenation_bound, path_bound, sum_bound};
use latency::policing::Counts;
use latency::port::{Arrival, Contender, Ingress};
use latency::units::{MICROSECOND, MILLISECOND, NANOSECOND};

/// T1 and T2 with buckets of just a message, T1 above: by concatenation T2 has 5.227 ms; by the sum, which makes use of
/// T2's frames coming one after the other, it has 5.224 ms where T2 sends a single message. The limit is 3 ms.
#[test]
fn table_two_by_token_buckets_end_to_end() {
    let (ports, [t1, t2, _]) = table_two();
    let at_host = |flow: &Flow| flow.contenders(&ports, &[]).unwrap()[0];
    let bucket = |flow: &Flow, level| {
        let message = at_host(flow);
        let arrival = Arrival::Bucket {
            burst: message.arrival.burst().unwrap(),
            rate: message.arrival.rate().unwrap(),
        };
        Contender { level, arrival, ..message }
    };
    let (server, at_switch) = (ports[3].server(), [bucket(&t1, 1), bucket(&t2, 0)]);
    let hops = [
        HopView {
            port: &ports[1],
            server: ports[1].server(),
            contenders: &[at_host(&t2)],
            index: 0,
            delay: 802_848 * NANOSECOND,
        },
        HopView {
            port: &ports[3],
            server,
            contenders: &at_switch,
            index: 1,
            delay: level_bound(&server, &at_switch, 0).unwrap().delay,
        },
    ];
    let concatenation = concatenation_bound(&t2, &hops).unwrap();
    assert_eq!(concatenation.div_ceil(MICROSECOND), 5_227);
    assert!(concatenation > t2.subscribers[0].limit);
    // The plain sum pays for the message at each hop.
    assert!(sum_bound(&t2, &hops).unwrap() > concatenation + 700 * MICROSECOND);
    assert_eq!(path_bound(&t2, &t2, &hops).unwrap().method, PathMethod::Concatenation);
    let ingress = |link| Some(Ingress { link, rate: GIGABIT, variation: 0 });
    let shaped = [
        Contender { ingress: ingress(0), ..at_switch[0] },
        Contender { ingress: ingress(1), level: 0, ..at_host(&t2) },
    ];
    let delay = level_bound(&server, &shaped, 0).unwrap().delay;
    let hops = [hops[0], HopView { contenders: &shaped, delay, ..hops[1] }];
    assert_eq!(sum_bound(&t2, &hops).unwrap().div_ceil(MICROSECOND), 5_224);
}

/// DNC's single server with two flows, first-in first-out, by separation of the flows (SFA): 14.5 and 91/6. Rate 10,
/// latency 10 (here: a lower frame of 100), buckets (4, 10) and (5, 25), in thousands.
#[test]
fn one_server_two_flows_by_concatenation() {
    let port = Port { rate: 10_000, best_effort: 12_500, ..switch() };
    let bucket = |burst, rate| {
        let arrival = Arrival::Bucket { burst, rate };
        Contender { level: 1, arrival, smallest_frame: 0, largest_frame: 0, ingress: None }
    };
    let contenders = [bucket(10_000, 4_000), bucket(25_000, 5_000)];
    let any = flow(100, MILLISECOND, MILLISECOND, &[0]);
    let delays = [0, 1].map(|index| {
        let hop = HopView { port: &port, server: port.server(), contenders: &contenders, index, delay: 0 };
        concatenation_bound(&any, &[hop]).unwrap()
    });
    assert_eq!(delays, [14_500_000_000_000, 15_166_666_666_667]);
}

/// Where frames of a flow may overtake each other on their way into a queue, one may wait for those that came after it.
#[test]
fn services_are_concatenated_where_order_is_kept_alone() {
    let bound = |variation, keeps_order| {
        let port = Port { most_multiplexing: variation, least_multiplexing: 0, keeps_order, ..switch() };
        let arrival = Arrival::Messages { bits: 8_528, separation: MILLISECOND, jitter: 0 };
        let contender =
            Contender { level: 1, arrival, smallest_frame: 8_528, largest_frame: 8_528, ingress: None };
        let any = flow(1_000, MILLISECOND, MILLISECOND, &[0]);
        let hop =
            HopView { port: &port, server: port.server(), contenders: &[contender], index: 0, delay: 0 };
        concatenation_bound(&any, &[hop])
    };
    assert!(bound(MICROSECOND, true).is_some() && bound(0, false).is_some());
    assert_eq!(bound(MICROSECOND, false), None);
}

/// Gaps 11, 12 and 18: what a flow may do at its third port, by hand.
#[test]
fn jitter_grows_by_what_varies() {
    let mut middle = switch();
    middle.least_multiplexing = MICROSECOND;
    middle.most_multiplexing = 3 * MICROSECOND;
    let ports = [host(), middle, middle];
    let mut flow = flow(1_000, MILLISECOND, MILLISECOND, &[0, 1, 2]);
    flow.policing = Policing::Trusted;
    flow.jitter = 7 * MICROSECOND;
    let shares = [20 * MICROSECOND, 50 * MICROSECOND];
    let frame = (1_000 + 66) * 8 * NANOSECOND;
    let jitters = |flow: &Flow| -> Vec<u64> {
        let jitter = |contender: &Contender| match contender.arrival {
            Arrival::Messages { jitter, .. } => jitter,
            Arrival::Bucket { burst, .. } => burst,
        };
        flow.contenders(&ports, &shares).unwrap().iter().map(jitter).collect()
    };
    let second = 7 * MICROSECOND + (shares[0] - frame) + 2 * MICROSECOND;
    let third = second + (shares[1] - frame) + 2 * MICROSECOND;
    assert_eq!(jitters(&flow), [7 * MICROSECOND, second, third]);
    // Messages of any size leave sooner when they are small.
    flow.smallest_message = 0;
    let small = 672 * NANOSECOND;
    let second = 7 * MICROSECOND + (shares[0] - small) + 2 * MICROSECOND;
    assert_eq!(jitters(&flow)[2], second + (shares[1] - small) + 2 * MICROSECOND);
    // A bucket grows by its rate times what varies.
    flow.policing = Policing::Meter { rate_step: 1_000, burst_step: 1_000, counts: Counts::Wire };
    let bursts = jitters(&flow);
    // 8.528 Mb/s: 18 bits in 2 us, 455 bits in 2 + 49.328 + 2 us.
    assert_eq!((bursts[1] % 1_000, bursts[2] % 1_000), (18, 455));
    assert_eq!(bursts[1] / 1_000, bursts[2] / 1_000);
}

/// Behind its guard a flow may consist of the smallest frames, whatever it has promised: its share has to hold for them,
/// too, because the next hop rests on it. (A small frame that waits is not protected from as much of higher levels as a
/// large one.)
#[test]
fn a_share_holds_for_whatever_a_guard_lets_through() {
    let ports = [host(), switch(), switch()];
    let large = flow(14_720, MILLISECOND, MILLISECOND, &[0, 1, 2]);
    let shares = [200 * MICROSECOND, 200 * MICROSECOND];
    let smallest = |policing| -> Vec<u64> {
        let flow = Flow { policing, ..large.clone() };
        flow.contenders(&ports, &shares).unwrap().iter().map(|contender| contender.smallest_frame).collect()
    };
    assert_eq!(smallest(Policing::Trusted), [12_304, 12_304, 12_304]);
    assert_eq!(smallest(Policing::Gate { tick: 1 }), [12_304, 672, 672]);
    for counts in [Counts::Wire, Counts::Frame] {
        assert_eq!(smallest(Policing::Meter { rate_step: 1, burst_step: 1, counts }), [12_304, 672, 672]);
    }
}

/// Large messages over several hops: each hop of the sum takes what has gone ahead off, and does not pay for the
/// message again.
#[test]
fn a_large_message_is_paid_for_once() {
    let ports = [host(), switch(), switch(), switch()];
    let flow = Flow {
        policing: Policing::Trusted,
        ..flow(192_192, 100 * MILLISECOND, 3 * MILLISECOND, &[0, 1, 2, 3])
    };
    let mut ledger = latency::ledger::Ledger::new(ports.to_vec(), latency::split::Split::Last);
    let plan = ledger.plan(1, &flow).unwrap();
    assert!(ledger.commit(plan));
    let message = 1_606_704;
    let bound = ledger.bounds(1).unwrap()[0].latency / NANOSECOND;
    assert!(bound <= message + 3 * 2 * 12_304, "{bound}");
}
