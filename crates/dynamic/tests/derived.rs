//! A type that is described in IDL and the same type derived give the same bytes, keys and sizes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use dcps::{CdrTypeSupport, TypeSupport};
use derive::DdsType;
use dynamic::{DynamicTypeSupport, Sample, Schema, TypeIndex, idl};
use testkit::types::{ENCODINGS, Flags, Gear};
use wire::cdr::{BoundedString, BoundedVec, Char8, Char16, DdsType, Encoding, Representation, WString};

macro_rules! rich {
    ($module:ident) => {
        mod $module {
            use testkit::types::$module::{Choice, Rich, Small};

            use super::*;

            pub(super) fn rich() -> Rich {
                let small = |x: i64| Small { x, y: (x > 0).then_some(7) };
                Rich {
                    name: "left \"wheel\"\n".to_owned(),
                    bytes: vec![0, 1, 255],
                    words: vec![1, u32::MAX],
                    longs: vec![u64::MAX, 2],
                    names: vec![String::new(), "b".to_owned()],
                    smalls: vec![small(1), small(-2)],
                    choices: vec![
                        Choice::One(9),
                        Choice::Small(small(3)),
                        Choice::Other(BoundedVec::try_from(vec![0.5, -1e300]).unwrap()),
                    ],
                    map: [(3, "c".to_owned()), (1, "a".to_owned())].into(),
                    wide: WString::from("wide \u{1f600}"),
                    wider: WString::from("wider"),
                    deep: vec![vec![], vec![-1, 1]],
                    double: 21.5,
                    numbers: [1, 2, 3],
                    matrix: [[1, 2], [3, 4], [5, -6]],
                    smaller: [small(4), small(0)],
                    gear: Gear::Reverse,
                    gears: vec![Gear::First, Gear::Neutral],
                    flags: Flags(0b101),
                    letter: Char8(b'x'),
                    sign: Char16(0x20ac),
                    yes: true,
                    single: 0.1,
                    perhaps: Some(0.25),
                    large: u64::MAX,
                    tiny: -128,
                    doubles: vec![f64::MIN_POSITIVE],
                    far: 4,
                    maybe: Some(small(5)),
                    choice: Choice::Small(small(6)),
                    never: None,
                }
            }
        }
    };
}

rich!(finals);
rich!(appendables);
rich!(mutables);

fn schema(extensibility: &str) -> (Arc<Schema>, TypeIndex) {
    let text = format!(
        "module test {{
            @bit_bound(16) enum Gear {{ Reverse = -1, Neutral, First }};
            @bit_bound(12) bitmask Flags {{ A, B, C }};
            @{extensibility} struct Small {{ @key int64 x; @optional uint8 y; }};
            @{extensibility} union Choice switch (uint8) {{
                case 1: uint16 One;
                case 2: case 3: Small small;
                default: sequence<double, 4> Other;
            }};
            typedef sequence<short> Row;
            @{extensibility} struct Rich {{
                @id(7) @key string name;
                sequence<octet> bytes;
                sequence<unsigned long> words;
                sequence<unsigned long long> longs;
                sequence<string> names;
                sequence<Small> smalls;
                sequence<Choice> choices;
                map<uint16, string> map;
                wstring wide;
                wstring wider;
                sequence<Row> deep;
                @hashid double double_;
                @id(3) @key unsigned short numbers[3];
                @id(20) long matrix[3][2];
                Small smaller[2];
                Gear gear;
                sequence<Gear> gears;
                Flags flags;
                char letter;
                wchar sign;
                boolean yes;
                float single;
                @optional float perhaps;
                unsigned long long large;
                int8 tiny;
                sequence<double> doubles;
                @id(0x4000) uint32 far;
                @optional Small maybe;
                Choice choice;
                @optional string never;
            }};
        }};"
    )
    // The names of keywords are not those of members in IDL; the id is made of the name.
    .replace("@hashid double double_", "@hashid(\"double\") double double_");
    let schema = Arc::new(idl::parse(&text).unwrap());
    let index = schema.find("test::Rich").unwrap();
    (schema, index)
}

/// The same in all encodings: bytes there and back, also by way of text; keys; hashes.
fn same<T: DdsType + PartialEq + std::fmt::Debug>(extensibility: &str, value: &T) {
    let (schema, index) = schema(extensibility);
    for encoding in ENCODINGS {
        let mut derived = Vec::new();
        value.encode_payload(encoding, &mut derived).unwrap();
        let sample = Sample::decode(&schema, index, &derived, false)
            .unwrap_or_else(|error| panic!("{extensibility} {encoding:?}: {error}"));
        let mut bytes = Vec::new();
        sample.encode(encoding, &mut bytes).unwrap();
        assert_eq!(bytes, derived, "{extensibility} {encoding:?}");

        let text = sample.to_string();
        let read = Sample::read(&schema, index, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(read, sample, "{text}");

        let mut key_payload = Vec::new();
        value.encode_key_payload(encoding, &mut key_payload).unwrap();
        let key = Sample::decode(&schema, index, &key_payload, true).unwrap();
        assert_eq!(key.to_string(), r#"{"name": "left \"wheel\"\n", "numbers": [1, 2, 3]}"#);
        let (mut derived, mut described) =
            (CdrTypeSupport::<T>::new(), DynamicTypeSupport::new(Arc::clone(&schema), index));
        let (mut one, mut other) = (Vec::new(), Vec::new());
        derived.key(&bytes, false, &mut one).unwrap();
        described.key(&bytes, false, &mut other).unwrap();
        assert_eq!(one, other);
        described.key(&key_payload, true, &mut other).unwrap();
        assert_eq!([one.as_slice(), &one].concat(), other);
        let representation = encoding.representation;
        assert_eq!(
            derived.key_hash(&one, representation).unwrap(),
            described.key_hash(&one, representation).unwrap()
        );
        let (mut first, mut second) = (Vec::new(), Vec::new());
        derived.key_payload(&one, representation, &mut first).unwrap();
        described.key_payload(&one, representation, &mut second).unwrap();
        assert_eq!(first, second);
    }
}

#[test]
fn final_types() {
    same("final", &finals::rich());
}

#[test]
fn appendable_types() {
    same("appendable", &appendables::rich());
}

#[test]
fn mutable_types() {
    same("mutable", &mutables::rich());
}

#[test]
fn short_keys_are_their_own_hash() {
    #[derive(DdsType)]
    struct Reading {
        #[dds(key)]
        sensor: u32,
        #[dds(key)]
        place: BoundedString<6>,
        celsius: f64,
    }
    let schema = Arc::new(
        idl::parse("struct Reading { @key uint32 sensor; @key string<6> place; double celsius; };").unwrap(),
    );
    let index = schema.find("Reading").unwrap();
    let value =
        Reading { sensor: 7, place: BoundedString::try_from("left".to_owned()).unwrap(), celsius: 1.0 };
    let mut payload = Vec::new();
    value.encode_payload(Encoding::XCDR1, &mut payload).unwrap();
    let mut described = DynamicTypeSupport::new(schema, index);
    let mut key = Vec::new();
    described.key(&payload, false, &mut key).unwrap();
    for representation in [Representation::Xcdr1, Representation::Xcdr2] {
        let hash = value.key_hash(representation, &mut Vec::new()).unwrap();
        assert_eq!(hash.0[..4], [0, 0, 0, 7]);
        assert_eq!(described.key_hash(&key, representation).unwrap(), hash);
    }
}

#[test]
fn members_that_an_older_writer_does_not_have_get_their_initial_values() {
    let parse = |text: &str| {
        let schema = Arc::new(idl::parse(text).unwrap());
        let index = schema.find("Pose").unwrap();
        (schema, index)
    };
    let old = parse("@appendable struct Pose { long x; };");
    let new = parse(
        "enum Kind { @default_literal ROUGH, FINE }; @appendable struct Pose { long x; string frame; Kind kind[2]; };",
    );
    for encoding in ENCODINGS {
        let mut payload = Vec::new();
        Sample::read(&old.0, old.1, "{x: 4}").unwrap().encode(encoding, &mut payload).unwrap();
        let sample = Sample::decode(&new.0, new.1, &payload, false).unwrap();
        assert_eq!(sample.to_string(), r#"{"x": 4, "frame": "", "kind": ["ROUGH", "ROUGH"]}"#);
        let mut newer = Vec::new();
        Sample::read(&new.0, new.1, "{x: 5, frame: map, kind: [FINE, 0]}")
            .unwrap()
            .encode(encoding, &mut newer)
            .unwrap();
        assert_eq!(Sample::decode(&old.0, old.1, &newer, false).unwrap().to_string(), r#"{"x": 5}"#);
    }
}
