//! Bridges of one site of which one has lost its session: another one takes over, and nothing comes twice.
use std::collections::BTreeSet;

use wire::qos::Durability;
use zenoh_routes::election::GRACE;
use zenoh_routes::{Kind, Options};

use crate::world::{Event, World};

/// Milliseconds between two looks, and how many of them it takes at most until others know what a bridge tells.
const LOOK: u64 = 100;
const LOOKS: u64 = 40;

/// Samples that were written in both directions, with the time.
type Written = Vec<(u64, Event)>;

/// For so long, a writer at each site writes at each look, and what is under way arrives in any order.
fn go_on(world: &mut World, written: &mut Written, milliseconds: u64, worked: &mut Vec<Vec<usize>>) {
    for _ in 0..milliseconds / LOOK {
        for site in 0..2 {
            let event = world.write(site, 0, Kind::Sample, 1);
            written.push((world.now(), event));
        }
        world.look();
        worked.push(world.workers(1));
        while world.arrive() {}
        world.pass(LOOK);
    }
}

#[test]
fn another_bridge_takes_over_within_the_time_of_detection_and_nothing_comes_twice() {
    for seed in tiers::current().seeds("zenoh.seeds") {
        let mut world = World::new(seed, 2, 2, Options::default());
        for site in 0..2 {
            world.add_writer(site, "alarm", |_| {});
            world.add_reader(site, "alarm", Durability::Volatile);
        }
        world.quiet();
        assert_eq!(world.workers(1), [0], "seed {seed}");
        let (mut written, mut worked) = (Written::new(), Vec::new());
        go_on(&mut world, &mut written, 1_000, &mut worked);
        world.cut(1, 0);
        let cut = world.now();
        let silent = GRACE + LOOKS * LOOK;
        go_on(&mut world, &mut written, 2 * silent, &mut worked);
        assert_eq!(world.workers(1), [1], "seed {seed}: nothing took over");
        world.link(1, 0);
        go_on(&mut world, &mut written, silent, &mut worked);
        // It does not take back what another one does well.
        assert_eq!(world.workers(1), [1], "seed {seed}");
        world.quiet();
        for site in 0..2 {
            let log = &world.sites[site].readers[0].log;
            let got: BTreeSet<Event> = log.iter().map(|(_, event)| *event).collect();
            assert_eq!(got.len(), log.len(), "seed {seed}: site {site} got something twice");
            let own = world.sites[site].writers[0].data.guid;
            assert!(log.iter().all(|(_, event)| event.writer != own), "seed {seed}: it came back");
            for (time, event) in written.iter().filter(|(_, event)| event.writer != own) {
                let may_miss = (cut..cut + silent).contains(time);
                assert!(
                    may_miss || got.contains(event),
                    "seed {seed}: site {site} lacks {event:?} of {time}"
                );
            }
        }
        assert!(worked.iter().all(|working| working.len() < 2), "seed {seed}: two work at a time");
    }
}
