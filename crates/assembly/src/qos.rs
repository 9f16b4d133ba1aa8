//! Quality of service by the names of the Notification Service (OMG Notification Service 1.1, 2.5.5), and in which scopes each may stand.
use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;

use crate::choices::{ServiceKind, choice};
use crate::value::Value;

/// The QoS of one scope.
pub type Qos = BTreeMap<Quality, Said>;

choice! {
    /// A name of quality of service.
    Quality {
        /// Whether an event outlives what carries it.
        EventReliability = "event-reliability",
        /// Whether a connection is made again after it was lost.
        ConnectionReliability = "connection-reliability",
        /// The priority of an event, -32,767 to 32,767.
        Priority = "priority",
        /// Time after its stamp before which an event is not delivered.
        StartTime = "start-time",
        /// Time after its stamp from which on an event is not delivered.
        StopTime = "stop-time",
        /// Time after which an event is worth nothing: its deadline.
        Timeout = "timeout",
        /// In which order deliveries leave a queue.
        OrderPolicy = "order-policy",
        /// Which delivery gives way in a full queue.
        DiscardPolicy = "discard-policy",
        /// Deliveries that a handler gets at once.
        MaximumBatchSize = "maximum-batch-size",
        /// Time that a batch waits for more.
        PacingInterval = "pacing-interval",
        /// Deliveries that wait for one consumer.
        MaxEventsPerConsumer = "max-events-per-consumer",
        /// Deliveries that wait in a channel.
        MaxQueueLength = "max-queue-length",
        /// Consumers of a channel.
        MaxConsumers = "max-consumers",
        /// Publishers of a channel.
        MaxSuppliers = "max-suppliers",
        /// Whether a full queue refuses what is new.
        RejectNewEvents = "reject-new-events",
    }
}

choice! {
    /// Where QoS is said, from the outermost to the innermost.
    Scope {
        /// Nowhere: it follows from where both ends are.
        Default = "default",
        /// At a service that is a channel.
        Service = "service",
        /// At the connection, whose channel it is.
        Connection = "connection",
        /// At the port.
        Port = "port",
        /// At the type of the event.
        Event = "event",
    }
}

choice! {
    /// Which port decides about a quality.
    Side {
        /// The one that publishes.
        Publisher = "publisher",
        /// The one that consumes.
        Consumer = "consumer",
        /// Neither: it is of the channel alone.
        Channel = "channel",
    }
}

/// Names of orders.
pub(crate) const ORDERS: &[&str] = &["any", "fifo", "priority", "deadline"];
/// Names of what gives way.
pub(crate) const DISCARDS: &[&str] = &["any", "fifo", "lifo", "priority", "deadline"];
/// Names of reliabilities.
pub(crate) const RELIABILITIES: &[&str] = &[BEST_EFFORT, PERSISTENT];
/// What is lost is lost.
const BEST_EFFORT: &str = "best-effort";
/// What is lost comes again.
const PERSISTENT: &str = "persistent";

/// A value of quality of service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// A number.
    Number(i64),
    /// Picoseconds.
    Time(u64),
    /// One of a few words.
    Word(String),
    /// Yes or no.
    Flag(bool),
}

impl Quality {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::NAMES.iter().filter_map(|name| Self::named(name))
    }

    /// Which port decides about it.
    pub const fn side(self) -> Side {
        match self {
            Self::EventReliability | Self::Priority | Self::StartTime | Self::StopTime | Self::Timeout => {
                Side::Publisher
            }
            Self::ConnectionReliability
            | Self::OrderPolicy
            | Self::DiscardPolicy
            | Self::MaximumBatchSize
            | Self::PacingInterval
            | Self::MaxEventsPerConsumer => Side::Consumer,
            Self::MaxQueueLength | Self::MaxConsumers | Self::MaxSuppliers | Self::RejectNewEvents => {
                Side::Channel
            }
        }
    }

    /// Whether it may be said in a scope.
    pub const fn is_in(self, scope: Scope) -> bool {
        match scope {
            Scope::Default => false,
            Scope::Service | Scope::Connection => !matches!(self, Self::StartTime | Self::StopTime),
            Scope::Port => {
                !matches!(self.side(), Side::Channel) && !matches!(self, Self::StartTime | Self::StopTime)
            }
            Scope::Event => matches!(self.side(), Side::Publisher),
        }
    }

    /// Whether what carries a connection does what a value of it says. The others are read, compared and explained, and nothing else.
    pub fn is_carried_out(self, kind: ServiceKind, value: &Said) -> bool {
        match (self, kind) {
            // A plan that does not keep these is refused, so that there is nothing left to carry out.
            (Self::MaxConsumers | Self::MaxSuppliers, _) => true,
            // What a process has and its topics do not keep ends with it.
            (Self::EventReliability, ServiceKind::Direct | ServiceKind::Channel | ServiceKind::Federated) => {
                *value != Said::Word(PERSISTENT.into())
            }
            // Within a process nothing is lost, and gateways are connected again by themselves.
            (Self::EventReliability | Self::ConnectionReliability, _) => true,
            (_, ServiceKind::Channel | ServiceKind::Federated) => true,
            // Behind a topic each consumer has a queue; what else is of a publisher ends at the writer.
            (Self::StartTime | Self::StopTime | Self::MaxQueueLength, ServiceKind::Dds) => true,
            (_, ServiceKind::Dds) => self.side() == Side::Consumer,
            (_, ServiceKind::Direct) => false,
        }
    }

    /// The default value.
    pub fn default(self) -> Said {
        match self {
            Self::EventReliability | Self::ConnectionReliability => Said::Word("best-effort".into()),
            Self::OrderPolicy => Said::Word("fifo".into()),
            Self::DiscardPolicy => Said::Word("fifo".into()),
            Self::MaximumBatchSize => Said::Number(1),
            Self::MaxEventsPerConsumer => Said::Number(16),
            Self::Priority | Self::MaxQueueLength | Self::MaxConsumers | Self::MaxSuppliers => {
                Said::Number(0)
            }
            Self::StartTime | Self::StopTime | Self::Timeout | Self::PacingInterval => Said::Time(0),
            Self::RejectNewEvents => Said::Flag(false),
        }
    }
}

impl Said {
    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Number(number) => Value::Integer(*number),
            Self::Time(time) => Value::Text(diagnostics::written(*time)),
            Self::Word(word) => Value::Text(word.clone()),
            Self::Flag(flag) => Value::Boolean(*flag),
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Time(time) => f.write_str(&diagnostics::written(*time)),
            Self::Word(word) => f.write_str(word),
            Self::Flag(flag) => write!(f, "{flag}"),
        }
    }
}
