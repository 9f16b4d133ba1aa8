//! What was published before a change is handled before it.
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::hand_over::{GivenUp, HandedOver, Position};
use crate::making::join_name;
use crate::part::{Carrier, Half, Sureness};
use crate::protocol::Order;
use crate::server::{Change, ComponentServer};
use crate::work::{Executor, Performed, Work};

impl<E: Executor> ComponentServer<E> {
    /// Tells what was published last by connections to other processes.
    pub(crate) fn tell_published(
        &mut self,
        change: &mut Change,
        connections: &[String],
    ) -> Result<(), String> {
        let Performed::Positions(all) = self.executor.perform(&Work::Published)? else { return Ok(()) };
        let mut published = Vec::new();
        for name in connections {
            let halves = self.part.connections.get(name).into_iter().flatten();
            let ends: Vec<&str> =
                halves.filter(|half| half.to.is_none()).map(|half| half.name.as_str()).collect();
            let of_it = all.iter().filter(|position| ends.contains(&position.end.as_str()));
            published.extend(of_it.map(|position| Position { end: name.clone(), ..position.clone() }));
        }
        change.hand(HandedOver { published, ..HandedOver::default() });
        Ok(())
    }

    /// What these orders wait for takes no longer than one of them may.
    pub(crate) fn limit(&mut self, orders: &[Order]) -> Result<(), String> {
        let limits = orders.iter().filter_map(|order| order.clone().limit_mut().copied());
        let Some(limit) = limits.min() else { return Ok(()) };
        self.executor.perform(&Work::Within(limit / 1_000)).map(drop)
    }

    /// Handles what was published by these connections.
    pub(crate) fn finish(&mut self, connections: &[String], published: &[Position]) -> Result<(), String> {
        let (mut arrive, mut may_be_lost, mut is_by_gateway) = (Vec::new(), Vec::new(), false);
        let mut handled: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for name in connections {
            for half in self.part.connections.get(name).into_iter().flatten() {
                let Some(to) = &half.to else { continue };
                is_by_gateway |= matches!(half.carrier, Carrier::Gateway { .. });
                let (port, part) =
                    to.split_once('#').map_or((to.as_str(), None), |(port, part)| (port, Some(part)));
                let component = port.split('.').next().unwrap_or(port);
                let end = if part.is_some() { join_name(port) } else { half.name.clone() };
                handled.entry(component.into()).or_default().push(end);
                let of_it = published.iter().filter(|position| position.end == *name);
                let here = of_it.map(|position| Position { end: half.name.clone(), ..position.clone() });
                if is_sure(half) { arrive.extend(here) } else { may_be_lost.extend(here) }
            }
        }
        if !may_be_lost.is_empty() {
            self.executor.perform(&Work::ArriveOrSkip(may_be_lost))?;
        }
        if !arrive.is_empty() {
            self.executor.perform(&Work::Arrive(arrive))?;
        }
        if is_by_gateway {
            self.executor.perform(&Work::HandedOn)?;
        }
        for (component, ends) in handled {
            self.executor.perform(&Work::Finish(component, ends))?;
        }
        Ok(())
    }
}

impl<E: Executor> ComponentServer<E> {
    /// The timers of a component come to the end of an interval.
    pub(crate) fn end_interval(
        &mut self,
        change: &mut Change,
        component: &str,
        is_last: bool,
    ) -> Result<(), String> {
        if is_last {
            // It takes part of the change also if it does not come to the end in time.
            change.undo(Work::GoOn(component.to_string()));
        }
        self.executor.perform(&Work::EndInterval(component.to_string(), is_last)).map(drop)
    }

    /// What the conjunctions of these ports keep is given up with the change.
    pub(crate) fn set_aside(&mut self, change: &mut Change, ports: &[String]) -> Result<(), String> {
        for port in ports {
            let end = join_name(port);
            let Performed::Aside(events) = self.executor.perform(&Work::SetAside(end.clone()))? else {
                continue;
            };
            change.undo(Work::PutBack(end.clone()));
            change.end(Work::DropAside(end));
            let given_up = [GivenUp { port: port.clone(), events }].into();
            change.hand(HandedOver { given_up, ..HandedOver::default() });
        }
        Ok(())
    }
}

/// Whether what is sent to an end comes.
fn is_sure(half: &Half) -> bool {
    !matches!(half.carrier, Carrier::Topic { sureness: Sureness::BestEffort, .. })
}
