//! Networks that random ones seldom hit, with schedules worked out by hand: what is promised for them is not less than what happens.
use frames::{
    Attack, Becomes, BestEffort, Bounds, Change, Contract, Flow, Hop, Message, Multiplexing, Network, Node,
    Outcome, Pattern, Port, Spacing, Ties, Timing, run,
};
use latency::framing::{Framing, Ip};
use latency::ledger::{Ledger, Move, Reason};
use latency::network::{Buffer, Policing, Subscriber};
use latency::order::{settling, verified_order};
use latency::split::Split;

/// Picoseconds of a byte at 1 Gb/s.
const GIGABIT: u64 = 8_000;
const NANOSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000_000;
/// Bytes on the wire of the largest and of the smallest frame.
const FULL: u64 = 1_538;
const LEAST: u64 = 84;
/// When everything has begun.
const BEGIN: u64 = MILLISECOND;

/// A host's link to a switch, and the link from there to another host.
fn two_links(flows: Vec<Flow>, imperfections: frames::Imperfections) -> Network {
    let nodes = vec![Node::Host, Node::Switch { fastest: 0, slowest: 0, ordered: true }, Node::Host];
    let ports = vec![
        Port::ideal(0, 1, GIGABIT),
        Port { imperfections, best_effort: FULL, ..Port::ideal(1, 2, GIGABIT) },
    ];
    Network::new(nodes, ports, flows).unwrap()
}

fn source(frames: Vec<u64>, contract: Contract, hops: &[(usize, u8)]) -> Flow {
    let tree = hops.iter().map(|(port, level)| Hop { port: *port, level: *level }).collect();
    Flow::new(tree, frames, contract)
}

/// Every source sends as soon as it may from an instant of its own on.
fn outcome(
    network: &Network,
    from: &[u64],
    best_effort: BestEffort,
    attack: impl Fn(&mut Attack),
) -> Outcome {
    let timing = |pivot: &u64| Timing {
        pivot: *pivot,
        before: 0,
        pattern: Pattern::Steady,
        message: Message::Heaviest,
        spacing: Spacing::LATEST,
    };
    let mut all = Attack {
        timings: from.iter().map(timing).collect(),
        end: BEGIN + MILLISECOND / 50,
        target: None,
        ties: Ties::Against,
        best_effort,
        multiplexing: Multiplexing::Slowest,
        changes: Vec::new(),
        seed: 0,
    };
    attack(&mut all);
    run(network, &all, &Bounds::default())
}

/// A port of `latency` at 1 Gb/s with one queue, where nothing else comes.
fn plain() -> latency::network::Port {
    latency::network::Port {
        rate: 1_000_000_000,
        propagation: 0,
        least_multiplexing: 0,
        most_multiplexing: 0,
        keeps_order: true,
        queues: 1,
        best_effort: 0,
        control: None,
        tag: 0,
        largest_frame: 1_538,
        buffer: Buffer::Shared(1_000_000),
        imperfections: latency::network::Imperfections::default(),
    }
}

/// A flow along both links, of messages of so many bytes in datagrams of UDP.
fn flow(bytes: u32, separation: u64) -> latency::network::Flow {
    latency::network::Flow {
        largest_message: bytes,
        smallest_message: bytes,
        framing: Framing::Udp { datagram: 1_472, ip: Ip::V4 },
        tag: 0,
        separation,
        maximum_separation: None,
        jitter: 0,
        emission: 0,
        slack: 0,
        policing: Policing::Trusted,
        tree: vec![
            latency::network::Hop { port: 0, parent: None },
            latency::network::Hop { port: 1, parent: Some(0) },
        ],
        subscribers: vec![Subscriber { hop: 1, limit: MILLISECOND, maximum_separation: None }],
        importance: 0,
        bundle: None,
    }
}

/// A frame of control keeps its place in the buffer until its last bit has left, and meanwhile small frames of a flow come.
///
/// At some instant a full frame of control comes to the switch and is on the wire for 12.304 us. A flow sends a frame of 84 bytes every
/// 0.75 us, of which the first comes at that instant, and the seventeenth 12 us later. Just before the frame of control has left the
/// buffer holds 1538 + 17 * 84 = 2966 bytes. A full frame and two frames of the flow would be 1706 bytes.
#[test]
fn a_buffer_holds_the_frame_of_control_that_is_on_the_wire() {
    const HELD: u64 = FULL + 17 * LEAST;
    let separation = 750 * NANOSECOND;
    let contract = Contract::Gated { separation, jitter: 0, emission: 0 };
    let small = source(vec![LEAST], contract, &[(0, 0), (1, 0)]);
    // 125 bytes each millisecond are 1 Mb/s.
    let contract = Contract::Bucket { burst: FULL, bytes: 125, period: MILLISECOND };
    let control = source(vec![FULL], contract, &[(1, 8)]);
    let lost = |buffer| {
        let imperfections = frames::Imperfections { pool: Some(buffer), ..frames::Imperfections::default() };
        let network = two_links(vec![small.clone(), control.clone()], imperfections);
        outcome(&network, &[BEGIN - LEAST * GIGABIT, BEGIN], BestEffort::Never, |_| ()).lost
    };
    assert_eq!((lost(HELD), lost(HELD - 1)), (vec![0, 0], vec![1, 0]));

    let flow = flow(18, separation);
    let admitted = |buffer| {
        let control = latency::port::Control { burst: FULL * 8, rate: 1_000_000 };
        let switch =
            latency::network::Port { control: Some(control), buffer: Buffer::Shared(buffer), ..plain() };
        Ledger::new(vec![plain(), switch], Split::Last).plan_as_asked(0, &flow).map(|_| ())
    };
    for buffer in [FULL + 2 * LEAST, HELD - 1] {
        let refused = admitted(buffer);
        assert!(matches!(refused, Err(Reason::Buffer { port: 1, .. })), "{buffer}: {refused:?}");
    }
    assert_eq!(admitted(2 * HELD), Ok(()));
}

/// The first frame of a message stays behind when its flow moves up, and all others overtake it.
///
/// A host sends ten full frames one after the other. Each takes a slot of 12.304 us, as on the link behind the switch, where a frame of best
/// effort has just begun when the first one comes. Left alone each frame waits for that slot, and has left after two. But the flow moves up
/// just behind the first one: the second comes when the frame of best effort ends and is sent, then the third, and so on until the tenth. So
/// the first one has left eleven slots after the step.
#[test]
fn the_first_frame_of_a_message_stays_until_all_others_have_overtaken_it() {
    const SLOT: u64 = FULL * GIGABIT;
    let contract = Contract::Gated { separation: 10 * MILLISECOND, jitter: 0, emission: 0 };
    let network = two_links(
        vec![source(vec![FULL; 10], contract, &[(0, 0), (1, 0)])],
        frames::Imperfections::default(),
    );
    let up = Change { at: BEGIN, flow: 0, becomes: Becomes::Level { hop: 1, level: 1 } };
    let delay = |changes: &[Change]| {
        let outcome = outcome(&network, &[BEGIN - SLOT], BestEffort::Always, |attack| {
            attack.changes = changes.to_vec();
        });
        outcome.delay[0][1]
    };
    assert_eq!((delay(&[]), delay(&[up])), (2 * SLOT, 11 * SLOT));

    let ports = [plain(), latency::network::Port { queues: 2, best_effort: 1_538, ..plain() }];
    // At the host a message takes ten slots.
    let contender = flow(14_720, 10 * MILLISECOND).contenders(&ports, &[10 * SLOT]).unwrap()[1];
    let (server, limit) = (ports[1].server(), 2 * SLOT);
    let step = Move { port: 1, flow: 0, from: 0, to: 1 };
    let steps = verified_order(&server, &[0], &[contender], &[limit], &[step]);
    assert_eq!(steps, Some(vec![step]), "at each level a frame takes two slots");
    let settled = settling(&contender, limit, &step).unwrap();
    assert!(settled >= delay(&[up]), "nothing is said to be left behind after {settled}");
}
