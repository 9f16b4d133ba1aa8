//! dust_dds as a driver: its defaults, and a WaitSet.
#[allow(dead_code, reason = "drivers use different parts of it")]
mod measure;
mod roles;

use std::borrow::Cow;
use std::process::ExitCode;

use dust_dds::domain::domain_participant::DomainParticipant;
use dust_dds::domain::domain_participant_factory::DomainParticipantFactory;
use dust_dds::infrastructure::error::DdsError;
use dust_dds::infrastructure::listener::NO_LISTENER;
use dust_dds::infrastructure::qos::{DataReaderQos, DataWriterQos, QosKind};
use dust_dds::infrastructure::qos_policy::{
    HistoryQosPolicy, HistoryQosPolicyKind, ReliabilityQosPolicy, ReliabilityQosPolicyKind,
};
use dust_dds::infrastructure::status::{NO_STATUS, StatusKind};
use dust_dds::infrastructure::time::{Duration, DurationKind};
use dust_dds::infrastructure::type_support::DdsType;
use dust_dds::publication::data_writer::DataWriter;
use dust_dds::subscription::data_reader::DataReader;
use dust_dds::topic_definition::topic::Topic;
use dust_dds::wait_set::{Condition, WaitSet};

use measure::{FILLING, Role, Task, Wake, Wrong};
use roles::LOOK;

#[derive(DdsType, Clone)]
#[dust_dds(extensibility = "final")]
struct Message {
    number: u32,
    data: Vec<u8>,
}

const DOMAIN: i32 = 7;

fn main() -> ExitCode {
    roles::main::<Peer>()
}

/// Its errors are not those of the standard library.
fn said(error: DdsError) -> Wrong {
    format!("{error:?}").into()
}

struct Peer {
    participant: DomainParticipant,
    history: HistoryQosPolicy,
    size: usize,
}

const RELIABLE: ReliabilityQosPolicy = ReliabilityQosPolicy {
    kind: ReliabilityQosPolicyKind::Reliable,
    max_blocking_time: DurationKind::Finite(Duration::new(10, 0)),
};

impl Peer {
    fn topic(&self, name: &str) -> Result<Topic, Wrong> {
        let topic = self.participant.create_topic::<Message>(name, "Message", QosKind::Default, NO_LISTENER, NO_STATUS);
        topic.map_err(said)
    }
}

impl roles::Peer for Peer {
    type Writer = Writer;
    type Reader = Reader;

    fn refusal(task: &Task) -> Option<&'static str> {
        match (task.wake, task.role) {
            _ if task.memory => Some("dust_dds has no shared memory"),
            _ if task.batched => Some("dust_dds does not batch"),
            (Wake::Spin, _) => Some("dust_dds has no reader that spins"),
            (Wake::Listener, Role::Ping | Role::Pong) => {
                Some("this driver uses its WaitSets alone: see the row of WaitSets")
            }
            _ => None,
        }
    }

    fn new(task: &Task) -> Result<Self, Wrong> {
        let kind = match task.role {
            Role::Ping | Role::Pong => HistoryQosPolicyKind::KeepLast(1),
            _ => HistoryQosPolicyKind::KeepAll,
        };
        let participant = DomainParticipantFactory::get_instance()
            .create_participant(DOMAIN, QosKind::Default, NO_LISTENER, NO_STATUS)
            .map_err(said)?;
        Ok(Self { participant, history: HistoryQosPolicy { kind }, size: task.size })
    }

    fn writer(&self, topic: &str) -> Result<Writer, Wrong> {
        let publisher =
            self.participant.create_publisher(QosKind::Default, NO_LISTENER, NO_STATUS).map_err(said)?;
        let qos =
            DataWriterQos { reliability: RELIABLE, history: self.history.clone(), ..DataWriterQos::default() };
        let writer = publisher
            .create_datawriter(&self.topic(topic)?, QosKind::Specific(qos), NO_LISTENER, NO_STATUS)
            .map_err(said)?;
        Ok(Writer { writer, message: Message { number: 0, data: vec![FILLING; self.size] } })
    }

    fn reader(&self, topic: &str) -> Result<Reader, Wrong> {
        let subscriber =
            self.participant.create_subscriber(QosKind::Default, NO_LISTENER, NO_STATUS).map_err(said)?;
        let qos =
            DataReaderQos { reliability: RELIABLE, history: self.history.clone(), ..DataReaderQos::default() };
        let reader: DataReader<Message> = subscriber
            .create_datareader(&self.topic(topic)?, QosKind::Specific(qos), NO_LISTENER, NO_STATUS)
            .map_err(said)?;
        let condition = reader.get_statuscondition();
        condition.set_enabled_statuses(&[StatusKind::DataAvailable]).map_err(said)?;
        let mut waits = WaitSet::new();
        waits.attach_condition(Condition::StatusCondition(condition)).map_err(said)?;
        Ok(Reader { reader, waits })
    }
}

struct Writer {
    writer: DataWriter<Message>,
    message: Message,
}

impl roles::Writer for Writer {
    type Sample = Message;

    fn matched(&mut self) -> Result<bool, Wrong> {
        Ok(!self.writer.get_matched_subscriptions().map_err(said)?.is_empty())
    }

    fn write(&mut self, number: u64) -> Result<bool, Wrong> {
        self.message.number = u32::try_from(number)?;
        match self.writer.write(self.message.clone(), None) {
            Ok(()) => Ok(true),
            Err(DdsError::Timeout) => Ok(false),
            Err(error) => Err(said(error)),
        }
    }

    fn give_back(&mut self, sample: Message) -> Result<(), Wrong> {
        self.writer.write(sample, None).map_err(said)
    }

    fn settle(&mut self) -> Result<(), Wrong> {
        // What it does not wait for is lost, and counted.
        let _ = self.writer.wait_for_acknowledgments(Duration::new(10, 0));
        Ok(())
    }
}

struct Reader {
    reader: DataReader<Message>,
    waits: WaitSet,
}

impl roles::Reader for Reader {
    type Sample = Message;

    fn turn(&mut self, act: &mut dyn FnMut(Message) -> Result<(), Wrong>) -> Result<(), Wrong> {
        match self.waits.wait(Duration::new(0, LOOK.subsec_nanos())) {
            Ok(_) | Err(DdsError::Timeout) => {}
            Err(error) => return Err(said(error)),
        }
        loop {
            match self.reader.take_next_sample() {
                Ok(sample) => {
                    if let Some(message) = sample.data {
                        act(message)?;
                    }
                }
                Err(DdsError::NoData) => return Ok(()),
                Err(error) => return Err(said(error)),
            }
        }
    }
}

impl roles::Sample for Message {
    fn number(&self) -> u64 {
        u64::from(self.number)
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.data)
    }
}
