//! The service `dds`: what is published is written to a topic, and what comes on the topic is consumed.
use std::fmt;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dds::qos::{DataReaderQos, DataWriterQos, ReliabilityKind};
use dds::{DataReader, DataWriter, DdsType, DomainParticipant, Guid, InstanceHandle, SequenceNumber};

use crate::ByChannel;
use crate::chains::{Base, Held, Stamp, Traced, instant};
use crate::channel_service::Core;
use crate::context::{Clock, Context};
use crate::event::{AnyLink, Event};
use crate::hand_over::Elsewhere;
use crate::intake::{Intake, Missed, Source};
use crate::outcome::{Failure, Outcome};
use crate::ports::Sink;
use crate::reports::{Fault, Reports};
use crate::service::{Direct, End, Joined, Route, Service, ServiceError};
use crate::target::AnyInlet;
use crate::turn;

/// How long events that have waited wait for room in the queues of their consumers.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the thread that hands them on sleeps between two looks.
const NAP: Duration = Duration::from_micros(20);

/// The service `dds` for events of one type. Ports that publish write to the topic; ports that consume get what is written to it, by these
/// and by all others of the domain. So a connection may have ports on one side only.
///
/// Consumers are called on the thread of DDS that receives, or served as `served` says.
#[derive(Clone)]
pub struct ByDds<T> {
    participant: DomainParticipant,
    topic: String,
    /// QoS of the writers; `None` is the default.
    pub writer: Option<DataWriterQos>,
    /// QoS of the reader; `None` is the default.
    pub reader: Option<DataReaderQos>,
    /// How consumers are served; `None` is directly.
    pub served: Option<ByChannel>,
    /// Which events consumers get that are served directly.
    pub direct: Direct,
    _of: std::marker::PhantomData<fn(T)>,
}

impl<T: DdsType + Event> ByDds<T> {
    /// A topic of a participant. Nothing is made of it before something is connected.
    pub fn new(participant: &DomainParticipant, topic: &str) -> Self {
        let (participant, topic) = (participant.clone(), topic.to_owned());
        let (direct, _of) = (Direct::default(), std::marker::PhantomData);
        Self { participant, topic, writer: None, reader: None, served: None, direct, _of }
    }
}

/// The form that events have as samples: they themselves, or with the stamps of chains.
trait Form<T>: DdsType + Send + Sync + 'static {
    /// What is written for the threads of this writer.
    type Writing: Default + Send + Sync;
    /// Added to the name of the topic, since its type is another one.
    const SUFFIX: &'static str;
    /// Writes an event.
    fn write(
        writer: &DataWriter<Self>,
        event: &T,
        at: &Context,
        base: &Base,
        of: &Self::Writing,
    ) -> Result<SequenceNumber, dds::Error>;
    /// The event; what is pushed until the guard is dropped has the stamps that have come with it.
    fn came(&self, at: &Context, base: &Base) -> (&T, Option<Held>);
}

impl<T: DdsType + Event> Form<T> for T {
    type Writing = ();
    const SUFFIX: &'static str = "";

    fn write(
        writer: &DataWriter<Self>,
        event: &T,
        _: &Context,
        _: &Base,
        (): &(),
    ) -> Result<SequenceNumber, dds::Error> {
        writer.write(event)
    }

    fn came(&self, _: &Context, _: &Base) -> (&T, Option<Held>) {
        (self, None)
    }
}

impl<T: DdsType + Event> Form<T> for Traced<T> {
    /// Memory of samples that were written.
    type Writing = Mutex<Vec<(Self, Vec<Stamp>)>>;
    const SUFFIX: &'static str = "/traced";

    fn write(
        writer: &DataWriter<Self>,
        event: &T,
        at: &Context,
        base: &Base,
        of: &Self::Writing,
    ) -> Result<SequenceNumber, dds::Error> {
        let spare = || of.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, mut stamps) =
            spare().pop().map_or((None, Vec::new()), |(known, stamps)| (Some(known), stamps));
        let traced = Self::fill(known, event, instant(at.now()), base, &mut stamps);
        let written = writer.write(&traced);
        spare().push((traced, stamps));
        written
    }

    fn came(&self, at: &Context, base: &Base) -> (&T, Option<Held>) {
        (&self.event, Some(self.arrived(instant(at.now()), base)))
    }
}

/// A writer as a sink.
struct Writing<T, F: Form<T>> {
    writer: DataWriter<F>,
    of: F::Writing,
    base: Base,
    /// The number of the last event.
    last: Arc<AtomicI64>,
    /// The port that publishes.
    port: String,
    reports: Arc<Reports>,
    _of: std::marker::PhantomData<fn(T)>,
}

impl<T: DdsType + Event, F: Form<T>> Sink<T> for Writing<T, F> {
    fn take(&self, event: &T, at: &Context) -> Outcome {
        match F::write(&self.writer, event, at, &self.base, &self.of) {
            Ok(number) => {
                self.last.fetch_max(number.0, AcqRel);
                Ok(())
            }
            Err(error) => {
                self.reports.add(&self.port, Fault::Service(error.to_string()));
                Err(Failure::Service)
            }
        }
    }
}

/// What hands events of a topic on to the consumers of this process.
struct Receiving<T, F> {
    intake: Intake<F>,
    sinks: Vec<Arc<dyn Sink<T>>>,
    clock: Clock,
    base: Base,
}

impl<T: Event, F: Form<T>> Receiving<T, F> {
    /// Takes what has come.
    fn receive(&self, reader: &DataReader<F>) {
        let take = || {
            loop {
                let sample = reader.take_next_sample().ok().flatten()?;
                if let Some(event) = sample.data {
                    let info = sample.info;
                    return Some((info.publication_handle.to_bytes(), info.sequence_number.0, event));
                }
            }
        };
        let is_there = || bytes(reader.get_matched_publications());
        self.intake.receive(take, |event| self.hand_on(&event), is_there);
    }

    fn hand_on(&self, sample: &F) {
        turn::run(|| {
            let at = Context::new(&self.clock);
            let (event, held) = sample.came(&at, &self.base);
            for sink in &self.sinks {
                // A queue that refuses says so by its counts: the writer is elsewhere, and cannot be told.
                let _ = sink.take(event, &at);
            }
            drop(held);
        });
    }
}

fn bytes(handles: Vec<InstanceHandle>) -> Vec<Source> {
    handles.into_iter().map(InstanceHandle::to_bytes).collect()
}

/// The DDS entities of a connection, and the channels behind them.
struct Ends<T, F: DdsType + 'static> {
    /// With the number of the last event of each.
    writers: Vec<(DataWriter<F>, Arc<AtomicI64>)>,
    reader: Option<DataReader<F>>,
    receiving: Option<Arc<Receiving<T, F>>>,
    behind: Option<Box<dyn End>>,
    /// Components that consume, and how much of what comes waits for each at most, if it waits in a queue.
    consumers: Vec<String>,
    depth: Option<usize>,
    /// What a writer has written comes, or is sent again.
    is_reliable: bool,
}

impl<T: DdsType + Event, F: Form<T>> Elsewhere for Ends<T, F> {
    fn hold(&self, all: bool) {
        if let Some(receiving) = &self.receiving {
            receiving.intake.hold(all);
        }
    }

    fn is_held(&self, limit: Duration) -> bool {
        self.receiving.as_ref().is_none_or(|receiving| receiving.intake.wait(limit))
    }

    fn starts(&self) -> Vec<(Source, i64)> {
        let Some(reader) = &self.reader else { return Vec::new() };
        let of_writer = |writer: InstanceHandle| Some((writer.to_bytes(), reader.served_from(writer)?.0));
        reader.get_matched_publications().into_iter().filter_map(of_writer).collect()
    }

    fn positions(&self) -> Vec<(Source, i64)> {
        self.receiving.as_ref().map(|receiving| receiving.intake.positions()).unwrap_or_default()
    }

    fn published(&self) -> Vec<(Source, i64)> {
        let of = |(writer, last): &(DataWriter<F>, Arc<AtomicI64>)| {
            Some((writer.guid().ok()?.to_bytes(), last.load(Acquire)))
        };
        self.writers.iter().filter_map(of).collect()
    }

    fn has_come(&self, source: Source, number: i64) -> bool {
        let (Some(reader), Some(receiving)) = (&self.reader, &self.receiving) else { return true };
        let handle = reader.get_matched_publications().into_iter().find(|it| it.to_bytes() == source);
        // A writer that is not matched sends nothing here.
        let Some(handle) = handle else { return true };
        if number == 0 || receiving.intake.has_come(&source, number) {
            return true;
        }
        // What was published before the match does not come. Nothing is on its way inside when this reader has all, and it was handed on.
        let has_all = reader.served_from(handle).is_some_and(|next| next.0 > number);
        has_all && {
            receiving.receive(reader);
            receiving.intake.is_at_rest()
        }
    }

    fn skip(&self, source: Source, number: i64) {
        if let Some(receiving) = &self.receiving {
            receiving.intake.skip(source, number);
        }
    }

    fn release(&self, positions: &[(Source, i64)]) -> Result<(), ServiceError> {
        let Some(receiving) = &self.receiving else { return Ok(()) };
        // Queues that are full meanwhile are waited for, for a time: what has come at once was to come one after the other.
        let end = Instant::now() + PATIENCE;
        let released = receiving.intake.release(positions, self.is_reliable, |sample| {
            while !self.has_room() && Instant::now() < end {
                std::thread::sleep(NAP);
            }
            receiving.hand_on(&sample);
        });
        released.map_err(|missed| {
            let Missed { after, next, .. } = missed;
            ServiceError::Unable(format!(
                "events of a publisher were handled up to number {after}, and {next} is the first one at hand"
            ))
        })
    }

    fn matched(&self) -> Vec<Source> {
        let writers = self.writers.iter().flat_map(|(writer, _)| writer.get_matched_subscriptions());
        let readers = self.reader.iter().flat_map(|reader| reader.get_matched_publications());
        bytes(writers.chain(readers).collect())
    }

    fn is_known(&self) -> bool {
        self.writers.iter().all(|(writer, _)| writer.is_announced())
            && self.reader.as_ref().is_none_or(|reader| reader.is_served())
    }

    fn is_own(&self, endpoint: Source) -> bool {
        let writers = self.writers.iter().map(|(writer, _)| writer.guid());
        let mut own = writers.chain(self.reader.iter().map(|reader| reader.guid())).flatten();
        own.any(|guid| guid.prefix == Guid::from_bytes(endpoint).prefix)
    }

    fn settle(&self, limit: Duration) {
        let limit = dds::Duration::from_nanos(i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX));
        for (writer, _) in &self.writers {
            // A reader that does not answer is no reason to wait longer.
            let _ = writer.wait_for_acknowledgments(limit);
        }
    }
}

impl<T: DdsType + Event, F: Form<T>> Ends<T, F> {
    /// Whether one more event has room in the queue of each consumer.
    fn has_room(&self) -> bool {
        let (Some(behind), Some(depth)) = (&self.behind, self.depth) else { return true };
        self.consumers.iter().all(|instance| behind.unfinished(instance) < depth)
    }
}

impl<T: DdsType + Event, F: Form<T>> End for Ends<T, F> {
    fn unfinished(&self, instance: &str) -> usize {
        self.behind.as_ref().map(|behind| behind.unfinished(instance)).unwrap_or_default()
    }

    fn elsewhere(&self) -> Option<&dyn Elsewhere> {
        Some(self)
    }

    fn suspend(&self, instance: &str, is_suspended: bool) {
        if let Some(behind) = &self.behind {
            behind.suspend(instance, is_suspended);
        }
    }

    fn discard(&self, instance: &str) {
        if let Some(behind) = &self.behind {
            behind.discard(instance);
        }
    }

    fn resume_anew(&self, instance: &str) {
        if let Some(behind) = &self.behind {
            behind.resume_anew(instance);
        }
    }

    fn counts(&self, instance: &str) -> channel::Counts {
        self.behind.as_ref().map(|behind| behind.counts(instance)).unwrap_or_default()
    }

    fn cores(&self) -> Vec<Arc<Core>> {
        self.behind.as_ref().map(|behind| behind.cores()).unwrap_or_default()
    }
}

impl<T, F: DdsType + 'static> Drop for Ends<T, F> {
    fn drop(&mut self) {
        // They are refused only if their participant is gone already.
        if let Some(reader) = self.reader.take() {
            let _ = reader.get_subscriber().delete_datareader(&reader);
        }
        for (writer, _) in self.writers.drain(..) {
            let _ = writer.get_publisher().delete_datawriter(&writer);
        }
    }
}

impl<T: DdsType + Event> Service for ByDds<T> {
    fn connect(&self, route: &Route<'_>) -> Result<Joined, ServiceError> {
        if route.event.id() != std::any::TypeId::of::<T>() {
            let text = format!("topic {} is of {}", self.topic, std::any::type_name::<T>());
            return Err(ServiceError::Unable(text));
        }
        if route.is_followed { self.join::<Traced<T>>(route) } else { self.join::<T>(route) }
    }
}

impl<T: DdsType + Event> ByDds<T> {
    fn join<F: Form<T>>(&self, route: &Route<'_>) -> Result<Joined, ServiceError> {
        let topic = format!("{}{}", self.topic, F::SUFFIX);
        let unable = |error: dds::Error| ServiceError::Unable(format!("topic {topic}: {error}"));
        let base = Base::of(route.clock, route.clocks);
        let name_of = |inlet: &AnyInlet| inlet.0.name().split('.').next().unwrap_or_default().to_owned();
        let reliability = self.reader.as_ref().map(|qos| qos.endpoint.reliability.kind);
        let mut ends = Ends::<T, F> {
            writers: Vec::new(),
            reader: None,
            receiving: None,
            behind: None,
            consumers: route.targets.iter().map(|(inlet, _)| name_of(inlet)).collect(),
            depth: self.served.as_ref().map(|served| usize::from(served.queue.depth)),
            is_reliable: reliability == Some(ReliabilityKind::Reliable),
        };
        if !route.targets.is_empty() {
            // For the service of the consumers, the reader is the one that publishes.
            let name = [format!("topic {topic}")];
            let inside = Route { sources: &name, ..*route };
            let Joined { links, end } = match &self.served {
                Some(served) => served.connect(&inside)?,
                None => self.direct.connect(&inside)?,
            };
            let sinks: Vec<_> = links.into_iter().flatten().filter_map(AnyLink::sink::<T>).collect();
            ends.behind = Some(end);
            let intake = Intake::new(route.is_held);
            let receiving =
                Arc::new(Receiving { intake, sinks, clock: route.clock.clone(), base: base.clone() });
            ends.receiving = Some(Arc::clone(&receiving));
            let mut reader = self.participant.reader::<F>(topic.as_str());
            if let Some(qos) = &self.reader {
                reader = reader.qos(qos.clone());
            }
            let reader = reader.on_data_available(move |reader| receiving.receive(reader));
            ends.reader = Some(reader.create().map_err(unable)?);
        }
        let mut links = Vec::new();
        for port in route.sources {
            let mut writer = self.participant.writer::<F>(topic.as_str());
            if let Some(qos) = &self.writer {
                writer = writer.qos(qos.clone());
            }
            let writer = writer.create().map_err(unable)?;
            let last = Arc::new(AtomicI64::new(0));
            ends.writers.push((writer.clone(), Arc::clone(&last)));
            let (port, reports) = (port.clone(), Arc::clone(route.reports));
            let (of, _of) = (F::Writing::default(), std::marker::PhantomData);
            let sink = Writing::<T, F> { writer, of, base: base.clone(), last, port, reports, _of };
            links.push(vec![AnyLink::new::<T>(Arc::new(sink))]);
        }
        Ok(Joined { links, end: Box::new(ends) })
    }
}

impl<T> fmt::Debug for ByDds<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ByDds({}, {:?})", self.topic, self.served)
    }
}
