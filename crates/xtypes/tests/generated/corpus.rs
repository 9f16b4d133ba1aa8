#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(final, crate = "crate::dds")]
pub struct Single {
    pub a: i32,
}

impl Default for Single {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(final, crate = "crate::dds")]
pub struct Integers {
    pub a: i16,
    pub b: i32,
    pub c: i64,
    pub e: i16,
    pub f: i32,
    pub g: i64,
}

impl Default for Integers {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(crate = "crate::dds")]
pub struct Naturals {
    pub a: u16,
    pub b: u32,
    pub c: u64,
    pub e: u16,
    pub f: u32,
    pub g: u64,
}

impl Default for Naturals {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(mutable, crate = "crate::dds")]
pub struct Others {
    pub a: bool,
    #[dds(octet)]
    pub b: u8,
    pub c: crate::dds::cdr::Char8,
    pub d: f32,
    pub e: f64,
}

impl Default for Others {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(final, crate = "crate::dds")]
pub struct Said {
    pub text: String,
}

impl Default for Said {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(crate = "crate::dds")]
pub struct Plain {
    pub a: i32,
}

impl Default for Plain {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(final, crate = "crate::dds")]
pub struct BoundedStrings {
    #[dds(bound = 1)]
    pub a: String,
    #[dds(bound = 255)]
    pub b: String,
    #[dds(bound = 256)]
    pub c: String,
    #[dds(bound = 70000)]
    pub d: String,
}

impl Default for BoundedStrings {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(final, crate = "crate::dds")]
pub struct Keyed {
    #[dds(key)]
    pub id: i32,
    #[dds(key)]
    pub name: String,
    pub value: f64,
}

impl Default for Keyed {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(crate = "crate::dds")]
pub struct Optionals {
    pub a: Option<i32>,
    pub b: Option<String>,
    pub c: Option<f64>,
    pub d: i32,
}

impl Default for Optionals {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(mutable, crate = "crate::dds")]
pub struct MustUnderstand {
    #[dds(must_understand)]
    pub a: i32,
    pub b: i32,
}

impl Default for MustUnderstand {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(mutable, crate = "crate::dds")]
pub struct Ids {
    #[dds(id = 7)]
    pub a: i32,
    #[dds(id = 3)]
    pub b: i32,
    pub c: i32,
    #[dds(id = 1000)]
    pub d: String,
}

impl Default for Ids {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(mutable, autoid = "hash", crate = "crate::dds")]
pub struct HashIds {
    pub alpha: i32,
    pub beta: String,
}

impl Default for HashIds {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(final, nested, crate = "crate::dds")]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

impl Default for Point {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(final, crate = "crate::dds")]
pub struct Nesting {
    pub from: Point,
    pub to: Point,
}

impl Default for Nesting {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(mutable, crate = "crate::dds")]
pub struct Mixed {
    #[dds(key, id = 9)]
    pub a: i32,
    #[dds(id = 2)]
    pub b: Option<Point>,
    #[dds(id = 12)]
    pub c: Option<Vec<String>>,
}

impl Default for Mixed {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(crate = "crate::dds")]
pub struct Sequences {
    pub a: Vec<i32>,
    #[dds(bound = 5)]
    pub b: Vec<i32>,
    #[dds(bound = 255)]
    pub c: Vec<i32>,
    #[dds(bound = 256)]
    pub d: Vec<i32>,
    #[dds(octet)]
    pub e: Vec<u8>,
}

impl Default for Sequences {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(crate = "crate::dds")]
pub struct SequencesOfText {
    pub a: Vec<String>,
    #[dds(bound = 3)]
    pub b: Vec<crate::dds::cdr::BoundedString<10>>,
}

impl Default for SequencesOfText {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(crate = "crate::dds")]
pub struct SequencesOfTypes {
    pub a: Vec<Point>,
    #[dds(bound = 4)]
    pub b: Vec<Point>,
}

impl Default for SequencesOfTypes {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(crate = "crate::dds")]
pub struct SequencesOfSequences {
    pub a: Vec<Vec<i32>>,
    #[dds(bound = 300)]
    pub b: Vec<crate::dds::cdr::BoundedVec<Point, 2>>,
}

impl Default for SequencesOfSequences {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(final, crate = "crate::dds")]
pub struct Arrays {
    pub a: [i32; 3],
    pub b: [[i32; 4]; 3],
    pub c: [i32; 300],
    pub d: [Point; 2],
    pub e: [[String; 2]; 2],
}

impl Default for Arrays {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, crate::dds::DdsType)]
#[dds(appendable, crate = "crate::dds")]
pub enum Color {
    RED,
    GREEN,
    BLUE,
}

impl Default for Color {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, crate::dds::DdsType)]
#[dds(appendable, crate = "crate::dds")]
pub enum Values {
    FIVE = 5,
    TWO = 2,
    THREE,
}

impl Default for Values {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, crate::dds::DdsType)]
#[dds(appendable, bit_bound = 8, crate = "crate::dds")]
pub enum Small {
    LOW,
    HIGH,
}

impl Default for Small {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, crate::dds::DdsType)]
#[dds(appendable, crate = "crate::dds")]
pub enum Defaulted {
    NORTH,
    SOUTH,
}

impl Default for Defaulted {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(final, crate = "crate::dds")]
pub struct Enumerations {
    pub a: Color,
    pub b: Values,
    pub c: Small,
    pub d: Defaulted,
    pub e: Vec<Color>,
    pub f: [Color; 2],
}

impl Default for Enumerations {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, crate::dds::DdsType)]
#[dds(bitmask, bit_bound = 10, flag(m0 = 0), flag(m4 = 4), flag(m5 = 5), crate = "crate::dds")]
pub struct Mask(pub u16);

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
impl Mask {
    pub const m0: Self = Self(1 << 0);
    pub const m4: Self = Self(1 << 4);
    pub const m5: Self = Self(1 << 5);
}

impl Default for Mask {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

impl ::core::ops::BitOr for Mask {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl ::core::ops::BitAnd for Mask {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, crate::dds::DdsType)]
#[dds(bitmask, flag(w0 = 0), flag(w1 = 1), crate = "crate::dds")]
pub struct Wide(pub u32);

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
impl Wide {
    pub const w0: Self = Self(1 << 0);
    pub const w1: Self = Self(1 << 1);
}

impl Default for Wide {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

impl ::core::ops::BitOr for Wide {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl ::core::ops::BitAnd for Wide {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(final, crate = "crate::dds")]
pub struct Bitmasks {
    pub a: Mask,
    pub b: Wide,
}

impl Default for Bitmasks {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(final, discriminator = "i32", crate = "crate::dds")]
pub enum ByNumber {
    #[dds(case = 1)]
    a(i32),
    #[dds(case = 2, case = 3)]
    b(i32, String),
    #[dds(default = 0)]
    c(i32, f64),
}

impl Default for ByNumber {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(discriminator = "Color", crate = "crate::dds")]
pub enum ByColor {
    #[dds(case = Color::RED)]
    a(i32),
    #[dds(case = Color::BLUE)]
    b(Point),
    #[dds(default = Color::GREEN)]
    Unknown,
}

impl Default for ByColor {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(discriminator = "bool", crate = "crate::dds")]
pub enum ByBoolean {
    #[dds(case = true)]
    a(i32),
    #[dds(case = false)]
    b(String),
}

impl Default for ByBoolean {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(final, discriminator = "u8", octet, crate = "crate::dds")]
pub enum ByOctet {
    #[dds(case = 1)]
    a(Vec<i32>),
    #[dds(case = 200)]
    b([i32; 2]),
    #[dds(default = 0, no_value)]
    Unknown(u8),
}

impl Default for ByOctet {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(final, discriminator = "crate::dds::cdr::Char8", crate = "crate::dds")]
pub enum ByChar {
    #[dds(case = crate::dds::cdr::Char8(120))]
    a(i32),
    #[dds(case = crate::dds::cdr::Char8(97), case = crate::dds::cdr::Char8(98))]
    c(crate::dds::cdr::Char8, i16),
    #[dds(default = crate::dds::cdr::Char8(0), no_value)]
    Unknown(crate::dds::cdr::Char8),
}

impl Default for ByChar {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(final, crate = "crate::dds")]
pub struct Unions {
    pub a: ByNumber,
    pub b: ByColor,
    pub c: ByBoolean,
    pub d: ByOctet,
    pub e: ByChar,
}

impl Default for Unions {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(final, crate = "crate::dds")]
pub struct Base {
    #[dds(key)]
    pub id: i32,
    pub name: String,
}

impl Default for Base {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(final, base = "Base", crate = "crate::dds")]
pub struct Derived {
    #[dds(key)]
    pub id: i32,
    pub name: String,
    pub value: f64,
}

impl Default for Derived {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(crate = "crate::dds")]
pub struct OpenBase {
    pub id: i32,
}

impl Default for OpenBase {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(base = "OpenBase", crate = "crate::dds")]
pub struct OpenDerived {
    pub id: i32,
    pub value: f64,
}

impl Default for OpenDerived {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(base = "OpenDerived", crate = "crate::dds")]
pub struct Further {
    pub id: i32,
    pub value: f64,
    pub at: Point,
}

impl Default for Further {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, Copy, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(crate = "crate::dds")]
pub struct Number(pub i32);

impl Default for Number {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, Copy, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(crate = "crate::dds")]
pub struct Count(pub Number);

impl Default for Count {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(crate = "crate::dds")]
pub struct Path(pub crate::dds::cdr::BoundedVec<Point, 9>);

impl Default for Path {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, Copy, PartialEq, Debug, crate::dds::DdsType)]
#[dds(crate = "crate::dds")]
pub struct Row(pub [f64; 3]);

impl Default for Row {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(final, crate = "crate::dds")]
pub struct Aliases {
    pub a: Number,
    pub b: Count,
    pub c: Path,
    pub d: Row,
    pub e: Vec<Number>,
    pub f: [Row; 2],
    pub g: Vec<Path>,
}

impl Default for Aliases {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(final, crate = "crate::dds")]
pub struct Externals {
    pub a: Box<i32>,
    pub b: Box<Point>,
}

impl Default for Externals {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
#[dds(final, crate = "crate::dds")]
pub struct Deep {
    pub a: Vec<Nesting>,
    pub b: outer::Whole,
    pub c: [ByColor; 3],
}

impl Default for Deep {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(nested, discriminator = "i32", crate = "crate::dds")]
pub enum NestedUnion {
    #[dds(case = -1)]
    a(i32),
    #[dds(case = 5)]
    b(i16),
    #[dds(default = 0, no_value)]
    Unknown(i32),
}

impl Default for NestedUnion {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(final, crate = "crate::dds")]
pub struct HasNestedUnion {
    pub a: Option<NestedUnion>,
    pub b: Vec<NestedUnion>,
}

impl Default for HasNestedUnion {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
pub mod outer {
    #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
    #[dds(final, name = "outer::Whole", crate = "crate::dds")]
    pub struct Whole {
        pub part: inner::Part,
        pub parts: Vec<inner::Part>,
    }

    impl Default for Whole {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    pub mod inner {
        #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
        #[dds(nested, name = "outer::inner::Part", crate = "crate::dds")]
        pub struct Part {
            pub a: i32,
        }

        impl Default for Part {
            fn default() -> Self {
                <Self as crate::dds::cdr::CdrType>::initial()
            }
        }
    }
}
