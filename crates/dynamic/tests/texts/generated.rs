//! What cannot be written in Rust, and is told with its place. What can be is compiled in the tests of `xtypes`.
use dynamic::{idl, rust};

fn written(text: &str) -> Result<String, String> {
    let parsed =
        idl::parse_with(text, &mut |_| Err(String::new())).unwrap_or_else(|error| panic!("{text}: {error}"));
    rust::write(&parsed, "::dds").map_err(|error| error.to_string())
}

#[test]
fn what_rust_cannot_say_is_told() {
    for (text, told) in [
        (
            "struct A {\n map<double, long> x; };",
            "line 1, column 8: member x: a key of a map has numbers with a fraction",
        ),
        (
            "@final struct K { float x; }; typedef map<K, long> M; struct A { M x; };",
            "line 1, column 52: a key of a map",
        ),
        ("struct A { map<octet, uint8> x; };", "line 1, column 8: member x: octet and uint8 in one type"),
        (
            "union U switch (boolean) { case TRUE: case FALSE: long x; default: long y; };",
            "line 1, column 7: case y: no value of the discriminator is left for it",
        ),
        (
            "enum E { A }; union U switch (E) { case 7: long x; };",
            "line 1, column 21: case x: E has no literal 7",
        ),
        ("struct A { long self, self_; };", "line 1, column 8: self_ and self would both be self_ in Rust"),
        (
            "module m { struct a { long x; }; module a { struct b { long x; }; }; };",
            "line 1, column 52: a and a would both be a",
        ),
    ] {
        let said = written(text).unwrap_err();
        assert!(said.starts_with(told), "{text}: {said}");
    }
}

#[test]
fn modules_names_and_attributes_are_as_expected() {
    let text = "module a { enum type { A, @default_literal B }; module b { @mutable struct S { @key type k; @id(9) string<4> Self; }; }; };";
    let written = written(text).unwrap();
    for line in [
        "pub mod a {",
        "    #[dds(name = \"a::type\")]",
        "    pub enum r#type {",
        "        #[dds(default)]",
        "        B,",
        "    pub mod b {",
        "        #[dds(mutable, name = \"a::b::S\")]",
        "            #[dds(key)]",
        "            pub k: super::r#type,",
        "            #[dds(id = 9, name = \"Self\", bound = 4)]",
        "            pub Self_: String,",
    ] {
        assert!(written.lines().any(|known| known == line), "{line}: {written}");
    }
}
