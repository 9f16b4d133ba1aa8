//! The condition that a reader has samples in some states.
use std::sync::Arc;

use dcps::{Error, ReturnCode, States};

use crate::subscription::RawDataReader;

/// True while its reader has samples in its states.
#[derive(Clone)]
pub struct ReadCondition {
    pub(super) reader: RawDataReader,
    states: States,
}

impl ReadCondition {
    pub(crate) const fn new(reader: RawDataReader, states: States) -> Self {
        Self { reader, states }
    }

    /// Its states.
    pub const fn states(&self) -> States {
        self.states
    }

    /// Its reader.
    pub const fn get_datareader(&self) -> &RawDataReader {
        &self.reader
    }

    /// True if its reader has samples in its states.
    pub fn get_trigger_value(&self) -> bool {
        self.reader.has_samples(self.states)
    }

    pub(crate) fn check_reader(&self, reader: &RawDataReader) -> Result<(), Error> {
        if Arc::ptr_eq(reader.entity(), self.reader.entity()) {
            return Ok(());
        }
        Err(Error::new(
            ReturnCode::PreconditionNotMet,
            "read or take with a condition",
            "the condition is of another reader",
            "use a condition that this reader has created",
        ))
    }
}
