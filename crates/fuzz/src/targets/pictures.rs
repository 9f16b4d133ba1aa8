//! The layout of pictures of plans: whatever boxes and lines there are, boxes lie apart or in each other, and nothing leaves the picture.
use assembly::{Area, GRID, Outline, OutlineEdge, OutlineGroup, OutlineNode};

/// Bytes of a group, a box or an edge.
const RECORD: usize = 8;
/// How many of them are laid out: each is compared with each other one.
const MOST: usize = 256;
/// The largest size of a box that counts, as the layout documents it.
const LARGEST: i64 = 1 << 20;

/// An outline, eight bytes for each part: its kind, two numbers of others, a factor, and two sizes.
fn outline(bytes: &[u8]) -> Outline {
    let mut outline = Outline::default();
    for record in bytes.chunks_exact(RECORD).take(MOST) {
        let [kind, one, other, factor, sizes @ ..] = record else { continue };
        let [a, b, c, d] = sizes else { continue };
        // From less than nothing to more than counts.
        let size = |low: &u8, high: &u8| i64::from(i16::from_le_bytes([*low, *high])) << (factor % 48);
        let (width, height) = (size(a, b), size(c, d));
        // Every fourth number names nothing.
        let named = |number: &u8| (number % 4 != 3).then_some(usize::from(number / 4));
        match kind % 3 {
            0 => outline.groups.push(OutlineGroup { parent: named(one), width, height }),
            1 => outline.nodes.push(OutlineNode { group: named(one), width, height }),
            _ => outline.edges.push(OutlineEdge {
                from: (usize::from(*one), width),
                to: (usize::from(*other), height),
                label: width,
                is_weak: kind / 3 % 2 == 1,
            }),
        }
    }
    outline
}

fn overlap(a: Area, b: Area) -> bool {
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

fn is_within(inner: Area, outer: Area) -> bool {
    inner.x >= outer.x
        && inner.y >= outer.y
        && inner.x + inner.width <= outer.x + outer.width
        && inner.y + inner.height <= outer.y + outer.height
}

/// The group that is around another one, if it is there and has a smaller number.
fn parent(outline: &Outline, group: usize) -> Option<usize> {
    outline.groups[group].parent.filter(|parent| *parent < group)
}

/// Whether something in a group is in another one, too.
fn is_in(outline: &Outline, mut inner: Option<usize>, outer: usize) -> bool {
    while let Some(group) = inner.filter(|group| *group < outline.groups.len()) {
        if group == outer {
            return true;
        }
        inner = parent(outline, group);
    }
    false
}

/// A picture of bytes.
pub fn picture_layout(bytes: &[u8]) {
    let outline = outline(bytes);
    let arranged = outline.arrange();
    assert_eq!(arranged, outline.arrange(), "the same outline has another picture");
    let counts = [arranged.groups.len(), arranged.nodes.len(), arranged.edges.len()];
    assert_eq!(counts, [outline.groups.len(), outline.nodes.len(), outline.edges.len()]);
    let all = Area { x: 0, y: 0, width: arranged.width, height: arranged.height };
    for (index, (area, node)) in arranged.nodes.iter().zip(&outline.nodes).enumerate() {
        assert!(is_within(*area, all), "{area:?} is outside of the picture: {outline:?}");
        assert!(area.width >= node.width.clamp(0, LARGEST) && area.height >= node.height.clamp(0, LARGEST));
        let others = arranged.nodes.iter().skip(index + 1);
        others.for_each(|other| assert!(!overlap(*area, *other), "{area:?} and {other:?}: {outline:?}"));
        for (group, place) in arranged.groups.iter().enumerate() {
            if is_in(&outline, node.group, group) {
                assert!(is_within(*area, *place), "{area:?} leaves {place:?}: {outline:?}");
            } else {
                assert!(!overlap(*area, *place), "{area:?} is in {place:?}: {outline:?}");
            }
        }
    }
    for (edge, points) in outline.edges.iter().zip(&arranged.edges) {
        let exists = edge.from.0.max(edge.to.0) < outline.nodes.len();
        assert_eq!(exists, !points.is_empty(), "{edge:?}: {outline:?}");
        let is_straight = |pair: &[(i64, i64)]| pair[0].0 == pair[1].0 || pair[0].1 == pair[1].1;
        assert!(points.windows(2).all(is_straight), "{points:?}: {outline:?}");
        let stays =
            |(x, y): &(i64, i64)| (0..=arranged.width).contains(x) && (0..=arranged.height).contains(y);
        assert!(points.iter().all(stays), "{points:?} leaves the picture: {outline:?}");
    }
}

/// Outlines: boxes in a row, boxes in groups in each other, and a circle with a line to itself.
pub(super) fn outlines() -> Vec<Vec<u8>> {
    let part = |kind, one, other| [kind, one, other, 0, 40, 0, 3 * GRID as u8, 0];
    let row: Vec<u8> =
        (0..6).flat_map(|_| part(1, 3, 0)).chain((0..5).flat_map(|n| part(2, n, n + 1))).collect();
    let groups = [part(0, 3, 0), part(0, 0, 0), part(0, 4, 0), part(0, 0, 0)];
    let boxes = [part(1, 0, 0), part(1, 4, 0), part(1, 8, 0), part(1, 12, 0), part(1, 12, 0)];
    let edges = [part(2, 0, 1), part(2, 1, 2), part(2, 2, 0), part(5, 3, 2), part(2, 4, 4)];
    vec![row, groups.into_iter().chain(boxes).chain(edges).flatten().collect()]
}
