//! A change between events: for how long components rest at most, and what other processes have published.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use diagnostics::written;

use super::Supervisor;
use super::change::Change;
use crate::hand_over::{GivenUp, Position};
use crate::protocol::{Order, Phase};

/// Components that rest until the change is decided.
#[derive(Debug)]
pub(super) struct Quiescent {
    since: u64,
    components: BTreeSet<String>,
}

impl Change {
    /// These orders are given. What is handed over rests, too, and others handle what it has published.
    pub(super) fn quiesces(&mut self, now: u64, phase: Phase, orders: &[Order]) {
        let is_handed_over = |order: &Order| matches!(order, Order::HandOver(..) | Order::Finish { .. });
        let begins = phase == Phase::Quiesce || orders.iter().any(is_handed_over);
        if self.target.plan.quiesce.is_none() || !begins {
            return;
        }
        let components = BTreeSet::new();
        let quiescent = self.quiescent.get_or_insert(Quiescent { since: now, components });
        // The time counts from when something rests here.
        if quiescent.components.is_empty() {
            quiescent.since = now;
        }
        for order in orders {
            match order {
                Order::Passivate(name) => drop(quiescent.components.insert(name.clone())),
                Order::HandOver(names, _) => quiescent.components.extend(names.iter().cloned()),
                _ => {}
            }
        }
    }

    /// What all processes have published is what some of them have to handle, in the time that is left.
    pub(super) fn fill_published(&self, now: u64, orders: &mut [Order]) {
        let left = self.quiescent_until().map(|until| until.saturating_sub(now));
        for order in orders {
            if let Some(limit) = order.limit_mut() {
                *limit = left.map_or(*limit, |left| left.min(*limit));
            }
            if let Order::Finish { connections, published, .. } = order {
                let wanted: BTreeSet<&str> = connections.iter().map(String::as_str).collect();
                let before = core::mem::take(published);
                let here = self.handed.values().flat_map(|handed| &handed.published);
                let elsewhere = self.gate.iter().flat_map(|gate| &gate.elsewhere);
                let of_it = here.chain(elsewhere).filter(|position| wanted.contains(position.end.as_str()));
                // What is told of other hosts may be of this one, too. Of a writer the last event counts.
                let mut last: BTreeMap<(&str, &str), i64> = BTreeMap::new();
                for Position { end, source, sequence } in before.iter().chain(of_it) {
                    let of_writer = last.entry((end, source)).or_insert(*sequence);
                    *of_writer = (*of_writer).max(*sequence);
                }
                let of_writer = |((end, source), sequence): ((&str, &str), i64)| Position {
                    end: end.into(),
                    source: source.into(),
                    sequence,
                };
                *published = last.into_iter().map(of_writer).collect();
            }
        }
    }

    /// How long components may rest.
    fn quiesce_limit(&self) -> u64 {
        self.target.plan.quiesce.unwrap_or(u64::MAX)
    }

    /// Until when the change has to be decided, unless others decide, or nothing rests here.
    pub(super) fn quiescent_until(&self) -> Option<u64> {
        let quiescent = self.quiescent.as_ref().filter(|it| self.is_open() && !it.components.is_empty())?;
        Some(quiescent.since.saturating_add(self.quiesce_limit()))
    }

    /// What conjunctions give up, in words.
    fn given_up(&self) -> Vec<String> {
        let mut of_ports: BTreeMap<&str, u64> = BTreeMap::new();
        for GivenUp { port, events } in self.handed.values().flat_map(|handed| &handed.given_up) {
            let of_port = of_ports.entry(port).or_default();
            *of_port = of_port.saturating_add(*events);
        }
        let given_up = of_ports.into_iter().filter(|(_, events)| *events > 0);
        given_up
            .map(|(port, events)| {
                format!("{port} gives up {events} events of the former plan, which waited for others")
            })
            .collect()
    }

    /// It is decided.
    pub(super) fn tell_rest(&mut self, now: u64) {
        if let Some(Quiescent { since, components }) =
            self.quiescent.take().filter(|it| !it.components.is_empty())
        {
            self.notes.extend(self.given_up());
            let names = components.into_iter().collect::<Vec<_>>().join(", ");
            let time = written(now.saturating_sub(since));
            self.notes
                .push(format!("nothing of the former plan is left to be handled: {names} rested for {time}"));
        }
    }
}

impl Supervisor {
    /// The change is given up if components have rested for too long. Says whether it is.
    pub(super) fn rested_too_long(&mut self, now: u64) -> bool {
        let Some(change) = self.change.as_ref().filter(|it| it.quiescent_until().is_some_and(|at| at <= now))
        else {
            return false;
        };
        let names: Vec<&str> =
            change.quiescent.iter().flat_map(|it| &it.components).map(String::as_str).collect();
        let why = format!(
            "{} rested for more than {}, and what they had published is not handled, or the change is not done: the former plan goes on; \
             apply it when less is on its way, or write a longer quiesce",
            names.join(", "),
            written(change.quiesce_limit())
        );
        self.abort(now, why);
        true
    }
}
