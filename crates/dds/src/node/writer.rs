//! A writer behind its lock, and the send token that keeps its datagrams in order.
//!
//! The token is held from poll to send, the lock is not. A thread that finds the token taken leaves its sample to the holder. No thread waits
//! for the token with the lock held: a thread that writes tries it.
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use dcps::TypeSupport;
use dcps::writer::{DataWriter, WriteOptions};
use rtps::{Path, Payload, Transmit, Value};
use wire::admission::OfferedAssurance;
use wire::{Guid, Instant, Now, SequenceNumber};

use super::limits::Limits;
use super::timers::Alarm;
use super::token::Token;
use super::watch::Watch;
use crate::bytes::{Bytes, Pool};
use crate::host::{Channel, Copied, Host, Sent};
use crate::lock::lock;
use crate::types::Announced;

/// The machine of a writer, whatever its type.
pub(crate) type Machine = DataWriter<Box<dyn TypeSupport + Send>, Bytes>;

/// What the lock of a writer protects.
pub(crate) struct WriterState {
    pub(crate) machine: Machine,
    /// Small samples are encoded here.
    pub(crate) scratch: Vec<u8>,
    /// Keys are written here.
    pub(crate) key: Vec<u8>,
    /// Large samples are encoded here.
    pub(crate) pool: Pool,
    pub(crate) deleted: bool,
    /// How often a reader was unmatched.
    pub(crate) unmatched: u64,
}

/// What the send token protects.
struct Outgoing {
    transmit: Transmit<Bytes>,
    /// Paths that the datagram has yet to take, because the socket was full; the first `sent` are done.
    stuck: Option<usize>,
    /// Datagrams to ourselves, taken out of `own` by the holder.
    own: VecDeque<OwnDatagram>,
    spare: Vec<OwnDatagram>,
}

/// A datagram to ourselves.
#[derive(Debug, Default)]
pub(crate) struct OwnDatagram {
    pub(crate) octets: Vec<u8>,
    /// Samples that are not bytes, and where their placeholders begin.
    pub(crate) values: Vec<(usize, Bytes)>,
}

impl OwnDatagram {
    /// Makes it what is to be sent.
    pub(crate) fn set(&mut self, transmit: &Transmit<Bytes>) {
        self.octets.clear();
        transmit.copy_to(&mut self.octets);
        self.values.clear();
        self.values.extend_from_slice(transmit.values());
    }

    /// What the payload of this datagram stands for, if it stands for a sample.
    pub(crate) fn value(&self, payload: &[u8]) -> Option<Arc<dyn Value>> {
        let at = payload.as_ptr().addr().checked_sub(self.octets.as_ptr().addr())?;
        self.values.iter().find(|(place, _)| *place == at)?.1.value()
    }
}

/// A writer behind its lock.
pub(crate) struct WriterCell {
    pub(crate) guid: Guid,
    pub(crate) alarm: Arc<Alarm>,
    pub(crate) watch: Arc<Watch>,
    /// What it promises, and where its flow leaves; none without ASSURANCE.
    pub(crate) offered: Mutex<Option<OfferedAssurance>>,
    /// When others were last told that its participant lives, because of a write of this one (LIVELINESS by participant).
    pub(crate) asserted: AtomicU64,
    /// What its readers can take.
    pub(super) limits: Limits,
    /// Its type, for content filters of its readers.
    pub(super) ty: Option<Arc<Announced>>,
    /// TRANSPORT_PRIORITY.
    priority: AtomicI32,
    state: Mutex<WriterState>,
    token: Token<Outgoing>,
    /// Room, or an acknowledgement.
    room: Condvar,
    blocked: AtomicUsize,
    /// Threads that receive by themselves while they wait for that: others may receive what they wait for.
    receiving: AtomicUsize,
}

/// Datagrams that are sent with one look at the clock: it costs as much as the rest of a poll.
const SAME_TIME: u32 = 8;

/// What a look at a writer has found.
pub(crate) struct Looked {
    /// When to look again.
    pub(crate) timeout: Instant,
    /// The socket was full.
    pub(crate) stuck: bool,
}

/// What [`WriterCell::write_over`] has done.
pub(super) struct Over {
    pub(super) number: SequenceNumber,
    /// [`Host::ring`] is to follow.
    pub(super) rings: Option<NonZeroU32>,
}

impl WriterCell {
    pub(crate) fn new(
        machine: Machine,
        offered: Option<OfferedAssurance>,
        watch: Arc<Watch>,
        ty: Option<Arc<Announced>>,
    ) -> Self {
        Self {
            ty,
            guid: machine.guid(),
            offered: Mutex::new(offered),
            alarm: Alarm::new(),
            watch,
            asserted: AtomicU64::new(0),
            limits: Limits::default(),
            priority: AtomicI32::new(machine.qos().endpoint.transport_priority),
            state: Mutex::new(WriterState {
                machine,
                scratch: Vec::new(),
                key: Vec::new(),
                pool: Pool::default(),
                deleted: false,
                unmatched: 0,
            }),
            token: Token::new(Outgoing {
                transmit: Transmit::new(),
                stuck: None,
                own: VecDeque::new(),
                spare: Vec::new(),
            }),
            room: Condvar::new(),
            blocked: AtomicUsize::new(0),
            receiving: AtomicUsize::new(0),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, WriterState> {
        lock(&self.state)
    }

    /// The priority by which the next of several writers is chosen.
    pub(crate) fn priority(&self) -> i32 {
        self.priority.load(Ordering::Relaxed)
    }

    pub(crate) fn set_priority(&self, priority: i32) {
        self.priority.store(priority, Ordering::Relaxed);
    }

    /// Sends what the machine has to send; it is `now` at the beginning, and `state` is its lock if it is held. `carry` may let each datagram take something along;
    /// those for readers of our own participant go to `deliver`, in order. `None` if another thread is at it: it sees what is new.
    pub(crate) fn send(
        &self,
        host: &dyn Host,
        mut now: Now,
        mut state: Option<MutexGuard<'_, WriterState>>,
        mut carry: impl FnMut(&mut Transmit<Bytes>),
        mut deliver: impl FnMut(&OwnDatagram),
    ) -> Option<Looked> {
        self.token.send(|out, again| {
            if again {
                now = host.now();
            }
            self.send_all(host, &mut now, state.take(), out, &mut carry, &mut deliver)
        })
    }

    /// Writes an encoded sample over the only one that is held, straight into the shared memory that leads to the only reader, with the
    /// lock of the writer held. `None` wherever that is not so simple; then nothing has changed. The second value says that
    /// [`WriterCell::send`] is to follow in any case.
    pub(super) fn write_over(
        &self,
        host: &dyn Host,
        state: &mut WriterState,
        now: Now,
        options: &WriteOptions,
    ) -> (Option<Over>, bool) {
        let WriterState { machine, scratch, key, .. } = state;
        if !machine.may_write_over() {
            return (None, false);
        }
        let (over, is_left) = self.token.try_with(|out| {
            // What others have polled is sent before.
            if out.stuck.is_some() || !out.own.is_empty() {
                return None;
            }
            // It may hold the slab of the datagram before.
            if !out.transmit.is_clear() {
                out.transmit.clear();
            }
            let (number, link) = machine.write_over(now, key, scratch, options)?;
            let copied =
                machine.rtps().written_over().map_or(Copied::No, |datagram| host.copy(link, datagram));
            if copied == Copied::No {
                machine.rtps().put_over(&mut out.transmit);
                out.stuck = Some(0);
            }
            Some((Over { number, rings: (copied == Copied::Unheard).then_some(link) }, copied == Copied::No))
        });
        match over {
            Some((over, is_stuck)) => (Some(over), is_stuck || is_left),
            None => (None, is_left),
        }
    }

    fn send_all(
        &self,
        host: &dyn Host,
        now: &mut Now,
        state: Option<MutexGuard<'_, WriterState>>,
        out: &mut Outgoing,
        carry: &mut impl FnMut(&mut Transmit<Bytes>),
        deliver: &mut impl FnMut(&OwnDatagram),
    ) -> Looked {
        let mut polls = 0_u32;
        // When to look again, once there is nothing more to send.
        let mut rests_until = None;
        // Nothing is sent or handed on with it held.
        let mut held = state.filter(|_| out.stuck.is_none() && out.own.is_empty());
        loop {
            let was_message = out.stuck.is_some() && is_paced(&out.transmit);
            if !out.finish(host) {
                return Looked { timeout: Instant::NEVER, stuck: true };
            }
            if was_message {
                // The separation to the next message counts from the return of the call.
                *now = host.now();
            }
            while let Some(mut datagram) = out.own.pop_front() {
                deliver(&datagram);
                datagram.values.clear();
                out.spare.push(datagram);
            }
            if let Some(timeout) = rests_until {
                return Looked { timeout, stuck: false };
            }
            polls = polls.wrapping_add(1);
            if polls.is_multiple_of(SAME_TIME) {
                *now = host.now();
            }
            let mut state = held.take().unwrap_or_else(|| self.lock());
            if state.deleted {
                return Looked { timeout: Instant::NEVER, stuck: false };
            }
            if !state.machine.rtps_mut().poll_transmit(*now, &mut out.transmit) {
                return Looked { timeout: state.machine.poll_timeout(), stuck: false };
            }
            let timeout = state.machine.poll_timeout();
            drop(state);
            // After a message of a flow there may be more than was known before it had left.
            rests_until = (timeout > now.monotonic && !is_paced(&out.transmit)).then_some(timeout);
            carry(&mut out.transmit);
            out.stuck = Some(0);
        }
    }

    /// Waits until [`WriterCell::wake_blocked`] or `until`; gives the lock back.
    pub(crate) fn wait<'a>(
        &'a self,
        host: &dyn Host,
        state: MutexGuard<'a, WriterState>,
        until: Instant,
    ) -> MutexGuard<'a, WriterState> {
        let left = until.since(host.now().monotonic).as_nanos();
        let left = std::time::Duration::from_nanos(u64::try_from(left).unwrap_or(0));
        self.blocked.fetch_add(1, Ordering::SeqCst);
        let waited = self.room.wait_timeout(state, left);
        self.blocked.fetch_sub(1, Ordering::SeqCst);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Lets the thread receive until there is room, or an acknowledgement; false if the host does not let it.
    pub(crate) fn receive(&self, host: &dyn Host, until: Instant, done: &dyn Fn() -> bool) -> bool {
        self.receiving.fetch_add(1, Ordering::SeqCst);
        let received = host.receive(until, done);
        self.receiving.fetch_sub(1, Ordering::SeqCst);
        received
    }

    /// Acknowledgements have come, or the writer is gone.
    pub(crate) fn wake_blocked(&self, host: &dyn Host) {
        if self.receiving.load(Ordering::SeqCst) > 0 {
            host.interrupt();
        }
        if self.blocked.load(Ordering::SeqCst) > 0 {
            // A thread that is about to wait holds the lock until it does.
            drop(self.lock());
            self.room.notify_all();
        }
    }
}

/// Whether the time to the next datagram counts from the return of the call that sends this one: it goes along a flow.
fn is_paced(transmit: &Transmit<Bytes>) -> bool {
    transmit.is_message() || transmit.paths().iter().any(|path| path.flow.is_some())
}

impl Outgoing {
    /// Sends the datagram along the paths that are left; false if the socket is full.
    fn finish(&mut self, host: &dyn Host) -> bool {
        let Some(mut next) = self.stuck else { return true };
        while let Some(path) = self.transmit.paths().get(next) {
            if *path == Path::IN_PROCESS {
                let mut datagram = self.spare.pop().unwrap_or_default();
                datagram.set(&self.transmit);
                self.own.push_back(datagram);
            } else if host.send(Channel::User, path, &self.transmit) == Sent::Full {
                self.stuck = Some(next);
                return false;
            }
            next += 1;
        }
        self.stuck = None;
        true
    }
}
