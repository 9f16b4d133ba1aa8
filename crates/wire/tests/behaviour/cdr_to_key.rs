//! The key of a sample is had from the members up to the last one of the key; what follows is not read.

use derive::DdsType;
use wire::cdr::{DdsType, Encoding, Representation};

const TAIL: usize = 100_000;

#[derive(DdsType, Clone, PartialEq, Debug)]
#[dds(appendable)]
struct Place {
    building: String,
    #[dds(key)]
    room: u32,
    floor: i16,
}

#[derive(DdsType, Clone, PartialEq, Debug)]
#[dds(final)]
struct Fixed {
    #[dds(key)]
    id: u64,
    tail: Vec<u8>,
}

#[derive(DdsType, Clone, PartialEq, Debug)]
struct Growing {
    name: String,
    note: Option<String>,
    #[dds(key)]
    place: Place,
    between: [u16; 3],
    #[dds(key)]
    camera: String,
    tail: Vec<u8>,
}

#[derive(DdsType, Clone, PartialEq, Debug)]
struct KeyLast {
    tail: Vec<u8>,
    #[dds(key)]
    id: u8,
}

#[derive(DdsType, Clone, PartialEq, Debug)]
#[dds(mutable)]
struct Mutable {
    #[dds(key)]
    id: u8,
    tail: Vec<u8>,
}

#[derive(DdsType, Clone, PartialEq, Debug)]
struct Keyless {
    tail: Vec<u8>,
}

/// The greatest share of the payload that may be read, in bytes.
fn reads_at_most<T: DdsType>(value: &T, most: usize) {
    for representation in [Representation::Xcdr1, Representation::Xcdr2] {
        let encoding = match representation {
            Representation::Xcdr1 => Encoding::XCDR1,
            Representation::Xcdr2 => Encoding::XCDR2,
        };
        let mut payload = Vec::new();
        value.encode_payload(encoding, &mut payload).unwrap();
        let mut read = T::initial();
        let bytes = read.decode_payload_to_key(&payload).unwrap();
        assert!(bytes <= most, "{bytes} of {}", payload.len());
        let hash = |value: &T| value.key_hash(representation, &mut Vec::new()).unwrap();
        assert_eq!(hash(&read), hash(value));
        // Whatever the payload, it is an error or a key, and cut off before the key's end it is an error.
        for end in (0..payload.len()).step_by(1 + payload.len() / 300) {
            let result = T::initial().decode_payload_to_key(&payload[..end]);
            assert!(end >= bytes || result.is_err() || !T::HAS_KEY, "{end}");
        }
    }
}

#[test]
fn what_follows_the_key_is_not_read() {
    let tail = || vec![7; TAIL];
    reads_at_most(&Fixed { id: 77, tail: tail() }, 8);
    let place = Place { building: "north".to_owned(), room: 12, floor: -1 };
    let growing = Growing {
        name: "first".to_owned(),
        note: Some("a note".to_owned()),
        place,
        between: [1, 2, 3],
        camera: "left".to_owned(),
        tail: tail(),
    };
    reads_at_most(&growing, 120);
    reads_at_most(&Growing { note: None, ..growing }, 120);
}

#[test]
fn where_the_key_may_be_last_all_is_read() {
    let tail = || vec![7; TAIL];
    reads_at_most(&KeyLast { tail: tail(), id: 3 }, TAIL + 64);
    reads_at_most(&Mutable { id: 3, tail: tail() }, TAIL + 64);
    reads_at_most(&Keyless { tail: tail() }, TAIL + 64);
}
