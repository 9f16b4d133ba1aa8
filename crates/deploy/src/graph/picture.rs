//! The picture of plans: boxes, connections, chains, and below them what is proved of each chain and what is missing.
use std::fmt::Write as _;

use assembly::{Area, Arranged, GRID, NodeKind, PortKind};
use maud::{Markup, PreEscaped, html};
use schedulability::State;

use super::scene::{Block, BlockKind, Chain, Node, Port, Scene, Wire};
use super::sizes::{
    HEAD, INSIDE, LINE, TEXT, WIDEST_HEADING, heading, marks, outline, port_label, rows, wire_label,
};
use super::text::{clean, fit, lines, width};
use crate::admit;

const STYLE: &str = include_str!("picture.css");

/// Pixels by which chains of one wire are beside it.
const BESIDE: [i64; 3] = [0, 4, -4];
/// The least width of a picture, for the texts below it; and the most of a line of text there.
const NARROWEST: i64 = 600;
const WIDEST_TEXT: i64 = 1_000;
/// Pixels between corners of a line and where it begins to turn.
const CORNER: i64 = 6;
/// Pixels on both sides of a short vertical segment that bend.
const BEND: i64 = 8;
/// Chains have so many colours.
const COLOURS: usize = 8;

/// A scene with places.
pub(super) struct Drawing<'d> {
    scene: &'d Scene<'d>,
    places: Arranged,
    /// For each chain by how many pixels it is beside the wires that it passes.
    beside: Vec<i64>,
    told: Told,
    width: i64,
}

/// The texts below the boxes.
#[derive(Default)]
struct Told {
    /// Where each line begins, its class, and what it says.
    lines: Vec<((i64, i64), &'static str, String)>,
    /// Where the number of each chain is.
    badges: Vec<(i64, i64)>,
    /// Where all of it ends.
    bottom: i64,
}

impl<'d> Drawing<'d> {
    pub(super) fn of(scene: &'d Scene<'d>) -> Self {
        let places = outline(scene).arrange();
        let width = places.width.max(NARROWEST);
        let told = Told::of(scene, places.height + 2 * LINE, (width - 60).min(WIDEST_TEXT));
        Self { scene, places, beside: beside(scene), told, width }
    }

    pub(super) fn width(&self) -> i64 {
        self.width
    }

    /// With what is told below the boxes.
    pub(super) fn height(&self) -> i64 {
        self.told.bottom + LINE
    }

    /// The alternative text, for readers that do not see the picture.
    pub(super) fn alternative(&self) -> String {
        let Scene { title, nodes, chains, .. } = self.scene;
        let components = nodes.iter().filter(|node| node.kind == NodeKind::Component).count();
        let mut label = format!("Deployment of {title}: {components} components");
        for chain in chains {
            let _ = write!(label, "; chain {}: {}", chain.name, admit::state(chain.verdict));
        }
        clean(&label)
    }

    /// A file of its own.
    pub(super) fn file(&self) -> String {
        pages::picture(self.width as f64, self.height() as f64, &self.alternative(), "", &self.content())
    }

    /// The content of the picture, with its style.
    pub(super) fn content(&self) -> Markup {
        html! {
            desc { (self.alternative()) }
            style { (PreEscaped(STYLE)) }
            g class="dg" {
                @for (block, area) in self.scene.blocks.iter().zip(&self.places.groups) { (self::block(block, *area)) }
                @for (wire, points) in self.scene.wires.iter().zip(&self.places.edges) { (line(wire, points)) }
                @for (node, area) in self.scene.nodes.iter().zip(&self.places.nodes) { (frame(node, *area)) }
                @for number in (0..self.scene.chains.len()).rev() { (self.chain(number)) }
                @for (node, area) in self.scene.nodes.iter().zip(&self.places.nodes) { (texts(node, *area)) }
                @for (index, wire) in self.scene.wires.iter().enumerate() { (self.label(index, wire)) }
                (self.badges())
                (self.legend())
            }
        }
    }

    /// The texts of a wire beside its end.
    fn label(&self, index: usize, wire: &Wire) -> Markup {
        let end = self.places.edges.get(index).and_then(|points| points.last());
        let (Some((_, y)), Some(x)) = (end, self.places.labels.get(index)) else {
            return PreEscaped(String::new());
        };
        let (above, below, marks) = wire_label(wire);
        html! {
            text class="label small" x=(x) y=(y - 3) {
                (above)
                @if !marks.is_empty() { tspan class="odd" { (marks) } }
            }
            text class="label small" x=(x) y=(y + 10) { (below) }
        }
    }

    /// The way of a chain: along wires, and through the boxes between them.
    fn chain(&self, number: usize) -> Markup {
        let Some(chain) = self.scene.chains.get(number) else { return PreEscaped(String::new()) };
        let aside = self.beside.get(number).copied().unwrap_or(0);
        let (mut along, mut inside) = (String::new(), String::new());
        let mut at = chain.steps.begin.and_then(|port| self.inner(port, None, false));
        let mut pass = |from: Option<(i64, i64)>, to: Option<(i64, i64)>| {
            if let (Some(from), Some(to)) = (from, to) {
                let _ = write!(inside, "M{} {}L{} {}", from.0, from.1 + aside, to.0, to.1 + aside);
            }
        };
        for index in &chain.steps.wires {
            let passed =
                index.and_then(|index| Some((self.scene.wires.get(index)?, self.places.edges.get(index)?)));
            let Some((wire, points)) = passed else {
                at = None;
                continue;
            };
            pass(at, self.inner(wire.from, points.first(), true));
            let beside: Vec<(i64, i64)> = points.iter().map(|(x, y)| (x + aside, y + aside)).collect();
            along += &rounded(&beside);
            at = self.inner(wire.to, points.last(), false);
        }
        pass(at, chain.steps.end.and_then(|port| self.inner(port, None, true)));
        html! {
            g id=(format_args!("chain-{}", number + 1)) class=(format_args!("chain c{}", number % COLOURS)) {
                title { (number + 1) ": " (chain.name) ": " (clean(&chain.path)) ": " (clean(&admit::state(chain.verdict))) }
                @if !along.is_empty() { path d=(along) {} }
                @if !inside.is_empty() { path class="inside" d=(inside) {} }
            }
        }
    }

    /// Where a chain goes on in the box of a port, behind the name of the port: at the height of a wire's end, or else of the port.
    fn inner(
        &self,
        (node, port): (usize, usize),
        wire: Option<&(i64, i64)>,
        is_right: bool,
    ) -> Option<(i64, i64)> {
        let (of_node, area) = (self.scene.nodes.get(node)?, self.places.nodes.get(node)?);
        let ports = if is_right { &of_node.right } else { &of_node.left };
        let row = area.y + rows(ports).get(port)? + if is_right { GRID / 2 } else { 0 };
        let y = wire.map_or(row, |(_, y)| *y);
        // The name is at the height of the first wire.
        let name = width(&port_label(ports.get(port)?), TEXT);
        let behind = if y == row && name > 0 { INSIDE + name + INSIDE / 2 } else { 0 };
        Some((if is_right { area.x + area.width - behind } else { area.x + behind }, y))
    }

    /// The numbers of chains where they end.
    fn badges(&self) -> Markup {
        let mut taken = vec![0; self.scene.nodes.len()];
        let mut badges = Vec::new();
        for (number, chain) in self.scene.chains.iter().enumerate() {
            let Some(node) = chain.steps.last else { continue };
            if let (Some(area), Some(taken)) = (self.places.nodes.get(node), taken.get_mut(node)) {
                badges.push((number, area.x + area.width - 4 - 17 * *taken, area.y));
                *taken += 1;
            }
        }
        html! { @for (number, x, y) in badges { (badge(number, x, y)) } }
    }

    fn legend(&self) -> Markup {
        let kinds = [
            ("direct", "direct"),
            ("channel", "channel"),
            ("dds", "DDS"),
            ("federated", "federated"),
            ("call", "call"),
        ];
        let y = self.places.height + LINE;
        html! {
            @for (index, (class, name)) in (0_i64..).zip(kinds) {
                @let x = 16 + index * 112;
                path class=(format_args!("wire {class}")) d=(format_args!("M{x} {}h34", y - 4)) {}
                (tip(class, x + 38, y - 4))
                text x=(x + 44) y=(y) { (name) }
            }
            @for (number, (x, y)) in self.told.badges.iter().enumerate() { (badge(number, *x, *y)) }
            @for ((x, y), class, line) in &self.told.lines { text class=(class) x=(x) y=(y) { (line) } }
        }
    }
}

impl Told {
    /// From so many pixels below the top on, in lines of at most so many pixels.
    fn of(scene: &Scene<'_>, top: i64, room: i64) -> Self {
        let mut told = Self { bottom: top, ..Self::default() };
        for chain in &scene.chains {
            told.bottom += LINE / 2;
            told.badges.push((24, told.bottom + LINE - 4));
            for (class, text) in verdict(chain) {
                told.add(40, class, &text, room);
            }
        }
        if scene.chains.is_empty() {
            told.add(16, "", "No chains: add [chain.NAME] with a path, and reaction or age.", room);
        }
        if !scene.missing.is_empty() {
            told.bottom += LINE / 2;
            told.add(16, "odd strong", "Missing for bounds:", room);
        }
        for (number, obstacle) in (1..).zip(&scene.missing) {
            told.add(16, "", &format!("?{number} {obstacle}"), room);
        }
        told
    }

    fn add(&mut self, x: i64, class: &'static str, text: &str, room: i64) {
        for line in lines(&clean(text), TEXT, room) {
            self.bottom += LINE;
            self.lines.push(((x, self.bottom), class, line));
        }
    }
}

/// The text of a chain: its verdict, its bounds, and advice where there are none.
fn verdict(chain: &Chain<'_>) -> Vec<(&'static str, String)> {
    let class = match chain.verdict.state {
        State::Admitted => "good strong",
        State::Refused { .. } => "bad strong",
        State::NoBound { .. } => "odd strong",
    };
    let mut told = vec![(class, format!("{}: {}", chain.name, admit::state(chain.verdict)))];
    told.push(("", chain.path.clone()));
    told.extend(admit::limits(chain.verdict).into_iter().map(|line| ("", line)));
    if let State::NoBound { remedy, .. } = &chain.verdict.state
        && !remedy.is_empty()
    {
        told.push(("", remedy.clone()));
    }
    told.extend(chain.verdict.only.iter().map(|only| ("", only.clone())));
    told
}

/// For each chain by how many pixels it is beside its wires: none, unless an earlier chain passes one of them.
fn beside(scene: &Scene<'_>) -> Vec<i64> {
    let mut taken = vec![[false; BESIDE.len()]; scene.wires.len()];
    let chains = scene.chains.iter().map(|chain| {
        let wires = || chain.steps.wires.iter().flatten();
        let is_free = |place: &usize| wires().all(|wire| taken.get(*wire).is_none_or(|taken| !taken[*place]));
        // With more chains than places the last one is shared.
        let place = (0..BESIDE.len()).find(is_free).unwrap_or(BESIDE.len() - 1);
        for wire in wires() {
            if let Some(taken) = taken.get_mut(*wire) {
                taken[place] = true;
            }
        }
        BESIDE[place]
    });
    chains.collect()
}

fn block(block: &Block, area: Area) -> Markup {
    let class = match block.kind {
        BlockKind::Host => "host",
        BlockKind::Process => "process",
        BlockKind::Container => "container",
    };
    html! {
        rect class=(class) x=(area.x) y=(area.y) width=(area.width) height=(area.height) rx="6" {
            title { @for (index, line) in block.lines.iter().enumerate() { @if index > 0 { "\n" } (line) } }
        }
        @for (index, line) in (0_i64..).zip(&block.lines) {
            text class=(if index == 0 { "head" } else { "lane" }) x=(area.x + INSIDE) y=(area.y + LINE + 3 + index * LINE) {
                (fit(line, HEAD, WIDEST_HEADING))
                @if index == 0 && !block.lacks.is_empty() { tspan class="odd" { (marks(&block.lacks)) } }
            }
        }
    }
}

/// A path along points with round corners. Where a vertical segment is too short for two corners, it is a bend.
fn rounded(points: &[(i64, i64)]) -> String {
    let mut path = String::new();
    let Some((first, rest)) = points.split_first() else { return path };
    let _ = write!(path, "M{} {}", first.0, first.1);
    let mut before = *first;
    let mut rest = rest.iter().peekable();
    while let Some(at) = rest.next() {
        let Some(next) = rest.peek().copied() else {
            let _ = write!(path, "L{} {}", at.0, at.1);
            break;
        };
        if at.0 == next.0 && (at.1 - next.1).abs() <= GRID {
            let side = (at.0 - before.0).signum() * BEND;
            let (enter, leave) = (at.0 - side, at.0 + side);
            let _ =
                write!(path, "L{enter} {y}C{x} {y} {x} {to} {leave} {to}", x = at.0, y = at.1, to = next.1);
            before = *next;
            rest.next();
            continue;
        }
        let towards = |from: (i64, i64)| {
            let (dx, dy) = (from.0 - at.0, from.1 - at.1);
            let reach = CORNER.min((dx.abs() + dy.abs()) / 2);
            (at.0 + dx.signum() * reach, at.1 + dy.signum() * reach)
        };
        let (enter, leave) = (towards(before), towards(*next));
        let _ = write!(path, "L{} {}Q{} {} {} {}", enter.0, enter.1, at.0, at.1, leave.0, leave.1);
        before = *at;
    }
    path
}

fn class(wire: &Wire) -> &'static str {
    if wire.is_call { "call" } else { wire.kind.name() }
}

/// The head of an arrow whose point is there; of a call a circle.
fn tip(class: &str, x: i64, y: i64) -> Markup {
    html! {
        @if class == "call" {
            circle class="tip call" cx=(x - 4) cy=(y) r="4" {}
        } @else {
            path class=(format_args!("tip {class}")) d=(format_args!("M{x} {y}l-8 -4v8z")) {}
        }
    }
}

fn line(wire: &Wire, points: &[(i64, i64)]) -> Markup {
    let Some(last) = points.last() else { return PreEscaped(String::new()) };
    html! {
        path class=(format_args!("wire {}", class(wire))) d=(rounded(points)) { title { (wire.about) } }
        (tip(class(wire), last.0, last.1))
    }
}

/// The box of a node.
fn frame(node: &Node, area: Area) -> Markup {
    let (class, round) = match node.kind {
        NodeKind::Component => ("box", 3),
        NodeKind::Service(_) => ("box service", 14),
        NodeKind::Topic => ("box topic", 24),
    };
    html! {
        rect class=(class) x=(area.x) y=(area.y) width=(area.width) height=(area.height) rx=(round) {
            title { (node.name) ": " (node.about) }
        }
    }
}

fn texts(node: &Node, area: Area) -> Markup {
    let (name, about, marks) = heading(node);
    html! {
        text class="head" x=(area.x + INSIDE) y=(area.y + LINE) {
            (name)
            @if !marks.is_empty() { tspan class="odd" { (marks) } }
        }
        text x=(area.x + INSIDE) y=(area.y + 2 * LINE - 1) { (about) }
        @for (ports, is_right) in [(&node.left, false), (&node.right, true)] {
            @for (port, row) in ports.iter().zip(rows(ports)) {
                @if !port.name.is_empty() { (self::port(port, area, row, is_right)) }
            }
        }
        @if node.more > 0 {
            text class="small" x=(area.x + INSIDE) y=(area.y + area.height - 5) { "and " (node.more) " ports more" }
        }
    }
}

fn port(port: &Port, area: Area, row: i64, is_right: bool) -> Markup {
    let y = area.y + row + if is_right { GRID / 2 } else { 0 };
    let x = if is_right { area.x + area.width } else { area.x };
    let text = if is_right { x - INSIDE } else { x + INSIDE };
    html! {
        g {
            title { (port.about) }
            @if port.kind.is_some_and(PortKind::is_call) {
                circle class="port" cx=(x) cy=(y) r="3" {}
            } @else {
                path class="port" d=(format_args!("M{} {}h6v6h-6z", x - 3, y - 3)) {}
            }
            text class=(if port.is_timeless { "odd" } else { "ink" }) x=(text) y=(y + 4) text-anchor=[is_right.then_some("end")] { (port_label(port)) }
        }
    }
}

fn badge(number: usize, x: i64, y: i64) -> Markup {
    html! {
        g class=(format_args!("badge c{}", number % COLOURS)) {
            circle cx=(x) cy=(y) r="8" {}
            text x=(x) y=(y + 4) text-anchor="middle" { (number + 1) }
        }
    }
}
