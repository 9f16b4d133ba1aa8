#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(crate = "crate::dds")]
pub struct Whole {
    pub text: Vec_::String_,
    pub tree: robot::Tree,
}

impl Default for Whole {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
#[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
#[dds(mutable, crate = "crate::dds")]
pub struct Last {
    pub hen: robot::Hen,
}

impl Default for Last {
    fn default() -> Self {
        <Self as crate::dds::cdr::CdrType>::initial()
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
pub mod base {
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, crate::dds::DdsType)]
    #[dds(name = "base::Gear", crate = "crate::dds")]
    pub enum Gear {
        REVERSE = -1,
        NEUTRAL,
        FIRST,
    }

    impl Default for Gear {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, Copy, PartialEq, Debug, crate::dds::DdsType)]
    #[dds(name = "base::Meters", crate = "crate::dds")]
    pub struct Meters(pub f64);

    impl Default for Meters {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, Eq, Hash, PartialOrd, Ord, crate::dds::DdsType)]
    #[dds(final, name = "base::Key", crate = "crate::dds")]
    pub struct Key {
        pub row: i16,
        #[dds(bound = 3)]
        pub column: String,
    }

    impl Default for Key {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
    #[dds(mutable, name = "base::Pose", crate = "crate::dds")]
    pub struct Pose {
        #[dds(id = 50)]
        pub x: Meters,
        pub y: Meters,
    }

    impl Default for Pose {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    pub const START: Gear = Gear::NEUTRAL;

    pub const HEIGHT: Meters = Meters(2.0);
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
pub mod limits {
    pub const SIZE: u32 = 12;

    pub const MASK: u8 = 240;

    pub const LARGEST: u64 = 18446744073709551615;

    pub const LEAST: i64 = -9223372036854775808;

    pub const TWICE: i16 = -3;

    pub const HALF: f64 = 2.5;

    pub const SMALL: f32 = 0.0005;

    pub const YES: bool = true;

    pub const TAB: crate::dds::cdr::Char8 = crate::dds::cdr::Char8(9);

    pub const EURO: crate::dds::cdr::Char16 = crate::dds::cdr::Char16(8364);

    pub const NAME: &str = "left \"wheel\" and right";

    pub const WIDE: &str = "wide";
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
pub mod robot {
    #[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
    #[dds(final, nested, name = "robot::Point", crate = "crate::dds")]
    pub struct Point {
        pub x: f32,
        pub y: f32,
        #[dds(id = 7)]
        pub z: i8,
    }

    impl Default for Point {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
    #[dds(mutable, base = "super::base::Pose", name = "robot::Pose", crate = "crate::dds")]
    pub struct Pose {
        #[dds(id = 50)]
        pub x: super::base::Meters,
        pub y: super::base::Meters,
        #[dds(key, bound = 20)]
        pub name: String,
        #[dds(id = 100)]
        pub position: Point,
        pub before: Option<Box<Point>>,
        #[dds(must_understand)]
        pub small: u8,
        #[dds(id = 24944607)]
        pub hashed: i32,
        #[dds(id = 36855673)]
        pub renamed: i32,
        #[dds(try_construct = "trim", bound = 5)]
        pub cut: String,
        #[dds(try_construct = "use_default")]
        pub lamp: parts::Lamp,
    }

    impl Default for Pose {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
    #[dds(autoid = "hash", name = "robot::Hashed", crate = "crate::dds")]
    pub struct Hashed {
        #[dds(key)]
        pub id: u32,
        #[dds(id = 5, octet)]
        pub five: u8,
        pub gear: super::base::Gear,
    }

    impl Default for Hashed {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
    #[dds(mutable, autoid = "hash", discriminator = "u8", name = "robot::Choice", crate = "crate::dds")]
    pub enum Choice {
        #[dds(case = 1)]
        one(u16),
        #[dds(case = 2, case = 3, bound = 300)]
        places(u8, Vec<Point>),
        #[dds(case = 4, id = 9)]
        outside(Box<crate::dds::cdr::BoundedString<8>>),
        #[dds(default = 0, octet)]
        other(u8, Vec<u8>),
    }

    impl Default for Choice {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
    #[dds(final, discriminator = "super::base::Gear", key, name = "robot::ByGear", crate = "crate::dds")]
    pub enum ByGear {
        #[dds(case = super::base::Gear::FIRST)]
        first(i16),
        #[dds(case = super::base::Gear::REVERSE, default)]
        back(super::base::Gear, String),
    }

    impl Default for ByGear {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
    #[dds(discriminator = "parts::Lamp", name = "robot::Partial", crate = "crate::dds")]
    pub enum Partial {
        #[dds(case = parts::Lamp(parts::Light::ON))]
        on(i32),
        #[dds(default = parts::Lamp(parts::Light::OFF), no_value)]
        Unknown(parts::Lamp),
    }

    impl Default for Partial {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
    #[dds(discriminator = "parts::Letter", name = "robot::Lettered", crate = "crate::dds")]
    pub enum Lettered {
        #[dds(case = parts::Letter(crate::dds::cdr::Char8(97)), case = parts::Letter(crate::dds::cdr::Char8(98)))]
        a(parts::Letter, bool),
        #[dds(default = parts::Letter(crate::dds::cdr::Char8(0)))]
        flags(parts::Letter, parts::Flags),
    }

    impl Default for Lettered {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
    #[dds(discriminator = "bool", name = "robot::Yes", crate = "crate::dds")]
    pub enum Yes {
        #[dds(case = true)]
        yes(i32),
        #[dds(default = false)]
        Unknown,
    }

    impl Default for Yes {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
    #[dds(discriminator = "bool", name = "robot::YesNo", crate = "crate::dds")]
    pub enum YesNo {
        #[dds(case = true)]
        yes(i32),
        #[dds(default = false, octet)]
        no(u8),
    }

    impl Default for YesNo {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
    #[dds(discriminator = "i64", name = "robot::Signed", crate = "crate::dds")]
    pub enum Signed {
        #[dds(case = -4)]
        bytes(parts::Bytes),
        #[dds(case = 5)]
        meters(super::base::Meters),
        #[dds(default = 0, no_value)]
        Unknown(i64),
    }

    impl Default for Signed {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
    #[dds(discriminator = "crate::dds::cdr::Char16", name = "robot::Wide", crate = "crate::dds")]
    pub enum Wide {
        #[dds(case = crate::dds::cdr::Char16(120))]
        x(crate::dds::cdr::Char16),
        #[dds(default = crate::dds::cdr::Char16(0), no_value)]
        Unknown(crate::dds::cdr::Char16),
    }

    impl Default for Wide {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
    #[dds(final, name = "robot::Nothing", crate = "crate::dds")]
    pub struct Nothing {
    }

    impl Default for Nothing {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
    #[dds(name = "robot::Everything", crate = "crate::dds")]
    pub struct Everything {
        #[dds(key)]
        pub number: u32,
        #[dds(key)]
        pub key_light: parts::Light,
        pub b: bool,
        #[dds(octet)]
        pub o: u8,
        pub u8: u8,
        pub i8: i8,
        pub us: u16,
        pub s: i16,
        pub l: i32,
        pub u64: u64,
        pub i64: i64,
        pub f: f32,
        pub d: f64,
        pub c: crate::dds::cdr::Char8,
        pub wc: crate::dds::cdr::Char16,
        pub text: String,
        #[dds(bound = 7)]
        pub short_text: String,
        pub wide: crate::dds::cdr::WString,
        #[dds(bound = 3)]
        pub short_wide: crate::dds::cdr::WString,
        pub bytes: parts::Bytes,
        #[dds(bound = 4, octet)]
        pub four: Vec<u8>,
        pub numbers: Vec<u8>,
        #[dds(octet)]
        pub raw: [u8; 3],
        pub words: parts::Words,
        pub matrices: parts::Matrices,
        pub table: parts::Table,
        pub hashes: ::std::collections::BTreeMap<crate::dds::cdr::BoundedString<4>, Hashed>,
        pub keys: ::std::collections::BTreeMap<super::base::Key, crate::dds::cdr::WString>,
        #[dds(bound = 3)]
        pub deep: Vec<crate::dds::cdr::BoundedVec<i32, 2>>,
        pub names: [Vec<String>; 2],
        pub choices: Option<Vec<Choice>>,
        #[dds(bound = 6)]
        pub note: Option<String>,
        pub by_gear: ByGear,
        pub partial: Partial,
        pub lettered: Lettered,
        pub yes: Yes,
        pub yes_no: YesNo,
        pub signed_: Signed,
        pub wide_one: Wide,
        pub flags: parts::Flags,
        pub long_flags: parts::Long,
        pub nothing: Nothing,
        pub lamps: Vec<parts::Lamp>,
        pub pose: Pose,
        pub r#type: i32,
        #[dds(name = "self")]
        pub self_: i32,
        pub r#match: i32,
        pub union_: i32,
        pub value: i32,
    }

    impl Default for Everything {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
    #[dds(final, name = "robot::WithBits", crate = "crate::dds")]
    pub struct WithBits {
        #[dds(key)]
        pub status: parts::Status,
        pub wider: Vec<parts::Wider>,
    }

    impl Default for WithBits {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
    #[dds(name = "robot::Trees", crate = "crate::dds")]
    pub struct Trees(pub Vec<Tree>);

    impl Default for Trees {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
    #[dds(mutable, name = "robot::Tree", crate = "crate::dds")]
    pub struct Tree {
        #[dds(key)]
        pub id: i32,
        #[dds(recursive)]
        pub branches: Trees,
        #[dds(recursive)]
        pub other: Option<Box<Tree>>,
    }

    impl Default for Tree {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
    #[dds(final, name = "robot::Egg", crate = "crate::dds")]
    pub struct Egg {
        #[dds(recursive)]
        pub hen: Option<Box<Hen>>,
    }

    impl Default for Egg {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
    #[dds(final, name = "robot::Hen", crate = "crate::dds")]
    pub struct Hen {
        #[dds(bound = 3, recursive)]
        pub eggs: Vec<Egg>,
        pub name: String,
    }

    impl Default for Hen {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }

    pub mod parts {
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, crate::dds::DdsType)]
        #[dds(appendable, bit_bound = 16, name = "robot::parts::Light", crate = "crate::dds")]
        pub enum Light {
            ON = 3,
            #[dds(default)]
            OFF,
            BLINKING = 12,
        }

        impl Default for Light {
            fn default() -> Self {
                <Self as crate::dds::cdr::CdrType>::initial()
            }
        }

        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, crate::dds::DdsType)]
        #[dds(bitmask, bit_bound = 12, flag(READY = 2), flag(BUSY = 3), flag(BROKEN = 11), name = "robot::parts::Flags", crate = "crate::dds")]
        pub struct Flags(pub u16);

        impl Flags {
            pub const READY: Self = Self(1 << 2);
            pub const BUSY: Self = Self(1 << 3);
            pub const BROKEN: Self = Self(1 << 11);
        }

        impl Default for Flags {
            fn default() -> Self {
                <Self as crate::dds::cdr::CdrType>::initial()
            }
        }

        impl ::core::ops::BitOr for Flags {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl ::core::ops::BitAnd for Flags {
            type Output = Self;

            fn bitand(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }
        }

        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, crate::dds::DdsType)]
        #[dds(bitmask, flag(self = 0), flag(type = 1), name = "robot::parts::Long", crate = "crate::dds")]
        pub struct Long(pub u32);

        impl Long {
            pub const self_: Self = Self(1 << 0);
            pub const r#type: Self = Self(1 << 1);
        }

        impl Default for Long {
            fn default() -> Self {
                <Self as crate::dds::cdr::CdrType>::initial()
            }
        }

        impl ::core::ops::BitOr for Long {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl ::core::ops::BitAnd for Long {
            type Output = Self;

            fn bitand(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }
        }

        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, crate::dds::DdsType)]
        #[dds(bitset, name = "robot::parts::Status", crate = "crate::dds")]
        pub struct Status(pub u32);

        impl Status {
            /// 3 bits from bit 0 on.
            pub const fn mode(self) -> u8 {
                ((self.0 >> 0) & 0x7) as u8
            }

            /// The same with another `mode`, of which the lowest 3 bits are taken.
            #[must_use]
            pub const fn with_mode(self, value: u8) -> Self {
                Self((self.0 & !(0x7 << 0)) | (((value as u32) & 0x7) << 0))
            }
            /// 1 bits from bit 3 on.
            pub const fn on(self) -> bool {
                (self.0 >> 3) & 1 != 0
            }

            /// The same with another `on`, of which the lowest 1 bits are taken.
            #[must_use]
            pub const fn with_on(self, value: bool) -> Self {
                Self((self.0 & !(0x1 << 3)) | (((value as u32) & 0x1) << 3))
            }
            /// 5 bits from bit 6 on.
            pub const fn offset(self) -> i16 {
                ((((self.0 as u64) << 53) as i64) >> 59) as i16
            }

            /// The same with another `offset`, of which the lowest 5 bits are taken.
            #[must_use]
            pub const fn with_offset(self, value: i16) -> Self {
                Self((self.0 & !(0x1f << 6)) | (((value as u32) & 0x1f) << 6))
            }
            /// 20 bits from bit 11 on.
            pub const fn count(self) -> u32 {
                ((self.0 >> 11) & 0xfffff) as u32
            }

            /// The same with another `count`, of which the lowest 20 bits are taken.
            #[must_use]
            pub const fn with_count(self, value: u32) -> Self {
                Self((self.0 & !(0xfffff << 11)) | (((value as u32) & 0xfffff) << 11))
            }
        }

        impl Default for Status {
            fn default() -> Self {
                <Self as crate::dds::cdr::CdrType>::initial()
            }
        }

        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, crate::dds::DdsType)]
        #[dds(bitset, name = "robot::parts::Wider", crate = "crate::dds")]
        pub struct Wider(pub u64);

        impl Wider {
            /// 3 bits from bit 0 on.
            pub const fn mode(self) -> u8 {
                ((self.0 >> 0) & 0x7) as u8
            }

            /// The same with another `mode`, of which the lowest 3 bits are taken.
            #[must_use]
            pub const fn with_mode(self, value: u8) -> Self {
                Self((self.0 & !(0x7 << 0)) | (((value as u64) & 0x7) << 0))
            }
            /// 1 bits from bit 3 on.
            pub const fn on(self) -> bool {
                (self.0 >> 3) & 1 != 0
            }

            /// The same with another `on`, of which the lowest 1 bits are taken.
            #[must_use]
            pub const fn with_on(self, value: bool) -> Self {
                Self((self.0 & !(0x1 << 3)) | (((value as u64) & 0x1) << 3))
            }
            /// 5 bits from bit 6 on.
            pub const fn offset(self) -> i16 {
                ((((self.0 as u64) << 53) as i64) >> 59) as i16
            }

            /// The same with another `offset`, of which the lowest 5 bits are taken.
            #[must_use]
            pub const fn with_offset(self, value: i16) -> Self {
                Self((self.0 & !(0x1f << 6)) | (((value as u64) & 0x1f) << 6))
            }
            /// 20 bits from bit 11 on.
            pub const fn count(self) -> u32 {
                ((self.0 >> 11) & 0xfffff) as u32
            }

            /// The same with another `count`, of which the lowest 20 bits are taken.
            #[must_use]
            pub const fn with_count(self, value: u32) -> Self {
                Self((self.0 & !(0xfffff << 11)) | (((value as u64) & 0xfffff) << 11))
            }
            /// 30 bits from bit 31 on.
            pub const fn rest(self) -> u32 {
                ((self.0 >> 31) & 0x3fffffff) as u32
            }

            /// The same with another `rest`, of which the lowest 30 bits are taken.
            #[must_use]
            pub const fn with_rest(self, value: u32) -> Self {
                Self((self.0 & !(0x3fffffff << 31)) | (((value as u64) & 0x3fffffff) << 31))
            }
        }

        impl Default for Wider {
            fn default() -> Self {
                <Self as crate::dds::cdr::CdrType>::initial()
            }
        }

        #[derive(Clone, Copy, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
        #[dds(name = "robot::parts::Lamp", crate = "crate::dds")]
        pub struct Lamp(pub Light);

        impl Default for Lamp {
            fn default() -> Self {
                <Self as crate::dds::cdr::CdrType>::initial()
            }
        }

        #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
        #[dds(name = "robot::parts::Bytes", crate = "crate::dds")]
        pub struct Bytes(#[dds(octet)] pub Vec<u8>);

        impl Default for Bytes {
            fn default() -> Self {
                <Self as crate::dds::cdr::CdrType>::initial()
            }
        }

        #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
        #[dds(name = "robot::parts::Words", crate = "crate::dds")]
        pub struct Words(pub crate::dds::cdr::BoundedVec<crate::dds::cdr::BoundedString<10>, 12>);

        impl Default for Words {
            fn default() -> Self {
                <Self as crate::dds::cdr::CdrType>::initial()
            }
        }

        #[derive(Clone, Copy, PartialEq, Debug, crate::dds::DdsType)]
        #[dds(name = "robot::parts::Matrix", crate = "crate::dds")]
        pub struct Matrix(pub [[f64; 12]; 3]);

        impl Default for Matrix {
            fn default() -> Self {
                <Self as crate::dds::cdr::CdrType>::initial()
            }
        }

        #[derive(Clone, Copy, PartialEq, Debug, crate::dds::DdsType)]
        #[dds(name = "robot::parts::Matrices", crate = "crate::dds")]
        pub struct Matrices(pub [Matrix; 2]);

        impl Default for Matrices {
            fn default() -> Self {
                <Self as crate::dds::cdr::CdrType>::initial()
            }
        }

        #[derive(Clone, PartialEq, Debug, crate::dds::DdsType)]
        #[dds(name = "robot::parts::Table", crate = "crate::dds")]
        pub struct Table(pub crate::dds::cdr::BoundedMap<i16, crate::dds::cdr::BoundedVec<super::super::base::Meters, 4>, 9>);

        impl Default for Table {
            fn default() -> Self {
                <Self as crate::dds::cdr::CdrType>::initial()
            }
        }

        #[derive(Clone, Copy, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
        #[dds(name = "robot::parts::Letter", crate = "crate::dds")]
        pub struct Letter(pub crate::dds::cdr::Char8);

        impl Default for Letter {
            fn default() -> Self {
                <Self as crate::dds::cdr::CdrType>::initial()
            }
        }
    }
}

#[allow(missing_docs, dead_code, unreachable_pub, unused_qualifications, nonstandard_style, clippy::all)]
pub mod Vec_ {
    #[derive(Clone, PartialEq, Debug, Eq, Hash, crate::dds::DdsType)]
    #[dds(final, name = "Vec::String", crate = "crate::dds")]
    pub struct String_ {
        pub u8: i32,
    }

    impl Default for String_ {
        fn default() -> Self {
            <Self as crate::dds::cdr::CdrType>::initial()
        }
    }
}
