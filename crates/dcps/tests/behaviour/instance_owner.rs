//! Instances that belong to a participant: what others write about them changes nothing, not even what there is room for.
use dcps::InstanceState;
use dcps::reader::DropReason;
use wire::GuidPrefix;
use wire::parameter::{InlineQos, StatusInfo};
use wire::qos::{History, Ownership};

use crate::desk::{Desk, data};

/// Instances 1, 2 and 3 belong to the participants of the writers 1, 2 and 3, the others to nobody.
fn owner(key: &[u8]) -> Option<GuidPrefix> {
    let number = u32::from_be_bytes(key.try_into().ok()?);
    u8::try_from(number).ok().filter(|number| (1..=3).contains(number)).map(|number| GuidPrefix([number; 12]))
}

fn desk(change: impl FnOnce(&mut dcps::qos::DataReaderQos)) -> Desk {
    let mut desk = Desk::new(change);
    desk.reader.set_instance_owner(Some(owner));
    desk
}

fn by_hash(id: u32, status_info: StatusInfo) -> InlineQos {
    let mut key = [0; 16];
    key[..4].copy_from_slice(&id.to_be_bytes());
    InlineQos { key_hash: Some(key), status_info, ..InlineQos::default() }
}

#[test]
fn a_sample_of_another_participant_takes_the_place_of_none_of_the_owner() {
    let mut desk = desk(|qos| qos.endpoint.history = History::KeepLast(1));
    desk.write(1, 1, 10);
    desk.write(3, 1, 30);
    assert_eq!(desk.values(), [Some(10)]);
    // Nor once the owner is registered, whatever way samples take then.
    for value in 11..20 {
        desk.write(1, 1, value);
        desk.write(3, 1, 30);
        assert_eq!(desk.values(), [Some(value)]);
    }
    assert_eq!(desk.dropped(DropReason::Unauthorized), 10);
}

#[test]
fn a_stronger_writer_of_another_participant_owns_nothing() {
    let mut desk = desk(|qos| qos.endpoint.ownership = Ownership::Exclusive);
    desk.write(3, 1, 30);
    desk.write(1, 1, 10);
    desk.write(3, 1, 31);
    assert_eq!(desk.values(), [Some(10)]);
}

#[test]
fn only_the_owner_ends_an_instance() {
    let mut desk = desk(|_| {});
    desk.write(1, 1, 10);
    desk.dispose(3, 1);
    desk.unregister(3, 1);
    desk.put(3, by_hash(1, StatusInfo::DISPOSED), true, &[], None);
    desk.put(3, by_hash(1, StatusInfo::DISPOSED | StatusInfo::UNREGISTERED), true, &[], None);
    assert_eq!(desk.state(1), Some(InstanceState::Alive));
    assert_eq!(desk.dropped(DropReason::Unauthorized), 4);
    desk.put(1, by_hash(1, StatusInfo::DISPOSED), true, &[], None);
    assert_eq!(desk.state(1), Some(InstanceState::NotAliveDisposed));
}

#[test]
fn an_instance_lives_as_long_as_its_owner() {
    let mut desk = desk(|_| {});
    desk.write(3, 1, 30);
    desk.write(1, 1, 10);
    let others = crate::desk::writer(3);
    desk.reader.unmatch_publication(desk.now, others);
    assert_eq!(desk.state(1), Some(InstanceState::Alive));
    desk.connect(3, |_| {});
    desk.write(3, 1, 31);
    desk.unregister(1, 1);
    assert_eq!(
        desk.state(1),
        Some(InstanceState::NotAliveNoWriters),
        "the other's writer is there, and counts for nothing"
    );
}

#[test]
fn what_belongs_to_nobody_and_what_is_made_up_is_not_kept() {
    let mut desk = desk(|_| {});
    for id in 4..10_004 {
        desk.write(3, id, 1);
        desk.dispose(2, id);
    }
    assert_eq!((desk.reader.instances(), desk.reader.held_bytes()), (0, 0));
    assert_eq!(desk.dropped(DropReason::Unauthorized), 20_000);
    let [_, payload @ ..] = &data(1, 1)[..] else { panic!("a payload") };
    desk.put(1, InlineQos::default(), false, payload, None);
    assert_eq!(desk.dropped(DropReason::Encapsulation), 1);
}

/// Each thousand belongs to a participant.
fn owner_of_many(key: &[u8]) -> Option<GuidPrefix> {
    let number = u32::from_be_bytes(key.try_into().ok()?);
    u8::try_from(number / 1_000).ok().map(|number| GuidPrefix([number; 12]))
}

#[test]
fn one_participant_has_a_sixteenth_of_the_instances_and_others_find_room() {
    let mut desk = Desk::new(|qos| {
        qos.endpoint.history = History::KeepLast(1);
        qos.instance_limit = 64;
    });
    desk.reader.set_instance_owner(Some(owner_of_many));
    for id in 1_000..2_000 {
        desk.write(1, id, 1);
        desk.values();
    }
    assert_eq!((desk.reader.instances(), desk.dropped(DropReason::Instances)), (4, 996));
    desk.write(2, 2_000, 2);
    assert_eq!(desk.values(), [Some(2)]);
    // What it has had is known on, and what it has given up makes room.
    desk.write(1, 1_003, 3);
    assert_eq!(desk.values(), [Some(3)]);
    for id in 1_000..1_003 {
        desk.dispose(1, id);
        desk.unregister(1, id);
        desk.values();
        desk.write(1, id + 500, 4);
        assert_eq!(desk.values(), [Some(4)]);
    }
    desk.write(1, 1_900, 5);
    assert_eq!((desk.values().len(), desk.reader.instances()), (0, 5));
}
