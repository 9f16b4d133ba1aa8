//! Events by DDS: with components at both ends, or with a reader for each consumer.
use std::sync::{Arc, Mutex, PoisonError};

use container::ByDds;
use dds::config::Config;
use dds::qos::{DataReaderQos, DataWriterQos, Durability, EndpointQos, History, Reliability};
use dds::{
    DataWriter, DomainParticipant, DomainParticipantFactory, Duration, NO_STATUS, QosKind, ReturnCode,
};
use udp::monotonic;

use super::Order;
use super::board::Board;
use super::carriers::{Kept, Out, Ported};
use super::load::{Load, Tap, calls, server, takers};
use crate::driver::measure::{Wake, Wrong};
use crate::driver::ours::SPIN;

const DOMAIN: u32 = 7;
const TOPIC: &str = "LOAD";
/// How long a sample may wait for others if as many are written as go.
const COMPANY: Duration = Duration::from_micros(500);
const PATIENCE: Duration = Duration::from_secs(10);
/// Most samples that are taken at once.
const AT_ONCE: usize = 256;
/// Samples that a history holds, at least.
const SAMPLES: usize = 1_024;

fn participant(order: &Order) -> Result<DomainParticipant, Wrong> {
    let factory = DomainParticipantFactory::get_instance();
    let mut config = Config::default();
    if order.task.wake == Wake::Spin {
        config.shared_memory.spin = SPIN;
    }
    Ok(factory.create_participant_with(DOMAIN, QosKind::Default, &config, None, NO_STATUS)?)
}

fn adjust(qos: &mut EndpointQos) {
    qos.reliability = Reliability::RELIABLE;
    qos.reliability.max_blocking_time = PATIENCE;
    qos.durability = Durability::Volatile;
    qos.history = History::KeepAll;
}

fn writer_qos(order: &Order) -> DataWriterQos {
    let mut qos = DataWriterQos::default();
    adjust(&mut qos.endpoint);
    qos.byte_limit = qos.byte_limit.max(order.task.size.saturating_mul(SAMPLES));
    if !order.follows {
        qos.endpoint.latency_budget = COMPANY;
    }
    qos
}

fn reader_qos(order: &Order) -> DataReaderQos {
    let mut qos = DataReaderQos::default();
    adjust(&mut qos.endpoint);
    qos.byte_limit = qos.byte_limit.max(order.task.size.saturating_mul(SAMPLES));
    if !order.follows {
        qos.endpoint.latency_budget = Duration::INFINITE;
    }
    qos
}

/// The publishing end.
pub(super) fn publishing(has_ports: bool, order: &Order) -> Result<Box<dyn Out>, Wrong> {
    let participant = participant(order)?;
    if !has_ports {
        let writer = participant.writer::<Load>(TOPIC).qos(writer_qos(order)).create()?;
        return Ok(Box::new(Bare { writer, _participant: participant }));
    }
    let mut server = server()?;
    server.install::<Tap>("box", "tap", &[])?;
    let mut service = ByDds::<Load>::new(&participant, TOPIC);
    service.writer = Some(writer_qos(order));
    server.connect("x", &["tap.out"], &[], &service)?;
    server.launch()?;
    let tap = server.entry::<Tap>("tap").ok_or("a component is missing")?;
    Ok(Box::new(Ported { tap, _kept: Box::new((server, participant)) }))
}

/// The consuming end. Apart, each consumer has a participant; otherwise there is one for all of them, and the consumers of components have one reader.
pub(super) fn consuming(
    has_ports: bool,
    is_apart: bool,
    order: &Order,
    board: &Arc<Board>,
) -> Result<Kept, Wrong> {
    let count = if is_apart { order.subscribers } else { 1 };
    let participants: Vec<DomainParticipant> =
        (0..count).map(|_| participant(order)).collect::<Result<_, _>>()?;
    if !has_ports {
        let mut readers = Vec::new();
        for (index, call) in calls(order.subscribers, board).into_iter().enumerate() {
            let participant = participants.get(index % count).ok_or("a participant is missing")?;
            let sample = Mutex::new(Load::default());
            let reader = participant.reader::<Load>(TOPIC).qos(reader_qos(order));
            let reader = reader.on_data_available(move |reader| {
                let mut sample = sample.lock().unwrap_or_else(PoisonError::into_inner);
                let taken = |sample: &mut Load| {
                    reader.take_each(AT_ONCE, sample, |sample, info| {
                        if info.valid_data {
                            call(sample.seen());
                        }
                    })
                };
                while taken(&mut sample).is_ok_and(|count| count == AT_ONCE) {}
            });
            readers.push(reader.create()?);
        }
        return Ok(Box::new((readers, participants)));
    }
    let mut server = server()?;
    let ports = takers(&mut server, order.subscribers, board)?;
    let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
    for (number, (participant, ports)) in
        participants.iter().zip(ports.chunks(ports.len() / count)).enumerate()
    {
        let mut service = ByDds::<Load>::new(participant, TOPIC);
        service.reader = Some(reader_qos(order));
        server.connect(&format!("x{number}"), &[], ports, &service)?;
    }
    server.launch()?;
    Ok(Box::new((server, participants)))
}

/// A writer without a component.
struct Bare {
    writer: DataWriter<Load>,
    _participant: DomainParticipant,
}

impl Out for Bare {
    fn push(&mut self, load: &mut Load) -> Result<bool, Wrong> {
        load.stamp = monotonic();
        match self.writer.write(load) {
            Ok(_) => Ok(true),
            Err(error) if error.code == ReturnCode::Timeout => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
