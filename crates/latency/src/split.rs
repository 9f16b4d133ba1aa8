//! How the time that a limit leaves is shared out among the hops.
use alloc::vec::Vec;

use crate::network::Flow;
use crate::units::scale_down;

/// Where time goes that is left when every hop has the least share it can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Split {
    /// To the last hop: it makes no later hop worse.
    Last,
    /// In proportion to the load that other flows put on the ports, with a quarter of each port's rate on top; nothing
    /// for the port of a host that has several queues and no other flow.
    Load,
    /// The same for every hop, as in MIDAS, but counting egress ports.
    Even,
}

/// For each hop, the time it gets beyond its least share; along the way to any subscriber no more than its slack.
/// `loads` are the weights of the hops for [`Split::Load`].
pub(crate) fn extras(flow: &Flow, slacks: &[u64], loads: &[u64], split: Split) -> Vec<u64> {
    let mut extras: Vec<Option<u64>> = flow.tree.iter().map(|_| None).collect();
    for (subscriber, slack) in flow.subscribers.iter().zip(slacks) {
        let way = flow.way_to(subscriber.hop);
        let mut weights: Vec<u64> = way
            .iter()
            .map(|hop| match split {
                Split::Last => 0,
                Split::Load => loads.get(*hop).copied().unwrap_or(0),
                Split::Even => 1,
            })
            .collect();
        let mut sum = weights.iter().fold(0_u64, |sum, weight| sum.saturating_add(*weight));
        if sum == 0 {
            sum = 1;
            if let Some(last) = weights.last_mut() {
                *last = 1;
            }
        }
        for (hop, weight) in way.iter().zip(weights) {
            let part = scale_down(*slack, weight, sum).unwrap_or(0);
            if let Some(extra) = extras.get_mut(*hop) {
                *extra = Some(extra.map_or(part, |least| least.min(part)));
            }
        }
    }
    extras.into_iter().map(|extra| extra.unwrap_or(0)).collect()
}
