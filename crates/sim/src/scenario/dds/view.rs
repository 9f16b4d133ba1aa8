//! One instance as one reader's application sees it: order, generations, deadline, owner.
use dds::{InstanceHandle, InstanceState};
use wire::{Guid, Instant, Timestamp};

use super::config::EndpointPlan;
use super::deadline::Periods;
use super::judge::Judge;
use super::seen::{Kind, Taken};
use crate::coverage::{Coverage, Situation};
use crate::invariants::Broken;
use crate::violation::Invariant;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct View {
    handle: Option<InstanceHandle>,
    /// The sample taken last.
    last: Option<Last>,
    /// For each writer: the greatest number taken, and how often one came after a greater one.
    order: Vec<(Guid, i64, u32)>,
    /// What was taken with data: when, whose, which.
    data: Vec<(Instant, Guid, i64)>,
    /// The last position by source timestamp.
    position: Option<(Timestamp, Guid, i64)>,
    pub(super) periods: Periods,
    /// The writer whose sample was taken last, and when.
    owner: Option<(Guid, i64, Instant)>,
}

/// The sample taken last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Last {
    pub(super) writer: Guid,
    pub(super) number: i64,
    pub(super) has_data: bool,
    pub(super) state: InstanceState,
    generation: u32,
    take: u64,
}

impl View {
    /// The sample taken last.
    pub(super) const fn last(&self) -> Option<&Last> {
        self.last.as_ref()
    }

    /// How many samples with data were taken since a time, apart from those of a writer up to a number.
    pub(super) fn taken_since(&self, at: Instant, writer: Guid, number: i64) -> usize {
        let counts =
            |(when, of, taken): &&(Instant, Guid, i64)| *when >= at && (*of != writer || *taken > number);
        self.data.iter().filter(counts).count()
    }

    /// Judges a sample that was taken; the stream has had `ever` matches, and may give a sample `most` times.
    pub(super) fn take(
        &mut self,
        now: Instant,
        taken: &Taken,
        plan: &EndpointPlan,
        [most, ever]: [u32; 2],
        coverage: &mut Coverage,
    ) -> Result<(), Broken> {
        if *self.handle.get_or_insert(taken.handle) != taken.handle {
            let what = format!("{}: instance {:?} has two handles", taken.reader, taken.instance);
            return Err((Invariant::Intact, what));
        }
        self.check_order(taken, plan, most)?;
        self.check_generation(taken, plan, ever, coverage)?;
        if let Some(deadline) = plan.deadline {
            match taken.octets {
                Some(_) => self.periods.begin(now, deadline),
                None => self.periods.end(now, deadline),
            }
        }
        if taken.octets.is_some() {
            self.data.push((now, taken.writer, taken.number));
        }
        self.last = Some(Last {
            writer: taken.writer,
            number: taken.number,
            has_data: taken.octets.is_some(),
            state: taken.state,
            generation: taken.generation,
            take: taken.take,
        });
        Ok(())
    }

    fn check_order(&mut self, taken: &Taken, plan: &EndpointPlan, most: u32) -> Result<(), Broken> {
        let Taken { reader, writer, number, source, .. } = *taken;
        // What was taken before an instance was forgotten does not count any more.
        if taken.is_new && self.last.is_some_and(|last| last.take != taken.take) {
            self.position = None;
        }
        if plan.by_source {
            let position = (source, writer, number);
            let is_earlier = self.position.is_some_and(|before| position < before);
            if taken.octets.is_some() {
                if is_earlier {
                    let what =
                        format!("{reader} was given #{number} of {writer} after one that was written later");
                    return Err((Invariant::InOrder, what));
                }
                self.position = Some(position);
            }
            return Ok(());
        }
        // The end of an instance for want of writers has no number.
        if number == 0 {
            return Ok(());
        }
        let place = match self.order.iter().position(|(of, ..)| *of == writer) {
            Some(place) => place,
            None => {
                self.order.push((writer, 0, 0));
                self.order.len() - 1
            }
        };
        let Some((_, greatest, falls)) = self.order.get_mut(place) else { return Ok(()) };
        if number < *greatest {
            *falls += 1;
            if *falls >= most {
                let what = format!("{reader} was given #{number} of {writer} after #{greatest}");
                return Err((Invariant::InOrder, what));
            }
        }
        *greatest = number;
        Ok(())
    }

    fn check_generation(
        &self,
        taken: &Taken,
        plan: &EndpointPlan,
        ever: u32,
        coverage: &mut Coverage,
    ) -> Result<(), Broken> {
        match (taken.octets.is_some(), taken.state) {
            (true, _) => {}
            (false, InstanceState::NotAliveDisposed) => coverage.hit(Situation::Disposed),
            (false, InstanceState::NotAliveNoWriters) => coverage.hit(Situation::NoWriters),
            (false, InstanceState::Alive) => {}
        }
        // Ordered by source timestamp, what came later may stand before what came first.
        let comes_after =
            |last: &&Last| !plan.by_source || last.writer == taken.writer && last.number < taken.number;
        let Some(last) = self.last.as_ref().filter(comes_after) else { return Ok(()) };
        let broken = |what: &str| {
            let Taken { reader, writer, number, instance, generation, .. } = taken;
            let what = format!(
                "{reader}: #{number} of {writer}, instance {instance:?}, generation {generation}: {what} {last:?}"
            );
            Err((Invariant::Generations, what))
        };
        // An instance that was forgotten begins anew, and of what came at once the first generations may have been replaced.
        let forgotten = taken.is_new && last.take != taken.take && (!last.has_data || ever > 1);
        if taken.generation < last.generation && !forgotten {
            return broken("goes back behind");
        }
        if taken.octets.is_some() && !last.has_data {
            coverage.hit(Situation::Reborn);
            if taken.generation <= last.generation && !forgotten {
                return broken("is data without a new generation after");
            }
        }
        Ok(())
    }
}

impl Judge {
    /// A sample of an exclusive instance that was taken at once is not of a weaker writer than the one before, unless something
    /// happened since that may have set the instance free.
    pub(super) fn check_owner(
        &mut self,
        taken: &Taken,
        instance: u32,
        now: Instant,
        coverage: &mut Coverage,
    ) -> Result<(), Broken> {
        let Some(record) = self.readers().get(&taken.reader) else { return Ok(()) };
        if !record.plan.exclusive || !record.at_once {
            return Ok(());
        }
        if taken.octets.is_none() {
            // The writer that ended it was its owner, and may have left it by now.
            if let Some(view) = self.view_mut(taken.reader, instance) {
                view.owner = None;
            }
            return Ok(());
        }
        let before = record.views.get(&instance).and_then(|view| view.owner);
        if let Some((owner, number, since)) = before.filter(|(owner, ..)| *owner != taken.writer) {
            coverage.hit(Situation::HandOver);
            let rank = |guid: Guid| {
                let writer = self.writers().get(&guid)?;
                Some((writer.plan.writes.strength, std::cmp::Reverse(guid)))
            };
            let leaves = self.writers().get(&owner).is_none_or(|writer| {
                let left = |kind: Kind| kind == Kind::Unregister;
                writer
                    .changes
                    .iter()
                    .zip(1..)
                    .any(|(change, at)| at > number && change.instance == instance && left(change.kind))
            });
            let is_free = leaves || record.changed_at >= since || record.plan.deadline.is_some();
            if rank(owner) > rank(taken.writer) && !is_free {
                let Taken { reader, writer, number, .. } = taken;
                let what = format!(
                    "{reader} was given #{number} of {writer}, instance {instance} of which {owner} owns"
                );
                return Err((Invariant::Ownership, what));
            }
        }
        self.set_owner(taken, instance, now);
        Ok(())
    }

    fn set_owner(&mut self, taken: &Taken, instance: u32, now: Instant) {
        if let Some(view) = self.view_mut(taken.reader, instance) {
            view.owner = Some((taken.writer, taken.number, now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::scenario::dds::Config;

    fn taken(number: i64, has_data: bool, generation: u32, is_new: bool) -> Taken {
        Taken {
            reader: Guid::default(),
            writer: Guid::default(),
            number,
            instance: Some(0),
            handle: InstanceHandle::KEYLESS,
            octets: has_data.then(Vec::new),
            state: if has_data { InstanceState::Alive } else { InstanceState::NotAliveDisposed },
            is_new,
            generation,
            source: Timestamp::from_nanos(number),
            at_once: true,
            take: number.unsigned_abs(),
            wall: Timestamp::from_nanos(number),
        }
    }

    /// What becomes of samples that are taken one after the other.
    fn see(by_source: bool, samples: &[Taken]) -> Option<Invariant> {
        let config = Config::draw(&mut Random::new(1));
        let plan = config.participants.iter().flat_map(|participant| &participant.endpoints).next().unwrap();
        let plan = EndpointPlan { by_source, deadline: None, ..plan.clone() };
        let (mut view, mut coverage) = (View::default(), Coverage::new());
        let mut broken = samples.iter().filter_map(|sample| {
            view.take(Instant::START, sample, &plan, [1, 1], &mut coverage)
                .err()
                .map(|(invariant, _)| invariant)
        });
        broken.next()
    }

    #[test]
    fn numbers_of_a_writer_rise() {
        let data = |number, is_new| taken(number, true, 0, is_new);
        assert_eq!(see(false, &[data(1, true), data(3, false)]), None);
        assert_eq!(see(false, &[data(3, true), data(1, false)]), Some(Invariant::InOrder));
        assert_eq!(see(true, &[data(3, true), data(1, false)]), Some(Invariant::InOrder));
        assert_eq!(see(true, &[data(3, true), data(1, true)]), None, "it was forgotten meanwhile");
        let guid = Guid::from_bytes([1; 16]);
        let renamed = Taken { handle: InstanceHandle::from(guid), ..data(2, false) };
        assert_eq!(see(false, &[data(1, true), renamed]), Some(Invariant::Intact));
    }

    #[test]
    fn data_after_an_end_are_of_a_new_generation() {
        let (first, end) = (taken(1, true, 0, true), taken(2, false, 0, false));
        let see = |last: Taken| see(false, &[first.clone(), end.clone(), last]);
        assert_eq!(see(taken(3, true, 1, true)), None);
        assert_eq!(see(taken(3, true, 0, false)), Some(Invariant::Generations));
        assert_eq!(see(taken(3, true, 0, true)), None, "it was forgotten meanwhile");
        assert_eq!(see(Taken { take: end.take, ..taken(3, true, 0, true) }), Some(Invariant::Generations));
    }
}
