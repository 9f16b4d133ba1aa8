//! The service `dds`: what is published is written to a topic, and what comes on the topic is consumed.
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use dds::qos::{DataReaderQos, DataWriterQos};
use dds::{DataReader, DataWriter, DdsType, DomainParticipant};

use crate::ByChannel;
use crate::chains::{Base, Held, Stamp, Traced, instant};
use crate::channel_service::Core;
use crate::context::{Clock, Context};
use crate::event::{AnyLink, Event};
use crate::outcome::{Failure, Outcome};
use crate::ports::Sink;
use crate::reports::{Fault, Reports};
use crate::service::{Direct, End, Joined, Route, Service, ServiceError};
use crate::turn;

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
        base: Base,
        of: &Self::Writing,
    ) -> Result<(), dds::Error>;
    /// The event; what is pushed until the guard is dropped has the stamps that have come with it.
    fn came(&self, at: &Context, base: Base) -> (&T, Option<Held>);
}

impl<T: DdsType + Event> Form<T> for T {
    type Writing = ();
    const SUFFIX: &'static str = "";

    fn write(writer: &DataWriter<Self>, event: &T, _: &Context, _: Base, (): &()) -> Result<(), dds::Error> {
        writer.write(event).map(drop)
    }

    fn came(&self, _: &Context, _: Base) -> (&T, Option<Held>) {
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
        base: Base,
        of: &Self::Writing,
    ) -> Result<(), dds::Error> {
        let spare = || of.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, mut stamps) =
            spare().pop().map_or((None, Vec::new()), |(known, stamps)| (Some(known), stamps));
        let traced = Self::fill(known, event, instant(at.now()), base, &mut stamps);
        let written = writer.write(&traced).map(drop);
        spare().push((traced, stamps));
        written
    }

    fn came(&self, at: &Context, base: Base) -> (&T, Option<Held>) {
        (&self.event, Some(self.arrived(instant(at.now()), base)))
    }
}

/// A writer as a sink.
struct Writing<T, F: Form<T>> {
    writer: DataWriter<F>,
    of: F::Writing,
    base: Base,
    /// The port that publishes.
    port: String,
    reports: Arc<Reports>,
    _of: std::marker::PhantomData<fn(T)>,
}

impl<T: DdsType + Event, F: Form<T>> Sink<T> for Writing<T, F> {
    fn take(&self, event: &T, at: &Context) -> Outcome {
        match F::write(&self.writer, event, at, self.base, &self.of) {
            Ok(()) => Ok(()),
            Err(error) => {
                self.reports.add(&self.port, Fault::Service(error.to_string()));
                Err(Failure::Service)
            }
        }
    }
}

/// The DDS entities of a connection, and the channels behind them.
struct Ends<F: DdsType + 'static> {
    writers: Vec<DataWriter<F>>,
    reader: Option<DataReader<F>>,
    behind: Option<Box<dyn End>>,
}

impl<F: DdsType + Send + Sync + 'static> End for Ends<F> {
    fn suspend(&self, instance: &str, is_suspended: bool) {
        if let Some(behind) = &self.behind {
            behind.suspend(instance, is_suspended);
        }
    }

    fn counts(&self, instance: &str) -> channel::Counts {
        self.behind.as_ref().map(|behind| behind.counts(instance)).unwrap_or_default()
    }

    fn cores(&self) -> Vec<Arc<Core>> {
        self.behind.as_ref().map(|behind| behind.cores()).unwrap_or_default()
    }
}

impl<F: DdsType + 'static> Drop for Ends<F> {
    fn drop(&mut self) {
        // They are refused only if their participant is gone already.
        if let Some(reader) = self.reader.take() {
            let _ = reader.get_subscriber().delete_datareader(&reader);
        }
        for writer in self.writers.drain(..) {
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
        let base = Base::of(route.clock);
        let mut ends = Ends::<F> { writers: Vec::new(), reader: None, behind: None };
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
            let clock = route.clock.clone();
            let mut reader = self.participant.reader::<F>(topic.as_str());
            if let Some(qos) = &self.reader {
                reader = reader.qos(qos.clone());
            }
            let reader = reader.on_data_available(move |reader| receive(reader, &sinks, &clock, base));
            ends.reader = Some(reader.create().map_err(unable)?);
        }
        let mut links = Vec::new();
        for port in route.sources {
            let mut writer = self.participant.writer::<F>(topic.as_str());
            if let Some(qos) = &self.writer {
                writer = writer.qos(qos.clone());
            }
            let writer = writer.create().map_err(unable)?;
            ends.writers.push(writer.clone());
            let (port, reports) = (port.clone(), Arc::clone(route.reports));
            let (of, _of) = (F::Writing::default(), std::marker::PhantomData);
            let sink = Writing::<T, F> { writer, of, base, port, reports, _of };
            links.push(vec![AnyLink::new::<T>(Arc::new(sink))]);
        }
        Ok(Joined { links, end: Box::new(ends) })
    }
}

/// Hands on what has come.
fn receive<T: Event, F: Form<T>>(
    reader: &DataReader<F>,
    sinks: &[Arc<dyn Sink<T>>],
    clock: &Clock,
    base: Base,
) {
    while let Ok(Some(sample)) = reader.take_next_sample() {
        let Some(sample) = sample.data else { continue };
        turn::run(|| {
            let at = Context::new(clock);
            let (event, held) = sample.came(&at, base);
            for sink in sinks {
                // A queue that refuses says so by its counts: the writer is elsewhere, and cannot be told.
                let _ = sink.take(event, &at);
            }
            drop(held);
        });
    }
}

impl<T> fmt::Debug for ByDds<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ByDds({}, {:?})", self.topic, self.served)
    }
}
