//! A switch is drained: flows leave it by other ways where there are such, and nothing new is admitted over it.
//!
//! A flow that leaves gets its new way before it loses the old one: both have a place until then, and its participants are told of no revocation. Where that
//! cannot be, it stays until an operator says that it is to be cut. That a switch is drained is stored: a manager that starts again, or takes over, goes on with it.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::action::StoreChange;
use crate::losses::Role;
use crate::operations::{Kind, Step, Task, Timer};
use crate::requests::{Asked, Progress};
use crate::reservations::{Granted, covers, takes_over};
use crate::resource_manager::ResourceManager;

/// How often is looked whether more flows can leave.
const AGAIN: Duration = Duration::from_secs(1);

/// How far a switch is drained.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Drained {
    /// The switch.
    pub switch: String,
    /// Flows that are on their way to another way, or out.
    pub leaving: Vec<String>,
    /// Flows that cannot leave, each with why: with force they are cut.
    pub staying: Vec<Staying>,
    /// Whether it is stored that the switch is drained, or is not any more: a manager that starts before goes on with what was stored last.
    pub stored: bool,
}

/// The format of [`StoredDrain`]; another number is not understood.
const FORMAT: u32 = 1;

/// The stored record of a switch that is drained.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoredDrain {
    format: u32,
    /// The switch.
    pub switch: String,
    /// Why flows are to leave it.
    pub reason: String,
}

impl StoredDrain {
    /// A switch is drained for this reason.
    pub const fn new(switch: String, reason: String) -> Self {
        Self { format: FORMAT, switch, reason }
    }

    /// Why the record that was stored under the name of a switch is not understood, in words.
    ///
    /// # Errors
    /// It is of another format, or of another switch.
    pub fn check(&self, switch: &str) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("its format is {}, and {FORMAT} is what this program reads", self.format));
        }
        if self.switch != switch {
            return Err(format!("it is of switch {:?}", self.switch));
        }
        Ok(())
    }
}

/// A flow that cannot leave a switch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Staying {
    /// Topic, writer and reader.
    pub flow: String,
    /// Why it cannot leave.
    pub why: String,
}

impl ResourceManager {
    /// Flows leave a switch; with `force` those that cannot are revoked with this reason, and admitted another way if there is one once they are gone.
    /// It is told again with each call how far that is. It is stored.
    ///
    /// # Errors
    /// The network has no such switch.
    pub fn drain(
        &mut self,
        now: Duration,
        switch: &str,
        force: bool,
        reason: &str,
    ) -> Result<Drained, String> {
        let index = self.switch_called(switch)?;
        let is_new = self.fabric.set_drained(index, Some(reason.into()));
        self.fabric.rebuild_topology();
        if is_new {
            let change = StoreChange::Drain(StoredDrain::new(switch.into(), reason.into()));
            self.store_drain(now, change);
        }
        let staying = self.leave_switch(now, index);
        let mut told =
            Drained { switch: switch.into(), leaving: Vec::new(), staying: Vec::new(), stored: false };
        for (number, why) in staying {
            if force {
                let reason = format!("switch {switch} is drained: {reason}");
                self.revoke(now, number, &reason);
            } else {
                let flow = self.flow_of_grant(number);
                if told.staying.iter().all(|staying| staying.flow != flow) {
                    told.staying.push(Staying { flow, why });
                }
            }
        }
        let stay: BTreeSet<&String> = told.staying.iter().map(|staying| &staying.flow).collect();
        let all = self.grants_over(index).map(|grant| self.flow_of_grant(grant.number));
        let leaving: Vec<String> = all.filter(|flow| !stay.contains(flow)).collect();
        told.leaving = leaving;
        self.operations.wake(now.saturating_add(AGAIN), Timer::Drain(index));
        self.work(now);
        told.stored = self.is_drain_stored(switch);
        Ok(told)
    }

    /// Flows may come back to a switch.
    ///
    /// # Errors
    /// The network has no such switch, or it is not drained.
    pub fn undrain(&mut self, now: Duration, switch: &str) -> Result<(), String> {
        let index = self.switch_called(switch)?;
        if !self.fabric.set_drained(index, None) {
            return Err(format!("switch {switch} is not drained"));
        }
        self.fabric.rebuild_topology();
        self.store_drain(now, StoreChange::Undrain(switch.into()));
        self.requests.look_again();
        self.work(now);
        Ok(())
    }

    /// Whether the store has what was said last of a switch: that it is drained, or not any more.
    pub fn is_drain_stored(&self, switch: &str) -> bool {
        !self.operations.is_unstored(switch)
    }

    /// What an earlier manager has stored: these switches are drained from now on. Once, with [`Self::restore`], before anything else. Those that the network does
    /// not have any more are given back, and forgotten.
    pub fn restore_drains(&mut self, now: Duration, drains: Vec<StoredDrain>) -> Vec<StoredDrain> {
        let mut unknown = Vec::new();
        for drain in drains {
            let Ok(index) = self.switch_called(&drain.switch) else {
                self.store_drain(now, StoreChange::Undrain(drain.switch.clone()));
                unknown.push(drain);
                continue;
            };
            self.fabric.set_drained(index, Some(drain.reason));
            self.operations.wake(now.saturating_add(AGAIN), Timer::Drain(index));
        }
        self.fabric.rebuild_topology();
        unknown
    }

    fn store_drain(&mut self, now: Duration, change: StoreChange) {
        let task = Task::Store { change, sure: true };
        self.start(now, Kind::Store, alloc::vec![Step::of(alloc::vec![task])]);
    }

    /// A switch may have been drained, or not any more, since it was said what is to be stored of it.
    pub(crate) fn renew_drain(&self, change: &mut StoreChange) {
        let name = match change {
            StoreChange::Drain(drain) => &drain.switch,
            StoreChange::Undrain(name) => name,
            StoreChange::Put(_) | StoreChange::PutAll(_) | StoreChange::Remove(_) => return,
        };
        let reason = self.switch_called(name).ok().and_then(|index| self.fabric.drained_for(index));
        *change = match reason {
            Some(reason) => StoreChange::Drain(StoredDrain::new(name.clone(), reason.into())),
            None => StoreChange::Undrain(name.clone()),
        };
    }

    fn switch_called(&self, name: &str) -> Result<usize, String> {
        let found = self.fabric.network().switches.iter().position(|switch| switch.name == name);
        found.ok_or_else(|| {
            let name: String = name.chars().take(64).collect();
            format!("the network has no switch \"{name}\"")
        })
    }

    /// More flows may be able to leave by now.
    pub(crate) fn drain_on(&mut self, now: Duration, switch: usize) {
        if self.fabric.is_drained(switch) {
            self.leave_switch(now, switch);
            self.operations.wake(now.saturating_add(AGAIN), Timer::Drain(switch));
        }
    }

    fn grants_over(&self, switch: usize) -> impl Iterator<Item = &Granted> {
        let node = self.fabric.network().switch_node(switch);
        let leads =
            move |link: usize| self.fabric.network().links.get(link).is_some_and(|link| link.to == node);
        self.reservations.all().filter(move |grant| grant.hops.iter().any(|hop| leads(hop.link)))
    }

    fn flow_of_grant(&self, number: u64) -> String {
        self.ends_of_grant(number).map_or_else(|| "a flow without a reader".into(), |ends| ends.to_string())
    }

    /// Flows over a switch begin to leave it, the more important ones first: those that cannot, and why.
    fn leave_switch(&mut self, now: Duration, switch: usize) -> Vec<(u64, String)> {
        let stays = |grant: &&Granted| !grant.is_leaving() && grant.covered_by.is_none();
        let over = self.grants_over(switch).filter(stays);
        let mut over: Vec<(u8, u64)> = over.map(|grant| (grant.contract.importance, grant.number)).collect();
        over.sort_unstable_by(|one, other| (other.0, one.1).cmp(&(one.0, other.1)));
        let mut staying = Vec::new();
        for (_, number) in over {
            // What another one is about to take the place of is on its way.
            if self.reservations.is_being_changed(number) {
                continue;
            }
            if let Err(why) = self.leave_by_another_way(now, number) {
                staying.push((number, why));
            }
        }
        staying
    }

    /// A flow gets another way in place of the one that it has, which it keeps until then.
    pub(crate) fn leave_by_another_way(&mut self, now: Duration, number: u64) -> Result<(), String> {
        let wait = || String::from("it is being changed: it leaves afterwards, if it can");
        let grant = self.reservations.get(number).ok_or_else(wait)?;
        if !grant.is_held() || self.operations.is_moving(number) {
            return Err(wait());
        }
        if grant.is_tree() {
            return Err("it serves several readers, and would be interrupted".into());
        }
        if grant.role != Role::Alone {
            return Err("it has a bound with losses and so three flows, and would be interrupted".into());
        }
        let pairs = grant.pairs.clone();
        let is_settled = |asked: &Asked| {
            matches!(asked.progress, Progress::Answered { .. }) && asked.grant == Some(number)
        };
        let settled = pairs.iter().all(|pair| self.requests.get(*pair).is_some_and(is_settled));
        let pair = pairs.first().filter(|_| settled).ok_or_else(wait)?;
        let wish = self.examine(*pair).map_err(|_| wait())?;
        let wish = self.requests.for_all(&wish, &pairs);
        let flow = self.fabric.network().flow(&wish).ok_or_else(wait)?;
        let trees = self.fabric.trees(&wish, self.config.ways);
        if trees.is_empty() {
            return Err(self.fabric.no_way(&wish));
        }
        let before = self.reservations.begin_work();
        let planned = self.reservations.plan(&flow, &trees);
        self.reservations.end_work(before);
        let plan = planned.map_err(|_| String::from("on its other ways there is no room for it"))?;
        if !plan.phases.is_empty() && (self.operations.changing() > 0 || self.immovable(&plan).is_some()) {
            return Err("others have to make room for it, which takes a moment".into());
        }
        let at = pairs.iter().map(|pair| (*pair, 0)).collect();
        let granted =
            self.reservations.granted(self.fabric.network(), &plan, &wish, alloc::vec![number], at)?;
        let old = self.reservations.get(number).ok_or_else(wait)?;
        // On a way that is cut there is nothing to interrupt.
        let suits =
            if self.way_is_cut(old).is_some() { takes_over(&granted, old) } else { covers(&granted, old) };
        if !suits {
            return Err(
                "what holds it to its contract would have to be another one: it would be interrupted".into(),
            );
        }
        self.install(now, plan, granted);
        Ok(())
    }

    /// A flow that was to get another way did not, and has what it had: true if its pair is served as before.
    pub(crate) fn keeps_former(&mut self, pair: crate::action::Pair, former: Option<u64>) -> bool {
        let Some(old) = former.and_then(|former| self.reservations.get(former)) else { return false };
        let answered = old.serials.get(&pair).copied();
        let same = |asked: &Asked| asked.grant == former && answered == Some(asked.request.serial);
        let keeps = old.is_held() && old.pairs.contains(&pair) && self.requests.get(pair).is_some_and(same);
        if keeps {
            self.requests.stays(pair);
        }
        keeps
    }
}
