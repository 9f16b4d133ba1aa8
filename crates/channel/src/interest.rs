//! The interest of all subscriptions together: the events that a carrier has to bring from elsewhere.
use alloc::vec::Vec;

use crate::tree::Tree;

/// A pattern of headers: events that fit none of a channel's patterns lead to no delivery.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Interest {
    /// Any event.
    Everything,
    /// As [`Tree::Header`].
    Header {
        /// The type.
        kind: Option<u32>,
        /// The source.
        source: Option<u32>,
    },
    /// As [`Tree::Bits`].
    Bits {
        /// For the type.
        kind: u32,
        /// For the source.
        source: u32,
    },
    /// As [`Tree::Masked`].
    Masked {
        /// Mask and value of the type.
        kind: (u32, u32),
        /// Mask and value of the source.
        source: (u32, u32),
    },
}

impl Interest {
    /// Whether all that fits another pattern fits this one, as far as that is easily seen.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Everything, _) => true,
            (Self::Header { kind, source }, Self::Header { kind: other_kind, source: other_source }) => {
                (kind.is_none() || kind == other_kind) && (source.is_none() || source == other_source)
            }
            _ => self == other,
        }
    }
}

/// Adds what a tree asks for.
pub(crate) fn add(tree: &Tree, to: &mut Vec<Interest>) {
    match tree {
        Tree::Everything | Tree::Content(_) | Tree::Not(_) => to.push(Interest::Everything),
        Tree::Header { kind: None, source: None } => to.push(Interest::Everything),
        Tree::Header { kind, source } => to.push(Interest::Header { kind: *kind, source: *source }),
        Tree::Bits { kind, source } => to.push(Interest::Bits { kind: *kind, source: *source }),
        Tree::Masked { kind, source } => to.push(Interest::Masked { kind: *kind, source: *source }),
        Tree::All(parts) => {
            // An event that fits all of them fits each of them, so the first part that narrows the interest is enough.
            let of_parts = parts.iter().map(|part| {
                let mut of_part = Vec::new();
                add(part, &mut of_part);
                of_part
            });
            let narrow = of_parts.into_iter().find(|of_part| !of_part.contains(&Interest::Everything));
            to.extend(narrow.unwrap_or_else(|| Vec::from([Interest::Everything])));
        }
        Tree::Any(parts) | Tree::Join { parts, .. } => parts.iter().for_each(|part| add(part, to)),
        Tree::Silence { of, .. } => add(of, to),
        Tree::Every { .. } | Tree::After { .. } => {}
    }
}

/// Sorts patterns, and leaves out those that others cover.
pub(crate) fn reduce(mut all: Vec<Interest>) -> Vec<Interest> {
    all.sort_unstable();
    all.dedup();
    let needed = all.iter().filter(|one| !all.iter().any(|other| other != *one && other.covers(one)));
    needed.copied().collect()
}
