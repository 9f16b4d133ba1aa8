//! Who sends with the source address of a participant is believed. What it has said of endpoints lasts until the participant
//! announces itself the next time.
use crate::domain::{Forged, World, matched, meta, prefix, reliable_reader, user_writer, validate};
use wire::discovery::{EndpointData, EndpointsSummary, ParticipantData};
use wire::qos::EndpointQos;
use wire::{EntityId, Guid, SequenceNumber};

/// Announcements come every 3 s; what follows two of them takes less than half a second.
const PERIOD: i64 = 6_500;

/// A writer of the first participant that it does not have.
fn ghost(key: u32) -> EndpointData {
    EndpointData { topic_name: "T".into(), ..user_writer(prefix(1), key) }
}

fn knows(world: &World, node: usize, guid: Guid) -> bool {
    world.nodes[node].participant.discovery().endpoint(guid).is_some()
}

/// The first participant comes to have one more writer; the second one knows exactly its two.
fn goes_on(mut world: World, first: EntityId, reader: EntityId) {
    let second = world.writer(0, "T", EndpointQos::writer());
    world.run_ms(PERIOD);
    let known = world.nodes[1].participant.discovery();
    let theirs: Vec<Guid> =
        known.endpoints().map(|data| data.guid).filter(|guid| guid.prefix == prefix(1)).collect();
    let mut ours = [world.nodes[0].guid(first), world.nodes[0].guid(second)];
    ours.sort();
    assert_eq!(theirs, ours);
    for writer in ours {
        assert!(world.is_matched(1, reader, writer), "{writer}");
    }
}

#[test]
fn a_forged_endpoint_goes_with_the_next_announcement_and_the_participants_own_one_comes() {
    let (mut world, writer, reader) = matched(EndpointQos::writer());
    let ghost = ghost(77);
    world.hand(1, meta(1), &Forged::from(prefix(1)).to(prefix(2)).endpoint(&ghost, 2).0);
    assert!(world.is_matched(1, reader, ghost.guid));
    world.run_ms(PERIOD);
    assert!(!knows(&world, 1, ghost.guid) && !world.is_matched(1, reader, ghost.guid));
    goes_on(world, writer, reader);
}

#[test]
fn a_forged_endpoint_under_the_number_of_a_true_one_goes() {
    let (mut world, writer, reader) = matched(EndpointQos::writer());
    let ghost = ghost(77);
    world.hand(1, meta(1), &Forged::from(prefix(1)).to(prefix(2)).endpoint(&ghost, 2).0);
    // Number 2 of the participant itself comes too late.
    let second = world.writer(0, "T", EndpointQos::writer());
    let second = world.nodes[0].guid(second);
    world.run_ms(100);
    assert!(knows(&world, 1, ghost.guid) && !knows(&world, 1, second));
    world.run_ms(PERIOD);
    assert!(!knows(&world, 1, ghost.guid) && world.is_matched(1, reader, second));
    assert!(world.is_matched(1, reader, world.nodes[0].guid(writer)));
}

/// What is forged of the first participant's writer takes its match away, until the participant announces itself.
fn is_put_right(forge: impl FnOnce(Forged, &EndpointData) -> Forged) {
    let (mut world, writer, reader) = matched(EndpointQos::writer());
    let theirs = EndpointData { guid: world.nodes[0].guid(writer), ..ghost(1) };
    world.hand(1, meta(1), &forge(Forged::from(prefix(1)).to(prefix(2)), &theirs).0);
    world.run_ms(100);
    assert!(!world.is_matched(1, reader, theirs.guid));
    world.run_ms(PERIOD);
    assert!(world.is_matched(1, reader, theirs.guid));
    goes_on(world, writer, reader);
}

#[test]
fn an_endpoint_whose_end_was_forged_comes_back() {
    is_put_right(|forged, theirs| forged.endpoint_gone(theirs, 2));
}

#[test]
fn what_was_changed_of_an_endpoint_is_put_right() {
    is_put_right(|forged, theirs| {
        forged.endpoint(&EndpointData { topic_name: "another".into(), ..theirs.clone() }, 2)
    });
}

#[test]
fn forged_numbers_and_acknowledgements_hold_nothing_up() {
    let (mut world, writer, reader) = matched(EndpointQos::writer());
    let forged = Forged::from(prefix(1)).to(prefix(2)).gap(EntityId::SEDP_PUBLICATIONS_WRITER, 2, 50);
    world.hand(1, meta(1), &forged.endpoint(&ghost(77), 50).0);
    // A change is lost, and the reader has acknowledged it all the same.
    world.loss = 100;
    let second = world.writer(0, "T", EndpointQos::writer());
    world.run_ms(1);
    let sedp = (EntityId::SEDP_PUBLICATIONS_READER, EntityId::SEDP_PUBLICATIONS_WRITER);
    world.hand(0, meta(2), &Forged::from(prefix(2)).to(prefix(1)).acknack(sedp.0, sedp.1, 3, 10_000).0);
    world.loss = 0;
    world.run_ms(2 * PERIOD);
    for writer in [writer, second] {
        assert!(world.is_matched(1, reader, world.nodes[0].guid(writer)));
    }
}

#[test]
fn announcements_that_fit_cause_nothing() {
    let (mut world, ..) = matched(EndpointQos::writer());
    let before = world.sent.len();
    world.run_ms(60_000);
    // Two announcements of each participant in 3 s, less up to a tenth: to the group, and to the other one.
    assert!((60..=100).contains(&(world.sent.len() - before)), "{}", world.sent.len() - before);
}

/// A participant of another vendor says nothing of its endpoints in announcements: its SEDP writer is asked how far it has got.
#[test]
fn an_endpoint_that_another_makers_writer_has_not_written_goes() {
    let mut world = World::new(1);
    let reader = world.reader(0, "T", reliable_reader());
    let them = validate(&mut world, 9);
    let theirs = EndpointData { topic_name: "T".into(), ..user_writer(prefix(9), 1) };
    let ghost = EndpointData { topic_name: "T".into(), ..user_writer(prefix(9), 2) };
    let named = || Forged::from(prefix(9)).to(prefix(1));
    world.hand(0, meta(9), &named().endpoint(&theirs, 1).0);
    world.hand(0, meta(9), &named().endpoint(&ghost, 2).0);
    assert!(world.is_matched(0, reader, theirs.guid) && world.is_matched(0, reader, ghost.guid));
    for count in 1..=4 {
        world.hand(0, meta(9), &named().announcement(&them).0);
        world.run_ms(10);
        // It answers that it has written one change.
        world.hand(0, meta(9), &named().heartbeat(EntityId::SEDP_PUBLICATIONS_WRITER, 1, count).0);
        world.run_ms(1_000);
    }
    assert!(world.is_matched(0, reader, theirs.guid) && !world.is_matched(0, reader, ghost.guid));
    world.hand(0, meta(9), &named().endpoint(&ghost, 2).0);
    assert!(world.is_matched(0, reader, ghost.guid));
}

/// A forged summary in the name of a participant whose SEDP writer repeats nothing.
#[test]
fn who_repeats_nothing_is_heard_on() {
    let mut world = World::new(1);
    let reader = world.reader(0, "T", reliable_reader());
    let them = validate(&mut world, 9);
    let named = || Forged::from(prefix(9)).to(prefix(1));
    let theirs = |key| EndpointData { topic_name: "T".into(), ..user_writer(prefix(9), key) };
    world.hand(0, meta(9), &named().endpoint(&theirs(1), 1).0);
    let summary = EndpointsSummary { last: SequenceNumber(1), digest: [7; 16] };
    let forged = ParticipantData { endpoints: Some([summary; 2]), ..them.clone() };
    world.hand(0, meta(9), &named().announcement(&forged).0);
    world.hand(0, meta(9), &named().announcement(&forged).0);
    for count in 1..=4 {
        world.hand(0, meta(9), &named().heartbeat(EntityId::SEDP_PUBLICATIONS_WRITER, 1, count).0);
        world.run_ms(1_000);
    }
    world.hand(0, meta(9), &named().announcement(&them).0);
    world.hand(0, meta(9), &named().announcement(&them).0);
    world.hand(0, meta(9), &named().endpoint(&theirs(2), 2).0);
    for key in [1, 2] {
        assert!(world.is_matched(0, reader, theirs(key).guid), "{key}");
    }
}
