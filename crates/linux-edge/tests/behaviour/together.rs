//! Commands that are carried out together leave routers as the same commands do one by one. The judge is a model of a router that is as strict
//! as the kernel.
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use linux_edge::LinuxEdge;
use linux_edge::program::Program;
use testkit::random::Random;
use wan::{
    Addresses, AggregateId, Asking, Asn, BackendCommand, Class, Demand, Direction, FlowKind, FlowRequest,
    Holding, LegId, LinkId, Place, SessionId, TSpec, TunnelId,
};

use crate::networks::domain;
use crate::routers::Router;

type Routers = BTreeMap<usize, Router>;

fn tell(routers: &mut Routers, program: &Program) -> Result<(), String> {
    let router = routers.entry(program.router).or_default();
    router.step(&program.step)?;
    assert!(router.is_sound(), "after {program:?}: {router:?}");
    Ok(())
}

fn sorted(routers: &Routers) -> Routers {
    let sorted = routers.iter().map(|(at, router)| (*at, router.clone().sorted()));
    sorted.filter(|(_, router)| *router != Router::default()).collect()
}

fn command(random: &mut Random, ticket: u64) -> BackendCommand {
    let number = random.range(1, 4);
    let class = if number.is_multiple_of(2) { Class::Ef } else { Class::Af4 };
    let aggregate = AggregateId { tunnel: TunnelId { origin: Asn(1), number }, class };
    let (one, other) = (Place::Border(LinkId(1)), Place::Border(LinkId(2)));
    let places = [(Place::Edges, one), (one, Place::Edges), (one, other), (Place::Edges, other)];
    let (from, to) = places[usize::try_from(number - 1).unwrap()];
    let session = SessionId { origin: Asn(1), number: random.range(1, 6) };
    // Each second session has two copies, the second one in a tunnel toward the other neighbour.
    let copies = u8::try_from(2 - session.number % 2).unwrap();
    let is_second = copies == 2 && random.chance(50);
    let first = LegId { session, flow: 0, peer: Asn(2) };
    let leg = if is_second { first.other_copy() } else { first };
    match random.range(0, 99) {
        0..30 => {
            let rate = random.range(1, 9) * 1_000;
            let (least_packet, largest_packet) = (200, 200);
            let demand = Demand { from, to, class, rate, burst: 400, least_packet, largest_packet };
            BackendCommand::Reserve { ticket, aggregate, demand }
        }
        30..50 => {
            let mut label = |is: bool| is.then(|| u32::try_from(random.range(16, 18)).unwrap());
            let (label_in, label_out) = (label(from != Place::Edges), label(to != Place::Edges));
            // Labels that a domain gives are of one aggregate.
            let label_in = label_in.map(|label| label + 10 * u32::try_from(number).unwrap());
            BackendCommand::Commit { aggregate, label_in, label_out }
        }
        50..80 => {
            let port = match copies {
                1 => u16::try_from(random.range(7_400, 7_405)).unwrap(),
                // What is of both has one port; now and then they disagree.
                _ => u16::try_from(7_410 + session.number).unwrap() + u16::from(random.chance(5)),
            };
            let flow = FlowRequest {
                kind: FlowKind::Data,
                direction: Direction::Forward,
                protocol: 17,
                source_port: if copies == 1 && random.chance(30) { 0 } else { 9 },
                destination_port: port,
                class,
                desired: TSpec::of_packets(200, 10_000_000).unwrap(),
                least_rate: 1,
                limit: 1,
                most_loss: wan::ANY_LOSS,
                copies,
                asking: Asking::HopByHop,
            };
            let host = |second| IpAddr::V4(Ipv4Addr::new(10, second, 0, 2));
            let addresses = Addresses { sources: vec![host(1)], destinations: vec![host(2)] };
            let aggregate = match copies {
                1 => aggregate,
                _ => AggregateId {
                    tunnel: TunnelId { number: if is_second { 4 } else { 1 }, ..aggregate.tunnel },
                    ..aggregate
                },
            };
            BackendCommand::Open { ticket, leg, aggregate, flow, addresses }
        }
        80..97 => {
            let holding = if random.chance(70) { Holding::Flow(leg) } else { Holding::Aggregate(aggregate) };
            BackendCommand::Release { ticket, holding }
        }
        _ => BackendCommand::Observe { ticket },
    }
}

#[test]
fn commands_together_leave_what_they_leave_one_by_one() {
    let (mut let_in, mut doubled, mut saved, mut taken_back, mut marked_down) = (0, 0, 0, 0, 0);
    for seed in 0..tiers::current().number("property.cases") {
        let mut random = Random::new(seed);
        let domain = std::iter::repeat_with(|| domain(&mut random))
            .find(|domain| domain.borders.len() == 2 && domain.ceilings.len() == 4)
            .unwrap();
        let mut random = Random::new(seed);
        let (mut one, mut all) = (LinuxEdge::new(domain.clone()).unwrap(), LinuxEdge::new(domain).unwrap());
        let (mut by_one, mut together) = (Routers::new(), Routers::new());
        let mut ticket = 0;
        for _ in 0..20 {
            let commands: Vec<BackendCommand> = (0..random.range(1, 20))
                .map(|_| {
                    ticket += 1;
                    command(&mut random, ticket)
                })
                .collect();
            let (mut answers, mut count) = (Vec::new(), [0, 0]);
            for command in &commands {
                let handled = one.handle(command.clone());
                for program in &handled.programs {
                    tell(&mut by_one, program).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
                }
                count[0] += handled.programs.len();
                answers.push((handled.answer, handled.trouble));
            }
            let mut answered = Vec::new();
            while answered.len() < commands.len() {
                let done = all.together(&commands[answered.len()..]);
                assert!(!done.decided.is_empty());
                // Where a router stops in between, what undoes it leaves what was there before.
                if done.released.is_empty() && !done.programs.is_empty() {
                    let mut stopped = together.clone();
                    let steps = random.range(0, done.programs.len() as u64);
                    for program in done.programs.iter().take(usize::try_from(steps).unwrap()) {
                        tell(&mut stopped, program).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
                    }
                    for program in &done.undo {
                        let _ = stopped.entry(program.router).or_default().step(&program.step);
                    }
                    assert_eq!(sorted(&stopped), sorted(&together), "seed {seed}, after {steps} steps");
                    taken_back += 1;
                }
                for program in &done.programs {
                    tell(&mut together, program)
                        .unwrap_or_else(|what| panic!("seed {seed}: {what} in {done:#?}"));
                }
                count[1] += done.programs.len();
                answered.extend(done.decided.into_iter().map(|of| (of.answer, of.trouble)));
            }
            assert_eq!(answered, answers, "seed {seed}");
            assert_eq!(sorted(&together), sorted(&by_one), "seed {seed}: {commands:#?}");
            assert!(count[1] <= count[0], "seed {seed}: {count:?}");
            saved += count[0] - count[1];
            let chains = || together.values().flat_map(|router| router.chains.keys());
            let_in += chains().filter(|(_, chain)| chain.starts_with("flow-")).count();
            doubled += chains().filter(|(_, chain)| chain.starts_with("copy-")).count();
            marked_down += together.values().map(|router| router.colours.len()).sum::<usize>();
        }
    }
    assert!(
        let_in > 100 && doubled > 100 && saved > 1_000 && taken_back > 500,
        "{let_in} {doubled} {saved} {taken_back}"
    );
    assert!(marked_down > 100, "{marked_down} contracts of what is marked down");
}
