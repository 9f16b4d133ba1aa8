//! What a reader asks for so that it gets what the writers of a topic offer.
use dds::qos::{
    DataReaderQos, DataRepresentation, Durability, EndpointQos, History, Ownership, Reliability,
    ReliabilityKind, SubscriberQos,
};
use wire::EntityKind;
use wire::discovery::EndpointData;

use crate::exit::Failure;
use crate::profile::Profile;
use crate::qos::QosOptions;

/// QoS that all of some writers offer.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Adapted {
    /// Reliable if all are.
    pub(crate) reliability: Reliability,
    /// The least of all.
    pub(crate) durability: Durability,
    /// That of the first.
    pub(crate) ownership: Ownership,
    /// All of their partitions.
    pub(crate) partition: Vec<String>,
    /// That of the first.
    pub(crate) type_name: Option<String>,
    /// The first has a key.
    pub(crate) keyed: bool,
}

impl Adapted {
    /// Adapts to the writers; to none: what every writer offers.
    pub(crate) fn to(writers: &[EndpointData]) -> Self {
        let offers = || writers.iter().map(|writer| &writer.qos);
        let reliable =
            !writers.is_empty() && offers().all(|qos| qos.reliability.kind == ReliabilityKind::Reliable);
        let mut partition: Vec<String> = offers().flat_map(|qos| qos.partition.iter().cloned()).collect();
        // The empty name stands for the partition of those that name none.
        if !partition.is_empty() && offers().any(|qos| qos.partition.is_empty()) {
            partition.push(String::new());
        }
        partition.sort_unstable();
        partition.dedup();
        // A pattern of a writer matches no pattern of a reader: name what it would match.
        for name in &mut partition {
            *name = name.replace(['*', '?'], "x");
        }
        Self {
            reliability: if reliable { Reliability::RELIABLE } else { Reliability::BEST_EFFORT },
            // Histories of a service need a service: what the writer itself keeps is asked of the writer.
            durability: offers()
                .map(|qos| qos.durability.min(Durability::TransientLocal))
                .min()
                .unwrap_or_default(),
            ownership: offers().next().map(|qos| qos.ownership).unwrap_or_default(),
            partition,
            type_name: writers.first().map(|writer| writer.type_name.clone()),
            keyed: writers
                .first()
                .is_some_and(|writer| writer.guid.entity_id.kind() == EntityKind::WriterWithKey),
        }
    }

    /// The partitions of the subscriber: those that were asked for, or those of the writers.
    pub(crate) fn partitions(&self, options: &QosOptions) -> Vec<String> {
        if options.partitions.is_empty() { self.partition.clone() } else { options.partitions.clone() }
    }

    /// Puts into the QoS of a reader what the writers offer, and over it what was asked for.
    pub(crate) fn ask(&self, options: &QosOptions, qos: &mut EndpointQos) {
        qos.reliability = self.reliability;
        qos.durability = self.durability;
        qos.ownership = self.ownership;
        // Nothing of what arrives is replaced before it is taken.
        qos.history = History::KeepAll;
        qos.representation = vec![DataRepresentation::XCDR1, DataRepresentation::XCDR2];
        options.apply(qos);
    }
}

/// QoS of a reader of a topic and of its subscriber: that of a profile, or what the writers offer, and over it what was asked for.
pub(crate) fn reader(
    topic: &str,
    profile: Option<&Profile>,
    adapted: &Adapted,
    options: &QosOptions,
) -> Result<(DataReaderQos, SubscriberQos), Failure> {
    let Some(profile) = profile else {
        let mut qos = DataReaderQos::default();
        adapted.ask(options, &mut qos.endpoint);
        let partition = adapted.partitions(options);
        return Ok((qos, SubscriberQos { partition, ..SubscriberQos::default() }));
    };
    let (mut qos, mut group) = (profile.datareader(topic)?, profile.subscriber()?);
    options.apply(&mut qos.endpoint);
    if !options.partitions.is_empty() {
        group.partition.clone_from(&options.partitions);
    }
    Ok((qos, group))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::qos::EndpointQos;
    use wire::{EntityId, EntityKind, Guid, GuidPrefix};

    fn writer(change: impl FnOnce(&mut EndpointQos)) -> EndpointData {
        let guid = Guid::new(GuidPrefix([7; 12]), EntityId::user(1, EntityKind::WriterWithKey));
        let mut qos = EndpointQos::writer();
        change(&mut qos);
        EndpointData::new(guid, "Readings".to_owned(), "Reading".to_owned(), qos)
    }

    #[test]
    fn the_weakest_writer_decides() {
        let strong = writer(|qos| qos.durability = Durability::TransientLocal);
        let weak = writer(|qos| qos.reliability = Reliability::BEST_EFFORT);
        let one = Adapted::to(std::slice::from_ref(&strong));
        assert_eq!((one.reliability, one.durability), (Reliability::RELIABLE, Durability::TransientLocal));
        let both = Adapted::to(&[strong, weak]);
        assert_eq!((both.reliability, both.durability), (Reliability::BEST_EFFORT, Durability::Volatile));
        assert_eq!(both.type_name.as_deref(), Some("Reading"));
        let none = Adapted::to(&[]);
        assert_eq!((none.reliability, none.type_name), (Reliability::BEST_EFFORT, None));
    }

    #[test]
    fn a_reader_in_the_partitions_of_all_matches_all() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let writers = [
            writer(|qos| qos.partition = names(&["left", "right"])),
            writer(|qos| qos.partition = names(&["arm*"])),
            writer(|_| {}),
        ];
        let adapted = Adapted::to(&writers);
        assert_eq!(adapted.partition, names(&["", "armx", "left", "right"]));
        let mut reader = writer(|qos| qos.partition = adapted.partition);
        reader.qos.reliability = adapted.reliability;
        for writer in &writers {
            assert_eq!(rtps::discovery::compare(writer, &reader), Ok(()));
        }
    }
}
