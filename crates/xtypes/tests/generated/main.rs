//! What is written in Rust from IDL is the same as the types of the IDL: bytes, keys, and type objects.
//!
//! `types.rs.txt` is what was written of `everything.idl`, `corpus.rs.txt` that of other vendors' tests. With `PUNCTUAL_WRITE=1` the test writes both anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use dcps::{CdrTypeSupport, TypeSupport};
use dynamic::idl::Parsed;
use dynamic::{Definition, DynamicTypeSupport, Sample, idl, rust};
use wire::cdr::{CdrType, DdsType, Encoding, Representation};
use wire::cursor::Endianness;
use xtypes::{TypeIdentifier, describe};

/// What `dds` has.
mod dds {
    pub(crate) use derive::DdsType;
    pub(crate) use wire::cdr;
}

mod types {
    include!("types.rs.txt");
}

/// What other vendors' type objects are compared with, too.
mod corpus {
    include!("corpus.rs.txt");
}

const ENCODINGS: [Encoding; 4] = [
    Encoding { representation: Representation::Xcdr1, endianness: Endianness::Little },
    Encoding { representation: Representation::Xcdr1, endianness: Endianness::Big },
    Encoding { representation: Representation::Xcdr2, endianness: Endianness::Little },
    Encoding { representation: Representation::Xcdr2, endianness: Endianness::Big },
];

const CORPUS: &str = "../vendors/corpus.idl";

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/generated"))
}

fn parsed() -> Parsed {
    parsed_of("everything.idl")
}

fn parsed_of(file: &str) -> Parsed {
    let read = |name: &str| std::fs::read_to_string(folder().join(name)).map_err(|error| error.to_string());
    let text = read(file).unwrap();
    let parsed = idl::parse_with(&text, &mut |name| read(name)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(parsed.warnings, []);
    parsed
}

#[test]
fn what_is_written_is_what_is_tested_here() {
    for (idl, file) in [("everything.idl", "types.rs.txt"), (CORPUS, "corpus.rs.txt")] {
        let written = rust::write(&parsed_of(idl), "crate::dds").unwrap_or_else(|error| panic!("{error}"));
        let file = folder().join(file);
        if std::env::var_os("PUNCTUAL_WRITE").is_some() {
            std::fs::write(&file, &written).unwrap();
        }
        let here = std::fs::read_to_string(&file).unwrap();
        let differs = here.lines().zip(written.lines()).find(|(here, written)| here != written);
        assert!(here == written, "{file:?} is of another text; PUNCTUAL_WRITE=1 writes it anew: {differs:?}");
    }
}

/// The type objects of the text and of the type are the same; the text has none, too, where a bitset ends with bits that have no name.
fn same_objects<T: CdrType>(name: &str) {
    same_objects_in::<T>("everything.idl", name);
}

fn same_objects_in<T: CdrType>(file: &str, name: &str) {
    let Parsed { schema, .. } = parsed_of(file);
    let index = schema.find(name).unwrap_or_else(|| panic!("there is no {name}"));
    let described = describe(&schema, index);
    let (derived, index) = wire::schema::of(T::DESCRIPTION).unwrap_or_else(|| panic!("{name}"));
    assert_eq!(describe(&derived, index), described, "{name}");
}

/// A value of the IDL is read as one of the type, and written as the same bytes and key in all encodings.
fn same_bytes<T: DdsType + PartialEq + Debug>(name: &str, text: &str) {
    same_objects::<T>(name);
    let schema = Arc::new(parsed().schema);
    let index = schema.find(name).unwrap();
    let sample = Sample::read(&schema, index, text).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(T::TYPE_NAME, schema.get(index).unwrap().name());
    let mut first: Option<T> = None;
    for encoding in ENCODINGS {
        let (mut described, mut derived) = (Vec::new(), Vec::new());
        sample.encode(encoding, &mut described).unwrap();
        let value =
            T::decode_payload(&described).unwrap_or_else(|error| panic!("{name} {encoding:?}: {error}"));
        value.encode_payload(encoding, &mut derived).unwrap();
        assert_eq!(derived, described, "{name} {encoding:?}: {value:?}");
        assert_eq!(first.get_or_insert_with(|| T::decode_payload(&described).unwrap()), &value);

        let (mut one, mut other) =
            (CdrTypeSupport::<T>::new(), DynamicTypeSupport::new(Arc::clone(&schema), index));
        assert_eq!(one.has_key(), other.has_key(), "{name}");
        if one.has_key() {
            let (mut key, mut same) = (Vec::new(), Vec::new());
            one.key(&derived, false, &mut key).unwrap();
            other.key(&derived, false, &mut same).unwrap();
            assert_eq!(key, same, "{name}");
            let hash = one.key_hash(&key, encoding.representation).unwrap();
            assert_eq!(hash, other.key_hash(&key, encoding.representation).unwrap(), "{name}");
        }
    }
    // What is not sent has the same value for both.
    if let Some(Definition::Struct(_)) = schema.get(index) {
        let (mut initial, mut derived) = (Vec::new(), Vec::new());
        Sample::read(&schema, index, "{}").unwrap().encode(Encoding::XCDR1, &mut initial).unwrap();
        T::initial().encode_payload(Encoding::XCDR1, &mut derived).unwrap();
        assert_eq!(initial, derived, "{name}");
    }
}

#[test]
fn structures() {
    same_bytes::<types::base::Pose>("base::Pose", "{x: 1.5, y: -2}");
    same_bytes::<types::robot::Point>("robot::Point", "{x: 1, y: 0.25, z: -9}");
    same_bytes::<types::robot::Pose>("robot::Pose", POSE);
    same_bytes::<types::robot::Hashed>("robot::Hashed", "{id: 7, five: 5, gear: FIRST}");
    same_bytes::<types::robot::Nothing>("robot::Nothing", "{}");
    same_bytes::<types::robot::Everything>("robot::Everything", &everything());
}

#[test]
fn structures_that_contain_themselves() {
    let tree = "{id: 1, branches: [{id: 2, branches: [], other: null}], other: {id: 3, branches: [{id: 4}]}}";
    same_bytes::<types::robot::Tree>("robot::Tree", tree);
    same_bytes::<types::robot::Egg>("robot::Egg", "{hen: {eggs: [{}, {hen: {name: b}}], name: a}}");
    same_bytes::<types::Whole>("Whole", &format!("{{text: {{u8: 4}}, tree: {tree}}}"));
    same_bytes::<types::Last>("Last", "{hen: {eggs: [{hen: null}], name: x}}");
}

#[test]
fn bitsets() {
    let bits = "{status: {mode: 5, on: true, offset: -16, count: 1000000}, wider: [{mode: 1, rest: 1073741823}, {}]}";
    same_bytes::<types::robot::WithBits>("robot::WithBits", bits);
    let schema = Arc::new(parsed().schema);
    let sample = Sample::read(&schema, schema.find("robot::WithBits").unwrap(), bits).unwrap();
    let mut payload = Vec::new();
    sample.encode(Encoding::XCDR2, &mut payload).unwrap();
    let status = types::robot::WithBits::decode_payload(&payload).unwrap().status;
    assert_eq!((status.mode(), status.on(), status.offset(), status.count()), (5, true, -16, 1_000_000));
    let other = types::robot::parts::Status::default().with_mode(5).with_on(true).with_offset(-16);
    assert_eq!(other.with_count(7).with_count(1_000_000), status);
    assert!(
        sample.to_string().contains(r#"{"mode": 5, "on": true, "offset": -16, "count": 1000000}"#),
        "{sample}"
    );
}

const POSE: &str = "{x: 1, y: 2, name: arm, position: {x: 1}, before: {z: 3}, small: 8, hashed: 1, renamed: 2, cut: abc, lamp: ON}";

/// A value of everything.
fn everything() -> String {
    let matrix = format!("[{}]", ["[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]"; 3].join(", "));
    format!(
        "{{number: 9, key_light: BLINKING, b: true, o: 1, u8: 2, i8: -3, us: 4, s: -5, l: 6, u64: 18446744073709551615,
        i64: -8, f: 0.5, d: 1e300, c: x, wc: y, text: \"a b\", short_text: seven77, wide: \"w\u{20ac}\", short_wide: abc,
        bytes: [1, 2, 3], four: [4], numbers: [5, 6], raw: [7, 8, 9], words: [one, two], matrices: [{matrix}, {matrix}],
        table: {{1: [1.5], 2: []}}, hashes: {{a: {{id: 1}}, b: {{id: 2, gear: REVERSE}}}}, keys: {{{{row: 1, column: ab}}: w}},
        deep: [[1, 2], []], names: [[a], [b, c]],
        choices: [{{_d: 1, one: 5}}, {{_d: 3, places: [{{x: 1}}]}}, {{_d: 4, outside: out}}, {{_d: 77, other: [1]}}],
        note: note, by_gear: {{_d: NEUTRAL, back: b}}, partial: {{_d: BLINKING}}, lettered: {{_d: z, flags: [READY, BROKEN]}},
        yes: {{_d: false}}, yes_no: {{_d: false, no: 4}}, signed_: {{_d: -4, bytes: [255]}}, wide_one: {{_d: q}},
        flags: [BUSY], long_flags: [type], lamps: [ON, OFF], pose: {POSE},
        type: 1, self: 2, match: 3, union_: 4, value: 5}}"
    )
}

#[test]
fn unions() {
    for text in [
        "{_d: 1, one: 5}",
        "{_d: 2, places: [{x: 1}]}",
        "{_d: 3, places: []}",
        "{_d: 4, outside: out}",
        "{_d: 9, other: [1]}",
    ] {
        same_bytes::<types::robot::Choice>("robot::Choice", text);
    }
    for text in ["{_d: FIRST, first: 2}", "{_d: REVERSE, back: x}", "{_d: NEUTRAL, back: y}"] {
        same_bytes::<types::robot::ByGear>("robot::ByGear", text);
    }
    for text in ["{_d: ON, on: 4}", "{_d: OFF}", "{_d: BLINKING}"] {
        same_bytes::<types::robot::Partial>("robot::Partial", text);
    }
    for text in ["{_d: a, a: true}", "{_d: b, a: false}", "{_d: c, flags: [BUSY]}"] {
        same_bytes::<types::robot::Lettered>("robot::Lettered", text);
    }
    for text in ["{_d: true, yes: 1}", "{_d: false}"] {
        same_bytes::<types::robot::Yes>("robot::Yes", text);
    }
    same_bytes::<types::robot::YesNo>("robot::YesNo", "{_d: false, no: 1}");
    for text in ["{_d: -4, bytes: [1]}", "{_d: 5, meters: 2}", "{_d: 6}"] {
        same_bytes::<types::robot::Signed>("robot::Signed", text);
    }
    for text in ["{_d: x, x: y}", "{_d: y}"] {
        same_bytes::<types::robot::Wide>("robot::Wide", text);
    }
}

#[test]
fn constants_have_their_values() {
    use types::limits;
    assert_eq!((limits::SIZE, limits::MASK, limits::TWICE), (12, 0xf0, -3));
    assert_eq!((limits::LARGEST, limits::LEAST), (u64::MAX, i64::MIN));
    assert_eq!((limits::HALF.to_bits(), limits::SMALL.to_bits()), (2.5_f64.to_bits(), 0.0005_f32.to_bits()));
    const { assert!(limits::YES) };
    assert_eq!((limits::TAB.0, limits::EURO.0), (b'\t', 0x20ac));
    assert_eq!((limits::NAME, limits::WIDE), ("left \"wheel\" and right", "wide"));
    assert_eq!(types::base::START, types::base::Gear::NEUTRAL);
    assert_eq!(types::base::HEIGHT, types::base::Meters(2.0));
    let flags = types::robot::parts::Flags::READY | types::robot::parts::Flags::BROKEN;
    assert_eq!(flags.0, 0x804);
}

macro_rules! of_corpus {
    ($($name:ident)*) => {
        #[test]
        fn types_that_other_vendors_describe_have_the_same_type_objects() {
            $(same_objects_in::<corpus::$name>(CORPUS, stringify!($name));)*
        }
    };
}

of_corpus! {
    Single Integers Naturals Others Said Plain BoundedStrings Keyed Optionals MustUnderstand Ids HashIds Nesting Mixed Sequences
    SequencesOfText SequencesOfTypes SequencesOfSequences Arrays Enumerations Bitmasks ByNumber ByColor ByBoolean ByOctet ByChar
    Unions Derived OpenDerived Further Aliases Externals Deep HasNestedUnion
}

/// Types as IDL once more are the same types.
#[test]
fn types_are_written_as_idl_and_read_as_the_same() {
    let mut written = 0;
    for file in ["everything.idl", CORPUS] {
        let Parsed { schema, .. } = parsed_of(file);
        for (index, definition) in schema.iter() {
            let text = idl::text(&schema, index).unwrap_or_else(|| panic!("{}", definition.name()));
            let again = idl::parse_with(&text, &mut |_| Err(String::new()))
                .unwrap_or_else(|error| panic!("{error}: {text}"));
            assert_eq!(again.warnings, [], "{text}");
            let (other, found) =
                again.schema.iter().find(|(_, other)| other.name() == definition.name()).unwrap();
            assert_eq!(describe(&again.schema, other), describe(&schema, index), "{text}");
            if let (Definition::Bitset(one), Definition::Bitset(other)) = (definition, found) {
                assert_eq!(one, other);
            }
            if let (Definition::Struct(one), Definition::Struct(other)) = (definition, found) {
                assert_eq!(one.members.len(), other.members.len());
                assert_eq!(one.extensibility, other.extensibility);
                // The least size of a type in itself depends on where it is declared.
                let places = describe(&schema, index).unwrap().complete;
                let is_recursive = places.iter().any(|(ty, _)| matches!(ty, TypeIdentifier::Component(_)));
                assert!(is_recursive || one.cost == other.cost, "{text}");
            }
            written += 1;
        }
    }
    assert!(written > 80, "{written}");
}
