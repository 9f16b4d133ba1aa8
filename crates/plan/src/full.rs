//! Ports that the file declares full: the flows of the file are all that they will ever have.
use latency::ledger::FlowId;

use crate::planning::{Plan, Verdict};

impl Plan<'_> {
    /// All flows of the file have been looked at. Shares at full ports are taken down to what these need, which may leave room to flows that
    /// were refused: those get another turn, at full ports as well, since they are in the file. What comes later finds these ports closed.
    pub(crate) fn close(&mut self) {
        let full = self.network.full();
        if full.is_empty() || self.is_lost() {
            return;
        }
        self.take_down();
        self.ledger.declare_full([]);
        let refused = (0..)
            .zip(&self.flows)
            .filter(|(_, (asked, verdict))| matches!(verdict, Verdict::Refused(_)) && asked.losses.is_none());
        let refused: Vec<FlowId> =
            refused.map(|(id, _)| id).filter(|id| self.repairs_of(*id).is_none()).collect();
        let mut is_changed = false;
        for id in refused {
            let Ok(at) = usize::try_from(id) else { continue };
            let Some(asked) = self.flows.get(at).map(|(asked, _)| asked.clone()) else { continue };
            self.begin();
            let verdict = self.admit(id, &asked, false);
            if self.is_lost() {
                break;
            }
            if let (Some((_, before)), Verdict::Admitted { .. }) = (self.flows.get_mut(at), &verdict) {
                *before = verdict;
                is_changed = true;
            }
        }
        self.ledger.declare_full(full.iter().copied());
        if is_changed {
            self.take_down();
        }
    }

    fn take_down(&mut self) {
        self.ledger.declare_full(self.network.full().iter().copied());
        self.begin();
        self.ledger.take_down();
    }
}
