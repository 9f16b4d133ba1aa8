//! A recording given to a component again, in virtual time: the same inputs at the same times, and what it publishes held against what it
//! published then, byte for byte.
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use container::{ComponentType, Policy, Server, Value};
use dds::DdsType;
use recording::{Item, Recording as File};

use crate::recorder::{COMPONENT, Came, Codec, IN, MOMENTS, OUT, Recorded, Recording, Writes};

/// The kinds of settings, as recordings number them.
const BOOLEAN: u8 = 0;
const INTEGER: u8 = 1;
const FLOAT: u8 = 2;
const TEXT: u8 = 3;

/// A setting as recordings have it.
pub(crate) fn setting(name: &str, value: &Value) -> crate::recorder::Setting {
    let (kind, value) = match value {
        Value::Boolean(value) => (BOOLEAN, value.to_string()),
        Value::Integer(value) => (INTEGER, value.to_string()),
        // All of its bits.
        Value::Float(value) => (FLOAT, value.to_bits().to_string()),
        Value::Text(value) => (TEXT, value.clone()),
    };
    crate::recorder::Setting { name: name.to_owned(), kind, value }
}

fn value(setting: &crate::recorder::Setting) -> Option<Value> {
    let text = setting.value.as_str();
    match setting.kind {
        BOOLEAN => text.parse().ok().map(Value::Boolean),
        INTEGER => text.parse().ok().map(Value::Integer),
        FLOAT => text.parse().ok().map(|bits| Value::Float(f64::from_bits(bits))),
        TEXT => Some(Value::Text(text.to_owned())),
        _ => None,
    }
}

/// What a replay has shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replayed {
    /// The component.
    pub instance: String,
    /// What came: events, timeouts.
    pub inputs: u64,
    /// What was published, and is the same.
    pub same: u64,
    /// The first difference: the port, which of its events, from 0, and what is different.
    pub different: Option<(String, usize, &'static str)>,
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { instance, inputs, same, different } = self;
        match different {
            None => write!(
                f,
                "{instance}: {inputs} inputs, and the {same} events that it publishes are the same, byte for byte"
            ),
            Some((port, index, what)) => {
                write!(
                    f,
                    "{instance}: {inputs} inputs; event {index} of {port} {what}; {same} before it are the same"
                )
            }
        }
    }
}

/// What a component has published, by ports.
type Published = BTreeMap<String, Vec<Vec<u8>>>;

/// Keeps what is published now.
struct Kept(Arc<Mutex<Published>>);

impl Writes for Kept {
    fn write(&mut self, channel: &str, _: &str, _: u64, bytes: &[u8]) {
        if let Some(port) = channel.strip_prefix(OUT) {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.entry(port.to_owned()).or_default().push(bytes.to_vec());
        }
    }
}

/// A replay under way.
struct Replay<'t> {
    types: &'t [ComponentType],
    codecs: &'t [Codec],
    server: Server,
    recorded: Option<Recorded>,
    /// How the next event came.
    came: Option<Came>,
    inputs: u64,
    before: Published,
    now: Arc<Mutex<Published>>,
}

/// Replays a recording.
///
/// # Errors
/// What is read is no such recording, or the program does not have what is in it.
pub(crate) fn replayed(
    input: impl Read,
    types: &[ComponentType],
    codecs: &[Codec],
) -> Result<Replayed, String> {
    let mut file = File::new(input);
    let mut channels: BTreeMap<u16, String> = BTreeMap::new();
    let mut replay = Replay::new(types, codecs);
    loop {
        match file.next() {
            Ok(Some(Item::Channel(number, channel))) => drop(channels.insert(number, channel.topic.clone())),
            Ok(Some(Item::Entry(entry))) => {
                let channel = channels.get(&entry.channel).cloned().unwrap_or_default();
                replay.message(&channel, &entry.data)?;
            }
            Ok(Some(Item::Foreign(topic, why))) => return Err(format!("{topic}: {why}")),
            // A program that was killed leaves no end: what is there is replayed.
            Ok(None) | Err(recording::ReadError::Cut(_)) => return replay.compared(),
            Err(error) => return Err(error.to_string()),
        }
    }
}

impl<'t> Replay<'t> {
    fn new(types: &'t [ComponentType], codecs: &'t [Codec]) -> Self {
        Self {
            types,
            codecs,
            server: Server::simulated(),
            recorded: None,
            came: None,
            inputs: 0,
            before: Published::new(),
            now: Arc::default(),
        }
    }

    fn message(&mut self, channel: &str, data: &[u8]) -> Result<(), String> {
        match channel {
            COMPONENT => {
                let recorded =
                    Recorded::decode_payload(data).map_err(|error| format!("its component: {error}"))?;
                self.begin(recorded)
            }
            MOMENTS => {
                let came = Came::decode_payload(data).map_err(|error| format!("a moment: {error}"))?;
                if !came.is_timeout {
                    self.came = Some(came);
                    return Ok(());
                }
                self.give(&came, container::Again::Timeout(came.timer))
            }
            _ => {
                if let Some(port) = channel.strip_prefix(OUT) {
                    self.before.entry(port.to_owned()).or_default().push(data.to_vec());
                    return Ok(());
                }
                let port =
                    channel.strip_prefix(IN).ok_or_else(|| "it is no recording of a component".to_owned())?;
                let came = self.came.take().filter(|came| came.port == port);
                let came = came.ok_or_else(|| format!("it does not say how an event came to {port}"))?;
                let event = self.decoded(port, data)?;
                self.give(&came, event)
            }
        }
    }

    fn begin(&mut self, recorded: Recorded) -> Result<(), String> {
        let of_type = self.types.iter().find(|of| of.manifest().component == recorded.component_type);
        let of_type = of_type.ok_or_else(|| {
            let known: Vec<&str> = self.types.iter().map(|of| of.manifest().component).collect();
            format!(
                "this program has no component type {}: it has {}",
                recorded.component_type,
                known.join(", ")
            )
        })?;
        let settings: Option<Vec<(&str, Value)>> =
            recorded.settings.iter().map(|it| Some((it.name.as_str(), value(it)?))).collect();
        let settings = settings.ok_or("a setting is none")?;
        let server = &mut self.server;
        let text = |error: container::ServerError| error.to_string();
        server.container("replay", Policy::default()).map_err(text)?;
        server.install_as(of_type, "replay", &recorded.instance, &settings).map_err(text)?;
        let watch = Recording::new(self.codecs.to_vec(), Kept(Arc::clone(&self.now)));
        server.watch_alone(&recorded.instance, Arc::new(watch)).map_err(text)?;
        server.launch().map_err(text)?;
        self.recorded = Some(recorded);
        Ok(())
    }

    /// An event of a port's type.
    fn decoded(&self, port: &str, data: &[u8]) -> Result<container::Again, String> {
        let recorded = self.recorded.as_ref().ok_or("it does not begin with its component")?;
        let manifest = self.server.manifest(&recorded.instance).ok_or("its component is gone")?;
        let of = manifest.ports.iter().find(|of| of.name == port);
        let of = of.ok_or_else(|| format!("{} has no port {port}", recorded.component_type))?;
        let codec = self.codecs.iter().find(|codec| codec.name == of.of);
        let codec = codec.ok_or_else(|| {
            format!(
                "events of the type {} are not recorded: list it in serve!(..., topics: [{}])",
                of.of, of.of
            )
        })?;
        (codec.decode)(data).map_err(|error| format!("an event of {port}: {error}"))
    }

    fn give(&mut self, came: &Came, what: container::Again) -> Result<(), String> {
        let recorded = self.recorded.as_ref().ok_or("it does not begin with its component")?;
        let port = format!("{}.{}", recorded.instance, came.port);
        self.inputs += 1;
        self.server.again(&port, what, came.moment()).map_err(|error| error.to_string())
    }

    fn compared(self) -> Result<Replayed, String> {
        let recorded = self.recorded.ok_or("it has no component: it is no recording of one, or empty")?;
        let now = std::mem::take(&mut *self.now.lock().unwrap_or_else(PoisonError::into_inner));
        let mut replayed =
            Replayed { instance: recorded.instance, inputs: self.inputs, same: 0, different: None };
        let ports: std::collections::BTreeSet<&String> = now.keys().chain(self.before.keys()).collect();
        for port in ports {
            let none = Vec::new();
            let (was, is) = (self.before.get(port).unwrap_or(&none), now.get(port).unwrap_or(&none));
            for index in 0..was.len().max(is.len()) {
                let what = match (was.get(index), is.get(index)) {
                    (Some(was), Some(is)) if was == is => {
                        replayed.same += 1;
                        continue;
                    }
                    (Some(_), Some(_)) => "is another one",
                    (Some(_), None) => "is not published",
                    _ => "was not published",
                };
                replayed.different.get_or_insert((port.clone(), index, what));
                break;
            }
        }
        Ok(replayed)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::time::Duration;

    use container::{
        ByChannel, Component, Consumer, Context, Dispatch, Emitter, Event, Every, Handle, Join, Keep,
        Lifecycle, Outcome, Publisher, Tick, Timer,
    };

    use super::*;
    use crate::recorder;

    #[derive(DdsType, Clone, Debug)]
    struct Fix {
        x: f64,
        text: String,
    }
    impl Event for Fix {}

    /// Not listed, so that it has no bytes.
    #[derive(Clone, Debug)]
    struct Secret;
    impl Event for Secret {}

    #[derive(Component)]
    struct Smoother {
        fix: Consumer<Fix>,
        both: Consumer<Fix>,
        tick: Timer,
        secret: Consumer<Secret>,
        smooth: Publisher<Fix>,
        single: Emitter<Fix>,
        #[setting(default = 0.5, range = 0.0..=1.0)]
        gain: f64,
        #[setting(default = "plain")]
        name: String,
        last: f64,
        count: u64,
    }
    impl Lifecycle for Smoother {}
    impl Handle<smoother::Fix> for Smoother {
        fn handle(&mut self, fix: &Fix, at: &Context) -> Outcome {
            self.last += self.gain * (fix.x - self.last);
            let text = format!("{} {} of {} by {}", self.name, fix.text, at.created(), at.priority());
            self.smooth.push(at, &Fix { x: self.last, text })
        }
    }
    impl Handle<smoother::Both> for Smoother {
        fn handle(&mut self, fix: &Fix, at: &Context) -> Outcome {
            self.last = self.last * 3.0 + fix.x;
            let text = format!("part {}, {} follow", at.part(), at.follows());
            self.smooth.push(at, &Fix { x: self.last, text })
        }
    }
    impl Handle<smoother::Tick> for Smoother {
        fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
            self.count += 1;
            self.single.push(at, &Fix { x: self.last, text: format!("{} at {}", self.count, at.now()) })
        }
    }
    impl Handle<smoother::Secret> for Smoother {
        fn handle(&mut self, _: &Secret, _: &Context) -> Outcome {
            Ok(())
        }
    }

    #[derive(Component)]
    struct Source {
        out: Publisher<Fix>,
        secret: Publisher<Secret>,
    }
    impl Lifecycle for Source {}

    #[derive(Component)]
    struct Sink {
        fix: Consumer<Fix>,
    }
    impl Lifecycle for Sink {}
    impl Handle<sink::Fix> for Sink {
        fn handle(&mut self, _: &Fix, _: &Context) -> Outcome {
            Ok(())
        }
    }

    /// The same by its name, with a mistake.
    mod other {
        use super::*;

        #[derive(Component)]
        pub(super) struct Smoother {
            fix: Consumer<Fix>,
            smooth: Publisher<Fix>,
            #[setting(default = 0.5)]
            gain: f64,
            #[setting(default = "plain")]
            name: String,
        }
        impl Lifecycle for Smoother {}
        impl Handle<smoother::Fix> for Smoother {
            fn handle(&mut self, fix: &Fix, at: &Context) -> Outcome {
                self.smooth.push(at, fix)
            }
        }
    }

    fn codecs() -> Vec<Codec> {
        vec![Codec::of::<Fix>("Fix")]
    }

    /// A recording of a smoother that gets what a seed draws, by a channel, a join and a timer.
    fn recording(seed: u64, with_secret: bool) -> Vec<u8> {
        let path = std::env::temp_dir().join(format!("recording-{}-{seed}.mcap", std::process::id()));
        let mut server = Server::simulated();
        server.container("box", Policy::default()).unwrap();
        server.install::<Source>("box", "a", &[]).unwrap();
        server.install::<Source>("box", "b", &[]).unwrap();
        server.install::<Sink>("box", "sink", &[]).unwrap();
        let settings = [("gain", Value::Float(0.1)), ("name", Value::Text("a \"name\"".to_owned()))];
        server.install::<Smoother>("box", "smoother", &settings).unwrap();
        let recorded = Recorded {
            instance: "smoother".to_owned(),
            component_type: "Smoother".to_owned(),
            build: "1".to_owned(),
            settings: settings.iter().map(|(name, value)| setting(name, value)).collect(),
        };
        let watch = recorder::begin(&path, &recorded, codecs()).unwrap();
        server.watch("smoother", Arc::new(watch)).unwrap();
        let pool = ByChannel { priority: Some(7), ..ByChannel::new(Dispatch::Pool) };
        let joined = ByChannel { join: Some(Join { keep: Keep::All(2), within: None }), ..pool.clone() };
        server.connect("fix", &["a.out"], &["smoother.fix"], &pool).unwrap();
        server.connect("both", &["a.out", "b.out"], &["smoother.both"], &joined).unwrap();
        server.connect("out", &["smoother.single"], &["sink.fix"], &pool).unwrap();
        if with_secret {
            server.connect("secret", &["a.secret"], &["smoother.secret"], &pool).unwrap();
        }
        let every = Every { period: Duration::from_micros(7), dispatch: Dispatch::Pool, patience: None };
        server.every("tick", "smoother.tick", every).unwrap();
        server.launch().unwrap();
        let mut draw = seed;
        for number in 0..60 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let name = if draw >> 40 & 1 == 0 { "a" } else { "b" };
            let fix = Fix { x: (draw >> 33) as f64 / 3.0, text: format!("number {number}") };
            let source = server.entry::<Source>(name).unwrap();
            source.with(|source, at| source.out.push(at, &fix)).unwrap().unwrap();
            if with_secret {
                let source = server.entry::<Source>("a").unwrap();
                source.with(|source, at| source.secret.push(at, &Secret)).unwrap().unwrap();
            }
            server.advance(Duration::from_nanos(draw >> 50));
        }
        server.stop().unwrap();
        drop(server);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        bytes
    }

    fn types() -> [ComponentType; 1] {
        [ComponentType::of::<Smoother>()]
    }

    #[test]
    fn what_was_published_is_published_again_byte_for_byte() {
        for seed in 0..20 {
            let replayed = replayed(&recording(seed, false)[..], &types(), &codecs()).unwrap();
            assert_eq!(replayed.different, None, "seed {seed}");
            assert!(replayed.inputs > 60 && replayed.same > 100, "{replayed}");
        }
    }

    #[test]
    fn another_behaviour_is_told_with_its_first_difference() {
        let other = [ComponentType::of::<other::Smoother>()];
        // It lacks a port.
        let error = replayed(&recording(1, false)[..], &other, &codecs()).unwrap_err();
        assert!(error.contains("has no port"), "{error}");
        // The same type, whose settings are others than those of the recording.
        let bytes = recording(1, false);
        let mut file = File::new(&bytes[..]);
        let (types, codecs) = (types(), codecs());
        let (mut channels, mut replay) = (BTreeMap::new(), Replay::new(&types, &codecs));
        while let Ok(Some(item)) = file.next() {
            match item {
                Item::Channel(number, channel) => drop(channels.insert(number, channel.topic.clone())),
                Item::Entry(entry) if channels[&entry.channel] == COMPONENT => {
                    let mut recorded = Recorded::decode_payload(&entry.data).unwrap();
                    recorded.settings.retain(|setting| setting.name != "gain");
                    replay.begin(recorded).unwrap();
                }
                Item::Entry(entry) => replay.message(&channels[&entry.channel], &entry.data).unwrap(),
                Item::Foreign(..) => unreachable!(),
            }
        }
        let different = replay.compared().unwrap().different;
        let (port, _, what) = different.unwrap();
        assert!(["single", "smooth"].contains(&port.as_str()) && what == "is another one", "{port} {what}");
    }

    #[test]
    fn what_cannot_be_replayed_says_why() {
        let error = |bytes: &[u8], types: &[ComponentType]| replayed(bytes, types, &codecs()).unwrap_err();
        assert!(error(b"", &types()).contains("MCAP"));
        assert!(error(b"something else than a recording of a component", &types()).contains("MCAP"));
        assert!(
            error(&recording(2, false), &[ComponentType::of::<Sink>()])
                .contains("no component type Smoother: it has Sink")
        );
        let secret = error(&recording(2, true), &types());
        assert!(secret.contains("events of the type Secret are not recorded: list it in serve!"), "{secret}");
    }

    #[test]
    fn any_bytes_are_an_error_or_a_replay() {
        let bytes = recording(3, false);
        let mut draw = 1_u64;
        let mut step = || {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (draw >> 33) as usize
        };
        for _ in 0..300 {
            let mut broken = bytes.clone();
            for _ in 0..=step() % 4 {
                let place = step() % broken.len();
                broken[place] = step() as u8;
            }
            broken.truncate(bytes.len() - if step().is_multiple_of(2) { step() % bytes.len() } else { 0 });
            let _ = replayed(&broken[..], &types(), &codecs());
        }
    }
}
