//! Links of connections whose latency is measured: each event gets a stamp as it is pushed.
use std::any::Any;
use std::sync::Arc;

use super::followed::instant;
use super::frames::{self, Held};
use super::track::Track;
use crate::context::Context;
use crate::event::{AnyLink, Event};
use crate::outcome::Outcome;
use crate::ports::Sink;

/// What a port pushes into.
pub(crate) struct Begun<T> {
    sink: Arc<dyn Sink<T>>,
    track: Arc<Track>,
}

impl<T: Event> Begun<T> {
    /// A link that stamps what it takes. One for events of another type stays as it is.
    pub(crate) fn link(link: AnyLink, Begin(track): Begin) -> AnyLink {
        match link.0.downcast::<Arc<dyn Sink<T>>>() {
            Ok(sink) => AnyLink::new::<T>(Arc::new(Self { sink: *sink, track })),
            Err(other) => AnyLink(other),
        }
    }

    fn begin(&self, at: &Context) -> Held {
        let now = instant(at.now());
        frames::push_with(now, self.track.pushed(now))
    }
}

/// The connection whose latency is measured.
pub struct Begin(pub(super) Arc<Track>);

impl std::fmt::Debug for Begin {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Begin of {}", self.0.chain.name)
    }
}

impl<T: Event> Sink<T> for Begun<T> {
    fn take(&self, event: &T, at: &Context) -> Outcome {
        let _held = self.begin(at);
        self.sink.take(event, at)
    }

    fn hand(&self, event: &T, at: &Context) -> Outcome {
        let _held = self.begin(at);
        self.sink.hand(event, at)
    }

    fn caught(&self, panic: Box<dyn Any + Send>) {
        self.sink.caught(panic);
    }
}
