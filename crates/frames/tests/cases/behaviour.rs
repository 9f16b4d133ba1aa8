//! Small runs whose every instant can be worked out by hand: what the simulator does is what the model says.
use super::networks::{FULL, GIGABIT, MILLISECOND, gated, one_port, one_switch, table_two};
use frames::{
    Attack, Becomes, BestEffort, Bounds, Change, Effort, Flow, Hop, Imperfections, Message, Multiplexing,
    Network, Node, Outcome, Pattern, Port, Search, Spacing, Ties, Timing, run,
};

/// Each flow releases once, at its pivot.
fn once(network: &Network, pivots: &[u64], change: impl FnOnce(&mut Attack)) -> Outcome {
    let timing = |pivot: &u64| Timing {
        pivot: *pivot,
        before: 0,
        pattern: Pattern::Steady,
        message: Message::Heaviest,
        spacing: Spacing::LATEST,
    };
    let mut attack = Attack {
        timings: pivots.iter().map(timing).collect(),
        end: 1000 * MILLISECOND - 1,
        target: None,
        ties: Ties::Against,
        best_effort: BestEffort::Never,
        multiplexing: Multiplexing::Slowest,
        changes: Vec::new(),
        seed: 0,
    };
    change(&mut attack);
    run(network, &attack, &Bounds::default())
}

fn single(bytes: u64) -> Flow {
    gated(vec![bytes], 1000 * MILLISECOND, 0, Vec::new())
}

/// Host, switch, host with different rates.
fn path() -> Network {
    let port = |from, to, picoseconds_per_byte, propagation| Port {
        propagation,
        best_effort: 500,
        ..Port::ideal(from, to, picoseconds_per_byte)
    };
    let nodes =
        vec![Node::Host, Node::Switch { fastest: 70, slowest: 90, ordered: true }, Node::Host, Node::Host];
    let ports = vec![port(0, 1, 10, 7), port(1, 2, 20, 5), port(1, 3, 5, 3)];
    let tree = (0..3).map(|port| Hop { port, level: 1 }).collect();
    let flow = gated(vec![100, 50], 1000 * MILLISECOND, 0, tree);
    Network::new(nodes, ports, vec![flow]).unwrap()
}

#[test]
fn frames_are_stored_and_forwarded_to_every_subscriber() {
    let outcome = once(&path(), &[10], |_| ());
    // The host sends until 1000 and 1500; the switch has the frames at 1007 and 1507 and 90 later in its queues;
    // the slow port sends the second frame when the first is out, the fast one at once.
    assert_eq!(outcome.latency, [vec![1507, 1097 + 2000 + 1000 + 5, 1597 + 250 + 3]]);
    assert_eq!(outcome.delay, [vec![1500, 2000 + 1000 - 500, 500]]);
    assert_eq!(outcome.received, [vec![2, 2, 2]]);
    // The second frame comes to the fast port in the instant in which the first is out: counted together.
    assert_eq!(outcome.flow_backlog, [vec![150, 150, 150]]);
    assert_eq!(outcome.port_backlog, [150, 150, 150]);
    let outcome = once(&path(), &[10], |attack| attack.multiplexing = Multiplexing::Fastest);
    assert_eq!(outcome.latency[0][2], 1577 + 250 + 3);
}

#[test]
fn best_effort_blocks_once_for_each_pause() {
    let outcome = once(&path(), &[10], |attack| attack.best_effort = BestEffort::Always);
    // The host is blocked for 5000. The slow port, for 10000, until both frames are there. The fast port is blocked
    // for 2500, so that both frames are there as well.
    assert_eq!(outcome.latency, [vec![6507, 6097 + 10_000 + 3000 + 5, 6097 + 2500 + 750 + 3]]);
}

#[test]
fn levels_are_strict_and_a_frame_is_not_preempted() {
    let network = one_port(vec![(1, single(100)), (2, single(200)), (3, single(300)), (3, single(400))], 0);
    let taken = |pivots, ties| {
        let outcome = once(&network, pivots, |attack| attack.ties = ties);
        outcome.latency.iter().map(|hops| hops[0] / GIGABIT).collect::<Vec<_>>()
    };
    // The lowest starts alone; the others come while it is on the wire.
    assert_eq!(taken(&[10, 11, 11, 11], Ties::Against), [100, 999, 399, 799]);
    // All together: highest level first, first come first served within it.
    assert_eq!(taken(&[10, 10, 10, 10], Ties::Against), [1000, 900, 300, 700]);
    // The choice comes before the other arrivals of its instant.
    assert_eq!(taken(&[10, 10, 10, 10], Ties::ChoiceFirst), [100, 1000, 400, 800]);
    let against_third = |attack: &mut Attack| attack.target = Some(2);
    let outcome = once(&network, &[10, 10, 10, 10], against_third);
    assert_eq!(outcome.latency[2][0] / GIGABIT, 700);
    assert_eq!((outcome.level_backlog[0][3], outcome.port_backlog[0]), (700, 1000));
}

/// What does not fit into the buffer is lost, and is not more than what does not fit.
#[test]
fn buffers_are_finite() {
    let flows = || table_two([3, 2, 1], 0);
    let effort = Effort::default();
    let bounds = Bounds::default();
    let unlimited = one_switch(flows());
    let found = Search::new(&unlimited, &bounds, 2, 1, effort).worst(1);
    // All of T2 and T3, sent while T1 is on the wire, and up to three frames of T1 after a best-effort frame.
    let backlog = found.outcome.port_backlog[3];
    println!("backlog {backlog}");
    assert!((167_260..=167_260 + 3 * FULL).contains(&backlog), "{backlog}");
    let (nodes, ports) = (unlimited.nodes().to_vec(), unlimited.ports().to_vec());
    let limited = |buffer| {
        let mut ports = ports.clone();
        ports[3].buffer = buffer;
        let network = Network::new(nodes.clone(), ports, unlimited.flows().to_vec()).unwrap();
        run(&network, &found.attack, &bounds)
    };
    let levels = found.outcome.level_backlog[3];
    assert_eq!(limited(levels.into_iter().max().unwrap()).lost, [0, 0, 0]);
    let outcome = limited(50_000);
    assert!(outcome.lost[0] == 0 && outcome.lost[2] > 0, "{:?}", outcome.lost);
    assert!(outcome.level_backlog[3].into_iter().all(|bytes| bytes <= 50_000));
    assert!((0..3).all(|flow| outcome.received[flow][1] + outcome.lost[flow] == outcome.released[flow]));
}

/// One port with imperfections, and a frame of nobody's before each that comes to a port that rests.
fn imperfect(flows: Vec<(u8, Flow)>, imperfections: Imperfections, pivots: &[u64]) -> Vec<u64> {
    let network = one_port(flows, 1000);
    let port = Port { imperfections, ..network.ports()[0].clone() };
    let network = Network::new(network.nodes().to_vec(), vec![port], network.flows().to_vec()).unwrap();
    let outcome = once(&network, pivots, |attack| attack.best_effort = BestEffort::Always);
    outcome.latency.iter().map(|hops| hops[0] / GIGABIT).collect()
}

#[test]
fn a_link_wakes_before_it_sends_what_comes_first() {
    let flows = || vec![(1, single(100)), (1, single(100))];
    let asleep = Imperfections { wake: 50 * GIGABIT, ..Imperfections::default() };
    assert_eq!(imperfect(flows(), asleep, &[10, 10 + 1200 * GIGABIT]), [1150, 1150]);
    assert_eq!(imperfect(flows(), asleep, &[10, 10 + 1100 * GIGABIT]), [1150, 150]);
}

#[test]
fn what_a_card_has_taken_goes_first() {
    let card = Imperfections { ring: 250, ..Imperfections::default() };
    // Behind a frame of no flow on the wire there are 250 bytes of others.
    assert_eq!(imperfect(vec![(1, single(100))], card, &[10]), [1350]);
    // When the first frame is in the card there is room behind it for 150 bytes, and these are there when the second one comes.
    let flows = vec![(1, single(100)), (2, single(100))];
    assert_eq!(imperfect(flows, card, &[10, 10 + 1100 * GIGABIT]), [1350, 1350 + 150 + 100 - 1100]);
    // A high one overtakes what waits for the card, and not what is in it.
    let flows = || vec![(1, single(100)), (1, single(200)), (2, single(100))];
    assert_eq!(imperfect(flows(), card, &[10, 10, 10 + GIGABIT]), [1450, 1650, 1349]);
    assert_eq!(imperfect(flows(), card, &[10, 10, 10 + 1001 * GIGABIT]), [1350, 1650, 449]);
}

#[test]
fn frames_take_cells_and_pools_are_for_all_levels() {
    let lost = |imperfections: Imperfections, buffer: u64| {
        let network = one_port(vec![(1, single(100)), (1, single(100)), (2, single(101))], 0);
        let port = Port { imperfections, buffer, ..network.ports()[0].clone() };
        let network = Network::new(network.nodes().to_vec(), vec![port], network.flows().to_vec()).unwrap();
        once(&network, &[10, 10, 10], |_| ()).lost
    };
    let (plain, cells) = (Imperfections::default(), Imperfections { cell: 100, ..Imperfections::default() });
    assert_eq!(lost(plain, 199), [0, 1, 0]);
    assert_eq!(lost(cells, 200), [0, 0, 0]);
    assert_eq!(lost(cells, 199), [0, 1, 1]);
    assert_eq!(lost(Imperfections { pool: Some(301), ..plain }, u64::MAX), [0, 0, 0]);
    assert_eq!(lost(Imperfections { pool: Some(300), ..plain }, u64::MAX), [0, 0, 1]);
    assert_eq!(lost(Imperfections { pool: Some(399), ..cells }, u64::MAX), [0, 0, 1]);
}

/// Three frames wait when their flow moves up; what comes then is sent before them, and they stay in turn.
#[test]
fn what_is_queued_stays_where_it_is_when_a_flow_changes_its_level() {
    let flow = gated(vec![100; 3], 1_000, 0, vec![Hop { port: 0, level: 1 }]);
    let other = gated(vec![300], MILLISECOND, 0, vec![Hop { port: 0, level: 2 }]);
    let port = Port::ideal(0, 1, 10);
    let network = Network::new(vec![Node::Host; 2], vec![port], vec![flow, other]).unwrap();
    let outcome = |at| {
        once(&network, &[1_000, 1_000], |attack| {
            attack.end = 2_500;
            attack.target = Some(0);
            attack.changes = vec![Change { at, flow: 0, becomes: Becomes::Level { hop: 0, level: 3 } }];
        })
    };
    // The other flow is sent first, then three frames, then, from 7,000 on, those of 2,000.
    assert_eq!(
        outcome(9_000).deliveries.iter().map(|message| message.last).collect::<Vec<_>>(),
        [7_000, 10_000]
    );
    // What comes at 2,000 is above both: it waits for the frame on the wire, until 4,000, and is done at 7,000.
    let early = outcome(1_500);
    assert_eq!(early.deliveries.iter().map(|message| message.last).collect::<Vec<_>>(), [10_000, 7_000]);
    assert_eq!(early.level_backlog[0][1..4], [300, 300, 300]);
}
