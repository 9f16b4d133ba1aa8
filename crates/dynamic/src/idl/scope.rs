//! Names, and what they mean in nested modules.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use wire::schema::{Type, TypeIndex};

use super::ConstantValue;

/// What a name means.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    /// A type, or another name for one.
    Type(Type),
    /// A structure or union that is declared or being described: only sequences and optional members can have it.
    Open(TypeIndex),
    /// A constant, or a literal of an enumeration.
    Constant(ConstantValue),
}

/// All names, with their modules, and the module that is being read.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: BTreeMap<String, Meaning>,
    module: Vec<String>,
}

impl Names {
    pub(super) fn enter(&mut self, module: &str) {
        self.module.push(module.to_string());
    }

    pub(super) fn leave(&mut self) {
        self.module.pop();
    }

    pub(super) fn depth(&self) -> usize {
        self.module.len()
    }

    /// A name of this module, with its modules.
    pub(super) fn qualified(&self, name: &str) -> String {
        let mut whole = self.module.join("::");
        if !whole.is_empty() {
            whole.push_str("::");
        }
        whole.push_str(name);
        whole
    }

    /// Gives a name a meaning. False if it has one already.
    pub(super) fn define(&mut self, qualified: &str, meaning: Meaning) -> bool {
        match self.known.get(qualified) {
            None | Some(Meaning::Open(_)) => {
                self.known.insert(qualified.to_string(), meaning);
                true
            }
            Some(_) => false,
        }
    }

    /// A type that was declared only.
    pub(super) fn open(&self) -> Option<&str> {
        self.known
            .iter()
            .find(|(_, meaning)| matches!(meaning, Meaning::Open(_)))
            .map(|(name, _)| name.as_str())
    }

    /// What a qualified name means.
    pub(super) fn get(&self, qualified: &str) -> Option<&Meaning> {
        self.known.get(qualified)
    }

    /// What a name means here: looked for in this module, then in those around it.
    pub(super) fn resolve(&self, name: &str) -> Option<&Meaning> {
        if let Some(absolute) = name.strip_prefix("::") {
            return self.known.get(absolute);
        }
        for depth in (0..=self.module.len()).rev() {
            let outer = self.module.get(..depth).unwrap_or(&[]).join("::");
            let whole = if outer.is_empty() { name.to_string() } else { format!("{outer}::{name}") };
            if let Some(found) = self.known.get(&whole) {
                return Some(found);
            }
        }
        None
    }
}
