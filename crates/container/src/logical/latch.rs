//! What has come to a port that a timer reads at its instants.
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;

use channel::{Header, Part};
use threads::Lock;

use super::run::instant_of_push;
use crate::chains::stamped;
use crate::context::Context;
use crate::event::{AnyLink, Body, Event};
use crate::outcome::{Failure, Outcome};
use crate::ports::Sink;
use crate::target::{AnyInlet, ConsumerPort, Target};

/// Events that are kept for instants to come: more than one only where a thread is late.
const MOST: usize = 64;

/// The events that have come to a port, each with its instant.
pub struct Latch {
    held: Lock<VecDeque<(u64, Part<Body>)>>,
}

impl Latch {
    pub(super) fn new() -> Self {
        Self { held: Lock::new(VecDeque::new()) }
    }

    fn put(&self, instant: u64, part: Part<Body>) -> Outcome {
        let mut held = self.held.lock().map_err(|_| Failure::Lock)?;
        // What is published late belongs to an instant before others that have come.
        let place = held.partition_point(|(at, _)| *at <= instant);
        match place.checked_sub(1).and_then(|last| held.get_mut(last)).filter(|(at, _)| *at == instant) {
            Some(same) => same.1 = part,
            None => held.insert(place, (instant, part)),
        }
        if held.len() > MOST {
            held.pop_front();
        }
        Ok(())
    }

    /// Drops all that has come.
    pub(super) fn clear(&self) {
        if let Ok(mut held) = self.held.lock() {
            held.clear();
        }
    }

    /// The last that had come at an instant, if that is new.
    pub(super) fn read(&self, instant: u64) -> Option<Part<Body>> {
        let mut held = self.held.lock().ok()?;
        let mut last = None;
        while let Some((_, part)) = held.pop_front_if(|(at, _)| *at <= instant) {
            last = Some(part);
        }
        last
    }
}

/// A port that keeps what comes.
pub(crate) struct Latched<T> {
    latch: Arc<Latch>,
    inner: Arc<dyn Target>,
    /// Whether chains pass its connection.
    is_stamped: bool,
    _of: PhantomData<fn(T)>,
}

impl<T: Event> Latched<T> {
    pub(crate) fn inlet(latch: Arc<Latch>, inner: Arc<dyn Target>, is_stamped: bool) -> AnyInlet {
        AnyInlet(Arc::new(Self { latch, inner, is_stamped, _of: PhantomData }))
    }
}

impl<T: Event> Sink<T> for Latched<T> {
    fn take(&self, event: &T, at: &Context) -> Outcome {
        let header = Header {
            created: at.created(),
            priority: at.priority(),
            deadline: at.deadline(),
            ..Header::default()
        };
        let body = if self.is_stamped { stamped(event, at) } else { Body(Arc::new(event.clone())) };
        self.latch.put(instant_of_push(at), Part::Event { number: 0, header, body })
    }
}

impl<T: Event> Target for Latched<T> {
    fn port(&self) -> &dyn ConsumerPort {
        self.inner.port()
    }

    fn link(self: Arc<Self>) -> AnyLink {
        AnyLink::new::<T>(self)
    }

    fn deliver(&self, part: &Part<Body>, at: &Context) {
        if let Part::Event { body, .. } = part
            && let Some(event) = body.0.event().downcast_ref::<T>()
        {
            // It is lost only where the lock cannot be had.
            let _ = self.take(event, at);
        }
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn keeps(&self) -> bool {
        true
    }
}
