//! What peers say about their types.
use dynamic::idl;
use wire::cdr::DecodeError;
use xtypes::{TypeInformation, TypeObject, describe};

const TYPES: &str = "
    module fuzz {
        enum Gear { REVERSE = -1, NEUTRAL };
        bitmask Flags { A, @position(5) B };
        typedef sequence<Gear, 300> Gears;
        @mutable union Choice switch (Gear) { case NEUTRAL: string<300> one; default: map<short, Gears, 4> other; };
        @final struct Base { @key long id; wstring text; };
        struct Rich : Base { Choice choices[2][300]; @optional Flags flags; sequence<sequence<Base>> deep; };
    };
";

/// Reads any bytes as type information and as a type object. What was read is written and read as the same.
pub fn type_object(bytes: &[u8]) {
    same(bytes, TypeInformation::read, |read| read.serialize().ok());
    same(bytes, TypeObject::read, |read| read.serialize().ok());
}

fn same<T: PartialEq>(
    bytes: &[u8],
    read: impl Fn(&[u8]) -> Result<T, DecodeError>,
    write: impl Fn(&T) -> Option<Vec<u8>>,
) {
    let Ok(first) = read(bytes) else { return };
    let written = write(&first).unwrap_or_else(|| unreachable!("what was read can be written"));
    assert!(read(&written).is_ok_and(|again| again == first), "what was written is read as something else");
}

/// Type information and type objects of every shape.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let Ok(schema) = idl::parse(TYPES) else { return Vec::new() };
    let described = schema.iter().filter_map(|(index, _)| describe(&schema, index).ok());
    let each = described.flat_map(|of| {
        let information = of.information().serialize().ok();
        of.minimal.into_iter().chain(of.complete).map(|(_, object)| object).chain(information)
    });
    each.collect()
}
