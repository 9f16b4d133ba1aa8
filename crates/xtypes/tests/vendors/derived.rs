//! Types that the compiler knows have the type objects of the same types in IDL.
use std::collections::BTreeMap;

use derive::DdsType;
use wire::cdr::{BoundedString, BoundedVec, CdrType, Char8, Char16, WString};
use xtypes::{Described, describe};

#[derive(DdsType)]
enum Gear {
    #[dds(name = "REVERSE")]
    Reverse = -1,
    #[dds(name = "NEUTRAL", default)]
    Neutral,
}

#[derive(DdsType)]
#[dds(appendable, bit_bound = 16)]
enum Light {
    #[allow(dead_code, reason = "no value is made")]
    On,
}

#[derive(DdsType)]
struct Meters(f64);

#[derive(DdsType)]
#[dds(final, name = "robot::Place")]
struct Place {
    x: Meters,
    y: Box<Meters>,
}

#[derive(DdsType)]
#[dds(mutable, discriminator = "u8", autoid = "hash")]
#[allow(dead_code, reason = "no value is made")]
enum Choice {
    #[dds(case = 1, name = "one")]
    One(u16),
    #[dds(case = 2, case = 3, name = "places", bound = 300)]
    Places(Vec<Place>),
    #[dds(default, name = "other")]
    Other(BoundedVec<f64, 4>),
}

#[derive(DdsType)]
#[dds(discriminator = "Char8")]
#[allow(dead_code, reason = "no value is made")]
enum Lettered {
    #[dds(case = Char8(b'a'), name = "a")]
    A(bool),
    /// No member of the union: the label alone.
    #[dds(case = Char8(b'b'))]
    B,
}

#[derive(DdsType)]
#[dds(name = "Whole")]
#[allow(dead_code, reason = "no value is made")]
struct Written {
    #[dds(key)]
    name: BoundedString<20>,
    #[dds(id = 9)]
    numbers: Vec<u8>,
    #[dds(octet)]
    bytes: Vec<u8>,
    deep: Vec<Vec<i16>>,
    matrix: [[i32; 2]; 300],
    wide: WString,
    sign: Char16,
    #[dds(must_understand)]
    gear: Gear,
    light: Light,
    place: Option<Place>,
    choices: BTreeMap<i16, Choice>,
    #[dds(bound = 5)]
    short: String,
    lettered: Lettered,
}

const IDL: &str = r#"
    @bit_bound(32) @final enum Gear { REVERSE = -1, @default_literal NEUTRAL };
    @bit_bound(16) @appendable enum Light { On };
    typedef double Meters;
    module robot { @final struct Place { Meters x; @external Meters y; }; };
    @mutable @autoid(HASH) union Choice switch (uint8) {
        case 1: uint16 one;
        case 2: case 3: sequence<robot::Place, 300> places;
        default: sequence<double, 4> other;
    };
    @appendable union Lettered switch (char) { case 'a': boolean a; };
    @appendable struct Whole {
        @key string<20> name;
        @id(9) sequence<uint8> numbers;
        sequence<octet> bytes;
        sequence<sequence<int16>> deep;
        int32 matrix[300][2];
        wstring wide;
        wchar sign;
        @must_understand Gear gear;
        Light light;
        @optional robot::Place place;
        map<int16, Choice> choices;
        string<5> short;
        Lettered lettered;
    };
"#;

fn derived<T: CdrType>() -> Described {
    let (schema, index) = wire::schema::of(T::DESCRIPTION).unwrap();
    describe(&schema, index).unwrap()
}

fn in_idl(name: &str) -> Described {
    let schema = dynamic::idl::parse(IDL).unwrap();
    describe(&schema, schema.find(name).unwrap()).unwrap()
}

#[test]
fn derived_types_have_the_type_objects_of_their_idl() {
    assert_eq!(derived::<Gear>(), in_idl("Gear"));
    assert_eq!(derived::<Light>(), in_idl("Light"));
    assert_eq!(derived::<Place>(), in_idl("robot::Place"));
    assert_eq!(derived::<Choice>(), in_idl("Choice"));
    assert_eq!(derived::<Lettered>(), in_idl("Lettered"));
    assert_eq!(derived::<Written>(), in_idl("Whole"));
}

#[derive(DdsType)]
#[allow(dead_code, reason = "no value is made")]
struct List {
    value: u32,
    next: Option<Box<List>>,
}

#[derive(DdsType)]
#[dds(bitset, name = "Status", field("mode": u8 = 0..3), field("on": bool = 3..4), field("offset": i16 = 8..13))]
struct Bits(u16);

#[derive(DdsType)]
#[allow(dead_code, reason = "no value is made")]
struct Tuples {
    one: (u32, String),
    more: Vec<(u32, String)>,
    #[dds(name = "deep")]
    other: (Vec<Gear>, (f64, [u8; 2]), Bits),
}

#[test]
fn types_that_contain_themselves_bitsets_and_tuples() {
    let idl = "
        struct List;
        struct List { uint32 value; @optional @external List next; };
        enum Gear { @value(-1) REVERSE, @default_literal NEUTRAL };
        bitset Status { bitfield<3> mode; bitfield<1> on; bitfield<4>; bitfield<5, short> offset; };
        @final struct tuple_uint32_string { uint32 e0; string e1; };
        @final struct tuple_double_array2_uint8 { double e0; uint8 e1[2]; };
        @final struct tuple_sequence_Gear_tuple_double_array2_uint8_Status {
            sequence<Gear> e0; tuple_double_array2_uint8 e1; Status e2;
        };
        struct Tuples {
            tuple_uint32_string one; sequence<tuple_uint32_string> more;
            tuple_sequence_Gear_tuple_double_array2_uint8_Status deep;
        };";
    let schema = dynamic::idl::parse(idl).unwrap();
    let in_idl = |name: &str| describe(&schema, schema.find(name).unwrap()).unwrap();
    assert_eq!(derived::<List>(), in_idl("List"));
    assert_eq!(derived::<Tuples>(), in_idl("Tuples"));
}
