//! Where the nodes of a network are drawn: switches by forces, and the hosts of each in a fan around it.
use std::f64::consts::{PI, TAU};

/// How often forces move the switches.
const STEPS: u32 = 400;
/// The room that a host takes on the arc around its switch, from one ring of hosts to the next, and from a switch to its
/// innermost ring at least and at most.
const ARC: f64 = 50.0;
const RING: f64 = 48.0;
const NEAREST: f64 = 76.0;
const FARTHEST: f64 = 170.0;
/// The largest size of the picture without its margins.
const LARGEST: f64 = 2_600.0;

/// Where a node is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// Pixels from the middle of the picture to the right.
    pub x: f64,
    /// Pixels from the middle downwards.
    pub y: f64,
    /// For a host at a switch: the direction away from it, of length 1.
    pub away: Option<(f64, f64)>,
}

/// The places of nodes with directed links, always the same for the same ones. `is_switch` has an entry for each node.
pub fn places(is_switch: &[bool], links: &[(usize, usize)]) -> Vec<Place> {
    let neighbours: Vec<Vec<usize>> = (0..is_switch.len())
        .map(|node| links.iter().filter(|(from, _)| *from == node).map(|(_, to)| *to).collect())
        .collect();
    // A host with one link to a switch is put beside it; all others are pushed and pulled.
    let switch_of = |node: usize| match neighbours.get(node).map(Vec::as_slice) {
        Some([only]) if !is_switch[node] && is_switch[*only] => Some(*only),
        _ => None,
    };
    let inner: Vec<usize> = (0..is_switch.len()).filter(|node| switch_of(*node).is_none()).collect();
    let hosts: Vec<Vec<usize>> = inner
        .iter()
        .map(|switch| (0..is_switch.len()).filter(|node| switch_of(*node) == Some(*switch)).collect())
        .collect();
    let index = |node: usize| inner.binary_search(&node).ok();
    let pulls: Vec<(usize, usize)> =
        links.iter().filter_map(|(from, to)| Some((index(*from)?, index(*to)?))).collect();
    let raw = lying(forces(inner.len(), &pulls));
    let fans: Vec<Fan> = (0..inner.len()).map(|at| Fan::new(at, &raw, &pulls, hosts[at].len())).collect();
    let scale = scale(&raw, &fans);
    let mut places = vec![Place::default(); is_switch.len()];
    for ((node, (x, y)), (fan, hosts)) in inner.iter().zip(&raw).zip(fans.iter().zip(&hosts)) {
        let (x, y) = (x * scale, y * scale);
        places[*node] = Place { x, y, away: None };
        for (number, host) in hosts.iter().enumerate() {
            let (away, radius) = fan.host(number);
            places[*host] = Place { x: x + away.0 * radius, y: y + away.1 * radius, away: Some(away) };
        }
    }
    places
}

/// The hosts around a switch.
struct Fan {
    hosts: usize,
    start: f64,
    /// The angle in which they are; a whole turn if the switch has no neighbours.
    angle: f64,
    radius: f64,
    rings: usize,
}

impl Fan {
    /// In the widest gap between the links to other switches.
    fn new(at: usize, places: &[(f64, f64)], links: &[(usize, usize)], hosts: usize) -> Self {
        let here = places[at];
        let mut angles: Vec<f64> = links
            .iter()
            .filter(|(from, _)| *from == at)
            .map(|(_, to)| (places[*to].1 - here.1).atan2(places[*to].0 - here.0))
            .collect();
        angles.sort_by(f64::total_cmp);
        let next = angles.iter().cycle().skip(1);
        let gaps = angles.iter().zip(next).map(|(from, to)| (*from, (to - from).rem_euclid(TAU)));
        let widest = gaps.map(|(from, gap)| (from, if gap == 0.0 { TAU } else { gap }));
        let (start, angle) = match widest.max_by(|a, b| a.1.total_cmp(&b.1)) {
            // A sixth of the gap on both sides stays free, and no more than two thirds of a turn are used.
            Some((from, gap)) => {
                let used = (gap * 2.0 / 3.0).min(TAU * 2.0 / 3.0);
                (from + (gap - used) / 2.0, used)
            }
            None => (PI / 2.0 / hosts.max(1) as f64, TAU),
        };
        let needed = ARC * hosts as f64 / angle;
        let rings = (needed / FARTHEST).ceil().max(1.0);
        Self { hosts, start, angle, radius: (needed / rings).clamp(NEAREST, FARTHEST), rings: rings as usize }
    }

    fn host(&self, number: usize) -> ((f64, f64), f64) {
        let part = if self.angle == TAU || self.hosts == 1 {
            (number as f64 + 0.5) / self.hosts as f64
        } else {
            number as f64 / (self.hosts - 1) as f64
        };
        let angle = self.start + part * self.angle;
        ((angle.cos(), angle.sin()), self.radius + RING * (number % self.rings) as f64)
    }

    /// How far it reaches, most names included.
    fn reach(&self) -> f64 {
        if self.hosts == 0 { 60.0 } else { self.radius + RING * self.rings as f64 + 40.0 }
    }
}

/// By how much places are multiplied so that fans do not overlap.
fn scale(places: &[(f64, f64)], fans: &[Fan]) -> f64 {
    let mut scale: f64 = 1.0;
    for (at, (a, fan)) in places.iter().zip(fans).enumerate() {
        for (b, other) in places.iter().zip(fans).skip(at + 1) {
            let distance = (a.0 - b.0).hypot(a.1 - b.1).max(1e-6);
            // They seldom point at each other.
            scale = scale.max((fan.reach() + other.reach()) * 0.75 / distance);
        }
    }
    let size = places.iter().map(|(x, y)| x.abs().max(y.abs())).fold(0.0, f64::max);
    if size * 2.0 * scale > LARGEST { LARGEST / (size * 2.0) } else { scale }
}

/// Forces push nodes apart and links pull them together, from a circle on.
fn forces(count: usize, links: &[(usize, usize)]) -> Vec<(f64, f64)> {
    let turn = |index: usize| TAU * index as f64 / count.max(1) as f64;
    let mut places: Vec<(f64, f64)> =
        (0..count).map(|index| (turn(index).cos(), turn(index).sin())).collect();
    let ideal = 1.6 / (count.max(1) as f64).sqrt();
    for step in 0..STEPS {
        let reach = 0.15 * (1.0 - f64::from(step) / f64::from(STEPS));
        let mut forces = vec![(0.0, 0.0); count];
        for (index, (force, a)) in forces.iter_mut().zip(&places).enumerate() {
            for (_, b) in places.iter().enumerate().filter(|(other, _)| *other != index) {
                let (dx, dy) = (a.0 - b.0, a.1 - b.1);
                let square = (dx * dx + dy * dy).max(1e-6);
                force.0 += dx * ideal * ideal / square;
                force.1 += dy * ideal * ideal / square;
            }
        }
        for (from, to) in links {
            let (a, b) = (places[*from], places[*to]);
            let (dx, dy) = (b.0 - a.0, b.1 - a.1);
            let pull = dx.hypot(dy) / ideal / 2.0;
            for (node, sign) in [(*from, 1.0), (*to, -1.0)] {
                forces[node].0 += sign * dx * pull;
                forces[node].1 += sign * dy * pull;
            }
        }
        for (place, force) in places.iter_mut().zip(&forces) {
            let size = force.0.hypot(force.1).max(1e-9);
            let by = size.min(reach) / size;
            *place = (place.0 + force.0 * by, place.1 + force.1 * by);
        }
    }
    places
}

/// Turned so that the longest direction lies across the page, around the middle.
fn lying(places: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let count = places.len().max(1) as f64;
    let middle = (
        places.iter().map(|place| place.0).sum::<f64>() / count,
        places.iter().map(|place| place.1).sum::<f64>() / count,
    );
    let centred = places.into_iter().map(|place| (place.0 - middle.0, place.1 - middle.1));
    let centred: Vec<(f64, f64)> = centred.collect();
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in &centred {
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    let turn = (2.0 * xy).atan2(xx - yy) / 2.0;
    let (sin, cos) = turn.sin_cos();
    centred.into_iter().map(|(x, y)| (x * cos + y * sin, y * cos - x * sin)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `switches` in a row with so many hosts each; switches first.
    fn row(switches: usize, hosts: usize) -> (Vec<bool>, Vec<(usize, usize)>) {
        let mut links: Vec<(usize, usize)> = (1..switches).map(|switch| (switch - 1, switch)).collect();
        links.extend((0..switches * hosts).map(|host| (switches + host, host / hosts)));
        let both = links.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]).collect();
        ((0..switches + switches * hosts).map(|node| node < switches).collect(), both)
    }

    #[test]
    fn nodes_do_not_overlap() {
        for (switches, hosts) in [(1, 1), (1, 4), (1, 48), (2, 5), (3, 6), (8, 4), (5, 20)] {
            let (is_switch, links) = row(switches, hosts);
            let places = places(&is_switch, &links);
            assert!(places.iter().all(|place| place.x.is_finite() && place.y.is_finite()));
            for (index, a) in places.iter().enumerate() {
                for b in &places[index + 1..] {
                    let distance = (a.x - b.x).hypot(a.y - b.y);
                    assert!(distance > 24.0, "{switches} switches, {hosts} hosts: {a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn a_row_lies_across_the_page() {
        let (is_switch, links) = row(6, 1);
        let places = places(&is_switch, &links);
        let spread = |axis: fn(&Place) -> f64| {
            let values = || places[..6].iter().map(axis);
            values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min)
        };
        assert!(spread(|place| place.x) > 5.0 * spread(|place| place.y));
    }

    #[test]
    fn odd_networks_have_places_too() {
        assert!(places(&[], &[]).is_empty());
        // Two hosts that are connected with each other, and a node alone.
        let places = places(&[false, false, true], &[(0, 1), (1, 0)]);
        assert!(places.iter().all(|place| place.x.is_finite() && place.away.is_none()));
    }
}
