//! A type with a member of every kind, once for each extensibility, for tests of what reads samples by a description of their type.
#![allow(missing_docs, reason = "the names and types of members say what they are for")]
use std::collections::BTreeMap;

use derive::DdsType;
use wire::cdr::{BoundedVec, Char8, Char16, Encoding, Representation, WString};
use wire::cursor::Endianness;

/// Each representation in each order of bytes.
pub const ENCODINGS: [Encoding; 4] = [
    Encoding { representation: Representation::Xcdr1, endianness: Endianness::Little },
    Encoding { representation: Representation::Xcdr1, endianness: Endianness::Big },
    Encoding { representation: Representation::Xcdr2, endianness: Endianness::Little },
    Encoding { representation: Representation::Xcdr2, endianness: Endianness::Big },
];

#[derive(DdsType, Clone, Copy, PartialEq, Debug)]
#[dds(bit_bound = 16)]
pub enum Gear {
    Reverse = -1,
    Neutral,
    First,
}

#[derive(DdsType, Clone, PartialEq, Debug)]
#[dds(bitmask, bit_bound = 12)]
pub struct Flags(pub u16);

macro_rules! types {
    ($module:ident: $extensibility:tt) => {
        pub mod $module {
            use super::*;

            #[derive(DdsType, Clone, PartialEq, Debug)]
            #[dds($extensibility)]
            pub struct Small {
                #[dds(key)]
                pub x: i64,
                pub y: Option<u8>,
            }

            #[derive(DdsType, Clone, PartialEq, Debug)]
            #[dds($extensibility, discriminator = "u8")]
            pub enum Choice {
                #[dds(case = 1)]
                One(u16),
                #[dds(case = 2, case = 3)]
                Small(Small),
                #[dds(default)]
                Other(BoundedVec<f64, 4>),
            }

            #[derive(DdsType, Clone, PartialEq, Debug)]
            #[dds($extensibility)]
            pub struct Rich {
                #[dds(id = 7, key)]
                pub name: String,
                pub bytes: Vec<u8>,
                pub words: Vec<u32>,
                pub longs: Vec<u64>,
                pub names: Vec<String>,
                pub smalls: Vec<Small>,
                pub choices: Vec<Choice>,
                pub map: BTreeMap<u16, String>,
                pub wide: WString,
                pub wider: WString,
                pub deep: Vec<Vec<i16>>,
                #[dds(hashid)]
                pub double: f64,
                #[dds(id = 3, key)]
                pub numbers: [u16; 3],
                #[dds(id = 20)]
                pub matrix: [[i32; 2]; 3],
                pub smaller: [Small; 2],
                pub gear: Gear,
                pub gears: Vec<Gear>,
                pub flags: Flags,
                pub letter: Char8,
                pub sign: Char16,
                pub yes: bool,
                pub single: f32,
                pub perhaps: Option<f32>,
                pub large: u64,
                pub tiny: i8,
                pub doubles: Vec<f64>,
                #[dds(id = 0x4000)]
                pub far: u32,
                pub maybe: Option<Small>,
                pub choice: Choice,
                pub never: Option<String>,
            }
        }
    };
}

types!(finals: final);
types!(appendables: appendable);
types!(mutables: mutable);
