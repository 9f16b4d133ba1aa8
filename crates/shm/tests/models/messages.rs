//! Rings: messages come out whole, in order and once, however full the ring is and wherever its end lies.
use models::thread;

use crate::ring::{Consumer, Producer, Refused, join};
use crate::segment::Segment;

/// Bytes of the ring: sixteen lines, of which a message takes two at most.
pub(crate) const CAPACITY: usize = 1_024;

/// One end writes, the other one reads.
pub(crate) fn ends() -> (Producer, Consumer) {
    let (one, see_one) = Segment::new(CAPACITY, true);
    let (other, see_other) = Segment::new(CAPACITY, false);
    (join(one, see_other).0, join(other, see_one).1)
}

/// Bytes of one line, or of two.
pub(crate) const fn len(number: u8) -> usize {
    if number.is_multiple_of(3) { 8 } else { 100 }
}

/// Writes one message in one of the three ways.
pub(crate) fn send(producer: &mut Producer, number: u8) -> Result<(), Refused> {
    let bytes = [number; 100];
    let bytes = &bytes[..len(number)];
    match number % 3 {
        0 => producer.copy(bytes),
        1 => producer.send(bytes.len(), bytes.chunks(60)),
        _ => {
            let mut loan = producer.loan(bytes.len())?;
            loan.copy_from_slice(bytes);
            loan.commit();
            Ok(())
        }
    }
}

/// Reads the next message, which has to be that one, if it is there.
pub(crate) fn receive(consumer: &mut Consumer, number: u8) -> bool {
    let mut buffer = [0; 128];
    let got = consumer.receive(&mut buffer).expect("the producer writes no nonsense");
    let Some(octets) = got else { return false };
    assert_eq!(&buffer[..octets], &[number; 100][..len(number)]);
    true
}

/// Messages from `first` on: those before `sent` before there are two threads, of which those before `read` are read, then `count` beside the reader.
fn pass(first: u8, sent: u8, mut read: u8, count: u8) {
    let (mut producer, mut consumer) = ends();
    for number in first..sent {
        send(&mut producer, number).unwrap();
        if number < read {
            assert!(receive(&mut consumer, number));
        }
    }
    let writer = thread::spawn(move || {
        let mut told = sent;
        for number in sent..sent + count {
            match send(&mut producer, number) {
                Ok(()) => told = number + 1,
                // What follows would come instead of it.
                Err(Refused::Full) => break,
                Err(refused) => panic!("{refused}"),
            }
        }
        (told, producer)
    });
    for _ in 0..=count {
        read += u8::from(receive(&mut consumer, read));
    }
    let (sent, producer) = writer.join().unwrap();
    while receive(&mut consumer, read) {
        read += 1;
    }
    assert_eq!(read, sent);
    assert!(producer.is_drained());
}

#[test]
fn messages_come_out_whole_in_order_and_once() {
    models::check(4, || pass(0, 0, 0, 3));
}

#[test]
fn the_ring_is_begun_again_while_it_is_read() {
    // Where that is asked for the first time, with the last message under way or read.
    models::check(4, || pass(0, 2, 1, 3));
    models::check(4, || pass(0, 3, 3, 3));
}

#[test]
fn a_full_ring_is_written_over_only_where_it_was_read() {
    // Nine messages take fifteen lines, and the head of the next one takes the last.
    models::check(4, || pass(0, 8, 0, 3));
    models::check(4, || pass(0, 9, 0, 2));
    // The same lines, but the next one takes two: it is written at the beginning once two of three lines there were read.
    models::check(4, || pass(1, 10, 1, 2));
    models::check(4, || pass(1, 10, 2, 2));
}
