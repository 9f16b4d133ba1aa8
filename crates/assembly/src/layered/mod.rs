//! A layered layout (after Sugiyama) of nested boxes with orthogonal edges along the direction of data, in whole pixels.
//!
//! Layers are columns of the whole picture, so an edge never has to pass a box: it leaves to the right, turns between two columns, and
//! enters from the left. An edge over several columns, or back, has a horizontal track of its own among the boxes. The same outline gives
//! the same places. `docs/decisions/0029-pictures-of-plans.md` says why.
mod columns;
mod routes;
mod rows;

use alloc::vec::Vec;

/// The boxes, groups and edges to be drawn. Boxes and groups are named by their number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outline {
    /// Boxes that have others in them; the outer one comes before what is in it.
    pub groups: Vec<OutlineGroup>,
    /// Boxes that edges begin and end at.
    pub nodes: Vec<OutlineNode>,
    /// Edges.
    pub edges: Vec<OutlineEdge>,
}

/// A box that has others in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OutlineGroup {
    /// The group that it is in. It has a smaller number; one that has not counts as none.
    pub parent: Option<usize>,
    /// Pixels that its heading is wide.
    pub width: i64,
    /// Pixels that its heading is high.
    pub height: i64,
}

/// A box without others in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OutlineNode {
    /// The group that it is in.
    pub group: Option<usize>,
    /// Pixels that it is wide at least: all boxes of a column are as wide as the widest.
    pub width: i64,
    /// Pixels that it is high.
    pub height: i64,
}

/// An edge from the right side of a box to the left side of another one, or of the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OutlineEdge {
    /// The box where it begins, and pixels below the top of that.
    pub from: (usize, i64),
    /// The box where it ends, and pixels below the top of that.
    pub to: (usize, i64),
    /// Pixels that a text beside its end is wide.
    pub label: i64,
    /// Whether it says less about the direction of data than others, as calls do: in a cycle it is the one that goes back.
    pub is_weak: bool,
}

/// Places of everything, in pixels from the left and the top.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Arranged {
    /// Pixels that all of it is wide.
    pub width: i64,
    /// Pixels that all of it is high.
    pub height: i64,
    /// For each group its place.
    pub groups: Vec<Area>,
    /// For each box its place.
    pub nodes: Vec<Area>,
    /// For each edge its points: segments are horizontal and vertical in turn. An edge whose boxes do not exist has none.
    pub edges: Vec<Vec<(i64, i64)>>,
    /// For each edge where there is room for its text, in pixels from the left; the text belongs at the height of the edge's end. No box
    /// and no vertical segment is there.
    pub labels: Vec<i64>,
}

/// The place of a box.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Area {
    /// Pixels from the left of the picture.
    pub x: i64,
    /// Pixels from the top.
    pub y: i64,
    /// Pixels that it is wide.
    pub width: i64,
    /// Pixels that it is high.
    pub height: i64,
}

/// Boxes begin and end at multiples of so many pixels. Edges enter boxes at such, leave them half of it lower, and have their horizontal
/// tracks a quarter of it lower: so no horizontal segment of one kind lies upon one of another kind.
pub const GRID: i64 = 8;
/// The largest size of a box that counts.
const LARGEST: i64 = 1 << 20;

impl Outline {
    /// Places of everything. Sizes are rounded up to [`GRID`], and those below nothing or above a million pixels count as these.
    pub fn arrange(&self) -> Arranged {
        let sound = self.sound();
        let tree = Tree::of(&sound);
        let columns = columns::columns(&sound, &tree);
        let rows = rows::Rows::of(&sound, &tree, &columns);
        let mut arranged = routes::routes(&sound, &tree, &columns, &rows);
        // Edges that were left out keep their number.
        let (edges, labels) = (core::mem::take(&mut arranged.edges), core::mem::take(&mut arranged.labels));
        let mut routed = edges.into_iter().zip(labels);
        let all = self.edges.iter().map(|edge| if self.exists(edge) { routed.next() } else { None });
        (arranged.edges, arranged.labels) = all.map(Option::unwrap_or_default).unzip();
        arranged
    }

    fn exists(&self, edge: &OutlineEdge) -> bool {
        edge.from.0.max(edge.to.0) < self.nodes.len()
    }

    /// Without what is not there, and with sizes on the grid.
    fn sound(&self) -> Self {
        let size = |size: i64| {
            let size = size.clamp(0, LARGEST) + GRID - 1;
            size - size % GRID
        };
        let within = |end: (usize, i64)| {
            let height = self.nodes.get(end.0).map_or(0, |node| size(node.height));
            let y = end.1.clamp(0, height);
            (end.0, y - y % GRID)
        };
        let group = |(index, group): (usize, &OutlineGroup)| OutlineGroup {
            parent: group.parent.filter(|parent| *parent < index),
            width: size(group.width),
            height: size(group.height),
        };
        let node = |node: &OutlineNode| OutlineNode {
            group: node.group.filter(|group| *group < self.groups.len()),
            width: size(node.width),
            height: size(node.height),
        };
        let edge = |edge: &OutlineEdge| OutlineEdge {
            from: within(edge.from),
            to: within(edge.to),
            label: size(edge.label),
            ..*edge
        };
        Self {
            groups: self.groups.iter().enumerate().map(group).collect(),
            nodes: self.nodes.iter().map(node).collect(),
            edges: self.edges.iter().filter(|edge| self.exists(edge)).map(edge).collect(),
        }
    }
}

/// Groups with the boxes and groups in them.
struct Tree {
    /// For each group how many it is in.
    depths: Vec<usize>,
    parents: Vec<Option<usize>>,
    /// For each node its group.
    groups: Vec<Option<usize>>,
    /// The greatest depth of a group, and one; 0 if there is none.
    levels: usize,
}

impl Tree {
    fn of(outline: &Outline) -> Self {
        let mut depths: Vec<usize> = Vec::new();
        for group in &outline.groups {
            let depth = group.parent.and_then(|parent| depths.get(parent)).map_or(0, |depth| depth + 1);
            depths.push(depth);
        }
        Self {
            levels: depths.iter().max().map_or(0, |depth| depth + 1),
            depths,
            parents: outline.groups.iter().map(|group| group.parent).collect(),
            groups: outline.nodes.iter().map(|node| node.group).collect(),
        }
    }

    fn level(&self, group: Option<usize>) -> usize {
        group.and_then(|group| self.depths.get(group)).map_or(0, |depth| depth + 1)
    }

    fn parent(&self, group: Option<usize>) -> Option<usize> {
        group.and_then(|group| self.parents.get(group).copied().flatten())
    }

    /// The innermost group that two nodes are in.
    fn common(&self, one: usize, other: usize) -> Option<usize> {
        let group = |node: usize| self.groups.get(node).copied().flatten();
        let (mut a, mut b) = (group(one), group(other));
        while a != b {
            if self.level(a) >= self.level(b) {
                a = self.parent(a);
            } else {
                b = self.parent(b);
            }
        }
        a
    }
}
