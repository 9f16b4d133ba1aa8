//! A live participant of the public API, matched with a peer and with a witness, that reads one datagram after the other while time goes on.
use std::net::IpAddr;

use rtps::familiar::Familiar;
use wire::EntityId;

use crate::mutation::MAX_LEN;
use crate::structure::{Part, Structure};

mod scene;

use scene::{OURS, PEER, Scene, WITNESS, address};

/// An address that no participant has.
const STRANGER: usize = 65;
/// Datagrams that one input may cause.
const MAX_ANSWERS: usize = 2_000;
/// After so many inputs it is looked whether samples still flow.
const LOOK: u32 = 64;

/// Inputs come from the peer that is matched. Our writers have samples that were not acknowledged, and now and then a new one. Every second
/// input has the numbers that its writers would give their next samples, so that it is not refused as old.
pub(super) fn from_peer() -> impl FnMut(&[u8]) {
    let mut scene = Scene::matched(scene::KNOWN_PREFIX);
    scene.write_all(OURS);
    let mut numbers = Numbers::of(&scene);
    let mut count = 0_u32;
    let mut datagram = Vec::with_capacity(MAX_LEN);
    move |input| {
        count += 1;
        if count.is_multiple_of(16) {
            scene.write_small(OURS);
        }
        datagram.clear();
        datagram.extend_from_slice(input);
        if count.is_multiple_of(2) {
            numbers.put(&mut datagram);
        }
        scene.hand(address(PEER), &datagram);
        numbers.pass(scene.take_from_peer());
        answers(&mut scene, |_, _| {});
        if count.is_multiple_of(LOOK) {
            scene.exchange_with(WITNESS);
        }
    }
}

/// Inputs come from an address that never proved to hear us. Every second claims to be the peer, with the numbers that its writers would
/// give their next samples, the others each to be a new participant, as far as they name one.
pub(super) fn from_stranger() -> impl FnMut(&[u8]) {
    let mut scene = Scene::matched(scene::SECRET_PREFIX);
    let mut numbers = Numbers::of(&scene);
    let (mut count, mut heard, mut sent) = (0_u32, 0, 0);
    let mut datagram = Vec::with_capacity(MAX_LEN);
    move |input| {
        count += 1;
        datagram.clear();
        datagram.extend_from_slice(input);
        if count.is_multiple_of(2) {
            rename(&mut datagram, count);
        } else {
            numbers.put(&mut datagram);
        }
        heard += datagram.len();
        scene.hand(address(STRANGER), &datagram);
        assert!(scene.take_from_peer() == [0; 3], "a stranger's sample counts as the peer's");
        answers(&mut scene, |to, bytes| {
            if to == address(STRANGER).ip() {
                sent += bytes;
            } else {
                let known = to.is_multicast() || [PEER, WITNESS].iter().any(|host| address(*host).ip() == to);
                assert!(known, "{bytes} bytes to {to}, who sent nothing");
            }
        });
        assert!(sent <= heard, "{sent} bytes to a stranger, who sent {heard}");
        assert!(scene.is_matched(), "a stranger ended the match with a peer");
        if count.is_multiple_of(LOOK) {
            scene.exchange_with(PEER);
            numbers = Numbers::of(&scene);
        }
    }
}

/// What a peer sends while it is discovered and exchanges samples over a network that loses some datagrams.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = scene::datagrams_of_a_peer();
    seeds.sort();
    seeds.dedup();
    seeds.extend(crate::seeds::messages());
    // As often as all others together: the short way is what most datagrams take.
    let familiar: Vec<_> = seeds.iter().filter(|seed| Familiar::of(seed).is_some()).cloned().collect();
    let others = seeds.len() - familiar.len();
    seeds.extend(familiar.into_iter().cycle().take(others));
    seeds
}

/// Goes through what we have sent since the last call.
fn answers(scene: &mut Scene, mut each: impl FnMut(IpAddr, usize)) {
    let mut count = 0;
    scene.domain.counted(|to, bytes| {
        count += 1;
        each(to.ip(), bytes);
    });
    assert!(count <= MAX_ANSWERS, "{count} datagrams for one");
}

/// The numbers of the next samples of the peer's writers.
struct Numbers([(EntityId, i64); 3]);

impl Numbers {
    fn of(scene: &Scene) -> Self {
        Self(scene.next_of_peer())
    }

    /// So many samples of each writer were delivered.
    fn pass(&mut self, taken: [i64; 3]) {
        for ((_, next), taken) in self.0.iter_mut().zip(taken) {
            *next += taken;
        }
    }

    /// Gives each DATA and HEARTBEAT of the writers these numbers.
    fn put(&self, datagram: &mut [u8]) {
        let mut parts = Vec::new();
        Structure::Message.parts(datagram, &mut parts);
        for Part { start, little, .. } in parts {
            // Where the writer's entity id and its number are (RTPS 2.5, 9.4.5.4 and 9.4.5.7).
            let (id_at, number_at) = match datagram.get(start) {
                Some(0x15) => (start + 12, start + 16),
                Some(0x07) => (start + 8, start + 20),
                _ => continue,
            };
            let id = datagram.get(id_at..id_at + 4);
            let Some((_, next)) = self.0.iter().find(|(writer, _)| id == Some(&writer.0)) else { continue };
            let (high, low) = ((*next >> 32) as u32, *next as u32);
            let words = if little {
                [high.to_le_bytes(), low.to_le_bytes()]
            } else {
                [high.to_be_bytes(), low.to_be_bytes()]
            };
            if let Some(place) = datagram.get_mut(number_at..number_at + 8) {
                place.copy_from_slice(words.as_flattened());
            }
        }
    }
}

/// Gives the participant that a message is from another prefix, wherever its own stands.
fn rename(datagram: &mut [u8], name: u32) {
    let Some(own) = datagram.get(8..20).and_then(|prefix| prefix.first_chunk::<12>().copied()) else {
        return;
    };
    let mut at = 8;
    while let Some(found) = datagram.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<12>()) {
        at += 1;
        if *found == own
            && let Some(end) = found.last_chunk_mut()
        {
            *end = name.to_be_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use testkit::random::Random;
    use wire::message::{Message, Submessage};
    use wire::{EntityKind, Guid};

    use super::*;
    use crate::mutation::Mutator;
    use crate::seeds::{PREFIX, WRITER};

    #[test]
    fn strangers_are_noticed_and_forgotten() {
        let mut scene = Scene::matched(scene::SECRET_PREFIX);
        let seeds = seeds();
        let announcement = seeds.iter().find(|seed| announces(seed)).unwrap();
        for name in 0..1_000 {
            let mut datagram = announcement.clone();
            rename(&mut datagram, name);
            scene.hand(address(STRANGER), &datagram);
        }
        assert_eq!(scene.participants(), (2, scene::LIMITS.strangers));
    }

    fn announces(datagram: &[u8]) -> bool {
        let is_ours = datagram.get(8..20) == Some(&PREFIX.0);
        is_ours
            && submessages(
                datagram,
                |submessage| matches!(submessage, Submessage::Data(data) if data.writer_id == EntityId::SPDP_WRITER),
            )
    }

    fn submessages(datagram: &[u8], holds: impl Fn(&Submessage<'_>) -> bool) -> bool {
        Message::parse(datagram)
            .unwrap()
            .submessages()
            .any(|submessage| submessage.is_ok_and(|it| holds(&it)))
    }

    #[test]
    fn seeds_have_every_kind_of_submessage_that_keeps_reliability() {
        let datagrams = seeds();
        let mut kinds = [false; 6];
        for datagram in &datagrams {
            let from_peer =
                Message::parse(datagram).into_iter().filter(|message| message.header().prefix == PREFIX);
            for submessage in from_peer.flat_map(|message| message.submessages()) {
                let kind = match submessage.unwrap() {
                    Submessage::Data(data) if data.writer_id == WRITER => 0,
                    Submessage::DataFrag(_) => 1,
                    Submessage::Heartbeat(_) => 2,
                    Submessage::AckNack(acknack) if !acknack.set.bitmap().is_empty() => 3,
                    Submessage::NackFrag(_) => 4,
                    Submessage::Gap(_) => 5,
                    _ => continue,
                };
                kinds[kind] = true;
            }
        }
        assert_eq!(kinds, [true; 6]);
        let shapes = datagrams.iter().filter(|datagram| Familiar::of(datagram).is_some()).count();
        assert!(shapes >= 20, "{shapes} datagrams of a writer that is at rest between its samples");
    }

    #[test]
    fn mutated_datagrams_are_delivered_along_the_short_way() {
        let mut mutator = Mutator::new(Structure::Message, seeds());
        let (mut short, mut other) = (0, 0);
        for session in 0..16 {
            let mut scene = Scene::matched(scene::KNOWN_PREFIX);
            let mut numbers = Numbers::of(&scene);
            let (mut input, mut last) = (Vec::new(), BTreeMap::<Guid, Familiar>::new());
            for case in 0..128 {
                mutator.make(&mut Random::of_case(session, case), &mut input);
                numbers.put(&mut input);
                scene.hand(address(PEER), &input);
                let taken = scene.take_from_peer();
                numbers.pass(taken);
                if taken.iter().any(|count| *count > 0) {
                    let is_familiar = last.values().any(|last| last.read(&input).is_some());
                    *(if is_familiar { &mut short } else { &mut other }) += 1;
                    last.extend(Familiar::of(&input).map(|last| (last.writer(), last)));
                }
            }
        }
        assert!(short >= 5 && other >= 20, "{short} along the short way, {other} along the other");
    }

    #[test]
    fn numbers_are_put_where_writers_put_them() {
        let scene = Scene::matched(scene::KNOWN_PREFIX);
        let [(id, _), ..] = scene.next_of_peer();
        assert_eq!(id, EntityId::user(1, EntityKind::WriterNoKey));
        let numbers = Numbers([(id, 0x1_0000_0002); 3]);
        let mut found = 0;
        for mut datagram in scene::datagrams_of_a_peer() {
            numbers.put(&mut datagram);
            for submessage in Message::parse(&datagram).unwrap().submessages() {
                match submessage.unwrap() {
                    Submessage::Data(data) if data.writer_id == id => {
                        assert_eq!(data.sequence_number.0, 0x1_0000_0002);
                        found += 1;
                    }
                    Submessage::Heartbeat(heartbeat) if heartbeat.writer_id == id => {
                        assert_eq!(heartbeat.last.0, 0x1_0000_0002);
                        found += 1;
                    }
                    _ => {}
                }
            }
        }
        assert!(found > 10);
    }
}
