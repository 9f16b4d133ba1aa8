//! What bridges tell each other of types: the complete type objects of a type and of those that it needs.
use alloc::vec::Vec;
use core::fmt;

use xtypes::identifier::HASH_SIZE;
use xtypes::{Described, Library, ObjectId, Place, describe, recover};

/// The form that is described here.
const VERSION: u8 = 1;
/// Most bytes of all of it.
pub const LONGEST: usize = 1 << 20;
/// Most type objects.
const MOST: u16 = 4_096;

/// Why bytes tell no type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeError {
    /// Another version, whose number it is.
    Version(u8),
    /// They end too early, go on, or are too many.
    Length(usize),
    /// A type object is not the one that its identifier names.
    Identifier,
    /// A type object is missing, or is not understood.
    Unknown,
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => {
                write!(f, "types are told in version {version}, and {VERSION} is known here")
            }
            Self::Length(length) => write!(f, "{length} bytes are not the length of what tells a type"),
            Self::Identifier => f.write_str("a type object is not the one that its identifier names"),
            Self::Unknown => f.write_str("a type object is missing or not understood"),
        }
    }
}

impl core::error::Error for TypeError {}

/// A type as bytes: version, count, and each of its complete type objects with its identifier, the type itself last; all numbers little-endian. `None` if
/// there are too many.
pub fn encode(of: &Described) -> Option<Vec<u8>> {
    let count = u16::try_from(of.complete.len()).ok().filter(|count| (1..=MOST).contains(count))?;
    let mut out = Vec::from([VERSION]);
    out.extend_from_slice(&count.to_le_bytes());
    for (identifier, object) in &of.complete {
        let ObjectId { hash, place, .. } = ObjectId::of(identifier)?;
        let place = place.map_or([0; 2], |Place { length, index }| [length, index]);
        out.extend_from_slice(&place);
        out.extend_from_slice(&hash);
        out.extend_from_slice(&u32::try_from(object.len()).ok()?.to_le_bytes());
        out.extend_from_slice(object);
    }
    (out.len() <= LONGEST).then_some(out)
}

/// Reads a type.
///
/// # Errors
/// They are not the bytes of one.
pub fn decode(bytes: &[u8]) -> Result<Described, TypeError> {
    let short = TypeError::Length(bytes.len());
    if bytes.len() > LONGEST {
        return Err(short);
    }
    let mut rest = bytes;
    let [version] = take(&mut rest).ok_or(short)?;
    if version != VERSION {
        return Err(TypeError::Version(version));
    }
    let count = u16::from_le_bytes(take(&mut rest).ok_or(short)?);
    let mut objects = Vec::new();
    for _ in 0..count {
        let [length, index] = take(&mut rest).ok_or(short)?;
        let place = match length {
            0 if index == 0 => None,
            1..=64 if (1..=length).contains(&index) => Some(Place { length, index }),
            _ => return Err(TypeError::Identifier),
        };
        let hash = take::<HASH_SIZE>(&mut rest).ok_or(short)?;
        let size = u32::from_le_bytes(take(&mut rest).ok_or(short)?);
        let object = rest.split_at_checked(usize::try_from(size).map_err(|_| short)?);
        let (object, others) = object.ok_or(short)?;
        rest = others;
        objects.push((ObjectId { complete: true, hash, place }, object));
    }
    let (root, _) = *objects.last().filter(|_| rest.is_empty()).ok_or(short)?;
    let mut library = Library::default();
    let added = library.add_all(objects.iter().copied());
    if objects.iter().any(|(id, _)| !added.contains(id)) {
        return Err(TypeError::Identifier);
    }
    let (schema, index) = recover(&library, root).ok_or(TypeError::Unknown)?;
    describe(&schema, index).map_err(|_| TypeError::Unknown)
}

/// The next bytes.
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, others) = rest.split_first_chunk::<N>()?;
    *rest = others;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    fn described(text: &str) -> Described {
        let schema = dynamic::idl::parse(text).unwrap();
        let (index, _) = schema.iter().next_back().unwrap();
        describe(&schema, index).unwrap()
    }

    #[test]
    fn types_are_read_as_they_are_told() {
        for text in [
            "struct Joint { @key unsigned long arm; long angle; };",
            "enum Gear { LOW, HIGH }; struct Inner { sequence<Gear, 4> gears; }; @mutable struct Outer { Inner inner; string<9> name; };",
            "struct Tree; struct Branch { sequence<Tree> trees; }; struct Tree { Branch branch; };",
        ] {
            let told = described(text);
            assert_eq!(decode(&encode(&told).unwrap()).as_ref(), Ok(&told), "{text}");
        }
    }

    #[test]
    fn bytes_that_are_cut_lengthened_or_changed_are_refused() {
        let whole = encode(&described("struct Inner { long x; }; struct Outer { Inner inner; };")).unwrap();
        for length in 0..whole.len() {
            assert!(decode(&whole[..length]).is_err(), "{length}");
        }
        let mut longer = whole.clone();
        longer.push(0);
        assert_eq!(decode(&longer), Err(TypeError::Length(longer.len())));
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x40;
            assert!(decode(&changed).is_err(), "byte {at}");
        }
        assert!(decode(&[2, 1, 0]).unwrap_err().to_string().contains("version 2"));
        assert_eq!(decode(&[1, 0, 0]), Err(TypeError::Length(3)));
    }

    #[test]
    fn a_type_without_those_that_it_needs_is_unknown() {
        let mut told = described("struct Inner { long x; }; struct Outer { Inner inner; };");
        told.complete.remove(0);
        assert_eq!(decode(&encode(&told).unwrap()), Err(TypeError::Unknown));
    }
}
