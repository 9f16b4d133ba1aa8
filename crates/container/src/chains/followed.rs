//! Ports and links of connections that chains pass: each stamps what comes and goes.
use std::any::Any;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use channel::Part;
use filter::{Program, Schema, Value};

use super::begun::Begin;
use super::frames::{self, Came};
use super::score::Stamp;
use super::track::Track;
use crate::channel_service::{ChannelLink, Core, Source};
use crate::context::Context;
use crate::event::{AnyLink, Body, Event, EventType, Of};
use crate::joins::Together;
use crate::logical::{self, Latch, Latched};
use crate::outcome::Outcome;
use crate::ports::Sink;
use crate::target::{AnyInlet, ConsumerPort, Target};
use crate::watch::Watch;

/// An instant as stamps have it.
pub(crate) fn instant(now: u64) -> i64 {
    i64::try_from(now).unwrap_or(i64::MAX)
}

/// An event in a queue, with its stamps.
pub(super) struct Stamped<T> {
    event: T,
    stamps: Vec<Stamp>,
    /// When it was pushed.
    pushed: i64,
}

impl<T: Clone> Clone for Stamped<T> {
    fn clone(&self) -> Self {
        Self { event: self.event.clone(), stamps: self.stamps.clone(), pushed: self.pushed }
    }

    // The derived one takes new memory.
    fn clone_from(&mut self, source: &Self) {
        self.event.clone_from(&source.event);
        self.stamps.clone_from(&source.stamps);
        self.pushed = source.pushed;
    }
}

impl<T: Event> Event for Stamped<T> {
    fn field(&self, slot: u32) -> Option<Value<'_>> {
        self.event.field(slot)
    }

    fn schema() -> Option<&'static dyn Schema> {
        T::schema()
    }

    fn handed(&self) -> &dyn Any {
        &self.event
    }
}

/// An event that is kept, with the stamps of what pushes it now.
pub(crate) fn stamped<T: Event>(event: &T, at: &Context) -> Body {
    let pushed = instant(at.now());
    let mut stamped = Stamped { event: event.clone(), stamps: Vec::new(), pushed };
    frames::pushed(pushed, &mut stamped.stamps);
    Body(Arc::new(stamped))
}

/// The type of events `T` on a connection that chains pass: its links into channels stamp.
pub(crate) struct StampedOf<T>(pub(crate) PhantomData<fn() -> T>);

impl<T: Event> StampedOf<T> {
    const PLAIN: Of<T> = Of(PhantomData);
}

impl<T: Event> EventType for StampedOf<T> {
    fn id(&self) -> std::any::TypeId {
        Self::PLAIN.id()
    }

    fn name(&self) -> &'static str {
        Self::PLAIN.name()
    }

    fn schema(&self) -> Option<&'static dyn Schema> {
        T::schema()
    }

    fn filtered(&self, link: AnyLink, program: Program) -> Option<AnyLink> {
        Self::PLAIN.filtered(link, program)
    }

    fn recorder(&self) -> (AnyLink, Box<dyn Any + Send>) {
        Self::PLAIN.recorder()
    }

    fn channel_link(&self, core: Arc<Core>, source: Source) -> AnyLink {
        let link = ChannelLink::<Stamped<T>>::new(core, source);
        AnyLink::new::<T>(Arc::new(Stamping { link, spare: Mutex::default() }))
    }

    fn part(&self, name: String, link: AnyLink, inner: Arc<dyn Target>) -> Option<AnyInlet> {
        Self::PLAIN.part(name, link, inner)
    }

    fn latched(&self, latch: Arc<Latch>, inner: Arc<dyn Target>) -> AnyInlet {
        Latched::<T>::inlet(latch, inner, true)
    }

    fn watched(&self, port: &str, watch: Arc<dyn Watch>, link: Option<AnyLink>) -> AnyLink {
        Self::PLAIN.watched(port, watch, link)
    }

    fn deferred(&self, component: &str, link: AnyLink) -> AnyLink {
        Self::PLAIN.deferred(component, link)
    }

    fn begun(&self, link: AnyLink, begin: Begin) -> AnyLink {
        Self::PLAIN.begun(link, begin)
    }

    fn stamped(&self) -> &'static dyn EventType {
        &StampedOf::<T>(PhantomData)
    }

    fn followed(&self, inlet: AnyInlet, hops: Hops) -> AnyInlet {
        Self::PLAIN.followed(inlet, hops)
    }
}

/// The link of a publisher into a channel that stamps.
struct Stamping<T: Event> {
    link: ChannelLink<Stamped<T>>,
    /// Memory for events; there come to be as many as threads push at once.
    spare: Mutex<Vec<Stamped<T>>>,
}

impl<T: Event> Stamping<T> {
    fn spare(&self) -> MutexGuard<'_, Vec<Stamped<T>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Event> Sink<T> for Stamping<T> {
    fn take(&self, event: &T, at: &Context) -> Outcome {
        let pushed = instant(at.now());
        let known = self.spare().pop();
        let mut stamped = match known {
            Some(mut known) => {
                known.event.clone_from(event);
                known
            }
            None => Stamped { event: event.clone(), stamps: Vec::new(), pushed },
        };
        stamped.pushed = pushed;
        stamped.stamps.clear();
        frames::pushed(pushed, &mut stamped.stamps);
        let outcome = self.link.take(&stamped, at);
        self.spare().push(stamped);
        outcome
    }
}

/// The chains that an inlet is a port of, each with its place in the path.
pub struct Hops(pub(super) Vec<(Arc<Track>, u8)>);

impl std::fmt::Debug for Hops {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} chains", self.0.len())
    }
}

/// A port that consumes and is on chains.
pub(super) struct Followed<T> {
    inner: Arc<dyn Target>,
    sink: Arc<dyn Sink<T>>,
    hops: Hops,
    /// Memory for the stamps of a delivery of several events.
    spare: Mutex<Vec<Stamp>>,
}

/// When an event of a chain began, as its first port sees it.
enum Start {
    /// A timer was due.
    Due(i64),
    /// It came.
    At(i64),
}

impl<T: Event> Followed<T> {
    /// The port, unless its events are of another type.
    pub(super) fn new(AnyInlet(inner): AnyInlet, hops: Hops) -> Result<Self, AnyInlet> {
        match Arc::clone(&inner).link().sink::<T>() {
            Some(sink) => Ok(Self { inner, sink, hops, spare: Mutex::default() }),
            None => Err(AnyInlet(inner)),
        }
    }

    /// Runs the handler for what came, or for what the handler around it pushes.
    fn run(&self, at: &Context, start: Start, came: Option<&[Stamp]>, act: impl FnOnce()) {
        if !self.inner.port().is_active() {
            return act();
        }
        let now = instant(at.now());
        let held = frames::enter(now, came, |came: Came<'_>, stamps| {
            for (track, hop) in &self.hops.0 {
                let stamp = match (*hop, &start) {
                    (0, _) if track.is_connection() => came.of(track.id, 0),
                    (0, Start::Due(start)) => Some(track.due(*start)),
                    (0, Start::At(start)) => Some(track.came(*start)),
                    (hop, _) if track.samples(hop) => track.left(hop),
                    (hop, _) => came.of(track.id, hop),
                };
                if let Some(mut stamp) = stamp {
                    stamp.begun(now);
                    stamp.ends_here = track.is_last(*hop);
                    stamps.push(stamp);
                }
            }
        });
        act();
        let mut end = None;
        frames::each(|stamp| {
            let is_of = |(track, hop): &&(Arc<Track>, u8)| track.id == stamp.chain && *hop == stamp.hop;
            let Some((track, hop)) = self.hops.0.iter().find(is_of) else { return };
            let is_last = track.is_last(*hop);
            if is_last && logical::waits() {
                let track = Arc::clone(track);
                return logical::once_published(move |now| track.complete(stamp, instant(now)));
            }
            if is_last || track.samples(hop.saturating_add(1)) {
                let end = *end.get_or_insert_with(|| logical::ends(instant(at.now())));
                if is_last { track.complete(stamp, end) } else { track.leave(stamp, end) }
            }
        });
        drop(held);
    }
}

impl<T: Event> Sink<T> for Followed<T> {
    fn take(&self, event: &T, at: &Context) -> Outcome {
        let mut outcome = Ok(());
        let start = Start::At(instant(at.now()));
        self.run(at, start, None, || outcome = self.sink.take(event, at));
        outcome
    }
}

impl<T: Event> Target for Followed<T> {
    fn port(&self) -> &dyn ConsumerPort {
        self.inner.port()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn is_parallel(&self) -> bool {
        self.inner.is_parallel()
    }

    fn link(self: Arc<Self>) -> AnyLink {
        AnyLink::new::<T>(self)
    }

    fn deliver(&self, part: &Part<Body>, at: &Context) {
        match part {
            Part::Event { body: carried, header, .. } => {
                let event: &dyn Any = &*carried.0;
                match event.downcast_ref::<Stamped<T>>() {
                    Some(Stamped { event, stamps, pushed }) => {
                        self.run(at, Start::At(*pushed), Some(stamps), || {
                            // A port that consumes takes everything.
                            let _ = self.sink.take(event, at);
                        });
                    }
                    // It came by a service that does not stamp.
                    None => {
                        let start = Start::At(instant(header.created));
                        self.run(at, start, Some(&[]), || self.inner.deliver(part, at));
                    }
                }
            }
            Part::Timeout { at: due, .. } => {
                let start = Start::Due(instant(*due));
                self.run(at, start, Some(&[]), || self.inner.deliver(part, at));
            }
        }
    }

    fn deliver_together(&self, together: Together<'_>, at: &Context) {
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stamps = std::mem::take(&mut *spare());
        stamps.clear();
        let mut start: Option<i64> = None;
        for part in together.parts() {
            let Part::Event { body, header, .. } = part else { continue };
            let body: &dyn Any = &*body.0;
            let came = match body.downcast_ref::<Stamped<T>>() {
                Some(stamped) => {
                    stamps.extend(&stamped.stamps);
                    stamped.pushed
                }
                None => instant(header.created),
            };
            start = Some(start.map_or(came, |start| start.min(came)));
        }
        let start = Start::At(start.unwrap_or_else(|| instant(at.now())));
        self.run(at, start, Some(&stamps), || self.inner.deliver_together(together, at));
        *spare() = stamps;
    }
}
