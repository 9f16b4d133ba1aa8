//! The origin asks each domain of a path itself (single hop). What comes into a domain is known when the domains before it have answered, so the first
//! flow of a tunnel takes a round trip for each of them. What they said then is taken for granted from then on, and all are asked at once; where one of
//! them says something else, those after it are asked again.
use alloc::vec::Vec;

use super::Origins;
use crate::action::Out;
use crate::config::Limits;
use crate::message::{Body, Granted, Notify, Reserve, Response};
use crate::words::{AggregateId, Asking, Asn, LinkId, MessageId, Refusal, TSpec};

/// What comes into a domain from those before it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Before {
    link: Option<LinkId>,
    delay: u64,
    jitter: u64,
    loss: u32,
}

impl Before {
    /// What comes out of a domain is what comes into the next one.
    fn after(granted: &Granted) -> Self {
        let Granted { delay, jitter, loss, link, .. } = *granted;
        Self { link, delay, jitter, loss }
    }
}

/// What a domain was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Told {
    traffic: TSpec,
    limit: u64,
    most_loss: u32,
    before: Before,
    label: Option<u32>,
}

/// One domain of the path.
#[derive(Default, Debug)]
pub(super) struct Asked {
    told: Option<(MessageId, Told)>,
    /// What it has answered to that.
    said: Option<Result<Granted, Refusal>>,
    /// What it granted last: to which number, what came into it, and what comes out.
    held: Option<(MessageId, Before, Granted)>,
    /// When the RESERVE left that it has confirmed last.
    confirmed: u64,
}

impl Asked {
    /// All of it is asked for anew.
    pub(super) fn forget(&mut self) {
        (self.told, self.said) = (None, None);
    }

    /// With which label it wants packets.
    fn label(&self) -> Option<u32> {
        self.held.as_ref().map(|(_, _, granted)| granted.label)
    }

    /// What comes out of it, as it says, or as it said of the same before.
    fn after(&self, before: Before) -> Option<Before> {
        match (&self.said, &self.held) {
            (Some(Ok(granted)), _) => Some(Before::after(granted)),
            (None, Some((_, of, granted))) if *of == before => Some(Before::after(granted)),
            _ => None,
        }
    }
}

/// Which domains are told what they have been told already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Again {
    None,
    Unanswered,
    All,
}

impl Origins {
    /// Each domain of the path is asked from here.
    pub(crate) fn asks_each(&self, aggregate: AggregateId) -> bool {
        self.origins.get(&aggregate).is_some_and(|origin| origin.asking() == Asking::Direct)
    }

    /// Asks, refreshes, or ends it.
    pub(super) fn send_to_each(&mut self, now: u64, limits: &Limits, out: &mut Out, aggregate: AggregateId) {
        let Some(origin) = self.origins.get(&aggregate) else { return };
        if origin.traffic.is_none() {
            return self.end_in_each(now, limits, out, aggregate);
        }
        let again = if origin.until.is_some() { Again::Unanswered } else { Again::All };
        self.tell_each(now, limits, out, aggregate, again);
    }

    fn end_in_each(&mut self, now: u64, limits: &Limits, out: &mut Out, aggregate: AggregateId) {
        let id = self.next_id(out);
        let Some(origin) = self.origins.get(&aggregate) else { return };
        for (asn, position) in origin.path.iter().zip(0_u8..) {
            let reserve = Reserve {
                aggregate,
                id,
                echo: now,
                path: origin.path.clone(),
                position,
                link: None,
                traffic: None,
                limit: origin.limit,
                most_loss: origin.most_loss,
                delay: 0,
                jitter: 0,
                loss: 0,
                lifetime: limits.lifetime,
                asking: Asking::Direct,
                label: None,
            };
            out.send(*asn, Body::Reserve(reserve));
        }
    }

    /// Tells each domain what is new for it, as far as what comes into it is known.
    fn tell_each(&mut self, now: u64, limits: &Limits, out: &mut Out, aggregate: AggregateId, again: Again) {
        let Some(origin) = self.origins.get_mut(&aggregate) else { return };
        let Some(traffic) = origin.traffic else { return };
        let (limit, most_loss) = (origin.limit, origin.most_loss);
        let labels: Vec<Option<u32>> = origin.asked.iter().skip(1).map(Asked::label).chain([None]).collect();
        let mut before = Before::default();
        for (((asn, asked), label), position) in
            origin.path.iter().zip(&mut origin.asked).zip(labels).zip(0_u8..)
        {
            let told = Told { traffic, limit, most_loss, before, label };
            let known = asked.told.filter(|(_, known)| *known == told).map(|(id, _)| id);
            // A number for each thing that a domain is told: its answer is to that alone.
            let id = known.unwrap_or_else(|| {
                self.count += 1;
                MessageId { epoch: out.epoch, number: self.count }
            });
            if known.is_none() {
                (asked.told, asked.said) = (Some((id, told)), None);
            }
            let is_told_again = match again {
                Again::None => false,
                Again::Unanswered => asked.said.is_none(),
                Again::All => true,
            };
            if known.is_none() || is_told_again {
                let Before { link, delay, jitter, loss } = before;
                let reserve = Reserve {
                    aggregate,
                    id,
                    echo: now,
                    path: origin.path.clone(),
                    position,
                    link,
                    traffic: Some(traffic),
                    limit,
                    most_loss,
                    delay,
                    jitter,
                    loss,
                    lifetime: limits.lifetime,
                    asking: Asking::Direct,
                    label,
                };
                out.send(*asn, Body::Reserve(reserve));
            }
            let Some(after) = asked.after(before) else { return };
            before = after;
        }
    }

    /// A domain has answered: of those that are asked from here each, otherwise the first one for all.
    pub(crate) fn on_said(
        &mut self,
        now: u64,
        limits: &Limits,
        out: &mut Out,
        from: Asn,
        response: Response,
    ) {
        let aggregate = response.aggregate;
        let Some(origin) = self.origins.get_mut(&aggregate) else { return };
        if origin.asking() == Asking::HopByHop {
            return self.on_response(now, limits, out, response);
        }
        let Some(at) = origin.path.iter().position(|asn| *asn == from) else { return };
        let is_last = at + 1 == origin.path.len();
        let Some(asked) = origin.asked.get_mut(at) else { return };
        let Some((_, told)) = asked.told.filter(|(id, _)| *id == response.id && response.echo <= now) else {
            return;
        };
        if let Ok(granted) = &response.verdict {
            let before = &told.before;
            let adds = granted.delay >= before.delay && granted.jitter >= before.jitter;
            let goes_on = granted.link.is_none() == is_last;
            if granted.reserved != told.traffic || !adds || granted.loss < before.loss || !goes_on {
                return;
            }
            asked.held = Some((response.id, told.before, *granted));
            asked.confirmed = asked.confirmed.max(response.echo);
        }
        asked.said = Some(response.verdict);
        self.tell_each(now, limits, out, aggregate, Again::None);
        self.conclude(now, limits, out, aggregate);
    }

    /// Goes on when all domains have granted it, or the first one of the path that does not grant it has refused.
    fn conclude(&mut self, now: u64, limits: &Limits, out: &mut Out, aggregate: AggregateId) {
        let Some(origin) = self.origins.get_mut(&aggregate) else { return };
        let (mut all, mut price, mut confirmed) = (None, Some(0_u64), u64::MAX);
        for asked in &mut origin.asked {
            match &asked.said {
                Some(Ok(granted)) => {
                    price = price.zip(granted.price).and_then(|(sum, one)| sum.checked_add(one));
                    confirmed = confirmed.min(asked.confirmed);
                    all = Some(*granted);
                }
                Some(Err(_)) => {
                    let Some(Err(refusal)) = asked.said.take() else { return };
                    return self.refused(now, limits, out, aggregate, refusal);
                }
                None => return,
            }
        }
        let Some(all) = all else { return };
        let verdict = Ok(Granted { price, ..all });
        let response = Response { aggregate, id: origin.id, echo: confirmed, verdict };
        self.on_response(now, limits, out, response);
    }

    /// A domain holds an aggregate no more: one that is asked from here, otherwise any of the path, as the first one says.
    pub(crate) fn on_ended(&mut self, now: u64, limits: &Limits, out: &mut Out, from: Asn, notify: Notify) {
        let Some(origin) = self.origins.get_mut(&notify.aggregate) else { return };
        if origin.asking() == Asking::HopByHop {
            return self.on_notify(now, limits, out, notify);
        }
        let Some(at) = origin.path.iter().position(|asn| *asn == from) else { return };
        let Some(asked) = origin.asked.get_mut(at) else { return };
        let is_told = asked.told.is_some_and(|(id, _)| id == notify.id);
        let is_held = asked.held.is_some_and(|(id, ..)| id == notify.id);
        if is_told || is_held {
            if is_told {
                asked.said = None;
            }
            self.shed(now, limits, out, notify.aggregate, &notify.refusal);
        }
    }
}
