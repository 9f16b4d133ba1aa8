//! What the components of the plant tell each other. A tag is the number of a loop: 103 is that of TI-103, TIC-103 and TV-103.
use container::{Event, ListedField, filter};
use dds::DdsType;

/// A measured value.
#[derive(DdsType, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Reading {
    pub(crate) tag: u32,
    pub(crate) value: f64,
    /// How much it differs from the reading before.
    pub(crate) change: f64,
}

/// How far a valve is to be open, in per cent.
#[derive(DdsType, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Command {
    pub(crate) tag: u32,
    pub(crate) opening: f64,
}

/// The value that a controller is to keep.
#[derive(DdsType, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Setpoint {
    pub(crate) tag: u32,
    pub(crate) value: f64,
}

/// Whether a value is outside its limits. It is said for each reading.
#[derive(DdsType, Clone, Copy, PartialEq, Debug)]
pub(crate) struct AlarmState {
    pub(crate) tag: u32,
    pub(crate) value: f64,
    /// 1 is the most urgent.
    pub(crate) priority: u32,
    pub(crate) is_active: bool,
    /// It was otherwise before.
    pub(crate) is_new: bool,
}

/// Whether the feed may flow. It is said again and again, so that silence is not taken for a permit.
#[derive(DdsType, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Permit {
    pub(crate) is_granted: bool,
}

impl Event for Command {}
impl Event for Permit {}

/// Fields by which filters choose events of a type.
macro_rules! fields {
    ($event:ident, $schema:ident: $($slot:literal $name:literal $kind:ident $field:ident,)*) => {
        struct $schema;

        impl filter::Schema for $schema {
            fn field(&self, path: filter::Path<'_>) -> Option<filter::Field> {
                match path.text() {
                    $($name => Some(filter::Field { slot: $slot, kind: filter::Kind::$kind }),)*
                    _ => None,
                }
            }
            fn label(&self, _: u32, _: &str) -> Option<i64> {
                None
            }
        }

        impl Event for $event {
            fn field(&self, slot: u32) -> Option<filter::Value<'_>> {
                match slot {
                    $($slot => Some(value(self.$field)),)*
                    _ => None,
                }
            }
            fn schema() -> Option<&'static dyn filter::Schema> {
                Some(&$schema)
            }
            fn fields() -> Option<&'static [ListedField]> {
                Some(&[$(($name, &[])),*])
            }
        }
    };
}

fields!(Reading, ReadingFields: 0 "tag" Integer tag, 1 "value" Float value, 2 "change" Float change,);
fields!(Setpoint, SetpointFields: 0 "tag" Integer tag, 1 "value" Float value,);
fields!(AlarmState, AlarmStateFields: 0 "tag" Integer tag, 1 "value" Float value, 2 "priority" Integer priority, 3 "is_active" Boolean is_active, 4 "is_new" Boolean is_new,);

fn value<'a>(of: impl Into<FieldValue>) -> filter::Value<'a> {
    of.into().0
}

/// A value without memory of its own.
struct FieldValue(filter::Value<'static>);

impl From<u32> for FieldValue {
    fn from(of: u32) -> Self {
        Self(filter::Value::Unsigned(of.into()))
    }
}

impl From<f64> for FieldValue {
    fn from(of: f64) -> Self {
        Self(filter::Value::Float(of))
    }
}

impl From<bool> for FieldValue {
    fn from(of: bool) -> Self {
        Self(filter::Value::Boolean(of))
    }
}
