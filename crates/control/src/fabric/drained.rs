//! Switches that flows are to leave, since an operator wants to do something to them.
use super::Fabric;
use crate::network::Link;

impl Fabric {
    /// Flows are to leave a switch, or may come back. False if that was so before.
    pub(crate) fn set_drained(&mut self, switch: usize, drained: bool) -> bool {
        if drained { self.drained.insert(switch) } else { self.drained.remove(&switch) }
    }

    /// Whether flows are to leave a switch.
    pub(crate) fn is_drained(&self, switch: usize) -> bool {
        self.drained.contains(&switch)
    }

    /// Whether an end of a link is a switch that flows are to leave.
    pub(super) fn touches_drained(&self, link: &Link) -> bool {
        let is =
            |node: usize| self.network.switch_of(node).is_some_and(|switch| self.drained.contains(&switch));
        is(link.from) || is(link.to)
    }

    /// Whether a link leads to or from a switch that flows are to leave.
    pub(crate) fn leads_to_drained(&self, link: usize) -> bool {
        self.network.links.get(link).is_some_and(|link| self.touches_drained(link))
    }
}
