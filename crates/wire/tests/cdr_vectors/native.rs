//! Types of Rust that stand for types of IDL: bytes by hand.
use std::collections::HashMap;

use super::*;

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Pairs {
    pair: (u8, u32),
    more: Vec<(u16, u8)>,
}

#[test]
fn a_tuple_is_a_final_structure() {
    let value = Pairs { pair: (1, 2), more: vec![(3, 4), (5, 6)] };
    check(&value, LE1, &[0, 1, 0, 1, 1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    // In version 2 a sequence of structures begins with its length.
    check(
        &value,
        BE2,
        &[0, 6, 0, 1, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 11, 0, 0, 0, 2, 0, 3, 4, 0, 0, 5, 6, 0],
    );
    assert_eq!(<(u8, u32)>::SIZE_XCDR2.max(), Some(8));
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Hashed {
    #[dds(bound = 2)]
    map: HashMap<u8, u16>,
    after: u8,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(mutable)]
struct MutableHashed {
    map: HashMap<String, u32>,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(mutable)]
struct MutableSorted {
    map: std::collections::BTreeMap<String, u32>,
}

#[test]
fn a_hash_map_is_a_map_in_the_order_of_its_keys() {
    let value = Hashed { map: HashMap::from([(9, 3), (1, 2)]), after: 7 };
    check(&value, LE2, &[0, 7, 0, 3, 2, 0, 0, 0, 1, 0, 2, 0, 9, 0, 3, 0, 7, 0, 0, 0]);
    assert_eq!(Hashed::MAX_SERIALIZED_SIZE_XCDR2, Some(13));
    let value = Hashed { map: (0..3).map(|key| (key, 0)).collect(), after: 7 };
    let error = value.encode_payload(LE2, &mut Vec::new()).unwrap_err();
    assert_eq!(error.fault, EncodeFault::OverBound { bound: 2, actual: 3 });
}

#[test]
fn a_hash_map_is_written_like_a_sorted_one() {
    let entries = || (0..50_u32).map(|number| (format!("key {number}"), number));
    let (hashed, sorted) =
        (MutableHashed { map: entries().collect() }, MutableSorted { map: entries().collect() });
    for encoding in [LE1, BE1, LE2, BE2] {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        hashed.encode_payload(encoding, &mut one).unwrap();
        sorted.encode_payload(encoding, &mut other).unwrap();
        assert_eq!(one, other);
        assert_eq!(MutableHashed::decode_payload(&other).unwrap(), hashed);
    }
    assert_eq!(MutableHashed::initial(), MutableHashed { map: HashMap::new() });
}
