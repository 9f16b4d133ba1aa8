//! A talker, a listener, and somebody who watches them.
use cli::explain::{Received, Scene, explain};
use dds::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos};
use dds::{DataReader, DataWriter, DdsType, DomainParticipant, Duration, NO_STATUS, QosKind};

use crate::desk::Desk;

#[derive(DdsType, Clone, PartialEq, Debug)]
pub(crate) struct Reading {
    #[dds(key)]
    pub(crate) sensor: u32,
    pub(crate) celsius: f64,
}

pub(crate) fn reading(sensor: u32) -> Reading {
    Reading { sensor, celsius: 21.5 }
}

/// Virtual hosts 10.0.0.1, 10.0.0.2 and 10.0.0.3.
pub(crate) struct Stage {
    pub(crate) talker: DomainParticipant,
    pub(crate) listener: DomainParticipant,
    pub(crate) watcher: DomainParticipant,
    /// Last, so that time goes on until the participants are gone.
    pub(crate) desk: Desk,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(true)
    }

    /// Participants that announce no types.
    pub(crate) fn without_types() -> Self {
        Self::with(false)
    }

    fn with(type_lookup: bool) -> Self {
        let mut desk = Desk::new();
        let mut named = |name: &str| {
            let name = Some(name.to_owned());
            desk.participant_with(QosKind::Default, |settings| {
                settings.entity_name = name;
                settings.type_lookup = type_lookup;
            })
        };
        let (talker, listener, watcher) = (named("talker"), named("listener"), named("watcher"));
        Self { talker, listener, watcher, desk }
    }

    /// A writer of the talker.
    pub(crate) fn writer(
        &self,
        topic: &str,
        type_name: &str,
        group: PublisherQos,
        qos: DataWriterQos,
    ) -> DataWriter<Reading> {
        let topic =
            self.talker.create_topic::<Reading>(topic, type_name, QosKind::Default, None, NO_STATUS).unwrap();
        let publisher = self.talker.create_publisher(QosKind::Specific(group), None, NO_STATUS).unwrap();
        publisher.create_datawriter::<Reading>(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
    }

    /// A reader of `participant`.
    pub(crate) fn reader_of(
        participant: &DomainParticipant,
        topic: &str,
        type_name: &str,
        group: SubscriberQos,
        qos: DataReaderQos,
    ) -> DataReader<Reading> {
        let topic =
            participant.create_topic::<Reading>(topic, type_name, QosKind::Default, None, NO_STATUS).unwrap();
        let subscriber = participant.create_subscriber(QosKind::Specific(group), None, NO_STATUS).unwrap();
        subscriber.create_datareader::<Reading>(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
    }

    /// A reader of the listener.
    pub(crate) fn reader(
        &self,
        topic: &str,
        type_name: &str,
        group: SubscriberQos,
        qos: DataReaderQos,
    ) -> DataReader<Reading> {
        Self::reader_of(&self.listener, topic, type_name, group, qos)
    }

    /// What the watcher sees after a while.
    pub(crate) fn scene(&mut self, topic: Option<&str>) -> Scene {
        self.desk.run(Duration::from_secs(5));
        Scene::of(&self.watcher, "", topic, Duration::from_secs(5))
    }

    /// What the watcher says after a while.
    pub(crate) fn told(&mut self, topic: Option<&str>) -> String {
        told(&self.scene(topic))
    }

    /// What the watcher says of what its own reader of a topic got.
    pub(crate) fn told_of(&mut self, reader: &DataReader<Reading>, samples: u64) -> String {
        let topic = reader.get_topicdescription().get_name().to_owned();
        let mut scene = self.scene(Some(&topic));
        scene.received = Some(Received::by(reader, samples));
        told(&scene)
    }
}

/// All findings as they are printed.
pub(crate) fn told(scene: &Scene) -> String {
    explain(scene).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
