//! The subscriber of the built-in topics and its readers (DDS 1.4, 2.2.5): made when they are first asked for, never announced.
use std::any::TypeId;
use std::sync::Arc;

use dcps::qos::{SubscriberQos, TopicQos};
use dcps::{Error, ReturnCode};

use super::entity::ReaderEntity;
use super::subscriber::SubscriberEntity;
use crate::builtin::{
    BuiltinTopic, ParticipantBuiltinTopicData, PublicationBuiltinTopicData, SubscriptionBuiltinTopicData,
    TopicBuiltinTopicData,
};
use crate::node::builtin::BuiltinReaders;
use crate::participant::ParticipantEntity;
use crate::topic::{Carries, TopicEntity};
use crate::types::TypeOf;

impl SubscriberEntity {
    /// The subscriber of the built-in topics, and what feeds its readers.
    pub(crate) fn builtin(
        participant: &Arc<ParticipantEntity>,
    ) -> Result<(Arc<Self>, BuiltinReaders), Error> {
        let subscriber = Self::made(participant, SubscriberQos::default(), true)?;
        let make = |topic| -> Result<_, Error> {
            let entity = make_reader(participant, &subscriber, topic)?;
            subscriber.readers.add(&entity, "get_builtin_subscriber")?;
            Ok(Arc::clone(entity.cell("get_builtin_subscriber")?))
        };
        let [people, topics, writers, readers] = BuiltinTopic::ALL;
        let cells = [make(people)?, make(topics)?, make(writers)?, make(readers)?];
        subscriber.enable()?;
        subscriber.refresh();
        let fed = BuiltinReaders::new(participant.node.prefix(), cells);
        Ok((subscriber, fed))
    }

    /// Refuses an operation that would change built-in entities.
    pub(crate) fn refuse_builtin(&self, operation: &'static str) -> Result<(), Error> {
        if !self.is_builtin {
            return Ok(());
        }
        Err(Error::new(
            ReturnCode::PreconditionNotMet,
            operation,
            "it concerns the built-in subscriber or a reader of it",
            "make a subscriber of your own for other readers and other QoS",
        ))
    }
}

fn make_reader(
    participant: &Arc<ParticipantEntity>,
    subscriber: &Arc<SubscriberEntity>,
    topic: BuiltinTopic,
) -> Result<Arc<ReaderEntity>, Error> {
    let type_id = match topic {
        BuiltinTopic::Participant => TypeId::of::<ParticipantBuiltinTopicData>(),
        BuiltinTopic::Topic => TypeId::of::<TopicBuiltinTopicData>(),
        BuiltinTopic::Publication => TypeId::of::<PublicationBuiltinTopicData>(),
        BuiltinTopic::Subscription => TypeId::of::<SubscriptionBuiltinTopicData>(),
    };
    let carries = Carries { type_id: Some(type_id), max_serialized_size: None, ty: TypeOf::Unknown };
    let (node, qos) = (Arc::clone(&participant.node), TopicQos::default());
    let entity =
        TopicEntity::new(participant, Arc::clone(&node), topic.name(), topic.type_name(), carries, qos)?;
    ReaderEntity::builtin(entity, subscriber, topic, node)
}
