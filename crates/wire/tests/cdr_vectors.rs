//! CDR by hand: octets that the rules of XTypes 1.3, 7.4 give for small values.
use std::collections::BTreeMap;

use derive::DdsType;
use wire::cdr::{
    BoundedMap, BoundedString, BoundedVec, CdrType, Char8, Char16, DdsType, Encoding, Representation, WString,
};
use wire::cursor::Endianness;

const LE1: Encoding = Encoding { representation: Representation::Xcdr1, endianness: Endianness::Little };
const BE1: Encoding = Encoding { representation: Representation::Xcdr1, endianness: Endianness::Big };
const LE2: Encoding = Encoding { representation: Representation::Xcdr2, endianness: Endianness::Little };
const BE2: Encoding = Encoding { representation: Representation::Xcdr2, endianness: Endianness::Big };

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Plain {
    a: u8,
    b: u64,
    c: u16,
    d: bool,
}

#[track_caller]
fn check<T: DdsType + PartialEq + core::fmt::Debug>(value: &T, encoding: Encoding, octets: &[u8]) {
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

#[test]
fn version_2_aligns_to_four_at_most() {
    let value = Plain { a: 1, b: 2, c: 3, d: true };
    check(&value, LE1, &[0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 1, 0]);
    check(&value, BE2, &[0, 6, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 1, 0]);
    assert_eq!(Plain::MAX_SERIALIZED_SIZE_XCDR1, Some(19));
    assert_eq!(Plain::MAX_SERIALIZED_SIZE_XCDR2, Some(15));
}
