//! A domain as the first of those that its aggregates pass: it knows which flows they carry, and asks all domains of the path for their sum.
mod direct;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use crate::action::{Out, Said};
use crate::config::Limits;
use crate::message::{Body, Granted, Notify, Reserve, Response};
use crate::request::ANY_LOSS;
use crate::words::{AggregateId, Asking, Asn, Class, LegId, MessageId, Reason, Refusal, TSpec, TunnelId};
use direct::Asked;

/// A flow in an aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    pub(crate) traffic: TSpec,
    /// Nanoseconds that it may take: what was asked, and once it is granted what was told.
    pub(crate) limit: u64,
    /// Packets of a million that may be lost: likewise.
    pub(crate) most_loss: u32,
}

impl Member {
    /// Why what domains grant is not enough for it.
    fn misses(&self, granted: &Granted) -> Option<Reason> {
        if granted.delay > self.limit {
            return Some(Reason::Delay { missing: granted.delay - self.limit, offer: granted.delay });
        }
        (granted.loss > self.most_loss)
            .then(|| Reason::Loss { missing: granted.loss - self.most_loss, offer: granted.loss })
    }
}

/// An aggregate that begins here.
#[derive(Debug)]
struct Origin {
    path: Vec<Asn>,
    /// Flows that all domains have granted. They may be open.
    members: BTreeMap<LegId, Member>,
    /// Flows that were granted and end: they count until their edges are shut.
    leaving: BTreeMap<LegId, Member>,
    /// Flows that are being asked for.
    joining: BTreeMap<LegId, Member>,
    /// Flows whose turn comes then.
    waiting: VecDeque<(LegId, Member)>,
    id: MessageId,
    /// The last one that all domains have granted.
    granted: MessageId,
    /// What was asked for last.
    traffic: Option<TSpec>,
    /// And within which delay.
    limit: u64,
    /// And within which loss.
    most_loss: u32,
    /// Until when an answer is waited for. None: what was asked for is granted.
    until: Option<u64>,
    /// The traffic of members is less than what is granted.
    is_less: bool,
    /// When the last RESERVE left that all domains have confirmed.
    confirmed: u64,
    next_send: u64,
    /// The domains of the path, if each of them is asked from here.
    asked: Vec<Asked>,
}

/// All aggregates that begin here.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    origins: BTreeMap<AggregateId, Origin>,
    count: u64,
}

/// Flows that are asked for at a time.
const MOST_JOINING: usize = 64;

impl Origins {
    /// A flow wants into a tunnel with this path, but not into this one. The answer is a [`LegEvent`](crate::action::LegEvent).
    pub(crate) fn join(
        &mut self,
        now: u64,
        limits: &Limits,
        out: &mut Out,
        (leg, path, class, asking): (LegId, &[Asn], Class, Asking),
        member: Member,
        except: Option<TunnelId>,
    ) -> AggregateId {
        let of_path = |id: &AggregateId, origin: &Origin| {
            let is_same = origin.path == path && origin.asking() == asking;
            (is_same && Some(id.tunnel) != except).then_some(id.tunnel)
        };
        let tunnel = self.origins.iter().find_map(|(id, origin)| of_path(id, origin));
        let tunnel = tunnel.unwrap_or_else(|| TunnelId { origin: out.own, number: out.unique() });
        let aggregate = AggregateId { tunnel, class };
        let id = MessageId { epoch: out.epoch, number: 0 };
        let origin = self.origins.entry(aggregate).or_insert_with(|| Origin::new(path, asking, id, now));
        origin.waiting.push_back((leg, member));
        if origin.until.is_none() {
            self.proceed(now, limits, out, aggregate);
        }
        aggregate
    }

    /// A flow is out of an aggregate, after its edge was shut or lets it into another one.
    pub(crate) fn leave(
        &mut self,
        now: u64,
        limits: &Limits,
        out: &mut Out,
        (leg, aggregate): (LegId, AggregateId),
    ) {
        let Some(origin) = self.origins.get_mut(&aggregate) else { return };
        let waiting = origin.waiting.len();
        origin.waiting.retain(|(other, _)| *other != leg);
        let has_waited = origin.waiting.len() < waiting;
        let of = [&mut origin.members, &mut origin.leaving, &mut origin.joining];
        let was_asked = of.into_iter().filter_map(|flows| flows.remove(&leg)).count() > 0;
        if !was_asked && !has_waited {
            return;
        }
        origin.is_less |= was_asked;
        // What is under way is answered first: its message must not come after the next one.
        if origin.until.is_none() {
            self.proceed(now, limits, out, aggregate);
        }
    }

    /// What comes next: less, more, or the end.
    fn proceed(&mut self, now: u64, limits: &Limits, out: &mut Out, aggregate: AggregateId) {
        let Some(origin) = self.origins.get_mut(&aggregate) else { return };
        origin.until = None;
        if origin.is_empty() {
            self.count += 1;
            origin.traffic = None;
            origin.id = MessageId { epoch: out.epoch, number: self.count };
            self.send(now, limits, out, aggregate);
            self.origins.remove(&aggregate);
            return;
        }
        // Less and more are asked for one after the other, so that less is never refused together with more.
        let only_less = origin.is_less && origin.granted_flows().next().is_some();
        if !only_less {
            let count = origin.waiting.len().min(MOST_JOINING);
            origin.joining.extend(origin.waiting.drain(..count));
        }
        if only_less || !origin.joining.is_empty() {
            origin.is_less = false;
            self.ask(now, limits, out, aggregate);
        }
    }

    /// Asks for members and joining flows under a new number.
    fn ask(&mut self, now: u64, limits: &Limits, out: &mut Out, aggregate: AggregateId) {
        let id = self.next_id(out);
        let Some(origin) = self.origins.get_mut(&aggregate) else { return };
        origin.id = id;
        origin.traffic = TSpec::sum(origin.all().map(|member| &member.traffic));
        origin.most_loss = origin.all().map(|member| member.most_loss).min().unwrap_or(ANY_LOSS);
        origin.limit = origin.all().map(|member| member.limit).min().unwrap_or(u64::MAX);
        origin.until = Some(now.saturating_add(limits.patience));
        origin.asked.iter_mut().for_each(Asked::forget);
        self.send(now, limits, out, aggregate);
    }

    fn next_id(&mut self, out: &Out) -> MessageId {
        self.count += 1;
        MessageId { epoch: out.epoch, number: self.count }
    }

    fn send(&mut self, now: u64, limits: &Limits, out: &mut Out, aggregate: AggregateId) {
        let Some(origin) = self.origins.get_mut(&aggregate) else { return };
        let wait = if origin.until.is_some() { limits.retransmit } else { limits.refresh };
        origin.next_send = now.saturating_add(wait);
        if origin.asking() == Asking::Direct {
            return self.send_to_each(now, limits, out, aggregate);
        }
        let reserve = Reserve {
            aggregate,
            id: origin.id,
            echo: now,
            path: origin.path.clone(),
            position: 0,
            link: None,
            traffic: origin.traffic,
            limit: origin.limit,
            most_loss: origin.most_loss,
            delay: 0,
            jitter: 0,
            loss: 0,
            lifetime: limits.lifetime,
            asking: Asking::HopByHop,
            label: None,
        };
        out.send(out.own, Body::Reserve(reserve));
    }

    /// All domains have answered, or one refuses.
    fn on_response(&mut self, now: u64, limits: &Limits, out: &mut Out, response: Response) {
        let aggregate = response.aggregate;
        let Some(origin) = self.origins.get_mut(&aggregate) else { return };
        if origin.id != response.id || response.echo > now {
            return;
        }
        match response.verdict {
            Ok(granted) => {
                origin.confirmed = origin.confirmed.max(response.echo);
                // A domain that lost it may have found a slower link for it: what was told is a bound no more.
                let is_missed = |_: &LegId, member: &mut Member| member.misses(&granted).is_some();
                let missed: Vec<(LegId, Member)> = origin.members.extract_if(.., is_missed).collect();
                for (leg, member) in missed {
                    let Some(reason) = member.misses(&granted) else { continue };
                    let refusal = Refusal { asn: out.own, link: None, reason };
                    origin.leaving.insert(leg, member);
                    out.tell_leg(leg, aggregate, Said::Failed(refusal));
                }
                if origin.until.take().is_none() {
                    return;
                }
                origin.granted = origin.id;
                origin.next_send = response.echo.saturating_add(limits.refresh);
                for (leg, member) in core::mem::take(&mut origin.joining) {
                    // Domains of the path have looked at the least limits of all; this is for those that did not.
                    let Some(reason) = member.misses(&granted) else {
                        let (limit, most_loss) = (granted.delay, granted.loss);
                        origin.members.insert(leg, Member { limit, most_loss, ..member });
                        out.tell_leg(leg, aggregate, Said::Admitted(granted));
                        continue;
                    };
                    origin.is_less = true;
                    let refusal = Refusal { asn: out.own, link: None, reason };
                    out.tell_leg(leg, aggregate, Said::Refused(refusal));
                }
                self.proceed(now, limits, out, aggregate);
            }
            Err(refusal) => self.refused(now, limits, out, aggregate, refusal),
        }
    }

    /// A domain holds it no more.
    fn on_notify(&mut self, now: u64, limits: &Limits, out: &mut Out, notify: Notify) {
        let Some(origin) = self.origins.get_mut(&notify.aggregate) else { return };
        // What is asked for now is answered by itself; this is about what was granted.
        if notify.id == origin.granted || notify.id == origin.id {
            self.shed(now, limits, out, notify.aggregate, &notify.refusal);
        }
    }

    fn refused(
        &mut self,
        now: u64,
        limits: &Limits,
        out: &mut Out,
        aggregate: AggregateId,
        refusal: Refusal,
    ) {
        let Some(origin) = self.origins.get_mut(&aggregate) else { return };
        if origin.joining.is_empty() {
            return self.shed(now, limits, out, aggregate, &refusal);
        }
        if origin.joining.len() > 1 {
            // As many as the refusal says, or half of them; one after the other at last.
            let half = origin.joining.len() / 2;
            while origin.joining.len() > 1 {
                let is_enough = match refusal.reason {
                    Reason::Rate { offer, .. } => {
                        let joining = origin.joining.values().map(|member| member.traffic.rate);
                        joining.fold(origin.granted_rate(), u64::saturating_add) <= offer
                    }
                    _ => origin.joining.len() <= half,
                };
                if is_enough {
                    break;
                }
                origin.waiting.extend(origin.joining.pop_last());
            }
            return self.ask(now, limits, out, aggregate);
        }
        // A domain says what the aggregate could have; the flow could have what the others leave.
        let mut refusal = refusal;
        if let Reason::Rate { offer, .. } = &mut refusal.reason {
            *offer = offer.saturating_sub(origin.granted_rate());
        }
        for (leg, _) in core::mem::take(&mut origin.joining) {
            out.tell_leg(leg, aggregate, Said::Refused(refusal.clone()));
        }
        origin.is_less = true;
        self.proceed(now, limits, out, aggregate);
    }

    /// Gives up as many flows as do not fit, the youngest first.
    fn shed(&mut self, now: u64, limits: &Limits, out: &mut Out, aggregate: AggregateId, refusal: &Refusal) {
        let Some(origin) = self.origins.get_mut(&aggregate) else { return };
        let room = if let Reason::Rate { offer, .. } = refusal.reason { offer } else { 0 };
        // Flows that end already are told when they have ended; what is left is asked for then.
        if origin.leaving.is_empty() {
            let mut sum = origin.granted_rate();
            while let Some((leg, member)) =
                origin.members.last_key_value().map(|(leg, member)| (*leg, *member))
            {
                if !origin.leaving.is_empty() && sum <= room {
                    break;
                }
                sum = sum.saturating_sub(member.traffic.rate);
                origin.members.remove(&leg);
                origin.leaving.insert(leg, member);
                out.tell_leg(leg, aggregate, Said::Failed(refusal.clone()));
            }
        }
        // Flows that are being asked for go on: with a number of their own.
        if origin.joining.is_empty() {
            origin.next_send = now.saturating_add(limits.retransmit);
            self.proceed(now, limits, out, aggregate);
        }
    }

    /// Repeats, and gives up what is not confirmed.
    pub(crate) fn tick(&mut self, now: u64, limits: &Limits, out: &mut Out) {
        let all: Vec<AggregateId> = self.origins.keys().copied().collect();
        let refusal = Refusal { asn: out.own, link: None, reason: Reason::NoAnswer };
        for aggregate in all {
            let Some(origin) = self.origins.get_mut(&aggregate) else { continue };
            let is_late = !origin.members.is_empty() && origin.gives_up(limits) <= now;
            if origin.until.is_some_and(|until| until <= now) || is_late {
                for (leg, _) in core::mem::take(&mut origin.joining) {
                    out.tell_leg(leg, aggregate, Said::Refused(refusal.clone()));
                    origin.is_less = true;
                }
                for (leg, member) in
                    is_late.then(|| core::mem::take(&mut origin.members)).into_iter().flatten()
                {
                    origin.leaving.insert(leg, member);
                    out.tell_leg(leg, aggregate, Said::Failed(refusal.clone()));
                }
                origin.is_less = true;
                self.proceed(now, limits, out, aggregate);
            } else if origin.next_send <= now {
                self.send(now, limits, out, aggregate);
            }
        }
    }

    /// Until when all domains hold an aggregate, as far as is known.
    pub(crate) fn is_held_until(&self, aggregate: AggregateId, limits: &Limits) -> u64 {
        self.origins.get(&aggregate).map_or(0, |origin| origin.gives_up(limits))
    }

    /// When something is to be repeated or given up.
    pub(crate) fn due(&self, limits: &Limits) -> u64 {
        let of = |origin: &Origin| {
            let gives_up = if origin.members.is_empty() { u64::MAX } else { origin.gives_up(limits) };
            origin.next_send.min(origin.until.unwrap_or(u64::MAX)).min(gives_up)
        };
        self.origins.values().map(of).min().unwrap_or(u64::MAX)
    }

    /// A flow of the store: it was granted, and its edge may be open.
    pub(crate) fn restore(
        &mut self,
        now: u64,
        out: &Out,
        (leg, aggregate, path, asking): (LegId, AggregateId, &[Asn], Asking),
        member: Member,
    ) {
        let id = MessageId { epoch: out.epoch, number: 0 };
        let origin = self.origins.entry(aggregate).or_insert_with(|| Origin::new(path, asking, id, now));
        origin.members.insert(leg, member);
        origin.is_less = true;
    }

    /// Asks for all that was restored.
    pub(crate) fn resume(&mut self, now: u64, limits: &Limits, out: &mut Out) {
        let all: Vec<AggregateId> = self.origins.keys().copied().collect();
        for aggregate in all {
            self.proceed(now, limits, out, aggregate);
        }
    }
}

impl Origin {
    fn new(path: &[Asn], asking: Asking, id: MessageId, now: u64) -> Self {
        let asked = if asking == Asking::Direct { path.len() } else { 0 };
        Self {
            path: path.to_vec(),
            members: BTreeMap::new(),
            leaving: BTreeMap::new(),
            joining: BTreeMap::new(),
            waiting: VecDeque::new(),
            id,
            granted: id,
            traffic: None,
            limit: u64::MAX,
            most_loss: ANY_LOSS,
            until: None,
            is_less: false,
            confirmed: now,
            next_send: now,
            asked: (0..asked).map(|_| Asked::default()).collect(),
        }
    }

    fn asking(&self) -> Asking {
        if self.asked.is_empty() { Asking::HopByHop } else { Asking::Direct }
    }

    fn is_empty(&self) -> bool {
        self.granted_flows().next().is_none() && self.joining.is_empty() && self.waiting.is_empty()
    }

    fn all(&self) -> impl Iterator<Item = &Member> {
        self.granted_flows().chain(self.joining.values())
    }

    fn granted_flows(&self) -> impl Iterator<Item = &Member> {
        self.members.values().chain(self.leaving.values())
    }

    /// Bits per second of flows that are granted.
    fn granted_rate(&self) -> u64 {
        self.granted_flows().fold(0_u64, |sum, member| sum.saturating_add(member.traffic.rate))
    }

    fn gives_up(&self, limits: &Limits) -> u64 {
        self.confirmed.saturating_add(limits.lifetime.saturating_sub(limits.guard))
    }
}
