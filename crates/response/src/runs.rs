//! The work of a delivery: the steps of the handler with those of all handlers that it calls directly.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::system::{Step, System, Target, Time};
use crate::work::{Reason, Work, add};

/// The run of a handler for a delivery, with direct calls.
#[derive(Clone, Default, Debug)]
pub(crate) struct Run {
    /// Most processor time of the steps.
    pub(crate) most: Time,
    /// Least processor time of the steps.
    pub(crate) least: Time,
    /// How often it acquires the lock of each component.
    pub(crate) acquired: BTreeMap<usize, u64>,
    /// For which time it holds locks: by component and those that it holds meanwhile.
    pub(crate) sections: BTreeMap<(usize, Vec<usize>), Section>,
    /// Its pushes over connections that are not direct.
    pub(crate) pushes: BTreeMap<usize, Push>,
    /// The direct connections that it calls over, and the ports that it so reaches.
    pub(crate) calls: BTreeMap<usize, Push>,
    /// The same by port.
    pub(crate) reached: BTreeMap<usize, Push>,
}

/// A time for which a lock is held.
#[derive(Clone, Default, Debug)]
pub(crate) struct Section {
    /// Most processor time of the steps.
    pub(crate) most: Time,
    /// How often locks are acquired meanwhile.
    pub(crate) nested: BTreeMap<usize, u64>,
}

/// Pushes of one run over one connection.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Push {
    /// How many at most.
    pub(crate) count: u64,
    /// Least time of steps before the first.
    pub(crate) before: Time,
    /// Whether there is one in each run.
    pub(crate) certain: bool,
}

/// The run of a port's handler.
pub(crate) fn run_of(
    system: &System,
    by_output: &BTreeMap<usize, Vec<usize>>,
    port: usize,
    work: &Work,
) -> Result<Run, Reason> {
    let mut expansion =
        Expansion { system, by_output, work, run: Run::default(), open: Vec::new(), held: Vec::new() };
    expansion.handler(port, true)?;
    Ok(expansion.run)
}

struct Expansion<'s> {
    system: &'s System,
    by_output: &'s BTreeMap<usize, Vec<usize>>,
    work: &'s Work,
    run: Run,
    /// For each lock that is held, what was acquired since.
    open: Vec<BTreeMap<usize, u64>>,
    held: Vec<usize>,
}

impl Expansion<'_> {
    fn handler(&mut self, index: usize, certain: bool) -> Result<(), Reason> {
        self.work.step()?;
        let Some(port) = self.system.ports.get(index) else { return Ok(()) };
        let locks = self.system.components.get(port.component).is_some_and(|component| component.serialised);
        let since = self.run.most;
        if locks {
            let nested = core::iter::once(&mut self.run.acquired).chain(&mut self.open);
            for counts in nested {
                *counts.entry(port.component).or_default() += 1;
            }
            self.open.push(BTreeMap::new());
            self.held.push(port.component);
        }
        for step in &port.steps {
            match *step {
                Step::Run { least, most } => {
                    self.run.least = add(self.run.least, least)?;
                    self.run.most = add(self.run.most, most)?;
                }
                Step::Push { output, optional } => self.push(output, certain && !optional)?,
            }
        }
        if locks && let (Some(nested), Some(component)) = (self.open.pop(), self.held.pop()) {
            let section = self.run.sections.entry((component, self.held.clone())).or_default();
            section.most = section.most.max(self.run.most - since);
            for (lock, count) in nested {
                let most = section.nested.entry(lock).or_default();
                *most = count.max(*most);
            }
        }
        Ok(())
    }

    fn push(&mut self, output: usize, certain: bool) -> Result<(), Reason> {
        let before = self.run.least;
        let system = self.system;
        let indices = self.by_output.get(&output).into_iter().flatten();
        let of = || indices.clone().filter_map(|index| Some((*index, system.connections.get(*index)?)));
        for (index, _) in of().filter(|(_, it)| !matches!(it.target, Target::Direct(_))) {
            self.work.step()?;
            note(&mut self.run.pushes, index, before, certain)?;
        }
        for (index, connection) in of() {
            let Target::Direct(port) = connection.target else { continue };
            self.work.step()?;
            let least = self.run.least;
            // It is called for by the push, also while calls of the same push before it run.
            note(&mut self.run.calls, index, before, certain)?;
            note(&mut self.run.reached, port, before, certain)?;
            self.handler(port, certain)?;
            if !certain {
                self.run.least = least;
            }
        }
        Ok(())
    }
}

fn note(pushes: &mut BTreeMap<usize, Push>, index: usize, before: Time, certain: bool) -> Result<(), Reason> {
    let first = Push { count: 0, before, certain: false };
    let push = pushes.entry(index).or_insert(first);
    push.count = add(push.count, 1)?;
    push.before = push.before.min(before);
    push.certain |= certain;
    Ok(())
}
