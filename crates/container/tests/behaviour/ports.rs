//! Ports and how they are connected.
use container::{
    ByChannel, Component, Direct, Dispatch, Policy, PortKind, Server, ServerError, SettingError, Threads,
    Value, components, filter,
};

use crate::parts::{Counter, Log, Number, Relay, Source, Tap};

/// A server without threads, with a source `s` and relays `a`, `b` and `c` that write to one log.
pub(crate) fn scene() -> (Server, Log) {
    let mut server = Server::simulated();
    let lanes = vec![(1, Threads::fifo(10)), (2, Threads::fifo(20))];
    server.container("box", Policy { lanes, ..Policy::default() }).unwrap();
    server.install::<Tap>("box", "s", &[]).unwrap();
    let log = Log::default();
    for name in ["a", "b", "c"] {
        server.install::<Relay>("box", name, &[("name", Value::Text(name.to_owned()))]).unwrap();
        server.entry::<Relay>(name).unwrap().with(|relay, _| relay.log = log.clone()).unwrap();
    }
    (server, log)
}

pub(crate) fn push(server: &Server, number: u64) -> container::Outcome {
    server.entry::<Tap>("s").unwrap().with(|tap, at| tap.out.push(at, &Number(number))).unwrap()
}

#[test]
fn a_publisher_reaches_all_and_directly_at_once() {
    let (mut server, log) = scene();
    server.connect("first", &["s.out"], &["a.input", "b.input"], &Direct::default()).unwrap();
    server.connect("second", &["a.out"], &["c.input", "b.other"], &Direct::default()).unwrap();
    server.launch().unwrap();
    push(&server, 1).unwrap();
    assert_eq!(log.take(), ["a 1", "c 2", "b other 2 follows 0", "b 1"]);
    server.disconnect("second").unwrap();
    push(&server, 3).unwrap();
    assert_eq!(log.take(), ["a 3", "b 3"]);
}

#[test]
fn filters_decide_on_a_direct_way_too() {
    let (mut server, log) = scene();
    let some =
        Direct { filter: Some("number BETWEEN 3 AND %0".to_owned()), parameters: vec!["5".to_owned()] };
    server.connect("some", &["s.out"], &["a.input"], &some).unwrap();
    server.launch().unwrap();
    (0..9).for_each(|number| push(&server, number).unwrap());
    assert_eq!(log.take(), ["a 3", "a 4", "a 5"]);
    let wrong = Direct { filter: Some("nothing > 3".to_owned()), ..Direct::default() };
    let error = server.connect("wrong", &["s.out"], &["b.input"], &wrong).unwrap_err();
    assert!(error.to_string().contains("connection wrong: filter: "), "{error}");
}

#[test]
fn an_emitter_has_exactly_one_consumer() {
    let (mut server, _) = scene();
    server.install::<Source>("box", "e", &[]).unwrap();
    let direct = Direct::default();
    let two = server.connect("two", &["e.one"], &["a.input", "b.input"], &direct);
    assert_eq!(two, Err(ServerError::Single("e.one".to_owned())));
    assert_eq!(server.launch(), Err(ServerError::NotConnected("e.one".to_owned())));
    server.connect("one", &["e.one"], &["a.input"], &direct).unwrap();
    let other = server.connect("other", &["e.one"], &["b.input"], &direct);
    assert_eq!(other, Err(ServerError::Single("e.one".to_owned())));
    server.launch().unwrap();
    server.disconnect("one").unwrap();
    let entry = server.entry::<Source>("e").unwrap();
    let alone = entry.with(|source, at| source.one.push(at, &Number(1))).unwrap();
    assert_eq!(alone, Err(container::Failure::NotConnected));
}

#[test]
fn what_cannot_be_connected_says_why() {
    let (mut server, log) = scene();
    server.install::<Source>("box", "e", &[]).unwrap();
    let direct = Direct::default();
    let refused = |server: &mut Server, from: &[&str], to: &[&str], text: &str| {
        let error = server.connect("x", from, to, &direct).unwrap_err().to_string();
        assert!(error.contains(text), "{error:?} should say {text:?}");
    };
    refused(&mut server, &["s.nothing"], &["a.input"], "there is no s.nothing");
    refused(&mut server, &["missing.out"], &["a.input"], "there is no missing");
    refused(&mut server, &["s.out"], &["a.out"], "there is no a.out");
    refused(&mut server, &["s"], &["a.input"], "there is no s");
    refused(&mut server, &[], &[], "has no ports");
    refused(&mut server, &["s.out"], &["e.tick"], "connect ports of one type");
    server.connect("ab", &["a.out"], &["b.input"], &direct).unwrap();
    refused(&mut server, &["b.out"], &["a.input"], "b to a to b");
    refused(&mut server, &["a.out"], &["a.input"], "a to a");
    let again = server.connect("ab", &["s.out"], &["a.input"], &direct);
    assert_eq!(again, Err(ServerError::Twice("ab".to_owned())));
    // By a channel a circle is none: the second hop is another turn.
    server.connect("ba", &["b.out"], &["a.other"], &ByChannel::new(Dispatch::Publisher)).unwrap();
    server.connect("sa", &["s.out"], &["a.input"], &direct).unwrap();
    server.connect("es", &["e.one"], &["c.input"], &direct).unwrap();
    server.launch().unwrap();
    push(&server, 1).unwrap();
    assert_eq!(log.take(), ["a 1", "b 2", "a other 3 follows 0"]);
}

#[test]
fn settings_have_defaults_kinds_and_ranges() {
    #[derive(Component)]
    struct Tuned {
        #[setting(default = 1.5, range = 0.0..=10.0)]
        gain: f64,
        #[setting(default = 3, range = 1..)]
        depth: u16,
        #[setting]
        is_on: bool,
        #[setting(default = "north")]
        place: String,
    }
    impl container::Lifecycle for Tuned {}

    let mut tuned = Tuned::default();
    assert_eq!((tuned.gain, tuned.depth, tuned.is_on, tuned.place.as_str()), (1.5, 3, false, "north"));
    tuned.set("gain", &Value::Integer(2)).unwrap();
    tuned.set("place", &Value::Text("south".to_owned())).unwrap();
    let all = [
        ("gain", Value::Float(2.0)),
        ("depth", Value::Integer(3)),
        ("is_on", Value::Boolean(false)),
        ("place", Value::Text("south".to_owned())),
    ];
    assert_eq!(tuned.settings(), all);
    for (name, value, text) in [
        ("gain", Value::Float(10.5), "gain = 10.5: give a value in 0.0..=10.0"),
        ("gain", Value::Float(f64::NAN), "in 0.0..=10.0"),
        ("depth", Value::Integer(0), "in 1.."),
        ("depth", Value::Integer(70_000), "a value of u16"),
        ("is_on", Value::Integer(1), "a value of bool"),
        ("colour", Value::Integer(1), "no setting colour"),
    ] {
        let error = tuned.set(name, &value).unwrap_err().to_string();
        assert!(error.contains(text), "{error:?} should say {text:?}");
    }
    assert_eq!(tuned.settings(), all);
    let mut server = Server::simulated();
    server.container("box", Policy::default()).unwrap();
    let refused = server.install::<Tuned>("box", "t", &[("depth", Value::Integer(0))]);
    let error = SettingError::Range { name: "depth", range: "1..", value: Value::Integer(0) };
    assert_eq!(refused, Err(ServerError::Setting { instance: "t".to_owned(), error }));
    assert_eq!(server.state("t"), None);
}

#[test]
fn a_default_outside_its_range_is_found_when_it_is_used() {
    #[derive(Component)]
    struct Wrong {
        #[setting(default = 11, range = 0..=10)]
        level: u8,
    }
    impl container::Lifecycle for Wrong {}

    assert_eq!(Wrong::default().level, 11);
    let error = container::Harness::new(Wrong::default()).unwrap_err().to_string();
    assert!(error.contains("level = 11: give a value in 0..=10"), "{error}");
}

#[test]
fn a_manifest_shows_types_ports_and_settings() {
    let types = components![Relay, Counter, Source];
    let [relay, counter, source] = types.map(|of| of.manifest());
    assert_eq!(
        relay.to_string(),
        "component Relay\n  consumer input: Number\n  consumer other: Number\n  publisher out: Number\n  setting \
         panics_at: u32 = 666\n  setting breaks_at: u32 = 667\n  setting name: text = \"relay\"\n"
    );
    assert!(counter.is_parallel && !relay.is_parallel);
    let kinds: Vec<_> = source.ports.iter().map(|port| (port.name, port.kind)).collect();
    assert_eq!(kinds, [("out", PortKind::Publisher), ("one", PortKind::Emitter), ("tick", PortKind::Timer)]);
}

#[test]
fn names_of_containers_and_instances_are_unique() {
    let (mut server, _) = scene();
    assert_eq!(server.container("box", Policy::default()), Err(ServerError::Twice("box".to_owned())));
    assert_eq!(server.install::<Tap>("box", "a", &[]), Err(ServerError::Twice("a".to_owned())));
    assert_eq!(server.install::<Tap>("box", "a.b", &[]), Err(ServerError::Name("a.b".to_owned())));
    assert_eq!(server.install::<Tap>("other", "d", &[]), Err(ServerError::Unknown("other".to_owned())));
}

/// How far something is, and which way.
#[derive(Clone)]
struct Seen;

struct SeenFields;

impl filter::Schema for SeenFields {
    fn field(&self, path: filter::Path<'_>) -> Option<filter::Field> {
        match path.text() {
            "at.range" => Some(filter::Field { slot: 0, kind: filter::Kind::Float }),
            "side" => Some(filter::Field { slot: 1, kind: filter::Kind::Enumeration(3) }),
            _ => None,
        }
    }
    fn label(&self, enumeration: u32, name: &str) -> Option<i64> {
        let all = ["LEFT", "RIGHT"];
        all.iter().position(|label| enumeration == 3 && *label == name).map(|place| place as i64)
    }
}

impl container::Event for Seen {
    fn schema() -> Option<&'static dyn filter::Schema> {
        Some(&SeenFields)
    }
    fn fields() -> Option<&'static [container::ListedField]> {
        Some(&[("at.range", &[]), ("side", &["LEFT", "RIGHT", "BEHIND"])])
    }
}

/// One whose list has a field that there is not.
#[derive(Clone)]
struct Mistaken;
impl container::Event for Mistaken {
    fn schema() -> Option<&'static dyn filter::Schema> {
        Some(&SeenFields)
    }
    fn fields() -> Option<&'static [container::ListedField]> {
        Some(&[("at.range", &[]), ("nothing", &[])])
    }
}

#[derive(Clone)]
struct Plain;
impl container::Event for Plain {}

/// What a manifest says of the fields of events is what the schema of the type says of those that it lists.
#[test]
fn a_manifest_has_the_fields_of_events() {
    let fields = container::EventFields::event::<Seen>().list().unwrap();
    let told: Vec<_> = fields.iter().map(|field| (field.path, field.kind, field.labels.clone())).collect();
    let labels = vec![("LEFT", 0), ("RIGHT", 1)];
    let expected =
        [("at.range", filter::Kind::Float, Vec::new()), ("side", filter::Kind::Enumeration(3), labels)];
    assert_eq!(told, expected);
    // A list with a mistake is no list.
    assert_eq!(container::EventFields::event::<Mistaken>().list(), None);
    // Without a schema a filter compares nothing; of a schema that lists nothing, nothing is known.
    assert_eq!(container::EventFields::event::<Plain>().list(), Some(Vec::new()));
    assert_eq!(container::EventFields::event::<Number>().list(), None);
    let ports = <Tap as Component>::manifest().ports;
    let of = |name: &str| ports.iter().find(|port| port.name == name).unwrap().fields;
    assert_eq!(of("out"), Some(container::EventFields::event::<Number>()));
}
