//! Reading and taking (DDS 1.4, 2.2.2.5.3).
use alloc::vec::Vec;

use rtps::reader::SamplePayload;
use wire::Now;
use wire::cdr::Representation;

use super::cache::{Instance, Stored};
use super::{DataReader, Payload};
use crate::error::Error;
use crate::instance_table::Slot;
use crate::status::StatusMask;
use crate::type_support::TypeSupport;
use crate::{InstanceHandle, InstanceState, SampleInfo, SampleState, States, ViewState};

/// A sample as the application gets it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// What is known about it.
    pub info: SampleInfo,
    /// Its bytes; `None` if it only tells of a change of its instance.
    pub payload: Option<Payload>,
    /// The serialized key of its instance, if it has no bytes itself and the type has a key: the instance may be forgotten by now.
    pub key: Option<Payload>,
}

impl Sample {
    /// True if it holds memory that can be used again: it is to be given back by [`DataReader::recycle`].
    #[inline]
    pub fn has_buffer(&self) -> bool {
        self.payload.as_ref().is_some_and(Payload::has_buffer)
            || self.key.as_ref().is_some_and(Payload::has_buffer)
    }
}

/// Of which instances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// Of all; those of one instance follow each other.
    All,
    /// Of one.
    Instance(InstanceHandle),
    /// Of the first in the order of handles after this one, or of the first at all, that has some. The handle need not be known.
    NextInstance(Option<InstanceHandle>),
}

/// What to read or take. The forms of the standard are combinations: a read condition is its states, a query condition
/// its states and a predicate, "next sample" is one sample that was not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// True: samples leave the cache. False: they stay, and count as read.
    pub take: bool,
    /// Of which instances.
    pub which: Which,
    /// In which states.
    pub states: States,
    /// Most samples; zero gives none.
    pub max: usize,
}

impl Request {
    /// Takes all that there is.
    pub const TAKE: Self = Self { take: true, which: Which::All, states: States::ANY, max: usize::MAX };
    /// Reads all that there is.
    pub const READ: Self = Self { take: false, ..Self::TAKE };
}

impl<T: TypeSupport> DataReader<T> {
    /// Reads or takes: appends samples to `out` and says how many. Allocates nothing while the capacity of `out` suffices.
    ///
    /// # Errors
    /// `BadParameter` if `which` names an instance that is not known.
    #[inline]
    pub fn access(&mut self, now: Now, request: &Request, out: &mut Vec<Sample>) -> Result<usize, Error> {
        if let Some(sample) = self.take_only(now, request) {
            out.push(sample);
            return Ok(1);
        }
        self.access_where(now, request, |_, _| true, out)
    }

    /// As `access`, but only samples for which `matches` is true of what is known about them and their payload (which a sample without data
    /// has not). Ranks are not known yet when it is asked: they are zero.
    ///
    /// # Errors
    /// As `access`.
    pub fn access_where(
        &mut self,
        now: Now,
        request: &Request,
        mut matches: impl FnMut(&SampleInfo, Option<&Payload>) -> bool,
        out: &mut Vec<Sample>,
    ) -> Result<usize, Error> {
        self.changed.clear(StatusMask::DATA_AVAILABLE);
        let start = out.len();
        match request.which {
            Which::All => {
                let mut next = self.cache.first_ready();
                while let Some(slot) = next
                    && out.len() - start < request.max
                {
                    next = self.cache.next_ready(slot);
                    let left = request.max - (out.len() - start);
                    self.collect(now, slot, request, left, &mut matches, out);
                }
            }
            Which::Instance(handle) => {
                let slot = self.slot(handle, "access")?;
                self.collect(now, slot, request, request.max, &mut matches, out);
            }
            Which::NextInstance(after) => {
                let mut after = after;
                while out.len() == start {
                    let Some(slot) = self.cache.table.after(after).next() else { break };
                    after = self.cache.table.get(slot).map(|entry| entry.handle);
                    self.collect(now, slot, request, request.max, &mut matches, out);
                }
            }
        }
        Ok(out.len() - start)
    }

    /// Takes the only sample of all that there is, which has data and does not expire, of an instance that is alive: there is nothing to rank,
    /// and nothing but the sample goes. `None` if it is not so simple; then nothing has changed.
    #[inline]
    fn take_only(&mut self, now: Now, request: &Request) -> Option<Sample> {
        if !request.take || request.which != Which::All || request.max == 0 {
            return None;
        }
        let slot = self.cache.only_ready()?;
        let entry = self.cache.table.get_mut(slot)?;
        let (handle, instance) = (entry.handle, &mut entry.state);
        let stored = instance.samples.front()?;
        let is_plain = instance.samples.len() == 1
            && stored.payload.is_some()
            && instance.state == InstanceState::Alive
            && instance.expires > now.wall
            && is_asked(instance, stored, request.states);
        if !is_plain {
            return None;
        }
        let own = stored.disposed_generations.saturating_add(stored.no_writers_generations);
        let info = SampleInfo {
            absolute_generation_rank: instance.generation().saturating_sub(own),
            ..info(instance, stored, handle)
        };
        instance.view = ViewState::NotNew;
        let payload = self.cache.take_last(slot);
        self.changed.clear(StatusMask::DATA_AVAILABLE);
        Some(Sample { info, payload, key: None })
    }

    /// Reads or takes of one instance.
    fn collect(
        &mut self,
        now: Now,
        slot: Slot,
        request: &Request,
        max: usize,
        matches: &mut impl FnMut(&SampleInfo, Option<&Payload>) -> bool,
        out: &mut Vec<Sample>,
    ) {
        self.cache.expire(slot, now.wall);
        let start = out.len();
        let mut index = 0;
        let mut are_nameless = false;
        while out.len() - start < max
            && let Some(entry) = self.cache.table.get_mut(slot)
            && entry.state.samples.len() > index
        {
            let handle = entry.handle;
            let instance = &mut entry.state;
            let fits =
                instance.samples.get(index).is_some_and(|stored| is_asked(instance, stored, request.states));
            let Some(stored) = instance.samples.get(index).filter(|_| fits) else {
                index += 1;
                continue;
            };
            let info = info(instance, stored, handle);
            if !matches(&info, stored.payload.as_ref()) {
                index += 1;
            } else if request.take {
                let payload = self.cache.take(slot, index);
                are_nameless |= !info.valid_data;
                out.push(Sample { info, payload, key: None });
            } else if let Some(stored) = instance.samples.get_mut(index) {
                stored.read = true;
                are_nameless |= !info.valid_data;
                out.push(Sample { info, payload: stored.payload.clone(), key: None });
                index += 1;
            }
        }
        if let Some(instance) = self.cache.table.state_mut(slot)
            && out.len() > start
        {
            instance.view = ViewState::NotNew;
            rank(instance.generation(), out.get_mut(start..).unwrap_or_default());
        }
        if are_nameless && self.types.has_key() {
            self.name_instance(slot, out.get_mut(start..).unwrap_or_default());
        }
        // What was due stays due.
        if let Some(entry) = self.cache.settle(slot) {
            self.unlearn(slot, &entry);
        }
    }

    /// Gives samples without bytes the key of their instance.
    fn name_instance(&mut self, slot: Slot, samples: &mut [Sample]) {
        let Some(entry) = self.cache.table.get(slot) else { return };
        self.key.clear();
        // An instance that was only ever named by its hash has no key.
        if self.types.key_payload(&entry.key, Representation::Xcdr2, &mut self.key).is_ok() {
            let key = self.cache.pool.keep(&mut SamplePayload::Datagram(&self.key), None);
            let nameless = samples.iter_mut().filter(|sample| sample.payload.is_none());
            nameless.for_each(|sample| sample.key = Some(key.clone()));
        }
    }
}

/// True if the instance has a sample in these states that has not expired, of whose payload `matches` is true.
pub(super) fn any_of(
    instance: &Instance,
    now: Now,
    states: States,
    matches: &mut impl FnMut(Option<&Payload>) -> bool,
) -> bool {
    let mut asked = instance
        .samples
        .iter()
        .filter(|stored| stored.expires > now.wall && is_asked(instance, stored, states));
    asked.any(|stored| matches(stored.payload.as_ref()))
}

fn is_asked(instance: &Instance, stored: &Stored, states: States) -> bool {
    states.instance.contains(instance.state)
        && states.view.contains(instance.view)
        && states.sample.contains(sample_state(stored))
}

const fn sample_state(stored: &Stored) -> SampleState {
    if stored.read { SampleState::Read } else { SampleState::NotRead }
}

#[inline]
fn info(instance: &Instance, stored: &Stored, handle: InstanceHandle) -> SampleInfo {
    SampleInfo {
        sample_state: sample_state(stored),
        view_state: instance.view,
        instance_state: instance.state,
        disposed_generation_count: stored.disposed_generations,
        no_writers_generation_count: stored.no_writers_generations,
        sample_rank: 0,
        generation_rank: 0,
        absolute_generation_rank: 0,
        source_timestamp: stored.source,
        reception_timestamp: stored.reception,
        instance_handle: handle,
        publication_handle: stored.writer.into(),
        sequence_number: stored.number,
        related: stored.related,
        valid_data: stored.payload.is_some(),
    }
}

/// Ranks of the samples of one instance; `current` is its generation now (DDS 1.4, 2.2.2.5.1.6 to 2.2.2.5.1.8).
fn rank(current: u32, samples: &mut [Sample]) {
    let generation =
        |info: &SampleInfo| info.disposed_generation_count.saturating_add(info.no_writers_generation_count);
    let newest = samples.last().map_or(current, |sample| generation(&sample.info));
    let mut follow = u32::try_from(samples.len()).unwrap_or(u32::MAX);
    for sample in samples {
        follow = follow.saturating_sub(1);
        let own = generation(&sample.info);
        sample.info.sample_rank = follow;
        sample.info.generation_rank = newest.saturating_sub(own);
        sample.info.absolute_generation_rank = current.saturating_sub(own);
    }
}
