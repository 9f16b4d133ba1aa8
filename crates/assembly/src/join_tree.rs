//! The join of a port as a tree: its parts are connections, and groups of the port that are joins themselves.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;

use crate::plan::{Join, JoinKind, KeepPolicy, Port};

/// How deep joins are in each other. A channel takes twice as many levels, since silence is one of its own.
pub const DEEPEST_JOIN: usize = 6;

/// A join with its parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JoinTree<'p> {
    /// The name of the group; `None` of the join of the port.
    pub group: Option<&'p str>,
    /// What the plan says of it.
    pub join: &'p Join,
    /// Its parts.
    pub parts: Vec<JoinPart<'p>>,
}

/// A part of a join.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JoinPart<'p> {
    /// A connection.
    Connection(&'p str),
    /// A group.
    Group(JoinTree<'p>),
}

/// A join whose parts are connections, each once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlatJoin<'p> {
    /// When its parts call the handler.
    pub kind: JoinKind,
    /// Its connections.
    pub parts: Vec<&'p str>,
    /// For [`JoinKind::Conjunction`]: which events a part keeps.
    pub keep: KeepPolicy,
    /// For [`KeepPolicy::All`]: how many of each part.
    pub most: Option<u16>,
    /// For [`JoinKind::Conjunction`]: picoseconds after which what was kept is given up.
    pub within: Option<u64>,
}

/// Why no flat join does the same as a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotFlat<'p> {
    /// The group, or the join of the port, has timeouts.
    Timeouts(Option<&'p str>),
    /// The group is more than one part of the join that it is in.
    Group(&'p str),
    /// The connection is in several parts of a conjunction.
    Several(&'p str),
}

impl Port {
    /// Its join as a tree. A group that is a part a second time, or too deep in others, is left out: the check refuses such a plan.
    pub fn join_tree(&self) -> Option<JoinTree<'_>> {
        Some(self.tree_of(None, self.join.as_ref()?, 1, &mut BTreeSet::new()))
    }

    fn tree_of<'p>(
        &'p self,
        group: Option<&'p str>,
        join: &'p Join,
        depth: usize,
        known: &mut BTreeSet<&'p str>,
    ) -> JoinTree<'p> {
        let mut parts = Vec::new();
        for part in &join.parts {
            let Some((name, inner)) = self.groups.get_key_value(part) else {
                parts.push(JoinPart::Connection(part));
                continue;
            };
            if depth < DEEPEST_JOIN && known.insert(name) {
                parts.push(JoinPart::Group(self.tree_of(Some(name), inner, depth + 1, known)));
            }
        }
        JoinTree { group, join, parts }
    }
}

impl<'p> JoinTree<'p> {
    /// Its connections, each once, in the order in which it names them.
    pub fn connections(&self) -> Vec<&'p str> {
        let mut all = Vec::new();
        self.each(&mut |_, connection| {
            if !all.contains(&connection) {
                all.push(connection);
            }
        });
        all
    }

    /// The filters of the joins that each connection leads to.
    pub fn filters(&self) -> BTreeMap<&'p str, BTreeSet<&'p str>> {
        let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        self.each(&mut |joins, connection| {
            let filters = joins.iter().filter_map(|join| join.filter.as_deref());
            all.entry(connection).or_default().extend(filters);
        });
        all.retain(|_, filters| !filters.is_empty());
        all
    }

    /// Calls with each place of a connection, and the joins that it is in from the outermost on.
    fn each(&self, call: &mut dyn FnMut(&[&'p Join], &'p str)) {
        self.each_below(&mut Vec::new(), call);
    }

    fn each_below(&self, outer: &mut Vec<&'p Join>, call: &mut dyn FnMut(&[&'p Join], &'p str)) {
        outer.push(self.join);
        for part in &self.parts {
            match part {
                JoinPart::Connection(name) => call(outer, name),
                JoinPart::Group(group) => group.each_below(outer, call),
            }
        }
        outer.pop();
    }

    /// Whether what comes may be kept until other parts have something.
    pub fn waits(&self) -> bool {
        let inner = self.parts.iter().any(|part| matches!(part, JoinPart::Group(group) if group.waits()));
        inner || self.join.kind == JoinKind::Conjunction
    }

    /// The flat join that makes the same deliveries of what passes the filters.
    ///
    /// # Errors
    /// There is none.
    pub fn flat(&self) -> Result<FlatJoin<'p>, NotFlat<'p>> {
        let join = self.join;
        if join.every.or(join.after).or(join.silence).is_some() {
            return Err(NotFlat::Timeouts(self.group));
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in &self.parts {
            let group = match part {
                JoinPart::Connection(name) => {
                    parts.push(name);
                    continue;
                }
                JoinPart::Group(group) => group,
            };
            let inner = group.flat()?;
            // Of one part, each event is a delivery. A disjunction in another one decides nothing that that would not.
            let is_open = inner.kind == JoinKind::Disjunction && join.kind == JoinKind::Disjunction;
            if inner.parts.len() != 1 && !is_open {
                return Err(NotFlat::Group(group.group.unwrap_or_default()));
            }
            parts.extend(inner.parts);
        }
        let is_again = |index: usize| parts.iter().take(index).any(|other| parts.get(index) == Some(other));
        let again = (0..parts.len()).find(|index| is_again(*index)).and_then(|index| parts.get(index));
        match (again, join.kind) {
            (Some(name), JoinKind::Conjunction) => return Err(NotFlat::Several(name)),
            (Some(_), JoinKind::Disjunction) => {
                // An event leads to one delivery of a disjunction at most.
                let mut known = BTreeSet::new();
                parts.retain(|name| known.insert(*name));
            }
            (None, _) => {}
        }
        let kind = if parts.len() < 2 { JoinKind::Disjunction } else { join.kind };
        Ok(FlatJoin { kind, parts, keep: join.keep, most: join.most, within: join.within })
    }
}

impl fmt::Display for NotFlat<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeouts(None) => f.write_str("timeouts in the join"),
            Self::Timeouts(Some(group)) => write!(f, "timeouts in the group \"{group}\""),
            Self::Group(group) => write!(f, "several parts in the group \"{group}\""),
            Self::Several(connection) => write!(f, "several parts for \"{connection}\""),
        }
    }
}

impl fmt::Display for JoinTree<'_> {
    /// In one line: `conjunction(camera, disjunction(lidar, radar; every 10 ms))`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = self.join;
        write!(f, "{}(", join.kind)?;
        for (index, part) in self.parts.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            match part {
                JoinPart::Connection(name) => f.write_str(name)?,
                JoinPart::Group(group) => group.fmt(f)?,
            }
        }
        match (join.keep, join.most) {
            (KeepPolicy::First, _) => {}
            (keep, None) => write!(f, "; keep {keep}")?,
            (keep, Some(most)) => write!(f, "; keep {keep}, {most}")?,
        }
        let times = [
            ("within", join.within),
            ("every", join.every),
            ("after", join.after),
            ("silence", join.silence),
        ];
        for (name, time) in times {
            if let Some(time) = time {
                write!(f, "; {name} {}", diagnostics::written(time))?;
            }
        }
        if let Some(filter) = &join.filter {
            write!(f, "; filter {filter}")?;
            if !join.parameters.is_empty() {
                write!(f, " with {}", join.parameters.join(", "))?;
            }
        }
        f.write_str(")")
    }
}
