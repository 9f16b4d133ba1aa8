//! Content-filtered topics (DDS 1.4, 2.2.2.3.3).
use std::sync::{Arc, Mutex, Weak};

use content_filter::{ContentFilter, FilterError, Limits, SampleType};
use dcps::{Error, ReturnCode};
use rtps::writer::SampleFilter;
use wire::discovery::ContentFilterProperty;

use crate::lock::lock;
use crate::node::filters::sample_filter;
use crate::participant::DomainParticipant;
use crate::subscription::ReaderEntity;
use crate::topic::Topic;

/// A topic of which readers get only the samples that pass a filter expression (DDS 1.4, Annex B). Clones are the same; it lives as long as
/// handles of it, or readers.
///
/// A reader evaluates its filter for every sample. It also announces it, so that writers need not send what it would drop.
///
/// ```
/// # use dds::prelude::*;
/// # #[derive(DdsType, Clone, Debug, Default)]
/// # struct Reading { #[dds(key)] sensor: u32, celsius: f64 }
/// # fn example(participant: &Participant) -> Result<(), dds::Error> {
/// use dds::{NO_STATUS, QosKind};
///
/// let readings = participant.create_topic::<Reading>("Readings", "Reading", QosKind::Default, None, NO_STATUS)?;
/// let hot = participant.create_contentfilteredtopic("Hot", &readings, "celsius > %0 AND sensor <> 7", ["90"])?;
/// let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
/// let reader = subscriber.create_datareader::<Reading>(&hot, QosKind::Default, None, NO_STATUS)?;
/// hot.set_expression_parameters(["95"])?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ContentFilteredTopic {
    entity: Arc<FilteredEntity>,
    topic: Topic,
}

/// A content-filtered topic as its readers keep it.
pub(crate) struct FilteredEntity {
    name: String,
    related: String,
    expression: String,
    ty: SampleType,
    /// Taken before the locks of readers and of discovery.
    changing: Mutex<Changing>,
}

struct Changing {
    parameters: Vec<String>,
    readers: Vec<Weak<ReaderEntity>>,
}

/// The topic of a reader: a [`Topic`] or a [`ContentFilteredTopic`].
pub trait TopicDescription: sealed::Sealed {
    /// The topic, and the filter if there is one.
    #[doc(hidden)]
    fn parts(&self) -> (&Topic, Option<&ContentFilteredTopic>);
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::Topic {}
    impl Sealed for super::ContentFilteredTopic {}
}

impl TopicDescription for Topic {
    fn parts(&self) -> (&Topic, Option<&ContentFilteredTopic>) {
        (self, None)
    }
}

impl TopicDescription for ContentFilteredTopic {
    fn parts(&self) -> (&Topic, Option<&ContentFilteredTopic>) {
        (&self.topic, Some(self))
    }
}

impl ContentFilteredTopic {
    pub(crate) fn new(
        topic: &Topic,
        name: &str,
        expression: &str,
        parameters: Vec<String>,
        operation: &'static str,
    ) -> Result<Self, Error> {
        let Some(ty) = topic.entity().announced().samples() else {
            return Err(unknown_type(topic.get_name(), topic.get_type_name(), operation));
        };
        made(&ty, topic.get_type_name(), expression, &parameters, operation)?;
        let entity = FilteredEntity {
            name: name.to_owned(),
            related: topic.get_name().to_owned(),
            expression: expression.to_owned(),
            ty,
            changing: Mutex::new(Changing { parameters, readers: Vec::new() }),
        };
        Ok(Self { entity: Arc::new(entity), topic: topic.clone() })
    }

    pub(crate) const fn of(entity: Arc<FilteredEntity>, topic: Topic) -> Self {
        Self { entity, topic }
    }

    pub(crate) const fn entity(&self) -> &Arc<FilteredEntity> {
        &self.entity
    }

    /// Its name.
    pub fn get_name(&self) -> &str {
        &self.entity.name
    }

    /// The topic that it filters.
    pub const fn get_related_topic(&self) -> &Topic {
        &self.topic
    }

    /// The participant.
    pub const fn get_participant(&self) -> &DomainParticipant {
        self.topic.get_participant()
    }

    /// The expression.
    pub fn get_filter_expression(&self) -> &str {
        &self.entity.expression
    }

    /// The texts of the parameters `%0`, `%1` and so on.
    pub fn get_expression_parameters(&self) -> Vec<String> {
        lock(&self.entity.changing).parameters.clone()
    }

    /// Changes the parameters, also while readers run: what comes from now on is judged by the new ones, and writers are told. A sample that
    /// passes the old and the new filter is not lost. What was kept away before is not sent again.
    ///
    /// # Errors
    /// `BadParameter` if one does not fit the expression; nothing is changed then.
    pub fn set_expression_parameters<S: Into<String>>(
        &self,
        parameters: impl IntoIterator<Item = S>,
    ) -> Result<(), Error> {
        let operation = "set_expression_parameters";
        self.topic.get_participant().node().check_process(operation)?;
        let parameters: Vec<String> = parameters.into_iter().map(Into::into).collect();
        let entity = &*self.entity;
        made(&entity.ty, self.topic.get_type_name(), &entity.expression, &parameters, operation)?;
        let readers = {
            let mut changing = lock(&entity.changing);
            changing.parameters = parameters;
            changing.readers.retain(|reader| reader.strong_count() > 0);
            changing.readers.clone()
        };
        readers.iter().filter_map(Weak::upgrade).try_for_each(|reader| reader.renew_filter())
    }
}

impl FilteredEntity {
    pub(crate) fn add_reader(&self, reader: &Arc<ReaderEntity>) {
        lock(&self.changing).readers.push(Arc::downgrade(reader));
    }

    /// Gives a reader the filter with the parameters of now, and what is announced of it. No other parameters are set before `apply` returns.
    pub(crate) fn with_filter<R>(
        &self,
        operation: &'static str,
        apply: impl FnOnce(SampleFilter, Box<ContentFilterProperty>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let changing = lock(&self.changing);
        let filter = made(&self.ty, "", &self.expression, &changing.parameters, operation)?;
        let property = ContentFilterProperty {
            filtered_topic: self.name.clone(),
            related_topic: self.related.clone(),
            class: ContentFilterProperty::DDSSQL.to_owned(),
            expression: self.expression.clone(),
            parameters: changing.parameters.clone(),
        };
        apply(sample_filter(filter), Box::new(property))
    }
}

/// The filter, or what is wrong with it.
pub(crate) fn made(
    ty: &SampleType,
    type_name: &str,
    expression: &str,
    parameters: &[String],
    operation: &'static str,
) -> Result<ContentFilter, Error> {
    ContentFilter::new(ty.clone(), expression, parameters, &Limits::OWN).map_err(|error| {
        let advice = match &error {
            FilterError::Syntax(_) => {
                "write comparisons such as `x > 5`, `name LIKE 'north%'`, `x BETWEEN %0 AND %1`, joined by AND, OR, NOT and \
                 parentheses"
            }
            FilterError::TooManyParameters(_) | FilterError::ParametersTooLong(_) => {
                "pass only the parameters that the expression names"
            }
            _ => "name fields as IDL does (`position.x`, `track[0].id`), and give each parameter a value of the type of its other side",
        };
        let what =
            format!("filter {expression:?} {error}; members of {type_name:?} are: {}", ty.names(MOST_NAMES));
        Error::new(ReturnCode::BadParameter, operation, what, advice)
    })
}

/// Members that an error names.
const MOST_NAMES: usize = 20;

pub(crate) fn unknown_type(topic: &str, type_name: &str, operation: &'static str) -> Error {
    Error::new(
        ReturnCode::Unsupported,
        operation,
        format!(
            "the members of type {type_name:?} of topic {topic:?} are not known, so that no filter can name them"
        ),
        "use a type that is derived, or a topic made by create_described_topic",
    )
}
