//! The meter counts what the code between takes, and nothing else.
use std::sync::Barrier;

use alloc_meter::{Meter, Usage, measure};

#[global_allocator]
static METER: Meter = Meter;

#[test]
fn code_that_takes_nothing() {
    let kept = [1_u8; 100];
    let (sum, usage) = measure(|| kept.iter().map(|octet| usize::from(*octet)).sum::<usize>());
    assert_eq!((sum, usage), (100, Usage::default()));
}

#[test]
fn peak_is_of_one_time_and_largest_is_of_one_allocation() {
    let ((), usage) = measure(|| {
        for _ in 0..3 {
            drop(vec![0_u8; 1000]);
        }
        let both = (vec![0_u8; 400], vec![0_u8; 300]);
        assert_eq!(both.0.len() + both.1.len(), 700);
    });
    assert_eq!(usage, Usage { count: 5, peak: 1000, total: 3700, kept: 0, largest: 1000 });
}

#[test]
fn growth_counts_old_and_new_together() {
    let mut vector: Vec<u8> = Vec::with_capacity(100);
    let ((), usage) = measure(|| vector.reserve_exact(200));
    assert_eq!(usage, Usage { count: 1, peak: 200, total: 200, kept: 100, largest: 200 });
    let ((), usage) = measure(|| {
        let mut vector: Vec<u8> = Vec::with_capacity(100);
        vector.push(1);
        vector.reserve_exact(200);
        assert_eq!(vector.len(), 1);
    });
    assert_eq!(usage.peak, 301);
}

#[test]
fn other_threads_do_not_count() {
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            barrier.wait();
            let len = vec![0_u8; 100_000].len();
            barrier.wait();
            len
        });
        let ((), usage) = measure(|| {
            barrier.wait();
            barrier.wait();
        });
        assert_eq!(other.join().unwrap(), 100_000);
        assert_eq!(usage, Usage::default());
    });
}
