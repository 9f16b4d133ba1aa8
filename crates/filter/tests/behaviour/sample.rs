//! A sample with a field of every kind.
use filter::{Expression, Field, Fields, Kind, Path, Schema, Step, Value};

/// The number of the enumeration of `colour`; `shade` is of another one.
pub(crate) const COLOUR: u32 = 1;

/// Its fields by slot.
pub(crate) const NAMES: [(&str, Kind); 12] = [
    ("on", Kind::Boolean),
    ("count", Kind::Integer),
    ("size", Kind::Integer),
    ("speed", Kind::Float),
    ("mark", Kind::Char),
    ("name", Kind::String),
    ("colour", Kind::Enumeration(COLOUR)),
    ("shade", Kind::Enumeration(2)),
    ("other", Kind::Enumeration(COLOUR)),
    ("position.x", Kind::Float),
    ("track[0].id", Kind::Integer),
    ("track[1].id", Kind::Integer),
];

pub(crate) struct Known;

impl Schema for Known {
    fn field(&self, path: Path<'_>) -> Option<Field> {
        // By steps, so that another spelling of an index is the same field.
        let wanted: Vec<Step<'_>> = path.steps().collect();
        let slot = NAMES.iter().position(|(name, _)| {
            let mut rest = *name;
            wanted.iter().all(|step| {
                let part = match step {
                    Step::Member(name) => (*name).to_owned(),
                    Step::Element(index) => format!("[{index}]"),
                };
                match rest.trim_start_matches('.').strip_prefix(part.as_str()) {
                    Some(after) => {
                        rest = after;
                        true
                    }
                    None => false,
                }
            }) && rest.is_empty()
        })?;
        Some(Field { slot: slot as u32, kind: NAMES[slot].1 })
    }

    fn label(&self, enumeration: u32, name: &str) -> Option<i64> {
        let labels: &[&str] =
            if enumeration == COLOUR { &["RED", "GREEN", "BLUE", "TRUE"] } else { &["DARK"] };
        labels.iter().position(|label| *label == name).map(|value| value as i64)
    }
}

/// A value that owns its text.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Owned {
    Boolean(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Char(char),
    Text(String),
    Label(i64),
}

/// A sample: its fields by slot.
pub(crate) struct Sample(pub(crate) Vec<Option<Owned>>);

impl Fields for Sample {
    fn value(&self, slot: u32) -> Option<Value<'_>> {
        Some(match self.0.get(slot as usize)?.as_ref()? {
            Owned::Boolean(value) => Value::Boolean(*value),
            Owned::Signed(value) => Value::Signed(*value),
            Owned::Unsigned(value) => Value::Unsigned(*value),
            Owned::Float(value) => Value::Float(*value),
            Owned::Char(value) => Value::Char(*value),
            Owned::Text(value) => Value::String(value),
            Owned::Label(value) => Value::Enumeration(*value),
        })
    }
}

/// The sample of the tests that need but one: one track, so that the second one has no id.
pub(crate) fn usual() -> Sample {
    Sample(vec![
        Some(Owned::Boolean(true)),
        Some(Owned::Signed(-3)),
        Some(Owned::Unsigned(u64::MAX)),
        Some(Owned::Float(2.5)),
        Some(Owned::Char('x')),
        Some(Owned::Text("north-7".to_owned())),
        Some(Owned::Label(1)),
        Some(Owned::Label(0)),
        Some(Owned::Label(2)),
        Some(Owned::Float(-0.5)),
        Some(Owned::Signed(40)),
        None,
    ])
}

/// Whether the usual sample passes.
pub(crate) fn passes(text: &str, parameters: &[&str]) -> bool {
    let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let program = expression.compile(&Known, parameters).unwrap_or_else(|error| panic!("{text}: {error}"));
    program.passes(&usual())
}
