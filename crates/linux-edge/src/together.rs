//! Commands that are carried out together: routers are told once what has become of all of them, so that a program is started for each kind of
//! step and not for each command.
use std::collections::{BTreeMap, BTreeSet};

use wan::{BackendCommand, Holding};

use crate::backend::{Decided, LinuxEdge, changes};
use crate::entry::{Entry, Tuple};
use crate::program::{Program, Step};
use crate::record::Labels;

/// What comes of several commands.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Together {
    /// What is decided about each of them, in their order.
    pub decided: Vec<Decided>,
    /// What to do at routers before the answers are given.
    pub programs: Vec<Program>,
    /// What takes that back, as far as it was done, apart from what is released.
    pub undo: Vec<Program>,
    /// What takes away what is released: part of `programs`.
    pub released: Vec<Program>,
}

/// Programs of entries, by what has to be there before what.
#[derive(Default)]
struct Staged(Vec<(u8, Program)>);

impl Staged {
    fn push(&mut self, entry: &Entry, programs: Vec<Program>, stages: [u8; 5]) {
        let [ip, tc, rules, record, flow] = stages;
        let stage = |program: &Program| match (&program.step, entry) {
            (Step::Ip(..) | Step::Setting(..), _) => ip,
            (Step::Tc(_) | Step::Colouring(_) | Step::Colour { .. }, _) => tc,
            (Step::Nft(_), Entry::Held { .. }) => record,
            (Step::Nft(_), Entry::Flow { .. }) => flow,
            (Step::Nft(_), _) => rules,
        };
        self.0.extend(programs.into_iter().map(|program| (stage(&program), program)));
    }

    /// In order, steps of one kind at one router beside each other.
    fn programs(mut self) -> Vec<Program> {
        let is_v6 = |program: &Program| matches!(program.step, Step::Ip(true, _));
        self.0.sort_by_key(|(stage, program)| (*stage, program.router, is_v6(program)));
        self.0.into_iter().map(|(_, program)| program).collect()
    }
}

/// What takes these entries away: packets are let in no more before anything goes that they need, and the record that says that an aggregate is
/// held goes last.
fn removal(entries: &[&Entry]) -> Vec<Program> {
    let mut staged = Staged::default();
    for entry in entries.iter().rev() {
        staged.push(entry, entry.remove(), [2, 3, 1, 4, 0]);
    }
    staged.programs()
}

/// What puts entries there or changes them: policers, routes and rules of aggregates first, then the records that these are held, then what lets
/// flows in. So a manager that is killed in between leaves no flow without a policer, and no record of what is not there.
fn addition(before: &[Entry], after: &[Entry]) -> Vec<Program> {
    let mut staged = Staged::default();
    for entry in after {
        let programs = match before.iter().find(|other| other.key() == entry.key()) {
            Some(other) if other == entry => continue,
            Some(other) => match other.change(entry).filter(|_| !other.is_ordered(entry)) {
                Some(change) => change,
                // Some of it has to go first: that order cannot be told by kinds of steps.
                None => return changes(before, after),
            },
            None => entry.add(),
        };
        staged.push(entry, programs, [0, 1, 2, 3, 4]);
    }
    staged.programs()
}

/// By what routers know packets of what a command is about.
#[derive(PartialEq, Eq)]
enum Matched {
    Tuples(BTreeMap<usize, Vec<Tuple>>),
    Labels(Labels),
}

impl LinuxEdge {
    fn matched(&self, command: &BackendCommand) -> Option<Matched> {
        match command {
            BackendCommand::Open { leg, .. } => self.flow(*leg).map(|(_, tuples)| Matched::Tuples(tuples)),
            BackendCommand::Commit { aggregate, .. } => {
                self.aggregate(*aggregate)?.labels.map(Matched::Labels)
            }
            _ => None,
        }
    }

    /// Carries out as many of these commands, from the first one on, as routers can be told of at once: one at least, if there is one. What is
    /// released is free for commands that come after those.
    pub fn together(&mut self, commands: &[BackendCommand]) -> Together {
        let (mut touched, mut before) = (Vec::new(), Vec::new());
        let decided = self.decide_together(commands, |edge, holding| {
            before.extend(edge.entries(&holding));
            touched.push(holding);
        });
        // Tunnels before what goes into them.
        touched.sort_by_key(|holding| matches!(holding, Holding::Flow(_)));
        let after: Vec<Entry> = touched.iter().flat_map(|holding| self.entries(holding)).collect();
        let stays = |entry: &&Entry| after.iter().any(|other| other.key() == entry.key());
        let (kept, gone): (Vec<&Entry>, Vec<&Entry>) = before.iter().partition(stays);
        let kept: Vec<Entry> = kept.into_iter().cloned().collect();
        let released = removal(&gone);
        let mut programs = addition(&kept, &after);
        programs.extend(released.iter().cloned());
        Together { decided, programs, undo: changes(&after, &kept), released }
    }

    /// Decides about as many of these commands, from the first one on, as devices can be told of at once: one at least, if there is one. What a
    /// command may change is told before anything of it is changed, once each.
    pub fn decide_together(
        &mut self,
        commands: &[BackendCommand],
        mut touches: impl FnMut(&Self, Holding),
    ) -> Vec<Decided> {
        let mut known = BTreeSet::new();
        // Numbers, packets or labels have become free.
        let mut frees = false;
        let mut decided = Vec::new();
        for command in commands {
            let needs_what_is_free = match command {
                // One that is opened a second time may have packets that a third one had in between.
                BackendCommand::Open { leg, .. } => frees || known.contains(&Holding::Flow(*leg)),
                BackendCommand::Reserve { aggregate, .. } => frees && self.aggregate(*aggregate).is_none(),
                BackendCommand::Commit { .. } => frees,
                _ => false,
            };
            if needs_what_is_free {
                break;
            }
            for holding in self.touched(command) {
                if known.insert(holding) {
                    touches(self, holding);
                }
            }
            let had = self.matched(command);
            decided.push(self.decide(command.clone()));
            frees |= matches!(command, BackendCommand::Release { .. })
                || had.is_some() && had != self.matched(command);
        }
        decided
    }
}
