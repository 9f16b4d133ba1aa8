//! The service `channel`: queues, filters and joins, and threads by priority, by the channel of each container that consumes.
mod branch;
mod core;
mod duty;
mod hands;
mod link;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use channel::{
    ConsumerId, ConsumerSettings, Dispatch, Gather, Keep, PublisherId, PublisherSettings, Queue, Share, Tree,
    Window,
};

pub use self::branch::Branch;
use self::branch::{any, events};
pub use self::core::Core;
pub(crate) use self::core::Served;
pub(crate) use self::link::ChannelLink;
pub use self::link::Source;
use crate::aside::Aside;
use crate::context::nanos;
use crate::policy::{Container, Placement};
use crate::service::{End, Joined, Route, Service, ServiceError, compile};
use crate::target::AnyInlet;

/// The service `channel`: how consumers of a connection are served. Times are in nanoseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct ByChannel {
    /// Which threads work: those of the container of the consumer.
    pub dispatch: Dispatch,
    /// The queue of each consumer.
    pub queue: Queue,
    /// How deliveries are gathered into batches.
    pub gather: Gather,
    /// Which events are wanted, as an expression over their fields; `None` is all.
    pub filter: Option<String>,
    /// The values of `%0`, `%1` and so on in the filter.
    pub parameters: Vec<String>,
    /// The priority of its events; `None` is that of what led to them.
    pub priority: Option<u8>,
    /// The deadline of its events, counted from when they were made; `None` is that of what led to them.
    pub timeout: Option<Duration>,
    /// How long an event is held, counted from when it was made; those that may be delivered go before it.
    pub start: Duration,
    /// After which time an event that no handler has got is dropped, counted from when it was made.
    pub stop: Option<Duration>,
    /// Which consumers have a channel in common.
    pub placement: Placement,
    /// Room for deliveries in the channel that all connections of this name have in common: its name, and how many wait at most.
    pub room: Option<(String, u32)>,
    /// With several sources: one delivery of an event of each, instead of a delivery for each event.
    pub join: Option<Join>,
    /// With several sources: timeouts of this period are one more of them, behind the others.
    pub every: Option<Duration>,
    /// With several sources: which of them belong together, in place of `join` and `every`.
    pub tree: Option<Branch>,
    /// A timeout if nothing has come for so long. With [`Dispatch::Publisher`] it waits for the next event, since no other thread serves the consumer.
    pub silence: Option<Duration>,
    /// How long a handler may take before its component is in the error state. A thread of the container's channel that sleeps looks after
    /// that; if all of them are in handlers, or there is none, it is found out with the next event.
    pub patience: Option<Duration>,
    /// How long a source may push nothing before that is reported.
    pub source_patience: Option<Duration>,
}

/// How events of several sources are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Join {
    /// The events that are kept of a source that pushes more than once meanwhile.
    pub keep: Keep,
    /// How long the first event waits for the others.
    pub within: Option<Duration>,
}

impl ByChannel {
    /// As [`ConsumerSettings::default`], for threads of this kind: a queue of 16 that drops the oldest, everything one by one.
    pub fn new(dispatch: Dispatch) -> Self {
        let defaults = ConsumerSettings::default();
        Self {
            dispatch,
            queue: defaults.queue,
            gather: defaults.gather,
            filter: None,
            parameters: Vec::new(),
            priority: None,
            timeout: None,
            start: Duration::ZERO,
            stop: None,
            placement: Placement::default(),
            room: None,
            join: None,
            every: None,
            tree: None,
            silence: None,
            patience: None,
            source_patience: None,
        }
    }

    fn settings(&self, is_parallel: bool) -> ConsumerSettings {
        ConsumerSettings {
            dispatch: self.dispatch,
            queue: self.queue,
            gather: self.gather,
            is_parallel,
            patience: self.patience.map(nanos),
            window: Window { start: nanos(self.start), stop: self.stop.map(nanos) },
            share: None,
        }
    }

    /// The subscription to events of these sources.
    fn tree(&self, sources: &[u32], route: &Route<'_>) -> Result<Tree, ServiceError> {
        let compiled = self.filter.as_deref().map(|filter| compile(filter, &self.parameters, route.event));
        let program = compiled.transpose()?;
        let tree = match &self.tree {
            Some(branch) => branch.tree(sources, program.as_slice(), route)?,
            None => {
                let of = |source: &u32| events(*source, program.iter().cloned().collect());
                let mut parts: Vec<Tree> = sources.iter().map(of).collect();
                parts.extend(self.every.map(|period| Tree::Every { period: nanos(period), priority: 0 }));
                match self.join {
                    Some(join) => Tree::Join { parts, keep: join.keep, within: join.within.map(nanos) },
                    None => any(parts),
                }
            }
        };
        Ok(match self.silence {
            Some(after) => Tree::Silence { of: Box::new(tree), after: nanos(after), priority: 0 },
            None => tree,
        })
    }
}

/// The ends of a connection in one channel.
struct Part {
    core: Arc<Core>,
    publishers: Vec<PublisherId>,
    /// With the instances that they belong to.
    consumers: Vec<(String, ConsumerId)>,
}

/// The channels' side of a connection.
struct Parts(Vec<Part>);

impl End for Parts {
    fn suspend(&self, instance: &str, is_suspended: bool) {
        for part in &self.0 {
            for (_, consumer) in part.consumers.iter().filter(|(of, _)| of == instance) {
                part.core.suspend(*consumer, is_suspended);
            }
        }
    }

    fn discard(&self, instance: &str) {
        for part in &self.0 {
            for (_, consumer) in part.consumers.iter().filter(|(of, _)| of == instance) {
                part.core.discard(*consumer);
            }
        }
    }

    fn resume_anew(&self, instance: &str) {
        for part in &self.0 {
            for (_, consumer) in part.consumers.iter().filter(|(of, _)| of == instance) {
                part.core.resume_anew(*consumer);
            }
        }
    }

    fn counts(&self, instance: &str) -> channel::Counts {
        let mut sum = channel::Counts::default();
        for part in &self.0 {
            for (_, consumer) in part.consumers.iter().filter(|(of, _)| of == instance) {
                let counts = part.core.counts(*consumer);
                sum.queued = sum.queued.wrapping_add(counts.queued);
                sum.taken = sum.taken.wrapping_add(counts.taken);
                sum.dropped = sum.dropped.wrapping_add(counts.dropped);
                sum.expired = sum.expired.wrapping_add(counts.expired);
                sum.late = sum.late.wrapping_add(counts.late);
            }
        }
        sum
    }

    fn unfinished(&self, instance: &str) -> usize {
        let consumers =
            self.0.iter().flat_map(|part| part.consumers.iter().map(move |(of, it)| (part, of, it)));
        let of_instance = consumers.filter(|(_, of, _)| *of == instance);
        of_instance.map(|(part, _, consumer)| part.core.unfinished(*consumer)).sum()
    }

    fn set_aside(&self) -> Option<Aside> {
        self.joined().and_then(|(core, consumer)| core.set_aside(consumer))
    }

    fn put_back(&self, aside: Aside) -> bool {
        self.joined().is_some_and(|(core, consumer)| core.put_back(consumer, aside))
    }

    fn cores(&self) -> Vec<Arc<Core>> {
        self.0.iter().map(|part| Arc::clone(&part.core)).collect()
    }
}

impl Parts {
    /// The one consumer of a join.
    fn joined(&self) -> Option<(&Core, ConsumerId)> {
        match self.0.as_slice() {
            [Part { core, consumers, .. }] => match consumers.as_slice() {
                [(_, consumer)] => Some((core, *consumer)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        for publisher in &self.publishers {
            self.core.remove_publisher(*publisher);
        }
        for (_, consumer) in &self.consumers {
            self.core.unsubscribe(*consumer);
        }
        self.core.close_unused();
    }
}

impl Part {
    fn subscribe(
        &mut self,
        (inlet, container): &(AnyInlet, Arc<Container>),
        tree: &Tree,
        settings: ConsumerSettings,
        sources: &[u32],
    ) -> Result<(), ServiceError> {
        let served = Served::new(Arc::clone(&inlet.0), settings.patience, sources.to_vec());
        let consumer = self.core.subscribe(tree, settings, served, container)?;
        self.consumers.push((component(inlet).to_owned(), consumer));
        Ok(())
    }
}

/// The component that a port belongs to.
fn component(inlet: &AnyInlet) -> &str {
    inlet.0.name().split('.').next().unwrap_or_default()
}

impl Service for ByChannel {
    fn connect(&self, route: &Route<'_>) -> Result<Joined, ServiceError> {
        let mut parts: Vec<Part> = Vec::new();
        let mut links: Vec<_> = route.sources.iter().map(|_| Vec::new()).collect();
        let channel = |(inlet, container): &(AnyInlet, Arc<Container>)| {
            container.channel(self.placement, component(inlet))
        };
        let cores: Vec<Arc<Core>> = route.targets.iter().map(channel).collect();
        for (first, core) in cores.iter().enumerate() {
            if cores.iter().take(first).any(|other| Arc::ptr_eq(other, core)) {
                continue;
            }
            let mut part = Part { core: Arc::clone(core), publishers: Vec::new(), consumers: Vec::new() };
            let mut numbers = Vec::new();
            for (name, links) in route.sources.iter().zip(&mut links) {
                let settings = PublisherSettings { patience: self.source_patience.map(nanos) };
                let source = part.core.add_publisher(name, settings);
                let source = Source { priority: self.priority, timeout: self.timeout.map(nanos), ..source };
                part.publishers.push(source.publisher);
                numbers.push(source.number);
                links.push(route.event.channel_link(Arc::clone(&part.core), source));
            }
            let tree = self.tree(&numbers, route)?;
            let share =
                self.room.as_ref().map(|(name, most)| Share { number: part.core.room(name), most: *most });
            let here = route.targets.iter().zip(&cores).filter(|(_, other)| Arc::ptr_eq(other, core));
            for (target, _) in here {
                let settings = ConsumerSettings { share, ..self.settings(target.0.0.is_parallel()) };
                part.subscribe(target, &tree, settings, &numbers)?;
            }
            parts.push(part);
        }
        Ok(Joined { links, end: Box::new(Parts(parts)) })
    }
}

/// A timer of a component: when its port is called, and by which worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Every {
    /// The time from one call to the next.
    pub period: Duration,
    /// By which threads of its container; not by [`Dispatch::Publisher`], since no publisher pushes.
    pub dispatch: Dispatch,
    /// How long the handler may take before the component is in the error state.
    pub patience: Option<Duration>,
}

impl Service for Every {
    fn connect(&self, route: &Route<'_>) -> Result<Joined, ServiceError> {
        if self.dispatch == Dispatch::Publisher {
            return Err(ServiceError::Unable(
                "a timer needs a lane, a pool or a thread of its own".to_owned(),
            ));
        }
        let tree = Tree::Every { period: nanos(self.period), priority: 0 };
        let mut parts = Vec::new();
        for target in route.targets {
            let (inlet, container) = target;
            let mut part = Part { core: container.core(), publishers: Vec::new(), consumers: Vec::new() };
            let by = ByChannel { patience: self.patience, ..ByChannel::new(self.dispatch) };
            // Periods that passed while the component was busy are one.
            let queue = Queue { depth: 1, ..by.queue };
            let settings = ConsumerSettings { queue, ..by.settings(inlet.0.is_parallel()) };
            part.subscribe(target, &tree, settings, &[])?;
            parts.push(part);
        }
        Ok(Joined { links: Vec::new(), end: Box::new(Parts(parts)) })
    }
}
