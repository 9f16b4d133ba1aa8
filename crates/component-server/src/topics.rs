//! Types of events that go between processes, by their names.
use std::collections::BTreeMap;

use assembly::{FullPolicy, KeepPolicy};
use container::{ByChannel, ByDds, Direct, Dispatch, Event, Full, Gather, Join, Keep, Order, Queue, Service};
use dds::qos::{DataReaderQos, DataWriterQos, History, Reliability};
use dds::{DdsType, DomainParticipant, DomainParticipantFactory, NO_STATUS, QosKind};
use deployment::{Delivery, QueueOrder, Waits};

/// Makes the service of a topic.
pub(crate) type Make = fn(&DomainParticipant, &str, u16, Behind) -> Box<dyn Service>;

/// What is behind the reader of a topic.
pub(crate) enum Behind {
    /// A queue.
    Queue(ByChannel),
    /// The thread that receives hands events on.
    Thread(Direct),
}

/// The service of a topic of the type `T`: reliable, as the standard is for writers, with as much history as the consumer's queue has room.
pub(crate) fn make<T: DdsType + Event>(
    participant: &DomainParticipant,
    topic: &str,
    depth: u16,
    behind: Behind,
) -> Box<dyn Service> {
    let mut service = ByDds::<T>::new(participant, topic);
    let (mut writer, mut reader) = (DataWriterQos::default(), DataReaderQos::default());
    for endpoint in [&mut writer.endpoint, &mut reader.endpoint] {
        endpoint.reliability = Reliability::RELIABLE;
        endpoint.history = History::KeepLast(u32::from(depth.max(1)));
    }
    (service.writer, service.reader) = (Some(writer), Some(reader));
    match behind {
        Behind::Queue(served) => service.served = Some(served),
        Behind::Thread(direct) => service.direct = direct,
    }
    Box::new(service)
}

/// How a consumer is served, as containers know it.
pub(crate) fn served(delivery: &Delivery, filter: Option<String>, parameters: Vec<String>) -> ByChannel {
    let full = match delivery.full {
        FullPolicy::Block => Full::Block { limit: delivery.wait },
        FullPolicy::Reject => Full::Reject,
        FullPolicy::DropOldest => Full::DropOldest,
        FullPolicy::DropNewest => Full::DropNewest,
        FullPolicy::DropLowestPriority => Full::DropLowestPriority,
        FullPolicy::DropLatestDeadline => Full::DropLatestDeadline,
        FullPolicy::Coalesce => Full::Coalesce,
    };
    let order = match delivery.order {
        QueueOrder::Fifo => Order::Fifo,
        QueueOrder::Priority => Order::Priority,
        QueueOrder::Deadline => Order::Deadline,
    };
    ByChannel {
        queue: Queue { depth: delivery.depth.max(1), full, order },
        gather: Gather { most: delivery.batch.max(1), wait: delivery.pacing },
        filter,
        parameters,
        priority: delivery.priority,
        timeout: delivery.timeout.map(std::time::Duration::from_nanos),
        ..ByChannel::new(dispatch(delivery.lane))
    }
}

/// The same for a join, of what its parts keep until all have an event.
pub(crate) fn joined(by: ByChannel, waits: Option<Waits>) -> ByChannel {
    let join = waits.map(|waits| Join {
        keep: match waits.keep {
            KeepPolicy::First => Keep::First,
            KeepPolicy::Last => Keep::Last,
            KeepPolicy::All => Keep::All(waits.most.max(1)),
        },
        within: waits.within.map(std::time::Duration::from_nanos),
    });
    ByChannel { join, ..by }
}

/// A lane, or the pool.
pub(crate) fn dispatch(lane: Option<u8>) -> Dispatch {
    lane.map_or(Dispatch::Pool, Dispatch::Lane)
}

/// The participants of a process: one for each domain, from the first topic on.
#[derive(Default)]
pub(crate) struct Participants(BTreeMap<u8, DomainParticipant>);

impl Participants {
    pub(crate) fn of(&mut self, domain: u8) -> Result<DomainParticipant, String> {
        if let Some(known) = self.0.get(&domain) {
            return Ok(known.clone());
        }
        let factory = DomainParticipantFactory::get_instance();
        let made = factory.create_participant(domain.into(), QosKind::Default, None, NO_STATUS);
        let made = made.map_err(|error| format!("DDS domain {domain}: {error}"))?;
        self.0.insert(domain, made.clone());
        Ok(made)
    }

    /// Says goodbye in all domains; says what went wrong.
    pub(crate) fn leave(&mut self) -> Vec<String> {
        let factory = DomainParticipantFactory::get_instance();
        let mut wrong = Vec::new();
        for (domain, participant) in std::mem::take(&mut self.0) {
            let ended = participant
                .delete_contained_entities()
                .and_then(|()| factory.delete_participant(&participant));
            if let Err(error) = ended {
                wrong.push(format!("DDS domain {domain}: {error}"));
            }
        }
        wrong
    }
}
