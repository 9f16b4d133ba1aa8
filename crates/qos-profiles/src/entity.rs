//! Entities that have QoS.
use core::fmt;

/// A kind of entity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Entity {
    /// A DomainParticipant.
    Participant,
    /// A Publisher.
    Publisher,
    /// A Subscriber.
    Subscriber,
    /// A Topic.
    Topic,
    /// A DataWriter.
    DataWriter,
    /// A DataReader.
    DataReader,
}

impl Entity {
    /// All kinds, from the outermost on.
    pub const ALL: [Self; 6] = [
        Self::Participant,
        Self::Publisher,
        Self::Subscriber,
        Self::Topic,
        Self::DataWriter,
        Self::DataReader,
    ];

    /// The element with the QoS of such an entity.
    pub const fn element(self) -> &'static str {
        match self {
            Self::Participant => "domain_participant_qos",
            Self::Publisher => "publisher_qos",
            Self::Subscriber => "subscriber_qos",
            Self::Topic => "topic_qos",
            Self::DataWriter => "datawriter_qos",
            Self::DataReader => "datareader_qos",
        }
    }

    pub(crate) fn of(element: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|entity| entity.element() == element)
    }

    /// Whether its QoS may depend on the name of a topic.
    pub const fn has_topic(self) -> bool {
        matches!(self, Self::Topic | Self::DataWriter | Self::DataReader)
    }

    pub(crate) const fn bit(self) -> u8 {
        match self {
            Self::Participant => 1,
            Self::Publisher => 2,
            Self::Subscriber => 4,
            Self::Topic => 8,
            Self::DataWriter => 16,
            Self::DataReader => 32,
        }
    }
}

/// As the standard calls it.
impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Participant => "DomainParticipant",
            Self::Publisher => "Publisher",
            Self::Subscriber => "Subscriber",
            Self::Topic => "Topic",
            Self::DataWriter => "DataWriter",
            Self::DataReader => "DataReader",
        })
    }
}
