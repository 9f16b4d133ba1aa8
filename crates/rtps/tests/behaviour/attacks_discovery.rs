//! Attacks on discovery, one class each: what a stranger on the network can make us send, believe or forget.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use crate::domain::{
    Forged, Random, World, address, announced, any_prefix, config, data, matched, meta, network, prefix,
    probe_in, rejected, sedp_writer, user_writer, validate,
};
use rtps::discovery::{DiscoveryConfig, Event, Limits, LossReason, Rejection};
use wire::discovery::{EndpointData, ParticipantData, ParticipantMessage};
use wire::message::encode;
use wire::message::{Message, PayloadKind, Submessage};
use wire::parameter::StatusInfo;
use wire::qos::{EndpointQos, Liveliness, LivelinessKind};
use wire::{Duration, EntityId, EntityKind, Guid, GuidPrefix, Locator, SequenceNumber, SequenceNumberSet};

#[test]
fn a14_no_address_gets_more_octets_than_came_from_it() {
    let mut answered = 0;
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let user_data = vec![7; random.below_u64(600) as usize];
        let mut world = World::new(0);
        world.add(DiscoveryConfig { user_data, ..config(1) });
        let mut from_address: BTreeMap<IpAddr, u64> = BTreeMap::new();
        for _ in 0..random.below_u64(60) + 1 {
            let victim = address(100 + random.below_u64(4) as u8);
            let third = address(200 + random.below_u64(4) as u8);
            let source = SocketAddr::new(victim, 1 + random.below_u64(65_535) as u16);
            let known = GuidPrefix([random.below_u64(5) as u8 + 1; 12]);
            let name = if random.below_u64(2) == 0 { known } else { any_prefix(&mut random) };
            let mut record = announced(name, 0);
            record.metatraffic_unicast = vec![
                Locator::udp(SocketAddr::new(third, 53)),
                Locator::udp(SocketAddr::new(victim, 1 + random.below_u64(65_535) as u16)),
                Locator::udp(SocketAddr::new(address(255), 7410)),
                Locator::udp("127.0.0.1:7410".parse().unwrap()),
                Locator::udp("239.1.2.3:7410".parse().unwrap()),
            ];
            record.user_data = vec![1; random.below_u64(900) as usize];
            let mut forged = Forged::from(name);
            if random.below_u64(4) == 0 {
                forged = forged.to(GuidPrefix([0; 12]));
            }
            for _ in 0..random.below_u64(3) + 1 {
                forged = forged.announcement(&record);
            }
            if random.below_u64(3) == 0 {
                forged = forged.heartbeat(EntityId::SEDP_PUBLICATIONS_WRITER, 5, 1);
            }
            if random.below_u64(3) == 0 {
                // Probes of ours, whole ones and parts, many in one datagram.
                forged = forged.to(prefix(1));
                for count in 0..random.below_u64(20) as i32 {
                    let last = random.below_u64(70) as i64;
                    if random.below_u64(2) == 0 {
                        forged = forged.gap(EntityId::PARTICIPANT_MESSAGE_WRITER, 1, 1 + last / 2);
                    }
                    forged = forged.heartbeat(EntityId::PARTICIPANT_MESSAGE_WRITER, last, count);
                }
            }
            *from_address.entry(victim).or_default() += forged.0.len() as u64;
            world.hand(0, source, &forged.0);
            world.run_ms(random.below_u64(50) as i64);
        }
        world.run_ms(12_000);
        let mut to_address: BTreeMap<IpAddr, u64> = BTreeMap::new();
        for (_, datagram) in &world.sent {
            if !datagram.to.ip().is_multicast() {
                *to_address.entry(datagram.to.ip()).or_default() += datagram.bytes.len() as u64;
            }
        }
        for (ip, bytes) in to_address {
            let came = from_address.get(&ip).copied().unwrap_or(0);
            assert!(bytes <= came, "seed {seed}: {bytes} bytes to {ip}, {came} from it");
            answered += 1;
        }
    }
    assert!(answered > 100, "{answered} addresses were answered");
}

#[test]
fn a14_a_stranger_is_answered_and_not_more() {
    let mut world = World::new(1);
    let stranger = announced(prefix(9), 9);
    for _ in 0..20 {
        world.hand(0, meta(9), &Forged::from(prefix(9)).announcement(&stranger).0);
        world.run_ms(100);
    }
    // It is answered, so that it can show that it hears us, but nothing else is sent to it: no heartbeat, no endpoints.
    let answers: Vec<_> = world.sent.iter().filter(|(_, datagram)| datagram.to == meta(9)).collect();
    assert!((5..=20).contains(&answers.len()), "{}", answers.len());
    assert!(answers.iter().all(|(_, datagram)| datagram.bytes.len() <= answers[0].1.bytes.len()));
    assert_eq!(world.nodes[0].participant.discovery().participant_counts(), (0, 1));
}

#[test]
fn a14_the_groups_hear_at_most_ten_announcements_per_second_whoever_asks() {
    let mut world = World::new(1);
    let mut random = Random::new(14);
    world.run_ms(5_000);
    let before = world.sent.len();
    for host in 0..2_000 {
        let mut record = announced(any_prefix(&mut random), (host % 200) as u8 + 20);
        // Too little to be answered for.
        record.metatraffic_unicast.clear();
        record.default_unicast.clear();
        world.hand(0, meta((host % 200) as u8 + 20), &Forged::from(record.prefix).announcement(&record).0);
        world.run_ms(1);
    }
    let to_group = world.sent[before..].iter().filter(|(_, datagram)| datagram.to.ip().is_multicast());
    let count = to_group.count();
    assert!((10..=22).contains(&count), "{count} announcements in 2 s");
}

#[test]
fn a16_a_goodbye_from_another_address_has_no_effect() {
    let (mut world, writer, reader) = matched(EndpointQos::writer());
    let w = world.nodes[0].guid(writer);
    let goodbye = Forged::from(prefix(1)).goodbye(&announced(prefix(1), 1)).0;
    for host in 3..=50 {
        world.hand(1, meta(host), &goodbye);
    }
    assert_eq!(rejected(&world, 1, Rejection::UnknownAddress), 48);
    assert!(world.knows(1, 0) && world.is_matched(1, reader, w));
    assert!(world.nodes[1].drain().is_empty());
    world.write(0, writer, "still here");
    world.run_ms(100);
    assert_eq!(world.texts(1, reader), ["still here"]);
}

#[test]
fn a16_a_participant_speaks_for_itself_alone() {
    let (mut world, writer, reader) = matched(EndpointQos::writer());
    let w = world.nodes[0].guid(writer);
    let foe = announced(prefix(9), 9);
    world.introduce(1, meta(9), &foe);
    // The goodbye of another participant, and the disposal of its writer, in the foe's own name.
    world.hand(1, meta(9), &Forged::from(foe.prefix).goodbye(&announced(prefix(1), 1)).0);
    let mut theirs = user_writer(prefix(1), 1);
    theirs.guid = w;
    world.hand(1, meta(9), &Forged::from(foe.prefix).endpoint_gone(&theirs, 1).0);
    world.hand(1, meta(9), &Forged::from(foe.prefix).endpoint(&theirs, 2).0);
    assert_eq!(rejected(&world, 1, Rejection::ForeignRecord), 3);
    assert!(world.knows(1, 0) && world.is_matched(1, reader, w));
}

#[test]
fn a16_a_forged_disposal_of_an_endpoint_from_another_address_has_no_effect() {
    let (mut world, writer, reader) = matched(EndpointQos::writer());
    let w = world.nodes[0].guid(writer);
    let mut theirs = user_writer(prefix(1), 1);
    theirs.guid = w;
    for number in 1..100 {
        world.hand(1, meta(9), &Forged::from(prefix(1)).endpoint_gone(&theirs, number).0);
    }
    assert!(world.is_matched(1, reader, w));
    assert_eq!(rejected(&world, 1, Rejection::UnknownAddress), 99);
}

#[test]
fn a16_a_goodbye_is_believed_once_the_participant_answers_no_more() {
    let (mut world, writer, reader) = matched(EndpointQos::writer());
    let w = world.nodes[0].guid(writer);
    let goodbye = Forged::from(prefix(1)).goodbye(&announced(prefix(1), 1)).0;
    // One a second, from its very address, from another port of its host, and with both.
    for second in 0..20 {
        let from = if second % 2 == 0 { meta(1) } else { SocketAddr::new(address(1), 40_000 + second) };
        world.hand(1, from, &goodbye);
        world.write(0, writer, &second.to_string());
        world.run_ms(1_000);
    }
    assert!(world.is_matched(1, reader, w) && world.texts(1, reader).len() == 20);
    let lost = |event: &Event| matches!(event, Event::ParticipantLost { .. } | Event::WriterUnmatched { .. });
    assert!(!world.nodes[1].drain().iter().any(lost));
    // One that is really gone answers nothing.
    world.nodes[0].up = false;
    world.hand(1, meta(1), &goodbye);
    world.run_ms(20);
    assert!(world.knows(1, 0));
    world.run_ms(200);
    assert!(!world.knows(1, 0));
    let left = Event::ParticipantLost { participant: prefix(1), reason: LossReason::Left };
    assert!(world.nodes[1].drain().contains(&left));
}

#[test]
fn a16_a_participant_that_takes_long_to_leave_is_asked_again() {
    let (mut world, _, _) = matched(EndpointQos::writer());
    world.hand(1, meta(1), &Forged::from(prefix(1)).goodbye(&announced(prefix(1), 1)).0);
    world.run_ms(300);
    assert!(world.knows(1, 0));
    world.nodes[0].up = false;
    world.run_ms(500);
    assert!(!world.knows(1, 0));
}

#[test]
fn r4_announcements_that_name_us_fill_nothing_and_newcomers_are_found() {
    let mut world = World::new(1);
    let mut random = Random::new(4);
    for _ in 0..3_000 {
        let mut record = announced(any_prefix(&mut random), random.below_u64(100) as u8 + 100);
        record.lease_duration = Duration::INFINITE;
        let from = record.metatraffic_unicast[0].socket_addr().unwrap();
        world.hand(0, from, &Forged::from(record.prefix).to(prefix(1)).announcement(&record).0);
        let mut guess = SequenceNumberSet::empty(SequenceNumber(1 + random.below_u64(4) as i64));
        (guess.base().0..=64).filter(|_| random.below_u64(2) == 0).for_each(|number| {
            guess.insert(SequenceNumber(number));
        });
        guess.insert(SequenceNumber(64));
        world.hand(0, from, &Forged::from(record.prefix).to(prefix(1)).answer(guess).0);
        world.run(Duration::from_micros(100));
    }
    assert_eq!(world.nodes[0].participant.discovery().participant_counts().0, 0);
    world.add(config(2));
    world.run_until(1_000, |world| world.knows(0, 1) && world.knows(1, 0));
}

#[test]
fn r4_a_silent_participant_makes_room_for_one_that_has_answered() {
    let limits = Limits { participants: 3, ..Limits::default() };
    let mut world = World::new(0);
    world.add(DiscoveryConfig { limits, ..config(1) });
    let endless =
        |host| ParticipantData { lease_duration: Duration::INFINITE, ..announced(prefix(host), host) };
    for host in [11, 12, 13] {
        world.introduce(0, meta(host), &endless(host));
        world.run_ms(1_000);
    }
    // Nobody has been silent for long.
    world.introduce(0, meta(14), &endless(14));
    assert_eq!(rejected(&world, 0, Rejection::ParticipantLimit), 1);
    world.run_ms(29_000);
    world.hand(0, meta(11), &Forged::from(prefix(11)).announcement(&endless(11)).0);
    // One that has not answered displaces nobody.
    world.hand(0, meta(15), &Forged::from(prefix(15)).to(prefix(1)).announcement(&endless(15)).0);
    world.run_ms(1);
    let knows =
        |world: &World, host| world.nodes[0].participant.discovery().participant(prefix(host)).is_some();
    assert!(knows(&world, 11) && knows(&world, 12) && knows(&world, 13));
    world.introduce(0, meta(16), &endless(16));
    assert!(knows(&world, 11) && !knows(&world, 12) && knows(&world, 13) && knows(&world, 16));
}

/// Who made room may know us on: what was deleted meanwhile is told to it when it comes back.
#[test]
fn who_made_room_is_told_of_endpoints_that_are_gone() {
    let limits = Limits { participants: 1, ..Limits::default() };
    let mut world = World::new(0);
    world.add(DiscoveryConfig { limits, ..config(1) });
    let writer = world.writer(0, "T", EndpointQos::writer());
    let endless =
        |host| ParticipantData { lease_duration: Duration::INFINITE, ..announced(prefix(host), host) };
    world.introduce(0, meta(11), &endless(11));
    world.run_ms(31_000);
    world.introduce(0, meta(12), &endless(12));
    let (now, lost) = (world.now, world.nodes[0].drain());
    let made_room =
        |event: &Event| matches!(event, Event::ParticipantLost { reason: LossReason::MadeRoom, .. });
    assert!(lost.iter().any(made_room));
    assert!(world.nodes[0].participant.delete(now, writer));
    world.run_ms(31_000);
    let before = world.sent.len();
    world.introduce(0, meta(11), &endless(11));
    world.run_ms(100);
    let of_writers = |submessage| match submessage {
        Ok(Submessage::Heartbeat(heartbeat)) if heartbeat.writer_id == EntityId::SEDP_PUBLICATIONS_WRITER => {
            Some((heartbeat.first.0, heartbeat.last.0))
        }
        _ => None,
    };
    let to_it = world.sent[before..].iter().filter(|(_, datagram)| datagram.to == meta(11));
    let told: Vec<_> = to_it
        .flat_map(|(_, datagram)| {
            Message::parse(&datagram.bytes).unwrap().submessages().filter_map(of_writers).collect::<Vec<_>>()
        })
        .collect();
    assert!(told.contains(&(2, 2)), "{told:?}");
}

#[test]
fn r5_an_address_that_is_only_announced_gets_no_more_than_came() {
    let (mut world, ..) = matched(EndpointQos::writer());
    let reader = world.reader(0, "T", EndpointQos::reader());
    let victim = address(200);
    let mut record = announced(prefix(9), 9);
    let third = |port| Locator::udp(SocketAddr::new(victim, port));
    record.metatraffic_unicast = vec![third(7410), third(7412)];
    record.default_unicast = vec![third(7411)];
    record.lease_duration = Duration::INFINITE;
    // It answers probes, at its own address, and announces endpoints, and itself once more.
    world.introduce(0, meta(9), &record);
    let mut came = Forged::from(prefix(9)).to(prefix(1)).announcement(&record).0.len();
    for key in 1..=4 {
        let mut endpoint = user_writer(prefix(9), key);
        endpoint.unicast = vec![third(9_999)];
        let bytes = Forged::from(prefix(9)).endpoint(&endpoint, i64::from(key)).0;
        came += bytes.len();
        world.hand(0, meta(9), &bytes);
    }
    world.run_ms(35_000);
    let _ = reader;
    let to_victim = world.octets_to(victim);
    assert!(to_victim <= came as u64 && to_victim <= 1_000, "{to_victim} bytes, {came} came");
    // Where it answers, it gets what it needs.
    assert!(world.octets_to(address(9)) > 1_000);
}

#[test]
fn r5_an_announced_address_that_answers_is_used() {
    let mut world = World::new(1);
    let mut record = announced(prefix(9), 9);
    record.metatraffic_unicast = vec![Locator::udp(meta(10)), Locator::udp(meta(9))];
    world.introduce(0, meta(9), &record);
    let path = |world: &World| {
        let discovery = world.nodes[0].participant.discovery();
        discovery.participant(prefix(9)).unwrap().metatraffic_path(&network(1)).unwrap().destination
    };
    assert_eq!(path(&world), meta(9));
    // Not before it has sent as many bytes as a probe has.
    world.run_ms(1_000);
    assert_eq!(world.octets_to(address(10)), 0);
    world.hand(0, meta(9), &Forged::from(prefix(9)).to(prefix(1)).announcement(&record).0);
    world.run_ms(1);
    let probes = world.sent.iter().filter(|(_, datagram)| datagram.to == meta(10));
    let numbers: Vec<_> = probes.filter_map(|(_, datagram)| probe_in(&datagram.bytes, prefix(9))).collect();
    assert_eq!(numbers.len(), 1);
    world.hand(0, meta(10), &Forged::from(prefix(9)).to(prefix(1)).answer(numbers[0]).0);
    assert_eq!(path(&world), meta(10));
}

#[test]
fn r6_a_port_of_the_same_host_speaks_for_nobody_until_it_has_answered() {
    let (mut world, writer, reader) = matched(EndpointQos::writer());
    let w = world.nodes[0].guid(writer);
    let elsewhere = SocketAddr::new(address(1), 50_000);
    let mut theirs = user_writer(prefix(1), 1);
    theirs.guid = w;
    let mut shorter = announced(prefix(1), 1);
    shorter.lease_duration = Duration::from_millis(1);
    shorter.metatraffic_unicast = vec![Locator::udp(elsewhere)];
    for number in 1..200 {
        world.hand(1, elsewhere, &Forged::from(prefix(1)).to(prefix(2)).endpoint_gone(&theirs, number).0);
        world.hand(1, elsewhere, &Forged::from(prefix(1)).to(prefix(2)).announcement(&shorter).0);
        world.run_ms(10);
    }
    assert!(world.is_matched(1, reader, w));
    assert!(rejected(&world, 1, Rejection::UnknownAddress) >= 199);
    // It is asked where it is known, ten times a second at most.
    let probes = world
        .sent
        .iter()
        .filter(|(_, datagram)| datagram.to == meta(1) && probe_in(&datagram.bytes, prefix(1)).is_some());
    assert!((10..=25).contains(&probes.count()));
    // The answer from another port says that the participant speaks from there as well.
    world.nodes[0].mute = true;
    world.hand(1, elsewhere, &Forged::from(prefix(1)).to(prefix(2)).endpoint_gone(&theirs, 300).0);
    world.run_ms(200);
    let number = world.probe_of(prefix(1)).unwrap();
    world.nodes[1].drain();
    world.hand(1, elsewhere, &Forged::from(prefix(1)).to(prefix(2)).answer(number).0);
    let told = world.nodes[1].drain().into_iter().find_map(|event| match event {
        Event::SourcesChanged { sources, .. } => Some(sources),
        _ => None,
    });
    assert!(told.unwrap().contains(&elsewhere));
}

/// The highest number that a participant has been told of by the writer of probes, at an IP address.
fn highest_number(world: &World, name: GuidPrefix, at: IpAddr) -> i64 {
    let sent = world.sent.iter().filter(|(_, datagram)| datagram.to.ip() == at);
    let sets = sent.filter_map(|(_, datagram)| probe_in(&datagram.bytes, name));
    sets.filter_map(|set| set.iter().last()).map(|number| number.0).max().unwrap_or(0)
}

#[test]
fn r4_what_strangers_cause_makes_no_participant_skip_numbers() {
    let (mut world, ..) = matched(EndpointQos::writer());
    let mut random = Random::new(41);
    let before = highest_number(&world, prefix(2), address(2));
    for round in 0..3_000 {
        // Others, and one that claims the name of the second participant, from elsewhere.
        let name = if round % 2 == 0 { any_prefix(&mut random) } else { prefix(2) };
        let mut record = announced(name, 66);
        record.user_data = vec![round as u8; 200];
        world.hand(0, meta(66), &Forged::from(name).to(prefix(1)).announcement(&record).0);
        world.run(Duration::from_micros(500));
    }
    assert!(highest_number(&world, prefix(2), address(66)) > 500);
    // The claims are a reason to ask it where it is, ten times a second at most.
    world.hand(
        0,
        SocketAddr::new(address(2), 9),
        &Forged::from(prefix(2)).announcement(&announced(prefix(2), 66)).0,
    );
    world.run_ms(200);
    let after = highest_number(&world, prefix(2), address(2));
    assert!(after > before && after <= before + 64 * 20, "{before} {after}");
    assert!(world.knows(0, 1));
}

#[test]
fn r4_probes_in_a_name_at_its_own_address_are_few_and_it_goes_on_answering() {
    let (mut world, writer, reader) = matched(EndpointQos::writer());
    let before = highest_number(&world, prefix(2), address(2));
    // From many ports of its host, with its locators: what answers is its own reader.
    for round in 0..10_000_u16 {
        let mut record = announced(prefix(2), 2);
        record.user_data = vec![round as u8; 300];
        let from = SocketAddr::new(address(2), 10_000 + round);
        world.hand(0, from, &Forged::from(prefix(2)).to(prefix(1)).announcement(&record).0);
        world.run(Duration::from_micros(500));
    }
    let numbers = highest_number(&world, prefix(2), address(2)) - before;
    assert!((64 * 100..=64 * 300).contains(&numbers), "{numbers} numbers in 5 s");
    world.write(0, writer, "still here");
    world.run_ms(1_000);
    assert_eq!(world.texts(1, reader), ["still here"]);
    // It is asked, and answers, as before.
    world.hand(0, meta(2), &Forged::from(prefix(2)).goodbye(&announced(prefix(2), 2)).0);
    world.run_ms(1_000);
    assert!(world.knows(0, 1));
}

#[test]
fn a17_a_second_announcement_from_elsewhere_moves_nothing() {
    let (mut world, writer, reader) = matched(EndpointQos::writer());
    let mut hijack = announced(prefix(2), 66);
    hijack.builtin_endpoints.0 = 0;
    for _ in 0..50 {
        world.hand(0, meta(66), &Forged::from(prefix(2)).announcement(&hijack).0);
        world.run_ms(20);
    }
    assert!(world.nodes[0].drain().is_empty());
    let known = world.nodes[0].participant.discovery().participant(prefix(2)).unwrap();
    assert_eq!(known.data().metatraffic_unicast, [Locator::udp(meta(2))]);
    world.write(0, writer, "to the right one");
    world.run_ms(100);
    assert_eq!(world.texts(1, reader), ["to the right one"]);
    // It is answered like any stranger, for no more than it sent, and gets nothing else.
    let per_announcement = Forged::from(prefix(2)).announcement(&hijack).0.len() as u64;
    assert!(world.octets_to(address(66)) <= 50 * per_announcement);
    assert!(world.sent.iter().all(|(_, datagram)| datagram.to != data(66)));
}

#[test]
fn a18_liveliness_is_asserted_by_the_participant_itself() {
    let lease_duration = Duration::from_millis(300);
    let kind = LivelinessKind::ManualByParticipant;
    let qos = EndpointQos { liveliness: Liveliness { kind, lease_duration }, ..EndpointQos::writer() };
    let (mut world, writer, _) = matched(qos);
    let w = world.nodes[0].guid(writer);
    assert!(!world.nodes[1].participant.discovery().is_alive(w));
    let foe = announced(prefix(9), 9);
    world.introduce(1, meta(9), &foe);
    let mut payload = Vec::new();
    let kind = ParticipantMessage::MANUAL;
    ParticipantMessage { prefix: prefix(1), kind, data: Vec::new() }.encode(&mut payload);
    let id = EntityId::PARTICIPANT_MESSAGE_WRITER;
    for number in 1..20 {
        // In its own name about another, and in the other's name from its own address.
        let own = Forged::from(foe.prefix).data(id, number, PayloadKind::Data, StatusInfo::ALIVE, &payload);
        world.hand(1, meta(9), &own.0);
        let forged = Forged::from(prefix(1)).data(id, number, PayloadKind::Data, StatusInfo::ALIVE, &payload);
        world.hand(1, meta(9), &forged.0);
    }
    assert!(!world.nodes[1].participant.discovery().is_alive(w));
    assert_eq!(rejected(&world, 1, Rejection::ForeignRecord), 19);
    assert_eq!(rejected(&world, 1, Rejection::UnknownAddress), 19);
    let now = world.now;
    world.nodes[0].participant.assert_liveliness(now);
    world.run_ms(1);
    assert!(world.nodes[1].participant.discovery().is_alive(w));
}

#[test]
fn a21_info_source_makes_nobody_another() {
    let (mut world, writer, reader) = matched(EndpointQos::writer());
    let w = world.nodes[0].guid(writer);
    let mut theirs = user_writer(prefix(1), 1);
    theirs.guid = w;
    let mut forged = Forged::from(prefix(9)).to(prefix(2));
    let mut source = wire::message::Header::ours(prefix(1));
    encode::info_source(&mut forged.0, &source);
    let forged = forged.goodbye(&announced(prefix(1), 1)).endpoint_gone(&theirs, 1).0;
    world.hand(1, meta(9), &forged);
    assert!(world.knows(1, 0) && world.is_matched(1, reader, w));
    assert_eq!(rejected(&world, 1, Rejection::UnknownAddress), 2);
    // An announcement that is relayed does not show that its participant hears us.
    source.prefix = prefix(8);
    let mut relayed = Forged::from(prefix(9)).to(prefix(2));
    encode::info_source(&mut relayed.0, &source);
    world.hand(1, meta(9), &relayed.announcement(&announced(prefix(8), 8)).0);
    assert_eq!(world.nodes[1].participant.discovery().participant_counts(), (1, 1));
}

#[test]
fn a21_what_is_addressed_to_another_participant_is_not_read() {
    let mut world = World::new(1);
    let record = announced(prefix(9), 9);
    world.hand(0, meta(9), &Forged::from(prefix(9)).to(prefix(5)).announcement(&record).0);
    assert_eq!(world.nodes[0].participant.discovery().participant_counts(), (0, 0));
}

#[test]
fn a02_a_record_that_must_be_understood_and_is_not_is_refused_alone() {
    let mut world = World::new(1);
    let foe = validate(&mut world, 2);
    let endpoint = user_writer(foe.prefix, 1);
    let mut payload = Vec::new();
    endpoint.encode(&mut payload);
    // A parameter of the standard's space with the must-understand bit, right after the encapsulation header.
    payload.splice(4..4, [0x99, 0x40, 4, 0, 0, 0, 0, 0]);
    let id = sedp_writer(endpoint.guid.entity_id);
    let bytes = Forged::from(foe.prefix).data(id, 1, PayloadKind::Data, StatusInfo::ALIVE, &payload).0;
    world.hand(0, meta(2), &bytes);
    assert_eq!(rejected(&world, 0, Rejection::Malformed), 1);
    world.hand(0, meta(2), &Forged::from(foe.prefix).endpoint(&user_writer(foe.prefix, 2), 2).0);
    let known: Vec<_> = world.nodes[0].participant.discovery().endpoints().collect();
    assert!(known.len() == 1 && known[0].guid.entity_id == EntityId::user(2, EntityKind::WriterWithKey));
}

#[test]
fn a12_a_lease_that_is_no_time_is_refused() {
    let mut world = World::new(1);
    for lease_duration in [Duration::ZERO, Duration::from_nanos(-1), Duration::from_nanos(i64::MIN)] {
        let record = ParticipantData { lease_duration, ..announced(prefix(9), 9) };
        world.hand(0, meta(9), &Forged::from(prefix(9)).to(prefix(1)).announcement(&record).0);
    }
    assert_eq!(rejected(&world, 0, Rejection::Lease), 3);
    let endless = ParticipantData { lease_duration: Duration::INFINITE, ..announced(prefix(9), 9) };
    world.introduce(0, meta(9), &endless);
    // It may be silent for as long as the lease of one that announces none, whatever it says; then it is asked.
    world.run_ms(99_000);
    assert_eq!(world.nodes[0].participant.discovery().participant_counts(), (1, 0));
    let probes = |world: &World| {
        world.sent.iter().filter(|(_, datagram)| probe_in(&datagram.bytes, prefix(9)).is_some()).count()
    };
    let before = probes(&world);
    world.run_ms(2_000);
    assert_eq!(probes(&world) - before, 3);
    assert_eq!(world.nodes[0].participant.discovery().participant_counts(), (0, 0));
}

#[test]
fn endpoints_of_strangers_and_of_vendors_are_ignored() {
    let mut world = World::new(1);
    let stranger = announced(prefix(9), 9);
    world.hand(0, meta(9), &Forged::from(prefix(9)).endpoint(&user_writer(prefix(9), 1), 1).0);
    assert_eq!(rejected(&world, 0, Rejection::UnknownParticipant), 1);
    world.hand(0, meta(9), &Forged::from(prefix(9)).announcement(&stranger).0);
    world.hand(0, meta(9), &Forged::from(prefix(9)).endpoint(&user_writer(prefix(9), 1), 1).0);
    assert_eq!(rejected(&world, 0, Rejection::NotValidated), 1);
    let foe = validate(&mut world, 2);
    let vendor =
        EndpointData { guid: Guid::new(foe.prefix, EntityId([0, 0, 1, 0x42])), ..user_writer(foe.prefix, 1) };
    world.hand(0, meta(2), &Forged::from(foe.prefix).endpoint(&vendor, 1).0);
    assert_eq!(rejected(&world, 0, Rejection::EndpointKind), 1);
    assert_eq!(world.nodes[0].participant.discovery().endpoints().count(), 0);
}

#[test]
fn impossible_source_addresses_are_dropped() {
    let mut world = World::new(1);
    let record = announced(prefix(9), 9);
    let bytes = Forged::from(prefix(9)).to(prefix(1)).announcement(&record).0;
    for from in ["239.255.0.1:7400", "255.255.255.255:7400", "10.0.0.9:0", "[::]:7400"] {
        world.hand(0, from.parse().unwrap(), &bytes);
    }
    assert_eq!(rejected(&world, 0, Rejection::SourceAddress), 4);
    assert_eq!(world.nodes[0].participant.discovery().participant_counts(), (0, 0));
}

#[test]
fn reasons_of_rejection_are_told_once_per_second() {
    let mut world = World::new(1);
    world.nodes[0].events.clear();
    for _ in 0..50 {
        let record = ParticipantData { domain_id: Some(9), ..announced(prefix(9), 9) };
        world.hand(0, meta(9), &Forged::from(prefix(9)).announcement(&record).0);
        world.run_ms(100);
    }
    world.run_ms(1_000);
    let told: Vec<u64> = world.nodes[0]
        .drain()
        .into_iter()
        .filter_map(|event| match event {
            Event::Rejected { reason: Rejection::OtherDomain, count } => Some(count),
            _ => None,
        })
        .collect();
    assert!((5..=6).contains(&told.len()), "{told:?}");
    assert_eq!(told.last(), Some(&50));
}
