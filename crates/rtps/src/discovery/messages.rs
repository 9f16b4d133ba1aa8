//! Liveliness messages (RTPS 2.5, 8.4.13), and the probes of their writer (`probe.rs`).
//!
//! Numbers are those of [`Numbers`]. A message that was not acknowledged is sent again under a new number, and what came before it is not
//! held any more. While a probe may still be answered, messages wait: the answer names what the reader misses when it answers.
use alloc::vec::Vec;
use core::net::SocketAddr;

use wire::discovery::{BuiltinEndpointSet, ParticipantData, ParticipantMessage};
use wire::message::encode::{self, DataHeader};
use wire::message::{AckNack, Data, Gap, Heartbeat, PayloadKind};
use wire::{Duration, EntityId, GuidPrefix, Instant, Now, SequenceNumber, SequenceNumberSet, VendorId};

use super::echoes::Echoes;
use super::message_reader::MessageReader;
use super::numbers::Numbers;
use super::probe::Window;
use super::rejection::Rejection;
use super::sedp::Received;
use crate::network::Network;
use crate::path::Path;
use crate::transmit::Transmit;
use wire::sorted::{SortedMap, SortedSet};

/// How long messages wait for the answer to a probe.
const ANSWER_WAIT: Duration = Duration::from_millis(50);
/// First wait before a message is repeated, or a first word asked for again; doubles up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// How often a message is repeated, or a first word asked for.
const REPEATS: u8 = 10;
/// The kinds of messages, by their place in [`Peer::unacknowledged`].
const KINDS: [[u8; 4]; 2] = [ParticipantMessage::AUTOMATIC, ParticipantMessage::MANUAL];
/// GUID prefixes of RTI Connext begin so; it wants base 0 where others want 1 in the ACKNACK that asks for a first HEARTBEAT.
const RTI: [u8; 2] = [1, 1];

/// True for a participant whose liveliness reader answers probes.
pub(super) fn answers_probes(data: &ParticipantData) -> bool {
    has(data, BuiltinEndpointSet::PARTICIPANT_MESSAGE_READER)
}

/// Connext has the liveliness endpoints without saying so.
fn has(data: &ParticipantData, endpoint: BuiltinEndpointSet) -> bool {
    data.vendor == VendorId::RTI || data.builtin_endpoints.contains(endpoint)
}

/// A participant that is validated.
#[derive(Debug)]
struct Peer {
    path: Option<Path>,
    has_reader: bool,
    has_writer: bool,
    /// Kinds of messages that it has not acknowledged, and their numbers in turn from this one.
    unacknowledged: [bool; 2],
    first: SequenceNumber,
    /// When they are sent, once more.
    send_at: Instant,
    /// It asks for a HEARTBEAT; that is not repeated before then.
    is_asked: bool,
    heartbeat_after: Instant,
    repeats: u8,
    /// Its reader may be about to answer a probe until then.
    probed_until: Instant,
    /// What its writer has said.
    reader: MessageReader,
    /// When it is answered, or asked for a first word.
    answer_at: Instant,
    hellos: u8,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Messages {
    prefix: GuidPrefix,
    class: u8,
    pub(super) numbers: Numbers,
    peers: SortedMap<GuidPrefix, Peer>,
    /// When a peer is looked at; each is in it once, or not at all.
    due: SortedSet<(Instant, GuidPrefix)>,
    /// What was asserted so far, by kind.
    asserted: [bool; 2],
    pub(super) echoes: Echoes,
    count: i32,
}

impl Messages {
    pub(super) fn new(prefix: GuidPrefix, class: u8, secret: u64) -> Self {
        Self {
            prefix,
            class,
            numbers: Numbers::new(secret),
            peers: SortedMap::new(),
            due: SortedSet::new(),
            asserted: [false; 2],
            echoes: Echoes::default(),
            count: 0,
        }
    }

    /// A participant is validated, or has other endpoints or another path now.
    pub(super) fn match_participant(&mut self, now: Instant, data: &ParticipantData, path: Option<Path>) {
        let asserted = self.asserted;
        self.change(data.prefix, |peer| {
            let is_new = peer.is_none();
            let peer = peer.get_or_insert_with(|| Peer {
                path: None,
                has_reader: false,
                has_writer: false,
                unacknowledged: asserted,
                first: SequenceNumber::ZERO,
                send_at: if asserted == [false; 2] { Instant::NEVER } else { now },
                is_asked: false,
                heartbeat_after: now,
                repeats: 0,
                probed_until: Instant::START,
                reader: MessageReader::new(),
                answer_at: Instant::NEVER,
                hellos: 0,
            });
            let had_writer = peer.has_writer;
            peer.path = path;
            peer.has_reader = answers_probes(data);
            peer.has_writer = has(data, BuiltinEndpointSet::PARTICIPANT_MESSAGE_WRITER);
            if peer.has_writer && (is_new || !had_writer) {
                peer.answer_at = now;
            }
        });
    }

    pub(super) fn unmatch_participant(&mut self, prefix: GuidPrefix) {
        self.change(prefix, |peer| *peer = None);
    }

    /// Asserts the liveliness of our writers of a kind.
    pub(super) fn assert_liveliness(&mut self, now: Instant, kind: [u8; 4]) {
        let Some(index) = KINDS.iter().position(|known| *known == kind) else { return };
        if let Some(asserted) = self.asserted.get_mut(index) {
            *asserted = true;
        }
        let prefixes: Vec<GuidPrefix> = self.peers.keys().copied().collect();
        for prefix in prefixes {
            self.change(prefix, |peer| {
                let Some(peer) = peer.as_mut().filter(|peer| peer.has_reader) else { return };
                if let Some(unacknowledged) = peer.unacknowledged.get_mut(index) {
                    *unacknowledged = true;
                }
                (peer.send_at, peer.repeats) = (now, 0);
            });
        }
    }

    /// A reader that is known has acknowledged what is before `set`, and asks for what is in it.
    pub(super) fn on_acknack(&mut self, now: Instant, prefix: GuidPrefix, acknack: &AckNack) {
        self.change(prefix, |peer| {
            let Some(peer) = peer else { return };
            let count = peer.unacknowledged.iter().filter(|is_open| **is_open).count() as u64;
            let end = peer.first.plus(count);
            let base = acknack.set.base();
            if count == 0 || peer.first == SequenceNumber::ZERO {
                if !acknack.is_final && now >= peer.heartbeat_after {
                    peer.is_asked = true;
                    peer.heartbeat_after = now.after(LONGEST_WAIT);
                }
                return;
            }
            if base == end {
                (peer.unacknowledged, peer.send_at) = ([false; 2], Instant::NEVER);
            } else if base >= peer.first && base < end && !acknack.set.bitmap().is_empty() {
                peer.send_at = peer.send_at.min(now.after(Duration::from_millis(1)));
            }
        });
    }

    /// A message of a participant that is known.
    pub(super) fn on_data(&mut self, prefix: GuidPrefix, data: &Data<'_>, received: &mut Vec<Received>) {
        if let Some(peer) = self.peers.get_mut(&prefix) {
            peer.reader.on_data(data.sequence_number);
        }
        let Some(payload) = data.payload.filter(|payload| !payload.is_key) else { return };
        received.push(match ParticipantMessage::decode(payload.bytes) {
            Ok(message) if message.prefix == prefix => Received::Asserted(message.prefix, message.kind),
            Ok(_) => Received::Bad(Rejection::ForeignRecord),
            Err(_) => Received::Bad(Rejection::Malformed),
        });
    }

    /// Numbers that the writer of a participant that is known will never send.
    pub(super) fn on_gap(&mut self, prefix: GuidPrefix, gap: &Gap) {
        if let Some(peer) = self.peers.get_mut(&prefix).filter(|peer| peer.has_writer) {
            peer.reader.on_gap(gap);
        }
    }

    /// What the writer of a participant that is known has.
    pub(super) fn on_heartbeat(&mut self, now: Instant, prefix: GuidPrefix, heartbeat: &Heartbeat) {
        self.change(prefix, |peer| {
            let Some(peer) = peer.as_mut().filter(|peer| peer.has_writer) else { return };
            if peer.reader.on_heartbeat(heartbeat) {
                peer.answer_at = now;
            }
        });
    }

    /// A participant that is known has answered a probe: the numbers that it misses will never come.
    pub(super) fn on_answer(&mut self, now: Instant, prefix: GuidPrefix) {
        self.change(prefix, |peer| {
            if let Some(peer) = peer.as_mut().filter(|peer| peer.has_reader) {
                (peer.probed_until, peer.is_asked) = (now, true);
            }
        });
    }

    /// Fills `out` with the next answer to a participant that is not validated; says to which, and where it goes.
    pub(super) fn poll_echo<P: AsRef<[u8]>>(
        &mut self,
        network: &Network,
        out: &mut Transmit<P>,
    ) -> Option<(GuidPrefix, SocketAddr)> {
        while let Some(echo) = self.echoes.pop() {
            let Some(path) = network.path_to(echo.to) else { continue };
            self.begin(echo.prefix, path, out);
            let acknack = self.acknack(echo.set, true);
            out.scratch(|bytes| encode::acknack(bytes, &acknack));
            return Some((echo.prefix, echo.to));
        }
        None
    }

    /// Fills `out` with a probe.
    pub(super) fn probe<P: AsRef<[u8]>>(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        path: Path,
        window: &Window,
        out: &mut Transmit<P>,
    ) {
        self.change(prefix, |peer| {
            if let Some(peer) = peer {
                peer.probed_until = now.after(ANSWER_WAIT);
            }
        });
        self.begin(prefix, path, out);
        self.put_probe(window, out);
    }

    /// Appends a probe to what is to be sent.
    pub(super) fn put_probe<P: AsRef<[u8]>>(&mut self, window: &Window, out: &mut Transmit<P>) {
        let heartbeat = window.heartbeat(self.next_count());
        out.scratch(|bytes| {
            encode::gap(bytes, &window.gap());
            encode::heartbeat(bytes, &heartbeat);
        });
    }

    /// Fills `out` with a HEARTBEAT alone.
    pub(super) fn ask<P: AsRef<[u8]>>(
        &self,
        prefix: GuidPrefix,
        path: Path,
        question: &Heartbeat,
        out: &mut Transmit<P>,
    ) {
        self.begin(prefix, path, out);
        out.scratch(|bytes| encode::heartbeat(bytes, question));
    }

    const fn next_count(&mut self) -> i32 {
        self.count = self.count.wrapping_add(1);
        self.count
    }

    /// A HEARTBEAT of our writer.
    const fn heartbeat(&mut self, first: SequenceNumber, last: SequenceNumber, is_final: bool) -> Heartbeat {
        Heartbeat {
            reader_id: EntityId::PARTICIPANT_MESSAGE_READER,
            writer_id: EntityId::PARTICIPANT_MESSAGE_WRITER,
            first,
            last,
            count: self.next_count(),
            is_final,
            liveliness: false,
        }
    }

    /// Fills `out` with the next message or answer that is due; false if there is none.
    pub(super) fn poll_transmit<P: AsRef<[u8]>>(&mut self, now: Now, out: &mut Transmit<P>) -> bool {
        while let Some((at, prefix)) = self.due.first().copied().filter(|(at, _)| *at <= now.monotonic) {
            let mut sent = false;
            // Taken out, so that it can be changed along with the rest.
            let Some(mut peer) = self.peers.remove(&prefix) else {
                self.due.remove(&(at, prefix));
                continue;
            };
            self.due.remove(&(at, prefix));
            if let Some(path) = peer.path {
                self.begin(prefix, path, out);
                if peer.answer_at <= now.monotonic {
                    self.answer(now.monotonic, prefix, &mut peer, out);
                    sent = true;
                }
                if peer.probed_until <= now.monotonic {
                    if core::mem::take(&mut peer.is_asked) {
                        // Nothing is held, and the next message has this number.
                        let number = self.numbers.next(prefix);
                        let heartbeat = self.heartbeat(number, number.prev(), true);
                        out.scratch(|bytes| encode::heartbeat(bytes, &heartbeat));
                        sent = true;
                    }
                    if peer.send_at <= now.monotonic {
                        sent |= self.send(now, prefix, &mut peer, out);
                    }
                }
            } else {
                (peer.answer_at, peer.send_at, peer.is_asked) = (Instant::NEVER, Instant::NEVER, false);
            }
            if peer.due() != Instant::NEVER {
                self.due.insert((peer.due(), prefix));
            }
            self.peers.insert(prefix, peer);
            if sent {
                return true;
            }
        }
        out.clear();
        false
    }

    pub(super) fn poll_timeout(&self) -> Instant {
        if self.echoes.is_empty() {
            return self.due.first().map_or(Instant::NEVER, |(at, _)| *at);
        }
        Instant::START
    }

    fn answer<P: AsRef<[u8]>>(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        peer: &mut Peer,
        out: &mut Transmit<P>,
    ) {
        let is_heard = peer.reader.is_heard();
        let asks_first = !is_heard && prefix.0.starts_with(&RTI);
        let set = if asks_first { SequenceNumberSet::empty(SequenceNumber::ZERO) } else { peer.reader.set() };
        let acknack = self.acknack(set, is_heard);
        out.scratch(|bytes| encode::acknack(bytes, &acknack));
        peer.answer_at = Instant::NEVER;
        if !is_heard && peer.hellos < REPEATS {
            peer.answer_at = now.after(wait(peer.hellos));
            peer.hellos += 1;
        }
    }

    /// Puts what is not acknowledged into `out`, under new numbers; false if there is nothing.
    fn send<P: AsRef<[u8]>>(
        &mut self,
        now: Now,
        prefix: GuidPrefix,
        peer: &mut Peer,
        out: &mut Transmit<P>,
    ) -> bool {
        peer.send_at = Instant::NEVER;
        if peer.repeats > REPEATS || peer.unacknowledged == [false; 2] {
            peer.unacknowledged = [false; 2];
            return false;
        }
        peer.send_at = now.monotonic.after(wait(peer.repeats));
        peer.repeats += 1;
        let open = KINDS.into_iter().zip(peer.unacknowledged).filter(|(_, is_open)| *is_open);
        let (mut first, mut last) = (None, SequenceNumber::ZERO);
        for (kind, _) in open {
            let sequence_number = self.numbers.next(prefix);
            first = first.or(Some(sequence_number));
            last = sequence_number;
            let header = DataHeader {
                reader_id: EntityId::PARTICIPANT_MESSAGE_READER,
                writer_id: EntityId::PARTICIPANT_MESSAGE_WRITER,
                sequence_number,
                inline_qos: None,
                kind: PayloadKind::Data,
            };
            let mut payload = Vec::new();
            ParticipantMessage { prefix: self.prefix, kind, data: Vec::new() }.encode(&mut payload);
            out.scratch(|bytes| {
                encode::info_timestamp(bytes, Some(now.wall));
                encode::data(bytes, &header, &payload);
            });
        }
        peer.first = first.unwrap_or_default();
        let heartbeat = self.heartbeat(peer.first, last, false);
        out.scratch(|bytes| encode::heartbeat(bytes, &heartbeat));
        true
    }

    fn begin<P: AsRef<[u8]>>(&self, prefix: GuidPrefix, path: Path, out: &mut Transmit<P>) {
        out.clear();
        out.set_class(self.class);
        out.add_path(path);
        out.scratch(|bytes| {
            encode::header(bytes, self.prefix);
            encode::info_destination(bytes, prefix);
        });
    }

    const fn acknack(&mut self, set: SequenceNumberSet, is_final: bool) -> AckNack {
        AckNack {
            reader_id: EntityId::PARTICIPANT_MESSAGE_READER,
            writer_id: EntityId::PARTICIPANT_MESSAGE_WRITER,
            set,
            count: self.next_count(),
            is_final,
        }
    }

    /// Changes a peer, and the order in which peers are looked at.
    fn change(&mut self, prefix: GuidPrefix, change: impl FnOnce(&mut Option<Peer>)) {
        let mut peer = self.peers.remove(&prefix);
        let before = peer.as_ref().map_or(Instant::NEVER, Peer::due);
        change(&mut peer);
        let after = peer.as_ref().map_or(Instant::NEVER, Peer::due);
        if before != after {
            self.due.remove(&(before, prefix));
            if after != Instant::NEVER {
                self.due.insert((after, prefix));
            }
        }
        if let Some(peer) = peer {
            self.peers.insert(prefix, peer);
        }
    }
}

impl Peer {
    fn due(&self) -> Instant {
        let send_at = if self.is_asked { Instant::START } else { self.send_at };
        send_at.max(self.probed_until).min(self.answer_at)
    }
}

fn wait(repeats: u8) -> Duration {
    let factor = 1_i64 << repeats.min(5);
    FIRST_WAIT.scaled(factor.unsigned_abs() as u32, 1).min(LONGEST_WAIT)
}
