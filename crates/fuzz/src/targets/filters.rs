//! Filter expressions, which peers and plans bring as text: each is refused with a place, or decides about every sample.
use std::sync::Arc;

use content_filter::{ContentFilter, FilterError, Outcome, SampleType};
use derive::DdsType;
use filter::{Expression, Field, Fields, Kind, Limits, Path, Schema, Step, Value};
use wire::cdr::{CdrType, DdsType, Encoding, WString};

/// Expressions with all that the grammar has; parameters follow, each behind a `|`, which no expression contains.
const EXPRESSIONS: [&str; 6] = [
    "quality >= 3 AND station LIKE 'north%_' OR NOT x.y[2].z = -0x1F",
    "id BETWEEN 1 AND %1 OR name NOT BETWEEN `a' AND 'b'|5|17",
    "NOT (on = TRUE AND NOT (colour = 'RED' OR mark <> 'x'))",
    "f < -1.5e-3 AND %0 <= f AND 1 = 1.0 AND 'a' < %1|2.5|it's",
    "a[0x10] = b AND c = %0 AND name LIKE '%a%a%a%b'|GREEN",
    "name = %0|'quoted'",
];
const LABELS: [&str; 2] = ["RED", "GREEN"];
const KINDS: [Kind; 6] =
    [Kind::Boolean, Kind::Integer, Kind::Float, Kind::Char, Kind::String, Kind::Enumeration(0)];

/// Valid expressions.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    EXPRESSIONS.map(|text| text.as_bytes().to_vec()).into()
}

/// Fields of all kinds: the first letter of a path says which.
struct Known;

impl Schema for Known {
    fn field(&self, path: Path<'_>) -> Option<Field> {
        let slot = match path.text().bytes().next()? {
            b'o' => 0,
            b'f' => 2,
            b'm' => 3,
            b'n' | b's' => 4,
            b'c' => 5,
            b'u' => return None,
            _ => 1,
        };
        Some(Field { slot, kind: *KINDS.get(slot as usize)? })
    }

    fn label(&self, _: u32, name: &str) -> Option<i64> {
        LABELS.iter().position(|label| *label == name).map(|value| value as i64)
    }
}

/// A sample with all fields, or with none.
struct Sample {
    is_whole: bool,
}

impl Fields for Sample {
    fn value(&self, slot: u32) -> Option<Value<'_>> {
        let value = match slot {
            0 => Value::Boolean(true),
            1 => Value::Unsigned(3),
            2 => Value::Float(f64::NAN),
            3 => Value::Char('x'),
            4 => Value::String("northern"),
            _ => Value::Enumeration(1),
        };
        self.is_whole.then_some(value)
    }
}

/// An expression and the texts of its parameters. What decides is also asked for its opposite.
pub fn filter_expression(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split('|');
    let expression = parts.next().unwrap_or("");
    let parameters: Vec<&str> = parts.take(100).collect();
    let limits = Limits::default();
    let parsed = match Expression::parse_within(expression, &limits) {
        Ok(parsed) => parsed,
        Err(error) => {
            assert!(error.at <= expression.len(), "byte {} of {}", error.at, expression.len());
            return;
        }
    };
    assert!(parsed.parameters() <= 100);
    for path in parsed.fields() {
        let members = path.steps().filter(|step| matches!(step, Step::Member(_))).count();
        assert_eq!(members, 1 + path.text().matches('.').count(), "{path:?}");
        assert_eq!(path.steps().count() - members, path.text().matches('[').count(), "{path:?}");
    }
    let program = match parsed.compile(&Known, &parameters) {
        Ok(program) => program,
        Err(error) => {
            assert!(expression.is_char_boundary(error.at) && error.at < expression.len());
            return;
        }
    };
    let opposite = format!("NOT ({expression})");
    let wider = Limits { bytes: opposite.len(), depth: limits.depth + 2, ..limits };
    let opposite = Expression::parse_within(&opposite, &wider).ok();
    let opposite = opposite.and_then(|opposite| opposite.compile(&Known, &parameters).ok());
    assert!(opposite.is_some(), "the opposite of an expression is one");
    let Some(opposite) = opposite else { return };
    let whole = Sample { is_whole: true };
    assert_ne!(program.passes(&whole), opposite.passes(&whole), "of a whole sample, one of both is true");
    let empty = Sample { is_whole: false };
    assert!(!(program.passes(&empty) && opposite.passes(&empty)), "never both");
}

#[derive(DdsType, Clone, Copy)]
enum Colour {
    Red,
    Green,
}

#[derive(DdsType, Clone)]
#[dds(discriminator = "u8")]
enum Choice {
    #[dds(case = 1)]
    Number(i16),
    #[dds(default)]
    Words(Vec<String>),
}

macro_rules! readings {
    ($name:ident, $extensibility:tt) => {
        #[derive(DdsType, Clone)]
        #[dds($extensibility)]
        struct $name {
            #[dds(key)]
            id: u32,
            name: String,
            track: Vec<Point>,
            choice: Choice,
            wide: WString,
            maybe: Option<f64>,
            colour: Colour,
            grid: [[i16; 2]; 2],
            on: bool,
        }

        impl $name {
            fn seeds() -> Vec<Vec<u8>> {
                let point = Point { x: 1.5, y: Some(-2) };
                let sample = Self {
                    id: 7,
                    name: "north-7".to_owned(),
                    track: vec![point.clone(), point],
                    choice: Choice::Words(vec!["a".to_owned(), "bc".to_owned()]),
                    wide: WString::from("wide"),
                    maybe: Some(2.5),
                    colour: Colour::Green,
                    grid: [[1, 2], [3, 4]],
                    on: true,
                };
                let other =
                    Self { choice: Choice::Number(-3), maybe: None, colour: Colour::Red, ..sample.clone() };
                let encoded = |sample: &Self, encoding| {
                    let mut out = Vec::new();
                    sample.encode_payload(encoding, &mut out).map(|()| out).unwrap_or_default()
                };
                let pairs = [(&sample, Encoding::XCDR1), (&other, Encoding::XCDR2)];
                pairs.map(|(sample, encoding)| encoded(sample, encoding)).into()
            }
        }
    };
}

#[derive(DdsType, Clone)]
struct Point {
    x: f32,
    y: Option<i64>,
}

readings!(Appendable, appendable);
readings!(Mutable, mutable);

/// Expressions with the paths that samples have; parameters follow as in [`EXPRESSIONS`].
const CONTENTS: [&str; 5] = [
    "id = 7 AND name LIKE 'north%' OR track[1].x > %0|0.5",
    "choice.Words[1] = 'bc' OR choice.Number < 0 AND choice._d = 1",
    "wide <> 'w' AND maybe BETWEEN 1 AND %0 AND grid[1][0] = 3|9",
    "colour = %0 AND NOT on = FALSE AND track[0].y = -2|Green",
    "name LIKE '%a%a%a%b' OR (((on = TRUE)))",
];

/// Each expression with each payload behind a zero byte.
pub(super) fn content_seeds() -> Vec<Vec<u8>> {
    let payloads = [Appendable::seeds(), Mutable::seeds()].concat();
    let mut seeds = Vec::new();
    for (number, payload) in payloads.iter().enumerate() {
        for text in CONTENTS {
            let kind = if number < 2 { b'a' } else { b'm' };
            seeds.push([&[kind], text.as_bytes(), &[0], payload].concat());
        }
    }
    seeds
}

/// The types whose samples [`content_filter()`] filters: an appendable one and a mutable one.
pub fn filtered_types() -> Vec<SampleType> {
    let described = [Appendable::DESCRIPTION, Mutable::DESCRIPTION].map(wire::schema::of);
    let described = described.into_iter().flatten();
    described.map(|(schema, index)| SampleType::new(Arc::new(schema), index)).collect()
}

/// A content filter as another participant announces it, and a payload: it is refused with a place, or says something of the payload. No
/// payload passes a filter and its opposite. `types` are [`filtered_types`].
pub fn content_filter(types: &[SampleType], bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else { return };
    let Some(ty) = types.get(usize::from(*kind == b'm')) else { return };
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let (text, payload) = rest.split_at(end);
    let payload = payload.get(1..).unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    let mut parts = text.split('|');
    let expression = parts.next().unwrap_or("");
    let parameters: Vec<&str> = parts.collect();
    let limits = content_filter::Limits::REMOTE;
    let made = ContentFilter::new(ty.clone(), expression, &parameters, &limits);
    let mut filter = match made {
        Ok(filter) => filter,
        Err(FilterError::Syntax(error)) => return assert!(error.at <= expression.len()),
        Err(FilterError::Compile(error)) => return assert!(error.at < expression.len()),
        Err(_) => return assert!(parameters.len() > 100 || text.len() > limits.parameter_bytes),
    };
    let outcome = filter.judge(payload);
    assert_eq!(outcome, filter.judge(payload), "the same again");
    let wider = Limits { bytes: usize::MAX, depth: 64, ..limits.expression };
    let wider = content_filter::Limits { expression: wider, ..limits };
    let opposite = format!("NOT ({expression})");
    let opposite = ContentFilter::new(ty.clone(), &opposite, &parameters, &wider);
    assert!(opposite.is_ok(), "the opposite of a filter is one");
    if let Ok(mut opposite) = opposite {
        let passes = |outcome| outcome == Outcome::Passes;
        assert!(!(passes(outcome) && passes(opposite.judge(payload))), "never both");
    }
}
