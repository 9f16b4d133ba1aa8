//! What filters take from the heap: nothing for a sample, and in proportion to their text when they are made.
#![allow(clippy::unwrap_used)]
use filter::{Expression, Field, Fields, Kind, Path, Schema, Value};

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

struct Known;

impl Schema for Known {
    fn field(&self, path: Path<'_>) -> Option<Field> {
        let kind = if path.text() == "name" { Kind::String } else { Kind::Integer };
        Some(Field { slot: path.text().len() as u32, kind })
    }

    fn label(&self, _: u32, _: &str) -> Option<i64> {
        None
    }
}

struct Sample<'a>(&'a str);

impl Fields for Sample<'_> {
    fn value(&self, slot: u32) -> Option<Value<'_>> {
        Some(if slot == 4 { Value::String(self.0) } else { Value::Signed(slot.into()) })
    }
}

#[test]
fn a_sample_costs_no_heap() {
    let text = "(x = 1 AND name LIKE '%a%a%b') OR yy BETWEEN 5 AND 6 OR NOT zzz < %0";
    let program = Expression::parse(text).unwrap().compile(&Known, &["3"]).unwrap();
    let long = "a".repeat(10_000);
    let (passed, usage) = alloc_meter::measure(|| {
        [long.as_str(), "aab"].iter().filter(|name| program.passes(&Sample(name))).count()
    });
    assert_eq!((passed, usage.count), (2, 0));
}

#[test]
fn an_expression_costs_in_proportion_to_its_text() {
    for part in ["x=1", "name='a'", "x BETWEEN 1 AND 2", "NOT((x=%0))"] {
        let text = vec![part; 500].join(" AND ");
        let (_, usage) = alloc_meter::measure(|| Expression::parse(&text).unwrap().compile(&Known, &["7"]));
        assert!(usage.peak < 100 * text.len(), "{part}: {usage:?} for {} bytes", text.len());
    }
}
