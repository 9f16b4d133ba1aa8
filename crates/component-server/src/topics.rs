//! Types of events that go between processes, by their names.
use std::collections::BTreeMap;
use std::time::Duration;

use assembly::{FullPolicy, KeepPolicy};
use container::{
    Branch, ByChannel, ByDds, ByGateway, Direct, Dispatch, Event, Full, Gather, Join, Keep, Order, Placement,
    Queue, Service,
};
use dds::qos::{DataReaderQos, DataWriterQos, Durability, History, Reliability};
use dds::{DdsType, DomainParticipant, DomainParticipantFactory, NO_STATUS, QosKind};
use deployment::{Delivery, LaneWorker, QueueOrder, Sureness};
use gateways::Federated;

/// A type of events that go between processes.
#[derive(Clone, Copy)]
pub(crate) struct Carried {
    /// The service of a topic.
    pub(crate) topic: fn(&DomainParticipant, &str, Kept, Behind) -> Box<dyn Service>,
    /// The service of a gateway, for events of this name and, at consumers, of this source.
    pub(crate) gateway: fn(&Federated, &str, Option<&str>, ByChannel) -> Box<dyn Service>,
}

/// Whether samples of a topic may be lost, and how many of them writer and reader keep.
pub(crate) type Kept = (Sureness, u16);

/// What is behind the reader of a topic.
pub(crate) enum Behind {
    /// A queue.
    Queue(Box<ByChannel>),
    /// The thread that receives hands events on.
    Thread(Direct),
}

impl Carried {
    pub(crate) fn of<T: DdsType + Event>() -> Self {
        Self { topic: topic::<T>, gateway: gateway::<T> }
    }
}

fn gateway<T: DdsType + Event>(
    gateway: &Federated,
    event: &str,
    source: Option<&str>,
    served: ByChannel,
) -> Box<dyn Service> {
    let mut service = ByGateway::<T>::new(gateway, event);
    service.source = source.map(str::to_owned);
    (service.filter, service.parameters) = (served.filter.clone(), served.parameters.clone());
    service.served = Some(served);
    Box::new(service)
}

/// The service of a topic of the type `T`.
fn topic<T: DdsType + Event>(
    participant: &DomainParticipant,
    topic: &str,
    (sureness, depth): Kept,
    behind: Behind,
) -> Box<dyn Service> {
    let mut service = ByDds::<T>::new(participant, topic);
    let (mut writer, mut reader) = (DataWriterQos::default(), DataReaderQos::default());
    for endpoint in [&mut writer.endpoint, &mut reader.endpoint] {
        let is_sure = sureness != Sureness::BestEffort;
        endpoint.reliability = if is_sure { Reliability::RELIABLE } else { Reliability::BEST_EFFORT };
        if sureness == Sureness::Kept {
            endpoint.durability = Durability::TransientLocal;
        }
        endpoint.history = History::KeepLast(u32::from(depth.max(1)));
    }
    (service.writer, service.reader) = (Some(writer), Some(reader));
    match behind {
        Behind::Queue(served) => service.served = Some(*served),
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
        timeout: delivery.timeout.map(Duration::from_nanos),
        start: Duration::from_nanos(delivery.start),
        stop: delivery.stop.map(Duration::from_nanos),
        room: delivery.room.clone(),
        placement: match delivery.placement {
            assembly::Placement::Component => Placement::Component,
            assembly::Placement::Container => Placement::Container,
            assembly::Placement::Server => Placement::Server,
        },
        silence: delivery.silence.map(Duration::from_nanos),
        source_patience: delivery.publisher_silence.map(Duration::from_nanos),
        ..ByChannel::new(dispatch(delivery.worker))
    }
}

/// A part of a join, as containers know it.
pub(crate) fn branch(branch: &deployment::Branch) -> Branch {
    use deployment::Branch as Planned;
    let all = |parts: &[Planned]| parts.iter().map(self::branch).collect();
    match branch {
        Planned::Events { part, filters } => {
            Branch::Events { source: usize::from(*part), filters: filters.clone() }
        }
        Planned::Any(parts) => Branch::Any(all(parts)),
        Planned::All(parts, waits) => {
            let keep = match waits.keep {
                KeepPolicy::First => Keep::First,
                KeepPolicy::Last => Keep::Last,
                KeepPolicy::All => Keep::All(waits.most.max(1)),
            };
            Branch::All(all(parts), Join { keep, within: waits.within.map(Duration::from_nanos) })
        }
        Planned::Every(period) => Branch::Every(Duration::from_nanos(*period)),
        Planned::After(delay) => Branch::After(Duration::from_nanos(*delay)),
        Planned::Silence(of, after) => {
            Branch::Silence(Box::new(self::branch(of)), Duration::from_nanos(*after))
        }
    }
}

/// The threads that serve a port, as containers know them.
pub(crate) const fn dispatch(worker: LaneWorker) -> Dispatch {
    match worker {
        LaneWorker::Pool => Dispatch::Pool,
        LaneWorker::Lane(number) => Dispatch::Lane(number),
        LaneWorker::Own => Dispatch::Own,
        LaneWorker::EarliestDeadline => Dispatch::Deadline,
    }
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
