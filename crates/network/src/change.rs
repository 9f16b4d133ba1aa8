//! A change of a network's flows: those that are taken out, and those that are asked for.
use diagnostics::{Problem, Source};

use crate::document;
use crate::network::{Asked, Network};

/// What a file with a change says.
#[derive(Debug)]
pub struct Change {
    /// Flows that are taken out, in the order of the file.
    pub remove: Vec<Removed>,
    /// Flows that are asked for, bundles put together, the most important first, else in the order of the file.
    pub flows: Vec<Asked>,
}

/// A flow that is taken out. Whether there is such a flow is not checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Removed {
    /// Its name.
    pub name: String,
    file: String,
    place: Option<(usize, usize)>,
}

impl Removed {
    /// That it cannot be taken out, with its place in the file: what is wrong, and what to do.
    pub fn problem(&self, what: impl Into<String>, remedy: impl Into<String>) -> Problem {
        Problem { file: self.file.clone(), place: self.place, what: what.into(), remedy: remedy.into() }
    }
}

impl Network {
    /// Reads the text of a change, `file` being what it is called in errors. A flow that is asked for may be called like one that is taken
    /// out.
    ///
    /// # Errors
    /// The first thing that is wrong with the file, and where.
    pub fn read_change(&self, file: &str, text: &str) -> Result<Change, Problem> {
        let source = Source { file, text };
        let change: document::Change = document::read(source)?;
        let names = change.remove.iter().map(|name| name.get_ref().as_str()).collect();
        let flows = self.asked(source, &change.flows, &names)?;
        let remove = change.remove.iter().map(|name| {
            let Problem { file, place, .. } = source.problem(name.span().start, "", "");
            Removed { name: name.get_ref().clone(), file, place }
        });
        Ok(Change { remove: remove.collect(), flows })
    }
}
