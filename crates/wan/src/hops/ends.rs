//! How aggregates end in a domain, and what a store and a back-end know of them.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Hops;
use super::held::{Budget, Held, asks, demand, is_forwarded, next, notify_upstream, upstream};
use crate::action::Out;
use crate::agreement::loss_after;
use crate::backend::{BackendCommand, Holding};
use crate::border::{Border, Load};
use crate::config::Config;
use crate::message::{Body, Notify, Reserve, Response};
use crate::record::{HeldAggregate, Key};
use crate::words::{AggregateId, Asking, Asn, Class, LinkId, Reason, Refusal};

impl Hops {
    pub(super) fn remove(&mut self, out: &mut Out, aggregate: AggregateId) {
        if self.held.remove(&aggregate).is_some() {
            let ticket = out.ticket();
            out.command(BackendCommand::Release { ticket, holding: Holding::Aggregate(aggregate) });
            out.store(Key::Aggregate(aggregate), None);
        }
    }

    /// The origin ends an aggregate. A domain that holds it no more passes that on: those after it may hold it. What the origin asks each domain for
    /// it ends in each of them.
    pub(super) fn tear(&mut self, config: &Config, out: &mut Out, reserve: Reserve) {
        let held = self.held.get(&reserve.aggregate).and_then(Held::asked);
        if held.is_some_and(|asked| {
            asked.id >= reserve.id || asked.path != reserve.path || asked.asking != reserve.asking
        }) {
            return;
        }
        let aggregate = reserve.aggregate;
        let next = reserve.path.get(usize::from(reserve.position) + 1).copied();
        let is_passed_on = |next: &Asn| reserve.asking == Asking::HopByHop && config.is_neighbour(*next);
        if let Some(next) = next.filter(is_passed_on) {
            let position = reserve.position.saturating_add(1);
            out.send(next, Body::Reserve(Reserve { position, link: None, ..reserve }));
        }
        self.remove(out, aggregate);
    }

    /// The domain after this one holds an aggregate no more.
    pub(crate) fn on_notify(&mut self, out: &mut Out, from: Asn, notify: Notify) {
        let Some(held) = self.held.get(&notify.aggregate) else { return };
        let Some(asked) = held.asked().filter(|asked| asks(asked) == Some(from)) else { return };
        notify_upstream(out, asked, notify);
    }

    /// What no longer fits the agreements, links and measurements ends, and its origin is told.
    pub(crate) fn revoke(&mut self, now: u64, config: &Config, out: &mut Out) {
        let mut doomed: Vec<(AggregateId, Refusal)> = Vec::new();
        let mut sums: BTreeMap<(LinkId, Class), Load> = BTreeMap::new();
        for (id, held) in &self.held {
            let Some(asked) = held.asked() else { continue };
            let Some((next, link)) = next(asked).zip(held.link_out) else { continue };
            let destination = asked.path.last().copied().unwrap_or(next);
            let sum = sums.entry((link, id.class)).or_default();
            let fits =
                self.border.terms(now, config, (next, link), id.class, destination).and_then(|terms| {
                    let fits = Border::fits(&terms, *sum, held.load());
                    fits.map_err(|reason| Refusal { asn: config.asn, link: Some(link), reason })
                });
            match fits {
                Ok(()) => *sum = sum.plus(held.load()),
                Err(refusal) => doomed.push((*id, refusal)),
            }
        }
        for (aggregate, refusal) in doomed {
            self.end(out, aggregate, refusal);
        }
    }

    /// Ends an aggregate here, and tells its origin, which ends it everywhere or asks for less.
    pub(super) fn end(&mut self, out: &mut Out, aggregate: AggregateId, refusal: Refusal) {
        let Some(held) = self.held.get(&aggregate) else { return };
        if let Some(pending) = &held.pending {
            let verdict = Err(refusal.clone());
            let response = Response { aggregate, id: pending.asked.id, echo: pending.echo, verdict };
            upstream(out, &pending.asked, response);
        }
        if let Some(granted) = &held.granted {
            notify_upstream(out, &granted.asked, Notify { aggregate, id: granted.asked.id, refusal });
        }
        self.remove(out, aggregate);
    }

    /// What was not refreshed in time is forgotten.
    pub(crate) fn tick(&mut self, now: u64, config: &Config, out: &mut Out) {
        let old = self.held.iter().filter(|(_, held)| held.expires <= now);
        let old: Vec<AggregateId> = old.map(|(id, _)| *id).collect();
        for aggregate in old {
            self.remove(out, aggregate);
        }
        self.revoke(now, config, out);
    }

    /// When something is forgotten next, or an agreement ends.
    pub(crate) fn due(&self, now: u64, config: &Config) -> u64 {
        let ends = config.agreements.iter().map(|agreement| agreement.ends).filter(|ends| *ends > now);
        self.held.values().map(|held| held.expires).chain(ends).min().unwrap_or(u64::MAX)
    }

    /// As the store has it.
    pub(crate) fn restore(&mut self, now: u64, aggregate: AggregateId, granted: HeldAggregate) {
        let expires = now.saturating_add(granted.asked.lifetime);
        let (link_out, label_in) = (granted.link_out, granted.label_in);
        self.held
            .insert(aggregate, Held { granted: Some(granted), pending: None, link_out, label_in, expires });
    }

    /// Tells the back-end all that it should hold.
    pub(crate) fn reconcile(&mut self, out: &mut Out, holdings: &[Holding]) {
        for holding in holdings {
            if let Holding::Aggregate(aggregate) = holding
                && !self.held.contains_key(aggregate)
            {
                let ticket = out.ticket();
                out.command(BackendCommand::Release { ticket, holding: *holding });
            }
        }
        let granted = self.held.iter().filter_map(|(id, held)| Some((*id, held.granted.as_ref()?)));
        for (aggregate, granted) in granted {
            let ticket = out.ticket();
            self.restored.insert(ticket, aggregate);
            let demand = demand(&granted.asked, aggregate.class, granted.link_out);
            out.command(BackendCommand::Reserve { ticket, aggregate, demand });
            let label_in = (granted.asked.position > 0).then_some(granted.label_in);
            if is_forwarded(&granted.asked, granted.link_out, granted.label_out) {
                out.command(BackendCommand::Commit { aggregate, label_in, label_out: granted.label_out });
            }
        }
    }

    /// The back-end holds what the store had, or its operator has left it too little or made it slower or less reliable: then that ends, and its origin is told.
    pub(super) fn on_restored(
        &mut self,
        config: &Config,
        out: &mut Out,
        aggregate: AggregateId,
        said: Result<Budget, Reason>,
    ) {
        let granted = self.held.get(&aggregate).and_then(|held| held.granted.as_ref());
        let Some(granted) = granted else { return };
        let reason = match said {
            Err(reason) => reason,
            Ok(Budget { delay, jitter, .. }) if delay > granted.delay || jitter > granted.jitter => {
                let missing = delay.saturating_sub(granted.delay);
                Reason::Delay { missing, offer: granted.asked.delay.saturating_add(delay) }
            }
            Ok(Budget { loss, .. }) if loss > granted.loss => {
                Reason::Loss { missing: loss - granted.loss, offer: loss_after(granted.asked.loss, loss) }
            }
            Ok(_) => return,
        };
        self.end(out, aggregate, Refusal { asn: config.asn, link: None, reason });
    }

    /// All that is granted.
    pub(crate) fn granted_aggregates(&self) -> impl Iterator<Item = (AggregateId, &HeldAggregate)> {
        self.held.iter().filter_map(|(id, held)| Some((*id, held.granted.as_ref()?)))
    }

    /// Rate and burst that the ledger counts for a class of a link.
    pub(crate) fn ledger(&self, link: LinkId, class: Class) -> Load {
        self.load(link, class, None)
    }
}
