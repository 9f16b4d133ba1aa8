//! Which column each box is in: by longest paths, after cycles are broken.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use super::{Outline, Tree};

/// Columns that boxes without edges are spread over at most.
const SPREAD: usize = 6;

/// A node without a column yet: the predecessors that have none either, by edges of data alone and by weak edges; whether it has no
/// predecessor with a column; its number. The least of all is placed next, so cycles are broken where the fewest edges go back.
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
    let has_edges: Vec<bool> =
        (0..count).map(|node| !after[node].is_empty() || waiting[node].0 + waiting[node].1 > 0).collect();
    let mut queue: BTreeSet<Waiting> = waiting.iter().copied().collect();
    let mut columns = vec![0_usize; count];
    let mut is_placed = vec![false; count];
    let mut has_before = vec![false; count];
    let mut order = Vec::new();
    while let Some((.., node)) = queue.pop_first() {
        is_placed[node] = true;
        order.push(node);
        for (to, is_weak) in &after[node] {
            // An edge to a node that is placed already goes back.
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
    // A node without predecessors is just before the first of its successors.
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
    spread(tree, &has_edges, &mut columns);
    columns
}

/// Boxes without edges lie side by side in their group.
fn spread(tree: &Tree, has_edges: &[bool], columns: &mut [usize]) {
    let mut alone: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (node, group) in tree.groups.iter().enumerate().filter(|(node, _)| !has_edges[*node]) {
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
