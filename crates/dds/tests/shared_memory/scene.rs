//! A participant, and whoever meets it: played by a test itself, word by word as docs/wire.md says.
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex};

use dds::Bytes;
use dds::config::Config;
use dds::driver::Driver;
use dds::host::{Addresses, Engine, Host};
use rtps::writer::{Body, Change, MatchedReader, Writer, WriterConfig};
use rtps::{Path, Transmit};
use shm::{
    Bell, ChunkWindow, Chunks, Consumer, Doorbell, Producer, Said, Segment, Talk, Window, join, ready,
};
use wire::discovery::{ParticipantData, SharedMemory};
use wire::message::PayloadKind;
use wire::{EntityId, EntityKind, Guid, GuidPrefix, Now};

use crate::player::sharing;
use testkit::patience::{LIMIT, patiently_or};
/// The other participant, and its nonce: the smaller one, so that it has to come.
pub(crate) const PREFIX: GuidPrefix = GuidPrefix([9; 12]);
pub(crate) const NONCE: u64 = 0;
pub(crate) const RING: usize = 1 << 20;
pub(crate) const CHUNKS: usize = 1 << 20;

/// Notes what it is told.
#[derive(Default)]
pub(crate) struct Witness {
    pub(crate) links: Mutex<Vec<Option<NonZeroU32>>>,
    pub(crate) datagrams: Mutex<Vec<Vec<u8>>>,
    /// Of datagrams only their number is kept.
    pub(crate) counts_only: AtomicBool,
    pub(crate) count: AtomicU64,
    /// A thread that waited has received by itself.
    pub(crate) led: AtomicBool,
    pub(crate) happened: Condvar,
}

impl Engine for Witness {
    fn on_datagram(&self, from: SocketAddr, datagram: &[u8]) {
        assert!(from.ip().is_unspecified(), "discovery would believe it");
        self.count.fetch_add(1, SeqCst);
        let is_led = std::thread::current().name() != Some("dds-rings");
        self.led.fetch_or(is_led, SeqCst);
        if self.counts_only.load(SeqCst) {
            return;
        }
        self.datagrams.lock().unwrap().push(datagram.to_vec());
        self.happened.notify_all();
    }

    fn on_timeout(&self) {}

    fn on_network(&self, _: &Addresses) {}

    fn on_link(&self, participant: GuidPrefix, link: Option<NonZeroU32>) {
        assert_eq!(participant, PREFIX);
        self.links.lock().unwrap().push(link);
        self.happened.notify_all();
    }
}

impl Witness {
    /// Waits until it was told of links that often, and gives the last.
    pub(crate) fn links(&self, count: usize) -> Option<NonZeroU32> {
        let told = self.links.lock().unwrap();
        let (told, waited) =
            self.happened.wait_timeout_while(told, LIMIT, |told| told.len() < count).unwrap();
        assert!(!waited.timed_out(), "told of {told:?}");
        assert_eq!(told.len(), count);
        *told.last().unwrap()
    }

    pub(crate) fn datagrams(&self, count: usize) -> Vec<Vec<u8>> {
        let got = self.datagrams.lock().unwrap();
        let (got, waited) = self.happened.wait_timeout_while(got, LIMIT, |got| got.len() < count).unwrap();
        assert!(!waited.timed_out(), "{} datagrams came", got.len());
        got.clone()
    }
}

/// A participant's host, and whoever meets it.
pub(crate) struct Scene {
    pub(crate) host: Arc<Driver>,
    pub(crate) witness: Arc<Witness>,
    pub(crate) own: SharedMemory,
}

/// The other end of a link.
pub(crate) struct Other {
    pub(crate) talk: Talk,
    pub(crate) producer: Producer,
    pub(crate) consumer: Consumer,
    pub(crate) bell: Bell,
    pub(crate) chunks: Arc<Chunks>,
    pub(crate) theirs: ChunkWindow,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let config = Config {
            shared_memory: dds::config::SharedMemoryConfig { ring: RING as u32, ..sharing().shared_memory },
            ..sharing()
        };
        let host = Driver::open(0, &config).unwrap();
        let witness = Arc::<Witness>::default();
        host.start(Arc::clone(&witness) as Arc<dyn Engine>).unwrap();
        let own = host.addresses().shared_memory.unwrap();
        Self { host, witness, own }
    }

    /// Discovery finds the other participant.
    pub(crate) fn find(&self) {
        let memory = SharedMemory { nonce: NONCE, ..self.own };
        self.host.matched(&ParticipantData { shared_memory: Some(memory), ..ParticipantData::new(PREFIX) });
    }

    /// Discovery finds a participant that never comes.
    pub(crate) fn find_another(&self) {
        let memory = SharedMemory { nonce: NONCE + 7, ..self.own };
        let data = ParticipantData::new(GuidPrefix([7; 12]));
        self.host.matched(&ParticipantData { shared_memory: Some(memory), ..data });
    }

    /// Connects, as the other participant does. Nobody listens before somebody was found.
    pub(crate) fn connect(&self) -> Talk {
        patiently_or(|| "nobody listens".to_owned(), || self.listens())
    }

    /// A connection, if somebody listens.
    pub(crate) fn listens(&self) -> Option<Talk> {
        Talk::new(format!("punctual-{:016x}", self.own.nonce).as_bytes()).ok()
    }

    pub(crate) fn greeting(&self, nonce: u64) -> Vec<u8> {
        let head = *b"PNLK\x02\0\0\0";
        [head, nonce.to_le_bytes(), self.own.nonce.to_le_bytes()].concat()
    }

    /// Gives memory and gets memory; `None` if the participant hangs up.
    pub(crate) fn exchange(&self, greeting: &[u8], nonce: u64) -> Option<Other> {
        let talk = self.connect();
        let (segment, doorbell) = (Segment::new(nonce, RING).unwrap(), Doorbell::new().unwrap());
        let (chunks, file) = Chunks::new(nonce, CHUNKS).unwrap();
        talk.say(greeting, &[segment.file(), doorbell.file(), file.as_fd()]).unwrap();
        let Said::Words(24, files) = hear(&talk) else { return None };
        let theirs = ChunkWindow::open(files[2].as_fd(), self.own.nonce).unwrap();
        let window = Window::open(files[0].as_fd(), self.own.nonce).unwrap();
        let bell = Bell::open(files[1].as_fd()).unwrap();
        let (producer, consumer) = join(segment, window);
        Some(Other { talk, producer, consumer, bell, chunks, theirs })
    }

    /// Tries until the participant knows the other one.
    pub(crate) fn link(&self) -> (Other, NonZeroU32) {
        self.find();
        let other = self.meet();
        (other, self.witness.links(1).unwrap())
    }

    /// Comes again until it is answered.
    pub(crate) fn meet(&self) -> Other {
        patiently_or(|| "it never answered".to_owned(), || self.exchange(&self.greeting(NONCE), NONCE))
    }

    pub(crate) fn reports(&self, what: &str) -> bool {
        self.host.report().iter().any(|line| line.contains(what))
    }

    /// Waits until the report says so.
    pub(crate) fn expect(&self, what: &str) {
        patiently_or(|| format!("{what:?}: {:#?}", self.host.report()), || self.reports(what).then_some(()));
    }
}

pub(crate) fn hear(talk: &Talk) -> Said {
    ready(&[talk.as_fd()], Some(LIMIT)).unwrap();
    talk.hear(&mut [0; 32]).unwrap()
}

/// A datagram with so many bytes of payload.
pub(crate) fn transmit(len: usize) -> Transmit<Bytes> {
    sending(Body::Copy(&vec![7; len]))
}

/// A datagram with a payload that stays where it is.
pub(crate) fn kept(payload: Bytes) -> Transmit<Bytes> {
    sending(Body::Kept(payload))
}

pub(crate) fn sending(body: Body<'_, Bytes>) -> Transmit<Bytes> {
    let guid = |prefix: u8, kind| Guid::new(GuidPrefix([prefix; 12]), EntityId::user(1, kind));
    let mut writer = Writer::new(WriterConfig::new(guid(1, EntityKind::WriterNoKey), false));
    let now = Now::default();
    let reader = MatchedReader {
        guid: guid(2, EntityKind::ReaderNoKey),
        reliable: false,
        wants_history: false,
        paths: vec![Path::routed("127.0.0.1:1".parse().unwrap(), Path::MAX_DATAGRAM)],
        direct: None,
        receive_buffer: None,
    };
    writer.match_reader(now, reader);
    let change = Change { kind: PayloadKind::Data, inline_qos: None, source_timestamp: None };
    writer.write(now, &change, body).unwrap();
    let mut transmit = Transmit::new();
    assert!(writer.poll_transmit(now, &mut transmit));
    transmit
}

/// A message in the name of a participant.
pub(crate) fn message(prefix: GuidPrefix, rest: &[u8]) -> Vec<u8> {
    [b"RTPS\x02\x05\x01\xfe", prefix.0.as_slice(), rest].concat()
}

pub(crate) fn send(other: &mut Other, message: &[u8]) {
    other.producer.send(message.len(), std::iter::once(message)).unwrap();
    other.bell.ring();
}
