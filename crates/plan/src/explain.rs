//! The bound of a flow, term by term: for the terminal, and for the page.
use std::fmt::Write as _;

use latency::busy::busy_period_delay;
use latency::ledger::FlowId;
use latency::linear::linear_delay;
use latency::network::{Flow, Imperfections};
use latency::path::{HopView, PathMethod, concatenation_bound, fixed_latency, sum_bound};
use latency::port::{Arrival, Contender, blocking};
use latency::units::time_of;

use crate::planning::Plan;
use crate::report::Bounds;
use crate::text::counted;
use latency::words::microseconds;

/// How much is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Detail {
    /// All flows that are met, and each bound that was tried.
    Whole,
    /// So many flows of each kind at each port, and the bounds that count: nothing is computed again.
    Named(usize),
}

/// A term of a bound, or what it comes from.
pub(crate) struct Term {
    /// How far it is within others.
    pub(crate) depth: usize,
    pub(crate) what: String,
    /// Microseconds, in text.
    pub(crate) time: Option<String>,
}

/// The terms of what one subscriber is promised.
pub(crate) struct Explained {
    pub(crate) host: String,
    pub(crate) terms: Vec<Term>,
}

/// Every term of the bound of an admitted flow, for each subscriber; `None` if it is not admitted.
pub(crate) fn explain(
    plan: &Plan<'_>,
    bounds: &Bounds,
    id: FlowId,
    detail: Detail,
) -> Option<Vec<Explained>> {
    let flow = &plan.ledger.flow(id)?.flow;
    (0..flow.subscribers.len()).map(|index| subscriber(plan, bounds, id, index, detail)).collect()
}

/// The terms for a terminal.
pub(crate) fn text(name: &str, explained: &[Explained]) -> String {
    let mut out = format!("{name} (times in microseconds)\n");
    for Explained { host, terms } in explained {
        let _ = writeln!(out, "\nto {host}");
        for Term { depth, what, time } in terms {
            let what = format!("{:indent$}{what}", "", indent = depth * 2);
            let _ = match time {
                Some(time) => writeln!(out, "{what:<54}{time:>14}"),
                None => writeln!(out, "{what}"),
            };
        }
    }
    out
}

/// What has been said so far.
struct Terms(Vec<Term>);

impl Terms {
    fn note(&mut self, depth: usize, what: String) {
        self.0.push(Term { depth, what, time: None });
    }

    fn time(&mut self, depth: usize, what: &str, time: u64) {
        self.0.push(Term { depth, what: what.to_owned(), time: Some(microseconds(time)) });
    }
}

fn subscriber(
    plan: &Plan<'_>,
    bounds: &Bounds,
    id: FlowId,
    index: usize,
    detail: Detail,
) -> Option<Explained> {
    let admitted = plan.ledger.flow(id)?;
    let flow = &admitted.flow;
    let subscriber = flow.subscribers.get(index)?;
    let views = bounds.views(plan, id, index)?;
    let host = plan.flows.get(usize::try_from(id).ok()?)?.0.subscribers.get(index)?;
    let host = plan.network.node_name(*host)?.to_owned();
    let mut terms = Terms(Vec::new());
    let emission = flow.emitting();
    terms.time(1, "the host hands over all frames of a message", emission);
    for (view, hop) in views.iter().zip(flow.way_to(subscriber.hop)) {
        let port = flow.tree.get(hop)?.port;
        let level = view.contenders.get(view.index)?.level;
        terms.note(1, format!("{}, level {level}", plan.network.port_name(port)));
        self::hop(&mut terms, plan, port, view, level, detail);
        let share = microseconds(*admitted.shares.get(hop)?);
        terms.note(3, format!("promised, and counted as jitter behind it: {share}"));
        terms.time(2, "= delay at the port", view.delay);
        terms.time(2, "propagation", view.port.propagation);
        terms.time(2, "from reception to the queue, at most", view.port.most_multiplexing);
    }
    let bound = path(&mut terms, plan, bounds, (id, index), flow, &views, detail)?;
    let (bound, limit) = if plan.repaired.contains_key(&id) {
        terms.time(1, "limit of the first transmission", subscriber.limit);
        with_losses(&mut terms, plan, bounds, id, index)?
    } else {
        (bound, subscriber.limit)
    };
    terms.time(1, "limit", limit);
    terms.time(1, "margin", limit.checked_sub(bound)?);
    Some(Explained { host, terms: terms.0 })
}

/// The terms of the bound of a flow with losses; the bound and the limit.
fn with_losses(
    out: &mut Terms,
    plan: &Plan<'_>,
    bounds: &Bounds,
    id: FlowId,
    index: usize,
) -> Option<(u64, u64)> {
    let repaired = plan.repaired.get(&id)?;
    let [repairs, questions] = *repaired.beside.get(index)?;
    let (terms, ways) = plan.terms(bounds, id, index)?;
    let frames = counted(repaired.losses.frames as usize, "frame");
    let within = microseconds(repaired.losses.within);
    let reaction = microseconds(ways.reaction);
    out.note(1, format!("with {frames} lost within {within}; a host reacts within {reaction}"));
    out.time(3, &format!("the way of \"{}\"", plan.name(repairs)), ways.repair);
    out.time(3, &format!("the way of \"{}\"", plan.name(questions)), ways.question);
    out.time(3, "from one of them to the next", ways.spacing);
    out.time(2, "until the reader knows of the sample", terms.known);
    out.time(2, "until it has asked", terms.asked);
    out.time(2, "until it has asked again", terms.again);
    out.time(2, "until the repair has come", terms.repaired);
    let bound = terms.sum()?;
    out.time(1, "bound with losses: the sum", bound);
    let (asked, _) = plan.flows.get(usize::try_from(id).ok()?)?;
    Some((bound, asked.flow.subscribers.get(index)?.limit))
}

/// The bound of the whole way.
fn path(
    terms: &mut Terms,
    plan: &Plan<'_>,
    bounds: &Bounds,
    (id, index): (FlowId, usize),
    flow: &Flow,
    views: &[HopView<'_>],
    detail: Detail,
) -> Option<u64> {
    let sum = sum_bound(flow, views)?;
    let hops = views.iter().try_fold(flow.emitting(), |sum, view| {
        sum.checked_add(view.delay)?
            .checked_add(view.port.propagation)?
            .checked_add(view.port.most_multiplexing)
    });
    let less = hops?.checked_sub(sum)?;
    if less > 0 {
        let what = "its first frame has gone before the last one waits".to_owned();
        terms.0.push(Term { depth: 1, what, time: Some(format!("-{}", microseconds(less))) });
    }
    terms.time(1, "= sum over the hops", sum);
    let concatenation = match detail {
        Detail::Whole => concatenation_bound(flow, views),
        Detail::Named(_) => bounds.path(plan, id, index).map(|path| path.latency).filter(|path| *path < sum),
    };
    match (concatenation, detail) {
        (Some(bound), _) => terms.time(1, "or, services of the hops concatenated", bound),
        (None, Detail::Whole) => terms.note(1, "no bound by concatenation".to_owned()),
        (None, Detail::Named(_)) => {}
    }
    let rests_on = plan.ledger.rests_on(id, index);
    let promised = promised(plan, id, index, views)?;
    if promised > flow.subscribers.get(index)?.limit {
        terms.note(
            1,
            format!("promised at the ports and fixed: {}, above the limit,", microseconds(promised)),
        );
        let how = match rests_on.map(|bound| bound.method) {
            Some(PathMethod::LinearProgram) => "which rests on a linear program along the way",
            _ => "which rests on services concatenated, as planned",
        };
        terms.time(1, how, rests_on?.latency);
    }
    let least =
        [Some(sum), concatenation, rests_on.map(|bound| bound.latency)].into_iter().flatten().min()?;
    let several = concatenation.is_some() || detail == Detail::Whole || least < sum;
    terms.time(1, if several { "bound: the least" } else { "bound" }, least);
    Some(least)
}

/// What the ports of the way promise together, and what is fixed, in picoseconds.
fn promised(plan: &Plan<'_>, id: FlowId, index: usize, views: &[HopView<'_>]) -> Option<u64> {
    let admitted = plan.ledger.flow(id)?;
    let way = admitted.flow.way_to(admitted.flow.subscribers.get(index)?.hop);
    let shares = way.iter().try_fold(0_u64, |sum, hop| sum.checked_add(*admitted.shares.get(*hop)?))?;
    shares.checked_add(fixed_latency(&admitted.flow, views.iter().map(|view| view.port))?)
}

fn hop(terms: &mut Terms, plan: &Plan<'_>, port: usize, view: &HopView<'_>, level: u8, detail: Detail) {
    let rate = view.port.rate;
    let server = &view.server;
    let time = |bits: u64| time_of(bits, rate).map_or("?".to_owned(), microseconds);
    let lower = blocking(server, view.contenders, level).saturating_sub(server.ahead);
    if lower > 0 {
        terms.note(3, format!("a frame below that is on the wire already: {lower} bits, {}", time(lower)));
    }
    let Imperfections { ring, wake, .. } = view.port.imperfections;
    if ring > 0 {
        let ring = u64::from(ring) * 8;
        terms.note(3, format!("what the card has taken before: {ring} bits, {}", time(ring)));
    }
    if wake > 0 {
        terms.note(3, format!("the link wakes: {}", microseconds(wake)));
    }
    if let Some(beside) = server.beside {
        let (burst, rate) = (beside.burst, beside.rate);
        let at_once = time(burst);
        terms.note(3, format!("what else the host sends: {burst} bits ({at_once}) at once, {rate} b/s"));
    }
    if let Some(control) = server.control {
        let (burst, rate) = (control.burst, control.rate);
        terms.note(3, format!("control above: {burst} bits at once and {rate} b/s"));
    }
    let entries = plan.ledger.entries(port);
    let most = if let Detail::Named(most) = detail { most } else { usize::MAX };
    let mut say = |what: &str, chosen: &dyn Fn(&Contender, usize) -> bool| {
        let all = || entries.iter().enumerate().filter(|(at, entry)| chosen(&entry.contender, *at));
        for (_, entry) in all().take(most) {
            let came = match entry.contender.arrival {
                Arrival::Messages { bits, separation, jitter } => format!(
                    "{bits} bits ({}) every {}, jitter {}",
                    time(bits),
                    microseconds(separation),
                    microseconds(jitter)
                ),
                Arrival::Bucket { burst, rate } => {
                    format!("{burst} bits ({}) at once, {rate} b/s", time(burst))
                }
            };
            terms.note(3, format!("{what} {}: {came}", plan.name(entry.flow)));
        }
        let more = all().count().saturating_sub(most);
        if more > 0 {
            terms.note(3, format!("{what} {more} more"));
        }
    };
    say("above:", &|flow, _| flow.level > level);
    say("beside:", &|flow, at| flow.level == level && at != view.index);
    say("itself:", &|_, at| at == view.index);
    if detail == Detail::Whole {
        let linear = linear_delay(server, view.contenders, level);
        let busy = busy_period_delay(server, view.contenders, level);
        let shown = |bound: Option<u64>| bound.map_or("none".to_owned(), microseconds);
        terms.note(3, format!("linear bound {}, by the busy period {}", shown(linear), shown(busy)));
    }
}
