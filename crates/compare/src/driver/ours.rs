//! Punctual as a driver, on its public API and with its defaults.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use dds::config::Config;
use dds::qos::{
    DataReaderQos, DataRepresentation, DataWriterQos, Durability, EndpointQos, History, Reliability,
};
use dds::{
    DataReader, DataReaderListener, DataWriter, DdsType, DomainParticipant, DomainParticipantFactory,
    Duration, NO_STATUS, QosKind, ReturnCode, States, StatusMask, Topic, WaitSet,
};

use super::loaned::{self, Bytes};
use super::measure::{
    CALM, Counter, FILLING, LOST, MEETING, Role, RoundTrips, Task, Wake, Wrong, answered, end_of_input,
    first, publish, ready, until_silent,
};

/// The same type as all others have.
#[derive(DdsType, Clone, Default, Debug)]
#[dds(final)]
pub(super) struct Message {
    number: u32,
    data: Vec<u8>,
}

const DOMAIN: u32 = 7;
const TYPE: &str = "Message";
/// How long a sample may wait for others if it may.
const COMPANY: Duration = Duration::from_micros(500);
/// How long its threads look before they sleep if they are to spin: longer than any round trip.
pub(super) const SPIN: std::time::Duration = std::time::Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);
const EARLY: std::time::Duration = std::time::Duration::from_millis(1);
/// Most samples that are taken at once.
pub(super) const AT_ONCE: usize = 256;
/// Samples of the size in question that a history holds, at least: as many as other drivers have room for.
const SAMPLES: usize = 256;

/// Does what it is asked.
pub(crate) fn run(task: &Task) -> Result<(), Wrong> {
    match task.role {
        Role::Ping => ping(task),
        Role::Pong => pong(task),
        Role::Pub => write(task),
        Role::Sub => read(task),
        Role::Early => early(task),
        Role::First => wait_for_first(task),
    }
}

/// The defaults, but for the way that samples take and how they are waited for.
fn config(task: &Task) -> Config {
    let mut config = Config::default();
    config.shared_memory.enabled = task.memory;
    if task.wake == Wake::Spin {
        let spin = if task.memory { &mut config.shared_memory.spin } else { &mut config.network.spin };
        *spin = SPIN;
    }
    config
}

/// A participant, and what its endpoints are made of.
struct Place {
    participant: DomainParticipant,
    batched: bool,
    memory: bool,
    size: usize,
    history: History,
}

impl Place {
    fn new(task: &Task) -> Result<Self, Wrong> {
        let factory = DomainParticipantFactory::get_instance();
        let config = config(task);
        let participant =
            factory.create_participant_with(DOMAIN, QosKind::Default, &config, None, NO_STATUS)?;
        let history = if matches!(task.role, Role::Ping | Role::Pong) {
            History::KeepLast(1)
        } else {
            History::KeepAll
        };
        Ok(Self { participant, batched: task.batched, memory: task.memory, size: task.size, history })
    }

    fn topic(&self, name: &str) -> Result<Topic, Wrong> {
        Ok(self.participant.create_topic::<Message>(name, TYPE, QosKind::Default, None, NO_STATUS)?)
    }

    fn adjust(&self, qos: &mut EndpointQos) {
        qos.reliability = Reliability::RELIABLE;
        qos.reliability.max_blocking_time = PATIENCE;
        qos.durability = Durability::Volatile;
        qos.history = self.history;
        qos.representation = vec![DataRepresentation::XCDR1];
    }

    fn writer(&self, topic: &str) -> Result<DataWriter<Message>, Wrong> {
        let mut qos = DataWriterQos::default();
        self.adjust(&mut qos.endpoint);
        qos.byte_limit = qos.byte_limit.max(self.size.saturating_mul(SAMPLES));
        if self.batched {
            qos.endpoint.latency_budget = COMPANY;
        }
        let publisher = self.participant.create_publisher(QosKind::Default, None, NO_STATUS)?;
        Ok(publisher.create_datawriter(&self.topic(topic)?, QosKind::Specific(qos), None, NO_STATUS)?)
    }

    fn reader(
        &self,
        topic: &str,
        listener: Option<Arc<dyn DataReaderListener<Message>>>,
    ) -> Result<DataReader<Message>, Wrong> {
        let mut qos = DataReaderQos::default();
        self.adjust(&mut qos.endpoint);
        qos.byte_limit = qos.byte_limit.max(self.size.saturating_mul(SAMPLES));
        if self.batched {
            qos.endpoint.latency_budget = Duration::INFINITE;
        }
        let mask = if listener.is_some() { StatusMask::DATA_AVAILABLE } else { NO_STATUS };
        let subscriber = self.participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
        Ok(subscriber.create_datareader(&self.topic(topic)?, QosKind::Specific(qos), listener, mask)?)
    }
}

/// What is done with each sample that is taken.
pub(super) trait Take: Send + 'static {
    /// Takes samples, [`AT_ONCE`] at most, and says how many; `sample` is memory for one.
    fn take(&mut self, reader: &DataReader<Message>, sample: &mut Message) -> Result<usize, Wrong>;
    /// All that was there was taken.
    fn idle(&mut self) {}
}

/// Takes samples, and does something with each.
fn each(
    reader: &DataReader<Message>,
    sample: &mut Message,
    mut act: impl FnMut(&mut Message) -> Result<(), Wrong>,
) -> Result<usize, Wrong> {
    let mut wrong = None;
    let taken = reader.take_each(AT_ONCE, sample, |sample, info| {
        if info.valid_data && wrong.is_none() {
            wrong = act(sample).err();
        }
    })?;
    wrong.map_or(Ok(taken), Err)
}

/// Takes what has come, from a listener or from the main thread.
struct Taker<A>(Mutex<(A, Message)>);

impl<A: Take> Taker<A> {
    fn new(act: A) -> Arc<Self> {
        Arc::new(Self(Mutex::new((act, Message::default()))))
    }

    fn take(&self, reader: &DataReader<Message>) -> Result<(), Wrong> {
        let (act, sample) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Who finds fewer is told of the next ones.
        while act.take(reader, sample)? == AT_ONCE {}
        act.idle();
        Ok(())
    }
}

impl<A: Take> DataReaderListener<Message> for Taker<A> {
    fn on_data_available(&self, reader: &DataReader<Message>) {
        if let Err(wrong) = self.take(reader) {
            eprintln!("punctual: {wrong}");
            std::process::exit(1);
        }
    }
}

/// A taker with its reader, as the task wants it.
fn arrange<A: Take>(
    place: &Place,
    task: &Task,
    topic: &str,
    act: A,
) -> Result<(Arc<Taker<A>>, Taking), Wrong> {
    let taker = Taker::new(act);
    let waits = WaitSet::new();
    // Who spins is the thread of the participant that receives, and it calls the listener.
    let listener =
        (task.wake != Wake::Waitset).then(|| Arc::clone(&taker) as Arc<dyn DataReaderListener<Message>>);
    let calls = listener.is_some();
    let reader = place.reader(topic, listener)?;
    if !calls {
        waits.attach_condition(reader.create_readcondition(States::NOT_READ).into())?;
    }
    Ok((taker, Taking { reader, waits, calls, active: Vec::new() }))
}

/// A reader, and how to wait for it.
struct Taking {
    reader: DataReader<Message>,
    waits: WaitSet,
    /// A listener takes.
    calls: bool,
    active: Vec<dds::Condition>,
}

impl Taking {
    /// Waits a little, and takes what has come unless a listener does.
    fn turn<A: Take>(&mut self, taker: &Taker<A>) -> Result<(), Wrong> {
        match self.waits.wait_into(&mut self.active, LOOK) {
            Err(error) if error.code != ReturnCode::Timeout => return Err(error.into()),
            _ => {}
        }
        if self.calls { Ok(()) } else { taker.take(&self.reader) }
    }
}

/// Waits until both sides know each other, and go through shared memory if they shall.
fn meet(place: &Place, matched: impl Fn() -> bool) -> Result<(), Wrong> {
    let start = Instant::now();
    while !matched() {
        if start.elapsed() > MEETING {
            return Err("the other side was not found".into());
        }
        std::thread::sleep(EARLY);
    }
    std::thread::sleep(CALM);
    let report = place.participant.report();
    if place.memory && !report.iter().any(|line| line.starts_with("shared memory with")) {
        let why = report.into_iter().find(|line| line.starts_with("no shared memory with"));
        return Err(why.unwrap_or_else(|| "there is no shared memory with the other side".into()).into());
    }
    Ok(())
}

/// Answers come back here.
struct Back {
    trips: RoundTrips,
    writer: DataWriter<Message>,
    message: Message,
}

impl Back {
    fn write(&mut self, number: u64) -> Result<(), Wrong> {
        self.message.number = u32::try_from(number)?;
        self.writer.write(&self.message)?;
        Ok(())
    }
}

impl Take for Back {
    fn take(&mut self, reader: &DataReader<Message>, sample: &mut Message) -> Result<usize, Wrong> {
        each(reader, sample, |sample| match self.trips.back(u64::from(sample.number)) {
            Some(next) => self.write(next),
            None => Ok(()),
        })
    }
}

fn ping(task: &Task) -> Result<(), Wrong> {
    let place = Place::new(task)?;
    let writer = place.writer("PING")?;
    let trips = RoundTrips::new(task);
    let message = Message { number: 0, data: vec![FILLING; task.size] };
    let back = Back { trips: trips.clone(), writer: writer.clone(), message };
    let (taker, mut taking) = arrange(&place, task, "PONG", back)?;
    let ends = end_of_input();
    meet(&place, || {
        !writer.get_matched_subscriptions().is_empty() && !taking.reader.get_matched_publications().is_empty()
    })?;
    let begin = |number| taker.0.lock().unwrap_or_else(PoisonError::into_inner).0.write(number);
    if taking.calls {
        trips.wait(&ends, begin)?;
    } else {
        begin(trips.begin())?;
        while !trips.done() && !ends.load(Ordering::Acquire) {
            taking.turn(&taker)?;
            if trips.stalled() {
                begin(trips.begin())?;
            }
        }
    }
    trips.say();
    Ok(())
}

/// Writes back what comes.
struct Echo(DataWriter<Message>);

impl Take for Echo {
    fn take(&mut self, reader: &DataReader<Message>, sample: &mut Message) -> Result<usize, Wrong> {
        each(reader, sample, |sample| {
            self.0.write(sample)?;
            Ok(())
        })
    }
}

fn pong(task: &Task) -> Result<(), Wrong> {
    let place = Place::new(task)?;
    let echo = Echo(place.writer("PONG")?);
    let (taker, mut taking) = arrange(&place, task, "PING", echo)?;
    let ends = end_of_input();
    ready();
    while !ends.load(Ordering::Acquire) {
        if taking.calls {
            std::thread::sleep(LOST / 20);
        } else {
            taking.turn(&taker)?;
        }
    }
    answered();
    Ok(())
}

fn write(task: &Task) -> Result<(), Wrong> {
    let place = Place::new(task)?;
    let writer = place.writer("LOAD")?;
    let ends = end_of_input();
    meet(&place, || !writer.get_matched_subscriptions().is_empty())?;
    let mut message = Message { number: 0, data: vec![FILLING; task.size] };
    let write = |count| {
        message.number = u32::try_from(count)?;
        if task.memory {
            return loaned::write(&writer, message.number, &message.data);
        }
        match writer.write(&message) {
            Ok(_) => Ok(true),
            Err(error) if error.code == ReturnCode::Timeout => Ok(false),
            Err(error) => Err(error.into()),
        }
    };
    publish(task, &ends, write, || {
        writer.flush()?;
        writer.wait_for_acknowledgments(PATIENCE)?;
        Ok(())
    })
}

impl Take for Counter {
    fn take(&mut self, reader: &DataReader<Message>, sample: &mut Message) -> Result<usize, Wrong> {
        each(reader, sample, |sample| {
            self.add(u64::from(sample.number), &sample.data);
            Ok(())
        })
    }

    fn idle(&mut self) {
        Self::idle(self);
    }
}

fn read(task: &Task) -> Result<(), Wrong> {
    let counter = Counter::new(task);
    if task.memory {
        count(task, Bytes::new(counter), |bytes| &bytes.counter)
    } else {
        count(task, counter, |counter| counter)
    }
}

fn count<A: Take>(task: &Task, act: A, counter: impl Fn(&A) -> &Counter) -> Result<(), Wrong> {
    let place = Place::new(task)?;
    let (taker, mut taking) = arrange(&place, task, "LOAD", act)?;
    let ends = end_of_input();
    ready();
    until_silent(&ends, || {
        taking.turn(&taker)?;
        Ok(counter(&taker.0.lock().unwrap_or_else(PoisonError::into_inner).0).count())
    })?;
    counter(&taker.0.lock().unwrap_or_else(PoisonError::into_inner).0).say();
    Ok(())
}

fn early(task: &Task) -> Result<(), Wrong> {
    let place = Place::new(task)?;
    let writer = place.writer("LOAD")?;
    let ends: Arc<AtomicBool> = end_of_input();
    let mut message = Message { number: 0, data: vec![FILLING; task.size] };
    ready();
    while !ends.load(Ordering::Acquire) {
        writer.write(&message)?;
        message.number = message.number.wrapping_add(1);
        std::thread::sleep(EARLY);
    }
    Ok(())
}

/// Says so at the first sample.
struct Shout(bool);

impl Take for Shout {
    fn take(&mut self, reader: &DataReader<Message>, sample: &mut Message) -> Result<usize, Wrong> {
        each(reader, sample, |_| {
            if !std::mem::replace(&mut self.0, true) {
                first();
            }
            Ok(())
        })
    }
}

fn wait_for_first(task: &Task) -> Result<(), Wrong> {
    let place = Place::new(task)?;
    let (taker, mut taking) = arrange(&place, task, "LOAD", Shout(false))?;
    let ends = end_of_input();
    while !ends.load(Ordering::Acquire) {
        taking.turn(&taker)?;
    }
    Ok(())
}
