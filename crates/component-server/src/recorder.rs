//! Recordings of components as MCAP files: what came to their ports, and what they published.
//!
//! A file is of one component. Its first channel has what it is, with its settings; then each port has a channel with its events. Before
//! each event that came stands a message of the channel `moments`, which says how it came; instants of timers are moments alone.
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use container::{Again, Event, Moment, Watch};
use dds::DdsType;
use dds::cdr::Encoding;
use recording::{Channel, Recorder};

/// The channel of what is recorded.
pub(crate) const COMPONENT: &str = "component";
/// The channel of how events came.
pub(crate) const MOMENTS: &str = "moments";
/// Before the name of a port that publishes.
pub(crate) const OUT: &str = "out/";
/// Before the name of a port that consumes.
pub(crate) const IN: &str = "in/";

/// The component of a recording.
#[derive(DdsType, Clone, Default, PartialEq, Debug)]
pub(crate) struct Recorded {
    pub(crate) instance: String,
    pub(crate) component_type: String,
    pub(crate) build: String,
    pub(crate) settings: Vec<Setting>,
}

/// A setting of it, as a text by which its kind is known.
#[derive(DdsType, Clone, Default, PartialEq, Debug)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) kind: u8,
    pub(crate) value: String,
}

/// How something came.
#[derive(DdsType, Clone, Default, PartialEq, Debug)]
pub(crate) struct Came {
    pub(crate) port: String,
    /// A timeout, and not an event.
    pub(crate) is_timeout: bool,
    pub(crate) timer: u16,
    pub(crate) now: u64,
    pub(crate) created: u64,
    pub(crate) priority: u8,
    /// The end of time if there is none.
    pub(crate) deadline: u64,
    pub(crate) follows: u32,
    pub(crate) part: u32,
}

impl Came {
    fn of(port: &str, timer: Option<u16>, moment: Moment) -> Self {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            port: port.to_owned(),
            is_timeout: timer.is_some(),
            timer: timer.unwrap_or_default(),
            now: moment.now,
            created: moment.created,
            priority: moment.priority,
            deadline: moment.deadline.unwrap_or(u64::MAX),
            follows: number(moment.follows),
            part: number(moment.part),
        }
    }

    pub(crate) fn moment(&self) -> Moment {
        let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        Moment {
            now: self.now,
            created: self.created,
            priority: self.priority,
            deadline: Some(self.deadline).filter(|deadline| *deadline < u64::MAX),
            follows: number(self.follows),
            part: number(self.part),
        }
    }
}

/// How events of a type become bytes, and bytes events.
#[derive(Clone, Copy)]
pub(crate) struct Codec {
    pub(crate) name: &'static str,
    of: fn() -> TypeId,
    encode: fn(&dyn Any) -> Option<Vec<u8>>,
    pub(crate) decode: fn(&[u8]) -> Result<Again, String>,
}

impl Codec {
    pub(crate) fn of<T: DdsType + Event>(name: &'static str) -> Self {
        Self {
            name,
            of: TypeId::of::<T>,
            encode: |event| bytes(event.downcast_ref::<T>()?),
            decode: |bytes| T::decode_payload(bytes).map(Again::event).map_err(|error| error.to_string()),
        }
    }
}

/// A value as bytes.
pub(crate) fn bytes(value: &impl DdsType) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    value.encode_payload(Encoding::XCDR1, &mut out).ok()?;
    Some(out)
}

/// Events of a component as bytes, wherever they go.
pub(crate) trait Writes: Send {
    /// A message of a channel, which is new if it was not there.
    fn write(&mut self, channel: &str, event: &str, now: u64, bytes: &[u8]);
}

/// A recording that is written to a file. What cannot be written is told once, and nothing more is written.
pub(crate) struct ToFile {
    recorder: Option<Recorder<BufWriter<File>>>,
    channels: BTreeMap<String, u16>,
    path: String,
}

impl ToFile {
    fn try_write(&mut self, channel: &str, event: &str, now: u64, bytes: &[u8]) -> std::io::Result<()> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        let number = match self.channels.get(channel) {
            Some(number) => *number,
            None => {
                let (topic, type_name) = (channel.to_owned(), event.to_owned());
                let number =
                    recorder.channel(&Channel { topic, type_name, keyed: None, qos: None, idl: None })?;
                self.channels.insert(channel.to_owned(), number);
                number
            }
        };
        recorder.sample(number, now, now, bytes)?;
        // What led to the end of a process is what is looked for.
        recorder.flush()
    }
}

impl Writes for ToFile {
    fn write(&mut self, channel: &str, event: &str, now: u64, bytes: &[u8]) {
        if let Err(error) = self.try_write(channel, event, now, bytes) {
            eprintln!("{}: {error}; nothing more is recorded", self.path);
            self.recorder = None;
        }
    }
}

impl Drop for ToFile {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.recorder.as_mut().map(Recorder::finish) {
            eprintln!("{}: {error}", self.path);
        }
    }
}

/// Watches a component, and writes what it is told.
pub(crate) struct Recording<W> {
    codecs: Vec<Codec>,
    pub(crate) to: Mutex<W>,
}

impl<W: Writes> Recording<W> {
    pub(crate) fn new(codecs: Vec<Codec>, to: W) -> Self {
        Self { codecs, to: Mutex::new(to) }
    }

    /// The bytes of an event, and the name of its type. A type that is not listed has neither.
    fn encoded(&self, event: &dyn Any) -> (&'static str, Vec<u8>) {
        let of_type = self.codecs.iter().find(|codec| (codec.of)() == event.type_id());
        let encoded = of_type.and_then(|codec| Some((codec.name, (codec.encode)(event)?)));
        encoded.unwrap_or(("", Vec::new()))
    }

    fn write(&self, channel: &str, event: &str, now: u64, bytes: &[u8]) {
        self.to.lock().unwrap_or_else(PoisonError::into_inner).write(channel, event, now, bytes);
    }
}

impl<W: Writes> Watch for Recording<W> {
    fn event(&self, port: &str, event: &dyn Any, moment: Moment) {
        let (name, bytes) = self.encoded(event);
        let came = self::bytes(&Came::of(port, None, moment)).unwrap_or_default();
        // Both together, though other threads write to other ports.
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        to.write(MOMENTS, "Came", moment.now, &came);
        to.write(&format!("{IN}{port}"), name, moment.now, &bytes);
    }

    fn timeout(&self, port: &str, timer: u16, moment: Moment) {
        let came = bytes(&Came::of(port, Some(timer), moment)).unwrap_or_default();
        self.write(MOMENTS, "Came", moment.now, &came);
    }

    fn published(&self, port: &str, event: &dyn Any, now: u64) {
        let (name, bytes) = self.encoded(event);
        self.write(&format!("{OUT}{port}"), name, now, &bytes);
    }
}

/// Begins a recording of a component.
pub(crate) fn begin(
    path: &Path,
    recorded: &Recorded,
    codecs: Vec<Codec>,
) -> Result<Recording<ToFile>, String> {
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = File::create(path).map_err(told)?;
    let recorder = Some(Recorder::one_by_one(BufWriter::new(file)).map_err(told)?);
    let mut to = ToFile { recorder, channels: BTreeMap::new(), path: path.display().to_string() };
    let bytes = bytes(recorded).ok_or_else(|| format!("{}: its settings are too long", path.display()))?;
    to.try_write(COMPONENT, "Recorded", 0, &bytes).map_err(told)?;
    Ok(Recording::new(codecs, to))
}
