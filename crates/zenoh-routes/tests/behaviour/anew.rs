//! Writers that are announced anew, while announcements are faster than messages.
use wire::qos::Durability;
use zenoh_routes::{Kind, Options};

use crate::world::World;

fn play(seed: u64, durability: Durability) {
    let mut world = World::new(seed, 2, 1, Options::default());
    world.add_writer(0, "state", |qos| qos.durability = durability);
    world.add_reader(1, "state", durability);
    world.quiet();
    for _ in 0..20 {
        let site = world.random.below(2);
        match world.random.below(8) {
            0 => world.change_qos(0, 0),
            1 => world.lose_and_find(0, 0),
            2 => world.cut(site, 0),
            3 | 4 => world.link(site, 0),
            _ => {
                world.write(0, 0, Kind::Sample, 1);
                world.look();
            }
        }
        for _ in 0..world.random.below(4) {
            world.arrive();
        }
    }
    world.quiet();
    let said = world.write(0, 0, Kind::Sample, 1);
    world.quiet();
    let got = world.sites[1].readers[0].log.last().map(|(_, event)| *event);
    assert_eq!(got, Some(said), "seed {seed}, {durability:?}: the writer is dead at the other site");
}

#[test]
fn a_writer_that_changes_its_qos_or_comes_again_is_read_on() {
    for seed in tiers::current().seeds("zenoh.seeds") {
        for durability in [Durability::Volatile, Durability::TransientLocal] {
            play(seed, durability);
        }
    }
}
