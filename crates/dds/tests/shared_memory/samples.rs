//! Samples take the rings, whole and in order.
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use dds::qos::Durability;
use dds::{DataReader, DataReaderListener, DataWriter, Transport};

use testkit::patience::patiently_or;

use crate::namespace::alone;
use crate::player::{Ball, Player, apart, limit, linked, sharing};

/// Datagrams that were sent in this network namespace.
fn datagrams() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let names = lines.next().unwrap().split(' ');
    let at = names.into_iter().position(|name| name == "OutDatagrams").unwrap();
    lines.next().unwrap().split(' ').nth(at).unwrap().parse().unwrap()
}

#[test]
fn samples_take_the_rings() {
    alone(|| {
        let [one, other] = linked();
        for len in [0, 1_000, 200_000] {
            // The writer may not have been told of the link yet.
            let took_the_ring = || {
                let before = datagrams();
                one.throw(1, len);
                other.catch_all(1..2, len);
                (before == datagrams()).then_some(before)
            };
            let before = patiently_or(|| "samples never took the ring".to_owned(), took_the_ring);
            std::thread::scope(|scope| {
                scope.spawn(|| (2..302).for_each(|number| one.throw(number, len)));
                other.catch_all(2..302, len);
            });
            let sent = datagrams() - before;
            // Announcements, and what wakes readers of sockets.
            assert!(sent < 100, "{sent} datagrams for 300 samples of {len} bytes");
        }
        one.expect_transport(Transport::SharedMemory);
        other.expect_transport(Transport::SharedMemory);
        one.writer.wait_for_acknowledgments(limit()).unwrap();
        one.leave();
        // The link ends with the participant.
        other.expect(0, "shared memory with");
        other.leave();
    });
}

#[test]
fn without_shared_memory_at_both_ends_it_is_udp() {
    alone(|| {
        let one = Player::new(["There", "Back"], &sharing());
        let other = Player::new(["Back", "There"], &apart());
        one.meet(1);
        other.meet(1);
        one.throw(1, 10);
        other.catch_all(1..2, 10);
        [&one, &other].into_iter().for_each(|player| player.expect_transport(Transport::Udp));
        assert_eq!((one.reported("shared memory"), other.reported("shared memory")), (0, 0));
        one.leave();
        other.leave();
    });
}

#[test]
fn a_late_reader_gets_its_history_by_the_ring() {
    alone(|| {
        let kept = Durability::TransientLocal;
        let one = Player::with(["There", "Back"], &sharing(), kept, |_| None);
        (0..500).for_each(|number| one.throw(number, 100));
        let other = Player::with(["Back", "There"], &sharing(), kept, |_| None);
        other.catch_all(0..500, 100);
        other.expect(1, "shared memory with");
        one.leave();
        other.leave();
    });
}

#[test]
fn several_share_with_several() {
    alone(|| {
        let writers = [(); 3].map(|()| Player::new(["There", "Back"], &sharing()));
        let readers = [(); 2].map(|()| Player::new(["Back", "There"], &sharing()));
        // Each with whom it has a topic in common.
        writers.iter().for_each(|player| player.expect(2, "shared memory with"));
        readers.iter().for_each(|player| player.expect(3, "shared memory with"));
        writers.iter().for_each(|player| player.meet(2));
        readers.iter().for_each(|player| player.meet(3));
        for writer in &writers {
            (0..200).for_each(|number| writer.throw(number, 500));
        }
        for reader in &readers {
            let (waits, mut active, mut caught) = (reader.waits(), Vec::new(), Ball::default());
            let mut sum = 0;
            for _ in 0..600 {
                reader.catch(&waits, &mut active, &mut caught);
                sum += caught.number;
            }
            assert_eq!(sum, 3 * (199 * 200 / 2));
        }
        writers.iter().chain(&readers).for_each(Player::leave);
    });
}

/// Throws back, and waits within the callback until that has arrived.
struct Wall {
    writer: DataWriter<Ball>,
    returned: Arc<AtomicU64>,
}

impl DataReaderListener<Ball> for Wall {
    fn on_data_available(&self, reader: &DataReader<Ball>) {
        while let Some(sample) = reader.take_next_sample().unwrap() {
            self.writer.write(&sample.data.unwrap()).unwrap();
            self.writer.wait_for_acknowledgments(limit()).unwrap();
            self.returned.fetch_add(1, SeqCst);
        }
    }
}

#[test]
fn a_listener_may_wait_for_what_comes_by_the_ring_that_it_is_called_from() {
    alone(|| {
        let returned = Arc::new(AtomicU64::new(0));
        let one = Player::new(["There", "Back"], &sharing());
        let wall = Player::with(["Back", "There"], &sharing(), Durability::Volatile, |writer| {
            Some(Arc::new(Wall { writer, returned: Arc::clone(&returned) }))
        });
        one.expect(1, "shared memory with");
        wall.expect(1, "shared memory with");
        one.meet(1);
        wall.meet(1);
        for number in 0..100 {
            one.throw(number, 100);
            one.catch_all(number..number + 1, 100);
        }
        one.leave();
        wall.leave();
        assert!(returned.load(SeqCst) >= 99);
    });
}
