//! What the other side writes, at any time, is nonsense at worst: never a panic, a loop without end, or bytes from elsewhere.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod forged;

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};

use forged::{Forged, RING, SEALS};
use shm::{
    Bell, Consumer, MAX_CAPACITY, MIN_CAPACITY, Nonsense, Producer, Refused, Segment, SegmentError, Window,
    join,
};
use testkit::random::Random;

const NONCE: u64 = 0x1234_5678_9abc_def0;
const MESSAGE: u64 = 1 << 32;
const TO_BEGINNING: u64 = 2 << 32;
const CONSUMED: usize = 64;

fn joined(forged: &Forged) -> (Producer, Consumer) {
    let own = Segment::new(1, MIN_CAPACITY).unwrap();
    join(own, Window::open(forged.file(), NONCE).unwrap())
}

fn send(producer: &mut Producer, len: usize) -> Result<(), Refused> {
    producer.send(len, std::iter::once([7_u8; 8_192].get(..len).unwrap()))
}

#[test]
fn arbitrary_words_do_no_harm() {
    let (mut read, mut nonsense, mut refused, mut sent) = (0_u64, 0_u64, 0_u64, 0_u64);
    for seed in tiers::current().seeds("property.cases") {
        let random = &mut Random::new(seed);
        let forged = Forged::new(NONCE, MIN_CAPACITY);
        let (mut producer, mut consumer) = joined(&forged);
        let mut buffer = vec![0; MIN_CAPACITY];
        for _ in 0..64 {
            for _ in 0..random.below_u64(6) {
                let at = match random.below_u64(4) {
                    0 => CONSUMED,
                    1 => random.below_u64(((RING + MIN_CAPACITY) / 8) as u64) as usize * 8,
                    // Where heads are looked for first, and last.
                    2 => RING + random.below_u64(16) as usize * 64,
                    _ => RING + MIN_CAPACITY - (1 + random.below_u64(16) as usize) * 64,
                };
                let value = match random.below_u64(6) {
                    0 => random.bits(),
                    1 => MESSAGE | random.below_u64(200),
                    2 => MESSAGE | random.below_u64(MIN_CAPACITY as u64 + 100),
                    3 => TO_BEGINNING | random.below_u64(2),
                    4 => random.below_u64(64) * 64,
                    _ => 0,
                };
                // Words that say what the segment is were looked at when it was opened.
                forged.write(at, value);
            }
            for _ in 0..8 {
                match consumer.receive(&mut buffer) {
                    Ok(Some(len)) => {
                        assert!(len <= MIN_CAPACITY - 8, "seed {seed}");
                        read += 1;
                    }
                    Ok(None) => break,
                    Err(first) => {
                        nonsense += 1;
                        assert_eq!(consumer.receive(&mut buffer), Err(first), "seed {seed}: it stays so");
                        break;
                    }
                }
            }
            match send(&mut producer, random.below_u64(8_000) as usize) {
                Ok(()) => sent += 1,
                Err(Refused::Full) => {}
                Err(Refused::Nonsense(_)) => refused += 1,
                Err(Refused::TooLarge) => panic!("seed {seed}: it is not"),
            }
        }
    }
    assert!(read > 0 && nonsense > 0 && refused > 0 && sent > 0, "{read} {nonsense} {refused} {sent}");
}

#[test]
fn a_head_counts_only_if_its_message_lies_in_the_ring() {
    let whole = (MIN_CAPACITY - 8) as u64;
    let mut buffer = vec![0; MIN_CAPACITY];
    for (head, expected) in [
        (0, Ok(None)),
        (MESSAGE, Ok(Some(0))),
        (MESSAGE | whole, Ok(Some(MIN_CAPACITY - 8))),
        (MESSAGE | (whole + 1), Err(Nonsense::Head(MESSAGE | (whole + 1)))),
        (MESSAGE | u64::from(u32::MAX), Err(Nonsense::Head(MESSAGE | u64::from(u32::MAX)))),
        (1, Err(Nonsense::Head(1))),
        (3 << 32, Err(Nonsense::Head(3 << 32))),
        (TO_BEGINNING | 1, Err(Nonsense::Head(TO_BEGINNING | 1))),
        // From the beginning to the beginning would be for ever.
        (TO_BEGINNING, Err(Nonsense::Head(TO_BEGINNING))),
    ] {
        let forged = Forged::new(NONCE, MIN_CAPACITY);
        let (_, mut consumer) = joined(&forged);
        forged.write(RING, head);
        assert_eq!(consumer.receive(&mut buffer), expected, "{head:#x}");
    }
    let forged = Forged::new(NONCE, MIN_CAPACITY);
    let (_, mut consumer) = joined(&forged);
    forged.write(RING, MESSAGE | 56);
    forged.write(RING + 64, TO_BEGINNING);
    assert_eq!(consumer.receive(&mut buffer), Ok(Some(56)));
    // The message at the beginning is there once more: that is the other side's affair.
    assert_eq!(consumer.receive(&mut buffer), Ok(Some(56)));
}

#[test]
fn a_message_longer_than_the_buffer_is_nonsense() {
    let forged = Forged::new(NONCE, MIN_CAPACITY);
    let (_, mut consumer) = joined(&forged);
    forged.write(RING, MESSAGE | 100);
    assert_eq!(consumer.receive(&mut [0; 99]), Err(Nonsense::Head(MESSAGE | 100)));
    assert_eq!(consumer.receive(&mut [0; 100]), Ok(Some(100)));
}

#[test]
fn what_was_read_is_believed_only_between_what_was_said_and_what_was_written() {
    let consumed = |position| Err(Refused::Nonsense(Nonsense::Consumed(position)));
    for (said, expected) in [
        // Everything that was written: there is room again.
        (7 * 8_192, Ok(())),
        (0, Err(Refused::Full)),
        (7 * 8_192 + 64, consumed(7 * 8_192 + 64)),
        (u64::MAX, consumed(u64::MAX)),
        (63, consumed(63)),
    ] {
        let forged = Forged::new(NONCE, MIN_CAPACITY);
        let (mut producer, _) = joined(&forged);
        for _ in 0..7 {
            send(&mut producer, 8_184).unwrap();
        }
        forged.write(CONSUMED, said);
        assert_eq!(send(&mut producer, 8_184), expected, "{said}");
    }
    let forged = Forged::new(NONCE, MIN_CAPACITY);
    let (mut producer, _) = joined(&forged);
    for written in 0..12 {
        forged.write(CONSUMED, written * 8_192);
        assert_eq!(send(&mut producer, 8_184), Ok(()), "{written}");
    }
    // It had read more before.
    forged.write(CONSUMED, 64);
    while send(&mut producer, 8_184).is_ok() {}
    assert_eq!(send(&mut producer, 8_184), consumed(64));
}

#[test]
fn only_sealed_memory_of_the_right_form_is_opened() {
    let open = |forged: &Forged| Window::open(forged.file(), NONCE).map(drop);
    let said = MIN_CAPACITY as u64;
    assert!(open(&Forged::new(NONCE, MIN_CAPACITY)).is_ok());
    for left_out in [libc::F_SEAL_SHRINK, libc::F_SEAL_GROW, libc::F_SEAL_FUTURE_WRITE, libc::F_SEAL_SEAL] {
        let forged = Forged::with(NONCE, MIN_CAPACITY, said, SEALS & !left_out, 0);
        assert!(matches!(open(&forged), Err(SegmentError::Unsealed)), "{left_out}");
    }
    assert!(matches!(open(&Forged::new(NONCE + 1, MIN_CAPACITY)), Err(SegmentError::Nonce)));
    let lies = Forged::with(NONCE, MIN_CAPACITY, 2 * said, SEALS, 0);
    assert!(matches!(open(&lies), Err(SegmentError::Form)));
    for capacity in [MIN_CAPACITY / 2, MIN_CAPACITY + 4_096, 2 * MAX_CAPACITY] {
        let forged = Forged::with(NONCE, capacity, capacity as u64, SEALS, 0);
        assert!(matches!(open(&forged), Err(SegmentError::Capacity(_))), "{capacity}");
    }
    let other = Forged::new(NONCE, MIN_CAPACITY);
    other.write(0, 0);
    assert!(matches!(open(&other), Err(SegmentError::Form)));
    let file = File::open("/proc/self/exe").unwrap();
    assert!(matches!(Window::open(file.as_fd(), NONCE), Err(SegmentError::Unsealed)));
    // A doorbell is memory as well, but a page.
    assert!(matches!(Bell::open(other.file()), Err(SegmentError::Form)));
    let bell = shm::Doorbell::new().unwrap();
    assert!(matches!(Window::open(bell.file(), NONCE), Err(SegmentError::Unsealed)));
}

#[test]
fn nobody_else_can_write_a_segment_or_cut_it_off() {
    let segment = Segment::new(NONCE, MIN_CAPACITY).unwrap();
    let file = segment.file().as_raw_fd();
    // SAFETY: all of it is refused, and would touch no memory that is in use.
    unsafe {
        assert_eq!(libc::ftruncate(file, 4_096), -1);
        assert_eq!(libc::ftruncate(file, 64 << 20), -1);
        assert_eq!(libc::write(file, c"x".as_ptr().cast(), 1), -1);
        let hole = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        assert_eq!(libc::fallocate(file, hole, 0, 4_096), -1);
        let both = libc::PROT_READ | libc::PROT_WRITE;
        let mapped = libc::mmap(std::ptr::null_mut(), 4_096, both, libc::MAP_SHARED, file, 0);
        assert_eq!(mapped, libc::MAP_FAILED);
        // Nor through a second look at it.
        let mapped = libc::mmap(std::ptr::null_mut(), 4_096, libc::PROT_READ, libc::MAP_SHARED, file, 0);
        assert_ne!(mapped, libc::MAP_FAILED);
        assert_eq!(libc::mprotect(mapped, 4_096, both), -1);
        libc::munmap(mapped, 4_096);
    }
}
