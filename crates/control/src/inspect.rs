//! What switches and gates have is read back while they are connected, in turns, put right, and counted.
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use gate::protocol::ContractState;

use crate::action::{GateKey, SwitchContent};
use crate::counted::{Place, Reading};
use crate::fabric::{Inspected, Site, flow_of};
use crate::note::Note;
use crate::operations::{Kind, Step, Timer};
use crate::resource_manager::ResourceManager;
use crate::state::Granted;

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
        let (step, what) = self.fabric.compare(switch, content)?;
        let site = self.fabric.site_name(Site::Switch(switch));
        self.note(Note::Different { site, what });
        Some(step)
    }

    /// Gates were read: what has to be done to put them right, if anything.
    pub(crate) fn compare_gates(
        &mut self,
        now: Duration,
        switch: usize,
        there: &[ContractState],
    ) -> Option<Step> {
        self.count_gates(now, switch, there);
        let (step, what) = self.fabric.compare_gates(switch, there)?;
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
        let Some(asked) = self.fabric.looked_at(Site::Switch(switch)) else { return };
        let mut missing = Vec::new();
        for flow in &content.flows {
            let Some(number) = flow_of(flow.cookie) else { continue };
            let Some(grant) = self.grants.get(&number) else { continue };
            let age = Duration::new(flow.age.seconds.into(), 0);
            let since = now.saturating_sub(age);
            let reading = Reading { asked, answered: now, since, frames: flow.traffic.packets };
            if grant.gate.is_none() && self.fabric.network().first_switch(&grant.hops) == Some(switch) {
                self.counted.first(number, Place::Entry(switch), reading);
            } else if let Some(frames) = self.counted.behind(number, switch, reading) {
                missing.push((number, frames));
            }
        }
        let place = self.fabric.site_name(Site::Switch(switch));
        for (number, frames) in missing {
            if let Some(ends) = self.ends_of_grant(number) {
                self.note(Note::Missing { ends, place: place.clone(), frames });
            }
        }
        let of_meters = |grant: &Granted| Some((grant.meter?, grant.number));
        let at = |grant: &&Granted| self.fabric.network().first_switch(&grant.hops) == Some(switch);
        let meters: Vec<(u32, u64)> = self.grants.values().filter(at).filter_map(of_meters).collect();
        for (meter, number) in meters {
            let Some(stats) = content.counters.iter().find(|stats| stats.meter.0 == meter) else { continue };
            let dropped = stats.bands.iter().map(|band| band.packets).fold(0, u64::saturating_add);
            self.count_dropped(now, number, dropped, &place);
        }
    }

    fn count_gates(&mut self, now: Duration, switch: usize, there: &[ContractState]) {
        let gate = |grant: &Granted| {
            let (key, _) = grant.gate?;
            (self.fabric.network().first_switch(&grant.hops) == Some(switch)).then_some((key, grant.number))
        };
        let Some(asked) = self.fabric.looked_at(Site::Gates(switch)) else { return };
        let grants: Vec<(GateKey, u64)> = self.grants.values().filter_map(gate).collect();
        let place = self.fabric.site_name(Site::Gates(switch));
        for (key, number) in grants {
            let Some(found) = there.iter().find(|found| (found.port, found.key) == (key.port, key.flow))
            else {
                continue;
            };
            let frames = found.counters.frames;
            let reading = Reading { asked, answered: now, since: Duration::ZERO, frames };
            self.counted.first(number, Place::Guard, reading);
            self.count_dropped(now, number, found.counters.dropped(), &place);
        }
    }

    fn count_dropped(&mut self, now: Duration, number: u64, dropped: u64, place: &str) {
        let Some(frames) = self.counted.dropped(now, number, dropped) else { return };
        if let Some(ends) = self.ends_of_grant(number) {
            self.note(Note::Dropped { ends, place: place.into(), frames });
        }
    }
}
