//! What peers say about their types.
use dynamic::idl;
use wire::cdr::DecodeError;
use wire::cdr::{DdsType, Encoding};
use wire::discovery::{EndpointData, EndpointRole};
use wire::qos::TypeConsistency;
use wire::{EntityId, EntityKind, Guid, GuidPrefix, Instant};
use xtypes::lookup::SampleIdentity;
use xtypes::lookup::{
    Call, Reply, Request, Return, SerializedObject, TypeAndObject, TypesIn, TypesOut, TypesResult,
};
use xtypes::{
    Described, Directory, Library, ObjectId, Rules, TypeIdentifier, TypeInformation, TypeObject, assignable,
    describe, recover,
};

use crate::runner::Session;

const TYPES: &str = "
    module fuzz {
        enum Gear { REVERSE = -1, NEUTRAL };
        bitmask Flags { A, @position(5) B };
        typedef sequence<Gear, 300> Gears;
        @mutable union Choice switch (Gear) { case NEUTRAL: string<300> one; default: map<short, Gears, 4> other; };
        @final struct Base { @key long id; wstring text; };
        bitset Bits { bitfield<3> a; bitfield<1>; bitfield<9, short> b; };
        struct Tree;
        typedef map<string, Tree> Trees;
        union Branch switch (octet) { case 1: Trees trees; case 2: Bits bits; };
        struct Tree { Branch branch; @optional Tree other; sequence<Tree, 3> more; };
        struct Rich : Base { Tree tree; Choice choices[2][300]; @optional Flags flags; sequence<sequence<Base>> deep; };
    };
";

/// Reads any bytes as type information and as a type object. What was read is written and read as the same.
pub fn type_object(bytes: &[u8]) {
    same(bytes, TypeInformation::read, |read| read.serialize().ok());
    same(bytes, TypeObject::read, |read| read.serialize().ok());
}

const OURS: GuidPrefix = GuidPrefix([1; 12]);
const THEIRS: GuidPrefix = GuidPrefix([2; 12]);

/// A participant that looks up the types of another one, whose writer announces what the bytes say, and which then sends these bytes as
/// questions and as answers. Type objects in answers that fit what was announced are compared with a type of ours and recovered: that ends
/// soon, whatever they say.
pub fn type_lookup(bytes: &[u8]) {
    lookup_session()(bytes);
}

/// The same again and again, with one type of ours.
pub(super) fn lookup_session() -> Session {
    let own = idl::parse(TYPES).ok().and_then(|schema| {
        let (index, _) = schema.iter().next_back()?;
        describe(&schema, index).ok()
    });
    Box::new(move |bytes| own.iter().for_each(|own| look_up(own, bytes)))
}

fn look_up(own: &Described, bytes: &[u8]) {
    let mut directory = Directory::default();
    directory.add(own);
    let now = Instant::START;
    // What is asked of us.
    if let Some(answer) = directory.on_request(now, OURS, THEIRS, bytes) {
        assert!(answer.len() <= 192 << 10, "{} bytes of an answer", answer.len());
        assert!(Reply::decode_payload(&answer).is_ok(), "an answer that cannot be read");
    }
    // What is announced to us: the first type object of the answer, if the bytes are one, or the bytes themselves.
    let endpoint = |role: EndpointRole, information: Option<Vec<u8>>| {
        let (prefix, kind) = match role {
            EndpointRole::Writer => (THEIRS, EntityKind::WriterNoKey),
            EndpointRole::Reader => (OURS, EntityKind::ReaderNoKey),
        };
        let guid = Guid::new(prefix, EntityId::user(1, kind));
        let data = EndpointData::new(guid, "T".into(), "T".into(), role.default_qos());
        EndpointData { type_information: information, ..data }
    };
    let (information, objects) = announced(bytes);
    let writer = endpoint(EndpointRole::Writer, information.or_else(|| Some(bytes.to_vec())));
    let reader = endpoint(EndpointRole::Reader, own.information().serialize().ok());
    directory.compare(now, &writer, &reader, Some(THEIRS));
    for _ in 0..4 {
        let Some((_, question)) = directory.poll(now, OURS) else { break };
        let Ok(Request { id, .. }) = Request::decode_payload(&question) else {
            unreachable!("a question that cannot be read")
        };
        directory.on_reply(now, THEIRS, bytes);
        let types = objects.clone();
        let found = TypesOut { types, complete_to_minimal: Vec::new() };
        let reply = Reply { related: id, exception: 0, result: Return::Types(TypesResult::Found(found)) };
        let mut payload = Vec::new();
        if reply.encode_payload(Encoding::XCDR2, &mut payload).is_ok() {
            directory.on_reply(now, THEIRS, &payload);
        }
        directory.compare(now, &writer, &reader, Some(THEIRS));
    }
    let mut library = Library::default();
    let named = objects.iter().filter_map(|of| Some((ObjectId::of(&of.ty)?, of.object.0.as_slice())));
    let ids = library.add_all(named);
    library
        .add_all(own.complete.iter().filter_map(|(ty, object)| Some((ObjectId::of(ty)?, object.as_slice()))));
    let ours = own.complete.last().map(|(identifier, _)| identifier.clone()).unwrap_or(TypeIdentifier::NONE);
    for id in ids {
        for delimited in [false, true] {
            let rules = Rules { consistency: TypeConsistency::default(), delimited };
            let theirs = id.identifier();
            let _ = assignable(&library, &theirs, &ours, &rules);
            let _ = assignable(&library, &ours, &theirs, &rules);
        }
        if let Some((schema, index)) = recover(&library, id) {
            let _ = describe(&schema, index);
        }
    }
}

/// Type information of the last type object in an answer, and all of them under the identifiers that they have.
fn announced(bytes: &[u8]) -> (Option<Vec<u8>>, Vec<TypeAndObject>) {
    let objects = match Reply::decode_payload(bytes) {
        Ok(Reply { result: Return::Types(TypesResult::Found(found)), .. }) => found.types,
        _ => Vec::new(),
    };
    let (single, together): (Vec<_>, Vec<_>) =
        objects.into_iter().partition(|object| ObjectId::of(&object.ty).is_none_or(|id| id.place.is_none()));
    let single = single.into_iter().map(|TypeAndObject { object, .. }| {
        let hash = xtypes::object::hash(&object.0);
        let complete = matches!(TypeObject::read(&object.0), Ok(TypeObject::Complete(_)));
        TypeAndObject { ty: ObjectId { complete, hash, place: None }.identifier(), object }
    });
    let mut objects: Vec<TypeAndObject> = single.collect();
    objects.extend(named_together(together));
    let last = objects.last().map(|object| {
        let sized = |ty: TypeIdentifier| xtypes::IdentifierWithSize { ty, size: 0 };
        let of = |ty| xtypes::Dependencies { ty: sized(ty), count: -1, others: Vec::new() };
        let (minimal, complete) = match &object.ty {
            ty if ObjectId::of(ty).is_some_and(|id| id.complete) => (TypeIdentifier::NONE, ty.clone()),
            ty => (ty.clone(), TypeIdentifier::NONE),
        };
        TypeInformation { minimal: of(minimal), complete: of(complete) }
    });
    (last.and_then(|information| information.serialize().ok()), objects)
}

/// Type objects that are said to contain each other, under the hash that they have.
fn named_together(mut objects: Vec<TypeAndObject>) -> Vec<TypeAndObject> {
    objects.sort_by_key(|object| ObjectId::of(&object.ty));
    let Some(named) = objects.first().and_then(|object| ObjectId::of(&object.ty)) else { return Vec::new() };
    let read = objects.iter().filter_map(|object| TypeObject::read(&object.object.0).ok());
    let mut read: Vec<TypeObject> = read.collect();
    let ids = xtypes::name_together(&mut read, named.hash).unwrap_or_default();
    let named = ids.into_iter().zip(read).filter_map(|(id, object)| {
        Some(TypeAndObject { ty: id.identifier(), object: SerializedObject(object.serialize().ok()?) })
    });
    named.collect()
}

/// Questions and answers about types of every shape.
pub(super) fn lookup_seeds() -> Vec<Vec<u8>> {
    let Ok(schema) = idl::parse(TYPES) else { return Vec::new() };
    let related = SampleIdentity { writer: [7; 16], high: 0, low: 1 };
    let mut seeds = Vec::new();
    for (index, _) in schema.iter() {
        let Ok(described) = describe(&schema, index) else { continue };
        for objects in [&described.minimal, &described.complete] {
            let type_ids: Vec<TypeIdentifier> = objects.iter().map(|(ty, _)| ty.clone()).collect();
            let types = objects.iter().map(|(ty, object)| TypeAndObject {
                ty: ty.clone(),
                object: SerializedObject(object.clone()),
            });
            let found = TypesOut { types: types.collect(), complete_to_minimal: Vec::new() };
            let reply = Reply {
                related: related.clone(),
                exception: 0,
                result: Return::Types(TypesResult::Found(found)),
            };
            let request = Request {
                id: related.clone(),
                instance_name: wire::cdr::BoundedString::default(),
                call: Call::Types(TypesIn { type_ids }),
            };
            let mut payload = Vec::new();
            seeds.extend(reply.encode_payload(Encoding::XCDR2, &mut payload).ok().map(|()| payload));
            let mut payload = Vec::new();
            seeds.extend(request.encode_payload(Encoding::XCDR2, &mut payload).ok().map(|()| payload));
        }
    }
    seeds
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
