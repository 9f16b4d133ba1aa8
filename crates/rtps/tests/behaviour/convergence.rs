//! Random histories of a domain: whatever came and went, and whatever was lost on the way, in the end everybody agrees about
//! who is there and what matches, and for the reasons that the policies give.

use std::collections::BTreeSet;

use crate::domain::{Random, World, config};
use rtps::discovery::{DiscoveryConfig, Event, compare};
use wire::qos::{Durability, EndpointQos, Ownership, Reliability};
use wire::{Duration, EntityId, Guid};

const TOPICS: [&str; 3] = ["A", "B", "C"];

fn qos(random: &mut Random, writer: bool) -> EndpointQos {
    let mut qos = if writer { EndpointQos::writer() } else { EndpointQos::reader() };
    if random.below_u64(2) == 0 {
        qos.reliability = Reliability::RELIABLE;
    }
    if random.below_u64(4) == 0 {
        qos.durability = Durability::TransientLocal;
    }
    if random.below_u64(6) == 0 {
        qos.ownership = Ownership::Exclusive;
    }
    if random.below_u64(4) == 0 {
        qos.deadline = Duration::from_millis(50 + random.below_u64(100) as i64);
    }
    if random.below_u64(3) == 0 {
        let names = ["", "a", "ab", "a*", "[ab]b"];
        qos.partition = vec![names[random.below_u64(5) as usize].into()];
    }
    qos
}

/// A participant's own view of what is matched with what, from discovery and from what it told its owner.
fn check_machines(world: &World, node: usize, seed: u64) {
    let participant = &world.nodes[node].participant;
    let own = participant.prefix();
    for data in participant.discovery().endpoints().filter(|data| data.guid.prefix == own) {
        let id = data.guid.entity_id;
        let mut matched: Vec<Guid> = participant.discovery().matches(id).collect();
        matched.sort();
        assert_eq!(matched, participant.served(id), "seed {seed}");
    }
}

fn check_everything(world: &World, seed: u64) {
    let live: Vec<usize> = (0..world.nodes.len()).filter(|node| world.nodes[*node].up).collect();
    let mut expected = BTreeSet::new();
    let mut all = BTreeSet::new();
    let own = |node: usize| {
        let participant = &world.nodes[node].participant;
        let prefix = participant.prefix();
        participant.discovery().endpoints().filter(move |data| data.guid.prefix == prefix)
    };
    for a in &live {
        for writer in own(*a).filter(|data| data.guid.entity_id.is_writer()) {
            for b in &live {
                for reader in own(*b).filter(|data| data.guid.entity_id.is_reader()) {
                    if compare(writer, reader).is_ok() {
                        expected.insert((writer.guid, reader.guid));
                    }
                }
            }
        }
        all.extend(own(*a).map(|data| data.guid));
    }
    let mut by_writers = BTreeSet::new();
    let mut by_readers = BTreeSet::new();
    for node in &live {
        let participant = &world.nodes[*node].participant;
        let discovery = participant.discovery();
        assert_eq!(discovery.participants().count(), live.len() - 1, "seed {seed}");
        let known: BTreeSet<Guid> = discovery.endpoints().map(|data| data.guid).collect();
        assert_eq!(known, all, "seed {seed}");
        for data in own(*node) {
            let matches = discovery.matches(data.guid.entity_id);
            if data.guid.entity_id.is_writer() {
                by_writers.extend(matches.map(|reader| (data.guid, reader)));
            } else {
                by_readers.extend(matches.map(|writer| (writer, data.guid)));
            }
        }
        check_machines(world, *node, seed);
    }
    assert_eq!(by_writers, expected, "seed {seed}");
    assert_eq!(by_readers, expected, "seed {seed}");
}

/// Events, applied in order, give the state that discovery has.
fn check_events(world: &World, node: usize, seed: u64) {
    let participant = &world.nodes[node].participant;
    let (mut known, mut matched) = (BTreeSet::new(), BTreeSet::new());
    for event in &world.nodes[node].events {
        match event {
            Event::ParticipantFound { participant } => assert!(known.insert(participant.prefix)),
            Event::ParticipantChanged { participant } => assert!(known.contains(&participant.prefix)),
            Event::ParticipantLost { participant, .. } => assert!(known.remove(participant)),
            Event::WriterMatched { reader, writer, .. } => {
                matched.insert((*reader, writer.guid));
            }
            Event::ReaderMatched { writer, reader, .. } => {
                matched.insert((*writer, reader.guid));
            }
            Event::WriterUnmatched { reader, writer, .. } => assert!(matched.remove(&(*reader, *writer))),
            Event::ReaderUnmatched { writer, reader } => assert!(matched.remove(&(*writer, *reader))),
            Event::NotMatched { local, remote, reasons } => {
                assert!(!reasons.is_empty() && !matched.contains(&(*local, remote.guid)));
            }
            Event::LivelinessChanged { .. } | Event::SourcesChanged { .. } | Event::Rejected { .. } => {}
        }
    }
    let prefix = participant.prefix();
    let own = participant.discovery().endpoints().filter(|data| data.guid.prefix == prefix);
    let ids: Vec<EntityId> = own.map(|data| data.guid.entity_id).collect();
    let now: BTreeSet<(EntityId, Guid)> =
        ids.iter().flat_map(|id| participant.discovery().matches(*id).map(|other| (*id, other))).collect();
    assert_eq!(matched, now, "seed {seed}");
    let participants = participant.discovery().participants().map(|other| other.data().prefix);
    assert_eq!(known, participants.collect(), "seed {seed}");
}

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let mut world = World::new(0);
    let mut next_host = 1;
    let mut endpoints: Vec<(usize, EntityId)> = Vec::new();
    for _ in 0..60 {
        let live: Vec<usize> = (0..world.nodes.len()).filter(|node| world.nodes[*node].up).collect();
        let now = world.now;
        match random.below_u64(12) {
            0 | 1 if live.len() < 5 => {
                let loss = [0, 0, 20, 40][random.below_u64(4) as usize];
                world.loss = loss;
                let static_peers =
                    if random.below_u64(3) == 0 { vec![crate::domain::meta(1)] } else { vec![] };
                world.add(DiscoveryConfig { static_peers, ..config(next_host) });
                next_host += 1;
            }
            2 if live.len() > 2 => {
                // Leaves in order, or crashes; its address is not used again.
                let node = live[random.below_u64(live.len() as u64) as usize];
                if random.below_u64(2) == 0 {
                    world.nodes[node].participant.shutdown(now);
                    world.run_ms(1);
                }
                world.nodes[node].up = false;
                endpoints.retain(|(other, _)| *other != node);
            }
            3 if !live.is_empty() => {
                let node = live[random.below_u64(live.len() as u64) as usize];
                world.nodes[node].mute = !world.nodes[node].mute;
            }
            4 | 5 if !endpoints.is_empty() => {
                let (node, id) = endpoints.swap_remove(random.below_u64(endpoints.len() as u64) as usize);
                assert!(world.nodes[node].participant.delete(now, id));
            }
            6 if !endpoints.is_empty() => {
                let (node, id) = endpoints[random.below_u64(endpoints.len() as u64) as usize];
                let qos = qos(&mut random, id.is_writer());
                world.nodes[node].participant.set_qos(now, id, qos).unwrap();
            }
            7 => world.run_ms(random.below_u64(12_000) as i64),
            _ if !live.is_empty() => {
                let node = live[random.below_u64(live.len() as u64) as usize];
                let topic = TOPICS[random.below_u64(3) as usize];
                let writer = random.below_u64(2) == 0;
                let qos = qos(&mut random, writer);
                let id = match writer {
                    true => world.writer(node, topic, qos),
                    false => world.reader(node, topic, qos),
                };
                endpoints.push((node, id));
            }
            _ => {}
        }
        world.run_ms(random.below_u64(300) as i64);
    }
    world.loss = 0;
    world.nodes.iter_mut().for_each(|node| node.mute = false);
    // Those that crashed are lost after their lease, those that were not heard are found by their next announcement.
    world.run_ms(17_000);
    check_everything(&world, seed);
    for node in 0..world.nodes.len() {
        if world.nodes[node].up {
            check_events(&world, node, seed);
        }
    }
}

#[test]
fn everybody_agrees_in_the_end() {
    for seed in tiers::current().seeds("property.cases") {
        run(seed);
    }
}
