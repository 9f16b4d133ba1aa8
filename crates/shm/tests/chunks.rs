//! Chunks hold what was written as long as somebody holds them, and nobody reads what is not there any more.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::os::fd::AsFd;
use std::sync::Arc;

use shm::{ChunkWindow, Chunks, MAX_CHUNKS, Place, Segment, SegmentError};

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

const NONCE: u64 = 77;
const PAGE: usize = 4_096;

fn both(bytes: usize) -> (Arc<Chunks>, ChunkWindow) {
    // Without a descriptor the memory is still there.
    let (chunks, file) = Chunks::new(NONCE, bytes).unwrap();
    let window = ChunkWindow::open(file.as_fd(), NONCE).unwrap();
    (chunks, window)
}

#[test]
fn what_was_written_is_read_until_the_last_handle_is_gone() {
    let (chunks, window) = both(8 * PAGE);
    let mut lent = chunks.lend(5_000).unwrap();
    lent.fill(7);
    let mut out = vec![0; 5_000];
    // Not before it is published.
    let place = Place { page: 0, len: 5_000, number: 1 };
    assert!(!window.copy_out(place, 0, &mut out));
    let chunk = lent.freeze();
    assert_eq!(chunk.place(), place);
    let other = chunk.clone();
    drop(chunk);
    assert!(window.copy_out(place, 0, &mut out) && out == [7; 5_000] && other[..] == [7; 5_000]);
    assert!(window.copy_out(place, 0, &mut out[..10]));
    drop(other);
    assert!(!window.copy_out(place, 0, &mut out));
    // The same pages with another message are not taken for it.
    let mut again = chunks.lend(5_000).unwrap();
    again.fill(9);
    let again = again.freeze();
    assert_eq!(again.place().page, 0);
    assert!(
        !window.copy_out(place, 0, &mut out)
            && window.copy_out(again.place(), 0, &mut out)
            && out == [9; 5_000]
    );
}

#[test]
fn what_a_forked_child_drops_stays_where_it_is() {
    let (chunks, window) = both(8 * PAGE);
    let mut lent = chunks.lend(5_000).unwrap();
    lent.fill(7);
    let mut chunk = Some(lent.freeze());
    let place = chunk.as_ref().unwrap().place();
    let limit = std::time::Duration::from_secs(20);
    assert_eq!(forks::in_child(limit, || drop(chunk.take())).unwrap(), forks::Ended::Returned);
    let mut out = vec![0; 5_000];
    assert!(window.copy_out(place, 0, &mut out) && out == [7; 5_000], "the child has given it back");
    drop(chunk);
    assert!(!window.copy_out(place, 0, &mut out));
}

#[test]
fn pages_are_lent_to_one_at_a_time_and_come_back() {
    for seed in tiers::current().seeds("property.cases") {
        let (chunks, window) = both(64 * PAGE);
        let mut numbers = testkit::random::Random::new(seed);
        let mut random = |bound: usize| numbers.below(bound);
        let mut held = Vec::new();
        let mut refused = 0;
        for step in 0..200_u32 {
            let len = random(9 * PAGE);
            match chunks.lend(len) {
                Some(mut lent) => {
                    lent.fill(step as u8);
                    let len = random(len + 1);
                    lent.truncate(len);
                    held.push((lent.freeze(), step as u8, len));
                }
                None => refused += 1,
            }
            while held.len() > 9 + random(4) {
                held.swap_remove(random(held.len()));
            }
            // What is wrong stays wrong for as long as it is held.
            if step % 8 > 0 {
                continue;
            }
            for (chunk, octet, len) in &held {
                let mut out = vec![!octet; *len];
                assert!(window.copy_out(chunk.place(), 0, &mut out), "seed {seed}");
                assert!(out.iter().all(|read| read == octet) && chunk[..] == out, "seed {seed}");
            }
        }
        held.clear();
        assert!(refused < 200, "seed {seed}");
        assert!(chunks.lend(chunks.capacity()).is_some(), "seed {seed}: pages were lost");
    }
}

#[test]
fn more_than_there_is_is_not_lent() {
    let (chunks, _) = both(3 * PAGE);
    assert!(chunks.lend(3 * PAGE + 1).is_none());
    let [one, two, three] = [(); 3].map(|()| chunks.lend(1).unwrap());
    assert!(chunks.lend(0).is_none());
    drop((one, three));
    // Two pages, but not beside each other.
    assert!(chunks.lend(2 * PAGE).is_none());
    drop(two);
    assert!(chunks.lend(3 * PAGE).is_some());
    assert!(matches!(Chunks::new(NONCE, 0), Err(SegmentError::Capacity(0))));
    assert!(matches!(Chunks::new(NONCE, MAX_CHUNKS + 1), Err(SegmentError::Capacity(_))));
}

#[test]
fn no_place_that_another_names_leads_outside() {
    let (chunks, window) = both(4 * PAGE);
    let mut out = vec![0; 20_000];
    let kept = chunks.lend(4 * PAGE).unwrap().freeze();
    let number = kept.place().number;
    for page in [0, 1, 3, 4, 5, u32::MAX / 4_096, u32::MAX] {
        for len in [0, 1, 4_096, 16_385, u32::MAX] {
            for number in [0, number, number + 1, u64::MAX] {
                let fits = page == 0 && number == kept.place().number && len <= 16_384;
                let wanted = (len as usize).min(out.len());
                let read = window.copy_out(Place { page, len, number }, 0, &mut out[..wanted]);
                assert_eq!(read, fits, "page {page}, {len} bytes, number {number}");
            }
        }
    }
    // More than the message has is not given.
    let ten = Place { len: 10, ..kept.place() };
    for (from, len, fits) in
        [(0, 10, true), (0, 11, false), (4, 6, true), (4, 7, false), (usize::MAX, 1, false)]
    {
        assert_eq!(window.copy_out(ten, from, &mut out[..len]), fits);
    }
}

#[test]
fn other_memory_is_no_chunks() {
    let (_, file) = Chunks::new(NONCE, PAGE).unwrap();
    assert!(matches!(ChunkWindow::open(file.as_fd(), NONCE + 1), Err(SegmentError::Nonce)));
    let ring = Segment::new(NONCE, shm::MIN_CAPACITY).unwrap();
    assert!(matches!(ChunkWindow::open(ring.file(), NONCE), Err(SegmentError::Form)));
    assert!(matches!(shm::Window::open(file.as_fd(), NONCE), Err(SegmentError::Capacity(_))));
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    assert!(matches!(ChunkWindow::open(file.as_fd(), NONCE), Err(SegmentError::Unsealed)));
}

#[test]
fn lending_takes_nothing_from_the_heap() {
    let (chunks, _) = both(64 * PAGE);
    let budget = alloc_meter::measure(|| {
        for _ in 0..1_000 {
            let chunk = chunks.lend(16_384).unwrap().freeze();
            drop(chunk.clone());
        }
    });
    assert_eq!(budget.1.count, 0);
}
