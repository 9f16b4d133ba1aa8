//! Where in a file something stands, by its path: `connection.fix.to.0`.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use crate::tree::{Data, Node};

/// How deep in each other places are known; what is deeper is at the place of what it is in.
const DEEPEST_PLACE: usize = 7;

/// Places of what a file says. A plan that comes from no file has none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Places {
    offsets: BTreeMap<String, usize>,
}

impl Places {
    /// The byte where the path begins, or where what it is in begins; the beginning of the file if neither has a place.
    ///
    /// A table begins at its name, and any other value at itself.
    pub fn at(&self, path: &str) -> usize {
        let mut path = path;
        loop {
            if let Some(at) = self.offsets.get(path) {
                return *at;
            }
            match path.rsplit_once('.') {
                Some((outer, _)) => path = outer,
                None => return 0,
            }
        }
    }

    /// The path begins there.
    pub(crate) fn note(&mut self, path: String, at: usize) {
        self.offsets.insert(path, at);
    }

    pub(crate) fn of(node: &Node) -> Self {
        let mut places = Self::default();
        places.walk(node, "", 0);
        places
    }

    fn walk(&mut self, node: &Node, path: &str, depth: usize) {
        // Paths repeat what is around them: without an end, a file could make them far longer than itself.
        if depth > DEEPEST_PLACE {
            return;
        }
        let below = |name: &str| if path.is_empty() { name.into() } else { format!("{path}.{name}") };
        for entry in node.entries() {
            let path = below(&entry.key);
            self.walk(&entry.node, &path, depth + 1);
            let at = if matches!(entry.node.data, Data::Table(_)) { entry.key_at } else { entry.node.at };
            self.note(path, at);
        }
        for (number, item) in node.items().iter().enumerate() {
            let path = below(&format!("{number}"));
            self.walk(item, &path, depth + 1);
            self.note(path, item.at);
        }
    }
}
