//! Changes as developers make them, one by one: what comes of them, and what stands in the way.
use wire::qos::TypeConsistency;
use xtypes::{Obstacle, Rules, assignable};

use crate::library;

/// What stands in the way of reading what is written as one type as the other, in XCDR version 2; empty if nothing does.
fn obstacle(written: &str, read: &str, change: impl Fn(&mut TypeConsistency)) -> String {
    let schemas = [read, written].map(|text| dynamic::idl::parse(text).unwrap());
    let last = |schema: &dynamic::Schema| schema.iter().next_back().unwrap().0;
    let (library, types) = library(&[(&schemas[0], last(&schemas[0])), (&schemas[1], last(&schemas[1]))]);
    let mut consistency = TypeConsistency::default();
    change(&mut consistency);
    let rules = Rules { consistency, delimited: true };
    match assignable(&library, &types[0][1], &types[1][1], &rules) {
        Ok(()) => String::new(),
        Err(Obstacle::Difference(difference)) => difference.to_string(),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn the_member_that_stands_in_the_way_is_named() {
    let cases = [
        ("struct A { long x; };", "struct A { float x; };", "x: written as int32, read as float"),
        (
            "struct P { double x; double y; }; struct A { string name; P at[2]; };",
            "struct P { double x; float y; }; struct A { string name; P at[2]; };",
            "at[].y: written as double, read as float",
        ),
        (
            "@final struct A { long x; };",
            "@final struct A { long x; long y; };",
            "y: written as no member, read as a member of a final type",
        ),
        (
            "struct A { @key long x; long y; };",
            "struct A { long x; long y; };",
            "x: written as @key, read as no part of the key",
        ),
        ("@final struct A { long x; };", "struct A { long x; };", "written as @final, read as @appendable"),
        (
            "struct A { long x; float y; };",
            "struct A { float y; long x; };",
            "written as x with the id 0, read as y with the id 0",
        ),
        (
            "enum Color { RED, GREEN }; struct A { Color c; };",
            "enum Color { GREEN, RED }; struct A { Color c; };",
            "c: written as RED = 0, read as GREEN = 0",
        ),
        (
            "struct A { sequence<long> s; };",
            "struct A { sequence<string> s; };",
            "s[]: written as int32, read as string",
        ),
        (
            "struct A { long x; @must_understand long y; };",
            "struct A { long x; };",
            "y: written as a member with @must_understand, read as no member",
        ),
        (
            "union U switch (long) { case 1: long a; case 2: float b; }; struct A { U u; };",
            "union U switch (long) { case 1: long a; case 2: double b; }; struct A { U u; };",
            "u.b: written as float, read as double",
        ),
        (
            "struct A { long x; };",
            "struct A { @optional long x; };",
            "x: written as always there, read as @optional",
        ),
        ("struct A { long x[3]; };", "struct A { long x[4]; };", "x: written as int32[3], read as int32[4]"),
        ("struct A { octet x; };", "struct A { uint8 x; };", "x: written as octet, read as uint8"),
        (
            "struct L; @final struct L { long x; sequence<L> more; };",
            "struct L; @final struct L { float x; sequence<L> more; };",
            "x: written as int32, read as float",
        ),
        (
            "struct L; struct L { long x; sequence<L> more; };",
            "struct L; struct L { long x; sequence<L> more; long y; };",
            "",
        ),
        (
            "struct A; struct B { sequence<A> back; long x; }; struct A { @optional B b; long y; };",
            "struct A; struct B { sequence<A> back; string x; }; struct A { @optional B b; long y; };",
            "back[].b.x: written as int32, read as string",
        ),
        (
            "bitset B { bitfield<3> a; bitfield<5> b; }; struct A { B b; };",
            "bitset B { bitfield<3> a; bitfield<4> b; }; struct A { B b; };",
            "b.b: written as b (bits 3 to 7), read as b (bits 3 to 6)",
        ),
        (
            "bitset B { bitfield<3> a; bitfield<5> b; }; struct A { B b; };",
            "struct A { uint8 b; };",
            "b: written as a bitset of 2 fields, read as uint8",
        ),
    ];
    for (written, read, expected) in cases {
        assert_eq!(obstacle(written, read, |_| {}), expected, "{written} {read}");
    }
}

#[test]
fn what_may_change_may() {
    for (written, read) in [
        ("struct A { long x; };", "struct A { long x; long y; };"),
        ("struct A { long x; long y; };", "struct A { long x; };"),
        ("@mutable struct A { long x; float y; };", "@mutable struct A { @id(1) float y; @id(0) long x; };"),
        ("@mutable struct A { long x; float y; };", "@mutable struct A { @id(1) float y; };"),
        ("struct A { string<10> x; };", "struct A { string<5> x; };"),
        ("struct A { sequence<long, 10> x; };", "struct A { sequence<long> x; };"),
        ("@appendable enum C { R, G }; struct A { C c; };", "@appendable enum C { R }; struct A { C c; };"),
        ("struct A { long x; };", "typedef long Number; struct A { Number x; };"),
        ("struct A { long x; };", "struct B { long x; };"),
        ("@final struct A { long x; };", "@final struct B { long x; };"),
        (
            "@final struct P { long x; }; struct A { sequence<P> s; };",
            "@final struct Q { long x; }; struct A { sequence<Q> s; };",
        ),
        ("bitmask M { A, B }; struct A { M m; };", "struct A { unsigned long m; };"),
        (
            "union U switch (long) { case 1: long a; case 2: float b; }; struct A { U u; };",
            "union U switch (long) { case 1: long a; }; struct A { U u; };",
        ),
        ("struct B { long x; }; struct A : B { long y; };", "struct A { long x; long y; };"),
    ] {
        assert_eq!(obstacle(written, read, |_| {}), "", "{written} {read}");
    }
}

#[test]
fn each_field_of_the_policy_counts() {
    let strings = ("struct A { string<10> x; };", "struct A { string<5> x; };");
    let sequences = ("struct A { sequence<long> x; };", "struct A { sequence<long, 5> x; };");
    let names = ("struct A { long x; };", "struct A { long y; };");
    let wider = ("struct A { long x; };", "struct A { long x; long y; };");
    let strict = |(written, read), change: fn(&mut TypeConsistency)| obstacle(written, read, change);
    assert_eq!(
        strict(strings, |policy| policy.ignore_string_bounds = false),
        "x: written as string<10>, read as string<5>"
    );
    assert_eq!(
        strict(sequences, |policy| policy.ignore_sequence_bounds = false),
        "x: written as sequence<int32>, read as sequence<int32, 5>"
    );
    assert_eq!(strict(names, |_| {}), "written as x with the id 0, read as y with the id 0");
    assert_eq!(strict(names, |policy| policy.ignore_member_names = true), "");
    assert_eq!(
        strict(wider, |policy| policy.prevent_type_widening = true),
        "y: written as no member, read as a member that must be there"
    );
    assert_eq!(
        strict(wider, |policy| policy.allow_type_coercion = false),
        "written as another type, read as the very same, as DISALLOW_TYPE_COERCION asks for"
    );
    assert_eq!(
        strict(("struct A { long x; };", "struct A { long x; };"), |policy| {
            policy.allow_type_coercion = false;
        }),
        ""
    );
}

#[test]
fn a_type_object_that_is_missing_is_named() {
    let schema = dynamic::idl::parse("struct P { long x; }; struct A { P p; };").unwrap();
    let (index, _) = schema.iter().next_back().unwrap();
    let (library, types) = library(&[(&schema, index)]);
    let mut less = xtypes::Library::default();
    let whole = xtypes::ObjectId::of(&types[0][0]).unwrap();
    less.add(whole, library.get(&whole).unwrap());
    let other = dynamic::idl::parse("struct P { long y; }; struct A { P p; };").unwrap();
    let (index, _) = other.iter().next_back().unwrap();
    let (others, other_types) = crate::library(&[(&other, index)]);
    for id in others.ids() {
        less.add(id, others.get(&id).unwrap());
    }
    let rules = Rules { consistency: TypeConsistency::default(), delimited: true };
    let said = assignable(&less, &other_types[0][0], &types[0][0], &rules);
    assert!(
        matches!(said, Err(Obstacle::Missing(id)) if id != whole && others.get(&id).is_none()),
        "{said:?}"
    );
}
