//! Where everything is from the left to the right, and the ways of lines: upright ones between two columns have tracks of their own.
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use super::rows::{MARGIN, Rows};
use super::{Area, Arranged, GRID, Outline, Tree};

/// Pixels by which the border of a group lies outside of what is in it.
const BORDER: i64 = 10;
/// Pixels from one track to the next, and beside all of them.
const TRACK: i64 = 12;
const BESIDE: i64 = 10;
/// Pixels that two upright parts in one track are apart at least.
const APART: i64 = 2 * GRID;

/// An upright part of a line, between two columns.
struct Upright {
    /// The column that it is before.
    column: usize,
    top: i64,
    bottom: i64,
    edge: usize,
    /// Whether it is the one before the end of the line.
    is_last: bool,
}

/// Pixels from the left.
struct Across {
    /// Of each column: where it begins, and its width.
    columns: Vec<(i64, i64)>,
    /// Of what is before each column, and behind the last one: where its tracks begin.
    tracks: Vec<i64>,
    /// Before each column: where texts of lines begin.
    labels: Vec<i64>,
    width: i64,
}

pub(super) fn routes(outline: &Outline, tree: &Tree, columns: &[usize], rows: &Rows<'_>) -> Arranged {
    let count = columns.iter().map(|column| column + 1).max().unwrap_or(1);
    let uprights = uprights(outline, columns, rows);
    let (tracks, used) = tracks(&uprights, count);
    let across = across(outline, tree, columns, rows, count, &used);
    let mut turns = vec![(0, 0); outline.edges.len()];
    for (upright, track) in uprights.iter().zip(&tracks) {
        let x = across.tracks[upright.column] + *track * TRACK;
        let turn = &mut turns[upright.edge];
        if upright.is_last { turn.1 = x } else { turn.0 = x }
    }
    let nodes: Vec<Area> = (0..outline.nodes.len())
        .map(|node| {
            let (x, width) = across.columns[columns[node]];
            Area { x, y: rows.absolute[node], width, height: rows.heights[node] }
        })
        .collect();
    let edges = outline.edges.iter().zip(&rows.lines).zip(&turns).map(|((edge, (row, _)), turn)| {
        let (from, to) = rows.ends(edge);
        let (a, b) = (nodes[edge.from.0], nodes[edge.to.0]);
        let mut points = vec![(a.x + a.width, from)];
        match row {
            Some(row) => {
                let y = rows.row(*row);
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

fn uprights(outline: &Outline, columns: &[usize], rows: &Rows<'_>) -> Vec<Upright> {
    let mut uprights = Vec::new();
    for (index, (edge, (row, _))) in outline.edges.iter().zip(&rows.lines).enumerate() {
        let (from, to) = rows.ends(edge);
        let mut add = |column: usize, a: i64, b: i64, is_last: bool| {
            uprights.push(Upright { column, top: a.min(b), bottom: a.max(b), edge: index, is_last });
        };
        match row {
            Some(row) => {
                let y = rows.row(*row);
                add(columns[edge.from.0] + 1, from, y, false);
                add(columns[edge.to.0], y, to, true);
            }
            None => add(columns[edge.to.0], from, to, true),
        }
    }
    uprights.sort_by_key(|it| (it.column, it.top, it.bottom, it.edge, it.is_last));
    uprights
}

/// For each upright part its track; and how many tracks there are before each column, and behind the last one.
fn tracks(uprights: &[Upright], count: usize) -> (Vec<i64>, Vec<i64>) {
    let mut used = vec![0; count + 1];
    let mut column = usize::MAX;
    // Where each track is taken to.
    let mut ends: BTreeSet<(i64, i64)> = BTreeSet::new();
    let mut tracks = Vec::new();
    for upright in uprights {
        if upright.column != column {
            column = upright.column;
            ends.clear();
        }
        let free = ends.first().copied().filter(|(end, _)| end + APART < upright.top);
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
        ends.insert((upright.bottom, track));
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
