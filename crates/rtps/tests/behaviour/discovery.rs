//! Discovery of participants and endpoints: finding, changing, leaving, and why some do not match.

use std::net::SocketAddr;

use crate::domain::{
    DELAY, Forged, Random, World, announced, config, data, meta, network, prefix, reliable_reader, validate,
};
use rtps::discovery::{DiscoveryConfig, Event, LossReason, Mismatch, Rejection};
use wire::admission::{REPORT_TOPIC, REQUEST_TOPIC, VERDICT_TOPIC};
use wire::discovery::EndpointData;
use wire::qos::{Durability, EndpointQos};
use wire::sequence_number::Bitmap;
use wire::{Duration, EntityId, EntityKind, Guid, Instant, Locator, SequenceNumber, SequenceNumberSet};

/// One participant with a writer and one with a reader, matched.
fn matched() -> (World, EntityId, EntityId) {
    let mut world = World::new(2);
    let writer = world.writer(0, "T", EndpointQos::writer());
    let reader = world.reader(1, "T", reliable_reader());
    let (w, r) = (world.nodes[0].guid(writer), world.nodes[1].guid(reader));
    world.run_until(300, |world| world.is_matched(0, writer, r) && world.is_matched(1, reader, w));
    world.nodes.iter_mut().for_each(|node| drop(node.drain()));
    (world, writer, reader)
}

#[test]
fn a_participant_is_found_when_it_has_shown_that_it_hears_us() {
    let mut world = World::new(1);
    let stranger = announced(prefix(7), 7);
    let plain = Forged::from(prefix(7)).announcement(&stranger).0;
    world.hand(0, meta(7), &plain);
    assert_eq!(world.nodes[0].participant.discovery().participant_counts(), (0, 1));
    assert!(world.nodes[0].events.is_empty());

    // That it names us proves nothing: everybody in the group knows our prefix.
    let names_us =
        Forged::from(prefix(7)).to(prefix(1)).heartbeat(EntityId::SEDP_PUBLICATIONS_WRITER, 0, 1).0;
    world.hand(0, meta(7), &names_us);
    assert_eq!(world.nodes[0].participant.discovery().participant_counts(), (0, 1));

    world.run_ms(1);
    let right = world.probe_of(prefix(7)).unwrap();
    let answer = |set| Forged::from(prefix(7)).to(prefix(1)).answer(set).0;
    for position in 0..64 {
        let mut words = *right.bitmap().words();
        words[position / 32] ^= 1 << (31 - position % 32);
        let wrong = Bitmap::from_words(64, words).unwrap();
        world.hand(0, meta(7), &answer(SequenceNumberSet::new(right.base(), wrong).unwrap()));
        let other = SequenceNumber(position as i64);
        if other != right.base() {
            world.hand(0, meta(7), &answer(SequenceNumberSet::new(other, *right.bitmap()).unwrap()));
        }
    }
    assert_eq!(world.nodes[0].participant.discovery().participant_counts(), (0, 1));
    world.hand(0, meta(7), &answer(right));
    assert_eq!(world.nodes[0].participant.discovery().participant_counts(), (1, 0));
    let found = |event: &Event| matches!(event, Event::ParticipantFound { participant } if participant.prefix == prefix(7));
    assert!(world.nodes[0].events.iter().any(found));
}

#[test]
fn i6_a_packet_without_a_source_address_comes_from_this_host() {
    let mut world = World::new(1);
    let announcement = Forged::from(prefix(7)).to(prefix(1)).announcement(&announced(prefix(7), 7)).0;
    world.hand(0, "0.0.0.0:40000".parse().unwrap(), &announcement);
    let heard: Vec<_> = world.nodes[0].participant.discovery().strangers().map(|(from, _)| from).collect();
    assert_eq!(heard, ["127.0.0.1:40000".parse().unwrap()]);
}

#[test]
fn a_participant_that_names_us_is_probed_at_once() {
    let mut world = World::new(1);
    world.introduce(0, data(7), &announced(prefix(7), 7));
    let known = world.nodes[0].participant.discovery().participant(prefix(7)).unwrap();
    let path = known.metatraffic_path(&network(1)).unwrap();
    assert_eq!((path.destination, path.interface), (meta(7), 2));
}

#[test]
fn discovery_takes_a_quarter_of_a_second_at_most_and_works_without_multicast() {
    let mut world = World::new(0);
    // The first knows nobody; the second has the first as its configured peer.
    world.add(DiscoveryConfig { metatraffic_multicast: vec![], ..config(1) });
    world.run_ms(5_000);
    let peers = vec![meta(1)];
    world.add(DiscoveryConfig { metatraffic_multicast: vec![], static_peers: peers, ..config(2) });
    world.run_until(250, |world| world.knows(0, 1) && world.knows(1, 0));
    // It stays so although only one of them is configured to announce itself to the other.
    world.run_ms(60_000);
    assert!(world.knows(0, 1) && world.knows(1, 0));
    let lost = |event: &Event| matches!(event, Event::ParticipantLost { .. });
    assert!(!world.nodes.iter().any(|node| node.events.iter().any(lost)));
}

/// How often one datagram after another has to cross until both sides know of the match; nothing waits for a timer.
fn crossings(configs: [DiscoveryConfig; 2], head_start: i64) -> u64 {
    let [one, other] = configs;
    let mut world = World::new(0);
    world.add(one);
    let writer = world.writer(0, "T", EndpointQos::writer());
    world.run_ms(head_start);
    world.add(other);
    let reader = world.reader(1, "T", reliable_reader());
    let (w, r) = (world.nodes[0].guid(writer), world.nodes[1].guid(reader));
    let matched = |world: &World| world.is_matched(0, writer, r) && world.is_matched(1, reader, w);
    for crossings in 0..1_000 {
        if matched(&world) {
            return crossings;
        }
        world.run(Duration::from_nanos(DELAY as i64));
    }
    assert!(matched(&world), "the endpoints are not matched");
    1_000
}

#[test]
fn a_newcomer_is_matched_after_seven_crossings() {
    // Its announcement; the answer with a probe; the answer to that with a probe of its own; the answer to that, and the question for
    // endpoints; its own question; those and the last question; those.
    assert_eq!(crossings([config(1), config(2)], 5_000), 7);
    // The answer may be larger than the announcement without its padding.
    let named = |host, name: &str| DiscoveryConfig { entity_name: Some(name.into()), ..config(host) };
    assert_eq!(crossings([named(1, &"a name of the robot ".repeat(6)), config(2)], 5_000), 7);
    // One that is too large for that is announced to all, and the newcomer answers that: two crossings more.
    let large = DiscoveryConfig { user_data: vec![7; 1_000], ..config(1) };
    assert_eq!(crossings([large, config(2)], 5_000), 7);
    // Both start at once.
    assert_eq!(crossings([config(1), config(2)], 0), 6);
}

#[test]
fn the_padding_of_an_announcement_fits_the_smallest_path() {
    for max_datagram in [256, 300, 420, 1_472] {
        let mut world = World::new(1);
        let mut network = network(1);
        network.interfaces[0].max_datagram = max_datagram;
        let (now, at) = (world.now, |at| vec![Locator::udp(at)]);
        world.nodes[0].participant.set_network(now, network, at(meta(1)), at(data(1)));
        world.run_ms(10);
        // That no datagram is larger than its path is checked where it is sent.
        let longest = world.sent.iter().map(|(_, datagram)| datagram.bytes.len()).max();
        assert!(
            longest.is_some_and(|bytes| bytes > 400 || bytes + 28 > max_datagram as usize),
            "{longest:?}"
        );
    }
}

/// What endpoints amount to is left out of announcements where the path has no room for it; nothing longer than the path may be sent.
#[test]
fn announcements_to_those_who_know_us_fit_the_path() {
    let mut found = [0; 2];
    for max_datagram in (300..560).step_by(4) {
        let mut world = World::new(2);
        for host in 0..2 {
            let mut network = network(host + 1);
            network.interfaces[0].max_datagram = max_datagram;
            let (now, locators) = (world.now, |at: SocketAddr| vec![Locator::udp(at)]);
            let participant = &mut world.nodes[usize::from(host)].participant;
            participant.set_network(now, network, locators(meta(host + 1)), locators(data(host + 1)));
        }
        world.run_ms(5_000);
        assert!(world.knows(0, 1) && world.knows(1, 0));
        let to_it = world.sent.iter().filter(|(_, datagram)| datagram.to == meta(2));
        let longest = to_it.map(|(_, datagram)| datagram.bytes.len()).max().unwrap();
        found[usize::from(longest + 64 > max_datagram as usize)] += 1;
    }
    assert!(found[0] > 0 && found[1] > 0, "{found:?}");
}

#[test]
fn endpoints_that_come_later_match_at_once_and_leave_at_once() {
    let mut world = World::new(2);
    world.run_ms(1_000);
    let writer = world.writer(0, "Late", EndpointQos::writer());
    world.run_ms(500);
    let reader = world.reader(1, "Late", EndpointQos::reader());
    let (w, r) = (world.nodes[0].guid(writer), world.nodes[1].guid(reader));
    world.run_until(5, |world| world.is_matched(0, writer, r) && world.is_matched(1, reader, w));
    let now = world.now;
    assert!(world.nodes[1].participant.delete(now, reader));
    world.run_until(5, |world| !world.is_matched(0, writer, r));
    assert!(world.nodes[0].events.contains(&Event::ReaderUnmatched { writer, reader: r }));
    assert!(world.nodes[1].events.contains(&Event::WriterUnmatched { reader, writer: w, may_return: false }));
    assert!(world.nodes[0].participant.discovery().endpoint(r).is_none());
}

#[test]
fn incompatible_qos_is_told_to_both_sides_and_can_be_mended() {
    let mut world = World::new(2);
    let writer = world.writer(0, "T", EndpointQos::writer());
    let qos = EndpointQos { durability: Durability::TransientLocal, ..reliable_reader() };
    let reader = world.reader(1, "T", qos);
    let (w, r) = (world.nodes[0].guid(writer), world.nodes[1].guid(reader));
    world.run_ms(500);
    let expected =
        Mismatch::Durability { offered: Durability::Volatile, requested: Durability::TransientLocal };
    for (node, local, other) in [(0, writer, r), (1, reader, w)] {
        let told = world.nodes[node].events.iter().any(|event| {
            matches!(event, Event::NotMatched { local: l, remote, reasons }
                if *l == local && remote.guid == other && reasons[..] == [expected.clone()])
        });
        assert!(told, "{:?}", world.nodes[node].events);
        let discovery = world.nodes[node].participant.discovery();
        let asked: Vec<_> = discovery.mismatches().collect();
        assert_eq!(asked.len(), 1);
        assert_eq!((asked[0].0, asked[0].1.guid, &asked[0].2[..]), (local, other, &[expected.clone()][..]));
    }
    let now = world.now;
    assert_eq!(world.nodes[1].participant.set_qos(now, reader, reliable_reader()), Ok(true));
    world.run_ms(10);
    assert!(world.is_matched(0, writer, r) && world.is_matched(1, reader, w));
    assert_eq!(world.nodes[0].participant.discovery().mismatches().count(), 0);

    let qos = EndpointQos { partition: vec!["elsewhere".into()], ..reliable_reader() };
    let now = world.now;
    assert_eq!(world.nodes[1].participant.set_qos(now, reader, qos), Ok(true));
    world.run_ms(10);
    assert!(!world.is_matched(0, writer, r) && !world.is_matched(1, reader, w));
}

#[test]
fn partitions_match_by_wildcard() {
    let mut world = World::new(2);
    let partition = |name: &str| vec![String::from(name)];
    let writer =
        world.writer(0, "T", EndpointQos { partition: partition("robot7/arm"), ..EndpointQos::writer() });
    let near =
        world.reader(1, "T", EndpointQos { partition: partition("robot?/*"), ..EndpointQos::reader() });
    let far =
        world.reader(1, "T", EndpointQos { partition: partition("robot?/leg"), ..EndpointQos::reader() });
    world.run_ms(500);
    let w = world.nodes[0].guid(writer);
    assert!(world.is_matched(1, near, w) && !world.is_matched(1, far, w));
    assert_eq!(world.nodes[0].participant.discovery().matches(writer).count(), 1);
}

#[test]
fn a_silent_participant_is_lost_when_its_lease_ends() {
    let (mut world, writer, reader) = matched();
    let (w, silent_from) = (world.nodes[0].guid(writer), world.now.monotonic);
    world.nodes[0].up = false;
    // The last announcement was three seconds ago at most.
    world.run_ms(6_900);
    assert!(world.knows(1, 0) && world.is_matched(1, reader, w));
    world.run_ms(3_200);
    assert!(!world.knows(1, 0) && !world.is_matched(1, reader, w));
    assert!(world.now.monotonic.since(silent_from) > Duration::from_secs(10));
    let expected = [
        Event::WriterUnmatched { reader, writer: w, may_return: true },
        Event::ParticipantLost { participant: prefix(1), reason: LossReason::LeaseExpired },
    ];
    assert_eq!(world.nodes[1].drain(), expected);
    assert!(world.nodes[1].participant.discovery().endpoint(w).is_none());
    assert_eq!(world.nodes[1].participant.served(reader), []);
}

#[test]
fn a_writer_that_leaves_is_kept_for_a_moment() {
    let (mut world, writer, reader) = matched();
    let w = world.nodes[0].guid(writer);
    let now = world.now;
    world.nodes[0].participant.shutdown(now);
    world.run_ms(2);
    assert!(world.nodes[0].participant.discovery().is_gone());
    assert_eq!(world.nodes[0].participant.poll_timeout(), Instant::NEVER);
    assert_eq!(world.nodes[1].drain(), []);
    world.run_ms(50);
    assert_eq!(world.nodes[1].drain(), [Event::WriterUnmatched { reader, writer: w, may_return: false }]);
    // It is asked whether it is still there.
    world.run_ms(150);
    let left = Event::ParticipantLost { participant: prefix(1), reason: LossReason::Left };
    assert_eq!(world.nodes[1].drain(), [left]);
    let sent = world.sent.len();
    world.run_ms(500);
    assert!(world.sent[sent..].iter().all(|(_, datagram)| datagram.from != meta(1)));
}

#[test]
fn readers_that_leave_count_at_once() {
    let (mut world, writer, reader) = matched();
    let r = world.nodes[1].guid(reader);
    let now = world.now;
    world.nodes[1].participant.shutdown(now);
    world.run_ms(2);
    assert_eq!(world.nodes[0].drain(), [Event::ReaderUnmatched { writer, reader: r }]);
}

/// The samples that the first participant sends now, kept back.
fn kept_back(world: &mut World) -> Vec<Vec<u8>> {
    let next = || world.nodes[0].participant.poll_data();
    std::iter::from_fn(next).map(|(_, bytes)| bytes).collect()
}

#[test]
fn samples_that_the_goodbye_overtakes_arrive_in_the_moment_after_it() {
    for whole in [false, true] {
        let (mut world, writer, reader) = matched();
        world.write(0, writer, "last");
        let samples = kept_back(&mut world);
        let now = world.now;
        if whole {
            world.nodes[0].participant.shutdown(now);
        } else {
            world.nodes[0].participant.delete(now, writer);
        }
        world.run_ms(40);
        for datagram in &samples {
            world.hand(1, data(1), datagram);
        }
        assert_eq!(world.texts(1, reader), ["last"]);
        world.run_ms(20);
        assert!(world.nodes[1].participant.discovery().matches(reader).next().is_none());
        // Then it is over.
        world.hand(1, data(1), &samples[0]);
        assert_eq!(world.texts(1, reader).len(), 1);
    }
}

#[test]
fn a_writer_that_comes_back_within_the_moment_begins_anew() {
    let (mut world, writer, reader) = matched();
    let w = world.nodes[0].guid(writer);
    let theirs = EndpointData::clone(world.nodes[1].participant.discovery().endpoint(w).unwrap());
    // Its announcements and the disposal are the first and the second sample of its participant's built-in writer.
    world.hand(1, meta(1), &Forged::from(prefix(1)).endpoint_gone(&theirs, 2).endpoint(&theirs, 3).0);
    let events = world.nodes[1].drain();
    let [Event::WriterUnmatched { .. }, Event::WriterMatched { .. }] = events.as_slice() else {
        panic!("{events:?}")
    };
    // Its participant has written neither of the two, and will say so: see `attacks_spoofed.rs`.
    assert!(world.is_matched(1, reader, w));
}

#[test]
fn a_participant_that_was_lost_by_mistake_comes_back_with_its_endpoints() {
    let (mut world, writer, reader) = matched();
    world.write(0, writer, "before");
    world.run_ms(10);
    // One way is cut: the second does not hear the first for longer than the lease, the first notices nothing.
    world.nodes[0].mute = true;
    world.run_ms(15_000);
    assert!(!world.knows(1, 0) && world.knows(0, 1));
    world.nodes[0].mute = false;
    let (w, r) = (world.nodes[0].guid(writer), world.nodes[1].guid(reader));
    world.run_until(4_000, |world| world.is_matched(1, reader, w) && world.is_matched(0, writer, r));
    world.write(0, writer, "after");
    world.run_ms(1_000);
    assert_eq!(world.texts(1, reader), ["before", "after"]);
}

#[test]
fn an_endpoint_that_was_deleted_behind_our_back_does_not_stay() {
    let (mut world, writer, reader) = matched();
    let w = world.nodes[0].guid(writer);
    // The first does not hear the second for longer than the lease; the second goes on hearing the first.
    world.nodes[1].mute = true;
    world.run_ms(15_000);
    assert!(!world.knows(0, 1) && world.knows(1, 0));
    let now = world.now;
    world.nodes[0].participant.delete(now, writer);
    world.run_ms(1_000);
    assert!(world.is_matched(1, reader, w));
    world.nodes[1].mute = false;
    world.run_ms(4_000);
    assert!(world.knows(0, 1) && !world.is_matched(1, reader, w));
    assert!(world.nodes[1].participant.discovery().endpoint(w).is_none());
}

#[test]
fn addresses_may_change_while_running() {
    let (mut world, writer, reader) = matched();
    let now = world.now;
    let moved = vec![Locator::udp(meta(77))];
    world.nodes[1].address = crate::domain::address(77);
    world.nodes[1].participant.set_network(now, network(77), moved, vec![Locator::udp(data(77))]);
    // It is asked where it was, before it is believed to be elsewhere.
    world.run_ms(400);
    assert!(world.nodes[0].events.iter().any(|event| matches!(event, Event::ParticipantChanged { .. })));
    world.write(0, writer, "to the new address");
    world.run_ms(100);
    assert_eq!(world.texts(1, reader), ["to the new address"]);
    let lost = |event: &Event| matches!(event, Event::ParticipantLost { .. } | Event::ReaderUnmatched { .. });
    assert!(!world.nodes[0].events.iter().any(lost));
    world.run_ms(30_000);
    assert!(world.knows(0, 1) && world.knows(1, 0));
}

/// A participant that asks for the first number of a probe alone, as HDDS does, whatever the GAP says.
#[test]
fn a_participant_that_answers_probes_in_its_own_way_is_found() {
    for is_about_the_probe in [true, false] {
        let mut world = World::new(1);
        let to = prefix(1);
        let data = announced(prefix(9), 9);
        world.hand(0, meta(9), &Forged::from(prefix(9)).to(to).announcement(&data).0);
        world.run_ms(1);
        let probed = world.probe_of(prefix(9)).unwrap();
        // Windows of 64 numbers follow each other, from 1 on.
        let first = SequenceNumber((probed.base().0 - 1) / 64 * 64 + 1);
        let asked = if is_about_the_probe { first } else { SequenceNumber(first.0 + 1_000) };
        let mut set = SequenceNumberSet::empty(asked);
        set.insert(asked);
        world.hand(0, meta(9), &Forged::from(prefix(9)).to(to).answer(set).0);
        world.run_ms(1);
        let is_found = world.nodes[0].participant.discovery().participant(prefix(9)).is_some();
        assert_eq!(is_found, is_about_the_probe);
    }
}

/// A participant that announces itself by unicast each time that it hears an announcement, as HDDS does.
#[test]
fn who_answers_announcements_by_announcements_is_answered_ever_less() {
    let mut world = World::new(1);
    let data = wire::discovery::ParticipantData { user_data: vec![7; 600], ..announced(prefix(9), 9) };
    let announcement = Forged::from(prefix(9)).to(prefix(1)).announcement(&data).0;
    world.inject(meta(9), meta(1), announcement.clone());
    let (mut seen, begun) = (0, world.now.monotonic);
    let mut answers = Vec::new();
    while world.now.monotonic.since(begun) < Duration::from_secs(20) {
        world.run_ms(1);
        for (at, datagram) in world.sent.split_off(seen) {
            if datagram.to == meta(9) {
                answers.push(at);
                world.inject(meta(9), meta(1), announcement.clone());
            }
        }
        seen = world.sent.len();
    }
    let late = answers.iter().filter(|at| at.since(begun) > Duration::from_secs(10)).count();
    assert!(answers.len() < 150 && late < 60, "{} answers, {late} of them late", answers.len());
}

/// Both hosts get another address beside the one that they have, and lose that, at times that are not the same.
#[test]
fn participants_that_move_at_the_same_time_reach_each_other() {
    for seed in 0..300 {
        let (mut world, _, _) = matched();
        let mut random = Random::new(seed);
        world.loss = [0, 0, 30][seed as usize % 3];
        let mut steps = Vec::new();
        for node in 0..2 {
            let comes = random.below_u64(200);
            steps.extend([(comes, node, false), (comes + random.below_u64(200), node, true)]);
        }
        steps.sort_unstable();
        let mut passed = 0;
        for (at, node, is_gone) in steps {
            world.run_ms((at - passed) as i64);
            passed = at;
            let hosts = if is_gone { vec![71 + node] } else { vec![1 + node, 71 + node] };
            let locators = |at: fn(u8) -> SocketAddr| {
                hosts.iter().map(|host| Locator::udp(at(*host))).collect::<Vec<_>>()
            };
            let mut network = network(1 + node);
            network.interfaces[0].addresses =
                hosts.iter().map(|host| (crate::domain::address(*host), 24)).collect();
            let (now, moved) = (world.now, &mut world.nodes[usize::from(node)]);
            moved.participant.set_network(now, network, locators(meta), locators(data));
            if is_gone {
                moved.address = crate::domain::address(71 + node);
            }
        }
        world.run_ms(if world.loss > 0 { 30_000 } else { 1_000 });
        let writer = world.writer(0, "Later", EndpointQos::writer());
        let reader = world.reader(1, "Later", reliable_reader());
        let (w, r) = (world.nodes[0].guid(writer), world.nodes[1].guid(reader));
        world.run_ms(if world.loss > 0 { 30_000 } else { 1_000 });
        assert!(world.is_matched(0, writer, r) && world.is_matched(1, reader, w), "seed {seed}");
        let lost = |event: &Event| matches!(event, Event::ParticipantLost { .. });
        assert!(!world.nodes.iter().any(|node| node.events.iter().any(lost)), "seed {seed}");
    }
}

#[test]
fn where_a_participant_is_heard_it_is_soon_asked_again() {
    let mut world = World::new(1);
    let mut them = validate(&mut world, 9);
    (them.metatraffic_unicast, them.default_unicast) =
        (vec![Locator::udp(meta(10))], vec![Locator::udp(data(10))]);
    // It announces that it has moved, and for half a minute nothing gets through.
    for _ in 0..20 {
        world.hand(0, meta(9), &Forged::from(prefix(9)).to(prefix(1)).announcement(&them).0);
    }
    world.run_ms(35_000);
    let probes = |world: &World| world.sent.iter().filter(|(_, datagram)| datagram.to == meta(10)).count();
    let before = probes(&world);
    world.run_ms(5_000);
    assert_eq!(probes(&world), before);
    for _ in 0..20 {
        world.hand(0, meta(10), &Forged::from(prefix(9)).to(prefix(1)).announcement(&them).0);
        world.run_ms(100);
    }
    assert!((1..=2).contains(&(probes(&world) - before)), "{}", probes(&world) - before);
}

#[test]
fn other_domains_and_tags_are_not_seen() {
    let mut world = World::new(1);
    let tagged = DiscoveryConfig { domain_tag: "blue".into(), ..config(2) };
    world.add(tagged.clone());
    world.add(DiscoveryConfig { prefix: prefix(3), ..tagged });
    world.run_ms(5_000);
    assert!(!world.knows(0, 1) && !world.knows(1, 0) && world.knows(1, 2) && world.knows(2, 1));
    let other = wire::discovery::ParticipantData { domain_id: Some(1), ..announced(prefix(9), 9) };
    world.hand(0, meta(9), &Forged::from(prefix(9)).to(prefix(1)).announcement(&other).0);
    assert!(world.nodes[0].participant.discovery().rejected(Rejection::OtherDomain) > 0);
    assert_eq!(world.nodes[0].participant.discovery().participants().count(), 0);
}

#[test]
fn data_go_to_a_group_that_readers_announce_if_the_writer_is_told_so() {
    let group: SocketAddr = "239.255.0.9:7401".parse().unwrap();
    for multicast_data in [false, true] {
        let mut world = World::new(0);
        world.add(DiscoveryConfig { multicast_data, ..config(1) });
        world.add(DiscoveryConfig { default_multicast: vec![Locator::udp(group)], ..config(2) });
        let writer = world.writer(0, "T", EndpointQos::writer());
        let reader = world.reader(1, "T", EndpointQos::reader());
        let r = world.nodes[1].guid(reader);
        world.run_until(300, |world| world.is_matched(0, writer, r));
        world.write(0, writer, "once");
        world.run_ms(10);
        assert_eq!(world.sent.iter().any(|(_, datagram)| datagram.to == group), multicast_data);
        assert_eq!(world.texts(1, reader).len(), usize::from(!multicast_data));
    }
}

#[test]
fn without_news_only_announcements_are_sent() {
    let (mut world, ..) = matched();
    world.run_ms(2_000);
    let sent = world.sent.len();
    world.run_ms(30_000);
    // Twelve rounds of two participants: to the group, and to the other one.
    let datagrams = world.sent.len() - sent;
    assert!((36..=48).contains(&datagrams), "{datagrams} datagrams in 30 s");
}

#[test]
fn wrong_configurations_are_refused() {
    use rtps::discovery::{ConfigError, Discovery};
    let refused =
        |config: DiscoveryConfig| Discovery::<crate::domain::Payload>::new(config, network(1)).err().unwrap();
    let good = config(1);
    assert_eq!(
        refused(DiscoveryConfig { prefix: wire::GuidPrefix::UNKNOWN, ..good.clone() }),
        ConfigError::Prefix
    );
    assert_eq!(refused(DiscoveryConfig { domain_id: 233, ..good.clone() }), ConfigError::DomainId(233));
    assert_eq!(
        refused(DiscoveryConfig { user_data: vec![0; 32_769], ..good.clone() }),
        ConfigError::UserData(32_769)
    );
    assert_eq!(
        refused(DiscoveryConfig { lease_duration: Duration::from_secs(3), ..good.clone() }),
        ConfigError::Durations
    );
    let long = "x".repeat(256);
    assert_eq!(refused(DiscoveryConfig { domain_tag: long.clone(), ..good }), ConfigError::Text(long));
}

#[test]
fn endpoints_of_others_cannot_be_announced_as_ours() {
    use rtps::discovery::{AnnounceError, Discovery};
    let mut discovery = Discovery::<crate::domain::Payload>::new(config(1), network(1)).unwrap();
    for guid in [
        Guid::new(prefix(2), EntityId([0, 0, 1, 2])),
        Guid::new(prefix(1), EntityId::SPDP_WRITER),
        Guid::new(prefix(1), EntityId([0, 0, 1, 0x42])),
        Guid::new(prefix(1), EntityId::PARTICIPANT),
    ] {
        let data = EndpointData::new(guid, "T".into(), "T".into(), EndpointQos::writer());
        assert_eq!(discovery.put_endpoint(World::new(0).now, data), Err(AnnounceError::Guid(guid)));
    }
}

#[test]
fn requests_and_verdicts_go_where_discovery_goes_and_samples_do_not() {
    for (topic, port) in
        [("T", data(2)), (REQUEST_TOPIC, meta(2)), (VERDICT_TOPIC, meta(2)), (REPORT_TOPIC, data(2))]
    {
        let mut world = World::new(2);
        let writer = world.writer(0, topic, EndpointQos::writer());
        let reader = world.reader(1, topic, reliable_reader());
        let r = world.nodes[1].guid(reader);
        world.run_until(300, |world| world.is_matched(0, writer, r));
        world.run_ms(100);
        world.nodes[0].drain();
        world.write(0, writer, "text");
        world.run_ms(100);
        assert_eq!(world.texts(1, reader), ["text"], "{topic}");
        let to = |bytes: &[u8]| bytes.windows(4).any(|four| four == b"text");
        let ways =
            world.sent.iter().filter(|(_, datagram)| to(&datagram.bytes)).map(|(_, datagram)| datagram.to);
        assert_eq!(ways.collect::<Vec<_>>(), [port], "{topic}");
    }
    // A reader of another vendor is reached where it expects samples.
    let mut world = World::new(1);
    world.writer(0, REQUEST_TOPIC, EndpointQos::writer());
    let other = validate(&mut world, 7);
    let guid = Guid::new(other.prefix, EntityId::user(1, EntityKind::ReaderWithKey));
    let theirs = EndpointData::new(guid, REQUEST_TOPIC.into(), "Text".into(), reliable_reader());
    world.hand(0, meta(7), &Forged::from(other.prefix).endpoint(&theirs, 1).0);
    let events = world.nodes[0].drain();
    let found = events.iter().find_map(|event| match event {
        Event::ReaderMatched { paths, .. } => paths.first().map(|path| path.destination),
        _ => None,
    });
    assert_eq!(found, Some(data(7)), "{events:?}");
}
