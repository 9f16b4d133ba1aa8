//! A sample as the application gets it.
use std::ops::Deref;

use dcps::SampleInfo;

/// Data and what is known about them.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample<T> {
    /// What is known about it.
    pub info: SampleInfo,
    /// The data; `None` if it only tells of a change of its instance (`info.valid_data` is false then).
    pub data: Option<T>,
    /// Without data: a value with the key of the instance, its other members initial; `None` if the type has no key.
    pub key: Option<T>,
}

impl<T> Deref for Sample<T> {
    type Target = Option<T>;

    fn deref(&self) -> &Option<T> {
        &self.data
    }
}
