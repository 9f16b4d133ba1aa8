//! RustDDS as a driver: its defaults, one thread that polls with mio.
#[allow(dead_code, reason = "drivers use different parts of it")]
mod measure;
mod roles;

use std::borrow::Cow;
use std::process::ExitCode;

use mio::{Events, Interest, Poll, Token};
use rustdds::dds::result::WriteError;
use rustdds::no_key::{DataReader, DataWriter};
use rustdds::policy::{Durability, History, Reliability};
use rustdds::{
    DataWriterStatus, DomainParticipant, QosPolicies, QosPolicyBuilder, StatusEvented as _, Topic, TopicKind,
};
use serde::{Deserialize, Serialize};

use measure::{FILLING, MEETING, Role, Task, Wake, Wrong};
use roles::LOOK;

#[derive(Serialize, Deserialize, Clone)]
struct Message {
    number: u32,
    data: Vec<u8>,
}

const DOMAIN: u16 = 7;

fn main() -> ExitCode {
    roles::main::<Peer>()
}

struct Peer {
    participant: DomainParticipant,
    qos: QosPolicies,
    size: usize,
}

impl Peer {
    fn topic(&self, name: &str) -> Result<Topic, Wrong> {
        let (name, kind) = (name.to_owned(), "Message".to_owned());
        Ok(self.participant.create_topic(name, kind, &self.qos, TopicKind::NoKey)?)
    }
}

impl roles::Peer for Peer {
    type Writer = Writer;
    type Reader = Reader;

    fn refusal(task: &Task) -> Option<&'static str> {
        match (task.wake, task.role) {
            _ if task.memory => Some("RustDDS has no shared memory"),
            _ if task.batched => Some("RustDDS does not batch"),
            (Wake::Spin, _) => Some("RustDDS has no reader that spins"),
            // Its one way to wait stands in the row of WaitSets, and where it does not matter.
            (Wake::Listener, Role::Ping | Role::Pong) => Some("RustDDS has no listeners: see the row of WaitSets"),
            _ => None,
        }
    }

    fn new(task: &Task) -> Result<Self, Wrong> {
        let history = match task.role {
            Role::Ping | Role::Pong => History::KeepLast { depth: 1 },
            _ => History::KeepAll,
        };
        let qos = QosPolicyBuilder::new()
            .reliability(Reliability::Reliable { max_blocking_time: rustdds::Duration::from_secs(10) })
            .durability(Durability::Volatile)
            .history(history)
            .build();
        Ok(Self { participant: DomainParticipant::new(DOMAIN)?, qos, size: task.size })
    }

    fn writer(&self, topic: &str) -> Result<Writer, Wrong> {
        let publisher = self.participant.create_publisher(&self.qos)?;
        let writer = publisher.create_datawriter_no_key_cdr(&self.topic(topic)?, Some(self.qos.clone()))?;
        Ok(Writer { writer, message: Message { number: 0, data: vec![FILLING; self.size] } })
    }

    fn reader(&self, topic: &str) -> Result<Reader, Wrong> {
        let subscriber = self.participant.create_subscriber(&self.qos)?;
        let mut reader = subscriber.create_datareader_no_key_cdr(&self.topic(topic)?, Some(self.qos.clone()))?;
        let poll = Poll::new()?;
        poll.registry().register(&mut reader, Token(0), Interest::READABLE)?;
        Ok(Reader { reader, poll, events: Events::with_capacity(4) })
    }
}

struct Writer {
    writer: DataWriter<Message>,
    message: Message,
}

impl roles::Writer for Writer {
    type Sample = Message;

    fn matched(&mut self) -> Result<bool, Wrong> {
        // There is a call for it, which panics.
        let status = self.writer.try_recv_status();
        Ok(matches!(status, Some(DataWriterStatus::PublicationMatched { current, .. }) if current.count() > 0))
    }

    fn write(&mut self, number: u64) -> Result<bool, Wrong> {
        self.message.number = u32::try_from(number)?;
        match self.writer.write(self.message.clone(), None) {
            Ok(()) => Ok(true),
            Err(WriteError::WouldBlock { .. }) => Ok(false),
            Err(error) => Err(error.to_string().into()),
        }
    }

    fn give_back(&mut self, sample: Message) -> Result<(), Wrong> {
        Ok(self.writer.write(sample, None).map_err(|error| error.to_string())?)
    }

    fn settle(&mut self) -> Result<(), Wrong> {
        // What it does not wait for is lost, and counted.
        let _ = self.writer.wait_for_acknowledgments(MEETING);
        Ok(())
    }
}

struct Reader {
    reader: DataReader<Message>,
    poll: Poll,
    events: Events,
}

impl roles::Reader for Reader {
    type Sample = Message;

    fn turn(&mut self, act: &mut dyn FnMut(Message) -> Result<(), Wrong>) -> Result<(), Wrong> {
        match self.poll.poll(&mut self.events, Some(LOOK)) {
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => return Err(error.into()),
            _ => {}
        }
        while let Some(sample) = self.reader.take_next_sample().map_err(|error| error.to_string())? {
            act(sample.into_value())?;
        }
        Ok(())
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
