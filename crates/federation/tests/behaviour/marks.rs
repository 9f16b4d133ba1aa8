//! A mark is passed when the next gateways have all before it, and not sooner, whatever is lost, and whichever connections end or are suspended.
use std::collections::BTreeSet;

use federation::{Passed, Settings};
use testkit::random::Random;

use crate::model::{Said, Wish};
use crate::world::{Faults, MS, World};

const SAID: Said = Said { kind: "Fix", source: "gps.out", n: 3 };

#[test]
fn behind_a_mark_that_is_passed_the_peers_have_all() {
    let (mut waited, mut anew, mut with_group, mut published) = (0, 0, 0, 0);
    for seed in tiers::current().seeds("federation.seeds") {
        let mut random = Random::new(seed);
        let nodes = random.range(2, 5) as usize;
        let group: &[(usize, u32)] = if random.chance(50) { &[(0, 7)] } else { &[] };
        with_group += group.len();
        let edges: BTreeSet<_> = (1..nodes).map(|id| (0, id)).collect();
        let mut world = World::new(random.clone(), nodes, edges, Settings::default(), group);
        let wish = || Wish { kind: Some("Fix"), source: None, condition: None };
        (1..nodes).for_each(|id| world.subscribe(id, wish()));
        world.run(100 * MS);
        let faults = Faults { loss: 20, ..Faults::default() };
        let mut sent = vec![Vec::new(); nodes];
        for number in 0..6_u8 {
            world.faults = if random.chance(60) { faults } else { Faults::default() };
            let suspended = random.one_in(4).then(|| 1 + random.below(nodes - 1));
            if let Some(peer) = suspended {
                world.suspend(0, peer, true);
            }
            for part in 0..random.below(6) as u8 {
                // Some need several fragments.
                let size = [10, 4_000][random.below(2)];
                let mut body = vec![number, part];
                body.resize(size, 0);
                if world.publish(0, &SAID, &body).given_up == 0 {
                    (1..nodes).for_each(|id| sent[id].push([number, part]));
                    published += 1;
                }
                if random.one_in(3) {
                    world.run(random.below_u64(MS));
                }
            }
            let mut mark = world.nodes[0].gateway.mark();
            let asked = world.now;
            if let Some(peer) = suspended {
                world.run(20 * MS);
                let is_held = world.nodes[0].gateway.has_passed(&mark) != Passed::Yes;
                let has_all = world.nodes[peer].got.len() == sent[peer].len();
                assert!(is_held || has_all, "seed {seed}, {number}: held events are not there");
                world.suspend(0, peer, false);
            }
            loop {
                match world.nodes[0].gateway.has_passed(&mark) {
                    Passed::Yes => break,
                    Passed::NotYet => waited += 1,
                    Passed::Elsewhere => {
                        anew += 1;
                        mark = world.nodes[0].gateway.mark();
                    }
                }
                world.run(1 + random.below_u64(MS));
                assert!(world.now - asked < 60_000 * MS, "seed {seed}, {number}");
            }
            for (id, sent) in sent.iter().enumerate().skip(1) {
                let got = world.nodes[id].got.iter().map(|(_, body)| [body[0], body[1]]);
                let (got, sent): (BTreeSet<_>, BTreeSet<_>) = (got.collect(), sent.iter().copied().collect());
                assert_eq!(got, sent, "seed {seed}, {number}: node {id}");
            }
        }
    }
    assert!(
        [waited, anew, with_group, published].iter().all(|count| *count > 20),
        "{waited} {anew} {with_group} {published}"
    );
}

/// What a dead peer had not acknowledged is not under way to it any more.
#[test]
fn a_connection_that_ends_asks_for_another_mark() {
    let mut world = World::new(Random::new(1), 2, [(0, 1)].into(), Settings::default(), &[]);
    world.subscribe(1, Wish { kind: Some("Fix"), source: None, condition: None });
    world.run(100 * MS);
    world.cut.insert((0, 1));
    assert_eq!(world.publish(0, &SAID, &[1]).given_up, 0);
    let mark = world.nodes[0].gateway.mark();
    world.run(100 * MS);
    assert_eq!(world.nodes[0].gateway.has_passed(&mark), Passed::NotYet);
    world.run(5_000 * MS);
    assert_eq!(world.nodes[0].gateway.has_passed(&mark), Passed::Elsewhere);
    let mark = world.nodes[0].gateway.mark();
    assert_eq!(world.nodes[0].gateway.has_passed(&mark), Passed::Yes);
    assert_eq!(world.nodes[0].gateway.counts().given_up, 1);
}
