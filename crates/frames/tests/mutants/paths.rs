//! Mistakes that need more than one port, or something that is not a latency: each is a small network with the
//! wrong claim and a run that refutes it.
use super::networks::{FULL, GIGABIT, MILLISECOND, gated, one_port, one_switch, table_two, udp_frames};
use frames::{Bounds, Contract, Counts, Effort, Flow, Found, Hop, Network, Node, Policer, Port, Search};

/// The transmission time of a full frame at 1 Gb/s.
const FRAME: u64 = FULL * GIGABIT;

fn attack(network: &Network, flow: usize, hop: usize) -> Found {
    let effort = Effort { frames: 4000, ..Effort::default() };
    Search::new(network, &Bounds::default(), flow, hop, effort).worst(1)
}

fn port(from: usize, to: usize) -> Port {
    Port::ideal(from, to, GIGABIT)
}

fn hops(ports: &[usize], level: u8) -> Vec<Hop> {
    ports.iter().map(|port| Hop { port: *port, level }).collect()
}

const SWITCH: Node = Node::Switch { fastest: 0, slowest: 0, ordered: true };

/// Host 0, three switches, host 4: ports 0 to 3.
fn line(flows: Vec<Flow>, slowest: u64) -> Network {
    let switch = Node::Switch { fastest: 0, slowest, ordered: true };
    let nodes = vec![Node::Host, switch, switch, switch, Node::Host];
    Network::new(nodes, (0..4).map(|node| port(node, node + 1)).collect(), flows).unwrap()
}

/// Serialisation counted once, without a frame for each further link (store and forward).
#[test]
fn one_frame_more_for_each_further_link() {
    let message = 20 * FRAME;
    let network = line(vec![gated(vec![FULL; 20], MILLISECOND, 0, hops(&[0, 1, 2, 3], 1))], 0);
    let found = attack(&network, 0, 3).latency;
    assert!(found > message);
    assert_eq!(found, message + 3 * FRAME);
}

/// The least multiplexing latency, taken for a constant.
#[test]
fn multiplexing_latency_is_not_constant() {
    let network = line(vec![gated(vec![FULL], MILLISECOND, 0, hops(&[0, 1, 2, 3], 1))], 7_000_000);
    let found = attack(&network, 0, 3).latency;
    assert!(found > 4 * FRAME);
    assert_eq!(found, 4 * FRAME + 3 * 7_000_000);
}

/// The publisher's own port left out: a second flow of the same host delays the first before any switch sees it.
#[test]
fn the_port_of_the_host_is_a_hop() {
    let one = gated(vec![FULL; 5], MILLISECOND, 0, hops(&[0, 1, 2, 3], 1));
    let other = gated(vec![FULL; 10], MILLISECOND, 0, hops(&[0, 1, 2, 3], 1));
    let found = attack(&line(vec![one.clone(), other], 0), 0, 3).latency;
    // At the first switch and after it the two follow each other, so nothing is added there.
    let without_host = attack(&line(vec![one], 0), 0, 3).latency;
    assert_eq!(found, without_host + 10 * FRAME);
}

/// Two hosts at a first switch, one at a second; behind that the subscriber. Flow 0 comes from the host at the second
/// switch; flow 1, of the higher level there, is held up at the first switch by flow 2.
/// Ports: 0 and 1 from the hosts to the first switch, 2 between the switches, 3 from the third host, 4 to the
/// subscriber, 5 to where flow 2 goes.
fn delayed_burst(policer: Option<Policer>) -> Network {
    let nodes = vec![Node::Host, Node::Host, SWITCH, SWITCH, Node::Host, Node::Host, Node::Host];
    let ports = vec![port(0, 2), port(1, 2), port(2, 3), port(4, 3), port(3, 5), port(3, 6)];
    let target = gated(vec![FULL], 50 * MILLISECOND, 0, hops(&[3, 4], 1));
    let often = gated(vec![FULL; 10], MILLISECOND / 5, 0, hops(&[0, 2, 4], 2));
    let large = gated(vec![FULL; 40], 10 * MILLISECOND, 0, hops(&[1, 2, 5], 3));
    Network::new(nodes, ports, vec![target, Flow { policer, ..often }, large]).unwrap()
}

/// What the target would need at the last port if the other flow still came once per period there.
fn without_growth(period: u64) -> u64 {
    let mut wait = FRAME;
    loop {
        let next = FRAME + (wait / period + 1) * 10 * FRAME;
        if next == wait {
            return 2 * FRAME + wait;
        }
        wait = next;
    }
}

/// Jitter that does not grow with the delay of earlier hops, also where a gate guards the first switch; and the
/// separation shortened by that delay, which is negative when the delay is longer than the period.
#[test]
fn jitter_grows_from_hop_to_hop() {
    let period = MILLISECOND / 5;
    let gate = Policer::Gate { bytes: 10 * FULL, window: 10 * FRAME, separation: period, tolerance: 0 };
    for policer in [None, Some(gate)] {
        let network = delayed_burst(policer);
        let found = attack(&network, 0, 1);
        println!("{} ps, claimed {} ps", found.latency, without_growth(period));
        assert!(found.latency > without_growth(period));
        assert_eq!(found.outcome.policed, [0, 0, 0]);
        // Flow 1 waits for 40 frames at the first switch: more than two of its periods.
        let delay = found.outcome.latency[1][1] - 11 * FRAME;
        assert!(delay > 2 * period, "{delay}");
        let contracted = i128::from(period) - i128::from(delay);
        assert!(contracted < 0);
        // The share of the link that comes out is negative, and with it the interference.
        let share = 10.0 * FRAME as f64 / contracted as f64;
        let claim = (2.0 * FRAME as f64 + 10.0 * FRAME as f64 * (1.0 - share)) / (1.0 - share);
        assert!(found.latency as f64 > claim + FRAME as f64, "{claim}");
    }
}

/// A load above the link's rate: the formula gives a negative time, which is below every limit.
#[test]
fn overload_has_no_bound() {
    let upper = |_| (2, gated(vec![FULL; 6], 10 * FRAME, 0, Vec::new()));
    let mut flows: Vec<(u8, Flow)> = (0..2).map(upper).collect();
    flows.push((1, gated(vec![FULL], 100 * FRAME, 0, Vec::new())));
    let network = one_port(flows, FULL);
    let share = 2.0 * 6.0 / 10.0;
    let claim = (2.0 + 2.0 * 6.0 * (1.0 - 0.6)) / (1.0 - share);
    assert!(claim < 0.0);
    let latency = |frames| {
        let effort = Effort { frames, ..Effort::default() };
        Search::new(&network, &Bounds::default(), 2, 0, effort).worst(1).latency
    };
    // The longer it lasts, the worse it is.
    assert!(latency(2000) > 2 * latency(500), "{} {}", latency(2000), latency(500));
}

/// A load below the link's rate does not mean that buffers suffice.
#[test]
fn buffers_overflow_below_full_load() {
    let network = one_switch(table_two([1, 1, 1], 0));
    assert!(network.load(3) < 1_000_000);
    let mut ports = network.ports().to_vec();
    ports[3].buffer = 100_000;
    let network = Network::new(network.nodes().to_vec(), ports, network.flows().to_vec()).unwrap();
    assert!(attack(&network, 0, 1).outcome.lost.iter().sum::<u64>() > 0);
}

/// A policer that is made for the payload, or without the jitter of the source, drops frames that keep the contract.
#[test]
fn policers_made_too_small_drop_what_conforms() {
    let payload: u64 = 96_000;
    let period = 3 * MILLISECOND;
    let bytes: u64 = udp_frames(payload).iter().sum();
    for (jitter, policer, drops) in [
        (0, Policer::Meter { burst: bytes, bytes, period, counts: Counts::Wire, tick: MILLISECOND }, false),
        (
            0,
            Policer::Meter {
                burst: payload,
                bytes: payload,
                period,
                counts: Counts::Wire,
                tick: MILLISECOND,
            },
            true,
        ),
        (0, Policer::Gate { bytes, window: bytes * GIGABIT, separation: period, tolerance: 0 }, false),
        (
            MILLISECOND,
            Policer::Gate { bytes, window: bytes * GIGABIT, separation: period, tolerance: 0 },
            true,
        ),
        (
            MILLISECOND,
            Policer::Gate { bytes, window: bytes * GIGABIT, separation: period, tolerance: MILLISECOND },
            false,
        ),
        (
            MILLISECOND,
            Policer::Meter { burst: bytes, bytes, period, counts: Counts::Wire, tick: MILLISECOND },
            true,
        ),
        (
            MILLISECOND,
            Policer::Meter {
                burst: bytes * 4 / 3 + 1,
                bytes,
                period,
                counts: Counts::Wire,
                tick: MILLISECOND,
            },
            false,
        ),
    ] {
        let flow = gated(udp_frames(payload), period, jitter, Vec::new());
        let network = one_switch(vec![(1, Flow { policer: Some(policer), ..flow })]);
        let policed = attack(&network, 0, 1).outcome.policed[0];
        assert_eq!(policed > 0, drops, "{policer:?}, jitter {jitter}: {policed} dropped");
    }
}

/// A gate for others than the conforming: what comes through is one message per period and its window.
#[test]
fn a_babbler_uses_the_window_of_its_gate() {
    let period = MILLISECOND;
    let claim = |window_counts: bool| {
        let window = if window_counts { 2 } else { 1 };
        // Blocking, store and forward, own frame, and as many messages of 20 frames.
        3 * FRAME + window * 20 * FRAME
    };
    let network = |window: u64| {
        let policer = Policer::Gate { bytes: 20 * FULL, window, separation: period, tolerance: 0 };
        let babbler = gated(vec![FULL; 20], period, 0, Vec::new());
        let babbler = Flow { policer: Some(policer), babbles: true, ..babbler };
        one_switch(vec![(2, babbler), (1, gated(vec![FULL; 1], 20 * period, 0, Vec::new()))])
    };
    // A window as short as the message: one message at a time.
    let found = attack(&network(20 * FRAME), 1, 1);
    assert!(found.outcome.policed[0] > 0);
    assert!(found.latency <= claim(false), "{}", found.latency);
    // A window of nearly the period: two messages one after the other.
    let found = attack(&network(period - FRAME), 1, 1);
    assert!(found.latency > claim(false) && found.latency <= claim(true), "{}", found.latency);
}

/// One flow for each subscriber instead of one tree: what the tree does at a shared port is then tested against
/// nothing, and a bucket is judged by what it lets through at one subscriber only.
#[test]
fn a_tree_meets_others_at_each_of_its_ports() {
    let nodes = vec![Node::Host, Node::Host, SWITCH, Node::Host, Node::Host];
    let ports = vec![port(0, 2), port(1, 2), port(2, 3), port(2, 4)];
    let tree = gated(vec![FULL; 10], MILLISECOND, 0, hops(&[0, 2, 3], 2));
    let other = gated(vec![FULL], MILLISECOND, 0, hops(&[1, 3], 1));
    let contract = Contract::Gated { separation: MILLISECOND, jitter: 0, emission: 0 };
    let network = Network::new(nodes, ports, vec![tree, Flow { contract, ..other }]).unwrap();
    let alone = 2 * FRAME;
    let found = attack(&network, 1, 1).latency;
    assert!(found > alone);
    assert_eq!(found, alone + 10 * FRAME);
}
