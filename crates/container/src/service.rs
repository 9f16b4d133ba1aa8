//! Services: what carries events from the ports that publish to those that consume.
use std::fmt;
use std::sync::Arc;

use filter::{Expression, Program};

use crate::aside::Aside;
use crate::chains::Clocks;
use crate::channel_service::Core;
use crate::context::Clock;
use crate::event::{AnyLink, EventType};
use crate::hand_over::Elsewhere;
use crate::policy::Container;
use crate::reports::Reports;
use crate::target::AnyInlet;

/// Carries events. A service says what each publisher pushes into, and keeps what it needs for that until the connection ends: one that no
/// connection names has nothing.
pub trait Service: Send + Sync + fmt::Debug {
    /// Connects.
    ///
    /// # Errors
    /// Why the connection cannot be made so; then there is nothing of it.
    fn connect(&self, route: &Route<'_>) -> Result<Joined, ServiceError>;

    /// Whether consumers are called while the publisher waits: then a circle of such connections would never end.
    fn is_call(&self) -> bool {
        false
    }
}

/// The ends that are to be connected.
pub struct Route<'a> {
    /// The name of the connection.
    pub connection: &'a str,
    /// The type of its events.
    pub event: &'static dyn EventType,
    /// Ports that publish, as `instance.port`. There are none if the service brings events from elsewhere.
    pub sources: &'a [String],
    /// Ports that consume. There are none if the service takes events elsewhere.
    pub targets: &'a [(AnyInlet, Arc<Container>)],
    /// The time of the server.
    pub(crate) clock: &'a Clock,
    /// The clocks of other machines, as far as they are known.
    pub(crate) clocks: &'a Arc<Clocks>,
    /// Whether chains pass it.
    pub(crate) is_followed: bool,
    /// Whether what comes from elsewhere waits.
    pub(crate) is_held: bool,
    /// Where what goes wrong later is told.
    pub(crate) reports: &'a Arc<Reports>,
}

/// A connection that was made.
pub struct Joined {
    /// For each source, in the order of the route, what it pushes into.
    pub links: Vec<Vec<AnyLink>>,
    /// The guard that ends the connection when it is dropped.
    pub end: Box<dyn End>,
}

/// The service's side of a connection. Dropping it ends the connection; what was pushed before may be lost.
pub trait End: Send + Sync {
    /// A component that consumes is suspended, or goes on. What comes meanwhile waits if the service has queues.
    fn suspend(&self, instance: &str, is_suspended: bool);
    /// Drops the events that wait for a component.
    fn discard(&self, instance: &str) {
        let _ = instance;
    }
    /// A component that consumes is active from now on, and goes on with what comes from now on: what waits is dropped in the same step.
    fn resume_anew(&self, instance: &str) {
        self.suspend(instance, false);
    }
    /// Deliveries that wait for a consuming component, or that its handlers are at.
    fn unfinished(&self, instance: &str) -> usize {
        let _ = instance;
        0
    }
    /// Takes out what its join has kept; `None` if it is none.
    fn set_aside(&self) -> Option<Aside> {
        None
    }
    /// Gives its join back what was taken out of one with the same tree, before what that has kept since. Says whether it suits.
    fn put_back(&self, aside: Aside) -> bool {
        let _ = aside;
        false
    }
    /// The end as other processes see it, if it reaches any.
    fn elsewhere(&self) -> Option<&dyn Elsewhere> {
        None
    }
    /// Counts of a consuming component's deliveries, summed over its queues.
    fn counts(&self, instance: &str) -> channel::Counts {
        let _ = instance;
        channel::Counts::default()
    }
    /// The channels that it uses, for a harness that drives them in virtual time.
    #[doc(hidden)]
    fn cores(&self) -> Vec<Arc<Core>> {
        Vec::new()
    }
}

/// Why a service does not connect.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ServiceError {
    /// The filter is no expression, or does not suit the fields of the events.
    Filter(String),
    /// The events have no fields that a filter could ask for.
    NoFields(&'static str),
    /// The channel refuses the tree.
    Tree(channel::TreeError),
    /// The container of a consumer has no such lane.
    Lane {
        /// The container.
        container: String,
        /// The lane.
        lane: u8,
    },
    /// A thread cannot be started.
    Thread(String),
    /// The service does not do that.
    Unable(String),
}

impl fmt::Display for ServiceError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter(text) => write!(out, "filter: {text}"),
            Self::NoFields(event) => {
                write!(
                    out,
                    "filter: {event} has no fields to ask for: implement Event::schema and Event::field"
                )
            }
            Self::Tree(error) => write!(out, "{error}"),
            Self::Lane { container, lane } => {
                write!(out, "container {container} has no lane {lane}: add it to the container's policy")
            }
            Self::Thread(text) | Self::Unable(text) => out.write_str(text),
        }
    }
}

impl std::error::Error for ServiceError {}

/// Compiles a filter for events of a type.
pub(crate) fn compile(
    filter: &str,
    parameters: &[String],
    event: &dyn EventType,
) -> Result<Program, ServiceError> {
    let schema = event.schema().ok_or(ServiceError::NoFields(event.name()))?;
    let expression = Expression::parse(filter).map_err(|error| ServiceError::Filter(error.to_string()))?;
    let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
    expression.compile(schema, &parameters).map_err(|error| ServiceError::Filter(error.to_string()))
}

/// The thread that publishes calls the consumers, one after the other. There is no queue and no thread.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Direct {
    /// Which events are handed on, as an expression over their fields; `None` is all.
    pub filter: Option<String>,
    /// The values of `%0`, `%1` and so on in the filter.
    pub parameters: Vec<String>,
}

struct NoEnd;

impl End for NoEnd {
    fn suspend(&self, _: &str, _: bool) {}
}

impl Service for Direct {
    fn is_call(&self) -> bool {
        true
    }

    fn connect(&self, route: &Route<'_>) -> Result<Joined, ServiceError> {
        let compiled = self.filter.as_deref().map(|filter| compile(filter, &self.parameters, route.event));
        let program = compiled.transpose()?;
        let link = |inlet: &AnyInlet| {
            let link = Arc::clone(&inlet.0).link();
            match &program {
                Some(program) => route.event.filtered(link, program.clone()),
                None => Some(link),
            }
        };
        let of_one = || route.targets.iter().filter_map(|(inlet, _)| link(inlet)).collect();
        let links = route.sources.iter().map(|_| of_one()).collect();
        Ok(Joined { links, end: Box::new(NoEnd) })
    }
}

impl fmt::Debug for Route<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let targets: Vec<&AnyInlet> = self.targets.iter().map(|(inlet, _)| inlet).collect();
        write!(out, "{}: {} from {:?} to {targets:?}", self.connection, self.event.name(), self.sources)
    }
}

impl fmt::Debug for Joined {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Joined {:?}", self.links)
    }
}
