//! Types that contain each other, and bitsets.
use wire::md5::md5;
use xtypes::{
    DescribeError, Described, Library, ObjectId, Place, TypeIdentifier, TypeInformation, TypeObject,
    describe, recover,
};

use super::{bytes, hex};

fn described(idl: &str, name: &str) -> Described {
    let schema = dynamic::idl::parse(idl).unwrap();
    describe(&schema, schema.find(name).unwrap()).unwrap()
}

/// The identifiers by complete type objects, with their places.
fn places(of: &Described) -> Vec<Option<(u8, u8)>> {
    let ids = of.complete.iter().map(|(identifier, _)| ObjectId::of(identifier).unwrap());
    ids.map(|id| id.place.map(|Place { length, index }| (length, index))).collect()
}

/// Type objects of a component in their order.
fn component(objects: &[(TypeIdentifier, Vec<u8>)]) -> (ObjectId, Vec<Vec<u8>>) {
    let mut found: Vec<(ObjectId, Vec<u8>)> = objects
        .iter()
        .map(|(identifier, object)| (ObjectId::of(identifier).unwrap(), object.clone()))
        .filter(|(id, _)| id.place.is_some())
        .collect();
    found.sort();
    (found[0].0, found.into_iter().map(|(_, object)| object).collect())
}

/// The hash as bytes alone tell it: a number, and type objects at multiples of four in which zeros stand for it.
fn hash_of_bytes(id: ObjectId, objects: &[Vec<u8>]) -> [u8; 14] {
    let mut bytes = (objects.len() as u32).to_le_bytes().to_vec();
    for object in objects {
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let mut object = object.clone();
        let mut named = 0;
        for at in 0..object.len() - id.hash.len() {
            if object[at..].starts_with(&id.hash) {
                object[at..at + id.hash.len()].fill(0);
                named += 1;
            }
        }
        assert!(named > 0, "a type object of a component names another one");
        bytes.extend(object);
    }
    md5(&bytes)[..14].try_into().unwrap()
}

const LIST: &str = "@final struct List { long value; sequence<List> more; };";
const TREE: &str = "
    module m {
        struct Zoo;
        typedef sequence<Zoo> Zoos;
        union Cage switch (long) { case 1: Zoos zoos; case 2: long number; };
        struct Plain { long x; };
        @mutable struct Zoo { @key string name; sequence<Cage> cages; @optional Zoo next; Plain plain; };
        struct Root { Zoos zoos; map<string, Cage> cages; };
    };";

/// Types with their type information, as `idlc` of Cyclone DDS of August 2026 (`4eb056128`, after release 11.0.1) writes it.
const CYCLONE: &[(&str, &str)] = &[
    (
        "List",
        "8000000001100040380000003400000024000000b000000018000000f1d6e8dee625f2178ece208213bfbe0001000000010000005800000000000000040000000000000002100040380000003400000024000000b000000018000000f2da0ba544540d478235168fd1ec6c00010000000100000073000000000000000400000000000000",
    ),
    (
        "m::Cage",
        "5001000001100040a00000009c00000024000000b000000018000000f14501236b6d1a3c040a7b46854f8300030000000100000068000000030000006c0000000300000024000000b000000018000000f14501236b6d1a3c040a7b46854f830003000000030000003400000024000000b000000018000000f14501236b6d1a3c040a7b46854f83000300000002000000a100000014000000f1f50fef177a97ac1435cc12adaf04002700000002100040a00000009c00000024000000b000000018000000f258b62f0cc6b962ecaef7d67577400003000000010000008d000000030000006c0000000300000024000000b000000018000000f258b62f0cc6b962ecaef7d67577400003000000030000004600000024000000b000000018000000f258b62f0cc6b962ecaef7d6757740000300000002000000d000000014000000f2796ddcad267a583779746ef8ee6b003c000000",
    ),
    (
        "m::Zoo",
        "5001000001100040a00000009c00000024000000b000000018000000f14501236b6d1a3c040a7b46854f83000300000002000000a1000000030000006c0000000300000024000000b000000018000000f14501236b6d1a3c040a7b46854f830003000000010000006800000024000000b000000018000000f14501236b6d1a3c040a7b46854f830003000000030000003400000014000000f1f50fef177a97ac1435cc12adaf04002700000002100040a00000009c00000024000000b000000018000000f258b62f0cc6b962ecaef7d6757740000300000002000000d0000000030000006c0000000300000024000000b000000018000000f258b62f0cc6b962ecaef7d67577400003000000010000008d00000024000000b000000018000000f258b62f0cc6b962ecaef7d67577400003000000030000004600000014000000f2796ddcad267a583779746ef8ee6b003c000000",
    ),
    (
        "m::Root",
        "8001000001100040b8000000b400000014000000f16def2802826601e6284966170d86007400000004000000940000000400000024000000b000000018000000f14501236b6d1a3c040a7b46854f830003000000030000003400000024000000b000000018000000f14501236b6d1a3c040a7b46854f83000300000002000000a100000024000000b000000018000000f14501236b6d1a3c040a7b46854f830003000000010000006800000014000000f1f50fef177a97ac1435cc12adaf04002700000002100040b8000000b400000014000000f2fa219fa4cab0d93548c5453ccc67009000000004000000940000000400000024000000b000000018000000f258b62f0cc6b962ecaef7d67577400003000000030000004600000024000000b000000018000000f258b62f0cc6b962ecaef7d6757740000300000002000000d000000024000000b000000018000000f258b62f0cc6b962ecaef7d67577400003000000010000008d00000014000000f2796ddcad267a583779746ef8ee6b003c000000",
    ),
];

/// What was compiled for that.
const COMPILED: &str = "
    struct List;
    @final struct List { long value; sequence<List> more; };
    module m {
        struct Zoo;
        typedef sequence<Zoo> Zoos;
        @appendable union Cage switch (long) { case 1: @id(1) Zoos zoos; case 2: @id(2) long number; };
        @appendable struct Plain { long x; };
        @mutable struct Zoo { string name; sequence<Cage> cages; @optional Zoo next; Plain plain; };
        @appendable struct Root { Zoos zoos; sequence<Cage> cages; };
    };";

#[test]
fn components_are_those_of_cyclone() {
    for (name, expected) in CYCLONE {
        let expected = TypeInformation::read(&bytes(expected)).unwrap();
        let mut ours = described(COMPILED, name).information();
        // The order of those that a type needs has no meaning.
        let mut sorted = expected.clone();
        for of in [&mut ours, &mut sorted].into_iter().flat_map(|of| [&mut of.minimal, &mut of.complete]) {
            of.others.sort_by_key(|other| ObjectId::of(&other.ty));
        }
        assert_eq!(ours, sorted, "{name}");
    }
}

#[test]
fn the_hash_is_that_of_all_type_objects_with_zeros_in_its_place() {
    let forward = format!("struct List; {LIST}");
    for (idl, name, length) in [(forward.as_str(), "List", 1), (TREE, "m::Zoo", 3), (TREE, "Root", 3)] {
        let of = described(idl, name);
        for objects in [&of.minimal, &of.complete] {
            let (id, objects) = component(objects);
            assert_eq!(objects.len(), length, "{name}");
            assert_eq!(hex(&hash_of_bytes(id, &objects)), hex(&id.hash), "{name}");
        }
    }
    let of = described(TREE, "Zoo");
    // By names: Cage, Zoo, Zoos. The type itself is last.
    assert_eq!(places(&of), [None, Some((3, 1)), Some((3, 3)), Some((3, 2))]);
    let root = described(TREE, "Root");
    assert_eq!(root.complete.iter().filter(|object| !of.complete.contains(object)).count(), 1);
    assert!(places(&root).last().unwrap().is_none());
    assert_eq!(of.information().complete.count, 3);
}

#[test]
fn a_component_counts_whole_and_as_it_was_named() {
    let of = described(TREE, "Root");
    let all: Vec<(ObjectId, Vec<u8>)> = of
        .complete
        .iter()
        .map(|(identifier, object)| (ObjectId::of(identifier).unwrap(), object.clone()))
        .collect();
    let added = |objects: &[(ObjectId, Vec<u8>)]| {
        let mut library = Library::default();
        library.add_all(objects.iter().map(|(id, object)| (*id, object.as_slice()))).len()
    };
    assert_eq!(added(&all), 5);
    let together = |at: usize| all[at].0.place.is_some();
    for at in (0..all.len()).filter(|at| together(*at)) {
        let mut less = all.clone();
        less.remove(at);
        assert_eq!(added(&less), 2, "without {at}");
        // Each byte counts, also those in which the others are named: zeros there have the same hash.
        for byte in 0..all[at].1.len() {
            for change in [0x01, 0x80] {
                let mut other = all.clone();
                other[at].1[byte] ^= change;
                let changed = TypeObject::read(&other[at].1).ok();
                // What is skipped, as the padding of a union, may differ.
                let is_same = changed == TypeObject::read(&all[at].1).ok();
                assert!(added(&other) == if is_same { 5 } else { 2 }, "byte {byte} of {at}");
            }
        }
        let mut open = all.clone();
        let hash = all[at].0.hash;
        let object = &mut open[at].1;
        for start in 0..object.len() - hash.len() {
            if object[start..].starts_with(&hash) {
                object[start..start + hash.len()].fill(0);
            }
        }
        assert_eq!(added(&open), 2, "zeros in {at}");
    }
}

#[test]
fn a_component_is_recovered() {
    let forward = format!("struct List; {LIST}");
    for (idl, name) in [(forward.as_str(), "List"), (TREE, "Zoo"), (TREE, "Root"), (TREE, "Cage")] {
        let of = described(idl, name);
        let mut library = Library::default();
        library
            .add_all(of.complete.iter().map(|(ty, object)| (ObjectId::of(ty).unwrap(), object.as_slice())));
        let id = ObjectId::of(&of.complete.last().unwrap().0).unwrap();
        let (recovered, index) = recover(&library, id).unwrap_or_else(|| panic!("{name}"));
        let again = describe(&recovered, index).unwrap();
        assert_eq!(again.information().minimal.ty, of.information().minimal.ty, "{name}");
        assert_eq!(again.information().complete.ty, of.information().complete.ty, "{name}");
    }
}

/// What describes no values that end, or more than is believed, is not recovered; nor does it take long.
#[test]
fn types_without_end_are_not_recovered() {
    use wire::cdr::Extensibility;
    use wire::schema::{Alias, Definition, Member, Schema, Struct, TryConstruct, Type, TypeIndex};
    let member = |ty: Type, optional: bool| Member {
        name: "m".into(),
        ty: ty.clone(),
        declared: ty,
        id: 0,
        external: false,
        try_construct: TryConstruct::Discard,
        key: false,
        optional,
        must_understand: false,
    };
    let recovered = |schema: &Schema, index: TypeIndex| {
        let of = describe(schema, index).unwrap();
        let mut library = Library::default();
        let added = library
            .add_all(of.complete.iter().map(|(ty, object)| (ObjectId::of(ty).unwrap(), object.as_slice())))
            .len();
        assert_eq!(added, of.complete.len());
        recover(&library, ObjectId::of(&of.complete.last().unwrap().0).unwrap()).is_some()
    };
    let structure = |schema: &Schema, members| {
        Definition::Struct(Struct::new(schema, "S".into(), Extensibility::Final, None, members))
    };
    type Wrap = fn(Type) -> Type;
    let wraps: [(Wrap, bool, bool); 5] = [
        (|ty| ty, false, false),
        (|ty| ty, true, true),
        (|ty| Type::Array(Box::new(ty), vec![2]), false, false),
        (|ty| Type::Sequence(Box::new(ty), None), false, true),
        (|ty| Type::Map(Box::new(Type::Text(None)), Box::new(ty), None), false, true),
    ];
    for (wrap, optional, expected) in wraps {
        let mut schema = Schema::default();
        let index = schema.add(Definition::Struct(Struct::open("S".into())));
        let of = structure(&schema, vec![member(wrap(Type::Named(index)), optional)]);
        schema.replace(index, of);
        assert_eq!(recovered(&schema, index), expected, "{:?}", wrap(Type::Named(index)));
        // Another name between them.
        let mut schema = Schema::default();
        let index = schema.add(Definition::Struct(Struct::open("S".into())));
        let declared = wrap(Type::Named(index));
        let name =
            schema.add(Definition::Alias(Alias { name: "A".into(), plain: declared.clone(), declared }));
        let of = structure(&schema, vec![member(Type::Named(name), optional)]);
        schema.replace(index, of);
        assert_eq!(recovered(&schema, index), expected);
        // A name for itself.
        let mut schema = Schema::default();
        let index = schema.add(Definition::Struct(Struct::open("A".into())));
        let declared = wrap(Type::Named(index));
        schema
            .replace(index, Definition::Alias(Alias { name: "A".into(), plain: Type::Text(None), declared }));
        let of = structure(&schema, vec![member(Type::Named(index), optional)]);
        let of = schema.add(of);
        assert!(!recovered(&schema, of));
    }
    // Names whose parts double.
    let mut schema = Schema::default();
    let mut last = Type::Primitive(wire::schema::Primitive::U8);
    for at in 0..25 {
        let declared = Type::Map(Box::new(last.clone()), Box::new(last), None);
        let plain = Type::Text(None);
        last = Type::Named(schema.add(Definition::Alias(Alias { name: format!("A{at}"), declared, plain })));
    }
    let of = structure(&schema, vec![]);
    let of = match of {
        Definition::Struct(mut of) => {
            of.members = vec![member(last, false)];
            Definition::Struct(of)
        }
        other => other,
    };
    let of = schema.add(of);
    assert!(!recovered(&schema, of));
}

#[test]
fn no_more_than_64_types_are_together() {
    let chain = |count: usize| {
        let mut idl = String::new();
        (0..count).for_each(|at| idl.push_str(&format!("struct T{at};\n")));
        (0..count).for_each(|at| {
            idl.push_str(&format!("struct T{at} {{ sequence<T{}> next; }};\n", (at + 1) % count));
        });
        let schema = dynamic::idl::parse(&idl).unwrap();
        describe(&schema, schema.find("T0").unwrap())
    };
    assert_eq!(places(&chain(64).unwrap()).len(), 64);
    assert_eq!(chain(65).unwrap_err(), DescribeError::TooManyTogether("T0".into()));
}

#[test]
fn bitsets() {
    let idl = "
        bitset Status { bitfield<3> mode; bitfield<1> on; bitfield<4>; bitfield<5, short> offset; };
        bitset Open { bitfield<3> mode; bitfield<9>; };
        struct S { Status status; };
        struct O { Open open; };";
    let of = described(idl, "S");
    let (_, object) = &of.complete[0];
    let bytes = hex(object);
    // Positions, flags, widths and kinds of the fields.
    for field in ["00000000030d", "03000000", "0800000005"] {
        assert!(bytes.contains(field), "{field}: {bytes}");
    }
    let schema = dynamic::idl::parse(idl).unwrap();
    assert_eq!(
        describe(&schema, schema.find("O").unwrap()).unwrap_err(),
        DescribeError::Bitset("Open".into())
    );
    let mut library = Library::default();
    library.add_all(of.complete.iter().map(|(ty, object)| (ObjectId::of(ty).unwrap(), object.as_slice())));
    let id = ObjectId::of(&of.complete.last().unwrap().0).unwrap();
    let (recovered, index) = recover(&library, id).unwrap();
    assert_eq!(describe(&recovered, index).unwrap(), of);
    let status = |schema: &wire::schema::Schema| schema.get(schema.find("Status").unwrap()).cloned();
    assert_eq!(status(&recovered), status(&schema));
}
