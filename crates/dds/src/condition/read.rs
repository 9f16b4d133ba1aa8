//! The condition that a reader has samples in some states.
use std::sync::Arc;

use dcps::{Error, ReturnCode, States};

use crate::subscription::RawDataReader;

/// True while its reader has samples in its states.
///
/// ```
/// # use dds::prelude::*;
/// # #[derive(DdsType, Clone, Debug, Default)]
/// # struct Reading { #[dds(key)] sensor: u32, celsius: f64 }
/// # fn example(reader: &DataReader<Reading>) -> Result<(), dds::Error> {
/// use dds::States;
///
/// let fresh = reader.create_readcondition(States::NOT_READ);
/// println!("{} samples", reader.take_w_condition(10, &fresh)?.len());
/// # Ok(())
/// # }
/// ```
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
