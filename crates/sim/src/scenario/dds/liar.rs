//! A process of the machine that says what it likes: while it meets a participant, and in the memory that it shares with it.
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use dds::links::Connection as _;
use shm::{Chunks, Doorbell, Scribble, SegmentError};
use wire::discovery::SharedMemory;
use wire::message::PayloadKind;
use wire::message::encode::{self, DataHeader};
use wire::{EntityId, Guid, GuidPrefix, SequenceNumber};

use super::room::{Room, Talk};
use super::sharing::Sharing;
use crate::random::Random;

/// Bytes of its ring.
const RING: usize = 64 << 10;
/// Bytes that it shares for samples.
const CHUNKS: usize = 64 << 10;
const HEAD: usize = 8;
const LINE: usize = 64;

/// The process.
pub(super) struct Liar {
    /// Who it says that it is.
    pub(super) prefix: GuidPrefix,
    /// What it announces.
    pub(super) announced: SharedMemory,
    target: u64,
    segment: Scribble,
    doorbell: Doorbell,
    chunks: (Arc<Chunks>, OwnedFd),
    talk: Option<Talk>,
    /// Where its next message goes in the ring.
    at: usize,
}

impl Liar {
    /// One that may be met by the participant that announces `target`.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn new(random: &mut Random, target: &SharedMemory) -> Result<Self, SegmentError> {
        // The smaller nonce: it connects.
        let nonce = random.below(target.nonce.max(1));
        Ok(Self {
            prefix: GuidPrefix(random.octets()),
            announced: SharedMemory { nonce, ..*target },
            target: target.nonce,
            segment: Scribble::new(nonce, RING)?,
            doorbell: Doorbell::new()?,
            chunks: Chunks::new(nonce, CHUNKS)?,
            talk: None,
            at: 0,
        })
    }

    /// Connects with the participant and greets it, more or less as it should.
    pub(super) fn greet(&mut self, random: &mut Random, room: &Room, target: u64) {
        let Ok(talk) = room.connect(&Sharing::name(target), self.announced.user) else { return };
        let head = [*b"PNLK\x02\0\0\0", self.announced.nonce.to_le_bytes(), target.to_le_bytes()];
        let mut words = head.concat();
        let mut files: Vec<BorrowedFd<'_>> =
            vec![self.segment.file(), self.doorbell.file(), self.chunks.1.as_fd()];
        match random.below(12) {
            0 => words.truncate(random.below(24) as usize),
            1 => words.push(0),
            2 => files.truncate(random.below(3) as usize),
            3 => files.swap(0, random.within(1..=2) as usize),
            4 => {
                let at = random.below(24) as usize;
                words.iter_mut().skip(at).take(1).for_each(|octet| *octet ^= 1);
            }
            _ => {}
        }
        // The other side may have gone.
        let _ = talk.say(&words, &files);
        self.talk = Some(talk);
    }

    /// True if it lies to the participant that announces this.
    pub(super) const fn is_of(&self, target: &SharedMemory) -> bool {
        self.target == target.nonce
    }

    /// True from its greeting on, until it hangs up.
    pub(super) const fn is_connected(&self) -> bool {
        self.talk.is_some()
    }

    /// Writes something into its memory. `writers` are those of others.
    pub(super) fn lie(&mut self, random: &mut Random, writers: &[Guid]) {
        for _ in 0..random.within(1..=6) {
            match random.below(24) {
                0 => {
                    let at = Scribble::RING + random.below(RING as u64 / 8) as usize * 8;
                    self.segment.put(at, random.next_u64());
                }
                // A head of another kind, or of a message that is too long.
                1 => {
                    let head = random.below(4) << 32 | random.below(1 << 17);
                    self.segment.put(Scribble::RING + self.at, head);
                }
                // How far it says that it has read.
                2 => {
                    let any = random.next_u64();
                    let read = random.pick(&[0, 64, 1 << 20, u64::MAX, any]);
                    self.segment.put(64, read.unwrap_or_default());
                }
                3 => self.talk = None,
                4..12 => {
                    let forged = random.pick(writers).filter(|_| random.coin());
                    let message = match forged {
                        Some(writer) => sample(random, writer),
                        None => message(random, self.prefix),
                    };
                    self.say(&message);
                }
                _ => {
                    let message = places(random, self.prefix);
                    self.say(&message);
                }
            }
        }
    }

    /// A message in its ring, as an honest process writes it.
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
}

/// A sample in the name of the writer of another participant.
fn sample(random: &mut Random, writer: Guid) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode::header(&mut bytes, writer.prefix);
    let header = DataHeader {
        reader_id: EntityId::UNKNOWN,
        writer_id: writer.entity_id,
        sequence_number: SequenceNumber::from_words(0, random.within(1..=60) as u32),
        inline_qos: None,
        kind: PayloadKind::Data,
    };
    let payload: Vec<u8> = (0..random.within(12..=80) as u8).map(|_| random.below(256) as u8).collect();
    encode::data(&mut bytes, &header, &[&[0, 1, 0, 0], payload.as_slice()].concat());
    bytes
}

/// An RTPS message of so many random submessages in the name of a participant.
fn message(random: &mut Random, name: GuidPrefix) -> Vec<u8> {
    let mut message = [b"RTPS\x02\x05\x01\xfe", name.0.as_slice()].concat();
    for _ in 0..random.below(4) {
        let kind = random.pick(&[0x06, 0x07, 0x08, 0x09, 0x0e, 0x15, 0x16]).unwrap_or_default();
        let len = random.below(40) as u8 & !3;
        message.extend([kind, 1, len, 0]);
        message.extend((0..len).map(|_| random.below(256) as u8));
    }
    message
}

/// A message that says where samples lie.
fn places(random: &mut Random, name: GuidPrefix) -> Vec<u8> {
    let count = random.below(18) as u32;
    let mut places = [b"PNPL".as_slice(), &count.to_ne_bytes()].concat();
    let bounds = [0, 20, 1_000, 4_096, 65_536, u64::from(u32::MAX)];
    for _ in 0..count.min(random.below(18) as u32) {
        for _ in 0..8 {
            let most = random.pick(&bounds).unwrap_or_default();
            places.extend((random.within(0..=most) as u32).to_ne_bytes());
        }
    }
    places.extend(message(random, name));
    places
}
