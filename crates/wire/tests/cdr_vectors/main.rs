//! CDR by hand: bytes that the rules of XTypes 1.3, 7.4 give for small values.
#![allow(clippy::unwrap_used, clippy::panic, reason = "in a test a panic is the report")]

mod evolution;
mod limits;
mod native;

use std::fmt::Debug;

use derive::DdsType;
use wire::cdr::{
    CdrType, Char16, DdsType, DecodeFault, EncodeFault, Encoding, LengthCode, Representation, WString,
    payload_size,
};
use wire::cursor::Endianness;

use limits::Bits;

const LE1: Encoding = Encoding { representation: Representation::Xcdr1, endianness: Endianness::Little };
const BE1: Encoding = Encoding { representation: Representation::Xcdr1, endianness: Endianness::Big };
const LE2: Encoding = Encoding { representation: Representation::Xcdr2, endianness: Endianness::Little };
const BE2: Encoding = Encoding { representation: Representation::Xcdr2, endianness: Endianness::Big };

#[track_caller]
fn check<T: DdsType + PartialEq + Debug>(value: &T, encoding: Encoding, bytes: &[u8]) {
    let mut payload = Vec::new();
    value.encode_payload(encoding, &mut payload).unwrap();
    assert_eq!(payload, bytes, "encoded");
    assert_eq!(T::decode_payload(bytes).as_ref(), Ok(value), "decoded");
    let padding = usize::from(bytes[3]);
    assert_eq!(value.serialized_size(encoding.representation), Ok(bytes.len() - 4 - padding), "size");
    let mut space = vec![0; bytes.len()];
    assert_eq!(value.encode_payload_to(encoding, &mut space), Ok(bytes.len()));
    assert_eq!(space, bytes, "encoded in place");
}

#[track_caller]
fn fault<T: DdsType + Debug>(bytes: &[u8]) -> DecodeFault {
    T::decode_payload(bytes).unwrap_err().fault
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
    let bytes = [0, 7, 0, 2, 1, 0, 0, 0, 4, 0, 0, 0, 0x61, 0, 0xe9, 0, 0xac, 0x20, 0, 0];
    check(&value, LE2, &bytes);
    check(&value, BE1, &[0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 4, 0, 0x61, 0, 0xe9, 0x20, 0xac, 0, 0]);
    assert_eq!(value.text.to_string_lossy(), "aé");
    let mut odd = bytes;
    odd[8] = 3;
    assert_eq!(fault::<Wide>(&odd), DecodeFault::OddWideString);
    let mut nul = bytes;
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
    let bytes = [
        0, 11, 0, 0, 44, 0, 0, 0, //
        0, 0, 0, 0x60, 1, 0, 0, 0, 1, 0, 0, 0, // 4 * 1 octets after the count
        1, 0, 0, 0, 7, 0, 0, 0, //
        2, 0, 0, 0x40, 4, 0, 0, 0, 2, 0, 3, 0, //
        3, 0, 0, 0x50, 4, 0, 0, 0, 0, 0, 0, 0,
    ];
    check(&value, LE2, &bytes);
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
    for (encoding, bytes) in [
        (LE1, &[0, 1, 0, 1, 3, 0, 0, 0, 1, 2, 3, 0][..]),
        (LE2, &[0, 7, 0, 1, 7, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3, 0]),
    ] {
        let mut key = Vec::new();
        value.encode_key_payload(encoding, &mut key).unwrap();
        assert_eq!(key, bytes);
        assert_eq!(KeyedElements::decode_key_payload(&key).as_ref(), Ok(&value));
    }
    assert_eq!(KeyedElements::MAX_KEY_SIZE_XCDR1, Some(7));
    assert_eq!(KeyedElements::MAX_KEY_SIZE_XCDR2, Some(11));
    let hash = value.key_hash(Representation::Xcdr2, &mut Vec::new()).unwrap();
    assert_eq!(hash.0, [0, 0, 0, 7, 0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0, 0]);
    assert_eq!(KeyedElements::from_key_hash(hash, Representation::Xcdr2), Some(value));
}

/// The encoding under another path, as a crate that re-exports it has it.
mod product {
    pub(crate) use wire::cdr;

    #[derive(derive::DdsType, Debug, PartialEq)]
    #[dds(final, crate = "crate::product")]
    pub(crate) struct Elsewhere {
        pub(crate) a: u16,
        pub(crate) choice: Choice,
        pub(crate) mask: Mask,
    }

    #[derive(derive::DdsType, Debug, PartialEq)]
    #[dds(final, discriminator = "u8", crate = "crate::product")]
    pub(crate) enum Choice {
        #[dds(case = 1, bound = 2)]
        Text(String),
    }

    #[derive(derive::DdsType, Debug, PartialEq)]
    #[dds(bitmask, crate = "crate::product")]
    pub(crate) struct Mask(pub(crate) u8);
}

#[test]
fn the_encoding_can_have_another_path() {
    use product::{Choice, Elsewhere, Mask};
    let value = Elsewhere { a: 1, choice: Choice::Text("x".into()), mask: Mask(3) };
    check(&value, LE1, &[0, 1, 0, 1, 1, 0, 1, 0, 2, 0, 0, 0, b'x', 0, 3, 0]);
    assert_eq!(Elsewhere::MAX_SERIALIZED_SIZE_XCDR1, Some(12));
}
