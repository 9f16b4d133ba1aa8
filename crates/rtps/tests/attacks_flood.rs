//! Floods of discovery data, and of garbage: memory stays bounded, and those who are known keep what they have.
mod domain;

use std::net::SocketAddr;

use domain::{
    Forged, Random, World, address, announced, any_prefix, config, matched, meta, prefix, rejected,
    user_writer, validate,
};
use rtps::discovery::{DiscoveryConfig, Event, Limits, Rejection};
use rtps::transmit::Transmit;
use wire::Duration;
use wire::qos::EndpointQos;

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

#[test]
fn a15_a_flood_of_participants_evicts_strangers_only() {
    let (mut world, writer, reader) = matched(EndpointQos::writer());
    let (w, r) = (world.nodes[0].guid(writer), world.nodes[1].guid(reader));
    let mut random = Random::new(15);
    let mut transmit = Transmit::new();
    let (_, usage) = alloc_meter::measure(|| {
        for number in 0..100_000u32 {
            let mut record = announced(any_prefix(&mut random), 50);
            record.user_data = vec![0; random.below_u64(1_000) as usize];
            let bytes = Forged::from(record.prefix).announcement(&record).0;
            let from = SocketAddr::new(address(random.below_u64(100) as u8 + 100), 7410);
            let now = world.now;
            let node = &mut world.nodes[1];
            node.participant.handle_datagram(now, from, &bytes, &mut node.sink).unwrap();
            if number % 64 == 0 {
                while node.participant.poll_transmit(now, &mut transmit) {}
            }
        }
    });
    assert!(usage.peak < 8 << 20, "{} octets", usage.peak);
    let (validated, strangers) = world.nodes[1].participant.discovery().participant_counts();
    assert!(validated == 1 && strangers <= 1_024, "{validated} {strangers}");
    assert!(rejected(&world, 1, Rejection::Evicted) > 90_000);
    assert!(world.is_matched(0, writer, r) && world.is_matched(1, reader, w));
    for number in 0..100 {
        world.write(0, writer, &number.to_string());
    }
    world.run_ms(500);
    assert_eq!(world.texts(1, reader).len(), 100);
    let lost = |event: &Event| matches!(event, Event::ParticipantLost { .. } | Event::WriterUnmatched { .. });
    assert!(!world.nodes[1].events.iter().any(lost));
    // Strangers are forgotten when they stay silent.
    world.run_ms(11_000);
    assert_eq!(world.nodes[1].participant.discovery().participant_counts(), (1, 0));
}

#[test]
fn a15_large_announcements_of_strangers_are_bounded_together() {
    let mut world = World::new(1);
    let mut random = Random::new(17);
    let (_, usage) = alloc_meter::measure(|| {
        for _ in 0..2_000 {
            let mut record = announced(any_prefix(&mut random), 50);
            record.user_data = vec![0; 60_000];
            let bytes = Forged::from(record.prefix).announcement(&record).0;
            let now = world.now;
            let node = &mut world.nodes[0];
            node.participant.handle_datagram(now, meta(50), &bytes, &mut node.sink).unwrap();
        }
    });
    assert!(usage.peak < 4 << 20, "{} octets", usage.peak);
    let (_, strangers) = world.nodes[0].participant.discovery().participant_counts();
    assert!((20..40).contains(&strangers), "{strangers}");
}

#[test]
fn a15_a_newcomer_is_found_during_a_flood() {
    let mut world = World::new(1);
    let mut random = Random::new(16);
    world.run_ms(5_000);
    world.add(config(2));
    for _ in 0..2_000 {
        for _ in 0..5 {
            let record = announced(any_prefix(&mut random), 50);
            let bytes = Forged::from(record.prefix).announcement(&record).0;
            world.hand(0, meta(50), &bytes);
            world.hand(1, meta(50), &bytes);
        }
        world.run(Duration::from_micros(500));
    }
    assert!(world.knows(0, 1) && world.knows(1, 0));
}

#[test]
fn a15_validated_participants_have_a_limit() {
    let limits = Limits { participants: 10, ..Limits::default() };
    let mut world = World::new(0);
    world.add(DiscoveryConfig { limits, ..config(1) });
    for host in 2..=30 {
        let record = announced(prefix(host), host);
        world.introduce(0, meta(host), &record);
    }
    assert_eq!(world.nodes[0].participant.discovery().participant_counts().0, 10);
    assert_eq!(rejected(&world, 0, Rejection::ParticipantLimit), 19);
}

#[test]
fn a15_a_participant_cannot_announce_endpoints_without_end() {
    let limits = Limits { endpoints: 100, endpoint_octets: 100_000, ..Limits::default() };
    let mut world = World::new(0);
    world.add(DiscoveryConfig { limits, ..config(1) });
    let foe = validate(&mut world, 2);
    for number in 1..=1_000 {
        let endpoint = user_writer(foe.prefix, number);
        world.hand(0, meta(2), &Forged::from(foe.prefix).endpoint(&endpoint, i64::from(number)).0);
    }
    assert_eq!(world.nodes[0].participant.discovery().endpoints().count(), 100);
    assert_eq!(rejected(&world, 0, Rejection::EndpointLimit), 900);
    // Large ones count by their bytes.
    let mut world = World::new(0);
    world.add(DiscoveryConfig { limits, ..config(1) });
    let foe = validate(&mut world, 2);
    for number in 1..=50 {
        let mut endpoint = user_writer(foe.prefix, number);
        endpoint.qos.user_data = vec![0; 9_800];
        world.hand(0, meta(2), &Forged::from(foe.prefix).endpoint(&endpoint, i64::from(number)).0);
    }
    assert_eq!(world.nodes[0].participant.discovery().endpoints().count(), 10);
}

#[test]
fn r13_all_participants_together_have_a_limit() {
    let limits = Limits { all_endpoints: 25, ..Limits::default() };
    let mut world = World::new(0);
    world.add(DiscoveryConfig { limits, ..config(1) });
    for host in 2..=5 {
        let foe = validate(&mut world, host);
        for number in 1..=10 {
            let endpoint = user_writer(foe.prefix, number);
            world.hand(0, meta(host), &Forged::from(foe.prefix).endpoint(&endpoint, i64::from(number)).0);
        }
    }
    assert_eq!(world.nodes[0].participant.discovery().endpoints().count(), 25);
    assert_eq!(rejected(&world, 0, Rejection::MemoryLimit), 15);
    // One that leaves gives back what it had.
    let gone = user_writer(prefix(2), 1);
    world.hand(0, meta(2), &Forged::from(prefix(2)).endpoint_gone(&gone, 11).0);
    let endpoint = user_writer(prefix(5), 11);
    world.hand(0, meta(5), &Forged::from(prefix(5)).endpoint(&endpoint, 11).0);
    assert_eq!(world.nodes[0].participant.discovery().endpoints().count(), 25);
}

#[test]
fn a15_events_that_nobody_takes_stop_the_input_not_the_growth_of_a_queue() {
    let limits = Limits { events: 64, ..Limits::default() };
    let mut world = World::new(0);
    world.add(DiscoveryConfig { limits, ..config(1) });
    let now = world.now;
    let mut transmit = Transmit::new();
    for host in 2..=250 {
        let record = announced(prefix(host), host);
        let bytes = Forged::from(record.prefix).to(prefix(1)).announcement(&record).0;
        let node = &mut world.nodes[0];
        node.participant.handle_datagram(now, meta(host), &bytes, &mut node.sink).unwrap();
        while node.participant.poll_transmit(now, &mut transmit) {
            let mut sent = Vec::new();
            transmit.copy_to(&mut sent);
            let Some(number) = domain::probe_in(&sent, record.prefix) else { continue };
            let answer = Forged::from(record.prefix).to(prefix(1)).answer(number).0;
            node.participant.handle_datagram(now, meta(host), &answer, &mut node.sink).unwrap();
        }
    }
    let (validated, _) = world.nodes[0].participant.discovery().participant_counts();
    assert!((64..=128).contains(&validated), "{validated}");
    assert!(rejected(&world, 0, Rejection::EventsNotTaken) > 100);
    // Taken at last, they say what is the case.
    let mut found = 0;
    while let Some(event) = world.nodes[0].participant.poll_event() {
        found += usize::from(matches!(event, Event::ParticipantFound { .. }));
        let node = &mut world.nodes[0];
        let mut transmit = Transmit::new();
        while node.participant.poll_transmit(now, &mut transmit) {}
    }
    assert_eq!(found, validated);
}

#[test]
fn a20_garbage_makes_nothing_be_sent_or_kept() {
    let (mut world, writer, reader) = matched(EndpointQos::writer());
    let mut random = Random::new(20);
    let sent = world.sent.len();
    let held = world.nodes[1].participant.held_bytes();
    let valid = Forged::from(prefix(1)).announcement(&announced(prefix(1), 1)).0;
    let (_, usage) = alloc_meter::measure(|| {
        for _ in 0..100_000 {
            let mut bytes = valid.clone();
            for _ in 0..random.below_u64(8) + 1 {
                let at = random.below_u64(bytes.len() as u64) as usize;
                bytes[at] = random.bits() as u8;
            }
            bytes.truncate(random.below_u64(bytes.len() as u64 + 1) as usize);
            let now = world.now;
            let node = &mut world.nodes[1];
            let _ = node.participant.handle_datagram(now, meta(99), &bytes, &mut node.sink);
        }
    });
    assert!(usage.peak < 4 << 20, "{} octets", usage.peak);
    assert_eq!(world.nodes[1].participant.held_bytes(), held);
    world.write(0, writer, "through");
    world.run_ms(100);
    assert_eq!(world.texts(1, reader), ["through"]);
    let to_foe = world.sent[sent..].iter().filter(|(_, datagram)| datagram.to.ip() == address(99));
    assert!(to_foe.count() < 2_000);
}
