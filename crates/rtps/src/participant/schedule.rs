//! Which endpoints have something to do: those that were touched since they were last asked, and those whose time has come.
//! So that an idle endpoint costs nothing, however many there are.
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

use wire::{Duration, EntityId, Instant};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// In the queue.
    Ready,
    /// In the order of times.
    Waiting(Instant),
}

#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// Those to be asked, in turn.
    ready: VecDeque<EntityId>,
    waiting: BTreeSet<(Instant, EntityId)>,
    /// Neither: idle.
    states: BTreeMap<EntityId, State>,
}

impl Schedule {
    /// An endpoint was touched, or has sent and may have more: it is asked after all others that are ready.
    pub(super) fn wake(&mut self, id: EntityId) {
        match self.states.insert(id, State::Ready) {
            Some(State::Ready) => return,
            Some(State::Waiting(at)) => {
                self.waiting.remove(&(at, id));
            }
            None => {}
        }
        self.ready.push_back(id);
    }

    /// Takes the next endpoint to ask. It is idle then, until it is told to wake or to wait.
    pub(super) fn next(&mut self, now: Instant) -> Option<EntityId> {
        while let Some((_, id)) = self.waiting.first().copied().filter(|(at, _)| *at <= now) {
            self.wake(id);
        }
        let id = self.ready.pop_front()?;
        self.states.remove(&id);
        Some(id)
    }

    /// An idle endpoint has nothing to do before `at`. It is asked once per instant at most, whatever it says.
    pub(super) fn wait(&mut self, id: EntityId, now: Instant, at: Instant) {
        let at = at.max(now.after(Duration::from_nanos(1)));
        if at != Instant::NEVER {
            self.states.insert(id, State::Waiting(at));
            self.waiting.insert((at, id));
        }
    }

    pub(super) fn forget(&mut self, id: EntityId) {
        match self.states.remove(&id) {
            Some(State::Ready) => self.ready.retain(|other| *other != id),
            Some(State::Waiting(at)) => {
                self.waiting.remove(&(at, id));
            }
            None => {}
        }
    }

    /// When `next` gives an endpoint at the latest.
    pub(super) fn timeout(&self) -> Instant {
        match self.ready.is_empty() {
            true => self.waiting.first().map_or(Instant::NEVER, |(at, _)| *at),
            false => Instant::START,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::EntityKind;

    fn id(key: u32) -> EntityId {
        EntityId::user(key, EntityKind::WriterNoKey)
    }

    #[test]
    fn the_ready_are_asked_in_turn_and_the_waiting_in_time() {
        let mut schedule = Schedule::default();
        let at = |nanos| Instant::from_nanos(nanos);
        schedule.wake(id(1));
        schedule.wake(id(2));
        schedule.wake(id(1));
        assert_eq!(schedule.next(at(0)), Some(id(1)));
        schedule.wake(id(1));
        assert_eq!(schedule.timeout(), Instant::START);
        assert_eq!(
            [schedule.next(at(0)), schedule.next(at(0)), schedule.next(at(0))],
            [Some(id(2)), Some(id(1)), None]
        );
        schedule.wait(id(1), at(0), at(50));
        schedule.wait(id(2), at(0), at(0));
        schedule.wait(id(3), at(0), Instant::NEVER);
        assert_eq!(schedule.timeout(), at(1));
        assert_eq!([schedule.next(at(49)), schedule.next(at(49))], [Some(id(2)), None]);
        assert_eq!(schedule.next(at(50)), Some(id(1)));
        assert_eq!(schedule.timeout(), Instant::NEVER);
    }

    #[test]
    fn the_forgotten_are_not_asked() {
        let mut schedule = Schedule::default();
        schedule.wake(id(1));
        schedule.wait(id(2), Instant::START, Instant::from_nanos(5));
        schedule.forget(id(1));
        schedule.forget(id(2));
        assert_eq!((schedule.next(Instant::from_nanos(9)), schedule.timeout()), (None, Instant::NEVER));
    }
}
