//! Many seeds of sites, bridges, lost sessions and restarts.
use std::collections::{BTreeMap, BTreeSet};

use wire::Guid;
use wire::qos::Durability;
use zenoh_routes::{Kind, Options};

use crate::world::{Event, World};

/// What must have come, and what may not have.
struct Judge {
    /// Samples that were written while all sites were joined, by the site of their writer.
    must: Vec<(usize, String, Event)>,
}

const TOPICS: [(&str, Durability); 3] = [
    ("state", Durability::TransientLocal),
    ("arm/joint", Durability::Volatile),
    ("alarm", Durability::Volatile),
];

fn play(seed: u64) {
    let (sites, bridges) = (2 + (seed % 3) as usize, 1 + (seed / 3 % 2) as usize);
    let mut world = World::new(seed, sites, bridges, Options::default());
    for (topic, durability) in TOPICS {
        for site in 0..sites {
            if world.random.chance(70) {
                world.add_writer(site, topic, |qos| qos.durability = durability);
            }
            world.add_reader(site, topic, durability);
        }
    }
    let mut judge = Judge { must: Vec::new() };
    world.quiet();
    for _ in 0..6 {
        // Cuts lose what is under way; what was written is to come all the same.
        episode(&mut world, &mut judge, false);
        world.quiet();
        judge.check(&world, seed);
        // A bridge that is made anew does not know what was written without it.
        episode(&mut world, &mut judge, true);
        world.quiet();
        judge.must.clear();
        judge.check(&world, seed);
    }
}

/// Things happen, `restarts` also to bridges.
fn episode(world: &mut World, judge: &mut Judge, restarts: bool) {
    world.loses = world.random.chance(50);
    for _ in 0..40 {
        let site = world.random.below(world.sites.len());
        let place = world.random.below(2);
        match world.random.below(20) {
            0..10 if !world.sites[site].writers.is_empty() => {
                let at = world.random.below(world.sites[site].writers.len());
                let kind = match world.random.below(6) {
                    0 => Kind::Disposed,
                    1 => Kind::Unregistered,
                    _ => Kind::Sample,
                };
                let instance = world.random.below(4) as u8;
                let event = world.write(site, at, kind, instance);
                let topic = world.sites[site].writers[at].data.topic_name.clone();
                judge.must.push((site, topic, event));
                world.look();
            }
            10 if place == 0 => world.cut(site, 0),
            11 => world.link(site, 0),
            12 if restarts && place == 0 => world.kill(site, 0),
            13 if restarts => world.start(site, 0),
            14 if restarts => {
                let topic = TOPICS[world.random.below(3)];
                world.add_reader(site, topic.0, topic.1);
            }
            15 if restarts && world.sites[site].readers.len() > 3 => {
                let at = world.random.below(world.sites[site].readers.len());
                let guid = world.sites[site].readers[at].data.guid;
                world.remove_reader(site, at);
                world.reader_gone(site, guid);
            }
            16 if restarts && !world.sites[site].writers.is_empty() && place == 0 => {
                let at = world.random.below(world.sites[site].writers.len());
                world.writer_gone(site, at);
                let topic = TOPICS[world.random.below(3)];
                world.add_writer(site, topic.0, |qos| qos.durability = topic.1);
            }
            17 if restarts => {
                // Nothing is under way for so long: the session would be lost before.
                while world.arrive() {}
                world.pass(20_000);
            }
            _ => {
                for _ in 0..world.random.below(10) {
                    world.arrive();
                }
            }
        }
        world.look();
    }
}

impl Judge {
    fn check(&self, world: &World, seed: u64) {
        for (at, site) in world.sites.iter().enumerate() {
            let own: BTreeSet<Guid> = site.writers.iter().map(|writer| writer.data.guid).collect();
            for reader in &site.readers {
                let topic = &reader.data.topic_name;
                let mut last: BTreeMap<(u64, Guid), i64> = BTreeMap::new();
                let mut volatile: BTreeMap<Guid, i64> = BTreeMap::new();
                for (number, event) in &reader.log {
                    assert!(
                        !own.contains(&event.writer),
                        "seed {seed}: site {at} got its own {event:?} back"
                    );
                    let before = last.insert((*number, event.writer), event.sequence).unwrap_or(0);
                    assert!(
                        before < event.sequence,
                        "seed {seed}: site {at}, {topic}: {event:?} after {before}"
                    );
                    if reader.data.qos.durability == Durability::Volatile {
                        let before = volatile.insert(event.writer, event.sequence).unwrap_or(0);
                        assert!(before < event.sequence, "seed {seed}: site {at}, {topic}: {event:?} twice");
                    }
                }
                let got: BTreeSet<Event> = reader.log.iter().map(|(_, event)| *event).collect();
                for (from, of, event) in self.must.iter().filter(|(from, of, _)| *from != at && of == topic) {
                    assert!(
                        got.contains(event),
                        "seed {seed}: site {at} lacks {event:?} of site {from}, {of}"
                    );
                }
                self.same_end(world, seed, at, topic, reader.log.iter().map(|(_, event)| event));
            }
        }
    }

    /// Each writer that is still there has said last, to this reader, what it said last at all; of what is kept for late readers, or was written
    /// while all were joined.
    fn same_end<'a>(
        &self,
        world: &World,
        seed: u64,
        at: usize,
        topic: &str,
        log: impl Iterator<Item = &'a Event> + Clone,
    ) {
        let others = world.sites.iter().enumerate().filter(|(other, _)| *other != at);
        for writer in
            others.flat_map(|(_, site)| &site.writers).filter(|writer| writer.data.topic_name == topic)
        {
            let is_kept = writer.data.qos.durability >= Durability::TransientLocal;
            for instance in 0..4 {
                let Some(said) = writer.history.iter().rfind(|event| event.instance == instance) else {
                    continue;
                };
                if !is_kept && !self.must.iter().any(|(_, _, event)| event == said) {
                    continue;
                }
                let got = log
                    .clone()
                    .filter(|event| event.writer == said.writer && event.instance == instance)
                    .last();
                assert_eq!(
                    got,
                    Some(said),
                    "seed {seed}: the end of instance {instance} of {topic} at site {at}"
                );
            }
        }
    }
}

#[test]
fn each_sample_comes_once_in_order_and_ends_are_equal() {
    for seed in tiers::current().seeds("zenoh.seeds") {
        play(seed);
    }
}
