//! How the three flows of a bound with losses come into gates and switches, and out of them: all together.
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use latency::ledger::Plan;

use crate::action::{GateChange, StoreChange};
use crate::operations::{Kind, Step, Task};
use crate::reservations::Granted;
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    /// Begins to install three grants that have their places in the ledger; the plan is that of the first one.
    pub(super) fn enter_together(&mut self, now: Duration, plan: Plan, grants: [Granted; 3]) {
        let [number, ..] = grants.each_ref().map(|grant| grant.number);
        let pairs = grants.iter().flat_map(|grant| grant.pairs.iter().copied()).collect::<Vec<_>>();
        grants.into_iter().for_each(|grant| self.reservations.insert(self.fabric.network(), grant));
        pairs.into_iter().for_each(|pair| self.requests.work_on_latest(pair));
        let steps = self.entering_together(number);
        self.start(now, Kind::Admit { number, plan: Box::new(plan) }, steps);
    }

    /// First all gates, then all entries, then the store, which takes all three at once; while it takes none it is asked first.
    fn entering_together(&self, number: u64) -> Vec<Step> {
        let network = self.fabric.network();
        let (mut gates, mut entries, mut stored) = (Step::default(), Step::default(), Step::default());
        let mut all = Vec::new();
        for grant in self.reservations.together(number) {
            if let (Some((key, contract)), Some(switch)) = (grant.gate, network.first_switch(&grant.hops)) {
                let gate = |change, sure| Task::Gate { switch, change, sure };
                gates.tasks.push(gate(GateChange::Set(key, contract), false));
                gates.undo.push(gate(GateChange::Remove(key), true));
            }
            for (switch, entry) in network.flow_entries(grant) {
                let install = |messages, sure| Task::Install { switch, messages, sure };
                entries.tasks.push(install(entry.add(), false));
                entries.undo.push(install(alloc::vec![entry.delete()], true));
            }
            all.push(self.to_store(grant));
            let remove = StoreChange::Remove(grant.number);
            stored.undo.push(Task::Store { change: remove, sure: true });
        }
        stored.tasks.push(Task::Store { change: StoreChange::PutAll(all), sure: false });
        if self.operations.takes_no_grant() {
            return Vec::from([stored, gates, entries]);
        }
        Vec::from([gates, entries, stored])
    }

    /// Takes three grants out of switches and gates: first all entries, then all gates; and when what is queued of any of them has left, out of the store.
    pub(crate) fn release_together(&mut self, now: Duration, number: u64) {
        let network = self.fabric.network();
        let (mut entries, mut gates, mut stored) = (Step::default(), Step::default(), Step::default());
        let mut longest = Duration::ZERO;
        for grant in self.reservations.together(number) {
            for (switch, entry) in network.flow_entries(grant) {
                let messages = alloc::vec![entry.delete()];
                entries.tasks.push(Task::Install { switch, messages, sure: true });
            }
            if let (Some((key, _)), Some(switch)) = (grant.gate, network.first_switch(&grant.hops)) {
                gates.tasks.push(Task::Gate { switch, change: GateChange::Remove(key), sure: true });
            }
            let busy = self.reservations.longest_busy(grant.number);
            longest = longest.max(Duration::from_nanos(grant.longest()).saturating_add(busy));
            let change = StoreChange::Remove(grant.number);
            stored.tasks.push(Task::Store { change, sure: true });
        }
        let hold = Step::of(alloc::vec![Task::Hold(longest)]);
        self.start(now, Kind::Release { number }, Vec::from([entries, gates, hold, stored]));
    }
}
