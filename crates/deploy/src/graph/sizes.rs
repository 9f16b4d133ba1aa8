//! Sizes of what a picture shows, and its outline: boxes with rows for ports, wires that come in below each other.
use assembly::{Outline, OutlineEdge, OutlineGroup, OutlineNode};

use super::scene::{Block, Node, Port, Scene, Wire};
use super::text::{fit, width};

/// Sizes of fonts: names, other texts, texts beside lines.
pub(super) const HEAD: i64 = 13;
pub(super) const TEXT: i64 = 12;
const SMALL: i64 = 10;
/// Pixels from one line of text to the next.
pub(super) const LINE: i64 = 16;
/// Pixels above the first port of a box, of a port without wires, from one wire at a port to the next, and from the top of that to the wire.
const ABOVE: i64 = 40;
const PORT: i64 = 24;
const WIRE: i64 = 32;
const ENTRY: i64 = 8;
/// Pixels from the border of a box to a text in it.
pub(super) const INSIDE: i64 = 9;
/// The most pixels of names in boxes, of ports, of texts beside lines, of headings.
const WIDEST_NAME: i64 = 190;
const WIDEST_PORT: i64 = 120;
/// Of a port with what its join waits for.
const WIDEST_JOIN: i64 = 280;
const WIDEST_LABEL: i64 = 150;
pub(super) const WIDEST_HEADING: i64 = 260;

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Where the first wire of each port comes in, below the top of the box.
pub(super) fn rows(ports: &[Port]) -> Vec<i64> {
    let mut y = ABOVE;
    let rows = ports.iter().map(|port| {
        let top = y;
        y += high(port);
        top + ENTRY
    });
    rows.collect()
}

/// Pixels that a port takes from the top down.
fn high(port: &Port) -> i64 {
    PORT.max(WIRE * count(port.wires.len()))
}

fn height(ports: &[Port]) -> i64 {
    ports.iter().map(high).sum()
}

/// The texts of a box: its name, what is below it, and what is missing.
pub(super) fn heading(node: &Node) -> (String, String, String) {
    (fit(&node.name, HEAD, WIDEST_NAME), fit(&node.about, TEXT, WIDEST_NAME), marks(&node.lacks))
}

/// Numbers of what is missing.
pub(super) fn marks(lacks: &[usize]) -> String {
    let shown = lacks.iter().take(3).map(|number| format!(" ?{number}")).collect::<String>();
    if lacks.len() > 3 { shown + " …" } else { shown }
}

pub(super) fn port_label(port: &Port) -> String {
    fit(&port.label, TEXT, if port.is_joined { WIDEST_JOIN } else { WIDEST_PORT })
}

/// The texts beside the end of a wire: above and below it, and what is missing.
pub(super) fn wire_label(wire: &Wire) -> (String, String, String) {
    let name = wire.name.as_deref().unwrap_or_default();
    let marks = marks(&wire.lacks);
    let room = WIDEST_LABEL - width(&marks, SMALL);
    (fit(name, SMALL, room), fit(&wire.carrier, SMALL, WIDEST_LABEL), marks)
}

pub(super) fn outline(scene: &Scene<'_>) -> Outline {
    let group = |block: &Block| {
        let wide =
            block.lines.iter().map(|line| width(&fit(line, HEAD, WIDEST_HEADING), HEAD)).max().unwrap_or(0);
        OutlineGroup {
            parent: block.parent,
            width: wide + width(&marks(&block.lacks), HEAD) + 2 * INSIDE,
            height: LINE * count(block.lines.len()) + LINE,
        }
    };
    let node = |node: &Node| {
        let (name, about, marks) = heading(node);
        let widest =
            |ports: &[Port]| ports.iter().map(|port| width(&port_label(port), TEXT)).max().unwrap_or(0);
        let wide = (width(&name, HEAD) + width(&marks, HEAD))
            .max(width(&about, TEXT))
            .max(widest(&node.left) + widest(&node.right) + 2 * INSIDE);
        let more = if node.more > 0 { LINE } else { 0 };
        OutlineNode {
            group: node.block,
            width: wide + 2 * INSIDE,
            height: ABOVE + height(&node.left).max(height(&node.right)) + more,
        }
    };
    // The wires of a port come in one below the other.
    let end = |index: usize, (node, port): (usize, usize), is_right: bool| {
        let of_node = scene.nodes.get(node)?;
        let ports = if is_right { &of_node.right } else { &of_node.left };
        let at = ports.get(port)?.wires.iter().position(|wire| *wire == index)?;
        Some((node, rows(ports).get(port)? + WIRE * count(at)))
    };
    let edge = |(index, wire): (usize, &Wire)| {
        let (above, below, marks) = wire_label(wire);
        OutlineEdge {
            from: end(index, wire.from, true).unwrap_or((usize::MAX, 0)),
            to: end(index, wire.to, false).unwrap_or((usize::MAX, 0)),
            label: (width(&above, SMALL) + width(&marks, SMALL)).max(width(&below, SMALL)) + INSIDE,
            is_weak: wire.is_call,
        }
    };
    Outline {
        groups: scene.blocks.iter().map(group).collect(),
        nodes: scene.nodes.iter().map(node).collect(),
        edges: scene.wires.iter().enumerate().map(edge).collect(),
    }
}
