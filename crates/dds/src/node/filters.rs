//! Content filters: those of remote readers, which a writer evaluates, and those of our own readers.
use content_filter::{ContentFilter, Limits, Outcome};
use rtps::writer::SampleFilter;
use wire::discovery::{ContentFilterProperty, EndpointData};

use super::writer::WriterCell;

/// The filter that a writer evaluates for a reader, if the reader has one that is understood here. Without it the reader gets everything,
/// and filters by itself: for a class of expressions that is not DDSSQL, for an expression that does not fit the writer's type or is
/// beyond [`Limits::REMOTE`], and where names of members mean nothing.
pub(super) fn of_reader(cell: &WriterCell, reader: &EndpointData) -> Option<SampleFilter> {
    let announced = reader.content_filter.as_deref()?;
    let is_understood = announced.class == ContentFilterProperty::DDSSQL
        && !announced.expression.is_empty()
        && !reader.qos.type_consistency.ignore_member_names;
    if !is_understood {
        return None;
    }
    let ty = cell.ty.as_ref()?.samples()?;
    let made = ContentFilter::new(ty, &announced.expression, &announced.parameters, &Limits::REMOTE);
    match made {
        Ok(filter) => Some(sample_filter(filter)),
        Err(error) => {
            tracing::debug!(
                reader = %reader.guid,
                topic = reader.topic_name,
                expression = announced.expression,
                "the content filter of a reader is left to the reader: {error}"
            );
            None
        }
    }
}

/// A filter that lets a sample pass of which it cannot tell: the reader finds out.
pub(crate) fn sample_filter(mut filter: ContentFilter) -> SampleFilter {
    SampleFilter::new(move |payload| filter.judge(payload) != Outcome::Filtered)
}
