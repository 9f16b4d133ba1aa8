//! The world keeps time and order.
use super::*;
use crate::network::{Attachment, Profile};
use crate::node::Observation;
use crate::random::Random;
use rtps::Path;

/// Sends numbers every millisecond, repeats each until it is echoed; or echoes.
struct Toy {
    peer: Option<SocketAddr>,
    number: u8,
    last: u8,
    due: Instant,
    echo: Option<(SocketAddr, Vec<u8>)>,
    read: Vec<u8>,
}

impl Toy {
    const STEP: Duration = Duration::from_millis(1);

    fn sender(peer: SocketAddr, last: u8) -> Self {
        Self { peer: Some(peer), number: 1, last, due: Instant::START, echo: None, read: Vec::new() }
    }

    fn mirror() -> Self {
        Self { peer: None, number: 0, last: 0, due: Instant::NEVER, echo: None, read: Vec::new() }
    }
}

impl Node for Toy {
    type Observation = Observation;

    fn handle_datagram(&mut self, _: Now, from: SocketAddr, _: SocketAddr, bytes: &[u8]) {
        self.read.push(bytes[0]);
        if self.peer.is_none() {
            self.echo = Some((from, bytes.to_vec()));
        } else if bytes[0] == self.number {
            self.number += 1;
            if self.number > self.last {
                self.due = Instant::NEVER;
            }
        }
    }

    fn poll_transmit(&mut self, now: Now, out: &mut Outgoing) -> bool {
        if let Some((to, bytes)) = self.echo.take() {
            out.paths.push(Path::routed(to, 1_472));
            out.bytes.extend(bytes);
            return true;
        }
        let Some(peer) = self.peer.filter(|_| self.due <= now.monotonic) else { return false };
        self.due = now.monotonic.after(Self::STEP);
        out.paths.push(Path::routed(peer, 1_472));
        out.bytes.push(self.number);
        true
    }

    fn poll_timeout(&self) -> Instant {
        self.due
    }

    fn take_observations(&mut self, _: &mut Vec<Observation>) {}

    fn excess(&self) -> Option<String> {
        None
    }
}

const PORT: u16 = 7_410;

fn world(profile: Profile, seed: u64, buffer: usize) -> World<'static, Toy, u8> {
    let mut network = Network::new(Random::new(seed));
    let segment = network.add_segment(profile);
    let mut world = World::new(network, Trace::silent());
    for _ in 0..2 {
        let host = world.network.add_host(&[Attachment { segment, ipv4: true, ipv6: false }]);
        let process = Process { host, port: PORT, receive_buffer: buffer, service_time: Duration::ZERO };
        let node = world.add_process(process);
        world.network.bind(host, PORT, node);
    }
    world
}

fn start(world: &mut World<'_, Toy, u8>, last: u8) {
    world.start(NodeId(1), Toy::mirror());
    world.start(NodeId(0), Toy::sender("10.0.0.2:7410".parse().unwrap(), last));
}

fn play(world: &mut World<'_, Toy, u8>, until: u64) -> Vec<u8> {
    let mut controls = Vec::new();
    loop {
        match world.step(Instant::from_nanos(until)) {
            Step::Ended => return controls,
            Step::Control(control) => controls.push(control),
            Step::Acted(_) | Step::Passed => {}
        }
    }
}

#[test]
fn nodes_talk_and_then_fall_silent() {
    let mut world = world(Profile::CALM, 1, 100_000);
    start(&mut world, 50);
    world.schedule(Instant::from_nanos(7), 7);
    assert_eq!(play(&mut world, 1_000_000_000), [7]);
    assert_eq!(world.node(NodeId(1)).unwrap().read, (1..=50).collect::<Vec<u8>>());
    assert_eq!((world.sent(NodeId(0)), world.sent(NodeId(1))), (50, 50));
    assert_eq!(world.now(), Instant::from_nanos(1_000_000_000));
    assert!(world.queue.is_empty() && world.violation().is_none());
}

#[test]
fn a_seed_fixes_a_run_and_another_gives_another() {
    let hash = |seed| {
        let mut world = world(Profile { loss: 300_000, ..Profile::CALM }, seed, 100_000);
        start(&mut world, 50);
        play(&mut world, 1_000_000_000);
        assert_eq!(world.node(NodeId(0)).unwrap().number, 51);
        assert!(world.sent(NodeId(0)) > 50);
        world.trace.hash()
    };
    assert_eq!(hash(3), hash(3));
    assert_ne!(hash(3), hash(4));
}

#[test]
fn a_stalled_process_neither_reads_nor_wakes_and_its_buffer_overflows() {
    let mut world = world(Profile::CALM, 1, 10 * (DATAGRAM_COST + 1));
    start(&mut world, 50);
    let lasts = Duration::from_millis(100);
    assert!(world.inflict(&Fault::Stall { node: NodeId(1), lasts }));
    play(&mut world, 99_000_000);
    assert!(world.node(NodeId(1)).unwrap().read.is_empty() && world.is_stalled(NodeId(1)));
    assert!(world.coverage.count(Situation::Overflow) > 80);
    play(&mut world, 1_000_000_000);
    assert_eq!(world.node(NodeId(0)).unwrap().number, 51);
    let sent = world.sent(NodeId(0));
    let lasts = Duration::from_millis(100);
    world.command(NodeId(0), |node, now| {
        node.number = 1;
        node.due = now.monotonic.after(Toy::STEP);
    });
    world.inflict(&Fault::Stall { node: NodeId(0), lasts });
    play(&mut world, 1_050_000_000);
    assert_eq!(world.sent(NodeId(0)), sent);
    play(&mut world, 1_102_000_000);
    assert!(world.sent(NodeId(0)) > sent);
}

#[test]
fn a_node_that_is_gone_gets_nothing_any_more() {
    let mut world = world(Profile::CALM, 1, 100_000);
    start(&mut world, 50);
    play(&mut world, 10_500_000);
    let gone = world.stop(NodeId(1)).unwrap();
    let number = world.node(NodeId(0)).unwrap().number;
    play(&mut world, 100_000_000);
    assert_eq!(world.node(NodeId(0)).unwrap().number, number);
    let host = world.process(NodeId(1)).unwrap().host;
    world.network.bind(host, PORT, NodeId(1));
    world.start(NodeId(1), gone);
    play(&mut world, 1_000_000_000);
    assert_eq!(world.node(NodeId(0)).unwrap().number, 51);
}

#[test]
fn a_timer_in_the_past_is_a_livelock() {
    let mut world = world(Profile::CALM, 1, 100_000);
    world.start(NodeId(1), Toy { due: Instant::START, ..Toy::mirror() });
    assert_eq!(world.violation().unwrap().invariant, Invariant::NoLivelock);
}
