//! Waiting for the other side: a writer for readers, a reader for writers or for samples.
use dcps::{Error, ReturnCode, States};
use wire::Duration;

use crate::condition::{StatusCondition, WaitSet};
use crate::entity::deleted;
use crate::publication::RawDataWriter;
use crate::subscription::RawDataReader;

impl RawDataWriter {
    /// Waits until so many readers are matched at the same time; returns at once if they are. What is written before a reader of
    /// DURABILITY VOLATILE is matched does not reach it. A reliable reader gets what is written from then on. For a best-effort one it waits
    /// until its participant has acknowledged that this writer is there, for 200 ms at most: it may miss the first samples if it is slower, or
    /// has to ask for the type.
    ///
    /// ```
    /// # use dds::prelude::*;
    /// # fn example(writer: &dds::RawDataWriter) -> Result<(), dds::Error> {
    /// writer.wait_for_readers(1, Duration::from_secs(5))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Timeout` if there are fewer, with how many; `NotEnabled`, `AlreadyDeleted`.
    pub fn wait_for_readers(&self, count: usize, timeout: impl Into<Duration>) -> Result<(), Error> {
        let cell = self.entity().cell("wait_for_readers")?;
        let look = || {
            let state = cell.lock();
            (state.machine.subscriptions().count(), state.deleted)
        };
        let condition = self.get_statuscondition();
        wait_for_match(&condition, "readers", "wait_for_readers", count, timeout.into(), look)?;
        let waits = WaitSet::new();
        waits.attach_condition(condition.into())?;
        for _ in 0..LOOKS {
            // No condition tells of acknowledgements.
            if waits.wait_until_true(LOOK, || self.is_announced())? {
                break;
            }
        }
        Ok(())
    }
}

/// How often, and how long in between, is looked for acknowledgements of the writer's announcement.
const LOOKS: u32 = 200;
const LOOK: Duration = Duration::from_millis(1);

impl RawDataReader {
    /// Waits until so many writers are matched at the same time; returns at once if they are.
    ///
    /// # Errors
    /// `Timeout` if there are fewer, with how many; `NotEnabled`, `AlreadyDeleted`.
    pub fn wait_for_writers(&self, count: usize, timeout: impl Into<Duration>) -> Result<(), Error> {
        let cell = self.entity().cell("wait_for_writers")?;
        let look = || {
            let state = cell.lock();
            (state.rtps.writers().count(), state.deleted)
        };
        wait_for_match(
            &self.get_statuscondition(),
            "writers",
            "wait_for_writers",
            count,
            timeout.into(),
            look,
        )
    }

    /// Where samples are waited for.
    pub(crate) fn arrivals(&self) -> WaitSet {
        let waits = WaitSet::new();
        // It cannot fail.
        let _ = waits.attach_condition(self.create_readcondition(States::NOT_READ).into());
        waits
    }

    /// Waits where [`RawDataReader::arrivals`] says until there are samples that were not read; false if none came in that time, or
    /// the reader is gone.
    pub(crate) fn wait_in(&self, waits: &WaitSet, timeout: Duration) -> bool {
        let is_over = || self.is_deleted() || self.has_samples(States::NOT_READ);
        waits.wait_until_true(timeout, is_over).unwrap_or(false) && !self.is_deleted()
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.entity().enabled().is_some_and(|cell| cell.lock().deleted)
    }
}

/// Waits until there are so many of the others; `look` says how many there are, and whether the entity was deleted.
fn wait_for_match(
    condition: &StatusCondition,
    others: &str,
    operation: &'static str,
    count: usize,
    timeout: Duration,
    look: impl Fn() -> (usize, bool),
) -> Result<(), Error> {
    let waits = WaitSet::new();
    waits.attach_condition(condition.clone().into())?;
    let is_over = || {
        let (found, is_deleted) = look();
        found >= count || is_deleted
    };
    let in_time = waits.wait_until_true(timeout, is_over)?;
    match look() {
        (_, true) => Err(deleted(operation)),
        _ if in_time => Ok(()),
        (found, false) => Err(Error::new(
            ReturnCode::Timeout,
            operation,
            format!("{found} {others} of {count} were matched in {timeout}"),
            "wait longer, or see with `punctual why` what is in the way",
        )),
    }
}
