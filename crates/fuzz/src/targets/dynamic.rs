//! Types that are described at run time: IDL, samples as bytes, samples as text.
use std::sync::Arc;

use dynamic::{Definition, DynamicTypeSupport, Sample, Schema, TypeIndex, idl, rust};
use wire::cdr::{Encoding, Representation};
use wire::cursor::Endianness;

const TYPES: &str = "
    module fuzz {
        enum Gear { REVERSE = -1, @default_literal NEUTRAL, FIRST };
        @bit_bound(12) bitmask Flags { A, @position(5) B };
        @final struct Small { @key int64 x; @optional uint8 y; };
        @mutable union Choice switch (Gear) { case FIRST: short one; case REVERSE: Small small; default: sequence<double, 4> other; };
        @appendable struct Tree { @key string<12> name; sequence<Tree> branches; @optional Tree one; };
        @mutable struct Rich {
            @id(9) @key string name; @key uint16 numbers[3]; Small smalls[2][2]; sequence<Choice> choices; map<Gear, wstring> map;
            Flags flags; char letter; wchar sign; sequence<boolean> bits; sequence<octet> octets; float single; double double_;
            @optional Tree tree; sequence<sequence<uint32>, 5> deep; @must_understand uint64 large;
        };
    };
    struct Plain { boolean yes; sequence<fuzz::Gear> gears; };
";

/// The types, each with its place.
fn schema() -> Option<(Arc<Schema>, Vec<TypeIndex>)> {
    let schema = Arc::new(idl::parse(TYPES).ok()?);
    let topics = schema.iter().filter(|(_, definition)| definition.extensibility().is_some());
    let indices = topics.map(|(index, _)| index).collect();
    Some((schema, indices))
}

/// Reads any bytes as samples and keys of every type. What was read is written, in bytes and as text, and read as the same.
pub(super) fn samples() -> impl FnMut(&[u8]) {
    let schema = schema();
    move |payload| {
        let (schema, indices) =
            schema.as_ref().unwrap_or_else(|| unreachable!("the types are described well"));
        for index in indices {
            if let Ok(sample) = Sample::decode(schema, *index, payload, false) {
                same_octets(schema, *index, &sample);
                same_text(schema, *index, &sample);
                key(schema, *index, payload);
            }
            if let Ok(key) = Sample::decode(schema, *index, payload, true) {
                assert!(!key.to_string().is_empty());
            }
        }
    }
}

/// Reads any text as samples of every type. What was read is written and read as the same.
pub(super) fn texts() -> impl FnMut(&[u8]) {
    let schema = schema();
    move |bytes| {
        let (schema, indices) =
            schema.as_ref().unwrap_or_else(|| unreachable!("the types are described well"));
        let text = String::from_utf8_lossy(bytes);
        for index in indices {
            if let Ok(sample) = Sample::read(schema, *index, &text) {
                same_text(schema, *index, &sample);
                same_octets(schema, *index, &sample);
            }
        }
    }
}

/// Reads any text as IDL, and writes it in Rust.
pub fn idl_text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(parsed) = idl::parse_with(&text, &mut |_| Err(String::from("no file"))) else { return };
    let schema = &parsed.schema;
    for (index, definition) in schema.iter() {
        assert!(schema.get(index).map(Definition::name) == Some(definition.name()));
    }
    match rust::write(&parsed, "::dds") {
        Ok(written) => assert!(is_balanced(&written), "what is written ends what it begins: {written}"),
        Err(error) => assert!(!error.message.is_empty() && error.line > 0, "an error says what and where"),
    }
}

/// True if brackets of Rust text, outside of texts, are closed in their order.
fn is_balanced(text: &str) -> bool {
    let (mut open, mut letters) = (Vec::new(), text.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '"' => loop {
                match letters.next() {
                    Some('"') => break,
                    Some('\\') => drop(letters.next()),
                    Some(_) => {}
                    None => return false,
                }
            },
            '{' | '(' | '[' => open.push(letter),
            '}' | ')' | ']'
                if !matches!(
                    (open.pop(), letter),
                    (Some('{'), '}') | (Some('('), ')') | (Some('['), ']')
                ) =>
            {
                return false;
            }
            _ => {}
        }
    }
    open.is_empty()
}

/// A sample in every type's encoding, and its text.
pub(super) fn sample_seeds() -> Vec<Vec<u8>> {
    let Some((schema, indices)) = schema() else { return Vec::new() };
    let mut seeds = Vec::new();
    for text in text_seeds() {
        let text = String::from_utf8_lossy(&text).into_owned();
        for index in &indices {
            if let Ok(sample) = Sample::read(&schema, *index, &text) {
                for representation in [Representation::Xcdr1, Representation::Xcdr2] {
                    for endianness in [Endianness::Little, Endianness::Big] {
                        let mut bytes = Vec::new();
                        let written = sample.encode(Encoding { representation, endianness }, &mut bytes);
                        seeds.extend(written.ok().map(|()| bytes));
                    }
                }
            }
        }
    }
    seeds
}

/// Values as people write them.
pub(super) fn text_seeds() -> Vec<Vec<u8>> {
    [
        "{\"x\": -7, \"y\": 3}",
        "name: root, branches: [{name: left}, {name: right, one: {name: twig}}]",
        "yes: true, gears: [FIRST, REVERSE, 0]",
        "{\"_d\": \"FIRST\", \"one\": 12}",
        "{other: [0.5, .nan, -1e300, Infinity]}",
        "name: \"\\u20ac\"\nnumbers: [1, 2, 3]\nsmalls: [\n  [\n    {\n      x: 1\n    }\n    {}\n  ]\n  [{}, {}]\n]\nmap: {\n  \"\\\"FIRST\\\"\": \"\\udc00w\"\n}\nsign: \"\\udfff\"\n",
        "name: \"a\\n\\u20ac\", numbers: [1, 0x2, 3], smalls: [[{x: 1}, {}], [{y: null}, {}]], choices: [{small: {x: 4}}], map: {FIRST: w, 0: z}, flags: [A, B], letter: x, sign: \u{20ac}, bits: [true, false], octets: [0, 255], single: 0.1, tree: {name: t}, deep: [[1], []], large: 18446744073709551615",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// The types of this file, and others.
pub(super) fn idl_seeds() -> Vec<Vec<u8>> {
    [
        TYPES,
        "struct Reading { @key uint32 sensor; double celsius; };",
        "module a { const long N = (1 << 2) + 3; struct Later; typedef sequence<Later, N> Laters; struct Later { Laters more[2]; }; };",
        "bitset B { bitfield<1> x; }; module m { bitset S : ::B { bitfield<3> a; bitfield<2>; bitfield<5, short> b, c; }; const double X = -1.5e3 * (2 + 1) / 4; };",
        "const string A = \"a\\n\" \"b\"; const octet M = ~0x0f & 0xff; const wchar W = L'\\x41'; struct type { long self; @external string<3> u8[2][3]; @optional map<long, sequence<octet, 4>> match; }; @autoid(HASH) struct D : type { @try_construct(TRIM) @id(3) string<M> s; };",
        "union U switch (char) { case 'a': case 'b': long x; default: string<5> y; }; enum E { A = 3, B };",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// What is written is read as the same; bytes are compared, because a number that is none does not equal itself.
fn same_octets(schema: &Arc<Schema>, index: TypeIndex, sample: &Sample) {
    for representation in [Representation::Xcdr1, Representation::Xcdr2] {
        let encoding = Encoding { representation, endianness: Endianness::Big };
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let written = sample.encode(encoding, &mut first);
        assert!(written.is_ok(), "a sample that was read is written: {written:?}");
        let again = Sample::decode(schema, index, &first, false);
        let again = again.map(|sample| sample.encode(encoding, &mut second));
        assert!(matches!(again, Ok(Ok(()))), "a sample that is written is read: {again:?}");
        assert_eq!(first, second, "a sample that is written is read as the same");
    }
}

/// Each text of a sample, JSON or a member a line, is read as the same.
fn same_text(schema: &Arc<Schema>, index: TypeIndex, sample: &Sample) {
    let (json, lines) = (sample.to_string(), sample.lines().to_string());
    for text in [&json, &lines] {
        match Sample::read(schema, index, text) {
            Ok(again) => {
                assert_eq!(again.to_string(), json, "a text that is written is read as the same");
                assert_eq!(again.lines().to_string(), lines, "a text that is written is read as the same");
            }
            Err(error) => unreachable!("a text that is written is read: {error}: {text}"),
        }
    }
    let is_told = |line: &str| line.starts_with('#') || line.starts_with("---");
    assert!(!lines.lines().any(is_told), "lines of a sample are no lines around it: {lines}");
}

/// A sample's key is written, and read as the same.
fn key(schema: &Arc<Schema>, index: TypeIndex, payload: &[u8]) {
    use dcps::TypeSupport as _;
    let mut support = DynamicTypeSupport::new(Arc::clone(schema), index);
    if !support.has_key() {
        return;
    }
    let (mut key, mut again, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    assert!(support.key(payload, false, &mut key).is_ok(), "a sample that was read has a key");
    assert!(support.key_hash(&key, Representation::Xcdr1).is_ok());
    assert!(support.key_payload(&key, Representation::Xcdr2, &mut bytes).is_ok());
    assert!(support.key(&bytes, true, &mut again).is_ok(), "a key that is written is read");
    assert_eq!(key, again, "a key that is written is read as the same");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_good() {
        assert_eq!(sample_seeds().len(), text_seeds().len() * 4);
        let good = idl_seeds().iter().all(|text| idl::parse(&String::from_utf8_lossy(text)).is_ok());
        assert!(good && schema().is_some());
    }
}
