//! What is refused, and what is said about it.
use syn::DeriveInput;

use crate::expand;

/// The error for a type, or nothing.
fn error(source: &str) -> Option<String> {
    let input: DeriveInput = syn::parse_str(source).expect("the source is a type");
    expand(&input, quote::quote!(::wire::cdr)).err().map(|error| error.to_string())
}

#[track_caller]
fn refused(source: &str, text: &str) {
    let error = error(source).expect("the type is refused");
    assert!(error.contains(text), "{error:?} should say {text:?}");
}

#[test]
fn good_types_are_accepted() {
    for source in [
        "struct Unit;",
        "#[dds(final, name = \"a::B\", crate = \"my::dds\")] struct A { #[dds(key, id = 4)] a: u8, b: Option<u8> }",
        "#[dds(mutable, autoid = \"hash\")] struct A { #[dds(hashid)] a: u8, #[dds(hashid = \"x\")] b: u8 }",
        "struct Alias(Vec<u8>);",
        "#[dds(bitmask)] struct Mask(u64);",
        "#[dds(bit_bound = 8)] enum E { A = -128, B = 127 }",
        "#[dds(discriminator = \"bool\", key)] enum U { #[dds(case = true)] A(u8), #[dds(default = false)] B }",
        "struct A { a: (u8, (f32,)), b: std::collections::HashMap<u32, Vec<(u8, u8)>> }",
        "#[dds(base = \"super::A\", nested)] struct B { #[dds(try_construct = \"trim\")] a: u8 }",
        "#[dds(bitmask, bit_bound = 3, flag(ON = 0), flag(type = 2))] struct Mask(u8);",
        "struct Octets(#[dds(octet)] Vec<u8>);",
        "#[dds(discriminator = \"u8\")] enum U { #[dds(case = 1)] A(u8), #[dds(default = 2, no_value)] Other(u8) }",
        "struct Tree { children: Vec<Tree>, other: Option<Box<Self>> }",
    ] {
        assert_eq!(error(source), None, "{source}");
    }
}

#[test]
fn types_that_idl_does_not_have() {
    refused("struct A<T> { a: T }", "no generic parameters");
    refused("struct A(u8, u16);", "named fields");
    refused("union U { a: u8 }", "discriminator");
    refused("enum E {}", "has a literal");
    refused("enum E { A(u8) }", "is a union");
    refused("#[dds(discriminator = \"u8\")] enum U {}", "has a case");
}

#[test]
fn types_of_rust_that_idl_does_not_have_are_told_once_each() {
    for (field, advice) in [
        ("Vec<HashMap<u32, String>>", "use BTreeMap<…> here"),
        ("Option<HashMap<u32, String>>", "use BTreeMap<…> here"),
        ("HashMap<u32, usize>", "use u64 or u32"),
        ("std::collections::HashSet<u32>", "use Vec<…>"),
        ("usize", "use u64 or u32"),
        ("Option<Vec<isize>>", "use i64 or i32"),
        ("[u128; 4]", "use [u64; 2]"),
        ("std::time::SystemTime", "use i64 for nanoseconds since 1970"),
        ("std::time::Duration", "use i64 for nanoseconds"),
        ("(u8, u8, u8, u8, u8, u8, u8, u8, u8)", "write a struct with named fields"),
        ("(u8, (f32, usize))", "use u64 or u32"),
        ("()", "leave it out"),
        ("&'static str", "use String in place of &str"),
        ("&'static [u8]", "use Vec<…> in place of a slice"),
        ("Arc<Pose>", "use the type inside"),
    ] {
        let source = format!("struct A {{ a: u8, b: {field} }}");
        let input: DeriveInput = syn::parse_str(&source).expect("the source is a type");
        let errors = expand(&input, quote::quote!(::wire::cdr)).expect_err(field);
        assert_eq!(errors.into_iter().count(), 1, "{field}");
        refused(&source, advice);
    }
    refused("struct A<'a> { a: &'a str }", "use String in place of &str");
    let input: DeriveInput =
        syn::parse_str("struct A { a: usize, b: u8, c: (isize,) }").expect("the source is a type");
    let errors = expand(&input, quote::quote!(::wire::cdr)).expect_err("two are foreign");
    assert_eq!(errors.into_iter().count(), 2);
    // Others may have such names.
    assert_eq!(error("struct A { a: Instant, b: dds::Duration, c: Option<Box<Self>> }"), None);
}

#[test]
fn attributes_of_types() {
    refused("#[dds(fast)] struct A;", "expected final, appendable");
    refused("#[dds(final, mutable)] struct A;", "one extensibility");
    refused("#[dds(key)] struct A { a: u8 }", "attributes of fields and of unions");
    refused("#[dds(autoid = \"random\")] struct A;", "\"hash\" or \"sequential\"");
    refused("#[dds(bitmask)] struct A(i32);", "u8, u16, u32 or u64");
    refused("#[dds(bitmask, bit_bound = 9)] struct A(u8);", "1..=8");
    refused("#[dds(bitmask, bit_bound = 8)] struct A(u16);", "9..=16");
    refused("#[dds(bit_bound = 33)] enum E { A }", "from 1 to 32");
}

#[test]
fn members_and_their_ids() {
    refused("struct A { #[dds(id = 1)] a: u8, #[dds(id = 0)] b: u8, c: u8 }", "0x1 is already that of \"a\"");
    refused("struct A { #[dds(id = 0x10000000)] a: u8 }", "at most 0x0fffffff");
    refused("struct A { #[dds(id = 0x0fffffff)] a: u8, b: u8 }", "at most 0x0fffffff");
    refused("struct A { #[dds(id = 1, hashid)] a: u8 }", "either id or hashid");
    refused("struct A { #[dds(hashid = \"x\")] a: u8, #[dds(hashid = \"x\")] b: u8 }", "already that of");
    refused("struct A { #[dds(key)] a: Option<u8> }", "cannot be optional");
    refused("struct A { #[dds(optional)] a: u8 }", "Option<…>");
    refused("struct A { #[dds(kee)] a: u8 }", "expected one of key, id");
    refused("struct A(#[dds(key)] u8);", "expected one of");
}

#[test]
fn literals_and_cases() {
    refused("enum E { A = X }", "integer literal");
    refused("#[dds(bit_bound = 8)] enum E { A = 127, B }", "128 exceeds the bit bound 8");
    refused("enum E { #[dds(default)] A, #[dds(default)] B }", "one default literal");
    refused("#[dds(discriminator = \"u8\")] enum U { A(u8) }", "needs #[dds(case = …)]");
    refused("#[dds(discriminator = \"u8\")] enum U { #[dds(case = 1)] A(u8, u8, u8) }", "a value or none");
    refused("#[dds(discriminator = \"u8\")] enum U { #[dds(case = 1)] A(Option<u8>) }", "cannot be optional");
    refused(
        "#[dds(discriminator = \"u8\")] enum U { #[dds(default)] A, #[dds(default)] B }",
        "one default case",
    );
    refused(
        "#[dds(discriminator = \"Color\")] enum U { #[dds(case = Color::Red)] A, #[dds(default)] B }",
        "label to write is unclear",
    );
}
