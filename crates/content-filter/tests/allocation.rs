//! A sample costs no heap once the buffer for wide strings has grown.
#![allow(clippy::unwrap_used)]
use std::sync::Arc;

use content_filter::{ContentFilter, Limits, Outcome, SampleType};
use derive::DdsType;
use wire::cdr::{CdrType, DdsType, Encoding, WString};

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

#[derive(DdsType, Clone, Default, Debug)]
struct Inner {
    list: Vec<String>,
    value: Option<f64>,
}

#[derive(DdsType, Clone, Default, Debug)]
struct Outer {
    wide: WString,
    inner: Vec<Inner>,
    name: String,
}

#[test]
fn nothing_is_allocated_for_a_sample() {
    let inner = Inner { list: vec!["abc".to_owned(); 20], value: Some(1.5) };
    let sample = Outer { wide: WString::from("wide words"), inner: vec![inner; 20], name: "name".to_owned() };
    let (schema, index) = wire::schema::of(Outer::DESCRIPTION).unwrap();
    let ty = SampleType::new(Arc::new(schema), index);
    let text = "inner[3].list[2] = 'abc' AND inner[19].value > %0 AND wide LIKE '%words' AND name <> 'other'";
    for encoding in [Encoding::XCDR1, Encoding::XCDR2] {
        let mut payload = Vec::new();
        sample.encode_payload(encoding, &mut payload).unwrap();
        let mut filter = ContentFilter::new(ty.clone(), text, &["1"], &Limits::OWN).unwrap();
        assert_eq!(filter.judge(&payload), Outcome::Passes);
        let (outcome, usage) = alloc_meter::measure(|| filter.judge(&payload));
        assert_eq!((outcome, usage.count), (Outcome::Passes, 0), "{encoding:?}");
    }
}
