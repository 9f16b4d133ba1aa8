//! QoS of entities: what is announced, and what stays at home (DDS 1.4, 2.2.3). What each policy does here: docs/qos.md.
mod assurance;
mod check;
mod flow_control;
mod group;
mod participant;
#[cfg(feature = "serde")]
mod said;
mod topic;

use wire::Duration;
use wire::qos::{DataRepresentation, EndpointQos, History, ResourceLimits};

pub use assurance::{LARGEST_MESSAGE, Losses, OfferedAssurance, RequestedAssurance, Sending, WhenRefused};
pub use check::{MAX_DATA_OCTETS, MAX_PARTITION_OCTETS};
pub use flow_control::{FlowController, Publishing};
pub use group::{EntityFactory, GroupQos, PublisherQos, SubscriberQos};
pub use participant::DomainParticipantQos;
pub use topic::TopicQos;

/// WRITER_DATA_LIFECYCLE (DDS 1.4, 2.2.3.21).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct WriterDataLifecycle {
    /// Unregistering an instance disposes it too. Default true.
    pub autodispose_unregistered_instances: bool,
}

impl Default for WriterDataLifecycle {
    fn default() -> Self {
        Self { autodispose_unregistered_instances: true }
    }
}

/// READER_DATA_LIFECYCLE (DDS 1.4, 2.2.3.22).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct ReaderDataLifecycle {
    /// Samples of an instance without writers are kept for this long. Default infinite.
    pub autopurge_nowriter_samples_delay: Duration,
    /// Samples of a disposed instance are kept for this long. Default infinite.
    pub autopurge_disposed_samples_delay: Duration,
}

impl Default for ReaderDataLifecycle {
    fn default() -> Self {
        Self {
            autopurge_nowriter_samples_delay: Duration::INFINITE,
            autopurge_disposed_samples_delay: Duration::INFINITE,
        }
    }
}

/// QoS of a DataWriter.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct DataWriterQos {
    /// What is announced.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "said::writer"))]
    pub endpoint: EndpointQos,
    /// What it promises about its samples, so that readers can be assured of their latency. Default nothing.
    pub assurance: Option<OfferedAssurance>,
    /// How much it may send. Default whatever is written; cannot be changed once the writer is enabled.
    pub flow_controller: Option<FlowController>,
    /// It may send what sessions over domains grant, as long as there are some, and a write does this where tokens are missing. Without a
    /// session nothing holds it back. Needs `punctual reserve` in the domain. Default none; cannot be changed once the writer is enabled.
    pub session_flow_controller: Option<Publishing>,
    /// WRITER_DATA_LIFECYCLE.
    pub writer_data_lifecycle: WriterDataLifecycle,
    /// Most bytes of history, 1,024 or more; beyond it a write blocks, and a larger sample is refused. Default 64 MiB. It is no
    /// allocation: memory is taken as samples are written.
    pub byte_limit: usize,
    /// Most instances if RESOURCE_LIMITS does not limit them. Default 65,536.
    pub instance_limit: u32,
}

impl Default for DataWriterQos {
    fn default() -> Self {
        Self {
            endpoint: EndpointQos::writer(),
            assurance: None,
            flow_controller: None,
            session_flow_controller: None,
            writer_data_lifecycle: WriterDataLifecycle::default(),
            byte_limit: BYTE_LIMIT,
            instance_limit: INSTANCE_LIMIT,
        }
    }
}

/// QoS of a DataReader.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct DataReaderQos {
    /// What is announced.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "said::reader"))]
    pub endpoint: EndpointQos,
    /// The latency that it wants to be assured of. Default none.
    pub assurance: Option<RequestedAssurance>,
    /// READER_DATA_LIFECYCLE.
    pub reader_data_lifecycle: ReaderDataLifecycle,
    /// Most bytes of samples and instances in the cache, 1,024 or more, each sample counted with what is kept about it.
    /// As much again may wait for earlier samples or be incomplete. A sample that can never be held is told by SAMPLE_REJECTED. Default 64 MiB.
    /// It is no allocation: memory is taken as samples come.
    pub byte_limit: usize,
    /// Most instances if RESOURCE_LIMITS does not limit them. Default 65,536.
    pub instance_limit: u32,
}

impl Default for DataReaderQos {
    fn default() -> Self {
        Self {
            endpoint: EndpointQos {
                representation: [DataRepresentation::XCDR1, DataRepresentation::XCDR2].into(),
                ..EndpointQos::reader()
            },
            assurance: None,
            reader_data_lifecycle: ReaderDataLifecycle::default(),
            byte_limit: BYTE_LIMIT,
            instance_limit: INSTANCE_LIMIT,
        }
    }
}

/// Some images or point clouds of 8 MB.
const BYTE_LIMIT: usize = 64 << 20;
const INSTANCE_LIMIT: u32 = 1 << 16;

/// HISTORY and RESOURCE_LIMITS as numbers to compare with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Samples of one instance before the oldest is replaced; `None` for KEEP_ALL.
    pub(crate) depth: Option<usize>,
    pub(crate) samples: usize,
    pub(crate) instances: usize,
    pub(crate) per_instance: usize,
    pub(crate) bytes: usize,
}

impl Limits {
    fn new(history: History, limits: ResourceLimits, bytes: usize, instances: u32) -> Self {
        let number = |limit: Option<u32>| limit.map_or(usize::MAX, |limit| limit as usize);
        Self {
            depth: match history {
                History::KeepLast(depth) => Some(depth as usize),
                History::KeepAll => None,
            },
            samples: number(limits.max_samples),
            instances: limits.max_instances.unwrap_or(instances) as usize,
            per_instance: number(limits.max_samples_per_instance),
            bytes,
        }
    }
}

impl DataWriterQos {
    pub(crate) fn limits(&self) -> Limits {
        let qos = &self.endpoint;
        Limits::new(qos.history, qos.resource_limits, self.byte_limit, self.instance_limit)
    }
}

impl DataReaderQos {
    pub(crate) fn limits(&self) -> Limits {
        let qos = &self.endpoint;
        Limits::new(qos.history, qos.resource_limits, self.byte_limit, self.instance_limit)
    }
}
