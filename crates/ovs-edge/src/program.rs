//! What is to be done at switches, as data: flows and meters as `ovs-ofctl` reads them.
use std::collections::BTreeMap;

/// Which flow it is: there is one at most in a switch with the same table, priority and match.
pub type Key = (u8, u16, String);

/// A flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    /// What it is for.
    pub cookie: u64,
    /// What it does.
    pub actions: String,
}

/// What a switch has, or a part of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Content {
    /// Flows.
    pub flows: BTreeMap<Key, Flow>,
    /// Meters by their numbers.
    pub meters: BTreeMap<u32, String>,
}

/// Changes at one switch: meters first, then flows all at once, then meters that no flow needs any more.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// Meters that are new, and those that change.
    pub meters: Vec<(u32, String, bool)>,
    /// Lines of flows, for one bundle.
    pub flows: Vec<String>,
    /// Meters that go.
    pub gone: Vec<u32>,
}

fn line(verb: &str, (table, priority, matching): &Key, rest: &str) -> String {
    let comma = if matching.is_empty() { "" } else { "," };
    format!("{verb} table={table},priority={priority}{comma}{matching}{rest}")
}

impl Content {
    /// Adds a flow.
    pub(crate) fn flow(
        &mut self,
        cookie: u64,
        (table, priority): (u8, u16),
        matching: String,
        actions: String,
    ) {
        self.flows.insert((table, priority, matching), Flow { cookie, actions });
    }

    /// Adds all of another one.
    pub(crate) fn add(&mut self, other: Self) {
        self.flows.extend(other.flows);
        self.meters.extend(other.meters);
    }

    /// All flows as a file of `ovs-ofctl`.
    pub fn file(&self) -> String {
        let one = |(key, flow): (&Key, &Flow)| {
            let line = line("", key, &format!(",cookie={:#x},actions={}\n", flow.cookie, flow.actions));
            line.trim_start().to_owned()
        };
        self.flows.iter().map(one).collect()
    }

    /// What makes another one of it.
    pub fn change(&self, to: &Self) -> Program {
        let mut program = Program::default();
        for (id, text) in &to.meters {
            if self.meters.get(id) != Some(text) {
                program.meters.push((*id, text.clone(), self.meters.contains_key(id)));
            }
        }
        for (key, flow) in to.flows.iter().filter(|(key, flow)| self.flows.get(*key) != Some(flow)) {
            let rest = format!(",cookie={:#x},actions={}", flow.cookie, flow.actions);
            program.flows.push(line("add", key, &rest));
        }
        for key in self.flows.keys().filter(|key| !to.flows.contains_key(*key)) {
            program.flows.push(line("delete_strict", key, ""));
        }
        program.gone = self.meters.keys().filter(|id| !to.meters.contains_key(id)).copied().collect();
        program
    }
}

impl Program {
    /// Nothing is to be done.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
