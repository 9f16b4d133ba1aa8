//! Filters and rings: a writer that filters for a reader keeps away what the reader would have dropped.
use dds::serialized::DropReason;
use dds::{DataReader, States, Transport};

use testkit::patience::patiently_or;

use crate::namespace::alone;
use crate::player::{Ball, Player, limit, sharing};

const SAMPLES: u64 = 400;
const EXPRESSION: &str = "number >= %0 AND number NOT BETWEEN 50 AND 60";

/// What an evaluator of its own says.
fn passes(number: u64) -> bool {
    number >= 20 && !(50..=60).contains(&number)
}

fn filtered(player: &Player) -> DataReader<Ball> {
    let builder = player.participant.reader::<Ball>("There").type_name("Ball").reliable().keep_all();
    builder.filter(EXPRESSION, ["20"]).create().unwrap()
}

/// The numbers of samples that have come, and are as they were thrown.
fn taken(reader: &DataReader<Ball>) -> Vec<u64> {
    let samples = reader.take(usize::MAX, States::ANY).unwrap();
    samples.into_iter().filter_map(|sample| sample.data.map(|ball| ball.number)).collect()
}

#[test]
fn a_filter_gives_the_same_at_the_writer_and_at_the_reader() {
    alone(|| {
        let writes = Player::new(["There", "Nothing"], &sharing());
        // No other reader of its participant reads the topic, so the writer filters for it. Of the other one it filters by itself.
        let (spared, told) =
            (Player::new(["Back", "Elsewhere"], &sharing()), Player::new(["Back", "There"], &sharing()));
        let (at_writer, at_reader) = (filtered(&spared), filtered(&told));
        let matched = || (writes.writer.get_matched_subscriptions().len() == 3).then_some(());
        patiently_or(|| "three readers were not matched".to_owned(), matched);
        for player in [&spared, &told] {
            player.expect(1, "shared memory with");
        }
        writes.expect(2, "shared memory with");
        let dropped = |reader: &DataReader<Ball>| reader.dropped(DropReason::ContentFilter).count;
        let expected: Vec<u64> = (0..SAMPLES).filter(|number| passes(*number)).collect();
        let shares = || {
            let all = writes.writer.get_matched_subscriptions();
            let transport = |reader| writes.writer.get_matched_subscription_transport(reader).unwrap();
            all.into_iter().all(|reader| transport(reader) == Transport::SharedMemory).then_some(())
        };
        patiently_or(|| "samples never took the rings".to_owned(), shares);
        for len in [10, 1_000, 100_000] {
            let before = [&at_writer, &at_reader].map(dropped);
            std::thread::scope(|scope| {
                scope.spawn(|| (0..SAMPLES).for_each(|number| writes.throw(number, len)));
                let (mut first, mut second, mut all) = (Vec::new(), Vec::new(), Vec::new());
                let both = || {
                    first.extend(taken(&at_writer));
                    second.extend(taken(&at_reader));
                    all.extend(taken(&told.reader));
                    let is_done = first.len() >= expected.len() && second.len() >= expected.len();
                    (is_done && all.len() as u64 >= SAMPLES).then_some(())
                };
                patiently_or(|| format!("not all of {len} bytes came"), both);
                assert_eq!((&first, &second), (&expected, &expected), "{len}");
            });
            let after = [&at_writer, &at_reader].map(dropped);
            let kept_away = SAMPLES - expected.len() as u64;
            assert_eq!([after[0] - before[0], after[1] - before[1]], [0, kept_away], "{len}");
        }
        writes.writer.wait_for_acknowledgments(limit()).unwrap();
        for reader in [&at_writer, &at_reader] {
            assert_eq!(reader.get_sample_lost_status().total.count, 0);
        }
        [&writes, &spared, &told].into_iter().for_each(Player::leave);
    });
}
