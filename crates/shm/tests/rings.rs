//! Messages arrive once, whole and in order, however they lie in the ring; and nothing of it takes memory from the heap.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use shm::{Bell, Consumer, Doorbell, MIN_CAPACITY, Producer, Refused, Segment, SegmentError, Window, join};

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

const LIMIT: Duration = Duration::from_secs(20);

/// Two ends, as two processes have them.
fn ends() -> [(Producer, Consumer); 2] {
    let [one, other] = [1, 2].map(|nonce| Segment::new(nonce, MIN_CAPACITY).unwrap());
    let see_other = Window::open(other.file(), 2).unwrap();
    let see_one = Window::open(one.file(), 1).unwrap();
    [join(one, see_other), join(other, see_one)]
}

fn send(producer: &mut Producer, bytes: &[u8]) -> Result<(), Refused> {
    if bytes.len().is_multiple_of(2) {
        return producer.copy(bytes);
    }
    let (front, back) = bytes.split_at(bytes.len() / 3);
    producer.send(bytes.len(), [front, back].into_iter())
}

/// Bytes that tell the number of the message and the place in it.
fn octets(number: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| (number.wrapping_mul(31) ^ at.wrapping_mul(7)) as u8).collect()
}

#[test]
fn messages_of_all_lengths_arrive_in_order() {
    let mut times_full = 0;
    for seed in tiers::current().seeds("property.cases") {
        let [(mut producer, _), (_, mut consumer)] = ends();
        let mut numbers = testkit::random::Random::new(seed);
        let mut random = |bound: u64| numbers.below_u64(bound);
        let mut expected = VecDeque::new();
        let (mut sent, mut buffer) = (0, vec![0; producer.largest()]);
        for _ in 0..300 {
            let longest = if random(3) == 0 { producer.largest() as u64 + 1 } else { 300 };
            let message = octets(sent, random(longest) as usize);
            match send(&mut producer, &message) {
                Ok(()) => {
                    sent += 1;
                    expected.push_back(message);
                }
                // Full never with an empty ring.
                Err(Refused::Full) if !expected.is_empty() => times_full += 1,
                Err(refused) => panic!("seed {seed}: {refused}"),
            }
            // Mostly less than is written.
            for _ in 0..random(2) {
                let got = consumer.receive(&mut buffer).unwrap().map(|len| buffer[..len].to_vec());
                assert_eq!(got, expected.pop_front(), "seed {seed}");
            }
        }
        while let Some(message) = expected.pop_front() {
            let len = consumer.receive(&mut buffer).unwrap().unwrap();
            assert_eq!(buffer[..len], message, "seed {seed}");
        }
        assert!(!consumer.is_ready() && producer.is_drained(), "seed {seed}");
    }
    assert!(times_full > 0);
}

/// Sends small messages, of which so many are left unread, until the ring could have come round some times; the furthest place.
fn furthest(unread: usize) -> usize {
    let [(mut producer, _), (_, mut consumer)] = ends();
    let (mut buffer, mut furthest) = (vec![0; producer.largest()], 0);
    for number in 0..4_000 {
        send(&mut producer, &octets(number, 100)).unwrap();
        furthest = furthest.max(producer.written() as usize % MIN_CAPACITY);
        if let Some(number) = number.checked_sub(unread as u64) {
            let len = consumer.receive(&mut buffer).unwrap().unwrap();
            assert_eq!(buffer[..len], octets(number, 100));
        }
    }
    furthest
}

#[test]
fn a_ring_whose_messages_are_read_at_once_is_begun_again_before_its_end() {
    // The largest message fits, and few more.
    assert!((MIN_CAPACITY / 8..MIN_CAPACITY / 6).contains(&furthest(0)), "{}", furthest(0));
    assert!(furthest(1) > MIN_CAPACITY - 256, "{}", furthest(1));
}

#[test]
fn what_is_fetched_for_the_next_message_is_not_taken_from_those_that_lie_there() {
    for len in 0..400 {
        let [(mut producer, _), (_, mut consumer)] = ends();
        let mut buffer = vec![0; producer.largest()];
        let (mut sent, mut read) = (0, 0);
        // Twice round, so that the ring is full with each remainder of its length behind it.
        for _ in 0..4 {
            while send(&mut producer, &octets(sent, len)) != Err(Refused::Full) {
                sent += 1;
            }
            while let Some(got) = consumer.receive(&mut buffer).unwrap() {
                assert_eq!(buffer[..got], octets(read, len), "message {read} of {len} bytes");
                read += 1;
                if read % 3 == 0 && sent < read + 40 {
                    break;
                }
            }
        }
        while consumer.receive(&mut buffer).unwrap().is_some() {
            read += 1;
        }
        assert_eq!(read, sent, "{len} bytes");
    }
}

#[test]
fn a_loan_is_written_in_place_and_seen_when_it_is_committed() {
    let [(mut producer, _), (_, mut consumer)] = ends();
    // Not committed.
    producer.loan(1_000).unwrap().fill(5);
    assert!(!consumer.is_ready());
    let mut loan = producer.loan(4).unwrap();
    loan.copy_from_slice(b"seen");
    assert!(!consumer.is_ready());
    loan.commit();
    {
        let message = consumer.peek().unwrap().unwrap();
        let mut part = [0; 2];
        assert!(message.copy_to(2, &mut part) && !message.copy_to(3, &mut part) && !message.is_empty());
        assert_eq!(&part, b"en");
    }
    // It is there until it is done with.
    assert_eq!(consumer.peek().unwrap().unwrap().len(), 4);
    consumer.peek().unwrap().unwrap().done();
    assert!(consumer.peek().unwrap().is_none());
}

#[test]
fn what_is_too_large_is_refused() {
    let [(mut producer, _), _] = ends();
    let largest = producer.largest();
    assert_eq!(producer.loan(largest + 1).err(), Some(Refused::TooLarge));
    assert!(producer.loan(largest).is_ok());
    for capacity in [0, MIN_CAPACITY - 1, MIN_CAPACITY + 64, 128 << 20] {
        assert!(matches!(Segment::new(1, capacity), Err(SegmentError::Capacity(_))), "{capacity}");
    }
}

#[test]
fn two_threads_hand_over_everything() {
    let [(mut producer, _), (_, mut consumer)] = ends();
    let doorbell = Doorbell::new().unwrap();
    let bell = Bell::open(doorbell.file().as_fd()).unwrap();
    let count = tiers::current().number("property.cases") * 50;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..count {
                let message = octets(number, (number % 1_500) as usize);
                while send(&mut producer, &message) == Err(Refused::Full) {
                    bell.ring();
                    std::thread::yield_now();
                }
                bell.ring();
            }
        });
        let mut buffer = vec![0; 1_500];
        for number in 0..count {
            let len = loop {
                if let Some(len) = consumer.receive(&mut buffer).unwrap() {
                    break len;
                }
                let begun = std::time::Instant::now();
                doorbell.sleep(LIMIT, || consumer.is_ready());
                assert!(begun.elapsed() < LIMIT, "message {number}: nobody rang");
            };
            assert_eq!(buffer[..len], octets(number, (number % 1_500) as usize), "message {number}");
        }
    });
}

#[test]
fn a_doorbell_wakes_for_rings_and_for_its_own_process() {
    let doorbell = Doorbell::new().unwrap();
    let bell = Bell::open(doorbell.file()).unwrap();
    // The doorbell rang before: a thread that is about to sleep sees what was written.
    assert!(!doorbell.sleep(LIMIT, || true));
    doorbell.wake();
    assert!(doorbell.is_woken() && doorbell.sleep(LIMIT, || false) && !doorbell.is_woken());
    // The end of the limit.
    assert!(!doorbell.sleep(Duration::from_millis(1), || false));
    let rung = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            while !rung.load(SeqCst) {
                let begun = std::time::Instant::now();
                doorbell.sleep(LIMIT, || rung.load(SeqCst));
                assert!(begun.elapsed() < LIMIT, "nobody rang");
            }
        });
        rung.store(true, SeqCst);
        bell.ring();
        sleeper.join().unwrap();
    });
}

#[test]
fn nothing_is_taken_from_the_heap() {
    let [(mut producer, _), (_, mut consumer)] = ends();
    let mut buffer = vec![0; 4_096];
    let ((), usage) = alloc_meter::measure(|| {
        for _ in 0..100 {
            send(&mut producer, &[7; 4_000]).unwrap();
            assert_eq!(consumer.receive(&mut buffer), Ok(Some(4_000)));
        }
    });
    assert_eq!(usage.count, 0);
}

#[test]
fn memory_of_the_part_in_use_can_be_taken_before_it_is_used() {
    let [one, other] = [1, 2].map(|nonce| Segment::new(nonce, MIN_CAPACITY).unwrap());
    let files = [&one, &other].map(|segment| File::from(segment.file().try_clone_to_owned().unwrap()));
    let taken = || files.each_ref().map(|file| file.metadata().unwrap().blocks() * 512);
    let before = taken();
    let window = Window::open(other.file(), 2).unwrap();
    let (mut producer, _consumer) = join(one, window);
    producer.take_memory();
    let after = taken();
    for (before, after) in before.iter().zip(after) {
        let part = MIN_CAPACITY as u64 / 8;
        assert!(before + part <= after && after < MIN_CAPACITY as u64, "{before} {after}");
    }
    producer.copy(&[7; 100]).unwrap();
    assert_eq!(taken(), after);
}

#[test]
fn a_limit_for_files_is_an_error_and_no_signal() {
    use nix::sys::resource::{Resource, setrlimit};
    let limited = || {
        setrlimit(Resource::RLIMIT_FSIZE, 0, 0).unwrap();
        let said = Segment::new(1, MIN_CAPACITY).unwrap_err().to_string();
        assert!(said.contains("RLIMIT_FSIZE") && said.contains("ulimit -f"), "{said}");
        assert!(Doorbell::new().is_err() && shm::Chunks::new(1, 1 << 20).is_err());
    };
    let ended = forks::in_child(Duration::from_secs(20), limited).unwrap();
    assert_eq!(ended, forks::Ended::Returned);
}
