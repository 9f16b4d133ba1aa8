//! Odd requests, one after the other: whatever they ask for, none costs the manager more than the stated number of steps.
use latency::work::Limits;
use wire::admission::{Contract, State};

use crate::by_hand::question;
use crate::cases::pair;
use crate::networks::{GATES, METERS, network, open_vswitch};
use crate::random::Random;
use crate::world::{World, request};

/// A number of any size up to the largest one.
fn any_size(random: &mut Random, largest: u64) -> u64 {
    random.next() % (largest >> random.below(63)).max(2)
}

fn some_contract(random: &mut Random) -> (Contract, u64) {
    let is_odd = random.one_in(3);
    let bytes = if is_odd { any_size(random, 1 << 20) } else { 1 + any_size(random, 4_000) };
    let separation = if is_odd { any_size(random, 1 << 40) } else { 1_000_000 * (1 + random.next() % 50) };
    let time = |random: &mut Random| match random.below(3) {
        0 if is_odd => any_size(random, u64::MAX),
        1 => separation.saturating_mul(1 + random.next() % 30),
        _ => 0,
    };
    let contract = Contract {
        largest_message: u32::try_from(bytes).unwrap(),
        smallest_message: if random.one_in(2) { u32::try_from(bytes).unwrap() } else { 0 },
        datagram: if is_odd && random.one_in(3) { any_size(random, 1 << 17) as u32 } else { 1_472 },
        minimum_separation: separation,
        maximum_separation: 0,
        jitter: time(random),
        emission: if is_odd { time(random) } else { 0 },
        slack: if is_odd { time(random) } else { 0 },
        importance: u8::try_from(random.below(4)).unwrap(),
    };
    let limit = if is_odd { any_size(random, u64::MAX) } else { 1_000_000 * (1 + random.next() % 400) };
    (contract, limit)
}

#[test]
fn no_request_costs_the_manager_more_steps_than_stated() {
    let (mut asked, mut admitted, mut most, mut seed) = (0_u64, 0, 0, 0);
    while asked < tiers::current().number("control.hostile") {
        let mut random = Random::new(seed);
        let guard = if random.one_in(3) { METERS } else { GATES };
        let (hosts, cables): (&[usize], &[(usize, usize)]) =
            if random.one_in(2) { (&[0, 0, 0, 0], &[]) } else { (&[0, 0, 1, 2], &[(0, 1), (1, 2), (2, 0)]) };
        let mut world = World::up(network(&open_vswitch(guard), 3.min(1 + cables.len()), hosts, cables));
        let mut there = Vec::new();
        for number in 1..=*random.of(&[10, 40, 80_u8]) {
            let (contract, limit) = some_contract(&mut random);
            let ports = (5_000 + u16::from(number), 6_000 + u16::from(number));
            // Mostly to one host, where it becomes narrow.
            let (from, to) = (random.below(3), if random.one_in(5) { random.below(4) } else { 3 });
            // The question what would become of it costs no more.
            if let Ok(answer) = world.manager.what_if(&question(&world, from, to, contract, limit)) {
                assert!(answer.steps <= Limits::MOST, "seed {seed}, question {number}: {}", answer.steps);
            }
            world.ask(request(pair(number), 1, from, to, ports, contract, limit));
            world.settle();
            asked += 1;
            there.push(pair(number));
            if random.one_in(8) {
                let gone = there.swap_remove(random.below(there.len()));
                world.withdraw(gone);
            }
            let steps = world.manager.most_steps();
            most = steps.max(most);
            assert!(steps <= Limits::MOST, "seed {seed}, request {number}: {steps}");
        }
        let states = there.iter().map(|pair| world.state(*pair));
        admitted += states.filter(|state| *state == Some(State::Admitted)).count();
        world.manager.audit().unwrap();
        seed += 1;
    }
    println!("{asked} requests, {admitted} served in the end; {most} steps at most");
    assert!(admitted as u64 > asked / 20);
}
