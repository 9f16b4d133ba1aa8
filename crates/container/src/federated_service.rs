//! The service `federated`: what is published goes to the gateways that want it, and what comes by the gateway is consumed.
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use dds::DdsType;
use dds::cdr::Encoding;
use gateways::{Federated, Filter, Header, Interest, KindId, Received, Subscription};

use crate::ByChannel;
use crate::channel_service::Core;
use crate::context::{Clock, Context};
use crate::event::{AnyLink, Event, FieldsOf};
use crate::outcome::{Failure, Outcome};
use crate::ports::Sink;
use crate::reports::{Fault, Reports};
use crate::service::{Direct, End, Joined, Route, Service, ServiceError};
use crate::turn;

/// The service `federated` for events of one type: the gateway of the process carries them to processes whose ports are connected under the same
/// name, each once however many consumers it has there. A connection may have ports on one side only. Ports of one process that publish and consume
/// under the same name need a service of their own between them, since a gateway gives nothing back to its own process.
///
/// Consumers are called on the thread that receives, or served as `served` says.
#[derive(Clone)]
pub struct ByGateway<T> {
    gateway: Federated,
    kind: String,
    /// The port, `instance.port`, whose events are wanted; `None` is any.
    pub source: Option<String>,
    /// Which events are wanted, as an expression over their fields: the gateway of each publisher judges.
    pub filter: Option<String>,
    /// The values of `%0`, `%1` and so on in the filter.
    pub parameters: Vec<String>,
    /// How consumers are served; `None` is directly.
    pub served: Option<ByChannel>,
    _of: std::marker::PhantomData<fn(T)>,
}

impl<T: DdsType + Event> ByGateway<T> {
    /// Events of a name, which stands for one type in all of the federation.
    pub fn new(gateway: &Federated, kind: &str) -> Self {
        let (gateway, kind) = (gateway.clone(), kind.to_owned());
        let (source, filter, parameters, served) = (None, None, Vec::new(), None);
        Self { gateway, kind, source, filter, parameters, served, _of: std::marker::PhantomData }
    }
}

/// The fields of the events, whichever gateway asks.
struct SchemaOf<T>(std::marker::PhantomData<fn() -> T>);

impl<T: Event> filter::Schema for SchemaOf<T> {
    fn field(&self, path: filter::Path<'_>) -> Option<filter::Field> {
        T::schema()?.field(path)
    }

    fn label(&self, enumeration: u32, name: &str) -> Option<i64> {
        T::schema()?.label(enumeration, name)
    }
}

thread_local! {
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A gateway as a sink.
struct Publishing {
    gateway: Federated,
    kind: KindId,
    /// The port that publishes.
    port: String,
    reports: Arc<Reports>,
}

impl<T: DdsType + Event> Sink<T> for Publishing {
    fn take(&self, event: &T, at: &Context) -> Outcome {
        let budget = at.deadline().map(|deadline| deadline.saturating_sub(at.now()));
        let header = Header { priority: at.priority(), budget };
        let refused = BYTES.with_borrow_mut(|bytes| {
            bytes.clear();
            event.encode_payload(Encoding::XCDR2, bytes).map_err(|error| error.to_string())?;
            let published = self.gateway.publish(self.kind, &self.port, header, &FieldsOf(event), bytes);
            published.map_err(|error| error.to_string())
        });
        match refused {
            Ok(published) if published.given_up == 0 => Ok(()),
            // Others have got it; the gateway counts who has not.
            Ok(_) => Err(Failure::Full),
            Err(text) => {
                self.reports.add(&self.port, Fault::Service(text));
                Err(Failure::Service)
            }
        }
    }
}

/// The subscription of a connection, and what is behind it. What is first ends first.
struct Ends {
    _subscription: Option<Subscription>,
    behind: Option<Box<dyn End>>,
}

impl End for Ends {
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

    fn unfinished(&self, instance: &str) -> usize {
        self.behind.as_ref().map(|behind| behind.unfinished(instance)).unwrap_or_default()
    }

    fn cores(&self) -> Vec<Arc<Core>> {
        self.behind.as_ref().map(|behind| behind.cores()).unwrap_or_default()
    }
}

impl<T: DdsType + Event> Service for ByGateway<T> {
    fn connect(&self, route: &Route<'_>) -> Result<Joined, ServiceError> {
        if route.event.id() != std::any::TypeId::of::<T>() {
            let text = format!("{} is of {}", self.kind, std::any::type_name::<T>());
            return Err(ServiceError::Unable(text));
        }
        let unable = |error: gateways::LimitError| ServiceError::Unable(format!("{}: {error}", self.kind));
        let mut ends = Ends { _subscription: None, behind: None };
        if let Some((_, container)) = route.targets.first() {
            let filter = self.filter.clone().map(|expression| {
                // What is wrong with it is said here, and not by gateways elsewhere.
                crate::service::compile(&expression, &self.parameters, route.event)?;
                Ok::<_, ServiceError>(Filter { expression, parameters: self.parameters.clone() })
            });
            let filter = filter.transpose()?;
            // For the service of the consumers, the gateway is the one that publishes. It judges again: what comes is for all of the process.
            let name = [format!("federated {}", self.kind)];
            let inside = Route { sources: &name, ..*route };
            let (expression, parameters) = (self.filter.clone(), self.parameters.clone());
            let Joined { links, end } = match &self.served {
                Some(served) => {
                    ByChannel { filter: expression, parameters, ..served.clone() }.connect(&inside)?
                }
                None => Direct { filter: expression, parameters }.connect(&inside)?,
            };
            let sinks: Vec<_> = links.into_iter().flatten().filter_map(AnyLink::sink::<T>).collect();
            ends.behind = Some(end);
            let clock = container.clock.clone();
            let (reports, kind) = (Arc::clone(route.reports), self.kind.clone());
            let take = move |received: Received<'_>| match T::decode_payload(received.body) {
                Ok(event) => hand_on(&event, received.header, &sinks, &clock),
                Err(error) => {
                    reports.add(&kind, Fault::Service(format!("from {}: {error}", received.source)))
                }
            };
            let interest = Interest { kind: Some(self.kind.clone()), source: self.source.clone(), filter };
            ends._subscription = Some(self.gateway.subscribe(interest, take).map_err(unable)?);
        }
        let mut links = Vec::new();
        for port in route.sources {
            let schema: Option<Box<dyn filter::Schema + Send>> =
                T::schema().is_some().then(|| Box::new(SchemaOf::<T>(std::marker::PhantomData)) as _);
            let kind = self.gateway.offer(&self.kind, schema).map_err(unable)?;
            let (gateway, reports) = (self.gateway.clone(), Arc::clone(route.reports));
            let sink = Publishing { gateway, kind, port: port.clone(), reports };
            links.push(vec![AnyLink::new::<T>(Arc::new(sink))]);
        }
        Ok(Joined { links, end: Box::new(ends) })
    }
}

/// Hands on what has come.
fn hand_on<T: Event>(event: &T, header: Header, sinks: &[Arc<dyn Sink<T>>], clock: &Clock) {
    turn::run(|| {
        let created = clock.now();
        let deadline = header.budget.map(|budget| created.saturating_add(budget));
        let (kind, source, priority) = (0, 0, header.priority);
        let at = Context::of(clock, &channel::Header { kind, source, created, priority, deadline }, 0, 0);
        for sink in sinks {
            // What a consumer does with it is no matter of the gateway.
            let _ = sink.take(event, &at);
        }
    });
}

impl<T> fmt::Debug for ByGateway<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ByGateway {} of {}", self.kind, std::any::type_name::<T>())
    }
}
