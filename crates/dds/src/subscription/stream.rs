//! Samples for asynchronous programs: a stream that any executor can poll. It has no thread of its own; the participant's threads receive.
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};

use dcps::SampleInfo;
use futures_core::Stream;

use super::reader::DataReader;
use super::sample::SampleType;
use super::samples::WithInfo;
use crate::entity::StatusSource;
use crate::lock::lock;
use crate::node::watch::Waiter;

impl<T: SampleType> DataReader<T> {
    /// The samples that were not read before and those that come, as a stream: each is taken when it is polled for. What has no data, as
    /// the end of an instance, is taken and left out. It ends when the reader is deleted. A reader may have several streams, and others
    /// may take from it: each sample goes to one of them.
    ///
    /// ```
    /// use std::future::poll_fn;
    /// use std::pin::pin;
    ///
    /// use dds::prelude::*;
    /// use futures_core::Stream;
    ///
    /// #[derive(DdsType, Debug)]
    /// struct Reading {
    ///     celsius: f64,
    /// }
    ///
    /// async fn show(reader: DataReader<Reading>) {
    ///     let mut readings = pin!(reader.stream());
    ///     while let Some(reading) = poll_fn(|context| readings.as_mut().poll_next(context)).await {
    ///         println!("{reading:?}");
    ///     }
    /// }
    /// ```
    ///
    /// With `StreamExt` of the crate `futures` the loop is `while let Some(reading) = readings.next().await`.
    pub fn stream(&self) -> SampleStream<T> {
        let sleeper = Arc::new(Sleeper::default());
        self.entity().watch().attach(waiter(&sleeper));
        SampleStream { reader: self.clone(), sleeper }
    }
}

/// The samples of a reader as a stream: see [`DataReader::stream`].
#[derive(Debug)]
#[must_use = "samples are taken as it is polled for them"]
pub struct SampleStream<T> {
    reader: DataReader<T>,
    sleeper: Arc<Sleeper>,
}

/// The task that waits for the next sample.
#[derive(Default, Debug)]
struct Sleeper(Mutex<Option<Waker>>);

impl Waiter for Sleeper {
    fn wake(&self) {
        if let Some(waker) = self.wake_later() {
            waker.wake();
        }
    }

    fn wake_later(&self) -> Option<Waker> {
        lock(&self.0).take()
    }
}

impl<T: SampleType> SampleStream<T> {
    /// The same with what is known about each sample.
    pub const fn with_info(self) -> WithInfo<Self> {
        WithInfo(self)
    }

    fn poll_sample(&self, context: &Context<'_>) -> Poll<Option<(T, SampleInfo)>> {
        if let Poll::Ready(found) = self.look() {
            return Poll::Ready(found);
        }
        let waker = context.waker().clone();
        let former = lock(&self.sleeper.0).replace(waker);
        // Its end may be that of a task, which may be that of a stream.
        drop(former);
        // Again, now that a sample wakes the task: one that came before did not.
        self.look()
    }

    fn look(&self) -> Poll<Option<(T, SampleInfo)>> {
        match self.reader.take_valid() {
            None if !self.reader.is_deleted() => Poll::Pending,
            found => Poll::Ready(found),
        }
    }
}

impl<T: SampleType> Stream for SampleStream<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.poll_sample(context).map(|found| found.map(|(data, _)| data))
    }
}

impl<T: SampleType> Stream for WithInfo<SampleStream<T>> {
    type Item = (T, SampleInfo);

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<(T, SampleInfo)>> {
        self.0.poll_sample(context)
    }
}

impl<T> Drop for SampleStream<T> {
    fn drop(&mut self) {
        let entity = self.reader.entity();
        // After a fork a thread that is not here may have held the lock.
        if !entity.host().is_some_and(|host| host.is_of_parent_process()) {
            entity.watch().detach(&waiter(&self.sleeper));
        }
    }
}

fn waiter(sleeper: &Arc<Sleeper>) -> Weak<dyn Waiter> {
    let sleeper: Weak<Sleeper> = Arc::downgrade(sleeper);
    sleeper
}
