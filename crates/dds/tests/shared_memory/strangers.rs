//! What the other side may do when it meets a participant, and what a link carries: played by the test itself, word by word as docs/wire.md
//! says.
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::SeqCst;

use dds::Bytes;
use dds::host::{Channel, Host, Sent};
use rtps::{Path, Transmit};
use shm::{Chunks, Doorbell, Said, Segment, ready};
use wire::GuidPrefix;
use wire::discovery::{ParticipantData, SharedMemory};

use crate::namespace::alone;
use crate::scene::{CHUNKS, NONCE, PREFIX, RING, Scene, hear, kept, message, send, transmit};
use testkit::patience::{LIMIT, patiently_or};

#[test]
fn only_who_was_found_is_answered() {
    alone(|| {
        let scene = Scene::new();
        // Nobody was found who could be met.
        assert!(scene.listens().is_none());
        scene.find_another();
        // Not known yet: it hangs up, and the other one comes again.
        assert!(scene.exchange(&scene.greeting(NONCE), NONCE).is_none());
        let (_other, _) = scene.link();
        // Once is enough.
        assert!(scene.exchange(&scene.greeting(NONCE), NONCE).is_none());
        assert!(scene.exchange(&scene.greeting(NONCE + 1), NONCE + 1).is_none());
        scene.host.close();
    });
}

#[test]
fn what_is_not_as_announced_is_refused_with_the_reason() {
    alone(|| {
        let scene = Scene::new();
        scene.find();
        for greeting in [
            b"PNLK".to_vec(),
            vec![0; 24],
            [scene.greeting(NONCE), vec![0]].concat(),
            // For somebody else.
            [&scene.greeting(NONCE)[..16], &[1; 8]].concat(),
            [b"PNLK\x01\0\0\0", &scene.greeting(NONCE)[8..]].concat(),
        ] {
            assert!(scene.exchange(&greeting, NONCE).is_none(), "{greeting:?}");
        }
        // A segment that holds another nonce than was announced. It may have been found only now.
        let refused = || {
            assert!(scene.exchange(&scene.greeting(NONCE), NONCE + 1).is_none());
            scene.reports("another nonce").then_some(())
        };
        patiently_or(|| "no reason is told".to_owned(), refused);
        let talk = scene.connect();
        talk.say(&scene.greeting(NONCE), &[]).unwrap();
        assert!(matches!(hear(&talk), Said::Gone));
        scene.expect("it gave no memory");
        let (talk, doorbell) = (scene.connect(), Doorbell::new().unwrap());
        talk.say(&scene.greeting(NONCE), &[doorbell.file(), doorbell.file(), doorbell.file()]).unwrap();
        assert!(matches!(hear(&talk), Said::Gone));
        scene.expect("not sealed");
        // Two of three are good.
        let (talk, segment) = (scene.connect(), Segment::new(NONCE, RING).unwrap());
        talk.say(&scene.greeting(NONCE), &[segment.file(), doorbell.file(), segment.file()]).unwrap();
        assert!(matches!(hear(&talk), Said::Gone));
        scene.expect("no segment of this version");
        assert!(scene.witness.links.lock().unwrap().is_empty());
        // None of that is held against it.
        scene.link();
        scene.host.close();
    });
}

#[test]
fn other_hosts_namespaces_and_users_are_not_met() {
    alone(|| {
        let scene = Scene::new();
        let found = |memory: SharedMemory| {
            let data = ParticipantData { shared_memory: Some(memory), ..ParticipantData::new(PREFIX) };
            scene.host.matched(&data);
        };
        found(SharedMemory { nonce: NONCE, network_namespace: 1, ..scene.own });
        scene.expect("another network namespace");
        found(SharedMemory { nonce: NONCE, user: scene.own.user + 1, ..scene.own });
        scene.expect(&format!("runs as user {}", scene.own.user + 1));
        found(SharedMemory { nonce: NONCE, host: !scene.own.host, ..scene.own });
        assert!(scene.listens().is_none());
        scene.find_another();
        assert!(scene.exchange(&scene.greeting(NONCE), NONCE).is_none());
        scene.host.lost(PREFIX);
        scene.host.close();
    });
}

#[test]
fn datagrams_take_the_link_and_only_those_of_the_participant_are_taken() {
    alone(|| {
        let scene = Scene::new();
        let (mut other, link) = scene.link();
        send(&mut other, &message(GuidPrefix([8; 12]), b"of somebody else"));
        send(&mut other, b"too short");
        send(&mut other, &message(PREFIX, b"its own"));
        assert_eq!(scene.witness.datagrams(1), [message(PREFIX, b"its own")]);
        let path =
            Path { link: Some(link), ..Path::routed("127.0.0.1:9".parse().unwrap(), Path::MAX_DATAGRAM) };
        let datagram = transmit(1_000);
        assert_eq!(scene.host.send(Channel::User, &path, &datagram), Sent::Done);
        let mut expected = Vec::new();
        datagram.copy_to(&mut expected);
        let mut buffer = vec![0; 65_536];
        let len = other.consumer.receive(&mut buffer).unwrap().unwrap();
        assert_eq!(buffer[..len], expected);
        // The other side hangs up: what it wrote before is taken, and the engine is told.
        send(&mut other, &message(PREFIX, b"last words"));
        drop(other);
        assert_eq!(scene.witness.links(2), None);
        assert_eq!(scene.witness.datagrams(2)[1], message(PREFIX, b"last words"));
        // The path still names it: the datagram goes by UDP, where nobody listens.
        assert_eq!(scene.host.send(Channel::User, &path, &datagram), Sent::Done);
        scene.host.close();
    });
}

#[test]
fn who_does_not_read_is_not_waited_for_for_ever() {
    alone(|| {
        let scene = Scene::new();
        let (mut other, link) = scene.link();
        let path =
            Path { link: Some(link), ..Path::routed("127.0.0.1:9".parse().unwrap(), Path::MAX_DATAGRAM) };
        let datagram = transmit(16_000);
        let mut taken = 0;
        while scene.host.send(Channel::User, &path, &datagram) == Sent::Done {
            taken += 1;
        }
        assert!(taken > RING / 17_000 - 4, "{taken}");
        // Full, like a socket; until it is clear that nobody reads.
        let is_over = || (scene.host.send(Channel::User, &path, &datagram) != Sent::Full).then_some(());
        patiently_or(|| "it is waited for".to_owned(), is_over);
        scene.expect("datagrams were lost because a process did not read");
        assert_eq!(scene.host.send(Channel::User, &path, &datagram), Sent::Done);
        let mut buffer = vec![0; 65_536];
        let mut count = 0;
        while other.consumer.receive(&mut buffer).unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, taken);
        // Now that it reads, it is sent to.
        assert_eq!(scene.host.send(Channel::User, &path, &datagram), Sent::Done);
        assert!(other.consumer.receive(&mut buffer).unwrap().is_some());
        assert!(matches!(other.talk.hear(&mut [0; 1]), Ok(Said::Nothing)));
        scene.host.close();
        assert!(matches!(hear(&other.talk), Said::Gone));
    });
}

#[test]
fn a_datagram_each_way_takes_nothing_from_the_heap() {
    alone(|| {
        let scene = Scene::new();
        let (mut other, link) = scene.link();
        let path =
            Path { link: Some(link), ..Path::routed("127.0.0.1:9".parse().unwrap(), Path::MAX_DATAGRAM) };
        let (datagram, answer) = (transmit(1_000), message(PREFIX, &[7; 1_000]));
        scene.witness.counts_only.store(true, SeqCst);
        let mut buffer = vec![0; 65_536];
        let mut round = || {
            let count = scene.witness.count.load(SeqCst);
            assert_eq!(scene.host.send(Channel::User, &path, &datagram), Sent::Done);
            assert!(other.consumer.receive(&mut buffer).unwrap().is_some());
            send(&mut other, &answer);
            let until = scene.host.now().monotonic.after(wire::Duration::from_secs(20));
            while scene.witness.count.load(SeqCst) == count {
                scene.host.receive(until, &|| scene.witness.count.load(SeqCst) > count);
            }
        };
        // The first time that a thread is inside, a list begins.
        while !scene.witness.led.load(SeqCst) {
            round();
        }
        let ((), usage) = alloc_meter::measure(|| (0..1_000).for_each(|_| round()));
        assert_eq!(usage.count, 0, "{usage:?}");
        scene.host.close();
    });
}

/// A message that says where samples lie.
fn naming(prefix: GuidPrefix, places: &[(u32, u32, shm::Place, u32)], rest: &[u8]) -> Vec<u8> {
    let mut bytes = [b"PNPL".as_slice(), &(places.len() as u32).to_ne_bytes()].concat();
    for (at, len, place, from) in places {
        for word in [*at, *len, place.page, place.len] {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        bytes.extend_from_slice(&place.number.to_ne_bytes());
        bytes.extend_from_slice(&from.to_ne_bytes());
        bytes.extend_from_slice(&[0; 4]);
    }
    bytes.extend_from_slice(&message(prefix, rest));
    bytes
}

#[test]
fn a_sample_is_copied_out_of_where_the_other_side_says_or_not_at_all() {
    alone(|| {
        let scene = Scene::new();
        let (mut other, _) = scene.link();
        let mut lent = other.chunks.lend(9_000).unwrap();
        lent.fill(5);
        let chunk = lent.freeze();
        let place = chunk.place();
        let gone = other.chunks.lend(9_000).unwrap().freeze().place();
        let far = shm::Place { page: u32::MAX, ..place };
        let long = shm::Place { len: u32::MAX, ..place };
        for places in [
            // Not there, not there any more, too much, not in order, over each other, beyond the datagram, too many.
            vec![(20, 1_000, far, 0)],
            vec![(20, 1_000, gone, 0)],
            vec![(20, 1_000, place, 8_001)],
            vec![(20, u32::MAX, long, 0)],
            vec![(2_000, 1_000, place, 0), (20, 1_000, place, 0)],
            vec![(20, 1_000, place, 0), (1_019, 1_000, place, 0)],
            vec![(24, 1_000, place, 0)],
            vec![(u32::MAX, 1_000, place, 0)],
            vec![(20, 9_000, place, 0); 16],
            vec![(20, 0, place, 0); 17],
            vec![],
        ] {
            send(&mut other, &naming(PREFIX, &places, b""));
        }
        // Cut off.
        let whole = naming(PREFIX, &[(20, 1_000, place, 0)], b"");
        for len in [4, 7, 8, 39] {
            send(&mut other, &whole[..len]);
        }
        send(&mut other, &naming(GuidPrefix([8; 12]), &[(20, 1_000, place, 0)], b""));
        // The middle of one, then another, then a little of its own.
        send(&mut other, &naming(PREFIX, &[(20, 1_000, place, 7_999), (1_022, 600, place, 0)], b"abc"));
        let expected = [&message(PREFIX, b"")[..], &[5; 1_000], b"ab", &[5; 600], b"c"].concat();
        assert_eq!(scene.witness.datagrams(1), [expected]);
        scene.host.close();
    });
}

#[test]
fn what_was_lent_lies_where_it_was_written_until_it_was_copied_out() {
    alone(|| {
        let scene = Scene::new();
        let (mut other, link) = scene.link();
        let path =
            Path { link: Some(link), ..Path::routed("127.0.0.1:9".parse().unwrap(), Path::MAX_DATAGRAM) };
        let mut lent = scene.host.lend(16_384).unwrap();
        lent.fill(3);
        let address = lent.as_ptr();
        let place_of = |datagram: &Transmit<Bytes>| {
            datagram.slices().find(|slice| slice.len() == 16_384).map(<[u8]>::as_ptr)
        };
        let datagram = kept(lent.freeze().into());
        assert_eq!(place_of(&datagram), Some(address));
        let mut expected = Vec::new();
        datagram.copy_to(&mut expected);
        assert_eq!(scene.host.send(Channel::User, &path, &datagram), Sent::Done);
        drop(datagram);
        // Nobody here holds it; it stays as long as the other side has not read.
        let again = scene.host.lend(16_384).unwrap();
        assert_ne!(again.as_ptr(), address);
        let mut buffer = vec![0; 65_536];
        let message = other.consumer.peek().unwrap().unwrap();
        // The sample is not in the ring, only its place.
        assert!(message.len() < 200, "{} bytes", message.len());
        assert!(message.copy_to(0, &mut buffer[..40]) && buffer.starts_with(b"PNPL\x01\0\0\0"));
        let word = |at: usize| u32::from_ne_bytes(buffer[at..at + 4].try_into().unwrap());
        let (at, len) = (word(8) as usize, word(12) as usize);
        let number = u64::from_ne_bytes(buffer[24..32].try_into().unwrap());
        let place = shm::Place { page: word(16), len: word(20), number };
        let mut sample = vec![0; len];
        assert!(other.theirs.copy_out(place, word(32) as usize, &mut sample));
        assert_eq!(sample, expected[at..at + len]);
        assert_eq!(len, 16_384);
        message.done();
        // What was read is let go of when more is sent.
        assert_eq!(scene.host.send(Channel::User, &path, &transmit(10)), Sent::Done);
        assert_eq!(scene.host.lend(16_384).unwrap().as_ptr(), address);
        scene.host.close();
    });
}

#[test]
fn a_link_that_ended_is_made_again_a_few_times() {
    alone(|| {
        let scene = Scene::new();
        let (other, _) = scene.link();
        drop(other);
        assert_eq!(scene.witness.links(2), None);
        // The first is followed by five others.
        for round in 1..6 {
            let other = scene.meet();
            assert!(scene.witness.links(2 * round + 1).is_some());
            drop(other);
            assert_eq!(scene.witness.links(2 * round + 2), None);
        }
        scene.expect("the link ended 6 times: UDP is used");
        assert!(scene.exchange(&scene.greeting(NONCE), NONCE).is_none());
        scene.host.close();
    });
}

#[test]
fn who_connected_before_does_so_again() {
    alone(|| {
        const GREAT: u64 = u64::MAX;
        let scene = Scene::new();
        let meeting = shm::Meeting::new(format!("punctual-{GREAT:016x}").as_bytes()).unwrap();
        let memory = SharedMemory { nonce: GREAT, ..scene.own };
        scene.host.matched(&ParticipantData { shared_memory: Some(memory), ..ParticipantData::new(PREFIX) });
        for round in 0..6 {
            ready(&[meeting.as_fd()], Some(LIMIT)).unwrap();
            let talk = meeting.accept().unwrap().unwrap();
            let Said::Words(24, _) = hear(&talk) else { panic!("round {round}: it said nothing") };
            let (segment, doorbell) = (Segment::new(GREAT, RING).unwrap(), Doorbell::new().unwrap());
            let (_chunks, file) = Chunks::new(GREAT, CHUNKS).unwrap();
            talk.say(&scene.greeting(GREAT), &[segment.file(), doorbell.file(), file.as_fd()]).unwrap();
            assert!(scene.witness.links(2 * round + 1).is_some());
            drop(talk);
            assert_eq!(scene.witness.links(2 * round + 2), None);
        }
        scene.expect("the link ended 6 times");
        assert!(meeting.accept().unwrap().is_none());
        // Who is found anew is met anew.
        scene.host.lost(PREFIX);
        scene.host.matched(&ParticipantData { shared_memory: Some(memory), ..ParticipantData::new(PREFIX) });
        ready(&[meeting.as_fd()], Some(LIMIT)).unwrap();
        assert!(meeting.accept().unwrap().is_some());
        scene.host.close();
    });
}
