//! Memory: nothing is allocated where there is room, and never more than the received bytes justify.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::collections::BTreeMap;
use std::hint::black_box;

use alloc_meter::measure;
use derive::DdsType;
use wire::cdr::{CdrType, DdsType, DecodeFault, Encoding, Representation, WString};

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

#[derive(DdsType, Debug, PartialEq)]
struct Part {
    name: String,
    values: Vec<f32>,
    extra: Option<u16>,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(mutable)]
struct Whole {
    #[dds(key)]
    id: String,
    blob: Vec<u8>,
    parts: Vec<Part>,
    grid: Vec<Vec<i64>>,
    wide: WString,
    flags: Vec<bool>,
    array: [[String; 2]; 2],
}

fn whole() -> Whole {
    Whole {
        id: "an identity of more than sixteen octets".into(),
        blob: vec![1; 3000],
        parts: (0..10)
            .map(|n| Part { name: "part".repeat(n), values: vec![0.5; n], extra: Some(1) })
            .collect(),
        grid: vec![vec![1, 2], vec![], vec![3]],
        wide: "wide".into(),
        flags: vec![true; 9],
        array: core::array::from_fn(|_| core::array::from_fn(|_| "text".into())),
    }
}

#[test]
fn with_room_nothing_is_allocated() {
    let value = whole();
    for encoding in [Encoding::XCDR1, Encoding::XCDR2] {
        let (size, usage) = measure(|| value.serialized_size(encoding.representation).unwrap());
        assert_eq!(usage.count, 0, "the size");

        let mut out = Vec::with_capacity(size + 8);
        let (result, usage) = measure(|| value.encode_payload(encoding, &mut out));
        assert_eq!((result, usage.count), (Ok(()), 0), "to the end of a vector");

        let mut space = vec![0; size + 8];
        let (result, usage) = measure(|| value.encode_payload_to(encoding, &mut space));
        assert_eq!((result.is_ok(), usage.count), (true, 0), "into a fixed space");

        let mut warm = Whole::decode_payload(&out).unwrap();
        let (result, usage) = measure(|| warm.decode_payload_into(&out));
        assert_eq!((result, usage.count), (Ok(()), 0), "into a value of the same shape");
        assert_eq!(warm, value);

        let mut scratch = Vec::with_capacity(64);
        let (hash, usage) = measure(|| value.key_hash(encoding.representation, &mut scratch));
        assert_eq!((hash.is_ok(), usage.count), (true, 0), "the key hash");

        let (result, usage) = measure(|| Whole::decode_payload(&out));
        assert!(result.is_ok() && usage.count > 0, "the counter counts");
    }
}

/// Most bytes that decoding may have at one time, for a payload of this size.
const fn budget(len: usize) -> usize {
    (16 << 10) + 8 * len
}

#[track_caller]
fn within_budget<T: DdsType>(payload: &[u8]) -> Result<(), DecodeFault> {
    let (result, usage) = measure(|| black_box(T::decode_payload(payload)).map(drop));
    assert!(usage.peak <= budget(payload.len()), "{} octets for {}", usage.peak, payload.len());
    result.map_err(|error| error.fault)
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Nothing {}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Doubles {
    values: Vec<f64>,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Texts {
    texts: Vec<String>,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Lists {
    lists: Vec<Vec<Vec<u8>>>,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Empties {
    empties: Vec<Nothing>,
    numbers: Vec<[u8; 0]>,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct ManyEmpties {
    lists: Vec<Vec<Nothing>>,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Maps {
    map: BTreeMap<u32, String>,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Blocks {
    blocks: Vec<Block>,
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Block {
    octet: u8,
    much: Option<[u64; 16]>,
}

/// A plain little-endian payload of a count and some bytes, in both versions; version 2 with a DHEADER if `delimited`.
fn counted(count: u32, body: &[u8], delimited: bool) -> [Vec<u8>; 2] {
    let mut version_1 = vec![0, 1, 0, 0];
    version_1.extend(count.to_le_bytes());
    version_1.extend(body);
    let mut version_2 = vec![0, 7, 0, 0];
    if delimited {
        version_2.extend((body.len() as u32 + 4).to_le_bytes());
    }
    version_2.extend(count.to_le_bytes());
    version_2.extend(body);
    [version_1, version_2]
}

#[test]
fn counts_that_lie_cost_nothing() {
    for count in [1, 5, 1000, 0x0fff_ffff, u32::MAX] {
        for body in [&[][..], &[0; 3], &[0; 4]] {
            for payload in counted(count, body, false) {
                assert_eq!(within_budget::<Doubles>(&payload), Err(DecodeFault::ImpossibleCount(count)));
            }
            for payload in counted(count, body, true) {
                assert_eq!(within_budget::<Texts>(&payload), Err(DecodeFault::ImpossibleCount(count)));
                assert_eq!(within_budget::<Maps>(&payload), Err(DecodeFault::ImpossibleCount(count)));
                if count > 1 {
                    assert_eq!(within_budget::<Lists>(&payload), Err(DecodeFault::ImpossibleCount(count)));
                }
            }
        }
    }
}

#[test]
fn elements_without_octets_have_a_limit() {
    // The second sequence is empty as well, or not there.
    for payload in counted(65_537, &[0; 16], true) {
        assert_eq!(within_budget::<Empties>(&payload), Err(DecodeFault::ImpossibleCount(65_537)));
    }
    let [version_1, _] = counted(65_536, &[0; 4], true);
    assert_eq!(within_budget::<Empties>(&version_1), Ok(()));
    // Work must follow the bytes: many lists of many nothings are refused as well.
    let lists = 60_000_u32.to_le_bytes().repeat(10_000);
    let [version_1, _] = counted(10_000, &lists, true);
    assert_eq!(within_budget::<ManyEmpties>(&version_1), Err(DecodeFault::ImpossibleCount(60_000)));
}

#[test]
fn many_small_elements_stay_within_the_budget() {
    // 60 000 bytes of empty lists, of texts of no characters, of map entries, of blocks that are absent.
    let lists = vec![0; 60_000];
    let [version_1, version_2] = counted(15_000, &lists, true);
    assert_eq!(within_budget::<Lists>(&version_1), Ok(()));
    // In version 2 these are DHEADERs of parts that have no room for a count.
    assert_eq!(within_budget::<Lists>(&version_2), Err(DecodeFault::Truncated));
    let text = [1, 0, 0, 0, 0, 0, 0, 0].repeat(7_500);
    for payload in counted(7_500, &text, true) {
        assert_eq!(within_budget::<Texts>(&payload), Ok(()));
    }
    let entries: Vec<u8> = (0..5_000_u32).flat_map(|n| [n, 1, 0].map(u32::to_le_bytes)).flatten().collect();
    for payload in counted(5_000, &entries, true) {
        assert_eq!(within_budget::<Maps>(&payload), Ok(()));
    }
}

#[test]
fn memory_follows_the_elements_that_arrived() {
    // A quarter of a megabyte would be needed for what is announced; the third element is broken.
    let mut body = vec![0_u8; 4000];
    body[5] = 9;
    let [_, broken] = counted(2000, &body, true);
    assert_eq!(within_budget::<Blocks>(&broken), Err(DecodeFault::NotABool(9)));
    assert!(
        2000 * size_of::<Block>() > budget(broken.len()),
        "the announced elements would exceed the budget"
    );
    // The same without the fault is a value like any other.
    body[5] = 0;
    let [_, whole] = counted(2000, &body, true);
    assert_eq!(Blocks::decode_payload(&whole).map(|value| value.blocks.len()), Ok(2000));
}

#[test]
fn size_only_needs_no_memory_for_large_values() {
    let value = Doubles { values: vec![0.0; 1 << 20] };
    let (size, usage) = measure(|| value.serialized_size(Representation::Xcdr1).unwrap());
    assert_eq!((size, usage.count), ((8 << 20) + 8, 0));
    assert_eq!(Doubles::initial(), Doubles { values: vec![] });
}
