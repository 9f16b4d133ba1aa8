//! The fields of events, as manifests have them.
use std::cell::Cell;
use std::fmt;

use filter::Schema;

use crate::event::{Event, ListedField};

/// A field that filters compare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ComparedField {
    /// Its path.
    pub path: &'static str,
    /// The kind of its values.
    pub kind: filter::Kind,
    /// The labels of an enumeration, with their numbers.
    pub labels: Vec<(&'static str, i64)>,
}

/// How to have the fields of a type of events.
#[derive(Clone, Copy)]
pub struct EventFields(fn() -> Option<Vec<ComparedField>>);

impl EventFields {
    /// Those of this type.
    pub const fn event<T: Event>() -> Self {
        Self(compared::<T>)
    }

    /// All fields that filters compare; `None` if they are not known.
    pub fn list(self) -> Option<Vec<ComparedField>> {
        (self.0)()
    }
}

impl PartialEq for EventFields {
    fn eq(&self, other: &Self) -> bool {
        self.list() == other.list()
    }
}

impl fmt::Debug for EventFields {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list().fmt(out)
    }
}

fn compared<T: Event>() -> Option<Vec<ComparedField>> {
    let Some(schema) = T::schema() else { return Some(Vec::new()) };
    // A path that is none, or that the schema does not know, is a mistake of the type's list: then nothing is said of the others either.
    let of_path = |(path, labels): &ListedField| {
        let kind = Asked::kind(schema, path)?;
        let number = |label: &&'static str| match kind {
            filter::Kind::Enumeration(enumeration) => Some((*label, schema.label(enumeration, label)?)),
            _ => None,
        };
        Some(ComparedField { path, kind, labels: labels.iter().filter_map(number).collect() })
    };
    T::fields()?.iter().map(of_path).collect()
}

/// A schema that notes the kind of the field that a filter asks it for.
struct Asked<'s> {
    schema: &'s dyn Schema,
    kind: Cell<Option<filter::Kind>>,
}

impl Asked<'_> {
    /// The kind of the field at a path.
    fn kind(schema: &dyn Schema, path: &str) -> Option<filter::Kind> {
        let asked = Asked { schema, kind: Cell::new(None) };
        let filter = filter::Expression::parse(&format!("{path} = 0")).ok()?;
        // Whether it compares with a number does not matter.
        let _ = filter.compile(&asked, &[]);
        asked.kind.get()
    }
}

impl Schema for Asked<'_> {
    fn field(&self, path: filter::Path<'_>) -> Option<filter::Field> {
        let field = self.schema.field(path);
        self.kind.set(field.map(|field| field.kind));
        field
    }

    fn label(&self, enumeration: u32, name: &str) -> Option<i64> {
        self.schema.label(enumeration, name)
    }
}
