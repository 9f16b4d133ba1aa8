//! The verdict of a pair that is admitted with losses.
use alloc::boxed::Box;
use alloc::vec::Vec;

use latency::repair::{Conduct, Ways};
use latency::units::NANOSECOND;
use wire::admission::{Repairs, Request, Verdict};

use super::{Role, Together};
use crate::operations::Task;
use crate::reservations::{End, Granted, dscp};
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    /// The verdict of a pair that a grant serves.
    pub(crate) fn admission(&self, grant: &Granted, request: &Request) -> Verdict {
        let losses = self.repairs_of(grant, None).unwrap_or_default();
        Verdict { losses, ..self.requests.admission(grant, request) }
    }

    /// What both sides of a pair keep that is served with losses; `changed` is one of the flows beside as it is to be, in place of how it is.
    fn repairs_of(&self, grant: &Granted, changed: Option<&Granted>) -> Option<Repairs> {
        let together = grant.role.together()?;
        let beside = together.beside.map(|number| {
            changed.filter(|changed| changed.number == number).or_else(|| self.reservations.get(number))
        });
        let [repairs, questions] = beside;
        let (repairs, questions) = (repairs?, questions?);
        let class = |grant: &Granted| dscp(grant.hops.first().map_or(0, |hop| hop.level));
        Some(Repairs {
            frames: together.asked.frames,
            repairs_dscp: class(repairs),
            questions_dscp: class(questions),
            datagram: together.datagram,
            repairs: together.asked.repairs,
            questions: together.asked.questions,
            answered_at: together.asked.answered_at,
            within: together.asked.within,
            heartbeat: together.heartbeat,
            patience: together.patience,
            again: together.again,
            spacing: together.spacing,
            without: grant.ends.first().map_or(0, |end| end.maximum_latency),
        })
    }

    /// The verdicts that say of a flow beside others that it has another class; none of any other flow.
    pub(crate) fn announcements_beside(&self, changed: &Granted) -> Vec<Task> {
        let leader = changed.role.leader().and_then(|number| self.reservations.get(number));
        let Some(leader) = leader else { return Vec::new() };
        let asked = leader.pairs.iter().filter_map(|pair| self.requests.get(*pair));
        asked
            .map(|asked| {
                let losses = self.repairs_of(leader, Some(changed)).unwrap_or_default();
                let verdict = self.requests.admission(leader, &asked.request);
                Task::Announce(Box::new(Verdict { serial: asked.verdict.serial, losses, ..verdict }))
            })
            .collect()
    }

    /// The verdicts that are repeated say where the flows beside are now.
    pub(crate) fn moved_beside(&mut self, number: u64) {
        let Some(leader) = self.reservations.get(number).and_then(|grant| grant.role.leader()) else {
            return;
        };
        let Some(grant) = self.reservations.get(leader) else { return };
        let Some(losses) = self.repairs_of(grant, None) else { return };
        for pair in grant.pairs.clone() {
            self.requests.set_repairs(pair, leader, losses);
        }
    }

    /// The worst case at an end of a grant with the flows that there are now, in picoseconds: with losses if it is promised with them.
    pub(crate) fn present(&self, grant: &Granted, end: &End) -> Option<u64> {
        let first = self.reservations.present(grant, end)?;
        let Role::Samples(together) = grant.role else { return Some(first) };
        let [repair, question] = together.beside.map(|number| {
            let grant = self.reservations.get(number)?;
            self.reservations.present(grant, grant.ends.first()?)
        });
        self.bound_of(&together, [first, repair?, question?])
    }

    /// The bound of three flows of which the samples, the repairs and the questions take no longer than this, in picoseconds. `None` if there is
    /// none: also if hosts take longer, or clocks run further apart, than the waits allow for.
    fn bound_of(&self, together: &Together, [sample, repair, question]: [u64; 3]) -> Option<u64> {
        let Together { asked, heartbeat, patience, again, spacing, .. } = *together;
        let reaction = u64::try_from(self.config.losses?.as_nanos()).ok()?.checked_mul(NANOSECOND)?;
        let drift = self.fabric.network().links.iter().map(|link| link.port.imperfections.drift).max()?;
        let time = |nanoseconds: u64| nanoseconds.checked_mul(NANOSECOND);
        let ways = Ways { sample, question, repair, spacing: time(spacing)?, reaction, drift };
        let conduct = Conduct { heartbeat: time(heartbeat)?, patience: time(patience)?, again: time(again)? };
        ways.latest(&conduct, asked.frames.into())?.sum()
    }

    /// Whether the bound of a stored flow with losses still holds: hosts may react later than before, and clocks run further apart. The flows
    /// beside it are there already; where they are not, [`Self::end_incomplete`] ends what is left.
    pub(crate) fn keeps_bound(&self, grant: &Granted, together: &Together) -> bool {
        let [repairs, questions] = together.beside.map(|number| self.reservations.get(number));
        let (Some(repairs), Some(questions), Some(_)) = (repairs, questions, self.config.losses) else {
            return true;
        };
        let limit = |grant: &Granted| grant.ends.first()?.maximum_latency.checked_mul(NANOSECOND);
        let bound = || self.bound_of(together, [limit(grant)?, limit(repairs)?, limit(questions)?]);
        let promised = together.promised.checked_mul(NANOSECOND);
        bound().zip(promised).is_some_and(|(bound, promised)| bound <= promised)
    }
}
