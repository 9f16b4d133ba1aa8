//! Which thread a core runs: priorities, constant bandwidth servers, throttling, stalls.
use super::state::ThreadState;
use super::{Engine, Event};
use crate::story::Happening;
use crate::system::Throttling;

/// The classes of threads, in the order in which a core serves them (P2), then what decides within a class.
type Standing = (u8, u64, bool, i64);

impl Engine<'_> {
    pub(super) fn window(&self, core: usize) -> Option<Throttling> {
        self.system.parts.hosts[self.cores[core].host].throttling
    }

    /// Counts the time that the running thread has had.
    fn charge(&mut self, core: usize) {
        let Some(running) = self.cores[core].running else { return };
        let had = self.now.saturating_sub(self.cores[core].since);
        if had == 0 {
            return;
        }
        self.cores[core].since = self.now;
        let thread = &mut self.threads[running];
        let overhead = had.min(thread.overhead);
        thread.overhead -= overhead;
        thread.is_ending = thread.left + overhead > 0 && thread.left <= had - overhead;
        thread.left = thread.left.saturating_sub(had - overhead);
        self.count(core, running, had);
    }

    /// Counts time against budget and window.
    fn count(&mut self, core: usize, thread: usize, had: u64) {
        let deadlines_count = self.attack.deadlines_count;
        let thread = &mut self.threads[thread];
        let counts = match &mut thread.server {
            Some(server) => {
                server.budget -= had as i64;
                deadlines_count
            }
            None => thread.priority > 0,
        };
        if !counts {
            return;
        }
        self.cores[core].used += had;
        if let Some(window) = self.window(core)
            && self.cores[core].used >= window.runtime
        {
            let passed = self.now.saturating_sub(self.cores[core].used - window.runtime);
            self.cores[core].used_up.get_or_insert(passed);
        }
    }

    fn left(&self, thread: usize) -> u64 {
        self.threads[thread].overhead + self.threads[thread].left
    }

    fn standing(&self, core: usize, thread: usize) -> Option<Standing> {
        let is_running = self.cores[core].running == Some(thread);
        let thread = &self.threads[thread];
        if thread.state != ThreadState::Ready {
            return None;
        }
        match (&thread.server, thread.priority) {
            (Some(server), _) if server.is_throttled => None,
            (Some(server), _) => Some((2, u64::MAX - server.deadline, is_running, -thread.place)),
            (None, 0) => Some((0, 0, is_running, -thread.place)),
            (None, _) if self.cores[core].is_throttled => None,
            (None, priority) => Some((1, u64::from(priority), false, -thread.place)),
        }
    }

    fn best(&self, core: usize) -> Option<usize> {
        let threads = self.cores[core].threads.iter();
        let standing = threads.filter_map(|thread| Some((self.standing(core, *thread)?, *thread)));
        standing.max().map(|(_, thread)| thread)
    }

    /// Work that ends at an instant ends before any other event of that instant.
    pub(super) fn conclude_all(&mut self) {
        for core in 0..self.cores.len() {
            self.charge(core);
            if let Some(thread) = self.cores[core].running
                && core::mem::take(&mut self.threads[thread].is_ending)
            {
                self.conclude(thread);
                self.touched.push(core);
            }
        }
    }

    /// Lets a core run what it has to run now, until that takes time.
    pub(super) fn resolve(&mut self, core: usize) {
        self.charge(core);
        loop {
            if self.cores[core].frozen_until > self.now {
                return;
            }
            self.limit(core);
            let best = self.best(core);
            if best != self.cores[core].running {
                self.switch(core, best);
            }
            let Some(thread) = best else { return };
            if self.left(thread) == 0 {
                self.act(thread);
                continue;
            }
            if let Some(server) = self.threads[thread].server.filter(|server| server.budget <= 0) {
                self.throttle(thread, server.deadline - server.relative + server.period);
                continue;
            }
            if self.longest(core, thread) == 0 {
                self.cores[core].is_throttled = true;
                self.log(Happening::Throttles { core });
                continue;
            }
            let until = self.now.saturating_add(self.left(thread).min(self.longest(core, thread)));
            if self.cores[core].planned == Some(until) {
                return;
            }
            self.cores[core].version += 1;
            self.cores[core].planned = Some(until);
            let rank = self.lane_rank(self.threads[thread].lane);
            self.schedule(until, rank, Event::Core(core, self.cores[core].version));
            return;
        }
    }

    /// How long budget and window let a thread run.
    fn longest(&self, core: usize, thread: usize) -> u64 {
        let thread = &self.threads[thread];
        let window =
            self.window(core).map_or(u64::MAX, |window| window.runtime.saturating_sub(self.cores[core].used));
        match thread.server {
            Some(server) => server.budget.max(0) as u64,
            None if thread.priority > 0 => window,
            None => u64::MAX,
        }
    }

    /// Stops fifo threads when the window's time is used up (P10). At the very instant they can still do what takes no time.
    fn limit(&mut self, core: usize) {
        let is_over = self.cores[core].used_up.is_some_and(|since| since < self.now);
        if is_over && !self.cores[core].is_throttled {
            self.cores[core].is_throttled = true;
            self.log(Happening::Throttles { core });
        }
    }

    fn switch(&mut self, core: usize, thread: Option<usize>) {
        self.cores[core].running = thread;
        self.cores[core].since = self.now;
        self.cores[core].version += 1;
        self.cores[core].planned = None;
        self.log(Happening::Runs { core, thread });
        let Some(thread) = thread else { return };
        if self.cores[core].last != Some(thread) {
            self.cores[core].last = Some(thread);
            let switch = self.system.parts.hosts[self.cores[core].host].switch;
            let cost = self.choose(self.attack.costs, 0, switch);
            self.threads[thread].overhead += cost;
        }
    }

    pub(super) fn end_window(&mut self, core: usize) {
        self.charge(core);
        self.cores[core].used = 0;
        self.cores[core].used_up = None;
        if self.cores[core].is_throttled {
            self.cores[core].is_throttled = false;
            self.log(Happening::Unthrottles { core });
        }
        self.touched.push(core);
    }

    pub(super) fn stall(&mut self, stall: usize, core: usize) {
        self.charge(core);
        let kinds = &self.system.parts.hosts[self.cores[core].host].stalls;
        let first: usize =
            (0..core).map(|core| self.system.parts.hosts[self.cores[core].host].stalls.len()).sum();
        let length = kinds[stall - first].length;
        self.log(Happening::Stalls { core, length });
        let until = self.cores[core].frozen_until.max(self.now) + length;
        let core_state = &mut self.cores[core];
        core_state.frozen_until = until;
        core_state.since = until;
        core_state.stalled += length;
        core_state.version += 1;
        core_state.planned = None;
        self.schedule(until, 0, Event::Thaw(core));
    }

    pub(super) fn thaw(&mut self, core: usize) {
        if self.cores[core].frozen_until > self.now {
            return;
        }
        let stalled = core::mem::take(&mut self.cores[core].stalled);
        if let (Some(thread), true) = (self.cores[core].running, self.attack.stalls_count) {
            self.count(core, thread, stalled);
        }
        self.log(Happening::Thaws { core });
        self.touched.push(core);
    }

    /// A thread can run from now on.
    pub(super) fn awake(&mut self, thread: usize) {
        self.tail += 1;
        let now = self.now;
        let place = self.tail;
        let state = &mut self.threads[thread];
        state.state = ThreadState::Ready;
        state.place = place;
        let core = state.core;
        self.log(Happening::Wakes { thread });
        if let Some(server) = &mut self.threads[thread].server {
            let (budget, density) = (i128::from(server.budget), i128::from(server.runtime));
            let laxity = i128::from(server.deadline) - i128::from(now);
            let next = server.deadline.saturating_sub(server.relative) + server.period;
            if !server.has_begun || (laxity < 0 && (server.relative == server.period || now >= next)) {
                server.has_begun = true;
                server.deadline = now + server.relative;
                server.budget = server.runtime as i64;
            } else if laxity < 0 {
                server.budget = server.budget.min(0);
                self.throttle(thread, next);
            } else if budget * i128::from(server.relative) > laxity * density {
                if server.relative == server.period {
                    server.deadline = now + server.relative;
                    server.budget = server.runtime as i64;
                } else {
                    server.budget = (laxity * density / i128::from(server.relative)) as i64;
                }
            }
        }
        self.touched.push(core);
    }

    /// Stops a deadline thread until its next period.
    fn throttle(&mut self, thread: usize, until: u64) {
        if let Some(server) = &mut self.threads[thread].server {
            server.is_throttled = true;
        }
        self.log(Happening::Exhausts { thread });
        if until <= self.now {
            self.replenish(thread);
        } else {
            self.schedule(until, 0, Event::Replenish(thread));
        }
    }

    pub(super) fn replenish(&mut self, thread: usize) {
        let now = self.now;
        let Some(server) = &mut self.threads[thread].server else { return };
        server.is_throttled = false;
        while server.budget <= 0 {
            server.deadline += server.period;
            server.budget += server.runtime as i64;
        }
        if server.deadline < now {
            server.deadline = now + server.relative;
            server.budget = server.runtime as i64;
        }
        self.log(Happening::Replenishes { thread });
        self.touched.push(self.threads[thread].core);
    }

    /// Computes what threads inherit (P11), and gives those that rise or fall their places (P3).
    pub(super) fn inherit(&mut self) {
        let mut inherited: alloc::vec::Vec<u8> = self.threads.iter().map(|thread| thread.own).collect();
        loop {
            let mut changed = false;
            for lock in &self.locks {
                let Some(owner) = lock.owner else { continue };
                let highest = lock.waiting.iter().map(|thread| inherited[*thread]).max().unwrap_or(0);
                if highest > inherited[owner] {
                    inherited[owner] = highest;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        for (thread, priority) in inherited.into_iter().enumerate() {
            let before = self.threads[thread].priority;
            if priority == before {
                continue;
            }
            let core = self.threads[thread].core;
            self.charge(core);
            self.threads[thread].priority = priority;
            self.threads[thread].place = if priority > before {
                self.tail += 1;
                self.tail
            } else {
                self.head -= 1;
                self.head
            };
            self.touched.push(core);
        }
    }
}
