//! Samples of types with everything in them, one type for each extensibility.
use std::collections::BTreeMap;

use derive::DdsType;
use wire::cdr::{
    BoundedMap, BoundedString, BoundedVec, BoundedWString, Char8, DdsType, ENCAPSULATION_SIZE, Encoding,
    Representation, WString,
};
use wire::cursor::Endianness;

/// Reads a payload as a sample, and as a key, of every type. What we write again is read as the same.
pub fn cdr_rich_type(payload: &[u8]) {
    sample::<finals::Rich>(payload);
    sample::<appendable::Rich>(payload);
    sample::<mutable::Rich>(payload);
    sample::<appendable::Bounded>(payload);
    sample::<mutable::Bounded>(payload);
}

/// A sample of each type in each encoding.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for encoding in encodings() {
        seeds.extend(encoded(&finals::rich(), encoding));
        seeds.extend(encoded(&appendable::rich(), encoding));
        seeds.extend(encoded(&mutable::rich(), encoding));
        seeds.extend(encoded(&mutable::bounded(), encoding));
        let mut key = Vec::new();
        seeds.extend(appendable::rich().encode_key_payload(encoding, &mut key).ok().map(|()| key));
    }
    seeds
}

#[derive(DdsType)]
#[dds(bit_bound = 8)]
enum Gear {
    Reverse = -1,
    #[dds(default)]
    Neutral,
    First,
}

#[derive(DdsType)]
#[dds(bitmask, bit_bound = 12)]
struct Flags(u16);

#[derive(DdsType)]
struct Tree {
    value: u16,
    branch: Option<Box<Tree>>,
}

/// The same members in types of one extensibility.
macro_rules! types {
    ($module:ident: $extensibility:tt) => {
        mod $module {
            use super::*;

            #[derive(DdsType)]
            #[dds($extensibility)]
            pub(super) struct Small {
                #[dds(key)]
                x: i64,
                y: Option<u8>,
            }

            #[derive(DdsType)]
            #[dds($extensibility, discriminator = "u8")]
            pub(super) enum Choice {
                #[dds(case = 1)]
                One(u16),
                #[dds(case = 2, case = 3)]
                Small(Small),
                #[dds(default)]
                Other(BoundedVec<f64, 4>),
            }

            #[derive(DdsType)]
            #[dds($extensibility)]
            pub(super) struct Bounded {
                #[dds(key)]
                name: BoundedString<7>,
                wide: BoundedWString<3>,
                numbers: BoundedVec<u16, 5>,
                smalls: BoundedVec<Small, 3>,
                map: BoundedMap<u8, f64, 3>,
                choice: Choice,
                gear: Gear,
                flags: Flags,
                matrix: [[i16; 3]; 2],
                letter: Char8,
                yes: bool,
                last: Option<Small>,
            }

            #[derive(DdsType)]
            #[dds($extensibility)]
            pub(super) struct Rich {
                #[dds(id = 3, key)]
                name: String,
                octets: Vec<u8>,
                #[dds(bound = 12)]
                words: Vec<u32>,
                names: Vec<String>,
                smalls: Vec<Small>,
                choices: Vec<Choice>,
                map: BTreeMap<u16, String>,
                wide: WString,
                deep: Vec<Vec<i16>>,
                #[dds(hashid)]
                tree: Tree,
                #[dds(id = 1, key)]
                numbers: [u16; 3],
                bounded: Bounded,
                #[dds(id = 50, must_understand)]
                maybe: Option<String>,
            }

            pub(super) fn small(x: i64) -> Small {
                Small { x, y: (x > 0).then_some(7) }
            }

            pub(super) fn bounded() -> Bounded {
                let mut bounded = <Bounded as wire::cdr::CdrType>::initial();
                bounded.choice = Choice::Small(small(5));
                bounded.gear = Gear::First;
                bounded.flags = Flags(0x801);
                bounded.matrix = [[1, -2, 3], [4, 5, -6]];
                bounded.last = Some(small(-1));
                // Within their bounds, so none of these changes is refused.
                let _ = bounded.name.modify(|name| name.push_str("seven.."));
                let _ = bounded.numbers.modify(|numbers| numbers.extend([1, 2, 3]));
                let _ = bounded.smalls.modify(|smalls| smalls.push(small(9)));
                let _ = bounded.map.modify(|map| map.insert(1, 0.5));
                bounded
            }

            pub(super) fn rich() -> Rich {
                let branch = Some(Box::new(Tree { value: 2, branch: None }));
                Rich {
                    name: "name".to_owned(),
                    octets: vec![1, 2, 3],
                    words: vec![4, 5],
                    names: vec!["a".to_owned(), String::new()],
                    smalls: vec![small(0), small(1)],
                    choices: vec![Choice::One(1), Choice::Small(small(3))],
                    map: BTreeMap::from([(1, "x".to_owned())]),
                    wide: WString(vec![0x61, 0x6f22]),
                    deep: vec![vec![1], vec![2, 3]],
                    tree: Tree { value: 1, branch },
                    numbers: [1, 2, 3],
                    bounded: bounded(),
                    maybe: Some("m".to_owned()),
                }
            }
        }
    };
}

types!(finals: final);
types!(appendable: appendable);
types!(mutable: mutable);

fn encodings() -> impl Iterator<Item = Encoding> {
    let representations = [Representation::Xcdr1, Representation::Xcdr2];
    representations.into_iter().flat_map(|representation| {
        [Endianness::Little, Endianness::Big]
            .into_iter()
            .map(move |endianness| Encoding { representation, endianness })
    })
}

fn encoded<T: DdsType>(value: &T, encoding: Encoding) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    value.encode_payload(encoding, &mut out).ok().map(|()| out)
}

/// Reads a payload as a sample, and as a key, of a type; what is written again is read as the same.
pub(super) fn sample<T: DdsType>(payload: &[u8]) {
    if let Ok(value) = T::decode_payload(payload) {
        for encoding in encodings() {
            check(&value, encoding);
        }
        let mut scratch = Vec::new();
        for representation in [Representation::Xcdr1, Representation::Xcdr2] {
            assert!(
                value.key_hash(representation, &mut scratch).is_ok(),
                "a value that was read has a key hash"
            );
        }
    }
    // Members that are no keys have their initial values then, so only the key must survive.
    if let Ok(key) = T::decode_key_payload(payload) {
        let (mut first, mut second, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
        let written = key.encode_key_payload(Encoding::XCDR2, &mut first);
        assert!(written.is_ok(), "a key that was read is written: {written:?}");
        let again =
            T::decode_key_payload(&first).map(|key| key.encode_key_payload(Encoding::XCDR2, &mut second));
        assert!(matches!(again, Ok(Ok(()))), "a key that is written is read");
        assert_eq!(first, second, "a key that is written is read as the same");
        assert!(key.key_hash(Representation::Xcdr2, &mut scratch).is_ok());
    }
}

/// Values are compared by their bytes: a number that is none does not equal itself.
fn check<T: DdsType>(value: &T, encoding: Encoding) {
    let mut first = Vec::new();
    let written = value.encode_payload(encoding, &mut first);
    assert!(written.is_ok(), "a value that was read is written: {written:?}");
    let size = value.serialized_size(encoding.representation);
    let padded = size.map(|size| ENCAPSULATION_SIZE + size.next_multiple_of(4));
    assert_eq!(padded, Ok(first.len()), "the size that was told is the size that was written");
    if let (Some(most), Ok(size)) = (T::max_serialized_size(encoding.representation), size) {
        assert!(size <= most, "{size} octets of a type that takes {most} at most");
    }
    let again = T::decode_payload(&first).map(|value| encoded(&value, encoding));
    assert_eq!(again, Ok(Some(first)), "what is written is read as the same");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_a_sample_or_a_key() {
        let seeds = seeds();
        assert_eq!(seeds.len(), 4 * 5);
        for seed in &seeds {
            let read = [
                finals::Rich::decode_payload(seed).is_ok(),
                appendable::Rich::decode_payload(seed).is_ok(),
                appendable::Rich::decode_key_payload(seed).is_ok(),
                mutable::Rich::decode_payload(seed).is_ok(),
                mutable::Bounded::decode_payload(seed).is_ok(),
            ];
            assert!(read.contains(&true), "{seed:?}");
        }
    }
}
