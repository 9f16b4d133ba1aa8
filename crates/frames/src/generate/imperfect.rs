//! What real ports have and ideal ones have not, for some of the generated networks: cards with rings, links that sleep, and hosts that
//! send more than their flows.
use alloc::vec;
use alloc::vec::Vec;

use super::{FRAMES, RATES};
use crate::network::{Contract, Flow, Hop, Node, Port};
use crate::random::Random;

/// Makes ports imperfect, each in its own way.
pub(super) fn wear(ports: &mut [Port], random: &mut Random) {
    for port in ports {
        if random.once_in(2) {
            port.imperfections.ring = random.below(4 * FRAMES[1]);
        }
        if random.once_in(2) {
            port.imperfections.wake = random.below(30_000_000);
        }
    }
}

/// What each host with flows sends besides, in the lowest of their levels, as further flows; gives burst, bytes and period.
pub(super) fn beside(nodes: &[Node], ports: &[Port], flows: &mut Vec<Flow>, random: &mut Random) -> [u64; 3] {
    let [burst, bytes] = [random.between(FRAMES[0], 20_000), random.between(1, 1_600)];
    // At most a fiftieth of the slowest link.
    let period = bytes * RATES[0] * random.between(50, 1_000);
    let mut lowest: Vec<Option<u8>> = vec![None; ports.len()];
    for hop in flows.iter().flat_map(|flow| &flow.tree) {
        let level = &mut lowest[hop.port];
        *level = Some(level.map_or(hop.level, |level| level.min(hop.level)));
    }
    let hosts = ports.iter().map(|port| nodes[port.from] == Node::Host);
    for (index, level) in lowest.iter().zip(hosts).enumerate().filter_map(|(at, (level, host))| {
        let level = level.filter(|_| host)?;
        Some((at, level))
    }) {
        let largest = (FRAMES[1] + ports[index].tag).min(burst);
        flows.push(Flow {
            others: vec![vec![FRAMES[0]], vec![random.between(FRAMES[0], largest)]],
            ..Flow::new(
                vec![Hop { port: index, level }],
                vec![largest],
                Contract::Bucket { burst, bytes, period },
            )
        });
    }
    [burst, bytes, period]
}
