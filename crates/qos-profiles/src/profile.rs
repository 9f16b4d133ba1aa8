//! What a file says, before anything is inherited.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::entity::Entity;
use crate::fields::Value;

/// A profile.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub(crate) library: String,
    pub(crate) name: String,
    /// Number of its file.
    pub(crate) file: usize,
    pub(crate) at: usize,
    /// Number of the profile that it inherits from, which is an earlier one.
    pub(crate) base: Option<usize>,
    /// How many profiles are inherited from in a row, itself counted.
    pub(crate) depth: usize,
    pub(crate) sections: Vec<Section>,
}

impl Profile {
    /// `Library::Profile`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}::{}", self.library, self.name)
    }
}

/// Policies of a kind of entity.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) entity: Entity,
    pub(crate) at: usize,
    /// Topics that it is for; `None` for all that no filter is for.
    pub(crate) filter: Option<String>,
    /// Number of the profile that it inherits from, in place of that of its profile.
    pub(crate) base: Option<usize>,
    pub(crate) said: Vec<Said>,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    /// Number of the field.
    pub(crate) field: usize,
    pub(crate) value: Value,
    pub(crate) at: usize,
}
