//! A plan and the manifests that it names, read from files.
use std::path::{Path, PathBuf};

use assembly::{Catalogue, Manifest, Places, Plan};
use diagnostics::{Problem, Source};
use network::load;
use schedulability::Deployed;

use crate::command::{BAD_NEWS, FAILED, Failure};

/// A plan with its file, and the types that its manifests tell of.
pub(crate) struct Loaded {
    file: String,
    text: String,
    pub(crate) plan: Plan,
    pub(crate) places: Places,
    /// Empty if the plan names no manifests.
    pub(crate) types: Catalogue,
}

impl Loaded {
    /// Reads a plan and its manifests, whose paths are relative to the plan's folder. What is wrong with what they say is the inner error, as
    /// text with lines and carets.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn open(path: &Path) -> Result<Result<Self, String>, Failure> {
        let text = read(path)?;
        let file = path.display().to_string();
        let source = Source { file: &file, text: &text };
        let (plan, places) = match Plan::read(source) {
            Ok(read) => read,
            Err(problems) => return Ok(Err(show(source, &problems))),
        };
        let mut manifests = Vec::new();
        for name in &plan.manifests {
            let path = beside(path, name);
            let text = read(&path)?;
            let file = path.display().to_string();
            let source = Source { file: &file, text: &text };
            match Manifest::read(source) {
                Ok(manifest) => manifests.push((file, manifest)),
                Err(problems) => return Ok(Err(show(source, &problems))),
            }
        }
        let types = match Catalogue::of(manifests) {
            Ok(types) => types,
            Err(problems) => return Ok(Err(show(source, &problems))),
        };
        Ok(Ok(Self { file, text, plan, places, types }))
    }

    /// A plan that makes sense.
    ///
    /// # Errors
    /// A file cannot be read, or what is wrong with it.
    pub(crate) fn sound(path: &Path) -> Result<Self, Failure> {
        let loaded = Self::open(path)?.map_err(|problems| (BAD_NEWS, problems))?;
        let problems = loaded.plan.check(loaded.source(), &loaded.places, &loaded.types);
        if problems.is_empty() { Ok(loaded) } else { Err((BAD_NEWS, loaded.show(&problems))) }
    }

    /// Plans that make sense.
    ///
    /// # Errors
    /// Those of [`Loaded::sound`], of the first that does not.
    pub(crate) fn all(paths: &[PathBuf]) -> Result<Vec<Self>, Failure> {
        paths.iter().map(|path| Self::sound(path)).collect()
    }

    /// For an analysis.
    pub(crate) fn deployed(&self) -> Deployed<'_> {
        Deployed { plan: &self.plan, types: &self.types }
    }

    /// The file of the plan.
    pub(crate) fn source(&self) -> Source<'_> {
        Source { file: &self.file, text: &self.text }
    }

    /// Problems of this file as text.
    pub(crate) fn show(&self, problems: &[Problem]) -> String {
        show(self.source(), problems)
    }
}

/// A file of text, of at most 32 MiB; what a plan or manifest may have is less, and told by its reader.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    load(path).map_err(|error| (FAILED, error))
}

/// Problems as text, one after the other, with the lines of this file.
pub(crate) fn show(source: Source<'_>, problems: &[Problem]) -> String {
    problems.iter().map(|problem| source.show(problem) + "\n").collect()
}

fn beside(plan: &Path, name: &str) -> PathBuf {
    plan.parent().unwrap_or(Path::new("")).join(name)
}
