//! Which types can be read as which: compared with another statement of the rules, and with what becomes of samples.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod model;
mod statement;
mod table;
mod values;

use std::sync::Arc;

use dcps::TypeSupport;
use dynamic::{DynamicTypeSupport, Sample, Schema, TypeIndex};
use wire::cdr::Encoding;
use wire::qos::TypeConsistency;
use xtypes::{Library, ObjectId, Obstacle, Rules, TypeIdentifier, assignable, describe};

use model::{Model, Random};
use statement::{Reading, fits};

/// Type objects of some types, and the identifiers of the last of each: by the minimal and by the complete type object.
pub(crate) fn library(schemas: &[(&Schema, TypeIndex)]) -> (Library, Vec<[TypeIdentifier; 2]>) {
    let mut library = Library::default();
    let mut types = Vec::new();
    for (schema, index) in schemas {
        let described = describe(schema, *index).unwrap();
        for (identifier, object) in described.minimal.iter().chain(&described.complete) {
            assert!(library.add(ObjectId::of(identifier).unwrap(), object));
        }
        let last = |of: &[(TypeIdentifier, Vec<u8>)]| of.last().unwrap().0.clone();
        types.push([last(&described.minimal), last(&described.complete)]);
    }
    (library, types)
}

fn policy(random: &mut Random) -> TypeConsistency {
    let default = TypeConsistency::default();
    if random.one_in(2) {
        return default;
    }
    TypeConsistency {
        allow_type_coercion: !random.one_in(8),
        ignore_sequence_bounds: random.one_in(2),
        ignore_string_bounds: random.one_in(2),
        ignore_member_names: random.one_in(2),
        prevent_type_widening: random.one_in(3),
        force_type_validation: false,
    }
}

/// What was seen, so that the test is known to try both.
#[derive(Default, Debug)]
struct Tally {
    assignable: u64,
    changed: u64,
    refused: u64,
    decoded: u64,
    beyond_bounds: u64,
    keys: u64,
}

#[test]
fn pairs_of_types() {
    let tier = tiers::current();
    let mut tally = Tally::default();
    for seed in tier.seeds("xtypes.type_pairs") {
        let mut random = Random::new(seed);
        let written = model::structure(&mut random, 2);
        let read = model::evolve(&mut random, &written);
        let policy = policy(&mut random);
        for (xcdr2, encoding) in [(true, Encoding::XCDR2), (false, Encoding::XCDR1)] {
            judge(seed, &mut random, &read, &written, Reading { policy, xcdr2 }, encoding, &mut tally);
        }
    }
    println!("{tally:?}");
    let least = tally.assignable + tally.refused;
    for (what, count) in [
        ("assignable", tally.changed),
        ("refused", tally.refused),
        ("decoded", tally.decoded),
        ("of a key", tally.keys),
    ] {
        assert!(count > least / 20, "few are {what}: {tally:?}");
    }
    assert!(tally.beyond_bounds > 0, "{tally:?}");
}

fn judge(
    seed: u64,
    random: &mut Random,
    read: &Model,
    written: &Model,
    reading: Reading,
    encoding: Encoding,
    tally: &mut Tally,
) {
    let ((read_schema, read_index), (written_schema, written_index)) =
        (model::schema(read), model::schema(written));
    let (library, types) = library(&[(&read_schema, read_index), (&written_schema, written_index)]);
    let rules = Rules { consistency: reading.policy, delimited: reading.xcdr2 };
    let expected = fits(read, written, reading);
    let (read_model, written_model) = (read, written);
    for (read, written) in types[0].iter().zip(&types[1]) {
        let said = assignable(&library, read, written, &rules);
        let agree = match &said {
            Ok(()) => expected,
            Err(Obstacle::Difference(_)) => !expected,
            Err(_) => false,
        };
        assert!(
            agree,
            "seed {seed}, {rules:?}: {said:?}, expected {expected}\nread: {read_model:#?}\nwritten: {written_model:#?}"
        );
    }
    if !expected {
        tally.refused += 1;
        return;
    }
    tally.assignable += 1;
    tally.changed += u64::from(read != written);
    let (read_schema, written_schema) = (Arc::new(read_schema), Arc::new(written_schema));
    for _ in 0..2 {
        let value = values::any(random, written);
        let text = values::text(written, &value);
        let sample = Sample::read(&written_schema, written_index, &text)
            .unwrap_or_else(|error| panic!("seed {seed}: {error:?}: {text}"));
        let mut payload = Vec::new();
        sample.encode(encoding, &mut payload).unwrap();
        let decoded = Sample::decode(&read_schema, read_index, &payload, false);
        let Some(expected) = values::seen(read, written, &value) else {
            tally.beyond_bounds += 1;
            continue;
        };
        let told = || format!("seed {seed}, {encoding:?}\nread: {read:#?}\nwritten: {written:#?}\n{text}");
        let decoded = decoded.unwrap_or_else(|error| panic!("{error}: {}", told()));
        assert!(values::is(read, &expected, decoded.value()), "{decoded}: {}", told());
        tally.decoded += 1;
        let mut keys = [
            DynamicTypeSupport::new(Arc::clone(&written_schema), written_index),
            DynamicTypeSupport::new(Arc::clone(&read_schema), read_index),
        ];
        if keys[0].has_key() {
            let keys = keys.each_mut().map(|support| {
                let mut key = Vec::new();
                support.key(&payload, false, &mut key).unwrap();
                key
            });
            assert_eq!(keys[0], keys[1], "{}", told());
            tally.keys += 1;
        }
    }
}
