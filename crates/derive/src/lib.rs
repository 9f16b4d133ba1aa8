//! `#[derive(DdsType)]`: the CDR encoding of a Rust type, as IDL with XTypes annotations would give it.
//!
//! | Rust | IDL |
//! |---|---|
//! | `struct` with named fields | `struct` |
//! | `struct` with one unnamed field | `typedef`; with `#[dds(bitmask)]` a `bitmask`, with `#[dds(bitset)]` a `bitset` |
//! | `enum` without data | `enum` |
//! | `enum` with `#[dds(discriminator = "…")]` | `union` |
//! | `[T; N]`, `Vec<T>`, `BTreeMap<K, V>` | array, `sequence`, `map` |
//! | `HashMap<K, V>` as the type of a field, with keys that have an order | `map` |
//! | `(A, B)` to tuples of eight | `@final struct` with the members `e0`, `e1` and so on |
//! | `String`, `WString`, `Char8`, `Char16` | `string`, `wstring`, `char`, `wchar` |
//! | `BoundedVec`, `BoundedString`, `BoundedMap`, or `#[dds(bound = N)]` on a field | the same with a bound |
//! | `Option<T>` as the type of a field | `@optional` |
//! | `Box<T>` | `@external` |
//!
//! Attributes of a type: `final`, `appendable` (the default, as in XTypes), `mutable`, `name = "…"`,
//! `autoid = "hash"`, `nested`, `bit_bound = N`, `bitmask`, `flag(NAME = position)` (repeated, of a bitmask), `bitset`, `field("name": type = begin..end)` (repeated, of a bitset), `discriminator = "type"`, `key`
//! and `octet` (of a union: its discriminator is a key, is an octet), `base = "type"` (of a structure that extends another one: it begins with all fields of that,
//! with the same ids), and `crate = "path"` for a crate that re-exports the module `cdr` under another path than `::wire`.
//!
//! Attributes of a field: `key`, `id = N`, `hashid`, `hashid = "…"`, `name = "…"`, `must_understand`, `optional`
//! (implied by `Option`), `bound = N`, `recursive`, `octet` (its `u8` are octets of IDL, not `uint8`; also of a `typedef`),
//! `boxed` (its `Box` is what Rust needs, and no `@external`),
//! `try_construct = "discard"`, `"use_default"` or `"trim"` (what is announced of a value that does not fit; this side always discards it). Of a literal:
//! `default`, `name = "…"`. Of a case: `case = label` (repeated for more labels), `default`, `default = label`, `id = N`, `name = "…"`,
//! `no_value` (the union has no member then, and the one field of the case is the label).
//!
//! The constant `DESCRIPTION` says all that of the type, so that a participant can announce it: other participants then compare names and
//! ids of members, literals and cases with those of their own type. An enumeration or bitmask is final if nothing else is said.
//!
//! A type that contains itself directly has no greatest size:
//!
//! ```
//! use derive::DdsType;
//! use wire::cdr::DdsType;
//!
//! #[derive(DdsType)]
//! struct List {
//!     value: u32,
//!     next: Option<Box<List>>,
//! }
//!
//! assert_eq!(List::MAX_SERIALIZED_SIZE_XCDR2, None);
//! ```
//!
//! Types that contain each other in a circle need `recursive` on one of the fields:
//!
//! ```
//! # use derive::DdsType;
//! # use wire::cdr::DdsType;
//! #[derive(DdsType)]
//! struct Egg {
//!     #[dds(recursive)]
//!     hen: Option<Box<Hen>>,
//! }
//!
//! #[derive(DdsType)]
//! struct Hen {
//!     egg: Option<Box<Egg>>,
//! }
//!
//! assert_eq!(Hen::MAX_SERIALIZED_SIZE_XCDR1, None);
//! ```
//!
//! Without it the compiler reports a cycle in the constants `SIZE_XCDR1`:
//!
//! ```compile_fail,E0391
//! # use derive::DdsType;
//! # use wire::cdr::DdsType;
//! #[derive(DdsType)]
//! struct Egg {
//!     hen: Option<Box<Hen>>,
//! }
//!
//! #[derive(DdsType)]
//! struct Hen {
//!     egg: Option<Box<Egg>>,
//! }
//!
//! assert_eq!(Hen::MAX_SERIALIZED_SIZE_XCDR1, None);
//! ```
mod attribute;
mod bitmask;
mod enumeration;
mod foreign;
mod hash_map;
mod member;
mod structure;
#[cfg(test)]
mod tests;
mod union;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields};

use attribute::TypeAttributes;

/// Derives the CDR encoding, and for structures and unions what a topic needs.
#[proc_macro_derive(DdsType, attributes(dds))]
pub fn derive_dds_type(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input, quote!(::wire::cdr)).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// The same for crates that know `dds` alone; it re-exports this as `DdsType`.
#[proc_macro_derive(DdsTypeByDds, attributes(dds))]
pub fn derive_dds_type_by_dds(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input, quote!(::dds::cdr)).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn expand(input: &DeriveInput, cdr: Tokens) -> Result<Tokens, Error> {
    foreign::check(input)?;
    if let Some(parameter) = input.generics.params.first() {
        return Err(Error::new_spanned(parameter, "a type of DDS has no generic parameters"));
    }
    let attributes = TypeAttributes::parse(input, cdr)?;
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Unnamed(fields) if attributes.bitmask => bitmask::expand(input, &attributes, fields),
            Fields::Unnamed(fields) => structure::expand_alias(input, &attributes, fields),
            Fields::Named(_) | Fields::Unit => structure::expand(input, &attributes, &data.fields),
        },
        Data::Enum(data) if attributes.discriminator.is_some() => union::expand(input, &attributes, data),
        Data::Enum(data) => enumeration::expand(input, &attributes, data),
        Data::Union(data) => Err(Error::new_spanned(
            data.union_token,
            "a union of DDS is a Rust enum with #[dds(discriminator = \"…\")]",
        )),
    }
}
