//! Horizontal places, and the routes of edges: vertical segments have tracks in the gutters between columns.
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use super::rows::{MARGIN, Rows};
use super::{Area, Arranged, GRID, Outline, Tree};

/// Pixels by which the border of a group lies outside of what is in it.
const BORDER: i64 = 10;
/// Pixels from one track of a gutter to the next, and beside all of them.
const TRACK: i64 = 12;
const BESIDE: i64 = 10;
/// Pixels between two vertical segments of one track at least.
const APART: i64 = 2 * GRID;

/// A vertical segment of an edge.
struct Vertical {
    /// Its gutter, by the column behind it.
    column: usize,
    top: i64,
    bottom: i64,
    edge: usize,
    /// Whether it is the last one of its edge.
    is_last: bool,
}

/// Pixels from the left.
struct Across {
    /// Of each column: where it begins, and its width.
    columns: Vec<(i64, i64)>,
    /// Of each gutter, and that behind the last column: where its first track is.
    tracks: Vec<i64>,
    /// Before each column: where texts of edges begin.
    labels: Vec<i64>,
    width: i64,
}

pub(super) fn routes(outline: &Outline, tree: &Tree, columns: &[usize], rows: &Rows<'_>) -> Arranged {
    let count = columns.iter().map(|column| column + 1).max().unwrap_or(1);
    let verticals = verticals(outline, columns, rows);
    let (tracks, used) = tracks(&verticals, count);
    let across = across(outline, tree, columns, rows, count, &used);
    let mut turns = vec![(0, 0); outline.edges.len()];
    for (vertical, track) in verticals.iter().zip(&tracks) {
        let x = across.tracks[vertical.column] + *track * TRACK;
        let turn = &mut turns[vertical.edge];
        if vertical.is_last { turn.1 = x } else { turn.0 = x }
    }
    let nodes: Vec<Area> = (0..outline.nodes.len())
        .map(|node| {
            let (x, width) = across.columns[columns[node]];
            Area { x, y: rows.absolute[node], width, height: rows.heights[node] }
        })
        .collect();
    let edges = outline.edges.iter().zip(&rows.tracks).zip(&turns).map(|((edge, (track, _)), turn)| {
        let (from, to) = rows.ends(edge);
        let (a, b) = (nodes[edge.from.0], nodes[edge.to.0]);
        let mut points = vec![(a.x + a.width, from)];
        match track {
            Some(track) => {
                let y = rows.track(*track);
                points.extend([(turn.0, from), (turn.0, y), (turn.1, y), (turn.1, to)]);
            }
            None => points.extend([(turn.1, from), (turn.1, to)]),
        }
        points.push((b.x, to));
        points
    });
    let edges = edges.collect();
    let labels = outline.edges.iter().map(|edge| across.labels[columns[edge.to.0]]).collect();
    let group = |group: usize| {
        let item = outline.nodes.len() + group;
        let (first, last) = taken(rows.spans[item], count);
        let border = border(tree, group);
        let left = across.columns[first].0 - border;
        let (x, width) = across.columns[last];
        Area { x: left, y: rows.absolute[item], width: x + width + border - left, height: rows.heights[item] }
    };
    let groups = (0..outline.groups.len()).map(group).collect();
    Arranged { width: across.width, height: rows.total + 2 * MARGIN, groups, nodes, edges, labels }
}

/// The first and the last column of slots.
fn taken(span: (usize, usize), count: usize) -> (usize, usize) {
    let first = (span.0 / 2).min(count - 1);
    (first, ((span.1.max(1) - 1) / 2).clamp(first, count - 1))
}

/// Outer groups reach further.
fn border(tree: &Tree, group: usize) -> i64 {
    BORDER * i64::try_from(tree.levels - tree.depths[group]).unwrap_or(0)
}

fn verticals(outline: &Outline, columns: &[usize], rows: &Rows<'_>) -> Vec<Vertical> {
    let mut verticals = Vec::new();
    for (index, (edge, (track, _))) in outline.edges.iter().zip(&rows.tracks).enumerate() {
        let (from, to) = rows.ends(edge);
        let mut add = |column: usize, a: i64, b: i64, is_last: bool| {
            verticals.push(Vertical { column, top: a.min(b), bottom: a.max(b), edge: index, is_last });
        };
        match track {
            Some(track) => {
                let y = rows.track(*track);
                add(columns[edge.from.0] + 1, from, y, false);
                add(columns[edge.to.0], y, to, true);
            }
            None => add(columns[edge.to.0], from, to, true),
        }
    }
    verticals.sort_by_key(|it| (it.column, it.top, it.bottom, it.edge, it.is_last));
    verticals
}

/// For each vertical segment its track, by the left-edge algorithm; and the number of tracks of each gutter.
fn tracks(verticals: &[Vertical], count: usize) -> (Vec<i64>, Vec<i64>) {
    let mut used = vec![0; count + 1];
    let mut column = usize::MAX;
    // Where each track is taken to.
    let mut ends: BTreeSet<(i64, i64)> = BTreeSet::new();
    let mut tracks = Vec::new();
    for vertical in verticals {
        if vertical.column != column {
            column = vertical.column;
            ends.clear();
        }
        let free = ends.first().copied().filter(|(end, _)| end + APART < vertical.top);
        let track = match free {
            Some(free) => {
                ends.remove(&free);
                free.1
            }
            None => {
                used[column] += 1;
                used[column] - 1
            }
        };
        ends.insert((vertical.bottom, track));
        tracks.push(track);
    }
    (tracks, used)
}

fn across(
    outline: &Outline,
    tree: &Tree,
    columns: &[usize],
    rows: &Rows<'_>,
    count: usize,
    used: &[i64],
) -> Across {
    let mut widths = vec![0; count];
    for (node, column) in outline.nodes.iter().zip(columns) {
        widths[*column] = widths[*column].max(node.width);
    }
    for (index, group) in outline.groups.iter().enumerate() {
        let (first, last) = taken(rows.spans[outline.nodes.len() + index], count);
        let room: i64 = widths[first..=last].iter().sum();
        // The heading begins at the border.
        let lacking = group.width - room - border(tree, index);
        widths[last] += lacking.max(0);
    }
    let mut labels = vec![0; count];
    for edge in &outline.edges {
        let label = &mut labels[columns[edge.to.0]];
        *label = edge.label.max(*label);
    }
    let borders = BORDER * i64::try_from(tree.levels).unwrap_or(0);
    let (mut x, mut starts, mut begins, mut texts) = (GRID, Vec::new(), Vec::new(), Vec::new());
    for column in 0..=count {
        // Before the first column there is no border of another one.
        x += if column > 0 { borders } else { 0 };
        begins.push(x + BESIDE);
        let used = used[column];
        x += if used > 0 { 2 * BESIDE + TRACK * (used - 1) } else { BESIDE };
        if let Some(width) = widths.get(column) {
            texts.push(x);
            x += labels[column] + borders;
            starts.push((x, *width));
            x += width;
        }
    }
    Across { columns: starts, tracks: begins, labels: texts, width: x + GRID }
}
