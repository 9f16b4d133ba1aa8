//! Constants and their expressions, and bitsets.
use std::sync::Arc;

use dynamic::idl::{self, ConstantValue, Declared};
use dynamic::{Definition, Primitive, Sample};

/// The value of the last constant.
fn constant(text: &str) -> ConstantValue {
    let whole = format!("{text}; struct A {{ long x; }};");
    let parsed = idl::parse_with(&whole, &mut |_| Err(String::new()))
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    let found = parsed.items.into_iter().rev().find_map(|item| match item.what {
        Declared::Constant(constant) => Some(constant.value),
        Declared::Type(_) => None,
    });
    found.unwrap()
}

#[test]
fn operators_bind_as_in_idl() {
    for (text, value) in [
        ("const long X = 1 + 2 * 3 - 8 / 4 % 3", 5),
        ("const long X = 1 | 6 & 3 ^ 1 << 1 + 1", 1 | ((6 & 3) ^ (1 << (1 + 1)))),
        ("const long X = -(2 + 3) * +4 >> 1", -10),
        ("const octet X = ~0x0f", 0xf0),
        ("const unsigned long long X = ~0", u64::MAX.into()),
        ("const long long X = ~0", -1),
        ("const unsigned long long X = 18446744073709551615", u64::MAX.into()),
        ("const long long X = -9223372036854775808", i64::MIN.into()),
        ("const long N = 3; const short X = 010 * N", 24),
        ("const char X = '\\x41'", 65),
        ("const boolean X = TRUE", 1),
        ("module m { enum E { A = 4, B }; const E X = B; }", 5),
    ] {
        assert_eq!(constant(text), ConstantValue::Integer(value), "{text}");
    }
    assert_eq!(constant("const double X = 1 / 4.0 + .5e1"), ConstantValue::Fraction(5.25));
    assert_eq!(constant("const float X = -2"), ConstantValue::Fraction(-2.0));
    assert_eq!(constant("const string X = \"a\\\"\" \"b\\n\""), ConstantValue::Text("a\"b\n".to_owned()));
}

#[test]
fn values_that_a_constant_cannot_have() {
    for (text, told) in [
        (
            "const octet X = 256",
            "line 1, column 17: 256 does not fit into the type of the constant, which goes from 0 to 255",
        ),
        ("const unsigned long X = -1", "line 1, column 25: -1 does not fit"),
        (
            "const short X = 1 / 0",
            "line 1, column 19: the number is too large for 64 bits, or divided by zero",
        ),
        ("const long X = 1 << 64", "line 1, column 18: the number is too large"),
        ("const long X = 18446744073709551615 * 2", "line 1, column 37: the number is too large"),
        ("const long X = 2.5", "line 1, column 16: expected an integer"),
        ("const long X = 5 % 2.0", "line 1, column 18: this operator is for integers"),
        ("const float X = 1e39", "line 1, column 17: "),
        ("const double X = 1e999", "line 1, column 18: 1e999 is no number"),
        ("const string<2> X = \"abc\"", "line 1, column 21: the text is longer than its type allows"),
        ("enum E { A }; const E X = 3", "line 1, column 27: expected a literal of E"),
        ("const long X = -\"a\"", "line 1, column 17: - goes before a number"),
        ("const long X = Y", "line 1, column 16: Y is no constant that is known here"),
    ] {
        let said = super::said(&format!("{text}; struct Z {{ long z; }};"));
        assert!(said.starts_with(told), "{text}: {said}");
    }
}

#[test]
fn angle_brackets_end_at_the_first_sign_unless_parentheses_are_around() {
    let (schema, _) =
        super::last("struct A { sequence<sequence<long, 4>> x; sequence<long, (16 >> 2)> y; };");
    assert!(schema.find("A").is_some());
}

#[test]
fn bitsets_are_integers_with_fields() {
    let text = "bitset A { bitfield<3> a; bitfield<1> b; bitfield<2>; bitfield<4, short> c; };
        bitset B : A { bitfield<20, uint32> d, e; }; struct S { B bits; };";
    let (schema, index) = super::last(text);
    let Some(Definition::Bitset(of)) = schema.find("B").and_then(|index| schema.get(index)) else { panic!() };
    assert_eq!(of.bits, 64);
    let fields: Vec<_> = of.fields.iter().map(|field| (field.position, field.width, field.ty)).collect();
    assert_eq!(
        fields,
        [
            (0, 3, Primitive::U8),
            (3, 1, Primitive::Boolean),
            (6, 4, Primitive::I16),
            (10, 20, Primitive::U32),
            (30, 20, Primitive::U32)
        ]
    );
    let read = |text: &str| Sample::read(&schema, index, text).map(|sample| sample.to_string());
    let whole = r#"{"bits": {"a": 7, "b": true, "c": -8, "d": 1048575, "e": 1}}"#;
    assert_eq!(read("{bits: {a: 7, b: true, c: -8, d: 1048575, e: 1}}").unwrap(), whole);
    assert_eq!(read(whole).unwrap(), whole);
    // Bits that are in no field are shown with all others.
    assert_eq!(read("{bits: 16}").unwrap(), r#"{"bits": 16}"#);
    let told = |text: &str| read(text).unwrap_err().to_string();
    assert!(told("{bits: {a: 8}}").contains("a has 3 bits, which are too few for this"));
    assert!(told("{bits: {z: 8}}").contains("B has no field \"z\"; it has a, b, c, d, e"));
    let sample = Sample::read(&Arc::clone(&schema), index, "{bits: {c: 1}}").unwrap();
    let mut bytes = Vec::new();
    sample.encode(wire::cdr::Encoding::XCDR2, &mut bytes).unwrap();
    assert_eq!(bytes.get(bytes.len() - 8..), Some(&64_u64.to_le_bytes()[..]));
    for (text, told) in [
        ("bitset A { bitfield<65> a; };", "a bitfield has 1 to 64 bits"),
        ("bitset A { bitfield<40> a; bitfield<25> b; };", "a bitset has at most 64 bits"),
        ("bitset A { bitfield<9, octet> a; };", "the type of the bitfield has 8 bits, and 9 are asked for"),
        ("bitset A { bitfield<4, float> a; };", "the type of a bitfield is boolean or an integer"),
        ("struct B { long x; }; bitset A : B { };", "the base of a bitset is a bitset"),
        ("bitset A { };", "a bitset has a bitfield"),
        ("bitset A { long a; };", "expected bitfield<bits> name"),
        ("bitset A { bitfield<2> a; bitfield<2> a; };", "a is there already"),
    ] {
        let said = super::said(text);
        assert!(said.contains(told), "{text}: {said}");
    }
}
