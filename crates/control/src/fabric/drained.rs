//! Switches that flows are to leave, since an operator wants to do something to them.
use alloc::string::String;

use super::Fabric;
use crate::network::Link;

impl Fabric {
    /// Flows are to leave a switch for this reason, or may come back. False if that was so before, for the same reason.
    pub(crate) fn set_drained(&mut self, switch: usize, reason: Option<String>) -> bool {
        let before = self.drained.get(&switch);
        let is_new = before != reason.as_ref();
        match reason {
            Some(reason) => drop(self.drained.insert(switch, reason)),
            None => drop(self.drained.remove(&switch)),
        }
        is_new
    }

    /// Whether flows are to leave a switch.
    pub(crate) fn is_drained(&self, switch: usize) -> bool {
        self.drained.contains_key(&switch)
    }

    /// Why they are, if they are.
    pub(crate) fn drained_for(&self, switch: usize) -> Option<&str> {
        self.drained.get(&switch).map(String::as_str)
    }

    /// Whether an end of a link is a switch that flows are to leave.
    pub(super) fn touches_drained(&self, link: &Link) -> bool {
        let is = |node: usize| {
            self.network.switch_of(node).is_some_and(|switch| self.drained.contains_key(&switch))
        };
        is(link.from) || is(link.to)
    }

    /// Whether a link leads to or from a switch that flows are to leave.
    pub(crate) fn leads_to_drained(&self, link: usize) -> bool {
        self.network.links.get(link).is_some_and(|link| self.touches_drained(link))
    }
}
