//! Makes an input out of seeds: a few changes each, some of bytes, some of whole parts.
use crate::structure::{Part, Structure};
use testkit::random::Random;

/// The longest input: what one UDP datagram can carry.
pub const MAX_LEN: usize = 65_507;

/// Numbers that programs get wrong, in as many bytes as they are written to.
const EDGES: [u64; 22] = [
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x101,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_ffff,
];

/// Mutates seeds of one structure.
#[derive(Clone, Debug)]
pub struct Mutator {
    structure: Structure,
    seeds: Vec<Vec<u8>>,
    parts: Vec<Part>,
    other_parts: Vec<Part>,
    piece: Vec<u8>,
}

impl Mutator {
    /// With seeds, at best valid inputs of every kind.
    pub fn new(structure: Structure, seeds: Vec<Vec<u8>>) -> Self {
        Self { structure, seeds, parts: Vec::new(), other_parts: Vec::new(), piece: Vec::new() }
    }

    /// Puts the input that `random` decides into `out`.
    pub fn make(&mut self, random: &mut Random, out: &mut Vec<u8>) {
        out.clear();
        if let Some(seed) = random.pick(&self.seeds) {
            out.extend_from_slice(seed);
        }
        // Few changes keep most of an input valid, so that what lies deep is reached.
        let mut changes = 1;
        while changes < 12 && !random.one_in(3) {
            changes += 1;
        }
        for _ in 0..changes {
            if self.structure != Structure::Plain && random.one_in(2) {
                self.change_parts(random, out);
            } else {
                self.change_octets(random, out);
            }
        }
        out.truncate(MAX_LEN);
    }

    fn change_parts(&mut self, random: &mut Random, out: &mut Vec<u8>) {
        self.structure.parts(out, &mut self.parts);
        let Some(part) = random.pick(&self.parts).copied() else {
            return self.change_octets(random, out);
        };
        match random.below(8) {
            // Double it, here or at the end.
            0 => {
                self.keep(out, part);
                let at = if random.one_in(2) { part.end } else { out.len() };
                insert(out, at, &self.piece);
            }
            // Repeat it often.
            1 => {
                self.keep(out, part);
                for _ in 0..random.below(64) {
                    if out.len() + self.piece.len() > MAX_LEN {
                        break;
                    }
                    insert(out, part.end, &self.piece);
                }
            }
            2 => drop(out.drain(part.start..part.end)),
            // Move it elsewhere.
            3 => {
                self.keep(out, part);
                drop(out.drain(part.start..part.end));
                self.structure.parts(out, &mut self.parts);
                let at = random.pick(&self.parts).map_or(out.len(), |other| other.start);
                insert(out, at, &self.piece);
            }
            // Take one from another seed.
            4 => {
                let Some(seed) = random.pick(&self.seeds) else { return };
                self.structure.parts(seed, &mut self.other_parts);
                let Some(other) = random.pick(&self.other_parts) else { return };
                self.piece.clear();
                self.piece.extend_from_slice(seed.get(other.start..other.end).unwrap_or(&[]));
                insert(out, part.start, &self.piece);
            }
            // Lie about its length: by a little, or wildly.
            5 => {
                let true_len = (part.end - part.start).saturating_sub(4) as u16;
                let lie = if random.one_in(2) {
                    true_len.wrapping_add(random.below(17) as u16).wrapping_sub(8)
                } else {
                    edge(random) as u16
                };
                put(out, part.length_at(), u64::from(lie), 2, part.little);
            }
            // Change its id, or its flags with the byte order among them.
            6 => {
                let at = part.start + random.below(2);
                if let Some(octet) = out.get_mut(at) {
                    *octet ^= 1 << random.below(8);
                }
            }
            // End within it.
            _ => out.truncate(part.start + random.below(part.end - part.start + 1)),
        }
    }

    fn change_octets(&mut self, random: &mut Random, out: &mut Vec<u8>) {
        if out.is_empty() {
            out.extend((0..random.below(64)).map(|_| 0));
            return;
        }
        let at = random.below(out.len());
        match random.below(10) {
            0 | 1 => {
                if let Some(octet) = out.get_mut(at) {
                    *octet ^= 1 << random.below(8);
                }
            }
            2 => {
                if let Some(octet) = out.get_mut(at) {
                    *octet = random.bits() as u8;
                }
            }
            // An edge where a field may stand: fields are aligned to their size.
            3..=5 => {
                let size = 1 << random.below(4);
                let little = !random.one_in(4);
                put(out, at & !(size - 1), edge(random), size, little);
            }
            // A little more or less than what is there.
            6 => {
                let size = 1 << random.below(3);
                let at = at & !(size - 1);
                let little = !random.one_in(4);
                let delta = (random.below(9) as u64).wrapping_sub(4);
                let number = get(out, at, size, little).wrapping_add(delta);
                put(out, at, number, size, little);
            }
            7 => {
                let len = random.below(out.len() - at + 1).min(1 << random.below(8));
                drop(out.drain(at..at + len));
            }
            // Copy a stretch to another place.
            8 => {
                let len = random.below(out.len() - at + 1).min(1 << random.below(10));
                self.piece.clear();
                self.piece.extend_from_slice(out.get(at..at + len).unwrap_or(&[]));
                insert(out, random.below(out.len() + 1), &self.piece);
            }
            _ if random.one_in(2) => out.truncate(at),
            _ => {
                let octet = if random.one_in(2) { 0 } else { random.bits() as u8 };
                self.piece.clear();
                self.piece.resize(1 << random.below(8), octet);
                insert(out, at, &self.piece);
            }
        }
    }

    fn keep(&mut self, bytes: &[u8], part: Part) {
        self.piece.clear();
        self.piece.extend_from_slice(bytes.get(part.start..part.end).unwrap_or(&[]));
    }
}

fn edge(random: &mut Random) -> u64 {
    random.pick(&EDGES).copied().unwrap_or(0)
}

/// Inserts as much as keeps the input below the limit.
fn insert(out: &mut Vec<u8>, at: usize, piece: &[u8]) {
    let room = MAX_LEN.saturating_sub(out.len());
    let piece = piece.get(..room).unwrap_or(piece);
    let at = at.min(out.len());
    out.splice(at..at, piece.iter().copied());
}

/// Writes the low bytes of a number, as many of them as there is place for.
fn put(out: &mut [u8], at: usize, number: u64, size: usize, little: bool) {
    let bytes = number.to_le_bytes();
    for index in 0..size {
        let place = if little { index } else { size - 1 - index };
        if let (Some(octet), Some(value)) = (out.get_mut(at + place), bytes.get(index)) {
            *octet = *value;
        }
    }
}

fn get(bytes: &[u8], at: usize, size: usize, little: bool) -> u64 {
    (0..size).fold(0, |number, index| {
        let place = if little { size - 1 - index } else { index };
        number << 8 | u64::from(bytes.get(at + place).copied().unwrap_or(0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Vec<u8> {
        let mut bytes = b"RTPS\x02\x05\x01\xfe____________".to_vec();
        for kind in 0..5 {
            bytes.extend([kind, 1, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        }
        bytes
    }

    #[test]
    fn equal_cases_give_equal_inputs_and_cases_differ() {
        let mut mutator = Mutator::new(Structure::Message, vec![message()]);
        let mut make = |index| {
            let mut out = Vec::new();
            mutator.make(&mut Random::of_case(3, index), &mut out);
            out
        };
        let inputs: Vec<_> = (0..500).map(&mut make).collect();
        assert_eq!(inputs, (0..500).map(&mut make).collect::<Vec<_>>());
        let mut distinct = inputs.clone();
        distinct.sort();
        distinct.dedup();
        assert!(distinct.len() > 450, "{} of 500 differ", distinct.len());
        assert!(inputs.iter().all(|input| input.len() <= MAX_LEN));
    }

    #[test]
    fn most_inputs_keep_their_header_and_many_keep_all_parts_whole() {
        let mut mutator = Mutator::new(Structure::Message, vec![message()]);
        let (mut headers, mut whole, mut out) = (0, 0, Vec::new());
        for index in 0..1000 {
            mutator.make(&mut Random::of_case(0, index), &mut out);
            headers += u32::from(out.starts_with(b"RTPS"));
            let mut parts = Vec::new();
            Structure::Message.parts(&out, &mut parts);
            whole += u32::from(parts.iter().all(|part| part.end - part.start == 12));
        }
        assert!(headers > 700 && whole > 150, "{headers} headers, {whole} whole");
    }

    #[test]
    fn long_seeds_and_no_seeds_are_handled() {
        for seeds in [vec![], vec![vec![]], vec![vec![7; MAX_LEN]]] {
            for structure in [Structure::Message, Structure::ParameterList, Structure::Plain] {
                let mut mutator = Mutator::new(structure, seeds.clone());
                let mut out = Vec::new();
                for index in 0..200 {
                    mutator.make(&mut Random::of_case(1, index), &mut out);
                    assert!(out.len() <= MAX_LEN);
                }
            }
        }
    }

    #[test]
    fn numbers_are_written_in_both_byte_orders() {
        let mut bytes = [0; 6];
        put(&mut bytes, 0, 0x0102, 2, true);
        put(&mut bytes, 2, 0x0304, 2, false);
        put(&mut bytes, 4, 0x0506_0708, 4, true);
        assert_eq!(bytes, [2, 1, 3, 4, 8, 7]);
        assert_eq!((get(&bytes, 0, 2, true), get(&bytes, 2, 2, false)), (0x0102, 0x0304));
    }
}
