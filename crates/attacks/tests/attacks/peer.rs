//! A participant made by hand, as little as others need to believe in it: it announces itself and endpoints, and answers.
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use testkit::patience::patiently;

use crate::message::{Message, PUBLICATIONS, SPDP, SUBSCRIPTIONS, read};
use crate::place::Place;
use crate::spdp::{GROUP, Locators, ear, endpoint, participant};

/// How a peer behaves.
#[derive(Clone)]
pub(crate) struct Manners {
    pub(crate) prefix: [u8; 12],
    pub(crate) address: Ipv4Addr,
    /// Where it says that it is, if not where it is.
    pub(crate) says: Option<Locators>,
    /// Time between two announcements.
    pub(crate) period: Duration,
    /// Its answers to a HEARTBEAT want another one.
    pub(crate) wants_more: bool,
    pub(crate) endpoints: Vec<Endpoint>,
}

/// A reliable endpoint of a peer.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) entity: [u8; 4],
    pub(crate) topic: &'static str,
    pub(crate) type_name: &'static str,
    /// TRANSIENT_LOCAL.
    pub(crate) is_lasting: bool,
}

/// A sample that a peer writes.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) payload: Vec<u8>,
    /// It disposes and unregisters the instance that the payload is the key of.
    pub(crate) ends: bool,
}

/// What an endpoint has written, and how much of it each participant has acknowledged.
#[derive(Default)]
struct Written {
    samples: Vec<Sample>,
    acknowledged: BTreeMap<[u8; 12], i64>,
}

/// Shared by those who answer.
#[derive(Default)]
struct Memory {
    known: Mutex<BTreeMap<[u8; 12], Locators>>,
    written: Mutex<BTreeMap<[u8; 4], Written>>,
    sent: AtomicU64,
    stop: AtomicBool,
}

/// Most samples that are repeated at a time.
const REPEATED: usize = 32;

/// It runs until it is dropped.
pub(crate) struct Peer {
    memory: Arc<Memory>,
    threads: Vec<JoinHandle<()>>,
}

/// One who answers.
struct Speaker {
    manners: Manners,
    socket: UdpSocket,
    memory: Arc<Memory>,
    count: u32,
}

impl Peer {
    /// In a place.
    pub(crate) fn new(place: &Place, manners: Manners) -> Self {
        let (address, port) = (manners.address, 7410);
        let (socket, group) = place.on(move || (UdpSocket::bind((address, port)).unwrap(), ear()));
        let memory = Arc::<Memory>::default();
        let mut threads = Vec::new();
        for (ear, announces) in [(group, false), (socket.try_clone().unwrap(), true)] {
            ear.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            let speaker = Speaker {
                manners: manners.clone(),
                socket: socket.try_clone().unwrap(),
                memory: Arc::clone(&memory),
                count: 0,
            };
            threads.push(std::thread::spawn(move || speaker.run(&ear, announces)));
        }
        Self { memory, threads }
    }

    /// Bytes that it has sent, those to the group once.
    pub(crate) fn sent(&self) -> u64 {
        self.memory.sent.load(Ordering::Relaxed)
    }

    /// Writes a sample to all readers of an endpoint, which are told of it within a second.
    pub(crate) fn write(&self, entity: [u8; 4], sample: Sample) {
        self.memory.written.lock().unwrap().entry(entity).or_default().samples.push(sample);
    }

    /// How many samples of an endpoint some reader has acknowledged.
    pub(crate) fn acknowledged(&self, entity: [u8; 4]) -> i64 {
        let written = self.memory.written.lock().unwrap();
        written.get(&entity).and_then(|written| written.acknowledged.values().copied().max()).unwrap_or(0)
    }

    /// Writes a sample, and waits until so many participants have all that the endpoint has written.
    pub(crate) fn deliver(&self, entity: [u8; 4], sample: Sample, participants: usize) {
        self.write(entity, sample);
        patiently(&format!("the acknowledgement of a sample by {participants} participants"), || {
            let written = self.memory.written.lock().unwrap();
            let written = &written[&entity];
            let last = written.samples.len() as i64;
            let have_it = written.acknowledged.values().filter(|acknowledged| **acknowledged >= last);
            (have_it.count() >= participants).then_some(())
        });
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.memory.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl Speaker {
    fn run(mut self, ear: &UdpSocket, announces: bool) {
        let (mut bytes, mut next) = (vec![0; 65_536], Instant::now());
        while !self.memory.stop.load(Ordering::Relaxed) {
            if announces && Instant::now() >= next {
                next = Instant::now() + self.manners.period;
                self.announce();
            }
            if let Ok((length, _)) = ear.recv_from(&mut bytes) {
                self.hear(&bytes[..length]);
            }
        }
    }

    fn send(&self, message: Message, to: SocketAddrV4) {
        let bytes = message.bytes();
        self.memory.sent.fetch_add(u64::try_from(bytes.len()).unwrap(), Ordering::Relaxed);
        // What it cannot send now it says again.
        let _ = self.socket.send_to(&bytes, to);
    }

    fn announce(&mut self) {
        let here = SocketAddrV4::new(self.manners.address, 7410);
        let at = self.manners.says.unwrap_or(Locators { metatraffic: here, user: here });
        let payload = participant(self.manners.prefix, at, Some(100));
        let message = || Message::from(self.manners.prefix).data(SPDP, 1, &payload, false);
        self.send(message(), GROUP);
        let known = self.memory.known.lock().unwrap().clone();
        for (prefix, at) in known {
            let message = Message::from(self.manners.prefix).to(prefix).data(SPDP, 1, &payload, false);
            self.send(message, at.metatraffic);
            self.tell_endpoints(prefix, at.metatraffic);
            self.tell_samples(prefix, at);
        }
    }

    /// What its endpoints have written; who misses some of it asks.
    fn tell_samples(&mut self, prefix: [u8; 12], at: Locators) {
        let lasts: Vec<([u8; 4], usize)> = {
            let written = self.memory.written.lock().unwrap();
            written.iter().map(|(entity, written)| (*entity, written.samples.len())).collect()
        };
        for (entity, last) in lasts {
            self.count += 1;
            let last = i64::try_from(last).unwrap();
            for to in [at.metatraffic, at.user] {
                let message = Message::from(self.manners.prefix).to(prefix);
                self.send(message.heartbeat([entity, [0; 4]], 1, last, self.count, false), to);
            }
        }
    }

    /// Repeats samples from a number on.
    fn repeat(&mut self, prefix: [u8; 12], ids: [[u8; 4]; 2], base: i64, to: SocketAddrV4) {
        let first = usize::try_from(base - 1).unwrap_or(0);
        let (samples, last): (Vec<Sample>, usize) = {
            let mut written = self.memory.written.lock().unwrap();
            let Some(written) = written.get_mut(&ids[0]) else { return };
            let acknowledged = written.acknowledged.entry(prefix).or_default();
            *acknowledged = (base - 1).max(*acknowledged);
            (written.samples.iter().skip(first).take(REPEATED).cloned().collect(), written.samples.len())
        };
        for (number, sample) in (base.max(1)..).zip(&samples) {
            let message = Message::from(self.manners.prefix).to(prefix);
            self.send(message.data(ids, number, &sample.payload, sample.ends), to);
        }
        if !samples.is_empty() {
            self.count += 1;
            let message = Message::from(self.manners.prefix).to(prefix);
            self.send(message.heartbeat(ids, 1, i64::try_from(last).unwrap(), self.count, false), to);
        }
    }

    fn announced(&self, ids: [[u8; 4]; 2]) -> Vec<&Endpoint> {
        let wanted = ids == PUBLICATIONS;
        // The kinds of writers with and without key (RTPS 2.5, table 9.1).
        self.manners.endpoints.iter().filter(|found| matches!(found.entity[3], 2 | 3) == wanted).collect()
    }

    fn tell_endpoints(&mut self, prefix: [u8; 12], to: SocketAddrV4) {
        for ids in [PUBLICATIONS, SUBSCRIPTIONS] {
            let endpoints = self.announced(ids);
            let mut message = Message::from(self.manners.prefix).to(prefix);
            let mut last = 0;
            for Endpoint { entity, topic, type_name, is_lasting } in endpoints {
                last += 1;
                let payload = endpoint(self.manners.prefix, *entity, topic, type_name, *is_lasting, None);
                message = message.data(ids, last, &payload, false);
            }
            self.count += 1;
            self.send(message.heartbeat(ids, 1, last, self.count, false), to);
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        let Some((prefix, submessages)) = read(bytes) else { return };
        if prefix == self.manners.prefix {
            return;
        }
        if let Some(at) = crate::spdp::told(&submessages) {
            self.memory.known.lock().unwrap().insert(prefix, at);
        }
        let Some(at) = self.memory.known.lock().unwrap().get(&prefix).copied() else { return };
        let mut irrelevant = Vec::new();
        for heard in submessages {
            let Some([writer, reader]) = heard.entities() else { continue };
            let is_builtin = writer[3] & 0xc0 == 0xc0;
            match heard.kind {
                0x08 => irrelevant = heard.irrelevant().unwrap_or_default(),
                // What a GAP leaves out is missed: so a participant is asked whether it hears.
                0x07 if is_builtin && !irrelevant.is_empty() => {
                    let (Some(first), Some(last)) = (heard.number(8), heard.number(16)) else { continue };
                    let missing: Vec<i64> = (first..=last.min(first + 255))
                        .filter(|number| !irrelevant.contains(number))
                        .collect();
                    self.count += 1;
                    let message = Message::from(self.manners.prefix).to(prefix);
                    let ids = [writer, reader];
                    if !missing.is_empty() {
                        self.send(message.asks(ids, &missing, self.count), at.metatraffic);
                    }
                }
                0x07 => {
                    let Some(last) = heard.number(16) else { continue };
                    self.count += 1;
                    let to = if is_builtin { at.metatraffic } else { at.user };
                    let mut readers = vec![reader];
                    if reader == [0; 4] {
                        readers = self.readers_of(writer);
                    }
                    let wants_more = self.manners.wants_more;
                    for reader in readers {
                        let message = Message::from(self.manners.prefix).to(prefix);
                        let ids = [writer, reader];
                        self.send(message.acknack(ids, last + 1, 0, self.count, !wants_more), to);
                    }
                }
                0x06 if [PUBLICATIONS[0], SUBSCRIPTIONS[0]].contains(&writer) => {
                    let ids = if writer == PUBLICATIONS[0] { PUBLICATIONS } else { SUBSCRIPTIONS };
                    let last = i64::try_from(self.announced(ids).len()).unwrap();
                    if heard.number(8).is_some_and(|base| base <= last) {
                        self.tell_endpoints(prefix, at.metatraffic);
                    }
                }
                0x06 => {
                    let Some(base) = heard.number(8) else { continue };
                    // Of what decides about the network Punctual hears at its ports of discovery.
                    self.repeat(prefix, [writer, reader], base, at.metatraffic);
                }
                _ => {}
            }
        }
    }

    /// Who is meant by a HEARTBEAT to all readers of a writer.
    fn readers_of(&self, writer: [u8; 4]) -> Vec<[u8; 4]> {
        if writer[3] & 0xc0 == 0xc0 {
            return vec![[writer[0], writer[1], writer[2], writer[3] | 0x05]];
        }
        self.announced(SUBSCRIPTIONS).iter().map(|found| found.entity).collect()
    }
}
