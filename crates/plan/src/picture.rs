//! The network with its loads as a picture: SVG whose colours are those of the page.
use std::fmt::Write as _;

use crate::layout::{Place, places};
use crate::page::escaped;
use crate::planning::Plan;
use crate::report::Report;
use crate::text::percent;

/// Colours of loads up to so many parts of a million.
const COLOURS: [(u64, &str, &str); 5] = [
    (0, "l0", "nothing"),
    (250_000, "l1", "up to 25 %"),
    (500_000, "l2", "up to 50 %"),
    (750_000, "l3", "up to 75 %"),
    (u64::MAX, "l4", "more"),
];
/// About how wide a letter of a name is.
const LETTER: f64 = 7.4;

/// Draws the network.
pub(crate) fn drawing(out: &mut String, plan: &Plan<'_>, report: &Report) {
    let is_switch: Vec<bool> = plan.network.nodes.iter().map(|node| node.model.is_some()).collect();
    let places = places(&is_switch, &plan.network.links);
    let mut loads = vec![0; plan.network.ports.len()];
    for port in &report.ports {
        if let Some(load) = loads.get_mut(port.index) {
            *load = port.load_ppm;
        }
    }
    let (left, top, width, height) = frame(plan, &places);
    let _ = write!(
        out,
        "<div class=\"wide\"><svg viewBox=\"{left:.0} {top:.0} {width:.0} {height:.0}\" \
         style=\"max-width:{width:.0}px;min-width:{:.0}px\" role=\"img\" aria-label=\"The network and the loads of its links\">",
        width * 0.7
    );
    links(out, plan, &places, &loads);
    for (index, place) in places.iter().enumerate() {
        node(out, plan, index, *place, &loads);
    }
    out.push_str("</svg></div><p><small>");
    for (_, class, meaning) in COLOURS {
        let _ = write!(
            out,
            "<svg class=\"key\" viewBox=\"0 0 24 8\"><line class=\"{class}\" x1=\"0\" y1=\"4\" x2=\"24\" y2=\"4\" \
             stroke-width=\"4\"/></svg> {meaning} "
        );
    }
    out.push_str(
        "<br>Squares are switches, circles are hosts. The two lines of a link are its directions, with the part of its time \
         that admitted flows may take; at a host ↑ is what it sends and ↓ what it gets.</small></p>",
    );
}

/// Left, top, width and height of what is drawn, names included.
fn frame(plan: &Plan<'_>, places: &[Place]) -> (f64, f64, f64, f64) {
    let (mut left, mut top, mut right, mut bottom) = (-100.0_f64, -60.0_f64, 100.0_f64, 60.0_f64);
    for (node, place) in plan.network.nodes.iter().zip(places) {
        let letters = node.name.chars().count().max(16) as f64 * LETTER;
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

/// On which side of its place a name begins.
fn anchor(place: Place) -> &'static str {
    match place.away {
        Some((x, _)) if x > 0.6 => "start",
        Some((x, _)) if x < -0.6 => "end",
        _ => "middle",
    }
}

fn colour(ppm: u64) -> &'static str {
    COLOURS.iter().find(|(most, ..)| ppm <= *most).map_or("l4", |(_, class, _)| class)
}

fn links(out: &mut String, plan: &Plan<'_>, places: &[Place], loads: &[u64]) {
    let mut labels = String::new();
    for (index, (from, to)) in plan.network.links.iter().enumerate() {
        let (Some(a), Some(b), Some(load)) = (places.get(*from), places.get(*to), loads.get(index)) else {
            continue;
        };
        // Each direction on its own side.
        let (dx, dy) = (b.x - a.x, b.y - a.y);
        let length = dx.hypot(dy).max(1.0);
        let (ox, oy) = (-dy / length * 4.0, dx / length * 4.0);
        let width = 1.5 + (*load).min(1_000_000) as f64 / 1_000_000.0 * 5.0;
        let _ = write!(
            out,
            "<line class=\"{}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke-width=\"{width:.1}\">\
             <title>{}: {}</title></line>",
            colour(*load),
            a.x + ox,
            a.y + oy,
            b.x + ox,
            b.y + oy,
            escaped(&plan.network.port_name(index)),
            percent(*load)
        );
        // Links of hosts have their figures at the host.
        if *load > 0 && a.away.is_none() && b.away.is_none() && length > 60.0 {
            // Nearer to where it leaves, so that the two directions do not meet.
            let (x, y) = (a.x + dx * 0.38 + ox * 4.0, a.y + dy * 0.38 + oy * 4.0);
            let _ = write!(
                labels,
                "<text class=\"dim\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                y + 4.0,
                percent(*load)
            );
        }
    }
    out.push_str(&labels);
}

fn node(out: &mut String, plan: &Plan<'_>, index: usize, place: Place, loads: &[u64]) {
    let Some(node) = plan.network.nodes.get(index) else { return };
    let Place { x, y, away } = place;
    let _ = match &node.model {
        Some(model) => write!(
            out,
            "<rect class=\"node full\" x=\"{:.1}\" y=\"{:.1}\" width=\"26\" height=\"20\" rx=\"4\"><title>{}</title></rect>",
            x - 13.0,
            y - 10.0,
            escaped(model)
        ),
        None => write!(out, "<circle class=\"node\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"9\"/>"),
    };
    let load = |is: fn(&(usize, usize), usize) -> bool| {
        let port = plan.network.links.iter().position(|link| is(link, index));
        port.and_then(|port| loads.get(port)).copied().unwrap_or(0)
    };
    let directions = [("↑", load(|link, node| link.0 == node)), ("↓", load(|link, node| link.1 == node))];
    let figures: Vec<String> = directions
        .iter()
        .filter(|(_, load)| away.is_some() && *load > 0)
        .map(|(arrow, load)| format!("{arrow} {}", percent(*load)))
        .collect();
    let figures = figures.join(" ");
    // Away from the switch; beside the circle the name is a little above its middle, so that both lines are.
    let (x, y) = match (away, anchor(place)) {
        (None, _) => (x, y + 25.0),
        (Some((dx, dy)), "middle") if dy < 0.0 => (x + dx * 18.0, y - 27.0),
        (Some((dx, _)), "middle") => (x + dx * 18.0, y + 25.0),
        (Some((dx, dy)), _) => (x + dx.signum() * 14.0, y + dy * 12.0),
    };
    let anchor = anchor(place);
    let _ = write!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\
         <text class=\"dim\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{figures}</text>",
        escaped(&node.name),
        y + 13.0,
    );
}
