//! Recordings of components, which `PROGRAM --replay=FILE` gives to a component.
use std::io::Cursor;
use std::sync::LazyLock;

use component_server::Program;
use container::{Component, Consumer, Context, Event, Handle, Lifecycle, Outcome, Publisher, Tick, Timer};
use dds::DdsType;
use dds::cdr::Encoding;
use recording::{Channel, Recorder};

use super::list::STATELESS_BATCH;
use crate::runner::Target;
use crate::structure::Structure;

/// How many times the budget of the network a replay may take: there is a server with a component in it, whatever comes.
const HUNGER: usize = 64;

/// Recordings of components, for component servers.
pub const COMPONENT_RECORDING: Target = Target {
    name: "component_recording",
    structure: Structure::Plain,
    seeds,
    session: || {
        // What the first replay of a thread makes for good is no input's.
        seeds().iter().for_each(|seed| component_recording(seed));
        Box::new(component_recording)
    },
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: HUNGER,
};

#[derive(DdsType, Clone, Default, Debug)]
struct Level {
    litres: f64,
    tank: String,
}
impl Event for Level {}

/// A component with a consumer, a timer, a setting and a publisher.
#[derive(Component)]
struct Mean {
    level: Consumer<Level>,
    tick: Timer,
    mean: Publisher<Level>,
    #[setting(default = 0.5, range = 0.0..=1.0)]
    gain: f64,
    last: f64,
}
impl Lifecycle for Mean {}
impl Handle<mean::Level> for Mean {
    fn handle(&mut self, level: &Level, at: &Context) -> Outcome {
        self.last += self.gain * (level.litres - self.last);
        self.mean.push(at, &Level { litres: self.last, tank: level.tank.clone() })
    }
}
impl Handle<mean::Tick> for Mean {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        self.mean.push(at, &Level { litres: self.last, tank: String::new() })
    }
}

static PROGRAM: LazyLock<Program> =
    LazyLock::new(|| Program::new("fuzz").component::<Mean>().topic::<Level>("Level"));

/// Replays any bytes: what is no recording says something, and no more is the same than was recorded.
pub fn component_recording(bytes: &[u8]) {
    match PROGRAM.replay(bytes) {
        Err(error) => assert!(!error.is_empty(), "an error says something"),
        Ok(replayed) => {
            let inputs = usize::try_from(replayed.inputs).unwrap_or(usize::MAX);
            let same = usize::try_from(replayed.same).unwrap_or(usize::MAX);
            assert!(inputs <= bytes.len() && same <= bytes.len(), "each input and each event has bytes");
        }
    }
}

/// What a recording says of its component, as it is written.
#[derive(DdsType, Clone, Default, Debug)]
struct Recorded {
    instance: String,
    component_type: String,
    build: String,
    settings: Vec<Setting>,
}

#[derive(DdsType, Clone, Default, Debug)]
struct Setting {
    name: String,
    kind: u8,
    value: String,
}

/// How something came, as it is written.
#[derive(DdsType, Clone, Default, Debug)]
struct Came {
    port: String,
    is_timeout: bool,
    timer: u16,
    now: u64,
    created: u64,
    priority: u8,
    deadline: u64,
    follows: u32,
    part: u32,
}

/// A value as recordings have it.
fn bytes(value: &impl DdsType) -> Vec<u8> {
    let mut out = Vec::new();
    if value.encode_payload(Encoding::XCDR1, &mut out).is_ok() { out } else { Vec::new() }
}

/// Two events and an instant of the timer, with what was published.
fn seeds() -> Vec<Vec<u8>> {
    let came = |port: &str, is_timeout, now| {
        let port = port.to_owned();
        let came = Came { port, is_timeout, now, created: now, deadline: u64::MAX, ..Came::default() };
        bytes(&came)
    };
    let made = || -> std::io::Result<Vec<u8>> {
        let mut recorder = Recorder::one_by_one(Cursor::new(Vec::new()))?;
        let channel = |recorder: &mut Recorder<_>, topic: &str, type_name: &str| {
            let (topic, type_name) = (topic.to_owned(), type_name.to_owned());
            recorder.channel(&Channel { topic, type_name, keyed: None, qos: None, idl: None })
        };
        let component = channel(&mut recorder, "component", "Recorded")?;
        let moments = channel(&mut recorder, "moments", "Came")?;
        let level = channel(&mut recorder, "in/level", "Level")?;
        let mean = channel(&mut recorder, "out/mean", "Level")?;
        let gain = Setting { name: "gain".to_owned(), kind: 2, value: 0.25_f64.to_bits().to_string() };
        let recorded = Recorded {
            instance: "tank".to_owned(),
            component_type: "Mean".to_owned(),
            build: "fuzz".to_owned(),
            settings: vec![gain],
        };
        recorder.sample(component, 0, 0, &bytes(&recorded))?;
        let mut last = 0.0;
        for (now, litres) in [(1_000, 4.0), (3_000, 8.0)] {
            recorder.sample(moments, now, now, &came("level", false, now))?;
            recorder.sample(level, now, now, &bytes(&Level { litres, tank: "a".to_owned() }))?;
            last += 0.25 * (litres - last);
            recorder.sample(mean, now, now, &bytes(&Level { litres: last, tank: "a".to_owned() }))?;
        }
        recorder.sample(moments, 5_000, 5_000, &came("tick", true, 5_000))?;
        recorder.sample(mean, 5_000, 5_000, &bytes(&Level { litres: last, tank: String::new() }))?;
        recorder.finish()?;
        Ok(recorder.into_inner().into_inner())
    };
    made().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_is_a_recording_whose_replay_is_the_same() {
        let replayed = PROGRAM.replay(seeds()[0].as_slice()).unwrap();
        assert_eq!((replayed.inputs, replayed.same, replayed.different), (3, 3, None));
    }
}
