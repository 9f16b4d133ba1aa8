//! A run in logical execution time: what it reads, and what it has pushed, which waits for the end of the interval.
use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

use channel::{Header, Part};
use threads::Lock;

use crate::chains::{Held, Stamp, again, captured};
use crate::context::{Clock, Context};
use crate::event::{AnyLink, Body, Event};
use crate::outcome::{Failure, Outcome};
use crate::ports::Sink;
use crate::turn;

thread_local! {
    /// The run whose handlers are at work on this thread.
    static RUN: RefCell<Option<Arc<Run>>> = const { RefCell::new(None) };
    /// The instant to which what is published now belongs.
    static PUBLISHED: RefCell<Option<u64>> = const { RefCell::new(None) };
}

/// A run of a timer's handler, from the instant on at which the timer is due.
pub(super) struct Run {
    /// The component.
    pub(super) component: Arc<str>,
    /// When it was due.
    pub(super) due: u64,
    /// When its outputs go out.
    pub(super) until: u64,
    state: Lock<State>,
}

#[derive(Default)]
struct State {
    /// What its ports had got by then, if that is new.
    inputs: Vec<Option<Part<Body>>>,
    outputs: Vec<Box<dyn Output>>,
    /// When its handlers had ended.
    ended: Option<u64>,
    /// Its outputs are to go out as soon as it has ended.
    is_late: bool,
    /// Its outputs have gone out, or it has never begun and never will.
    is_over: bool,
}

impl Run {
    pub(super) fn new(component: &Arc<str>, due: u64, until: u64, inputs: Vec<Option<Part<Body>>>) -> Self {
        let state = State { inputs, ..State::default() };
        Self { component: Arc::clone(component), due, until, state: Lock::new(state) }
    }

    /// What it reads; once.
    pub(super) fn inputs(&self) -> Vec<Option<Part<Body>>> {
        self.state.lock().map(|mut state| std::mem::take(&mut state.inputs)).unwrap_or_default()
    }

    /// Its interval has passed. Says whether it has ended in time; if not, its outputs go out when it ends.
    pub(super) fn publish(&self, clock: &Clock) -> bool {
        let Ok(mut state) = self.state.lock() else { return false };
        state.is_late = state.ended.is_none_or(|ended| ended > self.until);
        if state.is_late {
            return false;
        }
        let outputs = std::mem::take(&mut state.outputs);
        drop(state);
        send(outputs, self.until, clock);
        self.over();
        true
    }

    /// It has not begun, and no thread will run it.
    pub(super) fn over(&self) {
        if let Ok(mut state) = self.state.lock() {
            state.is_over = true;
        }
    }

    /// Whether all that it has pushed has gone out.
    pub(super) fn is_over(&self) -> bool {
        self.state.lock().is_ok_and(|state| state.is_over)
    }

    /// Its handlers have ended.
    fn end(&self, clock: &Clock) {
        let (outputs, is_late) = match self.state.lock() {
            Ok(mut state) => {
                let now = clock.now();
                state.ended = Some(now);
                let is_late = state.is_late || now > self.until;
                (if is_late { std::mem::take(&mut state.outputs) } else { Vec::new() }, is_late)
            }
            Err(_) => (Vec::new(), false),
        };
        send(outputs, self.until.max(clock.now()), clock);
        if is_late {
            self.over();
        }
    }

    fn keep(&self, output: Box<dyn Output>) -> Outcome {
        self.state.lock().map_err(|_| Failure::Lock)?.outputs.push(output);
        Ok(())
    }
}

fn send(outputs: Vec<Box<dyn Output>>, instant: u64, clock: &Clock) {
    if outputs.is_empty() {
        return;
    }
    turn::run(|| {
        PUBLISHED.set(Some(instant));
        for output in outputs {
            output.send(clock);
        }
        PUBLISHED.set(None);
    });
}

/// Runs handlers as those of a run.
pub(super) fn within(run: &Arc<Run>, clock: &Clock, act: impl FnOnce()) {
    struct Inside(Option<Arc<Run>>);
    impl Drop for Inside {
        fn drop(&mut self) {
            RUN.set(self.0.take());
        }
    }
    let inside = Inside(RUN.replace(Some(Arc::clone(run))));
    act();
    drop(inside);
    run.end(clock);
}

/// The instant of what is pushed now: in a publication that to which it belongs.
pub(super) fn instant_of_push(at: &Context) -> u64 {
    PUBLISHED.with_borrow(|instant| *instant).unwrap_or_else(|| at.now())
}

/// When what a handler on this thread does is over for others: it has ended at `now`.
pub(crate) fn ends(now: i64) -> i64 {
    let until = RUN.with_borrow(|run| run.as_ref().map(|run| run.until));
    until.map_or(now, |until| now.max(crate::chains::instant(until)))
}

/// Whether what the handlers on this thread push goes out at the end of an interval.
pub(crate) fn waits() -> bool {
    RUN.with_borrow(Option::is_some)
}

/// Does something once what the handlers on this thread have pushed has gone out, at the end of their interval.
pub(crate) fn once_published(act: impl FnOnce(u64) + Send + 'static) {
    if let Some(run) = RUN.with_borrow(Clone::clone) {
        // It is not done only where the lock cannot be had; then nothing goes out either.
        let _ = run.keep(Box::new(Then(act)));
    }
}

struct Then<F>(F);

impl<F: FnOnce(u64) + Send> Output for Then<F> {
    fn send(self: Box<Self>, clock: &Clock) {
        (self.0)(clock.now());
    }
}

/// What waits for the end of a run's interval, such as an event that was pushed.
trait Output: Send {
    fn send(self: Box<Self>, clock: &Clock);
}

struct Kept<T> {
    sink: Arc<dyn Sink<T>>,
    event: T,
    header: Header,
    /// The stamps of chains of the handler that pushed.
    stamps: Vec<Stamp>,
}

impl<T: Event> Output for Kept<T> {
    fn send(self: Box<Self>, clock: &Clock) {
        let at = Context::of(clock, &self.header, 0, 0);
        let held: Option<Held> = (!self.stamps.is_empty()).then(|| again(&self.stamps));
        // What is refused is counted by the queue that refuses: the handler that pushed it has ended.
        let _ = self.sink.take(&self.event, &at);
        drop(held);
    }
}

/// A link of a component with timers in logical execution time.
pub(crate) struct Deferring<T> {
    component: Arc<str>,
    sink: Arc<dyn Sink<T>>,
}

impl<T: Event> Deferring<T> {
    /// A link that keeps what runs of the component push. One for events of another type stays as it is.
    pub(crate) fn link(component: &str, link: AnyLink) -> AnyLink {
        match link.0.downcast::<Arc<dyn Sink<T>>>() {
            Ok(sink) => AnyLink::new::<T>(Arc::new(Self { component: Arc::from(component), sink: *sink })),
            Err(other) => AnyLink(other),
        }
    }

    fn run(&self) -> Option<Arc<Run>> {
        RUN.with_borrow(|run| run.as_ref().filter(|run| run.component == self.component).cloned())
    }

    fn keep(&self, run: &Run, event: &T, at: &Context) -> Outcome {
        let header = Header {
            created: at.created(),
            priority: at.priority(),
            deadline: at.deadline(),
            ..Header::default()
        };
        let (sink, event, stamps) = (Arc::clone(&self.sink), event.clone(), captured());
        run.keep(Box::new(Kept { sink, event, header, stamps }))
    }
}

impl<T: Event> Sink<T> for Deferring<T> {
    fn take(&self, event: &T, at: &Context) -> Outcome {
        match self.run() {
            Some(run) => self.keep(&run, event, at),
            None => self.sink.take(event, at),
        }
    }

    fn hand(&self, event: &T, at: &Context) -> Outcome {
        match self.run() {
            Some(run) => self.keep(&run, event, at),
            None => self.sink.hand(event, at),
        }
    }

    fn caught(&self, panic: Box<dyn Any + Send>) {
        self.sink.caught(panic);
    }
}
