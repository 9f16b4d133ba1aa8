//! Waits for a boundary of logical intervals: all that has come was read by a run, and what that run pushed has gone out.
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::run::Run;
use super::{Logical, Timed};
use crate::error::ServerError;
use crate::server::Server;

/// How long a thread that waits sleeps between two looks.
const NAP: Duration = Duration::from_micros(20);

/// The end of the next interval of each timer of a component in logical execution time.
pub struct Boundary {
    logical: Arc<Logical>,
    /// With the run that has begun since, if one has.
    timers: Vec<(u32, Option<Arc<Run>>)>,
    since: u64,
}

impl Boundary {
    /// Whether each timer has read, at an instant since this was asked for, what had come until then, and what its run pushed has gone out. A
    /// component that does not work has nothing to end.
    pub fn is_passed(&mut self) -> bool {
        let (logical, since) = (&self.logical, self.since);
        self.timers.retain_mut(|(timer, run)| {
            let Some(timed) = logical.timed(*timer).filter(|timed| timed.target.port().is_active()) else {
                return false;
            };
            if run.is_none() {
                *run = timed.last.filter(|run| run.due >= since);
            }
            !run.as_ref().is_some_and(|run| run.is_over())
        });
        self.timers.is_empty()
    }
}

impl Logical {
    fn timed(&self, timer: u32) -> Option<Timed> {
        self.state.lock().ok()?.timers.iter().find(|timed| timed.number == timer).cloned()
    }

    fn timers_of(&self, component: &str) -> Vec<u32> {
        let of_it = |timed: &&Timed| *timed.component == *component;
        let state = self.state.lock();
        state
            .map(|state| state.timers.iter().filter(of_it).map(|timed| timed.number).collect())
            .unwrap_or_default()
    }
}

impl Server {
    /// The end of the next interval of each timer of a component in logical execution time: what has come to it by now is read until then, and what
    /// is published because of that has gone out. If it `is_last`, no interval begins after it until the component was at rest and works again, or
    /// [`Server::go_on_at_instants`] is called.
    pub fn boundary(&self, component: &str, is_last: bool) -> Boundary {
        let (timers, since) = (self.logical.timers_of(component), self.clock.now());
        if is_last && let Ok(mut state) = self.logical.state.lock() {
            timers.iter().for_each(|timer| state.schedule.end(since, *timer));
        }
        let timers = timers.into_iter().map(|timer| (timer, None)).collect();
        Boundary { logical: Arc::clone(&self.logical), timers, since }
    }

    /// Waits for that boundary.
    ///
    /// # Errors
    /// It is not there within the limit.
    pub fn await_boundary(&self, component: &str, is_last: bool, limit: Duration) -> Result<(), ServerError> {
        let (begun, mut boundary) = (Instant::now(), self.boundary(component, is_last));
        while !boundary.is_passed() {
            if begun.elapsed() > limit {
                return Err(ServerError::Interval(component.to_owned()));
            }
            std::thread::sleep(NAP);
        }
        Ok(())
    }

    /// Lets the timers of a component that works begin intervals again.
    pub fn go_on_at_instants(&self, component: &str) {
        for timer in self.logical.timers_of(component) {
            let is_at_rest = self.logical.timed(timer).is_none_or(|timed| !timed.target.port().is_active());
            self.logical.rest(timer, component, is_at_rest);
        }
    }
}

impl fmt::Debug for Boundary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Boundary of {} timers since {}", self.timers.len(), self.since)
    }
}
