//! Annotations, pragmas and directives: what changes bytes or keys is honoured or refused, and what is not known is told.
use std::collections::BTreeMap;

use dynamic::{Definition, Enumeration, Schema, idl};

/// The schema, and what was remarked.
fn read(text: &str, files: &[(&str, &str)]) -> Result<(Schema, Vec<String>), String> {
    let files: BTreeMap<_, _> = files.iter().copied().collect();
    let mut include =
        |name: &str| files.get(name).map(|text| (*text).to_owned()).ok_or_else(|| "no such file".to_owned());
    let parsed = idl::parse_with(text, &mut include).map_err(|error| error.to_string())?;
    Ok((parsed.schema, parsed.warnings.iter().map(ToString::to_string).collect()))
}

fn refused(text: &str) -> String {
    read(text, &[]).map(|_| ()).unwrap_err()
}

fn warned(text: &str) -> Vec<String> {
    read(text, &[]).unwrap().1
}

fn keys(schema: &Schema, name: &str) -> Vec<String> {
    match schema.find(name).and_then(|index| schema.get(index)) {
        Some(Definition::Struct(of)) => {
            of.members.iter().filter(|member| member.key).map(|member| member.name.clone()).collect()
        }
        _ => panic!("{name} is no struct"),
    }
}

#[test]
fn literals_have_the_values_that_annotations_give() {
    let (schema, warnings) = read(
        "enum Kind { @value(3) LOW, MIDDLE, @value(-7) BELOW, @value(value=0x10) HIGH, LAST = 20 };",
        &[],
    )
    .unwrap();
    let Some((_, Definition::Enumeration(Enumeration { literals, .. }))) = schema.iter().next() else {
        panic!()
    };
    let values: Vec<i64> = literals.iter().map(|(_, value)| *value).collect();
    assert_eq!(values, [3, 4, -7, 16, 20]);
    assert!(warnings.is_empty(), "{warnings:?}");
    for (text, told) in [
        ("enum A { @value(1) X = 2 };", "X has the value 1 by @value and 2 by =; give one of them"),
        ("enum A { X = 2, @value(2) Y };", "Y has the value 2 of X; give it another one"),
        ("@bit_bound(8) enum A { X = 128 };", "the value 128 of X does not fit into the 8 bits of A"),
        ("enum A { @value(x) X };", "@value takes a number from -2147483648 to 2147483647"),
        (
            "bitmask A { @position(1) X, @position(1) Y };",
            "flag Y has the position 1 of X; give it another @position",
        ),
        ("@autoid(SEQUENCE) struct A { long x; };", "@autoid takes SEQUENTIAL or HASH"),
    ] {
        let said = refused(text);
        assert!(said.contains(told), "{text}: {said}");
    }
}

#[test]
fn annotations_that_are_not_known_are_told() {
    assert_eq!(
        warned("struct A {\n  @kee long x;\n};"),
        ["line 2, column 3: @kee is not known and passed over; is @key meant?"]
    );
    assert_eq!(
        warned("struct A { @colour(\"red\") long x; };"),
        ["line 1, column 12: @colour is not known and passed over"]
    );
    let default = "line 1, column 12: @default is passed over: a member that is left out is 0 or empty";
    assert_eq!(warned("struct A { @default(5) long x; };"), [default]);
    // What says nothing about bytes or keys, and what the text itself describes.
    for silent in [
        "@topic @nested(FALSE) struct A { @unit(\"m\") @range(min=0, max=9) @external @min(3) @max(4) long x; };",
        "@annotation colour { string name; }; struct A { @colour(\"red\") long x; };",
        "@verbatim(language=\"c++\", text=\"x\") @data_representation(XCDR2) @extensibility(FINAL) struct A { long x; };",
    ] {
        assert_eq!(warned(silent), Vec::<String>::new(), "{silent}");
    }
    for (text, told) in [
        (
            "struct A { @Key long x; };",
            "line 1, column 12: @Key is not known, and would change the key; write @key",
        ),
        (
            "struct A { @ID(5) long x; };",
            "line 1, column 12: @ID is not known, and would change the bytes; write @id",
        ),
        (
            "struct A { @non_serialized long x; };",
            "line 1, column 12: @non_serialized changes the bytes and is not read; leave the member out",
        ),
    ] {
        assert_eq!(refused(text), told);
    }
    let comment = "line 1, column 20: //@key is a comment, and changes nothing; put @key before the member";
    assert_eq!(warned("struct A { long x; //@key\n};"), [comment]);
}

#[test]
fn key_lists_of_pragmas_are_honoured() {
    let text = "module m { struct A { long x; string y; long z; };\n#pragma keylist A x z // both\n};\n#pragma prefix \"org\"\n";
    let (schema, warnings) = read(text, &[]).unwrap();
    assert_eq!(keys(&schema, "A"), ["x", "z"]);
    assert_eq!(warnings, ["line 4, column 1: #pragma prefix is passed over"]);
    let (schema, _) = read("module m { struct A { long x; }; };\n#pragma keylist m::A x\n", &[]).unwrap();
    assert_eq!(keys(&schema, "A"), ["x"]);
    let (schema, _) = read("struct A { long x; };\n#pragma keylist A\n", &[]).unwrap();
    assert_eq!(keys(&schema, "A"), Vec::<String>::new());
    for (text, told) in [
        (
            "struct A { long x; };\n#pragma keylist B x",
            "line 2, column 1: #pragma keylist: there is no struct B before it",
        ),
        (
            "struct A { long x; };\n#pragma keylist A y",
            "line 2, column 1: #pragma keylist: A has no member y; it has x",
        ),
        (
            "struct B { long i; }; struct A { B b; };\n#pragma keylist A b.i",
            "line 2, column 1: #pragma keylist: members of members are not read; put @key before b, and before i in its type",
        ),
        (
            "struct A { @optional long x; };\n#pragma keylist A x",
            "line 2, column 1: #pragma keylist: x is @optional, and cannot be a key",
        ),
        (
            "struct A { long x; }; struct B { A a; };\n#pragma keylist A x",
            "line 2, column 1: #pragma keylist: A is part of another type already; put the line behind A",
        ),
    ] {
        assert_eq!(refused(text), told, "{text}");
    }
}

#[test]
fn files_that_are_included_are_read_once_and_have_places_of_their_own() {
    let base = "#ifndef BASE\n#define BASE\nstruct Base { long x; };\n#endif\n";
    let (schema, warnings) =
        read("#include \"base.idl\"\n#include <base.idl>\nstruct A { Base b; };", &[("base.idl", base)])
            .unwrap();
    assert!(schema.find("Base").is_some() && warnings.is_empty());
    let said =
        read("#include \"base.idl\"\nstruct A { Base b; };", &[("base.idl", "struct Base {\n lung x; };")]);
    assert_eq!(
        said.unwrap_err(),
        "base.idl: line 2, column 2: the type lung is not known; describe it before it is used"
    );
    let said = read("struct A { long x; };\n#include \"b.idl\"\n", &[]).unwrap_err();
    assert_eq!(said, "line 2, column 1: #include \"b.idl\": no such file");
    // Two files that include one another, and one that includes itself.
    let round = [
        ("a.idl", "#include \"b.idl\"\nstruct A { long x; };"),
        ("b.idl", "#include \"a.idl\"\n#include \"b.idl\"\n"),
    ];
    assert!(read("#include \"a.idl\"\n", &round).unwrap().0.find("A").is_some());
}

#[test]
fn conditions_of_the_preprocessor_are_honoured() {
    let text = "#define FULL\n#ifdef FULL\nstruct A { long x; };\n#else\nstruct A { long y; ! };\n#endif\n#ifndef FULL\nstruct B {\n#endif\n";
    let (schema, _) = read(text, &[]).unwrap();
    assert_eq!(schema.iter().count(), 1);
    let (schema, _) = read("#define SIZE (2 + 3) // five\nstruct A { long x[SIZE]; };", &[]).unwrap();
    let Some((_, Definition::Struct(of))) = schema.iter().next() else { panic!() };
    assert!(matches!(&of.members[0].ty, dynamic::Type::Array(_, sizes) if *sizes == [5]));
    for (text, told) in [
        (
            "#if X > 2\nstruct A { long x; };\n#endif",
            "line 1, column 1: #if is not read; use #ifdef and #ifndef",
        ),
        ("#ifdef X\nstruct A { long x; };", "line 1, column 1: #ifdef has no #endif"),
        ("#endif\nstruct A { long x; };", "line 1, column 1: #endif without #ifdef or #ifndef"),
        (
            "#define F(x) x\nstruct A { long x; };",
            "line 1, column 1: #define F: macros with arguments are not read; write a const",
        ),
        ("#error \"no\"\nstruct A { long x; };", "line 1, column 1: #error \"no\""),
    ] {
        assert_eq!(refused(text), told, "{text}");
    }
}
