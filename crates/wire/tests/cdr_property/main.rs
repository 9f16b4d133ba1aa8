//! What holds for every value of every type, tried with seeded random values and bytes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "in a test a panic is the report")]

mod generate;
mod types;

use std::fmt::Debug;

use generate::{Arbitrary, Gen};
use types::{Tree, appendables, finals, mutables};
use wire::cdr::{
    DdsType, ENCAPSULATION_SIZE, EncodeFault, Encoding, Extensibility, Representation, payload_size,
};
use wire::cursor::Endianness;

const ENCODINGS: [Encoding; 4] = [
    Encoding { representation: Representation::Xcdr1, endianness: Endianness::Little },
    Encoding { representation: Representation::Xcdr1, endianness: Endianness::Big },
    Encoding { representation: Representation::Xcdr2, endianness: Endianness::Little },
    Encoding { representation: Representation::Xcdr2, endianness: Endianness::Big },
];

/// Calls a check for every type.
macro_rules! for_every_type {
    ($check:ident) => {
        $check::<finals::Fixed>();
        $check::<finals::Bounded>();
        $check::<finals::Open>();
        $check::<finals::Pick>();
        $check::<appendables::Fixed>();
        $check::<appendables::Bounded>();
        $check::<appendables::Open>();
        $check::<appendables::Pick>();
        $check::<mutables::Fixed>();
        $check::<mutables::Bounded>();
        $check::<mutables::Open>();
        $check::<mutables::Pick>();
        $check::<Tree>();
    };
}

/// Random numbers for one test: the tier's seed, and a stream of its own for each test.
fn gen_for(test: u64) -> Gen {
    Gen::new(tiers::current().first_seed() << 8 | test)
}

/// The cases of the tier, fewer for what takes longer.
fn cases(cost: u64) -> u64 {
    tiers::current().number("property.cases").div_ceil(cost)
}

fn encoded<T: DdsType>(value: &T, encoding: Encoding) -> Vec<u8> {
    let mut payload = Vec::new();
    value.encode_payload(encoding, &mut payload).unwrap();
    payload
}

#[test]
fn values_survive() {
    fn check<T: DdsType + Arbitrary + PartialEq + Debug>() {
        let mut g = gen_for(1);
        let mut warm = T::initial();
        for _ in 0..cases(2) {
            let value = T::arbitrary(&mut g);
            for encoding in ENCODINGS {
                let payload = encoded(&value, encoding);
                assert_eq!(T::decode_payload(&payload).as_ref(), Ok(&value), "{encoding:?} {payload:x?}");
                assert_eq!(warm.decode_payload_into(&payload), Ok(()));
                assert_eq!(warm, value, "read into another value");

                let size = value.serialized_size(encoding.representation).unwrap();
                assert_eq!(payload_size(size), payload.len());
                assert_eq!(usize::from(payload[3]), payload.len() - ENCAPSULATION_SIZE - size, "padding");
                if let Some(max) = T::max_serialized_size(encoding.representation) {
                    assert!(size <= max, "{size} of at most {max}");
                }

                let mut space = vec![0xff; payload.len()];
                assert_eq!(value.encode_payload_to(encoding, &mut space), Ok(payload.len()));
                assert_eq!(space, payload, "written in place");
                space.pop();
                let short = value.encode_payload_to(encoding, &mut space).unwrap_err();
                assert_eq!(short.fault, EncodeFault::BufferTooSmall);
            }
        }
    }
    for_every_type!(check);
}

#[test]
fn keys_survive() {
    fn check<T: DdsType + Arbitrary + PartialEq + Debug>() {
        let mut g = gen_for(2);
        let mut scratch = Vec::new();
        for _ in 0..cases(2) {
            let value = T::arbitrary(&mut g);
            for encoding in ENCODINGS {
                let mut payload = Vec::new();
                let result = value.encode_key_payload(encoding, &mut payload);
                if !T::HAS_KEY {
                    assert_eq!(result.map_err(|error| error.fault), Err(EncodeFault::NoKey));
                    continue;
                }
                let key = T::decode_key_payload(&payload).unwrap();
                let hash = value.key_hash(encoding.representation, &mut scratch).unwrap();
                assert_eq!(key.key_hash(encoding.representation, &mut scratch), Ok(hash));
                let mut again = Vec::new();
                key.encode_key_payload(encoding, &mut again).unwrap();
                assert_eq!(again, payload);
                if let Some(from_hash) = T::from_key_hash(hash, encoding.representation) {
                    assert_eq!(from_hash, key);
                }
            }
        }
    }
    for_every_type!(check);
}

#[test]
fn greatest_sizes_are_reached() {
    fn check<T: DdsType + Arbitrary>() {
        let mut g = gen_for(3);
        g.full = true;
        for _ in 0..20 {
            let value = T::arbitrary(&mut g);
            for representation in [Representation::Xcdr1, Representation::Xcdr2] {
                let size = value.serialized_size(representation).unwrap();
                assert_eq!(T::max_serialized_size(representation), Some(size), "{}", T::TYPE_NAME);
            }
        }
    }
    check::<finals::Bounded>();
    check::<appendables::Bounded>();
    check::<mutables::Bounded>();
    check::<finals::Pick>();
    check::<appendables::Pick>();
    check::<mutables::Pick>();
    // Types of a fixed size have it whatever the value is.
    check::<finals::Fixed>();
    check::<appendables::Fixed>();
    check::<mutables::Fixed>();
    check::<finals::Small>();
    check::<appendables::Empty>();
}

#[test]
fn greatest_key_sizes_are_reached() {
    use wire::cdr::sink::CountSink;
    use wire::cdr::{Encoder, Scope};

    fn check<T: DdsType + Arbitrary>() {
        let mut g = gen_for(4);
        g.full = true;
        let value = T::arbitrary(&mut g);
        for (representation, max) in
            [(Representation::Xcdr1, T::MAX_KEY_SIZE_XCDR1), (Representation::Xcdr2, T::MAX_KEY_SIZE_XCDR2)]
        {
            let encoding = Encoding { representation, endianness: Endianness::Big };
            let mut encoder = Encoder::new(CountSink::default(), encoding, Scope::KeyHash);
            value.encode(&mut encoder).unwrap();
            assert_eq!(max, Some(encoder.position()), "{}", T::TYPE_NAME);
        }
    }
    check::<finals::Bounded>();
    check::<appendables::Bounded>();
    check::<mutables::Bounded>();
    check::<finals::Fixed>();
    check::<mutables::Fixed>();
    assert_eq!(finals::Open::MAX_KEY_SIZE_XCDR1, None);
}

#[test]
fn unbounded_types_have_no_greatest_size() {
    assert_eq!(finals::Open::MAX_SERIALIZED_SIZE_XCDR1, None);
    assert_eq!(appendables::Open::MAX_SERIALIZED_SIZE_XCDR2, None);
    assert_eq!(mutables::Open::MAX_SERIALIZED_SIZE_XCDR2, None);
    assert_eq!(Tree::MAX_SERIALIZED_SIZE_XCDR1, None);
    assert_eq!(Tree::MAX_SERIALIZED_SIZE_XCDR2, None);
}

/// Decodes; what could be decoded must have an encoding, which must decode to the same.
fn decode_hostile<T: DdsType>(payload: &[u8]) {
    let Ok(value) = T::decode_payload(payload) else { return };
    let encoding = Encoding::open(payload, T::EXTENSIBILITY).unwrap().0;
    let first = encoded(&value, encoding);
    let second = encoded(&T::decode_payload(&first).unwrap(), encoding);
    assert_eq!(first, second);
}

#[test]
fn cut_and_changed_octets_do_no_harm() {
    fn check<T: DdsType + Arbitrary>() {
        let mut g = gen_for(5);
        for _ in 0..cases(20) {
            let value = T::arbitrary(&mut g);
            for encoding in ENCODINGS {
                let payload = encoded(&value, encoding);
                let bytes = payload.len() - usize::from(payload[3]);
                for len in 0..payload.len().min(400) {
                    let mut cut = payload[..len].to_vec();
                    if let Some(options) = cut.get_mut(3) {
                        *options = 0;
                    }
                    // The end of an appendable type may be missing; every other byte counts.
                    if T::EXTENSIBILITY != Extensibility::Appendable && len < bytes {
                        assert!(T::decode_payload(&cut).is_err(), "{len} of {bytes} bytes");
                    }
                    decode_hostile::<T>(&cut);
                    let _ = T::decode_key_payload(&cut);
                }
                for _ in 0..100 {
                    let mut changed = payload.clone();
                    for _ in 0..=g.up_to(3) {
                        let at = g.up_to(changed.len() - 1);
                        changed[at] = match g.next() % 4 {
                            0 => 0,
                            1 => 0xff,
                            2 => changed[at].wrapping_add(1),
                            _ => g.next() as u8,
                        };
                    }
                    decode_hostile::<T>(&changed);
                    let _ = T::decode_key_payload(&changed);
                }
            }
        }
    }
    for_every_type!(check);
}

#[test]
fn every_encapsulation_identifier_is_answered() {
    fn check<T: DdsType + Arbitrary>() {
        let mut g = gen_for(6);
        let body: Vec<u8> = (0..256).map(|_| g.next() as u8).collect();
        let fits = ENCODINGS.map(|encoding| encoding.header(T::EXTENSIBILITY, 0)[1]);
        for id in 0..=u16::MAX {
            let mut payload = vec![(id >> 8) as u8, id as u8, 0, 0];
            payload.extend(&body);
            let known = id < 256 && fits.contains(&(id as u8));
            assert_eq!(Encoding::open(&payload, T::EXTENSIBILITY).is_ok(), known, "{id:#06x}");
            assert!(known || T::decode_payload(&payload).is_err());
        }
        for _ in 0..cases(1) * 10 {
            let len = g.up_to(200);
            let mut payload = vec![0, fits[g.up_to(3)], 0, g.next() as u8];
            payload.extend((0..len).map(|_| if bool::arbitrary(&mut g) { 0 } else { g.next() as u8 }));
            decode_hostile::<T>(&payload);
        }
    }
    for_every_type!(check);
}
