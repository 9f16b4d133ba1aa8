//! CDR by hand: octets that the rules of XTypes 1.3, 7.4 give for small values.
#![allow(clippy::unwrap_used, clippy::panic, reason = "in a test a panic is the report")]

use std::collections::BTreeMap;
use std::fmt::Debug;

use derive::DdsType;
use wire::cdr::{
    BoundedString, BoundedVec, CdrType, Char16, DdsType, DecodeFault, EncodeFault, Encoding, Extensibility,
    LengthCode, Representation, WString, payload_size,
};
use wire::cursor::Endianness;

const LE1: Encoding = Encoding { representation: Representation::Xcdr1, endianness: Endianness::Little };
const BE1: Encoding = Encoding { representation: Representation::Xcdr1, endianness: Endianness::Big };
const LE2: Encoding = Encoding { representation: Representation::Xcdr2, endianness: Endianness::Little };
const BE2: Encoding = Encoding { representation: Representation::Xcdr2, endianness: Endianness::Big };

#[track_caller]
fn check<T: DdsType + PartialEq + Debug>(value: &T, encoding: Encoding, octets: &[u8]) {
    let mut payload = Vec::new();
    value.encode_payload(encoding, &mut payload).unwrap();
    assert_eq!(payload, octets, "encoded");
    assert_eq!(T::decode_payload(octets).as_ref(), Ok(value), "decoded");
    let padding = usize::from(octets[3]);
    assert_eq!(value.serialized_size(encoding.representation), Ok(octets.len() - 4 - padding), "size");
    let mut space = vec![0; octets.len()];
    assert_eq!(value.encode_payload_to(encoding, &mut space), Ok(octets.len()));
    assert_eq!(space, octets, "encoded in place");
}

#[track_caller]
fn fault<T: DdsType + Debug>(octets: &[u8]) -> DecodeFault {
    T::decode_payload(octets).unwrap_err().fault
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Plain {
    a: u8,
    b: u64,
    c: u16,
    d: bool,
}

#[test]
fn version_2_aligns_to_four_at_most() {
    let value = Plain { a: 1, b: 2, c: 3, d: true };
    check(&value, LE1, &[0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 1, 0]);
    check(&value, BE2, &[0, 6, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 1, 0]);
    assert_eq!(Plain::MAX_SERIALIZED_SIZE_XCDR1, Some(19));
    assert_eq!(Plain::MAX_SERIALIZED_SIZE_XCDR2, Some(15));
    assert_eq!(payload_size(15), 20);
    assert_eq!(payload_size(usize::MAX), usize::MAX);
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Wide {
    a: u8,
    text: WString,
    unit: Char16,
}

#[test]
fn wide_strings_count_octets_and_have_no_nul() {
    let value = Wide { a: 1, text: "aé".into(), unit: Char16(0x20ac) };
    let octets = [0, 7, 0, 2, 1, 0, 0, 0, 4, 0, 0, 0, 0x61, 0, 0xe9, 0, 0xac, 0x20, 0, 0];
    check(&value, LE2, &octets);
    check(&value, BE1, &[0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 4, 0, 0x61, 0, 0xe9, 0x20, 0xac, 0, 0]);
    assert_eq!(value.text.to_string_lossy(), "aé");
    let mut odd = octets;
    odd[8] = 3;
    assert_eq!(fault::<Wide>(&odd), DecodeFault::OddWideString);
    let mut nul = octets;
    nul[12] = 0;
    assert_eq!(fault::<Wide>(&nul), DecodeFault::EmbeddedNul);
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(mutable, discriminator = "i16", key)]
enum MutableUnion {
    #[dds(case = 1)]
    Number(u32),
    #[dds(case = -2, id = 7)]
    Text(String),
    #[dds(default)]
    Nothing,
}

#[test]
fn mutable_unions_have_members_with_headers() {
    let number = MutableUnion::Number(5);
    let version_2 = [0, 11, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0x90, 1, 0, 0, 0, 1, 0, 0, 0x20, 5, 0, 0, 0];
    check(&number, LE2, &version_2);
    let version_1 = [0, 2, 0, 0, 0x40, 0, 0, 2, 0, 1, 0, 0, 0, 1, 0, 4, 0, 0, 0, 5, 0x7f, 2, 0, 0];
    check(&number, BE1, &version_1);
    check(&MutableUnion::Nothing, BE2, &[0, 10, 0, 2, 0, 0, 0, 6, 0x90, 0, 0, 0, 0, 0, 0, 0]);
    let text = MutableUnion::Text("a".into());
    check(
        &text,
        BE2,
        &[
            0, 10, 0, 2, 0, 0, 0, 18, 0x90, 0, 0, 0, 0xff, 0xfe, 0, 0, 0x50, 0, 0, 7, 0, 0, 0, 2, b'a', 0, 0,
            0,
        ],
    );
    // Only the discriminator is the key.
    let mut key = Vec::new();
    text.encode_key_payload(LE2, &mut key).unwrap();
    assert_eq!(key, [0, 11, 0, 2, 6, 0, 0, 0, 0, 0, 0, 0x90, 0xfe, 0xff, 0, 0]);
    assert_eq!(MutableUnion::decode_key_payload(&key), Ok(MutableUnion::Text(String::new())));
    assert_eq!(MutableUnion::MAX_KEY_SIZE_XCDR2, Some(2));
    assert_eq!(text.key_hash(Representation::Xcdr2, &mut Vec::new()).unwrap().0[..3], [0xff, 0xfe, 0]);
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final, discriminator = "u8")]
enum Labelled {
    #[dds(case = 1)]
    #[dds(case = 2)]
    Kept(u8, u8),
    #[dds(default)]
    Other(u8, i8),
}

#[test]
fn labels_that_are_kept_are_written_and_checked() {
    check(&Labelled::Kept(2, 9), LE1, &[0, 1, 0, 2, 2, 9, 0, 0]);
    check(&Labelled::Other(0, 9), LE1, &[0, 1, 0, 2, 0, 9, 0, 0]);
    for wrong in [Labelled::Kept(3, 9), Labelled::Other(1, 9)] {
        let error = wrong.serialized_size(Representation::Xcdr1).unwrap_err();
        assert_eq!(error.fault, EncodeFault::WrongDiscriminator);
    }
    assert_eq!(Labelled::initial(), Labelled::Kept(1, 0));
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(mutable)]
struct Version1 {
    #[dds(id = 1)]
    a: u16,
    #[dds(id = 2)]
    b: String,
    #[dds(id = 9)]
    c: Option<u8>,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(mutable)]
struct Version2 {
    #[dds(id = 5)]
    new: Vec<u64>,
    #[dds(id = 2)]
    b: String,
    #[dds(id = 1)]
    a: u16,
    #[dds(id = 0x10_0000)]
    far: u8,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(mutable)]
struct Version3 {
    #[dds(id = 1)]
    a: u16,
    #[dds(id = 77, must_understand)]
    needed: u8,
}

#[test]
fn members_of_mutable_types_come_in_any_order() {
    for encoding in [LE1, BE1, LE2, BE2] {
        let mut payload = Vec::new();
        Version2 { new: vec![1, 2], b: "text".into(), a: 3, far: 4 }
            .encode_payload(encoding, &mut payload)
            .unwrap();
        let expected = Version1 { a: 3, b: "text".into(), c: None };
        assert_eq!(Version1::decode_payload(&payload), Ok(expected));

        payload.clear();
        Version1 { a: 3, b: "text".into(), c: Some(1) }.encode_payload(encoding, &mut payload).unwrap();
        let expected = Version2 { new: vec![], b: "text".into(), a: 3, far: 0 };
        assert_eq!(Version2::decode_payload(&payload), Ok(expected));

        payload.clear();
        Version3 { a: 3, needed: 1 }.encode_payload(encoding, &mut payload).unwrap();
        assert_eq!(fault::<Version1>(&payload), DecodeFault::MustUnderstand(77));
    }
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Long {
    a: u8,
    blob: Option<Vec<u8>>,
    b: u64,
}

#[test]
fn parameters_over_64_kib_have_the_long_header() {
    let value = |len| Long { a: 1, blob: Some(vec![7; len]), b: 2 };
    for (len, header) in [(65_531, 4), (65_532, 12)] {
        let value = value(len);
        let mut payload = Vec::new();
        value.encode_payload(LE1, &mut payload).unwrap();
        assert_eq!(payload[8..10], if header == 4 { [1, 0] } else { [1, 0x7f] });
        assert_eq!(Long::decode_payload(&payload).as_ref(), Ok(&value));
        let size = (4 + header + 4 + len).next_multiple_of(8) + 8;
        assert_eq!(value.serialized_size(Representation::Xcdr1), Ok(size));
        let mut space = vec![0; payload.len()];
        assert_eq!(value.encode_payload_to(LE1, &mut space), Ok(payload.len()));
        assert_eq!(space, payload);
        space.pop();
        assert!(value.encode_payload_to(LE1, &mut space).is_err());
    }
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(bit_bound = 16)]
enum Strict {
    A = -300,
    B,
}

#[derive(DdsType, Debug, PartialEq)]
enum Lenient {
    A,
    #[dds(default)]
    B,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(bitmask, bit_bound = 3)]
struct Bits(u8);

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Choices {
    strict: Strict,
    lenient: Lenient,
    bits: Bits,
    yes: bool,
}

#[test]
fn values_outside_of_a_type_are_refused() {
    let value = Choices { strict: Strict::B, lenient: Lenient::A, bits: Bits(5), yes: true };
    let octets = [0, 0, 0, 2, 0xfe, 0xd5, 0, 0, 0, 0, 0, 0, 5, 1, 0, 0];
    check(&value, BE1, &octets);
    let changed = |at: usize, octet| {
        let mut changed = octets;
        changed[at] = octet;
        Choices::decode_payload(&changed)
    };
    let error = changed(4, 0).unwrap_err();
    assert_eq!((error.fault, error.member, error.at), (DecodeFault::UnknownLiteral(0xd5), Some("strict"), 2));
    assert_eq!(changed(8, 1).unwrap().lenient, Lenient::B, "the default literal");
    assert_eq!(changed(12, 8).unwrap_err().fault, DecodeFault::UnknownBits);
    assert_eq!(changed(13, 2).unwrap_err().fault, DecodeFault::NotABool(2));
    let error = Choices { bits: Bits(8), ..value }.serialized_size(Representation::Xcdr1).unwrap_err();
    assert_eq!((error.fault, error.member), (EncodeFault::UnknownBits, Some("bits")));
    assert_eq!(
        error.to_string(),
        "bits outside of the bitmask's bit bound are set, member \"bits\" at octet 8"
    );
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final, name = "test::Limits")]
struct Limits {
    #[dds(bound = 2)]
    list: Vec<u8>,
    #[dds(bound = 3, name = "label")]
    text: String,
    #[dds(bound = 1)]
    map: BTreeMap<u8, u8>,
    #[dds(bound = 2)]
    wide: Option<WString>,
}

fn limits() -> Limits {
    let map = BTreeMap::from([(1, 2)]);
    Limits { list: vec![1, 2], text: "abc".into(), map, wide: Some("ab".into()) }
}

#[test]
fn bounds_hold_in_both_directions() {
    assert_eq!(Limits::TYPE_NAME, "test::Limits");
    for representation in [Representation::Xcdr1, Representation::Xcdr2] {
        let size = limits().serialized_size(representation).unwrap();
        assert_eq!(Limits::max_serialized_size(representation), Some(size));
    }
    let over = |limits: &Limits, bound, actual, member| {
        let error = limits.serialized_size(Representation::Xcdr2).unwrap_err();
        assert_eq!(error.fault, EncodeFault::OverBound { bound, actual });
        assert_eq!(error.member, Some(member));
    };
    over(&Limits { list: vec![1, 2, 3], ..limits() }, 2, 3, "list");
    over(&Limits { text: "abcd".into(), ..limits() }, 3, 4, "label");
    over(&Limits { map: BTreeMap::from([(1, 2), (3, 4)]), ..limits() }, 1, 2, "map");
    over(&Limits { wide: Some("abc".into()), ..limits() }, 2, 3, "wide");

    let mut payload = Vec::new();
    limits().encode_payload(LE2, &mut payload).unwrap();
    let mut error_at = |at: usize, octet: u8| {
        let old = std::mem::replace(&mut payload[at], octet);
        let error = Limits::decode_payload(&payload).unwrap_err();
        payload[at] = old;
        (error.fault, error.member)
    };
    let over = |bound, actual| DecodeFault::OverBound { bound, actual };
    assert_eq!(error_at(4, 3), (over(2, 3), Some("list")));
    assert_eq!(error_at(12, 5), (over(3, 4), Some("label")));
    assert_eq!(error_at(20, 2), (over(1, 2), Some("map")));
    assert_eq!(error_at(28, 6), (over(2, 3), Some("wide")));
}

#[test]
fn bounded_values_refuse_what_is_too_much() {
    let error = BoundedString::<3>::try_from(String::from("abcd")).unwrap_err();
    assert_eq!((error.bound, error.actual), (3, 4));
    let mut list = BoundedVec::<u8, 2>::new();
    assert!(list.modify(|list| list.extend([1, 2])).is_ok());
    assert_eq!(*list, [1, 2]);
    assert!(list.modify(|list| list.push(3)).is_err());
    assert_eq!(list.into_inner(), []);
}

#[derive(DdsType, Debug, PartialEq)]
struct Alias(Vec<u32>);

#[derive(DdsType, Debug, PartialEq)]
#[dds(mutable)]
struct Codes {
    alias: Alias,
    mask: Bits,
    halves: [u16; 2],
    tables: [Alias; 1],
}

#[test]
fn another_name_changes_no_octet() {
    assert_eq!(Alias::LENGTH_CODE, LengthCode::OwnFours);
    let value = Codes { alias: Alias(vec![1]), mask: Bits(7), halves: [2, 3], tables: [Alias(vec![])] };
    let octets = [
        0, 11, 0, 0, 44, 0, 0, 0, //
        0, 0, 0, 0x60, 1, 0, 0, 0, 1, 0, 0, 0, // 4 * 1 octets after the count
        1, 0, 0, 0, 7, 0, 0, 0, //
        2, 0, 0, 0x40, 4, 0, 0, 0, 2, 0, 3, 0, //
        3, 0, 0, 0x50, 4, 0, 0, 0, 0, 0, 0, 0,
    ];
    check(&value, LE2, &octets);
}

#[derive(DdsType, Debug, PartialEq)]
struct Chain {
    next: Option<Box<Chain>>,
}

#[test]
fn depth_is_limited_in_both_directions() {
    let chain = |len| (1..len).fold(Chain { next: None }, |inner, _| Chain { next: Some(Box::new(inner)) });
    for encoding in [LE1, LE2] {
        let mut payload = Vec::new();
        chain(32).encode_payload(encoding, &mut payload).unwrap();
        assert_eq!(Chain::decode_payload(&payload), Ok(chain(32)));
        let error = chain(33).encode_payload(encoding, &mut payload.clone()).unwrap_err();
        assert_eq!(error.fault, EncodeFault::TooDeep);
    }
    // 40 levels: each a DHEADER, a presence octet and padding.
    let mut payload = vec![0, 9, 0, 0];
    for level in 0..40_u32 {
        payload.extend((8 * (40 - level)).to_le_bytes());
        payload.extend([1, 0, 0, 0]);
    }
    payload.extend([0; 4]);
    assert_eq!(fault::<Chain>(&payload), DecodeFault::TooDeep);
}

#[derive(DdsType, Debug, PartialEq)]
struct Tail {
    a: u32,
    b: Option<u8>,
    c: Strict,
}

#[test]
fn a_missing_tail_has_initial_values() {
    let expected = Ok(Tail { a: 1, b: None, c: Strict::A });
    assert_eq!(Tail::decode_payload(&[0, 9, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0]), expected);
    assert_eq!(Tail::decode_payload(&[0, 1, 0, 0, 1, 0, 0, 0]), expected);
    // Cut inside of a member that is there.
    assert_eq!(fault::<Tail>(&[0, 9, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 0, 0]), DecodeFault::Truncated);
    assert_eq!(fault::<Tail>(&[0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0]), DecodeFault::Truncated);
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(bit_bound = 8)]
enum NotZero {
    One = 1,
}

#[derive(DdsType, Debug, PartialEq)]
struct OldTail {
    a: u8,
}

#[derive(DdsType, Debug, PartialEq)]
struct NewTail {
    a: u8,
    b: NotZero,
    c: u32,
}

#[test]
fn padding_that_is_not_announced_is_no_member() {
    let payload = [0, 1, 0, 0, 9, 0, 0, 0];
    assert_eq!(OldTail::decode_payload(&payload), Ok(OldTail { a: 9 }));
    assert_eq!(NewTail::decode_payload(&payload), Ok(NewTail { a: 9, b: NotZero::One, c: 0 }));
    assert_eq!(fault::<NewTail>(&[0, 1, 0, 0, 9, 2, 0, 0]), DecodeFault::UnknownLiteral(2));
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Tails {
    tails: Vec<Tail>,
}

#[test]
fn elements_without_a_dheader_are_whole() {
    // Two elements: the first whole, with an optional member, and nothing of the second but its first member.
    let payload = [
        0, 1, 0, 0, 2, 0, 0, 0, //
        1, 0, 0, 0, 1, 0, 4, 0, 7, 0, 0, 0, 0xd4, 0xfe, 0, 0, //
        2, 0, 0, 0,
    ];
    assert_eq!(fault::<Tails>(&payload), DecodeFault::Truncated);
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Element {
    much: [u64; 4],
    #[dds(key)]
    id: u8,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct KeyedElements {
    #[dds(key, bound = 3)]
    elements: Vec<Element>,
}

#[test]
fn elements_of_keys_are_short() {
    let value = KeyedElements { elements: (1..4).map(|id| Element { much: [0; 4], id }).collect() };
    for (encoding, octets) in [
        (LE1, &[0, 1, 0, 1, 3, 0, 0, 0, 1, 2, 3, 0][..]),
        (LE2, &[0, 7, 0, 1, 7, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3, 0]),
    ] {
        let mut key = Vec::new();
        value.encode_key_payload(encoding, &mut key).unwrap();
        assert_eq!(key, octets);
        assert_eq!(KeyedElements::decode_key_payload(&key).as_ref(), Ok(&value));
    }
    assert_eq!(KeyedElements::MAX_KEY_SIZE_XCDR1, Some(7));
    assert_eq!(KeyedElements::MAX_KEY_SIZE_XCDR2, Some(11));
    let hash = value.key_hash(Representation::Xcdr2, &mut Vec::new()).unwrap();
    assert_eq!(hash.0, [0, 0, 0, 7, 0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0, 0]);
    assert_eq!(KeyedElements::from_key_hash(hash, Representation::Xcdr2), Some(value));
}

#[test]
fn headers_are_those_of_the_standard() {
    use Extensibility::{Appendable, Final, Mutable};
    let expected = [
        (LE1, Final, 1),
        (BE1, Appendable, 0),
        (LE1, Mutable, 3),
        (BE1, Mutable, 2),
        (LE2, Final, 7),
        (BE2, Final, 6),
        (LE2, Appendable, 9),
        (BE2, Appendable, 8),
        (LE2, Mutable, 11),
        (BE2, Mutable, 10),
    ];
    for (encoding, extensibility, id) in expected {
        assert_eq!(encoding.header(extensibility, 3), [0, id, 0, 3]);
        let payload = [0, id, 0x12, 0xf2, 1, 2, 3];
        assert_eq!(
            Encoding::open(&payload, extensibility),
            Ok((encoding, &[1][..])),
            "two octets of padding"
        );
    }
    assert_eq!(fault::<Plain>(&[0, 3, 0, 0]), DecodeFault::WrongEncapsulation(3));
    assert_eq!(fault::<Plain>(&[0, 4, 0, 0]), DecodeFault::UnknownEncapsulation(4));
    assert_eq!(fault::<Plain>(&[0, 1, 0]), DecodeFault::Truncated);
    assert_eq!(fault::<Plain>(&[0, 1, 0, 3, 1]), DecodeFault::Truncated);
}

#[test]
fn text_that_cannot_travel_is_refused() {
    let error = Limits { text: "a\0".into(), ..limits() }.serialized_size(Representation::Xcdr1).unwrap_err();
    assert_eq!((error.fault, error.member), (EncodeFault::EmbeddedNul, Some("label")));
    let text = |octets: &[u8]| {
        let mut payload = vec![0, 1, 0, 0, 0, 0, 0, 0];
        payload.extend((octets.len() as u32).to_le_bytes());
        payload.extend(octets);
        fault::<Limits>(&payload)
    };
    assert_eq!(text(b""), DecodeFault::MissingNul);
    assert_eq!(text(b"abc"), DecodeFault::MissingNul);
    assert_eq!(text(b"\0b\0"), DecodeFault::EmbeddedNul);
    assert_eq!(text(b"\xff\0"), DecodeFault::NotUtf8);
    assert_eq!(text(b"ab\0"), DecodeFault::Truncated, "the text is fine, the rest is missing");
}
