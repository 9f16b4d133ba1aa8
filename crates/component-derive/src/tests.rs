//! Refused components, and the errors about them.
use syn::DeriveInput;

use crate::component::expand;

/// The error for a component, or nothing.
fn error(source: &str) -> Option<String> {
    let input: DeriveInput = syn::parse_str(source).expect("the source is a type");
    expand(&input).err().map(|error| error.to_string())
}

#[track_caller]
fn refused(source: &str, text: &str) {
    let error = error(source).expect("the component is refused");
    assert!(error.contains(text), "{error:?} should say {text:?}");
}

#[test]
fn good_components_are_accepted() {
    for source in [
        "struct Nothing;",
        "struct A { fix: Consumer<Fix>, out: container::Publisher<Vec<u8>>, one: Emitter<u8>, tick: Timer }",
        "struct A { tuning: Facet<dyn Tuning>, other: Receptacle<dyn Tuning>, #[setting] gain: f64, own: Vec<u8> }",
        "#[component(parallel)] struct A { fix: Consumer<Fix>, #[setting(default = 1, range = 0.0..=3)] n: u8 }",
        "struct A { #[setting(default = \"x\")] name: String, timer: other::Timer<u8> }",
    ] {
        assert_eq!(error(source), None, "{source}");
    }
}

/// A port `in` is written `r#in` in Rust, and is called `in` in manifests and plans; a component `Loop` has the module `r#loop`.
#[test]
fn keywords_are_names_of_ports_and_components() {
    let input = syn::parse_str("struct Loop { r#in: Consumer<u8>, #[setting] r#type: u8 }");
    let made = expand(&input.expect("the source is a type")).expect("the component is accepted").to_string();
    assert!(made.contains("name : \"in\"") && made.contains("name : \"type\""), "{made}");
    assert!(made.contains("mod r#loop") && !made.contains("\"r#"), "{made}");
}

#[test]
fn what_is_no_component() {
    refused("enum A { B }", "is a struct");
    refused("struct A(u8);", "have names");
    refused("struct A<T> { a: T }", "no generic parameters");
    refused("struct Super { a: Timer }", "name the component otherwise");
    refused("#[component(fast)] struct A;", "may be `parallel`");
    refused("#[component(parallel)] struct A { a: Facet<dyn B> }", "no facets");
}

#[test]
fn ports_and_settings_that_are_none() {
    refused("struct A { a: Consumer }", "Consumer<Event>");
    refused("struct A { a: Receptacle }", "Receptacle<dyn Trait>");
    refused("struct A { a: Facet<Tuning> }", "Facet<dyn Trait>");
    refused("struct A { #[setting] a: Publisher<u8> }", "no setting");
    refused("struct A { #[setting(maximum = 3)] a: u8 }", "a default and a range");
    refused("struct A { #[setting(default = 3, default = 4)] a: u8 }", "twice");
    refused("struct A { #[setting(default = , range = 3..)] a: u8 }", "a value is missing");
    refused("struct A { #[setting] #[setting] a: u8 }", "one #[setting]");
    refused("struct A { fix_in: Consumer<u8>, fix__in: Consumer<u8> }", "FixIn");
}
