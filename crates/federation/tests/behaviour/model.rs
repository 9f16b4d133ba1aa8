//! What a federation has to do, said slowly and without its code: who wants an event, who can be reached, what a union is.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What a process subscribes to. Conditions are about the one field `n`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Wish {
    pub(crate) kind: Option<&'static str>,
    pub(crate) source: Option<&'static str>,
    pub(crate) condition: Option<Condition>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Condition {
    AtLeast(i64),
    Is(i64),
}

/// An event, as the model knows it.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) kind: &'static str,
    pub(crate) source: &'static str,
    pub(crate) n: i64,
}

impl Wish {
    pub(crate) fn wants(&self, event: &Said) -> bool {
        if let Some(kind) = self.kind
            && kind != event.kind
        {
            return false;
        }
        if let Some(source) = self.source
            && source != event.source
        {
            return false;
        }
        match self.condition {
            None => true,
            Some(Condition::AtLeast(n)) => event.n >= n,
            Some(Condition::Is(n)) => event.n == n,
        }
    }

    /// Whether everything that the other one can want is wanted, as far as types, sources and equal conditions tell.
    fn is_wider(&self, other: &Self) -> bool {
        let kinds = self.kind == other.kind || self.kind.is_none();
        let sources = self.source == other.source || self.source.is_none();
        let conditions = self.condition == other.condition || self.condition.is_none();
        self != other && kinds && sources && conditions
    }
}

/// The wishes that have to be told.
pub(crate) fn told(wishes: &[Wish]) -> BTreeSet<Wish> {
    let all: BTreeSet<Wish> = wishes.iter().cloned().collect();
    all.iter().filter(|wish| !all.iter().any(|other| other.is_wider(wish))).cloned().collect()
}

/// Steps from a node to each other one.
pub(crate) fn distances(from: usize, edges: &BTreeSet<(usize, usize)>) -> BTreeMap<usize, u32> {
    let mut found = BTreeMap::from([(from, 0)]);
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        let steps = found[&at];
        for (one, other) in edges {
            let next = if *one == at {
                *other
            } else if *other == at {
                *one
            } else {
                continue;
            };
            found.entry(next).or_insert_with(|| {
                queue.push_back(next);
                steps + 1
            });
        }
    }
    found
}
