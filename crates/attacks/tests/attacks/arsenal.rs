//! What a stranger sends that knows all prefixes and entity ids of a running pair: each submessage that could harm it, in its name.
use std::net::SocketAddrV4;

use crate::message::{Message, PUBLICATIONS, SPDP, SUBSCRIPTIONS, sequence_number, set};
use crate::random::Random;
use crate::spdp::{Locators, end, endpoint, guid, list, parameter, participant};

/// What is known of a running pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) writer: [u8; 16],
    pub(crate) reader: [u8; 16],
    /// Where the participants of the writer and of the reader are.
    pub(crate) at: [Locators; 2],
    /// Another address, that of a bystander.
    pub(crate) elsewhere: Locators,
}

/// A kind of harm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Harm {
    /// Samples that nobody wrote.
    Samples,
    /// GAP and HEARTBEAT of the writer.
    Reader,
    /// Acknowledgements of the reader.
    Writer,
    /// Goodbyes of participants and endpoints.
    Leaving,
    /// Participants that have moved.
    Moving,
    /// What the built-in writers and readers say.
    Announcements,
    /// Participants that do not exist.
    Newcomers,
}

/// A datagram, where it goes, and whether it names the bystander's address.
pub(crate) struct Forgery {
    pub(crate) bytes: Vec<u8>,
    pub(crate) to: SocketAddrV4,
    pub(crate) names_bystander: bool,
}

/// Prefix and entity id of a GUID.
pub(crate) fn parts(guid: [u8; 16]) -> ([u8; 12], [u8; 4]) {
    (guid[..12].try_into().unwrap(), guid[12..].try_into().unwrap())
}

/// ENTITYID_UNKNOWN.
const UNKNOWN: [u8; 4] = [0; 4];
/// Writer and reader of liveliness messages.
const LIVELINESS: [[u8; 4]; 2] = [[0, 2, 0, 0xc2], [0, 2, 0, 0xc7]];
const PARTICIPANT: [u8; 4] = [0, 0, 1, 0xc1];

impl Pair {
    /// The next forgery.
    pub(crate) fn forge(&self, random: &mut Random) -> Forgery {
        let harm = match random.below(20) {
            0..3 => Harm::Samples,
            3..8 => Harm::Reader,
            8..11 => Harm::Writer,
            11..14 => Harm::Leaving,
            14..16 => Harm::Moving,
            16..18 => Harm::Announcements,
            _ => Harm::Newcomers,
        };
        self.harm(harm, random)
    }

    /// The next forgery of a kind.
    pub(crate) fn harm(&self, harm: Harm, random: &mut Random) -> Forgery {
        match harm {
            Harm::Samples => self.sample(random),
            Harm::Reader => self.against_reader(random),
            Harm::Writer => self.against_writer(random),
            Harm::Leaving => self.goodbye(random),
            Harm::Moving => self.move_away(random),
            Harm::Announcements => self.against_announcements(random),
            Harm::Newcomers => self.newcomer(random),
        }
    }

    /// In the name of a side's user traffic or metatraffic, to the other side's.
    fn forgery(&self, bytes: Message, side: usize, is_user: bool, names_bystander: bool) -> Forgery {
        let at = |locators: Locators| if is_user { locators.user } else { locators.metatraffic };
        let to = at(self.at[1 - side]);
        Forgery { bytes: bytes.bytes(), to, names_bystander }
    }

    /// DATA and DATA_FRAG in the name of the writer.
    fn sample(&self, random: &mut Random) -> Forgery {
        let ((writer, writer_id), (reader, reader_id)) = (parts(self.writer), parts(self.reader));
        let ids = [writer_id, [reader_id, UNKNOWN][usize::from(random.below(2) == 0)]];
        let (number, message) = (near(random), Message::from(writer).to(reader));
        let message = match random.below(4) {
            0..3 => message.data(ids, number, &forged_sample(number), false),
            _ => message.fragment(ids, number, 3, &forged_sample(number)),
        };
        self.forgery(message, 0, true, false)
    }

    /// GAP and HEARTBEAT in the name of the writer.
    fn against_reader(&self, random: &mut Random) -> Forgery {
        let (writer, writer_id) = parts(self.writer);
        let (reader, reader_id) = parts(self.reader);
        let ids = [writer_id, [reader_id, UNKNOWN][usize::from(random.below(2) == 0)]];
        let number = near(random);
        let count = u32::try_from(random.below(1 << 31)).unwrap();
        let message = Message::from(writer);
        let message = if random.below(2) == 0 { message.to(reader) } else { message };
        let further = i64::try_from(random.below(5_000)).unwrap();
        let message = match random.below(5) {
            0 => message.gap(ids, 1, number + 1),
            1 => message.gap(ids, number, number + 1 + further),
            2 => message.heartbeat(ids, number, number + further, count, random.below(2) == 0),
            3 => message.heartbeat(ids, 1, number + further, count, false),
            _ => message.heartbeat_fragment(ids, number, 1_000, count),
        };
        self.forgery(message, 0, true, false)
    }

    /// Acknowledgements in the name of the reader.
    fn against_writer(&self, random: &mut Random) -> Forgery {
        let ((writer, writer_id), (reader, reader_id)) = (parts(self.writer), parts(self.reader));
        let ids = [writer_id, reader_id];
        let (number, count) = (near(random), u32::try_from(random.below(1 << 31)).unwrap());
        let message = Message::from(reader).to(writer);
        let message = match random.below(4) {
            0 => message.acknack(ids, number, 0, count, true),
            1 => message.acknack(ids, number, 256, count, false),
            2 => message.acknack(ids, 1, 256, count, false),
            _ => message.nack_fragment(ids, number, 256, count),
        };
        self.forgery(message, 1, true, false)
    }

    /// Participants and endpoints that leave.
    fn goodbye(&self, random: &mut Random) -> Forgery {
        let (side, prefix, entity, message) = self.in_name(random);
        let number = near(random);
        let message = if random.below(2) == 0 {
            message.data(SPDP, number, &goodbye(prefix, PARTICIPANT), true)
        } else {
            message.data([PUBLICATIONS, SUBSCRIPTIONS][side], 1 + number % 4, &goodbye(prefix, entity), true)
        };
        self.forgery(message, side, false, false)
    }

    /// A participant that has moved to another address, for ever.
    fn move_away(&self, random: &mut Random) -> Forgery {
        let (side, prefix, _, message) = self.in_name(random);
        let payload = participant(prefix, self.elsewhere, None);
        self.forgery(message.data(SPDP, near(random), &payload, false), side, false, true)
    }

    /// A side, its prefix and entity id, and the beginning of a message from it to the other.
    fn in_name(&self, random: &mut Random) -> (usize, [u8; 12], [u8; 4], Message) {
        let side = usize::from(random.below(2) == 0);
        let (prefix, entity) = parts([self.writer, self.reader][side]);
        let (other, _) = parts([self.reader, self.writer][side]);
        let message = Message::from(prefix);
        (side, prefix, entity, if random.below(2) == 0 { message.to(other) } else { message })
    }

    /// What the built-in writers of a side say: other announcements of its endpoint, and what they have.
    fn against_announcements(&self, random: &mut Random) -> Forgery {
        let (side, prefix, entity, message) = self.in_name(random);
        let ids = [PUBLICATIONS, SUBSCRIPTIONS][side];
        let (number, count) = (1 + near(random) % 5, u32::try_from(random.below(1 << 31)).unwrap());
        if random.below(3) == 0 {
            let payload = endpoint(prefix, entity, "Numbers", "Numbered", false, Some(self.elsewhere.user));
            return self.forgery(message.data(ids, number, &payload, false), side, false, true);
        }
        let ids = [ids, LIVELINESS][usize::from(random.below(3) == 0)];
        let message = match random.below(4) {
            0 => message.gap(ids, 1, number + 1_000),
            1 => message.heartbeat(ids, 1_000, 2_000, count, false),
            2 => message.acknack(ids, 1_000, 0, count, true),
            _ => message.acknack(ids, 1, 256, count, false),
        };
        self.forgery(message, side, false, false)
    }

    /// A participant that does not exist, which stays for ever if it is believed.
    fn newcomer(&self, random: &mut Random) -> Forgery {
        let side = usize::from(random.below(2) == 0);
        let (victim, _) = parts([self.reader, self.writer][side]);
        let prefix = random.bytes();
        let payload = participant(prefix, self.elsewhere, None);
        self.forgery(Message::from(prefix).to(victim).data(SPDP, 1, &payload, false), side, false, true)
    }
}

/// A sequence number that the pair may just be using, or one far beyond.
fn near(random: &mut Random) -> i64 {
    let limit = if random.below(4) == 0 { 1 << 40 } else { 20_000 };
    i64::try_from(1 + random.below(limit)).unwrap()
}

/// A sample of the victims' type (CDR, little endian) that nobody has written.
fn forged_sample(number: i64) -> Vec<u8> {
    let mut payload = vec![0, 1, 0, 0];
    payload.extend(number.to_le_bytes());
    payload.extend(16_u32.to_le_bytes());
    payload.extend([0x66; 16]);
    payload
}

/// The payload of a goodbye of a participant or an endpoint.
fn goodbye(prefix: [u8; 12], entity: [u8; 4]) -> Vec<u8> {
    let mut list = list();
    let id = if entity == [0, 0, 1, 0xc1] { 0x0050 } else { 0x005a };
    parameter(&mut list, id, &guid(prefix, entity));
    end(list)
}

impl Message {
    /// DATA_FRAG: the first fragment of some.
    fn fragment(self, [writer, reader]: [[u8; 4]; 2], number: i64, of: u32, payload: &[u8]) -> Self {
        let mut body = vec![0, 0, 28, 0];
        body.extend(reader);
        body.extend(writer);
        body.extend(sequence_number(number));
        body.extend(1_u32.to_le_bytes());
        body.extend(1_u16.to_le_bytes());
        let size = u16::try_from(payload.len()).unwrap();
        body.extend(size.to_le_bytes());
        body.extend((u32::from(size) * of).to_le_bytes());
        body.extend(payload);
        self.submessage(0x16, 0, &body)
    }

    /// GAP from one number to before another.
    fn gap(self, [writer, reader]: [[u8; 4]; 2], first: i64, end: i64) -> Self {
        let mut body = [reader, writer].concat();
        body.extend(sequence_number(first));
        body.extend(sequence_number(end));
        body.extend(0_u32.to_le_bytes());
        self.submessage(0x08, 0, &body)
    }

    /// HEARTBEAT_FRAG.
    fn heartbeat_fragment(self, [writer, reader]: [[u8; 4]; 2], number: i64, last: u32, count: u32) -> Self {
        let mut body = [reader, writer].concat();
        body.extend(sequence_number(number));
        body.extend(last.to_le_bytes());
        body.extend(count.to_le_bytes());
        self.submessage(0x13, 0, &body)
    }

    /// NACK_FRAG that misses so many fragments of a sample, at most 256.
    fn nack_fragment(self, [writer, reader]: [[u8; 4]; 2], number: i64, missing: u32, count: u32) -> Self {
        let mut body = [reader, writer].concat();
        body.extend(sequence_number(number));
        body.extend(1_u32.to_le_bytes());
        body.extend(set(missing));
        body.extend(count.to_le_bytes());
        self.submessage(0x12, 0, &body)
    }
}
