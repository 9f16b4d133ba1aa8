//! QoS on the command line, with the words of the standard.
use clap::{Args, ValueEnum};
use dds::Duration;
use dds::qos::{
    DataRepresentation, DestinationOrder, Durability, EndpointQos, History, LivelinessKind, Ownership,
    Reliability,
};

use crate::profile::ProfileOptions;
use crate::span;

/// Policies that writers and readers have; what is not given is left as it is.
#[derive(Args, Clone, PartialEq, Debug, Default)]
#[command(next_help_heading = "QoS")]
pub struct QosOptions {
    /// Profile of a QoS file.
    #[command(flatten)]
    pub profile: ProfileOptions,
    /// RELIABILITY.
    #[arg(long, value_name = "KIND")]
    pub reliability: Option<ReliabilityWord>,
    /// DURABILITY.
    #[arg(long, value_name = "KIND")]
    pub durability: Option<DurabilityWord>,
    /// HISTORY: how many samples of each instance are kept, or `all`.
    #[arg(long, value_name = "DEPTH|all", value_parser = parse_history)]
    pub history: Option<HistoryWord>,
    /// DEADLINE: longest time between two samples of an instance, as 100ms.
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    pub deadline: Option<Duration>,
    /// LATENCY_BUDGET: how long samples may wait for company.
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    pub latency_budget: Option<Duration>,
    /// LIVELINESS kind.
    #[arg(long, value_name = "KIND")]
    pub liveliness: Option<LivelinessWord>,
    /// LIVELINESS lease duration.
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    pub lease: Option<Duration>,
    /// OWNERSHIP.
    #[arg(long, value_name = "KIND")]
    pub ownership: Option<OwnershipWord>,
    /// DESTINATION_ORDER.
    #[arg(long, value_name = "KIND")]
    pub order: Option<OrderWord>,
    /// PARTITION; may be repeated, and have wildcards.
    #[arg(long = "partition", value_name = "NAME")]
    pub partitions: Vec<String>,
    /// DATA_REPRESENTATION.
    #[arg(long, value_name = "KIND")]
    pub representation: Option<RepresentationWord>,
    /// RESOURCE_LIMITS: most samples.
    #[arg(long, value_name = "COUNT")]
    pub max_samples: Option<u32>,
    /// RESOURCE_LIMITS: most instances.
    #[arg(long, value_name = "COUNT")]
    pub max_instances: Option<u32>,
    /// RESOURCE_LIMITS: most samples of an instance.
    #[arg(long, value_name = "COUNT")]
    pub max_samples_per_instance: Option<u32>,
}

/// HISTORY.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoryWord(pub(crate) History);

macro_rules! words {
    ($(#[$doc:meta])* $name:ident for $policy:ty { $($(#[$entry:meta])* $word:ident => $value:expr),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
        #[value(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[$entry])* $word,)*
        }

        impl From<$name> for $policy {
            fn from(word: $name) -> Self {
                match word {
                    $($name::$word => $value,)*
                }
            }
        }
    };
}

words! {
    /// RELIABILITY kinds.
    ReliabilityWord for Reliability {
        /// What is lost stays lost.
        BestEffort => Reliability::BEST_EFFORT,
        /// What is lost is repeated.
        Reliable => Reliability::RELIABLE,
    }
}
words! {
    /// DURABILITY kinds.
    DurabilityWord for Durability {
        /// For readers that are there.
        Volatile => Durability::Volatile,
        /// Late readers get the history.
        TransientLocal => Durability::TransientLocal,
    }
}
words! {
    /// LIVELINESS kinds.
    LivelinessWord for LivelinessKind {
        /// While the process lives.
        Automatic => LivelinessKind::Automatic,
        /// The participant says so.
        ManualByParticipant => LivelinessKind::ManualByParticipant,
        /// Each writer says so.
        ManualByTopic => LivelinessKind::ManualByTopic,
    }
}
words! {
    /// OWNERSHIP kinds.
    OwnershipWord for Ownership {
        /// Every writer may write an instance.
        Shared => Ownership::Shared,
        /// The strongest writer owns an instance.
        Exclusive => Ownership::Exclusive,
    }
}
words! {
    /// DESTINATION_ORDER kinds.
    OrderWord for DestinationOrder {
        /// By arrival.
        ByReception => DestinationOrder::ByReceptionTimestamp,
        /// By the time of writing.
        BySource => DestinationOrder::BySourceTimestamp,
    }
}
words! {
    /// DATA_REPRESENTATION kinds.
    RepresentationWord for DataRepresentation {
        /// XCDR version 1, which all implementations read.
        Xcdr1 => DataRepresentation::XCDR1,
        /// XCDR version 2.
        Xcdr2 => DataRepresentation::XCDR2,
    }
}

impl QosOptions {
    /// Puts what was given into the QoS of a writer or reader.
    pub(crate) fn apply(&self, qos: &mut EndpointQos) {
        set(&mut qos.reliability, self.reliability);
        set(&mut qos.durability, self.durability);
        set(&mut qos.history, self.history.map(|word| word.0));
        set(&mut qos.deadline, self.deadline);
        set(&mut qos.latency_budget, self.latency_budget);
        set(&mut qos.liveliness.kind, self.liveliness);
        set(&mut qos.liveliness.lease_duration, self.lease);
        set(&mut qos.ownership, self.ownership);
        set(&mut qos.destination_order, self.order);
        if let Some(word) = self.representation {
            qos.representation = vec![word.into()];
        }
        let limits = &mut qos.resource_limits;
        limits.max_samples = self.max_samples.or(limits.max_samples);
        limits.max_instances = self.max_instances.or(limits.max_instances);
        limits.max_samples_per_instance = self.max_samples_per_instance.or(limits.max_samples_per_instance);
    }
}

fn set<T>(place: &mut T, given: Option<impl Into<T>>) {
    if let Some(given) = given {
        *place = given.into();
    }
}

fn parse_history(text: &str) -> Result<HistoryWord, String> {
    if text == "all" {
        return Ok(HistoryWord(History::KeepAll));
    }
    match text.parse() {
        Ok(depth @ 1..) => Ok(HistoryWord(History::KeepLast(depth))),
        _ => Err(format!("{text:?} is no depth; give 1 or more, or all")),
    }
}
