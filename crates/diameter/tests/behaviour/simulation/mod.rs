//! A client, a relay and a server, each connected with both others, from a seed: connections are cut and fall silent,
//! requests go by another way and arrive twice, programs lose what is not stored, and the judge looks on.

mod client;
mod judge;
mod network;
mod relay;
mod server;

use client::ClientNode;
use diameter::peer::Event;
use judge::Judge;
use network::{CLIENT, Due, Network, RELAY, SECOND, Seen};
use relay::RelayNode;
use server::ServerNode;
use testkit::random::Random;

/// Kinds of [`Due::Owner`].
const FAULT: u64 = 0;
const CLIENT_TICK: u64 = 1;
const SERVER_TICK: u64 = 2;
const SERVER_STORED: u64 = 3;
const CLIENT_STORED: u64 = 4;

const FAULTS_END: u64 = 600 * SECOND;
const END: u64 = 1500 * SECOND;

/// What a run has seen, besides what the network has.
#[derive(Default, Debug)]
struct Totals {
    opens: u64,
    elections: u64,
    suspensions: u64,
    resumptions: u64,
    unanswered: u64,
    cuts: u64,
    doubles: u64,
    granted: u64,
    renewed: u64,
    refused: u64,
    unreachable: u64,
    aborted: u64,
    expired: u64,
    restarts: u64,
    accounted: u64,
}

struct World {
    network: Network,
    client: ClientNode,
    relay: RelayNode,
    server: ServerNode,
    judge: Judge,
}

impl World {
    /// Takes events until there is none.
    fn settle(&mut self) {
        loop {
            let mut quiet = true;
            for (node, other) in self.network.peers.keys().copied().collect::<Vec<_>>() {
                while let Some(event) = self.network.peers.get_mut(&(node, other)).unwrap().poll_event() {
                    quiet = false;
                    let Some(event) = self.network.on_event(node, other, event) else { continue };
                    self.on_event(node, other, event);
                }
            }
            self.client.settle(&mut self.network, &mut self.judge);
            if quiet {
                break;
            }
        }
        self.network.flush();
    }

    fn on_event(&mut self, node: usize, other: usize, event: Event) {
        match node {
            CLIENT => self.client.on_event(&mut self.network, &mut self.judge, other, event),
            RELAY => self.relay.on_event(&mut self.network, other, event),
            _ => self.server.on_event(&mut self.network, &mut self.judge, other, event),
        }
    }

    fn on_owner(&mut self, what: u64, number: u64) {
        let now = self.network.now;
        match what {
            FAULT if now < FAULTS_END => {
                self.network.break_something();
                let next = now + self.network.random.range(1, 60 * SECOND);
                self.network.schedule(next, Due::Owner { what: FAULT, number: 0 });
                if self.network.random.one_in(8) {
                    self.client.restart_spool(&self.network);
                }
                if self.network.random.one_in(8) {
                    self.server.lose_memory(&mut self.network);
                }
            }
            FAULT => {
                // Silent connections are found by the watchdogs.
                self.network.faults = false;
            }
            CLIENT_TICK => {
                self.client.tick(&mut self.network, &mut self.judge);
                self.network.schedule(now + SECOND, Due::Owner { what, number });
            }
            SERVER_TICK => {
                self.server.tick(&mut self.network, now < FAULTS_END);
                self.network.schedule(now + SECOND, Due::Owner { what, number });
            }
            SERVER_STORED => self.server.stored(&mut self.network, &mut self.judge, number),
            _ => self.client.stored(&mut self.network, &mut self.judge, number),
        }
    }
}

fn run(seed: u64) -> Totals {
    let mut random = Random::of_case(5, seed);
    let client = ClientNode::new(&mut random);
    let server = ServerNode::new();
    let mut world = World {
        network: Network::new(random),
        client,
        relay: RelayNode::default(),
        server,
        judge: Judge::default(),
    };
    world.network.start();
    for what in [FAULT, CLIENT_TICK, SERVER_TICK] {
        world.network.schedule(SECOND, Due::Owner { what, number: 0 });
    }
    world.settle();
    let mut steps = 0_u64;
    while let Some(due) = world.network.next_due(END, world.client.due()) {
        match due {
            Some(Due::Owner { what, number }) => world.on_owner(what, number),
            Some(due) => world.network.on_due(due),
            None => world.network.on_timers(),
        }
        let now = world.network.now;
        world.client.on_timers(now);
        world.server.on_timers(now);
        world.settle();
        world.judge.check(world.network.now);
        world.network.check_limits();
        world.client.check_limits();
        world.server.check_limits();
        steps += 1;
        assert!(steps < 1_000_000, "it does not come to an end");
    }
    world.client.finish();
    world.server.finish();
    world.judge.finish();
    for peer in world.network.peers.values() {
        assert!(peer.is_available(), "all is well again");
        assert_eq!((peer.pending(), peer.requested()), (0, 0));
    }
    let Seen { opens, elections, suspensions, resumptions, unanswered, cuts } = world.network.seen;
    let counts = &world.client.counts;
    Totals {
        opens,
        elections,
        suspensions,
        resumptions,
        unanswered,
        cuts,
        doubles: world.judge.doubles,
        granted: counts.granted,
        renewed: counts.renewed,
        refused: counts.refused,
        unreachable: counts.unreachable,
        aborted: counts.aborted,
        expired: counts.expired,
        restarts: counts.restarts,
        accounted: world.judge.accounted_records() as u64,
    }
}

#[test]
fn nothing_opens_without_a_grant_and_each_record_is_accounted_once() {
    let mut sum = Totals::default();
    // A run takes as long as many cases of the other properties.
    for seed in tiers::current().seeds("property.cases").step_by(5) {
        let result = std::panic::catch_unwind(|| run(seed));
        let Ok(totals) = result else { panic!("seed {seed} fails: see above") };
        sum.opens += totals.opens;
        sum.elections += totals.elections;
        sum.suspensions += totals.suspensions;
        sum.resumptions += totals.resumptions;
        sum.unanswered += totals.unanswered;
        sum.cuts += totals.cuts;
        sum.doubles += totals.doubles;
        sum.granted += totals.granted;
        sum.renewed += totals.renewed;
        sum.refused += totals.refused;
        sum.unreachable += totals.unreachable;
        sum.aborted += totals.aborted;
        sum.expired += totals.expired;
        sum.restarts += totals.restarts;
        sum.accounted += totals.accounted;
    }
    println!("{sum:?}");
    let all = [
        sum.opens,
        sum.elections,
        sum.suspensions,
        sum.resumptions,
        sum.unanswered,
        sum.cuts,
        sum.doubles,
        sum.granted,
        sum.renewed,
        sum.refused,
        sum.unreachable,
        sum.aborted,
        sum.expired,
        sum.restarts,
        sum.accounted,
    ];
    assert!(all.iter().all(|count| *count > 0), "something was never tried: {sum:?}");
}
