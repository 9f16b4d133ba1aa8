//! Samples as text for people: what is written is read as the same, whatever the type and the value.
use std::sync::Arc;

use dynamic::{Definition, Primitive, Sample, Schema, Type, TypeIndex, idl};
use testkit::random::Random;
use wire::cdr::Encoding;

use super::last;

fn lines(idl: &str, text: &str) -> String {
    let (schema, index) = last(idl);
    Sample::read(&schema, index, text).unwrap().lines().to_string()
}

#[test]
fn a_member_is_a_line() {
    let idl = "
        enum Gear { REVERSE, FIRST }; bitmask Flags { A, B }; bitset Bits { bitfield<3> low; bitfield<2> high; };
        struct Point { float x; float y; };
        union Choice switch (Gear) { case FIRST: Point point; default: string text; };
        struct All {
            string name; @optional long none; Point at; sequence<Point> path; sequence<octet> bytes; long grid[2][2]; Point corners[1][2];
            map<Gear, Point> points; map<string, long> empty; Choice choice; Gear gear; Flags flags; Bits bits; sequence<sequence<long>> deep;
        };";
    let text = lines(
        idl,
        "name: \"a\\nb\", at: {x: 1}, path: [{x: 2}, {}], bytes: [1, 2], grid: [[1, 2], [3, 4]], corners: [[{}, {y: 1}]],
         points: {FIRST: {x: 3}}, choice: {point: {}}, gear: FIRST, flags: [A, B], bits: {high: 1}, deep: [[1], []]",
    );
    let expected = r#"name: "a\nb"
at: {
  x: 1.0
  y: 0.0
}
path: [
  {
    x: 2.0
    y: 0.0
  }
  {
    x: 0.0
    y: 0.0
  }
]
bytes: [1, 2]
grid: [[1, 2], [3, 4]]
corners: [
  [
    {
      x: 0.0
      y: 0.0
    }
    {
      x: 0.0
      y: 1.0
    }
  ]
]
points: {
  "\"FIRST\"": {
    x: 3.0
    y: 0.0
  }
}
empty: {}
choice: {
  _d: "FIRST"
  point: {
    x: 0.0
    y: 0.0
  }
}
gear: "FIRST"
flags: ["A", "B"]
bits: {"low": 0, "high": 1}
deep: [[1], []]"#;
    assert_eq!(text, expected);
    assert_eq!(lines("struct S { @optional long x; };", ""), "{}");
    assert_eq!(lines("union U switch (long) { case 1: long x; };", "{x: 5}"), "{\n  _d: 1\n  x: 5\n}");
}

#[test]
fn what_is_written_is_read_as_the_same() {
    let (mut several, mut halves) = (0, 0);
    for seed in tiers::current().seeds("dynamic.texts") {
        let mut random = Random::new(seed);
        let mut idl = String::new();
        let depth = 1 + random.below_u64(3) as usize;
        structure(&mut random, &mut idl, depth);
        let schema = idl::parse(&idl).unwrap_or_else(|error| panic!("seed {seed}: {error}: {idl}"));
        let (index, _) = schema.iter().next_back().unwrap();
        let schema = Arc::new(schema);
        for _ in 0..4 {
            let mut json = String::new();
            value(&mut random, &schema, &Type::Named(index), &mut json);
            let sample = Sample::read(&schema, index, &json)
                .unwrap_or_else(|error| panic!("seed {seed}: {error}: {json}\n{idl}"));
            let text = sample.lines().to_string();
            same(&schema, index, &sample, &text, seed);
            same(&schema, index, &sample, &sample.to_string(), seed);
            for line in text.lines() {
                assert!(!line.starts_with('#') && !line.starts_with("---"), "seed {seed}: {text}");
                assert!(!line.chars().any(char::is_control), "seed {seed}: {text}");
            }
            several += u32::from(text.contains("\n  "));
            halves += u32::from(text.contains("\\ud8"));
        }
    }
    assert!(several > 50 && halves > 10, "{several} have blocks, {halves} have halves of pairs");
}

/// Bytes are compared, because a number that is none does not equal itself.
fn same(schema: &Arc<Schema>, index: TypeIndex, sample: &Sample, text: &str, seed: u64) {
    let again =
        Sample::read(schema, index, text).unwrap_or_else(|error| panic!("seed {seed}: {error}:\n{text}"));
    let bytes = |sample: &Sample| {
        let mut bytes = Vec::new();
        sample.encode(Encoding::XCDR2, &mut bytes).unwrap();
        bytes
    };
    assert_eq!(bytes(&again), bytes(sample), "seed {seed}:\n{text}");
}

fn pick<T: Clone>(random: &mut Random, items: &[T]) -> T {
    random.pick(items).unwrap().clone()
}

const PRIMITIVES: [&str; 15] = [
    "boolean",
    "octet",
    "uint8",
    "int8",
    "short",
    "unsigned short",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "float",
    "double",
    "char",
    "wchar",
    "string",
];

/// A type with a name, which is written before what uses it.
fn named(random: &mut Random, idl: &mut String, depth: usize) -> String {
    let name = format!("T{}", idl.matches("};").count());
    match random.below_u64(if depth == 0 { 3 } else { 5 }) {
        0 => idl.push_str(&format!("enum {name} {{ {name}_A, @value(5) {name}_null, {name}_B }};\n")),
        1 => idl.push_str(&format!("bitmask {name} {{ A, @position(5) B }};\n")),
        2 => idl.push_str(&format!(
            "bitset {name} {{ bitfield<3> a; bitfield<1, boolean> b; bitfield<7, short> c; }};\n"
        )),
        3 => {
            let (one, other) = (ty(random, idl, depth - 1), ty(random, idl, depth - 1));
            let name = format!("T{}", idl.matches("};").count());
            idl.push_str(&format!(
                "union {name} switch (long) {{ case 1: {one} one; case 2: case 3: {other} other; }};\n"
            ));
            return name;
        }
        _ => return structure(random, idl, depth - 1),
    }
    name
}

fn structure(random: &mut Random, idl: &mut String, depth: usize) -> String {
    let mut members = String::new();
    for at in 0..1 + random.below_u64(4) {
        let optional = if random.below_u64(3) == 0 { "@optional " } else { "" };
        let ty = ty(random, idl, depth);
        let array = if random.below_u64(5) == 0 { "[2][2]" } else { "" };
        members.push_str(&format!("{optional}{ty} m{at}{array}; "));
    }
    let name = format!("T{}", idl.matches("};").count());
    idl.push_str(&format!("struct {name} {{ {members}}};\n"));
    name
}

fn ty(random: &mut Random, idl: &mut String, depth: usize) -> String {
    match random.below_u64(10) {
        0..=3 => (pick(random, &PRIMITIVES)).to_owned(),
        4 => "wstring".to_owned(),
        5 if depth > 0 => format!("sequence<{}, 5>", ty(random, idl, depth - 1)),
        6 if depth > 0 => {
            let key = pick(
                random,
                &["long", "string", "wstring", "char", "wchar", "boolean", "unsigned long long"],
            );
            format!("map<{key}, {}>", ty(random, idl, depth - 1))
        }
        _ => named(random, idl, depth),
    }
}

/// Characters that are hard to write, each as JSON has it.
const HARD: [&str; 14] = [
    "a",
    "\\\"",
    "\\\\",
    "\\n",
    " ",
    ":",
    ",",
    "}",
    "]",
    "#",
    "\\u001b",
    "\\u202e",
    "\u{20ac}",
    "\\ud83d\\ude00",
];

fn text(random: &mut Random, wide: bool, out: &mut String) {
    out.push('"');
    for _ in 0..random.below_u64(5) {
        out.push_str(pick(random, &HARD));
        if wide && random.below_u64(6) == 0 {
            // Half of a pair, followed by no other half.
            out.push_str("\\ud800.");
        }
    }
    out.push('"');
}

fn list(random: &mut Random, count: u64, out: &mut String, mut item: impl FnMut(&mut Random, &mut String)) {
    out.push('[');
    for at in 0..count {
        out.push_str(if at > 0 { ", " } else { "" });
        item(random, out);
    }
    out.push(']');
}

/// A value as JSON.
fn value(random: &mut Random, schema: &Schema, ty: &Type, out: &mut String) {
    match ty {
        Type::Primitive(kind) => primitive(random, *kind, out),
        Type::Text(_) => text(random, false, out),
        Type::WideText(_) => text(random, true, out),
        Type::Sequence(element, _) => {
            let count = random.below_u64(4);
            list(random, count, out, |random, out| value(random, schema, element, out));
        }
        Type::Array(element, _) => {
            list(random, 2, out, |random, out| {
                list(random, 2, out, |random, out| value(random, schema, element, out));
            });
        }
        Type::Map(key, of, _) => {
            out.push('{');
            for at in 0..random.below_u64(3) {
                out.push_str(if at > 0 { ", " } else { "" });
                let mut name = String::new();
                value(random, schema, key, &mut name);
                if !matches!(**key, Type::Text(_) | Type::WideText(_)) {
                    name = format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
                }
                out.push_str(&name);
                out.push_str(": ");
                value(random, schema, of, out);
            }
            out.push('}');
        }
        Type::Named(index) => match schema.get(*index).unwrap() {
            Definition::Struct(of) => {
                out.push('{');
                for member in of.members.iter() {
                    if member.optional && random.below_u64(2) == 0 {
                        continue;
                    }
                    out.push_str(&format!("\"{}\": ", member.name));
                    value(random, schema, &member.ty, out);
                    out.push_str(", ");
                }
                out.push('}');
            }
            Definition::Union(of) => match pick(random, &[1, 2, 3, 7]) {
                7 => out.push_str("{\"_d\": 7}"),
                label => {
                    let case = of.cases.iter().find(|case| case.labels.contains(&label)).unwrap();
                    out.push_str(&format!("{{\"_d\": {label}, \"{}\": ", case.name));
                    value(random, schema, &case.ty, out);
                    out.push('}');
                }
            },
            Definition::Enumeration(of) => {
                let (name, _) = pick(random, &of.literals);
                out.push_str(pick(random, &[name.as_str(), "77"]));
            }
            Definition::Bitmask(_) => out.push_str(pick(random, &["[]", "[\"B\", \"A\"]", "255"])),
            Definition::Bitset(_) => {
                out.push_str(pick(random, &["{\"a\": 5, \"b\": true, \"c\": -64}", "{}", "63488"]));
            }
            Definition::Alias(_) => panic!("types are plain"),
        },
    }
}

fn primitive(random: &mut Random, kind: Primitive, out: &mut String) {
    let bits = random.bits();
    let hex = |most: u64| format!("{}", bits % most);
    out.push_str(&match kind {
        Primitive::Boolean => (bits & 1 == 1).to_string(),
        Primitive::U8 | Primitive::Octet => hex(256),
        Primitive::I8 => (bits as i8).to_string(),
        Primitive::U16 => hex(65_536),
        Primitive::I16 => (bits as i16).to_string(),
        Primitive::U32 => (bits as u32).to_string(),
        Primitive::I32 => (bits as i32).to_string(),
        Primitive::U64 => bits.to_string(),
        Primitive::I64 => (bits as i64).to_string(),
        Primitive::F32 => match f32::from_bits(bits as u32) {
            of if of.is_nan() => "NaN".to_owned(),
            of => format!("{of:e}"),
        },
        Primitive::F64 => match f64::from_bits(bits) {
            of if of.is_nan() => "NaN".to_owned(),
            of => format!("{of:e}"),
        },
        Primitive::Char => {
            (pick(random, &["\"7\"", "200", "\"\\\"\"", "\"\\n\"", "\" \"", "\":\""])).to_owned()
        }
        Primitive::WideChar => (pick(
            random,
            &["\"\\ud800\"", "\"\\udc12\"", "\"7\"", "\"\\u0000\"", "\"\\\\\"", "\"\u{20ac}\""],
        ))
        .to_owned(),
    });
}
