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
        let objects = || described.minimal.iter().chain(&described.complete);
        let named =
            objects().map(|(identifier, object)| (ObjectId::of(identifier).unwrap(), object.as_slice()));
        assert_eq!(library.add_all(named).len(), objects().count());
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

/// Where a member of a mutable type ends is known also inside of a collection.
#[test]
fn members_that_were_not_sent_inside_of_collections() {
    let parsed = |more: &str| {
        let idl = format!(
            "struct S {{ long a; {more} }}; @mutable struct T {{ S s; }}; @final struct R {{ sequence<T> ts; map<long, T> more; }};"
        );
        let schema = Arc::new(dynamic::idl::parse(&idl).unwrap());
        let index = schema.find("R").unwrap();
        (schema, index)
    };
    let ((old, of_old), (new, of_new)) = (parsed(""), parsed("string b;"));
    for encoding in [Encoding::XCDR1, Encoding::XCDR2] {
        let mut payload = Vec::new();
        let sample =
            Sample::read(&old, of_old, "ts: [{s: {a: 1}}, {s: {a: 2}}], more: {1: {s: {a: 3}}}").unwrap();
        sample.encode(encoding, &mut payload).unwrap();
        let read = Sample::decode(&new, of_new, &payload, false).unwrap();
        let expected = r#"{"ts": [{"s": {"a": 1, "b": ""}}, {"s": {"a": 2, "b": ""}}], "more": {"1": {"s": {"a": 3, "b": ""}}}}"#;
        assert_eq!(read.to_string(), expected, "{encoding:?}");
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
    recursive: u64,
    recursive_decoded: u64,
}

#[test]
fn pairs_of_types() {
    let tier = tiers::current();
    let mut tally = Tally::default();
    for seed in tier.seeds("xtypes.type_pairs") {
        let mut random = Random::new(seed);
        let written = model::whole(&mut random, 2);
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
    assert!(tally.recursive > least / 20 && tally.recursive_decoded > least / 20, "{tally:?}");
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
    tally.recursive += u64::from(model::is_recursive(written));
    tally.changed += u64::from(read != written);
    let (read_schema, written_schema) = (Arc::new(read_schema), Arc::new(written_schema));
    // Types are that much larger where values are looked at that those have an end.
    let recursive = model::is_recursive(written);
    let (read, written) = (&model::unrolled(read, 4), &model::unrolled(written, 2));
    if model::count(read).max(model::count(written)) > 2_000 {
        return;
    }
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
        tally.recursive_decoded += u64::from(recursive);
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
