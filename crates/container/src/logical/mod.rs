//! Logical execution time: a timer's handler reads what had come when the timer was due, and what it pushes goes out when its interval ends,
//! however long it runs. So what a component publishes, and when, does not depend on how busy the processors are.
mod boundary;
mod latch;
mod run;
mod schedule;

use std::any::Any;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use channel::{Dispatch, Full, Header, Order, Part, Queue};
use threads::{Bell, Lock};

pub use self::boundary::Boundary;
pub use self::latch::Latch;
pub(crate) use self::latch::Latched;
use self::run::Run;
pub(crate) use self::run::{Deferring, ends, once_published, waits};
use self::schedule::{Act, Schedule};
use crate::channel_service::{ByChannel, Core};
use crate::context::{Clock, Context, nanos};
use crate::error::ServerError;
use crate::event::{AnyLink, Body, Event, EventType, Of};
use crate::policy::Threads;
use crate::ports::Sink;
use crate::reports::{Fault, Reports};
use crate::server::Server;
use crate::service::{End, Joined, Route, Service, ServiceError};
use crate::target::{AnyInlet, ConsumerPort, Target};

/// A timer of a component in logical execution time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instants {
    /// The time from one instant to the next. Instants are multiples of it since the start of the server, so those of several timers
    /// stand to each other as their periods do.
    pub period: Duration,
    /// From an instant to when what the handler has pushed goes out: at most the period.
    pub interval: Duration,
    /// By which threads of its container the handler runs; not by [`Dispatch::Publisher`].
    pub dispatch: Dispatch,
    /// How long the handler may take before the component is in the error state.
    pub patience: Option<Duration>,
}

/// Ports that a timer reads.
pub(crate) struct Read {
    /// The number of the timer's connection.
    pub(crate) number: u32,
    /// `instance.port`.
    port: String,
    latch: Arc<Latch>,
}

/// All timers of a server in logical execution time.
pub(crate) struct Logical {
    clock: Clock,
    reports: Arc<Reports>,
    state: Lock<State>,
    bell: Bell,
}

#[derive(Default)]
struct State {
    schedule: Schedule,
    timers: Vec<Timed>,
    has_thread: bool,
}

#[derive(Clone)]
struct Timed {
    number: u32,
    component: Arc<str>,
    interval: u64,
    target: Arc<dyn Target>,
    latches: Vec<Arc<Latch>>,
    /// The way into the queue of its lane.
    queue: Arc<dyn Sink<Release>>,
    /// The last run, until it is published.
    open: Option<Arc<Run>>,
    /// The last run.
    last: Option<Arc<Run>>,
    /// An overrun was told, and no run has ended in time since.
    was_late: Arc<AtomicBool>,
}

/// The event that a timer is due, on its way to the thread that runs the handler.
#[derive(Clone)]
struct Release(Arc<Run>);

impl Event for Release {}

impl Server {
    /// Calls a timer of a component in logical execution time: at each instant it is fixed what the handler reads, which is the last event that
    /// has come to each of the ports `reads` of the component by then. The threads that `instants` names give the handlers of these ports
    /// that event, if it is new, and then call the timer. What they push on connections that are made from now on goes out at the end of the
    /// interval. What is published and what is due at one instant comes in this order.
    ///
    /// Connections to the ports `reads` are made after this.
    ///
    /// # Errors
    /// As [`Server::every`]; an interval that is 0, or longer than the period, is refused.
    pub fn at_instants(
        &mut self,
        name: &str,
        timer: &str,
        reads: &[&str],
        instants: Instants,
    ) -> Result<(), ServerError> {
        self.check_name(name)?;
        let unable = |text: &str| ServerError::Service {
            connection: name.to_owned(),
            error: ServiceError::Unable(text.to_owned()),
        };
        if instants.dispatch == Dispatch::Publisher {
            return Err(unable("a timer needs a lane, a pool or a thread of its own"));
        }
        if instants.interval.is_zero() || instants.interval > instants.period {
            return Err(unable("an interval is more than 0, and not longer than the period"));
        }
        let (inlet, container) = self.inlet(timer)?;
        if inlet.0.event().id() != std::any::TypeId::of::<crate::Tick>() {
            let other = ("a timer".to_owned(), std::any::type_name::<crate::Tick>());
            return Err(ServerError::Types { one: (timer.to_owned(), inlet.0.event().name()), other });
        }
        let component: Arc<str> = Arc::from(timer.split('.').next().unwrap_or_default());
        let (mut inputs, mut read) = (Vec::new(), Vec::new());
        for port in reads {
            if port.split('.').next() != Some(&component) {
                return Err(ServerError::Unknown(format!("{port} beside {timer}")));
            }
            let (inlet, _) = self.inlet(port)?;
            inputs.push(self.inlet_of(name, port, inlet).0);
            read.push((port.to_string(), Arc::new(Latch::new())));
        }
        let target = self.inlet_of(name, timer, inlet).0;
        let clock = self.clock.clone();
        let handlers = Handlers { target: Arc::clone(&target), inputs, clock: clock.clone() };
        let by = ByChannel {
            // An instant while the one before still waits is skipped.
            queue: Queue { depth: 1, full: Full::DropNewest, order: Order::Fifo },
            patience: instants.patience,
            ..ByChannel::new(instants.dispatch)
        };
        let (sources, targets) = ([timer.to_owned()], [(AnyInlet(Arc::new(handlers)), container)]);
        let event = &Of::<Release>(std::marker::PhantomData);
        let (connection, reports) = (name, &self.reports);
        let route = Route {
            connection,
            event,
            sources: &sources,
            targets: &targets,
            clock: &clock,
            clocks: &self.clocks,
            is_followed: false,
            is_held: false,
            reports,
        };
        let failed = |error| ServerError::Service { connection: name.to_owned(), error };
        let Joined { links, end } = by.connect(&route).map_err(failed)?;
        let queue = links.into_iter().flatten().find_map(AnyLink::sink::<Release>);
        let queue = queue.ok_or_else(|| unable("its queue cannot be had"))?;
        let latches = read.iter().map(|(_, latch)| Arc::clone(latch)).collect();
        let timed = Timed {
            number: 0,
            component,
            interval: nanos(instants.interval),
            target,
            latches,
            queue,
            open: None,
            last: None,
            was_late: Arc::default(),
        };
        let priority = self.containers.iter().flat_map(|container| &container.policy.lanes);
        let priority =
            priority.filter_map(|(_, lane)| lane.priority()).max().map(|most| most.saturating_add(1).min(99));
        let logical = Arc::clone(&self.logical);
        let timer_number = logical.add(nanos(instants.period), timed, priority).map_err(failed)?;
        let end = Box::new(Ended { inner: end, logical: Arc::clone(&logical), timer: timer_number });
        let number = self.enter(name, &[], &[timer], false, Some(end));
        self.reads.extend(read.into_iter().map(|(port, latch)| Read { number, port, latch }));
        Ok(())
    }

    /// A port that keeps what comes if a timer reads it at its instants; otherwise the port itself.
    pub(crate) fn kept(&self, connection: &str, port: &str, inlet: AnyInlet) -> AnyInlet {
        let Some(read) = self.reads.iter().find(|read| read.port == port) else { return inlet };
        let plain = inlet.0.event();
        let event = if self.is_followed(connection) { plain.stamped() } else { plain };
        event.latched(Arc::clone(&read.latch), inlet.0)
    }

    /// A link of a port that publishes: one that keeps what is pushed in logical execution time, if its component has that.
    pub(crate) fn deferred(&self, port: &str, event: &dyn EventType, link: AnyLink) -> AnyLink {
        let component = port.split('.').next().unwrap_or_default();
        if self.logical.has(component) { event.deferred(component, link) } else { link }
    }
}

impl Logical {
    pub(crate) fn new(clock: &Clock, reports: &Arc<Reports>) -> Arc<Self> {
        let (clock, reports) = (clock.clone(), Arc::clone(reports));
        Arc::new(Self { clock, reports, state: Lock::new(State::default()), bell: Bell::new() })
    }

    fn has(&self, component: &str) -> bool {
        self.state.lock().is_ok_and(|state| state.timers.iter().any(|timed| *timed.component == *component))
    }

    /// A further timer. With the clock of the system there is a thread for all timers, as long as the server is there.
    fn add(self: &Arc<Self>, period: u64, timed: Timed, priority: Option<u8>) -> Result<u32, ServiceError> {
        let unable = |_| ServiceError::Unable("the lock of timers cannot be had".to_owned());
        let mut state = self.state.lock().map_err(unable)?;
        if !state.has_thread && matches!(self.clock, Clock::Monotonic(_)) {
            let (me, reports) = (Arc::downgrade(self), Arc::clone(&self.reports));
            let threads = priority.map_or_else(Threads::default, Threads::fifo);
            let work = move || {
                threads.settle(Some("instants"), "instants", &reports);
                keep_time(&me);
            };
            let started = thread::Builder::new().spawn(work);
            started.map_err(|error| ServiceError::Thread(format!("instants: {error}")))?;
            state.has_thread = true;
        }
        let now = self.clock.now();
        let number = state.schedule.add(now, period, timed.interval);
        state.schedule.rest(now, number, !timed.target.port().is_active());
        state.timers.push(Timed { number, ..timed });
        drop(state);
        self.bell.ring();
        Ok(number)
    }

    fn remove(&self, timer: u32) {
        if let Ok(mut state) = self.state.lock() {
            state.schedule.remove(timer);
            let gone = state.timers.iter().position(|timed| timed.number == timer);
            let gone = gone.map(|place| state.timers.remove(place));
            drop(state);
            drop(gone);
        }
    }

    /// What has come for the instants of a timer is dropped, if it is one of this component.
    fn discard(&self, timer: u32, component: &str) {
        let latches = self.state.lock().ok().and_then(|state| {
            let is_it = |timed: &&Timed| timed.number == timer && *timed.component == *component;
            state.timers.iter().find(is_it).map(|timed| timed.latches.clone())
        });
        latches.iter().flat_map(|latches| latches.iter()).for_each(|latch| latch.clear());
    }

    /// The component of a timer comes to rest, or goes on.
    fn rest(&self, timer: u32, component: &str, is_at_rest: bool) {
        if let Ok(mut state) = self.state.lock()
            && state.timers.iter().any(|timed| timed.number == timer && *timed.component == *component)
        {
            state.schedule.rest(self.clock.now(), timer, is_at_rest);
            drop(state);
            self.bell.ring();
        }
    }

    /// When there is something to do.
    pub(crate) fn due(&self) -> Option<u64> {
        self.state.lock().ok()?.schedule.due()
    }

    /// Does what is due.
    pub(crate) fn act(&self) {
        while let Some((act, timed)) = self.next() {
            match act {
                Act::Release { due, .. } => self.release(&timed, due),
                Act::Publish { due, .. } => self.publish(&timed, due),
            }
        }
    }

    fn next(&self) -> Option<(Act, Timed)> {
        let mut state = self.state.lock().ok()?;
        let act = state.schedule.pop(self.clock.now())?;
        let (Act::Release { timer, .. } | Act::Publish { timer, .. }) = act;
        let timed = state.timers.iter().find(|timed| timed.number == timer)?.clone();
        Some((act, timed))
    }

    fn open(&self, timer: u32, run: Option<Arc<Run>>) {
        if let Ok(mut state) = self.state.lock()
            && let Some(timed) = state.timers.iter_mut().find(|timed| timed.number == timer)
        {
            if run.is_some() {
                timed.last.clone_from(&run);
            }
            timed.open = run;
        }
    }

    fn release(&self, timed: &Timed, due: u64) {
        // What came before an instant at which the component is at rest is read at the first at which it is not.
        if !timed.target.port().is_active() {
            return;
        }
        let inputs = timed.latches.iter().map(|latch| latch.read(due)).collect();
        let run = Arc::new(Run::new(&timed.component, due, due.saturating_add(timed.interval), inputs));
        self.open(timed.number, Some(Arc::clone(&run)));
        let header = Header { created: due, ..Header::default() };
        let at = Context::of(&self.clock, &header, 0, 0);
        // A queue that is full skips it.
        if timed.queue.take(&Release(Arc::clone(&run)), &at).is_err() {
            run.over();
        }
    }

    fn publish(&self, timed: &Timed, due: u64) {
        let Some(run) = timed.open.as_ref().filter(|run| run.due == due) else { return };
        self.open(timed.number, None);
        let in_time = run.publish(&self.clock);
        if !in_time && !timed.was_late.swap(true, Relaxed) && timed.target.port().is_active() {
            let interval = Duration::from_nanos(timed.interval);
            self.reports.add(timed.target.name(), Fault::Overrun { interval });
        } else if in_time {
            timed.was_late.store(false, Relaxed);
        }
    }
}

/// Does what is due when it is, until the server is gone.
fn keep_time(logical: &Weak<Logical>) {
    /// The longest sleep, after which it is seen that the server is gone.
    const LOOK: Duration = Duration::from_millis(200);
    while let Some(logical) = logical.upgrade() {
        logical.act();
        let now = logical.clock.now();
        let left = logical.due().map(|due| Duration::from_nanos(due.saturating_sub(now)));
        let _ = logical.bell.wait(|| false, || Some(left.unwrap_or(LOOK).min(LOOK)));
    }
}

/// The connection of a timer.
struct Ended {
    inner: Box<dyn End>,
    logical: Arc<Logical>,
    timer: u32,
}

impl End for Ended {
    fn suspend(&self, instance: &str, is_suspended: bool) {
        self.inner.suspend(instance, is_suspended);
        self.logical.rest(self.timer, instance, is_suspended);
    }

    fn discard(&self, instance: &str) {
        self.inner.discard(instance);
        self.logical.discard(self.timer, instance);
    }

    fn counts(&self, instance: &str) -> channel::Counts {
        self.inner.counts(instance)
    }

    fn unfinished(&self, instance: &str) -> usize {
        self.inner.unfinished(instance)
    }

    fn cores(&self) -> Vec<Arc<Core>> {
        self.inner.cores()
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.logical.remove(self.timer);
    }
}

/// The handlers of a timer and of the ports that it reads, as the queue of its lane sees them.
struct Handlers {
    target: Arc<dyn Target>,
    inputs: Vec<Arc<dyn Target>>,
    clock: Clock,
}

impl Target for Handlers {
    fn port(&self) -> &dyn ConsumerPort {
        self.target.port()
    }

    fn event(&self) -> &'static dyn EventType {
        &Of::<Release>(std::marker::PhantomData)
    }

    fn link(self: Arc<Self>) -> AnyLink {
        // Its queue delivers, and nothing else leads to it.
        Arc::clone(&self.target).link()
    }

    fn deliver(&self, part: &Part<Body>, at: &Context) {
        let Part::Event { body, header, .. } = part else { return };
        let event: &dyn Any = body.0.event();
        let Some(Release(run)) = event.downcast_ref::<Release>() else { return };
        run::within(run, &self.clock, || {
            for (input, part) in self.inputs.iter().zip(run.inputs()) {
                if let Some(part) = part {
                    let header = if let Part::Event { header, .. } = &part { *header } else { *header };
                    input.deliver(&part, &Context::of(&self.clock, &header, 0, 0));
                }
            }
            self.target.deliver(&Part::Timeout { timer: 0, at: run.due, priority: header.priority }, at);
        });
    }

    fn is_parallel(&self) -> bool {
        false
    }
}

impl fmt::Debug for Logical {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Logical")
    }
}
