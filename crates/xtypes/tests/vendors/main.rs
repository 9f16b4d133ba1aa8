//! Type objects of the shapes of `corpus.idl`, compared with what Cyclone DDS announces for the same text.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod derived;
mod together;

use wire::qos::TypeConsistency;
use xtypes::{
    Described, Library, ObjectId, Rules, TypeIdentifier, TypeInformation, TypeObject, assignable, describe,
    recover,
};

const CORPUS: &str = include_str!("corpus.idl");

/// Topic types, with the hashes of their minimal and complete type objects: taken from the type information that `idlc` of Cyclone DDS
/// 0.10.2 (Debian 12) writes for `corpus.idl`, as `idlc -x appendable -l c corpus.idl`.
const CYCLONE: &[(&str, &str, &str)] = &[
    ("Single", "e3d371df3e7321ee634d3f49e9b4", "654d836e451ea67cc3441240cd50"),
    ("Integers", "920afc90158d86371e4f0863ea1b", "f0dff41b5c4ba90689422b9e515a"),
    ("Naturals", "71be21eccb5b7e79f1584247ae04", "51bd8ff662a95509be196ceda808"),
    ("Others", "784140a4a554e092ca12ada1257d", "b16122fcf75ea68d0b9ab6528bd0"),
    ("Said", "051a206b3daf094432dde9c16fb7", "b8782528fbd412deb4a3e3b64491"),
    ("Plain", "a44a43efce1eca96e18936f7d24d", "b3b1f9438ec09dbc7ccde2951594"),
    ("BoundedStrings", "7cc60baa68d772107018efdb055f", "ef1c380695ad6a9baf40b997b495"),
    ("Keyed", "a9038554ec41e7f73e88817a8aef", "711cabc8a46b08ef0ce71bc38fbb"),
    ("Optionals", "ba495605fba8bc0208e6305161dd", "6049e879d7c71dd705156ca72606"),
    ("MustUnderstand", "cf618782a905c00f23dc63b472c8", "3953087584ccc3da1668b26c7ec0"),
    ("Ids", "7517c5171c44ad443e44617f2ba4", "c9c93e83ce7a7b2c87c665986482"),
    ("HashIds", "155172ad0d5b355f0a55f11205e0", "6a3145412988963aaccbdb98839b"),
    ("Nesting", "b8539f2b961b978959ad278bcb98", "3355e5faa6785401447fe7dd449e"),
    ("Mixed", "4d5cd9f0dcd22d7a88b765dd73cb", "cbac69d9af9c2aaf688396ba8fd7"),
    ("Sequences", "1fd71305c118d24d769ed59dfc9d", "21cb1c9fc94f0e5d6c7fe5170708"),
    ("SequencesOfText", "5a4e9dc2ff3dd029212b0ec77c99", "f1db311eff8c3780f2f1b1b46dd2"),
    ("SequencesOfTypes", "aa027b5fb284d94927683d1db3f4", "bb279135d82b4365a2d3bbc84681"),
    ("SequencesOfSequences", "2d5300f85ac855231ed69af2b1eb", "1e9e128f018e54a12ada340793c1"),
    ("Arrays", "ccfb0c5b798f441ea9c99b4ad3a8", "c7e5a7f307a120842e3e7466853f"),
    ("Enumerations", "77581daf98f9e84bda1e9c69c2d2", "1bb863f138c653c2e8bddf4fe1d7"),
    ("Bitmasks", "3923405e410313a75fbaf6804c81", "4b0d2419e82bebede37d37a3b8e3"),
    ("ByNumber", "dcc0cbd4524f00a171e58674d5f1", "6eaf5bb5a97003b78e16ab010785"),
    ("ByColor", "1e8266be2bbfc112f5c954501584", "2316e95f588efe754c7ae26b55c2"),
    ("ByBoolean", "dfd4a95fdad96f540347040fa6e9", "f944dc3638b73b0a3150db3214e8"),
    ("ByOctet", "b4da0304920c43614b419926de55", "b78fda2fc46d614f90c111c5b059"),
    ("ByChar", "6c6921df5922cfece5a287e54b3c", "fe284da2c51cf9d255a25c0ed593"),
    ("Unions", "be4d8c4e8df0d989a346649b383e", "1f79d535d9f1c5ef402ff6711ed2"),
    ("Base", "b1250ba2794e6b3aea20f2a46b78", "22485627ace418480af443f8057b"),
    ("Derived", "1374b38bf80acd813bed6cd3ea46", "a363e0700417b2dcdaa2b874bf3a"),
    ("OpenBase", "6e6fee1f243cac52399668cef935", "9c77a209ca7110933f957ddcfa1a"),
    ("OpenDerived", "4e24e1ca28b225caa1c5a371e1ba", "5a4bfe4ef90ecc2e27b85ece1bca"),
    ("Further", "075d934f8c6aaaa08ebecfac61a9", "249294634884b8e68c818b600a9d"),
    ("Aliases", "79ce8a6f2cf63a111a3dfbf49b70", "493ee5cf326589dd9114b3a8f248"),
    ("Externals", "e38780bd725c6961eee2bdfbe061", "4525c23f27af774425298a651452"),
    ("outer::Whole", "9790ca2132ad29c5cb478fc2f8f4", "3b943bfc45a4ee9b18dbb1c652f8"),
    ("Deep", "1e36141a8fb9be0e10cfb047ac27", "7f3422cd995c8e1ced4cf9fa6a0c"),
    ("HasNestedUnion", "c90df72c4f6efa46d45d91fa6c28", "ab7a1a2179efd26bf668a53fbe9c"),
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).unwrap()).collect()
}

fn described(name: &str) -> Described {
    let schema = dynamic::idl::parse(CORPUS).unwrap();
    describe(&schema, schema.find(name).unwrap()).unwrap()
}

fn hashes(of: &Described) -> (String, String) {
    let information = of.information();
    let TypeIdentifier::Complete(complete) = &information.complete.ty.ty else { panic!("no hash") };
    (hex(information.minimal_hash().unwrap()), hex(complete))
}

#[test]
fn minimal_hashes_are_those_of_cyclone() {
    let wrong: Vec<&str> = CYCLONE
        .iter()
        .filter(|(name, minimal, _)| hashes(&described(name)).0 != *minimal)
        .map(|(name, ..)| *name)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn complete_hashes_are_those_of_cyclone() {
    let wrong: Vec<&str> = CYCLONE
        .iter()
        .filter(|(name, _, complete)| hashes(&described(name)).1 != *complete)
        .map(|(name, ..)| *name)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// What the Python of Cyclone DDS 11.0.1 announces (`__idl__.get_type_info()`): IDL, and the hash of the minimal type object. Where it
/// differs from ours: it gives a key member no MUST_UNDERSTAND, and the first case of a union the id 0.
const PYTHON: &[(&str, &str)] = &[
    ("@final struct I8 { int8 a; uint8 b; };", "009414c7464b5a48870d8b833b92"),
    (
        "@final enum Color { @default_literal RED, GREEN, BLUE }; @final struct E { Color a; };",
        "fb46626932543f3287b22d2de836",
    ),
    (
        "@final union ByNumber switch (long) {
             case 1: @id(0) long a; case 2: case 3: @id(1) string b; default: @id(2) double c;
         };
         @final struct U { ByNumber a; };",
        "433031407e309dd890244c629885",
    ),
];

#[test]
fn minimal_hashes_are_those_of_the_python_of_cyclone() {
    for (idl, expected) in PYTHON {
        let schema = dynamic::idl::parse(idl).unwrap();
        let (index, _) = schema.iter().next_back().unwrap();
        assert_eq!(hashes(&describe(&schema, index).unwrap()).0, *expected, "{idl}");
    }
}

/// Type information as the same `idlc` writes it: bytes that an endpoint would announce.
const INFORMATION: &[(&str, &str)] = &[
    (
        "Single",
        "6000000001100040280000002400000014000000f1e3d371df3e7321ee634d3f49e9b4002700000000000000040000000000000002100040280000002400000014000000f2654d836e451ea67cc3441240cd500038000000000000000400000000000000",
    ),
    (
        "ByColor",
        "c000000001100040580000005400000014000000f11e8266be2bbfc112f5c954501584006c00000002000000340000000200000014000000f1032a626471afc1fa2e3b5ad4cc04005200000014000000f1fdb26fcec6d9c2c3cdb105f18c90003700000002100040580000005400000014000000f22316e95f588efe754c7ae26b55c2008400000002000000340000000200000014000000f2c2aa1536f3b6178d901f594cf959007700000014000000f2756b42a1cd8a8bb0eab89da32c21004c000000",
    ),
    (
        "Further",
        "f000000001100040700000006c00000014000000f1075d934f8c6aaaa08ebecfac61a90041000000030000004c0000000300000014000000f14e24e1ca28b225caa1c5a371e1ba003300000014000000f16e6fee1f243cac52399668cef935002700000014000000f1fdb26fcec6d9c2c3cdb105f18c90003700000002100040700000006c00000014000000f2249294634884b8e68c818b600a9d0059000000030000004c0000000300000014000000f25a4bfe4ef90ecc2e27b85ece1bca005000000014000000f29c77a209ca7110933f957ddcfa1a003d00000014000000f2756b42a1cd8a8bb0eab89da32c21004c000000",
    ),
];

#[test]
fn type_information_is_written_and_read_as_cyclone_does() {
    for (name, expected) in INFORMATION {
        let ours = described(name).information();
        let theirs = TypeInformation::read(&bytes(expected)).unwrap();
        assert_eq!(
            (&theirs.minimal.ty, &theirs.complete.ty),
            (&ours.minimal.ty, &ours.complete.ty),
            "{name}"
        );
        assert_eq!(theirs.minimal.count, ours.minimal.count, "{name}");
        assert_eq!(hex(&theirs.serialize().unwrap()), *expected, "{name}");
    }
}

/// What a running writer of `Single` announced: Cyclone DDS 11.0.1, from Python. The sizes of type objects are left out.
const ANNOUNCED: &str = "6000000001100040280000002400000014000000f1e3d371df3e7321ee634d3f49e9b4000000000000000000040000000000000002100040280000002400000014000000f2654d836e451ea67cc3441240cd500000000000000000000400000000000000";

#[test]
fn what_a_running_writer_announces_is_read() {
    let information = TypeInformation::read(&bytes(ANNOUNCED)).unwrap();
    assert_eq!(information.minimal.ty.ty, described("Single").information().minimal.ty.ty);
    assert_eq!((information.minimal.ty.size, information.minimal.count), (0, 0));
    assert_eq!(hex(&information.serialize().unwrap()), ANNOUNCED);
}

#[test]
fn type_objects_are_read_as_they_were_written() {
    let schema = dynamic::idl::parse(CORPUS).unwrap();
    for (index, definition) in schema.iter() {
        let of = describe(&schema, index).unwrap();
        for (identifier, bytes) in of.minimal.iter().chain(&of.complete) {
            let object = TypeObject::read(bytes).unwrap();
            assert_eq!(object.serialize().unwrap(), *bytes, "{}", definition.name());
            let hash = xtypes::object::hash(bytes);
            assert!([TypeIdentifier::Minimal(hash), TypeIdentifier::Complete(hash)].contains(identifier));
        }
    }
}

#[test]
fn a_type_that_is_recovered_from_its_type_objects_is_the_same() {
    let schema = dynamic::idl::parse(CORPUS).unwrap();
    for (index, definition) in schema.iter() {
        let of = describe(&schema, index).unwrap();
        let mut library = Library::default();
        for (identifier, object) in &of.complete {
            assert!(library.add(ObjectId::of(identifier).unwrap(), object));
        }
        let id = ObjectId::of(&of.complete.last().unwrap().0).unwrap();
        let (recovered, index) = recover(&library, id).unwrap();
        let again = describe(&recovered, index).unwrap();
        assert_eq!(again.information().minimal.ty, of.information().minimal.ty, "{}", definition.name());
        assert_eq!(again.information().complete.ty, of.information().complete.ty, "{}", definition.name());
    }
}

/// Pairs of types of which one is a change of the other, with their type objects and what Cyclone DDS 11.0.1 made of a writer of the one and a
/// reader of the other: written by `pairs.py`.
const PAIRS: &str = include_str!("pairs.txt");

/// Where ours is another verdict, in XCDR version 1 alone: there nothing says where a type in another one ends.
const STRICTER: &[&str] = &[
    "appendable-nested-longer",
    "appendable-nested-in-sequences",
    "appendable-union-longer",
    "appendable-union-with-default",
];

#[test]
fn what_cyclone_matches_and_refuses_is_matched_and_refused() {
    let mut library = Library::default();
    let hash = |hex: &str| ObjectId { complete: false, hash: bytes(hex).try_into().unwrap(), place: None };
    let words = || PAIRS.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    for line in words() {
        if let [_, digest, object] = line[..] {
            assert!(library.add(hash(digest), &bytes(object)), "{digest}");
        }
    }
    let (mut matched, mut refused, mut wrong) = (0, 0, Vec::new());
    for line in words() {
        let [_, name, version, verdict, written, read] = line[..] else { continue };
        let rules = Rules { consistency: TypeConsistency::default(), delimited: version == "2" };
        let said = assignable(&library, &hash(read).identifier(), &hash(written).identifier(), &rules);
        let expected = verdict == "matched" && !(version == "1" && STRICTER.contains(&name));
        match said {
            Ok(()) => matched += 1,
            Err(_) => refused += 1,
        }
        if said.is_ok() != expected {
            wrong.push(format!("{name} {version}: {verdict}, {said:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(matched >= 40 && refused >= 100, "{matched} matched, {refused} refused");
}
