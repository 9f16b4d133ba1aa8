//! The writers that samples of a recording are written with.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcps::writer::InstanceOf;
use dds::qos::{DataWriterQos, Durability, PublisherQos};
use dds::{Bytes, DomainParticipant, Duration, NO_STATUS, QosKind, RawDataWriter, ReturnCode, WriteOptions};
use dynamic::{Definition, idl};
use recording::{Channel, End, Entry};
use wire::qos::{EndpointQos, Presentation, ReliabilityKind};

use crate::exit::Failure;
use crate::types::Form;

/// How long readers have to acknowledge the last samples.
const ACKNOWLEDGE: Duration = Duration::from_secs(10);

/// A writer for each channel that is replayed.
#[derive(Default)]
pub(super) struct Voices {
    writers: BTreeMap<u16, Voice>,
    /// Samples that were not written, and the last reason.
    refused: u64,
    why: String,
}

struct Voice {
    topic: String,
    writer: RawDataWriter,
}

impl Voices {
    /// Makes the writer of a channel.
    pub(super) fn add(
        &mut self,
        participant: &DomainParticipant,
        number: u16,
        channel: &Channel,
    ) -> Result<(), Failure> {
        let form = form(channel);
        let topic = form.topic(participant, &channel.topic, &channel.type_name)?;
        let mut qos = DataWriterQos::default();
        // That the command ends says nothing about what the samples are about.
        qos.writer_data_lifecycle.autodispose_unregistered_instances = false;
        qos.endpoint = channel.qos.clone().map_or(qos.endpoint, usable);
        let group = PublisherQos { partition: qos.endpoint.partition.clone(), ..PublisherQos::default() };
        let publisher = participant.create_publisher(QosKind::Specific(group), None, NO_STATUS)?;
        qos.endpoint.partition.clear();
        let qos = QosKind::Specific(qos);
        let writer = publisher.create_raw_datawriter(&topic, form.support(), qos, None, NO_STATUS)?;
        self.writers.insert(number, Voice { topic: channel.topic.clone(), writer });
        Ok(())
    }

    pub(super) fn has(&self, channel: u16) -> bool {
        self.writers.contains_key(&channel)
    }

    pub(super) fn topics(&self) -> usize {
        self.writers.values().map(|voice| voice.topic.as_str()).collect::<BTreeSet<_>>().len()
    }

    /// Writes what came; false if it was refused.
    pub(super) fn write(&mut self, entry: &Entry) -> Result<bool, Failure> {
        let Some(Voice { writer, topic }) = self.writers.get(&entry.channel) else { return Ok(false) };
        let done = match entry.end {
            None => writer.write_serialized(&Bytes::from(entry.data.clone()), &WriteOptions::default()),
            Some(End::Disposed) => writer.dispose_of(InstanceOf::Key(&entry.data), None),
            Some(End::Unregistered) => writer.unregister_of(InstanceOf::Key(&entry.data), None),
        };
        match done {
            Ok(_) => Ok(entry.end.is_none()),
            // A file can have samples that are none of their type, and the end of what began before it.
            Err(error) if matches!(error.code, ReturnCode::BadParameter | ReturnCode::PreconditionNotMet) => {
                if entry.end.is_none() {
                    self.refused += 1;
                    self.why = format!("{topic:?}: {error}");
                }
                Ok(false)
            }
            // A reader that does not keep up would have made the writer wait, too.
            Err(error) if error.code == ReturnCode::Timeout => {
                self.refused += 1;
                self.why = format!("{topic:?}: its readers did not keep up");
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A topic that has fewer matched readers.
    pub(super) fn without(&self, readers: u32) -> Option<&str> {
        let few = |voice: &&Voice| voice.writer.get_publication_matched_status().current.count < readers;
        self.writers.values().find(few).map(|voice| voice.topic.as_str())
    }

    /// True if readers have acknowledged all.
    pub(super) fn finish(&self) -> Result<bool, Failure> {
        for voice in self.writers.values() {
            match voice.writer.wait_for_acknowledgments(ACKNOWLEDGE) {
                Ok(()) => {}
                Err(error) if error.code == ReturnCode::Timeout => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Says what was not written.
    pub(super) fn tell(&self) {
        if self.refused > 0 {
            eprintln!("punctual: {} samples were not written; the last one of {}", self.refused, self.why);
        }
    }

    pub(super) const fn is_good(&self) -> bool {
        self.refused == 0
    }
}

/// The type of a channel: as it is described, or as bytes.
fn form(channel: &Channel) -> Form {
    let described = channel.idl.as_deref().and_then(|text| idl::parse(text).ok());
    let described = described.and_then(|schema| {
        let topics = || schema.iter().filter(|(_, of)| of.extensibility().is_some());
        let named = topics().find(|(_, of)| of.name() == channel.type_name).or_else(|| topics().next_back());
        let (index, of) = named?;
        // A description that has another idea of keys is not that of the samples.
        let is_same = channel.keyed.is_none_or(|keyed| keyed == Definition::has_key(of));
        is_same.then(|| Form::Described(Arc::new(schema.clone()), index))
    });
    described.unwrap_or(Form::Octets { keyed: channel.keyed.unwrap_or(false) })
}

/// What a writer here can offer of what was offered.
fn usable(mut qos: EndpointQos) -> EndpointQos {
    qos.durability = qos.durability.min(Durability::TransientLocal);
    qos.presentation = Presentation::default();
    if qos.reliability.kind == ReliabilityKind::Reliable {
        // A reader that is slow for a moment ends no replay.
        qos.reliability.max_blocking_time = qos.reliability.max_blocking_time.max(Duration::from_secs(1));
    }
    qos
}
