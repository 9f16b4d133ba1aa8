//! Vertical places: what shares a column is stacked, in the order of the barycentres of its neighbours.
use alloc::vec;
use alloc::vec::Vec;

use super::{GRID, Outline, OutlineEdge, Tree};

/// Pixels below a box or a group, below a horizontal track, below the content of a group, and above everything.
const BELOW_BOX: i64 = 2 * GRID;
const BELOW_TRACK: i64 = GRID;
const BELOW_CONTENT: i64 = GRID;
pub(super) const MARGIN: i64 = 2 * GRID;
/// How often everything is sorted by barycentres; with more boxes and edges than that, once.
const SWEEPS: usize = 8;
const MANY: usize = 4_000;

/// Where boxes, groups and horizontal tracks are. All of them are items: first the nodes, then the groups, then the tracks.
pub(super) struct Rows<'o> {
    outline: &'o Outline,
    tree: &'o Tree,
    /// For each item the first and the last slot that it takes. Slot `2 c + 1` is column `c`, and slot `2 c` the gutter before it.
    pub(super) spans: Vec<(usize, usize)>,
    pub(super) heights: Vec<i64>,
    /// Pixels from the top of what the item is in, without the heading of that.
    tops: Vec<i64>,
    /// Pixels from the top of the picture.
    pub(super) absolute: Vec<i64>,
    /// The contents of the picture, and of each group, in the order in which they are stacked.
    children: Vec<Vec<usize>>,
    /// For each item the number of its list of children.
    owners: Vec<usize>,
    /// For each edge the item of its horizontal track, if it has one, and the number of the innermost list that has both ends.
    pub(super) tracks: Vec<(Option<usize>, usize)>,
    /// Pixels of the picture.
    pub(super) total: i64,
}

impl<'o> Rows<'o> {
    pub(super) fn of(outline: &'o Outline, tree: &'o Tree, columns: &[usize]) -> Self {
        let (nodes, groups) = (outline.nodes.len(), outline.groups.len());
        let list = |group: Option<usize>| group.map_or(0, |group| group + 1);
        let slot = |node: usize| 2 * columns[node] + 1;
        let mut rows = Self {
            outline,
            tree,
            spans: (0..nodes).map(|node| (slot(node), slot(node))).collect(),
            heights: outline.nodes.iter().map(|node| node.height).collect(),
            tops: Vec::new(),
            absolute: Vec::new(),
            children: vec![Vec::new(); groups + 1],
            owners: outline.nodes.iter().map(|node| list(node.group)).collect(),
            tracks: Vec::new(),
            total: 0,
        };
        rows.spans.resize(nodes + groups, (usize::MAX, 0));
        rows.heights.resize(nodes + groups, 0);
        rows.owners.extend(outline.groups.iter().map(|group| list(group.parent)));
        for edge in &outline.edges {
            let (from, to) = (columns[edge.from.0], columns[edge.to.0]);
            let common = list(tree.common(edge.from.0, edge.to.0));
            // From the right of its beginning to the left of its end.
            let (begin, end) = (2 * (from + 1), 2 * to);
            let track = (begin != end).then(|| {
                rows.spans.push((begin.min(end), begin.max(end)));
                rows.heights.push(GRID);
                rows.owners.push(common);
                rows.spans.len() - 1
            });
            rows.tracks.push((track, common));
        }
        for (item, owner) in rows.owners.iter().enumerate() {
            rows.children[*owner].push(item);
        }
        // From the inside out: groups take the slots of all that is in them.
        for group in (0..groups).rev() {
            let spans = rows.children[group + 1].iter().map(|child| rows.spans[*child]);
            let span = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
            rows.spans[nodes + group] = span.unwrap_or((1, 1));
        }
        rows.tops = vec![0; rows.spans.len()];
        rows.absolute = vec![0; rows.spans.len()];
        rows.sort();
        rows
    }

    fn group(&self, list: usize) -> Option<usize> {
        list.checked_sub(1)
    }

    /// The item of a list's group.
    fn item(&self, list: usize) -> Option<usize> {
        self.group(list).map(|group| self.outline.nodes.len() + group)
    }

    fn heading(&self, list: usize) -> i64 {
        self.group(list).map_or(0, |group| self.outline.groups[group].height)
    }

    fn gap(&self, item: usize) -> i64 {
        let is_track = item >= self.outline.nodes.len() + self.outline.groups.len();
        if is_track { BELOW_TRACK } else { BELOW_BOX }
    }

    /// The slots that a list has room for.
    fn slots(&self, list: usize) -> (usize, usize) {
        let of_all = || (0, self.spans.iter().map(|span| span.1).max().unwrap_or(0));
        self.item(list).map_or_else(of_all, |item| self.spans[item])
    }

    /// Puts everything as high as what comes before it in its list allows: a skyline for each list.
    fn stack(&mut self) {
        for list in (0..self.children.len()).rev() {
            let (first, last) = self.slots(list);
            let mut free = vec![0; last + 1 - first];
            let mut bottom = 0;
            let children = core::mem::take(&mut self.children[list]);
            for child in &children {
                let span = self.spans[*child];
                let below = self.gap(*child);
                let free = &mut free[span.0 - first..=span.1 - first];
                let top = free.iter().copied().max().unwrap_or(0);
                self.tops[*child] = top;
                bottom = bottom.max(top + self.heights[*child]);
                free.fill(top + self.heights[*child] + below);
            }
            self.children[list] = children;
            match self.item(list) {
                Some(item) => self.heights[item] = self.heading(list) + bottom + BELOW_CONTENT,
                None => self.total = bottom,
            }
        }
        self.position();
    }

    /// Makes places in the picture of those in lists.
    fn position(&mut self) {
        for list in 0..self.children.len() {
            let base = self.item(list).map_or(MARGIN, |item| self.absolute[item] + self.heading(list));
            for child in &self.children[list] {
                self.absolute[*child] = base + self.tops[*child];
            }
        }
    }

    /// Where an edge leaves its beginning and enters its end.
    pub(super) fn ends(&self, edge: &OutlineEdge) -> (i64, i64) {
        let (from, to) = (edge.from, edge.to);
        (self.absolute[from.0] + from.1 + GRID / 2, self.absolute[to.0] + to.1)
    }

    /// Where a horizontal track is.
    pub(super) fn track(&self, item: usize) -> i64 {
        self.absolute[item] + GRID / 4
    }

    fn length(&self) -> i64 {
        let lengths = self.outline.edges.iter().map(|edge| self.ends(edge));
        lengths.map(|(from, to)| (to - from).abs()).sum()
    }

    /// For each item by how many pixels its edges to the outside would move it down on average.
    fn pulls(&self) -> Vec<i64> {
        let mut sums = vec![(0_i64, 0_i64); self.spans.len()];
        for (edge, (track, common)) in self.outline.edges.iter().zip(&self.tracks) {
            let (from, to) = self.ends(edge);
            for (end, pull) in [(edge.from.0, to - from), (edge.to.0, from - to)] {
                // The box, and all groups that it is in and the other one is not.
                let mut item = end;
                while let Some(sum) = sums.get_mut(item) {
                    *sum = (sum.0 + pull, sum.1 + 1);
                    let owner = self.owners[item];
                    match self.item(owner).filter(|_| owner != *common) {
                        Some(outer) => item = outer,
                        None => break,
                    }
                }
            }
            if let Some(track) = track {
                sums[*track] = (from.midpoint(to) - self.track(*track), 1);
            }
        }
        sums.into_iter().map(|(sum, count)| sum.checked_div(count).unwrap_or(0)).collect()
    }

    /// Sorts lists by barycentres and keeps the order with the shortest vertical segments; then moves items down towards their neighbours.
    fn sort(&mut self) {
        self.stack();
        let is_large = self.outline.nodes.len() + self.outline.edges.len() > MANY;
        let mut best = (self.length(), self.children.clone());
        for _ in 0..if is_large { 1 } else { SWEEPS } {
            let pulls = self.pulls();
            let keys: Vec<i64> = (0..pulls.len())
                .map(|item| self.absolute[item] + self.heights[item] / 2 + pulls[item])
                .collect();
            self.children.iter_mut().for_each(|list| list.sort_by_key(|item| keys[*item]));
            self.stack();
            let length = self.length();
            if length < best.0 {
                best = (length, self.children.clone());
            }
        }
        self.children = best.1;
        self.stack();
        for level in 0..=self.tree.levels {
            let pulls = self.pulls();
            for list in 0..self.children.len() {
                if self.tree.level(self.group(list)) == level {
                    self.sink(list, &pulls);
                }
            }
            self.position();
        }
    }

    /// Moves the items of a list down, the lowest first, as far as their edges pull them and there is room.
    fn sink(&mut self, list: usize, pulls: &[i64]) {
        let bottom = match self.item(list) {
            Some(item) => self.heights[item] - self.heading(list) - BELOW_CONTENT,
            None => self.total,
        };
        let (first, last) = self.slots(list);
        let mut limits = vec![i64::MAX; last + 1 - first];
        let mut children = self.children[list].clone();
        children.sort_by_key(|child| core::cmp::Reverse(self.tops[*child]));
        for child in children {
            let span = self.spans[child];
            let limits = &mut limits[span.0 - first..=span.1 - first];
            let limit = limits.iter().copied().min().unwrap_or(i64::MAX);
            let lowest = (limit - self.gap(child)).min(bottom) - self.heights[child];
            let top = self.tops[child];
            let wanted = (top + pulls[child]).min(lowest).max(top);
            self.tops[child] = wanted - wanted % GRID;
            limits.fill(self.tops[child]);
        }
    }
}
