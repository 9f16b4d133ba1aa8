//! Types with everything in them.
use std::collections::BTreeMap;

use derive::DdsType;
use wire::cdr::{BoundedMap, BoundedString, BoundedVec, BoundedWString, Char8, Char16, WString};

use crate::generate::{Arbitrary, Gen};

/// Structures with random values.
macro_rules! structures {
    ($($(#[$attribute:meta])* $name:ident { $($(#[$field_attribute:meta])* $field:ident: $type:ty),* $(,)? })*) => {
        $(
            #[derive(DdsType, Debug, PartialEq, Clone)]
            $(#[$attribute])*
            pub(crate) struct $name {
                $($(#[$field_attribute])* pub(crate) $field: $type,)*
            }

            impl Arbitrary for $name {
                #[allow(unused_variables, reason = "a structure may have no fields")]
                fn arbitrary(g: &mut Gen) -> Self {
                    Self { $($field: Arbitrary::arbitrary(g),)* }
                }
            }
        )*
    };
}

/// Unions with random values.
macro_rules! unions {
    ($(
        $(#[$attribute:meta])*
        $name:ident { $($(#[$case_attribute:meta])* $case:ident($type:ty),)* }
    )*) => {
        $(
            #[derive(DdsType, Debug, PartialEq, Clone)]
            $(#[$attribute])*
            pub(crate) enum $name {
                $($(#[$case_attribute])* $case($type),)*
            }

            impl Arbitrary for $name {
                fn arbitrary(g: &mut Gen) -> Self {
                    let cases: &[fn(&mut Gen) -> Self] = &[$(|g| Self::$case(Arbitrary::arbitrary(g)),)*];
                    // The largest value is that of the last case; the tests of bounds rely on it.
                    let case = if g.full { cases.len() - 1 } else { g.up_to(cases.len() - 1) };
                    cases[case](g)
                }
            }
        )*
    };
}

#[derive(DdsType, Debug, PartialEq, Eq, Clone, Copy)]
#[dds(bit_bound = 8)]
pub(crate) enum Gear {
    Reverse = -1,
    #[dds(default)]
    Neutral,
    First,
}

impl Arbitrary for Gear {
    fn arbitrary(g: &mut Gen) -> Self {
        [Self::Reverse, Self::Neutral, Self::First][g.up_to(2)]
    }
}

#[derive(DdsType, Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) enum Color {
    Red,
    Green = 1000,
}

impl Arbitrary for Color {
    fn arbitrary(g: &mut Gen) -> Self {
        if bool::arbitrary(g) { Self::Red } else { Self::Green }
    }
}

#[derive(DdsType, Debug, PartialEq, Clone, Copy)]
#[dds(bitmask, bit_bound = 12)]
pub(crate) struct Flags(pub(crate) u16);

impl Arbitrary for Flags {
    fn arbitrary(g: &mut Gen) -> Self {
        Self(u16::arbitrary(g) & 0x0fff)
    }
}

/// Another name for a type.
#[derive(DdsType, Debug, PartialEq, Clone)]
pub(crate) struct Triple([i64; 3]);

impl Arbitrary for Triple {
    fn arbitrary(g: &mut Gen) -> Self {
        Self(Arbitrary::arbitrary(g))
    }
}

#[derive(DdsType, Debug, PartialEq, Clone)]
pub(crate) struct Tree {
    value: u16,
    left: Option<Box<Tree>>,
    others: Vec<Tree>,
}

impl Arbitrary for Tree {
    fn arbitrary(g: &mut Gen) -> Self {
        let value = Arbitrary::arbitrary(g);
        let left = g.nested(Option::arbitrary).flatten();
        let others = g.nested(|g| (0..g.up_to(2)).map(|_| Self::arbitrary(g)).collect()).unwrap_or_default();
        Self { value, left, others }
    }
}

/// The same members in a type of each extensibility: with bounds, and of a fixed size.
macro_rules! family {
    ($($module:ident: $extensibility:tt,)*) => {
        $(pub(crate) mod $module {
            use super::*;

            structures! {
                #[dds($extensibility)]
                Fixed {
                    a: u8, b: f64, c: bool, #[dds(key)] d: u16, e: [u8; 5], f: [[i16; 3]; 2], g: i64, h: Gear, i: Flags,
                    j: Char8, k: Char16, l: [Color; 2], m: [[Triple; 2]; 2], n: Triple, o: i8, p: f32, q: Box<u32>,
                }

                #[dds($extensibility)]
                Small { x: u8, #[dds(key)] y: i64 }

                #[dds($extensibility)]
                Bounded {
                    a: u8,
                    #[dds(key)] b: BoundedString<7>,
                    c: Option<u64>,
                    d: BoundedVec<u16, 5>,
                    e: BoundedVec<Small, 3>,
                    f: Option<Small>,
                    g: BoundedWString<3>,
                    h: BoundedMap<u8, f64, 3>,
                    i: BoundedMap<BoundedString<3>, Small, 2>,
                    #[dds(key)] j: [Small; 2],
                    k: Pick,
                    l: Option<BoundedVec<bool, 9>>,
                    #[dds(key)] m: Small,
                    n: Fixed,
                    o: BoundedVec<[Color; 3], 2>,
                    p: u8,
                }

                #[dds($extensibility)]
                Open {
                    #[dds(id = 3, key)] a: String,
                    b: Vec<u8>,
                    #[dds(bound = 12)] c: Vec<u32>,
                    #[dds(bound = 12)] d: String,
                    e: Vec<String>,
                    f: Vec<Open2>,
                    g: BTreeMap<String, Vec<Small>>,
                    h: Option<String>,
                    i: WString,
                    j: Vec<Pick>,
                    k: [String; 2],
                    l: Vec<Vec<Gear>>,
                    #[dds(bound = 12)] m: Option<Vec<f32>>,
                    #[dds(hashid)] n: Tree,
                    #[dds(id = 1, key)] o: [u16; 3],
                    p: Bounded,
                    #[dds(id = 0x0fff_fff0)] q: i16,
                    r: Vec<bool>,
                    s: BTreeMap<u16, u64>,
                    t: Option<Box<Fixed>>,
                    u: Empty,
                }

                #[dds($extensibility)]
                Open2 { #[dds(must_understand)] a: Vec<i64>, b: Option<Vec<i16>>, c: Color }

                #[dds($extensibility)]
                Empty {}
            }

            unions! {
                #[dds($extensibility, discriminator = "u8")]
                Pick {
                    #[dds(case = 1)] A(u8),
                    #[dds(case = 2, case = 3)] B(Small),
                    #[dds(default)] C(BoundedVec<f64, 4>),
                }
            }
        })*
    };
}

family! {
    finals: final,
    appendables: appendable,
    mutables: mutable,
}
