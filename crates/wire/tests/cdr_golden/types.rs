//! The types of `golden/cdr/make_cdr_golden.py`, whose IDL stands there above each of them.
use std::collections::BTreeMap;

use derive::DdsType;
use wire::cdr::{BoundedString, Char8};

#[derive(DdsType, Debug, PartialEq, Clone, Copy)]
pub(crate) enum Color {
    Red,
    Green,
    Blue = 5,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(bit_bound = 8)]
pub(crate) enum Small {
    S0,
    S1,
    S100 = 100,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(bit_bound = 16)]
pub(crate) enum Medium {
    M0,
    M1000 = 1000,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(bitmask, bit_bound = 8)]
pub(crate) struct Mask8(pub(crate) u8);

#[derive(DdsType, Debug, PartialEq)]
#[dds(bitmask, bit_bound = 16)]
pub(crate) struct Mask16(pub(crate) u16);

#[derive(DdsType, Debug, PartialEq)]
#[dds(bitmask)]
pub(crate) struct Mask32(pub(crate) u32);

#[derive(DdsType, Debug, PartialEq)]
#[dds(bitmask, bit_bound = 64)]
pub(crate) struct Mask64(pub(crate) u64);

/// A structure with all fields visible to the test.
macro_rules! structures {
    ($($(#[$attribute:meta])* $name:ident { $($(#[$field_attribute:meta])* $field:ident: $type:ty),* $(,)? })*) => {
        $(
            #[derive(DdsType, Debug, PartialEq)]
            $(#[$attribute])*
            pub(crate) struct $name {
                $($(#[$field_attribute])* pub(crate) $field: $type,)*
            }
        )*
    };
}

structures! {
    #[dds(final)]
    Primitives {
        b: bool, o: u8, i8: i8, u8: u8, c: Char8, i16: i16, u16: u16, i32: i32, u32: u32, i64: i64, u64: u64,
        f32: f32, f64: f64,
    }

    #[dds(final)]
    Align { a: u8, b: i64, c: u8, d: f64, e: u8, f: i16, g: u8, h: i32, i: u8, j: u64, k: u8 }

    #[dds(final)]
    Point { x: i32, y: i32 }

    #[dds(final)]
    Wide { a: u8, b: i64 }

    #[dds(appendable)]
    APoint { x: i32, y: i32 }

    #[dds(appendable)]
    AWide { a: u8, b: i64, c: u8 }

    #[dds(mutable)]
    MPoint { #[dds(id = 1)] x: i32, #[dds(id = 2)] y: i32 }

    #[dds(final)]
    Strings { a: String, pad: u8, b: BoundedString<8>, c: String, d: String }

    #[dds(final)]
    Enums { pad: u8, c: Color }

    #[dds(final)]
    BoundEnums { pad: u8, s: Small, pad2: u8, m: Medium, pad3: u8 }

    #[dds(final)]
    Masks { pad: u8, m8: Mask8, pad2: u8, m16: Mask16, pad3: u8, m32: Mask32, pad4: u8, m64: Mask64 }

    #[dds(final)]
    Arrays { o: [u8; 5], l: [i64; 2], b: [bool; 3], c: [Char8; 4], s: [[i16; 3]; 2], d: [f64; 1] }

    #[dds(final)]
    ArraysOf { s: [String; 2], pad: u8, p: [Point; 2], ap: [APoint; 2], w: [Wide; 2] }

    #[dds(final)]
    EnumArrays { pad: u8, c: [Color; 2], pad2: u8, m: [Mask8; 3], g: [[Point; 2]; 2] }

    #[dds(final)]
    Sequences {
        o: Vec<u8>, s: Vec<i16>, #[dds(bound = 4)] i: Vec<i32>, l: Vec<i64>, b: Vec<bool>, pad: u8, e: Vec<f64>,
        z: Vec<u8>,
    }

    #[dds(final)]
    CharSequence { pad: u8, c: Vec<Char8> }

    #[dds(final)]
    SequencesOf {
        s: Vec<String>, #[dds(bound = 3)] bs: Vec<BoundedString<4>>, p: Vec<Point>, #[dds(bound = 2)] ap: Vec<APoint>,
        ii: Vec<Vec<i32>>, w: Vec<Wide>, e: Vec<String>,
    }

    #[dds(final)]
    EnumSequences { pad: u8, c: Vec<Color>, m: Vec<Mask8> }

    #[dds(final)]
    ArraySequence { pad: u8, t: Vec<[i32; 3]> }

    #[dds(final)]
    Nested { a: u8, p: Point, b: u8, w: Wide, c: u8, ap: APoint, d: u8, mp: MPoint, e: u8 }

    #[dds(appendable)]
    Appendable { a: u8, s: String, ap: APoint, p: Point, aw: Vec<AWide>, l: i64 }

    #[dds(appendable)]
    AppendableV2 { a: u8, s: String, ap: APoint, p: Point, aw: Vec<AWide>, l: i64, more: i16, last: String }

    // Members of a base structure come first.
    #[dds(final)]
    Derived { a: u8, b: i32, c: u8, d: i64 }

    #[dds(appendable)]
    Tree { v: i32, children: Vec<Tree> }

    #[dds(final)]
    Optionals {
        a: u8, b: Option<i8>, c: Option<i64>, d: Option<String>, e: Option<Point>, f: Option<Vec<i32>>, g: u8,
    }

    #[dds(appendable)]
    AOptionals { a: u8, b: Option<i64>, c: Option<APoint>, d: Option<Color>, e: i32 }

    #[dds(final)]
    Unions {
        a: u8, u1: IntUnion, u2: IntUnion, u3: IntUnion, b: u8, cu: ColorUnion, c: u8, bt: BoolUnion, bf: BoolUnion,
        y1: ByteUnion, y2: ByteUnion, d: u8, au1: AUnion, au2: AUnion, e: u8, su: Vec<IntUnion>,
    }

    #[dds(final)]
    UnionDefault { a: u8, u: IntUnion, b: u8 }

    #[dds(mutable)]
    Mutable {
        #[dds(id = 10)] o: u8,
        #[dds(id = 11)] s: i16,
        #[dds(id = 12)] i: i32,
        #[dds(id = 13)] l: i64,
        #[dds(id = 20, name = "str")] string: String,
        #[dds(id = 21)] so: Vec<u8>,
        #[dds(id = 22)] ss: Vec<i16>,
        #[dds(id = 23)] si: Vec<i32>,
        #[dds(id = 24)] sl: Vec<i64>,
        #[dds(id = 25)] sstr: Vec<String>,
        #[dds(id = 30)] arr: [i32; 3],
        #[dds(id = 31)] p: Point,
        #[dds(id = 32)] ap: APoint,
        #[dds(id = 33)] mp: MPoint,
        #[dds(id = 40)] c: Color,
        #[dds(id = 41)] m: Mask8,
        #[dds(id = 50)] op: Option<i32>,
        #[dds(id = 51)] os: Option<String>,
        #[dds(id = 0x1000)] b: bool,
        #[dds(id = 0x3fff)] d: f64,
    }

    #[dds(mutable)]
    MustUnderstand {
        #[dds(id = 3, must_understand)] a: i32,
        #[dds(id = 1)] b: u8,
        #[dds(id = 2, must_understand)] c: String,
    }

    #[dds(mutable, autoid = "hash")]
    HashIds { color: i32, shapesize: u8, #[dds(hashid = "other")] z: i16 }

    #[dds(mutable)]
    MEmpty { a: Option<i32>, b: Option<String> }

    #[dds(final)]
    MutableInside { a: u8, m: MPoint, b: u8, s: Vec<MPoint>, c: u8, l: i64 }

    #[dds(final)]
    PrimitiveMaps { pad: u8, m: BTreeMap<i32, i64>, n: BTreeMap<u8, u8> }

    #[dds(final)]
    StringMaps { pad: u8, m: BTreeMap<String, i32>, p: BTreeMap<i32, Point> }

    #[dds(appendable)]
    ShapeType { #[dds(key)] color: BoundedString<128>, x: i32, y: i32, shapesize: i32 }

    #[dds(final)]
    KeyInt { a: u8, #[dds(key)] id: i32, s: String }

    #[dds(final)]
    KeyMulti { #[dds(key)] a: u8, x: u8, #[dds(key)] b: i64, #[dds(key)] c: i16, s: String }

    #[dds(final)]
    KeyBig { #[dds(key)] a: i64, #[dds(key)] b: i64, #[dds(key)] c: u8, x: i32 }

    #[dds(final)]
    KeySmallString { x: i32, #[dds(key, bound = 11)] s: String }

    #[dds(final)]
    KeyString12 { x: i32, #[dds(key, bound = 12)] s: String }

    #[dds(final)]
    KeyString { x: i32, #[dds(key)] s: String }

    #[dds(final)]
    Inner { a: u8, #[dds(key)] k: i16, b: u8 }

    #[dds(final)]
    KeyNested { x: u8, #[dds(key)] r#in: Inner, #[dds(key)] p: Point, y: i32 }

    #[dds(appendable)]
    AInner { a: u8, #[dds(key)] k: i32 }

    #[dds(appendable)]
    KeyAppendable { x: i32, #[dds(key)] r#in: AInner, #[dds(key)] o: u8 }

    #[dds(mutable)]
    KeyMutable {
        #[dds(id = 5, key)] a: i16,
        #[dds(id = 7)] x: i32,
        #[dds(id = 2, key)] b: i32,
        #[dds(id = 9, key)] c: u8,
    }

    #[dds(final)]
    KeyKinds { #[dds(key)] c: Color, #[dds(key)] b: bool, #[dds(key)] arr: [u8; 3], #[dds(key)] ch: Char8, x: i32 }
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final, discriminator = "i32")]
pub(crate) enum IntUnion {
    #[dds(case = 1)]
    I(i32),
    #[dds(case = 2, case = 3)]
    S(i32, String),
    #[dds(case = 4)]
    P(Point),
    #[dds(case = 5)]
    L(i64),
    #[dds(default)]
    D(i32, f64),
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final, discriminator = "Color")]
pub(crate) enum ColorUnion {
    #[dds(case = Color::Red)]
    R(u8),
    #[dds(case = Color::Blue)]
    B(i64),
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final, discriminator = "bool")]
pub(crate) enum BoolUnion {
    #[dds(case = true)]
    T(i16),
    #[dds(default = false)]
    F(Vec<u8>),
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final, discriminator = "u8")]
pub(crate) enum ByteUnion {
    #[dds(case = 7)]
    L(i64),
    #[dds(case = 8)]
    Ap(APoint),
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(appendable, discriminator = "i16")]
pub(crate) enum AUnion {
    #[dds(case = 1)]
    O(u8),
    #[dds(case = 2)]
    L(i64),
    #[dds(default)]
    S(String),
}
