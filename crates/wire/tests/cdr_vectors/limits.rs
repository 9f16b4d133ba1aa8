//! What values and types refuse.
use std::collections::BTreeMap;

use derive::DdsType;
use wire::cdr::{BoundedString, BoundedVec, DdsType, DecodeFault, EncodeFault, Representation, WString};

use crate::{BE1, LE1, LE2, check, fault};

#[derive(DdsType, Debug, PartialEq)]
#[dds(bit_bound = 16)]
pub(crate) enum Strict {
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
pub(crate) struct Bits(pub(crate) u8);

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
    let bytes = [0, 0, 0, 2, 0xfe, 0xd5, 0, 0, 0, 0, 0, 0, 5, 1, 0, 0];
    check(&value, BE1, &bytes);
    let changed = |at: usize, octet| {
        let mut changed = bytes;
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
        "bits outside of the bitmask's bit bound are set, member \"bits\" at byte 8"
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
    assert_eq!(list.into_inner(), [0_u8; 0]);
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
    // 40 levels: each a DHEADER, a presence byte and padding.
    let mut payload = vec![0, 9, 0, 0];
    for level in 0..40_u32 {
        payload.extend((8 * (40 - level)).to_le_bytes());
        payload.extend([1, 0, 0, 0]);
    }
    payload.extend([0; 4]);
    assert_eq!(fault::<Chain>(&payload), DecodeFault::TooDeep);
}

#[test]
fn text_that_cannot_travel_is_refused() {
    let error = Limits { text: "a\0".into(), ..limits() }.serialized_size(Representation::Xcdr1).unwrap_err();
    assert_eq!((error.fault, error.member), (EncodeFault::EmbeddedNul, Some("label")));
    let text = |bytes: &[u8]| {
        let mut payload = vec![0, 1, 0, 0, 0, 0, 0, 0];
        payload.extend((bytes.len() as u32).to_le_bytes());
        payload.extend(bytes);
        fault::<Limits>(&payload)
    };
    assert_eq!(text(b""), DecodeFault::MissingNul);
    assert_eq!(text(b"abc"), DecodeFault::MissingNul);
    assert_eq!(text(b"\0b\0"), DecodeFault::EmbeddedNul);
    assert_eq!(text(b"\xff\0"), DecodeFault::NotUtf8);
    assert_eq!(text(b"ab\0"), DecodeFault::Truncated, "the text is fine, the rest is missing");
}
