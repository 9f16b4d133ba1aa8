//! iceoryx2 as a driver: samples are loaned and written in place, a notification wakes the reader, or it spins.
#[allow(dead_code, reason = "drivers use different parts of it")]
mod measure;
mod roles;

use std::borrow::Cow;
use std::process::ExitCode;

use iceoryx2::port::backpressure_strategy::BackpressureStrategy;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::event::PortFactory as Events;
use iceoryx2::service::port_factory::publish_subscribe::PortFactory as Samples;

use measure::{FILLING, Role, Task, Wake, Wrong};
use roles::LOOK;

/// What it leaves after a process was killed goes with this folder.
const PLACE: &[u8] = b"/dev/shm/iceoryx2";
/// Samples that wait for a reader at most.
const WAITING: usize = 256;

type Ipc = ipc::Service;

fn main() -> ExitCode {
    set_log_level(LogLevel::Error);
    roles::main::<Peer>()
}

struct Peer {
    node: Node<Ipc>,
    size: usize,
    spins: bool,
}

impl Peer {
    fn samples(&self, topic: &str) -> Result<Samples<Ipc, [u8], ()>, Wrong> {
        Ok(self
            .node
            .service_builder(&topic.try_into()?)
            .publish_subscribe::<[u8]>()
            .enable_safe_overflow(false)
            .subscriber_max_buffer_size(WAITING)
            .open_or_create()?)
    }

    fn events(&self, topic: &str) -> Result<Option<Events<Ipc>>, Wrong> {
        if self.spins {
            return Ok(None);
        }
        Ok(Some(self.node.service_builder(&topic.try_into()?).event().open_or_create()?))
    }
}

impl roles::Peer for Peer {
    type Writer = Writer;
    type Reader = Reader;

    fn refusal(task: &Task) -> Option<&'static str> {
        let starts = matches!(task.role, Role::Early | Role::First);
        (!task.memory && !starts).then_some("iceoryx2 is for shared memory")
    }

    fn new(task: &Task) -> Result<Self, Wrong> {
        let mut config = Config::default();
        config.global.set_root_path(&Path::new(PLACE)?);
        let node = NodeBuilder::new().config(&config).create::<Ipc>()?;
        Ok(Self { node, size: task.size, spins: task.wake == Wake::Spin })
    }

    fn writer(&self, topic: &str) -> Result<Writer, Wrong> {
        let samples = self.samples(topic)?;
        let publisher = samples
            .publisher_builder()
            .initial_max_slice_len(self.size)
            .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
            .create()?;
        let notifier = self.events(topic)?.map(|events| events.notifier_builder().create()).transpose()?;
        Ok(Writer { publisher, samples, notifier, data: vec![FILLING; self.size] })
    }

    fn reader(&self, topic: &str) -> Result<Reader, Wrong> {
        let listener = self.events(topic)?.map(|events| events.listener_builder().create()).transpose()?;
        Ok(Reader { subscriber: self.samples(topic)?.subscriber_builder().create()?, listener })
    }
}

struct Writer {
    publisher: Publisher<Ipc, [u8], ()>,
    samples: Samples<Ipc, [u8], ()>,
    notifier: Option<Notifier<Ipc>>,
    data: Vec<u8>,
}

impl Writer {
    fn send(&self, data: &[u8]) -> Result<(), Wrong> {
        self.publisher.loan_slice_uninit(data.len())?.write_from_slice(data).send()?;
        if let Some(notifier) = &self.notifier {
            notifier.notify()?;
        }
        Ok(())
    }
}

impl roles::Writer for Writer {
    type Sample = Sample;

    fn matched(&mut self) -> Result<bool, Wrong> {
        Ok(self.samples.dynamic_config().number_of_subscribers() > 0)
    }

    fn write(&mut self, number: u64) -> Result<bool, Wrong> {
        if let Some(place) = self.data.first_chunk_mut() {
            *place = number.to_le_bytes();
        }
        self.send(&self.data).map(|()| true)
    }

    fn give_back(&mut self, sample: Sample) -> Result<(), Wrong> {
        self.send(sample.0.payload())
    }

    fn settle(&mut self) -> Result<(), Wrong> {
        Ok(())
    }
}

struct Reader {
    subscriber: Subscriber<Ipc, [u8], ()>,
    listener: Option<Listener<Ipc>>,
}

struct Sample(iceoryx2::sample::Sample<Ipc, [u8], ()>);

impl roles::Sample for Sample {
    fn number(&self) -> u64 {
        self.0.payload().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.0.payload())
    }
}

impl roles::Reader for Reader {
    type Sample = Sample;

    fn turn(&mut self, act: &mut dyn FnMut(Sample) -> Result<(), Wrong>) -> Result<(), Wrong> {
        if let Some(listener) = &self.listener {
            listener.timed_wait(|_| {}, LOOK)?;
        }
        while let Some(sample) = self.subscriber.receive()? {
            act(Sample(sample))?;
        }
        Ok(())
    }
}
