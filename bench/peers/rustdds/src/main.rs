//! RustDDS as a driver: its defaults, one thread that polls with mio.
#[allow(dead_code, reason = "drivers use different parts of it")]
mod measure;

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};
use rustdds::no_key::{DataReader, DataWriter};
use rustdds::policy::{Durability, History, Reliability};
use rustdds::dds::result::WriteError;
use rustdds::{
    DataWriterStatus, DomainParticipant, QosPolicies, QosPolicyBuilder, StatusEvented as _, Topic, TopicKind,
};
use serde::{Deserialize, Serialize};

use measure::{
    CALM, Counter, MEETING, Role, RoundTrips, Task, Wake, Wrong, answered, cannot, end_of_input, first, publish,
    ready, until_silent,
};

#[derive(Serialize, Deserialize, Clone)]
struct Message {
    number: u32,
    data: Vec<u8>,
}

const DOMAIN: u16 = 7;
const EARLY: Duration = Duration::from_millis(1);
const LOOK: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match Task::parse(&words).and_then(|task| run(&task)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("{wrong}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> Result<(), Wrong> {
    let refused = if task.memory {
        Some("RustDDS has no shared memory")
    } else if task.batched {
        Some("RustDDS does not batch")
    } else {
        match (task.wake, task.role) {
            (Wake::Spin, _) => Some("RustDDS has no reader that spins"),
            // Its one way to wait stands in the row of WaitSets, and where it does not matter.
            (Wake::Listener, Role::Ping | Role::Pong) => Some("RustDDS has no listeners: see the row of WaitSets"),
            _ => None,
        }
    };
    if let Some(reason) = refused {
        cannot(reason);
        return Ok(());
    }
    let place = Place::new(task)?;
    let ends = end_of_input();
    let ended = || ends.load(Ordering::Acquire);
    match task.role {
        Role::Ping => {
            let (writer, mut reader) = (place.writer("PING")?, Reader::new(&place, "PONG")?);
            let trips = RoundTrips::new(task);
            let mut message = message(task);
            meet(&writer)?;
            let mut write = |number| send(&writer, &mut message, number);
            write(trips.begin())?;
            while !trips.done() && !ended() {
                reader.turn(|sample| match trips.back(u64::from(sample.number)) {
                    Some(next) => write(next),
                    None => Ok(()),
                })?;
                if trips.stalled() {
                    write(trips.begin())?;
                }
            }
            trips.say();
        }
        Role::Pong => {
            let (writer, mut reader) = (place.writer("PONG")?, Reader::new(&place, "PING")?);
            ready();
            while !ended() {
                reader.turn(|sample| Ok(writer.write(sample, None).map_err(|error| error.to_string())?))?;
            }
            answered();
        }
        Role::Pub => {
            let writer = place.writer("LOAD")?;
            let mut message = message(task);
            meet(&writer)?;
            let write = |number| {
                message.number = u32::try_from(number)?;
                match writer.write(message.clone(), None) {
                    Ok(()) => Ok(true),
                    Err(WriteError::WouldBlock { .. }) => Ok(false),
                    Err(error) => Err(error.to_string().into()),
                }
            };
            // What it does not wait for is lost, and counted.
            publish(task, &ends, write, || {
                let _ = writer.wait_for_acknowledgments(MEETING);
                Ok(())
            })?;
        }
        Role::Sub => {
            let mut reader = Reader::new(&place, "LOAD")?;
            let mut counter = Counter::new(task);
            ready();
            until_silent(&ends, || {
                reader.turn(|sample| {
                    counter.add(u64::from(sample.number), sample.data.len());
                    Ok(())
                })?;
                counter.idle();
                Ok(counter.count())
            })?;
            counter.say();
        }
        Role::Early => {
            let writer = place.writer("LOAD")?;
            let mut message = message(task);
            ready();
            let mut number = 0;
            while !ended() {
                send(&writer, &mut message, number)?;
                number += 1;
                std::thread::sleep(EARLY);
            }
        }
        Role::First => {
            let mut reader = Reader::new(&place, "LOAD")?;
            let mut shouted = false;
            while !ended() {
                reader.turn(|_| {
                    if !std::mem::replace(&mut shouted, true) {
                        first();
                    }
                    Ok(())
                })?;
            }
        }
    }
    // Its own end takes seconds, and nothing is measured any more.
    std::process::exit(0)
}

fn message(task: &Task) -> Message {
    Message { number: 0, data: vec![0x5a; task.size] }
}

fn send(writer: &DataWriter<Message>, message: &mut Message, number: u64) -> Result<(), Wrong> {
    message.number = u32::try_from(number)?;
    Ok(writer.write(message.clone(), None).map_err(|error| error.to_string())?)
}

/// Waits until there is a reader.
fn meet(writer: &DataWriter<Message>) -> Result<(), Wrong> {
    let start = Instant::now();
    while !matches!(writer.try_recv_status(), Some(DataWriterStatus::PublicationMatched { current, .. }) if current.count() > 0) {
        if start.elapsed() > MEETING {
            return Err("the other side was not found".into());
        }
        std::thread::sleep(EARLY);
    }
    std::thread::sleep(CALM);
    Ok(())
}

struct Place {
    participant: DomainParticipant,
    qos: QosPolicies,
}

impl Place {
    fn new(task: &Task) -> Result<Self, Wrong> {
        let participant = DomainParticipant::new(DOMAIN)?;
        let history = match task.role {
            Role::Ping | Role::Pong => History::KeepLast { depth: 1 },
            _ => History::KeepAll,
        };
        let qos = QosPolicyBuilder::new()
            .reliability(Reliability::Reliable { max_blocking_time: rustdds::Duration::from_secs(10) })
            .durability(Durability::Volatile)
            .history(history)
            .build();
        Ok(Self { participant, qos })
    }

    fn topic(&self, name: &str) -> Result<Topic, Wrong> {
        let (name, kind) = (name.to_owned(), "Message".to_owned());
        Ok(self.participant.create_topic(name, kind, &self.qos, TopicKind::NoKey)?)
    }

    fn writer(&self, topic: &str) -> Result<DataWriter<Message>, Wrong> {
        let publisher = self.participant.create_publisher(&self.qos)?;
        Ok(publisher.create_datawriter_no_key_cdr(&self.topic(topic)?, Some(self.qos.clone()))?)
    }
}

struct Reader {
    reader: DataReader<Message>,
    poll: Poll,
    events: Events,
}

impl Reader {
    fn new(place: &Place, topic: &str) -> Result<Self, Wrong> {
        let subscriber = place.participant.create_subscriber(&place.qos)?;
        let mut reader = subscriber.create_datareader_no_key_cdr(&place.topic(topic)?, Some(place.qos.clone()))?;
        let poll = Poll::new()?;
        poll.registry().register(&mut reader, Token(0), Interest::READABLE)?;
        Ok(Self { reader, poll, events: Events::with_capacity(4) })
    }

    /// Waits a little, then takes all that has come.
    fn turn(&mut self, mut act: impl FnMut(Message) -> Result<(), Wrong>) -> Result<(), Wrong> {
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
