//! Doorbells: who sleeps is woken, whoever rings, whenever.
use std::sync::Arc;
use std::time::Duration;

use models::atomic::AtomicBool;
use models::atomic::Ordering::Relaxed;
use models::thread;

use crate::doorbell::{Bell, Doorbell};
use crate::messages::{ends, receive, send};

fn bell() -> (Arc<Doorbell>, Bell) {
    let doorbell = Doorbell::new().unwrap();
    let bell = Bell::open(doorbell.file()).unwrap();
    (Arc::new(doorbell), bell)
}

#[test]
fn who_sleeps_until_a_message_comes_is_woken() {
    models::check(4, || {
        let (doorbell, bell) = bell();
        let (mut producer, mut consumer) = ends();
        let writer = thread::spawn(move || {
            for number in 0..2 {
                send(&mut producer, number).unwrap();
                bell.ring();
            }
        });
        let look = consumer.look();
        let mut read = 0;
        while read < 2 {
            if receive(&mut consumer, read) {
                read += 1;
            } else {
                doorbell.sleep(Duration::MAX, || look.is_ready());
            }
        }
        writer.join().unwrap();
    });
}

#[test]
fn who_rings_only_where_it_is_wanted_wakes_too() {
    models::check(3, || {
        let (doorbell, bell) = bell();
        let (mut producer, mut consumer) = ends();
        let writer = thread::spawn(move || {
            send(&mut producer, 0).unwrap();
            if bell.is_wanted() {
                bell.ring();
            }
        });
        let look = consumer.look();
        while !receive(&mut consumer, 0) {
            doorbell.sleep(Duration::MAX, || look.is_ready());
        }
        writer.join().unwrap();
    });
}

#[test]
fn two_who_ring_at_once_wake_for_both() {
    models::check(3, || {
        let (doorbell, bell) = bell();
        let rings = [ends(), ends()];
        let other = Bell::open(doorbell.file()).unwrap();
        let bells = [bell, other].into_iter();
        let mut consumers = Vec::new();
        let writers: Vec<_> = rings
            .into_iter()
            .zip(bells)
            .map(|((mut producer, consumer), bell)| {
                consumers.push((consumer, 0));
                thread::spawn(move || {
                    send(&mut producer, 0).unwrap();
                    bell.ring();
                })
            })
            .collect();
        while consumers.iter().any(|(_, read)| *read == 0) {
            let mut got = false;
            for (consumer, read) in &mut consumers {
                if receive(consumer, *read) {
                    *read += 1;
                    got = true;
                }
            }
            if !got {
                let looks: Vec<_> = consumers.iter().map(|(consumer, _)| consumer.look()).collect();
                doorbell.sleep(Duration::MAX, || looks.iter().any(|look| look.is_ready()));
            }
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
}

#[test]
fn a_wake_up_of_the_own_process_ends_one_sleep_and_what_was_written_before_is_seen() {
    models::check(3, || {
        let (doorbell, bell) = bell();
        let closed = Arc::new(AtomicBool::new(false));
        let (waker, close) = (Arc::clone(&doorbell), Arc::clone(&closed));
        // Somebody else rings for nothing meanwhile.
        let stranger = thread::spawn(move || bell.ring());
        let closer = thread::spawn(move || {
            close.store(true, Relaxed);
            waker.wake();
        });
        let mut woken = false;
        while !woken {
            woken = doorbell.sleep(Duration::MAX, || false);
        }
        assert!(closed.load(Relaxed));
        assert!(!doorbell.is_woken());
        [stranger, closer].into_iter().for_each(|thread| thread.join().unwrap());
    });
}
