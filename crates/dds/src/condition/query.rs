//! The condition that a reader has samples in some states that a query is true of.
use std::sync::Arc;

use dcps::reader::Payload;
use dcps::{Error, States};

use super::read::ReadCondition;
use crate::shared::shared;
use crate::subscription::{RawDataReader, SampleType};

/// True while its reader has samples in its states for which its query is true. The query is a function here, not a text; it is
/// asked while the reader is locked, and must not use it.
///
/// ```
/// # use dds::prelude::*;
/// # #[derive(DdsType, Clone, Debug, Default)]
/// # struct Reading { #[dds(key)] sensor: u32, celsius: f64 }
/// # fn example(reader: &DataReader<Reading>) -> Result<(), dds::Error> {
/// use dds::States;
///
/// let hot = reader.create_querycondition(States::NOT_READ, |reading| reading.celsius > 90.0);
/// println!("{} of them are hot", reader.read_w_query(10, &hot)?.len());
/// # Ok(())
/// # }
/// ```
pub struct QueryCondition<T> {
    pub(super) read: ReadCondition,
    query: Arc<dyn Fn(&T) -> bool + Send + Sync>,
}

impl<T: SampleType + 'static> QueryCondition<T> {
    pub(crate) fn new(
        reader: RawDataReader,
        states: States,
        query: impl Fn(&T) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { read: ReadCondition::new(reader, states), query: Arc::new(query) }
    }

    /// True if its reader has such samples.
    pub fn get_trigger_value(&self) -> bool {
        self.read.reader.has_samples_where(self.states(), |payload| self.matches(payload))
    }

    /// Which query it is; clones are the same.
    pub(super) fn identity(&self) -> usize {
        Arc::as_ptr(&self.query).cast::<()>().addr()
    }
}

impl<T: SampleType> QueryCondition<T> {
    /// Its states.
    pub const fn states(&self) -> States {
        self.read.states()
    }

    pub(crate) fn matches(&self, payload: Option<&Payload>) -> bool {
        let Some(payload) = payload else { return false };
        match shared::<T>(payload) {
            Some(sample) => (self.query)(&sample),
            None => T::read_payload(payload.bytes()).is_ok_and(|sample| (self.query)(&sample)),
        }
    }

    pub(crate) fn check_reader(&self, reader: &RawDataReader) -> Result<(), Error> {
        self.read.check_reader(reader)
    }
}

impl<T> Clone for QueryCondition<T> {
    fn clone(&self) -> Self {
        Self { read: self.read.clone(), query: Arc::clone(&self.query) }
    }
}
