//! From options to configuration and QoS.
use dds::qos::{
    DataReaderQos, DataRepresentation, DataWriterQos, Durability, EndpointQos, GroupQos, History, Ownership,
    Reliability,
};
use dds::{Config, Duration};

use crate::options::{DurabilityKind, Options};

/// How the participant uses the host.
pub(crate) fn config(options: &Options) -> Config {
    let mut config = Config::default();
    // What is tested is what goes over the wire, also with ourselves.
    config.shared_memory.enabled = false;
    if options.periodic_announcement > 0 {
        let period = Duration::from_millis(options.periodic_announcement);
        config.discovery.announce_period = period;
        let lease = period.scaled(3, 1);
        config.discovery.lease_duration = lease.max(config.discovery.lease_duration);
    }
    if options.datafrag_size > 0 {
        config.network.largest_datagram = options.datafrag_size;
    }
    config
}

/// QoS of the publisher or the subscriber.
pub(crate) fn group(options: &Options) -> GroupQos {
    GroupQos { partition: options.partition.iter().cloned().collect(), ..GroupQos::default() }
}

/// QoS of the writer.
pub(crate) fn writer(options: &Options) -> DataWriterQos {
    let mut qos = DataWriterQos::default();
    endpoint(options, &mut qos.endpoint);
    qos.endpoint.ownership_strength = options.strength.max(0);
    if options.lifespan > 0 {
        qos.endpoint.lifespan = Duration::from_millis(options.lifespan);
    }
    // What is not disposed by `--final-instance-state` is not disposed at all, also when the program ends.
    qos.writer_data_lifecycle.autodispose_unregistered_instances = false;
    // A sample has to fit with what is kept about it, several to keep the writer going.
    qos.byte_limit = qos.byte_limit.max(options.additional_payload_size.saturating_mul(4));
    qos
}

/// QoS of the reader.
pub(crate) fn reader(options: &Options) -> DataReaderQos {
    let mut qos = DataReaderQos::default();
    endpoint(options, &mut qos.endpoint);
    qos.endpoint.time_based_filter = Duration::from_millis(options.time_filter);
    qos
}

/// What both have.
fn endpoint(options: &Options, qos: &mut EndpointQos) {
    qos.reliability = if options.best_effort { Reliability::BEST_EFFORT } else { Reliability::RELIABLE };
    qos.durability = match options.durability {
        DurabilityKind::V => Durability::Volatile,
        DurabilityKind::L => Durability::TransientLocal,
        DurabilityKind::T => Durability::Transient,
        DurabilityKind::P => Durability::Persistent,
    };
    qos.representation =
        vec![if options.representation == 2 { DataRepresentation::XCDR2 } else { DataRepresentation::XCDR1 }];
    if options.strength >= 0 {
        qos.ownership = Ownership::Exclusive;
    }
    if options.deadline > 0 {
        qos.deadline = Duration::from_millis(options.deadline);
    }
    match u32::try_from(options.history_depth) {
        Ok(0) => qos.history = History::KeepAll,
        Ok(depth) => qos.history = History::KeepLast(depth),
        // Not given.
        Err(_) => {}
    }
}
