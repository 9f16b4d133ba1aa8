//! What is over a switch that is drained: what was there before, or is part of a tree that was.
use std::collections::BTreeMap;

use crate::counts::Fault;
use crate::seeds::Play;

/// Switches that are drained, with the highest number that a grant had when nothing was under way since.
#[derive(Default)]
pub(crate) struct Drained {
    highest: u64,
    since: BTreeMap<usize, u64>,
}

impl Play {
    /// A switch has been drained; nothing was under way before that.
    pub(crate) fn is_drained(&mut self, switch: usize, was_quiet: bool) {
        self.note_numbers();
        if was_quiet {
            self.drained.since.entry(switch).or_insert(self.drained.highest);
        }
    }

    /// A switch is not drained any more.
    pub(crate) fn is_not_drained(&mut self, switch: usize) {
        self.drained.since.remove(&switch);
    }

    /// Another manager goes on with the drains that are stored, and with no others.
    pub(crate) fn drains_go_on(&mut self) {
        let report = self.world.manager.report();
        let drained = report.switches.iter().filter(|switch| switch.drained).map(|switch| &switch.name);
        let stored: Vec<&String> = self.world.stored_drains.keys().collect();
        let mut drained: Vec<&String> = drained.collect();
        drained.sort_unstable();
        assert_eq!(drained, stored, "drained switches, and those that the store knows");
        self.world.counts.add_if(!stored.is_empty(), Fault::DrainedAtStart);
        let names = &self.world.network.switches;
        let is_stored = |switch: &usize| self.world.stored_drains.contains_key(&names[*switch].name);
        self.drained.since.retain(|switch, _| is_stored(switch));
    }

    fn note_numbers(&mut self) {
        let highest = self.world.store.last_key_value().map_or(0, |(number, _)| *number);
        self.drained.highest = self.drained.highest.max(highest);
    }

    /// No flow has come to a drained switch. Trees change their grants without changing their ways.
    pub(crate) fn nothing_new_is_drained(&mut self) {
        self.note_numbers();
        for (switch, highest) in &self.drained.since {
            let name = &self.world.network.switches[*switch].name;
            let new = self.world.store.range(highest + 1..).filter(|(_, grant)| grant.ends.is_empty());
            for (number, grant) in new {
                let is_over = grant.hops.iter().any(|hop| hop.from == *name || hop.to == *name);
                assert!(!is_over, "grant {number} is new, and over {name}, which is drained: {grant:?}");
            }
        }
    }
}
