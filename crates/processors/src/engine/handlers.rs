//! The work of threads: they take deliveries, acquire locks, and run the steps of handlers.
use alloc::vec::Vec;

use super::state::{Frame, Stage, ThreadState};
use super::{Engine, Origins};
use crate::attack::Extent;
use crate::story::Happening;
use crate::system::{Entry, LaneOrder, Step, Target};

impl Engine<'_> {
    /// The next thing that a running thread does and that takes no time, or that begins something which does.
    pub(super) fn act(&mut self, thread: usize) {
        let Some(frame) = self.threads[thread].frames.last_mut() else {
            self.take(thread);
            return;
        };
        match frame.stage {
            Stage::Dispatch => frame.stage = Stage::Lock,
            Stage::Lock => self.acquire(thread),
            Stage::Handler => self.step(thread),
        }
    }

    /// Whether a port has something that a thread can take (P14).
    fn is_available(&self, port: usize) -> bool {
        let state = &self.ports[port];
        let serialised = self.system.parts.components[self.system.parts.ports[port].component].serialised;
        !state.queue.is_empty() && (!serialised || state.busy == 0)
    }

    fn take(&mut self, thread: usize) {
        let lane = self.threads[thread].lane;
        let order = self.system.parts.lanes[lane].order;
        let available = self.served[lane].iter().copied().filter(|port| self.is_available(*port));
        let key = |port: &usize| {
            let front = self.ports[*port].queue.front();
            let deadline = match (order, self.system.parts.ports[*port].entry) {
                (LaneOrder::EarliestDeadline, Entry::Queued { deadline, .. }) => deadline,
                _ => 0,
            };
            let due = |entered: u64| if order == LaneOrder::Fifo { 0 } else { entered + deadline };
            front.map(|front| (due(front.entered), front.number))
        };
        let Some(port) = available.min_by_key(key) else {
            self.threads[thread].state = ThreadState::Asleep;
            self.log(Happening::Sleeps { thread });
            return;
        };
        let Some(delivery) = self.ports[port].queue.pop_front() else { return };
        self.ports[port].busy += 1;
        self.log(Happening::Takes { thread, port });
        let dispatch = self.system.parts.hosts[self.system.host(port)].dispatch;
        let left = self.choose(self.attack.costs, 0, dispatch);
        self.threads[thread].left = left;
        self.threads[thread].frames.push(Frame {
            port,
            stage: Stage::Dispatch,
            step: 0,
            origins: delivery.origins,
            called: delivery.called,
            has_lock: false,
            calling: None,
            run: delivery.run,
        });
        self.offer_work(port);
    }

    /// Wakes a thread for a port that is available (P14).
    pub(super) fn offer_work(&mut self, port: usize) {
        let Entry::Queued { lane, .. } = self.system.parts.ports[port].entry else { return };
        if !self.is_available(port) {
            return;
        }
        let first = self.first_thread[lane];
        let asleep = first..first + self.system.parts.lanes[lane].threads.len();
        let asleep: Vec<usize> =
            asleep.filter(|thread| self.threads[*thread].state == ThreadState::Asleep).collect();
        if asleep.len() > 1 {
            let chosen = self.choose(Extent::Any, 0, asleep.len() as u64 - 1);
            self.signal(asleep[chosen as usize]);
        } else if let Some(thread) = asleep.first() {
            self.signal(*thread);
        }
    }

    fn acquire(&mut self, thread: usize) {
        let Some(frame) = self.threads[thread].frames.last() else { return };
        let (port, has_lock) = (frame.port, frame.has_lock);
        let component = self.system.parts.ports[port].component;
        if !self.system.parts.components[component].serialised || has_lock {
            self.begin(thread);
        } else if let Some(holder) = self.locks[component].owner {
            self.threads[thread].state = ThreadState::Blocked;
            self.locks[component].waiting.push(thread);
            self.log(Happening::Waits { thread, component, holder });
            self.inherit();
        } else {
            self.own(thread, component);
            self.begin(thread);
        }
    }

    fn own(&mut self, thread: usize, component: usize) {
        self.locks[component].owner = Some(thread);
        if let Some(frame) = self.threads[thread].frames.last_mut() {
            frame.has_lock = true;
        }
    }

    /// Gives a lock to the waiting thread with the highest priority (P11).
    fn release(&mut self, component: usize) {
        let lock = &mut self.locks[component];
        lock.owner = None;
        if lock.waiting.is_empty() {
            return;
        }
        let mut best = 0;
        for (place, thread) in lock.waiting.iter().enumerate() {
            if self.threads[*thread].priority > self.threads[lock.waiting[best]].priority {
                best = place;
            }
        }
        let next = lock.waiting.remove(best);
        self.own(next, component);
        self.log(Happening::Gets { thread: next, component });
        self.inherit();
        self.signal(next);
    }

    /// The handler begins: it reads its registers (D7).
    fn begin(&mut self, thread: usize) {
        let Some(frame) = self.threads[thread].frames.last_mut() else { return };
        frame.stage = Stage::Handler;
        let port = frame.port;
        let (mut origins, is_let) = (frame.origins, frame.run.is_some());
        if !is_let {
            for register in 0..self.ports[port].registers.len() {
                let value = self.ports[port].registers[register];
                self.gather(&mut origins, &value);
            }
        }
        if let Some(frame) = self.threads[thread].frames.last_mut() {
            frame.origins = origins;
        }
        self.log(Happening::Begins { thread, port });
        self.mark(port, &origins);
    }

    fn step(&mut self, thread: usize) {
        let system = self.system;
        let Some(frame) = self.threads[thread].frames.last_mut() else { return };
        if let Some((output, next, since)) = frame.calling {
            let direct = |connection: &&usize| {
                matches!(system.parts.connections[**connection].target, Target::Direct(_))
            };
            let Some(connection) = system.leads[output].iter().filter(direct).nth(next) else {
                frame.calling = None;
                return;
            };
            frame.calling = Some((output, next + 1, since));
            let port = system.parts.connections[*connection].target.port();
            let origins = frame.origins;
            let origins = self.pass(*connection, &origins, since);
            self.mark(port, &origins);
            self.threads[thread].frames.push(Frame {
                port,
                stage: Stage::Lock,
                step: 0,
                origins,
                called: since,
                has_lock: false,
                calling: None,
                run: None,
            });
            return;
        }
        let (port, origins, run) = (frame.port, frame.origins, frame.run);
        let Some(step) = system.parts.ports[port].steps.get(frame.step) else {
            self.finish(thread);
            return;
        };
        frame.step += 1;
        let extent = self.attack.steps[port];
        match *step {
            Step::Run { least, most } => self.threads[thread].left = self.choose(extent, least, most),
            Step::Push { optional, .. } if optional && self.choose(extent, 0, 1) == 0 => {}
            Step::Push { output, .. } => {
                if let Some(run) = run {
                    self.lets[run].outputs.push(output);
                    return;
                }
                let since = self.now;
                if let Some(frame) = self.threads[thread].frames.last_mut() {
                    frame.calling = Some((output, 0, since));
                }
                self.push(output, &origins);
            }
        }
    }

    /// Ends the handlers of a thread that have nothing more to do.
    pub(super) fn conclude(&mut self, thread: usize) {
        let system = self.system;
        while let Some(frame) = self.threads[thread].frames.last() {
            let calls = frame.calling.is_some_and(|(output, next, _)| {
                let is_direct = |connection: &&usize| {
                    matches!(system.parts.connections[**connection].target, Target::Direct(_))
                };
                system.leads[output].iter().filter(is_direct).count() > next
            });
            let steps = system.parts.ports[frame.port].steps.len();
            if frame.stage != Stage::Handler || calls || frame.step < steps {
                return;
            }
            self.finish(thread);
        }
    }

    fn finish(&mut self, thread: usize) {
        let Some(frame) = self.threads[thread].frames.pop() else { return };
        let port = frame.port;
        self.log(Happening::Ends { thread, port });
        match frame.run {
            Some(run) => self.finish_let(run),
            None => self.complete(port, &frame.origins, frame.called),
        }
        if frame.has_lock {
            self.release(self.system.parts.ports[port].component);
        }
        if self.threads[thread].frames.is_empty() {
            self.ports[port].busy -= 1;
            self.offer_work(port);
        }
    }

    fn finish_let(&mut self, run: usize) {
        self.lets[run].is_done = true;
        if self.lets[run].is_due {
            self.publish(run);
        }
    }

    /// The interval of a run in logical execution time is over (T1).
    pub(super) fn publish_due(&mut self, run: usize) {
        let port = self.lets[run].port;
        if let Some(until) = self.held_until(port) {
            self.schedule(until, self.port_rank(port), super::Event::Publish(run));
            return;
        }
        self.lets[run].is_due = true;
        if self.lets[run].is_done {
            self.publish(run);
        } else {
            let called = self.lets[run].called;
            let now = self.now;
            self.outcome.overruns[port].add(1, called, now);
            self.log(Happening::Overruns { port });
        }
    }

    fn publish(&mut self, run: usize) {
        let outputs = core::mem::take(&mut self.lets[run].outputs);
        let (port, origins, called) = (self.lets[run].port, self.lets[run].origins, self.lets[run].called);
        self.log(Happening::Publishes { port });
        for output in outputs {
            self.push(output, &origins);
        }
        self.complete(port, &origins, called);
    }

    /// Pushes to everything but direct connections (P15, D5).
    fn push(&mut self, output: usize, origins: &Origins) {
        let system = self.system;
        let is_refused = system.leads[output].iter().any(|connection| self.refuses(*connection));
        for connection in &system.leads[output] {
            let what = &system.parts.connections[*connection];
            let passed = match what.target {
                // Its call follows.
                Target::Direct(_) => continue,
                _ => self.pass(*connection, origins, self.now),
            };
            match what.transfer {
                Some((least, most)) => self.send(*connection, passed, least, most),
                None if is_refused => {
                    self.never_answered(&passed);
                    if self.refuses(*connection) {
                        let now = self.now;
                        self.lose(what.target.port(), now);
                    }
                }
                None => self.deliver(*connection, passed, self.now),
            }
        }
    }
}
