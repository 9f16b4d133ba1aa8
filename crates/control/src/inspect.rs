//! What switches and gates have is read back while they are connected, in turns, put right, and counted.
use alloc::string::String;
use core::time::Duration;

use gate::protocol::ContractState;

use crate::action::{Action, GatesContent, SwitchContent};
use crate::fabric::{Inspected, Site};
use crate::note::Note;
use crate::operations::{Kind, Step, Timer};
use crate::reservations::Counts;
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    /// The next look at a site is due after the usual time.
    pub(crate) fn inspect_later(&mut self, now: Duration, site: Site) {
        self.inspect_at(self.fabric.usual_look(now, site, self.config.inspection), site);
    }

    fn inspect_at(&mut self, at: Duration, site: Site) {
        if !self.config.inspection.is_zero() && self.fabric.look_at(at, site) {
            self.operations.wake(at, Timer::Inspect(site));
        }
    }

    /// It is time to look at a site, if this is the time that was set last.
    pub(crate) fn inspect(&mut self, now: Duration, time: Duration, site: Site) {
        let tasks = self.operations.tasks_at(site);
        if let Some(task) = self.fabric.inspect(now, time, site, tasks) {
            self.start(now, Kind::Inspect(site), alloc::vec![Step::of(alloc::vec![task])]);
        }
    }

    /// A switch was read: what has to be done first to put it right, if anything.
    pub(crate) fn compare(&mut self, now: Duration, switch: usize, content: &SwitchContent) -> Option<Step> {
        self.count_entries(now, switch, content);
        self.limit_packets(switch, content);
        self.cables_after_reading(now, switch, content);
        let tagged = self.fabric.tagged_at_switch(now, switch, content);
        tagged.into_iter().for_each(|note| self.note(note));
        let (step, what) = self.fabric.compare(switch, content)?;
        let site = self.fabric.site_name(Site::Switch(switch));
        self.note(Note::Different { site, what });
        Some(step)
    }

    /// A switch was read: what it is to be told for the sake of what it sends the manager.
    pub(crate) fn limit_packets(&mut self, switch: usize, content: &SwitchContent) {
        let (message, note) = self.fabric.packet_limit(switch, content);
        if let Some(message) = message {
            let messages = alloc::vec![message];
            self.operations.act(Action::Send { switch: self.fabric.datapath(switch), messages });
        }
        if let Some(note) = note {
            self.note(note);
        }
    }

    /// Gates were read: what has to be done to put them right, if anything.
    pub(crate) fn compare_gates(
        &mut self,
        now: Duration,
        switch: usize,
        there: &GatesContent,
    ) -> Option<Step> {
        self.count_gates(now, switch, &there.contracts);
        let tagged = self.fabric.tagged_at_gates(now, switch, &there.ports);
        tagged.into_iter().for_each(|note| self.note(note));
        let (step, what) = self.fabric.compare_gates(switch, &there.contracts)?;
        let site = self.fabric.site_name(Site::Gates(switch));
        self.note(Note::Different { site, what });
        Some(step)
    }

    /// A look at a site has ended.
    pub(crate) fn inspected(&mut self, now: Duration, site: Site, failed: Option<String>) {
        let ended = self.fabric.inspected(now, site, failed.is_some(), self.config.inspection);
        let Some(Inspected { found, next }) = ended else { return };
        let name = self.fabric.site_name(site);
        match failed {
            Some(why) => self.note(Note::NotPutRight { site: name, why }),
            None if found => self.note(Note::PutRight(name)),
            None => {}
        }
        match next {
            Some(at) => self.inspect_at(at, site),
            None => self.disconnect(now, site),
        }
    }

    fn count_entries(&mut self, now: Duration, switch: usize, content: &SwitchContent) {
        let site = Site::Switch(switch);
        let Some(asked) = self.fabric.looked_at(site) else { return };
        let network = self.fabric.network();
        let counts = self.reservations.count_entries(network, (asked, now), switch, content);
        self.note_counts(site, counts);
    }

    fn count_gates(&mut self, now: Duration, switch: usize, there: &[ContractState]) {
        let site = Site::Gates(switch);
        let Some(asked) = self.fabric.looked_at(site) else { return };
        let counts = self.reservations.count_gates(self.fabric.network(), (asked, now), switch, there);
        self.note_counts(site, counts);
    }

    fn note_counts(&mut self, site: Site, counts: Counts) {
        let place = self.fabric.site_name(site);
        for (number, frames) in counts.missing {
            if let Some(ends) = self.ends_of_grant(number) {
                self.note(Note::Missing { ends, place: place.clone(), frames });
            }
        }
        for (number, frames) in counts.dropped {
            if let Some(ends) = self.ends_of_grant(number) {
                self.note(Note::Dropped { ends, place: place.clone(), frames });
            }
        }
    }
}
