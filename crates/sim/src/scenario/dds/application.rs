//! The application of one participant: its writers and readers, what its callbacks do, and the log of what it saw.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use dds::serialized::{DropReason, InstanceOf, Request, Sample};
use dds::status::{LivelinessChanged, Matched};
use dds::{
    AnyDataReaderListener, AnyDataWriterListener, Bytes, Error, InstanceHandle, RawDataReader, RawDataWriter,
    ReturnCode, ViewState, WriteOptions,
};
use wire::{Guid, SequenceNumber};

use super::config::EndpointPlan;
use super::host::lock;
use super::seen::{Asked, Kind, Seen, Taken};
use super::types::{Form, TypedWriter};
use crate::payload;
use crate::violation::Invariant;

/// See the module.
#[derive(Default)]
pub struct Application {
    log: Mutex<Vec<Seen>>,
    readers: Mutex<BTreeMap<usize, Arc<OwnReader>>>,
    writers: Mutex<BTreeMap<usize, Arc<OwnWriter>>>,
    /// It takes nothing for a while.
    refuses: AtomicBool,
    takes: AtomicU64,
}

/// One of its writers.
pub struct OwnWriter {
    /// The writer.
    pub raw: RawDataWriter,
    typed: Option<Box<dyn TypedWriter>>,
    /// Its name.
    pub guid: Guid,
    /// What was drawn for it.
    pub plan: EndpointPlan,
    form: Form,
    /// The number of its last change.
    last: Mutex<i64>,
    /// A change is being made.
    busy: AtomicBool,
    matched: Mutex<Matches>,
}

/// One of its readers.
pub struct OwnReader {
    /// The reader.
    pub raw: RawDataReader,
    /// Its name.
    pub guid: Guid,
    /// What was drawn for it.
    pub plan: EndpointPlan,
    form: Form,
    /// Samples that it still answers.
    echoes: AtomicU32,
    /// It has always taken at once.
    at_once: AtomicBool,
    /// A take is under way: what a callback within it took would seem to come first.
    taking: AtomicBool,
    matched: Mutex<Matches>,
}

/// The matches of an endpoint as they were seen last.
#[derive(Default)]
struct Matches {
    handles: BTreeSet<InstanceHandle>,
    /// All that ever were.
    total: u64,
}

/// What became of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Made {
    /// It was made.
    Done,
    /// There is no room now.
    Full,
    /// There will be no room: a history that is kept for others is full.
    FullForGood,
    /// There was nothing to be done.
    Nothing,
}

impl OwnWriter {
    /// A writer that has written nothing.
    pub fn new(
        raw: RawDataWriter,
        typed: Option<Box<dyn TypedWriter>>,
        guid: Guid,
        plan: EndpointPlan,
        form: Form,
    ) -> Arc<Self> {
        let (last, busy, matched) = (Mutex::new(0), AtomicBool::new(false), Mutex::default());
        Arc::new(Self { raw, typed, guid, plan, form, last, busy, matched })
    }

    /// A sample of an instance, given to the writer as bytes if `serialized`.
    fn write(&self, instance: u32, bytes: &[u8], serialized: bool) -> Result<SequenceNumber, Error> {
        match self.typed.as_ref().filter(|_| !serialized) {
            Some(typed) => typed.write(instance, bytes),
            None => {
                let payload = self.form.encode(instance, bytes, self.plan.writes.xcdr2);
                self.raw.write_serialized(&Bytes::from(payload), &WriteOptions::default())
            }
        }
    }
}

impl OwnReader {
    /// A reader that has taken nothing.
    pub fn new(raw: RawDataReader, guid: Guid, plan: EndpointPlan, form: Form) -> Arc<Self> {
        Arc::new(Self {
            raw,
            guid,
            form,
            echoes: AtomicU32::new(plan.reads.echoes),
            at_once: AtomicBool::new(plan.reads.eager),
            taking: AtomicBool::new(false),
            matched: Mutex::default(),
            plan,
        })
    }
}

impl OwnReader {
    /// How many samples it did not get, as far as it knows a reason.
    pub fn dropped(&self) -> u64 {
        DropReason::ALL.iter().map(|reason| self.raw.dropped(*reason).count).sum()
    }
}

impl Application {
    /// Everything seen since the last call, in order.
    pub fn drain(&self, out: &mut Vec<Seen>) {
        out.append(&mut lock(&self.log));
    }

    fn note(&self, seen: Seen) {
        lock(&self.log).push(seen);
    }

    /// Something that no answer of the API should be.
    fn odd(&self, invariant: Invariant, what: String) {
        self.note(Seen::Odd(invariant, what));
    }

    /// Has a writer from now on; its matches until now are looked at.
    pub fn add_writer(&self, index: usize, writer: Arc<OwnWriter>) {
        lock(&self.writers).insert(index, Arc::clone(&writer));
        self.look_at_writer(&writer, &writer.raw.get_publication_matched_status());
    }

    /// Has a reader from now on; its matches until now are looked at, and its samples.
    pub fn add_reader(&self, index: usize, reader: Arc<OwnReader>) {
        lock(&self.readers).insert(index, Arc::clone(&reader));
        self.look_at_reader(&reader, &reader.raw.get_subscription_matched_status());
        if reader.plan.reads.eager {
            self.take(&reader);
        }
    }

    /// One of its writers.
    pub fn writer(&self, index: usize) -> Option<Arc<OwnWriter>> {
        lock(&self.writers).get(&index).cloned()
    }

    /// One of its readers.
    pub fn reader(&self, index: usize) -> Option<Arc<OwnReader>> {
        lock(&self.readers).get(&index).cloned()
    }

    /// Its writers.
    pub fn writers(&self) -> Vec<Arc<OwnWriter>> {
        lock(&self.writers).values().cloned().collect()
    }

    /// Its readers.
    pub fn readers(&self) -> Vec<Arc<OwnReader>> {
        lock(&self.readers).values().cloned().collect()
    }

    /// Has an endpoint no more.
    pub fn forget(&self, index: usize) {
        let (reader, writer) = (lock(&self.readers).remove(&index), lock(&self.writers).remove(&index));
        drop((reader, writer));
    }

    /// Takes nothing from now on.
    pub fn refuse(&self) {
        self.refuses.store(true, Ordering::Relaxed);
        self.readers().iter().for_each(|reader| reader.at_once.store(false, Ordering::Relaxed));
    }

    /// Takes again, at first what waits.
    pub fn accept(&self) {
        if self.refuses.swap(false, Ordering::Relaxed) {
            self.readers()
                .iter()
                .filter(|reader| reader.plan.reads.eager)
                .for_each(|reader| self.take(reader));
        }
    }

    /// True while it takes nothing.
    pub fn is_refusing(&self) -> bool {
        self.refuses.load(Ordering::Relaxed)
    }

    /// Takes all that a reader has, as many at a time as its plan says.
    pub fn take(&self, reader: &OwnReader) {
        if reader.taking.swap(true, Ordering::Relaxed) {
            return;
        }
        while !self.is_refusing() && self.take_some(reader) > 0 {}
        reader.taking.store(false, Ordering::Relaxed);
    }

    /// Takes once; says how many samples came.
    pub fn take_some(&self, reader: &OwnReader) -> usize {
        let mut samples = Vec::new();
        let request = Request { max: reader.plan.reads.max_take, ..Request::TAKE };
        match reader.raw.access_serialized(&request, &mut samples) {
            Ok(count) => debug_assert_eq!(count, samples.len()),
            Err(error) => self.odd(Invariant::NoPanic, format!("{} cannot take: {error}", reader.guid)),
        }
        let take = self.takes.fetch_add(1, Ordering::Relaxed);
        // First all of them: an answer may come back, and be taken before the next is noted.
        let mut answers = Vec::new();
        for sample in &samples {
            match self.taken(reader, sample, take) {
                Ok(taken) => {
                    answers.extend(taken.instance.filter(|_| taken.octets.is_some()));
                    self.note(Seen::Taken(taken));
                }
                Err(what) => self.odd(Invariant::Intact, what),
            }
        }
        answers.into_iter().for_each(|instance| self.echo(reader, instance));
        let count = samples.len();
        reader.raw.recycle(samples);
        count
    }

    fn taken(&self, reader: &OwnReader, sample: &Sample, take: u64) -> Result<Taken, String> {
        let info = &sample.info;
        let (instance, octets) = match (&sample.payload, &sample.key) {
            (Some(payload), _) => {
                let (instance, octets) = reader.form.decode(payload.bytes())?;
                (instance, Some(octets))
            }
            (None, Some(key)) => (reader.form.decode_key(key.bytes()), None),
            (None, None) => ((reader.form == Form::Keyless).then_some(0), None),
        };
        if info.valid_data != octets.is_some() {
            return Err(format!(
                "{}: valid_data is {}, data {}",
                reader.guid,
                info.valid_data,
                octets.is_some()
            ));
        }
        Ok(Taken {
            reader: reader.guid,
            writer: Guid::from_bytes(info.publication_handle.to_bytes()),
            number: info.sequence_number.0,
            instance,
            handle: info.instance_handle,
            octets,
            state: info.instance_state,
            is_new: info.view_state == ViewState::New,
            generation: info.disposed_generation_count + info.no_writers_generation_count,
            source: info.source_timestamp,
            at_once: reader.at_once.load(Ordering::Relaxed),
            take,
            wall: reader.raw.get_subscriber().get_participant().get_current_time().wall,
        })
    }

    /// Answers a sample by the first writer.
    fn echo(&self, reader: &OwnReader, instance: u32) {
        let left = reader.echoes.load(Ordering::Relaxed);
        let writer = lock(&self.writers).first_key_value().map(|(_, writer)| Arc::clone(writer));
        let Some(writer) = writer.filter(|_| left > 0) else { return };
        reader.echoes.store(left - 1, Ordering::Relaxed);
        // Topics differ in the number of instances; what is answered is of one that every topic has.
        let instance = if writer.plan.topic == reader.plan.topic { instance } else { 0 };
        self.change(&writer, Kind::Data, instance, 40, left.is_multiple_of(2));
    }

    /// Makes a change, if the writer is not about to make one.
    pub fn change(
        &self,
        writer: &OwnWriter,
        kind: Kind,
        instance: u32,
        len: usize,
        serialized: bool,
    ) -> Made {
        if writer.busy.swap(true, Ordering::Relaxed) {
            return Made::Nothing;
        }
        let made = self.make_change(writer, kind, instance, len, serialized);
        writer.busy.store(false, Ordering::Relaxed);
        made
    }

    fn make_change(
        &self,
        writer: &OwnWriter,
        kind: Kind,
        instance: u32,
        len: usize,
        serialized: bool,
    ) -> Made {
        let number = *lock(&writer.last) + 1;
        let source = writer.raw.get_publisher().get_participant().get_current_time().wall;
        let sample = || writer.form.encode(instance, &[], writer.plan.writes.xcdr2);
        if kind == Kind::Unregister {
            match writer.raw.lookup_serialized(&sample(), false) {
                Ok(Some(_)) => {}
                Ok(None) => return Made::Nothing,
                Err(error) => {
                    self.odd(Invariant::NoPanic, format!("{} cannot look up: {error}", writer.guid))
                }
            }
        }
        self.note(Seen::Asks(Asked { writer: writer.guid, number, kind, instance, source }));
        let result = match kind {
            Kind::Data => {
                let bytes = payload::make(writer.guid, SequenceNumber(number), len);
                writer.write(instance, &bytes, serialized)
            }
            Kind::Dispose => writer.raw.dispose_of(InstanceOf::Sample(&sample()), None),
            Kind::Unregister => writer.raw.unregister_of(InstanceOf::Sample(&sample()), None),
        };
        match result {
            Ok(given) if given.0 == number => {
                *lock(&writer.last) = number;
                Made::Done
            }
            Ok(given) => {
                let what = format!("{} numbered its change {number} as {given}", writer.guid);
                self.odd(Invariant::InOrder, what);
                Made::FullForGood
            }
            Err(error) => {
                self.note(Seen::Refused { writer: writer.guid });
                match error.code {
                    ReturnCode::Timeout => Made::Full,
                    ReturnCode::OutOfResources if writer.plan.durable => Made::FullForGood,
                    // It is known because changes of it are held, but was unregistered.
                    ReturnCode::PreconditionNotMet if kind == Kind::Unregister => Made::Nothing,
                    _ => {
                        self.odd(Invariant::WithinLimits, format!("{} cannot write: {error}", writer.guid));
                        Made::FullForGood
                    }
                }
            }
        }
    }

    /// Notes what a writer serves now and did not before, and the other way round.
    fn look_at_writer(&self, writer: &OwnWriter, status: &Matched) {
        let handles = writer.raw.get_matched_subscriptions();
        for (handle, begins) in lock(&writer.matched).follow(handles, status) {
            let reader = Guid::from_bytes(handle.to_bytes());
            self.note(Seen::Service { writer: writer.guid, reader, begins });
        }
    }

    /// Notes what a reader accepts now and did not before, and the other way round.
    fn look_at_reader(&self, reader: &OwnReader, status: &Matched) {
        let handles = reader.raw.get_matched_publications();
        for (handle, begins) in lock(&reader.matched).follow(handles, status) {
            let writer = Guid::from_bytes(handle.to_bytes());
            self.note(Seen::Acceptance { writer, reader: reader.guid, begins });
        }
    }
}

impl Matches {
    /// What ends and what begins, in this order. If there were more matches than are new, some ended and began again between two looks.
    fn follow(&mut self, handles: Vec<InstanceHandle>, status: &Matched) -> Vec<(InstanceHandle, bool)> {
        let now: BTreeSet<_> = handles.into_iter().collect();
        let new: Vec<_> = now.difference(&self.handles).copied().collect();
        let again = status.total.count > self.total + new.len() as u64;
        let stays = |handle: &&InstanceHandle| now.contains(handle);
        let gone = self.handles.iter().filter(|handle| again || !stays(handle));
        let mut changes: Vec<_> = gone.map(|handle| (*handle, false)).collect();
        changes.extend(self.handles.iter().filter(stays).filter(|_| again).map(|handle| (*handle, true)));
        changes.extend(new.into_iter().map(|handle| (handle, true)));
        (self.handles, self.total) = (now, status.total.count);
        changes
    }
}

/// The listener of one endpoint.
pub(super) struct Ears {
    /// Not owned: the application owns the endpoint, and that its listener.
    pub application: Weak<Application>,
    /// The endpoint, by its number in the plan.
    pub index: usize,
}

impl Ears {
    fn reader(&self) -> Option<(Arc<Application>, Arc<OwnReader>)> {
        let application = self.application.upgrade()?;
        let reader = application.reader(self.index)?;
        Some((application, reader))
    }
}

impl AnyDataReaderListener for Ears {
    fn on_data_available(&self, raw: &RawDataReader) {
        let Some((application, reader)) = self.reader() else { return };
        if raw.guid().ok() != Some(reader.guid) {
            let what = format!("{} was called for another reader", reader.guid);
            return application.odd(Invariant::NoPhantom, what);
        }
        if reader.plan.reads.eager {
            application.take(&reader);
        }
    }

    fn on_liveliness_changed(&self, _: &RawDataReader, status: LivelinessChanged) {
        let Some((application, reader)) = self.reader() else { return };
        application.note(Seen::Liveliness { reader: reader.guid, not_alive: status.not_alive.count });
    }

    fn on_subscription_matched(&self, _: &RawDataReader, status: Matched) {
        if let Some((application, reader)) = self.reader() {
            application.look_at_reader(&reader, &status);
        }
    }
}

impl AnyDataWriterListener for Ears {
    fn on_publication_matched(&self, _: &RawDataWriter, status: Matched) {
        if let Some(application) = self.application.upgrade()
            && let Some(writer) = application.writer(self.index)
        {
            application.look_at_writer(&writer, &status);
        }
    }
}
