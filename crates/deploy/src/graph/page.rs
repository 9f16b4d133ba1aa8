//! The page of plans: a summary, the picture, and tables of chains, connections, components and what is missing.
use assembly::{Layout, Link, NodeKind, Plan};
use diagnostics::written;
use maud::{Markup, html};
use pages::Mood;
use schedulability::{ConnectionVerdict, State};

use super::picture::Drawing;
use super::scene::{Chain, Node, Scene, called, said};
use super::text::clean;
use crate::admit::{self, SHOWN, share, time};
use crate::files::Loaded;

/// Hundredths of its size to which a picture is made smaller at most before it scrolls.
const SMALLEST: i64 = 85;

pub(super) fn page(loaded: &[Loaded], scene: &Scene<'_>, drawing: &Drawing<'_>) -> String {
    let content = html! {
        h1 { (scene.title) }
        (summary(scene))
        (picture(drawing))
        (chains(scene))
        (missing(loaded, scene))
        (connections(loaded, scene))
        (components(loaded, scene))
    };
    pages::document(&scene.title, content)
}

fn summary(scene: &Scene<'_>) -> Markup {
    let is =
        |of: fn(&State) -> bool| scene.chains.iter().filter(move |chain| of(&chain.verdict.state)).count();
    let admitted = is(|state| *state == State::Admitted);
    let refused = is(|state| matches!(state, State::Refused { .. }));
    let all = scene.chains.len();
    let (mood, sentence) = match (all, refused) {
        (0, _) => (Mood::Odd, "There are no chains: nothing is proved of times.".to_owned()),
        _ if admitted == all => (Mood::Good, format!("All chains are proved to keep their limits: {all}.")),
        _ => {
            let mood = if refused > 0 { Mood::Bad } else { Mood::Odd };
            let unproved = all - admitted - refused;
            (mood, format!("Chains: {admitted} proved, {refused} refused, {unproved} without a bound."))
        }
    };
    let of_chains = scene
        .chains
        .iter()
        .filter(|chain| chain.verdict.state != State::Admitted)
        .map(|chain| clean(&format!("{}: {}", chain.name, admit::state(chain.verdict))));
    let limited: Vec<&ConnectionVerdict> = scene.connections.iter().filter(|it| it.is_limited()).collect();
    let unproved: Vec<&&ConnectionVerdict> =
        limited.iter().filter(|it| it.state != State::Admitted).collect();
    let of_connections = unproved.iter().map(|it| {
        clean(&format!(
            "connection {} to {}: {}",
            it.name,
            it.to,
            admit::in_words(&it.state, it.is_conditional, it.situation.as_ref())
        ))
    });
    let lines: Vec<String> = of_chains.chain(of_connections).collect();
    let sentence = if all == 0 && !limited.is_empty() { "There are no chains.".to_owned() } else { sentence };
    let mood = if all == 0 && !limited.is_empty() { Mood::Good } else { mood };
    let (mood, sentence) = match (limited.len(), unproved.len()) {
        (0, _) => (mood, sentence),
        (all, 0) => (mood, format!("{sentence} All connections with a limit are proved to keep it: {all}.")),
        (all, unproved) => (
            Mood::Bad,
            format!("{sentence} Connections: {unproved} of {all} with a limit are not proved to keep it."),
        ),
    };
    pages::verdict(mood, &sentence, &lines)
}

fn picture(drawing: &Drawing<'_>) -> Markup {
    let (width, height) = (drawing.width(), drawing.height());
    html! {
        div class="scroll" {
            svg viewBox=(format_args!("0 0 {width} {height}")) style=(format_args!("max-width:{width}px;min-width:{}px", width * SMALLEST / 100))
                role="img" aria-label=(drawing.alternative()) {
                (drawing.content())
            }
        }
        p class="soft" {
            "Components are boxes in containers, processes and hosts. Data goes from the left to the right; ports where it comes in are on the left of a box. "
            "A coloured line is a chain, with its number where it ends: press its name in the table to see it alone."
        }
    }
}

/// A table with a title and something to search for.
fn table(title: &str, search: &str, heads: &[(&str, bool, &str)], rows: &Markup) -> Markup {
    html! {
        h2 { (title) }
        div class="scroll" {
            table class="sorted" data-search=(search) aria-label=(title) {
                (pages::heads(heads))
                (rows)
            }
        }
    }
}

fn chains(scene: &Scene<'_>) -> Markup {
    let heads = [
        ("#", true, "n"),
        ("chain", false, ""),
        ("verdict", false, ""),
        ("reaction", true, ""),
        ("age", true, ""),
        ("path", false, ""),
    ];
    let rows = html! {
        @for (number, chain) in (1..).zip(&scene.chains) { (self::chain(number, chain)) }
    };
    html! {
        @if !scene.chains.is_empty() { (table("Chains", "search chains", &heads, &rows)) }
    }
}

fn chain(number: usize, chain: &Chain<'_>) -> Markup {
    let verdict = chain.verdict;
    let class = match verdict.state {
        State::Admitted => "good",
        State::Refused { .. } => "bad",
        State::NoBound { .. } => "odd",
    };
    let times = |(limit, bound): (Option<u64>, Option<u64>)| {
        html! {
            @match (limit, bound) {
                (Some(limit), Some(bound)) => { "at most " (time(bound)) ", limit " (time(limit)) },
                (Some(limit), None) => { "no bound, limit " (time(limit)) },
                (None, Some(bound)) => { "at most " (time(bound)) },
                (None, None) => {},
            }
        }
    };
    html! {
        tbody data-0=(number) data-1=(chain.name) data-2=(class) data-3=[verdict.reaction.1] data-4=[verdict.age.1] data-5=(clean(&chain.path)) {
            tr {
                td class="n" { (number) }
                td { a href=(format_args!("#chain-{number}")) { (chain.name) } }
                td {
                    b class=(class) { (clean(&admit::state(verdict))) }
                    @if let State::NoBound { remedy, .. } = &verdict.state { @if !remedy.is_empty() { div { (clean(remedy)) } } }
                    @for only in &verdict.only { div { (clean(only)) } }
                    @if matches!(verdict.state, State::Refused { .. }) {
                        @for part in verdict.shares.iter().take(SHOWN) { div class="soft" { (share(part)) } }
                    }
                }
                td { (times(verdict.reaction)) }
                td { (times(verdict.age)) }
                td { (clean(&chain.path)) }
            }
        }
    }
}

/// The name of something of a plan, with that of the plan if there are several.
fn full(loaded: &[Loaded], plan: usize, name: &str) -> String {
    let of_plan = loaded.get(plan).filter(|_| loaded.len() > 1);
    of_plan.map_or_else(|| name.to_owned(), |of_plan| format!("{}: {name}", called(of_plan)))
}

fn missing(loaded: &[Loaded], scene: &Scene<'_>) -> Markup {
    let heads = [
        ("#", true, "n"),
        ("where", false, ""),
        ("what is missing for bounds", false, ""),
        ("what to write", false, ""),
    ];
    let rows = html! {
        @for (number, obstacle) in (1..).zip(&scene.missing) {
            @let place = full(loaded, obstacle.plan, &obstacle.path);
            tbody data-0=(number) data-1=(place) data-2=(clean(&obstacle.what)) data-3=(clean(&obstacle.remedy)) {
                tr {
                    td class="n" { "?" (number) }
                    td { (place) }
                    td { (clean(&obstacle.what)) }
                    td { (clean(&obstacle.remedy)) }
                }
            }
        }
    };
    html! {
        @if !scene.missing.is_empty() { (table("Missing for bounds", "search what is missing", &heads, &rows)) }
    }
}

fn connections(loaded: &[Loaded], scene: &Scene<'_>) -> Markup {
    let heads = [
        ("connection", false, ""),
        ("from", false, ""),
        ("to", false, ""),
        ("carried by", false, ""),
        ("transfer", true, ""),
        ("latency asked for", true, "n"),
        ("latency proved", true, "n"),
        ("filter", false, ""),
    ];
    let rows = html! {
        @for (plan, of_plan) in loaded.iter().enumerate() {
            @for link in of_plan.plan.layout().links() {
                @let verdict = scene.connections.iter().find(|it| it.plan == plan && it.name == link.name && it.to == link.to.to_string());
                (connection(&full(loaded, plan, link.name), &link, verdict))
            }
        }
    };
    table("Connections", "search connections", &heads, &rows)
}

fn connection(name: &str, link: &Link<'_>, verdict: Option<&ConnectionVerdict>) -> Markup {
    let Link { connection, .. } = link;
    let carrier = link
        .service
        .map_or_else(|| link.kind.to_string(), |service| format!("{}, service {service}", link.kind));
    let filter = connection.filter.as_deref().map(clean);
    let proved = verdict.and_then(|verdict| verdict.latency.1);
    let refused = verdict.filter(|verdict| verdict.is_limited() && verdict.state != State::Admitted);
    html! {
        tbody data-0=(name) data-1=(link.from) data-2=(link.to) data-3=(carrier) data-4=[connection.transfer.map(|it| it.most)] data-5=[connection.latency] data-6=[proved] data-7=[filter.as_deref()] {
            tr {
                td { (name) }
                td { (link.from) }
                td { (link.to) }
                td {
                    (carrier)
                    div class="soft" { (link.reason.words()) }
                }
                td { (connection.transfer.map(said).unwrap_or_default()) }
                td class="n" { (connection.latency.map(written).unwrap_or_default()) }
                td class="n" {
                    (proved.map(time).unwrap_or_default())
                    @if let Some(refused) = refused { div class="soft" { (clean(&admit::in_words(&refused.state, refused.is_conditional, refused.situation.as_ref()))) } }
                }
                td { (filter.as_deref().unwrap_or_default()) }
            }
        }
    }
}

fn components(loaded: &[Loaded], scene: &Scene<'_>) -> Markup {
    let heads = [
        ("component", false, ""),
        ("type", false, ""),
        ("host", false, ""),
        ("process", false, ""),
        ("container", false, ""),
        ("settings", false, ""),
        ("ports, and what is proved of their handlers", false, ""),
    ];
    let layouts: Vec<Layout<'_>> = loaded.iter().map(|loaded| loaded.plan.layout()).collect();
    let rows = html! {
        @for node in &scene.nodes {
            @if let (NodeKind::Component, Some(of_plan), Some(layout)) = (node.kind, loaded.get(node.plan), layouts.get(node.plan)) {
                (component(&full(loaded, node.plan, &node.name), &of_plan.plan, layout, node))
            }
        }
    };
    table("Components", "search components", &heads, &rows)
}

fn component(name: &str, plan: &Plan, layout: &Layout<'_>, node: &Node) -> Markup {
    let place = layout.place_of(&node.name);
    let [host, process, container] =
        [place.and_then(|it| it.host), place.map(|it| it.process), place.and_then(|it| it.container)]
            .map(Option::unwrap_or_default);
    let settings = plan.components.get(&node.name).map(|component| &component.settings);
    html! {
        tbody data-0=(name) data-1=(node.about) data-2=(host) data-3=(process) data-4=(container) {
            tr {
                td { (name) }
                td { (node.about) }
                td { (host) }
                td { (process) }
                td { (container) }
                td { @for (name, value) in settings.into_iter().flatten() { div { (name) " = " (clean(&value.toml())) } } }
                td {
                    @for port in node.left.iter().chain(&node.right) { div { (port.about) } }
                    @if node.more > 0 { div { "and " (node.more) " ports more" } }
                }
            }
        }
    }
}
