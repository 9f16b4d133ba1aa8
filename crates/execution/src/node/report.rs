//! What a node manager reports: all that its host has, at once when there is something new, and now and then.
use alloc::string::String;
use alloc::vec::Vec;

use super::{Doing, NodeAction, NodeManager, Reported, Slot};
use crate::messages::{Epoch, NodeWord, Progress, Report, Stage, State};

impl NodeManager {
    fn states(&self) -> Vec<State> {
        let state = |(name, slot): (&String, &Slot)| State {
            deployment: name.clone(),
            runs: slot.runs,
            change: self.progress(name, slot),
            trouble: slot.trouble.clone(),
            notes: slot.notes.clone(),
        };
        self.slots.iter().map(state).collect()
    }

    fn progress(&self, name: &str, slot: &Slot) -> Option<Progress> {
        let progress = |epoch, reached| Some(Progress { reached, ..Progress::of(epoch) });
        match &slot.doing {
            Doing::Proposed { epoch, reached, .. } => Some(Progress {
                reached: reached.or(Some(Stage::Examine)),
                rounds: slot.rounds,
                published: slot.published.clone(),
                ..Progress::of(*epoch)
            }),
            Doing::Deciding { epoch, .. } => progress(*epoch, None),
            _ => {
                if let Some((epoch, why)) = &slot.failed {
                    return Some(Progress { failed: Some(why.clone()), ..Progress::of(*epoch) });
                }
                let epoch = self.order(name)?.change.as_ref()?.epoch;
                let is_ready = slot.doing == Doing::Nothing && slot.examined == Some(epoch);
                is_ready.then_some(())?;
                progress(epoch, Some(Stage::Examine))
            }
        }
    }

    fn lacks(&self) -> Vec<(String, Epoch)> {
        let wanted = |name: &String| Some((name.clone(), self.wanted(name)?));
        self.slots.keys().filter_map(wanted).collect()
    }

    /// Reports if there is something new.
    pub(super) fn report_news(&mut self, now: u64) {
        let is_news = |(heard, states, lacks): &Reported| {
            *heard != self.heard || *states != self.states() || *lacks != self.lacks()
        };
        if self.reported.as_ref().is_none_or(is_news) {
            self.report(now);
        }
    }

    pub(super) fn report(&mut self, now: u64) {
        let (heard, deployments, lacks) = (self.heard, self.states(), self.lacks());
        self.number += 1;
        self.next_report = now.saturating_add(self.patience.beat);
        self.reported = Some((heard, deployments.clone(), lacks.clone()));
        let (host, incarnation, number) = (self.host.clone(), self.incarnation, self.number);
        let report = Report { host, incarnation, number, heard, deployments, lacks };
        self.actions.push(NodeAction::Send(NodeWord::Report(report)));
    }
}
