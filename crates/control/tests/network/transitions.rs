//! Flows that move to other levels to make room, while their frames are queued: each step waits for what is queued at the former level,
//! and no frame is late meanwhile.
use std::collections::BTreeMap;
use std::time::Duration;

use wire::admission::{Contract, Request, Socket, State};

use crate::cases::{MS, at_once, pair};
use crate::judge::{Case, Moved, judge_while};
use crate::networks::{GATES, network, open_vswitch};
use crate::random::Random;
use crate::world::{Trace, World, packet_of, request};

type Flow = (Socket, Socket);

/// A gate that another contract was set for.
struct Regated {
    at: u64,
    /// The source port of its flow.
    flow: u16,
    is_wider: bool,
}

/// A network in which flows are admitted one after the other.
struct Play {
    world: World,
    /// Requests that were admitted, with the hosts of both sides.
    admitted: Vec<(Request, usize, usize)>,
}

impl Play {
    /// The ways and levels of the flows now.
    fn traces(&mut self) -> BTreeMap<Flow, Trace> {
        let flows = self.admitted.iter().map(|(asked, from, to)| {
            let verdict = &self.world.verdicts[&asked.pair()];
            let packet = packet_of(asked, *from, *to, verdict.dscp);
            let arrived = self.world.send(*from, packet);
            assert_eq!(arrived.len(), 1, "{asked:?}");
            ((asked.source, asked.destination), arrived[0].2.clone())
        });
        flows.collect()
    }

    /// Asks for a flow, and watches until it is answered: which flows moved meanwhile, which gates changed, and when it was answered, in
    /// nanoseconds.
    fn ask(&mut self, asked: &Request) -> (Vec<Moved>, Vec<Regated>, u64) {
        let (began, mut before, mut moves) = (self.world.now, self.traces(), Vec::new());
        let (mut gates, mut regated) = (self.world.gates.clone(), Vec::new());
        self.world.ask(asked.clone());
        let until = began + Duration::from_secs(2);
        loop {
            self.world.settle();
            let at = u64::try_from((self.world.now - began).as_nanos()).unwrap();
            let now = self.traces();
            for (flow, trace) in &now {
                let moved = trace.iter().zip(&before[flow]).filter(|(now, before)| now != before);
                moves.extend(moved.map(|((link, dscp), _)| Moved {
                    at,
                    flow: *flow,
                    link: *link,
                    dscp: *dscp,
                }));
            }
            before = now;
            for (old, new) in gates.iter().zip(&self.world.gates) {
                for (key, contract) in old {
                    let Some(changed) = new.get(key).filter(|new| *new != contract) else { continue };
                    let flow = key.flow.source_port;
                    regated.push(Regated { at, flow, is_wider: changed.tolerance > contract.tolerance });
                }
            }
            gates.clone_from(&self.world.gates);
            if self.world.state(asked.pair()) != Some(State::Pending) {
                return (moves, regated, at);
            }
            let next =
                self.world.manager.poll_timeout().filter(|next| *next <= until).expect("it is answered");
            self.world.pass(next - self.world.now);
        }
    }

    /// The delay that a flow is promised at a link, in nanoseconds, as the store has it.
    fn share(&self, flow: Flow, link: usize) -> u64 {
        let stored = |socket: Socket| (socket.address.into(), socket.port);
        let grants = self.world.store.values();
        let mut grants =
            grants.filter(|grant| (grant.source, grant.destination) == (stored(flow.0), stored(flow.1)));
        let network = &self.world.network;
        let link = &network.links[link];
        let ends = (network.node_name(link.from), network.node_name(link.to));
        let hops = &grants.next().expect("it is stored").hops;
        let hop = hops.iter().find(|hop| (&*hop.from, &*hop.to) == ends);
        hop.expect("it passes there").share / 1_000
    }
}

/// What a reader asks for: some with short limits, some that have time for several messages.
fn some_contract(random: &mut Random) -> (Contract, u64) {
    let bytes = *random.of(&[200, 1_300, 4_000, 9_000, 20_000]);
    // At 100 Mb/s.
    let message = u64::from(bytes + 300) * 80;
    let separation = message * *random.of(&[4, 6, 10, 30]);
    let limit = match random.below(3) {
        0 => separation * *random.of(&[2, 3, 5]),
        1 => message * *random.of(&[4, 6, 9]) + MS,
        _ => message * *random.of(&[3, 4]) + MS / 2,
    };
    let contract = at_once(bytes, separation);
    (Contract { smallest_message: *random.of(&[1, bytes]), ..contract }, limit)
}

/// Of every step that another one follows, or that the new flow follows, what was queued before has left.
#[test]
fn steps_wait_for_each_other_and_no_frame_is_late() {
    let (mut transitions, mut steps, mut admitted, mut gates) = (0, 0, 0, 0);
    for seed in tiers::current().seeds("control.transitions") {
        let mut random = Random::new(seed);
        let (hosts, cables): (&[usize], &[(usize, usize)]) =
            if random.one_in(2) { (&[0, 0, 0, 0], &[]) } else { (&[0, 0, 1, 1], &[(0, 1)]) };
        let switches = 1 + cables.len();
        let world = World::up(network(&open_vswitch(GATES), switches, hosts, cables));
        let mut play = Play { world, admitted: Vec::new() };
        for number in 1..=6 {
            let from = random.below(3);
            let (contract, limit) = some_contract(&mut random);
            let ports = (5_000 + u16::from(number), 6_000 + u16::from(number));
            let asked = request(pair(number), 1, from, 3, ports, contract, limit);
            let cases: Vec<Case> = {
                let traces = play.traces();
                let case = |(asked, _, _): &(Request, usize, usize)| Case {
                    verdict: play.world.verdicts[&asked.pair()].clone(),
                    trace: traces[&(asked.source, asked.destination)].clone(),
                };
                play.admitted.iter().map(case).collect()
            };
            let (moves, regated, answered) = play.ask(&asked);
            // Where a gate has become narrower, what came by it before is gone before another one becomes wider.
            for narrower in regated.iter().filter(|gate| !gate.is_wider) {
                let mut of_flow =
                    play.admitted.iter().filter(|(asked, _, _)| asked.source.port == narrower.flow);
                let latency = of_flow.next().expect("it was admitted").0.maximum_latency;
                let wider = regated.iter().filter(|gate| gate.is_wider && gate.at >= narrower.at);
                for wider in wider {
                    gates += 1;
                    let waited = wider.at - narrower.at;
                    assert!(waited >= latency, "seed {seed}: {waited} of {latency} ns");
                }
            }
            let is_admitted = play.world.state(asked.pair()) == Some(State::Admitted);
            if !moves.is_empty() {
                transitions += 1;
                steps += moves.len();
                let mut times: Vec<u64> = moves.iter().map(|moved| moved.at).skip(1).collect();
                times.push(answered);
                for (moved, next) in moves.iter().zip(times) {
                    let share = play.share(moved.flow, moved.link);
                    let (at, waited) = (moved.at, next - moved.at);
                    assert!(
                        waited >= share,
                        "seed {seed}: the step at {at} was followed after {waited} of {share} ns"
                    );
                }
                let part = random.below(1 + usize::try_from(moves[0].at + 2 * MS).unwrap()) as u64;
                let first = moves[0].at;
                let moves: Vec<Moved> =
                    moves.into_iter().map(|moved| Moved { at: moved.at - first + part, ..moved }).collect();
                judge_while(&mut play.world, &cases, &moves, seed)
                    .unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
            }
            if is_admitted {
                admitted += 1;
                play.admitted.push((asked, from, 3));
            }
        }
    }
    println!(
        "{transitions} transitions with {steps} steps, {gates} pairs of gates, {admitted} flows admitted"
    );
    assert!(transitions > 10 && steps > transitions);
}
