//! The tree of links between switches that carries what is not admitted: between any two switches there is one way at
//! most, so that nothing goes round.
use alloc::collections::{BTreeSet, VecDeque};

use crate::network::Network;

/// Both directions of the links of a tree over the switches that `serves` holds for, by links that `is_up` holds for. From
/// each part that hangs together the switch with the least number is the root; ways are the shortest.
pub(crate) fn tree(
    network: &Network,
    serves: impl Fn(usize) -> bool,
    is_up: impl Fn(usize) -> bool,
) -> BTreeSet<usize> {
    let mut tree = BTreeSet::new();
    let mut reached = BTreeSet::new();
    for root in (0..network.switches.len()).filter(|switch| serves(*switch)) {
        if !reached.insert(root) {
            continue;
        }
        let mut waiting = VecDeque::from([root]);
        while let Some(switch) = waiting.pop_front() {
            for (index, link) in network.leaving(network.switch_node(switch)) {
                let Some(next) = network.switch_of(link.to).filter(|next| serves(*next)) else { continue };
                let back = Network::back(index);
                if is_up(index) && is_up(back) && reached.insert(next) {
                    tree.extend([index, back]);
                    waiting.push_back(next);
                }
            }
        }
    }
    tree
}

/// The link by which a switch reaches a host along the tree; `None` if it does not.
pub(crate) fn towards(
    network: &Network,
    tree: &BTreeSet<usize>,
    switch: usize,
    host: usize,
) -> Option<usize> {
    let (_, access) = network.access(host)?;
    let last = network.links.get(access)?.from;
    if last == network.switch_node(switch) {
        return Some(access);
    }
    // From the host's switch outwards: the link by which the switch is reached, backwards.
    let mut reached = BTreeSet::from([last]);
    let mut waiting = VecDeque::from([last]);
    while let Some(node) = waiting.pop_front() {
        for (index, link) in network.leaving(node).filter(|(index, _)| tree.contains(index)) {
            if link.to == network.switch_node(switch) {
                return Some(Network::back(index));
            }
            if reached.insert(link.to) {
                waiting.push_back(link.to);
            }
        }
    }
    None
}
