//! Limits, choices, and what strangers send.
use testkit::random::Random;
use wire::qos::Durability;
use zenoh_routes::bridge::Limits;
use zenoh_routes::{Bridge, BridgeId, Kind, Options, key};

use crate::world::World;

#[test]
fn a_thousand_topics_cross_and_one_too_many_is_told() {
    let limits = Limits { topics: 1_000, ..Limits::default() };
    let mut world = World::new(1, 2, 1, Options { limits, ..Options::default() });
    for topic in 0..1_001 {
        world.add_writer(0, &format!("topic/{topic}"), |_| {});
        world.add_reader(1, &format!("topic/{topic}"), Durability::Volatile);
    }
    world.quiet();
    for at in 0..1_001 {
        world.write(0, at, Kind::Sample, 1);
    }
    world.quiet();
    let got: usize = world.sites[1].readers.iter().map(|reader| reader.log.len()).sum();
    assert_eq!(got, 1_000);
    let told: Vec<&String> = world.warnings.iter().filter(|text| text.contains("topic/1000")).collect();
    assert!(
        told[0].contains("1000 topics are in use, the most that are allowed; allow more with --topics"),
        "{told:?}"
    );
}

#[test]
fn topics_that_are_denied_or_have_no_key_do_not_cross() {
    let options = Options {
        allow: vec!["arm/*".into(), "a?b".into()],
        deny: vec!["*/raw".into()],
        ..Options::default()
    };
    let mut world = World::new(2, 2, 1, options);
    for topic in ["arm/joint", "arm/raw", "leg", "a?b"] {
        world.add_writer(0, topic, |_| {});
        world.add_reader(1, topic, Durability::Volatile);
    }
    world.quiet();
    for at in 0..4 {
        world.write(0, at, Kind::Sample, 1);
    }
    world.quiet();
    let got: Vec<usize> = world.sites[1].readers.iter().map(|reader| reader.log.len()).collect();
    assert_eq!(got, [1, 0, 0, 0]);
    assert!(
        world.warnings.iter().any(|text| text.contains("\"a?b\" is not bridged")),
        "{:?}",
        world.warnings
    );
}

#[test]
fn a_lease_that_is_over_ends_what_another_bridge_had_announced() {
    let mut world = World::new(3, 2, 1, Options::default());
    world.add_writer(0, "state", |qos| qos.durability = Durability::TransientLocal);
    world.add_reader(1, "state", Durability::TransientLocal);
    world.quiet();
    world.write(0, 0, Kind::Sample, 1);
    world.quiet();
    world.cut(0, 0);
    for _ in 0..10 {
        world.look();
        while world.arrive() {}
        world.pass(10_000);
    }
    world.quiet();
    // Another writer stands for it now, and tells what it keeps, once.
    let numbers: Vec<u64> = world.sites[1].readers[0].log.iter().map(|(number, _)| *number).collect();
    assert!(numbers.len() == 2 && numbers[0] != numbers[1], "{numbers:?}");
}

#[test]
fn whatever_strangers_send_is_refused_or_harmless() {
    let mut random = Random::of_case(4, 0);
    let mut world = World::new(4, 1, 1, Options::default());
    world.add_reader(0, "Square", Durability::Volatile);
    let mut bridge = Bridge::new(BridgeId([9; 16]), Options::default());
    bridge.reader_found(&world.sites[0].readers[0].data);
    bridge.settle(0);
    for _ in 0..20_000 {
        let mut bytes: Vec<u8> = (0..random.below(120)).map(|_| random.bits() as u8).collect();
        if random.chance(80) && bytes.len() > 4 {
            bytes[..4].copy_from_slice(&[b'P', b'z', 1, random.below(6) as u8]);
        }
        let keys = ["Square", "Square/@punctual_end", "", "/", "Circle", "@punctual/1/x"];
        bridge.message(keys[random.below(keys.len())], Some(&bytes), &bytes);
        let text: String = bytes.iter().map(|byte| char::from(byte % 128)).collect();
        bridge.token(&text, random.chance(50));
        bridge.token(&format!("@punctual/1/09090909090909090909090909090909/writer/-/1/{text}"), true);
        bridge.answer(random.bits() % 4, &bytes, &bytes);
        bridge.matching(&text, true);
        assert!(bridge.asked(&text, random.bits()).is_empty());
        bridge.settle(0);
        while bridge.next_action().is_some() {}
    }
    assert!(bridge.summary().refused > 1_000 && bridge.summary().topics == 1);
}

#[test]
fn a_topic_that_keeps_too_much_takes_nothing_from_others() {
    let limits = Limits { bytes: 20_000, ..Limits::default() };
    let mut world = World::new(5, 3, 1, Options { limits, ..Options::default() });
    for topic in ["state", "big"] {
        world.add_writer(0, topic, |qos| qos.durability = Durability::TransientLocal);
        world.add_reader(1, topic, Durability::TransientLocal);
    }
    world.quiet();
    for _ in 0..300 {
        world.write(0, 1, Kind::Sample, 1);
    }
    world.look();
    // There is no room any more.
    let said = world.write(0, 0, Kind::Sample, 1);
    world.quiet();
    world.add_reader(2, "state", Durability::TransientLocal);
    world.quiet();
    let got: Vec<_> = world.sites[2].readers[0].log.iter().map(|(_, event)| *event).collect();
    assert_eq!(got, [said]);
    let told: Vec<&String> = world.warnings.iter().filter(|text| text.contains("20000 bytes")).collect();
    assert!(told.len() == 1 && told[0].contains("\"big\""), "{told:?}");
}

#[test]
fn topics_of_punctual_itself_do_not_cross_in_either_direction() {
    let mut world = World::new(6, 1, 1, Options::default());
    world.add_writer(0, "punctual/admission/request", |_| {});
    let data = world.sites[0].writers[0].data.clone();
    let token = key::token(BridgeId([7; 16]), "", 1, &data).unwrap();
    let mut bridge = Bridge::new(BridgeId([9; 16]), Options::default());
    bridge.token(&token, true);
    bridge.settle(0);
    assert_eq!((bridge.next_action(), bridge.summary().topics), (None, 0));
    bridge.writer_found(&data);
    bridge.settle(1);
    assert_eq!((bridge.next_action(), bridge.summary().topics), (None, 0));
}

#[test]
fn a_late_site_gets_all_that_is_kept_in_several_answers() {
    let mut world = World::new(7, 3, 1, Options::default());
    world.add_writer(0, "state", |qos| qos.durability = Durability::TransientLocal);
    world.add_reader(1, "state", Durability::TransientLocal);
    world.quiet();
    for at in 0..5_000 {
        world.write(0, 0, Kind::Sample, (at % 200) as u8);
    }
    world.quiet();
    world.add_reader(2, "state", Durability::TransientLocal);
    world.quiet();
    for site in 1..3 {
        let numbers: Vec<i64> =
            world.sites[site].readers[0].log.iter().map(|(_, event)| event.sequence).collect();
        assert!(numbers.iter().copied().eq(1..=5_000), "site {site} has {} samples", numbers.len());
    }
}
