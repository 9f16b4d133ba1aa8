//! Types of one name that are not the same. The type information is Cyclone DDS's own: bytes that its `idlc` 0.10.2 wrote.
use std::sync::Arc;

use cli::explain::Scene;
use wire::discovery::EndpointData;
use wire::qos::EndpointQos;
use wire::{EntityId, EntityKind, Guid, GuidPrefix};
use xtypes::{Library, ObjectId};

use crate::stage::{Stage, told};

/// Of `@final struct Single { long a; };`, whose minimal type object has the hash e3d371df3e73…
const SINGLE: &str = "6000000001100040280000002400000014000000f1e3d371df3e7321ee634d3f49e9b4002700000000000000040000000000000002100040280000002400000014000000f2654d836e451ea67cc3441240cd500038000000000000000400000000000000";

/// Endpoints of another vendor, which say this about their types.
fn told_of(topic: Option<&str>, written: Option<&[u8]>, read: Option<&[u8]>, idl: Option<&str>) -> String {
    told(&scene_of(topic, written, read, idl))
}

fn scene_of(topic: Option<&str>, written: Option<&[u8]>, read: Option<&[u8]>, idl: Option<&str>) -> Scene {
    let endpoint = |kind, information: Option<&[u8]>| {
        let guid = Guid::new(GuidPrefix([9; 12]), EntityId::user(1, kind));
        let qos = if guid.entity_id.is_writer() { EndpointQos::writer() } else { EndpointQos::reader() };
        let mut data = EndpointData::new(guid, "Singles".to_owned(), "Single".to_owned(), qos);
        data.type_information = information.map(<[u8]>::to_vec);
        Arc::new(data)
    };
    let mut scene = Stage::new().scene(topic);
    scene.endpoints =
        vec![endpoint(EntityKind::WriterNoKey, written), endpoint(EntityKind::ReaderNoKey, read)];
    scene.described = idl.map(|idl| {
        let schema = dynamic::idl::parse(idl).unwrap();
        let (index, _) = schema.iter().next_back().unwrap();
        *xtypes::describe(&schema, index).unwrap().information().minimal_hash().unwrap()
    });
    scene
}

fn single() -> Vec<u8> {
    (0..SINGLE.len() / 2).map(|at| u8::from_str_radix(&SINGLE[at * 2..at * 2 + 2], 16).unwrap()).collect()
}

/// The same with other hashes, e3d371de… that of the minimal type object.
fn other() -> Vec<u8> {
    let mut bytes = single();
    bytes[24] ^= 1;
    let complete = bytes.iter().position(|octet| *octet == 0xf2).unwrap();
    bytes[complete + 1] ^= 1;
    bytes
}

const NOTE: &str = "- topic \"Singles\": writer of 090909090909090909090909 and reader of 090909090909090909090909 match, and differ: type: ";

#[test]
fn other_type_objects_under_one_name() {
    assert_eq!(told_of(None, Some(&single()), Some(&single()), None), "");
    let said = told_of(None, Some(&single()), Some(&other()), None);
    let expected = format!(
        "{NOTE}written as one \"Single\", read as another, type objects e3d371df and e3d371de, and no participant tells what they are; Punctual matches them by name in the end, others may not\n  Compare both descriptions"
    );
    assert!(said.starts_with(&expected), "{said}");
}

#[test]
fn the_member_that_stands_in_the_way_is_named_if_the_types_are_told() {
    let said = |read: &str| {
        let mut library = Library::default();
        let [written, read] = ["@final struct Single { long a; };", read].map(|idl| {
            let schema = dynamic::idl::parse(idl).unwrap();
            let (index, _) = schema.iter().next_back().unwrap();
            let described = xtypes::describe(&schema, index).unwrap();
            for (identifier, object) in &described.complete {
                library.add(ObjectId::of(identifier).unwrap(), object);
            }
            described.information().serialize().unwrap()
        });
        let mut scene = scene_of(Some("Singles"), Some(&written), Some(&read), None);
        scene.types = library;
        told(&scene)
    };
    let differs = said("@final struct Single { float a; };");
    assert!(
        differs.starts_with("! topic \"Singles\": writer of 090909090909090909090909 and reader of 090909090909090909090909 do not match: type \"Single\": a: written as int32, read as float\n"),
        "{differs}"
    );
    // Another name of the type makes no difference.
    assert_eq!(said("@final struct Other { long a; };"), "");
}

#[test]
fn no_type_information_on_one_side() {
    let topic = Some("Singles");
    let said = told_of(topic, Some(&single()), None, None);
    let expected = "compared by its name alone, since the reader announces no type information\n";
    assert!(said.starts_with(&format!("{NOTE}{expected}")), "{said}");
    let said = told_of(topic, None, Some(&single()), None);
    assert!(said.contains("since the writer announces no type information\n"), "{said}");
    // Bytes that are no type information, and type information without a hash.
    for broken in [&[0xff; 8][..], &[]] {
        let said = told_of(topic, Some(broken), Some(&single()), None);
        assert!(
            said.contains("since the writer announces type information that is not understood\n"),
            "{said}"
        );
    }
    // Where nobody says anything there is nothing to compare, and where nobody asked for the topic it is not worth a line.
    assert_eq!(told_of(topic, None, None, None), "");
    assert_eq!(told_of(None, Some(&single()), None, None), "");
}

#[test]
fn a_described_type_that_is_another_one() {
    let of = |idl| told_of(Some("Singles"), Some(&single()), Some(&single()), Some(idl));
    assert_eq!(of("@final struct Single { long a; };"), "");
    let said = of("@final struct Single { long b; };");
    let writer = "- topic \"Singles\": the type that was described is not that of writer of 090909090909090909090909: type objects ";
    assert!(said.starts_with(writer) && said.contains(" and e3d371df\n"), "{said}");
    assert!(said.contains("not that of reader of 090909090909090909090909"), "{said}");
}
