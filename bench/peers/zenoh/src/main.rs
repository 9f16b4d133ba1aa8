//! zenoh as a driver: two peers with a TCP connection, whose address both know, so that a start has no scouting in it. Through shared memory
//! the connection has only the places of samples, which are loaned and written in place.
#[allow(dead_code, reason = "drivers use different parts of it")]
mod measure;
mod roles;

use std::borrow::Cow;
use std::process::ExitCode;

use zenoh::bytes::ZBytes;
use zenoh::handlers::FifoChannelHandler;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::shm::{BlockOn, GarbageCollect, PosixShmProviderBackend, ShmProvider, ShmProviderBuilder};
use zenoh::{Config, Session, Wait as _};

use measure::{FILLING, Role, Task, Wake, Wrong};
use roles::LOOK;

/// Samples that wait for a reader in shared memory, at most.
const WAITING: usize = 256;
const ADDRESS: &str = r#"["tcp/127.0.0.1:7447"]"#;

fn main() -> ExitCode {
    roles::main::<Peer>()
}

struct Peer {
    session: Session,
    size: usize,
    batched: bool,
    memory: bool,
}

impl roles::Peer for Peer {
    type Writer = Writer;
    type Reader = Reader;

    fn refusal(task: &Task) -> Option<&'static str> {
        match (task.wake, task.role) {
            (Wake::Spin, _) => Some("zenoh has no reader that spins"),
            (Wake::Listener, Role::Ping | Role::Pong) => {
                Some("this driver uses channels, not callbacks: see the row of WaitSets")
            }
            _ => None,
        }
    }

    fn new(task: &Task) -> Result<Self, Wrong> {
        let mut config = Config::default();
        config.insert_json5("scouting/multicast/enabled", "false")?;
        config.insert_json5("transport/shared_memory/enabled", if task.memory { "true" } else { "false" })?;
        // The side that is started first listens.
        if matches!(task.role, Role::Pong | Role::Sub | Role::Early) {
            config.insert_json5("listen/endpoints", ADDRESS)?;
        } else {
            config.insert_json5("listen/endpoints", "[]")?;
            config.insert_json5("connect/endpoints", ADDRESS)?;
        }
        Ok(Self { session: zenoh::open(config).wait()?, size: task.size, batched: task.batched, memory: task.memory })
    }

    fn writer(&self, topic: &str) -> Result<Writer, Wrong> {
        let publisher = self
            .session
            .declare_publisher(topic.to_owned())
            .congestion_control(CongestionControl::Block)
            .express(!self.batched)
            .wait()?;
        let places = self.size.saturating_mul(WAITING).next_power_of_two();
        let memory =
            self.memory.then(|| ShmProviderBuilder::default_backend(places).wait()).transpose()?;
        Ok(Writer { publisher, memory, data: vec![FILLING; self.size] })
    }

    fn reader(&self, topic: &str) -> Result<Reader, Wrong> {
        Ok(Reader(self.session.declare_subscriber(topic.to_owned()).wait()?))
    }
}

struct Writer {
    publisher: Publisher<'static>,
    memory: Option<ShmProvider<PosixShmProviderBackend>>,
    data: Vec<u8>,
}

impl roles::Writer for Writer {
    type Sample = Sample;

    fn matched(&mut self) -> Result<bool, Wrong> {
        Ok(self.publisher.matching_status().wait()?.matching())
    }

    fn write(&mut self, number: u64) -> Result<bool, Wrong> {
        if let Some(place) = self.data.first_chunk_mut() {
            *place = number.to_le_bytes();
        }
        let Some(memory) = &self.memory else {
            self.publisher.put(self.data.as_slice()).wait()?;
            return Ok(true);
        };
        let mut sample = memory.alloc(self.data.len()).with_policy::<BlockOn<GarbageCollect>>().wait()?;
        sample.copy_from_slice(&self.data);
        self.publisher.put(sample).wait()?;
        Ok(true)
    }

    fn give_back(&mut self, sample: Sample) -> Result<(), Wrong> {
        Ok(self.publisher.put(sample.0).wait()?)
    }

    fn settle(&mut self) -> Result<(), Wrong> {
        // There are no acknowledgements; what is under way is waited for by the side that reads.
        Ok(())
    }
}

struct Reader(Subscriber<FifoChannelHandler<zenoh::sample::Sample>>);

struct Sample(ZBytes);

impl roles::Sample for Sample {
    fn number(&self) -> u64 {
        self.0.to_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.0.to_bytes()
    }
}

impl roles::Reader for Reader {
    type Sample = Sample;

    fn turn(&mut self, act: &mut dyn FnMut(Sample) -> Result<(), Wrong>) -> Result<(), Wrong> {
        let mut next = self.0.recv_timeout(LOOK)?;
        while let Some(sample) = next {
            act(Sample(sample.payload().clone()))?;
            next = self.0.try_recv()?;
        }
        Ok(())
    }
}
