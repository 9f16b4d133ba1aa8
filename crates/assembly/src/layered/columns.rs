//! Which column each box is in: behind all that it gets data from, where no circle forbids it.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use super::{Outline, Tree};

/// Columns that boxes without lines are spread over at most, unless others have more.
const SPREAD: usize = 6;

/// A node that has no column yet: lines from others without one, those that tell the direction of data and the weak ones; whether none
/// leads to it from a node with a column; its number. The first of all is the next.
type Waiting = (usize, usize, bool, usize);

/// The column of each node, from 0.
pub(super) fn columns(outline: &Outline, tree: &Tree) -> Vec<usize> {
    let count = outline.nodes.len();
    let mut after: Vec<BTreeMap<usize, bool>> = vec![BTreeMap::new(); count];
    for edge in &outline.edges {
        if edge.from.0 != edge.to.0 {
            let is_weak = after[edge.from.0].entry(edge.to.0).or_insert(true);
            *is_weak &= edge.is_weak;
        }
    }
    let mut waiting: Vec<Waiting> = (0..count).map(|node| (0, 0, true, node)).collect();
    for (to, is_weak) in after.iter().flatten() {
        let waits = &mut waiting[*to];
        if *is_weak { waits.1 += 1 } else { waits.0 += 1 }
    }
    let has_lines: Vec<bool> =
        (0..count).map(|node| !after[node].is_empty() || waiting[node].0 + waiting[node].1 > 0).collect();
    let mut queue: BTreeSet<Waiting> = waiting.iter().copied().collect();
    let mut columns = vec![0; count];
    let mut is_placed = vec![false; count];
    let mut has_before = vec![false; count];
    let mut order = Vec::new();
    while let Some((.., node)) = queue.pop_first() {
        is_placed[node] = true;
        order.push(node);
        for (to, is_weak) in &after[node] {
            // What is placed already is reached by a line that goes back.
            if is_placed[*to] {
                continue;
            }
            columns[*to] = columns[*to].max(columns[node] + 1);
            has_before[*to] = true;
            queue.remove(&waiting[*to]);
            let waits = &mut waiting[*to];
            if *is_weak {
                waits.1 -= 1
            } else {
                waits.0 -= 1
            }
            waits.2 = false;
            queue.insert(*waits);
        }
    }
    // What nothing leads to is just before the first that it leads to.
    let mut position = vec![0; count];
    for (at, node) in order.iter().enumerate() {
        position[*node] = at;
    }
    for node in order.iter().rev().filter(|node| !has_before[**node]) {
        let forward = after[*node].keys().filter(|to| position[**to] > position[*node]);
        if let Some(first) = forward.map(|to| columns[*to]).min() {
            columns[*node] = first.saturating_sub(1);
        }
    }
    spread(tree, &has_lines, &mut columns);
    columns
}

/// Boxes without lines lie side by side in their group.
fn spread(tree: &Tree, has_lines: &[bool], columns: &mut [usize]) {
    let mut alone: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (node, group) in tree.groups.iter().enumerate().filter(|(node, _)| !has_lines[*node]) {
        alone.entry(*group).or_default().push(node);
    }
    let used = columns.iter().max().map_or(0, |column| column + 1).min(SPREAD);
    for nodes in alone.values() {
        let root = (1..SPREAD).find(|root| root * root >= nodes.len()).unwrap_or(SPREAD);
        let width = root.max(used);
        for (number, node) in nodes.iter().enumerate() {
            columns[*node] = number % width;
        }
    }
}
