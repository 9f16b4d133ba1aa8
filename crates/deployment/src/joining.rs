//! The joins of plans as the branches that processes connect.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use assembly::{JoinKind, JoinPart, JoinTree};

use crate::making::nanoseconds;
use crate::part::{Branch, Waits};

/// A join of these connections as a branch. The silence of the outermost one is that of the delivery.
pub(crate) fn branch(tree: &JoinTree<'_>, connections: &[&str]) -> Branch {
    of_tree(tree, connections, &mut Vec::new())
}

/// The same; `filters` are those of the joins that it is in.
fn of_tree(tree: &JoinTree<'_>, connections: &[&str], filters: &mut Vec<(String, Vec<String>)>) -> Branch {
    let join = tree.join;
    let own = join.filter.iter().map(|filter| (filter.clone(), join.parameters.clone()));
    let outer = filters.len();
    filters.extend(own);
    let mut parts = Vec::new();
    for part in &tree.parts {
        parts.push(match part {
            JoinPart::Connection(name) => {
                let place = connections.iter().position(|connection| connection == name).unwrap_or_default();
                let part = u16::try_from(place).unwrap_or(u16::MAX);
                Branch::Events { part, filters: filters.clone() }
            }
            JoinPart::Group(group) => of_tree(group, connections, filters),
        });
    }
    filters.truncate(outer);
    parts.extend(join.every.map(nanoseconds).map(Branch::Every));
    parts.extend(join.after.map(nanoseconds).map(Branch::After));
    let (keep, most) = (join.keep, join.most.unwrap_or(1));
    let all = match join.kind {
        JoinKind::Conjunction => {
            Branch::All(parts, Waits { keep, most, within: join.within.map(nanoseconds) })
        }
        JoinKind::Disjunction => Branch::Any(parts),
    };
    match join.silence.filter(|_| tree.group.is_some()) {
        Some(after) => Branch::Silence(Box::new(all), nanoseconds(after)),
        None => all,
    }
}
