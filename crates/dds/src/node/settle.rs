//! What follows a call: whatever it has touched is looked after, with no lock held from before.
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, Weak};

use dcps::status::StatusMask;
use rtps::{Path, Transmit};
use wire::{EntityId, Now};

use super::reader::{Looked, ReaderCell};
use super::work::{Work, WorkSource};
use super::writer::{WriterCell, WriterState};
use super::{Node, log};
use crate::bytes::Bytes;
use crate::host::{Channel, Sent};

/// Wait before a full socket is tried again.
const RETRY: wire::Duration = wire::Duration::from_micros(500);

/// Statuses of samples that did not arrive.
const LOSSES: StatusMask = StatusMask(StatusMask::SAMPLE_LOST.0 | StatusMask::SAMPLE_REJECTED.0);

impl Node {
    /// Looks after all that a call has touched: answers first, callbacks last.
    pub(super) fn settle(&self, work: &mut Work) {
        loop {
            if work.discovery || work.assurance {
                self.serve_participant(work);
            } else if let Some(cell) = work.next_reader() {
                self.serve_reader(&cell, work);
            } else if let Some(cell) = work.next_writer() {
                self.serve_writer(&cell, work);
            } else if !work.lost.is_empty() || !work.not_matched.is_empty() {
                self.tell_topics(work);
            } else if let Some(watch) = work.calls.pop_front() {
                watch.call();
                work.set_time(None);
            } else {
                return;
            }
        }
    }

    /// Apart from the way of samples, which would have to make room for it.
    #[cold]
    #[inline(never)]
    fn serve_participant(&self, work: &mut Work) {
        if std::mem::take(&mut work.discovery) {
            self.serve_discovery(work);
        } else if std::mem::take(&mut work.assurance) {
            self.serve_assurance(work);
            self.serve_sessions(work);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_topics(&self, work: &mut Work) {
        let topics = self.topics.get().and_then(Weak::upgrade);
        if let Some(prefix) = work.lost.pop() {
            if let Some(topics) = topics {
                topics.participant_lost(prefix);
            }
        } else if let Some((other, reasons)) = work.not_matched.pop() {
            let news = topics.map(|topics| topics.not_matched(&other, &reasons)).unwrap_or_default();
            news.iter().for_each(|watch| watch.changed(StatusMask::INCONSISTENT_TOPIC, work));
        }
    }

    fn serve_discovery(&self, work: &mut Work) {
        if !self.is_started.load(Ordering::Acquire) {
            return;
        }
        loop {
            let now = self.host.now();
            let mut discovery = self.lock_discovery();
            self.tell_signs_of_life(&mut discovery, now, work);
            let mut transmit = std::mem::take(&mut work.transmit);
            let sends = discovery.poll_transmit(now, &mut transmit);
            self.apply_events(&mut discovery, now, work);
            let timeout = discovery.poll_timeout();
            let revision = discovery.endpoints_revision();
            drop(discovery);
            work.events.drain(..).for_each(|event| log::event(self.prefix, &event));
            if self.endpoints_told.swap(revision, Ordering::AcqRel) != revision {
                self.found.wake_waiters();
            }
            if sends {
                self.send(Channel::Metatraffic, &transmit);
            }
            transmit.clear();
            work.transmit = transmit;
            if !sends {
                let alarm = &self.discovery_alarm;
                return self.timers.set(self.host(), EntityId::PARTICIPANT, alarm, timeout);
            }
        }
    }

    fn serve_reader(&self, cell: &Arc<ReaderCell>, work: &mut Work) {
        let now = work.now(self.host());
        let looked = cell.lock().look(now, &mut work.transmit);
        self.answer(cell, looked, work);
    }

    /// Sends what a reader was found to have to say, tells of its news, and sees to it that it is looked at again.
    pub(super) fn answer(&self, cell: &Arc<ReaderCell>, mut looked: Looked, work: &mut Work) {
        let mut news = StatusMask::NONE;
        loop {
            news |= looked.news;
            if looked.sends {
                self.send(Channel::User, &work.transmit);
                if work.transmit.paths().contains(&Path::IN_PROCESS) {
                    let mut own = std::mem::take(&mut work.own);
                    own.set(&work.transmit);
                    self.deliver_own(&own, work);
                    work.own = own;
                }
                if work.transmit.paths().iter().any(|path| path.flow.is_some()) {
                    // The time to the next question counts from the return of the call.
                    work.set_time(None);
                }
                work.transmit.clear();
                let now = work.now(self.host());
                looked = cell.lock().look(now, &mut work.transmit);
            } else {
                if looked.holds {
                    self.held.add(cell);
                }
                self.timers.set(self.host(), cell.guid.entity_id, &cell.alarm, looked.timeout);
                if cell.is_history_awaited() {
                    cell.watch.wake_waiters();
                }
                if news.intersects(LOSSES) {
                    log::losses(cell, self.host.monotonic());
                }
                return cell.watch.changed_last(news, work);
            }
        }
    }

    fn serve_writer(&self, cell: &Arc<WriterCell>, work: &mut Work) {
        let now = work.now(self.host());
        let (news, paths) = {
            let mut state = cell.lock();
            if state.deleted {
                return;
            }
            if state.machine.poll_timeout() <= now.monotonic {
                state.machine.on_timeout(now);
            }
            let timeout = state.machine.poll_timeout();
            let news = state.machine.take_status_news();
            let paths = state.machine.rtps_mut().take_path_news();
            drop(state);
            if timeout > now.monotonic {
                // Another thread may be sending: it must find the alarm set, for setting one anew wakes a thread.
                self.timers.set(self.host(), cell.guid.entity_id, &cell.alarm, timeout);
            }
            (news, paths)
        };
        if !paths.is_empty() {
            self.tell_paths(&paths, now, work);
        }
        self.send_of(cell, None, now, &mut *work);
        cell.wake_blocked(self.host());
        cell.watch.changed(news, work);
    }

    /// Sends what a writer has to send, and sets its alarm; it is `now`. The thread that has it locked hands that in. Work is begun if there are
    /// readers of this participant to deliver to.
    pub(super) fn send_of(
        &self,
        cell: &Arc<WriterCell>,
        state: Option<MutexGuard<'_, WriterState>>,
        now: Now,
        mut work: impl WorkSource,
    ) {
        let carry = |datagram: &mut _| self.held.carry(self.max_datagram, datagram);
        let looked = cell.send(self.host(), now, state, carry, |own| self.deliver_own(own, work.begin(now)));
        if let Some(looked) = looked {
            let retry = || self.host.now().monotonic.after(RETRY);
            let at = if looked.stuck { retry() } else { looked.timeout };
            self.timers.set(self.host(), cell.guid.entity_id, &cell.alarm, at);
        }
    }

    /// As [`Node::send_of`] outside of a command: most often there is nothing to look after.
    pub(super) fn send_alone(&self, cell: &Arc<WriterCell>, state: MutexGuard<'_, WriterState>, now: Now) {
        let mut work = None;
        self.send_of(cell, Some(state), now, &mut work);
        if let Some(mut work) = work {
            self.settle(&mut work);
            work.give();
        }
    }

    /// Sends what need not arrive: it is repeated in time.
    pub(super) fn send(&self, channel: Channel, transmit: &Transmit<Bytes>) {
        for path in transmit.paths().iter().filter(|path| **path != Path::IN_PROCESS) {
            if self.host.send(channel, path, transmit) == Sent::Full {
                self.put_off.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}
