//! Places of boxes and lines: what holds for the pictures of any plan, by seeds.
use assembly::{Area, Arranged, GRID, Outline, OutlineEdge, OutlineGroup, OutlineNode, Plan};
use testkit::random::Random;

use crate::random;

/// An outline of a plan, with sizes as they come.
fn outline(plan: &Plan, random: &mut Random) -> Outline {
    let graph = plan.graph(&random::types());
    let mut outline = Outline::default();
    let mut names: Vec<(u8, String)> = Vec::new();
    let mut group = |random: &mut Random, groups: &mut Vec<OutlineGroup>, key: (u8, String), parent| {
        names.iter().position(|known| *known == key).unwrap_or_else(|| {
            names.push(key);
            let (width, height) = (random.below(300) as i64, random.range(8, 60) as i64);
            groups.push(OutlineGroup { parent, width, height });
            groups.len() - 1
        })
    };
    for node in &graph.nodes {
        let mut inner = None;
        for (level, name) in (0..).zip([&node.host, &node.process, &node.container]) {
            if let Some(name) = name {
                inner = Some(group(random, &mut outline.groups, (level, name.clone()), inner));
            }
        }
        let (width, height) = (random.range(1, 300) as i64, random.range(1, 200) as i64);
        outline.nodes.push(OutlineNode { group: inner, width, height });
    }
    for edge in &graph.edges {
        // Lines of a port lie below each other.
        let mut end = |node: usize| {
            let used = outline.edges.iter().flat_map(|edge: &OutlineEdge| [edge.from.0, edge.to.0]);
            let y = GRID * used.filter(|used| *used == node).count() as i64;
            outline.nodes[node].height = outline.nodes[node].height.max(y + GRID);
            (node, y)
        };
        let (from, to) = (end(edge.from.0), end(edge.to.0));
        let to = if from.0 == to.0 { (to.0, to.1 + GRID) } else { to };
        outline.nodes[to.0].height = outline.nodes[to.0].height.max(to.1 + GRID);
        let label = random.below(120) as i64;
        outline.edges.push(OutlineEdge { from, to, label, is_weak: edge.is_call });
    }
    outline
}

fn overlap(a: Area, b: Area) -> bool {
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

fn is_within(inner: Area, outer: Area) -> bool {
    inner.x > outer.x
        && inner.y > outer.y
        && inner.x + inner.width < outer.x + outer.width
        && inner.y + inner.height < outer.y + outer.height
}

/// The groups that something is in, from the inside out.
fn outer(outline: &Outline, group: Option<usize>) -> Vec<usize> {
    std::iter::successors(group, |group| outline.groups[*group].parent).collect()
}

/// The stretches of a line as thin boxes, without its first and last pixel.
fn stretches(points: &[(i64, i64)]) -> Vec<Area> {
    let pairs = points.windows(2).filter(|pair| pair[0] != pair[1]);
    let stretch = |pair: &[(i64, i64)]| {
        let ((a, b), (c, d)) = (pair[0], pair[1]);
        assert!(a == c || b == d, "a line that is not straight: {pair:?}");
        Area { x: a.min(c), y: b.min(d), width: (a - c).abs().max(1), height: (b - d).abs().max(1) }
    };
    pairs.map(stretch).collect()
}

fn check_boxes(outline: &Outline, arranged: &Arranged, seed: u64) {
    let all = Area { x: 0, y: 0, width: arranged.width, height: arranged.height };
    for (node, area) in arranged.nodes.iter().enumerate() {
        assert!(area.width >= outline.nodes[node].width && area.height >= outline.nodes[node].height);
        assert!(is_within(*area, all), "seed {seed}: {area:?} is outside of the picture");
        for other in &arranged.nodes[node + 1..] {
            assert!(!overlap(*area, *other), "seed {seed}: {area:?} and {other:?} overlap");
        }
        let within = outer(outline, outline.nodes[node].group);
        for (group, place) in arranged.groups.iter().enumerate() {
            if within.contains(&group) {
                // Below the heading.
                let room = Area {
                    y: place.y + outline.groups[group].height - 1,
                    height: place.height - outline.groups[group].height + 1,
                    ..*place
                };
                assert!(is_within(*area, room), "seed {seed}: {area:?} is not within {place:?}");
            } else {
                assert!(!overlap(*area, *place), "seed {seed}: {area:?} is in the foreign {place:?}");
            }
        }
    }
    for (group, area) in arranged.groups.iter().enumerate() {
        assert!(is_within(*area, all) && area.width >= outline.groups[group].width, "seed {seed}: {area:?}");
        for (other, place) in arranged.groups.iter().enumerate().skip(group + 1) {
            if outer(outline, Some(other)).contains(&group) {
                assert!(is_within(*place, *area), "seed {seed}: {place:?} is not within {area:?}");
            } else {
                assert!(!overlap(*area, *place), "seed {seed}: {area:?} and {place:?} overlap");
            }
        }
    }
}

fn check_lines(outline: &Outline, arranged: &Arranged, seed: u64) {
    let mut all: Vec<Area> = Vec::new();
    for (edge, points) in outline.edges.iter().zip(&arranged.edges) {
        let (from, to) = (arranged.nodes[edge.from.0], arranged.nodes[edge.to.0]);
        assert_eq!(points.first().map(|it| it.0), Some(from.x + from.width), "seed {seed}");
        assert_eq!(points.last(), Some(&(to.x, to.y + edge.to.1)), "seed {seed}");
        let own = stretches(points);
        for stretch in &own {
            for area in &arranged.nodes {
                assert!(!overlap(*stretch, *area), "seed {seed}: a line passes {area:?}: {points:?}");
            }
            for other in &all {
                // Lines may cross: then the one goes across and the other one upright.
                let is_beside = (stretch.width > stretch.height) == (other.width > other.height);
                let is_long = stretch.width.max(stretch.height) > 1 && other.width.max(other.height) > 1;
                assert!(
                    !(is_beside && is_long && overlap(*stretch, *other)),
                    "seed {seed}: {stretch:?} lies upon {other:?}"
                );
            }
        }
        all.extend(own);
    }
    for (edge, (points, x)) in outline.edges.iter().zip(arranged.edges.iter().zip(&arranged.labels)) {
        let Some((_, y)) = points.last() else { continue };
        let label = Area { x: *x, y: y - 2, width: edge.label, height: 4 };
        assert!(arranged.nodes.iter().all(|area| !overlap(*area, label)), "seed {seed}: {label:?}");
        let upright = all.iter().filter(|stretch| stretch.height > 1);
        assert!(upright.clone().all(|line| !overlap(*line, label)), "seed {seed}: a line crosses {label:?}");
    }
}

#[test]
fn in_the_picture_of_a_random_plan_nothing_overlaps() {
    let mut lines = 0;
    for seed in tiers::current().seeds("assembly.pictures") {
        let mut random = Random::new(seed);
        let plan = random::plan(&mut random);
        let outline = outline(&plan, &mut random);
        let arranged = outline.arrange();
        check_boxes(&outline, &arranged, seed);
        check_lines(&outline, &arranged, seed);
        lines += arranged.edges.len();
        assert_eq!(outline.arrange(), arranged, "seed {seed}: another picture of the same outline");
    }
    assert!(lines > 300, "{lines}");
}

/// Larger than any random plan: many boxes, groups that share columns, circles, lines over many columns.
#[test]
fn in_a_large_random_outline_nothing_overlaps() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let groups = random.range(1, 12) as usize;
        let mut outline = Outline::default();
        for group in 0..groups {
            let parent = (group > 0 && random.chance(60)).then(|| random.below(group));
            outline.groups.push(OutlineGroup { parent, width: random.below(500) as i64, height: 24 });
        }
        for _ in 0..50 {
            let group = random.chance(90).then(|| random.below(groups));
            let (width, height) = (random.range(40, 200) as i64, 400);
            outline.nodes.push(OutlineNode { group, width, height });
        }
        let mut used = vec![0; outline.nodes.len()];
        for _ in 0..80 {
            let mut end = |node: usize| {
                used[node] += 1;
                (node, GRID * used[node])
            };
            let (from, to) = (end(random.below(50)), end(random.below(50)));
            outline.edges.push(OutlineEdge {
                from,
                to,
                label: random.below(90) as i64,
                is_weak: random.chance(20),
            });
        }
        let arranged = outline.arrange();
        check_boxes(&outline, &arranged, seed);
        check_lines(&outline, &arranged, seed);
    }
}

#[test]
fn data_goes_to_the_right_where_no_circle_forbids_it() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let nodes = vec![OutlineNode { group: None, width: 80, height: 40 }; 20];
        let edge = |random: &mut Random| {
            let (a, b) = (random.below(20), random.below(20));
            let (from, to) = (a.min(b), a.max(b));
            (from != to).then_some(OutlineEdge { from: (from, 0), to: (to, 0), label: 0, is_weak: false })
        };
        let edges: Vec<OutlineEdge> = (0..30).filter_map(|_| edge(&mut random)).collect();
        let arranged = Outline { groups: Vec::new(), nodes, edges: edges.clone() }.arrange();
        for edge in &edges {
            let (from, to) = (arranged.nodes[edge.from.0], arranged.nodes[edge.to.0]);
            assert!(from.x + from.width < to.x, "seed {seed}: {edge:?}");
        }
    }
}

/// A call against the direction of data is what goes back.
#[test]
fn a_call_gives_way_to_data_in_a_circle() {
    let node = OutlineNode { group: None, width: 80, height: 40 };
    let edge = |from, to, is_weak| OutlineEdge { from: (from, 0), to: (to, 8), label: 0, is_weak };
    for (edges, before) in
        [([edge(0, 1, true), edge(1, 0, false)], (1, 0)), ([edge(0, 1, false), edge(1, 0, true)], (0, 1))]
    {
        let outline = Outline { groups: Vec::new(), nodes: vec![node; 2], edges: edges.to_vec() };
        let places = outline.arrange().nodes;
        assert!(places[before.0].x < places[before.1].x, "{before:?}");
    }
}

#[test]
fn what_makes_no_sense_is_left_out() {
    let node = |group| OutlineNode { group, width: i64::MAX, height: i64::MIN };
    let edge =
        |from, to| OutlineEdge { from: (from, i64::MAX), to: (to, -1), label: i64::MAX, is_weak: false };
    let group = |parent| OutlineGroup { parent, width: i64::MIN, height: i64::MAX };
    let outline = Outline {
        groups: vec![group(Some(0)), group(Some(2)), group(Some(1))],
        nodes: vec![node(Some(2)), node(Some(9)), node(None)],
        edges: vec![edge(0, 7), edge(0, 1), edge(2, 2)],
    };
    let arranged = outline.arrange();
    let counts = [arranged.groups.len(), arranged.nodes.len(), arranged.edges.len(), arranged.labels.len()];
    assert_eq!(counts, [3, 3, 3, 3]);
    assert!(arranged.edges[0].is_empty() && arranged.edges[1].len() > 1 && arranged.edges[2].len() > 1);
    assert_eq!(Outline::default().arrange().nodes, []);
}
