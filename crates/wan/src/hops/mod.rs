//! A domain as one of those that an aggregate passes, the first and the last included: soft state for each tunnel and class, none for sessions.
mod ends;
mod held;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::action::Out;
use crate::agreement::{Agreement, loss_after};
use crate::backend::{BackendAnswer, BackendCommand, Holding};
use crate::border::{Border, Load};
use crate::config::Config;
use crate::message::{Body, Granted, Reserve, Response};
use crate::record::{Asked, HeldAggregate, Key, Record};
use crate::request::ANY_LOSS;
use crate::routes::MOST_DOMAINS;
use crate::words::{AggregateId, Asking, Asn, Class, LinkId, Reason, Refusal, TunnelId};
use held::{
    Budget, Held, Pending, Step, accepts, asks, before, demand, is_forwarded, load_before, next, offer,
    upstream,
};

/// All aggregates that pass this domain.
#[derive(Debug, Default)]
pub(crate) struct Hops {
    held: BTreeMap<AggregateId, Held>,
    tickets: BTreeMap<u64, AggregateId>,
    /// Of what the store had, which the back-end is told once more after a start.
    restored: BTreeMap<u64, AggregateId>,
    pub(crate) border: Border,
}

/// The first label that is not reserved.
const FIRST_LABEL: u32 = 16;

/// What an aggregate may be at most: sums of them fit into numbers.
fn is_sane(reserve: &Reserve) -> bool {
    let traffic = reserve.traffic.as_ref();
    let fits =
        traffic.is_none_or(|traffic| 0 < traffic.rate && traffic.rate < 1 << 60 && traffic.bucket < 1 << 55);
    let losses = reserve.loss <= ANY_LOSS && reserve.most_loss <= ANY_LOSS;
    fits && losses && reserve.delay < 1 << 60 && reserve.jitter < 1 << 60
}

/// The origin, where it asks for traffic that another domain sends here.
fn asks_for_itself(asked: &Asked) -> Option<Asn> {
    let origin = asked.path.first().copied();
    origin.filter(|origin| asked.asking == Asking::Direct && before(asked).is_some_and(|it| it != *origin))
}

/// What this domain alone tells of a price: that of the link by which it sends. The last domain has none.
fn price_of(config: &Config, asked: &Asked, link_out: Option<LinkId>) -> Option<u64> {
    next(asked).zip(link_out).map_or(Some(0), |(next, link)| config.told_price(next, link))
}

impl Hops {
    /// A message of the domain before, or of the origin.
    pub(crate) fn on_reserve(
        &mut self,
        now: u64,
        config: &Config,
        out: &mut Out,
        from: Asn,
        reserve: Reserve,
    ) {
        let position = usize::from(reserve.position);
        let asker = match (position.checked_sub(1), reserve.asking) {
            (None, _) => Some(&config.asn),
            (Some(before), Asking::HopByHop) => reserve.path.get(before),
            (Some(_), Asking::Direct) => reserve.path.first(),
        };
        let is_here = reserve.path.get(position) == Some(&config.asn) && asker == Some(&from);
        let is_origin = reserve.path.first() == Some(&reserve.aggregate.tunnel.origin);
        let repeated = |at: usize, asn: &Asn| reserve.path.iter().skip(at + 1).any(|other| other == asn);
        let has_loop = reserve.path.iter().enumerate().any(|(at, asn)| repeated(at, asn));
        if !is_here || !is_origin || has_loop || reserve.path.len() > MOST_DOMAINS || !is_sane(&reserve) {
            return;
        }
        let Some(traffic) = reserve.traffic else { return self.tear(config, out, reserve) };
        let aggregate = reserve.aggregate;
        let asked = Asked {
            id: reserve.id,
            path: reserve.path,
            position: reserve.position,
            link_in: reserve.link,
            traffic,
            limit: reserve.limit,
            most_loss: reserve.most_loss,
            delay: reserve.delay,
            jitter: reserve.jitter,
            loss: reserve.loss,
            lifetime: reserve.lifetime,
            asking: reserve.asking,
        };
        let refused = |out: &mut Out, reason| {
            let verdict = Err(Refusal { asn: config.asn, link: asked.link_in, reason });
            upstream(out, &asked, Response { aggregate, id: asked.id, echo: reserve.echo, verdict });
        };
        if let Err(reason) = accepts(now, config, from, &asked, aggregate.class) {
            return refused(out, reason);
        }
        let is_full = self.held.len() >= config.limits.most_aggregates;
        match self.held.get_mut(&aggregate) {
            None if is_full => return refused(out, Reason::Busy),
            None => {}
            Some(held) => {
                let is_same_way = |other: &Asked| other.path == asked.path && other.asking == asked.asking;
                if held.asked().is_some_and(|other| other.id > asked.id) {
                    return;
                }
                if held.asked().is_some_and(|other| !is_same_way(other)) {
                    return refused(out, Reason::Invalid);
                }
                held.expires = now.saturating_add(asked.lifetime);
                // What becomes durable now is answered first: the newer one will be repeated.
                if held.pending.as_ref().is_some_and(|pending| matches!(pending.step, Step::Store(_))) {
                    return;
                }
                if let Some(pending) = held.pending.as_mut().filter(|pending| pending.asked == asked) {
                    pending.echo = reserve.echo;
                    if pending.step == Step::Downstream {
                        self.forward(now, config, out, aggregate);
                    }
                    return;
                }
                if held.pending.is_none()
                    && held.granted.as_ref().is_some_and(|granted| granted.asked == asked)
                {
                    return self.refresh(now, config, out, aggregate, reserve.echo);
                }
            }
        }
        self.begin(now, config, out, aggregate, asked, (reserve.echo, reserve.label));
    }

    fn begin(
        &mut self,
        now: u64,
        config: &Config,
        out: &mut Out,
        aggregate: AggregateId,
        asked: Asked,
        (echo, label): (u64, Option<u32>),
    ) {
        let has_room = self.has_room_before(config, aggregate, &asked);
        let link_out = match has_room.and_then(|()| self.link_out(now, config, aggregate, &asked)) {
            Ok(link_out) => link_out,
            Err(refusal) => {
                let response = Response { aggregate, id: asked.id, echo, verdict: Err(refusal) };
                return upstream(out, &asked, response);
            }
        };
        let label_in = if asked.position == 0 { 0 } else { self.label(aggregate.tunnel) };
        let ticket = out.ticket();
        let demand = demand(&asked, aggregate.class, link_out);
        let expires = now.saturating_add(asked.lifetime);
        let pending =
            Pending { asked, echo, step: Step::Backend(ticket), budget: None, label, downstream: None };
        let new = || Held { granted: None, pending: None, link_out, label_in, expires };
        let held = self.held.entry(aggregate).or_insert_with(new);
        // An origin that began again does not know labels, and tells them a little later.
        let known = held.granted.as_ref().and_then(|granted| granted.label_out);
        held.pending = Some(Pending { label: pending.label.or(known), ..pending });
        self.tickets.insert(ticket, aggregate);
        out.command(BackendCommand::Reserve { ticket, aggregate, demand });
    }

    /// Whether the agreement with the domain before has room, where the origin asks for itself: its word does not show that the domain before counts
    /// it. What is asked hop by hop is counted by that domain alone.
    fn has_room_before(&self, config: &Config, aggregate: AggregateId, asked: &Asked) -> Result<(), Refusal> {
        if asks_for_itself(asked).is_none() {
            return Ok(());
        }
        let refusal = |reason| Refusal { asn: config.asn, link: asked.link_in, reason };
        let agreement = before(asked).and_then(|sender| config.by_which(sender, asked.link_in));
        let terms = agreement.and_then(|agreement| agreement.terms.get(&aggregate.class));
        let terms = terms.ok_or_else(|| refusal(Reason::NoAgreement))?;
        let load = load_before(asked, terms.jitter);
        let held = self.held.get(&aggregate).map(|held| held.load_before(terms.jitter)).unwrap_or_default();
        if load.at_least(held) == held {
            return Ok(());
        }
        let is_beside = |(id, held): &(&AggregateId, &Held)| {
            let of = held.asked();
            **id != aggregate
                && id.class == aggregate.class
                && of.is_some_and(|of| of.link_in == asked.link_in)
        };
        let beside = self.held.iter().filter(is_beside).map(|(_, held)| held.load_before(terms.jitter));
        Border::fits(terms, beside.fold(Load::default(), Load::plus), load).map_err(refusal)
    }

    /// The border link: that of the tunnel, which is pinned, or the first one with room.
    fn link_out(
        &self,
        now: u64,
        config: &Config,
        aggregate: AggregateId,
        asked: &Asked,
    ) -> Result<Option<LinkId>, Refusal> {
        let Some(next) = asked.path.get(usize::from(asked.position) + 1) else { return Ok(None) };
        let destination = *asked.path.last().unwrap_or(next);
        let mut best = Refusal { asn: config.asn, link: None, reason: Reason::NoAgreement };
        let pinned = self.of_tunnel(aggregate.tunnel).find_map(|held| held.link_out);
        let is_let = |link: LinkId| {
            let lets = |one: &Agreement| one.link == link && one.direct.contains(&aggregate.tunnel.origin);
            let is_let =
                asked.asking == Asking::HopByHop || asked.position == 0 || config.toward(*next).any(lets);
            let refusal = Refusal { asn: config.asn, link: Some(link), reason: Reason::DirectNotAgreed };
            if is_let { Ok(()) } else { Err(refusal) }
        };
        if let Some(link) = pinned {
            is_let(link)?;
            self.border.terms(now, config, (*next, link), aggregate.class, destination)?;
            return Ok(Some(link));
        }
        for agreement in config.toward(*next) {
            let link = agreement.link;
            let fits = self.border.terms(now, config, (*next, link), aggregate.class, destination);
            let fits = is_let(link).and(fits).and_then(|terms| {
                let load = Load { rate: asked.traffic.rate, burst: asked.traffic.bucket };
                let others = self.load(link, aggregate.class, Some(aggregate));
                Border::fits(&terms, others, load).map_err(|reason| Refusal {
                    asn: config.asn,
                    link: Some(link),
                    reason,
                })
            });
            match fits {
                Ok(()) => return Ok(Some(link)),
                Err(refusal) if offer(&refusal.reason) >= offer(&best.reason) => best = refusal,
                Err(_) => {}
            }
        }
        Err(best)
    }

    fn of_tunnel(&self, tunnel: TunnelId) -> impl Iterator<Item = &Held> {
        self.held.iter().filter(move |(id, _)| id.tunnel == tunnel).map(|(_, held)| held)
    }

    /// The label of a tunnel: all its classes have one.
    fn label(&self, tunnel: TunnelId) -> u32 {
        if let Some(held) = self.of_tunnel(tunnel).next() {
            return held.label_in;
        }
        let mut used: Vec<u32> = self.held.values().map(|held| held.label_in).collect();
        used.sort_unstable();
        used.dedup();
        used.into_iter()
            .filter(|label| *label >= FIRST_LABEL)
            .fold(FIRST_LABEL, |free, label| if label == free { free + 1 } else { free })
    }

    /// What a class of a link carries, apart from one aggregate.
    fn load(&self, link: LinkId, class: Class, except: Option<AggregateId>) -> Load {
        let of = self
            .held
            .iter()
            .filter(|(id, held)| held.link_out == Some(link) && id.class == class && Some(**id) != except);
        of.fold(Load::default(), |sum, (_, held)| sum.plus(held.load()))
    }

    /// The back-end has answered.
    pub(crate) fn on_backend(&mut self, now: u64, config: &Config, out: &mut Out, answer: &BackendAnswer) {
        let (ticket, said) = match answer {
            BackendAnswer::Reserved { ticket, delay, jitter, loss } => {
                (*ticket, Ok(Budget { delay: *delay, jitter: *jitter, loss: *loss }))
            }
            BackendAnswer::Refused { ticket, missing, offer } => {
                (*ticket, Err(Reason::Rate { missing: *missing, offer: *offer }))
            }
            BackendAnswer::Failed { ticket, fault } => (*ticket, Err(Reason::Device(fault.clone()))),
            BackendAnswer::Lost { holding: Holding::Aggregate(aggregate), fault } => {
                let reason = Reason::Device(fault.clone());
                return self.end(out, *aggregate, Refusal { asn: config.asn, link: None, reason });
            }
            _ => return,
        };
        if let Some(aggregate) = self.restored.remove(&ticket) {
            return self.on_restored(config, out, aggregate, said);
        }
        let Some(aggregate) = self.tickets.remove(&ticket) else { return };
        let Some(held) = self.held.get_mut(&aggregate) else { return };
        let link_out = held.link_out;
        let Some(pending) = held.pending.as_mut().filter(|pending| pending.step == Step::Backend(ticket))
        else {
            return;
        };
        let refusal = |link, reason| Refusal { asn: config.asn, link, reason };
        let budget = match said {
            Ok(budget) => budget,
            Err(reason) => return self.fail(out, aggregate, refusal(None, reason)),
        };
        let asked = pending.asked.clone();
        let mut delay = asked.delay.saturating_add(budget.delay);
        let mut jitter = asked.jitter.saturating_add(budget.jitter);
        let inside = loss_after(asked.loss, budget.loss);
        let mut loss = inside;
        if let Some((next, link)) = next(&asked).zip(link_out) {
            let destination = asked.path.last().copied().unwrap_or(next);
            let terms = self.border.terms(now, config, (next, link), aggregate.class, destination);
            let burst = asked.traffic.burst_after(jitter);
            let load = Load { rate: asked.traffic.rate, burst };
            let others = self.load(link, aggregate.class, Some(aggregate));
            let fits = terms.and_then(|terms| {
                delay = delay.saturating_add(terms.delay);
                jitter = jitter.saturating_add(terms.jitter);
                loss = loss_after(loss, terms.loss);
                Border::fits(&terms, others, load).map_err(|reason| refusal(Some(link), reason))
            });
            if let Err(refusal) = fits {
                return self.fail(out, aggregate, refusal);
            }
        }
        if delay > asked.limit {
            let reason = Reason::Delay { missing: delay - asked.limit, offer: delay };
            return self.fail(out, aggregate, refusal(link_out, reason));
        }
        if loss > asked.most_loss {
            let reason = Reason::Loss { missing: loss - asked.most_loss, offer: loss };
            // Where what is inside alone loses too much, no other link helps.
            let link = link_out.filter(|_| inside <= asked.most_loss);
            return self.fail(out, aggregate, refusal(link, reason));
        }
        if let Some(pending) = self.held.get_mut(&aggregate).and_then(|held| held.pending.as_mut()) {
            pending.budget = Some(budget);
            pending.step = Step::Downstream;
            if asks(&asked).is_some() {
                return self.forward(now, config, out, aggregate);
            }
            let (echo, label, reserved) = (pending.echo, pending.label, asked.traffic);
            let price = price_of(config, &asked, link_out);
            let granted = Granted { reserved, delay, jitter, loss, price, label: 0, link: link_out };
            self.granted(out, aggregate, label, granted, echo);
        }
    }

    /// Tells the next domain what is under way, or else what is granted.
    fn forward(&self, now: u64, config: &Config, out: &mut Out, aggregate: AggregateId) {
        let Some(held) = self.held.get(&aggregate) else { return };
        let Some(pending) = &held.pending else { return };
        let Some(budget) = pending.budget else { return };
        self.onward(now, config, out, aggregate, (&pending.asked, held.link_out, budget, pending.echo));
    }

    fn onward(
        &self,
        now: u64,
        config: &Config,
        out: &mut Out,
        aggregate: AggregateId,
        (asked, link_out, budget, echo): (&Asked, Option<LinkId>, Budget, u64),
    ) {
        let Some((next, link)) = next(asked).zip(link_out) else { return };
        let destination = asked.path.last().copied().unwrap_or(next);
        let Ok(terms) = self.border.terms(now, config, (next, link), aggregate.class, destination) else {
            return;
        };
        let reserve = Reserve {
            aggregate,
            id: asked.id,
            echo,
            path: asked.path.clone(),
            position: asked.position.saturating_add(1),
            link: Some(link),
            traffic: Some(asked.traffic),
            limit: asked.limit,
            most_loss: asked.most_loss,
            delay: asked.delay.saturating_add(budget.delay).saturating_add(terms.delay),
            jitter: asked.jitter.saturating_add(budget.jitter).saturating_add(terms.jitter),
            loss: loss_after(loss_after(asked.loss, budget.loss), terms.loss),
            lifetime: asked.lifetime,
            asking: asked.asking,
            label: None,
        };
        out.send(next, Body::Reserve(reserve));
    }

    /// What is granted is asked for again.
    fn refresh(&mut self, now: u64, config: &Config, out: &mut Out, aggregate: AggregateId, echo: u64) {
        let Some(granted) = self.held.get(&aggregate).and_then(|held| held.granted.as_ref()) else { return };
        let (asked, budget) = (&granted.asked, Budget::of(granted));
        if asks(asked).is_some() {
            return self.onward(now, config, out, aggregate, (asked, granted.link_out, budget, echo));
        }
        let mut all = Granted {
            reserved: asked.traffic,
            delay: asked.delay.saturating_add(budget.delay),
            jitter: asked.jitter.saturating_add(budget.jitter),
            loss: loss_after(asked.loss, budget.loss),
            price: price_of(config, asked, granted.link_out),
            label: granted.label_in,
            link: granted.link_out,
        };
        if let Some((next, link)) = next(asked).zip(granted.link_out) {
            let destination = asked.path.last().copied().unwrap_or(next);
            let terms = self.border.terms(now, config, (next, link), aggregate.class, destination);
            let Ok(terms) = terms else { return };
            all.delay = all.delay.saturating_add(terms.delay);
            all.jitter = all.jitter.saturating_add(terms.jitter);
            all.loss = loss_after(all.loss, terms.loss);
        }
        let verdict = Ok(all);
        upstream(out, asked, Response { aggregate, id: asked.id, echo, verdict });
    }

    /// All domains after this one grant it, or the origin asks them itself: it becomes durable.
    fn granted(
        &mut self,
        out: &mut Out,
        aggregate: AggregateId,
        label: Option<u32>,
        granted: Granted,
        echo: u64,
    ) {
        let Some(held) = self.held.get_mut(&aggregate) else { return };
        let Some(pending) = held.pending.as_mut() else { return };
        let Some(Budget { delay, jitter, loss }) = pending.budget else { return };
        let record = HeldAggregate {
            asked: pending.asked.clone(),
            link_out: held.link_out,
            delay,
            jitter,
            loss,
            label_in: held.label_in,
            label_out: label,
        };
        let ticket = out.store(Key::Aggregate(aggregate), Some(Record::Aggregate(record)));
        pending.step = Step::Store(ticket);
        pending.downstream = Some((label, granted, echo));
        self.tickets.insert(ticket, aggregate);
    }

    /// A record is durable: now it may be answered.
    pub(crate) fn on_stored(&mut self, out: &mut Out, ticket: u64) {
        let Some(aggregate) = self.tickets.remove(&ticket) else { return };
        let Some(held) = self.held.get_mut(&aggregate) else { return };
        let Some(pending) = held.pending.take_if(|pending| pending.step == Step::Store(ticket)) else {
            return;
        };
        let Some(Budget { delay, jitter, loss }) = pending.budget else { return };
        let Some((label_out, granted, echo)) = pending.downstream else { return };
        let asked = pending.asked;
        let label_in = (asked.position > 0).then_some(held.label_in);
        if is_forwarded(&asked, held.link_out, label_out) {
            out.command(BackendCommand::Commit { aggregate, label_in, label_out });
        }
        let verdict = Ok(Granted { label: held.label_in, ..granted });
        upstream(out, &asked, Response { aggregate, id: asked.id, echo, verdict });
        let (link_out, label_in) = (held.link_out, held.label_in);
        held.granted = Some(HeldAggregate { asked, link_out, delay, jitter, loss, label_in, label_out });
    }

    /// The domain after this one has answered.
    pub(crate) fn on_response(&mut self, config: &Config, out: &mut Out, from: Asn, mut response: Response) {
        let aggregate = response.aggregate;
        let Some(held) = self.held.get_mut(&aggregate) else { return };
        if held.asked().and_then(asks) != Some(from) {
            return;
        }
        if let Ok(granted) = &mut response.verdict {
            let own = held.link_out.and_then(|link| config.told_price(from, link));
            // A sum that does not fit is not told.
            granted.price = granted.price.zip(own).and_then(|(after, own)| after.checked_add(own));
        }
        if let Some(pending) = held.pending.as_ref().filter(|pending| pending.asked.id == response.id) {
            if pending.step != Step::Downstream {
                return;
            }
            match response.verdict {
                Ok(granted) if granted.reserved == pending.asked.traffic => {
                    self.granted(out, aggregate, Some(granted.label), granted, response.echo);
                }
                Ok(_) => {}
                Err(refusal) => self.fail(out, aggregate, refusal),
            }
            return;
        }
        let Some(held_granted) = held.granted.as_mut().filter(|granted| granted.asked.id == response.id)
        else {
            return;
        };
        if let Ok(granted) = &mut response.verdict {
            if granted.reserved != held_granted.asked.traffic {
                return;
            }
            let label_out = Some(core::mem::replace(&mut granted.label, held_granted.label_in));
            if held_granted.label_out != label_out {
                held_granted.label_out = label_out;
                let label_in = (held_granted.asked.position > 0).then_some(held_granted.label_in);
                out.command(BackendCommand::Commit { aggregate, label_in, label_out });
                out.store(Key::Aggregate(aggregate), Some(Record::Aggregate(held_granted.clone())));
            }
        }
        upstream(out, &held_granted.asked, response);
    }

    /// What was under way is refused, here or after here. What was granted stays, or what the origin has come down to.
    fn fail(&mut self, out: &mut Out, aggregate: AggregateId, refusal: Refusal) {
        let Some(held) = self.held.get_mut(&aggregate) else { return };
        let Some(pending) = held.pending.take() else { return };
        let (id, echo) = (pending.asked.id, pending.echo);
        upstream(out, &pending.asked, Response { aggregate, id, echo, verdict: Err(refusal) });
        match held.granted.as_mut() {
            None => self.remove(out, aggregate),
            Some(granted) => {
                if pending.asked.traffic.is_within(&granted.asked.traffic) {
                    granted.asked.traffic = pending.asked.traffic;
                }
                let demand = demand(&granted.asked, aggregate.class, granted.link_out);
                let record = granted.clone();
                let ticket = out.ticket();
                // Where a device does not even go back, nothing is known of it.
                self.restored.insert(ticket, aggregate);
                out.command(BackendCommand::Reserve { ticket, aggregate, demand });
                out.store(Key::Aggregate(aggregate), Some(Record::Aggregate(record)));
            }
        }
    }
}
