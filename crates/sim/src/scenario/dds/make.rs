//! Endpoints of a plan, made with the public API.
use std::sync::Arc;

use dds::qos::{
    DataReaderQos, DataRepresentation, DataWriterQos, DestinationOrder, Durability, EndpointQos, History,
    Liveliness, Ownership, PublisherQos, Reliability, ResourceLimits, SubscriberQos, WriterDataLifecycle,
};
use dds::{DomainParticipant, Error, QosKind, StatusMask, Topic};
use wire::{Duration, Guid};

use super::application::{Ears, OwnReader, OwnWriter};
use super::config::EndpointPlan;
use super::node::DdsNode;
use super::sabotage::Mutation;
use super::types::{Form, TypedWriter, with_type};

/// How an endpoint is to be made.
pub struct Order<'a> {
    /// Its number in the plan of its participant.
    pub index: usize,
    /// What was drawn.
    pub plan: &'a EndpointPlan,
    /// The type of its topic.
    pub form: Form,
    /// The type has a name that others do not use, and is announced by that alone.
    pub other_type: bool,
    /// Lives as long as the endpoint, if it is not a typed writer.
    pub token: &'a Arc<()>,
    /// What is done otherwise than planned.
    pub mutation: Option<Mutation>,
}

impl DdsNode {
    /// Makes an endpoint that the application uses from now on.
    ///
    /// # Errors
    /// What the API says.
    pub fn create(&self, order: &Order<'_>) -> Result<Option<Guid>, Error> {
        let Some(participant) = self.participant() else { return Ok(None) };
        let topic = topic(participant, order)?;
        match order.plan.is_writer {
            true => self.create_writer(participant, &topic, order),
            false => self.create_reader(participant, &topic, order),
        }
    }

    fn ears(&self, order: &Order<'_>) -> Arc<Ears> {
        let application = Arc::downgrade(self.application());
        Arc::new(Ears { application, index: order.index })
    }

    fn create_writer(
        &self,
        participant: &DomainParticipant,
        topic: &Topic,
        order: &Order<'_>,
    ) -> Result<Option<Guid>, Error> {
        let plan = order.plan;
        let qos = QosKind::Specific(PublisherQos { partition: names(&plan.partition), ..Default::default() });
        let publisher = participant.create_publisher(qos, None, StatusMask::NONE)?;
        let qos = QosKind::Specific(writer_qos(plan, order.mutation));
        let mask = StatusMask::PUBLICATION_MATCHED;
        let (raw, typed) = match plan.writes.untyped {
            true => {
                let (types, ears) = (order.form.support(order.token), self.ears(order));
                (publisher.create_raw_datawriter(topic, types, qos, Some(ears), mask)?, None)
            }
            false => with_type!(order.form, T => {
                let writer = publisher.create_datawriter::<T>(topic, qos, None, StatusMask::NONE)?;
                writer.set_raw_listener(Some(self.ears(order)), mask);
                let typed: Box<dyn TypedWriter> = Box::new(writer.clone());
                ((*writer).clone(), Some(typed))
            }),
        };
        let guid = raw.guid()?;
        let own = OwnWriter::new(raw, typed, guid, plan.clone(), order.form);
        if order.mutation == Some(Mutation::Hoard) {
            std::mem::forget(Arc::clone(&own));
        }
        self.application().add_writer(order.index, own);
        Ok(Some(guid))
    }

    fn create_reader(
        &self,
        participant: &DomainParticipant,
        topic: &Topic,
        order: &Order<'_>,
    ) -> Result<Option<Guid>, Error> {
        let plan = order.plan;
        let partition = match order.mutation {
            Some(Mutation::Elsewhere) => vec!["elsewhere".to_owned()],
            _ => names(&plan.partition),
        };
        let qos = QosKind::Specific(SubscriberQos { partition, ..Default::default() });
        let subscriber = participant.create_subscriber(qos, None, StatusMask::NONE)?;
        let qos = QosKind::Specific(reader_qos(plan, order.mutation));
        let mask =
            StatusMask::SUBSCRIPTION_MATCHED | StatusMask::LIVELINESS_CHANGED | StatusMask::DATA_AVAILABLE;
        let (types, ears) = (order.form.support(order.token), self.ears(order));
        let raw = subscriber.create_raw_datareader(topic, types, qos, Some(ears), mask)?;
        let guid = raw.guid()?;
        self.application().add_reader(order.index, OwnReader::new(raw, guid, plan.clone(), order.form));
        Ok(Some(guid))
    }

    /// Deletes an endpoint, and its publisher or subscriber.
    ///
    /// # Errors
    /// What the API says.
    pub fn delete(&self, index: usize) -> Result<(), Error> {
        let Some(participant) = self.participant() else { return Ok(()) };
        let (writer, reader) = (self.application().writer(index), self.application().reader(index));
        self.application().forget(index);
        if let Some(writer) = writer {
            let publisher = writer.raw.get_publisher();
            publisher.delete_datawriter(&writer.raw)?;
            participant.delete_publisher(publisher)?;
        }
        if let Some(reader) = reader {
            let subscriber = reader.raw.get_subscriber();
            subscriber.delete_datareader(&reader.raw)?;
            participant.delete_subscriber(subscriber)?;
        }
        Ok(())
    }

    /// Changes the PARTITION of an endpoint.
    ///
    /// # Errors
    /// What the API says.
    pub fn repartition(&self, index: usize, partition: &[&str]) -> Result<(), Error> {
        let partition = names(partition);
        if let Some(writer) = self.application().writer(index) {
            let publisher = writer.raw.get_publisher();
            return publisher.set_qos(QosKind::Specific(PublisherQos { partition, ..publisher.get_qos() }));
        }
        let Some(reader) = self.application().reader(index) else { return Ok(()) };
        let subscriber = reader.raw.get_subscriber();
        subscriber.set_qos(QosKind::Specific(SubscriberQos { partition, ..subscriber.get_qos() }))
    }
}

fn names(partition: &[&str]) -> Vec<String> {
    partition.iter().map(|name| (*name).to_owned()).collect()
}

fn topic(participant: &DomainParticipant, order: &Order<'_>) -> Result<Topic, Error> {
    let name = format!("topic{}", order.plan.topic);
    if let Some(known) = participant.lookup_topicdescription(&name) {
        return Ok(known);
    }
    let type_name = format!("{:?}{}", order.form, if order.other_type { "Other" } else { "" });
    let mask = StatusMask::NONE;
    with_type!(order.form, T => participant.create_topic::<T>(&name, &type_name, QosKind::Default, None, mask))
}

fn millis(finite: Option<i64>) -> Duration {
    finite.map_or(Duration::INFINITE, Duration::from_millis)
}

fn endpoint_qos(plan: &EndpointPlan, base: EndpointQos) -> EndpointQos {
    let reliability = if plan.reliable { Reliability::RELIABLE } else { Reliability::BEST_EFFORT };
    EndpointQos {
        // There is one thread for all: no call can wait.
        reliability: Reliability { max_blocking_time: Duration::ZERO, ..reliability },
        durability: if plan.durable { Durability::TransientLocal } else { Durability::Volatile },
        history: plan.depth.map_or(History::KeepAll, History::KeepLast),
        deadline: millis(plan.deadline),
        liveliness: Liveliness { kind: plan.liveliness, lease_duration: millis(plan.lease) },
        ownership: if plan.exclusive { Ownership::Exclusive } else { Ownership::Shared },
        destination_order: match plan.by_source {
            true => DestinationOrder::BySourceTimestamp,
            false => DestinationOrder::ByReceptionTimestamp,
        },
        ..base
    }
}

fn writer_qos(plan: &EndpointPlan, mutation: Option<Mutation>) -> DataWriterQos {
    let writes = &plan.writes;
    let immortal = mutation == Some(Mutation::Immortal);
    let upside_down = mutation == Some(Mutation::UpsideDown);
    DataWriterQos {
        endpoint: EndpointQos {
            ownership_strength: if upside_down { -writes.strength } else { writes.strength },
            lifespan: if immortal { Duration::INFINITE } else { millis(writes.lifespan) },
            latency_budget: writes.batch_delay,
            representation: if writes.xcdr2 { vec![DataRepresentation::XCDR2] } else { Vec::new() },
            ..endpoint_qos(plan, EndpointQos::writer())
        },
        writer_data_lifecycle: WriterDataLifecycle { autodispose_unregistered_instances: writes.autodispose },
        byte_limit: plan.byte_limit,
        ..DataWriterQos::default()
    }
}

fn reader_qos(plan: &EndpointPlan, mutation: Option<Mutation>) -> DataReaderQos {
    let mut plan = plan.clone();
    match mutation {
        Some(Mutation::Shallow) => (plan.depth, plan.reads.max_samples) = (Some(1), None),
        Some(Mutation::NoHistory) => plan.durable = false,
        Some(Mutation::Patient) => plan.deadline = None,
        _ => {}
    }
    DataReaderQos {
        endpoint: EndpointQos {
            // Every LATENCY_BUDGET that is offered will do.
            latency_budget: Duration::from_secs(1),
            representation: vec![DataRepresentation::XCDR1, DataRepresentation::XCDR2],
            resource_limits: ResourceLimits { max_samples: plan.reads.max_samples, ..Default::default() },
            ..endpoint_qos(&plan, EndpointQos::reader())
        },
        byte_limit: plan.byte_limit,
        ..DataReaderQos::default()
    }
}
