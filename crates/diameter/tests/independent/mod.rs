//! Diameter bytes without the crate: what the tests write and read by themselves, after RFC 6733, 3 and 4, and after the
//! grammars of the commands.
#![allow(dead_code, reason = "each test program uses a part")]

use testkit::random::Random;

/// An AVP, with its value as bytes or as AVPs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Avp {
    pub(crate) code: u32,
    pub(crate) vendor: u32,
    pub(crate) flags: u8,
    pub(crate) value: Value,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Value {
    Bytes(Vec<u8>),
    Group(Vec<Avp>),
}

/// A whole message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Message {
    pub(crate) flags: u8,
    pub(crate) command: u32,
    pub(crate) application: u32,
    pub(crate) hop_by_hop: u32,
    pub(crate) end_to_end: u32,
    pub(crate) avps: Vec<Avp>,
}

fn three(number: usize) -> [u8; 3] {
    let [_, a, b, c] = u32::try_from(number).unwrap().to_be_bytes();
    [a, b, c]
}

impl Avp {
    pub(crate) fn new(code: u32, value: Vec<u8>) -> Self {
        Self { code, vendor: 0, flags: 0x40, value: Value::Bytes(value) }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let value = match &self.value {
            Value::Bytes(bytes) => bytes.clone(),
            Value::Group(avps) => avps.iter().fold(Vec::new(), |mut out, avp| {
                avp.write(&mut out);
                out
            }),
        };
        let header = if self.vendor == 0 { 8 } else { 12 };
        out.extend(self.code.to_be_bytes());
        out.push(self.flags | if self.vendor == 0 { 0 } else { 0x80 });
        out.extend(three(value.len() + header));
        if self.vendor != 0 {
            out.extend(self.vendor.to_be_bytes());
        }
        out.extend(&value);
        out.resize(out.len().next_multiple_of(4), 0);
    }

    /// The number in a value of four bytes.
    pub(crate) fn u32(&self) -> u32 {
        match &self.value {
            Value::Bytes(bytes) => u32::from_be_bytes(bytes.as_slice().try_into().unwrap()),
            Value::Group(_) => panic!("a group is no number"),
        }
    }

    /// The text in a value.
    pub(crate) fn text(&self) -> String {
        match &self.value {
            Value::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
            Value::Group(_) => panic!("a group is no text"),
        }
    }
}

impl Message {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut body = Vec::new();
        self.avps.iter().for_each(|avp| avp.write(&mut body));
        let mut out = vec![1];
        out.extend(three(body.len() + 20));
        out.push(self.flags);
        out.extend(three(self.command as usize));
        for word in [self.application, self.hop_by_hop, self.end_to_end] {
            out.extend(word.to_be_bytes());
        }
        out.extend(body);
        out
    }

    /// Reads bytes that are right; groups are those of the grammars below.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!(word(0), 0x0100_0000 + bytes.len() as u32, "version and length");
        Self {
            flags: bytes[4],
            command: word(4) & 0xff_ffff,
            application: word(8),
            hop_by_hop: word(12),
            end_to_end: word(16),
            avps: read_avps(&bytes[20..]),
        }
    }

    pub(crate) fn is_request(&self) -> bool {
        self.flags & 0x80 != 0
    }

    pub(crate) fn find(&self, code: u32) -> Option<&Avp> {
        self.avps.iter().find(|avp| avp.code == code && avp.vendor == 0)
    }

    /// The same with AVPs in an order that does not depend on how they were written.
    pub(crate) fn sorted(mut self) -> Self {
        sort(&mut self.avps);
        self
    }
}

fn sort(avps: &mut [Avp]) {
    for avp in avps.iter_mut() {
        if let Value::Group(inner) = &mut avp.value {
            sort(inner);
        }
    }
    avps.sort();
}

fn read_avps(mut bytes: &[u8]) -> Vec<Avp> {
    let mut avps = Vec::new();
    while !bytes.is_empty() {
        let code = u32::from_be_bytes(bytes[..4].try_into().unwrap());
        let flags = bytes[4];
        let len = u32::from_be_bytes([0, bytes[5], bytes[6], bytes[7]]) as usize;
        let header = if flags & 0x80 == 0 { 8 } else { 12 };
        let vendor = if header == 8 { 0 } else { u32::from_be_bytes(bytes[8..12].try_into().unwrap()) };
        let value = &bytes[header..len];
        let value = match kind_of(code) {
            Kind::Group(_) if vendor == 0 => Value::Group(read_avps(value)),
            _ => Value::Bytes(value.to_vec()),
        };
        avps.push(Avp { code, vendor, flags: flags & 0x7f, value });
        bytes = &bytes[len.next_multiple_of(4)..];
    }
    avps
}

/// What values an AVP has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Number,
    Long,
    Choice(&'static [i32]),
    Below(u32),
    Identity,
    Uri,
    Text,
    Bytes,
    Address,
    Float,
    Group(Grammar),
}

/// AVPs that occur once, at most once, any number of times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grammar {
    pub(crate) once: &'static [u32],
    pub(crate) maybe: &'static [u32],
    pub(crate) many: &'static [u32],
}

const fn grammar(once: &'static [u32], maybe: &'static [u32], many: &'static [u32]) -> Grammar {
    Grammar { once, maybe, many }
}

/// What values the AVPs of the grammars have.
pub(crate) fn kind_of(code: u32) -> Kind {
    use Kind::*;
    match code {
        257 | 518 => Address,
        264 | 280 | 282 | 283 | 293 | 294 | 296 => Identity,
        292 => Uri,
        1 | 50 | 263 | 269 | 281 => Text,
        25 | 33 | 279 | 512 => Bytes,
        287 | 363..=366 => Long,
        496..=498 => Float,
        273 => Choice(&[0, 1, 2]),
        274 => Choice(&[1, 2, 3]),
        277 | 285 | 517 => Choice(&[0, 1]),
        295 => Choice(&[1, 2, 3, 4, 5, 6, 7, 8]),
        480 => Choice(&[1, 2, 3, 4]),
        483 => Choice(&[1, 2, 3]),
        514 => Choice(&[0, 1, 2]),
        572 => Choice(&[0, 1, 2, 3]),
        575 => Choice(&[0, 1, 2, 3, 4]),
        513 => Below(256),
        523 => Below(129),
        530 | 532 | 533 => Below(65_536),
        535 => Below(64),
        260 => Group(grammar(&[266], &[258, 259], &[])),
        284 => Group(grammar(&[280, 33], &[], &[])),
        297 => Group(grammar(&[266, 298], &[], &[])),
        495 => Group(grammar(&[496, 497, 498, 499, 500], &[], &[])),
        508 => Group(grammar(&[], &[], &[509])),
        509 => Group(grammar(&[], &[510, 511, 572, 575, 574, 576, 577], &[])),
        511 => Group(grammar(&[512], &[513, 514], &[515, 516, 535])),
        515 | 516 => Group(grammar(&[], &[517], &[518, 522, 530, 531])),
        522 => Group(grammar(&[518, 523], &[], &[])),
        531 => Group(grammar(&[], &[532, 533], &[])),
        574 => Group(grammar(&[266, 573], &[], &[])),
        576 => Group(grammar(&[], &[495, 503], &[])),
        577 => Group(grammar(&[572], &[574, 576], &[])),
        _ => Number,
    }
}

/// The commands: code, whether it is a request, P flag, and grammar.
pub(crate) const COMMANDS: [(u32, bool, bool, Grammar); 16] = [
    (257, true, false, grammar(&[264, 296, 266, 269], &[278, 267], &[257, 265, 258, 299, 259, 260])),
    (
        257,
        false,
        false,
        grammar(&[268, 264, 296], &[266, 269, 278, 281, 267], &[257, 279, 265, 258, 299, 259, 260]),
    ),
    (258, true, true, grammar(&[263, 264, 296, 283, 293, 258, 285], &[1, 278], &[284, 282])),
    (258, false, true, grammar(&[263, 268, 264, 296], &[1, 278, 281, 294], &[279, 284])),
    (265, true, true, grammar(&[263, 258, 264, 296, 283, 274], &[293, 1, 278, 277, 291, 508], &[284, 282])),
    (
        265,
        false,
        true,
        grammar(
            &[263, 264, 296],
            &[258, 274, 268, 297, 1, 85, 281, 294, 27, 291, 276, 277, 278, 508],
            &[25, 279, 284],
        ),
    ),
    (
        271,
        true,
        true,
        grammar(
            &[263, 264, 296, 283, 480, 485],
            &[259, 293, 1, 287, 50, 85, 483, 278, 55, 363, 364, 365, 366, 46, 295, 508],
            &[25, 284, 282],
        ),
    ),
    (
        271,
        false,
        true,
        grammar(&[263, 264, 296], &[268, 297, 480, 485, 259, 1, 281, 294, 85, 483, 278], &[279, 284]),
    ),
    (274, true, true, grammar(&[263, 264, 296, 283, 293, 258], &[1, 278], &[284, 282])),
    (274, false, true, grammar(&[263, 268, 264, 296], &[1, 278, 281, 294], &[279, 284])),
    (275, true, true, grammar(&[263, 264, 296, 283, 258, 295], &[1, 293, 278], &[25, 284, 282])),
    (275, false, true, grammar(&[263, 268, 264, 296], &[1, 281, 294, 278], &[279, 284])),
    (280, true, false, grammar(&[264, 296], &[278], &[])),
    (280, false, false, grammar(&[268, 264, 296], &[281, 278], &[279])),
    (282, true, false, grammar(&[264, 296, 273], &[], &[])),
    (282, false, false, grammar(&[268, 264, 296], &[281], &[279])),
];

/// An answer with the error bit.
pub(crate) const ERROR: Grammar = grammar(&[264, 296, 268], &[263, 278, 281, 294, 297], &[279, 292, 284]);

fn random_bytes(random: &mut Random, most: usize) -> Vec<u8> {
    (0..random.below(most + 1)).map(|_| random.bits() as u8).collect()
}

fn random_value(random: &mut Random, code: u32, depth: usize) -> Value {
    let text = |random: &mut Random, letters: &[char]| -> Vec<u8> {
        let count = 1 + random.below(12);
        (0..count).map(|_| *random.pick(letters).unwrap()).collect::<String>().into_bytes()
    };
    let name = |random: &mut Random| text(random, &['a', 'Z', '7', '.', '-', '_']);
    Value::Bytes(match kind_of(code) {
        Kind::Number => (random.bits() as u32).to_be_bytes().to_vec(),
        Kind::Long => random.bits().to_be_bytes().to_vec(),
        Kind::Choice(choices) => random.pick(choices).unwrap().to_be_bytes().to_vec(),
        Kind::Below(limit) => (random.below(limit as usize) as u32).to_be_bytes().to_vec(),
        Kind::Identity => name(random),
        Kind::Uri => [b"aaa://".to_vec(), name(random), b":3868;transport=tcp".to_vec()].concat(),
        Kind::Text => text(random, &['x', 'é', '数', ';', ' ']),
        Kind::Bytes if code == 279 => {
            let mut inner = Vec::new();
            Avp::new(random.bits() as u32, random_bytes(random, 9)).write(&mut inner);
            inner
        }
        Kind::Bytes => random_bytes(random, 9),
        Kind::Address if random.chance(50) => {
            let mut bytes = vec![0, 1];
            bytes.extend((random.bits() as u32).to_be_bytes());
            bytes
        }
        Kind::Address => {
            let mut bytes = vec![0, 2];
            bytes.extend(random.bits().to_be_bytes());
            bytes.extend(random.bits().to_be_bytes());
            bytes
        }
        Kind::Float => ((random.below(1 << 24) as f32) * 1024.0).to_bits().to_be_bytes().to_vec(),
        Kind::Group(grammar) => return Value::Group(random_avps(random, grammar, depth + 1)),
    })
}

/// The flags that senders set.
const fn flags_of(code: u32) -> u8 {
    if matches!(code, 281 | 269 | 267 | 294) { 0 } else { 0x40 }
}

/// AVPs as a grammar wants them, in any order, with some that it does not name.
pub(crate) fn random_avps(random: &mut Random, grammar: Grammar, depth: usize) -> Vec<Avp> {
    let mut codes: Vec<u32> = grammar.once.to_vec();
    let often = if depth == 0 { 40 } else { 60 };
    codes.extend(grammar.maybe.iter().filter(|_| random.chance(often)));
    for code in grammar.many {
        codes.extend(std::iter::repeat_n(*code, if random.chance(often) { random.below(3) } else { 0 }));
    }
    let mut avps: Vec<Avp> = codes
        .into_iter()
        .map(|code| Avp { code, vendor: 0, flags: flags_of(code), value: random_value(random, code, depth) })
        .collect();
    if random.chance(20) {
        // Of a vendor, or unknown: without the M flag it is kept.
        let vendor = if random.chance(50) { 10_415 } else { 0 };
        let code = if vendor == 0 { 100_000 } else { random.bits() as u32 };
        let flags = if random.chance(20) { 0x20 } else { 0 };
        avps.push(Avp { code, vendor, flags, value: Value::Bytes(random_bytes(random, 9)) });
    }
    if depth == 0 && !avps.is_empty() && random.chance(30) {
        let (a, b) = (random.below(avps.len()), random.below(avps.len()));
        avps.swap(a, b);
    }
    avps
}

/// A message that is right, and which of [`COMMANDS`] it is; the number of commands for an error.
pub(crate) fn random_message(random: &mut Random) -> (usize, Message) {
    let index = random.below(COMMANDS.len() + 1);
    let numbers = [random.bits() as u32, random.bits() as u32, random.bits() as u32];
    let (command, flags, grammar) = match COMMANDS.get(index) {
        Some((command, request, proxiable, grammar)) => {
            let flags = if *request { 0x80 } else { 0 } | if *proxiable { 0x40 } else { 0 };
            (*command, flags | if *request && random.chance(20) { 0x10 } else { 0 }, *grammar)
        }
        None => (random.below(1 << 24) as u32, 0x60, ERROR),
    };
    let avps = random_avps(random, grammar, 0);
    let [application, hop_by_hop, end_to_end] = numbers;
    (index, Message { flags, command, application, hop_by_hop, end_to_end, avps })
}
