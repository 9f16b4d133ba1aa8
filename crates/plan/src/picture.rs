//! The network as a picture: its links with their loads, the flows along their ways, and where others are refused.
use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use crate::planning::Plan;
use crate::report::Report;
use crate::text::{counted, percent};
use crate::ways::{Spot, Way, Ways};
use pages::layout::{Place, places};

/// About how wide a letter of a name is, and the most letters of a name that are shown.
const LETTER: f64 = 7.4;
const LETTERS: usize = 22;
/// Up to so many flows each have a colour of their own.
pub(crate) const COLOURS: usize = 8;
/// From the middle of a link to the first flow on it, from one to the next, and the room for all of one direction.
const FIRST: f64 = 4.0;
const NEXT: f64 = 4.0;
const ROOM: f64 = 15.0;
/// A link with more load than this, in parts of a million, is marked.
const HIGH: u64 = 750_000;
/// In larger networks the figures of hosts are left out, and names are larger.
const LARGE: usize = 40;
/// The most pixels that a picture needs before it scrolls, and how many times as large a small one is drawn.
const FITTING: f64 = 1_000.0;
const LARGER: f64 = 1.7;
/// Names that a title lists.
const NAMES: usize = 12;

/// The class of a flow's colour.
pub(crate) fn colour(number: usize, flows: usize) -> &'static str {
    const CLASSES: [&str; COLOURS] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
    let own = (flows <= COLOURS).then(|| CLASSES.get(number)).flatten();
    own.copied().unwrap_or("c0")
}

/// What the picture is made from.
struct Scene<'s> {
    plan: &'s Plan<'s>,
    places: Vec<Place>,
    loads: Vec<u64>,
}

/// Draws the network.
pub(crate) fn drawing(plan: &Plan<'_>, report: &Report, ways: &Ways<'_>) -> Markup {
    let network = plan.network;
    let is_switch: Vec<bool> = (0..network.nodes()).map(|node| network.switch_of(node).is_some()).collect();
    let mut loads = vec![0; plan.network.ports().len()];
    for port in &report.ports {
        if let Some(load) = loads.get_mut(port.index) {
            *load = port.load_ppm;
        }
    }
    let scene = Scene { plan, places: places(&is_switch, network.links()), loads };
    let (left, top, width, height) = scene.frame();
    let few = report.flows.len() <= COLOURS;
    let large = scene.is_large();
    let most = (width * LARGER).min(FITTING).max(width);
    html! {
        div class="scroll" {
            svg class=(format_args!("net{}{}", if few { " few" } else { "" }, if large { " large" } else { "" })) viewBox=(format_args!("{left:.0} {top:.0} {width:.0} {height:.0}"))
                style=(format_args!("max-width:{most:.0}px;min-width:{:.0}px", (width * 0.7).min(FITTING)))
                role="img" aria-label="The network, its flows, and where flows are refused" {
                (scene.links())
                (scene.ways(ways, report.flows.len()))
                @for (index, place) in scene.places.iter().enumerate() { (scene.node(index, *place)) }
                (scene.loads())
                @for (spot, flows) in &ways.refused { (scene.refused(*spot, flows.iter().map(|flow| (flow.name.as_str(), flow.reason.as_deref().unwrap_or_default())))) }
            }
        }
        p class="soft" {
            "Squares are switches, circles are hosts. A coloured line is the way of an admitted flow, on the right of the link in its direction"
            "; press the name of a flow in the table to see it alone."
            @if !ways.refused.is_empty() {
                " " span class="bad" { "✕" } " marks the port where flows are refused, and a dashed red line the first way that was tried for such a flow"
                @if !few { ", once its name is pressed" }
                "."
            }
            " Percentages are the part of a link's time that admitted flows may take, red from " (HIGH / 10_000) " % on"
            @if !large { "; at a host ↑ is what it sends, ↓ what it gets" }
            "."
        }
    }
}

/// The address of a mark of refusals in the page.
pub(crate) fn anchor_of(spot: Spot) -> String {
    match spot {
        Spot::Port(port) => format!("p{port}"),
        Spot::Node(node) => format!("n{node}"),
    }
}

/// A name that is not longer than the picture has room for.
fn short(name: &str) -> String {
    if name.chars().count() <= LETTERS {
        return name.to_owned();
    }
    name.chars().take(LETTERS - 1).chain(['…']).collect()
}

/// On which side of its place a name begins.
fn anchor(place: Place) -> &'static str {
    match place.away {
        Some((x, _)) if x > 0.6 => "start",
        Some((x, _)) if x < -0.6 => "end",
        _ => "middle",
    }
}

/// A directed link in the picture: its ends, and the direction to its right.
#[derive(Clone, Copy)]
struct Line {
    from: (f64, f64),
    to: (f64, f64),
    right: (f64, f64),
    length: f64,
}

impl Line {
    /// The point that is so far along it and so far to its right.
    fn at(&self, along: f64, aside: f64) -> (f64, f64) {
        let part = along / self.length;
        let (dx, dy) = (self.to.0 - self.from.0, self.to.1 - self.from.1);
        (self.from.0 + dx * part + self.right.0 * aside, self.from.1 + dy * part + self.right.1 * aside)
    }
}

impl Scene<'_> {
    fn is_large(&self) -> bool {
        self.places.len() > LARGE
    }

    fn line(&self, port: usize) -> Option<Line> {
        let (from, to) = self.plan.network.links().get(port)?;
        let (a, b) = (self.places.get(*from)?, self.places.get(*to)?);
        let (dx, dy) = (b.x - a.x, b.y - a.y);
        let length = dx.hypot(dy).max(1.0);
        Some(Line { from: (a.x, a.y), to: (b.x, b.y), right: (-dy / length, dx / length), length })
    }

    /// Left, top, width and height of what is drawn, names included.
    fn frame(&self) -> (f64, f64, f64, f64) {
        let (mut left, mut top, mut right, mut bottom) = (-100.0_f64, -60.0_f64, 100.0_f64, 60.0_f64);
        for (node, place) in self.places.iter().enumerate() {
            let name = self.plan.network.node_name(node).unwrap_or_default();
            let letters = name.chars().count().clamp(16, LETTERS + 2) as f64 * LETTER;
            let (before, after) = match anchor(*place) {
                "start" => (20.0, letters + 20.0),
                "end" => (letters + 20.0, 20.0),
                _ => (letters / 2.0, letters / 2.0),
            };
            left = left.min(place.x - before);
            right = right.max(place.x + after);
            top = top.min(place.y - 50.0);
            bottom = bottom.max(place.y + 50.0);
        }
        (left, top, right - left, bottom - top)
    }

    fn links(&self) -> Markup {
        // Each link once: the direction from the node with the lesser number, or the only one.
        let mut path = String::new();
        for (port, (from, to)) in self.plan.network.links().iter().enumerate() {
            if let Some(line) = self.line(port).filter(|_| from < to) {
                let _ =
                    write!(path, "M{:.1} {:.1}L{:.1} {:.1}", line.from.0, line.from.1, line.to.0, line.to.1);
            }
        }
        html! { path class="link" d=(path) {} }
    }

    fn ways(&self, ways: &Ways<'_>, flows: usize) -> Markup {
        let mut counts = vec![0_u32; self.plan.network.ports().len()];
        for port in ways.ways.iter().flat_map(|way| &way.ports) {
            if let Some(count) = counts.get_mut(*port) {
                *count += 1;
            }
        }
        let mut taken = vec![0_u32; counts.len()];
        html! {
            @for way in &ways.ways {
                path id=(format_args!("f{}", way.number)) class=(format_args!("way {}", if way.flow.admitted { colour(way.number, flows) } else { "refused" }))
                    d=(self.way(way, &counts, &mut taken)) {
                    title { (way.flow.name) @if !way.flow.admitted { " (refused)" } }
                }
            }
        }
    }

    /// The path of a flow: a line beside each link, and the head of an arrow where it ends.
    fn way(&self, way: &Way<'_>, counts: &[u32], taken: &mut [u32]) -> String {
        let mut path = String::new();
        let mut last: Option<usize> = None;
        for (at, port) in way.ports.iter().enumerate() {
            let (Some(line), Some((from, to)), Some(count), Some(lane)) = (
                self.line(*port),
                self.plan.network.links().get(*port),
                counts.get(*port),
                taken.get_mut(*port),
            ) else {
                continue;
            };
            let next = NEXT.min(ROOM / f64::from((*count).max(1)));
            let aside = FIRST + f64::from(*lane) * next;
            *lane += 1;
            let ((ax, ay), (bx, by)) = (line.at(0.0, aside), line.at(line.length, aside));
            let _ = write!(
                path,
                "{}{ax:.1} {ay:.1}L{bx:.1} {by:.1}",
                if last == Some(*from) { 'L' } else { 'M' }
            );
            last = Some(*to);
            let goes_on = way
                .ports
                .get(at + 1..)
                .unwrap_or_default()
                .iter()
                .any(|next| self.plan.network.links().get(*next).is_some_and(|(from, _)| from == to));
            if !goes_on {
                // Before the circle of the host.
                let ((tx, ty), (lx, ly), (rx, ry)) = (
                    line.at(line.length - 10.0, aside),
                    line.at(line.length - 18.0, aside - 4.0),
                    line.at(line.length - 18.0, aside + 4.0),
                );
                let _ = write!(path, "M{lx:.1} {ly:.1}L{tx:.1} {ty:.1}L{rx:.1} {ry:.1}");
                last = None;
            }
        }
        path
    }

    /// Figures of the links between switches; those of hosts are at the hosts.
    fn loads(&self) -> Markup {
        html! {
            @for (port, (from, to)) in self.plan.network.links().iter().enumerate() {
                @let inner = [from, to].iter().all(|node| self.places.get(**node).is_some_and(|place| place.away.is_none()));
                @let load = self.loads.get(port).copied().unwrap_or(0);
                @if let Some(line) = self.line(port).filter(|line| inner && load > 0 && line.length > 60.0) {
                    // Nearer to where it leaves, so that the two directions do not meet.
                    @let (x, y) = line.at(line.length * 0.38, FIRST + ROOM);
                    text class=(figure(load)) x=(format_args!("{x:.1}")) y=(format_args!("{:.1}", y + 4.0)) text-anchor="middle" { (percent(load)) }
                }
            }
        }
    }

    fn node(&self, index: usize, place: Place) -> Markup {
        let Some(name) = self.plan.network.node_name(index) else { return PreEscaped(String::new()) };
        let model = self.plan.network.switch_of(index).map(|switch| &switch.model);
        let Place { x, y, away } = place;
        let load = |is: fn(&(usize, usize), usize) -> bool| {
            let port = self.plan.network.links().iter().position(|link| is(link, index));
            port.and_then(|port| self.loads.get(port)).copied().unwrap_or(0)
        };
        let directions = [("↑", load(|link, node| link.0 == node)), ("↓", load(|link, node| link.1 == node))];
        let is_shown = |load: u64| away.is_some() && load > 0 && !self.is_large();
        let shown: Vec<_> = directions.into_iter().filter(|(_, load)| is_shown(*load)).collect();
        // Away from the switch; beside the circle the name is a little above its middle, so that both lines are.
        let (tx, ty) = match (away, anchor(place)) {
            (None, _) => (x, y + 26.0),
            (Some((dx, dy)), "middle") if dy < 0.0 => (x + dx * 18.0, y - 27.0),
            (Some((dx, _)), "middle") => (x + dx * 18.0, y + 25.0),
            (Some((dx, dy)), _) => (x + dx.signum() * 14.0, y + dy * 12.0),
        };
        html! {
            @match model {
                Some(model) => rect class="node full" x=(format_args!("{:.1}", x - 15.0)) y=(format_args!("{:.1}", y - 12.0)) width="30" height="24" rx="4" {
                    title { (name) ": " (model) }
                },
                None => circle class="node" cx=(format_args!("{x:.1}")) cy=(format_args!("{y:.1}")) r="9" { title { (name) } },
            }
            text class="name" x=(format_args!("{tx:.1}")) y=(format_args!("{ty:.1}")) text-anchor=(anchor(place)) { (short(name)) }
            @if !shown.is_empty() {
                text x=(format_args!("{tx:.1}")) y=(format_args!("{:.1}", ty + 13.0)) text-anchor=(anchor(place)) {
                    @for (arrow, load) in shown { tspan class=(figure(load)) { (arrow) " " (percent(load)) " " } }
                }
            }
        }
    }

    /// A mark where flows are refused, with how many if there are several.
    fn refused<'f>(&self, spot: Spot, flows: impl Iterator<Item = (&'f str, &'f str)> + Clone) -> Markup {
        let point = match spot {
            Spot::Port(port) => self.line(port).map(|line| line.at((line.length * 0.3).min(34.0), 0.0)),
            Spot::Node(node) => self.places.get(node).map(|place| (place.x + 12.0, place.y - 12.0)),
        };
        let Some((x, y)) = point else { return PreEscaped(String::new()) };
        let count = flows.clone().count();
        html! {
            g id=(anchor_of(spot)) class="mark" {
                circle cx=(format_args!("{x:.1}")) cy=(format_args!("{y:.1}")) r="10" {
                    title {
                        (counted(count, "flow")) " refused here"
                        @for (name, reason) in flows.take(NAMES) { "\n" (name) ": " (reason) }
                        @if count > NAMES { "\nand " (count - NAMES) " more" }
                    }
                }
                text x=(format_args!("{x:.1}")) y=(format_args!("{:.1}", y + 4.5)) text-anchor="middle" {
                    "✕" @if count > 1 { tspan class="count" { (count) } }
                }
            }
        }
    }
}

fn figure(load: u64) -> &'static str {
    if load >= HIGH { "load high" } else { "load" }
}
