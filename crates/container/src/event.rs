//! Events: what ports publish and consume.
use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use filter::{Fields, Program, Schema, Value};

use crate::chains::{self, Begin, Begun, Hops, StampedOf};
use crate::channel_service::{ChannelLink, Core, Source};
use crate::context::Context;
use crate::joins::PartOf;
use crate::logical::{Deferring, Latch, Latched};
use crate::outcome::Outcome;
use crate::ports::Sink;
use crate::target::{AnyInlet, Target};
use crate::watch::{Tap, Watch};

/// An event, which ports publish and consume. A channel copies it once, by `clone_from`, into memory that is used again: a type with memory of its own
/// takes none from the heap for that if its `Clone` has a `clone_from`, which the derived one has not.
///
/// A type whose fields filters ask for says which there are:
///
/// ```
/// use container::{Event, filter};
///
/// #[derive(Clone)]
/// struct Fix { quality: u32 }
/// struct Known;
/// impl filter::Schema for Known {
///     fn field(&self, path: filter::Path<'_>) -> Option<filter::Field> {
///         (path.text() == "quality").then_some(filter::Field { slot: 0, kind: filter::Kind::Integer })
///     }
///     fn label(&self, _: u32, _: &str) -> Option<i64> {
///         None
///     }
/// }
/// impl Event for Fix {
///     fn field(&self, slot: u32) -> Option<filter::Value<'_>> {
///         (slot == 0).then_some(filter::Value::Unsigned(self.quality.into()))
///     }
///     fn schema() -> Option<&'static dyn filter::Schema> {
///         Some(&Known)
///     }
///     fn fields() -> Option<&'static [container::ListedField]> {
///         Some(&[("quality", &[])])
///     }
/// }
/// ```
pub trait Event: Clone + Send + Sync + 'static {
    /// The value of the field that [`Event::schema`] gave this number.
    fn field(&self, slot: u32) -> Option<Value<'_>> {
        let _ = slot;
        None
    }

    /// Which fields there are; `None` if filters cannot ask for any.
    fn schema() -> Option<&'static dyn Schema> {
        None
    }

    /// All fields that [`Event::schema`] knows, for the manifest of the program: plans are checked against it. `None` if they are not listed. A
    /// list with a path that the schema does not know counts as none.
    fn fields() -> Option<&'static [ListedField]> {
        None
    }

    /// The event that a handler gets.
    #[doc(hidden)]
    fn handed(&self) -> &dyn Any {
        self
    }
}

/// A field of events, as their type lists it: its path, and its labels if it is an enumeration.
pub type ListedField = (&'static str, &'static [&'static str]);

/// An event on its way through a channel, whatever its type.
pub trait Carried: Any + Send + Sync {
    /// As [`Event::field`].
    fn value_of(&self, slot: u32) -> Option<Value<'_>>;
    /// The event that a handler gets.
    #[doc(hidden)]
    fn event(&self) -> &dyn Any;
}

impl<T: Event> Carried for T {
    fn value_of(&self, slot: u32) -> Option<Value<'_>> {
        self.field(slot)
    }

    fn event(&self) -> &dyn Any {
        self.handed()
    }
}

/// A body that the consumers of a channel share.
#[derive(Clone)]
pub struct Body(pub(crate) Arc<dyn Carried>);

impl Fields for Body {
    fn value(&self, slot: u32) -> Option<Value<'_>> {
        self.0.value_of(slot)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Body")
    }
}

/// A type of events as services see it.
pub trait EventType: Send + Sync {
    /// The Rust type.
    fn id(&self) -> TypeId;
    /// Its name in Rust.
    fn name(&self) -> &'static str;
    /// As [`Event::schema`].
    fn schema(&self) -> Option<&'static dyn Schema>;
    /// A link that hands on only what passes a filter; `None` if the link is for another type.
    fn filtered(&self, link: AnyLink, program: Program) -> Option<AnyLink>;
    /// A link that keeps all events in a `Vec`, which is an `Arc<Mutex<Vec<T>>>`.
    #[doc(hidden)]
    fn recorder(&self) -> (AnyLink, Box<dyn Any + Send>);
    /// A link into a channel.
    #[doc(hidden)]
    fn channel_link(&self, core: Arc<Core>, source: Source) -> AnyLink;
    /// A part of a join, from a link into its channel; `None` if the link is for another type.
    #[doc(hidden)]
    fn part(&self, name: String, link: AnyLink, inner: Arc<dyn Target>) -> Option<AnyInlet>;
    /// A port whose events a timer reads at its instants.
    #[doc(hidden)]
    fn latched(&self, latch: Arc<Latch>, inner: Arc<dyn Target>) -> AnyInlet;
    /// A link that keeps what runs in logical execution time push. One for another type stays as it is.
    #[doc(hidden)]
    fn deferred(&self, component: &str, link: AnyLink) -> AnyLink;
    /// A link of a connection whose latency is measured. One for another type stays as it is.
    #[doc(hidden)]
    fn begun(&self, link: AnyLink, begin: Begin) -> AnyLink;
    /// A link that tells of what passes, and hands it on if there is where to. One for another type stays as it is.
    #[doc(hidden)]
    fn watched(&self, port: &str, watch: Arc<dyn Watch>, link: Option<AnyLink>) -> AnyLink;
    /// The same type on a connection that chains pass: its links stamp.
    #[doc(hidden)]
    fn stamped(&self) -> &'static dyn EventType;
    /// A port of this type that chains pass.
    #[doc(hidden)]
    fn followed(&self, inlet: AnyInlet, hops: Hops) -> AnyInlet;
}

/// The type of events `T`, as a value.
pub(crate) struct Of<T>(pub(crate) PhantomData<fn() -> T>);

/// Where events of a publisher go: an `Arc<dyn Sink<T>>` for a `T` that only its ends know.
pub struct AnyLink(pub(crate) Box<dyn Any + Send>);

impl AnyLink {
    /// A link to a sink.
    pub fn new<T: Event>(sink: Arc<dyn Sink<T>>) -> Self {
        Self(Box::new(sink))
    }

    /// The sink, if it is for events of this type.
    pub fn sink<T: Event>(self) -> Option<Arc<dyn Sink<T>>> {
        self.0.downcast::<Arc<dyn Sink<T>>>().ok().map(|sink| *sink)
    }
}

impl fmt::Debug for AnyLink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("AnyLink")
    }
}

struct Filtered<T> {
    sink: Arc<dyn Sink<T>>,
    program: Program,
}

/// The fields of an event, as filters ask for them.
pub(crate) struct FieldsOf<'a, T>(pub(crate) &'a T);

impl<T: Event> Fields for FieldsOf<'_, T> {
    fn value(&self, slot: u32) -> Option<Value<'_>> {
        self.0.field(slot)
    }
}

impl<T: Event> Sink<T> for Filtered<T> {
    fn take(&self, event: &T, at: &Context) -> Outcome {
        if self.program.passes(&FieldsOf(event)) { self.sink.take(event, at) } else { Ok(()) }
    }
}

/// Keeps what it takes.
struct Recorder<T>(Arc<Mutex<Vec<T>>>);

impl<T: Event> Sink<T> for Recorder<T> {
    fn take(&self, event: &T, _: &Context) -> Outcome {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
        Ok(())
    }
}

impl<T: Event> EventType for Of<T> {
    fn id(&self) -> TypeId {
        TypeId::of::<T>()
    }

    fn name(&self) -> &'static str {
        type_name::<T>()
    }

    fn schema(&self) -> Option<&'static dyn Schema> {
        T::schema()
    }

    fn filtered(&self, link: AnyLink, program: Program) -> Option<AnyLink> {
        let sink = link.sink::<T>()?;
        Some(AnyLink::new::<T>(Arc::new(Filtered { sink, program })))
    }

    fn recorder(&self) -> (AnyLink, Box<dyn Any + Send>) {
        let log = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::new(Recorder::<T>(Arc::clone(&log)));
        (AnyLink::new::<T>(sink), Box::new(log))
    }

    fn channel_link(&self, core: Arc<Core>, source: Source) -> AnyLink {
        AnyLink::new::<T>(Arc::new(ChannelLink::<T>::new(core, source)))
    }

    fn part(&self, name: String, link: AnyLink, inner: Arc<dyn Target>) -> Option<AnyInlet> {
        PartOf::<T>::inlet(name, link, inner)
    }

    fn latched(&self, latch: Arc<Latch>, inner: Arc<dyn Target>) -> AnyInlet {
        Latched::<T>::inlet(latch, inner, false)
    }

    fn watched(&self, port: &str, watch: Arc<dyn Watch>, link: Option<AnyLink>) -> AnyLink {
        Tap::<T>::link(port, watch, link)
    }

    fn deferred(&self, component: &str, link: AnyLink) -> AnyLink {
        Deferring::<T>::link(component, link)
    }

    fn begun(&self, link: AnyLink, begin: Begin) -> AnyLink {
        Begun::<T>::link(link, begin)
    }

    fn stamped(&self) -> &'static dyn EventType {
        &StampedOf::<T>(PhantomData)
    }

    fn followed(&self, inlet: AnyInlet, hops: Hops) -> AnyInlet {
        chains::follow::<T>(inlet, hops)
    }
}
