//! SPDP: our own announcements and the reading of those of others (RTPS 2.5, 8.5.3).
use alloc::boxed::Box;
use alloc::vec::Vec;

use wire::discovery::{EndpointsSummary, ParticipantData};
use wire::message::encode::{self, DataHeader};
use wire::message::{Data, Header, Heartbeat, PayloadKind};
use wire::parameter::{InlineQos, StatusInfo};
use wire::{Duration, EntityId, Guid, GuidPrefix, Instant, Now, SequenceNumber};

use super::config::DiscoveryConfig;
use super::messages::Messages;
use super::participants::Ledger;
use super::probe::PROBE_LEN;
use super::recent::Key;
use super::rejection::Rejection;
use crate::network::{Network, canonical};
use crate::path::Path;
use crate::transmit::Transmit;
use wire::sorted::SortedSet;

/// Shortest time between two rounds of announcements.
const MIN_PERIOD: Duration = Duration::from_millis(100);

/// Bytes of padding of an announcement that goes to all receivers while we are new. It pays for the answer, which names us,
/// has a HEARTBEAT, and may have longer names and more addresses than we have: a stranger gets no more bytes than it sent, and
/// one that cannot be answered is found with its next announcement only.
const PADDING: usize = 256;
/// Most bytes of an announcement with padding: IP shall not fragment it for that.
const WITH_PADDING: usize = 1_200;
/// Bytes by which a path of IPv6 carries less than its interface does with IPv4.
const IPV6_LONGER: usize = 20;
/// Bytes of its message beside the payload: header, INFO_TS, and what comes before the payload in DATA.
const AROUND: usize = Header::LEN + encode::INFO_TIMESTAMP_LEN + encode::DATA_HEADER_LEN;

/// Bytes of a HEARTBEAT.
const HEARTBEAT_LEN: u64 = 32;
/// Bytes of a probe that leaves alone before what asks: header, INFO_DST.
const BEFORE_PROBE: u64 = (Header::LEN + 16) as u64;

/// What a DATA of an SPDP writer says.
#[derive(Debug)]
pub(super) enum Announcement {
    /// The participant is here.
    Here(Box<ParticipantData>),
    /// The participant leaves.
    Gone(GuidPrefix),
}

/// Reads a DATA of an SPDP writer of the participant `source`.
pub(super) fn read(source: GuidPrefix, data: &Data<'_>) -> Result<Announcement, Rejection> {
    let inline_qos = data.inline_qos.as_ref().map_or(Ok(InlineQos::default()), InlineQos::read);
    let inline_qos = inline_qos.map_err(|_| Rejection::Malformed)?;
    let status = inline_qos.status_info;
    let gone = status.contains(StatusInfo::DISPOSED) || status.contains(StatusInfo::UNREGISTERED);
    let prefix = match data.payload {
        Some(payload) if !payload.is_key && !gone => {
            let data = ParticipantData::decode(payload.bytes).map_err(|_| Rejection::Malformed)?;
            if data.prefix != source {
                return Err(Rejection::ForeignRecord);
            }
            if data.version.major != 2 {
                return Err(Rejection::Version);
            }
            if data.lease_duration <= Duration::ZERO {
                return Err(Rejection::Lease);
            }
            return Ok(Announcement::Here(Box::new(data)));
        }
        None if !gone => return Err(Rejection::Malformed),
        payload => {
            let key = payload.and_then(|payload| ParticipantData::decode_key(payload.bytes).ok());
            let hash = inline_qos.key_hash.map(|hash| Guid::from_bytes(hash).prefix);
            key.or(hash).ok_or(Rejection::Malformed)?
        }
    };
    if prefix == source { Ok(Announcement::Gone(prefix)) } else { Err(Rejection::ForeignRecord) }
}

/// Who is still to be told in the round under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Round {
    /// None: there is no target.
    Over,
    /// The groups and the configured peers, then all participants.
    Groups,
    /// The validated participants after this one.
    Participants(Option<GuidPrefix>),
}

/// What announcements are made of and sent by, besides.
pub(super) struct Around<'a, Invitation> {
    pub(super) config: &'a DiscoveryConfig,
    pub(super) network: &'a Network,
    pub(super) ledger: &'a mut Ledger,
    pub(super) messages: &'a mut Messages,
    /// Makes a HEARTBEAT for participants that answer no probes.
    pub(super) invitation: Invitation,
}

/// The stateless writer of our announcements.
#[derive(Debug)]
pub(super) struct Announcer {
    payload: Vec<u8>,
    /// The same with what our endpoints amount to, for those who know us.
    told: Vec<u8>,
    /// What it is made of.
    data: ParticipantData,
    /// The same as `payload` with padding.
    padded: Vec<u8>,
    /// What others need to answer, and nothing else.
    lean: Vec<u8>,
    /// Inline QoS of a goodbye; empty before.
    farewell: Vec<u8>,
    /// The same number until the announcement changes: peers drop what is older than what they have.
    number: SequenceNumber,
    next: Instant,
    /// Announcements that are left of the quick ones at the start.
    quick: u8,
    /// When the groups hear of us out of turn.
    extra: Instant,
    last_groups: Option<Instant>,
    round: Round,
    random: u64,
    /// Validated participants to be told out of turn.
    directed: SortedSet<GuidPrefix>,
    /// Strangers to be answered, if what may be sent to them suffices.
    answers: SortedSet<Key>,
}

impl Announcer {
    pub(super) fn new(data: &ParticipantData, config: &DiscoveryConfig, network: &Network) -> Self {
        let mut new = Self {
            payload: Vec::new(),
            told: Vec::new(),
            data: data.clone(),
            padded: Vec::new(),
            lean: Vec::new(),
            farewell: Vec::new(),
            number: SequenceNumber::FIRST,
            next: Instant::START,
            quick: config.initial_announcements,
            extra: Instant::NEVER,
            last_groups: None,
            round: Round::Over,
            random: config.seed,
            directed: SortedSet::new(),
            answers: SortedSet::new(),
        };
        new.say(data, network);
        new
    }

    /// From now on this is announced, at once to all participants.
    pub(super) fn change(&mut self, data: &ParticipantData, network: &Network) {
        self.say(data, network);
        self.number = self.number.next();
        self.round = Round::Groups;
    }

    /// What our endpoints amount to now.
    pub(super) fn summarise(&mut self, endpoints: [EndpointsSummary; 2]) {
        if self.data.endpoints != Some(endpoints) {
            self.data.endpoints = Some(endpoints);
            self.told.clear();
            self.data.encode(&mut self.told);
        }
    }

    fn say(&mut self, data: &ParticipantData, network: &Network) {
        self.payload.clear();
        data.encode(&mut self.payload);
        self.told.clear();
        self.data = ParticipantData { endpoints: self.data.endpoints, ..data.clone() };
        self.data.encode(&mut self.told);
        let limits = network.interfaces.iter().map(|interface| interface.max_datagram as usize);
        let room =
            limits.fold(WITH_PADDING, usize::min).saturating_sub(IPV6_LONGER + AROUND + self.payload.len());
        let padding = PADDING.min(room) / 4 * 4;
        self.padded.clear();
        data.encode_padded(padding, &mut self.padded);
        self.lean.clear();
        let first = |locators: &[wire::Locator]| locators.iter().take(1).copied().collect();
        let lean = ParticipantData {
            metatraffic_unicast: first(&data.metatraffic_unicast),
            default_unicast: first(&data.default_unicast),
            metatraffic_multicast: Vec::new(),
            default_multicast: Vec::new(),
            entity_name: None,
            user_data: Vec::new(),
            shared_memory: None,
            ..data.clone()
        };
        lean.encode(&mut self.lean);
    }

    /// Ends the announcements with a round of goodbyes.
    pub(super) fn say_goodbye(&mut self, data: &ParticipantData) {
        self.payload.clear();
        data.encode_key(&mut self.payload);
        let inline_qos = InlineQos {
            key_hash: Some(Guid::new(data.prefix, EntityId::PARTICIPANT).to_bytes()),
            status_info: StatusInfo::DISPOSED | StatusInfo::UNREGISTERED,
            ..InlineQos::default()
        };
        inline_qos.encode(&mut self.farewell);
        self.number = self.number.next();
        self.round = Round::Groups;
        self.directed.clear();
        self.answers.clear();
    }

    /// Announces soon to the groups, at most ten times per second.
    fn hurry(&mut self, now: Instant) {
        let earliest = self.last_groups.map_or(now, |last| last.after(MIN_PERIOD).max(now));
        self.extra = self.extra.min(earliest);
    }

    /// Announces at once to a validated participant.
    pub(super) fn direct(&mut self, participant: GuidPrefix) {
        self.directed.insert(participant);
    }

    /// Answers a stranger at the address that its packet came from, unless `limit` others wait for an answer.
    pub(super) fn answer(&mut self, stranger: Key, limit: usize) {
        if self.answers.len() < limit {
            self.answers.insert(stranger);
        }
    }

    /// True if a stranger waited for an answer, which it is given otherwise now.
    pub(super) fn takes_answer(&mut self, stranger: Key) -> bool {
        self.answers.remove(&stranger)
    }

    pub(super) fn next_timeout(&self) -> Instant {
        let at_once = self.round != Round::Over || !self.directed.is_empty() || !self.answers.is_empty();
        match (at_once, self.farewell.is_empty()) {
            (true, _) => Instant::START,
            (false, true) => self.next.min(self.extra),
            (false, false) => Instant::NEVER,
        }
    }

    /// Fills `out` with the next announcement. A stranger to which not enough may be sent yet may hear the groups instead.
    pub(super) fn poll<P: AsRef<[u8]>>(
        &mut self,
        now: Now,
        around: &mut Around<'_, impl FnMut() -> Option<Heartbeat>>,
        out: &mut Transmit<P>,
    ) -> bool {
        let (config, network) = (around.config, around.network);
        self.start_round(now.monotonic, config);
        while let Some(participant) = self.directed.pop_first() {
            if let Some(path) =
                around.ledger.get(participant).and_then(|known| known.metatraffic_path(network))
            {
                self.tell(now, config, participant, path, out);
                out.add_path(path);
                return true;
            }
        }
        while let Some(stranger) = self.answers.pop_first() {
            if self.compose_answer(now, stranger, around, out) {
                return true;
            }
            self.hurry(now.monotonic);
        }
        if self.round == Round::Groups || self.extra <= now.monotonic {
            if self.round == Round::Groups {
                self.round = Round::Participants(None);
            }
            let is_new = self.last_groups.is_none() || self.quick > 0 || self.extra <= now.monotonic;
            self.extra = Instant::NEVER;
            self.last_groups = Some(now.monotonic);
            let leaves = !self.farewell.is_empty();
            let payload = if is_new && !leaves { &self.padded } else { &self.payload };
            self.compose(now, config, None, payload, out);
            for group in config.metatraffic_multicast.iter().filter_map(wire::Locator::socket_addr) {
                network.multicast_paths(group).into_iter().for_each(|path| out.add_path(path));
            }
            for peer in &config.static_peers {
                network.path_to(*peer).into_iter().for_each(|path| out.add_path(path));
            }
            if !out.paths().is_empty() {
                return true;
            }
        }
        while let Round::Participants(previous) = self.round {
            let Some((prefix, participant)) = around.ledger.after(previous) else {
                self.round = Round::Over;
                break;
            };
            self.round = Round::Participants(Some(prefix));
            if let Some(path) = participant.metatraffic_path(network) {
                self.tell(now, config, prefix, path, out);
                out.add_path(path);
                return true;
            }
        }
        out.clear();
        false
    }

    /// An answer to a stranger: our announcement, and a probe. If it has named us or was answered already, the probe alone is tried first,
    /// every second time: RustDDS announces itself with so few words that both never go together. What cannot be
    /// afforded is left out, so that a peer that announces itself once, by unicast and with few words, hears of us all the same.
    fn compose_answer<P: AsRef<[u8]>>(
        &self,
        now: Now,
        stranger: Key,
        around: &mut Around<'_, impl FnMut() -> Option<Heartbeat>>,
        out: &mut Transmit<P>,
    ) -> bool {
        let Around { config, network, ledger, messages, invitation } = around;
        let Some(known) = ledger.strangers.get_mut(stranger) else { return false };
        let is_short = (known.names_us || known.answered) && !known.answered_shortly;
        known.answered_shortly = is_short;
        let is_mute = known.is_mute();
        let invitation = if is_mute { invitation() } else { None };
        let after = messages.numbers.probed_after(stranger.0, stranger.1.ip(), false);
        let is_probed = !is_mute && after <= now.monotonic;
        let question = match &invitation {
            Some(_) => HEARTBEAT_LEN,
            None if is_probed => PROBE_LEN - BEFORE_PROBE,
            None => 0,
        };
        let forms =
            [(None, true), (Some(&self.payload), true), (Some(&self.lean), true), (Some(&self.lean), false)];
        for (payload, asks) in forms.into_iter().skip(usize::from(!is_short)) {
            match payload {
                Some(payload) => self.compose(now, config, Some(stranger.0), payload, out),
                None => {
                    out.clear();
                    out.set_class(config.class);
                    out.scratch(|bytes| {
                        encode::header(bytes, config.prefix);
                        encode::info_destination(bytes, stranger.0);
                    });
                }
            }
            let octets = out.len() as u64 + if asks { question } else { 0 };
            if payload.is_none() && question == 0 {
                continue;
            }
            let Some(path) = ledger.strangers.spend(network, stranger, octets) else { continue };
            match &invitation {
                Some(invitation) if asks => out.scratch(|bytes| encode::heartbeat(bytes, invitation)),
                None if asks && is_probed => {
                    let to = canonical(path.destination);
                    let window = ledger.ask_stranger(now.monotonic, stranger, to, &mut messages.numbers);
                    messages.put_probe(&window, out);
                }
                _ => {}
            }
            out.add_path(path);
            return true;
        }
        false
    }

    /// Tells a validated participant of us, and what our endpoints amount to unless that makes the datagram too long for its path.
    fn tell<P: AsRef<[u8]>>(
        &self,
        now: Now,
        config: &DiscoveryConfig,
        participant: GuidPrefix,
        path: Path,
        out: &mut Transmit<P>,
    ) {
        if self.farewell.is_empty() {
            self.compose(now, config, Some(participant), &self.told, out);
            if out.len() <= path.max_datagram as usize {
                return;
            }
        }
        self.compose(now, config, Some(participant), &self.payload, out);
    }

    fn start_round(&mut self, now: Instant, config: &DiscoveryConfig) {
        if self.next > now || !self.farewell.is_empty() {
            return;
        }
        let first = self.last_groups.is_none();
        if self.round == Round::Over {
            self.round = Round::Groups;
        }
        let period = match self.quick {
            0 | 1 => config.announce_period,
            // A peer that starts at the same time, and cannot be answered with the first announcement alone, is
            // answered with the second.
            _ if first => config.initial_period.scaled(1, 5),
            _ => config.initial_period,
        };
        self.quick = self.quick.saturating_sub(1);
        let part = (self.draw() % 100) as u32;
        self.next = now.after(period.scaled(1_000 - part, 1_000));
    }

    /// SplitMix64: enough to keep participants from speaking at the same time.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn compose<P: AsRef<[u8]>>(
        &self,
        now: Now,
        config: &DiscoveryConfig,
        destination: Option<GuidPrefix>,
        payload: &[u8],
        out: &mut Transmit<P>,
    ) {
        let leaves = !self.farewell.is_empty();
        out.clear();
        out.set_class(config.class);
        out.scratch(|bytes| {
            encode::header(bytes, config.prefix);
            if let Some(prefix) = destination {
                encode::info_destination(bytes, prefix);
            }
            encode::info_timestamp(bytes, Some(now.wall));
            let header = DataHeader {
                reader_id: destination.map_or(EntityId::UNKNOWN, |_| EntityId::SPDP_READER),
                writer_id: EntityId::SPDP_WRITER,
                sequence_number: self.number,
                inline_qos: leaves.then_some(self.farewell.as_slice()),
                kind: if leaves { PayloadKind::Key } else { PayloadKind::Data },
            };
            encode::data(bytes, &header, payload);
        });
    }
}
