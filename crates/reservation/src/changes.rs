//! Sessions whose need has changed and that serve some pairs still: what is held is given up only if there seems to be room for what is needed
//! now, and is asked for again if that is refused all the same.
//!
//! Both cannot be held at once: the packets of a flow can be in one session alone, as edges tell flows apart by addresses and ports.
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use wan::Class;

use crate::entry::{Held, Kept, State};
use crate::plan::{Direction, Ends, Flow, Wanted};
use crate::sessions::{Question, Sessions, Stopping};
use crate::words::{Action, Answer};

/// What more is needed on the way there, class by class, beyond what is held.
#[derive(Clone, Debug)]
pub(crate) struct Weighed {
    /// What is held.
    session: String,
    /// The need that is weighed.
    flows: Vec<Flow>,
    /// Classes that were not asked about yet, with their bits per second; the last one is asked about.
    more: Vec<(Class, u64)>,
}

impl Weighed {
    fn new(held: &Held, wanted: &Wanted) -> Self {
        let sum = |of: &Wanted, class: Class| {
            let flows =
                of.flows.iter().filter(|flow| flow.class == class && flow.direction == Direction::Forward);
            flows.fold(0_u64, |sum, flow| sum.saturating_add(flow.rate))
        };
        let more = [Class::Af1, Class::Af4, Class::Ef].into_iter().filter_map(|class| {
            let more = sum(wanted, class).saturating_sub(sum(&held.wanted, class));
            (more > 0).then_some((class, more))
        });
        Self { session: held.session.clone(), flows: wanted.flows.clone(), more: more.collect() }
    }
}

impl Sessions {
    /// Asks whether there is room for changes that are due.
    pub(crate) fn weigh(&mut self, now: u64) {
        let (settle, spacing) = (self.limits.settle, self.limits.spacing);
        let due: Vec<(Ends, Weighed)> = self
            .entries
            .iter()
            .filter_map(|(ends, entry)| {
                let State::Held(held) = &entry.state else { return None };
                let wanted = entry.wanted.as_ref()?;
                let after = entry.asked_at.map_or(0, |at| at.saturating_add(spacing));
                let is_due = !held.is_weighed
                    && held.wanted.flows != wanted.flows
                    && now >= entry.since.saturating_add(settle)
                    && now >= after.max(entry.not_before);
                is_due.then(|| (*ends, Weighed::new(held, wanted)))
            })
            .collect();
        for (ends, weighed) in due {
            if !self.has_room() {
                return;
            }
            if let Some(State::Held(held)) = self.entries.get_mut(&ends).map(|entry| &mut entry.state) {
                held.is_weighed = true;
            }
            self.weigh_next(now, ends, weighed);
        }
    }

    fn weigh_next(&mut self, now: u64, ends: Ends, weighed: Weighed) {
        match weighed.more.last() {
            Some((class, _)) => {
                let class = *class;
                let ticket = self.question(Question::Query(ends, weighed));
                self.actions.push(Action::Query { ticket, ends, class });
            }
            None => self.give_up(now, ends),
        }
    }

    /// What came of a question about room.
    pub(crate) fn weighed(&mut self, now: u64, ends: Ends, mut weighed: Weighed, answer: Answer) {
        let limits = self.limits;
        let Some(entry) = self.entries.get_mut(&ends) else { return };
        let is_as_asked = entry.wanted.as_ref().is_some_and(|wanted| wanted.flows == weighed.flows);
        let Some(held) = entry.held_as(&weighed.session) else { return };
        let Some((_, more)) = weighed.more.pop() else { return };
        let why: String = match answer {
            _ if !is_as_asked => {
                held.is_weighed = false;
                return;
            }
            Answer::Free(rate) if rate >= more => return self.weigh_next(now, ends, weighed),
            Answer::Free(rate) => {
                format!(
                    "it needs {more} bit/s more on the way there than what is held, and {rate} bit/s are free"
                )
            }
            Answer::Refused(why) => why,
            Answer::Lost(_) => {
                held.is_weighed = false;
                entry.not_before = now.saturating_add(limits.retry);
                return;
            }
            _ => "the manager has answered something else".to_string(),
        };
        held.is_weighed = false;
        entry.refused(now, why, &limits);
    }

    /// What is held makes place for what is needed now.
    fn give_up(&mut self, now: u64, ends: Ends) {
        let Some(entry) = self.entries.get_mut(&ends) else { return };
        let State::Held(held) = &entry.state else { return };
        let session = held.session.clone();
        entry.kept = Some(Kept::ForRefusal(held.wanted.clone()));
        self.stopping.insert(session.clone(), Stopping { is_asked: false, at: now });
        entry.state = State::Leaving(session);
    }
}
