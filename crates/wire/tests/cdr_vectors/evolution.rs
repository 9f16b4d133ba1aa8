//! Types that change, and what senders of other versions leave out or add.
use derive::DdsType;
use wire::cdr::{DdsType, DecodeFault, Encoding, Extensibility};

use crate::limits::Strict;
use crate::{BE1, BE2, LE1, LE2, Plain, fault};

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

#[derive(DdsType, Debug, PartialEq)]
#[dds(mutable)]
struct Keyed {
    #[dds(id = 1, key)]
    a: u8,
    b: Option<u8>,
}

#[test]
fn a_key_cannot_be_missing() {
    for payload in [
        &[0, 11, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0][..],
        &[0, 3, 0, 0, 2, 0, 1, 0, 7, 0, 0, 0, 2, 0x3f, 0, 0],
    ] {
        let error = Keyed::decode_payload(payload).unwrap_err();
        assert_eq!((error.fault, error.member), (DecodeFault::MissingKey, Some("a")));
    }
}

#[test]
fn length_codes_of_other_writers_are_read() {
    let expected = Ok(Keyed { a: 5, b: Some(7) });
    // A length of its own (LC 4) for one byte; the order is free, an unknown member lies between.
    let payload = [
        0, 11, 0, 0, 33, 0, 0, 0, //
        2, 0, 0, 0x40, 1, 0, 0, 0, 7, 0, 0, 0, //
        9, 0, 0, 0x70, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, // LC 7: a count and eight octets
        1, 0, 0, 0x80, 5,
    ];
    assert_eq!(Keyed::decode_payload(&payload), expected);
    // A member of a length that its type does not have: what is left over is skipped.
    let payload = [0, 11, 0, 0, 13, 0, 0, 0, 2, 0, 0, 0x10, 7, 9, 0, 0, 1, 0, 0, 0, 5];
    assert_eq!(Keyed::decode_payload(&payload), expected);
    // The length of the next value is beyond every payload.
    let payload = [0, 11, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0x70, 0xff, 0xff, 0xff, 0xff];
    assert_eq!(fault::<Keyed>(&payload), DecodeFault::Truncated);
}

#[derive(DdsType, Debug, PartialEq)]
#[dds(final)]
struct Perhaps {
    #[dds(id = 3)]
    a: Option<u16>,
}

#[test]
fn parameter_headers_are_checked() {
    let some = Ok(Perhaps { a: Some(0x0201) });
    assert_eq!(Perhaps::decode_payload(&[0, 1, 0, 0, 3, 0, 2, 0, 1, 2]), some);
    // Must understand, and the long header.
    assert_eq!(Perhaps::decode_payload(&[0, 1, 0, 0, 3, 0x40, 2, 0, 1, 2]), some);
    let long = [0, 1, 0, 0, 1, 0x7f, 8, 0, 3, 0, 0, 0x40, 2, 0, 0, 0, 1, 2];
    assert_eq!(Perhaps::decode_payload(&long), some);
    let mut bad = long;
    bad[6] = 12;
    assert_eq!(fault::<Perhaps>(&bad), DecodeFault::BadParameterHeader);
    assert_eq!(fault::<Perhaps>(&[0, 1, 0, 0, 2, 0x3f, 0, 0]), DecodeFault::BadParameterHeader);
    assert_eq!(fault::<Perhaps>(&[0, 1, 0, 0, 4, 0, 2, 0, 1, 2]), DecodeFault::UnexpectedMember(4));
    assert_eq!(fault::<Perhaps>(&[0, 1, 0, 0, 3, 0, 3, 0, 1, 2]), DecodeFault::Truncated);
    assert_eq!(fault::<Perhaps>(&[0, 1, 0, 0, 3, 0, 1, 0, 1, 2]), DecodeFault::Truncated);
}
