//! Samples one after the other: those that are there, or those that come.
use dcps::SampleInfo;
use wire::Duration;

use super::reader::DataReader;
use super::sample::{Sample, SampleType};
use crate::condition::WaitSet;

impl<T: SampleType> DataReader<T> {
    /// Takes the samples that were not read before, one for each turn of the loop; ends when there is none, and does not wait. What has no
    /// data, as the end of an instance, is taken and left out. It ends, too, if the reader is not enabled or was deleted.
    ///
    /// ```
    /// # use dds::prelude::*;
    /// # #[derive(DdsType, Debug)]
    /// # struct Reading { celsius: f64 }
    /// # fn example(reader: &DataReader<Reading>) {
    /// for reading in reader.samples() {
    ///     println!("{}", reading.celsius);
    /// }
    /// for (reading, info) in reader.samples().with_info() {
    ///     println!("{} of {:?}", reading.celsius, info.source_timestamp);
    /// }
    /// # }
    /// ```
    pub const fn samples(&self) -> Samples<'_, T> {
        Samples { reader: self, waits: None }
    }

    /// As [`DataReader::samples`], but waits for each sample, at most so long, and ends when none has come in that time. The thread that
    /// waits receives by itself. With [`Duration::INFINITE`], or [`std::time::Duration::MAX`], it ends only when the reader was deleted.
    ///
    /// ```
    /// # use dds::prelude::*;
    /// # #[derive(DdsType, Debug)]
    /// # struct Reading { celsius: f64 }
    /// # fn example(reader: &DataReader<Reading>) {
    /// let hottest = reader.wait_samples(Duration::from_secs(1)).take(10).map(|reading| reading.celsius);
    /// println!("{:?}", hottest.reduce(f64::max));
    /// # }
    /// ```
    pub fn wait_samples(&self, timeout: impl Into<Duration>) -> Samples<'_, T> {
        Samples { reader: self, waits: Some((self.arrivals(), timeout.into())) }
    }

    /// The next sample that has data and was not read before.
    pub(super) fn take_valid(&self) -> Option<(T, SampleInfo)> {
        loop {
            match self.take_next_sample() {
                Ok(Some(Sample { info, data: Some(data), .. })) => return Some((data, info)),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

/// The samples of a reader, taken one after the other: see [`DataReader::samples`] and [`DataReader::wait_samples`]. After its end it may
/// go on, when more samples have come.
#[derive(Debug)]
#[must_use = "samples are taken as it is asked for them"]
pub struct Samples<'a, T> {
    reader: &'a DataReader<T>,
    /// The WaitSet that it waits in, and for how long at most.
    waits: Option<(WaitSet, Duration)>,
}

/// Samples, each with what is known about it: see [`Samples::with_info`].
#[derive(Debug)]
#[must_use = "samples are taken as it is asked for them"]
pub struct WithInfo<S>(pub(super) S);

impl<'a, T: SampleType> Samples<'a, T> {
    /// The same with what is known about each sample.
    pub const fn with_info(self) -> WithInfo<Self> {
        WithInfo(self)
    }

    fn take_next(&mut self) -> Option<(T, SampleInfo)> {
        loop {
            let found = self.reader.take_valid();
            let (None, Some((waits, timeout))) = (&found, &self.waits) else { return found };
            if !self.reader.wait_in(waits, *timeout) {
                return None;
            }
        }
    }
}

impl<T: SampleType> Iterator for Samples<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.take_next().map(|(data, _)| data)
    }
}

impl<T: SampleType> Iterator for WithInfo<Samples<'_, T>> {
    type Item = (T, SampleInfo);

    fn next(&mut self) -> Option<(T, SampleInfo)> {
        self.0.take_next()
    }
}

impl<'a, T: SampleType> IntoIterator for &'a DataReader<T> {
    type Item = T;
    type IntoIter = Samples<'a, T>;

    /// As [`DataReader::samples`].
    fn into_iter(self) -> Samples<'a, T> {
        self.samples()
    }
}
