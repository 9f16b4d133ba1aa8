//! RTPS messages, written and read after RTPS 2.5, 8.3 and 9.4: little endian, as little of them as the attacks need.

/// Writer and reader of participant announcements.
pub(crate) const SPDP: [[u8; 4]; 2] = [[0, 1, 0, 0xc2], [0, 1, 0, 0xc7]];
/// Writer and reader of announcements of writers.
pub(crate) const PUBLICATIONS: [[u8; 4]; 2] = [[0, 0, 3, 0xc2], [0, 0, 3, 0xc7]];
/// Writer and reader of announcements of readers.
pub(crate) const SUBSCRIPTIONS: [[u8; 4]; 2] = [[0, 0, 4, 0xc2], [0, 0, 4, 0xc7]];
const LITTLE: u8 = 1;

/// Bytes of a message under construction.
pub(crate) struct Message(Vec<u8>);

impl Message {
    /// In the name of this participant.
    pub(crate) fn from(prefix: [u8; 12]) -> Self {
        // A vendor id that nobody has.
        let mut bytes = b"RTPS\x02\x05\x01\x77".to_vec();
        bytes.extend(prefix);
        Self(bytes)
    }

    /// Its bytes.
    pub(crate) fn bytes(self) -> Vec<u8> {
        self.0
    }

    /// Appends a submessage.
    pub(crate) fn submessage(mut self, kind: u8, flags: u8, body: &[u8]) -> Self {
        self.0.extend([kind, flags | LITTLE]);
        self.0.extend(u16::try_from(body.len()).unwrap().to_le_bytes());
        self.0.extend(body);
        self
    }

    /// INFO_DST.
    pub(crate) fn to(self, prefix: [u8; 12]) -> Self {
        self.submessage(0x0e, 0, &prefix)
    }

    /// DATA; `ends` says that it disposes and unregisters what the payload is the key of.
    pub(crate) fn data(
        self,
        [writer, reader]: [[u8; 4]; 2],
        number: i64,
        payload: &[u8],
        ends: bool,
    ) -> Self {
        let mut body = vec![0, 0, 16, 0];
        body.extend(reader);
        body.extend(writer);
        body.extend(sequence_number(number));
        if ends {
            // PID_STATUS_INFO: disposed and unregistered; the sentinel.
            body.extend([0x71, 0, 4, 0, 0, 0, 0, 3, 1, 0, 0, 0]);
        }
        body.extend(payload);
        body.resize(body.len().next_multiple_of(4), 0);
        self.submessage(0x15, if ends { 0x0a } else { 0x04 }, &body)
    }

    /// HEARTBEAT; it wants an answer unless it is final.
    pub(crate) fn heartbeat(
        self,
        [writer, reader]: [[u8; 4]; 2],
        first: i64,
        last: i64,
        count: u32,
        is_final: bool,
    ) -> Self {
        let mut body = [reader, writer].concat();
        body.extend(sequence_number(first));
        body.extend(sequence_number(last));
        body.extend(count.to_le_bytes());
        self.submessage(0x07, if is_final { 2 } else { 0 }, &body)
    }

    /// ACKNACK that has all before a number and misses so many from there, at most 256.
    pub(crate) fn acknack(
        self,
        [writer, reader]: [[u8; 4]; 2],
        base: i64,
        missing: u32,
        count: u32,
        is_final: bool,
    ) -> Self {
        let mut body = [reader, writer].concat();
        body.extend(sequence_number(base));
        body.extend(set(missing));
        body.extend(count.to_le_bytes());
        self.submessage(0x06, if is_final { 2 } else { 0 }, &body)
    }
}

impl Message {
    /// ACKNACK that asks for these numbers, at least one, which rise and lie within 256.
    pub(crate) fn asks(self, [writer, reader]: [[u8; 4]; 2], numbers: &[i64], count: u32) -> Self {
        let (base, last) = (numbers[0], numbers[numbers.len() - 1]);
        let mut words = vec![0_u32; usize::try_from(last - base).unwrap() / 32 + 1];
        for number in numbers {
            let at = usize::try_from(number - base).unwrap();
            words[at / 32] |= 1 << (31 - at % 32);
        }
        let mut body = [reader, writer].concat();
        body.extend(sequence_number(base));
        body.extend(u32::try_from(last - base + 1).unwrap().to_le_bytes());
        words.iter().for_each(|word| body.extend(word.to_le_bytes()));
        body.extend(count.to_le_bytes());
        self.submessage(0x06, 2, &body)
    }
}

/// A sequence number, high word first (9.3.2).
pub(crate) fn sequence_number(number: i64) -> [u8; 8] {
    let [low @ .., h4, h5, h6, h7] = number.to_le_bytes();
    let [l0, l1, l2, l3] = low;
    [h4, h5, h6, h7, l0, l1, l2, l3]
}

/// The bitmap of a set with its first members, without its base.
pub(crate) fn set(members: u32) -> Vec<u8> {
    let mut bytes = members.to_le_bytes().to_vec();
    for word in 0..members.div_ceil(32) {
        let here = (members - 32 * word).min(32);
        // The first member is the highest bit of the first word.
        let bits = if here == 32 { u32::MAX } else { !(u32::MAX >> here) };
        bytes.extend(bits.to_le_bytes());
    }
    bytes
}

/// A submessage that was read.
#[derive(Debug)]
pub(crate) struct Submessage<'a> {
    pub(crate) kind: u8,
    pub(crate) body: &'a [u8],
}

impl Submessage<'_> {
    /// Reader and writer of HEARTBEAT, ACKNACK, GAP and of the fragments' own.
    pub(crate) fn entities(&self) -> Option<[[u8; 4]; 2]> {
        let at = if matches!(self.kind, 0x15 | 0x16) { 4 } else { 0 };
        Some([self.body.get(at + 4..at + 8)?.try_into().ok()?, self.body.get(at..at + 4)?.try_into().ok()?])
    }

    /// The numbers that a GAP names from its first on, as far as they are needed for an answer.
    pub(crate) fn irrelevant(&self) -> Option<Vec<i64>> {
        let (start, base) = (self.number(8)?, self.number(16)?);
        let len = usize::try_from(u32::from_le_bytes(self.body.get(24..28)?.try_into().ok()?)).ok()?;
        let is_set = |at: usize| {
            let word = self.body.get(28 + at / 32 * 4..)?.first_chunk()?;
            Some(u32::from_le_bytes(*word) >> (31 - at % 32) & 1 == 1)
        };
        let listed = (0..len.min(256)).filter(|at| is_set(*at) == Some(true));
        Some((start..base.min(start + 256)).chain(listed.map(|at| base + at as i64)).collect())
    }

    /// The sequence number that lies at a place, if the message is little endian.
    pub(crate) fn number(&self, at: usize) -> Option<i64> {
        let high = i64::from(u32::from_le_bytes(self.body.get(at..at + 4)?.try_into().ok()?));
        let low = i64::from(u32::from_le_bytes(self.body.get(at + 4..at + 8)?.try_into().ok()?));
        Some(high << 32 | low)
    }
}

/// The sender's prefix and the submessages; nothing if it is no RTPS.
pub(crate) fn read(bytes: &[u8]) -> Option<([u8; 12], Vec<Submessage<'_>>)> {
    let prefix = bytes.strip_prefix(b"RTPS")?.get(4..16)?.try_into().ok()?;
    let (mut rest, mut found) = (&bytes[20..], Vec::new());
    while let [kind, _, low, high, after @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        let length = if length == 0 && !matches!(kind, 0x01 | 0x09) { after.len() } else { length };
        let body = after.get(..length)?;
        found.push(Submessage { kind: *kind, body });
        rest = &after[length..];
    }
    Some((prefix, found))
}
