//! Samples of other versions of a type, and payloads that are none.
use content_filter::{ContentFilter, Limits, Outcome, SampleType};
use derive::DdsType;
use testkit::types::ENCODINGS;
use wire::cdr::{DdsType, Encoding};

use super::fields::sample_type;

#[derive(DdsType, Clone, Default, Debug)]
#[dds(name = "Log", appendable)]
struct Earlier {
    id: u32,
    text: String,
}

#[derive(DdsType, Clone, Default, Debug)]
struct Place {
    level: i32,
    note: Option<u8>,
}

#[derive(DdsType, Clone, Copy, Default, Debug)]
enum Colour {
    #[default]
    Green = 3,
    Red = 5,
}

#[derive(DdsType, Clone, Default, Debug)]
#[dds(name = "Log", appendable)]
struct Later {
    id: u32,
    text: String,
    value: f64,
    places: [Place; 2],
    list: Vec<u8>,
    colour: Colour,
    name: String,
}

fn judge(ty: &SampleType, text: &str, payload: &[u8]) -> Outcome {
    let none: [&str; 0] = [];
    ContentFilter::new(ty.clone(), text, &none, &Limits::OWN).unwrap().judge(payload)
}

#[test]
fn a_member_that_the_writer_does_not_know_has_its_default_value() {
    let ty = sample_type::<Later>();
    for encoding in ENCODINGS {
        let mut payload = Vec::new();
        let sample = Earlier { id: 7, text: "abc".to_owned() };
        sample.encode_payload(encoding, &mut payload).unwrap();
        for passes in [
            "id = 7 AND text = 'abc'",
            "value = 0",
            "value < 1 AND places[1].level = 0",
            "colour = 'Green' AND name = ''",
            "id = 7 AND NOT name LIKE '_%'",
        ] {
            assert_eq!(judge(&ty, passes, &payload), Outcome::Passes, "{passes} {encoding:?}");
        }
        for filtered in
            ["value > 0", "places[1].note = 0", "places[1].note <> 0", "list[0] = 0", "colour = 'Red'"]
        {
            assert_eq!(judge(&ty, filtered, &payload), Outcome::Filtered, "{filtered} {encoding:?}");
        }
    }
}

#[test]
fn a_payload_that_cannot_be_read_is_neither_passed_nor_filtered() {
    let ty = sample_type::<Later>();
    let mut payload = Vec::new();
    Later { id: 1, text: "ab".to_owned(), ..Later::default() }
        .encode_payload(Encoding::XCDR2, &mut payload)
        .unwrap();
    assert_eq!(judge(&ty, "id = 1", &payload), Outcome::Passes);
    for len in 0..12 {
        assert_eq!(judge(&ty, "id = 1", payload.get(..len).unwrap()), Outcome::Unknown, "{len}");
    }
    // Text whose length is beyond the payload.
    let at = 4 + 4 + 4;
    payload.get_mut(at..at + 4).unwrap().copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    assert_eq!(judge(&ty, "id = 1", &payload), Outcome::Passes, "what lies behind is not looked at");
    assert_eq!(judge(&ty, "text = 'ab'", &payload), Outcome::Unknown);
    assert_eq!(judge(&ty, "id = 1", &[0, 99, 0, 0, 1, 0, 0, 0]), Outcome::Unknown);
}

#[test]
fn text_that_is_no_utf_8_is_missing() {
    let ty = sample_type::<Earlier>();
    let mut payload = Vec::new();
    Earlier { id: 1, text: "ab".to_owned() }.encode_payload(Encoding::XCDR1, &mut payload).unwrap();
    let at = payload.iter().position(|byte| *byte == b'a').unwrap();
    *payload.get_mut(at).unwrap() = 0xff;
    assert_eq!(judge(&ty, "text = 'ab'", &payload), Outcome::Filtered);
    assert_eq!(judge(&ty, "text <> 'ab'", &payload), Outcome::Filtered);
    assert_eq!(judge(&ty, "id = 1 OR text = 'ab'", &payload), Outcome::Passes);
}
