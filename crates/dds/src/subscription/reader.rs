//! The typed DataReader (DDS 1.4, 2.2.2.5.3).
use std::cell::RefCell;
use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use dcps::reader::{Request, Sample as Octets, Which};
use dcps::status::StatusMask;
use dcps::{Error, InstanceHandle, ReturnCode, SampleInfo, States};

use super::listener::{AnyDataReaderListener, DataReaderListener, Typed};
use super::raw::RawDataReader;
use super::sample::{Sample, SampleType};
use crate::condition::{QueryCondition, ReadCondition};
use crate::shared::{copied, shared};

/// A reader of samples of type `T`. Clones are the same reader. What does not depend on the type is said by [`RawDataReader`], which
/// it dereferences to.
///
/// The forms of read and take are those of the standard; an empty result is its NO_DATA. Bytes that cannot be decoded, as of a writer
/// that means another type by the same name, are left out and counted ([`DropReason::Malformed`](dcps::reader::DropReason)).
///
/// ```
/// # use dds::prelude::*;
/// # #[derive(DdsType, Clone, Debug, Default)]
/// # struct Reading { #[dds(key)] sensor: u32, celsius: f64 }
/// # fn example(participant: &Participant) -> Result<(), dds::Error> {
/// use dds::States;
///
/// let reader = participant.reader::<Reading>("Readings").reliable().keep_last(10).create()?;
/// for reading in reader.wait_samples(Duration::from_secs(1)) {
///     println!("{}: {}", reading.sensor, reading.celsius);
/// }
/// // The same in the words of the standard, with the ends of instances.
/// for sample in reader.take(10, States::ANY)? {
///     match (&sample.data, &sample.key) {
///         (Some(reading), _) => println!("{}: {}", reading.sensor, reading.celsius),
///         (None, Some(key)) => println!("{}: {:?}", key.sensor, sample.info.instance_state),
///         (None, None) => {}
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct DataReader<T> {
    raw: RawDataReader,
    of: PhantomData<fn() -> T>,
}

impl<T> DataReader<T> {
    pub(super) const fn of(raw: RawDataReader) -> Self {
        Self { raw, of: PhantomData }
    }

    /// Sets or takes away the listener. Waits for a call in progress.
    pub fn set_listener(&self, listener: Option<Arc<dyn DataReaderListener<T>>>, mask: StatusMask)
    where
        T: Send + Sync + 'static,
    {
        let listener = listener.map(|listener| Arc::new(Typed(listener)) as Arc<dyn AnyDataReaderListener>);
        self.raw.set_raw_listener(listener, mask);
    }
}

impl<T: SampleType> DataReader<T> {
    /// Takes up to `max` samples in these states out of the cache.
    ///
    /// # Errors
    /// `NotEnabled`, `AlreadyDeleted`.
    pub fn take(&self, max: usize, states: States) -> Result<Vec<Sample<T>>, Error> {
        self.get(&Request { states, max, ..Request::TAKE })
    }

    /// Takes as [`DataReader::take`] does, by handles: what a writer of the same participant has written by one
    /// ([`DataWriter::write_shared`](crate::DataWriter::write_shared)) is that very handle, anything else is put into one.
    ///
    /// # Errors
    /// As [`DataReader::take`].
    pub fn take_shared(&self, max: usize, states: States) -> Result<Vec<Sample<Arc<T>>>, Error> {
        let mut samples = Vec::new();
        self.with_octets(|octets| {
            self.raw.access_serialized(&Request { states, max, ..Request::TAKE }, octets)?;
            for octets in octets.iter() {
                match decode_shared::<T>(octets) {
                    Ok(sample) => samples.push(sample),
                    Err(error) => self.raw.count_undecodable(&octets.info, &error.into()),
                }
            }
            Ok(())
        })?;
        Ok(samples)
    }

    /// Reads up to `max` samples in these states; they stay in the cache and count as read.
    ///
    /// # Errors
    /// As [`DataReader::take`].
    pub fn read(&self, max: usize, states: States) -> Result<Vec<Sample<T>>, Error> {
        self.get(&Request { states, max, ..Request::READ })
    }

    /// Takes samples of one instance.
    ///
    /// # Errors
    /// As [`DataReader::take`]; `BadParameter` if the instance is not known.
    pub fn take_instance(
        &self,
        max: usize,
        instance: InstanceHandle,
        states: States,
    ) -> Result<Vec<Sample<T>>, Error> {
        self.get(&Request { states, max, which: Which::Instance(instance), ..Request::TAKE })
    }

    /// Reads samples of one instance.
    ///
    /// # Errors
    /// As [`DataReader::take_instance`].
    pub fn read_instance(
        &self,
        max: usize,
        instance: InstanceHandle,
        states: States,
    ) -> Result<Vec<Sample<T>>, Error> {
        self.get(&Request { states, max, which: Which::Instance(instance), ..Request::READ })
    }

    /// Takes samples of the first instance after `previous`, or of the first at all, that has some.
    ///
    /// # Errors
    /// As [`DataReader::take`].
    pub fn take_next_instance(
        &self,
        max: usize,
        previous: Option<InstanceHandle>,
        states: States,
    ) -> Result<Vec<Sample<T>>, Error> {
        self.get(&Request { states, max, which: Which::NextInstance(previous), ..Request::TAKE })
    }

    /// Reads samples of the first instance after `previous`, or of the first at all, that has some.
    ///
    /// # Errors
    /// As [`DataReader::take`].
    pub fn read_next_instance(
        &self,
        max: usize,
        previous: Option<InstanceHandle>,
        states: States,
    ) -> Result<Vec<Sample<T>>, Error> {
        self.get(&Request { states, max, which: Which::NextInstance(previous), ..Request::READ })
    }

    /// Takes samples that a condition of this reader is for.
    ///
    /// # Errors
    /// As [`DataReader::take`]; `PreconditionNotMet` if the condition is of another reader.
    pub fn take_w_condition(&self, max: usize, condition: &ReadCondition) -> Result<Vec<Sample<T>>, Error> {
        condition.check_reader(&self.raw)?;
        self.get(&Request { states: condition.states(), max, ..Request::TAKE })
    }

    /// Reads samples that a condition of this reader is for.
    ///
    /// # Errors
    /// As [`DataReader::take_w_condition`].
    pub fn read_w_condition(&self, max: usize, condition: &ReadCondition) -> Result<Vec<Sample<T>>, Error> {
        condition.check_reader(&self.raw)?;
        self.get(&Request { states: condition.states(), max, ..Request::READ })
    }

    /// Takes samples that a query is for.
    ///
    /// # Errors
    /// As [`DataReader::take_w_condition`].
    pub fn take_w_query(&self, max: usize, query: &QueryCondition<T>) -> Result<Vec<Sample<T>>, Error> {
        self.get_where(query, &Request { states: query.states(), max, ..Request::TAKE })
    }

    /// Reads samples that a query is for.
    ///
    /// # Errors
    /// As [`DataReader::take_w_condition`].
    pub fn read_w_query(&self, max: usize, query: &QueryCondition<T>) -> Result<Vec<Sample<T>>, Error> {
        self.get_where(query, &Request { states: query.states(), max, ..Request::READ })
    }

    /// Takes the next sample that was not read before; `None` if there is none. For a type of fixed size nothing is taken from
    /// the heap in steady state.
    ///
    /// # Errors
    /// As [`DataReader::take`].
    pub fn take_next_sample(&self) -> Result<Option<Sample<T>>, Error> {
        self.next(&Request { states: States::NOT_READ, max: 1, ..Request::TAKE })
    }

    /// Reads the next sample that was not read before; `None` if there is none.
    ///
    /// # Errors
    /// As [`DataReader::take`].
    pub fn read_next_sample(&self) -> Result<Option<Sample<T>>, Error> {
        self.next(&Request { states: States::NOT_READ, max: 1, ..Request::READ })
    }

    /// Takes the next sample that was not read before into `sample`, whose memory is used again; `None` if there is none.
    /// Without data (`valid_data` false) `sample` stays as it is.
    ///
    /// # Errors
    /// As [`DataReader::take`].
    pub fn take_into(&self, sample: &mut T) -> Result<Option<SampleInfo>, Error> {
        let request = Request { states: States::NOT_READ, max: 1, ..Request::TAKE };
        self.each(&request, |octets| {
            if let Some(payload) = &octets.payload {
                match copied(payload) {
                    Some(copy) => *sample = copy,
                    None => sample.read_payload_into(payload.bytes())?,
                }
            }
            Ok(octets.info)
        })
    }

    /// Takes up to `max` samples that were not read before, into `sample` one after the other, whose memory is used again, and hands each
    /// of them to `act`; says how many were taken. The reader is locked once for all of them, and not while `act` is called.
    /// Without data (`valid_data` false) `sample` stays as it is.
    ///
    /// # Errors
    /// As [`DataReader::take`].
    pub fn take_each(
        &self,
        max: usize,
        sample: &mut T,
        mut act: impl FnMut(&mut T, &SampleInfo),
    ) -> Result<usize, Error> {
        let request = Request { states: States::NOT_READ, max, ..Request::TAKE };
        self.with_octets(|octets| {
            self.raw.access_serialized(&request, octets)?;
            for octets in &*octets {
                match octets.payload.as_ref().map(|payload| sample.read_payload_into(payload.bytes())) {
                    Some(Err(error)) => self.raw.count_undecodable(&octets.info, &error.into()),
                    _ => act(sample, &octets.info),
                }
            }
            Ok(octets.len())
        })
    }

    /// The instance of a sample; `None` if this reader does not know it.
    ///
    /// # Errors
    /// `BadParameter` if the sample breaks a bound of its type, `NotEnabled`.
    pub fn lookup_instance(&self, sample: &T) -> Result<Option<InstanceHandle>, Error> {
        let mut octets = Vec::new();
        sample.write_payload(&mut octets).map_err(|error| {
            let advice = "make the sample keep the bounds of its type";
            Error::new(ReturnCode::BadParameter, "lookup_instance", error.to_string(), advice)
        })?;
        self.raw.lookup_serialized(&octets, false)
    }

    /// A sample with the key of an instance; its other members are initial.
    ///
    /// # Errors
    /// `BadParameter` if the instance is not known, `PreconditionNotMet` if the type has no key, `NotEnabled`.
    pub fn get_key_value(&self, instance: InstanceHandle) -> Result<T, Error> {
        let mut octets = Vec::new();
        self.raw.serialized_key(instance, &mut octets)?;
        T::read_key_payload(&octets).map_err(|error| not_decoded(&error))
    }

    /// The condition that there are samples in these states for which `query` is true.
    pub fn create_querycondition(
        &self,
        states: States,
        query: impl Fn(&T) -> bool + Send + Sync + 'static,
    ) -> QueryCondition<T>
    where
        T: 'static,
    {
        QueryCondition::new(self.raw.clone(), states, query)
    }

    /// The condition that there are samples in these states for which a query expression is true (DDS 1.4, Annex B), with the texts of its
    /// parameters `%0`, `%1` and so on, which [`QueryCondition::set_query_parameters`] changes. Samples without data are not among them.
    ///
    /// # Errors
    /// `BadParameter` if the expression or a parameter does not fit the type, with the byte where.
    pub fn create_querycondition_where<S: Into<String>>(
        &self,
        states: States,
        expression: impl Into<String>,
        parameters: impl IntoIterator<Item = S>,
    ) -> Result<QueryCondition<T>, Error> {
        let parameters = parameters.into_iter().map(Into::into).collect();
        QueryCondition::of_expression(self.raw.clone(), states, expression.into(), parameters)
    }

    fn get(&self, request: &Request) -> Result<Vec<Sample<T>>, Error> {
        let mut samples = Vec::new();
        self.with_octets(|octets| {
            self.raw.access_serialized(request, octets)?;
            self.decode(octets, &mut samples);
            Ok(())
        })?;
        Ok(samples)
    }

    fn get_where(&self, query: &QueryCondition<T>, request: &Request) -> Result<Vec<Sample<T>>, Error> {
        query.check_reader(&self.raw)?;
        let mut samples = Vec::new();
        self.with_octets(|octets| {
            self.raw.access_where(request, |_, payload| query.matches(payload), octets)?;
            self.decode(octets, &mut samples);
            Ok(())
        })?;
        Ok(samples)
    }

    fn next(&self, request: &Request) -> Result<Option<Sample<T>>, Error> {
        self.each(request, decode)
    }

    /// The next sample that can be decoded, which is done outside of the lock.
    fn each<R>(
        &self,
        request: &Request,
        mut decode: impl FnMut(&Octets) -> Result<R, T::Fault>,
    ) -> Result<Option<R>, Error> {
        loop {
            let found = self.with_octets(|octets| {
                self.raw.access_serialized(request, octets)?;
                Ok(octets.first().map(|octets| decode(octets).map_err(|error| (octets.info, error))))
            })?;
            match found {
                None => return Ok(None),
                Some(Ok(sample)) => return Ok(Some(sample)),
                Some(Err((info, error))) => self.raw.count_undecodable(&info, &error.into()),
            }
        }
    }

    fn decode(&self, octets: &[Octets], samples: &mut Vec<Sample<T>>) {
        samples.reserve(octets.len());
        for octets in octets {
            match decode::<T>(octets) {
                Ok(sample) => samples.push(sample),
                Err(error) => self.raw.count_undecodable(&octets.info, &error.into()),
            }
        }
    }

    /// Lends a list that is used again by the next call on the thread, and gives the memory of its samples back.
    fn with_octets<R>(&self, access: impl FnOnce(&mut Vec<Octets>) -> Result<R, Error>) -> Result<R, Error> {
        thread_local! {
            static LIST: RefCell<Vec<Octets>> = const { RefCell::new(Vec::new()) };
        }
        let mut octets = LIST.take();
        let result = access(&mut octets);
        if octets.iter().any(Octets::has_buffer) {
            self.raw.recycle(octets.drain(..));
        }
        octets.clear();
        LIST.with_borrow_mut(|list| *list = octets);
        result
    }
}

impl<T> Clone for DataReader<T> {
    fn clone(&self) -> Self {
        Self::of(self.raw.clone())
    }
}

impl<T> Deref for DataReader<T> {
    type Target = RawDataReader;

    fn deref(&self) -> &RawDataReader {
        &self.raw
    }
}

fn decode<T: SampleType>(octets: &Octets) -> Result<Sample<T>, T::Fault> {
    let data = octets.payload.as_ref().map(|payload| match copied(payload) {
        Some(sample) => Ok(sample),
        None => T::read_payload(payload.bytes()),
    });
    let key = octets.key.as_ref().map(|key| T::read_key_payload(key.bytes()));
    Ok(Sample { info: octets.info, data: data.transpose()?, key: key.transpose()? })
}

fn decode_shared<T: SampleType>(octets: &Octets) -> Result<Sample<Arc<T>>, T::Fault> {
    if let Some(sample) = octets.payload.as_ref().and_then(shared) {
        return Ok(Sample { info: octets.info, data: Some(sample), key: None });
    }
    let Sample { info, data, key } = decode::<T>(octets)?;
    Ok(Sample { info, data: data.map(Arc::new), key: key.map(Arc::new) })
}

fn not_decoded(error: &dyn Display) -> Error {
    Error::new(
        ReturnCode::Error,
        "get_key_value",
        format!("the key cannot be decoded: {error}"),
        "check that writer and reader mean the same type by its name",
    )
}
