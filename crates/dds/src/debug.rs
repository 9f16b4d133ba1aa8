//! What entities and conditions print as with `{:?}`: what tells them apart. No lock is taken for it.
use std::any::type_name;
use std::fmt::{Debug, Formatter, Result};

use crate::condition::{GuardCondition, Query, QueryCondition, ReadCondition, StatusCondition, WaitSet};
use crate::content_filter::ContentFilteredTopic;
use crate::factory::DomainParticipantFactory;
use crate::participant::DomainParticipant;
use crate::publication::{DataWriter, Publisher, RawDataWriter, WriterBuilder};
use crate::subscription::{DataReader, RawDataReader, ReaderBuilder, SampleType, Subscriber};
use crate::topic::Topic;

impl Debug for DomainParticipantFactory {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("DomainParticipantFactory").finish_non_exhaustive()
    }
}

impl Debug for DomainParticipant {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("DomainParticipant")
            .field("domain_id", &self.get_domain_id())
            .field("prefix", &self.prefix())
            .finish_non_exhaustive()
    }
}

impl Debug for Topic {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("Topic")
            .field("name", &self.get_name())
            .field("type_name", &self.get_type_name())
            .finish_non_exhaustive()
    }
}

impl Debug for ContentFilteredTopic {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("ContentFilteredTopic")
            .field("name", &self.get_name())
            .field("related_topic", &self.get_related_topic().get_name())
            .field("filter_expression", &self.get_filter_expression())
            .finish_non_exhaustive()
    }
}

impl Debug for Publisher {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("Publisher").field("participant", self.get_participant()).finish_non_exhaustive()
    }
}

impl Debug for Subscriber {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("Subscriber").field("participant", self.get_participant()).finish_non_exhaustive()
    }
}

impl Debug for RawDataWriter {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let guid = self.entity().enabled().map(|cell| cell.guid);
        f.debug_struct("RawDataWriter")
            .field("topic", &self.entity().topic.name())
            .field("guid", &guid)
            .finish_non_exhaustive()
    }
}

impl Debug for RawDataReader {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let guid = self.entity().enabled().map(|cell| cell.guid);
        f.debug_struct("RawDataReader")
            .field("topic", &self.entity().topic.name())
            .field("guid", &guid)
            .finish_non_exhaustive()
    }
}

impl<T> Debug for DataWriter<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "DataWriter<{}>(", type_name::<T>())?;
        Debug::fmt(&**self, f)?;
        f.write_str(")")
    }
}

impl<T> Debug for DataReader<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "DataReader<{}>(", type_name::<T>())?;
        Debug::fmt(&**self, f)?;
        f.write_str(")")
    }
}

impl Debug for ReadCondition {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("ReadCondition")
            .field("reader", self.get_datareader())
            .field("states", &self.states())
            .finish()
    }
}

impl<T: SampleType> Debug for QueryCondition<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("QueryCondition").field("states", &self.states()).finish_non_exhaustive()
    }
}

impl Debug for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("Query").finish_non_exhaustive()
    }
}

impl Debug for StatusCondition {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("StatusCondition")
            .field("enabled_statuses", &self.get_enabled_statuses())
            .finish_non_exhaustive()
    }
}

impl Debug for GuardCondition {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("GuardCondition").field("trigger_value", &self.get_trigger_value()).finish()
    }
}

impl Debug for WaitSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("WaitSet").finish_non_exhaustive()
    }
}

impl<T> Debug for WriterBuilder<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("WriterBuilder").finish_non_exhaustive()
    }
}

impl<T> Debug for ReaderBuilder<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("ReaderBuilder").finish_non_exhaustive()
    }
}
