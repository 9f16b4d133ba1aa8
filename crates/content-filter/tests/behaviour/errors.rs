//! What is refused when a filter is made, and what is beyond limits.
use content_filter::{ContentFilter, FilterError, Limits, Outcome, SampleType};
use derive::DdsType;
use wire::cdr::{DdsType, Encoding};

use super::fields::sample_type;

#[derive(DdsType, Clone, Default, Debug)]
struct Fix {
    quality: u32,
    station: String,
    track: Vec<f32>,
}

fn made(text: &str, parameters: &[&str], limits: &Limits) -> Result<ContentFilter, FilterError> {
    ContentFilter::new(sample_type::<Fix>(), text, parameters, limits)
}

#[test]
fn an_error_says_what_and_where() {
    let said =
        |text: &str, parameters: &[&str]| made(text, parameters, &Limits::OWN).unwrap_err().to_string();
    assert_eq!(said("quality >", &[]), "at byte 9: a field, a value or a parameter is missing at the end");
    assert!(
        said("quality = 1 AND station = 5", &[]).starts_with("at byte 26: an integer cannot be compared")
    );
    assert!(said("quality = 1 AND speed > 2", &[]).starts_with("at byte 16: there is no field `speed`"));
    assert!(said("track > 2", &[]).starts_with("at byte 0: there is no field `track`"));
    assert!(said("quality = %1", &["1"]).starts_with("at byte 10: parameter %1 has no value"));
    let many = vec!["1"; 101];
    assert_eq!(said("quality = %0", &many), "there are more than 100 parameters");
    let long = "x".repeat(17 << 10);
    assert_eq!(said("station = %0", &[&long]), "the parameters have more than 16384 bytes");
}

#[test]
fn parameters_can_be_changed_and_wrong_ones_change_nothing() {
    let mut filter = made("quality >= %0", &["3"], &Limits::OWN).unwrap();
    let mut payload = Vec::new();
    Fix { quality: 4, ..Fix::default() }.encode_payload(Encoding::XCDR1, &mut payload).unwrap();
    assert_eq!(filter.judge(&payload), Outcome::Passes);
    filter.set_parameters(&["5"]).unwrap();
    assert_eq!(filter.judge(&payload), Outcome::Filtered);
    assert!(filter.set_parameters(&["north"]).is_err());
    assert_eq!(filter.judge(&payload), Outcome::Filtered);
    assert_eq!(filter.parameters(), 1);
}

#[test]
fn what_others_ask_for_has_limits() {
    let refused = |text: &str, parameters: &[&str]| made(text, parameters, &Limits::REMOTE).is_err();
    assert!(refused(&"(".repeat(40), &[]));
    assert!(refused(&format!("{}quality = 1", "NOT ".repeat(33)), &[]));
    assert!(refused(&vec!["quality = 1"; 129].join(" OR "), &[]));
    assert!(refused(&format!("station = '{}'", "x".repeat(5000)), &[]));
    assert!(refused("station = %0", &[&"x".repeat(5000)]));
    assert!(!refused(&vec!["quality = 1"; 128].join(" OR "), &[]));
    let ty: SampleType = sample_type::<Fix>();
    let pattern = format!("station LIKE '{}b'", "%a".repeat(100));
    let mut filter = ContentFilter::new(ty.clone(), &pattern, &[""; 0], &Limits::REMOTE).unwrap();
    let mut judge = |len: usize| {
        let mut payload = Vec::new();
        Fix { station: "a".repeat(len), ..Fix::default() }
            .encode_payload(Encoding::XCDR1, &mut payload)
            .unwrap();
        filter.judge(&payload)
    };
    assert_eq!(judge(300), Outcome::Filtered);
    assert_eq!(judge(400), Outcome::Unknown, "the product of both lengths is beyond the limit");
    assert!(ty.names(2).starts_with("quality, station, ..."));
}
