//! Which processes begin before others, because the plan says so.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::plan::Plan;

impl Plan {
    /// The processes that a process depends on, as the plan says.
    pub fn dependencies(&self, process: &str) -> &[String] {
        self.processes.get(process).map(|process| process.depends_on.as_slice()).unwrap_or_default()
    }

    /// Items, each with its process, so rearranged that those of a process come after all of the processes that it depends on. Otherwise they
    /// keep their order. In a circle, which [`Plan::check`] refuses, one of its processes is the first.
    pub fn after_dependencies<'n>(&'n self, items: &[(&'n str, &'n str)]) -> Vec<&'n str> {
        let mut of: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, (process, _)) in items.iter().enumerate() {
            of.entry(process).or_default().push(index);
        }
        let (mut ordered, mut is_out) = (Vec::new(), vec![false; items.len()]);
        let mut put = |index: usize| {
            if let (Some(is_out), Some((_, item))) = (is_out.get_mut(index), items.get(index))
                && !core::mem::replace(is_out, true)
            {
                ordered.push(*item);
            }
        };
        // Processes whose dependencies are out, and those of which everything is out.
        let (mut ready, mut whole) = (BTreeSet::new(), BTreeSet::new());
        for (index, (process, _)) in items.iter().enumerate() {
            // Each process with how many of its dependencies were looked at.
            let mut open: Vec<(&str, usize)> = Vec::new();
            if ready.insert(*process) {
                open.push((*process, 0));
            }
            while let Some((name, looked)) = open.last_mut() {
                let next = self.dependencies(name).get(*looked);
                *looked += 1;
                match next {
                    Some(next) if whole.insert(next.as_str()) => {
                        ready.insert(next.as_str());
                        open.push((next.as_str(), 0));
                    }
                    Some(_) => {}
                    None => {
                        let done = open.pop().filter(|_| !open.is_empty());
                        let all = done.and_then(|(name, _)| of.get(name));
                        all.into_iter().flatten().for_each(|index| put(*index));
                    }
                }
            }
            put(index);
        }
        ordered
    }

    /// A circle of processes that depend on each other: the first is the last again. Empty if there is none.
    pub(crate) fn circle_of_processes(&self) -> Vec<&str> {
        // What depends on nothing that is left cannot be in a circle.
        let mut left: BTreeMap<&str, usize> = BTreeMap::new();
        let mut later: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, process) in &self.processes {
            let known = process.depends_on.iter().filter(|other| self.processes.contains_key(*other));
            let known: BTreeSet<&str> = known.map(String::as_str).collect();
            left.insert(name, known.len());
            known.into_iter().for_each(|other| later.entry(other).or_default().push(name));
        }
        let mut free: Vec<&str> =
            left.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
        while let Some(name) = free.pop() {
            left.remove(name);
            for other in later.get(name).into_iter().flatten() {
                if let Some(count) = left.get_mut(other) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        free.push(other);
                    }
                }
            }
        }
        let Some((first, _)) = left.first_key_value() else { return Vec::new() };
        let mut way: Vec<&str> = vec![first];
        let mut places = BTreeMap::from([(*first, 0_usize)]);
        loop {
            let last = way.last().copied().unwrap_or_default();
            let next = self.dependencies(last).iter().find(|other| left.contains_key(other.as_str()));
            let Some(next) = next else { return Vec::new() };
            way.push(next);
            if let Some(begin) = places.insert(next, way.len() - 1) {
                return way.split_off(begin);
            }
        }
    }
}
