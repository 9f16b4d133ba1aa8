//! The service `dds`: what is published is written to a topic, and what comes on the topic is consumed.
use std::fmt;
use std::sync::Arc;

use dds::qos::{DataReaderQos, DataWriterQos};
use dds::{DataReader, DataWriter, DdsType, DomainParticipant};

use crate::ByChannel;
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
    _of: std::marker::PhantomData<fn(T)>,
}

impl<T: DdsType + Event> ByDds<T> {
    /// A topic of a participant. Nothing is made of it before something is connected.
    pub fn new(participant: &DomainParticipant, topic: &str) -> Self {
        let (participant, topic) = (participant.clone(), topic.to_owned());
        Self { participant, topic, writer: None, reader: None, served: None, _of: std::marker::PhantomData }
    }
}

/// A writer as a sink.
struct Writing<T: Event + DdsType> {
    writer: DataWriter<T>,
    /// The port that publishes.
    port: String,
    reports: Arc<Reports>,
}

impl<T: DdsType + Event> Sink<T> for Writing<T> {
    fn take(&self, event: &T, _: &Context) -> Outcome {
        match self.writer.write(event) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.reports.add(&self.port, Fault::Service(error.to_string()));
                Err(Failure::Service)
            }
        }
    }
}

/// The DDS entities of a connection, and the channels behind them.
struct Ends<T: Event + DdsType> {
    writers: Vec<DataWriter<T>>,
    reader: Option<DataReader<T>>,
    behind: Option<Box<dyn End>>,
}

impl<T: DdsType + Event> End for Ends<T> {
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

impl<T: Event + DdsType> Drop for Ends<T> {
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
        let unable = |error: dds::Error| ServiceError::Unable(format!("topic {}: {error}", self.topic));
        let mut ends = Ends::<T> { writers: Vec::new(), reader: None, behind: None };
        if let Some((_, container)) = route.targets.first() {
            // For the service of the consumers, the reader is the one that publishes.
            let name = [format!("topic {}", self.topic)];
            let inside = Route { sources: &name, ..*route };
            let Joined { links, end } = match &self.served {
                Some(served) => served.connect(&inside)?,
                None => Direct::default().connect(&inside)?,
            };
            let sinks: Vec<_> = links.into_iter().flatten().filter_map(AnyLink::sink::<T>).collect();
            ends.behind = Some(end);
            let clock = container.clock.clone();
            let mut reader = self.participant.reader::<T>(self.topic.as_str());
            if let Some(qos) = &self.reader {
                reader = reader.qos(qos.clone());
            }
            let reader = reader.on_data_available(move |reader| receive(reader, &sinks, &clock));
            ends.reader = Some(reader.create().map_err(unable)?);
        }
        let mut links = Vec::new();
        for port in route.sources {
            let mut writer = self.participant.writer::<T>(self.topic.as_str());
            if let Some(qos) = &self.writer {
                writer = writer.qos(qos.clone());
            }
            let writer = writer.create().map_err(unable)?;
            ends.writers.push(writer.clone());
            let reports = Arc::clone(route.reports);
            let sink = Writing { writer, port: port.clone(), reports };
            links.push(vec![AnyLink::new::<T>(Arc::new(sink))]);
        }
        Ok(Joined { links, end: Box::new(ends) })
    }
}

/// Hands on what has come.
fn receive<T: DdsType + Event>(reader: &DataReader<T>, sinks: &[Arc<dyn Sink<T>>], clock: &Clock) {
    while let Ok(Some(sample)) = reader.take_next_sample() {
        let Some(event) = sample.data else { continue };
        turn::run(|| {
            let at = Context::new(clock);
            for sink in sinks {
                // A queue that refuses says so by its counts: the writer is elsewhere, and cannot be told.
                let _ = sink.take(&event, &at);
            }
        });
    }
}

impl<T> fmt::Debug for ByDds<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ByDds({}, {:?})", self.topic, self.served)
    }
}
