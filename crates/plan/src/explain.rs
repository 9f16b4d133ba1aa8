//! The bound of a flow, term by term.
use std::fmt::Write as _;

use latency::busy::busy_period_delay;
use latency::ledger::FlowId;
use latency::linear::linear_delay;
use latency::network::Imperfections;
use latency::path::{HopView, PathMethod, concatenation_bound, fixed_latency, sum_bound};
use latency::port::{Arrival, Contender, blocking};
use latency::units::time_of;

use crate::planning::Plan;
use crate::quantity::microseconds;
use crate::report::Bounds;

/// Every term of the bound of an admitted flow, for each subscriber; `None` if it is not admitted.
pub(crate) fn explain(plan: &Plan<'_>, bounds: &Bounds, id: FlowId) -> Option<String> {
    let admitted = plan.ledger.flow(id)?;
    let flow = &admitted.flow;
    let mut out = String::new();
    let _ = writeln!(out, "{} (times in microseconds)", plan.name(id));
    for (index, subscriber) in flow.subscribers.iter().enumerate() {
        let views = bounds.views(plan, id, index)?;
        let way = flow.way_to(subscriber.hop);
        let host = plan.flows.get(usize::try_from(id).ok()?)?.0.subscribers.get(index)?;
        let _ = writeln!(out, "\nto {}", plan.network.nodes.get(*host)?.name);
        let emission = flow.emitting();
        term(&mut out, 1, "the host hands over all frames of a message", emission);
        for (view, hop) in views.iter().zip(&way) {
            let port = flow.tree.get(*hop)?.port;
            let level = view.contenders.get(view.index)?.level;
            let _ = writeln!(out, "  {}, level {level}", plan.network.port_name(port));
            self::hop(&mut out, plan, port, view, level);
            let share = admitted.shares.get(*hop)?;
            let _ =
                writeln!(out, "      promised, and counted as jitter behind it: {}", microseconds(*share));
            term(&mut out, 2, "= delay at the port", view.delay);
            term(&mut out, 2, "propagation", view.port.propagation);
            term(&mut out, 2, "from reception to the queue, at most", view.port.most_multiplexing);
        }
        let sum = sum_bound(flow, &views)?;
        let hops = views.iter().try_fold(emission, |sum, view| {
            sum.checked_add(view.delay)?
                .checked_add(view.port.propagation)?
                .checked_add(view.port.most_multiplexing)
        });
        let less = hops?.checked_sub(sum)?;
        if less > 0 {
            let less = format!("-{}", microseconds(less));
            let _ = writeln!(out, "  {:<52}{less:>14}", "its first frame has gone before the last one waits");
        }
        term(&mut out, 1, "= sum over the hops", sum);
        let concatenation = concatenation_bound(flow, &views);
        match concatenation {
            Some(bound) => term(&mut out, 1, "or, services of the hops concatenated", bound),
            None => {
                let _ = writeln!(out, "  no bound by concatenation");
            }
        }
        let shares = way.iter().try_fold(0_u64, |sum, hop| sum.checked_add(*admitted.shares.get(*hop)?))?;
        let fixed = fixed_latency(flow, views.iter().map(|view| view.port))?;
        let promised = shares.checked_add(fixed)?;
        let rests_on = plan.ledger.rests_on(id, index);
        if promised > subscriber.limit {
            let _ = writeln!(
                out,
                "  promised at the ports and fixed: {}, above the limit,",
                microseconds(promised)
            );
            let how = match rests_on.map(|bound| bound.method) {
                Some(PathMethod::LinearProgram) => "which rests on a linear program along the way",
                _ => "which rests on services concatenated, as planned",
            };
            term(&mut out, 1, how, rests_on?.latency);
        }
        let bounds = [Some(sum), concatenation, rests_on.map(|bound| bound.latency)];
        let bound = bounds.into_iter().flatten().min()?;
        term(&mut out, 1, "bound: the least", bound);
        term(&mut out, 1, "limit", subscriber.limit);
        term(&mut out, 1, "margin", subscriber.limit.checked_sub(bound)?);
    }
    Some(out)
}

fn hop(out: &mut String, plan: &Plan<'_>, port: usize, view: &HopView<'_>, level: u8) {
    let rate = view.port.rate;
    let server = &view.server;
    let time = |bits: u64| time_of(bits, rate).map_or("?".to_owned(), microseconds);
    let lower = blocking(server, view.contenders, level).saturating_sub(server.ahead);
    if lower > 0 {
        let _ =
            writeln!(out, "      a frame below that is on the wire already: {lower} bits, {}", time(lower));
    }
    let Imperfections { ring, wake, .. } = view.port.imperfections;
    if ring > 0 {
        let ring = u64::from(ring) * 8;
        let _ = writeln!(out, "      what the card has taken before: {ring} bits, {}", time(ring));
    }
    if wake > 0 {
        let _ = writeln!(out, "      the link wakes: {}", microseconds(wake));
    }
    if let Some(beside) = server.beside {
        let (burst, rate) = (beside.burst, beside.rate);
        let _ = writeln!(
            out,
            "      what else the host sends: {burst} bits ({}) at once, {rate} b/s",
            time(burst)
        );
    }
    if let Some(control) = server.control {
        let _ = writeln!(out, "      control above: {} bits at once and {} b/s", control.burst, control.rate);
    }
    let entries = plan.ledger.entries(port);
    let mut say = |what: &str, chosen: &dyn Fn(&Contender, usize) -> bool| {
        for (at, entry) in entries.iter().enumerate() {
            if chosen(&entry.contender, at) {
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
                let _ = writeln!(out, "      {what} {}: {came}", plan.name(entry.flow));
            }
        }
    };
    say("above:", &|flow, _| flow.level > level);
    say("beside:", &|flow, at| flow.level == level && at != view.index);
    say("itself:", &|_, at| at == view.index);
    let linear = linear_delay(server, view.contenders, level);
    let busy = busy_period_delay(server, view.contenders, level);
    let shown = |bound: Option<u64>| bound.map_or("none".to_owned(), microseconds);
    let _ = writeln!(out, "      linear bound {}, by the busy period {}", shown(linear), shown(busy));
}

fn term(out: &mut String, depth: usize, what: &str, time: u64) {
    let text = format!("{:depth$}{what}", "", depth = depth * 2);
    let _ = writeln!(out, "{text:<54}{:>14}", microseconds(time));
}
