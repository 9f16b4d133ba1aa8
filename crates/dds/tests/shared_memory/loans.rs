//! Loans are written where they are sent from, and are samples like others.

use dds::cdr::Encoding;
use dds::qos::{DataReaderQos, History, Reliability};
use dds::serialized::{Request, Sample};
use dds::{DataReader, DdsType, NO_STATUS, QosKind, ReturnCode, SequenceNumber, States, WriteOptions};

use testkit::patience::patiently_or;

use crate::namespace::alone;
use crate::player::{Ball, Player, apart, ball, linked, sharing};

/// Bytes of a ball besides those of its data, encapsulation header included: two numbers and a length.
const AROUND: usize = 4 + 4 + 4 + 8 + 4;

/// Writes a ball as a loan, in place.
fn throw_loan(player: &Player, number: u64, len: usize) -> (SequenceNumber, bool) {
    let mut loan = player.writer.loan(AROUND + len + 3).unwrap();
    let written = ball(number, len).encode_payload_to(Encoding::XCDR1, &mut loan).unwrap();
    loan.truncate(written);
    let is_shared = loan.is_shared();
    (player.writer.write_loaned(loan, &WriteOptions::default()).unwrap(), is_shared)
}

/// Takes the next sample as bytes.
fn take(reader: &DataReader<Ball>, out: &mut Vec<Sample>) {
    let request = Request { states: States::NOT_READ, max: 1, ..Request::TAKE };
    let took = || (reader.access_serialized(&request, out).unwrap() > 0).then_some(());
    patiently_or(|| "nothing came".to_owned(), took);
}

/// Bytes that went into the ring, and those that were left where they had been written, as the report says.
fn sent(player: &Player) -> (u64, u64) {
    let report = player.participant.report();
    let line = report.iter().find(|line| line.starts_with("shared memory with")).unwrap();
    let number = |what: &str| {
        let before = line.split(what).next().unwrap().trim_end();
        before.rsplit(' ').next().unwrap().parse().unwrap()
    };
    (number("bytes copied"), number("bytes left"))
}

#[test]
fn a_loan_is_copied_once_by_whom_it_is_for() {
    alone(|| {
        let [one, other] = linked();
        // Until the writer's paths name the link.
        let mut got = Vec::new();
        let mut numbers = Vec::new();
        let took_the_ring = || {
            numbers.push(throw_loan(&one, 1, 16_384).0);
            take(&other.reader, &mut got);
            one.participant.report().iter().any(|line| line.contains("bytes left")).then_some(())
        };
        patiently_or(|| "no sample took the ring".to_owned(), took_the_ring);
        other.reader.recycle(got.drain(..));
        let (copied, left) = sent(&one);
        for number in 0..100 {
            let (sequence, is_shared) = throw_loan(&one, number, 16_384);
            assert!(is_shared);
            take(&other.reader, &mut got);
            // Numbers are those of any other sample.
            assert_eq!(got[0].info.sequence_number, sequence);
            let payload = got[0].payload.as_ref().unwrap();
            assert_eq!(Ball::decode_payload(payload.bytes()).unwrap(), ball(number, 16_384));
            other.reader.recycle(got.drain(..));
        }
        let (copied, left) = (sent(&one).0 - copied, sent(&one).1 - left);
        // Only heads and places went into the ring.
        assert_eq!(left, 100 * (AROUND as u64 + 16_384));
        assert!(copied < 100 * 400, "{copied} bytes were copied for 100 samples");
        one.leave();
        other.leave();
    });
}

#[test]
fn loans_of_all_sizes_arrive_among_other_samples() {
    alone(|| {
        let [one, other] = linked();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..600 {
                    let len = LENGTHS[number as usize % LENGTHS.len()];
                    match number % 3 {
                        0 => one.throw(number, len),
                        _ => assert_eq!(throw_loan(&one, number, len).0.0, number as i64 + 1),
                    }
                }
            });
            for number in 0..600 {
                other.catch_all(number..number + 1, LENGTHS[number as usize % LENGTHS.len()]);
            }
        });
        one.writer.wait_for_acknowledgments(crate::player::limit()).unwrap();
        one.leave();
        other.leave();
    });
}

const LENGTHS: [usize; 7] = [0, 100, 3_000, 16_380, 16_384, 60_000, 200_000];

#[test]
fn without_a_link_a_loan_is_a_buffer_with_the_same_octets() {
    alone(|| {
        let one = Player::new(["There", "Back"], &apart());
        let other = Player::new(["Back", "There"], &sharing());
        one.meet(1);
        other.meet(1);
        for (number, len) in (0..).zip(LENGTHS) {
            assert!(!throw_loan(&one, number, len).1);
            other.catch_all(number..number + 1, len);
        }
        let refused = one.writer.loan(usize::MAX).unwrap_err();
        assert_eq!(refused.code, ReturnCode::OutOfResources);
        // What is no sample of the type is refused as it is otherwise.
        let mut loan = one.writer.loan(8).unwrap();
        loan.fill(0xff);
        let refused = one.writer.write_loaned(loan, &WriteOptions::default()).unwrap_err();
        assert_eq!(refused.code, ReturnCode::BadParameter);
        one.leave();
        other.leave();
    });
}

#[test]
fn best_effort_readers_get_what_was_let_go_of() {
    alone(|| {
        let [one, other] = linked();
        let subscriber = other.reader.get_subscriber().clone();
        let topic = other.reader.get_topicdescription();
        let mut qos = DataReaderQos::default();
        qos.endpoint.reliability = Reliability::BEST_EFFORT;
        qos.endpoint.history = History::KeepAll;
        let reader =
            subscriber.create_datareader::<Ball>(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap();
        subscriber.delete_datareader(&other.reader).unwrap();
        let matched = [reader.guid().unwrap().into()];
        let met = || (one.writer.get_matched_subscriptions() == matched).then_some(());
        patiently_or(|| "they never met".to_owned(), met);
        // The history lets go of each at once, before anybody has copied it out.
        for number in 0..20 {
            throw_loan(&one, number, 16_384);
        }
        let mut got = Vec::new();
        (0..20).for_each(|_| take(&reader, &mut got));
        for (number, sample) in (0..).zip(&got) {
            let payload = sample.payload.as_ref().unwrap();
            assert_eq!(Ball::decode_payload(payload.bytes()).unwrap(), ball(number, 16_384));
        }
        one.leave();
        other.leave();
    });
}
