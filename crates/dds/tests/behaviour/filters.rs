//! Content-filtered topics and queries: what readers get, what writers do not send, and what an evaluator of its own says.
use std::collections::BTreeSet;

use dds::qos::{Durability, History};
use dds::serialized::DropReason;
use dds::{DataReader, Duration, InstanceState, NO_STATUS, QosKind, ReturnCode, States, WaitSet};
use testkit::random::Random;

use crate::desk::Desk;
use crate::fixture::{
    Reading, keep_all, millis, named_topic, reader, reading, settle, topic, two, values, writer,
};

/// A reliable reader that keeps all, with a filter.
fn filtered(
    participant: &dds::DomainParticipant,
    expression: &str,
    parameters: &[&str],
) -> DataReader<Reading> {
    let builder = participant.reader::<Reading>("Readings").type_name("Reading").reliable().keep_all();
    builder.filter(expression, parameters.iter().copied()).create().unwrap()
}

fn dropped(reader: &DataReader<Reading>) -> u64 {
    reader.dropped(DropReason::ContentFilter).count
}

#[test]
fn a_reader_gets_what_passes_and_a_writer_does_not_send_the_rest() {
    let (mut desk, here, there) = two();
    topic(&there);
    let writer = writer(&here, keep_all);
    let near = filtered(&there, "value >= %0 AND sensor <> 7", &["3"]);
    settle(&mut desk);
    desk.record();
    for (sensor, value) in [(1, 1), (1, 3), (7, 9), (2, 5), (2, 2)] {
        writer.write(&reading(sensor, value)).unwrap();
        desk.run(millis(1));
    }
    desk.run(millis(100));
    assert_eq!(values(&near), [3, 5]);
    assert_eq!(dropped(&near), 0, "the writer has not sent them");
    assert_eq!(near.get_sample_lost_status().total.count, 0);
    assert!(writer.wait_for_acknowledgments(Duration::ZERO).is_ok());
    // Another reader of the same participant gets everything, by the same path: then that one filters by itself.
    let all = reader(&there, |_| {});
    settle(&mut desk);
    (0..5).for_each(|value| {
        writer.write(&reading(3, value)).unwrap();
    });
    desk.run(millis(100));
    assert_eq!((values(&near), values(&all)), (vec![3, 4], vec![0, 1, 2, 3, 4]));
    assert_eq!(dropped(&near), 3);
    assert_eq!(near.get_sample_lost_status().total.count, 0);
}

#[test]
fn a_content_filtered_topic_filters_for_all_its_readers_and_changes_its_parameters() {
    let (mut desk, here, there) = two();
    let readings = topic(&there);
    let near = there.create_contentfilteredtopic("Near", &readings, "value > %0", ["10"]).unwrap();
    let writer = writer(&here, keep_all);
    let subscriber = there.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
    let mut qos = subscriber.get_default_datareader_qos();
    qos.endpoint.reliability = dds::qos::Reliability::RELIABLE;
    qos.endpoint.history = History::KeepAll;
    let made =
        || subscriber.create_datareader::<Reading>(&near, QosKind::Specific(qos.clone()), None, NO_STATUS);
    let readers = [made().unwrap(), made().unwrap()];
    settle(&mut desk);
    let write = |desk: &mut Desk| {
        [5, 15, 25].into_iter().for_each(|value| {
            writer.write(&reading(1, value)).unwrap();
        });
        desk.run(millis(100));
    };
    write(&mut desk);
    readers.iter().for_each(|reader| assert_eq!(values(reader), [15, 25]));
    near.set_expression_parameters(["20"]).unwrap();
    settle(&mut desk);
    write(&mut desk);
    readers.iter().for_each(|reader| assert_eq!((values(reader), dropped(reader)), (vec![25], 0)));
    readers[0].set_expression_parameters(["0"]).unwrap();
    settle(&mut desk);
    write(&mut desk);
    readers.iter().for_each(|reader| assert_eq!(values(reader), [5, 15, 25]));
    let error = near.set_expression_parameters(["many"]).unwrap_err();
    assert_eq!(error.code, ReturnCode::BadParameter);
    assert_eq!(near.get_expression_parameters(), ["0"]);
    assert_eq!(near.get_filter_expression(), "value > %0");
    assert_eq!(readers[1].get_contentfilteredtopic().unwrap().get_name(), "Near");
    assert_eq!(readers[1].get_topicdescription().get_name(), "Readings");
}

#[test]
fn a_filter_that_makes_no_sense_is_refused_with_what_and_where() {
    let (_desk, here, _there) = two();
    let made = |expression: &str, parameters: &[&str]| {
        let builder = here.reader::<Reading>("Readings").type_name("Reading");
        builder.filter(expression, parameters.iter().copied()).create().unwrap_err()
    };
    let error = made("sensor = 1 AND speed > 3", &[]);
    assert_eq!((error.code, error.place), (ReturnCode::BadParameter, "filter"));
    assert!(error.what.contains("at byte 15: there is no field `speed`"), "{error}");
    assert!(error.what.contains("sensor, value"), "{error}");
    assert!(made("value >", &[]).what.contains("at byte 7"));
    assert!(made("value > %0", &[]).what.contains("parameter %0 has no value"));
    let nothing_known = here.create_raw_topic("Raw", "Bytes", QosKind::Default).unwrap();
    let error = here.create_contentfilteredtopic("Some", &nothing_known, "x = 1", [""; 0]).unwrap_err();
    assert_eq!(error.code, ReturnCode::Unsupported);
    let readings = topic(&here);
    let error = here.create_contentfilteredtopic("Readings", &readings, "value = 1", [""; 0]).unwrap_err();
    assert_eq!(error.code, ReturnCode::PreconditionNotMet);
    let plain = reader(&here, |_| {});
    assert_eq!(plain.set_expression_parameters(["1"]).unwrap_err().code, ReturnCode::PreconditionNotMet);
}

#[test]
fn the_end_of_an_instance_reaches_a_reader_that_knows_it_and_no_other() {
    for shares in [false, true] {
        let (mut desk, here, there) = two();
        let writer = writer(&here, keep_all);
        topic(&there);
        let near = filtered(&there, "value > 0", &[]);
        // With a reader without a filter on the same path the writer sends everything.
        let _all = shares.then(|| reader(&there, |_| {}));
        settle(&mut desk);
        writer.write(&reading(1, 5)).unwrap();
        writer.write(&reading(2, -5)).unwrap();
        // The instance leaves the filter: its last sample that passed stays what the reader knows of it.
        writer.write(&reading(1, -1)).unwrap();
        desk.run(millis(100));
        assert_eq!(values(&near), [5]);
        for sensor in [1, 2] {
            writer.dispose(&reading(sensor, 0)).unwrap();
        }
        desk.run(millis(100));
        let ends = near.take(usize::MAX, States::ANY).unwrap();
        let ends: Vec<_> =
            ends.iter().map(|sample| (sample.key.unwrap().sensor, sample.info.instance_state)).collect();
        assert_eq!(ends, [(1, InstanceState::NotAliveDisposed)], "shares: {shares}");
    }
}

#[test]
fn a_late_reader_has_its_history_although_the_filter_keeps_away_a_part_of_it() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |qos| {
        keep_all(qos);
        qos.endpoint.durability = Durability::TransientLocal;
    });
    [1, 50, 2, 60, 3].into_iter().for_each(|value| {
        writer.write(&reading(1, value)).unwrap();
    });
    settle(&mut desk);
    topic(&there);
    let builder = there.reader::<Reading>("Readings").type_name("Reading").reliable().keep_all();
    let late = builder.transient_local().filter("value > 10", [""; 0]).create().unwrap();
    settle(&mut desk);
    assert!(late.wait_for_historical_data(Duration::ZERO).is_ok());
    assert_eq!((values(&late), dropped(&late)), (vec![50, 60], 0));
    assert_eq!(late.get_sample_lost_status().total.count, 0);
}

#[test]
fn a_query_has_an_expression_whose_parameters_change() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, keep_all);
    let reader = reader(&there, |_| {});
    settle(&mut desk);
    [1, 20, 30, 5].into_iter().for_each(|value| {
        writer.write(&reading(1, value)).unwrap();
    });
    desk.run(millis(100));
    let hot = reader.create_querycondition_where(States::ANY, "value > %0", ["40"]).unwrap();
    let waits = WaitSet::new();
    waits.attach_condition(hot.clone().into()).unwrap();
    assert!(!hot.get_trigger_value());
    assert!(waits.wait(Duration::ZERO).is_err());
    hot.set_query_parameters(["10"]).unwrap();
    assert!(hot.get_trigger_value());
    assert_eq!(waits.wait(Duration::ZERO).unwrap().len(), 1);
    let taken = |samples: Vec<dds::Sample<Reading>>| -> Vec<i64> {
        samples.into_iter().map(|sample| sample.data.unwrap().value).collect()
    };
    assert_eq!(taken(reader.read_w_query(10, &hot).unwrap()), [20, 30]);
    assert_eq!(taken(reader.take_w_query(1, &hot).unwrap()), [20]);
    assert_eq!(taken(reader.take_w_query(10, &hot).unwrap()), [30]);
    assert!(!hot.get_trigger_value());
    assert_eq!(values(&reader), [1, 5]);
    assert_eq!(
        (hot.get_query_expression(), hot.get_query_parameters()),
        (Some("value > %0"), vec!["10".to_owned()])
    );
    assert_eq!(hot.set_query_parameters(["x"]).unwrap_err().code, ReturnCode::BadParameter);
    let wrong = reader.create_querycondition_where(States::ANY, "speed > 1", [""; 0]).err().unwrap();
    assert_eq!((wrong.code, wrong.place), (ReturnCode::BadParameter, "create_querycondition_where"));
}

/// A condition over a reading, as an evaluator of its own has it.
enum Condition {
    Sensor(usize, i64),
    Value(usize, i64),
    Between(i64, i64),
    Not(Box<Self>),
    Both(Box<Self>, Box<Self>),
    Either(Box<Self>, Box<Self>),
}

/// Relations, as expressions write them.
const RELATIONS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

fn relates(relation: usize, one: i64, other: i64) -> bool {
    match RELATIONS[relation] {
        "=" => one == other,
        "<>" => one != other,
        "<" => one < other,
        "<=" => one <= other,
        ">" => one > other,
        _ => one >= other,
    }
}

impl Condition {
    fn random(random: &mut Random, depth: usize) -> Self {
        let value = |random: &mut Random| random.below(34) as i64 - 12;
        let within = |random: &mut Random| Box::new(Self::random(random, depth - 1));
        match if depth == 0 { random.below(3) } else { random.below(6) } {
            0 => Self::Sensor(random.below(6), random.below(5) as i64),
            1 => Self::Value(random.below(6), value(random)),
            2 => {
                let least = value(random);
                Self::Between(least, least + random.below(10) as i64)
            }
            3 => Self::Not(within(random)),
            4 => Self::Both(within(random), within(random)),
            _ => Self::Either(within(random), within(random)),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Sensor(relation, other) => format!("sensor {} {other}", RELATIONS[*relation]),
            Self::Value(relation, other) => format!("value {} {other}", RELATIONS[*relation]),
            Self::Between(least, most) => format!("value BETWEEN {least} AND {most}"),
            Self::Not(inner) => format!("NOT ({})", inner.text()),
            Self::Both(one, other) => format!("({}) AND ({})", one.text(), other.text()),
            Self::Either(one, other) => format!("({}) OR ({})", one.text(), other.text()),
        }
    }

    fn holds(&self, of: Reading) -> bool {
        match self {
            Self::Sensor(relation, other) => relates(*relation, i64::from(of.sensor), *other),
            Self::Value(relation, other) => relates(*relation, of.value, *other),
            Self::Between(least, most) => *least <= of.value && of.value <= *most,
            Self::Not(inner) => !inner.holds(of),
            Self::Both(one, other) => one.holds(of) && other.holds(of),
            Self::Either(one, other) => one.holds(of) || other.holds(of),
        }
    }
}

/// A writer, a reader that gets all, filtered readers, one of which comes late; datagrams are lost and overtake each other, and parameters
/// change while samples are under way.
fn play(seed: u64) {
    let mut random = Random::new(seed);
    // A greater parameter lets no more pass, whatever the rest says.
    let (first, second) = (Condition::random(&mut random, 2), Condition::random(&mut random, 2));
    let expression = format!("({}) AND (value >= %0 OR ({}))", first.text(), second.text());
    let passes = |of: Reading, least: i64| first.holds(of) && (of.value >= least || second.holds(of));
    let mut desk = Desk::new();
    let hosts: Vec<_> = (0..4).map(|_| desk.participant()).collect();
    let is_lasting = random.one_in(2);
    let durability = if is_lasting { Durability::TransientLocal } else { Durability::Volatile };
    let writer = writer(&hosts[0], |qos| {
        keep_all(qos);
        qos.endpoint.durability = durability;
        if random.one_in(2) {
            qos.endpoint.latency_budget = millis(2);
        }
    });
    let asks = |qos: &mut dds::qos::DataReaderQos| {
        qos.endpoint.durability = durability;
        qos.endpoint.latency_budget = millis(2);
    };
    let all = reader(&hosts[1], asks);
    let made = |host: usize, least: i64| {
        named_topic(&hosts[host], "Readings");
        let builder = hosts[host].reader::<Reading>("Readings").type_name("Reading").reliable().keep_all();
        let builder = builder.with_qos(asks);
        builder.filter(&expression, [least.to_string()]).create().unwrap()
    };
    let mut least = 0;
    // What the parameter of `changing` has been since all were last told of it.
    let mut span = (least, least);
    let steady = made(2, 5);
    // Besides a reader that gets all, in some runs.
    let changing = made(if random.one_in(3) { 1 } else { 3 }, least);
    settle(&mut desk);
    desk.lose(random.below(200), seed);
    let mut late = None;
    let (mut written, mut wanted) = (Vec::new(), Vec::new());
    for round in 0..6 {
        for _ in 0..random.below(30) {
            let of = reading(random.below(5) as u32, random.below(30) as i64 - 10);
            writer.write(&of).unwrap();
            written.push(of);
            wanted.push((of, span.0, span.1));
            if random.one_in(4) {
                desk.run(millis(random.below(5) as i64));
            }
        }
        if random.one_in(2) {
            least = random.below(15) as i64 - 5;
            span = (span.0.min(least), span.1.max(least));
            // What may be under way is judged by either.
            let before = wanted.len().saturating_sub(200);
            for (_, low, high) in &mut wanted[before..] {
                (*low, *high) = ((*low).min(least), (*high).max(least));
            }
            changing.set_expression_parameters([least.to_string()]).unwrap();
        }
        if random.one_in(2) || round == 3 {
            desk.run(Duration::from_secs(3));
            span = (least, least);
        }
        if round == 3 {
            // What was written before is not for it, unless it lasts.
            let from = if is_lasting { 0 } else { written.len() };
            late = Some((made(2, -3), from));
            desk.run(Duration::from_secs(3));
        }
    }
    desk.heal();
    desk.lose(0, seed);
    desk.run(Duration::from_secs(5));
    let taken = |reader: &DataReader<Reading>| -> Vec<Reading> {
        let samples = reader.take(usize::MAX, States::ANY).unwrap();
        let lost = reader.dropped(DropReason::Lost);
        assert_eq!(
            lost.count,
            0,
            "seed {seed}: {lost:?} of {}, {reader:?} lasting {is_lasting}",
            written.len()
        );
        samples.iter().filter_map(|sample| sample.data).collect()
    };
    let sorted = |mut readings: Vec<(usize, Reading)>| {
        // Of one instance in order; instances in any.
        readings.sort_by_key(|(number, of)| (of.sensor, *number));
        readings.into_iter().map(|(_, of)| (of.sensor, of.value)).collect::<Vec<_>>()
    };
    let of = |readings: Vec<Reading>| sorted(readings.into_iter().enumerate().collect());
    let judged = |from: usize, least: i64| {
        let readings = written.iter().copied().enumerate().skip(from);
        sorted(readings.filter(|(_, of)| passes(*of, least)).collect())
    };
    assert_eq!(of(taken(&all)), of(written.clone()), "seed {seed}: all");
    assert_eq!(of(taken(&steady)), judged(0, 5), "seed {seed}: steady");
    let (late, from) = late.unwrap();
    assert_eq!(of(taken(&late)), judged(from, -3), "seed {seed}: late");
    // Each sample that every filter lets pass is there, and none that all keep away; in order.
    let got = taken(&changing);
    for sensor in 0..5 {
        let got: Vec<&Reading> = got.iter().filter(|of| of.sensor == sensor).collect();
        // How many of them may be accounted for: equal readings that may or may not pass leave several possibilities.
        let mut places = BTreeSet::from([0]);
        for (of, low, high) in wanted.iter().filter(|(of, ..)| of.sensor == sensor) {
            let taken: BTreeSet<usize> =
                places.iter().filter(|at| got.get(**at) == Some(&of)).map(|at| at + 1).collect();
            if passes(*of, *high) {
                places = taken;
                assert!(!places.is_empty(), "seed {seed}: {of:?} is lost of {got:?}");
            } else if passes(*of, *low) {
                places.extend(taken);
            }
        }
        assert!(places.contains(&got.len()), "seed {seed}: did not pass: {got:?}");
    }
    assert!(writer.wait_for_acknowledgments(Duration::ZERO).is_ok(), "seed {seed}");
}

#[test]
fn filtered_readers_get_what_an_evaluator_of_its_own_says_of_what_others_get() {
    tiers::current().seeds("content.domains").for_each(play);
}
