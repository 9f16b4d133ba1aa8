//! The flows of a plan as a table: one body for each flow, a line for each of its subscribers, and below it what there is to say of it.
use std::collections::BTreeMap;

use latency::ledger::FlowId;
use maud::{Markup, html};

use crate::change::{Changed, Changes};
use crate::explain::{Detail, explain};
use crate::page::{Shown, bar, parts};
use crate::picture::{COLOURS, anchor_of, colour};
use crate::report::{FlowReport, SubscriberReport};
use crate::text::{enforced, percent};
use crate::ways::{Ways, identities};
use latency::words::microseconds;

/// Flows whose bounds are explained, and how many flows at their ports may be looked at for that: a page is no larger in proportion than the
/// plan is. `--explain` does the others.
const EXPLAINED: usize = 2_000;
const LOOKS: usize = 1_000_000;
/// Flows of each kind that are named at a port.
const NAMED: usize = 6;

/// What changes did to flows, by their names.
#[derive(Default)]
struct Effects<'c> {
    added: BTreeMap<&'c str, &'c Option<Vec<String>>>,
    changed: BTreeMap<&'c str, &'c Changed>,
    moved: BTreeMap<&'c str, Vec<String>>,
}

impl<'c> Effects<'c> {
    fn new(changes: &'c Changes) -> Self {
        let mut effects = Self::default();
        effects.added.extend(changes.added.iter().map(|added| (added.name.as_str(), &added.would_yield)));
        effects.changed.extend(changes.changed.iter().map(|changed| (changed.name.as_str(), changed)));
        for moved in &changes.moved {
            let said = format!("level {} instead of {} at {}", moved.to, moved.from, moved.port);
            effects.moved.entry(&moved.name).or_default().push(said);
        }
        effects
    }
}

/// The table of all flows.
pub(crate) fn table(shown: Shown<'_>, ways: &Ways<'_>) -> Markup {
    let report = shown.report;
    let effects = shown.changes.map(Effects::new);
    let mut heads = vec![
        ("flow", false, ""),
        ("from", false, ""),
        ("to", false, ""),
        ("verdict", false, ""),
        ("bound, us", true, "n"),
        ("limit, us", true, "n"),
        ("margin, us", true, "n"),
        ("bound of limit", true, "bars"),
    ];
    if effects.is_some() {
        heads.push(("bound before, us", true, "n"));
    }
    let mut looks = LOOKS;
    html! {
        @if !report.flows.is_empty() {
            h2 { "Flows" }
            div class="scroll" {
                table class="sorted flows" data-search="search flows: name, host, refused, level …" {
                    (pages::heads(&heads))
                    @for ((number, flow), id) in report.flows.iter().enumerate().zip(identities(shown.plan)) {
                        (body(shown, ways, (number, flow, id), effects.as_ref(), heads.len(), &mut looks))
                    }
                }
            }
        }
    }
}

fn body(
    shown: Shown<'_>,
    ways: &Ways<'_>,
    (number, flow, id): (usize, &FlowReport, FlowId),
    effects: Option<&Effects<'_>>,
    columns: usize,
    looks: &mut usize,
) -> Markup {
    let bounds = || flow.subscribers.iter().filter_map(|subscriber| subscriber.bound_ps);
    let part = flow
        .subscribers
        .iter()
        .filter_map(|subscriber| Some(parts(subscriber.bound_ps?, subscriber.limit_ps)))
        .max();
    let limit = flow.subscribers.iter().map(|subscriber| subscriber.limit_ps).min();
    let margin = flow.subscribers.iter().filter_map(|subscriber| subscriber.margin_ps).min();
    let before =
        effects.and_then(|effects| effects.changed.get(flow.name.as_str())).map(|changed| changed.before_ps);
    html! {
        tbody data-0=(flow.name) data-1=(flow.publisher) data-2=[flow.subscribers.first().map(|subscriber| &subscriber.host)]
            data-3=(verdict(flow)) data-4=[bounds().max()] data-5=[limit] data-6=[margin] data-7=[part] data-8=[before] {
            @for (index, subscriber) in flow.subscribers.iter().enumerate() {
                tr class="delivery" {
                    @if index == 0 { (first(shown, ways, number, flow)) }
                    td class="to" { (subscriber.host) }
                    @if index == 0 { (judged(ways, number, flow)) }
                    (times(subscriber, before.filter(|_| flow.subscribers.len() == 1), flow.offered_latency_ps))
                    @if let Some(effects) = effects.filter(|_| index == 0) {
                        td class="n before" rowspan=(flow.subscribers.len()) { (was(flow, effects)) }
                    }
                }
            }
            tr class="more" { td colspan=(columns) { (more(shown, flow, id, effects, looks)) } }
        }
    }
}

fn verdict(flow: &FlowReport) -> &'static str {
    if flow.admitted { "admitted" } else { "refused" }
}

/// The verdict; that of a refused flow leads to its mark in the picture.
fn judged(ways: &Ways<'_>, number: usize, flow: &FlowReport) -> Markup {
    html! {
        td class=(if flow.admitted { "good" } else { "bad" }) rowspan=(flow.subscribers.len()) {
            @match ways.spots.get(&number) {
                Some(spot) => a class="bad" href=(format_args!("#{}", anchor_of(*spot))) title="show where in the picture" { (verdict(flow)) },
                None => (verdict(flow)),
            }
        }
    }
}

/// The name, which leads to the picture, and the publisher.
fn first(shown: Shown<'_>, ways: &Ways<'_>, number: usize, flow: &FlowReport) -> Markup {
    let drawn = ways.ways.binary_search_by_key(&number, |way| way.number).is_ok();
    let few = shown.report.flows.len() <= COLOURS;
    html! {
        td class="flow" rowspan=(flow.subscribers.len()) {
            @if few && flow.admitted { span class=(format_args!("swatch {}", colour(number, shown.report.flows.len()))) {} }
            @if drawn { a href=(format_args!("#f{number}")) title="show it in the picture" { (flow.name) } } @else { (flow.name) }
        }
        td class="from" rowspan=(flow.subscribers.len()) { (flow.publisher) }
    }
}

fn times(subscriber: &SubscriberReport, before: Option<u64>, offered: Option<u64>) -> Markup {
    let time = |time: Option<u64>| time.map_or("–".to_owned(), microseconds);
    let part = |bound: u64| parts(bound, subscriber.limit_ps);
    html! {
        td class="n bound" { (time(subscriber.bound_ps)) }
        td class="n limit" { (microseconds(subscriber.limit_ps)) }
        td class="n margin" { (time(subscriber.margin_ps)) }
        td class="bars" {
            @match (subscriber.bound_ps, offered) {
                (Some(bound), _) => { (percent(part(bound))) (bar(part(bound), before.map(part))) }
                (None, Some(offered)) => { "needs " (percent(part(offered))) (bar(part(offered), None)) }
                (None, None) => {}
            }
        }
    }
}

/// What the bound was before a change.
fn was(flow: &FlowReport, effects: &Effects<'_>) -> Markup {
    let name = flow.name.as_str();
    html! {
        @match (effects.added.get(name), effects.changed.get(name)) {
            (Some(_), _) => b { "new" },
            (None, Some(changed)) => {
                (microseconds(changed.before_ps))
                @if changed.after_ps > changed.before_ps { " ▲" } @else { " ▼" }
            }
            (None, None) => span class="soft" { @if flow.admitted { "the same" } @else { "–" } },
        }
    }
}

/// What there is to say below a flow.
fn more(
    shown: Shown<'_>,
    flow: &FlowReport,
    id: FlowId,
    effects: Option<&Effects<'_>>,
    looks: &mut usize,
) -> Markup {
    let moved = effects.and_then(|effects| effects.moved.get(flow.name.as_str()));
    let yielding =
        effects.and_then(|effects| effects.added.get(flow.name.as_str())).copied().and_then(Option::as_deref);
    html! {
        @if let Some(reason) = &flow.reason {
            p class="why" {
                (reason)
                @if let Some(offer) = flow.offer() { ". It would be admitted with " (offer) " us" }
                @if let Some(yielding) = yielding { ". In the place of " (yielding.join(", ")) " it would be admitted" }
                "."
            }
        }
        @if let Some(moved) = moved { p { "It has " (moved.join("; ")) "." } }
        @if flow.coarse { p class="soft" { "Admitted by coarser tests: exact ones would be too much work." } }
        details {
            summary { @if flow.admitted { "way and terms of the bound" } @else { "what the refusal rests on" } }
            @for member in &flow.members {
                @for subscriber in &member.subscribers {
                    p {
                        "of it " b { (member.name) } " to " (subscriber.host)
                        @if let Some(bound) = subscriber.bound_ps {
                            ": " (microseconds(bound)) " of " (microseconds(subscriber.limit_ps)) " us (" (percent(parts(bound, subscriber.limit_ps))) ")"
                        } @else { ": limit " (microseconds(subscriber.limit_ps)) " us" }
                    }
                }
            }
            @if let Some(enforcement) = &flow.enforcement { p { (enforced(enforcement)) } }
            @if flow.admitted { (explained(shown, flow, id, looks)) }
            @if !flow.assumptions.is_empty() { p class="soft" { "rests on " (flow.assumptions.join(", ")) } }
        }
    }
}

/// The terms of its bounds, or its hops alone where that would be too much.
fn explained(shown: Shown<'_>, flow: &FlowReport, id: FlowId, looks: &mut usize) -> Markup {
    let plan = shown.plan;
    let cost = |admitted: &latency::ledger::Admitted| -> usize {
        let hops =
            admitted.flow.subscribers.iter().flat_map(|subscriber| admitted.flow.way_to(subscriber.hop));
        hops.filter_map(|hop| Some(plan.ledger.entries(admitted.flow.tree.get(hop)?.port).len() + 1)).sum()
    };
    let cost = plan.ledger.flow(id).map_or(usize::MAX, cost);
    let fits = usize::try_from(id).is_ok_and(|id| id < EXPLAINED) && cost <= *looks;
    *looks = looks.saturating_sub(if fits { cost } else { 0 });
    let terms = if fits { explain(plan, shown.bounds, id, Detail::Named(NAMED)) } else { None };
    html! {
        @match &terms {
            Some(terms) => {
                @for delivery in terms {
                    p { "to " b { (delivery.host) } ", in microseconds:" }
                    table class="terms" {
                        @for term in &delivery.terms {
                            tr class=[term.time.is_none().then_some("note")] {
                                td class=(format_args!("d{}", term.depth)) colspan=[term.time.is_none().then_some("2")] { (term.what) }
                                @if let Some(time) = &term.time { td class="n" { (time) } }
                            }
                        }
                    }
                }
            }
            None => {
                ul {
                    @for hop in &flow.hops {
                        li { (hop.port) ", level " (hop.level) ": delay " (hop.bound_ps.map_or("none".to_owned(), microseconds)) " of " (microseconds(hop.share_ps)) " us promised" }
                    }
                }
                p class="soft" { "Terms: punctual plan NETWORK --explain " (flow.name) }
            }
        }
    }
}
