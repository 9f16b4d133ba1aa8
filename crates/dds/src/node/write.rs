//! Writing through a lock: waiting for room, liveliness, and sending what was written.
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dcps::writer::{InstanceOf, Limit, WriteError, WriteOptions};
use dcps::{Error, InstanceHandle, ReturnCode};
use rtps::writer::Body;
use rtps::{Payload as _, Value};
use wire::cdr::Representation;
use wire::qos::LivelinessKind;
use wire::{Duration, Instant, Now, SequenceNumber, Timestamp};

use super::Node;
use super::work::Work;
use super::writer::{Over, WriterCell, WriterState};
use crate::bytes::{Bytes, Memory};

/// How a sample becomes bytes.
pub(crate) trait Encode {
    /// Bytes, encapsulation header and padding included; or more. Above 16 KiB the sample is kept by handle.
    fn size(&self, representation: Representation) -> Result<usize, Error>;
    /// Appends the canonical key, see [`dcps::TypeSupport`].
    fn key(&self, out: &mut Vec<u8>) -> Result<(), Error>;
    /// Appends the bytes.
    fn encode(&self, representation: Representation, out: &mut Vec<u8>) -> Result<(), Error>;
    /// Writes the bytes, of which there are no more than `size` said, to the start of `out` and says how many there are.
    fn encode_to(&self, representation: Representation, out: &mut [u8]) -> Result<usize, Error>;
}

/// What is to be told of an instance that ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Dispose,
    Unregister,
}

impl Node {
    /// Writes a sample, waiting for room as long as RELIABILITY max_blocking_time says.
    pub(crate) fn write(
        &self,
        cell: &Arc<WriterCell>,
        sample: &impl Encode,
        options: &WriteOptions,
    ) -> Result<SequenceNumber, Error> {
        let (mut over, mut sends, mut large) = (None, false, 0);
        let written = self.change(cell, |state, now| {
            let WriterState { machine, scratch, key, pool, .. } = state;
            let representation = machine.representation();
            key.clear();
            sample.key(key)?;
            let size = sample.size(representation)?;
            if size <= machine.rtps().config().copy_limit {
                scratch.clear();
                sample.encode(representation, scratch)?;
                // An acknowledgement that waits goes along with a datagram that has still to leave.
                if !self.held.is_any() {
                    (over, sends) = cell.write_over(self.host(), state, now, options);
                    if let Some(over) = &over {
                        return Ok(over.number);
                    }
                }
                let WriterState { machine, scratch, key, .. } = state;
                return machine.write_keyed(now, key, Body::Copy(scratch), options);
            }
            large = size;
            let bytes = match self.host().lend(size) {
                Some(chunk) => {
                    let mut memory = Memory::Shared(chunk);
                    let len = sample.encode_to(representation, memory.bytes_mut())?;
                    memory.truncate(len);
                    pool.freeze(memory)
                }
                None => pool.fill(|buffer| sample.encode(representation, buffer))?,
            };
            machine.write_keyed(now, key, Body::Shared(bytes), options)
        });
        if let Some(Over { rings: Some(link), .. }) = over {
            self.host().ring(link);
        }
        if large > 0 && written.is_ok() {
            cell.limits.written(cell.guid, large);
        }
        // Also if the sample was refused: others may have left something meanwhile.
        if sends {
            self.command(|work| self.send_of(cell, None, work.now(self.host()), work));
        }
        written
    }

    /// Writes bytes that are a serialized sample already.
    pub(crate) fn write_shared(
        &self,
        cell: &Arc<WriterCell>,
        sample: &Bytes,
        options: &WriteOptions,
    ) -> Result<SequenceNumber, Error> {
        let written =
            self.change(cell, |state, now| state.machine.write(now, Body::Shared(sample.clone()), options))?;
        cell.limits.written(cell.guid, sample.size());
        Ok(written)
    }

    /// Writes a sample that readers of this participant get as it is; `None` if there are none, so that it is better written otherwise.
    pub(crate) fn write_value(
        &self,
        cell: &Arc<WriterCell>,
        key: impl Fn(&mut Vec<u8>) -> Result<(), Error>,
        handle: impl FnOnce(Representation) -> Result<Arc<dyn Value>, Error>,
        options: &WriteOptions,
    ) -> Result<Option<SequenceNumber>, Error> {
        let representation = {
            let state = cell.lock();
            alive(&state, "write")?;
            if !state.machine.rtps().has_local_readers() {
                return Ok(None);
            }
            state.machine.representation()
        };
        let bytes = Bytes::from(handle(representation)?);
        let written = self.change(cell, |state, now| {
            let WriterState { machine, key: octets, .. } = state;
            octets.clear();
            key(octets)?;
            machine.write_keyed(now, octets, Body::Kept(bytes.clone()), options)
        })?;
        cell.limits.written(cell.guid, bytes.size());
        Ok(Some(written))
    }

    /// Memory for a serialized sample of `len` bytes.
    pub(crate) fn lend(&self, cell: &Arc<WriterCell>, len: usize) -> Result<Memory, Error> {
        let mut state = cell.lock();
        alive(&state, "loan")?;
        let limit = state.machine.qos().byte_limit.min(u32::MAX as usize);
        if len > limit {
            return Err(Error::new(
                ReturnCode::OutOfResources,
                "loan",
                format!("a sample of {len} bytes can never be held: the limit is {limit}"),
                "ask for less, or raise byte_limit of the writer",
            ));
        }
        Ok(self.host().lend(len).map_or_else(|| state.pool.lend(len), Memory::Shared))
    }

    /// Writes what was written into such memory, where it lies.
    pub(crate) fn write_lent(
        &self,
        cell: &Arc<WriterCell>,
        memory: Memory,
        options: &WriteOptions,
    ) -> Result<SequenceNumber, Error> {
        let bytes = cell.lock().pool.freeze(memory);
        let written =
            self.change(cell, |state, now| state.machine.write(now, Body::Kept(bytes.clone()), options))?;
        cell.limits.written(cell.guid, bytes.size());
        Ok(written)
    }

    /// Disposes or unregisters an instance.
    pub(crate) fn end_instance(
        &self,
        cell: &Arc<WriterCell>,
        end: End,
        instance: InstanceOf<'_>,
        timestamp: Option<Timestamp>,
    ) -> Result<SequenceNumber, Error> {
        self.change(cell, |state, now| match end {
            End::Dispose => state.machine.dispose(now, instance, timestamp),
            End::Unregister => state.machine.unregister_instance(now, instance, timestamp),
        })
    }

    /// Registers an instance.
    pub(crate) fn register(
        &self,
        cell: &Arc<WriterCell>,
        payload: &[u8],
        is_key: bool,
    ) -> Result<InstanceHandle, Error> {
        let now = self.host().now();
        self.command(|work| {
            let mut state = cell.lock();
            alive(&state, "register_instance")?;
            let handle = state.machine.register_instance(now, payload, is_key);
            drop(state);
            work.touch_writer(cell);
            handle
        })
    }

    /// Waits until every reliable reader has acknowledged all that was written so far.
    pub(crate) fn wait_for_acknowledgments(
        &self,
        cell: &Arc<WriterCell>,
        max_wait: Duration,
    ) -> Result<(), Error> {
        self.command(|work| {
            cell.lock().machine.rtps_mut().ask(self.host().now());
            work.touch_writer(cell);
        });
        let number = cell.lock().machine.rtps().last();
        let until = self.host().now().monotonic.after(max_wait);
        self.wait_until(cell, until, |state| state.deleted || state.machine.rtps().is_acknowledged(number));
        let state = cell.lock();
        alive(&state, "wait_for_acknowledgments")?;
        if state.machine.rtps().is_acknowledged(number) {
            return Ok(());
        }
        let missing = state.machine.rtps().readers().count();
        drop(state);
        Err(Error::new(
            ReturnCode::Timeout,
            "wait_for_acknowledgments",
            format!("not every one of {missing} matched readers has acknowledged sample {}", number.0),
            "wait longer, or find the reader that does not answer with `punctual why`",
        ))
    }

    /// Does a change, again whenever there may be room, until the time that the first refusal names.
    fn change(
        &self,
        cell: &Arc<WriterCell>,
        mut attempt: impl FnMut(&mut WriterState, Now) -> Result<SequenceNumber, WriteError>,
    ) -> Result<SequenceNumber, Error> {
        let mut deadline: Option<Instant> = None;
        loop {
            let now = self.host().now();
            let mut state = cell.lock();
            alive(&state, "write")?;
            let result = attempt(&mut state, now);
            let blocked = match result {
                Ok(number) => {
                    let liveliness = state.machine.qos().endpoint.liveliness;
                    let by_participant = liveliness.kind == LivelinessKind::ManualByParticipant;
                    let timeout = state.machine.poll_timeout();
                    if timeout > now.monotonic && !by_participant {
                        drop(state);
                        // It waits for company.
                        self.timers.set(self.host(), cell.guid.entity_id, &cell.alarm, timeout);
                        return Ok(number);
                    }
                    if !by_participant {
                        self.send_alone(cell, state, now);
                        return Ok(number);
                    }
                    drop(state);
                    self.command(|work| {
                        work.set_time(Some(now));
                        // All writers of the participant are told, one after the other.
                        self.assert_by(cell, liveliness.lease_duration, now, work);
                        self.send_of(cell, None, now, work);
                    });
                    return Ok(number);
                }
                Err(WriteError::Refused(error)) => return Err(error),
                Err(WriteError::Blocked(blocked)) => blocked,
            };
            let until = *deadline.get_or_insert(blocked.until);
            if until <= now.monotonic {
                return Err(Error::from(blocked));
            }
            let news = |state: &WriterState| (state.machine.rtps().counters().acknowledged, state.unmatched);
            let seen = news(&state);
            // Whatever waits for company leaves now: only what was sent can be acknowledged.
            match blocked.limit {
                // Questions would take tokens.
                Limit::Tokens => state.machine.rtps_mut().flush(),
                _ => state.machine.rtps_mut().ask(now),
            }
            drop(state);
            self.command(|work| {
                let now = work.now(self.host());
                self.send_of(cell, None, now, work);
            });
            let timeout = until.min(cell.lock().machine.poll_timeout().max(now.monotonic.after(RETRY)));
            self.wait_until(cell, timeout, |state| state.deleted || news(state) != seen);
        }
    }

    /// Waits for acknowledgements until `done`, or `until`.
    fn wait_until(&self, cell: &WriterCell, until: Instant, done: impl Fn(&WriterState) -> bool) {
        if self.host().is_inside() && cell.receive(self.host(), until, &|| done(&cell.lock())) {
            return;
        }
        let mut state = cell.lock();
        while !done(&state) && self.host().now().monotonic < until {
            state = cell.wait(self.host(), state, until);
        }
    }

    /// A write of a writer whose LIVELINESS is by participant counts for all such writers of the participant.
    fn assert_by(&self, cell: &WriterCell, lease: Duration, now: Now, work: &mut Work) {
        let told = Instant::from_nanos(cell.asserted.load(Ordering::Relaxed));
        if lease.is_infinite() || now.monotonic.since(told) < lease.scaled(1, 8) && told != Instant::START {
            return;
        }
        cell.asserted.store(now.monotonic.as_nanos(), Ordering::Relaxed);
        work.heard_again.push(cell.guid);
        work.discovery = true;
        self.assert_manual(now, work);
    }

    /// The application says that the participant lives.
    pub(crate) fn assert_participant(&self) {
        let now = self.host().now();
        self.command(|work| {
            self.lock_discovery().assert_liveliness(now);
            work.discovery = true;
            self.assert_manual(now, work);
        });
    }

    fn assert_manual(&self, now: Now, work: &mut Work) {
        for cell in self.routes().writers.values() {
            let mut state = cell.lock();
            if state.machine.qos().endpoint.liveliness.kind == LivelinessKind::ManualByParticipant {
                state.machine.assert_liveliness(now);
                drop(state);
                work.touch_writer(cell);
            }
        }
    }

    /// The application says that one writer lives.
    pub(crate) fn assert_writer(&self, cell: &Arc<WriterCell>) -> Result<(), Error> {
        let kind = {
            let state = cell.lock();
            alive(&state, "assert_liveliness")?;
            state.machine.qos().endpoint.liveliness.kind
        };
        if kind == LivelinessKind::ManualByParticipant {
            self.assert_participant();
            return Ok(());
        }
        let now = self.host().now();
        self.command(|work| {
            cell.lock().machine.assert_liveliness(now);
            work.touch_writer(cell);
        });
        Ok(())
    }
}

/// Longest sleep of a blocked write before it looks by itself, at least.
const RETRY: Duration = Duration::from_millis(1);

fn alive(state: &WriterState, operation: &'static str) -> Result<(), Error> {
    if !state.deleted {
        return Ok(());
    }
    Err(Error::new(
        ReturnCode::AlreadyDeleted,
        operation,
        "the writer was deleted",
        "do not use an entity after it, or its participant, was deleted",
    ))
}
