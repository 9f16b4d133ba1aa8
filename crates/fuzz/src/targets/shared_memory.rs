//! Shared memory with a process that lies: what it says when it meets a participant, and what it writes into the memory that it shares.
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use dds::config::SharedMemoryConfig;
use dds::links::{Connection, Connections, Encounters, Got, Links};
use shm::{ChunkMut, Chunks, Doorbell, Said, Scribble};
use wire::discovery::{ParticipantData, SharedMemory};
use wire::{Duration, GuidPrefix, Instant};

/// The participant that is lied to, and the liar, who has the smaller nonce and so has to come.
const OWN: SharedMemory = SharedMemory { host: 1, network_namespace: 2, nonce: 9, user: 0 };
const LIAR: SharedMemory = SharedMemory { nonce: 4, ..OWN };
const PREFIX: GuidPrefix = GuidPrefix([7; 12]);
/// Bytes of each ring.
const RING: usize = 64 << 10;
const CHUNKS: usize = 256 << 10;
const LINE: usize = 64;
const HEAD: usize = 8;

/// A connection whose other side has said this.
struct Talk(RefCell<VecDeque<(Vec<u8>, Vec<OwnedFd>)>>);

/// Where such connections come from; no other participant listens.
#[derive(Default)]
struct Comers(RefCell<VecDeque<Talk>>);

impl Connection for Talk {
    fn user(&self) -> io::Result<u32> {
        Ok(OWN.user)
    }

    fn leaves_few(&self) -> bool {
        false
    }

    fn say(&self, _: &[u8], _: &[BorrowedFd<'_>]) -> io::Result<()> {
        Ok(())
    }

    fn hear(&self, buffer: &mut [u8]) -> io::Result<Said> {
        let Some((words, files)) = self.0.borrow_mut().pop_front() else { return Ok(Said::Nothing) };
        Ok(match buffer.get_mut(..words.len()) {
            Some(to) if !words.is_empty() => {
                to.copy_from_slice(&words);
                Said::Words(words.len(), files)
            }
            _ => Said::Gone,
        })
    }
}

impl Connections for Comers {
    type Connection = Talk;

    fn connect(&self, _: &[u8]) -> io::Result<Talk> {
        Err(io::ErrorKind::ConnectionRefused.into())
    }

    fn accept(&self) -> io::Result<Option<Talk>> {
        Ok(self.0.borrow_mut().pop_front())
    }
}

/// The participant, and the memory of the liar.
struct Scene {
    links: Arc<Links>,
    encounters: Encounters<Comers>,
    comers: Comers,
    segment: Scribble,
    other: Scribble,
    doorbell: Doorbell,
    chunks: Arc<Chunks>,
    chunks_file: OwnedFd,
    now: Instant,
    link: Option<NonZeroU32>,
    /// Where the next message goes.
    at: usize,
    buffer: Vec<u8>,
}

impl Scene {
    fn new() -> Option<Self> {
        let config =
            SharedMemoryConfig { ring: RING as u32, loans: CHUNKS as u32, ..SharedMemoryConfig::default() };
        let links = Links::new(OWN, &config, Box::new(|| {}));
        links.matched(&ParticipantData { shared_memory: Some(LIAR), ..ParticipantData::new(PREFIX) });
        links.begin(Box::new(|| {})).ok()?;
        let (chunks, chunks_file) = Chunks::new(LIAR.nonce, CHUNKS).ok()?;
        Some(Self {
            encounters: Encounters::new(Arc::clone(&links)),
            links,
            comers: Comers::default(),
            segment: Scribble::new(LIAR.nonce, RING).ok()?,
            other: Scribble::new(LIAR.nonce + 1, RING).ok()?,
            doorbell: Doorbell::new().ok()?,
            chunks,
            chunks_file,
            now: Instant::START.after(Duration::from_secs(1)),
            link: None,
            at: 0,
            buffer: vec![0; 65_536],
        })
    }

    /// A process connects, and says this.
    fn come(&mut self, words: &[u8], files: Vec<OwnedFd>) {
        let said = VecDeque::from([(words.to_vec(), files)]);
        self.comers.0.borrow_mut().push_back(Talk(RefCell::new(said)));
        // It is accepted, and then heard.
        self.step();
        self.step();
    }

    fn step(&mut self) {
        self.now = self.now.after(Duration::from_millis(1));
        let told = RefCell::new(self.link);
        self.encounters.step(self.now, &self.comers, |_| true, &|prefix, link| {
            assert_eq!(prefix, PREFIX, "a link with somebody else");
            *told.borrow_mut() = link;
        });
        self.link = told.into_inner();
    }

    /// The descriptors that are asked for, by their numbers.
    fn files(&self, wanted: &[u8]) -> Vec<OwnedFd> {
        let all = [self.segment.file(), self.doorbell.file(), self.chunks_file.as_fd(), self.other.file()];
        let files = wanted.iter().filter_map(|number| all.get(usize::from(*number) % all.len()));
        files.filter_map(|file| file.try_clone_to_owned().ok()).collect()
    }

    /// A message in the liar's ring.
    fn say(&mut self, message: &[u8]) {
        let span = (HEAD + message.len()).next_multiple_of(LINE);
        if self.at + span + LINE > RING {
            self.segment.put(Scribble::RING, 0);
            self.segment.put(Scribble::RING + self.at, 2 << 32);
            self.at = 0;
        }
        self.segment.put(Scribble::RING + self.at + span, 0);
        self.segment.put_bytes(Scribble::RING + self.at + HEAD, message);
        self.segment.put(Scribble::RING + self.at, 1 << 32 | message.len() as u64);
        self.at += span;
    }

    /// Reads all that there is: nothing in the name of another participant, and no more than fits.
    fn read(&mut self) {
        for count in 0.. {
            assert!(count <= 2 * RING / LINE, "it reads without end");
            match self.links.receive(&mut self.buffer) {
                Some(Got::Copied(len)) => check(self.buffer.get(..len)),
                Some(Got::Kept(kept, len)) => check(kept.get(..len)),
                None if self.links.is_ready() && self.links.is_used() => {}
                None => break,
            }
        }
    }
}

fn check(datagram: Option<&[u8]>) {
    let name = datagram.and_then(|datagram| datagram.get(8..20));
    assert!(name == Some(&PREFIX.0), "a datagram in the name of somebody else");
}

fn greeting() -> Vec<u8> {
    [*b"PNLK\x02\0\0\0", LIAR.nonce.to_le_bytes(), OWN.nonce.to_le_bytes()].concat()
}

/// Words and messages in the ring of a liar. An input is a list of things that it does, each a byte that says which, and what goes with it.
pub(super) fn ring() -> impl FnMut(&[u8]) {
    let mut scene: Option<Scene> = None;
    move |bytes| {
        let is_linked = scene.as_ref().is_some_and(|scene| scene.link.is_some() && scene.links.is_used());
        if !is_linked {
            scene = Scene::new();
            if let Some(scene) = &mut scene {
                let files = scene.files(&[0, 1, 2]);
                scene.come(&greeting(), files);
                assert!(scene.link.is_some(), "{:?}", scene.links.report());
            }
        }
        let Some(scene) = &mut scene else { return };
        let mut chunks: Vec<ChunkMut> = Vec::new();
        let mut rest = bytes;
        while let Some((what, after)) = rest.split_first() {
            let take = |len: usize| after.split_at(len.min(after.len()));
            let word = |bytes: &[u8]| {
                let mut word = [0; 8];
                word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                u64::from_le_bytes(word)
            };
            let (taken, then) = match what % 8 {
                // A word of the segment, anywhere; how far it has read; a head.
                0 => take(10),
                1 | 2 => take(8),
                // A message, and memory that was written and not published.
                _ => {
                    let (len, _) = take(2);
                    let len = word(len) as usize % 8_000;
                    take(2 + len)
                }
            };
            match what % 8 {
                0 => {
                    let (at, value) = taken.split_at(2.min(taken.len()));
                    scene.segment.put(word(at) as usize * 8, word(value));
                }
                1 => drop(scene.segment.put(64, word(taken))),
                2 => drop(scene.segment.put(Scribble::RING + scene.at, word(taken))),
                3 if chunks.len() < 8 => {
                    let octets = taken.get(2..).unwrap_or_default();
                    if let Some(mut chunk) = scene.chunks.lend(octets.len()) {
                        chunk.copy_from_slice(octets);
                        chunks.push(chunk);
                    }
                }
                _ => scene.say(taken.get(2..).unwrap_or_default()),
            }
            rest = then;
        }
        // Published, so that messages may name them: their numbers are counted from 1.
        let chunks: Vec<_> = chunks.into_iter().map(ChunkMut::freeze).collect();
        scene.read();
        if let Some(link) = scene.link {
            // More than fits: then it is looked how far the other side has read.
            for _ in 0..2 * RING / 4_096 {
                let _ = scene.links.copy(link, &[7; 4_000]);
            }
        }
        scene.step();
        drop(chunks);
    }
}

/// What a process says when it comes: the numbers of descriptors, how many of them, and the words.
pub(super) fn meeting() -> impl FnMut(&[u8]) {
    let mut scene: Option<Scene> = None;
    move |bytes| {
        if scene.as_ref().is_none_or(|scene| scene.link.is_some()) {
            scene = Scene::new();
        }
        let Some(scene) = &mut scene else { return };
        let (count, rest) = bytes.split_first().unwrap_or((&0, &[]));
        let (wanted, words) = rest.split_at(usize::from(*count % 5).min(rest.len()));
        let files = scene.files(wanted);
        scene.come(words, files);
        let kinds: Vec<u8> = wanted.iter().map(|number| number % 4).collect();
        let head_is_right = words.get(..5) == greeting().get(..5) && words.get(8..) == greeting().get(8..);
        let is_right = words.len() == greeting().len() && head_is_right && kinds == [0, 1, 2];
        assert_eq!(scene.link.is_some(), is_right, "{words:?} with {kinds:?}");
        // Who said nothing useful is not kept.
        scene.now = scene.now.after(Duration::from_secs(3));
        scene.step();
        let kept = scene.encounters.connections().count();
        assert!(kept == usize::from(is_right), "{kept} connections are kept");
    }
}

/// An honest message, one that names a sample elsewhere, and words.
pub(super) fn ring_seeds() -> Vec<Vec<u8>> {
    let message = |rest: &[u8]| [b"RTPS\x02\x05\x01\xfe", PREFIX.0.as_slice(), rest].concat();
    let said = |message: &[u8]| {
        let len = message.len() as u16;
        [&[4], &len.to_le_bytes()[..], message].concat()
    };
    let honest = said(&message(&[9, 1, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8]));
    let named = |number: u64| {
        let place = [20_u32, 1_000, 0, 2_000];
        let place: Vec<u8> = place.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let from = [&number.to_ne_bytes()[..], &[0; 8]].concat();
        [b"PNPL\x01\0\0\0", place.as_slice(), &from, &message(b"")].concat()
    };
    let lent = [&[3], &2_000_u16.to_le_bytes()[..], &[5; 2_000]].concat();
    vec![
        honest.repeat(3),
        [lent, said(&named(1))].concat(),
        [honest.clone(), vec![1, 64, 0, 0, 0, 0, 0, 0, 0]].concat(),
        [honest.clone(), vec![2, 44, 0, 0, 0, 1, 0, 0, 0], honest.clone()].concat(),
        [vec![0, 0, 2, 1, 0, 0, 0, 2, 0, 0, 0], honest].concat(),
    ]
}

/// As it should be, and with other descriptors.
pub(super) fn meeting_seeds() -> Vec<Vec<u8>> {
    let with = |files: &[u8]| [&[files.len() as u8], files, &greeting()].concat();
    vec![with(&[0, 1, 2]), with(&[0, 1, 3]), with(&[3, 1, 2]), with(&[]), with(&[2, 2, 2, 2])]
}
