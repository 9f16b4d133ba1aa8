//! Why a server does not do what it was told.
use std::fmt;

use crate::cell::State;
use crate::reports::Fault;
use crate::service::ServiceError;
use crate::settings::SettingError;

/// Why a server does not do what it was told.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ServerError {
    /// There is none of this name: a container, an instance, a port as `instance.port`, or a connection.
    Unknown(String),
    /// There is one of this name already.
    Twice(String),
    /// A chain has too few or too many ports to be followed.
    Chain {
        /// The chain.
        name: String,
        /// How many it has.
        ports: usize,
    },
    /// A join has too few or too many parts.
    Parts {
        /// The port.
        port: String,
        /// How many it would have.
        parts: usize,
    },
    /// Names of instances are not empty and have no dots.
    Name(String),
    /// A setting is refused.
    Setting {
        /// The instance.
        instance: String,
        /// The reason.
        error: SettingError,
    },
    /// A hook failed. The component is in the error state.
    Hook {
        /// The instance.
        instance: String,
        /// The fault.
        fault: Fault,
    },
    /// Events of this connection still wait or are handled after the time for that.
    Waiting(String),
    /// No interval of the timers of this component has ended within the time for that.
    Interval(String),
    /// This connection is not matched with all endpoints that the process before it was matched with.
    NotMatched(String),
    /// A port needs exactly one connection, and has none.
    NotConnected(String),
    /// A port that leads to one consumer has a connection already, or would have several.
    Single(String),
    /// Two ends of a connection are of different types.
    Types {
        /// One end, and its type.
        one: (String, &'static str),
        /// The other end, and its type.
        other: (String, &'static str),
    },
    /// Calls would go in a circle over these instances.
    Circle(Vec<String>),
    /// The connection names no port.
    Empty(String),
    /// The service does not connect.
    Service {
        /// The connection.
        connection: String,
        /// The reason.
        error: ServiceError,
    },
    /// A component is in the wrong state for that.
    State {
        /// The instance.
        name: String,
        /// The present state.
        state: State,
    },
    /// A component that is to be removed is connected.
    Connected {
        /// The instance.
        name: String,
        /// A connection of it.
        connection: String,
    },
    /// A container that is to be taken out has components.
    Occupied {
        /// The container.
        container: String,
        /// One of them.
        component: String,
    },
    /// The component of a port could not be reached.
    Busy {
        /// The port.
        port: String,
        /// Why the lock was not had.
        refused: threads::Refused,
    },
}

impl ServerError {
    pub(crate) fn hook(instance: &str, fault: Fault) -> Self {
        Self::Hook { instance: instance.to_owned(), fault }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(out, "there is no {name}"),
            Self::Chain { name, ports } => write!(
                out,
                "chain {name} has {ports} ports: a chain that is followed has 1 to {}",
                crate::chains::MOST_HOPS
            ),
            Self::Parts { port, parts } => {
                write!(out, "a join at {port} would have {parts} parts: it has 1 to {}", crate::joins::MOST)
            }
            Self::Twice(name) => write!(out, "there is a {name} already: names are unique"),
            Self::Name(name) => write!(out, "{name:?} is no name of an instance: give one without a dot"),
            Self::Setting { instance, error } => write!(out, "{instance}: {error}"),
            Self::Hook { instance, fault } => write!(out, "{instance}: {fault}"),
            Self::NotConnected(port) => {
                write!(out, "{port} is not connected: an emitter needs a consumer, and a receptacle a facet")
            }
            Self::Waiting(connection) => write!(
                out,
                "events of connection {connection} still wait, or their handler works: try again when there are fewer"
            ),
            Self::Interval(instance) => write!(
                out,
                "no interval of {instance} has ended: allow for a period of its timers and an interval"
            ),
            Self::NotMatched(connection) => write!(
                out,
                "connection {connection} is not matched with all that it was matched with before: look at the network"
            ),
            Self::Single(port) => {
                write!(out, "{port} may have one connection to one port only: use a Publisher for more")
            }
            Self::Types { one: (one, of_one), other: (other, of_other) } => {
                write!(out, "{one} is of {of_one}, and {other} of {of_other}: connect ports of one type")
            }
            Self::Circle(names) => write!(
                out,
                "calls would go in a circle, {}: connect one of these by a channel",
                names.join(" to ")
            ),
            Self::Empty(connection) => write!(out, "connection {connection} has no ports"),
            Self::Service { connection, error } => write!(out, "connection {connection}: {error}"),
            Self::State { name, state } => write!(out, "{name} is {state:?}, and cannot do that"),
            Self::Connected { name, connection } => {
                write!(out, "{name} is a part of connection {connection}: end that first")
            }
            Self::Occupied { container, component } => {
                write!(out, "the container {container} has {component}: take that out first")
            }
            Self::Busy { port, refused } => write!(out, "{port} cannot be reached: {refused}"),
        }
    }
}

impl std::error::Error for ServerError {}
