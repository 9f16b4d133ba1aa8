//! The values of all policies of an entity, and what becomes of them.
use dcps::qos::{
    DataReaderQos, DataWriterQos, DomainParticipantQos, EntityFactory, GroupQos, ReaderDataLifecycle,
    TopicQos, WriterDataLifecycle,
};
use wire::qos::{EndpointQos, History};

use crate::entity::Entity;
use crate::words::{Coercion, HistoryKind};

/// A history whose kind and depth are said one by one: a depth that is inherited is kept while the kind is KEEP_ALL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kept {
    pub(crate) kind: HistoryKind,
    pub(crate) depth: u32,
}

impl Kept {
    fn of(history: History) -> Self {
        match history {
            History::KeepLast(depth) => Self { kind: HistoryKind::KeepLast, depth },
            History::KeepAll => Self { kind: HistoryKind::KeepAll, depth: 1 },
        }
    }

    fn history(self) -> History {
        match self.kind {
            HistoryKind::KeepLast => History::KeepLast(self.depth),
            HistoryKind::KeepAll => History::KeepAll,
        }
    }
}

/// Policies of every kind of entity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Values {
    /// All but what follows.
    pub(crate) endpoint: EndpointQos,
    pub(crate) history: Kept,
    pub(crate) service: Kept,
    pub(crate) coercion: Coercion,
    pub(crate) entity_factory: EntityFactory,
    pub(crate) writer_data_lifecycle: WriterDataLifecycle,
    pub(crate) reader_data_lifecycle: ReaderDataLifecycle,
}

impl Values {
    /// The defaults of an entity.
    pub(crate) fn default_of(entity: Entity) -> Self {
        let endpoint = match entity {
            Entity::DataWriter => DataWriterQos::default().endpoint,
            Entity::DataReader => DataReaderQos::default().endpoint,
            Entity::Topic | Entity::Participant | Entity::Publisher | Entity::Subscriber => {
                EndpointQos::reader()
            }
        };
        Self {
            history: Kept::of(endpoint.history),
            service: Kept::of(endpoint.durability_service.history),
            coercion: if endpoint.type_consistency.allow_type_coercion {
                Coercion::Allowed
            } else {
                Coercion::Disallowed
            },
            endpoint,
            entity_factory: EntityFactory::default(),
            writer_data_lifecycle: WriterDataLifecycle::default(),
            reader_data_lifecycle: ReaderDataLifecycle::default(),
        }
    }

    fn endpoint(self) -> EndpointQos {
        let mut endpoint = self.endpoint;
        endpoint.history = self.history.history();
        endpoint.durability_service.history = self.service.history();
        endpoint.type_consistency.allow_type_coercion = self.coercion == Coercion::Allowed;
        endpoint
    }

    pub(crate) fn datawriter(self) -> DataWriterQos {
        let writer_data_lifecycle = self.writer_data_lifecycle;
        DataWriterQos { endpoint: self.endpoint(), writer_data_lifecycle, ..DataWriterQos::default() }
    }

    pub(crate) fn datareader(self) -> DataReaderQos {
        let reader_data_lifecycle = self.reader_data_lifecycle;
        DataReaderQos { endpoint: self.endpoint(), reader_data_lifecycle, ..DataReaderQos::default() }
    }

    pub(crate) fn topic(self) -> TopicQos {
        let endpoint = self.endpoint();
        TopicQos {
            topic_data: endpoint.topic_data,
            durability: endpoint.durability,
            durability_service: endpoint.durability_service,
            deadline: endpoint.deadline,
            latency_budget: endpoint.latency_budget,
            liveliness: endpoint.liveliness,
            reliability: endpoint.reliability,
            destination_order: endpoint.destination_order,
            history: endpoint.history,
            resource_limits: endpoint.resource_limits,
            transport_priority: endpoint.transport_priority,
            lifespan: endpoint.lifespan,
            ownership: endpoint.ownership,
            representation: endpoint.representation,
        }
    }

    pub(crate) fn group(self) -> GroupQos {
        let entity_factory = self.entity_factory;
        let EndpointQos { presentation, partition, group_data, .. } = self.endpoint;
        GroupQos { presentation, partition, group_data, entity_factory }
    }

    pub(crate) fn participant(self) -> DomainParticipantQos {
        DomainParticipantQos { user_data: self.endpoint.user_data, entity_factory: self.entity_factory }
    }

    /// What the entity itself would refuse.
    pub(crate) fn check(self, entity: Entity) -> Result<(), dcps::Error> {
        match entity {
            Entity::Participant => self.participant().check(),
            Entity::Publisher | Entity::Subscriber => self.group().check(),
            Entity::Topic => self.topic().check(),
            Entity::DataWriter => self.datawriter().check(),
            Entity::DataReader => self.datareader().check(),
        }
    }
}
