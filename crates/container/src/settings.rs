//! Settings of components: values with a type, a default and a range.
use std::fmt;
use std::ops::RangeBounds;

/// A value as a plan says it.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// A text.
    Text(String),
}

/// A type that a setting can have.
pub trait Setting: Sized {
    /// The name of the type in a manifest.
    const KIND: &'static str;
    /// The setting that a value means; `None` if it is of another kind, or too large.
    fn of(value: &Value) -> Option<Self>;
    /// The value of a setting.
    fn value(&self) -> Value;
}

/// Why a setting is refused.
#[derive(Clone, PartialEq, Debug)]
pub enum SettingError {
    /// The component has no such setting.
    Unknown {
        /// The unknown name.
        name: String,
    },
    /// It is of another kind, or does not fit the type.
    Kind {
        /// The setting.
        name: &'static str,
        /// The kind of value that it takes.
        kind: &'static str,
        /// The refused value.
        value: Value,
    },
    /// It is out of its range.
    Range {
        /// The setting.
        name: &'static str,
        /// The range, as it is written.
        range: &'static str,
        /// The refused value.
        value: Value,
    },
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => write!(out, "{value}"),
            Self::Integer(value) => write!(out, "{value}"),
            Self::Float(value) => write!(out, "{value:?}"),
            Self::Text(value) => write!(out, "{value:?}"),
        }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => {
                write!(out, "there is no setting {name}: the component's manifest has their names")
            }
            Self::Kind { name, kind, value } => write!(out, "{name} = {value}: give a value of {kind}"),
            Self::Range { name, range, value } => write!(out, "{name} = {value}: give a value in {range}"),
        }
    }
}

impl std::error::Error for SettingError {}

impl Setting for bool {
    const KIND: &'static str = "bool";

    fn of(value: &Value) -> Option<Self> {
        if let Value::Boolean(value) = value { Some(*value) } else { None }
    }

    fn value(&self) -> Value {
        Value::Boolean(*self)
    }
}

impl Setting for String {
    const KIND: &'static str = "text";

    fn of(value: &Value) -> Option<Self> {
        if let Value::Text(value) = value { Some(value.clone()) } else { None }
    }

    fn value(&self) -> Value {
        Value::Text(self.clone())
    }
}

impl Setting for f64 {
    const KIND: &'static str = "f64";

    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Float(value) => Some(*value),
            // Whole numbers up to here are numbers of a float, too.
            Value::Integer(value) if value.unsigned_abs() <= 1 << 53 => Some(*value as f64),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        Value::Float(*self)
    }
}

macro_rules! integers {
    ($($kind:ty),*) => {
        $(impl Setting for $kind {
            const KIND: &'static str = stringify!($kind);

            fn of(value: &Value) -> Option<Self> {
                if let Value::Integer(value) = value { Self::try_from(*value).ok() } else { None }
            }

            fn value(&self) -> Value {
                Value::Integer(i64::from(*self))
            }
        })*
    };
}

integers!(i8, i16, i32, i64, u8, u16, u32);

/// Code of the derive macro: assigns a value to a setting.
#[doc(hidden)]
pub fn assign<S: Setting + PartialOrd>(
    name: &'static str,
    setting: &mut S,
    value: &Value,
    range: Option<(&'static str, &dyn Contains<S>)>,
) -> Result<(), SettingError> {
    let given =
        S::of(value).ok_or_else(|| SettingError::Kind { name, kind: S::KIND, value: value.clone() })?;
    if let Some((range, limits)) = range
        && !limits.has(&given)
    {
        return Err(SettingError::Range { name, range, value: value.clone() });
    }
    *setting = given;
    Ok(())
}

/// A range of any kind.
#[doc(hidden)]
pub trait Contains<S> {
    fn has(&self, value: &S) -> bool;
}

impl<S: PartialOrd, R: RangeBounds<S>> Contains<S> for R {
    fn has(&self, value: &S) -> bool {
        self.contains(value)
    }
}
