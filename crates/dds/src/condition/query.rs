//! The condition that a reader has samples in some states that a query is true of.
use std::sync::{Arc, Mutex};

use content_filter::{ContentFilter, Outcome};
use dcps::reader::Payload;
use dcps::{Error, ReturnCode, States};

use super::read::ReadCondition;
use crate::content_filter::{made, unknown_type};
use crate::lock::lock;
use crate::shared::shared;
use crate::subscription::{RawDataReader, SampleType};

/// True while its reader has samples in its states for which its query is true: a function, or an expression of DDS with parameters
/// ([`DataReader::create_querycondition_where`](crate::DataReader::create_querycondition_where)). A function is asked while the reader is
/// locked, and must not use it.
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
    query: Query<T>,
}

/// A query about a sample.
enum Query<T> {
    Function(Arc<dyn Fn(&T) -> bool + Send + Sync>),
    Expression(Arc<Expression>),
}

/// A query expression. Its lock is taken with the reader locked.
struct Expression {
    text: String,
    current: Mutex<(ContentFilter, Vec<String>)>,
}

impl<T: SampleType + 'static> QueryCondition<T> {
    pub(crate) fn new(
        reader: RawDataReader,
        states: States,
        query: impl Fn(&T) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { read: ReadCondition::new(reader, states), query: Query::Function(Arc::new(query)) }
    }

    pub(crate) fn of_expression(
        reader: RawDataReader,
        states: States,
        text: String,
        parameters: Vec<String>,
    ) -> Result<Self, Error> {
        let (topic, operation) = (reader.get_topicdescription(), "create_querycondition_where");
        let Some(ty) = topic.entity().announced().samples() else {
            return Err(unknown_type(topic.get_name(), topic.get_type_name(), operation));
        };
        let filter = made(&ty, topic.get_type_name(), &text, &parameters, operation)?;
        let expression = Expression { text, current: Mutex::new((filter, parameters)) };
        let query = Query::Expression(Arc::new(expression));
        Ok(Self { read: ReadCondition::new(reader, states), query })
    }

    /// True if its reader has such samples.
    pub fn get_trigger_value(&self) -> bool {
        self.read.reader.has_samples_where(self.states(), |payload| self.matches(payload))
    }

    /// Which query it is; clones are the same.
    pub(super) fn identity(&self) -> usize {
        match &self.query {
            Query::Function(query) => Arc::as_ptr(query).cast::<()>().addr(),
            Query::Expression(query) => Arc::as_ptr(query).addr(),
        }
    }
}

impl<T: SampleType> QueryCondition<T> {
    /// Its states.
    pub const fn states(&self) -> States {
        self.read.states()
    }

    pub(crate) fn matches(&self, payload: Option<&Payload>) -> bool {
        let Some(payload) = payload else { return false };
        match &self.query {
            Query::Function(query) => match shared::<T>(payload) {
                Some(sample) => query(&sample),
                None => T::read_payload(payload.bytes()).is_ok_and(|sample| query(&sample)),
            },
            Query::Expression(query) => lock(&query.current).0.judge(payload.bytes()) == Outcome::Passes,
        }
    }

    /// Its expression; `None` if it is a function.
    pub fn get_query_expression(&self) -> Option<&str> {
        match &self.query {
            Query::Function(_) => None,
            Query::Expression(query) => Some(&query.text),
        }
    }

    /// The texts of its parameters; none if it is a function.
    pub fn get_query_parameters(&self) -> Vec<String> {
        match &self.query {
            Query::Function(_) => Vec::new(),
            Query::Expression(query) => lock(&query.current).1.clone(),
        }
    }

    /// Changes the parameters of its expression, which may make it true at once.
    ///
    /// # Errors
    /// `BadParameter` if one does not fit the expression; nothing is changed then. `PreconditionNotMet` if it is a function.
    pub fn set_query_parameters<S: Into<String>>(
        &self,
        parameters: impl IntoIterator<Item = S>,
    ) -> Result<(), Error> {
        let operation = "set_query_parameters";
        let Query::Expression(query) = &self.query else {
            return Err(Error::new(
                ReturnCode::PreconditionNotMet,
                operation,
                "the query is a function, which has no parameters",
                "make the condition by create_querycondition_where",
            ));
        };
        let parameters: Vec<String> = parameters.into_iter().map(Into::into).collect();
        let topic = self.read.reader.get_topicdescription();
        let Some(ty) = topic.entity().announced().samples() else {
            return Err(unknown_type(topic.get_name(), topic.get_type_name(), operation));
        };
        let filter = made(&ty, topic.get_type_name(), &query.text, &parameters, operation)?;
        *lock(&query.current) = (filter, parameters);
        self.read.reader.entity().watch.wake_waiters();
        Ok(())
    }

    pub(crate) fn check_reader(&self, reader: &RawDataReader) -> Result<(), Error> {
        self.read.check_reader(reader)
    }
}

impl<T> Clone for QueryCondition<T> {
    fn clone(&self) -> Self {
        let query = match &self.query {
            Query::Function(query) => Query::Function(Arc::clone(query)),
            Query::Expression(query) => Query::Expression(Arc::clone(query)),
        };
        Self { read: self.read.clone(), query }
    }
}
