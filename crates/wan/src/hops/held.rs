//! What is known of one aggregate in a domain that it passes, and to whom it is told.
use crate::action::Out;
use crate::backend::{Demand, Place};
use crate::border::Load;
use crate::config::Config;
use crate::message::{Body, Granted, Notify, Response};
use crate::record::{Asked, HeldAggregate};
use crate::words::{Asn, Class, LinkId, Reason};

/// How far a reservation has come here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Backend(u64),
    Downstream,
    Store(u64),
}

/// What a back-end keeps of an aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Budget {
    /// Nanoseconds through the domain.
    pub(super) delay: u64,
    /// Nanoseconds by which that varies.
    pub(super) jitter: u64,
    /// Packets of a million that may be lost inside.
    pub(super) loss: u32,
}

impl Budget {
    /// That of what is granted.
    pub(super) fn of(granted: &HeldAggregate) -> Self {
        let HeldAggregate { delay, jitter, loss, .. } = *granted;
        Self { delay, jitter, loss }
    }
}

/// A reservation under way.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) asked: Asked,
    pub(super) echo: u64,
    pub(super) step: Step,
    /// The budget of this domain, once the back-end has said it. From then on it is in the ledger.
    pub(super) budget: Option<Budget>,
    /// What the domains after this one granted.
    pub(super) downstream: Option<(Option<u32>, Granted, u64)>,
}

/// An aggregate here.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) granted: Option<HeldAggregate>,
    pub(super) pending: Option<Pending>,
    pub(super) link_out: Option<LinkId>,
    pub(super) label_in: u32,
    pub(super) expires: u64,
}

impl Held {
    pub(super) fn asked(&self) -> Option<&Asked> {
        self.pending
            .as_ref()
            .map(|pending| &pending.asked)
            .or(self.granted.as_ref().map(|granted| &granted.asked))
    }

    /// What it takes of its border link: the most of what is granted and what is under way.
    pub(super) fn load(&self) -> Load {
        let of = |asked: &Asked, jitter: u64| Load {
            rate: asked.traffic.rate,
            burst: asked.traffic.burst_after(asked.jitter.saturating_add(jitter)),
        };
        let granted =
            self.granted.as_ref().map_or(Load::default(), |granted| of(&granted.asked, granted.jitter));
        let pending =
            self.pending.as_ref().and_then(|pending| Some(of(&pending.asked, pending.budget?.jitter)));
        granted.at_least(pending.unwrap_or_default())
    }
}

/// A neighbour may send this here.
pub(super) fn accepts(
    now: u64,
    config: &Config,
    from: Asn,
    asked: &Asked,
    class: Class,
) -> Result<(), Reason> {
    if !class.is_reservable() {
        return Err(Reason::ClassNotAgreed);
    }
    if asked.lifetime > config.limits.lifetime {
        return Err(Reason::Invalid);
    }
    if asked.position == 0 {
        return Ok(());
    }
    let destination = asked.path.last().copied().ok_or(Reason::Invalid)?;
    let mut of =
        config.agreements.iter().filter(|agreement| agreement.from == from && agreement.to == config.asn);
    let agreement = of.find(|agreement| Some(agreement.link) == asked.link_in).ok_or(Reason::NoAgreement)?;
    agreement.applies(now, class, destination).map(|_| ())
}

/// The domain after this one.
pub(super) fn next(asked: &Asked) -> Option<Asn> {
    asked.path.get(usize::from(asked.position) + 1).copied()
}

/// How much a refusal offers.
pub(super) fn offer(reason: &Reason) -> u64 {
    match reason {
        Reason::Rate { offer, .. } => *offer,
        _ => 0,
    }
}

/// What the back-end has to carry.
pub(super) fn demand(asked: &Asked, class: Class, link_out: Option<LinkId>) -> Demand {
    Demand {
        from: asked.link_in.map_or(Place::Edges, Place::Border),
        to: link_out.map_or(Place::Edges, Place::Border),
        class,
        rate: asked.traffic.rate,
        burst: asked.traffic.burst_after(asked.jitter),
        least_packet: asked.traffic.least_unit,
        largest_packet: asked.traffic.largest_packet,
    }
}

/// To the domain before this one, or to the origin, which is here.
pub(super) fn upstream(out: &mut Out, asked: &Asked, response: Response) {
    match usize::from(asked.position).checked_sub(1).and_then(|at| asked.path.get(at)) {
        Some(before) => out.send(*before, Body::Response(response)),
        None => out.responses.push_back(response),
    }
}

pub(super) fn notify_upstream(out: &mut Out, asked: &Asked, notify: Notify) {
    match usize::from(asked.position).checked_sub(1).and_then(|at| asked.path.get(at)) {
        Some(before) => out.send(*before, Body::Notify(notify)),
        None => out.notifies.push_back(notify),
    }
}
