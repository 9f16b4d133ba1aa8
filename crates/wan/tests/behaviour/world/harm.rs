//! What fails: managers, links, ways between managers, measurements that find less.
use wan::{Input, LinkId};

use super::{Event, Faults, Outcome, World};
use crate::topologies::{CLASSES, MILLISECOND, SECOND};

impl World {
    /// Something fails, now and then.
    pub(super) fn harm(&mut self) {
        let faults = self.faults;
        let at = self.random.below(self.domains.len());
        if self.random.below_u64(10_000) < faults.crash {
            self.crash(at);
        }
        if self.random.below_u64(10_000) < faults.link {
            self.fail_link(at);
        }
        if self.random.below_u64(10_000) < faults.measured {
            let own = at as u32 + 1;
            let of = self.domains[at].config.agreements.iter().filter(|agreement| agreement.from.0 == own);
            let links: Vec<LinkId> = of.map(|agreement| agreement.link).collect();
            let (link, class) = (*self.random.pick(&links).unwrap(), *self.random.pick(&CLASSES).unwrap());
            let rate = self.random.range(0, 1_200) * 10_000;
            self.domains[at].measured.insert((link.0, class), rate);
            self.domains[at].excused = self.domains[at].excused.max(self.now + 9 * SECOND);
            self.counts.measured += 1;
            self.input(at, Input::Measured { link, class, rate });
        }
        if self.random.below_u64(10_000) < faults.aaa {
            self.domains[at].aaa_down_until = self.after(12 * SECOND);
        }
        if faults.device > 0 && self.random.below_u64(10_000) < faults.device {
            self.lose(at);
        }
        if faults.paths > 0 && self.random.below_u64(10_000) < faults.paths {
            self.withdraw(at);
        }
        if self.random.below_u64(10_000) < faults.cut {
            let others = self.domains.len() as u64;
            let (one, other) = (at as u32 + 1, self.random.range(1, others) as u32);
            let pair = (one.min(other), one.max(other));
            self.cuts.insert(pair);
            self.counts.cuts += 1;
            let time = self.after(12 * SECOND);
            self.at(time, Event::Mend(pair.0, pair.1));
        }
    }

    pub(crate) fn crash(&mut self, at: usize) {
        if self.domains[at].manager.take().is_none() {
            return;
        }
        self.counts.crashes += 1;
        // Some of what was under way is durable all the same.
        let durable = self.random.below(self.domains[at].unstored.len() + 1);
        for _ in 0..durable {
            self.domains[at].make_durable();
        }
        self.domains[at].unstored.clear();
        // The back-end hears no more of what it was not told yet.
        let told = self.random.below(self.domains[at].commands.len() + 1);
        self.domains[at].commands.truncate(told);
        self.look_at_store(at);
        let epoch = self.domains[at].epoch;
        for (ticket, (of, in_epoch, _)) in &self.requests {
            if *of == at && *in_epoch == epoch {
                self.outcomes.entry(*ticket).or_insert(Outcome::Unknown);
            }
        }
        let most = if self.random.chance(70) { SECOND } else { 12 * SECOND };
        let time = self.after(most);
        self.at(time, Event::Restart(at));
    }

    /// A link of a domain fails, on both sides.
    pub(crate) fn fail_link(&mut self, at: usize) {
        let links: Vec<LinkId> =
            self.domains[at].config.agreements.iter().map(|agreement| agreement.link).collect();
        let link = *self.random.pick(&links).unwrap();
        let lasts = self.random.range(1, 10_000) * MILLISECOND;
        self.cut_link(link, lasts);
    }

    /// BGP tells a domain some of its paths only, and all of them later.
    fn withdraw(&mut self, at: usize) {
        let mut paths = self.domains[at].paths.clone();
        paths.retain(|_| self.random.chance(60));
        self.counts.fewer_paths += 1;
        self.input(at, Input::Paths(paths));
        let time = self.after(12 * SECOND);
        self.at(time, Event::Paths(at));
    }

    /// BGP tells a domain all paths.
    pub(super) fn all_paths(&mut self, at: usize) {
        let paths = self.domains[at].paths.clone();
        self.input(at, Input::Paths(paths));
    }

    /// A link fails for so long, on both sides.
    pub(crate) fn cut_link(&mut self, link: LinkId, lasts: u64) {
        self.counts.links += 1;
        let back = self.now + lasts;
        for at in 0..self.domains.len() {
            if self.domains[at].config.agreements.iter().any(|agreement| agreement.link == link) {
                let time = self.after(200 * MILLISECOND);
                self.at(time, Event::Link(at, link, false));
                self.at(back + 200 * MILLISECOND, Event::Link(at, link, true));
            }
        }
    }

    /// No more faults; all that is down comes back.
    pub(crate) fn mend(&mut self) {
        self.faults = Faults::default();
        self.cuts.clear();
        self.domains.iter_mut().for_each(|domain| domain.aaa_down_until = 0);
        for at in 0..self.domains.len() {
            if self.domains[at].manager.is_none() {
                self.start(at);
            }
            self.all_paths(at);
        }
    }
}
