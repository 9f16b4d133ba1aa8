//! IDL and values as people write them, and what is said about mistakes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod annotations;
mod generated;
mod lines;
mod numbers;

use std::sync::Arc;

use dynamic::{Definition, Sample, Schema, Type, idl};

fn said(text: &str) -> String {
    idl::parse(text).unwrap_err().to_string()
}

fn last(text: &str) -> (Arc<Schema>, dynamic::TypeIndex) {
    let schema = Arc::new(idl::parse(text).unwrap());
    let (index, _) = schema.iter().next_back().unwrap();
    (schema, index)
}

fn read(idl: &str, text: &str) -> Result<String, String> {
    let (schema, index) = last(idl);
    Sample::read(&schema, index, text).map(|sample| sample.to_string()).map_err(|error| error.to_string())
}

#[test]
fn what_idl_files_are_full_of_is_read_or_passed_over() {
    let schema = idl::parse(
        "#ifndef A\n#define A\n/* a comment */ // another\n
        @verbatim(language=\"c++\", text=\"x ( y\")
        module a { module b {
            const long SIZE = 2 + 3 * (1 << 2);
            const string NAME = \"x\";
            const double PI = 3.14;
            @annotation unit2 { string value; };
            struct Later;
            typedef sequence<Later> Laters;
            @nested struct Later { @unit(\"m\") double x; Laters more; @optional Later other; };
            typedef long Grid[SIZE][2];
            @autoid(HASH) struct Whole : Later { @default(5) @range(min=0, max=9) long y, z[3]; ::a::b::Grid grid; b::Later later; };
        }; };\n#endif\n",
    )
    .unwrap();
    let Some(Definition::Struct(whole)) = schema.find("Whole").and_then(|index| schema.get(index)) else {
        panic!()
    };
    assert_eq!(whole.name, "a::b::Whole");
    let names: Vec<&str> = whole.members.iter().map(|member| member.name.as_str()).collect();
    assert_eq!(names, ["x", "more", "other", "y", "z", "grid", "later"]);
    assert!(matches!(&whole.members[5].ty, Type::Array(_, dimensions) if *dimensions == [14, 2]));
}

#[test]
fn mistakes_in_idl_are_told_with_their_place() {
    for (text, told) in [
        ("", "line 1, column 1: there is no type in the text; write struct Name { long member; };"),
        (
            "struct A { lung x; };",
            "line 1, column 12: the type lung is not known; describe it before it is used",
        ),
        (
            "#include \"b.idl\"\nstruct A { b::C x; };",
            "line 1, column 1: #include \"b.idl\": no file can be read here; put the types into one text, those that others need first",
        ),
        ("struct A { long x }", "line 1, column 19: expected ';', found '}'"),
        (
            "struct A { long x; long x; };",
            "line 1, column 25: x is there already, or there are more than 4096 members",
        ),
        ("struct A { long x; }; struct A { long y; };", "line 1, column 30: A is described twice"),
        (
            "struct A { A a; };",
            "line 1, column 12: A is not described yet; only a sequence of it, or an @optional member, can be here",
        ),
        ("struct A { @key @optional long x; };", "line 1, column 32: a key member cannot be @optional"),
        (
            "@final @mutable struct A { long x; };",
            "line 1, column 1: a type is one of @final, @appendable and @mutable",
        ),
        (
            "struct A { @id(5) long x; @id(5) long y; };",
            "line 1, column 39: member y has the id 0x5 of x; give it another @id",
        ),
        (
            "interface A { };",
            "line 1, column 1: \"interface\" begins nothing that is read here; struct, union, enum, bitmask, bitset, typedef, const and module do",
        ),
        (
            "struct A { long double x; };",
            "line 1, column 17: long double is not read: Rust has no floating-point number of 128 bits; use double",
        ),
        ("struct A { long x[0]; };", "line 1, column 19: the size of an array is a number above 0"),
        (
            "struct A { octet x[1000000]; }; struct B { A a[1000000]; };",
            "line 1, column 55: a value of this type has more than 1048576 parts; use sequences in place of large arrays",
        ),
        (
            "union A switch (double) { case 1: long x; };",
            "line 1, column 17: a union is switched by an integer, a character, a boolean or an enumeration",
        ),
        ("struct A { string x; /* };", "line 1, column 22: the comment does not end; put */ at its end"),
        ("struct A;", "line 1, column 10: A was declared, and is never described"),
        ("struct A { @key(wrong!) long x; };", "line 1, column 22: the character '!' has no meaning here"),
        (
            "enum A { X = 5000000000 };",
            "line 1, column 14: the value 5000000000 of X does not fit into the 32 bits of A",
        ),
    ] {
        assert_eq!(said(text), told, "{text}");
    }
}

#[test]
fn nesting_has_an_end() {
    let deep = |open: &str, inner: &str, close: &str, times: usize| {
        open.repeat(times) + inner + &close.repeat(times)
    };
    assert!(
        said(&format!("struct A {{ {} x; }};", deep("sequence<", "long", ">", 100_000)))
            .contains("nested deeper")
    );
    assert!(said(&format!("const long X = {};", deep("(", "1", ")", 100_000))).contains("too deeply"));
    assert!(said(&format!("const long X = {}1;", "-".repeat(100_000))).contains("too deeply"));
    assert!(said(&deep("module a {", "", "};", 10_000)).contains("modules are nested deeper"));
    assert!(said(&format!("struct A {{ long x{}; }};", "[1]".repeat(1_000))).contains("dimensions"));
    // Other names for what others name: each is twice as large as the one before, or one deeper.
    let names = |each: &str| {
        let next = |at: usize| each.replace("OLD", &format!("T{at}")).replace("NEW", &format!("T{}", at + 1));
        (0..40).fold(String::from("typedef long T0;"), |text, at| text + &next(at)) + "struct A { T40 x; };"
    };
    assert!(said(&names("typedef map<OLD, OLD> NEW;")).contains("more than 1024 parts"));
    assert!(said(&names("typedef sequence<OLD> NEW;")).contains("nested deeper"));
    assert!(said(&"x".repeat(2 << 20)).contains("longer than"));
    let tree = "struct Tree { sequence<Tree> branches; };";
    assert!(read(tree, &deep("{branches: [", "", "]}", 100_000)).unwrap_err().contains("nested deeper"));
}

const READING: &str = "struct Reading { @key uint32 sensor; double celsius; @optional string note; };";

#[test]
fn values_are_written_as_json_or_as_people_type_them() {
    let full = r#"{"sensor": 7, "celsius": 21.5, "note": "a: \"b\""}"#;
    assert_eq!(read(READING, full).unwrap(), full);
    for text in [
        "{sensor: 7, celsius: 21.5}",
        "sensor: 7, celsius: 21.5",
        "sensor: 7\ncelsius: 21.5\n",
        " { 'celsius' : 2.15e1 , sensor : 0x7, note: null, } ",
    ] {
        assert_eq!(read(READING, text).unwrap(), r#"{"sensor": 7, "celsius": 21.5}"#, "{text}");
    }
    assert_eq!(
        read(READING, "note: two words here").unwrap(),
        r#"{"sensor": 0, "celsius": 0.0, "note": "two words here"}"#
    );
    assert_eq!(read(READING, "").unwrap(), r#"{"sensor": 0, "celsius": 0.0}"#);
    assert_eq!(read(READING, "celsius: .nan").unwrap(), r#"{"sensor": 0, "celsius": "NaN"}"#);
    assert_eq!(
        read(READING, r#"note: "\u20ac \ud83d\ude00 \u0007""#).unwrap(),
        "{\"sensor\": 0, \"celsius\": 0.0, \"note\": \"€ 😀 \\u0007\"}"
    );
    // What comes from the network does not turn a terminal's text around.
    assert_eq!(
        read("struct S { string s; };", "s: a\u{202e}b\u{1b}[2J").unwrap_err(),
        "line 1, column 8: expected a comma, found '['"
    );
    assert_eq!(
        read("struct S { string s; };", "s: 'a\u{202e}b\u{1b}[2J'").unwrap(),
        r#"{"s": "a\u202eb\u001b[2J"}"#
    );
    let union =
        "enum Kind { OFF, ON }; union U switch (Kind) { case ON: long level; default: string text; };";
    assert_eq!(read(union, "{level: 3}").unwrap(), r#"{"_d": "ON", "level": 3}"#);
    assert_eq!(read(union, "{text: x}").unwrap(), r#"{"_d": "OFF", "text": "x"}"#);
    let names = "bitmask Flags { A, @position(4) B }; struct S { Flags flags; map<long, string> names; char letter; };";
    assert_eq!(
        read(names, "{flags: [B, A], names: {4: four, \"-1\": x}, letter: 200}").unwrap(),
        r#"{"flags": ["A", "B"], "names": {"4": "four", "-1": "x"}, "letter": 200}"#
    );
}

#[test]
fn mistakes_in_values_are_told_with_their_place() {
    for (text, told) in [
        (
            "{sensor: -1}",
            "line 1, column 12: member sensor: expected a number from 0 to 4294967295, found \"-1\"",
        ),
        ("{sensr: 1}", "line 1, column 7: Reading has no member \"sensr\"; it has sensor, celsius, note"),
        ("{sensor: 1, sensor: 2}", "line 1, column 19: member sensor is given twice"),
        ("{sensor: 1", "line 1, column 11: expected '}', found the end of the text"),
        ("{sensor 1}", "line 1, column 10: Reading has no member \"sensor 1\"; it has sensor, celsius, note"),
        ("{celsius: warm}", "line 1, column 15: member celsius: expected a number, as 21.5, found \"warm\""),
        ("{sensor: 1} x", "line 1, column 13: expected the end of the text, found 'x'"),
        ("{note: \"x}", "line 1, column 11: member note: the string does not end; put \" at its end"),
    ] {
        assert_eq!(read(READING, text).unwrap_err(), told, "{text}");
    }
    for idl in ["struct S { string s; };", "struct S { wstring s; };"] {
        let error = read(idl, r#"{"s": "a\u0000b"}"#).unwrap_err();
        assert!(error.ends_with("member s: a string of DDS contains no NUL"), "{error}");
    }
    let inner = "struct In { octet x[2]; string<2> s; }; struct Out { In in; };";
    for (text, told) in [
        ("{in: {x: [1]}}", "member in.x: the array has 2 elements, and here are 1"),
        ("{in: {x: [1, 2, 3]}}", "member in.x: the array has 2 elements, and here is one more"),
        ("{in: {x: [1, 256]}}", "member in.x: expected a number from 0 to 255, found \"256\""),
        ("{in: {s: abc}}", "member in.s: 3 octets are more than the 2 of the type"),
        ("{in: 5}", "member in: expected {member: value, …} of In, found '5'"),
    ] {
        let error = read(inner, text).unwrap_err();
        assert!(error.ends_with(told), "{text}: {error}");
    }
}

#[test]
fn octets_that_do_not_fit_are_told_with_their_member() {
    let (schema, index) = last("struct In { boolean b; }; struct Out { long x; sequence<In> ins; };");
    let unreadable = |payload: &[u8]| Sample::decode(&schema, index, payload, false).unwrap_err().to_string();
    assert_eq!(unreadable(&[0, 1]), "the bytes end too early, at byte 0");
    assert_eq!(
        unreadable(&[0, 1, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 7, 0, 0]),
        "member ins.b: 7 is no boolean, at byte 9"
    );
    assert_eq!(
        unreadable(&[0, 7, 0, 0, 1, 0, 0, 0]),
        "encapsulation identifier 0x0007 does not fit the type's extensibility, at byte 0; it was written as final, or XCDR version 1: put @final before the struct"
    );
}

#[test]
fn few_octets_do_not_become_many_values() {
    // Each element may end at once, and would get an array of a million values.
    let (schema, index) =
        last("@appendable struct In { long x[100000]; }; @appendable struct Out { sequence<In> ins; };");
    let mut payload = vec![0, 9, 0, 0];
    let body = [&1000_u32.to_le_bytes()[..], &[0; 4000]].concat();
    for len in [body.len() + 4, body.len()] {
        payload.extend(u32::try_from(len).unwrap().to_le_bytes());
    }
    payload.extend(body);
    let error = Sample::decode(&schema, index, &payload, false).unwrap_err();
    assert!(
        error.to_string().starts_with("member ins: 100001 elements do not fit into the bytes"),
        "{error}"
    );
}
